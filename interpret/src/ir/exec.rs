//! One instruction for the lanes that run together.

use super::group::Group;
use super::host::{Cause, Fault, Site};
use super::layout::{ones, scalar_words, word_mask};
use super::regs::{Flat, Lanes, MAX_LANES, Regs, lanes};
use super::wave::State;
use mir::ir::{
    Block, Callee, Func, Function, Inst, InstFlags, InstKind, Module, Scalar, Type, UnaryOp, Value,
};
use smallvec::SmallVec;

/// Why an instruction could not be executed.
#[derive(Debug)]
pub struct Stop {
    pub cause: Cause,
    /// The lane that is to blame; the first that runs otherwise.
    pub lane: Option<usize>,
}

/// What an operation returns: a stop is rare and large.
pub type Step<T> = Result<T, Box<Stop>>;

impl Stop {
    pub fn new(cause: Cause) -> Box<Self> {
        Box::new(Self { cause, lane: None })
    }

    pub fn in_lane(cause: Cause, lane: usize) -> Box<Self> {
        Box::new(Self { cause, lane: Some(lane) })
    }

    /// Something that is not executed.
    pub fn unsupported(what: impl Into<String>) -> Box<Self> {
        Self::new(Cause::Unsupported(what.into()))
    }

    /// The fault of this stop.
    pub fn at(self, site: Site) -> Fault {
        Fault { cause: self.cause, site: Some(site) }
    }
}

impl From<Cause> for Box<Stop> {
    fn from(cause: Cause) -> Self {
        Stop::new(cause)
    }
}

/// How execution goes on.
pub enum Flow {
    /// With the next instruction.
    Next,
    /// With these calls, the last first.
    Calls(Vec<(Func, u64)>),
    /// Once all waves are there.
    Barrier,
    /// Without these lanes.
    End(u64),
    /// Where the terminator says.
    Leaves,
}

/// An instruction's surroundings.
pub struct Cx<'x, 'g> {
    pub module: &'x Module,
    pub f: &'x Function,
    pub flat: &'x Flat,
    pub regs: &'x mut Regs,
    /// Lanes that execute it.
    pub mask: u64,
    pub func: Func,
    pub block: Block,
    pub inst: Inst,
    pub group: &'x mut Group<'g>,
    pub wave: &'x mut State,
}

impl Cx<'_, '_> {
    /// Where execution is; of `lane`, or of the first that runs.
    pub fn site(&self, lane: Option<usize>) -> Site {
        let lane = lane.map_or(self.mask.trailing_zeros(), |l| l as u32);
        Site { func: self.func, block: self.block, inst: self.inst, wave: self.wave.index, lane }
    }

    /// Counts an instruction.
    #[inline]
    pub fn spend(&mut self) -> Step<()> {
        self.group.outcome.instructions += 1;
        match self.group.fuel.checked_sub(1) {
            Some(left) => self.group.fuel = left,
            None => return Err(Stop::new(Cause::Fuel)),
        }
        Ok(())
    }

    /// Type of a value.
    #[inline]
    pub fn ty(&self, value: Value) -> Type {
        self.f.ty(value)
    }

    /// First word of a value.
    #[inline]
    pub fn slot(&self, value: Value) -> usize {
        self.flat.slot(value)
    }

    /// First word of an argument of an intrinsic.
    pub fn arg(&self, args: &[Value], n: usize) -> Step<usize> {
        args.get(n)
            .map(|&v| self.slot(v))
            .ok_or_else(|| Stop::new(Cause::Malformed("too few arguments".into())))
    }

    /// The argument of an intrinsic.
    pub fn value(&self, args: &[Value], n: usize) -> Step<Value> {
        args.get(n).copied().ok_or_else(|| Stop::new(Cause::Malformed("too few arguments".into())))
    }

    /// The constant argument `n` of an intrinsic.
    pub fn immediate(&self, args: &[Value], n: usize) -> Step<u64> {
        let value = self.value(args, n)?;
        self.f
            .as_int(value)
            .ok_or_else(|| Stop::new(Cause::Malformed(format!("argument {n} is not a constant integer"))))
    }

    /// The element type of a scalar or vector.
    pub fn scalar_of(&self, ty: Type) -> Step<Scalar> {
        ty.scalar().ok_or_else(|| Stop::new(Cause::Malformed("a scalar or vector is expected".to_owned())))
    }

