//! Values and metadata.

use super::*;

impl<'m> ValueRef<'m> {
    /// Kind.
    pub fn kind(self) -> LLVMValueKind {
        // SAFETY: the value is live.
        unsafe { LLVMGetValueKind(self.0) }
    }

    /// Type.
    pub fn ty(self) -> TypeRef<'m> {
        // SAFETY: every value has a type.
        TypeRef(unsafe { LLVMTypeOf(self.0) }, PhantomData)
    }

    /// Name, empty where there is none.
    pub fn name(self) -> String {
        let mut len = 0;
        // SAFETY: LLVM writes the length of the string it returns.
        unsafe {
            let data = LLVMGetValueName2(self.0, &mut len);
            text(data, len)
        }
    }

    /// LLVM's text, without leading blanks, first line only.
    pub fn print(self) -> String {
        // SAFETY: LLVM hands over the message.
        let whole = unsafe { message(LLVMPrintValueToString(self.0)) };
        whole.trim().lines().next().unwrap_or_default().to_owned()
    }

    /// The function that `dso_local_equivalent` or `no_cfi` names. LLVM's C API has no kind for these constants and calls them instructions; in
    /// machine code without interposition and without checks of calls they are the function.
    pub fn equivalent(self) -> Option<ValueRef<'m>> {
        // SAFETY: checked casts.
        let is_constant = unsafe { !LLVMIsAConstant(self.0).is_null() };
        let unnamed = self.kind() == LLVMValueKind::LLVMInstructionValueKind && is_constant;
        if unnamed { self.operand(0) } else { None }
    }

    fn is_user(self) -> bool {
        // SAFETY: a checked cast.
        unsafe { !LLVMIsAUser(self.0).is_null() }
    }

    /// Number of operands; 0 for values without any.
    pub fn num_operands(self) -> u32 {
        if !self.is_user() {
            return 0;
        }
        // SAFETY: the value is a user.
        unsafe { LLVMGetNumOperands(self.0) }.max(0) as u32
    }

    /// Operand `index`, where there is one.
    pub fn operand(self, index: u32) -> Option<ValueRef<'m>> {
        // SAFETY: the index is in range.
        (index < self.num_operands()).then(|| ValueRef::wrap(unsafe { LLVMGetOperand(self.0, index) }))?
    }

    /// The low 64 bits of an integer constant, zero-extended.
    pub fn as_u64(self) -> Option<u64> {
        // SAFETY: `LLVMIsAConstantInt` is a checked cast; wider constants give their low word.
        unsafe { (!LLVMIsAConstantInt(self.0).is_null()).then(|| LLVMConstIntGetZExtValue(self.0)) }
    }

    /// The value of an integer constant of up to 64 bits, sign-extended.
    pub fn as_i64(self) -> Option<i64> {
        let bits = self.ty().int_bits();
        let value = self.as_u64()?;
        (1..=64).contains(&bits).then(|| (value << (64 - bits)) as i64 >> (64 - bits))
    }

    /// Opcode of a constant expression.
    pub fn const_opcode(self) -> Option<LLVMOpcode> {
        // SAFETY: called on constant expressions only.
        (self.kind() == LLVMValueKind::LLVMConstantExprValueKind)
            .then(|| unsafe { LLVMGetConstOpcode(self.0) })
    }

    /// Element `index` of a constant aggregate or vector.
    pub fn element(self, index: u32) -> Option<ValueRef<'m>> {
        // SAFETY: LLVM checks constant and index (null when there is no such element).
        unsafe {
            if LLVMIsConstant(self.0) == 0 {
                return None;
            }
            ValueRef::wrap(LLVMGetAggregateElement(self.0, index))
        }
    }

    /// Bytes of a constant array or vector of simple elements, in the host's (little-endian) order.
    pub fn raw_data(self) -> Option<&'m [u8]> {
        // SAFETY: `LLVMIsAConstantDataSequential` is a checked cast. LLVM stores the length through its
        // second argument, a `size_t*` that llvm-sys declares as `usize`; the data lives as long as the
        // context.
        unsafe {
            if LLVMIsAConstantDataSequential(self.0).is_null() {
                return None;
            }
            let mut len = 0usize;
            let data = LLVMGetRawDataValues(self.0, (&raw mut len) as usize);
            (!data.is_null()).then(|| std::slice::from_raw_parts(data.cast(), len))
        }
    }

    /// The type that a `getelementptr` instruction or constant expression steps through.
    pub fn gep_source_type(self) -> Option<TypeRef<'m>> {
        // SAFETY: `LLVMIsAGetElementPtrInst` is a checked cast for instructions, the opcode for expressions.
        unsafe {
            let expression = self.const_opcode() == Some(LLVMOpcode::LLVMGetElementPtr);
            if !expression && LLVMIsAGetElementPtrInst(self.0).is_null() {
                return None;
            }
            TypeRef::wrap(LLVMGetGEPSourceElementType(self.0))
        }
    }

    /// No-wrap flags of a `getelementptr`.
    pub fn gep_flags(self) -> c_uint {
        // SAFETY: called on what `gep_source_type` accepts.
        if self.gep_source_type().is_some() { unsafe { LLVMGEPGetNoWrapFlags(self.0) } } else { 0 }
    }

    /// Text and constraints of inline assembly, and whether it has side effects.
    pub fn inline_asm(self) -> Option<(String, String, bool)> {
        // SAFETY: `LLVMIsAInlineAsm` is a checked cast; LLVM writes the lengths of the strings it returns.
        unsafe {
            if LLVMIsAInlineAsm(self.0).is_null() {
                return None;
            }
            let (mut text_len, mut constraints_len) = (0, 0);
            let asm = LLVMGetInlineAsmAsmString(self.0, &mut text_len);
            let constraints = LLVMGetInlineAsmConstraintString(self.0, &mut constraints_len);
            let effects = LLVMGetInlineAsmHasSideEffects(self.0) != 0;
            Some((text(asm, text_len), text(constraints, constraints_len), effects))
        }
    }

    /// The value as an instruction.
    pub fn as_inst(self) -> Option<InstRef<'m>> {
        // SAFETY: the opcode is read from instructions only.
        (self.kind() == LLVMValueKind::LLVMInstructionValueKind)
            .then(|| InstRef { value: self, opcode: unsafe { LLVMGetInstructionOpcode(self.0) } })
    }

    // Global values.

    fn is_global(self) -> bool {
        // SAFETY: a checked cast.
        unsafe { !LLVMIsAGlobalValue(self.0).is_null() }
    }

    fn is_function(self) -> bool {
        self.kind() == LLVMValueKind::LLVMFunctionValueKind
    }

    fn is_variable(self) -> bool {
        self.kind() == LLVMValueKind::LLVMGlobalVariableValueKind
    }

    /// Type of what a symbol names: value type of a variable, function type of a function.
    pub fn global_type(self) -> Option<TypeRef<'m>> {
        // SAFETY: called on global values only.
        self.is_global().then(|| TypeRef::wrap(unsafe { LLVMGlobalGetValueType(self.0) }))?
    }

    /// Whether a symbol has no definition here.
    pub fn is_declaration(self) -> bool {
        // SAFETY: called on global values only.
        self.is_global() && unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    /// Linkage of a symbol.
    pub fn linkage(self) -> Option<LLVMLinkage> {
        // SAFETY: called on global values only.
        self.is_global().then(|| unsafe { LLVMGetLinkage(self.0) })
    }

    /// Visibility of a symbol.
    pub fn visibility(self) -> Option<LLVMVisibility> {
        // SAFETY: called on global values only.
        self.is_global().then(|| unsafe { LLVMGetVisibility(self.0) })
    }

    /// Section of a function or variable.
    pub fn section(self) -> String {
        if !self.is_function() && !self.is_variable() {
            return String::new();
        }
        // SAFETY: called on global objects only; the string is zero-terminated or null.
        unsafe {
            let section = LLVMGetSection(self.0);
            if section.is_null() {
                return String::new();
            }
            std::ffi::CStr::from_ptr(section).to_string_lossy().into_owned()
        }
    }

    /// Explicit alignment of a variable or function in bytes, 0 where absent.
    pub fn global_alignment(self) -> u32 {
        // SAFETY: called on global objects only.
        if self.is_variable() || self.is_function() { unsafe { LLVMGetAlignment(self.0) } } else { 0 }
    }

    /// Initialiser of a variable.
    pub fn initializer(self) -> Option<ValueRef<'m>> {
        // SAFETY: called on variables only.
        self.is_variable().then(|| ValueRef::wrap(unsafe { LLVMGetInitializer(self.0) }))?
    }

    /// Whether a variable never changes.
    pub fn is_constant_variable(self) -> bool {
        // SAFETY: called on variables only.
        self.is_variable() && unsafe { LLVMIsGlobalConstant(self.0) != 0 }
    }

    /// Whether a variable exists once for each thread.
    pub fn is_thread_local(self) -> bool {
        // SAFETY: called on variables only.
        self.is_variable() && unsafe { LLVMIsThreadLocal(self.0) != 0 }
    }

    /// What an alias stands for.
    pub fn aliasee(self) -> Option<ValueRef<'m>> {
        // SAFETY: called on aliases only.
        (self.kind() == LLVMValueKind::LLVMGlobalAliasValueKind)
            .then(|| ValueRef::wrap(unsafe { LLVMAliasGetAliasee(self.0) }))?
    }

    // Functions.

    /// Base name (without overload suffix) of an intrinsic's declaration.
    pub fn intrinsic_name(self) -> Option<&'static str> {
        if !self.is_function() {
            return None;
        }
        // SAFETY: called on functions; names of intrinsics live in LLVM's static tables and are ASCII.
        unsafe {
            let id = LLVMGetIntrinsicID(self.0);
            if id == 0 {
                return None;
            }
            let mut len = 0;
            let name = LLVMIntrinsicGetName(id, &mut len);
            std::str::from_utf8(std::slice::from_raw_parts(name.cast::<u8>(), len)).ok()
        }
    }

    /// Calling convention of a function.
    pub fn call_conv(self) -> u32 {
        // SAFETY: called on functions only.
        if self.is_function() { unsafe { LLVMGetFunctionCallConv(self.0) } } else { 0 }
    }

    /// Parameters of a function.
    pub fn params(self) -> Vec<ValueRef<'m>> {
        if !self.is_function() {
            return Vec::new();
        }
        // SAFETY: a function; the array has as many elements as LLVM says it will write.
        unsafe {
            let mut raw = vec![null_mut(); LLVMCountParams(self.0) as usize];
            LLVMGetParams(self.0, raw.as_mut_ptr());
            raw.into_iter().filter_map(ValueRef::wrap).collect()
        }
    }

    /// Blocks of a function in order, the entry first.
    pub fn blocks(self) -> Vec<BlockRef<'m>> {
        if !self.is_function() {
            return Vec::new();
        }
        // SAFETY: as for parameters.
        unsafe {
            let mut raw = vec![null_mut(); LLVMCountBasicBlocks(self.0) as usize];
            LLVMGetBasicBlocks(self.0, raw.as_mut_ptr());
            raw.into_iter().filter_map(BlockRef::wrap).collect()
        }
    }

    /// Block of a `blockaddress`.
    pub fn block_address(self) -> Option<BlockRef<'m>> {
        if self.kind() != LLVMValueKind::LLVMBlockAddressValueKind {
            return None;
        }
        // SAFETY: a block address; the block lives as long as the module.
        BlockRef::wrap(unsafe { LLVMGetBlockAddressBasicBlock(self.0) })
    }

    fn attributes_at(self, index: c_uint) -> Vec<AttributeRef<'m>> {
        if !self.is_function() {
            return Vec::new();
        }
        // SAFETY: as for parameters.
        unsafe {
            let mut raw = vec![null_mut(); LLVMGetAttributeCountAtIndex(self.0, index) as usize];
            LLVMGetAttributesAtIndex(self.0, index, raw.as_mut_ptr());
            raw.into_iter().filter_map(AttributeRef::wrap).collect()
        }
    }

    /// Attributes of the function itself.
    pub fn function_attributes(self) -> Vec<AttributeRef<'m>> {
        self.attributes_at(LLVMAttributeFunctionIndex)
    }

    /// Attributes of the result.
    pub fn return_attributes(self) -> Vec<AttributeRef<'m>> {
        self.attributes_at(0)
    }

    /// Attributes of parameter `index`.
    pub fn param_attributes(self, index: u32) -> Vec<AttributeRef<'m>> {
        self.attributes_at(index.saturating_add(1))
    }

    /// All metadata of a function or variable: kind number and node.
    pub fn global_metadata(self) -> Vec<(u32, MetadataRef<'m>)> {
        if !self.is_function() && !self.is_variable() {
            return Vec::new();
        }
        // SAFETY: a global object; indices are below the count that LLVM wrote; the array is freed once.
        unsafe {
            let mut count = 0;
            let entries = LLVMGlobalCopyAllMetadata(self.0, &mut count);
            let all = (0..count as c_uint)
                .filter_map(|i| {
                    let node = MetadataRef::wrap(LLVMValueMetadataEntriesGetMetadata(entries, i))?;
                    Some((LLVMValueMetadataEntriesGetKind(entries, i), node))
                })
                .collect();
            LLVMDisposeValueMetadataEntries(entries);
            all
        }
    }

    /// The `DISubprogram` of a function.
    pub fn subprogram(self) -> Option<MetadataRef<'m>> {
        // SAFETY: called on functions only.
        self.is_function().then(|| MetadataRef::wrap(unsafe { LLVMGetSubprogram(self.0) }))?
    }

    // Metadata as values.

    /// Operands of a metadata node; absent ones are `None`.
    pub fn node_operands(self) -> Vec<Option<ValueRef<'m>>> {
        // SAFETY: `LLVMIsAMDNode` is a checked cast (a constant in metadata is none); the array has the right
        // length.
        unsafe {
            if LLVMIsAMDNode(self.0).is_null() {
                return Vec::new();
            }
            let mut raw = vec![null_mut(); LLVMGetMDNodeNumOperands(self.0) as usize];
            LLVMGetMDNodeOperands(self.0, raw.as_mut_ptr());
            raw.into_iter().map(ValueRef::wrap).collect()
        }
    }

    /// Text of a metadata string.
    pub fn md_string(self) -> Option<String> {
        let mut len = 0;
        // SAFETY: `LLVMGetMDString` returns null for anything but a string; guarded because it casts to
        // metadata first.
        unsafe {
            if LLVMIsAMDString(self.0).is_null() {
                return None;
            }
            let data = LLVMGetMDString(self.0, &mut len);
            (!data.is_null()).then(|| text(data, len as usize))
        }
    }

    /// Bytes of a metadata string, which need not be text.
    pub fn md_bytes(self) -> Option<Vec<u8>> {
        let mut len = 0;
        // SAFETY: as in `md_string`; the data are `len` bytes of the context, which outlives the value.
        unsafe {
            if LLVMIsAMDString(self.0).is_null() {
                return None;
            }
            let data = LLVMGetMDString(self.0, &mut len);
            (!data.is_null()).then(|| std::slice::from_raw_parts(data.cast::<u8>(), len as usize).to_vec())
        }
    }

    /// Whether a constant floating-point number; its value as a double.
    pub fn as_f64(self) -> Option<f64> {
        let mut lossy = 0;
        // SAFETY: `LLVMIsAConstantFP` is a checked cast.
        unsafe { (!LLVMIsAConstantFP(self.0).is_null()).then(|| LLVMConstRealGetDouble(self.0, &mut lossy)) }
    }
}

