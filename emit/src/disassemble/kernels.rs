//! Kernel descriptors as `.amdhsa_` directives, headers as `.amd_kernel_code_t`.

use super::Targets;
use super::program::{Place, Program};
use crate::object::reloc;
use mir::abi::descriptor::{DESCRIPTOR_BYTES, ENTRY_OFFSET_BYTES, extra_sgprs};
use mir::abi::kernel_code::STT_HSA_KERNEL;
use mir::abi::{KernelCode, KernelDescriptor};
use mir::target::{Features, Os, SGPR_BLOCK, Target, WaveSize};
use object::elf;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::fmt::Write;

pub(super) use mir::abi::kernel_code::HEADER_BYTES;

/// The header in front of a kernel's code.
#[derive(Debug)]
pub(super) struct Header {
    /// Its directives.
    pub text: String,
}

/// What of an object describes kernels.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    /// Directives of descriptors, by section and offset.
    descriptors: BTreeMap<(usize, u64), String>,
    /// Symbols that the directives of descriptors define.
    descriptor_symbols: FxHashSet<usize>,
    /// Visibilities for the symbols of kernels' code from which the assembler makes the right ones.
    pub visibilities: FxHashMap<usize, elf::SymbolVisibility>,
    pub headers: Vec<Header>,
    /// Indices of headers, by section and offset.
    header_places: FxHashMap<(usize, u64), usize>,
}

impl Kernels {
    pub fn descriptor_at(&self, section: usize, offset: u64) -> Option<&str> {
        self.descriptors.get(&(section, offset)).map(String::as_str)
    }

    /// Offsets of the descriptors in a section.
    pub fn descriptors_of(&self, section: usize) -> impl Iterator<Item = u64> {
        let own = self.descriptors.range((section, 0)..=(section, u64::MAX));
        own.map(|((_, offset), _)| *offset)
    }

    /// Whether the directive of a descriptor defines the symbol.
    pub fn is_descriptor(&self, symbol: usize) -> bool {
        self.descriptor_symbols.contains(&symbol)
    }

    pub fn header_at(&self, section: usize, offset: u64) -> Option<usize> {
        self.header_places.get(&(section, offset)).copied()
    }
}

/// Finds the descriptors and headers of `program` for which there are directives.
pub(super) fn find(program: &Program<'_>, targets: &Targets) -> Kernels {
    let mut out = Kernels::default();
    let global = program.symbols.iter().enumerate().filter(|(_, symbol)| !symbol.name.is_empty());
    let by_name: FxHashMap<&str, usize> = global.map(|(index, symbol)| (symbol.name, index)).collect();
    // The same descriptor comes again and again.
    let mut known = FxHashMap::default();
    for (index, symbol) in program.symbols.iter().enumerate() {
        let Place::Section(section, offset) = symbol.place else { continue };
        if symbol.kind == elf::SymbolType(STT_HSA_KERNEL) {
            if let Some(text) = header(program, section, offset, targets) {
                out.header_places.insert((section, offset), out.headers.len());
                out.headers.push(Header { text });
            }
            continue;
        }
        let Some(kernel) = symbol.name.strip_suffix(".kd").and_then(|name| by_name.get(name)) else {
            continue;
        };
        if by_name.get(symbol.name) != Some(&index) {
            continue;
        }
        let descriptor = Descriptor { program, symbol: index, kernel: *kernel, section, offset };
        let Some((bytes, visibility)) = descriptor.check() else { continue };
        let fields = known.entry(bytes).or_insert_with(|| fields(&bytes, targets));
        let Some(fields) = fields.as_ref().filter(|_| !out.visibilities.contains_key(kernel)) else {
            continue;
        };
        let name = crate::assembly_text::Quoted(program.symbols[*kernel].name);
        let text = format!("\n\t.amdhsa_kernel {name}\n{fields}\t.end_amdhsa_kernel\n");
        out.descriptors.insert((section, offset), text);
        out.descriptor_symbols.insert(index);
        out.visibilities.insert(*kernel, visibility);
    }
    out
}

