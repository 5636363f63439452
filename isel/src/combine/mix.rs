//! Products and sums that read and make halves themselves (`v_fma_mix`, and `v_mad_mix` where the product is rounded).
//!
//! `v_fma_mix_f32` takes each source as a number of 32 bits or as either half of a register, and `v_fma_mixlo_f16` rounds its result to half as a conversion would:
//! conversions in front of a fused multiplication and addition, and behind it, are superfluous. The long encoding is no more than a short one and a conversion.
//! A sum is one with the factor 1, a product one with −0, both exactly; not of the family whose product is rounded, which makes denormals 0.
//! A conversion that somebody else reads stays, and then nothing is gained. Nor is anything done where a function changes MODE, which says what becomes of
//! denormal halves: what is read is converted later than before.
//!
//! The upper half of the register that `v_fma_mixlo_f16` writes stays as it was. Since GFX10 that is so for conversions, too; before, they clear it, and that may
//! be counted on.
//!
//! Cost: linear. Source: Vega and RDNA ISA manuals, V_MAD_MIX_F32, V_FMA_MIX_F32, V_FMA_MIXLO_F16.

use super::{is_wall, single_result, vgpr};
use crate::uses::count_uses;
use cranelift_entity::SecondaryMap;
use mir::isa::Opcode::{self, *};
use mir::isa::{OpFlags, ValueType};
use mir::machine::{
    Block, Encoding, Extension, Function, Inst, ModFlags, Modifiers, Operand, RegFile, SdwaSel, VReg,
};
use mir::target::operands::inline_constant;
use mir::target::{Features, Generation, Target};
use rustc_hash::FxHashMap;

/// Users of a half for all of which the encoding may become the long one.
const MOST_USERS: u32 = 8;

/// Instructions of 32 bits and what mixes their formats.
struct Family {
    feature: Features,
    /// Any three sources; and a sum that is written over.
    plain: [Opcode; 2],
    mixed: Opcode,
    narrow: Opcode,
}

const FAMILIES: [Family; 2] = [
    Family {
        feature: Features::FMA_MIX,
        plain: [V_FMA_F32, V_FMAC_F32],
        mixed: V_FMA_MIX_F32,
        narrow: V_FMA_MIXLO_F16,
    },
    Family {
        feature: Features::MAD_MIX,
        plain: [V_MAD_F32, V_MAC_F32],
        mixed: V_MAD_MIX_F32,
        narrow: V_MAD_MIXLO_F16,
    },
];

/// What a conversion to 32 bits reads.
#[derive(Clone, Copy)]
struct Half {
    operand: Operand,
    high: bool,
    neg: bool,
    abs: bool,
}

/// Takes conversions of halves into the instructions that read them, and that they read.
pub(super) fn fuse(f: &mut Function, target: &Target, layout: &[Block]) {
    let Some(family) = FAMILIES.iter().find(|family| target.has(family.feature)) else { return };
    let mut halves: FxHashMap<VReg, Half> = FxHashMap::default();
    let mut narrows = false;
    for &block in layout {
        for inst in &f.blocks[block].insts {
            if inst.op.info().flags.contains(OpFlags::MODE_DEF) {
                return;
            }
            halves.extend(half(f, inst));
            narrows |= narrowed(f, inst).is_some();
        }
    }
    let narrows = narrows && target.generation() >= Generation::Gfx10;
    if halves.is_empty() && !narrows {
        return;
    }
    let uses = count_uses(f, layout);
    keep_those_that_go(f, family, target, layout, &uses, &mut halves);
    for &block in layout {
        let mut insts = std::mem::take(&mut f.blocks[block].insts);
        insts.retain(|inst| single_result(f, inst).is_none_or(|reg| !halves.contains_key(&reg)));
        for inst in &mut insts {
            if let Some(mixed) = mixed(f, family, target, inst, &halves) {
                *inst = mixed;
            }
        }
        if narrows {
            insts = narrow(f, family, target, insts, &uses);
        }
        f.blocks[block].tail_start = insts.len() as u32;
        f.blocks[block].insts = insts;
    }
}

