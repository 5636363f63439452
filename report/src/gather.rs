//! Gathers a report's data. Cost: linear in code and IR.

use crate::analysis::cost::cost;
use crate::analysis::liveness::{Live, live};
use crate::analysis::occupancy::{Resources, occupancy};
use crate::data::{self, FORMAT, Report};
use crate::explain::Explainer;
use crate::ir_text::IrText;
use crate::program::{Function, Program};
use mir::Result;
use mir::target::Target;
use rustc_hash::FxHashMap;
use sim::{Kernel, Outcome};

/// Lines of a source file that are shown around those that code comes from.
const AROUND: u32 = 3;
/// A file of fewer lines is shown whole.
const WHOLE: usize = 400;

/// What a report is made of.
pub struct Inputs<'a> {
    /// The object.
    pub object: &'a [u8],
    /// What it is called.
    pub name: &'a str,
    /// The IR that it was made from.
    pub ir: Option<&'a IrText>,
    /// A run of one of its kernels, with cycles of each instruction.
    pub run: Option<&'a Outcome>,
    /// Reads a source file.
    pub read_source: &'a dyn Fn(&str) -> Option<String>,
}

/// Files by name, in the order in which they were met.
#[derive(Default)]
struct Files {
    index: FxHashMap<String, usize>,
    names: Vec<String>,
    lines: Vec<std::collections::BTreeSet<u32>>,
}

impl Files {
    fn note(&mut self, name: &str, line: u32) -> (usize, u32) {
        let index = *self.index.entry(name.to_owned()).or_insert_with(|| {
            self.names.push(name.to_owned());
            self.lines.push(Default::default());
            self.names.len() - 1
        });
        self.lines[index].insert(line);
        (index, line)
    }

    fn sources(self, read: &dyn Fn(&str) -> Option<String>) -> Vec<data::Source> {
        let source = |(name, wanted): (String, std::collections::BTreeSet<u32>)| {
            let text = read(&name);
            let found = text.is_some();
            let text = text.unwrap_or_default();
            let all: Vec<&str> = text.lines().collect();
            let whole = all.len() <= WHOLE;
            let mut lines = Vec::new();
            for (index, line) in all.iter().enumerate() {
                let number = index as u32 + 1;
                let near = number.saturating_sub(AROUND)..=number.saturating_add(AROUND);
                if whole || wanted.range(near).next().is_some() {
                    lines.push((number, (*line).to_owned()));
                }
            }
            // Lines are there to be linked to even where their text is not.
            let missing = wanted.iter().filter(|line| **line as usize > all.len());
            lines.extend(missing.map(|line| (*line, String::new())));
            data::Source { name, found, lines }
        };
        self.names.into_iter().zip(self.lines).map(source).collect()
    }
}

/// Gathers the report of an object.
///
/// # Errors
/// Those of [`Program::load`].
pub fn gather(inputs: &Inputs<'_>) -> Result<Report> {
    let program = Program::load(inputs.object)?;
    let mut files = Files::default();
    let ir = inputs.ir.map(|ir| ir_functions(ir, &mut files)).unwrap_or_default();
    let functions = program.functions.iter().map(|f| function(&program, f, inputs.ir, &ir, &mut files));
    let mut report = Report {
        format: FORMAT,
        input: inputs.name.to_owned(),
        processor: program.target.processor.name.to_owned(),
        code_object_version: program.object.version(),
        functions: functions.collect(),
        ir,
        sources: Vec::new(),
    };
    if let Some(outcome) = inputs.run {
        add_run(&mut report, &program, outcome);
    }
    report.sources = files.sources(inputs.read_source);
    Ok(report)
}

fn ir_functions(ir: &IrText, files: &mut Files) -> Vec<data::IrFunction> {
    let mut line = |line: &crate::ir_text::IrLine| {
        let source = line.source.and_then(|(file, number)| {
            let name = ir.files.get(file as usize).filter(|_| number != 0)?;
            Some(files.note(name, number))
        });
        data::IrLine { text: line.text.clone(), source }
    };
    let function = |f: &crate::ir_text::IrFunction| data::IrFunction {
        name: f.name.clone(),
        first: f.first,
        lines: f.lines.iter().map(&mut line).collect(),
    };
    ir.functions.iter().map(function).collect()
}

