//! The text form of the IR, read: what [`Module`]'s `Display` writes, so that a test can start at any step.
//!
//! One pass makes tokens, one registers symbols, one builds. Numbers of values and blocks in the text become the
//! entities' own; numbers that the text leaves out become entities that nothing uses. Nesting of types and constants is
//! limited, everything else is linear. The result is well formed as a table, and no more: [`super::verify`] judges it.

use super::lex::{Tok, Token, error, tokens};
use super::text::*;
use super::*;
use crate::{Diagnostic, Result};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Deepest nesting of types and constants.
const MAX_DEPTH: u32 = 250;

/// Largest number of a value or block; the tables are as long.
const MAX_ENTITY: u32 = 1 << 26;

/// Parses the text form of a module. `name` is for messages.
///
/// Errors: `Malformed` with line and column.
pub fn parse_module(text: &str, name: &str) -> Result<Module> {
    let mut parser = Parser {
        tokens: tokens(text, name)?,
        at: 0,
        file: name.to_owned(),
        module: Module::default(),
        symbols: FxHashMap::default(),
        depth: 0,
        defined: Vec::new(),
        used: Vec::new(),
    };
    parser.register();
    parser.module()?;
    Ok(parser.module)
}

/// The number behind `prefix` in `word`, if that is all there is.
fn numbered(word: &str, prefix: &str) -> Option<u32> {
    let digits = word.strip_prefix(prefix)?;
    if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    file: String,
    module: Module,
    symbols: FxHashMap<String, SymbolRef>,
    depth: u32,
    /// Values of the current function that have a definition.
    defined: Vec<bool>,
    /// Uses in the current function, with their tokens.
    used: Vec<(Value, usize)>,
}

impl Parser {
    // Tokens.

    fn peek(&self) -> &Tok {
        &self.tokens[self.at].tok
    }

    fn next(&mut self) -> Tok {
        let tok = self.tokens[self.at].tok.clone();
        if tok != Tok::End {
            self.at += 1;
        }
        tok
    }

    fn fail(&self, message: impl Into<String>) -> Box<Diagnostic> {
        self.fail_at(self.at, message)
    }

    fn fail_at(&self, at: usize, message: impl Into<String>) -> Box<Diagnostic> {
        let token = &self.tokens[at.min(self.tokens.len() - 1)];
        error(&self.file, token.line, token.column, message)
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        Err(self.fail(format!("expected {what}")))
    }

