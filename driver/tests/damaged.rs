//! Readers of objects, notes, bundles and metadata on damaged inputs: no panic, no hang, no unbounded memory.
//!
//! Each runs on 20,000 inputs that are the same every time: intact ones with bytes changed, inserted, left out, and fields set to what limits are
//! about. `emit/fuzz` has the same entry for the fuzzer.

#[allow(dead_code, reason = "each test file uses a part of it")]
mod common;

use emit::bundle::{self, Part, compressed, offload_binary, plain, text};
use fastrand::Rng;
use gcnc::{CompileOptions, FileType};
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

/// Runs `read` on damaged copies of `inputs`; how often it says that the input is right.
fn survive(inputs: &[Vec<u8>], read: impl Fn(&[u8]) -> bool) -> usize {
    let mut random = Rng::with_seed(41);
    let mut right = 0;
    for run in 0..RUNS {
        let input = damage(&inputs[run % inputs.len()], &mut random);
        let start = Instant::now();
        right += usize::from(read(&input));
        assert!(start.elapsed() < LONGEST, "input {run} takes {:?}", start.elapsed());
    }
    right
}

#[test]
fn inspection_survives() {
    let objects = objects();
    let right = survive(&objects, |bytes| {
        let report = emit::inspect::inspect(bytes);
        assert!(!report.to_string().is_empty());
        serde_json::to_vec(&report).unwrap();
        report.is_known()
    });
    assert!(right > RUNS / 4, "{right}");
}

#[test]
fn disassembly_survives() {
    let objects = objects();
    let right = survive(&objects, |bytes| emit::disassemble(bytes).is_ok());
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
    let right = survive(&inputs, |bytes| {
        let found = bundle::find(bytes);
        !found.is_empty() && found.iter().all(|found| found.parts().is_ok())
    });
    assert!(right > 0, "{right}");
    let texts = [text::write(&parts[..1], "#"), text::write(&parts, "#")];
    assert!(survive(&texts, |bytes| text::read(bytes, "#").is_ok()) > 0);
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
    let right = survive(&[text.as_bytes().to_vec()], |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let Ok(unit) = mir::abi::amdil::parse(&text) else { return false };
        // What is read is written, and read the same.
        assert_eq!(mir::abi::amdil::parse(&unit.to_string()).as_ref(), Ok(&unit), "{text}");
        true
    });
    assert!(right > 0, "{right}");
}
