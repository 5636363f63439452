//! Loads into one half of a register (D16): those of 16 or 8 bits whose one use is a half of a dword.
//!
//! The load stands where it stood; what is in the other half must have been computed by then, and is tied to the result. So nothing
//! moves in memory's order. The dword that is put together then exists once the load is done: whoever asks for it
//! gives the load its register ([`Selector::half_result`]), and the load is an ordinary one where nobody does.

use super::scratch::Forms;
use super::{Rep, Selector};
use cranelift_entity::SecondaryMap;
use mir::diag::{Diagnostic, Result};
use mir::ir::{AddrSpace, BinaryOp, Block, CastOp, Inst, InstKind, MemAccess, Ordering, Type, Value};
use mir::isa::Opcode::{self, *};
use mir::machine::Operand;
use smallvec::SmallVec;

/// Loads of one family by half (low, high): unsigned byte, signed byte, word.
type HalfLoads = [[Opcode; 3]; 2];

const GLOBAL: HalfLoads = [
    [GLOBAL_LOAD_UBYTE_D16, GLOBAL_LOAD_SBYTE_D16, GLOBAL_LOAD_SHORT_D16],
    [GLOBAL_LOAD_UBYTE_D16_HI, GLOBAL_LOAD_SBYTE_D16_HI, GLOBAL_LOAD_SHORT_D16_HI],
];
const FLAT: HalfLoads = [
    [FLAT_LOAD_UBYTE_D16, FLAT_LOAD_SBYTE_D16, FLAT_LOAD_SHORT_D16],
    [FLAT_LOAD_UBYTE_D16_HI, FLAT_LOAD_SBYTE_D16_HI, FLAT_LOAD_SHORT_D16_HI],
];
const BUFFER: HalfLoads = [
    [BUFFER_LOAD_UBYTE_D16, BUFFER_LOAD_SBYTE_D16, BUFFER_LOAD_SHORT_D16],
    [BUFFER_LOAD_UBYTE_D16_HI, BUFFER_LOAD_SBYTE_D16_HI, BUFFER_LOAD_SHORT_D16_HI],
];
const SCRATCH: HalfLoads = [
    [SCRATCH_LOAD_UBYTE_D16, SCRATCH_LOAD_SBYTE_D16, SCRATCH_LOAD_SHORT_D16],
    [SCRATCH_LOAD_UBYTE_D16_HI, SCRATCH_LOAD_SBYTE_D16_HI, SCRATCH_LOAD_SHORT_D16_HI],
];
const DS: HalfLoads = [
    [DS_READ_U8_D16, DS_READ_I8_D16, DS_READ_U16_D16],
    [DS_READ_U8_D16_HI, DS_READ_I8_D16_HI, DS_READ_U16_D16_HI],
];

/// A load that writes one half of a register.
#[derive(Clone, Copy)]
pub(super) struct HalfLoad {
    high: bool,
    bytes: u32,
    signed: bool,
    rest: Rest,
    /// The whole register, once asked for.
    out: Option<Operand>,
}

/// A dword of which one half is already right.
#[derive(Clone, Copy)]
enum Rest {
    Undefined,
    Constant(i64),
    /// Dword of a value.
    Part(Value, u8),
    /// What another load into a half has made of its register.
    Loaded(Value),
}

/// What a half is to hold.
#[derive(Clone, Copy)]
enum Half {
    Undefined,
    Constant(u16),
    /// The low 16 bits of a value.
    Low(Value),
    /// The same half of a dword of a value.
    Same(Value, u8),
}

/// A load that could write a half.
#[derive(Clone, Copy)]
struct Candidate {
    value: Value,
    at: u32,
    bytes: u32,
    signed: bool,
    space: AddrSpace,
}

/// Places of the instructions of one block.
type Places = SecondaryMap<Inst, u32>;

