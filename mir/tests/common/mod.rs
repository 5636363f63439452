//! What the tests against LLVM share: random numbers from a seed, the list of rows with their encodings, and LLVM's assembler.

#![allow(dead_code, reason = "each test file uses its part")]

use mir::isa::format::layout;
use mir::isa::{Format, Opcode, OpcodeInfo};
use mir::machine::Encoding;
use mir::target::{Features, Generation, Target};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// LLVM's assembler and disassembler.
pub const LLVM_MC: &str = "llvm-mc-22";

/// The target of a known processor. Of the two that have waves of either size one has 64 lanes here, the other 32.
pub fn target(processor: &str) -> Target {
    let mut target = Target::new(Target::processor_by_name(processor).expect("known processor"));
    if processor == "gfx1010" {
        target.features.remove(Features::WAVEFRONTSIZE32);
    }
    target
}

/// What LLVM's tools are told of `target`.
pub fn llvm_flags(target: &Target) -> Vec<String> {
    let mut flags = vec!["-triple=amdgcn".to_owned(), format!("-mcpu={target}")];
    if target.limits().wave_sizes.len() > 1 {
        flags.push(format!("-mattr=+wavefrontsize{}", target.wave_size()));
    }
    flags
}

/// The encodings of `info` on `generation` that its format tells apart, or [`Encoding::Auto`] alone.
pub fn encodings(info: &OpcodeInfo, generation: Generation) -> Vec<Encoding> {
    use Encoding::E64;
    let candidates = info.format.encodings();
    let exists = |encoding: Encoding| {
        let number = if encoding == E64 && info.format != Format::Vop3p {
            info.vop3_code(generation)
        } else {
            info.code(generation)
        };
        number.is_some() && layout(info, encoding, generation).is_some()
    };
    candidates.iter().copied().filter(|e| exists(*e)).collect()
}

/// Rows of `target` with each of their encodings; pseudo instructions have none.
pub fn rows(target: &Target) -> Vec<(Opcode, Encoding)> {
    Opcode::ALL
        .iter()
        .filter(|op| op.info().format != Format::Pseudo && op.info().exists_on(target))
        .flat_map(|op| encodings(op.info(), target.generation()).into_iter().map(move |e| (*op, e)))
        .collect()
}

/// What the assembler made of each line: its text and bytes, or its complaint.
pub fn assemble(target: &Target, lines: &[&str]) -> Option<Vec<Result<(String, Vec<u8>), String>>> {
    let mut child = Command::new(LLVM_MC)
        .args(llvm_flags(target))
        .arg("-show-encoding")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    let input = lines.iter().fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "{line}");
        all
    });
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().ok()?;
    writer.join().ok()?.ok()?;
    let mut complaints = HashMap::new();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let mut parts = line.splitn(4, ':');
        if let (Some(_), Some(number), Some(_), Some(message)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
            && let Ok(number) = number.parse::<usize>()
            && message.contains("error")
        {
            complaints.entry(number - 1).or_insert_with(|| message.to_owned());
        }
    }
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut results = stdout.lines().filter_map(|line| {
        let (text, encoding) = line.split_once("; encoding: [")?;
        let bytes = encoding
            .split_once(']')?
            .0
            .split(',')
            .map(|b| u8::from_str_radix(b.trim_start_matches("0x"), 16));
        Some((text.trim().to_owned(), bytes.collect::<Result<Vec<_>, _>>().ok()?))
    });
    Some(
        (0..lines.len())
            .map(|i| match complaints.remove(&i) {
                Some(message) => Err(message),
                None => results.next().ok_or_else(|| "no output".to_owned()),
            })
            .collect(),
    )
}
