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

/// What HIP's headers declare for the host's side of kernels.
const HOST: &str = "struct dim3 { unsigned x, y, z; };
extern \"C\" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, struct ihipStream_t *);
extern \"C\" __attribute__((device)) int helper(int);
";

/// The new driver of offloading: objects for the host carry bitcode, which `clang-linker-wrapper` hands to clang with the linker that is named. Without that
/// tool the line that it runs is run on bitcode.
#[test]
fn the_linker_wrapper_links_with_it() {
    let kernel = "extern \"C\" __attribute__((global)) void k(int *o) { int i = __builtin_amdgcn_workitem_id_x(); o[i] = helper(i); }";
    let helper = "extern \"C\" __attribute__((device)) int helper(int x) { return x + 7; }";
    let tools = Tools::new(&[("k.hip", &format!("{HOST}{kernel}")), ("h.hip", &format!("{HOST}{helper}"))]);
    let source = "-x hip -nogpulib -nogpuinc --offload-arch=gfx900 -O2";
    for name in ["k", "h"] {
        let line =
            format!("{source} --offload-device-only -fgpu-rdc -emit-llvm -c {name}.hip -o {name}-device.o");
        if tools.run("clang-22", &line).is_none() {
            return;
        }
        tools.run("clang-22", &format!("{source} --offload-new-driver -fgpu-rdc -c {name}.hip -o {name}.o"));
    }
    let line = "--no-default-config --target=amdgcn-amd-amdhsa -mcpu=gfx900 -flto -Wl,--no-undefined";
    tools.run("clang-22", &format!("{line} k-device.o h-device.o --ld-path={GCNC} -o replayed.hsaco"));
    tools.check("replayed.hsaco");
    let output =
        tools.try_run("clang-22", &format!("{line} k-device.o --ld-path={GCNC} -o none.hsaco")).unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("helper"));

    let wrapper = "clang-linker-wrapper-22";
    if Command::new(wrapper).arg("--help").output().is_err() {
        eprintln!("skipped: {wrapper} is missing (package clang-tools-22)");
        return;
    }
    let host = "--host-triple=x86_64-unknown-linux-gnu --linker-path=ld.lld-22";
    let linker = format!("--device-compiler=amdgcn-amd-amdhsa=--ld-path={GCNC}");
    tools.run(wrapper, &format!("{host} --emit-fatbin-only {linker} k.o h.o -o out.hipfb"));
    tools.check("out.hipfb");
    // A shared library, so that HIP's runtime may be missing.
    let line = format!("--offload-link -Wl,{linker} -nostdlib -shared k.o h.o -o out.so");
    tools.run("clang-22", &line);
    let report = tools.run(GCNC, "inspect out.so").unwrap();
    assert!(report.contains("hip-amdgcn-amd-amdhsa--gfx900") && report.contains("k.kd"), "{report}");
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

/// Slices, optionals, errors, tagged unions and compile-time code in Zig.
const ZIG: &str = "
const Shape = union(enum) { circle: u32, box: struct { w: u16, h: u16 }, none };
fn area(s: Shape) u32 {
    return switch (s) { .circle => |r| 3 *% r *% r, .box => |b| @as(u32, b.w) * b.h, .none => 1 };
}
fn half(x: u32) error{Odd}!u32 { return if (x % 2 == 0) x / 2 else error.Odd; }
fn find(items: []const u32, x: u32) ?usize {
    for (items, 0..) |item, at| { if (item == x) return at; }
    return null;
}
const squares = blk: { var t: [16]u32 = undefined; for (&t, 0..) |*p, at| p.* = @intCast(at * at); break :blk t; };
export fn k(out: [*]addrspace(.global) u32, x: u32) callconv(.kernel) void {
    const i: u32 = @workItemId(0) + @workGroupId(0) * 64;
    const shapes = [_]Shape{ .{ .circle = x }, .{ .box = .{ .w = 7, .h = @truncate(i) } }, .none };
    var sum: u32 = area(shapes[i % 3]);
    sum +%= half(i) catch 1000;
    sum +%= @as(u32, @intCast(find(&squares, i) orelse 500)) * 10000;
    out[i] = sum ^ (@as(u32, @popCount(i)) << 30);
}";

