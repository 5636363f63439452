//! Inlining by price, and dropping of what nothing reaches.
//!
//! A call costs what some fifty instructions do and keeps values out of the registers that a callee may change;
//! copies fill the instruction cache and cost time to compile. So at `-O1` and above
//!
//! * kernels, and private functions under them, get copies of callees that are cheap by the table in [`price`], or
//!   whose body goes with its only call, as far as the bounds on growth allow;
//! * functions that others may call get copies of such callees if these are private;
//! * what asks for it (`alwaysinline`) is copied, what asks not to be (`noinline`) is called, and so is what calls
//!   itself again. A function with `optnone` gets copies of nothing else than at `-O0`.
//!
//! `-O0` copies what says `alwaysinline`, and at every level is copied what cannot be called:
//!
//! * a kernel; a function with an argument in memory that is too large for the stack, or aligned further than it;
//! * what graphics shaders reach: a callee does not know which lanes of a pixel are helpers, in which stores,
//!   exports and kills do nothing;
//! * a function with generic pointers where there are no generic addresses (GFX6): its copy knows the space.
//!
//! The last two are called if they say `noinline`, which counts as said only without `optnone`: front ends say
//! both of everything at their `-O0`.
//!
//! Functions are visited callees first, so that a copy is of the final code. What is left without callers, is
//! not visible outside and is referred to by nothing loses its body. Calls of declared functions stay, unless
//! they are known ([`super::builtins`]).
//!
//! Cost: linear in the code that results.

mod price;

use cranelift_entity::SecondaryMap;
use mir::ir::*;
use mir::target::{Features, Target};
use mir::{Diagnostic, Result};
use price::Limits;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Most instructions of one function after inlining.
const MAX_INSTS: usize = 8_000_000;

/// A caller with more instructions than this calls even what has no other caller.
const MAX_INLINED: usize = 400_000;

/// Whether something outside of the module starts the function.
pub fn is_entry_point(func: &Function) -> bool {
    !func.is_declaration() && !matches!(func.call_conv, CallConv::Other(_)) && !func.call_conv.is_callable()
}

/// Whether other modules may call the function, so that it must be in the object.
///
/// The copy of a kernel's body that clang leaves beside it (`__clang_ocl_kern_imp_NAME`) is for that kernel
/// alone.
fn is_visible(module: &Module, func: &Function) -> bool {
    let emitted = matches!(
        func.linkage,
        Linkage::External | Linkage::LinkOnceAny | Linkage::LinkOnceOdr | Linkage::WeakAny | Linkage::WeakOdr
    );
    let of_kernel = func.name.strip_prefix("__clang_ocl_kern_imp_");
    let is_kernel = |name: &str| module.functions.values().any(|f| f.is_kernel() && f.name == name);
    !func.is_declaration() && func.call_conv.is_callable() && emitted && !of_kernel.is_some_and(is_kernel)
}

/// Inlines calls under the roots of `module`, compiled for `machine` at optimisation level `level`, and drops the
/// bodies of functions that nothing reaches.
///
/// # Errors
/// `Malformed` for a call with the wrong number of arguments, `Limit` for a function that becomes too large.
pub fn inline_all(module: &mut Module, machine: &Target, level: u8) -> Result<()> {
    for function in module.functions.values_mut() {
        if let Some(number) = mir::abi::shader::uncalled(function.call_conv, machine) {
            function.call_conv = CallConv::Other(number);
        }
    }
    let graph = CallGraph::new(module);
    let mut bodies = SecondaryMap::new();
    for &func in &graph.order {
        inline_calls(module, func, &Plan { machine, level, graph: &graph, bodies: &bodies })?;
        // Nobody asks for the price of what nobody calls.
        if graph.called[func] {
            let function = &module.functions[func];
            let (price, names_lds) = price::of_body(module, function);
            bodies[func] = Body { price, call: price::of_call(module, function), names_lds };
        }
    }
    let reached = reached(module);
    let functions: Vec<Func> = module.functions.keys().collect();
    for func in functions {
        let function = &mut module.functions[func];
        let elsewhere = function.linkage == Linkage::AvailableExternally;
        if !function.is_declaration() && (!reached[func] || elsewhere) {
            let mut empty = Function::new(function.name.clone(), function.call_conv, function.ret);
            empty.linkage = if elsewhere { Linkage::External } else { function.linkage };
            empty.visibility = function.visibility;
            for param in &function.params {
                empty.add_param(function.ty(param.value), param.name.clone());
            }
            empty.variadic = function.variadic;
            *function = empty;
        }
    }
    Ok(())
}

