//! Linking: the same as LLVM's linker does, and what it does not.

use emit::link::{BuildId, Input, LinkOptions, Strip, Undefined, link};
use gcnc::{CompileOptions, FileType};
use mir::abi::KernelDescriptor;
use mir::abi::metadata::Metadata;
use mir::target::Target;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol};
use std::process::Command;

const CALLER: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@g = addrspace(1) global i32 5
@p = addrspace(1) global ptr addrspace(1) @g
@h = hidden addrspace(1) global i32 7
@q = internal addrspace(1) global ptr addrspace(1) @h
@z = addrspace(1) global [10 x i32] zeroinitializer
@c = addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
declare i32 @ext(i32)
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  %a = load i32, ptr addrspace(1) @g
  %pp = load ptr addrspace(1), ptr addrspace(1) @q
  %b = load i32, ptr addrspace(1) %pp
  %x = sub i32 %b, %a
  %e = call i32 @ext(i32 %x)
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %n = and i32 %i, 3
  %cp = getelementptr i32, ptr addrspace(4) @c, i32 %n
  %cv = load i32, ptr addrspace(4) %cp
  %s = add i32 %e, %cv
  %op = getelementptr i32, ptr addrspace(1) %o, i32 %i
  store i32 %s, ptr addrspace(1) %op
  store i32 %s, ptr addrspace(1) @z
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
"#;

const CALLEE: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define i32 @ext(i32 %a) noinline {
  %b = mul i32 %a, 30
  %buf = alloca [8 x i32], addrspace(5)
  %p = getelementptr i32, ptr addrspace(5) %buf, i32 %a
  store volatile i32 %b, ptr addrspace(5) %p
  %c = load volatile i32, ptr addrspace(5) %p
  call void asm sideeffect "v_mov_b32 v77, 0", "~{v77}"()
  ret i32 %c
}
define amdgpu_kernel void @k2(ptr addrspace(1) %o) {
  store i32 1, ptr addrspace(1) %o
  ret void
}
"#;

fn object(ir: &str, version: u8, cpu: &str) -> Vec<u8> {
    let options = CompileOptions {
        cpu: cpu.into(),
        file_type: FileType::Obj,
        code_object_version: Some(version),
        ..CompileOptions::default()
    };
    gcnc::compile(ir.as_bytes(), "test.ll", &options).unwrap_or_else(|e| panic!("{e:?}")).bytes
}

fn input<'a>(name: &'a str, bytes: &'a [u8]) -> Input<'a> {
    Input { name, bytes, whole_archive: false }
}

fn linked(inputs: &[&[u8]], options: &LinkOptions) -> Vec<u8> {
    let names: Vec<String> = (0..inputs.len()).map(|i| format!("{i}.o")).collect();
    let inputs: Vec<Input<'_>> = names.iter().zip(inputs).map(|(name, bytes)| input(name, bytes)).collect();
    link(&inputs, options).unwrap_or_else(|e| panic!("{e}"))
}

fn refusal(inputs: &[&[u8]]) -> String {
    let names: Vec<String> = (0..inputs.len()).map(|i| format!("{i}.o")).collect();
    let inputs: Vec<Input<'_>> = names.iter().zip(inputs).map(|(name, bytes)| input(name, bytes)).collect();
    link(&inputs, &LinkOptions::default()).expect_err("refused").to_string()
}

fn parse(bytes: &[u8]) -> ElfFile64<'_, LittleEndian> {
    ElfFile64::parse(bytes).expect("an ELF file")
}

/// Descriptor of a kernel of an object.
fn descriptor(bytes: &[u8], name: &str) -> KernelDescriptor {
    let file = parse(bytes);
    let symbol = file.symbols().find(|s| s.name() == Ok(&format!("{name}.kd"))).expect("the descriptor");
    let section = file.section_by_index(symbol.section_index().expect("defined")).expect("exists");
    let data = section.data_range(symbol.address(), 64).expect("in the file").expect("whole");
    KernelDescriptor::unpack(data.try_into().expect("64 bytes")).expect("valid")
}

