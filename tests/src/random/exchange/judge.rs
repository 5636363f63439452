//! Compiles programs, runs them on the simulator and compares with what they must leave.

use super::evaluate::evaluate;
use super::reduce::reduce;
use super::*;
use crate::measure::Compiler;
use crate::random::judged::{Judged, Problem, hex};
use crate::toolchain::Machine;
use sim::{Arg, BufferId, Checks, CodeObject, Config, Dispatch, Memory};

impl Exchange {
    /// Memory, the buffer of outputs, those of the regions that are no LDS, and the dispatch that runs kernel `k`.
    fn launch(&self) -> (Memory, BufferId, Vec<Option<BufferId>>, Dispatch) {
        let mut memory = Memory::new();
        let (_, stride) = self.slots();
        let out = memory.add_buffer("out", vec![0; (self.groups * self.items) as usize * stride]);
        let mut args = vec![Arg::Buffer(out), Arg::Buffer(memory.add_buffer("in", self.input.clone()))];
        let mut buffers = Vec::new();
        for region in &self.regions {
            let buffer = (!region.lds).then(|| memory.add_buffer("region", region.start.clone()));
            args.extend(buffer.map(Arg::Buffer));
            buffers.push(buffer);
        }
        args.extend(self.trips.iter().map(|trips| Arg::Value(trips.to_le_bytes().to_vec())));
        let dispatch = Dispatch {
            kernel: "k".to_owned(),
            grid: [self.items * self.groups, 1, 1],
            group: [self.items, 1, 1],
            args,
            ..Dispatch::default()
        };
        (memory, out, buffers, dispatch)
    }
}

impl Judged for Exchange {
    fn text(&self) -> String {
        self.text()
    }

    fn judge(&self, object: &CodeObject, checks: Checks) -> Result<(), Problem> {
        let expected =
            evaluate(self).map_err(|_| Problem::Refused("the program itself has a race".to_owned()))?;
        let (mut memory, out, buffers, dispatch) = self.launch();
        let config = Config { budget: 20_000_000, threads: 1, checks, ..Config::default() };
        sim::run(object, &mut memory, &dispatch, &config)
            .map_err(|report| Problem::Stopped(report.kind, report.to_string()))?;
        let (slots, stride) = self.slots();
        let first = |got: &[u8], want: &[u8]| got.iter().zip(want).position(|(a, b)| a != b);
        if let Some(at) = first(memory.bytes(out), &expected.out) {
            let var = slots.iter().rposition(|&slot| slot <= at % stride).unwrap_or(0);
            let (item, items) = (at / stride, self.items as usize);
            let place = item * stride + slots[var]..item * stride + slots[var] + self.vars[var].bytes();
            return Err(Problem::Wrong(format!(
                "variable {var} of work-item {} in work-group {}: {} instead of {}",
                item % items,
                item / items,
                hex(&memory.bytes(out)[place.clone()]),
                hex(&expected.out[place])
            )));
        }
        for (number, (buffer, want)) in buffers.iter().zip(&expected.regions).enumerate() {
            if let Some(at) = buffer.and_then(|buffer| first(memory.bytes(buffer), want)) {
                let region = self.regions[number].bytes as usize;
                return Err(Problem::Wrong(format!(
                    "byte {} of buffer {number} in work-group {} is wrong",
                    at % region,
                    at / region
                )));
            }
        }
        Ok(())
    }

    fn reduce(&self, fails: &dyn Fn(&Self) -> bool) -> Self {
        reduce(self, fails)
    }
}

/// Makes the program of a seed, compiles it for `machine`, after `passes` of opt where they are given, and runs it: the first of `levels` at which it goes
/// wrong, with a smaller program that does, too.
///
/// # Errors
/// What is wrong.
pub fn check_exchange<'a>(
    seed: u64,
    compiler: Compiler,
    machine: impl Into<Machine<'a>>,
    levels: &[u8],
    passes: Option<&str>,
) -> Result<(), String> {
    let machine = machine.into();
    let form = ExchangeForm { wave: machine.target()?.wave_size(), convergent: passes.is_some() };
    exchange(seed, form).check_levels(seed, compiler, machine, levels, passes)
}
