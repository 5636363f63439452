//! Damaged texts: the assembler answers every one with an object or with errors at their places, soon.
//!
//! Each case takes a text and changes bytes, tokens and lines of it, by a fixed seed. `GCNC_DAMAGED=20000` runs more
//! cases, `GCNC_DAMAGED_TEXTS=FOLDER` takes the `.s` files of a folder, too.

use emit::assemble::{Options, assemble_with};
use gcnc::{CompileOptions, FileType};
use mir::ErrorKind;
use mir::target::Target;
use std::time::{Duration, Instant};

/// Longest that one text may take.
const TIME_MAX: Duration = Duration::from_secs(2);

const MODULE: &str = r#"
@table = addrspace(1) constant [2 x ptr addrspace(1)] [ptr addrspace(1) @there, ptr addrspace(1) null]
@there = external hidden addrspace(1) global i32
declare i32 @other(i32)
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %y) {
  %a = load i32, ptr addrspace(1) @there
  %b = call i32 @other(i32 %a)
  %c = icmp eq i32 %b, %y
  br i1 %c, label %then, label %end
then:
  store i32 %b, ptr addrspace(1) %p
  br label %end
end:
  ret void
}
"#;

/// What compilers do not write.
const DIRECTIVES: &str = r#"
.macro twice a, b=2, rest:vararg
 .rept 2
 v_add_u32 v\a, v\b, v1
 .endr
 .if \b > 1
 twice \a, 1, \rest
 .else
 .print "\rest"
 .endif
.endm
 .altmacro
 .irp x, 1, 2, 3
 twice %1+2, \x, <a b>, c
 .endr
 .irpc c, abc
 .ascii "\c"
 .endr
1: s_branch 1b
 s_cbranch_scc0 1f
1:
 .section .foo,"axG",@progbits,grp,comdat,unique,3
 .section .str,"aMS",@progbits,1
.Ls: .asciz "text\n\101"
 .pushsection .data
 .subsection 1
 .quad .Ls+1, later - . , 5*(3+4)
 .popsection
 .set chain, later+4
 .comm shared, 64, 4
 .lcomm own, 8
 .amdgpu_lds lds, 64, 16
later: .fill 3, 4, 0x12345678
 .p2align 4, 0xff, 12
 .balignw 8, 0x1234
 .org 400
 .octa 0x112233445566778899aabbccddeeff
 .float 1.5, -nan, 1e10
 .uleb128 later - .Ls2, 300
.Ls2: .sleb128 -129
 .base64 "YWJj"
 .reloc 0, R_AMDGPU_ABS64, later+4
 .amdgcn_target "amdgcn-amd-amdhsa--gfx900:xnack-"
 .amdhsa_kernel kern
 .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
 .amdhsa_next_free_sgpr max(4, chain - later)
 .end_amdhsa_kernel
kern: s_mov_b64 s[0:1], exec
 v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
 buffer_load_dword v0, off, s[0:3], 0 offset:4095 glc slc
 image_sample v[0:3], v[4:5], s[0:7], s[8:11] dmask:0xf unorm
 s_waitcnt vmcnt(0) & lgkmcnt(1)
 s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 1)
 .amd_kernel_code_t
 wavefront_sgpr_count = 4
 .end_amd_kernel_code_t
"#;

/// Numbers on the edges of something.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "255",
    "256",
    "65535",
    "0x7fffffff",
    "0x80000000",
    "4294967296",
    "-9223372036854775808",
    "18446744073709551615",
    "1073741825",
    "99999999999999999999999",
];

/// What has a meaning between words.
const SIGNS: &[u8] = b" ,:;()[]{}+-*/\\\"'#@.\n";

/// A generator of random numbers: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Where the words of `line` are.
fn words(line: &str) -> Vec<std::ops::Range<usize>> {
    let mut out: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, c) in line.char_indices() {
        let part = c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '@');
        match out.last_mut() {
            Some(last) if part && last.end == at => last.end = at + c.len_utf8(),
            _ if part => out.push(at..at + c.len_utf8()),
            _ => {}
        }
    }
    out
}

