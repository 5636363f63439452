//! Vectors of bytes from memory are dwords between blocks.
//!
//! ```text
//!   v1: <16 x i8> = load p           v1: <16 x i8> = load p
//!   jump block1(v1)              →   v5: <4 x i32> = bitcast v1
//!                                    jump block1(v5)
//! block1(v2: <16 x i8>):           block1(v6: <4 x i32>):
//!                                    v2: <16 x i8> = bitcast v6
//! ```
//!
//! Legal IR has a value of 32 bits for each byte. So whatever a branch loads, or leaves out, would be taken apart in front of the join, and take a register a byte
//! behind it; behind the join, who reads a byte often takes it from the dword at no cost. Bytes that are computed would have to be put together, and are left
//! alone.
//!
//! For the same reason dwords are taken apart in each block that reads their bytes, and so are loaded bytes; not in loops that they are loaded in front of.
//!
//! Source of the idea: LLVM's `AMDGPULateCodeGenPrepare`. Cost: linear in operands.

use super::flow::Flows;
use super::memory::Flow;
use super::params::Replaced;
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Most bytes of a vector that is packed.
const MAX_BYTES: u32 = 64;

/// Packs vectors of bytes in `func`, which is IR as it was read; first those, and of halves, that variable indices address ([`super::pack_indexed`]).
pub fn pack(func: &mut Function) {
    super::pack_indexed::pack(func);
    if func.layout.len() < 2 || !func.insts.values().any(|data| dwords_of(data.ty).is_some()) {
        return;
    }
    load_dwords(func);
    pack_variables(func);
    take_apart_late(func);
}

/// The dwords that a vector of bytes is.
fn dwords_of(ty: Type) -> Option<Type> {
    match ty {
        Type::Vector(Scalar::Int(8), lanes) if lanes % 4 == 0 && lanes <= MAX_BYTES => {
            Some(match lanes / 4 {
                1 => Type::I32,
                dwords => Type::Vector(Scalar::Int(32), dwords),
            })
        }
        _ => None,
    }
}

/// An instruction, of no block yet, that makes `value` of type `ty`, and what it makes.
fn bitcast(func: &mut Function, value: Value, ty: Type) -> Option<(Inst, Value)> {
    let inst = func.make_inst(InstKind::Cast { op: CastOp::BitCast, arg: value }, ty, InstFlags::empty());
    Some((inst, func.insts[inst].result?))
}

/// The dwords that `value` is made of.
fn dwords(func: &Function, value: Value) -> Option<Value> {
    let data = &func.insts[func.def_inst(value)?];
    match data.kind {
        InstKind::Cast { op: CastOp::BitCast, arg } if dwords_of(data.ty) == Some(func.ty(arg)) => Some(arg),
        _ => None,
    }
}

/// Loads bytes as dwords if another block reads them or an edge brings them.
fn load_dwords(func: &mut Function) {
    let mut loads: FxHashMap<Value, Block> = FxHashMap::default();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            if let (InstKind::Load { .. }, Some(result), Some(_)) =
                (&data.kind, data.result, dwords_of(data.ty))
            {
                loads.insert(result, block);
            }
        }
    }
    if loads.is_empty() {
        return;
    }
    let mut far: FxHashSet<Inst> = FxHashSet::default();
    for &block in &func.layout {
        let last = func.terminator(block);
        for &inst in &func.blocks[block].insts {
            func.insts[inst].kind.for_each_value(|value| {
                if loads.get(&value).is_some_and(|&home| home != block || last == Some(inst)) {
                    far.extend(func.def_inst(value));
                }
            });
        }
    }
    for i in 0..func.layout.len() {
        mir::interrupt::checkpoint();
        let block = func.layout[i];
        if !func.blocks[block].insts.iter().any(|inst| far.contains(inst)) {
            continue;
        }
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let mut out = Vec::with_capacity(insts.len() + 4);
        for inst in insts {
            if far.contains(&inst)
                && let Some(ty) = dwords_of(func.insts[inst].ty)
            {
                let (kind, flags) = (func.insts[inst].kind.clone(), func.insts[inst].flags);
                let load = func.make_inst(kind, ty, flags);
                func.locs[load] = func.locs[inst];
                if let Some(arg) = func.insts[load].result {
                    let data = &mut func.insts[inst];
                    (data.kind, data.flags) =
                        (InstKind::Cast { op: CastOp::BitCast, arg }, InstFlags::empty());
                    out.push(load);
                }
            }
            out.push(inst);
        }
        func.blocks[block].insts = out;
    }
}

