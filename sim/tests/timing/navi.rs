//! The same for GFX10, whose SIMDs issue in every cycle and whose results are there some cycles later.
//!
//! Sources, where a test names no other: AMD, "RDNA Architecture", white paper, 2019; latencies of arithmetic: LLVM, SISchedule.td, `GFX10SpeedModel`,
//! and Mesa, aco_statistics, which have the same figures.

use super::harness::{Loop, ONE};
use super::{Cost, between, check, exactly, nearly};
use sim::Model;

/// One wave of 32 lanes.
const NARROW: Loop<'static> = Loop { cpu: "gfx1030", group: 32, ..ONE };
/// One wave of 64 lanes.
const WIDE: Loop<'static> = Loop { group: 64, wide: true, ..NARROW };

/// The body's cycles in a wave of 32 lanes and of 64.
fn both(name: &'static str, body: &'static str, narrow: u64, wide: u64) -> [Cost<'static>; 2] {
    let of = |of: Loop<'static>| Loop { body, ..of };
    [exactly(name, of(NARROW), narrow), exactly(name, of(WIDE), wide)]
}

/// 32 lanes a cycle, transcendental operations a quarter of that beside the others, 32-bit products a quarter, 64-bit floats 1/16; 5, 10, 8
/// and 22 cycles until the result.
#[test]
fn arithmetic() {
    let table = [
        both("dependent v_add_f32", "v_add_f32 v1, v1, v1", 5, 5),
        both("independent v_add_f32", "v_add_f32 v1, v2, v3\nv_add_f32 v4, v5, v6", 2, 4),
        both(
            "five chains of v_add_f32",
            "v_add_f32 v1, v1, v1\nv_add_f32 v2, v2, v2\nv_add_f32 v3, v3, v3\nv_add_f32 v4, v4, v4\nv_add_f32 v5, v5, v5",
            5,
            10,
        ),
        both("dependent v_fma_f32", "v_fma_f32 v1, v1, v1, v1", 5, 5),
        both("dependent v_mul_lo_u32", "v_mul_lo_u32 v1, v1, v1", 8, 8),
        both("independent v_mul_lo_u32", "v_mul_lo_u32 v1, v2, v3", 4, 8),
        both("dependent v_rcp_f32", "v_rcp_f32 v1, v1", 10, 10),
        both("independent v_rcp_f32", "v_rcp_f32 v1, v2", 4, 8),
        both(
            "three v_add_f32 beside v_rcp_f32",
            "v_rcp_f32 v1, v2\nv_add_f32 v3, v4, v5\nv_add_f32 v3, v4, v5\nv_add_f32 v3, v4, v5",
            4,
            8,
        ),
        both("dependent v_fma_f64", "v_fma_f64 v[2:3], v[2:3], v[2:3], v[2:3]", 22, 32),
        both("independent v_fma_f64", "v_fma_f64 v[2:3], v[4:5], v[4:5], v[4:5]", 16, 32),
        both("dependent v_add_f64", "v_add_f64 v[2:3], v[2:3], v[2:3]", 22, 32),
    ];
    check(table.as_flattened());
}

/// Scalar instructions: one a cycle, whose results are there in two; those of the vector unit in scalar registers as others of it.
#[test]
fn scalars() {
    let table = [
        both("dependent s_add_u32", "s_add_u32 s12, s12, s12", 2, 2),
        both("independent s_mov_b32", "s_mov_b32 s12, 1\ns_mov_b32 s13, 1", 2, 2),
        both("s_cmp and s_cselect by SCC", "s_cmp_lg_u32 s12, 0\ns_cselect_b32 s13, s14, s15", 3, 3),
        both("v_readfirstlane, then s_add", "v_readfirstlane_b32 s12, v1\ns_add_u32 s13, s12, 1", 6, 6),
        both("s_nop 0", "s_nop 0", 1, 1),
        both("s_nop 7", "s_nop 7", 8, 8),
        both("s_waitcnt 0 with nothing to wait for", "s_waitcnt vmcnt(0) lgkmcnt(0)", 1, 1),
        both("instructions of 8 bytes", "v_add_f32_e64 v1, |v2|, v3", 1, 2),
    ];
    check(table.as_flattened());
}

