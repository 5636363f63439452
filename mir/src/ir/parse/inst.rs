//! Reads instructions and their operands.

use super::*;
use crate::abi::call::{CallLayout, Place};
use smallvec::SmallVec;

impl Parser {
    fn operand(&mut self, function: &mut Function) -> Result<Value> {
        let at = self.cursor.at;
        if let Some(value) = self.one_of(|word| numbered(word, "v").map(Value::from_u32)) {
            self.used.push((value, at));
            return Ok(value);
        }
        let ty = self.ty()?;
        let constant = self.constant(function, ty)?;
        Ok(function.constant(ty, constant))
    }

    /// A constant behind its type.
    pub(super) fn constant(&mut self, function: &mut Function, ty: Type) -> Result<Const> {
        Ok(match self.peek().clone() {
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
                self.skip();
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
        })
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

    fn target(&mut self, function: &mut Function) -> Result<BlockCall> {
        let block = self.block_name()?;
        let args = if *self.peek() == Tok::Punct('(') { self.args(function)? } else { SmallVec::new() };
        Ok(BlockCall { block, args })
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
        if self.eat_word("alias") {
            mem.alias = AliasClass(self.number()?);
        }
        if self.eat_word("set") {
            mem.set = AliasSet(self.number()?);
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

    pub(super) fn inst(&mut self, function: &mut Function) -> Result<Inst> {
        let mut result = None;
        if matches!(self.peek(), Tok::Word(word) if numbered(word, "v").is_some()) {
            let value = self.value_name()?;
            self.expect(':')?;
            let ty = self.ty()?;
            self.expect('=')?;
            result = Some((value, ty));
        }
        let mnemonic_at = self.cursor.at;
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
            } else if self.eat_word("site") {
                let site = self.call_site()?;
                function.call_sites.insert(inst, site);
            } else if self.eat_word("places") {
                let layout = self.call_layout()?;
                function.call_layouts.insert(inst, layout);
            } else {
                return self.expected("a fact");
            }
        }
        Ok(inst)
    }

    /// What a call says about its callee.
    fn call_site(&mut self) -> Result<CallSite> {
        let mut site = CallSite {
            call_conv: self.call_conv()?,
            args: Vec::new(),
            ret_flags: self.param_flags(),
            variadic: None,
            no_builtin: false,
            tail: TailCall::No,
        };
        self.expect('[')?;
        self.list(']', |p| {
            let mut arg = CallArgument::default();
            if !p.eat_word("_") {
                arg.flags = p.param_flags();
                if p.eat_word("align") {
                    arg.align_log2 = p.align_log2()?;
                }
                arg.indirect = p.indirect()?;
            }
            site.args.push(arg);
            Ok(())
        })?;
        if self.eat_word("variadic") {
            site.variadic = Some(self.number()?);
        }
        site.no_builtin = self.eat_word("nobuiltin");
        if self.eat_word("tail") {
            site.tail = TailCall::May;
        } else if self.eat_word("musttail") {
            site.tail = TailCall::Must;
        }
        Ok(site)
    }

    /// Where a call puts its arguments: registers, or bytes on the stack.
    fn call_layout(&mut self) -> Result<CallLayout> {
        let mut layout = CallLayout { places: Vec::new(), graphics: false, tail: false };
        self.expect('[')?;
        self.list(']', |p| {
            layout.places.push(match p.peek() {
                Tok::Number(_) => Place::Stack(p.number()?),
                _ => {
                    p.expect('$')?;
                    Place::Register(p.preg()?)
                }
            });
            Ok(())
        })?;
        layout.graphics = self.eat_word("graphics");
        layout.tail = self.eat_word("tail");
        Ok(layout)
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
                space: self.space()?,
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
                    Callee::Func(self.function_symbol()?)
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
                let asm = function.inline_asm.push(InlineAsm { text, constraints });
                InstKind::InlineAsm { asm, args: self.args(function)?, side_effects }
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
                let line = self.cursor.tokens()[at].line;
                let void = self.cursor.token().line != line || *self.peek() == Tok::Punct('!');
                InstKind::Ret { value: if void { None } else { Some(self.operand(function)?) } }
            }
            "unreachable" => InstKind::Unreachable,
            _ => return Err(self.fail_at(at, format!("unknown instruction {mnemonic}"))),
        })
    }
}
