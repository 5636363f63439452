//! What only code objects have: features in the header, kernels whose descriptors and metadata count what they call, LDS of the whole program.
//!
//! A kernel that calls another object's function was compiled for whatever that may take. Where all objects say what their functions take
//! ([`call_graph::RESOURCES_SECTION`]), descriptor and metadata get what it does take; where one does not, what is there stays.
//!
//! Each object has a note of metadata, and consumers read only the first; the result has one, with all kernels.

use super::dynamic::Referent;
use super::input::{InputObject, Place};
use super::resolve::{Definition, Symbols};
use crate::object::write_note;
use mir::abi::call_graph::{self, Assumed, Callee, Need, Node};
use mir::abi::descriptor::{DESCRIPTOR_BYTES, RegisterCounts, extra_sgprs};
use mir::abi::kernel_code::{HEADER_BYTES, STT_HSA_KERNEL};
use mir::abi::metadata::{NOTE_NAME, NOTE_TYPE};
use mir::abi::metadata_v2::{NOTE_METADATA, NOTE_NAME as NOTE_NAME_V2};
use mir::abi::{Document, KernelCode, KernelDescriptor};
use mir::target::{FIXED_SGPRS, Features, Os, PROCESSORS, Target};
use mir::{Diagnostic, Result};
use object::elf;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// `ELFOSABI_AMDGPU_HSA`.
const OS_ABI_HSA: u8 = 64;
/// Bits of `e_flags` that are the processor.
const MACH: u32 = 0xff;
/// `e_flags` from code object V4 on: fields of switchable features; in each, 1 any, 2 off, 3 on, and 0 without the feature. Name for messages.
const FEATURE_FIELDS: [(u32, &str); 2] = [(8, "xnack"), (10, "sramecc")];

/// What the header says of all objects together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    pub os_abi: u8,
    pub abi_version: u8,
    pub flags: u32,
}

impl Identity {
    /// # Errors
    /// Objects for different processors, systems, code object versions or settings of features.
    pub fn merge(objects: &[InputObject<'_>]) -> Result<Self> {
        let Some(first) = objects.first() else { return Err(Diagnostic::malformed("no object to link")) };
        let mut merged = Self { os_abi: first.os_abi, abi_version: first.abi_version, flags: first.flags };
        for object in &objects[1..] {
            let differ = |what: &str, a: String, b: String| {
                Diagnostic::malformed(format!("{} is for {what} {a}, {} for {b}", first.name, object.name))
            };
            if (merged.flags ^ object.flags) & MACH != 0 {
                return Err(differ("processor", processor_name(merged.flags), processor_name(object.flags)));
            }
            if merged.os_abi != object.os_abi {
                return Err(differ("ELF OS ABI", merged.os_abi.to_string(), object.os_abi.to_string()));
            }
            if merged.abi_version != object.abi_version {
                let version = |abi: u8| format!("V{}", u32::from(abi) + 2);
                return Err(differ(
                    "code object version",
                    version(merged.abi_version),
                    version(object.abi_version),
                ));
            }
            if !merged.has_fields() {
                if merged.flags != object.flags {
                    return Err(differ(
                        "e_flags",
                        format!("{:#x}", merged.flags),
                        format!("{:#x}", object.flags),
                    ));
                }
                continue;
            }
            for (shift, name) in FEATURE_FIELDS {
                let (ours, theirs) = (merged.flags >> shift & 3, object.flags >> shift & 3);
                // Code for either setting fits any.
                let both = match (ours, theirs) {
                    (1, other) | (other, 1) => other,
                    (a, b) if a == b => a,
                    _ => {
                        let setting = |field| ["none", "any", "off", "on"][field as usize].to_owned();
                        return Err(differ(&format!("{name} setting"), setting(ours), setting(theirs)));
                    }
                };
                merged.flags = merged.flags & !(3 << shift) | both << shift;
            }
        }
        Ok(merged)
    }

    /// Whether `e_flags` has [`FEATURE_FIELDS`].
    fn has_fields(&self) -> bool {
        self.os_abi == OS_ABI_HSA && self.abi_version >= 2
    }

    /// What the code was made for, as far as descriptors depend on it.
    pub fn target(&self) -> Option<Target> {
        let processor = PROCESSORS.iter().find(|p| p.elf_mach == self.flags & MACH)?;
        let mut target = Target::new(processor);
        target.code_object_version = self.abi_version.saturating_add(2);
        let xnack = match self.has_fields() {
            true => self.flags >> FEATURE_FIELDS[0].0 & 3 != 2,
            false => self.flags & 0x100 != 0,
        };
        target.features.set(Features::XNACK, xnack && target.has(Features::XNACK_SUPPORTED));
        target.os = Os::AmdHsa;
        (self.os_abi == OS_ABI_HSA).then_some(target)
    }
}

fn processor_name(flags: u32) -> String {
    let known = PROCESSORS.iter().find(|p| p.elf_mach == flags & MACH);
    known.map_or_else(|| format!("{:#x}", flags & MACH), |p| p.name.to_owned())
}

/// What a kernel is given after linking.
struct Change {
    /// Its registers and stack, where other objects' functions count.
    need: Option<Need>,
    /// LDS bytes, with what the linker placed.
    lds_bytes: u32,
}

/// Completes descriptors and metadata in the sections of `objects`. The addresses of LDS variables.
pub(super) fn complete(
    objects: &mut [InputObject<'_>],
    symbols: &Symbols<'_>,
    identity: &Identity,
) -> Result<FxHashMap<Referent, u64>> {
    let mut changes: FxHashMap<String, Change> = FxHashMap::default();
    let lds = place_lds(objects, symbols, &mut changes)?;
    if let Some(target) = identity.target() {
        count_callees(objects, symbols, &target, &mut changes)?;
        for Described { object, section, at, form, kernel } in descriptions(objects) {
            if let Some(change) = changes.get(&kernel) {
                let slot = &mut objects[object].sections[section].data.to_mut()[at..at + form.bytes()];
                let described = match form {
                    Form::Descriptor => change.describe(slot, &target),
                    Form::Header => change.describe_header(slot, &target),
                };
                described.map_err(|e| e.in_function(&kernel))?;
            }
        }
        merge_metadata(objects, &target, &changes)?;
    }
    Ok(lds)
}

/// How a kernel is described.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// By a descriptor.
    Descriptor,
    /// By the header in front of its code: code objects V2 and Mesa.
    Header,
}

impl Form {
    fn bytes(self) -> usize {
        match self {
            Self::Descriptor => DESCRIPTOR_BYTES,
            Self::Header => HEADER_BYTES,
        }
    }

