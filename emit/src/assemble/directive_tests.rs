//! What directives leave in the object: values of llvm-mc 22 and of the usage guide's examples.

use super::{Assembled, Options, assemble, assemble_with};
use mir::target::{Features, Os, Target};
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags};

fn target_for(name: &str, os: Os, version: u8) -> Target {
    let processor = Target::processor_by_name(name).expect("a processor of the table");
    let mut target = Target { os, code_object_version: version, ..Target::new(processor) };
    if (os != Os::AmdHsa || version > 3) && target.has(Features::XNACK_SUPPORTED) {
        target.features.insert(Features::XNACK | Features::XNACK_ANY);
    }
    target
}

fn target(name: &str) -> Target {
    target_for(name, Os::AmdHsa, 6)
}

fn object_of(text: &str, target: &Target) -> Vec<u8> {
    assemble(text, target).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"))
}

fn data(bytes: &[u8], name: &str) -> Vec<u8> {
    let file = object::File::parse(bytes).expect("an ELF file");
    file.section_by_name(name).map_or(Vec::new(), |section| section.data().expect("data").to_vec())
}

/// Bytes of `.data` that `text` makes.
fn made(text: &str) -> Vec<u8> {
    data(&object_of(&format!(" .data\n{text}\n"), &target("gfx900")), ".data")
}

fn refused(text: &str, target: &Target) -> String {
    let errors = assemble(text, target).err().unwrap_or_else(|| panic!("accepted: {text}"));
    errors[0].message.clone()
}

fn flags(bytes: &[u8]) -> (u32, u8) {
    (u32::from_le_bytes([bytes[48], bytes[49], bytes[50], bytes[51]]), bytes[8])
}

const HELLO: &str = r#"
.amdgcn_target "amdgcn-amd-amdhsa--gfx900+xnack" // optional

.text
.globl hello_world
.p2align 8
.type hello_world,@function
hello_world:
  s_load_dwordx2 s[0:1], s[0:1] 0x0
  v_mov_b32 v0, 3.14159
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v1, s0
  v_mov_b32 v2, s1
  flat_store_dword v[1:2], v0
  s_endpgm
.Lfunc_end0:
  .size   hello_world, .Lfunc_end0-hello_world

.rodata
.p2align 6
.amdhsa_kernel hello_world
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
  .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version:
  - 1
  - 0
amdhsa.kernels:
  - .name: hello_world
    .symbol: hello_world.kd
    .kernarg_segment_size: 48
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 4
    .wavefront_size: 64
    .sgpr_count: 2
    .vgpr_count: 3
    .max_flat_workgroup_size: 256
...
.end_amdgpu_metadata
"#;

/// The example of the usage guide for V3: its version follows from the spelling of its target.
#[test]
fn example_of_the_usage_guide() {
    let object = object_of(HELLO, &target("gfx900"));
    assert_eq!(flags(&object), (0x12c, 1));
    let file = object::File::parse(&*object).expect("an ELF file");
    let kernel = file.symbol_by_name("hello_world.kd").expect("a descriptor");
    assert_eq!((kernel.size(), data(&object, ".rodata").len()), (64, 64));
    // Two numbered SGPRs and six for VCC, FLAT_SCRATCH and XNACK_MASK are one block.
    assert_eq!(data(&object, ".rodata")[48..50], [0, 0]);
    let asked = Options { version_is_given: true, ..Options::default() };
    let errors = assemble_with(HELLO, &target("gfx900"), &asked).expect_err("not a target id of V6");
    assert!(errors[0].message.contains("version 6"), "{errors:?}");
    let without = HELLO.replace(".vgpr_count: 3", "");
    assert!(refused(&without, &target("gfx900")).contains("without .vgpr_count"));
}