/// Functions that something refers to without calling them from code.
fn roots(module: &Module) -> Vec<Func> {
    let mut out: Vec<Func> = module
        .functions
        .iter()
        .filter(|(_, function)| is_entry_point(function) || is_visible(module, function))
        .map(|(func, _)| func)
        .collect();
    let mut add = |symbol: SymbolRef| {
        if let SymbolRef::Func(func) = symbol {
            out.push(func);
        }
    };
    module.aliases.iter().for_each(|alias| add(alias.target));
    module.used.iter().for_each(|&symbol| add(symbol));
    for init in module.globals.values().filter_map(|global| global.init.as_ref()) {
        init.relocations.iter().for_each(|relocation| add(relocation.symbol));
    }
    out.retain(|&func| !module.functions[func].is_declaration());
    out
}

/// Functions with a body that roots reach by calls and addresses.
fn reached(module: &Module) -> SecondaryMap<Func, bool> {
    let mut reached = SecondaryMap::new();
    let mut work = roots(module);
    work.iter().for_each(|&func| reached[func] = true);
    while let Some(func) = work.pop() {
        for (callee, _) in references(module, func) {
            if !std::mem::replace(&mut reached[callee], true) {
                work.push(callee);
            }
        }
    }
    reached
}

/// Who calls whom, before inlining.
struct CallGraph {
    /// Functions that roots reach, callees before callers.
    order: Vec<Func>,
    /// Functions that are on a cycle of calls, as far as the walk closes it: calls of them stay.
    recursive: SecondaryMap<Func, bool>,
    /// Calls, and other references.
    uses: SecondaryMap<Func, u32>,
    /// Functions that others, or they themselves, refer to.
    called: SecondaryMap<Func, bool>,
    /// Functions that entry points reach.
    under_kernel: SecondaryMap<Func, bool>,
    /// Functions that graphics shaders reach, and these.
    under_shader: SecondaryMap<Func, bool>,
}

/// What is known of a function whose calls are replaced.
#[derive(Clone, Copy, Default)]
struct Body {
    /// What a copy takes.
    price: u32,
    /// What a call takes.
    call: u32,
    /// Whether it names variables in LDS.
    names_lds: bool,
}

/// What decides about calls.
#[derive(Clone, Copy)]
struct Plan<'a> {
    machine: &'a Target,
    level: u8,
    graph: &'a CallGraph,
    /// Of callees, which come first.
    bodies: &'a SecondaryMap<Func, Body>,
}

impl CallGraph {
    fn new(module: &Module) -> Self {
        #[derive(Clone, Copy, Default, PartialEq)]
        enum State {
            #[default]
            New,
            Open,
            Done,
        }
        let mut state: SecondaryMap<Func, State> = SecondaryMap::new();
        let references = References::of(module);
        let mut graph = Self {
            order: Vec::new(),
            recursive: SecondaryMap::new(),
            uses: SecondaryMap::new(),
            called: SecondaryMap::new(),
            under_kernel: below(module, &references, is_entry_point),
            under_shader: below(module, &references, |f| {
                !f.is_declaration()
                    && mir::abi::shader::is_shader(f.call_conv)
                    && f.call_conv != CallConv::AmdgpuCs
            }),
        };
        for root in roots(module) {
            graph.uses[root] += 1;
            if state[root] != State::New {
                continue;
            }
            let mut stack = vec![(root, references.of[root].as_slice())];
            state[root] = State::Open;
            while let Some((func, todo)) = stack.last_mut() {
                match todo.split_last() {
                    None => {
                        state[*func] = State::Done;
                        graph.order.push(*func);
                        stack.pop();
                    }
                    Some((&(callee, times), rest)) => {
                        *todo = rest;
                        graph.called[callee] = true;
                        graph.uses[callee] += times;
                        match state[callee] {
                            State::Done => {}
                            State::Open => graph.recursive[callee] = true,
                            State::New => {
                                state[callee] = State::Open;
                                stack.push((callee, references.of[callee].as_slice()));
                            }
                        }
                    }
                }
            }
        }
        graph
    }
}

