//! Calls that return in the function's place: the frame is released first, so the stack does not grow.
//!
//! # Problem
//!
//! The wave leaves a function once, with the lanes that it was entered with. A call in front of a return is a jump of the wave only where all
//! of these lanes make it, and make the same one.
//!
//! # Idea
//!
//! * Where the function has one return and the callee is the same in all lanes, they do: the call is marked (`CallLayout::tail`) and followed by
//!   its return. `tail` asks for no more; other calls stay calls.
//! * A `musttail` elsewhere is kept for the one block that every lane leaves the function by, as a *way* out with its *keys*: the number of the way,
//!   the pointer that is called, arguments that travel in SGPRs. If all lanes have the keys of the first, that way is taken, as a jump. Otherwise
//!   each way is taken in turn by its lanes, as a call:
//!
//! ```text
//! exit:  first = readfirstlane(keys); if all lanes have keys = first: the way of first, for good
//! head:  first = readfirstlane(keys); lanes with other keys skip the way
//! way:   a call, or the result that is there already
//! latch: lanes that have taken a way leave
//! ```
//!
//! A call in that loop has fewer lanes than the function, so no more such frames than a wave has lanes are on the stack at any time, however
//! long the chain of calls is.
//!
//! # What stands in the way
//!
//! Arguments on the stack replace the function's own, so they need as much room at most. An argument in an SGPR that callees preserve would be
//! overwritten when the caller's value is put back.
//!
//! Cost: linear in ways and their dwords.

use super::functions::{Dwords, MAX_BYVAL_BYTES};
use super::{Cfg, Legalizer};
use mir::abi::call::{CallLayout, Place, Places, is_callee_saved};
use mir::ir::*;
use mir::{Diagnostic, Result};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// How a call returns in the function's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tail {
    /// All lanes make it: it is a jump where it stands.
    InPlace,
    /// The exit decides.
    Merged,
}

/// What a tail call has left to its return.
pub(super) enum Left {
    /// The result to return.
    InPlace(Option<Value>),
    /// Nothing: the lanes are on their way out.
    Merged,
}

/// A way out of the function.
#[derive(Clone, PartialEq)]
pub(super) enum Way {
    Return,
    Call { callee: Callee, layout: CallLayout },
}

/// Lanes that leave the function: from which block, which way, with which dwords.
struct Exit {
    from: Block,
    /// Index into the ways.
    way: usize,
    /// The address called, where only a pointer has it.
    pointer: Option<Value>,
    words: Dwords,
}

/// Calls of a function that return in its place.
#[derive(Default)]
pub(super) struct Tails {
    calls: FxHashMap<Inst, Tail>,
    /// Whether lanes leave by the exit.
    pub merged: bool,
    /// Set between a tail call and its return.
    pub left: Option<Left>,
    ways: Vec<Way>,
    exits: Vec<Exit>,
}

impl Tails {
    /// What `call` of the old function is.
    pub(super) fn of(&self, call: Inst) -> Option<Tail> {
        self.calls.get(&call).copied()
    }
}

/// What an argument's place follows from.
struct Passed {
    ty: Type,
    indirect: Option<IndirectParam>,
    align_log2: u8,
    inreg: bool,
}

