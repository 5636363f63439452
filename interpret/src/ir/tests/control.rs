//! Branches, loops, switches, calls, and what stops a run.

use super::*;

/// A kernel whose blocks are `body`, from `block0` on with `v3: i32` the work-item, and whose `v100: i32` in `block9` is stored.
fn blocks(body: &str) -> String {
    format!(
        "define kernel void @k(v0: ptr addrspace(1), v1: ptr addrspace(1)) {{\nblock0:\n  \
         v3: i32 = intrinsic amdgcn.workitem.id.x()\n{body}\
         v101: ptr addrspace(1) = ptradd v0, v3 * 4 + 0\n  store v101, v100 addrspace(1) align 4\n  ret\n}}\n"
    )
}

fn run(text: &str) -> Vec<u32> {
    let run = run_items(text, 64, 256, &[], false);
    run.result.unwrap_or_else(|fault| panic!("{fault}"));
    run.out.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
}

#[test]
fn loops_of_different_lengths() {
    // 1 + 2 + .. + lane; parameters swap in each round.
    let text = blocks(
        "  jump block1(i32 0, i32 0, i32 7)\nblock1(v4: i32, v5: i32, v6: i32):\n  v7: i32 = add v4, v5\n  v8: i32 = add v5, i32 1\n  \
         v9: i1 = icmp ult v5, v3\n  br v9, block1(v7, v8, v4), block9(v7)\nblock9(v100: i32):\n  ",
    );
    let want: Vec<u32> = (0..64).map(|l| l * (l + 1) / 2).collect();
    assert_eq!(run(&text), want);
}

#[test]
fn block_arguments_are_moved_at_once() {
    let text = blocks(
        "  jump block1(v3, i32 100, i32 0)\nblock1(v4: i32, v5: i32, v6: i32):\n  v8: i32 = add v6, i32 1\n  \
         v9: i1 = icmp ult v8, i32 4\n  br v9, block1(v5, v4, v8), block9(v4)\nblock9(v100: i32):\n  ",
    );
    assert_eq!(run(&text), [100; 64]);
}

#[test]
fn switches() {
    let text = blocks(
        "  switch v3, block9(i32 9) [1: block9(i32 5), 3: block2, 4: block2]\nblock2:\n  v4: i32 = mul v3, i32 10\n  \
         jump block9(v4)\nblock9(v100: i32):\n  ",
    );
    assert_eq!(run(&text)[..6], [9, 5, 9, 30, 40, 9]);
}

/// Who votes in the inner loop is who agrees on the rounds of both loops.
#[test]
fn ballots_in_a_nest() {
    let text = blocks(
        "  jump block1(i32 0, i32 0)\nblock1(v4: i32, v5: i32):\n  v6: i32 = and v3, i32 1\n  v7: i32 = add v6, v4\n  jump block2(i32 0, v5)\n\
         block2(v8: i32, v9: i32):\n  v10: i64 = intrinsic amdgcn.ballot(i1 1)\n  v11: i64 = intrinsic ctpop(v10)\n  v12: i32 = trunc v11\n  \
         v13: i32 = add v9, v12\n  v14: i32 = add v8, i32 1\n  v15: i1 = icmp ule v14, v7\n  br v15, block2(v14, v13), block3\n\
         block3:\n  v16: i32 = add v4, i32 1\n  v17: i1 = icmp ult v16, i32 3\n  br v17, block1(v16, v13), block9(v13)\n\
         block9(v100: i32):\n  ",
    );
    // Even lanes go 1, 2, 3 rounds, odd ones 2, 3, 4: the last round of each is by themselves, 32 of them.
    let want: Vec<u32> = (0..64).map(|l| if l % 2 == 0 { 6 * 64 } else { 6 * 64 + 3 * 32 }).collect();
    assert_eq!(run(&text), want);
}

