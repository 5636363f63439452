//! Whether gcnc's code and `llc`'s mean the same: both run on the simulator from the same seeded state.
//!
//! A kernel runs as one wave with arguments made from its metadata, a function and a shader by their calling
//! convention ([`super::layout`]). Memory is unmapped: a load gives a function of its address, a store is
//! remembered. Afterwards memory, LDS, what private pointers lead to, exports, the declared result and the
//! registers that a callee preserves are compared.
//!
//! LLVM itself is the measure of what the IR leaves open: bits that are undefined after either of `llc -O0`
//! and `llc -O2`, and places where these two differ, are not compared. Two NaNs are equal whatever their
//! bits, as are two addresses of the code object. Where `llc`'s code breaks a check itself, does not end, or
//! does what the simulator does not execute, the function is skipped.

use super::layout::{self, Inputs, Part, Reg};
use super::resources;
use super::tolerance::{Difference, Formats, Tolerance};
use mir::abi::call::is_callee_saved;
use mir::ir::{
    CallConv, Callee, Const, Function, InstFlags, InstKind, Intrinsic, Linkage, Module, ParamFlags,
    SymbolRef, ValueDef,
};
use mir::machine::PReg;
use mir::target::{Features, Target, WaveSize};
use sim::load::OPEN_SCRATCH;
use sim::memory::{FINITE, NONZERO, POINTERS, TAME, pattern_byte};
use sim::report::OpaqueImages;
use sim::single::{Entry, Finished, STACK, Setting, run_single};
use sim::wave::{Lanes, MAX_LANES, Wave};
use sim::{Arg, Checks, CodeObject, Config, Dispatch, Kind, Memory, Unmapped};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions that `llc`'s code may execute; gcnc's may execute four times as many.
const BUDGET: u64 = 100_000;
/// Where calls of external functions are noted.
const CALLS: u64 = 0x6700_0000_0000;
/// High dword of the addresses at which the simulator maps objects.
const IMAGE_HIGH: u32 = 0x7f10;

/// What became of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that is defined agrees; so many bytes and result dwords.
    Equal(usize),
    /// Only floating-point values differ, by little.
    Close(String),
    /// Something else differs, or gcnc's code alone breaks a check.
    Different(String),
    /// Something differs in a function that uses `undef` or `poison`, which each compiler may take for what
    /// it likes.
    Unclear(String),
    /// Says nothing, for this reason.
    Skipped(String),
}

/// What a run left, as far as it is compared: address or place, value, undefined bits.
type Left = BTreeMap<u64, (u8, u8)>;

/// A run that came to its end.
struct Ran {
    left: Left,
    /// Accesses behind the end of something.
    strays: u64,
    /// Bytes of LDS that belong to the kernel.
    static_lds: u32,
    /// Bytes to which several lanes stored, and all values that they stored: which lane comes last is open.
    contested: BTreeMap<u64, [u64; 4]>,
}

/// Why a function with an undefined pointer is skipped.
pub const WILD: &str = "an undefined pointer";

/// Places that are no addresses of memory.
const LDS: u64 = 0x6100_0000_0000;
const SCRATCH: u64 = 0x6200_0000_0000;
const RESULT: u64 = 0x6300_0000_0000;

/// Scratch of shaders whose driver says where it is.
const OWN_SCRATCH: std::ops::Range<u64> = OPEN_SCRATCH..OPEN_SCRATCH + (1 << 32);

fn place_name(at: u64) -> String {
    match at & 0xff00_0000_0000 {
        LDS => format!("LDS 0x{:x}", at - LDS),
        SCRATCH => {
            format!("private memory 0x{:x} of lane {}", (at - SCRATCH) >> 10 << 2 | at & 3, at >> 2 & 63)
        }
        RESULT => format!("result dword {} of lane {}", (at - RESULT) >> 8, at >> 2 & 63),
        0x6600_0000_0000 => format!("export {} of lane {}", at >> 12 & 63, at >> 4 & 63),
        CALLS => format!("call {} argument {} of lane {}", at >> 20 & 0xfffff, at >> 8 & 0xfff, at >> 2 & 63),
        _ => format!("0x{at:x}"),
    }
}

/// One function under comparison.
pub struct Subject<'a> {
    /// Its module.
    pub module: &'a Module,
    /// The function.
    pub function: &'a Function,
    /// What it runs on.
    pub target: Target,
}

