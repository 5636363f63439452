//! What objects say of their systems: register values, relocations, ids, flags, metadata and the settings that decide about them.

use gcnc::{CompileOptions, FileType, Output};
use mir::abi::Document;
use mir::abi::metadata::Metadata;
use object::read::elf::{ElfFile64, FileHeader};
use object::{File, LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationFlags};

fn options(triple: &str, cpu: &str) -> CompileOptions {
    CompileOptions {
        triple: triple.into(),
        cpu: cpu.into(),
        file_type: FileType::Obj,
        ..CompileOptions::default()
    }
}

fn compiled(ir: &str, options: &CompileOptions) -> Output {
    gcnc::compile(ir.as_bytes(), "test.ll", options).unwrap_or_else(|e| panic!("{e:?}"))
}

fn text(ir: &str, options: &CompileOptions) -> String {
    let options = CompileOptions { file_type: FileType::Asm, ..options.clone() };
    String::from_utf8(compiled(ir, &options).bytes).expect("UTF-8")
}

fn flags(ir: &str, options: &CompileOptions) -> u32 {
    let bytes = compiled(ir, options).bytes;
    let file = ElfFile64::<LittleEndian>::parse(&*bytes).expect("an ELF file");
    file.elf_header().e_flags(LittleEndian).0
}

/// Owners, types and contents of the notes.
fn notes(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
    let file = File::parse(bytes).expect("an ELF file");
    let data = file.section_by_name(".note").expect("notes").data().expect("in the file");
    let word = |at: usize| u32::from_le_bytes(data[at..at + 4].try_into().expect("four bytes"));
    let (mut out, mut at) = (Vec::new(), 0);
    while at < data.len() {
        let [name, size, kind] = [word(at), word(at + 4), word(at + 8)];
        let text = String::from_utf8_lossy(&data[at + 12..at + 11 + name as usize]).into_owned();
        let start = (at + 12 + name as usize).next_multiple_of(4);
        out.push((text, kind, data[start..start + size as usize].to_vec()));
        at = (start + size as usize).next_multiple_of(4);
    }
    out
}

fn metadata(ir: &str, options: &CompileOptions) -> Metadata {
    let notes = notes(&compiled(ir, options).bytes);
    Metadata::from_bytes(&notes.iter().find(|note| note.0 == "AMDGPU").expect("metadata").2)
        .expect("readable")
}

const EMPTY: &str = "define amdgpu_kernel void @k() {\n  ret void\n}\n";

const CALLS: &str = r#"
@e = external addrspace(1) global i32
define internal i32 @f(i32 %x) noinline {
  %a = alloca [16 x i32], addrspace(5)
  %p = getelementptr i32, ptr addrspace(5) %a, i32 %x
  store volatile i32 %x, ptr addrspace(5) %p
  %v = load volatile i32, ptr addrspace(5) %a
  call void asm sideeffect "v_mov_b32 v77, 0", "~{v77}"()
  ret i32 %v
}
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %x) {
  %r = call i32 @f(i32 %x)
  %v = load i32, ptr addrspace(1) @e
  %s = add i32 %r, %v
  store i32 %s, ptr addrspace(1) %o
  ret void
}
declare i32 @g(i32)
define amdgpu_kernel void @open(ptr addrspace(1) %o, i32 %x) {
  %r = call i32 @g(i32 %x)
  store i32 %r, ptr addrspace(1) %o
  ret void
}
"#;

/// amdhsa has no graphics shaders.
const SHADER: &str = "define amdgpu_ps void @ps(i32 inreg %x) {\n  %r = call i32 @f(i32 %x)\n  ret void\n}\n";

/// Bytes of a symbol of `.text`.
fn code<'a>(file: &File<'a>, name: &str) -> &'a [u8] {
    let symbol = file.symbols().find(|s| s.name() == Ok(name)).expect("the symbol");
    let text = file.section_by_name(".text").expect("code").data().expect("in the file");
    &text[symbol.address() as usize..(symbol.address() + symbol.size()) as usize]
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[test]
fn kernels_of_mesa_count_what_they_call() {
    let bytes = compiled(&format!("{CALLS}{SHADER}"), &options("amdgcn-mesa-mesa3d", "gfx803")).bytes;
    let file = File::parse(&*bytes).expect("an ELF file");
    let (k, open) = (code(&file, "k"), code(&file, "open"));
    let vgprs = |header: &[u8]| u32::from(u16::from_le_bytes([header[86], header[87]]));
    let dynamic = |header: &[u8]| word(header, 56) >> 20 & 1;
    assert_eq!((vgprs(k), word(k, 60), dynamic(k)), (78, 68, 0));
    assert_eq!((word(k, 48) & 0x3f, dynamic(open)), (19, 1));
    assert!(word(open, 60) >= 16384, "room for a stranger's stack");
    // Registers of `f`, `k`, `open` and `ps`; scratch of a wave in units of 256 dwords.
    let config = file.section_by_name(".AMDGPU.config").expect("registers").data().expect("in the file");
    let pairs: Vec<(u32, u32)> = config.chunks(8).map(|pair| (word(pair, 0), word(pair, 4))).collect();
    let rings: Vec<u32> =
        pairs.iter().filter(|p| matches!(p.0, 0xb860 | 0x286e8)).map(|p| p.1 >> 12).collect();
    assert_eq!(rings, [5, 5, 1024, 5]);
    let of_ps = pairs.iter().find(|pair| pair.0 == 0xb028).expect("the shader's registers");
    assert_eq!(of_ps.1 & 0x3f, 19);
}

#[test]
fn addresses_are_absolute_where_there_is_no_offset_table() {
    let kinds = |triple: &str| {
        let bytes = compiled(CALLS, &options(triple, "gfx900")).bytes;
        let file = File::parse(&*bytes).expect("an ELF file");
        let text = file.section_by_name(".text").expect("code");
        let mut kinds: Vec<u32> = text
            .relocations()
            .map(|(_, r)| match r.flags() {
                RelocationFlags::Elf { r_type } => r_type.0,
                other => panic!("{other:?}"),
            })
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    };
    // ABS32_LO, ABS32_HI; GOTPCREL32_LO, GOTPCREL32_HI, REL32_LO, REL32_HI.
    assert_eq!(kinds("amdgcn-mesa-mesa3d"), [1, 2]);
    assert_eq!(kinds("amdgcn--amdpal"), [1, 2]);
    assert_eq!(kinds("amdgcn-amd-amdhsa"), [8, 9, 10, 11]);
}

