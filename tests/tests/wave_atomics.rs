//! Atomic operations of all lanes on one place, run on the simulator with all kinds of active lanes: one operation for the wave must leave in
//! memory, and in each lane, what one after the other in the order of lanes does.

use gcnc_tests::gpu::{ITEMS, run_words};

/// LLVM's word and what it does to 64 bits; to 32 bits it does the same with numbers that are extended.
type Op = (&'static str, fn(i64, i64) -> i64);

const SIGNED: [Op; 7] = [
    ("add", |a, b| a.wrapping_add(b)),
    ("sub", |a, b| a.wrapping_sub(b)),
    ("and", |a, b| a & b),
    ("or", |a, b| a | b),
    ("xor", |a, b| a ^ b),
    ("max", |a, b| a.max(b)),
    ("min", |a, b| a.min(b)),
];
const UNSIGNED: [Op; 2] =
    [("umax", |a, b| (a as u64).max(b as u64) as i64), ("umin", |a, b| (a as u64).min(b as u64) as i64)];

/// Each wave has a place of its own, the one that its first lane's number says. `operand` is the other operand, of `bits`
/// bits; `used` says whether lanes want what they read.
fn kernel(word: &str, bits: u32, operand: &str, used: bool) -> String {
    let result = if used { "%old" } else { "7" };
    let ty = format!("i{bits}");
    format!(
        r#"
target triple = "amdgcn-amd-amdhsa"
@places = internal addrspace(3) global [{ITEMS} x i64] poison, align 8
define amdgpu_kernel void @k(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias %in) {{
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %first = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %id)
  %place = getelementptr i64, ptr addrspace(3) @places, i32 %first
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %id
  %active = load i32, ptr addrspace(1) %p
  %q = getelementptr i32, ptr addrspace(1) %in, i32 {ITEMS}
  %x64 = load i64, ptr addrspace(1) %q, align 4
  %r = getelementptr i64, ptr addrspace(1) %q, i32 1
  %start64 = load i64, ptr addrspace(1) %r, align 4
  %x32 = trunc i64 %x64 to i32
  %start32 = trunc i64 %start64 to i32
  store {ty} %start{bits}, ptr addrspace(3) %place
  fence syncscope("workgroup") seq_cst
  %on = icmp ne i32 %active, 0
  br i1 %on, label %there, label %done
there:
  %old = atomicrmw {word} ptr addrspace(3) %place, {ty} {operand} syncscope("workgroup") monotonic
  br label %done
done:
  %got = phi {ty} [ 0, %entry ], [ {result}, %there ]
  fence syncscope("workgroup") seq_cst
  %last = load atomic {ty}, ptr addrspace(3) %place syncscope("workgroup") monotonic, align 8
  %m = mul {ty} %got, 5
  %s = add {ty} %m, %last
  %wide = {widen} {ty} %s to i64
  %high = lshr i64 %wide, 33
  %mixed = xor i64 %wide, %high
  %z = trunc i64 %mixed to i32
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %z, ptr addrspace(1) %o
  ret void
}}
"#,
        widen = if bits == 32 { "zext" } else { "bitcast" },
    )
}

/// A case: the operation, the width of what it is done to, and whether lanes want what they read.
#[derive(Clone, Copy, Debug)]
struct Case {
    op: Op,
    bits: u32,
    used: bool,
}

impl Case {
    /// `x` as a number of the case's width, with the sign that the operation sees.
    fn cut(self, x: i64) -> i64 {
        match (self.bits, self.op.0.starts_with('u')) {
            (64, _) => x,
            (_, true) => i64::from(x as u32),
            (_, false) => i64::from(x as i32),
        }
    }

    /// What lanes leave, `wave` of them at a time.
    fn lanes(self, active: &[bool], wave: usize, start: i64, x: i64) -> Vec<u32> {
        let mut out = Vec::new();
        for lanes in active.chunks(wave) {
            let mut place = self.cut(start);
            let mut got = Vec::new();
            for &on in lanes {
                got.push(match (on, self.used) {
                    (false, _) => 0,
                    (true, true) => place,
                    (true, false) => 7,
                });
                if on {
                    place = self.cut((self.op.1)(place, self.cut(x)));
                }
            }
            out.extend(got.into_iter().map(|got| {
                let sum = got.wrapping_mul(5).wrapping_add(place);
                if self.bits == 64 { (sum as u64 ^ sum as u64 >> 33) as u32 } else { sum as u32 }
            }));
        }
        out
    }
}

/// Whether the code asks how many lanes come before each.
fn counts_lanes(text: &str, cpu: &str) -> bool {
    let options = gcnc::CompileOptions {
        cpu: cpu.to_owned(),
        file_type: gcnc::FileType::Asm,
        opt_level: 2,
        ..gcnc::CompileOptions::default()
    };
    let output = gcnc::compile(text.as_bytes(), "test", &options).expect("the text is right");
    String::from_utf8_lossy(&output.bytes).contains("v_mbcnt_lo_u32_b32")
}

#[test]
fn one_operation_is_as_good_as_one_for_each_lane() {
    let patterns: [fn(usize) -> bool; 5] =
        [|_| true, |n| n % 3 == 1, |n| n == 40, |n| (20..50).contains(&n), |n| n >= 37];
    let widths = [(32, true), (32, false), (64, true), (64, false)];
    let ops = SIGNED.into_iter().chain(UNSIGNED);
    let cases = ops.flat_map(|op| widths.map(|(bits, used)| Case { op, bits, used }));
    for (at, case) in cases.enumerate() {
        for (n, pattern) in patterns.iter().enumerate() {
            let active: Vec<bool> = (0..ITEMS as usize).map(pattern).collect();
            let (x, start) = [(0x1_8000_0003, -7), (-1, 12), (9, 1 << 40)][(at + n) % 3];
            let word = case.op.0;
            // Sums of 64 bits are joined where a constant is added.
            let (operand, x) = match (case.bits, word) {
                (64, "add" | "sub") => ("4294967291", 0xffff_fffb),
                (64, _) => ("%x64", x),
                _ => ("%x32", x),
            };
            let cpu = ["gfx900", "gfx1030", "gfx600", "gfx803"][(at + n) % 4];
            let wave = if cpu == "gfx1030" { 32 } else { 64 };
            let numbers = [x, start].map(|number| [number as u32, (number >> 32) as u32]);
            let input: Vec<u32> =
                active.iter().map(|&on| u32::from(on)).chain(numbers.into_iter().flatten()).collect();
            let text = kernel(word, case.bits, operand, case.used);
            assert!(counts_lanes(&text, cpu), "{case:?} on {cpu}: each lane makes its own operation");
            let expected = case.lanes(&active, wave, start, x);
            assert_eq!(run_words(&text, cpu, 2, &input), expected, "{case:?} on {cpu}, pattern {n}");
        }
    }
}
