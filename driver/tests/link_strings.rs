//! Strings and constants that occur more than once in what is linked: each is there once, and whoever referred to one reads the same as before. Sizes are ld.lld's.

use emit::link::{Input, LinkOptions, Merge, link, link_relocatable};
use mir::target::Target;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, RelocationTarget};
use std::path::Path;
use std::process::Command;

/// Pointers to strings by the section's symbol, by symbols, into the middle and to constants; debug information that refers to its own and to loaded strings.
fn source(texts: [&str; 3], constant: u64, kernel: &str) -> String {
    let [one, two, three] = texts;
    format!(
        "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n\t.text\n\t.globl {kernel}\n{kernel}:\n\ts_endpgm\n\
         \t.section .rodata.str1.1,\"aMS\",@progbits,1\n.Lall:\n\t.asciz \"{one}\"\n.Lnamed:\n\t.asciz \"{two}\"\n\t.asciz \"{three}\"\n\t.asciz \"unused {kernel}\"\n\
         \t.section .rodata.str2.2,\"aMS\",@progbits,2\n\t.p2align 1\n.Lwide:\n\t.short 97\n\t.short 98\n\t.short 0\n.Lb:\n\t.short 98\n\t.short 0\n\
         \t.section .rodata.cst8,\"aM\",@progbits,8\n\t.p2align 3\n.Lconstant:\n\t.quad {constant}\n.Lseven:\n\t.quad 7\n\
         \t.data\n\t.p2align 3\n\t.globl table_{kernel}\ntable_{kernel}:\n\t.quad .Lall\n\t.quad .Lnamed\n\t.quad .Lnamed+1\n\t.quad .Lnamed+0\n\t.quad .Lseven\n\t.quad .Lb\n\
         \t.section .debug_str,\"MS\",@progbits,1\n.Linfo:\n\t.asciz \"{three}\"\n.Linfo2:\n\t.asciz \"{one}\"\n\t.section .debug_info,\"\",@progbits\n\t.long .Linfo\n\t.long .Linfo2\n"
    )
}

fn parts() -> [Vec<u8>; 2] {
    let target = Target::new(Target::processor_by_name("gfx900").expect("known"));
    let sources = [
        source(["wide world", "hello world", "x"], 5, "a"),
        source(["world", "hello world", "lo world"], 7, "b"),
    ];
    sources.map(|text| emit::assemble(&text, &target).unwrap_or_else(|e| panic!("{e:?}")))
}

fn inputs(parts: &[Vec<u8>]) -> Vec<Input<'_>> {
    parts.iter().map(|bytes| Input { name: "part.o", bytes, whole_archive: false }).collect()
}

fn parse(bytes: &[u8]) -> ElfFile64<'_, LittleEndian> {
    ElfFile64::parse(bytes).expect("an ELF file")
}

fn section(bytes: &[u8], name: &str) -> Vec<u8> {
    parse(bytes).section_by_name(name).map(|s| s.data().expect("in the file").to_vec()).unwrap_or_default()
}

/// A text up to its end.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
}

/// What the pointers of both tables and the debug information refer to in a linked object.
fn read(bytes: &[u8]) -> Vec<String> {
    let file = parse(bytes);
    let rodata = file.section_by_name(".rodata").expect("constants");
    let at = |address: u64| &rodata.data().expect("in the file")[(address - rodata.address()) as usize..];
    let mut pointers: Vec<(u64, i64)> = file
        .dynamic_relocations()
        .expect("pointers")
        .map(|(offset, reloc)| {
            assert_eq!(reloc.target(), RelocationTarget::Absolute, "relative ones");
            (offset, reloc.addend())
        })
        .collect();
    pointers.sort_unstable();
    let mut out: Vec<String> = pointers
        .iter()
        .enumerate()
        .map(|(n, &(_, address))| match n % 6 {
            4 => format!("{:?}", &at(address as u64)[..8]),
            5 => format!("{:?}", &at(address as u64)[..4]),
            _ => text(at(address as u64)),
        })
        .collect();
    let strings = section(bytes, ".debug_str");
    let info = section(bytes, ".debug_info");
    out.extend(
        info.chunks_exact(4).map(|offset| {
            text(&strings[u32::from_le_bytes(offset.try_into().expect("four bytes")) as usize..])
        }),
    );
    out
}

const TEXTS: [&str; 16] = [
    "wide world",
    "hello world",
    "ello world",
    "hello world",
    "[7, 0, 0, 0, 0, 0, 0, 0]",
    "[98, 0, 0, 0]",
    "world",
    "hello world",
    "ello world",
    "hello world",
    "[7, 0, 0, 0, 0, 0, 0, 0]",
    "[98, 0, 0, 0]",
    "x",
    "wide world",
    "lo world",
    "world",
];