const ARGUMENTS: &str = r#"
@dynamic = external addrspace(3) global [0 x i32]
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
define void @touch() noinline {
  store i32 1, ptr addrspace(3) @dynamic
  ret void
}
define amdgpu_kernel void @pointer(ptr addrspace(3) %l) #0 {
  store i32 1, ptr addrspace(3) %l
  ret void
}
define amdgpu_kernel void @callee() {
  call void @touch()
  ret void
}
define amdgpu_kernel void @short(ptr addrspace(1) %o) "amdgpu-implicitarg-num-bytes"="48" {
  ret void
}
define amdgpu_kernel void @none(ptr addrspace(1) %o) "amdgpu-implicitarg-num-bytes"="0" {
  ret void
}
attributes #0 = { "amdgpu-max-num-workgroups"="4,0,4294967295" "amdgpu-max-work-group-size"="64" }
"#;

#[test]
fn attributes_reach_the_metadata() {
    for version in [5, 6] {
        let options =
            CompileOptions { code_object_version: Some(version), ..options("amdgcn-amd-amdhsa", "gfx900") };
        let metadata = metadata(ARGUMENTS, &options);
        let kernel = |name: &str| metadata.kernel(name).expect("a kernel");
        let dynamic = |name| kernel(name).args.iter().any(|arg| arg.value_kind == "hidden_dynamic_lds_size");
        assert_eq!([dynamic("pointer"), dynamic("callee"), dynamic("short")], [true, true, false]);
        let pointer = kernel("pointer");
        let most = [pointer.max_num_workgroups_x, pointer.max_num_workgroups_y, pointer.max_num_workgroups_z];
        assert_eq!((most, pointer.max_flat_workgroup_size), ([Some(4), None, None], 64));
        assert_eq!((kernel("short").kernarg_segment_size, kernel("none").kernarg_segment_size), (56, 8));
        assert_eq!(kernel("none").args.len(), 1);
    }
}

const RECURSION: &str = r#"
define internal i32 @f(i32 %x) noinline {
  %a = alloca [16 x i32], addrspace(5)
  %p = getelementptr i32, ptr addrspace(5) %a, i32 %x
  store volatile i32 %x, ptr addrspace(5) %p
  %v = load volatile i32, ptr addrspace(5) %a
  %c = icmp eq i32 %v, 0
  br i1 %c, label %done, label %again
again:
  %y = call i32 @f(i32 %v)
  ret i32 %y
done:
  ret i32 1
}
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %x) {
  %r = call i32 @f(i32 %x)
  store i32 %r, ptr addrspace(1) %o
  ret void
}
"#;

/// From V5 on the runtime adds to a stack without a bound; before, the compiler does.
#[test]
fn a_dynamic_stack_is_the_runtimes_affair() {
    let size = |version| {
        let options =
            CompileOptions { code_object_version: Some(version), ..options("amdgcn-amd-amdhsa", "gfx900") };
        let kernel = metadata(RECURSION, &options).kernels.remove(0);
        (kernel.private_segment_fixed_size, kernel.uses_dynamic_stack)
    };
    assert!(matches!(size(4), (16384.., None)));
    let (bytes, dynamic) = size(5);
    assert!((64..1024).contains(&bytes) && dynamic == Some(true), "{bytes}");
    // The text says so, too.
    assert!(
        text(RECURSION, &options("amdgcn-amd-amdhsa", "gfx900")).contains(".amdhsa_uses_dynamic_stack 1")
    );
}

#[test]
fn settings_and_names_of_older_producers() {
    let hsa = |cpu: &str, attributes: &[&str], version| CompileOptions {
        attributes: attributes.iter().map(|&a| a.to_owned()).collect(),
        code_object_version: version,
        ..options("amdgcn-amd-amdhsa", cpu)
    };
    // The feature chooses V3; another version beside it is refused.
    let version_of = |options: &CompileOptions| metadata(EMPTY, options).version;
    assert_eq!(version_of(&hsa("gfx900", &["+code-object-v3"], None)), [1, 0]);
    assert_eq!(version_of(&hsa("gfx900", &["+code-object-v3"], Some(3))), [1, 0]);
    let cases = [
        (hsa("gfx906", &[], Some(3)), 0x22f, "gfx906+sram-ecc"),
        (hsa("gfx906", &["-sram-ecc"], Some(3)), 0x2f, "gfx906"),
        (hsa("gfx803", &["+xnack"], Some(3)), 0x12a, "gfx803+xnack"),
        (hsa("gfx803", &["+xnack"], Some(4)), 0x2a, "gfx803"),
        (hsa("gfx800", &[], Some(3)), 0x29, "gfx802"),
        (hsa("gfx804", &[], Some(3)), 0x2a, "gfx803"),
        (hsa("gfx901", &[], Some(3)), 0x12c, "gfx900+xnack"),
        (hsa("gfx901", &["-xnack"], Some(3)), 0x2c, "gfx900"),
        (hsa("gfx903", &[], Some(3)), 0x12d, "gfx902+xnack"),
        (hsa("hainan", &[], Some(3)), 0x21, "gfx601"),
        (hsa("hainan", &[], Some(4)), 0x3a, "gfx602"),
        (hsa("gfx9-generic", &[], Some(6)), 0x0100_0151, "gfx9-generic"),
    ];
    for (options, wanted, id) in cases {
        assert_eq!(flags(EMPTY, &options), wanted, "{id}");
        let line = format!(".amdgcn_target \"amdgcn-amd-amdhsa--{id}\"");
        assert!(text(EMPTY, &options).contains(&line), "{id}");
    }
    let refused = gcnc::compile(EMPTY.as_bytes(), "test.ll", &hsa("gfx9-generic", &[], Some(5))).unwrap_err();
    assert!(refused[0].message.contains("version 6"), "{refused:?}");
}