#[test]
fn the_version_follows_from_the_text() {
    let v3 = HELLO.replace("gfx900+xnack", "gfx900");
    assert_eq!(flags(&object_of(&v3, &target("gfx900"))), (0x2c, 1));
    let v4 = v3.replace("- 0\namdhsa", "- 1\namdhsa");
    assert_eq!(flags(&object_of(&v4, &target("gfx900"))), (0x12c, 2));
    let on = v4.replace("gfx900\"", "gfx900:xnack+\"");
    assert_eq!(flags(&object_of(&on, &target("gfx900"))), (0x32c, 2));
    let directive = format!(" .amdhsa_code_object_version 5\n{on}");
    assert_eq!(flags(&object_of(&directive, &target("gfx900"))), (0x32c, 3));
    let wrong = " .amdhsa_code_object_version 6\n .amdgcn_target \"amdgcn-amd-amdhsa--gfx900+xnack\"\n";
    assert!(refused(wrong, &target("gfx900")).contains("version 6"));
}

#[test]
fn registers_are_counted() {
    let text = " v_mov_b32 v40, s33\n .long .amdgcn.next_free_vgpr, .amdgcn.next_free_sgpr\n \
                .long .amdgcn.gfx_generation_number, .amdgcn.gfx_generation_minor, .amdgcn.gfx_generation_stepping\n \
                .set .amdgcn.next_free_vgpr, 3\n v_mov_b32 v4, vcc_lo\n .long .amdgcn.next_free_vgpr\n \
                s_mov_b64 s[40:41], s[2:3]\n .long .amdgcn.next_free_sgpr\n";
    let object = object_of(text, &target("gfx90c"));
    let code = data(&object, ".text");
    let words: Vec<u32> =
        code.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    assert_eq!(words[1..6], [41, 34, 9, 0, 12]);
    assert_eq!((words[7], words[9]), (5, 42));
    // What the text has given a value is a symbol of the object; the others are not.
    let file = object::File::parse(&*object).expect("an ELF file");
    let names: Vec<&str> = file.symbols().filter_map(|symbol| symbol.name().ok()).collect();
    assert_eq!(names, [".amdgcn.next_free_vgpr"]);
    assert!(refused(" .long .amdgcn.next_free_vgrp\n", &target("gfx900")).contains("is not defined"));
    // Those of V2 begin again with each kernel.
    let text = " v_mov_b32 v9, s3\n .long .kernel.vgpr_count\n .amdgpu_hsa_kernel k\nk: v_mov_b32 v7, 0\n \
                .long .kernel.vgpr_count, .kernel.sgpr_count, .option.machine_version_major\n";
    let object = object_of(text, &target_for("gfx803", Os::Mesa3d, 6));
    let code = data(&object, ".text");
    assert_eq!((code[4], &code[12..]), (10, &[8, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0][..]));
}

#[test]
fn descriptors_of_the_wrong_kind_are_refused() {
    let kernel = |line: &str| {
        format!(
            " .rodata\n .amdhsa_kernel k\n .amdhsa_next_free_vgpr 1\n .amdhsa_next_free_sgpr 1\n \
             .amdhsa_user_sgpr_private_segment_buffer 1\n{line}\n .end_amdhsa_kernel\n .text\nk:\n"
        )
    };
    let fp16 = kernel(" .amdhsa_fp16_overflow 1");
    assert!(refused(&fp16, &target("gfx803")).contains("does not exist on gfx803"));
    object_of(&fp16, &target("gfx900"));
    assert!(refused(&kernel(" .amdhsa_user_sgpr_count 3"), &target("gfx900")).contains("4 are enabled"));
    let dynamic = object_of(&kernel(" .amdhsa_uses_dynamic_stack 1"), &target("gfx900"));
    assert_eq!(data(&dynamic, ".rodata")[57], 8);
    assert!(refused(" v_mov_b32_dpp v0, v1\n", &target("gfx803")).contains("too few operands"));
}

