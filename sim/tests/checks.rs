//! Strict checks one by one, on kernels of a few instructions: what is undefined and where it decides something, global wave sync.

use mir::abi::KernelDescriptor;
use mir::isa::parse::Parser;
use mir::target::Target;
use sim::strict::hazards::RuleId;
use sim::{Arg, CodeObject, Config, Dispatch, Kind, Memory, Report};

/// A kernel of these lines for gfx900: the kernel arguments' address in s[4:5], the work-group's number in s6, the lane's in v0; 256 bytes of LDS and 16 of
/// scratch a lane, whose address is in s[0:3] and s7.
fn kernel(text: &str) -> CodeObject {
    kernel_for("gfx900", text)
}

fn kernel_for(cpu: &str, text: &str) -> CodeObject {
    let processor = Target::processor_by_name(cpu).expect("in the table");
    let target = Target::new(processor);
    let parser = Parser::new(&target);
    let mut words = Vec::new();
    for line in text.lines().chain(["s_endpgm"]).filter(|line| !line.trim().is_empty()) {
        let parsed = parser.parse(line, 1, &|_| None).unwrap_or_else(|e| panic!("{line}: {e}"));
        words.extend(&parsed.words);
    }
    let descriptor = KernelDescriptor {
        vgpr_blocks: 7,
        sgpr_blocks: 9,
        kernarg_size: 8,
        group_segment_fixed_size: 256,
        private_segment_fixed_size: 16,
        sgpr_private_segment_buffer: 1,
        sgpr_kernarg_segment_ptr: 1,
        user_sgpr_count: 6,
        workgroup_id_x: 1,
        private_segment_wavefront_offset: 1,
        ..Default::default()
    };
    CodeObject::from_code(processor, "k", &words, descriptor)
}

/// Runs a kernel on `waves` waves with a buffer of 4 KiB; the buffer's dwords.
fn run(text: &str, waves: u32, seed: u64) -> Result<Vec<u32>, Box<Report>> {
    run_object(&kernel(text), waves, seed)
}

fn run_object(object: &CodeObject, waves: u32, seed: u64) -> Result<Vec<u32>, Box<Report>> {
    let mut memory = Memory::new();
    let buffer = memory.add_buffer("buffer", vec![0; 4096]);
    let dispatch = Dispatch {
        kernel: "k".to_owned(),
        grid: [64 * waves, 1, 1],
        group: [64 * waves, 1, 1],
        args: vec![Arg::Buffer(buffer)],
        ..Dispatch::default()
    };
    let config = Config { budget: 100_000, seed, ..Config::default() };
    sim::run(object, &mut memory, &dispatch, &config)?;
    Ok(memory.read_u32s(buffer))
}

const START: &str = "s_load_dwordx2 s[8:9], s[4:5], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
";