fn mode(f: &Function) -> u32 {
    let attribute = |key: &str| f.attribute(key).unwrap_or_default().to_owned();
    let shader = !matches!(f.call_conv, CallConv::Device | CallConv::AmdgpuGfx | CallConv::Kernel);
    let flushes = |text: String| text.contains("preserve-sign") || text.contains("positive-zero");
    let mut mode = 0x3f0;
    if flushes(attribute("denormal-fp-math-f32")) {
        mode &= !0x30;
    } else if flushes(attribute("denormal-fp-math")) {
        mode &= !0xf0;
    }
    if shader && attribute("amdgpu-ieee") != "true" || attribute("amdgpu-ieee") == "false" {
        mode &= !0x200;
    }
    if attribute("amdgpu-dx10-clamp") == "false" {
        mode &= !0x100;
    }
    mode
}

/// The LDS variables that a function names, but for dynamic ones.
fn variables(module: &Module, f: &Function) -> BTreeSet<u32> {
    let in_lds = |g: mir::ir::Global| module.globals[g].space.0 == 3 && module.globals[g].size_bytes != 0;
    let named = |v: &ValueDef| match v {
        ValueDef::Const(Const::Symbol(SymbolRef::Global(g), _)) if in_lds(*g) => Some(g.as_u32()),
        _ => None,
    };
    f.values.values().filter_map(|v| named(&v.def)).collect()
}

/// Whether the kernel uses one LDS variable at most, which is at 0 then.
fn has_one_variable(subject: &Subject<'_>) -> bool {
    let others = |f: &&Function| f.call_conv != CallConv::Kernel;
    variables(subject.module, subject.function).len() <= 1
        && subject.module.functions.values().filter(others).all(|f| variables(subject.module, f).is_empty())
}

/// Whether the function loads pointers.
fn loads_pointers(f: &Function) -> bool {
    let pointer = |ty: mir::ir::Type| ty.addr_space().is_some_and(|s| matches!(s.0, 0 | 1 | 4));
    f.insts.values().any(|inst| matches!(inst.kind, InstKind::Load { .. }) && pointer(inst.ty))
}

/// Whether the function names LDS variables, whose places only a kernel fixes.
fn names_lds(subject: &Subject<'_>) -> bool {
    let in_lds = |g: mir::ir::Global| matches!(subject.module.globals[g].space.0, 2 | 3);
    subject
        .function
        .values
        .values()
        .any(|v| matches!(v.def, ValueDef::Const(Const::Symbol(SymbolRef::Global(g), _)) if in_lds(g)))
}

/// Whether the function uses a pointer that is undefined.
fn has_wild_pointer(f: &Function) -> bool {
    f.values.values().any(|v| {
        matches!(v.def, ValueDef::Const(Const::Undef | Const::Poison)) && v.ty.addr_space().is_some()
    })
}

/// Whether the function calls a null pointer.
fn calls_null(f: &Function) -> bool {
    f.insts.values().any(|inst| match inst.kind {
        InstKind::Call { callee: Callee::Indirect(callee), .. } => {
            matches!(f.values[callee].def, ValueDef::Const(Const::Zero))
        }
        _ => false,
    })
}

