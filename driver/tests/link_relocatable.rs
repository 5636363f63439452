//! `gcnc link -r`: the same as ld.lld does, and a last link that comes to the same as one of the parts.

#[allow(dead_code, reason = "each test file uses a part of it")]
mod common;

use emit::link::{Input, LinkOptions, link, link_relocatable};
use object::read::elf::{ElfFile64, SectionHeader as _};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Calls, data with addresses, an own variable and an own function, LDS, a COMDAT function, memory without contents.
const FIRST: &str = r#"
$shared = comdat any
@table = addrspace(1) global [2 x ptr addrspace(1)] [ptr addrspace(1) @value, ptr addrspace(1) @zeros], align 16
@value = internal addrspace(1) global i32 5
@zeros = addrspace(1) global [9 x i32] zeroinitializer
declare i32 @ext(i32)
define weak_odr i32 @shared(i32 %x) noinline comdat {
  %y = mul i32 %x, 3
  ret i32 %y
}
define internal i32 @own(i32 %x) noinline {
  %y = xor i32 %x, 9
  ret i32 %y
}
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %v = load i32, ptr addrspace(1) @value
  %a = call i32 @ext(i32 %v)
  %b = call i32 @own(i32 %a)
  %c = call i32 @shared(i32 %b)
  store i32 %c, ptr addrspace(1) %out
  ret void
}
"#;

const SECOND: &str = r#"
$shared = comdat any
@value = internal addrspace(1) global i32 70
@constants = addrspace(4) constant [3 x i32] [i32 1, i32 2, i32 3]
@more = addrspace(1) global ptr addrspace(1) @value
define weak_odr i32 @shared(i32 %x) noinline comdat {
  %y = mul i32 %x, 3
  ret i32 %y
}
define internal i32 @own(i32 %x) noinline {
  %y = add i32 %x, 1000
  ret i32 %y
}
define i32 @ext(i32 %x) noinline {
  %v = load i32, ptr addrspace(1) @value
  %s = add i32 %x, %v
  %o = call i32 @own(i32 %s)
  %c = call i32 @shared(i32 %o)
  call void asm sideeffect "v_mov_b32 v77, 0", "~{v77}"()
  ret i32 %c
}
define amdgpu_kernel void @k2(ptr addrspace(1) %out) {
  store i32 1, ptr addrspace(1) %out
  ret void
}
"#;

/// What [`FIRST`]'s kernel stores.
const RESULT: u32 = (((5 + 70 + 1000) * 3) ^ 9) * 3;

