//! Reads functions: what stands around the instructions.

use super::*;
use crate::abi::shader::PsInputs;

/// What a number that the text leaves out stands for.
const UNUSED_VALUE: ValueData = ValueData { ty: Type::I1, def: ValueDef::Const(Const::Poison) };

impl Parser {
    /// What stands behind `define` or `declare`.
    pub(super) fn function(&mut self, is_definition: bool) -> Result<Function> {
        let call_conv = self.call_conv()?;
        let ret_flags = self.param_flags();
        let ret = self.ty()?;
        let mut function = Function::new(self.symbol_name()?, call_conv, ret);
        function.ret_flags = ret_flags;
        let constants = self.reserve(&mut function)?;
        self.expect('(')?;
        self.list_of_params(&mut function)?;
        self.attributes(&mut function)?;
        if !is_definition {
            return Ok(function);
        }
        self.expect('{')?;
        let mut behind_constants = None;
        if let Some(at) = constants {
            // They stand at the end, but the code's constants are to be these values.
            let body = std::mem::replace(&mut self.cursor.at, at);
            while self.at_line("constants") {
                self.skip();
                self.constants(&mut function)?;
            }
            behind_constants = Some(std::mem::replace(&mut self.cursor.at, body));
        }
        let mut block = None;
        while !self.eat('}') {
            if Some(self.cursor.at) == constants {
                self.cursor.at = behind_constants.unwrap_or(self.cursor.at);
                continue;
            }
            if self.at_line("apart") {
                self.skip();
                self.alias_sets(&mut function)?;
                continue;
            }
            if self.at_line("tables") {
                self.skip();
                self.tables(&mut function)?;
                continue;
            }
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

    /// Makes the values and blocks whose numbers the function's text has. Returns the token where its
    /// constants stand.
    fn reserve(&mut self, function: &mut Function) -> Result<Option<usize>> {
        let (mut values, mut blocks, mut constants) = (0, 0, None);
        let mut names_register = false;
        for (at, token) in self.cursor.tokens().iter().enumerate().skip(self.cursor.at) {
            // Behind this sign stand physical registers, not values.
            if std::mem::replace(&mut names_register, token.tok == Tok::Punct('$')) {
                continue;
            }
            let Tok::Word(word) = &token.tok else { continue };
            if token.column == 1 && matches!(word.as_str(), "define" | "declare" | "function") {
                break;
            }
            if token.column == 1 && word == "constants" && constants.is_none() {
                constants = Some(at);
            }
            values = values.max(numbered(word, "v").map_or(0, |n| n.saturating_add(1)));
            blocks = blocks.max(numbered(word, "block").map_or(0, |n| n.saturating_add(1)));
            if values > MAX_ENTITY || blocks > MAX_ENTITY {
                return Err(self.fail_at(at, "number of a value or block is too large"));
            }
        }
        for _ in 0..values {
            function.values.push(UNUSED_VALUE);
        }
        for _ in 0..blocks {
            function.blocks.push(BlockData::default());
        }
        self.used.clear();
        self.defined = vec![false; values as usize];
        self.placed = vec![false; blocks as usize];
        Ok(constants)
    }

    /// The numbers of constants.
    fn constants(&mut self, function: &mut Function) -> Result<()> {
        loop {
            let at = self.cursor.at;
            let value = self.value_name()?;
            self.expect('=')?;
            let ty = self.ty()?;
            let constant = self.constant(function, ty)?;
            if std::mem::replace(&mut self.defined[value.index()], true) {
                return Err(self.fail_at(at, format!("{value} is defined twice")));
            }
            if !function.define_constant(value, ty, constant) {
                return Err(self.fail_at(at, "constant is there twice"));
            }
            if !self.eat(',') {
                return Ok(());
            }
        }
    }

    /// Pairs of sets of accesses that have nothing in common.
    fn alias_sets(&mut self, function: &mut Function) -> Result<()> {
        loop {
            let pair = (AliasSet(self.number()?), AliasSet(self.number()?));
            function.alias_sets.separate(pair.0, pair.1);
            if !self.eat(',') {
                return Ok(());
            }
        }
    }

    /// How long the tables are, where more was made than the text shows.
    fn tables(&mut self, function: &mut Function) -> Result<()> {
        let limit = |p: &mut Self| match p.number::<u32>()? {
            count if count <= MAX_ENTITY => Ok(count as usize),
            _ => Err(p.fail("table is too large")),
        };
        let values = limit(self)?;
        self.keyword("values")?;
        let insts = limit(self)?;
        self.keyword("instructions")?;
        let blocks = limit(self)?;
        self.keyword("blocks")?;
        while function.values.len() < values {
            function.values.push(UNUSED_VALUE);
        }
        while function.insts.len() < insts {
            function.insts.push(InstData {
                kind: InstKind::Unreachable,
                ty: Type::Void,
                flags: InstFlags::empty(),
                fpmath_ulp_256: 0,
                result: None,
            });
        }
        while function.blocks.len() < blocks {
            function.blocks.push(BlockData::default());
        }
        Ok(())
    }

    pub(super) fn param_flags(&mut self) -> ParamFlags {
        let mut flags = ParamFlags::empty();
        while let Some(flag) = self.one_of(|word| flag_of(&PARAM_FLAGS, word)) {
            flags |= flag;
        }
        flags
    }

    pub(super) fn indirect(&mut self) -> Result<Option<IndirectParam>> {
        let Some(by_value) = self.one_of(|word| flag_of(&[(true, "byval"), (false, "byref")], word)) else {
            return Ok(None);
        };
        Ok(Some(IndirectParam { ty: self.ty()?, by_value }))
    }

    pub(super) fn value_name(&mut self) -> Result<Value> {
        self.required("a value", |word| numbered(word, "v").map(Value::from_u32))
    }

    /// A value at its definition.
    pub(super) fn define(
        &mut self,
        function: &mut Function,
        value: Value,
        ty: Type,
        def: ValueDef,
    ) -> Result<()> {
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
            param.flags = p.param_flags();
            if p.eat_word("align") {
                param.align_log2 = p.align_log2()?;
            }
            if p.eat_word("dereferenceable") {
                param.dereferenceable_bytes = p.number()?;
            }
            param.indirect = p.indirect()?;
            if p.eat_word("in") {
                p.expect('$')?;
                param.register = Some(p.preg()?);
            }
            if matches!(p.peek(), Tok::Str(_)) {
                param.name = p.string()?;
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
        while matches!(self.peek(), Tok::Str(_)) {
            let key = self.string()?;
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
        if self.eat_word("lds_kernel_id") {
            kernel.lds_kernel_id = Some(self.number()?);
        }
        if self.eat_word("inputs") {
            while let Some(input) = self.one_of(|word| flag_of(&INPUTS, word)) {
                function.inputs |= input;
            }
        }
        if self.eat_word("ps_inputs") {
            function.ps_inputs = PsInputs { addr: self.number()?, ena: self.number()? };
        }
        if self.eat_word("arguments_end") {
            function.arguments_end = self.number()?;
        }
        Ok(())
    }

    pub(super) fn block_name(&mut self) -> Result<Block> {
        self.required("a block", |word| numbered(word, "block").map(Block::from_u32))
    }

    fn block(&mut self, function: &mut Function) -> Result<Block> {
        let at = self.cursor.at;
        let block = self.block_name()?;
        if std::mem::replace(&mut self.placed[block.index()], true) {
            return Err(self.fail_at(at, format!("{block} is there twice")));
        }
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
        if self.eat_word("no_unroll") {
            function.blocks[block].unrolling = Unrolling::Never;
        } else if self.eat_word("unroll") {
            function.blocks[block].unrolling = Unrolling::Wanted;
        }
        self.expect(':')?;
        function.layout.push(block);
        Ok(block)
    }
}
