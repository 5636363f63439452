//! Atomic operations that all lanes of a wave make on one place become one operation of the wave.
//!
//! A counter, a maximum or a set of flags is one place for all lanes. Their operations come one after the other in some order; here it is
//! that of the lanes, with no other wave's operation in between, so that the first lane makes one operation for all and each finds what it
//! would have read:
//!
//! ```text
//! block:       mask = ballot(true); n = mbcnt(mask)            the lanes in front of this one
//!              n == 0 → one, else → behind(undef)
//! one:         old = atomicrmw add p, x · popcount(mask)
//!              → behind(old)
//! behind(old): first = readfirstlane(old); result = first + x · n
//! ```
//!
//! The second operand is the same in all lanes, too. What a memory model asks for around the operation, it asks of the wave, which waits and
//! empties caches as a whole; that volatile operations are made for all lanes at once, LLVM's code generator does as well.
//!
//! Left alone: places that differ, and generic ones, which may be scratch, a place of each lane; sums of floating-point numbers, which would
//! be rounded otherwise; shaders, whose helper lanes would count; operations behind a test that one lane alone passes; functions for size.
//!
//! Source of the idea: LLVM's pass `amdgpu-atomic-optimizer`. Cost: linear, and nothing where no function has such an operation.

use super::append::append_value;
use super::inline::substitute;
use cranelift_entity::SecondaryMap;
use mir::analysis::Uniformity;
use mir::ir::*;
use mir::target::{Target, WaveSize};
use smallvec::SmallVec;

/// Branches that are looked at for one that a single lane takes.
const MAX_TESTS: usize = 8;

/// Casts between a lane's number and the comparison of it.
const MAX_CASTS: usize = 4;

/// Joins the atomic operations of `func`, which is legal IR, for `target`.
pub fn join(func: &mut Function, target: &Target) {
    let concerns = matches!(func.call_conv, CallConv::Kernel | CallConv::Device | CallConv::AmdgpuCs)
        && !func.flags.intersects(FuncFlags::OPT_SIZE | FuncFlags::MIN_SIZE);
    let is_candidate = |func: &Function, inst: Inst| match func.insts[inst].kind {
        InstKind::AtomicRmw { op, value, mem, .. } => {
            matches!(mem.space, AddrSpace::GLOBAL | AddrSpace::LOCAL) && joins(func, op, value)
        }
        _ => false,
    };
    let any = |&block: &Block| func.blocks[block].insts.iter().any(|&inst| is_candidate(func, inst));
    if !concerns || !func.layout.iter().any(any) {
        return;
    }
    let uniformity = Uniformity::compute(func, target);
    let lonely = lonely_blocks(func, &uniformity);
    let mut used: SecondaryMap<Value, bool> = SecondaryMap::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            func.insts[inst].kind.for_each_value(|value| used[value] = true);
        }
    }
    let mut replaced: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    for block in func.layout.clone() {
        if lonely[block] {
            continue;
        }
        let is_joined = |func: &Function, inst: Inst| match func.insts[inst].kind {
            InstKind::AtomicRmw { ptr, value, .. } => {
                let uniform = |value| !uniformity.is_divergent_at(value, block);
                is_candidate(func, inst) && uniform(ptr) && uniform(value)
            }
            _ => false,
        };
        let mut rest = std::mem::take(&mut func.blocks[block].insts);
        let mut here = block;
        let mut lanes = None;
        while let Some(at) = rest.iter().position(|&inst| is_joined(func, inst)) {
            mir::interrupt::checkpoint();
            let tail = rest.split_off(at + 1);
            let inst = rest.pop();
            // Lanes are the same all through a block, but are not kept over calls.
            if rest.iter().any(|&inst| matches!(func.insts[inst].kind, InstKind::Call { .. })) {
                lanes = None;
            }
            func.blocks[here].insts.extend(rest);
            rest = tail;
            if let Some(inst) = inst {
                let is_used = func.insts[inst].result.is_some_and(|result| used[result]);
                let lanes = *lanes.get_or_insert_with(|| find_lanes(func, inst, here, target.wave()));
                here = make_one(func, inst, here, lanes, is_used, &mut replaced);
            }
        }
        func.blocks[here].insts.extend(rest);
    }
    if replaced.values().any(Option::is_some) {
        substitute(func, &replaced);
    }
}

