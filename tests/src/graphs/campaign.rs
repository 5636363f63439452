//! Runs many programs: all small graphs, or random ones, in modules on all cores.

use super::dress::{Style, dress};
use super::judge::{Finding, SKIPPED, Setting, check};
use super::program::{Inputs, Program, Waves};
use super::{graphs, random};
use crate::measure::Compiler;
use crate::opt;
use rayon::prelude::*;
use std::ops::AddAssign;

/// Graphs of a module, whose programs are compiled together.
const MODULE: usize = 8;

/// What to take, and how to compile it.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Seed of what blocks do and branches ask, and of random graphs.
    pub seed: u64,
    /// One graph in so many is taken, at least 1.
    pub every: u64,
    /// Of those, part `.0` of `.1` parts.
    pub part: (u64, u64),
    /// Processors, which modules take in turn. At least one.
    pub cpus: Vec<String>,
    /// Target features, as `+feature` or `-feature`, for all processors.
    pub attributes: Vec<String>,
    /// Levels; each program is compiled at all of them.
    pub levels: Vec<u8>,
    /// One module in so many is verified after each step; 0 for none.
    pub verify: u64,
    /// Whether modules go through random passes of opt first.
    pub opt: bool,
    /// Whose code runs; llc's judges the simulator and the reference.
    pub compiler: Compiler,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Graphs.
    pub graphs: u64,
    /// Compiled kernels that ran.
    pub runs: u64,
    /// Those that went wrong.
    pub differences: u64,
    /// Those of which opt made something that llc's code gets wrong too, or where opt failed.
    pub left_out: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.graphs += other.graphs;
        self.runs += other.runs;
        self.differences += other.differences;
        self.left_out += other.left_out;
    }
}

/// A program with what it is called in reports.
#[derive(Clone, Debug)]
pub struct Case {
    /// Which graph or seed it is from.
    pub name: String,
    /// The program.
    pub program: Program,
    /// Its inputs.
    pub inputs: Inputs,
}

/// Who is told what went wrong, from any thread.
pub type Listener<'a> = &'a (dyn Fn(&Case, &Setting, &Finding) + Sync);

impl Campaign {
    /// One graph in `every` of all, for three processors at `-O0` and `-O2`, every 16th module verified.
    pub fn new(seed: u64, every: u64) -> Self {
        Self {
            seed,
            every,
            part: (0, 1),
            cpus: ["gfx600", "gfx803", "gfx900"].map(str::to_owned).to_vec(),
            attributes: Vec::new(),
            levels: vec![0, 2],
            verify: 16,
            opt: false,
            compiler: Compiler::Gcnc,
        }
    }

    fn takes(&self, index: u64) -> bool {
        let every = self.every.max(1);
        index.is_multiple_of(every) && index / every % self.part.1.max(1) == self.part.0
    }

    /// Runs the graphs of `blocks` blocks, each dressed in all of [`Style::PLAIN`].
    pub fn exhaustive(&self, blocks: usize, listener: Listener<'_>) -> Counts {
        let taken = (0u64..).zip(graphs(blocks)).filter(|&(index, _)| self.takes(index));
        self.modules(taken, listener, |(index, graph), waves| {
            let case = |(way, style)| {
                let seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index * 4 + way);
                let (program, inputs) = dress(graph, seed, style, waves);
                Case { name: format!("{blocks} blocks, graph {index}, way {way}"), program, inputs }
            };
            (0u64..).zip(Style::PLAIN).map(case).collect()
        })
    }

    /// Runs `count` random programs of at most `size` blocks.
    pub fn random(&self, count: u64, size: usize, listener: Listener<'_>) -> Counts {
        let seeds = (0..count).filter(|&index| self.takes(index)).map(|index| self.seed.wrapping_add(index));
        self.modules(seeds, listener, |&seed, waves| {
            let (program, inputs) = random(seed, size, waves);
            vec![Case { name: format!("seed {seed}, size {size}"), program, inputs }]
        })
    }

    /// Makes modules of the cases of `items` and runs them.
    fn modules<T: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        listener: Listener<'_>,
        cases: impl Fn(&T, Waves) -> Vec<Case> + Sync,
    ) -> Counts {
        let mut items = items.fuse();
        let batches = std::iter::from_fn(move || {
            let batch: Vec<T> = items.by_ref().take(MODULE).collect();
            (!batch.is_empty()).then_some(batch)
        });
        let module = |(number, batch): (usize, Vec<T>)| {
            let cpu = self.cpus.get(number % self.cpus.len().max(1)).map_or("gfx900", String::as_str);
            let waves = self.waves(cpu);
            let cases = batch.iter().flat_map(|item| cases(item, waves)).collect();
            Counts { graphs: batch.len() as u64, ..self.module(number as u64, cpu, cases, listener) }
        };
        batches.enumerate().par_bridge().map(module).reduce(Counts::default, |mut sum, counts| {
            sum += counts;
            sum
        })
    }

    /// The waves of `cpu`; of an unknown one, which the compiler refuses, any.
    fn waves(&self, cpu: &str) -> Waves {
        self.setting(cpu, 0, false, None).waves().unwrap_or(Waves::W64)
    }

    fn setting(&self, cpu: &str, level: u8, verify: bool, passes: Option<String>) -> Setting {
        let (attributes, compiler) = (self.attributes.clone(), self.compiler);
        Setting { cpu: cpu.to_owned(), attributes, level, verify, passes, compiler }
    }

    /// Runs `cases` as one module.
    fn module(&self, number: u64, cpu: &str, mut cases: Vec<Case>, listener: Listener<'_>) -> Counts {
        let mut passes = None;
        if self.opt {
            let mut rng = fastrand::Rng::with_seed(self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            passes = Some(opt::pipeline(&mut rng));
            // Passes may send lanes apart that were together.
            cases.retain(|case| !case.program.is_convergent());
        }
        let programs: Vec<_> = cases.iter().map(|case| (case.program.clone(), case.inputs)).collect();
        let mut counts = Counts::default();
        for &level in &self.levels {
            let verify = self.verify != 0 && number.is_multiple_of(self.verify);
            let setting = self.setting(cpu, level, verify, passes.clone());
            for finding in check(&programs, &setting) {
                let llc = Setting { compiler: Compiler::Llc, ..setting.clone() };
                let subject = std::slice::from_ref(&programs[finding.index]);
                let doubtful =
                    passes.is_some() && self.compiler == Compiler::Gcnc && !check(subject, &llc).is_empty();
                if doubtful || finding.problem.starts_with(SKIPPED) {
                    counts.left_out += 1;
                } else {
                    listener(&cases[finding.index], &setting, &finding);
                    counts.differences += 1;
                }
            }
            counts.runs += programs.len() as u64;
        }
        counts
    }
}
