//! Parts of sections: `.subsection 2`, `.data 1`. They are sections while text is read, and are put behind each
//! other, by their numbers, at the end.

use super::{Assembler, Place, Result, end, fail};
use crate::object::S_NOP;
use crate::object::elf::{Section, SectionId};
use mir::isa::parse::lexer::Lexer;
use object::elf as raw;

/// Largest number of a part, as in LLVM.
const NUMBER_MAX: i64 = 8192;

/// A part of a section.
#[derive(Clone, Copy, Debug)]
pub struct Subsection {
    /// The section.
    base: SectionId,
    /// Its number, from 1.
    number: u16,
    /// The section that stands for it.
    pub(super) section: SectionId,
}

impl<'a> Assembler<'a, '_> {
    /// `.subsection [number]`: a part of the current section.
    pub(super) fn subsection_directive(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let number = if lexer.at_end() { 0 } else { self.subsection_number(lexer)? };
        end(lexer)?;
        let current = self.current;
        let base = self.subsections.iter().find(|s| s.section == current).map_or(current, |s| s.base);
        let section = self.subsection(base, number);
        self.switch_to(section);
        Ok(())
    }

    pub(super) fn subsection_number(&mut self, lexer: &mut Lexer<'a>) -> Result<u16> {
        let at = lexer.start;
        match self.constant(lexer)? {
            number @ 0..=NUMBER_MAX => Ok(number as u16),
            number => fail(at, format!("subsection {number} is not 0 to {NUMBER_MAX}")),
        }
    }

    /// Part `number` of section `base`.
    pub(super) fn subsection(&mut self, base: SectionId, number: u16) -> SectionId {
        if number == 0 {
            return base;
        }
        if let Some(found) = self.subsections.iter().find(|s| s.base == base && s.number == number) {
            return found.section;
        }
        let Section { kind, flags, .. } = self.image.sections[base.0];
        let section = self.image.add_section(Section::new("", kind, flags));
        self.subsections.push(Subsection { base, number, section });
        section
    }

    /// Joins parts to sections. Every place that is kept moves with its part.
    pub(super) fn join_subsections(&mut self) {
        if self.subsections.is_empty() {
            return;
        }
        let mut parts = std::mem::take(&mut self.subsections);
        parts.sort_by_key(|part| (part.base, part.number));
        let mut moved: Vec<Place> =
            (0..self.image.sections.len()).map(|id| Place { section: SectionId(id), offset: 0 }).collect();
        for part in &parts {
            let Section { data, align, nobits_size, .. } = self.image.sections[part.section.0].clone();
            let base = &mut self.image.sections[part.base.0];
            let code = base.flags.contains(raw::SHF_EXECINSTR) && base.size().is_multiple_of(4);
            let fill: &[u8] = if code { &S_NOP } else { &[0] };
            let offset = base.align_to(align, fill);
            base.data.extend(data);
            base.nobits_size += nobits_size;
            moved[part.section.0] = Place { section: part.base, offset };
        }
        // The parts themselves leave the object.
        let mut index = 0;
        let kept: Vec<usize> = (0..moved.len())
            .map(|id| {
                let place = index;
                index += usize::from(moved[id].section.0 == id);
                place
            })
            .collect();
        let mut id = 0;
        self.image.sections.retain(|_| {
            id += 1;
            moved[id - 1].section.0 == id - 1
        });
        let new_place = |place: &mut Place| {
            let Place { section, offset } = moved[place.section.0];
            *place = Place { section: SectionId(kept[section.0]), offset: place.offset + offset };
        };
        self.each_place(new_place);
        for member in self.groups.all.iter_mut().flat_map(|group| &mut group.members) {
            *member = SectionId(kept[member.0]);
        }
        for link in self.image.sections.iter_mut().filter_map(|section| section.link.as_mut()) {
            *link = SectionId(kept[link.0]);
        }
    }

    /// Applies `change` to every place that is kept until the end.
    fn each_place(&mut self, mut change: impl FnMut(&mut Place)) {
        use super::symbols::Definition;
        for symbol in &mut self.symbols.all {
            match &mut symbol.definition {
                Definition::Label(place) => change(place),
                Definition::Equated(value) => change(&mut value.here),
                _ => {}
            }
            symbol.size.iter_mut().for_each(|value| change(&mut value.here));
        }
        for patch in &mut self.patches {
            change(&mut patch.place);
            change(&mut patch.value.here);
        }
        for leb in &mut self.lebs {
            change(&mut leb.place);
            change(&mut leb.value.here);
        }
        for reloc in &mut self.relocs {
            change(&mut reloc.offset.here);
            reloc.value.iter_mut().for_each(|value| change(&mut value.here));
        }
        self.kernels.iter_mut().for_each(|kernel| kernel.each_place(&mut change));
    }
}
