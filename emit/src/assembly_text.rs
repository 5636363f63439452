//! Writes finished functions and the module's variables as assembly text.
//!
//! LLVM's assembler makes the same sections of the text as [`crate::emit_object`] writes directly: same
//! order, same alignment, same descriptors and metadata. Cost: linear.
//!
//! Source: AMDGPU usage guide, "Assembler", "Code Object V3 Directives", "HSA Code Object Directives" (V2).

use crate::FinalFunction;
use crate::assemble::assumed_extra_sgprs;
use crate::object::{
    code_end, data, has_descriptors, legacy, module_metadata, pal, resources, undefined, v2,
};
use mir::abi::call_graph::RESOURCES_SECTION;
use mir::abi::descriptor::RegisterCounts;
use mir::abi::{KernelCode, KernelDescriptor, kernel_code, lds, metadata, metadata_v2};
use mir::ir::{GlobalData, Initializer, Linkage, Module, SymbolRef, Visibility};
use mir::isa::{Names, Opcode};
use mir::machine::{self, Block, Operand, RelocKind, SymbolId};
use mir::target::{Features, Os, SGPR_BLOCK, Target};
use mir::{Diagnostic, Result};
use rustc_hash::FxHashSet;
use std::fmt::{self, Display, Formatter, Write};

/// The assembly text of `functions` and of the variables of `module`.
///
/// `functions` are finished definitions of `module`; their order is that of the code.
pub fn emit_asm(module: &Module, functions: &[FinalFunction], target: &Target) -> Result<String> {
    let mut out = String::new();
    write_all(&mut out, module, functions, target).map_err(|e| match e {
        Failure::Diagnostic(diagnostic) => diagnostic,
        Failure::Fmt => Diagnostic::defect("cannot write assembly text"),
    })?;
    Ok(out)
}

enum Failure {
    Diagnostic(Box<Diagnostic>),
    Fmt,
}

impl From<fmt::Error> for Failure {
    fn from(_: fmt::Error) -> Self {
        Self::Fmt
    }
}

impl From<Box<Diagnostic>> for Failure {
    fn from(diagnostic: Box<Diagnostic>) -> Self {
        Self::Diagnostic(diagnostic)
    }
}

type Written = std::result::Result<(), Failure>;

