//! Hazards that the hardware does not resolve: an instruction must not follow another one too closely.
//!
//! A *wait state* is an issued instruction; `s_nop n` counts n + 1. A row says which instructions produce the hazard in which
//! registers, which consume it, and what must lie between them ([`Remedy`]): on each generation a number of wait states (0: the hardware takes
//! care), or one of certain instructions however far apart the two are. Producer and consumer conflict where the registers selected on both sides overlap; a side that selects no registers matches
//! by class alone.
//!
//! Sources: ISA manuals, "Manually inserted wait states (NOPs)" of Southern Islands, Sea Islands, GCN3 and Vega;
//! `llc -run-pass=post-RA-hazard-rec` as witness where they disagree. GFX10, which no manual lists completely: README-ISA of Mesa's ACO, "RDNA / GFX10
//! hazards", and LLVM's tests of its recogniser (`smem-war-hazard.mir`, `vmem-to-salu-hazard.mir`, `vcmpx-exec-war-hazard.mir`, `vcmpx-permlane-hazard.mir`,
//! `lds-branch-vmem-hazard.mir`, `nsa-vmem-hazard.mir`). Most of them are errata of GFX10.1: a row names the feature that a processor with it has.

use super::{Counter, Features, Generation, Target};
use crate::isa::Opcode;
use crate::machine::{Inst, Operand, PReg, Reg, RegOperand};
use crate::target::WaitModel;

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
        /// Scalar ALU that writes a register, so that it goes all the way through the unit.
        const SALU_RESULT = 1 << 14;
        /// Exports.
        const EXPORT = 1 << 15;
        /// Program control: messages, branches.
        const CONTROL = 1 << 16;
        /// Vector ALU that writes a scalar register.
        const VALU_SGPR = 1 << 17;
        /// Vector ALU but `v_nop`, which is dropped on its way.
        const VALU_KEPT = 1 << 18;
        /// `v_permlane16`, `v_permlanex16`.
        const PERMLANE = 1 << 19;
        /// Images whose addresses are in so many registers apart that the instruction has four dwords or more.
        const LONG_IMAGE = 1 << 20;
        /// Buffers with an immediate offset that has bit 1 or 2.
        const BUFFER_OFFSET = 1 << 21;
        /// Atomic vector memory.
        const VMEM_ATOMIC = 1 << 22;
        /// `s_denorm_mode`.
        const DENORM_MODE = 1 << 23;
    }
}

/// Which registers of an instruction take part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HazardRegs {
    /// None: the class alone counts.
    Any,
    /// None; the producer counts once the wave has left its block by a branch.
    AcrossBranch,
    /// SGPRs, VCC, M0 and other scalar registers that it reads, EXEC as the mask of its lanes too.
    ScalarRead,
    /// SGPRs, VCC, M0 and other scalar registers that it writes.
    ScalarWritten,
    /// EXEC, read as a mask or as data.
    ExecRead,
    /// EXEC, written.
    ExecWritten,
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

/// What must stand between producer and consumer.
#[derive(Clone, Copy, Debug)]
pub enum Remedy {
    /// Wait states, by generation.
    WaitStates([u8; Generation::COUNT]),
    /// One of certain instructions, at any distance.
    Mitigation(Mitigation),
}

/// The instructions that end a hazard.
#[derive(Clone, Copy, Debug)]
pub struct Mitigation {
    /// Generations that have the hazard.
    pub on: &'static [Generation],
    /// What is inserted before the consumer where nothing else has ended it.
    pub insert: Filler,
    /// What ends it: any of these.
    pub by: &'static [Mitigator],
}

