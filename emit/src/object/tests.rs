use super::*;
use mir::abi::KernelDescriptor;
use mir::ir::{self, CallConv, GlobalData, Initializer, InitializerRelocation, Type};
use mir::machine::{self, EntryValue, Resources};
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};
use std::process::Command;

fn target(version: u8) -> Target {
    let processor = Target::processor_by_name("gfx900").expect("gfx900 is in the table");
    Target { code_object_version: version, ..Target::new(processor) }
}

fn global(name: &str, is_constant: bool, size: u64, init: Option<Initializer>) -> GlobalData {
    GlobalData {
        name: name.into(),
        linkage: Linkage::External,
        visibility: Visibility::Default,
        space: AddrSpace::GLOBAL,
        size_bytes: size,
        align_log2: 3,
        is_constant,
        section: String::new(),
        init,
    }
}

fn bytes(bytes: &[u8]) -> Option<Initializer> {
    Some(Initializer { bytes: bytes.to_vec(), relocations: Vec::new() })
}

/// Variables of every kind, and a kernel `k(ptr addrspace(1) p, i32 v)` that refers to an external one.
fn sample(version: u8) -> (Module, FinalFunction) {
    let target = target(version);
    let mut module = Module::default();
    let g = module.globals.push(global("g", false, 4, bytes(&[5, 0, 0, 0])));
    module.globals.push(global("z", false, 64, bytes(&[])));
    let private = module
        .globals
        .push(GlobalData { linkage: Linkage::Private, ..global("hidden_one", true, 8, bytes(&[7])) });
    let relocation = |offset_bytes, symbol, addend| InitializerRelocation {
        offset_bytes,
        width_bytes: 8,
        symbol: SymbolRef::Global(symbol),
        addend,
        is_relative: false,
    };
    module.globals.push(global(
        "c",
        true,
        16,
        Some(Initializer {
            bytes: vec![0; 16],
            relocations: vec![relocation(0, g, 0), relocation(8, private, 2)],
        }),
    ));
    let external = module.globals.push(global("e", false, 4, None));
    module.globals.push(GlobalData { space: AddrSpace::LOCAL, ..global("lds", false, 128, bytes(&[])) });

    let mut source = ir::Function::new("k", CallConv::Kernel, Type::Void);
    source.add_param(Type::ptr(AddrSpace::GLOBAL), "p");
    source.add_param(Type::I32, "v");
    let func = module.functions.push(source);
    let source = &module.functions[func];
    let mut kernel = machine::Function::new("k", CallConv::Kernel, func);
    kernel.entry.request(EntryValue::KernargSegmentPtr, None);
    kernel.entry.request(EntryValue::WorkitemIdX, None);
    kernel.kernarg = mir::abi::kernarg::layout(&module, source, &target);
    kernel.resources = Resources { sgprs: 6, vgprs: 2, ..Resources::default() };
    let descriptor = KernelDescriptor::for_kernel(&kernel, source, &target).expect("fits");
    let metadata = Metadata::new(&module, [(&kernel, source)], &target).kernels.remove(0);
    let reloc = |offset_bytes, addend, kind| crate::CodeReloc {
        offset_bytes,
        symbol: SymbolRef::Global(external),
        addend,
        kind,
    };
    let function = FinalFunction {
        // s_getpc_b64 s[0:1]; s_add_u32 s0, s0, lit; s_addc_u32 s1, s1, lit; s_endpgm
        code: [0xbe80_1c00u32, 0x8000_ff00, 0, 0x8201_ff01, 0, 0xbf81_0000]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect(),
        relocs: vec![reloc(8, 4, RelocKind::GotPcRel32Lo), reloc(16, 12, RelocKind::GotPcRel32Hi)],
        positions: Vec::new(),
        kernel: Some(crate::Kernel { descriptor, metadata }),
        node: None,
        function: kernel,
    };
    (module, function)
}

