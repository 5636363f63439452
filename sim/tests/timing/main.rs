//! The model of cycles against kernels whose cost is known.
//!
//! Each line of a table is a loop in assembly and what its body costs by what has been published, which the comment above says. Where the
//! source is exact, so is the figure; where it is a latency that was measured, the few cycles of issue around it are left open.

mod harness;
mod navi;

use harness::{Loop, ONE};
use sim::Model;

/// A body, and the cycles that it costs a wave.
struct Cost<'a> {
    name: &'a str,
    of: Loop<'a>,
    /// Least and most, in hundredths.
    cycles: [u64; 2],
}

fn check(table: &[Cost<'_>]) {
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|row| {
            let cycles = row.of.cycles();
            let [least, most] = row.cycles;
            println!(
                "{:<44} {:>8.2}  expected {:.2} to {:.2}",
                row.name,
                cycles as f64 / 100.0,
                least as f64 / 100.0,
                most as f64 / 100.0
            );
            (!(least..=most).contains(&cycles))
                .then(|| format!("{}: {cycles} is not in {least}..={most}", row.name))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn exactly(name: &'static str, of: Loop<'static>, cycles: u64) -> Cost<'static> {
    Cost { name, of, cycles: [100 * cycles; 2] }
}

/// Waves that share a unit leave it idle now and then, in one loop more than in the other: 6 % either way.
fn nearly(name: &'static str, of: Loop<'static>, cycles: u64) -> Cost<'static> {
    Cost { name, of, cycles: [94 * cycles, 106 * cycles] }
}

fn between(name: &'static str, of: Loop<'static>, least: u64, most: u64) -> Cost<'static> {
    Cost { name, of, cycles: [100 * least, 100 * most] }
}

fn body(body: &'static str) -> Loop<'static> {
    Loop { body, ..ONE }
}

fn on(cpu: &'static str, text: &'static str) -> Loop<'static> {
    Loop { cpu, ..body(text) }
}

/// Source: all ISA manuals, 64 lanes on 16 are 4 cycles and a result is there for the next instruction; CLRX, "GcnTimings": 4 cycles for
/// scalar and vector instructions, 16 for transcendental ones and 32-bit products; OpenCL Optimization Guide, "Instruction Throughput":
/// 1/4 to 1/16 of the rate for 64-bit products, twice that for sums.
#[test]
fn arithmetic_by_rate() {
    check(&[
        exactly("dependent v_add_f32", body("v_add_f32 v1, v1, v1"), 4),
        exactly("independent v_add_f32", body("v_add_f32 v1, v2, v3\nv_add_f32 v4, v5, v6"), 8),
        exactly("dependent v_mul_lo_u32", body("v_mul_lo_u32 v1, v1, v1"), 16),
        exactly(
            "v_mul_hi_u32, v_add_f32 behind it",
            body("v_mul_hi_u32 v1, v2, v3\nv_add_f32 v4, v5, v6"),
            20,
        ),
        exactly("v_mul_u32_u24", body("v_mul_u32_u24 v1, v1, v1"), 4),
        exactly("v_rcp_f32", body("v_rcp_f32 v1, v1"), 16),
        exactly("v_sin_f32", body("v_sin_f32 v1, v1"), 16),
        exactly("v_exp_f32 and v_log_f32", body("v_exp_f32 v1, v2\nv_log_f32 v3, v4"), 32),
        exactly("v_fma_f32 on Vega", body("v_fma_f32 v1, v1, v1, v1"), 4),
        exactly("v_fma_f32 on Polaris", on("gfx803", "v_fma_f32 v1, v1, v1, v1"), 16),
        exactly("v_mad_f32 on Polaris", on("gfx803", "v_mad_f32 v1, v1, v1, v1"), 4),
        exactly("v_fma_f64 on Tahiti", on("tahiti", "v_fma_f64 v[2:3], v[2:3], v[2:3], v[2:3]"), 16),
        exactly("v_add_f64 on Tahiti", on("tahiti", "v_add_f64 v[2:3], v[2:3], v[2:3]"), 8),
        exactly("v_mul_f64 on Hawaii, professional", on("gfx701", "v_mul_f64 v[2:3], v[2:3], v[2:3]"), 8),
        exactly("v_mul_f64 on Hawaii", on("gfx702", "v_mul_f64 v[2:3], v[2:3], v[2:3]"), 32),
        exactly("v_fma_f64 on Polaris", on("gfx803", "v_fma_f64 v[2:3], v[2:3], v[2:3], v[2:3]"), 64),
        exactly("v_add_f64 on Polaris", on("gfx803", "v_add_f64 v[2:3], v[2:3], v[2:3]"), 32),
        exactly("v_fma_f64 on Vega 20", on("gfx906", "v_fma_f64 v[2:3], v[2:3], v[2:3], v[2:3]"), 8),
        exactly("v_pk_add_f16", body("v_pk_add_f16 v1, v1, v1"), 4),
        exactly("dependent s_add_u32", body("s_add_u32 s12, s12, s12"), 4),
        exactly("s_mul_i32", body("s_mul_i32 s12, s12, s12"), 4),
        exactly("scalar result to a vector instruction", body("s_mov_b32 s12, 1\nv_add_f32 v1, s12, v1"), 8),
    ]);
}

