//! What the assembler makes of whole files, with LLVM's as witness.

use super::*;
use mir::target::Features;
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};
use proptest::prelude::*;
use std::process::Command;

fn target(name: &str) -> Target {
    let processor = Target::processor_by_name(name).expect("a processor of the table");
    let mut target = Target { code_object_version: 5, ..Target::new(processor) };
    // Nobody asks for replay or against it.
    if target.has(Features::XNACK_SUPPORTED) {
        target.features.insert(Features::XNACK | Features::XNACK_ANY);
    }
    target
}

/// Contents and relocations (offset, type, symbol, addend) of a section; `None` where it is missing.
type Contents = Option<(Vec<u8>, Vec<(u64, u32, String, i64)>)>;

fn section(bytes: &[u8], name: &str) -> Contents {
    let file = object::File::parse(bytes).expect("an ELF file");
    let section = file.section_by_name(name)?;
    let relocations = section.relocations().map(|(offset, relocation)| {
        let RelocationTarget::Symbol(index) = relocation.target() else { panic!("{relocation:?}") };
        let RelocationFlags::Elf { r_type } = relocation.flags() else { panic!("{relocation:?}") };
        let symbol = file.symbol_by_index(index).expect("a symbol");
        let name = match symbol.section_index() {
            Some(index) if symbol.name().is_ok_and(str::is_empty) => {
                file.section_by_index(index).expect("a section").name().expect("a name").to_owned()
            }
            _ => symbol.name().expect("a name").to_owned(),
        };
        (offset, r_type.0, name, relocation.addend())
    });
    Some((section.data().expect("data").to_vec(), relocations.collect()))
}

/// The symbols that linkers see: name, section, value, size, whether others see it.
fn symbols(bytes: &[u8]) -> Vec<(String, Option<String>, u64, u64, bool)> {
    let file = object::File::parse(bytes).expect("an ELF file");
    let mut all: Vec<_> = file
        .symbols()
        .filter(|symbol| symbol.name().is_ok_and(|name| !name.is_empty()))
        .map(|symbol| {
            let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
            let section = section.map(|section| section.name().expect("a name").to_owned());
            (
                symbol.name().expect("a name").to_owned(),
                section,
                symbol.address(),
                symbol.size(),
                symbol.is_global(),
            )
        })
        .collect();
    all.sort();
    all
}

const SOURCE: &str = r#"
	.amdgcn_target "amdgcn-amd-amdhsa--gfx900"
	.amdhsa_code_object_version 5
	.set early, 100
	.text
	.protected	kernel                  ; -- Begin function kernel
	.globl	kernel
	.p2align	8
	.type	kernel,@function
kernel:                                 ; @kernel
; %bb.0:
	s_load_dwordx2 s[0:1], s[4:5], 0x0 /* a comment
	over two lines */
	s_getpc_b64 s[2:3]
.Lpost:
	s_add_u32 s2, s2, callee@rel32@lo+4
	s_addc_u32 s3, s3, callee@rel32@hi+12
	s_add_u32 s2, s2, outside@gotpcrel32@lo+4
	s_addc_u32 s3, s3, outside@gotpcrel32@hi+12
	s_mov_b32 s6, (.LBB0_2-.Lpost)&4294967295
	s_mov_b32 s7, outside@abs32@lo
	v_mov_b32 v0, table
	s_cbranch_scc1 .LBB0_2
.LBB0_1:
	v_add_u32_e32 v0, early*2, v0
	s_branch .LBB0_1
