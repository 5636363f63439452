//! Instructions made ready for execution, each decoded once.
//!
//! [`Op`] is an instruction of [`mir::isa`] with its operands sorted by what the executor does with them: sources, vector and scalar
//! destination, lane mask, memory operation; and with the lists that the strict checks walk. [`Program`] keeps them by address.

use crate::exec::atomic::AtomicOp;
use crate::report::{Kind, Report, Result};
use crate::strict::hazards::{Effects, Facts};
use crate::strict::waits::RegRange;
use mir::isa::{Format, OpFlags, Opcode, OpcodeInfo, OperandKind, Role, ValueType};
use mir::machine::{Inst, ModFlags, Operand, PReg, Reg};
use mir::target::{Features, Target};
use smallvec::SmallVec;

/// Where a source comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Src {
    /// VGPR.
    V(u16),
    /// Scalar register by [`PReg`] number.
    S(u16),
    /// Constant.
    K(u64),
}

/// A source operand.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Where from.
    pub src: Src,
    /// Width in dwords.
    pub dwords: u8,
    /// How the bits are understood.
    pub ty: ValueType,
}

impl Source {
    /// Bits of it that the operation looks at, up to 64.
    pub fn bits(&self) -> u32 {
        match self.ty {
            ValueType::B16 | ValueType::I16 | ValueType::U16 | ValueType::F16 => 16,
            _ if self.dwords >= 2 => 64,
            _ => 32,
        }
    }
}

/// How denormals are treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denormals {
    /// The operation does not look: bits pass.
    Keep,
    /// As MODE says for the type.
    Mode,
    /// Flushed whatever MODE says.
    Flush,
}

/// What part of the executor an instruction belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Scalar ALU.
    Salu,
    /// Scalar operations that need more than values: branches, waits, hardware registers.
    Special,
    /// Vector ALU.
    Valu,
    /// Vector comparison: relation bits (less, equal, greater, unordered) or class test.
    Compare(u8),
    /// `v_cmp_class`.
    CompareClass,
    /// Vector operations that address lanes or registers.
    Lane,
    /// Scalar memory.
    Smem,
    /// LDS and GDS.
    Lds,
    /// Buffer.
    Buffer,
    /// Flat, global or scratch.
    Flat,
    /// Known, but not executed.
    Unsupported,
}

/// What a memory instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemKind {
    /// Load.
    Load,
    /// Store.
    Store,
    /// Read, modify, write.
    Atomic(AtomicOp),
    /// No access (cache control and the like).
    None,
}

/// A memory operation.
#[derive(Clone, Copy, Debug)]
pub struct Mem {
    /// What.
    pub kind: MemKind,
    /// Bytes a lane; of one of the two accesses for two-address LDS operations.
    pub bytes: u32,
    /// Sub-dword loads are sign-extended.
    pub signed: bool,
    /// Two-address LDS: distance of offsets in bytes; 0 for one address.
    pub two: u32,
}

/// A decoded instruction.
#[derive(Clone, Debug)]
pub struct Op {
    /// The instruction.
    pub inst: Inst,
    /// Its row.
    pub info: &'static OpcodeInfo,
    /// Executor.
    pub class: Class,
    /// Bytes of the encoding.
    pub size: u8,
    /// Vector destination: first VGPR and dwords.
    pub vdst: Option<(u16, u8)>,
    /// Scalar destination: register and dwords.
    pub sdst: Option<(u16, u8)>,
    /// Sources, lane masks apart.
    pub srcs: SmallVec<[Source; 4]>,
    /// Lane mask that is read.
    pub mask: Option<u16>,
    /// Immediate of SOPK, SOPP and the like.
    pub imm: i64,
    /// Denormals of sources and result.
    pub denormals: Denormals,
    /// The result is 16 bits wide; the other half is zeroed, or kept for instructions with op_sel.
    pub dst16: bool,
    /// Bits of the result depend on bits of the sources alone (moves, logic, integer arithmetic), so that undefined bits can be followed.
    pub transparent: bool,
    /// The executor looks at the high dword of 32-bit sources, which must be zero.
    pub looks_high: bool,
    /// Memory operation.
    pub mem: Option<Mem>,
    /// Registers read, for the checks.
    pub reads: SmallVec<[RegRange; 4]>,
    /// Registers written.
    pub writes: SmallVec<[RegRange; 2]>,
    /// Wait states.
    pub effects: Effects,
    /// Issue cycles.
    pub cycles: u8,
    /// Highest VGPR used.
    pub max_vgpr: Option<u16>,
    /// Highest plain SGPR used.
    pub max_sgpr: Option<u16>,
}

