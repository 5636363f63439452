//! Vector instructions whose results need more than one lane's operands in a register each, or a formula of their own: the steps of division and of range
//! reduction, dot products of halves, sums of differences in four dwords, swaps and moves by index.

use crate::harness::{Bench, DEST, Inputs, MASK_IN, SOURCES, all_targets, instruction};
use mir::isa::Opcode;
use mir::machine::{Encoding, Inst, Modifiers, Operand, PReg};
use mir::target::Target;
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert};
use sim::program::Op;
use sim::wave::MAX_LANES;

fn v(n: u16) -> Operand {
    Operand::preg(PReg::vgpr(n), 1)
}

/// The instruction on the usual registers, where the target has it.
fn ready(bench: &Bench, op: Opcode) -> Option<Op> {
    let packed = op.info().format == mir::isa::Format::Vop3p;
    let mods = Modifiers { op_sel_hi: if packed { 7 } else { 0 }, ..Modifiers::default() };
    if !op.info().exists_on(&bench.target) {
        return None;
    }
    bench.prepare(&instruction(op, mods, Encoding::E64)?)
}

/// Runs `op` on all inputs; `check` gets lane, operands, the bit of the mask that is read, and the result.
fn each(
    target: Target,
    op: Opcode,
    wide: bool,
    mut check: impl FnMut(&Bench, usize, [u64; 3], bool) -> Result<(), String>,
) -> usize {
    let mut bench = Bench::new(target);
    let Some(op) = ready(&bench, op) else { return 0 };
    bench.wave.mode = 0xf0;
    let mut inputs = Inputs::new(wide, 20, 5);
    let mut lanes = 0;
    while let Some(batch) = inputs.batch(wide) {
        for (k, reg) in SOURCES.iter().enumerate() {
            bench.set_wide(*reg, &batch[k]);
        }
        let mask = batch[2][3].wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ batch[0][0];
        bench.wave.set_pair(PReg::VCC_LO, mask, 0);
        bench.wave.set_pair(PReg::sgpr(MASK_IN), mask, 0);
        bench.run(&op).unwrap_or_else(|r| panic!("{target} {}: {r}", op.text(&target)));
        for l in 0..bench.count() {
            let x = [0, 1, 2].map(|k| batch[k][l]);
            if let Err(why) = check(&bench, l, x, mask >> l & 1 != 0) {
                panic!("{target} {} lane {l}, {x:x?}: {why}", op.text(&target));
            }
            lanes += 1;
        }
    }
    lanes
}

fn of<F: Float>(x: u64) -> F {
    F::from_bits(u128::from(x) & ((1u128 << F::BITS) - 1))
}

/// The exponent field.
fn exponent<F: Float>(x: F) -> i64 {
    let mantissa = F::PRECISION - 1;
    (x.to_bits() >> mantissa) as i64 & ((1 << (F::BITS - F::PRECISION)) - 1)
}

/// Whether a quotient of finite numbers is below the normal numbers, by dividing numbers scaled to be near one.
fn tiny_quotient<F: Float>(n: F, d: F) -> bool {
    if n.is_zero() || d.is_zero() {
        return false;
    }
    let (mut en, mut ed) = (0, 0);
    // Fractions in [1, 2) or [1/2, 1): only their order matters.
    let (fn_, fd) = (n.abs().frexp(&mut en), d.abs().frexp(&mut ed));
    let below = fn_.partial_cmp(&fd) == Some(std::cmp::Ordering::Less);
    en as i64 - ed as i64 - i64::from(below) < i64::from(F::MIN_EXP)
}

/// The manual's text of V_DIV_SCALE, with its one mistake (see `sim::fp::div_scale`): operand, denominator, numerator.
fn div_scale<F: Float>(x: [u64; 3], (gap, up, low): (i64, i32, i64)) -> (F, bool) {
    let [s0, den, num] = x.map(of::<F>);
    let scaled = |by: i32| s0.scalbn(by as _);
    let same = |a: F| s0.bitwise_eq(a);
    if num.is_zero() || den.is_zero() {
        return (F::NAN, false);
    }
    let finite = den.is_finite() && num.is_finite();
    let inverse = finite && !den.is_denormal() && tiny_quotient(F::from_u128(1).value, den);
    let quotient = finite && tiny_quotient(num, den);
    match () {
        () if exponent(num) - exponent(den) >= gap => (if same(den) { scaled(up) } else { s0 }, true),
        () if den.is_denormal() => (scaled(up), false),
        () if inverse && quotient => (if same(den) { scaled(-up) } else { s0 }, true),
        () if inverse => (scaled(-up), false),
        () if quotient => (if same(num) { scaled(up) } else { s0 }, true),
        () if exponent(num) <= low => (scaled(up), false),
        () => (s0, false),
    }
}

