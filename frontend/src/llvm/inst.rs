//! Instructions.

use super::*;

/// Opcodes whose instructions have an alignment.
fn has_alignment(opcode: LLVMOpcode) -> bool {
    use LLVMOpcode::*;
    matches!(opcode, LLVMAlloca | LLVMLoad | LLVMStore | LLVMAtomicRMW | LLVMAtomicCmpXchg)
}

impl<'m> InstRef<'m> {
    /// Opcode.
    pub fn opcode(self) -> LLVMOpcode {
        self.opcode
    }

    /// The instruction as a value.
    pub fn value(self) -> ValueRef<'m> {
        self.value
    }

    fn raw(self) -> LLVMValueRef {
        self.value.0
    }

    /// Number of operands.
    pub fn num_operands(self) -> u32 {
        // SAFETY: instructions are users.
        unsafe { LLVMGetNumOperands(self.raw()) }.max(0) as u32
    }

    /// Operand `index`, where there is one.
    pub fn operand(self, index: u32) -> Option<ValueRef<'m>> {
        // SAFETY: the index is in range.
        (index < self.num_operands()).then(|| ValueRef::wrap(unsafe { LLVMGetOperand(self.raw(), index) }))?
    }

    fn flag(self, opcodes: &[LLVMOpcode], read: unsafe extern "C" fn(LLVMValueRef) -> LLVMBool) -> bool {
        // SAFETY: `read` is defined for the opcodes that the callers below list.
        opcodes.contains(&self.opcode) && unsafe { read(self.raw()) != 0 }
    }

    /// `nuw`.
    pub fn nuw(self) -> bool {
        use LLVMOpcode::*;
        self.flag(&[LLVMAdd, LLVMSub, LLVMMul, LLVMShl, LLVMTrunc], LLVMGetNUW)
    }

    /// `nsw`.
    pub fn nsw(self) -> bool {
        use LLVMOpcode::*;
        self.flag(&[LLVMAdd, LLVMSub, LLVMMul, LLVMShl, LLVMTrunc], LLVMGetNSW)
    }

    /// `exact`.
    pub fn exact(self) -> bool {
        use LLVMOpcode::*;
        self.flag(&[LLVMUDiv, LLVMSDiv, LLVMLShr, LLVMAShr], LLVMGetExact)
    }

    /// `disjoint`.
    pub fn disjoint(self) -> bool {
        self.flag(&[LLVMOpcode::LLVMOr], LLVMGetIsDisjoint)
    }

    /// `nneg`.
    pub fn nneg(self) -> bool {
        self.flag(&[LLVMOpcode::LLVMZExt, LLVMOpcode::LLVMUIToFP], LLVMGetNNeg)
    }

    /// `samesign`.
    pub fn same_sign(self) -> bool {
        self.flag(&[LLVMOpcode::LLVMICmp], LLVMGetICmpSameSign)
    }

    /// `volatile`.
    pub fn volatile(self) -> bool {
        use LLVMOpcode::*;
        self.flag(&[LLVMLoad, LLVMStore, LLVMAtomicRMW, LLVMAtomicCmpXchg], LLVMGetVolatile)
    }

    /// `weak`.
    pub fn weak(self) -> bool {
        self.flag(&[LLVMOpcode::LLVMAtomicCmpXchg], LLVMGetWeak)
    }

    /// Fast-math flags in LLVM's bits, 0 where the instruction takes none.
    pub fn fast_math(self) -> c_uint {
        // SAFETY: asked for only where LLVM says that it may be.
        unsafe {
            if LLVMCanValueUseFastMathFlags(self.raw()) == 0 {
                return 0;
            }
            LLVMGetFastMathFlags(self.raw())
        }
    }

    /// Predicate of an `icmp`.
    pub fn int_predicate(self) -> Option<LLVMIntPredicate> {
        // SAFETY: an `icmp`.
        (self.opcode == LLVMOpcode::LLVMICmp).then(|| unsafe { LLVMGetICmpPredicate(self.raw()) })
    }

    /// Predicate of an `fcmp`.
    pub fn float_predicate(self) -> Option<LLVMRealPredicate> {
        // SAFETY: an `fcmp`.
        (self.opcode == LLVMOpcode::LLVMFCmp).then(|| unsafe { LLVMGetFCmpPredicate(self.raw()) })
    }

    /// Type of one element of an `alloca`.
    pub fn allocated_type(self) -> Option<TypeRef<'m>> {
        // SAFETY: an `alloca`.
        (self.opcode == LLVMOpcode::LLVMAlloca)
            .then(|| TypeRef::wrap(unsafe { LLVMGetAllocatedType(self.raw()) }))?
    }

    /// Alignment in bytes of a memory access or `alloca`, 0 for others.
    pub fn alignment(self) -> u32 {
        // SAFETY: asked for only where LLVM has one.
        if has_alignment(self.opcode) { unsafe { LLVMGetAlignment(self.raw()) } } else { 0 }
    }

    /// Ordering of an access or fence; success and failure ordering of a `cmpxchg`.
    pub fn orderings(self) -> [LLVMAtomicOrdering; 2] {
        use LLVMOpcode::*;
        // SAFETY: the functions match the opcodes.
        unsafe {
            match self.opcode {
                LLVMLoad | LLVMStore | LLVMFence | LLVMAtomicRMW => [LLVMGetOrdering(self.raw()); 2],
                LLVMAtomicCmpXchg => {
                    [LLVMGetCmpXchgSuccessOrdering(self.raw()), LLVMGetCmpXchgFailureOrdering(self.raw())]
                }
                _ => [LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic; 2],
            }
        }
    }

    /// Number of the synchronisation scope of an atomic access or fence.
    pub fn sync_scope(self) -> Option<u32> {
        // SAFETY: asked for only where LLVM says that the instruction is atomic.
        unsafe { (LLVMIsAtomic(self.raw()) != 0).then(|| LLVMGetAtomicSyncScopeID(self.raw())) }
    }

    /// Operation of an `atomicrmw`.
    pub fn rmw_op(self) -> Option<LLVMAtomicRMWBinOp> {
        // SAFETY: an `atomicrmw`.
        (self.opcode == LLVMOpcode::LLVMAtomicRMW).then(|| unsafe { LLVMGetAtomicRMWBinOp(self.raw()) })
    }

    /// Mask of a `shufflevector`, `None` for poison lanes.
    pub fn shuffle_mask(self) -> Vec<Option<u32>> {
        shuffle_mask(self.value, self.opcode)
    }

    /// Index path of an `extractvalue` or `insertvalue`.
    pub fn indices(self) -> &'m [u32] {
        if !matches!(self.opcode, LLVMOpcode::LLVMExtractValue | LLVMOpcode::LLVMInsertValue) {
            return &[];
        }
        // SAFETY: the instruction owns an array of that length.
        unsafe {
            let len = LLVMGetNumIndices(self.raw()) as usize;
            let data = LLVMGetIndices(self.raw());
            if len == 0 || data.is_null() { &[] } else { std::slice::from_raw_parts(data, len) }
        }
    }

    /// Successors of a terminator.
    pub fn successors(self) -> impl Iterator<Item = BlockRef<'m>> {
        use LLVMOpcode::*;
        let raw = self.raw();
        let count = match self.opcode {
            // SAFETY: terminators.
            LLVMBr | LLVMSwitch | LLVMIndirectBr | LLVMInvoke => unsafe { LLVMGetNumSuccessors(raw) },
            _ => 0,
        };
        // SAFETY: indices are below the count.
        (0..count).filter_map(move |i| BlockRef::wrap(unsafe { LLVMGetSuccessor(raw, i) }))
    }

    /// Value of the case that leads to successor `index` (from 1) of a `switch`.
    pub fn switch_case(self, index: u32) -> Option<ValueRef<'m>> {
        // SAFETY: a `switch`, and the index names one of its cases.
        unsafe {
            let valid = self.opcode == LLVMOpcode::LLVMSwitch
                && index > 0
                && index < LLVMGetNumSuccessors(self.raw());
            valid.then(|| ValueRef::wrap(LLVMGetSwitchCaseValue(self.raw(), index)))?
        }
    }

    /// Incoming values of a phi with their blocks.
    pub fn incoming(self) -> impl Iterator<Item = (BlockRef<'m>, ValueRef<'m>)> {
        let raw = self.raw();
        let count = match self.opcode {
            // SAFETY: a phi.
            LLVMOpcode::LLVMPHI => unsafe { LLVMCountIncoming(raw) },
            _ => 0,
        };
        // SAFETY: indices are below the count.
        (0..count).filter_map(move |i| unsafe {
            Some((
                BlockRef::wrap(LLVMGetIncomingBlock(raw, i))?,
                ValueRef::wrap(LLVMGetIncomingValue(raw, i))?,
            ))
        })
    }

    /// Whether it is a `call`, or an `invoke`, which is one as well.
    pub fn is_call(self) -> bool {
        matches!(self.opcode, LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke)
    }

    /// Callee of a `call`.
    pub fn callee(self) -> Option<ValueRef<'m>> {
        // SAFETY: a `call`.
        let callee = self.is_call().then(|| ValueRef::wrap(unsafe { LLVMGetCalledValue(self.raw()) }))??;
        callee.equivalent().or(Some(callee))
    }

    /// Whether a `call` uses its callee by another type than the callee's own.
    pub fn callee_type_differs(self, callee: ValueRef<'m>) -> bool {
        if !self.is_call() {
            return false;
        }
        // SAFETY: a `call`.
        callee.global_type() != TypeRef::wrap(unsafe { LLVMGetCalledFunctionType(self.raw()) })
    }

    /// Attributes that a `call` gives argument `index`, or its result where `index` is `None`.
    pub fn call_attributes(self, index: Option<u32>) -> Vec<AttributeRef<'m>> {
        if !self.is_call() || index.is_some_and(|i| i >= self.num_args()) {
            return Vec::new();
        }
        self.attributes_at(index.map_or(0, |i| i + 1))
    }

    /// Attributes that a `call` gives its callee.
    pub fn call_function_attributes(self) -> Vec<AttributeRef<'m>> {
        if self.is_call() { self.attributes_at(LLVMAttributeFunctionIndex) } else { Vec::new() }
    }

    /// Attributes of a `call` at LLVM's index of what they belong to.
    fn attributes_at(self, index: u32) -> Vec<AttributeRef<'m>> {
        // SAFETY: a `call`; the array has the length that LLVM reports.
        unsafe {
            let mut raw = vec![null_mut(); LLVMGetCallSiteAttributeCount(self.raw(), index) as usize];
            LLVMGetCallSiteAttributes(self.raw(), index, raw.as_mut_ptr());
            raw.into_iter().filter_map(AttributeRef::wrap).collect()
        }
    }

    /// Calling convention of a `call`.
    pub fn call_conv(self) -> u32 {
        // SAFETY: a `call`.
        if self.is_call() { unsafe { LLVMGetInstructionCallConv(self.raw()) } } else { 0 }
    }

    /// Number of parameters of the function that a `call` calls, where that takes further arguments.
    pub fn variadic_callee(self) -> Option<u32> {
        if !self.is_call() {
            return None;
        }
        // SAFETY: a `call`, whose function type LLVM knows.
        unsafe {
            let ty = LLVMGetCalledFunctionType(self.raw());
            (LLVMIsFunctionVarArg(ty) != 0).then(|| LLVMCountParamTypes(ty))
        }
    }

    /// Whether a `call` is marked as one in front of a return; other instructions are not.
    pub fn tail_call_kind(self) -> LLVMTailCallKind {
        if self.opcode != LLVMOpcode::LLVMCall {
            return LLVMTailCallKind::LLVMTailCallKindNone;
        }
        // SAFETY: a `call`.
        unsafe { LLVMGetTailCallKind(self.raw()) }
    }

    /// Number of arguments of a `call`, which are its first operands.
    pub fn num_args(self) -> u32 {
        // SAFETY: a `call`.
        if self.is_call() { unsafe { LLVMGetNumArgOperands(self.raw()) } } else { 0 }
    }

    /// The integer of attribute `kind` of a `call`'s argument `index`, 0 where it has none: bytes of `align`, classes of `nofpclass`.
    pub fn arg_attribute(self, index: u32, kind: u32) -> u64 {
        if !self.is_call() || index >= self.num_args() {
            return 0;
        }
        // SAFETY: a `call`; null when the attribute is absent; the callers' kinds are attributes with an integer.
        unsafe {
            let attribute = LLVMGetCallSiteEnumAttribute(self.raw(), index + 1, kind);
            if attribute.is_null() { 0 } else { LLVMGetEnumAttributeValue(attribute) }
        }
    }

    /// Whether a `call` itself, not only what it calls, promises to access no memory: `memory(none)`.
    pub fn accesses_no_memory(self, memory_kind: u32) -> bool {
        if !self.is_call() {
            return false;
        }
        // SAFETY: a `call`; null when the attribute is absent; `memory` is an attribute with an integer.
        unsafe {
            let attribute = LLVMGetCallSiteEnumAttribute(self.raw(), LLVMAttributeFunctionIndex, memory_kind);
            !attribute.is_null() && LLVMGetEnumAttributeValue(attribute) == 0
        }
    }

    /// Tags of the operand bundles of a `call`.
    pub fn bundle_tags(self) -> Vec<String> {
        if !self.is_call() {
            return Vec::new();
        }
        // SAFETY: a `call`; indices are below the count; each bundle handle is freed once.
        unsafe {
            (0..LLVMGetNumOperandBundles(self.raw()))
                .map(|i| {
                    let bundle = LLVMGetOperandBundleAtIndex(self.raw(), i);
                    let mut len = 0;
                    let tag = LLVMGetOperandBundleTag(bundle, &mut len);
                    let tag = text(tag, len);
                    LLVMDisposeOperandBundle(bundle);
                    tag
                })
                .collect()
        }
    }

    /// Whether it has any metadata or a source position.
    pub fn has_metadata(self) -> bool {
        // SAFETY: an instruction.
        unsafe { LLVMHasMetadata(self.raw()) != 0 }
    }

    /// Metadata node of a kind.
    pub fn metadata(self, kind: u32) -> Option<ValueRef<'m>> {
        // SAFETY: an instruction; null when absent.
        ValueRef::wrap(unsafe { LLVMGetMetadata(self.raw(), kind) })
    }

    /// Source position: line, column, scope.
    pub fn debug_loc(self) -> Option<(u32, u32, MetadataRef<'m>)> {
        // SAFETY: an instruction's position is null or a `DILocation`, which always has a scope.
        unsafe {
            let loc = LLVMInstructionGetDebugLoc(self.raw());
            if loc.is_null() {
                return None;
            }
            let scope = MetadataRef::wrap(LLVMDILocationGetScope(loc))?;
            Some((LLVMDILocationGetLine(loc), LLVMDILocationGetColumn(loc), scope))
        }
    }
}

/// Mask of a `shufflevector` instruction or constant expression, `None` for poison lanes.
pub fn shuffle_mask(value: ValueRef<'_>, opcode: LLVMOpcode) -> Vec<Option<u32>> {
    let expression = value.const_opcode() == Some(LLVMOpcode::LLVMShuffleVector);
    if opcode != LLVMOpcode::LLVMShuffleVector || (!expression && value.as_inst().is_none()) {
        return Vec::new();
    }
    // SAFETY: a `shufflevector`; indices are below the count. Poison lanes are negative.
    unsafe {
        (0..LLVMGetNumMaskElements(value.0))
            .map(|i| u32::try_from(LLVMGetMaskValue(value.0, i)).ok())
            .collect()
    }
}