fn metadata(bytes: &[u8]) -> Metadata {
    let file = parse(bytes);
    let notes: Vec<Metadata> = file
        .elf_program_headers()
        .iter()
        .filter_map(|segment| segment.notes(LittleEndian, bytes).expect("readable"))
        .flat_map(|mut notes| std::iter::from_fn(move || notes.next().expect("readable")))
        .filter(|note| note.name() == b"AMDGPU")
        .map(|note| Metadata::from_bytes(note.desc()).expect("metadata"))
        .collect();
    assert_eq!(notes.len(), 1, "one note for all kernels");
    notes.into_iter().next().expect("one")
}

/// Dynamic symbols, relocations and the contents of loaded sections, by names and offsets that do not depend on the layout.
fn summary(bytes: &[u8]) -> Vec<String> {
    let file = parse(bytes);
    let mut lines = Vec::new();
    for symbol in file.dynamic_symbols().chain(file.symbols()) {
        let section = symbol.section_index().map(|s| file.section_by_index(s).expect("exists"));
        // A place in the file's headers is in front of the first section, to which it counts.
        let place = section
            .filter(|s| s.address() <= symbol.address())
            .map(|s| (s.name().expect("text").to_owned(), symbol.address() - s.address()));
        lines.push(format!(
            "{:?} {place:?} {} {:?} {:?}",
            symbol.name(),
            symbol.size(),
            symbol.flags(),
            symbol.scope()
        ));
    }
    let home = |address: u64| {
        let inside = |s: &object::read::elf::ElfSection64<'_, '_, LittleEndian>| {
            s.address() != 0 && s.address() <= address && address < s.address() + s.size()
        };
        file.sections()
            .find(inside)
            .map(|s| format!("{}+{:#x}", s.name().expect("text"), address - s.address()))
    };
    let symbols = file.dynamic_symbol_table().expect("dynamic symbols");
    for (offset, relocation) in file.dynamic_relocations().expect("dynamic relocations") {
        let target = match relocation.target() {
            object::RelocationTarget::Symbol(index) => {
                use object::ObjectSymbolTable;
                symbols.symbol_by_index(index).expect("exists").name().expect("text").to_owned()
            }
            _ => format!("{:?}", home(relocation.addend() as u64)),
        };
        // The order of table entries is each linker's own.
        let place =
            home(offset).map(|place| if place.starts_with(".got") { ".got".to_owned() } else { place });
        lines.push(format!("{place:?} {:?} {target}", relocation.flags()));
    }
    for segment in file.elf_program_headers() {
        lines.push(format!(
            "{:?} {:?} {}",
            segment.p_type(LittleEndian),
            segment.p_flags(LittleEndian),
            segment.p_align(LittleEndian)
        ));
    }
    lines.sort();
    lines
}

/// LLVM's linker on the same objects; nothing where it is not installed.
fn lld(inputs: &[&[u8]], flags: &[&str]) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("ld.lld-22");
    command.arg("-shared").args(flags).arg("-o").arg(folder.path().join("out"));
    for (i, bytes) in inputs.iter().enumerate() {
        let path = folder.path().join(format!("{i}.o"));
        std::fs::write(&path, bytes).expect("written");
        command.arg(path);
    }
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(std::fs::read(folder.path().join("out")).expect("written"))
        }
        Err(_) => {
            eprintln!("skipped: ld.lld-22 is not installed");
            None
        }
    }
}

