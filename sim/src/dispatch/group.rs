//! Runs one work-group: its waves in turns, until each waits at a barrier or has ended.
//!
//! With seed 0 a wave runs until it can go no further (or has used up a long turn), in the order of the waves; with other seeds turns are short and
//! their lengths and order random, so that other interleavings are seen. Either way the result depends on the seed alone.

use super::start::start_wave;
use super::{Run, trace};
use crate::exec::{Exec, Group};
use crate::load::Kernel;
use crate::memory::Bus;
use crate::report::{Checks, Kind, Report, Result, Stats};
use crate::strict::races::Races;
use crate::timing::record::{GroupTrace, Recorder};
use crate::wave::{Status, Wave};

/// Instructions of a turn with seed 0.
const LONG_TURN: u32 = 20_000;
/// Longest turn with other seeds.
const SHORT_TURN: u64 = 61;

/// What the waves of a work-group need, kept from one work-group to the next.
#[derive(Debug)]
pub(super) struct Workspace {
    waves: Vec<Wave>,
    group: Group,
}

impl Workspace {
    /// For the work-groups of `run`.
    pub(super) fn new(run: &Run<'_>) -> Self {
        let target = &run.launch.target;
        let wave = || Wave::new(target.wave(), target.waits().max());
        Self {
            waves: (0..run.setup.shape.waves).map(|_| wave()).collect(),
            group: Group { lds: vec![0; run.setup.lds_bytes as usize], ..Group::default() },
        }
    }
}

/// Turns of waves.
struct Turns {
    state: u64,
    seed: u64,
}

impl Turns {
    fn new(seed: u64, id: [u32; 3]) -> Self {
        let [x, y, z] = id.map(u64::from);
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (x | y << 21 | z << 42).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Self { state: mixed | 1, seed }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % below.max(1)
    }

    /// Which of `waves` waves starts the round.
    fn first(&mut self, waves: usize) -> usize {
        if self.seed == 0 { 0 } else { self.random(waves as u64) as usize }
    }

    fn length(&mut self) -> u32 {
        if self.seed == 0 { LONG_TURN } else { 1 + self.random(SHORT_TURN) as u32 }
    }
}

/// Runs the work-group `id`; `budget` instructions at most. With `record` there is a trace for the model of cycles.
pub(super) fn run_one(
    run: &Run<'_>,
    work: &mut Workspace,
    mem: &mut dyn Bus,
    id: [u32; 3],
    budget: u64,
    record: bool,
) -> Result<(Stats, Option<GroupTrace>)> {
    let live = work.start(run, id);
    let Workspace { waves, group } = work;
    let waves = waves.get_mut(..live).unwrap_or_default();
    let mut exec = Exec::new(mem, run.launch, run.cfg);
    exec.stats = Stats { groups: 1, waves: live as u64, ..Stats::default() };
    if record {
        exec.record = Some(Box::new(Recorder::new(live, run.kernel.entry, &run.launch.target)));
    }
    turns(run, &mut exec, waves, group, budget)?;
    Ok((exec.stats, exec.record.map(|record| record.finish())))
}

impl Workspace {
    /// Puts waves and LDS into the state in which work-group `id` starts; how many waves it has.
    fn start(&mut self, run: &Run<'_>, id: [u32; 3]) -> usize {
        let Self { waves, group } = self;
        let d = run.dispatch;
        group.id = id;
        let fill = |(i, b): (usize, &mut u8)| *b = (i as u8).wrapping_mul(37) ^ run.cfg.seed as u8 ^ 0xa5;
        group.lds.iter_mut().enumerate().for_each(fill);
        group.gws = Default::default();
        group.lds_undef.clear();
        group.lds_undef.resize(group.lds.len(), 0xff);
        let size: [u32; 3] = std::array::from_fn(|k| d.group[k].min(d.grid[k] - id[k] * d.group[k]));
        let items = size.iter().product::<u32>();
        let live = items.div_ceil(run.launch.target.wave_size()) as usize;
        let waves = waves.get_mut(..live).unwrap_or_default();
        let checks = run.cfg.checks;
        let lds = if checks.contains(Checks::RACE) { group.lds.len() } else { 0 };
        let memory = checks.contains(Checks::RACE_GLOBAL);
        let races = live > 1 && (lds > 0 || memory);
        group.races = races.then(|| Box::new(Races::new(lds, live, memory)));
        for (n, w) in waves.iter_mut().enumerate() {
            start_wave(w, n as u32, &size, run, group);
        }
        live
    }

    /// The waves and LDS of work-group `id` at its start.
    pub(super) fn into_started(mut self, run: &Run<'_>, id: [u32; 3]) -> (Vec<Wave>, Group) {
        let live = self.start(run, id);
        self.waves.truncate(live);
        (self.waves, self.group)
    }
}

