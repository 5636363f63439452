//! `explain` on fixed instructions: the kind of each reason, and what its words name.

mod common;

use common::{BODY, assemble, kernel, line_of};
use report::place::Place;
use report::{Explainer, Explanation, Kind, Program};

/// Explains the line `@name` of a kernel with this body.
fn explain(processor: &str, body: &str, name: &str) -> Explanation {
    let text = kernel(processor, "k", body);
    let assembled = assemble(&text, processor);
    let program = Program::load(&assembled.object).expect("the object is right");
    let place = Place::Line(line_of(&text, name));
    let (function, line) = program.find(&place, &assembled.lines).expect("the line is an instruction");
    let numbers = program.text_lines(function, &assembled.lines);
    let places = |line: usize| {
        numbers[line].map_or_else(String::new, |number| {
            let text = text.lines().nth(number as usize - 1).expect("a line of the text");
            text.split_once('@').map_or_else(String::new, |(_, name)| format!("@{name}"))
        })
    };
    Explainer::new(&program, function, &places).explain(line).expect("the line is there")
}

/// The line has a reason of a kind whose text has all of the words.
fn expect(explained: &Explanation, kind: Kind, words: &[&str]) {
    let fits = |text: &str| words.iter().all(|word| text.contains(word));
    let found = explained.reasons.iter().any(|reason| reason.kind == kind && fits(&reason.text));
    assert!(found, "{kind:?} with {words:?} in {explained:#?}");
}

fn gfx9(name: &str, kind: Kind, words: &[&str]) {
    expect(&explain("gfx900", BODY, name), kind, words);
}

#[test]
fn prologs() {
    gfx9("flat", Kind::Prolog, &["FLAT_SCRATCH", "offset of the wave's scratch"]);
    gfx9("resource", Kind::Prolog, &["resource of scratch", "added to its base"]);
    gfx9("carry", Kind::Prolog, &["carry"]);
    gfx9("stack", Kind::Prolog, &["s32", "stack pointer"]);
}

#[test]
fn arguments() {
    gfx9("argument", Kind::Argument, &["argument 0", "`out`", "int*", "8 bytes at 0"]);
    gfx9("number", Kind::Argument, &["argument 1", "`n`", "4 bytes at 8"]);
}

#[test]
fn addresses_and_calls() {
    for line in ["getpc", "low", "high"] {
        gfx9(line, Kind::Address, &["callee", "@call", "calls"]);
    }
    // A relocatable object says whose address it is.
    assert_eq!(explain("gfx900", BODY, "low").text, "s_add_u32 s10, s10, callee@rel32@lo+4");
    gfx9("call", Kind::Address, &["Calls callee"]);
    gfx9("return", Kind::ControlFlow, &["Returns to the caller"]);
}

#[test]
fn waits() {
    // Of three operations the wait leaves two under way: it is for the first.
    gfx9("wait", Kind::Wait, &["vmcnt(2)", "@load", "@compare", "reads v3"]);
    let wait = explain("gfx900", BODY, "wait");
    assert!(wait.reasons.iter().all(|reason| !reason.text.contains("@second")), "{wait:#?}");
    gfx9("barrier_wait", Kind::MemoryModel, &["@barrier", "release at the work-group"]);
    gfx9("barrier_wait", Kind::Wait, &["lgkmcnt(0)", "LDS", "@lds"]);
    gfx9("call_wait", Kind::MemoryModel, &["calls", "nothing under way"]);
    gfx9("entry_wait", Kind::Wait, &["calling convention"]);
}

#[test]
fn hazards() {
    gfx9(
        "nop",
        Kind::Hazard,
        &["VALU writes SGPR, VMEM reads it", "@consumer", "@producer", "needs 5", "there are 0,"],
    );
    gfx9("filler", Kind::Unknown, &["No hazard of the table"]);
    // The distance to the consumer counts: one instruction between leaves three wait states for the NOP.
    let body = "\tv_readfirstlane_b32 s40, v0 ; @p\n\tv_mov_b32_e32 v1, v2\n\ts_nop 3 ; @nop\n\tbuffer_load_dword v5, off, s[0:3], s40 ; @c\n\ts_endpgm\n";
    expect(&explain("gfx900", body, "nop"), Kind::Hazard, &["@p", "@c", "needs 5", "there are 1,"]);
    // GFX7 resolves it itself.
    expect(&explain("gfx700", body, "nop"), Kind::Unknown, &["No hazard"]);
}

#[test]
fn control_flow() {
    gfx9("exec", Kind::ControlFlow, &["vcc of @compare", "s[38:39]", "@join", "@branch"]);
    gfx9("branch", Kind::ControlFlow, &["no lane", "@join", "@exec"]);
    gfx9("join", Kind::ControlFlow, &["meet again", "@exec"]);
}

