//! Where the calling conventions put arguments and results, and arguments made from a seed.
//!
//! A value travels as parts of one dword: vectors by element (two 16-bit elements to a dword where the
//! processor has 16-bit instructions), anything wider than a dword by dwords. Source: LLVM 22,
//! `SITargetLowering::getRegisterTypeForCallingConv`, `AMDGPUCallingConv.td`.
//!
//! Values are such that code does something: small integers that end loops, moderate floats, pointers that
//! are aligned and apart from each other by lane, resources that describe a buffer. Bits above a narrow value
//! are random unless an attribute says otherwise.

use super::resources;
use mir::abi::shader::{self, PS_INPUTS, PsInputs, ScratchSource};
use mir::half;
use mir::ir::{AddrSpace, Aggregate, CallConv, Float, Function, ParamFlags, Scalar, Type, TypeTable};
use mir::machine::{PReg, RegFile};
use mir::target::{Features, Target};
use sim::load::OPEN_SCRATCH;
use sim::memory::{FINITE, NONZERO, TAME, pattern_byte};
use sim::single::STACK;
use sim::wave::{Lanes, MAX_LANES};

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reg {
    /// VGPR.
    V(u16),
    /// SGPR.
    S(u16),
    /// Offset in bytes from the stack pointer.
    Stack(u32),
}

/// A dword of a value: where it is and which bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where.
    pub reg: Reg,
    /// Bits that belong to the value.
    pub mask: u32,
}

/// What a function starts with.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Scalar registers.
    pub sgprs: Vec<(u16, u32)>,
    /// Vector registers.
    pub vgprs: Vec<(u16, Lanes)>,
    /// Arguments on the stack: offset from the stack pointer.
    pub stack: Vec<(u32, Lanes)>,
    /// The result.
    pub result: Vec<Part>,
}

/// A random number of the seed, a place and a lane.
pub fn random(seed: u64, place: u64, lane: usize) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ (lane as u64) << 17 ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 29).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 32
}

/// The scalars of a type in order; `None` where there are too many.
fn scalars(types: &TypeTable, ty: Type, out: &mut Vec<(Scalar, u32)>) -> Option<()> {
    if out.len() > 600 {
        return None;
    }
    match ty {
        Type::Void => {}
        Type::Scalar(s) => out.push((s, 0)),
        Type::Vector(s, lanes) => out.push((s, lanes)),
        Type::Aggregate(agg) => match &types.aggregates[agg] {
            Aggregate::Struct { fields, .. } => {
                for &(field, _) in fields {
                    scalars(types, field, out)?;
                }
            }
            Aggregate::Array { element, len, .. } => {
                for _ in 0..*len {
                    scalars(types, *element, out)?;
                }
            }
        },
    }
    Some(())
}

/// Masks of the parts of one scalar or vector (`lanes` other than 0).
fn masks(scalar: Scalar, lanes: u32, has16: bool, out: &mut Vec<u32>) {
    let bits = scalar.bits();
    let low = |n: u32| if n >= 32 { u32::MAX } else { (1 << n) - 1 };
    let one = |out: &mut Vec<u32>| (0..bits.div_ceil(32)).for_each(|k| out.push(low(bits - 32 * k)));
    if bits == 16 && !has16 && is_float(scalar) {
        // Such a value travels as a float.
        (0..lanes.max(1)).for_each(|_| out.push(u32::MAX));
    } else if lanes == 0 {
        one(out);
    } else if bits == 16 && has16 {
        (0..lanes / 2).for_each(|_| out.push(u32::MAX));
        (0..lanes % 2).for_each(|_| out.push(0xffff));
    } else {
        (0..lanes).for_each(|_| one(out));
    }
}

fn is_float(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Float(_))
}

/// A V#: 64 KB at an address of the place.
pub fn buffer(seed: u64, place: u64) -> [u32; 4] {
    let base = 0x2000_0000_0000 + (place << 36) + (random(seed, place, 70) & 0xff) * 256;
    // Components x, y, z, w; format 32_FLOAT.
    [base as u32, (base >> 32) as u32, 0x1_0000, 0x0002_7fac]
}

