//! What macros, repetitions, conditionals and numbered labels make is what their expansion, written by hand,
//! makes.

use super::assemble;
use mir::target::Target;
use object::read::elf::{ElfFile64, Sym};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};

fn sections(text: &str) -> Vec<(String, Vec<u8>)> {
    let target = Target::new(Target::processor_by_name("gfx900").expect("in the table"));
    let bytes = assemble(text, &target).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let contents = |name: &str| file.section_by_name(name).map(|s| s.data().expect("data").to_vec());
    [".text", ".data"].iter().filter_map(|name| Some(((*name).to_owned(), contents(name)?))).collect()
}

fn message(text: &str) -> (u32, String) {
    let target = Target::new(Target::processor_by_name("gfx900").expect("in the table"));
    let errors = assemble(text, &target).expect_err(text);
    (errors[0].location.as_ref().map_or(0, |at| at.line), errors[0].message.clone())
}

#[test]
fn expansions_are_what_they_stand_for() {
    let cases = [
        // Arguments by position, by name, with defaults, the rest, and in strings.
        (
            ".macro add2 dst, a:req, b=v1\n v_add_f32 \\dst, \\a, \\b\n.endm\n add2 v0, v2\n add2 v0 v2 v3\n add2 b=v7, dst=v5, a=v6",
            "v_add_f32 v0, v2, v1\n v_add_f32 v0, v2, v3\n v_add_f32 v5, v6, v7",
        ),
        (
            ".macro many op, rest:vararg\n \\op \\rest\n.endm\n many v_fma_f32, v0, v1, v2, v3 ; comment",
            "v_fma_f32 v0, v1, v2, v3",
        ),
        (
            ".macro q a b c\n .long \\a, \\b, \\c+0\n.endm\n q 1 2 3\n q 1+1, 2 + 2, (3 + 4)\n q 1 -1 3",
            ".long 1, 2, 3, 2, 4, 7, 0, 3, 0",
        ),
        (".macro s x\n .ascii \"\\x|\"\n.endm\n s \"a b\"\n s c", ".ascii \"a b|c|\""),
        // Parts of names, and labels of each expansion.
        (
            ".macro l n\n.Ll\\@: s_sub_u32 s\\n\\(), s\\n, 1\n s_cbranch_scc0 .Ll\\@\n.endm\n l 4\n l n=5",
            ".La: s_sub_u32 s4, s4, 1\n s_cbranch_scc0 .La\n.Lb: s_sub_u32 s5, s5, 1\n s_cbranch_scc0 .Lb",
        ),
        // Macros in macros, and removed ones.
        (
            ".macro outer\n.macro inner\n s_nop 2\n.endm\n inner\n.purgem inner\n.endm\n outer\n outer",
            "s_nop 2\n s_nop 2",
        ),
        (
            ".macro pick x\n.if \\x == 1\n s_nop 1\n.elseif \\x == 2\n s_nop 2\n.else\n s_nop 3\n.exitm\n s_endpgm\n.endif\n s_nop 4\n.endm\n pick 1\n pick 2\n pick 3\n s_nop 5",
            "s_nop 1\n s_nop 4\n s_nop 2\n s_nop 4\n s_nop 3\n s_nop 5",
        ),
        // Repetitions see what symbols stand for by then.
        (
            ".set i, 0\n.rept 3\n v_mov_b32 v0, i\n.set i, i+1\n.endr\n.data\n.rept 2\n.rept 2\n.byte 7, \\+\n.endr\n.byte 8\n.endr",
            "v_mov_b32 v0, 0\n v_mov_b32 v0, 1\n v_mov_b32 v0, 2\n.data\n.byte 7, 0, 7, 0, 8, 7, 1, 7, 1, 8",
        ),
        (
            ".irp r, 1, 2\n v_mov_b32 v\\r, \\r\n.endr\n.irpc c, ab\n s_nop 0x\\c\n.endr",
            "v_mov_b32 v1, 1\n v_mov_b32 v2, 2\n s_nop 10\n s_nop 11",
        ),
        (
            ".set F, 1\nk: s_nop 0\n.ifdef F\n s_nop 1\n.endif\n.ifndef F\n bogus\n.else\n s_nop 2\n.endif\n.if . - k == 12\n s_nop 3\n.endif\n.ifc abc, abc\n s_nop 4\n.endif\n.ifb\n s_nop 5\n.endif\n.ifnb\n bogus\n.endif\n.if 0\n.if 1\n bogus\n.else\n bogus\n.endif\n.else\n s_nop 6\n.endif",
            "s_nop 0\n s_nop 1\n s_nop 2\n s_nop 3\n s_nop 4\n s_nop 5\n s_nop 6",
        ),
        // Numbered labels, and numbers that are none.
        (
            "1: s_nop 0\n s_branch 1b\n s_branch 1f\n s_branch 2f\n1:\n s_cbranch_scc1 1b ; 9b\n2: s_mov_b32 s1, 0x1f\n s_mov_b32 s1, 0b1",
            ".La: s_nop 0\n s_branch .La\n s_branch .Lb\n s_branch .Lc\n.Lb:\n s_cbranch_scc1 .Lb\n.Lc: s_mov_b32 s1, 31\n s_mov_b32 s1, 1",
        ),
    ];
    for (text, expansion) in cases {
        assert_eq!(sections(text), sections(expansion), "{text}");
    }
}

#[test]
fn what_is_wrong_is_reported_at_its_line() {
    for (text, line, part) in [
        ("s_nop 0\n.macro m\n s_nop 1", 2, "missing .endm"),
        (".macro m\n bogus\n.endm\n s_nop 0\n m", 5, "bogus"),
        (".macro m a:req\n.endm\n m", 3, "needs an argument for a"),
        (".macro m a\n.endm\n m 1, 2", 3, "too many arguments"),
        (".macro m\n m\n.endm\n m", 4, "nested more than 20"),
        (".if 1\n s_nop 0", 1, "missing .endif"),
        (".else", 1, "without .if"),
        (".if x\n.endif", 1, "absolute"),
        (".rept 100000000\n s_nop 0\n.endr", 1, "too much text"),
        (".rept 100000000\n.endr", 1, "too much text"),
        // Repetitions inside of repetitions.
        (
            ".altmacro\n.macro m n\n .rept \\n\n .rept \\n\n s_nop 0\n .endr\n .endr\n.endm\n m 10000",
            9,
            "too much text",
        ),
        (".rept -1\n.endr", 1, "negative"),
        ("s_branch 1b", 1, "no label 1 before"),
        ("s_nop 0\n s_branch 1f", 2, "not defined"),
    ] {
        let (at, message) = message(text);
        assert!(at == line && message.contains(part), "{text}: {at}: {message}");
    }
}

#[test]
fn common_symbols_are_the_linkers() {
    let target = Target::new(Target::processor_by_name("gfx900").expect("in the table"));
    let text = ".comm shared, 64, 4\n.lcomm own, 20\n.text\n s_nop 0";
    let bytes = assemble(text, &target).unwrap_or_else(|errors| panic!("{errors:?}"));
    let file = ElfFile64::<Endianness>::parse(&*bytes).expect("an ELF file");
    let shared = file.symbol_by_name("shared").expect("a symbol");
    assert_eq!(
        (shared.is_common(), shared.elf_symbol().st_value(file.endian()), shared.size(), shared.is_global()),
        (true, 16, 64, true)
    );
    let own = file.symbol_by_name("own").expect("a symbol");
    assert_eq!((own.is_definition(), own.size(), own.is_global()), (true, 20, false));
    assert_eq!(file.section_by_name(".bss").map(|s| s.size()), Some(20));
}