fn write_all(out: &mut String, module: &Module, functions: &[FinalFunction], target: &Target) -> Written {
    writeln!(out, "\t.text")?;
    if !v2::applies(target) && matches!(target.os, Os::AmdHsa | Os::AmdPal) {
        writeln!(out, "\t.amdgcn_target \"{}\"", metadata::target_id(target))?;
    }
    if target.os == Os::AmdHsa && target.code_object_version >= 4 {
        writeln!(out, "\t.amdhsa_code_object_version {}", target.code_object_version)?;
    }
    if !module.inline_asm.is_empty() {
        // As it is; what follows chooses its section again.
        writeln!(out, "{}\n\t.text", module.inline_asm.trim_end())?;
    }
    for (number, function) in functions.iter().enumerate() {
        write_function(out, module, function, number, target)?;
    }
    if code_end::applies(target) {
        let word = u32::from_le_bytes(code_end::S_CODE_END);
        writeln!(
            out,
            "\t.text\n\t.p2alignl {}, {word}\n\t.fill {}, 4, {word}",
            code_end::LINE_LOG2,
            code_end::WORDS
        )?;
    }
    let stored = data::stored_sections(module);
    for (id, global) in module.globals.iter() {
        if let Some(init) = global.init.as_ref().filter(|_| data::is_emitted(global)) {
            write_global(out, module, SymbolRef::Global(id), global, init, &stored)?;
        }
    }
    for (_, global) in module.globals.iter().filter(|(_, global)| lds::is_linked(global, target.os)) {
        let (name, align) = (Quoted(&global.name), 1u32 << global.align_log2.min(30));
        write_binding(out, &name, global.linkage, global.visibility)?;
        writeln!(out, "\t.amdgpu_lds {name}, {}, {align}", global.size_bytes)?;
    }
    // Sections stand in the text in the order of the object, so notes and settings come last.
    for function in functions.iter().filter(|_| legacy::has_config(target)) {
        let words = legacy::config(function, &module.functions[function.function.source], target)?;
        writeln!(out, "\t.section {},\"\",@progbits", legacy::CONFIG_SECTION)?;
        words.iter().try_for_each(|word| writeln!(out, "\t.long {word}"))?;
    }
    for alias in &module.aliases {
        let name = Quoted(&alias.name);
        write_binding(out, &name, alias.linkage, alias.visibility)?;
        writeln!(out, "\t.set {name}, {}{}", SymbolName(module, alias.target), Addend(alias.offset))?;
    }
    write_undefined(out, module, functions, target)?;
    if v2::applies(target) {
        let [major, minor] = metadata_v2::VERSION;
        writeln!(out, "\t.hsa_code_object_version {major},{minor}")?;
        let [major, minor, stepping] = v2::isa_version(kernel_code::v2_isa(target)?, target.processor);
        let [vendor, arch] = metadata_v2::VENDOR_AND_ARCHITECTURE;
        writeln!(out, "\t.hsa_code_object_isa {major},{minor},{stepping},\"{vendor}\",\"{arch}\"")?;
        writeln!(out, "\t.amd_amdgpu_isa \"{}\"", legacy::isa_name(target)?)?;
        let yaml = v2::metadata(module, functions, target);
        write!(out, "\t.amd_amdgpu_hsa_metadata\n{yaml}\n\t.end_amd_amdgpu_hsa_metadata\n")?;
    } else if target.os == Os::AmdHsa {
        let bytes = module_metadata(module, functions, target).to_bytes()?;
        let yaml = mir::abi::Document::from_msgpack(&bytes)?.to_yaml();
        write!(out, "\t.amdgpu_metadata\n{yaml}\n\t.end_amdgpu_metadata\n")?;
    } else {
        writeln!(out, "\t.amd_amdgpu_isa \"{}\"", legacy::isa_name(target)?)?;
        if target.os == Os::AmdPal {
            out.push_str(&pal::text(pal::note(module, functions, target)?));
        }
    }
    if target.os == Os::AmdHsa
        && let Some(bytes) = resources(functions)?
    {
        writeln!(out, "\t.section {RESOURCES_SECTION},\"e\",@progbits")?;
        for line in bytes.chunks(16) {
            let values: Vec<String> = line.iter().map(|byte| byte.to_string()).collect();
            writeln!(out, "\t.byte {}", values.join(","))?;
        }
    }
    Ok(())
}

/// Says of symbols that are used and not defined what an assembler would not assume: that they are weak, or not
/// visible outside of the linked object.
fn write_undefined(
    out: &mut String,
    module: &Module,
    functions: &[FinalFunction],
    target: &Target,
) -> Written {
    let mut known: FxHashSet<SymbolRef> =
        functions.iter().map(|function| SymbolRef::Func(function.function.source)).collect();
    let variables = || module.globals.iter().filter(|(_, global)| data::is_emitted(global));
    known.extend(variables().map(|(id, _)| SymbolRef::Global(id)));
    let linked = module.globals.iter().filter(|(_, global)| lds::is_linked(global, target.os));
    known.extend(linked.map(|(id, _)| SymbolRef::Global(id)));
    let in_code = functions.iter().flat_map(|function| function.relocs.iter().map(|reloc| reloc.symbol));
    let initializers = variables().filter_map(|(_, global)| global.init.as_ref());
    let in_data = initializers.flat_map(|init| init.relocations.iter().map(|reloc| reloc.symbol));
    for symbol in in_code.chain(in_data) {
        if !known.insert(symbol) {
            continue;
        }
        let (linkage, visibility) = undefined(module, symbol)?;
        let name = SymbolName(module, symbol);
        if linkage == Linkage::ExternalWeak {
            writeln!(out, "\t.weak {name}")?;
        }
        write_visibility(out, &name, visibility)?;
    }
    Ok(())
}

