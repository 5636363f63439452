//! Whether a module means the same as read and simplified.
//!
//! Each function with a body becomes a kernel of one wave: its arguments are loaded from memory, other ones
//! for each lane, pointers lead to places of the lane's own; its result is stored. Memory is unmapped: a load
//! gives a function of its address, a store is remembered. What is defined as read must be the same after
//! legalisation at both levels, bit by bit, any NaN for a NaN; runs in which something approximate was
//! executed are not compared.

use super::Interpreter;
use mir::ir::{
    AddrSpace, CallConv, Callee, CastOp, Const, Func, Function, InstFlags, InstKind, Intrinsic, MemAccess,
    Module, Scalar, SymbolRef, Type, Value, ValueDef,
};
use rustc_hash::{FxHashMap, FxHashSet};
use sim::memory::pattern_byte;
use sim::report::Unmapped;
use sim::{Dispatch, Memory};
use std::collections::BTreeMap;

/// Where a kernel stores the results of its function; the inputs are behind.
const RESULTS: u64 = 0x2000_0000_0000;
const INPUTS: u64 = 0x2100_0000_0000;
/// What pointers lead to: each argument of each lane has a place of its own.
const PLACES: u64 = 0x2200_0000_0000;
/// Bytes from lane to lane.
const STRIDE: i64 = 1 << 16;

/// The reason of a stop.
const UNDEFINED: &str = "an undefined value decides something";

/// What came out.
#[derive(Debug, Default)]
pub struct Agreement {
    /// Runs that were compared.
    pub compared: usize,
    /// Runs in which something approximate was executed.
    pub approximate: usize,
    /// Why runs as read did not come to their end, and how often.
    pub stopped: BTreeMap<String, usize>,
    /// What differs.
    pub differences: Vec<String>,
}

/// The values that a lane gives a parameter of type `ty`.
fn argument(
    f: &mut Function,
    insts: &mut Vec<mir::ir::Inst>,
    ty: Type,
    n: usize,
    lane: Value,
) -> Option<Value> {
    let mut push = |f: &mut Function, kind, ty| {
        let inst = f.make_inst(kind, ty, InstFlags::empty());
        insts.push(inst);
        f.insts[inst].result
    };
    let offset = n as i64 * 256;
    let base = |space| Type::ptr(space);
    if let Type::Scalar(Scalar::Ptr(space)) = ty {
        let kind = match space {
            AddrSpace::LOCAL => {
                let start = f.int(Type::I32, 0x8000 + 1024 * n as u64);
                let start = push(f, InstKind::Cast { op: CastOp::IntToPtr, arg: start }, ty)?;
                InstKind::PtrAdd { base: start, index: Some(lane), scale: 16, offset: 0 }
            }
            AddrSpace::PRIVATE => InstKind::Alloca { size_bytes: 1024, count: None, align_log2: 4 },
            AddrSpace::FLAT | AddrSpace::GLOBAL | AddrSpace::CONSTANT => {
                let start = f.int(Type::I64, PLACES + ((n as u64) << 32));
                let start = push(f, InstKind::Cast { op: CastOp::IntToPtr, arg: start }, ty)?;
                InstKind::PtrAdd { base: start, index: Some(lane), scale: STRIDE, offset: 0 }
            }
            _ => return None,
        };
        return push(f, kind, ty);
    }
    let start = f.int(Type::I64, INPUTS);
    let start = push(f, InstKind::Cast { op: CastOp::IntToPtr, arg: start }, base(AddrSpace::GLOBAL))?;
    let place = InstKind::PtrAdd { base: start, index: Some(lane), scale: STRIDE, offset };
    let place = push(f, place, base(AddrSpace::GLOBAL))?;
    push(f, InstKind::Load { ptr: place, mem: MemAccess::plain(AddrSpace::GLOBAL, 2) }, ty)
}

