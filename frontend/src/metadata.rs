//! Metadata: OpenCL's kernel descriptions, module flags, source files.

use crate::llvm::{LLVMTypeKind, TypeRef, ValueRef};
use crate::reader::Reader;
use mir::ir::{Func, KernelArgInfo, PalMetadata, SourceLoc};

/// Number operands of a node; anything else counts as 0.
fn numbers(node: ValueRef<'_>) -> Vec<u32> {
    node.node_operands().into_iter().map(|op| op.and_then(ValueRef::as_u64).unwrap_or(0) as u32).collect()
}

fn strings(node: ValueRef<'_>) -> Vec<String> {
    node.node_operands().into_iter().map(|op| op.and_then(ValueRef::md_string).unwrap_or_default()).collect()
}

fn triple(node: ValueRef<'_>) -> Option<[u32; 3]> {
    numbers(node).try_into().ok()
}

/// OpenCL's name of the type of a `vec_type_hint`.
fn opencl_type(ty: TypeRef<'_>, signed: bool) -> String {
    use LLVMTypeKind::*;
    match ty.kind() {
        LLVMVectorTypeKind => match ty.sequence() {
            Some((element, lanes)) => format!("{}{lanes}", opencl_type(element, signed)),
            None => String::new(),
        },
        LLVMIntegerTypeKind => {
            let name = match ty.int_bits() {
                8 => "char".to_owned(),
                16 => "short".to_owned(),
                32 => "int".to_owned(),
                64 => "long".to_owned(),
                bits => format!("i{bits}"),
            };
            if signed { name } else { format!("u{name}") }
        }
        LLVMHalfTypeKind => "half".to_owned(),
        LLVMFloatTypeKind => "float".to_owned(),
        LLVMDoubleTypeKind => "double".to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// The list of arguments, long enough for `len` of them.
fn grown(args: &mut Vec<KernelArgInfo>, len: usize) -> &mut [KernelArgInfo] {
    if args.len() < len {
        args.resize(len, KernelArgInfo::default());
    }
    args
}

impl<'m> Reader<'m> {
    /// Module flags and named metadata.
    pub(crate) fn module_metadata(&mut self) {
        let llvm = self.llvm;
        let version =
            llvm.flag("amdhsa_code_object_version").or_else(|| llvm.flag("amdgpu_code_object_version"));
        self.module.code_object_version_flag = version.map(|v| v as u32);
        let first = llvm.named_metadata(c"opencl.ocl.version").first().map(|&node| numbers(node));
        self.module.opencl_version = first.and_then(|v| v.try_into().ok());
        self.module.is_openmp = llvm.flag("openmp").is_some();
        let all = |name| llvm.named_metadata(name).into_iter().flat_map(strings).collect();
        self.module.printf_formats = all(c"llvm.printf.fmts");
        self.module.idents = all(c"llvm.ident");
        self.module.pal_metadata = self.pal_metadata();
    }

    /// Pipeline metadata: the first operand of the first node is the map, or all operands are pairs of numbers.
    fn pal_metadata(&self) -> Option<PalMetadata> {
        let map = self.llvm.named_metadata(c"amdgpu.pal.metadata.msgpack").into_iter().next();
        let bytes = map
            .and_then(|node| node.node_operands().into_iter().next().flatten())
            .and_then(ValueRef::md_bytes);
        if let Some(bytes) = bytes {
            // An empty string asks for the form and says nothing.
            return (!bytes.is_empty()).then_some(PalMetadata::MsgPack(bytes));
        }
        let pairs = numbers(self.llvm.named_metadata(c"amdgpu.pal.metadata").into_iter().next()?);
        Some(PalMetadata::Registers(pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()))
    }

    /// Metadata attached to a function.
    pub(crate) fn function_metadata(&mut self, value: ValueRef<'m>, func: Func) {
        if let Some(subprogram) = value.subprogram() {
            let file = self.file_of(subprogram);
            self.module.functions[func].loc =
                SourceLoc { line: subprogram.subprogram_line(), column: 0, file };
        }
        for (kind, node) in value.global_metadata() {
            let (kinds, node) = (&self.kinds, self.llvm.as_value(node));
            let kernel = &mut self.module.functions[func].kernel;
            let mut set = |texts: Vec<String>, field: fn(&mut KernelArgInfo) -> &mut String| {
                let len = texts.len();
                for (arg, text) in grown(&mut kernel.args, len).iter_mut().zip(texts) {
                    *field(arg) = text;
                }
            };
            if kind == kinds.arg_access_qual {
                set(strings(node), |arg| &mut arg.access);
            } else if kind == kinds.arg_type {
                set(strings(node), |arg| &mut arg.ty);
            } else if kind == kinds.arg_base_type {
                set(strings(node), |arg| &mut arg.base_ty);
            } else if kind == kinds.arg_type_qual {
                set(strings(node), |arg| &mut arg.qualifiers);
            } else if kind == kinds.arg_name {
                set(strings(node), |arg| &mut arg.name);
            } else if kind == kinds.arg_addr_space {
                let spaces = numbers(node);
                for (arg, space) in grown(&mut kernel.args, spaces.len()).iter_mut().zip(spaces) {
                    arg.addr_space = space;
                }
            } else if kind == kinds.reqd_work_group_size {
                kernel.reqd_work_group_size = triple(node);
            } else if kind == kinds.lds_kernel_id {
                kernel.lds_kernel_id = numbers(node).first().copied();
            } else if kind == kinds.work_group_size_hint {
                kernel.work_group_size_hint = triple(node);
            } else if kind == kinds.vec_type_hint {
                let operands = node.node_operands();
                if let [Some(ty), Some(signed), ..] = operands[..] {
                    kernel.vec_type_hint = Some(opencl_type(ty.ty(), signed.as_u64().unwrap_or(0) != 0));
                }
            }
        }
    }
}
