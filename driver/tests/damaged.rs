//! Readers of objects, notes, bundles, metadata and texts on damaged inputs: no panic, no hang, no unbounded memory.
//!
//! Each runs on 20,000 inputs that are the same every time: intact ones with bytes changed, inserted, left out, and fields set to what limits are
//! about. `GCNC_FUZZ_SECONDS=300` goes on for so long with other inputs each time. An input that a reader fails on is kept, and the message names the
//! file. `emit/fuzz` has the same readers as targets of a fuzzer.

#[allow(dead_code, reason = "each test file uses a part of it")]
mod common;
#[path = "../../emit/fuzz/src/readers.rs"]
mod readers;

use emit::bundle::{Part, compressed, offload_binary, plain, text};
use fastrand::Rng;
use gcnc::{CompileOptions, FileType};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Inputs of each reader.
const RUNS: usize = 20_000;

/// An input of this size takes less, by far.
const LONGEST: Duration = Duration::from_secs(5);

const KERNEL: &str = r#"
declare void @other()
@table = addrspace(1) global [2 x ptr addrspace(1)] [ptr addrspace(1) @table, ptr addrspace(1) null]
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %x) {
  %v = load i32, ptr addrspace(1) @table
  %c = icmp eq i32 %x, 0
  br i1 %c, label %a, label %b
a:
  store i32 %v, ptr addrspace(1) %p
  br label %b
b:
  call void @other()
  ret void
}
"#;

/// Objects of every version and system, and a linked one.
fn objects() -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    for version in [2, 3, 5] {
        let options = CompileOptions {
            triple: "amdgcn-amd-amdhsa".into(),
            cpu: "gfx900".into(),
            code_object_version: Some(version),
            ..Default::default()
        };
        out.push(common::compile_with(KERNEL, options).unwrap());
    }
    for triple in ["amdgcn-mesa-mesa3d", "amdgcn--amdpal"] {
        out.push(common::compile(KERNEL, triple, "gfx803").unwrap());
    }
    let alone = KERNEL.replace("  call void @other()\n", "");
    let options = CompileOptions {
        triple: "amdgcn-amd-amdhsa".into(),
        cpu: "gfx906".into(),
        file_type: FileType::Hsaco,
        ..Default::default()
    };
    out.push(gcnc::compile(alone.as_bytes(), "k", &options).unwrap().bytes);
    out
}

/// A damaged copy.
fn damage(bytes: &[u8], random: &mut Rng) -> Vec<u8> {
    const NUMBERS: [u64; 10] = [0, 1, 7, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 33, 1 << 63, u64::MAX];
    let mut out = bytes.to_vec();
    for _ in 0..random.usize(1..6) {
        if out.is_empty() {
            break;
        }
        // Headers and tables are at both ends.
        let at = match random.u8(..4) {
            0 => random.usize(..out.len().min(128)),
            1 => out.len() - 1 - random.usize(..out.len().min(2048)),
            _ => random.usize(..out.len()),
        };
        match random.u8(..8) {
            0 => out.truncate(at),
            1 => drop(out.remove(at)),
            2 => out.insert(at, random.u8(..)),
            3..=4 => out[at] = random.u8(..),
            5 => out[at] ^= 1 << random.u8(..8),
            _ => {
                let number = NUMBERS[random.usize(..NUMBERS.len())].to_le_bytes();
                let width = [2, 4, 8][random.usize(..3)];
                let at = at & !(width - 1);
                out.iter_mut().skip(at).zip(&number[..width]).for_each(|(byte, new)| *byte = *new);
            }
        }
    }
    out
}