    fn eat(&mut self, punct: char) -> bool {
        let found = *self.peek() == Tok::Punct(punct);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, punct: char) -> Result<()> {
        if self.eat(punct) { Ok(()) } else { self.expected(&format!("'{punct}'")) }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Tok::Word(w) if w == word);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self) -> Result<String> {
        match self.peek() {
            Tok::Word(word) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => self.expected("a word"),
        }
    }

    fn string(&mut self) -> Result<String> {
        match self.peek() {
            Tok::Str(text) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => self.expected("a string"),
        }
    }

    fn number<T: TryFrom<i128>>(&mut self) -> Result<T> {
        match *self.peek() {
            Tok::Number(number) => match T::try_from(number) {
                Ok(number) => {
                    self.at += 1;
                    Ok(number)
                }
                Err(_) => Err(self.fail("number out of range")),
            },
            _ => self.expected("a number"),
        }
    }

    /// Consumes a word that `from_word` knows.
    fn one_of<T>(&mut self, from_word: impl Fn(&str) -> Option<T>) -> Option<T> {
        let Tok::Word(word) = self.peek() else { return None };
        let found = from_word(word)?;
        self.at += 1;
        Some(found)
    }

    fn required<T>(&mut self, what: &str, from_word: impl Fn(&str) -> Option<T>) -> Result<T> {
        match self.one_of(from_word) {
            Some(found) => Ok(found),
            None => self.expected(what),
        }
    }

    /// `each` until `close`, separated by commas.
    fn list(&mut self, close: char, mut each: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if self.eat(close) {
            return Ok(());
        }
        loop {
            each(self)?;
            if self.eat(close) {
                return Ok(());
            }
            self.expect(',')?;
        }
    }

    fn align_log2(&mut self) -> Result<u8> {
        let bytes: u64 = self.number()?;
        if bytes.is_power_of_two() { Ok(bytes.ilog2() as u8) } else { self.expected("a power of two") }
    }

    fn loc(&mut self) -> Result<SourceLoc> {
        Ok(SourceLoc { file: self.number()?, line: self.number()?, column: self.number()? })
    }

    // Symbols and types.

    fn register(&mut self) {
        let (mut functions, mut globals) = (0, 0);
        for (at, token) in self.tokens.iter().enumerate() {
            let Tok::Word(word) = &token.tok else { continue };
            if token.column != 1 {
                continue;
            }
            let symbol = match word.as_str() {
                "define" | "declare" => {
                    functions += 1;
                    SymbolRef::Func(Func::from_u32(functions - 1))
                }
                "global" => {
                    globals += 1;
                    SymbolRef::Global(Global::from_u32(globals - 1))
                }
                // The labels of blocks stand there too.
                _ => continue,
            };
            let mut rest = self.tokens[at + 1..].iter();
            let name = rest.find_map(|t| if let Tok::Symbol(name) = &t.tok { Some(name) } else { None });
            if let Some(name) = name {
                self.symbols.entry(name.clone()).or_insert(symbol);
            }
        }
        for _ in 0..functions {
            self.module.functions.push(Function::new("", CallConv::Device, Type::Void));
        }
    }

    fn symbol(&mut self) -> Result<SymbolRef> {
        let found = match self.peek() {
            Tok::Symbol(name) => self.symbols.get(name).copied(),
            Tok::Numbered(text) => {
                let func = numbered(text, "fn").map(|n| SymbolRef::Func(Func::from_u32(n)));
                func.or_else(|| numbered(text, "global").map(|n| SymbolRef::Global(Global::from_u32(n))))
            }
            _ => None,
        };
        match found {
            Some(symbol) => {
                self.at += 1;
                Ok(symbol)
            }
            None => self.expected("a symbol of the module"),
        }
    }

    fn symbol_name(&mut self) -> Result<String> {
        match self.next() {
            Tok::Symbol(name) => Ok(name),
            _ => {
                self.at = self.at.saturating_sub(1);
                self.expected("@name")
            }
        }
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        let result = if self.depth > MAX_DEPTH { Err(self.fail("nested too deeply")) } else { inner(self) };
        self.depth -= 1;
        result
    }

    fn space(&mut self) -> Result<AddrSpace> {
        if !self.eat_word("addrspace") {
            return Ok(AddrSpace::FLAT);
        }
        self.expect('(')?;
        let space = AddrSpace(self.number()?);
        self.expect(')')?;
        Ok(space)
    }

    fn ty(&mut self) -> Result<Type> {
        if self.eat('<') {
            if self.eat('{') {
                let ty = self.nested(|p| p.fields(true))?;
                self.expect('>')?;
                return Ok(ty);
            }
            let lanes = self.number()?;
            if !self.eat_word("x") {
                return self.expected("'x'");
            }
            let Type::Scalar(scalar) = self.ty_scalar()? else { return self.expected("a scalar type") };
            self.expect('>')?;
            return Ok(Type::Vector(scalar, lanes));
        }
        if self.eat('{') {
            return self.nested(|p| p.fields(false));
        }
        if self.eat('[') {
            let len = self.number()?;
            if !self.eat_word("x") {
                return self.expected("'x'");
            }
            let element = self.nested(Self::ty)?;
            self.expect(']')?;
            return Ok(self.module.types.array_of(element, len));
        }
        self.ty_scalar()
    }

    fn fields(&mut self, packed: bool) -> Result<Type> {
        let mut fields = Vec::new();
        self.list('}', |p| {
            let field = p.ty()?;
            fields.push(field);
            Ok(())
        })?;
        Ok(self.module.types.struct_of(&fields, packed))
    }

    fn ty_scalar(&mut self) -> Result<Type> {
        let float = |float| Some(Type::Scalar(Scalar::Float(float)));
        let ty = self.required("a type", |word| match word {
            "void" => Some(Type::Void),
            "half" => float(Float::Half),
            "bfloat" => float(Float::BFloat),
            "float" => float(Float::Single),
            "double" => float(Float::Double),
            "ptr" => Some(Type::ptr(AddrSpace::FLAT)),
            _ => numbered(word, "i").filter(|bits| (1..=1 << 23).contains(bits)).map(Type::int),
        })?;
        if ty == Type::ptr(AddrSpace::FLAT) { Ok(Type::ptr(self.space()?)) } else { Ok(ty) }
    }

    // Module level.

    fn module(&mut self) -> Result<()> {
        let mut functions = 0;
        loop {
            let at = self.at;
            let Tok::Word(word) = self.next() else {
                self.at = at;
                return if *self.peek() == Tok::End { Ok(()) } else { self.expected("a word") };
            };
            match word.as_str() {
                "module" => self.module.name = self.string()?,
                "triple" => self.module.triple = self.string()?,
                "module_asm" => self.module.inline_asm = self.string()?,
                "code_object_version" => self.module.code_object_version_flag = Some(self.number()?),
                "opencl_version" => self.module.opencl_version = Some([self.number()?, self.number()?]),
                "ident" => {
                    let text = self.string()?;
                    self.module.idents.push(text);
                }
                "printf_format" => {
                    let text = self.string()?;
                    self.module.printf_formats.push(text);
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
                    let function = self.function()?;
                    if let Some(slot) = self.module.functions.get_mut(Func::from_u32(functions)) {
                        *slot = function;
                    }
                    functions += 1;
                }
                _ => {
                    self.at = at;
                    return self.expected("a definition");
                }
            }
        }
    }

    fn linkage(&mut self) -> (Linkage, Visibility) {
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

    fn keyword(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("'{word}'")) }
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
                let symbol = p.symbol()?;
                p.expect('+')?;
                let addend = p.number()?;
                init.relocations.push(InitializerRelocation { offset_bytes, width_bytes, symbol, addend });
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

    // Functions.

    fn function(&mut self) -> Result<Function> {
        let is_definition = matches!(&self.tokens[self.at - 1].tok, Tok::Word(word) if word == "define");
        let call_conv = if self.eat_word("cc") {
            CallConv::Other(self.number()?)
        } else {
            let find = |word: &str| CALL_CONVS.iter().find(|(_, w)| *w == word).map(|(conv, _)| *conv);
            self.required("a calling convention", find)?
        };
        let ret = self.ty()?;
        let mut function = Function::new(self.symbol_name()?, call_conv, ret);
        self.reserve(&mut function)?;
        self.expect('(')?;
        self.list_of_params(&mut function)?;
        self.attributes(&mut function)?;
        if !is_definition {
            return Ok(function);
        }
        self.expect('{')?;
        let mut block = None;
        while !self.eat('}') {
            let label = match self.peek() {
                Tok::Word(word) => numbered(word, "block"),
                _ => None,
            };
            if label.is_some() {
                block = Some(self.block(&mut function)?);
                continue;
            }
            let Some(block) = block else { return self.expected("a block") };
            let inst = self.inst(&mut function)?;
            function.blocks[block].insts.push(inst);
        }
        for (value, at) in std::mem::take(&mut self.used) {
            if !self.defined[value.as_u32() as usize] {
                return Err(self.fail_at(at, format!("{value} has no definition")));
            }
        }
        Ok(function)
    }

    /// Makes the values and blocks whose numbers the function's text has.
    fn reserve(&mut self, function: &mut Function) -> Result<()> {
        let (mut values, mut blocks) = (0, 0);
        for token in &self.tokens[self.at..] {
            let Tok::Word(word) = &token.tok else { continue };
            if token.column == 1 && matches!(word.as_str(), "define" | "declare") {
                break;
            }
            values = values.max(numbered(word, "v").map_or(0, |n| n.saturating_add(1)));
            blocks = blocks.max(numbered(word, "block").map_or(0, |n| n.saturating_add(1)));
        }
        if values > MAX_ENTITY || blocks > MAX_ENTITY {
            return Err(self.fail("number of a value or block is too large"));
        }
        for _ in 0..values {
            function.values.push(ValueData { ty: Type::I1, def: ValueDef::Const(Const::Poison) });
        }
        for _ in 0..blocks {
            function.blocks.push(BlockData::default());
        }
        self.used.clear();
        self.defined = vec![false; values as usize];
        Ok(())
    }

    fn value_name(&mut self) -> Result<Value> {
        self.required("a value", |word| numbered(word, "v").map(Value::from_u32))
    }

    /// A value at its definition.
    fn define(&mut self, function: &mut Function, value: Value, ty: Type, def: ValueDef) -> Result<()> {
        if std::mem::replace(&mut self.defined[value.as_u32() as usize], true) {
            return Err(self.fail(format!("{value} is defined twice")));
        }
        function.values[value] = ValueData { ty, def };
        Ok(())
    }

    fn list_of_params(&mut self, function: &mut Function) -> Result<()> {
        if self.eat_word("...") {
            function.variadic = true;
            return self.expect(')');
        }
        self.list(')', |p| {
            let value = p.value_name()?;
            p.expect(':')?;
            let ty = p.ty()?;
            p.define(function, value, ty, ValueDef::FuncParam(function.params.len() as u32))?;
            let mut param = Param {
                value,
                name: String::new(),
                flags: ParamFlags::empty(),
                indirect: None,
                align_log2: 0,
                dereferenceable_bytes: 0,
                register: None,
            };
            while let Some(flag) = p.one_of(|word| flag_of(&PARAM_FLAGS, word)) {
                param.flags |= flag;
            }
            if p.eat_word("align") {
                param.align_log2 = p.align_log2()?;
            }
            if p.eat_word("dereferenceable") {
                param.dereferenceable_bytes = p.number()?;
            }
            for (word, by_value) in [("byval", true), ("byref", false)] {
                if p.eat_word(word) {
                    param.indirect = Some(IndirectParam { ty: p.ty()?, by_value });
                }
            }
            if let Tok::Str(name) = p.peek() {
                param.name = name.clone();
                p.at += 1;
            }
            function.params.push(param);
            function.variadic |= p.eat_word("...");
            Ok(())
        })
    }

    /// What stands between the parameters and the body.
    fn attributes(&mut self, function: &mut Function) -> Result<()> {
        (function.linkage, function.visibility) = self.linkage();
        while let Some(flag) = self.one_of(|word| flag_of(&FUNC_FLAGS, word)) {
            function.flags |= flag;
        }
        if self.eat_word("section") {
            function.section = self.string()?;
        }
        if self.eat_word("loc") {
            function.loc = self.loc()?;
        }
        while let Tok::Str(key) = self.peek() {
            let key = key.clone();
            self.at += 1;
            self.expect('=')?;
            let value = self.string()?;
            function.attributes.insert(key, value);
        }
        let kernel = &mut function.kernel;
        while self.eat_word("kernel_arg") {
            kernel.args.push(KernelArgInfo {
                addr_space: self.number()?,
                name: self.string()?,
                access: self.string()?,
                ty: self.string()?,
                base_ty: self.string()?,
                qualifiers: self.string()?,
            });
        }
        if self.eat_word("reqd_work_group_size") {
            kernel.reqd_work_group_size = Some([self.number()?, self.number()?, self.number()?]);
        }
        if self.eat_word("work_group_size_hint") {
            kernel.work_group_size_hint = Some([self.number()?, self.number()?, self.number()?]);
        }
        if self.eat_word("vec_type_hint") {
            kernel.vec_type_hint = Some(self.string()?);
        }
        if self.eat_word("device_enqueue_symbol") {
            kernel.device_enqueue_symbol = Some(self.string()?);
        }
        Ok(())
    }

    fn block_name(&mut self) -> Result<Block> {
        self.required("a block", |word| numbered(word, "block").map(Block::from_u32))
    }

    fn block(&mut self, function: &mut Function) -> Result<Block> {
        let block = self.block_name()?;
        if self.eat('(') {
            self.list(')', |p| {
                let value = p.value_name()?;
                p.expect(':')?;
                let ty = p.ty()?;
                let index = function.blocks[block].params.len() as u32;
                p.define(function, value, ty, ValueDef::BlockParam(block, index))?;
                function.blocks[block].params.push(value);
                Ok(())
            })?;
        }
        function.blocks[block].no_unroll = self.eat_word("no_unroll");
        self.expect(':')?;
        function.layout.push(block);
        Ok(block)
    }

    // Instructions.

    fn operand(&mut self, function: &mut Function) -> Result<Value> {
        let at = self.at;
        if let Some(value) = self.one_of(|word| numbered(word, "v").map(Value::from_u32)) {
            self.used.push((value, at));
            return Ok(value);
        }
        let ty = self.ty()?;
        let constant = match self.peek().clone() {
            Tok::Number(_) => {
                let bits = self.number::<u64>()?;
                let float = matches!(ty.scalar(), Some(Scalar::Float(_)));
                if float { Const::Float(bits) } else { Const::Int(bits) }
            }
            Tok::Symbol(_) | Tok::Numbered(_) => {
                let symbol = self.symbol()?;
                Const::Symbol(symbol, if self.eat_word("offset") { self.number()? } else { 0 })
            }
            Tok::Word(_) if self.eat_word("wide") => {
                let mut words = Vec::new();
                self.expect('(')?;
                self.list(')', |p| {
                    words.push(p.number()?);
                    Ok(())
                })?;
                Const::Wide(words.into())
            }
            Tok::Punct('(') => {
                self.at += 1;
                let mut members = Vec::new();
                self.nested(|p| {
                    p.list(')', |p| {
                        members.push(p.operand(function)?);
                        Ok(())
                    })
                })?;
                Const::Elements(members.into())
            }
            _ => self.required("a constant", |word| match word {
                "zero" => Some(Const::Zero),
                "undef" => Some(Const::Undef),
                "poison" => Some(Const::Poison),
                _ => None,
            })?,
        };
        Ok(function.constant(ty, constant))
    }

    fn operands<const N: usize>(&mut self, function: &mut Function) -> Result<[Value; N]> {
        let mut out = [Value::from_u32(0); N];
        for (index, slot) in out.iter_mut().enumerate() {
            if index != 0 {
                self.expect(',')?;
            }
            *slot = self.operand(function)?;
        }
        Ok(out)
    }

    fn args(&mut self, function: &mut Function) -> Result<SmallVec<[Value; 4]>> {
        let mut args = SmallVec::new();
        self.expect('(')?;
        self.list(')', |p| {
            args.push(p.operand(function)?);
            Ok(())
        })?;
        Ok(args)
    }

    fn target(&mut self, function: &mut Function) -> Result<Target> {
        let block = self.block_name()?;
        let args = if *self.peek() == Tok::Punct('(') { self.args(function)? } else { SmallVec::new() };
        Ok(Target { block, args })
    }

    fn mem_flags(&mut self) -> MemFlags {
        let mut flags = MemFlags::empty();
        while let Some(flag) = self.one_of(|word| flag_of(&MEM_FLAGS, word)) {
            flags |= flag;
        }
        flags
    }

    fn access(&mut self) -> Result<MemAccess> {
        let space = self.space()?;
        self.keyword("align")?;
        let mut mem = MemAccess::plain(space, self.align_log2()?);
        mem.flags = self.mem_flags();
        if let Some(ordering) = self.one_of(Ordering::from_word) {
            mem.ordering = ordering;
            mem.scope = self.required("a scope", SyncScope::from_word)?;
        }
        Ok(mem)
    }

    fn indices<T: TryFrom<i128>>(&mut self) -> Result<Vec<Option<T>>> {
        let mut out = Vec::new();
        self.expect('[')?;
        self.list(']', |p| {
            out.push(if p.eat_word("_") { None } else { Some(p.number()?) });
            Ok(())
        })?;
        Ok(out)
    }

    fn path(&mut self) -> Result<SmallVec<[u32; 2]>> {
        Ok(self.indices()?.into_iter().flatten().collect())
    }

    fn inst(&mut self, function: &mut Function) -> Result<Inst> {
        let mut result = None;
        if matches!(self.peek(), Tok::Word(word) if numbered(word, "v").is_some()) {
            let value = self.value_name()?;
            self.expect(':')?;
            let ty = self.ty()?;
            self.expect('=')?;
            result = Some((value, ty));
        }
        let mnemonic_at = self.at;
        let mnemonic = self.word()?;
        let mut flags = InstFlags::empty();
        while let Some(flag) = self.one_of(|word| flag_of(&INST_FLAGS, word)) {
            flags |= flag;
        }
        let kind = self.kind(function, &mnemonic, mnemonic_at)?;
        let ty = result.map_or(Type::Void, |(_, ty)| ty);
        let inst = function.insts.push(InstData {
            kind,
            ty,
            flags,
            fpmath_ulp_256: 0,
            result: result.map(|(value, _)| value),
        });
        if let Some((value, ty)) = result {
            self.define(function, value, ty, ValueDef::Inst(inst))?;
        }
        while self.eat('!') {
            if self.eat_word("fpmath") {
                function.insts[inst].fpmath_ulp_256 = self.number()?;
            } else if self.eat_word("align") {
                let aligns = [self.number()?, self.number()?];
                function.mem_aligns.insert(inst, aligns);
            } else if self.eat_word("loc") {
                function.locs[inst] = self.loc()?;
            } else {
                return self.expected("a fact");
            }
        }
        Ok(inst)
    }

    fn kind(&mut self, function: &mut Function, mnemonic: &str, at: usize) -> Result<InstKind> {
        if let Some(op) = BinaryOp::from_word(mnemonic) {
            return Ok(InstKind::Binary { op, args: self.operands(function)? });
        }
        if let Some(op) = CastOp::from_word(mnemonic) {
            return Ok(InstKind::Cast { op, arg: self.operand(function)? });
        }
        if let Some(op) = UnaryOp::from_word(mnemonic) {
            return Ok(InstKind::Unary { op, arg: self.operand(function)? });
        }
        Ok(match mnemonic {
            "icmp" => InstKind::Icmp {
                predicate: self.required("a predicate", IntPredicate::from_word)?,
                args: self.operands(function)?,
            },
            "fcmp" => InstKind::Fcmp {
                predicate: self.required("a predicate", FloatPredicate::from_word)?,
                args: self.operands(function)?,
            },
            "select" => {
                let [cond, if_true, if_false] = self.operands(function)?;
                InstKind::Select { cond, if_true, if_false }
            }
            "ptradd" => {
                let base = self.operand(function)?;
                let (mut index, mut scale) = (None, 0);
                if self.eat(',') {
                    index = Some(self.operand(function)?);
                    self.expect('*')?;
                    scale = self.number()?;
                }
                self.expect('+')?;
                InstKind::PtrAdd { base, index, scale, offset: self.number()? }
            }
            "alloca" => {
                let size_bytes = self.number()?;
                self.keyword("align")?;
                let align_log2 = self.align_log2()?;
                let count = if self.eat(',') { Some(self.operand(function)?) } else { None };
                InstKind::Alloca { size_bytes, count, align_log2 }
            }
            "load" => InstKind::Load { ptr: self.operand(function)?, mem: self.access()? },
            "store" => {
                let [ptr, value] = self.operands(function)?;
                InstKind::Store { ptr, value, mem: self.access()? }
            }
            "atomicrmw" => {
                let op = self.required("an operation", AtomicOp::from_word)?;
                let [ptr, value] = self.operands(function)?;
                InstKind::AtomicRmw { op, ptr, value, mem: self.access()? }
            }
            "cmpxchg" => {
                let weak = self.eat_word("weak");
                let [ptr, expected, replacement] = self.operands(function)?;
                InstKind::CmpXchg { ptr, expected, replacement, mem: self.access()?, weak }
            }
            "fence" => InstKind::Fence {
                ordering: self.required("an ordering", Ordering::from_word)?,
                scope: self.required("a scope", SyncScope::from_word)?,
                flags: self.mem_flags(),
            },
            "extractelement" => {
                let [vector, index] = self.operands(function)?;
                InstKind::ExtractElement { vector, index }
            }
            "insertelement" => {
                let [vector, element, index] = self.operands(function)?;
                InstKind::InsertElement { vector, element, index }
            }
            "shufflevector" => {
                InstKind::Shuffle { args: self.operands(function)?, mask: self.indices()?.into() }
            }
            "extractvalue" => {
                InstKind::ExtractValue { aggregate: self.operand(function)?, path: self.path()? }
            }
            "insertvalue" => {
                let [aggregate, value] = self.operands(function)?;
                InstKind::InsertValue { aggregate, value, path: self.path()? }
            }
            "call" => {
                let callee = if self.eat_word("indirect") {
                    Callee::Indirect(self.operand(function)?)
                } else {
                    match self.symbol()? {
                        SymbolRef::Func(func) => Callee::Func(func),
                        SymbolRef::Global(_) => return self.expected("a function"),
                    }
                };
                InstKind::Call { callee, args: self.args(function)? }
            }
            "intrinsic" => InstKind::Intrinsic {
                intrinsic: self.required("an intrinsic", Intrinsic::from_name)?,
                args: self.args(function)?,
            },
            "asm" => {
                let (text, constraints) = (self.string()?, self.string()?);
                let side_effects = self.eat_word("sideeffect");
                let asm = function.inline_asm.push(InlineAsm { text, constraints, side_effects });
                InstKind::InlineAsm { asm, args: self.args(function)? }
            }
            "jump" => InstKind::Jump { target: self.target(function)? },
            "br" => {
                let cond = self.operand(function)?;
                self.expect(',')?;
                let if_true = self.target(function)?;
                self.expect(',')?;
                InstKind::Branch { cond, if_true, if_false: self.target(function)? }
            }
            "switch" => {
                let value = self.operand(function)?;
                self.expect(',')?;
                let default = self.target(function)?;
                let mut cases = Vec::new();
                self.expect('[')?;
                self.list(']', |p| {
                    let case = p.number()?;
                    p.expect(':')?;
                    cases.push((case, p.target(function)?));
                    Ok(())
                })?;
                InstKind::Switch { value, cases: cases.into(), default }
            }
            "ret" => {
                // An operand stands on the same line.
                let void =
                    self.tokens[self.at].line != self.tokens[at].line || *self.peek() == Tok::Punct('!');
                InstKind::Ret { value: if void { None } else { Some(self.operand(function)?) } }
            }
            "unreachable" => InstKind::Unreachable,
            _ => return Err(self.fail_at(at, format!("unknown instruction {mnemonic}"))),
        })
    }
}

fn flag_of<T: Copy>(table: &[(T, &str)], word: &str) -> Option<T> {
    table.iter().find(|(_, w)| *w == word).map(|(flag, _)| *flag)
}