fn agree<F: Float>(got: u64, want: F) -> Result<(), String> {
    let got: F = of(got);
    if got.bitwise_eq(want) || got.is_nan() && want.is_nan() {
        Ok(())
    } else {
        Err(format!("{:x}, not {:x}", got.to_bits(), want.to_bits()))
    }
}

#[test]
fn division_is_scaled_as_the_manual_says() {
    let mut lanes = 0;
    for target in all_targets() {
        // The operand is one of the two others, as hardware demands.
        for which in [0, 1] {
            let pick = |x: [u64; 3]| [x[1 + which], x[1], x[2]];
            let mut bench = Bench::new(target);
            for (op, wide) in [(Opcode::V_DIV_SCALE_F32, false), (Opcode::V_DIV_SCALE_F64, true)] {
                let Some(op) = ready(&bench, op) else { continue };
                bench.wave.mode = 0xf0;
                let mut inputs = Inputs::new(wide, 20, 7);
                while let Some([a, b, c]) = inputs.batch(wide) {
                    // Edge cases are pairs of the first two.
                    let x: [[u64; 3]; MAX_LANES] = std::array::from_fn(|l| pick([c[l], a[l], b[l]]));
                    (0..3).for_each(|k| bench.set_wide(SOURCES[k], &std::array::from_fn(|l| x[l][k])));
                    bench.run(&op).unwrap_or_else(|r| panic!("{target}: {r}"));
                    let (mask, _) = op.sdst.expect("it writes a mask");
                    for l in 0..bench.count() {
                        let flag = bench.wave.pair(PReg(mask)) >> l & 1 != 0;
                        let (result, want) = if wide {
                            let (want, flag) = div_scale::<Double>(x[l], (768, 128, 53));
                            (agree(bench.wide(DEST, l), want), flag)
                        } else {
                            let (want, flag) = div_scale::<Single>(x[l], (96, 64, 23));
                            (agree(bench.lanes(DEST)[l].into(), want), flag)
                        };
                        assert!(
                            result.is_ok() && flag == want,
                            "{target} {}: {:x?} {result:?} {flag}",
                            op.text(&target),
                            x[l]
                        );
                        lanes += 1;
                    }
                }
            }
        }
    }
    assert!(lanes > 10_000);
}

/// The fused sum, scaled by what `v_div_scale` took where the mask says so: which way, the quotient's exponent tells.
fn div_fmas<F: Float>(x: [u64; 3], by: i32, flag: bool) -> F {
    let [a, b, c] = x.map(of::<F>);
    let sum = a.mul_add(b, c).value;
    let half = (1 << (F::BITS - F::PRECISION - 1)) - 1;
    if flag { sum.scalbn((if exponent(c) > half { by } else { -by }) as _) } else { sum }
}

#[test]
fn quotients_are_scaled_back() {
    let mut lanes = 0;
    for target in all_targets() {
        // Where scaling makes a denormal, one rounding differs from two: such results are left out.
        let denormal = |x: u64, wide: bool| {
            if wide { of::<Double>(x).is_denormal() } else { of::<Single>(x).is_denormal() }
        };
        lanes += each(target, Opcode::V_DIV_FMAS_F32, false, |bench, l, x, flag| {
            let got = bench.lanes(DEST)[l].into();
            if denormal(got, false) {
                Ok(())
            } else {
                near_scaled(got, x, flag, div_fmas::<Single>(x, 64, flag))
            }
        });
        lanes += each(target, Opcode::V_DIV_FMAS_F64, true, |bench, l, x, flag| {
            let got = bench.wide(DEST, l);
            if denormal(got, true) {
                Ok(())
            } else {
                near_scaled(got, x, flag, div_fmas::<Double>(x, 128, flag))
            }
        });
    }
    assert!(lanes > 10_000);
}

/// A sum that overflows or underflows before it is scaled says nothing about the result.
fn near_scaled<F: Float>(got: u64, x: [u64; 3], flag: bool, want: F) -> Result<(), String> {
    let [a, b, c] = x.map(of::<F>);
    let sum = a.mul_add(b, c).value;
    let lost = flag
        && (sum.is_infinite() && a.is_finite() && b.is_finite() && c.is_finite()
            || sum.is_denormal()
            || sum.is_zero());
    if lost { Ok(()) } else { agree(got, want) }
}

