//! A code object as the analyses see it: functions of decoded instructions, in blocks.
//!
//! Everything starts from the bytes of the object, however they came about, so that an object, IR that was compiled a moment ago and assembly
//! text are one thing. Addresses are those of the image that [`sim::CodeObject`] lays out, relative to its start.
//!
//! Cost: linear in the code.

mod code;
mod entry;
mod relocated;

pub use code::{Block, Function, Line};
pub use entry::EntryValue;
pub(crate) use entry::{flat_scratch_is_address, registers};

use mir::target::Target;
use mir::{Diagnostic, Result};
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SymbolKind};
use rustc_hash::FxHashMap;

/// A loaded object with its functions.
#[derive(Debug)]
pub struct Program {
    /// What the code is for.
    pub target: Target,
    /// Kernels and other functions, in the order of their addresses.
    pub functions: Vec<Function>,
    /// The object, for its metadata, symbols and line tables.
    pub object: sim::CodeObject,
    /// The image, loaded at 0.
    image: Vec<u8>,
    /// Names of symbols by address, in order.
    names: Vec<(u64, String)>,
    /// Where sections are in the image.
    sections: FxHashMap<String, u64>,
}

/// A symbol of the file that is code.
struct CodeSymbol {
    name: String,
    address: u64,
    bytes: u64,
}

impl Program {
    /// Reads an object, relocatable or linked.
    ///
    /// # Errors
    /// `Malformed` where the bytes are no AMD GPU object, or its processor is not known.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let malformed = |what: String| Diagnostic::malformed(what);
        let object = sim::CodeObject::load_open(bytes).map_err(|report| malformed(report.message.clone()))?;
        let processor =
            object.processor().ok_or_else(|| malformed("the object names no processor".to_owned()))?;
        let mut target = Target::new(processor);
        target.code_object_version = object.version();
        let image = object.image_at(0).map_err(|report| malformed(report.message.clone()))?;
        let elf = object::File::parse(bytes).map_err(|error| malformed(error.to_string()))?;