    /// A word that must be defined in `lane`.
    pub fn defined(&self, slot: usize, lane: usize, what: &'static str) -> Step<u64> {
        if self.regs.undef(slot, lane) != 0 {
            return Err(Stop::in_lane(Cause::Undefined(what), lane));
        }
        Ok(self.regs.v[slot][lane])
    }

    /// The same value in all lanes that run: that of the first.
    pub fn uniform(&self, slot: usize, what: &'static str) -> Step<u64> {
        self.defined(slot, self.mask.trailing_zeros() as usize & 63, what)
    }

    /// The first words of the elements of a vector or scalar.
    pub fn elements(&self, value: Value) -> Step<(Scalar, SmallVec<[usize; 8]>)> {
        let ty = self.ty(value);
        let scalar = self.scalar_of(ty)?;
        let (slot, step) = (self.slot(value), scalar_words(scalar));
        Ok((scalar, (0..ty.lanes() as usize).map(|i| slot + i * step).collect()))
    }

    /// A value of each lane, written to `dst` where it is defined by the words `from`, undefined as a whole elsewhere.
    pub fn put(&mut self, dst: usize, value: &Lanes, from: &[usize], width: u64) {
        let any = from.iter().fold(0, |any, &s| any | self.regs.any(s)) & self.mask;
        // Seen before the result is written, which may be in an operand's place.
        let unknown = lanes(any).filter(|&l| from.iter().any(|&s| self.regs.undef(s, l) != 0));
        let unknown = unknown.fold(0, |m, l| m | 1 << l);
        self.regs.write(dst, self.mask, value);
        self.regs.set_undef_in(dst, unknown, width);
    }

    /// `dst = f(a)` on words of which the result is undefined as a whole where `a` is.
    pub fn map1(&mut self, dst: usize, a: usize, width: u64, f: impl Fn(u64) -> u64) {
        let x = &self.regs.v[a];
        let mut out = [0; MAX_LANES];
        for l in 0..MAX_LANES {
            out[l] = f(x[l]) & width;
        }
        self.put(dst, &out, &[a], width);
    }

    /// `dst = f(a, b)` on words of which the result is undefined as a whole where an operand is.
    pub fn map2(&mut self, dst: usize, [a, b]: [usize; 2], width: u64, f: impl Fn(u64, u64) -> u64) {
        let (x, y) = (&self.regs.v[a], &self.regs.v[b]);
        let mut out = [0; MAX_LANES];
        for l in 0..MAX_LANES {
            out[l] = f(x[l], y[l]) & width;
        }
        self.put(dst, &out, &[a, b], width);
    }

    /// `dst = f(a, b, c)` on words of which the result is undefined as a whole where an operand is.
    pub fn map3(&mut self, dst: usize, from: [usize; 3], width: u64, f: impl Fn(u64, u64, u64) -> u64) {
        let [x, y, z] = from.map(|s| &self.regs.v[s]);
        let mut out = [0; MAX_LANES];
        for l in 0..MAX_LANES {
            out[l] = f(x[l], y[l], z[l]) & width;
        }
        self.put(dst, &out, &from, width);
    }

    /// Makes a value of type `scalar` at `dst` undefined in the lanes of `lanes`.
    pub fn poison(&mut self, dst: usize, scalar: Scalar, lanes: u64) {
        if lanes & self.mask != 0 {
            for i in 0..scalar_words(scalar) {
                self.regs.set_undef_in(dst + i, lanes & self.mask, word_mask(scalar.bits(), i));
            }
        }
    }