#[test]
fn what_has_no_effect_is_said() {
    let warnings = |ir: &str, triple: &str, cpu: &str, attribute: &str| {
        let attributes = vec![attribute.to_owned()];
        compiled(ir, &CompileOptions { attributes, ..options(triple, cpu) }).warnings
    };
    let hsa = "amdgcn-amd-amdhsa";
    assert_eq!(warnings(EMPTY, hsa, "gfx803", ""), [""; 0]);
    assert_eq!(warnings(EMPTY, hsa, "gfx900", "+xnack"), [""; 0]);
    let unsupported = |name: &str, cpu| {
        vec![format!("{name} was requested for {cpu}, which does not support it (ignored)")]
    };
    assert_eq!(warnings(EMPTY, hsa, "gfx803", "+xnack"), unsupported("xnack 'On'", "gfx803"));
    assert_eq!(warnings(EMPTY, hsa, "gfx600", "-xnack"), unsupported("xnack 'Off'", "gfx600"));
    assert_eq!(warnings(EMPTY, hsa, "gfx900", "+sramecc"), unsupported("sramecc 'On'", "gfx900"));
    assert_eq!(
        warnings(EMPTY, hsa, "gfx901", ""),
        ["processor `gfx901` is called `gfx900` with xnack today"]
    );
    assert_eq!(warnings(EMPTY, hsa, "gfx700", "-flat-for-global"), [""; 0]);
    assert_eq!(
        warnings(EMPTY, hsa, "gfx600", "+flat-for-global"),
        ["target feature `+flat-for-global`: gfx600 has no FLAT instructions (ignored)"]
    );
    assert_eq!(
        warnings(EMPTY, hsa, "gfx803", "-flat-for-global"),
        ["target feature `-flat-for-global`: buffers of gfx803 take no 64-bit addresses (ignored)"]
    );
    assert_eq!(warnings(EMPTY, hsa, "gfx900", "+max-private-element-size-4"), [""; 0]);
    // GFX9 finds each dword itself; elsewhere somebody has to be told, for which the header of V2 and Mesa is there.
    let wide = "+max-private-element-size-8";
    assert_eq!(warnings(EMPTY, hsa, "gfx900", wide), [""; 0]);
    assert_eq!(warnings(EMPTY, "amdgcn-mesa-mesa3d", "gfx803", wide), [""; 0]);
    assert_eq!(
        warnings(EMPTY, hsa, "gfx803", wide),
        [
            "target feature `+max-private-element-size-8`: nothing in code objects from V3 on tells it to the runtime, whose scratch has elements of 4 bytes on gfx803 (ignored)"
        ]
    );
    let foreign = "define void @f() #0 {\n  ret void\n}\ndefine amdgpu_kernel void @k() #0 {\n  ret void\n}\n\
                   define void @own() {\n  ret void\n}\nattributes #0 = { \"target-cpu\"=\"gfx900\" }\n";
    assert_eq!(
        warnings(foreign, hsa, "gfx600", ""),
        [
            "function `f` and one more has the attribute \"target-cpu\"=\"gfx900\" and code for gfx900, in an object for gfx600"
        ]
    );
    // Another name of the same, and an object that names none.
    assert_eq!(warnings(foreign, hsa, "gfx900", ""), [""; 0]);
    assert_eq!(warnings(foreign, hsa, "", ""), [""; 0]);
    let trap = "declare void @llvm.debugtrap()\ndefine amdgpu_kernel void @k() {\n  call void @llvm.debugtrap()\n  ret void\n}\n";
    let unseen = "in function k: debugtrap handler not supported";
    assert_eq!(warnings(trap, hsa, "gfx803", ""), [""; 0]);
    assert_eq!(warnings(trap, hsa, "gfx803", "-trap-handler"), [unseen]);
    assert_eq!(warnings(trap, "amdgcn--", "gfx803", ""), [unseen]);
    let chain = "define amdgpu_cs_chain void @c(<3 x i32> inreg %a, i32 %b) {\n  ret void\n}\n";
    let left_out = "function `c` is left out: no code calls convention 104 on gfx900";
    assert_eq!(warnings(chain, hsa, "gfx900", ""), [left_out]);
    let jump = "declare void @llvm.amdgcn.cs.chain.i32(ptr, i32, i32, i32, i32, ...)\ndefine amdgpu_cs void @s(ptr inreg %f) {\n  \
                call void (ptr, i32, i32, i32, i32, ...) @llvm.amdgcn.cs.chain.i32(ptr %f, i32 -1, i32 inreg 0, i32 0, i32 0)\n  unreachable\n}\n";
    let on = |cpu| gcnc::compile(jump.as_bytes(), "jump.ll", &options("amdgcn--amdpal", cpu));
    assert!(on("gfx1030").is_ok());
    let refused = on("gfx803").expect_err("chains are of GFX10");
    assert!(
        format!("{refused:?}").contains("a jump to a chain function outside of compute shaders of GFX10")
    );
}

/// Accesses to private memory, by how often each stands there, and the last dword of the resource where the code builds it.
fn private_accesses(ir: &str, triple: &str, cpu: &str, bytes: u32) -> (Vec<(String, usize)>, Option<u32>) {
    let attributes = vec![format!("+max-private-element-size-{bytes}")];
    let text = text(ir, &CompileOptions { attributes, ..options(triple, cpu) });
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut last = None;
    for line in text.lines().map(str::trim) {
        let name = line.split_whitespace().next().unwrap_or_default();
        if name.starts_with("buffer_") && line.contains("offen") {
            match found.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += 1,
                None => found.push((name.to_owned(), 1)),
            }
        }
        let built = line.strip_prefix("s_mov_b32 ").and_then(|rest| rest.split_once(", 0x"));
        last = built.and_then(|(_, hex)| u32::from_str_radix(hex, 16).ok()).filter(|w| w >> 20 != 0).or(last);
    }
    found.sort();
    (found, last)
}

