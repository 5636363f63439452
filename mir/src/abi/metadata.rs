//! The metadata of code objects V3 and later: a MessagePack map in a note, and the same as YAML in assembly.
//!
//! The structs below are the map, member by member; serde writes and reads them. Members stand in the order of their keys'
//! bytes, since LLVM sorts map keys, and `rmp-serde` uses the shortest form of each value, so the note has LLVM's bytes.
//! [`super::Document`] is any such map, ours or a stranger's.
//!
//! Reading accepts unknown keys (vendors add their own) and missing optional ones.
//!
//! Source: AMDGPU usage guide, "Code Object V3 Metadata" (V4: 1.1 and `amdhsa.target`; V5: 1.2). `.value_type`, which early V3
//! producers wrote, is read, and written where it is asked for ([`VALUE_TYPES_ATTRIBUTE`]): consumers ignore it and LLVM dropped it.

use super::descriptor::RegisterCounts;
use crate::ir::{self, AddrSpace, ParamFlags};
use crate::machine::{Function, KernelArg};
use crate::target::{Features, Target};
use crate::{Diagnostic, Result};
use serde::{Deserialize, Serialize};

/// Owner name of the note.
pub const NOTE_NAME: &str = "AMDGPU";

/// Type of the note (`NT_AMDGPU_METADATA`).
pub const NOTE_TYPE: u32 = 32;

/// Attribute of a kernel whose arguments have `.value_type` in V3.
pub const VALUE_TYPES_ATTRIBUTE: &str = "gcnc-value-types";

/// Attribute of a kernel that names its source language: LLVM IR tells of OpenCL C alone.
pub const LANGUAGE_ATTRIBUTE: &str = "gcnc-language";

/// Source languages that metadata may name. Source: usage guide, "Code Object V3 Metadata".
pub const LANGUAGES: [&str; 6] = ["OpenCL C", "OpenCL C++", "HCC", "HIP", "OpenMP", "Assembler"];

fn is_false(value: &bool) -> bool {
    !*value
}

/// Metadata of a code object. Its kernels are owned, or borrowed where it is only written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata<K = KernelMeta> {
    /// Kernels.
    #[serde(rename = "amdhsa.kernels", default)]
    pub kernels: Vec<K>,
    /// `printf` formats: `ID:N:S[0]:...:S[N-1]:format`.
    #[serde(rename = "amdhsa.printf", default, skip_serializing_if = "Vec::is_empty")]
    pub printf: Vec<String>,
    /// Target id, from V4 on.
    #[serde(rename = "amdhsa.target", default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Major and minor version of this map.
    #[serde(rename = "amdhsa.version")]
    pub version: [u32; 2],
}

