//! The metadata of code objects V2: a YAML document in a note, and the same text in assembly.
//!
//! It says what [`Metadata`] says, in other words and with a few members more, which come from the functions. Members stand in the order in
//! which LLVM writes them. What is read becomes [`Metadata`], so that consumers need not know of V2.
//!
//! Source: AMDGPU usage guide, "Code Object V2 Metadata". `ValueType`, which the guide asks for where arguments are passed by value, is
//! written for all arguments: LLVM's own reader demanded it of each until version 10. `IsDynamicCallStack` and `IsXNACKEnabled` are of older
//! editions of the guide and written by all of LLVM's versions.

use super::Document;
use super::metadata::{ArgMeta, KernelMeta, Metadata};
use crate::ir::{self, Float, Module, Scalar, Type};
use crate::machine::{Function, KernelArg};
use crate::target::{Features, Target};
use crate::{Diagnostic, Result};

/// Owner name of the notes of V2.
pub const NOTE_NAME: &str = "AMD";

/// Type of the note with the version (`NT_AMD_HSA_CODE_OBJECT_VERSION`): major and minor, a dword each.
pub const NOTE_VERSION: u32 = 1;

/// Type of the note with the instruction set (`NT_AMD_HSA_ISA_VERSION`): sizes of both names, a half each; major, minor and stepping, a dword
/// each; vendor and architecture, each with its NUL.
pub const NOTE_ISA_VERSION: u32 = 3;

/// Type of the note with this metadata (`NT_AMD_HSA_METADATA`).
pub const NOTE_METADATA: u32 = 10;

/// Type of the note with the target's name (`NT_AMD_HSA_ISA_NAME`).
pub const NOTE_ISA_NAME: u32 = 11;

/// Major and minor version that the note tells.
pub const VERSION: [u32; 2] = [2, 1];

/// Vendor and architecture in the note of the instruction set.
pub const VENDOR_AND_ARCHITECTURE: [&str; 2] = ["AMD", "AMDGPU"];

/// What the note of the instruction set says: major, minor and stepping, vendor, architecture; `None` where it is not complete.
pub fn read_isa_version(description: &[u8]) -> Option<([u32; 3], &str, &str)> {
    let half = |at: usize| Some(u16::from_le_bytes(description.get(at..at + 2)?.try_into().ok()?));
    let dword = |at: usize| Some(u32::from_le_bytes(description.get(at..at + 4)?.try_into().ok()?));
    let (vendor_bytes, architecture_bytes) = (usize::from(half(0)?), usize::from(half(2)?));
    let name = |at: usize, bytes: usize| {
        let text = description.get(at..at + bytes)?;
        std::str::from_utf8(text.strip_suffix(&[0]).unwrap_or(text)).ok()
    };
    let version = [dword(4)?, dword(8)?, dword(12)?];
    Some((version, name(16, vendor_bytes)?, name(16 + vendor_bytes, architecture_bytes)?))
}

/// A map under construction: keys in the order of the format.
#[derive(Default)]
struct Map(Vec<(Document, Document)>);

impl Map {
    fn put(&mut self, key: &str, value: Document) {
        self.0.push((text(key), value));
    }

    fn number(&mut self, key: &str, value: u32) {
        self.put(key, Document::Int(value.into()));
    }

    fn text(&mut self, key: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.put(key, Document::Text(value.into()));
        }
    }

    fn numbers(&mut self, key: &str, value: Option<&[u32]>) {
        if let Some(value) = value {
            self.put(key, Document::List(value.iter().map(|&n| Document::Int(n.into())).collect()));
        }
    }

    /// Flags are there where they hold.
    fn flag(&mut self, key: &str, value: bool) {
        if value {
            self.put(key, Document::Bool(true));
        }
    }

    /// Maps and lists are there where they hold something.
    fn child(&mut self, key: &str, child: Document) {
        let is_empty = match &child {
            Document::Map(entries) => entries.is_empty(),
            Document::List(items) => items.is_empty(),
            _ => false,
        };
        if !is_empty {
            self.put(key, child);
        }
    }
}

