//! Hazards that the hardware does not resolve: an instruction must not follow another one too closely.
//!
//! A *wait state* is an issued instruction; `s_nop n` counts n + 1. A row says which instructions produce the hazard in which
//! registers, which consume it, and how many wait states must lie between them on each generation (0: the hardware takes care).
//! Producer and consumer conflict where the registers selected on both sides overlap; a side that selects no registers matches
//! by class alone.
//!
//! Sources: ISA manuals, "Manually inserted wait states (NOPs)" of Southern Islands, Sea Islands, GCN3 and Vega;
//! `llc -run-pass=post-RA-hazard-rec` as witness where they disagree.

use super::Generation;

bitflags::bitflags! {
    /// What an instruction is, as far as hazards care.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct HazardClass: u32 {
        /// Vector ALU, interpolation included.
        const VALU = 1 << 0;
        /// Scalar ALU.
        const SALU = 1 << 1;
        /// Vector memory: buffer, image, flat, global, scratch.
        const VMEM = 1 << 2;
        /// Scalar memory.
        const SMEM = 1 << 3;
        /// Scalar memory through a buffer resource.
        const SMEM_BUFFER = 1 << 4;
        /// `v_readlane`, `v_writelane`.
        const LANE_ACCESS = 1 << 5;
        /// `v_div_fmas`.
        const DIV_FMAS = 1 << 6;
        /// Data-parallel primitives.
        const DPP = 1 << 7;
        /// `s_setreg`.
        const SETREG = 1 << 8;
        /// `s_getreg`.
        const GETREG = 1 << 9;
        /// Reads M0 outside the scalar ALU: GDS, messages, LDS DMA, interpolation, `s_movrel`, thread trace.
        const M0_READER = 1 << 10;
        /// Store of more than 64 bits that reads its data late.
        const WIDE_STORE = 1 << 11;
        /// `s_rfe`.
        const RFE = 1 << 12;
        /// LDS or GDS.
        const DS = 1 << 13;
    }
}

/// Which registers of an instruction take part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HazardRegs {
    /// None: the class alone counts.
    Any,
    /// SGPRs, VCC and other scalar registers that it writes (producer) or reads (consumer).
    Scalar,
    /// SGPRs that select the lane.
    LaneSelect,
    /// VCC.
    Vcc,
    /// EXEC.
    Exec,
    /// M0.
    M0,
    /// VCCZ or EXECZ read as data; overlaps VCC and EXEC.
    ZeroFlags,
    /// VCC or EXEC written.
    Masks,
    /// VGPRs written (producer) or read (consumer).
    Vector,
    /// VGPR read through the lane permutation: source 0.
    DppSource,
    /// VGPRs of the stored data.
    StoreData,
    /// VGPRs written by the consumer.
    VectorWritten,
    /// Hardware register named by the operand.
    HwReg,
    /// Hardware register TRAPSTS.
    TrapSts,
    /// MODE with its `vskip` bit.
    Vskip,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Hazard {
    /// In words.
    pub name: &'static str,
    /// Classes of the first instruction; any of them.
    pub producer: HazardClass,
    /// Its registers.
    pub produced: HazardRegs,
    /// Classes of the second instruction; any of them.
    pub consumer: HazardClass,
    /// Its registers.
    pub consumed: HazardRegs,
    /// Wait states by generation.
    pub wait_states: [u8; Generation::COUNT],
}

/// The largest number of wait states in [`HAZARDS`].
pub const MAX_WAIT_STATES: u8 = 5;

macro_rules! hazard {
    ($name:literal, $producer:ident $produced:ident, $($consumer:ident)|+ $consumed:ident, $states:expr) => {
        Hazard {
            name: $name,
            producer: HazardClass::$producer,
            produced: HazardRegs::$produced,
            consumer: HazardClass::empty()$(.union(HazardClass::$consumer))+,
            consumed: HazardRegs::$consumed,
            wait_states: $states,
        }
    };
}

/// All hazards. Columns: GFX6, 7, 8, 9, 10.
#[rustfmt::skip]
pub static HAZARDS: &[Hazard] = &[
    hazard!("VALU writes SGPR, VMEM reads it",               VALU Scalar,         VMEM Scalar,              [0, 0, 5, 5, 0]),
    hazard!("VALU writes SGPR, lane select reads it",        VALU Scalar,         LANE_ACCESS LaneSelect,   [4, 4, 4, 4, 0]),
    hazard!("VALU writes VCC, v_div_fmas reads it",          VALU Vcc,            DIV_FMAS Vcc,             [4, 4, 4, 4, 0]),
    hazard!("VALU writes EXEC, DPP uses it",                 VALU Exec,           DPP Exec,                 [0, 0, 5, 5, 0]),
    hazard!("VALU writes VGPR, DPP reads it",                VALU Vector,         DPP DppSource,            [0, 0, 2, 2, 0]),
    hazard!("VALU writes VCC or EXEC, VCCZ or EXECZ read",   VALU Masks,          VALU ZeroFlags,           [5, 5, 5, 5, 0]),
    hazard!("s_setreg, then s_getreg of the register",       SETREG HwReg,        GETREG HwReg,             [1, 1, 2, 2, 0]),
    hazard!("s_setreg, then s_setreg of the register",       SETREG HwReg,        SETREG HwReg,             [1, 1, 2, 2, 0]),
    hazard!("s_setreg MODE.vskip, then vector operation",    SETREG Vskip,        VALU | VMEM | DS Any,     [2, 2, 2, 2, 0]),
    hazard!("s_setreg TRAPSTS, then s_rfe",                  SETREG TrapSts,      RFE Any,                  [1, 1, 1, 1, 0]),
    hazard!("SALU writes M0, then it is used",               SALU M0,             M0_READER M0,             [0, 0, 1, 1, 0]),
    hazard!("wide store, VALU overwrites its data",          WIDE_STORE StoreData, VALU VectorWritten,      [0, 1, 1, 1, 0]),
    hazard!("VALU writes SGPR, SMRD reads it",               VALU Scalar,         SMEM Scalar,              [4, 0, 0, 0, 0]),
    hazard!("SALU writes SGPR, s_buffer_load reads it",      SALU Scalar,         SMEM_BUFFER Scalar,       [4, 0, 0, 0, 0]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_states_are_bounded() {
        let largest = HAZARDS.iter().flat_map(|h| h.wait_states).max();
        assert_eq!(largest, Some(MAX_WAIT_STATES));
        for hazard in HAZARDS {
            assert!(hazard.wait_states.iter().any(|&n| n > 0), "{}", hazard.name);
            assert!(!hazard.producer.is_empty() && !hazard.consumer.is_empty(), "{}", hazard.name);
        }
    }
}
