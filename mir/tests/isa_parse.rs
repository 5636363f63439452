//! The assembler's parser: what the printer writes is read back to the same bytes, for every row and encoding; without suffixes it takes the
//! encoding that llvm-mc takes; known lines of every syntax, and errors with their place; and no text makes it panic.
//!
//! Comparison with LLVM is skipped with a message where `llvm-mc-22` is not installed.

mod common;

use common::{LLVM_MC, llvm_flags, rows, target};
use fastrand::Rng;
use mir::isa::format::{Mod, Slot, layout};
use mir::isa::parse::{Parsed, Parser};
use mir::isa::{Format, ImageParts, OpFlags, Opcode, OperandKind, ValueType, decode};
use mir::machine::{Encoding, Inst, ModFlags, Reg};
use mir::target::Target;
use mir::target::operands::DPP8;
use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const PROCESSORS: [&str; 9] =
    ["gfx600", "gfx700", "gfx801", "gfx803", "gfx810", "gfx900", "gfx906", "gfx1010", "gfx1030"];

fn parse<'a>(text: &'a str, target: &Target) -> mir::Result<Parsed<'a>> {
    Parser::new(target).parse(text, 1, &|_| None)
}

fn hex(words: &[u32]) -> String {
    words.iter().flat_map(|word| word.to_le_bytes()).fold(String::new(), |mut all, byte| {
        let _ = write!(all, "{byte:02x}");
        all
    })
}

/// Bits of `layout` that operands and modifiers fill in.
fn free_bits(op: Opcode, encoding: Encoding, target: &Target) -> Option<(u64, u64)> {
    use Slot::*;
    const SLOTS: [Slot; 21] = [
        Vdst, Sdst, Src0, Src1, Src2, Simm, Addr, Data0, Data1, Srsrc, Ssamp, Soffset, Saddr, Sbase, Sdata,
        Attr, Target, Exp0, Exp1, Exp2, Exp3,
    ];
    let info = op.info();
    let generation = target.generation();
    let layout = layout(info, encoding, generation)?;
    let code = if encoding == Encoding::E64 && info.format != Format::Vop3p {
        info.vop3_code(generation)?
    } else {
        info.code(generation)?
    };
    let fields =
        SLOTS.iter().map(|slot| layout.slot(*slot)).chain(layout.mods.iter().map(|(_, field)| *field));
    let free = fields.fold(0, |bits, field| bits | field.mask());
    let fixed = layout.fixed | layout.put_code(code);
    let mut fixed = fixed;
    for (what, field) in layout.mods {
        fixed |= match what {
            Mod::Dpp8Marker => field.put(u64::from(DPP8[0])),
            // Rays imply these.
            Mod::Dmask | Mod::Flag(ModFlags::UNORM | ModFlags::R128)
                if info.image.contains(ImageParts::RAY) =>
            {
                field.mask()
            }
            _ => 0,
        };
    }
    let marker = layout.mods.iter().find(|(what, _)| *what == Mod::Dpp8Marker);
    let free = free & !marker.map_or(0, |(_, field)| field.mask());
    // An extension dword is announced in the field of source 0.
    Some((fixed, free & !fixed))
}

/// Instructions of every row and encoding: random bits that decode.
fn instructions(target: &Target) -> Vec<(Inst, Vec<u32>)> {
    let mut random = Rng::with_seed(7);
    let mut all = Vec::new();
    let mut missing = Vec::new();
    for (op, encoding) in rows(target) {
        let Some((fixed, free)) = free_bits(op, encoding, target) else { continue };
        let mut found = 0;
        for attempt in 0..4000u32 {
            // Modifiers seldom go together: mostly few bits.
            let mut bits = random.u64(..);
            for _ in 0..attempt % 5 {
                bits &= random.u64(..);
            }
            let bits = fixed | bits & free;
            let words = [bits as u32, (bits >> 32) as u32, random.u64(..) as u32];
            let Ok((inst, length)) = decode(&words, target) else { continue };
            let same = inst.op == op && (inst.encoding == encoding || inst.encoding == Encoding::Auto);
            if same {
                all.push((inst, words[..length].to_vec()));
                found += 1;
                if found == 6 {
                    break;
                }
            }
        }
        if found == 0 {
            missing.push((op, encoding));
        }
    }
    assert!(missing.len() <= 8, "{target}: rows without instruction: {missing:?}");
    all
}

