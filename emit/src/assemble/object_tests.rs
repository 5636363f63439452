//! Sections, groups, symbols and relocations of objects: values of llvm-mc 22.

use super::{Options, assemble, assemble_with};
use mir::target::Target;
use object::elf as raw;
use object::read::elf::{ElfFile64, SectionHeader, Sym};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};

const E: Endianness = Endianness::Little;

fn object_of(text: &str) -> Vec<u8> {
    let target = Target::new(Target::processor_by_name("gfx900").expect("a processor of the table"));
    assemble(text, &target).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"))
}

fn refused(text: &str) -> String {
    let target = Target::new(Target::processor_by_name("gfx900").expect("a processor of the table"));
    assemble(text, &target).expect_err(text)[0].message.clone()
}

/// Name, flags, entry size, linked section and size of every section that the text makes and that has a name.
fn sections(bytes: &[u8]) -> Vec<(String, u64, u64, u32, u64)> {
    let file = ElfFile64::<Endianness>::parse(bytes).expect("an ELF file");
    let written_last = [".symtab", ".strtab", ".shstrtab"];
    let of = |section: object::read::elf::ElfSection64<'_, '_, Endianness>| {
        let name = section.name().expect("a name").to_owned();
        let header = section.elf_section_header();
        let known = name.starts_with(".rel") || name == ".group" || written_last.contains(&&*name);
        let link = header.sh_link(E);
        (!known).then(|| (name, header.sh_flags(E).0, header.sh_entsize(E), link, header.sh_size(E)))
    };
    file.sections().filter_map(of).collect()
}

/// Each group: whether it is COMDAT, the name and section of its signature, the names of its members.
fn groups(bytes: &[u8]) -> Vec<(bool, String, u16, Vec<String>)> {
    let file = ElfFile64::<Endianness>::parse(bytes).expect("an ELF file");
    let table = file.elf_section_table();
    let symbols = file.elf_symbol_table();
    let mut all = Vec::new();
    for header in table.iter() {
        let Some((flags, members)) = header.group(E, bytes).expect("readable") else { continue };
        let index = object::SymbolIndex(header.sh_info(E) as usize);
        let signature = symbols.symbol(index).expect("a symbol");
        let name = String::from_utf8_lossy(symbols.symbol_name(E, signature).expect("a name")).into_owned();
        let section = |index: u32| table.section(object::SectionIndex(index as usize)).expect("a section");
        let names = members.iter().map(|member| {
            let member = section(member.get(E));
            assert!(member.sh_flags(E).contains(raw::SHF_GROUP));
            String::from_utf8_lossy(table.section_name(E, member).expect("a name")).into_owned()
        });
        all.push((flags.contains(raw::GRP_COMDAT), name, signature.st_shndx(E).0, names.collect()));
    }
    all
}

/// Relocations of a section: offset, name of the symbol or of the section that it stands for, addend.
fn relocations(bytes: &[u8], name: &str) -> Vec<(u64, String, i64)> {
    let file = object::File::parse(bytes).expect("an ELF file");
    let section = file.section_by_name(name).expect("the section");
    let of = |(offset, relocation): (u64, object::Relocation)| {
        let object::RelocationTarget::Symbol(index) = relocation.target() else { panic!("{relocation:?}") };
        let symbol = file.symbol_by_index(index).expect("a symbol");
        let name = match symbol.section_index() {
            Some(index) if symbol.kind() == object::SymbolKind::Section => {
                file.section_by_index(index).expect("a section").name().expect("a name").to_owned()
            }
            _ => symbol.name().expect("a name").to_owned(),
        };
        (offset, name, relocation.addend())
    };
    section.relocations().map(of).collect()
}

/// Name, section and value of every named symbol.
fn symbols(bytes: &[u8]) -> Vec<(String, u16, u64)> {
    let file = ElfFile64::<Endianness>::parse(bytes).expect("an ELF file");
    let named = file.symbols().filter(|symbol| symbol.name().is_ok_and(|name| !name.is_empty()));
    let of = |symbol: object::read::elf::ElfSymbol64<'_, '_, Endianness>| {
        let raw = symbol.elf_symbol();
        (symbol.name().expect("a name").to_owned(), raw.st_shndx(E).0, raw.st_value(E))
    };
    named.map(of).collect()
}

#[test]
fn groups_hold_sections_and_their_relocations() {
    let object = object_of(concat!(
        " .section .foo,\"axG\",@progbits,grp,comdat\n s_nop 0\n .long g - .\n",
        " .section .foo,\"axG\",@progbits,grp2,comdat\n s_nop 1\ngrp2:\n",
        " .section .foo,\"axG\",@progbits,grp3\n s_nop 4\n",
        " .section .foo,\"axG\",@progbits,grp,comdat\n",
        " .section .baz,\"a?\",@progbits\n .byte 2\n",
    ));
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    // A signature that nothing defines is in the group's own section.
    let expected = [
        (true, "grp".to_owned(), 2, names(&[".foo", ".rela.foo", ".baz"])),
        (true, "grp2".to_owned(), 6, names(&[".foo"])),
        (false, "grp3".to_owned(), 7, names(&[".foo"])),
    ];
    assert_eq!(groups(&object), expected);
    assert!(refused(" .section .a,\"aG?\",@progbits,g\n").contains("group"));
    assert!(refused(" .section .a,\"aG\",@progbits\n").contains("comma"));
}