#[test]
fn it_is_what_llvms_linker_makes() {
    for version in 3..=6 {
        let (caller, callee) = (object(CALLER, version, "gfx900"), object(CALLEE, version, "gfx900"));
        let symbolic = LinkOptions { symbolic: true, ..LinkOptions::default() };
        let sections = LinkOptions { gc_sections: true, ..LinkOptions::default() };
        let named =
            LinkOptions { soname: Some("x.so".into()), build_id: BuildId::Hash(8), ..LinkOptions::default() };
        let bare = LinkOptions { strip: Strip::All, ..LinkOptions::default() };
        let cases: [(LinkOptions, &[&str]); 5] = [
            (LinkOptions::default(), &[]),
            (symbolic, &["-Bsymbolic"]),
            (sections, &["--gc-sections"]),
            (named, &["-soname=x.so", "--build-id"]),
            (bare, &["-s"]),
        ];
        for (options, flags) in cases {
            let inputs: [&[u8]; 2] = [&caller, &callee];
            let ours = linked(&inputs, &options);
            let Some(theirs) = lld(&inputs, flags) else { return };
            assert_eq!(summary(&ours), summary(&theirs), "V{version} {flags:?}");
        }
    }
}

/// Names that the linker defines stand in the section that they bound, or with the header that the object begins with.
#[test]
fn names_of_the_linker_are_what_llvms_linker_makes_of_them() {
    let text = "\t.data\n\t.globl a\na:\n\t.quad __init_array_start\n\t.quad __fini_array_end\n\t.quad __start_foo\n\t.quad __ehdr_start
\t.quad _GLOBAL_OFFSET_TABLE_\n\t.section foo,\"aw\"\n\t.quad 1\n\t.section .init_array,\"aw\",@init_array\n\t.quad 1\n";
    let target = Target::new(Target::processor_by_name("gfx900").expect("known"));
    let object = emit::assemble(text, &target).expect("assembles");
    let ours = linked(&[&object], &LinkOptions::default());
    let names: Vec<_> = parse(&ours).dynamic_symbols().map(|s| s.name().expect("text").to_owned()).collect();
    assert!(names.contains(&"__start_foo".to_owned()), "{names:?}");
    let Some(theirs) = lld(&[&object], &[]) else { return };
    assert_eq!(summary(&ours), summary(&theirs));
}

/// Common symbols stand in front of other zeroed memory, whose segment is in the file where its alignment asks for; the last entry of the table of frames
/// is one without a length; a hidden name that nothing refers to needs no definition.
#[test]
fn common_symbols_and_frames_are_where_llvms_linker_puts_them() {
    let text = "\t.text\n\t.globl f\n\t.protected f\n\t.type f,@function\nf:\n\ts_nop 0\n\ts_endpgm\n\t.size f, 8
\t.section .eh_frame,\"a\",@progbits\n\t.long 16, 0, 0x00527a01, 0x10040401, 0x1b\n\t.long 16, 24, f-., 8, 0
\t.bss\n\t.p2align 5\n\t.globl z\nz:\n\t.zero 12\n\t.comm c,8,8\n\t.comm d,4,4\n\t.hidden nobody\n\t.globl nobody\n";
    let target = Target::new(Target::processor_by_name("gfx900").expect("known"));
    let object = emit::assemble(text, &target).expect("assembles");
    let ours = linked(&[&object], &LinkOptions::default());
    let frames = parse(&ours).section_by_name(".eh_frame").expect("kept").data().expect("there").to_vec();
    assert!(frames.len() > 8 && frames.ends_with(&[0; 4]), "{frames:x?}");
    let Some(theirs) = lld(&[&object], &[]) else { return };
    assert_eq!(summary(&ours), summary(&theirs));
    for segment in parse(&ours).elf_program_headers() {
        let place = |value: u64| value % segment.p_align(LittleEndian).max(1);
        let (offset, address) = (segment.p_offset(LittleEndian), segment.p_vaddr(LittleEndian));
        assert_eq!(place(offset), place(address), "{:?}", segment.p_type(LittleEndian));
    }
    let of_lld = parse(&theirs).section_by_name(".eh_frame").expect("kept").size();
    assert_eq!(frames.len() as u64, of_lld);
}

