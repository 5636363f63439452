//! `gcnc inspect`, `bundle`, `unbundle`, `disasm` and AMDIL's metadata, as commands.

use std::path::Path;
use std::process::{Command, Output};

const KERNEL: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global [16 x i32] poison
@table = addrspace(1) global [2 x i32] [i32 1, i32 2]
define amdgpu_kernel void @store(ptr addrspace(1) %p, i32 %x) #0 {
  %v = load i32, ptr addrspace(1) @table
  %slot = getelementptr i32, ptr addrspace(3) @lds, i32 %x
  store i32 %v, ptr addrspace(3) %slot
  %w = load volatile i32, ptr addrspace(3) @lds
  store i32 %w, ptr addrspace(1) %p, align 4
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,256" }
"#;

/// A folder with `k.ll`, in which commands run.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("k.ll"), KERNEL).unwrap();
        Self(folder)
    }

    fn run(&self, args: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gcnc"));
        command.current_dir(self.0.path()).args(args.split_whitespace()).output().unwrap()
    }

    /// Runs what must succeed, and gives what it prints.
    #[track_caller]
    fn done(&self, args: &str) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.path().join(name)).unwrap()
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.path().join(name), bytes).unwrap();
    }

    fn has(&self, name: &str) -> bool {
        Path::exists(&self.0.path().join(name))
    }

    fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.done(&format!("inspect --json {name}"))).unwrap()
    }
}

const TARGETS: &str =
    "-targets=host-x86_64-unknown-linux--,hip-amdgcn-amd-amdhsa--gfx900,hip-amdgcn-amd-amdhsa--gfx906:xnack+";

#[test]
fn code_objects_of_every_version_are_told() {
    let folder = Folder::new();
    for version in 2..=6 {
        folder
            .done(&format!("-mcpu=gfx900 -filetype=obj --amdhsa-code-object-version={version} k.ll -o k.o"));
        let report = folder.json("k.o");
        assert_eq!((&report["kind"], &report["elf"]), (&"code-object".into(), &"relocatable".into()));
        let target = &report["target"];
        assert_eq!((&target["processor"], &target["version"]), (&"gfx900".into(), &version.into()));
        assert_eq!(report["problems"].as_array().map(Vec::len), Some(0), "{report}");
        let kernel = &report["kernels"][0];
        assert_eq!((&kernel["name"], &kernel["lds_bytes"]), (&"store".into(), &64.into()));
        let form = if version == 2 { "amd_kernel_code_t" } else { "descriptor" };
        assert_eq!(kernel["described_by"], form);
        let field = |name: &str| {
            let fields = kernel["fields"].as_array().unwrap();
            fields.iter().find(|field| field["name"] == name).map(|field| field["value"].clone())
        };
        let is_set =
            if version == 2 { "enable_sgpr_kernarg_segment_ptr" } else { "sgpr_kernarg_segment_ptr" };
        assert_eq!(field(is_set), Some(1.into()));
        let notes = report["notes"].as_array().unwrap();
        let metadata = notes.iter().find_map(|note| note["contents"].get("metadata")).unwrap();
        let name = if version == 2 {
            &metadata["Kernels"][0]["Name"]
        } else {
            &metadata["amdhsa.kernels"][0][".name"]
        };
        assert_eq!(name, "store");
        if version == 2 {
            assert_eq!(notes[1]["contents"]["isa"]["version"], serde_json::json!([9, 0, 0]));
        }
        let text = folder.done("inspect k.o");
        for part in [
            format!("relocatable code object V{version} for amdhsa\n"),
            format!("kernel store ({form})\n"),
            "  LDS bytes: 64\n".into(),
            " .text ".into(),
        ] {
            assert!(text.contains(&part), "{part} is not in {text}");
        }
    }
    folder.done("-mcpu=gfx900 -filetype=hsaco k.ll -o k.hsaco");
    let report = folder.json("k.hsaco");
    assert_eq!(report["elf"], "shared");
    assert!(report["segments"].as_array().unwrap().iter().any(|segment| segment["flags"] == "rx"));
    assert!(
        report["relocations"].as_array().unwrap().iter().any(|relocation| relocation["symbol"] == "table")
    );
}

