//! SDWA, DPP, `op_sel`, output modifiers, clamps, denormal modes, and exchange between lanes.

use crate::harness::{Bench, DEST, SOURCES, all_targets, instruction, targets};
use mir::isa::{OpFlags, Opcode};
use mir::machine::{
    Dpp, Dpp8, Encoding, Extension, Inst, ModFlags, Modifiers, Operand, PReg, Sdwa, SdwaSel, SdwaUnused,
};
use mir::target::{Features, Generation, Target};
use sim::wave::MAX_LANES;

fn on(name: &str) -> Target {
    Target::new(Target::processor_by_name(name).expect("in the table"))
}

fn noise(seed: u64) -> [u64; MAX_LANES] {
    let mut rng = fastrand::Rng::with_seed(seed);
    std::array::from_fn(|_| rng.u64(..))
}

const SELS: [(SdwaSel, u32, u32); 7] = [
    (SdwaSel::Byte0, 0, 8),
    (SdwaSel::Byte1, 8, 8),
    (SdwaSel::Byte2, 16, 8),
    (SdwaSel::Byte3, 24, 8),
    (SdwaSel::Word0, 0, 16),
    (SdwaSel::Word1, 16, 16),
    (SdwaSel::Dword, 0, 32),
];

fn part(x: u64, (_, shift, bits): (SdwaSel, u32, u32), sext: bool) -> i64 {
    let v = (x >> shift & ((1 << bits) - 1)) as i64;
    if sext && v >> (bits - 1) != 0 { v - (1 << bits) } else { v }
}

#[test]
fn sub_dword_operands() {
    for target in all_targets().into_iter().filter(|t| t.has(Features::SDWA)) {
        let op = if target.has(Features::ADD_NO_CARRY) { Opcode::V_ADD_U32 } else { Opcode::V_MAX_I32 };
        for a in SELS {
            for b in SELS {
                for (n, d) in SELS.iter().enumerate() {
                    for unused in [SdwaUnused::Pad, SdwaUnused::Sext, SdwaUnused::Preserve] {
                        let sext = (n % 4) as u8;
                        let sdwa = Sdwa { dst_sel: d.0, dst_unused: unused, src_sel: [a.0, b.0], sext };
                        let mods = Modifiers { ext: Extension::Sdwa(sdwa), ..Modifiers::default() };
                        let mut bench = Bench::new(target);
                        let inst = instruction(op, mods, Encoding::Sdwa).expect("plain operands");
                        let Some(ready) = bench.prepare(&inst) else { continue };
                        let (x, y, old) = (noise(1), noise(2), noise(3));
                        bench.set_wide(SOURCES[0], &x);
                        bench.set_wide(SOURCES[1], &y);
                        bench.set_wide(DEST, &old);
                        bench.run(&ready).unwrap_or_else(|r| panic!("{r}"));
                        for l in 0..bench.count() {
                            let (p, q) = (part(x[l], a, sext & 1 != 0), part(y[l], b, sext & 2 != 0));
                            let r = if op == Opcode::V_ADD_U32 {
                                p + q
                            } else {
                                i64::from((p as i32).max(q as i32))
                            };
                            let field = (1u64 << d.2) - 1;
                            let r = r as u64 & field;
                            let want = match unused {
                                SdwaUnused::Pad => r << d.1,
                                SdwaUnused::Sext if r >> (d.2 - 1) != 0 => (r | !field) << d.1,
                                SdwaUnused::Sext => r << d.1,
                                SdwaUnused::Preserve => old[l] & !(field << d.1) | r << d.1,
                            };
                            assert_eq!(bench.lanes(DEST)[l], want as u32, "{}", ready.text(&target));
                        }
                    }
                }
            }
        }
    }
}

/// Lane that `ctrl` makes lane `l` read, written from the manual's table.
fn dpp_lane(ctrl: u16, l: i32) -> Option<i32> {
    let (row, quad) = (l / 16 * 16, l / 4 * 4);
    let inside = |s: i32, lo: i32, hi: i32| (s >= lo && s < hi).then_some(s);
    match ctrl {
        c if c < 0x100 => Some(quad + i32::from(c >> (2 * (l - quad)) & 3)),
        c if c > 0x100 && c < 0x110 => inside(l + i32::from(c - 0x100), row, row + 16),
        c if c > 0x110 && c < 0x120 => inside(l - i32::from(c - 0x110), row, row + 16),
        c if c > 0x120 && c < 0x130 => Some(row + (l - row + 16 - i32::from(c - 0x120)) % 16),
        0x130 => inside(l + 1, 0, 64),
        0x134 => Some((l + 1) % 64),
        0x138 => inside(l - 1, 0, 64),
        0x13c => Some((l + 63) % 64),
        0x140 => Some(row + 15 - (l - row)),
        0x141 => Some(l / 8 * 8 + 7 - l % 8),
        0x142 => inside(row - 1, 0, 64),
        0x143 => (l > 31).then_some(31),
        c if c >> 4 == 0x15 => Some(row + i32::from(c & 15)),
        c if c >> 4 == 0x16 => Some(row + ((l - row) ^ i32::from(c & 15))),
        _ => None,
    }
}

