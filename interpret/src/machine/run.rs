//! Runs a wave through a program: which block comes next, with which lanes.
//!
//! Selected code is run instance by instance: the lanes that are furthest behind ([`Schedule`]) execute a block together, then each goes
//! where its bit of a mask says. Physical registers but VGPRs carry nothing from one block to the next, so they are made undefined at its
//! start. Scalars and lane masks will be one register for all lanes: what an instance writes is gone for lanes that are not in it, and
//! arguments of scalar parameters are read when the wave gets to their block.
//!
//! From linearisation on the wave has one place, EXEC is written by the code, and VGPR arguments move where allocation will put
//! their moves: at the end of the body of a block with one successor, else at the start of the body of the target. EXEC must
//! be such that every lane follows the thread graph from block to block up to an end; allocation relies on it.
//!
//! A call runs its callee to the end with the lanes that call. What the convention lets it change is undefined afterwards.

use super::execute::{Flow, define_pair, execute, holds, pair};
use super::fault::{Cause, undefined};
use super::follow::Lanes;
use super::prepare::{Action, BlockCode, Exit, Source, Way};
use super::registers::{Registers, State, physical};
use super::{Code, Program};
use crate::convergence::{Position, Schedule};
use crate::record::MAX_CALLS;
use mir::abi::call::{FRAME_POINTER, RETURN_ADDRESS, STACK_POINTER};
use mir::machine::{CallSite, PReg};
use sim::exec::{Exec, Group};
use sim::report::Kind;
use sim::wave::{MAX_LANES, Status, Wave};
use std::cell::Cell;

/// Why a wave does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pause {
    /// It waits at a barrier.
    Barrier,
    /// It has ended.
    Done,
    /// Its turn is over.
    Turn,
}

/// Where a function is.
enum Control<'p> {
    /// Lanes by themselves; the block that runs with its lanes and the next instruction; and those that wait, with the edges on which they came.
    Threads { waiting: Schedule, current: Option<(Position, u64, usize)>, on_way: Vec<(u64, &'p Way)> },
    /// The wave: block and next instruction.
    Wave { block: u32, next: usize },
}

/// A function that runs.
struct Frame<'p> {
    code: usize,
    registers: Registers,
    control: Control<'p>,
    lanes: Lanes,
    /// Where it must return to; `None` in the kernel.
    link: Option<u64>,
    /// The caller's registers, and the call.
    caller: Option<(Box<Wave>, CallSite)>,
}

/// A wave that runs a program.
pub(super) struct Runner<'p> {
    program: &'p Program<'p>,
    pub wave: Wave,
    frames: Vec<Frame<'p>>,
    /// The region of other lanes that it is in: where its lanes are.
    region: Option<[super::prepare::Source; 2]>,
    seed: u64,
}

/// What all waves of a run share.
pub(super) struct Shared<'s, 'e> {
    pub exec: Exec<'e>,
    pub group: Group,
    /// The instruction that is executed.
    pub site: &'s Cell<u32>,
    /// Instructions that may still be executed.
    pub fuel: u64,
}

impl<'p> Runner<'p> {
    /// `wave` at the start of the function with index `code`; its entry values are in the registers that the function expects.
    pub fn new(program: &'p Program<'p>, wave: Wave, code: usize, seed: u64) -> Result<Self, Cause> {
        let mut this = Self { program, wave, frames: Vec::new(), region: None, seed };
        this.enter(code, None)?;
        Ok(this)
    }

    fn enter(&mut self, index: usize, caller: Option<(Box<Wave>, CallSite)>) -> Result<(), Cause> {
        if self.frames.len() >= MAX_CALLS {
            return Err(Cause::TooDeep(MAX_CALLS));
        }
        let code = &self.program.functions[index];
        let mut registers = Registers::new(&code.numbering);
        let mut state = State {
            wave: &mut self.wave,
            registers: &mut registers,
            numbering: &code.numbering,
            threads: self.program.threads,
            seed: self.seed,
        };
        for (first, places) in &code.entry_values {
            for (d, &place) in places.iter().enumerate() {
                let from = physical(first.plus(d as u16));
                if place.is_vector() {
                    let (value, undef) = state.vector(from)?;
                    let lanes = if state.threads { state.wave.exec() } else { !0 };
                    state.set_vector(place, &value, &undef, lanes);
                } else {
                    let (value, undef) = state.scalar(from)?;
                    state.set_scalar(place, value, undef);
                }
            }
        }
        let control = match &code.convergence {
            Some(convergence) => {
                let mut waiting = Schedule::new();
                waiting.arrive(convergence.start(), self.wave.exec());
                Control::Threads { waiting, current: None, on_way: Vec::new() }
            }
            None if self.program.threads => return Err(no_block()),
            None => Control::Wave { block: code.entry, next: 0 },
        };
        let lanes = Lanes::entering(self.wave.exec());
        let link = caller.is_some().then(|| return_address(self.frames.len()));
        self.frames.push(Frame { code: index, registers, control, lanes, link, caller });
        Ok(())
    }