/// Metadata of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelMeta {
    /// Arguments in order, hidden ones included.
    #[serde(rename = ".args", default)]
    pub args: Vec<ArgMeta>,
    /// Symbol of the runtime handle for device enqueue.
    #[serde(rename = ".device_enqueue_symbol", default, skip_serializing_if = "Option::is_none")]
    pub device_enqueue_symbol: Option<String>,
    /// Static LDS bytes.
    #[serde(rename = ".group_segment_fixed_size")]
    pub group_segment_fixed_size: u32,
    /// Alignment of the kernarg segment.
    #[serde(rename = ".kernarg_segment_align")]
    pub kernarg_segment_align: u32,
    /// Bytes of the kernarg segment.
    #[serde(rename = ".kernarg_segment_size")]
    pub kernarg_segment_size: u32,
    /// `init` or `fini` where the runtime runs it before or after all others.
    #[serde(rename = ".kind", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Source language.
    #[serde(rename = ".language", default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Its version.
    #[serde(rename = ".language_version", default, skip_serializing_if = "Option::is_none")]
    pub language_version: Option<[u32; 2]>,
    /// Largest work-group that may be launched.
    #[serde(rename = ".max_flat_workgroup_size")]
    pub max_flat_workgroup_size: u32,
    /// Most work-groups in the X dimension (V4 and later).
    #[serde(rename = ".max_num_workgroups_x", default, skip_serializing_if = "Option::is_none")]
    pub max_num_workgroups_x: Option<u32>,
    /// Most work-groups in the Y dimension.
    #[serde(rename = ".max_num_workgroups_y", default, skip_serializing_if = "Option::is_none")]
    pub max_num_workgroups_y: Option<u32>,
    /// Most work-groups in the Z dimension.
    #[serde(rename = ".max_num_workgroups_z", default, skip_serializing_if = "Option::is_none")]
    pub max_num_workgroups_z: Option<u32>,
    /// Source name.
    #[serde(rename = ".name")]
    pub name: String,
    /// Scratch bytes of a lane.
    #[serde(rename = ".private_segment_fixed_size")]
    pub private_segment_fixed_size: u32,
    /// Required work-group size.
    #[serde(rename = ".reqd_workgroup_size", default, skip_serializing_if = "Option::is_none")]
    pub reqd_workgroup_size: Option<[u32; 3]>,
    /// SGPRs, specials included.
    #[serde(rename = ".sgpr_count")]
    pub sgpr_count: u32,
    /// SGPRs spilled.
    #[serde(rename = ".sgpr_spill_count", default)]
    pub sgpr_spill_count: u32,
    /// Symbol of the descriptor.
    #[serde(rename = ".symbol")]
    pub symbol: String,
    /// All work-groups have the same size (V5).
    #[serde(rename = ".uniform_work_group_size", default, skip_serializing_if = "Option::is_none")]
    pub uniform_work_group_size: Option<u32>,
    /// The stack's size is not known statically (V5).
    #[serde(rename = ".uses_dynamic_stack", default, skip_serializing_if = "Option::is_none")]
    pub uses_dynamic_stack: Option<bool>,
    /// OpenCL's `vec_type_hint`.
    #[serde(rename = ".vec_type_hint", default, skip_serializing_if = "Option::is_none")]
    pub vec_type_hint: Option<String>,
    /// VGPRs.
    #[serde(rename = ".vgpr_count")]
    pub vgpr_count: u32,
    /// VGPRs spilled.
    #[serde(rename = ".vgpr_spill_count", default)]
    pub vgpr_spill_count: u32,
    /// Lanes of a wave.
    #[serde(rename = ".wavefront_size")]
    pub wavefront_size: u32,
    /// Whether the waves of a work-group are spread over two compute units, where they work in pairs.
    #[serde(rename = ".workgroup_processor_mode", default, skip_serializing_if = "Option::is_none")]
    pub workgroup_processor_mode: Option<u32>,
    /// OpenCL's `work_group_size_hint`.
    #[serde(rename = ".workgroup_size_hint", default, skip_serializing_if = "Option::is_none")]
    pub workgroup_size_hint: Option<[u32; 3]>,
}

/// Metadata of a kernel argument.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgMeta {
    /// Declared access of an image or pipe.
    #[serde(rename = ".access", default, skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// Access that the code makes.
    #[serde(rename = ".actual_access", default, skip_serializing_if = "Option::is_none")]
    pub actual_access: Option<String>,
    /// Address space of a pointer.
    #[serde(rename = ".address_space", default, skip_serializing_if = "Option::is_none")]
    pub address_space: Option<String>,
    /// `const`.
    #[serde(rename = ".is_const", default, skip_serializing_if = "is_false")]
    pub is_const: bool,
    /// `pipe`.
    #[serde(rename = ".is_pipe", default, skip_serializing_if = "is_false")]
    pub is_pipe: bool,
    /// `restrict`.
    #[serde(rename = ".is_restrict", default, skip_serializing_if = "is_false")]
    pub is_restrict: bool,
    /// `volatile`.
    #[serde(rename = ".is_volatile", default, skip_serializing_if = "is_false")]
    pub is_volatile: bool,
    /// Source name.
    #[serde(rename = ".name", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Byte offset in the kernarg segment.
    #[serde(rename = ".offset")]
    pub offset: u32,
    /// Alignment of what a dynamic LDS pointer points to.
    #[serde(rename = ".pointee_align", default, skip_serializing_if = "Option::is_none")]
    pub pointee_align: Option<u32>,
    /// Bytes.
    #[serde(rename = ".size")]
    pub size: u32,
    /// Declared type.
    #[serde(rename = ".type_name", default, skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// What the runtime puts there.
    #[serde(rename = ".value_kind")]
    pub value_kind: String,
    /// Element type; read only.
    #[serde(rename = ".value_type", default, skip_serializing_if = "Option::is_none")]
    pub value_type: Option<String>,
}

