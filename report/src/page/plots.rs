//! Pictures in SVG: live registers, control flow, stalls. Their colours are the page's.

use crate::data::Function;
use crate::graph::{self, BOX};
use maud::{Markup, html};
use sim::timing::{Stall, Stalls};
use std::fmt::Write as _;

/// Blocks of which a picture is drawn.
const MOST_BLOCKS: usize = 400;
/// Steps of a curve; longer functions show the most of several instructions.
const MOST_STEPS: usize = 1200;

/// A curve of steps.
fn steps(values: &[u16], most: u16, (width, height): (f64, f64)) -> String {
    let mut out = String::new();
    let scale = |value: u16| height - height * f64::from(value) / f64::from(most.max(1));
    let step = width / values.len().max(1) as f64;
    let mut last = None;
    for (at, &value) in values.iter().enumerate() {
        if last == Some(value) {
            continue;
        }
        let _ = match last {
            None => write!(out, "M0 {:.1}", scale(value)),
            Some(_) => write!(out, "H{:.1}V{:.1}", at as f64 * step, scale(value)),
        };
        last = Some(value);
    }
    let _ = write!(out, "H{width:.1}");
    out
}

/// Live registers over the instructions.
pub(super) fn live(function: &Function) -> Markup {
    const SIZE: (f64, f64) = (1000.0, 160.0);
    let chunk = function.lines.len().div_ceil(MOST_STEPS).max(1);
    let most_of = |f: fn(&crate::data::Line) -> u16| -> Vec<u16> {
        function.lines.chunks(chunk).map(|lines| lines.iter().map(f).max().unwrap_or(0)).collect()
    };
    let (vgprs, sgprs) = (most_of(|line| line.live.vgprs), most_of(|line| line.live.sgprs));
    let most = function.peak.vgprs.max(function.peak.sgprs).max(1);
    // The steps of VGPRs that the curve comes near.
    let levels = function.occupancy.iter().flat_map(|occupancy| &occupancy.steps);
    let levels: Vec<_> = levels.filter(|step| step.vgprs <= u32::from(most)).collect();
    if function.lines.is_empty() {
        return html! {};
    }
    html! {
        svg.plot viewBox="0 -8 1040 176" role="img" {
            title { "Live registers of " (function.name) ", instruction by instruction" }
            @for step in levels {
                @let y = SIZE.1 - SIZE.1 * f64::from(step.vgprs) / f64::from(most);
                path.level d=(format!("M0 {y:.1}H{}", SIZE.0)) {}
                text x="1003" y=(format!("{:.1}", y + 4.0)) { (step.waves) "w" }
            }
            path.sgpr d=(steps(&sgprs, most, SIZE)) {}
            path.vgpr d=(steps(&vgprs, most, SIZE)) {}
        }
        p.key {
            span.vgpr { "VGPRs" } ", " span.sgpr { "SGPRs" } "; the upper edge is " (most)
            ". Dashed lines: VGPRs up to which so many waves fit."
        }
    }
}

/// Control flow.
pub(super) fn flow(index: usize, function: &Function) -> Markup {
    if function.blocks.len() > MOST_BLOCKS {
        return html! { p { (function.blocks.len()) " blocks: too many for a picture." } };
    }
    let picture = graph::layout(&function.blocks);
    let offset = |line: usize| function.lines.get(line).map_or(0, |line| line.offset);
    html! {
        div.scroll {
            svg.flow width=(picture.width) height=(picture.height) viewBox=(format!("{} 0 {} {}", -picture.left, picture.width, picture.height)) role="img" {
                title { "Control flow of " (function.name) }
                defs {
                    marker id=(format!("a{index}")) viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto" {
                        path.arrow d="M0 0L8 4L0 8z" {}
                    }
                }
                @for edge in &picture.edges {
                    path.edge.back[edge.back] d=(edge.path) marker-end=(format!("url(#a{index})")) {}
                }
                @for (block, (x, y)) in function.blocks.iter().zip(&picture.boxes) {
                    a href=(format!("#m{index}-{}", block.first)) {
                        rect x=(x) y=(y) width=(BOX.0) height=(BOX.1) rx="4" {}
                        text x=(x + 8) y=(y + 16) { (format!("{:x}", offset(block.first))) ": " (block.end - block.first) " instr." }
                        text x=(x + 8) y=(y + 32) { (block.cycles) " cycles" }
                    }
                }
            }
        }
    }
}

/// A bar of cycles by what they were lost for.
pub(super) fn stalls(stalls: &Stalls, whole: u64) -> Markup {
    html! {
        table.facts {
            tr { th { "lost for" } th { "cycles of waves" } th { "share" } }
            @for stall in Stall::ALL {
                @let lost = stalls.of(stall);
                @if lost > 0 {
                    @let share = 100.0 * lost as f64 / whole.max(1) as f64;
                    tr {
                        td { (stall.name()) } td { (lost) }
                        td {
                            svg.bar viewBox="0 0 100 8" { rect width=(format!("{share:.1}")) height="8" {} }
                            " " (format!("{share:.1} %"))
                        }
                    }
                }
            }
        }
    }
}