#[test]
fn other_systems_have_registers() {
    let folder = Folder::new();
    folder.done("-mtriple=amdgcn-mesa-mesa3d -mcpu=gfx803 -filetype=obj k.ll -o k.o");
    let report = folder.json("k.o");
    assert_eq!(report["config"][0]["name"], "COMPUTE_PGM_RSRC1");
    assert_eq!(report["kernels"][0]["described_by"], "amd_kernel_code_t");
    folder.done("-mtriple=amdgcn--amdpal -mcpu=gfx900 -filetype=obj k.ll -o p.o");
    let report = folder.json("p.o");
    assert_eq!(report["target"]["system"], "amdpal");
    assert!(folder.done("inspect p.o").contains("amdpal.pipelines"));
}

#[test]
fn bundles_come_apart_again() {
    let folder = Folder::new();
    folder.done("-mcpu=gfx900 -filetype=hsaco k.ll -o a");
    folder.done("-mcpu=gfx906 -mattr=+xnack -filetype=hsaco k.ll -o b");
    for flags in [
        "",
        "-bundle-align=4096",
        "-compress",
        "-compress -compression-method=zlib -compressed-format-version=2",
    ] {
        folder.done(&format!(
            "bundle -type=o {flags} {TARGETS} -input=/dev/null -input=a -input=b -output=all"
        ));
        let list = folder.done("bundle -list -input=all");
        assert_eq!(
            list,
            "host-x86_64-unknown-linux-unknown-\nhip-amdgcn-amd-amdhsa--gfx900\nhip-amdgcn-amd-amdhsa--gfx906:xnack+\n"
        );
        // In another order, and not all of them.
        folder.done(
            "unbundle -type=o -targets=hip-amdgcn-amd-amdhsa--gfx906:xnack+,hip-amdgcn-amd-amdhsa--gfx900 -input=all -output=b2 -output=a2",
        );
        assert!(folder.read("a2") == folder.read("a") && folder.read("b2") == folder.read("b"), "{flags}");
        let report = folder.json("all");
        let parts = &report["bundles"][0]["parts"];
        assert_eq!(parts[2][0], "hip-amdgcn-amd-amdhsa--gfx906:xnack+");
        assert_eq!(parts[2][1]["target"]["xnack"], "on");
        assert_eq!(parts[1][1]["kernels"][0]["name"], "store");
    }
    folder.done(&format!(
        "bundle --format=offload-binary {TARGETS} -input=/dev/null -input=a -input=b -output=binary"
    ));
    folder.done("bundle -unbundle -targets=hip-amdgcn-amd-amdhsa--gfx900 -input=binary -output=a3");
    assert!(folder.read("a3") == folder.read("a"));
    folder.done(&format!("bundle -type=s {TARGETS} -input=k.ll -input=k.ll -input=/dev/null -output=text"));
    folder.done("unbundle -type=s -targets=hip-amdgcn-amd-amdhsa--gfx900 -input=text -output=k2");
    assert_eq!(folder.read("k2"), KERNEL.as_bytes());
}

