//! The decoder and printer against LLVM's disassembler: random bit patterns must be refused by both, or give the same text.
//!
//! Uniformly random dwords are mostly a few formats, so the generator starts from the table: it takes a row and an encoding of it, keeps the
//! fixed bits and the opcode number, and fills the other fields with values that are likely to matter (boundaries of register
//! files, constants, the extension markers, neutral modifiers); a part keeps its reserved bits clear, and a part
//! is random in the opcode too. Everything follows from a fixed seed.
//!
//! LLVM has a disassembler from GFX8 on. It runs once for each batch; three `s_nop` with the number of the pattern follow each
//! pattern, so an instruction that swallows what follows costs one pattern only.
//!
//! `DECODE_PATTERNS` sets the number of patterns for each processor. Skipped with a message where `llvm-mc-22` is not
//! installed.

mod common;

use common::{LLVM_MC, assemble, llvm_flags, rows, target};
use fastrand::Rng;
use mir::isa::format::layout;
use mir::isa::{DecodeError, Format, Opcode, decode, decode_lenient};
use mir::machine::Encoding;
use mir::target::{Generation, Target};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Patterns of one run of the disassembler.
const BATCH: usize = 50_000;

/// A value that may stand in a 9-bit source, and that is near a boundary.
fn source(random: &mut Rng) -> u64 {
    match random.u64(..8) {
        0 => 96 + random.u64(..32),
        1 => 128 + random.u64(..128),
        2 => 255,
        3 => random.u64(..512),
        4 => random.u64(..104),
        5 => 240 + random.u64(..16),
        _ => 256 + random.u64(..256),
    }
}

fn pattern(random: &mut Rng, rows: &[(Opcode, Encoding)], generation: Generation) -> [u32; 3] {
    let mut bits = random.u64(..);
    let (op, encoding) = rows[random.u64(..rows.len() as u64) as usize];
    let info = op.info();
    let layout = layout(info, encoding, generation).expect("listed encodings exist");
    let vop3 = encoding == Encoding::E64 && info.format != Format::Vop3p;
    let code = if vop3 { info.vop3_code(generation) } else { info.code(generation) };
    // Sparse modifiers and small numbers, often.
    if random.u64(..2) == 0 {
        bits &= random.u64(..);
    }
    // Bits that this row uses, as far as its format says.
    let mut used = layout.op.mask() | layout.op_high.mask() | layout.fixed;
    for desc in info.operands {
        let field = layout.slot(desc.slot);
        if field.width == 0 {
            continue;
        }
        used |= field.mask();
        let value = match field.width {
            9 => source(random),
            8 if random.u64(..2) == 0 => source(random) & 0xff,
            7 if random.u64(..3) == 0 => 96 + random.u64(..32),
            _ => random.u64(..),
        };
        bits = bits & !field.mask() | field.put(value);
    }
    // Modifiers: each is neutral, random or full.
    for (_, field) in layout.mods {
        used |= field.mask();
        match random.u64(..4) {
            0 => bits |= field.mask(),
            1 => {}
            _ => bits &= !field.mask(),
        }
    }
    if let Some(code) = code {
        bits = bits & !layout.op.mask() & !layout.op_high.mask() | layout.put_code(code);
    }
    // Reserved bits are clear, or one of them is set.
    match random.u64(..8) {
        0 => {}
        1 => bits = bits & used | 1 << random.u64(..64),
        2 => bits &= layout.used,
        _ => bits &= used,
    }
    bits = bits & !prefix(layout.fixed, info.format, encoding) | layout.fixed;
    if random.u64(..20) == 0 {
        bits ^= layout.op.put(random.u64(..));
    }
    if random.u64(..50) == 0 {
        bits = bits & !0xffff_ffff | random.u64(..1 << 32);
    }
    let third = if random.u64(..3) == 0 { random.u64(..200) as u32 } else { random.u64(..) as u32 };
    let second = (bits >> 32) as u32;
    let second = if layout.dwords == 1 && random.u64(..4) == 0 {
        [1, 0x3f80_0000, 0x3c00, 0xffff_fff0][random.u64(..4) as usize]
    } else {
        second
    };
    [bits as u32, second, third]
}