fn text(text: &str) -> Document {
    Document::Text(text.to_owned())
}

/// The metadata of a module with these kernels, each with what [`Metadata`] says of it.
pub fn document<'a>(
    module: &Module,
    kernels: impl IntoIterator<Item = (&'a KernelMeta, &'a Function)>,
    target: &Target,
) -> Document {
    let mut out = Map::default();
    out.numbers("Version", Some(&[1, 0]));
    out.child("Printf", Document::List(module.printf_formats.iter().map(|format| text(format)).collect()));
    let kernels = kernels.into_iter();
    let kernels = kernels.map(|(meta, function)| kernel(module, meta, function, target)).collect();
    out.child("Kernels", Document::List(kernels));
    Document::Map(out.0)
}

/// Symbol that the metadata names for a kernel's descriptor, which V2 does not have.
pub fn symbol_name(kernel: &str) -> String {
    format!("{kernel}@kd")
}

fn kernel(module: &Module, meta: &KernelMeta, function: &Function, target: &Target) -> Document {
    let source = module.functions.get(function.source);
    let mut out = Map::default();
    out.text("Name", Some(&meta.name));
    out.text("SymbolName", Some(symbol_name(&meta.name)));
    out.text("Language", meta.language.clone());
    out.numbers("LanguageVersion", meta.language_version.as_ref().map(|version| &version[..]));
    let mut attributes = Map::default();
    attributes.numbers("ReqdWorkGroupSize", meta.reqd_workgroup_size.as_ref().map(|size| &size[..]));
    attributes.numbers("WorkGroupSizeHint", meta.workgroup_size_hint.as_ref().map(|size| &size[..]));
    attributes.text("VecTypeHint", meta.vec_type_hint.clone());
    attributes.text("RuntimeHandle", meta.device_enqueue_symbol.clone());
    out.child("Attrs", Document::Map(attributes.0));
    let args = meta.args.iter().zip(&function.kernarg.args);
    let args = args.map(|(meta, arg)| argument(module, source, meta, arg)).collect();
    out.child("Args", Document::List(args));
    let mut code = Map::default();
    code.number("KernargSegmentSize", meta.kernarg_segment_size);
    code.number("GroupSegmentFixedSize", meta.group_segment_fixed_size);
    code.number("PrivateSegmentFixedSize", meta.private_segment_fixed_size);
    code.number("KernargSegmentAlign", meta.kernarg_segment_align);
    code.number("WavefrontSize", meta.wavefront_size);
    code.number("NumSGPRs", meta.sgpr_count);
    code.number("NumVGPRs", meta.vgpr_count);
    code.number("MaxFlatWorkGroupSize", meta.max_flat_workgroup_size);
    code.flag("IsDynamicCallStack", function.dynamic_stack);
    code.flag("IsXNACKEnabled", target.has(Features::XNACK));
    for (key, spills) in
        [("NumSpilledSGPRs", meta.sgpr_spill_count), ("NumSpilledVGPRs", meta.vgpr_spill_count)]
    {
        if spills > 0 {
            code.number(key, spills);
        }
    }
    out.child("CodeProps", Document::Map(code.0));
    Document::Map(out.0)
}