/// What no two objects have in common: clocks, places of common symbols.
fn out_of_hand(subject: &Subject<'_>) -> Option<&'static str> {
    let f = subject.function;
    let clock = ["memtime", "memrealtime", "readcyclecounter", "readsteadycounter", "getreg"];
    let is_clock = |v: &ValueDef| match v {
        ValueDef::Const(Const::Symbol(SymbolRef::Func(g), _)) => {
            clock.iter().any(|c| subject.module.functions[*g].name.contains(c))
        }
        _ => false,
    };
    let is_common = |v: &ValueDef| match v {
        ValueDef::Const(Const::Symbol(SymbolRef::Global(g), _)) => {
            subject.module.globals[*g].linkage == Linkage::Common
        }
        _ => false,
    };
    if f.values.values().any(|v| is_common(&v.def)) {
        return Some("a common symbol");
    }
    let called = f.insts.values().any(|inst| match &inst.kind {
        InstKind::Intrinsic { intrinsic, .. } => {
            let name = format!("{intrinsic:?}").to_lowercase().replace(['.', '_'], "");
            clock.iter().any(|c| name.contains(c))
        }
        InstKind::Call { callee: Callee::Func(g), .. } => {
            clock.iter().any(|c| subject.module.functions[*g].name.contains(c))
        }
        _ => false,
    });
    (called || f.values.values().any(|v| is_clock(&v.def))).then_some("a clock")
}

/// Whether the function divides integers or counts the zeros above or below a one.
fn divides(f: &Function) -> bool {
    use mir::ir::BinaryOp::*;
    let promised = |v: &mir::ir::Value| matches!(f.values[*v].def, ValueDef::Const(Const::Int(1)));
    f.insts.values().any(|inst| match &inst.kind {
        InstKind::Binary { op, .. } => matches!(op, UDiv | SDiv | URem | SRem),
        InstKind::Intrinsic { intrinsic: Intrinsic::Ctlz | Intrinsic::Cttz, args, .. } => {
            args.last().is_some_and(promised)
        }
        _ => false,
    })
}

/// Whether the function loads a value with padding, which must be zero.
fn loads_padding(f: &Function) -> bool {
    let odd = |ty: mir::ir::Type| ty.scalar().is_some_and(|s| s.bits() % 8 != 0);
    f.insts.values().any(|inst| matches!(inst.kind, InstKind::Load { .. }) && odd(inst.ty))
        || f.call_conv == CallConv::Kernel && f.params.iter().any(|p| odd(f.values[p.value].ty))
}

/// Whether the function uses a value that is undefined, or a shuffle that leaves elements open.
fn has_undefined(f: &Function) -> bool {
    let open = |kind: &InstKind| matches!(kind, InstKind::Shuffle { mask, .. } if mask.contains(&None));
    f.values.values().any(|v| matches!(v.def, ValueDef::Const(Const::Undef | Const::Poison)))
        || f.insts.values().any(|inst| open(&inst.kind))
}

/// Whether the function has an operation that is undefined for some integers.
fn is_partial(f: &Function) -> bool {
    f.insts.values().any(|inst| match inst.kind {
        InstKind::Binary { op, .. } => {
            use mir::ir::BinaryOp::*;
            let promise = InstFlags::NUW | InstFlags::NSW | InstFlags::EXACT | InstFlags::DISJOINT;
            matches!(op, Shl | LShr | AShr | UDiv | SDiv | URem | SRem) || inst.flags.intersects(promise)
        }
        InstKind::Unreachable => true,
        // An address may leave the 48 bits that there are.
        InstKind::PtrAdd { index: Some(index), .. } => matches!(f.values[index].def, ValueDef::FuncParam(_)),
        _ => inst.flags.intersects(InstFlags::NNEG),
    })
}

/// Whether the function has memory or vectors of its own that an index from outside may leave.
fn indexes(subject: &Subject<'_>) -> bool {
    let f = subject.function;
    let own = |g: mir::ir::Global| subject.module.globals[g].init.is_some();
    let variable = |index| !matches!(f.values[index].def, ValueDef::Const(_));
    f.insts.values().any(|inst| match inst.kind {
        InstKind::Alloca { .. } => true,
        InstKind::PtrAdd { .. } => f
            .values
            .values()
            .any(|v| matches!(v.def, ValueDef::Const(Const::Symbol(SymbolRef::Global(g), _)) if own(g))),
        InstKind::ExtractElement { index, .. } | InstKind::InsertElement { index, .. } => variable(index),
        _ => false,
    })
}

/// Whether a NaN or an infinity would break a promise of the function.
fn promises_numbers(f: &Function) -> bool {
    let promise = InstFlags::NNAN | InstFlags::NINF | InstFlags::AFN | InstFlags::ARCP;
    f.insts.values().any(|inst| inst.flags.intersects(promise))
        || ["no-nans-fp-math", "no-infs-fp-math", "unsafe-fp-math"]
            .iter()
            .any(|a| f.attribute(a) == Some("true"))
}

/// A kernel's arguments and shape from the metadata of `object`.
fn kernel_dispatch(object: &CodeObject, name: &str, seed: u64) -> Result<Dispatch, String> {
    let kernel = object.kernel(name).ok_or("llc's object has no such kernel")?;
    let meta = kernel.metadata.as_ref().ok_or("the kernel has no metadata")?;
    let mut args = Vec::new();
    for (k, arg) in meta.args.iter().filter(|a| !a.is_hidden()).enumerate() {
        let r = layout::random(seed, 0x77 + k as u64, 0);
        let address = 0x2000_0000_0000 + ((k as u64) << 36) + (r >> 40 & 0xff) * 4096;
        args.push(match arg.value_kind.as_str() {
            "global_buffer" if arg.size != 8 => {
                // A resource, alone or in front of an offset and an index.
                let mut bytes: Vec<u8> =
                    layout::buffer(seed, k as u64).iter().flat_map(|w| w.to_le_bytes()).collect();
                bytes.resize(arg.size as usize, 0);
                Arg::Value(bytes)
            }
            "global_buffer" | "image" | "sampler" | "pipe" | "queue" => Arg::Address(address),
            "dynamic_shared_pointer" => Arg::Value((32768 + (k as u32 % 4) * 8192).to_le_bytes().to_vec()),
            _ => {
                let small =
                    [0u64, 1, 2, 3, 5, 7, 8, 16][(r >> 20) as usize & if seed & TAME != 0 { 1 } else { 7 }];
                let mut bytes = vec![0; arg.size as usize];
                for (i, chunk) in bytes.chunks_mut(4).enumerate() {
                    let odd = u32::from(seed & NONZERO != 0) * 0x0101_0101;
                    let word = odd
                        | match (arg.size, r >> 62) {
                            (8, 0) => (small >> (32 * i)) as u32,
                            (4, 0) | (2, 0) | (1, 0) => small as u32,
                            _ => {
                                let at = 0x4000_0000 + (k as u64) * 65536 + 4 * i as u64;
                                u32::from_le_bytes(std::array::from_fn(|b| pattern_byte(seed, at + b as u64)))
                            }
                        };
                    let n = chunk.len();
                    chunk.copy_from_slice(&word.to_le_bytes()[..n]);
                }
                Arg::Value(bytes)
            }
        });
    }
    let group = meta.reqd_workgroup_size.unwrap_or([meta.max_flat_workgroup_size.clamp(1, 64), 1, 1]);
    let grid = std::array::from_fn(|k| group[k].max(1) * if k == 0 { 4 } else { 1 });
    Ok(Dispatch {
        kernel: name.to_owned(),
        grid,
        group: group.map(|g| g.max(1)),
        args,
        ..Dispatch::default()
    })
}

/// Whether a function of this convention leaves an SGPR alone; those of graphics (`amdgpu_gfx`) have fewer of
/// the high ones.
fn preserved_sgpr(cc: CallConv, n: u16) -> bool {
    (4..30).contains(&n) && cc == CallConv::AmdgpuGfx
        || n >= 34 && is_callee_saved(PReg::sgpr(n), cc == CallConv::AmdgpuGfx)
}

fn preserved_vgpr(n: usize) -> bool {
    n >= 40 && n / 8 % 2 == 1
}

/// A narrow integer in a register as its attributes say.
fn extended(word: u32, ty: mir::ir::Type, flags: ParamFlags) -> u32 {
    let Some(mir::ir::Scalar::Int(bits @ 1..32)) = ty.scalar().filter(|_| ty.lanes() == 1) else {
        return word;
    };
    let unused = 32 - bits;
    if flags.contains(ParamFlags::ZEROEXT) {
        word << unused >> unused
    } else if flags.contains(ParamFlags::SIGNEXT) {
        ((word << unused) as i32 >> unused) as u32
    } else {
        word
    }
}

/// What an external function does: notes its arguments, gives results made of them, and leaves nothing in the
/// registers that a caller must save.
fn external(
    subject: &Subject<'_>,
    name: &str,
    w: &mut Wave,
    mem: &mut Memory,
    calls: &mut u64,
) -> sim::report::Result<()> {
    let callee = subject.module.functions.values().find(|f| f.name == name);
    let parts = callee.and_then(|f| layout::parts(f, &subject.module.types, &subject.target));
    let (params, result) = parts.unwrap_or_default();
    let mut digest: [u64; MAX_LANES] = [sim::memory::digest(name.as_bytes()); MAX_LANES];
    let exec = w.exec();
    for (k, part) in params.iter().flatten().enumerate() {
        for lane in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let (value, undef) = match part.reg {
                Reg::V(n) => (w.v[usize::from(n)][lane], w.undef_at(usize::from(n), lane)),
                // Where these are depends on what the callee asks for.
                Reg::S(_) | Reg::Stack(_) => continue,
            };
            let value = value & part.mask & !undef;
            digest[lane] = sim::memory::fnv1a(digest[lane], &value.to_le_bytes());
            let at = CALLS + (*calls << 20) + ((k as u64) << 8) + 4 * lane as u64;
            if let Some(stored) = &mut mem.remembered {
                let (v, u) = (value.to_le_bytes(), (undef & part.mask).to_le_bytes());
                stored.extend((0..4).map(|b| (at + b as u64, (v[b], u[b]))));
            }
        }
    }
    *calls += 1;
    let gfx = callee.is_some_and(|f| f.call_conv == CallConv::AmdgpuGfx);
    let garbage: Lanes = std::array::from_fn(|l| 0xdead_0000 | l as u32);
    for n in (0..256).filter(|n| !preserved_vgpr(*n)) {
        w.write_v(n, &garbage, Some(&[!0; MAX_LANES]), exec);
    }
    let scalar = |w: &mut Wave, r: PReg| {
        w.set_s(r, 0xdead_beef);
        w.su[usize::from(r.0)] = !0;
    };
    (4..30).filter(|_| !gfx).for_each(|n| scalar(w, PReg::sgpr(n)));
    scalar(w, PReg::VCC_LO);
    scalar(w, PReg(PReg::VCC_LO.0 + 1));
    w.scc_undef = true;
    for (k, part) in result.iter().enumerate() {
        if let Reg::V(n) = part.reg {
            let word = |l: usize| {
                let word = layout::random(digest[l], k as u64, l) as u32;
                callee.map_or(word, |f| extended(word, f.ret, f.ret_flags))
            };
            w.write_v(usize::from(n), &std::array::from_fn(word), None, exec);
        }
    }
    Ok(())
}

