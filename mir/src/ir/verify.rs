//! The verifier of the IR: what every pass may rely on and must leave behind.
//!
//! * Structure: the layout names each block once; each instruction is in one block; a block ends in its only terminator;
//!   branches go to blocks of the layout, never to the entry; values, their origins and their types agree.
//! * Types: operands and result of each instruction fit its operation; branch arguments fit the block parameters;
//!   constants fit their types. As in LLVM, a call may disagree with its callee: it is undefined when it is executed.
//! * Dominance: every use in a reachable block is dominated by the definition.
//!
//! Intrinsics and inline assembly are taken as they are. The cost is linear in the function (and n log n in its blocks);
//! nothing recurses.

use super::*;
use crate::Diagnostic;
use crate::analysis::{Csr, Dominators, Order};
use crate::diag::ErrorKind;
use cranelift_entity::{EntityRef, SecondaryMap};

/// As many complaints are made about one function.
const MAX_ERRORS: usize = 20;

/// Checks one function of `module`.
///
/// Errors: kind `Defect`, one for each violation, at most twenty.
pub fn verify(module: &Module, function: &Function) -> Result<(), Vec<Diagnostic>> {
    verify_dialect(module, function, false)
}

/// The same for a function whose arguments and results, and those of its calls, are dwords in registers: what legalisation leaves. Signatures are
/// those of the source still; [`legal::verify_legal`] knows what takes their place.
pub fn verify_lowered(module: &Module, function: &Function) -> Result<(), Vec<Diagnostic>> {
    verify_dialect(module, function, true)
}

fn verify_dialect(module: &Module, function: &Function, lowered: bool) -> Result<(), Vec<Diagnostic>> {
    let mut verifier =
        Verifier { module, function, lowered, errors: Vec::new(), places: SecondaryMap::new() };
    verifier.structure();
    // Later checks follow references that this one has shown to lead somewhere.
    if verifier.errors.is_empty() {
        verifier.constants();
        verifier.types();
        verifier.dominance();
    }
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

/// Checks every function with a body.
pub fn verify_module(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let errors: Vec<_> =
        module.functions.values().filter_map(|f| verify(module, f).err()).flatten().collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Block and position of an instruction.
type Place = Option<(Block, u32)>;

struct Verifier<'a> {
    module: &'a Module,
    /// Arguments and results of functions are dwords in registers.
    lowered: bool,
    function: &'a Function,
    errors: Vec<Diagnostic>,
    places: SecondaryMap<Inst, Place>,
}

/// `condition`, or the complaint.
fn ensure(condition: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(message()) }
}

fn is_int(ty: Type) -> bool {
    matches!(ty.scalar(), Some(Scalar::Int(_)))
}

fn is_float(ty: Type) -> bool {
    matches!(ty.scalar(), Some(Scalar::Float(_)))
}

fn is_ptr(ty: Type) -> bool {
    matches!(ty.scalar(), Some(Scalar::Ptr(_)))
}

/// Whether both are scalars, or vectors of one length.
fn same_shape(a: Type, b: Type) -> bool {
    matches!(a, Type::Vector(..)) == matches!(b, Type::Vector(..)) && a.lanes() == b.lanes() && a.lanes() != 0
}

