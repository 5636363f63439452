//! Reads machine functions: blocks, their parameters, terminators and edges.
//!
//! A first look at the tokens of a function finds the numbers of blocks and registers, and the width of each
//! register, so that code may use what is defined further down. Then one pass builds.

use super::has_wave_graph;
use crate::ir::{CALL_CONVS, CallConv, Func, Module};
use crate::machine::*;
use crate::target::WaveSize;
use crate::text::{Cursor, Reader, Tok, numbered};
use crate::{Diagnostic, Result};
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

/// Largest numbers of registers and of blocks; the tables are as long.
const MAX_VREGS: u32 = 1 << 24;
const MAX_BLOCKS: u32 = 1 << 21;

/// Parses one machine function. `name` stands for the text in messages.
///
/// # Errors
/// `Malformed` with line, column and what was expected.
pub fn parse_function(text: &str, name: &str) -> Result<Function> {
    let mut functions = parse_functions(text, name)?;
    match (functions.pop(), functions.pop()) {
        (Some(function), None) => Ok(function),
        _ => Err(Diagnostic::malformed("expected one function")),
    }
}

/// Parses machine functions, in the order of the text. `name` stands for the text in messages.
///
/// # Errors
/// As [`parse_function`].
pub fn parse_functions(text: &str, name: &str) -> Result<Vec<Function>> {
    parse_functions_at(Cursor::new(text, name)?, None)
}

/// Parses the functions from `cursor` to the end of the text, whose symbols must be those of `module`, if
/// there is one.
pub(crate) fn parse_functions_at(cursor: Cursor, module: Option<&Module>) -> Result<Vec<Function>> {
    let mut functions = Vec::new();
    let empty = || Function::new("", CallConv::Kernel, Func::from_u32(0));
    let mut parser = Parser { cursor, module, f: empty(), placed: Vec::new(), places: Vec::new() };
    while *parser.peek() != Tok::End {
        parser.function()?;
        functions.push(std::mem::replace(&mut parser.f, empty()));
    }
    Ok(functions)
}

pub(super) struct Parser<'m> {
    cursor: Cursor,
    /// Where symbols must exist.
    pub(super) module: Option<&'m Module>,
    /// The function that is being read.
    pub(super) f: Function,
    /// Which blocks have had their label.
    placed: Vec<bool>,
    /// Registers that the text states for values at the entry, with the token, until all of them are known.
    pub(super) places: Vec<(EntryValue, RegOperand, usize)>,
}

impl Reader for Parser<'_> {
    fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    fn cursor_mut(&mut self) -> &mut Cursor {
        &mut self.cursor
    }
}

/// File and width behind the colon of a virtual register (`s2`).
fn class_of(word: &str) -> Option<(RegFile, u8)> {
    let file = match word.as_bytes().first()? {
        b's' => RegFile::Sgpr,
        b'v' => RegFile::Vgpr,
        _ => return None,
    };
    Some((file, u8::try_from(numbered(word, &word[..1])?).ok()?))
}

/// Number and first dword of `%5.1`.
fn local_of(text: &str) -> Option<(VReg, Option<u8>)> {
    let (number, sub) = match text.split_once('.') {
        Some((number, sub)) => (number, Some(u8::try_from(numbered(sub, "")?).ok()?)),
        None => (text, None),
    };
    let number = numbered(number, "").filter(|&n| n < MAX_VREGS)?;
    Some((VReg::from_u32(number), sub))
}