/// Whether the text does not say all that the instruction is.
fn is_silent(inst: &Inst, text: &str) -> bool {
    let info = inst.op.info();
    // A register and a pair that begins with it: one value on the constant bus for the hardware, two for LLVM.
    let scalars: Vec<_> = inst.operands[info.def_count()..]
        .iter()
        .filter_map(|o| o.as_reg().filter(|r| matches!(r.reg, Reg::Physical(p) if !p.is_vgpr())))
        .collect();
    // Registers of an address that follow each other are written as a run, which may also be encoded one by one.
    if info.image.contains(ImageParts::RAY) {
        return true;
    }
    let twice = scalars.iter().any(|a| scalars.iter().any(|b| a.reg == b.reg && a.dwords != b.dwords));
    if twice && info.operands.iter().any(|o| o.kind == OperandKind::VectorSrc) {
        return true;
    }
    // LLVM shows the float constant of a 16-bit integer as that of a half, which reads back as a literal.
    let float = info.operands.iter().zip(&inst.operands).any(|(desc, operand)| {
        let small = matches!(desc.ty, ValueType::B16 | ValueType::I16 | ValueType::U16);
        small && desc.slot != Slot::Simm && operand.as_imm().is_some_and(|value| value > 0xffff)
    });
    let hidden = match info.format {
        // Compressed exports name the registers of the enabled pairs alone.
        Format::Exp => inst.mods.flags.contains(ModFlags::COMPR),
        // Only the bits of sources that exist are listed, and none where there is nothing to select.
        Format::Vop3p => {
            let sources = info.operands.len() - info.def_count();
            let listed = if text.contains("op_sel_hi:") { (1 << sources) - 1 } else { 0 };
            let mix = info.flags.contains(OpFlags::MIX);
            (inst.mods.op_sel_hi | listed) & 7 != if mix && listed == 0 { 0 } else { 7 }
        }
        // Without operands nothing tells the encodings apart.
        _ => info.operands.is_empty() && !matches!(inst.encoding, Encoding::E32 | Encoding::Auto),
    };
    float || hidden || (inst.mods.flags.contains(ModFlags::NV) && !text.contains(" nv"))
}

#[test]
fn printed_text_reads_back() {
    let mut failures = Vec::new();
    for processor in PROCESSORS {
        let target = target(processor);
        let cases = instructions(&target);
        assert!(cases.len() > 3000, "{processor}: {} cases", cases.len());
        let (mut read, mut refused) = (0, Vec::new());
        for (inst, words) in &cases {
            let text = inst.display(&target).to_string();
            if is_silent(inst, &text) {
                continue;
            }
            let result = parse(&text, &target).map(|parsed| parsed.words);
            match result {
                Ok(ours) if ours[..] == words[..] => read += 1,
                Ok(ours) => failures.push(format!("{processor} {text}: {} not {}", hex(&ours), hex(words))),
                Err(error) => refused.push((text, error)),
            }
        }
        // Hardware ignores much that an assembler refuses; LLVM's must refuse it too.
        let lines: Vec<_> = refused.iter().map(|(text, _)| text.clone()).collect();
        assert!(read > 9 * lines.len(), "{processor}: {read} lines read back, {} refused", lines.len());
        for ((text, error), theirs) in refused.iter().zip(llvm(&lines, &target).unwrap_or_default()) {
            if theirs.is_ok() {
                failures.push(format!("{processor} {text}: {error}, LLVM {theirs:?}"));
            }
        }
    }
    let count = failures.len();
    failures.truncate(60);
    assert!(count == 0, "{count} failures\n{}", failures.join("\n"));
}