.LBB0_2:
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel kernel
		.amdhsa_group_segment_fixed_size 256
		.amdhsa_private_segment_fixed_size ((16+15)/16)*16
		.amdhsa_kernarg_size 104
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_system_sgpr_private_segment_wavefront_offset 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_next_free_vgpr max(totalnumvgprs(kernel.num_agpr, kernel.num_vgpr), 1, 0)
		.amdhsa_next_free_sgpr (max(kernel.numbered_sgpr+extrasgprs(kernel.uses_vcc, kernel.uses_flat_scratch, 1), 1, 0))-extrasgprs(kernel.uses_vcc, kernel.uses_flat_scratch, 1)
		.amdhsa_reserve_vcc 1
		.amdhsa_reserve_flat_scratch 0
		.amdhsa_reserve_xnack_mask 1
		.amdhsa_float_denorm_mode_32 3
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	kernel, .Lfunc_end0-kernel
	.set limit, 100
	.set kernel.num_vgpr, max(20, callee.num_vgpr)
	.set kernel.num_agpr, 0
	.set kernel.numbered_sgpr, 33
	.set kernel.uses_vcc, 1
	.set kernel.uses_flat_scratch, 0
	.set callee.num_vgpr, 41
	.p2align 2
	.type callee,@function
callee:
	s_setpc_b64 s[30:31]
.Lfunc_end1:
	.size callee, .Lfunc_end1-callee
	.section .AMDGPU.csdata,"",@progbits
	.data
	.globl table
	.type table,@object
	.p2align 3
table:
	.byte 1, -1, 0x80
	.p2align 2
	.long limit+1, kernel-table
	.quad kernel+8
	.long .Lconstants-.
	.size table, .-table
	.section .rodata.str,"aMS",@progbits,1
.Lconstants:
	.asciz "text\n\t\"quoted\"\000\177"
	.ascii "a", "b"
	.zero 3
	.fill 2, 2, 0x1234
	.bss
	.local zeros
zeros:
	.zero 64
	.set same, table+4
	.ident "producer"
	.section ".note.GNU-stack","",@progbits
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .name:           'it''s'
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 256
    .kernarg_segment_align: 8
    .kernarg_segment_size: 104
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 1024
    .name:           kernel
    .private_segment_fixed_size: 16
    .sgpr_count:     39
    .symbol:         kernel.kd
    .vgpr_count:     41
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx900
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
"#;

#[test]
fn llvm_makes_the_same_object() {
    let ours = assemble(SOURCE, &target("gfx900")).unwrap_or_else(|errors| panic!("{errors:?}"));
    let (code, relocations) = section(&ours, ".text").expect("code");
    assert_eq!((code.len(), relocations.len()), (92, 6));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (input, output) = (dir.path().join("a.s"), dir.path().join("a.o"));
    std::fs::write(&input, SOURCE).expect("writable");
    let llvm = Command::new("llvm-mc-22")
        .args(["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx900", "-filetype=obj", "-o"])
        .args([&output, &input])
        .output();
    let Ok(llvm) = llvm else {
        eprintln!("skipped: cannot run llvm-mc-22");
        return;
    };
    assert!(llvm.status.success(), "{}", String::from_utf8_lossy(&llvm.stderr));
    let theirs = std::fs::read(&output).expect("an object");
    for name in [".text", ".rodata", ".data", ".rodata.str", ".note", ".bss", ".comment"] {
        assert_eq!(section(&ours, name), section(&theirs, name), "{name}");
    }
    assert_eq!(symbols(&ours), symbols(&theirs));
}

/// Register blocks of the descriptor: values of llvm-mc 22.
#[test]
fn register_blocks_of_old_processors() {
    let blocks = |processor: &str, directives: &str| {
        let text = format!(
            " .section .rodata\n .amdhsa_kernel k\n .amdhsa_next_free_vgpr 22\n .amdhsa_next_free_sgpr 14\n{directives} \
             .end_amdhsa_kernel\n .text\nk: s_endpgm\n"
        );
        // Target ids of V3 leave replay to the kernel.
        let target = Target { code_object_version: 3, ..target(processor) };
        let object = assemble(&text, &target).unwrap_or_else(|errors| panic!("{errors:?}"));
        let (data, _) = section(&object, ".rodata").expect("a descriptor");
        (data[48] & 0x3f, u16::from_le_bytes([data[48], data[49]]) >> 6 & 15)
    };
    assert_eq!(blocks("gfx600", ""), (5, 2));
    assert_eq!(blocks("gfx700", " .amdhsa_reserve_flat_scratch 0\n"), (5, 1));
    assert_eq!(blocks("gfx802", ""), (5, 11));
    assert_eq!(blocks("gfx900", " .amdhsa_reserve_flat_scratch 0\n .amdhsa_reserve_xnack_mask 1\n"), (5, 2));
    assert_eq!(blocks("gfx900", " .amdhsa_reserve_flat_scratch 0\n .amdhsa_reserve_xnack_mask 0\n"), (5, 1));
}

