//! Compiles programs, runs them on the simulator and compares with what they must leave.

use super::evaluate::evaluate;
use super::reduce::reduce;
use super::*;
use crate::measure::Compiler;
use crate::random::judged::{Judged, Problem, hex};
use crate::toolchain::Machine;
use sim::{Arg, BufferId, Checks, CodeObject, Config, Dispatch, Memory};

impl Loops {
    /// Memory, the buffer of variables, those of arrays that are in memory, and the dispatch that runs kernel `k`.
    fn launch(&self) -> (Memory, BufferId, Vec<Option<BufferId>>, Dispatch) {
        let mut memory = Memory::new();
        let out = memory.add_buffer("out", vec![0; ITEMS * self.vars.len() * 8]);
        let slots = (0..ITEMS).flat_map(|item| self.slots.iter().map(move |(_, values)| values[item]));
        let slots: Vec<u8> = slots.flat_map(u64::to_le_bytes).collect();
        let mut args = vec![Arg::Buffer(out), Arg::Buffer(memory.add_buffer("in", slots))];
        let mut buffers = Vec::new();
        for array in &self.arrays {
            let is_memory = matches!(array.space, Space::Shared { .. } | Space::Own { .. });
            let buffer = is_memory.then(|| memory.add_buffer("array", array.data.clone()));
            args.extend(buffer.map(Arg::Buffer));
            buffers.push(buffer);
        }
        args.extend(
            self.args.iter().map(|(ty, value)| Arg::Value(value.to_le_bytes()[..ty.bytes()].to_vec())),
        );
        let dispatch = Dispatch {
            kernel: "k".to_owned(),
            grid: [ITEMS as u32, 1, 1],
            group: [GROUP as u32, 1, 1],
            args,
            ..Dispatch::default()
        };
        (memory, out, buffers, dispatch)
    }
}

impl Judged for Loops {
    fn text(&self) -> String {
        self.text()
    }

    fn judge(&self, object: &CodeObject, checks: Checks) -> Result<(), Problem> {
        let expected = evaluate(self)
            .map_err(|fault| Problem::Refused(format!("the program itself is wrong: {fault:?}")))?;
        let (mut memory, out, buffers, dispatch) = self.launch();
        let config = Config { budget: 20_000_000, threads: 1, checks, ..Config::default() };
        sim::run(object, &mut memory, &dispatch, &config)
            .map_err(|report| Problem::Stopped(report.kind, report.to_string()))?;
        let (got, used) = (memory.bytes(out), self.used().0);
        for (at, want) in expected.vars.iter().enumerate() {
            let (item, var) = (at / self.vars.len(), at % self.vars.len());
            let bytes = self.vars[var].0.bytes();
            let (got, want) = (&got[8 * at..8 * at + bytes], &want.to_le_bytes()[..bytes]);
            if got != want && used.contains(&Operand::Var(var)) {
                return Err(Problem::Wrong(format!(
                    "variable {var} of work-item {item}: {} instead of {}",
                    hex(got),
                    hex(want)
                )));
            }
        }
        for (number, (buffer, want)) in buffers.iter().zip(&expected.arrays).enumerate() {
            let Some(got) = buffer.map(|buffer| memory.bytes(buffer)) else { continue };
            if let Some(at) = got.iter().zip(want).position(|(a, b)| a != b) {
                let (bytes, array) = (self.arrays[number].bytes(), &self.arrays[number]);
                let place = at / bytes * bytes..(at / bytes + 1) * bytes;
                let owner = (0..ITEMS).find(|&item| (0..OWN).any(|k| array.place(item, k) == at / bytes));
                return Err(Problem::Wrong(format!(
                    "element {} of array {number}, of work-item {owner:?}: {} instead of {}",
                    at / bytes,
                    hex(&got[place.clone()]),
                    hex(&want[place])
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
pub fn check_loops<'a>(
    seed: u64,
    compiler: Compiler,
    machine: impl Into<Machine<'a>>,
    levels: &[u8],
    passes: Option<&str>,
) -> Result<(), String> {
    loops(seed).check_levels(seed, compiler, machine.into(), levels, passes)
}
