//! Inline assembly: operands as dwords, places settled.
//!
//! In legal IR each operand in registers is one `i32`, or a vector of them, whatever type it had; constants
//! are `i64`, but for addresses of symbols. Several results are a struct of such dwords, whose members are
//! extracted right behind. The constraint string is written anew with one code for each entry (the one that
//! LLVM would choose), so that selection has nothing to decide.
//!
//! What is refused here is what LLVM refuses, in its words: a type that no register class of that file has, a
//! constant that the code does not allow, a tuple of another width than the operand. Cost: linear in dwords.

use super::{Legalizer, Parts};
use mir::ir::*;
use mir::machine::{PReg, RegFile};
use mir::target::Features;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

type Words = SmallVec<[Value; 8]>;

/// The legal type of an operand of so many dwords.
fn word_type(dwords: u32) -> Type {
    if dwords == 1 { Type::I32 } else { Type::Vector(Scalar::Int(32), dwords) }
}

/// The legal form of a result of type `ty`, which is a scalar or a vector.
fn legal_type(ty: Type) -> Type {
    word_type((ty.bits().unwrap_or(32) as u32).div_ceil(32).max(1))
}

/// Adds the structs that inline assembly with several results returns in legal IR.
pub fn add_result_types(module: &mut Module) {
    let mut wanted: Vec<Vec<Type>> = Vec::new();
    for function in module.functions.values() {
        for (inst, data) in
            function.insts.iter().filter(|(_, data)| matches!(data.kind, InstKind::InlineAsm { .. }))
        {
            let results = outputs(&module.types, function, inst, data).unwrap_or_default();
            if results.len() > 1 {
                wanted.push(results.into_iter().map(legal_type).collect());
            }
        }
    }
    for fields in wanted {
        module.types.struct_of(&fields, false);
    }
}

/// The types of all outputs: those of the result, and what the addresses of indirect ones are said to point
/// to.
fn outputs(types: &TypeTable, function: &Function, inst: Inst, data: &InstData) -> Result<Vec<Type>> {
    let InstKind::InlineAsm { asm, .. } = data.kind else { return Ok(Vec::new()) };
    let Some(asm) = function.inline_asm.get(asm) else {
        return Err(Diagnostic::malformed("inline assembly that does not exist"));
    };
    let operands = asm.operands()?;
    let count = operands.iter().filter(|operand| operand.is_result()).count();
    let direct = match (count, data.ty) {
        (0, Type::Void) => Vec::new(),
        (1, ty) if !matches!(ty, Type::Aggregate(_) | Type::Void) => vec![ty],
        _ => members(types, data.ty).unwrap_or_default(),
    };
    if direct.len() != count {
        return Err(Diagnostic::malformed("the results of inline assembly are not those of its constraints"));
    }
    let mut direct = direct.into_iter();
    let (mut out, mut arg) = (Vec::new(), 0);
    for operand in &operands {
        match operand.role {
            AsmRole::Output if operand.indirect => {
                let site = function.call_sites.get(&inst);
                let pointee = site.and_then(|site| site.args.get(arg)?.indirect.as_ref()).map(|to| to.ty);
                out.push(pointee.ok_or_else(|| {
                    Diagnostic::malformed("an indirect operand of inline assembly without elementtype")
                })?);
                arg += 1;
            }
            AsmRole::Output => out.extend(direct.next()),
            AsmRole::Input => arg += 1,
            AsmRole::Clobber => {}
        }
    }
    Ok(out)
}

/// The members of a struct.
fn members(types: &TypeTable, ty: Type) -> Option<Vec<Type>> {
    let Type::Aggregate(agg) = ty else { return None };
    match &types.aggregates[agg] {
        Aggregate::Struct { fields, .. } => Some(fields.iter().map(|field| field.0).collect()),
        Aggregate::Array { .. } => None,
    }
}

/// An entry whose place is settled.
struct Settled {
    code: String,
    /// Dwords in registers; 0 for constants.
    dwords: u32,
}

