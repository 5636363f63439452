//! The module as a whole: symbols first, so that bodies and initialisers can refer to any.

use crate::enums::{call_conv, linkage, visibility};
use crate::kinds::{AttributeKinds, attribute_kinds};
use crate::llvm::{self, AttributeValue, ModuleRef, TypeRef, ValueRef};
use crate::reader::{Meaning, Reader};
use crate::{Reading, constructors, parse, unnamed};
use mir::ir::{
    CODE_ALIGNMENT, Function, IndirectParam, Intrinsic, MAX_CODE_ALIGNMENT, Param, SymbolRef, Type,
};
use mir::{Diagnostic, Result};

/// Copies `llvm` into plain data.
pub(crate) fn read<'m>(llvm: ModuleRef<'m>, name: &str) -> Result<Reading> {
    parse::check_target(llvm, name)?;
    let mut reader = Reader::new(llvm, name);
    let attributes = attribute_kinds();
    let functions: Vec<_> = llvm.functions().collect();
    for &function in &functions {
        reader.declare(function, attributes);
    }
    reader.globals();
    reader.module_metadata();
    for (&function, func) in functions.iter().zip(reader.module.functions.keys().collect::<Vec<_>>()) {
        if function.is_declaration() {
            continue;
        }
        reader.function_metadata(function, func);
        let result = reader.body(function, func);
        if let Err(error) = result {
            let error = error.in_function(&reader.module.functions[func].name);
            reader.module.functions[func].layout.clear();
            reader.errors.push(error);
        }
    }
    let mut module = reader.module;
    for table in reader.tables {
        constructors::add_kernel(&mut module, table);
    }
    unnamed::name_all(&mut module);
    for name in
        module.functions.values().map(|f| &f.name).chain(module.globals.values().map(|global| &global.name))
    {
        if name.contains('\0') {
            // Symbols of objects and of text end there.
            let message = format!("zero byte in the name of a symbol: {name:?}");
            reader.errors.push(Diagnostic::malformed(message));
        }
    }
    Ok(Reading { module, errors: reader.errors })
}

impl<'m> Reader<'m> {
    /// Adds a function without its body.
    fn declare(&mut self, value: ValueRef<'m>, kinds: &AttributeKinds) {
        let mut function = Function::new(value.name(), call_conv(value.call_conv()), Type::Void);
        function.linkage = linkage(value);
        function.visibility = visibility(value);
        function.section = value.section();
        let meaning = match value.intrinsic_name().map(|name| name.strip_prefix("llvm.").unwrap_or(name)) {
            None => Meaning::Call,
            Some(name) => match Intrinsic::from_name(name) {
                Some(known) if known.props().contains(mir::ir::IntrinsicProps::DROPPED) => Meaning::Dropped,
                Some(known) => Meaning::Intrinsic(known),
                None => crate::strict::strict(name).map_or(Meaning::Call, Meaning::Strict),
            },
        };
        // What intrinsics promise is in the table of intrinsics.
        let attributes = if meaning == Meaning::Call { value.function_attributes() } else { Vec::new() };
        for attribute in attributes {
            match attribute.value() {
                AttributeValue::Enum(kind, _) => {
                    function.flags |= kinds.function.get(kind as usize).copied().unwrap_or_default();
                }
                AttributeValue::String(key, text) => {
                    if key == "runtime-handle" {
                        function.kernel.device_enqueue_symbol = Some(text.clone());
                    }
                    function.attributes.insert(key, text);
                }
                _ => {}
            }
        }
        match u64::from(value.global_alignment()) {
            0 => {}
            _ if value.is_declaration() => {}
            bytes if bytes > MAX_CODE_ALIGNMENT => {
                let error = Diagnostic::unsupported(format!("code at a multiple of {bytes} bytes"));
                self.errors.push(error.in_function(&function.name));
            }
            bytes => {
                function.attributes.insert(CODE_ALIGNMENT.to_owned(), bytes.to_string());
            }
        }
        let signature = self.signature(value, &mut function, kinds);
        if let Err(error) = signature {
            // A declaration that nothing uses may be anything; a use meets the same type again.
            if !value.is_declaration() {
                self.errors.push(error.in_function(&function.name));
            }
        }
        let func = self.module.functions.push(function);
        self.meanings[func] = meaning;
        self.symbols.insert(value, (SymbolRef::Func(func), 0));
    }

    fn signature(
        &mut self,
        value: ValueRef<'m>,
        function: &mut Function,
        kinds: &AttributeKinds,
    ) -> Result<()> {
        if let Some((ret, variadic)) = value.global_type().and_then(TypeRef::signature) {
            function.ret = self.ty(ret)?;
            function.variadic = variadic;
        }
        for attribute in value.return_attributes() {
            if let AttributeValue::Enum(kind, _) = attribute.value() {
                function.ret_flags |= kinds.param.get(kind as usize).copied().unwrap_or_default();
            }
        }
        for (index, param) in value.params().into_iter().enumerate() {
            if param.ty().kind() == llvm::LLVMTypeKind::LLVMMetadataTypeKind {
                // Of intrinsics; calls leave the argument out.
                continue;
            }
            let ty = self.ty(param.ty())?;
            function.add_param(ty, param.name());
            let Some(slot) = function.params.last_mut() else { continue };
            for attribute in value.param_attributes(index as u32) {
                self.param_attribute(slot, attribute.value(), kinds)?;
            }
        }
        Ok(())
    }

    fn param_attribute(
        &mut self,
        param: &mut Param,
        value: AttributeValue<'m>,
        kinds: &AttributeKinds,
    ) -> Result<()> {
        match value {
            AttributeValue::Enum(kind, number) => {
                param.flags |= kinds.param.get(kind as usize).copied().unwrap_or_default();
                if kind == kinds.align {
                    param.align_log2 = number.checked_ilog2().unwrap_or(0) as u8;
                } else if kind == kinds.dereferenceable {
                    param.dereferenceable_bytes = number;
                }
            }
            AttributeValue::Type(kind, ty) => {
                param.flags |= kinds.param.get(kind as usize).copied().unwrap_or_default();
                if kind == kinds.byval || kind == kinds.byref {
                    param.indirect = Some(IndirectParam { ty: self.ty(ty)?, by_value: kind == kinds.byval });
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// An attribute of an argument of a call.
    pub(crate) fn call_attribute(
        &mut self,
        argument: &mut mir::ir::CallArgument,
        value: AttributeValue<'m>,
    ) -> Result<()> {
        let kinds = attribute_kinds();
        let (kind, ty) = match value {
            AttributeValue::Enum(kind, number) => {
                if kind == kinds.align {
                    argument.align_log2 = number.checked_ilog2().unwrap_or(0) as u8;
                }
                (kind, None)
            }
            AttributeValue::Type(kind, ty) => (kind, Some(ty)),
            _ => return Ok(()),
        };
        argument.flags |= kinds.param.get(kind as usize).copied().unwrap_or_default();
        if let Some(ty) = ty
            && (kind == kinds.byval || kind == kinds.byref || kind == kinds.elementtype)
        {
            let by_value = kind == kinds.byval;
            argument.indirect = Some(IndirectParam { ty: self.ty(ty)?, by_value });
        }
        Ok(())
    }
}
