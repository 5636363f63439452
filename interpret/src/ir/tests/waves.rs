//! Operations between lanes, waves and barriers.

use super::*;
use mir::target::Features;

#[test]
fn lanes_exchange_values() {
    assert_eq!(
        values("  v4: i32 = add v3, i32 5\n  v100: i32 = intrinsic amdgcn.readfirstlane(v4)\n"),
        [5; 64]
    );
    assert_eq!(values("  v100: i32 = intrinsic amdgcn.readlane(v3, i32 70)\n"), [6; 64]);
    let rotate = "  v4: i32 = add v3, i32 1\n  v5: i32 = shl v4, i32 2\n  v100: i32 = intrinsic amdgcn.ds.bpermute(v5, v3)\n";
    assert_eq!((values(rotate)[0], values(rotate)[63]), (1, 0));
    let push = rotate.replace("bpermute", "permute");
    assert_eq!((values(&push)[0], values(&push)[1]), (63, 0));
    let mirror = "  v100: i32 = intrinsic amdgcn.update.dpp(i32 99, v3, i32 320, i32 15, i32 15, i1 0)\n";
    assert_eq!(values(mirror)[..2], [15, 14]);
    let shift = "  v100: i32 = intrinsic amdgcn.update.dpp(i32 99, v3, i32 273, i32 13, i32 15, i1 0)\n";
    assert_eq!((values(shift)[..2].to_vec(), values(shift)[17]), (vec![99, 0], 99));
    let swizzle = "  v100: i32 = intrinsic amdgcn.ds.swizzle(v3, i32 1055)\n";
    assert_eq!(values(swizzle)[..4], [1, 0, 3, 2]);
    let below = "  v4: i32 = intrinsic amdgcn.mbcnt.lo(i32 4294967295, i32 0)\n  v100: i32 = intrinsic amdgcn.mbcnt.hi(i32 4294967295, v4)\n";
    assert_eq!(values(below), (0..64).collect::<Vec<u32>>());
    let sum = "  v100: i32 = intrinsic amdgcn.wave.reduce.umax(v3, i32 0)\n";
    assert_eq!(values(sum), [63; 64]);
}

/// GFX10's waves of either size: what reaches across 32 lanes, and operations that no generation before has.
#[test]
fn lanes_of_gfx10() {
    let small = target_of("gfx1030");
    let mut large = small;
    large.features.remove(Features::WAVEFRONTSIZE32);
    let values = |target: Target, body: &str| {
        dwords_on(target, body, false).into_iter().map(|(value, _)| value).collect::<Vec<_>>()
    };
    let first = "  v100: i32 = intrinsic amdgcn.readfirstlane(v3)\n";
    assert_eq!((values(small, first)[40], values(large, first)[40]), (32, 0));
    // The lane 16 further is one of the same half, in either size.
    let far = "  v4: i32 = add v3, i32 16\n  v5: i32 = shl v4, i32 2\n  v100: i32 = intrinsic amdgcn.ds.bpermute(v5, v3)\n";
    for target in [small, large] {
        let got = values(target, far);
        assert_eq!((got[0], got[20], got[40], got[60]), (16, 4, 56, 44), "{target}");
        assert_eq!(
            values(target, &far.replace("bpermute", "permute"))[..17],
            [16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 0]
        );
        // The eight lanes of a group backwards.
        let eight = "  v100: i32 = intrinsic amdgcn.mov.dpp8(v3, i32 342391)\n";
        assert_eq!(values(target, eight)[8..16], [15, 14, 13, 12, 11, 10, 9, 8]);
        let rows = "  v100: i32 = intrinsic amdgcn.permlane16(i32 9, v3, i32 1985229328, i32 4275878552, i1 0, i1 0)\n";
        assert_eq!(values(target, rows), (0..64).collect::<Vec<u32>>());
        let other = rows.replace("permlane16", "permlanex16");
        assert_eq!(values(target, &other), (0..64).map(|lane| lane ^ 16).collect::<Vec<u32>>());
        let whole = "  v100: i32 = intrinsic amdgcn.strict.wwm(v3)\n";
        assert_eq!(values(target, whole), (0..64).collect::<Vec<u32>>());
    }
}

