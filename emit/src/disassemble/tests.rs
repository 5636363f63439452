use super::*;
use mir::target::Target;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};

pub(super) fn target(processor: &str, version: u8) -> Target {
    let processor = Target::processor_by_name(processor).expect("a processor of the table");
    Target { code_object_version: version, ..Target::new(processor) }
}

/// The text of `source`'s object, after checking that it assembles to the same object.
fn round_trip(source: &str, target: &Target) -> String {
    let object = crate::assemble(source, target).expect("assembles");
    let text = disassemble(&object).expect("an object");
    let again = crate::assemble(&text, target).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let file = |bytes| ElfFile64::<Endianness>::parse(bytes).expect("an object");
    let contents = |bytes| {
        let file: ElfFile64<'_> = file(bytes);
        let mut out = vec![format!("{:#x}", file.elf_header().e_flags.get(Endianness::Little).0)];
        out.extend(file.sections().map(|section| {
            let data = section.data().expect("data");
            format!("{:?} {data:?} {:?} {}", section.name(), section.flags(), section.align())
        }));
        out
    };
    let (first, second) = (contents(&object), contents(&again));
    assert_eq!(first, second, "{text}");
    text
}

#[test]
fn text_assembles_again() {
    let source = "f:\n s_cbranch_scc0 end\nloop: v_add_f32 v0, 1.0, v1\n s_branch loop\nend:\n .long 0xffffffff\n \
                  s_add_u32 s0, s0, other@rel32@lo+4\n s_endpgm\n.globl other\n";
    let text = round_trip(source, &target("gfx900", 5));
    for part in [
        "f:\n",
        ".L4:\n",
        "s_branch .L4",
        ".long 0xffffffff",
        "other@rel32@lo+4",
        "v_add_f32_e32 v0, 1.0, v1",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("cannot be written"), "{text}");
}

#[test]
fn what_no_text_means_keeps_its_bytes() {
    // A branch into an instruction, a symbol inside of one, what is no instruction, bytes at the end.
    let source = "f: .long 0x800000ff, 0\n .long 0xbf82fffe\n .long 0xbe8000ff, 0x12345\ng = f + 14\n .byte 1, 2, 3\n\
                  .reloc 0, R_AMDGPU_NONE\n.reloc 5, R_AMDGPU_ABS64, g+7\n";
    let text = round_trip(source, &target("gfx900", 4));
    for part in [
        "s_add_u32 s0, lit(0x0), s0",
        "s_branch 65534 ",
        ".long 0xbe8000ff ",
        ".set g, .Lsection1+14",
        ".byte 1, 2, 3",
        ".reloc 0x5, R_AMDGPU_ABS64",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn data_has_symbols_and_addresses() {
    let source = ".section .data.a,\"aw\",@progbits\n.p2align 4\n.globl d\n.hidden d\n.type d,@object\n.size d, 24\nd: .quad e+8\n\
                  .long 5\n.weak w\n.quad w@rel64-4\n.bss\ne: .zero 100\n.comm c, 16, 3\n.globl l\n.amdgpu_lds l, 64, 16\nn = 77\n.globl n\n.text\ns_endpgm\n";
    let text = round_trip(source, &target("gfx803", 6));
    for part in [
        ".section .data.a,\"aw\",@progbits\n\t.p2align 4\n",
        "\t.globl d\n\t.hidden d\n\t.type d,@object\n\t.size d, 24\nd:\n\t.quad .Lsection4+8\n\t.byte 5,0,0,0\n\t.quad w@rel64-4\n",
        "e:\n\t.zero 100\n",
        "\t.comm c, 16, 3\n",
        "\t.amdgpu_lds l, 64, 16\n",
        "\t.set n, 0x4d\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn descriptors_are_directives() {
    let source = ".text\n.globl k\n.p2align 8\n.type k,@function\nk: s_endpgm\n.section .rodata,\"a\",@progbits\n.p2align 6\n\
                  .amdhsa_kernel k\n.amdhsa_next_free_vgpr 40\n.amdhsa_next_free_sgpr 30\n.amdhsa_kernarg_size 16\n\
                  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n.end_amdhsa_kernel\n";
    for processor in ["gfx600", "gfx700", "gfx802", "gfx803", "gfx900", "gfx906"] {
        for version in 3..=6 {
            let text = round_trip(source, &target(processor, version));
            for part in [
                ".amdhsa_kernel k\n",
                ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n",
                ".amdhsa_next_free_vgpr 40\n",
            ] {
                assert!(text.contains(part), "{part} in {text}");
            }
        }
    }
    // Every number of SGPRs has some directives.
    for sgprs in 1..=102 {
        let source = source.replace("sgpr 30", &format!("sgpr {sgprs}"));
        assert!(round_trip(&source, &target("gfx900", 4)).contains(".amdhsa_kernel k\n"));
    }
    let hidden = source.replace(".p2align 8", ".hidden k\n.p2align 8");
    assert!(round_trip(&hidden, &target("gfx900", 4)).contains("\t.hidden k\n"));
}

#[test]
fn headers_are_fields() {
    let source = ".hsa_code_object_version 2,1\n.hsa_code_object_isa 8,0,3,\"AMD\",\"AMDGPU\"\n.text\n.globl k\n.p2align 8\n\
                  .amdgpu_hsa_kernel k\nk:\n.amd_kernel_code_t\nis_ptr64 = 1\nworkitem_vgpr_count = 9\ncall_convention = -1\n\
                  .end_amd_kernel_code_t\ns_endpgm\n.amd_amdgpu_isa \"amdgcn-amd-amdhsa--gfx803\"\n\
                  .amd_amdgpu_hsa_metadata\n---\nVersion: [ 1, 0 ]\n...\n.end_amd_amdgpu_hsa_metadata\n";
    let text = round_trip(source, &target("gfx803", 2));
    for part in [
        "\t.amdgpu_hsa_kernel k\nk:\n\t.amd_kernel_code_t\n",
        "\t\tworkitem_vgpr_count = 9\n",
        "\t.hsa_code_object_version 2,1\n",
        "\t.hsa_code_object_isa 8,0,3,\"AMD\",\"AMDGPU\"\n",
        "\t.amd_amdgpu_hsa_metadata\n---\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