/// The dwords of a scalar for one lane (0 for uniform values).
fn value(scalar: Scalar, seed: u64, place: u64, argument: u64, lane: usize, flags: ParamFlags) -> Vec<u32> {
    let r = random(seed, place, lane);
    let finite = usize::from(seed & FINITE != 0);
    match scalar {
        Scalar::Ptr(space) => match space {
            AddrSpace(2 | 3) => vec![32768 + (argument % 4) as u32 * 8192 + lane as u32 * 128],
            AddrSpace(5) => vec![256 + (argument % 7) as u32 * 512],
            AddrSpace(6) => vec![(r as u32 & 0xff_fff0) | 0x1000_0000],
            AddrSpace(7) => [&buffer(seed, argument)[..], &[(r as u32 & 0xff) * 4]].concat(),
            AddrSpace(8) => buffer(seed, argument).to_vec(),
            AddrSpace(9) => [&buffer(seed, argument)[..], &[r as u32 & 7, (r >> 32) as u32 & 0x3c]].concat(),
            _ => {
                let address =
                    0x2000_0000_0000 + (argument << 36) + ((place & 0xff) << 28) + lane as u64 * 4096;
                vec![address as u32, (address >> 32) as u32]
            }
        },
        Scalar::Float(Float::Double) => {
            let x = match r >> 60 {
                0 => 0.0f64.to_bits(),
                1 => (-1.0f64).to_bits(),
                2 => r.wrapping_mul(0x9e37_79b9_7f4a_7c15) & !((finite as u64) << 62),
                3 => [f64::INFINITY, -0.0, 5e-324, 1e300][r as usize & 3 | finite].to_bits(),
                _ => ((r as i32 >> 12) as f64 / 256.0).to_bits(),
            };
            vec![x as u32, (x >> 32) as u32]
        }
        Scalar::Float(Float::Single) => vec![match r >> 60 {
            0 => 0.0f32.to_bits(),
            1 => (-1.0f32).to_bits(),
            2 => r as u32 & !((finite as u32) << 30),
            3 => [f32::INFINITY, -0.0, 1e-40, 1e30][r as usize & 3 | finite].to_bits(),
            _ => ((r as i32 >> 20) as f32 / 16.0).to_bits(),
        }],
        Scalar::Float(kind) => {
            let high = r as u32 & 0xffff_0000;
            let one = if kind == Float::Half { 0x3c00 } else { 0x3f80 };
            let low = match r >> 61 {
                0 => (r >> 32) as u32 & 0xffff & !((finite as u32) << 14),
                1 => [0, 0x8000, 1, one][r as usize & 3],
                _ => (one as u64 + ((r >> 20 & 0x7ff) << 1) - 0x400) as u32 ^ ((r >> 40) as u32 & 0x8000),
            };
            vec![high | low & 0xffff]
        }
        Scalar::Int(bits) => {
            let small = [0, 1, 2, 3, 5, 7, 8, 16][(r >> 20) as usize & 7];
            let low = match r >> 60 {
                _ if seed & TAME != 0 => small & 1,
                0..=4 => small,
                5 | 6 => 0u64.wrapping_sub(small),
                7 => 1 << (r >> 20 & 63),
                8 => 0x7fff_ffff,
                _ => r ^ r << 32,
            };
            let sign = if low >> 63 != 0 { u32::MAX } else { 0 };
            let mut words: Vec<u32> = (0..bits.div_ceil(32))
                .map(|k| match k {
                    0 => low as u32,
                    1 => (low >> 32) as u32,
                    _ if r >> 59 & 1 != 0 && seed & TAME == 0 => {
                        random(seed, place + u64::from(k) * 977, lane) as u32
                    }
                    _ => sign,
                })
                .collect();
            // Neither a half nor a shifted value is zero.
            words.iter_mut().for_each(|w| *w |= u32::from(seed & NONZERO != 0) * 0x0101_0101);
            // Bits above the value.
            let used = (bits - 1) % 32 + 1;
            if let Some(last) = words.last_mut().filter(|_| used < 32) {
                let mask = (1u32 << used) - 1;
                let above = if flags.contains(ParamFlags::ZEROEXT) {
                    0
                } else if flags.contains(ParamFlags::SIGNEXT) {
                    if *last >> (used - 1) & 1 != 0 { u32::MAX } else { 0 }
                } else {
                    (r >> 13) as u32
                };
                *last = *last & mask | above & !mask;
            }
            words
        }
    }
}

