//! 64-bit integers of which only the low half matters become 32-bit ones.
//!
//! `get_global_id` computes in 64 bits and most kernels truncate the result, often behind loop counters that
//! keep the producer from seeing it. Demand flows backwards: a value is *wide* if something reads its upper
//! half, where additions, products, logic, left shifts, choices and block parameters read the upper halves of
//! their operands only if they are wide themselves. What is not wide and made by one of these is computed in
//! 32 bits; what other instructions make is truncated, which costs nothing. Cost: linear.

use super::append::append;
use super::flow::Flows;
use super::products::kind;
use cranelift_entity::SecondaryMap;
use mir::ir::*;

/// Narrows what can be narrowed in `func`, which is legal IR and stays so.
pub fn narrow(func: &mut Function) {
    let wide = demand(func);
    let mut pass = Narrow { wide, alias: SecondaryMap::new(), freed: false };
    let chosen: Vec<Value> = func.values.keys().filter(|&v| pass.is_narrow(func, v)).collect();
    if chosen.is_empty() {
        return;
    }
    let mut narrow: SecondaryMap<Value, bool> = SecondaryMap::new();
    for value in chosen {
        narrow[value] = true;
    }
    for value in narrow.keys().filter(|&v| narrow[v]).collect::<Vec<_>>() {
        func.values[value].ty = Type::I32;
    }
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        let mut out = Vec::with_capacity(func.blocks[block].insts.len());
        for inst in std::mem::take(&mut func.blocks[block].insts) {
            pass.rewrite(func, &narrow, inst, &mut out);
        }
        func.blocks[block].insts = out;
    }
    pass.resolve_all(func);
    if pass.freed {
        // What is for nothing would keep its operands where they are.
        super::dce::remove_dead(func);
    }
}

/// The 64-bit values whose upper half something reads.
fn demand(func: &Function) -> SecondaryMap<Value, bool> {
    let mut wide: SecondaryMap<Value, bool> = SecondaryMap::new();
    let mut work: Vec<Value> = Vec::new();
    let feeds = Flows::of_params(func, |param| func.ty(param) == Type::I64);
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            mir::interrupt::checkpoint();
            let data = &func.insts[inst];
            match &data.kind {
                InstKind::Cast { op: CastOp::Trunc, .. } => {}
                InstKind::Jump { .. } | InstKind::Branch { .. } => {}
                kind if is_narrowable(func, kind, data.ty) => {}
                kind => kind.for_each_value(|v| work.push(v)),
            }
        }
    }
    while let Some(value) = work.pop() {
        if wide[value] || func.ty(value) != Type::I64 {
            continue;
        }
        wide[value] = true;
        work.extend_from_slice(feeds.of(value));
        if let Some(inst) = func.def_inst(value) {
            let kind = &func.insts[inst].kind;
            // A mask of the low half keeps the upper half of the other operand out.
            if is_narrowable(func, kind, Type::I64) && low_mask(func, kind).is_none() {
                kind.for_each_value(|v| work.push(v));
            }
        }
    }
    wide
}

/// Whether the low half of the result follows from the low halves of the operands.
fn is_narrowable(func: &Function, kind: &InstKind, ty: Type) -> bool {
    use BinaryOp::*;
    ty == Type::I64
        && match kind {
            InstKind::Binary { op: Add | Sub | Mul | And | Or | Xor, .. } => true,
            InstKind::Binary { op: Shl, args } => func.as_int(args[1]).is_some_and(|c| c < 64),
            InstKind::Cast { op: CastOp::ZExt | CastOp::SExt, .. } => true,
            InstKind::Select { .. } => true,
            _ => false,
        }
}

/// `x & c` with a constant below 2^32: x and c.
fn low_mask(func: &Function, kind: &InstKind) -> Option<(Value, u32)> {
    let &InstKind::Binary { op: BinaryOp::And, args: [x, mask] } = kind else { return None };
    Some((x, u32::try_from(func.as_int(mask)?).ok()?))
}

/// The low half that `value` was extended or joined from, so that nobody need make the other one.
fn made_of(func: &Function, value: Value) -> Option<Value> {
    match *kind(func, value)? {
        InstKind::Cast { op: CastOp::ZExt | CastOp::SExt, arg } => (func.ty(arg) == Type::I32).then_some(arg),
        InstKind::Cast { op: CastOp::BitCast, arg: mut vector }
            if func.ty(vector) == Type::Vector(Scalar::Int(32), 2) =>
        {
            // Two insertions make it.
            for _ in 0..2 {
                let InstKind::InsertElement { vector: rest, element, index } = *kind(func, vector)? else {
                    return None;
                };
                if func.as_int(index)? == 0 {
                    return Some(element);
                }
                vector = rest;
            }
            None
        }
        _ => None,
    }
}

struct Narrow {
    wide: SecondaryMap<Value, bool>,
    /// Values that are others now.
    alias: SecondaryMap<Value, Option<Value>>,
    /// Something may be for nothing now.
    freed: bool,
}

impl Narrow {
    fn is_narrow(&self, func: &Function, value: Value) -> bool {
        func.ty(value) == Type::I64
            && !self.wide[value]
            && match func.values[value].def {
                ValueDef::BlockParam(..) => true,
                ValueDef::Inst(inst) => is_narrowable(func, &func.insts[inst].kind, Type::I64),
                _ => false,
            }
    }