fn argument(module: &Module, source: Option<&ir::Function>, meta: &ArgMeta, arg: &KernelArg) -> Document {
    let is = |kinds: &[&str]| kinds.contains(&meta.value_kind.as_str());
    let (buffer, opaque) = (is(&["global_buffer"]), is(&["image", "pipe"]));
    let mut out = Map::default();
    out.text("Name", meta.name.clone());
    out.text("TypeName", meta.type_name.clone());
    out.number("Size", meta.size);
    out.number("Align", alignment(module, source, arg));
    out.text("ValueKind", Some(camel_case(&meta.value_kind)));
    out.text("ValueType", Some(value_type(source, arg)));
    if let Some(align) = meta.pointee_align {
        out.number("PointeeAlign", align);
    }
    out.text("AddrSpaceQual", meta.address_space.as_deref().map(camel_case));
    out.text("AccQual", meta.access.as_deref().filter(|_| opaque).map(camel_case));
    out.text("ActualAccQual", meta.actual_access.as_deref().filter(|_| buffer || opaque).map(camel_case));
    out.flag("IsConst", meta.is_const && buffer);
    out.flag("IsRestrict", meta.is_restrict && buffer);
    out.flag("IsVolatile", meta.is_volatile && buffer);
    out.flag("IsPipe", meta.is_pipe);
    Document::Map(out.0)
}

/// Bytes to which the argument is aligned.
fn alignment(module: &Module, source: Option<&ir::Function>, arg: &KernelArg) -> u32 {
    let of_param = |index: u32| {
        let source = source?;
        let param = source.params.get(index as usize)?;
        Some(super::kernarg::param_size_align(module, source, param).1 as u32)
    };
    // Hidden arguments are aligned to their size.
    arg.param.and_then(of_param).unwrap_or(arg.size_bytes)
}

/// `ValueType`: the type of an argument, of a vector's elements, of what a pointer points to.
pub(super) fn value_type(source: Option<&ir::Function>, arg: &KernelArg) -> &'static str {
    let Some(index) = arg.param else {
        // Offsets are numbers, everything else is a pointer to bytes.
        return if arg.value_kind.starts_with("hidden_global_offset") { "I64" } else { "I8" };
    };
    let info = source.and_then(|source| source.kernel.args.get(index as usize));
    let declared = info.map_or("", |info| info.base_ty.as_str());
    let param = source.and_then(|source| Some((source, source.params.get(index as usize)?)));
    let scalar = match param {
        Some((source, param)) if param.indirect.is_none() => match source.ty(param.value) {
            Type::Scalar(scalar) | Type::Vector(scalar, _) => scalar,
            _ => return "Struct",
        },
        _ => return "Struct",
    };
    let unsigned = declared.starts_with('u');
    match scalar {
        Scalar::Int(8) => ["I8", "U8"][usize::from(unsigned)],
        Scalar::Int(16) => ["I16", "U16"][usize::from(unsigned)],
        Scalar::Int(32) => ["I32", "U32"][usize::from(unsigned)],
        Scalar::Int(64) => ["I64", "U64"][usize::from(unsigned)],
        Scalar::Float(Float::Half) => "F16",
        Scalar::Float(Float::Single) => "F32",
        Scalar::Float(Float::Double) => "F64",
        Scalar::Ptr(_) => named_type(declared.trim_end_matches('*')),
        _ => "Struct",
    }
}

/// `ValueType` of a type of OpenCL C, of a vector's elements.
fn named_type(name: &str) -> &'static str {
    match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "char" => "I8",
        "uchar" => "U8",
        "short" => "I16",
        "ushort" => "U16",
        "int" => "I32",
        "uint" => "U32",
        "long" => "I64",
        "ulong" => "U64",
        "half" => "F16",
        "float" => "F32",
        "double" => "F64",
        _ => "Struct",
    }
}

/// `global_buffer` as `GlobalBuffer`.
fn camel_case(name: &str) -> String {
    // The one name whose words V2 divides otherwise.
    if name == MULTIGRID.0 {
        return MULTIGRID.1.to_owned();
    }
    name.split('_')
        .flat_map(|word| {
            word.chars().enumerate().map(|(i, c)| if i == 0 { c.to_ascii_uppercase() } else { c })
        })
        .collect()
}

const MULTIGRID: (&str, &str) = ("hidden_multigrid_sync_arg", "HiddenMultiGridSyncArg");

