//! A wave: lanes on the control-flow graph, and calls.
//!
//! The lanes that run together (a *convergent group*) execute a block from its first instruction to its terminator, then go where it leads them and
//! the group that is furthest behind goes on. A call is made by the lanes of a group: they run the callee to its end, with a schedule of their
//! own, before anything else of the wave goes on. So calls are a list of activations, and nothing recurses.

use super::exec::{Cx, Flow, Step, Stop};
use super::group::Group;
use super::host::{Cause, Fault, Site};
use super::memory::Scratch;
use super::regs::{Flat, MAX_LANES, Regs, lanes};
use crate::convergence::{Position, Schedule};
use crate::record::MAX_CALLS;
use cranelift_entity::EntityRef;
use mir::abi::call::Place;
use mir::abi::{FloatMode, kernarg};
use mir::ir::{AddrSpace, Block, BlockCall, Func, Function, Inst, InstKind, Module, Value, ValueDef};
use std::sync::Arc;

/// Alignment of the stack where a function starts, in bytes.
const FRAME_ALIGN: u32 = 16;

/// What a wave is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Running,
    Barrier(Site),
    Done,
}

/// What all activations of a wave share.
pub struct State {
    /// Number in the work-group.
    pub index: u32,
    /// Ids of the work-items.
    pub ids: [[u32; MAX_LANES]; 3],
    /// MODE.
    pub mode: u32,
    /// Scratch of each lane.
    pub scratch: Vec<Scratch>,
    /// Stack pointer of each lane, in bytes.
    pub sp: [u32; MAX_LANES],
}

/// A function that is being executed by some lanes.
struct Activation {
    func: Func,
    flat: Arc<Flat>,
    regs: Regs,
    schedule: Schedule,
    /// The group that runs, its place and the next instruction of its block.
    position: Position,
    mask: u64,
    at: usize,
    /// All lanes that have called it, and their stack pointers before.
    lanes: u64,
    sp: [u32; MAX_LANES],
    /// Calls that lanes of the group make once the one under way has ended: their pointers lead to several functions.
    calls: Vec<(Func, u64)>,
}

/// A wave.
pub struct Wave {
    pub status: Status,
    state: State,
    stack: Vec<Activation>,
    /// Copies of arguments while a branch writes its block's parameters.
    moving: Regs,
}

impl Wave {
    /// Wave `index` of a work-group of `items` work-items, about to start `kernel`.
    pub fn start(group: &mut Group<'_>, kernel: Func, index: u32, items: u32) -> Result<Self, Cause> {
        let lanes = group.launch.target.wave_size();
        let first = index * lanes;
        let count = (items - first).min(lanes);
        let live = u64::MAX >> (MAX_LANES as u32 - count);
        let [x, y, _] = group.launch.size.map(|n| n.max(1));
        let item = |l: usize| first + l as u32;
        let ids = [
            std::array::from_fn(|l| item(l) % x),
            std::array::from_fn(|l| item(l) / x % y),
            std::array::from_fn(|l| item(l) / x / y),
        ];
        let f = &group.functions.module.functions[kernel];
        let state = State {
            index,
            ids,
            mode: FloatMode::of(f).register(),
            scratch: (0..MAX_LANES).map(|_| Scratch::default()).collect(),
            sp: [Scratch::BASE; MAX_LANES],
        };
        let mut this = Self { status: Status::Running, state, stack: Vec::new(), moving: Regs::default() };
        this.push(group, kernel, live)?;
        this.load_arguments(group, f)?;
        Ok(this)
    }

    /// Gives back what is reused.
    pub fn finish(self, group: &mut Group<'_>) {
        self.stack.into_iter().for_each(|a| group.functions.give(a.func, a.regs));
    }

    /// Starts `func` in the lanes of `mask`.
    fn push(&mut self, group: &mut Group<'_>, func: Func, mask: u64) -> Result<(), Cause> {
        let f = &group.functions.module.functions[func];
        if f.is_declaration() {
            return Err(Cause::Unsupported(format!("the call of {}, which has no body", f.name)));
        }
        if self.stack.len() >= MAX_CALLS {
            return Err(Cause::Unsupported(format!("more than {MAX_CALLS} calls inside each other")));
        }
        let flat = group.functions.flat(func)?;
        let regs = group.functions.take(func, &flat, group.host);
        let position = flat.convergence.start();
        let sp = self.state.sp;
        lanes(mask).for_each(|l| self.state.sp[l] = self.state.sp[l].next_multiple_of(FRAME_ALIGN));
        self.stack.push(Activation {
            func,
            flat,
            regs,
            schedule: Schedule::new(),
            position,
            mask,
            at: 0,
            lanes: mask,
            sp,
            calls: Vec::new(),
        });
        Ok(())
    }

