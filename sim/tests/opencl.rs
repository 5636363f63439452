//! LLVM's objects on the simulator: OpenCL kernels compiled by clang and llc at -O0 and -O2, linked, run with all checks on, and
//! compared with the CPU. They are outside judges of the simulator. Skipped, with a message, where the tools are missing. `SIM_CPUS` and `SIM_CHECKS` choose
//! other processors and checks.

use sim::{Arg, BufferId, Checks, CodeObject, Config, Dispatch, Kind, Memory, Report, Stats};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels.cl");
const LIBCLC: &str = "/usr/lib/clc/amdgcn-amd-amdhsa.bc";

fn command(program: &str, args: &[&str]) -> Option<()> {
    let out = Command::new(program).args(args).output().ok()?;
    if !out.status.success() {
        panic!("{program} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }
    Some(())
}

/// Compiles the kernels at optimisation `level` for `cpu`; `None` where a tool is missing. One test at a time, as they share files.
fn compile(cpu: &str, level: u32) -> Option<Vec<u8>> {
    static LOCK: Mutex<()> = Mutex::new(());
    let _guard = LOCK.lock().ok()?;
    if !Path::new(LIBCLC).exists() {
        return None;
    }
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let name = cpu.replace(':', "-");
    let file = |ext: &str| dir.join(format!("kernels-{name}-O{level}.{ext}")).to_string_lossy().into_owned();
    let (bc, obj, so) = (file("bc"), file("o"), file("hsaco"));
    // `:64` for waves of 64 lanes where the processor leaves the choice.
    let (cpu, wide) = cpu.split_once(':').map_or((cpu, false), |(cpu, _)| (cpu, true));
    let (mcpu, opt) = (format!("-mcpu={cpu}"), format!("-O{level}"));
    command(
        "clang-22",
        &[
            "-x",
            "cl",
            "-cl-std=CL2.0",
            "--target=amdgcn-amd-amdhsa",
            &mcpu,
            "-mcode-object-version=4",
            &opt,
            "-nogpulib",
            "-Xclang",
            "-mlink-builtin-bitcode",
            "-Xclang",
            LIBCLC,
            "-ffp-contract=off",
            if wide { "-mwavefrontsize64" } else { "-emit-llvm" },
            "-emit-llvm",
            "-c",
            SOURCE,
            "-o",
            &bc,
        ],
    )?;
    let mut llc = vec!["-march=amdgcn", &mcpu, &opt, "-filetype=obj", &bc, "-o", &obj];
    llc.extend(wide.then_some("-mattr=+wavefrontsize64"));
    command("llc-22", &llc)?;
    command("ld.lld-22", &["-shared", &obj, "-o", &so])?;
    std::fs::read(so).ok()
}

struct Bench {
    object: CodeObject,
    memory: Memory,
}

impl Bench {
    fn buffer<T: Copy, const N: usize>(&mut self, values: &[T], bytes: impl Fn(T) -> [u8; N]) -> BufferId {
        self.memory.add_buffer("buffer", values.iter().flat_map(|v| bytes(*v)).collect())
    }

    fn u32s(&mut self, values: &[u32]) -> BufferId {
        self.buffer(values, u32::to_le_bytes)
    }

    fn f32s(&mut self, values: &[f32]) -> BufferId {
        self.buffer(values, f32::to_le_bytes)
    }

    fn run(&mut self, kernel: &str, grid: [u32; 3], group: [u32; 3], args: Vec<Arg>) -> Stats {
        let d = Dispatch { kernel: kernel.to_owned(), grid, group, args, ..Dispatch::default() };
        let trace = std::env::var("SIM_TRACE").is_ok_and(|k| k == kernel);
        let checks = std::env::var("SIM_CHECKS")
            .map_or(Checks::default(), |list| Checks::parse(&list).expect("names of checks"));
        let cfg = Config { trace, checks, budget: 50_000_000, ..Config::default() };
        let before = self.memory.clone();
        let mut run = sim::run(&self.object, &mut self.memory, &d, &cfg);
        if run.as_ref().is_err_and(|report| is_known(report, &self.object)) {
            self.memory = before;
            let cfg = Config { checks: checks - Checks::HAZARD, ..cfg };
            run = sim::run(&self.object, &mut self.memory, &d, &cfg);
        }
        match run {
            Ok(stats) => stats,
            Err(report) => panic!("{report}"),
        }
    }
}

/// LLVM looks for VMEMtoScalarWriteHazard at explicit results alone, so that it misses EXEC of `s_or_saveexec` (docs/llc-findings.md).
fn is_known(report: &Report, object: &CodeObject) -> bool {
    report.kind == Kind::Hazard
        && object.processor().is_some_and(|p| p.name.starts_with("gfx101"))
        && report.instruction.as_ref().is_some_and(|text| text.contains("_saveexec_"))
}

fn value(bytes: &[u8]) -> Arg {
    Arg::Value(bytes.to_vec())
}

fn benches() -> Vec<Bench> {
    let mut list = Vec::new();
    // `SIM_CPUS`: other processors, separated by commas.
    let cpus = std::env::var("SIM_CPUS")
        .unwrap_or_else(|_| "gfx900,gfx1010,gfx1010:64,gfx1030,gfx1030:64".to_owned());
    for (cpu, level) in cpus.split(',').flat_map(|cpu| [(cpu, 0), (cpu, 2)]) {
        match compile(cpu, level) {
            Some(bytes) => {
                let object = CodeObject::load(&bytes).unwrap_or_else(|r| panic!("{r}"));
                list.push(Bench { object, memory: Memory::new() });
            }
            None => eprintln!("skipped: clang-22, llc-22, ld.lld-22 and libclc-22 are needed"),
        }
    }
    list
}

fn random(n: usize, seed: u32) -> Vec<u32> {
    let mut x = seed;
    (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            x
        })
        .collect()
}

fn floats(n: usize, seed: u32) -> Vec<f32> {
    random(n, seed).iter().map(|x| (*x as i32 >> 8) as f32 / 1024.0).collect()
}

#[test]
fn kernels_of_llvm_give_the_results_of_the_cpu() {
    for mut b in benches() {
        saxpy(&mut b);
        matmul(&mut b);
        reduce(&mut b);
        histogram(&mut b);
        mandelbrot(&mut b);
        stencil(&mut b);
        hash(&mut b);
        privates(&mut b);
        bytes(&mut b);
        divide(&mut b);
        structs(&mut b);
        generic_pointers(&mut b);
    }
}

fn saxpy(b: &mut Bench) {
    let (x, y) = (floats(1000, 1), floats(1000, 2));
    let (bx, by) = (b.f32s(&x), b.f32s(&y));
    let n = 1000u32;
    let args = vec![Arg::Buffer(by), Arg::Buffer(bx), value(&2.5f32.to_le_bytes()), value(&n.to_le_bytes())];
    let stats = b.run("saxpy", [1024, 1, 1], [256, 1, 1], args);
    // 1024 work-items in waves of 64 or 32.
    assert!(stats.groups == 4 && [16, 32].contains(&stats.waves));
    let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.5 * x + y).collect();
    assert_eq!(b.memory.read_f32s(by), want);
}

