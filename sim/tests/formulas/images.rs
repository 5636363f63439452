//! Sampled images against formulas on `f64`: gathers, depth comparison, offsets, filters by level of detail, raw texels, formatted transfers to LDS.

use crate::harness::{Bench, DEST, targets};
use mir::isa::Opcode;
use mir::machine::{Inst, ModFlags, Operand, PReg};
use mir::target::{Generation, Target};
use sim::wave::MAX_LANES;

const SIZE: usize = 8;

/// The 32-bit float texel at (x, y) of [`set_image`]'s image.
fn texel(x: i64, y: i64) -> f32 {
    (x * 3 + y * y) as f32 / 4.0
}

/// Number of an address mode.
const WRAP: u64 = 0;
const CLAMP: u64 = 2;
const BORDER: u64 = 6;

/// An image of one float a texel at s[8:15], and a sampler at s[16:19]: address mode, depth comparison, filters for magnification and minification, opaque white
/// border.
fn set_image(bench: &mut Bench, base: u64, mode: u64, compare: u64, filters: [u64; 2]) {
    let tiling = if bench.target.generation() == Generation::Gfx9 { 0 } else { 8 };
    let side = SIZE as u64 - 1;
    let words = [
        base >> 8 | 4 << 52 | 7 << 58,
        // Red in all channels but alpha, which is one.
        side | side << 14 | (4 | 1 << 9) << 32 | tiling << 52 | 9 << 60,
        side << 13,
        0,
    ];
    for (k, word) in words.into_iter().enumerate() {
        bench.wave.set_pair(PReg::sgpr(8 + 2 * k as u16), word, 0);
    }
    // Levels of detail from 0 to 15 may be chosen.
    bench.wave.set_pair(PReg::sgpr(16), mode | mode << 3 | compare << 12 | (15 << 8) << 44, 0);
    bench.wave.set_pair(PReg::sgpr(18), filters[0] << 20 | filters[1] << 22 | 2 << 62, 0);
}

fn start(target: Target) -> (Bench, u64) {
    let mut bench = Bench::new(target);
    let bytes =
        (0..SIZE * SIZE).flat_map(|n| texel((n % SIZE) as i64, (n / SIZE) as i64).to_le_bytes()).collect();
    let id = bench.memory.add_buffer("image", bytes);
    (bench, id.address())
}

fn image(op: Opcode, data: u8, address: u8, sampled: bool) -> Inst {
    let mut operands = vec![
        Operand::preg(PReg::vgpr(DEST), data),
        Operand::preg(PReg::vgpr(10), address),
        Operand::preg(PReg::sgpr(8), 8),
    ];
    operands.extend(sampled.then(|| Operand::preg(PReg::sgpr(16), 4)));
    let mut inst = Inst::new(op, operands);
    inst.mods.dmask = 1;
    inst
}

fn go(bench: &mut Bench, inst: Inst) {
    let target = bench.target;
    let ready = bench.prepare(&inst).unwrap_or_else(|| panic!("{target} cannot encode {:?}", inst.op));
    bench.run(&ready).unwrap_or_else(|r| panic!("{target} {}: {r}", ready.text(&target)));
}

/// Sets the address registers, a function of the lane each.
fn set(bench: &mut Bench, registers: &[&dyn Fn(usize) -> u32]) {
    for (k, f) in registers.iter().enumerate() {
        bench.wave.set_v(10 + k, std::array::from_fn(f));
    }
}

fn place(l: usize) -> (f32, f32) {
    // Around all edges, at quarters of texels.
    (l as f32 * 0.25 - 3.0, (l * 7 % 40) as f32 * 0.25 - 1.0)
}

fn normal(x: f32) -> u32 {
    (x / SIZE as f32).to_bits()
}

/// The texel that an address mode finds; `None` is the border.
fn addressed(mode: u64, x: i64, y: i64) -> f32 {
    let n = SIZE as i64;
    let one = |i: i64| match mode {
        WRAP => Some(i.rem_euclid(n)),
        CLAMP => Some(i.clamp(0, n - 1)),
        _ => (0..n).contains(&i).then_some(i),
    };
    match (one(x), one(y)) {
        (Some(x), Some(y)) => texel(x, y),
        _ => 1.0,
    }
}

/// The mean by distance of what `at` says of the four texels around a place.
fn bilinear(x: f32, y: f32, at: impl Fn(i64, i64) -> f64) -> f64 {
    let (x, y) = (f64::from(x) - 0.5, f64::from(y) - 0.5);
    let (fx, fy) = (x - x.floor(), y - y.floor());
    let (i, j) = (x.floor() as i64, y.floor() as i64);
    (at(i, j) * (1.0 - fx) + at(i + 1, j) * fx) * (1.0 - fy)
        + (at(i, j + 1) * (1.0 - fx) + at(i + 1, j + 1) * fx) * fy
}

