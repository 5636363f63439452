//! OpenCL's functions of images, compiled by gcnc with its library and run on the simulator, against texels that the test reads, filters
//! and writes itself. llc's objects of the same bitcode must give the same.

use gcnc_tests::toolchain;
use mir::half;
use mir::target::Generation;
use sim::images::{Channel, Image, Order, Shape};
use sim::{Arg, BufferId, CodeObject, Config, Dispatch, Memory};
use std::path::Path;

/// Work-items of a kernel.
const ITEMS: usize = 64;

const SHAPES: [(&str, Shape, [u32; 3]); 6] = [
    ("1d", Shape::One, [7, 1, 1]),
    ("1d_array", Shape::OneArray, [5, 1, 3]),
    ("2d", Shape::Two, [6, 5, 1]),
    ("2d_array", Shape::TwoArray, [4, 3, 5]),
    ("3d", Shape::Three, [5, 4, 3]),
    ("1d_buffer", Shape::Buffer, [40, 1, 1]),
];

const FLOATS: [(Order, Channel); 9] = [
    (Order::Rgba, Channel::Float),
    (Order::Rgba, Channel::UnormInt8),
    (Order::Bgra, Channel::UnormInt8),
    (Order::Rgba, Channel::UnormInt16),
    (Order::R, Channel::SnormInt16),
    (Order::Rg, Channel::SnormInt8),
    (Order::Rgba, Channel::HalfFloat),
    (Order::Luminance, Channel::Float),
    (Order::A, Channel::UnormInt8),
];

const INTEGERS: [Channel; 6] = [
    Channel::SignedInt8,
    Channel::SignedInt16,
    Channel::SignedInt32,
    Channel::UnsignedInt8,
    Channel::UnsignedInt16,
    Channel::UnsignedInt32,
];

fn bytes_of(channel: Channel) -> usize {
    use Channel::*;
    match channel {
        SnormInt8 | UnormInt8 | SignedInt8 | UnsignedInt8 => 1,
        SnormInt16 | UnormInt16 | SignedInt16 | UnsignedInt16 | HalfFloat => 2,
        SignedInt32 | UnsignedInt32 | Float => 4,
    }
}

/// A channel's bits with and without sign.
fn bits(raw: &[u8]) -> (i64, u64) {
    let value = raw.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    let shift = 64 - 8 * raw.len();
    ((value << shift) as i64 >> shift, value)
}

/// A channel as a float.
fn float(channel: Channel, raw: &[u8]) -> f32 {
    let (signed, unsigned) = bits(raw);
    match channel {
        Channel::Float => f32::from_bits(unsigned as u32),
        Channel::HalfFloat => half::to_f64(unsigned as u16) as f32,
        Channel::UnormInt8 | Channel::UnormInt16 => {
            (unsigned as f64 / ((1u64 << (8 * raw.len())) - 1) as f64) as f32
        }
        _ => (signed as f64 / ((1u64 << (8 * raw.len() - 1)) - 1) as f64).max(-1.0) as f32,
    }
}

/// Red, green, blue, alpha of the channels of a texel.
fn ordered<T: Copy>(order: Order, channels: &[T], zero: T, one: T) -> [T; 4] {
    let c = |k: usize| channels[k];
    match order {
        Order::A => [zero, zero, zero, c(0)],
        Order::R => [c(0), zero, zero, one],
        Order::Rg => [c(0), c(1), zero, one],
        Order::Ra => [c(0), zero, zero, c(1)],
        Order::Rgba => [c(0), c(1), c(2), c(3)],
        Order::Bgra => [c(2), c(1), c(0), c(3)],
        Order::Argb => [c(1), c(2), c(3), c(0)],
        Order::Intensity => [c(0); 4],
        Order::Luminance => [c(0), c(0), c(0), one],
    }
}

/// An image with its texels.
struct Picture {
    image: Image,
    texels: Vec<u8>,
}