/// Bits of 2/π after the binary point, highest first, from π = 16 atan(1/5) − 4 atan(1/239) in fixed point.
fn two_over_pi(bits: usize) -> Vec<bool> {
    let words = bits / 32 + 8;
    // Fixed point: one word before the point.
    let divide = |x: &mut Vec<u32>, by: u64| {
        let mut rest = 0u64;
        for w in x.iter_mut() {
            let v = rest << 32 | u64::from(*w);
            (*w, rest) = ((v / by) as u32, v % by);
        }
    };
    let add = |x: &mut Vec<u32>, y: &[u32], negative: bool| {
        let mut carry = 0i64;
        for (a, b) in x.iter_mut().zip(y).rev() {
            let v = i64::from(*a) + if negative { -i64::from(*b) } else { i64::from(*b) } + carry;
            *a = v as u32;
            carry = v >> 32;
        }
    };
    let atan = |factor: u32, n: u64| {
        let mut power = vec![0u32; words];
        power[0] = factor;
        divide(&mut power, n);
        let mut sum = vec![0u32; words];
        for k in 0u64.. {
            if power.iter().all(|w| *w == 0) {
                break;
            }
            let mut term = power.clone();
            divide(&mut term, 2 * k + 1);
            add(&mut sum, &term, k % 2 == 1);
            divide(&mut power, n * n);
        }
        sum
    };
    let mut pi = atan(16, 5);
    add(&mut pi, &atan(4, 239), true);
    // Long division of 2 by it, bit by bit.
    let mut rest = vec![0u32; words];
    rest[0] = 2;
    (0..bits)
        .map(|_| {
            let mut carry = 0;
            for w in rest.iter_mut().rev() {
                (*w, carry) = (*w << 1 | carry, *w >> 31);
            }
            let bit = rest >= pi;
            if bit {
                add(&mut rest, &pi, true);
            }
            bit
        })
        .collect()
}

#[test]
fn range_reduction_takes_its_part_of_two_over_pi() {
    let bits = two_over_pi(1300);
    let mut lanes = 0;
    for target in all_targets() {
        lanes += each(target, Opcode::V_TRIG_PREOP_F64, true, |bench, l, x, _| {
            let e = exponent(of::<Double>(x[0]));
            let shift = (x[1] & 31) as i64 * 53 + (e - 1077).max(0);
            let part = (shift..shift + 53)
                .fold(0u128, |v, k| v << 1 | u128::from(bits.get(k as usize).copied().unwrap_or(false)));
            // The table of the manual ends after 1201 bits.
            if shift + 53 > 1201 {
                return Ok(());
            }
            let scale = -53 - shift + if e >= 1968 { 128 } else { 0 };
            agree(bench.wide(DEST, l), Double::from_u128(part).value.scalbn(scale as _))
        });
    }
    assert!(lanes > 5_000);
}

#[test]
fn dot_products_of_halves() {
    let mut lanes = 0;
    for target in all_targets() {
        lanes += each(target, Opcode::V_DOT2_F32_F16, false, |bench, l, x, _| {
            let half = |n: u64| {
                let exact: Double = of::<Half>(n).convert(&mut false).value;
                f64::from_bits(exact.to_bits() as u64)
            };
            let products = [0, 16].map(|k| half(x[0] >> k & 0xffff) * half(x[1] >> k & 0xffff));
            let c = f64::from(f32::from_bits(x[2] as u32));
            let got = f64::from(f32::from_bits(bench.lanes(DEST)[l]));
            let want = products[0] + products[1] + c;
            let size = products[0].abs() + products[1].abs() + c.abs();
            // The order of rounding is not documented: within two units in the last place of the largest term.
            let close = (got - want).abs() <= size * 2f64.powi(-22) + 1e-44;
            if close
                || want.is_nan() && got.is_nan()
                || want == got
                || size > f64::from(f32::MAX)
                || size.is_nan()
            {
                Ok(())
            } else {
                Err(format!("{got:e}, not {want:e}"))
            }
        });
    }
    assert!(lanes > 500);
}

#[test]
fn sums_of_differences_in_four_dwords() {
    for target in all_targets() {
        let mut bench = Bench::new(target);
        let inst = Inst::new(
            Opcode::V_MQSAD_U32_U8,
            [
                Operand::preg(PReg::vgpr(DEST), 4),
                Operand::preg(PReg::vgpr(SOURCES[0]), 2),
                v(SOURCES[1]),
                Operand::preg(PReg::vgpr(SOURCES[2]), 4),
            ],
        );
        let Some(op) =
            Opcode::V_MQSAD_U32_U8.info().exists_on(&target).then(|| bench.prepare(&inst)).flatten()
        else {
            continue;
        };
        let mut inputs = Inputs::new(true, 20, 11);
        while let Some([a, b, c]) = inputs.batch(true) {
            bench.set_wide(SOURCES[0], &a);
            bench.set_wide(SOURCES[1], &b);
            bench.set_wide(SOURCES[2], &c);
            bench.set_wide(SOURCES[2] + 2, &a);
            bench.run(&op).unwrap_or_else(|r| panic!("{target}: {r}"));
            for l in 0..bench.count() {
                let (window, pattern) = (a[l].to_le_bytes(), (b[l] as u32).to_le_bytes());
                let old = [c[l] as u32, (c[l] >> 32) as u32, a[l] as u32, (a[l] >> 32) as u32];
                for k in 0..4 {
                    let sum: u32 = (0..4)
                        .filter(|&j| pattern[j] != 0)
                        .map(|j| u32::from(window[k + j].abs_diff(pattern[j])))
                        .sum();
                    assert_eq!(bench.lanes(DEST + k as u16)[l], old[k].wrapping_add(sum), "{target} {k}");
                }
            }
        }
    }
}

