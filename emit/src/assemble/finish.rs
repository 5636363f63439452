//! The end of a file: symbol values, patches, relocations, descriptors, the ELF symbol table.

use super::data::Reloc;
use super::leb::{Layout, Settled};
use super::macros::File;
use super::section;
use super::symbols::{Base, Definition, Sum, SymbolId};
use super::{Assembler, Errors, Origin, Patch, PatchKind, Place};
use crate::object::elf::{self, ElfSymbol, ElfSymbolId, Relocation, SectionId};
use crate::object::{code_reloc, reloc};
use mir::abi::descriptor::ENTRY_OFFSET_BYTES;
use mir::diag::SourceLocation;
use mir::isa::parse::expr::Specifier;
use mir::{Diagnostic, Result};
use object::elf as raw;
use rustc_hash::FxHashMap;

/// The first two dwords of the scratch buffer resource, which drivers without HSA put into the code.
const SCRATCH_RESOURCE: [&str; 2] = ["SCRATCH_RSRC_DWORD0", "SCRATCH_RSRC_DWORD1"];

/// What the names of the assembler's own symbols begin with.
const PREDEFINED: &str = ".amdgcn.";

/// Whether a symbol of this name can be no other object's.
fn is_private(name: &str) -> bool {
    // No source can write a name with a blank: it is the assembler's own.
    name.starts_with(".L") || name.starts_with(' ') || name.starts_with(PREDEFINED)
}

/// A relocation before symbols have their numbers in the object.
struct Pending {
    place: Place,
    /// `None` is the absent symbol of number 0.
    symbol: Option<SymbolId>,
    kind: u32,
    addend: i64,
}

/// What a text becomes.
pub(super) enum Finished {
    /// An object.
    Object(Vec<u8>),
    /// It has to be read again with these sizes.
    Again(Layout),
}

