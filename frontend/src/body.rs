//! Function bodies: two walks.
//!
//! The first makes a block for each of LLVM's, a block parameter for each phi and an empty instruction with
//! its result for every other instruction, and sorts the phis' operands by edge. The second fills the
//! instructions in. So an operand is found wherever it is defined, and a branch knows its arguments when it
//! is reached; instructions that constant expressions among them need come out in front of that branch, in
//! the predecessor.

use crate::enums;
use crate::llvm::{BlockRef, InstRef, LLVMOpcode, LLVMValueKind, ValueRef};
use crate::reader::{Meaning, Reader};
use crate::scopes::Scopes;
use mir::ir::{
    Block, BlockCall, Func, Function, Inst, InstFlags, InstKind, SourceLoc, SymbolRef, Type, Unrolling, Value,
};
use mir::{Diagnostic, Result};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// State of reading one function.
pub(crate) struct Body<'r, 'm> {
    pub reader: &'r mut Reader<'m>,
    pub function: Function,
    /// Arguments, results and constants that are plain data.
    pub values: FxHashMap<ValueRef<'m>, Value>,
    /// Constants that are instructions, for the current user.
    pub temporaries: FxHashMap<ValueRef<'m>, Value>,
    blocks: FxHashMap<BlockRef<'m>, Block>,
    /// Operands of the phis of a block along an edge; one entry for parallel edges.
    edges: FxHashMap<(Block, Block), SmallVec<[ValueRef<'m>; 4]>>,
    /// The block being built.
    pub(crate) block: Block,
    /// What is known of scopes of memory.
    pub(crate) scopes: Scopes<'m>,
}

impl<'m> Reader<'m> {
    /// Reads the blocks of a function that was declared before.
    pub(crate) fn body(&mut self, value: ValueRef<'m>, func: Func) -> Result<()> {
        let placeholder = Function::new("", mir::ir::CallConv::Device, Type::Void);
        let function = std::mem::replace(&mut self.module.functions[func], placeholder);
        let mut body = Body {
            reader: self,
            function,
            values: FxHashMap::default(),
            temporaries: FxHashMap::default(),
            blocks: FxHashMap::default(),
            edges: FxHashMap::default(),
            block: Block::from_u32(0),
            scopes: Scopes::default(),
        };
        let result = body.read(value);
        let function = body.function;
        self.module.functions[func] = function;
        result
    }
}

impl<'m> Body<'_, 'm> {
    fn read(&mut self, value: ValueRef<'m>) -> Result<()> {
        let params = value.params();
        if params.len() != self.function.params.len() {
            // Its types were refused when it was declared, and the diagnostic is out.
            return Ok(());
        }
        for (llvm, param) in params.into_iter().zip(&self.function.params) {
            self.values.insert(llvm, param.value);
        }
        let blocks = value.blocks();
        for &block in &blocks {
            let ours = self.function.add_block();
            self.blocks.insert(block, ours);
        }
        let mut insts = Vec::with_capacity(4 * blocks.len());
        for (&llvm, index) in blocks.iter().zip(0..) {
            let (block, first) = (Block::from_u32(index), insts.len());
            insts.extend(llvm.insts().map(|inst| (block, inst)));
            self.function.blocks[block].insts.reserve(insts.len() - first);
        }
        // Some take several of ours, and constants are values, too.
        self.function.insts.reserve(insts.len() + insts.len() / 8);
        self.function.values.reserve(insts.len() + insts.len() / 2);
        self.values.reserve(insts.len() + insts.len() / 4);
        let mut plan = Vec::with_capacity(insts.len());
        for (block, inst) in insts {
            if let Err(error) = self.announce(inst, block, &mut plan) {
                return Err(self.reader.locate(error, inst));
            }
        }
        for (block, inst, ours) in plan {
            self.block = block;
            if !self.temporaries.is_empty() {
                self.temporaries.clear();
            }
            if let Err(error) = self.fill(inst, ours) {
                return Err(self.reader.locate(error, inst));
            }
        }
        self.function.alias_sets = self.scopes.apart(&self.function);
        Ok(())
    }