/// What ld.lld makes of the parts; `None` where it is not installed.
fn lld(folder: &Path, files: &[&Path], flags: &[&str]) -> Option<Vec<u8>> {
    let out = folder.join("lld.out");
    let mut command = Command::new("ld.lld-22");
    let Ok(run) = command.args(flags).args(files).arg("-o").arg(&out).output() else {
        eprintln!("skipped: ld.lld-22 is not installed");
        return None;
    };
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(std::fs::read(out).expect("written"))
}

/// The strings of a section, sorted: their order is each linker's own.
fn strings(bytes: &[u8], name: &str) -> Vec<String> {
    let mut out: Vec<String> = section(bytes, name).split(|&b| b == 0).map(|s| format!("{s:?}")).collect();
    out.sort();
    out
}

#[test]
fn equal_strings_are_there_once() {
    let parts = parts();
    let folder = tempfile::tempdir().expect("a folder");
    let files = [folder.path().join("a.o"), folder.path().join("b.o")];
    files.iter().zip(&parts).for_each(|(file, bytes)| std::fs::write(file, bytes).expect("writable"));
    let files = [files[0].as_path(), files[1].as_path()];
    let mut sizes = Vec::new();
    for (level, merge) in [("-O0", Merge::Nothing), ("-O1", Merge::Equal), ("-O2", Merge::Tails)] {
        for gc_sections in [false, true] {
            let options = LinkOptions { merge, gc_sections, ..LinkOptions::default() };
            let ours = link(&inputs(&parts), &options).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(read(&ours), TEXTS, "{level} {gc_sections}");
            sizes.push((section(&ours, ".rodata").len(), section(&ours, ".debug_str").len()));
            let flags = ["-shared", level, if gc_sections { "--gc-sections" } else { "--no-gc-sections" }];
            let Some(theirs) = lld(folder.path(), &files, &flags) else { continue };
            assert_eq!(read(&theirs), TEXTS, "{level} {gc_sections}");
            for name in [".rodata", ".debug_str"] {
                assert_eq!(strings(&ours, name), strings(&theirs, name), "{level} {gc_sections} {name}");
            }
        }
        // Joined first.
        let options = LinkOptions { merge, ..LinkOptions::default() };
        let joined = link_relocatable(&inputs(&parts), &options).unwrap_or_else(|e| panic!("{e}"));
        let ours = link(&inputs(std::slice::from_ref(&joined)), &options).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(read(&ours), TEXTS, "{level} -r");
        let Some(theirs) = lld(folder.path(), &files, &["-r", level]) else { continue };
        for name in [".rodata.str1.1", ".rodata.str2.2", ".rodata.cst8", ".debug_str"] {
            assert_eq!(strings(&joined, name), strings(&theirs, name), "{level} {name}");
        }
        let ours = link(&inputs(std::slice::from_ref(&theirs)), &options).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(read(&ours), TEXTS, "{level} -r by ld.lld");
    }
    // Nothing, then less each time; of loaded strings those that nobody refers to go with --gc-sections.
    assert_eq!(sizes[0].1, 28);
    assert!(sizes[0].0 > sizes[2].0 && sizes[2].0 > sizes[4].0, "{sizes:?}");
    assert!(sizes[2].0 > sizes[3].0 && sizes[2].1 == sizes[3].1 && sizes[2].1 > sizes[4].1, "{sizes:?}");
}

/// A section whose last string has no end, and one that would become much larger by the alignment of its strings, stay as they are.
#[test]
fn what_has_no_entries_stays() {
    let target = Target::new(Target::processor_by_name("gfx900").expect("known"));
    let text = "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n\t.text\n\ts_endpgm\n\
                \t.section .rodata.str1.1,\"aMS\",@progbits,1\n\t.ascii \"ab\"\n\t.section .tail,\"aMS\",@progbits,1\n\t.asciz \"ab\"\n\t.asciz \"ab\"\n\
                \t.section .page,\"aMS\",@progbits,1\n\t.p2align 12\n\t.asciz \"ab\"\n\t.asciz \"ab\"\n";
    let part = emit::assemble(text, &target).unwrap_or_else(|e| panic!("{e:?}"));
    let ours =
        link(&inputs(&[part.clone(), part]), &LinkOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((section(&ours, ".rodata"), section(&ours, ".tail")), (b"abab".to_vec(), b"ab\0".to_vec()));
    assert_eq!(section(&ours, ".page").len(), 0x1000 + 6);
}
