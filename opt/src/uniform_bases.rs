//! What is the same in all lanes of an address becomes part of its base.
//!
//! ```text
//! i = (offset + id) + group            s = offset + group    i = s + id
//! q = p + i * 4                   →    b = p + s * 4
//!                                      q = b + id * 4
//! ```
//!
//! The scalar unit then makes the base, in SGPRs, and the vector unit an offset of 32 bits, which addresses with other bases share; memory instructions of GFX9
//! and later take both. Where a loop changes the part that is the same, the base is a running pointer of the scalar unit ([`super::induction`]).
//!
//! It is done where the rest stays below 2³² by what is known of each of its terms, and it is exact: sums at the width of the pointer wrap as the pointer does,
//! and narrower ones are taken apart only where they promise not to.
//!
//! Selection adds what lanes have in common first, too, in sums of three numbers: on older generations, and at levels without this.
//!
//! Cost: linear; [`MAX_TERMS`] and [`MAX_STEPS`] for each address.

use super::append::append_value;
use super::bits::sext64;
use super::cfg::uses;
use cranelift_entity::SecondaryMap;
use mir::analysis::{Uniformity, leading_zeros};
use mir::ir::*;
use mir::isa::Opcode;
use mir::target::{Features, Target};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Terms that an address is taken apart into.
const MAX_TERMS: usize = 8;

/// Operations that are looked through for one address.
const MAX_STEPS: usize = 24;

/// Terms of narrower sums that are extended for one address.
const MAX_EXTENSIONS: usize = 1;

/// Producers that are asked for how large a number may be.
const MAX_PRODUCERS: u32 = 4;

/// Producers of a term that are asked for something to take out of it.
const MAX_DEPTH: u32 = 5;

/// How a term becomes as wide as the pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extended {
    /// It is.
    Wide,
    /// With zeros.
    Zero,
    /// With its sign.
    Sign,
}

/// A part of a sum.
#[derive(Clone, Copy)]
struct Term {
    value: Value,
    extended: Extended,
    /// The same with 64 bits, where the program has that.
    wide: Option<Value>,
    /// Bytes for each step of it.
    factor: i64,
}

type Terms = SmallVec<[Term; MAX_TERMS]>;

/// An address: a base that is the same in all lanes, terms, and constant bytes.
struct Address {
    base: Value,
    terms: Terms,
    offset: i64,
}

/// A function whose addresses are separated.
struct Separation<'a> {
    func: &'a mut Function,
    uniformity: Uniformity,
    /// Users of each value.
    uses: SecondaryMap<Value, u32>,
    /// What has been made here and differs between lanes.
    divergent: FxHashSet<Value>,
    /// Whether the scalar unit multiplies in 64 bits.
    multiplies: bool,
    /// The block that is walked over, and what it has so far.
    block: Block,
    out: Vec<Inst>,
}

/// Separates the addresses of `func`, which is legal IR.
pub fn separate(func: &mut Function, target: &Target) {
    if !target.has(Features::GLOBAL) || !func.insts.values().any(|data| is_candidate(func, data)) {
        return;
    }
    let uniformity = Uniformity::compute(func, target);
    let uses = uses(func);
    let multiplies = Opcode::S_MUL_HI_U32.info().exists_on(target);
    let Some(&block) = func.layout.first() else { return };
    let (divergent, out) = (FxHashSet::default(), Vec::new());
    let mut separation = Separation { func, uniformity, uses, divergent, multiplies, block, out };
    for at in 0..separation.func.layout.len() {
        mir::interrupt::checkpoint();
        separation.run_block(separation.func.layout[at]);
    }
}

/// Whether `data` is an address in global memory with an index that may be a sum, or behind one with an index.
fn is_candidate(func: &Function, data: &InstData) -> bool {
    let InstKind::PtrAdd { base, index: Some(index), .. } = data.kind else { return false };
    let kind = |value| func.def_inst(value).map(|inst| &func.insts[inst].kind);
    let is_sum = matches!(
        kind(index),
        Some(
            InstKind::Binary { op: BinaryOp::Add | BinaryOp::Or | BinaryOp::Shl | BinaryOp::Mul, .. }
                | InstKind::Cast { .. }
        )
    );
    is_global(data.ty) && (is_sum || matches!(kind(base), Some(InstKind::PtrAdd { .. })))
}