/// Source: CLRX, "GcnTimings": 16 cycles between a vector instruction that writes VCC and a scalar one.
#[test]
fn scalar_results_of_the_vector_unit() {
    check(&[
        exactly("v_cmp, then s_and", body("v_cmp_eq_u32 vcc, v1, v2\ns_and_b64 s[12:13], vcc, vcc"), 24),
        exactly("v_cmp, then v_cndmask", body("v_cmp_eq_u32 vcc, v1, v2\nv_cndmask_b32 v3, v4, v5, vcc"), 8),
        exactly(
            "v_readfirstlane, then s_add",
            body("v_readfirstlane_b32 s12, v1\ns_add_u32 s12, s12, 1"),
            24,
        ),
        exactly(
            "v_cmp, three between, then s_and",
            body(
                "v_cmp_eq_u32 vcc, v1, v2\nv_mov_b32 v6, v7\nv_mov_b32 v6, v7\nv_mov_b32 v6, v7\nv_mov_b32 v6, v7\ns_and_b64 s[12:13], vcc, vcc",
            ),
            24,
        ),
    ]);
}

/// Source: ISA manuals, S_NOP: 1 to 16 wait states, which are turns of the SIMD; S_SLEEP: 64 cycles times SIMM16[6:0]; a wait that is met
/// waits for nothing.
#[test]
fn internal_instructions() {
    check(&[
        exactly("s_nop 0", body("s_nop 0"), 4),
        exactly("s_nop 7", body("s_nop 7"), 32),
        between("s_sleep 2", body("s_sleep 2"), 128, 132),
        exactly("s_waitcnt 0 with nothing to wait for", body("s_waitcnt vmcnt(0) lgkmcnt(0)"), 4),
        exactly("s_setprio", body("s_setprio 2"), 4),
        exactly("s_barrier of one wave", body("s_barrier"), 4),
    ]);
}