impl<'a> Assembler<'a, '_> {
    /// Everything that had to wait for the end, then the object's bytes. `files` are the texts that were read.
    pub(super) fn finish(mut self, files: &[File<'_>]) -> std::result::Result<Finished, Errors> {
        let mut errors = Vec::new();
        let lines: Vec<Vec<&str>> = files.iter().map(|file| file.text.lines().collect()).collect();
        let mut note = |(origin, message): (Origin, String)| {
            let lines = lines.get(origin.file as usize);
            let line = lines.and_then(|lines| lines.get(origin.line.saturating_sub(1) as usize));
            let before = line.and_then(|line| line.get(..origin.at));
            let column = before.map_or(0, |before| before.chars().count() as u32 + 1);
            let file = files.get(origin.file as usize).map_or_else(String::new, |file| file.name.clone());
            let location = SourceLocation { file, line: origin.line, column };
            errors.push(Diagnostic::malformed(message).located(location));
        };
        if let Some(kernel) = &self.open_kernel {
            note((kernel.origin, "missing .end_amdhsa_kernel".to_owned()));
        }
        if let Some(open) = &self.open_metadata {
            note((open.origin, format!("missing {}", open.kind.end)));
        }
        if let Some(header) = &self.open_header {
            note((header.origin, "missing .end_amd_kernel_code_t".to_owned()));
        }
        if let Err(error) = self.settle_target() {
            note(error);
        }
        self.name_sections();
        self.join_subsections();
        let target = self.target;
        if let Err(error) = self.symbols.resolve(&target) {
            note(error);
        }
        match self.settle_lebs() {
            Ok(Settled::Yes) if self.settle_branches() == Settled::Yes => {}
            // What else is wrong may be right with other sizes.
            Ok(_) => return Ok(Finished::Again(self.layout)),
            Err(error) => note(error),
        }
        let mut pending = Vec::new();
        for patch in std::mem::take(&mut self.patches) {
            if let Err(message) = self.apply(&patch, &mut pending) {
                note((patch.value.origin, message));
            }
        }
        for header in std::mem::take(&mut self.headers) {
            match self.pack_header(&header) {
                Ok(bytes) => self.store(header.place, &bytes),
                Err(error) => note(error),
            }
        }
        for kernel in std::mem::take(&mut self.kernels) {
            match self.pack(&kernel) {
                Ok(bytes) => {
                    let from = kernel.place.offset as usize;
                    self.image.sections[kernel.place.section.0].data[from..from + bytes.len()]
                        .copy_from_slice(&bytes);
                }
                Err(error) => note(error),
            }
            if let Err(message) = self.entry(&kernel, &mut pending) {
                note((kernel.origin, message));
            }
        }
        for reloc in std::mem::take(&mut self.relocs) {
            if let Err(message) = self.asked_relocation(&reloc, &mut pending) {
                note((reloc.offset.origin, message));
            }
        }
        let sizes = self.sizes(&mut note);
        if !errors.is_empty() {
            return Err(errors);
        }
        self.identify();
        let written = self.symbol_table(pending, &sizes).and_then(|()| self.image.write());
        written.map(Finished::Object).map_err(|error| vec![error])
    }

    /// Fills in a number of `width` bytes.
    pub(super) fn store_constant(
        &mut self,
        place: Place,
        constant: i64,
        width: u8,
    ) -> std::result::Result<(), String> {
        let bits = 8 * u32::from(width);
        let fits = width == 8 || constant >> (bits - 1) == -1 || (constant as u64) >> bits == 0;
        if !fits {
            return Err(format!("{constant} does not fit {bits} bits"));
        }
        self.store(place, &constant.to_le_bytes()[..usize::from(width)]);
        Ok(())
    }

    /// Fills in a branch or a constant; otherwise returns the patch's value and its bytes.
    pub(super) fn fill_in(&mut self, patch: &Patch<'a>) -> std::result::Result<Option<(Sum, u8)>, String> {
        let target = self.target;
        let sum = self.symbols.evaluate(&patch.value, &target)?;
        let width = match patch.kind {
            PatchKind::Branch => return self.branch(&sum, patch.place).map(|()| None),
            PatchKind::Literal => 4,
            PatchKind::Data(width) => width,
        };
        if sum.plus.is_none() && sum.minus.is_none() {
            return self.store_constant(patch.place, sum.constant, width).map(|()| None);
        }
        Ok(Some((sum, width)))
    }

    /// Fills in a patch or makes it a relocation.
    fn apply(&mut self, patch: &Patch<'a>, pending: &mut Vec<Pending>) -> std::result::Result<(), String> {
        let Some((sum, width)) = self.fill_in(patch)? else { return Ok(()) };
        let place = patch.place;
        let (Some((symbol, part)), from) = (sum.plus, sum.minus) else {
            return Err("the value is no address".to_owned());
        };
        // A difference to a place of this section is relative to the place of the relocation.
        let (relative, addend) = match from {
            None => (false, sum.constant),
            Some(Base::Place(base)) if base.section == place.section => {
                (true, sum.constant.wrapping_add(place.offset as i64 - base.offset as i64))
            }
            Some(_) => return Err("the difference of addresses of two sections".to_owned()),
        };
        let kind = match (part, relative, width) {
            (Some(Specifier::Code(part)), false, 4 | 8) => code_reloc(part),
            (Some(Specifier::GotPcRel), false, 4 | 8) => reloc::GOTPCREL,
            (Some(Specifier::Rel64), false, 8) => reloc::REL64,
            (Some(Specifier::Abs64), false, 8) => reloc::ABS64,
            (None, false, 4) if patch.kind == PatchKind::Literal => {
                // A plain symbol in an instruction is relative to its place, but for the driver's constants.
                match SCRATCH_RESOURCE.contains(&&*self.symbols.of(symbol).name) {
                    true => reloc::ABS32_LO,
                    false => reloc::REL32,
                }
            }
            (None, false, 4) => reloc::ABS32,
            (None, false, 8) => reloc::ABS64,
            (None, true, 4) => reloc::REL32,
            (None, true, 8) => reloc::REL64,
            _ => return Err(format!("no relocation of {width} bytes for this expression")),
        };
        let of = self.symbols.of(symbol);
        if is_private(&of.name) && matches!(of.definition, Definition::Undefined) {
            return Err(format!("symbol {} is not defined", of.name));
        }
        pending.push(Pending { place, symbol: Some(symbol), kind, addend });
        Ok(())
    }

    /// A relocation that the text asks for.
    fn asked_relocation(
        &mut self,
        reloc: &Reloc<'a>,
        pending: &mut Vec<Pending>,
    ) -> std::result::Result<(), String> {
        let target = self.target;
        let sum = self.symbols.evaluate(&reloc.offset, &target)?;
        let place = match (self.symbols.place(&sum), sum.plus, sum.minus) {
            (Some(place), ..) => place,
            (None, None, None) => Place { offset: sum.constant as u64, ..reloc.offset.here },
            _ => return Err("expected an offset or a place of this object".to_owned()),
        };
        let width = reloc::width_bytes(reloc.kind) as u64;
        let end = place.offset.checked_add(width);
        if end.is_none_or(|end| end > self.image.sections[place.section.0].data.len() as u64) {
            return Err("the relocation is outside of its section".to_owned());
        }
        let value = match &reloc.value {
            None => Sum::default(),
            Some(value) => self.symbols.evaluate(value, &target)?,
        };
        let symbol = match value {
            Sum { plus: Some((symbol, None)), minus: None, .. } => Some(symbol),
            Sum { plus: None, minus: None, .. } => None,
            _ => return Err("expected a symbol and a number".to_owned()),
        };
        pending.push(Pending { place, symbol, kind: reloc.kind, addend: value.constant });
        Ok(())
    }

    /// Fills in the distance of a branch at `place`.
    fn branch(&mut self, sum: &Sum, place: Place) -> std::result::Result<(), String> {
        let distance = self.branch_distance(sum, place)?;
        self.store(place, &distance.to_le_bytes());
        Ok(())
    }

    /// The distance of a branch at `place`, in dwords from the next instruction.
    pub(super) fn branch_distance(&mut self, sum: &Sum, place: Place) -> std::result::Result<i16, String> {
        let target = match (sum.plus, self.symbols.place(sum)) {
            (_, Some(target)) if target.section == place.section => target,
            (None, _) if sum.minus.is_none() => Place { offset: sum.constant as u64, ..place },
            (Some((id, _)), None) => {
                return Err(format!("label {} is not defined", self.symbols.of(id).name));
            }
            _ => return Err("branch into another section".to_owned()),
        };
        let bytes = (target.offset as i64).wrapping_sub(place.offset as i64 + 4);
        let distance = i16::try_from(bytes >> 2).ok().filter(|_| bytes & 3 == 0);
        distance.ok_or_else(|| format!("branch distance of {bytes} bytes"))
    }

    pub(super) fn store(&mut self, place: Place, bytes: &[u8]) {
        let from = place.offset as usize;
        if let Some(to) = self.image.sections[place.section.0].data.get_mut(from..from + bytes.len()) {
            to.copy_from_slice(bytes);
        }
    }

    /// The entry offset of a descriptor: the kernel's address minus the descriptor's.
    fn entry(
        &mut self,
        kernel: &super::kernel::Kernel<'a>,
        pending: &mut Vec<Pending>,
    ) -> std::result::Result<(), String> {
        let code = self.symbols.get(kernel.name);
        let descriptor = self.symbols.get(format!("{}.kd", kernel.name));
        let symbol = self.symbols.of(code).clone();
        // The loader finds kernels by their descriptors; the code's symbol must not be preempted.
        let of = self.symbols.of(descriptor);
        (of.binding, of.visibility) = (symbol.binding, symbol.visibility);
        if symbol.visibility == raw::STV_DEFAULT {
            self.symbols.of(code).visibility = raw::STV_PROTECTED;
        }
        let place = Place { offset: kernel.place.offset + ENTRY_OFFSET_BYTES, ..kernel.place };
        if let Definition::Label(entry) = symbol.definition
            && entry.section == kernel.place.section
        {
            let distance = entry.offset as i64 - kernel.place.offset as i64;
            self.store(place, &distance.to_le_bytes());
            return Ok(());
        }
        pending.push(Pending {
            place,
            symbol: Some(code),
            kind: reloc::REL64,
            addend: ENTRY_OFFSET_BYTES as i64,
        });
        Ok(())
    }

    /// Sizes of all symbols. Checks on the way that values are numbers or places of this object.
    fn sizes(&mut self, note: &mut dyn FnMut((Origin, String))) -> Vec<u64> {
        let target = self.target;
        let mut sizes = Vec::with_capacity(self.symbols.all.len());
        for id in 0..self.symbols.all.len() {
            let symbol = &self.symbols.all[id];
            if let (Definition::Value(sum), Some(origin)) = (&symbol.definition, symbol.origin)
                && (sum.plus.is_some() || sum.minus.is_some())
                && self.symbols.place(sum).is_none()
            {
                note((origin, format!("{} stands for no place of this object", symbol.name)));
            }
            let mut size = symbol.fixed_size;
            if let Some(value) = symbol.size.clone() {
                match self.symbols.evaluate(&value, &target) {
                    Ok(Sum { constant, plus: None, minus: None }) => size = constant as u64,
                    Ok(_) => note((value.origin, "expected an absolute expression".to_owned())),
                    Err(message) => note((value.origin, message)),
                }
            }
            sizes.push(size);
        }
        sizes
    }

    /// Writes symbols and relocations. Local symbols are referred to by their section; names that begin with
    /// `.L` stay out of the table.
    fn symbol_table(&mut self, pending: Vec<Pending>, sizes: &[u64]) -> Result<()> {
        // Relocations that refer to a symbol, in the order of the first.
        let mut used = vec![usize::MAX; self.symbols.all.len()];
        // Private symbols that relocations must refer to.
        let mut kept = vec![false; self.symbols.all.len()];
        for (number, pending) in pending.iter().enumerate() {
            let Some(symbol) = pending.symbol else { continue };
            used[symbol.0] = used[symbol.0].min(number);
            kept[symbol.0] |= self.place_behind(symbol, pending.addend).is_none();
        }
        let group_of: FxHashMap<SymbolId, usize> =
            self.groups.all.iter().enumerate().map(|(number, group)| (group.signature, number)).collect();
        group_of.keys().for_each(|signature| kept[signature.0] = true);
        // In the order of their definitions, as compiled objects have them; then those of other objects.
        let mut order: Vec<usize> = (0..self.symbols.all.len()).collect();
        order.sort_by_key(|&i| (self.symbols.all[i].order, used[i]));
        let mut numbers: Vec<Option<ElfSymbolId>> = vec![None; self.symbols.all.len()];
        for i in order {
            let symbol = &self.symbols.all[i];
            if symbol.predefined {
                continue;
            }
            let private = is_private(&symbol.name);
            let place = match symbol.definition {
                Definition::Label(place) => elf::Place::Defined(place.section, place.offset),
                Definition::Value(sum) => match (sum.plus, self.symbols.place(&sum)) {
                    (_, Some(place)) => elf::Place::Defined(place.section, place.offset),
                    (None, _) => elf::Place::Absolute(sum.constant as u64),
                    _ => {
                        return Err(Diagnostic::unsupported(format!(
                            "alias {} of an undefined symbol",
                            symbol.name
                        )));
                    }
                },
                Definition::Common(align) => elf::Place::Common(align),
                // A directive about a symbol makes it known.
                Definition::Lds(align) if used[i] != usize::MAX || symbol.named => elf::Place::Lds(align),
                Definition::Undefined if used[i] != usize::MAX || symbol.named => elf::Place::Undefined,
                Definition::Undefined => match group_of.get(&SymbolId(i)) {
                    Some(&group) => elf::Place::Group(group),
                    None => continue,
                },
                _ => continue,
            };
            // An alias is of the kind and size of what it stands for, unless it says otherwise.
            let base = match symbol.definition {
                Definition::Value(Sum { plus: Some((base, None)), minus: None, .. }) => base.0,
                _ => i,
            };
            let size = sizes.get(if symbol.size.is_some() { i } else { base }).copied().unwrap_or(0);
            let plain = symbol.kind == raw::STT_NOTYPE;
            let kind = if plain { self.symbols.all[base].kind } else { symbol.kind };
            let undefined = place == elf::Place::Undefined;
            if private && undefined {
                return Err(Diagnostic::malformed(format!("symbol {} is not defined", symbol.name)));
            }
            if private && !symbol.name.starts_with(PREDEFINED) && !kept[i] {
                continue;
            }
            let default = if undefined { raw::STB_GLOBAL } else { raw::STB_LOCAL };
            numbers[i] = Some(self.image.add_symbol(ElfSymbol {
                name: symbol.name.clone().into_owned(),
                place,
                size,
                binding: symbol.binding.unwrap_or(default),
                kind,
                visibility: symbol.visibility,
            }));
        }
        let mut section_symbols: FxHashMap<SectionId, ElfSymbolId> = FxHashMap::default();
        for Pending { place, symbol, kind, mut addend } in pending {
            let Some(symbol) = symbol else {
                let symbol = elf::ABSENT_SYMBOL;
                let relocation = Relocation { offset: place.offset, symbol, kind, addend };
                self.image.sections[place.section.0].relocations.push(relocation);
                continue;
            };
            let number = match self.place_behind(symbol, addend) {
                Some(target) => {
                    addend = addend.wrapping_add_unsigned(target.offset);
                    let image = &mut self.image;
                    *section_symbols.entry(target.section).or_insert_with(|| {
                        image.add_symbol(ElfSymbol {
                            name: String::new(),
                            place: elf::Place::Section(target.section),
                            size: 0,
                            binding: raw::STB_LOCAL,
                            kind: raw::STT_SECTION,
                            visibility: raw::STV_DEFAULT,
                        })
                    })
                }
                None => numbers[symbol.0].ok_or_else(|| {
                    let name = &self.symbols.all[symbol.0].name;
                    Diagnostic::malformed(format!("symbol {name} is not defined"))
                })?,
            };
            let relocation = Relocation { offset: place.offset, symbol: number, kind, addend };
            self.image.sections[place.section.0].relocations.push(relocation);
        }
        for section in &mut self.image.sections {
            section.relocations.sort_by_key(|r| r.offset);
        }
        for group in std::mem::take(&mut self.groups.all) {
            let Some(signature) = numbers[group.signature.0] else {
                let name = &self.symbols.all[group.signature.0].name;
                return Err(Diagnostic::malformed(format!("{name} names a group and is no symbol")));
            };
            let section::Group { comdat, members, .. } = group;
            self.image.groups.push(elf::Group { signature, comdat, members });
        }
        Ok(())
    }

    /// The place that a relocation to `symbol` means where the section and an offset can stand for it: no other
    /// object sees the symbol, and the linker moves its section as a whole.
    fn place_behind(&self, symbol: SymbolId, addend: i64) -> Option<Place> {
        let data = &self.symbols.all[symbol.0];
        let local = data.binding.is_none_or(|binding| binding == raw::STB_LOCAL);
        let place = match data.definition {
            Definition::Label(place) if local => place,
            _ => return None,
        };
        let flags = self.image.sections[place.section.0].flags;
        // Merging puts each entry somewhere else: the symbol says which one is meant, where the addend leaves it.
        let moved = flags.contains(raw::SHF_MERGE) && addend != 0 || flags.contains(raw::SHF_TLS);
        (!moved).then_some(place)
    }
}