    /// Runs until the wave waits, has ended, or has executed `turn` instructions.
    pub fn run(&mut self, shared: &mut Shared<'_, '_>, turn: u64) -> Result<Pause, Cause> {
        let limit = shared.fuel.saturating_sub(turn);
        loop {
            if shared.fuel == 0 {
                return Err(Cause::Fuel);
            }
            if shared.fuel <= limit && limit > 0 {
                return Ok(Pause::Turn);
            }
            if self.frames.is_empty() {
                return Ok(Pause::Done);
            }
            if self.program.threads {
                self.threads_block(shared)?
            } else {
                self.wave_block(shared)?
            }
            match self.wave.status {
                Status::Running => {}
                Status::Barrier(_) => return Ok(Pause::Barrier),
                Status::Done => {
                    self.frames.clear();
                    return Ok(Pause::Done);
                }
                Status::Gws(_) => return Err(Cause::Unsupported("global wave sync".into())),
            }
        }
    }

    /// Runs instructions from `next` on; the number of the one before which it stopped, and a call to make.
    fn steps(
        &mut self,
        shared: &mut Shared<'_, '_>,
        block: &BlockCode,
        next: usize,
        end: usize,
    ) -> Result<(usize, Option<Flow>), Cause> {
        let program = self.program;
        let Some(frame) = self.frames.last_mut() else { return Ok((end, None)) };
        let code = &program.functions[frame.code];
        let mut state = State {
            wave: &mut self.wave,
            registers: &mut frame.registers,
            numbering: &code.numbering,
            threads: program.threads,
            seed: self.seed,
        };
        for k in next..end {
            let step = &block.steps[k];
            shared.site.set(block.first_site + k as u32);
            if shared.fuel == 0 {
                return Err(Cause::Fuel);
            }
            shared.fuel -= 1;
            let own = state.wave.exec();
            let other = self.region.filter(|_| step.other_lanes);
            if let Some(mask) = other {
                let (mask, _) = pair(&state, mask)?;
                state.wave.set_exec(mask);
            }
            let flow = execute(&mut state, &mut shared.exec, &mut shared.group, &step.action)?;
            if other.is_some() {
                state.wave.set_exec(own);
            }
            match step.action {
                Action::LanesBegin { .. } if program.threads => {
                    return Err(Cause::Malformed("a region of other lanes before linearisation".into()));
                }
                Action::LanesBegin { mask, .. } => self.region = Some(mask),
                Action::LanesEnd => self.region = None,
                _ => {}
            }
            if flow != Flow::Next {
                return Ok((k + 1, Some(flow)));
            }
            if state.wave.status != Status::Running {
                return Ok((k + 1, None));
            }
        }
        Ok((end, None))
    }

    /// Runs the rest of the current block, or the next one, of selected code.
    fn threads_block(&mut self, shared: &mut Shared<'_, '_>) -> Result<(), Cause> {
        let program = self.program;
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        let code = &program.functions[frame.code];
        let Control::Threads { waiting, current, on_way } = &mut frame.control else { return Ok(()) };
        let (position, lanes, next) = match current.take() {
            Some(current) => current,
            None => match waiting.next() {
                Some((position, lanes)) => {
                    // Nothing but VGPRs and virtual registers lives longer than a block.
                    self.wave.scc_undef = true;
                    for reg in [PReg::VCC_LO, PReg::VCC_HI, PReg::M0] {
                        self.wave.su[usize::from(reg.0)] = !0;
                    }
                    let mut state = State {
                        wave: &mut self.wave,
                        registers: &mut frame.registers,
                        numbering: &code.numbering,
                        threads: true,
                        seed: self.seed,
                    };
                    // Scalar arguments arrive with the wave, when their block runs: until then others may overwrite them.
                    on_way.retain(|(mask, way)| {
                        let here = mask & lanes != 0;
                        if here {
                            state.wave.set_exec(*mask);
                            state.pass(&way.scalars, *mask);
                        }
                        !here
                    });
                    if let Some(block) = code.blocks.get(position.block() as usize) {
                        state.entered(&block.scalars, lanes);
                    }
                    (position, lanes, 0)
                }
                None => return self.leave(),
            },
        };
        self.wave.set_exec(lanes);
        let Some(block) = code.blocks.get(position.block() as usize) else { return Err(no_block()) };
        let count = block.steps.len();
        let (done, flow) = self.steps(shared, block, next, count)?;
        if flow.is_some() || done < count || self.wave.status != Status::Running {
            if let Some(Frame { control: Control::Threads { current, .. }, .. }) = self.frames.last_mut() {
                *current = Some((position, lanes, done));
            }
            return flow.map_or(Ok(()), |flow| self.call(flow));
        }
        shared.site.set(block.first_site + count as u32);
        self.part(shared, code, block, &position, lanes)
    }

