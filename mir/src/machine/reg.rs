//! Registers: virtual ones by entity, physical ones by a numbering that is the same on all generations.

use cranelift_entity::entity_impl;
use std::fmt;

/// A virtual register of one or more dwords.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VReg(u32);
entity_impl!(VReg, "%");

/// The two register files that are allocated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RegFile {
    /// Scalar registers: one value a wave.
    Sgpr,
    /// Vector registers: one value a lane.
    Vgpr,
}

/// A physical 32-bit register. Generations encode the special ones differently (the target's tables map them);
/// this numbering does not change. Tuples are named by their first register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PReg(pub u16);

#[allow(missing_docs, reason = "the ISA manuals' own names")]
impl PReg {
    pub const FLAT_SCRATCH_LO: Self = Self(106);
    pub const FLAT_SCRATCH_HI: Self = Self(107);
    pub const XNACK_MASK_LO: Self = Self(108);
    pub const XNACK_MASK_HI: Self = Self(109);
    pub const VCC_LO: Self = Self(110);
    pub const VCC_HI: Self = Self(111);
    pub const TBA_LO: Self = Self(112);
    pub const TBA_HI: Self = Self(113);
    pub const TMA_LO: Self = Self(114);
    pub const TMA_HI: Self = Self(115);
    pub const TTMP0: Self = Self(116);
    pub const M0: Self = Self(132);
    pub const NULL: Self = Self(133);
    pub const EXEC_LO: Self = Self(134);
    pub const EXEC_HI: Self = Self(135);
    pub const VCCZ: Self = Self(136);
    pub const EXECZ: Self = Self(137);
    pub const SCC: Self = Self(138);
    pub const LDS_DIRECT: Self = Self(139);
    /// `src_shared_base`: reads as 64 bits, the aperture in the high half.
    pub const SHARED_BASE: Self = Self(140);
    pub const SHARED_LIMIT: Self = Self(142);
    pub const PRIVATE_BASE: Self = Self(144);
    pub const PRIVATE_LIMIT: Self = Self(146);
    pub const POPS_EXITING_WAVE_ID: Self = Self(148);
    /// Number of plain SGPRs.
    pub const SGPRS: u16 = 106;
    /// Number of VGPRs.
    pub const VGPRS: u16 = 256;
    const VGPR0: u16 = 512;

    /// Scalar register `n`, 0 to 105.
    #[inline]
    pub const fn sgpr(n: u16) -> Self {
        Self(n)
    }

    /// Vector register `n`, 0 to 255.
    #[inline]
    pub const fn vgpr(n: u16) -> Self {
        Self(Self::VGPR0 + n)
    }

    /// Trap temporary `n`, 0 to 15.
    #[inline]
    pub const fn ttmp(n: u16) -> Self {
        Self(Self::TTMP0.0 + n)
    }
}

impl PReg {
    /// The number of a plain SGPR (0 to 105).
    #[inline]
    pub fn sgpr_index(self) -> Option<u16> {
        (self.0 < Self::SGPRS).then_some(self.0)
    }

    /// The number of a VGPR.
    #[inline]
    pub fn vgpr_index(self) -> Option<u16> {
        (Self::VGPR0..Self::VGPR0 + Self::VGPRS).contains(&self.0).then(|| self.0 - Self::VGPR0)
    }

    /// The number of a trap temporary.
    #[inline]
    pub fn ttmp_index(self) -> Option<u16> {
        (Self::TTMP0.0..Self::TTMP0.0 + 16).contains(&self.0).then(|| self.0 - Self::TTMP0.0)
    }

    /// Whether it is a VGPR.
    #[inline]
    pub fn is_vgpr(self) -> bool {
        self.vgpr_index().is_some()
    }

    /// The register that prints as `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(&(reg, _)) = SPECIAL.iter().find(|(_, special)| *special == name) {
            return Some(reg);
        }
        let numbered = |prefix: &str, count: u16| -> Option<u16> {
            let digits = name.strip_prefix(prefix)?;
            let plain = digits.bytes().all(|b| b.is_ascii_digit());
            digits.parse().ok().filter(|&n| plain && n < count)
        };
        numbered("s", 106)
            .map(Self::sgpr)
            .or_else(|| numbered("v", 256).map(Self::vgpr))
            .or_else(|| numbered("ttmp", 16).map(Self::ttmp))
            .or_else(|| numbered("preg", u16::MAX).map(Self))
    }

    /// The register `n` dwords further in the same tuple.
    #[inline]
    pub const fn plus(self, n: u16) -> Self {
        Self(self.0 + n)
    }
}

/// A register operand's register.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reg {
    /// To be allocated.
    Virtual(VReg),
    /// First register of a physical tuple.
    Physical(PReg),
}

impl From<VReg> for Reg {
    #[inline]
    fn from(reg: VReg) -> Self {
        Self::Virtual(reg)
    }
}

impl From<PReg> for Reg {
    #[inline]
    fn from(reg: PReg) -> Self {
        Self::Physical(reg)
    }
}

impl fmt::Debug for PReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Names of registers that are neither plain SGPRs, VGPRs nor trap temporaries.
const SPECIAL: [(PReg, &str); 23] = [
    (PReg::FLAT_SCRATCH_LO, "flat_scratch_lo"),
    (PReg::FLAT_SCRATCH_HI, "flat_scratch_hi"),
    (PReg::XNACK_MASK_LO, "xnack_mask_lo"),
    (PReg::XNACK_MASK_HI, "xnack_mask_hi"),
    (PReg::VCC_LO, "vcc_lo"),
    (PReg::VCC_HI, "vcc_hi"),
    (PReg::TBA_LO, "tba_lo"),
    (PReg::TBA_HI, "tba_hi"),
    (PReg::TMA_LO, "tma_lo"),
    (PReg::TMA_HI, "tma_hi"),
    (PReg::M0, "m0"),
    (PReg::NULL, "null"),
    (PReg::EXEC_LO, "exec_lo"),
    (PReg::EXEC_HI, "exec_hi"),
    (PReg::VCCZ, "src_vccz"),
    (PReg::EXECZ, "src_execz"),
    (PReg::SCC, "src_scc"),
    (PReg::LDS_DIRECT, "src_lds_direct"),
    (PReg::SHARED_BASE, "src_shared_base"),
    (PReg::SHARED_LIMIT, "src_shared_limit"),
    (PReg::PRIVATE_BASE, "src_private_base"),
    (PReg::PRIVATE_LIMIT, "src_private_limit"),
    (PReg::POPS_EXITING_WAVE_ID, "src_pops_exiting_wave_id"),
];

/// Prints a single register in LLVM's assembly syntax (`s5`, `v12`, `vcc_lo`, ...).
impl fmt::Display for PReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(n) = self.sgpr_index() {
            return write!(f, "s{n}");
        }
        if let Some(n) = self.vgpr_index() {
            return write!(f, "v{n}");
        }
        if let Some(n) = self.ttmp_index() {
            return write!(f, "ttmp{n}");
        }
        match SPECIAL.iter().find(|(reg, _)| reg == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "preg{}", self.0),
        }
    }
}

impl fmt::Debug for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Virtual(reg) => write!(f, "{reg}"),
            Self::Physical(reg) => write!(f, "{reg}"),
        }
    }
}
