//! `s_waitcnt vmcnt(0) lgkmcnt(1)` in file tests: machine text has a number, whose fields differ between
//! processors and which nobody can read.

use mir::target::Target;

const MNEMONIC: &str = "s_waitcnt ";

/// `text` with the numbers of all waits as counters, of which those with a limit are named.
pub fn to_names(text: &str, target: &Target) -> String {
    let max = target.waits().max();
    replaced(text, |operand| {
        let number = match operand.strip_prefix("0x") {
            Some(hex) => u16::from_str_radix(hex, 16).ok()?,
            None => operand.parse().ok()?,
        };
        let counts = target.waits().decode(number);
        let named: Vec<String> = target
            .waits()
            .fields()
            .filter(|&counter| counts[counter] != max[counter])
            .map(|counter| format!("{}({})", counter.name(), counts[counter]))
            .collect();
        (!named.is_empty()).then(|| named.join(" "))
    })
}

/// `text` with the counters of all waits as a number.
pub fn to_numbers(text: &str, target: &Target) -> String {
    replaced(text, |operand| {
        let mut counts = target.waits().max();
        for field in operand.split(' ').filter(|field| !field.is_empty()) {
            let (name, count) = field.strip_suffix(')')?.split_once('(')?;
            let count = count.parse().ok()?;
            counts = counts.with(target.waits().fields().find(|counter| counter.name() == name)?, count);
        }
        Some(target.waits().encode(counts).to_string())
    })
}

/// `text` with the operand of each wait replaced; one that `replace` does not know stays.
fn replaced(text: &str, replace: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let instruction = line.trim_start();
        let end = instruction.trim_end();
        match end.strip_prefix(MNEMONIC).and_then(|operand| replace(operand.trim())) {
            Some(operand) => {
                out.push_str(&line[..line.len() - instruction.len()]);
                out.push_str(MNEMONIC);
                out.push_str(&operand);
                out.push_str(&instruction[end.len()..]);
            }
            None => out.push_str(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for (processor, number) in [("gfx803", "3953"), ("gfx900", "3953")] {
            let target = Target::new(Target::processor_by_name(processor).expect("a processor"));
            let text = format!("a\n  s_waitcnt {number}\n");
            let named = "a\n  s_waitcnt vmcnt(1)\n";
            assert_eq!(to_names(&text, &target), named);
            assert_eq!(to_numbers(named, &target), text);
        }
    }
}
