//! Where the bytes of registers come from.
//!
//! Masks, shifts by whole bytes, bit fields and permutations move bytes and compute nothing. Of each dword that such an instruction writes it is
//! known, byte by byte, which byte of another register it is, or which constant: chains of them are seen through to their start. A byte that is
//! computed is a byte of the register itself. What an operation on 16 bits, or a load of less than a dword, leaves zero is known, too.

use cranelift_entity::SecondaryMap;
use mir::isa::{MemoryAction, OpFlags, Opcode, Role, ValueType};
use mir::machine::{Extension, Function, Inst, Modifiers, Operand, Reg, RegFile, RegOperand, VReg};
use mir::target::{Features, Target};
use rustc_hash::FxHashMap;

/// A byte of a dword.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Byte {
    /// This number.
    Const(u8),
    /// Byte of a VGPR tuple, counted from its first dword.
    Part(VReg, u8),
}

/// The bytes of a dword, the lowest first.
pub(super) type Bytes = [Byte; 4];

/// Bytes as far as they are known.
type Partial = [Option<Byte>; 4];

const ZERO: Option<Byte> = Some(Byte::Const(0));

/// A field of a dword whose sign fills the rest of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SignedField {
    /// The tuple.
    pub reg: VReg,
    /// Its first byte.
    pub first: u8,
    /// 1 or 2.
    pub bytes: u8,
}

/// What is known of the registers defined so far.
#[derive(Default)]
pub(super) struct Known {
    /// The first of a register's dwords in `dwords`, and one more; 0 where its bytes are its own.
    of: SecondaryMap<VReg, u32>,
    dwords: Vec<Bytes>,
    signed: FxHashMap<VReg, SignedField>,
    /// Whether anything moves bytes, dwords or lanes.
    of_use: bool,
}

/// The bytes of dword `sub` of `reg` as its own.
fn own(reg: VReg, sub: u8) -> Bytes {
    [0, 1, 2, 3].map(|k| Byte::Part(reg, 4 * sub + k))
}

impl Known {
    /// The bytes of dword `sub` of `reg`.
    pub fn dword(&self, reg: VReg, sub: u8) -> Bytes {
        match self.of[reg] {
            0 => own(reg, sub),
            first => self.dwords[(first - 1) as usize + usize::from(sub)],
        }
    }

    /// Whether more than constants was seen.
    pub fn is_of_use(&self) -> bool {
        self.of_use
    }

    /// Whether something is known of `reg`.
    pub fn has(&self, reg: VReg) -> bool {
        self.of[reg] != 0
    }

    /// The field that `reg` is the extension of.
    pub fn signed_field(&self, reg: VReg) -> Option<SignedField> {
        self.signed.get(&reg).copied()
    }

    /// The constant that `operand` holds.
    pub fn constant(&self, operand: &Operand) -> Option<u32> {
        match *operand {
            Operand::Imm(value) => Some(value as u32),
            Operand::Reg(RegOperand { reg: Reg::Virtual(reg), sub, dwords: 1 }) if self.of[reg] != 0 => {
                let bytes = self.dword(reg, sub).map(|byte| match byte {
                    Byte::Const(c) => Some(c),
                    Byte::Part(..) => None,
                });
                Some(u32::from_le_bytes([bytes[0]?, bytes[1]?, bytes[2]?, bytes[3]?]))
            }
            _ => None,
        }
    }

    /// The bytes of a source that is a dword.
    fn source(&self, f: &Function, operand: Option<&Operand>) -> Partial {
        match operand {
            Some(&Operand::Imm(value)) => (value as u32).to_le_bytes().map(|c| Some(Byte::Const(c))),
            Some(&Operand::Reg(RegOperand { reg: Reg::Virtual(reg), sub, dwords: 1 }))
                if f.vregs[reg].file == RegFile::Vgpr || self.of[reg] != 0 =>
            {
                self.dword(reg, sub).map(Some)
            }
            _ => [None; 4],
        }
    }

    fn set(&mut self, reg: VReg, bytes: &[Bytes]) {
        self.of[reg] = self.dwords.len() as u32 + 1;
        self.dwords.extend_from_slice(bytes);
    }

    /// Takes note of what `inst` defines.
    pub fn note(&mut self, f: &Function, inst: &Inst, target: &Target) {
        let Some(&Operand::Reg(RegOperand { reg: Reg::Virtual(dst), dwords, .. })) = inst.operands.first()
        else {
            return;
        };
        let vgpr = f.vregs[dst].file == RegFile::Vgpr;
        if inst.op == Opcode::REG_SEQUENCE {
            if vgpr {
                self.note_sequence(f, dst, &inst.operands[1..]);
            }
            return;
        }
        if dwords != 1 || f.vregs[dst].dwords != 1 {
            return;
        }
        if matches!(inst.op, Opcode::S_MOV_B32 | Opcode::V_MOV_B32) {
            if let (Some(&Operand::Imm(value)), Extension::None) = (inst.operands.get(1), inst.mods.ext) {
                self.set(dst, &[(value as u32).to_le_bytes().map(Byte::Const)]);
            }
            self.of_use |= inst.mods.ext != Extension::None;
            return;
        }
        if !vgpr {
            return;
        }
        let moved = self.moved(f, inst);
        let result = moved.unwrap_or_else(|| zeros(inst, target));
        if result.iter().any(Option::is_some) {
            let bytes = own(dst, 0);
            self.of_use |= moved.is_some();
            self.set(dst, &[[0, 1, 2, 3].map(|k| result[k].unwrap_or(bytes[k]))]);
        }
        self.note_signed(f, dst, inst);
    }

