//! Symbols: which of them are written by name, and the directives about them.

use super::kernels::Kernels;
use super::program::{Place, Program, Symbol};
use crate::assembly_text::Quoted;
use mir::abi::kernel_code::STT_HSA_KERNEL;
use object::elf;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// How a symbol is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// By its name.
    Named,
    /// By its name, which the descriptor's directive defines.
    OfDescriptor,
    /// Not at all: a section's, or one that linkers make.
    Implied,
    /// Not at all, and this is why.
    LeftOut(&'static str),
}

/// What becomes of each symbol.
#[derive(Debug)]
pub(super) struct Printed {
    roles: Vec<Role>,
    names: Vec<String>,
    /// Visibilities that kernels are given, where it is not their own: the assembler protects those that have a descriptor.
    visibilities: FxHashMap<usize, elf::SymbolVisibility>,
}

impl Printed {
    pub fn of(program: &Program<'_>, kernels: &Kernels) -> Self {
        let mut taken: FxHashMap<&str, usize> = FxHashMap::default();
        // Of several symbols of a name, the one that others can refer to has it.
        let local = |symbol: &Symbol<'_>| symbol.binding == elf::STB_LOCAL;
        for locals in [false, true] {
            for (index, symbol) in program.symbols.iter().enumerate().filter(|(_, s)| local(s) == locals) {
                taken.entry(symbol.name).or_insert(index);
            }
        }
        let role = |(index, symbol): (usize, &Symbol<'_>)| match symbol {
            Symbol { kind: elf::STT_SECTION, .. } => Role::Implied,
            Symbol { kind: elf::STT_FILE, .. } => Role::LeftOut("the name of a source file"),
            Symbol { place: Place::Elsewhere, .. } if program.is_linked => Role::Implied,
            Symbol { name: "", .. } => Role::LeftOut("a symbol without a name"),
            _ if kernels.is_descriptor(index) => Role::OfDescriptor,
            Symbol { name, .. } if !is_writable(name) => {
                Role::LeftOut("a name that the assembler cannot read")
            }
            Symbol { name, .. } if taken.get(name) != Some(&index) => {
                Role::LeftOut("another symbol has the name")
            }
            Symbol { place: Place::Elsewhere, .. } => Role::LeftOut("its section is not written"),
            Symbol { place: Place::Undefined, binding: elf::STB_LOCAL, .. } => {
                Role::LeftOut("local and undefined")
            }
            _ => Role::Named,
        };
        Self {
            roles: program.symbols.iter().enumerate().map(role).collect(),
            names: program.symbols.iter().map(|symbol| symbol.name.to_owned()).collect(),
            visibilities: kernels.visibilities.clone(),
        }
    }

    /// The name by which the text refers to a symbol, if it does.
    pub fn name(&self, index: usize) -> Option<&str> {
        matches!(self.roles[index], Role::Named | Role::OfDescriptor).then(|| self.names[index].as_str())
    }
}

/// Whether a symbol of this name can be written and comes into the table.
fn is_writable(name: &str) -> bool {
    !name.starts_with(".L") && !name.contains(['"', '\\']) && !name.contains(char::is_control)
}

/// The directives about a symbol, but for its definition.
fn write_attributes(out: &mut String, printed: &Printed, index: usize, symbol: &Symbol<'_>) {
    let name = Quoted(symbol.name);
    let undefined = symbol.place == Place::Undefined;
    let reserved = matches!(symbol.place, Place::Common(_) | Place::Lds(_));
    let _ = match symbol.binding {
        elf::STB_GLOBAL => writeln!(out, "\t.globl {name}"),
        elf::STB_WEAK => writeln!(out, "\t.weak {name}"),
        elf::STB_LOCAL if reserved => writeln!(out, "\t.local {name}"),
        elf::STB_LOCAL => Ok(()),
        other => writeln!(out, "// cannot be written: binding {} of {name}", other.0),
    };
    let visibility = printed.visibilities.get(&index).copied().unwrap_or(symbol.visibility);
    let _ = match visibility {
        elf::STV_HIDDEN => writeln!(out, "\t.hidden {name}"),
        elf::STV_PROTECTED => writeln!(out, "\t.protected {name}"),
        elf::STV_INTERNAL => writeln!(out, "\t.internal {name}"),
        _ => Ok(()),
    };
    let _ = match symbol.kind {
        elf::STT_NOTYPE => Ok(()),
        elf::STT_OBJECT if reserved => Ok(()),
        elf::STT_FUNC => writeln!(out, "\t.type {name},@function"),
        elf::STT_OBJECT => writeln!(out, "\t.type {name},@object"),
        elf::STT_TLS => writeln!(out, "\t.type {name},@tls_object"),
        elf::STT_COMMON => writeln!(out, "\t.type {name},@common"),
        elf::SymbolType(STT_HSA_KERNEL) => writeln!(out, "\t.amdgpu_hsa_kernel {name}"),
        other => writeln!(out, "// cannot be written: type {} of {name}", other.0),
    };
    if symbol.size != 0 && !undefined && !reserved {
        let _ = writeln!(out, "\t.size {name}, {}", symbol.size);
    }
}

/// A symbol at this place.
pub(super) fn write_label(out: &mut String, program: &Program<'_>, printed: &Printed, index: usize) {
    let symbol = &program.symbols[index];
    match printed.roles[index] {
        Role::Named => {
            out.push('\n');
            write_attributes(out, printed, index, symbol);
            let _ = writeln!(out, "{}:", Quoted(symbol.name));
        }
        Role::LeftOut(why) => {
            let _ = writeln!(out, "// cannot be written: symbol {:?}: {why}", symbol.name);
        }
        _ => {}
    }
}

/// A symbol that means `place`; whether it is written.
pub(super) fn write_equated(
    out: &mut String,
    program: &Program<'_>,
    printed: &Printed,
    index: usize,
    place: &str,
) -> bool {
    let symbol = &program.symbols[index];
    match printed.roles[index] {
        Role::Named => {
            write_attributes(out, printed, index, symbol);
            let _ = writeln!(out, "\t.set {}, {place}", Quoted(symbol.name));
            return true;
        }
        Role::LeftOut(why) => {
            let _ = writeln!(out, "// cannot be written: symbol {:?}: {why}", symbol.name);
        }
        _ => {}
    }
    false
}

/// The symbols that are in no section.
pub(super) fn write_rest(out: &mut String, program: &Program<'_>, printed: &Printed) {
    let mut text = String::new();
    for (index, symbol) in program.symbols.iter().enumerate() {
        let name = Quoted(symbol.name);
        match (printed.roles[index], symbol.place) {
            (_, Place::Section(..)) | (Role::Implied, _) => {}
            (Role::LeftOut(why), _) => {
                let _ = writeln!(text, "// cannot be written: symbol {:?}: {why}", symbol.name);
            }
            (_, Place::Undefined) => write_attributes(&mut text, printed, index, symbol),
            (_, Place::Absolute(value)) => {
                write_equated(&mut text, program, printed, index, &format!("{value:#x}"));
            }
            (_, Place::Common(align)) => {
                write_attributes(&mut text, printed, index, symbol);
                let power = align.max(1).trailing_zeros();
                let _ = writeln!(text, "\t.comm {name}, {}, {power}", symbol.size);
            }
            (_, Place::Lds(align)) => {
                write_attributes(&mut text, printed, index, symbol);
                let _ = writeln!(text, "\t.amdgpu_lds {name}, {}, {}", symbol.size, align.max(1));
            }
            (_, Place::Elsewhere) => {}
        }
    }
    if !text.is_empty() {
        out.push('\n');
        out.push_str(&text);
    }
}
