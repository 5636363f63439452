//! Building of IR with folding, known bits and common subexpressions on the fly.
//!
//! Passes that rewrite a function read the old one and emit into a [`Builder`], which owns the new one. What
//! is emitted is first folded ([`super::fold`]), then looked up among the pure instructions that dominate the
//! current block, and only then appended. So expansions may be written plainly: what they compute twice, or
//! from constants, costs nothing.
//!
//! Common subexpressions: the table maps an instruction to its value and the *scope* in which it was made; a
//! scope is a block of the old function, and dominance is a comparison of intervals in its dominator tree.
//! Blocks that an expansion adds (loops, arms) have no scope: nothing made there is shared.
//!
//! Cost: one hash look-up for each instruction.

mod range;
mod words;

use super::fold;
use cranelift_entity::SecondaryMap;
use hashbrown::HashTable;
use mir::ir::*;
use mir::target::Target;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use std::hash::BuildHasher;

/// Interval of a block in the dominator tree; `a` dominates `b` iff `a.0 <= b.0 && b.1 <= a.1`.
pub type Scope = (u32, u32);

/// What is known about an integer value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The value is less than 2^`unsigned_bits`; 255 where unknown.
    unsigned: u8,
    /// The value is the sign extension of its low `signed` bits.
    signed: u8,
}

/// An entry of the table of common subexpressions; the instruction is in the function.
struct Shared {
    hash: u64,
    value: Value,
    scope: Scope,
}

/// A function under construction.
pub struct Builder<'a> {
    /// The function.
    pub func: Function,
    /// What it is compiled for.
    pub machine: &'a Target,
    /// Where instructions go.
    pub block: Block,
    /// Source position for new instructions.
    pub loc: SourceLoc,
    /// Scope of the current block; `None` switches sharing off.
    pub scope: Option<Scope>,
    /// Whether to fold and share at all.
    pub optimize: bool,
    /// Floating-point operations made now are [`InstFlags::STRICT`]: not folded, not shared.
    pub strict: bool,
    /// What the work-item's ids are below, by dimension.
    pub id_limits: [u32; 3],
    table: HashTable<Shared>,
    ranges: SecondaryMap<Value, Option<Range>>,
}

impl<'a> Builder<'a> {
    /// A builder of `func`, which has no blocks yet.
    pub fn new(func: Function, machine: &'a Target) -> Self {
        Self {
            id_limits: [0, 1, 2].map(|dimension| func.work_item_id_limit(dimension)),
            func,
            machine,
            block: Block::from_u32(0),
            loc: SourceLoc::default(),
            scope: None,
            optimize: true,
            strict: false,
            table: HashTable::new(),
            ranges: SecondaryMap::new(),
        }
    }

    /// Type of `value`.
    pub fn ty(&self, value: Value) -> Type {
        self.func.ty(value)
    }

    /// Bits of a value, as [`width`] counts them.
    pub fn bits(&self, value: Value) -> u32 {
        width(self.ty(value))
    }

    /// Emits a pure instruction: folded, shared or appended.
    pub fn pure(&mut self, mut kind: InstKind, ty: Type, flags: InstFlags) -> Value {
        if self.strict && self.uses_float_environment(&kind, ty) {
            return self.push_value(kind, ty, flags | InstFlags::STRICT);
        }
        if let Some(value) = fold::fold(self, &mut kind, ty, flags) {
            return value;
        }
        self.shared(kind, ty, flags)
    }

    /// Whether an instruction rounds, flushes denormals or raises exceptions.
    fn uses_float_environment(&self, kind: &InstKind, ty: Type) -> bool {
        let is_float = |ty: Type| matches!(ty.scalar(), Some(Scalar::Float(_)));
        match kind {
            InstKind::Binary { .. } => is_float(ty),
            InstKind::Cast { op, .. } => op.is_of_floats(),
            InstKind::Fcmp { .. } => true,
            InstKind::Intrinsic { intrinsic, args } => {
                !matches!(intrinsic, Intrinsic::Fabs | Intrinsic::Copysign | Intrinsic::AmdgcnClass)
                    && (is_float(ty) || args.iter().any(|&a| is_float(self.ty(a))))
            }
            _ => false,
        }
    }