    /// Sends the lanes of an instance of a block on their ways.
    fn part(
        &mut self,
        shared: &mut Shared<'_, '_>,
        code: &Code<'_>,
        block: &'p BlockCode,
        position: &Position,
        lanes: u64,
    ) -> Result<(), Cause> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        shared.fuel = shared.fuel.saturating_sub(1);
        let mut state = State {
            wave: &mut self.wave,
            registers: &mut frame.registers,
            numbering: &code.numbering,
            threads: true,
            seed: self.seed,
        };
        let taken = match block.exit {
            Some(Exit::Jump) => lanes,
            Some(Exit::Uniform(condition)) => {
                if holds(&state, condition)? {
                    lanes
                } else {
                    0
                }
            }
            Some(Exit::Divergent(mask)) => {
                let (value, undef) = state.mask(mask)?;
                if undef & lanes != 0 {
                    let lane = (undef & lanes).trailing_zeros();
                    let what = format!("where lane {lane} goes depends on an undefined bit");
                    return Err(undefined(Kind::UndefBranch, &what));
                }
                value & lanes
            }
            Some(Exit::End) => return Ok(()),
            Some(Exit::Return(address)) => return returns_to(&state, address, frame.link),
            Some(Exit::Unreachable) => return Err(Cause::Unreachable),
            None => return Err(Cause::Malformed("a branch without a mask".into())),
        };
        let (Control::Threads { waiting, on_way, .. }, Some(convergence)) =
            (&mut frame.control, &code.convergence)
        else {
            return Ok(());
        };
        for (way, mask) in block.ways.iter().zip([taken, lanes & !taken]) {
            if mask != 0 {
                state.pass(&way.moves, mask);
                if !way.scalars.is_empty() {
                    on_way.push((mask, way));
                }
                waiting.arrive(convergence.advance(position, way.block), mask);
            }
        }
        Ok(())
    }

    /// Runs the rest of the current block of code with EXEC.
    fn wave_block(&mut self, shared: &mut Shared<'_, '_>) -> Result<(), Cause> {
        let program = self.program;
        let Some(Frame { code, control: Control::Wave { block: at, next }, .. }) = self.frames.last() else {
            return Ok(());
        };
        let (code, at, mut next) = (&program.functions[*code], *at, *next);
        let Some(block) = code.blocks.get(at as usize) else { return Err(no_block()) };
        let count = block.steps.len();
        let parts =
            [(block.head_len, Some(&block.starts)), (block.tail_start, Some(&block.ends)), (count, None)];
        for (part, (end, moves)) in parts.into_iter().enumerate() {
            if next > end {
                continue;
            }
            let (done, flow) = self.steps(shared, block, next, end)?;
            next = done;
            if flow.is_some() || self.wave.status != Status::Running {
                self.go_to(at, done);
                return flow.map_or(Ok(()), |flow| self.call(flow));
            }
            let exec = self.wave.exec();
            if let (0, true, Some(frame)) = (part, block.has_lanes, self.frames.last_mut()) {
                shared.site.set(block.first_site + done as u32);
                frame.lanes.arrive(code, at, exec)?;
            }
            if let (Some(moves), Some(mut state)) = (moves.filter(|m| !m.is_empty()), self.state()) {
                let lanes = state.wave.exec();
                state.pass(moves, lanes);
            }
        }
        shared.site.set(block.first_site + count as u32);
        shared.fuel = shared.fuel.saturating_sub(1);
        self.take_way(at, block)
    }

    /// The wave leaves `block`.
    fn take_way(&mut self, at: u32, block: &BlockCode) -> Result<(), Cause> {
        let link = self.frames.last().and_then(|frame| frame.link);
        if let (Some(Exit::End | Exit::Return(_)), Some(frame)) = (block.exit, self.frames.last()) {
            frame.lanes.end(&self.program.functions[frame.code], at)?;
        }
        let Some(mut state) = self.state() else { return Ok(()) };
        let way = match block.exit {
            Some(Exit::Jump) => 0,
            Some(Exit::Uniform(condition)) => usize::from(!holds(&state, condition)?),
            Some(Exit::End) => {
                state.wave.status = Status::Done;
                return Ok(());
            }
            Some(Exit::Return(address)) => {
                returns_to(&state, address, link)?;
                return self.leave();
            }
            Some(Exit::Unreachable) => {
                // Without lanes nobody gets there.
                if state.wave.exec() != 0 {
                    return Err(Cause::Unreachable);
                }
                state.wave.status = Status::Done;
                return Ok(());
            }
            Some(Exit::Divergent(_)) | None => {
                return Err(Cause::Malformed("lanes part, but the code is structured".into()));
            }
        };
        let Some(way) = block.ways.get(way) else { return Err(no_block()) };
        state.pass(&way.moves, !0);
        self.go_to(way.block, 0);
        Ok(())
    }

    fn state(&mut self) -> Option<State<'_>> {
        let frame = self.frames.last_mut()?;
        Some(State {
            wave: &mut self.wave,
            registers: &mut frame.registers,
            numbering: &self.program.functions[frame.code].numbering,
            threads: self.program.threads,
            seed: self.seed,
        })
    }

    fn go_to(&mut self, block: u32, next: usize) {
        if let Some(Frame { control, .. }) = self.frames.last_mut() {
            *control = Control::Wave { block, next };
        }
    }

    fn call(&mut self, flow: Flow) -> Result<(), Cause> {
        let Flow::Call { target, link, site } = flow else { return Ok(()) };
        let Some(&index) = self.program.by_address.get(&target) else {
            return Err(Cause::NoFunction(target));
        };
        let back = return_address(self.frames.len());
        let sites = self.frames.last().map(|frame| &self.program.functions[frame.code].function.calls);
        let site = sites.and_then(|sites| sites.get(site)).cloned().unwrap_or_default();
        if let Some(mut state) = self.state() {
            define_pair(&mut state, link, back);
        }
        let caller = Box::new(self.wave.clone());
        let code = &self.program.functions[index];
        if code.moves_stack {
            let [sp, fp] = [STACK_POINTER, FRAME_POINTER].map(|reg| usize::from(reg.0));
            let wave = &mut self.wave;
            (wave.s[fp], wave.su[fp]) = (wave.s[sp], wave.su[sp]);
            wave.s[sp] =
                wave.s[sp].wrapping_add(code.frame_bytes.wrapping_mul(code.function.bytes_in_base()));
        }
        self.enter(index, Some((caller, site)))
    }

    /// The function that runs has ended: back to its caller, or the end of the wave.
    fn leave(&mut self) -> Result<(), Cause> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let Some((caller, site)) = frame.caller else {
            self.wave.status = Status::Done;
            return Ok(());
        };
        let callee = &self.program.functions[frame.code].function;
        let lanes = caller.exec();
        let wave = &mut self.wave;
        wave.set_exec(lanes);
        for n in 0..=PReg::VCC_HI.0 {
            let reg = PReg(n);
            let i = usize::from(n);
            let keeps = n < 4
                || [STACK_POINTER, FRAME_POINTER].contains(&reg)
                || reg.sgpr_index().is_some() && callee.saves(reg)
                || (PReg::FLAT_SCRATCH_LO.0..PReg::VCC_LO.0).contains(&n)
                || site.changes.is_some() && site.keeps(reg);
            if keeps {
                (wave.s[i], wave.su[i]) = (caller.s[i], caller.su[i]);
            } else {
                wave.su[i] = !0;
            }
        }
        wave.su[usize::from(PReg::M0.0)] = !0;
        wave.su[usize::from(RETURN_ADDRESS.0)] = !0;
        wave.scc_undef = true;
        for n in 0..256u16 {
            let i = usize::from(n);
            let undef = caller.undef_of(i);
            let reg = PReg::vgpr(n);
            if callee.saves(reg) || site.changes.is_some() && site.keeps(reg) {
                wave.write_v(i, &caller.v[i], Some(&undef), !0);
                continue;
            }
            wave.write_v(i, &caller.v[i], Some(&undef), !lanes);
            if n >= u16::from(site.result_dwords) {
                let value = wave.v[i];
                wave.write_v(i, &value, Some(&[!0; MAX_LANES]), lanes);
            }
        }
        Ok(())
    }
}

/// What stands for the address behind a call by which so many functions run: returning leaves the frame.
fn return_address(depth: usize) -> u64 {
    (depth as u64) << 32 | 0x4000
}

/// A function that was called returns to where it was called from.
fn returns_to(state: &State<'_>, address: Option<[Source; 2]>, link: Option<u64>) -> Result<(), Cause> {
    let (Some(address), Some(link)) = (address, link) else { return Ok(()) };
    match pair(state, address)? {
        (value, 0) if value == link => Ok(()),
        _ => Err(Cause::WrongReturn),
    }
}

fn no_block() -> Cause {
    Cause::Malformed("a block, or a part of one, does not exist".into())
}