/// A chain of insertions into a vector: its elements, and the vector that the others come from.
pub(super) struct Chain {
    pub elements: SmallVec<[Option<Value>; 8]>,
    pub base: Value,
    /// The insertions but for the last.
    pub inner: SmallVec<[Inst; 8]>,
}

impl<'a> Selector<'a> {
    /// The chain that ends with `inst`; `None` where the index of the last is not constant.
    pub(super) fn insertions(&self, inst: Inst, lanes: usize) -> Option<Chain> {
        let mut elements: SmallVec<[Option<Value>; 8]> = SmallVec::from_elem(None, lanes);
        let mut inner = SmallVec::new();
        let mut at = inst;
        loop {
            let InstKind::InsertElement { vector, element, index } = self.f.insts[at].kind else {
                return None;
            };
            let index = self.const_int(index)?;
            if let Some(slot @ None) = usize::try_from(index).ok().and_then(|i| elements.get_mut(i)) {
                *slot = Some(element);
            }
            let next = self.f.def_inst(vector).filter(|&i| {
                matches!(self.f.insts[i].kind, InstKind::InsertElement { index, .. } if self.const_int(index).is_some())
                    && self.values[vector].uses == 1
                    && self.home[i] == self.home[inst]
            });
            match next {
                Some(next) => at = next,
                None => return Some(Chain { elements, base: vector, inner }),
            }
            inner.push(at);
        }
    }

    /// Finds the loads of `block` that can write a half.
    pub(super) fn plan_half_loads(&mut self, block: Block, places: &mut Places, chained: &mut Places) {
        let f = self.f;
        let insts = &f.blocks[block].insts;
        let narrow = |inst: &&Inst| {
            matches!(f.insts[**inst].kind, InstKind::Load { .. })
                && f.insts[**inst].ty.bits().is_some_and(|bits| bits <= 16)
        };
        if !self.target.loads_keep_halves() || insts.iter().find(narrow).is_none() {
            return;
        }
        for (at, &inst) in (1..).zip(insts) {
            places[inst] = at;
        }
        for &inst in insts.iter().rev() {
            let data = &f.insts[inst];
            let Some(value) = data.result.filter(|&v| self.values[v].rep == Rep::Vgpr) else { continue };
            match data.kind {
                InstKind::InsertElement { .. } if chained[inst] == 0 => {
                    let lanes = data.ty.lanes() as usize;
                    if data.ty.scalar().is_none_or(|s| s.bits() != 16) {
                        continue;
                    }
                    let Some(chain) = self.insertions(inst, lanes) else { continue };
                    chain.inner.iter().for_each(|&i| chained[i] = 1);
                    let base = (!self.is_undef(chain.base)).then_some(chain.base);
                    for (d, pair) in chain.elements.chunks(2).enumerate() {
                        let half = |k: usize| match (pair.get(k).copied().flatten(), base) {
                            (Some(element), _) => self.half_of(element, k == 1),
                            (None, Some(base)) => Half::Same(base, d as u8),
                            (None, None) => Half::Undefined,
                        };
                        let halves = [half(0), half(1)];
                        self.plan_dword(value, d as u8, halves, places);
                    }
                }
                InstKind::Binary { op: BinaryOp::Or, args } if data.ty == Type::I32 => {
                    if let Some(halves) = self.halves_of_or(args) {
                        self.plan_dword(value, 0, halves, places);
                    }
                }
                _ => {}
            }
        }
    }

    /// A 16-bit value as one half of a dword.
    fn half_of(&self, value: Value, high: bool) -> Half {
        if self.is_undef(value) {
            return Half::Undefined;
        }
        if let Some(constant) = self.const_int(value) {
            return Half::Constant(constant as u16);
        }
        if high && let Some((whole, d)) = self.odd_half(value) {
            return Half::Same(whole, d);
        }
        Half::Low(value)
    }