impl Legalizer<'_> {
    pub(super) fn lower_asm(
        &mut self,
        asm: InlineAsmId,
        args: &[Value],
        side_effects: bool,
    ) -> Result<Parts> {
        let Some(asm) = self.old.inline_asm.get(asm) else {
            return Err(Diagnostic::malformed("inline assembly that does not exist"));
        };
        let operands = asm.operands()?;
        let data = &self.old.insts[self.current];
        let results = outputs(&self.ctx.module.types, self.old, self.current, data)?;
        let mut settled: Vec<Settled> = Vec::with_capacity(operands.len());
        let mut new_args: SmallVec<[Value; 4]> = SmallVec::new();
        // Addresses of outputs that go to memory.
        let mut addresses: Vec<Option<Value>> = Vec::with_capacity(results.len());
        let (mut next_result, mut next_arg) = (results.iter(), args.iter());
        let missing = || Diagnostic::malformed("inline assembly has fewer arguments than constraints");
        for operand in &operands {
            let registers = !operand.places.is_empty();
            if operand.indirect && !(registers && operand.role == AsmRole::Output) {
                return Err(Diagnostic::unsupported(match registers {
                    true => format!(
                        "don't know how to handle indirect register inputs yet for constraint '{}'",
                        operand.code
                    ),
                    false => format!("could not match memory address of constraint '*{}'", operand.code),
                }));
            }
            let entry = match operand.role {
                AsmRole::Clobber => Settled { code: format!("~{}", operand.code), dwords: 0 },
                AsmRole::Output => {
                    let ty = next_result.next().copied().unwrap_or(Type::I32);
                    addresses.push(match operand.indirect {
                        true => Some(*next_arg.next().ok_or_else(missing)?),
                        false => None,
                    });
                    let what = "couldn't allocate output register for constraint";
                    let (code, dwords) = self.registers(operand, ty, what)?;
                    let early = if operand.early { "&" } else { "" };
                    Settled { code: format!("={early}{code}"), dwords }
                }
                AsmRole::Input => {
                    let &arg = next_arg.next().ok_or_else(missing)?;
                    self.input(operand, arg, &operands, &settled, &mut new_args)?
                }
            };
            settled.push(entry);
        }
        if next_arg.next().is_some() {
            return Err(Diagnostic::malformed("inline assembly has more arguments than constraints"));
        }
        let codes: Vec<&str> = settled.iter().map(|entry| entry.code.as_str()).collect();
        let asm = InlineAsm { text: asm.text.clone(), constraints: codes.join(",") };
        let words = self.push_asm(asm, new_args, side_effects, &results)?;
        let mut out = Parts::new();
        for ((&ty, words), address) in results.iter().zip(&words).zip(addresses) {
            let Some(address) = address else {
                self.asm_parts(ty, words, &mut out)?;
                continue;
            };
            let types = &self.ctx.module.types;
            let align = types.abi_align(ty).checked_ilog2().unwrap_or(0) as u8;
            let bytes = types.store_bytes(ty);
            let pointer = self.raw_parts(address)?;
            let &[pointer] = pointer.as_slice() else {
                return Err(Diagnostic::malformed(
                    "an indirect operand of inline assembly that is no pointer",
                ));
            };
            let space = self.b.ty(pointer).addr_space().unwrap_or(AddrSpace::FLAT);
            self.store_dwords(pointer, MemAccess::plain(space, align), bytes, words)?;
        }
        Ok(out)
    }

    /// The instruction, and the dwords of each of its results.
    fn push_asm(
        &mut self,
        asm: InlineAsm,
        args: SmallVec<[Value; 4]>,
        side_effects: bool,
        results: &[Type],
    ) -> Result<Vec<Words>> {
        let fields: Vec<Type> = results.iter().map(|&ty| legal_type(ty)).collect();
        let result_type =
            match fields[..] {
                [] => Type::Void,
                [one] => one,
                _ => self.ctx.module.types.find_struct(&fields).ok_or_else(|| {
                    Diagnostic::defect("the result type of inline assembly is not prepared")
                })?,
            };
        let asm = self.b.func.inline_asm.push(asm);
        let kind = InstKind::InlineAsm { asm, args, side_effects };
        let value = self.b.push(kind, result_type, InstFlags::empty());
        let Some(value) = value else { return Ok(Vec::new()) };
        // All are extracted first: nothing is to stand between.
        let mut whole: Vec<Value> = Vec::with_capacity(fields.len());
        match fields[..] {
            [_] => whole.push(value),
            _ => {
                for (index, &field) in fields.iter().enumerate() {
                    let path = std::iter::once(index as u32).collect();
                    let kind = InstKind::ExtractValue { aggregate: value, path };
                    whole.push(self.b.pure(kind, field, InstFlags::empty()));
                }
            }
        }
        let words = |(&field, &value): (&Type, &Value)| match field {
            Type::Vector(_, lanes) => (0..lanes).map(|lane| self.b.extract(value, lane)).collect(),
            _ => std::iter::once(value).collect(),
        };
        Ok(fields.iter().zip(&whole).map(words).collect())
    }

    /// Settles an input and appends its value.
    fn input(
        &mut self,
        operand: &AsmOperand,
        arg: Value,
        all: &[AsmOperand],
        before: &[Settled],
        args: &mut SmallVec<[Value; 4]>,
    ) -> Result<Settled> {
        let ty = self.old.ty(arg);
        let what = "couldn't allocate input reg for constraint";
        let (code, dwords) = match operand.places.first() {
            Some(&AsmPlace::SameAs(n)) => {
                let output = all.get(n as usize).filter(|o| o.role == AsmRole::Output);
                let (Some(output), Some(entry)) = (output, before.get(n as usize)) else {
                    return Err(Diagnostic::malformed(format!(
                        "inline assembly constraint '{n}' names no output"
                    )));
                };
                let (_, dwords) = self.registers(output, ty, what)?;
                if dwords != entry.dwords {
                    return Err(Diagnostic::unsupported(format!(
                        "unsupported asm: input constraint with a matching output constraint of incompatible type, '{n}'"
                    )));
                }
                (n.to_string(), dwords)
            }
            _ => {
                if let Some(constant) = self.asm_immediate(operand, arg)? {
                    args.push(constant);
                    return Ok(Settled { code: "i".to_owned(), dwords: 0 });
                }
                self.registers(operand, ty, what)?
            }
        };
        let words = self.asm_words(arg)?;
        if words.len() != dwords as usize {
            return Err(Diagnostic::defect("an operand of inline assembly has another width than its type"));
        }
        args.push(match words[..] {
            [one] => one,
            _ => self.b.vector(&words),
        });
        Ok(Settled { code, dwords })
    }

    /// The register code chosen for an operand of type `ty`, and its dwords. `what` begins the message where
    /// there is none.
    fn registers(&self, operand: &AsmOperand, ty: Type, what: &str) -> Result<(String, u32)> {
        let none = || Diagnostic::unsupported(format!("{what} '{}'", operand.code));
        let bits = ty.bits().ok_or_else(none)? as u32;
        let dwords = bits.div_ceil(32).max(1);
        let class =
            operand.places.iter().find(|place| matches!(place, AsmPlace::Class(_) | AsmPlace::Anything));
        match class.or(operand.places.first()) {
            Some(AsmPlace::Class(_) | AsmPlace::Anything) if !self.has_class(ty) => Err(none()),
            Some(AsmPlace::Class(RegFile::Vgpr)) => Ok(("v".to_owned(), dwords)),
            Some(AsmPlace::Class(RegFile::Sgpr) | AsmPlace::Anything) => Ok(("s".to_owned(), dwords)),
            Some(AsmPlace::Register(register)) => {
                let width = register.dwords.map_or(dwords, u32::from);
                // A single register takes the type as it is, in as many registers as it needs; what names its
                // width must have it.
                let fits = match register.dwords {
                    Some(named) => u32::from(named) * 32 == bits || register.first == PReg::SCC,
                    None => !matches!(ty, Type::Vector(..)) || bits == 32,
                };
                let aligned = register.first.is_vgpr() || {
                    let align = if register.dwords.is_none() { 1 } else { width.min(4).next_power_of_two() };
                    u32::from(register.first.0) % align == 0
                };
                let in_file =
                    |index: Option<u16>, count: u32| index.is_none_or(|n| u32::from(n) + width <= count);
                let exists =
                    in_file(register.first.vgpr_index(), self.ctx.machine.limits().addressable_vgprs)
                        && in_file(register.first.sgpr_index(), self.ctx.machine.processor.numbered_sgprs())
                        && mir::target::operands::register_code(
                            register.first,
                            self.ctx.machine.generation(),
                        )
                        .is_some();
                if !(fits && aligned && exists && (bits <= 64 || self.has_class(ty))) {
                    return Err(none());
                }
                Ok((operand.code.clone(), width))
            }
            _ => Err(none()),
        }
    }

    /// Whether values of type `ty` have a register class: what LLVM holds in registers as it is, and `i128`.
    fn has_class(&self, ty: Type) -> bool {
        let packs = self.ctx.machine.has(Features::INST_16BIT);
        match ty {
            Type::Scalar(Scalar::Int(bits)) => matches!(bits, 16 | 32 | 64 | 128),
            Type::Scalar(Scalar::Float(Float::BFloat)) => packs,
            Type::Scalar(_) => true,
            Type::Vector(scalar, lanes) => match scalar.bits() {
                16 => packs && matches!(lanes, 2 | 4 | 8 | 16 | 32),
                32 => matches!(lanes, 2..=12 | 16 | 32),
                64 => matches!(lanes, 2 | 3 | 4 | 8 | 16),
                _ => false,
            },
            Type::Void | Type::Aggregate(_) => false,
        }
    }

    /// The constant that an operand is, where its codes allow one; `None` where it is to be in registers.
    fn asm_immediate(&mut self, operand: &AsmOperand, arg: Value) -> Result<Option<Value>> {
        let kinds: SmallVec<[AsmImmediate; 2]> = operand
            .places
            .iter()
            .filter_map(|place| match place {
                AsmPlace::Immediate(kind) => Some(*kind),
                AsmPlace::Anything => Some(AsmImmediate::Number),
                _ => None,
            })
            .collect();
        if kinds.is_empty() {
            return Ok(None);
        }
        if kinds.contains(&AsmImmediate::Any)
            && let Some(Const::Symbol(symbol, offset)) = self.old.as_const(arg)
        {
            let ty = self.old.ty(arg);
            return Ok(Some(self.b.func.constant(ty, Const::Symbol(*symbol, *offset))));
        }
        if let Some((value, bits, is_float)) = self.constant_bits(arg)
            && kinds.iter().any(|&kind| self.allows(kind, value, bits, is_float))
        {
            return Ok(Some(self.b.int(Type::I64, value as u64)));
        }
        if operand.places.iter().any(|place| !matches!(place, AsmPlace::Immediate(_))) {
            return Ok(None);
        }
        Err(Diagnostic::unsupported(format!(
            "invalid operand for inline asm constraint '{}'",
            operand.code.trim_start_matches('^')
        )))
    }

    /// A constant as LLVM sees it: integers sign-extended, floating point as its bits; with the width of its
    /// scalars. Elements of a vector must be equal.
    fn constant_bits(&self, arg: Value) -> Option<(i64, u32, bool)> {
        let ty = self.old.ty(arg);
        let bits = ty.scalar()?.bits();
        if bits > 64 {
            return None;
        }
        let is_float = matches!(ty.scalar(), Some(Scalar::Float(_)));
        let extended = |raw: u64| match is_float {
            false if bits < 64 => ((raw << (64 - bits)) as i64) >> (64 - bits),
            _ => raw as i64,
        };
        let scalar = |value: Value| match self.old.as_const(value)? {
            Const::Int(raw) | Const::Float(raw) => Some(extended(*raw)),
            Const::Zero => Some(0),
            _ => None,
        };
        match self.old.as_const(arg)? {
            Const::Elements(elements) => {
                let first = scalar(*elements.first()?)?;
                let same = elements.iter().all(|&element| scalar(element) == Some(first));
                same.then_some((first, bits, is_float))
            }
            _ => Some((scalar(arg)?, bits, is_float)),
        }
    }

    /// Whether a constant fits what a code allows. Source: LLVM LangRef, constraint codes of AMDGPU.
    fn allows(&self, kind: AsmImmediate, value: i64, bits: u32, is_float: bool) -> bool {
        let inline_integer = |value: i64| (-16..=64).contains(&value);
        match kind {
            AsmImmediate::Any | AsmImmediate::Number => !is_float,
            AsmImmediate::Inline => inline_integer(value),
            AsmImmediate::Signed16 => i16::try_from(value).is_ok(),
            AsmImmediate::InlineValue => self.is_inline_value(value, bits),
            AsmImmediate::Signed32 => i32::try_from(value).is_ok(),
            AsmImmediate::Unsigned32 => {
                let unused = 64 - bits.min(64);
                (((value as u64) << unused) >> unused) <= u64::from(u32::MAX) || inline_integer(value)
            }
            AsmImmediate::InlineHalves => {
                self.is_inline_value(i64::from(value as i32), 32)
                    && self.is_inline_value(i64::from((value >> 32) as i32), 32)
            }
            AsmImmediate::Any64 => true,
        }
    }

    /// Whether `value` is an inline constant for operands of `bits` bits, as integer or as floating-point
    /// number.
    fn is_inline_value(&self, value: i64, bits: u32) -> bool {
        use mir::isa::ValueType;
        let ty = match bits {
            16 => ValueType::F16,
            64 => ValueType::F64,
            _ => ValueType::F32,
        };
        if bits < 16 || (bits == 16 && !self.ctx.machine.has(Features::INST_16BIT)) {
            return (-16..=64).contains(&value) && bits >= 16;
        }
        let signed = ((value as u64) << (64 - bits)) as i64 >> (64 - bits);
        (-16..=64).contains(&signed)
            || mir::target::operands::inline_constant(value, ty, self.ctx.machine.generation()).is_some()
    }

    /// The dwords of an operand.
    fn asm_words(&mut self, arg: Value) -> Result<Words> {
        let ty = self.old.ty(arg);
        let parts = self.parts(arg)?;
        let Some(scalar) = ty.scalar() else {
            return Err(Diagnostic::unsupported("a struct or an array as operand of inline assembly"));
        };
        if scalar.bits() == 16 && (matches!(ty, Type::Vector(..)) || matches!(scalar, Scalar::Float(_))) {
            return Ok(self.split_dwords(&parts, scalar));
        }
        let mut words = super::functions::Dwords::new();
        let each = self.element_parts(scalar);
        for parts in parts.chunks(each) {
            self.push_scalar_dwords(scalar, parts, ParamFlags::empty(), &mut words);
        }
        Ok(words)
    }

    /// The parts of a result.
    fn asm_parts(&mut self, ty: Type, words: &[Value], out: &mut Parts) -> Result<()> {
        let Some(scalar) = ty.scalar() else {
            return Err(Diagnostic::unsupported("a struct or an array as result of inline assembly"));
        };
        if scalar.bits() == 16 && (matches!(ty, Type::Vector(..)) || matches!(scalar, Scalar::Float(_))) {
            for lane in 0..ty.lanes() {
                self.join_dwords(words, 16 * lane, scalar, out);
            }
            return Ok(());
        }
        for words in words.chunks(scalar.bits().div_ceil(32) as usize) {
            self.push_scalar(scalar, words, out);
        }
        Ok(())
    }
}