impl Op {
    /// The source called `name` in the row, as an index into the instruction's operands.
    pub fn operand(&self, name: &str) -> Option<&Operand> {
        let index = self.info.operands.iter().position(|o| o.name == name)?;
        self.inst.operands.get(index)
    }

    /// First VGPR of the operand called `name`.
    pub fn vgpr(&self, name: &str) -> Option<u16> {
        match preg(self.operand(name)?)? {
            (reg, _) if reg.is_vgpr() => reg.vgpr_index(),
            _ => None,
        }
    }

    /// First scalar register of the operand called `name`.
    pub fn sgpr(&self, name: &str) -> Option<u16> {
        match preg(self.operand(name)?)? {
            (reg, _) if !reg.is_vgpr() => Some(reg.0),
            _ => None,
        }
    }

    /// Whether a modifier is set.
    pub fn flag(&self, flag: ModFlags) -> bool {
        self.inst.mods.flags.contains(flag)
    }
}

fn preg(operand: &Operand) -> Option<(PReg, u8)> {
    match operand {
        Operand::Reg(r) => match r.reg {
            Reg::Physical(p) => Some((p, r.dwords)),
            Reg::Virtual(_) => None,
        },
        _ => None,
    }
}

fn relation(name: &str) -> Option<u8> {
    Some(match name {
        "f" => 0,
        "lt" => 1,
        "eq" => 2,
        "le" => 3,
        "gt" => 4,
        "lg" | "ne" => 5,
        "ge" => 6,
        "o" => 7,
        "u" => 8,
        "nge" => 9,
        "nlg" => 10,
        "ngt" => 11,
        "nle" => 12,
        "neq" => 13,
        "nlt" => 14,
        "tru" | "t" => 15,
        _ => return None,
    })
}

fn compare_class(name: &str) -> Class {
    let rest = ["v_cmpx_", "v_cmpsx_", "v_cmps_", "v_cmp_"].iter().find_map(|p| name.strip_prefix(p));
    match rest.and_then(|r| r.split('_').next()) {
        Some("class") => Class::CompareClass,
        Some(rel) => relation(rel).map_or(Class::Unsupported, Class::Compare),
        None => Class::Unsupported,
    }
}

fn special_scalar(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        S_GETPC_B64
            | S_SETPC_B64
            | S_SWAPPC_B64
            | S_RFE_B64
            | S_CBRANCH_JOIN
            | S_SET_GPR_IDX_IDX
            | S_MOVRELS_B32
            | S_MOVRELS_B64
            | S_MOVRELD_B32
            | S_MOVRELD_B64
            | S_CBRANCH_G_FORK
            | S_RFE_RESTORE_B64
            | S_SETVSKIP
            | S_SET_GPR_IDX_ON
            | S_CBRANCH_I_FORK
            | S_GETREG_B32
            | S_SETREG_B32
            | S_SETREG_IMM32_B32
            | S_CALL_B64
    )
}

fn lane_op(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        V_NOP
            | V_CLREXCP
            | V_READFIRSTLANE_B32
            | V_READLANE_B32
            | V_WRITELANE_B32
            | V_SWAP_B32
            | V_MOVRELD_B32
            | V_MOVRELS_B32
            | V_MOVRELSD_B32
    )
}

fn accumulates(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, V_MAC_F32 | V_MAC_LEGACY_F32 | V_MAC_F16 | V_FMAC_F32)
}

