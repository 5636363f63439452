//! What the memory model makes of every atomic access, fence, volatile and streaming access on GFX10, beside llc's memory legalizer: cache bits, waits and
//! invalidates of 686 functions, for work-groups on pairs of compute units and on one, in either size of waves. Where the two differ there is a reason, and their number is known.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const ORDERINGS: &[(&str, &[&str])] = &[
    ("load", &["monotonic", "acquire", "seq_cst"]),
    ("store", &["monotonic", "release", "seq_cst"]),
    ("add", &["monotonic", "acquire", "release", "acq_rel", "seq_cst"]),
    ("returning", &["monotonic", "acquire", "release", "acq_rel", "seq_cst"]),
    ("cmpxchg", &["monotonic", "acquire", "release", "acq_rel", "seq_cst"]),
    ("fence", &["acquire", "release", "acq_rel", "seq_cst"]),
];
const SCOPES: [&str; 10] = [
    "",
    "agent",
    "workgroup",
    "wavefront",
    "singlethread",
    "one-as",
    "agent-one-as",
    "workgroup-one-as",
    "wavefront-one-as",
    "singlethread-one-as",
];

/// One function for each access, whose name says what it has.
fn module() -> String {
    let mut out = String::from("target triple = \"amdgcn-amd-amdhsa\"\n!0 = !{i32 1}\n");
    let mut function = |name: String, space: u32, ty: &str, body: String| {
        let _ = writeln!(
            out,
            "define {ty} @\"{name}.{space}\"(ptr addrspace({space}) %p, i32 %v, i32 %w) nounwind {{\n{body}\n  ret {}\n}}",
            if ty == "void" { "void".to_owned() } else { format!("{ty} %r") }
        );
    };
    for &(op, orderings) in ORDERINGS {
        for (ordering, scope) in orderings.iter().flat_map(|o| SCOPES.map(|scope| (*o, scope))) {
            let how = match scope {
                "" => ordering.to_owned(),
                scope => format!("syncscope(\"{scope}\") {ordering}"),
            };
            let spaces: &[u32] = if op == "fence" { &[0] } else { &[0, 1, 3] };
            for &space in spaces {
                let pointer = format!("ptr addrspace({space}) %p");
                let (ty, body) = match op {
                    "load" => ("i32", format!("  %r = load atomic i32, {pointer} {how}, align 4")),
                    "store" => ("void", format!("  store atomic i32 %v, {pointer} {how}, align 4")),
                    "add" => ("void", format!("  %r = atomicrmw add {pointer}, i32 %v {how}, align 4")),
                    "returning" => ("i32", format!("  %r = atomicrmw add {pointer}, i32 %v {how}, align 4")),
                    "cmpxchg" => {
                        let failure = match ordering {
                            "seq_cst" => "seq_cst",
                            "acquire" | "acq_rel" => "acquire",
                            _ => "monotonic",
                        };
                        let swap = format!("cmpxchg {pointer}, i32 %v, i32 %w {how} {failure}, align 4");
                        ("i32", format!("  %x = {swap}\n  %r = extractvalue {{i32, i1}} %x, 0"))
                    }
                    _ => ("void", format!("  fence {how}")),
                };
                function(format!("{op}.{ordering}.{scope}"), space, ty, body);
            }
        }
    }
    for (volatile, streaming) in [("volatile ", ""), ("", ", !nontemporal !0")] {
        let kind = if streaming.is_empty() { "volatile" } else { "streaming" };
        for space in [0, 1, 3, 5] {
            let pointer = format!("ptr addrspace({space}) %p, align 4{streaming}");
            function(format!("load.{kind}."), space, "i32", format!("  %r = load {volatile}i32, {pointer}"));
            function(format!("store.{kind}."), space, "void", format!("  store {volatile}i32 %v, {pointer}"));
        }
    }
    out
}

/// What stands around an access, a word each: `VM`, `VS` and `LG` for waits, in this order where they follow each other, `L0` and `L1` for caches that are
/// emptied, `op` with its bits.
type Sequence = Vec<String>;

fn push_waits(sequence: &mut Sequence, imm: u32) {
    // Fields of GFX10: bits 15:14 and 3:0, bits 13:8.
    let all = [("VM", imm & 0xc00f), ("LG", imm & 0x3f00)];
    sequence.extend(all.into_iter().filter(|wait| wait.1 == 0).map(|wait| wait.0.to_owned()));
}