/// What `inst` reads if it makes a number of 32 bits of a half, and nothing else.
fn half(f: &Function, inst: &Inst) -> Option<(VReg, Half)> {
    if inst.op != V_CVT_F32_F16 || inst.mods.omod != 0 || !inst.mods.flags.is_empty() {
        return None;
    }
    let result = single_result(f, inst)?;
    let operand = inst.operands[1];
    vgpr(f, &operand)?;
    let high = match inst.mods.ext {
        Extension::None if inst.encoding == Encoding::Auto => false,
        Extension::Sdwa(sdwa) if sdwa.dst_sel == SdwaSel::Dword => match sdwa.src_sel[0] {
            SdwaSel::Word1 => true,
            SdwaSel::Word0 | SdwaSel::Dword => false,
            _ => return None,
        },
        _ => return None,
    };
    let half = Half { operand, high, neg: inst.mods.neg & 1 != 0, abs: inst.mods.abs & 1 != 0 };
    (inst.operands.len() == 2).then_some((result, half))
}

/// `inst`, which multiplies or adds 32 bits, or both, with three sources, as mixed forms have: a result and these. The operation is still a plain one.
fn with_three(family: &Family, inst: &Inst, target: &Target) -> Option<Inst> {
    let plain = inst.encoding == Encoding::Auto
        && inst.mods.ext == Extension::None
        && inst.mods.omod == 0
        && (inst.mods.flags - ModFlags::CLAMP).is_empty();
    if !plain {
        return None;
    }
    if family.plain.contains(&inst.op) {
        return (inst.operands.len() == 4).then(|| inst.clone());
    }
    let [result, a, b] = inst.operands[..] else { return None };
    let is_inline = |operand: &Operand| {
        operand.as_imm().is_none_or(|c| inline_constant(c, ValueType::F32, target.generation()).is_some())
    };
    if family.feature != Features::FMA_MIX || !is_inline(&a) || !is_inline(&b) {
        return None;
    }
    let one = Operand::Imm(i64::from(1f32.to_bits()));
    let [first, second] = [0, 1].map(|bit| (inst.mods.abs >> bit & 1, inst.mods.neg >> bit & 1));
    let negative = |(abs, neg): (u8, u8)| (abs, neg ^ 1);
    // Sources with their magnitudes and signs.
    let sources = match inst.op {
        V_ADD_F32 => [(a, first), (one, (0, 0)), (b, second)],
        V_SUB_F32 => [(a, first), (one, (0, 0)), (b, negative(second))],
        V_SUBREV_F32 => [(b, second), (one, (0, 0)), (a, negative(first))],
        V_MUL_F32 => [(a, first), (b, second), (Operand::Imm(0), (0, 1))],
        _ => return None,
    };
    let mut new = inst.clone();
    new.op = family.plain[0];
    new.operands = [result].into_iter().chain(sources.map(|source| source.0)).collect();
    new.mods = Modifiers { flags: inst.mods.flags, ..Modifiers::default() };
    for (k, (_, (abs, neg))) in sources.into_iter().enumerate() {
        new.mods.abs |= abs << k;
        new.mods.neg |= neg << k;
    }
    Some(new)
}

/// Leaves those halves whose conversions all readers can do without.
fn keep_those_that_go(
    f: &Function,
    family: &Family,
    target: &Target,
    layout: &[Block],
    uses: &SecondaryMap<VReg, u32>,
    halves: &mut FxHashMap<VReg, Half>,
) {
    let mut readers: FxHashMap<VReg, u32> = FxHashMap::default();
    for &block in layout {
        for inst in f.blocks[block].insts.iter().filter_map(|inst| with_three(family, inst, target)) {
            for (reg, _) in inst.operands[1..].iter().filter_map(|operand| vgpr(f, operand)) {
                if halves.contains_key(&reg) {
                    *readers.entry(reg).or_default() += 1;
                }
            }
        }
    }
    halves.retain(|reg, _| {
        let all = readers.get(reg).copied().unwrap_or(0);
        all > 0 && all <= MOST_USERS && all == uses[*reg]
    });
}

