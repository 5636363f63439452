//! Numbers by which LLVM knows kinds of attributes and metadata.

use crate::llvm::{self, ModuleRef};
use mir::ir::{FuncFlags, ParamFlags};
use std::sync::OnceLock;

/// LLVM's numbers of the attributes that mean something here. They are the same in all contexts.
pub(crate) struct AttributeKinds {
    /// By number; the rest means nothing.
    pub function: Vec<FuncFlags>,
    pub param: Vec<ParamFlags>,
    pub align: u32,
    pub dereferenceable: u32,
    pub byval: u32,
    pub byref: u32,
    pub elementtype: u32,
    pub nobuiltin: u32,
}

/// The numbers, which are the same for the whole process.
pub(crate) fn attribute_kinds() -> &'static AttributeKinds {
    static ATTRIBUTES: OnceLock<AttributeKinds> = OnceLock::new();
    ATTRIBUTES.get_or_init(AttributeKinds::new)
}

impl AttributeKinds {
    fn new() -> Self {
        let function = [
            ("alwaysinline", FuncFlags::ALWAYS_INLINE),
            ("noinline", FuncFlags::NO_INLINE),
            ("optnone", FuncFlags::OPT_NONE),
            ("convergent", FuncFlags::CONVERGENT),
            ("noreturn", FuncFlags::NO_RETURN),
            ("optsize", FuncFlags::OPT_SIZE),
            ("minsize", FuncFlags::MIN_SIZE),
            ("inlinehint", FuncFlags::INLINE_HINT),
            ("strictfp", FuncFlags::STRICT_FP),
        ];
        let param = [
            ("noalias", ParamFlags::NOALIAS),
            ("readonly", ParamFlags::READONLY),
            ("writeonly", ParamFlags::WRITEONLY),
            ("readnone", ParamFlags::READONLY.union(ParamFlags::WRITEONLY)),
            ("inreg", ParamFlags::INREG),
            ("sret", ParamFlags::SRET),
            ("zeroext", ParamFlags::ZEROEXT),
            ("signext", ParamFlags::SIGNEXT),
            ("nonnull", ParamFlags::NONNULL),
            ("noundef", ParamFlags::NOUNDEF),
        ];
        Self {
            function: by_kind(&function),
            param: by_kind(&param),
            align: llvm::attribute_kind("align"),
            dereferenceable: llvm::attribute_kind("dereferenceable"),
            byval: llvm::attribute_kind("byval"),
            byref: llvm::attribute_kind("byref"),
            elementtype: llvm::attribute_kind("elementtype"),
            nobuiltin: llvm::attribute_kind("nobuiltin"),
        }
    }
}

/// `flags` by LLVM's number of the attribute.
fn by_kind<T: Copy + Default>(flags: &[(&str, T)]) -> Vec<T> {
    let mut out = Vec::new();
    for &(name, flag) in flags {
        let kind = llvm::attribute_kind(name) as usize;
        if out.len() <= kind {
            out.resize(kind + 1, T::default());
        }
        out[kind] = flag;
    }
    out
}

/// Numbers of the metadata kinds that the reader looks at.
pub(crate) struct MetadataKinds {
    pub fpmath: u32,
    pub invariant_load: u32,
    pub nontemporal: u32,
    pub noclobber: u32,
    pub mmra: u32,
    pub noalias_space: u32,
    pub alias_scope: u32,
    pub noalias: u32,
    pub no_fine_grained: u32,
    pub no_remote: u32,
    pub loop_hints: u32,
    pub arg_addr_space: u32,
    pub arg_access_qual: u32,
    pub arg_type: u32,
    pub arg_base_type: u32,
    pub arg_type_qual: u32,
    pub arg_name: u32,
    pub reqd_work_group_size: u32,
    pub work_group_size_hint: u32,
    pub vec_type_hint: u32,
    pub lds_kernel_id: u32,
}

impl MetadataKinds {
    pub fn new(module: ModuleRef<'_>) -> Self {
        let kind = |name| module.metadata_kind(name);
        Self {
            fpmath: kind("fpmath"),
            invariant_load: kind("invariant.load"),
            nontemporal: kind("nontemporal"),
            noclobber: kind("amdgpu.noclobber"),
            mmra: kind("mmra"),
            noalias_space: kind("noalias.addrspace"),
            alias_scope: kind("alias.scope"),
            noalias: kind("noalias"),
            no_fine_grained: kind("amdgpu.no.fine.grained.memory"),
            no_remote: kind("amdgpu.no.remote.memory"),
            loop_hints: kind("llvm.loop"),
            arg_addr_space: kind("kernel_arg_addr_space"),
            arg_access_qual: kind("kernel_arg_access_qual"),
            arg_type: kind("kernel_arg_type"),
            arg_base_type: kind("kernel_arg_base_type"),
            arg_type_qual: kind("kernel_arg_type_qual"),
            arg_name: kind("kernel_arg_name"),
            reqd_work_group_size: kind("reqd_work_group_size"),
            work_group_size_hint: kind("work_group_size_hint"),
            vec_type_hint: kind("vec_type_hint"),
            lds_kernel_id: kind("llvm.amdgcn.lds.kernel.id"),
        }
    }
}
