//! Code objects V2: what they hold, that old LLVM writes and reads the same, that they link and run.

#[allow(dead_code, reason = "each test file uses a part of it")]
mod common;

use emit::link::{Input, LinkOptions, link};
use gcnc::CompileOptions;
use mir::abi::kernel_code::{HEADER_BYTES, STT_HSA_KERNEL};
use mir::abi::metadata::Metadata;
use mir::abi::{Document, KernelCode, metadata_v2};
use mir::target::Target;
use object::read::elf::{ElfFile64, FileHeader, Sym};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol};
use sim::{Arg, CodeObject, Config, Dispatch, Memory};
use std::path::PathBuf;
use std::process::Command;

const PROCESSORS: [&str; 5] = ["gfx600", "gfx700", "gfx802", "gfx803", "gfx900"];

/// Arguments of every kind with OpenCL's metadata, LDS, scratch and a printf format; a kernel that does nothing.
const OPENCL: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global [16 x i32] undef, align 4
define amdgpu_kernel void @k(ptr addrspace(1) noalias readonly %p, i32 %x, i8 %c, <4 x float> %v, ptr addrspace(3) align 16 %l,
                             ptr addrspace(4) %img, ptr addrspace(1) %o) #1
    !kernel_arg_addr_space !1 !kernel_arg_access_qual !2 !kernel_arg_type !3 !kernel_arg_base_type !3 !kernel_arg_type_qual !4
    !reqd_work_group_size !5 !vec_type_hint !6 {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %g = getelementptr i32, ptr addrspace(1) %o, i32 %id
  %q = alloca [4 x i32], addrspace(5)
  %i = and i32 %x, 3
  %qi = getelementptr [4 x i32], ptr addrspace(5) %q, i32 0, i32 %i
  store volatile i32 %x, ptr addrspace(5) %qi
  %lp = getelementptr [16 x i32], ptr addrspace(3) @lds, i32 0, i32 %i
  store volatile i32 %x, ptr addrspace(3) %lp
  store i32 %x, ptr addrspace(3) %l
  %a = load volatile i32, ptr addrspace(5) %qi
  store i32 %a, ptr addrspace(1) %g
  ret void
}
define amdgpu_kernel void @empty() #0 { ret void }
declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { "runtime-handle"="handle" "amdgpu-flat-work-group-size"="1,128" }
attributes #1 = { "amdgpu-flat-work-group-size"="64,64" }
!1 = !{i32 1, i32 0, i32 0, i32 0, i32 3, i32 1, i32 1}
!2 = !{!"none", !"none", !"none", !"none", !"none", !"read_only", !"none"}
!3 = !{!"int*", !"int", !"uchar", !"float4", !"int*", !"image1d_t", !"ulong*"}
!4 = !{!"const", !"", !"", !"", !"volatile", !"", !"restrict"}
!5 = !{i32 64, i32 1, i32 1}
!6 = !{i32 undef, i32 1}
!opencl.ocl.version = !{!7}
!7 = !{i32 2, i32 0}
!llvm.printf.fmts = !{!8}
!8 = !{!"1:1:4:%d\5Cn"}
"#;

/// Hidden arguments, as many as the attribute says, and all kinds of ids.
const HIDDEN: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @offsets(ptr addrspace(1) %o) #0 {
  %h = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %y = getelementptr i8, ptr addrspace(4) %h, i64 8
  %v = load i64, ptr addrspace(4) %y
  store volatile i64 %v, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @all(ptr addrspace(1) %o) #1 {
  %h = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %i = call i32 @llvm.amdgcn.workgroup.id.z()
  %z = call i32 @llvm.amdgcn.workitem.id.z()
  %at = add i32 %i, %z
  %y = getelementptr i8, ptr addrspace(4) %h, i32 %i
  %v = load i64, ptr addrspace(4) %y
  %d = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %w = load i32, ptr addrspace(4) %d
  store volatile i64 %v, ptr addrspace(1) %o
  store volatile i32 %w, ptr addrspace(1) %o
  store volatile i32 %at, ptr addrspace(1) %o
  ret void
}
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
declare i32 @llvm.amdgcn.workgroup.id.z()
declare i32 @llvm.amdgcn.workitem.id.z()
attributes #0 = { "amdgpu-implicitarg-num-bytes"="24" }
attributes #1 = { "amdgpu-implicitarg-num-bytes"="56" }
"#;