impl Picture {
    fn new(
        rng: &mut fastrand::Rng,
        shape: Shape,
        size: [u32; 3],
        (order, channel): (Order, Channel),
    ) -> Self {
        let image = Image { address: 0, shape, order, channel, size };
        let each = bytes_of(channel);
        let texels = (0..image.bytes() / each).flat_map(|_| match channel {
            Channel::Float => (rng.f32() * 4.0 - 2.0).to_le_bytes().to_vec(),
            Channel::HalfFloat => half::from_f64(rng.f64() * 4.0 - 2.0).to_le_bytes().to_vec(),
            _ => (0..each).map(|_| rng.u8(..)).collect(),
        });
        let texels = texels.collect();
        Self { image, texels }
    }

    fn raw(&self, at: [i64; 3]) -> Option<&[u8]> {
        let size = self.image.size.map(i64::from);
        if (0..3).any(|k| at[k] < 0 || at[k] >= size[k]) {
            return None;
        }
        let each = self.image.texel_bytes() as usize;
        let index = ((at[2] * size[1] + at[1]) * size[0] + at[0]) as usize;
        Some(&self.texels[index * each..][..each])
    }

    /// The texel; outside, what a border without colour has.
    fn texel(&self, at: [i64; 3]) -> [f32; 4] {
        let Some(raw) = self.raw(at) else { return [0.0; 4] };
        let channels: Vec<f32> =
            raw.chunks(bytes_of(self.image.channel)).map(|raw| float(self.image.channel, raw)).collect();
        ordered(self.image.order, &channels, 0.0, 1.0)
    }

    /// What a sampler with `flags` reads at `at`.
    fn sample(&self, flags: u32, at: [f32; 4]) -> [f32; 4] {
        // The slice of an array is the next integer; other coordinates are wrapped and filtered.
        let axes: &[usize] = match self.image.shape {
            Shape::One | Shape::Buffer | Shape::OneArray => &[0],
            Shape::Two | Shape::TwoArray => &[0, 1],
            Shape::Three => &[0, 1, 2],
        };
        let slice = match self.image.shape {
            Shape::OneArray => at[1],
            Shape::TwoArray => at[2],
            _ => 0.0,
        };
        let is_array = matches!(self.image.shape, Shape::OneArray | Shape::TwoArray);
        let mut place = [0i64; 3];
        if is_array {
            place[2] = (slice.round_ties_even() as i64).clamp(0, i64::from(self.image.size[2]) - 1);
        }
        let linear = flags & 0x20 != 0;
        let mut weights = [0f32; 3];
        for &k in axes {
            let x = if flags & 1 != 0 { at[k] * self.image.size[k] as f32 } else { at[k] };
            let start = if linear { x - 0.5 } else { x };
            place[k] = start.floor() as i64;
            weights[k] = start - start.floor();
        }
        let wrap = |k: usize, i: i64| {
            let n = i64::from(self.image.size[k]);
            match flags >> 1 & 7 {
                3 => i.rem_euclid(n),
                4 => {
                    let i = i.rem_euclid(2 * n);
                    if i < n { i } else { 2 * n - 1 - i }
                }
                2 => i,
                _ => i.clamp(0, n - 1),
            }
        };
        let mut sum = [0f32; 4];
        for corner in 0..if linear { 1usize << axes.len() } else { 1 } {
            let (mut texel, mut weight) = (place, 1.0);
            for (bit, &k) in axes.iter().enumerate() {
                let second = corner >> bit & 1;
                texel[k] = wrap(k, place[k] + second as i64);
                if linear {
                    weight *= if second != 0 { weights[k] } else { 1.0 - weights[k] };
                }
            }
            let texel = self.texel(texel);
            (0..4).for_each(|c| sum[c] += weight * texel[c]);
        }
        sum
    }
}

/// A code object, and what its kernels are given.
struct Machine {
    code: CodeObject,
    memory: Memory,
}

impl Machine {
    fn buffer(&mut self, bytes: Vec<u8>) -> BufferId {
        self.memory.add_buffer("buffer", bytes)
    }