/// (line, column, part of the message) of every error.
/// The program of the usage guide, with the names of fields that people write.
const V2_SOURCE: &str = r#"
.hsa_code_object_version 1,0
.hsa_code_object_isa

.hsatext
.globl  hello_world
.p2align 8
.amdgpu_hsa_kernel hello_world

hello_world:

   .amd_kernel_code_t
      enable_sgpr_kernarg_segment_ptr = 1 // comments and blank lines are passed over

      is_ptr64 = 1
      compute_pgm_rsrc1_vgprs = 0
      compute_pgm_rsrc1_sgprs = 0
      compute_pgm_rsrc2_user_sgpr = later - 1
      kernarg_segment_byte_size = 8
      wavefront_sgpr_count = 7
      wavefront_sgpr_count = 2
      workitem_vgpr_count = 3
  .end_amd_kernel_code_t

  s_load_dwordx2 s[0:1], s[0:1] 0x0
  v_mov_b32 v0, 3.14159
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v1, s0
  v_mov_b32 v2, s1
  flat_store_dword v[1:2], v0
  s_endpgm
.Lfunc_end0:
     .size   hello_world, .Lfunc_end0-hello_world
.set later, 3
.amd_amdgpu_isa "amdgcn-amd-amdhsa--gfx803"
.amd_amdgpu_hsa_metadata
---
Version: [ 1, 0 ]
Kernels:
  - Name: hello_world
    SymbolName: 'hello_world@kd'
...
.end_amd_amdgpu_hsa_metadata
"#;

#[test]
fn headers_of_v2_precede_code() {
    use mir::abi::KernelCode;
    let target = target("gfx803");
    let bytes = assemble(V2_SOURCE, &target).unwrap_or_else(|e| panic!("{e:?}"));
    let (code, _) = section(&bytes, ".hsatext").expect("code");
    let header = KernelCode::unpack(code.first_chunk().expect("a header")).expect("a header");
    let wanted = KernelCode {
        enable_sgpr_kernarg_segment_ptr: 1,
        is_ptr64: 1,
        user_sgpr_count: 2,
        kernarg_segment_byte_size: 8,
        wavefront_sgpr_count: 2,
        workitem_vgpr_count: 3,
        ..KernelCode::new(&target)
    };
    assert_eq!(header, wanted);
    assert_eq!(code.len(), 256 + 40);
    assert_eq!(code[code.len() - 4..], [0, 0, 0x81, 0xbf]);
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let kernel = file.symbols().find(|s| s.name() == Ok("hello_world")).expect("the kernel");
    let object::SymbolFlags::Elf { st_info, .. } = kernel.flags() else { panic!("no ELF symbol") };
    assert_eq!((st_info.st_type().0, kernel.size()), (10, 296));
    let object::File::Elf64(elf) = &file else { panic!("no ELF64 file") };
    use object::read::elf::FileHeader;
    assert_eq!(elf.elf_header().e_ident().abi_version, 0, "the text is of V2");
    let (notes, _) = section(&bytes, ".note").expect("notes");
    let text = "---\nVersion:         [ 1, 0 ]\nKernels:\n  - Name:            hello_world\n    SymbolName:      'hello_world@kd'\n...\n";
    assert!(notes.windows(text.len()).any(|window| window == text.as_bytes()));
    assert!(notes.starts_with(
        b"\x04\0\0\0\x08\0\0\0\x01\0\0\0AMD\0\x01\0\0\0\0\0\0\0\x04\0\0\0\x1b\0\0\0\x03\0\0\0AMD\0"
    ));
}