    /// Where it says how many bytes of LDS the kernel has of its own.
    fn lds_at(self) -> usize {
        match self {
            Self::Descriptor => 0,
            Self::Header => 64,
        }
    }
}

/// The description of a kernel.
struct Described {
    object: usize,
    section: usize,
    at: usize,
    form: Form,
    kernel: String,
}

/// All kernels' descriptions.
fn descriptions(objects: &[InputObject<'_>]) -> Vec<Described> {
    let mut found = Vec::new();
    for (o, object) in objects.iter().enumerate() {
        for symbol in &object.symbols {
            let Place::Section(section, at) = symbol.place else { continue };
            let (form, kernel) = match symbol.name.strip_suffix(".kd") {
                Some(kernel) if symbol.size == DESCRIPTOR_BYTES as u64 => (Form::Descriptor, kernel),
                _ if symbol.kind.0 == STT_HSA_KERNEL => (Form::Header, symbol.name),
                _ => continue,
            };
            let input = &object.sections[section];
            let end = at.checked_add(form.bytes() as u64);
            if input.live && end.is_some_and(|end| end <= input.data.len() as u64) {
                let kernel = kernel.to_owned();
                found.push(Described { object: o, section, at: at as usize, form, kernel });
            }
        }
    }
    found
}

impl Change {
    /// Rewrites a descriptor.
    fn describe(&self, slot: &mut [u8], target: &Target) -> Result<()> {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        bytes.copy_from_slice(slot);
        // The entry's offset is a relocation's field; what it holds is not for us.
        let mut descriptor = KernelDescriptor::unpack_for(&bytes, target)?;
        descriptor.group_segment_fixed_size = descriptor.group_segment_fixed_size.max(self.lds_bytes);
        if let Some(need) = &self.need {
            let counts = register_counts(need, target);
            descriptor.vgpr_blocks = counts.vgpr_blocks(target)?;
            descriptor.sgpr_blocks = counts.sgpr_blocks(target)?;
            descriptor.private_segment_fixed_size = need.stack_bytes;
            if target.code_object_version >= 5 {
                descriptor.uses_dynamic_stack = u32::from(need.dynamic);
            }
        }
        slot.copy_from_slice(&descriptor.pack()?);
        Ok(())
    }

    /// Rewrites the header in front of a kernel's code.
    fn describe_header(&self, slot: &mut [u8], target: &Target) -> Result<()> {
        let mut bytes = [0; HEADER_BYTES];
        bytes.copy_from_slice(slot);
        let mut code = KernelCode::unpack(&bytes)?;
        code.workgroup_group_segment_byte_size =
            code.workgroup_group_segment_byte_size.max(self.lds_bytes.into());
        if let Some(need) = &self.need {
            let counts = register_counts(need, target);
            let fixed = target.has(Features::SGPR_INIT_BUG);
            code.granulated_workitem_vgpr_count = counts.vgpr_blocks(target)?.into();
            code.granulated_wavefront_sgpr_count = counts.sgpr_blocks(target)?.into();
            code.wavefront_sgpr_count = if fixed { FIXED_SGPRS } else { counts.sgprs() }.into();
            code.workitem_vgpr_count = counts.vgprs.into();
            code.workitem_private_segment_byte_size = need.stack_bytes.into();
            code.is_dynamic_callstack = need.dynamic.into();
        }
        slot.copy_from_slice(&code.pack()?);
        Ok(())
    }

    /// Rewrites a kernel's metadata.
    fn record(&self, kernel: &mut Document, target: &Target) {
        let keys = if is_v2(target) { &V2_KEYS } else { &KEYS };
        let map = match keys.map {
            "" => kernel,
            name => match kernel.get_mut(name) {
                Some(map) => map,
                None => return,
            },
        };
        let mut set = |key: &str, value: Document| {
            if let Some(slot) = map.get_mut(key) {
                *slot = value;
            }
        };
        if let Some(need) = &self.need {
            let counts = register_counts(need, target);
            set(keys.sgprs, Document::Int(counts.sgprs().into()));
            set(keys.vgprs, Document::Int(counts.vgprs.into()));
            set(keys.stack, Document::Int(need.stack_bytes.into()));
            set(keys.dynamic, Document::Bool(need.dynamic));
        }
        if let Some(Document::Int(bytes)) = map.get_mut(keys.lds) {
            *bytes = (*bytes).max(self.lds_bytes.into());
        }
    }
}

/// Keys of metadata.
struct Keys {
    /// The map of a kernel that holds the others; empty where it is the kernel's own.
    map: &'static str,
    sgprs: &'static str,
    vgprs: &'static str,
    stack: &'static str,
    dynamic: &'static str,
    lds: &'static str,
}

const KEYS: Keys = Keys {
    map: "",
    sgprs: ".sgpr_count",
    vgprs: ".vgpr_count",
    stack: ".private_segment_fixed_size",
    dynamic: ".uses_dynamic_stack",
    lds: ".group_segment_fixed_size",
};

const V2_KEYS: Keys = Keys {
    map: "CodeProps",
    sgprs: "NumSGPRs",
    vgprs: "NumVGPRs",
    stack: "PrivateSegmentFixedSize",
    dynamic: "IsDynamicCallStack",
    lds: "GroupSegmentFixedSize",
};

/// Whether metadata is a YAML document with the keys of V2.
fn is_v2(target: &Target) -> bool {
    target.code_object_version < 3
}

fn register_counts(need: &Need, target: &Target) -> RegisterCounts {
    RegisterCounts {
        numbered_sgprs: need.sgprs,
        extra_sgprs: extra_sgprs(target, need.vcc, need.flat_scratch),
        vgprs: need.vgprs,
    }
}

/// Finds what kernels take that call other objects' functions.
fn count_callees(
    objects: &[InputObject<'_>],
    symbols: &Symbols<'_>,
    target: &Target,
    changes: &mut FxHashMap<String, Change>,
) -> Result<()> {
    let mut nodes: Vec<Node> = Vec::new();
    for object in objects {
        let section = object.sections.iter().find(|s| s.name == call_graph::RESOURCES_SECTION);
        let Some(section) = section else { continue };
        let base = nodes.len() as u32;
        let read = call_graph::from_bytes(&section.data).map_err(|mut e| {
            e.message = format!("{}: {}", object.name, e.message);
            e
        })?;
        nodes.extend(read.into_iter().map(|mut node| {
            for callee in &mut node.callees {
                if let Callee::Node(index) = callee {
                    *index += base;
                }
            }
            node
        }));
    }
    // What a name means is what the linker made of it, so only if its definition is among the nodes.
    let named = nodes.iter().enumerate().filter(|(_, n)| !n.symbol.is_empty() && !n.is_kernel);
    let by_name: FxHashMap<String, u32> = named.map(|(i, n)| (n.symbol.clone(), i as u32)).collect();
    let mut linked = vec![false; nodes.len()];
    for (node, linked) in nodes.iter_mut().zip(&mut linked) {
        for callee in &mut node.callees {
            if let Callee::Symbol(name) = callee
                && symbols.find(name).is_some_and(|id| symbols.list[id].is_defined())
                && let Some(&index) = by_name.get(name)
            {
                *callee = Callee::Node(index);
                *linked = true;
            }
        }
    }
    // A kernel changes if anything below it was linked or could be called: what the compiler assumed is replaced by what is known now.
    let mut open: Vec<bool> = nodes
        .iter()
        .zip(&linked)
        .map(|(node, &linked)| linked || node.callees.contains(&Callee::Unknown))
        .collect();
    let mut callers: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        for callee in &node.callees {
            if let Callee::Node(index) = callee {
                callers[*index as usize].push(i as u32);
            }
        }
    }
    let mut work: Vec<u32> = (0..nodes.len() as u32).filter(|&i| open[i as usize]).collect();
    while let Some(node) = work.pop() {
        for &caller in &callers[node as usize] {
            if !std::mem::replace(&mut open[caller as usize], true) {
                work.push(caller);
            }
        }
    }
    let assumed = Assumed::of_version(target.code_object_version);
    let needs = call_graph::needs_with(&nodes, target.processor.numbered_sgprs(), assumed);
    for ((node, need), open) in nodes.iter().zip(needs).zip(open) {
        if node.is_kernel && open {
            let change = changes.entry(node.symbol.clone()).or_insert(Change { need: None, lds_bytes: 0 });
            change.lds_bytes = change.lds_bytes.max(need.lds_bytes);
            change.need = Some(need);
        }
    }
    Ok(())
}

/// Gives variables in LDS their addresses, behind those that kernels have of their own; kernels of objects that use them, or that call other objects'
/// functions, get the memory.
fn place_lds(
    objects: &[InputObject<'_>],
    symbols: &Symbols<'_>,
    changes: &mut FxHashMap<String, Change>,
) -> Result<FxHashMap<Referent, u64>> {
    let mut variables: Vec<(Referent, u64, u64)> = Vec::new();
    for (id, symbol) in symbols.list.iter().enumerate() {
        if let Definition::Lds { size, align } = symbol.definition {
            variables.push((Referent::Global(id), size, align));
        }
    }
    for (o, object) in objects.iter().enumerate() {
        for (s, symbol) in object.symbols.iter().enumerate() {
            if let (Place::Lds(align), true) = (symbol.place, symbol.is_local()) {
                variables.push((Referent::Local(o, s), symbol.size, align));
            }
        }
    }
    if variables.is_empty() {
        return Ok(FxHashMap::default());
    }
    let mut end = 0u64;
    let kernels = descriptions(objects);
    for kernel in &kernels {
        let mut own = [0; 4];
        let at = kernel.at + kernel.form.lds_at();
        own.copy_from_slice(&objects[kernel.object].sections[kernel.section].data[at..at + 4]);
        end = end.max(u32::from_le_bytes(own).into());
    }
    // Large alignments first: no gaps. What has no size comes last: it is dynamic memory, behind everything else.
    variables.sort_by_key(|&(_, size, align)| (size == 0, std::cmp::Reverse(align)));
    let mut addresses = FxHashMap::default();
    for (referent, size, align) in variables {
        let address = end.next_multiple_of(align);
        end = address.saturating_add(size);
        addresses.insert(referent, address);
    }
    let limit = u64::from(u16::MAX) + 1;
    if end > limit {
        return Err(Diagnostic::limit(format!("LDS variables of the program take {end} bytes of {limit}")));
    }
    for kernel in kernels {
        changes.insert(kernel.kernel, Change { need: None, lds_bytes: end as u32 });
    }
    Ok(addresses)
}

/// Makes one note of the metadata of all objects and records changes of kernels. Objects with one note and no change keep theirs as it is.
fn merge_metadata(
    objects: &mut [InputObject<'_>],
    target: &Target,
    changes: &FxHashMap<String, Change>,
) -> Result<()> {
    let mut merged: Option<Document> = None;
    let mut count = 0;
    let mut home: Option<(usize, usize)> = None;
    let mut others: Vec<(usize, usize, Vec<u8>)> = Vec::new();
    let v2 = is_v2(target);
    let metadata_note = if v2 { (NOTE_NAME_V2, NOTE_METADATA) } else { (NOTE_NAME, NOTE_TYPE) };
    // Notes of V2 about the object, which all objects have.
    let mut about: Vec<(u32, Vec<u8>)> = Vec::new();
    for (o, object) in objects.iter().enumerate() {
        for (s, section) in object.sections.iter().enumerate() {
            if !section.live || section.kind != elf::SHT_NOTE || !section.is_allocated() {
                continue;
            }
            let mut rest = Vec::new();
            let mut found = false;
            for (name, kind, description) in notes(&section.data) {
                if (name, kind) != metadata_note {
                    let seen =
                        v2 && name == NOTE_NAME_V2 && about.iter().any(|n| n.0 == kind && n.1 == description);
                    if !seen {
                        write_note(&mut rest, name, kind, description);
                        about.push((kind, description.to_vec()));
                    }
                    continue;
                }
                let document = if v2 {
                    Document::from_yaml(String::from_utf8_lossy(description).trim_end_matches('\0'))
                } else {
                    Document::from_msgpack(description)
                };
                let document = document.map_err(|mut e| {
                    e.message = format!("{}: {}", object.name, e.message);
                    e
                })?;
                found = true;
                count += 1;
                home.get_or_insert((o, s));
                match &mut merged {
                    None => merged = Some(document),
                    Some(merged) => join(merged, document),
                }
            }
            if found {
                others.push((o, s, rest));
            }
        }
    }
    let (Some(mut merged), Some(home)) = (merged, home) else { return Ok(()) };
    if count == 1 && changes.is_empty() {
        return Ok(());
    }
    let (list, name, suffix) =
        if v2 { ("Kernels", "SymbolName", "@kd") } else { ("amdhsa.kernels", ".symbol", ".kd") };
    if let Some(Document::List(kernels)) = merged.get_mut(list) {
        for kernel in kernels {
            let name = kernel.get(name).and_then(Document::as_text).and_then(|s| s.strip_suffix(suffix));
            if let Some(change) = name.and_then(|name| changes.get(name)) {
                change.record(kernel, target);
            }
        }
    }
    let bytes = if v2 { merged.to_yaml_v2().into_bytes() } else { merged.to_msgpack()? };
    for (o, s, mut rest) in others {
        if (o, s) == home {
            let mut note = Vec::new();
            write_note(&mut note, metadata_note.0, metadata_note.1, &bytes);
            // Of V2 the version comes first.
            if v2 {
                rest.append(&mut note);
            } else {
                note.append(&mut rest);
                rest = note;
            }
        }
        let section = &mut objects[o].sections[s];
        section.live &= !rest.is_empty();
        section.size = rest.len() as u64;
        section.data = Cow::Owned(rest);
    }
    Ok(())
}

/// Adds the kernels and formats of `other`; of everything else the first object's counts.
fn join(merged: &mut Document, other: Document) {
    let (Document::Map(entries), Document::Map(others)) = (&mut *merged, other) else { return };
    for (key, value) in others {
        match entries.iter_mut().find(|(k, _)| *k == key) {
            Some((_, Document::List(list)))
                if matches!(
                    key.as_text(),
                    Some("amdhsa.kernels" | "amdhsa.printf" | "Kernels" | "Printf")
                ) =>
            {
                if let Document::List(more) = value {
                    list.extend(more);
                }
            }
            Some(_) => {}
            None => entries.push((key, value)),
        }
    }
    entries.sort_by(|a, b| a.0.as_text().cmp(&b.0.as_text()));
}

/// The notes of a section: name, type, description. Ends at the first that is not whole.
fn notes(data: &[u8]) -> Vec<(&str, u32, &[u8])> {
    let mut found = Vec::new();
    let mut rest = data;
    while let Some((note, behind)) = next_note(rest) {
        found.push(note);
        rest = behind;
    }
    found
}

fn next_note(data: &[u8]) -> Option<((&str, u32, &[u8]), &[u8])> {
    let word = |at: usize| Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?));
    let (name_size, size, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
    let name = data.get(12..12usize.checked_add(name_size)?)?;
    let start = (12 + name_size).next_multiple_of(4);
    let description = data.get(start..start.checked_add(size)?)?;
    let behind = data.get((start + size).next_multiple_of(4)..).unwrap_or_default();
    let name = std::str::from_utf8(name).ok()?.trim_end_matches('\0');
    Some(((name, kind, description), behind))
}
