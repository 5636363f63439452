//! Vectors of bytes and halves that a variable index addresses are vectors of dwords.
//!
//! ```text
//!   v3: <20 x i8> = insertelement v1, v2, v0   →   v4: i32 = lshr v0, 2
//!                                                  v5: i32 = extractelement v1, v4
//!                                                  v6: i32 = v5 with v2 in its byte v0 & 3
//!                                                  v3: <5 x i32> = insertelement v1, v6, v4
//! ```
//!
//! Legal IR has a value of 32 bits for each element, and compares a variable index with each of them, or goes through scratch. Of dwords there are a half or a quarter
//! as many, which are a tuple of registers. LLVM makes such vectors of small arrays on the stack.
//!
//! A vector becomes one of dwords with all that it flows into and comes from: insertions, variables of blocks, choices, constants, and, if its elements fill the dwords,
//! loads, stores and casts. What goes anywhere else stays as it is. Elements of dwords depend on each other as far as poison goes: it is frozen, and what is undefined is zero.
//!
//! Cost: linear.

use super::append::append_value;
use mir::analysis::Classes;
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Dwords of vectors that a variable index may address; where it differs between lanes, elements of four and fewer are compared with for less.
const DWORDS: std::ops::RangeInclusive<u32> = 5..=32;

/// Packs vectors in `func`, which is IR as it was read.
pub fn pack(func: &mut Function) {
    let is_indexed = |data: &InstData| match data.kind {
        InstKind::ExtractElement { vector, index } | InstKind::InsertElement { vector, index, .. } => {
            func.as_int(index).is_none() && packed_type(func.ty(vector)).is_some()
        }
        _ => false,
    };
    let blocks = func.layout.iter();
    if !blocks.flat_map(|&block| &func.blocks[block].insts).any(|&inst| is_indexed(&func.insts[inst])) {
        return;
    }
    let packed = find(func);
    if packed.is_empty() {
        return;
    }
    for i in 0..func.layout.len() {
        mir::interrupt::checkpoint();
        let block = func.layout[i];
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let mut out = Vec::with_capacity(insts.len() + 8);
        for inst in insts {
            rewrite(func, inst, &packed, &mut out);
            out.push(inst);
        }
        func.blocks[block].insts = out;
    }
    for (&value, &ty) in &packed {
        func.values[value].ty = ty;
        if let Some(inst) = func.def_inst(value) {
            func.insts[inst].ty = ty;
        }
    }
}

/// Bits of an element, and elements, of a vector of bytes or halves.
fn shape(ty: Type) -> Option<(u32, u32)> {
    match ty {
        Type::Vector(Scalar::Int(bits @ (8 | 16)), lanes) => Some((bits, lanes)),
        _ => None,
    }
}

/// The dwords that such a vector becomes.
fn packed_type(ty: Type) -> Option<Type> {
    let (bits, lanes) = shape(ty)?;
    let dwords = lanes.div_ceil(32 / bits);
    DWORDS.contains(&dwords).then_some(Type::Vector(Scalar::Int(32), dwords))
}

/// Whether the elements of a vector fill its dwords.
fn fills_dwords(ty: Type) -> bool {
    shape(ty).is_some_and(|(bits, lanes)| (bits * lanes).is_multiple_of(32))
}

/// Values by what flows into each other, while they are looked for.
struct Webs {
    numbers: FxHashMap<Value, u32>,
    classes: Classes,
    /// Values that something is done with which dwords cannot do.
    fixed: Vec<Value>,
    /// Values that a variable index addresses.
    indexed: Vec<Value>,
}

impl Webs {
    /// The number of `value`, if it may become dwords and is no constant.
    fn number(&mut self, func: &Function, value: Value) -> Option<u32> {
        if func.as_const(value).is_some() || packed_type(func.ty(value)).is_none() {
            return None;
        }
        Some(*self.numbers.entry(value).or_insert_with(|| self.classes.add()))
    }

    /// Lets both be dwords, or neither.
    fn join(&mut self, func: &Function, a: Value, b: Value) {
        for (value, other) in [(a, b), (b, a)] {
            // A constant that is no list of numbers.
            if func.as_const(value).is_some() && constant_parts(func, value).is_none() {
                self.fixed.push(other);
            }
        }
        if let (Some(a), Some(b)) = (self.number(func, a), self.number(func, b)) {
            self.classes.join(a, b);
        }
    }

    /// The classes of some values.
    fn leaders(&mut self, func: &Function, values: Vec<Value>) -> FxHashSet<u32> {
        let numbers: Vec<u32> = values.into_iter().filter_map(|value| self.number(func, value)).collect();
        numbers.into_iter().map(|number| self.classes.leader(number)).collect()
    }

