//! Code: instructions with labels, literals that are relocated, headers of kernels.

use super::kernels::{HEADER_BYTES, Kernels};
use super::{Addend, Body, Targets, program};
use crate::assembly_text::Quoted;
use crate::object::{code_reloc, reloc};
use cranelift_entity::EntityRef;
use mir::isa::parse::expr::{Node, Specifier};
use mir::isa::parse::{FixupKind, Parser};
use mir::isa::{Names, OperandKind, decode};
use mir::machine::{Block, Inst, Operand, RelocKind, SymbolId};
use std::collections::BTreeSet;
use std::fmt::{self, Formatter, Write};

/// What a relocated literal holds while it is decoded: no inline constant, and nothing that code has by chance.
const MARK: u32 = 0x5a17_e3d9;

/// Parts of addresses that a literal may be.
const PARTS: [RelocKind; 6] = [
    RelocKind::Rel32Lo,
    RelocKind::Rel32Hi,
    RelocKind::GotPcRel32Lo,
    RelocKind::GotPcRel32Hi,
    RelocKind::Abs32Lo,
    RelocKind::Abs32Hi,
];

/// A line of code.
struct Line {
    offset: usize,
    /// Bytes.
    length: usize,
    form: Form,
}

enum Form {
    Inst(Box<Inst>),
    /// An instruction with a literal that is relocated: which relocation of the section, and its operand.
    Relocated(Box<Inst>, usize),
    /// What no instruction is: a dword, or the bytes at the end.
    Data,
    /// The header of a kernel, by its index.
    Header(usize),
}

/// A decoded section.
struct Text {
    lines: Vec<Line>,
    /// Offsets that branches go to and lines begin at; the label's number is the index.
    labels: Vec<u64>,
    /// Number of the section where its labels need it.
    number: Option<usize>,
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

impl Body<'_, '_> {
    pub(super) fn write_code(&mut self, kernels: &Kernels) {
        let section = self.section();
        let text = Text::decode(self, kernels);
        let parser = Parser::new(&self.targets.parsing);
        for line in &text.lines {
            let (offset, end) = (line.offset as u64, (line.offset + line.length) as u64);
            self.write_symbols(offset);
            if text.labels.binary_search(&offset).is_ok() {
                let _ = writeln!(self.out, "{}:", text.label(offset));
            }
            if let Some(lines) = self.lines {
                lines.write(&mut self.out, self.index, offset);
            }
            if let Form::Header(header) = line.form {
                self.out.push_str(&kernels.headers[header].text);
                self.write_inner_symbols(offset, end);
                continue;
            }
            let bytes = &section.data[line.offset..line.offset + line.length];
            let written = match &line.form {
                Form::Inst(inst) => text.plain(inst, bytes, offset, &parser, self.targets),
                Form::Relocated(inst, index) => self.relocated(&text, inst, *index, bytes, offset, &parser),
                _ => None,
            };
            let relocations = section.relocations_in(offset, end);
            let settled = matches!(line.form, Form::Relocated(..)) && written.is_some();
            let as_data =
                written.is_none().then(|| self.relocated_word(relocations, bytes, offset)).flatten();
            if !settled && as_data.is_none() {
                relocations.iter().for_each(|relocation| self.write_reloc(relocation));
            }
            let written = written.or(as_data).unwrap_or_else(|| data(bytes));
            let _ = write!(self.out, "\t{written:<60}// {:012x}:", section.address.wrapping_add(offset));
            match bytes.len() % 4 {
                0 => words(bytes).iter().for_each(|word| self.out.push_str(&format!(" {word:08x}"))),
                _ => bytes.iter().for_each(|byte| self.out.push_str(&format!(" {byte:02x}"))),
            }
            self.out.push('\n');
            self.write_inner_symbols(offset, end);
        }
        self.write_symbols(section.size);
        if text.labels.last() == Some(&section.size) {
            let _ = writeln!(self.out, "{}:", text.label(section.size));
        }
    }

    /// An instruction whose literal is a part of a symbol's address.
    fn relocated(
        &mut self,
        text: &Text,
        inst: &Inst,
        index: usize,
        bytes: &[u8],
        offset: u64,
        parser: &Parser<'_>,
    ) -> Option<String> {
        let relocation = self.section().relocations[index];
        let kind = PARTS.into_iter().find(|part| code_reloc(*part) == relocation.kind)?;
        let (name, addend) = self.referent(&relocation)?;
        let addend = i32::try_from(addend).ok()?;
        let operand =
            inst.operands.iter().position(|op| matches!(op, Operand::Imm(value) if *value as u32 == MARK))?;
        let mut inst = inst.clone();
        inst.operands[operand] = Operand::Symbol { symbol: SymbolId::new(0), addend, kind };
        let names = LineNames { text, symbol: &name };
        let shown = inst.display_with(&self.targets.decoding, &names).to_string();
        let field = usize::try_from(relocation.offset - offset).ok()?;
        literal_is_read(parser, &shown, (&name, kind), field, words(bytes)).then_some(shown)
    }