/// Whether operations of lanes with the same `value` are one operation.
fn joins(func: &Function, op: AtomicOp, value: Value) -> bool {
    use AtomicOp::*;
    match func.ty(value) {
        Type::I32 => matches!(op, Add | Sub | And | Or | Xor | Max | Min | UMax | UMin),
        // There are products of 32 bits and of constants.
        Type::I64 if matches!(op, Add | Sub) => {
            func.as_int(value).is_some_and(|value| value <= u64::from(u32::MAX))
        }
        Type::I64 => matches!(op, And | Or | Xor | Max | Min | UMax | UMin),
        _ => false,
    }
}

/// Blocks that one lane alone comes to, by a test of its number.
fn lonely_blocks(func: &Function, uniformity: &Uniformity) -> SecondaryMap<Block, bool> {
    let mut entries: SecondaryMap<Block, (u32, Option<Block>)> = SecondaryMap::new();
    for &block in &func.layout {
        for next in func.successors(block) {
            entries[next] = (entries[next].0 + 1, Some(block));
        }
    }
    let mut lonely = SecondaryMap::new();
    for &block in &func.layout {
        let mut at = block;
        for _ in 0..MAX_TESTS {
            let (1, Some(from)) = entries[at] else { break };
            if let Some(last) = func.terminator(from)
                && let InstKind::Branch { cond, if_true, if_false } = &func.insts[last].kind
                && (if_true.block == at && picks_one(func, uniformity, *cond, IntPredicate::Eq)
                    || if_false.block == at && picks_one(func, uniformity, *cond, IntPredicate::Ne))
            {
                lonely[block] = true;
                break;
            }
            at = from;
        }
    }
    lonely
}

/// Whether `cond` compares the number of a lane with something that is the same for all.
fn picks_one(func: &Function, uniformity: &Uniformity, cond: Value, wanted: IntPredicate) -> bool {
    let Some(inst) = func.def_inst(cond) else { return false };
    match func.insts[inst].kind {
        InstKind::Icmp { predicate, args: [a, b] } => {
            let uniform = |value| !uniformity.is_divergent_where_defined(value);
            predicate == wanted && (is_number(func, a) && uniform(b) || is_number(func, b) && uniform(a))
        }
        InstKind::Binary { op: BinaryOp::And, args } if wanted == IntPredicate::Eq => {
            args.iter().any(|&arg| {
                func.def_inst(arg).is_some_and(|inst| match func.insts[inst].kind {
                    InstKind::Icmp { predicate, args: [a, b] } => {
                        predicate == wanted && (is_number(func, a) || is_number(func, b))
                    }
                    _ => false,
                })
            })
        }
        _ => false,
    }
}

/// Whether `value` is a lane's number in its work-group or its wave.
fn is_number(func: &Function, mut value: Value) -> bool {
    for _ in 0..MAX_CASTS {
        let Some(inst) = func.def_inst(value) else { return false };
        match func.insts[inst].kind {
            InstKind::Cast { op: CastOp::ZExt | CastOp::Trunc | CastOp::SExt, arg } => value = arg,
            InstKind::Binary { op: BinaryOp::And, args: [a, b] } if func.as_int(b).is_some() => value = a,
            InstKind::Intrinsic { intrinsic, .. } => {
                use Intrinsic::{MbcntHi, MbcntLo, WorkitemIdX, WorkitemIdY, WorkitemIdZ};
                return matches!(intrinsic, WorkitemIdX | WorkitemIdY | WorkitemIdZ | MbcntLo | MbcntHi);
            }
            _ => return false,
        }
    }
    false
}

/// The lanes that come to a block.
#[derive(Clone, Copy)]
struct Lanes {
    /// Which they are; the upper half only in waves of 64.
    low: Value,
    high: Option<Value>,
    /// How many come before each.
    before: Value,
    /// Whether none does.
    is_first: Value,
}