/// Whether the disassembler dies of an instruction in these dwords: of the SDWA selector 7, and of the source value of a literal where there can
/// be none (VOP3, its scalar destination, buffer offsets). GFX8-9 have none of these instructions.
fn kills([first, second]: [u32; 2]) -> bool {
    let selector = |pos: u32| second >> pos & 7 == 7;
    let source = |pos: u32| second >> pos & 0x1ff == 255;
    let sdwa = first >> 31 == 0 && first & 0x1ff == 0xf9;
    match first >> 26 {
        0b110100 => first & 0xff == 0xff || source(0) || source(9) || source(18),
        0b111000 | 0b111010 => second >> 24 == 0xff,
        _ => sdwa && (selector(8) || selector(16) || selector(24) || second >> 11 & 3 == 3),
    }
}

/// The bits of the first dword that tell the format (and the extension markers).
fn prefix(fixed: u64, format: Format, encoding: Encoding) -> u64 {
    let extension =
        if matches!(encoding, Encoding::Sdwa | Encoding::Dpp | Encoding::Dpp8) { 0x1ff } else { 0 };
    let top: u64 = match format {
        Format::Vop2 => 1,
        Format::Vop1 | Format::Vopc => 7,
        Format::Sop2 => 2,
        Format::Sopk => 4,
        Format::Sop1 | Format::Sopc | Format::Sopp => 9,
        Format::Vop3p => 9,
        _ => 6,
    };
    let top = if encoding == Encoding::E64 && format != Format::Vop3p { 6 } else { top };
    let _ = fixed;
    (u64::from(u32::MAX) << (32 - top)) & 0xffff_ffff | extension
}

/// What the disassembler made of a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Theirs {
    /// Text of the first instruction.
    Text(String),
    Invalid,
    /// The disassembler died of it.
    Crash,
}

/// What the disassembler makes of each pattern. Where it dies, halves are tried until the pattern is found.
fn disassemble(target: &Target, patterns: &[[u32; 3]]) -> Option<Vec<Theirs>> {
    let mut results = Vec::with_capacity(patterns.len());
    let mut pending = vec![patterns];
    while let Some(patterns) = pending.pop() {
        match run(target, patterns)? {
            Some(texts) => results.extend(texts),
            None if patterns.len() == 1 => results.push(Theirs::Crash),
            None => {
                let (first, second) = patterns.split_at(patterns.len() / 2);
                pending.extend([second, first]);
            }
        }
    }
    Some(results)
}