#[test]
fn swaps_and_moves_by_index() {
    for target in all_targets() {
        let mut bench = Bench::new(target);
        let mut inputs = Inputs::new(false, 1, 13);
        let [a, b, _] = inputs.batch(false).expect("there is one");
        let exec = 0xffff_0f0f_1234_8001u64;
        let mut run = |op: Opcode, operands: [u16; 2], m0: u32| {
            bench.set_wide(40, &a);
            bench.set_wide(50, &b);
            bench.wave.set_s(PReg::M0, m0);
            bench.wave.set_pair(PReg::EXEC_LO, exec, 0);
            let op = op
                .info()
                .exists_on(&target)
                .then(|| bench.prepare(&Inst::new(op, operands.map(v))))
                .flatten()?;
            bench.run(&op).unwrap_or_else(|r| panic!("{target}: {r}"));
            Some([bench.lanes(40), bench.lanes(50)])
        };
        let lanes = target.wave_size() as usize;
        let active = |l: usize| l < lanes && exec >> l & 1 != 0;
        let copied = |l: usize| if active(l) { b[l] as u32 } else { a[l] as u32 };
        if let Some([x, y]) = run(Opcode::V_SWAP_B32, [40, 50], 0) {
            for l in 0..MAX_LANES {
                assert_eq!(
                    (x[l], y[l]),
                    if active(l) { (b[l] as u32, a[l] as u32) } else { (a[l] as u32, b[l] as u32) }
                );
            }
        }
        // The source 3 further, the destination 7.
        if let Some([x, y]) = run(Opcode::V_MOVRELSD_2_B32, [33, 47], 7 << 16 | 3) {
            assert!((0..MAX_LANES).all(|l| x[l] == copied(l) && y[l] == b[l] as u32), "{target}");
        }
        if let Some([x, y]) = run(Opcode::V_SWAPREL_B32, [33, 47], 7 << 16 | 3) {
            let other = |l: usize| if active(l) { a[l] as u32 } else { b[l] as u32 };
            assert!((0..MAX_LANES).all(|l| x[l] == copied(l) && y[l] == other(l)), "{target}");
        }
        // v40 from v50, by the destination's, the source's, and both numbers.
        for (op, operands) in [
            (Opcode::V_MOVRELD_B32, [33, 50]),
            (Opcode::V_MOVRELS_B32, [40, 43]),
            (Opcode::V_MOVRELSD_B32, [33, 43]),
        ] {
            if let Some([x, y]) = run(op, operands, 7) {
                assert!((0..MAX_LANES).all(|l| x[l] == copied(l) && y[l] == b[l] as u32), "{target} {op:?}");
            }
        }
    }
}

#[test]
fn mixed_precision_reads_halves_and_takes_absolute_values() {
    let mut tested = 0;
    for target in all_targets() {
        let mut bench = Bench::new(target);
        for op in [Opcode::V_FMA_MIXLO_F16, Opcode::V_MAD_MIXLO_F16] {
            // |a| as a float, the high half of b, the low half of c; denormal floats are flushed, halves are not.
            let mods = Modifiers { abs: 1, op_sel: 2, op_sel_hi: 6, ..Modifiers::default() };
            let Some(inst) = instruction(op, mods, Encoding::E64) else { continue };
            let Some(op) = bench.prepare(&inst) else { continue };
            bench.wave.mode = 0xc0;
            bench.set_wide(SOURCES[0], &[(-2.5f32).to_bits().into(); MAX_LANES]);
            bench.set_wide(SOURCES[1], &[0x3e00_ffff; MAX_LANES]);
            bench.set_wide(SOURCES[2], &[0x0000_3400; MAX_LANES]);
            bench.set_wide(DEST, &[0x1234_5678; MAX_LANES]);
            bench.run(&op).unwrap_or_else(|r| panic!("{target}: {r}"));
            // 2.5 * 1.5 + 0.25 = 4; the dword of c, a denormal as a float, is not flushed.
            assert_eq!(bench.lanes(DEST)[5], 0x1234_4400, "{target} {}", op.text(&target));
            tested += 1;
        }
    }
    assert!(tested > 0);
}
