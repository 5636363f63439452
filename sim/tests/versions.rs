//! Code objects of every version, relocatable and linked, load and run alike.

use sim::{Arg, CodeObject, Config, Dispatch, Memory};
use std::path::Path;
use std::process::Command;

/// `out[i] = x * group size + i`, with `PTR` for what the compiler calls a global pointer.
const IR: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(PTR %out, i32 %x) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %b = shl i32 %g, 6
  %j = add i32 %b, %i
  %p = getelementptr i32, PTR %out, i32 %j
  %s = shl i32 %x, 6
  %v = add i32 %s, %j
  store i32 %v, PTR %p
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
"#;

fn run(bytes: &[u8], version: u8) {
    let object = CodeObject::load(bytes).unwrap_or_else(|r| panic!("V{version}: {r}"));
    assert_eq!(object.version(), version);
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; 1024]);
    let d = Dispatch {
        kernel: "k".into(),
        grid: [256, 1, 1],
        group: [64, 1, 1],
        args: vec![Arg::Buffer(out), Arg::Value(vec![3, 0, 0, 0])],
        ..Dispatch::default()
    };
    sim::run(&object, &mut memory, &d, &Config::default()).unwrap_or_else(|r| panic!("V{version}: {r}"));
    assert!(memory.read_u32s(out).iter().enumerate().all(|(i, &x)| x == 192 + i as u32), "V{version}");
}

#[test]
fn every_version_loads_and_runs() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut ran = 0;
    for (llc, pointer, versions) in [
        ("llc-14", "i32 addrspace(1)*", &[2u8, 3][..]),
        ("llc-16", "ptr addrspace(1)", &[2, 3, 4, 5]),
        ("llc-22", "ptr addrspace(1)", &[4, 5, 6]),
    ] {
        let source = folder.join(format!("versions-{llc}.ll"));
        let text = IR.replace("PTR %", &format!("{pointer} %"));
        std::fs::write(&source, text).expect("writable folder");
        for &version in versions {
            for cpu in ["gfx803", "gfx900"] {
                let object = folder.join(format!("versions-{llc}-{cpu}-{version}.o"));
                let linked = object.with_extension("hsaco");
                let compiled = Command::new(llc)
                    .args(["-march=amdgcn", "-filetype=obj"])
                    .arg(format!("-mcpu={cpu}"))
                    .arg(format!("--amdhsa-code-object-version={version}"))
                    .arg(&source)
                    .arg("-o")
                    .arg(&object)
                    .output();
                let Ok(compiled) = compiled else {
                    eprintln!("skipped: {llc} is needed");
                    continue;
                };
                assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
                run(&std::fs::read(&object).expect("written by llc"), version);
                let link =
                    Command::new("ld.lld-22").arg("-shared").arg(&object).arg("-o").arg(&linked).status();
                if link.is_ok_and(|s| s.success()) {
                    run(&std::fs::read(&linked).expect("written by lld"), version);
                }
                ran += 1;
            }
        }
    }
    println!("{ran} objects");
}

/// Objects with bytes changed give an error or run to some end; never a panic.
#[test]
fn damaged_objects_are_refused_or_run() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join("damaged.ll");
    std::fs::write(&source, IR.replace("PTR %", "ptr addrspace(1) %")).expect("writable folder");
    let object = folder.join("damaged.o");
    let compiled = Command::new("llc-22")
        .args(["-march=amdgcn", "-filetype=obj", "-mcpu=gfx900"])
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .status();
    if !compiled.is_ok_and(|s| s.success()) {
        eprintln!("skipped: llc-22 is needed");
        return;
    }
    let good = std::fs::read(&object).expect("written by llc");
    let mut rng = fastrand::Rng::with_seed(1);
    let (mut loaded, mut refused) = (0, 0);
    for round in 0..3000 {
        let mut bytes = good.clone();
        for _ in 0..1 + rng.usize(0..4) {
            let at = rng.usize(0..bytes.len());
            bytes[at] = if rng.bool() { rng.u8(..) } else { bytes[at] ^ 1 << rng.u32(0..8) };
        }
        if round % 10 == 0 {
            bytes.truncate(rng.usize(0..bytes.len()));
        }
        if sim::robustness::check(&bytes) {
            loaded += 1;
        } else {
            refused += 1;
        }
    }
    println!("{loaded} loaded, {refused} refused");
    assert!(loaded > 500 && refused > 200, "{loaded} {refused}");
}