/// What may be the descriptor of a kernel.
struct Descriptor<'a, 'b> {
    program: &'b Program<'a>,
    symbol: usize,
    kernel: usize,
    section: usize,
    offset: u64,
}

impl Descriptor<'_, '_> {
    /// The descriptor without its entry, and the visibility that makes the kernel's symbol and the descriptor's what they are; `None` where
    /// the directive would make other symbols, or another entry.
    fn check(&self) -> Option<([u8; DESCRIPTOR_BYTES], elf::SymbolVisibility)> {
        let (descriptor, kernel) = (&self.program.symbols[self.symbol], &self.program.symbols[self.kernel]);
        let section = &self.program.sections[self.section];
        if self.program.target.os != Os::AmdHsa || self.program.target.code_object_version < 3 {
            return None;
        }
        let is_one = descriptor.size == DESCRIPTOR_BYTES as u64
            && descriptor.kind == elf::STT_OBJECT
            && descriptor.binding == kernel.binding
            && !section.is_code();
        let visibility = match (kernel.visibility, descriptor.visibility) {
            // The assembler protects what is not said to be anything.
            (elf::STV_PROTECTED, elf::STV_DEFAULT) => elf::STV_DEFAULT,
            (elf::STV_DEFAULT, _) => return None,
            (one, other) if one == other => one,
            _ => return None,
        };
        let from = usize::try_from(self.offset).ok()?;
        let field = section.data.get(from..from.checked_add(DESCRIPTOR_BYTES)?)?;
        let mut bytes: [u8; DESCRIPTOR_BYTES] = field.try_into().ok()?;
        let entry_at = ENTRY_OFFSET_BYTES as usize;
        let entry = i64::from_le_bytes(bytes[entry_at..entry_at + 8].try_into().ok()?);
        bytes[entry_at..entry_at + 8].fill(0);
        let relocations = section.relocations_in(self.offset, self.offset + DESCRIPTOR_BYTES as u64);
        let Place::Section(code, at) = kernel.place else {
            return None;
        };
        let is_right = match relocations {
            // Known already: in one section, or in a linked object.
            [] => {
                let here = section.address.wrapping_add(self.offset);
                let there = self.program.sections[code].address.wrapping_add(at);
                (code == self.section || self.program.is_linked) && there.wrapping_sub(here) as i64 == entry
            }
            [relocation] => {
                let to = relocation.symbol.map(|symbol| &self.program.symbols[symbol]);
                // The symbol itself, or its section where it is local.
                let place = match to.map(|symbol| symbol.place) {
                    Some(Place::Section(section, offset)) => {
                        Some((section, offset.wrapping_add_signed(relocation.addend)))
                    }
                    _ => None,
                };
                relocation.offset == self.offset + ENTRY_OFFSET_BYTES
                    && relocation.kind == reloc::REL64
                    && entry == 0
                    && code != self.section
                    && place == Some((code, at + ENTRY_OFFSET_BYTES))
                    && (relocation.symbol == Some(self.kernel) || kernel.binding == elf::STB_LOCAL)
            }
            _ => false,
        };
        (is_one && is_right).then_some((bytes, visibility))
    }
}

