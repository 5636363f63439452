//! Parameters and results of graphics shaders: values as dwords in the registers that `mir::abi::shader`
//! gives out.
//!
//! In legal IR each dword of the arguments that somebody reads is a parameter of its own, named by its
//! register; each dword of the result is an operand of `gcnc.shader.result` in the one block that returns.
//! Interpolation inputs that nobody reads are left out. Cost: linear in dwords.

use super::functions::Dwords;
use super::{Legalizer, Parts};
use cranelift_entity::SecondaryMap;
use mir::abi::shader::{self, PS_INPUTS, Places, PsInputs};
use mir::ir::*;
use mir::machine::{PReg, RegFile};
use mir::{Diagnostic, Result};
use smallvec::{SmallVec, smallvec};

impl Legalizer<'_> {
    /// Whether the function being rebuilt is a shader.
    pub(super) fn in_shader(&self) -> bool {
        shader::is_shader(self.old.call_conv)
    }

    /// The parameters of a shader, at the top of its entry.
    pub(super) fn lower_shader_params(&mut self) -> Result<()> {
        let old = self.old;
        if self.ctx.machine.os == mir::target::Os::AmdHsa {
            return Err(Diagnostic::unsupported("graphics shaders on amdhsa"));
        }
        let mut used: SecondaryMap<Value, bool> = SecondaryMap::new();
        for &block in &old.layout {
            for &inst in &old.blocks[block].insts {
                old.insts[inst].kind.for_each_value(|v| used[v] = true);
            }
        }
        let mut places = Places::of_arguments(old.call_conv, self.ctx.machine);
        let mut skipped = vec![false; old.params.len()];
        if old.call_conv == CallConv::AmdgpuPs {
            let inputs = self.interpolation_inputs(&used, &mut skipped)?;
            if inputs.1 {
                places.dword(RegFile::Vgpr);
                places.dword(RegFile::Vgpr);
            }
            self.b.func.ps_inputs = inputs.0;
        }
        for (param, skipped) in old.params.iter().zip(skipped) {
            if skipped {
                continue;
            }
            let ty = old.ty(param.value);
            if param.indirect.is_some_and(|indirect| indirect.by_value) {
                return Err(Diagnostic::unsupported("argument of a shader in memory"));
            }
            let inreg = param.flags.contains(ParamFlags::INREG);
            let file = if inreg { RegFile::Sgpr } else { RegFile::Vgpr };
            let mut words = Dwords::new();
            for _ in 0..self.abi_dwords(ty)? {
                let register = places
                    .dword(file)
                    .ok_or_else(|| Diagnostic::limit("more arguments of a shader than registers for them"))?;
                if used[param.value] {
                    words.push(self.register_param(register, inreg));
                }
            }
            if !used[param.value] {
                continue;
            }
            let parts = self.parts_of_dwords(ty, &words)?;
            if old.call_conv.is_chain() {
                self.chain_arguments.insert(param.value, words);
            }
            let parts = match self.spaces.of(param.value) {
                Some(space) if parts.len() == 1 => {
                    smallvec![self.b.cast(CastOp::AddrSpaceCast, parts[0], Type::ptr(space))]
                }
                _ => parts,
            };
            self.define(param.value, &parts);
        }
        self.b.func.arguments_end = places.sgprs_end();
        Ok(())
    }

    /// `llvm.amdgcn.set.inactive.chain.arg`: inactive lanes have what the argument had in them where the function started.
    pub(super) fn lower_chain_argument(&mut self, args: &[Value], ty: Type) -> Result<Parts> {
        let &[active, inactive, ..] = args else { return Err(Diagnostic::malformed("too few arguments")) };
        let scalar = ty.scalar().ok_or_else(|| Diagnostic::unsupported("aggregate across lanes"))?;
        let parts = self.parts(active)?;
        let active = self.split_dwords(&parts, scalar);
        let words = self.chain_arguments.get(&inactive).filter(|words| words.len() == active.len());
        let words = words.cloned().ok_or_else(|| {
            Diagnostic::unsupported("inactive lanes of what is no argument of a chain function")
        })?;
        let mut out: SmallVec<[Value; 8]> = SmallVec::new();
        for (&active, &word) in active.iter().zip(&words) {
            out.push(self.b.intrinsic(Intrinsic::SetInactiveChainArg, &[active, word], Type::I32));
        }
        let mut result = Parts::new();
        for lane in 0..ty.lanes() {
            self.join_dwords(&out, lane * scalar.bits(), scalar, &mut result);
        }
        Ok(result)
    }

    /// Marks the inputs of a pixel shader that are left out; whether two VGPRs of the first input come before
    /// the arguments.
    fn interpolation_inputs(
        &self,
        used: &SecondaryMap<Value, bool>,
        skipped: &mut [bool],
    ) -> Result<(PsInputs, bool)> {
        let old = self.old;
        let text = old.attribute("InitialPSInputAddr").unwrap_or("0").trim();
        let addr = match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => text.parse(),
        };
        let addr = addr.map_err(|_| {
            Diagnostic::malformed(format!("attribute \"InitialPSInputAddr\" is not a number: \"{text}\""))
        })?;
        let mut inputs = PsInputs { addr, ena: 0 };
        let vector =
            old.params.iter().zip(skipped).filter(|(param, _)| !param.flags.contains(ParamFlags::INREG));
        for (number, (param, skipped)) in (0..PS_INPUTS).zip(vector) {
            *skipped = !inputs.take(number, used[param.value]);
        }
        let added = inputs.complete(self.ctx.machine);
        Ok((inputs, added))
    }

    /// A parameter of the new function: one dword in `register`.
    fn register_param(&mut self, register: PReg, inreg: bool) -> Value {
        let value = self.b.func.add_param(Type::I32, "");
        if let Some(param) = self.b.func.params.last_mut() {
            param.register = Some(register);
            param.flags.set(ParamFlags::INREG, inreg);
        }
        value
    }

    /// The registers of the result's dwords.
    fn result_registers(&self) -> Result<SmallVec<[PReg; 8]>> {
        let mut places = Places::new(0);
        let mut out = SmallVec::new();
        for (leaf, _) in self.members(self.old.ret)? {
            let Some(scalar) = leaf.scalar() else { continue };
            for _ in 0..self.abi_dwords(leaf)? {
                let register = places.dword(shader::result_file(scalar));
                out.push(register.ok_or_else(|| {
                    Diagnostic::limit("a shader's result has more dwords than there are registers for it")
                })?);
            }
        }
        Ok(out)
    }

    /// The one block in which a shader with a result ends.
    pub(super) fn add_shader_return(&mut self) -> Result<()> {
        let count = self.result_registers()?.len();
        if self.old.ret == Type::Void {
            return Ok(());
        }
        let block = self.b.new_block();
        for _ in 0..count {
            self.b.func.add_block_param(block, Type::I32);
        }
        self.return_block = Some(block);
        Ok(())
    }

    /// A return: the result's dwords go to the block that ends the shader.
    pub(super) fn lower_shader_return(&mut self, value: Option<Value>) -> Result<Parts> {
        let (Some(block), Some(value)) = (self.return_block, value) else {
            return Ok(self.terminate(InstKind::Ret { value: None }));
        };
        let ty = self.old.ty(value);
        let parts = self.parts(value)?;
        let dwords = self.dwords_of(ty, &parts, ParamFlags::empty())?;
        self.b.jump(block, &dwords);
        Ok(Parts::new())
    }

    /// Fills the block that ends the shader.
    pub(super) fn fill_shader_return(&mut self) -> Result<()> {
        let Some(block) = self.return_block else { return Ok(()) };
        self.b.block = block;
        self.b.scope = None;
        let dwords = Dwords::from_slice(&self.b.func.blocks[block].params);
        for (dword, register) in dwords.into_iter().zip(self.result_registers()?) {
            let register = self.b.i32(register.0.into());
            let kind = InstKind::Intrinsic {
                intrinsic: Intrinsic::ShaderResult,
                args: SmallVec::from_slice(&[dword, register]),
            };
            self.b.push(kind, Type::Void, InstFlags::empty());
        }
        self.terminate(InstKind::Ret { value: None });
        Ok(())
    }
}
