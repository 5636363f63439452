//! Code objects to assembly that reads back: sections, symbols, instructions, relocations, kernels and notes.
//!
//! What is printed assembles to the same sections, symbols and relocations. Everything has a form that keeps its bytes: an instruction
//! that no text means is shown as `.long`, a kernel descriptor or a note that no directive makes as data, a relocation that no expression
//! stands for as `.reloc`. That the better form keeps them is not assumed: instructions are parsed, descriptors, headers and notes are
//! assembled again as they are printed. Branches have labels. The processor is the one that the object's header names.
//!
//! A linked object becomes one that can be linked again; addresses that the linker has filled in stay as they are, but for those of kernels'
//! entries. What has no text at all is said in a comment that begins with `// cannot be written`: groups of sections, section types and flags that
//! the assembler does not know, names with quotes or line ends, local symbols of the same name.
//!
//! Cost: linear, apart from sorting symbols and relocations.

mod code;
mod data;
mod kernels;
#[cfg(test)]
mod line_tests;
mod lines;
mod notes;
mod program;
mod symbols;
#[cfg(test)]
mod tests;

use lines::Lines;
pub use lines::ReadSource;
use mir::Result;
use mir::target::{Features, Os, Target};
use object::elf;
use program::{Program, Section};
use std::fmt::Write;

/// The text of `bytes`, an object or a linked one.
///
/// # Errors
/// `Malformed` for what is no AMD GPU code object or contradicts itself, `Unsupported` for a processor that is not known.
pub fn disassemble(bytes: &[u8]) -> Result<String> {
    write_program(&Program::read(bytes)?, None)
}

/// The same, with file, line and source as comments in front of the code of each line, where the object has line tables.
///
/// # Errors
/// Those of [`disassemble`].
pub fn disassemble_with_source(bytes: &[u8], read: ReadSource<'_>) -> Result<String> {
    let program = Program::read(bytes)?;
    write_program(&program, Some(&Lines::of(&program, read)))
}

fn write_program(program: &Program<'_>, lines: Option<&Lines<'_>>) -> Result<String> {
    let targets = Targets::of(&program.target);
    let kernels = kernels::find(program, &targets);
    let names = symbols::Printed::of(program, &kernels);
    let mut bodies = Vec::new();
    let mut needed = vec![false; program.sections.len()];
    for index in 0..program.sections.len() {
        let mut body = Body {
            out: String::new(),
            program,
            lines,
            targets: &targets,
            names: &names,
            index,
            needed: &mut needed,
        };
        body.write(&kernels);
        bodies.push(body.out);
    }
    let mut out = format!("// {}\n", program.target);
    write_target(&mut out, &program.target);
    // Target ids of other systems have no settings, and code may run with either unless an option says otherwise.
    for (supported, enabled, name) in [
        (Features::XNACK_SUPPORTED, Features::XNACK, "xnack"),
        (Features::SRAM_ECC_SUPPORTED, Features::SRAM_ECC, "sramecc"),
    ] {
        let target = &program.target;
        if target.os != Os::AmdHsa && target.has(supported) && !target.has(enabled) {
            let _ = writeln!(out, "// cannot be written: that {name} is off; assemble with -mattr=-{name}");
        }
    }
    for (index, (section, body)) in program.sections.iter().zip(bodies).enumerate() {
        write_section(&mut out, section);
        if needed[index] {
            let _ = writeln!(out, "{}:", section.start_label());
        }
        out.push_str(&body);
    }
    symbols::write_rest(&mut out, program, &names);
    for what in &program.left_out {
        let _ = writeln!(out, "// cannot be written: {what}");
    }
    Ok(out)
}

/// The object's target for different ends.
struct Targets {
    /// With all registers that an encoding may name: whether replay is on or not, they are there.
    decoding: Target,
    /// As the assembler has it that reads the text.
    parsing: Target,
    /// As the header says.
    exact: Target,
}

impl Targets {
    fn of(exact: &Target) -> Self {
        let defaults = exact.processor.features;
        let mut parsing = *exact;
        for feature in [Features::XNACK, Features::XNACK_ANY, Features::SRAM_ECC, Features::SRAM_ECC_ANY] {
            parsing.features.set(feature, defaults.contains(feature));
        }
        let decoding = Target { features: parsing.features | Features::XNACK_SUPPORTED, ..parsing };
        Self { decoding, parsing, exact: *exact }
    }

    /// The bytes of `section` that `text` assembles to.
    fn assembled(&self, text: &str, section: &str) -> Option<Vec<u8>> {
        use object::{Object, ObjectSection};
        let object = crate::assemble(text, &self.exact).ok()?;
        let file = object::File::parse(&*object).ok()?;
        Some(file.section_by_name(section)?.data().ok()?.to_vec())
    }
}

/// Directives about the object as a whole. V2 says it in notes.
fn write_target(out: &mut String, target: &Target) {
    if target.os == Os::AmdHsa && target.code_object_version < 3 {
        return;
    }
    let _ = writeln!(out, "\t.amdgcn_target \"{}\"", mir::abi::metadata::target_id(target));
    if target.os == Os::AmdHsa {
        let _ = writeln!(out, "\t.amdhsa_code_object_version {}", target.code_object_version);
    }
}

