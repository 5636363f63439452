//! Variables of the module in data sections.
//!
//! A variable goes to the section it names, else by its nature: constants without addresses (but for distances) to `.rodata`,
//! with addresses to `.data.rel.ro`, zeros to `.bss`, the rest to `.data`. A named section takes type and
//! flags from its first variable. Zeros are stored in it like any other contents, unless it is called `.bss.` and something, and all its
//! variables are zero, as compilers name sections of single variables.

use super::{Builder, Pending, reloc};
use mir::ir::{AddrSpace, Global, GlobalData, Initializer, Linkage, Module, SymbolRef};
use mir::{Diagnostic, Result};
use object::elf as raw;
use rustc_hash::FxHashSet;

/// Name, type and flags of the section for `global`; decided by nature alone, without regard to its own
/// section name.
pub(crate) fn section_of(global: &GlobalData, init: &Initializer) -> (&'static str, bool) {
    let zero = init.bytes.iter().all(|&byte| byte == 0) && init.relocations.is_empty();
    // Distances need no loader.
    let is_fixed = init.relocations.iter().all(|relocation| relocation.is_relative);
    match (global.is_constant, is_fixed, zero) {
        (true, true, _) => (".rodata", false),
        (true, false, _) => (".data.rel.ro", false),
        (false, _, true) => (".bss", true),
        (false, _, false) => (".data", false),
    }
}

/// Gives each variable that has no section one of its own, whose name is that of the section for its kind and then its own.
pub fn separate_sections(module: &mut Module) {
    for global in module.globals.values_mut().filter(|global| is_emitted(global) && global.section.is_empty())
    {
        if let Some(init) = &global.init {
            global.section = format!("{}.{}", section_of(global, init).0, global.name);
        }
    }
}

/// The sections that variables name and that hold something else than zeros.
pub(crate) fn stored_sections(module: &Module) -> FxHashSet<&str> {
    let named = module.globals.values().filter(|global| is_emitted(global) && !global.section.is_empty());
    let stored = named.filter(|global| global.init.as_ref().is_some_and(|init| !section_of(global, init).1));
    stored.map(|global| global.section.as_str()).collect()
}

/// Whether a section that a variable names has no contents in the file.
pub(crate) fn is_named_bss(name: &str, stored: &FxHashSet<&str>) -> bool {
    name.starts_with(".bss.") && !stored.contains(name)
}

/// Type of a section that a variable names: linkers join arrays of constructors and destructors by it.
pub(crate) fn named_section_type(name: &str) -> raw::SectionType {
    let is =
        |array: &str| name.strip_prefix(array).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    match name {
        _ if is(".init_array") => raw::SHT_INIT_ARRAY,
        _ if is(".fini_array") => raw::SHT_FINI_ARRAY,
        _ => raw::SHT_PROGBITS,
    }
}

/// Whether the object holds the contents of `global`.
pub(crate) fn is_emitted(global: &GlobalData) -> bool {
    global.init.is_some()
        && !matches!(global.space, AddrSpace::LOCAL | AddrSpace::REGION)
        && !matches!(global.linkage, Linkage::AvailableExternally | Linkage::Appending)
}

/// Adds every variable that the module defines, in its order.
pub(super) fn add_globals(builder: &mut Builder<'_>) -> Result<()> {
    let module = builder.module;
    let stored = stored_sections(module);
    for (id, global) in module.globals.iter() {
        if let Some(init) = global.init.as_ref().filter(|_| is_emitted(global)) {
            add_global(builder, id, global, init, &stored)?;
        }
    }
    Ok(())
}

fn add_global(
    builder: &mut Builder<'_>,
    id: Global,
    global: &GlobalData,
    init: &Initializer,
    stored: &FxHashSet<&str>,
) -> Result<()> {
    let (mut name, nobits) = section_of(global, init);
    let mut kind = if nobits { raw::SHT_NOBITS } else { raw::SHT_PROGBITS };
    let write = if name == ".rodata" { raw::SectionFlags(0) } else { raw::SHF_WRITE };
    if !global.section.is_empty() {
        name = &global.section;
        kind = match is_named_bss(name, stored) {
            true => raw::SHT_NOBITS,
            false => named_section_type(name),
        };
    }
    let section = builder.section(name, kind, raw::SHF_ALLOC | write);
    let size = usize::try_from(global.size_bytes).ok().filter(|&size| size <= isize::MAX as usize / 2);
    let Some(size) = size.filter(|&size| size >= init.bytes.len()) else {
        return Err(Diagnostic::malformed(format!(
            "variable {} of {} bytes has {} bytes of contents",
            global.name,
            global.size_bytes,
            init.bytes.len()
        )));
    };
    let contents = &mut builder.image.sections[section.0];
    let offset = contents.align_to(1 << global.align_log2.min(31), &[0]);
    if contents.is_nobits() {
        contents.nobits_size += size as u64;
    } else {
        contents.data.extend_from_slice(&init.bytes);
        contents.data.resize(offset as usize + size, 0);
    }
    for relocation in &init.relocations {
        let kind = match (relocation.width_bytes, relocation.is_relative) {
            (8, false) => reloc::ABS64,
            (8, true) => reloc::REL64,
            (4, false) => reloc::ABS32,
            (4, true) => reloc::REL32,
            (width, _) => {
                let message = format!("address of {width} bytes in variable {}", global.name);
                return Err(Diagnostic::unsupported(message));
            }
        };
        builder.pending.push(Pending {
            section,
            offset: offset + relocation.offset_bytes,
            symbol: relocation.symbol,
            kind,
            addend: relocation.addend,
        });
    }
    let visible = super::visibility(global.visibility);
    builder.define(SymbolRef::Global(id), (section, offset), global.size_bytes, raw::STT_OBJECT, visible)
}