/// One run of the disassembler; `Some(None)` where it died.
fn run(target: &Target, patterns: &[[u32; 3]]) -> Option<Option<Vec<Theirs>>> {
    let mut child = Command::new(LLVM_MC)
        .args(llvm_flags(target))
        .arg("-disassemble")
        .env("LLVM_DISABLE_SYMBOLIZATION", "1")
        .env("LLVM_DISABLE_CRASH_REPORT", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    let mut input = String::new();
    for (i, pattern) in patterns.iter().enumerate() {
        let marker = 0xbf80_0000 | (i as u32 & 0xffff);
        for word in pattern.iter().chain(&[marker; 3]) {
            for byte in word.to_le_bytes() {
                let _ = write!(input, "{byte:#04x} ");
            }
        }
        input.push('\n');
    }
    // A disassembler that dies does not read everything.
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().ok()?;
    writer.join().ok()?;
    if !output.status.success() {
        return Some(None);
    }
    let mut invalid = HashSet::new();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let mut parts = line.splitn(4, ':');
        if let (Some("<stdin>"), Some(number), Some("1")) = (parts.next(), parts.next(), parts.next())
            && let Ok(number) = number.parse::<usize>()
        {
            invalid.insert(number - 1);
        }
    }
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut lines = stdout.lines().map(|l| l.trim()).filter(|l| !l.is_empty()).peekable();
    let mut results = Vec::with_capacity(patterns.len());
    for i in 0..patterns.len() {
        let number = i & 0xffff;
        let marker = if number <= 64 { format!("s_nop {number}") } else { format!("s_nop {number:#x}") };
        let mut first = None;
        let mut ended = false;
        for line in lines.by_ref() {
            ended = line == marker;
            if ended {
                break;
            }
            first.get_or_insert(line);
        }
        if !ended {
            return Some(None);
        }
        while lines.next_if(|l| *l == marker).is_some() {}
        results.push(match first {
            Some(text) if !invalid.contains(&i) => {
                Theirs::Text(text.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            _ => Theirs::Invalid,
        });
    }
    Some(Some(results))
}

/// Whether a lane of a vector register goes to M0: hardware can, LLVM's register classes cannot.
fn writes_m0_from_lane(text: &str) -> bool {
    ["v_readfirstlane_b32 m0", "v_readlane_b32 m0"].iter().any(|start| text.starts_with(start))
}

/// Vector registers of an operand: the first, and how many.
fn vector(operand: &str) -> Option<(u32, u32)> {
    match operand.strip_prefix("v[") {
        Some(range) => {
            let (first, last) = range.strip_suffix(']')?.split_once(':')?;
            let [first, last] = [first, last].map(|number| number.parse::<u32>().ok());
            Some((first?, last? + 1 - first?))
        }
        None => Some((operand.strip_prefix('v')?.parse().ok()?, 1)),
    }
}

/// Whether two texts of an image instruction differ in the sizes of data and address alone, of which no instruction has those that the fields ask for:
/// there are no samples to filter, an atomic operation has one or two dwords, registers end at v255.
fn sizes_without_opcode(ours: &str, theirs: &str) -> bool {
    /// Data and addresses are at most so many registers.
    const MOST: u32 = 13;
    let parts = |text: &str| -> Option<(String, Vec<String>, String)> {
        let (name, rest) = text.split_once(' ')?;
        // Addresses one by one are one operand.
        let (data, rest) = rest.split_once(", ")?;
        let (address, rest) = match rest.starts_with('[') {
            true => rest.split_once("], ")?,
            false => rest.split_once(", ")?,
        };
        Some((name.to_owned(), vec![data.to_owned(), address.to_owned()], rest.to_owned()))
    };
    let (Some(ours), Some(theirs)) = (parts(ours), parts(theirs)) else { return false };
    let ends = |operand: &String| vector(operand).is_some_and(|(first, _)| first + MOST > 256);
    let impossible =
        ours.2.contains("_MSAA") || ours.0.starts_with("image_atomic") || ours.1.iter().any(ends);
    let starts = |operand: &String| match operand.strip_prefix('[') {
        Some(list) => list.split(',').next().and_then(vector).map(|(first, _)| first),
        None => vector(operand).map(|(first, _)| first),
    };
    let same_start = ours.1.iter().zip(&theirs.1).all(|(a, b)| starts(a).is_some() && starts(a) == starts(b));
    ours.0.starts_with("image_") && ours.0 == theirs.0 && ours.2 == theirs.2 && impossible && same_start
}

/// Why we differ on GFX10, where the fault is LLVM's.
fn excuse_of_gfx10(
    words: &[u32; 3],
    ours: &Result<String, DecodeError>,
    theirs: &Theirs,
) -> Option<&'static str> {
    // The first six bits of what may be decoded: the pattern, or what follows it.
    let is_image = |word: u32| word >> 26 == 0b111100;
    let Theirs::Text(theirs) = theirs else {
        let crash = *theirs == Theirs::Crash;
        return (crash && words.iter().any(|word| is_image(*word)))
            .then_some("crash on an image instruction whose sizes have no opcode");
    };
    match ours {
        Ok(ours) if sizes_without_opcode(ours, theirs) => {
            Some("sizes of an image instruction that have no opcode, left as they are first")
        }
        Err(DecodeError::BadOperand { name: "vaddr", .. }) if is_image(words[0]) => {
            Some("number of image addresses that its assembler refuses")
        }
        Err(DecodeError::Truncated) if is_image(words[0]) => Some("addresses behind the end of the pattern"),
        Ok(ours) if ours.starts_with("v_fma_mix") && ours.contains("0x") => {
            Some("literal of mixed precision printed as its low half")
        }
        Ok(ours) if ours.starts_with("s_version") => Some("bits of a version by name"),
        Ok(ours) if ours.starts_with("v_movrelsd_b32_sdwa") => Some("scalar source of a relative move"),
        Err(DecodeError::BadOperand { name: "src0", .. }) if theirs.starts_with("s_movrelsd") => {
            Some("constant as source of a relative move")
        }
        Err(DecodeError::UnknownOpcode { .. }) if theirs.starts_with("v_pk_fmac_f16_dpp") => {
            Some("DPP of packed halves, which the manual does not have")
        }
        Err(DecodeError::ReservedBits(_)) if theirs.starts_with("v_dot4c_i32_i8_dpp") => {
            Some("signs of integers left out")
        }
        Err(DecodeError::ReservedBits(_)) if theirs.starts_with("v_cvt_pkrtz_f16_f32_sdwa") => {
            Some("scale of a packed result")
        }
        Err(DecodeError::ReservedBits(_)) if theirs.starts_with("v_cmpx_class") => {
            Some("sign of a mask of classes left out")
        }
        Err(DecodeError::ReservedBits(_)) if theirs.contains("16 v") && theirs.contains(" clamp") => {
            Some("clamp of 16-bit integers that cannot saturate")
        }
        _ => None,
    }
}

/// Why we differ from LLVM, where the fault is LLVM's: it prints registers that the processor does not have, and texts that its own assembler
/// refuses or gives other bytes for.
fn excuse(
    words: &[u32; 3],
    ours: &Result<String, DecodeError>,
    theirs: &Theirs,
    generation: Generation,
) -> Option<&'static str> {
    if generation == Generation::Gfx10
        && let Some(reason) = excuse_of_gfx10(words, ours, theirs)
    {
        return Some(reason);
    }
    let flat = words[0] >> 26 == 0b110111;
    let literals = |text: &str| text.contains("lit(");
    if flat && words[1] >> 23 & 1 != 0 {
        return Some(
            "NV (TFE on GFX8) of FLAT taken for the bit that selects accumulation registers on gfx90a",
        );
    }
    if *theirs == Theirs::Crash && matches!(ours, Ok(text) if text.starts_with("v_mad")) {
        return Some("crash on a mandatory literal 0xff");
    }
    if *theirs == Theirs::Invalid && matches!(ours, Ok(text) if text.contains("src_lds_direct")) {
        return Some("LDS data as a source of four registers");
    }
    let Theirs::Text(theirs) = theirs else { return None };
    let error = match ours {
        Err(error) => error,
        Ok(ours)
            if ["v_nop", "v_clrexcp"].iter().any(|name| theirs.starts_with(name))
                && ["_e64", "_sdwa", "_dpp"].iter().any(|suffix| ours.replacen(suffix, "", 1) == *theirs) =>
        {
            return Some("encoding of an instruction without operands, which LLVM's text does not tell");
        }
        Ok(ours) if literals(ours) && !literals(theirs) && ours.contains("f64") => {
            return Some("literal of a double printed as an inline constant");
        }
        Ok(ours) if literals(ours) && words[1] >> 16 != 0 => {
            return Some("bits of a literal above a 16-bit operand, which its assembler refuses");
        }
        Ok(ours) if ours.starts_with("image_gather4") && ours.contains(" tfe") && ours.contains(" d16") => {
            return Some("gather of two packed registers and a status counted as two");
        }
        Ok(ours) if ours.starts_with("v_mad") && (0x80..0xf9).contains(&words[1]) => {
            return Some("mandatory literal printed as the inline constant of that number");
        }
        Ok(ours) if writes_m0_from_lane(ours) && theirs.contains("/*") => {
            return Some("M0 as destination, which its assembler refuses");
        }
        Ok(ours) if ours.starts_with("v_interp_p2_f16") => return Some("op_sel where the manual has none"),
        Ok(ours) if ours.starts_with("ds_swizzle") => {
            return Some("bits that a pattern has no use for left out");
        }
        Ok(ours) if ours.starts_with("v_ldexp_f16") => return Some("exponent shown as a float"),
        Ok(ours) if ours.starts_with("s_sendmsg") && words[0] & 0xfc80 != 0 => {
            return Some("bits of a message that it has no field for left out");
        }
        Ok(ours) if ours.starts_with("s_waitcnt 0x") => {
            return Some("bits that belong to no counter left out");
        }
        Ok(_) => return None,
    };
    const LATER: [&str; 2] = ["null", "src_flat_scratch_base_"];
    const GFX9: [&str; 5] = [
        "src_shared_base",
        "src_shared_limit",
        "src_private_base",
        "src_private_limit",
        "src_pops_exiting_wave_id",
    ];
    let has = |names: &[&str]| names.iter().any(|n| theirs.contains(n));
    let mut tuples = theirs.split("v[").skip(1);
    if theirs.contains("/*") {
        return Some("marked as invalid in the text");
    }
    if matches!(error, DecodeError::BadTuple { .. }) {
        return Some("scalar tuple off its alignment, printed as the one before");
    }
    if tuples.any(|t| t.split([':', ']']).nth(1).and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| n > 255))
    {
        return Some("VGPRs beyond v255");
    }
    if has(&LATER) || (generation < Generation::Gfx9 && has(&GFX9)) {
        return Some("special registers of later generations");
    }
    if theirs.contains("f64") && theirs.contains("_dpp ") {
        return Some("DPP of doubles, which only gfx90a has");
    }
    if theirs == "v_nop" || theirs == "v_clrexcp" {
        return Some("extension dwords of v_nop that do not fit, taken for the next instruction");
    }
    if theirs.contains("src_")
        && matches!(error, DecodeError::BadOperand { name: "sdst" | "vdst" | "vsrc" | "src0" | "src1", .. })
    {
        return Some("read-only registers where only VGPRs or writable SGPRs can be");
    }
    if theirs.starts_with("ds_gws_") && words[0] >> 25 & 1 != 0 {
        return Some("bit that selects accumulation registers on gfx90a");
    }
    if matches!(error, DecodeError::BadOperand { name: "saddr", value: 0x7e }) {
        return Some("EXEC as an address");
    }
    if theirs.starts_with("v_align") && theirs.contains(" clamp") {
        return Some("clamp of what cannot saturate");
    }
    if matches!(error, DecodeError::BadOperand { name: "src2", .. }) && theirs.contains("_e64") {
        return Some("lane masks in VGPRs");
    }
    if flat && matches!(error, DecodeError::ReservedBits(_)) && theirs.contains(" offset:") {
        return Some("offsets of FLAT that the generation does not have");
    }
    None
}