#[test]
fn wrong_headers_of_v2_are_refused() {
    let message = |text: &str| {
        let found = assemble(text, &target("gfx900"));
        found.expect_err("refused").first().map_or_else(String::new, |e| e.to_string())
    };
    for (text, wanted) in [
        (".amd_kernel_code_t\n is_ptr65 = 1\n.end_amd_kernel_code_t\n", "no field is_ptr65"),
        (".amd_kernel_code_t\n is_ptr64 = 2\n.end_amd_kernel_code_t\n", "does not fit 1 bits"),
        (".amd_kernel_code_t\n is_ptr64 1\n.end_amd_kernel_code_t\n", "expected ="),
        (".amd_kernel_code_t\n enable_wgp_mode = 1\n.end_amd_kernel_code_t\n", "does not exist on gfx900"),
        (
            ".amd_kernel_code_t\n is_ptr64 = k\n.end_amd_kernel_code_t\nk:\n",
            "expected an absolute expression",
        ),
        (".amd_kernel_code_t\n is_ptr64 = 1\n", "missing .end_amd_kernel_code_t"),
        (".bss\n.amd_kernel_code_t\n", "no room"),
        (".hsa_code_object_version -1, 0\n", "out of range"),
        (".hsa_code_object_isa 9,0,0,\"AMD\"\n", "expected a comma"),
        (".hsa_code_object_version 2,1\n.amd_amdgpu_isa \"amdgcn-amd-amdhsa--gfx803\"\n", "gfx803 is not"),
        (".amd_amdgpu_hsa_metadata\n---\na: 'b\n...\n.end_amd_amdgpu_hsa_metadata\n", "metadata line"),
        (".amd_amdgpu_hsa_metadata\n---\n", "missing .end_amd_amdgpu_hsa_metadata"),
    ] {
        let message = message(text);
        assert!(message.contains(wanted), "{text}: {message}");
    }
}

/// The name of the instruction set tells whether page faults are replayed.
#[test]
fn names_of_v2_tell_about_replay() {
    let flags = |name: &str| {
        let text = format!(".hsa_code_object_version 2,1\n.amd_amdgpu_isa \"amdgcn-amd-amdhsa--{name}\"\n");
        let bytes = assemble(&text, &target("gfx900")).unwrap_or_else(|e| panic!("{e:?}"));
        u32::from_le_bytes([bytes[0x30], bytes[0x31], bytes[0x32], bytes[0x33]])
    };
    assert_eq!([flags("gfx900"), flags("gfx901")], [0x2c, 0x12c]);
}

fn errors(text: &str) -> Vec<(u32, u32, String)> {
    let errors = assemble(text, &target("gfx900")).expect_err("the text is wrong");
    let place = |error: &Diagnostic| error.location.clone().map_or((0, 0), |at| (at.line, at.column));
    errors.iter().map(|error| (place(error).0, place(error).1, error.message.clone())).collect()
}