/// Functions that those of which `starts` holds reach, and these.
fn below(
    module: &Module,
    references: &References,
    starts: impl Fn(&Function) -> bool,
) -> SecondaryMap<Func, bool> {
    let mut below = SecondaryMap::new();
    let starts = module.functions.iter().filter(|(_, function)| starts(function));
    let mut work: Vec<Func> = starts.map(|(func, _)| func).collect();
    while let Some(func) = work.pop() {
        if !std::mem::replace(&mut below[func], true) {
            work.extend(references.of[func].iter().map(|&(callee, _)| callee));
        }
    }
    below
}

/// What the functions of a module refer to, before inlining.
struct References {
    /// As [`references`] has them.
    of: SecondaryMap<Func, Vec<(Func, u32)>>,
}

impl References {
    fn of(module: &Module) -> Self {
        let mut of = SecondaryMap::new();
        for (func, _) in module.functions.iter().filter(|(_, function)| !function.is_declaration()) {
            of[func] = references(module, func);
        }
        Self { of }
    }
}

/// Functions with a body that `func` refers to, and how often. An address counts as two uses: calls through
/// it are not seen.
fn references(module: &Module, func: Func) -> Vec<(Func, u32)> {
    let function = &module.functions[func];
    let mut out = Vec::new();
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            mir::interrupt::checkpoint();
            if let InstKind::Call { callee: Callee::Func(callee), .. } = function.insts[inst].kind {
                out.push((callee, 1));
            }
        }
    }
    for value in function.values.values() {
        if let ValueDef::Const(Const::Symbol(SymbolRef::Func(callee), _)) = value.def {
            out.push((callee, 2));
        }
    }
    out.retain(|&(callee, _)| !module.functions[callee].is_declaration());
    out
}

/// Replaces calls in one function, whose callees are done.
fn inline_calls(module: &mut Module, func: Func, plan: &Plan<'_>) -> Result<()> {
    let placeholder = Function::new(String::new(), CallConv::Device, Type::Void);
    let mut caller = std::mem::replace(&mut module.functions[func], placeholder);
    let for_kernels =
        is_entry_point(&caller) || plan.graph.under_kernel[func] && !is_visible(module, &caller);
    let as_written = caller.flags.contains(FuncFlags::OPT_NONE);
    let inliner = Inliner {
        module,
        plan,
        limits: price::limits(plan.level).filter(|_| !as_written),
        for_kernels,
        for_shaders: plan.graph.under_shader[func],
        growth: 0,
        caller: &mut caller,
        replaced: SecondaryMap::new(),
        hoisted: Vec::new(),
    };
    let result = inliner.run();
    let name = caller.name.clone();
    module.functions[func] = caller;
    result.map_err(|d| d.in_function(&name))
}