/// Runs the subject of `object`; an error is what stopped it.
fn run(
    object: &CodeObject,
    subject: &Subject<'_>,
    dispatch: &Dispatch,
    inputs: &Inputs,
    seed: u64,
    checks: Checks,
    budget: u64,
    trace: bool,
) -> Result<Ran, Box<sim::Report>> {
    let f = subject.function;
    let entry = match f.call_conv {
        CallConv::Kernel => Entry::Kernel([1, 0, 0]),
        CallConv::Device | CallConv::AmdgpuGfx => Entry::Function,
        _ => Entry::Shader,
    };
    let mut memory = Memory::new();
    memory.remembered = Some(Default::default());
    memory.pattern_seed = seed;
    memory.undefined = OWN_SCRATCH;
    memory.table = (entry == Entry::Shader).then(|| layout::driver_table(f, &subject.target)).flatten();
    let wave = subject.target.wave();
    let exec =
        wave.all_lanes() & if seed.is_multiple_of(2) { layout::random(seed, 5, 1) | 1 } else { u64::MAX };
    let mut calls = 0;
    let mut names = |at: u64, w: &mut Wave, mem: &mut Memory| {
        external(subject, object.external_name(at).unwrap_or_default(), w, mem, &mut calls)
    };
    // What a callee must preserve.
    let mut sgprs: Vec<(u16, u32)> = Vec::new();
    let mut vgprs: Vec<(u16, Lanes)> = Vec::new();
    if entry == Entry::Function {
        let kept = (4..100).filter(|n| preserved_sgpr(f.call_conv, *n));
        sgprs.extend(kept.map(|n| (n, 0x5a00_0000 | u32::from(n))));
        let kept = (40..256u16).filter(|n| preserved_vgpr((*n).into()));
        vgprs.extend(kept.map(|n| (n, std::array::from_fn(|l| 0x5b00_0000 | u32::from(n) << 8 | l as u32))));
    }
    sgprs.retain(|(n, _)| inputs.sgprs.iter().all(|(m, _)| m != n));
    sgprs.extend(&inputs.sgprs);
    vgprs.extend(&inputs.vgprs);
    let mut setting = Setting {
        entry,
        dispatch,
        sgprs: &sgprs,
        vgprs: &vgprs,
        exec,
        mode: mode(f),
        own_lds: has_one_variable(subject),
        lds: &|at| pattern_byte(seed, 0x3000_0000 + u64::from(at)),
        scratch: &|lane, offset| layout::scratch(inputs, seed, lane, offset),
        external: &mut names,
    };
    // What lanes hold that went another way is open.
    let quads = f.call_conv == CallConv::AmdgpuPs && f.layout.len() == 1;
    let opaque_images = Some(OpaqueImages { ty: resources::image_type(f, None).unwrap_or(0), quads });
    let config = Config {
        unmapped: Unmapped::Hash,
        opaque_images,
        budget,
        checks,
        trace,
        threads: 1,
        ..Config::default()
    };
    let finished = run_single(object, &mut memory, &mut setting, &config, &subject.target)?;
    if entry == Entry::Function {
        let mut kept = sgprs.clone();
        kept.retain(|(n, _)| preserved_sgpr(f.call_conv, *n));
        convention(&finished, exec, wave, &kept)?;
    }
    let own_lds = entry != Entry::Function && has_one_variable(subject);
    let left = left(&memory, &finished, inputs, entry, wave, exec, seed, own_lds);
    let contested = memory.contested().map(|(at, values)| (at, *values)).collect();
    Ok(Ran { left, strays: memory.strays, static_lds: finished.static_lds, contested })
}

