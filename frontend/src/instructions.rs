//! Instructions, one by one: operands, and what metadata adds.

use crate::body::Body;
use crate::enums::{self, binary_op, cast_op, float_predicate, int_predicate, ordering, rmw_op, when};
use crate::kinds::attribute_kinds;
use crate::llvm::{
    AttributeValue, InstRef, LLVMGEPFlagInBounds, LLVMGEPFlagNUW, LLVMOpcode, LLVMValueKind, ValueRef,
};
use crate::reader::Meaning;
use crate::strict::{self, Strict};
use mir::ir::{
    AddrSpace, Callee, CastOp, Const, Float, Func, Inst, InstFlags, InstKind, IntPredicate, Intrinsic,
    MemAccess, MemFlags, Ordering, Param, Scalar, SymbolRef, SyncScope, Type, UnaryOp, Value,
};
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// Operand bundles that change what a call does. Others tell run times of languages about values, or restrict transformations that nobody does here.
const CALL_CHANGING_BUNDLES: [&str; 4] = ["clang.arc.attachedcall", "kcfi", "preallocated", "ptrauth"];

/// Whether one of the ranges of numbers `node`, each up to its end, has `number`.
fn has_number(node: ValueRef<'_>, number: u64) -> bool {
    let ends: Vec<u64> = node.node_operands().into_iter().flatten().filter_map(ValueRef::as_u64).collect();
    ends.chunks_exact(2).any(|range| (range[0]..range[1]).contains(&number))
}

/// The memory that a fence with the annotations `node` orders: a tag, or a list of them. Those of another kind say nothing about it, and what is not known
/// here orders all.
///
/// Source: AMDGPU usage guide, "Memory Model", `amdgpu-synchronize-as`.
fn synchronised(node: ValueRef<'_>) -> AddrSpace {
    let operands: Vec<ValueRef<'_>> = node.node_operands().into_iter().flatten().collect();
    let tag = |node: &[ValueRef<'_>]| match node {
        [prefix, suffix] => Some((prefix.md_string()?, suffix.md_string()?)),
        _ => None,
    };
    let tags: Vec<(String, String)> = match tag(&operands) {
        Some(tag) => vec![tag],
        None => operands
            .iter()
            .filter_map(|node| tag(&node.node_operands().into_iter().flatten().collect::<Vec<_>>()))
            .collect(),
    };
    let spaces = tags.iter().filter(|(prefix, _)| prefix == "amdgpu-synchronize-as");
    let mut only = None;
    for (_, space) in spaces {
        let space = match space.as_str() {
            "global" => AddrSpace::GLOBAL,
            "local" => AddrSpace::LOCAL,
            _ => return AddrSpace::FLAT,
        };
        if only.is_some_and(|known| known != space) {
            return AddrSpace::FLAT;
        }
        only = Some(space);
    }
    only.unwrap_or(AddrSpace::FLAT)
}

/// The weakest ordering that is at least as strong as both.
fn merged([success, failure]: [Ordering; 2]) -> Ordering {
    match (success, failure) {
        (Ordering::Release, Ordering::Acquire) => Ordering::AcqRel,
        (success, failure) => success.max(failure),
    }
}

/// Integer constant arguments that name a size keep their type; metadata arguments are left out.
fn is_metadata(value: ValueRef<'_>) -> bool {
    value.kind() == LLVMValueKind::LLVMMetadataAsValueValueKind
}

/// A constrained operation on arguments without their metadata.
fn strict_operation<'m>(
    strict: Strict,
    args: SmallVec<[Value; 4]>,
    metadata: impl Iterator<Item = ValueRef<'m>>,
) -> Result<InstKind> {
    let short = || Diagnostic::malformed("missing operand");
    let first = *args.first().ok_or_else(short)?;
    let second = || args.get(1).copied().ok_or_else(short);
    Ok(match strict {
        Strict::Binary(op) => InstKind::Binary { op, args: [first, second()?] },
        Strict::Cast(op) => InstKind::Cast { op, arg: first },
        Strict::Compare => {
            let predicate =
                strict::predicate(metadata).ok_or_else(|| Diagnostic::malformed("unknown predicate"))?;
            InstKind::Fcmp { predicate, args: [first, second()?] }
        }
        Strict::Call(intrinsic) => InstKind::Intrinsic { intrinsic, args },
    })
}