/// What llvm-mc makes of each line: bytes in hexadecimal, or its complaint. `None` where it is not installed.
fn llvm(lines: &[String], target: &Target) -> Option<Vec<Result<String, String>>> {
    let mut child = Command::new(LLVM_MC)
        .args(llvm_flags(target))
        .arg("-show-encoding")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    // A label before each line tells which output is whose.
    let input = lines.iter().enumerate().fold(String::new(), |mut all, (i, line)| {
        let _ = writeln!(all, "L{i}:\n{line}");
        all
    });
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().ok()?;
    writer.join().ok()?.ok()?;
    let mut results: Vec<_> = lines.iter().map(|_| Err("no output".to_owned())).collect();
    let mut current = 0;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some(number) = line.strip_prefix('L').and_then(|l| l.strip_suffix(':')?.parse().ok()) {
            current = number;
        } else if let Some((_, encoding)) = line.split_once("; encoding: [")
            && let Some((bytes, _)) = encoding.split_once(']')
        {
            results[current] = Ok(bytes.replace("0x", "").replace(',', ""));
        }
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let complaints: HashMap<usize, &str> = stderr
        .lines()
        .filter_map(|line| {
            let (place, message) = line.split_once(": error: ")?;
            let number: usize = place.split(':').nth(1)?.parse().ok()?;
            Some((number.checked_sub(2)? / 2, message))
        })
        .collect();
    for (i, message) in complaints {
        results[i] = Err(message.to_owned());
    }
    Some(results)
}

/// The text without its encoding suffix, or with another one; sometimes with another number or register.
fn variants(text: &str, random: &mut Rng) -> Vec<String> {
    let (mnemonic, rest) = text.split_once(' ').unwrap_or((text, ""));
    let base = ["_e32", "_e64", "_sdwa", "_dpp"].iter().find_map(|suffix| mnemonic.strip_suffix(suffix));
    let mut out = Vec::new();
    if let Some(base) = base {
        out.push(format!("{base} {rest}"));
    }
    // One word of the operands becomes another one.
    const WORDS: [&str; 12] =
        ["v1", "s1", "1.0", "0x12345", "-1", "vcc", "s[2:3]", "v[4:5]", "exec_lo", "off", "|v2|", "m0"];
    let parts: Vec<&str> = rest.split(", ").collect();
    if parts.len() > 1 {
        let place = random.u64(..parts.len() as u64) as usize;
        let word = WORDS[random.u64(..WORDS.len() as u64) as usize];
        let tail = parts[place].split_once(' ').map_or(String::new(), |(_, tail)| format!(" {tail}"));
        let mut parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        parts[place] = format!("{word}{tail}");
        out.push(format!("{} {}", base.unwrap_or(mnemonic), parts.join(", ")));
    }
    out
}

#[test]
fn llvm_chooses_the_same_encoding() {
    let mut failures = Vec::new();
    let mut compared = 0;
    for processor in ["gfx600", "gfx700", "gfx803", "gfx900"] {
        let target = target(processor);
        let mut random = Rng::with_seed(11);
        let mut lines = Vec::new();
        for (inst, _) in instructions(&target) {
            let text = inst.display(&target).to_string();
            if !is_silent(&inst, &text) {
                lines.extend(variants(&text, &mut random));
            }
        }
        let Some(results) = llvm(&lines, &target) else {
            eprintln!("skipped: cannot run {LLVM_MC}");
            return;
        };
        compared += lines.len();
        for (line, theirs) in lines.iter().zip(results) {
            // LLVM drops `|x|` of these on GFX7, and writes negative literals of 16 bits in 32. Its address probes take constants for the
            // number of the operation.
            let quirk = (line.starts_with("v_div_scale") && line.contains('|'))
                || line.starts_with("s_atc_probe")
                || (line.contains("k_f16") && line.contains(" -"));
            let ours = parse(line, &target).map(|parsed| hex(&parsed.words));
            match (ours, theirs) {
                _ if quirk => {}
                (Ok(ours), Ok(theirs)) if ours == theirs => {}
                (Err(_), Err(_)) => {}
                // A word that is no operand here is a symbol there, which a fixup (shown as letters) fills in.
                (Err(_), Ok(theirs)) if theirs.contains('A') => {}
                (ours, theirs) => failures.push(format!("{processor} {line}: {ours:?}, LLVM {theirs:?}")),
            }
        }
    }
    let count = failures.len();
    failures.truncate(80);
    assert!(count == 0, "{count} of {compared} differ\n{}", failures.join("\n"));
}