/// Compares decoder and disassembler on all of `patterns`, and reports differences by what may be one cause.
fn compare(target: &Target, patterns: impl Iterator<Item = [u32; 3]>) {
    let mut failures: BTreeMap<(String, &str), (usize, Vec<String>)> = BTreeMap::new();
    let mut excused: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut done, mut failed, mut valid) = (0, 0, 0);
    let mut patterns = patterns.peekable();
    while patterns.peek().is_some() {
        let batch: Vec<_> = patterns.by_ref().take(BATCH).collect();
        done += batch.len();
        let Some(results) = disassemble(target, &batch) else {
            eprintln!("skipped: cannot run {LLVM_MC}");
            return;
        };
        for (words, theirs) in batch.iter().zip(results) {
            let ours = decode_lenient(words, target).map(|(inst, _)| {
                inst.display(target).to_string().split_whitespace().collect::<Vec<_>>().join(" ")
            });
            valid += usize::from(matches!(theirs, Theirs::Text(_)));
            let agreed = match (&ours, &theirs) {
                (Err(_), Theirs::Invalid) => true,
                (Ok(ours), Theirs::Text(theirs)) => ours == theirs,
                _ => false,
            };
            if agreed {
                continue;
            }
            if let Some(reason) = excuse(words, &ours, &theirs, target.generation()) {
                *excused.entry(reason).or_default() += 1;
                continue;
            }
            failed += 1;
            let key = match (&ours, &theirs) {
                (_, Theirs::Text(text)) | (Ok(text), _) => {
                    text.split(' ').next().unwrap_or_default().to_owned()
                }
                _ => format!("{:#04x}", words[0] >> 24),
            };
            let kind = match (&ours, &theirs) {
                (_, Theirs::Crash) => "crash",
                (Ok(_), Theirs::Invalid) => "valid only here",
                (Err(_), _) => "invalid only here",
                _ => "text",
            };
            let text = match &ours {
                Ok(text) => format!("`{text}`"),
                Err(e) => e.to_string(),
            };
            let entry = failures.entry((key, kind)).or_default();
            entry.0 += 1;
            if entry.1.len() < 2 {
                entry.1.push(format!(
                    "{:08x} {:08x} {:08x}: {text}, LLVM {theirs:?}",
                    words[0], words[1], words[2]
                ));
            }
        }
    }
    for (reason, n) in &excused {
        println!("{target}: {n} excused: {reason}");
    }
    println!("{target}: {done} patterns, {valid} valid, {failed} disagree");
    let mut report = String::new();
    for ((key, kind), (n, examples)) in &failures {
        let _ = writeln!(report, "{n:6} {kind} {key}\n         {}", examples.join("\n         "));
    }
    assert!(failed == 0, "{target}: {failed} of {done} patterns ({valid} valid) disagree:\n{report}");
    assert!(valid * 3 > done, "{target}: only {valid} of {done} patterns are instructions");
}