/// A kernel whose stack has no bound, and one that calls what is known.
const CALLS: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define hidden void @deep(ptr addrspace(1) %p, i32 %n) noinline {
  %b = alloca [5 x i32], addrspace(5)
  %i = and i32 %n, 3
  %bi = getelementptr [5 x i32], ptr addrspace(5) %b, i32 0, i32 %i
  store volatile i32 %n, ptr addrspace(5) %bi
  %c = load volatile i32, ptr addrspace(5) %bi
  call void asm sideeffect "v_mov_b32 v50, 0", "~{v50}"()
  store i32 %c, ptr addrspace(1) %p
  ret void
}
define hidden void @again(ptr addrspace(1) %p, i32 %n) noinline {
  %z = icmp eq i32 %n, 0
  br i1 %z, label %end, label %more
more:
  %m = sub i32 %n, 1
  call void @again(ptr addrspace(1) %p, i32 %m)
  store volatile i32 %n, ptr addrspace(1) %p
  br label %end
end:
  ret void
}
define amdgpu_kernel void @bounded(ptr addrspace(1) %p, i32 %n) {
  call void @deep(ptr addrspace(1) %p, i32 %n)
  ret void
}
define amdgpu_kernel void @recursive(ptr addrspace(1) %p, i32 %n) {
  call void @again(ptr addrspace(1) %p, i32 %n)
  ret void
}
"#;

const MODULES: [(&str, &str); 3] = [("opencl", OPENCL), ("hidden", HIDDEN), ("calls", CALLS)];

fn options(cpu: &str) -> CompileOptions {
    let attributes = vec!["-xnack".into()];
    CompileOptions { cpu: cpu.into(), code_object_version: Some(2), attributes, ..Default::default() }
}

fn object(ir: &str, cpu: &str) -> Vec<u8> {
    common::compile_with(ir, options(cpu)).unwrap_or_else(|e| panic!("{cpu}: {e}"))
}

fn parse(bytes: &[u8]) -> ElfFile64<'_, LittleEndian> {
    ElfFile64::parse(bytes).expect("an ELF file")
}

/// Types and descriptions of the notes.
fn notes(bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let file = parse(bytes);
    let section = file.section_by_name(".note").expect("notes");
    let data = section.data().expect("in the file");
    let word = |at: usize| u32::from_le_bytes(data[at..at + 4].try_into().expect("four bytes")) as usize;
    let mut out = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let (name, size, kind) = (word(at), word(at + 4), word(at + 8));
        assert_eq!(&data[at + 12..at + 12 + name], b"AMD\0");
        let start = at + 12 + name.next_multiple_of(4);
        out.push((kind as u32, data[start..start + size].to_vec()));
        at = start + size.next_multiple_of(4);
    }
    out
}

fn yaml(bytes: &[u8]) -> String {
    let notes = notes(bytes);
    let note = notes.iter().find(|note| note.0 == metadata_v2::NOTE_METADATA).expect("metadata");
    String::from_utf8(note.1.clone()).expect("text")
}

fn metadata(bytes: &[u8]) -> Metadata {
    metadata_v2::parse(&yaml(bytes)).expect("readable")
}