/// Accesses are as wide as elements, and what describes scratch says the same. Each setting as llc 22 has it.
#[test]
fn elements_of_scratch() {
    let ir = "define amdgpu_kernel void @k(i32 %i, i32 %j) {\n  %a = alloca [8 x <4 x i32>], align 16, addrspace(5)\n\
        %p = getelementptr [8 x <4 x i32>], ptr addrspace(5) %a, i32 0, i32 %i\n\
        %q = getelementptr [8 x <4 x i32>], ptr addrspace(5) %a, i32 0, i32 %j\n\
        %v = load volatile <4 x i32>, ptr addrspace(5) %p, align 16\n\
        store volatile <4 x i32> %v, ptr addrspace(5) %q, align 16\n  ret void\n}\n";
    let accesses = |suffix: &str, count: usize| {
        vec![(format!("buffer_load_dword{suffix}"), count), (format!("buffer_store_dword{suffix}"), count)]
    };
    for (bytes, wanted, code) in
        [(4, accesses("", 4), 1), (8, accesses("x2", 2), 2), (16, accesses("x4", 1), 3)]
    {
        for (cpu, word) in [("gfx600", 0xe0_f000), ("gfx700", 0xe0_f000), ("gfx803", 0xe0_0000)] {
            let (found, last) = private_accesses(ir, "amdgcn--", cpu, bytes);
            assert_eq!((found, last), (wanted.clone(), Some(word | code << 19)), "{cpu} {bytes}");
        }
        // There is no field on GFX9.
        assert_eq!(private_accesses(ir, "amdgcn--", "gfx900", bytes), (wanted.clone(), Some(0xe0_0000)));
        for (cpu, triple) in [("gfx803", "amdgcn-mesa-mesa3d"), ("gfx900", "amdgcn-amd-amdhsa")] {
            assert_eq!(private_accesses(ir, triple, cpu, bytes).0, wanted, "{cpu} {bytes}");
        }
        let runtime = private_accesses(ir, "amdgcn-amd-amdhsa", "gfx803", bytes).0;
        assert_eq!(runtime, accesses("", 4), "the runtime's scratch has elements of a dword");
        let attributes = vec![format!("+max-private-element-size-{bytes}")];
        let mesa = CompileOptions { attributes, ..options("amdgcn-mesa-mesa3d", "gfx803") };
        let field = format!("private_element_size = {code}");
        assert!(text(ir, &mesa).lines().any(|line| line.trim() == field), "{field}");
    }
    // No access leaves its element.
    let loose = ir.replace(", align 16\n", ", align 4\n");
    assert_eq!(private_accesses(&loose, "amdgcn--", "gfx803", 16).0, accesses("", 4));
    assert_eq!(private_accesses(&loose, "amdgcn--", "gfx900", 16).0, accesses("x4", 1));
    // Callers and callees share their stacks.
    let call = "define void @f(ptr addrspace(5) %p) #0 {\n  store i64 1, ptr addrspace(5) %p\n  ret void\n}\n\
        define amdgpu_kernel void @k() {\n  %a = alloca i64, addrspace(5)\n  call void @f(ptr addrspace(5) %a)\n  ret void\n}\n\
        attributes #0 = { noinline \"target-features\"=\"+max-private-element-size-8\" }\n";
    let refused = gcnc::compile(call.as_bytes(), "test.ll", &options("amdgcn--", "gfx803")).unwrap_err();
    assert!(refused[0].message.contains("elements of different sizes"), "{refused:?}");
    gcnc::compile(call.as_bytes(), "test.ll", &options("amdgcn--", "gfx900")).expect("compiled");
}

#[test]
fn pipelines_name_functions_of_the_graphics_convention() {
    let ir = "define amdgpu_gfx void @g() {\n  ret void\n}\ndefine void @h() {\n  ret void\n}\n\
        define amdgpu_cs void @cs() {\n  ret void\n}\n";
    let text = text(ir, &options("amdgcn--amdpal", "gfx900"));
    let (_, functions) = text.split_once(".shader_functions:\n").expect("functions");
    let names: Vec<&str> =
        functions.lines().filter(|l| l.starts_with("      ") && !l.starts_with("       ")).collect();
    assert_eq!(names, ["      g:"]);
}

const STORE: &str = "define amdgpu_kernel void @k(ptr addrspace(1) %o) {\n  store i32 1, ptr addrspace(1) %o\n  ret void\n}\n";

#[test]
fn global_memory_by_buffers() {
    let with = |triple: &str, cpu: &str, attribute: &str| {
        let attributes = vec![attribute.to_owned()];
        text(STORE, &CompileOptions { attributes, ..options(triple, cpu) })
    };
    let hsa = "amdgcn-amd-amdhsa";
    // ATC on HSA alone.
    let gfx600 = with(hsa, "gfx600", "");
    assert!(gfx600.contains("0x100f000") && gfx600.contains("buffer_store_dword"), "{gfx600}");
    assert!(with("amdgcn--", "gfx600", "").contains(", 0xf000\n"));
    assert!(with(hsa, "gfx700", "").contains("flat_store_dword"));
    assert!(with(hsa, "gfx700", "-flat-for-global").contains("buffer_store_dword"));
    // Elsewhere buffers are the default.
    for triple in ["amdgcn--", "amdgcn--amdpal", "amdgcn-mesa-mesa3d"] {
        let buffers = with(triple, "gfx704", "");
        assert!(
            buffers.contains("buffer_store_dword") && !buffers.contains("flat_store"),
            "{triple}: {buffers}"
        );
        assert!(with(triple, "gfx704", "+flat-for-global").contains("flat_store_dword"), "{triple}");
        assert!(with(triple, "gfx803", "").contains("flat_store_dword"), "{triple}");
    }
    // Without 64-bit addresses there is no choice.
    assert!(with(hsa, "gfx803", "-flat-for-global").contains("flat_store_dword"));
}

