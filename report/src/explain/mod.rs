//! Why an instruction is there, in words.
//!
//! The answer is derived from the machine code and what the object says beside it: nothing is kept by the passes for this, so code of other compilers
//! has answers, too. Each kind of reason has a file; a line may have several reasons. What cannot be told is said to be so.
//!
//! Cost: a function is analysed once ([`Explainer::new`]); a line costs a bounded search.

mod control;
mod hazard;
mod memory;
mod setup;
mod wait;
mod words;

use crate::analysis::in_flight::{self, Wait};
use crate::analysis::origins::{Flow, Origins};
use crate::analysis::search::{self, Found, Range};
use crate::program::{Function, Program};
use mir::isa::Rate;
use mir::machine::Inst;
use serde::Serialize;

/// What kind of reason it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A wait for operations under way.
    Wait,
    /// Keeps dependent instructions apart.
    Hazard,
    /// Places what follows where code is fetched in time.
    Alignment,
    /// EXEC and branches of divergent control flow.
    ControlFlow,
    /// Prepares M0, FLAT_SCRATCH, the scratch resource or the stack.
    Prolog,
    /// Saves a register or brings it back.
    Spill,
    /// Loads an argument of the kernel.
    Argument,
    /// Computes or uses the address of a symbol.
    Address,
    /// Orders memory accesses.
    MemoryModel,
    /// Computes what others read.
    Value,
    /// Nothing more can be known from the code.
    Unknown,
}

/// A reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Reason {
    /// Its kind.
    pub kind: Kind,
    /// In words.
    pub text: String,
    /// Lines that it is about, by index in the function.
    pub lines: Vec<usize>,
}

impl Reason {
    fn new(kind: Kind, text: impl Into<String>, lines: impl IntoIterator<Item = usize>) -> Self {
        let mut lines: Vec<usize> = lines.into_iter().collect();
        lines.sort_unstable();
        lines.dedup();
        Self { kind, text: text.into(), lines }
    }
}

/// An instruction in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Explanation {
    /// Symbol of the function.
    pub function: String,
    /// Index of the line in it.
    pub line: usize,
    /// Byte offset from its start.
    pub offset: u64,
    /// Assembly text.
    pub text: String,
    /// What the operation does.
    pub operation: String,
    /// What is read, operand by operand, with where it comes from.
    pub reads: Vec<String>,
    /// What is written, with who reads it first.
    pub writes: Vec<String>,
    /// The unit and its rate.
    pub rate: String,
    /// Why it is there.
    pub reasons: Vec<Reason>,
}

/// Names a line of the function for people.
pub type Places<'a> = dyn Fn(usize) -> String + 'a;

/// Explains the lines of a function.
pub struct Explainer<'a> {
    program: &'a Program,
    function: &'a Function,
    waits: Vec<Wait>,
    flow: Flow,
    places: &'a Places<'a>,
    /// Whether the function calls others.
    calls: bool,
}

impl<'a> Explainer<'a> {
    /// Analyses a function.
    pub fn new(program: &'a Program, function: &'a Function, places: &'a Places<'a>) -> Self {
        let waits = in_flight::waits(function, &program.target);
        let calls = (0..function.lines.len()).any(|line| search::is_call(function, line));
        Self { program, function, waits, flow: Flow::new(function), places, calls }
    }

    /// What the waits of the function wait for.
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    /// Explains a line; `None` where there is none.
    pub fn explain(&self, line: usize) -> Option<Explanation> {
        let data = self.function.lines.get(line)?;
        let mut out = Explanation {
            function: self.function.name.clone(),
            line,
            offset: data.offset,
            text: data.text.clone(),
            operation: "no instruction: data, or bits that the processor has no instruction for".to_owned(),
            reads: Vec::new(),
            writes: Vec::new(),
            rate: String::new(),
            reasons: Vec::new(),
        };
        let Some(inst) = &data.inst else {
            out.reasons.push(Reason::new(
                Kind::Unknown,
                "Nothing is known of data between instructions.",
                [],
            ));
            return Some(out);
        };
        out.operation = words::operation(inst);
        out.rate = self.rate(inst);
        for (write, range, role) in words::registers(inst) {
            let name = search::name(range);
            let (list, text) = if write {
                let readers = search::readers(self.function, line, range);
                if role.ends_with("(implied)") && readers.lines.is_empty() {
                    continue;
                }
                (&mut out.writes, format!("{name}{role}: {}", self.readers(&readers)))
            } else {
                let writers = search::writers(self.function, line, range);
                (&mut out.reads, format!("{name}{role}: {}", self.writers(line, range, &writers)))
            };
            list.push(text);
        }
        // What a wait and a branch have as a number is in their reasons.
        if self.wait_at(line).is_none() && data.target.is_none() {
            out.reads.extend(words::constants(inst));
        }
        out.reasons = self.reasons(line);
        if out.reasons.is_empty() {
            out.reasons.push(self.fallback(line, inst));
        }
        Some(out)
    }

    /// The reasons for a line that can be told.
    pub fn reasons(&self, line: usize) -> Vec<Reason> {
        let origins = self.flow.at(self.function, line);
        self.reasons_with(line, &origins)
    }