/// Makes `f` a kernel without parameters; `None` where a parameter is of a kind that no value is known for.
fn make_kernel(f: &mut Function) -> Option<()> {
    if f.params.iter().any(|p| p.indirect.is_some()) {
        return None;
    }
    let mut insts = Vec::new();
    let id = InstKind::Intrinsic { intrinsic: Intrinsic::WorkitemIdX, args: Default::default() };
    let id = f.make_inst(id, Type::I32, InstFlags::empty());
    insts.push(id);
    let lane = f.insts[id].result?;
    let mut values = FxHashMap::default();
    for (n, param) in std::mem::take(&mut f.params).into_iter().enumerate() {
        let ty = f.ty(param.value);
        values.insert(param.value, argument(f, &mut insts, ty, n, lane)?);
    }
    let start = f.int(Type::I64, RESULTS);
    for block in f.layout.clone() {
        for inst in f.blocks[block].insts.clone() {
            f.insts[inst].kind.for_each_value_mut(|v| *v = values.get(v).copied().unwrap_or(*v));
            let InstKind::Ret { value: Some(value) } = f.insts[inst].kind else { continue };
            let ptr = Type::ptr(AddrSpace::GLOBAL);
            let cast =
                f.make_inst(InstKind::Cast { op: CastOp::IntToPtr, arg: start }, ptr, InstFlags::empty());
            let base = f.insts[cast].result?;
            let place = InstKind::PtrAdd { base, index: Some(lane), scale: STRIDE, offset: 0 };
            let place = f.make_inst(place, ptr, InstFlags::empty());
            let mem = MemAccess::plain(AddrSpace::GLOBAL, 2);
            let store = InstKind::Store { ptr: f.insts[place].result?, value, mem };
            let store = f.make_inst(store, Type::Void, InstFlags::empty());
            let list = &mut f.blocks[block].insts;
            let at = list.len() - 1;
            list.splice(at..at, [cast, place, store]);
            f.insts[inst].kind = InstKind::Ret { value: None };
        }
    }
    let entry = f.entry();
    f.blocks[entry].insts.splice(0..0, insts);
    (f.ret, f.call_conv) = (Type::Void, CallConv::Kernel);
    Some(())
}

/// The functions that `func` may call: those whose address it, or a function that it may call, names.
fn reachable(module: &Module, func: Func) -> FxHashSet<Func> {
    let mut seen = FxHashSet::from_iter([func]);
    let mut work = vec![func];
    while let Some(func) = work.pop() {
        let f = &module.functions[func];
        let called = f.insts.values().filter_map(|inst| match inst.kind {
            InstKind::Call { callee: Callee::Func(callee), .. } => Some(callee),
            _ => None,
        });
        let named = f.values.values().filter_map(|value| match value.def {
            ValueDef::Const(Const::Symbol(SymbolRef::Func(func), _)) => Some(func),
            _ => None,
        });
        work.extend(called.chain(named).filter(|&func| seen.insert(func)));
    }
    seen
}

/// The module in which `func` alone is a kernel, and what it does not reach is gone.
fn alone(module: &Module, func: Func) -> Option<Module> {
    let kept = reachable(module, func);
    let mut module = module.clone();
    make_kernel(&mut module.functions[func])?;
    for (other, f) in module.functions.iter_mut() {
        if other != func && !(f.call_conv.is_callable() && kept.contains(&other)) {
            (f.layout, f.call_conv) = (Vec::new(), CallConv::Device);
        }
    }
    Some(module)
}

fn is_nan(bytes: &[u8]) -> bool {
    match *bytes {
        [a, b] => u16::from_le_bytes([a, b]) & 0x7fff > 0x7c00,
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).is_nan(),
        [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]).is_nan(),
        _ => false,
    }
}