#[test]
fn object_reads_back() {
    let (module, function) = sample(3);
    let second = {
        let mut other = function.clone();
        other.code.truncate(4);
        other.relocs.clear();
        other
    };
    let mut module = module;
    let func = module.functions.push(ir::Function::new("k2", CallConv::Kernel, Type::Void));
    let mut second = second;
    second.function.source = func;
    second.function.name = "k2".into();
    if let Some(kernel) = &mut second.kernel {
        kernel.metadata.symbol = "k2.kd".into();
    }
    let bytes = write(&module, &[function.clone(), second], &target(3)).expect("emits");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    assert_eq!(
        file.flags(),
        object::FileFlags::Elf { os_abi: raw::OsAbi(64), abi_version: 1, e_flags: raw::FileFlags(0x2c) }
    );
    let symbol = |name: &str| file.symbols().find(|s| s.name() == Ok(name)).expect("a symbol");
    assert_eq!((symbol("k").address(), symbol("k").size()), (0, 24));
    assert_eq!((symbol("k2").address(), symbol("k2.kd").address()), (256, 64));
    assert!(symbol("e").is_undefined() && symbol("e").is_global());
    assert!(file.symbols().all(|s| !matches!(s.name(), Ok("lds" | "hidden_one"))));
    let text = file.section_by_name(".text").expect(".text").data().expect("data");
    assert_eq!(text.len(), 260);
    assert!(text[24..256].chunks(4).all(|word| word == S_NOP));
    let relocations = |name: &str| -> Vec<(u64, u32, i64)> {
        let section = file.section_by_name(name).expect("a section");
        section
            .relocations()
            .map(|(offset, r)| match (r.flags(), r.target()) {
                (RelocationFlags::Elf { r_type }, RelocationTarget::Symbol(_)) => {
                    (offset, r_type.0, r.addend())
                }
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(relocations(".text"), [(8, 8, 4), (16, 9, 12)]);
    assert_eq!(relocations(".rodata"), [(16, 5, 16), (80, 5, 16)]);
    assert_eq!(relocations(".data.rel.ro"), [(0, 3, 0), (8, 3, 128 + 2)]);
    assert_eq!(file.section_by_name(".bss").expect(".bss").size(), 64);
    assert_eq!(file.section_by_name(".data").expect(".data").data(), Ok(&[5u8, 0, 0, 0][..]));
}

#[test]
fn code_of_gfx10_ends_with_lines_of_its_own() {
    let (module, function) = sample(6);
    let gfx1030 = Target::processor_by_name("gfx1030").expect("a processor of the table");
    let text = |os| {
        let target = Target { os, code_object_version: 6, ..Target::new(gfx1030) };
        let bytes = write(&module, std::slice::from_ref(&function), &target).expect("emits");
        let file = object::File::parse(&*bytes).expect("an object");
        file.section_by_name(".text").expect(".text").data().expect("data").to_vec()
    };
    // Elsewhere the driver ends it.
    let (code, alone) = (text(Os::AmdHsa), text(Os::Unknown));
    assert_eq!(code.len(), alone.len().next_multiple_of(64) + 3 * 64);
    assert!(code[alone.len()..].chunks(4).all(|word| word == code_end::S_CODE_END));
}

#[test]
fn elf_flags_state_features() {
    let flags = |name: &str, version| {
        let processor = Target::processor_by_name(name).expect("a processor of the table");
        elf_flags(&Target { code_object_version: version, ..Target::new(processor) })
    };
    assert_eq!((flags("gfx900", 3), flags("gfx902", 3), flags("gfx700", 4)), (0x2c, 0x12d, 0x22));
    assert_eq!((flags("gfx900", 4), flags("gfx902", 4), flags("gfx906", 5)), (0x22c, 0x32d, 0xe2f));
    // The version of what stands for several processors is a field of V6: objects for other systems have no such version.
    let generic =
        Target::new(Target::processor_by_name("gfx10-1-generic").expect("a processor of the table"));
    for (os, expected) in [(Os::AmdHsa, 1), (Os::Unknown, 0), (Os::AmdPal, 0), (Os::Mesa3d, 0)] {
        let flags = elf_flags(&Target { os, code_object_version: 6, ..generic });
        assert_eq!(flags >> 24, expected, "{os:?}");
    }
}

/// Runs an LLVM tool; `None` where it is not installed.
fn run(tool: &str, args: &[&str]) -> Option<(bool, String)> {
    let output = Command::new(tool).args(args).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), text.into_owned()))
}

#[test]
fn llvm_reads_and_links_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    for version in [3, 4, 5, 6] {
        let (module, function) = sample(version);
        let bytes = write(&module, &[function], &target(version)).expect("emits");
        std::fs::write(path("a.o"), bytes).expect("writable");
        let args = ["--notes", "-h", "-S", "-r", "-s", &path("a.o")];
        let Some((ok, text)) = run("llvm-readobj-22", &args) else { return };
        assert!(ok && !text.contains("warning") && !text.contains("Invalid"), "{text}");
        assert!(
            text.contains(".symbol:         k.kd") && text.contains("R_AMDGPU_GOTPCREL32_LO e 0x4"),
            "{text}"
        );
        let Some((ok, text)) = run("ld.lld-22", &["-shared", "-o", &path("a.so"), &path("a.o")]) else {
            return;
        };
        assert!(ok && text.is_empty(), "{text}");
    }
}

/// The note of a simple kernel has the bytes that llc 16 writes.
#[test]
fn v3_note_equals_llc() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let source = "target triple = \"amdgcn-amd-amdhsa\"\n\
        @e = external addrspace(1) global i32\n\
        define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %v) {\n\
        %x = load i32, ptr addrspace(1) @e\n store i32 %x, ptr addrspace(1) %p\n ret void\n}\n";
    std::fs::write(path("a.ll"), source).expect("writable");
    let (out, input) = (path("a.o"), path("a.ll"));
    let args = [
        "-mcpu=gfx900",
        "-mattr=-xnack",
        "--amdhsa-code-object-version=3",
        "-filetype=obj",
        "-o",
        &out,
        &input,
    ];
    let Some((ok, text)) = run("llc-16", &args) else { return };
    assert!(ok, "{text}");
    let llc = std::fs::read(&out).expect("an object");
    let (module, mut function) = sample(3);
    // llc counts what it uses itself; the numbers are not what is compared here.
    let theirs = object::File::parse(&*llc).expect("an ELF file");
    let note = |file: &object::File<'_>| {
        file.section_by_name(".note").expect("a note").data().expect("data").to_vec()
    };
    let their_note = note(&theirs);
    let their_metadata = Metadata::from_bytes(&their_note[20..]).expect("readable");
    if let Some(kernel) = &mut function.kernel {
        kernel.metadata.sgpr_count = their_metadata.kernels[0].sgpr_count;
        kernel.metadata.vgpr_count = their_metadata.kernels[0].vgpr_count;
    }
    let bytes = write(&module, &[function], &target(3)).expect("emits");
    let ours = object::File::parse(&*bytes).expect("an ELF file");
    assert_eq!(note(&ours), their_note);
}
