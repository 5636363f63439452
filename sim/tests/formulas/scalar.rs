//! Scalar ALU instructions against formulas on `i128` and bit by bit.

use crate::harness::{Bench, Inputs, SCALAR_DEST, SCALARS, all_targets, instruction};
use mir::isa::{Format, OpFlags, Opcode, Role};
use mir::machine::{Encoding, Modifiers, PReg};
use mir::target::WaveSize;
use std::collections::BTreeSet;

/// Destination, SCC, EXEC: what changes.
#[derive(Default, Debug, PartialEq)]
struct Want {
    d: Option<u64>,
    scc: Option<bool>,
    exec: Option<u64>,
}

struct Case {
    a: u64,
    b: u64,
    old: u64,
    scc: bool,
    exec: u64,
}

fn formula(name: &str, c: &Case) -> Option<Want> {
    let (base, wide) = if name.contains("64") { (name, true) } else { (name, false) };
    let bits: u32 = if wide { 64 } else { 32 };
    let keep = u64::MAX >> (64 - bits);
    let (a, b) = (c.a & keep, c.b & keep);
    let s = |x: u64| if wide { i128::from(x as i64) } else { i128::from(x as u32 as i32) };
    let u = |x: u64| i128::from(x & keep);
    let fits = |v: i128| v == s(v as u64 & keep);
    let d = |d: u64| Some(Want { d: Some(d & keep), ..Want::default() });
    let dz = |d: u64| Some(Want { d: Some(d & keep), scc: Some(d & keep != 0), exec: None });
    let ds = |v: i128, scc: bool| Some(Want { d: Some(v as u64 & keep), scc: Some(scc), exec: None });
    let test = |scc: bool| Some(Want { scc: Some(scc), ..Want::default() });
    let bit = |x: u64, k: u32| x >> k & 1 != 0;
    let count = |x: u64, one: bool| (0..bits).filter(|&k| bit(x, k) == one).count() as u64;
    let narrow = |x: u64| Some(Want { d: Some(x & 0xffff_ffff), ..Want::default() });
    let found = |k: Option<u32>| narrow(k.map_or(u64::MAX, u64::from));
    let stem = base.trim_end_matches("_b32").trim_end_matches("_b64");
    if let Some(op) = stem.strip_prefix("s_").and_then(|n| n.strip_suffix("_saveexec")) {
        let e = c.exec & keep;
        let new = match op {
            "and" => c.a & e,
            "or" => c.a | e,
            "xor" => c.a ^ e,
            "andn2" => c.a & !e,
            "orn2" => c.a | !e,
            "nand" => !(c.a & e),
            "nor" => !(c.a | e),
            "xnor" => !(c.a ^ e),
            "andn1" => !c.a & e,
            "orn1" => !c.a | e,
            _ => return None,
        };
        let new = new & keep;
        return Some(Want { d: Some(e), scc: Some(new != 0), exec: Some(new | c.exec & !keep) });
    }
    let carry = i128::from(c.scc);
    match name {
        "s_mov_b32" | "s_mov_b64" => d(a),
        "s_cmov_b32" | "s_cmov_b64" => d(if c.scc { a } else { c.old }),
        "s_not_b32" | "s_not_b64" => dz(!a),
        "s_wqm_b32" | "s_wqm_b64" => {
            dz((0..bits).filter(|k| a >> (k & !3) & 15 != 0).fold(0, |m, k| m | 1 << k))
        }
        "s_brev_b32" | "s_brev_b64" => {
            d((0..bits).filter(|&k| bit(a, k)).fold(0, |m, k| m | 1 << (bits - 1 - k)))
        }
        "s_bcnt0_i32_b32" | "s_bcnt0_i32_b64" => ds(i128::from(count(a, false)), count(a, false) != 0),
        "s_bcnt1_i32_b32" | "s_bcnt1_i32_b64" => ds(i128::from(count(a, true)), count(a, true) != 0),
        "s_ff0_i32_b32" | "s_ff0_i32_b64" => found((0..bits).find(|&k| !bit(a, k))),
        "s_ff1_i32_b32" | "s_ff1_i32_b64" => found((0..bits).find(|&k| bit(a, k))),
        "s_flbit_i32_b32" | "s_flbit_i32_b64" => found((0..bits).find(|&k| bit(a, bits - 1 - k))),
        "s_flbit_i32" | "s_flbit_i32_i64" => {
            found((1..bits).find(|&k| bit(a, bits - 1 - k) != bit(a, bits - 1)))
        }
        "s_sext_i32_i8" => d(a as i8 as u64),
        "s_sext_i32_i16" => d(a as i16 as u64),
        "s_bitset0_b32" | "s_bitset0_b64" => d(c.old & !(1 << (a % u64::from(bits)))),
        "s_bitset1_b32" | "s_bitset1_b64" => d(c.old | 1 << (a % u64::from(bits))),
        "s_abs_i32" => dz(s(a).unsigned_abs() as u64),
        "s_quadmask_b32" | "s_quadmask_b64" => {
            dz((0..bits / 4).filter(|k| a >> (4 * k) & 15 != 0).fold(0, |m, k| m | 1 << k))
        }
        "s_bitreplicate_b64_b32" => d((0..32).filter(|&k| bit(c.a, k)).fold(0, |m, k| m | 3 << (2 * k))),
        "s_add_u32" => ds(u(a) + u(b), u(a) + u(b) > u(u64::MAX)),
        "s_sub_u32" => ds(u(a) - u(b), u(a) < u(b)),
        "s_add_i32" => ds(s(a) + s(b), !fits(s(a) + s(b))),
        "s_sub_i32" => ds(s(a) - s(b), !fits(s(a) - s(b))),
        "s_addc_u32" => ds(u(a) + u(b) + carry, u(a) + u(b) + carry > u(u64::MAX)),
        "s_subb_u32" => ds(u(a) - u(b) - carry, u(a) - u(b) - carry < 0),
        "s_min_i32" => ds(s(a).min(s(b)), s(a) < s(b)),
        "s_max_i32" => ds(s(a).max(s(b)), s(a) > s(b)),
        "s_min_u32" => ds(u(a).min(u(b)), u(a) < u(b)),
        "s_max_u32" => ds(u(a).max(u(b)), u(a) > u(b)),
        "s_cselect_b32" | "s_cselect_b64" => d(if c.scc { a } else { b }),
        "s_and_b32" | "s_and_b64" => dz(a & b),
        "s_or_b32" | "s_or_b64" => dz(a | b),
        "s_xor_b32" | "s_xor_b64" => dz(a ^ b),
        "s_andn2_b32" | "s_andn2_b64" => dz(a & !b),
        "s_orn2_b32" | "s_orn2_b64" => dz(a | !b),
        "s_nand_b32" | "s_nand_b64" => dz(!(a & b)),
        "s_nor_b32" | "s_nor_b64" => dz(!(a | b)),
        "s_xnor_b32" | "s_xnor_b64" => dz(!(a ^ b)),
        "s_lshl_b32" | "s_lshl_b64" => dz((u(a) << (b % u64::from(bits))) as u64),
        "s_lshr_b32" | "s_lshr_b64" => dz((u(a) >> (b % u64::from(bits))) as u64),
        "s_ashr_i32" | "s_ashr_i64" => dz((s(a) >> (b % u64::from(bits))) as u64),
        "s_bfm_b32" | "s_bfm_b64" => {
            let n = u64::from(bits);
            d((((1i128 << (a % n)) - 1) << (b % n)) as u64)
        }
        "s_mul_i32" => d((u(a) * u(b)) as u64),
        "s_mul_hi_u32" => d(((u(a) * u(b)) >> 32) as u64),
        "s_mul_hi_i32" => d(((s(a) * s(b)) >> 32) as u64),
        "s_bfe_u32" | "s_bfe_i32" | "s_bfe_u64" | "s_bfe_i64" => {
            let (offset, width) = ((c.b as u32) % bits, (c.b as u32 >> 16) % 128);
            let width = width.min(bits - offset);
            let field = if width == 0 { 0 } else { u(a) >> offset & ((1i128 << width) - 1) };
            let negative = name.contains("_i") && width > 0 && field >> (width - 1) != 0;
            dz((if negative { field - (1i128 << width) } else { field }) as u64)
        }
        "s_absdiff_i32" => dz(((s(a) - s(b)) as i32).unsigned_abs().into()),
        "s_lshl1_add_u32" | "s_lshl2_add_u32" | "s_lshl3_add_u32" | "s_lshl4_add_u32" => {
            let n: u32 = name[6..7].parse().ok()?;
            let v = (u(a) << n) + u(b);
            ds(v, v > u(u64::MAX))
        }
        "s_pack_ll_b32_b16" => d(a & 0xffff | (b & 0xffff) << 16),
        "s_pack_lh_b32_b16" => d(a & 0xffff | b >> 16 << 16),
        "s_pack_hh_b32_b16" => d(a >> 16 | b >> 16 << 16),
        "s_bitcmp0_b32" => test(!bit(a, b as u32 % 32)),
        "s_bitcmp1_b32" => test(bit(a, b as u32 % 32)),
        "s_bitcmp0_b64" => test(!bit(a, b as u32 % 64)),
        "s_bitcmp1_b64" => test(bit(a, b as u32 % 64)),
        _ => {
            let (relation, ty) = name.strip_prefix("s_cmp_")?.split_once('_')?;
            test(crate::float::relation(if relation == "lg" { "ne" } else { relation }, ty, a, b)?)
        }
    }
}

