//! Sources and several inputs: clang in front, linking and bundling behind, as scripts see it. Skipped, with a message, where clang 22 or libclc is missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LIBCLC: &str = "/usr/lib/clc/amdgcn-amd-amdhsa.bc";

/// Whether sources can be compiled here; says so where they cannot.
fn has_clang() -> bool {
    let found = Command::new("clang-22").arg("--version").output().is_ok() && Path::new(LIBCLC).exists();
    if !found {
        eprintln!("skipped: clang-22 or libclc-22 is missing (scripts/setup installs them)");
    }
    found
}

/// A folder with files in it, in which gcnc runs.
struct Place(tempfile::TempDir);

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(name, text)| std::fs::write(place.path(name), text).unwrap());
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gcnc"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command.env_remove("GCNC_CLANG").env_remove("GCNC_LIBCLC").env_remove("ROCM_PATH");
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Standard output of a run that must succeed without a word on standard error.
    #[track_caller]
    fn quiet(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success() && output.stderr.is_empty(), "gcnc {line}: {}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Standard output of `gcnc run`, which says on standard error how long it took.
    #[track_caller]
    fn printed(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "gcnc {line}: {}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const IDS: &str = "
kernel void ids(global ulong *o) {
  global ulong *p = o + get_global_linear_id() * 16;
  for (uint d = 0; d < 2; d++) {
    p[0 + d] = get_global_id(d); p[2 + d] = get_local_size(d); p[4 + d] = get_num_groups(d); p[6 + d] = get_global_size(d);
    p[8 + d] = get_global_offset(d); p[10 + d] = get_group_id(d); p[12 + d] = get_enqueued_local_size(d);
  }
  p[14] = get_local_linear_id();
  p[15] = get_work_dim() + 10 * (get_local_size(3) + get_global_id(3) + get_global_size(2));
}";

/// What [`IDS`] must leave for a grid, a size of work-groups and an offset in two directions.
fn ids(grid: [u64; 2], group: [u64; 2], offset: [u64; 2]) -> Vec<u64> {
    let mut out = vec![0; (grid[0] * grid[1] * 16) as usize];
    for y in 0..grid[1] {
        for x in 0..grid[0] {
            let at = [x, y];
            let local: [u64; 2] = std::array::from_fn(|d| at[d] % group[d]);
            let size: [u64; 2] = std::array::from_fn(|d| group[d].min(grid[d] - at[d] / group[d] * group[d]));
            let p = &mut out[((y * grid[0] + x) * 16) as usize..][..16];
            for d in 0..2 {
                p[d] = at[d] + offset[d];
                p[2 + d] = size[d];
                p[4 + d] = grid[d].div_ceil(group[d]);
                p[6 + d] = grid[d];
                p[8 + d] = offset[d];
                p[10 + d] = at[d] / group[d];
                p[12 + d] = group[d];
            }
            p[14] = local[1] * size[0] + local[0];
            p[15] = 2 + 10 * (1 + 1);
        }
    }
    out
}

/// The work-item functions are right for every code object version, with whole and with partial work-groups.
#[test]
fn work_item_functions_in_every_version() {
    if !has_clang() {
        return;
    }
    let place = Place::new(&[("ids.cl", IDS)]);
    let expected = |name: &str, values: Vec<u64>| {
        std::fs::write(place.path(name), values.into_iter().flat_map(u64::to_le_bytes).collect::<Vec<_>>())
            .unwrap();
    };
    expected("partial", ids([5, 3], [4, 2], [7, 1 << 33]));
    expected("whole", ids([8, 4], [4, 2], [0, 3]));
    for version in 2..=6 {
        for (cpu, level) in [("gfx803", 0), ("gfx900", 2)] {
            let common = format!(
                "run ids.cl -mcpu={cpu} -O{level} --amdhsa-code-object-version={version} --block 4,2"
            );
            place_run(
                &place,
                &format!(
                    "{common} -cl-std=CL2.0 --grid 5,3 --offset 7,8589934592 --arg zeros:240 --expect o=file:partial"
                ),
            );
            // OpenCL 1.2: work-groups are whole.
            place_run(
                &place,
                &format!(
                    "{common} -cl-std=CL2.0 -cl-uniform-work-group-size --grid 8,4 --offset 0,3 --arg zeros:512 --expect o=file:whole"
                ),
            );
        }
    }
}

/// The same of Mesa's loader, which has only whole work-groups, on every generation: compiled at once, linked, and as an object.
#[test]
fn work_item_functions_for_mesa() {
    if !has_clang() {
        return;
    }
    let place = Place::new(&[("ids.cl", IDS)]);
    let dispatch = r#"{"kernel": "ids", "grid": [8, 4, 1], "group": [4, 2, 1], "offset": [5, 3, 0], "args": [{"buffer": 4096, "out": "out"}]}"#;
    std::fs::write(place.path("d.json"), dispatch).unwrap();
    let expected: Vec<u8> = ids([8, 4], [4, 2], [5, 3]).into_iter().flat_map(u64::to_le_bytes).collect();
    for (cpu, level) in [("tahiti", 0), ("gfx600", 2), ("bonaire", 2), ("tonga", 0), ("gfx900", 2)] {
        let flags = format!("--target amdgcn-mesa-mesa3d -mcpu={cpu} -O{level} -cl-std=CL2.0");
        place.quiet(&format!("ids.cl {flags} -o ids.o"));
        let mut runs = vec![format!("ids.cl {flags}"), "ids.o".to_owned()];
        if level > 0 {
            // Calls need addresses that Mesa's loader knows, and a shared object does not.
            place.quiet(&format!("ids.cl {flags} -o ids.hsaco"));
            runs.push("ids.hsaco".to_owned());
        }
        for run in runs {
            place.quiet(&format!("run {run} --dispatch d.json"));
            assert_eq!(place.read("out"), expected, "{run}");
            std::fs::remove_file(place.path("out")).unwrap();
        }
    }
}

#[track_caller]
fn place_run(place: &Place, line: &str) {
    let output = place.run(line);
    assert!(output.status.success(), "gcnc {line}: {}", stderr(&output));
}

/// Each work-group, the last of which is partial, copies a row to LDS and every second element of it back.
#[test]
fn async_copies_in_partial_work_groups() {
    if !has_clang() {
        return;
    }
    let source = "
kernel void copy(global const int3 *in, global float2 *out, global const float2 *from) {
  local int3 row[20]; local float2 other[10];
  int g = get_group_id(0);
  event_t e = async_work_group_copy(row, in + 20 * g, 20, 0);
  e = async_work_group_strided_copy(other, from, 10, 2, e);
  wait_group_events(1, &e);
  int i = get_local_id(0);
  if (i < 5) other[i] += (float2)(row[i * 4].x, row[i * 4].z);
  barrier(CLK_LOCAL_MEM_FENCE);
  e = async_work_group_strided_copy(out + 30 * g, other, 10, 3, 0);
  wait_group_events(1, &e);
}";
    let place = Place::new(&[("copy.cl", source)]);
    let mut expected = vec![0f32; 3 * 30 * 2];
    for group in 0..3 {
        for i in 0..10 {
            let row = |lane: usize| if i < 5 { ((group * 20 + i * 4) * 4 + lane) as f32 } else { 0.0 };
            let at = (group * 30 + i * 3) * 2;
            expected[at] = (i * 2 * 2) as f32 + row(0);
            expected[at + 1] = (i * 2 * 2 + 1) as f32 + row(2);
        }
    }
    std::fs::write(place.path("expected"), expected.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>())
        .unwrap();
    for version in [4, 6] {
        let line = format!(
            "run copy.cl -cl-std=CL3.0 -mcpu=gfx900 --amdhsa-code-object-version={version} --grid 21 --block 8"
        );
        place_run(
            &place,
            &format!(
                "{line} --arg in=iota:240xi32 --arg out=zeros:180xf32 --arg from=iota:40xf32 --expect out=file:expected"
            ),
        );
    }
}

/// `printf` takes room in the runtime's buffer, by a function that libclc does not have: it gives 0 as long as there is room.
#[test]
fn printf_has_what_it_needs() {
    if !has_clang() {
        return;
    }
    let source = "#define TEN \"1234567890\"
#define LONG \"%s\", TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
kernel void k(global int *o) {
  int i = get_global_id(0);
  o[i] = printf(\"%d %s %v2hlf\\n\", i, \"text\", (float2)(i, 1));
  for (int n = 0; i == 0 && n < 4000; n++) o[1] = printf(LONG) + printf(LONG);
}";
    let place = Place::new(&[("k.cl", source)]);
    for version in [3, 4, 5] {
        let line = format!("run k.cl -mcpu=gfx900 --amdhsa-code-object-version={version} --grid 64");
        place_run(&place, &format!("{line} --arg o=zeros:64 --expect o=0,0,0"));
    }
    // More than the buffer holds.
    std::fs::write(place.path("full.cl"), source.replace("4000", "6000")).unwrap();
    place_run(&place, "run full.cl -mcpu=gfx900 --grid 64 --arg o=zeros:64 --expect o=0,-2,0");
    let ir = place.quiet("k.cl -mcpu=gfx900 --emit=llvm-ir -o -");
    assert!(ir.contains("define weak_odr hidden") && ir.contains("@__printf_alloc"), "{ir}");
    let mut child = place
        .command("-x cl - -mcpu=gfx900 -o stdin.hsaco")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), source.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success() && place.path("stdin.hsaco").exists());
}

/// What kernels print comes out, in the order of the work-items of a wave.
#[test]
fn what_is_printed_is_shown() {
    if !has_clang() {
        return;
    }
    let source = "kernel void k(global int *o, float x) {
  int i = get_global_id(0);
  printf(\"%d %s: %v4hlf|%v3hhu|%c%% %5.2f %#x %ld %g\\n\", i - 1, \"te:xt\", (float4)(i, x, 2, -3), (uchar3)(i, 255, 3), 'a' + i, x * 2, 17u,
         (long)i << 40, x);
  if (i == 1) printf(\"just text\\n\");
  if (get_group_id(0) == 1) o[1u << 28] = i;
}";
    let place = Place::new(&[("k.cl", source)]);
    let expected = "-1 te:xt: 0.000000,1.250000,2.000000,-3.000000|0,255,3|a%  2.50 0x11 0 1.25\n\
                    0 te:xt: 1.000000,1.250000,2.000000,-3.000000|1,255,3|b%  2.50 0x11 1099511627776 1.25\njust text\n";
    for version in [2, 3, 4, 5, 6] {
        for level in [0, 2] {
            let line = format!(
                "run k.cl -mcpu=gfx900 --amdhsa-code-object-version={version} -O{level} --arg o=zeros:4 --arg x=1.25 --grid"
            );
            assert_eq!(
                place.printed(&format!("{line} 2 --print o[0..1]")),
                format!("{expected}o[0]: 0\n"),
                "{version}"
            );
            // The second work-group is stopped; what the first one printed is there.
            let output = place.run(&format!("{line} 4 --block 2"));
            assert_eq!(
                (output.status.code(), &*String::from_utf8_lossy(&output.stdout)),
                (Some(3), expected)
            );
        }
    }
    let output = place.run("run k.cl -mcpu=gfx900 --arg o=zeros:4 --arg x=1.25 --grid 2 --stats=json");
    assert!(stderr(&output).starts_with(expected) && output.stdout.starts_with(b"{"), "{}", stderr(&output));
}

#[test]
fn hip_prints_through_the_buffer() {
    if !has_clang() {
        return;
    }
    let source = "#include <hip/hip_runtime.h>
extern \"C\" __global__ void k(int *o, double x, const char *format) {
  int i = threadIdx.x;
  o[i] = printf(\"%d %s: %-4c| %5.2f %*d %lld\\n\", i, \"te:xt\", 'a' + i, x, 5, i, 1ll << 40);
  if (i == 1) printf(format, i, 0.5);
}";
    let place = Place::new(&[("k.hip", source)]);
    let expected =
        "0 te:xt: a   |  1.25     0 1099511627776\n1 te:xt: b   |  1.25     1 1099511627776\n1;0.5\n";
    for options in ["", "-O0", "--amdhsa-code-object-version=4"] {
        let line = format!(
            "run k.hip -mcpu=gfx900 {options} --grid 2 --arg zeros:2xi32 --arg 1.25 --arg hex:25643b25670a00"
        );
        assert_eq!(place.printed(&line), expected, "{options}");
    }
}

#[test]
fn options_go_to_clang() {
    if !has_clang() {
        return;
    }
    let source = "#include \"n.h\"\nkernel void k(global int *o) { o[get_global_id(0)] = N * M + F; }";
    let place = Place::new(&[("k.cl", source), ("pre.h", "#define F 1000\n")]);
    std::fs::create_dir(place.path("inc")).unwrap();
    std::fs::write(place.path("inc/n.h"), "#define N 7\n").unwrap();
    place_run(
        &place,
        "run k.cl -mcpu=gfx900 -I inc -DM=3 -include pre.h -Wall -Werror --grid 2 --arg o=zeros:2 --expect o=1021,1021",
    );
    place.quiet("k.cl -mcpu=gfx900 -Iinc -D M=3 -include pre.h -ffast-math -cl-std=2.0 -Os -o k.hsaco");
    assert!(place.read("k.hsaco").starts_with(b"\x7fELF"));
    let text = place.quiet("k.cl -mcpu=gfx900 -Iinc -DM=3 -UF -DF=1 -E");
    assert!(text.contains("7 * 3 + 1"), "{text}");
    // A flag of gcnc that begins like one of clang's stays gcnc's.
    assert!(place.quiet("k.cl -mcpu=gfx900 -Iinc -DM=3 -DF=1 -filetype=asm -o -").contains("s_endpgm"));
    // Without a source there is nobody to hand them to.
    std::fs::write(place.path("e.ll"), "define amdgpu_kernel void @k() { ret void }").unwrap();
    assert_eq!(place.run("e.ll -mcpu=gfx900 -DM=3 -o e.s").status.code(), Some(2));
}

#[test]
fn what_is_written() {
    if !has_clang() {
        return;
    }
    let place = Place::new(&[("k.cl", "kernel void k(global float *o) { o[get_local_id(0)] = sin(o[0]); }")]);
    place.quiet("k.cl -mcpu=gfx803");
    assert_eq!(place.read("k.hsaco")[16], 3, "a shared object");
    place.quiet("-c k.cl -mcpu=gfx803");
    assert_eq!(place.read("k.o")[16], 1, "a relocatable one");
    place.quiet("k.cl -mcpu=gfx803 -o named.o");
    assert_eq!(place.read("named.o"), place.read("k.o"));
    place.quiet("-S k.cl -mcpu=gfx803");
    assert!(String::from_utf8(place.read("k.s")).unwrap().contains("gfx803"));
    let ir = place.quiet("k.cl -mcpu=gfx803 --emit=llvm-ir -o -");
    assert!(
        ir.contains("define protected amdgpu_kernel void @k") && !ir.contains("@_Z12get_local_idj"),
        "{ir}"
    );
    place.quiet("k.cl -mcpu=gfx803 --emit=llvm-bc");
    assert!(place.read("k.bc").starts_with(b"BC\xc0\xde"));
    // IR goes both ways, and the code is the same.
    place.quiet("k.bc --emit=llvm-ir -o again.ll");
    place.quiet("again.ll --emit=llvm-bc -o again.bc");
    place.quiet("again.bc -mcpu=gfx803 -filetype=hsaco -o again.hsaco");
    place.quiet("k.bc -mcpu=gfx803 -filetype=hsaco -o once.hsaco");
    assert_eq!(place.read("again.hsaco"), place.read("once.hsaco"));
    assert!(place.quiet("k.cl -mcpu=gfx803 --stats=json -o x.hsaco").contains("\"function\":\"k\""));
    assert!(place.quiet("-x cl k.cl -mcpu=gfx803 -stop-after=legalize -o -").contains("@k"));
    // Nothing is left of the private folder.
    std::fs::create_dir(place.path("tmp")).unwrap();
    let output = place.command("k.cl -mcpu=gfx803").env("TMPDIR", place.path("tmp")).output().unwrap();
    assert!(output.status.success() && std::fs::read_dir(place.path("tmp")).unwrap().next().is_none());
}

#[test]
fn inputs_of_all_kinds_are_linked() {
    if !has_clang() {
        return;
    }
    let place = Place::new(&[
        (
            "main.cl",
            "int a(int); int b(int); int c(int);\nkernel void k(global int *o) { int i = get_global_id(0); o[i] = a(i) + b(i) + c(i); }",
        ),
        ("a.cl", "int a(int x) { return x * 2; }"),
        (
            "b.ll",
            "target triple = \"amdgcn-amd-amdhsa\"\ndefine hidden i32 @b(i32 %x) {\n  %y = add i32 %x, 100\n  ret i32 %y\n}\n",
        ),
        (
            "c.S",
            "#define RESULT v0\n.amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl c\n.hidden c\n.type c,@function\nc:\n  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)\n  v_mul_u32_u24 RESULT, 1000, v0\n  s_setpc_b64 s[30:31]\n",
        ),
    ]);
    place.quiet("main.cl a.cl b.ll c.S -mcpu=gfx900 -o all.hsaco");
    // 2 i, i + 100 and 1000 i.
    place_run(&place, "run all.hsaco --grid 3 --block 3 --arg zeros:3xi32 --expect 0=100,1103,2106");
    // The same in two steps, on one thread.
    place.quiet("-c main.cl a.cl b.ll c.S -mcpu=gfx900 --threads=1");
    place.quiet("main.o a.o b.o c.o -o steps.hsaco");
    assert_eq!(place.read("steps.hsaco"), place.read("all.hsaco"));
    // What is missing is an error of the linker.
    let output = place.run("main.cl a.cl b.ll -mcpu=gfx900 -o broken.hsaco");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("`c`") || stderr(&output).contains(" c"), "{}", stderr(&output));
    assert!(!place.path("broken.hsaco").exists());
}