/// What is inserted to end a hazard.
#[derive(Clone, Copy, Debug)]
pub enum Filler {
    /// This instruction.
    Instruction(Opcode, &'static [Operand]),
    /// A wait until the counter is 0.
    Wait(Counter),
    /// A move of the consumer's first source, a VGPR, to itself.
    MoveOfSource,
}

/// What ends a hazard.
#[derive(Clone, Copy, Debug)]
pub enum Mitigator {
    /// An instruction of one of the classes.
    Class(HazardClass),
    /// An instruction that waits until all of the counters are 0.
    Waits(&'static [Counter]),
    /// `s_waitcnt_depctr` with none of these bits: the dependency counters there are 0.
    Depctr(i64),
}

impl Mitigation {
    /// Whether `inst`, which is of `class`, ends the hazard.
    pub fn is_ended_by(&self, inst: &Inst, class: HazardClass, waits: &WaitModel) -> bool {
        self.by.iter().any(|by| match by {
            Mitigator::Class(classes) => class.intersects(*classes),
            Mitigator::Waits(counters) => {
                waits.waited_for(inst).is_some_and(|counts| counters.iter().all(|&c| counts[c] == 0))
            }
            Mitigator::Depctr(bits) => {
                let imm = inst.operands.first().and_then(Operand::as_imm);
                inst.op == Opcode::S_WAITCNT_DEPCTR && imm.is_some_and(|imm| imm & bits == 0)
            }
        })
    }
}

impl Filler {
    /// The instructions in front of `consumer`.
    pub fn instructions(&self, waits: &WaitModel, consumer: &Inst) -> impl Iterator<Item = Inst> {
        let (inst, counts) = match *self {
            Self::Instruction(op, operands) => (Some(Inst::new(op, operands.iter().copied())), waits.max()),
            Self::Wait(counter) => (None, waits.max().with(counter, 0)),
            Self::MoveOfSource => {
                let source = consumer.operands.get(consumer.defs_end()).copied();
                (source.map(|source| Inst::new(Opcode::V_MOV_B32, [source, source])), waits.max())
            }
        };
        inst.into_iter().chain(waits.instructions(counts))
    }
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
    /// What must stand between them.
    pub remedy: Remedy,
    /// Features of the processors that have it; none where all of the remedy's generations do.
    pub erratum: Features,
}

impl Hazard {
    /// Wait states that are needed on `generation`; 0 also where something else is.
    pub fn wait_states(&self, generation: Generation) -> u8 {
        match self.remedy {
            Remedy::WaitStates(states) => states[generation as usize],
            Remedy::Mitigation(_) => 0,
        }
    }

    /// Whether the processor has it, on the generations that the remedy names.
    pub fn is_of(&self, target: &Target) -> bool {
        target.has(self.erratum)
    }

