//! Vector ALU instructions against the formulas.

use crate::float::{self, ROUNDS, Want, Width};
use crate::harness::{Bench, DEST, Inputs, MASK_IN, MASK_OUT, SOURCES, all_targets, instruction};
use crate::integer::{self, Case};
use mir::isa::{Format, OpFlags, Opcode, OperandKind, Role, ValueType};
use mir::machine::{Encoding, ModFlags, Modifiers, PReg};
use mir::target::Target;
use sim::wave::MAX_LANES;
use std::collections::BTreeSet;

/// Instructions whose formulas are in `rest`.
const ELSEWHERE: [&str; 14] = [
    "v_div_fmas_f32",
    "v_div_fmas_f64",
    "v_div_scale_f32",
    "v_div_scale_f64",
    "v_dot2_f32_f16",
    "v_dot2c_f32_f16",
    "v_movreld_b32",
    "v_movrels_b32",
    "v_movrelsd_b32",
    "v_movrelsd_2_b32",
    "v_mqsad_u32_u8",
    "v_swap_b32",
    "v_swaprel_b32",
    "v_trig_preop_f64",
];

fn width_of(ty: ValueType) -> Option<Width> {
    Some(match ty {
        ValueType::F16 => Width::H,
        ValueType::F32 => Width::S,
        ValueType::F64 => Width::D,
        _ => return None,
    })
}

fn sign_bit(ty: ValueType) -> u64 {
    match ty {
        ValueType::F16 => 1 << 15,
        ValueType::F64 => 1 << 63,
        _ => 1 << 31,
    }
}

/// One way to run an instruction.
#[derive(Clone, Copy, Default)]
struct Variant {
    abs: u8,
    neg: u8,
    clamp: bool,
    round: usize,
    ieee: bool,
}

struct Tested {
    names: BTreeSet<&'static str>,
    missing: BTreeSet<&'static str>,
    lanes: u64,
    wrong: Vec<String>,
}

fn variants(op: Opcode) -> Vec<Variant> {
    let flags = op.info().flags;
    let float = op.info().operands.iter().any(|o| width_of(o.ty).is_some() || o.ty == ValueType::V2F16);
    let mut list = vec![Variant { ieee: true, ..Variant::default() }, Variant::default()];
    if flags.contains(OpFlags::FLOAT_MODS) && op.info().format != Format::Vop3p {
        list.extend([(1, 0), (0, 1), (2, 2), (0, 6), (4, 7)].map(|(abs, neg)| Variant {
            abs,
            neg,
            ..Variant::default()
        }));
    }
    if flags.contains(OpFlags::INT_CLAMP) && !float {
        list.push(Variant { clamp: true, ..Variant::default() });
    }
    if float {
        list.extend([1, 2, 3].map(|round| Variant { round, ..Variant::default() }));
    }
    list
}

