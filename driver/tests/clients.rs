//! gcnc in the place of LLVM's tools: behind clang as its linker and bundler, and by the command lines of other clients. Where clang 22 is missing, the
//! tests that run it are skipped with a message.

use std::path::PathBuf;
use std::process::{Command, Output};

const GCNC: &str = env!("CARGO_BIN_EXE_gcnc");

/// A folder with `ld.lld`, `lld`, `llc` and `clang-offload-bundler`, all of them gcnc.
struct Tools(tempfile::TempDir);

impl Tools {
    fn new(files: &[(&str, &str)]) -> Self {
        let tools = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(tools.path("bin")).unwrap();
        for name in ["ld.lld", "lld", "llc", "clang-offload-bundler"] {
            std::os::unix::fs::symlink(GCNC, tools.path("bin").join(name)).unwrap();
        }
        files.iter().for_each(|(name, text)| std::fs::write(tools.path(name), text).unwrap());
        tools
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command in the folder; `None` where there is no such program.
    fn try_run(&self, program: &str, line: &str) -> Option<Output> {
        let program = if program.starts_with("bin/") { self.path(program) } else { PathBuf::from(program) };
        let output = Command::new(program).current_dir(self.0.path()).args(line.split_whitespace()).output();
        if output.is_err() {
            eprintln!("skipped: clang-22 is missing (scripts/setup installs it)");
        }
        output.ok()
    }

    #[track_caller]
    fn run(&self, program: &str, line: &str) -> Option<String> {
        let output = self.try_run(program, line)?;
        assert!(output.status.success(), "{program} {line}: {}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs kernel `k` of a code object, which must write 7 and 8.
    #[track_caller]
    fn check(&self, object: &str) {
        self.run(
            GCNC,
            &format!("run {object} --kernel k --grid 2 --block 2 --arg 0=zeros:2xi32 --expect 0=7,8"),
        );
    }
}

const HELPER: &str = "int helper(int x) { return x + 7; }";
const KERNEL: &str = "int helper(int); kernel void k(global int *o) { int i = __builtin_amdgcn_workitem_id_x(); o[i] = helper(i); }";

/// clang compiles and hands objects, or with `-flto` bitcode, to the linker that `--ld-path` names.
#[test]
fn clang_links_with_it() {
    let tools = Tools::new(&[("h.cl", HELPER), ("k.cl", KERNEL)]);
    for more in ["-O2", "-O3 -flto", "-O1 -flto -Wl,--gc-sections -Wl,--build-id=sha1"] {
        let line = format!(
            "--target=amdgcn-amd-amdhsa -mcpu=gfx900 -nogpulib -mcode-object-version=5 --ld-path={GCNC} {more}"
        );
        if tools.run("clang-22", &format!("{line} h.cl k.cl -o out.hsaco")).is_none() {
            return;
        }
        tools.check("out.hsaco");
        std::fs::remove_file(tools.path("out.hsaco")).unwrap();
    }
    // The linker's refusal is clang's.
    let line =
        format!("--target=amdgcn-amd-amdhsa -mcpu=gfx900 -nogpulib --ld-path={GCNC} k.cl -o out.hsaco");
    let output = tools.try_run("clang-22", &line).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("helper"), "{stderr}");
}

/// HIP's driver finds lld and the bundler in the folder of `-B`.
#[test]
fn hip_is_compiled_and_bundled_with_it() {
    let source = "__attribute__((device)) int helper(int x) { return x + 7; }
        extern \"C\" __attribute__((global)) void k(int *o) { int i = __builtin_amdgcn_workitem_id_x(); o[i] = helper(i); }";
    let tools = Tools::new(&[("k.hip", source)]);
    let line = "-x hip --offload-device-only -nogpulib -nogpuinc -foffload-lto --offload-arch=gfx803,gfx900 -O3 -Bbin k.hip -o k.hipfb";
    if tools.run("clang-22", line).is_none() {
        return;
    }
    let listed = tools.run("bin/clang-offload-bundler", "-type=o -list -input=k.hipfb").unwrap();
    assert_eq!(
        listed,
        "host-x86_64-unknown-linux-gnu-\nhipv4-amdgcn-amd-amdhsa--gfx803\nhipv4-amdgcn-amd-amdhsa--gfx900\n"
    );
    for cpu in ["gfx803", "gfx900"] {
        let line = format!(
            "-type=o -unbundle -targets=hipv4-amdgcn-amd-amdhsa--{cpu} -input=k.hipfb -output={cpu}.hsaco"
        );
        tools.run("bin/clang-offload-bundler", &line);
        tools.check(&format!("{cpu}.hsaco"));
    }
}

const IR: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(1) %o, i32 %i
  %value = add i32 %i, 7
  store i32 %value, ptr addrspace(1) %at
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
"#;

/// The lines of Julia's GPUCompiler: llc by name, then lld.
#[test]
fn julias_lines() {
    let tools = Tools::new(&[("k.ll", IR)]);
    tools.run(GCNC, "k.ll --emit=llvm-bc -o k.bc");
    let line = "k.bc -mtriple=amdgcn-amd-amdhsa -mcpu=gfx900 -mattr=-xnack,+wavefrontsize64 --relocation-model=pic -filetype=obj -o k.o";
    tools.run("bin/llc", line);
    tools.run("bin/ld.lld", "-shared -o k.hsaco k.o");
    tools.check("k.hsaco");
    tools.run("bin/lld", "-flavor gnu -m elf64_amdgpu --no-undefined -shared -o again.hsaco k.o");
    assert_eq!(
        std::fs::read(tools.path("again.hsaco")).unwrap(),
        std::fs::read(tools.path("k.hsaco")).unwrap()
    );
}

/// The device line of clang's driver for HIP, as `-###` prints it with `-foffload-lto`, and LLVM's gold plug-in's words.
#[test]
fn drivers_lines() {
    let tools = Tools::new(&[("k.ll", IR)]);
    tools.run(GCNC, "k.ll --emit=llvm-bc -o k.bc");
    let line = "-flavor gnu -m elf64_amdgpu --no-undefined -shared -plugin-opt=-amdgpu-internalize-symbols --lto-partitions=8 -plugin-opt=mcpu=gfx900 \
                -plugin-opt=O3 --lto-CGO3 --whole-archive -o k.out k.bc --no-whole-archive";
    tools.run("bin/lld", line);
    tools.check("k.out");
    let line = "--no-undefined -shared -plugin /usr/lib/LLVMgold.so -plugin-opt=mcpu=gfx803 -plugin-opt=O1 --lto-O1 --lto-CGO1 k.bc -o k.hsaco";
    tools.run(GCNC, line);
    tools.check("k.hsaco");
}