    /// Makes the result of one instruction.
    fn announce(
        &mut self,
        inst: InstRef<'m>,
        block: Block,
        plan: &mut Vec<(Block, InstRef<'m>, Inst)>,
    ) -> Result<()> {
        if inst.opcode() == LLVMOpcode::LLVMCall && self.is_dropped(inst) {
            self.scopes.note_declaration(inst, block);
            return Ok(());
        }
        let ty = self.reader.ty(inst.value().ty())?;
        if inst.opcode() == LLVMOpcode::LLVMLandingPad {
            // Nothing unwinds.
            let nothing = self.function.constant(ty, mir::ir::Const::Poison);
            self.values.insert(inst.value(), nothing);
            return Ok(());
        }
        if inst.opcode() == LLVMOpcode::LLVMPHI {
            let param = self.function.add_block_param(block, ty);
            let index = self.function.blocks[block].params.len() - 1;
            self.values.insert(inst.value(), param);
            for (from, value) in inst.incoming() {
                let Some(&from) = self.blocks.get(&from) else { continue };
                let args = self.edges.entry((from, block)).or_default();
                if args.len() == index {
                    args.push(value);
                }
            }
            return Ok(());
        }
        let ours = self.function.make_inst(InstKind::Unreachable, ty, InstFlags::empty());
        if let Some(result) = self.function.insts[ours].result {
            self.values.insert(inst.value(), result);
        }
        plan.push((block, inst, ours));
        Ok(())
    }

    /// Where an `invoke` goes on, as nothing unwinds.
    fn return_of(&mut self, invoke: InstRef<'m>) -> Result<BlockCall> {
        let normal = invoke.successors().next();
        self.target(normal.ok_or_else(|| Diagnostic::malformed("missing target"))?)
    }

    fn is_dropped(&self, call: InstRef<'m>) -> bool {
        let Some(callee) = call.callee() else { return false };
        match self.reader.symbols.get(&callee) {
            Some(&(SymbolRef::Func(func), 0)) => self.reader.meanings[func] == Meaning::Dropped,
            _ => false,
        }
    }

    /// Translates one instruction and places it at the end of the current block.
    fn fill(&mut self, inst: InstRef<'m>, ours: Inst) -> Result<()> {
        let first_new = self.function.insts.len();
        let ty = self.function.insts[ours].ty;
        let is_invoke = inst.opcode() == LLVMOpcode::LLVMInvoke;
        if is_invoke && self.is_dropped(inst) {
            let target = self.return_of(inst)?;
            self.function.insts[ours].kind = InstKind::Jump { target };
            self.function.blocks[self.block].insts.push(ours);
            return Ok(());
        }
        let kind = if inst.opcode() == LLVMOpcode::LLVMGetElementPtr {
            self.pointer_chain(inst.value(), ty, Some(ours))?;
            None
        } else {
            Some(self.translate(inst, ours, ty)?)
        };
        if let Some(kind) = kind {
            self.function.insts[ours].kind = kind;
            self.function.insts[ours].flags |= enums::flags(inst);
        }
        self.function.blocks[self.block].insts.push(ours);
        if is_invoke {
            let target = self.return_of(inst)?;
            self.function.append(self.block, InstKind::Jump { target }, Type::Void);
        }
        if inst.has_metadata() {
            if let Some((line, column, scope)) = inst.debug_loc() {
                let loc = SourceLoc { line, column, file: self.reader.file_of(scope) };
                self.function.locs[ours] = loc;
                for index in first_new..self.function.insts.len() {
                    self.function.locs[Inst::from_u32(index as u32)] = loc;
                }
            }
            self.instruction_metadata(inst, ours);
        }
        Ok(())
    }

    /// The value that `llvm` has already, if it has.
    pub(crate) fn known(&self, llvm: ValueRef<'m>) -> Option<Value> {
        self.values.get(&llvm).or_else(|| self.temporaries.get(&llvm)).copied()
    }

    /// The value of an operand.
    pub(crate) fn value(&mut self, llvm: ValueRef<'m>) -> Result<Value> {
        match self.values.get(&llvm) {
            Some(&known) => Ok(known),
            None => self.other_value(llvm),
        }
    }

    #[cold]
    fn other_value(&mut self, llvm: ValueRef<'m>) -> Result<Value> {
        if let Some(&known) = self.temporaries.get(&llvm) {
            return Ok(known);
        }
        if llvm.kind() == LLVMValueKind::LLVMInstructionValueKind
            && llvm
                .as_inst()
                .is_some_and(|inst| inst.opcode() == LLVMOpcode::LLVMCall && self.is_dropped(inst))
        {
            // The result of a hint that is left out.
            let ty = self.reader.ty(llvm.ty())?;
            return Ok(self.function.constant(ty, mir::ir::Const::Poison));
        }
        self.constant(llvm)
    }

    /// The value of operand `index` of `inst`.
    pub(crate) fn operand(&mut self, inst: InstRef<'m>, index: u32) -> Result<Value> {
        match inst.operand(index) {
            Some(llvm) => self.value(llvm),
            None => Err(Diagnostic::malformed("missing operand")),
        }
    }

    /// Adds an instruction to the block being built and returns its result.
    pub(crate) fn emit(&mut self, kind: InstKind, ty: Type, flags: InstFlags) -> Result<Value> {
        let inst = self.function.make_inst(kind, ty, flags);
        self.function.blocks[self.block].insts.push(inst);
        self.function.insts[inst].result.ok_or_else(|| Diagnostic::defect("operand without a value"))
    }

    /// The branch target for LLVM's `block`, with the arguments for its phis.
    pub(crate) fn target(&mut self, block: BlockRef<'m>) -> Result<BlockCall> {
        let to =
            *self.blocks.get(&block).ok_or_else(|| Diagnostic::malformed("branch to a block elsewhere"))?;
        let mut target = BlockCall::to(to);
        let params = self.function.blocks[to].params.len();
        if params == 0 {
            return Ok(target);
        }
        let args = self.edges.get(&(self.block, to)).cloned().unwrap_or_default();
        if args.len() != params {
            return Err(Diagnostic::malformed("phi without a value for this predecessor"));
        }
        for arg in args {
            target.args.push(self.value(arg)?);
        }
        Ok(target)
    }

    /// Marks the current block as ending in a branch that should not be unrolled around.
    pub(crate) fn mark_no_unroll(&mut self) {
        self.function.blocks[self.block].unrolling = Unrolling::Never;
    }
}