fn matmul(b: &mut Bench) {
    let n = 48;
    let (p, q) = (floats(n * n, 3), floats(n * n, 4));
    let (bp, bq, bc) = (b.f32s(&p), b.f32s(&q), b.f32s(&vec![0.0; n * n]));
    let args = vec![Arg::Buffer(bc), Arg::Buffer(bp), Arg::Buffer(bq), value(&(n as u32).to_le_bytes())];
    b.run("matmul", [n as u32, n as u32, 1], [16, 16, 1], args);
    let mut want = vec![0f32; n * n];
    for y in 0..n {
        for x in 0..n {
            want[y * n + x] = (0..n).fold(0.0, |s, k| p[y * n + k].mul_add(q[k * n + x], s));
        }
    }
    assert_eq!(b.memory.read_f32s(bc), want);
}

fn reduce(b: &mut Bench) {
    let data = random(1024, 5);
    let (bin, bout) = (b.u32s(&data), b.u32s(&[0; 4]));
    b.run("reduce", [1024, 1, 1], [256, 1, 1], vec![Arg::Buffer(bout), Arg::Buffer(bin), Arg::Local(1024)]);
    let want: Vec<u32> = data.chunks(256).map(|c| c.iter().fold(0u32, |s, x| s.wrapping_add(*x))).collect();
    assert_eq!(b.memory.read_u32s(bout), want);
}

