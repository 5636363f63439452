//! Modelled cycles for people: a table, or folded stacks.

use sim::{CodeObject, Cycles};
use std::fmt::Write as _;

/// How the profile is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// A table.
    Table,
    /// `KERNEL;SOURCE LINE;INSTRUCTION CYCLES`, as flamegraph.pl and its like read it.
    Folded,
}

/// The cycles of `kernel` in `object` as text.
pub fn text(form: Form, cycles: &Cycles, kernel: &str, object: &[u8]) -> String {
    match form {
        Form::Table => cycles.table(),
        Form::Folded => folded(cycles, kernel, CodeObject::load(object).ok().as_ref()),
    }
}

fn folded(cycles: &Cycles, kernel: &str, code: Option<&CodeObject>) -> String {
    // What separates frames must not be in one.
    let frame = |text: &str| text.replace(';', ",").split_whitespace().collect::<Vec<_>>().join(" ");
    let entry = code.and_then(|code| code.kernel(kernel)).map(|kernel| kernel.entry);
    let mut out = String::new();
    for instruction in cycles.per_instruction.iter().filter(|instruction| instruction.cycles > 0) {
        out.push_str(&frame(kernel));
        let line = code
            .zip(entry)
            .and_then(|(code, entry)| code.source_line(entry.wrapping_add_signed(instruction.pc)));
        if let Some(line) = line {
            let _ = write!(out, ";{}", frame(&line));
        }
        let sign = if instruction.pc < 0 { '-' } else { '+' };
        let _ = writeln!(
            out,
            ";{sign}0x{:x} {} {}",
            instruction.pc.unsigned_abs(),
            frame(&instruction.text),
            instruction.cycles
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::timing::Instruction;

    #[test]
    fn folded_stacks_have_a_frame_for_the_instruction() {
        let instruction = |pc, text: &str, cycles| Instruction {
            pc,
            text: text.into(),
            count: 1,
            cycles,
            stalls: Default::default(),
            traffic: None,
        };
        let cycles = Cycles {
            per_instruction: vec![
                instruction(0, "s_nop 0", 4),
                instruction(16, "v_mov_b32 v0; v1", 0),
                instruction(-8, "a;  b", 2),
            ],
            ..Cycles::default()
        };
        assert_eq!(text(Form::Folded, &cycles, "k", b""), "k;+0x0 s_nop 0 4\nk;-0x8 a, b 2\n");
    }
}