    fn generation(&self) -> Generation {
        self.code.processor().expect("the object names a processor").generation
    }

    /// What a kernel left of a picture in `texels`.
    fn after(&self, picture: &Picture, texels: BufferId) -> Picture {
        let bytes = self.memory.bytes(texels);
        Picture { image: picture.image, texels: picture.image.texels_of(bytes, self.generation()) }
    }

    /// Texels and the image that describes them.
    fn picture(&mut self, picture: &Picture) -> (BufferId, Arg) {
        let generation = self.generation();
        let texels = self.buffer(picture.image.memory_of(&picture.texels, generation));
        let image = Image { address: texels.address(), ..picture.image };
        let words = image.dwords(generation);
        (texels, self.words(&words))
    }

    fn words(&mut self, words: &[u32]) -> Arg {
        Arg::Buffer(self.buffer(words.iter().flat_map(|word| word.to_le_bytes()).collect()))
    }

    fn run(&mut self, kernel: &str, items: usize, args: Vec<Arg>) {
        let grid = [items as u32, 1, 1];
        let dispatch = Dispatch { kernel: kernel.into(), grid, group: grid, args, ..Dispatch::default() };
        let ran = sim::run(&self.code, &mut self.memory, &dispatch, &Config::default());
        ran.unwrap_or_else(|report| panic!("{kernel}: {report}"));
    }

    fn floats(&self, buffer: BufferId) -> Vec<[f32; 4]> {
        let word = |bytes: &[u8]| f32::from_bits(bits(bytes).1 as u32);
        let texel = |bytes: &[u8]| std::array::from_fn(|c| word(&bytes[4 * c..4 * c + 4]));
        self.memory.bytes(buffer).chunks(16).map(texel).collect()
    }
}

#[track_caller]
fn near(what: &str, got: &[[f32; 4]], want: &[[f32; 4]]) {
    for (n, (got, want)) in got.iter().zip(want).enumerate() {
        let close = got.iter().zip(want).all(|(got, want)| (got - want).abs() <= 1e-5);
        assert!(close, "{what}, item {n}: {got:?} instead of {want:?}");
    }
}

