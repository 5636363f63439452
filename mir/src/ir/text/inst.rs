//! Writes values and instructions.

use super::*;
use crate::text::{comma_separated, write_flags};
use std::fmt::Write as _;

/// Prints a use of a value: `v7`, or a constant with its type; made by [`Function::display_value`].
pub struct DisplayValue<'a> {
    module: &'a Module,
    function: &'a Function,
    value: Value,
}

impl Display for DisplayValue<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(data) = self.function.values.get(self.value) else { return write!(f, "{}", self.value) };
        let ValueDef::Const(constant) = &data.def else { return write!(f, "{}", self.value) };
        write!(f, "{} ", self.module.types.display(data.ty))?;
        match constant {
            Const::Int(bits) => write!(f, "{bits}"),
            Const::Float(bits) => write!(f, "{bits:#x}"),
            Const::Zero => f.write_str("zero"),
            Const::Undef => f.write_str("undef"),
            Const::Poison => f.write_str("poison"),
            Const::Wide(words) => {
                f.write_str("wide(")?;
                comma_separated(f, words.iter(), |f, word| write!(f, "{word:#x}"))?;
                f.write_char(')')
            }
            Const::Symbol(symbol, offset) => {
                write!(f, "{}", SymbolUse(self.module, *symbol))?;
                if *offset == 0 { Ok(()) } else { write!(f, " offset {offset}") }
            }
            Const::Elements(members) => {
                f.write_char('(')?;
                comma_separated(f, members.iter(), |f, &member| {
                    self.function.display_value(self.module, member).fmt(f)
                })?;
                f.write_char(')')
            }
        }
    }
}

/// Prints one instruction; made by [`Function::display_inst`].
pub struct DisplayInst<'a> {
    module: &'a Module,
    function: &'a Function,
    inst: Inst,
}