fn resources(kernel: &Kernel, target: &Target) -> Resources {
    let limits = target.limits();
    let d = &kernel.descriptor;
    let metadata = kernel.metadata.as_ref();
    let product = |size: [u32; 3]| size.iter().fold(1u32, |all, n| all.saturating_mul(*n));
    let required = metadata.and_then(|m| m.reqd_workgroup_size).map(product);
    Resources {
        vgprs: metadata.map_or_else(|| limits.allocated_vgprs(d.vgpr_blocks), |m| m.vgpr_count),
        sgprs: metadata.map_or_else(|| limits.allocated_sgprs(d.sgpr_blocks), |m| m.sgpr_count),
        lds_bytes: d.group_segment_fixed_size,
        scratch_bytes: d.private_segment_fixed_size,
        max_work_group: required.or(metadata.map(|m| m.max_flat_workgroup_size)).unwrap_or(256),
        sgpr_spills: metadata.map_or(0, |m| m.sgpr_spill_count),
        vgpr_spills: metadata.map_or(0, |m| m.vgpr_spill_count),
    }
}

/// File and line of `FILE:LINE`.
fn split(place: &str) -> Option<(&str, u32)> {
    let (file, line) = place.rsplit_once(':')?;
    Some((file, line.parse().ok()?))
}

fn function(
    program: &Program,
    f: &Function,
    ir: Option<&IrText>,
    functions: &[data::IrFunction],
    files: &mut Files,
) -> data::Function {
    let places =
        |line: usize| f.lines.get(line).map_or_else(String::new, |line| format!("+{:#x}", line.offset));
    let explainer = Explainer::new(program, f, &places);
    let live = live(f);
    let cost = cost(f, explainer.waits(), &program.target);
    let reasons = explainer.all_reasons();
    let own = functions.iter().position(|ir| ir.name == f.name);
    let (mut of_ir, mut sources): (Vec<usize>, Vec<usize>) = (own.into_iter().collect(), Vec::new());
    let mut lines = Vec::with_capacity(f.lines.len());
    for (index, (line, reasons)) in f.lines.iter().zip(reasons).enumerate() {
        let ir_line = ir.and_then(|ir| ir.line_of(&f.name, line.offset));
        let mut source = program.object.source_line(f.start + line.offset).and_then(|place| {
            let (file, number) = split(&place)?;
            Some(files.note(file, number))
        });
        if let Some(number) = ir_line {
            let from = functions.partition_point(|function| function.first <= number).saturating_sub(1);
            if !of_ir.contains(&from) {
                of_ir.push(from);
            }
            let line = functions
                .get(from)
                .and_then(|function| function.lines.get((number - function.first) as usize));
            source = source.or(line.and_then(|line| line.source));
        }
        if let Some((file, _)) = source
            && !sources.contains(&file)
        {
            sources.push(file);
        }
        lines.push(data::Line {
            offset: line.offset,
            text: line.text.clone(),
            block: f.block_of[index],
            ir: ir_line,
            source,
            live: live[index],
            cost: cost[index],
            reasons,
            run: None,
        });
    }
    let cycles = |block: &crate::program::Block| {
        cost[block.first..block.end].iter().map(|c| u64::from(c.issue) + u64::from(c.stall)).sum()
    };
    let block = |block: &crate::program::Block| data::Block {
        first: block.first,
        end: block.end,
        succs: block.succs.clone(),
        cycles: cycles(block),
    };
    let peak = live.iter().fold(Live::default(), |most, live| Live {
        vgprs: most.vgprs.max(live.vgprs),
        sgprs: most.sgprs.max(live.sgprs),
    });
    let resources = f.kernel.as_ref().map(|kernel| resources(kernel, &program.target));
    data::Function {
        name: f.name.clone(),
        kernel: f.kernel.is_some(),
        blocks: f.blocks.iter().map(block).collect(),
        lines,
        occupancy: resources.map(|resources| occupancy(&resources, &program.target)),
        resources,
        peak,
        ir: of_ir,
        sources,
        run: None,
    }
}

/// Adds what a run says, to its kernel and to what that calls.
fn add_run(report: &mut Report, program: &Program, outcome: &Outcome) {
    let Some(cycles) = &outcome.stats.model else { return };
    let Some(entry) = program.object.kernel(&outcome.kernel).map(|kernel| kernel.entry) else { return };
    for (index, function) in program.functions.iter().enumerate() {
        if function.start == entry {
            report.functions[index].run = Some(data::Run {
                cycles: cycles.cycles,
                wave_cycles: cycles.wave_cycles,
                stalls: cycles.stalls,
                groups: cycles.modelled_groups,
            });
        }
    }
    for inst in &cycles.per_instruction {
        let address = entry.wrapping_add_signed(inst.pc);
        let after = program.functions.partition_point(|function| function.start <= address);
        let Some(index) = after.checked_sub(1) else { continue };
        let function = &program.functions[index];
        if let Some(line) = function.line_at(address - function.start) {
            report.functions[index].lines[line].run = Some(data::RunLine {
                count: inst.count,
                cycles: inst.cycles,
                stalls: inst.stalls,
                traffic: inst.traffic,
            });
        }
    }
}