        let mut sections = FxHashMap::default();
        let mut symbols: Vec<CodeSymbol> = Vec::new();
        let mut names = Vec::new();
        for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
            let (Ok(name), false) = (symbol.name(), symbol.is_undefined()) else { continue };
            let Some(address) = object.symbol(name).filter(|_| !name.is_empty()) else { continue };
            names.push((address, name.to_owned()));
            let section = symbol.section_index().and_then(|index| elf.section_by_index(index).ok());
            let Some(section) = section else { continue };
            let is_code = section.kind() == object::SectionKind::Text;
            if is_code && let Ok(name) = section.name() {
                let offset = symbol.address().wrapping_sub(section.address());
                sections.entry(name.to_owned()).or_insert(address.wrapping_sub(offset));
            }
            let header = object.kernels().iter().any(|kernel| kernel.descriptor_offset == address);
            if is_code && !header && matches!(symbol.kind(), SymbolKind::Text) {
                symbols.push(CodeSymbol { name: name.to_owned(), address, bytes: symbol.size() });
            }
        }
        // Kernels whose header stands in front of the code have a symbol there and none at the code.
        for kernel in object.kernels() {
            if !symbols.iter().any(|symbol| symbol.address == kernel.entry) {
                let size = object.symbol_size(&kernel.name).unwrap_or(0);
                let bytes = (kernel.descriptor_offset + size).saturating_sub(kernel.entry);
                symbols.push(CodeSymbol { name: kernel.name.clone(), address: kernel.entry, bytes });
            }
        }
        symbols.sort_by(|a, b| (a.address, b.bytes, &a.name).cmp(&(b.address, a.bytes, &b.name)));
        symbols.dedup_by_key(|symbol| symbol.address);
        names.sort();
        names.dedup();

        let mut program =
            Self { target, functions: Vec::with_capacity(symbols.len()), object, image, names, sections };
        for (index, symbol) in symbols.iter().enumerate() {
            // A label without a size goes on to the next one, or to the end of the code.
            let next = symbols.get(index + 1).map_or(u64::MAX, |next| next.address);
            let ranges = program.object.code_ranges();
            let whole =
                ranges.iter().find(|(from, to)| (*from..*to).contains(&symbol.address)).map_or(0, |r| r.1);
            let end = match symbol.bytes {
                0 => next.min(whole),
                bytes => symbol.address.saturating_add(bytes).min(whole),
            };
            let code = usize::try_from(symbol.address).ok().zip(usize::try_from(end).ok());
            let code = code.and_then(|(from, to)| program.image.get(from..to)).unwrap_or_default();
            let mut function = Function::decode(&symbol.name, symbol.address, code, &program.target);
            let kernel = program.object.kernels().iter().find(|kernel| kernel.entry == symbol.address);
            function.kernel = kernel.cloned();
            program.functions.push(function);
        }
        program.name_literals(&elf);
        Ok(program)
    }

    /// Puts symbols into the texts of relocatable code.
    fn name_literals(&mut self, elf: &object::File<'_>) {
        for section in elf.sections().filter(|section| section.kind() == object::SectionKind::Text) {
            let base = section.name().ok().and_then(|name| self.sections.get(name)).copied();
            let Some(base) = base else { continue };
            for (offset, relocation) in section.relocations() {
                let (RelocationFlags::Elf { r_type }, RelocationTarget::Symbol(symbol)) =
                    (relocation.flags(), relocation.target())
                else {
                    continue;
                };
                let name = elf.symbol_by_index(symbol).ok().and_then(|symbol| symbol.name().ok());
                let (Some(kind), Some(name)) = (relocated::part(r_type.0), name.filter(|n| !n.is_empty()))
                else {
                    continue;
                };
                let address = base.wrapping_add(offset);
                let after = self.functions.partition_point(|function| function.start <= address);
                let Some(value) = self.dword(address) else { continue };
                // Some systems keep the addend in the place itself.
                let inside =
                    || section.data().ok()?.get(usize::try_from(offset).ok()?..)?.first_chunk().copied();
                let addend = match relocation.has_implicit_addend() {
                    true => inside().map_or(0, |bytes| i64::from(i32::from_le_bytes(bytes))),
                    false => relocation.addend(),
                };
                let Some(function) = after.checked_sub(1).and_then(|at| self.functions.get_mut(at)) else {
                    continue;
                };
                let literal = relocated::Relocated { address, kind, name: name.to_owned(), addend };
                relocated::name(function, &literal, value, &self.target);
            }
        }
    }

    /// The function called `name`.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// The function that has code at an address, and the index of its line there.
    pub fn at(&self, address: u64) -> Option<(&Function, usize)> {
        let after = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        Some((function, function.line_at(address - function.start)?))
    }

    /// The address of an offset in a section with code.
    pub fn section_address(&self, section: &str, offset: u64) -> Option<u64> {
        Some(self.sections.get(section)?.wrapping_add(offset))
    }

    /// A name for an address: a symbol there, or one in front of it with the distance.
    pub fn symbol_at(&self, address: u64) -> Option<String> {
        if let Some(name) = self.object.external_name(address) {
            return Some(name.to_owned());
        }
        if address >= self.image.len() as u64 {
            return None;
        }
        let after = self.names.partition_point(|(at, _)| *at <= address);
        let at = self.names.get(after.checked_sub(1)?)?.0;
        // Of several names at a place the first by name; a descriptor is not what code refers to.
        let first = self.names.partition_point(|(other, _)| *other < at);
        let (_, name) = &self.names[first];
        Some(if at == address { name.clone() } else { format!("{name}+{:#x}", address - at) })
    }

    /// Four bytes of the image.
    fn dword(&self, address: u64) -> Option<u32> {
        let at = usize::try_from(address).ok()?;
        Some(u32::from_le_bytes(*self.image.get(at..)?.first_chunk()?))
    }

    /// Eight bytes of the image.
    pub fn quad(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address).ok()?;
        Some(u64::from_le_bytes(*self.image.get(at..)?.first_chunk()?))
    }
}