    /// Emits a pure instruction as it is: shared or appended.
    fn shared(&mut self, kind: InstKind, ty: Type, flags: InstFlags) -> Value {
        if let Some(scope) = self.scope
            && is_shareable(&kind)
        {
            let hash = FxBuildHasher.hash_one((&kind, ty));
            let func = &self.func;
            let same = |entry: &Shared| {
                let data = func.def_inst(entry.value).map(|inst| &func.insts[inst]);
                entry.hash == hash && data.is_some_and(|data| data.ty == ty && data.kind == kind)
            };
            if let Some(entry) = self.table.find(hash, same) {
                let (value, made) = (entry.value, entry.scope);
                if made.0 <= scope.0 && scope.1 <= made.1 {
                    if let Some(inst) = self.func.def_inst(value) {
                        self.func.insts[inst].flags &= flags;
                    }
                    return value;
                }
                // Code to come is more likely in this scope or below it than in the old one.
                let old = value;
                let value = self.push_value(kind, ty, flags);
                if let Some(entry) = self.table.find_mut(hash, |entry| entry.value == old) {
                    *entry = Shared { hash, value, scope };
                }
                return value;
            }
            let value = self.push_value(kind, ty, flags);
            self.table.insert_unique(hash, Shared { hash, value, scope }, |entry| entry.hash);
            return value;
        }
        self.push_value(kind, ty, flags)
    }

    /// Appends an instruction as it is; `None` for those without a result.
    pub fn push(&mut self, kind: InstKind, ty: Type, flags: InstFlags) -> Option<Value> {
        let inst = self.func.make_inst(kind, ty, flags);
        self.func.blocks[self.block].insts.push(inst);
        if self.loc != SourceLoc::default() {
            self.func.locs[inst] = self.loc;
        }
        self.func.insts[inst].result
    }

    fn push_value(&mut self, kind: InstKind, ty: Type, flags: InstFlags) -> Value {
        let range = self.range_of(&kind, ty);
        match self.push(kind, ty, flags) {
            Some(value) => {
                if range.is_some() {
                    self.ranges[value] = range;
                }
                value
            }
            // Only a void type gets here, which no pure instruction has.
            None => self.poison(Type::I32),
        }
    }

    // ---- constants

    /// Integer constant, truncated to the width of `ty`.
    pub fn int(&mut self, ty: Type, value: u64) -> Value {
        self.func.int(ty, value)
    }

    /// i32 constant.
    pub fn i32(&mut self, value: u32) -> Value {
        self.func.int(Type::I32, u64::from(value))
    }

    /// `true` or `false`.
    pub fn bool(&mut self, value: bool) -> Value {
        self.func.int(Type::I1, u64::from(value))
    }

    /// Floating-point constant of type `ty` from its bits.
    pub fn float_bits(&mut self, ty: Type, bits: u64) -> Value {
        self.func.constant(ty, Const::Float(bits))
    }

    /// binary32 constant.
    pub fn f32(&mut self, value: f32) -> Value {
        self.float_bits(Type::F32, u64::from(value.to_bits()))
    }

    /// binary64 constant.
    pub fn f64(&mut self, value: f64) -> Value {
        self.float_bits(Type::F64, value.to_bits())
    }

    /// Constant of a float type from a number that is exact there (small integers, powers of two within
    /// half's range).
    pub fn float(&mut self, ty: Type, value: f64) -> Value {
        let bits = match ty {
            Type::F64 => value.to_bits(),
            Type::F32 => u64::from((value as f32).to_bits()),
            _ => u64::from(mir::half::from_f64(value)),
        };
        self.float_bits(ty, bits)
    }

    /// Poison.
    pub fn poison(&mut self, ty: Type) -> Value {
        self.func.constant(ty, Const::Poison)
    }

    /// Undefined.
    pub fn undef(&mut self, ty: Type) -> Value {
        self.func.constant(ty, Const::Undef)
    }

    /// All bits zero.
    pub fn zero(&mut self, ty: Type) -> Value {
        match ty {
            Type::Scalar(Scalar::Int(_)) => self.int(ty, 0),
            Type::Scalar(Scalar::Float(_)) => self.float_bits(ty, 0),
            _ => self.func.constant(ty, Const::Zero),
        }
    }