/// A name, quoted where the assembler would stumble over it.
pub(crate) struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        if !self.0.is_empty()
            && self.0.chars().all(plain)
            && !self.0.starts_with(|c: char| c.is_ascii_digit())
        {
            return f.write_str(self.0);
        }
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// The name of a symbol of the module; private ones get a local label.
struct SymbolName<'a>(&'a Module, SymbolRef);

impl Display for SymbolName<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = self.0.symbol_name(self.1);
        let (linkage, kind, number) = match self.1 {
            SymbolRef::Func(func) => (self.0.functions[func].linkage, "func", func.as_u32()),
            SymbolRef::Global(global) => (self.0.globals[global].linkage, "global", global.as_u32()),
        };
        if linkage == Linkage::Private || name.is_empty() {
            return write!(f, ".L{kind}{number}");
        }
        Quoted(name).fmt(f)
    }
}

/// `+n`, `-n` or nothing.
struct Addend(i64);

impl Display for Addend {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, "{:+}", self.0) }
    }
}

/// Names inside a function.
struct FunctionNames<'a> {
    module: &'a Module,
    function: &'a machine::Function,
    number: usize,
}

impl Names for FunctionNames<'_> {
    fn block(&self, f: &mut Formatter<'_>, block: Block) -> fmt::Result {
        write!(f, ".LBB{}_{}", self.number, block.as_u32())
    }

    fn symbol(&self, f: &mut Formatter<'_>, symbol: SymbolId, addend: i32, kind: RelocKind) -> fmt::Result {
        match self.function.symbols.get(symbol) {
            Some(&symbol) => SymbolName(self.module, symbol).fmt(f)?,
            None => write!(f, "{symbol}")?,
        }
        write!(f, "{}{}", kind.suffix(), Addend(addend.into()))
    }
}

fn write_binding(
    out: &mut String,
    name: &dyn Display,
    linkage: Linkage,
    visibility: Visibility,
) -> fmt::Result {
    match linkage {
        Linkage::Private => return Ok(()),
        Linkage::Internal => writeln!(out, "\t.local {name}")?,
        Linkage::External | Linkage::AvailableExternally | Linkage::Appending => {
            writeln!(out, "\t.globl {name}")?
        }
        _ => writeln!(out, "\t.weak {name}")?,
    }
    write_visibility(out, name, visibility)
}

fn write_visibility(out: &mut String, name: &dyn Display, visibility: Visibility) -> fmt::Result {
    match visibility {
        Visibility::Default => Ok(()),
        Visibility::Hidden => writeln!(out, "\t.hidden {name}"),
        Visibility::Protected => writeln!(out, "\t.protected {name}"),
    }
}

/// A dword of inline assembly.
struct DataWord<'a> {
    names: &'a FunctionNames<'a>,
    word: Operand,
}

impl Display for DataWord<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.word {
            Operand::Symbol { symbol, addend, kind } => self.names.symbol(f, symbol, addend, kind),
            Operand::Imm(word) => write!(f, "{word:#x}"),
            _ => f.write_char('0'),
        }
    }
}

fn write_function(
    out: &mut String,
    module: &Module,
    function: &FinalFunction,
    number: usize,
    target: &Target,
) -> Written {
    let f = &function.function;
    let Some(source) = module.functions.get(f.source) else {
        return Err(Diagnostic::defect("a finished function is not of this module")
            .in_function(&f.name)
            .into());
    };
    let name = SymbolName(module, SymbolRef::Func(f.source));
    write_code_section(out, source)?;
    // Assemblers protect a kernel that has a descriptor; the descriptor has the visibility that is written.
    write_binding(out, &name, source.linkage, source.visibility)?;
    writeln!(out, "\t.p2align {}", source.code_alignment().ilog2())?;
    if legacy::has_header(function, target) {
        writeln!(out, "\t.amdgpu_hsa_kernel {name}")?;
        writeln!(out, "{name}:")?;
        write_header(out, &legacy::header(function, source, target)?)?;
    } else {
        writeln!(out, "\t.type {name},@function")?;
        writeln!(out, "{name}:")?;
    }
    let names = FunctionNames { module, function: f, number };
    for &block in &f.layout {
        writeln!(out, ".LBB{number}_{}:", block.as_u32())?;
        for inst in &f.blocks[block].insts {
            match inst.operands.first() {
                Some(&word) if inst.op == Opcode::DATA_DWORD => {
                    writeln!(out, "\t.long {}", DataWord { names: &names, word })?;
                }
                _ => writeln!(out, "\t{}", inst.display_with(target, &names))?,
            }
        }
    }
    writeln!(out, ".Lfunc_end{number}:\n\t.size {name}, .Lfunc_end{number}-{name}")?;
    match &function.kernel {
        Some(kernel) if has_descriptors(target) => {
            let counts = RegisterCounts::of_kernel(f, target);
            write_descriptor(out, &name, &kernel.descriptor, f, counts, target)
        }
        _ => Ok(()),
    }
}

