//! Source lines of a table of DWARF 5 written by hand.

use super::tests::target;
use super::*;

const SOURCE: &str = "s_nop 7\n.p2align 4\nf: s_nop 0\n s_nop 1\n s_nop 2\n s_nop 3\n s_nop 4\n.section .text.other,\"ax\",@progbits\n s_nop 5\n\
    .section .debug_line,\"\",@progbits\n.long end-start\nstart: .short 5\n.byte 8, 0\n.long program-header\nheader: .byte 4, 1, 1, -5, 14, 13\n\
    .byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1\n.byte 1\n.uleb128 1, 8, 2\n.asciz \"/src\"\n.asciz \"sub\"\n.byte 2\n.uleb128 1, 8, 2, 11, 2\n\
    .asciz \"k.cl\"\n.byte 0\n.asciz \"k;\\nh\"\n.byte 1\n\
    program: .byte 0, 9, 2\n.quad f\n.byte 4, 0, 3, 2, 1\n.byte 2, 1, 1\n.byte 2, 1, 4, 1, 3\n.sleb128 -1\n.byte 1, 2, 2, 0, 1, 1\nend:\n";

/// The text with sources, which assembles to the same object.
fn shown(source: &str, read: ReadSource<'_>) -> String {
    let object = crate::assemble(source, &target("gfx900", 5)).expect("assembles");
    let text = disassemble_with_source(&object, read).expect("an object");
    let again =
        crate::assemble(&text, &target("gfx900", 5)).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let plain = disassemble(&object).expect("an object");
    assert_eq!(disassemble(&again).expect("an object"), plain);
    let without: String =
        text.lines().filter(|line| !line.starts_with(';')).flat_map(|line| [line, "\n"]).collect();
    assert_eq!(without, plain);
    text
}

/// Instructions and comments.
fn code(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| line.starts_with(';') || line.starts_with("\ts_nop"));
    lines.map(|line| line.split("  ").next().unwrap_or_default().trim()).collect()
}

#[test]
fn lines_stand_in_front_of_their_code() {
    let asked = std::cell::RefCell::new(Vec::new());
    let read = |path: &str| {
        asked.borrow_mut().push(path.to_owned());
        (path == "/src/k.cl").then(|| b"one\ntwo\n\tthree; /* x\x07y\nfour".to_vec())
    };
    let text = shown(SOURCE, &read);
    let wanted = [
        "s_nop 7",
        "s_nop 0",
        "s_nop 0",
        "s_nop 0",
        "; /src/k.cl:3",
        "; \tthree; /* x y",
        "s_nop 0",
        "s_nop 1",
        "; /src/sub/k; h:2",
        "s_nop 2",
        "s_nop 3",
        "s_nop 4",
        "s_nop 5",
    ];
    assert_eq!(code(&text), wanted, "{text}");
    // Each file is asked for once, whether it is there or not.
    assert_eq!(*asked.borrow(), ["/src/k.cl", "/src/sub/k;\nh"]);
}

#[test]
fn damaged_tables_say_nothing() {
    let whole = shown(SOURCE, &|_| None);
    assert!(whole.contains("; /src/k.cl:3\n"));
    for (from, to) in [
        (".short 5", ".short 77"),
        (".long end-start", ".long 0xffffffff"),
        (".long program-header", ".long 0x7fffffff"),
        (".uleb128 1, 8, 2\n", ".uleb128 1, 8, 0xffffffffffff\n"),
        (".byte 4, 0, 3", ".byte 4, 99, 3"),
        ("start: .short 5\n.byte 8", "start: .short 5\n.byte 3"),
    ] {
        assert!(SOURCE.contains(from), "{from}");
        let text = shown(&SOURCE.replace(from, to), &|_| None);
        assert!(!text.contains("k.cl"), "{from}: {text}");
    }
    assert!(!shown("f: s_endpgm\n", &|_| None).contains("; "));
}