fn patterns_wanted() -> usize {
    std::env::var("DECODE_PATTERNS").ok().and_then(|n| n.parse().ok()).unwrap_or(25_000)
}

/// Random patterns.
fn random(processor: &str, seed: u64) {
    let count = patterns_wanted();
    let target = target(processor);
    let rows = rows(&target);
    let mut random = Rng::with_seed(seed);
    compare(&target, (0..count).map(|_| harmless(|| pattern(&mut random, &rows, target.generation()))));
}

/// The first of the patterns that does not kill the disassembler.
fn harmless(mut next: impl FnMut() -> [u32; 3]) -> [u32; 3] {
    loop {
        let [a, b, c] = next();
        if ![[a, b], [b, c], [c, 0xbf80_0000]].into_iter().any(kills) {
            return [a, b, c];
        }
    }
}

#[test]
fn gfx803() {
    random("gfx803", 1);
}

#[test]
fn gfx900() {
    random("gfx900", 2);
}

#[test]
fn gfx906() {
    random("gfx906", 3);
}

#[test]
fn gfx90c() {
    random("gfx90c", 4);
}

#[test]
fn gfx1010() {
    random("gfx1010", 5);
}

#[test]
fn gfx1030() {
    random("gfx1030", 6);
}

/// Whether a constant is an argument of `sext()`.
fn extends_constant(text: &str) -> bool {
    text.split("sext(").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
}