fn histogram(b: &mut Bench) {
    let data: Vec<u8> = random(5000, 6).iter().map(|x| (x >> 9) as u8).collect();
    let (bin, bins) = (b.buffer(&data, |x| [x]), b.u32s(&[0; 256]));
    let args = vec![Arg::Buffer(bins), Arg::Buffer(bin), value(&5000u32.to_le_bytes())];
    b.run("histogram", [512, 1, 1], [256, 1, 1], args);
    let mut want = vec![0; 256];
    data.iter().for_each(|d| want[usize::from(*d)] += 1);
    assert_eq!(b.memory.read_u32s(bins), want);
}

fn mandelbrot(b: &mut Bench) {
    let out = b.u32s(&[0; 64 * 32]);
    let (x0, y0, step) = (-2.0f32, -1.0f32, 0.05f32);
    let args = vec![
        Arg::Buffer(out),
        value(&x0.to_le_bytes()),
        value(&y0.to_le_bytes()),
        value(&step.to_le_bytes()),
        value(&64u32.to_le_bytes()),
    ];
    b.run("mandelbrot", [64, 32, 1], [16, 8, 1], args);
    let pixel = |x: u32, y: u32| {
        let (cr, ci) = (x0 + x as f32 * step, y0 + y as f32 * step);
        let (mut zr, mut zi, mut i) = (0f32, 0f32, 0);
        while i < 200 {
            let (a, b) = (zr * zr, zi * zi);
            if a + b > 4.0 {
                break;
            }
            zi = 2.0 * zr * zi + ci;
            zr = a - b + cr;
            i += 1;
        }
        i
    };
    let want: Vec<u32> = (0..32).flat_map(|y| (0..64).map(move |x| pixel(x, y))).collect();
    assert_eq!(b.memory.read_u32s(out), want);
}

fn stencil(b: &mut Bench) {
    let n = 192;
    let data: Vec<f64> = random(n, 7).iter().map(|x| f64::from(*x as i32) / 1e8).collect();
    let (bin, bout) = (b.buffer(&data, f64::to_le_bytes), b.buffer(&vec![0.0; n], f64::to_le_bytes));
    b.run(
        "stencil",
        [n as u32, 1, 1],
        [64, 1, 1],
        vec![Arg::Buffer(bout), Arg::Buffer(bin), value(&(n as u32).to_le_bytes())],
    );
    let want: Vec<u8> = (0..n)
        .flat_map(|i| {
            let l = if i > 0 { data[i - 1] } else { 0.0 };
            let r = if i + 1 < n { data[i + 1] } else { 0.0 };
            (data[i] + 0.25 * (l - 2.0 * data[i] + r) / (1.0 + data[i] * data[i])).to_le_bytes()
        })
        .collect();
    assert_eq!(b.memory.bytes(bout), want);
}

