//! Single facts of the AMDGPU usage guide that no other test is about, each seen in what the compiler and the assembler write.
//! `docs/requirements.tsv` names the item that each of them belongs to.

use gcnc::{CompileOptions, FileType};
use mir::abi::KernelDescriptor;
use mir::target::{Features, Target};
use object::read::elf::{ElfFile64, FileHeader, SectionHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol};
use std::fmt::Write as _;

const HSA: &str = "amdgcn-amd-amdhsa";

fn options(triple: &str, cpu: &str, attributes: &[&str]) -> CompileOptions {
    CompileOptions {
        triple: triple.into(),
        cpu: cpu.into(),
        attributes: attributes.iter().map(|&a| a.to_owned()).collect(),
        ..CompileOptions::default()
    }
}

fn compiled(ir: &str, options: &CompileOptions) -> Vec<u8> {
    gcnc::compile(ir.as_bytes(), "test.ll", options).unwrap_or_else(|e| panic!("{e:?}")).bytes
}

/// Assembly text of `ir`.
fn text(ir: &str, triple: &str, cpu: &str, attributes: &[&str]) -> String {
    String::from_utf8(compiled(ir, &options(triple, cpu, attributes))).expect("UTF-8")
}

fn object(ir: &str, triple: &str, cpu: &str, version: u8) -> Vec<u8> {
    let options = CompileOptions {
        file_type: FileType::Obj,
        code_object_version: Some(version),
        ..options(triple, cpu, &[])
    };
    compiled(ir, &options)
}

fn refusal(ir: &str, cpu: &str) -> String {
    let errors = gcnc::compile(ir.as_bytes(), "test.ll", &options(HSA, cpu, &[])).expect_err("refused");
    errors[0].message.clone()
}

fn elf(bytes: &[u8]) -> ElfFile64<'_, LittleEndian> {
    ElfFile64::parse(bytes).expect("an ELF file")
}

/// The descriptor of kernel `k`.
fn descriptor(bytes: &[u8]) -> KernelDescriptor {
    KernelDescriptor::unpack(&descriptor_bytes(bytes)).expect("valid")
}

fn descriptor_bytes(bytes: &[u8]) -> [u8; 64] {
    let file = elf(bytes);
    let symbol = file.symbol_by_name("k.kd").expect("a descriptor");
    let section = file.section_by_index(symbol.section_index().expect("defined")).expect("exists");
    let bytes = section.data_range(symbol.address(), 64).expect("in the file").expect("whole");
    bytes.try_into().expect("64 bytes")
}

/// The number behind `key` in metadata.
fn number(text: &str, key: &str) -> u32 {
    let line = text.lines().find(|line| line.trim_start().starts_with(key)).expect("the key");
    line.trim_start()[key.len()..].trim().parse().expect("a number")
}

const EMPTY: &str = "define amdgpu_kernel void @k() {\n  ret void\n}\n";

#[test]
fn headers_tell_system_and_processor() {
    for (triple, version, ident) in [
        (HSA, 2, (64, 0)),
        (HSA, 3, (64, 1)),
        (HSA, 4, (64, 2)),
        (HSA, 5, (64, 3)),
        (HSA, 6, (64, 4)),
        ("amdgcn--", 3, (0, 0)),
        ("amdgcn--amdpal", 3, (65, 0)),
        ("amdgcn-mesa-mesa3d", 3, (66, 0)),
    ] {
        let bytes = object(EMPTY, triple, "gfx900", version);
        let file = elf(&bytes);
        let header = file.elf_header();
        let e = LittleEndian;
        // ELFCLASS64, ELFDATA2LSB, ET_REL, EM_AMDGPU.
        assert_eq!((bytes[4], bytes[5], header.e_type(e).0, header.e_machine(e).0), (2, 1, 1, 224));
        assert_eq!((header.e_ident().os_abi.0, header.e_ident().abi_version), ident, "{triple} V{version}");
        assert_eq!(header.e_entry(e), 0);
    }
    let processors = [
        (0x20, "gfx600 tahiti"),
        (0x21, "gfx601 hainan oland pitcairn verde"),
        (0x22, "gfx700 kaveri"),
        (0x23, "gfx701 hawaii"),
        (0x24, "gfx702"),
        (0x25, "gfx703 kabini mullins"),
        (0x26, "gfx704 bonaire"),
        (0x128, "gfx801 carrizo"),
        (0x29, "gfx802 iceland tonga"),
        (0x2a, "gfx803 fiji polaris10 polaris11"),
        (0x12b, "gfx810 stoney"),
        (0x2c, "gfx900"),
        (0x12d, "gfx902"),
        (0x2e, "gfx904"),
        (0x22f, "gfx906"),
        (0x131, "gfx909"),
    ];
    for (flags, names) in processors {
        for name in names.split(' ') {
            let bytes = object(EMPTY, HSA, name, 3);
            assert_eq!(elf(&bytes).elf_header().e_flags(LittleEndian).0, flags, "{name}");
        }
    }
}