impl ArgMeta {
    /// Whether the runtime fills it in rather than the application.
    pub fn is_hidden(&self) -> bool {
        self.value_kind.starts_with("hidden_")
    }
}

impl Metadata {
    /// Metadata of `kernels`, each with the IR function that it was made from.
    pub fn new<'a>(
        module: &ir::Module,
        kernels: impl IntoIterator<Item = (&'a Function, &'a ir::Function)>,
        target: &Target,
    ) -> Self {
        let meta = |(kernel, source)| kernel_meta(module, kernel, source, target);
        Self::of_kernels(module, kernels.into_iter().map(meta).collect(), target)
    }

    /// Reads MessagePack bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        rmp_serde::from_slice(bytes)
            .map_err(|e| Diagnostic::malformed(format!("metadata is unreadable: {e}")))
    }

    /// The kernel whose descriptor symbol or name is `name`.
    pub fn kernel(&self, name: &str) -> Option<&KernelMeta> {
        self.kernels.iter().find(|k| k.symbol == name || k.name == name)
    }
}

impl Metadata<&KernelMeta> {
    /// The same with kernels of its own.
    pub fn cloned(self) -> Metadata {
        let Self { kernels, printf, target, version } = self;
        Metadata { kernels: kernels.into_iter().cloned().collect(), printf, target, version }
    }
}

impl<K> Metadata<K> {
    /// What `module` and `target` say beside what is known of `kernels`.
    pub fn of_kernels(module: &ir::Module, kernels: Vec<K>, target: &Target) -> Self {
        let version = target.code_object_version;
        Self {
            kernels,
            printf: module.printf_formats.clone(),
            target: (version >= 4).then(|| target_id(target)),
            version: [1, if version >= 5 { 2 } else { u32::from(version >= 4) }],
        }
    }

    /// The MessagePack bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>>
    where
        K: Serialize,
    {
        rmp_serde::to_vec_named(self).map_err(|e| Diagnostic::defect(format!("cannot write metadata: {e}")))
    }
}

/// The target id: triple and processor with the state of its switchable features, in the spelling of the code object version.
///
/// V3 lists enabled features (`gfx902+xnack`), later versions both states (`gfx902:xnack+`) unless the code serves either.
/// Source: usage guide, "Code Object Target Identification", "Target ID".
pub fn target_id(target: &Target) -> String {
    let os = match target.os {
        crate::target::Os::AmdHsa => "amdhsa",
        crate::target::Os::AmdPal => "amdpal",
        crate::target::Os::Mesa3d => "mesa3d",
        crate::target::Os::Unknown => "",
    };
    // HSA's ids have one vendor, whatever the triple says; those of other systems are the triple and the processor alone.
    if target.os != crate::target::Os::AmdHsa {
        let os = if os.is_empty() { "unknown" } else { os };
        return format!("amdgcn-{}-{os}--{}", target.vendor.name(), target.processor.name);
    }
    let mut id = format!("amdgcn-amd-{os}--{}", target.processor.name);
    let v4 = target.code_object_version >= 4;
    let xnack = ("xnack", Features::XNACK_SUPPORTED, Features::XNACK, Features::XNACK_ANY);
    let sramecc_name = if v4 { "sramecc" } else { "sram-ecc" };
    let sramecc = (sramecc_name, Features::SRAM_ECC_SUPPORTED, Features::SRAM_ECC, Features::SRAM_ECC_ANY);
    // V3 keeps the order of the feature table, the target ids of V4 are sorted by name.
    let order = if v4 { [sramecc, xnack] } else { [xnack, sramecc] };
    for (name, supported, enabled, either) in order {
        if !has_setting(target, supported, enabled) || v4 && target.has(either) {
            continue;
        }
        match (v4, target.has(enabled)) {
            (true, on) => id += &format!(":{name}{}", if on { '+' } else { '-' }),
            (false, true) => id += &format!("+{name}"),
            (false, false) => {}
        }
    }
    id
}

/// Whether the target id and `e_flags` of `target` tell the state of a feature.
///
/// V3 knows XNACK on all of GFX8; later versions dropped it where the hardware cannot replay: the discrete cards of GFX8.
/// Source: usage guide, "Processors"; LLVM 22 refuses `gfx803:xnack-`.
pub fn has_setting(target: &Target, supported: Features, enabled: Features) -> bool {
    let replays = target.processor.apu || target.has(Features::GLOBAL);
    target.has(enabled)
        || (target.has(supported)
            && (supported != Features::XNACK_SUPPORTED || replays || target.code_object_version < 4))
}