/// `GlobalBuffer` as `global_buffer`.
fn snake_case(name: &str) -> String {
    if name == MULTIGRID.1 {
        return MULTIGRID.0.to_owned();
    }
    let mut out = String::new();
    for (i, c) in name.char_indices() {
        if c.is_ascii_uppercase() && i > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Reads the text of a note or of an assembly file. Unknown keys are passed over.
///
/// # Errors
/// What is no YAML ([`crate::ErrorKind::Malformed`]).
pub fn parse(text: &str) -> Result<Metadata> {
    let document = Document::from_yaml(text.trim_end_matches('\0'))?;
    if !matches!(document, Document::Map(_)) {
        return Err(Diagnostic::malformed("metadata of V2 is no map"));
    }
    Ok(Metadata {
        kernels: items(&document, "Kernels").iter().map(read_kernel).collect(),
        printf: items(&document, "Printf")
            .iter()
            .filter_map(|item| item.as_text().map(str::to_owned))
            .collect(),
        target: None,
        version: numbers(&document, "Version").unwrap_or([1, 0]),
    })
}

fn items<'a>(map: &'a Document, key: &str) -> &'a [Document] {
    if let Some(Document::List(items)) = map.get(key) { items } else { &[] }
}

fn number(map: &Document, key: &str) -> Option<u32> {
    as_u32(map.get(key)?)
}

fn as_u32(value: &Document) -> Option<u32> {
    if let Document::Int(value) = value { u32::try_from(*value).ok() } else { None }
}

fn numbers<const N: usize>(map: &Document, key: &str) -> Option<[u32; N]> {
    let numbers: Vec<u32> = items(map, key).iter().filter_map(as_u32).collect();
    numbers.try_into().ok()
}

fn string(map: &Document, key: &str) -> Option<String> {
    map.get(key)?.as_text().map(str::to_owned)
}

fn flag(map: &Document, key: &str) -> bool {
    map.get(key) == Some(&Document::Bool(true))
}

fn read_kernel(map: &Document) -> KernelMeta {
    let none = Document::Null;
    let attributes = map.get("Attrs").unwrap_or(&none);
    let code = map.get("CodeProps").unwrap_or(&none);
    let size = |key| number(code, key).unwrap_or_default();
    let mut end = 0;
    KernelMeta {
        args: items(map, "Args").iter().map(|arg| read_argument(arg, &mut end)).collect(),
        device_enqueue_symbol: string(attributes, "RuntimeHandle"),
        group_segment_fixed_size: size("GroupSegmentFixedSize"),
        kernarg_segment_align: size("KernargSegmentAlign"),
        kernarg_segment_size: size("KernargSegmentSize"),
        language: string(map, "Language"),
        language_version: numbers(map, "LanguageVersion"),
        max_flat_workgroup_size: size("MaxFlatWorkGroupSize"),
        name: string(map, "Name").unwrap_or_default(),
        private_segment_fixed_size: size("PrivateSegmentFixedSize"),
        reqd_workgroup_size: numbers(attributes, "ReqdWorkGroupSize"),
        sgpr_count: size("NumSGPRs"),
        sgpr_spill_count: size("NumSpilledSGPRs"),
        symbol: string(map, "SymbolName").unwrap_or_default(),
        uses_dynamic_stack: flag(code, "IsDynamicCallStack").then_some(true),
        vec_type_hint: string(attributes, "VecTypeHint"),
        vgpr_count: size("NumVGPRs"),
        vgpr_spill_count: size("NumSpilledVGPRs"),
        wavefront_size: size("WavefrontSize"),
        workgroup_size_hint: numbers(attributes, "WorkGroupSizeHint"),
        ..KernelMeta::default()
    }
}