    /// Executes `inst`.
    #[inline]
    pub fn execute(&mut self, inst: Inst) -> Step<Flow> {
        let f = self.f;
        let data = &f.insts[inst];
        let ty = data.ty;
        let dst = data.result.map_or(usize::MAX, |v| self.slot(v));
        match &data.kind {
            InstKind::Binary { op, args } => {
                self.binary(*op, data.flags, ty, dst, args.map(|a| self.slot(a)))?
            }
            InstKind::Unary { op: UnaryOp::Freeze, arg } => self.freeze(dst, *arg),
            InstKind::Unary { op: UnaryOp::FNeg, arg } => self.flip_sign(ty, dst, *arg)?,
            InstKind::Cast { op, arg } => self.cast(*op, data.flags, *arg, ty, dst)?,
            InstKind::Icmp { predicate, args } => self.icmp(*predicate, data.flags, *args, dst)?,
            InstKind::Fcmp { predicate, args } => self.fcmp(*predicate, *args, dst)?,
            InstKind::Select { cond, if_true, if_false } => {
                self.select(*cond, *if_true, *if_false, ty, dst)?
            }
            InstKind::PtrAdd { base, index, scale, offset } => {
                self.ptr_add(*base, *index, *scale, *offset, ty, dst)?;
            }
            InstKind::Alloca { size_bytes, count, align_log2 } => {
                self.alloca(*size_bytes, *count, *align_log2, ty, dst)?;
            }
            InstKind::Load { ptr, mem } => self.load(*ptr, mem.space, ty, dst)?,
            InstKind::Store { ptr, value, mem } => self.store(*ptr, mem.space, *value)?,
            InstKind::AtomicRmw { op, ptr, value, mem } => {
                self.atomic_rmw(*op, *ptr, mem.space, *value, dst)?
            }
            InstKind::CmpXchg { ptr, expected, replacement, mem, .. } => {
                self.compare_exchange(*ptr, mem.space, [*expected, *replacement], dst)?;
            }
            InstKind::Fence { .. } => {}
            InstKind::ExtractElement { vector, index } => self.extract_element(*vector, *index, dst)?,
            InstKind::InsertElement { vector, element, index } => {
                self.insert_element(*vector, *element, *index, dst)?;
            }
            InstKind::Shuffle { args, mask } => self.shuffle(*args, mask, dst)?,
            InstKind::ExtractValue { aggregate, path } => self.extract_value(*aggregate, path, dst)?,
            InstKind::InsertValue { aggregate, value, path } => {
                self.insert_value(*aggregate, *value, path, dst)?;
            }
            InstKind::Call { callee, .. } => return self.calls(*callee),
            InstKind::Intrinsic { intrinsic, args } => {
                let flow = self.intrinsic(*intrinsic, data.flags, args, ty, dst)?;
                if !matches!(flow, Flow::Next) {
                    return Ok(flow);
                }
            }
            InstKind::InlineAsm { .. } => return Err(Stop::unsupported("inline assembly")),
            InstKind::Jump { .. }
            | InstKind::Branch { .. }
            | InstKind::Switch { .. }
            | InstKind::Ret { .. }
            | InstKind::Unreachable => return Ok(Flow::Leaves),
        }
        if data.flags.intersects(InstFlags::NNAN | InstFlags::NINF) {
            self.promised_finite(data.flags, &data.kind, ty, dst)?;
        }
        Ok(Flow::Next)
    }

    /// Who is called by which lanes.
    fn calls(&mut self, callee: Callee) -> Step<Flow> {
        let pointer = match callee {
            Callee::Func(func) => return Ok(Flow::Calls(vec![(func, self.mask)])),
            Callee::Indirect(pointer) => self.slot(pointer),
        };
        let mut calls: Vec<(u64, Func, u64)> = Vec::new();
        for l in lanes(self.mask) {
            let address = self.defined(pointer, l, "the function called")?;
            if let Some(call) = calls.iter_mut().find(|c| c.0 == address) {
                call.2 |= 1 << l;
                continue;
            }
            let Some(func) = self.group.host.function_at(address) else {
                let message = format!("a call of {address:#x}, where no function is");
                return Err(Stop::in_lane(Cause::Bounds(message), l));
            };
            calls.push((address, func, 1 << l));
        }
        Ok(Flow::Calls(calls.into_iter().rev().map(|(_, func, mask)| (func, mask)).collect()))
    }

    fn freeze(&mut self, dst: usize, arg: Value) {
        let (slot, count) = (self.slot(arg), self.flat.words_of(arg));
        // What is undefined becomes zero.
        for i in 0..count {
            let mut value = self.regs.v[slot + i];
            lanes(self.regs.any(slot + i)).for_each(|l| value[l] &= !self.regs.undef(slot + i, l));
            self.regs.write(dst + i, self.mask, &value);
        }
    }