/// Four SIMDs, each with a vector and a scalar unit of its own.
#[test]
fn issue_from_several_waves() {
    let waves = |body, n: u32| Loop { body, group: 32 * n, ..NARROW };
    check(&[
        nearly("dependent v_add_f32, a wave on each SIMD", waves("v_add_f32 v1, v1, v1", 4), 5),
        nearly("dependent v_add_f32, four waves on each", waves("v_add_f32 v1, v1, v1", 16), 5),
        nearly("dependent v_add_f32, five waves on each", waves("v_add_f32 v1, v1, v1", 20), 5),
        nearly("independent v_add_f32, eight waves on each", waves("v_add_f32 v1, v2, v3", 32), 8),
        nearly("independent v_rcp_f32, four waves on each", waves("v_rcp_f32 v1, v2", 16), 16),
        between("dependent s_add_u32, four waves on each", waves("s_add_u32 s12, s12, s12", 16), 4, 5),
    ]);
}

/// LDS: 32 banks for each of both compute units, 32 lanes at a time. Vector memory: 32 addresses and a line of 128 bytes a cycle and compute unit.
#[test]
fn memory() {
    let load = "buffer_load_dword v1, v0, s[4:7], 0 offen\ns_waitcnt vmcnt(0)\nv_add_f32 v2, v1, v1";
    let glc = "buffer_load_dword v1, v0, s[4:7], 0 offen glc dlc\ns_waitcnt vmcnt(0)\nv_add_f32 v2, v1, v1";
    let lds = "ds_read_b32 v1, v0\ns_waitcnt lgkmcnt(0)\nv_add_f32 v2, v1, v1";
    let many = |body, setup| Loop { body, setup, repeat: 8, group: 512, lds: 32 << 10, ..NARROW };
    let read = "ds_read_b32 v1, v0";
    let near = "v_and_b32 v0, 0xff, v0";
    let vector = "buffer_load_dword v1, v0, s[4:7], 0 offen";
    check(&[
        between("L0", Loop { body: load, ..NARROW }, 112, 124),
        between("L2", Loop { body: glc, ..NARROW }, 200, 220),
        between("LDS", Loop { body: lds, lds: 1024, ..NARROW }, 64, 76),
        // 16 waves, eight on each compute unit.
        nearly("ds_read_b32, stride 1", many(read, ""), 8),
        nearly("ds_read_b32, stride 2", many(read, "v_lshlrev_b32 v0, 1, v0"), 16),
        nearly("ds_read_b32 of 64 lanes", Loop { wide: true, group: 1024, ..many(read, "") }, 16),
        nearly("dwords side by side", many(vector, near), 8),
        nearly("a line a lane", many(vector, "v_and_b32 v0, 0xff, v0\nv_lshlrev_b32 v0, 5, v0"), 8 * 32),
    ]);
}

/// 1,024 VGPRs of 32 lanes on a SIMD: waves of 64 lanes take two for each. 20 waves on GFX10.1, 16 on GFX10.3; 128 KB of LDS for both compute units.
#[test]
fn occupancy() {
    let load = "buffer_load_dword v1, v0, s[4:7], 0 offen\ns_waitcnt vmcnt(0)\nv_add_f32 v2, v1, v1";
    let resident = |of: Loop<'_>| {
        let cycles =
            Loop { body: load, setup: "v_and_b32 v0, 0xff, v0", groups: 160, ..of }.run(50, Model::default());
        (cycles.wave_cycles as f64 / cycles.modelled_cycles as f64).round() as u64
    };
    let near = |waves: u64, of: Loop<'_>| {
        let found = resident(of);
        assert!(found <= waves && found + waves / 4 + 1 >= waves, "{found} waves, not {waves}: {of:?}");
    };
    near(64, NARROW);
    near(80, Loop { cpu: "gfx1010", ..NARROW });
    near(32, Loop { vgprs: 128, ..NARROW });
    near(16, Loop { vgprs: 128, ..WIDE });
    near(2, Loop { lds: 64 << 10, ..NARROW });
}