    /// The parts of a tuple.
    fn note_sequence(&mut self, f: &Function, dst: VReg, sources: &[Operand]) {
        let first = self.dwords.len();
        let mut sub = 0;
        for source in sources {
            match *source {
                Operand::Reg(RegOperand { reg: Reg::Virtual(reg), sub: from, dwords })
                    if f.vregs[reg].file == RegFile::Vgpr =>
                {
                    for d in 0..dwords {
                        self.dwords.push(self.dword(reg, from + d));
                    }
                    sub += dwords;
                }
                // A scalar is no source of bytes, and constants have the width of what they fill.
                Operand::Reg(RegOperand { dwords, .. }) => {
                    for d in 0..dwords {
                        self.dwords.push(own(dst, sub + d));
                    }
                    sub += dwords;
                }
                _ => {
                    self.dwords.push(own(dst, sub));
                    sub += 1;
                }
            }
        }
        if self.dwords.len() - first == usize::from(f.vregs[dst].dwords) {
            self.of[dst] = first as u32 + 1;
            // Who reads a part of a tuple may read the register that it was made of.
            self.of_use = true;
        } else {
            self.dwords.truncate(first);
        }
    }

    /// The result of an instruction that moves bytes.
    fn moved(&self, f: &Function, inst: &Inst) -> Option<Partial> {
        use Opcode::*;
        if !moves_bytes(inst.op) || inst.mods != Modifiers::default() {
            return None;
        }
        let x = |k: usize| self.source(f, inst.operands.get(k));
        let number = |k: usize| inst.operands.get(k).and_then(|operand| self.constant(operand));
        Some(match inst.op {
            V_AND_B32 => and(x(1), x(2)),
            V_OR_B32 => or(x(1), x(2)),
            V_OR3_B32 => or(or(x(1), x(2)), x(3)),
            V_AND_OR_B32 => or(and(x(1), x(2)), x(3)),
            V_LSHLREV_B32 => left(x(2), number(1)?),
            V_LSHL_OR_B32 => or(left(x(1), number(2)?), x(3)),
            V_LSHRREV_B32 => right(x(2), number(1)?),
            V_BFE_U32 => {
                let (offset, width) = (number(2)?, number(3)? & 31);
                let mask = (1u32 << width) - 1;
                and(right(x(1), offset), mask.to_le_bytes().map(|c| Some(Byte::Const(c))))
            }
            V_BFI_B32 => {
                let mask = number(1)?.to_le_bytes();
                let (a, b) = (x(2), x(3));
                [0, 1, 2, 3].map(|k| match mask[k] {
                    0xff => a[k],
                    0 => b[k],
                    _ if a[k] == b[k] => a[k],
                    _ => None,
                })
            }
            V_PERM_B32 => {
                let (high, low) = (x(1), x(2));
                number(3)?.to_le_bytes().map(|selector| match selector {
                    0..=3 => low[usize::from(selector)],
                    4..=7 => high[usize::from(selector) - 4],
                    12 => ZERO,
                    13.. => Some(Byte::Const(0xff)),
                    _ => None,
                })
            }
            V_ALIGNBIT_B32 | V_ALIGNBYTE_B32 => {
                let amount = number(3)?;
                let bits = if inst.op == V_ALIGNBIT_B32 { amount & 31 } else { 8 * (amount & 3) };
                let (high, low) = (x(1), x(2));
                let whole = |k: usize| if k < 4 { low[k] } else { high[k - 4] };
                let bytes = (bits / 8) as usize;
                if bits % 8 == 0 { [0, 1, 2, 3].map(|k| whole(k + bytes)) } else { [None; 4] }
            }
            _ => return None,
        })
    }