/// How long each reader goes on behind the inputs that are always the same.
fn fuzz_time() -> Duration {
    let seconds = std::env::var("GCNC_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0))
}

/// Runs `read` on damaged copies of `inputs`; how often, of [`RUNS`], it says that the input is right.
fn survive(inputs: &[Vec<u8>], read: impl Fn(&[u8]) -> bool) -> usize {
    let mut random = Rng::with_seed(41);
    let mut right = 0;
    for run in 0..RUNS {
        let input = damage(&inputs[run % inputs.len()], &mut random);
        right += usize::from(survives(&input, &read));
    }
    let (time, start) = (fuzz_time(), Instant::now());
    let mut random = Rng::new();
    let mut more = 0u64;
    // What a reader has taken is damaged further.
    let mut taken: Vec<Vec<u8>> = inputs.to_vec();
    while start.elapsed() < time {
        let from = random.usize(..taken.len());
        let input = damage(&taken[from], &mut random);
        if survives(&input, &read) && input.len() < 1 << 20 {
            // The intact ones stay.
            match taken.len() < inputs.len() + 64 {
                true => taken.push(input),
                false => {
                    let at = inputs.len() + random.usize(..64);
                    taken[at] = input;
                }
            }
        }
        more += 1;
    }
    if !time.is_zero() {
        println!("{more} more inputs in {time:?}");
    }
    right
}

/// What `read` says of `input`, which is kept where it fails or takes too long.
fn survives(input: &[u8], read: &impl Fn(&[u8]) -> bool) -> bool {
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| read(input)));
    let slow = start.elapsed() >= LONGEST;
    match result {
        Ok(right) if !slow => right,
        result => {
            let name = format!("damaged-{:?}", std::thread::current().name().unwrap_or_default());
            let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.replace(['"', ':'], ""));
            std::fs::write(&path, input).unwrap();
            eprintln!("the input is {}, it took {:?}", path.display(), start.elapsed());
            if let Err(panic) = result {
                resume_unwind(panic);
            }
            panic!("too slow");
        }
    }
}

#[test]
fn inspection_survives() {
    let objects = objects();
    let right = survive(&objects, |bytes| {
        serde_json::to_vec(&emit::inspect::inspect(bytes)).unwrap();
        readers::inspect(bytes)
    });
    assert!(right > RUNS / 4, "{right}");
}

#[test]
fn disassembly_survives() {
    let objects = objects();
    let right = survive(&objects, readers::disassemble);
    // Most damage hits tables, on which everything depends.
    assert!(right > RUNS / 8, "{right}");
}

fn parts() -> Vec<Part<'static>> {
    let objects = objects();
    let part =
        |target: &'static str, contents: Vec<u8>| Part { target: target.into(), contents: contents.into() };
    vec![
        part("host-x86_64-unknown-linux-unknown-", Vec::new()),
        part("hip-amdgcn-amd-amdhsa--gfx900", objects[2].clone()),
        part("hip-amdgcn-amd-amdhsa--gfx906", objects[5].clone()),
    ]
}

#[test]
fn bundles_survive() {
    let parts = parts();
    let plain = plain::write(&parts, 8).unwrap();
    let mut inputs = vec![plain.clone()];
    for method in [compressed::Method::Zlib, compressed::Method::Zstd] {
        inputs.push(compressed::compress(&plain, method, 3).unwrap());
        inputs.push(compressed::compress(&plain, method, 1).unwrap());
    }
    inputs.push(offload_binary::write(&offload_binary::OffloadBinary {
        image_kind: 1,
        offload_kind: 4,
        flags: 0,
        strings: vec![("triple".into(), "amdgcn-amd-amdhsa".into()), ("arch".into(), "gfx900".into())],
        image: parts[1].contents.clone(),
    }));
    let right = survive(&inputs, readers::bundles);
    assert!(right > 0, "{right}");
    let texts = [text::write(&parts[..1], "#"), text::write(&parts, "#")];
    assert!(survive(&texts, readers::text_bundle) > 0);
}

/// What is behind the hash of a compressed bundle, which finds most damage first.
#[test]
fn decompression_survives() {
    let plain = plain::write(&parts(), 8).unwrap();
    let packed = [compressed::Method::Zlib, compressed::Method::Zstd]
        .map(|method| compressed::compress(&plain, method, 3).unwrap());
    let contents = packed.each_ref().map(|bytes| bytes[32..].to_vec());
    survive(&contents, |contents| {
        packed.iter().all(|whole| {
            let mut header = whole[..32].to_vec();
            header[8..16].copy_from_slice(&(contents.len() as u64 + 32).to_le_bytes());
            compressed::decompress(&[&header, contents].concat()).is_ok()
        })
    });
}

#[test]
fn containers_survive() {
    let plain = plain::write(&parts(), 8).unwrap();
    let packed = compressed::compress(&plain, compressed::Method::Zstd, 2).unwrap();
    let inner =
        plain::write(&[Part { target: "hip-amdgcn-amd-amdhsa--gfx900".into(), contents: packed.into() }], 1)
            .unwrap();
    let right = survive(&[plain, inner], |bytes| {
        let report = emit::inspect::inspect(bytes);
        serde_json::to_vec(&report).unwrap();
        report.is_known()
    });
    assert!(right > RUNS / 4, "{right}");
}

