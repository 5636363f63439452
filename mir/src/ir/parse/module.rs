//! Reads what stands between functions.

use super::*;
use crate::ir::PalMetadata;
use crate::text::read_lds;

impl Parser {
    pub(super) fn module(&mut self) -> Result<()> {
        let mut functions = 0;
        loop {
            if *self.peek() == Tok::End || self.at_line("function") {
                return Ok(());
            }
            let at = self.cursor.at;
            let word = self.word()?;
            match word.as_str() {
                "type" => {
                    self.ty()?;
                }
                "module" => self.module.name = self.string()?,
                "triple" => self.module.triple = self.string()?,
                "module_asm" => self.module.inline_asm = self.string()?,
                "code_object_version" => self.module.code_object_version_flag = Some(self.number()?),
                "opencl_version" => self.module.opencl_version = Some([self.number()?, self.number()?]),
                "openmp" => self.module.is_openmp = true,
                "ident" => {
                    let text = self.string()?;
                    self.module.idents.push(text);
                }
                "printf_format" => {
                    let text = self.string()?;
                    self.module.printf_formats.push(text);
                }
                "pal_register" => {
                    let pair = (self.number()?, self.number()?);
                    match self.module.pal_metadata.get_or_insert_with(|| PalMetadata::Registers(Vec::new())) {
                        PalMetadata::Registers(pairs) => pairs.push(pair),
                        PalMetadata::MsgPack(_) => return Err(self.fail("pipeline metadata in two forms")),
                    }
                }
                "pal_bytes" => {
                    let count: u32 = self.number()?;
                    let bytes = (0..count).map(|_| self.number()).collect::<Result<Vec<u8>>>()?;
                    match self.module.pal_metadata.get_or_insert_with(|| PalMetadata::MsgPack(Vec::new())) {
                        PalMetadata::MsgPack(all) => all.extend(bytes),
                        PalMetadata::Registers(_) => return Err(self.fail("pipeline metadata in two forms")),
                    }
                }
                "file" => {
                    let text = self.string()?;
                    self.module.files.push(text);
                }
                "global" => self.global()?,
                "alias" => self.alias()?,
                "used" => {
                    let symbol = self.symbol()?;
                    self.module.used.push(symbol);
                }
                "define" | "declare" => {
                    let function = self.function(word == "define")?;
                    if let Some(slot) = self.module.functions.get_mut(Func::from_u32(functions)) {
                        *slot = function;
                    }
                    functions += 1;
                }
                "lds" => {
                    let func = self.function_symbol()?;
                    let lds = read_lds(self, |p| match p.symbol()? {
                        SymbolRef::Global(global) => Ok(global),
                        SymbolRef::Func(_) => p.expected("a variable"),
                    })?;
                    self.module.lds.insert(func, lds);
                }
                _ => return Err(self.fail_at(at, "expected a definition")),
            }
        }
    }

    pub(super) fn linkage(&mut self) -> (Linkage, Visibility) {
        let linkage = self.one_of(Linkage::from_word).unwrap_or(Linkage::External);
        (linkage, self.one_of(Visibility::from_word).unwrap_or(Visibility::Default))
    }

    fn global(&mut self) -> Result<()> {
        let name = self.symbol_name()?;
        let (linkage, visibility) = self.linkage();
        let space = self.space()?;
        let is_constant = self.eat_word("constant");
        self.keyword("size")?;
        let size_bytes = self.number()?;
        self.keyword("align")?;
        let align_log2 = self.align_log2()?;
        let section = if self.eat_word("section") { self.string()? } else { String::new() };
        let init = if self.eat_word("init") { Some(self.initializer()?) } else { None };
        let data = GlobalData {
            name,
            linkage,
            visibility,
            space,
            size_bytes,
            align_log2,
            is_constant,
            section,
            init,
        };
        self.module.globals.push(data);
        Ok(())
    }

    fn initializer(&mut self) -> Result<Initializer> {
        let mut init = Initializer::default();
        let hex = self.string()?;
        for pair in hex.as_bytes().chunks(2) {
            let byte = std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
            init.bytes.push(byte.ok_or_else(|| self.fail("expected hexadecimal bytes"))?);
        }
        if self.eat('[') {
            self.list(']', |p| {
                let offset_bytes = p.number()?;
                p.expect(':')?;
                let width_bytes = p.number()?;
                let is_relative = p.eat_word("relative");
                let symbol = p.symbol()?;
                p.expect('+')?;
                let addend = p.number()?;
                let relocation =
                    InitializerRelocation { offset_bytes, width_bytes, symbol, addend, is_relative };
                init.relocations.push(relocation);
                Ok(())
            })?;
        }
        Ok(init)
    }

    fn alias(&mut self) -> Result<()> {
        let name = self.symbol_name()?;
        let (linkage, visibility) = self.linkage();
        self.expect('=')?;
        let target = self.symbol()?;
        self.expect('+')?;
        let offset = self.number()?;
        self.module.aliases.push(Alias { name, linkage, visibility, target, offset });
        Ok(())
    }
}