#[test]
fn undefined_values_are_reported_where_they_decide() {
    let cases = [
        // Copies, arithmetic and parts of stores decide nothing.
        ("v_mov_b32 v2, v20\nv_add_u32 v3, v2, v21\ns_mov_b32 s30, s40\ns_add_u32 s31, s30, s41", None),
        ("v_mov_b32 v2, 7\nglobal_store_dwordx2 v1, v[2:3], s[8:9]", None),
        ("v_and_b32 v2, 0xff, v20\nglobal_store_dword v1, v2, s[8:9]", None),
        // Bits that an operation takes away are no longer undefined.
        ("v_and_b32 v2, 0, v20\nv_add_u32 v2, v2, v1\nglobal_load_dword v3, v2, s[8:9]", None),
        // Nor are those that are not read.
        (
            "v_and_b32 v2, 0xffffff00, v20\nv_or_b32 v2, 7, v2\nv_cvt_f32_ubyte0 v2, v2\nv_cmp_gt_f32 vcc, 1.0, v2\ns_cbranch_vccnz 0",
            None,
        ),
        (
            "v_and_b32 v2, 0xffffff00, v20\nv_or_b32 v2, 7, v2\nv_cvt_f32_ubyte1 v2, v2\nv_cmp_gt_f32 vcc, 1.0, v2\ns_cbranch_vccnz 0",
            Some(Kind::UndefBranch),
        ),
        // A whole value that nothing has given.
        ("global_store_dword v1, v20, s[8:9]", Some(Kind::UndefStore)),
        ("v_add_u32 v2, v20, v1\nglobal_store_dword v1, v2, s[8:9]", Some(Kind::UndefStore)),
        ("global_store_dwordx2 v1, v[20:21], s[8:9]", Some(Kind::UndefStore)),
        // Addresses from registers, LDS and scratch.
        ("v_add_u32 v2, v20, v1\nglobal_load_dword v3, v2, s[8:9]", Some(Kind::UndefAddress)),
        ("s_load_dword s20, s[40:41], 0x0", Some(Kind::UndefAddress)),
        (
            "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\nglobal_load_dword v3, v2, s[8:9]",
            Some(Kind::UndefAddress),
        ),
        (
            "buffer_load_dword v2, off, s[0:3], s7 offset:4\ns_waitcnt vmcnt(0)\nglobal_load_dword v3, v2, s[8:9]",
            Some(Kind::UndefAddress),
        ),
        (
            "v_mov_b32 v2, 8\nbuffer_store_dword v2, off, s[0:3], s7 offset:4\nbuffer_load_dword v2, off, s[0:3], s7 offset:4\ns_waitcnt vmcnt(0)\nglobal_load_dword v3, v2, s[8:9]",
            None,
        ),
        (
            "ds_write_b32 v1, v1\ns_waitcnt lgkmcnt(0)\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\nglobal_load_dword v3, v2, s[8:9]",
            None,
        ),
        // Branches and EXEC.
        ("s_cmp_eq_u32 s40, 0\ns_cbranch_scc1 0", Some(Kind::UndefBranch)),
        ("v_cmp_eq_u32 vcc, 0, v20\ns_cbranch_vccnz 0", Some(Kind::UndefBranch)),
        ("s_mov_b64 exec, s[40:41]", Some(Kind::UndefBranch)),
        ("v_cmp_eq_u32 vcc, 0, v20\ns_and_saveexec_b64 s[20:21], vcc", Some(Kind::UndefBranch)),
    ];
    for (text, want) in cases {
        let got = run(&format!("{START}{text}"), 1, 0).err().map(|r| r.kind);
        assert_eq!(got, want, "{text}");
    }
}

#[test]
fn global_wave_sync_inside_a_work_group() {
    // Each of four waves stores, meets the others, and reads what the next one has stored; a round more, as barriers may be used again.
    let round = "v_mov_b32 v5, 3
s_nop 0
ds_gws_barrier v5 gds
s_waitcnt lgkmcnt(0)
";
    let text = format!(
        "{START}v_mov_b32 v5, 3
s_mov_b32 m0, 0
v_readfirstlane_b32 s20, v0
s_cmp_lg_u32 s20, 0
s_cbranch_scc1 3
s_nop 0
ds_gws_init v5 gds
s_barrier
v_mov_b32 v2, v0
global_store_dword v1, v2, s[8:9]
s_waitcnt vmcnt(0)
{round}v_xor_b32 v3, 64, v0
v_lshlrev_b32 v3, 2, v3
global_load_dword v4, v3, s[8:9]
s_waitcnt vmcnt(0)
{round}global_store_dword v1, v4, s[8:9] offset:1024"
    );
    for seed in 0..4 {
        let out = run(&text, 4, seed).unwrap_or_else(|r| panic!("{r}"));
        assert!((0..256).all(|l| out[256 + l as usize] == l ^ 64), "seed {seed}: {out:?}");
    }
    // One wave more than there are.
    let report = run(&text.replace("v5, 3", "v5, 4"), 4, 0).expect_err("a wave is missing");
    assert_eq!(report.kind, Kind::Barrier, "{report}");
}

#[test]
fn indexed_moves_of_the_vector_unit_need_no_wait_for_m0() {
    let target = Target::new(Target::processor_by_name("gfx803").expect("in the table"));
    let parser = Parser::new(&target);
    for (line, waits) in [("v_movrels_b32 v1, v2", false), ("s_movrels_b32 s1, s2", true)] {
        let parsed = parser.parse(line, 1, &|_| None).unwrap_or_else(|e| panic!("{line}: {e}"));
        let op = sim::program::Op::new(parsed.inst, 4, &target);
        let checked = op.effects.checks.iter().any(|(_, _, rule)| *rule == RuleId::SaluM0Use);
        assert_eq!(checked, waits, "{line}");
    }
}

