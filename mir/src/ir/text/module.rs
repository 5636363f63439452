//! Writes modules.

use super::*;
use crate::ir::PalMetadata;
use crate::text::{comma_separated, write_lds};
use std::fmt::Write as _;

fn initializer(f: &mut Formatter<'_>, module: &Module, init: &Initializer) -> fmt::Result {
    f.write_str(" init \"")?;
    for byte in &init.bytes {
        write!(f, "{byte:02x}")?;
    }
    f.write_char('"')?;
    if init.relocations.is_empty() {
        return Ok(());
    }
    f.write_str(" [")?;
    comma_separated(f, init.relocations.iter(), |f, relocation| {
        let InitializerRelocation { offset_bytes, width_bytes, symbol, addend, is_relative } = relocation;
        let relative = if *is_relative { "relative " } else { "" };
        write!(f, "{offset_bytes}: {width_bytes} {relative}{} + {addend}", SymbolUse(module, *symbol))
    })?;
    f.write_char(']')
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "module {}", Quoted(&self.name))?;
        writeln!(f, "triple {}", Quoted(&self.triple))?;
        if !self.inline_asm.is_empty() {
            writeln!(f, "module_asm {}", Quoted(&self.inline_asm))?;
        }
        if let Some(version) = self.code_object_version_flag {
            writeln!(f, "code_object_version {version}")?;
        }
        if let Some([major, minor]) = self.opencl_version {
            writeln!(f, "opencl_version {major} {minor}")?;
        }
        if self.is_openmp {
            writeln!(f, "openmp")?;
        }
        match &self.pal_metadata {
            Some(PalMetadata::Registers(pairs)) => {
                pairs.iter().try_for_each(|(key, value)| writeln!(f, "pal_register {key} {value}"))?;
            }
            Some(PalMetadata::MsgPack(bytes)) => {
                for line in bytes.chunks(16) {
                    write!(f, "pal_bytes {}", line.len())?;
                    line.iter().try_for_each(|byte| write!(f, " {byte}"))?;
                    writeln!(f)?;
                }
            }
            None => {}
        }
        for (word, texts) in
            [("ident", &self.idents), ("printf_format", &self.printf_formats), ("file", &self.files)]
        {
            for text in texts {
                writeln!(f, "{word} {}", Quoted(text))?;
            }
        }
        for (agg, _) in self.types.aggregates.iter() {
            writeln!(f, "type {}", self.types.display(Type::Aggregate(agg)))?;
        }
        for global in self.globals.values() {
            write!(f, "global {}", Symbol(&global.name))?;
            linkage(f, global.linkage, global.visibility)?;
            write!(f, " addrspace({})", global.space.0)?;
            f.write_str(if global.is_constant { " constant" } else { "" })?;
            write!(f, " size {} align {}", global.size_bytes, 1u64 << global.align_log2.min(63))?;
            if !global.section.is_empty() {
                write!(f, " section {}", Quoted(&global.section))?;
            }
            if let Some(init) = &global.init {
                initializer(f, self, init)?;
            }
            f.write_char('\n')?;
        }
        for alias in &self.aliases {
            write!(f, "alias {}", Symbol(&alias.name))?;
            linkage(f, alias.linkage, alias.visibility)?;
            writeln!(f, " = {} + {}", SymbolUse(self, alias.target), alias.offset)?;
        }
        for &symbol in &self.used {
            writeln!(f, "used {}", SymbolUse(self, symbol))?;
        }
        for func in self.functions.keys() {
            if let Some(lds) = self.lds.get(&func) {
                write!(f, "lds {} ", SymbolUse(self, SymbolRef::Func(func)))?;
                write_lds(f, lds, |f, global| write!(f, "{}", SymbolUse(self, SymbolRef::Global(global))))?;
                f.write_char('\n')?;
            }
        }
        for function in self.functions.values() {
            write!(f, "\n{}", function.display(self))?;
        }
        Ok(())
    }
}
