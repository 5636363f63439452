//! Reads what stands before the code of a machine function.

use super::parse::Parser;
use super::{ENTRY_VALUES, VREG_FLAGS};
use crate::Result;
use crate::abi::kernarg;
use crate::ir::{AddrSpace, Func, Global, SourceLoc, SymbolRef};
use crate::machine::*;
use crate::target::ScratchAccess;
use crate::text::{Reader, Tok, flag_of, numbered, read_lds};
use cranelift_entity::EntityRef;

impl Parser<'_> {
    /// One line of the header.
    pub(super) fn header_line(&mut self) -> Result<()> {
        let at = self.cursor().at;
        let line = self.line();
        let Tok::Word(word) = self.next() else {
            return Err(self.fail_at(at, "expected a line of the header or a block"));
        };
        if let Some(flag) = flag_of(&VREG_FLAGS, &word) {
            self.items(|p| {
                let reg = p.vreg()?;
                p.f.vregs[reg].flags |= flag;
                Ok(())
            })?;
        } else if let Some(slot) = numbered(&word, "slot") {
            self.slot(at, slot)?;
        } else if let Some(symbol) = numbered(&word, "sym") {
            self.in_order(at, symbol, self.f.symbols.len())?;
            self.expect('=')?;
            let symbol = self.symbol()?;
            self.f.symbols.push(symbol);
        } else {
            self.property(&word, at)?;
        }
        if self.is_on(line) { self.expected("the end of the line") } else { Ok(()) }
    }

    fn property(&mut self, word: &str, at: usize) -> Result<()> {
        match word {
            "vregs" => {
                let count = self.number()?;
                self.vregs(count)?;
            }
            "blocks" => {
                let count = self.number()?;
                self.blocks(count)?;
            }
            "hints" => self.items(|p| {
                let reg = p.vreg()?;
                p.expect('=')?;
                p.f.vregs[reg].hint = Some(p.preg()?);
                Ok(())
            })?,
            "declare" => self.items(|p| p.vreg().map(|_| ()))?,
            "called" => self.f.entry.called = true,
            "not_called" => self.f.entry.called = false,
            "arguments_end" => self.f.entry.layout.arguments_end = self.number()?,
            "wave_offset" => self.f.entry.layout.wave_offset = Some(self.preg()?),
            "builds_scratch" => self.f.entry.layout.builds_scratch = true,
            "scratch_resource" => self.f.entry.layout.resource = Some(self.preg()?),
            "entry" => self.entry()?,
            "kernarg" => {
                self.f.kernarg.size_bytes = self.number()?;
                self.keyword("bytes")?;
                self.keyword("align")?;
                self.f.kernarg.align_bytes = self.number()?;
                self.keyword("hidden")?;
                self.keyword("at")?;
                self.f.kernarg.implicit_offset = self.number()?;
            }
            "args" => self.items(Self::argument)?,
            "lds" => self.f.lds = read_lds(self, |p| p.global())?,
            "locs" => self.items(|p| {
                let file = p.number()?;
                p.expect(':')?;
                let line = p.number()?;
                p.expect(':')?;
                let column = p.number()?;
                p.f.locs.push(SourceLoc { file, line, column });
                Ok(())
            })?,
            "uses_flat_scratch" => self.f.uses_flat_scratch = true,
            "max_flat_workgroup_size" => self.f.max_flat_workgroup_size = self.number()?,
            "resources" => self.resources()?,
            "result_dwords" => self.f.result_dwords = self.number()?,
            "shader_results" => self.items(|p| {
                let reg = p.preg()?;
                p.f.shader_results.push(reg);
                Ok(())
            })?,
            "frame_base" => self.f.frame_base = Some(self.preg()?),
            "scratch_instructions" => self.f.scratch = ScratchAccess::Scratch,
            "dynamic_stack" => self.f.dynamic_stack = true,
            "saves_from" => match self.preg()?.vgpr_index() {
                Some(first) => self.f.saves_from = Some(first),
                None => return Err(self.fail_at(at, "expected a VGPR")),
            },
            "whole_wave_vgprs" => self.items(|p| {
                let reg = p.preg()?;
                p.f.whole_wave_vgprs.push(reg);
                Ok(())
            })?,
            "call" => self.call_site()?,
            "asm" => self.asm_site()?,
            "inside" => {
                let inst = self.inst()?;
                match self.f.asm_sites.last_mut() {
                    Some(site) => site.inside.push(inst),
                    None => return Err(self.fail_at(at, "expected an 'asm' before")),
                }
            }
            _ => return Err(self.fail_at(at, "expected a line of the header or a block")),
        }
        Ok(())
    }

    /// One or more, with commas between them.
    fn items(&mut self, mut each: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        loop {
            each(self)?;
            if !self.eat(',') {
                return Ok(());
            }
        }
    }

    /// Entities stand in the order of their numbers.
    fn in_order(&self, at: usize, number: u32, next: usize) -> Result<()> {
        if number as usize == next {
            Ok(())
        } else {
            Err(self.fail_at(at, format!("expected number {next}")))
        }
    }

    fn slot(&mut self, at: usize, slot: u32) -> Result<()> {
        self.in_order(at, slot, self.f.frame.len())?;
        self.expect(':')?;
        let size_bytes = self.number()?;
        self.keyword("bytes")?;
        self.keyword("align")?;
        let align_log2 = self.align_log2()?;
        let offset_bytes = if self.eat_word("at") { Some(self.number()?) } else { None };
        self.f.frame.push(FrameSlotData { size_bytes, align_log2, offset_bytes });
        Ok(())
    }

    /// A function or variable by its number.
    fn symbol(&mut self) -> Result<SymbolRef> {
        let Tok::Numbered(text) = self.peek() else { return self.expected("a symbol, as #fn3 or #global0") };
        let func = numbered(text, "fn").map(|n| SymbolRef::Func(Func::from_u32(n)));
        let symbol =
            func.or_else(|| numbered(text, "global").map(|n| SymbolRef::Global(Global::from_u32(n))));
        let exists = match (symbol, self.module) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(SymbolRef::Func(func)), Some(module)) => func.index() < module.functions.len(),
            (Some(SymbolRef::Global(global)), Some(module)) => global.index() < module.globals.len(),
        };
        match symbol.filter(|_| exists) {
            Some(symbol) => {
                self.skip();
                Ok(symbol)
            }
            None => self.expected("a symbol of the module"),
        }
    }

    pub(super) fn func(&mut self) -> Result<Func> {
        let at = self.cursor().at;
        match self.symbol()? {
            SymbolRef::Func(func) => Ok(func),
            SymbolRef::Global(_) => Err(self.fail_at(at, "expected a function")),
        }
    }

    fn global(&mut self) -> Result<Global> {
        let at = self.cursor().at;
        match self.symbol()? {
            SymbolRef::Global(global) => Ok(global),
            SymbolRef::Func(_) => Err(self.fail_at(at, "expected a variable")),
        }
    }

    fn entry(&mut self) -> Result<()> {
        let mut reg = None;
        if matches!(self.peek(), Tok::Local(_)) {
            reg = Some(self.vreg()?);
            self.expect('=')?;
        }
        let value = if self.eat_word("argument") {
            EntryValue::Argument(self.preg()?)
        } else {
            self.required("a value at the entry", |word| flag_of(&ENTRY_VALUES, word))?
        };
        if self.f.entry.contains(value) {
            return Err(self.fail("this value is there already"));
        }
        self.f.entry.request(value, reg);
        if self.eat_word("in") {
            let at = self.cursor().at;
            let place = self.physical()?;
            self.places.push((value, place, at));
        }
        Ok(())
    }

    /// Compares the registers stated for values at the entry with those that follow from all of them.
    pub(super) fn check_places(&mut self) -> Result<()> {
        let places = std::mem::take(&mut self.places);
        if places.is_empty() {
            return Ok(());
        }
        let registers = self.f.entry.registers();
        for (value, stated, at) in places {
            let found = registers.iter().find(|(v, ..)| *v == value).map(|(_, reg, _)| *reg);
            if found.map(Reg::from) != Some(stated.reg) || stated.dwords != value.dwords() {
                let place = found.map_or("no register".to_owned(), |reg| format!("{reg}"));
                return Err(self.fail_at(at, format!("expected {place}, where this value is")));
            }
        }
        Ok(())
    }

    fn argument(&mut self) -> Result<()> {
        let param = if self.eat_word("hidden") { None } else { Some(self.number()?) };
        self.expect(':')?;
        let size_bytes = self.number()?;
        self.keyword("bytes")?;
        self.keyword("at")?;
        let offset_bytes = self.number()?;
        let value_kind = self.required("a kind of argument", kernarg::value_kind_named)?;
        let space = if self.eat_word("space") { Some(AddrSpace(self.number()?)) } else { None };
        let pointee_align = if self.eat_word("pointee_align") { self.number()? } else { 0 };
        self.f.kernarg.args.push(KernelArg {
            param,
            value_kind,
            offset_bytes,
            size_bytes,
            pointee_align,
            space,
        });
        Ok(())
    }

    fn resources(&mut self) -> Result<()> {
        let mut resources = Resources::default();
        while let Tok::Word(word) = self.peek() {
            let slot = match word.as_str() {
                "sgprs" => &mut resources.sgprs,
                "vgprs" => &mut resources.vgprs,
                "sgpr_spills" => &mut resources.sgpr_spills,
                "vgpr_spills" => &mut resources.vgpr_spills,
                "scratch_bytes" => &mut resources.scratch_bytes,
                "vcc" => {
                    resources.vcc = true;
                    self.skip();
                    continue;
                }
                "flat_scratch" => {
                    resources.flat_scratch = true;
                    self.skip();
                    continue;
                }
                _ => break,
            };
            self.skip();
            *slot = self.number()?;
        }
        self.f.resources = resources;
        Ok(())
    }

    fn call_site(&mut self) -> Result<()> {
        let at = self.cursor().at;
        let number = self.number()?;
        self.in_order(at, number, self.f.calls.len())?;
        self.expect(':')?;
        let mut call = CallSite::default();
        if matches!(self.peek(), Tok::Numbered(_)) {
            call.callee = Some(self.func()?);
        }
        call.graphics = self.eat_word("graphics");
        call.tail = self.eat_word("tail");
        if self.eat_word("result_dwords") {
            call.result_dwords = self.number()?;
        }
        if self.eat_word("stack_bytes") {
            call.stack_bytes = self.number()?;
        }
        if self.eat_word("changes") {
            call.changes = Some(Box::new(self.reg_set()?));
        }
        if self.eat_word("reads") {
            self.items(|p| {
                call.reads.push(p.preg()?);
                Ok(())
            })?;
        }
        self.f.calls.push(call);
        Ok(())
    }

    /// Tuples of registers, or `none`.
    fn reg_set(&mut self) -> Result<RegSet> {
        let mut set = RegSet::default();
        if self.eat_word("none") {
            return Ok(set);
        }
        self.items(|p| {
            let tuple = p.physical()?;
            if let Reg::Physical(first) = tuple.reg {
                set.insert_tuple(first, tuple.dwords.into());
            }
            Ok(())
        })?;
        Ok(set)
    }

    fn asm_site(&mut self) -> Result<()> {
        let at = self.cursor().at;
        let number = self.number()?;
        self.in_order(at, number, self.f.asm_sites.len())?;
        self.expect(':')?;
        let text = self.string()?;
        let named_sgprs = if self.eat_word("named_sgprs") { self.number()? } else { 0 };
        let pure = self.eat_word("pure");
        let opaque = self.eat_word("opaque");
        let mut arguments = Vec::new();
        self.expect('(')?;
        self.list(')', |p| {
            arguments.push(match p.peek() {
                Tok::Str(_) => AsmArgument::Text(p.string()?),
                Tok::Number(_) => AsmArgument::Number(p.number()?),
                _ => {
                    p.keyword("operand")?;
                    AsmArgument::Operand(p.number()?)
                }
            });
            Ok(())
        })?;
        self.f.asm_sites.push(AsmSite { text, arguments, named_sgprs, pure, opaque, inside: Vec::new() });
        Ok(())
    }
}