/// That a function leaves what belongs to its caller.
fn convention(
    finished: &Finished,
    exec: u64,
    wave: WaveSize,
    kept: &[(u16, u32)],
) -> Result<(), Box<sim::Report>> {
    let w = &finished.wave;
    let broken =
        |what: String| Err(sim::Report::new(Kind::BadDispatch, format!("calling convention: {what}")));
    if w.exec() != exec {
        return broken(format!("EXEC is {:x} on return, was {exec:x}", w.exec()));
    }
    if w.s[usize::from(PReg::sgpr(32).0)] != STACK * wave.lanes() {
        return broken("s32 has changed".to_owned());
    }
    for &(n, value) in kept {
        let r = usize::from(PReg::sgpr(n).0);
        if w.s[r] != value || w.su[r] != 0 {
            return broken(format!("s{n} has changed"));
        }
    }
    for n in (40..256).filter(|n| preserved_vgpr(*n)) {
        for l in 0..wave.lanes() as usize {
            if w.v[n][l] != 0x5b00_0000 | (n as u32) << 8 | l as u32 || w.undef_at(n, l) != 0 {
                return broken(format!("v{n} has changed in lane {l}"));
            }
        }
    }
    Ok(())
}

/// What a place holds in the beginning.
fn initial(seed: u64, at: u64) -> (u8, u8) {
    let byte = match at & 0xff00_0000_0000 {
        LDS => pattern_byte(seed, 0x3000_0000 + (at - LDS)),
        SCRATCH => {
            let offset = (at - SCRATCH) >> 10 << 2 | at & 3;
            pattern_byte(seed, 0x5000_0000 + offset + ((at >> 2 & 63) << 16))
        }
        RESULT | CALLS => 0,
        _ => pattern_byte(seed, at),
    };
    (byte, 0)
}

