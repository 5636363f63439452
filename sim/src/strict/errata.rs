//! Errata of GFX10.1, and the rules of hard clauses, which are those of all GFX10.
//!
//! Unlike the hazards of [`super::hazards`] they are about kinds of instructions, not about registers: what an instruction is becomes [`Traits`]
//! when it is decoded, and a wave follows a few bits ([`Errata`]).
//!
//! Sources: LLVM's subtarget features of GFX10.1 (`FeatureVcmpxPermlaneHazard`, `FeatureLdsBranchVmemWARHazard`, `FeatureOffset3fBug`,
//! `FeatureInstFwdPrefetchBug`, `FeatureNSAtoVMEMBug`, `FeatureNSAClauseBug`) and what its hazard recogniser does about them; README-ISA of Mesa's
//! ACO, "RDNA / GFX10 hazards". Clauses: RDNA ISA, `S_CLAUSE`; LLVM's `SIInsertHardClauses`.

use crate::program::{Class, Op};
use mir::isa::{OpFlags, Opcode};
use mir::target::{Counter, Features, Target};

bitflags::bitflags! {
    /// What an instruction is, as far as these rules care.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Traits: u32 {
        /// LDS or GDS.
        const DS = 1 << 0;
        /// Vector memory that is not FLAT by generic addresses.
        const VMEM = 1 << 1;
        /// FLAT by generic addresses.
        const FLAT = 1 << 2;
        /// Scalar memory.
        const SMEM = 1 << 3;
        /// A branch.
        const BRANCH = 1 << 4;
        /// `s_waitcnt_vscnt null, 0`.
        const NO_STORES = 1 << 5;
        /// Vector ALU that writes EXEC.
        const WRITES_EXEC = 1 << 6;
        /// `v_permlane16`, `v_permlanex16`.
        const PERMLANE = 1 << 7;
        /// Vector ALU that does something.
        const VALU = 1 << 8;
        /// An image instruction with address registers in further dwords.
        const NSA = 1 << 9;
        /// The same of 16 bytes or more.
        const LONG_NSA = 1 << 10;
        /// A buffer instruction with bit 1 or 2 in its offset.
        const BUFFER_OFFSET = 1 << 11;
        /// A branch over 0x3f dwords.
        const OFFSET_3F = 1 << 12;
        /// `s_inst_prefetch`.
        const PREFETCH = 1 << 13;
        /// `s_clause`.
        const CLAUSE = 1 << 14;
        /// May stand in a clause of any kind.
        const NEUTRAL = 1 << 15;
    }
}

impl Traits {
    /// What may stand in a hard clause, each kind apart.
    const CLAUSES: Self = Self::VMEM.union(Self::FLAT).union(Self::SMEM);

    /// Those of an instruction; none where no rule is about the processor.
    pub fn of(op: &Op, target: &Target) -> Self {
        let mut out = Self::empty();
        if !target.has(Features::WORKGROUP_PROCESSORS) {
            return out;
        }
        let code = op.inst.op;
        match op.class {
            Class::Lds => out |= Self::DS,
            Class::Flat if op.is_generic() => out |= Self::FLAT,
            Class::Buffer | Class::Image | Class::Flat => out |= Self::VMEM,
            Class::Smem => out |= Self::SMEM,
            Class::Valu | Class::Compare(_) | Class::CompareClass | Class::Lane => {
                out.set(Self::VALU, code != Opcode::V_NOP);
            }
            Class::Salu | Class::Special | Class::Unsupported => {}
        }
        out.set(Self::WRITES_EXEC, out.contains(Self::VALU) && op.info.flags.contains(OpFlags::EXEC_DEF));
        out.set(Self::PERMLANE, matches!(code, Opcode::V_PERMLANE16_B32 | Opcode::V_PERMLANEX16_B32));
        out.set(Self::BRANCH, is_branch(code));
        out.set(Self::OFFSET_3F, is_branch(code) && op.imm == 0x3f);
        out.set(Self::PREFETCH, code == Opcode::S_INST_PREFETCH);
        out.set(Self::CLAUSE, code == Opcode::S_CLAUSE);
        out.set(Self::NEUTRAL, code == Opcode::S_NOP);
        out.set(Self::NSA, op.inst.mods.address_parts > 0);
        out.set(Self::LONG_NSA, op.inst.mods.address_parts > 0 && op.size >= 16);
        out.set(Self::BUFFER_OFFSET, op.class == Class::Buffer && op.inst.mods.offset & 6 != 0);
        let waits = || target.waits().waited_for(&op.inst).is_some_and(|counts| counts[Counter::Vs] == 0);
        out.set(Self::NO_STORES, code == Opcode::S_WAITCNT_VSCNT && waits());
        out
    }
}

fn is_branch(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        S_BRANCH
            | S_CBRANCH_SCC0
            | S_CBRANCH_SCC1
            | S_CBRANCH_VCCZ
            | S_CBRANCH_VCCNZ
            | S_CBRANCH_EXECZ
            | S_CBRANCH_EXECNZ
    )
}

/// What a wave has done that the rules are about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Errata {
    /// The last access, [`Traits::DS`] or [`Traits::VMEM`], of which nothing has proven that stores are done.
    last: Traits,
    /// The last one before a branch.
    before: Traits,
    /// The vector ALU has written EXEC, and done nothing since.
    wrote_exec: bool,
    /// The instruction before was a long one with address registers in further dwords.
    after_nsa: bool,
    /// Instructions left of a hard clause.
    left: u32,
    /// Its kind; none before the first.
    clause: Traits,
}