#[test]
fn kernels_get_what_callees_of_other_objects_take() {
    for version in 3..=6 {
        let bytes = linked(
            &[&object(CALLER, version, "gfx803"), &object(CALLEE, version, "gfx803")],
            &LinkOptions::default(),
        );
        let kernel = descriptor(&bytes, "k");
        // v77 in granules of four.
        assert_eq!(kernel.vgpr_blocks, 78u32.div_ceil(4) - 1);
        let metadata = metadata(&bytes);
        let names: Vec<&str> = metadata.kernels.iter().map(|k| k.name.as_str()).collect();
        assert_eq!(names, ["k", "k2"]);
        let k = &metadata.kernels[0];
        assert_eq!((k.vgpr_count, k.private_segment_fixed_size), (78, kernel.private_segment_fixed_size));
        assert!((32..256).contains(&k.private_segment_fixed_size), "{}", k.private_segment_fixed_size);
        assert_eq!(k.uses_dynamic_stack, (version >= 5).then_some(false));
        assert_eq!(kernel.uses_dynamic_stack, 0);
        assert!(descriptor(&bytes, "k2").vgpr_blocks < 2);
    }
}

/// A definition that gives way to another's is called as one of which nothing is known: with all inputs, and its stack is open until
/// objects are linked.
#[test]
fn what_gives_way_to_another_definition_is_called_as_unknown() {
    let module = |linkage: &str, body: &str| {
        format!(
            r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workgroup.id.z()
define {linkage} i32 @f() noinline {{
{body}
}}
"#
        )
    };
    let kernel = "define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %x = call i32 @f()
  store i32 %x, ptr addrspace(1) %p
  ret void
}";
    let theirs = object(
        &module(
            "",
            "call void asm sideeffect \"v_mov_b32 v77, 0\", \"~{v77}\"()
  %z = call i32 @llvm.amdgcn.workgroup.id.z()
  ret i32 %z",
        ),
        6,
        "gfx900",
    );
    for linkage in ["weak", "linkonce", "weak_odr", "linkonce_odr"] {
        let ours = object(&(module(linkage, "  ret i32 3") + kernel), 6, "gfx900");
        let alone = descriptor(&ours, "k");
        assert_eq!((alone.uses_dynamic_stack, alone.workgroup_id_z), (1, 1), "{linkage}");
        let linked = linked(&[&ours, &theirs], &LinkOptions::default());
        let kernel = descriptor(&linked, "k");
        assert_eq!((kernel.vgpr_blocks, kernel.uses_dynamic_stack), (78u32.div_ceil(4) - 1, 0), "{linkage}");
    }
    let exact = object(&(module("", "  ret i32 3") + kernel), 6, "gfx900");
    let exact = descriptor(&exact, "k");
    assert_eq!((exact.uses_dynamic_stack, exact.workgroup_id_z), (0, 0));
}