#[test]
fn sections_have_entries_links_and_namesakes() {
    let object = object_of(concat!(
        " .section .foo,\"a\",@progbits,unique,1\n .byte 1\n",
        " .section .foo,\"a\",@progbits,unique,2\n .byte 1, 2\n",
        " .section .foo,\"a\",@progbits,unique,1\n .byte 3\nhere:\n",
        " .section .linked,\"ao\",@progbits,here\n .byte 1\n",
        " .section .alone,\"ao\",@progbits,0\n .byte 1\n",
        " .section .str,\"aMS\",@progbits,1\n .asciz \"a\"\n",
        " .section .wide,\"aM\",@progbits,8,unique,7\n .quad 1\n",
        " .section .sun, #alloc, #write\n .byte 1\n .section .bss.sun,#alloc,#write\n .zero 3\n",
        " .ident \"me\"\n",
    ));
    let section = |name: &str, flags, entry, link, size| (name.to_owned(), flags, entry, link, size);
    let expected = [
        section(".text", 6, 0, 0, 0),
        section(".foo", 2, 0, 0, 2),
        section(".foo", 2, 0, 0, 2),
        section(".linked", 0x82, 0, 2, 1),
        section(".alone", 0x82, 0, 0, 1),
        section(".str", 0x32, 1, 0, 2),
        section(".wide", 0x12, 8, 0, 8),
        section(".sun", 3, 0, 0, 1),
        section(".bss.sun", 3, 0, 0, 3),
        section(".comment", 0x30, 1, 0, 4),
    ];
    assert_eq!(sections(&object), expected);
    for (text, message) in [
        (" .section .a,#colour\n", "#colour is not supported"),
        (" .section .a,#alloc,\n", "behind #"),
        (" .section .a,\"ao\",@progbits,nowhere\n", "in no section"),
        (" .section .a,\"aM\",@progbits\n", "comma"),
        (" .section .a,\"aM\",@progbits,0\n", "not positive"),
        (" .section .a,\"a\",@progbits,unique,-1\n", "out of range"),
    ] {
        assert!(refused(text).contains(message), "{text}");
    }
}

#[test]
fn relocations_name_what_may_move_by_itself() {
    let object = object_of(concat!(
        " .section .str,\"aMS\",@progbits,1\n.La: .asciz \"abc\"\n.Lb: .asciz \"def\"\n",
        " .data\n.quad .La\n .quad .Lb\n .quad .Lb+1\n .quad .str\n .quad local\n .quad seen\n .quad alias\n",
        " .quad quiet+1\n",
        " .globl seen\n .byte 0\nlocal: seen:\n .globl alias\n alias = local+4\n quiet = local+4\n",
    ));
    let reloc = |offset, name: &str, addend| (offset, name.to_owned(), addend);
    let expected = [
        reloc(0, ".str", 0),
        reloc(8, ".str", 4),
        // Which string is meant, merged or not, the symbol says.
        reloc(16, ".Lb", 1),
        reloc(24, ".str", 0),
        reloc(32, ".data", 65),
        reloc(40, "seen", 0),
        reloc(48, "alias", 0),
        reloc(56, ".data", 70),
    ];
    assert_eq!(relocations(&object, ".data"), expected);
    // An alias has a place all the same.
    let branch = object_of(" .globl alias\n alias = there\n s_branch alias\nthere: .long alias-there\n");
    let file = object::File::parse(&*branch).expect("an ELF file");
    let text = file.section_by_name(".text").expect("code").data().expect("data");
    assert_eq!(text, [0, 0, 0x82, 0xbf, 0, 0, 0, 0]);
}

#[test]
fn symbols_stand_in_the_order_of_their_definitions() {
    let object = object_of(concat!(
        " .data\n .long later-.\n .quad other\n .quad another\n",
        "first: .byte 1\nlater: .byte 1\n .no_dead_strip kept\n .type typed,@function\n .size sized, 4\n .extern none\n",
        " .local space\n .comm space,8,4\n .comm shared,8,4\n",
    ));
    let (data, bss, undefined, common) = (2, 4, 0, raw::SHN_COMMON.0);
    let symbol = |name: &str, section, value| (name.to_owned(), section, value);
    let expected = [
        symbol("first", data, 20),
        symbol("later", data, 21),
        symbol("space", bss, 0),
        symbol("shared", common, 16),
        symbol("other", undefined, 0),
        symbol("another", undefined, 0),
        symbol("kept", undefined, 0),
        symbol("typed", undefined, 0),
    ];
    assert_eq!(symbols(&object), expected);
}

/// Lines of code are noted where they are, those that macros made at the line that used them.
#[test]
fn lines_of_code() {
    let text = "\
.macro two\n\ts_nop 1\n\ts_nop 2\n.endm\n\ts_nop 0\n\ttwo\n\t.section .other,\"ax\",@progbits\n\n\tv_add_f32_e64 v0, v1, |v2|\n\ts_endpgm\n";
    let processor = Target::processor_by_name("gfx900").expect("a processor of the table");
    let noted = |note_lines| {
        let options = Options { note_lines, ..Options::default() };
        let assembled = assemble_with(text, &Target::new(processor), &options).expect("the text is right");
        assembled.lines.into_iter().map(|l| (l.line, l.section, l.offset)).collect::<Vec<_>>()
    };
    let line = |line, section: &str, offset| (line, section.to_owned(), offset);
    assert_eq!(
        noted(true),
        [
            line(5, ".text", 0),
            line(6, ".text", 4),
            line(6, ".text", 8),
            line(9, ".other", 0),
            line(10, ".other", 8)
        ]
    );
    assert_eq!(noted(false), []);
}