fn hash(b: &mut Bench) {
    let out = b.buffer(&[0u64; 128], u64::to_le_bytes);
    let seed = 0x0123_4567_89ab_cdefu64;
    b.run("hash", [128, 1, 1], [64, 1, 1], vec![Arg::Buffer(out), value(&seed.to_le_bytes())]);
    let one = |i: u32| {
        let mut h = seed.wrapping_add(u64::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        for k in 0..10u32 {
            h ^= h >> 33;
            h = h.wrapping_mul(0xff51_afd7_ed55_8ccd);
            h = h.rotate_left(7 + (k & 3)).wrapping_add(u64::from((h % 1_000_003) as u32 / (k + 3)));
            h ^= u64::from((h as u32).count_ones()) << 40 | u64::from(((h >> 32) as u32).leading_zeros());
        }
        h
    };
    let want: Vec<u8> = (0..128).flat_map(|i| one(i).to_le_bytes()).collect();
    assert_eq!(b.memory.bytes(out), want);
}

fn privates(b: &mut Bench) {
    let data: Vec<u32> = random(100, 8).iter().map(|x| x % 1000).collect();
    let (bin, out) = (b.u32s(&data), b.u32s(&[0; 192]));
    b.run(
        "privates",
        [192, 1, 1],
        [128, 1, 1],
        vec![Arg::Buffer(out), Arg::Buffer(bin), value(&100u32.to_le_bytes())],
    );
    let one = |i: u32| {
        let mut a: Vec<i32> = (0..32).map(|k| data[((i * 7 + k) % 100) as usize] as i32).collect();
        a.sort_unstable();
        (0..32u32)
            .fold(0i32, |s, k| s.wrapping_mul(31).wrapping_add(a[(k.wrapping_mul(i | 1) & 31) as usize]))
            as u32
    };
    assert_eq!(b.memory.read_u32s(out), (0..192).map(one).collect::<Vec<_>>());
}

fn bytes(b: &mut Bench) {
    let data: Vec<u8> = random(128, 9).iter().map(|x| *x as u8).collect();
    let bin = b.buffer(&data, |x| [x]);
    let (o8, o16) = (b.buffer(&[0u8; 128], |x| [x]), b.buffer(&[0u16; 128], u16::to_le_bytes));
    b.run("bytes", [128, 1, 1], [128, 1, 1], vec![Arg::Buffer(o8), Arg::Buffer(o16), Arg::Buffer(bin)]);
    let c = |i: usize| i32::from(data[i] as i8);
    assert_eq!(b.memory.bytes(o8), (0..128).map(|i| (c(i) * 3 + 1) as u8).collect::<Vec<_>>());
    let want: Vec<u8> = (0..128).flat_map(|i| ((c(i) * c(i) - i as i32) as u16).to_le_bytes()).collect();
    assert_eq!(b.memory.bytes(o16), want);
}

fn divide(b: &mut Bench) {
    let a = floats(128, 10);
    let d: Vec<u32> = random(128, 11).iter().map(|x| (*x as i32 >> 4 | 1) as u32).collect();
    let (ba, bd) = (b.f32s(&a), b.u32s(&d));
    let (q, r) = (b.f32s(&[0.0; 128]), b.u32s(&[0; 128]));
    b.run(
        "divide",
        [128, 1, 1],
        [64, 1, 1],
        vec![Arg::Buffer(q), Arg::Buffer(r), Arg::Buffer(ba), Arg::Buffer(bd)],
    );
    for i in 0..128 {
        let (got, want) = (b.memory.read_f32s(q)[i], a[i] / d[i] as i32 as f32 + a[i].abs().sqrt());
        // OpenCL allows 2.5 ulp for the quotient and 3 for the root.
        assert!((got - want).abs() <= want.abs() * 4e-7, "{got} {want}");
        let (n, i32i) = (d[i] as i32, i as i32);
        let want = (n / (i32i % 13 + 1)).wrapping_add(n % (i32i + 1));
        assert_eq!(b.memory.read_u32s(r)[i] as i32, want);
    }
}

fn structs(b: &mut Bench) {
    let data = floats(256, 12);
    let (bin, out) = (b.f32s(&data), b.f32s(&[0.0; 64]));
    let p = [1.0f32, 2.0, 3.0, 4.0];
    let mut bytes: Vec<u8> = p.iter().flat_map(|x| x.to_le_bytes()).collect();
    [10i32, 20, 30, 0].iter().for_each(|x| bytes.extend(x.to_le_bytes()));
    b.run("structs", [64, 1, 1], [64, 1, 1], vec![Arg::Buffer(out), value(&bytes), Arg::Buffer(bin)]);
    let want: Vec<f32> = (0..64)
        .map(|i| {
            let v: Vec<f32> = (0..4).map(|k| data[4 * i + k] * p[k]).collect();
            v[0] + v[1] + v[2] + v[3] + [10.0, 20.0, 30.0][i % 3]
        })
        .collect();
    assert_eq!(b.memory.read_f32s(out), want);
}

fn generic_pointers(b: &mut Bench) {
    let data = random(128, 13);
    let (bin, out) = (b.u32s(&data), b.u32s(&[0; 128]));
    b.run("generic_pointers", [128, 1, 1], [64, 1, 1], vec![Arg::Buffer(out), Arg::Buffer(bin)]);
    let want: Vec<u32> = (0..128usize)
        .map(|g| {
            let i = g % 64;
            match (i & 1, i & 2) {
                (1, _) => data[g - i + 63 - i].wrapping_mul(3),
                (_, 2) => i as u32,
                _ => data[i],
            }
        })
        .collect();
    assert_eq!(b.memory.read_u32s(out), want);
}

/// Takes one instruction after the other out of a correct kernel: the checks must see it.
#[test]
fn missing_waits_are_reported() {
    let Some(bytes) = compile("gfx900", 2) else { return };
    let object = CodeObject::load(&bytes).unwrap();
    let entry = object.kernel("saxpy").unwrap().entry;
    // The text of the kernel in the file: sections keep the distance between address and offset here, so look for its words.
    let image = object.image_at(0).unwrap();
    let code = &image[entry as usize..entry as usize + 256];
    let at = bytes.windows(code.len()).position(|w| w == code).unwrap();
    let mut seen = 0;
    for word in 0..code.len() / 4 {
        let b = &code[4 * word..4 * word + 4];
        if b == [0, 0, 0x81, 0xbf] {
            break;
        }
        if b[2..] != [0x8c, 0xbf] {
            continue;
        }
        let mut broken = bytes.clone();
        broken[at + 4 * word..at + 4 * word + 4].copy_from_slice(&[0, 0, 0x80, 0xbf]);
        let json = r#"{"kernel": "saxpy", "grid": [64, 1, 1], "group": [64, 1, 1],
            "args": [{"buffer": 256, "fill": "random:1"}, {"buffer": 256, "fill": "iota32"}, {"f32": 2.0}, {"u32": 64}]}"#;
        assert!(sim::run_from_json(&bytes, json, &sim::RunOptions::default()).is_ok());
        match sim::run_from_json(&broken, json, &sim::RunOptions::default()) {
            Err(sim::RunError::Stopped(r)) => assert_eq!(r.kind, sim::Kind::InFlight, "{r}"),
            other => panic!("{other:?}"),
        }
        seen += 1;
    }
    assert!(seen >= 2);
}