fn kernel_meta(module: &ir::Module, kernel: &Function, source: &ir::Function, target: &Target) -> KernelMeta {
    let counts = RegisterCounts::of_kernel(kernel, target);
    let v5 = target.code_object_version >= 5;
    let language = source.attribute(LANGUAGE_ATTRIBUTE);
    let of_module = module.opencl_version.map(|_| "OpenCL C");
    let max_workgroups = match target.code_object_version {
        0..=3 => [None; 3],
        _ => max_num_workgroups(source),
    };
    KernelMeta {
        args: kernel
            .kernarg
            .args
            .iter()
            .map(|arg| {
                let has_type =
                    target.code_object_version == 3 && source.attribute(VALUE_TYPES_ATTRIBUTE).is_some();
                let value_type = || super::metadata_v2::value_type(Some(source), arg).to_lowercase();
                ArgMeta { value_type: has_type.then(value_type), ..arg_meta(arg, source) }
            })
            .collect(),
        device_enqueue_symbol: source.kernel.device_enqueue_symbol.clone(),
        group_segment_fixed_size: kernel.lds.size_bytes,
        kernarg_segment_align: kernel.kernarg.align_bytes,
        kernarg_segment_size: kernel.kernarg.size_bytes,
        kind: ["init", "fini"]
            .into_iter()
            .find(|kind| source.attribute(&format!("device-{kind}")).is_some())
            .map(str::to_owned),
        language: language.or(of_module).map(str::to_owned),
        // The version is that of the language that the module names.
        language_version: module.opencl_version.filter(|_| language.is_none() || language == of_module),
        max_flat_workgroup_size: kernel.max_flat_workgroup_size,
        max_num_workgroups_x: max_workgroups[0],
        max_num_workgroups_y: max_workgroups[1],
        max_num_workgroups_z: max_workgroups[2],
        name: kernel.name.clone(),
        private_segment_fixed_size: kernel.resources.scratch_bytes,
        reqd_workgroup_size: source.kernel.reqd_work_group_size,
        sgpr_count: counts.sgprs(),
        sgpr_spill_count: kernel.resources.sgpr_spills,
        symbol: format!("{}.kd", kernel.name),
        uniform_work_group_size: (v5
            && source.attribute("uniform-work-group-size").is_some_and(|value| value != "false"))
        .then_some(1),
        uses_dynamic_stack: v5.then_some(false),
        vec_type_hint: source.kernel.vec_type_hint.clone(),
        vgpr_count: counts.vgprs,
        vgpr_spill_count: kernel.resources.vgpr_spills,
        wavefront_size: target.wave_size(),
        workgroup_processor_mode: (v5 && target.has(Features::WORKGROUP_PROCESSORS))
            .then(|| u32::from(target.splits_work_groups())),
        workgroup_size_hint: source.kernel.work_group_size_hint,
    }
}

/// Most work-groups in each dimension by `"amdgpu-max-num-workgroups"="x,y,z"`; 0 and all ones stand for no bound.
fn max_num_workgroups(source: &ir::Function) -> [Option<u32>; 3] {
    let text = source.attribute("amdgpu-max-num-workgroups").unwrap_or_default();
    let mut numbers = text.split(',').map(|n| n.trim().parse().ok().filter(|&n| n != 0 && n != u32::MAX));
    std::array::from_fn(|_| numbers.next().flatten())
}

