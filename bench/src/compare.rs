//! A run beside one that was kept.
//!
//! Code is compared kernel by kernel, gcnc's figures now with gcnc's then. Time is compared by the ratio to LLVM measured in the same run, as
//! machines differ.

use crate::report::{FIGURES, Report, TimeRow, geometric_mean};
use crate::table::plain;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Kernels that are named of each figure.
const NAMED: usize = 5;

/// What changed from `old` to `new`.
pub fn text(old: &Report, new: &Report) -> String {
    let mut out = format!("now beside {}\n", old.version);
    if old.cpu != new.cpu {
        let _ = writeln!(out, "that was for {}, this is for {}: code is not compared", old.cpu, new.cpu);
    } else {
        out += &code(old, new);
    }
    for (what, then, now) in
        [("in one process", &old.in_process, &new.in_process), ("commands", &old.commands, &new.commands)]
    {
        for level in 0..=3 {
            if let (Some(then), Some(now)) = (advantage(then, now, level), advantage(now, then, level)) {
                let _ = writeln!(
                    out,
                    "compile time {what}, -O{level}: LLVM : gcnc {now:.2}, was {then:.2} ({:+.1} %)",
                    100.0 * (now / then - 1.0)
                );
            }
        }
    }
    out
}

/// The mean ratio LLVM : gcnc of the modules of `rows` that `others` has, too.
fn advantage(rows: &[TimeRow], others: &[TimeRow], level: u8) -> Option<f64> {
    let common = rows.iter().filter(|row| {
        row.level == level && others.iter().any(|other| other.level == level && other.module == row.module)
    });
    geometric_mean(common.map(|row| row.llvm.least_us / row.gcnc.least_us))
}

fn code(old: &Report, new: &Report) -> String {
    let then: BTreeMap<(&str, &str), _> =
        old.code.iter().map(|row| ((row.corpus.as_str(), row.kernel.as_str()), &row.gcnc)).collect();
    let mut out = String::new();
    let mut table = plain(&["corpus", "figure", "kernels", "now : then", "less", "more", "most changed"], 2);
    let corpora: std::collections::BTreeSet<&str> = new.code.iter().map(|row| row.corpus.as_str()).collect();
    for corpus in corpora {
        for figure in FIGURES {
            let pairs: Vec<(u64, u64, &str)> = new
                .code
                .iter()
                .filter(|row| row.corpus == corpus)
                .filter_map(|row| {
                    let before = then.get(&(corpus, row.kernel.as_str()))?;
                    Some(((figure.of)(&row.gcnc)?, (figure.of)(before)?, row.kernel.as_str()))
                })
                .collect();
            let mut changed: Vec<_> = pairs.iter().filter(|(now, then, _)| now != then).collect();
            if changed.is_empty() {
                continue;
            }
            let ratio = |&(now, then, _): &(u64, u64, &str)| (now + 1) as f64 / (then + 1) as f64;
            changed.sort_by(|a, b| ratio(b).ln().abs().total_cmp(&ratio(a).ln().abs()).then(a.2.cmp(b.2)));
            let less = changed.iter().filter(|(now, then, _)| now < then).count();
            let named: Vec<String> = changed
                .iter()
                .take(NAMED)
                .map(|(now, then, kernel)| format!("{kernel} {then}\u{2192}{now}"))
                .collect();
            let both = pairs.iter().filter(|(now, then, _)| *now > 0 && *then > 0);
            let mean = geometric_mean(both.map(|&(now, then, _)| now as f64 / then as f64));
            table.add_row([
                corpus.to_owned(),
                figure.name.to_owned(),
                pairs.len().to_string(),
                mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.4}")),
                less.to_string(),
                (changed.len() - less).to_string(),
                named.join(", "),
            ]);
        }
    }
    if table.row_iter().next().is_none() {
        out += "code: no figure of gcnc changed\n";
    } else {
        let _ = writeln!(out, "{table}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{CodeRow, Facts, Sample};

    fn report(bytes: u64, gcnc_us: f64) -> Report {
        let sample = |least_us| Sample { least_us, spread_percent: 0.0 };
        let gcnc = Facts { bytes, ..Facts::default() };
        Report {
            version: "0.0.1".into(),
            cpu: "gfx900".into(),
            code: vec![CodeRow { corpus: "c".into(), kernel: "k".into(), gcnc, rivals: BTreeMap::new() }],
            in_process: vec![TimeRow {
                module: "m".into(),
                ir_instructions: 1,
                level: 2,
                gcnc: sample(gcnc_us),
                llvm: sample(100.0),
                gcnc_peak_kib: 0,
                llvm_peak_kib: 0,
            }],
            ..Report::default()
        }
    }

    #[test]
    fn changes_are_named() {
        let text = text(&report(100, 10.0), &report(50, 5.0));
        assert!(text.contains("k 100\u{2192}50"), "{text}");
        assert!(text.contains("-O2: LLVM : gcnc 20.00, was 10.00 (+100.0 %)"), "{text}");
    }

    #[test]
    fn what_is_the_same_is_not_named() {
        let text = text(&report(100, 10.0), &report(100, 10.0));
        assert!(text.contains("no figure of gcnc changed"), "{text}");
    }
}