#[test]
fn lane_permutations() {
    let controls = [
        0x1b, 0xe4, 0x101, 0x10f, 0x111, 0x118, 0x121, 0x12f, 0x130, 0x134, 0x138, 0x13c, 0x140, 0x141,
        0x142, 0x143, 0x153, 0x15f, 0x161, 0x16a,
    ];
    for target in all_targets().into_iter().filter(|t| t.has(Features::DPP)) {
        for ctrl in controls {
            for (row_mask, bank_mask, bound_ctrl) in
                [(15, 15, false), (15, 15, true), (10, 5, false), (3, 15, true)]
            {
                for exec in [u64::MAX, 0x0123_4567_89ab_cdef] {
                    let dpp = Dpp { ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive: false };
                    let mods = Modifiers { ext: Extension::Dpp(dpp), ..Modifiers::default() };
                    let mut bench = Bench::new(target);
                    let inst = instruction(Opcode::V_XOR_B32, mods, Encoding::Dpp).expect("plain operands");
                    // GFX10 has other controls.
                    let missing = if target.has(Features::WORKGROUP_PROCESSORS) {
                        (0x130..=0x13c).contains(&ctrl) || matches!(ctrl, 0x142 | 0x143)
                    } else {
                        ctrl >= 0x150
                    };
                    let ready = bench.prepare(&inst);
                    assert_eq!(ready.is_none(), missing, "{target} {ctrl:#x}");
                    let Some(ready) = ready else { continue };
                    let (x, y, old) = (noise(4), noise(5), noise(6));
                    bench.set_wide(SOURCES[0], &x);
                    bench.set_wide(SOURCES[1], &y);
                    bench.set_wide(DEST, &old);
                    bench.wave.set_pair(PReg::EXEC_LO, exec, 0);
                    bench.run(&ready).unwrap_or_else(|r| panic!("{r}"));
                    let exec = exec & target.wave().all_lanes();
                    for l in 0..bench.count() as i32 {
                        let on = row_mask >> (l / 16) & 1 != 0 && bank_mask >> (l / 4 % 4) & 1 != 0;
                        let source = dpp_lane(ctrl, l).filter(|s| exec >> s & 1 != 0);
                        let l = l as usize;
                        let written = exec >> l & 1 != 0 && on && (bound_ctrl || source.is_some());
                        let want = if written { source.map_or(0, |s| x[s as usize]) ^ y[l] } else { old[l] };
                        assert_eq!(bench.lanes(DEST)[l], want as u32, "{} lane {l}", ready.text(&target));
                    }
                }
            }
        }
    }
}