    /// The parameters of a kernel as read, from the kernarg segment. Those of shaders stay undefined.
    fn load_arguments(&mut self, group: &mut Group<'_>, f: &Function) -> Result<(), Cause> {
        let Some(activation) = self.stack.last_mut() else { return Ok(()) };
        let (flat, regs) = (activation.flat.clone(), &mut activation.regs);
        let module = group.functions.module;
        let layout = f.is_kernel().then(|| kernarg::layout(module, f, &group.launch.target));
        for (index, param) in f.params.iter().enumerate() {
            let slot = flat.slot(param.value);
            let ty = f.ty(param.value);
            let masks = super::layout::masks(&module.types, ty);
            let Some(place) = layout.as_ref().and_then(|l| l.args.get(index)) else {
                masks.iter().enumerate().for_each(|(i, &m)| regs.set_undef(slot + i, u64::MAX, m));
                continue;
            };
            let at = group.launch.kernarg + u64::from(place.offset_bytes);
            if param.indirect.is_some() {
                regs.write(slot, u64::MAX, &[at & masks.first().copied().unwrap_or(0); MAX_LANES]);
                continue;
            }
            let bytes = module.types.store_bytes(ty) as usize;
            let (mut data, mut undef) = (vec![0; bytes], vec![0; bytes]);
            group.bus.load(at, &mut data, &mut undef).map_err(Cause::Memory)?;
            for lane in 0..MAX_LANES {
                super::memory::unpack(&module.types, ty, &data, &undef, |word, value, undef| {
                    regs.write_lane(slot + word, lane, value, undef);
                });
            }
        }
        Ok(())
    }

    /// Runs to the next barrier or to the end.
    pub fn run(&mut self, group: &mut Group<'_>) -> Result<(), Fault> {
        while self.status == Status::Running {
            self.turn(group)?;
        }
        Ok(())
    }

    /// Goes on with the innermost activation: chooses the lanes that run, then executes up to what changes that.
    fn turn(&mut self, group: &mut Group<'_>) -> Result<(), Fault> {
        let Some(activation) = self.stack.last_mut() else {
            self.status = Status::Done;
            return Ok(());
        };
        if let Some((func, mask)) = activation.calls.pop() {
            return self.call(group, func, mask);
        }
        if activation.mask == 0 {
            match activation.schedule.next() {
                Some((position, mask)) => {
                    (activation.position, activation.mask, activation.at) = (position, mask, 0);
                }
                None => self.pop(group),
            }
            return Ok(());
        }
        let module = group.functions.module;
        let f = &module.functions[activation.func];
        let block = Block::new(activation.position.block() as usize);
        let insts = &f.blocks[block].insts;
        let flat = activation.flat.clone();
        let mut cx = Cx {
            module,
            f,
            flat: &flat,
            regs: &mut activation.regs,
            mask: activation.mask,
            func: activation.func,
            block,
            inst: Inst::new(0),
            group: &mut *group,
            wave: &mut self.state,
        };
        while let Some(&inst) = insts.get(activation.at) {
            activation.at += 1;
            cx.inst = inst;
            let flow = cx.spend().and_then(|()| cx.execute(inst));
            match flow {
                Ok(Flow::Next) => {}
                Ok(Flow::Calls(calls)) => {
                    activation.calls = calls;
                    return Ok(());
                }
                Ok(Flow::Barrier) => {
                    self.status = Status::Barrier(cx.site(None));
                    return Ok(());
                }
                Ok(Flow::End(ended)) => {
                    let at = activation.at;
                    self.end(ended);
                    if let Some(activation) = self.stack.last_mut() {
                        activation.at = at;
                    }
                    return Ok(());
                }
                Ok(Flow::Leaves) => {
                    let site = cx.site(None);
                    return self.terminate(module, f, inst).map_err(|stop| stop.at(site));
                }
                Err(stop) => {
                    let site = cx.site(stop.lane);
                    return Err(stop.at(site));
                }
            }
        }
        let cause = Cause::Malformed("a block has no terminator".to_owned());
        Err(Fault { cause, site: None })
    }

    /// Lanes end for good.
    fn end(&mut self, ended: u64) {
        for activation in &mut self.stack {
            activation.mask &= !ended;
            activation.schedule.remove(ended);
            activation.calls.iter_mut().for_each(|(_, mask)| *mask &= !ended);
            activation.calls.retain(|(_, mask)| *mask != 0);
        }
    }

