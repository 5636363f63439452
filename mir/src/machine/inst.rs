//! Machine instructions: an opcode of the table, operands in the row's order, modifiers.

use super::{Block, PReg, Reg, SymbolId, VReg};
use crate::isa::Opcode;
use crate::target::WaveSize;
use smallvec::SmallVec;

/// A register read or written by an instruction: `dwords` registers from dword `sub` of `reg` on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RegOperand {
    /// Virtual register, or first register of a physical tuple.
    pub reg: Reg,
    /// First dword inside a virtual register; 0 for physical ones.
    pub sub: u8,
    /// Width in dwords.
    pub dwords: u8,
}

/// Which part of a symbol's address a relocated literal holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RelocKind {
    /// Low half of symbol + addend − place.
    Rel32Lo,
    /// High half of symbol + addend − place.
    Rel32Hi,
    /// Low half of the symbol's GOT entry address − place.
    GotPcRel32Lo,
    /// High half of the symbol's GOT entry address − place.
    GotPcRel32Hi,
    /// Low half of the absolute address.
    Abs32Lo,
    /// High half of the absolute address.
    Abs32Hi,
}

impl RelocKind {
    /// The suffix of a symbol in assembler text.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Rel32Lo => "@rel32@lo",
            Self::Rel32Hi => "@rel32@hi",
            Self::GotPcRel32Lo => "@gotpcrel32@lo",
            Self::GotPcRel32Hi => "@gotpcrel32@hi",
            Self::Abs32Lo => "@abs32@lo",
            Self::Abs32Hi => "@abs32@hi",
        }
    }
}

/// An operand, in the position that the opcode's row gives it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A register.
    Reg(RegOperand),
    /// A constant as the operation sees it: sign-extended from the operand's width, the whole bit pattern for
    /// floating point (16, 32 or 64 bits). The encoder chooses between an inline constant and a literal.
    Imm(i64),
    /// A branch target.
    Block(Block),
    /// A literal filled in by relocation.
    Symbol {
        /// What.
        symbol: SymbolId,
        /// Added to the address.
        addend: i32,
        /// Which part.
        kind: RelocKind,
    },
    /// `off`: the operand is absent in this use (address of a MUBUF or global access, disabled export).
    Off,
}

impl Operand {
    /// All of `reg`, which is `dwords` wide.
    #[inline]
    pub fn vreg(reg: VReg, dwords: u8) -> Self {
        Self::Reg(RegOperand { reg: reg.into(), sub: 0, dwords })
    }

    /// `dwords` dwords of `reg` from dword `sub` on.
    #[inline]
    pub fn sub(reg: VReg, sub: u8, dwords: u8) -> Self {
        Self::Reg(RegOperand { reg: reg.into(), sub, dwords })
    }

    /// The physical tuple of `dwords` registers from `reg` on.
    #[inline]
    pub fn preg(reg: PReg, dwords: u8) -> Self {
        Self::Reg(RegOperand { reg: reg.into(), sub: 0, dwords })
    }

    /// EXEC.
    #[inline]
    pub fn exec(wave: WaveSize) -> Self {
        Self::preg(PReg::EXEC_LO, wave.mask_dwords())
    }

    /// VCC as a mask of lanes.
    #[inline]
    pub fn vcc(wave: WaveSize) -> Self {
        Self::preg(PReg::VCC_LO, wave.mask_dwords())
    }

    /// All of `reg`, which is a mask of lanes.
    #[inline]
    pub fn mask(reg: VReg, wave: WaveSize) -> Self {
        Self::vreg(reg, wave.mask_dwords())
    }

    /// The register, if the operand is one.
    #[inline]
    pub fn as_reg(&self) -> Option<&RegOperand> {
        match self {
            Self::Reg(reg) => Some(reg),
            _ => None,
        }
    }

    /// The constant, if the operand is one.
    #[inline]
    pub fn as_imm(&self) -> Option<i64> {
        match self {
            Self::Imm(value) => Some(*value),
            _ => None,
        }
    }
}

/// Which encoding of an opcode that has several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Encoding {
    /// The shortest that expresses operands and modifiers.
    #[default]
    Auto,
    /// The 32-bit base encoding (`_e32`).
    E32,
    /// VOP3 (`_e64`).
    E64,
    /// Sub-dword addressing (`_sdwa`); see [`Modifiers::sdwa`].
    Sdwa,
    /// Data-parallel primitives (`_dpp`); see [`Modifiers::dpp`].
    Dpp,
    /// Data-parallel primitives within groups of eight lanes (`_dpp` with `dpp8:`); see [`Extension::Dpp8`].
    Dpp8,
}

