//! Addresses that are a constant away from one that is there already.
//!
//! `(i + 1) + w` and `i + w` differ by one, however many such sums are stacked; so do `(i + 1) - w` and `i - w`, and `(i + 1) * 6` and `i * 6`
//! differ by six. Each sum, difference or multiple has a *form*: one seen before, its root, and the constant behind it; two whose operands have
//! the same roots have forms with one root. An address whose index has the root of an earlier address's becomes that address and a constant, which
//! accesses have room for, and so the two are neighbours that [`crate::merge_memory`] sees. Where the constant is too large for an access, others
//! of the same root that are near may stand there already (an *anchor*).
//!
//! An index as wide as the address wraps as the address does. A narrower one is extended first, by its sign or by zeros, so the sums must not overflow
//! in that sense: the flags say that they do not *where the address is used*. The root stands where the other index stood, so it must not overflow either: an
//! access through the earlier address, on all paths to the later one, is what says so (or the program is
//! undefined). Or the address is `inbounds` of what the kernel was given, where no index is negative, or of an address inside of that: whatever the root
//! is made of, with a constant that is not negative it wraps to far below 0. LLVM's `SeparateConstOffsetFromGEP` takes any index of an `inbounds` address for not negative.
//!
//! Bits that are joined and have none in common (`or disjoint`) are a sum that overflows in no sense. Nor does a constant carry into what stands
//! above the zeros that a number ends in: `4 * i + 17` is one behind `4 * i + 16` wherever both wrap.
//!
//! Cost: a few look-ups for each sum and address.

use super::Entry;
use crate::bits::{low_zeros, mask64, sext64};
use crate::origin::Origin;
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use mir::target::Target;
use rustc_hash::FxHashMap;

/// What is made of roots.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Term {
    /// The smaller number first.
    Sum(Value, Value),
    Difference(Value, Value),
    Multiple(Value, i64),
}

/// A sum as its root and what is behind it.
#[derive(Clone, Copy, Default)]
struct Form {
    root: Option<Value>,
    constant: i64,
    /// Whether an overflow, of the sum or of the root, makes one of them poison: of numbers with a sign, and without.
    signed: bool,
    unsigned: bool,
}

/// An address: what it starts from, index, whether zeros extend it, and scale.
type Address = (Origin, Value, bool, i64);

/// Distance between addresses that one anchor serves, as a power of two. Accesses reach as far as that on most machines.
const ANCHOR_BITS: u32 = 12;

/// An address whose index is a sum.
#[derive(Clone, Copy)]
struct Anchor {
    entry: Entry,
    /// Constant behind base and root, in bytes.
    offset: i64,
    /// Whether the sum is exact, or as wide as the address, without an access through the address that says so.
    certain: bool,
}

/// An address with an index, of a block.
struct Indexed<'a> {
    base: Value,
    origin: Origin,
    index: Value,
    /// What zeros extend to the index.
    narrow: Option<Value>,
    scale: i64,
    /// The constant behind origin and index.
    far: i64,
    data: &'a InstData,
    block: u32,
}

/// What has been seen on the way down the tree of dominators.
#[derive(Default)]
pub(super) struct Neighbours {
    forms: SecondaryMap<Value, Form>,
    /// The first that is made of its roots, whose own form it is.
    terms: FxHashMap<Term, (Entry, Form)>,
    /// The first of an index, with its offset.
    addresses: FxHashMap<Address, (Entry, i64)>,
    /// The first of an index that ends in zeros, and of the part of a constant above them, with the offset behind both.
    aligned: FxHashMap<(Address, u64), (Entry, i64)>,
    /// The first of an index too far from the first of its root, by the distance.
    anchors: FxHashMap<(Address, i64), Anchor>,
    /// The block where an access through the address, or one a constant away from it, was seen.
    accessed: SecondaryMap<Value, Option<u32>>,
}

impl Neighbours {
    /// What is known of `value`: that it is its own root, at least.
    fn form(&self, value: Value) -> Form {
        let known = self.forms[value];
        if known.root.is_some() {
            return known;
        }
        Form { root: Some(value), constant: 0, signed: true, unsigned: true }
    }