/// Asks at the end of `block` which lanes there are, at the source position of `like`.
fn find_lanes(func: &mut Function, like: Inst, block: Block, wave: WaveSize) -> Lanes {
    let mut maker = Maker { func, like, out: Vec::new() };
    let every = maker.func.int(Type::I1, 1);
    let mask = maker.intrinsic(Intrinsic::Ballot, &[every], Type::I64);
    let low = maker.make(InstKind::Cast { op: CastOp::Trunc, arg: mask }, Type::I32);
    let high = (wave == WaveSize::W64).then(|| {
        let by = maker.func.int(Type::I64, 32);
        let high = maker.binary(BinaryOp::LShr, mask, by);
        maker.make(InstKind::Cast { op: CastOp::Trunc, arg: high }, Type::I32)
    });
    let zero = maker.func.int(Type::I32, 0);
    let mut before = maker.intrinsic(Intrinsic::MbcntLo, &[low, zero], Type::I32);
    if let Some(high) = high {
        before = maker.intrinsic(Intrinsic::MbcntHi, &[high, before], Type::I32);
    }
    let is_first = InstKind::Icmp { predicate: IntPredicate::Eq, args: [before, zero] };
    let is_first = maker.make(is_first, Type::I1);
    let Maker { func, out, .. } = maker;
    func.blocks[block].insts.extend(out);
    Lanes { low, high, before, is_first }
}

/// Makes the operation `inst` once, behind `block`; the block where code goes on.
fn make_one(
    func: &mut Function,
    inst: Inst,
    block: Block,
    lanes: Lanes,
    is_used: bool,
    replaced: &mut SecondaryMap<Value, Option<Value>>,
) -> Block {
    let data = func.insts[inst].clone();
    let InstKind::AtomicRmw { op, ptr, value, mem } = data.kind else { return block };
    let [one, behind] = [(); 2].map(|()| func.add_block());
    let mut maker = Maker { func: &mut *func, like: inst, out: Vec::new() };
    // The operation of all.
    let counts = matches!(op, AtomicOp::Add | AtomicOp::Sub | AtomicOp::Xor);
    let total = if counts {
        let mut count = maker.intrinsic(Intrinsic::Ctpop, &[lanes.low], Type::I32);
        if let Some(high) = lanes.high {
            let more = maker.intrinsic(Intrinsic::Ctpop, &[high], Type::I32);
            count = maker.binary(BinaryOp::Add, count, more);
        }
        maker.times(op, value, count)
    } else {
        value
    };
    let kind = InstKind::AtomicRmw { op, ptr, value: total, mem };
    let old = maker.make(kind, data.ty);
    let made = std::mem::take(&mut maker.out);
    if let (Some(&made), Some(&aligns)) = (made.last(), maker.func.mem_aligns.get(&inst)) {
        maker.func.mem_aligns.insert(made, aligns);
    }
    func.blocks[one].insts.extend(made);
    let (mut with, mut without): (SmallVec<[Value; 4]>, SmallVec<[Value; 4]>) = Default::default();
    let mut read = None;
    if is_used {
        with.push(old);
        without.push(func.constant(data.ty, Const::Undef));
        read = Some(func.add_block_param(behind, data.ty));
    }
    let end = |func: &mut Function, block: Block, kind: InstKind| {
        let last = func.make_inst(kind, Type::Void, InstFlags::empty());
        func.locs[last] = func.locs[inst];
        func.blocks[block].insts.push(last);
    };
    let [with, without] = [with, without].map(|args| BlockCall { block: behind, args });
    end(
        func,
        block,
        InstKind::Branch { cond: lanes.is_first, if_true: BlockCall::to(one), if_false: without },
    );
    end(func, one, InstKind::Jump { target: with });
    // What each lane has read.
    if let (Some(read), Some(result)) = (read, data.result) {
        let mut maker = Maker { func: &mut *func, like: inst, out: Vec::new() };
        let first = maker.first_lane(read);
        let own = maker.result(op, first, value, lanes);
        let out = std::mem::take(&mut maker.out);
        func.blocks[behind].insts.extend(out);
        replaced[result] = Some(own);
    }
    behind
}

