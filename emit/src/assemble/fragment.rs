//! Inline assembly: a piece of text inside of a function.
//!
//! It is read as a file is, into the text section alone. What comes out is its words, the instructions in
//! them, and what the linker has to fill in; labels are the text's own, so branches inside are settled here.

use super::leb::{Layout, Settled};
use super::symbols::{Base, Definition};
use super::{Assembler, Options, Patch, PatchKind, macros, without_block_comments};
use mir::isa::parse::expr::Specifier;
use mir::machine::{Inst, RelocKind};
use mir::target::Target;
use mir::{Diagnostic, ErrorKind};

/// Most bytes that fills and alignments may make: branches reach over 128 KiB.
const MAX_FILLED_BYTES: u64 = 1 << 24;

/// A word that depends on a symbol outside.
#[derive(Clone, Debug, PartialEq)]
pub struct FragmentReloc {
    /// Index of the word.
    pub word: u32,
    /// Name of the symbol.
    pub symbol: String,
    /// Added to its address.
    pub addend: i64,
    /// How the word is computed.
    pub kind: RelocKind,
}

/// Assembled text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fragment {
    /// Its code.
    pub words: Vec<u32>,
    /// The instructions, with the indices of their first words.
    pub insts: Vec<(u32, Inst)>,
    /// What the linker fills in.
    pub relocs: Vec<FragmentReloc>,
    /// Whether anything depends on where the words are.
    pub has_labels: bool,
}

/// What is wrong, in which line (from 1).
pub type Fault = (u32, Box<Diagnostic>);

/// Assembles `text`.
pub fn fragment(text: &str, target: &Target) -> Result<Fragment, Fault> {
    let text = without_block_comments(text);
    let mut layout = Layout::default();
    loop {
        if let Some(fragment) = fragment_laid_out(&text, target, &mut layout)? {
            return Ok(fragment);
        }
        layout.check().map_err(|error| (1, error))?;
    }
}

/// The same with the sizes that `layout` has; `None` where they are too small, and `layout` has others.
fn fragment_laid_out(text: &str, target: &Target, layout: &mut Layout) -> Result<Option<Fragment>, Fault> {
    let arena = bumpalo::Bump::new();
    let mut assembler =
        Assembler::new(target, Options { most_bytes: Some(MAX_FILLED_BYTES), ..Options::default() });
    assembler.collected = Some(Vec::new());
    assembler.layout = std::mem::take(layout);
    let start = assembler.current;
    let mut expander = macros::Expander::new(&arena, text);
    let other = |line: u32| {
        (line, Diagnostic::unsupported("sections, kernels and metadata inside of inline assembly"))
    };
    while let Some((line, number)) = expander.next_line() {
        let expanded = expander.expand(line, number, &mut assembler);
        expanded
            .and_then(|line| line.map_or(Ok(()), |line| assembler.line(line, number)))
            .map_err(|failure| (number, failure.diagnostic(line, number)))?;
        let opened = assembler.open_kernel.is_some()
            || assembler.open_metadata.is_some()
            || assembler.open_header.is_some();
        if assembler.current != start || opened {
            return Err(other(number));
        }
    }
    if let Some((_, line, message)) = expander.unfinished() {
        return Err((line, Diagnostic::new(ErrorKind::Malformed, message)));
    }
    assembler.fragment(layout)
}