    fn select(&mut self, cond: Value, if_true: Value, if_false: Value, ty: Type, dst: usize) -> Step<()> {
        let (cond_slot, each) = (self.slot(cond), matches!(self.ty(cond), Type::Vector(..)));
        let (a, b, count) = (self.slot(if_true), self.slot(if_false), self.flat.words_of(if_true));
        let step = if each { scalar_words(self.scalar_of(ty)?) } else { count.max(1) };
        let masks = super::layout::masks(&self.module.types, ty);
        for (n, first) in (0..count).step_by(step).enumerate() {
            let c = cond_slot + n;
            let chosen = lanes(self.mask).fold(0, |m, l| m | (self.regs.v[c][l] & 1) << l);
            self.regs.copy(dst + first, a + first, step, chosen);
            self.regs.copy(dst + first, b + first, step, self.mask & !chosen);
            let undefined = self.regs.any(c) & self.mask;
            let unknown = lanes(undefined).filter(|&l| self.regs.undef(c, l) != 0).fold(0, |m, l| m | 1 << l);
            if unknown != 0 {
                (first..first + step).for_each(|i| self.regs.set_undef_in(dst + i, unknown, masks[i]));
            }
        }
        Ok(())
    }

    fn ptr_add(
        &mut self,
        base: Value,
        index: Option<Value>,
        scale: i64,
        offset: i64,
        ty: Type,
        dst: usize,
    ) -> Step<()> {
        let scalar = self.scalar_of(ty)?;
        if scalar.bits() > 64 {
            return self.fat_ptr_add(base, index, (scale, offset), ty, dst);
        }
        let width = ones(scalar.bits());
        for i in 0..ty.lanes() as usize {
            let at = |this: &Self, v: Value| {
                let step = this.ty(v).scalar().map_or(1, scalar_words);
                this.slot(v) + if this.ty(v).lanes() > 1 { i * step } else { 0 }
            };
            let b = at(self, base);
            let Some(index) = index else {
                self.regs_add(dst + i, b, None, width, |x, _| x.wrapping_add(offset as u64));
                continue;
            };
            let bits = self.scalar_of(self.ty(index))?.bits();
            let n = at(self, index);
            self.regs_add(dst + i, b, Some(n), width, |x, y| {
                let steps = super::int::sext(y, bits).wrapping_mul(scale as u64);
                x.wrapping_add(steps).wrapping_add(offset as u64)
            });
        }
        Ok(())
    }

    /// A sum: bits from the lowest undefined one on are undefined.
    fn regs_add(&mut self, dst: usize, a: usize, b: Option<usize>, width: u64, f: impl Fn(u64, u64) -> u64) {
        let (x, y) = (self.regs.v[a], b.map_or([0; MAX_LANES], |b| self.regs.v[b]));
        let mut out = [0; MAX_LANES];
        for l in 0..MAX_LANES {
            out[l] = f(x[l], y[l]) & width;
        }
        let any = self.regs.any(a) | b.map_or(0, |b| self.regs.any(b));
        self.regs.write(dst, self.mask, &out);
        for l in lanes(any & self.mask) {
            let undef = self.regs.undef(a, l) | b.map_or(0, |b| self.regs.undef(b, l));
            self.regs.write_lane(dst, l, out[l], super::int::upwards(undef) & width);
        }
    }

    /// `nnan` and `ninf`: operands and results that break the promise make the result undefined.
    fn promised_finite(&mut self, flags: InstFlags, kind: &InstKind, ty: Type, dst: usize) -> Step<()> {
        let mut values: SmallVec<[(usize, Type); 4]> = SmallVec::new();
        kind.for_each_value(|v| values.push((self.slot(v), self.ty(v))));
        values.push((dst, ty));
        let Some(result) = ty.scalar() else { return Ok(()) };
        for (slot, from) in values {
            let Some(Scalar::Float(float)) = from.scalar() else { continue };
            let fmt = super::float::format(float);
            for i in 0..from.lanes().min(ty.lanes()) as usize {
                let value = &self.regs.v[slot + i];
                let broken = lanes(self.mask).filter(|&l| {
                    let magnitude = value[l] & !fmt.sign_bit();
                    flags.contains(InstFlags::NNAN) && magnitude > fmt.infinity()
                        || flags.contains(InstFlags::NINF) && magnitude == fmt.infinity()
                });
                let broken = broken.fold(0, |m, l| m | 1 << l);
                self.poison(dst + i * scalar_words(result), result, broken);
            }
        }
        Ok(())
    }
}