impl Errata {
    /// Issues an instruction; `Err`: the rule that it breaks. `first`: the processor is of GFX10.1. `imm`: its immediate.
    #[inline]
    pub fn issue(&mut self, op: Traits, imm: i64, first: bool) -> Result<(), &'static str> {
        if op.is_empty() && self.left == 0 {
            self.after_nsa = false;
            return Ok(());
        }
        let clause = self.clause(op, imm, first);
        if first { self.erratum(op).and(clause) } else { clause }
    }

    fn clause(&mut self, op: Traits, imm: i64, first: bool) -> Result<(), &'static str> {
        if op.contains(Traits::CLAUSE) {
            (self.left, self.clause) = ((imm as u32 & 63) + 1, Traits::empty());
            return Ok(());
        }
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        let kind = op & Traits::CLAUSES;
        if first && op.contains(Traits::NSA) {
            return Err("an image instruction with address registers in further dwords in a hard clause");
        }
        if kind.is_empty() {
            return match op.contains(Traits::NEUTRAL) {
                true => Ok(()),
                false => Err("an instruction in a hard clause that must not be there"),
            };
        }
        if !self.clause.is_empty() && self.clause != kind {
            return Err("instructions of two kinds in a hard clause");
        }
        self.clause = kind;
        Ok(())
    }

    fn erratum(&mut self, op: Traits) -> Result<(), &'static str> {
        let mut result = Ok(());
        if op.contains(Traits::OFFSET_3F) {
            result = Err("a branch over 0x3f dwords");
        }
        if op.contains(Traits::PREFETCH) {
            result = Err("s_inst_prefetch, which may hang");
        }
        if op.contains(Traits::PERMLANE) && self.wrote_exec {
            result = Err("VALU writes EXEC, then v_permlane without another VALU operation between");
        }
        if op.contains(Traits::VALU) {
            self.wrote_exec = op.contains(Traits::WRITES_EXEC);
        }
        if op.contains(Traits::BUFFER_OFFSET) && self.after_nsa {
            result = Err(
                "an image instruction of 16 bytes, then a buffer instruction with bit 1 or 2 in its offset",
            );
        }
        self.after_nsa = op.contains(Traits::LONG_NSA);
        if op.contains(Traits::NO_STORES) {
            (self.last, self.before) = (Traits::empty(), Traits::empty());
        }
        if op.contains(Traits::BRANCH) && !self.last.is_empty() {
            self.before = self.last;
        }
        let access = op & (Traits::DS | Traits::VMEM);
        if !access.is_empty() {
            if !self.before.is_empty() && self.before != access {
                result =
                    Err("LDS and vector memory on two sides of a branch without s_waitcnt_vscnt null, 0");
            }
            (self.last, self.before) = (access, Traits::empty());
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: bool, ops: &[Traits]) -> bool {
        let mut state = Errata::default();
        ops.iter().all(|&op| state.issue(op, 1, first).is_ok())
    }

    #[test]
    fn errata_are_of_the_first_processors() {
        use Traits as T;
        let branch = [T::DS, T::BRANCH, T::VMEM];
        assert!(!run(true, &branch) && run(false, &branch));
        assert!(!run(true, &[T::VMEM, T::BRANCH, T::VMEM, T::BRANCH, T::DS]));
        assert!(run(true, &[T::DS, T::VMEM, T::BRANCH, T::VMEM]));
        // The access behind the branch stands for what was before.
        assert!(run(true, &[T::DS, T::BRANCH, T::DS, T::VMEM]));
        assert!(run(true, &[T::DS, T::BRANCH, T::NO_STORES, T::VMEM]));
        assert!(run(true, &[T::DS, T::NO_STORES, T::BRANCH, T::VMEM]));
        let cmpx = T::VALU | T::WRITES_EXEC;
        assert!(!run(true, &[cmpx, T::empty(), T::VALU | T::PERMLANE]));
        assert!(run(true, &[cmpx, T::VALU, T::VALU | T::PERMLANE]));
        let nsa = T::VMEM | T::NSA | T::LONG_NSA;
        assert!(!run(true, &[nsa, T::VMEM | T::BUFFER_OFFSET]));
        assert!(run(true, &[nsa, T::empty(), T::VMEM | T::BUFFER_OFFSET]));
        for one in [T::OFFSET_3F, T::PREFETCH] {
            assert!(!run(true, &[one]) && run(false, &[one]));
        }
    }

    /// The clauses here are of two instructions.
    #[test]
    fn clauses_are_of_one_kind() {
        use Traits as T;
        for first in [false, true] {
            assert!(run(first, &[T::CLAUSE, T::SMEM, T::SMEM, T::VALU]));
            assert!(!run(first, &[T::CLAUSE, T::SMEM, T::VALU]));
            assert!(!run(first, &[T::CLAUSE, T::SMEM, T::VMEM]));
            assert!(!run(first, &[T::CLAUSE, T::VMEM, T::FLAT]));
            assert!(run(first, &[T::CLAUSE, T::VMEM, T::NEUTRAL]));
            assert_eq!(run(first, &[T::CLAUSE, T::VMEM | T::NSA, T::VMEM]), !first);
        }
    }
}
