//! Counted loops whose counters start and end near the edges of their range, run on the simulator with other lanes at other places:
//! doing several iterations at a time must do neither more nor fewer.

use gcnc_tests::gpu::{ITEMS, run_words};

/// Most iterations of a lane; the numbers that are loaded, one for each.
const MOST: usize = 30;

/// How a loop goes on: LLVM's word, and whether it does with the next counter.
type Goes = (&'static str, fn(i64, i64) -> bool);

const SIGNED: [Goes; 2] = [("slt", |next, bound| next < bound), ("sgt", |next, bound| next > bound)];
const UNSIGNED: [Goes; 2] =
    [("ult", |next, bound| (next as u32) < bound as u32), ("ugt", |next, bound| next as u32 > bound as u32)];
const OTHER: Goes = ("ne", |next, bound| next != bound);

/// A loop that adds `step` to its counter and goes on while that is `word` to the bound; `flags` are those of the addition.
fn kernel(word: &str, step: i64, flags: &str) -> String {
    format!(
        r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias %in) {{
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %two = shl i32 %id, 1
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %two
  %q = getelementptr i32, ptr addrspace(1) %p, i32 1
  %from = load i32, ptr addrspace(1) %p
  %bound = load i32, ptr addrspace(1) %q
  %table = getelementptr i32, ptr addrspace(1) %in, i32 {table}
  br label %loop
loop:
  %i = phi i32 [ %from, %entry ], [ %next, %loop ]
  %j = phi i32 [ 0, %entry ], [ %k, %loop ]
  %sum = phi i32 [ 1, %entry ], [ %more, %loop ]
  %t = getelementptr i32, ptr addrspace(1) %table, i32 %j
  %x = load i32, ptr addrspace(1) %t
  %m = mul i32 %sum, 3
  %y = add i32 %m, %i
  %more = add i32 %y, %x
  %k = add nuw nsw i32 %j, 1
  %next = add {flags} i32 %i, {step}
  %on = icmp {word} i32 %next, %bound
  br i1 %on, label %loop, label %done
done:
  %z = xor i32 %more, %k
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %z, ptr addrspace(1) %o
  ret void
}}
declare i32 @llvm.amdgcn.workitem.id.x()
"#,
        table = 2 * ITEMS
    )
}

fn number(n: usize) -> u32 {
    (n as u32 + 1).wrapping_mul(0x9e37_79b9)
}

/// What a lane leaves, if its loop ends soon enough and, where it must not, does not wrap as signed numbers.
fn lane((from, bound): (i32, i32), step: i64, goes: fn(i64, i64) -> bool, may_wrap: bool) -> Option<u32> {
    let (mut i, mut sum) = (from, 1u32);
    for j in 0..MOST {
        sum = sum.wrapping_mul(3).wrapping_add(i as u32).wrapping_add(number(j));
        let (next, wraps) = i.overflowing_add(step as i32);
        i = next;
        if wraps && !may_wrap {
            return None;
        }
        if !goes(i.into(), bound.into()) {
            return Some(sum ^ (j as u32 + 1));
        }
    }
    None
}

/// Numbers at the edges of their ranges, and in the middle.
fn edges() -> Vec<i32> {
    let around = |n: i32| (-9..=9).map(move |by: i32| n.wrapping_add(by));
    [0, i32::MAX, 1000].into_iter().flat_map(around).collect()
}

#[test]
fn iterations_are_neither_more_nor_fewer() {
    let up_and_down = |goes: &[Goes; 2]| [(goes[0], [1, 2, 3]), (goes[1], [-1, -2, -3])];
    let cases = up_and_down(&SIGNED)
        .into_iter()
        .chain(up_and_down(&UNSIGNED))
        .flat_map(|(goes, steps)| steps.map(|step| (goes, step)))
        .chain([(OTHER, 1), (OTHER, -1)]);
    for ((word, goes), step) in cases {
        for (flags, may_wrap) in [("nsw", false), ("", true)] {
            let edges = edges();
            let lanes: Vec<(i32, i32, u32)> = edges
                .iter()
                .flat_map(|&from| edges.iter().map(move |&bound| (from, bound)))
                .filter_map(|(from, bound)| Some((from, bound, lane((from, bound), step, goes, may_wrap)?)))
                .collect();
            assert!(lanes.len() > 300, "{word} {step}: {} lanes", lanes.len());
            let text = kernel(word, step, flags);
            // All pairs, as many at a time as there are lanes; the last ones again where some are left.
            for (n, first) in (0..lanes.len()).step_by(ITEMS as usize).enumerate() {
                let chosen: Vec<_> =
                    (0..ITEMS as usize).map(|k| lanes[(first + k).min(lanes.len() - 1)]).collect();
                let pairs = chosen.iter().flat_map(|&(from, bound, _)| [from as u32, bound as u32]);
                let input: Vec<u32> = pairs.chain((0..MOST).map(number)).collect();
                let expected: Vec<u32> = chosen.iter().map(|lane| lane.2).collect();
                let cpu = ["gfx900", "gfx1030", "gfx600", "gfx803"][n % 4];
                assert_eq!(run_words(&text, cpu, 2, &input), expected, "{word} {step} {flags} on {cpu}, {n}");
            }
        }
    }
}