#[test]
fn nothing_but_directives_stands_in_a_descriptor() {
    let kernel = |line: &str| {
        format!(
            " .rodata\n .amdhsa_kernel k\n .amdhsa_next_free_vgpr 1\n{line}\n\n // a comment\n \
             .amdhsa_next_free_sgpr 1\n .end_amdhsa_kernel\n .text\nk:\n s_endpgm\n"
        )
    };
    for line in
        [" s_nop 0", "label:", " .long 1", " .set a, 1", " a = 1", " .if 1", " .macro m", " .rept 2", "1:"]
    {
        let message = refused(&kernel(line), &target("gfx900"));
        assert!(message.contains("inside .amdhsa_kernel"), "{line}: {message}");
    }
    object_of(&kernel(" .amdhsa_ieee_mode 0"), &target("gfx900"));
}

#[test]
fn replay_of_descriptors_is_that_of_the_target_id() {
    let kernel = |id: &str, value: u8| {
        format!(
            " .amdgcn_target \"amdgcn-amd-amdhsa--{id}\"\n .rodata\n .amdhsa_kernel k\n .amdhsa_next_free_vgpr 1\n \
             .amdhsa_next_free_sgpr 1\n .amdhsa_reserve_xnack_mask {value}\n .end_amdhsa_kernel\n .text\nk:\n"
        )
    };
    // Each with the value that llvm-mc 22 wants.
    for (id, value) in
        [("gfx803", 0), ("gfx801", 1), ("gfx900", 1), ("gfx900:xnack-", 0), ("gfx900:xnack+", 1)]
    {
        let target = target(id.split(':').next().unwrap_or_default());
        object_of(&kernel(id, value), &target);
        let message = refused(&kernel(id, 1 - value), &target);
        assert!(message.contains("does not match"), "{id}: {message}");
    }
    for value in [0, 1] {
        object_of(&kernel("gfx900", value), &target_for("gfx900", Os::AmdHsa, 3));
    }
}

/// Metadata of a kernel with these lines about the kernel and one argument; V2 where asked for.
fn metadata(kernel: &str, argument: &str, v2: bool) -> String {
    let [directive, text] = if v2 {
        [
            "amd_amdgpu_hsa_metadata",
            "Version: [1, 0]\nKernels:\n  - Name: k\n    SymbolName: k@kd\n@K    Args:\n      - Size: 8\n        Align: 8\n@A",
        ]
    } else {
        [
            "amdgpu_metadata",
            "amdhsa.version: [1, 1]\namdhsa.kernels:\n  - .name: k\n    .symbol: k.kd\n    .kernarg_segment_size: 8\n    \
             .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .kernarg_segment_align: 8\n    \
             .wavefront_size: 64\n    .sgpr_count: 8\n    .vgpr_count: 1\n    .max_flat_workgroup_size: '256'\n@K    \
             .args:\n      - .offset: 0\n@A",
        ]
    };
    let lines =
        |text: &str, indent: &str| text.lines().map(|line| format!("{indent}{line}\n")).collect::<String>();
    let text = text.replace("@K", &lines(kernel, "    ")).replace("@A", &lines(argument, "        "));
    format!(" .{directive}\n---\n{text}...\n .end_{directive}\n")
}

