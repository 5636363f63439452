//! Directives about sections, symbols and the object as a whole; data directives are in [`super::data`].

use super::metadata::{Form, OpenMetadata};
use super::symbols::{Definition, SymbolId};
use super::{Assembler, Origin, Result, Value, end, fail, kernel};
use crate::object::elf::{Section, SectionId};
use mir::abi::kernel_code::STT_HSA_KERNEL;
use mir::abi::metadata::target_id;
use mir::isa::parse::lexer::{Lexer, Token};
use mir::target::{Features, Target};
use object::elf as raw;
use std::borrow::Cow;

/// Directives about debug information and the producer, which have no effect on what is written here.
const IGNORED: &[&str] = &[".file", ".loc", ".addrsig", ".addrsig_sym"];

impl<'a> Assembler<'a, '_> {
    /// Obeys directive `name`, behind which `lexer` stands.
    pub(super) fn directive(&mut self, name: &'a str, lexer: &mut Lexer<'a>, line: u32, at: usize) -> Result {
        if let Some(kernel) = &mut self.open_kernel {
            if name == ".end_amdhsa_kernel" {
                end(lexer)?;
                return self.end_kernel(at);
            }
            let Some(field) = name.strip_prefix(".amdhsa_") else {
                return fail(at, format!("{name} inside .amdhsa_kernel"));
            };
            let origin = Origin { line, at: lexer.start };
            let field =
                kernel::field(field).map_or_else(|| fail(at, format!("unknown directive {name}")), Ok)?;
            let here = kernel.place;
            let symbols = &self.symbols;
            let expr = mir::isa::parse::expr::parse(lexer, &|name| symbols.constant(name), false)?;
            end(lexer)?;
            return kernel.set(field, Value { expr, here, origin }, at, name);
        }
        match name {
            ".text" | ".data" | ".bss" => {
                end(lexer)?;
                let section = self.section_called(Cow::Borrowed(name));
                self.switch_to(section);
                Ok(())
            }
            ".section" | ".pushsection" => {
                if name == ".pushsection" {
                    self.pushed.push((self.current, self.previous));
                }
                self.section_directive(lexer)
            }
            ".popsection" => match self.pushed.pop() {
                Some((current, previous)) => {
                    (self.current, self.previous) = (current, previous);
                    end(lexer)
                }
                None => fail(at, "no section was pushed"),
            },
            ".previous" => {
                std::mem::swap(&mut self.current, &mut self.previous);
                end(lexer)
            }
            ".globl" | ".global" => self.each_symbol(lexer, |s| s.binding = Some(raw::STB_GLOBAL)),
            ".weak" => self.each_symbol(lexer, |s| s.binding = Some(raw::STB_WEAK)),
            ".local" => self.each_symbol(lexer, |s| s.binding = Some(raw::STB_LOCAL)),
            ".hidden" => self.each_symbol(lexer, |s| s.visibility = raw::STV_HIDDEN),
            ".protected" => self.each_symbol(lexer, |s| s.visibility = raw::STV_PROTECTED),
            ".internal" => self.each_symbol(lexer, |s| s.visibility = raw::STV_INTERNAL),
            ".type" => self.type_directive(lexer),
            ".size" => {
                let id = self.symbol(lexer)?;
                comma(lexer)?;
                let value = self.value(lexer, line)?;
                self.symbols.of(id).size = Some(value);
                end(lexer)
            }
            ".set" | ".equ" => {
                let (name, name_at) = symbol_name(lexer)?;
                comma(lexer)?;
                self.assign(name, lexer, line, name_at)
            }
            ".ident" => self.ident(lexer),
            ".comm" | ".lcomm" => self.common(lexer, name == ".lcomm"),
            ".amdgcn_target" => self.target_directive(lexer),
            ".amdhsa_code_object_version" => {
                let value_at = lexer.start;
                let version = self.constant(lexer)?;
                match version {
                    3..=6 => self.target.code_object_version = version as u8,
                    _ => return fail(value_at, format!("code object version {version} is not 3 to 6")),
                }
                end(lexer)
            }
            ".amdhsa_kernel" if self.is_hsa() => {
                let (kernel, _) = symbol_name(lexer)?;
                end(lexer)?;
                self.begin_kernel(kernel, Origin { line, at })
            }
            name if self.is_hsa() && Form::of(name).is_some() => {
                end(lexer)?;
                self.open_metadata = Form::of(name).map(|form| OpenMetadata { form, lines: Vec::new() });
                Ok(())
            }
            name if IGNORED.contains(&name) || name.starts_with(".cfi_") => Ok(()),
            name => {
                let known = self.data_directive(name, lexer, line, at)?
                    || self.v2_directive(name, lexer, line, at)?;
                if known { Ok(()) } else { fail(at, format!("unknown directive {name}")) }
            }
        }
    }

    /// The section called `name`, made if there is none with the type and flags that its name implies.
    pub(super) fn section_called(&mut self, name: Cow<'a, str>) -> SectionId {
        if let Some(&id) = self.sections.get(&name) {
            return id;
        }
        let is = |prefix: &str| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let (kind, flags) = if is(".text") {
            (raw::SHT_PROGBITS, raw::SHF_ALLOC | raw::SHF_EXECINSTR)
        } else if is(".data") {
            (raw::SHT_PROGBITS, raw::SHF_ALLOC | raw::SHF_WRITE)
        } else if is(".bss") {
            (raw::SHT_NOBITS, raw::SHF_ALLOC | raw::SHF_WRITE)
        } else if is(".rodata") {
            (raw::SHT_PROGBITS, raw::SHF_ALLOC)
        } else if is(".note") {
            (raw::SHT_NOTE, raw::SectionFlags(0))
        } else {
            (raw::SHT_PROGBITS, raw::SectionFlags(0))
        };
        self.new_section(name, kind, flags)
    }

    fn new_section(
        &mut self,
        name: Cow<'a, str>,
        kind: raw::SectionType,
        flags: raw::SectionFlags,
    ) -> SectionId {
        let mut section = Section::new(name.as_ref(), kind, flags);
        if flags.contains(raw::SHF_EXECINSTR) {
            section.align = 4;
        }
        let id = self.image.add_section(section);
        self.sections.insert(name, id);
        id
    }

    /// `.section name [, "flags" [, @type]]`. Entry sizes and groups are refused; merging strings is an
    /// optimisation and left out.
    fn section_directive(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let (name, _) = symbol_name(lexer)?;
        let mut flags = None;
        let mut kind = None;
        if lexer.skip(b',') {
            let Token::Str(letters) = lexer.token else { return fail(lexer.start, "expected section flags") };
            let mut set = raw::SectionFlags(0);
            for letter in letters.bytes() {
                set |= match letter {
                    b'a' => raw::SHF_ALLOC,
                    b'w' => raw::SHF_WRITE,
                    b'x' => raw::SHF_EXECINSTR,
                    b'e' => raw::SHF_EXCLUDE,
                    b'M' | b'S' => raw::SectionFlags(0),
                    _ => {
                        return fail(
                            lexer.start,
                            format!("section flag {} is not supported", char::from(letter)),
                        );
                    }
                };
            }
            flags = Some(set);
            lexer.step();
            if lexer.skip(b',') {
                kind = Some(section_type(lexer)?);
                if lexer.skip(b',') {
                    self.constant(lexer)?;
                }
            }
        }
        end(lexer)?;
        let known = self.sections.contains_key(name);
        let id = match (known, flags) {
            (false, Some(flags)) => {
                let kind = kind.unwrap_or(if name.starts_with(".bss") {
                    raw::SHT_NOBITS
                } else {
                    raw::SHT_PROGBITS
                });
                self.new_section(Cow::Borrowed(name), kind, flags)
            }
            _ => self.section_called(Cow::Borrowed(name)),
        };
        self.switch_to(id);
        Ok(())
    }

    /// Applies `change` to the symbols of a list.
    fn each_symbol(&mut self, lexer: &mut Lexer<'a>, change: fn(&mut super::symbols::Symbol<'a>)) -> Result {
        loop {
            let id = self.symbol(lexer)?;
            change(self.symbols.of(id));
            if !lexer.skip(b',') {
                return end(lexer);
            }
        }
    }

    fn symbol(&mut self, lexer: &mut Lexer<'a>) -> Result<SymbolId> {
        let (name, _) = symbol_name(lexer)?;
        Ok(self.symbols.get(name))
    }

    /// `.type name, @function`.
    fn type_directive(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let id = self.symbol(lexer)?;
        comma(lexer)?;
        if !lexer.skip(b'@') {
            lexer.skip(b'%');
        }
        let kind = match lexer.token {
            Token::Name("function" | "STT_FUNC") | Token::Str("function") => raw::STT_FUNC,
            Token::Name("object" | "STT_OBJECT") | Token::Str("object") => raw::STT_OBJECT,
            Token::Name("notype" | "STT_NOTYPE") | Token::Str("notype") => raw::STT_NOTYPE,
            Token::Name("amdgpu_hsa_kernel" | "STT_AMDGPU_HSA_KERNEL") => raw::SymbolType(STT_HSA_KERNEL),
            _ => return fail(lexer.start, "unknown symbol type"),
        };
        lexer.step();
        end(lexer)?;
        self.symbols.of(id).kind = kind;
        Ok(())
    }

    /// `.comm name, size [, power of alignment]`: space that the linker reserves; `.lcomm name, size`: space
    /// in `.bss`, known here alone.
    fn common(&mut self, lexer: &mut Lexer<'a>, local: bool) -> Result {
        let (name, at) = symbol_name(lexer)?;
        comma(lexer)?;
        let size_at = lexer.start;
        let size = u64::try_from(self.constant(lexer)?).ok().filter(|&size| size <= super::MAX_SECTION_BYTES);
        let Some(size) = size else { return fail(size_at, "the size is negative or too large") };
        let mut align = 1;
        if lexer.skip(b',') {
            // A power of two, as LLVM reads it for this target.
            let align_at = lexer.start;
            match self.constant(lexer)? {
                _ if local => return fail(align_at, "alignment is not supported here"),
                power @ 0..=31 => align = 1 << power,
                other => return fail(align_at, format!("invalid alignment {other}")),
            }
        }
        end(lexer)?;
        let id = self.symbols.get(name);
        if !matches!(self.symbols.of(id).definition, Definition::Undefined) {
            return fail(at, format!("symbol {name} is defined twice"));
        }
        let definition = if local {
            let section = self.section_called(Cow::Borrowed(".bss"));
            let before = (self.current, self.previous);
            self.switch_to(section);
            let place = self.here();
            self.fill(size as i64, 1, 0, size_at)?;
            (self.current, self.previous) = before;
            Definition::Label(place)
        } else {
            Definition::Common(align)
        };
        let symbol = self.symbols.of(id);
        symbol.definition = definition;
        symbol.kind = raw::STT_OBJECT;
        symbol.fixed_size = size;
        if !local {
            symbol.binding = symbol.binding.or(Some(raw::STB_GLOBAL));
        }
        Ok(())
    }

    /// `.ident "producer"`: a string in `.comment`.
    fn ident(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let Token::Str(text) = lexer.token else { return fail(lexer.start, "expected a string") };
        let bytes = super::data::unescape(text).or_else(|message| fail(lexer.start, message))?;
        lexer.step();
        end(lexer)?;
        let section = self.section_called(Cow::Borrowed(".comment"));
        let data = &mut self.image.sections[section.0].data;
        if data.is_empty() {
            data.push(0);
        }
        data.extend(bytes);
        data.push(0);
        Ok(())
    }

    /// `.amdgcn_target "amdgcn-amd-amdhsa--gfx900:xnack+"`: the processor must be the target's; features are
    /// taken over.
    fn target_directive(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let Token::Str(id) = lexer.token else { return fail(lexer.start, "expected a string") };
        let at = lexer.start;
        lexer.step();
        end(lexer)?;
        let name = id.rsplit_once("--").map_or(id, |(_, name)| name);
        let split = name.find([':', '+']).unwrap_or(name.len());
        let (name, settings) = name.split_at(split);
        let wanted = Target::processor_by_name(name).map(|processor| processor.name);
        if wanted != Some(self.target.processor.name) {
            return fail(at, format!("target {id} is not {}", target_id(&self.target)));
        }
        // V3 lists what is on with a sign before it, later versions write the sign behind.
        for setting in settings.split([':', '+']).filter(|setting| !setting.is_empty()) {
            let (feature, on) = match setting.strip_suffix('-') {
                Some(feature) => (feature, false),
                None => (setting, true),
            };
            let feature = match feature {
                "xnack" => Features::XNACK,
                "sramecc" | "sram-ecc" => Features::SRAM_ECC,
                _ => return fail(at, format!("unknown target feature {feature}")),
            };
            self.target.features.set(feature, on);
            self.without_xnack |= feature == Features::XNACK && !on;
        }
        Ok(())
    }
}

/// The name here, which may be quoted, and its place.
pub(super) fn symbol_name<'a>(lexer: &mut Lexer<'a>) -> Result<(&'a str, usize)> {
    let at = lexer.start;
    match lexer.token {
        Token::Name(name) | Token::Str(name) => {
            lexer.step();
            Ok((name, at))
        }
        _ => fail(at, "expected a name"),
    }
}

pub(super) fn comma(lexer: &mut Lexer<'_>) -> Result {
    if lexer.skip(b',') { Ok(()) } else { fail(lexer.start, "expected a comma") }
}

fn section_type(lexer: &mut Lexer<'_>) -> Result<raw::SectionType> {
    if !lexer.skip(b'@') {
        lexer.skip(b'%');
    }
    let kind = match lexer.token {
        Token::Name("progbits") | Token::Str("progbits") => raw::SHT_PROGBITS,
        Token::Name("nobits") | Token::Str("nobits") => raw::SHT_NOBITS,
        Token::Name("note") | Token::Str("note") => raw::SHT_NOTE,
        Token::Name(name) if name.starts_with("llvm_") => raw::SHT_PROGBITS,
        _ => return fail(lexer.start, "unknown section type"),
    };
    lexer.step();
    Ok(kind)
}