const HIP: &str = "
#include <hip/hip_runtime.h>
template <typename T> __device__ T twice(T x) { return x + x; }
extern \"C\" __global__ __launch_bounds__(128) void sum(const float *in, float *out, unsigned *count, int n) {
  __shared__ float part[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? twice(sqrtf(in[i]) + cosf(0.0f)) : 0.0f;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    atomicAdd(out, part[0]);
    atomicAdd(count, gridDim.x);
    atomicMax(count + 1, (unsigned)max(n, 3));
  }
  int lane = __shfl_xor((int)__lane_id(), 1);
  if (__ballot(lane == ((int)__lane_id() ^ 1)) != ~0ull) atomicAdd(count + 2, 1u);
}";

#[test]
fn hip_without_rocm() {
    if !has_clang() {
        return;
    }
    let place = Place::new(&[("k.hip", HIP)]);
    place.quiet("k.hip --offload-arch=gfx803,gfx906:xnack- -o k.hipfb");
    let listed = place.quiet("bundle -type=o -list -input=k.hipfb");
    assert_eq!(
        listed,
        "host-x86_64-unknown-linux-gnu-\nhipv4-amdgcn-amd-amdhsa--gfx803\nhipv4-amdgcn-amd-amdhsa--gfx906:xnack-\n"
    );
    for cpu in ["gfx803", "gfx906:xnack-"] {
        place.quiet(&format!(
            "unbundle -type=o -targets=hipv4-amdgcn-amd-amdhsa--{cpu} -input=k.hipfb -output=one.hsaco"
        ));
        let run = "run one.hsaco --grid 512 --block 128 --arg 0=ones:512xf32 --arg 1=zeros:1xf32 --arg 2=zeros:3xu32 --arg 3=512:i32";
        place_run(&place, &format!("{run} --expect 1=2048 --expect 2=16,512,0"));
    }
    // The bundle itself, too.
    place_run(
        &place,
        "run k.hipfb -mcpu=gfx803 --grid 512 --block 128 --arg 0=ones:512xf32 --arg 1=0.0 --arg 2=0,0,0 --arg 3=512:i32 --expect 1=2048.0",
    );
    let output = place.run("run k.hipfb --grid 512");
    assert!(stderr(&output).contains("gfx803, gfx906:xnack-"), "{}", stderr(&output));
    // Without `extern "C"`, the name that was written will do.
    std::fs::write(
        place.path("cpp.hip"),
        "__global__ void seven(int *o) { *o = 7; }\n__global__ void eight(int *o) { *o = 8; }",
    )
    .unwrap();
    place_run(&place, "run cpp.hip -mcpu=gfx900 --kernel seven --grid 1 --arg 0 --expect o=7");
    for version in [4, 5] {
        let run = format!(
            "run k.hip -mcpu=gfx900 -O1 --amdhsa-code-object-version={version} --grid 512 --block 128"
        );
        place_run(
            &place,
            &format!(
                "{run} --arg in=ones:512xf32 --arg out=0.0 --arg count=0,0,0 --arg n=512 --expect out=2048.0"
            ),
        );
    }
    place.quiet("k.hip --offload-arch=gfx803,gfx900 -S");
    assert!(
        String::from_utf8(place.read("k-gfx803.s")).unwrap().contains("gfx803")
            && place.path("k-gfx900.s").exists()
    );
    let output = place.run("k.hip --offload-arch=gfx900 -mcpu=gfx900");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn dependencies_as_make_reads_them() {
    if !has_clang() {
        return;
    }
    let place = Place::new(&[
        ("k.cl", "#include \"a.h\"\nkernel void k() {}"),
        ("k.hip", "#include \"a.h\"\n__global__ void k() {}"),
        ("a.h", ""),
    ]);
    place.quiet("k.cl -mcpu=gfx900 -MMD -MP -o out.hsaco");
    assert_eq!(String::from_utf8(place.read("out.d")).unwrap(), "out.hsaco: k.cl a.h\na.h:\n");
    place.quiet("-c k.cl -mcpu=gfx900 -MD -MF rules -MT target");
    let rules = String::from_utf8(place.read("rules")).unwrap();
    assert!(
        rules.starts_with("target: k.cl") && rules.contains("a.h") && !rules.contains("gcnc-"),
        "{rules}"
    );
    place.quiet("k.hip -mcpu=gfx900 -MD -MP -o hip.hsaco");
    let rules = String::from_utf8(place.read("hip.d")).unwrap();
    assert!(
        rules.starts_with("hip.hsaco: k.hip") && rules.contains("a.h:") && !rules.contains("hip_runtime"),
        "{rules}"
    );
    assert!(place.quiet("k.cl -mcpu=gfx900 -MM").ends_with(": k.cl a.h\n"));
    assert!(place.quiet("k.hip -mcpu=gfx900 -MM").ends_with("k.hip a.h\n"));
}

#[test]
fn what_goes_wrong_is_said() {
    let place = Place::new(&[
        ("bad.cl", "kernel void k(global int *o) { o[0] = nope; }"),
        ("k.cl", "kernel void k(global int *o) { o[0] = 1; }"),
        ("x.rs", "fn main() {}"),
        ("e.ll", "define amdgpu_kernel void @k() { ret void }"),
    ]);
    let fails = |line: &str, status: i32, text: &str| {
        let output = place.run(line);
        assert_eq!(output.status.code(), Some(status), "gcnc {line}: {}", stderr(&output));
        assert!(stderr(&output).contains(text), "gcnc {line}: {}", stderr(&output));
    };
    fails("k.cl", 2, "for which processor?");
    fails("none.cl", 1, "gcnc: error: none.cl: No such file");
    fails("x.rs -mcpu=gfx900", 1, "`.rs`");
    fails("k.cl -mcpu=gfx900 --clang=/no/such/clang", 1, "apt install clang-22 libclc-22");
    fails("e.ll k.cl -mcpu=gfx900 -c -o x.o", 2, "-o names one file, and 2 are written");
    fails("e.ll --offload-arch=gfx900", 2, "--offload-arch is for HIP");
    fails("x.hip --offload-arch=gfx900,gfx900:xnack+", 2, "gfx900 and gfx900:xnack+ overlap");
    fails("e.ll --emit=llvm-ir", 2, "would replace its input");
    let output = place.command("k.cl -mcpu=gfx900").env("PATH", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("apt install clang-22 libclc-22"), "{}", stderr(&output));
    if !has_clang() {
        return;
    }
    fails("bad.cl -mcpu=gfx900", 1, "bad.cl:1:39: error: use of undeclared identifier 'nope'");
    fails("k.cl bad.cl -mcpu=gfx900 -o b.hsaco", 1, "undeclared identifier");
    assert!(!place.path("b.hsaco").exists() && !place.path("bad.hsaco").exists());
    fails("k.cl -mcpu=gfx999", 1, "gfx999");
    fails("k.cl -mcpu=gfx900 --libclc=/no/such", 1, "no libclc");
}

/// clang's own exit status comes through.
#[test]
fn the_exit_status_is_clangs() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new(&[("k.cl", ""), ("clang", "#!/bin/sh\necho 'own words' >&2\nexit 7\n")]);
    std::fs::set_permissions(place.path("clang"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = place.run("k.cl -mcpu=gfx900 --clang=./clang -nogpulib");
    assert_eq!((output.status.code(), stderr(&output)), (Some(7), "own words\n".to_owned()));
}

#[test]
fn a_source_has_a_report_with_its_lines() {
    if !has_clang() {
        return;
    }
    let place =
        Place::new(&[("k.cl", "kernel void twice(global float *x) {\n  x[get_global_id(0)] *= 2.0f;\n}\n")]);
    let page = place.quiet("report k.cl -mcpu=gfx803");
    assert!(page.contains("twice") && page.contains("v_mul_f32") && page.contains("*= 2.0f"), "{page}");
}

/// OpenCL's functions of images come with gcnc: for sources that have them, and those from standard input.
#[test]
fn images_have_their_functions() {
    if !has_clang() {
        return;
    }
    let place = Place::new(&[(
        "k.cl",
        "kernel void k(read_only image2d_t a, write_only image3d_t b, global float4 *out, sampler_t s) {
            out[0] = read_imagef(a, s, (float2)(0.5f, out[1].x)) + (float4)(get_image_width(a));
            write_imagef(b, (int4)(1, 2, 3, 0), read_imagef(a, CLK_NORMALIZED_COORDS_TRUE | CLK_FILTER_LINEAR, out[2].xy));
        }",
    )]);
    for cpu in ["gfx600", "gfx803", "gfx900"] {
        let code = place.quiet(&format!("k.cl -mcpu={cpu} -S -o -"));
        assert_eq!(code.matches("image_sample_lz ").count(), 2, "{code}");
        assert!(code.contains("image_store ") && code.contains(".value_kind:     image"), "{code}");
        place.quiet(&format!("k.cl -mcpu={cpu} -o k.hsaco"));
    }
    let mut command = place.command("-x cl - -mcpu=gfx900 -S -o -");
    command.stdin(std::fs::File::open(place.path("k.cl")).unwrap());
    assert!(String::from_utf8_lossy(&command.output().unwrap().stdout).contains("image_sample_lz "));
}

/// Images and samplers as arguments of `gcnc run`: their texels are printed, saved, expected and compared without the gaps between rows.
#[test]
fn images_are_arguments() {
    if !has_clang() {
        return;
    }
    let place = Place::new(&[(
        "flip.cl",
        "kernel void flip(read_only image2d_t from, write_only image2d_t to, sampler_t how) {
            int2 at = (int2)(get_global_id(0), get_global_id(1));
            float2 place = ((float2)(get_image_width(from) - 1 - at.x, at.y) + 0.5f) / convert_float2(get_image_dim(from));
            write_imagef(to, at, read_imagef(from, how, place));
        }
        kernel void shift(read_only image1d_array_t from, write_only image1d_buffer_t to) {
            int x = get_global_id(0);
            write_imageui(to, x, read_imageui(from, (int2)(x, 1)) + 1);
        }",
    )]);
    let flip = "run flip.cl --kernel flip --grid 4,2 --block 4,2 --arg from=4x2:r:unorm8:1,2,3,4,5,6,7,8 --arg to=image2d:4x2:r:unorm8 --arg how=sampler:normalized";
    for cpu in ["gfx701", "gfx900", "gfx1030"] {
        let line = format!("{flip} -mcpu={cpu} --print to --save to=to.bin --expect to=4,3,2,1,8,7,6,5");
        assert_eq!(place.printed(&line), "to[0]: 4 3 2 1 8 7 6 5\n", "{cpu}");
        assert_eq!(place.read("to.bin"), [4, 3, 2, 1, 8, 7, 6, 5]);
        // What was saved is what an image starts with.
        let back = flip.replace("1,2,3,4,5,6,7,8", "file:to.bin");
        assert_eq!(place.printed(&format!("{back} -mcpu={cpu} --print to[0..2]")), "to[0]: 1 2\n");
        let shift = "run flip.cl --kernel shift --grid 3 --arg 3x2:rg:u16:iota --arg 3:rg:u32";
        assert_eq!(
            place.printed(&format!("{shift} -mcpu={cpu} --print to")),
            "to[0]: 7 8 9 10 11 12\n",
            "{cpu}"
        );
    }
    // Another processor has its images laid out its own way.
    place.quiet("flip.cl -mcpu=gfx1010 -o flip.hsaco");
    let output = place.run(&format!("{flip} -mcpu=gfx803 --compare flip.hsaco"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = place.run(&format!("{flip} -mcpu=gfx900 --expect to=4,3,2,1,8,7,6,0"));
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("to[7]: 5, expected 0"), "{}", stderr(&output));
    let output = place.run("run flip.cl --kernel flip -mcpu=gfx900 --grid 4,2 --arg how=green");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--arg from=64x64:rgba:f32:random"), "{}", stderr(&output));
}