/// Makes instructions in a row.
struct Maker<'a> {
    func: &'a mut Function,
    like: Inst,
    out: Vec<Inst>,
}

impl Maker<'_> {
    fn make(&mut self, kind: InstKind, ty: Type) -> Value {
        append_value(self.func, self.like, kind, ty, &mut self.out)
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let ty = self.func.ty(a);
        self.make(InstKind::Binary { op, args: [a, b] }, ty)
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Value {
        self.make(InstKind::Intrinsic { intrinsic, args: args.iter().copied().collect() }, ty)
    }

    /// `count` times `value` by `op`, a sum or an exclusive or; `count` is less than 65.
    fn times(&mut self, op: AtomicOp, value: Value, count: Value) -> Value {
        let ty = self.func.ty(value);
        if op == AtomicOp::Xor {
            // Two of them are none.
            let one = self.func.int(Type::I32, 1);
            let odd = self.binary(BinaryOp::And, count, one);
            let zero = self.func.int(Type::I32, 0);
            let odd = self.make(InstKind::Icmp { predicate: IntPredicate::Ne, args: [odd, zero] }, Type::I1);
            let none = self.func.int(ty, 0);
            return self.make(InstKind::Select { cond: odd, if_true: value, if_false: none }, ty);
        }
        let count = match ty {
            Type::I32 => count,
            ty => self.make(InstKind::Cast { op: CastOp::ZExt, arg: count }, ty),
        };
        match self.func.as_int(value) {
            Some(1) => count,
            _ => self.binary(BinaryOp::Mul, count, value),
        }
    }

    /// `value` of the first lane.
    fn first_lane(&mut self, value: Value) -> Value {
        if self.func.ty(value) == Type::I32 {
            return self.intrinsic(Intrinsic::Readfirstlane, &[value], Type::I32);
        }
        let words = Type::Vector(Scalar::Int(32), 2);
        let halves = self.make(InstKind::Cast { op: CastOp::BitCast, arg: value }, words);
        let mut whole = self.func.constant(words, Const::Undef);
        for at in 0..2 {
            let index = self.func.int(Type::I32, at);
            let word = self.make(InstKind::ExtractElement { vector: halves, index }, Type::I32);
            let element = self.intrinsic(Intrinsic::Readfirstlane, &[word], Type::I32);
            whole = self.make(InstKind::InsertElement { vector: whole, element, index }, words);
        }
        self.make(InstKind::Cast { op: CastOp::BitCast, arg: whole }, Type::I64)
    }

    /// What each of `lanes` reads where the first one reads `first`.
    fn result(&mut self, op: AtomicOp, first: Value, value: Value, lanes: Lanes) -> Value {
        use AtomicOp::*;
        let by = match op {
            Add | Sub | Xor => {
                let share = self.times(op, value, lanes.before);
                let op = match op {
                    Add => BinaryOp::Add,
                    Sub => BinaryOp::Sub,
                    _ => BinaryOp::Xor,
                };
                return self.binary(op, first, share);
            }
            And | Or => {
                let op = if op == And { BinaryOp::And } else { BinaryOp::Or };
                self.binary(op, first, value)
            }
            op => {
                let predicate = match op {
                    Max => IntPredicate::Sgt,
                    Min => IntPredicate::Slt,
                    UMax => IntPredicate::Ugt,
                    _ => IntPredicate::Ult,
                };
                let keeps = self.make(InstKind::Icmp { predicate, args: [first, value] }, Type::I1);
                let ty = self.func.ty(value);
                self.make(InstKind::Select { cond: keeps, if_true: first, if_false: value }, ty)
            }
        };
        let ty = self.func.ty(value);
        self.make(InstKind::Select { cond: lanes.is_first, if_true: first, if_false: by }, ty)
    }
}