bitflags::bitflags! {
    /// One-bit modifiers, by the name they have in assembly.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct ModFlags: u32 {
        /// Clamp the result (float: to 0..1; integer: saturate).
        const CLAMP = 1 << 0;
        /// Globally coherent; for atomics: return the old value; for SMEM atomics likewise.
        const GLC = 1 << 1;
        /// System-level coherent (streaming).
        const SLC = 1 << 2;
        /// Texture fail enable.
        const TFE = 1 << 3;
        /// MUBUF/FLAT: load to LDS.
        const LDS = 1 << 4;
        /// MUBUF: VGPR holds a byte offset.
        const OFFEN = 1 << 5;
        /// MUBUF: VGPR holds an index.
        const IDXEN = 1 << 6;
        /// MUBUF of GFX6-7: VGPR pair holds a 64-bit address.
        const ADDR64 = 1 << 7;
        /// DS: region memory.
        const GDS = 1 << 8;
        /// MIMG: unnormalised coordinates.
        const UNORM = 1 << 9;
        /// MIMG: array.
        const DA = 1 << 10;
        /// MIMG: 128-bit resource.
        const R128 = 1 << 11;
        /// MIMG: LOD warning enable.
        const LWE = 1 << 12;
        /// MIMG of GFX9: 16-bit addresses.
        const A16 = 1 << 13;
        /// MIMG: 16-bit data.
        const D16 = 1 << 14;
        /// EXP: last export.
        const DONE = 1 << 15;
        /// EXP: 16-bit components.
        const COMPR = 1 << 16;
        /// EXP: valid mask.
        const VM = 1 << 17;
        /// VINTRP: high half.
        const HIGH = 1 << 18;
        /// MTBUF etc.: not volatile (scalar memory `nv`).
        const NV = 1 << 19;
        /// Source 0 is a literal though an inline constant would do (`lit(..)`).
        const LIT0 = 1 << 20;
        /// Source 1 likewise.
        const LIT1 = 1 << 21;
        /// Scalar memory with a register offset on GFX9: an immediate offset of 0 is encoded beside it (`offset:0x0`).
        const ZERO_OFFSET = 1 << 22;
        /// Runs with the lanes of the region around it (`LANES_BEGIN`); gone before emission.
        const OTHER_LANES = 1 << 23;
        /// Writes EXEC in the body of a block, since the program itself asks for it (`llvm.write_register`).
        const SETS_EXEC = 1 << 24;
        /// Coherent between the work-group processors of a shader array (device level).
        const DLC = 1 << 25;
        /// Source 2 likewise a literal.
        const LIT2 = 1 << 26;
        /// Those that choose between encodings of the same operation and have no field of their own.
        const ANY_LAYOUT = Self::LIT0.bits() | Self::LIT1.bits() | Self::LIT2.bits() | Self::ZERO_OFFSET.bits();
    }
}

/// Sub-dword selection of an SDWA operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs, reason = "the ISA manuals' own names")]
pub enum SdwaSel {
    Byte0,
    Byte1,
    Byte2,
    Byte3,
    Word0,
    Word1,
    #[default]
    Dword,
}

/// What SDWA does with the bits of the destination that it does not write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs, reason = "the ISA manuals' own names")]
pub enum SdwaUnused {
    #[default]
    Pad,
    Sext,
    Preserve,
}

/// SDWA control.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sdwa {
    /// Part of the destination written.
    pub dst_sel: SdwaSel,
    /// The rest of the destination.
    pub dst_unused: SdwaUnused,
    /// Part of each source read.
    pub src_sel: [SdwaSel; 2],
    /// Bit i: source i is sign-extended.
    pub sext: u8,
}

/// DPP control.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dpp {
    /// `dpp_ctrl` field, 9 bits.
    pub ctrl: u16,
    /// Rows enabled.
    pub row_mask: u8,
    /// Banks enabled.
    pub bank_mask: u8,
    /// Out-of-range lanes read 0 (`bound_ctrl:0`).
    pub bound_ctrl: bool,
    /// Lanes that are not active are read, too (`fi:1`).
    pub fetch_inactive: bool,
}

/// DPP control within groups of eight lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dpp8 {
    /// For each lane of a group the lane whose value it reads: three bits each, the first lane's lowest.
    pub lanes: u32,
    /// Lanes that are not active are read, too (`fi:1`).
    pub fetch_inactive: bool,
}

/// Sub-dword or cross-lane control.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Extension {
    /// None.
    #[default]
    None,
    /// Sub-dword addressing.
    Sdwa(Sdwa),
    /// Data-parallel primitives.
    Dpp(Dpp),
    /// The same within groups of eight lanes.
    Dpp8(Dpp8),
}

/// Modifiers of all formats; a format uses its own and leaves the others at their default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Modifiers {
    /// One-bit modifiers.
    pub flags: ModFlags,
    /// Bit i: absolute value of source i.
    pub abs: u8,
    /// Bit i: source i negated (VOP3P: `neg_lo`).
    pub neg: u8,
    /// VOP3P: bit i: high half of source i negated.
    pub neg_hi: u8,
    /// VOP3/VOP3P: bit i: source i takes its high half; bit 3: the destination.
    pub op_sel: u8,
    /// VOP3P: bit i: the high result takes the high half of source i. The neutral value is 7 for a packed
    /// instruction; the field is kept literally.
    pub op_sel_hi: u8,
    /// Output modifier: 0 none, 1 ×2, 2 ×4, 3 ÷2.
    pub omod: u8,
    /// Byte offset of a memory access (signed for FLAT), or `offset0` of a DS access.
    pub offset: i32,
    /// `offset1` of a two-address DS access.
    pub offset1: u8,
    /// MIMG `dmask`, EXP `en`, MTBUF format.
    pub dmask: u8,
    /// MIMG: dimension of the image, as the field has it ([`crate::ir::ImageDim`]).
    pub dim: u8,
    /// MIMG: further registers of the address, behind the row's operands: a VGPR each. None where the row's `vaddr` is all of it.
    pub address_parts: u8,
    /// SDWA or DPP.
    pub ext: Extension,
}

