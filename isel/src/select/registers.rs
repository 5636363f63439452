//! Registers and constants by name, trap temporaries, traps.

use super::Selector;
use super::intrinsic::entry_value;
use mir::diag::{Diagnostic, Result};
use mir::ir::{InstData, Intrinsic, Value};
use mir::isa::Opcode::*;
use mir::machine::{EntryValue, ModFlags, Operand, PReg, writes_exec};
use mir::target::{FLAT_SCRATCH_HALVES, FlatScratch, Os};
use smallvec::SmallVec;

/// What the name of a register means.
enum Named {
    /// An operand, and its dwords.
    Scalar(Operand, u32),
    /// Hardware registers, the lowest first, as operands of `s_getreg_b32`.
    Hardware(&'static [i64]),
}

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

    /// `read_register`.
    pub(super) fn read_register(&mut self, data: &InstData, number: Value) -> Result<()> {
        let register = self.named_register(number)?;
        let (_, dst) = self.result(data)?;
        match register {
            Named::Scalar(register, 2) => self.sop(S_MOV_B64, &[dst, register]),
            Named::Scalar(register, _) => self.sop(S_MOV_B32, &[dst, register]),
            Named::Hardware(&[half]) => {
                self.emit(S_GETREG_B32, [dst, Operand::Imm(half)]);
            }
            Named::Hardware(halves) => {
                let parts: SmallVec<[Operand; 2]> = halves
                    .iter()
                    .map(|&half| {
                        let part = self.new_sgpr(1);
                        self.emit(S_GETREG_B32, [part, Operand::Imm(half)]);
                        part
                    })
                    .collect();
                self.sequence(dst, &parts);
            }
        }
        Ok(())
    }

    /// `write_register`.
    pub(super) fn write_register(&mut self, value: Value, number: Value) -> Result<()> {
        let register = self.named_register(number)?;
        let x = self.sgpr(value);
        match register {
            Named::Scalar(register, dwords) => {
                let inst = self.emit(if dwords == 2 { S_MOV_B64 } else { S_MOV_B32 }, [register, x]);
                inst.mods.flags.set(ModFlags::SETS_EXEC, writes_exec(inst));
            }
            Named::Hardware(halves) => {
                for (&half, at) in halves.iter().zip(0..) {
                    let part = self.sub(&x, at, 1);
                    self.emit(S_SETREG_B32, [Operand::Imm(half), part]);
                }
            }
        }
        Ok(())
    }

    /// A register that `read_register` and `write_register` name.
    fn named_register(&mut self, number: Value) -> Result<Named> {
        let index = self.immediate(number)?;
        let &(name, dwords) = usize::try_from(index)
            .ok()
            .and_then(|i| mir::ir::NAMED_REGISTERS.get(i))
            .ok_or_else(|| Diagnostic::malformed("unknown register"))?;
        let first = match name {
            "m0" => PReg::M0,
            "exec" | "exec_lo" => PReg::EXEC_LO,
            "exec_hi" => PReg::EXEC_HI,
            _ if self.target.limits().flat_scratch == FlatScratch::HardwareAddress => {
                self.set_flat_scratch_up();
                return Ok(Named::Hardware(match name {
                    "flat_scratch_lo" => &FLAT_SCRATCH_HALVES[..1],
                    "flat_scratch_hi" => &FLAT_SCRATCH_HALVES[1..],
                    _ => &FLAT_SCRATCH_HALVES,
                }));
            }
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
        Ok(Named::Scalar(Operand::preg(first, dwords as u8), dwords))
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