    /// A dword that is relocated, as data.
    fn relocated_word(
        &mut self,
        relocations: &[program::Relocation],
        bytes: &[u8],
        offset: u64,
    ) -> Option<String> {
        let [relocation] = relocations else { return None };
        if relocation.offset != offset || bytes.len() != 4 {
            return None;
        }
        self.data_expression(relocation, bytes).map(|(_, text)| text)
    }

    /// The directive for a field of data that is relocated, and its bytes; `None` where an expression does not stand for it.
    pub(super) fn data_expression(
        &mut self,
        relocation: &program::Relocation,
        field: &[u8],
    ) -> Option<(usize, String)> {
        // A field that is not zero keeps what it holds only where a relocation is asked for by name.
        if !self.program.implicit_addends && field.iter().any(|byte| *byte != 0) {
            return None;
        }
        let part = PARTS.into_iter().find(|part| code_reloc(*part) == relocation.kind);
        let (directive, suffix) = match (relocation.kind, part) {
            (reloc::ABS64, _) => (".quad", ""),
            (reloc::REL64, _) => (".quad", "@rel64"),
            (reloc::ABS32, _) => (".long", ""),
            (_, Some(part)) => (".long", part.suffix()),
            _ => return None,
        };
        let (name, addend) = self.referent(relocation)?;
        Some((reloc::width_bytes(relocation.kind), format!("{directive} {name}{suffix}{}", Addend(addend))))
    }
}

/// Bytes as data.
fn data(bytes: &[u8]) -> String {
    let (directive, items): (_, Vec<String>) = match bytes.len() % 4 {
        0 => (".long", words(bytes).iter().map(|word| format!("{word:#010x}")).collect()),
        _ => (".byte", bytes.iter().map(u8::to_string).collect()),
    };
    format!("{directive} {}", items.join(", "))
}

impl Text {
    fn decode(body: &Body<'_, '_>, kernels: &Kernels) -> Self {
        let section = body.section();
        let target = &body.targets.decoding;
        let mut words = words(section.data);
        let mut originals = Vec::new();
        for (index, relocation) in section.relocations.iter().enumerate() {
            let part = PARTS.iter().any(|part| code_reloc(*part) == relocation.kind);
            let at = relocation.offset as usize / 4;
            if let Some(word) = words.get_mut(at).filter(|_| part && relocation.offset.is_multiple_of(4))
                && (body.program.implicit_addends || *word == 0)
            {
                originals.push((at, index));
                *word = MARK;
            }
        }
        originals.dedup_by_key(|(at, _)| *at);
        let mut next_symbol =
            section.symbols.iter().map(|(offset, _)| offset.div_ceil(4) as usize).peekable();
        let mut text = Self { lines: Vec::new(), labels: Vec::new(), number: None };
        // Sections of other names have labels of their own.
        text.number = (section.name != ".text").then_some(section.number);
        let mut labels = BTreeSet::new();
        let mut at = 0;
        while at < words.len() {
            if let Some(header) = kernels.header_at(body.index, 4 * at as u64) {
                text.lines.push(Line { offset: 4 * at, length: HEADER_BYTES, form: Form::Header(header) });
                at += HEADER_BYTES / 4;
                continue;
            }
            // No instruction goes on behind the next symbol.
            while next_symbol.next_if(|next| *next <= at).is_some() {}
            let end = next_symbol.peek().copied().unwrap_or(words.len()).min(words.len());
            let line = match decode(&words[at..end], target) {
                Ok((inst, length)) => {
                    let length = length.max(1);
                    let first = originals.partition_point(|(word, _)| *word < at);
                    let marked = &originals[first..];
                    let marked = &marked[..marked.partition_point(|(word, _)| *word < at + length)];
                    let form = match marked {
                        [] => Form::Inst(Box::new(inst)),
                        [(word, index)] if *word > at => Form::Relocated(Box::new(inst), *index),
                        _ => Form::Data,
                    };
                    let length = if matches!(form, Form::Data) { 1 } else { length };
                    Line { offset: 4 * at, length: 4 * length, form }
                }
                Err(_) => Line { offset: 4 * at, length: 4, form: Form::Data },
            };
            if let Form::Inst(inst) = &line.form
                && let Some(to) = destination(inst, line.offset as u64)
            {
                labels.insert(to);
            }
            at += line.length / 4;
            text.lines.push(line);
        }
        let tail = section.data.len() % 4;
        if tail > 0 {
            let offset = section.data.len() - tail;
            text.lines.push(Line { offset, length: tail, form: Form::Data });
        }
        let begins = |label: &u64| {
            let found = text.lines.binary_search_by_key(label, |line| line.offset as u64);
            found.is_ok() || *label == section.size
        };
        text.labels = labels.into_iter().filter(begins).collect();
        text
    }