#[test]
fn halves_by_op_sel() {
    for target in targets().into_iter().filter(|t| t.generation() == Generation::Gfx9) {
        for op_sel in 0..16u8 {
            let mods = Modifiers { op_sel, ..Modifiers::default() };
            let mut bench = Bench::new(target);
            let inst = instruction(Opcode::V_MAD_U16, mods, Encoding::E64).expect("plain operands");
            let ready = bench.prepare(&inst).expect("encodes");
            let x = [noise(7), noise(8), noise(9)];
            let old = noise(10);
            for k in 0..3 {
                bench.set_wide(SOURCES[k], &x[k]);
            }
            bench.set_wide(DEST, &old);
            bench.run(&ready).unwrap_or_else(|r| panic!("{r}"));
            for l in 0..MAX_LANES {
                let half = |k: usize| x[k][l] >> (if op_sel >> k & 1 != 0 { 16 } else { 0 }) & 0xffff;
                let r = (half(0) * half(1) + half(2)) & 0xffff;
                let want = if op_sel & 8 != 0 { r << 16 | old[l] & 0xffff } else { r | old[l] & 0xffff_0000 };
                assert_eq!(bench.lanes(DEST)[l], want as u32, "op_sel {op_sel:#x}");
            }
        }
        // Packed: every choice of halves and of signs.
        for bits in 0..256u32 {
            let mods = Modifiers {
                op_sel: bits as u8 & 3,
                op_sel_hi: (bits >> 2) as u8 & 3,
                neg: (bits >> 4) as u8 & 3,
                neg_hi: (bits >> 6) as u8 & 3,
                ..Modifiers::default()
            };
            let mut bench = Bench::new(target);
            bench.wave.mode = 0xf0;
            let inst = instruction(Opcode::V_PK_MUL_F16, mods, Encoding::Auto).expect("plain operands");
            let ready = bench.prepare(&inst).expect("encodes");
            // Small integers: products are exact.
            let value = |k: u64| 0x3c00u64 + k * 0x400;
            let x: [u64; MAX_LANES] =
                std::array::from_fn(|l| value(l as u64 % 4) | value(l as u64 % 3) << 16);
            let y: [u64; MAX_LANES] =
                std::array::from_fn(|l| value(l as u64 % 5) | value(l as u64 % 2) << 16);
            bench.set_wide(SOURCES[0], &x);
            bench.set_wide(SOURCES[1], &y);
            bench.run(&ready).unwrap_or_else(|r| panic!("{r}"));
            for l in 0..MAX_LANES {
                let part =
                    |x: u64, k: u32, sel: u8| (x >> (16 * (u32::from(sel >> k) & 1)) & 0x7fff) - 0x3c00;
                let sign = |neg: u8| u64::from((neg & 1) ^ (neg >> 1 & 1)) << 15;
                let one = |sel: u8, neg: u8| (part(x[l], 0, sel) + part(y[l], 1, sel) + 0x3c00) | sign(neg);
                let want = one(mods.op_sel, mods.neg) | one(mods.op_sel_hi, mods.neg_hi) << 16;
                assert_eq!(u64::from(bench.lanes(DEST)[l]), want, "{}", ready.text(&target));
            }
        }
    }
}

#[test]
fn modes_of_floating_point_results() {
    let target = on("gfx900");
    let f = |x: f32| x.to_bits();
    let run = |op, omod: u8, clamp: bool, mode: u32, a: u32, b: u32| {
        let flags = if clamp { ModFlags::CLAMP } else { ModFlags::empty() };
        let mut bench = Bench::new(target);
        let inst =
            instruction(op, Modifiers { omod, flags, ..Modifiers::default() }, Encoding::E64).expect("plain");
        let ready = bench.prepare(&inst).expect("encodes");
        bench.set_wide(SOURCES[0], &[u64::from(a); MAX_LANES]);
        bench.set_wide(SOURCES[1], &[u64::from(b); MAX_LANES]);
        bench.wave.mode = mode;
        bench.run(&ready).unwrap_or_else(|r| panic!("{r}"));
        bench.lanes(DEST)[17]
    };
    let add = |omod, clamp, mode, a: f32, b: f32| run(Opcode::V_ADD_F32, omod, clamp, mode, f(a), f(b));
    // The output modifier works where denormals are flushed and IEEE is off.
    assert_eq!(add(1, false, 0, 1.5, 1.0), f(5.0));
    assert_eq!(add(2, false, 0, 1.5, 1.0), f(10.0));
    assert_eq!(add(3, false, 0, 1.5, 1.0), f(1.25));
    assert_eq!(add(1, false, 0x30, 1.5, 1.0), f(2.5));
    assert_eq!(add(1, false, 0x200, 1.5, 1.0), f(2.5));
    assert_eq!(add(0, true, 0xf0, 1.5, 1.0), f(1.0));
    assert_eq!(add(0, true, 0xf0, -1.5, 1.0), f(0.0));
    assert_eq!(add(0, true, 0x1f0, f32::NAN, 1.0), f(0.0));
    assert!(f32::from_bits(add(0, true, 0xf0, f32::NAN, 1.0)).is_nan());
    // Denormals: bit 4 keeps those of sources, bit 5 those of results.
    let (tiny, normal) = (0x0000_1000, f(f32::MIN_POSITIVE));
    assert_eq!(run(Opcode::V_ADD_F32, 0, false, 0x30, tiny, 0), tiny);
    assert_eq!(run(Opcode::V_ADD_F32, 0, false, 0x20, tiny, normal), normal);
    assert_eq!(run(Opcode::V_ADD_F32, 0, false, 0x10, tiny, normal), normal | tiny);
    assert_eq!(run(Opcode::V_MUL_F32, 0, false, 0x10, normal, f(-0.5)), 0x8000_0000);
    assert_eq!(run(Opcode::V_MUL_F32, 0, false, 0x30, normal, f(-0.5)), 0x8040_0000);
    // Packed halves: bits 6 and 7.
    let packed = |mode: u32, a: u64, b: u64| {
        let mut bench = Bench::new(target);
        let mods = Modifiers { op_sel_hi: 3, ..Modifiers::default() };
        let inst = instruction(Opcode::V_PK_MUL_F16, mods, Encoding::Auto).expect("plain");
        let ready = bench.prepare(&inst).expect("encodes");
        bench.set_wide(SOURCES[0], &[a; MAX_LANES]);
        bench.set_wide(SOURCES[1], &[b; MAX_LANES]);
        bench.wave.mode = mode;
        bench.run(&ready).unwrap_or_else(|r| panic!("{r}"));
        bench.lanes(DEST)[17]
    };
    assert_eq!(packed(0xf0, 0x0010_0020, 0x4000_4000), 0x0020_0040);
    assert_eq!(packed(0xb0, 0x0010_0400, 0x4000_4000), 0x0000_0800);
    assert_eq!(packed(0x70, 0x0400_0400, 0x3800_4000), 0x0000_0800);
}