/// Whether a pair of scalar registers and a half of it are among the operands: LLVM's assembler counts them as two on the constant bus.
fn has_pair_and_half(text: &str) -> bool {
    let operands: Vec<_> = text.split([' ', ',', '|', '-', '(', ')']).collect();
    operands.iter().any(|operand| match operand.strip_suffix(']').and_then(|pair| pair.split_once('[')) {
        Some((file, numbers)) => {
            numbers.split(':').any(|number| operands.contains(&format!("{file}{number}").as_str()))
        }
        None => ["_lo", "_hi"].iter().any(|half| operands.contains(&format!("{operand}{half}").as_str())),
    })
}

/// Whether LLVM's assembler lacks what its disassembler prints: modifiers that it finds without meaning, and texts that mean other
/// bytes to it.
fn refused_in_text(text: &str, theirs: &Result<(String, Vec<u8>), String>) -> bool {
    const COMPLAINTS: [&str; 12] = [
        "TFE modifier has no meaning for store instructions",
        "invalid atomic image dmask",
        "image data size does not match dmask and tfe",
        "invalid image_gather dmask",
        "only 4-bit values are legal",
        "lds_direct may be used as src0 only",
        "lds_direct cannot be used with this instruction",
        "out of bounds interpolation attribute number",
        "register not available on this GPU",
        "expected a 20-bit unsigned offset",
        // Float constants of 16-bit integers are printed by value.
        "literal operands are not supported",
        "more than one literal",
    ];
    match theirs {
        Err(complaint) => {
            let flat = ["flat_", "global_", "scratch_"].iter().any(|f| text.starts_with(f));
            COMPLAINTS.iter().any(|c| complaint.contains(c))
                || (flat && (text.contains(" tfe") || text.contains(" nv")))
                || (text.starts_with("image_gather4") && text.contains(" tfe") && text.contains(" d16"))
                // Literals as mask or target of a fork.
                || text.starts_with("s_cbranch_g_fork")
                || writes_m0_from_lane(text)
                // VCC may also be read by what names it nowhere.
                || (complaint.contains("constant bus")
                    && (text.contains("vcc_lo") || text.contains("vcc_hi") || has_pair_and_half(text)))
                || (complaint.contains("invalid operand for instruction") && text.contains("src_lds_direct"))
                // Apertures where it wants SGPRs that can be written too.
                || (text.contains("src_") && ["s_movrels_", "s_setpc_", "s_swappc_", "s_cbranch_join", "s_rfe_"].iter().any(|start| text.starts_with(start)))
                || text.starts_with("exp invalid_target")
                || text.contains("src_vccz")
                || text.contains("src_execz")
                || text.contains("src_scc")
                // Bits above a 16-bit literal.
                || text.starts_with("v_madmk_f16")
                || text.starts_with("v_madak_f16")
                // Constants of 16-bit integers in SDWA; partial results of what adds to its destination.
                || (text.contains("_sdwa") && (text.contains(" 0x") || text.starts_with("v_mac_f") || extends_constant(text)))
        }
        Ok((again, _)) if again == text => {
            text.contains("16_e")
                || text.contains("_b16")
                // Selectors of a source that is not there; an encoding that no text names.
                || ["v_pk_", "v_dot", "v_nop", "v_clrexcp"].iter().any(|start| text.starts_with(start))
        }
        // It knows no `lit()` there, and takes the short form.
        Ok((again, _)) if again.contains("s_load_") || again.contains("s_buffer_load_") => {
            text.contains(", lit(")
        }
        // It reads a float as an integer there.
        Ok(_) => text.starts_with("s_setreg_imm32_b32") && text.contains('.'),
    }
}