/// An argument behind those that take `end` bytes: V2 does not tell where it is.
fn read_argument(map: &Document, end: &mut u32) -> ArgMeta {
    let word = |key: &str| string(map, key).map(|word| snake_case(&word));
    let size = number(map, "Size").unwrap_or_default();
    let align = number(map, "Align").unwrap_or(1).max(1);
    let offset = end.checked_next_multiple_of(align).unwrap_or(u32::MAX);
    *end = offset.saturating_add(size);
    ArgMeta {
        access: word("AccQual").filter(|word| word != "default"),
        actual_access: word("ActualAccQual").filter(|word| word != "default"),
        address_space: word("AddrSpaceQual"),
        is_const: flag(map, "IsConst"),
        is_pipe: flag(map, "IsPipe"),
        is_restrict: flag(map, "IsRestrict"),
        is_volatile: flag(map, "IsVolatile"),
        name: string(map, "Name"),
        offset,
        pointee_align: number(map, "PointeeAlign"),
        size,
        type_name: string(map, "TypeName"),
        value_kind: word("ValueKind").unwrap_or_default(),
        value_type: word("ValueType"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{AddrSpace, CallConv, KernelArgInfo};
    use crate::machine::Resources;

    /// A module with a kernel that has arguments of several kinds.
    fn sample() -> (Module, Function, Target) {
        let processor = Target::processor_by_name("gfx900").expect("a processor of the table");
        let mut target = Target { code_object_version: 2, ..Target::new(processor) };
        target.features.insert(Features::XNACK);
        let mut module = Module { opencl_version: Some([2, 0]), ..Default::default() };
        module.printf_formats.push("1:1:4:%d\\n".into());
        let mut source = ir::Function::new("k", CallConv::Kernel, Type::Void);
        let param = |source: &mut ir::Function, ty: Type, declared: &str, qualifiers: &str, access: &str| {
            source.add_param(ty, "a");
            source.kernel.args.push(KernelArgInfo {
                name: format!("arg{}", source.params.len()),
                ty: declared.into(),
                base_ty: declared.into(),
                qualifiers: qualifiers.into(),
                access: access.into(),
                ..Default::default()
            });
        };
        param(&mut source, Type::ptr(AddrSpace::GLOBAL), "float4*", "restrict const", "none");
        param(&mut source, Type::Scalar(Scalar::Int(8)), "uchar", "", "none");
        param(&mut source, Type::Vector(Scalar::Float(Float::Single), 4), "float4", "", "none");
        param(&mut source, Type::ptr(AddrSpace::LOCAL), "int*", "volatile", "none");
        param(&mut source, Type::ptr(AddrSpace::CONSTANT), "image1d_t", "", "read_only");
        source.kernel.reqd_work_group_size = Some([64, 2, 1]);
        source.kernel.vec_type_hint = Some("int".into());
        let func = module.functions.push(source);
        let mut f = Function::new("k", CallConv::Kernel, func);
        f.kernarg = crate::abi::kernarg::layout(&module, &module.functions[func], &target);
        f.resources =
            Resources { sgprs: 4, vgprs: 2, sgpr_spills: 3, scratch_bytes: 16, ..Default::default() };
        f.max_flat_workgroup_size = 256;
        f.dynamic_stack = true;
        (module, f, target)
    }

    fn metadata(module: &Module, f: &Function, target: &Target) -> Metadata {
        Metadata::new(module, [(f, &module.functions[f.source])], target)
    }

    #[test]
    fn kernels_say_what_the_guide_asks_for() {
        let (module, f, target) = sample();
        let meta = metadata(&module, &f, &target);
        let yaml = document(&module, [(&meta.kernels[0], &f)], &target).to_yaml_v2();
        for line in [
            "---\nVersion:         [ 1, 0 ]\nPrintf:\n  - '1:1:4:%d\\n'\nKernels:\n  - Name:            k\n    SymbolName:      'k@kd'\n",
            "    LanguageVersion: [ 2, 0 ]\n    Attrs:\n      ReqdWorkGroupSize: [ 64, 2, 1 ]\n      VecTypeHint:     int\n    Args:\n",
            "      - Name:            arg1\n        TypeName:        'float4*'\n        Size:            8\n        Align:           8\n        \
             ValueKind:       GlobalBuffer\n        ValueType:       F32\n        AddrSpaceQual:   Global\n        IsConst:         true\n        \
             IsRestrict:      true\n",
            "        TypeName:        uchar\n        Size:            1\n        Align:           1\n        ValueKind:       ByValue\n        \
             ValueType:       U8\n",
            "        ValueKind:       DynamicSharedPointer\n        ValueType:       I32\n        PointeeAlign:    1\n        \
             AddrSpaceQual:   Local\n      - Name",
            "        ValueKind:       Image\n        ValueType:       Struct\n        AccQual:         ReadOnly\n",
            "      MaxFlatWorkGroupSize: 256\n      IsDynamicCallStack: true\n      IsXNACKEnabled:  true\n      NumSpilledSGPRs: 3\n",
        ] {
            assert!(yaml.contains(line), "{line}\nis not in\n{yaml}");
        }
    }

    #[test]
    fn instruction_sets_are_read() {
        let note = b"\x04\0\x07\0\x09\0\0\0\0\0\0\0\x01\0\0\0AMD\0AMDGPU\0";
        assert_eq!(read_isa_version(note), Some(([9, 0, 1], "AMD", "AMDGPU")));
        assert_eq!(read_isa_version(&note[..note.len() - 1]), None);
    }

    #[test]
    fn what_is_written_reads_back() {
        let (module, f, target) = sample();
        let meta = metadata(&module, &f, &target);
        let yaml = document(&module, [(&meta.kernels[0], &f)], &target).to_yaml_v2();
        let back = parse(&yaml).expect("readable");
        let mut wanted = meta;
        let kernel = &mut wanted.kernels[0];
        kernel.symbol = "k@kd".into();
        kernel.uses_dynamic_stack = Some(true);
        for (arg, ours) in kernel.args.iter_mut().zip(&back.kernels[0].args) {
            // V2 has the type of every argument, and qualifiers of buffers only.
            arg.value_type.clone_from(&ours.value_type);
            arg.is_volatile &= arg.value_kind == "global_buffer";
        }
        assert_eq!(back, wanted);
    }

    #[test]
    fn arguments_follow_each_other() {
        let text = "Version: [ 1, 0 ]\nKernels:\n  - Name: k\n    Args:\n      - Size: 8\n        Align: 8\n        ValueKind: GlobalBuffer\n      \
                    - Size: 4\n        Align: 4\n        ValueKind: ByValue\n        AccQual: Default\n      - Size: 8\n        Align: 8\n        \
                    ValueKind: HiddenMultiGridSyncArg\n  - Name: other\n    Strange: [1]\n";
        let back = parse(text).expect("readable");
        let args: Vec<_> =
            back.kernels[0].args.iter().map(|a| (a.offset, a.size, a.value_kind.as_str())).collect();
        let wanted = [(0, 8, "global_buffer"), (8, 4, "by_value"), (16, 8, "hidden_multigrid_sync_arg")];
        assert_eq!((args, back.kernels.len()), (wanted.to_vec(), 2));
        assert_eq!(back.kernels[0].args[1].access, None);
        assert!(parse("Version: [ 1, 0 ]\n\0").expect("nothing to tell").kernels.is_empty());
        assert!(parse("a: 'b").is_err() && parse("- 1").is_err());
    }

    #[test]
    fn names_are_spelled_either_way() {
        for (snake, camel) in [
            ("by_value", "ByValue"),
            ("hidden_global_offset_x", "HiddenGlobalOffsetX"),
            ("read_only", "ReadOnly"),
            MULTIGRID,
        ] {
            assert_eq!((camel_case(snake), snake_case(camel)), (camel.to_owned(), snake.to_owned()));
        }
    }
}