    // ---- arithmetic

    /// Two-operand arithmetic without promises.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.binary_flags(op, a, b, InstFlags::empty())
    }

    /// Two-operand arithmetic with promises.
    pub fn binary_flags(&mut self, op: BinaryOp, a: Value, b: Value, flags: InstFlags) -> Value {
        let ty = self.ty(a);
        self.pure(InstKind::Binary { op, args: [a, b] }, ty, flags)
    }

    /// `a + b`
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Add, a, b)
    }

    /// `a - b`
    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Sub, a, b)
    }

    /// `a * b` at 16 or 32 bits.
    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// `a & b`
    pub fn and(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::And, a, b)
    }

    /// `a | b`
    pub fn or(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Or, a, b)
    }

    /// `a ^ b`
    pub fn xor(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Xor, a, b)
    }

    /// `!a`
    pub fn not(&mut self, a: Value) -> Value {
        let ty = self.ty(a);
        let ones = self.int(ty, u64::MAX);
        self.xor(a, ones)
    }

    /// `0 - a`
    pub fn neg(&mut self, a: Value) -> Value {
        let ty = self.ty(a);
        let zero = self.int(ty, 0);
        self.sub(zero, a)
    }

    /// Adds a constant.
    pub fn add_imm(&mut self, a: Value, imm: i64) -> Value {
        let ty = self.ty(a);
        let imm = self.int(ty, imm as u64);
        self.add(a, imm)
    }

    /// ANDs with a constant.
    pub fn and_imm(&mut self, a: Value, imm: u64) -> Value {
        let ty = self.ty(a);
        let imm = self.int(ty, imm);
        self.and(a, imm)
    }

    /// XORs with a constant.
    pub fn xor_imm(&mut self, a: Value, imm: u64) -> Value {
        let ty = self.ty(a);
        let imm = self.int(ty, imm);
        self.xor(a, imm)
    }

    /// Shift left by a constant.
    pub fn shl_imm(&mut self, a: Value, amount: u32) -> Value {
        let ty = self.ty(a);
        let amount = self.int(ty, u64::from(amount));
        self.binary(BinaryOp::Shl, a, amount)
    }

    /// Logical shift right by a constant.
    pub fn lshr_imm(&mut self, a: Value, amount: u32) -> Value {
        let ty = self.ty(a);
        let amount = self.int(ty, u64::from(amount));
        self.binary(BinaryOp::LShr, a, amount)
    }

    /// Arithmetic shift right by a constant.
    pub fn ashr_imm(&mut self, a: Value, amount: u32) -> Value {
        let ty = self.ty(a);
        let amount = self.int(ty, u64::from(amount));
        self.binary(BinaryOp::AShr, a, amount)
    }

    /// Integer comparison.
    pub fn icmp(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        self.pure(InstKind::Icmp { predicate, args: [a, b] }, Type::I1, InstFlags::empty())
    }

    /// Integer comparison with a constant.
    pub fn icmp_imm(&mut self, predicate: IntPredicate, a: Value, imm: u64) -> Value {
        let ty = self.ty(a);
        let imm = self.int(ty, imm);
        self.icmp(predicate, a, imm)
    }

    /// Floating-point comparison.
    pub fn fcmp(&mut self, predicate: FloatPredicate, a: Value, b: Value) -> Value {
        self.pure(InstKind::Fcmp { predicate, args: [a, b] }, Type::I1, InstFlags::empty())
    }

    /// `cond ? if_true : if_false`
    pub fn select(&mut self, cond: Value, if_true: Value, if_false: Value) -> Value {
        let ty = self.ty(if_true);
        self.pure(InstKind::Select { cond, if_true, if_false }, ty, InstFlags::empty())
    }

    /// Any conversion.
    pub fn cast(&mut self, op: CastOp, arg: Value, ty: Type) -> Value {
        self.pure(InstKind::Cast { op, arg }, ty, InstFlags::empty())
    }

    /// Zero extension or truncation or nothing.
    pub fn zext_or_trunc(&mut self, arg: Value, ty: Type) -> Value {
        let (from, to) = (self.bits(arg), width(ty));
        match from.cmp(&to) {
            std::cmp::Ordering::Less => self.cast(CastOp::ZExt, arg, ty),
            std::cmp::Ordering::Equal => arg,
            std::cmp::Ordering::Greater => self.cast(CastOp::Trunc, arg, ty),
        }
    }

    /// Sign extension or truncation or nothing.
    pub fn sext_or_trunc(&mut self, arg: Value, ty: Type) -> Value {
        let (from, to) = (self.bits(arg), width(ty));
        match from.cmp(&to) {
            std::cmp::Ordering::Less => self.cast(CastOp::SExt, arg, ty),
            std::cmp::Ordering::Equal => arg,
            std::cmp::Ordering::Greater => self.cast(CastOp::Trunc, arg, ty),
        }
    }

    /// Reinterpretation; nothing where the type is the same.
    pub fn bitcast(&mut self, arg: Value, ty: Type) -> Value {
        if self.ty(arg) == ty { arg } else { self.cast(CastOp::BitCast, arg, ty) }
    }

    /// The value as an integer of its width.
    pub fn as_integer(&mut self, arg: Value) -> Value {
        match self.ty(arg) {
            Type::Scalar(Scalar::Int(_)) => arg,
            Type::Scalar(Scalar::Ptr(space)) => {
                self.cast(CastOp::PtrToInt, arg, Type::int(space.pointer_bits()))
            }
            other => self.bitcast(arg, Type::int(other.bits().unwrap_or(32) as u32)),
        }
    }

    /// An integer of the right width as a value of type `ty`.
    pub fn integer_as(&mut self, arg: Value, ty: Type) -> Value {
        match ty {
            Type::Scalar(Scalar::Ptr(_)) => self.cast(CastOp::IntToPtr, arg, ty),
            _ => self.bitcast(arg, ty),
        }
    }

    /// An integer as a value of type `ty`, which may be an integer type itself.
    pub fn integer_or_cast_to(&mut self, arg: Value, ty: Type) -> Value {
        if matches!(ty, Type::Scalar(Scalar::Int(_))) { arg } else { self.integer_as(arg, ty) }
    }

    /// An intrinsic without effects.
    pub fn intrinsic(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Value {
        self.intrinsic_flags(intrinsic, args, ty, InstFlags::empty())
    }

    /// An intrinsic without effects, with promises.
    pub fn intrinsic_flags(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
        flags: InstFlags,
    ) -> Value {
        self.pure(InstKind::Intrinsic { intrinsic, args: SmallVec::from_slice(args) }, ty, flags)
    }

    /// Floating-point addition.
    pub fn fadd(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::FAdd, a, b)
    }

    /// Floating-point subtraction.
    pub fn fsub(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::FSub, a, b)
    }

    /// Floating-point multiplication.
    pub fn fmul(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::FMul, a, b)
    }

    /// `a * b + c`, rounded once.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let ty = self.ty(a);
        self.intrinsic(Intrinsic::Fma, &[a, b, c], ty)
    }

    /// `-a`
    pub fn fneg(&mut self, a: Value) -> Value {
        let ty = self.ty(a);
        self.pure(InstKind::Unary { op: UnaryOp::FNeg, arg: a }, ty, InstFlags::empty())
    }

    /// `|a|`
    pub fn fabs(&mut self, a: Value) -> Value {
        let ty = self.ty(a);
        self.intrinsic(Intrinsic::Fabs, &[a], ty)
    }

    /// `base + offset`
    pub fn ptr_offset(&mut self, base: Value, offset: i64) -> Value {
        let ty = self.ty(base);
        self.pure(InstKind::PtrAdd { base, index: None, scale: 0, offset }, ty, InstFlags::empty())
    }

    /// Element `index` of a vector.
    pub fn extract(&mut self, vector: Value, index: u32) -> Value {
        let ty = match self.ty(vector) {
            Type::Vector(scalar, _) => Type::Scalar(scalar),
            other => return if index == 0 { vector } else { self.poison(other) },
        };
        let index = self.i32(index);
        self.pure(InstKind::ExtractElement { vector, index }, ty, InstFlags::empty())
    }

    /// A vector of `elements`, all of one scalar type.
    pub fn vector(&mut self, elements: &[Value]) -> Value {
        let Some(Type::Scalar(scalar)) = elements.first().map(|&e| self.ty(e)) else {
            return self.poison(Type::I32);
        };
        let ty = Type::Vector(scalar, elements.len() as u32);
        // The vector whose elements are being put back in place is the vector itself.
        if let Some(whole) = self.extracted_whole(elements, ty) {
            return whole;
        }
        let mut vector = self.poison(ty);
        for (i, &element) in elements.iter().enumerate() {
            if matches!(self.func.as_const(element), Some(Const::Poison)) {
                continue;
            }
            let index = self.i32(i as u32);
            vector = self.pure(InstKind::InsertElement { vector, element, index }, ty, InstFlags::empty());
        }
        vector
    }

    /// The same as data of an access: where all elements are constants, one as well. (What an instruction wants in SGPRs is put together of constants.)
    pub fn data_vector(&mut self, elements: &[Value]) -> Value {
        match constant_vector(&mut self.func, elements) {
            Some(vector) => vector,
            None => self.vector(elements),
        }
    }

    fn extracted_whole(&self, elements: &[Value], ty: Type) -> Option<Value> {
        let mut whole = None;
        for (i, &element) in elements.iter().enumerate() {
            let InstKind::ExtractElement { vector, index } =
                &self.func.insts[self.func.def_inst(element)?].kind
            else {
                return None;
            };
            if self.func.as_int(*index) != Some(i as u64) || whole.is_some_and(|w| w != *vector) {
                return None;
            }
            whole = Some(*vector);
        }
        whole.filter(|&w| self.ty(w) == ty)
    }

    // ---- ranges

    // ---- control flow

    /// A new block at the end of the layout.
    pub fn new_block(&mut self) -> Block {
        self.func.add_block()
    }

    /// Ends the current block with a jump.
    pub fn jump(&mut self, block: Block, args: &[Value]) {
        let target = BlockCall { block, args: SmallVec::from_slice(args) };
        self.push(InstKind::Jump { target }, Type::Void, InstFlags::empty());
    }

    /// Ends the current block with a two-way branch.
    pub fn branch(&mut self, cond: Value, if_true: BlockCall, if_false: BlockCall) {
        self.push(InstKind::Branch { cond, if_true, if_false }, Type::Void, InstFlags::empty());
    }
}

