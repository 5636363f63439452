//! Users of bytes and halves that read them where they are: SDWA, and operands that are not read as a whole.
//!
//! An operand of 16 bits does not see a mask of its upper half; where it is the upper half of another register, or a byte, SDWA reads it there.
//! A mask or shift is worth that only if all of its users can, as it would stay otherwise; SDWA takes two dwords of code.
//!
//! Sources: GCN3 and Vega ISA, "SDWA"; LLVM SIPeepholeSDWA for what has the form: no literals, up to GFX8 no scalars and no output modifier.

use super::bytes::Byte;
use super::{ALL, Combiner, vgpr};
use mir::isa::{Format, MemoryAction, OpFlags, Opcode, OperandKind, Role, ValueType};
use mir::machine::{
    Block, Encoding, Extension, Function, Inst, ModFlags, Operand, Reg, RegFile, RegOperand, Sdwa, SdwaSel,
    VReg,
};

/// Users that a field may have for all of them to be made longer.
pub(super) const MOST_USERS: u32 = 3;

/// A part of a dword that stands for an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub reg: VReg,
    /// Dword of `reg`.
    pub sub: u8,
    pub sel: SdwaSel,
    pub signed: bool,
}

impl Part {
    fn operand(&self) -> Operand {
        Operand::sub(self.reg, self.sub, 1)
    }
}

const BYTE_SELS: [SdwaSel; 4] = [SdwaSel::Byte0, SdwaSel::Byte1, SdwaSel::Byte2, SdwaSel::Byte3];

/// The dword, another one than dword `sub` of `reg`, that has the same bytes.
pub(super) fn same_dword(c: &Combiner<'_>, f: &Function, reg: VReg, sub: u8) -> Option<(VReg, u8)> {
    let part = part_of(c, f, reg, sub, 0b1111)?;
    (part.sel == SdwaSel::Dword).then_some((part.reg, part.sub))
}

/// What reads like the bytes `wanted` (a bit each) of dword `sub` of `reg`, zero-extended.
fn part_of(c: &Combiner<'_>, f: &Function, reg: VReg, sub: u8, wanted: u8) -> Option<Part> {
    if !c.known.has(reg) {
        return None;
    }
    let bytes = c.known.dword(reg, sub);
    let Byte::Part(from, at) = bytes[0] else { return None };
    let (dword, k) = (at / 4, usize::from(at % 4));
    if (from == reg && dword == sub) || f.vregs[from].file != RegFile::Vgpr {
        return None;
    }
    let source = c.known.dword(from, dword);
    let zero = Byte::Const(0);
    let same = |field: [Byte; 4]| (0..4).all(|i| wanted & 1 << i == 0 || field[i] == bytes[i]);
    let sel = if k == 0 && same(source) {
        SdwaSel::Dword
    } else if k % 2 == 0 && same([source[k], source[k + 1], zero, zero]) {
        if k == 0 { SdwaSel::Word0 } else { SdwaSel::Word1 }
    } else if same([source[k], zero, zero, zero]) {
        BYTE_SELS[k]
    } else {
        return None;
    };
    Some(Part { reg: from, sub: dword, sel, signed: false })
}

/// The field whose sign-extension `reg` is.
fn signed_part(c: &Combiner<'_>, reg: VReg) -> Option<Part> {
    let field = c.known.signed_field(reg)?;
    let k = usize::from(field.first % 4);
    let sel = match (field.bytes, k) {
        (1, _) => BYTE_SELS[k],
        (_, 0) => SdwaSel::Word0,
        _ => SdwaSel::Word1,
    };
    Some(Part { reg: field.reg, sub: field.first / 4, sel, signed: true })
}

/// Which bytes of operand `k` the instruction looks at, a bit each.
fn wanted(inst: &Inst, k: usize) -> u8 {
    let info = inst.op.info();
    let Some(desc) = info.operands.get(k) else { return 0b1111 };
    if let Some(memory) = inst.facts().memory {
        let narrow = memory.action == MemoryAction::STORE
            && matches!(memory.element_bytes, 1 | 2)
            && inst.facts().data() == Some(k)
            && !info.flags.intersects(OpFlags::D16_HI.union(OpFlags::FORMATTED));
        return if narrow { (1 << memory.element_bytes) - 1 } else { 0b1111 };
    }
    use ValueType as T;
    let half = matches!(desc.ty, T::F16 | T::B16 | T::I16 | T::U16)
        && matches!(info.format, Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3)
        && !info.flags.contains(OpFlags::MIX)
        && inst.mods.op_sel == 0;
    if half { 0b11 } else { 0b1111 }
}

/// Whether operands of `inst` may be exchanged for others that read the same.
fn reads_lanes_alone(inst: &Inst) -> bool {
    let info = inst.op.info();
    let plain = info.format != Format::Pseudo || inst.op.is_copy();
    plain && !info.flags.contains(OpFlags::IGNORES_EXEC) && inst.mods.dpp().is_none()
}

/// The number of source operand `k` in SDWA.
fn source_number(inst: &Inst, k: usize) -> Option<usize> {
    let info = inst.op.info();
    let source = |k: usize| matches!(info.operands[k].kind, OperandKind::Vgpr | OperandKind::VectorSrc);
    let first = info.operands.iter().position(|desc| desc.role == Role::Use)?;
    (k >= first && k < info.operands.len() && source(k) && k - first < 2).then(|| k - first)
}