/// Names, visibilities and headers of the kernels, by name.
fn kernels(bytes: &[u8]) -> Vec<(String, u8, KernelCode)> {
    let file = parse(bytes);
    let mut out = Vec::new();
    for symbol in file.symbols().filter(|s| s.elf_symbol().st_type().0 == STT_HSA_KERNEL) {
        let section = file.section_by_index(symbol.section_index().expect("defined")).expect("exists");
        let at = symbol.address() - section.address();
        assert_eq!(symbol.address() % 256, 0);
        let data = section.data().expect("in the file");
        let header = data[at as usize..].first_chunk::<HEADER_BYTES>().expect("whole");
        let code = KernelCode::unpack(header).expect("a header");
        assert!(symbol.size() > HEADER_BYTES as u64);
        out.push((symbol.name().expect("text").to_owned(), symbol.elf_symbol().st_other().0, code));
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

fn header(bytes: &[u8], name: &str) -> KernelCode {
    kernels(bytes).into_iter().find(|k| k.0 == name).expect("the kernel").2
}

/// The first tool of the list that is installed.
fn tool(names: &[&'static str]) -> Option<&'static str> {
    let found = names.iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    if found.is_none() {
        eprintln!("skipped: one of {names:?} is needed");
    }
    found.copied()
}

fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("code-object-v2").join(test);
    std::fs::create_dir_all(&folder).expect("writable");
    folder
}

/// Header, notes and symbols, by what the usage guide says of them.
#[test]
fn objects_have_the_header_and_the_notes_of_v2() {
    for (cpu, stepping) in [("gfx900", [9u32, 0, 0]), ("gfx803", [8, 0, 3])] {
        let bytes = object(OPENCL, cpu);
        let file = parse(&bytes);
        let ident = file.elf_header().e_ident();
        assert_eq!((ident.os_abi.0, ident.abi_version), (64, 0));
        let mach = Target::processor_by_name(cpu).expect("known").elf_mach;
        assert_eq!(file.elf_header().e_flags.get(LittleEndian).0, mach);
        assert!(file.section_by_name(".rodata").is_none(), "no descriptors");
        let notes = notes(&bytes);
        assert_eq!(notes.iter().map(|note| note.0).collect::<Vec<_>>(), [1, 3, 11, 10]);
        assert_eq!(notes[0].1, [2, 0, 0, 0, 1, 0, 0, 0]);
        let mut isa = vec![4, 0, 7, 0];
        isa.extend(stepping.iter().flat_map(|n| n.to_le_bytes()));
        isa.extend(b"AMD\0AMDGPU\0");
        assert_eq!(notes[1].1, isa);
        assert_eq!(notes[2].1, format!("amdgcn-amd-amdhsa--{cpu}").as_bytes());
        let kernels = kernels(&bytes);
        let names: Vec<_> = kernels.iter().map(|k| (k.0.as_str(), k.1)).collect();
        assert_eq!(names, [("empty", 0), ("k", 0)]);
        let code = kernels[1].2;
        let sizes = (code.kernarg_segment_byte_size, code.workgroup_group_segment_byte_size);
        assert_eq!(sizes, (56, 64));
        assert!(code.workitem_private_segment_byte_size >= 16 && code.is_dynamic_callstack == 0);
        let meta = metadata(&bytes);
        let k = meta.kernel("k@kd").expect("by symbol");
        assert_eq!(
            (k.sgpr_count, k.vgpr_count),
            (code.wavefront_sgpr_count as u32, code.workitem_vgpr_count as u32)
        );
        assert_eq!(k.private_segment_fixed_size, code.workitem_private_segment_byte_size as u32);
    }
}

/// Processors, and settings of replay, that V2 has no name for.
#[test]
fn processors_are_those_of_v2() {
    let with = |cpu: &str, attribute: &str| {
        let options = CompileOptions { attributes: vec![attribute.into()], ..options(cpu) };
        common::compile_with(HIDDEN, options)
    };
    let named = notes(&with("gfx900", "+xnack").expect("V2 has gfx901"));
    assert_eq!(named[2].1, b"amdgcn-amd-amdhsa--gfx901");
    assert!(header(&with("gfx900", "+xnack").expect("compiled"), "all").is_xnack_enabled == 1);
    for (cpu, attribute) in [("gfx909", ""), ("gfx90c", "+xnack"), ("gfx801", "-xnack")] {
        let error = with(cpu, attribute).expect_err("V2 does not know it");
        assert!(error.contains("code object V2 does not know"), "{cpu}: {error}");
    }
}

/// What callees take is in headers and metadata; a stack without bound is said to be one.
#[test]
fn kernels_count_what_they_call() {
    for cpu in PROCESSORS {
        let bytes = object(CALLS, cpu);
        let (bounded, recursive) = (header(&bytes, "bounded"), header(&bytes, "recursive"));
        assert!(bounded.workitem_vgpr_count >= 51 && bounded.granulated_workitem_vgpr_count >= 12, "{cpu}");
        assert!((20..4096).contains(&bounded.workitem_private_segment_byte_size), "{cpu}");
        assert_eq!((bounded.is_dynamic_callstack, recursive.is_dynamic_callstack), (0, 1), "{cpu}");
        let meta = metadata(&bytes);
        let dynamic: Vec<_> = meta.kernels.iter().map(|k| k.uses_dynamic_stack).collect();
        assert_eq!(dynamic, [None, Some(true)], "{cpu}");
    }
}

/// The same in the headers of Mesa's kernels.
#[test]
fn kernels_of_mesa_count_what_they_call() {
    let bytes = common::compile(CALLS, "amdgcn-mesa-mesa3d", "gfx803").expect("compiled");
    let (bounded, recursive) = (header(&bytes, "bounded"), header(&bytes, "recursive"));
    assert!(bounded.workitem_vgpr_count >= 51 && bounded.granulated_workitem_vgpr_count >= 12);
    assert!((20..4096).contains(&bounded.workitem_private_segment_byte_size));
    assert_eq!((bounded.is_dynamic_callstack, recursive.is_dynamic_callstack), (0, 1));
    // What `.AMDGPU.config` says of the kernel is the same: the value of COMPUTE_PGM_RSRC1.
    let file = parse(&bytes);
    let config = file.section_by_name(".AMDGPU.config").expect("register values");
    let words: Vec<u32> = config
        .data()
        .expect("in the file")
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect();
    let packed = bounded.pack().expect("fits");
    let rsrc1 = u32::from_le_bytes(packed[48..52].try_into().expect("four bytes"));
    assert!(words.windows(2).any(|pair| pair == [0xb848, rsrc1]));
}

/// Fields of the header that depend on which registers are taken, how much is spilled, and what is known of callees: LLVM 14 assumes a call stack
/// without bound where this compiler finds one.
const OF_ALLOCATION: [&str; 6] = [
    "is_dynamic_callstack",
    "granulated_workitem_vgpr_count",
    "granulated_wavefront_sgpr_count",
    "wavefront_sgpr_count",
    "workitem_vgpr_count",
    "workitem_private_segment_byte_size",
];

/// Members of metadata where this compiler follows the guide and LLVM 14 does not, and such that depend on allocation.
const OF_METADATA: [&str; 8] = [
    "ValueType",
    "AccQual",
    "ActualAccQual",
    "AddrSpaceQual",
    "NumSGPRs",
    "NumVGPRs",
    "PrivateSegmentFixedSize",
    "IsDynamicCallStack",
];

/// Hidden arguments whose slots LLVM 14 leaves empty unless an attribute or a flag of the front ends of its time asks for them; here they are there where
/// they may be read.
const ASKED_FOR: [&str; 3] = ["HiddenHostcallBuffer", "HiddenDefaultQueue", "HiddenCompletionAction"];

/// `document` without the members of [`OF_METADATA`] and what else differs on purpose: qualifiers of pointers to LDS, which only buffers have,
/// and [`ASKED_FOR`].
fn comparable(document: &mut Document) {
    match document {
        Document::Text(text) if ASKED_FOR.contains(&text.as_str()) => *text = "HiddenNone".to_owned(),
        Document::List(items) => items.iter_mut().for_each(comparable),
        Document::Map(entries) => {
            let shared = entries.iter().any(|(_, value)| value.as_text() == Some("DynamicSharedPointer"));
            entries.retain(|(key, _)| {
                let key = key.as_text().unwrap_or_default();
                !(OF_METADATA.contains(&key) || shared && key == "IsVolatile")
            });
            entries.iter_mut().for_each(|(_, value)| comparable(value));
        }
        _ => {}
    }
}

/// LLVM 14 (or 16), the last to write V2, says the same, but for what depends on the code.
#[test]
fn old_llc_writes_the_same() {
    let Some(llc) = tool(&["llc-14", "llc-16"]) else { return };
    let folder = folder("llc");
    let mut compared = 0;
    for (name, ir) in MODULES {
        for cpu in PROCESSORS {
            let source = folder.join(format!("{name}-{cpu}.ll"));
            let output = source.with_extension("o");
            std::fs::write(&source, ir).expect("writable");
            let mut command = Command::new(llc);
            command.args([
                "-opaque-pointers",
                "-filetype=obj",
                "-mattr=-xnack",
                "--amdhsa-code-object-version=2",
            ]);
            let done = command.arg(format!("-mcpu={cpu}")).arg(&source).arg("-o").arg(&output).output();
            let done = done.expect("it runs");
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            let theirs = std::fs::read(&output).expect("written by llc");
            let ours = object(ir, cpu);
            let (a, b) = (parse(&ours), parse(&theirs));
            assert_eq!(a.elf_header().e_flags, b.elf_header().e_flags, "{name} {cpu}");
            assert_eq!(a.elf_header().e_ident().abi_version, b.elf_header().e_ident().abi_version);
            let (a, b) = (notes(&ours), notes(&theirs));
            assert_eq!(a[..3], b[..3], "{name} {cpu}");
            let mut documents =
                [yaml(&ours), yaml(&theirs)].map(|y| Document::from_yaml(&y).expect("readable"));
            documents.iter_mut().for_each(comparable);
            assert_eq!(documents[0], documents[1], "{name} {cpu}");
            for ((kernel, visibility, code), (other, theirs, wanted)) in
                kernels(&ours).iter().zip(kernels(&theirs))
            {
                assert_eq!((kernel, visibility), (&other, &theirs));
                for ((field, ours), theirs) in
                    KernelCode::FIELDS.iter().zip(code.values()).zip(wanted.values())
                {
                    if !OF_ALLOCATION.contains(&field.name) && !of_entry(field.name, ours, theirs) {
                        assert_eq!(ours, theirs, "{name} {cpu} {kernel} {}", field.name);
                        compared += 1;
                    }
                }
            }
        }
    }
    println!("{compared} fields equal");
    assert!(compared > 1000);
}

/// The size of scratch's elements is in the header.
#[test]
fn headers_say_how_scratch_is_interleaved() {
    for (bytes, code) in [(4, 1), (8, 2), (16, 3)] {
        let attributes = vec!["-xnack".to_owned(), format!("+max-private-element-size-{bytes}")];
        let ours = common::compile_with(CALLS, CompileOptions { attributes, ..options("gfx803") })
            .expect("compiled");
        assert_eq!(header(&ours, "bounded").private_element_size, code);
        let Some(llc) = tool(&["llc-14", "llc-16"]) else { continue };
        let source = folder("elements").join("calls.ll");
        let output = source.with_extension("o");
        std::fs::write(&source, CALLS).expect("writable");
        let mut command = Command::new(llc);
        command.args(["-opaque-pointers", "-filetype=obj", "-mcpu=gfx803", "--amdhsa-code-object-version=2"]);
        command.arg(format!("-mattr=-xnack,+max-private-element-size-{bytes}"));
        let done = command.arg(&source).arg("-o").arg(&output).output().expect("it runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let theirs = std::fs::read(&output).expect("written by llc");
        assert_eq!(header(&theirs, "bounded").private_element_size, code);
    }
}

/// What LLVM lets a kernel start with although nothing reads it: entry values are those that somebody asks for.
fn of_entry(field: &str, ours: u64, theirs: u64) -> bool {
    let asked =
        field.starts_with("enable_sgpr_") || matches!(field, "user_sgpr_count" | "enable_vgpr_workitem_id");
    asked && ours <= theirs
}

/// The text assembles to the object, here and with the assembler of LLVM.
#[test]
fn text_assembles_to_the_object() {
    let folder = folder("mc");
    let llvm = tool(&["llvm-mc-14", "llvm-mc-16"]);
    for (name, ir) in MODULES {
        for cpu in PROCESSORS {
            let direct = object(ir, cpu);
            let options = CompileOptions { file_type: gcnc::FileType::Asm, ..options(cpu) };
            let output = gcnc::compile(ir.as_bytes(), "test.ll", &options).expect("compiled").bytes;
            let text = String::from_utf8(output).expect("text");
            // Without a word about the version or replay: the text says it.
            let target = Target {
                code_object_version: 6,
                ..Target::new(Target::processor_by_name(cpu).expect("known"))
            };
            let ours = emit::assemble(&text, &target).unwrap_or_else(|e| panic!("{e:?}"));
            let code = |bytes: &[u8]| {
                parse(bytes).section_by_name(".text").expect("code").data().expect("in the file").to_vec()
            };
            let ident = |bytes: &[u8]| {
                let file = parse(bytes);
                (file.elf_header().e_ident().abi_version, file.elf_header().e_flags.get(LittleEndian))
            };
            assert_eq!((code(&ours), notes(&ours)), (code(&direct), notes(&direct)), "{name} {cpu}");
            assert_eq!((kernels(&ours), ident(&ours)), (kernels(&direct), ident(&direct)), "{name} {cpu}");
            let Some(llvm) = llvm else { continue };
            let source = folder.join(format!("{name}-{cpu}.s"));
            let object = source.with_extension("o");
            std::fs::write(&source, &text).expect("writable");
            let mut command = Command::new(llvm);
            command.args(["-triple=amdgcn-amd-amdhsa", "-mattr=-xnack", "-filetype=obj"]);
            command.args(["--amdhsa-code-object-version=2", &format!("-mcpu={cpu}")]);
            let done = command.arg(&source).arg("-o").arg(&object).output().expect("it runs");
            assert!(done.status.success(), "{name} {cpu}: {}", String::from_utf8_lossy(&done.stderr));
            let theirs = std::fs::read(&object).expect("written");
            assert_eq!((code(&theirs), kernels(&theirs)), (code(&direct), kernels(&direct)), "{name} {cpu}");
            assert_eq!(notes(&theirs)[..3], notes(&direct)[..3], "{name} {cpu}");
            let mut documents =
                [yaml(&direct), yaml(&theirs)].map(|y| Document::from_yaml(&y).expect("readable"));
            documents.iter_mut().for_each(without_zeros);
            assert_eq!(documents[0], documents[1], "{name} {cpu}");
        }
    }
}

/// LLVM reads `ValueType` and does not write it; counts of zero it leaves out.
fn without_zeros(document: &mut Document) {
    match document {
        Document::List(items) => items.iter_mut().for_each(without_zeros),
        Document::Map(entries) => {
            entries.retain(|(key, value)| {
                let key = key.as_text().unwrap_or_default();
                key != "ValueType" && !(key.starts_with("Num") && *value == Document::Int(0))
            });
            entries.iter_mut().for_each(|(_, value)| without_zeros(value));
        }
        _ => {}
    }
}

const CALLER: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @ext(i32)
define amdgpu_kernel void @caller(ptr addrspace(1) %o, i32 %x) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %s = add i32 %x, %i
  %e = call i32 @ext(i32 %s)
  %p = getelementptr i32, ptr addrspace(1) %o, i32 %i
  store i32 %e, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
"#;

const CALLEE: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define i32 @ext(i32 %a) noinline {
  %b = mul i32 %a, 30
  call void asm sideeffect "v_mov_b32 v77, 0", "~{v77}"()
  ret i32 %b
}
define amdgpu_kernel void @other(ptr addrspace(1) %o) {
  store i32 1, ptr addrspace(1) %o
  ret void
}
"#;

/// Runs `caller` of a linked object, whose lane `i` stores `(7 + i) * 30`.
fn run(bytes: &[u8]) {
    let object = CodeObject::load(bytes).unwrap_or_else(|r| panic!("{r}"));
    assert_eq!(object.version(), 2);
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; 256]);
    let dispatch = Dispatch {
        kernel: "caller".into(),
        grid: [64, 1, 1],
        group: [64, 1, 1],
        args: vec![Arg::Buffer(out), Arg::Value(vec![7, 0, 0, 0])],
        ..Dispatch::default()
    };
    sim::run(&object, &mut memory, &dispatch, &Config::default()).unwrap_or_else(|r| panic!("{r}"));
    let right = memory.read_u32s(out).iter().enumerate().all(|(i, &x)| x == (7 + i as u32) * 30);
    assert!(right);
}

/// Linked kernels keep their type and count callees of other objects; the notes of all objects become one of each.
#[test]
fn objects_link_and_run() {
    for cpu in PROCESSORS {
        let (caller, callee) = (object(CALLER, cpu), object(CALLEE, cpu));
        let assumed = header(&caller, "caller");
        assert_eq!(assumed.is_dynamic_callstack, 1);
        let input = |name, bytes| Input { name, bytes, whole_archive: false };
        let inputs = [input("a.o", &caller), input("b.o", &callee)];
        let linked = link(&inputs, &LinkOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let kinds: Vec<u32> = notes(&linked).iter().map(|note| note.0).collect();
        assert_eq!(kinds, [1, 3, 11, 10], "{cpu}");
        let names: Vec<_> = kernels(&linked).into_iter().map(|k| k.0).collect();
        assert_eq!(names, ["caller", "other"]);
        let known = header(&linked, "caller");
        assert_eq!((known.is_dynamic_callstack, known.workitem_vgpr_count), (0, 78), "{cpu}");
        assert!(known.workitem_private_segment_byte_size < assumed.workitem_private_segment_byte_size);
        let meta = metadata(&linked);
        assert_eq!(meta.kernels.len(), 2);
        let kernel = meta.kernel("caller@kd").expect("by symbol");
        assert_eq!(kernel.vgpr_count, 78);
        assert_eq!(u64::from(kernel.private_segment_fixed_size), known.workitem_private_segment_byte_size);
        assert_ne!(kernel.uses_dynamic_stack, Some(true));
        // GFX6 has no flat instructions, which the caller does not need.
        run(&linked);
    }
}