/// Lets variables of blocks be dwords.
fn pack_variables(func: &mut Function) {
    let packed = find(func);
    if packed.is_empty() {
        return;
    }
    // Who reads a variable reads what it is made of it.
    let mut replaced = Replaced::default();
    let mut variables: FxHashMap<Value, Value> = FxHashMap::default();
    let mut at_start: FxHashMap<Block, Vec<Inst>> = FxHashMap::default();
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        for k in 0..func.blocks[block].params.len() {
            let param = func.blocks[block].params[k];
            if packed.contains(&param)
                && let Some((inst, result)) = bitcast(func, param, func.ty(param))
            {
                at_start.entry(block).or_default().push(inst);
                replaced.set(param, result);
                variables.insert(result, param);
            }
        }
    }
    replaced.apply(func);
    for i in 0..func.layout.len() {
        mir::interrupt::checkpoint();
        let block = func.layout[i];
        pack_arguments(func, block, &packed, &variables);
        if let Some(casts) = at_start.remove(&block) {
            func.blocks[block].insts.splice(0..0, casts);
        }
    }
    for param in packed {
        if let Some(ty) = dwords_of(func.ty(param)) {
            func.values[param].ty = ty;
        }
    }
}

/// The variables of blocks to which all edges bring dwords, constants that are dwords as well, or other such variables.
fn find(func: &Function) -> FxHashSet<Value> {
    let is_of_bytes = |&param: &Value| dwords_of(func.ty(param)).is_some();
    let blocks = func.layout.iter().skip(1);
    let params = || blocks.clone().flat_map(|&block| &func.blocks[block].params).copied().filter(is_of_bytes);
    let mut found: FxHashSet<Value> = params().collect();
    if found.is_empty() {
        return found;
    }
    let incoming = Flows::of_params(func, |param| found.contains(&param));
    let mut outgoing: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    let mut work = Vec::new();
    for param in params() {
        let args = incoming.of(param);
        for &arg in args.iter().filter(|arg| found.contains(arg)) {
            outgoing.entry(arg).or_default().push(param);
        }
        let fits = |&arg: &Value| found.contains(&arg) || is_simple(func, arg) || dwords(func, arg).is_some();
        if !args.iter().all(fits) || args.iter().all(|&arg| is_simple(func, arg)) {
            work.push(param);
        }
    }
    while let Some(param) = work.pop() {
        if found.remove(&param) {
            work.extend(outgoing.remove(&param).into_iter().flatten());
        }
    }
    found
}

/// The dwords that the constant `value` is, if all of it is numbers.
fn numbers(func: &Function, value: Value) -> Option<SmallVec<[u64; 4]>> {
    let Const::Elements(bytes) = func.as_const(value)? else { return None };
    let dword = |bytes: &[Value]| {
        bytes.iter().rev().try_fold(0, |dword, &byte| Some(dword << 8 | func.as_int(byte)? & 0xff))
    };
    bytes.chunks(4).map(dword).collect()
}

/// Whether `value` is a constant of dwords as easily as of bytes.
fn is_simple(func: &Function, value: Value) -> bool {
    matches!(func.as_const(value), Some(Const::Zero | Const::Undef | Const::Poison))
        || numbers(func, value).is_some()
}