/// The first byte that is defined in `want` and something else in `got`; a store of what memory held is none.
fn first_difference(
    want: &FxHashMap<u64, (u8, u8)>,
    got: &FxHashMap<u64, (u8, u8)>,
    seed: u64,
) -> Option<String> {
    let mut places: Vec<u64> = want.keys().copied().collect();
    places.sort_unstable();
    let held = |at: u64| (pattern_byte(seed, at), 0);
    let wide = |map: &FxHashMap<u64, (u8, u8)>, at: u64, len: u64| -> Option<Vec<u8>> {
        (at..at + len).map(|a| map.get(&a).map(|b| b.0)).collect()
    };
    for at in places {
        let (value, undef) = want[&at];
        let (other, unknown) = got.get(&at).copied().unwrap_or(held(at));
        if (value ^ other) & !undef == 0 && unknown & !undef == 0 {
            continue;
        }
        let both_nan = [2u64, 4, 8].iter().any(|&len| {
            let start = at & !(len - 1);
            let nan = |map| wide(map, start, len).is_some_and(|bytes| is_nan(&bytes));
            nan(want) && nan(got)
        });
        if undef != 0xff && !both_nan {
            let dword = |map| wide(map, at & !3, 4);
            return Some(format!("{at:#x}: {:x?} instead of {:x?}", dword(got), dword(want)));
        }
    }
    let mut more: Vec<u64> = got.keys().copied().filter(|at| !want.contains_key(at)).collect();
    more.sort_unstable();
    let more = more.into_iter().find(|&at| got[&at] != held(at));
    more.map(|at| format!("{at:#x} is stored in addition"))
}

/// Runs every function of `input` as read and simplified.
///
/// # Errors
/// What cannot be read, as text.
pub fn stages(input: &[u8], options: &gcnc::CompileOptions, seeds: &[u64]) -> Result<Agreement, String> {
    let read = Interpreter::readable(input, options)?;
    let mut out = Agreement::default();
    for (func, f) in &read.module.functions {
        if f.is_declaration() || !(f.call_conv.is_callable() || f.is_kernel()) {
            continue;
        }
        let Some(module) = alone(&read.module, func) else {
            *out.stopped.entry("a parameter of this kind".to_owned()).or_default() += 1;
            continue;
        };
        function(&read.with(module, false), &f.name, options, seeds, &mut out);
    }
    Ok(out)
}

fn function(
    read: &Interpreter,
    name: &str,
    options: &gcnc::CompileOptions,
    seeds: &[u64],
    out: &mut Agreement,
) {
    let mut legal = Vec::new();
    for level in [0, 2] {
        let mut module = read.module.clone();
        let settings = mir::CodegenOptions { opt_level: level, contract_all: options.contract_all };
        match gcnc::legalize(&mut module, &read.target, &settings) {
            Ok(()) => legal.push((level, read.with(module, true))),
            Err(error) => {
                *out.stopped.entry(format!("refused: {}", error.message)).or_default() += 1;
                return;
            }
        }
    }
    for &seed in seeds {
        let (ran, want) = run(read, name, seed);
        let outcome = match ran {
            Ok(outcome) => outcome,
            Err(fault) => {
                // One line for all places and sizes.
                let reason =
                    fault.lines().next().unwrap_or_default().split(" (at ").next().unwrap_or_default();
                let words = reason.split(' ').filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
                *out.stopped.entry(words.collect::<Vec<_>>().join(" ")).or_default() += 1;
                continue;
            }
        };
        for (level, module) in &legal {
            let (ran, got) = run(module, name, seed);
            let problem = match ran {
                Ok(_) if outcome.approximate => {
                    out.approximate += 1;
                    continue;
                }
                Ok(_) => first_difference(&want, &got, seed),
                // A loop of compare-and-swap looks at memory that an atomic operation only changes.
                Err(fault) if fault.starts_with("an undefined value decides") => {
                    *out.stopped.entry(format!("simplified: {UNDEFINED}")).or_default() += 1;
                    continue;
                }
                Err(fault) => Some(fault),
            };
            out.compared += 1;
            if let Some(problem) = problem {
                out.differences.push(format!("{name} at -O{level}, seed {seed}: {problem}"));
            }
        }
    }
}

type Ran = (Result<interpret::ir::Outcome, String>, FxHashMap<u64, (u8, u8)>);

/// What a kernel of one wave stores.
fn run(module: &Interpreter, kernel: &str, seed: u64) -> Ran {
    let mut memory = Memory::new();
    memory.unmapped = Unmapped::Hash;
    memory.remembered = Some(FxHashMap::default());
    memory.pattern_seed = seed;
    let dispatch = Dispatch {
        kernel: kernel.to_owned(),
        grid: [64, 1, 1],
        group: [64, 1, 1],
        dynamic_lds: 0xf000,
        ..Dispatch::default()
    };
    let ran = module.run(&mut memory, &dispatch);
    (ran, memory.remembered.unwrap_or_default())
}