/// The `.amd_kernel_code_t` block.
fn write_header(out: &mut String, header: &KernelCode) -> fmt::Result {
    writeln!(out, "\t.amd_kernel_code_t")?;
    for (field, value) in KernelCode::FIELDS.iter().zip(header.values()).filter(|(f, _)| !f.key.is_empty()) {
        writeln!(out, "\t\t{} = {}", field.key, field.decode(value))?;
    }
    writeln!(out, "\t.end_amd_kernel_code_t")
}

fn write_code_section(out: &mut String, source: &mir::ir::Function) -> fmt::Result {
    match source.section.as_str() {
        "" => writeln!(out, "\t.text"),
        name => writeln!(out, "\t.section {},\"ax\",@progbits", Quoted(name)),
    }
}

/// The `.amdhsa_kernel` block. Register blocks are not directives: the assembler computes them from the
/// register counts.
fn write_descriptor(
    out: &mut String,
    name: &dyn Display,
    descriptor: &KernelDescriptor,
    f: &machine::Function,
    counts: RegisterCounts,
    target: &Target,
) -> Written {
    writeln!(out, "\t.section .rodata,\"a\",@progbits\n\t.p2align 6\n\t.amdhsa_kernel {name}")?;
    for (field, value) in KernelDescriptor::FIELDS.iter().zip(descriptor.values()) {
        let directive = match field.name {
            _ if !target.has(field.requires()) => continue,
            // Assemblers of the time before V5 do not know it.
            "uses_dynamic_stack" if value != 0 || target.code_object_version >= 5 => field.name,
            _ if field.directive.is_empty() => continue,
            _ => field.directive,
        };
        writeln!(out, "\t\t.amdhsa_{directive} {value}")?;
    }
    // Assemblers do not round to the granule of allocation, and on GFX6 add registers that it lacks: where they
    // would come to other blocks, a count that gives the right ones is written.
    let extra = assumed_extra_sgprs(target, f.resources.vcc, f.resources.flat_scratch);
    let assembled = (counts.numbered_sgprs + extra).max(1).div_ceil(SGPR_BLOCK) - 1;
    let counted = target.limits().sgpr_block_granule != 0;
    let sgprs = if assembled == descriptor.sgpr_blocks || target.has(Features::SGPR_INIT_BUG) || !counted {
        counts.numbered_sgprs
    } else {
        (SGPR_BLOCK * (descriptor.sgpr_blocks + 1)).saturating_sub(extra)
    };
    writeln!(out, "\t\t.amdhsa_next_free_vgpr {}", counts.vgprs)?;
    writeln!(out, "\t\t.amdhsa_next_free_sgpr {sgprs}")?;
    writeln!(out, "\t\t.amdhsa_reserve_vcc {}", u32::from(f.resources.vcc))?;
    if target.flat_scratch_is_sgprs() {
        writeln!(out, "\t\t.amdhsa_reserve_flat_scratch {}", u32::from(f.resources.flat_scratch))?;
    }
    if target.has(Features::XNACK_MASK) {
        writeln!(out, "\t\t.amdhsa_reserve_xnack_mask {}", u32::from(target.has(Features::XNACK)))?;
    }
    writeln!(out, "\t.end_amdhsa_kernel")?;
    Ok(())
}