struct Inliner<'a> {
    module: &'a Module,
    plan: &'a Plan<'a>,
    /// What price is a reason for; nothing where code stays as written.
    limits: Option<&'static Limits>,
    /// Whether the caller is a kernel, or a private function under one.
    for_kernels: bool,
    /// Whether a graphics shader reaches the caller.
    for_shaders: bool,
    /// Price of what the caller has got copies of.
    growth: u32,
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
                            if !self.builtin(inst, callee, &args, current) {
                                self.caller.blocks[current].insts.push(inst);
                            }
                        } else if self.wants(callee, &args) && !self.in_a_chain(inst, callee) {
                            self.growth = self.growth.saturating_add(self.plan.bodies[callee].price);
                            current = self.splice(inst, callee, &args, current, &mut layout)?;
                        } else {
                            self.caller.blocks[current].insts.push(inst);
                        }
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

    /// Whether a call of `callee` with `args` is to be replaced by a copy of its body.
    fn wants(&self, callee: Func, args: &[Value]) -> bool {
        let body = &self.module.functions[callee];
        // The function itself is not in the module while its calls are looked at, nor is what is compiled
        // later on a cycle.
        if body.layout.is_empty() || self.plan.graph.recursive[callee] {
            return false;
        }
        if body.flags.contains(FuncFlags::ALWAYS_INLINE) || self.cannot_be_called(body) {
            return true;
        }
        let unwanted = body.flags.contains(FuncFlags::NO_INLINE);
        if unwanted && !body.flags.contains(FuncFlags::OPT_NONE) || body.linkage.is_interposable() {
            // Of what may be replaced at link time, another definition may take its place.
            return false;
        }
        // Of these nothing but its size keeps a callee from being copied.
        if self.for_shaders || self.takes_generic_pointers(body) {
            return self.caller.insts.len() + body.insts.len() <= MAX_INLINED;
        }
        !unwanted && self.limits.is_some_and(|limits| self.is_cheap(limits, callee, args))
    }

    /// Whether no call can pass what the function takes.
    fn cannot_be_called(&self, body: &Function) -> bool {
        let types = &self.module.types;
        !body.call_conv.is_callable()
            || body.params.iter().any(|param| match param.indirect {
                Some(IndirectParam { ty, by_value: true }) => {
                    let align = types.abi_align(ty).max(1 << param.align_log2.min(12));
                    !super::legalize::fits_on_stack(types.alloc_bytes(ty), align)
                }
                _ => false,
            })
    }

    /// Whether the function has generic pointers where there are no generic addresses.
    fn takes_generic_pointers(&self, body: &Function) -> bool {
        let generic = |ty: Type| ty.addr_space() == Some(AddrSpace::FLAT);
        !self.plan.machine.has(Features::FLAT)
            && (generic(body.ret) || body.params.iter().any(|param| generic(body.ty(param.value))))
    }

    /// Whether a copy costs less than a call at this level.
    fn is_cheap(&self, limits: &Limits, callee: Func, args: &[Value]) -> bool {
        let (function, body) = (&self.module.functions[callee], self.plan.bodies[callee]);
        let private = matches!(function.linkage, Linkage::Internal | Linkage::Private);
        if !private && !self.for_kernels {
            return false;
        }
        // Its body goes with the call.
        if self.plan.graph.uses[callee] == 1 {
            return self.caller.insts.len() + function.insts.len() <= MAX_INLINED;
        }
        let flags = function.flags | self.caller.flags;
        if flags.contains(FuncFlags::MIN_SIZE) {
            return body.price < body.call;
        }
        // What takes no more than its call never makes the caller larger.
        if body.price <= body.call {
            return true;
        }
        if flags.contains(FuncFlags::OPT_SIZE) {
            return false;
        }
        let hinted = function.flags.contains(FuncFlags::INLINE_HINT);
        let mut most = if hinted { limits.hinted } else { limits.ordinary };
        most += if body.names_lds { price::LDS_VARIABLE } else { 0 };
        // One object counts for all: a second does not make the copy better.
        let of_argument = |&arg: &Value| price::of_argument(self.caller, &self.replaced, arg);
        most += args.iter().map(of_argument).max().unwrap_or(0);
        body.price <= most && self.growth.saturating_add(body.price) <= limits.growth
    }

    /// Whether `call` must not make the stack grow, and `callee` makes such calls itself: in a copy they would be plain ones.
    fn in_a_chain(&self, call: Inst, callee: Func) -> bool {
        let must = |function: &Function, inst: &Inst| {
            function.call_sites.get(inst).is_some_and(|site| site.tail == TailCall::Must)
        };
        let body = &self.module.functions[callee];
        must(self.caller, &call)
            && body.layout.iter().any(|&block| body.blocks[block].insts.iter().any(|inst| must(body, inst)))
    }

    /// Replaces a call of a function without a body, if it is one that is known.
    fn builtin(&mut self, inst: Inst, callee: Func, args: &[Value], block: Block) -> bool {
        let name = &self.module.functions[callee].name;
        let (ty, loc) = (self.caller.insts[inst].ty, self.caller.locs[inst]);
        let Some(result) = self.caller.insts[inst].result else { return false };
        match super::builtins::expand(self.caller, block, name, args, ty, loc) {
            Some(value) => {
                self.replaced[result] = Some(value);
                true
            }
            None => false,
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
                .push(BlockData { unrolling: body.blocks[block].unrolling, ..BlockData::default() });
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
        // What the callee adds to the stack is gone when it returns.
        let grows = |&inst: &Inst| matches!(body.insts[inst].kind, InstKind::Alloca { count: Some(_), .. });
        if body.layout.iter().any(|&block| body.blocks[block].insts.iter().any(grows)) {
            let private = Type::ptr(AddrSpace::PRIVATE);
            let save = InstKind::Intrinsic { intrinsic: Intrinsic::Stacksave, args: SmallVec::new() };
            if let Some(saved) = self.caller.append(current, save, private) {
                let args = SmallVec::from_slice(&[saved]);
                let restore = InstKind::Intrinsic { intrinsic: Intrinsic::Stackrestore, args };
                self.caller.append(after, restore, Type::Void);
            }
        }
        // Values may be used before their definition is visited (in blocks that come earlier in the layout):
        // all instructions first, then their operands.
        let mut copied: Vec<(Block, Inst, Inst)> = Vec::new();
        // Objects of the callee's frame, in both functions; those that say themselves how long they live.
        let mut objects: Vec<(Inst, Value)> = Vec::new();
        let mut marked: FxHashSet<Inst> = FxHashSet::default();
        for &block in &body.layout {
            let Some(new_block) = blocks[block] else { continue };
            for &inst in &body.blocks[block].insts {
                mir::interrupt::checkpoint();
                let data = &body.insts[inst];
                let ty = data.ty;
                let new = self.caller.make_inst(InstKind::Unreachable, ty, data.flags);
                self.caller.insts[new].fpmath_ulp_256 = data.fpmath_ulp_256;
                let loc = body.locs[inst];
                self.caller.locs[new] = if loc.line == 0 { call_loc } else { loc };
                if let Some(site) = body.call_sites.get(&inst) {
                    // What it promises about the callee's stack objects is not known of the caller's.
                    let site = CallSite { tail: TailCall::No, ..site.clone() };
                    self.caller.call_sites.insert(new, site);
                }
                if let Some(&aligns) = body.mem_aligns.get(&inst) {
                    self.caller.mem_aligns.insert(new, aligns);
                }
                if let (Some(old), Some(new)) = (data.result, self.caller.insts[new].result) {
                    values[old] = Some(new);
                    if block == body.entry() && matches!(data.kind, InstKind::Alloca { count: None, .. }) {
                        objects.push((inst, new));
                    }
                }
                if let InstKind::Intrinsic {
                    intrinsic: Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd,
                    args,
                } = &data.kind
                {
                    marked.extend(args.last().and_then(|&address| body.stack_object(address)));
                }
                copied.push((new_block, inst, new));
            }
        }
        // The frame is there from the call to the return.
        objects.retain(|(object, _)| !marked.contains(object));
        self.mark_lifetimes(current, Intrinsic::LifetimeStart, &objects);
        let hoisted = self.hoisted.len();
        for (block, old, new) in copied {
            let mut kind = body.insts[old].kind.clone();
            kind.for_each_value_mut(|v| *v = self.value(body, &mut values, *v));
            match &mut kind {
                InstKind::Ret { value } => {
                    self.mark_lifetimes(block, Intrinsic::LifetimeEnd, &objects);
                    let args: SmallVec<[Value; 4]> = value.iter().copied().collect();
                    kind = InstKind::Jump { target: BlockCall { block: after, args } };
                }
                InstKind::InlineAsm { asm: id, .. } => {
                    if let Some(new) = asm[*id] {
                        *id = new;
                    }
                }
                // Scopes hold for one run of the callee, of which there may be many now.
                InstKind::Load { mem, .. }
                | InstKind::Store { mem, .. }
                | InstKind::AtomicRmw { mem, .. }
                | InstKind::CmpXchg { mem, .. } => mem.set = AliasSet::ANY,
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
            // A stack object of constant size at the callee's start is one for the whole kernel, not one for
            // each turn of a loop.
            let fixed =
                matches!(&kind, InstKind::Alloca { count: None, .. }) && blocks[body.entry()] == Some(block);
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
            InstKind::Jump { target: BlockCall::to(first) },
            Type::Void,
            InstFlags::empty(),
        );
        self.caller.locs[jump] = call_loc;
        self.caller.blocks[current].insts.push(jump);
        Ok(after)
    }

    /// Marks at the end of `block` where the lifetimes of stack objects start or end.
    fn mark_lifetimes(&mut self, block: Block, intrinsic: Intrinsic, objects: &[(Inst, Value)]) {
        for &(_, address) in objects {
            let args = SmallVec::from_slice(&[address]);
            self.caller.append(block, InstKind::Intrinsic { intrinsic, args }, Type::Void);
        }
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
