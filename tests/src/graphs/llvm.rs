//! The text of a module in LLVM's own language: for reports, and for tools that read it.
//!
//! It covers what [`super::lower`] makes, and says so where it meets something else.

use mir::ir::{
    AddrSpace, AtomicOp, BinaryOp, Block, BlockCall, CallConv, Callee, CastOp, Const, FuncFlags, Function,
    InstKind, IntPredicate, Linkage, MemAccess, MemFlags, Module, Ordering, ParamFlags, SymbolRef, SyncScope,
    Type, Value, ValueDef,
};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The module as LLVM assembly.
///
/// # Errors
/// The first thing that is not covered.
pub fn text(module: &Module) -> Result<String, String> {
    let mut text = format!("target triple = \"{}\"\n", module.triple);
    for global in module.globals.values() {
        let (name, space, size) = (&global.name, global.space.0, global.size_bytes);
        let align = 1 << global.align_log2;
        let _ = writeln!(
            text,
            "@{name} = internal addrspace({space}) global [{size} x i8] poison, align {align}"
        );
    }
    let mut declared = BTreeSet::new();
    for function in module.functions.values() {
        Printer { module, f: function, declared: &mut declared, text: &mut text }.function()?;
    }
    for line in declared {
        let _ = writeln!(text, "{line}");
    }
    Ok(text)
}

struct Printer<'a> {
    module: &'a Module,
    f: &'a Function,
    declared: &'a mut BTreeSet<String>,
    text: &'a mut String,
}

fn ty(ty: Type) -> Result<String, String> {
    match (ty, ty.addr_space()) {
        (Type::Void, _) => Ok("void".to_owned()),
        (Type::Scalar(_), Some(AddrSpace(0))) => Ok("ptr".to_owned()),
        (Type::Scalar(_), Some(space)) => Ok(format!("ptr addrspace({})", space.0)),
        (Type::Scalar(_), None) if ty == Type::F32 => Ok("float".to_owned()),
        (Type::Scalar(scalar), None) => Ok(format!("i{}", scalar.bits())),
        _ => Err(format!("type {ty:?}")),
    }
}

/// The suffix of an intrinsic's name for an overload.
fn suffix(ty: Type) -> Result<String, String> {
    ty.scalar().map(|scalar| format!(".i{}", scalar.bits())).ok_or_else(|| format!("type {ty:?}"))
}

fn align(mem: &MemAccess) -> u64 {
    1 << mem.align_log2
}

