//! Code objects to text: symbols, labels, instructions with their encoding, relocations.
//!
//! Every section with code is decoded from start to end: instructions are as long as they say, what is none
//! is shown as `.long`. Targets of branches get labels, which makes two passes. The processor is the one that
//! the object's header names. Cost: linear.

use cranelift_entity::EntityRef;
use mir::isa::{Names, OperandKind, decode};
use mir::machine::{Block, Inst, Operand};
use mir::target::{Features, PROCESSORS, Target};
use mir::{Diagnostic, Result};
use object::read::elf::ElfFile64;
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionKind,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Formatter, Write};

/// `EF_AMDGPU_MACH`. Source: usage guide, "Header".
const MACH_MASK: u32 = 0xff;

/// The text of the code in `bytes`, an object or a linked one.
///
/// # Errors
/// `Malformed` for what is no AMD GPU code object, `Unsupported` for a processor that is not known.
pub fn disassemble(bytes: &[u8]) -> Result<String> {
    let malformed = |error: object::Error| Diagnostic::malformed(format!("object is unreadable: {error}"));
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(malformed)?;
    let target = target_of(&file)?;
    let mut out = format!("// {target}\n");
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let name = section.name().map_err(malformed)?;
        let code = section.data().map_err(malformed)?;
        let text = Text::decode(code, section.address(), &target);
        let _ = writeln!(out, "\n\t.section {name}");
        let mut symbols: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for symbol in file.symbols().filter(|symbol| symbol.section_index() == Some(section.index())) {
            match symbol.name() {
                Ok(name) if !name.is_empty() => symbols.entry(symbol.address()).or_default().push(name),
                _ => {}
            }
        }
        let mut relocations: BTreeMap<u64, String> = BTreeMap::new();
        for (offset, relocation) in section.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let symbol = file.symbol_by_index(index).map_err(malformed)?;
            let name = symbol.name().ok().filter(|name| !name.is_empty());
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let name = name.unwrap_or("section");
            let addend = crate::object::reloc::addend(code, offset, &relocation);
            relocations.insert(offset, format!("{} {name}{addend:+}", relocation_name(r_type.0)));
        }
        text.write(&mut out, &symbols, &relocations, &target);
    }
    Ok(out)
}

/// What the object was made for.
fn target_of(file: &ElfFile64<'_>) -> Result<Target> {
    let header = file.elf_header();
    if header.e_machine.get(Endianness::Little) != object::elf::EM_AMDGPU {
        return Err(Diagnostic::malformed("the object is not for an AMD GPU"));
    }
    let flags = header.e_flags.get(Endianness::Little).0;
    let processor = PROCESSORS.iter().find(|processor| processor.elf_mach == flags & MACH_MASK);
    let processor = processor.ok_or_else(|| {
        Diagnostic::unsupported(format!("processor {:#x} of the object", flags & MACH_MASK))
    })?;
    let mut target = Target::new(processor);
    // Registers are there whether replay is on or not.
    target.features |= Features::XNACK_SUPPORTED;
    Ok(target)
}

/// Source: usage guide, "Relocation Records".
fn relocation_name(kind: u32) -> String {
    const NAMES: [&str; 15] = [
        "NONE",
        "ABS32_LO",
        "ABS32_HI",
        "ABS64",
        "REL32",
        "REL64",
        "ABS32",
        "GOTPCREL",
        "GOTPCREL32_LO",
        "GOTPCREL32_HI",
        "REL32_LO",
        "REL32_HI",
        "12",
        "RELATIVE64",
        "REL16",
    ];
    match NAMES.get(kind as usize) {
        Some(name) => format!("R_AMDGPU_{name}"),
        None => format!("R_AMDGPU_{kind}"),
    }
}

/// A decoded section.
struct Text<'a> {
    code: &'a [u8],
    address: u64,
    /// Byte offset, instruction if it is one, bytes.
    lines: Vec<(usize, Option<Inst>, usize)>,
    /// Offsets that branches go to; the label's number is the index.
    labels: Vec<u64>,
}