/// zig writes LLVM IR, which gcnc compiles.
#[test]
fn zigs_ir_is_compiled() {
    let tools = Tools::new(&[("k.zig", ZIG)]);
    let zig = std::env::var("GCNC_ZIG").unwrap_or_else(|_| "zig".to_owned());
    if Command::new(&zig).arg("version").output().is_err() {
        eprintln!("skipped: zig is missing (PyPI's ziglang has it; $GCNC_ZIG names the program)");
        return;
    }
    let expected: Vec<u32> = (0..8u32)
        .map(|i| {
            let area = [75, 7 * i, 1][(i % 3) as usize];
            let half = if i % 2 == 0 { i / 2 } else { 1000 };
            let found = (0..16).find(|k| k * k == i).unwrap_or(500) * 10000;
            (area + half + found) ^ (i.count_ones() << 30)
        })
        .collect();
    let expected = expected.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    for mode in ["Debug", "ReleaseFast", "ReleaseSmall", "ReleaseSafe"] {
        let line = "build-obj k.zig -target amdgcn-amdhsa-none -mcpu gfx900 -fno-emit-bin --cache-dir cache --global-cache-dir cache";
        tools.run(&zig, &format!("{line} -O {mode} -femit-llvm-bc=k.bc -femit-llvm-ir=k.ll"));
        for (file, level) in [("k.bc", 2), ("k.ll", 0)] {
            tools.run(GCNC, &format!("{file} -mcpu=gfx900 -O{level} -filetype=hsaco -o k.hsaco"));
            tools.run(
                GCNC,
                &format!("run k.hsaco --grid 8 --arg 0=zeros:8xu32 --arg 1=5 --expect 0={expected}:u32"),
            );
        }
    }
}

/// The line of rustc 1.96 (Debian's `rustc-web`) with `-Clinker=gcnc -Clinker-flavor=gnu-lld-cc`, and the script that it writes. With the target's own
/// flavor, and all others without `cc`, that rustc panics before it calls a linker (`assertion failed: l.is_cc()` in `back/linker.rs`).
#[test]
fn rustcs_line() {
    let script = "{\n  global:\n    k;\n    k.kd;\n\n  local:\n    *;\n};\n";
    let more = format!("{IR}\ndefine i32 @shared(i32 %x) {{ ret i32 %x }}\n");
    let tools = Tools::new(&[("k.ll", &more), ("list", script)]);
    tools.run(GCNC, "k.ll -mcpu=gfx900 -filetype=obj -o k.o");
    let line = "-Wl,--version-script=list -Wl,--no-undefined-version k.o -Wl,--as-needed -L raw-dylibs -Wl,-Bdynamic -fuse-ld=lld -Wl,--eh-frame-hdr \
                -Wl,-z,noexecstack -L . -o k.elf -Wl,--gc-sections -shared -Wl,-O1 -nodefaultlibs -Wl,-soname=k.elf";
    tools.run(GCNC, line);
    tools.check("k.elf");
    let dynamic = |object: &str| {
        use object::{Object, ObjectSymbol};
        let bytes = std::fs::read(tools.path(object)).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let mut names: Vec<String> = file.dynamic_symbols().map(|s| s.name().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(dynamic("k.elf"), ["k", "k.kd"]);
    tools.run(GCNC, "-shared k.o -o all.elf");
    assert_eq!(dynamic("all.elf"), ["k", "k.kd", "shared"]);
}

/// rustc itself, with the script and the line above.
#[test]
fn rustc_links_with_it() {
    const RUSTC: &str = "/usr/bin/rustc";
    let source = "
        #![no_std]
        #![no_core]
        #![feature(no_core, lang_items, abi_gpu_kernel, intrinsics)]
        #![allow(internal_features)]
        #[lang = \"pointee_sized\"] pub trait PointeeSized {}
        #[lang = \"meta_sized\"] pub trait MetaSized: PointeeSized {}
        #[lang = \"sized\"] pub trait Sized: MetaSized {}
        #[lang = \"copy\"] pub trait Copy {}
        impl Copy for i32 {}
        #[unsafe(no_mangle)]
        pub unsafe extern \"gpu-kernel\" fn k(out: &mut i32) { *out = 7; }
        #[unsafe(no_mangle)]
        pub extern \"C\" fn other(x: i32) -> i32 { x }
    ";
    let tools = Tools::new(&[("k.rs", source)]);
    let version =
        tools.try_run(RUSTC, "-vV").map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if !version.is_some_and(|version| version.contains("LLVM version: 22")) {
        eprintln!("skipped: a rustc with LLVM 22 is missing (scripts/setup --rust installs it)");
        return;
    }
    let line = format!(
        "--edition=2024 --crate-type=cdylib --target=amdgcn-amd-amdhsa -Ctarget-cpu=gfx900 -Cpanic=abort -Copt-level=2 --cap-lints=allow \
         -Clinker={GCNC} -Clinker-flavor=gnu-lld-cc -Zunstable-options k.rs -o k.elf"
    );
    let output = Command::new(RUSTC)
        .current_dir(tools.0.path())
        .env("RUSTC_BOOTSTRAP", "1")
        .args(line.split_whitespace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    tools.run(GCNC, "run k.elf --kernel k --grid 1 --block 1 --arg 0=zeros:1xi32 --expect 0=7");
}