#[test]
fn scalar_instructions_follow_the_formulas() {
    let (mut names, mut missing) = (BTreeSet::new(), BTreeSet::new());
    for target in all_targets() {
        for &op in Opcode::ALL {
            let info = op.info();
            let alu = matches!(info.format, Format::Sop1 | Format::Sop2 | Format::Sopc);
            if !alu || !info.exists_on(&target) || info.flags.intersects(OpFlags::BRANCH | OpFlags::MODE_DEF)
            {
                continue;
            }
            let mut bench = Bench::new(target);
            let inst = instruction(op, Modifiers::default(), Encoding::Auto);
            let Some(ready) = inst.and_then(|inst| bench.prepare(&inst)) else { continue };
            let mut inputs = Inputs::new(true, 8, 3);
            while let Some(batch) = inputs.batch(true) {
                for l in 0..64 {
                    let [a, b, old] = [batch[0][l], batch[1][l], batch[2][l]];
                    let scc = l % 3 == 0;
                    let exec = if l % 8 == 0 { 0 } else { batch[2][(l + 1) % 64] };
                    let exec = exec & target.wave().all_lanes();
                    bench.wave.set_pair(PReg::sgpr(SCALARS[0]), a, 0);
                    bench.wave.set_pair(PReg::sgpr(SCALARS[1]), b, 0);
                    bench.wave.set_pair(PReg::sgpr(SCALAR_DEST), old, 0);
                    bench.wave.set_pair(PReg::EXEC_LO, exec, 0);
                    bench.wave.scc = scc;
                    let Some(want) = formula(info.name, &Case { a, b, old, scc, exec }) else {
                        missing.insert(info.name);
                        break;
                    };
                    bench.run(&ready).unwrap_or_else(|r| panic!("{r}"));
                    let dwords = info
                        .operands
                        .first()
                        .filter(|o| o.role != Role::Use)
                        .map(|o| o.dwords(WaveSize::W64));
                    let d = bench.wave.pair(PReg::sgpr(SCALAR_DEST));
                    let context = || format!("{target} {}: {a:x}, {b:x}, {old:x}", ready.text(&target));
                    if let Some(w) = want.d {
                        let d = if dwords == Some(2) { d } else { d & 0xffff_ffff };
                        assert_eq!(d, w, "{}", context());
                    }
                    assert_eq!(bench.wave.scc, want.scc.unwrap_or(scc), "SCC of {}", context());
                    let all = target.wave().all_lanes();
                    assert_eq!(bench.wave.exec(), want.exec.unwrap_or(exec) & all, "EXEC of {}", context());
                }
            }
            names.insert(info.name);
        }
    }
    println!("{} instructions; without a formula: {missing:?}", names.len());
    assert!(names.len() > 100 && missing.len() <= 16, "{missing:?}");
}
