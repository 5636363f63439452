//! Addresses that are found to be neighbours, or to follow a pointer, and bytes that are stored together.

use gcnc_tests::gpu::{ITEMS, run_words};

fn check(text: &str, input: &[u32], expected: &[u32]) {
    for cpu in ["gfx600", "gfx803", "gfx900", "gfx1010", "gfx1030"] {
        for level in [0, 1, 2, 3] {
            assert_eq!(run_words(text, cpu, level, input), expected, "{cpu} -O{level}");
        }
    }
}

/// `sum in[((i + y) * w + x) * 2]` over rows, by a width that is loaded; rows go up or down.
fn rows(flags: &str, index: &str, [from, step, until]: [i32; 3], [y, x]: [&str; 2]) -> String {
    format!(
        r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias readonly %in) {{
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %w = load i32, ptr addrspace(1) %in, !invariant.load !0
  %half = lshr i32 %id, 1
  %quarter = lshr i32 %id, 2
  %some = sub i32 63, %id
  br label %loop
loop:
  %i = phi i32 [ {from}, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %below = add {flags} i32 %i, {y}
  %row = mul {flags} i32 %below, %w
  %at = add {flags} i32 %row, {x}
  %wide = {index} i32 %at to i64
  %p = getelementptr {{ i32, i32 }}, ptr addrspace(1) %in, i64 %wide
  %v = load i32, ptr addrspace(1) %p
  %three = mul i32 %sum, 3
  %more = add i32 %three, %v
  %next = add {flags} i32 %i, {step}
  %end = icmp eq i32 %next, {until}
  br i1 %end, label %exit, label %loop
exit:
  store i32 %more, ptr addrspace(1) %o
  ret void
}}
declare i32 @llvm.amdgcn.workitem.id.x()
!0 = !{{}}
"#
    )
}

#[test]
fn rows_are_followed_by_pointers() {
    const WIDTH: u32 = 70;
    let mut input: Vec<u32> = (0..2 * WIDTH * 32).map(|n| n.wrapping_mul(0x9e37_79b9)).collect();
    input[0] = WIDTH;
    for (flags, index) in [("nsw", "sext"), ("nuw", "zext"), ("", "sext"), ("", "zext"), ("nsw nuw", "zext")]
    {
        for [from, step, until] in [[0, 1, 13], [2, 2, 14], [12, -1, 0]] {
            if step < 0 && flags.contains("nuw") {
                continue;
            }
            for [y, x] in [["0", "%id"], ["0", "%half"], ["%quarter", "%some"], ["3", "%id"]] {
                let number = |name: &str, id: u32| match name {
                    "%id" => id,
                    "%half" => id / 2,
                    "%quarter" => id / 4,
                    "%some" => 63 - id,
                    constant => constant.parse().expect("a number"),
                };
                let expected: Vec<u32> = (0..ITEMS)
                    .map(|id| {
                        let (mut i, mut sum) = (from, 0u32);
                        while i != until {
                            let row = i as u32 + number(y, id);
                            let v = input[2 * (row * WIDTH + number(x, id)) as usize];
                            sum = sum.wrapping_mul(3).wrapping_add(v);
                            i += step;
                        }
                        sum
                    })
                    .collect();
                check(&rows(flags, index, [from, step, until], [y, x]), &input, &expected);
            }
        }
    }
}

/// Eight corners of a cube whose sums are stacked as a compiler shares them, and bytes of what they give.
const CORNERS: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias readonly %in) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %w = load i32, ptr addrspace(1) %in, !invariant.load !0
  %x = add nsw i32 %id, -20
  %base = getelementptr i32, ptr addrspace(1) %in, i32 40
  %a0 = add nsw i32 %x, 0
  %a1 = add nsw i32 %x, 1
  %b0 = add nsw i32 %a0, %w
  %b1 = add nsw i32 %a1, %w
  %c0 = add nsw i32 %b0, 100
  %c1 = add nsw i32 %b1, 100
  %p0 = getelementptr i32, ptr addrspace(1) %base, i32 %a0
  %p1 = getelementptr i32, ptr addrspace(1) %base, i32 %a1
  %p2 = getelementptr i32, ptr addrspace(1) %base, i32 %b0
  %p3 = getelementptr i32, ptr addrspace(1) %base, i32 %b1
  %p4 = getelementptr i32, ptr addrspace(1) %base, i32 %c0
  %p5 = getelementptr i32, ptr addrspace(1) %base, i32 %c1
  %v0 = load i32, ptr addrspace(1) %p0
  %v1 = load i32, ptr addrspace(1) %p1
  %v2 = load i32, ptr addrspace(1) %p2
  %v3 = load i32, ptr addrspace(1) %p3
  %v4 = load i32, ptr addrspace(1) %p4
  %v5 = load i32, ptr addrspace(1) %p5
  %s0 = xor i32 %v0, %v1
  %s1 = add i32 %v2, %v3
  %s2 = sub i32 %v4, %v5
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %o1 = getelementptr i8, ptr addrspace(1) %o, i32 1
  %o2 = getelementptr i8, ptr addrspace(1) %o, i32 2
  %o3 = getelementptr i8, ptr addrspace(1) %o, i32 3
  %t0 = trunc i32 %s0 to i8
  %t1 = trunc i32 %s1 to i8
  %h = trunc i32 %s2 to i16
  store i8 %t1, ptr addrspace(1) %o1, align 1
  store i8 %t0, ptr addrspace(1) %o, align 4
  store i16 %h, ptr addrspace(1) %o2, align 2
  store i8 9, ptr addrspace(1) %o3, align 1
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
!0 = !{}
"#;

#[test]
fn corners_are_neighbours_and_bytes_are_stored_together() {
    for width in [5, 30] {
        let mut input: Vec<u32> = (0..400u32).map(|n| n.wrapping_mul(0x9e37_79b9)).collect();
        input[0] = width;
        let expected: Vec<u32> = (0..ITEMS)
            .map(|id| {
                let at = |more: u32| input[(40 + id - 20 + more) as usize];
                let s0 = at(0) ^ at(1);
                let s1 = at(width).wrapping_add(at(width + 1));
                let s2 = at(width + 100).wrapping_sub(at(width + 101));
                s0 & 0xff | (s1 & 0xff) << 8 | (s2 & 0xff) << 16 | 9 << 24
            })
            .collect();
        check(CORNERS, &input, &expected);
    }
}