    /// The value, and its dword, of which `value` is the high half.
    fn odd_half(&self, value: Value) -> Option<(Value, u8)> {
        let kind = |value| Some(&self.f.insts[self.f.def_inst(value)?].kind);
        let mut inner = value;
        if let InstKind::Cast { op: CastOp::BitCast, arg } = kind(inner)? {
            inner = *arg;
        }
        match kind(inner)? {
            InstKind::ExtractElement { vector, index } if self.f.ty(inner).bits() == Some(16) => {
                let index = self.const_int(*index)?;
                let inside = (0..i64::from(self.f.ty(*vector).lanes())).contains(&index);
                (inside && index % 2 == 1).then_some((*vector, (index / 2) as u8))
            }
            InstKind::Cast { op: CastOp::Trunc, arg } if self.f.ty(*arg) == Type::I32 => match kind(*arg)? {
                InstKind::Binary { op: BinaryOp::LShr | BinaryOp::AShr, args }
                    if self.is_const_value(args[1], 16) =>
                {
                    Some((args[0], 0))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The halves of `a | b`, where one has nothing in the low half, and the other nothing in the high one.
    fn halves_of_or(&self, args: [Value; 2]) -> Option<[Half; 2]> {
        let kind = |value| Some(&self.f.insts[self.f.def_inst(value)?].kind);
        let high = |value: Value| {
            if let Some(constant) = self.const_int(value) {
                return (constant & 0xffff == 0).then_some(Half::Constant((constant >> 16) as u16));
            }
            match *kind(value)? {
                InstKind::Binary { op: BinaryOp::Shl, args: [x, amount] }
                    if self.is_const_value(amount, 16) && self.values[value].uses == 1 =>
                {
                    Some(Half::Low(x))
                }
                InstKind::Binary { op: BinaryOp::And, args: [x, mask] }
                    if self.is_const_value(mask, -0x1_0000) =>
                {
                    Some(Half::Same(x, 0))
                }
                _ => None,
            }
        };
        let low = |value: Value| {
            if let Some(constant) = self.const_int(value) {
                return (0..1 << 16).contains(&constant).then_some(Half::Constant(constant as u16));
            }
            match *kind(value)? {
                InstKind::Binary { op: BinaryOp::And, args: [x, mask] }
                    if self.is_const_value(mask, 0xffff) =>
                {
                    Some(Half::Same(x, 0))
                }
                _ => self.fits_unsigned(value, 16).then_some(Half::Low(value)),
            }
        };
        let [a, b] = args;
        let halves = |l, h| Some([low(l)?, high(h)?]);
        halves(a, b).or_else(|| halves(b, a))
    }

    /// Chooses the load that completes dword `d` of `value`, if one can.
    fn plan_dword(&mut self, value: Value, d: u8, halves: [Half; 2], places: &Places) {
        let home = self.f.def_inst(value).and_then(|inst| self.home[inst].expand());
        let Some(block) = home else { return };
        let [low, high] = halves;
        let load = |half: Half| match half {
            Half::Low(value) => self.half_candidate(value, block, places),
            _ => None,
        };
        let [low_load, high_load] = [load(low), load(high)];
        let before = |value: Value, at: u32| match self.f.def_inst(self.root(value).0) {
            Some(inst) if self.home[inst].expand() == Some(block) => places[inst] < at,
            _ => true,
        };
        let plan = |load: Candidate, high: bool, rest: Rest| {
            (load.value, HalfLoad { high, bytes: load.bytes, signed: load.signed, rest, out: None })
        };
        let mut plans: SmallVec<[(Value, HalfLoad); 2]> = SmallVec::new();
        if let Some(load) = high_load {
            let rest = match low {
                Half::Undefined => Some(Rest::Undefined),
                Half::Constant(constant) => Some(Rest::Constant(i64::from(constant))),
                Half::Low(value) => {
                    let value = self.narrowest(value);
                    // A copy of what is still on its way would wait for it.
                    let ready = before(value, load.at) && !self.is_shared_load(value, load, low_load);
                    ready.then_some(Rest::Part(value, 0))
                }
                Half::Same(value, d) => before(value, load.at).then_some(Rest::Part(value, d)),
            };
            plans.extend(rest.map(|rest| plan(load, true, rest)));
        }
        if let (Some(load), true) = (low_load, plans.is_empty()) {
            match high {
                Half::Constant(constant) if constant != 0 => {
                    let rest = Rest::Constant(i64::from((i32::from(constant as i16)) << 16));
                    plans.push(plan(load, false, rest));
                }
                Half::Same(value, d) if before(value, load.at) => {
                    plans.push(plan(load, false, Rest::Part(value, d)));
                }
                Half::Low(_) => {
                    let first = high_load.filter(|first| first.at < load.at && first.space == load.space);
                    if let Some(first) = first {
                        plans.push(plan(first, true, Rest::Undefined));
                        plans.push(plan(load, false, Rest::Loaded(first.value)));
                    }
                }
                _ => {}
            }
        }
        if let Some(&(last, _)) = plans.last() {
            self.half_loads.extend(plans);
            self.half_results.insert((value, d), last);
        }
    }

    /// The value of 16 bits that `value` extends, or is in another type.
    fn narrowest(&self, mut value: Value) -> Value {
        for _ in 0..4 {
            let Some(inst) = self.f.def_inst(value) else { break };
            match self.f.insts[inst].kind {
                InstKind::Cast { op: CastOp::ZExt | CastOp::SExt | CastOp::BitCast, arg }
                    if self.f.ty(arg).bits() == Some(16) =>
                {
                    value = arg;
                }
                _ => break,
            }
        }
        value
    }

    /// Whether `value` is loaded, but not so that `load` could take over its register while it is on its way. `own`: the load of `value`
    /// alone.
    fn is_shared_load(&self, value: Value, load: Candidate, own: Option<Candidate>) -> bool {
        let (root, _) = self.root(value);
        let loaded = self.f.def_inst(root).is_some_and(|inst| {
            self.home[inst] == self.f.def_inst(load.value).map_or(None.into(), |i| self.home[i])
                && matches!(self.f.insts[inst].kind, InstKind::Load { .. })
        });
        loaded && own.is_none_or(|own| own.space != load.space)
    }

    /// The load that alone makes the low 16 bits of `value`, which nobody else uses.
    fn half_candidate(&self, value: Value, block: Block, places: &Places) -> Option<Candidate> {
        let mut at = value;
        let mut signed = None;
        // Bits of the half above those that are loaded are the extension's.
        for _ in 0..4 {
            let info = &self.values[at];
            let inst = self.f.def_inst(at)?;
            if info.uses != 1 || info.rep != Rep::Vgpr || self.home[inst].expand() != Some(block) {
                return None;
            }
            match self.f.insts[inst].kind {
                InstKind::Load { mem, .. } => {
                    let bits = self.f.ty(at).bits()?;
                    let known = match bits {
                        16 => true,
                        8 => signed.is_some(),
                        _ => false,
                    };
                    let spaces = [
                        AddrSpace::GLOBAL,
                        AddrSpace::CONSTANT,
                        AddrSpace::FLAT,
                        AddrSpace::LOCAL,
                        AddrSpace::PRIVATE,
                    ];
                    // It stays where it is and as wide as it is, so that it may be volatile.
                    let plain = mem.ordering == Ordering::NotAtomic && spaces.contains(&mem.space);
                    let bytes = (bits / 8) as u32;
                    let signed = signed.unwrap_or(false);
                    return (known && plain).then_some(Candidate {
                        value: at,
                        at: places[inst],
                        bytes,
                        signed,
                        space: mem.space,
                    });
                }
                InstKind::Cast { op: CastOp::BitCast, arg } if self.f.ty(arg).bits() == Some(16) => at = arg,
                InstKind::Cast { op: op @ (CastOp::ZExt | CastOp::SExt), arg } => {
                    // The innermost extension counts.
                    signed = Some(op == CastOp::SExt);
                    at = arg;
                }
                _ => return None,
            }
        }
        None
    }

    /// The register of dword `d` of `value`, where a load completes it.
    pub(super) fn half_result(&mut self, value: Value, d: u8) -> Option<Operand> {
        let load = *self.half_results.get(&(value, d))?;
        self.half_register(load)
    }

    fn half_register(&mut self, load: Value) -> Option<Operand> {
        let known = self.half_loads.get(&load)?.out;
        if known.is_some() {
            return known;
        }
        let out = self.new_vgpr(1);
        self.half_loads.get_mut(&load)?.out = Some(out);
        Some(out)
    }

    /// Whether somebody has asked for the register that the load of `value` completes.
    pub(super) fn is_half_wanted(&self, value: Value) -> bool {
        self.half_loads.get(&value).is_some_and(|load| load.out.is_some())
    }

    /// Completes a register by a load, where the load of `value` is to do that and nobody wants it alone. Otherwise whoever asked for the whole gets it put
    /// together behind the load: see [`Self::join_half`].
    pub(super) fn lower_half_load(&mut self, value: Value, ptr: Value, mem: MemAccess) -> Result<bool> {
        let Some(load) = self.half_loads.get(&value).copied() else { return Ok(false) };
        let (Some(out), None) = (load.out, self.values[value].reg.expand()) else { return Ok(false) };
        let rest = self.half_rest(load)?;
        let op = |table: &HalfLoads| {
            let column = if load.bytes == 2 { 2 } else { usize::from(load.signed) };
            table[usize::from(load.high)][column]
        };
        match mem.space {
            AddrSpace::LOCAL => {
                let max = i64::from(self.target.limits().offsets.ds.max) - i64::from(load.bytes);
                let (base, offset) = self.ds_address(ptr, max);
                self.emit(op(&DS), [out, base, rest]);
                self.set_offset(mem, load.bytes, offset);
            }
            AddrSpace::PRIVATE => {
                let forms = Forms { buffer: op(&BUFFER), scratch: op(&SCRATCH) };
                self.scratch_half_load(forms, [out, rest], ptr, mem, load.bytes);
            }
            _ => {
                let address = self.global_address(ptr, mem.space, 0);
                if address.flat {
                    self.emit(op(&FLAT), [out, address.vaddr, rest]);
                } else {
                    self.emit(op(&GLOBAL), [out, address.vaddr, address.saddr, rest]);
                }
                self.set_offset(mem, load.bytes, i64::from(address.offset));
            }
        }
        Ok(true)
    }

    /// Behind an ordinary load: the register that it was to complete.
    pub(super) fn join_half(&mut self, value: Value) -> Result<()> {
        let Some(load) = self.half_loads.get(&value).copied() else { return Ok(()) };
        let Some(out) = load.out else { return Ok(()) };
        let rest = self.half_rest(load)?;
        let loaded = self.def(value);
        // Selectors 0 to 3 are the bytes of the last source, 4 to 7 those before.
        let (sources, bytes) =
            if load.high { ([loaded, rest], 0x0504_0100) } else { ([rest, loaded], 0x0706_0100) };
        self.vop(V_PERM_B32, &[out, sources[0], sources[1], Operand::Imm(bytes)]);
        Ok(())
    }

    fn half_rest(&mut self, load: HalfLoad) -> Result<Operand> {
        let rest = match load.rest {
            Rest::Undefined => {
                let out = self.new_vgpr(1);
                self.emit(IMPLICIT_DEF, [out]);
                return Ok(out);
            }
            Rest::Constant(constant) => Operand::Imm(constant),
            Rest::Part(value, d) => {
                let whole = self.src(value);
                self.sub(&whole, d, 1)
            }
            Rest::Loaded(first) => {
                let register = self.half_register(first);
                return register.ok_or_else(|| Diagnostic::defect("a half that is not loaded"));
            }
        };
        Ok(self.in_vgpr(rest, 1))
    }
}
