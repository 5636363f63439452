//! What a run found.

use gcnc_tests::measure::{CodeFacts, KernelFacts};
use serde::{Deserialize, Serialize};
use sim::Stats;
use sim::timing::{Cycles, Stall};
use std::collections::BTreeMap;

/// Figures of a kernel as one compiler made it. Zero where nothing is known of what only some sources tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Bytes of code.
    pub bytes: u64,
    /// Instructions.
    pub instructions: u64,
    /// Vector ALU instructions.
    pub valu: u64,
    /// Scalar ALU instructions.
    pub salu: u64,
    /// Vector memory instructions.
    pub vmem: u64,
    /// Scalar memory instructions.
    pub smem: u64,
    /// LDS instructions.
    pub lds: u64,
    /// Jumps.
    pub branches: u64,
    /// VGPRs.
    pub vgprs: u64,
    /// SGPRs, specials included.
    pub sgprs: u64,
    /// Waves that a SIMD holds by registers.
    pub waves: u64,
    /// SGPRs spilled, in dwords.
    pub sgpr_spills: u64,
    /// VGPRs spilled, in dwords of a lane.
    pub vgpr_spills: u64,
    /// Scratch bytes a lane.
    pub scratch: u64,
    /// Modelled cycles of all launches; of shaders, which are not run, those of a walk through the code without jumps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// For what waves lost so many percent of their time, where that is at least one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stalls: BTreeMap<String, u64>,
}

impl Facts {
    /// What code says by itself.
    pub fn of_code(code: &CodeFacts) -> Self {
        let kinds = code.kinds;
        Self {
            bytes: code.bytes,
            instructions: code.instructions,
            valu: kinds.valu,
            salu: kinds.salu,
            vmem: kinds.vmem,
            smem: kinds.smem,
            lds: kinds.lds,
            branches: kinds.branches,
            ..Self::default()
        }
    }

    /// What an object with metadata says.
    pub fn of_kernel(kernel: &KernelFacts) -> Self {
        let code =
            CodeFacts { instructions: kernel.instructions, bytes: kernel.code_bytes, kinds: kernel.kinds };
        Self {
            vgprs: kernel.vgprs,
            sgprs: kernel.sgprs,
            waves: kernel.occupancy,
            sgpr_spills: kernel.sgpr_spills,
            vgpr_spills: kernel.vgpr_spills,
            scratch: kernel.scratch_bytes,
            ..Self::of_code(&code)
        }
    }

    /// The same with the instructions that waves executed in a run, and its cycles.
    pub fn of_run(kernel: &KernelFacts, stats: &Stats) -> Self {
        Self {
            instructions: stats.instructions,
            valu: stats.valu,
            salu: stats.salu,
            vmem: stats.vmem,
            smem: stats.smem,
            lds: stats.lds,
            branches: stats.branch,
            cycles: stats.model.as_ref().map(|model| model.cycles),
            stalls: stalls(stats.model.as_deref()),
            ..Self::of_kernel(kernel)
        }
    }
}

/// For what the waves of launches lost how much of their time, in percent, where that is at least one.
pub(crate) fn stalls<'a>(launches: impl IntoIterator<Item = &'a Cycles> + Clone) -> BTreeMap<String, u64> {
    let sum = |of: &dyn Fn(&Cycles) -> u64| launches.clone().into_iter().map(of).sum::<u64>();
    let total = sum(&|cycles| cycles.wave_cycles).max(1);
    let lost = Stall::ALL.map(|stall| (stall.name().to_owned(), 100 * sum(&|c| c.stalls.of(stall)) / total));
    lost.into_iter().filter(|&(_, percent)| percent > 0).collect()
}

/// A figure: how it is called and read, and whether more of it is better.
#[derive(Clone, Copy)]
pub struct Figure {
    /// Name.
    pub name: &'static str,
    /// Its value, where it is known.
    pub of: fn(&Facts) -> Option<u64>,
    /// Whether more is better.
    pub more_is_better: bool,
}

macro_rules! figures {
    ($($name:ident),*) => {
        &[$(Figure { name: stringify!($name), of: |facts| Some(facts.$name), more_is_better: false },)*
          Figure { name: "waves", of: |facts| Some(facts.waves), more_is_better: true },
          Figure { name: "cycles", of: |facts| facts.cycles, more_is_better: false }]
    };
}

/// All figures, in the order of tables.
pub const FIGURES: &[Figure] = figures!(
    bytes,
    instructions,
    valu,
    salu,
    vmem,
    smem,
    lds,
    branches,
    vgprs,
    sgprs,
    sgpr_spills,
    vgpr_spills,
    scratch
);

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeRow {
    /// Where it comes from: `examples`, `shaders`, a corpus.
    pub corpus: String,
    /// Name, unique in the corpus.
    pub kernel: String,
    /// What gcnc made of it.
    pub gcnc: Facts,
    /// What others did, by their names: `llc`, `aco`.
    pub rivals: BTreeMap<String, Facts>,
}

/// Measurements of one quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The least, in microseconds.
    pub least_us: f64,
    /// How far the median lies above it, in percent.
    pub spread_percent: f64,
}

impl Sample {
    /// Of times in microseconds; none where there are none.
    pub fn of(mut times: Vec<f64>) -> Option<Self> {
        times.sort_by(f64::total_cmp);
        let (least, median) = (*times.first()?, times[times.len() / 2]);
        Some(Self { least_us: least, spread_percent: 100.0 * (median / least - 1.0) })
    }
}

