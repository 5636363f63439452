//! Registers and constants by name, trap temporaries, traps.

use super::Selector;
use super::intrinsic::entry_value;
use mir::diag::{Diagnostic, Result};
use mir::ir::{InstData, Intrinsic, Value};
use mir::isa::Opcode::*;
use mir::machine::{EntryValue, Operand, PReg};
use mir::target::Os;

impl<'a> Selector<'a> {
    /// Whether an id comes in trap temporaries.
    pub(super) fn in_trap_temporary(&self, intrinsic: Intrinsic) -> bool {
        use Intrinsic::*;
        self.target.has(mir::target::Features::ARCHITECTED_SGPRS)
            && matches!(intrinsic, WorkgroupIdX | WorkgroupIdY | WorkgroupIdZ | WaveId)
    }

    /// An id out of the trap temporaries: ttmp9 is x of the work-group, ttmp7 holds y and z, ttmp8 the wave's number from bit 25 on.
    ///
    /// Source: AMDGPU usage guide, "Initial Kernel Execution State", architected SGPRs.
    pub(super) fn trap_temporary(&mut self, data: &InstData, intrinsic: Intrinsic) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let ttmp = |n| Operand::preg(PReg::ttmp(n), 1);
        match intrinsic {
            Intrinsic::WorkgroupIdX => self.sop(S_MOV_B32, &[dst, ttmp(9)]),
            Intrinsic::WorkgroupIdY => self.sop(S_AND_B32, &[dst, ttmp(7), Operand::Imm(0xffff)]),
            Intrinsic::WorkgroupIdZ => self.sop(S_LSHR_B32, &[dst, ttmp(7), Operand::Imm(16)]),
            _ => self.sop(S_BFE_U32, &[dst, ttmp(8), Operand::Imm(25 | 5 << 16)]),
        }
        Ok(())
    }

    /// `amdgcn.reloc.constant`: the linker puts the number in.
    pub(super) fn relocated_constant(&mut self, data: &InstData, symbol: Value) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let Some(&mir::ir::Const::Symbol(symbol, _)) = self.f.as_const(symbol) else {
            return Err(Diagnostic::defect("constant of no symbol"));
        };
        let symbols = &mut self.mf.symbols;
        let id = *self.symbols.entry(symbol).or_insert_with(|| symbols.push(symbol));
        let kind = mir::machine::RelocKind::Abs32Lo;
        self.emit(S_MOV_B32, [dst, Operand::Symbol { symbol: id, addend: 0, kind }]);
        Ok(())
    }

    /// Whether `s_trap` reaches the handler of HSA.
    pub(super) fn traps_are_handled(&self) -> bool {
        self.target.os == Os::AmdHsa && self.target.has(mir::target::Features::TRAP_HANDLER)
    }

    /// HSA: the trap handler finds the queue by its doorbell, or else in s\[0:1\]. Elsewhere the wave just ends.
    pub(super) fn trap(&mut self) -> Result<()> {
        if !self.traps_are_handled() {
            self.emit(S_ENDPGM, [Operand::Imm(0)]);
            return Ok(());
        }
        if !self.target.has(mir::target::Features::TRAP_FINDS_QUEUE) || self.target.code_object_version < 4 {
            let queue = self.queue_of_trap();
            self.emit(S_MOV_B64, [Operand::preg(PReg::sgpr(0), 2), queue]);
        }
        self.emit(S_TRAP, [Operand::Imm(2)]);
        Ok(())
    }

    /// A register that `read_register` and `write_register` name, and its dwords.
    pub(super) fn named_register(&mut self, number: Value) -> Result<(Operand, u32)> {
        let index = self.immediate(number)?;
        let &(name, dwords) = usize::try_from(index)
            .ok()
            .and_then(|i| mir::ir::NAMED_REGISTERS.get(i))
            .ok_or_else(|| Diagnostic::malformed("unknown register"))?;
        let first = match name {
            "m0" => PReg::M0,
            "exec" | "exec_lo" => PReg::EXEC_LO,
            "exec_hi" => PReg::EXEC_HI,
            _ if !self.target.flat_scratch_is_sgprs() => {
                return Err(Diagnostic::unsupported(format!(
                    "invalid register \"{name}\" for {}",
                    self.target
                )));
            }
            "flat_scratch_hi" => PReg::FLAT_SCRATCH_HI,
            _ => PReg::FLAT_SCRATCH_LO,
        };
        if matches!(first, PReg::FLAT_SCRATCH_LO | PReg::FLAT_SCRATCH_HI) {
            self.set_flat_scratch_up();
        }
        Ok((Operand::preg(first, dwords as u8), dwords))
    }

    /// The entry value that the result of an intrinsic is, so that no copy is needed.
    pub(super) fn entry_of(&self, value: Value) -> Option<EntryValue> {
        let called = self.mf.call_conv.is_callable();
        if let mir::ir::ValueDef::FuncParam(index) = self.f.values[value].def {
            return self.f.params.get(index as usize)?.register.map(EntryValue::Argument);
        }
        let inst = self.f.def_inst(value)?;
        match self.f.insts[inst].kind {
            mir::ir::InstKind::Intrinsic { intrinsic: Intrinsic::ImplicitargPtr, .. } if called => {
                Some(EntryValue::ImplicitargPtr)
            }
            // Of the packed ids each is computed.
            mir::ir::InstKind::Intrinsic {
                intrinsic: Intrinsic::WorkitemIdX | Intrinsic::WorkitemIdY | Intrinsic::WorkitemIdZ,
                ..
            } if called => None,
            mir::ir::InstKind::Intrinsic { intrinsic, .. } if self.in_trap_temporary(intrinsic) => None,
            mir::ir::InstKind::Intrinsic { intrinsic, .. } => entry_value(intrinsic),
            _ => None,
        }
    }
}
