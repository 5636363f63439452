//! Parameters and results of graphics shaders: values as dwords in the registers that `mir::abi::shader`
//! gives out.
//!
//! In legal IR each dword of the arguments that somebody reads is a parameter of its own, named by its
//! register; each dword of the result is an operand of `gcnc.shader.result` in the one block that returns.
//! Interpolation inputs that nobody reads are left out. Cost: linear in dwords.

use super::functions::Dwords;
use super::tail::Left;
use super::{Legalizer, Parts};
use cranelift_entity::SecondaryMap;
use mir::abi::shader::{self, PS_INPUTS, Places, PsInputs};
use mir::ir::*;
use mir::machine::{PReg, RegFile};
use mir::target::Target;
use mir::{Diagnostic, Result};
use smallvec::{SmallVec, smallvec};

/// What a function hands to the chain functions that it jumps to, in dwords: those of the mask of lanes, in SGPRs, in VGPRs. Behind the two of the address.
#[derive(Clone, Copy, Default)]
pub(super) struct ChainShape {
    /// Jumps of the function.
    jumps: usize,
    mask: usize,
    scalars: usize,
    vectors: usize,
}

impl ChainShape {
    fn dwords(self) -> usize {
        2 + self.mask + self.scalars + self.vectors
    }

    /// Registers of the arguments.
    fn registers(self, target: &Target) -> Result<Vec<PReg>> {
        let mut places = Places::of_arguments(CallConv::AmdgpuCsChain, target);
        let files = [(RegFile::Sgpr, self.scalars), (RegFile::Vgpr, self.vectors)];
        let all = files.into_iter().flat_map(|(file, count)| std::iter::repeat_n(file, count));
        let registers: Option<Vec<PReg>> = all.map(|file| places.dword(file)).collect();
        registers
            .ok_or_else(|| Diagnostic::limit("more arguments of a chain function than registers for them"))
    }
}

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

    /// The one block in which a shader with a result ends, or goes on with a chain function.
    pub(super) fn add_shader_return(&mut self) -> Result<()> {
        self.chain = self.chain_shape()?;
        let count = match self.chain {
            // The wave goes on from where the jump is.
            Some(ChainShape { jumps: 1, .. }) => return Ok(()),
            Some(shape) => shape.dwords(),
            None => self.result_registers()?.len(),
        };
        if self.old.ret == Type::Void && self.chain.is_none() {
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
        match self.chain {
            Some(shape) => {
                let (head, passed) = dwords.split_at(2 + shape.mask);
                let function = self.b.join64(head[0], head[1]);
                let lanes = if shape.mask == 2 { self.b.join64(head[2], head[3]) } else { head[2] };
                self.go_on(shape, function, lanes, passed)?;
            }
            None => self.push_shader_results(&dwords, &self.result_registers()?),
        }
        self.terminate(InstKind::Ret { value: None });
        Ok(())
    }

    /// Goes on with the chain function at `function`, with `lanes` and the dwords `passed`.
    fn go_on(&mut self, shape: ChainShape, function: Value, lanes: Value, passed: &[Value]) -> Result<()> {
        self.push_shader_results(passed, &shape.registers(self.ctx.machine)?);
        self.push_effect(Intrinsic::ChainJump, &[function, lanes]);
        Ok(())
    }

    fn push_shader_results(&mut self, dwords: &[Value], registers: &[PReg]) {
        for (&dword, register) in dwords.iter().zip(registers) {
            let register = self.b.i32(register.0.into());
            self.push_effect(Intrinsic::ShaderResult, &[dword, register]);
        }
    }

    /// What the jumps to chain functions need at most; `None` where there are none.
    fn chain_shape(&self) -> Result<Option<ChainShape>> {
        let mut shape: Option<ChainShape> = None;
        for block in self.old.blocks.values() {
            for &inst in &block.insts {
                let InstKind::Intrinsic { intrinsic: Intrinsic::CsChain, args } = &self.old.insts[inst].kind
                else {
                    continue;
                };
                let &[_, _, scalars, vectors, ..] = &args[..] else {
                    return Err(Diagnostic::malformed("too few arguments"));
                };
                let [scalars, vectors] = [scalars, vectors].map(|value| self.abi_dwords(self.old.ty(value)));
                let mask = self.ctx.machine.wave_size() as usize / 32;
                let shape = shape.get_or_insert(ChainShape { mask, ..ChainShape::default() });
                shape.jumps += 1;
                shape.scalars = shape.scalars.max(scalars?);
                shape.vectors = shape.vectors.max(vectors?);
            }
        }
        Ok(shape)
    }

    /// `llvm.amdgcn.cs.chain`: to the one block in which the wave goes on with another function.
    pub(super) fn lower_chain_jump(&mut self, args: &[Value]) -> Result<Parts> {
        let &[function, mask, scalars, vectors, flags, ..] = args else {
            return Err(Diagnostic::malformed("too few arguments"));
        };
        let machine = self.ctx.machine;
        let Some(shape) = self.chain.filter(|_| shader::uncalled(CallConv::AmdgpuCsChain, machine).is_none())
        else {
            let what =
                format!("a jump to a chain function outside of compute shaders of GFX10, on {machine}");
            return Err(Diagnostic::unsupported(what));
        };
        if self.immediate(flags, "the flags")? != 0 {
            return Err(Diagnostic::unsupported(
                "flags of a jump to a chain function, which this target lacks",
            ));
        }
        if let Some(Const::Symbol(SymbolRef::Func(callee), 0)) = self.old.as_const(function)
            && !self.ctx.module.functions[*callee].call_conv.is_chain()
        {
            return Err(Diagnostic::unsupported("a jump to a function that is no chain function"));
        }
        if self.abi_dwords(self.old.ty(mask))? != shape.mask {
            return Err(Diagnostic::malformed("lanes that are not those of a wave"));
        }
        let (function, lanes) = (self.part(function)?, self.part(mask)?);
        let mut words = Dwords::new();
        for (value, room) in [(scalars, shape.scalars), (vectors, shape.vectors)] {
            let ty = self.old.ty(value);
            let parts = self.parts(value)?;
            let passed = self.dwords_of(ty, &parts, ParamFlags::empty())?;
            let unused = room.saturating_sub(passed.len());
            words.extend(passed);
            let undefined = self.b.poison(Type::I32);
            words.extend(std::iter::repeat_n(undefined, unused));
        }
        match self.return_block {
            Some(block) => {
                let address = self.b.as_integer(function);
                let (low, high) = self.b.split64(address);
                let mut all = Dwords::from_slice(&[low, high]);
                match shape.mask {
                    2 => all.extend(<[Value; 2]>::from(self.b.split64(lanes))),
                    _ => all.push(lanes),
                }
                all.extend(words);
                self.b.jump(block, &all);
            }
            None => {
                self.go_on(shape, function, lanes, &words)?;
                self.terminate(InstKind::Ret { value: None });
            }
        }
        self.tails.left = Some(Left::Merged);
        Ok(Parts::new())
    }
}
