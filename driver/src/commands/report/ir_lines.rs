//! Compiles a module so that each instruction of the code knows its line in the printed IR.
//!
//! A position in a source file travels with each instruction through all passes. So the module is printed, each of its instructions gets its line there
//! as its position, and the one that it had is kept beside. No pass decides anything by positions: the code is the same.

use ::report::{IrFunction, IrLine, IrText};
use emit::FinalFunction;
use gcnc::{CompileOptions, Errors, Observer, Pass};
use mir::ir::{Module, SourceLoc};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Compiles IR to what `options` ask for.
///
/// # Errors
/// As [`gcnc::compile`].
pub fn compile(input: &[u8], name: &str, options: &CompileOptions) -> Result<(Vec<u8>, IrText), Errors> {
    let reading = frontend::read(input, name).map_err(|error| vec![error])?;
    if !reading.errors.is_empty() {
        return Err(gcnc::compile(input, name, options).err().unwrap_or(reading.errors));
    }
    let mut module = reading.module;
    let mut ir = number(&mut module);
    let positions = Positions::default();
    let output = match gcnc::compile_observed(module, options, Some(&positions)) {
        Ok(output) => output,
        // Messages name the source.
        Err(errors) => return Err(gcnc::compile(input, name, options).err().unwrap_or(errors)),
    };
    ir.positions = positions.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((output.bytes, ir))
}

/// Prints `module`, and gives each instruction its line.
fn number(module: &mut Module) -> IrText {
    let mut out = IrText { files: module.files.clone(), ..IrText::default() };
    let mut next = 1u32;
    let file = module.files.len() as u32;
    module.files.push("IR".to_owned());
    let defined: Vec<_> =
        module.functions.iter().filter(|(_, f)| !f.is_declaration()).map(|(f, _)| f).collect();
    for func in defined {
        let text = module.functions[func].display(module).to_string();
        let mut lines: Vec<IrLine> =
            text.lines().map(|line| IrLine { text: line.to_owned(), source: None }).collect();
        // Attributes of the header have lines of their own; no other line ends with a brace that opens.
        let header = lines.iter().position(|line| line.text.ends_with(" {")).map_or(1, |last| last + 1);
        let function = &mut module.functions[func];
        let mut at = header;
        for block in function.layout.clone() {
            // The label.
            at += 1;
            for &inst in &function.blocks[block].insts {
                let loc = function.locs[inst];
                if let Some(line) = lines.get_mut(at) {
                    line.source = (loc.line != 0).then_some((loc.file, loc.line));
                }
                function.locs[inst] = SourceLoc { line: next + at as u32, column: 0, file };
                at += 1;
            }
        }
        let count = lines.len() as u32;
        out.functions.push(IrFunction { name: function.name.clone(), first: next, lines });
        next += count;
    }
    out
}

/// Keeps the lines that finished code has.
#[derive(Default)]
struct Positions(Mutex<BTreeMap<String, Vec<(u32, u32)>>>);

impl Observer for Positions {
    fn function(&self, _: &'static Pass, _: &mut mir::machine::Function) {}

    fn finished(&self, functions: &[FinalFunction]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for f in functions {
            let line =
                |&(at, loc): &(u32, u32)| (at, f.function.locs.get(loc as usize).map_or(0, |loc| loc.line));
            all.insert(f.function.name.clone(), f.positions.iter().map(line).collect());
        }
    }
}