fn denormals(op: Opcode, info: &OpcodeInfo, target: &Target) -> Denormals {
    use Opcode::*;
    let float = |ty| matches!(ty, ValueType::F16 | ValueType::F32 | ValueType::F64);
    match op {
        V_MAD_F32 | V_MAC_F32 | V_MADAK_F32 | V_MADMK_F32 | V_MAD_LEGACY_F32 | V_MAC_LEGACY_F32
        | V_MAD_F16 | V_MAD_LEGACY_F16 | V_MAC_F16 | V_MADAK_F16 | V_MADMK_F16 | V_RCP_F32
        | V_RCP_IFLAG_F32 | V_RSQ_F32 | V_EXP_F32 | V_LOG_F32 | V_RCP_CLAMP_F32 | V_RSQ_CLAMP_F32
        | V_RCP_LEGACY_F32 | V_RSQ_LEGACY_F32 | V_LOG_CLAMP_F32 | V_EXP_LEGACY_F32 | V_LOG_LEGACY_F32 => {
            Denormals::Flush
        }
        V_FREXP_EXP_I32_F32
        | V_FREXP_EXP_I32_F64
        | V_FREXP_EXP_I16_F16
        | V_FREXP_MANT_F32
        | V_FREXP_MANT_F64
        | V_FREXP_MANT_F16
        | V_DIV_SCALE_F32
        | V_DIV_SCALE_F64
        | V_DIV_FIXUP_F32
        | V_DIV_FIXUP_F64
        | V_DIV_FIXUP_F16
        | V_DIV_FIXUP_LEGACY_F16
        | V_PACK_B32_F16 => Denormals::Keep,
        V_MIN_F32 | V_MAX_F32 | V_MIN_F16 | V_MAX_F16 | V_MIN_F64 | V_MAX_F64 | V_MIN3_F32 | V_MAX3_F32
        | V_MED3_F32 | V_MIN_LEGACY_F32 | V_MAX_LEGACY_F32
            if !target.has(Features::ADD_NO_CARRY) =>
        {
            Denormals::Keep
        }
        _ if info.flags.contains(OpFlags::COPY) || info.name.contains("_class_") => Denormals::Keep,
        _ if info.operands.iter().any(|o| float(o.ty)) => Denormals::Mode,
        _ => Denormals::Keep,
    }
}

/// Operations of whose results each bit is decided by integer arithmetic or selection of bits.
fn transparent(op: Opcode, info: &OpcodeInfo) -> bool {
    use Opcode::*;
    if info.flags.contains(OpFlags::COPY) {
        return true;
    }
    if matches!(op, V_PACK_B32_F16 | V_CVT_PK_U8_F32) {
        return true;
    }
    let integer = |ty| !matches!(ty, ValueType::F16 | ValueType::F32 | ValueType::F64 | ValueType::V2F16);
    info.operands.iter().all(|o| integer(o.ty))
        || matches!(op, V_PK_FMA_F16 | V_PK_ADD_F16 | V_PK_MUL_F16 | V_PK_MIN_F16 | V_PK_MAX_F16)
}

fn memory(info: &OpcodeInfo) -> Option<Mem> {
    let name = info.name;
    let flags = info.flags;
    if !matches!(
        info.format,
        Format::Ds | Format::Mubuf | Format::Flat | Format::Global | Format::Scratch | Format::Smem
    ) {
        return None;
    }
    let kind = if flags.contains(OpFlags::ATOMIC) {
        MemKind::Atomic(AtomicOp::from_name(name)?)
    } else if flags.contains(OpFlags::LOAD) {
        MemKind::Load
    } else if flags.contains(OpFlags::STORE) {
        MemKind::Store
    } else {
        MemKind::None
    };
    let two = if !flags.contains(OpFlags::DS_TWO) {
        0
    } else {
        let element = u32::from(info.memory_bytes) / 2;
        if name.contains("st64") { element * 64 } else { element }
    };
    let bytes = u32::from(info.memory_bytes) / if two != 0 { 2 } else { 1 };
    let signed = ["_sbyte", "_sshort", "read_i8", "read_i16"].iter().any(|s| name.contains(s));
    Some(Mem { kind, bytes, signed, two })
}