/// Compile time of a module at a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeRow {
    /// Module.
    pub module: String,
    /// Instructions of LLVM IR.
    pub ir_instructions: u64,
    /// Optimisation level.
    pub level: u8,
    /// gcnc.
    pub gcnc: Sample,
    /// LLVM.
    pub llvm: Sample,
    /// Peak memory of gcnc's command in KiB; 0 in one process.
    #[serde(default)]
    pub gcnc_peak_kib: u64,
    /// The same of llc.
    #[serde(default)]
    pub llvm_peak_kib: u64,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of gcnc.
    pub version: String,
    /// Processor that is compiled for.
    pub cpu: String,
    /// Code, by corpus and kernel.
    pub code: Vec<CodeRow>,
    /// Compile time in one process.
    pub in_process: Vec<TimeRow>,
    /// Whole commands.
    pub commands: Vec<TimeRow>,
    /// What is missing, and why.
    pub notes: Vec<String>,
}

impl Report {
    /// The report as JSON, a row a line so that versions can be compared as text.
    ///
    /// # Errors
    /// None is known; what the serialiser says.
    pub fn json(&self) -> Result<String, String> {
        fn rows<T: Serialize>(name: &str, rows: &[T]) -> Result<String, String> {
            let lines: Result<Vec<String>, _> = rows.iter().map(serde_json::to_string).collect();
            let lines = lines.map_err(|error| error.to_string())?;
            Ok(match lines.is_empty() {
                true => format!("\"{name}\": []"),
                false => format!("\"{name}\": [\n{}\n]", lines.join(",\n")),
            })
        }
        let text = |text: &str| serde_json::to_string(text).map_err(|error| error.to_string());
        Ok(format!(
            "{{\n\"version\": {},\n\"cpu\": {},\n{},\n{},\n{},\n{}\n}}\n",
            text(&self.version)?,
            text(&self.cpu)?,
            rows("code", &self.code)?,
            rows("in_process", &self.in_process)?,
            rows("commands", &self.commands)?,
            rows("notes", &self.notes)?
        ))
    }

    /// Reads what [`Self::json`] wrote.
    ///
    /// # Errors
    /// It is something else.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Each corpus with the rivals that it has, sorted.
    pub fn pairings(&self) -> Vec<(String, String)> {
        let all = self.code.iter().flat_map(|row| row.rivals.keys().map(|r| (row.corpus.clone(), r.clone())));
        all.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }

    /// The ratio gcnc : rival of a figure for each kernel of a corpus where neither is zero, the largest first.
    pub fn ratios<'a>(
        &'a self,
        corpus: &'a str,
        rival: &'a str,
        figure: &'a Figure,
    ) -> Vec<(f64, &'a CodeRow)> {
        let mut out: Vec<(f64, &CodeRow)> = self
            .pairs(corpus, rival, figure)
            .filter(|&(a, b, _)| a > 0 && b > 0)
            .map(|(a, b, row)| (a as f64 / b as f64, row))
            .collect();
        out.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.kernel.cmp(&b.1.kernel)));
        out
    }

    /// A figure of gcnc and of a rival, for each kernel of a corpus that knows both.
    pub fn pairs<'a>(
        &'a self,
        corpus: &'a str,
        rival: &'a str,
        figure: &'a Figure,
    ) -> impl Iterator<Item = (u64, u64, &'a CodeRow)> {
        self.code.iter().filter(move |row| row.corpus == corpus).filter_map(move |row| {
            let other = row.rivals.get(rival)?;
            Some(((figure.of)(&row.gcnc)?, (figure.of)(other)?, row))
        })
    }
}

/// The geometric mean; `None` of nothing.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) =
        values.into_iter().fold((0.0, 0u32), |(sum, count), value| (sum + value.ln(), count + 1));
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kernel: &str, bytes: u64, other: u64) -> CodeRow {
        let facts = |bytes| Facts { bytes, cycles: (bytes > 5).then_some(bytes), ..Facts::default() };
        CodeRow {
            corpus: "examples".into(),
            kernel: kernel.into(),
            gcnc: facts(bytes),
            rivals: [("llc".to_owned(), facts(other))].into(),
        }
    }

    #[test]
    fn json_reads_back() {
        let sample = Sample::of(vec![3.0, 2.0, 4.0]).expect("three times");
        assert_eq!((sample.least_us, sample.spread_percent), (2.0, 50.0));
        let time = TimeRow {
            module: "m".into(),
            ir_instructions: 7,
            level: 2,
            gcnc: sample,
            llvm: sample,
            gcnc_peak_kib: 1,
            llvm_peak_kib: 2,
        };
        let report = Report {
            version: "1".into(),
            cpu: "gfx900".into(),
            code: vec![row("a", 4, 8), row("b", 8, 8)],
            in_process: Vec::new(),
            commands: vec![time],
            notes: vec!["a \"note\"".into()],
        };
        let text = report.json().expect("it serialises");
        assert_eq!(Report::parse(&text).expect("it parses"), report);
    }

    #[test]
    fn ratios_leave_out_what_is_zero_or_unknown() {
        let report =
            Report { code: vec![row("a", 4, 8), row("b", 16, 8), row("c", 0, 8)], ..Report::default() };
        let figure = |name| FIGURES.iter().find(|f| f.name == name).expect("a figure");
        let bytes: Vec<f64> =
            report.ratios("examples", "llc", figure("bytes")).iter().map(|pair| pair.0).collect();
        assert_eq!(bytes, [2.0, 0.5]);
        assert_eq!(report.ratios("examples", "llc", figure("cycles")).len(), 1);
        assert!(report.ratios("examples", "aco", figure("bytes")).is_empty());
        assert_eq!(geometric_mean([2.0, 0.5]), Some(1.0));
        assert_eq!(geometric_mean([]), None);
    }
}