/// Whether `ty` is an address for which memory instructions take a base in SGPRs.
fn is_global(ty: Type) -> bool {
    matches!(ty, Type::Scalar(Scalar::Ptr(AddrSpace::GLOBAL | AddrSpace::CONSTANT)))
}

impl Separation<'_> {
    fn run_block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.func.blocks[block].insts);
        self.block = block;
        self.out = Vec::with_capacity(insts.len() + 8);
        for inst in insts {
            let data = &self.func.insts[inst];
            let rewritten = match data.kind {
                InstKind::Binary { op: BinaryOp::Add, args } if data.ty == Type::I64 => {
                    self.regroup(inst, args)
                }
                InstKind::PtrAdd { .. } if is_candidate(self.func, data) => data
                    .result
                    .and_then(|result| self.address(result))
                    .and_then(|address| self.rebase(inst, address)),
                _ => None,
            };
            if let Some((kind, flags)) = rewritten {
                self.func.insts[inst].kind = kind;
                self.func.insts[inst].flags = flags;
            }
            self.out.push(inst);
        }
        self.func.blocks[block].insts = std::mem::take(&mut self.out);
    }

    /// Whether `value` may differ between the lanes that are active here.
    fn is_divergent(&self, value: Value) -> bool {
        self.uniformity.is_divergent_at(value, self.block) || self.divergent.contains(&value)
    }

    /// Whether `value` is the same in all lanes, and no constant.
    fn is_uniform(&self, value: Value) -> bool {
        self.func.as_const(value).is_none() && !self.is_divergent(value)
    }

    /// `(d + u) + v` of 64 bits, which is `inst`, as `(u + v) + d`, where `u` and `v` are the same in all lanes and nobody else asks for `d + u`.
    fn regroup(&mut self, inst: Inst, args: [Value; 2]) -> Option<(InstKind, InstFlags)> {
        let both_ways = |[a, b]: [Value; 2]| [(a, b), (b, a)];
        let (inner, v) = both_ways(args).into_iter().find(|&(_, v)| self.is_uniform(v))?;
        let data = &self.func.insts[self.func.def_inst(inner).filter(|_| self.uses[inner] == 1)?];
        let InstKind::Binary { op: BinaryOp::Add, args } = data.kind else { return None };
        // A part of a sum does not wrap where the whole does not.
        let flags = data.flags & self.func.insts[inst].flags & InstFlags::NUW;
        let (d, u) =
            both_ways(args).into_iter().find(|&(d, u)| self.is_uniform(u) && self.is_divergent(d))?;
        let sum = self.make(inst, BinaryOp::Add, [u, v], Type::I64, flags);
        Some((InstKind::Binary { op: BinaryOp::Add, args: [sum, d] }, flags))
    }

    /// `value` as a base that is the same in all lanes and what is added to it.
    fn address(&self, value: Value) -> Option<Address> {
        let mut address = Address { base: value, terms: Terms::new(), offset: 0 };
        let mut open = Terms::new();
        while self.is_divergent(address.base) {
            let data = &self.func.insts[self.func.def_inst(address.base)?];
            let InstKind::PtrAdd { base, index, scale, offset } = data.kind else { return None };
            address.base = base;
            address.offset = address.offset.wrapping_add(offset);
            if let Some(index) = index {
                open.push(Term::index(self.func, index, scale)?);
            }
            if open.len() > MAX_TERMS {
                return None;
            }
        }
        let mut steps = 0;
        while let Some(term) = open.pop() {
            steps += 1;
            if let Some(constant) = self.func.as_int(term.value) {
                let constant =
                    if term.extended == Extended::Sign { sext64(constant, 32) } else { constant as i64 };
                address.offset = address.offset.wrapping_add(constant.wrapping_mul(term.factor));
                continue;
            }
            let is_worth_it = || self.is_extension(term.value) || self.has_common(term.value, MAX_DEPTH);
            let divisible = steps < MAX_STEPS && is_worth_it();
            match divisible.then(|| term.parts(self.func)).flatten() {
                Some(parts) => open.extend(parts),
                None => address.terms.push(term),
            }
            if address.terms.len() + open.len() > MAX_TERMS {
                return None;
            }
        }
        Some(address)
    }

    /// Whether `value`, which differs between lanes, is a narrower number.
    fn is_extension(&self, value: Value) -> bool {
        let kind = self.func.def_inst(value).map(|inst| &self.func.insts[inst].kind);
        matches!(kind, Some(InstKind::Cast { .. })) && self.is_divergent(value)
    }

    /// Whether `value`, which differs between lanes, is a sum of something that does not, looking `depth` producers back.
    fn has_common(&self, value: Value, depth: u32) -> bool {
        let Some(inst) = self.func.def_inst(value).filter(|_| depth > 0 && self.is_divergent(value)) else {
            return false;
        };
        let of = |value| !self.is_divergent(value) || self.has_common(value, depth - 1);
        match self.func.insts[inst].kind {
            InstKind::Binary { op: BinaryOp::Add | BinaryOp::Or, args: [a, b] } => of(a) || of(b),
            InstKind::Binary { op: BinaryOp::Shl | BinaryOp::Mul, args: [arg, _] }
            | InstKind::Cast { arg, .. } => of(arg),
            _ => false,
        }
    }

    /// What `inst`, which is `address`, becomes: an offset behind a base that is the same in all lanes. Nothing where that is not worth it.
    fn rebase(&mut self, inst: Inst, address: Address) -> Option<(InstKind, InstFlags)> {
        let (own, mut common): (Terms, Terms) =
            address.terms.into_iter().partition(|term| self.is_divergent(term.value));
        let scales = |term: &Term| self.multiplies || term.factor.unsigned_abs().is_power_of_two();
        // Each takes the scalar unit as long as the vector unit takes for their sum.
        let extensions =
            common.iter().filter(|term| term.extended != Extended::Wide && term.wide.is_none()).count();
        if common.is_empty() || extensions > MAX_EXTENSIONS || !common.iter().all(scales) {
            return None;
        }
        let (index, scale) = self.narrow_offset(inst, &own)?;
        let ty = self.func.insts[inst].ty;
        let mut base = address.base;
        while let Some(&Term { factor, .. }) = common.first() {
            let (now, later): (Terms, Terms) = common.into_iter().partition(|term| term.factor == factor);
            let index =
                now.into_iter().map(|term| self.widen(inst, term)).collect::<SmallVec<[Value; MAX_TERMS]>>();
            let index = index
                .into_iter()
                .reduce(|a, b| self.make(inst, BinaryOp::Add, [a, b], Type::I64, InstFlags::empty()));
            let kind = InstKind::PtrAdd { base, index, scale: factor, offset: 0 };
            base = append_value(self.func, inst, kind, ty, &mut self.out);
            common = later;
        }
        let kind = InstKind::PtrAdd { base, index: Some(index), scale, offset: address.offset };
        Some((kind, InstFlags::empty()))
    }

    /// The sum of `terms` as an index and its scale, if 32 bits hold it. Nothing is made where they do not.
    fn narrow_offset(&mut self, like: Inst, terms: &[Term]) -> Option<(Value, i64)> {
        let most = terms.iter().try_fold(0u64, |most, term| most.checked_add(term.limit(self.func)?))?;
        if most > u64::from(u32::MAX) {
            return None;
        }
        if let [term] = *terms
            && (term.factor as u64).is_power_of_two()
        {
            let index = self.widen(like, term);
            self.divergent.insert(index);
            return Some((index, term.factor));
        }
        let mut total = None;
        for &Term { value, factor, .. } in terms {
            let scaled = match factor {
                1 => value,
                _ if (factor as u64).is_power_of_two() => {
                    let by = self.func.int(Type::I32, u64::from(factor.trailing_zeros()));
                    self.make(like, BinaryOp::Shl, [value, by], Type::I32, InstFlags::NUW)
                }
                _ => {
                    let factor = self.func.int(Type::I32, factor as u64);
                    self.make(like, BinaryOp::Mul, [value, factor], Type::I32, InstFlags::NUW)
                }
            };
            let sum = match total {
                None => scaled,
                Some(total) => self.make(like, BinaryOp::Add, [total, scaled], Type::I32, InstFlags::NUW),
            };
            self.divergent.extend([scaled, sum]);
            total = Some(sum);
        }
        let kind = InstKind::Cast { op: CastOp::ZExt, arg: total? };
        let index = append_value(self.func, like, kind, Type::I64, &mut self.out);
        self.divergent.insert(index);
        Some((index, 1))
    }

    /// `term` with 64 bits, without its factor.
    fn widen(&mut self, like: Inst, term: Term) -> Value {
        let op = match term.extended {
            Extended::Wide => return term.value,
            Extended::Zero => CastOp::ZExt,
            Extended::Sign => CastOp::SExt,
        };
        let kind = InstKind::Cast { op, arg: term.value };
        term.wide.unwrap_or_else(|| append_value(self.func, like, kind, Type::I64, &mut self.out))
    }

    fn make(&mut self, like: Inst, op: BinaryOp, args: [Value; 2], ty: Type, flags: InstFlags) -> Value {
        let value = append_value(self.func, like, InstKind::Binary { op, args }, ty, &mut self.out);
        if let Some(inst) = self.func.def_inst(value) {
            self.func.insts[inst].flags = flags;
        }
        value
    }
}