impl Modifiers {
    /// The SDWA control, if there is one.
    #[inline]
    pub fn sdwa(&self) -> Option<&Sdwa> {
        match &self.ext {
            Extension::Sdwa(sdwa) => Some(sdwa),
            _ => None,
        }
    }

    /// The DPP control, if there is one.
    #[inline]
    pub fn dpp(&self) -> Option<&Dpp> {
        match &self.ext {
            Extension::Dpp(dpp) => Some(dpp),
            _ => None,
        }
    }

    /// The DPP control within groups of eight lanes, if there is one.
    #[inline]
    pub fn dpp8(&self) -> Option<&Dpp8> {
        match &self.ext {
            Extension::Dpp8(dpp) => Some(dpp),
            _ => None,
        }
    }
}

/// What a memory instruction touches, for scheduling, waits and cache control.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemRef {
    /// Ordering, scope, volatility and address space of the IR access.
    pub access: crate::ir::MemAccess,
    /// Bytes accessed by a lane.
    pub bytes: u32,
    /// Where they are, as far as that is known.
    pub place: Option<MemPlace>,
}

impl MemRef {
    /// `bytes` anywhere.
    pub const fn new(access: crate::ir::MemAccess, bytes: u32) -> Self {
        let access = crate::ir::MemAccess { set: crate::ir::AliasSet::ANY, ..access };
        Self { access, bytes, place: None }
    }
}

/// A place in memory, by its distance from others. In a block equal bases are equal addresses in each lane, if both accesses are of private memory or
/// neither is; nothing is said of different ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemPlace {
    /// The number of an address.
    pub base: u32,
    /// Bytes behind it.
    pub offset: i32,
}

impl MemPlace {
    /// The place `bytes` further on.
    pub fn behind(self, bytes: u32) -> Option<Self> {
        Some(Self { offset: self.offset.checked_add_unsigned(bytes)?, ..self })
    }
}

/// A machine instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Inst {
    /// Row of the table.
    pub op: Opcode,
    /// Encoding, where several exist.
    pub encoding: Encoding,
    /// Operands in the row's order: definitions first. Implicit registers (SCC, EXEC, M0) are not listed.
    ///
    /// Before allocation the code is SSA: a row's `DefUse` position then holds the definition alone, and the incoming
    /// values follow the row's operands, one for each `DefUse` position in order. The same holds for the old value of an
    /// SDWA destination that is preserved and of a DPP destination whose lanes may be disabled: one extra operand, tied
    /// to operand 0. Allocation gives tied operands one register and drops the extra ones.
    pub operands: SmallVec<[Operand; 5]>,
    /// Modifiers.
    pub mods: Modifiers,
    /// Memory touched; `None` where unknown or none.
    pub mem: Option<MemRef>,
    /// Source position, an index into [`super::Function::locs`]; 0 is unknown.
    pub loc: u32,
}

impl Inst {
    /// An instruction without modifiers.
    pub fn new(op: Opcode, operands: impl IntoIterator<Item = Operand>) -> Self {
        Self::with_operands(op, operands.into_iter().collect(), Modifiers::default())
    }

    /// An instruction with `mods`.
    #[inline]
    pub fn with_operands(op: Opcode, operands: SmallVec<[Operand; 5]>, mods: Modifiers) -> Self {
        Self { op, encoding: Encoding::Auto, operands, mods, mem: None, loc: 0 }
    }

    /// Every register operand with whether it is written, in operand order. Registers that the row implies are not listed.
    #[inline]
    pub fn regs(&self) -> impl Iterator<Item = (bool, &RegOperand)> {
        let defs = self.defs_end();
        self.operands.iter().enumerate().filter_map(move |(i, operand)| Some((i < defs, operand.as_reg()?)))
    }

    /// The same, for rewriting.
    #[inline]
    pub fn regs_mut(&mut self) -> impl Iterator<Item = (bool, &mut RegOperand)> {
        let defs = self.defs_end();
        self.operands.iter_mut().enumerate().filter_map(move |(i, operand)| match operand {
            Operand::Reg(reg) => Some((i < defs, reg)),
            _ => None,
        })
    }

    /// The same with `mods`.
    #[inline]
    pub fn with_mods(mut self, mods: Modifiers) -> Self {
        self.mods = mods;
        self
    }

    /// The same with `mem`.
    #[inline]
    pub fn with_mem(mut self, mem: MemRef) -> Self {
        self.mem = Some(mem);
        self
    }
}