impl Verifier<'_> {
    fn report(&mut self, inst: Option<Inst>, message: String) {
        if self.errors.len() >= MAX_ERRORS {
            return;
        }
        let mut error = Diagnostic::new(ErrorKind::Defect, message).in_function(&self.function.name);
        if let Some(inst) = inst {
            error = error.at(self.function.display_inst(self.module, inst));
        }
        self.errors.push(*error);
    }

    fn structure(&mut self) {
        let function = self.function;
        let mut placed: SecondaryMap<Block, bool> = SecondaryMap::new();
        for &block in &function.layout {
            if !function.blocks.is_valid(block) {
                self.report(None, format!("{block} of the layout does not exist"));
            } else if std::mem::replace(&mut placed[block], true) {
                self.report(None, format!("{block} is twice in the layout"));
            }
        }
        for (index, param) in function.params.iter().enumerate() {
            let def = function.values.get(param.value).map(|data| &data.def);
            if def != Some(&ValueDef::FuncParam(index as u32)) {
                self.report(None, format!("parameter {index} is {} of another origin", param.value));
            }
        }
        for &block in &function.layout {
            let Some(data) = function.blocks.get(block) else { continue };
            for (index, &param) in data.params.iter().enumerate() {
                let def = function.values.get(param).map(|data| &data.def);
                if def != Some(&ValueDef::BlockParam(block, index as u32)) {
                    self.report(None, format!("parameter {index} of {block} is {param} of another origin"));
                }
            }
            let last = data.insts.len().wrapping_sub(1);
            for (position, &inst) in data.insts.iter().enumerate() {
                let Some(contents) = function.insts.get(inst) else {
                    self.report(None, format!("{inst} in {block} does not exist"));
                    continue;
                };
                if self.places[inst].replace((block, position as u32)).is_some() {
                    self.report(Some(inst), "instruction is in two places".to_owned());
                }
                if contents.kind.is_terminator() != (position == last) {
                    self.report(Some(inst), format!("{block} must end in its only terminator"));
                }
                if let Err(message) = self.references(inst, contents, &placed) {
                    self.report(Some(inst), message);
                }
            }
            if data.insts.is_empty() {
                self.report(None, format!("{block} is empty"));
            }
        }
    }

    fn references(
        &self,
        inst: Inst,
        data: &InstData,
        placed: &SecondaryMap<Block, bool>,
    ) -> Result<(), String> {
        let function = self.function;
        ensure(data.result.is_some() == (data.ty != Type::Void), || {
            "result does not fit the type".to_owned()
        })?;
        if let Some(result) = data.result {
            let value = function.values.get(result);
            let fits = value.is_some_and(|value| value.def == ValueDef::Inst(inst) && value.ty == data.ty);
            ensure(fits, || format!("result {result} is of another origin or type"))?;
        }
        let mut dangling = None;
        data.kind.for_each_value(|value| {
            if !function.values.is_valid(value) {
                dangling = Some(value);
            }
        });
        ensure(dangling.is_none(), || format!("operand {dangling:?} does not exist"))?;
        for target in data.kind.targets() {
            ensure(placed[target.block], || format!("{} is not in the layout", target.block))?;
            ensure(target.block != function.layout[0], || "branch to the entry".to_owned())?;
        }
        match &data.kind {
            InstKind::Call { callee: Callee::Func(func), .. } => {
                ensure(self.module.functions.is_valid(*func), || format!("{func} does not exist"))
            }
            InstKind::InlineAsm { asm, .. } => {
                ensure(function.inline_asm.is_valid(*asm), || format!("{asm} does not exist"))
            }
            _ => Ok(()),
        }
    }

    fn constants(&mut self) {
        for (value, data) in self.function.values.iter() {
            if let ValueDef::Const(constant) = &data.def
                && let Err(message) = self.constant(data.ty, constant)
            {
                self.report(None, format!("constant {value}: {message}"));
            }
        }
    }

    fn constant(&self, ty: Type, constant: &Const) -> Result<(), String> {
        let misfit = || format!("does not fit {}", self.module.types.display(ty));
        match constant {
            Const::Int(bits) => {
                let fits =
                    matches!(ty, Type::Scalar(Scalar::Int(width)) if width >= 64 || bits >> width == 0);
                ensure(fits, misfit)
            }
            Const::Wide(words) => {
                let Type::Scalar(Scalar::Int(width)) = ty else { return Err(misfit()) };
                ensure(width > 64 && words.len() == width.div_ceil(64) as usize, misfit)
            }
            Const::Float(bits) => {
                let Type::Scalar(Scalar::Float(float)) = ty else { return Err(misfit()) };
                ensure(float.bits() == 64 || bits >> float.bits() == 0, misfit)
            }
            Const::Zero | Const::Undef | Const::Poison => ensure(ty != Type::Void, misfit),
            Const::Symbol(symbol, _) => {
                let exists = match *symbol {
                    SymbolRef::Func(func) => self.module.functions.is_valid(func),
                    SymbolRef::Global(global) => self.module.globals.is_valid(global),
                };
                ensure(exists && matches!(ty, Type::Scalar(Scalar::Ptr(_))), misfit)
            }
            Const::Elements(members) => {
                let all = |expected: &dyn Fn(usize) -> Option<Type>| {
                    members.iter().enumerate().all(|(index, &member)| {
                        let data = self.function.values.get(member);
                        data.is_some_and(|d| {
                            matches!(d.def, ValueDef::Const(_)) && Some(d.ty) == expected(index)
                        })
                    })
                };
                let len = members.len() as u64;
                let fits = match ty {
                    Type::Vector(scalar, lanes) => {
                        len == u64::from(lanes) && all(&|_| Some(Type::Scalar(scalar)))
                    }
                    Type::Aggregate(agg) => match self.module.types.aggregates.get(agg) {
                        Some(Aggregate::Array { element, len: count, .. }) => {
                            len == *count && all(&|_| Some(*element))
                        }
                        Some(Aggregate::Struct { fields, .. }) => {
                            len == fields.len() as u64 && all(&|index| fields.get(index).map(|field| field.0))
                        }
                        None => false,
                    },
                    _ => false,
                };
                ensure(fits, misfit)
            }
        }
    }

    fn types(&mut self) {
        for &block in &self.function.layout {
            for &inst in &self.function.blocks[block].insts {
                let data = &self.function.insts[inst];
                if let Err(message) = self.operation(data).and_then(|()| self.targets(data)) {
                    self.report(Some(inst), message);
                }
            }
        }
    }

    fn targets(&self, data: &InstData) -> Result<(), String> {
        for target in data.kind.targets() {
            let params = &self.function.blocks[target.block].params;
            let (given, wanted) = (target.args.len(), params.len());
            ensure(given == wanted, || {
                format!("{given} arguments for {wanted} parameters of {}", target.block)
            })?;
            for (&arg, &param) in target.args.iter().zip(params) {
                self.equal(self.function.ty(arg), self.function.ty(param), "argument")?;
            }
        }
        Ok(())
    }

    fn equal(&self, found: Type, expected: Type, what: &str) -> Result<(), String> {
        ensure(found == expected, || {
            let types = &self.module.types;
            format!("{what} of type {}, not {}", types.display(found), types.display(expected))
        })
    }

    fn operation(&self, data: &InstData) -> Result<(), String> {
        let ty = |value: Value| self.function.ty(value);
        let need = |condition: bool, what: &str| ensure(condition, || what.to_owned());
        let result = data.ty;
        match &data.kind {
            InstKind::Unary { op, arg } => {
                self.equal(ty(*arg), result, "operand")?;
                need(*op != UnaryOp::FNeg || is_float(result), "operand must be floating point")
            }
            InstKind::Binary { op, args: [a, b] } => {
                use BinaryOp::*;
                self.equal(ty(*a), result, "first operand")?;
                self.equal(ty(*b), result, "second operand")?;
                let float = matches!(op, FAdd | FSub | FMul | FDiv | FRem);
                need(
                    if float { is_float(result) } else { is_int(result) },
                    "operands do not fit the operation",
                )
            }
            InstKind::Cast { op, arg } => self.cast(*op, ty(*arg), result),
            InstKind::Icmp { args: [a, b], .. } | InstKind::Fcmp { args: [a, b], .. } => {
                self.equal(ty(*b), ty(*a), "second operand")?;
                let float = matches!(data.kind, InstKind::Fcmp { .. });
                let fits = if float { is_float(ty(*a)) } else { is_int(ty(*a)) || is_ptr(ty(*a)) };
                need(fits, "operands cannot be compared so")?;
                need(
                    same_shape(result, ty(*a)) && result.scalar() == Some(Scalar::Int(1)),
                    "result must be i1",
                )
            }
            InstKind::Select { cond, if_true, if_false } => {
                self.equal(ty(*if_true), result, "second operand")?;
                self.equal(ty(*if_false), result, "third operand")?;
                let cond = ty(*cond);
                let lanes = matches!(cond, Type::Vector(Scalar::Int(1), n) if result.lanes() == n);
                need(cond == Type::I1 || lanes, "condition must be i1")
            }
            InstKind::PtrAdd { base, index, .. } => {
                let base = ty(*base);
                need(
                    is_ptr(result) && base.scalar() == result.scalar(),
                    "base and result must be like pointers",
                )?;
                let lanes = |ty: Type| !matches!(ty, Type::Vector(..)) || same_shape(ty, result);
                need(lanes(base), "base has other lanes")?;
                match index.map(ty) {
                    Some(index) => need(is_int(index) && lanes(index), "index must be an integer"),
                    None => Ok(()),
                }
            }
            InstKind::Alloca { count, .. } => {
                need(matches!(result, Type::Scalar(Scalar::Ptr(_))), "result must be a pointer")?;
                need(count.is_none_or(|count| is_int(ty(count))), "count must be an integer")
            }
            InstKind::Load { ptr, mem } => self.access(ty(*ptr), result, mem),
            InstKind::Store { ptr, value, mem } => {
                need(result == Type::Void, "a store has no result")?;
                self.access(ty(*ptr), ty(*value), mem)
            }
            InstKind::AtomicRmw { ptr, value, mem, .. } => {
                self.equal(ty(*value), result, "operand")?;
                self.access(ty(*ptr), result, mem)
            }
            InstKind::CmpXchg { ptr, expected, replacement, mem, .. } => {
                self.equal(ty(*replacement), ty(*expected), "replacement")?;
                self.access(ty(*ptr), ty(*expected), mem)?;
                let member = |index| self.module.types.at_path(result, &[index]);
                need(
                    member(0) == Some(ty(*expected)) && member(1) == Some(Type::I1),
                    "result must be { T, i1 }",
                )
            }
            InstKind::Fence { .. } | InstKind::Unreachable => {
                need(result == Type::Void, "there is no result")
            }
            InstKind::ExtractElement { vector, index } => {
                let Type::Vector(scalar, _) = ty(*vector) else {
                    return need(false, "operand must be a vector");
                };
                need(is_int(ty(*index)), "index must be an integer")?;
                self.equal(result, Type::Scalar(scalar), "result")
            }
            InstKind::InsertElement { vector, element, index } => {
                self.equal(ty(*vector), result, "vector")?;
                let Type::Vector(scalar, _) = result else { return need(false, "operand must be a vector") };
                need(is_int(ty(*index)), "index must be an integer")?;
                self.equal(ty(*element), Type::Scalar(scalar), "element")
            }
            InstKind::Shuffle { args: [a, b], mask } => {
                let Type::Vector(scalar, lanes) = ty(*a) else {
                    return need(false, "operands must be vectors");
                };
                self.equal(ty(*b), ty(*a), "second operand")?;
                let limit = u64::from(lanes) * 2;
                need(mask.iter().flatten().all(|&lane| u64::from(lane) < limit), "mask is out of range")?;
                self.equal(result, Type::Vector(scalar, mask.len() as u32), "result")
            }
            InstKind::ExtractValue { aggregate, path } => {
                let member = self.module.types.at_path(ty(*aggregate), path);
                need(member == Some(result) && !path.is_empty(), "result is not the member's type")
            }
            InstKind::InsertValue { aggregate, value, path } => {
                self.equal(ty(*aggregate), result, "aggregate")?;
                let member = self.module.types.at_path(result, path);
                need(member == Some(ty(*value)) && !path.is_empty(), "operand is not of the member's type")
            }
            InstKind::Call { callee, .. } => self.call(*callee),
            InstKind::Intrinsic { .. } | InstKind::InlineAsm { .. } => Ok(()),
            InstKind::Jump { .. } => need(result == Type::Void, "there is no result"),
            InstKind::Branch { cond, .. } => {
                need(result == Type::Void, "there is no result")?;
                self.equal(ty(*cond), Type::I1, "condition")
            }
            InstKind::Switch { value, .. } => {
                need(result == Type::Void, "there is no result")?;
                need(matches!(ty(*value), Type::Scalar(Scalar::Int(1..=64))), "operand must be an integer")
            }
            InstKind::Ret { value } => {
                need(result == Type::Void, "there is no result")?;
                if self.lowered {
                    return Ok(());
                }
                self.equal(value.map_or(Type::Void, ty), self.function.ret, "returned value")
            }
        }
    }

    fn cast(&self, op: CastOp, from: Type, to: Type) -> Result<(), String> {
        use CastOp::*;
        let width = |ty: Type| ty.scalar().map_or(0, Scalar::bits);
        let fits = match op {
            Trunc => is_int(from) && is_int(to) && width(from) > width(to),
            ZExt | SExt => is_int(from) && is_int(to) && width(from) < width(to),
            FpTrunc => is_float(from) && is_float(to) && width(from) > width(to),
            FpExt => is_float(from) && is_float(to) && width(from) < width(to),
            FpToUi | FpToSi => is_float(from) && is_int(to),
            UiToFp | SiToFp => is_int(from) && is_float(to),
            PtrToInt => is_ptr(from) && is_int(to),
            IntToPtr => is_int(from) && is_ptr(to),
            AddrSpaceCast => is_ptr(from) && is_ptr(to),
            BitCast => {
                return ensure(from.bits().is_some() && from.bits() == to.bits(), || {
                    "widths differ".to_owned()
                });
            }
        };
        ensure(fits && same_shape(from, to), || {
            let types = &self.module.types;
            format!("no {} from {} to {}", op.word(), types.display(from), types.display(to))
        })
    }

    fn access(&self, ptr: Type, data: Type, mem: &MemAccess) -> Result<(), String> {
        let Type::Scalar(Scalar::Ptr(space)) = ptr else {
            return Err("address must be a pointer".to_owned());
        };
        ensure(space == mem.space, || format!("address space {} is not the pointer's", mem.space.0))?;
        ensure(data != Type::Void, || "access to nothing".to_owned())
    }

    fn call(&self, callee: Callee) -> Result<(), String> {
        let Callee::Indirect(pointer) = callee else { return Ok(()) };
        let ty = self.function.ty(pointer);
        let fits = matches!(ty, Type::Scalar(Scalar::Ptr(_))) || self.lowered && ty.is_int(64);
        ensure(fits, || "callee must be a pointer".to_owned())
    }

    fn dominance(&mut self) {
        let function = self.function;
        if function.layout.is_empty() {
            return;
        }
        let graph = Csr::of_ir(function);
        let order = Order::reverse_post_order(&graph);
        let dominators = Dominators::new(&graph, &order);
        let mut seen_params: SecondaryMap<Value, bool> = SecondaryMap::new();
        for &block in &function.layout {
            for &param in &function.blocks[block].params {
                seen_params[param] = true;
            }
        }
        for &block in &function.layout {
            // Nothing is wrong where control never gets to.
            if !order.contains(block.index() as u32) {
                continue;
            }
            for (position, &inst) in function.blocks[block].insts.iter().enumerate() {
                let mut bad = None;
                function.insts[inst].kind.for_each_value(|value| {
                    let reaches = match function.values[value].def {
                        ValueDef::Const(_) => true,
                        ValueDef::FuncParam(index) => {
                            function.params.get(index as usize).is_some_and(|param| param.value == value)
                        }
                        ValueDef::BlockParam(def, _) => {
                            seen_params[value] && dominators.dominates(def.as_u32(), block.as_u32())
                        }
                        ValueDef::Inst(def) => match self.places[def] {
                            Some((place, at)) if place == block => at < position as u32,
                            Some((place, _)) => dominators.dominates(place.as_u32(), block.as_u32()),
                            None => false,
                        },
                    };
                    if !reaches {
                        bad = Some(value);
                    }
                });
                if let Some(value) = bad {
                    self.report(Some(inst), format!("{value} does not dominate this use"));
                }
            }
        }
    }
}