#[test]
fn address_modes_filters_and_offsets() {
    for target in targets() {
        let (mut bench, base) = start(target);
        for mode in [WRAP, CLAMP, BORDER] {
            set_image(&mut bench, base, mode, 0, [1, 0]);
            // Two texels right, one up.
            let shift = |_| 2 | 0x3f << 8;
            set(&mut bench, &[&shift, &|l| normal(place(l).0), &|l| normal(place(l).1)]);
            go(&mut bench, image(Opcode::IMAGE_SAMPLE_LZ_O, 1, 3, true));
            for l in 0..MAX_LANES {
                let (x, y) = place(l);
                let want = bilinear(x, y, |i, j| addressed(mode, i + 2, j - 1).into());
                let got = f64::from(f32::from_bits(bench.lanes(DEST)[l]));
                assert!((got - want).abs() < 1e-4, "{target} mode {mode} lane {l}: {got} {want}");
            }
        }
    }
}

#[test]
fn the_level_of_detail_chooses_the_filter() {
    for target in targets() {
        let (mut bench, base) = start(target);
        // Linear near by, nearest far away.
        set_image(&mut bench, base, CLAMP, 0, [1, 0]);
        let expect = |bench: &Bench, far: &dyn Fn(usize) -> bool, what: &str| {
            for l in 0..MAX_LANES {
                let (x, y) = place(l);
                let at = |i, j| f64::from(addressed(CLAMP, i, j));
                let want = if far(l) { at(x.floor() as i64, y.floor() as i64) } else { bilinear(x, y, at) };
                let got = f64::from(f32::from_bits(bench.lanes(DEST)[l]));
                assert!((got - want).abs() < 1e-4, "{target} {what} lane {l}: {got} {want}");
            }
        };
        let (x, y) = (|l: usize| normal(place(l).0), |l: usize| normal(place(l).1));
        let odd = |l: usize| if l % 2 == 1 { 1.5f32 } else { -1.0 }.to_bits();
        set(&mut bench, &[&x, &y, &odd]);
        go(&mut bench, image(Opcode::IMAGE_SAMPLE_L, 1, 3, true));
        expect(&bench, &|l| l % 2 == 1, "level");
        // A step of an eighth of the image is a texel: level 0; of two, level 1.
        let step = |l: usize| if l % 4 == 3 { 0.25f32 } else { 0.01 }.to_bits();
        let none = |_| 0;
        set(&mut bench, &[&step, &none, &none, &step, &x, &y]);
        go(&mut bench, image(Opcode::IMAGE_SAMPLE_D, 1, 6, true));
        expect(&bench, &|l| l % 4 == 3, "derivatives");
        // The same places for all lanes of a quad: the most detail, unless the bias or the clamp says otherwise.
        let together = |l: usize| normal(place(l & !3).0);
        let row = |l: usize| normal(place(l & !3).1);
        set(&mut bench, &[&together, &row, &odd]);
        go(&mut bench, image(Opcode::IMAGE_SAMPLE_CL, 1, 3, true));
        for l in 0..MAX_LANES {
            let (px, py) = place(l & !3);
            let at = |i, j| f64::from(addressed(CLAMP, i, j));
            let want =
                if l % 2 == 1 { at(px.floor() as i64, py.floor() as i64) } else { bilinear(px, py, at) };
            assert!(
                (f64::from(f32::from_bits(bench.lanes(DEST)[l])) - want).abs() < 1e-4,
                "{target} clamp lane {l}"
            );
        }
        // Four texels to the right neighbour: level 2.
        let quad = |l: usize| normal((l % 2 * 4) as f32);
        set(&mut bench, &[&quad, &none]);
        let mut query = image(Opcode::IMAGE_GET_LOD, 2, 2, true);
        query.mods.dmask = 3;
        go(&mut bench, query);
        assert_eq!((bench.lanes(DEST)[0], f32::from_bits(bench.lanes(DEST + 1)[0])), (0, 2.0), "{target}");
    }
}