/// All functions on `machine`.
fn check(machine: &mut Machine, place: &str) {
    let mut rng = fastrand::Rng::with_seed(5);
    let rng = &mut rng;
    for (name, shape, size) in SHAPES {
        // Coordinates inside; what is outside is the sampler's business. Stores must not meet.
        let array = matches!(shape, Shape::OneArray);
        let place_of = |at: [u32; 3]| [at[0], if array { at[2] } else { at[1] }, at[2], 0];
        let count = (size[0] * size[1] * size[2]) as usize;
        let items = ITEMS.min(count);
        let mut all: Vec<[u32; 3]> =
            (0..count as u32).map(|n| [n % size[0], n / size[0] % size[1], n / size[0] / size[1]]).collect();
        rng.shuffle(&mut all);
        all.truncate(items);
        let coordinates: Vec<u32> = all.iter().flat_map(|&at| place_of(at)).collect();
        for format in FLOATS {
            let what = format!("{place}: {name} {format:?}");
            let picture = Picture::new(rng, shape, size, format);
            let (_, image) = machine.picture(&picture);
            let out = machine.buffer(vec![0; 16 * items]);
            let at = machine.words(&coordinates);
            machine.run(&format!("load_{name}"), items, vec![Arg::Buffer(out), image.clone(), at.clone()]);
            let want: Vec<_> = all.iter().map(|at| picture.texel(at.map(i64::from))).collect();
            near(&format!("{what} loaded"), &machine.floats(out), &want);
            if format.0 == Order::Rgba && matches!(format.1, Channel::Float | Channel::UnormInt8) {
                let values: Vec<[f32; 4]> = (0..items).map(|_| std::array::from_fn(|_| rng.f32())).collect();
                let words: Vec<u32> = values.iter().flatten().map(|value| value.to_bits()).collect();
                let values_buffer = machine.words(&words);
                let (texels, image) = machine.picture(&picture);
                machine.run(&format!("store_{name}"), items, vec![values_buffer, image, at]);
                let after = machine.after(&picture, texels);
                for (at, value) in all.iter().zip(&values) {
                    let got = after.texel(at.map(i64::from));
                    let step = if format.1 == Channel::Float { 0.0 } else { 0.5 / 255.0 + 1e-6 };
                    let close = got.iter().zip(value).all(|(got, value)| (got - value).abs() <= step);
                    assert!(close, "{what} stored at {at:?}: {got:?} instead of {value:?}");
                }
            }
            if shape == Shape::Buffer {
                continue;
            }
            for flags in [0x10, 0x12, 0x14, 0x22, 0x24, 0x11, 0x13, 0x23, 0x27, 0x29, 0x17, 0x19] {
                let scale = |k: usize| if flags & 1 != 0 { 1.0 } else { size[k] as f32 };
                // CLK_ADDRESS_NONE promises that all is inside.
                let reach = if flags >> 1 & 7 == 0 { 0.0 } else { 1.0 };
                let places: Vec<[f32; 4]> = (0..ITEMS)
                    .map(|_| {
                        let mut next =
                            |k: usize| ((rng.f32() * 0.98 + 0.01) * (1.0 + 2.0 * reach) - reach) * scale(k);
                        let mut at = [next(0), next(1), next(2), 0.0];
                        match shape {
                            Shape::OneArray => at[1] = rng.f32() * 5.0 - 1.0,
                            Shape::TwoArray => at[2] = rng.f32() * 7.0 - 1.0,
                            _ => {}
                        }
                        at
                    })
                    .collect();
                let words: Vec<u32> = places.iter().flatten().map(|x| x.to_bits()).collect();
                let out = machine.buffer(vec![0; 16 * ITEMS]);
                let (at, how) = (machine.words(&words), machine.words(&mir::abi::sampler::words(flags)));
                machine.run(&format!("sample_{name}"), ITEMS, vec![Arg::Buffer(out), image.clone(), how, at]);
                let want: Vec<_> = places.iter().map(|&at| picture.sample(flags, at)).collect();
                near(&format!("{what} sampled by {flags:#x}"), &machine.floats(out), &want);
            }
        }
        for channel in INTEGERS {
            let picture = Picture::new(rng, shape, size, (Order::Rgba, channel));
            let (texels, image) = machine.picture(&picture);
            let out = machine.buffer(vec![0; 16 * items]);
            let at = machine.words(&coordinates);
            machine.run(&format!("loadi_{name}"), items, vec![Arg::Buffer(out), image.clone(), at.clone()]);
            let signed = matches!(channel, Channel::SignedInt8 | Channel::SignedInt16 | Channel::SignedInt32);
            for (at, got) in all.iter().zip(machine.memory.bytes(out).chunks(16)) {
                let raw = picture.raw(at.map(i64::from)).expect("the place is inside");
                let values = raw.chunks(bytes_of(channel)).map(bits);
                let want: Vec<u8> = values
                    .flat_map(|(s, u)| (if signed { s as u32 } else { u as u32 }).to_le_bytes())
                    .collect();
                assert_eq!(got, want, "{place}: {name} {channel:?} loaded at {at:?}");
            }
            // Small enough for all of the types.
            let values: Vec<u32> = (0..4 * items).map(|_| rng.u32(..128)).collect();
            let values_buffer = machine.words(&values);
            machine.run(&format!("storei_{name}"), items, vec![values_buffer, image, at]);
            let after = machine.after(&picture, texels);
            for (at, value) in all.iter().zip(values.chunks(4)) {
                let raw = after.raw(at.map(i64::from)).expect("the place is inside");
                let got: Vec<u32> = raw.chunks(bytes_of(channel)).map(|raw| bits(raw).1 as u32).collect();
                assert_eq!(got, value, "{place}: {name} {channel:?} stored at {at:?}");
            }
        }
    }
    let picture = Picture::new(rng, Shape::Two, [6, 5, 1], (Order::Rgba, Channel::Float));
    let (_, image) = machine.picture(&picture);
    let out = machine.buffer(vec![0; 64]);
    let (how, at) = (machine.words(&mir::abi::sampler::words(0x12)), machine.words(&[9, 3, 0, 0]));
    machine.run("constants_2d", 1, vec![Arg::Buffer(out), image, how, at]);
    let want = [
        picture.texel([5, 3, 0]),
        picture.texel([2, 1, 0]),
        picture.sample(0x27, [0.75, 0.5, 0.0, 0.0]),
        picture.texel([1, 2, 0]),
    ];
    near(&format!("{place}: constants"), &machine.floats(out), &want);
    let mut args = Vec::new();
    for (k, &(_, shape, size)) in SHAPES.iter().enumerate() {
        let format = if k == 0 { (Order::R, Channel::SnormInt16) } else { (Order::Rgba, Channel::Float) };
        let picture = Picture::new(rng, shape, size, format);
        args.push(machine.picture(&picture).1);
    }
    let out = machine.buffer(vec![0; 8 * 14]);
    args.insert(0, Arg::Buffer(out));
    machine.run("query", 1, args);
    let told: Vec<u64> = machine.memory.bytes(out).chunks(8).map(|bytes| bits(bytes).1).collect();
    assert_eq!(told, [7, 5, 3, 5, 3, 5, 3, 3, 40, 1, 1, 1, 1, 0], "{place}");
}