/// The constant `value` as dwords of type `ty`.
fn constant(func: &mut Function, value: Value, ty: Type) -> Option<Value> {
    if let Some(numbers) = numbers(func, value) {
        let dwords: Box<[Value]> = numbers.iter().map(|&dword| func.int(Type::I32, dword)).collect();
        return match *dwords {
            [dword] => Some(dword),
            _ => Some(func.constant(ty, Const::Elements(dwords))),
        };
    }
    match func.as_const(value)?.clone() {
        Const::Zero if ty == Type::I32 => Some(func.int(ty, 0)),
        constant => Some(func.constant(ty, constant)),
    }
}

/// Lets the edges out of `block` bring dwords to the variables that are `packed`; `variables` are these by the bytes that are made of them.
fn pack_arguments(
    func: &mut Function,
    block: Block,
    packed: &FxHashSet<Value>,
    variables: &FxHashMap<Value, Value>,
) {
    let Some(last) = func.terminator(block) else { return };
    let mut kind = func.insts[last].kind.clone();
    for target in kind.targets_mut() {
        for (k, arg) in target.args.iter_mut().enumerate() {
            let param = func.blocks[target.block].params.get(k).filter(|param| packed.contains(param));
            let Some(ty) = param.and_then(|&param| dwords_of(func.ty(param))) else { continue };
            let dwords = constant(func, *arg, ty)
                .or_else(|| variables.get(arg).copied())
                .or_else(|| dwords(func, *arg));
            *arg = dwords.unwrap_or(*arg);
        }
    }
    func.insts[last].kind = kind;
}

/// Takes dwords apart in the blocks that read their bytes.
fn take_apart_late(func: &mut Function) {
    let mut homes: FxHashMap<Value, Block> = FxHashMap::default();
    for &block in &func.layout {
        let results = func.blocks[block].insts.iter().filter_map(|&inst| func.insts[inst].result);
        homes.extend(results.filter(|&result| dwords(func, result).is_some()).map(|result| (result, block)));
    }
    if homes.is_empty() {
        return;
    }
    let flow = Flow::new(func);
    if !flow.loops.is_reducible() {
        return;
    }
    let mut used: FxHashSet<Value> = FxHashSet::default();
    for i in 0..func.layout.len() {
        mir::interrupt::checkpoint();
        let block = func.layout[i];
        let innermost = flow.loops.innermost(block.as_u32());
        let is_far = |value: &Value| {
            homes.get(value).is_some_and(|&home| {
                home != block && innermost.is_none_or(|l| flow.loops.contains(l, home.as_u32()))
            })
        };
        let mut made: FxHashMap<Value, Value> = FxHashMap::default();
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let mut out = Vec::with_capacity(insts.len());
        let last = insts.last().copied();
        for inst in insts {
            let mut kind = func.insts[inst].kind.clone();
            let mut read: SmallVec<[Value; 4]> = SmallVec::new();
            kind.for_each_value(|value| read.extend(homes.contains_key(&value).then_some(value)));
            // What goes on along an edge stays what it is.
            let far = |value: &&Value| Some(inst) != last && is_far(value);
            for &value in read.iter().filter(far) {
                if !made.contains_key(&value)
                    && let Some(whole) = dwords(func, value)
                    && let Some((cast, apart)) = bitcast(func, whole, func.ty(value))
                {
                    out.push(cast);
                    made.insert(value, apart);
                }
            }
            if Some(inst) != last && read.iter().any(|value| made.contains_key(value)) {
                kind.for_each_value_mut(|value| *value = made.get(value).copied().unwrap_or(*value));
                func.insts[inst].kind = kind;
            }
            func.insts[inst]
                .kind
                .for_each_value(|value| used.extend(homes.contains_key(&value).then_some(value)));
            out.push(inst);
        }
        func.blocks[block].insts = out;
    }
    // Others would find them.
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        let unused = |value: Value| homes.contains_key(&value) && !used.contains(&value);
        let Function { insts, blocks, .. } = func;
        blocks[block].insts.retain(|&inst| !insts[inst].result.is_some_and(unused));
    }
}