/// FLAT to memory, or of no lane, is awaited by one counter where there is no other way to memory, and by both where there is.
#[test]
fn flat_is_in_order_where_it_is_the_way_to_memory() {
    for (cpu, in_order) in [("gfx701", true), ("gfx803", true), ("gfx900", false)] {
        for lanes in ["-1", "0"] {
            let text = format!(
                "s_load_dwordx2 s[8:9], s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v2, s8\nv_mov_b32 v3, s9\ns_mov_b64 exec, {lanes}\n\
                 flat_load_dword v4, v[2:3]\nflat_load_dword v5, v[2:3]\ns_waitcnt vmcnt(1)\nv_mov_b32 v6, v4\ns_waitcnt vmcnt(0) lgkmcnt(0)"
            );
            let result = run_object(&kernel_for(cpu, &text), 1, 0);
            assert_eq!(
                result.map_err(|report| report.kind).err(),
                (!in_order).then_some(Kind::InFlight),
                "{cpu}, exec {lanes}"
            );
        }
    }
}

/// Records of a linear buffer with a stride are records or bytes, by generation and, on GFX9, by whether the instruction has an index.
#[test]
fn records_of_strided_buffers() {
    // Each lane stores to its record of eight bytes; the resource has 16 records.
    let text = |access: &str| {
        format!(
            "s_load_dwordx2 s[8:9], s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\ns_or_b32 s9, s9, 0x80000\ns_mov_b32 s10, 16\ns_mov_b32 s11, 0x24000\n\
             v_lshlrev_b32 v1, 3, v0\nv_mov_b32 v2, 1\n{access}\ns_waitcnt vmcnt(0)"
        )
    };
    let (indexed, by_offset) =
        ("buffer_store_dword v2, v0, s[8:11], 0 idxen", "buffer_store_dword v2, v1, s[8:11], 0 offen");
    let cases = [
        ("gfx600", indexed, 16),
        ("gfx701", indexed, 16),
        ("gfx803", indexed, 2),
        ("gfx900", indexed, 16),
        ("gfx900", by_offset, 2),
        ("gfx803", by_offset, 2),
    ];
    for (cpu, access, stored) in cases {
        let words =
            run_object(&kernel_for(cpu, &text(access)), 1, 0).unwrap_or_else(|e| panic!("{cpu}: {e}"));
        let expected: Vec<u32> = (0..1024).map(|n| u32::from(n % 2 == 0 && n / 2 < stored)).collect();
        assert_eq!(words, expected, "{cpu}: {access}");
    }
}

/// A dword of scratch anywhere is in two dwords of the lane's, between which are those of other lanes; GFX8 takes none.
#[test]
fn dwords_across_two_of_scratch() {
    let access = "v_mov_b32 v2, 0
buffer_store_dword v2, off, s[0:3], s7
buffer_store_dword v2, off, s[0:3], s7 offset:4
v_add_u32 v2, 0x44332200, v0
buffer_store_dword v2, off, s[0:3], s7 offset:3
buffer_load_dword v3, off, s[0:3], s7
buffer_load_dword v4, off, s[0:3], s7 offset:4
buffer_load_dword v5, off, s[0:3], s7 offset:3
s_waitcnt vmcnt(0)
";
    let store = "global_store_dword v1, v3, s[8:9]
global_store_dword v1, v4, s[8:9] offset:256
global_store_dword v1, v5, s[8:9] offset:512";
    let words = run(&format!("{START}{access}{store}"), 1, 0).unwrap_or_else(|report| panic!("{report}"));
    for lane in 0..64u32 {
        let got = [0, 64, 128].map(|part| words[(part + lane) as usize]);
        assert_eq!(got, [lane << 24, 0x0044_3322, 0x4433_2200 + lane], "lane {lane}");
    }
    let gfx8 = access.replace("v_add_u32 v2, 0", "v_add_u32 v2, vcc, 0");
    let report = run_object(&kernel_for("gfx803", &gfx8), 1, 0).expect_err("no such access");
    assert_eq!(report.kind, Kind::Misaligned, "{report}");
}