fn check(target: Target, op: Opcode, v: Variant, tested: &mut Tested) {
    let info = op.info();
    let generation = target.generation();
    let encoding = if info.vop3_code(generation).is_some() { Encoding::E64 } else { Encoding::Auto };
    let flags = if v.clamp { ModFlags::CLAMP } else { ModFlags::empty() };
    let mut mods = Modifiers { abs: v.abs, neg: v.neg, flags, ..Modifiers::default() };
    let sources: Vec<ValueType> = info
        .operands
        .iter()
        .filter(|o| o.role == Role::Use && o.kind != OperandKind::LaneMask)
        .map(|o| o.ty)
        .collect();
    let present = (1u8 << sources.len()) - 1;
    let floats = (0..sources.len()).filter(|&k| width_of(sources[k]).is_some()).fold(0, |m, k| m | 1u8 << k);
    (mods.abs, mods.neg) = (mods.abs & floats, mods.neg & floats);
    if info.format == Format::Vop3p {
        mods.op_sel_hi = present;
    }
    let mut bench = Bench::new(target);
    let Some(op) = instruction(op, mods, encoding).and_then(|inst| bench.prepare(&inst)) else { return };
    if !op.is_supported() || op.vdst.is_none() && info.format != Format::Vopc {
        return;
    }
    // Denormals are kept, NaN stays in clamps.
    bench.wave.mode = 0xf0 | v.round as u32 | (v.round as u32) << 2 | u32::from(v.ieee) << 9;
    let wide = info.operands.iter().any(|o| o.width == mir::isa::Width::Dwords(2));
    let accumulates = info.operands.first().is_some_and(|o| o.role == Role::DefUse);
    let mut inputs = Inputs::new(wide, 6, u64::from(info.name.len() as u32));
    while let Some(batch) = inputs.batch(wide) {
        for (k, reg) in SOURCES.iter().enumerate() {
            bench.set_wide(*reg, &batch[k]);
        }
        bench.set_wide(DEST, &if accumulates { batch[2] } else { [0xdead_beef; MAX_LANES] });
        let mask = batch[0][0].rotate_left(7) ^ batch[1][5].wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bench.wave.set_pair(PReg::sgpr(MASK_IN), mask, 0);
        bench.wave.set_pair(PReg::VCC_LO, mask, 0);
        bench.wave.set_s(PReg::M0, 0);
        bench.wave.set_pair(PReg::EXEC_LO, u64::MAX, 0);
        bench.run(&op).unwrap_or_else(|r| panic!("{target} {}: {r}", op.text(&target)));
        for l in 0..bench.count() {
            let mut x = [0, 1, 2].map(|k| batch[k][l]);
            for (k, ty) in sources.iter().enumerate() {
                let bits: u32 = match ty {
                    ValueType::F16 | ValueType::B16 | ValueType::I16 | ValueType::U16 => 16,
                    _ if op.srcs.get(k).is_some_and(|s| s.dwords == 2) => 64,
                    _ => 32,
                };
                if info.format != Format::Vop3p {
                    x[k] &= u64::MAX >> (64 - bits);
                }
                if mods.abs >> k & 1 != 0 {
                    x[k] &= !sign_bit(*ty);
                }
                if mods.neg >> k & 1 != 0 {
                    x[k] ^= sign_bit(*ty);
                }
            }
            let case = Case { x, carry: mask >> l & 1 != 0, clamp: v.clamp, lane: l as u32 };
            let context = || format!("{target} {} lane {l}: {:x?}, round {}", op.text(&target), x, v.round);
            if info.format == Format::Vopc {
                let Some(want) = comparison(info.name, x) else {
                    tested.missing.insert(info.name);
                    return;
                };
                let reg = if encoding == Encoding::E64 { PReg::sgpr(MASK_OUT) } else { PReg::VCC_LO };
                // Those of GFX10 that write EXEC write nothing else.
                let reg = if info.name.ends_with("_exec") { PReg::EXEC_LO } else { reg };
                let got = bench.wave.pair(reg) >> l & 1 != 0;
                let exec =
                    info.flags.contains(OpFlags::EXEC_DEF) && bench.wave.exec() >> l & 1 != u64::from(want);
                if got != want || exec {
                    tested.wrong.push(format!("{}: {got}", context()));
                    return;
                }
                continue;
            }
            let dwords = op.vdst.map_or(1, |(_, d)| d);
            let got = if dwords == 2 { bench.wide(DEST, l) } else { u64::from(bench.lanes(DEST)[l]) };
            if let Some((want, carry)) = integer::formula(info.name, &case) {
                let keeps = op.dst16 && (op.keeps_high || info.flags.contains(OpFlags::OP_SEL));
                let got = if keeps { got & 0xffff } else { got };
                let set = op.sdst.map(|(reg, _)| bench.wave.pair(PReg(reg)) >> l & 1 != 0);
                if got != want || carry.is_some() && set.is_some() && carry != set {
                    tested.wrong.push(format!("{}: {got:x} {set:?}, not {want:x} {carry:?}", context()));
                    return;
                }
            } else if let Some(want) = {
                let r = ROUNDS[v.round];
                float::formula(info.name, x, [r, r], v.ieee)
            } {
                let width = info.operands.first().and_then(|o| width_of(o.ty)).unwrap_or(Width::S);
                let got = if op.dst16 { got & 0xffff } else { got };
                if !want.accepts(got, width) {
                    tested.wrong.push(format!("{}: {got:x}, not {want:x?}", context()));
                    return;
                }
                if matches!(want, Want::Near(..)) && v.round != 0 {
                    return;
                }
            } else {
                if l == 0 && v.round == 0 && !tested.names.contains(info.name) {
                    tested.missing.insert(info.name);
                }
                continue;
            }
            tested.names.insert(info.name);
            tested.missing.remove(info.name);
            tested.lanes += 1;
        }
        if info.format == Format::Vopc {
            tested.names.insert(info.name);
            tested.lanes += bench.count() as u64;
        }
    }
}

fn comparison(name: &str, [a, b, _]: [u64; 3]) -> Option<bool> {
    let rest = ["v_cmpx_", "v_cmpsx_", "v_cmps_", "v_cmp_"].iter().find_map(|p| name.strip_prefix(p))?;
    let (relation, ty) = rest.trim_end_matches("_exec").split_once('_')?;
    if relation == "class" {
        return Some(class(ty, a)? & b != 0);
    }
    float::relation(relation, ty, a, b)
}

/// The class bit of a number, from its fields.
fn class(ty: &str, x: u64) -> Option<u64> {
    let (mant, exp) = match ty {
        "f16" => (10, 5),
        "f32" => (23, 8),
        "f64" => (52, 11),
        _ => return None,
    };
    let (e, m) = (x >> mant & ((1 << exp) - 1), x & ((1 << mant) - 1));
    let negative = x >> (mant + exp) & 1 != 0;
    let top = (1 << exp) - 1;
    let bit = match (e, m) {
        _ if e == top && m != 0 => return Some(if m >> (mant - 1) != 0 { 2 } else { 1 }),
        _ if e == top => 2,
        (0, 0) => 5,
        (0, _) => 4,
        _ => 3,
    };
    Some(1 << if negative { bit } else { 11 - bit })
}

#[test]
fn vector_instructions_follow_the_formulas() {
    let mut tested = Tested { names: BTreeSet::new(), missing: BTreeSet::new(), lanes: 0, wrong: Vec::new() };
    for target in all_targets() {
        for &op in Opcode::ALL {
            let info = op.info();
            let vector = matches!(
                info.format,
                Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p | Format::Vopc
            );
            if !vector || !info.exists_on(&target) || info.flags.contains(OpFlags::MIX) {
                continue;
            }
            for v in variants(op) {
                check(target, op, v, &mut tested);
            }
        }
    }
    tested.missing.retain(|name| !ELSEWHERE.contains(name));
    println!(
        "{} instructions, {} million results; without a formula: {:?}",
        tested.names.len(),
        tested.lanes / 1_000_000,
        tested.missing
    );
    assert!(tested.wrong.is_empty(), "{} wrong:\n{}", tested.wrong.len(), tested.wrong.join("\n"));
    assert!(tested.names.len() > 300 && tested.missing.is_empty(), "{:?}", tested.missing);
}