/// What a lane that does not run holds is undefined for some operations and zero for others.
#[test]
fn lanes_that_do_not_run() {
    let text = |call: &str| {
        format!(
            "define kernel void @k(v0: ptr addrspace(1)) {{\nblock0:\n  v3: i32 = intrinsic amdgcn.workitem.id.x()\n  v4: i1 = icmp ugt v3, i32 9\n  \
             br v4, block1, block2\nblock1:\n  v100: i32 = intrinsic {call}\n  v101: ptr addrspace(1) = ptradd v0, v3 * 4 + 0\n  \
             store v101, v100 addrspace(1) align 4\n  jump block2\nblock2:\n  ret\n}}\n"
        )
    };
    let run = |call: &str| {
        let run = run_items(&text(call), 64, 256, &[], false);
        assert!(run.result.is_ok());
        (run.out[80], run.undef[80])
    };
    assert_eq!(run("amdgcn.readfirstlane(v3)"), (10, 0));
    assert_eq!(run("amdgcn.readlane(v3, i32 2)"), (0, 0xff));
    assert_eq!(run("amdgcn.ds.bpermute(i32 8, v3)"), (0, 0));
    assert_eq!(run("amdgcn.ds.bpermute(i32 48, v3)"), (12, 0));
}

#[test]
fn masks_of_comparisons() {
    let body = "  v4: i64 = intrinsic amdgcn.icmp(v3, i32 8, i32 36)\n  v100: i32 = trunc v4\n";
    assert_eq!(values(body), [255; 64]);
    let float = "  v4: float = uitofp v3\n  v5: i64 = intrinsic amdgcn.fcmp(v4, float 0x40400000, i32 4)\n  v100: i32 = trunc v5\n";
    assert_eq!(values(float), [7; 64]);
}

const EXCHANGE: &str = "global @lds internal addrspace(3) size 1024 align 4 init \"\"\n\
    define kernel void @k(v0: ptr addrspace(1)) {\nblock0:\n  v3: i32 = intrinsic amdgcn.workitem.id.x()\n  v4: ptr addrspace(3) = ptradd ptr addrspace(3) @lds, v3 * 4 + 0\n  \
    store v4, v3 addrspace(3) align 4\n  intrinsic amdgcn.s.barrier()\n  v5: i32 = xor v3, i32 127\n  v6: ptr addrspace(3) = ptradd ptr addrspace(3) @lds, v5 * 4 + 0\n  \
    v7: i32 = load v6 addrspace(3) align 4\n  v8: ptr addrspace(1) = ptradd v0, v3 * 4 + 0\n  store v8, v7 addrspace(1) align 4\n  ret\n}\n";

#[test]
fn waves_meet_at_barriers() {
    let run = run_items(EXCHANGE, 128, 512, &[], false);
    let outcome = run.result.expect("a run");
    let got: Vec<u32> = run.out.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    assert_eq!(got, (0..128).rev().collect::<Vec<u32>>());
    assert_eq!(run.host.barriers, [[0, 0, 0, 0, 1, 0, 0, 0]]);
    assert_eq!(outcome.instructions, 2 * 10);
}

#[test]
fn a_barrier_that_a_wave_misses() {
    let text = "define kernel void @k(v0: ptr addrspace(1)) {\nblock0:\n  v3: i32 = intrinsic amdgcn.workitem.id.x()\n  v4: i1 = icmp ult v3, i32 64\n  \
                br v4, block1, block2\nblock1:\n  intrinsic amdgcn.s.barrier()\n  jump block2\nblock2:\n  ret\n}\n";
    let fault = run_items(text, 128, 4, &[], false).result.expect_err("a fault");
    assert!(matches!(fault.cause, Cause::Barrier(_)), "{fault}");
    assert!(run_items(text, 64, 4, &[], false).result.is_ok());
}

#[test]
fn ids_and_partial_waves() {
    let text = "define kernel void @k(v0: ptr addrspace(1)) {\nblock0:\n  v3: i32 = intrinsic amdgcn.workitem.id.x()\n  v4: i32 = intrinsic amdgcn.workgroup.id.x()\n  \
                v5: i64 = intrinsic amdgcn.ballot(i1 1)\n  v6: i32 = trunc v5\n  v7: i32 = add v4, v6\n  v8: ptr addrspace(1) = ptradd v0, v3 * 4 + 0\n  \
                store v8, v7 addrspace(1) align 4\n  ret\n}\n";
    let run = run_items(text, 3, 16, &[], false);
    assert_eq!(run.out, [9, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
}