fn arg_meta(arg: &KernelArg, source: &ir::Function) -> ArgMeta {
    // Images, samplers and queues are pointers in the IR alone.
    let is_buffer = matches!(arg.value_kind, "global_buffer" | "dynamic_shared_pointer");
    let mut out = ArgMeta {
        offset: arg.offset_bytes,
        size: arg.size_bytes,
        value_kind: arg.value_kind.to_owned(),
        pointee_align: (arg.pointee_align != 0).then_some(arg.pointee_align),
        address_space: is_buffer.then_some(arg.space).flatten().and_then(address_space).map(str::to_owned),
        ..ArgMeta::default()
    };
    let Some(index) = arg.param.map(|index| index as usize) else { return out };
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let access =
        |text: &str| matches!(text, "read_only" | "write_only" | "read_write").then(|| text.to_owned());
    let info = source.kernel.args.get(index);
    if let Some(param) = source.params.get(index) {
        out.name = some(&param.name);
        let seen = match arg.space {
            Some(_) if !param.flags.contains(ParamFlags::NOALIAS) => "",
            Some(_) if param.flags.contains(ParamFlags::READONLY) => "read_only",
            Some(_) if param.flags.contains(ParamFlags::WRITEONLY) => "write_only",
            _ => "",
        };
        out.actual_access = access(seen);
    }
    if let Some(info) = info {
        out.name = some(&info.name).or(out.name);
        out.type_name = some(&info.ty);
        out.access = access(&info.access);
        for word in info.qualifiers.split_whitespace() {
            match word {
                "const" => out.is_const = true,
                "restrict" => out.is_restrict = true,
                "volatile" => out.is_volatile = true,
                "pipe" => out.is_pipe = true,
                _ => {}
            }
        }
    }
    out
}