fn group(of: Loop<'static>, waves: u32) -> Loop<'static> {
    Loop { group: 64 * waves, ..of }
}

/// Source: GCN white paper: SIMDs issue in turn, each up to five instructions of different kinds from different waves; one scalar unit
/// for the four SIMDs.
#[test]
fn issue_from_several_waves() {
    let four = |text| group(body(text), 4);
    let eight = |text| group(body(text), 8);
    check(&[
        // A wave on each SIMD: they do not see each other.
        nearly("v_add_f32, a wave on each SIMD", four("v_add_f32 v1, v1, v1"), 4),
        nearly("s_add_u32, a wave on each SIMD", four("s_add_u32 s12, s12, s12"), 4),
        // Two on each: the vector unit is full, as each wave alone fills it.
        nearly("v_add_f32, two waves on each SIMD", eight("v_add_f32 v1, v1, v1"), 8),
        nearly("v_rcp_f32, two waves on each SIMD", eight("v_rcp_f32 v1, v1"), 32),
        // Of two waves one issues to the vector, the other to the scalar unit.
        nearly(
            "vector and scalar, two waves on each",
            eight("v_add_f32 v1, v1, v1\ns_add_u32 s12, s12, s12"),
            8,
        ),
        nearly("vector and scalar, one wave", body("v_add_f32 v1, v1, v1\ns_add_u32 s12, s12, s12"), 8),
        nearly("vector and s_nop, two waves on each", eight("v_add_f32 v1, v1, v1\ns_nop 0"), 8),
    ]);
}

/// A loop whose body loads, waits and uses, with what its loads find.
const LOAD: &str = "buffer_load_dword v1, v0, s[4:7], 0 offen\ns_waitcnt vmcnt(0)\nv_add_f32 v2, v1, v1";

/// Source: gem5's model fitted to Vega: 142 cycles from L1, 263 from L2; 104 in its defaults before. Memory: 300 to 600 cycles. LDS 64,
/// scalar cache 41. What follows the wait adds its turn and that of the wait.
#[test]
fn load_to_use() {
    let glc = "buffer_load_dword v1, v0, s[4:7], 0 offen glc\ns_waitcnt vmcnt(0)\nv_add_f32 v2, v1, v1";
    // Four lines that no access has touched before.
    let far = "buffer_load_dword v1, v0, s[4:7], s9 offen\ns_waitcnt vmcnt(0)\ns_add_u32 s9, s9, 256";
    let constant = "s_load_dword s12, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\ns_add_u32 s13, s12, s12";
    let lds = "ds_read_b32 v1, v0\ns_waitcnt lgkmcnt(0)\nv_add_f32 v2, v1, v1";
    let fresh = Loop { setup: "s_mov_b32 s9, 0", repeat: 4, ..body(far) };
    let m0 = "s_mov_b32 m0, -1";
    check(&[
        between("vector L1 on Vega", body(LOAD), 142, 156),
        between("vector L1 on Polaris", on("gfx803", LOAD), 104, 118),
        between("vector L1 on Tahiti", on("tahiti", LOAD), 104, 118),
        between("L2 on Vega", body(glc), 263, 290),
        between("memory on Vega", fresh, 500, 600),
        between("memory on Tahiti", Loop { cpu: "tahiti", ..fresh }, 300, 450),
        between("scalar cache", body(constant), 41, 53),
        between("LDS on Vega", Loop { lds: 1024, ..body(lds) }, 64, 76),
        between("LDS on Tahiti", Loop { cpu: "tahiti", setup: m0, lds: 1024, ..body(lds) }, 64, 76),
    ]);
}

/// Source: ISA manuals, "S_WAITCNT": vector memory answers in order, so that a wait for all but one of two loads waits for the first
/// alone; what is done meanwhile costs nothing more.
#[test]
fn waits_overlap() {
    let two = "buffer_load_dword v1, v0, s[4:7], 0 offen\nbuffer_load_dword v2, v0, s[4:7], 0 offen offset:256\ns_waitcnt vmcnt(0)";
    let partial = "buffer_load_dword v1, v0, s[4:7], 0 offen\nbuffer_load_dword v2, v0, s[4:7], 0 offen offset:256\ns_waitcnt vmcnt(1)\n                   .rept 16\nv_add_f32 v3, v1, v1\n.endr\ns_waitcnt vmcnt(0)";
    let work = "buffer_load_dword v1, v0, s[4:7], 0 offen\n.rept 30\nv_add_f32 v3, v4, v5\n.endr\ns_waitcnt vmcnt(0)";
    check(&[
        between("two loads, one wait", body(two), 142, 160),
        between("partial wait, work, wait", body(partial), 142 + 64, 142 + 84),
        between("work behind a load", body(work), 142, 156),
    ]);
}

fn local(text: &'static str, setup: &'static str) -> Loop<'static> {
    Loop { setup, lds: 32 << 10, repeat: 8, group: 1024, ..body(text) }
}