fn left(
    memory: &Memory,
    finished: &Finished,
    inputs: &Inputs,
    entry: Entry,
    wave: WaveSize,
    exec: u64,
    seed: u64,
    own_lds: bool,
) -> Left {
    // A shader's own scratch is nobody else's.
    let stored = memory.remembered.iter().flatten().filter(|(at, _)| !OWN_SCRATCH.contains(at));
    let mut left: Left = stored.map(|(&at, &byte)| (at, byte)).collect();
    let mut changed = |at: u64, byte: (u8, u8)| {
        if byte != initial(seed, at) {
            left.insert(at, byte);
        }
    };
    // Arguments that point to LDS lead there; below are the function's own variables.
    for at in if own_lds { 0 } else { 32768 }..65536usize {
        changed(LDS + at as u64, (finished.lds[at], finished.lds_undef[at]));
    }
    if entry == Entry::Function {
        for (n, &(value, undef)) in finished.scratch.iter().enumerate() {
            let lanes = wave.lanes() as usize;
            let (dword, lane) = ((n / lanes) as u64, (n % lanes) as u64);
            if dword * 4 < 256 || exec >> lane & 1 == 0 {
                continue;
            }
            let at = SCRATCH + (dword << 10) + lane * 4;
            let (v, u) = (value.to_le_bytes(), undef.to_le_bytes());
            (0..4).for_each(|b| changed(at + b as u64, (v[b], u[b])));
        }
    }
    // Killed lanes have no result.
    let exec = if entry == Entry::Shader { exec & finished.wave.exec() } else { exec };
    for (k, &Part { reg, mask }) in inputs.result.iter().enumerate() {
        let lanes = if matches!(reg, Reg::S(_)) { 1 } else { MAX_LANES };
        for lane in (0..lanes).filter(|l| lanes == 1 || exec >> l & 1 != 0) {
            let (value, undef) = match reg {
                Reg::V(n) => (finished.wave.v[usize::from(n)][lane], finished.wave.undef_at(n.into(), lane)),
                Reg::S(n) => {
                    let r = usize::from(PReg::sgpr(n).0);
                    (finished.wave.s[r], finished.wave.su[r])
                }
                Reg::Stack(_) => continue,
            };
            let at = RESULT + ((k as u64) << 8) + 4 * lane as u64;
            let (v, u) = ((value & mask).to_le_bytes(), (undef & mask).to_le_bytes());
            left.extend((0..4).map(|b| (at + b as u64, (v[b], u[b]))));
        }
    }
    left
}