impl<'m> MetadataRef<'m> {
    /// Number that tells nodes apart.
    pub fn id(self) -> usize {
        self.0 as usize
    }

    /// Directory and name of the file that a debug scope (or file) belongs to.
    pub fn scope_file(self) -> Option<(String, String)> {
        use LLVMMetadataKind::*;
        // SAFETY: the metadata's kind is checked to be a scope; LLVM writes the lengths of its strings.
        unsafe {
            let scope = matches!(
                LLVMGetMetadataKind(self.0),
                LLVMDIFileMetadataKind
                    | LLVMDICompileUnitMetadataKind
                    | LLVMDISubprogramMetadataKind
                    | LLVMDILexicalBlockMetadataKind
                    | LLVMDILexicalBlockFileMetadataKind
                    | LLVMDINamespaceMetadataKind
                    | LLVMDIModuleMetadataKind
                    | LLVMDICompositeTypeMetadataKind
                    | LLVMDICommonBlockMetadataKind
            );
            if !scope {
                return None;
            }
            let file = LLVMDIScopeGetFile(self.0);
            if file.is_null() {
                return None;
            }
            let (mut directory_len, mut name_len) = (0, 0);
            let directory = LLVMDIFileGetDirectory(file, &mut directory_len);
            let name = LLVMDIFileGetFilename(file, &mut name_len);
            Some((text(directory, directory_len as usize), text(name, name_len as usize)))
        }
    }

    /// Line of a `DISubprogram`.
    pub fn subprogram_line(self) -> u32 {
        // SAFETY: the kind is checked.
        unsafe {
            match LLVMGetMetadataKind(self.0) {
                LLVMMetadataKind::LLVMDISubprogramMetadataKind => LLVMDISubprogramGetLine(self.0),
                _ => 0,
            }
        }
    }
}
