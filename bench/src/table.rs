//! A report for the terminal.

use crate::report::{FIGURES, Figure, Report, TimeRow, geometric_mean};
use comfy_table::{CellAlignment, Table, presets};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Kernels that are named of each figure.
const WORST: usize = 10;
/// Figures whose worst kernels are named.
const NAMED: &[&str] = &["cycles", "bytes", "instructions", "vgprs", "sgprs", "waves", "scratch"];

/// A table without lines whose columns, but for the first `left`, are numbers.
pub(crate) fn plain(header: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header);
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// All of a report.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    for (corpus, rival) in report.pairings() {
        let kernels =
            report.code.iter().filter(|row| row.corpus == corpus && row.rivals.contains_key(&rival)).count();
        let _ = writeln!(out, "{corpus}: gcnc beside {rival}, {kernels} kernels for {}", report.cpu);
        let _ = writeln!(out, "{}\n", figures(report, &corpus, &rival));
        for figure in FIGURES.iter().filter(|figure| NAMED.contains(&figure.name)) {
            if let Some(line) = worst(report, &corpus, &rival, figure) {
                let _ = writeln!(out, "{line}");
            }
        }
        out.push('\n');
    }
    if !report.in_process.is_empty() {
        let _ = writeln!(out, "compile time in one process, LLVM : gcnc\n{}\n", times(&report.in_process));
    }
    if !report.commands.is_empty() {
        let _ = writeln!(out, "whole commands, llc : gcnc\n{}\n", times(&report.commands));
        let _ = writeln!(out, "peak memory in MiB\n{}\n", memory(&report.commands));
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

/// All figures of a corpus: sums, the mean ratio, how often gcnc is better, equal and worse.
fn figures(report: &Report, corpus: &str, rival: &str) -> Table {
    let header = ["figure", "gcnc", rival, "ratio of sums", "geometric mean", "better", "equal", "worse"];
    let mut table = plain(&header, 1);
    for figure in FIGURES {
        let pairs: Vec<(u64, u64)> =
            report.pairs(corpus, rival, figure).map(|(ours, theirs, _)| (ours, theirs)).collect();
        let (ours, theirs) = pairs.iter().fold((0, 0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        if ours + theirs == 0 {
            continue;
        }
        let count = |wanted: std::cmp::Ordering| pairs.iter().filter(|(a, b)| a.cmp(b) == wanted).count();
        let (less, more) = (count(std::cmp::Ordering::Less), count(std::cmp::Ordering::Greater));
        let (better, worse) = if figure.more_is_better { (more, less) } else { (less, more) };
        let mean = geometric_mean(report.ratios(corpus, rival, figure).into_iter().map(|(ratio, _)| ratio));
        let ratio = if theirs > 0 { format!("{:.3}", ours as f64 / theirs as f64) } else { "-".to_owned() };
        table.add_row([
            figure.name.to_owned(),
            ours.to_string(),
            theirs.to_string(),
            ratio,
            mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}")),
            better.to_string(),
            (pairs.len() - less - more).to_string(),
            worse.to_string(),
        ]);
    }
    table
}

/// The kernels that are worst by a figure, if any is.
fn worst(report: &Report, corpus: &str, rival: &str, figure: &Figure) -> Option<String> {
    let mut pairs: Vec<(f64, u64, u64, &str)> = report
        .pairs(corpus, rival, figure)
        .map(|(ours, theirs, row)| {
            // One more of each, so that zeros have an order.
            let ratio = (ours + 1) as f64 / (theirs + 1) as f64;
            (if figure.more_is_better { 1.0 / ratio } else { ratio }, ours, theirs, row.kernel.as_str())
        })
        .filter(|pair| pair.0 > 1.0)
        .collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.3.cmp(b.3)));
    let list: Vec<String> = pairs
        .iter()
        .take(WORST)
        .map(|(_, ours, theirs, kernel)| format!("{kernel} {ours}|{theirs}"))
        .collect();
    (!list.is_empty()).then(|| format!("worst {}: {}", figure.name, list.join(", ")))
}

fn levels(rows: &[TimeRow]) -> BTreeSet<u8> {
    rows.iter().map(|row| row.level).collect()
}

/// Compile times by level.
fn times(rows: &[TimeRow]) -> Table {
    let header =
        ["level", "modules", "gcnc ms", "LLVM ms", "sums", "geometric mean", "least", "most", "spread %"];
    let mut table = plain(&header, 1);
    for level in levels(rows) {
        let rows: Vec<&TimeRow> = rows.iter().filter(|row| row.level == level).collect();
        let sum = |of: fn(&TimeRow) -> f64| rows.iter().map(|row| of(row)).sum::<f64>() / 1e3;
        let (ours, theirs) = (sum(|row| row.gcnc.least_us), sum(|row| row.llvm.least_us));
        let mut ratios: Vec<f64> = rows.iter().map(|row| row.llvm.least_us / row.gcnc.least_us).collect();
        ratios.sort_by(f64::total_cmp);
        let mean = geometric_mean(ratios.iter().copied()).unwrap_or(f64::NAN);
        // The median of the modules' spreads, of the noisier side.
        let mut spreads: Vec<f64> =
            rows.iter().map(|row| row.gcnc.spread_percent.max(row.llvm.spread_percent)).collect();
        spreads.sort_by(f64::total_cmp);
        table.add_row([
            format!("-O{level}"),
            rows.len().to_string(),
            format!("{ours:.2}"),
            format!("{theirs:.2}"),
            format!("{:.1}", theirs / ours),
            format!("{mean:.1}"),
            format!("{:.1}", ratios[0]),
            format!("{:.1}", ratios[ratios.len() - 1]),
            format!("{:.0}", spreads[spreads.len() / 2]),
        ]);
    }
    table
}

/// Memory of whole commands by level.
fn memory(rows: &[TimeRow]) -> Table {
    let mut table = plain(&["level", "gcnc, most", "llc, most", "geometric mean of llc : gcnc"], 1);
    for level in levels(rows) {
        let rows: Vec<&TimeRow> = rows.iter().filter(|row| row.level == level).collect();
        let most =
            |of: fn(&TimeRow) -> u64| rows.iter().map(|row| of(row)).max().unwrap_or(0) as f64 / 1024.0;
        let known = rows.iter().filter(|row| row.gcnc_peak_kib > 0 && row.llvm_peak_kib > 0);
        let mean = geometric_mean(known.map(|row| row.llvm_peak_kib as f64 / row.gcnc_peak_kib as f64));
        table.add_row([
            format!("-O{level}"),
            format!("{:.1}", most(|row| row.gcnc_peak_kib)),
            format!("{:.1}", most(|row| row.llvm_peak_kib)),
            mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.1}")),
        ]);
    }
    table
}