impl DisplayInst<'_> {
    fn values<'v>(&self, f: &mut Formatter<'_>, values: impl IntoIterator<Item = &'v Value>) -> fmt::Result {
        comma_separated(f, values, |f, &v| self.function.display_value(self.module, v).fmt(f))
    }

    fn target(&self, f: &mut Formatter<'_>, target: &BlockCall) -> fmt::Result {
        write!(f, "{}", target.block)?;
        if target.args.is_empty() {
            return Ok(());
        }
        f.write_char('(')?;
        self.values(f, &target.args)?;
        f.write_char(')')
    }

    fn access(&self, f: &mut Formatter<'_>, mem: &MemAccess) -> fmt::Result {
        write!(f, " addrspace({}) align {}", mem.space.0, 1u64 << mem.align_log2.min(63))?;
        write_flags!(f, MEM_FLAGS, mem.flags);
        if mem.ordering != Ordering::NotAtomic {
            write!(f, " {} {}", mem.ordering.word(), mem.scope.word())?;
        }
        if mem.alias != AliasClass::UNKNOWN {
            write!(f, " alias {}", mem.alias.0)?;
        }
        if mem.set != AliasSet::ANY {
            write!(f, " set {}", mem.set.0)?;
        }
        Ok(())
    }

    fn operation(&self, f: &mut Formatter<'_>, data: &InstData) -> fmt::Result {
        // The mnemonic, the flags, and then whatever the kind has.
        let mnemonic = match &data.kind {
            InstKind::Unary { op, .. } => op.word(),
            InstKind::Binary { op, .. } => op.word(),
            InstKind::Cast { op, .. } => op.word(),
            InstKind::Icmp { .. } => "icmp",
            InstKind::Fcmp { .. } => "fcmp",
            InstKind::Select { .. } => "select",
            InstKind::PtrAdd { .. } => "ptradd",
            InstKind::Alloca { .. } => "alloca",
            InstKind::Load { .. } => "load",
            InstKind::Store { .. } => "store",
            InstKind::AtomicRmw { .. } => "atomicrmw",
            InstKind::CmpXchg { .. } => "cmpxchg",
            InstKind::Fence { .. } => "fence",
            InstKind::ExtractElement { .. } => "extractelement",
            InstKind::InsertElement { .. } => "insertelement",
            InstKind::Shuffle { .. } => "shufflevector",
            InstKind::ExtractValue { .. } => "extractvalue",
            InstKind::InsertValue { .. } => "insertvalue",
            InstKind::Call { .. } => "call",
            InstKind::Intrinsic { .. } => "intrinsic",
            InstKind::InlineAsm { .. } => "asm",
            InstKind::Jump { .. } => "jump",
            InstKind::Branch { .. } => "br",
            InstKind::Switch { .. } => "switch",
            InstKind::Ret { .. } => "ret",
            InstKind::Unreachable => "unreachable",
        };
        f.write_str(mnemonic)?;
        write_flags!(f, INST_FLAGS, data.flags);
        let path = |f: &mut Formatter<'_>, path: &[u32]| {
            f.write_str(" [")?;
            comma_separated(f, path.iter(), |f, index| write!(f, "{index}"))?;
            f.write_char(']')
        };
        let call = |f: &mut Formatter<'_>, args: &[Value]| {
            f.write_char('(')?;
            self.values(f, args)?;
            f.write_char(')')
        };
        match &data.kind {
            InstKind::Icmp { predicate, .. } => write!(f, " {}", predicate.word())?,
            InstKind::Fcmp { predicate, .. } => write!(f, " {}", predicate.word())?,
            InstKind::AtomicRmw { op, .. } => write!(f, " {}", op.word())?,
            InstKind::CmpXchg { weak: true, .. } => f.write_str(" weak")?,
            InstKind::Unreachable | InstKind::Ret { value: None } => return Ok(()),
            _ => {}
        }
        f.write_char(' ')?;
        match &data.kind {
            InstKind::Unary { arg, .. } | InstKind::Cast { arg, .. } => self.values(f, [arg]),
            InstKind::Binary { args, .. } | InstKind::Icmp { args, .. } | InstKind::Fcmp { args, .. } => {
                self.values(f, args)
            }
            InstKind::Select { cond, if_true, if_false } => self.values(f, [cond, if_true, if_false]),
            InstKind::PtrAdd { base, index, scale, offset } => {
                self.values(f, std::iter::once(base).chain(index))?;
                if index.is_some() {
                    write!(f, " * {scale}")?;
                }
                write!(f, " + {offset}")
            }
            InstKind::Alloca { size_bytes, count, align_log2 } => {
                write!(f, "{size_bytes} align {}", 1u64 << (*align_log2).min(63))?;
                if count.is_some() {
                    f.write_str(", ")?;
                }
                self.values(f, count)
            }
            InstKind::Load { ptr, mem } => {
                self.values(f, [ptr])?;
                self.access(f, mem)
            }
            InstKind::Store { ptr, value, mem } | InstKind::AtomicRmw { ptr, value, mem, .. } => {
                self.values(f, [ptr, value])?;
                self.access(f, mem)
            }
            InstKind::CmpXchg { ptr, expected, replacement, mem, .. } => {
                self.values(f, [ptr, expected, replacement])?;
                self.access(f, mem)
            }
            InstKind::Fence { ordering, scope, flags, space } => {
                write!(f, "{} {}", ordering.word(), scope.word())?;
                write_flags!(f, MEM_FLAGS, flags);
                if *space != AddrSpace::FLAT {
                    write!(f, " addrspace({})", space.0)?;
                }
                Ok(())
            }
            InstKind::ExtractElement { vector, index } => self.values(f, [vector, index]),
            InstKind::InsertElement { vector, element, index } => self.values(f, [vector, element, index]),
            InstKind::Shuffle { args, mask } => {
                self.values(f, args)?;
                f.write_str(" [")?;
                comma_separated(f, mask.iter(), |f, lane| match lane {
                    Some(lane) => write!(f, "{lane}"),
                    None => f.write_char('_'),
                })?;
                f.write_char(']')
            }
            InstKind::ExtractValue { aggregate, path: indices } => {
                self.values(f, [aggregate])?;
                path(f, indices)
            }
            InstKind::InsertValue { aggregate, value, path: indices } => {
                self.values(f, [aggregate, value])?;
                path(f, indices)
            }
            InstKind::Call { callee, args } => {
                match callee {
                    Callee::Func(func) => write!(f, "{}", SymbolUse(self.module, SymbolRef::Func(*func)))?,
                    Callee::Indirect(pointer) => {
                        f.write_str("indirect ")?;
                        self.values(f, [pointer])?;
                        f.write_char(' ')?;
                    }
                }
                call(f, args)
            }
            InstKind::Intrinsic { intrinsic, args } => {
                f.write_str(intrinsic.name())?;
                call(f, args)
            }
            InstKind::InlineAsm { asm, args, side_effects } => {
                let empty = InlineAsm { text: String::new(), constraints: String::new() };
                let asm = self.function.inline_asm.get(*asm).unwrap_or(&empty);
                write!(f, "{} {}", Quoted(&asm.text), Quoted(&asm.constraints))?;
                f.write_str(if *side_effects { " sideeffect" } else { "" })?;
                call(f, args)
            }
            InstKind::Jump { target } => self.target(f, target),
            InstKind::Branch { cond, if_true, if_false } => {
                self.values(f, [cond])?;
                f.write_str(", ")?;
                self.target(f, if_true)?;
                f.write_str(", ")?;
                self.target(f, if_false)
            }
            InstKind::Switch { value, cases, default } => {
                self.values(f, [value])?;
                f.write_str(", ")?;
                self.target(f, default)?;
                f.write_str(" [")?;
                comma_separated(f, cases.iter(), |f, (case, target)| {
                    write!(f, "{case}: ")?;
                    self.target(f, target)
                })?;
                f.write_char(']')
            }
            InstKind::Ret { value } => self.values(f, value),
            InstKind::Unreachable => Ok(()),
        }
    }
}

impl Display for DisplayInst<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(data) = self.function.insts.get(self.inst) else { return write!(f, "{}", self.inst) };
        if let Some(result) = data.result {
            write!(f, "{result}: {} = ", self.module.types.display(data.ty))?;
        }
        self.operation(f, data)?;
        if data.fpmath_ulp_256 != 0 {
            write!(f, " !fpmath {}", data.fpmath_ulp_256)?;
        }
        if let Some([destination, source]) = self.function.mem_aligns.get(&self.inst) {
            write!(f, " !align {destination} {source}")?;
        }
        let loc = self.function.locs[self.inst];
        if loc != SourceLoc::default() {
            write!(f, " !loc {} {} {}", loc.file, loc.line, loc.column)?;
        }
        Ok(())
    }
}

impl Function {
    /// Prints a use of `value`: `v7`, or a constant with its type.
    pub fn display_value<'a>(&'a self, module: &'a Module, value: Value) -> DisplayValue<'a> {
        DisplayValue { module, function: self, value }
    }

    /// Prints `inst`, for messages and dumps.
    pub fn display_inst<'a>(&'a self, module: &'a Module, inst: Inst) -> DisplayInst<'a> {
        DisplayInst { module, function: self, inst }
    }

    /// Prints the function, whose symbols and types are those of `module`.
    pub fn display<'a>(&'a self, module: &'a Module) -> DisplayFunction<'a> {
        DisplayFunction { module, function: self }
    }
}
