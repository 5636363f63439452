//! `gcnc mc`: single instructions in bulk, one line in and one line out.

use super::status;
use gcnc::CompileOptions;
use mir::isa::decode_lenient;
use mir::isa::parse::Parser;
use mir::target::Target;
use std::fmt::Write as _;
use std::io::Read;

#[derive(clap::Args)]
pub struct Args {
    /// Processor.
    #[arg(long, default_value = "")]
    mcpu: String,
    /// Target features, `+a,-b`.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    mattr: Vec<String>,
    /// Text to hexadecimal bytes in memory order, or `error: ...`.
    #[arg(long, required_unless_present = "disassemble", conflicts_with = "disassemble")]
    assemble: bool,
    /// Hexadecimal bytes to text, or `<invalid>`.
    #[arg(long)]
    disassemble: bool,
}

pub fn main(args: &Args) -> i32 {
    let target = match target_of(&args.mcpu, &args.mattr) {
        Ok(target) => target,
        Err(error) => return super::report("command line", &error),
    };
    let mut input = String::new();
    if let Err(error) = std::io::stdin().lock().read_to_string(&mut input) {
        eprintln!("gcnc: error: standard input: {error}");
        return status::REFUSED;
    }
    let output = if args.assemble { assemble(&input, &target) } else { disassemble(&input, &target) };
    match crate::output::write(output.as_bytes()) {
        Ok(()) => status::OK,
        Err(error) => super::refused(&format_args!("standard output: {error}")),
    }
}

/// The processor by itself: `generic` is that of no operating system, GFX6, as for llvm-mc.
fn target_of(cpu: &str, attributes: &[String]) -> mir::Result<Target> {
    let attributes = attributes.iter().filter(|attribute| !attribute.is_empty()).cloned().collect();
    let options = CompileOptions { cpu: cpu.to_owned(), attributes, ..CompileOptions::default() };
    options.target("amdgcn", None)
}

/// A line of hexadecimal bytes or of complaint for each line of `input`.
fn assemble(input: &str, target: &Target) -> String {
    let parser = Parser::new(target);
    let mut out = String::with_capacity(input.len());
    for (number, line) in input.lines().enumerate() {
        match parser.parse(line, number as u32 + 1, &|_| None) {
            Ok(parsed) if parsed.fixup.is_some() => out.push_str("error: the value of a symbol is not known"),
            Ok(parsed) => {
                for byte in parsed.words.iter().flat_map(|word| word.to_le_bytes()) {
                    const DIGITS: &[u8; 16] = b"0123456789abcdef";
                    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                    out.push(char::from(DIGITS[usize::from(byte & 15)]));
                }
            }
            Err(error) => {
                let column = error.location.as_ref().map_or(0, |at| at.column);
                let _ = write!(out, "error: {}:{column}: {error}", number + 1);
            }
        }
        out.push('\n');
    }
    out
}

/// A line of text or `<invalid>` for each line of `input`.
fn disassemble(input: &str, target: &Target) -> String {
    let mut out = String::with_capacity(2 * input.len());
    for line in input.lines() {
        let decoded = words(line).and_then(|words| {
            let (inst, length) = decode_lenient(&words, target).ok()?;
            (length == words.len()).then_some(inst)
        });
        match decoded {
            Some(inst) => {
                let _ = writeln!(out, "{}", inst.display(target));
            }
            None => out.push_str("<invalid>\n"),
        }
    }
    out
}

/// The dwords of a line of hexadecimal bytes.
fn words(line: &str) -> Option<Vec<u32>> {
    let digits: Vec<u32> =
        line.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    if digits.is_empty() || !digits.len().is_multiple_of(8) {
        return None;
    }
    let word =
        |word: &[u32]| word.chunks_exact(2).rev().fold(0, |value, byte| value << 8 | byte[0] << 4 | byte[1]);
    Some(digits.chunks_exact(8).map(word).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        Target::new(Target::processor_by_name("gfx900").expect("a processor of the table"))
    }

    #[test]
    fn the_generic_processor_has_no_flat_memory() {
        let flat = "flat_load_dword v0, v[2:3]\n";
        let on = |cpu: &str| assemble(flat, &target_of(cpu, &[]).expect("a processor of the table"));
        assert!(on("generic").starts_with("error"), "{}", on("generic"));
        assert!(!on("gfx700").starts_with("error"), "{}", on("gfx700"));
    }

    /// Values of llvm-mc 22.
    #[test]
    fn one_line_out_for_each_in() {
        let out = assemble("v_add_f32 v0, v1, v2\nv_nonsense\ns_endpgm\ns_branch label\n", &target());
        let lines: Vec<_> = out.lines().collect();
        assert_eq!((lines[0], lines[2]), ("01050002", "000081bf"));
        assert!(lines[1].starts_with("error: 2:1: ") && lines[3].starts_with("error: "));
        assert_eq!(lines.len(), 4);
        let out = disassemble("01050002\nffffffff\n0105\n", &target());
        assert_eq!(out, "v_add_f32_e32 v0, v1, v2\n<invalid>\n<invalid>\n");
    }
}