    /// The terminator of the block: each lane goes its way.
    fn terminate(&mut self, module: &Module, f: &Function, inst: Inst) -> Step<()> {
        let Some(activation) = self.stack.last_mut() else { return Ok(()) };
        let mask = std::mem::take(&mut activation.mask);
        let word = |a: &Activation, value: Value| a.flat.slot(value);
        match &f.insts[inst].kind {
            InstKind::Jump { target } => self.follow(f, target, mask),
            InstKind::Branch { cond, if_true, if_false } => {
                let slot = word(activation, *cond);
                decided(&activation.regs, slot, mask, "a branch")?;
                let taken = lanes(mask).fold(0, |t, l| t | (activation.regs.v[slot][l] & 1) << l);
                self.follow(f, if_true, taken);
                self.follow(f, if_false, mask & !taken);
            }
            InstKind::Switch { value, cases, default } => {
                let slot = word(activation, *value);
                decided(&activation.regs, slot, mask, "a switch")?;
                let values = activation.regs.v[slot];
                let mut left = mask;
                // Each turn takes the lanes that go where the first one left goes.
                while left != 0 {
                    let first = values[left.trailing_zeros() as usize];
                    let same = lanes(left).filter(|&l| values[l] == first).fold(0, |m, l| m | 1 << l);
                    left &= !same;
                    let case = cases.iter().find(|(value, _)| *value == first);
                    self.follow(f, case.map_or(default, |(_, target)| target), same);
                }
            }
            InstKind::Ret { value } => self.hand_back(module, *value, mask),
            _ => return Err(Stop::new(Cause::Unreachable)),
        }
        Ok(())
    }

    /// The lanes of `mask` take an edge.
    fn follow(&mut self, f: &Function, target: &BlockCall, mask: u64) {
        let Some(activation) = self.stack.last_mut() else { return };
        if mask == 0 {
            return;
        }
        let (flat, regs) = (&activation.flat, &mut activation.regs);
        let params = &f.blocks[target.block].params;
        let own = |&arg: &Value| matches!(f.values[arg].def, ValueDef::BlockParam(b, _) if b == target.block);
        if !target.args.iter().any(own) {
            for (&param, &arg) in params.iter().zip(&target.args) {
                regs.copy(flat.slot(param), flat.slot(arg), flat.words_of(param), mask);
            }
            let position = flat.convergence.advance(&activation.position, target.block.as_u32());
            return activation.schedule.arrive(position, mask);
        }
        // All are read before any is written: an argument is a parameter of the same block.
        self.moving.clear();
        for &arg in &target.args {
            let slot = flat.slot(arg);
            regs.save(slot, flat.words_of(arg), &mut self.moving);
        }
        let mut from = 0;
        for &param in params {
            let count = flat.words_of(param);
            regs.copy_from(flat.slot(param), &self.moving, from, count, mask);
            from += count;
        }
        let position = flat.convergence.advance(&activation.position, target.block.as_u32());
        activation.schedule.arrive(position, mask);
    }

    /// The lanes of `mask` return.
    fn hand_back(&mut self, module: &Module, value: Option<Value>, mask: u64) {
        let Some((callee, callers)) = self.stack.split_last_mut() else { return };
        let (Some(value), Some(caller)) = (value, callers.last_mut()) else { return };
        let f = &module.functions[caller.func];
        let Some(result) = caller.call(f).and_then(|call| f.insts[call].result) else { return };
        let count = callee.flat.words_of(value).min(caller.flat.words_of(result));
        let slot = caller.flat.slot(result);
        caller.regs.copy_from(slot, &callee.regs, callee.flat.slot(value), count, mask);
    }

    /// The innermost activation has ended: its stack is free again.
    fn pop(&mut self, group: &mut Group<'_>) {
        let Some(activation) = self.stack.pop() else { return };
        for l in lanes(activation.lanes) {
            self.state.sp[l] = activation.sp[l];
            self.state.scratch[l].forget(activation.sp[l]);
        }
        group.functions.give(activation.func, activation.regs);
    }

    /// The lanes of `mask` call `func`, as the call instruction that the innermost activation is at says.
    fn call(&mut self, group: &mut Group<'_>, func: Func, mask: u64) -> Result<(), Fault> {
        let module = group.functions.module;
        let Some(caller) = self.stack.last() else { return Ok(()) };
        let f = &module.functions[caller.func];
        let Some(inst) = caller.call(f) else { return Ok(()) };
        let block = Block::new(caller.position.block() as usize);
        let lane = mask.trailing_zeros();
        let site = Site { func: caller.func, block, inst, wave: self.state.index, lane };
        self.call_at(group, f, inst, func, mask).map_err(|cause| Fault { cause, site: Some(site) })
    }