/// Waits in a row in one order.
fn sorted(sequence: Sequence) -> Sequence {
    let is_wait = |word: &String| ["VM", "VS", "LG"].contains(&word.as_str());
    let mut out = sequence;
    for run in out.chunk_by_mut(|a, b| is_wait(a) && is_wait(b)) {
        run.sort_unstable();
    }
    out
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn access(bits: [bool; 3]) -> String {
    let names = [" glc", " dlc", " slc"].into_iter().zip(bits).filter(|name| name.1);
    names.fold("op".to_owned(), |word, (name, _)| word + name)
}

/// Of LLVM's machine IR behind the legalizer.
fn of_llc(text: &str) -> BTreeMap<String, Sequence> {
    let mut out: BTreeMap<String, Sequence> = BTreeMap::new();
    let (mut name, mut in_body) = (String::new(), false);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("name:") {
            name = rest.trim().trim_matches('\'').to_owned();
            in_body = false;
            out.insert(name.clone(), Vec::new());
        }
        in_body |= line.starts_with("body:");
        let Some(sequence) = out.get_mut(&name).filter(|_| in_body) else { continue };
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let Some(op) = words.iter().position(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
        else {
            continue;
        };
        // The bits are the last number, or, of buffers, the one before: the immediate of `swz` stands behind.
        let numbers: Vec<u32> = words[op..]
            .iter()
            .take_while(|word| **word != "implicit")
            .filter_map(|word| number(word))
            .collect();
        let family = words[op].split('_').next().unwrap_or_default();
        match (words[op], family) {
            ("S_WAITCNT_soft", _) => push_waits(sequence, numbers[0]),
            ("S_WAITCNT_VSCNT_soft", _) => sequence.push("VS".to_owned()),
            ("BUFFER_GL0_INV", _) => sequence.push("L0".to_owned()),
            ("BUFFER_GL1_INV", _) => sequence.push("L1".to_owned()),
            (_, "DS") => sequence.push("op".to_owned()),
            (op, "GLOBAL" | "FLAT" | "BUFFER") => {
                let behind = usize::from(family == "BUFFER") + 1;
                let bits = numbers.len().checked_sub(behind).map_or(0, |at| numbers[at]);
                let glc = bits & 1 != 0 && !op.contains("ATOMIC");
                sequence.push(access([glc, bits & 4 != 0, bits & 2 != 0]));
            }
            _ => {}
        }
    }
    out.into_iter().map(|(name, sequence)| (name, sorted(sequence))).collect()
}

/// Of the text behind our pass.
fn of_ours(text: &str) -> BTreeMap<String, Sequence> {
    let mut out: BTreeMap<String, Sequence> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("function ") {
            name = rest.split(',').next().unwrap_or_default().trim_matches('"').to_owned();
            out.insert(name.clone(), Vec::new());
        }
        let Some(sequence) = out.get_mut(&name) else { continue };
        let inst = line.rsplit_once(" = ").map_or(line, |(_, inst)| inst);
        let words: Vec<&str> = inst.split_whitespace().take_while(|word| !word.starts_with('[')).collect();
        let Some(&op) = words.first() else { continue };
        let has = |name: &str| words.contains(&name);
        match op {
            "s_waitcnt" => push_waits(sequence, number(words[1]).expect("an immediate")),
            "s_waitcnt_vscnt" => sequence.push("VS".to_owned()),
            "buffer_gl0_inv" => sequence.push("L0".to_owned()),
            "buffer_gl1_inv" => sequence.push("L1".to_owned()),
            _ if ["global_", "flat_", "buffer_", "ds_"].iter().any(|family| op.starts_with(family)) => {
                sequence.push(access([has("glc") && !op.contains("atomic"), has("dlc"), has("slc")]));
            }
            _ => {}
        }
    }
    out.into_iter().map(|(name, sequence)| (name, sorted(sequence))).collect()
}

/// Why a function may differ from llc's.
fn reason(name: &str, llc: &[String], ours: &[String]) -> Option<&'static str> {
    let without =
        |words: &[String]| -> Vec<String> { words.iter().filter(|word| *word != "LG").cloned().collect() };
    let waits = |words: &[String]| words.iter().filter(|word| *word == "LG").count();
    if without(llc) != without(ours) {
        return None;
    }
    let more = waits(ours) > waits(llc);
    if more && name.contains("one-as") {
        return Some("a generic address, or what is sequentially consistent, waits for LDS in every scope");
    }
    if more && name.contains(".volatile.") && name.ends_with(".0") {
        return Some("a volatile access to a generic address is done in either memory");
    }
    // Behind the access both wait for it.
    let at = llc.iter().position(|word| word == "op")?;
    let same_behind = ours.len() + 1 == llc.len() && ours[at - 1..] == llc[at..];
    (same_behind && name.ends_with(".3")).then_some("LDS keeps the order of a wave")
}

#[test]
fn sequences_of_gfx10_are_llcs() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memory_model");
    std::fs::create_dir_all(&folder).expect("a folder");
    let input = folder.join("accesses.ll");
    std::fs::write(&input, module()).expect("a file");
    let run = |program: &str, args: &[&str]| {
        let output =
            Command::new(program).args(args).arg(&input).args(["-o", "-"]).output().expect("it runs");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let waves = ["-wavefrontsize64,+wavefrontsize32", "-wavefrontsize32,+wavefrontsize64"];
    let settings = ["gfx1010", "gfx1030"]
        .into_iter()
        .flat_map(|cpu| ["-cumode", "+cumode"].map(|mode| (cpu, mode)))
        .flat_map(|(cpu, mode)| waves.map(|wave| (cpu, format!("{mode},{wave}"))));
    for (processor, mode) in settings {
        let (cpu, mode) = (format!("-mcpu={processor}"), format!("-mattr={mode}"));
        let llc = of_llc(&run("llc-22", &[&cpu, &mode, "-stop-after=si-memory-legalizer"]));
        let gcnc = env!("CARGO_BIN_EXE_gcnc");
        let ours = of_ours(&run(gcnc, &[&cpu, &mode, "-O0", "--stop-after=memory-model"]));
        assert!(llc.keys().eq(ours.keys()), "functions are missing");
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, theirs) in &llc {
            let why = match theirs == &ours[name] {
                true => Some("the same"),
                false => reason(name, theirs, &ours[name]),
            };
            let Some(why) = why else { panic!("{cpu} {mode} {name}: llc {theirs:?}, here {:?}", ours[name]) };
            *reasons.entry(why).or_default() += 1;
        }
        assert_eq!(reasons.into_values().collect::<Vec<_>>(), [36, 63, 2, 585], "{cpu} {mode}");
    }
}
