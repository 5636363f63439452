//! A report as plain data. The page is a view of it; `--format=json` writes it as it is.

use crate::analysis::cost::Cost;
use crate::analysis::liveness::Live;
use crate::analysis::occupancy::{Occupancy, Resources};
use crate::explain::Reason;
use serde::Serialize;
use sim::timing::{Stalls, Traffic};

/// Version of this form. Members are added in the same version; others change it.
pub const FORMAT: u32 = 1;

/// All that is known of an input.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// What the report is about, as the user named it.
    pub input: String,
    /// Processor.
    pub processor: String,
    /// Version of the code object.
    pub code_object_version: u8,
    /// Kernels and other functions, in the order of their addresses.
    pub functions: Vec<Function>,
    /// The printed IR that code was made from; empty where the input is an object.
    pub ir: Vec<IrFunction>,
    /// Source files that line tables name.
    pub sources: Vec<Source>,
}

/// A kernel or another function.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Function {
    /// Symbol.
    pub name: String,
    /// Whether it is a kernel.
    pub kernel: bool,
    /// Instructions, in the order of their addresses.
    pub lines: Vec<Line>,
    /// Blocks, in the same order.
    pub blocks: Vec<Block>,
    /// What a kernel takes.
    pub resources: Option<Resources>,
    /// How many waves of it a SIMD holds.
    pub occupancy: Option<Occupancy>,
    /// The most registers that are alive at once.
    pub peak: Live,
    /// Functions of [`Report::ir`] that its code comes from; its own first.
    pub ir: Vec<usize>,
    /// Files of [`Report::sources`] that its code comes from.
    pub sources: Vec<usize>,
    /// What a run of it took, where one was asked for.
    pub run: Option<Run>,
}

/// An instruction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    /// Byte offset from the function's start.
    pub offset: u64,
    /// Assembly text.
    pub text: String,
    /// Index of its block.
    pub block: usize,
    /// Line of the printed IR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ir: Option<u32>,
    /// File of [`Report::sources`] and line there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<(usize, u32)>,
    /// Registers that are alive in front of it.
    pub live: Live,
    /// Cycles for a wave alone.
    pub cost: Cost,
    /// Why it is there, where that is more than computing a value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// What a run of it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunLine>,
}

/// A basic block.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Block {
    /// Index of its first line.
    pub first: usize,
    /// Index behind its last line.
    pub end: usize,
    /// Blocks that may follow.
    pub succs: Vec<usize>,
    /// Static cycles of a wave alone.
    pub cycles: u64,
}

/// A line of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunLine {
    /// Times issued.
    pub count: u64,
    /// Cycles of waves.
    pub cycles: u64,
    /// Of these the ones lost, by reason.
    pub stalls: Stalls,
    /// What accesses took of memory and LDS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
}

/// A run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Run {
    /// Modelled cycles of the dispatch on a compute unit.
    pub cycles: u64,
    /// Cycles of waves, and of these the ones lost, by reason.
    pub wave_cycles: u64,
    /// See [`Self::wave_cycles`].
    pub stalls: Stalls,
    /// Work-groups that were modelled.
    pub groups: u64,
}

/// A function of the printed IR.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IrFunction {
    /// Symbol.
    pub name: String,
    /// Number of its first line.
    pub first: u32,
    /// Lines.
    pub lines: Vec<IrLine>,
}

/// A line of IR.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IrLine {
    /// Text.
    pub text: String,
    /// File of [`Report::sources`] and line there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<(usize, u32)>,
}

/// A source file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Source {
    /// Name, as the line table has it.
    pub name: String,
    /// Whether the file could be read.
    pub found: bool,
    /// Lines that code comes from, with some around them: number, text.
    pub lines: Vec<(u32, String)>,
}