/// What the simulator computes with all its checks on.
#[test]
fn it_runs() {
    let bytes =
        linked(&[&object(CALLEE, 6, "gfx900"), &object(CALLER, 6, "gfx900")], &LinkOptions::default());
    let folder = tempfile::tempdir().expect("a folder");
    let (code, dispatch, out) =
        (folder.path().join("k.hsaco"), folder.path().join("d.json"), folder.path().join("out"));
    std::fs::write(&code, bytes).expect("written");
    let text = format!(
        r#"{{"kernel": "k", "grid": [64,1,1], "group": [64,1,1], "args": [{{"buffer": 256, "fill": "zero", "out": {:?}}}]}}"#,
        out
    );
    std::fs::write(&dispatch, text).expect("written");
    let run = Command::new(env!("CARGO_BIN_EXE_gcnc"))
        .args(["run", "-mcpu=gfx900", "--dispatch"])
        .args([&dispatch, &code])
        .output()
        .expect("runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let words: Vec<u32> = std::fs::read(out)
        .expect("written")
        .chunks(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect();
    // (7 - 5) * 30 + 1..4.
    let wanted: Vec<u32> = (0..64).map(|lane| 61 + lane % 4).collect();
    assert_eq!(words, wanted);
}

#[test]
fn what_cannot_be_linked_is_refused_by_name() {
    let (caller, callee) = (object(CALLER, 6, "gfx900"), object(CALLEE, 6, "gfx900"));
    assert_eq!(refusal(&[&caller]), "undefined symbol ext (used by 0.o)");
    assert_eq!(refusal(&[&callee, &callee]), "symbol ext is defined twice: in 0.o and in 1.o");
    assert_eq!(
        refusal(&[&callee, &object(CALLER, 5, "gfx900")]),
        "0.o is for code object version V6, 1.o for V5"
    );
    assert_eq!(
        refusal(&[&callee, &object(CALLER, 6, "gfx803")]),
        "0.o is for processor gfx900, 1.o for gfx803"
    );
    assert_eq!(refusal(&[b"nothing"]), "0.o: neither an ELF object nor an archive of them");
    assert_eq!(refusal(&[]), "no object to link");
    let linked = linked(&[&callee], &LinkOptions::default());
    assert_eq!(refusal(&[&linked]), "0.o: linked already; relocatable objects can be linked");
    let allowed = LinkOptions { undefined: Undefined::Allow, ..LinkOptions::default() };
    let open = link(&[input("a.o", &caller)], &allowed).expect("linked");
    assert!(parse(&open).dynamic_symbols().any(|s| s.name() == Ok("ext") && s.is_undefined()));
}

/// An archive as `ar` writes it, without a table of symbols.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, data) in members {
        let name = format!("{name}/");
        bytes.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).bytes());
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

/// Only members that something needs are taken, in any order of files.
#[test]
fn archives_give_what_is_needed() {
    let (caller, callee) = (object(CALLER, 6, "gfx900"), object(CALLEE, 6, "gfx900"));
    let unused =
        object("target triple = \"amdgcn-amd-amdhsa\"\n@unused = addrspace(1) global i32 1", 6, "gfx900");
    let library = archive(&[("unused.o", &unused), ("callee.o", &callee)]);
    let has_unused = |bytes: &[u8]| parse(bytes).dynamic_symbols().any(|s| s.name() == Ok("unused"));
    for inputs in [[&library, &caller], [&caller, &library]] {
        let bytes = linked(&[inputs[0], inputs[1]], &LinkOptions::default());
        assert!(!has_unused(&bytes));
        assert_eq!(metadata(&bytes).kernels.len(), 2);
    }
    let whole = Input { whole_archive: true, ..input("library.a", &library) };
    let bytes = link(&[input("caller.o", &caller), whole], &LinkOptions::default()).expect("linked");
    assert!(has_unused(&bytes));
    let broken = archive(&[("bad.o", b"no object")]);
    let error = link(&[input("caller.o", &caller), input("lib.a", &broken)], &LinkOptions::default());
    assert_eq!(
        error.expect_err("refused").to_string(),
        "lib.a(bad.o): neither an ELF object nor an archive of them"
    );
}

/// Cut and changed objects give an error or an object, never a panic.
#[test]
fn damaged_objects_are_refused() {
    let (caller, callee) = (object(CALLER, 6, "gfx900"), object(CALLEE, 6, "gfx900"));
    let mut random = fastrand::Rng::with_seed(7);
    let mut refused = 0;
    for _ in 0..4000 {
        let mut damaged = caller.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..damaged.len());
            damaged[at] = random.u8(..);
        }
        if random.u8(..4) == 0 {
            damaged.truncate(random.usize(..damaged.len()));
        }
        refused +=
            usize::from(link(&[input("a", &damaged), input("b", &callee)], &LinkOptions::default()).is_err());
    }
    assert!(refused > 400, "{refused}");
}