    /// Takes note of what `inst` does with such vectors.
    fn note(&mut self, func: &Function, inst: Inst) {
        let data = &func.insts[inst];
        let result = data.result.filter(|_| packed_type(data.ty).is_some());
        let exact = |value: Value| fills_dwords(func.ty(value));
        match (&data.kind, result) {
            (&InstKind::InsertElement { vector, index, .. }, Some(result)) => {
                self.join(func, vector, result);
                if func.as_int(index).is_none() {
                    self.indexed.push(result);
                }
            }
            (&InstKind::ExtractElement { vector, index }, _) => {
                if func.as_int(index).is_none() {
                    self.indexed.push(vector);
                }
            }
            (&InstKind::Select { cond, if_true, if_false }, Some(result)) if func.ty(cond) == Type::I1 => {
                self.join(func, if_true, result);
                self.join(func, if_false, result);
            }
            (&InstKind::Unary { op: UnaryOp::Freeze, arg }, Some(result)) => self.join(func, arg, result),
            (InstKind::Load { mem, .. }, Some(result)) if mem.is_simple() && exact(result) => {}
            (&InstKind::Store { value, mem, .. }, None) if mem.is_simple() => {
                if !exact(value) || func.as_const(value).is_some() {
                    self.fixed.push(value);
                }
            }
            (&InstKind::Cast { op: CastOp::BitCast, arg }, _) => {
                let values = [Some(arg), result].into_iter().flatten();
                let own = values.filter(|&value| packed_type(func.ty(value)).is_some());
                // From bytes to halves is another matter.
                let both = own.clone().count() > 1;
                self.fixed.extend(own.filter(|&value| both || !exact(value)));
            }
            (kind, _) if kind.is_terminator() => {
                for target in kind.targets() {
                    let params = &func.blocks[target.block].params;
                    params.iter().zip(&target.args).for_each(|(&param, &arg)| self.join(func, param, arg));
                }
                let mut kind = kind.clone();
                kind.targets_mut().into_iter().for_each(|target| target.args.clear());
                kind.for_each_value(|value| self.fixed.push(value));
            }
            (kind, result) => {
                self.fixed.extend(result);
                kind.for_each_value(|value| self.fixed.push(value));
            }
        }
    }
}

/// The vectors that become dwords, with these.
fn find(func: &Function) -> FxHashMap<Value, Type> {
    let mut webs = Webs {
        numbers: FxHashMap::default(),
        classes: Classes::new(0),
        fixed: Vec::new(),
        indexed: Vec::new(),
    };
    for &block in &func.layout {
        mir::interrupt::checkpoint();
        for &inst in &func.blocks[block].insts {
            webs.note(func, inst);
        }
    }
    // How a caller passes a vector is not this function's choice.
    webs.fixed.extend(func.params.iter().map(|param| param.value));
    let (fixed, indexed) = (std::mem::take(&mut webs.fixed), std::mem::take(&mut webs.indexed));
    let (fixed, indexed) = (webs.leaders(func, fixed), webs.leaders(func, indexed));
    let Webs { numbers, mut classes, .. } = webs;
    let becomes = |(value, number)| {
        let leader = classes.leader(number);
        let becomes = indexed.contains(&leader) && !fixed.contains(&leader);
        Some((value, packed_type(func.ty(value)).filter(|_| becomes)?))
    };
    numbers.into_iter().filter_map(becomes).collect()
}

/// The dwords of a constant vector of numbers; what is undefined is zero.
fn constant_parts(func: &Function, value: Value) -> Option<Vec<u64>> {
    let ty = func.ty(value);
    let ((bits, _), dwords) = (shape(ty)?, packed_type(ty)?.lanes());
    let mut out = vec![0; dwords as usize];
    match func.as_const(value)? {
        Const::Zero | Const::Undef | Const::Poison => {}
        Const::Elements(elements) => {
            let each = 32 / bits as usize;
            for (k, &element) in elements.iter().enumerate() {
                let number = match func.as_const(element)? {
                    Const::Int(number) => number & ((1 << bits) - 1),
                    Const::Zero | Const::Undef | Const::Poison => 0,
                    _ => return None,
                };
                *out.get_mut(k / each)? |= number << (bits as usize * (k % each));
            }
        }
        _ => return None,
    }
    Some(out)
}

/// `value`, or the dwords that the constant is.
fn dwords(func: &mut Function, value: Value) -> Value {
    let (Some(parts), Some(ty)) = (constant_parts(func, value), packed_type(func.ty(value))) else {
        return value;
    };
    let elements: Box<[Value]> = parts.iter().map(|&part| func.int(Type::I32, part)).collect();
    let zero = parts.iter().all(|&part| part == 0);
    func.constant(ty, if zero { Const::Zero } else { Const::Elements(elements) })
}