impl Term {
    /// The index of an address.
    fn index(func: &Function, value: Value, factor: i64) -> Option<Self> {
        let extended = match func.ty(value) {
            Type::I64 => Extended::Wide,
            Type::I32 => Extended::Sign,
            _ => return None,
        };
        Some(Self { value, extended, wide: None, factor })
    }

    /// What it is the sum of, or is made from, if that may be taken apart.
    fn parts(self, func: &Function) -> Option<SmallVec<[Self; 2]>> {
        let data = &func.insts[func.def_inst(self.value)?];
        let (kind, flags) = (&data.kind, data.flags);
        let is_exact = match self.extended {
            Extended::Wide => true,
            Extended::Zero => flags.contains(InstFlags::NUW),
            Extended::Sign => flags.contains(InstFlags::NSW),
        };
        let part = |value, factor| Self { value, factor, wide: None, ..self };
        Some(match *kind {
            InstKind::Binary { op: BinaryOp::Add, args: [a, b] } if is_exact => {
                SmallVec::from([part(a, self.factor), part(b, self.factor)])
            }
            // Without carries there is nothing that either extension could lose.
            InstKind::Binary { op: BinaryOp::Or, args: [a, b] }
                if flags.contains(InstFlags::DISJOINT) && self.extended != Extended::Sign =>
            {
                SmallVec::from([part(a, self.factor), part(b, self.factor)])
            }
            InstKind::Binary { op: BinaryOp::Shl, args: [a, by] } if is_exact => {
                let by = func.as_int(by).filter(|&by| by < 31)?;
                SmallVec::from_slice(&[part(a, self.factor.checked_mul(1 << by)?)])
            }
            InstKind::Binary { op: BinaryOp::Mul, args: [a, by] } if is_exact => {
                let by = func.as_int(by)?;
                let by = match self.extended {
                    Extended::Sign => sext64(by, 32),
                    Extended::Wide | Extended::Zero => by as i64,
                };
                SmallVec::from_slice(&[part(a, self.factor.checked_mul(by)?)])
            }
            InstKind::Cast { op, arg } if self.extended == Extended::Wide && func.ty(arg) == Type::I32 => {
                let promises =
                    |flag| func.def_inst(arg).is_some_and(|inst| func.insts[inst].flags.contains(flag));
                // What is not negative may as well be extended by its sign, where that is all that its sum promises.
                let signed =
                    flags.contains(InstFlags::NNEG) && promises(InstFlags::NSW) && !promises(InstFlags::NUW);
                let extended = match op {
                    CastOp::ZExt if !signed => Extended::Zero,
                    CastOp::ZExt | CastOp::SExt => Extended::Sign,
                    _ => return None,
                };
                SmallVec::from_slice(&[Self { value: arg, extended, wide: Some(self.value), ..self }])
            }
            _ => return None,
        })
    }

    /// An upper bound of its bytes, if it is known to be neither negative nor wider than 32 bits, and its factor neither, which a known 0 would hide.
    fn limit(&self, func: &Function) -> Option<u64> {
        if self.extended == Extended::Wide {
            return None;
        }
        let constant = |value| func.as_int(value).map(|bits| i64::from(bits as u32));
        let zeros = leading_zeros(func, self.value, MAX_PRODUCERS, &constant);
        let most = u64::from(u32::MAX.checked_shr(zeros).unwrap_or(0));
        let is_negative = self.extended == Extended::Sign && zeros == 0;
        if is_negative { None } else { most.checked_mul(u32::try_from(self.factor).ok()?.into()) }
    }
}