impl Function {
    /// What `inst` is and at which types, for messages: `i32 = binary i32, i32`.
    pub fn describe(&self, types: &TypeTable, inst: Inst) -> String {
        let data = &self.insts[inst];
        let what = match &data.kind {
            InstKind::Intrinsic { intrinsic, .. } => format!("call llvm.{}", intrinsic.name()),
            InstKind::InlineAsm { asm, .. } => match self.inline_asm.get(*asm) {
                Some(asm) => format!("asm {:?}, {:?}", asm.text, asm.constraints),
                None => "asm".to_owned(),
            },
            kind => {
                let debug = format!("{kind:?}");
                debug.split([' ', '{', '(']).next().unwrap_or_default().to_lowercase()
            }
        };
        let mut operands = Vec::new();
        data.kind.for_each_value(|v| operands.push(types.display(self.ty(v)).to_string()));
        format!("{} = {what} {}", types.display(data.ty), operands.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Complaints about the function `f`, whose text is given, as `message` strings.
    fn complaints(body: &str) -> Vec<String> {
        let module = parse_module(&format!("global @g addrspace(3) size 4 align 4\n{body}"), "test").unwrap();
        match verify_module(&module) {
            Ok(()) => Vec::new(),
            Err(errors) => errors.into_iter().map(|error| error.message).collect(),
        }
    }

    #[test]
    fn accepts_a_loop() {
        let text = "define device i32 @f(v0: i32) {\nblock0:\n  jump block1(i32 0)\nblock1(v1: i32):\n  \
            v2: i32 = add nuw v1, i32 1\n  v3: i1 = icmp ult v2, v0\n  br v3, block1(v2), block2\n\
            block2:\n  ret v1\n}\n";
        assert_eq!(complaints(text), [""; 0]);
    }

    #[test]
    fn refuses_uses_that_are_not_dominated() {
        let text = "define device i32 @f(v0: i1) {\nblock0:\n  br v0, block1, block2\nblock1:\n  \
            v2: i32 = add i32 1, i32 2\n  jump block2\nblock2:\n  ret v2\n}\n";
        assert_eq!(complaints(text), ["v2 does not dominate this use"]);
        let text = "define device i32 @f() {\nblock0:\n  v1: i32 = add v2, i32 2\n  v2: i32 = add v1, i32 2\n  \
            ret v2\n}\n";
        assert_eq!(complaints(text), ["v2 does not dominate this use"]);
    }

    #[test]
    fn refuses_wrong_types() {
        let body = |inst: &str| {
            format!("define device void @f(v0: i32, v1: float) {{\nblock0:\n  {inst}\n  ret\n}}\n")
        };
        let cases = [
            ("v2: i32 = add v0, i64 1", "second operand of type i64, not i32"),
            ("v2: float = add v1, v1", "operands do not fit the operation"),
            ("v2: i32 = zext v0", "no zext from i32 to i32"),
            ("v2: i32 = load v0 addrspace(1) align 4", "address must be a pointer"),
            (
                "v2: i32 = load ptr addrspace(3) @g addrspace(1) align 4",
                "address space 1 is not the pointer's",
            ),
            ("v2: i1 = icmp eq v1, v1", "operands cannot be compared so"),
            ("v2: i32 = select v0, v0, v0", "condition must be i1"),
            ("call indirect v0 (v1)", "callee must be a pointer"),
            ("v2: i32 = extractvalue { i32, i64 } zero [1]", "result is not the member's type"),
        ];
        for (inst, message) in cases {
            assert_eq!(complaints(&body(inst)), [message], "{inst}");
        }
    }

    #[test]
    fn refuses_broken_structure() {
        let text = "define device void @f() {\nblock0:\n  ret\n  ret\n}\n";
        assert_eq!(complaints(text), ["block0 must end in its only terminator"]);
        let text = "define device void @f() {\nblock0:\n  jump block1(i32 1)\nblock1:\n  ret\n}\n";
        assert_eq!(complaints(text), ["1 arguments for 0 parameters of block1"]);
        let text = "define device void @f() {\nblock0:\n  jump block0\n}\n";
        assert_eq!(complaints(text), ["branch to the entry"]);
        let text = "define device void @f() {\nblock0:\n  jump block7\n}\n";
        assert_eq!(complaints(text), ["block7 is not in the layout"]);
    }
}