/// `fi` reads lanes that are not active; groups of eight lanes have a source for each.
#[test]
fn lanes_of_gfx10() {
    for target in all_targets().into_iter().filter(|t| t.has(Features::WORKGROUP_PROCESSORS)) {
        let (x, y, old) = (noise(4), noise(5), noise(6));
        for exec in [u64::MAX, 0x0123_4567_89ab_cdef].map(|e| e & target.wave().all_lanes()) {
            for fetch_inactive in [false, true] {
                let row = Dpp { ctrl: 0x16a, row_mask: 15, bank_mask: 15, bound_ctrl: false, fetch_inactive };
                let eight = Dpp8 { lanes: 0o3164_7520, fetch_inactive };
                let cases: [(Extension, Encoding, &dyn Fn(usize) -> usize); 2] = [
                    (Extension::Dpp(row), Encoding::Dpp, &|l| l ^ 10),
                    (Extension::Dpp8(eight), Encoding::Dpp8, &|l| {
                        l & !7 | (0o3164_7520 >> (3 * (l & 7)) & 7)
                    }),
                ];
                for (ext, encoding, from) in cases {
                    let mut bench = Bench::new(target);
                    let mods = Modifiers { ext, ..Modifiers::default() };
                    let inst = instruction(Opcode::V_XOR_B32, mods, encoding).expect("plain operands");
                    let ready = bench.prepare(&inst).expect("encodes");
                    bench.set_wide(SOURCES[0], &x);
                    bench.set_wide(SOURCES[1], &y);
                    bench.set_wide(DEST, &old);
                    bench.wave.set_exec(exec);
                    bench.run(&ready).unwrap_or_else(|r| panic!("{r}"));
                    for l in 0..bench.count() {
                        let read = fetch_inactive || exec >> from(l) & 1 != 0;
                        let want = match (exec >> l & 1 != 0, read) {
                            (false, _) => old[l],
                            (true, true) => x[from(l)] ^ y[l],
                            // Without a source a row's lane is left alone, one of eight reads zero.
                            (true, false) if encoding == Encoding::Dpp => old[l],
                            (true, false) => y[l],
                        };
                        assert_eq!(bench.lanes(DEST)[l], want as u32, "{} lane {l}", ready.text(&target));
                    }
                }
            }
            for (op, other) in [(Opcode::V_PERMLANE16_B32, 0), (Opcode::V_PERMLANEX16_B32, 16)] {
                for op_sel in 0..4u8 {
                    let mut bench = Bench::new(target);
                    let s = |n| Operand::preg(PReg::sgpr(n), 1);
                    let v = |n| Operand::preg(PReg::vgpr(n), 1);
                    let mut inst = Inst::new(op, [v(DEST), v(SOURCES[0]), s(40), s(41)]);
                    inst.mods.op_sel = op_sel;
                    let ready = bench.prepare(&inst).expect("encodes");
                    let select = 0x3142_7650_fedc_b98a_u64;
                    bench.wave.set_pair(PReg::sgpr(40), select, 0);
                    bench.set_wide(SOURCES[0], &x);
                    bench.set_wide(DEST, &old);
                    bench.wave.set_exec(exec);
                    bench.run(&ready).unwrap_or_else(|r| panic!("{r}"));
                    for l in 0..bench.count() {
                        let from = ((l / 16 * 16) ^ other) + (select >> (4 * (l % 16)) & 15) as usize;
                        let read = op_sel & 1 != 0 || exec >> from & 1 != 0;
                        let want = match (exec >> l & 1 != 0, read, op_sel & 2 != 0) {
                            (true, true, _) => x[from],
                            (true, false, true) => 0,
                            _ => old[l],
                        };
                        assert_eq!(bench.lanes(DEST)[l], want as u32, "{} lane {l}", ready.text(&target));
                    }
                }
            }
        }
    }
}