/// Takes what a lane stored for what another one stored to the same byte.
fn settle(found: &mut Left, theirs: &Ran) {
    for (at, values) in &theirs.contested {
        if let (Some(own), Some(last)) = (found.get_mut(at), theirs.left.get(at))
            && values[usize::from(own.0 >> 6)] >> (own.0 & 63) & 1 != 0
        {
            *own = *last;
        }
    }
}

/// Compares what three runs left.
fn compare(low: &Left, high: &Left, found: &Left, seed: u64, tolerance: Tolerance) -> Verdict {
    let byte = |left: &Left, at: u64| left.get(&at).copied().unwrap_or_else(|| initial(seed, at));
    let word = |left: &Left, at: u64| -> u32 {
        u32::from_le_bytes(std::array::from_fn(|k| byte(left, at.wrapping_add(k as u64)).0))
    };
    let (mut compared, mut closest) = (0, None);
    // What is stored through a null or undefined pointer is nobody's.
    let mut keys: Vec<u64> = low.keys().chain(found.keys()).copied().filter(|at| *at >= 1 << 16).collect();
    keys.sort_unstable();
    keys.dedup();
    for at in keys {
        let (a, b, c) = (byte(low, at), byte(high, at), byte(found, at));
        let open = a.1 | b.1 | (a.0 ^ b.0);
        if open == 0xff {
            continue;
        }
        if low.contains_key(&at) {
            compared += 1;
        }
        let what = if (a.0 ^ c.0) & !open & !c.1 != 0 {
            let start = at & !3;
            // The dwords of a result or argument are 64 lanes apart.
            let step = if matches!(start & 0xff00_0000_0000, RESULT | CALLS) { 256 } else { 4 };
            let three = |left: &Left| {
                [start.wrapping_sub(step), start, start.wrapping_add(step)].map(|p| word(left, p))
            };
            let (theirs, ours) = (three(low), three(found));
            match tolerance.difference(theirs, ours) {
                // The upper half of an image resource's address.
                _ if theirs[2] == IMAGE_HIGH && ours[2] == IMAGE_HIGH => continue,
                Difference::None => continue,
                Difference::Close => {
                    closest.get_or_insert_with(|| {
                        format!(
                            "{}: llc {:08x}, gcnc {:08x}",
                            place_name(start),
                            word(low, start),
                            word(found, start)
                        )
                    });
                    continue;
                }
                Difference::Real => "differs",
            }
        } else if c.1 & !open != 0 {
            "is undefined in gcnc's only"
        } else {
            continue;
        };
        let start = at & !3;
        let only = |a: &Left, b: &Left| a.keys().find(|k| !b.contains_key(k)).map(|&at| place_name(at));
        let stored = |left: &Left, other: &Left| match (left.contains_key(&at), only(left, other)) {
            (true, _) => String::new(),
            (false, None) => " (not stored)".to_owned(),
            (false, Some(instead)) => format!(" (not stored, but {instead})"),
        };
        return Verdict::Different(format!(
            "{} {what}: llc {:08x}{}, gcnc {:08x}{}",
            place_name(at),
            word(low, start),
            stored(low, found),
            word(found, start),
            stored(found, low),
        ));
    }
    match closest {
        Some(text) => Verdict::Close(text),
        None if compared == 0 => Verdict::Skipped("leaves nothing behind".to_owned()),
        None => Verdict::Equal(compared),
    }
}

fn one_line(report: &sim::Report) -> String {
    report.to_string().replace("\n ", ";")
}

/// A reason to skip, without numbers, for counting.
fn stopped(who: &str, report: &sim::Report) -> Verdict {
    let name = report.instruction.as_deref().unwrap_or_default().split(' ').next().unwrap_or_default();
    let detail = match report.kind {
        Kind::BadInstruction => name.to_owned(),
        _ => super::refusals::reason(&report.message),
    };
    Verdict::Skipped(format!("{who} stops: {} {detail}", report.kind.name()))
}

