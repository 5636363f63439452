//! The page: one file of HTML that needs nothing beside it.
//!
//! Templates escape what is put into them; the only text that is not escaped is in this folder. All text can be read without JavaScript, and links lead from
//! machine code to IR and source and back; the script marks what belongs together.
//!
//! Ids: `m F-L` is line L of function F, `i F-N` line N of the IR beside it, `s F-S-N` line N of source S beside it.

mod code;
mod plots;

use crate::data::{Function, Report};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The page.
pub fn html(report: &Report) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                meta name="color-scheme" content="light dark";
                title { "gcnc report: " (report.input) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (report.input) }
                    p {
                        "Processor " b { (report.processor) } ", code object version " (report.code_object_version) "."
                        " Numbers of cycles are a model's: they compare two versions of a kernel and predict no milliseconds."
                    }
                    (contents(report))
                }
                main {
                    @for (index, function) in report.functions.iter().enumerate() {
                        (section(report, index, function))
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn contents(report: &Report) -> Markup {
    html! {
        table.facts {
            tr { th { "function" } th { "waves" } th { "VGPRs" } th { "SGPRs" } th { "LDS" } th { "scratch" } th { "instructions" } }
            @for (index, function) in report.functions.iter().enumerate() {
                tr {
                    td { a href=(format!("#f{index}")) { (function.name) } @if !function.kernel { " (function)" } }
                    @if let (Some(occupancy), Some(taken)) = (&function.occupancy, &function.resources) {
                        td { (occupancy.waves) } td { (taken.vgprs) } td { (taken.sgprs) }
                        td { (taken.lds_bytes) } td { (taken.scratch_bytes) }
                    } @else {
                        td {} td { (function.peak.vgprs) } td { (function.peak.sgprs) } td {} td {}
                    }
                    td { (function.lines.len()) }
                }
            }
        }
    }
}

fn section(report: &Report, index: usize, function: &Function) -> Markup {
    html! {
        section.function id=(format!("f{index}")) {
            h2 { @if function.kernel { "Kernel " } @else { "Function " } code { (function.name) } }
            (resources(function))
            @if let Some(run) = &function.run {
                h3 { "Run" }
                p {
                    (run.cycles) " cycles on a compute unit; " (run.groups) " work-groups were modelled, whose waves took "
                    (run.wave_cycles) " cycles."
                }
                (plots::stalls(&run.stalls, run.wave_cycles))
            }
            h3 { "Registers that are alive" }
            p {
                "At most " (function.peak.vgprs) " VGPRs and " (function.peak.sgprs) " SGPRs hold a value that is read later, as the wave's "
                "control flow shows it: values that only lanes which are switched off need are not seen."
            }
            (plots::live(function))
            h3 { "Control flow" }
            (plots::flow(index, function))
            h3 { "Code" }
            (code::columns(report, index, function))
        }
    }
}

fn resources(function: &Function) -> Markup {
    let (Some(taken), Some(occupancy)) = (&function.resources, &function.occupancy) else {
        return html! { p { "A function that others call: what it takes is counted with its kernels." } };
    };
    let of = |waves: u32| {
        if waves == occupancy.most { "not in the way".to_owned() } else { format!("{waves} waves") }
    };
    html! {
        table.facts {
            tr { th { "resource" } th { "taken" } th { "leaves room for" } }
            tr { td { "VGPRs of a lane" } td { (taken.vgprs) } td { (of(occupancy.by_vgprs)) } }
            tr { td { "SGPRs of a wave" } td { (taken.sgprs) } td { (of(occupancy.by_sgprs)) } }
            tr { td { "LDS bytes of a work-group" } td { (taken.lds_bytes) } td { (of(occupancy.by_lds)) } }
            tr { td { "scratch bytes of a lane" } td { (taken.scratch_bytes) } td {} }
            tr { td { "spilled SGPRs, VGPRs" } td { (taken.sgpr_spills) ", " (taken.vgpr_spills) } td {} }
            tr { td { "lanes of the largest work-group" } td { (taken.max_work_group) } td {} }
        }
        p.occupancy {
            b { (occupancy.waves) } " of " (occupancy.most) " waves fit a SIMD; the limit is " (occupancy.limited_by.join(" and ")) "."
            @if !occupancy.next.is_empty() {
                " One more wave needs " (occupancy.next.join("; ")) "."
            }
        }
        details {
            summary { "What a wave may take, by waves on a SIMD" }
            table.facts {
                tr { th { "waves" } th { "VGPRs" } th { "SGPRs" } th { "LDS bytes" } }
                @for step in &occupancy.steps {
                    tr.here[step.waves == occupancy.waves] {
                        td { (step.waves) } td { (step.vgprs) } td { (step.sgprs) }
                        td { @match step.lds_bytes { Some(bytes) => (bytes), None => "any" } }
                    }
                }
            }
        }
    }
}