#[test]
fn lanes_exchange_values() {
    for target in targets() {
        let exec = 0xf0ff_ff0f_ffff_fff0;
        let v = |n| Operand::preg(PReg::vgpr(n), 1);
        let s = |n| Operand::preg(PReg::sgpr(n), 1);
        let x = noise(11);
        let mut bench = Bench::new(target);
        bench.set_wide(SOURCES[0], &x);
        bench.wave.set_pair(PReg::EXEC_LO, exec, 0);
        bench.wave.set_s(PReg::sgpr(40), 37);
        let go = |bench: &mut Bench, inst: Inst| {
            let ready = bench.prepare(&inst).expect("encodes");
            bench.run(&ready).unwrap_or_else(|r| panic!("{target} {r}"));
        };
        go(&mut bench, Inst::new(Opcode::V_READFIRSTLANE_B32, [s(50), v(SOURCES[0])]));
        assert_eq!(bench.wave.s[50], x[4] as u32);
        go(&mut bench, Inst::new(Opcode::V_READLANE_B32, [s(50), v(SOURCES[0]), s(40)]));
        assert_eq!(bench.wave.s[50], x[37] as u32);
        go(&mut bench, Inst::new(Opcode::V_WRITELANE_B32, [v(DEST), s(50), Operand::Imm(0)]));
        assert_eq!((bench.lanes(DEST)[0], bench.lanes(DEST)[1]), (x[37] as u32, 0));
        if Opcode::DS_BPERMUTE_B32.info().exists_on(&target) {
            let address: [u64; MAX_LANES] = std::array::from_fn(|l| 4 * ((l as u64 * 7 + 3) % 64));
            bench.set_wide(SOURCES[1], &address);
            for op in [Opcode::DS_BPERMUTE_B32, Opcode::DS_PERMUTE_B32] {
                bench.set_wide(DEST, &[9; MAX_LANES]);
                go(&mut bench, Inst::new(op, [v(DEST), v(SOURCES[1]), v(SOURCES[0])]));
                for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
                    let from = if op == Opcode::DS_BPERMUTE_B32 {
                        (l * 7 + 3) % 64
                    } else {
                        (0..64).find(|k| (k * 7 + 3) % 64 == l).expect("a permutation")
                    };
                    let want = if exec >> from & 1 != 0 { x[from] as u32 } else { 0 };
                    assert_eq!(bench.lanes(DEST)[l], want, "{op:?} lane {l}");
                }
            }
        }
        let mut swizzle = Inst::new(Opcode::DS_SWIZZLE_B32, [v(DEST), v(SOURCES[0])]);
        swizzle.mods.offset = 0x401f;
        bench.wave.set_pair(PReg::EXEC_LO, u64::MAX, 0);
        go(&mut bench, swizzle);
        assert!((0..MAX_LANES).all(|l| bench.lanes(DEST)[l] == x[l ^ 16] as u32));
        if Opcode::V_MOVRELS_B32.info().exists_on(&target) {
            bench.wave.set_s(PReg::M0, 4);
            go(&mut bench, Inst::new(Opcode::V_MOVRELS_B32, [v(DEST), v(SOURCES[0] - 4)]));
            assert_eq!(bench.lanes(DEST)[9], x[9] as u32);
            go(&mut bench, Inst::new(Opcode::V_MOVRELD_B32, [v(DEST), v(SOURCES[0])]));
            assert_eq!(bench.lanes(DEST + 4)[9], x[9] as u32);
        }
        if target.has(Features::VGPR_INDEX_MODE) {
            bench.wave.set_s(PReg::sgpr(40), 4);
            go(&mut bench, Inst::new(Opcode::S_SET_GPR_IDX_ON, [s(40), Operand::Imm(9)]));
            go(&mut bench, Inst::new(Opcode::V_MOV_B32, [v(DEST + 8), v(SOURCES[0] - 4)]));
            go(&mut bench, Inst::new(Opcode::S_SET_GPR_IDX_OFF, []));
            assert_eq!(bench.lanes(DEST + 12)[9], x[9] as u32);
        }
    }
    assert!(Opcode::V_READLANE_B32.info().flags.contains(OpFlags::IGNORES_EXEC));
}
