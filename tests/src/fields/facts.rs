//! What an object says, as a flat table: fields by name.
//!
//! Two objects of one module are compared by it, so names hold no numbers that depend on the order or the place of things: kernels, symbols and
//! sections go by their names, relocations of code by type and symbol, those of data by their place in a variable too.

use emit::inspect::{CodeObject, NoteContents, Register, Report};
use mir::abi::{Document, KernelDescriptor};
use object::read::elf::{ElfFile64, SectionHeader as _};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, elf};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Fields and their values.
pub type Facts = BTreeMap<String, String>;

/// Contents of variables up to this size are compared as text, of others by a sum.
const SHOWN_BYTES: usize = 64;

/// PAL's numbers of `SPI_SHADER_PGM_RSRC1_*` and `COMPUTE_PGM_RSRC1`; the second register follows each.
const PAL_RSRC1: [u32; 7] = [0x2d4a, 0x2d0a, 0x2cca, 0x2c8a, 0x2c4a, 0x2c0a, 0x2e12];

/// The report of an ELF file for AMD GPUs.
///
/// # Errors
/// Another file, or a damaged one.
pub fn report(bytes: &[u8]) -> Result<Box<CodeObject>, String> {
    match emit::inspect::inspect(bytes) {
        Report::CodeObject(object) => match object.problems.first() {
            None => Ok(object),
            Some(problem) => Err(problem.clone()),
        },
        _ => Err("no code object".to_owned()),
    }
}

/// Fields of an object.
///
/// # Errors
/// What cannot be read.
pub fn facts(bytes: &[u8]) -> Result<Facts, String> {
    let object = report(bytes)?;
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(|error| error.to_string())?;
    let mut out = Table::default();
    let (header, endian) = (file.elf_header(), file.endian());
    out.put("header type", &object.elf);
    out.put("header machine", header.e_machine.get(endian).0);
    out.put("header os_abi", object.os_abi);
    out.put("header abi_version", object.abi_version);
    out.put("header version", header.e_version.get(endian));
    out.put("header entry", header.e_entry.get(endian));
    out.put("header flags", format_args!("{:#x}", object.flags));
    sections(&file, &mut out);
    symbols(&object, &file, &mut out);
    relocations(&object, &file, &mut out);
    for note in &object.notes {
        let place = format!("note {}/{}", note.owner, note.kind);
        out.put(format!("{place} section"), &note.section);
        match &note.contents {
            NoteContents::Metadata(document) => flatten("metadata", document, &mut out),
            NoteContents::Registers(registers) => {
                registers.iter().for_each(|register| pal(register, &mut out))
            }
            other => out.put(place, format_args!("{other:?}")),
        }
    }
    for kernel in &object.kernels {
        for field in &kernel.fields {
            out.put(format!("{} {}.{}", kernel.described_by, kernel.name, field.name), field.value);
        }
    }
    config(&object, &file, &mut out);
    Ok(out.facts)
}

/// Register values of each function, which stand in the order of the code. The first resource register starts a function.
fn config(object: &CodeObject, file: &File<'_>, out: &mut Table) {
    let functions = file.symbols().filter(|s| s.kind() == object::SymbolKind::Text || is_kernel(s));
    let mut functions: Vec<_> =
        functions.map(|s| (s.section_index(), s.address(), s.name().unwrap_or_default())).collect();
    functions.sort_by_key(|function| (function.0.map(|index| index.0), function.1, function.2));
    functions.dedup_by_key(|function| (function.0, function.1));
    let mut number = 0;
    for register in &object.config {
        let name = register.name.clone().unwrap_or_else(|| format!("{:#x}", register.register));
        number += usize::from(name.contains("PGM_RSRC1"));
        let function = functions.get(number.wrapping_sub(1)).map_or("?", |function| function.2);
        resource(&format!("config {function}.{name}"), &name, register.value, out);
    }
}

/// Whether a symbol is a kernel with a header in front.
fn is_kernel(symbol: &object::read::elf::ElfSymbol64<'_, '_, Endianness>) -> bool {
    symbol.elf_symbol().st_type().0 == mir::abi::kernel_code::STT_HSA_KERNEL
}