/// `text` with some damage; lines and words of `other` get into it.
fn damaged(text: &str, other: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let others: Vec<&str> = other.lines().collect();
    for _ in 0..=random.below(6) {
        let a = random.below(lines.len());
        let b = random.below(lines.len());
        let foreign = others[random.below(others.len())];
        match random.below(9) {
            0 => drop(lines.remove(a)),
            1 => lines.insert(b, lines[a].clone()),
            2 => lines.swap(a, b),
            3 => lines.insert(a, foreign.to_owned()),
            4 | 5 => {
                // A word in the place of another.
                let (to, from) = (words(&lines[a]), words(foreign));
                if let (false, false) = (to.is_empty(), from.is_empty()) {
                    let (to, from) =
                        (to[random.below(to.len())].clone(), from[random.below(from.len())].clone());
                    lines[a].replace_range(to, &foreign[from]);
                }
            }
            6 => {
                let numbers: Vec<_> = words(&lines[a]);
                let numbers: Vec<_> = numbers
                    .iter()
                    .filter(|w| lines[a][w.start..].starts_with(|c: char| c.is_ascii_digit()))
                    .collect();
                if let Some(&word) = numbers.get(random.below(numbers.len())) {
                    let number = NUMBERS[random.below(NUMBERS.len())];
                    lines[a].replace_range(word.clone(), number);
                }
            }
            _ => {
                let mut bytes = std::mem::take(&mut lines[a]).into_bytes();
                if !bytes.is_empty() {
                    let at = random.below(bytes.len());
                    match random.below(3) {
                        0 => bytes[at] ^= 1 << random.below(8),
                        1 => bytes.truncate(at),
                        _ => bytes.insert(at, SIGNS[random.below(SIGNS.len())]),
                    }
                }
                lines[a] = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
    }
    lines.join("\n")
}

/// Texts to damage, with the systems that they are for.
fn texts() -> Vec<(String, Target)> {
    let mut all = Vec::new();
    let cases = [
        ("gfx600", "amdgcn--", None),
        ("gfx803", "amdgcn-mesa-mesa3d", None),
        ("gfx900", "amdgcn-amd-amdpal", None),
        ("gfx803", "amdgcn-amd-amdhsa", Some(2)),
        ("gfx906", "amdgcn-amd-amdhsa", Some(5)),
    ];
    for (cpu, triple, code_object_version) in cases {
        let options = CompileOptions {
            triple: triple.into(),
            cpu: cpu.into(),
            code_object_version,
            file_type: FileType::Asm,
            ..CompileOptions::default()
        };
        let output = gcnc::compile(MODULE.as_bytes(), "test.ll", &options).expect("compiled");
        let target = options.target(triple, None).expect("a target");
        all.push((String::from_utf8(output.bytes).expect("UTF-8"), target));
    }
    let hsa = all.last().map(|(_, target)| *target).expect("a target");
    all.push((DIRECTIVES.to_owned(), hsa));
    if let Ok(folder) = std::env::var("GCNC_DAMAGED_TEXTS") {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "s"));
        paths.sort();
        all.extend(paths.iter().map(|path| (std::fs::read_to_string(path).expect("UTF-8"), hsa)));
    }
    all
}

#[test]
fn every_damaged_text_gets_an_answer() {
    let count: usize = std::env::var("GCNC_DAMAGED").map_or(3000, |count| count.parse().expect("a number"));
    let texts = texts();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let read =
        |name: &str| if name.len() < 9 { Ok(b" .byte 1\n".to_vec()) } else { Err("no file".to_owned()) };
    let (mut refused, mut slowest) = (0, Duration::ZERO);
    for case in 0..count {
        let (text, target) = &texts[case % texts.len()];
        let other = &texts[random.below(texts.len())].0;
        let text = damaged(text, other, &mut random);
        let options = Options {
            read_file: Some(&read),
            version_is_given: random.below(2) == 0,
            note_lines: random.below(2) == 0,
            most_bytes: None,
        };
        let start = Instant::now();
        let result = assemble_with(&text, target, &options);
        let took = start.elapsed();
        assert!(took < TIME_MAX, "{took:?} for case {case}:\n{text}");
        slowest = slowest.max(took);
        let errors = match result {
            Ok(assembled) => {
                assert_eq!(assembled.object[..4], *b"\x7fELF");
                continue;
            }
            Err(errors) => errors,
        };
        refused += 1;
        assert!(!errors.is_empty(), "refused without a word, case {case}:\n{text}");
        for error in &errors {
            assert!(error.kind != ErrorKind::Defect, "{error} in case {case}:\n{text}");
        }
    }
    // Damage is mostly found, and some is none.
    assert!(refused > count / 4 && refused < count, "{refused} of {count} refused");
    println!("{refused} of {count} refused, the slowest took {slowest:?}");
}