#[test]
fn accesses_beyond_a_buffer_are_reported() {
    let Some(bytes) = compile("gfx900", 2) else { return };
    let json = r#"{"kernel": "saxpy", "grid": [64, 1, 1], "group": [64, 1, 1],
        "args": [{"buffer": 252}, {"buffer": 256}, {"f32": 2.0}, {"u32": 64}]}"#;
    match sim::run_from_json(&bytes, json, &sim::RunOptions::default()) {
        Err(sim::RunError::Stopped(r)) => {
            assert_eq!((r.kind, r.lane), (sim::Kind::OutOfBounds, Some(63)), "{r}")
        }
        other => panic!("{other:?}"),
    }
}

/// Prints lane instructions a second; run with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn speed() {
    let Some(bytes) = compile("gfx900", 2) else { return };
    let json = r#"{"kernel": "mandelbrot", "grid": [512, 128, 1], "group": [16, 16, 1],
        "args": [{"buffer": 262144}, {"f32": -2.0}, {"f32": -1.0}, {"f32": 0.005}, {"u32": 512}]}"#;
    for strict in ["all", "none"] {
        let options = sim::RunOptions { strict: Some(strict.to_owned()), ..Default::default() };
        let start = std::time::Instant::now();
        let out = sim::run_from_json(&bytes, json, &options).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let s = &out.stats;
        eprintln!(
            "{strict}: {} instructions, {:.0} ns each; {:.0} million lane instructions a second, {:.0} as full waves",
            s.instructions,
            seconds * 1e9 / s.instructions as f64,
            s.lane_instructions as f64 / seconds / 1e6,
            s.valu as f64 * 64.0 / seconds / 1e6,
        );
    }
}