fn address_space(space: AddrSpace) -> Option<&'static str> {
    Some(match space {
        AddrSpace::PRIVATE => "private",
        AddrSpace::GLOBAL => "global",
        AddrSpace::CONSTANT => "constant",
        AddrSpace::LOCAL => "local",
        AddrSpace::FLAT => "generic",
        AddrSpace::REGION => "region",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Document;
    use crate::ir::{CallConv, KernelArgInfo, Type};
    use crate::machine::Resources;
    use cranelift_entity::EntityRef;

    fn target(name: &str, version: u8) -> Target {
        let processor = Target::processor_by_name(name).expect("a processor of the table");
        Target { code_object_version: version, ..Target::new(processor) }
    }

    fn sample(version: u8) -> Metadata {
        let mut module = ir::Module { opencl_version: Some([1, 2]), ..Default::default() };
        module.printf_formats.push("1:1:4:%d\n".into());
        let mut source = ir::Function::new("k", CallConv::Kernel, Type::Void);
        source.add_param(Type::ptr(AddrSpace::GLOBAL), "ir_name");
        source.params[0].flags = ParamFlags::NOALIAS | ParamFlags::READONLY;
        source.add_param(Type::ptr(AddrSpace::CONSTANT), "img");
        source.kernel.args = vec![
            KernelArgInfo {
                name: "p".into(),
                ty: "float*".into(),
                base_ty: "float*".into(),
                access: "none".into(),
                qualifiers: "restrict const".into(),
                ..Default::default()
            },
            KernelArgInfo { base_ty: "image2d_t".into(), access: "write_only".into(), ..Default::default() },
        ];
        source.kernel.reqd_work_group_size = Some([64, 1, 1]);
        let mut kernel = Function::new("k", CallConv::Kernel, ir::Func::new(0));
        let target = target("gfx900", version);
        kernel.kernarg = super::super::kernarg::layout(&module, &source, &target);
        kernel.resources = Resources { sgprs: 10, vgprs: 3, vcc: true, ..Default::default() };
        Metadata::new(&module, [(&kernel, &source)], &target)
    }

    #[test]
    fn written_metadata_reads_back() {
        for version in [3, 4, 5] {
            let metadata = sample(version);
            let bytes = metadata.to_bytes().expect("writable");
            assert_eq!(Metadata::from_bytes(&bytes), Ok(metadata));
        }
        assert!(Metadata::from_bytes(&[0xc1]).is_err());
    }

    #[test]
    fn members_come_from_opencl_and_attributes() {
        let metadata = sample(3);
        assert_eq!((metadata.version, metadata.target.as_deref()), ([1, 0], None));
        let kernel = metadata.kernel("k.kd").expect("by symbol");
        assert_eq!((kernel.sgpr_count, kernel.vgpr_count), (12, 3));
        assert_eq!(kernel.reqd_workgroup_size, Some([64, 1, 1]));
        assert_eq!((kernel.language.as_deref(), kernel.language_version), (Some("OpenCL C"), Some([1, 2])));
        let [p, img] = &kernel.args[..] else { panic!("two arguments") };
        assert_eq!((p.name.as_deref(), p.type_name.as_deref()), (Some("p"), Some("float*")));
        assert!(p.is_const && p.is_restrict && !p.is_volatile);
        assert_eq!((p.actual_access.as_deref(), p.access.as_deref()), (Some("read_only"), None));
        assert_eq!((img.value_kind.as_str(), img.access.as_deref()), ("image", Some("write_only")));
        assert_eq!((p.address_space.as_deref(), img.address_space.as_deref()), (Some("global"), None));
        let v5 = sample(5);
        assert_eq!((v5.version, v5.kernels[0].uses_dynamic_stack), ([1, 2], Some(false)));
    }

    /// LLVM writes sorted keys; ours must be sorted at every level.
    #[test]
    fn keys_are_sorted() {
        fn check(node: &Document) {
            match node {
                Document::Map(entries) => {
                    let keys: Vec<_> = entries.iter().map(|(key, _)| format!("{key:?}")).collect();
                    assert!(keys.is_sorted(), "{keys:?}");
                    entries.iter().for_each(|(_, value)| check(value));
                }
                Document::List(items) => items.iter().for_each(check),
                _ => {}
            }
        }
        let bytes = sample(5).to_bytes().expect("writable");
        check(&Document::from_msgpack(&bytes).expect("readable"));
    }

    #[test]
    fn yaml_is_llvms() {
        let yaml =
            Document::from_msgpack(&sample(4).to_bytes().expect("writable")).expect("readable").to_yaml();
        assert!(yaml.contains("  - .args:\n      - .actual_access:  read_only\n"), "{yaml}");
        assert!(yaml.contains("        .type_name:      'float*'\n"), "{yaml}");
        assert!(yaml.contains("amdhsa.printf:\n  - \"1:1:4:%d\\n\"\n"), "{yaml}");
        assert!(yaml.contains("amdhsa.target:   'amdgcn-amd-amdhsa--gfx900:xnack-'\n"), "{yaml}");
    }

    #[test]
    fn languages_and_types_are_told_where_they_are_asked_for() {
        let module = ir::Module { opencl_version: Some([1, 2]), ..Default::default() };
        let mut source = ir::Function::new("k", CallConv::Kernel, Type::Void);
        source.add_param(Type::ptr(AddrSpace::GLOBAL), "p");
        source.add_param(Type::I16, "x");
        source.kernel.args =
            ["uint*", "ushort"].map(|ty| KernelArgInfo { base_ty: ty.into(), ..Default::default() }).into();
        let told = |source: &ir::Function, version: u8| {
            let target = target("gfx900", version);
            let mut kernel = Function::new("k", CallConv::Kernel, ir::Func::new(0));
            kernel.kernarg = super::super::kernarg::layout(&module, source, &target);
            let bytes = Metadata::new(&module, [(&kernel, source)], &target).to_bytes().expect("written");
            let read = Metadata::from_bytes(&bytes).expect("metadata");
            let kernel = read.kernels.into_iter().next().expect("one");
            let types = kernel.args.into_iter().filter_map(|arg| arg.value_type).take(2).collect::<Vec<_>>();
            (kernel.language, kernel.language_version, types)
        };
        let plain = (Some("OpenCL C".to_owned()), Some([1, 2]), Vec::new());
        assert_eq!((told(&source, 3), told(&source, 5)), (plain.clone(), plain));
        source.attributes.insert(VALUE_TYPES_ATTRIBUTE.to_owned(), String::new());
        source.attributes.insert(LANGUAGE_ATTRIBUTE.to_owned(), "HIP".to_owned());
        let types = ["u32", "u16"].map(str::to_owned).to_vec();
        assert_eq!(told(&source, 3), (Some("HIP".to_owned()), None, types));
        assert_eq!(told(&source, 4), (Some("HIP".to_owned()), None, Vec::new()));
    }

    #[test]
    fn target_ids_follow_the_version() {
        assert_eq!(target_id(&target("gfx900", 3)), "amdgcn-amd-amdhsa--gfx900");
        assert_eq!(target_id(&target("gfx902", 3)), "amdgcn-amd-amdhsa--gfx902+xnack");
        assert_eq!(target_id(&target("gfx906", 4)), "amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-");
        assert_eq!(target_id(&target("gfx700", 4)), "amdgcn-amd-amdhsa--gfx700");
        assert_eq!(target_id(&target("gfx803", 4)), "amdgcn-amd-amdhsa--gfx803");
        assert_eq!(target_id(&target("gfx810", 4)), "amdgcn-amd-amdhsa--gfx810:xnack+");
    }
}
