//! Where functions start that nobody calls, and the end of graphics shaders.

use super::Selector;
use mir::abi::call::SCRATCH_RESOURCE;
use mir::abi::shader::{self, ScratchSource};
use mir::diag::{Diagnostic, Result};
use mir::ir::{self, InstKind, Intrinsic, Value};
use mir::isa::Format;
use mir::isa::Opcode::{CALL, CHAIN_JUMP, COPY, INLINE_ASM};
use mir::machine::{EntryLayout, EntryValue, Inst, Operand, PReg, Reg};
use mir::target::{Os, ScratchAccess};

impl<'a> Selector<'a> {
    /// What is special about the entry.
    pub(super) fn set_entry_layout(&mut self) {
        let convention = self.mf.call_conv;
        let source = shader::scratch_source(convention, self.target);
        self.mf.entry.layout = EntryLayout {
            arguments_end: self.f.arguments_end,
            wave_offset: shader::fixed_wave_offset(convention, self.target),
            builds_scratch: source != ScratchSource::Given,
            resource: (source == ScratchSource::Chain).then_some(shader::CHAIN_RESOURCE),
        };
        if matches!(source, ScratchSource::BufferPointer { .. }) {
            self.mf.entry.request(EntryValue::ImplicitBufferPtr, None);
        }
    }

    /// Has the prolog build the scratch resource, or copy the one that it is given, where no inline assembly changes it, if that
    /// is nowhere near the other entry values.
    pub(super) fn move_scratch_resource(&mut self) {
        let f = &self.mf;
        if f.asm_sites.is_empty() || f.call_conv.is_callable() || f.scratch != ScratchAccess::Buffer {
            return;
        }
        let mut named = [false; 128];
        let insts = f.layout.iter().flat_map(|&block| &f.blocks[block].insts);
        for inst in insts.filter(|inst| inst.op == INLINE_ASM) {
            for (_, operand) in inst.regs() {
                let Reg::Physical(first) = operand.reg else { continue };
                for n in (0..u16::from(operand.dwords)).filter_map(|d| first.plus(d).sgpr_index()) {
                    named[usize::from(n)] = true;
                }
            }
        }
        // They may be asked for later.
        let mut entry = f.entry.clone();
        entry.request(EntryValue::PrivateSegmentBuffer, None);
        entry.request(EntryValue::ScratchWaveOffset, None);
        if !entry.layout.builds_scratch {
            entry.request(EntryValue::FlatScratchInit, None);
        }
        let Some(first) = entry.scratch_resource().sgpr_index() else { return };
        let first = usize::from(first);
        let free = |&at: &usize| !named[at..at + 4].contains(&true);
        if free(&first) {
            return;
        }
        let values = entry.registers();
        let ends = values.iter().filter_map(|(value, at, _)| Some(at.sgpr_index()? + value.dwords() as u16));
        let behind = if f.entry.layout.builds_scratch { first } else { usize::from(ends.max().unwrap_or(0)) };
        let limit = self.target.processor.numbered_sgprs().min(128) as usize;
        let mut places = (behind.next_multiple_of(4)..limit.saturating_sub(3)).step_by(4);
        if let Some(at) = places.find(free) {
            let place = PReg::sgpr(at as u16);
            if !self.mf.entry.layout.builds_scratch {
                self.leave_given_resource(place);
            }
            self.mf.entry.layout.resource = Some(place);
        }
    }

    /// Takes the scratch resource from `place` instead of where the kernel is given it. Functions that are called find it where they
    /// always do.
    fn leave_given_resource(&mut self, place: PReg) {
        let moved = Operand::preg(place, 4);
        let given = Operand::preg(SCRATCH_RESOURCE, 4);
        for &block in &self.mf.layout {
            let data = &mut self.mf.blocks[block];
            // Copies to and from these registers are the assembly's operands.
            for inst in data.insts.iter_mut().filter(|inst| inst.op.info().format == Format::Mubuf) {
                inst.operands
                    .iter_mut()
                    .filter(|operand| **operand == given)
                    .for_each(|operand| *operand = moved);
            }
            let calls = data.insts.iter().filter(|inst| inst.op == CALL).count();
            if calls > 0 {
                let old = std::mem::take(&mut data.insts);
                data.insts = Vec::with_capacity(old.len() + calls);
                for inst in old {
                    if inst.op == CALL {
                        data.insts.push(Inst::new(COPY, [given, moved]));
                    }
                    data.insts.push(inst);
                }
                // Calls are never in a tail.
                data.tail_start += calls as u32;
            }
        }
    }