#[test]
fn the_environment_opencl_keeps_address_spaces_apart() {
    let ir = "define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(3) %l) {\n  store i32 1, ptr addrspace(3) %l\n  \
              store atomic i32 2, ptr addrspace(1) %p syncscope(\"workgroup\") release, align 4\n  ret void\n}\n";
    // What is between the store to LDS and the release; the wait for the arguments is before both.
    let waits_for_lds = |triple: &str| {
        let text = text(ir, &options(triple, "gfx900"));
        let (_, behind) = text.split_once("ds_write_b32").expect("a store to LDS");
        let (between, _) = behind.split_once("global_store_dword").expect("a release");
        between.contains("lgkmcnt(0)")
    };
    for (triple, waits) in [
        ("amdgcn-amd-amdhsa", true),
        ("amdgcn-amd-amdhsa-hcc", true),
        ("amdgcn-amd-amdhsa-amdgiz", true),
        ("amdgcn-amd-amdhsa-opencl", false),
        ("amdgcn--opencl", false),
    ] {
        assert_eq!(waits_for_lds(triple), waits, "{triple}");
    }
}

#[test]
fn ids_of_other_systems_have_the_vendor_of_the_triple() {
    for (triple, id) in [
        ("amdgcn--amdpal", "amdgcn-unknown-amdpal--gfx900"),
        ("amdgcn-amd-amdpal", "amdgcn-amd-amdpal--gfx900"),
        ("amdgcn-mesa-mesa3d", "amdgcn-mesa-mesa3d--gfx900"),
        ("amdgcn-mesa3d-mesa3d", "amdgcn-mesa3d-mesa3d--gfx900"),
        ("amdgcn--", "amdgcn-unknown-unknown--gfx900"),
    ] {
        let bytes = compiled(EMPTY, &options(triple, "gfx900")).bytes;
        let notes = notes(&bytes);
        let isa = notes.iter().find(|note| (note.0.as_str(), note.1) == ("AMD", 11)).expect("a name");
        assert_eq!(String::from_utf8_lossy(&isa.2), id);
        let target = format!(".amdgcn_target \"{id}\"");
        assert_eq!(text(EMPTY, &options(triple, "gfx900")).contains(&target), triple.contains("amdpal"));
    }
}

const PIPELINE: &str = r#"
define amdgpu_cs void @cs(i32 inreg %x) {
  %a = alloca [64 x i32], addrspace(5)
  %p = getelementptr i32, ptr addrspace(5) %a, i32 %x
  store volatile i32 %x, ptr addrspace(5) %p
  ret void
}
define amdgpu_ps float @ps(float %x) "InitialPSInputAddr"="36983" {
  ret float %x
}
"#;

#[test]
fn pal_metadata_as_pairs() {
    // The hash's low half, and flags of the front end in the stage's first register.
    let ir = format!(
        "{PIPELINE}!amdgpu.pal.metadata = !{{!0}}\n!0 = !{{i32 268435480, i32 -782532274, i32 11274, i32 1024}}\n"
    );
    let bytes = compiled(&ir, &options("amdgcn--amdpal", "gfx803")).bytes;
    let notes = notes(&bytes);
    let note = notes.iter().find(|note| (note.0.as_str(), note.1) == ("AMD", 12)).expect("pairs");
    let pairs: Vec<(u32, u32)> = note.2.chunks(8).map(|pair| (word(pair, 0), word(pair, 4))).collect();
    assert!(pairs.is_sorted(), "{pairs:x?}");
    let value = |key| pairs.iter().find(|pair| pair.0 == key).map(|pair| pair.1);
    assert_eq!(value(0x1000_0018), Some(0xd15b_814e));
    assert_eq!(
        value(0x2c0a).map(|v| v & 0xff_fc00),
        Some(0x2f_0400),
        "float mode, DX10 clamp, the given bit"
    );
    assert_eq!((value(0xa1b3), value(0xa1b4)), (Some(1), Some(0x9077)));
    // Scratch of the compute stage, in bytes, and whether it is on.
    assert_eq!((value(0x1000_004a).map(|v| v >> 4), value(0x2e13)), (Some(0x10), Some(1)));
    assert!(value(0x1000_0026).is_some_and(|vgprs| vgprs >= 1));
    let line = text(&ir, &options("amdgcn--amdpal", "gfx803"));
    assert!(line.contains("\t.amd_amdgpu_pal_metadata 0x2c0a,0x2f"), "{line}");
}

#[test]
fn pal_metadata_as_a_map() {
    // {"amdpal.pipelines": [{".api": "Vulkan", ".registers": {0x2e12: 0x400}}]}
    let map = r"\81\B0amdpal.pipelines\91\82\A4.api\A6Vulkan\AA.registers\81\CD\2E\12\CD\04\00";
    let with_map = format!("{PIPELINE}!amdgpu.pal.metadata.msgpack = !{{!0}}\n!0 = !{{!\"{map}\"}}\n");
    let empty = format!("{PIPELINE}!amdgpu.pal.metadata.msgpack = !{{!0}}\n!0 = !{{!\"\"}}\n");
    for (ir, given) in [(with_map.as_str(), true), (PIPELINE, false), (empty.as_str(), false)] {
        let options = options("amdgcn--amdpal", "gfx900");
        let bytes = compiled(ir, &options).bytes;
        let notes = notes(&bytes);
        let note = notes.iter().find(|note| (note.0.as_str(), note.1) == ("AMDGPU", 32)).expect("a map");
        let root = Document::from_msgpack(&note.2).expect("MessagePack");
        let Some(Document::List(pipelines)) = root.get("amdpal.pipelines") else { panic!("{root:?}") };
        let pipeline = &pipelines[0];
        assert_eq!(pipeline.get(".api").and_then(Document::as_text), given.then_some("Vulkan"));
        let stage =
            |name| pipeline.get(".hardware_stages").and_then(|stages| stages.get(name)).expect("a stage");
        assert_eq!(stage(".cs").get(".entry_point").and_then(Document::as_text), Some("_amdgpu_cs_main"));
        assert_eq!(stage(".ps").get(".entry_point_symbol").and_then(Document::as_text), Some("ps"));
        assert!(matches!(stage(".cs").get(".scratch_memory_size"), Some(Document::Int(256..=288))));
        let Some(Document::Map(registers)) = pipeline.get(".registers") else { panic!("{root:?}") };
        let rsrc1 = registers.iter().find(|(key, _)| *key == Document::Int(0x2e12)).map(|(_, value)| value);
        let Some(&Document::Int(rsrc1)) = rsrc1 else { panic!("{registers:?}") };
        assert_eq!((rsrc1 & 0x400 != 0, rsrc1 & 0x2f_0000), (given, 0x2f_0000));
        let text = text(ir, &options);
        assert!(text.contains("'0x2e12 (COMPUTE_PGM_RSRC1)':"), "{text}");
    }
    let wrong = format!("{PIPELINE}!amdgpu.pal.metadata.msgpack = !{{!0}}\n!0 = !{{!\"\\91\\01\"}}\n");
    assert!(gcnc::compile(wrong.as_bytes(), "test.ll", &options("amdgcn--amdpal", "gfx900")).is_err());
}