/// Values of llvm-mc 22: processor, line, bytes.
#[rustfmt::skip]
const KNOWN: &[(&str, &str, &str)] = &[
    ("gfx900", "v_add_f32 v0, 1.0, v1", "f2020002"),
    ("gfx900", "v_add_f32 v0, s1, v1 clamp mul:2", "008001d101020208"),
    ("gfx900", "v_ceil_f32 v0, neg(1.0)", "f33a007e"),
    ("gfx900", "v_nop_dpp quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf", "fa00007e00e400ff"),
    ("gfx1010", "v_nop_dpp row_shl:1", "fa00007e000101ff"),
    ("gfx1010", "v_nop_dpp dpp8:[7,6,5,4,3,2,1,0] fi:1", "ea00007e00773905"),
    ("gfx900", "flat_load_dwordx4 [v[8/2+4],v9,v[10],v[11/2+6]], v[2*2-2:3]", "00005cdc02000008"),
    ("gfx900", "s_waitcnt vmcnt(62) expcnt(6) lgkmcnt(14)", "6ece8cbf"),
    ("gfx900", "s_waitcnt vmcnt(0) & expcnt(0) & lgkmcnt(0)", "00008cbf"),
    ("gfx900", "s_waitcnt lgkmcnt_sat(16)", "7fcf8cbf"),
    ("gfx900", "s_getreg_b32 s2, {size: 32, id: 51}", "33f882b8"),
    ("gfx900", "s_setreg_b32 hwreg(HW_REG_GPR_ALLOC, 1, 31), s2", "45f002b9"),
    ("gfx900", "s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 1)", "220190bf"),
    ("gfx900", "s_set_gpr_idx_on s0, gpr_idx(SRC0,DST)", "000911bf"),
    ("gfx900", "ds_swizzle_b32 v8, v2 offset:swizzle(BITMASK_PERM, \"01pip\")", "07097ad802000008"),
    ("gfx803", "exp mrt0 v4, v3, off, off done", "030800c404030000"),
    ("gfx803", "v_interp_mov_f32 v5, p10, attr1.y", "000516d4"),
    ("gfx803", "v_mov_b32 v0, v0 quad_perm:[1,3,0,1] bank_mask:0x1 bound_ctrl:0", "fa02007e004d08f1"),
    ("gfx700", "s_load_dword s1, s[2:3], 0x1234", "ff8200c034120000"),
    ("gfx900", "tbuffer_load_format_xyzw v[1:4], off, s[4:7], dfmt:15, nfmt:2, s1", "008079e900010101"),
    ("gfx1010", "v_add_f32_e64 v0, s1, 0x12345678", "000003d501fe010078563412"),
    ("gfx1010", "v_mov_b32 v0, v1 dpp8:[7,6,5,4,3,2,1,0] fi:1", "ea02007e01773905"),
    ("gfx1010", "v_cmpx_lt_f32_e64 v1, v2", "7e0011d401050200"),
    ("gfx1010", "s_load_dword s1, s[2:3], s0 offset:0x10", "410000f410000000"),
    ("gfx1010", "image_load v[0:3], v[0:1], s[0:7] dmask:0xf dim:2D", "080f00f000000000"),
    (
        "gfx1010",
        "tbuffer_load_format_x v1, off, s[4:7], s1 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]",
        "0000b0e800010101",
    ),
    ("gfx1030", "s_waitcnt_depctr depctr_vm_vsrc(1)", "87ffa3bf"),
    ("gfx1030", "scratch_load_dword v1, off, off", "004030dc00007f01"),
    (
        "gfx1030",
        "image_bvh_intersect_ray v[39:42], [v50, v46, v23, v17, v16, v15, v21, v20], s[12:15] a16",
        "059f98f1322703402e1711100f151400",
    ),
    ("gfx1030", "v_cmp_eq_u32_e32 vcc_lo, v0, v1", "0003847d"),
    ("gfx900", "s_mov_b32 s0, -2+1", "c10080be"),
    ("gfx900", "s_branch 49617", "d1c182bf"),
    ("gfx600", "v_add_co_u32 v84, vcc, v13, v31", "546a4ad20d3f0200"),
];