    /// The reasons of all lines, in order.
    pub fn all_reasons(&self) -> Vec<Vec<Reason>> {
        let mut out = vec![Vec::new(); self.function.lines.len()];
        self.flow.for_each(self.function, |line, origins| out[line] = self.reasons_with(line, origins));
        out
    }

    fn reasons_with(&self, line: usize, origins: &Origins) -> Vec<Reason> {
        let Some(inst) = self.function.inst(line) else { return Vec::new() };
        let at = At { line, inst, origins };
        let mut out = Vec::new();
        self.wait(&at, &mut out);
        self.hazard(&at, &mut out);
        self.control(&at, &mut out);
        self.setup(&at, &mut out);
        self.memory(&at, &mut out);
        out
    }

    /// What can be said of an instruction that only computes.
    fn fallback(&self, line: usize, inst: &Inst) -> Reason {
        let mut readers = Vec::new();
        let mut cut_off = false;
        let mut any = false;
        for range in search::written(inst) {
            let found = search::readers(self.function, line, range);
            readers.extend(found.lines);
            cut_off |= found.cut_off;
            any = true;
        }
        if !readers.is_empty() {
            readers.sort_unstable();
            readers.dedup();
            let text = format!("Computes what {} reads.", self.list(&readers));
            return Reason::new(Kind::Value, text, readers);
        }
        let text = match (any, cut_off) {
            (true, true) => "Its result is not read near by; who reads it was not followed further.",
            (true, false) => {
                "Nobody in this function reads its result: it is a result of the function, or not needed."
            }
            _ => "Nothing more can be known of it from the machine code: the program asks for it.",
        };
        Reason::new(Kind::Unknown, text, [])
    }

    /// A line for people.
    fn place(&self, line: usize) -> String {
        (self.places)(line)
    }

    /// A line with its text.
    fn quoted(&self, line: usize) -> String {
        let text = self.function.lines.get(line).map_or("", |line| &line.text);
        format!("{} `{text}`", self.place(line))
    }

    /// Some lines for people.
    fn list(&self, lines: &[usize]) -> String {
        const MOST: usize = 4;
        let mut out: Vec<String> = lines.iter().take(MOST).map(|&line| self.quoted(line)).collect();
        if lines.len() > MOST {
            out.push(format!("{} more", lines.len() - MOST));
        }
        out.join(", ")
    }

    fn readers(&self, found: &Found) -> String {
        match (found.lines.as_slice(), found.cut_off) {
            ([], false) => "nobody in this function reads it".to_owned(),
            ([], true) => "nobody near by reads it".to_owned(),
            (lines, _) => format!("read by {}", self.list(lines)),
        }
    }

    fn writers(&self, line: usize, range: Range, found: &Found) -> String {
        let entry = found.from_start.then(|| self.at_start(range)).flatten();
        let mut parts = Vec::new();
        if !found.lines.is_empty() {
            parts.push(format!("written by {}", self.list(&found.lines)));
        }
        match entry {
            Some(entry) => parts.push(format!("{entry}, there from the start")),
            None if found.from_start && self.function.kernel.is_none() => {
                parts.push("given by the caller, or left as it was".to_owned());
            }
            None if found.from_start && found.lines.is_empty() && line > 0 => {
                parts.push("what it held at the start".to_owned());
            }
            _ => {}
        }
        if parts.is_empty() {
            parts.push("written further away than was looked".to_owned());
        }
        parts.join("; ")
    }

    /// What a kernel finds in a register when it starts.
    fn at_start(&self, range: Range) -> Option<String> {
        let kernel = self.function.kernel.as_ref()?;
        if let Some(axis) = range.0.vgpr_index() {
            let names = ["X", "Y", "Z"];
            let name = names.get(usize::from(axis)).filter(|_| axis < self.function.work_item_ids())?;
            return Some(format!("the work-item's number along {name}"));
        }
        let entry = crate::program::registers(kernel);
        let (_, value, _) = entry.into_iter().find(|(register, ..)| *register == range.0)?;
        Some(value.words().to_owned())
    }

    fn rate(&self, inst: &Inst) -> String {
        let facts = inst.facts();
        let target = &self.program.target;
        let cycles = facts.rate.cycles(target);
        let unit = words::unit(inst);
        let class = match facts.rate {
            Rate::Full => "full rate",
            Rate::Quarter | Rate::Trans => "quarter rate",
            Rate::Fma => "the processor's rate of v_fma_f32",
            Rate::DoubleAdd => "the processor's rate of 64-bit sums",
            Rate::Double => "the processor's rate of 64-bit products",
            Rate::DoubleTrans => "the processor's rate of 64-bit approximations",
        };
        let latency = facts.latency.cycles(target.timing());
        match facts.memory {
            Some(_) => format!("{unit}; {latency} cycles until it answers, as a scheduler expects"),
            None => format!("{unit}; {class}: {cycles} cycles for a wave on {}", target.processor.name),
        }
    }
}

/// A line that is explained, with what is known in front of it.
struct At<'a> {
    line: usize,
    inst: &'a Inst,
    origins: &'a Origins,
}