/// Source: GCN white paper and Vega ISA, "LDS": 32 banks of a dword, half a wave at a time; a dword read by several lanes is given to
/// all. 16 waves hide what is not the banks', so that the cost of an instruction is that of its passes, for all of them.
#[test]
fn banks_of_lds() {
    let read = "ds_read_b32 v1, v0";
    let strided = |shift| match shift {
        0 => local(read, ""),
        1 => local(read, "v_lshlrev_b32 v0, 1, v0"),
        2 => local(read, "v_and_b32 v0, 0xff, v0\nv_lshlrev_b32 v0, 2, v0"),
        3 => local(read, "v_and_b32 v0, 0xff, v0\nv_lshlrev_b32 v0, 3, v0"),
        4 => local(read, "v_and_b32 v0, 0xff, v0\nv_lshlrev_b32 v0, 4, v0"),
        _ => local(read, "v_and_b32 v0, 0xff, v0\nv_lshlrev_b32 v0, 5, v0"),
    };
    check(&[
        nearly("stride 1", strided(0), 16 * 2),
        nearly("stride 2", strided(1), 16 * 4),
        nearly("stride 4", strided(2), 16 * 8),
        nearly("stride 8", strided(3), 16 * 16),
        nearly("stride 16", strided(4), 16 * 32),
        nearly("stride 32", strided(5), 16 * 64),
        nearly("one address", local(read, "v_mov_b32 v0, 0"), 16 * 2),
        nearly("ds_read2_b32", local("ds_read2_b32 v[2:3], v0 offset0:0 offset1:64", ""), 16 * 4),
        nearly("two ds_read_b32", local("ds_read_b32 v2, v0\nds_read_b32 v3, v0 offset:256", ""), 16 * 4),
        nearly("ds_read_b64", local("ds_read_b64 v[2:3], v0", "v_lshlrev_b32 v0, 1, v0"), 16 * 4),
        nearly(
            "ds_read_b128",
            local("ds_read_b128 v[4:7], v0", "v_and_b32 v0, 0xff, v0\nv_lshlrev_b32 v0, 2, v0"),
            16 * 8,
        ),
        nearly("ds_write_b32", local("ds_write_b32 v0, v1", ""), 16 * 2),
    ]);
}

fn many(text: &'static str, setup: &'static str) -> Loop<'static> {
    Loop { setup, repeat: 8, group: 512, ..body(text) }
}

/// Source: GCN white paper: 16 addresses a cycle, and a line of 64 bytes from L1 a cycle. Eight waves that hit the L1.
#[test]
fn coalescing() {
    let load = "buffer_load_dword v1, v0, s[4:7], 0 offen";
    let first = "v_and_b32 v0, 0xff, v0";
    check(&[
        nearly("dwords side by side", many(load, first), 8 * 4),
        nearly("one address", many(load, "v_mov_b32 v0, 0"), 8 * 4),
        nearly("stride of 2 dwords", many(load, "v_and_b32 v0, 0xff, v0\nv_lshlrev_b32 v0, 1, v0"), 8 * 8),
        nearly("stride of 4 dwords", many(load, "v_and_b32 v0, 0xff, v0\nv_lshlrev_b32 v0, 2, v0"), 8 * 16),
        nearly("a line a lane", many(load, "v_and_b32 v0, 0xff, v0\nv_lshlrev_b32 v0, 4, v0"), 8 * 64),
        nearly(
            "four dwords a lane",
            many(
                "buffer_load_dwordx4 v[4:7], v0, s[4:7], 0 offen",
                "v_and_b32 v0, 0xff, v0\nv_lshlrev_b32 v0, 2, v0",
            ),
            8 * 16,
        ),
    ]);
}

