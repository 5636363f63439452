//! Inlining of every call, and dropping of what no kernel reaches.
//!
//! The machine has no cheap calls and the runtime no stack to speak of, so legal IR has no calls. Functions are
//! visited callees first, each call is replaced by a copy of the callee, which is free of calls by then. What is
//! left without callers and is not an entry point loses its body: nothing is compiled that nothing uses.
//!
//! A recursion, a call through a pointer and a function without a body are refused by name. Code that grows
//! beyond [`MAX_INSTS`] instructions is refused too, since nested calls can grow it exponentially.
//!
//! Cost: linear in the code that results.

use cranelift_entity::SecondaryMap;
use mir::ir::*;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// Most instructions of one function after inlining.
const MAX_INSTS: usize = 8_000_000;

/// Whether something outside of the module starts the function.
pub fn is_entry_point(func: &Function) -> bool {
    !func.is_declaration() && !matches!(func.call_conv, CallConv::Other(_)) && !func.call_conv.is_callable()
}

/// Whether other modules may call the function, so that it must be in the object.
fn is_visible(func: &Function) -> bool {
    let emitted = matches!(
        func.linkage,
        Linkage::External | Linkage::LinkOnceAny | Linkage::LinkOnceOdr | Linkage::WeakAny | Linkage::WeakOdr
    );
    !func.is_declaration() && func.call_conv.is_callable() && emitted
}

/// Inlines all calls under the entry points of `module` and drops the bodies of all other functions.
pub fn inline_all(module: &mut Module) -> Result<()> {
    let order = callees_first(module)?;
    let mut reached: SecondaryMap<Func, bool> = SecondaryMap::new();
    for &func in &order {
        reached[func] = true;
        inline_calls(module, func)?;
    }
    let functions: Vec<Func> = module.functions.keys().collect();
    for func in functions {
        let function = &mut module.functions[func];
        let kept = reached[func] && (is_entry_point(function) || is_visible(function));
        if !function.is_declaration() && !kept {
            let mut empty = Function::new(function.name.clone(), function.call_conv, function.ret);
            empty.linkage = function.linkage;
            empty.visibility = function.visibility;
            *function = empty;
        }
    }
    Ok(())
}

/// Functions that entry points reach, callees before callers.
fn callees_first(module: &Module) -> Result<Vec<Func>> {
    #[derive(Clone, Copy, Default, PartialEq)]
    enum State {
        #[default]
        New,
        Open,
        Done,
    }
    let mut state: SecondaryMap<Func, State> = SecondaryMap::new();
    let mut order = Vec::new();
    for (root, function) in &module.functions {
        if !(is_entry_point(function) || is_visible(function)) || state[root] == State::Done {
            continue;
        }
        let mut stack = vec![(root, callees(module, root))];
        state[root] = State::Open;
        while let Some((func, todo)) = stack.last_mut() {
            match todo.pop() {
                None => {
                    state[*func] = State::Done;
                    order.push(*func);
                    stack.pop();
                }
                Some((callee, inst)) => match state[callee] {
                    State::Done => {}
                    State::Open => {
                        let name = &module.functions[callee].name;
                        let caller = &module.functions[*func];
                        return Err(Diagnostic::unsupported(format!("recursive call of {name}"))
                            .at(super::legalize::describe(caller, &module.types, inst))
                            .in_function(&caller.name));
                    }
                    State::New => {
                        state[callee] = State::Open;
                        stack.push((callee, callees(module, callee)));
                    }
                },
            }
        }
    }
    Ok(order)
}

/// Functions with a body that `func` calls.
fn callees(module: &Module, func: Func) -> Vec<(Func, Inst)> {
    let function = &module.functions[func];
    let mut out = Vec::new();
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            if let InstKind::Call { callee: Callee::Func(callee), .. } = function.insts[inst].kind
                && !module.functions[callee].is_declaration()
            {
                out.push((callee, inst));
            }
        }
    }
    out
}

/// Replaces the calls in one function, whose callees have none left.
fn inline_calls(module: &mut Module, func: Func) -> Result<()> {
    let placeholder = Function::new(String::new(), CallConv::Device, Type::Void);
    let mut caller = std::mem::replace(&mut module.functions[func], placeholder);
    let result =
        Inliner { module, caller: &mut caller, replaced: SecondaryMap::new(), hoisted: Vec::new() }.run();
    let name = caller.name.clone();
    module.functions[func] = caller;
    result.map_err(|d| d.in_function(&name))
}

struct Inliner<'a> {
    module: &'a Module,
    caller: &'a mut Function,
    /// Results of calls, and what stands for them.
    replaced: SecondaryMap<Value, Option<Value>>,
    /// Stack objects to be placed at the start of the entry, the last one first.
    hoisted: Vec<Inst>,
}

