//! The table of directives, and those about symbols and messages. Sections are in [`super::section`], data in
//! [`super::data`], what describes the object in [`super::object_target`] and [`super::metadata`].

use super::section::{comma, symbol_name};
use super::symbols::{Definition, Symbol, SymbolId};
use super::{Assembler, Result, Value, end, fail, kernel, metadata};
use mir::abi::kernel_code::STT_HSA_KERNEL;
use mir::isa::parse::lexer::{Lexer, Token};
use mir::target::Os;
use object::elf as raw;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::LazyLock;

/// What a directive does.
#[derive(Clone, Copy)]
pub enum Directive {
    /// Goes to a section of this type and flags; a number chooses a part of it.
    Section(raw::SectionType, u64),
    /// `.section` and, where the flag is set, `.pushsection`.
    NamedSection(bool),
    PopSection,
    PreviousSection,
    Subsection,
    /// Changes the symbols of a list.
    Symbols(fn(&mut Symbol<'_>)),
    SymbolType,
    SymbolSize,
    /// Gives a symbol a value; where the flag is set, one without a value.
    Assign(bool),
    /// `.comm` and, where the flag is set, `.lcomm`.
    Common(bool),
    /// `.amdgpu_lds`.
    Lds,
    Ident,
    /// Integers of so many bytes.
    Integers(u8),
    /// Integers of sixteen bytes.
    WideIntegers,
    /// Floating-point numbers of so many bytes.
    Floats(u8),
    /// LEB128 numbers; signed where the flag is set.
    Leb(bool),
    /// Strings; with a NUL behind each where the flag is set.
    Strings(bool),
    Base64,
    /// So many bytes, of one value.
    Space,
    Fill,
    /// A count of units of so many bytes.
    Units(u8),
    /// Alignment, by its logarithm where the flag is set, with fill of so many bytes.
    Align(bool, u8),
    Origin,
    Relocation,
    BinaryFile,
    Warning,
    Error,
    Print,
    Abort,
    /// Nothing that this assembler writes; the warning says what is lost.
    Unrecorded(&'static str),
    /// Nothing at all here.
    Nothing,
    Target,
    Version,
    Kernel,
    Metadata(metadata::Kind),
    PalPairs,
    Isa,
    HsaKernel,
    KernelCode,
    /// `.hsa_code_object_version`: V2.
    FirstVersion,
    /// `.hsa_code_object_isa`: V2.
    FirstIsa,
}

/// What a directive needs of the operating system.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    AmdHsa,
    AmdPal,
}

const LINES: &str = "line tables are not written: line directives are passed over";
const FRAMES: &str = "frame information is not written: .cfi directives are passed over";

const DATA: u64 = raw::SHF_ALLOC.0 | raw::SHF_WRITE.0;
const CODE: u64 = raw::SHF_ALLOC.0 | raw::SHF_EXECINSTR.0;

/// Directives with what they need. Sources: usage guide, "Directives" of V2 and V3; LLVM's generic parser and
/// that for ELF.
#[rustfmt::skip]
const TABLE: &[(&str, Needs, Directive)] = {
    use Directive as D;
    use Needs::{AmdHsa, AmdPal, Nothing as Any};
    &[
        (".text", Any, D::Section(raw::SHT_PROGBITS, CODE)),
        // Of the first code objects for HSA.
        (".hsatext", Any, D::Section(raw::SHT_PROGBITS, CODE)),
        (".hsadata_global_agent", Any, D::Section(raw::SHT_PROGBITS, DATA)),
        (".hsadata_global_program", Any, D::Section(raw::SHT_PROGBITS, DATA)),
        (".hsarodata_readonly_agent", Any, D::Section(raw::SHT_PROGBITS, raw::SHF_ALLOC.0)),
        (".data", Any, D::Section(raw::SHT_PROGBITS, DATA)),
        (".data.rel.ro", Any, D::Section(raw::SHT_PROGBITS, DATA)),
        (".bss", Any, D::Section(raw::SHT_NOBITS, DATA)),
        (".rodata", Any, D::Section(raw::SHT_PROGBITS, raw::SHF_ALLOC.0)),
        (".tdata", Any, D::Section(raw::SHT_PROGBITS, DATA | raw::SHF_TLS.0)),
        (".tbss", Any, D::Section(raw::SHT_NOBITS, DATA | raw::SHF_TLS.0)),
        (".section", Any, D::NamedSection(false)),
        (".pushsection", Any, D::NamedSection(true)),
        (".popsection", Any, D::PopSection),
        (".previous", Any, D::PreviousSection),
        (".subsection", Any, D::Subsection),
        (".globl", Any, D::Symbols(|s| s.binding = Some(raw::STB_GLOBAL))),
        (".global", Any, D::Symbols(|s| s.binding = Some(raw::STB_GLOBAL))),
        (".weak", Any, D::Symbols(|s| s.binding = Some(raw::STB_WEAK))),
        (".local", Any, D::Symbols(|s| s.binding = Some(raw::STB_LOCAL))),
        (".hidden", Any, D::Symbols(|s| s.visibility = raw::STV_HIDDEN)),
        (".protected", Any, D::Symbols(|s| s.visibility = raw::STV_PROTECTED)),
        (".internal", Any, D::Symbols(|s| s.visibility = raw::STV_INTERNAL)),
        // Linkers of other formats heed it; here the symbol is known by it.
        (".no_dead_strip", Any, D::Symbols(|_| ())),
        (".extern", Any, D::Nothing),
        (".type", Any, D::SymbolType),
        (".size", Any, D::SymbolSize),
        (".set", Any, D::Assign(false)),
        (".equ", Any, D::Assign(false)),
        (".equiv", Any, D::Assign(true)),
        (".comm", Any, D::Common(false)),
        (".common", Any, D::Common(false)),
        (".lcomm", Any, D::Common(true)),
        (".amdgpu_lds", Any, D::Lds),
        (".ident", Any, D::Ident),
        (".byte", Any, D::Integers(1)),
        (".dc.b", Any, D::Integers(1)),
        (".short", Any, D::Integers(2)),
        (".2byte", Any, D::Integers(2)),
        (".hword", Any, D::Integers(2)),
        (".half", Any, D::Integers(2)),
        (".value", Any, D::Integers(2)),
        (".dc.w", Any, D::Integers(2)),
        (".dc", Any, D::Integers(2)),
        (".long", Any, D::Integers(4)),
        (".4byte", Any, D::Integers(4)),
        (".int", Any, D::Integers(4)),
        (".word", Any, D::Integers(4)),
        (".dc.l", Any, D::Integers(4)),
        (".quad", Any, D::Integers(8)),
        (".8byte", Any, D::Integers(8)),
        (".dc.a", Any, D::Integers(8)),
        (".octa", Any, D::WideIntegers),
        (".float", Any, D::Floats(4)),
        (".single", Any, D::Floats(4)),
        (".dc.s", Any, D::Floats(4)),
        (".double", Any, D::Floats(8)),
        (".dc.d", Any, D::Floats(8)),
        (".sleb128", Any, D::Leb(true)),
        (".uleb128", Any, D::Leb(false)),
        (".ascii", Any, D::Strings(false)),
        (".asciz", Any, D::Strings(true)),
        (".string", Any, D::Strings(true)),
        (".base64", Any, D::Base64),
        (".zero", Any, D::Space),
        (".space", Any, D::Space),
        (".skip", Any, D::Space),
        (".fill", Any, D::Fill),
        (".ds", Any, D::Units(2)),
        (".ds.b", Any, D::Units(1)),
        (".ds.w", Any, D::Units(2)),
        (".ds.l", Any, D::Units(4)),
        (".ds.s", Any, D::Units(4)),
        (".ds.d", Any, D::Units(8)),
        (".dcb", Any, D::Units(2)),
        (".dcb.b", Any, D::Units(1)),
        (".dcb.w", Any, D::Units(2)),
        (".dcb.l", Any, D::Units(4)),
        (".align", Any, D::Align(false, 1)),
        (".balign", Any, D::Align(false, 1)),
        (".balignw", Any, D::Align(false, 2)),
        (".balignl", Any, D::Align(false, 4)),
        (".p2align", Any, D::Align(true, 1)),
        (".p2alignw", Any, D::Align(true, 2)),
        (".p2alignl", Any, D::Align(true, 4)),
        (".org", Any, D::Origin),
        (".reloc", Any, D::Relocation),
        (".incbin", Any, D::BinaryFile),
        (".warning", Any, D::Warning),
        (".error", Any, D::Error),
        (".err", Any, D::Error),
        (".print", Any, D::Print),
        (".abort", Any, D::Abort),
        (".file", Any, D::Nothing),
        (".line", Any, D::Unrecorded(LINES)),
        (".loc", Any, D::Unrecorded(LINES)),
        (".addrsig", Any, D::Nothing),
        (".addrsig_sym", Any, D::Nothing),
        (".amdgcn_target", Any, D::Target),
        (".amdhsa_code_object_version", AmdHsa, D::Version),
        (".amdhsa_kernel", AmdHsa, D::Kernel),
        (".amdgpu_metadata", AmdHsa, D::Metadata(metadata::HSA)),
        (".amdgpu_pal_metadata", Any, D::Metadata(metadata::PAL)),
        (".amd_amdgpu_pal_metadata", AmdPal, D::PalPairs),
        (".amd_amdgpu_hsa_metadata", AmdHsa, D::Metadata(metadata::HSA_V2)),
        (".amd_amdgpu_isa", Any, D::Isa),
        (".amdgpu_hsa_kernel", Any, D::HsaKernel),
        (".amd_kernel_code_t", Any, D::KernelCode),
        (".hsa_code_object_version", AmdHsa, D::FirstVersion),
        (".hsa_code_object_isa", AmdHsa, D::FirstIsa),
    ]
};

/// The table by name.
static BY_NAME: LazyLock<FxHashMap<&str, (Needs, Directive)>> =
    LazyLock::new(|| TABLE.iter().map(|&(name, needs, directive)| (name, (needs, directive))).collect());

impl<'a> Assembler<'a, '_> {
    /// Obeys directive `name`, behind which `lexer` stands.
    pub(super) fn directive(&mut self, name: &'a str, lexer: &mut Lexer<'a>, line: u32, at: usize) -> Result {
        if name.starts_with(".cfi_") {
            self.warn_once(FRAMES, line, at);
            return Ok(());
        }
        let Some(&(needs, directive)) = BY_NAME.get(name) else {
            return fail(at, format!("unknown directive {name}"));
        };
        let fits = match needs {
            Needs::Nothing => true,
            Needs::AmdHsa => self.is_hsa(),
            Needs::AmdPal => self.target.os == Os::AmdPal,
        };
        if !fits {
            return fail(at, format!("directive {name} does not exist for this operating system"));
        }
        use Directive as D;
        match directive {
            D::Section(kind, flags) => {
                return self.section_shorthand(name, kind, raw::SectionFlags(flags), lexer);
            }
            D::NamedSection(push) => {
                if push {
                    self.pushed.push((self.current, self.previous));
                }
                return self.section_directive(lexer);
            }
            D::PopSection => match self.pushed.pop() {
                Some((current, previous)) => (self.current, self.previous) = (current, previous),
                None => return fail(at, "no section was pushed"),
            },
            D::PreviousSection => std::mem::swap(&mut self.current, &mut self.previous),
            D::Subsection => return self.subsection_directive(lexer),
            D::Symbols(change) => return self.each_symbol(lexer, change),
            D::SymbolType => return self.type_directive(lexer),
            D::SymbolSize => {
                let id = self.symbol(lexer)?;
                comma(lexer)?;
                let value = self.value(lexer, line)?;
                self.symbols.of(id).size = Some(value);
            }
            D::Assign(once) => {
                let (name, name_at) = symbol_name(lexer)?;
                comma(lexer)?;
                if once && self.symbols.is_defined(name) {
                    return fail(name_at, format!("symbol {name} is defined already"));
                }
                return self.assign(name, lexer, line, name_at);
            }
            D::Common(local) => return self.common(lexer, local),
            D::Lds => return self.lds(lexer),
            D::Ident => return self.ident(lexer),
            D::Warning => {
                let message = message(lexer, "warning")?;
                self.warnings.push((self.origin(line, at), message));
            }
            D::Error => return fail(at, message(lexer, &format!("{name} encountered"))?),
            D::Print => {
                let text = message(lexer, "")?;
                self.printed.push(text);
            }
            D::Abort => {
                self.aborted = true;
                return fail(at, ".abort ends the assembly");
            }
            D::Unrecorded(what) => {
                self.warn_once(what, line, at);
                return Ok(());
            }
            D::Nothing => return Ok(()),
            D::Target => return self.target_directive(lexer, line),
            D::Version => return self.version_directive(lexer),
            D::Kernel => {
                let (kernel, _) = symbol_name(lexer)?;
                end(lexer)?;
                return self.begin_kernel(kernel, self.origin(line, at));
            }
            D::Metadata(kind) => {
                let origin = self.origin(line, at);
                self.open_metadata = Some(metadata::Open { kind, origin, lines: Vec::new() });
            }
            D::PalPairs => return self.pal_pairs(lexer),
            D::Isa => return self.isa_directive(lexer),
            D::HsaKernel => return self.hsa_kernel_directive(lexer),
            D::KernelCode => {
                end(lexer)?;
                return self.begin_header(self.origin(line, at));
            }
            D::FirstVersion => return self.first_version_directive(lexer),
            D::FirstIsa => return self.first_isa_directive(lexer),
            _ => self.data_directive(directive, lexer, line, at)?,
        }
        end(lexer)
    }

    /// A line inside `.amdhsa_kernel`, which begins with `name`; only directives of descriptors may stand there.
    pub(super) fn directive_of_kernel(
        &mut self,
        name: &'a str,
        lexer: &mut Lexer<'a>,
        line: u32,
        at: usize,
    ) -> Result {
        if name == ".end_amdhsa_kernel" {
            end(lexer)?;
            return self.end_kernel(at);
        }
        let Some(field) = name.strip_prefix(".amdhsa_") else {
            return fail(at, format!("{name} inside .amdhsa_kernel"));
        };
        let Some(field) = kernel::field(field) else { return fail(at, format!("unknown directive {name}")) };
        let origin = self.origin(line, lexer.start);
        let symbols = &self.symbols;
        let expr = mir::isa::parse::expr::parse(lexer, &|name| symbols.constant(name), false)?;
        end(lexer)?;
        let Some(kernel) = &mut self.open_kernel else { return Ok(()) };
        let here = kernel.place;
        kernel.set(field, Value { expr, here, origin }, at, name)
    }

    /// Applies `change` to the symbols of a list.
    fn each_symbol(&mut self, lexer: &mut Lexer<'a>, change: fn(&mut Symbol<'_>)) -> Result {
        loop {
            let id = self.symbol(lexer)?;
            let symbol = self.symbols.of(id);
            symbol.named = true;
            change(symbol);
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
        lexer.skip(b',');
        let _ = lexer.skip(b'@') || lexer.skip(b'%') || lexer.skip(b'#');
        let kind = match lexer.token {
            Token::Name("function" | "STT_FUNC") | Token::Str("function") => raw::STT_FUNC,
            Token::Name("object" | "STT_OBJECT") | Token::Str("object") => raw::STT_OBJECT,
            Token::Name("tls_object" | "STT_TLS") | Token::Str("tls_object") => raw::STT_TLS,
            Token::Name("common" | "STT_COMMON") | Token::Str("common") => raw::STT_COMMON,
            Token::Name("notype" | "STT_NOTYPE") | Token::Str("notype") => raw::STT_NOTYPE,
            Token::Name("amdgpu_hsa_kernel" | "STT_AMDGPU_HSA_KERNEL") => raw::SymbolType(STT_HSA_KERNEL),
            _ => return fail(lexer.start, "unknown symbol type"),
        };
        lexer.step();
        end(lexer)?;
        let symbol = self.symbols.of(id);
        (symbol.kind, symbol.named) = (kind, true);
        Ok(())
    }

    /// `.comm name, size [, power of alignment]`: space that the linker reserves; of a symbol that `.local` names, and
    /// by `.lcomm name, size`, space in `.bss`, known here alone.
    fn common(&mut self, lexer: &mut Lexer<'a>, only_local: bool) -> Result {
        let (name, at) = symbol_name(lexer)?;
        let id = self.symbols.get(name);
        let local = only_local || self.symbols.of(id).binding == Some(raw::STB_LOCAL);
        comma(lexer)?;
        let size_at = lexer.start;
        let size = self.size(lexer)?;
        let mut align = 1;
        if lexer.skip(b',') {
            // A power of two, as LLVM reads it for this target.
            let align_at = lexer.start;
            match self.constant(lexer)? {
                _ if only_local => return fail(align_at, "alignment is not supported here"),
                power @ 0..=31 => align = 1 << power,
                other => return fail(align_at, format!("invalid alignment {other}")),
            }
        }
        end(lexer)?;
        let definition = if local {
            let section = self.section_called(Cow::Borrowed(".bss"));
            let before = (self.current, self.previous);
            self.switch_to(section);
            self.align(align, None, size_at)?;
            let place = self.here();
            self.fill(size as i64, 1, 0, size_at)?;
            (self.current, self.previous) = before;
            Definition::Label(place)
        } else {
            Definition::Common(align)
        };
        self.reserve(name, at, definition, size, !local)
    }

    /// `.amdgpu_lds name, size [, alignment]`: LDS that the linker reserves.
    fn lds(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let (name, at) = symbol_name(lexer)?;
        comma(lexer)?;
        let size_at = lexer.start;
        let size = self.size(lexer)?;
        let most = u64::from(self.target.limits().lds_bytes);
        if size > most {
            return fail(size_at, format!("{size} bytes of LDS, the hardware has {most}"));
        }
        let mut align = 4;
        if lexer.skip(b',') {
            let align_at = lexer.start;
            let value = self.constant(lexer)?;
            align = match u64::try_from(value) {
                Ok(align) if align.is_power_of_two() && align < 1 << 31 => align,
                _ => return fail(align_at, format!("invalid alignment {value}")),
            };
        }
        end(lexer)?;
        self.reserve(name, at, Definition::Lds(align), size, true)
    }

    /// A size of at most that of a section.
    fn size(&mut self, lexer: &mut Lexer<'a>) -> Result<u64> {
        let at = lexer.start;
        let size = u64::try_from(self.constant(lexer)?).ok().filter(|&size| size <= super::MAX_SECTION_BYTES);
        size.map_or_else(|| fail(at, "the size is negative or too large"), Ok)
    }

    /// Defines a variable without contents.
    fn reserve(
        &mut self,
        name: &'a str,
        at: usize,
        definition: Definition<'a>,
        size: u64,
        global: bool,
    ) -> Result {
        let id = self.symbols.get(name);
        if self.symbols.is_defined(name) {
            return fail(at, format!("symbol {name} is defined twice"));
        }
        let symbol = self.symbols.of(id);
        symbol.definition = definition;
        symbol.kind = raw::STT_OBJECT;
        symbol.fixed_size = size;
        if global {
            symbol.binding = symbol.binding.or(Some(raw::STB_GLOBAL));
        }
        self.symbols.number(id);
        Ok(())
    }

    /// `.ident "producer"`: a string in `.comment`.
    fn ident(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let Token::Str(text) = lexer.token else { return fail(lexer.start, "expected a string") };
        let bytes = super::data::unescape(text).or_else(|message| fail(lexer.start, message))?;
        lexer.step();
        end(lexer)?;
        let section = self.section_called(Cow::Borrowed(".comment"));
        let section = &mut self.image.sections[section.0];
        if section.data.is_empty() {
            // Linkers keep one of equal strings.
            section.flags |= raw::SHF_MERGE | raw::SHF_STRINGS;
            section.entry_size = 1;
            section.data.push(0);
        }
        section.data.extend(bytes);
        section.data.push(0);
        Ok(())
    }
}

/// The string here, or `otherwise`.
fn message(lexer: &mut Lexer<'_>, otherwise: &str) -> Result<String> {
    let Token::Str(text) = lexer.token else {
        end(lexer)?;
        return Ok(otherwise.to_owned());
    };
    let bytes = super::data::unescape(text).or_else(|message| fail(lexer.start, message))?;
    lexer.step();
    end(lexer)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