/// The kernels' bitcode with the library in it; `None` where tools are missing.
fn bitcode(folder: &Path, cpu: &str, level: u8) -> Option<std::path::PathBuf> {
    if !Path::new(toolchain::LIBCLC).exists() {
        eprintln!("skipped: libclc-22 is missing (scripts/setup installs it)");
        return None;
    }
    let library = folder.join("images.bc");
    std::fs::write(&library, gcnc::image_library::bitcode().expect("the library is right"))
        .expect("a writable folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images/images.cl");
    let (library, out) = (library.to_string_lossy().into_owned(), folder.join("kernels.bc"));
    let extra = ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", &library];
    toolchain::clang(&source, &out, cpu, level, &extra).expect("clang compiles the kernels");
    Some(out)
}

fn on(cpu: &str, level: u8, with_llc: bool) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(bitcode) = bitcode(folder.path(), cpu, level) else { return };
    let load = |object: &Path| {
        let bytes = toolchain::link(object).expect("ld.lld links the object");
        Machine { code: CodeObject::load(&bytes).expect("the object loads"), memory: Memory::new() }
    };
    if with_llc {
        let object = folder.path().join("llc.o");
        toolchain::llc(&bitcode, &object, cpu, level).expect("llc compiles the kernels");
        check(&mut load(&object), &format!("llc's code for {cpu}"));
    }
    let options = gcnc::CompileOptions {
        cpu: cpu.to_owned(),
        file_type: gcnc::FileType::Obj,
        verify: true,
        opt_level: level,
        code_object_version: Some(4),
        ..gcnc::CompileOptions::default()
    };
    let input = std::fs::read(&bitcode).expect("clang wrote the bitcode");
    let output = gcnc::compile(&input, "images", &options).expect("gcnc compiles the kernels");
    let object = folder.path().join("gcnc.o");
    std::fs::write(&object, output.bytes).expect("a writable folder");
    check(&mut load(&object), &format!("code for {cpu} at -O{level}"));
}

#[test]
fn images_on_gfx9() {
    on("gfx900", 2, true);
}

/// Rows of linear images have gaps there, and resources of their own.
#[test]
fn images_on_gfx10() {
    on("gfx1030", 2, true);
    on("gfx1010", 0, false);
}

#[test]
fn images_on_gfx8() {
    on("gfx803", 2, true);
}

#[test]
fn images_on_gfx6_and_gfx7() {
    on("gfx600", 2, false);
    on("gfx700", 2, false);
}

#[test]
fn images_without_optimisation() {
    on("gfx900", 0, false);
}
