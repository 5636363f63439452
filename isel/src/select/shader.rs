//! Where functions start that nobody calls, and the end of graphics shaders.

use super::Selector;
use mir::abi::shader::{self, ScratchSource};
use mir::diag::{Diagnostic, Result};
use mir::ir::Value;
use mir::isa::Opcode::COPY;
use mir::machine::{EntryLayout, EntryValue, Operand, PReg};
use mir::target::Os;

impl<'a> Selector<'a> {
    /// What is special about the entry.
    pub(super) fn set_entry_layout(&mut self) {
        let convention = self.mf.call_conv;
        let source = shader::scratch_source(convention, self.target);
        self.mf.entry.layout = EntryLayout {
            arguments_end: self.f.arguments_end,
            wave_offset: shader::fixed_wave_offset(convention, self.target),
            builds_scratch: source != ScratchSource::Given,
        };
        if matches!(source, ScratchSource::BufferPointer { .. }) {
            self.mf.entry.request(EntryValue::ImplicitBufferPtr, None);
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