impl Legalizer<'_> {
    /// Finds the calls that become jumps.
    ///
    /// # Errors
    /// `Unsupported` for a `musttail` that cannot be one.
    pub(super) fn find_tail_calls(&mut self) -> Result<()> {
        let old = self.old;
        if old.call_sites.values().all(|site| site.tail == TailCall::No) {
            return Ok(());
        }
        let cfg = Cfg::new(old);
        let mut returns = 0;
        let mut calls: Vec<(Block, Inst, TailCall)> = Vec::new();
        for &block in &cfg.rpo {
            let insts = &old.blocks[block].insts;
            let Some(InstKind::Ret { value }) = insts.last().map(|&i| &old.insts[i].kind) else { continue };
            returns += 1;
            let Some(&call) = insts.len().checked_sub(2).and_then(|at| insts.get(at)) else { continue };
            let Some(site) = old.call_sites.get(&call).filter(|_| *value == old.insts[call].result) else {
                continue;
            };
            let wanted = self.b.optimize || site.tail == TailCall::Must;
            if site.tail != TailCall::No && wanted {
                calls.push((block, call, site.tail));
            }
        }
        for (block, call, tail) in calls {
            let obstacle = self.tail_obstacle(call)?;
            let InstKind::Call { callee, .. } = old.insts[call].kind else { continue };
            let divergent = match callee {
                Callee::Func(_) => false,
                Callee::Indirect(pointer) => self.differs_between_lanes(pointer, block),
            };
            let kind = match (tail, obstacle) {
                (TailCall::Must, Some(obstacle)) => {
                    let error = Diagnostic::unsupported(format!("musttail call {obstacle}"));
                    return Err(self.explain(error, call));
                }
                (_, Some(_)) => continue,
                _ if returns == 1 && !divergent => Tail::InPlace,
                (TailCall::Must, None) => {
                    self.tails.merged = true;
                    Tail::Merged
                }
                _ => continue,
            };
            self.tails.calls.insert(call, kind);
        }
        Ok(())
    }

    /// Why `call`, which stands in front of a return, cannot be a jump.
    fn tail_obstacle(&self, call: Inst) -> Result<Option<&'static str>> {
        let old = self.old;
        let (InstKind::Call { callee, args }, Some(site)) =
            (&old.insts[call].kind, old.call_sites.get(&call))
        else {
            return Ok(Some("without a callee"));
        };
        let graphics = old.call_conv == CallConv::AmdgpuGfx;
        if !site.call_conv.is_callable() || (site.call_conv == CallConv::AmdgpuGfx) != graphics {
            return Ok(Some("of another calling convention"));
        }
        let extends = |flags: ParamFlags| flags & (ParamFlags::SIGNEXT | ParamFlags::ZEROEXT);
        if old.insts[call].ty != old.ret || extends(old.ret_flags) != extends(site.ret_flags) {
            return Ok(Some("with a result that is returned in another form"));
        }
        let by_value = |indirect: Option<IndirectParam>| indirect.is_some_and(|i| i.by_value);
        if site.tail == TailCall::May && old.params.iter().any(|param| by_value(param.indirect)) {
            return Ok(Some("that may look at the caller's arguments"));
        }
        if let Callee::Func(func) = callee
            && !self.ctx.module.functions[*func].call_conv.is_callable()
        {
            return Ok(Some("of a kernel"));
        }
        let own = old.params.iter().map(|param| Passed {
            ty: old.ty(param.value),
            indirect: param.indirect,
            align_log2: param.align_log2,
            inreg: param.flags.contains(ParamFlags::INREG),
        });
        let given = args.iter().enumerate().map(|(index, &arg)| {
            let argument = site.args.get(index).copied().unwrap_or_default();
            Passed {
                ty: old.ty(arg),
                indirect: argument.indirect,
                align_log2: argument.align_log2,
                inreg: argument.flags.contains(ParamFlags::INREG),
            }
        });
        let (_, room) = self.places(graphics, own)?;
        let (registers, needed) = self.places(graphics, given)?;
        if needed > room {
            return Ok(Some("with more arguments on the stack than the function has"));
        }
        let saved = |place: &Place| matches!(place, Place::Register(reg) if !reg.is_vgpr() && is_callee_saved(*reg, graphics));
        Ok(registers.iter().any(saved).then_some("with arguments in registers that the function preserves"))
    }

    /// Places in registers of what is passed, and the bytes on the stack.
    fn places(&self, graphics: bool, passed: impl Iterator<Item = Passed>) -> Result<(Vec<Place>, u32)> {
        let mut places = Places::new(graphics);
        let mut out = Vec::new();
        if self.is_demoted(self.old.ret)? {
            out.push(places.dword(false));
        }
        for Passed { ty, indirect, align_log2, inreg } in passed {
            if let Some(IndirectParam { ty: pointee, by_value: true }) = indirect {
                let types = &self.ctx.module.types;
                let align = types.abi_align(pointee).max(1 << align_log2.min(12));
                let size = types.alloc_bytes(pointee);
                if size > MAX_BYVAL_BYTES {
                    // Refused where the call is made.
                    continue;
                }
                places.memory(size as u32, align as u32);
                continue;
            }
            out.extend((0..self.abi_dwords(ty)?).map(|_| places.dword(inreg)));
        }
        Ok((out, places.stack_bytes()))
    }

    /// Lanes leave from the current block, which [`Self::fill_exit`] ends.
    pub(super) fn leave(&mut self, way: Way, words: Dwords) {
        let (way, pointer) = match way {
            Way::Call { callee: Callee::Indirect(pointer), layout } => {
                // The pointer is a key, so that calls through any are one way.
                let unnamed = Callee::Indirect(Value::from_u32(0));
                (Way::Call { callee: unnamed, layout }, Some(pointer))
            }
            way => (way, None),
        };
        let known = self.tails.ways.iter().position(|w| *w == way);
        let way = known.unwrap_or_else(|| {
            self.tails.ways.push(way);
            self.tails.ways.len() - 1
        });
        self.tails.exits.push(Exit { from: self.b.block, way, pointer, words });
    }

    /// Makes the exit and ends the blocks that lead there.
    pub(super) fn fill_exit(&mut self) -> Result<()> {
        let ways = std::mem::take(&mut self.tails.ways);
        let exits = std::mem::take(&mut self.tails.exits);
        let exit = self.b.new_block();
        self.b.scope = None;
        // Keys: the number of the way, the two halves of a pointer, arguments in SGPRs. Then the other dwords, or the result.
        let numbered = usize::from(ways.len() > 1);
        let pointers = if exits.iter().any(|exit| exit.pointer.is_some()) { 2 } else { 0 };
        let in_sgpr = |place: &Place| matches!(place, Place::Register(register) if !register.is_vgpr());
        let count = |way: &Way, scalar: bool| match way {
            Way::Return => 0,
            Way::Call { layout, .. } => layout.places.iter().filter(|p| in_sgpr(p) == scalar).count(),
        };
        let scalars = ways.iter().map(|way| count(way, true)).max().unwrap_or(0);
        let results = exits.iter().filter(|exit| ways.get(exit.way) == Some(&Way::Return));
        let results = results.map(|exit| exit.words.len()).max().unwrap_or(0);
        let vectors = ways.iter().map(|way| count(way, false)).max().unwrap_or(0).max(results);
        for Exit { from, way, pointer, words } in exits {
            self.b.block = from;
            let mut args: Dwords = Dwords::new();
            args.extend((numbered > 0).then(|| self.b.i32(way as u32)));
            if pointers > 0 {
                let halves = pointer.map(|pointer| self.b.split64(pointer));
                let (low, high) = halves.unwrap_or_else(|| (self.b.i32(0), self.b.i32(0)));
                args.extend([low, high]);
            }
            let mut rest = Dwords::new();
            match &ways[way] {
                Way::Return => rest = words,
                Way::Call { layout, .. } => {
                    for (place, &word) in layout.places.iter().zip(&words) {
                        if in_sgpr(place) { args.push(word) } else { rest.push(word) }
                    }
                }
            }
            while args.len() < numbered + pointers + scalars {
                args.push(self.b.i32(0));
            }
            args.extend(rest);
            while args.len() < numbered + pointers + scalars + vectors {
                args.push(self.b.poison(Type::I32));
            }
            self.b.jump(exit, &args);
        }
        self.b.block = exit;
        let mut params = |count: usize| -> Dwords {
            (0..count).map(|_| self.b.func.add_block_param(exit, Type::I32)).collect()
        };
        let keys = params(numbered + pointers + scalars);
        let words = params(vectors);
        let out = Ways { ways: &ways, numbered: numbered > 0, pointers, keys, words };
        let ty = self.result_type(self.old.ret)?;
        let end = self.b.new_block();
        let result = (ty != Type::Void).then(|| self.b.func.add_block_param(end, ty));
        if out.keys.is_empty() {
            self.take_way(&out, &[], |l, way| l.leave_for_good(&out, way, &[], ty, end));
        } else {
            self.decide(&out, ty, end);
        }
        self.b.block = end;
        self.terminate(InstKind::Ret { value: result });
        Ok(())
    }

    /// From the exit: all lanes go the same way, or each way its lanes.
    fn decide(&mut self, out: &Ways<'_>, ty: Type, end: Block) {
        let [together, head, body, latch, done] = [(); 5].map(|()| self.b.new_block());
        let first = self.first_keys(out);
        let same = self.has_keys(out, &first);
        let every = self.b.bool(true);
        let [same, every] = [same, every].map(|lanes| self.wave_mask(Intrinsic::Ballot, &[lanes]));
        let all = self.b.icmp(IntPredicate::Eq, same, every);
        self.b.branch(all, BlockCall::to(together), BlockCall::to(head));
        self.b.block = together;
        self.take_way(out, &first, |l, way| l.leave_for_good(out, way, &first, ty, end));
        self.b.block = head;
        let first = self.first_keys(out);
        let mine = self.has_keys(out, &first);
        let undefined = (ty != Type::Void).then(|| self.b.poison(ty));
        let without: SmallVec<[Value; 4]> = undefined.into_iter().collect();
        self.b.branch(mine, BlockCall::to(body), BlockCall { block: latch, args: without });
        self.b.block = body;
        let taken = self.b.new_block();
        let result = (ty != Type::Void).then(|| self.b.func.add_block_param(taken, ty));
        self.take_way(out, &first, |l, way| {
            let result = match &out.ways[way] {
                Way::Return => l.returned(out, ty),
                Way::Call { callee, layout } => {
                    let (callee, words) = l.call_of(out, *callee, layout, &first);
                    l.push_call(callee, &words, ty, CallLayout { tail: false, ..layout.clone() })
                }
            };
            let args: SmallVec<[Value; 1]> = result.into_iter().collect();
            l.b.jump(taken, &args);
        });
        self.b.block = taken;
        let with: SmallVec<[Value; 1]> = result.into_iter().collect();
        self.b.jump(latch, &with);
        self.b.block = latch;
        let result = (ty != Type::Void).then(|| self.b.func.add_block_param(latch, ty));
        // Computed anew, so that the calls stay inside of the loop, where `first` is the same in all lanes.
        let left = self.has_keys(out, &first);
        self.b.branch(left, BlockCall::to(done), BlockCall::to(head));
        self.b.block = done;
        let args: SmallVec<[Value; 1]> = result.into_iter().collect();
        self.b.jump(end, &args);
    }

    fn first_keys(&mut self, out: &Ways<'_>) -> Dwords {
        out.keys.iter().map(|&key| self.b.intrinsic(Intrinsic::Readfirstlane, &[key], Type::I32)).collect()
    }

    /// Whether a lane has the keys `first`.
    fn has_keys(&mut self, out: &Ways<'_>, first: &[Value]) -> Value {
        let mut differs = self.b.i32(0);
        for (&key, &first) in out.keys.iter().zip(first) {
            let other = self.b.xor(key, first);
            differs = self.b.or(differs, other);
        }
        self.b.icmp_imm(IntPredicate::Eq, differs, 0)
    }

    /// Branches from the current block to the way that the first key names; `take` fills the block of a way and ends it.
    fn take_way(&mut self, out: &Ways<'_>, first: &[Value], mut take: impl FnMut(&mut Self, usize)) {
        for way in 0..out.ways.len() {
            let number = first.first().filter(|_| out.numbered && way + 1 < out.ways.len());
            let Some(&number) = number else { return take(self, way) };
            let [this, next] = [(); 2].map(|()| self.b.new_block());
            let is_this = self.b.icmp_imm(IntPredicate::Eq, number, way as u64);
            self.b.branch(is_this, BlockCall::to(this), BlockCall::to(next));
            self.b.block = this;
            take(self, way);
            self.b.block = next;
        }
    }

    /// All lanes take this way.
    fn leave_for_good(&mut self, out: &Ways<'_>, way: usize, first: &[Value], ty: Type, end: Block) {
        match &out.ways[way] {
            Way::Return => {
                let args: SmallVec<[Value; 1]> = self.returned(out, ty).into_iter().collect();
                self.b.jump(end, &args);
            }
            Way::Call { callee, layout } => {
                let (callee, words) = self.call_of(out, *callee, layout, first);
                let value = self.push_call(callee, &words, ty, CallLayout { tail: true, ..layout.clone() });
                self.terminate(InstKind::Ret { value });
            }
        }
    }

    /// The result of lanes that return by themselves.
    fn returned(&mut self, out: &Ways<'_>, ty: Type) -> Option<Value> {
        let dwords = match ty {
            Type::Void => 0,
            ty => ty.lanes() as usize,
        };
        self.result_of(&out.words[..dwords.min(out.words.len())])
    }

    /// Callee and arguments of a way.
    fn call_of(
        &mut self,
        out: &Ways<'_>,
        callee: Callee,
        layout: &CallLayout,
        first: &[Value],
    ) -> (Callee, Dwords) {
        let at = usize::from(out.numbered);
        let callee = match (callee, first.get(at..at + out.pointers)) {
            (Callee::Indirect(_), Some(&[low, high])) => Callee::Indirect(self.b.join64(low, high)),
            _ => callee,
        };
        let mut scalars = first.iter().skip(at + out.pointers);
        let mut vectors = out.words.iter();
        let words = layout.places.iter().map_while(|place| match place {
            Place::Register(register) if !register.is_vgpr() => scalars.next().copied(),
            _ => vectors.next().copied(),
        });
        (callee, words.collect())
    }
}

/// What the exit decides by.
struct Ways<'a> {
    ways: &'a [Way],
    /// Whether the first key is the number of the way.
    numbered: bool,
    /// Keys that are halves of a pointer: none or two.
    pointers: usize,
    keys: Dwords,
    /// Arguments in VGPRs and on the stack, or the result.
    words: Dwords,
}