/// From version 3 of the map on, stages have members in place of registers.
#[test]
fn pal_metadata_of_version_3() {
    let map = r"\82\B0amdpal.pipelines\91\80\AEamdpal.version\92\03\00";
    let ir = format!("{PIPELINE}!amdgpu.pal.metadata.msgpack = !{{!0}}\n!0 = !{{!\"{map}\"}}\n");
    let bytes = compiled(&ir, &options("amdgcn--amdpal", "gfx900")).bytes;
    let notes = notes(&bytes);
    let note = notes.iter().find(|note| (note.0.as_str(), note.1) == ("AMDGPU", 32)).expect("a map");
    let root = Document::from_msgpack(&note.2).expect("MessagePack");
    let Some(Document::List(pipelines)) = root.get("amdpal.pipelines") else { panic!("{root:?}") };
    let within = |path: &[&str]| path.iter().try_fold(&pipelines[0], |node, key| node.get(key)).cloned();
    assert_eq!(within(&[".registers"]), Some(Document::Map(Vec::new())));
    assert_eq!(within(&[".hardware_stages", ".cs", ".scratch_en"]), Some(Document::Bool(true)));
    assert_eq!(within(&[".hardware_stages", ".ps", ".scratch_en"]), Some(Document::Bool(false)));
    assert_eq!(within(&[".hardware_stages", ".ps", ".excp_en"]), None);
    let addr = |field| within(&[".graphics_registers", ".spi_ps_input_addr", field]);
    assert_eq!(addr(".front_face_ena"), Some(Document::Bool(true)));
    assert_eq!(addr(".persp_pull_model_ena"), Some(Document::Bool(false)));
}

/// A library of functions has no shader, but the modes of the stage that calls them.
#[test]
fn pal_functions_of_version_3_have_modes() {
    let map = r"\82\B0amdpal.pipelines\91\80\AEamdpal.version\92\03\00";
    let ir = format!(
        "define amdgpu_gfx void @f() {{\n  ret void\n}}\n!amdgpu.pal.metadata.msgpack = !{{!0}}\n!0 = !{{!\"{map}\"}}\n"
    );
    let bytes = compiled(&ir, &options("amdgcn--amdpal", "gfx900")).bytes;
    let notes = notes(&bytes);
    let note = notes.iter().find(|note| (note.0.as_str(), note.1) == ("AMDGPU", 32)).expect("a map");
    let root = Document::from_msgpack(&note.2).expect("MessagePack");
    let Some(Document::List(pipelines)) = root.get("amdpal.pipelines") else { panic!("{root:?}") };
    let stage = pipelines[0].get(".hardware_stages").and_then(|stages| stages.get(".cs")).expect("the stage");
    let Document::Map(members) = stage else { panic!("{stage:?}") };
    let keys: Vec<_> = members.iter().filter_map(|(key, _)| key.as_text()).collect();
    let modes = [".excp_en", ".forward_progress", ".ieee_mode", ".lds_size", ".mem_ordered", ".trap_present"];
    assert_eq!(keys, [&modes[..], &[".wgp_mode"]].concat());
    assert_eq!(stage.get(".ieee_mode"), Some(&Document::Bool(true)));
}

/// Numbers in the registers of a stage are those of the function that needs most, not the bits of all.
#[test]
fn pal_registers_of_two_kernels_hold_the_larger_numbers() {
    let kernel = |name: &str, id: &str| {
        format!(
            "define amdgpu_kernel void @{name}(ptr addrspace(1) %o) {{\n  %x = call i32 @llvm.amdgcn.workitem.id.{id}()\n  \
             store i32 %x, ptr addrspace(1) %o\n  ret void\n}}\n"
        )
    };
    let ir = kernel("one", "y") + &kernel("two", "z");
    let bytes = compiled(&ir, &options("amdgcn--amdpal", "gfx900")).bytes;
    let notes = notes(&bytes);
    let note = notes.iter().find(|note| (note.0.as_str(), note.1) == ("AMDGPU", 32)).expect("a map");
    let root = Document::from_msgpack(&note.2).expect("MessagePack");
    let Some(Document::List(pipelines)) = root.get("amdpal.pipelines") else { panic!("{root:?}") };
    let Some(Document::Map(registers)) = pipelines[0].get(".registers") else { panic!("{root:?}") };
    let rsrc2 = registers.iter().find(|(key, _)| *key == Document::Int(0x2e13)).map(|(_, value)| value);
    let Some(&Document::Int(rsrc2)) = rsrc2 else { panic!("{registers:?}") };
    assert_eq!(rsrc2 >> 11 & 3, 2, "ids up to z; 3 is reserved");
}

/// Kernels of mesa3d are started by packets, too, and hand their addresses on to what they call.
#[test]
fn callees_on_mesa3d_get_the_dispatch_packet() {
    let ir = r#"
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
define internal void @f(ptr addrspace(1) %o) noinline {
  %d = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %x = load i32, ptr addrspace(4) %d
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  call void @f(ptr addrspace(1) %o)
  ret void
}
"#;
    for triple in ["amdgcn--mesa3d", "amdgcn-amd-amdhsa"] {
        let text = text(ir, &options(triple, "gfx900"));
        let asked = text.lines().any(|line| {
            line.contains("enable_sgpr_dispatch_ptr = 1") || line.contains("sgpr_dispatch_ptr 1")
        });
        assert!(asked, "{triple}: {text}");
    }
}