#[test]
fn metadata_of_amdil_survives() {
    let text = ";#DATASTART:2:20\n;#v3i32:0:4:1:2:3:0\n;#float:16:1:42B60000\n;#DATAEND:2\n;ARGSTART:k\n;version:2:0:74\n;device:gfx900\n\
                ;uniqueid:3\n;memory:hwlocal:64\n;sampler:s:0:1:28\n;image:i:2D:RO:2:1:16\n;value:x:float:4:1:96\n\
                ;pointer:p:i32:1:1:0:uav:1:4\n;printf_fmt:1:2:4:8:7:%d: %s\\n;\n;function:2:7:8\n;cws:16:16:1\n;ARGEND:k\n";
    let right = survive(&[text.as_bytes().to_vec()], readers::amdil);
    assert!(right > 0, "{right}");
}

#[test]
fn loading_survives() {
    assert!(survive(&objects(), readers::load) > RUNS / 64);
}

#[test]
fn linking_survives() {
    let mut inputs = objects();
    // An archive of two members, one of an odd size.
    let mut archive = b"!<arch>\n".to_vec();
    for (name, member) in [("a.o/", &inputs[2][..]), ("b.o/", b"odd")] {
        archive.extend(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, member.len()).as_bytes(),
        );
        archive.extend(member);
        archive.extend(std::iter::repeat_n(b'\n', member.len() % 2));
    }
    inputs.push(archive);
    assert!(survive(&inputs, readers::link_alone) > 0);
}

/// Metadata of a kernel in both forms, by itself: most damage to an object is found before it is read.
#[test]
fn metadata_survives() {
    let yaml = "---\namdhsa.kernels:\n  - .args:\n      - .offset: 0\n        .size: 8\n        .value_kind: global_buffer\n      - {.size: 4, .value_kind: by_value}\n\
                \x20   .name: 'k'\n    .symbol: \"k.kd\"\n    .reqd_workgroup_size: [ 64, 1, 0x1 ]\n    .big: -9223372036854775808\n    .scale: 1.5\n\
                amdhsa.printf:\n  - |-\n    1:1:4:%d\n  - ~\namdhsa.version:\n  - 1\n  - 2\n...\n";
    let document = mir::abi::Document::from_yaml(yaml).unwrap();
    assert!(survive(&[document.to_msgpack().unwrap()], readers::metadata) > RUNS / 64);
    assert!(survive(&[yaml.as_bytes().to_vec()], readers::yaml) > RUNS / 64);
}

#[test]
fn assembly_survives() {
    let text = emit::disassemble(&objects()[2]).unwrap();
    let source = "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.macro m a, b=2\n v_mov_b32 v\\a, \\b\n.endm\n m 1\n m 2, s3\n.rept 2\n s_nop 0\n.endr\n\
                  l: s_cbranch_scc0 l\n.set x, l+4\n.long x-l, 5*(3+4)\n.asciz \"a\\n\"\n.p2align 4\n";
    assert!(survive(&[text.into_bytes(), source.into()], readers::assemble) > RUNS / 64);
    let inline = "s_mov_b32 s0, 1\n1: s_sub_u32 s0, s0, 1\n.rept 2\n s_nop 0\n.endr\ns_cbranch_scc0 1b\n.uleb128 b-a, 0\n.byte 0\na: .fill 128\nb:\n";
    assert!(survive(&[inline.into()], readers::fragment) > RUNS / 64);
}

#[test]
fn dispatches_survive() {
    let text = r#"{"kernel": "k", "grid": [64, 1, 1], "group": [64, 1, 1], "dynamic_lds": 16, "offset": [0, 0, 0],
        "args": [{"buffer": 256, "fill": "zero"}, {"u32": 7}, {"f16": 1.5}, {"bytes": "00ff"}, {"local": 64}, {"null": 0}]}"#;
    assert!(readers::dispatch(text.as_bytes()));
    assert!(survive(&[text.into()], readers::dispatch) > 0);
}

/// Programs before selection and behind it, as the tests of passes have them.
#[test]
fn texts_of_programs_survive() {
    let files = [
        include_str!("../../tests/filetests/legalize/call.gcn"),
        include_str!("../../tests/filetests/legalize/tail-call-under-a-branch.gcn"),
        include_str!("../../tests/filetests/insert-prolog/function-that-calls.gcn"),
        include_str!("../../tests/filetests/linearise/loop-with-a-divergent-exit.gcn"),
        include_str!("../../tests/filetests/linearise/whole-wave.gcn"),
    ];
    let inputs = files.map(|file| {
        let input = file.split("\n; expect").next().unwrap_or_default();
        let lines = input.lines().filter(|line| !line.starts_with(';'));
        lines.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
    });
    assert!(survive(&inputs, readers::program) > 0);
}