/// Bits of a scalar or a vector; 0 of an aggregate, on which no operation that asks for them is defined.
pub(super) fn width(ty: Type) -> u32 {
    ty.bits().map_or(0, |bits| bits as u32)
}

/// Whether equal instructions of this kind give equal results wherever they stand.
pub(super) fn is_shareable(kind: &InstKind) -> bool {
    match kind {
        InstKind::Unary { .. }
        | InstKind::Binary { .. }
        | InstKind::Cast { .. }
        | InstKind::Icmp { .. }
        | InstKind::Fcmp { .. }
        | InstKind::Select { .. }
        | InstKind::PtrAdd { .. }
        | InstKind::ExtractElement { .. }
        | InstKind::InsertElement { .. }
        | InstKind::ExtractValue { .. } => true,
        InstKind::Load { mem, .. } => mem.is_simple() && mem.flags.contains(MemFlags::INVARIANT),
        InstKind::Intrinsic { intrinsic, .. } => !intrinsic.props().intersects(
            IntrinsicProps::EFFECT.union(IntrinsicProps::READS).union(IntrinsicProps::CONVERGENT),
        ),
        _ => false,
    }
}

/// The constant vector of `elements`, all of one scalar type, if all of them are numbers.
pub(super) fn constant_vector(func: &mut Function, elements: &[Value]) -> Option<Value> {
    let Type::Scalar(scalar) = func.ty(*elements.first()?) else { return None };
    let is_number =
        |&element: &Value| matches!(func.as_const(element), Some(Const::Int(_) | Const::Float(_)));
    let ty = Type::Vector(scalar, elements.len() as u32);
    elements.iter().all(is_number).then(|| func.constant(ty, Const::Elements(elements.into())))
}
