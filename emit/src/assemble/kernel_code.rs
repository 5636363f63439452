//! Directives of code objects V2: `.amd_kernel_code_t`, kernel symbols, notes of the version and the instruction set.
//!
//! Values of a header may depend on symbols that later lines define, so it is packed at the end; until then 256 zero bytes hold its place.
//! Defaults are those of LLVM's assembler; of two values for a field the later counts.
//!
//! Source: AMDGPU usage guide, "HSA Code Object Directives"; what llvm-mc 14 accepts.

use super::section::comma;
use super::{Assembler, MAX_SECTION_BYTES, Origin, Place, Result, Value, at, end, fail};
use crate::object::{legacy, v2, write_note};
use mir::abi::kernel_code::{HEADER_BYTES, KernelCode, v2_processor};
use mir::abi::metadata_v2::{
    NOTE_ISA_NAME, NOTE_ISA_VERSION, NOTE_NAME, NOTE_VERSION, VENDOR_AND_ARCHITECTURE,
};
use mir::isa::parse::lexer::{Lexer, Token};
use mir::target::{Features, Generation};
use object::elf as raw;
use std::borrow::Cow;

/// Fields that GFX10 brought.
const GFX10_FIELDS: [&str; 4] =
    ["enable_wgp_mode", "enable_mem_ordered", "enable_fwd_progress", "enable_wavefront_size32"];

/// A header whose fields have been read.
#[derive(Clone, Debug)]
pub(super) struct Header<'a> {
    /// Where it is.
    pub place: Place,
    /// The `.amd_kernel_code_t` line.
    pub origin: Origin,
    /// Indices of fields with their values.
    fields: Vec<(usize, Value<'a>)>,
}

impl<'a> Assembler<'a, '_> {
    /// `.hsa_code_object_version major, minor`: of V2 as a whole; the object becomes one.
    pub(super) fn first_version_directive(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let major = self.note_number(lexer)?;
        comma(lexer)?;
        let minor = self.note_number(lexer)?;
        end(lexer)?;
        self.target.code_object_version = 2;
        self.stated.version = Some(2);
        self.add_note(NOTE_VERSION, &v2::version([major, minor]))
    }

    fn note_number(&mut self, lexer: &mut Lexer<'a>) -> Result<u32> {
        let place = lexer.start;
        let number = self.constant(lexer)?;
        u32::try_from(number).or_else(|_| fail(place, format!("{number} is out of range")))
    }

    /// `.hsa_code_object_isa [major, minor, stepping, "vendor", "architecture"]`.
    pub(super) fn first_isa_directive(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let mut version = self.target.processor.isa_version().map(u32::from);
        let mut names = VENDOR_AND_ARCHITECTURE;
        if !lexer.at_end() {
            for number in &mut version {
                *number = self.note_number(lexer)?;
                comma(lexer)?;
            }
            names[0] = string(lexer)?;
            comma(lexer)?;
            names[1] = string(lexer)?;
            end(lexer)?;
        }
        self.add_note(NOTE_ISA_VERSION, &v2::isa(version, names))
    }

    /// `.amd_amdgpu_isa "amdgcn-amd-amdhsa--gfx901"`: the processor must be the target's; of V2 the name tells about replay.
    pub(super) fn isa_directive(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let place = lexer.start;
        let text = string(lexer)?;
        end(lexer)?;
        let name = text.rsplit_once("--").map_or(text, |(_, name)| name);
        if v2::applies(&self.target) {
            let known = v2_processor(name)
                .filter(|known| known.0 == self.target.processor.name || name == self.target.processor.name);
            if let Some((_, Some(xnack))) = known {
                self.target.features.remove(Features::XNACK_ANY);
                self.target.features.set(Features::XNACK, xnack);
            }
        }
        let ours = legacy::isa_name(&self.target).map_err(at(place))?;
        if !ours.ends_with(&format!("--{name}")) {
            return fail(place, format!("instruction set {text} is not {ours}"));
        }
        self.add_note(NOTE_ISA_NAME, text.as_bytes())
    }

    /// Appends a record to the notes, which loaders of HSA read from the linked object's segments.
    pub(super) fn add_note(&mut self, kind: u32, description: &[u8]) -> Result {
        let section = self.section_called(Cow::Borrowed(".note"));
        let allocated = self.is_hsa();
        let section = &mut self.image.sections[section.0];
        if section.kind != raw::SHT_NOTE {
            return fail(0, "section .note holds something else");
        }
        if allocated {
            section.flags |= raw::SHF_ALLOC;
        }
        section.align_to(4, &[0]);
        write_note(&mut section.data, NOTE_NAME, kind, description);
        Ok(())
    }

    pub(super) fn begin_header(&mut self, origin: Origin) -> Result {
        let section = self.section();
        if section.is_nobits() || section.size() > MAX_SECTION_BYTES {
            return fail(origin.at, "no room for an amd_kernel_code_t in this section");
        }
        let place = self.here();
        self.section().data.extend_from_slice(&[0; HEADER_BYTES]);
        self.open_header = Some(Header { place, origin, fields: Vec::new() });
        Ok(())
    }

    /// Reads a line inside of a header: `key = value`, or its end.
    pub(super) fn header_line(&mut self, text: &'a str, line: u32) -> Result {
        let mut lexer = Lexer::new(text);
        let key_at = lexer.start;
        let key = match lexer.token {
            Token::End | Token::Op(b'#') => return Ok(()),
            Token::Name(key) => key,
            _ => return fail(key_at, "expected a field of amd_kernel_code_t"),
        };
        lexer.step();
        if key == ".end_amd_kernel_code_t" {
            end(&lexer)?;
            self.headers.extend(self.open_header.take());
            return Ok(());
        }
        let Some(index) = KernelCode::FIELDS.iter().position(|f| f.key == key || f.other_key == key) else {
            return fail(key_at, format!("amd_kernel_code_t has no field {key}"));
        };
        if !lexer.skip(b'=') {
            return fail(lexer.start, "expected =");
        }
        let value = self.value(&mut lexer, line)?;
        end(&lexer)?;
        if let Some(header) = &mut self.open_header {
            header.fields.push((index, value));
        }
        Ok(())
    }

    /// Packs a header; every symbol has its value.
    pub(super) fn pack_header(
        &mut self,
        header: &Header<'a>,
    ) -> std::result::Result<[u8; HEADER_BYTES], (Origin, String)> {
        let target = self.target;
        let mut code = KernelCode::new(&target);
        let mut values = code.values();
        for (index, value) in &header.fields {
            let wrong = |message: String| (value.origin, message);
            let field = &KernelCode::FIELDS[*index];
            let sum = self.symbols.evaluate(value, &target).map_err(wrong)?;
            if sum.plus.is_some() || sum.minus.is_some() {
                return Err(wrong("expected an absolute expression".to_owned()));
            }
            let Some(bits) = field.encode(sum.constant) else {
                return Err(wrong(format!("value {} does not fit {} bits", sum.constant, field.width)));
            };
            if bits != 0 && GFX10_FIELDS.contains(&field.name) && target.generation() < Generation::Gfx10 {
                return Err(wrong(format!("{} does not exist on {target}", field.name)));
            }
            values[*index] = bits;
        }
        code.set_values(&values);
        code.pack().map_err(|error| (header.origin, error.message))
    }
}

fn string<'a>(lexer: &mut Lexer<'a>) -> Result<&'a str> {
    let Token::Str(text) = lexer.token else { return fail(lexer.start, "expected a string") };
    lexer.step();
    Ok(text)
}