    fn call_at(
        &mut self,
        group: &mut Group<'_>,
        f: &Function,
        inst: Inst,
        func: Func,
        mask: u64,
    ) -> Result<(), Cause> {
        let InstKind::Call { args, .. } = &f.insts[inst].kind else { return Ok(()) };
        let module = group.functions.module;
        let callee_ir = &module.functions[func];
        let sp = self.state.sp;
        let copies = self.copy_objects(group, f, inst, callee_ir, mask)?;
        self.push(group, func, mask)?;
        let Some((callee, [.., caller])) = self.stack.split_last_mut() else { return Ok(()) };
        callee.sp = sp;
        if let Some(layout) = f.call_layouts.get(&inst) {
            for (&arg, place) in args.iter().zip(&layout.places) {
                let slot = caller.flat.slot(arg);
                match *place {
                    Place::Register(register) => {
                        let param = callee_ir.params.iter().find(|p| p.register == Some(register));
                        let Some(param) = param else { continue };
                        callee.regs.copy_from(callee.flat.slot(param.value), &caller.regs, slot, 1, mask);
                    }
                    Place::Stack(offset) => {
                        for l in lanes(mask) {
                            let value = (caller.regs.v[slot][l] as u32).to_le_bytes();
                            let undef = (caller.regs.undef(slot, l) as u32).to_le_bytes();
                            let at = self.state.sp[l].wrapping_add(offset);
                            self.state.scratch[l].store(at, &value, &undef)?;
                        }
                    }
                }
            }
            return Ok(());
        }
        if args.len() > callee_ir.params.len() {
            return Err(Cause::Unsupported("a call with variable arguments".to_owned()));
        }
        for (param, &arg) in callee_ir.params.iter().zip(args) {
            let (to, from) = (callee.flat.slot(param.value), caller.flat.slot(arg));
            let count = callee.flat.words_of(param.value).min(caller.flat.words_of(arg));
            callee.regs.copy_from(to, &caller.regs, from, count, mask);
        }
        for (index, addresses) in copies {
            let Some(param) = callee_ir.params.get(index) else { continue };
            callee.regs.write(callee.flat.slot(param.value), mask, &addresses);
        }
        Ok(())
    }

    /// Arguments that are objects passed by value, copied to the stack: the parameters' numbers and the addresses of the copies.
    fn copy_objects(
        &mut self,
        group: &mut Group<'_>,
        f: &Function,
        inst: Inst,
        callee: &Function,
        mask: u64,
    ) -> Result<Vec<(usize, [u64; MAX_LANES])>, Cause> {
        let mut copies = Vec::new();
        let (InstKind::Call { args, .. }, Some(caller)) = (&f.insts[inst].kind, self.stack.last()) else {
            return Ok(copies);
        };
        if f.call_layouts.contains_key(&inst) {
            return Ok(copies);
        }
        let types = &group.functions.module.types;
        let site = f.call_sites.get(&inst);
        for (index, &arg) in args.iter().enumerate() {
            let (flags, param) = (site.and_then(|s| s.args.get(index)), callee.params.get(index));
            let indirect = flags.and_then(|a| a.indirect).or_else(|| param.and_then(|p| p.indirect));
            let Some(object) = indirect.filter(|o| o.by_value) else { continue };
            let align_log2 = flags.map_or(0, |a| a.align_log2).max(param.map_or(0, |p| p.align_log2));
            let align = types.abi_align(object.ty).max(1 << align_log2.min(12)).max(4);
            let bytes = types.alloc_bytes(object.ty) as usize;
            let slot = caller.flat.slot(arg);
            let space = f.ty(arg).addr_space().unwrap_or(AddrSpace::PRIVATE);
            let high =
                if space == AddrSpace::FLAT { u64::from(group.launch.private_aperture) << 32 } else { 0 };
            let mut addresses = [0; MAX_LANES];
            let (mut data, mut undef) = (vec![0; bytes], vec![0; bytes]);
            for l in lanes(mask) {
                if caller.regs.undef(slot, l) != 0 {
                    return Err(Cause::Undefined("an address"));
                }
                let place = super::memory::place(group.launch, f, space, caller.regs.v[slot][l])?;
                super::memory::load(group, &self.state.scratch[l], place, &mut data, &mut undef)?;
                let at = self.state.sp[l].next_multiple_of(align as u32);
                self.state.scratch[l].store(at, &data, &undef)?;
                self.state.sp[l] = at.saturating_add(bytes as u32);
                addresses[l] = high | u64::from(at);
            }
            copies.push((index, addresses));
        }
        Ok(copies)
    }
}

impl Activation {
    /// The instruction executed last, if it is a call.
    fn call(&self, f: &Function) -> Option<Inst> {
        let insts = &f.blocks[Block::new(self.position.block() as usize)].insts;
        let inst = *insts.get(self.at.checked_sub(1)?)?;
        matches!(f.insts[inst].kind, InstKind::Call { .. }).then_some(inst)
    }
}

/// What decides must be defined in all lanes of `mask`.
fn decided(regs: &Regs, slot: usize, mask: u64, what: &'static str) -> Step<()> {
    match lanes(regs.any(slot) & mask).find(|&l| regs.undef(slot, l) != 0) {
        Some(lane) => Err(Stop::in_lane(Cause::Undefined(what), lane)),
        None => Ok(()),
    }
}
