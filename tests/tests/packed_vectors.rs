//! Vectors of bytes and halves that variable indices address: what LLVM makes of small arrays on the stack. They compute what the host does at every level, and from
//! -O2 on they are in registers, dword by dword.

use gcnc_tests::gpu::Gpu;
use gcnc_tests::toolchain;
use std::fmt::Write;

/// Lanes of a launch, and iterations of the loop.
const LANES: u32 = 64;
const ROUNDS: u32 = 20;

/// A vector type, and whether places are the same in all lanes.
#[derive(Clone, Copy, Debug)]
struct Case {
    bits: u32,
    lanes: u32,
    uniform: bool,
}

impl Case {
    /// Whether the vector fills dwords, so that it may come from memory and go there.
    fn fills_dwords(self) -> bool {
        (self.bits * self.lanes).is_multiple_of(32)
    }

    /// Element `k` of the vector that a lane starts with.
    fn first(self, k: u32) -> u32 {
        (k * 3 + 1) & ((1 << self.bits) - 1)
    }

    /// Elements of two vectors are replaced in a loop, at places that only the run tells and at one that the code says; then all are read.
    fn ir(self) -> String {
        let Self { bits, lanes, uniform } = self;
        let ty = format!("<{lanes} x i{bits}>");
        let elements: Vec<String> = (0..lanes).map(|k| format!("i{bits} {}", self.first(k))).collect();
        let place = if uniform { "%j" } else { "%x" };
        let mut text = format!(
            "target triple = \"amdgcn-amd-amdhsa\"
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, ptr addrspace(1) %all) #0 {{
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %t
  %x = load i32, ptr addrspace(1) %from
  %mine = getelementptr [{} x i8], ptr addrspace(1) %all, i32 %t
",
            lanes * bits / 8
        );
        let start = match self.fills_dwords() {
            true => {
                let _ = writeln!(text, "  %start = load {ty}, ptr addrspace(1) %mine, align 4");
                "%start".to_owned()
            }
            false => format!("<{}>", elements.join(", ")),
        };
        let _ = write!(
            text,
            "  br label %loop
loop:
  %j = phi i32 [ 0, %entry ], [ %next, %loop ]
  %v = phi {ty} [ {start}, %entry ], [ %v3, %loop ]
  %w = phi {ty} [ undef, %entry ], [ %w2, %loop ]
  %a = mul i32 {place}, 5
  %b = add i32 %a, %j
  %at = urem i32 %b, {lanes}
  %e32 = mul i32 %x, %j
  %e = trunc i32 %e32 to i{bits}
  %v1 = insertelement {ty} %v, i{bits} %e, i32 %at
  %c = icmp ugt i32 %e32, %b
  %v2 = select i1 %c, {ty} %v1, {ty} %v
  %v3 = freeze {ty} %v2
  %at64 = zext i32 %at to i64
  %w1 = insertelement {ty} %w, i{bits} %e, i64 %at64
  %w2 = insertelement {ty} %w1, i{bits} 77, i32 {}
  %next = add i32 %j, 1
  %more = icmp ult i32 %next, {ROUNDS}
  br i1 %more, label %loop, label %exit
exit:
  %q0 = extractelement {ty} %w2, i32 %at
  %r0 = extractelement {ty} %v3, i32 %at
  %q1 = zext i{bits} %q0 to i32
  %r1 = zext i{bits} %r0 to i32
  %s0 = shl i32 %q1, 16
  %t0 = xor i32 %s0, %r1
",
            lanes - 1
        );
        for k in 0..lanes {
            let _ = write!(
                text,
                "  %g{k} = extractelement {ty} %v3, i32 {k}
  %h{k} = zext i{bits} %g{k} to i32
  %m{k} = mul i32 %h{k}, {}
  %t{} = add i32 %t{k}, %m{k}
",
                k * k + 1,
                k + 1
            );
        }
        if self.fills_dwords() {
            let _ = writeln!(text, "  store {ty} %v3, ptr addrspace(1) %mine, align 4");
        }
        let _ = write!(
            text,
            "  %to = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %t{lanes}, ptr addrspace(1) %to
  ret void
}}
declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = {{ \"amdgpu-flat-work-group-size\"=\"64,64\" }}
"
        );
        text
    }

    /// What a lane computes, and the vector that it leaves.
    fn expected(self, x: u32, start: &[u32]) -> (u32, Vec<u32>) {
        let mask = (1 << self.bits) - 1;
        let mut v = start.to_vec();
        let mut w = vec![0; self.lanes as usize];
        let mut at = 0;
        for j in 0..ROUNDS {
            let b = if self.uniform { j } else { x }.wrapping_mul(5).wrapping_add(j);
            at = (b % self.lanes) as usize;
            let e = x.wrapping_mul(j);
            if e > b {
                v[at] = e & mask;
            }
            w[at] = e & mask;
            w[self.lanes as usize - 1] = 77;
        }
        let sum = v.iter().zip(0u32..).fold(w[at] << 16 ^ v[at], |sum, (&element, k)| {
            sum.wrapping_add(element.wrapping_mul(k * k + 1))
        });
        (sum, v)
    }
}

#[test]
fn elements_at_variable_places_are_right() {
    let shapes = [(8, 17), (8, 20), (8, 55), (8, 64), (8, 128), (16, 9), (16, 16), (16, 33), (8, 12)];
    for (bits, lanes) in shapes {
        for uniform in [false, true] {
            let case = Case { bits, lanes, uniform };
            for cpu in ["gfx803", "gfx900", "gfx1030"] {
                for level in [0, 1, 2] {
                    run(case, cpu, level);
                }
            }
        }
    }
}

fn run(case: Case, cpu: &str, level: u8) {
    let options = gcnc::CompileOptions {
        cpu: cpu.into(),
        opt_level: level,
        file_type: gcnc::FileType::Obj,
        verify: true,
        ..Default::default()
    };
    let output = gcnc::compile(case.ir().as_bytes(), "kernel", &options).unwrap();
    let stats = &output.functions[0];
    // Neither on the stack nor spilled.
    assert!(level < 2 || stats.scratch_bytes == 0, "{case:?} {cpu}: {stats:?}");
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("kernel.o");
    std::fs::write(&object, output.bytes).unwrap();
    let mut gpu = Gpu::new(&toolchain::link(&object).unwrap()).unwrap();
    let input: Vec<u32> = (0..LANES).map(|_| gpu.rng.u32(..)).collect();
    let start: Vec<u32> = (0..case.lanes).map(|k| case.first(k)).collect();
    let bytes = |element: u32| element.to_le_bytes().into_iter().take(case.bits as usize / 8);
    let one: Vec<u8> = start.iter().flat_map(|&element| bytes(element)).collect();
    let (out, data) = (gpu.zeros::<u32>(LANES as usize), gpu.buffer(&input));
    let all = gpu.buffer(&one.repeat(LANES as usize));
    gpu.launch("k", [LANES, 1, 1], [LANES, 1, 1], &[out.into(), data.into(), all.into()]).unwrap();
    let expected: Vec<(u32, Vec<u32>)> = input.iter().map(|&x| case.expected(x, &start)).collect();
    let sums: Vec<u32> = expected.iter().map(|lane| lane.0).collect();
    assert_eq!(gpu.read::<u32>(out), sums, "{case:?} {cpu} -O{level}");
    if case.fills_dwords() {
        let left: Vec<u8> = expected.iter().flat_map(|lane| &lane.1).flat_map(|&e| bytes(e)).collect();
        assert_eq!(gpu.read::<u8>(all), left, "{case:?} {cpu} -O{level}");
    }
}