fn parse(bytes: &[u8]) -> ElfFile64<'_, LittleEndian> {
    ElfFile64::parse(bytes).expect("an ELF file")
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let inputs: Vec<Input<'_>> =
        parts.iter().map(|bytes| Input { name: "part", bytes, whole_archive: false }).collect();
    link_relocatable(&inputs, &LinkOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn linked(parts: &[&[u8]]) -> Vec<u8> {
    let inputs: Vec<Input<'_>> =
        parts.iter().map(|bytes| Input { name: "part", bytes, whole_archive: false }).collect();
    link(&inputs, &LinkOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn parts(triple: &str, cpu: &str) -> [Vec<u8>; 2] {
    [FIRST, SECOND].map(|source| common::compile(source, triple, cpu).expect("compiles"))
}

/// Sections, symbols and relocations: what is referred to by section and offset, since both linkers number as they like.
fn facts(bytes: &[u8]) -> Vec<String> {
    let file = parse(bytes);
    let mut out = vec![format!(
        "header {:#x} {} {}",
        file.elf_header().e_flags.get(LittleEndian).0,
        file.elf_header().e_ident.os_abi.0,
        file.elf_header().e_ident.abi_version
    )];
    let name_of = |index| file.section_by_index(index).expect("exists").name().expect("text").to_owned();
    let place = |symbol: &object::read::elf::ElfSymbol64<'_, '_, LittleEndian>| match symbol.section_index() {
        Some(section) => format!("{}+{:#x}", name_of(section), symbol.address()),
        None => {
            let raw = symbol.elf_symbol();
            format!("{:#x} {:#x}", raw.st_shndx.get(LittleEndian).0, raw.st_value.get(LittleEndian))
        }
    };
    for section in file.sections() {
        let name = section.name().expect("text");
        // Tables of the file, what names the linker, and what only gcnc knows to join.
        if [".symtab", ".strtab", ".shstrtab", ".comment", ".gcnc.resources", ".note.GNU-stack"]
            .contains(&name)
            || name.starts_with(".rel")
        {
            continue;
        }
        let header = section.elf_section_header();
        let kind = header.sh_type(LittleEndian).0;
        let data =
            if kind == object::elf::SHT_GROUP.0 { &[][..] } else { section.data().expect("in the file") };
        let flags = header.sh_flags(LittleEndian).0;
        // Gaps of code are `s_nop` here and zeros there.
        let nop = 0xbf80_0000u32.to_le_bytes();
        let data: Vec<&[u8]> =
            data.chunks(4).map(|word| if word == nop { &[0; 4][..] } else { word }).collect();
        out.push(format!(
            "section {name} {kind:#x} {flags:#x} {} {} {data:x?}",
            section.size(),
            section.align()
        ));
        for (offset, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let symbol = file.symbol_by_index(index).expect("exists");
            let to = if symbol.is_global() {
                symbol.name().expect("text").to_owned()
            } else {
                let section = name_of(symbol.section_index().expect("defined"));
                format!("{section}+{:#x}", symbol.address().wrapping_add_signed(relocation.addend()))
            };
            let addend = if symbol.is_global() { relocation.addend() } else { 0 };
            out.push(format!("relocation {name}+{offset:#x} {} {to} {addend}", r_type.0));
        }
    }
    for symbol in file.symbols() {
        let raw = symbol.elf_symbol();
        let name = symbol.name().expect("text");
        if raw.st_type() == object::elf::STT_SECTION || name.is_empty() {
            continue;
        }
        let (binding, kind) = (raw.st_bind(), raw.st_type());
        let visibility = raw.st_visibility();
        out.push(format!(
            "symbol {name} {} {} {binding:?} {kind:?} {visibility:?}",
            place(&symbol),
            symbol.size()
        ));
    }
    out.sort();
    out
}

/// What `k` stores when a linked object runs.
fn result(bytes: &[u8]) -> u32 {
    let object = sim::CodeObject::load(bytes).unwrap_or_else(|report| panic!("{report}"));
    let mut memory = sim::Memory::new();
    let out = memory.add_buffer("out", vec![0; 4]);
    let dispatch = sim::Dispatch {
        kernel: "k".to_owned(),
        grid: [64, 1, 1],
        group: [64, 1, 1],
        args: vec![sim::Arg::Buffer(out)],
        ..sim::Dispatch::default()
    };
    sim::run(&object, &mut memory, &dispatch, &sim::Config::default())
        .unwrap_or_else(|report| panic!("{report}"));
    u32::from_le_bytes(memory.bytes(out).try_into().expect("four bytes"))
}

/// What ld.lld joins files to; `None` where it is not installed.
fn joined_by_lld(files: &[PathBuf], out: &Path) -> Option<Vec<u8>> {
    let Ok(run) = Command::new("ld.lld-22").arg("-r").args(files).arg("-o").arg(out).output() else {
        eprintln!("skipped: ld.lld-22 is needed");
        return None;
    };
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(std::fs::read(out).expect("written above"))
}

/// What the metadata says of each kernel.
fn counts(bytes: &[u8]) -> Vec<String> {
    let object = sim::CodeObject::load(bytes).unwrap_or_else(|report| panic!("{report}"));
    object.kernels().iter().map(|kernel| format!("{:?}", kernel.metadata)).collect()
}

#[test]
fn joined_as_by_lld() {
    let folder = tempfile::tempdir().expect("a folder");
    // ld.lld does not join objects of systems whose fields hold addends.
    for (triple, cpu) in [("amdgcn-amd-amdhsa", "gfx900"), ("amdgcn-amd-amdhsa", "gfx803")] {
        let parts = parts(triple, cpu);
        let paths = ["a.o", "b.o", "ours.o", "theirs.o"].map(|name| folder.path().join(name));
        for (path, bytes) in paths.iter().zip(&parts) {
            std::fs::write(path, bytes).expect("written");
        }
        let ours = joined(&[&parts[0], &parts[1]]);
        let Some(theirs) = joined_by_lld(&paths[..2], &paths[3]) else { return };
        let (ours_facts, theirs_facts) = (facts(&ours), facts(&theirs));
        for fact in &ours_facts {
            assert!(theirs_facts.contains(fact), "{triple} {cpu}: only ours: {fact}\n{theirs_facts:#?}");
        }
        for fact in &theirs_facts {
            assert!(ours_facts.contains(fact), "{triple} {cpu}: only ld.lld's: {fact}\n{ours_facts:#?}");
        }
        // Their tools read it without a word.
        std::fs::write(&paths[2], &ours).expect("written");
        let read = Command::new("llvm-readelf-22").args(["-aW", "--section-groups"]).arg(&paths[2]).output();
        let read = read.expect("llvm-readelf-22 runs");
        assert!(read.status.success() && read.stderr.is_empty(), "{}", String::from_utf8_lossy(&read.stderr));
    }
}

#[test]
fn the_last_link_comes_to_the_same() {
    for cpu in ["gfx701", "gfx803", "gfx906"] {
        let parts = parts("amdgcn-amd-amdhsa", cpu);
        let whole = linked(&[&parts[0], &parts[1]]);
        let ours = joined(&[&parts[0], &parts[1]]);
        let in_steps = linked(&[&ours]);
        assert_eq!((result(&whole), result(&in_steps)), (RESULT, RESULT), "{cpu}");
        // Kernels count the registers of what they call.
        assert_eq!(counts(&whole), counts(&in_steps), "{cpu}");
        // Joined alone and together, once and again.
        assert_eq!(facts(&joined(&[&ours])), facts(&ours));
        assert_eq!(facts(&joined(&[&joined(&[&parts[0]]), &joined(&[&parts[1]])])), facts(&ours));
    }
}

/// It puts what functions take behind each other, list by list.
#[test]
fn what_lld_joined_is_linked_as_its_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let parts = parts("amdgcn-amd-amdhsa", "gfx900");
    let paths = ["a.o", "b.o", "joined.o"].map(|name| folder.path().join(name));
    for (path, bytes) in paths.iter().zip(&parts) {
        std::fs::write(path, bytes).expect("written");
    }
    let Some(theirs) = joined_by_lld(&paths[..2], &paths[2]) else { return };
    let whole = linked(&[&parts[0], &parts[1]]);
    let in_steps = linked(&[&theirs]);
    assert_eq!((result(&whole), result(&in_steps)), (RESULT, RESULT));
    assert_eq!(counts(&whole), counts(&in_steps));
    // Joined once more, they are one list.
    let again = joined(&[&theirs]);
    assert_eq!(counts(&whole), counts(&linked(&[&again])));
}

/// Addends are in the fields. Joined in one step and in two, all relocations are there and refer to the same places.
#[test]
fn other_systems_are_joined() {
    for (triple, cpu) in [("amdgcn-mesa-mesa3d", "gfx803"), ("amdgcn--amdpal", "gfx900")] {
        let parts = parts(triple, cpu);
        let ours = joined(&[&parts[0], &parts[1]]);
        assert_eq!(facts(&joined(&[&joined(&[&parts[0]]), &joined(&[&parts[1]])])), facts(&ours));
        let relocations =
            |bytes: &[u8]| facts(bytes).iter().filter(|fact| fact.starts_with("relocation")).count();
        // The second object's copy of the function that both have is left out, with its relocations, of which it has none.
        assert_eq!(relocations(&ours), relocations(&parts[0]) + relocations(&parts[1]), "{triple}");
        assert!(relocations(&ours) > 10);
    }
}

#[test]
fn what_only_has_a_size_stays_so() {
    let target =
        mir::target::Target::new(mir::target::Target::processor_by_name("gfx900").expect("a processor"));
    let object = |text: &str| emit::assemble(text, &target).unwrap_or_else(|errors| panic!("{errors:?}"));
    let first = object(
        ".comm c, 8, 2\n.globl l\n.amdgpu_lds l, 64, 16\n.weak w\n.long w@abs32@lo, l@abs32@lo\n.hidden h\n.globl h\n.set h, 5\n\
         .section .a,\"a\",@progbits\n.byte 1\n.section .m,\"aMS\",@progbits,1\n.asciz \"x\"\n.section .e,\"e\",@progbits\n.byte 7\n.section .r,\"a\",@progbits\n\
         .quad 0\n.reloc 0, R_AMDGPU_ABS64, 12\n",
    );
    let second = object(
        ".comm c, 16, 3\n.globl l\n.amdgpu_lds l, 32, 32\nlocal: .long l@abs32@lo, c@abs32@lo, local@rel32@lo\n\
         .section .a,\"a\",@nobits\n.zero 3\n.section .m,\"aM\",@progbits,4\n.long 1\n.section .e,\"e\",@progbits\n.byte 8\n",
    );
    let bytes = joined(&[&first, &second]);
    let file = parse(&bytes);
    let data = |name: &str| file.section_by_name(name).expect(name).data().expect("in the file").to_vec();
    assert_eq!(
        (data(".a"), data(".e"), data(".m")),
        (vec![1, 0, 0, 0], vec![7, 8], vec![b'x', 0, 1, 0, 0, 0])
    );
    let facts = facts(&bytes);
    for wanted in [
        "section .m 0x1 0x2 6 1",
        "symbol c 0xfff2 0x8 16",
        "symbol h 0xfff1 0x5 ",
        "relocation .text+0x10 10 .text+0x8 0",
    ] {
        let found = facts.iter().filter(|fact| fact.starts_with(wanted)).count();
        assert_eq!(found, 1, "{wanted}: {facts:#?}");
    }
    let absent = file.section_by_name(".r").expect("a section").relocations().next().expect("a relocation").1;
    assert_eq!((absent.target(), absent.addend()), (RelocationTarget::Absolute, 12));
    let lds = file.symbols().find(|symbol| symbol.name() == Ok("l")).expect("the variable");
    let raw = lds.elf_symbol();
    assert_eq!((raw.st_shndx.get(LittleEndian).0, lds.address(), lds.size()), (0xff00, 32, 64));
    // What the last link leaves out takes nothing with it.
    let excluded = object(".section .x,\"e\",@progbits\n.byte 1\n");
    let kept = object(".section .x,\"a\",@progbits\n.globl x\nx: .byte 2\n");
    let both = joined(&[&excluded, &kept]);
    let last = linked(&[&both]);
    assert_eq!(parse(&last).section_by_name(".x").expect("a section").data(), Ok(&[2][..]));
    // A file is not padded to what a section asks for in memory; names of the linker's tables are its own.
    let aligned = joined(&[&object(".data\n.p2align 31\n.globl d\nd: .byte 1\n")]);
    assert!(
        aligned.len() < 8192
            && parse(&aligned).section_by_name(".data").expect("a section").align() == 1 << 31
    );
    let named = object(".section .shstrtab,\"a\",@progbits\n.byte 1\n");
    let refused =
        link(&[Input { name: "part", bytes: &named, whole_archive: false }], &LinkOptions::default());
    assert!(refused.expect_err("refused").to_string().contains("a table of the linker's"));
    // A name that both define, and objects for different processors.
    let twice = object(".globl f\nf: s_endpgm\n");
    let input = |bytes| Input { name: "part", bytes, whole_archive: false };
    let refused = link_relocatable(&[input(&twice), input(&twice)], &LinkOptions::default());
    assert!(refused.expect_err("refused").to_string().contains("f is defined twice"));
}