impl<'a> Text<'a> {
    fn decode(code: &'a [u8], address: u64, target: &Target) -> Self {
        let words: Vec<u32> = code
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        let mut lines = Vec::new();
        let mut labels = BTreeSet::new();
        let mut at = 0;
        while at < words.len() {
            let (inst, length) = match decode(&words[at..], target) {
                Ok((inst, length)) => (Some(inst), length.max(1)),
                Err(_) => (None, 1),
            };
            if let Some(to) = inst.as_ref().and_then(|inst| destination(inst, 4 * at as u64)) {
                labels.insert(to);
            }
            lines.push((4 * at, inst, 4 * length));
            at += length;
        }
        let labels = labels.into_iter().filter(|label| *label <= code.len() as u64).collect();
        let mut text = Self { code, address, lines, labels };
        text.name_destinations();
        text
    }

    /// Branches refer to labels instead of distances.
    fn name_destinations(&mut self) {
        for (offset, inst, _) in &mut self.lines {
            let Some(inst) = inst else { continue };
            let to = destination(inst, *offset as u64);
            let label = to.and_then(|to| self.labels.binary_search(&to).ok());
            if let (Some(index), Some(label)) = (label_operand(inst), label) {
                inst.operands[index] = Operand::Block(Block::new(label));
            }
        }
    }

    fn write(
        &self,
        out: &mut String,
        symbols: &BTreeMap<u64, Vec<&str>>,
        relocations: &BTreeMap<u64, String>,
        target: &Target,
    ) {
        let mut line = String::new();
        for (offset, inst, length) in &self.lines {
            let address = self.address + *offset as u64;
            for symbol in symbols.get(&address).into_iter().flatten() {
                let _ = writeln!(out, "\n{symbol}:");
            }
            if self.labels.binary_search(&(*offset as u64)).is_ok() {
                let _ = writeln!(out, ".L{offset:x}:");
            }
            line.clear();
            let bytes = &self.code[*offset..*offset + length];
            let words =
                bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
            let _ = match inst {
                Some(inst) => write!(line, "{}", inst.display_with(target, self)),
                None => write!(line, ".long {:#010x}", words.clone().next().unwrap_or(0)),
            };
            let _ = write!(out, "\t{line:<60}// {address:012x}:");
            for word in words {
                let _ = write!(out, " {word:08x}");
            }
            out.push('\n');
            let range = address..address + *length as u64;
            for (_, relocation) in relocations.range(range) {
                let _ = writeln!(out, "\t{:<60}// {relocation}", "");
            }
        }
    }
}

impl Names for Text<'_> {
    fn block(&self, f: &mut Formatter<'_>, block: Block) -> fmt::Result {
        write!(f, ".L{:x}", self.labels.get(block.index()).copied().unwrap_or(0))
    }
}

fn label_operand(inst: &Inst) -> Option<usize> {
    inst.op.info().operands.iter().position(|desc| desc.kind == OperandKind::Label)
}

/// Where the branch `inst` at byte `offset` goes.
fn destination(inst: &Inst, offset: u64) -> Option<u64> {
    let distance = inst.operands.get(label_operand(inst)?)?.as_imm()?;
    // The field is signed.
    offset.checked_add_signed(4 + 4 * i64::from(distance as i16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_assembles_again() {
        let target = Target::new(Target::processor_by_name("gfx900").expect("a processor of the table"));
        let source = "f:\n s_cbranch_scc0 end\nloop: v_add_f32 v0, 1.0, v1\n s_branch loop\nend:\n .long 0xffffffff\n \
                      s_add_u32 s0, s0, other@rel32@lo+4\n s_endpgm\n";
        let object = crate::assemble(source, &target).expect("assembles");
        let text = disassemble(&object).expect("an object");
        for part in [
            "f:\n",
            ".L4:\n",
            "s_branch .L4",
            ".long 0xffffffff",
            "R_AMDGPU_REL32_LO other+4",
            "v_add_f32_e32 v0, 1.0, v1",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let again = crate::assemble(&text, &target).expect("assembles");
        let code = |bytes: &[u8]| {
            let file = ElfFile64::<Endianness>::parse(bytes).expect("an object");
            file.section_by_name(".text").expect("code").data().expect("data").to_vec()
        };
        // The literal that a relocation fills in is shown as the constant that it holds.
        assert_eq!(code(&again)[..16], code(&object)[..16]);
    }
}