/// Compares one function of three objects with the inputs of one seed.
pub fn compare_function(
    subject: &Subject<'_>,
    llc: [&CodeObject; 2],
    gcnc: &CodeObject,
    seed: u64,
    trace: bool,
) -> Verdict {
    let f = subject.function;
    if has_wild_pointer(f) {
        return Verdict::Skipped(WILD.to_owned());
    }
    if calls_null(f) {
        return Verdict::Skipped("a call of a null pointer, which is undefined".to_owned());
    }
    if let Some(why) = out_of_hand(subject) {
        return Verdict::Skipped(why.to_owned());
    }
    let mut verdict = compare_once(subject, llc, gcnc, seed, trace);
    if matches!(verdict, Verdict::Different(_)) && is_partial(f) {
        // Operands may have been where the operation is undefined; zeros and ones are fine, divisors are
        // never zero.
        verdict = match compare_once(subject, llc, gcnc, seed | TAME, trace) {
            Verdict::Different(what) => Verdict::Different(what),
            _ => Verdict::Skipped("differs where operands may be out of range".to_owned()),
        };
    }
    match verdict {
        Verdict::Different(what) if has_undefined(f) => Verdict::Unclear(what),
        verdict => verdict,
    }
}

fn compare_once(
    subject: &Subject<'_>,
    llc: [&CodeObject; 2],
    gcnc: &CodeObject,
    seed: u64,
    trace: bool,
) -> Verdict {
    let f = subject.function;
    if f.call_conv != CallConv::Kernel && names_lds(subject) {
        return Verdict::Skipped("a function that names LDS variables".to_owned());
    }
    let seed = if indexes(subject) || loads_padding(f) { seed | TAME } else { seed };
    let seed = if loads_pointers(f) { seed | POINTERS } else { seed };
    let seed = if divides(f) { seed | NONZERO } else { seed };
    let seed = if promises_numbers(f) { seed | FINITE } else { seed };
    let tolerance = Tolerance {
        formats: Formats::of(subject.module, f),
        wide_halves: !subject.target.has(Features::INST_16BIT),
        flush: mode(f) & 0xf0 != 0xf0,
        tiny: seed & FINITE != 0,
        unsigned_zeros: f.insts.values().any(|inst| inst.flags.contains(InstFlags::NSZ))
            || f.attribute("no-signed-zeros-fp-math") == Some("true"),
    };
    if gcnc.symbol(&f.name).is_none() {
        return Verdict::Skipped("gcnc's object has no code for it".to_owned());
    }
    let (dispatch, inputs) = if f.call_conv == CallConv::Kernel {
        match kernel_dispatch(llc[0], &f.name, seed) {
            Ok(dispatch) => (dispatch, Inputs::default()),
            Err(why) => return Verdict::Skipped(why),
        }
    } else {
        let shape =
            Dispatch { kernel: f.name.clone(), grid: [64, 1, 1], group: [64, 1, 1], ..Dispatch::default() };
        match layout::inputs(f, &subject.module.types, &subject.target, seed) {
            Some(inputs) => (shape, inputs),
            None => return Verdict::Skipped("calling convention".to_owned()),
        }
    };
    // llc's code is judged where it would mean undefined behaviour; its waits are its own affair.
    let theirs = Checks::UNDEF_ADDRESS | Checks::UNDEF_BRANCH;
    let mut results = Vec::new();
    for object in llc {
        match run(object, subject, &dispatch, &inputs, seed, theirs, BUDGET, false) {
            Ok(ran) if ran.strays > 0 => return Verdict::Skipped("reaches beyond what it may".to_owned()),
            Ok(ran) => results.push(ran),
            Err(report) => return stopped("llc's code", &report),
        }
    }
    // What is stored is compared with its undefined bits.
    let ours = Checks::default().difference(Checks::MISALIGNED | Checks::UNDEF_STORE);
    match run(gcnc, subject, &dispatch, &inputs, seed, ours, 4 * BUDGET, trace) {
        Ok(found) if found.strays > 0 && indexes(subject) => {
            Verdict::Skipped("reaches beyond its own memory".to_owned())
        }
        Ok(mut found) => {
            let lds = results.iter().map(|r| r.static_lds).fold(found.static_lds, u32::max);
            for ran in &results {
                settle(&mut found.left, ran);
            }
            let has_places = !has_one_variable(subject);
            let own = |at: &u64| has_places && (LDS..LDS + u64::from(lds)).contains(at);
            results.iter_mut().for_each(|r| r.left.retain(|at, _| !own(at)));
            found.left.retain(|at, _| !own(at));
            compare(&results[0].left, &results[1].left, &found.left, seed, tolerance)
        }
        Err(report) if report.message.starts_with("the simulator does not execute") => {
            stopped("gcnc's code", &report)
        }
        Err(report) => Verdict::Different(format!("gcnc's code stops: {}", one_line(&report))),
    }
}