/// The table under construction.
#[derive(Default)]
struct Table {
    facts: Facts,
    counts: BTreeMap<String, usize>,
}

impl Table {
    /// Adds a field; where there is one of that name already, with a number behind it.
    fn put(&mut self, name: impl Into<String>, value: impl ToString) {
        let mut name = name.into();
        let count = self.counts.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            let _ = write!(name, " #{count}");
        }
        self.facts.insert(name, value.to_string());
    }
}

type File<'a> = ElfFile64<'a, Endianness>;

/// Types, flags, alignments and sizes of entries. Tables of strings are the writer's affair.
fn sections(file: &File<'_>, out: &mut Table) {
    for section in file.sections() {
        let (raw, endian) = (section.elf_section_header(), file.endian());
        let kind = raw.sh_type(endian);
        if matches!(kind, elf::SHT_STRTAB | elf::SHT_SYMTAB | elf::SHT_NULL) {
            continue;
        }
        let place = format!("section {}", section.name().unwrap_or_default());
        out.put(format!("{place} type"), kind.0);
        out.put(format!("{place} flags"), format_args!("{:#x}", raw.sh_flags(endian).0));
        out.put(format!("{place} align"), raw.sh_addralign(endian));
        out.put(format!("{place} entry size"), raw.sh_entsize(endian));
    }
}

fn symbols(object: &CodeObject, file: &File<'_>, out: &mut Table) {
    let relocatable = object.elf == "relocatable";
    for (symbol, raw) in object.symbols.iter().zip(file.symbols()) {
        if symbol.kind == "section" || symbol.name.is_empty() {
            continue;
        }
        let place = format!("symbol {}", symbol.name);
        out.put(format!("{place} binding"), &symbol.binding);
        out.put(format!("{place} type"), &symbol.kind);
        out.put(format!("{place} visibility"), symbol.visibility);
        out.put(format!("{place} section"), &symbol.section);
        if symbol.section == "absolute" && symbol.kind != "file" || symbol.section == "lds" {
            out.put(format!("{place} value"), symbol.value);
        }
        if symbol.kind != "object" && symbol.section != "lds" {
            continue;
        }
        out.put(format!("{place} size"), symbol.size);
        let section = raw.section_index().and_then(|index| file.section_by_index(index).ok());
        let data = section.as_ref().and_then(|section| {
            let base = if relocatable { 0 } else { section.address() };
            let from = usize::try_from(raw.address().checked_sub(base)?).ok()?;
            section.data().ok()?.get(from..from.checked_add(usize::try_from(symbol.size).ok()?)?)
        });
        // Descriptors are compared by their fields, addresses by relocations.
        if let Some(data) = data.filter(|_| relocatable && !symbol.name.ends_with(".kd")) {
            out.put(format!("{place} contents"), shown(data));
        }
    }
}