/// The mixed form of `inst`, if it reads halves.
fn mixed(
    f: &Function,
    family: &Family,
    target: &Target,
    inst: &Inst,
    halves: &FxHashMap<VReg, Half>,
) -> Option<Inst> {
    let inst = with_three(family, inst, target)?;
    let mut any = false;
    let mut new = Inst::new(family.mixed, inst.operands.iter().copied());
    new.loc = inst.loc;
    new.mods =
        Modifiers { flags: inst.mods.flags, abs: inst.mods.abs, neg: inst.mods.neg, ..Modifiers::default() };
    for k in 0..3 {
        let Some(half) = vgpr(f, &new.operands[k + 1]).and_then(|(reg, _)| halves.get(&reg)) else {
            continue;
        };
        any = true;
        let bit = 1 << k;
        new.operands[k + 1] = half.operand;
        new.mods.op_sel_hi |= bit;
        new.mods.op_sel |= if half.high { bit } else { 0 };
        // A magnitude has lost the sign that it was made of.
        if inst.mods.abs & bit == 0 {
            new.mods.neg ^= if half.neg { bit } else { 0 };
            new.mods.abs |= if half.abs { bit } else { 0 };
        }
    }
    any.then_some(new)
}

/// What `inst` reads if it makes a half of a number of 32 bits, and nothing else.
fn narrowed(f: &Function, inst: &Inst) -> Option<VReg> {
    let plain = inst.op == V_CVT_F16_F32
        && inst.encoding == Encoding::Auto
        && inst.mods == Modifiers::default()
        && inst.operands.len() == 2;
    let (source, 0) = vgpr(f, inst.operands.get(1).filter(|_| plain)?)? else { return None };
    single_result(f, inst).map(|_| source)
}

/// `insts` in which a result that is only rounded to half is rounded by the instruction that makes it, which moves down to the conversion.
fn narrow(
    f: &mut Function,
    family: &Family,
    target: &Target,
    insts: Vec<Inst>,
    uses: &SecondaryMap<VReg, u32>,
) -> Vec<Inst> {
    // Where the block makes numbers of 32 bits, by what, and how many walls stand in front.
    let mut made: FxHashMap<VReg, (usize, Inst, u32)> = FxHashMap::default();
    let mut walls = 0;
    let mut gone: Vec<usize> = Vec::new();
    let mut fused: FxHashMap<usize, Inst> = FxHashMap::default();
    for (at, inst) in insts.iter().enumerate() {
        walls += u32::from(is_wall(inst));
        if let Some(reg) = single_result(f, inst)
            && uses[reg] == 1
            && !inst.mods.flags.contains(ModFlags::CLAMP)
            && let Some(maker) =
                with_three(family, inst, target).or_else(|| (inst.op == family.mixed).then(|| inst.clone()))
        {
            made.insert(reg, (at, maker, walls));
        } else if let Some(source) = narrowed(f, inst)
            && let Some((from, maker, before)) = made.get(&source)
            && *before == walls
        {
            let (from, mut new) = (*from, maker.clone());
            new.op = family.narrow;
            new.operands[0] = inst.operands[0];
            new.loc = inst.loc;
            gone.push(from);
            fused.insert(at, new);
        }
    }
    if fused.is_empty() {
        return insts;
    }
    gone.sort_unstable();
    let mut gone = gone.into_iter().peekable();
    let mut out = Vec::with_capacity(insts.len());
    for (at, inst) in insts.into_iter().enumerate() {
        if gone.next_if_eq(&at).is_some() {
            continue;
        }
        let Some(mut new) = fused.remove(&at) else {
            out.push(inst);
            continue;
        };
        // Nobody wants the upper half.
        let rest = Operand::vreg(f.new_vreg(RegFile::Vgpr, 1), 1);
        out.push(Inst::new(IMPLICIT_DEF, [rest]));
        new.operands.push(rest);
        out.push(new);
    }
    out
}