#[test]
fn known_lines() {
    let mut failures = Vec::new();
    for (processor, line, bytes) in KNOWN {
        let target = target(processor);
        let ours = parse(line, &target).map(|parsed| hex(&parsed.words));
        if ours.as_deref().ok() != Some(*bytes) {
            failures.push(format!("{processor} {line}: {ours:?} instead of {bytes}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A literal dword where a shorter form would hold the value is written `lit()`, or the text would mean other bytes.
#[test]
fn literals_that_need_not_be_are_named() {
    let target = target("gfx700");
    for (words, text) in [
        ([0xc000_82ff, 0x0000_0007], "s_load_dword s1, s[2:3], lit(0x7)"),
        ([0xc000_82ff, 0x0000_0107], "s_load_dword s1, s[2:3], 0x107"),
        ([0x7e02_16ff, 0x0000_3c00], "v_cvt_f32_f16_e32 v1, lit(0x3c00)"),
        ([0x7e02_16ff, 0x0000_3c01], "v_cvt_f32_f16_e32 v1, 0x3c01"),
    ] {
        let (inst, length) = decode(&words, &target).expect("valid");
        assert_eq!((length, inst.display(&target).to_string()), (2, text.to_string()));
        assert_eq!(parse(text, &target).expect(text).words[..], words);
    }
    // Short by itself.
    let short = parse("s_load_dword s1, s[2:3], 0x7", &target).expect("valid");
    assert_eq!(short.words[..], [0xc000_8307]);
}

/// Processor, line, column, part of the message.
#[rustfmt::skip]
const WRONG: &[(&str, &str, u32, &str)] = &[
    ("gfx900", "v_nonsense v0", 1, "unknown instruction v_nonsense"),
    ("gfx803", "global_load_dword v0, v[1:2], off", 1, "not supported on gfx803"),
    ("gfx700", "v_add_f32_sdwa v0, v1, v2", 1, "sdwa variant"),
    ("gfx900", "v_add_f32 v0, s1, s2", 19, "constant bus"),
    ("gfx900", "v_add_f32 v0, v1", 17, "too few operands"),
    ("gfx900", "v_add_f32 v0, v1, v2, v3", 23, "invalid operand"),
    ("gfx900", "v_add_f32_e64 v0, 0x12345, v2", 19, "literal"),
    ("gfx900", "v_mov_b32 v256, 0", 11, "out of range"),
    ("gfx900", "s_mov_b64 s[1:2], 0", 11, "2 registers from s1"),
    ("gfx900", "s_mov_b32 s0, tba_lo", 15, "not available on gfx900"),
    ("gfx900", "s_and_b32 s0, 0x12345, 0x12346", 24, "more than one literal"),
    ("gfx900", "s_mov_b32 s0, 0x123456789", 15, "does not fit"),
    ("gfx900", "s_endpgm clamp", 10, "clamp is not supported"),
    ("gfx900", "ds_read_b32 v0, v1 offset:swizzle(SWAP,1)", 20, "swizzle is not supported"),
    ("gfx900", "v_mov_b32 v0, v1 quad_perm:[0,1,2,4]", 35, "invalid list element"),
    ("gfx900", "s_waitcnt vmcnt(64)", 17, "too large value for vmcnt"),
    ("gfx900", "image_load v[0:1], v[0:3], s[0:7] dmask:0x1", 35, "2 dwords instead of 1"),
    ("gfx900", "s_mov_b32 s0, [s1", 18, "closing square bracket"),
    ("gfx1010", "image_load v[0:3], v[0:1], s[0:7] dmask:0xf", 35, "missing dim operand"),
    ("gfx1010", "image_load v[0:3], v[0:2], s[0:7] dmask:0xf dim:2D", 35, "3 dwords instead of 2"),
    ("gfx1010", "scratch_load_dword v1, off, off", 24, "no register as operand vaddr"),
    ("gfx1030", "v_mac_f32 v0, v1, v2", 1, "not supported on gfx1030"),
    ("gfx900", "global_load_dword v1, v[3:4], off glc glc", 39, "duplicate modifier glc"),
];

#[test]
fn errors_say_what_and_where() {
    let mut failures = Vec::new();
    for (processor, line, column, part) in WRONG {
        let target = target(processor);
        let error = match parse(line, &target) {
            Ok(parsed) => {
                failures.push(format!("{line} is accepted: {}", hex(&parsed.words)));
                continue;
            }
            Err(error) => error,
        };
        let place = error.location.as_ref().map_or((0, 0), |at| (at.line, at.column));
        if place != (1, *column) || !error.message.contains(part) {
            failures.push(format!("{line}: {place:?} {error}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn exceptions_are_as_listed() {
    let mut count = 0;
    for line in include_str!("assembler_exceptions.txt").lines().filter(|line| !line.starts_with('#')) {
        let [does, processor, text, reason] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("four columns: {line}");
        };
        let result = parse(text, &target(processor)).map(|_| ());
        assert_eq!(result.is_ok(), does == "accepts", "{processor} {text}: {result:?}");
        assert!(!reason.is_empty());
        count += 1;
    }
    assert_eq!(count, 22);
}

/// Tokens of the language in any order.
fn soup() -> impl Strategy<Value = String> {
    const WORDS: [&str; 64] = [
        "v_add_f32",
        "s_mov_b64",
        "buffer_load_dword",
        "image_sample",
        "s_waitcnt",
        "exp",
        "ds_swizzle_b32",
        "s_sendmsg",
        "v_mov_b32_sdwa",
        "v_pk_add_u16",
        "s_setreg_b32",
        "global_load_dword",
        "tbuffer_load_format_x",
        "v0",
        "s[0:1]",
        "v[",
        "[s0",
        "ttmp[4:7]",
        "vcc",
        "exec",
        "m0",
        "src_shared_base",
        "off",
        "lit(",
        "neg(",
        "abs(",
        "sext(",
        "|",
        "-",
        ",",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        "1.0",
        "0x",
        "99999999999999999999",
        "1e400",
        "\"",
        "/*",
        "offset:",
        "swizzle(",
        "QUAD_PERM",
        "format:[",
        "op_sel:[1,",
        "quad_perm:[",
        "dst_sel:",
        "BYTE_0",
        "vmcnt(",
        "hwreg(",
        "sendmsg(",
        "MSG_GS",
        "gpr_idx(",
        "attr0.x",
        "mrt0",
        "p10",
        "glc",
        "noglc",
        "label@rel32@lo",
        "<<",
        "ä",
    ];
    prop::collection::vec((prop::sample::select(WORDS.to_vec()), any::<bool>()), 0..20).prop_map(|words| {
        words.into_iter().fold(String::new(), |all, (word, space)| all + if space { " " } else { "" } + word)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![any::<String>(), soup(), soup().prop_map(|s| format!("v_add_f32 v0, {s}"))]) {
        for processor in ["gfx600", "gfx803", "gfx900", "gfx1030"] {
            let target = target(processor);
            let error = parse(&text, &target).err();
            // What is wrong is somewhere in the line.
            let columns = text.chars().count() as u32 + 1;
            let at = error.and_then(|error| error.location);
            prop_assert!(at.is_none_or(|at| at.line == 1 && (1..=columns).contains(&at.column)));
        }
    }
}