    /// Notes the sum, difference or multiple that `inst`, which is of `block`, makes. `reaches(a, b)` says whether what block `a` computes is
    /// there in `b`.
    pub(super) fn visit_sum(
        &mut self,
        func: &Function,
        inst: Inst,
        block: u32,
        reaches: impl Fn(u32, u32) -> bool,
    ) {
        let data = &func.insts[inst];
        let InstKind::Binary { op, args: [lhs, rhs] } = data.kind else { return };
        let bits = match data.ty {
            Type::I32 => 32,
            Type::I64 => 64,
            _ => return,
        };
        let (Some(result), a) = (data.result, self.form(lhs)) else { return };
        let Some(x) = a.root else { return };
        // Without a common bit there is no carry.
        let disjoint = op == BinaryOp::Or && data.flags.contains(InstFlags::DISJOINT);
        let [signed, unsigned] =
            [InstFlags::NSW, InstFlags::NUW].map(|flag| disjoint || data.flags.contains(flag));
        let constant = func.as_int(rhs).map(|constant| sext64(constant, bits));
        let whole = |constant: i64, b: Form| Form {
            root: Some(result),
            constant,
            signed: signed && a.signed && b.signed,
            unsigned: unsigned && a.unsigned && b.unsigned,
        };
        let multiple = |by: i64| (Term::Multiple(x, by), whole(a.constant.wrapping_mul(by), a));
        let (term, whole) = match (op, constant) {
            (BinaryOp::Add, Some(constant)) | (BinaryOp::Or, Some(constant))
                if op == BinaryOp::Add || disjoint =>
            {
                self.forms[result] = Form {
                    root: a.root,
                    constant: a.constant.wrapping_add(constant),
                    signed: signed && a.signed,
                    // What looks negative is a large number there.
                    unsigned: unsigned && a.unsigned && constant >= 0,
                };
                return;
            }
            (BinaryOp::Mul, Some(by)) if by > 0 => multiple(by),
            (BinaryOp::Shl, Some(by)) if (0..i64::from(bits) - 1).contains(&by) => multiple(1 << by),
            (BinaryOp::Add | BinaryOp::Or | BinaryOp::Sub, None) if op != BinaryOp::Or || disjoint => {
                let b = self.form(rhs);
                let Some(y) = b.root else { return };
                if op == BinaryOp::Sub {
                    (Term::Difference(x, y), whole(a.constant.wrapping_sub(b.constant), b))
                } else {
                    (Term::Sum(x.min(y), x.max(y)), whole(a.constant.wrapping_add(b.constant), b))
                }
            }
            _ => return,
        };
        match self.terms.get(&term) {
            Some(&(entry, first)) if reaches(entry.block, block) => {
                // Both are exact terms of the same roots and a constant each.
                self.forms[result] = Form {
                    root: Some(entry.value),
                    constant: whole.constant.wrapping_sub(first.constant),
                    signed: whole.signed && first.signed,
                    unsigned: whole.unsigned && first.unsigned,
                };
            }
            _ => {
                self.terms.insert(term, (Entry { value: result, block }, whole));
            }
        }
    }

    /// Notes an access through `ptr` in `block`.
    pub(super) fn visit_access(&mut self, func: &Function, ptr: Value, block: u32) {
        let mut note = |ptr: Value| {
            // The first one reaches most.
            if self.accessed[ptr].is_none() {
                self.accessed[ptr] = Some(block);
            }
        };
        note(ptr);
        if let Some(InstKind::PtrAdd { base, index: None, .. }) =
            func.def_inst(ptr).map(|i| &func.insts[i].kind)
        {
            note(*base);
        }
    }

    /// The address `inst` as an earlier one and an offset, if it is that; notes it otherwise.
    pub(super) fn visit_address(
        &mut self,
        func: &Function,
        machine: &Target,
        inst: Inst,
        block: u32,
        reaches: impl Fn(u32, u32) -> bool,
    ) -> Option<InstKind> {
        let data = &func.insts[inst];
        let InstKind::PtrAdd { base, index: Some(index), scale, offset: far } = data.kind else {
            return None;
        };
        let narrow = zero_extended(func, index);
        let (origin, behind) = Origin::of(func, base);
        let far = far.wrapping_add(behind);
        let indexed = Indexed { base, origin, index, narrow, scale, far, data, block };
        self.behind_root(func, machine, &indexed, &reaches)
            .or_else(|| self.behind_aligned(func, machine, &indexed, &reaches))
    }