/// The dwords of a scalar or vector for one lane, as its parts.
fn dwords(
    (scalar, lanes): (Scalar, u32),
    has16: bool,
    seed: u64,
    place: u64,
    argument: u64,
    lane: usize,
    flags: ParamFlags,
) -> Vec<u32> {
    let promoted = |mut words: Vec<u32>| {
        match scalar {
            Scalar::Float(Float::Half) if !has16 => {
                words[0] = (half::to_f64(words[0] as u16) as f32).to_bits()
            }
            Scalar::Float(Float::BFloat) if !has16 => words[0] <<= 16,
            _ => {}
        }
        words
    };
    if lanes == 0 {
        return promoted(value(scalar, seed, place, argument, lane, flags));
    }
    if flags.contains(ParamFlags::INREG) && scalar == Scalar::Int(32) && lanes == 4 {
        return buffer(seed, argument).to_vec();
    }
    let element = |k: u32| {
        promoted(value(scalar, seed, place + u64::from(k) * 131, argument, lane, ParamFlags::empty()))
    };
    let elements: Vec<Vec<u32>> = (0..lanes).map(element).collect();
    if scalar.bits() == 16 && has16 {
        return elements
            .chunks(2)
            .map(|pair| pair[0][0] & 0xffff | pair.get(1).map_or(place as u32, |high| high[0]) << 16)
            .collect();
    }
    elements.concat()
}

struct Places {
    next_v: u16,
    next_s: u16,
    limit_v: u16,
    stack: u32,
}

impl Places {
    fn next(&mut self, scalar_register: bool) -> Reg {
        if scalar_register {
            self.next_s += 1;
            Reg::S(self.next_s - 1)
        } else if self.next_v < self.limit_v {
            self.next_v += 1;
            Reg::V(self.next_v - 1)
        } else {
            self.stack += 4;
            Reg::Stack(self.stack - 4)
        }
    }
}

/// Which parameters of a pixel shader have no registers, as nobody reads them, and whether two registers of
/// an input that was added come first.
fn left_out(f: &Function, target: &Target) -> Option<(Vec<bool>, bool)> {
    let mut out = vec![false; f.params.len()];
    if f.call_conv != CallConv::AmdgpuPs {
        return Some((out, false));
    }
    let text = f.attribute("InitialPSInputAddr").unwrap_or("0").trim();
    let addr = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    let mut inputs = PsInputs { addr, ena: 0 };
    let used = resources::used(f);
    let vector = f.params.iter().zip(&mut out).filter(|(p, _)| !p.flags.contains(ParamFlags::INREG));
    for (number, (param, out)) in (0..PS_INPUTS).zip(vector) {
        *out = !inputs.take(number, used.contains(&param.value));
    }
    let added = inputs.complete(target);
    Some((out, added))
}

/// The parts of each parameter and of the result; `None` where the convention is not modelled.
pub fn parts(f: &Function, types: &TypeTable, target: &Target) -> Option<(Vec<Vec<Part>>, Vec<Part>)> {
    let has16 = target.has(Features::INST_16BIT);
    let shader = !matches!(f.call_conv, CallConv::Device | CallConv::AmdgpuGfx);
    if matches!(f.call_conv, CallConv::Kernel | CallConv::Other(_)) || f.variadic {
        return None;
    }
    let (next_s, limit_v) = match f.call_conv {
        CallConv::Device => (16, 31),
        CallConv::AmdgpuGfx => (4, 32),
        _ => (shader::first_argument_sgpr(f.call_conv, target), 136),
    };
    let mut places = Places { next_v: 0, next_s, limit_v, stack: 0 };
    let mut leaves = Vec::new();
    scalars(types, f.ret, &mut leaves)?;
    let mut result = Vec::new();
    let (mut next_v, mut next_s) = (0, 0);
    for &(scalar, lanes) in &leaves {
        let mut parts = Vec::new();
        masks(scalar, lanes, has16, &mut parts);
        for mask in parts {
            let reg = if shader && shader::result_file(scalar) == RegFile::Sgpr {
                next_s += 1;
                Reg::S(next_s - 1)
            } else {
                next_v += 1;
                Reg::V(next_v - 1)
            };
            result.push(Part { reg, mask });
        }
    }
    if next_v > 32 && !shader {
        // The result goes through a pointer in front of the arguments.
        result.clear();
        places.next_v = 1;
    }
    let (left_out, added) = left_out(f, target)?;
    places.next_v += if added { 2 } else { 0 };
    let mut params = Vec::new();
    for (param, left_out) in f.params.iter().zip(left_out) {
        let mut own = Vec::new();
        if left_out {
            params.push(own);
            continue;
        }
        if let Some(indirect) = param.indirect.filter(|i| i.by_value) {
            let align = (1u32 << param.align_log2).max(4);
            places.stack = places.stack.next_multiple_of(align);
            for _ in 0..types.store_bytes(indirect.ty).div_ceil(4).min(256) {
                own.push(Part { reg: Reg::Stack(places.stack), mask: u32::MAX });
                places.stack += 4;
            }
            params.push(own);
            continue;
        }
        let mut leaves = Vec::new();
        scalars(types, f.values[param.value].ty, &mut leaves)?;
        for &(scalar, lanes) in &leaves {
            let mut parts = Vec::new();
            masks(scalar, lanes, has16, &mut parts);
            for mask in parts {
                let reg = places.next(param.flags.contains(ParamFlags::INREG));
                own.push(Part { reg, mask });
            }
        }
        params.push(own);
    }
    (places.next_s <= 104 && places.stack < 2048).then_some((params, result))
}