/// Where an element is: the dword's number, and the element's first bit in it.
fn place(func: &mut Function, like: Inst, index: Value, bits: u32, out: &mut Vec<Inst>) -> (Value, Value) {
    let each = 32 / bits;
    if let Some(at) = func.as_int(index) {
        let number = |func: &mut Function, value: u64| func.int(Type::I32, value & 0xffff_ffff);
        return (number(func, at / u64::from(each)), number(func, at % u64::from(each) * u64::from(bits)));
    }
    let index = match func.ty(index).bits().unwrap_or(32) {
        32 => index,
        width => {
            let op = if width > 32 { CastOp::Trunc } else { CastOp::ZExt };
            append_value(func, like, InstKind::Cast { op, arg: index }, Type::I32, out)
        }
    };
    let mut binary = |op, a, number: u32, out: &mut Vec<Inst>| {
        let args = [a, func.int(Type::I32, number.into())];
        append_value(func, like, InstKind::Binary { op, args }, Type::I32, out)
    };
    let dword = binary(BinaryOp::LShr, index, each.trailing_zeros(), out);
    let within = binary(BinaryOp::And, index, each - 1, out);
    (dword, binary(BinaryOp::Shl, within, bits.trailing_zeros(), out))
}

/// Lets `inst` read and make dwords; what it needs for that goes to `out` in front of it.
fn rewrite(func: &mut Function, inst: Inst, packed: &FxHashMap<Value, Type>, out: &mut Vec<Inst>) {
    let data = &func.insts[inst];
    let makes = data.result.and_then(|result| packed.get(&result).copied());
    let binary = |func: &mut Function, op, args, out: &mut Vec<Inst>| {
        append_value(func, inst, InstKind::Binary { op, args }, Type::I32, out)
    };
    match data.kind {
        InstKind::ExtractElement { vector, index } if packed.contains_key(&vector) => {
            let Some((bits, _)) = shape(func.ty(vector)) else { return };
            let (dword, first) = place(func, inst, index, bits, out);
            let kind = InstKind::ExtractElement { vector, index: dword };
            let whole = append_value(func, inst, kind, Type::I32, out);
            let arg = binary(func, BinaryOp::LShr, [whole, first], out);
            func.insts[inst].kind = InstKind::Cast { op: CastOp::Trunc, arg };
        }
        InstKind::InsertElement { vector, element, index } if makes.is_some() => {
            let Some((bits, _)) = shape(data.ty) else { return };
            let vector = dwords(func, vector);
            let element = match func.as_const(element) {
                // Any number does.
                Some(Const::Undef | Const::Poison) => func.int(Type::int(bits), 0),
                Some(_) => element,
                None => {
                    let kind = InstKind::Unary { op: UnaryOp::Freeze, arg: element };
                    append_value(func, inst, kind, Type::int(bits), out)
                }
            };
            let (dword, first) = place(func, inst, index, bits, out);
            let kind = InstKind::ExtractElement { vector, index: dword };
            let whole = append_value(func, inst, kind, Type::I32, out);
            let kind = InstKind::Cast { op: CastOp::ZExt, arg: element };
            let wide = append_value(func, inst, kind, Type::I32, out);
            let moved = binary(func, BinaryOp::Shl, [wide, first], out);
            let all = [func.int(Type::I32, (1 << bits) - 1), func.int(Type::I32, u64::from(u32::MAX))];
            let mask = binary(func, BinaryOp::Shl, [all[0], first], out);
            let others = binary(func, BinaryOp::Xor, [mask, all[1]], out);
            let kept = binary(func, BinaryOp::And, [whole, others], out);
            let element = binary(func, BinaryOp::Or, [kept, moved], out);
            func.insts[inst].kind = InstKind::InsertElement { vector, element, index: dword };
        }
        InstKind::Select { .. } | InstKind::Unary { .. } if makes.is_some() => {
            let mut kind = data.kind.clone();
            kind.for_each_value_mut(|value| *value = dwords(func, *value));
            func.insts[inst].kind = kind;
        }
        _ if data.kind.is_terminator() => {
            let mut kind = data.kind.clone();
            for target in kind.targets_mut() {
                for (k, arg) in target.args.iter_mut().enumerate() {
                    if func.blocks[target.block].params.get(k).is_some_and(|param| packed.contains_key(param))
                    {
                        *arg = dwords(func, *arg);
                    }
                }
            }
            func.insts[inst].kind = kind;
        }
        // Loads, stores and casts do the same with dwords.
        _ => {}
    }
}