/// The SDWA form of `inst` whose operand `k` is `part`.
fn with_part(c: &Combiner<'_>, f: &Function, inst: &Inst, k: usize, part: &Part) -> Option<Inst> {
    let info = inst.op.info();
    let n = source_number(inst, k)?;
    let mut sdwa = match inst.mods.ext {
        Extension::None if matches!(inst.encoding, Encoding::Auto) => Sdwa::default(),
        Extension::Sdwa(sdwa) => sdwa,
        _ => return None,
    };
    // Of a float of 32 bits no part is a number; a copy is no better than the mask that it copies.
    if info.operands[k].ty == ValueType::F32
        || info.flags.intersects(OpFlags::COPY.union(OpFlags::EXEC_DEF))
        || sdwa.src_sel[n] != SdwaSel::Dword
        || info.operands.iter().any(|desc| desc.role == Role::DefUse)
    {
        return None;
    }
    sdwa.src_sel[n] = part.sel;
    sdwa.sext |= u8::from(part.signed) << n;
    let mut new = inst.clone();
    new.operands[k] = part.operand();
    new.mods.ext = Extension::Sdwa(sdwa);
    new.encoding = Encoding::Sdwa;
    c.settle_carry(&mut new);
    c.has_form(f, &new, Encoding::Sdwa).then_some(new)
}

/// What SDWA could read in place of operand `k`, which is a VGPR of this block.
fn field(c: &Combiner<'_>, f: &Function, block: Block, inst: &Inst, k: usize) -> Option<(VReg, Part)> {
    let (reg, sub) = vgpr(f, inst.operands.get(k)?)?;
    if !c.known.has(reg) || c.places[reg].block != block {
        return None;
    }
    let part = part_of(c, f, reg, sub, wanted(inst, k)).or_else(|| {
        let part = signed_part(c, reg).filter(|_| sub == 0)?;
        let is_integer = inst.op.info().operands.get(k).is_some_and(|desc| desc.ty != ValueType::F16);
        match wanted(inst, k) {
            0b1111 => Some(part),
            // A byte and its sign are as much of it as an integer of 16 bits sees.
            0b11 if is_integer && BYTE_SELS.contains(&part.sel) => Some(part),
            _ => None,
        }
    })?;
    Some((reg, part))
}

/// Counts the operands of `inst` that could be read in place. `fields`: all registers that were counted, several times perhaps.
pub(super) fn count(c: &mut Combiner<'_>, f: &Function, block: Block, inst: &Inst, fields: &mut Vec<VReg>) {
    if !matches!(inst.op.info().format, Format::Vop1 | Format::Vop2 | Format::Vopc) {
        count_free(c, f, block, inst);
        return;
    }
    for k in 0..inst.op.info().operands.len() {
        let Some((reg, part)) = field(c, f, block, inst, k) else { continue };
        let free = part.sel == SdwaSel::Dword || converts_byte(inst.op).is_some();
        if free || with_part(c, f, inst, k, &part).is_some() {
            c.foldable[reg] += 1;
            fields.push(reg);
        }
    }
}

/// Counts operands that become others at no cost.
fn count_free(c: &mut Combiner<'_>, f: &Function, block: Block, inst: &Inst) {
    if !reads_lanes_alone(inst) {
        return;
    }
    for k in 0..inst.operands.len() {
        if let Some((reg, part)) = field(c, f, block, inst, k)
            && part.sel == SdwaSel::Dword
        {
            c.foldable[reg] += 1;
        }
    }
}

/// The byte that a conversion reads.
fn converts_byte(op: Opcode) -> Option<usize> {
    CONVERSIONS.iter().position(|&conversion| conversion == op)
}

const CONVERSIONS: [Opcode; 4] =
    [Opcode::V_CVT_F32_UBYTE0, Opcode::V_CVT_F32_UBYTE1, Opcode::V_CVT_F32_UBYTE2, Opcode::V_CVT_F32_UBYTE3];

/// Lets `inst` read parts of registers where they are.
pub(super) fn read_parts(c: &mut Combiner<'_>, f: &Function, inst: &mut Inst) {
    if !reads_lanes_alone(inst) {
        return;
    }
    let defs = inst.defs_end();
    for k in defs..inst.operands.len() {
        let Some((reg, sub)) = vgpr(f, &inst.operands[k]) else { continue };
        if !c.known.has(reg) {
            continue;
        }
        if let Some(byte) = converts_byte(inst.op) {
            convert_there(c, f, inst, reg, sub, byte);
            continue;
        }
        let selected = source_number(inst, k)
            .and_then(|n| inst.mods.sdwa().map(|sdwa| sdwa.src_sel[n] != SdwaSel::Dword));
        if selected == Some(true) {
            continue;
        }
        if let Some(part) = part_of(c, f, reg, sub, wanted(inst, k))
            && part.sel == SdwaSel::Dword
        {
            inst.operands[k] = part.operand();
            c.change_use(reg, part.reg);
            continue;
        }
        if c.foldable.get(reg) != Some(&ALL) {
            continue;
        }
        if let Some((_, part)) = field(c, f, c.block, inst, k)
            && let Some(new) = with_part(c, f, inst, k, &part)
        {
            c.put(inst, new);
        }
    }
}

/// A conversion of a byte reads it in the register that it comes from.
fn convert_there(c: &mut Combiner<'_>, f: &Function, inst: &mut Inst, reg: VReg, sub: u8, byte: usize) {
    let Byte::Part(from, at) = c.known.dword(reg, sub)[byte] else { return };
    let plain = inst.mods.ext == Extension::None && inst.mods.flags - ModFlags::CLAMP == ModFlags::empty();
    if (from, at / 4) == (reg, sub) || f.vregs[from].file != RegFile::Vgpr || !plain {
        return;
    }
    inst.op = CONVERSIONS[usize::from(at % 4)];
    inst.operands[1] = Operand::Reg(RegOperand { reg: Reg::Virtual(from), sub: at / 4, dwords: 1 });
    c.change_use(reg, from);
}
