//! The examples as code: gcnc's beside llc's, both run on the simulator.

use crate::report::{CodeRow, Facts, stalls};
use gcnc_tests::examples::{EXAMPLES, Example};
use gcnc_tests::measure::{self, Compiler, Side};
use gcnc_tests::toolchain::Machine;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// Facts of a kernel of `side`, with its cycles.
fn facts(side: &Side, kernel: &measure::KernelFacts) -> Facts {
    let launches: Vec<_> = side.cycles(&kernel.name).collect();
    let stalls = stalls(launches);
    let cycles = Some(side.modelled(&kernel.name)).filter(|&cycles| cycles > 0);
    Facts { cycles, stalls, ..Facts::of_kernel(kernel) }
}

/// Compiles the examples whose names contain `filter` by gcnc at `level` and by llc at `-O3`, and runs them. What goes wrong is told in
/// `notes`; a compiler whose code gives wrong results has no row.
pub fn examples(
    gcnc: &Path,
    folder: &Path,
    machine: Machine<'_>,
    level: u8,
    filter: &str,
    notes: &mut Vec<String>,
) -> Vec<CodeRow> {
    let chosen: Vec<Example> = EXAMPLES.iter().copied().filter(|e| e.name.contains(filter)).collect();
    let sides: Vec<_> = chosen
        .par_iter()
        .map(|&example| {
            let side = |compiler, level| {
                let side = measure::build_and_run(example, folder, gcnc, machine, compiler, [2, level])?;
                side.result.as_ref().map_err(Clone::clone)?;
                Ok(side)
            };
            (example.name, side(Compiler::Gcnc, level), side(Compiler::Llc, 3))
        })
        .collect();
    let mut rows = Vec::new();
    for (name, ours, theirs) in sides {
        for (compiler, side) in [("gcnc", &ours), ("llc", &theirs)] {
            let side: &Result<Side, String> = side;
            if let Err(message) = side {
                notes.push(format!("{name} with {compiler}: {message}"));
            }
        }
        let Ok(ours) = ours else { continue };
        for kernel in &ours.kernels {
            let mut rivals = BTreeMap::new();
            if let Ok(side) = &theirs
                && let Some(other) = side.kernels.iter().find(|k| k.name == kernel.name)
            {
                rivals.insert("llc".to_owned(), facts(side, other));
            }
            let (corpus, kernel_name) = ("examples".to_owned(), kernel.name.clone());
            rows.push(CodeRow { corpus, kernel: kernel_name, gcnc: facts(&ours, kernel), rivals });
        }
    }
    rows
}