impl<'m> Body<'_, 'm> {
    /// The instruction's kind. Instructions that its constants need are placed in the block before it.
    pub(crate) fn translate(&mut self, inst: InstRef<'m>, ours: Inst, ty: Type) -> Result<InstKind> {
        use LLVMOpcode::*;
        let opcode = inst.opcode();
        if let Some(op) = binary_op(opcode) {
            return Ok(InstKind::Binary { op, args: self.pair(inst)? });
        }
        if let Some(op) = cast_op(opcode) {
            return Ok(InstKind::Cast { op, arg: self.operand(inst, 0)? });
        }
        Ok(match opcode {
            LLVMFNeg => InstKind::Unary { op: UnaryOp::FNeg, arg: self.operand(inst, 0)? },
            LLVMFreeze => InstKind::Unary { op: UnaryOp::Freeze, arg: self.operand(inst, 0)? },
            LLVMICmp => {
                let predicate = inst.int_predicate().ok_or_else(|| Diagnostic::defect("no predicate"))?;
                InstKind::Icmp { predicate: int_predicate(predicate), args: self.pair(inst)? }
            }
            LLVMFCmp => {
                let predicate = inst.float_predicate().ok_or_else(|| Diagnostic::defect("no predicate"))?;
                InstKind::Fcmp { predicate: float_predicate(predicate), args: self.pair(inst)? }
            }
            LLVMSelect => InstKind::Select {
                cond: self.operand(inst, 0)?,
                if_true: self.operand(inst, 1)?,
                if_false: self.operand(inst, 2)?,
            },
            LLVMAlloca => self.alloca(inst)?,
            LLVMLoad => InstKind::Load { ptr: self.operand(inst, 0)?, mem: self.access(inst, 0)? },
            LLVMStore => InstKind::Store {
                value: self.operand(inst, 0)?,
                ptr: self.operand(inst, 1)?,
                mem: self.access(inst, 1)?,
            },
            LLVMAtomicRMW => InstKind::AtomicRmw {
                op: rmw_op(inst.rmw_op().ok_or_else(|| Diagnostic::defect("no operation"))?),
                ptr: self.operand(inst, 0)?,
                value: self.operand(inst, 1)?,
                mem: self.access(inst, 0)?,
            },
            LLVMAtomicCmpXchg => InstKind::CmpXchg {
                ptr: self.operand(inst, 0)?,
                expected: self.operand(inst, 1)?,
                replacement: self.operand(inst, 2)?,
                mem: self.access(inst, 0)?,
                weak: inst.weak(),
            },
            LLVMFence => {
                let (scope, one) = self.scope(inst)?;
                let flags = if one { MemFlags::ONE_ADDRESS_SPACE } else { MemFlags::empty() };
                let space = inst.metadata(self.reader.kinds.mmra).map_or(AddrSpace::FLAT, synchronised);
                InstKind::Fence { ordering: ordering(inst.orderings()[0]), scope, flags, space }
            }
            LLVMExtractElement => {
                let [vector, index] = self.pair(inst)?;
                InstKind::ExtractElement { vector, index }
            }
            LLVMInsertElement => InstKind::InsertElement {
                vector: self.operand(inst, 0)?,
                element: self.operand(inst, 1)?,
                index: self.operand(inst, 2)?,
            },
            LLVMShuffleVector => {
                InstKind::Shuffle { args: self.pair(inst)?, mask: inst.shuffle_mask().into() }
            }
            LLVMExtractValue => InstKind::ExtractValue {
                aggregate: self.operand(inst, 0)?,
                path: SmallVec::from_slice(inst.indices()),
            },
            LLVMInsertValue => {
                let [aggregate, value] = self.pair(inst)?;
                InstKind::InsertValue { aggregate, value, path: SmallVec::from_slice(inst.indices()) }
            }
            // Without exceptions, an `invoke` is a call and a jump to where it returns.
            LLVMCall | LLVMInvoke => self.call(inst, ours, ty)?,
            LLVMBr => self.branch(inst)?,
            LLVMSwitch => self.switch(inst)?,
            LLVMIndirectBr => self.indirect_branch(inst)?,
            LLVMRet => {
                let value = if inst.num_operands() == 0 { None } else { Some(self.operand(inst, 0)?) };
                InstKind::Ret { value }
            }
            LLVMVAArg => self.next_argument(inst, ty)?,
            LLVMUnreachable | LLVMResume => InstKind::Unreachable,
            other => {
                let name = format!("{other:?}");
                let name = name.strip_prefix("LLVM").unwrap_or(&name).to_lowercase();
                return Err(Diagnostic::unsupported(format!("unsupported instruction {name}")));
            }
        })
    }

    fn pair(&mut self, inst: InstRef<'m>) -> Result<[Value; 2]> {
        Ok([self.operand(inst, 0)?, self.operand(inst, 1)?])
    }

    fn alloca(&mut self, inst: InstRef<'m>) -> Result<InstKind> {
        let allocated = inst.allocated_type().ok_or_else(|| Diagnostic::defect("alloca without a type"))?;
        let ty = self.reader.ty(allocated)?;
        // Modules whose data layout has no space for stack objects, as of producers before LLVM 6, have them in the generic one.
        let space = inst.value().ty().address_space();
        let generic = space == mir::ir::AddrSpace::FLAT.0 && !self.reader.stack_is_private;
        if space != mir::ir::AddrSpace::PRIVATE.0 && !generic {
            return Err(Diagnostic::malformed("alloca on amdgpu must be in addrspace(5)"));
        }
        let count = match inst.operand(0) {
            Some(count) if count.as_u64() != Some(1) => Some(self.value(count)?),
            _ => None,
        };
        let kind = InstKind::Alloca {
            size_bytes: self.reader.module.types.alloc_bytes(ty),
            count,
            align_log2: inst.alignment().max(1).ilog2() as u8,
        };
        if !generic {
            return Ok(kind);
        }
        let object = self.function.append(self.block, kind, Type::ptr(mir::ir::AddrSpace::PRIVATE));
        let object = object.ok_or_else(|| Diagnostic::defect("alloca without a result"))?;
        Ok(InstKind::Cast { op: mir::ir::CastOp::AddrSpaceCast, arg: object })
    }

    /// The access of a memory instruction whose pointer is operand `pointer`.
    fn access(&mut self, inst: InstRef<'m>, pointer: u32) -> Result<MemAccess> {
        let pointer = inst.operand(pointer).ok_or_else(|| Diagnostic::malformed("missing pointer"))?;
        let space = pointer.ty().address_space();
        let align_log2 = inst.alignment().max(1).ilog2() as u8;
        let mut mem = MemAccess::plain(mir::ir::AddrSpace(space), align_log2);
        mem.flags.set(MemFlags::VOLATILE, inst.volatile());
        mem.ordering = merged(inst.orderings().map(ordering));
        if mem.ordering != Ordering::NotAtomic {
            let (scope, one) = self.scope(inst)?;
            mem.scope = scope;
            mem.flags.set(MemFlags::ONE_ADDRESS_SPACE, one);
        }
        if inst.has_metadata() {
            let kinds = &self.reader.kinds;
            let has = |kind| inst.metadata(kind).is_some();
            mem.flags.set(MemFlags::NONTEMPORAL, has(kinds.nontemporal));
            if inst.opcode() == LLVMOpcode::LLVMLoad {
                mem.flags.set(MemFlags::INVARIANT, has(kinds.invariant_load));
                mem.flags.set(MemFlags::NO_CLOBBER, has(kinds.noclobber));
            }
            let device = has(kinds.no_fine_grained) || has(kinds.no_remote);
            mem.flags.set(MemFlags::DEVICE_MEMORY, device);
            let elsewhere = inst.metadata(kinds.noalias_space);
            let not_private = elsewhere.is_some_and(|node| has_number(node, AddrSpace::PRIVATE.0.into()));
            mem.flags.set(MemFlags::NOT_PRIVATE, not_private);
            let (scopes, others) = (inst.metadata(kinds.alias_scope), inst.metadata(kinds.noalias));
            mem.set = self.scopes.set(scopes, others);
        }
        Ok(mem)
    }

    fn scope(&mut self, inst: InstRef<'m>) -> Result<(SyncScope, bool)> {
        let scope = inst.sync_scope().and_then(|id| self.reader.scope(id));
        scope.ok_or_else(|| Diagnostic::unsupported("unknown synchronisation scope"))
    }

    /// Emits a `getelementptr` as a chain of [`InstKind::PtrAdd`], one for each variable index. The last one
    /// is `last`, an instruction that exists already and that the caller places, or a new one that is placed
    /// at once.
    pub(crate) fn pointer_chain(&mut self, gep: ValueRef<'m>, ty: Type, last: Option<Inst>) -> Result<Value> {
        let steps = self.reader.steps(gep)?;
        let llvm_flags = gep.gep_flags();
        let nuw = when(llvm_flags & LLVMGEPFlagNUW != 0, InstFlags::NUW);
        let inbounds = when(llvm_flags & LLVMGEPFlagInBounds != 0, InstFlags::INBOUNDS);
        // LLVM promises that each of its steps stays in bounds; ours are the same steps only in the same
        // order.
        let partial = if steps.constant_last { inbounds | nuw } else { nuw };
        let single = steps.variable.len() < 2;
        let base = gep.operand(0).ok_or_else(|| Diagnostic::malformed("missing operand"))?;
        let mut base = self.value(base)?;
        let (last_index, first) = match steps.variable.split_last() {
            Some((&(index, scale), first)) => (Some((self.value(index)?, scale)), first),
            None => (None, &[][..]),
        };
        for &(index, scale) in first {
            let index = Some(self.value(index)?);
            base = self.emit(InstKind::PtrAdd { base, index, scale, offset: 0 }, ty, partial)?;
        }
        let kind = InstKind::PtrAdd {
            base,
            index: last_index.map(|(index, _)| index),
            scale: last_index.map_or(0, |(_, scale)| scale),
            offset: steps.offset,
        };
        let flags = if single { inbounds | nuw } else { partial };
        match last {
            Some(inst) => {
                self.function.insts[inst].kind = kind;
                self.function.insts[inst].flags = flags;
                self.function.insts[inst].result.ok_or_else(|| Diagnostic::defect("pointer without a value"))
            }
            None => self.emit(kind, ty, flags),
        }
    }

    fn call(&mut self, inst: InstRef<'m>, ours: Inst, ty: Type) -> Result<InstKind> {
        if let Some(tag) =
            inst.bundle_tags().into_iter().find(|tag| CALL_CHANGING_BUNDLES.contains(&tag.as_str()))
        {
            return Err(Diagnostic::unsupported(format!("unsupported operand bundle {tag:?}")));
        }
        let called = inst.callee().ok_or_else(|| Diagnostic::malformed("missing operand"))?;
        let meaning = match self.reader.symbols.get(&called) {
            Some(&(SymbolRef::Func(func), 0)) => self.reader.meanings[func],
            _ => Meaning::Call,
        };
        // What stands for a few instructions is no intrinsic of ours.
        if meaning == Meaning::Call
            && let Some(name) = called.intrinsic_name()
        {
            if let Some(name) = name.strip_prefix("llvm.vp.")
                && let Some(kind) = self.vector_predicated(inst, ours, name, ty)?
            {
                return Ok(kind);
            }
            if name == "llvm.load.relative" || name.starts_with("llvm.load.relative.") {
                return self.load_relative(inst, ty);
            }
        }
        let mut args = SmallVec::new();
        for index in 0..inst.num_args() {
            let Some(arg) = inst.operand(index) else { continue };
            if !is_metadata(arg) {
                args.push(self.value(arg)?);
            }
        }
        if let Some((text, constraints, side_effects)) = called.inline_asm() {
            let asm = self.function.inline_asm.push(mir::ir::InlineAsm { text, constraints });
            self.call_site(inst, ours, None)?;
            let side_effects = side_effects || !inst.accesses_no_memory(self.reader.memory_attribute);
            return Ok(InstKind::InlineAsm { asm, args, side_effects });
        }
        if let Some(&(SymbolRef::Func(func), 0)) = self.reader.symbols.get(&called)
            && self.fits(inst, called, func, &args, ty)
        {
            let metadata =
                || (0..inst.num_args()).filter_map(|i| inst.operand(i)).filter(|&arg| is_metadata(arg));
            if let Meaning::Strict(strict) = self.reader.meanings[func] {
                if strict::keeps_place(metadata()) {
                    self.function.insts[ours].flags |= InstFlags::STRICT;
                }
                return strict_operation(strict, args, metadata());
            }
            if let Meaning::Intrinsic(intrinsic) = self.reader.meanings[func] {
                if matches!(
                    intrinsic,
                    Intrinsic::ReadRegister | Intrinsic::ReadVolatileRegister | Intrinsic::WriteRegister
                ) {
                    let ty = args.first().map_or(ty, |&v| self.function.ty(v));
                    args.push(self.register_number(metadata(), ty)?);
                }
                if matches!(intrinsic, Intrinsic::Buffer(_))
                    && inst.accesses_no_memory(self.reader.memory_attribute)
                {
                    self.function.insts[ours].flags |= InstFlags::INVARIANT;
                }
                if is_extreme(intrinsic)
                    && args
                        .iter()
                        .zip(0..)
                        .all(|(&arg, i)| self.is_number(inst, i) || self.is_constant_number(arg))
                {
                    self.function.insts[ours].flags |= InstFlags::NNAN;
                }
                if intrinsic == Intrinsic::RelocConstant {
                    args.push(self.relocated_symbol(metadata())?);
                }
                if intrinsic == Intrinsic::FptruncRound {
                    let mode = strict::rounding(metadata())
                        .ok_or_else(|| Diagnostic::unsupported("fptrunc.round in this rounding mode"))?;
                    args.push(self.function.int(Type::I32, mode));
                }
                if matches!(
                    intrinsic,
                    Intrinsic::Memcpy
                        | Intrinsic::MemcpyInline
                        | Intrinsic::Memmove
                        | Intrinsic::Memset
                        | Intrinsic::MemsetInline
                        | Intrinsic::MemsetPattern
                        | Intrinsic::MaskedLoad
                        | Intrinsic::MaskedStore
                        | Intrinsic::MaskedGather
                        | Intrinsic::MaskedScatter
                        | Intrinsic::MaskedExpandload
                        | Intrinsic::MaskedCompressstore
                ) {
                    let align = |index| {
                        let bytes = inst.arg_attribute(index, self.reader.align_attribute);
                        bytes.checked_ilog2().unwrap_or(0) as u8
                    };
                    self.function.mem_aligns.insert(ours, [align(0), align(1)]);
                }
                return Ok(InstKind::Intrinsic { intrinsic, args });
            }
            let name = &self.reader.module.functions[func].name;
            // What only looks like an intrinsic is a function.
            if called.intrinsic_name().is_some() {
                return Err(Diagnostic::unsupported(format!("intrinsic {name}")));
            }
            self.call_site(inst, ours, Some(func))?;
            return Ok(InstKind::Call { callee: Callee::Func(func), args });
        }
        self.call_site(inst, ours, None)?;
        Ok(InstKind::Call { callee: Callee::Indirect(self.value(called)?), args })
    }

    /// `llvm.load.relative`: a base plus the signed distance of 32 bits that is stored some bytes behind it.
    fn load_relative(&mut self, inst: InstRef<'m>, ty: Type) -> Result<InstKind> {
        let (base, place) = (self.operand(inst, 0)?, self.operand(inst, 1)?);
        let none = InstFlags::empty();
        let step = |base, index| InstKind::PtrAdd { base, index: Some(index), scale: 1, offset: 0 };
        let ptr = self.emit(step(base, place), ty, none)?;
        let space = match ty {
            Type::Scalar(Scalar::Ptr(space)) => space,
            _ => return Err(Diagnostic::malformed("a distance from no pointer")),
        };
        let mem = MemAccess::plain(space, 2);
        let distance = self.emit(InstKind::Load { ptr, mem }, Type::I32, none)?;
        Ok(step(base, distance))
    }

    /// Whether argument `index` of the call would be poison if it were a NaN (signalling: class 1, quiet: 2).
    fn is_number(&self, inst: InstRef<'m>, index: u32) -> bool {
        const NAN: u64 = 3;
        inst.arg_attribute(index, self.reader.class_attribute) & NAN == NAN
    }

    /// Whether `value` is a constant of which no element is a NaN.
    fn is_constant_number(&self, value: Value) -> bool {
        let infinity = match self.function.ty(value).scalar() {
            Some(Scalar::Float(Float::Half)) => 0x7c00,
            Some(Scalar::Float(Float::BFloat)) => 0x7f80,
            Some(Scalar::Float(Float::Single)) => u64::from(f32::INFINITY.to_bits()),
            Some(Scalar::Float(Float::Double)) => f64::INFINITY.to_bits(),
            _ => return false,
        };
        let sign = infinity.next_power_of_two();
        match self.function.as_const(value) {
            Some(Const::Zero) => true,
            Some(&Const::Float(bits)) => bits & !sign <= infinity,
            Some(Const::Elements(elements)) => {
                elements.iter().all(|&element| self.is_constant_number(element))
            }
            _ => false,
        }
    }

    /// Notes what the call, and the function that it names, say about convention and arguments.
    fn call_site(&mut self, inst: InstRef<'m>, ours: Inst, callee: Option<mir::ir::Func>) -> Result<()> {
        let mut site = mir::ir::CallSite {
            call_conv: enums::call_conv(inst.call_conv()),
            args: Vec::with_capacity(inst.num_args() as usize),
            ret_flags: mir::ir::ParamFlags::empty(),
            variadic: inst.variadic_callee(),
            tail: enums::tail_call(inst.tail_call_kind()),
            no_builtin: inst.call_function_attributes().into_iter().any(|attribute| {
                matches!(attribute.value(), AttributeValue::Enum(kind, _) if kind == attribute_kinds().nobuiltin)
            }),
        };
        for index in 0..inst.num_args() {
            if inst.operand(index).is_none_or(is_metadata) {
                continue;
            }
            let mut argument = mir::ir::CallArgument::default();
            let known = callee.map(|func| &self.reader.module.functions[func].params);
            if let Some(param) = known.and_then(|params| params.get(site.args.len())) {
                argument.flags = param.flags;
                argument.indirect = param.indirect;
                argument.align_log2 = param.align_log2;
            }
            for attribute in inst.call_attributes(Some(index)) {
                self.reader.call_attribute(&mut argument, attribute.value())?;
            }
            site.args.push(argument);
        }
        let mut result = mir::ir::CallArgument::default();
        for attribute in inst.call_attributes(None) {
            self.reader.call_attribute(&mut result, attribute.value())?;
        }
        site.ret_flags = result.flags;
        if let Some(func) = callee {
            site.ret_flags |= self.reader.module.functions[func].ret_flags;
        }
        self.function.call_sites.insert(ours, site);
        Ok(())
    }

    /// `va_arg`: what the list points to, which moves behind it. Arguments are at multiples of four bytes.
    fn next_argument(&mut self, inst: InstRef<'m>, ty: Type) -> Result<InstKind> {
        let list = self.operand(inst, 0)?;
        let space = self.function.ty(list).addr_space().unwrap_or(mir::ir::AddrSpace::FLAT);
        let (pointer, plain) = (Type::ptr(mir::ir::AddrSpace::FLAT), InstFlags::empty());
        let of_list = MemAccess::plain(space, 3);
        let place = self.emit(InstKind::Load { ptr: list, mem: of_list }, pointer, plain)?;
        let bytes = self.reader.module.types.alloc_bytes(ty).next_multiple_of(4);
        let step = InstKind::PtrAdd { base: place, index: None, scale: 0, offset: bytes as i64 };
        let next = self.emit(step, pointer, plain)?;
        let store = InstKind::Store { ptr: list, value: next, mem: of_list };
        let store = self.function.make_inst(store, Type::Void, plain);
        self.function.blocks[self.block].insts.push(store);
        Ok(InstKind::Load { ptr: place, mem: MemAccess::plain(mir::ir::AddrSpace::FLAT, 2) })
    }

    /// The register that the metadata argument of `read_register` or `write_register` names, as a number.
    fn register_number(
        &mut self,
        mut metadata: impl Iterator<Item = ValueRef<'m>>,
        ty: Type,
    ) -> Result<Value> {
        let node = metadata.next().ok_or_else(|| Diagnostic::malformed("missing operand"))?;
        let name = node.node_operands().first().copied().flatten().and_then(ValueRef::md_string);
        let name = name.ok_or_else(|| Diagnostic::malformed("register without a name"))?;
        let (number, dwords) = Intrinsic::named_register(&name)
            .ok_or_else(|| Diagnostic::unsupported(format!("invalid register name \"{name}\"")))?;
        if ty.bits() != Some(u64::from(32 * dwords)) {
            return Err(Diagnostic::unsupported(format!("invalid type for register \"{name}\"")));
        }
        Ok(self.function.int(Type::I32, number))
    }

    /// The address of the symbol that the metadata argument of `amdgcn.reloc.constant` names; what nobody has
    /// declared is external.
    fn relocated_symbol(&mut self, mut metadata: impl Iterator<Item = ValueRef<'m>>) -> Result<Value> {
        let node = metadata.next().ok_or_else(|| Diagnostic::malformed("missing operand"))?;
        let name = node.node_operands().first().copied().flatten().and_then(ValueRef::md_string);
        let name = name.ok_or_else(|| Diagnostic::malformed("symbol without a name"))?;
        let globals = &mut self.reader.module.globals;
        let known = globals.iter().find(|(_, global)| global.name == name).map(|(global, _)| global);
        let global = known.unwrap_or_else(|| globals.push(mir::ir::GlobalData::external(name)));
        let address = mir::ir::Const::Symbol(SymbolRef::Global(global), 0);
        Ok(self.function.constant(Type::ptr(mir::ir::AddrSpace::GLOBAL), address))
    }

    /// Whether a call has the type of the function it names; if not, it is a call through a pointer.
    fn fits(&self, inst: InstRef<'m>, called: ValueRef<'m>, func: Func, args: &[Value], ty: Type) -> bool {
        if called.kind() == LLVMValueKind::LLVMFunctionValueKind {
            return !inst.callee_type_differs(called);
        }
        // An alias, whose type need not be that of the function behind it.
        let target = &self.reader.module.functions[func];
        let same = |(&arg, param): (&Value, &Param)| self.function.ty(arg) == target.ty(param.value);
        ty == target.ret && args.len() == target.params.len() && args.iter().zip(&target.params).all(same)
    }

    fn branch(&mut self, inst: InstRef<'m>) -> Result<InstKind> {
        let mut successors = inst.successors();
        let missing = || Diagnostic::malformed("branch without a target");
        let first = successors.next().ok_or_else(missing)?;
        let Some(second) = successors.next() else {
            return Ok(InstKind::Jump { target: self.target(first)? });
        };
        Ok(InstKind::Branch {
            cond: self.operand(inst, 0)?,
            if_true: self.target(first)?,
            if_false: self.target(second)?,
        })
    }

    fn switch(&mut self, inst: InstRef<'m>) -> Result<InstKind> {
        let mut value = self.operand(inst, 0)?;
        let ty = self.function.ty(value);
        // More than 64 bits: a switch on the number of the case.
        let wide = ty.bits().is_none_or(|bits| bits > 64);
        if wide {
            let tested = value;
            value = self.function.int(Type::I32, 0);
            for index in 1..inst.successors().count() as u32 {
                let case =
                    inst.switch_case(index).ok_or_else(|| Diagnostic::defect("case without a value"))?;
                let case = self.value(case)?;
                let kind = InstKind::Icmp { predicate: IntPredicate::Eq, args: [tested, case] };
                let cond = self.emit(kind, Type::I1, InstFlags::empty())?;
                let if_true = self.function.int(Type::I32, u64::from(index));
                let kind = InstKind::Select { cond, if_true, if_false: value };
                value = self.emit(kind, Type::I32, InstFlags::empty())?;
            }
        }
        let (mut default, mut cases) = (None, Vec::new());
        for (successor, index) in inst.successors().zip(0..) {
            let target = self.target(successor)?;
            if wide && index > 0 {
                cases.push((u64::from(index), target));
                continue;
            }
            match inst.switch_case(index).and_then(ValueRef::as_u64) {
                Some(case) if index > 0 => cases.push((case, target)),
                _ => default = Some(target),
            }
        }
        let default = default.ok_or_else(|| Diagnostic::malformed("switch without a default"))?;
        Ok(InstKind::Switch { value, cases: cases.into(), default })
    }

    /// A branch to a block address, which is the block's number ([`Reader::block_address`]): a switch over
    /// those listed.
    ///
    /// [`Reader::block_address`]: crate::module::Reader::block_address
    fn indirect_branch(&mut self, inst: InstRef<'m>) -> Result<InstKind> {
        let address = self.operand(inst, 0)?;
        let cast = InstKind::Cast { op: CastOp::PtrToInt, arg: address };
        let value = self.emit(cast, Type::I64, InstFlags::empty())?;
        let mut cases = Vec::new();
        for successor in inst.successors() {
            let number = self.reader.block_number(successor)?;
            cases.push((number as u64, self.target(successor)?));
        }
        // A block may be listed more than once.
        cases.sort_by_key(|case| case.0);
        cases.dedup_by_key(|case| case.0);
        let Some((_, default)) = cases.pop() else { return Ok(InstKind::Unreachable) };
        if cases.is_empty() {
            return Ok(InstKind::Jump { target: default });
        }
        Ok(InstKind::Switch { value, cases: cases.into(), default })
    }

    /// Adds what metadata says about a translated instruction.
    pub(crate) fn instruction_metadata(&mut self, inst: InstRef<'m>, ours: Inst) {
        use LLVMOpcode::*;
        let kinds = &self.reader.kinds;
        match inst.opcode() {
            LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv | LLVMFRem | LLVMCall => {
                let accuracy =
                    inst.metadata(kinds.fpmath).and_then(|node| node.node_operands().first().copied()?);
                if let Some(ulp) = accuracy.and_then(ValueRef::as_f64) {
                    // Saturates at 255.99 ulp; nobody promises more.
                    self.function.insts[ours].fpmath_ulp_256 = (ulp * 256.0) as u16;
                }
            }
            LLVMBr | LLVMSwitch => {
                let Some(node) = inst.metadata(kinds.loop_hints) else { return };
                let hints = node.node_operands().into_iter().flatten();
                // The first operand is the node itself.
                let disables = |hint: ValueRef<'m>| {
                    let name = hint.node_operands().first().copied().flatten().and_then(ValueRef::md_string);
                    name.is_some_and(|name| name == "llvm.loop.unroll.disable")
                };
                if hints.skip(1).any(disables) {
                    self.mark_no_unroll();
                }
            }
            _ => {}
        }
    }
}

/// Minimum or maximum of floats, which has NaNs taken care of where an operand may be one.
fn is_extreme(intrinsic: Intrinsic) -> bool {
    use Intrinsic::*;
    matches!(intrinsic, Minnum | Maxnum | Minimum | Maximum | Minimumnum | Maximumnum)
}
