//! Memory instructions whose addressing or formats have rules of their own.

use crate::harness::{Bench, DEST, targets};
use mir::isa::Opcode;
use mir::machine::{Inst, ModFlags, Operand, PReg};
use mir::target::Features;
use sim::wave::MAX_LANES;

fn v(n: u16) -> Operand {
    Operand::preg(PReg::vgpr(n), 1)
}

fn s(n: u16, dwords: u8) -> Operand {
    Operand::preg(PReg::sgpr(n), dwords)
}

fn go(bench: &mut Bench, inst: Inst) {
    let target = bench.target;
    let ready = bench.prepare(&inst).unwrap_or_else(|| panic!("{target} cannot encode {:?}", inst.op));
    bench.run(&ready).unwrap_or_else(|r| panic!("{target} {}: {r}", ready.text(&target)));
}

fn lds_words(bench: &Bench) -> Vec<u32> {
    bench.group.lds.as_chunks::<4>().0.iter().map(|c| u32::from_le_bytes(*c)).collect()
}

fn set_lds(bench: &mut Bench, words: impl Iterator<Item = u32>) {
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let n = bytes.len().min(bench.group.lds.len());
    bench.group.lds[..n].copy_from_slice(&bytes[..n]);
}

/// Sets a buffer resource at s[8:11]: stride 4, no swizzle; `word3` is the format.
fn set_resource(bench: &mut Bench, base: u64, bytes: u64, stride: u64, word3: u32) {
    bench.wave.set_pair(PReg::sgpr(8), base | stride << 48, 0);
    bench.wave.set_pair(PReg::sgpr(10), bytes | u64::from(word3) << 32, 0);
}

#[test]
fn lds_operations_on_two_places() {
    for target in targets() {
        let mut bench = Bench::new(target);
        set_lds(&mut bench, 0..1024);
        let addresses: [u64; MAX_LANES] = std::array::from_fn(|l| 4 * l as u64);
        bench.set_wide(10, &addresses);
        let mut add = Inst::new(Opcode::DS_ADD_SRC2_U32, [v(10)]);
        add.mods.offset = 100;
        go(&mut bench, add);
        assert!((0..64).all(|l| lds_words(&bench)[l] == 2 * l as u32 + 100));
        let mut count = Inst::new(Opcode::DS_APPEND, [v(DEST)]);
        count.mods.offset = 2000;
        bench.wave.set_s(PReg::M0, 0);
        bench.wave.set_pair(PReg::EXEC_LO, 0xffff, 0);
        go(&mut bench, count.clone());
        assert_eq!((bench.lanes(DEST)[3], lds_words(&bench)[500]), (500, 516));
        count.op = Opcode::DS_CONSUME;
        go(&mut bench, count);
        assert_eq!((bench.lanes(DEST)[3], lds_words(&bench)[500]), (516, 500));
    }
}

#[test]
fn gds_is_memory_of_the_dispatch() {
    let target = targets()[3];
    let mut bench = Bench::new(target);
    let region = bench.memory.add_buffer("GDS", vec![0; 256]);
    bench.set_gds(region.address());
    bench.wave.set_s(PReg::M0, 16 << 16 | 128);
    bench.set_wide(10, &std::array::from_fn(|l| 4 * (l as u64 % 2)));
    bench.set_wide(14, &[3; MAX_LANES]);
    let mut add = Inst::new(Opcode::DS_ADD_RTN_U32, [v(DEST), v(10), v(14)]);
    add.mods.flags = ModFlags::GDS;
    go(&mut bench, add.clone());
    assert_eq!(bench.memory.read_u32s(region)[4..6], [96, 96]);
    assert_eq!((bench.lanes(DEST)[0], bench.lanes(DEST)[5]), (0, 6));
    add.mods.offset = 124;
    let ready = bench.prepare(&add).expect("encodes");
    assert!(bench.run(&ready).unwrap_err().message.contains("beyond M0"));
}

#[test]
fn scalar_atomics() {
    let target = targets()[3];
    let mut bench = Bench::new(target);
    let id = bench.memory.add_buffer("b", vec![5, 0, 0, 0, 9, 0, 0, 0]);
    bench.wave.set_pair(PReg::sgpr(8), id.address(), 0);
    bench.wave.set_pair(PReg::sgpr(12), 7 | 9 << 32, 0);
    let mut add = Inst::new(Opcode::S_ATOMIC_ADD_RTN, [s(12, 1), s(8, 2), Operand::Imm(0)]);
    add.mods.flags = ModFlags::GLC;
    go(&mut bench, add);
    assert_eq!((bench.wave.s[12], bench.memory.read_u32s(id)), (5, vec![12, 9]));
    bench.wave.set_pair(PReg::sgpr(12), 7 | 9 << 32, 0);
    let mut swap = Inst::new(Opcode::S_ATOMIC_CMPSWAP_RTN, [s(12, 2), s(8, 2), Operand::Imm(4)]);
    swap.mods.flags = ModFlags::GLC;
    go(&mut bench, swap);
    assert_eq!((bench.wave.s[12], bench.wave.s[13], bench.memory.read_u32s(id)), (9, 9, vec![12, 7]));
}