#[test]
fn calls_by_name_and_by_pointer() {
    let text = blocks(
        "  v4: i32 = and v3, i32 1\n  v5: i64 = zext v4\n  v6: ptr = ptradd ptr @f, v5 * 16 + 0\n  v7: i32 = call indirect v6 (v3)\n  \
         v8: i32 = call @g(v7)\n  jump block9(v8)\nblock9(v100: i32):\n  ",
    );
    let text = format!(
        "define device i32 @f(v0: i32) {{\nblock0:\n  v1: i32 = add v0, i32 1000\n  ret v1\n}}\n\
         define device i32 @g(v0: i32) {{\nblock0:\n  v1: i1 = icmp ult v0, i32 8\n  br v1, block1, block2\n\
         block1:\n  ret i32 8\nblock2:\n  v2: i64 = intrinsic amdgcn.ballot(i1 1)\n  v3: i64 = intrinsic ctpop(v2)\n  v4: i32 = trunc v3\n  \
         v5: i32 = mul v4, i32 65536\n  v6: i32 = add v0, v5\n  ret v6\n}}\n{text}"
    );
    // Even lanes call f, odd ones g, of which those below 8 return early: 28 are left. All call g again.
    let got = run(&text);
    for l in 0..64 {
        let inner = if l % 2 == 0 {
            1000 + l as u32
        } else if l < 8 {
            8
        } else {
            l as u32 + 28 * 65536
        };
        let outer = if inner < 8 {
            8
        } else if inner == 8 {
            8 + 64 * 65536
        } else {
            inner + 64 * 65536
        };
        assert_eq!(got[l], outer, "lane {l}");
    }
}

#[test]
fn recursion_has_a_stack() {
    let text = blocks(
        "  v4: i32 = and v3, i32 7\n  v5: i32 = call @f(v4)\n  jump block9(v5)\nblock9(v100: i32):\n  ",
    );
    // The n-th triangular number, with the number kept on the stack.
    let text = format!(
        "define device i32 @f(v0: i32) {{\nblock0:\n  v1: ptr addrspace(5) = alloca 4 align 4\n  store v1, v0 addrspace(5) align 4\n  \
         v2: i1 = icmp eq v0, i32 0\n  br v2, block1, block2\nblock1:\n  ret i32 0\nblock2:\n  v3: i32 = sub v0, i32 1\n  v4: i32 = call @f(v3)\n  \
         v5: i32 = load v1 addrspace(5) align 4\n  v6: i32 = add v4, v5\n  ret v6\n}}\n{text}"
    );
    let want: Vec<u32> = (0..64).map(|l| (l & 7) * ((l & 7) + 1) / 2).collect();
    assert_eq!(run(&text), want);
}

#[test]
fn faults_name_their_place() {
    let fault = |body: &str| {
        let text = format!(
            "define kernel void @k(v0: ptr addrspace(1)) {{\nblock0:\n  v3: i32 = intrinsic amdgcn.workitem.id.x()\n  {body}\n}}\n"
        );
        run_items(&text, 64, 8, &[], false).result.expect_err("a fault")
    };
    let branch = fault(
        "v4: i1 = icmp ult v3, i32 5\n  v5: i1 = select v4, i1 1, i1 poison\n  br v5, block1, block1\nblock1:\n  ret",
    );
    assert!(matches!(branch.cause, Cause::Undefined("a branch")), "{branch}");
    let store =
        fault("v4: ptr addrspace(1) = ptradd v0, v3 * 4 + 0\n  store v4, i32 1 addrspace(1) align 4\n  ret");
    assert!(matches!(store.cause, Cause::Memory(_)), "{store}");
    assert_eq!(store.site.map(|s| s.lane), Some(2));
    let endless = fault("jump block1\nblock1:\n  jump block1");
    assert!(matches!(endless.cause, Cause::Fuel), "{endless}");
    let unreachable = fault("unreachable");
    assert!(matches!(unreachable.cause, Cause::Unreachable), "{unreachable}");
    let trap = fault("intrinsic trap()\n  ret");
    assert!(matches!(trap.cause, Cause::Trap), "{trap}");
    // What is undefined decides nothing here.
    let text = "define kernel void @k(v0: ptr addrspace(1)) {\nblock0:\n  v4: i32 = add i32 undef, i32 1\n  store v0, v4 addrspace(1) align 4\n  ret\n}\n";
    let run = run_items(text, 1, 4, &[], false);
    assert!(run.result.is_ok() && run.undef == [0xff; 4]);
}

#[test]
fn lanes_end_for_good() {
    let text = blocks(
        "  v4: i1 = icmp ult v3, i32 4\n  br v4, block1, block9(i32 5)\nblock1:\n  intrinsic amdgcn.endpgm()\n  jump block9(i32 6)\nblock9(v100: i32):\n  ",
    );
    assert_eq!(run(&text)[..6], [0, 0, 0, 0, 5, 5]);
}