#[test]
fn spills() {
    gfx9("spill", Kind::Spill, &["s34", "lane 3 of v40", "@reload"]);
    gfx9("reload", Kind::Spill, &["s36", "lane 3 of v40", "@spill"]);
    gfx9("frame_store", Kind::Spill, &["the start+4", "@frame_load", "does not tell them apart"]);
    gfx9("frame_load", Kind::Spill, &["@frame_store"]);
}

#[test]
fn memory_model() {
    gfx9("barrier", Kind::MemoryModel, &["work-group meet"]);
    gfx9("invalidate", Kind::MemoryModel, &["Acquire", "L1"]);
}

/// Where nothing is known, that is said.
#[test]
fn values_and_the_unknown() {
    gfx9("value", Kind::Value, &["@store"]);
    let value = explain("gfx900", BODY, "value");
    assert_eq!(value.operation, "adds, in each active lane");
    assert!(
        value.reads.iter().any(|read| read.starts_with("v5") && read.contains("@consumer")),
        "{value:#?}"
    );
    assert!(value.rate.contains("full rate"), "{}", value.rate);
    gfx9("store", Kind::Unknown, &["Nothing more can be known"]);
}

/// Before GFX9 LDS has a limit in M0.
#[test]
fn limit_of_lds() {
    let body = "\ts_mov_b32 m0, -1 ; @m0\n\tds_write_b32 v0, v1 ; @lds\n\ts_endpgm\n";
    expect(&explain("gfx803", body, "m0"), Kind::Prolog, &["limit of LDS", "@lds"]);
}

/// VCCZ is stale on GFX7 where scalar loads are about.
#[test]
fn refreshed_vccz() {
    let body =
        "\ts_mov_b64 vcc, vcc ; @refresh\n\ts_cbranch_vccz .Lx ; @branch\n\ts_nop 0\n.Lx:\n\ts_endpgm\n";
    expect(&explain("gfx700", body, "refresh"), Kind::Hazard, &["VCCZ", "@branch"]);
}

#[test]
fn places() {
    let text = |file: &str| file.ends_with(".s");
    let split = |place| Place::split(place, text).map(|(file, place)| (file.to_owned(), place));
    assert_eq!(split("a:b.s:12"), Ok(("a:b.s".to_owned(), Place::Line(12))));
    assert_eq!(split("k.o:0x40"), Ok(("k.o".to_owned(), Place::Address(64))));
    assert_eq!(split("k.o:f+0x4"), Ok(("k.o".to_owned(), Place::Symbol("f".to_owned(), 4))));
    assert_eq!(split("k.o:f"), Ok(("k.o".to_owned(), Place::Symbol("f".to_owned(), 0))));
    for wrong in ["k.s", "k.s:0", "k.s:x", ":4", "k.o:f+x", "k.o:"] {
        assert!(split(wrong).is_err(), "{wrong}");
    }
    let source = kernel("gfx900", "k", BODY);
    let assembled = assemble(&source, "gfx900");
    let program = Program::load(&assembled.object).expect("the object is right");
    let find = |place: Place| {
        program.find(&place, &assembled.lines).map(|(f, line)| (f.name.clone(), f.lines[line].text.clone()))
    };
    let add = "s_addc_u32 flat_scratch_hi, s7, 0".to_owned();
    assert_eq!(find(Place::Address(4)), Ok(("k".to_owned(), add.clone())));
    assert_eq!(find(Place::Symbol("k".to_owned(), 4)), Ok(("k".to_owned(), add)));
    for (wrong, why) in [
        (Place::Line(1), "no instruction"),
        (Place::Address(2), "begins at"),
        (Place::Symbol("x".into(), 0), "no function"),
    ] {
        assert!(find(wrong).expect_err("it is not there").contains(why));
    }
}

/// Objects that are none, and any bytes as code, are answered.
#[test]
fn any_bytes() {
    assert!(Program::load(b"").is_err());
    assert!(Program::load(&[0x7f; 100]).is_err());
    let mut seed = 7u32;
    let body: String = (0..2000)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Half of the dwords begin as scalar instructions do, among which branches are.
            format!("\t.long {:#x}\n", if seed & 8 == 0 { seed } else { seed >> 9 | 0xbf80_0000 })
        })
        .collect();
    let assembled = assemble(&kernel("gfx900", "k", &body), "gfx900");
    let program = Program::load(&assembled.object).expect("the object is right");
    for function in &program.functions {
        let places = |line: usize| line.to_string();
        let explainer = Explainer::new(&program, function, &places);
        assert!((0..function.lines.len()).all(|line| explainer.explain(line).is_some()));
        assert_eq!(explainer.all_reasons().len(), function.lines.len());
    }
}