    /// The address as an earlier one whose index shares all but bits that no carry comes out of; notes it otherwise.
    fn behind_aligned(
        &mut self,
        func: &Function,
        machine: &Target,
        indexed: &Indexed<'_>,
        reaches: impl Fn(u32, u32) -> bool,
    ) -> Option<InstKind> {
        let &Indexed { origin, index, narrow, scale, far, data, block, .. } = indexed;
        let sum = narrow.unwrap_or(index);
        let (root, constant) = match func.def_inst(sum).map(|inst| &func.insts[inst].kind) {
            Some(&InstKind::Binary { op: BinaryOp::Add, args: [root, constant] }) => {
                (root, func.as_int(constant)?)
            }
            _ => (sum, 0),
        };
        let low = constant & mask64(u64::MAX, low_zeros(func, root));
        let offset = i64::try_from(low).ok()?.checked_mul(scale)?.checked_add(far)?;
        let address = (origin, root, narrow.is_some(), scale);
        match self.aligned.get(&(address, constant - low)) {
            Some(&(entry, first)) if reaches(entry.block, block) => {
                let offset = offset.wrapping_sub(first);
                crate::fold::reaches(machine, data.ty, offset).then(|| behind(entry, offset))
            }
            _ => {
                let entry = Entry { value: data.result?, block };
                self.aligned.insert((address, constant - low), (entry, offset));
                None
            }
        }
    }

    /// The address as an earlier one whose index has the same root; notes it otherwise.
    fn behind_root(
        &mut self,
        func: &Function,
        machine: &Target,
        indexed: &Indexed<'_>,
        reaches: impl Fn(u32, u32) -> bool,
    ) -> Option<InstKind> {
        let &Indexed { base, origin, index, narrow, scale, far, data, block } = indexed;
        let by_zeros = narrow.is_some();
        let form = self.form(narrow.unwrap_or(index));
        let root = form.root?;
        let address = (origin, root, by_zeros, scale);
        let there = self.addresses.get(&address).filter(|(entry, _)| reaches(entry.block, block)).copied();
        if form.constant == 0 {
            let Some((entry, first)) = there else {
                self.addresses.insert(address, (Entry { value: data.result?, block }, far));
                return None;
            };
            // Far from each other, or they had one address.
            let offset = far.wrapping_sub(first);
            return (far != first).then(|| behind(entry, offset));
        }
        let whole = !by_zeros && func.ty(index).bits() >= data.ty.bits();
        let holds = if by_zeros { form.unsigned } else { form.signed };
        // An index into an object, from where a kernel got it, is not negative; as a number with a sign it would be if the root and the constant wrapped.
        let of_argument = || {
            func.def_inst(base).map(|inst| &func.insts[inst]).is_some_and(|def| match def.kind {
                InstKind::Load { .. } | InstKind::ExtractElement { .. } => true,
                InstKind::Cast { op, .. } => op == CastOp::BitCast,
                InstKind::PtrAdd { .. } => def.flags.contains(InstFlags::INBOUNDS),
                _ => false,
            })
        };
        let forwards = i32::try_from(form.constant).is_ok_and(|constant| constant >= 0);
        let inside = forwards && !by_zeros && data.flags.contains(InstFlags::INBOUNDS) && of_argument();
        let certain = whole || inside;
        let is_accessed =
            |entry: Entry| self.accessed[entry.value].is_some_and(|accessed| reaches(accessed, block));
        let behind_base = form.constant.checked_mul(scale)?.wrapping_add(far);
        if let Some((entry, first)) = there {
            let offset = behind_base.wrapping_sub(first);
            if crate::fold::reaches(machine, data.ty, offset) && (certain || holds && is_accessed(entry)) {
                return Some(behind(entry, offset));
            }
        }
        if !(certain || holds) {
            return None;
        }
        let place = (address, behind_base >> ANCHOR_BITS);
        match self.anchors.get(&place) {
            Some(anchor)
                if reaches(anchor.entry.block, block)
                    && (anchor.certain && certain || is_accessed(anchor.entry)) =>
            {
                let offset = behind_base.wrapping_sub(anchor.offset);
                crate::fold::reaches(machine, data.ty, offset).then(|| behind(anchor.entry, offset))
            }
            _ => {
                let entry = Entry { value: data.result?, block };
                self.anchors.insert(place, Anchor { entry, offset: behind_base, certain });
                None
            }
        }
    }
}

/// The address `offset` bytes behind an earlier one.
fn behind(earlier: Entry, offset: i64) -> InstKind {
    InstKind::PtrAdd { base: earlier.value, index: None, scale: 0, offset }
}

/// What zeros extend to `index`, if it is of 32 bits.
fn zero_extended(func: &Function, index: Value) -> Option<Value> {
    match func.def_inst(index).map(|inst| &func.insts[inst].kind) {
        Some(&InstKind::Cast { op: CastOp::ZExt, arg }) if func.ty(arg) == Type::I32 => Some(arg),
        _ => None,
    }
}
