//! Compiles text and lists what came out.

use gcnc::{CompileOptions, FileType};

/// The object of `text`.
pub fn compile_with(text: &str, options: CompileOptions) -> Result<Vec<u8>, String> {
    let options = CompileOptions { file_type: FileType::Obj, verify: true, ..options };
    match gcnc::compile(text.as_bytes(), "test.ll", &options) {
        Ok(output) => Ok(output.bytes),
        Err(errors) => Err(errors.iter().map(|error| error.to_string()).collect()),
    }
}

/// The object of `text` for a system and a processor.
pub fn compile(text: &str, triple: &str, cpu: &str) -> Result<Vec<u8>, String> {
    compile_with(text, CompileOptions { triple: triple.into(), cpu: cpu.into(), ..Default::default() })
}

/// The instructions of function `name` of an object, one string each.
pub fn instructions(object: &[u8], name: &str) -> Vec<String> {
    let listing = emit::disassemble(object).unwrap();
    let start = format!("{name}:");
    let lines = listing.lines().skip_while(|line| *line != start).skip(1);
    let lines = lines.take_while(|line| line.starts_with(['\t', ' ', '.']));
    let text = |line: &str| line.split("//").next().unwrap_or_default().trim().to_owned();
    let mut lines: Vec<String> = lines.map(text).filter(|line| !line.is_empty()).collect();
    // What fills the gap before the next kernel or shader.
    while lines.last().is_some_and(|line| line == "s_nop 0") {
        lines.pop();
    }
    lines
}

/// The instructions of function `name` of `text`, a line each.
pub fn listing(text: &str, triple: &str, cpu: &str, name: &str) -> String {
    instructions(&compile(text, triple, cpu).unwrap(), name).join("\n")
}