/// Variables in LDS that another object may define are symbols of their own section; what the module defines has its place in the code.
#[test]
fn external_lds_is_the_linkers() {
    let ir = r#"
@own = addrspace(3) global [5 x i32] undef, align 4
@sized = external addrspace(3) global [8 x i32], align 32
@dynamic = external addrspace(3) global [0 x i32], align 16
define amdgpu_kernel void @k(i32 %i, ptr addrspace(1) %o) {
  %p = getelementptr [5 x i32], ptr addrspace(3) @own, i32 0, i32 %i
  store volatile i32 %i, ptr addrspace(3) %p
  %q = getelementptr [8 x i32], ptr addrspace(3) @sized, i32 0, i32 3
  store volatile i32 %i, ptr addrspace(3) %q
  store <2 x ptr addrspace(3)> <ptr addrspace(3) @dynamic, ptr addrspace(3) @sized>, ptr addrspace(1) %o
  ret void
}
"#;
    for (triple, linked) in [
        ("amdgcn--mesa3d", true),
        ("amdgcn--", true),
        ("amdgcn-amd-amdhsa", false),
        ("amdgcn--amdpal", false),
    ] {
        let options = options(triple, "gfx900");
        let bytes = compiled(ir, &options).bytes;
        let file = File::parse(&*bytes).expect("an ELF file");
        let symbol = |name| file.symbols().find(|symbol| symbol.name() == Ok(name));
        assert!(symbol("own").is_none());
        for (name, align, size) in [("sized", 32, 32), ("dynamic", 16, 0)] {
            let found = symbol(name).map(|symbol| (symbol.address(), symbol.size()));
            assert_eq!(found, linked.then_some((align, size)), "{triple} {name}");
        }
        let section = file.section_by_name(".text").expect("code");
        assert_eq!(section.relocations().count(), if linked { 3 } else { 0 }, "{triple}");
        let text = text(ir, &options);
        assert_eq!(text.contains(".amdgpu_lds sized, 32, 32"), linked, "{text}");
        assert_eq!(text.contains("sized@abs32@lo+12"), linked, "{text}");
    }
}

/// Where only one place is aligned enough, the code has it as a number; the linker learns of the variable all the same.
#[test]
fn external_lds_at_the_start_needs_no_relocation() {
    let ir = r#"
@all = external addrspace(3) global [8 x i32], align 65536
define amdgpu_kernel void @k(i32 %i) {
  %q = getelementptr [8 x i32], ptr addrspace(3) @all, i32 0, i32 3
  store volatile i32 %i, ptr addrspace(3) %q
  ret void
}
"#;
    let bytes = compiled(ir, &options("amdgcn--mesa3d", "gfx900")).bytes;
    let file = File::parse(&*bytes).expect("an ELF file");
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok("all"));
    assert_eq!(symbol.map(|symbol| (symbol.address(), symbol.size())), Some((65536, 32)));
    let relocations = |bytes: &[u8]| {
        let file = File::parse(bytes).expect("an ELF file");
        file.section_by_name(".text").expect("code").relocations().count()
    };
    assert_eq!(relocations(&bytes), 0);
    // Beside a variable of the kernel's own there is no such place, which the linker finds.
    let both = ir.replace("  ret void", "  store volatile i32 %i, ptr addrspace(3) @own\n  ret void")
        + "@own = internal addrspace(3) global i32 poison\n";
    assert_eq!(relocations(&compiled(&both, &options("amdgcn--mesa3d", "gfx900")).bytes), 1);
}

/// Volatile loads are waited for one by one, unless the option says that their values are soon enough.
#[test]
fn volatile_accesses_may_stay_under_way() {
    let ir = "define amdgpu_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b) {\n  \
              %x = load volatile i32, ptr addrspace(1) %a\n  store volatile i32 1, ptr addrspace(1) %b\n  \
              store volatile i32 2, ptr addrspace(1) %b\n  store volatile i32 %x, ptr addrspace(1) %b\n  ret void\n}\n";
    let mut options = options("amdgcn-amd-amdhsa", "gfx900");
    let waits = |text: &str| text.matches("vmcnt(0)").count();
    let waited = text(ir, &options);
    options.memory_model.volatile = isel::memory_model::Volatile::AsOthers;
    let under_way = text(ir, &options);
    assert_eq!((waits(&waited), waits(&under_way)), (4, 0), "{under_way}");
    assert!(under_way.contains("vmcnt(2)"), "{under_way}");
    assert_eq!(under_way.matches(" glc").count(), 1);
    let stores = |text: &str| text.matches("global_store_dword").count();
    assert_eq!((stores(&waited), stores(&under_way)), (3, 3));
}

/// Whoever skips invalidates keeps the waits, on each generation.
#[test]
fn cache_invalidates_may_be_skipped() {
    let ir = "define amdgpu_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b) {\n  \
              %x = load atomic i32, ptr addrspace(1) %a seq_cst, align 4\n  store i32 %x, ptr addrspace(1) %b\n  ret void\n}\n";
    for mcpu in ["gfx600", "gfx700", "gfx803", "gfx900", "gfx1010", "gfx1030"] {
        let mut options = options("amdgcn-amd-amdhsa", mcpu);
        let invalidates =
            |text: &str| text.matches("\tbuffer_wbinvl1").count() + text.matches("\tbuffer_gl0_inv").count();
        let waits = |text: &str| text.matches("vmcnt(0)").count();
        let usual = text(ir, &options);
        options.memory_model.skip_invalidates = true;
        let skipped = text(ir, &options);
        assert!(invalidates(&usual) > 0, "{usual}");
        assert_eq!(invalidates(&skipped), 0, "{skipped}");
        assert!(waits(&skipped) > 0, "{skipped}");
    }
}

