//! Bytes of the sections that come from objects, with relocations applied.

use super::dynamic::{self, Needs, referent};
use super::input::Reloc;
use super::{LinkOptions, Program};
use crate::object::{S_NOP, reloc};
use mir::{Diagnostic, Result};
use object::elf;
use rustc_hash::FxHashSet;

/// Section of what made an object.
pub(super) const COMMENT_SECTION: &str = ".comment";

/// Its flags.
pub(super) const COMMENT_FLAGS: elf::SectionFlags = elf::SectionFlags(elf::SHF_MERGE.0 | elf::SHF_STRINGS.0);

/// Name and version, as linkers leave them in `.comment`.
const COMMENT: &str = concat!("Linker: gcnc ", env!("CARGO_PKG_VERSION"));

/// Copies every live section to its place and applies its relocations.
///
/// # Errors
/// Values that do not fit their field, naming object, section and symbol.
pub(super) fn fill(program: &mut Program<'_>, needs: &Needs, options: &LinkOptions) -> Result<()> {
    let mut data: Vec<Vec<u8>> = program
        .sections
        .iter()
        .map(|section| {
            let size = if section.is_nobits() { 0 } else { section.size as usize };
            let mut bytes = vec![0; size];
            // Gaps between pieces of code do nothing.
            if section.flags.contains(elf::SHF_EXECINSTR) {
                bytes.chunks_exact_mut(S_NOP.len()).for_each(|dword| dword.copy_from_slice(&S_NOP));
            }
            bytes
        })
        .collect();
    let got = program.sections.iter().find(|s| s.name == ".got").map_or(0, |s| s.address);
    for (o, object) in program.objects.iter().enumerate() {
        for (s, section) in object.sections.iter().enumerate() {
            let Some((output, at)) = program.places[o][s] else { continue };
            if section.is_nobits() {
                continue;
            }
            let bytes = &mut data[output][at as usize..][..section.data.len()];
            bytes.copy_from_slice(&section.data);
            let address = program.sections[output].address + at;
            for relocation in &section.relocs {
                if relocation.kind == reloc::NONE {
                    continue;
                }
                // The loader computes what moves with the object from the relocation alone.
                let moves = section.is_allocated()
                    && relocation.kind == reloc::ABS64
                    && dynamic::moves(
                        &program.objects,
                        &program.symbols,
                        options,
                        referent(&program.symbols, o, relocation.symbol),
                    );
                let value = value(program, needs, got, (o, relocation), address + relocation.offset);
                let stored = if moves { Ok(0) } else { encode(relocation.kind, value) };
                let stored = stored.map_err(|why| {
                    Diagnostic::limit(format!(
                        "{}: section {}, offset {:#x}: {} of {}: {why}",
                        object.name,
                        section.name,
                        relocation.offset,
                        reloc::name(relocation.kind),
                        object.symbols[relocation.symbol].name
                    ))
                })?;
                let width = reloc::width_bytes(relocation.kind);
                bytes[relocation.offset as usize..][..width].copy_from_slice(&stored.to_le_bytes()[..width]);
            }
        }
    }
    for (section, data) in program.sections.iter_mut().zip(data) {
        if section.data.is_empty() {
            section.data = data;
        }
    }
    Ok(())
}

/// The value of a relocation before it is cut to its field.
fn value(
    program: &Program<'_>,
    needs: &Needs,
    got: u64,
    (object, relocation): (usize, &Reloc),
    place: u64,
) -> i64 {
    let referent = referent(&program.symbols, object, relocation.symbol);
    let from_table = matches!(relocation.kind, reloc::GOTPCREL | reloc::GOTPCREL32_LO | reloc::GOTPCREL32_HI);
    let address = match from_table {
        true => needs.got_entry(referent).map_or(0, |i| got + 8 * i as u64),
        false => program.address(referent),
    };
    let value = (address as i64).wrapping_add(relocation.addend);
    match relocation.kind {
        reloc::REL32 | reloc::REL64 | reloc::REL32_LO | reloc::REL32_HI | reloc::REL16 => {
            value.wrapping_sub(place as i64)
        }
        _ if from_table => value.wrapping_sub(place as i64),
        _ => value,
    }
}

/// The bits of a field. Source: usage guide, "Relocation Records".
fn encode(kind: u32, value: i64) -> Result<u64, String> {
    let fits =
        |ok: bool| if ok { Ok(value as u64) } else { Err(format!("{value:#x} does not fit the field")) };
    match kind {
        reloc::ABS32_HI | reloc::REL32_HI | reloc::GOTPCREL32_HI => Ok((value >> 32) as u64),
        reloc::ABS32 => fits(i32::try_from(value).is_ok() || u32::try_from(value).is_ok()),
        reloc::REL32 | reloc::GOTPCREL => fits(i32::try_from(value).is_ok()),
        reloc::REL16 => {
            // A branch counts dwords from the next instruction.
            let dwords = value.wrapping_sub(4) / 4;
            match i16::try_from(dwords) {
                Ok(dwords) => Ok(dwords as u64),
                Err(_) => Err(format!("a branch over {dwords} dwords")),
            }
        }
        _ => Ok(value as u64),
    }
}

/// `.comment` of the result: each different string of the inputs once, and the linker's.
pub(super) fn comment(program: &Program<'_>) -> Vec<u8> {
    let sections = program.objects.iter().flat_map(|o| &o.sections).filter(|s| s.name == COMMENT_SECTION);
    let mut seen: FxHashSet<&[u8]> = FxHashSet::default();
    let mut bytes = Vec::new();
    for string in sections.flat_map(|s| s.data.split(|&b| b == 0)).chain([COMMENT.as_bytes()]) {
        if !string.is_empty() && seen.insert(string) {
            bytes.extend(string.iter().copied().chain([0]));
        }
    }
    bytes
}