impl Parser<'_> {
    fn function(&mut self) -> Result<()> {
        if !self.at_line("function") {
            return self.expected("a function");
        }
        self.skip();
        self.title()?;
        self.reserve()?;
        while !self.at_label() {
            if *self.peek() == Tok::End || self.cursor().token().column == 1 {
                break;
            }
            self.header_line()?;
        }
        self.check_places()?;
        while self.at_label() {
            self.block()?;
        }
        if *self.peek() == Tok::End || self.at_line("function") {
            return Ok(());
        }
        self.expected("a block or a function")
    }

    fn title(&mut self) -> Result<()> {
        let name = match self.peek().clone() {
            Tok::Word(name) | Tok::Str(name) => name,
            _ => return self.expected("a name"),
        };
        self.skip();
        let (mut source, mut call_conv) = (Func::from_u32(0), CallConv::Kernel);
        let mut wave = WaveSize::default();
        let mut reached = Stage::default();
        while self.eat(',') {
            if let Some(stage) = Stage::ALL.into_iter().find(|stage| self.eat_word(stage.word())) {
                reached = stage;
            } else if self.eat_word("wave32") {
                wave = WaveSize::W32;
            } else if self.eat_word("source") {
                source = self.func()?;
            } else if self.eat_word("cc") {
                call_conv = CallConv::Other(self.number()?);
            } else {
                let find = |word: &str| CALL_CONVS.iter().find(|(_, w)| *w == word).map(|(conv, _)| *conv);
                call_conv = self.required("a calling convention, 'wave32', 'source' or a stage", find)?;
            }
        }
        self.f = Function { wave, ..Function::new(name, call_conv, source) };
        self.f.stage = reached;
        Ok(())
    }

    /// Makes the registers and blocks whose numbers the function's text has.
    fn reserve(&mut self) -> Result<()> {
        let mut classes: Vec<Option<(RegFile, u8)>> = Vec::new();
        let mut named: Vec<(VReg, usize)> = Vec::new();
        let mut blocks = 0;
        let tokens = self.cursor.tokens();
        for (at, token) in tokens.iter().enumerate().skip(self.cursor.at) {
            match &token.tok {
                Tok::Word(word) if token.column == 1 && word == "function" => break,
                Tok::Word(word) => {
                    if let Some(block) = numbered(word, "mbb") {
                        if block >= MAX_BLOCKS {
                            return Err(self.fail_at(at, "number of a block is too large"));
                        }
                        blocks = blocks.max(block + 1);
                    }
                }
                Tok::Local(text) => {
                    let Some((reg, sub)) = local_of(text) else {
                        return Err(self.fail_at(at, "expected the number of a register"));
                    };
                    if reg.index() >= classes.len() {
                        classes.resize(reg.index() + 1, None);
                    }
                    named.push((reg, at));
                    let class = match (tokens.get(at + 1).map(|t| &t.tok), tokens.get(at + 2).map(|t| &t.tok))
                    {
                        (Some(Tok::Punct(':')), Some(Tok::Word(word))) if sub.is_none() => class_of(word),
                        _ => continue,
                    };
                    let Some(class) = class else {
                        return Err(
                            self.fail_at(at + 2, "expected file and width of a register, as s2 or v1")
                        );
                    };
                    if classes[reg.index()].is_some_and(|known| known != class) {
                        return Err(self.fail_at(at, format!("{reg} has another file or width before")));
                    }
                    classes[reg.index()] = Some(class);
                }
                _ => {}
            }
        }
        for (reg, at) in named {
            if classes[reg.index()].is_none() {
                let message = format!("expected file and width of {reg} somewhere, as {reg}:v1");
                return Err(self.fail_at(at, message));
            }
        }
        for class in classes {
            let (file, dwords) = class.unwrap_or(UNNAMED);
            self.f.new_vreg(file, dwords);
        }
        for _ in 0..blocks {
            self.f.blocks.push(BlockData::default());
        }
        self.placed = vec![false; blocks as usize];
        Ok(())
    }

    /// Makes registers up to `count`.
    pub(super) fn vregs(&mut self, count: u32) -> Result<()> {
        if count > MAX_VREGS {
            return Err(self.fail("number of registers is too large"));
        }
        while self.f.vregs.len() < count as usize {
            self.f.new_vreg(UNNAMED.0, UNNAMED.1);
        }
        Ok(())
    }

    /// Makes blocks up to `count`.
    pub(super) fn blocks(&mut self, count: u32) -> Result<()> {
        if count > MAX_BLOCKS {
            return Err(self.fail("number of blocks is too large"));
        }
        while self.f.blocks.len() < count as usize {
            self.f.blocks.push(BlockData::default());
        }
        Ok(())
    }

    fn at_label(&self) -> bool {
        let token = self.cursor.token();
        token.column == 1 && matches!(&token.tok, Tok::Word(word) if block_of(word).is_some())
    }

    /// Whether the next token is on `line`.
    pub(super) fn is_on(&self, line: u32) -> bool {
        let token = self.cursor.token();
        token.line == line && token.tok != Tok::End
    }

    pub(super) fn line(&self) -> u32 {
        self.cursor.token().line
    }

    fn block(&mut self) -> Result<()> {
        let at = self.cursor.at;
        let block = self.required("a block", block_of)?;
        if std::mem::replace(&mut self.placed[block.index()], true) {
            return Err(self.fail_at(at, format!("{block} is there twice")));
        }
        let mut data = BlockData::default();
        if self.eat('(') {
            let (vparams, sparams) = self.registers()?;
            (data.vparams, data.sparams) = (vparams.into_vec(), sparams.into_vec());
        }
        if self.eat(',') {
            self.keyword("depth")?;
            data.loop_depth = self.number()?;
        }
        self.expect(':')?;
        while !self.terminator(&mut data)? {
            if self.cursor.token().column == 1 || *self.peek() == Tok::End {
                return self.expected("an instruction or a terminator");
            }
            let head = self.eat_word("head");
            let tail = !head && self.eat_word("tail");
            let count = data.insts.len() as u32;
            if head && data.head_len != count {
                return Err(self.fail("the head of a block is at its start"));
            }
            if !tail && data.tail_start != count {
                return Err(self.fail("the tail of a block is at its end"));
            }
            data.insts.push(self.inst()?);
            data.head_len += u32::from(head);
            data.tail_start += u32::from(!tail);
        }
        self.f.blocks[block] = data;
        self.f.layout.push(block);
        if !has_wave_graph(&self.f, block) {
            let data = &mut self.f.blocks[block];
            data.thread_sargs.resize(data.thread_succs.len(), SmallVec::new());
        }
        Ok(())
    }

    /// Registers before and behind the bar, up to the closing bracket.
    fn registers(&mut self) -> Result<(SmallVec<[VReg; 4]>, SmallVec<[VReg; 4]>)> {
        let mut lists = [SmallVec::new(), SmallVec::new()];
        let mut which = 0;
        while !self.eat(')') {
            if which == 0 && self.eat('|') {
                which = 1;
                continue;
            }
            lists[which].push(self.vreg()?);
            let closed = *self.peek() == Tok::Punct(')') || which == 0 && *self.peek() == Tok::Punct('|');
            if !closed {
                self.expect(',')?;
            }
        }
        let [vector, scalar] = lists;
        Ok((vector, scalar))
    }

    /// A register as a whole, with or without its class, which is known by now.
    pub(super) fn vreg(&mut self) -> Result<VReg> {
        match self.peek() {
            Tok::Local(text) => match local_of(text) {
                Some((reg, None)) => {
                    self.skip();
                    if self.eat(':') {
                        self.skip();
                    }
                    Ok(reg)
                }
                _ => self.expected("a whole register"),
            },
            _ => self.expected("a register"),
        }
    }

    /// A register or a part of it, as an operand.
    pub(super) fn virtual_operand(&mut self) -> Result<Operand> {
        let Tok::Local(text) = self.peek() else { return self.expected("a register") };
        let Some((reg, sub)) = local_of(text) else { return self.expected("a register") };
        let known = self.f.vregs.get(reg).map_or(UNNAMED, |data| (data.file, data.dwords));
        self.skip();
        let class = if self.eat(':') {
            self.required("file and width of a register, as s2 or v1", class_of)?
        } else if sub.is_some() {
            return self.expected("':' and the width of the part");
        } else {
            known
        };
        if class.0 != known.0 {
            return Err(self.fail(format!("{reg} is in the other file")));
        }
        Ok(Operand::sub(reg, sub.unwrap_or(0), class.1))
    }

    /// The terminator with its edges, if it comes next.
    fn terminator(&mut self, data: &mut BlockData) -> Result<bool> {
        let line = self.line();
        let wave = self.eat_word("wave");
        data.term = if let Some(condition) = self.one_of(Condition::from_word) {
            Terminator::Uniform(condition)
        } else if self.eat_word("divergent") {
            Terminator::Divergent(self.vreg()?)
        } else {
            let plain = self.one_of(|word| {
                Some(match word {
                    "jump" => Terminator::Jump,
                    "end" => Terminator::EndProgram,
                    "return" => Terminator::Return,
                    "unreachable" => Terminator::Unreachable,
                    _ => return None,
                })
            });
            match plain {
                Some(term) => term,
                None if wave => return self.expected("a terminator"),
                None => return Ok(false),
            }
        };
        if wave {
            if self.is_on(line) && *self.peek() == Tok::Punct('-') {
                for (block, args, bar) in self.edges(line)? {
                    if !bar.is_empty() {
                        return Err(self.fail("edges of the wave graph have no bar"));
                    }
                    data.wave_succs.push(Edge { block, args });
                }
            }
            if !self.is_on(line) {
                return Ok(true);
            }
            self.keyword("thread")?;
        }
        if wave || self.is_on(line) {
            for (block, args, sargs) in self.edges(line)? {
                data.thread_succs.push(Edge { block, args });
                data.thread_sargs.push(sargs);
            }
            if (wave || self.f.is_linear()) && data.thread_sargs.iter().all(|args| args.is_empty()) {
                data.thread_sargs.clear();
            }
        }
        if self.is_on(line) { self.expected("the end of the line") } else { Ok(true) }
    }

    /// What stands behind an arrow: blocks with arguments before and behind the bar.
    fn edges(&mut self, line: u32) -> Result<Vec<(Block, SmallVec<[VReg; 4]>, SmallVec<[VReg; 4]>)>> {
        self.expect('-')?;
        self.expect('>')?;
        let mut edges = Vec::new();
        loop {
            let block = self.required("a block", block_of)?;
            let opens = self.is_on(line) && self.eat('(');
            let (args, sargs) = if opens { self.registers()? } else { Default::default() };
            edges.push((block, args, sargs));
            if !(self.is_on(line) && self.eat(',')) {
                return Ok(edges);
            }
        }
    }
}

/// File and width of a register that nothing names.
const UNNAMED: (RegFile, u8) = (RegFile::Sgpr, 1);

/// The block called `word`.
pub(super) fn block_of(word: &str) -> Option<Block> {
    numbered(word, "mbb").map(Block::from_u32)
}