/// Arguments for `f` from a seed.
pub fn inputs(f: &Function, types: &TypeTable, target: &Target, seed: u64) -> Option<Inputs> {
    let has16 = target.has(Features::INST_16BIT);
    let (params, result) = parts(f, types, target)?;
    let mut inputs = Inputs { result, ..Inputs::default() };
    let shader = !matches!(f.call_conv, CallConv::Device | CallConv::AmdgpuGfx);
    // What a driver puts behind the arguments.
    if shader {
        let scalar = params.iter().flatten().filter(|p| matches!(p.reg, Reg::S(_))).count() as u16;
        let end = shader::first_argument_sgpr(f.call_conv, target) + scalar;
        let offset = shader::fixed_wave_offset(f.call_conv, target).and_then(PReg::sgpr_index).unwrap_or(end);
        inputs.sgprs.push((offset, 0));
    } else if params.first().and_then(|p| p.first()).is_some_and(|p| p.reg == Reg::V(1))
        || inputs.result.is_empty()
    {
        inputs.vgprs.push((0, [3840; MAX_LANES]));
    }
    for (argument, (param, parts)) in f.params.iter().zip(&params).enumerate() {
        let place = argument as u64 * 7919 + 1;
        if param.indirect.is_some_and(|i| i.by_value) {
            for (k, part) in parts.iter().enumerate() {
                let word = |l: usize| {
                    value(Scalar::Int(32), seed, place + k as u64 * 17, 0, l, ParamFlags::empty())[0]
                };
                if let Reg::Stack(at) = part.reg {
                    inputs.stack.push((at, std::array::from_fn(word)));
                }
            }
            continue;
        }
        let mut leaves = Vec::new();
        scalars(types, f.values[param.value].ty, &mut leaves)?;
        let lane_words = |lane: usize| -> Vec<u32> {
            let leaf = |(k, &leaf): (usize, &(Scalar, u32))| {
                dwords(leaf, has16, seed, place + k as u64 * 31, argument as u64, lane, param.flags)
            };
            leaves.iter().enumerate().flat_map(leaf).collect()
        };
        let mut words: Vec<Vec<u32>> = (0..MAX_LANES).map(lane_words).collect();
        if let Some(ty) = resources::image_type(f, Some(param.value)) {
            // Its type is in the highest bits of the fourth dword.
            let typed = |word: &mut u32| *word = *word & 0x0fff_ffff | u32::from(ty) << 28;
            words.iter_mut().filter_map(|w| w.get_mut(3)).for_each(typed);
        }
        for (k, part) in parts.iter().enumerate() {
            let lanes: Lanes = std::array::from_fn(|l| words[l].get(k).copied().unwrap_or(0));
            match part.reg {
                Reg::S(n) => inputs.sgprs.push((n, lanes[0])),
                Reg::V(n) => inputs.vgprs.push((n, lanes)),
                Reg::Stack(at) => inputs.stack.push((at, lanes)),
            }
        }
    }
    if let Some((low, _)) = driver_table(f, target).filter(|_| shader) {
        let registers: &[(u16, u32)] = match shader::scratch_source(f.call_conv, target) {
            ScratchSource::GlobalTable { low: register, .. } => &[(register.sgpr_index().unwrap_or(0), low)],
            ScratchSource::BufferPointer { indirect: true } => &[(0, low), (1, 0)],
            _ => &[(0, OPEN_SCRATCH as u32), (1, (OPEN_SCRATCH >> 32) as u32 | SWIZZLED)],
        };
        // One of them may be an argument.
        inputs.sgprs.retain(|(n, _)| registers.iter().all(|(given, _)| given != n));
        inputs.sgprs.extend(registers);
    }
    Some(inputs)
}

/// Bit 31 of the second dword of a buffer resource, which scratch has.
const SWIZZLED: u32 = 1 << 31;
/// The same distance for all waves, as drivers write it: bit 21 of dword 3 tells 64 lanes from 32.
const FOR_64_LANES: u32 = 1 << 21;

