//! Source, IR and machine code beside each other.

use crate::data::{Function, Line, Report, RunLine};
use crate::explain::Kind;
use maud::{Markup, html};
use rustc_hash::FxHashMap;
use sim::timing::Stall;

/// The first line of machine code, by what it comes from.
#[derive(Default)]
struct Back {
    ir: FxHashMap<u32, usize>,
    source: FxHashMap<(usize, u32), usize>,
    /// The first line of IR that a source line became.
    source_ir: FxHashMap<(usize, u32), u32>,
}

pub(super) fn columns(report: &Report, index: usize, function: &Function) -> Markup {
    let mut back = Back::default();
    for (line, data) in function.lines.iter().enumerate() {
        if let Some(ir) = data.ir {
            back.ir.entry(ir).or_insert(line);
        }
        if let Some(source) = data.source {
            back.source.entry(source).or_insert(line);
        }
    }
    let shown = function.ir.iter().filter_map(|ir| report.ir.get(*ir));
    for ir in shown.clone() {
        for (line, number) in ir.lines.iter().zip(ir.first..) {
            if let Some(source) = line.source {
                back.source_ir.entry(source).or_insert(number);
            }
        }
    }
    let sources: Vec<usize> =
        function.sources.iter().copied().filter(|s| *s < report.sources.len()).collect();
    html! {
        div.columns {
            @if !sources.is_empty() {
                div.column {
                    @for source in &sources { (source_file(report, index, *source, &back)) }
                }
            }
            @if !function.ir.is_empty() {
                div.column {
                    @for ir in shown { (ir_function(index, ir, &sources, &back)) }
                }
            }
            div.column.machine { (machine(report, index, function)) }
        }
    }
}

fn source_file(report: &Report, index: usize, source: usize, back: &Back) -> Markup {
    let file = &report.sources[source];
    html! {
        table.code {
            caption { "Source " (file.name) @if !file.found { " (the file is not there)" } }
            @for (number, text) in &file.lines {
                @let key = (source, *number);
                tr id=(format!("s{index}-{source}-{number}")) data-s=(format!("{source}-{number}")) {
                    td.n {
                        @if let Some(ir) = back.source_ir.get(&key) {
                            a href=(format!("#i{index}-{ir}")) { (number) }
                        } @else if let Some(line) = back.source.get(&key) {
                            a href=(format!("#m{index}-{line}")) { (number) }
                        } @else { (number) }
                    }
                    td { (text) }
                }
            }
        }
    }
}

fn ir_function(index: usize, ir: &crate::data::IrFunction, sources: &[usize], back: &Back) -> Markup {
    html! {
        table.code {
            caption { "IR of " (ir.name) }
            @for (line, number) in ir.lines.iter().zip(ir.first..) {
                @let source = line.source.filter(|(file, _)| sources.contains(file));
                tr id=(format!("i{index}-{number}")) data-i=(number) data-s=[source.map(|(file, n)| format!("{file}-{n}"))] {
                    td.n {
                        @match back.ir.get(&number) {
                            Some(line) => a href=(format!("#m{index}-{line}")) { (number) },
                            None => (number),
                        }
                    }
                    td {
                        (line.text)
                        @if let Some((file, n)) = source { " " a.s href=(format!("#s{index}-{file}-{n}")) { (n) } }
                    }
                }
            }
        }
    }
}

fn machine(report: &Report, index: usize, function: &Function) -> Markup {
    let runs = function.lines.iter().any(|line| line.run.is_some());
    html! {
        table.code {
            caption { "Machine code: offset, instruction, live VGPRs and SGPRs, cycles of a wave alone (issue, waiting)" @if runs { ", the run" } }
            @for (number, line) in function.lines.iter().enumerate() {
                @let first = function.blocks.get(line.block).is_some_and(|block| block.first == number);
                tr.b[first] id=(format!("m{index}-{number}")) data-i=[line.ir] data-s=[line.source.map(|(file, n)| format!("{file}-{n}"))] {
                    td.n { (offset(report, index, line)) }
                    td { (line.text) (reasons(index, function, line)) }
                    td.n { (line.live.vgprs) " " (line.live.sgprs) }
                    td.n { (line.cost.issue) @if line.cost.stall > 0 { "+" b { (line.cost.stall) } } }
                    @if runs { td.n { @if let Some(run) = &line.run { (run_of(run)) } } }
                }
            }
        }
    }
}

/// The offset, which leads to the IR or the source.
fn offset(report: &Report, index: usize, line: &Line) -> Markup {
    let text = format!("{:x}", line.offset);
    let ir = line.ir.map(|ir| format!("#i{index}-{ir}"));
    let source = line.source.filter(|(file, _)| *file < report.sources.len());
    let href = ir.or(source.map(|(file, n)| format!("#s{index}-{file}-{n}")));
    html! { @match href { Some(href) => a href=(href) { (text) }, None => (text) } }
}

fn reasons(index: usize, function: &Function, line: &Line) -> Markup {
    html! {
        @for reason in &line.reasons {
            @if reason.kind != Kind::Value {
                small {
                    (shown(&reason.text))
                    @for to in reason.lines.iter().take(4) {
                        @if let Some(to_line) = function.lines.get(*to) {
                            " " a href=(format!("#m{index}-{to}")) { (format!("{:x}", to_line.offset)) }
                        }
                    }
                }
            }
        }
    }
}

/// Long reasons are cut on the page; the data have them whole.
fn shown(text: &str) -> String {
    const MOST: usize = 220;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn run_of(run: &RunLine) -> Markup {
    let lost: Vec<String> = Stall::ALL
        .into_iter()
        .filter(|&stall| run.stalls.of(stall) > 0)
        .map(|stall| format!("{} {}", stall.name(), run.stalls.of(stall)))
        .collect();
    let per = |value: u64| format!("{:.1}", value as f64 / run.count.max(1) as f64);
    html! {
        (run.count) "× " (run.cycles)
        @if !lost.is_empty() { small { "lost: " (lost.join(", ")) } }
        @if let Some(traffic) = &run.traffic {
            @if traffic.lines > 0 {
                small { (per(traffic.lines)) " lines and " (per(traffic.passes)) " passes an execution" }
            }
            @if traffic.lds_passes > 0 {
                small { (per(traffic.lds_passes)) " cycles of LDS, " (per(traffic.lds_passes - traffic.lds_least.min(traffic.lds_passes))) " of them bank conflicts" }
            }
        }
    }
}