/// The directives for the fields of a descriptor, if there are any that make these bytes.
fn fields(bytes: &[u8; DESCRIPTOR_BYTES], targets: &Targets) -> Option<String> {
    let target = &targets.exact;
    let descriptor = KernelDescriptor::unpack_for(bytes, target).ok()?;
    let mut out = String::new();
    for (field, value) in KernelDescriptor::FIELDS.iter().zip(descriptor.values()) {
        let directive = match field.name {
            _ if !target.has(field.requires()) => continue,
            "uses_dynamic_stack" if value != 0 || target.code_object_version >= 5 => field.name,
            _ if field.directive.is_empty() => continue,
            _ => field.directive,
        };
        let _ = writeln!(out, "\t\t.amdhsa_{directive} {value}");
    }
    let wave = if descriptor.wavefront_size32 != 0 { WaveSize::W32 } else { WaveSize::W64 };
    let vgprs = target.limits_of(wave).vgpr_block * (descriptor.vgpr_blocks + 1);
    let _ = writeln!(out, "\t\t.amdhsa_next_free_vgpr {vgprs}");
    let [vcc, flat_scratch, xnack] = special_registers(descriptor.sgpr_blocks, target);
    let sgprs = numbered_sgprs(descriptor.sgpr_blocks, extra(target, vcc, flat_scratch, xnack), target);
    let sgprs = if target.has(Features::SGPR_INIT_BUG) { 0 } else { sgprs };
    let _ = writeln!(out, "\t\t.amdhsa_next_free_sgpr {sgprs}\n\t\t.amdhsa_reserve_vcc {}", u8::from(vcc));
    if target.flat_scratch_is_sgprs() {
        let _ = writeln!(out, "\t\t.amdhsa_reserve_flat_scratch {}", u8::from(flat_scratch));
    }
    if target.has(Features::XNACK_MASK) {
        let _ = writeln!(out, "\t\t.amdhsa_reserve_xnack_mask {}", u8::from(xnack));
    }
    let text = format!("\t.section .rodata,\"a\",@progbits\n\t.amdhsa_kernel k\n{out}\t.end_amdhsa_kernel\n");
    let mut again = targets.assembled(&text, ".rodata")?;
    let entry = ENTRY_OFFSET_BYTES as usize;
    again.get_mut(entry..entry + 8)?.fill(0);
    (again == bytes).then_some(out)
}

/// SGPRs that the assembler adds. On GFX6, which has none, it reserves some for FLAT_SCRATCH.
fn extra(target: &Target, vcc: bool, flat_scratch: bool, xnack: bool) -> u32 {
    if !target.flat_scratch_is_sgprs() {
        return 4;
    }
    let mut target = *target;
    target.features.set(Features::XNACK, xnack);
    extra_sgprs(&target, vcc, flat_scratch)
}

/// Numbered SGPRs, as far as they exist, that fill so many blocks, minus one, with `extra` others.
fn numbered_sgprs(blocks: u32, extra: u32, target: &Target) -> u32 {
    let limits = target.limits();
    let apart = limits.special_sgprs.within_limit == 0;
    let most = if apart { limits.addressable_sgprs } else { limits.addressable_sgprs.saturating_sub(extra) };
    (SGPR_BLOCK * (blocks + 1)).saturating_sub(extra).min(most)
}

/// Whether VCC, FLAT_SCRATCH and XNACK_MASK are to be counted so that with numbered SGPRs that exist the blocks are filled.
fn special_registers(blocks: u32, target: &Target) -> [bool; 3] {
    let flat_scratch = target.flat_scratch_is_sgprs();
    // From V4 on the target id decides about XNACK_MASK.
    let xnack = target.code_object_version >= 4 && target.has(Features::XNACK);
    let choices = [[false, false, xnack], [true, false, xnack], [true, flat_scratch, xnack]];
    let fills = |[vcc, flat_scratch, xnack]: &[bool; 3]| {
        let extra = extra(target, *vcc, *flat_scratch, *xnack);
        numbered_sgprs(blocks, extra, target) + extra > SGPR_BLOCK * blocks
    };
    choices.into_iter().find(fills).unwrap_or(choices[0])
}

/// The directives of the header at `offset`, if there are any that make its bytes.
fn header(program: &Program<'_>, section: usize, offset: u64, targets: &Targets) -> Option<String> {
    let section = &program.sections[section];
    if !section.is_code() || !offset.is_multiple_of(4) {
        return None;
    }
    let end = offset.checked_add(HEADER_BYTES as u64)?;
    let field = section.data.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)?;
    if !section.relocations_in(offset, end).is_empty() {
        return None;
    }
    let header = KernelCode::unpack(field.try_into().ok()?).ok()?;
    let mut out = String::from("\t.amd_kernel_code_t\n");
    for (field, value) in KernelCode::FIELDS.iter().zip(header.values()) {
        let key = if field.key.is_empty() { field.other_key } else { field.key };
        if !key.is_empty() {
            let _ = writeln!(out, "\t\t{key} = {}", field.decode(value));
        }
    }
    out.push_str("\t.end_amd_kernel_code_t\n");
    (targets.assembled(&out, ".text")? == field).then_some(out)
}