impl Op {
    /// Prepares a decoded instruction of `size` bytes.
    pub fn new(inst: Inst, size: u8, target: &Target) -> Self {
        let info = inst.op.info();
        let flags = info.flags;
        let mut class = match info.format {
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk if !special_scalar(inst.op) => {
                Class::Salu
            }
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp => Class::Special,
            Format::Vopc => compare_class(info.name),
            Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p if lane_op(inst.op) => Class::Lane,
            Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p => Class::Valu,
            Format::Smem => Class::Smem,
            Format::Ds => Class::Lds,
            Format::Mubuf => Class::Buffer,
            Format::Flat | Format::Global | Format::Scratch => Class::Flat,
            _ => Class::Unsupported,
        };
        let mem = memory(info);
        if matches!(class, Class::Smem | Class::Lds | Class::Buffer | Class::Flat)
            && (mem.is_none() || flags.intersects(OpFlags::FORMATTED | OpFlags::LDS_DMA))
        {
            class = Class::Unsupported;
        }
        let (mut vdst, mut sdst, mut mask, mut imm) = (None, None, None, 0);
        let mut srcs = SmallVec::new();
        let (mut reads, mut writes) = (SmallVec::<[RegRange; 4]>::new(), SmallVec::<[RegRange; 2]>::new());
        let mut accumulator = None;
        for (desc, operand) in info.operands.iter().zip(&inst.operands) {
            if let Some((reg, dwords)) = preg(operand) {
                let range = RegRange { first: reg.0, len: dwords };
                if desc.role != Role::Use {
                    writes.push(range);
                    match reg.vgpr_index() {
                        Some(n) => vdst = vdst.or(Some((n, dwords))),
                        None => sdst = sdst.or(Some((reg.0, dwords))),
                    }
                    if desc.role == Role::DefUse {
                        reads.push(range);
                        let src = reg.vgpr_index().map_or(Src::S(reg.0), Src::V);
                        accumulator = Some(Source { src, dwords, ty: desc.ty });
                    }
                    continue;
                }
                reads.push(range);
                if desc.kind == OperandKind::LaneMask {
                    mask = Some(reg.0);
                    continue;
                }
                let src = reg.vgpr_index().map_or(Src::S(reg.0), Src::V);
                srcs.push(Source { src, dwords, ty: desc.ty });
            } else if let Operand::Imm(value) = *operand {
                imm = value;
                srcs.push(Source { src: Src::K(value as u64), dwords: desc.dwords.max(1), ty: desc.ty });
            }
        }
        if accumulates(inst.op) {
            srcs.extend(accumulator);
        }
        let vcc = RegRange { first: PReg::VCC_LO.0, len: 2 };
        if flags.contains(OpFlags::VCC_USE) {
            reads.push(vcc);
            mask = mask.or(Some(PReg::VCC_LO.0));
        }
        if flags.contains(OpFlags::M0_USE) {
            reads.push(RegRange { first: PReg::M0.0, len: 1 });
        }
        let exec = RegRange { first: PReg::EXEC_LO.0, len: 2 };
        if flags.contains(OpFlags::EXEC_DEF) {
            writes.push(exec);
        }
        let def_ty = info.operands.first().filter(|o| o.role != Role::Use).map(|o| o.ty);
        let dst16 = matches!(def_ty, Some(ValueType::F16 | ValueType::I16 | ValueType::U16 | ValueType::B16))
            && !matches!(
                inst.op,
                Opcode::V_MAD_U32_U16
                    | Opcode::V_MAD_I32_I16
                    | Opcode::V_SAD_U16
                    | Opcode::V_PACK_B32_F16
                    | Opcode::V_SAT_PK_U8_I16
            );
        let max = |vgpr: bool| {
            reads
                .iter()
                .chain(&writes)
                .filter(|r| r.len > 0)
                .map(|r| PReg(r.first + u16::from(r.len) - 1))
                .filter_map(|r| if vgpr { r.vgpr_index() } else { r.sgpr_index() })
                .max()
        };
        let (max_vgpr, max_sgpr) = (max(true), max(false));
        let valu = matches!(class, Class::Valu | Class::Compare(_) | Class::CompareClass | Class::Lane)
            && !matches!(inst.op, Opcode::V_NOP);
        let vmem = matches!(class, Class::Buffer | Class::Flat);
        let cycles = match class {
            _ if flags.contains(OpFlags::TRANS) => 16,
            _ if flags.contains(OpFlags::F64_RATE) && target.has(Features::FAST_F64) => 8,
            _ if flags.contains(OpFlags::F64_RATE) => 16,
            _ => 4,
        };
        let (op, denormals, transparent) =
            (inst.op, denormals(inst.op, info, target), transparent(inst.op, info));
        let looks_high = class == Class::CompareClass
            || matches!(op, Opcode::V_DIV_SCALE_F32 | Opcode::V_DIV_FMAS_F32 | Opcode::V_FREXP_EXP_I32_F64);
        let mut this = Self {
            inst,
            info,
            class,
            size,
            vdst,
            sdst,
            srcs,
            mask,
            imm,
            denormals,
            dst16,
            transparent,
            looks_high,
            mem,
            reads,
            writes,
            effects: Effects::default(),
            cycles,
            max_vgpr,
            max_sgpr,
        };
        let hwreg = |o: Opcode| (op == o).then_some((this.hwreg() & 63) as u8);
        let wide_store = || {
            let mem = this.mem.filter(|m| m.kind == MemKind::Store && m.bytes > 8)?;
            if class == Class::Buffer && this.sgpr("soffset").is_some() {
                return None;
            }
            let first = PReg::vgpr(this.vgpr("vdata")?).0;
            vmem.then_some(RegRange { first, len: (mem.bytes / 4) as u8 })
        };
        let facts = Facts {
            valu,
            salu: class == Class::Salu || class == Class::Special,
            vmem,
            smem: class == Class::Smem,
            sbuffer: class == Class::Smem && info.name.starts_with("s_buffer"),
            reads: &this.reads,
            writes: &this.writes,
            lane_select: matches!(op, Opcode::V_READLANE_B32 | Opcode::V_WRITELANE_B32)
                .then(|| this.srcs.get(1))
                .flatten()
                .and_then(|s| if let Src::S(r) = s.src { Some(r) } else { None }),
            div_fmas: matches!(op, Opcode::V_DIV_FMAS_F32 | Opcode::V_DIV_FMAS_F64),
            dpp: this.inst.mods.dpp().and_then(|_| match this.srcs.first()?.src {
                Src::V(n) => Some(PReg::vgpr(n).0),
                _ => None,
            }),
            m0_use: flags.contains(OpFlags::M0_USE)
                && !matches!(op, Opcode::S_SET_GPR_IDX_IDX | Opcode::S_SET_GPR_IDX_ON)
                || this.flag(ModFlags::GDS),
            setreg: hwreg(Opcode::S_SETREG_B32).or(hwreg(Opcode::S_SETREG_IMM32_B32)),
            getreg: hwreg(Opcode::S_GETREG_B32),
            wide_store: wide_store(),
            rfe: matches!(op, Opcode::S_RFE_B64 | Opcode::S_RFE_RESTORE_B64),
            vskip: op == Opcode::S_SETVSKIP,
        };
        this.effects = Effects::new(&facts, target.generation());
        this
    }

