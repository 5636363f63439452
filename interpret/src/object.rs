//! Runs the bytes of a code object with a record of who wrote what: the last stage.
//!
//! [`sim::run_on`] judges the same bytes and knows more (caches, the order of work-groups); what is here is for comparing with the stages before and
//! for naming the instruction that wrote a wrong byte. Numbers of instructions are offsets in the image.

use crate::machine::Description;
use crate::record::{LdsHistory, Outcome, Recorder, Site, Stop, StopKind, Trace};
use sim::exec::Exec;
use sim::report::{Kind, Report};
use sim::wave::{Status, Wave};
use sim::{Memory, Prepared};

/// Instructions of a turn.
const TURN: u32 = 20_000;

/// Runs all work-groups of `prepared`. `fuel` bounds the instructions of all waves.
pub fn run(prepared: &Prepared<'_>, memory: &mut Memory, fuel: u64) -> Outcome {
    let mut trace = Trace::new(memory, prepared);
    let mut lds = Vec::new();
    let (mut left, mut stop) = (fuel, None);
    for (number, id) in prepared.groups().enumerate() {
        let mut history = LdsHistory::new(number as u32, prepared.waves(id));
        let at = Site::default();
        let result = group(prepared, memory, &mut trace, &mut history, &mut left, &at, id);
        lds.push(history);
        if let Err(report) = result {
            stop = Some(stopped(&report, id, at.wave.get(), describe(prepared, at.site.get())));
            break;
        }
    }
    Outcome::new(memory, trace, lds, stop, fuel - left)
}

/// A report as the end of a run.
pub fn stopped(report: &Report, group: [u32; 3], wave: u32, place: Description) -> Stop {
    let kind = match report.kind {
        Kind::Budget => StopKind::Fuel,
        _ => StopKind::Fault,
    };
    let message = format!("{}: {}", report.kind.name(), report.message);
    Stop { kind, message, group, wave, place }
}

/// The instruction at an offset in the image.
pub fn describe(prepared: &Prepared<'_>, site: u32) -> Description {
    let kernel = prepared.kernel();
    let offset = u64::from(site).wrapping_sub(kernel.entry);
    Description {
        function: kernel.name.clone(),
        block: format!("at +0x{offset:x}"),
        instruction: match prepared.program().op(site.into()) {
            Ok(op) => op.text(prepared.program().target()),
            Err(report) => report.message,
        },
    }
}

fn group(
    prepared: &Prepared<'_>,
    memory: &mut Memory,
    trace: &mut Trace,
    history: &mut LdsHistory,
    fuel: &mut u64,
    at: &Site,
    id: [u32; 3],
) -> Result<(), Box<Report>> {
    let (mut waves, mut state) = prepared.start(memory, id);
    trace.start_group(state.lds.len());
    history.start(&state);
    let trace = &*trace;
    let mut bus = Recorder::new(memory, trace, at, history.group());
    let mut exec = Exec::new(&mut bus, prepared.launch(), prepared.config());
    loop {
        for wave in &mut waves {
            at.wave.set(wave.index);
            turn(prepared, wave, &mut exec, &mut state, fuel, at)?;
        }
        if waves.iter().any(|w| w.status == Status::Running) {
            continue;
        }
        history.note(&state, trace);
        let done = waves.iter().filter(|w| w.status == Status::Done).count();
        if done == waves.len() {
            return Ok(());
        }
        if done > 0 {
            return Err(Report::new(Kind::Barrier, "some waves have ended while others wait at a barrier"));
        }
        let time = waves.iter().map(|w| w.time).max().unwrap_or(0);
        for wave in &mut waves {
            wave.time = time;
            wave.status = Status::Running;
        }
        if let Some(races) = &mut state.races {
            races.barrier(waves.iter().map(|w| w.waits.done_by_path()));
        }
    }
}

fn turn(
    prepared: &Prepared<'_>,
    wave: &mut Wave,
    exec: &mut Exec<'_>,
    state: &mut sim::exec::Group,
    fuel: &mut u64,
    at: &Site,
) -> Result<(), Box<Report>> {
    for _ in 0..TURN {
        match wave.status {
            Status::Running => {}
            Status::Gws(_) => return Err(Report::new(Kind::BadInstruction, "global wave sync")),
            Status::Barrier(_) | Status::Done => return Ok(()),
        }
        if *fuel == 0 {
            return Err(Report::new(Kind::Budget, "the instruction budget is used up: a wave may not end"));
        }
        *fuel -= 1;
        at.site.set(wave.pc as u32);
        let op = prepared.program().op(wave.pc)?;
        exec.step(wave, state, op)?;
    }
    Ok(())
}