fn turns(
    run: &Run<'_>,
    exec: &mut Exec<'_>,
    waves: &mut [Wave],
    group: &mut Group,
    mut budget: u64,
) -> Result<()> {
    let kernel = run.kernel;
    let mut turns = Turns::new(run.cfg.seed, group.id);
    let count = waves.len();
    loop {
        let first = turns.first(count);
        for k in 0..count {
            let w = &mut waves[(first + k) % count];
            if let Status::Gws(wait) = w.status
                && group.gws.ready(wait)
            {
                w.status = Status::Running;
            }
            if let (Status::Running, Some(watch)) = (w.status, &run.cfg.watch) {
                watch.check_time().map_err(|r| place(r, kernel, w.pc, None, w, group))?;
            }
            let mut quantum = turns.length();
            while w.status == Status::Running && quantum > 0 {
                quantum -= 1;
                let at = w.pc;
                let op = run.program.op(at).map_err(|r| place(r, kernel, at, None, w, group))?;
                if exec.cfg.trace {
                    let text = op.text(run.program.target());
                    trace(format_args!("w{} +{:#x}: {text}", w.index, at.wrapping_sub(kernel.entry)));
                }
                if run.cfg.skip == Some(at) {
                    exec.stats.missed_waits += u64::from(exec.would_wait(w, op));
                    w.pc = at.wrapping_add(u64::from(op.size));
                    continue;
                }
                let text = || Some(op.text(run.program.target()));
                if let Err(r) = exec.step(w, group, op) {
                    return Err(place(r, kernel, at, text(), w, group));
                }
                if count == 1 && matches!(w.status, Status::Barrier(_)) {
                    w.status = Status::Running;
                }
                budget = budget.saturating_sub(1);
                if budget == 0 {
                    let message = "the instruction budget is used up: a wave may not end";
                    return Err(place(Report::new(Kind::Budget, message), kernel, at, text(), w, group));
                }
            }
        }
        if waves.iter().all(|w| w.status == Status::Done) {
            return Ok(());
        }
        if waves.iter().any(|w| w.status == Status::Running) {
            continue;
        }
        if let Some(w) = waves.iter_mut().find(|w| matches!(w.status, Status::Gws(_))) {
            if let Status::Gws(wait) = w.status
                && group.gws.ready(wait)
            {
                w.status = Status::Running;
                continue;
            }
            let message = "global wave sync that no other wave of the work-group ends: work-groups run one after the other here";
            return Err(place(
                Report::new(Kind::Barrier, message),
                kernel,
                w.pc.wrapping_sub(8),
                None,
                w,
                group,
            ));
        }
        release_barrier(exec, waves, group, kernel)?;
        if let Some(order) = exec.mem.order() {
            order.barrier();
        }
        if let Some(races) = &mut group.races {
            races.barrier(waves.iter().map(|w| w.waits.done_by_path()));
        }
    }
}

/// All waves wait at a barrier or have ended: lets them go on.
fn release_barrier(exec: &Exec<'_>, waves: &mut [Wave], group: &Group, kernel: &Kernel) -> Result<()> {
    if exec.checks(Checks::BARRIER) {
        let mut first = None;
        for w in waves.iter() {
            match w.status {
                Status::Barrier(pc) => {
                    if let Some(other) = first.filter(|&p| p != pc) {
                        let entry = kernel.entry;
                        let message = format!(
                            "waves of the work-group wait at different barriers: +0x{:x} and +0x{:x}",
                            u64::wrapping_sub(other, entry),
                            pc.wrapping_sub(entry)
                        );
                        return Err(place(Report::new(Kind::Barrier, message), kernel, pc, None, w, group));
                    }
                    first = Some(pc);
                }
                _ if w.status == Status::Done => {
                    let message = format!("wave {} has ended while others wait at a barrier", w.index);
                    return Err(place(Report::new(Kind::Barrier, message), kernel, w.pc, None, w, group));
                }
                _ => {}
            }
        }
    }
    let time = waves.iter().map(|w| w.time).max().unwrap_or(0);
    for w in waves.iter_mut() {
        if matches!(w.status, Status::Barrier(_)) {
            w.time = time;
            w.status = Status::Running;
        }
    }
    Ok(())
}

fn place(
    mut r: Box<Report>,
    kernel: &Kernel,
    pc: u64,
    text: Option<String>,
    w: &Wave,
    g: &Group,
) -> Box<Report> {
    r.pc = Some(pc.wrapping_sub(kernel.entry));
    r.instruction = text;
    r.wave = Some(w.index);
    r.group = Some(g.id);
    r
}