#[test]
fn metadata_of_the_wrong_kind_is_refused() {
    let by_value = ".size: 8\n.value_kind: by_value";
    // Verdicts of llvm-mc 22.
    for (kernel, argument) in [
        ("", by_value),
        (".reqd_workgroup_size: [1, '2', 3]\n.language: OpenCL C\n.language_version: [2, 0]", by_value),
        (
            ".uses_dynamic_stack: 'true'\n.future: [a]",
            ".size: 8\n.value_kind: hidden_heap_v1\n.is_const: true",
        ),
        ("", ".size: 8\n.value_kind: image\n.access: read_only\n.address_space: global\n.value_type: odd"),
    ] {
        object_of(&metadata(kernel, argument, false), &target("gfx900"));
    }
    for (kernel, argument, wanted) in [
        ("", ".size: 8", "kernels, item 0: .args, item 0 without .value_kind"),
        ("", ".size: 8\n.value_kind: value", ".value_kind is `value`, not one of by_value"),
        ("", ".size: x\n.value_kind: by_value", ".size is no integer"),
        ("", ".size: 8\n.value_kind: image\n.access: default", ".access is `default`, not one of read_only"),
        ("", ".size: 8\n.value_kind: image\n.actual_access: none", ".actual_access is `none`"),
        ("", ".size: 8\n.value_kind: by_value\n.is_const: 1", ".is_const is no truth value"),
        ("", ".size: 8\n.value_kind: global_buffer\n.address_space: flat", ".address_space is `flat`"),
        (".language: C", by_value, ".language is `C`, not one of OpenCL C"),
        (".reqd_workgroup_size: [1, 2]", by_value, ".reqd_workgroup_size has 2 items, not 3"),
        (".language_version: [a, b]", by_value, ".language_version, item 0 is no integer"),
        (".vec_type_hint: 1", by_value, ".vec_type_hint is no string"),
        (".uses_dynamic_stack: 1", by_value, ".uses_dynamic_stack is no truth value"),
    ] {
        let message = refused(&metadata(kernel, argument, false), &target("gfx900"));
        assert!(message.contains(wanted), "{kernel} {argument}: {message}");
    }
    let message =
        refused(" .amdgpu_metadata\namdhsa.version: [1, 1]\n .end_amdgpu_metadata\n", &target("gfx900"));
    assert!(message.contains("without amdhsa.kernels"), "{message}");
}

#[test]
fn metadata_of_v2_is_of_the_documented_members() {
    let v2 = target_for("gfx900", Os::AmdHsa, 2);
    // Verdicts of llvm-mc 14.
    for (kernel, argument) in [
        ("", "ValueKind: ByValue"),
        (
            "Language: '1'\nAttrs: {ReqdWorkGroupSize: [1, 2, 3]}",
            "ValueKind: Image\nAccQual: Default\nIsPipe: true",
        ),
    ] {
        object_of(&metadata(kernel, argument, true), &v2);
    }
    for (kernel, argument, wanted) in [
        ("", "", "item 0 without ValueKind"),
        ("", "ValueKind: HiddenHeapV1", "ValueKind is `HiddenHeapV1`"),
        ("", "ValueKind: ByValue\nValueType: I128", "ValueType is `I128`"),
        ("", "ValueKind: ByValue\nAccQual: Reads", "AccQual is `Reads`"),
        ("", "ValueKind: ByValue\nAddrSpaceQual: Flat", "AddrSpaceQual is `Flat`"),
        (
            "",
            "ValueKind: ByValue\nPointeeAlign: 5000000000",
            "PointeeAlign is no unsigned integer of 32 bits",
        ),
        ("", "ValueKind: ByValue\nOffset: 0", "unknown member"),
        (
            "CodeProps: {KernargSegmentSize: 8}",
            "ValueKind: ByValue",
            "CodeProps without GroupSegmentFixedSize",
        ),
    ] {
        let message = refused(&metadata(kernel, argument, true), &v2);
        assert!(message.contains(wanted), "{kernel} {argument}: {message}");
    }
}

#[test]
fn other_systems_have_notes() {
    let object =
        object_of(" .amd_amdgpu_isa \"amdgcn-mesa-mesa3d--gfx803\"\n", &target_for("gfx803", Os::Mesa3d, 6));
    assert!(data(&object, ".note").windows(26).any(|name| name == b"amdgcn-mesa-mesa3d--gfx803"));
    let pal = target_for("gfx803", Os::AmdPal, 6);
    let object = object_of(" .amd_amdgpu_pal_metadata 0x2c0b, 1, 0x2c0a, 2, 0x2c0b, 4\n", &pal);
    assert_eq!(data(&object, ".note")[16..], [0x0a, 0x2c, 0, 0, 2, 0, 0, 0, 0x0b, 0x2c, 0, 0, 5, 0, 0, 0]);
    let yaml = " .amdgpu_pal_metadata\n---\namdpal.pipelines:\n  - .registers:\n      '0x2c0a (NAME)': 7\n...\n\t.end_amdgpu_pal_metadata\n";
    assert!(data(&object_of(yaml, &pal), ".note").windows(4).any(|bytes| bytes == [0xcd, 0x2c, 0x0a, 7]));
    assert!(refused(" .amd_amdgpu_isa \"amdgcn-unknown-unknown--gfx900\"\n", &pal).contains("is not"));
}