/// `-data-sections` gives each variable a section that is named after it, of the type of its kind.
#[test]
fn variables_in_sections_of_their_own() {
    let ir = "@a = addrspace(1) global i32 1\n@z = addrspace(1) global [9 x i32] zeroinitializer\n\
              @c = addrspace(4) constant i32 2\n@p = addrspace(1) constant ptr addrspace(1) @a\n\
              @n = addrspace(1) global i32 3, section \"mine\"\n\
              @x = addrspace(1) global i32 0, section \".bss.two\"\n@y = addrspace(1) global i32 4, section \".bss.two\"\n";
    let mut options = options("amdgcn-amd-amdhsa", "gfx900");
    options.data_sections = true;
    let bytes = compiled(ir, &options).bytes;
    let file = File::parse(&*bytes).expect("an ELF file");
    let kinds = ["a", "z", "c", "p", "n", "x", "y"].map(|name| {
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name)).expect("the variable");
        let index = symbol.section_index().expect("a section");
        let section = file.section_by_index(index).expect("the section");
        (section.name().expect("a name").to_owned(), section.data().expect("contents").is_empty())
    });
    let wanted = [".data.a", ".bss.z", ".rodata.c", ".data.rel.ro.p", "mine", ".bss.two", ".bss.two"];
    assert_eq!(kinds, wanted.map(|name| (name.to_owned(), name == ".bss.z")));
    assert!(text(ir, &options).contains("\t.section .bss.z,\"aw\",@nobits"));
}

/// The hardware's registers hold the addresses of shaders without their low eight bits.
#[test]
fn shaders_start_at_multiples_of_256() {
    let options = options("amdgcn--amdpal", "gfx900");
    let bytes = compiled(PIPELINE, &options).bytes;
    let file = File::parse(&*bytes).expect("an ELF file");
    let address = |name| file.symbols().find(|s| s.name() == Ok(name)).expect("the shader").address();
    assert_eq!((address("cs"), address("ps")), (0, 256));
    assert_eq!(text(PIPELINE, &options).matches(".p2align 8").count(), 2);
}

/// The text between passes keeps the metadata.
#[test]
fn pal_metadata_survives_as_text() {
    let pairs = format!("{PIPELINE}!amdgpu.pal.metadata = !{{!0}}\n!0 = !{{i32 268435480, i32 7}}\n");
    let map = format!("{PIPELINE}!amdgpu.pal.metadata.msgpack = !{{!0}}\n!0 = !{{!\"\\80\"}}\n");
    for ir in [pairs, map] {
        let module = frontend::read(ir.as_bytes(), "test.ll").expect("readable").module;
        let text = mir::text::print_program(&module, []);
        let again = mir::text::parse_program(&text, "test").expect("readable").module;
        assert!(module.pal_metadata.is_some());
        assert_eq!(again.pal_metadata, module.pal_metadata);
    }
}

/// Ids of other systems say nothing of settings, so the disassembly does.
#[test]
fn disassembly_says_which_setting_is_off() {
    let listing = |triple: &str, attribute: &str| {
        let attributes = vec![attribute.to_owned()];
        let bytes = compiled(STORE, &CompileOptions { attributes, ..options(triple, "gfx900") }).bytes;
        emit::disassemble(&bytes).expect("an object")
    };
    let note = "// cannot be written: that xnack is off; assemble with -mattr=-xnack\n";
    for triple in ["amdgcn-mesa-mesa3d", "amdgcn--", "amdgcn--amdpal"] {
        assert!(listing(triple, "-xnack").contains(note), "{triple}");
        assert!(!listing(triple, "+xnack").contains("cannot be written"), "{triple}");
        assert!(!listing(triple, "").contains("cannot be written"), "{triple}");
    }
    assert!(!listing("amdgcn-amd-amdhsa", "-xnack").contains("cannot be written"));
}

/// `align` of a function is kept in the object and in the text, where it asks for more than the convention does.
#[test]
fn code_is_aligned_as_functions_ask() {
    let ir = "define void @f() align 64 {\n  ret void\n}\ndefine void @g() align 64 {\n  ret void\n}\n\
              define amdgpu_kernel void @k() section \".text.k\" align 1024 {\n  ret void\n}\n\
              define amdgpu_kernel void @l() section \".text.l\" align 4 {\n  ret void\n}\n";
    let options = options("amdgcn-amd-amdhsa", "gfx900");
    let bytes = compiled(ir, &options).bytes;
    let file = File::parse(&*bytes).expect("an ELF file");
    let align = |name: &str| file.section_by_name(name).expect("the section").align();
    assert_eq!([align(".text"), align(".text.k"), align(".text.l")], [64, 1024, 256]);
    let g = file.symbols().find(|symbol| symbol.name() == Ok("g")).expect("the symbol");
    assert!(g.address() > 0 && g.address().is_multiple_of(64), "{:#x}", g.address());
    let text = text(ir, &options);
    let aligned: Vec<&str> = text.lines().filter(|line| line.contains(".p2align")).map(str::trim).collect();
    // Descriptors follow their kernels.
    let wanted = [".p2align 6", ".p2align 6", ".p2align 10", ".p2align 6", ".p2align 8", ".p2align 6"];
    assert_eq!(aligned, wanted, "{text}");
    let huge = "define void @f() align 2147483648 {\n  ret void\n}\n";
    assert!(gcnc::compile(huge.as_bytes(), "test.ll", &options).is_err());
}

/// What `llvm.used` and `llvm.compiler.used` name stays, although nothing calls it.
#[test]
fn used_functions_are_kept() {
    let ir = "@llvm.used = appending global [1 x ptr] [ptr @f], section \"llvm.metadata\"\n\
              @llvm.compiler.used = appending global [1 x ptr] [ptr @g], section \"llvm.metadata\"\n\
              define internal void @f() {\n  ret void\n}\ndefine internal void @g() {\n  ret void\n}\n\
              define internal void @unused() {\n  ret void\n}\n";
    let bytes = compiled(ir, &options("amdgcn-amd-amdhsa", "gfx803")).bytes;
    let file = File::parse(&*bytes).expect("an ELF file");
    let has = |name: &str| file.symbols().any(|symbol| symbol.name() == Ok(name));
    assert_eq!([has("f"), has("g"), has("unused")], [true, true, false]);
}