    fn label(&self, offset: u64) -> String {
        match self.number {
            None => format!(".L{offset:x}"),
            Some(number) => format!(".L{number}_{offset:x}"),
        }
    }

    /// The text of an instruction, where it means `bytes`. Branches refer to labels instead of distances.
    fn plain(
        &self,
        inst: &Inst,
        bytes: &[u8],
        offset: u64,
        parser: &Parser<'_>,
        targets: &Targets,
    ) -> Option<String> {
        let words = words(bytes);
        let to = destination(inst, offset).and_then(|to| self.labels.binary_search(&to).ok());
        if let (Some(index), Some(label)) = (label_operand(inst), to) {
            let mut inst = inst.clone();
            inst.operands[index] = Operand::Block(Block::new(label));
            let names = LineNames { text: self, symbol: "" };
            let shown = inst.display_with(&targets.decoding, &names).to_string();
            return branch_is_read(parser, &shown, &words).then_some(shown);
        }
        let shown = inst.display_with(&targets.decoding, &LineNames { text: self, symbol: "" }).to_string();
        let is_read = parser
            .parse(&shown, 1, &|_| None)
            .is_ok_and(|parsed| parsed.fixup.is_none() && parsed.words[..] == words[..]);
        is_read.then_some(shown)
    }
}

/// Whether `shown` is read as the branch `words` but for its distance.
fn branch_is_read(parser: &Parser<'_>, shown: &str, words: &[u32]) -> bool {
    let Ok(parsed) = parser.parse(shown, 1, &|_| None) else { return false };
    let is_branch = parsed.fixup.is_some_and(|fixup| fixup.kind == FixupKind::Branch);
    matches!((&parsed.words[..], words), ([read], [word]) if is_branch && *read == word & 0xffff_0000)
}

/// Whether `shown` is read as `words` with the dword at byte `field` a part of the symbol's address.
fn literal_is_read(
    parser: &Parser<'_>,
    shown: &str,
    (name, kind): (&str, RelocKind),
    field: usize,
    mut words: Vec<u32>,
) -> bool {
    let Ok(parsed) = parser.parse(shown, 1, &|_| None) else { return false };
    let Some(fixup) = parsed.fixup else { return false };
    let FixupKind::Literal(literal) = fixup.kind else { return false };
    let Some(word) = words.get_mut(field / 4) else { return false };
    *word = 0;
    let is_meant = fixup.expr.nodes.iter().any(|node| match node {
        Node::Symbol(read, Some(Specifier::Code(part))) => *part == kind && Quoted(read).to_string() == name,
        _ => false,
    });
    is_meant && usize::from(literal) * 4 == field && parsed.words[..] == words[..]
}

/// Names in a line: labels, and the symbol that its literal refers to.
struct LineNames<'a> {
    text: &'a Text,
    symbol: &'a str,
}

impl Names for LineNames<'_> {
    fn block(&self, f: &mut Formatter<'_>, block: Block) -> fmt::Result {
        f.write_str(&self.text.label(self.text.labels.get(block.index()).copied().unwrap_or(0)))
    }

    fn symbol(&self, f: &mut Formatter<'_>, _: SymbolId, addend: i32, kind: RelocKind) -> fmt::Result {
        write!(f, "{}{}{}", self.symbol, kind.suffix(), Addend(addend.into()))
    }
}

fn label_operand(inst: &Inst) -> Option<usize> {
    inst.op.info().operands.iter().position(|desc| desc.kind == OperandKind::Label)
}

/// Where the branch `inst` at byte `offset` goes.
fn destination(inst: &Inst, offset: u64) -> Option<u64> {
    let distance = inst.operands.get(label_operand(inst)?)?.as_imm()?;
    // The field is signed.
    offset.checked_add_signed(4 + 4 * i64::from(distance as i16))
}