/// What the decoder gives for random patterns must assemble to the same bytes. LLVM has no other witness for GFX6 and GFX7.
fn reassembled(processor: &str, seed: u64) {
    let count = patterns_wanted() / 2;
    let target = target(processor);
    let rows = rows(&target);
    let mut random = Rng::with_seed(seed);
    let cases: Vec<(String, Vec<u8>)> = (0..count)
        .filter_map(|_| {
            let words = pattern(&mut random, &rows, target.generation());
            let (inst, length) = decode(&words, &target).ok()?;
            let bytes = words[..length].iter().flat_map(|w| w.to_le_bytes()).collect();
            Some((inst.display(&target).to_string(), bytes))
        })
        .collect();
    assert!(
        cases.len() * 4 > count,
        "{processor}: only {} of {count} patterns are instructions",
        cases.len()
    );
    let lines: Vec<_> = cases.iter().map(|(text, _)| text.as_str()).collect();
    let Some(results) = assemble(&target, &lines) else {
        eprintln!("skipped: cannot run {LLVM_MC}");
        return;
    };
    let mut failures = Vec::new();
    let mut excused = 0;
    for ((text, bytes), theirs) in cases.iter().zip(results) {
        match theirs {
            Ok((_, theirs)) if theirs == *bytes => {}
            theirs if refused_in_text(text, &theirs) => excused += 1,
            other => failures.push(format!("`{text}` {bytes:02x?}: LLVM {other:02x?}")),
        }
    }
    println!("{processor}: {} instructions, {excused} excused, {} differ", cases.len(), failures.len());
    let shown = failures.len().min(60);
    assert!(
        failures.is_empty(),
        "{processor}: {} of {} differ:\n{}",
        failures.len(),
        cases.len(),
        failures[..shown].join("\n")
    );
}