    /// What ends the hazard on `generation`, where that is no number of wait states.
    pub fn mitigation(&self, generation: Generation) -> Option<&Mitigation> {
        match &self.remedy {
            Remedy::Mitigation(mitigation) if mitigation.on.contains(&generation) => Some(mitigation),
            _ => None,
        }
    }
}

/// `s_waitcnt_depctr` until vector memory has read its sources (field `vm_vsrc`, bits 4:2).
const VM_VSRC_ZERO: &[Operand] = &[Operand::Imm(0xffe3)];
const VM_VSRC: i64 = 0x1c;
/// `s_waitcnt_depctr` until the scalar ALU has written its results (field `sa_sdst`, bit 0).
const SA_SDST_ZERO: &[Operand] = &[Operand::Imm(0xfffe)];
const SA_SDST: i64 = 1;
/// Operands of `s_mov_b32 null, 0`.
const NULL_ZERO: &[Operand] =
    &[Operand::Reg(RegOperand { reg: Reg::Physical(PReg::NULL), sub: 0, dwords: 1 }), Operand::Imm(0)];

const GFX10: &[Generation] = &[Generation::Gfx10];

/// VMEM reads its scalar operands late. ACO: VMEMtoScalarWriteHazard.
const AFTER_VMEM_READS: Mitigation = Mitigation {
    on: GFX10,
    insert: Filler::Instruction(Opcode::S_WAITCNT_DEPCTR, VM_VSRC_ZERO),
    by: &[
        Mitigator::Class(HazardClass::VALU),
        Mitigator::Waits(&[Counter::Vm, Counter::Exp, Counter::Lgkm]),
        Mitigator::Depctr(VM_VSRC),
    ],
};
/// So does SMEM. ACO: SMEMtoVectorWriteHazard.
const AFTER_SMEM_READS: Mitigation = Mitigation {
    on: GFX10,
    insert: Filler::Instruction(Opcode::S_MOV_B32, NULL_ZERO),
    by: &[Mitigator::Class(HazardClass::SALU_RESULT), Mitigator::Waits(&[Counter::Lgkm])],
};
/// A comparison may write EXEC before others have read it. ACO: VcmpxExecWARHazard.
const AFTER_EXEC_READS: Mitigation = Mitigation {
    on: GFX10,
    insert: Filler::Instruction(Opcode::S_WAITCNT_DEPCTR, SA_SDST_ZERO),
    by: &[Mitigator::Class(HazardClass::VALU_SGPR), Mitigator::Depctr(SA_SDST)],
};
/// What a comparison has written to EXEC is too late for lane permutations. ACO: VcmpxPermlaneHazard.
const BEFORE_PERMLANE: Mitigation =
    Mitigation { on: GFX10, insert: Filler::MoveOfSource, by: &[Mitigator::Class(HazardClass::VALU_KEPT)] };
/// LDS and vector memory across a branch. ACO: LdsBranchVmemWARHazard.
const BETWEEN_MEMORIES: Mitigation =
    Mitigation { on: GFX10, insert: Filler::Wait(Counter::Vs), by: &[Mitigator::Waits(&[Counter::Vs])] };

/// The largest number of wait states in [`HAZARDS`].
pub const MAX_WAIT_STATES: u8 = 5;

macro_rules! hazard {
    ($name:literal, $($producer:ident)|+ $produced:ident, $($consumer:ident)|+ $consumed:ident, $mitigation:ident, $erratum:ident) => {
        hazard!(@ $name, $($producer)|+ $produced, $($consumer)|+ $consumed, Remedy::Mitigation($mitigation), Features::$erratum)
    };
    ($name:literal, $($producer:ident)|+ $produced:ident, $($consumer:ident)|+ $consumed:ident, $states:expr, $erratum:ident) => {
        hazard!(@ $name, $($producer)|+ $produced, $($consumer)|+ $consumed, Remedy::WaitStates($states), Features::$erratum)
    };
    ($name:literal, $($producer:ident)|+ $produced:ident, $($consumer:ident)|+ $consumed:ident, $states:expr) => {
        hazard!(@ $name, $($producer)|+ $produced, $($consumer)|+ $consumed, Remedy::WaitStates($states), Features::empty())
    };
    (@ $name:literal, $($producer:ident)|+ $produced:ident, $($consumer:ident)|+ $consumed:ident, $remedy:expr, $erratum:expr) => {
        Hazard {
            name: $name,
            producer: HazardClass::empty()$(.union(HazardClass::$producer))+,
            produced: HazardRegs::$produced,
            consumer: HazardClass::empty()$(.union(HazardClass::$consumer))+,
            consumed: HazardRegs::$consumed,
            remedy: $remedy,
            erratum: $erratum,
        }
    };
}

/// All hazards. Columns: GFX6, 7, 8, 9, 10, or what ends the hazard; the feature of processors that have it.
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
    hazard!("VMEM or DS reads SGPR, scalar writes it",       VMEM | DS ScalarRead, SALU | SMEM ScalarWritten, AFTER_VMEM_READS, VMEM_READS_SCALARS_LATE),
    hazard!("SMEM reads SGPR, VALU writes it",               SMEM ScalarRead,     VALU ScalarWritten,       AFTER_SMEM_READS, SMEM_READS_SCALARS_LATE),
    hazard!("EXEC read outside of VALU, VALU writes it",     SALU | SMEM | VMEM | DS | EXPORT | CONTROL ExecRead, VALU ExecWritten, AFTER_EXEC_READS, COMPARISONS_OVERTAKE_EXEC),
    hazard!("DS, a branch, then VMEM",                       DS AcrossBranch,     VMEM Any,                 BETWEEN_MEMORIES, LDS_AND_VMEM_ACROSS_BRANCH),
    hazard!("VMEM, a branch, then DS",                       VMEM AcrossBranch,   DS Any,                   BETWEEN_MEMORIES, LDS_AND_VMEM_ACROSS_BRANCH),
    hazard!("VALU writes EXEC, v_permlane16 uses it",        VALU ExecWritten,    PERMLANE ExecRead,        BEFORE_PERMLANE, PERMLANE_MISSES_EXEC),
    hazard!("image with many addresses, then buffer",        LONG_IMAGE Any,      BUFFER_OFFSET Any,        [0, 0, 0, 0, 1], BUFFERS_AFTER_LONG_IMAGES),
    hazard!("atomic, then s_denorm_mode",                    VMEM_ATOMIC Any,     DENORM_MODE Any,          [0, 0, 0, 0, 3]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_states_are_bounded() {
        let states = |h: &Hazard| Generation::ALL.map(|generation| h.wait_states(generation));
        assert_eq!(HAZARDS.iter().flat_map(states).max(), Some(MAX_WAIT_STATES));
        for hazard in HAZARDS {
            let mitigated = Generation::ALL.iter().any(|&generation| hazard.mitigation(generation).is_some());
            assert!(states(hazard).iter().any(|&n| n > 0) || mitigated, "{}", hazard.name);
            assert!(!hazard.producer.is_empty() && !hazard.consumer.is_empty(), "{}", hazard.name);
        }
    }

    /// Errata are of GFX10.1; what remains of a generation is of all of its processors.
    #[test]
    fn errata_are_of_some_processors() {
        let of = |name: &str| {
            let target = Target::new(Target::processor_by_name(name).expect("a processor of the table"));
            let needed = |h: &&Hazard| {
                h.mitigation(target.generation()).is_some() || h.wait_states(target.generation()) > 0
            };
            HAZARDS.iter().filter(|h| h.is_of(&target)).filter(needed).count()
        };
        for name in ["gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx10-1-generic"] {
            assert_eq!(of(name), 8, "{name}");
        }
        assert_eq!([of("gfx1030"), of("gfx1036"), of("gfx10-3-generic")], [1; 3]);
        assert_eq!([of("gfx600"), of("gfx803"), of("gfx900")], [9, 12, 12]);
    }

    /// What is inserted ends the hazard, and an `s_nop` does not.
    #[test]
    fn fillers_mitigate() {
        let waits = Generation::Gfx10.waits();
        for hazard in HAZARDS {
            let Some(mitigation) = hazard.mitigation(Generation::Gfx10) else { continue };
            // Of the fillers the moves alone are of a class that counts.
            let class = |inst: &Inst| match inst.op {
                Opcode::S_MOV_B32 => HazardClass::SALU | HazardClass::SALU_RESULT,
                Opcode::V_MOV_B32 => HazardClass::VALU | HazardClass::VALU_KEPT,
                _ => HazardClass::CONTROL,
            };
            let registers = [PReg::vgpr(2), PReg::vgpr(1), PReg::sgpr(0), PReg::sgpr(0)];
            let consumer = Inst::new(Opcode::V_PERMLANE16_B32, registers.map(|reg| Operand::preg(reg, 1)));
            let mut filled = mitigation.insert.instructions(waits, &consumer);
            assert!(filled.any(|inst| mitigation.is_ended_by(&inst, class(&inst), waits)), "{}", hazard.name);
            let nop = Inst::new(Opcode::S_NOP, [Operand::Imm(0)]);
            assert!(!mitigation.is_ended_by(&nop, class(&nop), waits), "{}", hazard.name);
        }
    }
}