/// Flags of `.section` by their letters.
const FLAGS: [(elf::SectionFlags, char); 8] = [
    (elf::SHF_ALLOC, 'a'),
    (elf::SHF_WRITE, 'w'),
    (elf::SHF_EXECINSTR, 'x'),
    (elf::SHF_EXCLUDE, 'e'),
    (elf::SHF_TLS, 'T'),
    (elf::SHF_GNU_RETAIN, 'R'),
    (elf::SHF_MERGE, 'M'),
    (elf::SHF_STRINGS, 'S'),
];

/// Types of `.section` by name.
const TYPES: [(elf::SectionType, &str); 6] = [
    (elf::SHT_PROGBITS, "progbits"),
    (elf::SHT_NOBITS, "nobits"),
    (elf::SHT_NOTE, "note"),
    (elf::SHT_INIT_ARRAY, "init_array"),
    (elf::SHT_FINI_ARRAY, "fini_array"),
    (elf::SHT_PREINIT_ARRAY, "preinit_array"),
];

fn write_section(out: &mut String, section: &Section<'_>) {
    let name = crate::assembly_text::Quoted(section.name);
    let letters: String =
        FLAGS.iter().filter(|(flag, _)| section.flags.contains(*flag)).map(|(_, letter)| letter).collect();
    let kind = TYPES.iter().find(|(kind, _)| *kind == section.kind).map_or("progbits", |(_, name)| name);
    let _ = write!(out, "\n\t.section {name},\"{letters}\",@{kind}");
    if section.flags.contains(elf::SHF_MERGE) {
        let _ = write!(out, ",{}", section.entry_bytes);
    }
    out.push('\n');
    if section.align > 1 {
        let _ = writeln!(out, "\t.p2align {}", section.align.trailing_zeros());
    }
}

/// The contents of a section under construction.
struct Body<'a, 'b> {
    out: String,
    program: &'b Program<'a>,
    /// Source lines, where they are asked for.
    lines: Option<&'b Lines<'b>>,
    targets: &'b Targets,
    names: &'b symbols::Printed,
    /// Index of the section.
    index: usize,
    /// Sections whose starts are referred to.
    needed: &'b mut [bool],
}

impl<'a, 'b> Body<'a, 'b> {
    fn section(&self) -> &'b Section<'a> {
        &self.program.sections[self.index]
    }

    fn write(&mut self, kernels: &kernels::Kernels) {
        let section = self.section();
        if section.kind == elf::SHT_NOTE
            && section.relocations.is_empty()
            && section.symbols.is_empty()
            && let Some(text) = notes::text(section, self.targets)
        {
            self.out.push_str(&text);
            return;
        }
        if section.is_code() {
            self.write_code(kernels);
        } else {
            self.write_data(kernels);
        }
    }

    /// Labels and directives of the symbols at `offset`.
    fn write_symbols(&mut self, offset: u64) {
        let section = self.section();
        let from = section.symbols.partition_point(|(at, _)| *at < offset);
        for &(_, symbol) in section.symbols[from..].iter().take_while(|(at, _)| *at == offset) {
            symbols::write_label(&mut self.out, self.program, self.names, symbol);
        }
    }

    /// Symbols inside of what is one line.
    fn write_inner_symbols(&mut self, from: u64, to: u64) {
        let section = self.section();
        let first = section.symbols.partition_point(|(at, _)| *at <= from);
        for &(offset, symbol) in section.symbols[first..].iter().take_while(|(at, _)| *at < to) {
            let place = format!("{}{:+}", section.start_label(), offset);
            if symbols::write_equated(&mut self.out, self.program, self.names, symbol, &place) {
                self.needed[self.index] = true;
            }
        }
    }

    /// What `relocation` refers to, as an expression without its addend; `None` for nothing.
    fn referent(&mut self, relocation: &program::Relocation) -> Option<(String, i64)> {
        let symbol = &self.program.symbols[relocation.symbol?];
        if let Some(name) = self.names.name(relocation.symbol?) {
            return Some((crate::assembly_text::Quoted(name).to_string(), relocation.addend));
        }
        // By its place: the start of its section.
        let program::Place::Section(section, offset) = symbol.place else { return None };
        self.needed[section] = true;
        let label = self.program.sections[section].start_label();
        Some((label, relocation.addend.wrapping_add_unsigned(offset)))
    }

    /// A relocation that is none of an expression, in front of what it is for.
    fn write_reloc(&mut self, relocation: &program::Relocation) {
        let Some(name) = crate::object::reloc::known_name(relocation.kind) else {
            let (kind, offset) = (relocation.kind, relocation.offset);
            let _ = writeln!(self.out, "// cannot be written: relocation {kind} at {offset:#x}");
            return;
        };
        let offset = relocation.offset;
        let _ = match (relocation.symbol, self.referent(relocation)) {
            (_, Some((symbol, addend))) => {
                writeln!(self.out, "\t.reloc {offset:#x}, {name}, {symbol}{}", Addend(addend))
            }
            (None, _) => writeln!(self.out, "\t.reloc {offset:#x}, {name}, {}", relocation.addend),
            (Some(symbol), None) => {
                let symbol = self.program.symbols[symbol].name;
                writeln!(self.out, "// cannot be written: {name} at {offset:#x} for {symbol:?}")
            }
        };
    }
}

/// `+n`, `-n` or nothing.
struct Addend(i64);

impl std::fmt::Display for Addend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, "{:+}", self.0) }
    }
}