#[test]
fn bundles_that_make_no_sense_are_refused() {
    let folder = Folder::new();
    folder.write("a", b"code");
    folder.done("bundle -targets=host-x86_64-unknown-linux--,hip-amdgcn-amd-amdhsa--gfx900 -input=/dev/null -input=a -output=all");
    for (args, message) in [
        ("bundle -targets=hip-amdgcn-amd-amdhsa--gfx900 -input=a -output=x", "one host target"),
        (
            "bundle -targets=host-x86_64-unknown-linux-- -input=a -input=a -output=x",
            "1 targets for 2 input files",
        ),
        ("bundle -targets=host-x86_64 -input=a -output=x", "not of the form"),
        (
            "bundle -targets=host-x86_64-unknown-linux--,host-x86_64-unknown-linux-- -input=a -input=a -output=x",
            "given twice",
        ),
        (
            "unbundle -targets=hip-amdgcn-amd-amdhsa--gfx900,hip-amdgcn-amd-amdhsa--gfx900:xnack+ -input=all -output=x -output=y",
            "overlap",
        ),
        ("unbundle -targets=hip-amdgcn-amd-amdhsa--gfx906 -input=all -output=x", "nothing for hip"),
        ("unbundle -targets=hip-amdgcn-amd-amdhsa--gfx906 -input=nowhere -output=x", "nowhere"),
        ("bundle -bundle-align=3 -targets=host-x86_64-unknown-linux-- -input=a -output=x", "aligned to 3"),
    ] {
        let output = folder.run(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args}: {stderr}");
        assert!(stderr.contains(message), "{args}: {stderr}");
        assert!(!folder.has("x"), "{args}");
    }
    folder.done(
        "unbundle -allow-missing-bundles -targets=hip-amdgcn-amd-amdhsa--gfx906 -input=all -output=empty",
    );
    assert_eq!(folder.read("empty"), b"");
    // A file that is no bundle is the host's.
    folder.done("unbundle -targets=host-x86_64-unknown-linux--,hip-amdgcn-amd-amdhsa--gfx900 -input=a -output=h -output=d");
    assert_eq!((folder.read("h"), folder.read("d")), (b"code".to_vec(), Vec::new()));
    let all = folder.read("all");
    folder.write("short", &all[..all.len() - 1]);
    let output = folder.run("bundle -list -input=short");
    assert_eq!(output.status.code(), Some(1));
    assert!(folder.done("inspect short").contains("problem: "));
}

#[test]
fn metadata_of_amdil_is_written_beside_the_output() {
    let folder = Folder::new();
    folder.done("-mcpu=gfx900 -filetype=obj --metadata=amdil k.ll -o k.o");
    let text = String::from_utf8(folder.read("k.amdil")).unwrap();
    for line in [
        ";ARGSTART:store\n",
        ";device:gfx900\n",
        ";memory:hwlocal:64\n",
        ";lws:256\n",
        ";pointer:p:i8:1:1:0:g:0:1\n",
        ";value:x:i32:1:1:16\n",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    let unit = mir::abi::amdil::parse(&text).unwrap();
    assert_eq!(unit.to_string(), text);
    let report = folder.json("k.amdil");
    assert_eq!((&report["kind"], &report["kernels"][0]["name"]), (&"amdil".into(), &"store".into()));
    assert_eq!(folder.run("-mcpu=gfx900 --metadata=amdil k.ll -o -").status.code(), Some(2));
    folder.done("-mcpu=gfx900 -filetype=obj k.ll -o other.o");
    assert!(!folder.has("other.amdil"));
}

#[test]
fn what_is_nothing_is_refused() {
    let folder = Folder::new();
    folder.write("nothing", b"\x01\x02\xff");
    assert_eq!(folder.run("inspect nothing").status.code(), Some(1));
    assert_eq!(folder.run("inspect nowhere").status.code(), Some(1));
    folder.write("elf", b"\x7fELF\x02\x01\x01");
    assert_eq!(folder.run("disasm elf").status.code(), Some(1));
}

#[test]
fn disassembly_assembles_without_further_options() {
    let folder = Folder::new();
    for flags in [
        "-mcpu=gfx803 --amdhsa-code-object-version=2",
        "-mcpu=gfx906 -mattr=+xnack --amdhsa-code-object-version=3",
        "-mcpu=gfx906 -mattr=-xnack,+sramecc --amdhsa-code-object-version=5",
        "-mcpu=gfx600 -mtriple=amdgcn-mesa-mesa3d",
        "-mcpu=gfx900 -mtriple=amdgcn--amdpal",
    ] {
        folder.done(&format!("{flags} -filetype=obj k.ll -o k.o"));
        folder.done("disasm k.o -o k.s");
        folder.done("as k.s -o again.o");
        assert_eq!(
            folder.done("inspect k.o").lines().nth(2),
            folder.done("inspect again.o").lines().nth(2),
            "{flags}"
        );
        assert_eq!(folder.done("disasm k.o"), folder.done("disasm again.o"), "{flags}");
    }
}