#[test]
fn reassembled_gfx600() {
    reassembled("gfx600", 6);
}

#[test]
fn reassembled_gfx700() {
    reassembled("gfx700", 7);
}

#[test]
fn reassembled_gfx803() {
    reassembled("gfx803", 8);
}

#[test]
fn reassembled_gfx906() {
    reassembled("gfx906", 9);
}

/// Every bit of an encoding of every row, flipped.
fn flipped_bits(processor: &str) {
    let target = target(processor);
    let generation = target.generation();
    let mut patterns = Vec::new();
    let mut source = Rng::with_seed(5);
    for (op, encoding) in rows(&target) {
        let Some(layout) = layout(op.info(), encoding, generation) else { continue };
        // A valid encoding to start from.
        let base = (0..100_000)
            .map(|_| harmless(|| pattern(&mut source, &[(op, encoding)], generation)))
            .find(|words| decode(words, &target).is_ok_and(|(inst, _)| inst.op == op));
        let Some(base) = base else { panic!("{op:?} {encoding:?}: no valid encoding found") };
        for bit in 0..32 * usize::from(layout.dwords) {
            let mut words = base;
            words[bit / 32] ^= 1 << (bit % 32);
            if ![[words[0], words[1]], [words[1], words[2]], [words[2], 0xbf80_0000]].into_iter().any(kills) {
                patterns.push(words);
            }
        }
    }
    compare(&target, patterns.into_iter());
}

#[test]
fn flipped_bits_gfx803() {
    flipped_bits("gfx803");
}

#[test]
fn flipped_bits_gfx906() {
    flipped_bits("gfx906");
}

/// Immediates with names inside: a part of all values, all with `DECODE_PATTERNS`.
#[test]
fn immediates() {
    let step = if std::env::var_os("DECODE_PATTERNS").is_some() { 1 } else { 13 };
    for processor in ["gfx803", "gfx900"] {
        let target = target(processor);
        for base in [
            0xbf8c_0000_u32, // s_waitcnt
            0xbf90_0000,     // s_sendmsg
            0xbf9d_0000,     // s_set_gpr_idx_mode
            0xb880_0000,     // s_getreg_b32
            0xd87a_0000,     // ds_swizzle_b32
        ] {
            compare(&target, (0..0x1_0000).step_by(step).map(|imm| [base | imm, 0, 0x7e00_0300]));
        }
    }
}