#[test]
fn depth_comparison_and_gathers() {
    for target in targets() {
        let (mut bench, base) = start(target);
        let (x, y) = (|l: usize| normal(place(l).0), |l: usize| normal(place(l).1));
        let reference = |l: usize| (l % 9) as f32 / 2.0;
        let bits = |l: usize| reference(l).to_bits();
        for (compare, holds) in [
            (1, (|r, t| r < t) as fn(f32, f32) -> bool),
            (3, |r, t| r <= t),
            (4, |r, t| r > t),
            (2, |r, t| r == t),
            (7, |_, _| true),
            (0, |_, _| false),
        ] {
            set_image(&mut bench, base, CLAMP, compare, [1, 1]);
            set(&mut bench, &[&bits, &x, &y]);
            go(&mut bench, image(Opcode::IMAGE_SAMPLE_C_LZ, 1, 3, true));
            let passes =
                |l: usize, i: i64, j: i64| f64::from(u8::from(holds(reference(l), addressed(CLAMP, i, j))));
            for l in 0..MAX_LANES {
                let want = bilinear(place(l).0, place(l).1, |i, j| passes(l, i, j));
                let got = f64::from(f32::from_bits(bench.lanes(DEST)[l]));
                assert!((got - want).abs() < 1e-5, "{target} compare {compare} lane {l}: {got} {want}");
            }
            go(&mut bench, image(Opcode::IMAGE_GATHER4_C_LZ, 4, 3, true));
            for (k, (dx, dy)) in [(0, 1), (1, 1), (1, 0), (0, 0)].into_iter().enumerate() {
                for l in 0..MAX_LANES {
                    let (i, j) =
                        ((place(l).0 - 0.5).floor() as i64 + dx, (place(l).1 - 0.5).floor() as i64 + dy);
                    let got = f32::from_bits(bench.lanes(DEST + k as u16)[l]);
                    assert_eq!(f64::from(got), passes(l, i, j), "{target} gather {k} lane {l}");
                }
            }
        }
        set(&mut bench, &[&x, &y]);
        go(&mut bench, image(Opcode::IMAGE_GATHER4_LZ, 4, 2, true));
        for l in 0..MAX_LANES {
            let (i, j) = ((place(l).0 - 0.5).floor() as i64, (place(l).1 - 0.5).floor() as i64);
            assert_eq!(f32::from_bits(bench.lanes(DEST + 3)[l]), addressed(CLAMP, i, j), "{target} lane {l}");
        }
    }
}

#[test]
fn raw_texels_status_and_halves() {
    for target in targets() {
        let (mut bench, base) = start(target);
        set_image(&mut bench, base, CLAMP, 0, [0, 0]);
        set(&mut bench, &[&|l| l as u32 % 8, &|l| l as u32 / 8]);
        let mut load = image(Opcode::IMAGE_LOAD_PCK, 2, 2, false);
        load.mods.flags = ModFlags::UNORM | ModFlags::TFE;
        go(&mut bench, load);
        for l in 0..MAX_LANES {
            let want = texel(l as i64 % 8, l as i64 / 8).to_bits();
            assert_eq!((bench.lanes(DEST)[l], bench.lanes(DEST + 1)[l]), (want, 0), "{target} lane {l}");
        }
        // Mirrored by a raw store.
        set(&mut bench, &[&|l| 7 - l as u32 % 8, &|l| l as u32 / 8]);
        let mut store = image(Opcode::IMAGE_STORE_PCK, 1, 2, false);
        store.mods.flags = ModFlags::UNORM;
        go(&mut bench, store);
        if target.generation() >= Generation::Gfx8 {
            set(&mut bench, &[&|l| l as u32 % 8, &|l| l as u32 / 8]);
            let mut load = image(Opcode::IMAGE_LOAD, 1, 2, false);
            load.mods.flags = ModFlags::UNORM | ModFlags::D16;
            go(&mut bench, load);
            for l in 0..MAX_LANES {
                let want = sim::fp::f64_to_f16(texel(7 - l as i64 % 8, l as i64 / 8).into()) as u32;
                assert_eq!(bench.lanes(DEST)[l], want, "{target} lane {l}");
            }
            let mut store = image(Opcode::IMAGE_STORE, 1, 2, false);
            store.mods.flags = ModFlags::UNORM | ModFlags::D16;
            bench.wave.set_v(usize::from(DEST), [0x3e00; MAX_LANES]);
            go(&mut bench, store);
            let mut load = image(Opcode::IMAGE_LOAD_PCK, 1, 2, false);
            load.mods.flags = ModFlags::UNORM;
            go(&mut bench, load);
            assert_eq!(f32::from_bits(bench.lanes(DEST)[5]), 1.5, "{target}");
        }
    }
}

#[test]
fn formatted_transfers_to_lds() {
    for target in targets() {
        let op = Opcode::BUFFER_LOAD_FORMAT_X_LDS;
        if !op.info().exists_on(&target) {
            continue;
        }
        let mut bench = Bench::new(target);
        let id = bench.memory.add_buffer("b", (0..=255).collect());
        // 8-bit unorm, the one component selected.
        let word3 = 4u64 | 1 << 15;
        bench.wave.set_pair(PReg::sgpr(8), id.address() | 1 << 48, 0);
        bench.wave.set_pair(PReg::sgpr(10), 256 | word3 << 32, 0);
        bench.wave.set_s(PReg::M0, 64);
        bench.wave.set_v(10, std::array::from_fn(|l| 3 * l as u32));
        let operands = [Operand::preg(PReg::vgpr(10), 1), Operand::preg(PReg::sgpr(8), 4), Operand::Imm(0)];
        let mut inst = Inst::new(op, operands);
        inst.mods.flags = ModFlags::IDXEN;
        go(&mut bench, inst);
        for l in 0..MAX_LANES {
            let at = 64 + 4 * l;
            let got = f32::from_le_bytes(bench.group.lds[at..at + 4].try_into().expect("four bytes"));
            assert_eq!(got, (3 * l) as f32 / 255.0, "{target} lane {l}");
        }
    }
}