/// The table in which a driver tells the shader `f` where scratch is, with the lower half of its address; on systems that have one.
pub fn driver_table(f: &Function, target: &Target) -> Option<(u32, Vec<u8>)> {
    // Behind any image.
    const LOW: u32 = 0x6a00_0000;
    let base = [OPEN_SCRATCH as u32, (OPEN_SCRATCH >> 32) as u32 | SWIZZLED];
    let tail = shader::resource_tail(target);
    let resource = [base[0], base[1], tail[0], tail[1] | FOR_64_LANES];
    let words: Vec<u32> = match shader::scratch_source(f.call_conv, target) {
        // One entry for graphics, one for compute.
        ScratchSource::GlobalTable { .. } => [resource, resource].concat(),
        ScratchSource::BufferPointer { .. } => base.to_vec(),
        _ => return None,
    };
    Some((LOW, words.iter().flat_map(|word| word.to_le_bytes()).collect()))
}

/// The dword of scratch at (lane, offset): memory that private pointers lead to, and arguments on the stack.
pub fn scratch(inputs: &Inputs, seed: u64, lane: usize, offset: u32) -> Option<u32> {
    if offset < STACK {
        let at = 0x5000_0000 + u64::from(offset) + ((lane as u64) << 16);
        return Some(u32::from_le_bytes(std::array::from_fn(|k| pattern_byte(seed, at + k as u64))));
    }
    let found = inputs.stack.iter().find(|(at, _)| STACK + at == offset);
    found.map(|(_, lanes)| lanes[lane])
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::ir::Module;

    fn function(text: &str) -> (Module, mir::ir::Func) {
        let reading = frontend::read(text.as_bytes(), "t.ll").unwrap();
        let func = reading.module.functions.keys().next().unwrap();
        (reading.module, func)
    }

    fn target(name: &str) -> Target {
        Target::new(Target::processor_by_name(name).unwrap())
    }

    #[test]
    fn unread_inputs_of_a_pixel_shader_have_no_registers() {
        let (m, f) = function(
            "target triple = \"amdgcn\"\n\
             define amdgpu_ps float @f(i32 inreg %s, float %a, float %b, ptr addrspace(3) %c) {\n\
             %x = load float, ptr addrspace(3) %c\n%y = fadd float %x, %b\nret float %y }",
        );
        let (params, _) = parts(&m.functions[f], &m.types, &target("gfx900")).unwrap();
        let regs: Vec<Vec<Reg>> = params.iter().map(|p| p.iter().map(|p| p.reg).collect()).collect();
        assert_eq!(regs, [vec![Reg::S(0)], vec![], vec![Reg::V(0)], vec![Reg::V(1)]]);
        let inputs = inputs(&m.functions[f], &m.types, &target("gfx900"), 1).unwrap();
        let pointers = inputs.vgprs.iter().rev().find(|v| v.0 == 1).unwrap().1;
        assert!(pointers.iter().all(|p| (32768..65536).contains(p)));
    }

    #[test]
    fn parts_follow_the_convention() {
        let (m, f) = function(
            "target triple = \"amdgcn-amd-amdhsa\"\n\
             define <3 x half> @f(i64 %a, <3 x i16> %b, [28 x i32] %c, i8 zeroext %d, ptr addrspace(5) %e) { ret <3 x half> zeroinitializer }",
        );
        let (params, result) = parts(&m.functions[f], &m.types, &target("gfx900")).unwrap();
        let masks: Vec<u32> = result.iter().map(|p| p.mask).collect();
        assert_eq!(masks, [u32::MAX, 0xffff]);
        assert_eq!(params[1], [Part { reg: Reg::V(2), mask: !0 }, Part { reg: Reg::V(3), mask: 0xffff }]);
        assert_eq!(params[2][26].reg, Reg::V(30));
        assert_eq!(params[2][27].reg, Reg::Stack(0));
        assert_eq!(params[3], [Part { reg: Reg::Stack(4), mask: 0xff }]);
        let (params, _) = parts(&m.functions[f], &m.types, &target("gfx700")).unwrap();
        assert_eq!(params[1].len(), 3);
        let inputs = inputs(&m.functions[f], &m.types, &target("gfx900"), 1).unwrap();
        let byte = inputs.stack.iter().find(|s| s.0 == 4).unwrap().1;
        assert!(byte.iter().all(|b| *b < 256));
    }
}