fn write_global(
    out: &mut String,
    module: &Module,
    symbol: SymbolRef,
    global: &GlobalData,
    init: &Initializer,
    stored: &FxHashSet<&str>,
) -> Written {
    let (own, nobits) = data::section_of(global, init);
    let flags = if own == ".rodata" { "a" } else { "aw" };
    let section = if global.section.is_empty() { own } else { &global.section };
    let kind = match data::named_section_type(&global.section) {
        _ if nobits && global.section.is_empty() => "nobits",
        _ if data::is_named_bss(&global.section, stored) => "nobits",
        object::elf::SHT_INIT_ARRAY => "init_array",
        object::elf::SHT_FINI_ARRAY => "fini_array",
        _ => "progbits",
    };
    let name = SymbolName(module, symbol);
    writeln!(out, "\t.section {},\"{flags}\",@{kind}", Quoted(section))?;
    write_binding(out, &name, global.linkage, global.visibility)?;
    writeln!(out, "\t.type {name},@object\n\t.p2align {}\n{name}:", global.align_log2)?;
    let mut at = 0usize;
    let size = global.size_bytes as usize;
    let byte = |at: usize| init.bytes.get(at).copied().unwrap_or(0);
    let mut relocations = init.relocations.clone();
    relocations.sort_by_key(|r| r.offset_bytes);
    for relocation in &relocations {
        write_bytes(out, &byte, at..relocation.offset_bytes as usize)?;
        let directive = if relocation.width_bytes == 8 { ".quad" } else { ".long" };
        let target = SymbolName(module, relocation.symbol);
        let from = if relocation.is_relative { "-." } else { "" };
        writeln!(out, "\t{directive} {target}{}{from}", Addend(relocation.addend))?;
        at = relocation.offset_bytes as usize + usize::from(relocation.width_bytes);
    }
    // A variable that is zero from here on is not written byte by byte.
    let end = init.bytes.len().clamp(at, size.max(at));
    write_bytes(out, &byte, at..end)?;
    if size > end {
        writeln!(out, "\t.zero {}", size - end)?;
    }
    if global.linkage != Linkage::Private {
        writeln!(out, "\t.size {name}, {}", global.size_bytes)?;
    }
    Ok(())
}

/// Bytes in lines of sixteen; lines of zeros are merged.
fn write_bytes(out: &mut String, byte: &dyn Fn(usize) -> u8, range: std::ops::Range<usize>) -> fmt::Result {
    let mut zeros = 0;
    let mut at = range.start;
    while at < range.end {
        let end = (at + 16).min(range.end);
        if (at..end).all(|i| byte(i) == 0) {
            zeros += end - at;
        } else {
            if zeros > 0 {
                writeln!(out, "\t.zero {}", std::mem::take(&mut zeros))?;
            }
            out.push_str("\t.byte ");
            for i in at..end {
                write!(out, "{}{}", if i == at { "" } else { "," }, byte(i))?;
            }
            out.push('\n');
        }
        at = end;
    }
    if zeros > 0 {
        writeln!(out, "\t.zero {zeros}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;
    use mir::ir;

    #[test]
    fn names_are_quoted_where_needed() {
        assert_eq!(Quoted("a.b$c_1").to_string(), "a.b$c_1");
        assert_eq!(Quoted("a b").to_string(), "\"a b\"");
        assert_eq!(Quoted("1a\"").to_string(), "\"1a\\\"\"");
        assert_eq!((Addend(0).to_string(), Addend(-4).to_string()), (String::new(), "-4".to_owned()));
        let module = {
            let mut module = Module::default();
            module.globals.push(GlobalData {
                name: String::new(),
                linkage: Linkage::Private,
                ..GlobalData::external("x")
            });
            module
        };
        let id = ir::Global::new(0);
        assert_eq!(SymbolName(&module, SymbolRef::Global(id)).to_string(), ".Lglobal0");
    }
}