#[test]
fn relocations_by_name() {
    let text = " .long a@gotpcrel\n .quad a@rel64, a@abs64\n .reloc 0, R_AMDGPU_ABS32, b+4\n .reloc here, R_AMDGPU_NONE\n\
                here: .long 0\n s_mov_b32 s0, SCRATCH_RSRC_DWORD0\n";
    let object = object_of(text, &target("gfx900"));
    let file = object::File::parse(&*object).expect("an ELF file");
    let code = file.section_by_name(".text").expect("code");
    let found: Vec<_> = code
        .relocations()
        .map(|(at, relocation)| match relocation.flags() {
            RelocationFlags::Elf { r_type } => (at, r_type.0, relocation.addend()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(found, [(0, 7, 0), (0, 6, 4), (4, 5, 0), (12, 3, 0), (20, 0, 0), (28, 1, 0)]);
    assert!(refused(" .reloc 4, R_AMDGPU_ABS32, a\n", &target("gfx900")).contains("outside"));
}

#[test]
fn data_of_all_kinds() {
    let octa = [0x78, 0x67, 0x56, 0x45, 0x34, 0x23, 0x12, 1, 0xf0, 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12];
    let cases: [(&str, &[u8]); 19] = [
        (" .octa 0x123456789abcdef00112233445566778", &octa),
        (" .float 1.5, -2", &[0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0]),
        (" .double nan", &[255, 255, 255, 255, 255, 255, 255, 127]),
        (" .float 1e400, -nan", &[0, 0, 0x80, 0x7f, 255, 255, 255, 255]),
        (" .sleb128 -129, 5, 64", &[0xff, 0x7e, 5, 0xc0, 0]),
        (" .byte 1\n .org 4, 7", &[1, 7, 7, 7]),
        (" .ascii \"a\" \"b\"\n .string \"c\" \"d\"", b"abcd\0"),
        (" .byte 1, 2\n .balignw 8, 0x1234", &[1, 2, 0x34, 0x12, 0x34, 0x12, 0x34, 0x12]),
        (" .dcb.w 2, 3\n .ds.l 1", &[3, 0, 3, 0, 0, 0, 0, 0]),
        (" .base64 \"AAEC\"", &[0, 1, 2]),
        (" .equiv a, 3\n .byte a", &[3]),
        ("a: .zero 1\nb:\n .uleb128 300, b-a", &[0, 0xac, 2, 1]),
        (
            " .subsection 1\n .byte 1\nlate: .byte 2\n .subsection 0\n .byte 0\n .long late",
            &[0, 0, 0, 0, 0, 1, 2],
        ),
        (" .data 1\n .byte 1\n .data\n .byte 7", &[7, 1]),
        (" .bss\n .long 0\n .data\n .byte 9", &[9]),
        (" .byte 1\n .end\n .byte 2\n nonsense", &[1]),
        (
            ".altmacro\n.macro m a\n .byte a, \\a\n .ascii \"x&a\"\n.endm\n m %1+2\n m <4>",
            b"\x03\x03x&3\x04\x04x&4",
        ),
        (".altmacro\n.macro m a\n .byte a&1\n.endm\n m 2", &[21]),
        (" .hword 1\n .2byte 2\n .word 3", &[1, 0, 2, 0, 3, 0, 0, 0]),
    ];
    for (text, bytes) in cases {
        assert_eq!(made(text), bytes, "{text}");
    }
    // Sizes are not known ahead.
    for text in [" .zero b-a\na: .byte 1\nb:\n", " .uleb128 b-a\na: .byte 1\n", " .sleb128 a\na:\n"] {
        assert!(refused(text, &target("gfx900")).contains("absolute"), "{text}");
    }
}

/// The bytes are llvm-mc's.
#[test]
fn sizes_of_distances_settle() {
    let cases: [(&str, &[u8]); 7] = [
        (" .uleb128 b-a\na: .byte 1\nb:\n", &[1, 1]),
        (" .sleb128 a-b, 5\na: .byte 1\nb:\n", &[0x7f, 5, 1]),
        // One more byte for itself.
        ("a: .uleb128 b-a\n .zero 127\nb: .byte 9\n", &[&[0x81, 1][..], &[0; 127], &[9]].concat()),
        // Two that make each other longer; what stands between is aligned, an alias and a size follow.
        (
            "a: .uleb128 d-a\n .uleb128 d-b\nb: .zero 124\n .p2align 2\n.set c, d+2\nd: .byte c-a, d-b\n",
            &[&[0x80, 1, 0x7d][..], &[0; 125], &[0x82, 0x7d]].concat(),
        ),
        // Conditions and repetitions know the sizes.
        (
            "a: .uleb128 c-b\nx: .rept x-a\n .byte 7\n .endr\nb: .zero 200\nc:\n",
            &[&[0xc8, 1, 7, 7][..], &[0; 200]].concat(),
        ),
        // A part of a section; the distance to one's own end.
        (" .subsection 1\na: .uleb128 b-a\n .byte 1\nb: .subsection 0\n .byte 0\n", &[0, 2, 1]),
        (" .uleb128 b - ., 1\nb:\n", &[2, 1]),
    ];
    for (text, bytes) in cases {
        assert_eq!(made(&format!(" .data\n{text}")), bytes, "{text}");
    }
    // A number that is never what was made room for.
    let text = "a: .uleb128 b-a\nx: .if x-a < 10\n .zero 1 << (7 * (x-a))\n .endif\nb:\n";
    assert!(refused(&format!(" .data\n{text}"), &target("gfx900")).len() > 10);
}

#[test]
fn lds_is_the_linkers() {
    let unused = object_of(" .amdgpu_lds shared, 64, 16\n", &target("gfx900"));
    assert_eq!(object::File::parse(&*unused).expect("an ELF file").symbols().count(), 0);
    let object = object_of(" .globl shared\n .amdgpu_lds shared, 64, 16\n", &target("gfx900"));
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*object).expect("an ELF file");
    let symbol = file.symbol_by_name("shared").expect("the variable");
    let raw = symbol.elf_symbol();
    let e = object::Endianness::Little;
    assert_eq!((raw.st_shndx.get(e).0, raw.st_value.get(e), raw.st_size.get(e)), (0xff00, 16, 64));
    assert!(refused(" .amdgpu_lds shared, 0x100000\n", &target("gfx900")).contains("the hardware has"));
}

#[test]
fn files_are_read_where_they_are_given() {
    let read = |name: &str| match name {
        "once.s" => Ok(b" .byte 1 /* a comment */\n .if 1\n .byte 2\n .endif\n".to_vec()),
        "again.s" => Ok(b" .include \"again.s\"\n".to_vec()),
        "wrong.s" => Ok(b"\n\n v_nonsense\n".to_vec()),
        "bytes" => Ok(vec![1, 2, 3, 4, 5]),
        _ => Err("there is no such file".to_owned()),
    };
    let options = Options { read_file: Some(&read), ..Options::default() };
    let run = |text: &str| assemble_with(text, &target("gfx900"), &options);
    let place = |text: &str| {
        let errors = run(text).expect_err(text);
        let at = errors[0].location.clone().expect("a place");
        (at.file, at.line, errors[0].message.clone())
    };
    let Assembled { object, .. } =
        run(" .data\n .include \"once.s\"\n .incbin \"bytes\", 1, 3\n .incbin \"bytes\", 4\n")
            .expect("right");
    assert_eq!(data(&object, ".data"), [1, 2, 2, 3, 4, 5]);
    assert_eq!(
        (place(" .include \"wrong.s\"\n").0.as_str(), place(" .include \"wrong.s\"\n").1),
        ("wrong.s", 3)
    );
    assert!(place(" .include \"again.s\"\n").2.contains("deep"));
    assert!(place(" .incbin \"none\"\n").2.contains("no such file"));
    assert!(refused(" .include \"once.s\"\n", &target("gfx900")).contains("cannot be read here"));
}

#[test]
fn what_is_passed_over_is_said_once() {
    let text = "k: .cfi_startproc\n .file 1 \"a\" \"b\"\n .loc 1 1\n .loc 1 2\n .cfi_endproc\n .warning \"mine\"\n .print \"text\"\n";
    let assembled = assemble_with(text, &target("gfx900"), &Options::default()).expect("right");
    let lines: Vec<_> =
        assembled.warnings.iter().map(|w| w.location.as_ref().map_or(0, |at| at.line)).collect();
    assert_eq!((lines, assembled.printed), (vec![1, 3, 6], vec!["text".to_owned()]));
    assert!(assembled.warnings[2].message == "mine");
    assert_eq!(refused(" .error \"no\"\n", &target("gfx900")), "no");
    assert!(refused(" .abort\n v_nonsense\n", &target("gfx900")).contains(".abort"));
}

/// Descriptors of GFX10. Bytes of llvm-mc 22.
#[test]
fn descriptors_of_gfx10() {
    let kernel = |directives: &str| {
        format!(
            " .section .rodata\n .amdhsa_kernel k\n .amdhsa_next_free_vgpr 20\n .amdhsa_next_free_sgpr 200\n{directives} \
             .end_amdhsa_kernel\n .text\nk: s_endpgm\n"
        )
    };
    let wave64 = {
        let mut target = target("gfx1030");
        target.features.remove(Features::WAVEFRONTSIZE32);
        target
    };
    let settings = |directives: &str, target: &Target| {
        let bytes = data(&object_of(&kernel(directives), target), ".rodata");
        (bytes[44], bytes[48..52].to_vec(), bytes[56..58].to_vec())
    };
    let gfx1030 = target("gfx1030");
    // Two granules of eight VGPRs and a part; modes as they are run by default; no count of SGPRs.
    assert_eq!(settings("", &gfx1030), (0, vec![2, 0, 0xac, 0xe0], vec![0, 4]));
    assert_eq!(settings("", &wave64), (0, vec![4, 0, 0xac, 0xe0], vec![0, 0]));
    assert_eq!(settings(" .amdhsa_shared_vgpr_count 1\n", &wave64), (1, vec![4, 0, 0xac, 0xe0], vec![0, 0]));
    let off = " .amdhsa_workgroup_processor_mode 0\n .amdhsa_memory_ordered 0\n .amdhsa_forward_progress 0\n \
               .amdhsa_wavefront_size32 0\n .amdhsa_reserve_flat_scratch 0\n .amdhsa_reserve_xnack_mask 0\n";
    assert_eq!(settings(off, &gfx1030), (0, vec![4, 0, 0xac, 0], vec![0, 0]));
    let message = refused(&kernel(" .amdhsa_shared_vgpr_count 1\n"), &gfx1030);
    assert!(message.contains("waves of 32 lanes"), "{message}");
    let message = refused(&kernel(" .amdhsa_memory_ordered 1\n"), &target("gfx900"));
    assert!(message.contains("memory_ordered does not exist on gfx900"), "{message}");
    assert_eq!(flags(&object_of(&kernel(""), &target("gfx1010"))).0, 0x133);
}