#[test]
fn formats_of_buffers() {
    for target in targets() {
        let mut bench = Bench::new(target);
        let bytes: Vec<u8> = (0..=255).collect();
        let id = bench.memory.add_buffer("b", bytes);
        // 8_8_8_8 unorm, components in the order w, z, y, x.
        let word3 = 7 | 6 << 3 | 5 << 6 | 4 << 9 | 10 << 15;
        set_resource(&mut bench, id.address(), 256, 0, word3);
        bench.set_wide(10, &std::array::from_fn(|l| 4 * l as u64));
        let operands = |dwords| [Operand::preg(PReg::vgpr(DEST), dwords), v(10), s(8, 4), Operand::Imm(0)];
        let mut load = Inst::new(Opcode::BUFFER_LOAD_FORMAT_XYZW, operands(4));
        load.mods.flags = ModFlags::OFFEN;
        go(&mut bench, load);
        for l in 0..MAX_LANES {
            for c in 0..4 {
                let want = (4 * l + 3 - c) as f32 / 255.0;
                assert_eq!(bench.lanes(DEST + c as u16)[l], want.to_bits(), "{target} lane {l}");
            }
        }
        // The same bytes by the instruction's format: 16_16 signed integers.
        let mut typed = Inst::new(Opcode::TBUFFER_LOAD_FORMAT_XY, operands(2));
        typed.mods.flags = ModFlags::OFFEN;
        typed.mods.dmask = 5 | 5 << 4;
        go(&mut bench, typed);
        let half = |at: usize| i32::from(i16::from_le_bytes([at as u8, at as u8 + 1]));
        for l in 0..MAX_LANES {
            assert_eq!(bench.lanes(DEST)[l] as i32, half(4 * l));
            assert_eq!(bench.lanes(DEST + 1)[l] as i32, half(4 * l + 2));
        }
        let mut store = Inst::new(Opcode::TBUFFER_STORE_FORMAT_XY, operands(2));
        store.mods.flags = ModFlags::OFFEN;
        store.mods.dmask = 3 | 4 << 4;
        bench.set_wide(DEST, &std::array::from_fn(|l| l as u64 | 0x1ff << 32));
        go(&mut bench, store);
        assert!((0..64).all(|l| bench.memory.bytes(id)[4 * l..4 * l + 3] == [l as u8, 255, 4 * l as u8 + 2]));
    }
}

#[test]
fn buffers_to_lds() {
    for target in targets() {
        let mut bench = Bench::new(target);
        let id = bench.memory.add_buffer("b", (0..64u32).flat_map(|x| (x * 3).to_le_bytes()).collect());
        set_resource(&mut bench, id.address(), 256, 0, 0);
        bench.set_wide(10, &std::array::from_fn(|l| 4 * (63 - l as u64)));
        bench.wave.set_s(PReg::M0, 64);
        let mut load = Inst::new(Opcode::BUFFER_LOAD_DWORD_LDS, [v(10), s(8, 4), Operand::Imm(0)]);
        load.mods.flags = ModFlags::OFFEN | ModFlags::LDS;
        go(&mut bench, load);
        assert!((0..64).all(|l| lds_words(&bench)[16 + l] == 3 * (63 - l as u32)), "{target}");
    }
}

#[test]
fn flat_reaches_lds_and_memory() {
    for target in targets().into_iter().filter(|t| t.has(Features::FLAT)) {
        let mut bench = Bench::new(target);
        let id = bench.memory.add_buffer("b", vec![7; 512]);
        set_lds(&mut bench, (0..1024).map(|x| x + 1000));
        let address = |l: usize| {
            if l.is_multiple_of(2) { (1 << 48) + 4 * l as u64 } else { id.address() + 4 * l as u64 }
        };
        bench.set_wide(10, &std::array::from_fn(address));
        go(&mut bench, Inst::new(Opcode::FLAT_LOAD_DWORD, [v(DEST), Operand::preg(PReg::vgpr(10), 2)]));
        for l in 0..MAX_LANES {
            let want = if l % 2 == 0 { 1000 + l as u32 } else { 0x0707_0707 };
            assert_eq!(bench.lanes(DEST)[l], want);
        }
    }
}