impl<'a> Assembler<'a, '_> {
    fn fragment(mut self, layout: &mut Layout) -> Result<Option<Fragment>, Fault> {
        let target = self.target;
        let malformed = |line: u32, message: String| (line, Diagnostic::malformed(message));
        self.symbols.resolve(&target).map_err(|(origin, message)| malformed(origin.line, message))?;
        let lebs = self.settle_lebs().map_err(|(origin, message)| malformed(origin.line, message))?;
        if lebs == Settled::No || self.settle_branches() == Settled::No {
            *layout = self.layout;
            return Ok(None);
        }
        let has_labels = !self.patches.is_empty()
            || self.symbols.all.iter().any(|symbol| matches!(symbol.definition, Definition::Label(_)));
        let mut relocs = Vec::new();
        for patch in std::mem::take(&mut self.patches) {
            let line = patch.value.origin.line;
            self.settle(&patch, &mut relocs).map_err(|message| malformed(line, message))?;
        }
        let data = &self.image.sections[self.current.0].data;
        if !data.len().is_multiple_of(4) {
            return Err(malformed(1, "inline assembly does not end at a multiple of four bytes".to_owned()));
        }
        let mut words = Vec::with_capacity(data.len() / 4);
        for bytes in data.chunks_exact(4) {
            words.push(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        }
        let insts = self.collected.take().unwrap_or_default();
        let insts = insts.into_iter().map(|(offset, inst)| ((offset / 4) as u32, inst)).collect();
        Ok(Some(Fragment { words, insts, relocs, has_labels }))
    }

    /// Fills in a patch, or leaves it to the linker.
    fn settle(&mut self, patch: &Patch<'a>, relocs: &mut Vec<FragmentReloc>) -> Result<(), String> {
        let Some((sum, width)) = self.fill_in(patch)? else { return Ok(()) };
        let place = patch.place;
        if width != 4 || !place.offset.is_multiple_of(4) {
            return Err("an address that is not in a word of its own".to_owned());
        }
        let Some((symbol, part)) = sum.plus else { return Err("the value is no address".to_owned()) };
        let (relative, addend) = match sum.minus {
            None => (false, sum.constant),
            Some(Base::Place(base)) if base.section == place.section => {
                (true, sum.constant.wrapping_add(place.offset as i64 - base.offset as i64))
            }
            Some(_) => return Err("the difference of addresses of two sections".to_owned()),
        };
        let kind = match (part, relative) {
            (Some(Specifier::Code(part)), false) => part,
            (None, true) => RelocKind::Rel32Lo,
            // A plain symbol in an instruction is relative to its place.
            (None, false) if patch.kind == PatchKind::Literal => RelocKind::Rel32Lo,
            (None, false) => RelocKind::Abs32Lo,
            _ => return Err("no relocation for this expression".to_owned()),
        };
        if let Some(label) = self.symbols.label(symbol) {
            // A distance inside the text.
            let distance = (label.offset as i64 + addend).wrapping_sub(place.offset as i64);
            let value = match kind {
                RelocKind::Rel32Lo => distance,
                RelocKind::Rel32Hi => distance >> 32,
                _ => return Err("the address of a label of inline assembly".to_owned()),
            };
            self.store(place, &(value as i32).to_le_bytes());
            return Ok(());
        }
        let word = (place.offset / 4) as u32;
        let symbol = self.symbols.of(symbol).name.to_string();
        relocs.push(FragmentReloc { word, symbol, addend, kind });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Fragment, Fault> {
        fragment(text, &Target::new(Target::processor_by_name("gfx900").unwrap()))
    }

    #[test]
    fn plain_text_is_instructions() {
        let plain = read("\ts_mov_b32 s0, 1 ; a comment\n\tv_mov_b32 v1, 0x12345\n// nothing\n").unwrap();
        assert_eq!(plain.words, [0xbe80_0081, 0x7e02_02ff, 0x12345]);
        assert_eq!(plain.insts.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 1]);
        assert!(!plain.has_labels && plain.relocs.is_empty());
        assert_eq!(read("; only a comment").unwrap(), Fragment::default());
        assert_eq!(read(".rept 3\ns_nop 0\n.endr").unwrap().words, [0xbf80_0000; 3]);
    }

    #[test]
    fn labels_and_symbols() {
        let looped = read("1: s_sub_u32 s0, s0, 1\ns_cbranch_scc0 1b\n.long 7").unwrap();
        assert_eq!(looped.words, [0x8080_8100, 0xbf84_fffe, 7]);
        let distance = read(".uleb128 b-a, 0\n.byte 0\na: .fill 128\nb:").unwrap();
        assert_eq!(distance.words[0], 0x0000_0180);
        assert!(looped.has_labels);
        let symbol = read("s_add_u32 s0, s0, there@rel32@lo+4").unwrap();
        assert_eq!(
            symbol.relocs,
            [FragmentReloc { word: 1, symbol: "there".into(), addend: 4, kind: RelocKind::Rel32Lo }]
        );
    }

    #[test]
    fn what_is_wrong_has_a_line() {
        for (text, line) in [
            ("s_nop 0\nv_nonsense v0", 2),
            ("v_pk_add_f16 v0, v1", 1),
            ("s_branch nowhere", 1),
            (".section .data\n", 1),
            (".if 1\n", 1),
            ("s_nop 0\n.fill 1 << 28", 2),
            ("s_nop 0\n.p2align 31", 2),
            // Known when all labels are.
            ("s_nop 0\n.byte 300 + b - a, 0, 0, 0\na: b:", 2),
        ] {
            assert_eq!(read(text).expect_err(text).0, line, "{text}");
        }
    }
}