#[test]
fn sections_and_symbols_have_the_guides_types() {
    let ir = "
@zero = addrspace(1) global i32 0
@one = addrspace(1) global i32 1
@two = addrspace(4) constant i32 2
@far = external addrspace(1) global i32
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  %v = load i32, ptr addrspace(1) @far
  store i32 %v, ptr addrspace(1) %o
  ret void
}
";
    let bytes = object(ir, HSA, "gfx900", 3);
    let file = elf(&bytes);
    // Type and flags: PROGBITS 1, NOTE 7, NOBITS 8; WRITE 1, ALLOC 2, EXECINSTR 4.
    for (name, kind, flags) in
        [(".text", 1, 6), (".rodata", 1, 2), (".data", 1, 3), (".bss", 8, 3), (".note", 7, 2)]
    {
        let section = file.section_by_name(name).expect(name);
        let header = section.elf_section_header();
        let e = LittleEndian;
        assert_eq!((header.sh_type(e).0, header.sh_flags(e).0), (kind, flags), "{name}");
    }
    // Type (OBJECT 1, FUNC 2), visibility (PROTECTED 3), section.
    for (name, kind, visibility, section) in [
        ("k", 2, 3, Some(".text")),
        ("k.kd", 1, 0, Some(".rodata")),
        ("zero", 1, 0, Some(".bss")),
        ("one", 1, 0, Some(".data")),
        ("two", 1, 0, Some(".rodata")),
        ("far", 0, 0, None),
    ] {
        let symbol = file.symbol_by_name(name).expect(name);
        let raw = symbol.elf_symbol();
        let home = symbol.section_index().map(|s| file.section_by_index(s).expect("exists"));
        assert_eq!(home.as_ref().map(|s| s.name().expect("text")), section, "{name}");
        assert_eq!((raw.st_info.0 & 15, raw.st_other.0 & 3), (kind, visibility), "{name}");
    }
}

