//! Runs the work-groups of a dispatch, one after the other: waves in turns, each until it waits at a barrier.

use super::Program;
use super::fault::{Cause, Fault};
use super::run::{Pause, Runner, Shared};
use crate::record::{LdsHistory, Outcome, Recorder, Site, Trace};
use mir::abi::call::STACK_POINTER;
use mir::ir::Func;
use mir::machine::{EntryValue, Function, PReg, RegFile};
use mir::target::Target;
use sim::exec::Exec;
use sim::wave::Wave;
use sim::{Memory, Prepared};

/// Instructions of a turn: a wave that waits for another by looking at memory must let it run.
const TURN: u64 = 20_000;

/// How the finished kernel starts, which earlier stages must agree with.
#[derive(Clone, Debug)]
pub struct KernelEntry {
    /// The IR function.
    func: Func,
    /// Entry values by the registers in which the command processor puts them.
    values: Vec<(EntryValue, PReg)>,
    /// Whether the prolog makes FLAT_SCRATCH.
    flat_scratch: bool,
    /// The stack pointer that the prolog makes, where it makes one.
    stack_pointer: Option<u32>,
}

impl KernelEntry {
    /// The entry of a finished kernel.
    pub fn new(kernel: &Function) -> Self {
        let stack = !kernel.calls.is_empty() || kernel.dynamic_stack;
        // The command processor knows nothing of what the prolog copies.
        let mut given = kernel.entry.clone();
        given.layout.resource = None;
        Self {
            func: kernel.source,
            values: given.registers().into_iter().map(|(value, first, _)| (value, first)).collect(),
            flat_scratch: kernel.uses_flat_scratch,
            stack_pointer: stack.then(|| kernel.resources.scratch_bytes.wrapping_mul(kernel.bytes_in_base())),
        }
    }

    /// The register that holds `value` at the start.
    fn register(&self, value: EntryValue) -> Option<PReg> {
        self.values.iter().find(|(v, _)| *v == value).map(|(_, first)| *first)
    }

    /// A wave at the start of `f`, a stage of the kernel, made from one that is as the command processor leaves it. What the prolog would do is
    /// done.
    fn start(&self, hardware: &Wave, f: &Function, target: &Target, seed: u64) -> Wave {
        let mut wave = hardware.clone();
        wave.reset(seed, 256);
        wave.set_exec(hardware.exec());
        let offset = self.register(EntryValue::ScratchWaveOffset).map(|reg| hardware.s[usize::from(reg.0)]);
        for (value, first, _) in f.entry.registers() {
            let Some(from) = self.register(value) else { continue };
            for d in 0..u16::from(value.dwords()) {
                let (to, from) = (first.plus(d), from.plus(d));
                match (value.file(), to.vgpr_index(), from.vgpr_index()) {
                    (RegFile::Vgpr, Some(to), Some(from)) => {
                        wave.set_v(usize::from(to), hardware.v[usize::from(from)]);
                    }
                    _ => wave.set_s(to, hardware.s[usize::from(from.0)]),
                }
            }
            if let (EntryValue::PrivateSegmentBuffer, Some(offset)) = (value, offset) {
                let base = wave.pair(first).wrapping_add(offset.into());
                wave.set_pair(first, base, 0);
            }
        }
        if let (true, Some(init), Some(offset)) =
            (self.flat_scratch, self.register(EntryValue::FlatScratchInit), offset)
        {
            let init = hardware.pair(init);
            let value = if target.limits().flat_scratch.is_address() {
                init.wrapping_add(offset.into())
            } else {
                // Size in the low dword, offset in units of 256 bytes in the high one.
                init >> 32 | u64::from((init as u32).wrapping_add(offset) >> 8) << 32
            };
            wave.set_pair(PReg::FLAT_SCRATCH_LO, value, 0);
        }
        if let Some(value) = self.stack_pointer {
            wave.set_s(STACK_POINTER, value);
        }
        wave
    }
}

/// Runs all work-groups of `prepared` with the code of `program` in the place of the object's. `fuel` bounds the instructions of all waves.
pub fn run(
    program: &Program<'_>,
    entry: &KernelEntry,
    prepared: &Prepared<'_>,
    memory: &mut Memory,
    fuel: u64,
) -> Outcome {
    let mut trace = Trace::new(memory, prepared);
    let mut lds = Vec::new();
    let mut left = fuel;
    let mut stop = None;
    for (number, id) in prepared.groups().enumerate() {
        let mut history = LdsHistory::new(number as u32, prepared.waves(id));
        let result = group(program, entry, prepared, memory, &mut trace, &mut history, &mut left, id);
        lds.push(history);
        if let Err(fault) = result {
            let description = program.describe(fault.site);
            stop = Some(fault.into_stop(description));
            break;
        }
    }
    Outcome::new(memory, trace, lds, stop, fuel - left)
}

fn group(
    program: &Program<'_>,
    entry: &KernelEntry,
    prepared: &Prepared<'_>,
    memory: &mut Memory,
    trace: &mut Trace,
    history: &mut LdsHistory,
    fuel: &mut u64,
    id: [u32; 3],
) -> Result<(), Fault> {
    let (hardware, state) = prepared.start(memory, id);
    let at = Site::default();
    let fault =
        |at: &Site, cause: Cause| Fault { cause, group: id, wave: at.wave.get(), site: at.site.get() };
    let Some(index) = program.index_of(entry.func) else {
        return Err(fault(&at, Cause::Malformed("the kernel is not in the program".into())));
    };
    let kernel = program.functions[index].function;
    let (seed, target) = (prepared.config().seed, &prepared.launch().target);
    trace.start_group(state.lds.len());
    history.start(&state);
    let trace = &*trace;
    let mut bus = Recorder::new(memory, trace, &at, history.group());
    let mut shared = Shared {
        exec: Exec::new(&mut bus, prepared.launch(), prepared.config()),
        group: state,
        site: &at.site,
        fuel: *fuel,
    };
    let mut waves = Vec::with_capacity(hardware.len());
    for wave in &hardware {
        at.wave.set(wave.index);
        let wave = entry.start(wave, kernel, target, seed);
        waves.push(Runner::new(program, wave, index, seed).map_err(|cause| fault(&at, cause))?);
    }
    let mut states = vec![Pause::Turn; waves.len()];
    loop {
        for (n, (wave, state)) in waves.iter_mut().zip(&mut states).enumerate() {
            if *state == Pause::Turn {
                at.wave.set(n as u32);
                *state = wave.run(&mut shared, TURN).map_err(|cause| fault(&at, cause))?;
            }
        }
        if states.contains(&Pause::Turn) {
            continue;
        }
        *fuel = shared.fuel;
        let done = states.iter().filter(|s| **s == Pause::Done).count();
        history.note(&shared.group, trace);
        if done == waves.len() {
            return Ok(());
        }
        if done > 0 {
            let what = format!("{done} of {} waves have ended while others wait at a barrier", waves.len());
            return Err(fault(&at, Cause::Barrier(what)));
        }
        for (wave, state) in waves.iter_mut().zip(&mut states) {
            wave.wave.status = sim::wave::Status::Running;
            *state = Pause::Turn;
        }
    }
}