    /// Whether a dispatch packet started the function.
    pub(super) fn is_dispatched(&self) -> bool {
        match self.target.os {
            Os::AmdHsa => true,
            Os::Mesa3d => !shader::is_shader(self.mf.call_conv),
            _ => false,
        }
    }

    /// Refuses values that the system does not put into registers.
    pub(super) fn check_entry(&self) -> Result<()> {
        let entry = &self.mf.entry;
        let queue = [EntryValue::DispatchPtr, EntryValue::QueuePtr];
        let dispatched = self.is_dispatched();
        if let Some(value) = queue.into_iter().find(|&value| !dispatched && entry.contains(value)) {
            return Err(Diagnostic::unsupported(format!("{value:?} on a system without dispatch packets")));
        }
        if !shader::is_shader(self.mf.call_conv) {
            return Ok(());
        }
        let of_kernels = [
            EntryValue::KernargSegmentPtr,
            EntryValue::DispatchId,
            EntryValue::WorkgroupIdX,
            EntryValue::WorkgroupIdY,
            EntryValue::WorkgroupIdZ,
            EntryValue::WorkitemIdX,
            EntryValue::WorkitemIdY,
            EntryValue::WorkitemIdZ,
        ];
        match of_kernels.into_iter().find(|&value| entry.contains(value)) {
            Some(value) => Err(Diagnostic::unsupported(format!("{value:?} in a graphics shader"))),
            None => Ok(()),
        }
    }

    /// Asks for what the prolog needs to set FLAT_SCRATCH up.
    pub(super) fn request_flat_scratch(&mut self) -> Result<()> {
        if !self.mf.uses_flat_scratch {
            return Ok(());
        }
        if !shader::has_flat_scratch(self.mf.call_conv, self.target) {
            return Err(Diagnostic::unsupported(
                "generic pointer to scratch on a system that does not say where flat instructions find it",
            ));
        }
        self.mf.entry.request(EntryValue::FlatScratchInit, None);
        Ok(())
    }

    /// Whether the block being filled ends with a jump to a chain function.
    pub(super) fn ends_in_chain_jump(&self) -> bool {
        let f = self.f;
        let is_jump = |inst: ir::Inst| {
            matches!(f.insts[inst].kind, InstKind::Intrinsic { intrinsic: Intrinsic::ChainJump, .. })
        };
        matches!(f.blocks[self.block].insts[..], [.., jump, _] if is_jump(jump))
    }

    /// The jump to a chain function; its arguments are in the registers of the shader's results. It finds a finished scratch resource.
    pub(super) fn chain_jump(&mut self, args: &[Value]) -> Result<()> {
        if self.mf.scratch == ScratchAccess::Buffer {
            let resource = self.entry_value(EntryValue::PrivateSegmentBuffer);
            self.mf.entry.request(EntryValue::ScratchWaveOffset, None);
            self.emit(COPY, [Operand::preg(shader::CHAIN_RESOURCE, 4), resource]);
            self.mf.shader_results.extend((0..4).map(|n| shader::CHAIN_RESOURCE.plus(n)));
        }
        let function = self.sgpr(args[0]);
        let function = self.in_sgpr(function, 2);
        let lanes = match self.const_int(args[1]) {
            Some(value @ -16..=64) => Operand::Imm(value),
            _ => self.sgpr(args[1]),
        };
        self.emit(CHAIN_JUMP, [function, lanes]);
        Ok(())
    }

    /// One dword of a shader's result into its register.
    pub(super) fn shader_result(&mut self, dword: Value, register: i64) -> Result<()> {
        let register = u16::try_from(register).ok().map(PReg);
        let known = |reg: &PReg| reg.is_vgpr() || reg.sgpr_index().is_some();
        let Some(register) = register.filter(known).filter(|_| shader::is_shader(self.mf.call_conv)) else {
            return Err(Diagnostic::malformed("result of a shader outside of one"));
        };
        if self.is_undef(dword) {
            return Ok(());
        }
        let source = if register.is_vgpr() {
            let source = self.src(dword);
            self.in_vgpr(source, 1)
        } else {
            self.sgpr(dword)
        };
        self.emit(COPY, [Operand::preg(register, 1), source]);
        self.mf.shader_results.push(register);
        Ok(())
    }
}
