//! What the text says about the object as a whole: `.amdgcn_target`, the code object version, the name of the
//! instruction set; and what follows from it for the header.
//!
//! A text of code object V3 has no directive for its version. Its target id lists what is on behind a plus
//! sign, later ones write the sign behind the name, and its metadata has version 1.0.

use super::section::symbol_name;
use super::{Assembler, Origin, Result, end, fail};
use crate::object::{elf_flags, os_abi, write_note};
use mir::abi::kernel_code::STT_HSA_KERNEL;
use mir::abi::metadata::target_id;
use mir::isa::parse::lexer::{Lexer, Token};
use mir::target::{Features, Os, Target};
use object::elf as raw;
use std::borrow::Cow;

/// What has been said so far.
#[derive(Clone, Debug, Default)]
pub struct Stated {
    /// `.amdhsa_code_object_version`.
    pub version: Option<u8>,
    /// Version that the metadata implies.
    pub metadata_version: Option<u8>,
    /// `.amdgcn_target`.
    id: Option<TargetId>,
}

/// The settings of a target id.
#[derive(Clone, Debug)]
struct TargetId {
    origin: Origin,
    /// Whether features have the sign before them, which no feature leaves open.
    first_spelling: Option<bool>,
    /// XNACK and SRAM ECC, where they are given.
    settings: [Option<bool>; 2],
}

/// Switchable features: names in target ids; supported, on, on or off.
const SETTINGS: [([&str; 2], Features, Features, Features); 2] = [
    (["xnack", "xnack"], Features::XNACK_SUPPORTED, Features::XNACK, Features::XNACK_ANY),
    (["sramecc", "sram-ecc"], Features::SRAM_ECC_SUPPORTED, Features::SRAM_ECC, Features::SRAM_ECC_ANY),
];

/// Last code object version whose target ids have the first spelling.
const FIRST_SPELLING_UNTIL: u8 = 3;

impl<'a> Assembler<'a, '_> {
    /// `.amdgcn_target "amdgcn-amd-amdhsa--gfx900:xnack+"`: system and processor must be the target's; features
    /// are taken over at the end.
    pub(super) fn target_directive(&mut self, lexer: &mut Lexer<'a>, line: u32) -> Result {
        let Token::Str(id) = lexer.token else { return fail(lexer.start, "expected a string") };
        let at = lexer.start;
        lexer.step();
        end(lexer)?;
        let (triple, name) = id.rsplit_once("--").unwrap_or(("", id));
        let split = name.find([':', '+']).unwrap_or(name.len());
        let (name, written) = name.split_at(split);
        let wanted = Target::processor_by_name(name).map(|processor| processor.name);
        let own = target_id(&self.target);
        let system = triple.split('-').nth(2).unwrap_or_default();
        let own_system = own.split('-').nth(2).unwrap_or_default();
        if wanted != Some(self.target.processor.name) || !triple.is_empty() && system != own_system {
            return fail(at, format!("target {id} is not {own}"));
        }
        let mut settings = [None; 2];
        for setting in written.split([':', '+']).filter(|setting| !setting.is_empty()) {
            // The split takes the sign behind a name away.
            let (feature, on) = match setting.strip_suffix('-') {
                Some(feature) => (feature, false),
                None => (setting, true),
            };
            match SETTINGS.iter().position(|(names, ..)| names.contains(&feature)) {
                Some(index) => settings[index] = Some(on),
                None => return fail(at, format!("unknown target feature {feature}")),
            }
        }
        let first_spelling = (!written.is_empty()).then(|| written.starts_with('+'));
        self.stated.id = Some(TargetId { origin: self.origin(line, at), first_spelling, settings });
        Ok(())
    }

    /// `.amdhsa_code_object_version 5`.
    pub(super) fn version_directive(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let at = lexer.start;
        let version = self.constant(lexer)?;
        match version {
            3..=6 => self.stated.version = Some(version as u8),
            _ => return fail(at, format!("code object version {version} is not 3 to 6")),
        }
        end(lexer)
    }

    /// Decides on the code object version and the settings of the target.
    pub(super) fn settle_target(&mut self) -> std::result::Result<(), (Origin, String)> {
        if self.target.os == Os::AmdHsa {
            let given = self.options.version_is_given.then_some(self.target.code_object_version);
            let spelled = self.stated.id.as_ref().and_then(|id| id.first_spelling);
            let implied = match spelled {
                Some(true) => Some(FIRST_SPELLING_UNTIL),
                _ => self.stated.metadata_version,
            };
            let version = self.stated.version.or(given).or(implied);
            self.target.code_object_version = version.unwrap_or(self.target.code_object_version);
        }
        let version = self.target.code_object_version;
        let first_spelling = self.target.os != Os::AmdHsa || version <= FIRST_SPELLING_UNTIL;
        let id = self.stated.id.take();
        if let Some(TargetId { origin, first_spelling: Some(spelled), .. }) = id
            && spelled != first_spelling
        {
            let message = format!("target ids of code object version {version} do not spell features so");
            return Err((origin, message));
        }
        for (index, (_, supported, enabled, either)) in SETTINGS.into_iter().enumerate() {
            let written = id.as_ref().map(|id| id.settings[index]);
            let features = &mut self.target.features;
            let hsa = self.target.os == Os::AmdHsa;
            let on = match written {
                Some(Some(on)) => on,
                // What an id of V3 does not list is off; on other systems it is left open.
                Some(None) if first_spelling && hsa => false,
                None if first_spelling && hsa && features.contains(either) => {
                    self.target.processor.features.contains(enabled)
                }
                _ => continue,
            };
            if on && !self.target.processor.features.intersects(supported | enabled) {
                let origin = id.as_ref().map_or(Origin { file: 0, line: 0, at: 0 }, |id| id.origin);
                return Err((origin, format!("{} has no such setting", self.target)));
            }
            let features = &mut self.target.features;
            features.remove(either);
            features.set(enabled, on);
        }
        Ok(())
    }

    /// The header of the object.
    pub(super) fn identify(&mut self) {
        let (os_abi, abi_version) = os_abi(&self.target);
        self.image.os_abi = os_abi;
        self.image.abi_version = abi_version;
        self.image.flags = elf_flags(&self.target);
    }

    /// `.amdgpu_hsa_kernel name`: the symbol of a kernel with `amd_kernel_code_t`.
    pub(super) fn hsa_kernel_directive(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let (name, _) = symbol_name(lexer)?;
        end(lexer)?;
        let id = self.symbols.get(name);
        self.symbols.of(id).kind = raw::SymbolType(STT_HSA_KERNEL);
        self.begin_kernel_scope();
        Ok(())
    }

    /// Appends a record to the section of notes.
    pub(super) fn note(
        &mut self,
        owner: &str,
        kind: u32,
        description: &[u8],
        flags: raw::SectionFlags,
        at: usize,
    ) -> Result {
        let section = self.section_called(Cow::Borrowed(".note"));
        let section = &mut self.image.sections[section.0];
        if section.kind != raw::SHT_NOTE {
            return fail(at, "section .note holds something else");
        }
        section.flags |= flags;
        section.align_to(4, &[0]);
        write_note(&mut section.data, owner, kind, description);
        Ok(())
    }
}