    /// The hardware register operand of `s_getreg` and `s_setreg`: id in bits 5:0, offset in 10:6, width − 1 in 15:11.
    pub fn hwreg(&self) -> u32 {
        let index = self.info.operands.iter().position(|o| o.kind == OperandKind::Hwreg);
        index.and_then(|i| self.inst.operands.get(i)).and_then(Operand::as_imm).unwrap_or(0) as u32
    }

    /// The text of the instruction.
    pub fn text(&self, target: &Target) -> String {
        crate::decode::text(&self.inst, target)
    }
}

/// The instructions of a code object that have been decoded.
#[derive(Debug)]
pub struct Program {
    code: Vec<u8>,
    index: Vec<u32>,
    ops: Vec<Op>,
    target: Target,
}

impl Program {
    /// A program in the bytes of an image.
    pub fn new(code: Vec<u8>, target: Target) -> Self {
        let index = vec![0; code.len() / 4 + 1];
        Self { code, index, ops: Vec::new(), target }
    }

    /// Decodes the instruction at `pc`, if that has not been done. Returns its number for [`Self::op`].
    #[inline]
    pub fn prepare(&mut self, pc: u64) -> Result<usize> {
        let slot = usize::try_from(pc / 4).ok().and_then(|i| self.index.get(i)).copied().unwrap_or(0);
        if slot != 0 && pc.is_multiple_of(4) {
            return Ok(slot as usize - 1);
        }
        self.decode(pc)
    }

    #[cold]
    fn decode(&mut self, pc: u64) -> Result<usize> {
        let bytes = usize::try_from(pc).ok().and_then(|at| self.code.get(at..));
        let Some(bytes) = bytes.filter(|b| b.len() >= 4 && pc.is_multiple_of(4)) else {
            return Err(Report::new(Kind::BadInstruction, format!("no code at 0x{pc:x}")));
        };
        let words: SmallVec<[u32; 5]> =
            bytes.as_chunks::<4>().0.iter().take(5).map(|c| u32::from_le_bytes(*c)).collect();
        let (inst, size) = crate::decode::decode(&words, &self.target)
            .map_err(|e| Report::new(Kind::BadInstruction, format!("0x{pc:x}: {:08x}: {e}", words[0])))?;
        self.ops.push(Op::new(inst, size, &self.target));
        let number = self.ops.len();
        if let Some(slot) = self.index.get_mut((pc / 4) as usize) {
            *slot = number as u32;
        }
        Ok(number - 1)
    }

    /// An instruction by the number that [`Self::prepare`] returned.
    #[inline]
    pub fn op(&self, number: usize) -> &Op {
        &self.ops[number]
    }

    /// What it runs on.
    pub fn target(&self) -> &Target {
        &self.target
    }
}