impl Inliner<'_> {
    fn run(mut self) -> Result<()> {
        let mut layout = Vec::with_capacity(self.caller.layout.len());
        let mut any = false;
        for block in self.caller.layout.clone() {
            layout.push(block);
            let insts = &self.caller.blocks[block].insts;
            if !insts.iter().any(|&i| matches!(self.caller.insts[i].kind, InstKind::Call { .. })) {
                continue;
            }
            any = true;
            // Instructions move to the current end of the block, which calls split.
            let insts = std::mem::take(&mut self.caller.blocks[block].insts);
            let mut current = block;
            for inst in insts {
                match &self.caller.insts[inst].kind {
                    InstKind::Call { callee: Callee::Func(callee), args } => {
                        let (callee, args) = (*callee, args.clone());
                        if self.module.functions[callee].is_declaration() {
                            self.builtin(inst, callee, &args, current)?;
                            continue;
                        }
                        current = self.splice(inst, callee, &args, current, &mut layout)?;
                    }
                    InstKind::Call { callee: Callee::Indirect(_), .. } => {
                        return Err(Diagnostic::unsupported("call through a pointer")
                            .at(super::legalize::describe(self.caller, &self.module.types, inst)));
                    }
                    _ => self.caller.blocks[current].insts.push(inst),
                }
            }
        }
        self.caller.layout = layout;
        if any {
            let entry = self.caller.entry();
            self.caller.blocks[entry].insts.splice(0..0, self.hoisted.drain(..).rev());
            substitute(self.caller, &self.replaced);
        }
        Ok(())
    }

    /// Replaces a call of a function without a body, if it is one that is known.
    fn builtin(&mut self, inst: Inst, callee: Func, args: &[Value], block: Block) -> Result<()> {
        let name = &self.module.functions[callee].name;
        let (ty, loc) = (self.caller.insts[inst].ty, self.caller.locs[inst]);
        let value = super::builtins::expand(self.caller, block, name, args, ty, loc);
        match (value, self.caller.insts[inst].result) {
            (Some(value), Some(result)) => {
                self.replaced[result] = Some(value);
                Ok(())
            }
            _ => Err(self.refuse(inst, callee)),
        }
    }

    fn refuse(&self, inst: Inst, callee: Func) -> Box<Diagnostic> {
        let name = &self.module.functions[callee].name;
        let diagnostic = Diagnostic::unsupported(format!("call of {name}, which has no body to inline"))
            .at(super::legalize::describe(self.caller, &self.module.types, inst));
        match self.caller.source_location(self.module, inst) {
            Some(location) => diagnostic.located(location),
            None => diagnostic,
        }
    }

    /// Copies `callee` behind the end of `current`; returns the block where the code after the call goes on.
    fn splice(
        &mut self,
        call: Inst,
        callee: Func,
        args: &[Value],
        current: Block,
        layout: &mut Vec<Block>,
    ) -> Result<Block> {
        let module = self.module;
        let body = &module.functions[callee];
        if body.params.len() != args.len() {
            return Err(Diagnostic::malformed(format!(
                "call of {} with {} arguments instead of {}",
                body.name,
                args.len(),
                body.params.len()
            )));
        }
        if self.caller.insts.len() + body.insts.len() > MAX_INSTS {
            return Err(Diagnostic::limit("function too large after inlining"));
        }
        let call_loc = self.caller.locs[call];
        let mut values: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
        for (param, &arg) in body.params.iter().zip(args) {
            values[param.value] = Some(match param.indirect {
                // The callee owns a copy.
                Some(IndirectParam { ty, by_value: true }) => self.copy_argument(current, arg, ty, param),
                _ => arg,
            });
        }
        let mut asm: SecondaryMap<InlineAsmId, Option<InlineAsmId>> = SecondaryMap::new();
        for (id, text) in &body.inline_asm {
            asm[id] = Some(self.caller.inline_asm.push(text.clone()));
        }
        let mut blocks: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
        for &block in &body.layout {
            let new = self
                .caller
                .blocks
                .push(BlockData { no_unroll: body.blocks[block].no_unroll, ..BlockData::default() });
            layout.push(new);
            blocks[block] = Some(new);
            for &param in &body.blocks[block].params {
                values[param] = Some(self.caller.add_block_param(new, body.ty(param)));
            }
        }
        let after = self.caller.blocks.push(BlockData::default());
        layout.push(after);
        if let Some(result) = self.caller.insts[call].result {
            let ty = self.caller.ty(result);
            self.replaced[result] = Some(self.caller.add_block_param(after, ty));
        }
        // Values may be used before their definition is visited (in blocks that come earlier in the layout): all
        // instructions first, then their operands.
        let mut copied: Vec<(Block, Inst, Inst)> = Vec::new();
        for &block in &body.layout {
            let Some(new_block) = blocks[block] else { continue };
            for &inst in &body.blocks[block].insts {
                let data = &body.insts[inst];
                let ty = data.ty;
                let new = self.caller.make_inst(InstKind::Unreachable, ty, data.flags);
                self.caller.insts[new].fpmath_ulp_256 = data.fpmath_ulp_256;
                let loc = body.locs[inst];
                self.caller.locs[new] = if loc.line == 0 { call_loc } else { loc };
                if let (Some(old), Some(new)) = (data.result, self.caller.insts[new].result) {
                    values[old] = Some(new);
                }
                copied.push((new_block, inst, new));
            }
        }
        let hoisted = self.hoisted.len();
        for (block, old, new) in copied {
            let mut kind = body.insts[old].kind.clone();
            kind.for_each_value_mut(|v| *v = self.value(body, &mut values, *v));
            match &mut kind {
                InstKind::Ret { value } => {
                    let args: SmallVec<[Value; 4]> = value.iter().copied().collect();
                    kind = InstKind::Jump { target: Target { block: after, args } };
                }
                InstKind::InlineAsm { asm: id, .. } => {
                    if let Some(new) = asm[*id] {
                        *id = new;
                    }
                }
                _ => {}
            }
            // Jumps made from returns name a block of the caller already.
            if !is_return(body, old) {
                for target in kind.targets_mut() {
                    if let Some(new) = blocks[target.block] {
                        target.block = new;
                    }
                }
            }
            // A stack object of constant size is one for the whole kernel, not one for each turn of a loop.
            let fixed = matches!(&kind, InstKind::Alloca { count: None, .. });
            self.caller.insts[new].kind = kind;
            if fixed {
                self.hoisted.push(new);
            } else {
                self.caller.blocks[block].insts.push(new);
            }
        }
        // Those of one callee keep their order.
        self.hoisted[hoisted..].reverse();
        let first = blocks[body.entry()].unwrap_or(after);
        let jump = self.caller.make_inst(
            InstKind::Jump { target: Target::to(first) },
            Type::Void,
            InstFlags::empty(),
        );
        self.caller.locs[jump] = call_loc;
        self.caller.blocks[current].insts.push(jump);
        Ok(after)
    }

    /// The value of the caller that stands for one of the callee; constants are made on demand.
    fn value(
        &mut self,
        body: &Function,
        values: &mut SecondaryMap<Value, Option<Value>>,
        value: Value,
    ) -> Value {
        if let Some(known) = values[value] {
            return known;
        }
        let ValueDef::Const(constant) = &body.values[value].def else {
            // The verifier has seen to it that definitions exist.
            return self.caller.constant(body.ty(value), Const::Poison);
        };
        let constant = match constant {
            Const::Elements(members) => {
                // Members are shallower than their aggregate, whose depth is that of its type.
                Const::Elements(members.iter().map(|&m| self.value(body, values, m)).collect())
            }
            other => other.clone(),
        };
        let new = self.caller.constant(body.ty(value), constant);
        values[value] = Some(new);
        new
    }

    /// A copy of the memory behind a `byval` argument.
    fn copy_argument(&mut self, block: Block, arg: Value, ty: Type, param: &Param) -> Value {
        let types = &self.module.types;
        let (size_bytes, align) = (types.alloc_bytes(ty), types.abi_align(ty));
        let align_log2 = param.align_log2.max(align.trailing_zeros() as u8);
        let pointer = Type::ptr(AddrSpace::PRIVATE);
        let kind = InstKind::Alloca { size_bytes, count: None, align_log2 };
        let alloca = self.caller.make_inst(kind, pointer, InstFlags::empty());
        let Some(copy) = self.caller.insts[alloca].result else { return arg };
        self.hoisted.push(alloca);
        let len = self.caller.int(Type::I64, size_bytes);
        let volatile = self.caller.int(Type::I1, 0);
        let kind = InstKind::Intrinsic {
            intrinsic: Intrinsic::Memcpy,
            args: SmallVec::from_slice(&[copy, arg, len, volatile]),
        };
        self.caller.append(block, kind, Type::Void);
        let wanted = self.caller.ty(arg);
        if wanted == pointer {
            return copy;
        }
        let cast = InstKind::Cast { op: CastOp::AddrSpaceCast, arg: copy };
        self.caller.append(block, cast, wanted).unwrap_or(copy)
    }
}

fn is_return(func: &Function, inst: Inst) -> bool {
    matches!(func.insts[inst].kind, InstKind::Ret { .. })
}

/// Replaces values everywhere; chains of replacements are followed.
pub fn substitute(func: &mut Function, replaced: &SecondaryMap<Value, Option<Value>>) {
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        for j in 0..func.blocks[block].insts.len() {
            let inst = func.blocks[block].insts[j];
            func.insts[inst].kind.for_each_value_mut(|v| {
                while let Some(new) = replaced[*v] {
                    *v = new;
                }
            });
        }
    }
}
