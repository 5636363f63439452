//! Metadata as text: the YAML documents of `.amdgpu_metadata` and `.amdgpu_pal_metadata`, to MessagePack in
//! notes, maps sorted by key, as LLVM does; that of `.amd_amdgpu_hsa_metadata` (V2), which the note holds as
//! text; and the list of numbers of the older `.amd_amdgpu_pal_metadata`.

use super::{Assembler, Result, at, end, fail};
use mir::abi::Document;
use mir::abi::metadata::{NOTE_NAME, NOTE_TYPE};
use mir::abi::metadata_v2;
use mir::abi::schema::{METADATA, METADATA_V2};
use mir::isa::parse::lexer::Lexer;
use mir::target::Os;
use object::elf as raw;
use std::collections::BTreeMap;

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The directive that ends it.
    pub end: &'static str,
    /// What it becomes.
    form: Form,
}

/// How a note holds metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// MessagePack.
    Hsa,
    /// The metadata of a driver, which knows registers, in MessagePack.
    Pal,
    /// Text: V2.
    HsaText,
}

/// `.amdgpu_metadata`.
pub const HSA: Kind = Kind { end: ".end_amdgpu_metadata", form: Form::Hsa };
/// `.amdgpu_pal_metadata`.
pub const PAL: Kind = Kind { end: ".end_amdgpu_pal_metadata", form: Form::Pal };
/// `.amd_amdgpu_hsa_metadata`.
pub const HSA_V2: Kind = Kind { end: ".end_amd_amdgpu_hsa_metadata", form: Form::HsaText };

/// A document that is being read.
#[derive(Clone, Debug)]
pub struct Open<'a> {
    /// What it is.
    pub kind: Kind,
    /// Where it begins.
    pub origin: super::Origin,
    /// Its lines.
    pub lines: Vec<&'a str>,
}

/// Owner and type of the note with PAL's metadata as pairs of numbers. Source: LLVM's `ELF.h`,
/// `NT_AMD_PAL_METADATA`.
const PAIRS_NOTE: (&str, u32) = ("AMD", 12);

impl<'a> Assembler<'a, '_> {
    /// Writes the note for the lines that have been read.
    pub(super) fn end_metadata(&mut self) -> Result {
        let Some(Open { kind, lines, .. }) = self.open_metadata.take() else { return Ok(()) };
        let text = lines.iter().flat_map(|line| [*line, "\n"]).collect::<String>();
        let mut document = Document::from_yaml(&text).map_err(at(0))?;
        match kind.form {
            Form::Pal => number_registers(&mut document),
            Form::HsaText => {
                METADATA_V2.check(&mut document).map_err(at(0))?;
                return self.add_note(metadata_v2::NOTE_METADATA, document.to_yaml_v2().as_bytes());
            }
            Form::Hsa => {
                METADATA.check(&mut document).map_err(at(0))?;
                self.stated.metadata_version = version(&document);
            }
        }
        document.sort_keys().map_err(at(0))?;
        let bytes = document.to_msgpack().map_err(at(0))?;
        // The loader reads it from the linked object's segments.
        let flags = if self.target.os == Os::AmdHsa { raw::SHF_ALLOC } else { raw::SectionFlags(0) };
        self.note(NOTE_NAME, NOTE_TYPE, &bytes, flags, 0)
    }

    /// `.amd_amdgpu_pal_metadata register, value, ...`: values of a register that is given twice are joined.
    pub(super) fn pal_pairs(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let mut values: BTreeMap<u32, u32> = BTreeMap::new();
        loop {
            let mut number = |assembler: &mut Self| {
                let at = lexer.start;
                let value = assembler.constant(lexer)?;
                let more = lexer.skip(b',');
                match u32::try_from(value).or_else(|_| i32::try_from(value).map(|v| v as u32)) {
                    Ok(value) => Ok((value, more)),
                    Err(_) => fail(at, format!("{value} does not fit 32 bits")),
                }
            };
            let (register, more) = number(self)?;
            if !more {
                return fail(lexer.start, "expected a value for the register");
            }
            let (value, more) = number(self)?;
            *values.entry(register).or_insert(0) |= value;
            if !more {
                break;
            }
        }
        end(lexer)?;
        let bytes: Vec<u8> =
            values.into_iter().flat_map(|(r, v)| [r, v]).flat_map(u32::to_le_bytes).collect();
        let (owner, kind) = PAIRS_NOTE;
        self.note(owner, kind, &bytes, raw::SectionFlags(0), 0)
    }
}

/// Turns names of registers, `0x2c0a (SPI_SHADER_PGM_RSRC1_PS)`, into their numbers.
fn number_registers(document: &mut Document) {
    let Some(Document::List(pipelines)) = document.get_mut("amdpal.pipelines") else { return };
    for pipeline in pipelines {
        let Some(Document::Map(registers)) = pipeline.get_mut(".registers") else { continue };
        for (key, _) in registers {
            let digits = key.as_text().and_then(|text| text.strip_prefix("0x"));
            let digits = digits.map(|text| text.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap_or(""));
            if let Some(number) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
                *key = Document::Int(number.into());
            }
        }
    }
}

/// The code object version whose compilers write metadata of this version.
fn version(document: &Document) -> Option<u8> {
    match document.get("amdhsa.version")? {
        Document::List(parts) => match parts[..] {
            [Document::Int(1), Document::Int(0)] => Some(3),
            [Document::Int(1), Document::Int(1)] => Some(4),
            _ => None,
        },
        _ => None,
    }
}