/// Everything that a kernel may be given: it has its place in the guide's order, and no more than 16 SGPRs come from the packet.
#[test]
fn entry_values_follow_the_guides_order() {
    let mut ir = String::new();
    for (ty, name) in [
        ("ptr addrspace(4)", "dispatch.ptr"),
        ("ptr addrspace(4)", "queue.ptr"),
        ("i64", "dispatch.id"),
        ("i32", "workgroup.id.x"),
        ("i32", "workgroup.id.y"),
        ("i32", "workgroup.id.z"),
        ("i32", "workitem.id.x"),
        ("i32", "workitem.id.y"),
        ("i32", "workitem.id.z"),
    ] {
        let _ = writeln!(ir, "declare {ty} @llvm.amdgcn.{name}()");
        let _ = write!(
            ir,
            "define internal void @{name}(ptr addrspace(1) %o) alwaysinline {{\n  %v = call {ty} @llvm.amdgcn.{name}()\n  \
             store volatile {ty} %v, ptr addrspace(1) %o\n  ret void\n}}\n"
        );
    }
    let calls: String = ir
        .lines()
        .filter_map(|line| line.strip_prefix("define internal void @"))
        .map(|rest| format!("  call void @{}(ptr addrspace(1) %o)\n", &rest[..rest.find('(').unwrap_or(0)]))
        .collect();
    let _ = write!(
        ir,
        "define amdgpu_kernel void @k(ptr addrspace(1) %o) {{\n  %a = alloca i32, addrspace(5)\n  \
         %f = addrspacecast ptr addrspace(5) %a to ptr\n  store volatile i32 1, ptr %f\n{calls}  ret void\n}}\n"
    );
    let d = descriptor(&object(&ir, HSA, "gfx803", 3));
    let user = [
        d.sgpr_private_segment_buffer,
        d.sgpr_dispatch_ptr,
        d.sgpr_queue_ptr,
        d.sgpr_kernarg_segment_ptr,
        d.sgpr_dispatch_id,
        d.sgpr_flat_scratch_init,
    ];
    assert_eq!((user, d.sgpr_private_segment_size, d.user_sgpr_count), ([1; 6], 0, 14));
    assert_eq!([d.workgroup_id_x, d.workgroup_id_y, d.workgroup_id_z, d.workgroup_info], [1, 1, 1, 0]);
    assert_eq!((d.private_segment_wavefront_offset, d.vgpr_workitem_id, d.kernarg_size), (1, 2, 0));
    // s[0:3] resource, s[4:5] packet, s[6:7] queue, s[8:9] arguments, s[10:11] number, s[12:13] flat scratch; then s14 to s16 for
    // the groups and s17 for the offset.
    let options = CompileOptions { code_object_version: Some(3), ..options(HSA, "gfx803", &[]) };
    let text = String::from_utf8(compiled(&ir, &options)).expect("UTF-8");
    for line in [
        "s_add_u32 s12, s12, s17\n",
        "s_mov_b32 flat_scratch_lo, s13\n",
        "s_add_u32 s0, s0, s17\n",
        ", s[8:9], 0x0\n",
        ", s[6:7], 0x44\n",
        ", s4\n",
        ", s10\n",
        ", s14\n",
        ", s15\n",
        ", s16\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    // What nothing reads is not asked for.
    let d = descriptor(&object(EMPTY, HSA, "gfx803", 3));
    assert_eq!((d.user_sgpr_count, d.vgpr_workitem_id, d.private_segment_wavefront_offset), (0, 0, 0));
}

#[test]
fn attributes_limit_registers() {
    let loads: String =
        (0..40).map(|i| format!("  %v{i} = load volatile i32, ptr addrspace(1) %p\n")).collect();
    let stores: String =
        (0..40).map(|i| format!("  store volatile i32 %v{i}, ptr addrspace(1) %p\n")).collect();
    let vgprs = |attributes: &str| {
        let ir = format!(
            "define amdgpu_kernel void @k(ptr addrspace(1) %p) {attributes} {{\n{loads}{stores}  ret void\n}}\n"
        );
        let text = text(&ir, HSA, "gfx900", &[]);
        (number(&text, ".vgpr_count:"), number(&text, ".private_segment_fixed_size:"))
    };
    assert!(matches!(vgprs(""), (40.., 0)));
    // Ten waves have 24 registers each.
    assert!(matches!(vgprs("\"amdgpu-waves-per-eu\"=\"10\""), (..=24, 1..)));
    assert!(matches!(vgprs("\"amdgpu-num-vgpr\"=\"16\""), (..=16, 1..)));
}

#[test]
fn atomics_behind_a_bus_are_those_that_pcie_knows() {
    let code = |op: &str, known: &str| {
        let ir = format!(
            "define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %v) {{\n  \
             %a = atomicrmw {op} ptr addrspace(1) %p, i32 %v monotonic{known}\n  ret void\n}}\n!0 = !{{}}\n"
        );
        text(&ir, HSA, "gfx803", &[])
    };
    assert!(code("add", "").contains("flat_atomic_add "));
    assert!(code("xchg", "").contains("flat_atomic_swap "));
    let near = ", !amdgpu.no.fine.grained.memory !0, !amdgpu.no.remote.memory !0";
    for op in ["sub", "and", "or", "xor", "max", "umin"] {
        assert!(code(op, "").contains("flat_atomic_cmpswap "), "{op}");
        assert!(!code(op, near).contains("cmpswap"), "{op}");
    }
}

#[test]
fn memory_is_reached_as_its_address_space_asks() {
    // GDS.
    let region = "define amdgpu_kernel void @k(ptr addrspace(2) %p, i32 %v) \"amdgpu-gds-size\"=\"64\" {\n  \
                  store i32 %v, ptr addrspace(2) %p\n  ret void\n}\n";
    let code = text(region, HSA, "gfx803", &[]);
    assert!(code.contains("s_mov_b32 m0, 64\n") && code.contains(" gds\n"), "{code}");
    // Descriptors of images and samplers are eight and four dwords in memory.
    let image = "
declare <4 x float> @llvm.amdgcn.image.sample.2d.v4f32.f32(i32, float, float, <8 x i32>, <4 x i32>, i1, i32, i32)
define amdgpu_kernel void @k(ptr addrspace(1) %o, ptr addrspace(4) %i, ptr addrspace(4) %s, float %x) {
  %t = load <8 x i32>, ptr addrspace(4) %i
  %p = load <4 x i32>, ptr addrspace(4) %s
  %r = call <4 x float> @llvm.amdgcn.image.sample.2d.v4f32.f32(i32 15, float %x, float %x, <8 x i32> %t, <4 x i32> %p, i1 0, i32 0, i32 0)
  store <4 x float> %r, ptr addrspace(1) %o
  ret void
}
";
    let code = text(image, HSA, "gfx803", &[]);
    assert!(code.contains("s_load_dword") && code.contains("image_sample "), "{code}");
    assert!(!code.contains("load_dword v") && !code.contains("flat_load"), "{code}");
    // Scratch is interleaved by dwords.
    let stack = "define amdgpu_kernel void @k(ptr addrspace(1) %o) {\n  %a = alloca <4 x i32>, addrspace(5)\n  \
                 %v = load volatile <4 x i32>, ptr addrspace(5) %a\n  store <4 x i32> %v, ptr addrspace(1) %o\n  ret void\n}\n";
    for cpu in ["gfx600", "gfx700", "gfx803", "gfx900"] {
        let code = text(stack, HSA, cpu, &[]);
        assert_eq!(code.matches("buffer_load_dword v").count(), 4, "{cpu} {code}");
    }
    let constant = "define amdgpu_kernel void @k(ptr addrspace(4) %p) {\n  store i32 1, ptr addrspace(4) %p\n  ret void\n}\n";
    assert!(refusal(constant, "gfx900").contains("store to address space 4"));
    // GFX6 has no generic accesses: what a pointer leads to must be global memory.
    let generic = "define void @k(ptr %p) {\n  store i32 1, ptr %p\n  ret void\n}\n";
    let code = text(generic, HSA, "gfx600", &[]);
    assert!(code.contains("buffer_store_dword") && code.contains("addr64"), "{code}");
    let local = "@l = internal addrspace(3) global i32 poison\ndefine void @m() {\n  call void @k(ptr addrspacecast (ptr addrspace(3) @l to ptr))\n  ret void\n}\n";
    assert!(
        refusal(&format!("{}{local}", generic.replace("%p) {", "%p) noinline {")), "gfx600")
            .contains("a generic pointer on gfx600, where m makes them")
    );
    let buffer = "define amdgpu_kernel void @k(ptr addrspace(7) %p) {\n  store i32 1, ptr addrspace(7) %p\n  ret void\n}\n";
    assert!(text(buffer, HSA, "gfx900", &[]).contains("buffer_store_dword"));
    let scope = "define void @k(ptr %p) {\n  store atomic i32 1, ptr %p syncscope(\"street\") release, align 4\n  ret void\n}\n";
    assert!(refusal(scope, "gfx900").contains("scope"));
}

/// Private and constant memory and images take no part in the memory model; what somebody may write is not read through the scalar cache.
#[test]
fn memory_that_nobody_shares_is_not_ordered() {
    let ir = "
declare <4 x float> @llvm.amdgcn.image.load.1d.v4f32.i32(i32, i32, <8 x i32>, i32, i32)
define amdgpu_kernel void @k(ptr addrspace(4) %c, ptr addrspace(1) %o, i32 %i) {
  %a = alloca i32, addrspace(5)
  store atomic i32 %i, ptr addrspace(5) %a seq_cst, align 4
  %p = load atomic i32, ptr addrspace(5) %a seq_cst, align 4
  %q = load atomic i32, ptr addrspace(4) %c acquire, align 4
  %t = load <8 x i32>, ptr addrspace(4) %c
  %r = call <4 x float> @llvm.amdgcn.image.load.1d.v4f32.i32(i32 1, i32 %i, <8 x i32> %t, i32 0, i32 0)
  %e = extractelement <4 x float> %r, i32 0
  %s = add i32 %p, %q
  store volatile i32 %s, ptr addrspace(1) %o
  store volatile float %e, ptr addrspace(1) %o
  ret void
}
";
    for cpu in ["gfx600", "gfx803", "gfx900"] {
        let code = text(ir, HSA, cpu, &[]);
        assert!(code.contains("image_load"), "{code}");
        assert!(!code.contains("buffer_wbinvl1") && !code.contains(" glc"), "{code}");
    }
    // Before the first write nobody has written it, or there would be a race.
    let access = ["  %v = load i32, ptr addrspace(1) %p\n", "  store i32 1, ptr addrspace(1) %q\n"];
    let load = |order: [usize; 2]| {
        let ir = format!(
            "define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {{\n{}{}  %w = add i32 %v, 1\n  \
             store i32 %w, ptr addrspace(1) %p\n  ret void\n}}\n",
            access[order[0]], access[order[1]]
        );
        text(&ir, HSA, "gfx900", &[]).contains("\tglobal_load_dword v")
    };
    assert!(load([1, 0]) && !load([0, 1]));
}

#[test]
fn invalidation_follows_system_and_generation() {
    let fence = "define void @f() {\n  fence syncscope(\"agent\") acquire\n  ret void\n}\n";
    for (triple, cpu, keeps_scratch) in [
        (HSA, "gfx600", false),
        (HSA, "gfx700", true),
        (HSA, "gfx900", true),
        ("amdgcn--", "gfx803", true),
        ("amdgcn--amdpal", "gfx803", false),
        ("amdgcn-mesa-mesa3d", "gfx900", false),
    ] {
        let wanted = if keeps_scratch { "buffer_wbinvl1_vol\n" } else { "buffer_wbinvl1\n" };
        assert!(text(fence, triple, cpu, &[]).contains(wanted), "{triple} {cpu}");
    }
}

#[test]
fn traps_are_the_guides() {
    let ir = "declare void @llvm.trap()\ndeclare void @llvm.debugtrap()\n\
              define amdgpu_kernel void @k() {\n  call void @llvm.debugtrap()\n  call void @llvm.trap()\n  ret void\n}\n";
    let traps = |triple: &str, version| {
        let options = CompileOptions { code_object_version: Some(version), ..options(triple, "gfx803", &[]) };
        let text = String::from_utf8(compiled(ir, &options)).expect("UTF-8");
        let lines = text.lines().map(str::trim).filter(|line| line.starts_with("s_trap"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    for version in 2..=6 {
        assert_eq!(traps(HSA, version), ["s_trap 3", "s_trap 2"]);
    }
    for triple in ["amdgcn--", "amdgcn--amdpal", "amdgcn-mesa-mesa3d"] {
        assert_eq!(traps(triple, 3), [""; 0]);
    }
    // The handler finds the queue in s[0:1], where the packet was.
    let ir = "declare void @llvm.trap()\ndeclare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()\n\
              define amdgpu_kernel void @k(ptr addrspace(1) %o) {\n  %d = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()\n  \
              store volatile ptr addrspace(4) %d, ptr addrspace(1) %o\n  call void @llvm.trap()\n  ret void\n}\n";
    let options = CompileOptions { code_object_version: Some(3), ..options(HSA, "gfx803", &[]) };
    let text = String::from_utf8(compiled(ir, &options)).expect("UTF-8");
    let queue = text.find("\ts_mov_b64 s[0:1], s[2:3]\n").expect("the queue's place");
    let behind = &text[queue..text.find("\ts_trap 2\n").expect("a trap")];
    assert!(behind.matches("s[0:1]").count() == 1, "{text}");
}

/// A scalar load that the hardware may repeat leaves its address alone.
#[test]
fn loads_that_are_replayed_keep_their_address() {
    let ir = "define amdgpu_kernel void @k(ptr addrspace(4) %p, ptr addrspace(1) %o) {\n  \
              %a = load ptr addrspace(4), ptr addrspace(4) %p\n  %b = load i128, ptr addrspace(4) %a\n  \
              store i128 %b, ptr addrspace(1) %o\n  ret void\n}\n";
    let overlaps = |attribute: &str| {
        let text = text(ir, HSA, "gfx900", &[attribute]);
        let range = |operand: &str| {
            let mut ends = operand.trim_start_matches("s[").trim_end_matches(']').split(':');
            let mut end = || ends.next().and_then(|n| n.parse::<u32>().ok()).expect("a register");
            end()..=end()
        };
        let loads: Vec<bool> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("s_load_dwordx"))
            .map(|line| {
                let mut operands = line.split_once(' ').expect("operands").1.split(", ");
                let [data, address] =
                    [operands.next(), operands.next()].map(|o| range(o.expect("an operand")));
                data.start() <= address.end() && address.start() <= data.end()
            })
            .collect();
        assert!(loads.len() > 1, "{text}");
        loads.contains(&true)
    };
    assert!(!overlaps("+xnack") && overlaps("-xnack"));
}

/// Every directive of a descriptor sets the field that its name says, and only that.
#[test]
fn directives_set_their_fields() {
    let target = |name| Target::new(Target::processor_by_name(name).expect("known"));
    let (gfx900, mut gfx1030) = (target("gfx900"), target("gfx1030"));
    // Waves of 64 lanes can share VGPRs.
    gfx1030.features.remove(Features::WAVEFRONTSIZE32);
    let assembled = |line: &str, target: &Target| {
        let text = format!(
            " .section .rodata\n .p2align 6\n .amdhsa_kernel k\n .amdhsa_next_free_vgpr 1\n .amdhsa_next_free_sgpr 1\n{line} \
             .end_amdhsa_kernel\n .text\nk: s_endpgm\n"
        );
        let object = emit::assemble(&text, target).unwrap_or_else(|e| panic!("{line}: {e:?}"));
        let bytes = descriptor_bytes(&object);
        KernelDescriptor::unpack_for(&bytes, target).expect("a descriptor").values()
    };
    let mut seen = 0;
    for (index, field) in KernelDescriptor::FIELDS.iter().enumerate() {
        // A count of user SGPRs is refused below the ones that are on.
        if field.directive.is_empty() || field.directive == "user_sgpr_count" {
            continue;
        }
        let target = if gfx900.has(field.requires()) { &gfx900 } else { &gfx1030 };
        let plain = assembled("", target);
        let value = u32::from(plain[index] == 0);
        let set = assembled(&format!(" .amdhsa_{} {value}\n", field.directive), target);
        assert_eq!(set[index], value, "{}", field.directive);
        for (other, (before, after)) in plain.iter().zip(&set).enumerate() {
            let counts = KernelDescriptor::FIELDS[other].name == "user_sgpr_count";
            assert!(other == index || counts || before == after, "{} changes {other}", field.directive);
        }
        seen += 1;
    }
    assert!(seen >= 33, "{seen}");
    let on = |target: &Target| -> Vec<&str> {
        let plain = assembled("", target);
        let on = KernelDescriptor::FIELDS.iter().zip(plain).filter(|(_, value)| *value != 0);
        on.map(|(field, _)| field.directive).filter(|directive| !directive.is_empty()).collect()
    };
    let everywhere = ["float_denorm_mode_16_64", "dx10_clamp", "ieee_mode", "system_sgpr_workgroup_id_x"];
    assert_eq!(on(&gfx900), everywhere);
    let modes = ["workgroup_processor_mode", "memory_ordered", "forward_progress"];
    assert_eq!(on(&gfx1030), [&everywhere[..3], &modes, &everywhere[3..]].concat());
}