    fn resolve(&mut self, value: Value) -> Value {
        let mut end = value;
        while let Some(next) = self.alias[end] {
            end = next;
        }
        let mut at = value;
        while at != end {
            let next = self.alias[at].unwrap_or(end);
            self.alias[at] = Some(end);
            at = next;
        }
        end
    }

    /// The low half of `value` before `like`.
    fn low(&mut self, func: &mut Function, value: Value, like: Inst, out: &mut Vec<Inst>) -> Value {
        let value = self.resolve(value);
        if func.ty(value) != Type::I64 {
            return value;
        }
        match func.as_const(value) {
            Some(Const::Int(c)) => {
                let c = *c & u64::from(u32::MAX);
                return func.int(Type::I32, c);
            }
            Some(Const::Zero) => return func.int(Type::I32, 0),
            Some(Const::Undef) => return func.constant(Type::I32, Const::Undef),
            Some(Const::Poison) => return func.constant(Type::I32, Const::Poison),
            _ => {}
        }
        if let Some(low) = made_of(func, value) {
            self.freed = true;
            return self.resolve(low);
        }
        let kind = InstKind::Cast { op: CastOp::Trunc, arg: value };
        append(func, like, kind, Type::I32, out).unwrap_or(value)
    }

    fn rewrite(
        &mut self,
        func: &mut Function,
        narrow: &SecondaryMap<Value, bool>,
        inst: Inst,
        out: &mut Vec<Inst>,
    ) {
        let result = func.insts[inst].result;
        let mut kind = func.insts[inst].kind.clone();
        for target in kind.targets_mut() {
            for i in 0..target.args.len() {
                if func.blocks[target.block].params.get(i).is_some_and(|&p| narrow[p]) {
                    target.args[i] = self.low(func, target.args[i], inst, out);
                }
            }
        }
        if let Some(result) = result.filter(|&r| narrow[r]) {
            match &mut kind {
                &mut InstKind::Cast { arg, .. } if func.ty(arg) == Type::I32 => {
                    self.alias[result] = Some(arg);
                    return;
                }
                &mut InstKind::Binary { op: BinaryOp::Shl, args }
                    if func.as_int(args[1]).is_some_and(|c| c >= 32) =>
                {
                    self.alias[result] = Some(func.int(Type::I32, 0));
                    return;
                }
                InstKind::Binary { args, .. } => {
                    *args = args.map(|a| self.low(func, a, inst, out));
                }
                InstKind::Select { if_true, if_false, .. } => {
                    *if_true = self.low(func, *if_true, inst, out);
                    *if_false = self.low(func, *if_false, inst, out);
                }
                _ => {}
            }
            func.insts[inst].ty = Type::I32;
            func.insts[inst].flags = InstFlags::empty();
        } else if let Some(result) = result {
            if let InstKind::Cast { op: CastOp::Trunc, arg } = kind
                && narrow[arg]
                && func.ty(result) == Type::I32
            {
                self.alias[result] = Some(arg);
                return;
            }
            if func.ty(result) == Type::I64
                && let Some((x, mask)) = low_mask(func, &kind)
                && !self.wide[x]
            {
                let mut x = self.low(func, x, inst, out);
                if mask != u32::MAX {
                    let mask = func.int(Type::I32, u64::from(mask));
                    let and = InstKind::Binary { op: BinaryOp::And, args: [x, mask] };
                    x = append(func, inst, and, Type::I32, out).unwrap_or(x);
                }
                kind = InstKind::Cast { op: CastOp::ZExt, arg: x };
            }
        }
        func.insts[inst].kind = kind;
        out.push(inst);
    }

    fn resolve_all(&mut self, func: &mut Function) {
        for i in 0..func.layout.len() {
            for k in 0..func.blocks[func.layout[i]].insts.len() {
                let inst = func.blocks[func.layout[i]].insts[k];
                func.insts[inst].kind.for_each_value_mut(|v| *v = self.resolve(*v));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_of_which_the_low_half_is_used_is_narrow() {
        let mut f = Function::new("k", CallConv::Kernel, Type::Void);
        let (entry, body, exit) = (f.add_block(), f.add_block(), f.add_block());
        let counter = f.add_block_param(body, Type::I64);
        let (zero, step, limit) = (f.int(Type::I64, 0), f.int(Type::I64, 64), f.int(Type::I32, 1 << 20));
        let start = BlockCall { block: body, args: [zero].into_iter().collect() };
        f.append(entry, InstKind::Jump { target: start }, Type::Void);
        let add = InstKind::Binary { op: BinaryOp::Add, args: [counter, step] };
        let next = f.append(body, add, Type::I64).expect("a sum");
        let low = InstKind::Cast { op: CastOp::Trunc, arg: next };
        let low = f.append(body, low, Type::I32).expect("a half");
        let less = InstKind::Icmp { predicate: IntPredicate::Ult, args: [low, limit] };
        let cond = f.append(body, less, Type::I1).expect("a condition");
        let again = BlockCall { block: body, args: [next].into_iter().collect() };
        f.append(body, InstKind::Branch { cond, if_true: again, if_false: BlockCall::to(exit) }, Type::Void);
        f.append(exit, InstKind::Ret { value: None }, Type::Void);
        narrow(&mut f);
        assert_eq!((f.ty(counter), f.ty(next)), (Type::I32, Type::I32));
        let insts: Vec<&InstKind> = f.blocks[body].insts.iter().map(|&i| &f.insts[i].kind).collect();
        assert_eq!(insts.len(), 3, "the truncation is gone: {insts:?}");
        assert!(matches!(insts[1], InstKind::Icmp { args, .. } if args[0] == next));
    }
}