/// Sets the resource of a linear 2-D image of 8-bit unorm texels at s[8:15], a sampler at s[16:19].
fn set_image(bench: &mut Bench, base: u64, width: u64, height: u64, linear: bool) {
    let gfx9 = bench.target.generation() == mir::target::Generation::Gfx9;
    let tiling = if gfx9 { 0 } else { 8 };
    let words = [
        base >> 8 | 10 << 52,
        (width - 1) | (height - 1) << 14 | (4 | 5 << 3 | 6 << 6 | 7 << 9) << 32 | tiling << 52 | 9 << 60,
        (width - 1) << 13,
        0,
    ];
    for (k, word) in words.into_iter().enumerate() {
        bench.wave.set_pair(PReg::sgpr(8 + 2 * k as u16), word, 0);
    }
    // Clamped to the last texel, unnormalised.
    bench.wave.set_pair(PReg::sgpr(16), 2 | 2 << 3 | 1 << 15, 0);
    bench.wave.set_pair(PReg::sgpr(18), u64::from(linear) << 20, 0);
}

#[test]
fn images_load_store_and_sample() {
    for target in targets() {
        let mut bench = Bench::new(target);
        let texel = |x: usize, y: usize, c: usize| (16 * y + 2 * x + 60 * c) as u8;
        let bytes: Vec<u8> = (0..256).map(|n| texel(n / 4 % 8, n / 32, n % 4)).collect();
        let id = bench.memory.add_buffer("image", bytes);
        set_image(&mut bench, id.address(), 8, 8, false);
        let image = |op, dwords, dmask, sampled: bool| {
            let vdata = Operand::preg(PReg::vgpr(DEST), dwords);
            let mut operands = vec![vdata, Operand::preg(PReg::vgpr(10), 2), s(8, 8)];
            operands.extend(sampled.then(|| s(16, 4)));
            let mut inst = Inst::new(op, operands);
            inst.mods.dmask = dmask;
            inst.mods.flags = ModFlags::UNORM;
            inst
        };
        let unorm = |x: u8| f32::from(x) / 255.0;
        let x: [u64; MAX_LANES] = std::array::from_fn(|l| l as u64 % 9);
        let y: [u64; MAX_LANES] = std::array::from_fn(|l| l as u64 / 8);
        let set = |bench: &mut Bench, f: &dyn Fn(u64) -> u64| {
            bench.wave.set_v(10, x.map(|v| f(v) as u32));
            bench.wave.set_v(11, y.map(|v| f(v) as u32));
        };
        set(&mut bench, &|v| v);
        go(&mut bench, image(Opcode::IMAGE_LOAD, 2, 0b1010, false));
        for l in 0..MAX_LANES {
            let (px, py) = (x[l] as usize, y[l] as usize);
            for (r, c) in [(0, 1), (1, 3)] {
                let want = if px < 8 { unorm(texel(px, py, c)) } else { 0.0 };
                assert_eq!(f32::from_bits(bench.lanes(DEST + r)[l]), want, "{target} lane {l}");
            }
        }
        // At the centres of texels, then half a texel further right; clamped at the edge.
        for (linear, shift) in [(false, 0.5f32), (true, 0.5), (true, 1.0)] {
            set_image(&mut bench, id.address(), 8, 8, linear);
            bench.wave.set_v(10, x.map(|v| (v as f32 + shift).to_bits()));
            bench.wave.set_v(11, y.map(|v| (v as f32 + 0.5).to_bits()));
            go(&mut bench, image(Opcode::IMAGE_SAMPLE_LZ, 1, 1, true));
            for l in 0..MAX_LANES {
                let at = |px: usize| unorm(texel(px.min(7), y[l] as usize, 0));
                let px = x[l] as usize;
                let want = if shift == 1.0 { (at(px) + at(px + 1)) / 2.0 } else { at(px) };
                let got = f32::from_bits(bench.lanes(DEST)[l]);
                assert!((got - want).abs() < 1e-6, "{target} lane {l}: {got} {want}");
            }
        }
        set(&mut bench, &|v| v);
        for c in 0..4 {
            bench.wave.set_v(usize::from(DEST) + c, [(c as f32 / 3.0).to_bits(); MAX_LANES]);
        }
        go(&mut bench, image(Opcode::IMAGE_STORE, 4, 15, false));
        assert_eq!(bench.memory.bytes(id)[..8], [0, 85, 170, 255, 0, 85, 170, 255], "{target}");
        go(&mut bench, image(Opcode::IMAGE_GET_RESINFO, 2, 3, false));
        assert_eq!((bench.lanes(DEST)[1], bench.lanes(DEST + 1)[1]), (8, 8));
    }
}