/// Bytes as text, or what stands for them.
fn shown(bytes: &[u8]) -> String {
    if bytes.len() > SHOWN_BYTES {
        let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        return format!("{} bytes, {sum:016x}", bytes.len());
    }
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Types and symbols. Local symbols count as their section, as assemblers may write either.
fn relocations(object: &CodeObject, file: &File<'_>, out: &mut Table) {
    let local: BTreeMap<&str, &str> = object
        .symbols
        .iter()
        .filter(|symbol| symbol.binding == "local" && !symbol.dynamic)
        .map(|symbol| (symbol.name.as_str(), symbol.section.as_str()))
        .collect();
    let is_section = |name: &str| object.sections.iter().any(|section| section.name == name);
    for relocation in &object.relocations {
        let mut target = relocation.symbol.clone();
        let mut addend = format!("{:+}", relocation.addend);
        if let Some(section) = local.get(target.as_str()).copied().or(is_section(&target).then_some(&target))
        {
            (target, addend) = (format!("in {section}"), String::new());
        }
        let section = object.sections.iter().find(|section| section.name == relocation.section);
        let place = match section {
            Some(section) if !section.flags.contains('x') => {
                let index = object::SectionIndex(section.index);
                let holder = file.symbols().find(|symbol| {
                    symbol.section_index() == Some(index)
                        && symbol.size() > 0
                        && (symbol.address()..symbol.address() + symbol.size()).contains(&relocation.offset)
                });
                let name = holder.as_ref().map_or("", |symbol| symbol.name().unwrap_or_default());
                let start = holder.as_ref().map_or(0, |symbol| symbol.address());
                format!(
                    "{} {name}+{} {} {target}{addend}",
                    relocation.section,
                    relocation.offset - start,
                    relocation.kind
                )
            }
            _ => format!("{} {} {target}", relocation.section, relocation.kind),
        };
        out.facts.insert(format!("relocation {place}"), "yes".to_owned());
    }
}

/// Members of metadata by their keys; kernels and functions by their names, other members of lists by their numbers.
fn flatten(place: &str, document: &Document, out: &mut Table) {
    match document {
        Document::Map(entries) => {
            for (key, value) in entries {
                let key = key.as_text().unwrap_or("?");
                let inner = format!("{place}.{}", key.trim_start_matches('.'));
                if let (Some(number), Document::Int(value)) = (register_number(key), value) {
                    pal(&Register { register: number, name: None, value: *value as u32 }, out);
                } else if matches!(key, "amdhsa.kernels" | "Kernels")
                    && let Document::List(kernels) = value
                {
                    let name = |kernel: &Document| {
                        let name = kernel.get(".name").or_else(|| kernel.get("Name"));
                        name.and_then(Document::as_text).unwrap_or_default().to_owned()
                    };
                    let names: Vec<String> = kernels.iter().map(name).collect();
                    out.put("metadata order of kernels", names.join(", "));
                    for (name, kernel) in names.iter().zip(kernels) {
                        flatten(&format!("metadata kernel {name}"), kernel, out);
                    }
                } else {
                    flatten(&inner, value, out);
                }
            }
        }
        Document::List(items) => {
            out.put(format!("{place} length"), items.len());
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{place}[{index}]"), item, out);
            }
        }
        Document::Null => out.put(place, "null"),
        Document::Bool(value) => out.put(place, value),
        Document::Int(value) => out.put(place, value),
        Document::Float(value) => out.put(place, value),
        Document::Text(text) => out.put(place, format_args!("{text:?}")),
    }
}

/// The number of a register that is a key of PAL's map.
fn register_number(key: &str) -> Option<u32> {
    u32::from_str_radix(key.strip_prefix("0x")?, 16).ok()
}

/// A register or fact of PAL's metadata.
fn pal(register: &Register, out: &mut Table) {
    let number = register.register;
    let which = |first: &u32| number == *first || number == first + 1;
    let kind = match PAL_RSRC1.iter().find(|first| which(first)) {
        Some(&first) if number == first => "PGM_RSRC1",
        Some(&first) if first == PAL_RSRC1[6] => "COMPUTE_PGM_RSRC2",
        Some(_) => "PGM_RSRC2",
        None => "",
    };
    resource(&format!("pal {number:#x}"), kind, register.value, out);
}

/// A register by its fields, where it is a first or second resource register, else whole.
fn resource(place: &str, register: &str, value: u32, out: &mut Table) {
    // Graphics stages share the first two fields of the second register with compute.
    let (offset, known) = match register {
        name if name.contains("PGM_RSRC1") => (48, 32),
        "COMPUTE_PGM_RSRC2" => (52, 32),
        name if name.contains("PGM_RSRC2") => (52, 6),
        _ => return out.put(place, format_args!("{value:#x}")),
    };
    let mut rest = value;
    for field in
        KernelDescriptor::FIELDS.iter().filter(|f| f.offset_bytes == offset && f.shift + f.width <= known)
    {
        let mask = ((1u64 << field.width) - 1) as u32;
        out.put(format!("{place}.{}", field.name), value >> field.shift & mask);
        rest &= !(mask << field.shift);
    }
    out.put(format!("{place}.rest"), format_args!("{rest:#x}"));
}