    /// Remembers extensions of the sign.
    fn note_signed(&mut self, f: &Function, dst: VReg, inst: &Inst) {
        if inst.mods != Modifiers::default() {
            return;
        }
        let number = |k: usize| inst.operands.get(k).and_then(|operand| self.constant(operand));
        let (source, first, bytes) = match inst.op {
            Opcode::V_BFE_I32 => match (number(2), number(3)) {
                (Some(offset @ (0 | 8 | 16 | 24)), Some(8)) => (1, offset / 8, 1),
                (Some(offset @ (0 | 16)), Some(16)) => (1, offset / 8, 2),
                _ => return,
            },
            Opcode::V_ASHRREV_I32 => match number(1) {
                Some(24) => (2, 3, 1),
                Some(16) => (2, 2, 2),
                _ => return,
            },
            _ => return,
        };
        let bytes_of = self.source(f, inst.operands.get(source));
        let Some(Byte::Part(reg, at)) = bytes_of[first as usize] else { return };
        let whole =
            bytes == 1 || (at % 2 == 0 && bytes_of[first as usize + 1] == Some(Byte::Part(reg, at + 1)));
        if whole && f.vregs[reg].file == RegFile::Vgpr {
            self.of_use = true;
            self.signed.insert(dst, SignedField { reg, first: at, bytes });
            if !self.has(dst) {
                self.set(dst, &[own(dst, 0)]);
            }
        }
    }
}

/// Whether instructions of this kind may do no more than move bytes.
pub(super) fn moves_bytes(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        V_AND_B32
            | V_OR_B32
            | V_OR3_B32
            | V_AND_OR_B32
            | V_LSHLREV_B32
            | V_LSHL_OR_B32
            | V_LSHRREV_B32
            | V_BFE_U32
            | V_BFI_B32
            | V_PERM_B32
            | V_ALIGNBIT_B32
            | V_ALIGNBYTE_B32
    )
}

/// The bytes of an instruction's result that are zero whatever it computes.
///
/// Source: LLVM SIISelLowering and GCNSubtarget (`zeroesHigh16BitsOfDest`): up to GFX9 operations of 16 bits in VOP1 and VOP2 without a tied
/// destination zero the upper half.
fn zeros(inst: &Inst, target: &Target) -> Partial {
    let info = inst.op.info();
    let mut bytes = [None; 4];
    let half = |ty| matches!(ty, ValueType::F16 | ValueType::B16 | ValueType::I16 | ValueType::U16);
    if let Some(memory) = inst.facts().memory {
        let plain = !info.flags.intersects(
            OpFlags::SIGN_EXTENDS.union(OpFlags::D16).union(OpFlags::D16_HI).union(OpFlags::FORMATTED),
        ) && inst.mods
            == Modifiers { flags: inst.mods.flags, offset: inst.mods.offset, ..Modifiers::default() };
        if plain
            && memory.action.contains(MemoryAction::LOAD)
            && !memory.action.contains(MemoryAction::ATOMIC)
            && matches!(memory.element_bytes, 1 | 2)
            && !inst.mods.flags.contains(mir::machine::ModFlags::TFE)
        {
            bytes[usize::from(memory.element_bytes)..].fill(ZERO);
        }
    } else if let Some(dst) = info.operands.first()
        && target.has(Features::ZEROES_HIGH_HALF)
        && half(dst.ty)
        && dst.role == Role::Def
        && info.format.has_vgpr_src1() | (info.format == mir::isa::Format::Vop1)
        && info.flags.contains(OpFlags::SDWA)
        && inst.mods.ext == Extension::None
    {
        bytes[2..].fill(ZERO);
    }
    bytes
}

fn and(a: Partial, b: Partial) -> Partial {
    [0, 1, 2, 3].map(|k| match (a[k], b[k]) {
        (ZERO, _) | (_, ZERO) => ZERO,
        (Some(Byte::Const(0xff)), x) | (x, Some(Byte::Const(0xff))) => x,
        (Some(Byte::Const(x)), Some(Byte::Const(y))) => Some(Byte::Const(x & y)),
        (x, y) if x == y => x,
        _ => None,
    })
}

fn or(a: Partial, b: Partial) -> Partial {
    const ONES: Option<Byte> = Some(Byte::Const(0xff));
    [0, 1, 2, 3].map(|k| match (a[k], b[k]) {
        (ZERO, x) | (x, ZERO) => x,
        (ONES, _) | (_, ONES) => ONES,
        (Some(Byte::Const(x)), Some(Byte::Const(y))) => Some(Byte::Const(x | y)),
        (x, y) if x == y => x,
        _ => None,
    })
}

/// A left shift by `bits` modulo 32.
fn left(x: Partial, bits: u32) -> Partial {
    let (bytes, rest) = ((bits & 31) / 8, bits % 8);
    let at = |k: u32| k.checked_sub(bytes).map_or(ZERO, |from| x[from as usize]);
    [0u32, 1, 2, 3].map(|k| match rest {
        0 => at(k),
        _ if at(k) == ZERO && (k == 0 || at(k - 1) == ZERO) => ZERO,
        _ => None,
    })
}

/// A right shift by `bits` modulo 32 that fills with zeros.
fn right(x: Partial, bits: u32) -> Partial {
    let (bytes, rest) = ((bits & 31) / 8, bits % 8);
    let at = |k: u32| x.get((k + bytes) as usize).copied().unwrap_or(ZERO);
    [0u32, 1, 2, 3].map(|k| match rest {
        0 => at(k),
        _ if at(k) == ZERO && at(k + 1) == ZERO => ZERO,
        _ => None,
    })
}