/// Source: GCN white paper: 16 bytes a cycle from the scalar cache.
#[test]
fn scalar_loads() {
    check(&[
        between("s_load_dword", body("s_load_dword s12, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)"), 41, 49),
        between("s_load_dwordx4", body("s_load_dwordx4 s[12:15], s[4:5], 0x0\ns_waitcnt lgkmcnt(0)"), 41, 49),
        between("s_load_dwordx8", body("s_load_dwordx8 s[12:19], s[4:5], 0x0\ns_waitcnt lgkmcnt(0)"), 42, 52),
        between(
            "s_load_dwordx16",
            body("s_load_dwordx16 s[12:27], s[4:5], 0x0\ns_waitcnt lgkmcnt(0)"),
            44,
            52,
        ),
        between(
            "two s_load_dwordx16 at once",
            body(
                "s_load_dwordx16 s[12:27], s[4:5], 0x0\ns_load_dwordx16 s[12:27], s[4:5], 0x40\ns_waitcnt lgkmcnt(0)",
            ),
            48,
            60,
        ),
    ]);
}

/// Source: GCN white paper: 32 KB of instruction cache, 32 bytes fetched a cycle. Taken branches: 16 cycles, one not taken is an
/// instruction.
#[test]
fn instruction_fetch() {
    check(&[
        exactly("branch that is not taken", body("s_cbranch_execz loop"), 4),
        between("branch that is taken", body("s_branch 0f\ns_nop 0\n0:"), 16, 24),
        // Eight bytes an instruction are 32 in 16 cycles: fetch keeps up with one wave.
        exactly("instructions of 8 bytes", body("v_add_f32_e64 v1, |v1|, v1"), 4),
    ]);
    // The same loop, longer than the cache: each line comes from L2 again.
    let long = Loop { repeat: 8192, ..body("v_add_f32_e64 v1, |v1|, v1") };
    let short = Loop { repeat: 2048, ..long };
    let each = |of: Loop<'_>| {
        let cycles = |n| of.run(n, Model::default());
        let (few, more) = (cycles(2), cycles(4));
        let misses = more.caches.instruction.misses - few.caches.instruction.misses;
        ((more.cycles - few.cycles) / (2 * u64::from(of.repeat)), misses)
    };
    assert_eq!(each(short), (4, 0));
    let (cycles, misses) = each(long);
    assert!(cycles > 8 && misses >= 2 * 8192 * 8 / 64, "{cycles} cycles, {misses} misses");
}

/// Source: OpenCL Optimization Guide, "Hiding latency": waves of other work-groups issue while one waits. With n of them the time of a
/// load is shared by n.
#[test]
fn waves_hide_latency() {
    let load = |waves| Loop { group: 64, groups: waves, setup: "v_and_b32 v0, 0xff, v0", ..body(LOAD) };
    let one = load(1).iteration();
    for waves in [2, 4, 8, 16] {
        let cycles = load(waves).iteration();
        // The same time for more work.
        assert!(cycles <= one + one / 10, "{waves} waves take {cycles}, one {one}");
    }
    // 24 VGPRs leave room for ten waves on a SIMD, 84 for three, 256 for one.
    for (vgprs, waves) in [(24, 40), (84, 12), (128, 8), (256, 4)] {
        let of = Loop { vgprs, groups: 40, ..load(40) };
        let cycles = of.run(50, Model::default());
        let resident = cycles.wave_cycles / cycles.modelled_cycles;
        assert!(resident <= waves && resident + 3 >= waves, "{vgprs} VGPRs: {resident} waves, not {waves}");
    }
    // LDS leaves room for two work-groups of one wave.
    let cycles = Loop { lds: 32 << 10, groups: 16, ..load(16) }.run(50, Model::default());
    assert_eq!((cycles.wave_cycles as f64 / cycles.modelled_cycles as f64).round() as u64, 2);
}

