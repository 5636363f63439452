//! Moves of one constant, or of one SGPR, to VGPRs of a block become one where registers are left; so do tuples of the same part many times, which take a
//! move for each time but one.
//!
//! Selection shares them among users that are near, since it does not know what registers cost. Behind scheduling that is known: of two equal moves the second
//! one goes where the first one's register can be kept until then without more VGPRs than are taken at another place anyway.
//!
//! A register that is written over by who reads it, passed on, or made a part of a tuple would only be copied, and stays.
//!
//! Cost: linear in instructions, and in those between two equal moves, of which there are at most [`REACH`].

use crate::before::most_alive;
use crate::budget::{self, Options};
use crate::code::Code;
use crate::invariants::repeats_a_part;
use crate::live::LiveOut;
use crate::pressure::Profile;
use crate::registers::{Home, Known, alive_in, registers, rename_uses};
use cranelift_entity::{EntityRef, SecondaryMap};
use mir::isa::Opcode;
use mir::machine::{Block, Function, Inst, Modifiers, Operand, Reg, RegFile, VReg};
use mir::target::Target;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Most instructions between the last use of one move's register and the next equal move.
const REACH: usize = 512;

/// Shares moves of `f`, modelled code with virtual registers whose order is settled.
pub fn share_moves(f: &mut Function, target: &Target, options: &Options) {
    let mut seen = FxHashSet::default();
    let mut repeats = |block: &Block| {
        seen.clear();
        f.blocks[*block]
            .insts
            .iter()
            .filter_map(key)
            .any(|(source, _)| !seen.insert(SmallVec::<[Operand; 4]>::from(source)))
    };
    let places: Vec<usize> = (0..f.layout.len()).filter(|&place| repeats(&f.layout[place])).collect();
    if places.is_empty() {
        return;
    }
    let code = Code::read(f, target);
    let live = LiveOut::compute(f, &code);
    let most = most_alive(f, &code, &live, |_, _| ());
    if budget::of(f, target, options, most).is_none() {
        return;
    }
    let mut regs = registers(f);
    let mut profile = Profile::new(f);
    let mut renamed: SecondaryMap<VReg, Option<VReg>> = SecondaryMap::new();
    for place in places {
        let block = f.layout[place];
        let mut alive = alive_in(f, &code, &live, &mut profile, block, place);
        let repeated = find(f, block, &mut regs, &mut alive, most.vgprs, &mut renamed);
        if repeated.is_empty() {
            continue;
        }
        let data = &mut f.blocks[block];
        let mut at = 0;
        let mut repeated = repeated.into_iter().peekable();
        data.insts.retain_mut(|inst| {
            let goes = repeated.next_if_eq(&at).is_some();
            at += 1;
            rename_uses(inst, &renamed);
            data.tail_start -= u32::from(goes);
            !goes
        });
    }
}

/// What `inst` moves where, if it is a move, or makes a tuple by moves, that does the same wherever it stands in a block. A tuple has more parts than a move.
fn key(inst: &Inst) -> Option<(&[Operand], VReg)> {
    let is_move = inst.op == Opcode::V_MOV_B32 && inst.mods == Modifiers::default();
    if !is_move && !repeats_a_part(inst) {
        return None;
    }
    let (result, sources) = inst.operands.split_first()?;
    let Reg::Virtual(reg) = result.as_reg()?.reg else { return None };
    let lasts = |source: &Operand| match source {
        Operand::Imm(_) => true,
        Operand::Reg(source) => matches!(source.reg, Reg::Virtual(_)),
        _ => false,
    };
    (is_move == (sources.len() == 1) && sources.iter().all(lasts)).then_some((sources, reg))
}

/// The places of moves of `block` that can go, ascending, with what stands for their results in `renamed`. Of VGPRs `limit` may be alive at a time.
fn find(
    f: &Function,
    block: Block,
    regs: &mut SecondaryMap<VReg, Known>,
    alive: &mut [u32],
    limit: u32,
    renamed: &mut SecondaryMap<VReg, Option<VReg>>,
) -> Vec<usize> {
    let home = Home::Block(block.index() as u32);
    let mut known: FxHashMap<SmallVec<[Operand; 4]>, VReg> = FxHashMap::default();
    let mut repeated = Vec::new();
    let data = &f.blocks[block];
    for (at, inst) in
        data.insts.iter().enumerate().take(data.tail_start as usize).skip(data.head_len as usize)
    {
        mir::interrupt::checkpoint();
        let Some((sources, result)) = key(inst) else { continue };
        let (own, dwords) = (regs[result], u32::from(f.vregs[result].dwords));
        // What is written at several places moves something else each time.
        let varies = |source: &Operand| match source.as_reg().map(|moved| moved.reg) {
            Some(Reg::Virtual(moved)) => regs[moved].home == Home::Nowhere,
            _ => false,
        };
        if own.fixed
            || own.copied
            || own.home != home
            || (sources.len() == 1) != (dwords == 1)
            || f.vregs[result].file != RegFile::Vgpr
            || f.vregs[result].wave_level()
            || sources.iter().any(varies)
        {
            continue;
        }
        let sources: SmallVec<[Operand; 4]> = sources.into();
        let kept = known.insert(sources.clone(), result);
        // Where it is wanted behind the block, nobody knows how many are alive there.
        let (Some(first), Some(last)) = (kept, own.last) else { continue };
        // One that is used later, or lives behind the block, is there as it is.
        let gap = regs[first].last.map_or(0..0, |used| (used as usize).min(at) + 1..at + 1);
        if gap.len() > REACH || alive[gap.clone()].iter().any(|&alive| alive + dwords > limit) {
            continue;
        }
        alive[gap].iter_mut().for_each(|alive| *alive += dwords);
        let of_first = &mut regs[first];
        of_first.uses += own.uses;
        of_first.last = of_first.last.map(|used| used.max(last));
        renamed[result] = Some(first);
        known.insert(sources, first);
        repeated.push(at);
    }
    repeated
}