impl Printer<'_> {
    fn function(&mut self) -> Result<(), String> {
        let f = self.f;
        let linkage = if f.linkage == Linkage::Internal { "internal " } else { "" };
        let convention = match f.call_conv {
            CallConv::Kernel => "amdgpu_kernel ",
            CallConv::AmdgpuPs => "amdgpu_ps ",
            CallConv::Device => "",
            other => return Err(format!("convention {other:?}")),
        };
        let mut params = Vec::new();
        for param in &f.params {
            let flags = if param.flags.contains(ParamFlags::INREG) { " inreg" } else { "" };
            params.push(format!("{}{flags} {}", ty(f.ty(param.value))?, self.value(param.value)?));
        }
        let mut attributes = String::new();
        if f.flags.contains(FuncFlags::NO_INLINE) {
            attributes.push_str(" noinline");
        }
        for (key, value) in f.attributes.iter() {
            let _ = write!(attributes, " \"{key}\"=\"{value}\"");
        }
        let (ret, name, params) = (ty(f.ret)?, &f.name, params.join(", "));
        let _ = writeln!(self.text, "\ndefine {linkage}{convention}{ret} @{name}({params}){attributes} {{");
        for &block in &f.layout {
            let _ = writeln!(self.text, "b{}:", block.as_u32());
            for (index, &param) in f.blocks[block].params.iter().enumerate() {
                let mut incoming = Vec::new();
                for &pred in &f.layout {
                    for target in self.targets(pred).iter().filter(|target| target.block == block) {
                        incoming.push(format!(
                            "[ {}, %b{} ]",
                            self.value(target.args[index])?,
                            pred.as_u32()
                        ));
                    }
                }
                let _ = writeln!(
                    self.text,
                    "  {} = phi {} {}",
                    self.value(param)?,
                    ty(f.ty(param))?,
                    incoming.join(", ")
                );
            }
            for &inst in &f.blocks[block].insts {
                let data = &f.insts[inst];
                let line = self.inst(&data.kind, data.ty)?;
                match data.result {
                    Some(result) => {
                        let _ = writeln!(self.text, "  {} = {line}", self.value(result)?);
                    }
                    None => {
                        let _ = writeln!(self.text, "  {line}");
                    }
                }
            }
        }
        self.text.push_str("}\n");
        Ok(())
    }

    fn targets(&self, block: Block) -> Vec<&BlockCall> {
        let terminator = self.f.terminator(block);
        terminator.map_or(Vec::new(), |inst| self.f.insts[inst].kind.targets().to_vec())
    }

    /// A value without its type.
    fn value(&self, value: Value) -> Result<String, String> {
        let data = &self.f.values[value];
        Ok(match &data.def {
            ValueDef::Const(Const::Int(bits)) if data.ty == Type::I1 => (*bits != 0).to_string(),
            ValueDef::Const(Const::Int(bits)) if data.ty == Type::I32 => (*bits as u32 as i32).to_string(),
            ValueDef::Const(Const::Int(bits)) => (*bits as i64).to_string(),
            ValueDef::Const(Const::Float(0)) => "0.0".to_owned(),
            ValueDef::Const(Const::Symbol(symbol, 0)) => format!("@{}", self.module.symbol_name(*symbol)),
            ValueDef::Const(other) => return Err(format!("constant {other:?}")),
            ValueDef::FuncParam(index) => format!("%{}", self.f.params[*index as usize].name),
            _ => format!("%v{}", value.as_u32()),
        })
    }

    /// A value with its type.
    fn typed(&self, value: Value) -> Result<String, String> {
        Ok(format!("{} {}", ty(self.f.ty(value))?, self.value(value)?))
    }

    fn inst(&mut self, kind: &InstKind, result: Type) -> Result<String, String> {
        let label = |target: &BlockCall| format!("label %b{}", target.block.as_u32());
        Ok(match kind {
            InstKind::Binary { op, args: [a, b] } => {
                let op = match op {
                    BinaryOp::Add => "add",
                    BinaryOp::Sub => "sub",
                    BinaryOp::Mul => "mul",
                    BinaryOp::And => "and",
                    BinaryOp::Or => "or",
                    BinaryOp::Xor => "xor",
                    BinaryOp::LShr => "lshr",
                    other => return Err(format!("operation {other:?}")),
                };
                format!("{op} {}, {}", self.typed(*a)?, self.value(*b)?)
            }
            InstKind::Cast { op, arg } => {
                let op = match op {
                    CastOp::ZExt => "zext",
                    CastOp::Trunc => "trunc",
                    CastOp::BitCast => "bitcast",
                    other => return Err(format!("conversion {other:?}")),
                };
                format!("{op} {} to {}", self.typed(*arg)?, ty(result)?)
            }
            InstKind::Icmp { predicate, args: [a, b] } => {
                let predicate = match predicate {
                    IntPredicate::Eq => "eq",
                    IntPredicate::Ne => "ne",
                    IntPredicate::Ult => "ult",
                    IntPredicate::Slt => "slt",
                    IntPredicate::Sgt => "sgt",
                    other => return Err(format!("comparison {other:?}")),
                };
                format!("icmp {predicate} {}, {}", self.typed(*a)?, self.value(*b)?)
            }
            InstKind::Select { cond, if_true, if_false } => {
                format!(
                    "select {}, {}, {}",
                    self.typed(*cond)?,
                    self.typed(*if_true)?,
                    self.typed(*if_false)?
                )
            }
            InstKind::PtrAdd { base, index: Some(index), scale, offset: 0 } => {
                format!("getelementptr [{scale} x i8], {}, {}", self.typed(*base)?, self.typed(*index)?)
            }
            InstKind::PtrAdd { base, index: None, offset, .. } => {
                format!("getelementptr i8, {}, i64 {offset}", self.typed(*base)?)
            }
            InstKind::Alloca { size_bytes, count: None, align_log2 } => {
                let object = if *size_bytes == 1 { "i1" } else { "i32" };
                format!("alloca {object}, align {}, addrspace(5)", 1 << align_log2)
            }
            InstKind::Load { ptr, mem } => {
                let volatile = volatile(mem);
                format!("load {volatile}{}, {}, align {}", ty(result)?, self.typed(*ptr)?, align(mem))
            }
            InstKind::Store { ptr, value, mem } => {
                let volatile = volatile(mem);
                format!(
                    "store {volatile}{}, {}, align {}",
                    self.typed(*value)?,
                    self.typed(*ptr)?,
                    align(mem)
                )
            }
            InstKind::AtomicRmw { op: AtomicOp::Add, ptr, value, mem } => {
                let scope = match mem.scope {
                    SyncScope::Workgroup => "workgroup",
                    SyncScope::Agent => "agent",
                    other => return Err(format!("scope {other:?}")),
                };
                if mem.ordering != Ordering::Monotonic {
                    return Err(format!("ordering {:?}", mem.ordering));
                }
                let (ptr, value, align) = (self.typed(*ptr)?, self.typed(*value)?, align(mem));
                format!("atomicrmw add {ptr}, {value} syncscope(\"{scope}\") monotonic, align {align}")
            }
            InstKind::Fence { ordering, scope: SyncScope::Workgroup, .. } => match ordering {
                Ordering::Acquire => "fence syncscope(\"workgroup\") acquire".to_owned(),
                Ordering::Release => "fence syncscope(\"workgroup\") release".to_owned(),
                other => return Err(format!("ordering {other:?}")),
            },
            InstKind::Call { callee: Callee::Func(func), args } => {
                let name = self.module.symbol_name(SymbolRef::Func(*func));
                format!("call {} @{name}({})", ty(result)?, self.args(args)?)
            }
            InstKind::Intrinsic { intrinsic, args } => self.intrinsic(*intrinsic, args, result)?,
            InstKind::Jump { target } => format!("br {}", label(target)),
            InstKind::Branch { cond, if_true, if_false } => {
                format!("br {}, {}, {}", self.typed(*cond)?, label(if_true), label(if_false))
            }
            InstKind::Switch { value, cases, default } => {
                let cases: Vec<_> =
                    cases.iter().map(|(bits, target)| format!("i32 {bits}, {}", label(target))).collect();
                format!("switch {}, {} [ {} ]", self.typed(*value)?, label(default), cases.join("  "))
            }
            InstKind::Ret { value: None } => "ret void".to_owned(),
            InstKind::Ret { value: Some(value) } => format!("ret {}", self.typed(*value)?),
            other => return Err(format!("instruction {other:?}")),
        })
    }

    fn args(&self, args: &[Value]) -> Result<String, String> {
        let args: Result<Vec<_>, _> = args.iter().map(|&arg| self.typed(arg)).collect();
        Ok(args?.join(", "))
    }

    fn intrinsic(
        &mut self,
        intrinsic: mir::ir::Intrinsic,
        args: &[Value],
        result: Type,
    ) -> Result<String, String> {
        use mir::ir::Intrinsic;
        let overload = match intrinsic {
            Intrinsic::Ballot | Intrinsic::Readfirstlane => suffix(result)?,
            _ => String::new(),
        };
        let (name, result) = (format!("llvm.{}{overload}", intrinsic.name()), ty(result)?);
        let types: Result<Vec<_>, _> = args.iter().map(|&arg| ty(self.f.ty(arg))).collect();
        self.declared.insert(format!("declare {result} @{name}({})", types?.join(", ")));
        Ok(format!("call {result} @{name}({})", self.args(args)?))
    }
}

fn volatile(mem: &MemAccess) -> &'static str {
    if mem.flags.contains(MemFlags::VOLATILE) { "volatile " } else { "" }
}