/// A compute unit's share of memory on Vega: 64 bytes in 13 cycles, and no more with more waves; few do not reach it.
#[test]
fn bandwidth() {
    let stream = "buffer_load_dword v1, v0, s[4:7], s9 offen\ns_add_u32 s9, s9, 0x2000\ns_waitcnt vmcnt(0)";
    let of = |groups| Loop {
        groups,
        setup: "s_lshl_b32 s9, s2, 8\nv_and_b32 v0, 0xff, v0",
        repeat: 1,
        ..body(stream)
    };
    let per_line = |groups| {
        let cycles = of(groups).run(100, Model::default());
        cycles.cycles / (u64::from(groups) * 4 * 100)
    };
    assert!(per_line(1) > 100);
    assert!((13..=15).contains(&per_line(32)), "{}", per_line(32));
}

/// All waves of a work-group come to the barrier; the last one decides.
#[test]
fn barriers() {
    use sim::timing::Stall;
    let of = group(body("s_barrier\nv_add_f32 v1, v1, v1"), 4);
    check(&[between("barrier of four waves", of, 8, 24)]);
    let cycles = of.run(10, Model::default());
    assert!(cycles.stalls.of(Stall::Barrier) > 0 && cycles.stalls.of(Stall::Vmcnt) == 0);
}

/// The same kernel gives the same figures, and what waves lose and issue is all of their time.
#[test]
fn cycles_add_up() {
    use sim::timing::Stall;
    let of = Loop { group: 256, groups: 20, repeat: 2, ..body(LOAD) };
    let model = Model { per_instruction: true, ..Model::default() };
    let (a, b) = (of.run(20, model), of.run(20, model));
    assert_eq!(a, b);
    let lost: u64 = Stall::ALL.iter().map(|&stall| a.stalls.of(stall)).sum();
    assert_eq!(lost + 4 * a.modelled_instructions, a.wave_cycles);
    assert_eq!(a.per_instruction.iter().map(|i| i.cycles).sum::<u64>(), a.wave_cycles);
    assert_eq!(a.per_instruction.iter().map(|i| i.count).sum::<u64>(), a.modelled_instructions);
    // Four compute units: a quarter of the work-groups; a limit: the rest is scaled.
    let shared = of.run(20, Model { compute_units: 4, ..model });
    assert_eq!((shared.modelled_groups, a.modelled_groups), (5, 20));
    let limited = of.run(20, Model { groups: 10, ..model });
    assert_eq!((limited.modelled_groups, limited.cycles), (10, 2 * limited.modelled_cycles));
}

/// What `gcnc run --stats=json` and `--profile` print.
#[test]
fn reports() {
    let of = Loop { repeat: 1, ..body(LOAD) };
    let json = r#"{"kernel": "k", "grid": [64,1,1], "group": [64,1,1], "args": [{"buffer": 1048576}]}"#;
    let outcome = |model| {
        let options =
            sim::RunOptions { strict: Some("none".to_owned()), model, ..sim::RunOptions::default() };
        sim::run_from_json(&of.object(2), json, &options).expect("runs")
    };
    let all = outcome(Some(Model { per_instruction: true, ..Model::default() }));
    let value = serde_json::to_value(&all).expect("serialises");
    assert!(value["cycles"].as_u64().is_some_and(|cycles| cycles > 2 * 142));
    assert!(value["stalls"]["vmcnt"].as_u64().is_some_and(|cycles| cycles > 142));
    assert_eq!((value["busy"]["vmem"].as_u64(), value["occupancy"].as_u64()), (Some(8), Some(10)));
    assert_eq!(value["caches"]["vector"]["hits"].as_u64(), Some(4));
    let waits = value["per_instruction"].as_array().expect("a list");
    let waits: Vec<_> = waits.iter().filter(|i| i["text"] == "s_waitcnt vmcnt(0)").collect();
    assert_eq!(waits.len(), 1);
    assert_eq!(
        (waits[0]["count"].as_u64(), waits[0]["stalls"]["vmcnt"].clone()),
        (Some(2), value["stalls"]["vmcnt"].clone())
    );
    let table = all.stats.model.expect("cycles").table();
    assert!(table.contains("s_waitcnt vmcnt(0)") && table.contains("cache vector"), "{table}");
    // Nothing is modelled that is not asked for.
    assert!(outcome(None).stats.model.is_none());
}