#[test]
fn every_error_has_its_place() {
    let text = "\n v_add_f32 v0, s1, s2\n s_branch nowhere\n .word 1 +\n x: x: s_nop 0\n .frobnicate 1\n";
    let found = errors(text);
    let is = |i: usize, line, column, part: &str| {
        let (l, c, message) = &found[i];
        assert!((*l, *c) == (line, column) && message.contains(part), "{found:?}");
    };
    is(0, 2, 20, "constant bus");
    is(1, 4, 11, "expression");
    is(2, 5, 5, "twice");
    is(3, 6, 2, "frobnicate");
    assert_eq!(found.len(), 4);
    let late = [
        (" s_branch nowhere\n", "nowhere is not defined"),
        (" .set a, b\n .set b, a+1\n .long a\n", "depends on itself"),
        (" .amdhsa_kernel k\n", "missing .end_amdhsa_kernel"),
        (
            " .amdhsa_kernel k\n .amdhsa_next_free_vgpr 1\n .end_amdhsa_kernel\n",
            "next_free_sgpr directive is required",
        ),
        (" .long a-b\na:\n .data\nb:\n", "two sections"),
        (" .amdgcn_target \"amdgcn-amd-amdhsa--gfx906\"\n", "is not amdgcn-amd-amdhsa--gfx900"),
        (" .amdgpu_metadata\n a: [1]\n .end_amdgpu_metadata\n", "metadata without amdhsa.version"),
        (" s_branch far\n .zero 1000000\nfar:\n", "branch distance"),
        (" .zero 0x7fffffffffffffff\n", "too large"),
        (" .p2align 31\n .byte 1\n .p2align 31\n", "too large"),
    ];
    for (text, part) in late {
        let found = errors(text);
        assert!(
            found.iter().any(|(line, _, message)| *line > 0 && message.contains(part)),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn long_chains_of_symbols_cost_no_stack() {
    let mut text = String::new();
    for i in 0..20_000 {
        text += &format!(" .set a{i}, a{}+1\n", i + 1);
    }
    text += " .set a20000, 5\n .long a0\n";
    let object = assemble(&text, &target("gfx900")).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(section(&object, ".text").map(|(data, _)| data), Some(20_005u32.to_le_bytes().to_vec()));
}

/// The sample with some of its lines dropped, doubled, cut or in each other's place.
fn damaged() -> impl Strategy<Value = String> {
    let lines: Vec<&str> = SOURCE.lines().collect();
    let count = lines.len();
    let change = (0..count, 0..count, 0usize..4, 0usize..40);
    prop::collection::vec(change, 1..6).prop_map(move |changes| {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        for (a, b, what, cut) in changes {
            match what {
                0 => lines[a].clear(),
                1 => lines[a] = lines[b].clone(),
                2 => lines.swap(a, b),
                _ => lines[a] = lines[a].chars().take(cut).collect(),
            }
        }
        lines.join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![any::<String>(), damaged()]) {
        let lines = text.lines().count() as u32;
        for error in assemble(&text, &target("gfx900")).err().into_iter().flatten() {
            prop_assert!(error.kind != ErrorKind::Defect, "{error}");
            prop_assert!(error.location.as_ref().is_some_and(|at| at.line <= lines), "{error}");
        }
    }
}

/// A branch over 63 dwords gets an `s_nop` on GFX10.1; so does one that another's makes such. Distances are llvm-mc's.
#[test]
fn no_branch_over_63_dwords() {
    let branches = |processor: &str, text: &str| {
        let object = assemble(text, &target(processor)).unwrap_or_else(|errors| panic!("{errors:?}"));
        let (data, _) = section(&object, ".text").expect("code");
        let words = data.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let is_branch = |word: &u32| word >> 16 == 0xbf82;
        (words.clone().filter(is_branch).map(|word| word as i16).collect::<Vec<_>>(), words.count())
    };
    let once = " s_branch 1f\n .rept 63\n s_nop 0\n .endr\n1: s_endpgm\n";
    assert_eq!(branches("gfx1010", once), (vec![64], 66));
    assert_eq!(branches("gfx1030", once), (vec![63], 65));
    let chain =
        " s_branch 1f\n s_branch 2f\n .rept 61\n s_nop 0\n .endr\n1: s_nop 0\n s_nop 0\n2: s_endpgm\n";
    assert_eq!(branches("gfx1010", chain), (vec![64, 64], 68));
    let back = "1: .rept 62\n s_nop 0\n .endr\n s_branch 1b\n s_branch 63\n";
    assert_eq!(branches("gfx1010", back), (vec![-63, 63], 64));
}
