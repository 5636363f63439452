//! What is the same in all lanes moves from VGPRs to SGPRs where that makes room for more waves.
//!
//! Uniform numbers that only the vector unit makes (what is loaded from memory that somebody writes, and what follows from it) stay in VGPRs. One that
//! loops or branches use much later takes a VGPR all the way, without which one more wave would fit or nothing would be spilled, while SGPRs are left:
//!
//! ```text
//! v = ...                              v = ...
//!                                      s = v_readfirstlane v
//! loop: x = v_add v, y            →    loop: x = v_add s, y
//!       global_store p, v                    t = v_mov s
//!                                            global_store p, t
//! ```
//!
//! Instructions that take no scalar operand, or have one already, get a move. It is done where more waves fit by what is alive at a time, and is worth what the
//! moves cost ([`PRICE`]): for not many more numbers than that takes, those first that take the fewest moves.
//!
//! It is exact where the lanes that use the number are among those that were active where it was made, in the same iteration: selection says which registers
//! hold the same number there ([`VRegFlags::UNIFORM`]), and uses are in no loop less. The definition must dominate its uses for the wave, too.
//!
//! Cost: linear in instructions, and in the blocks that registers live through, which are counted at most [`MAX_TRIES`] times.

use crate::before::most_alive;
use crate::budget::{self, FEW_HOLES, Options};
use crate::code::Code;
use crate::live::{Dwords, LiveOut};
use cranelift_entity::{EntityRef, SecondaryMap};
use mir::analysis::{Csr, Dominators, Graph, Loops, Order};
use mir::isa::{Format, Implicit, OpFlags, Opcode, OperandAccess, OperandKind, Role, Unit};
use mir::machine::{Block, Encoding, Function, Inst, Operand, Reg, RegFile, VReg, VRegFlags};
use mir::target::Target;
use mir::target::operands::inline_constant;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The share of instructions, by what loops execute, that is added is at most the share of waves that is won, divided by this.
pub(crate) const PRICE: u64 = 16;

/// The part of the waves beyond which no more are wanted: four kernels of ggml were slower by 3 % with nine waves of ten, not eight.
pub(crate) const ENOUGH: (u32, u32) = (4, 5);

/// How often registers are counted with more numbers in SGPRs.
const MAX_TRIES: u32 = 12;

/// The part of the registers that must be alive between blocks.
const HOT: (u32, u32) = (3, 4);

/// SGPRs that packing leaves for tuples and a single dword takes all the same.
const SINGLE_HOLES: u32 = 6;

/// An operand that uses a register: the instruction's place in its block, and the operand's in it.
#[derive(Clone, Copy)]
struct Use {
    block: Block,
    at: u32,
    operand: u8,
}

/// A register whose number may move.
struct Candidate {
    reg: VReg,
    block: Block,
    /// Where it is defined in its block.
    at: u32,
    uses: SmallVec<[Use; 4]>,
    /// Instructions that moving it adds, by what loops execute.
    cost: u64,
    /// Uses, by what loops execute.
    reads: u64,
}

/// Moves uniform numbers of `f`, modelled code with virtual registers, to SGPRs if more waves fit then.
pub fn move_uniform_values(f: &mut Function, target: &Target, options: &Options) {
    // How many waves fit is up to those who call.
    if !f.vregs.values().any(|data| data.flags.contains(VRegFlags::UNIFORM)) || f.call_conv.is_callable() {
        return;
    }
    let code = Code::read(f, target);
    let live = LiveOut::compute(f, &code);
    let most = most_alive(f, &code, &live, |_, _| ());
    let now = budget::waves(f, target, options, most);
    let limit = target.limits().max_waves_per_simd * ENOUGH.0 / ENOUGH.1;
    // Registers for each number of waves.
    let rooms: SmallVec<[Dwords; 24]> = (0..=target.limits().max_waves_per_simd)
        .map(|waves| budget::for_waves(f, target, options, waves, FEW_HOLES))
        .collect();
    // Without room for the waves that must fit, some are spilled.
    let first = now + u32::from(most.vgprs <= rooms[now as usize].vgprs);
    let Some(hot) = rooms.get(first as usize).map(|room| room.vgprs).filter(|&hot| hot < most.vgprs) else {
        return;
    };
    // Of what is alive inside of a block alone, its order may do with less.
    let is_hot = |block: Block| live.dwords(block).vgprs > hot / HOT.1 * HOT.0;
    if !f.layout.iter().any(|&block| is_hot(block)) {
        return;
    }
    let mut candidates = candidates(f, target, is_hot);
    candidates.sort_by_key(|candidate| (candidate.cost, candidate.reg.index()));
    let weight = |&block: &Block| depth_weight(f, block) * f.blocks[block].insts.len() as u64;
    let executed = f.layout.iter().map(weight).sum::<u64>();
    // What finds no SGPR is kept in a lane, from which each user reads it again.
    let over = |alive: Dwords, room: u32| alive.sgprs.saturating_sub(room + SINGLE_HOLES);
    let (mut chosen, mut count, mut alive, mut tries) = (None, 0, most, 0);
    'waves: for waves in first..=limit.max(now) {
        let room = rooms[waves as usize];
        if budget::waves(f, target, options, room) < waves {
            break;
        }
        loop {
            let lanes = over(alive, room.sgprs).div_ceil(target.wave_size());
            let missing = (alive.vgprs + lanes).saturating_sub(room.vgprs) as usize;
            if missing == 0 {
                break;
            }
            if count + missing > candidates.len() || tries == MAX_TRIES {
                break 'waves;
            }
            mir::interrupt::checkpoint();
            (count, tries) = (count + missing, tries + 1);
            alive = alive_with(f, &code, &candidates[..count]);
        }
        let spilled = over(alive, room.sgprs.max(most.sgprs.saturating_sub(SINGLE_HOLES))) as usize;
        let mut reads: Vec<u64> = candidates[..count].iter().map(|candidate| candidate.reads).collect();
        reads.sort_unstable();
        let moves: u64 = candidates[..count].iter().map(|candidate| candidate.cost).sum();
        let added = moves + reads[..spilled.min(count)].iter().sum::<u64>();
        if spilled > count || added * PRICE * u64::from(waves) > executed * u64::from((waves - now).max(1)) {
            break;
        }
        chosen = Some(count);
    }
    let Some(enough) = chosen else { return };
    apply(f, target, &candidates[..enough]);
}

/// How often a block is executed, by its depth in loops.
pub(crate) fn depth_weight(f: &Function, block: Block) -> u64 {
    1 << (3 * f.blocks[block].loop_depth.min(8))
}

/// What is alive at a time if the numbers of `candidates` are in SGPRs.
fn alive_with(f: &mut Function, code: &Code, candidates: &[Candidate]) -> Dwords {
    candidates.iter().for_each(|candidate| f.vregs[candidate.reg].file = RegFile::Sgpr);
    let live = LiveOut::compute(f, code);
    let most = most_alive(f, code, &live, |_, _| ());
    candidates.iter().for_each(|candidate| f.vregs[candidate.reg].file = RegFile::Vgpr);
    most
}

/// The registers whose numbers may move and that are alive in a block that is `hot`.
fn candidates(f: &Function, target: &Target, hot: impl Fn(Block) -> bool) -> Vec<Candidate> {
    let mut found: FxHashMap<VReg, Candidate> = FxHashMap::default();
    let mut barred: SecondaryMap<VReg, bool> = SecondaryMap::new();
    barred.resize(f.vregs.len());
    let may = |reg: VReg| {
        let data = f.vregs[reg];
        let flags = data.flags & (VRegFlags::UNIFORM | VRegFlags::WHOLE_WAVE | VRegFlags::PINNED);
        data.file == RegFile::Vgpr && data.dwords == 1 && flags == VRegFlags::UNIFORM
    };
    for &block in &f.layout {
        let data = &f.blocks[block];
        data.vparams.iter().for_each(|&param| barred[param] = true);
        let edges = data.thread_succs.iter().chain(&data.wave_succs);
        edges.flat_map(|edge| &edge.args).for_each(|&arg| barred[arg] = true);
        for (at, inst) in data.insts.iter().enumerate() {
            for (k, operand) in inst.operands.iter().enumerate() {
                let Some(Reg::Virtual(reg)) = operand.as_reg().map(|operand| operand.reg) else { continue };
                if !may(reg) {
                    continue;
                }
                let inside = (data.head_len as usize..data.tail_start as usize).contains(&at);
                match inst.operand_access(k) {
                    OperandAccess::Def if inside && !found.contains_key(&reg) => {
                        let cost = depth_weight(f, block);
                        found.insert(
                            reg,
                            Candidate { reg, block, at: at as u32, uses: SmallVec::new(), cost, reads: 0 },
                        );
                    }
                    OperandAccess::Use if inside && takes_number(inst) => {}
                    _ => barred[reg] = true,
                }
            }
        }
    }
    // Uses come before definitions where the layout says so.
    for &block in &f.layout {
        for (at, inst) in f.blocks[block].insts.iter().enumerate() {
            for (k, operand) in inst.operands.iter().enumerate() {
                let Some(Reg::Virtual(reg)) = operand.as_reg().map(|operand| operand.reg) else { continue };
                if let (OperandAccess::Use, Some(candidate)) = (inst.operand_access(k), found.get_mut(&reg)) {
                    let folds = inst.op.is_copy() && inst.op != Opcode::REG_SEQUENCE
                        || inst.op == Opcode::V_READFIRSTLANE_B32
                        || takes_scalar(f, inst, k, None, target);
                    candidate.cost += if folds { 0 } else { depth_weight(f, block) };
                    candidate.reads += depth_weight(f, block);
                    candidate.uses.push(Use { block, at: at as u32, operand: k as u8 });
                }
            }
        }
    }
    let wave = Csr::wave(f);
    let order = Order::reverse_post_order(&wave);
    let dominators = Dominators::new(&wave, &order);
    let loops = Loops::new(&wave, &order, &dominators);
    let mut seen: SecondaryMap<Block, u32> = SecondaryMap::with_default(u32::MAX);
    let mut work = Vec::new();
    let mut fits = |candidate: &Candidate| {
        let home = candidate.block.as_u32();
        let inside = |user: u32| loops.innermost(home).is_none_or(|around| loops.contains(around, user));
        let mut elsewhere =
            candidate.uses.iter().map(|user| user.block.as_u32()).filter(|&user| user != home).peekable();
        if elsewhere.peek().is_none()
            || !elsewhere.all(|user| dominators.dominates(home, user) && inside(user))
        {
            return false;
        }
        mir::interrupt::checkpoint();
        let mark = candidate.reg.index() as u32;
        seen[candidate.block] = mark;
        work.clear();
        work.extend(candidate.uses.iter().map(|user| user.block));
        let mut any = hot(candidate.block);
        while let Some(block) = work.pop() {
            if std::mem::replace(&mut seen[block], mark) != mark {
                any |= hot(block);
                work.extend(wave.preds(block.as_u32()).iter().map(|&pred| Block::from_u32(pred)));
            }
        }
        any
    };
    found.into_values().filter(|candidate| !barred[candidate.reg] && fits(candidate)).collect()
}

/// Whether `inst` wants of a VGPR no more than what active lanes have in it.
pub(crate) fn takes_number(inst: &Inst) -> bool {
    let info = inst.op.info();
    let lanes = matches!(inst.encoding, Encoding::Dpp | Encoding::Dpp8)
        || inst.mods.dpp().is_some()
        || inst.mods.dpp8().is_some();
    match inst.facts().unit {
        _ if inst.op == Opcode::V_READFIRSTLANE_B32 || inst.op.is_copy() => true,
        Unit::Pseudo | Unit::Salu | Unit::Interp => false,
        _ => {
            !lanes
                && !info.flags.intersects(OpFlags::IGNORES_EXEC | OpFlags::PERMLANE | OpFlags::SIDE_EFFECTS)
        }
    }
}

/// Whether operand `k` of `inst` may be in an SGPR: in `sgpr`, or in another one than those that are there.
fn takes_scalar(f: &Function, inst: &Inst, k: usize, sgpr: Option<VReg>, target: &Target) -> bool {
    let info = inst.op.info();
    let plain =
        matches!(info.format, Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3p)
            && inst.encoding == Encoding::Auto
            && inst.mods.sdwa().is_none();
    let long = info.vop3_code(target.generation()).is_some();
    if !plain || info.operand_kind(k, long) != Some(OperandKind::VectorSrc) {
        return false;
    }
    let mut others: SmallVec<[Operand; 4]> = SmallVec::new();
    for (desc, operand) in info.operands.iter().zip(&inst.operands).filter(|(desc, _)| desc.role != Role::Def)
    {
        let scalar = match operand {
            Operand::Imm(_) if desc.kind == OperandKind::Literal => return false,
            Operand::Imm(value) if desc.kind == OperandKind::VectorSrc => {
                if inline_constant(*value, desc.ty, target.generation()).is_none() {
                    return false;
                }
                false
            }
            Operand::Reg(reg) => match reg.reg {
                Reg::Virtual(reg) => f.vregs[reg].file == RegFile::Sgpr && Some(reg) != sgpr,
                Reg::Physical(reg) => !reg.is_vgpr(),
            },
            Operand::Imm(_) => false,
            _ => return false,
        };
        if scalar && !others.contains(operand) {
            others.push(*operand);
        }
    }
    let implied = usize::from(inst.facts().implicit.contains(Implicit::VCC_USE));
    let limit = match info.flags.contains(OpFlags::F64_RATE | OpFlags::REVERSED) {
        true => 1,
        false => target.limits().constant_bus,
    };
    others.len() + implied < limit
}

/// Moves the numbers of `candidates`.
fn apply(f: &mut Function, target: &Target, candidates: &[Candidate]) {
    let mut defs: SecondaryMap<Block, Vec<(u32, VReg, VReg)>> = SecondaryMap::new();
    let mut uses: SecondaryMap<Block, Vec<(u32, u8, VReg)>> = SecondaryMap::new();
    for candidate in candidates {
        let sgpr = f.new_vreg(RegFile::Sgpr, 1);
        defs[candidate.block].push((candidate.at, candidate.reg, sgpr));
        candidate.uses.iter().for_each(|user| uses[user.block].push((user.at, user.operand, sgpr)));
    }
    for block in f.layout.clone() {
        let (mut defs, mut uses) = (std::mem::take(&mut defs[block]), std::mem::take(&mut uses[block]));
        if defs.is_empty() && uses.is_empty() {
            continue;
        }
        defs.sort_by_key(|def| def.0);
        uses.sort_by_key(|user| (user.0, user.1));
        let (mut defs, mut uses) = (defs.into_iter().peekable(), uses.into_iter().peekable());
        let insts = std::mem::take(&mut f.blocks[block].insts);
        let before = insts.len();
        let mut out = Vec::with_capacity(before + before / 8);
        for (at, mut inst) in insts.into_iter().enumerate() {
            let mut moved: SmallVec<[(VReg, Operand); 2]> = SmallVec::new();
            while let Some((_, operand, sgpr)) = uses.next_if(|user| user.0 as usize == at) {
                let k = usize::from(operand);
                if inst.op == Opcode::V_READFIRSTLANE_B32 {
                    inst.op = Opcode::COPY;
                } else if inst.op != Opcode::COPY && !takes_scalar(f, &inst, k, Some(sgpr), target) {
                    // What an instruction reads twice stays one register: `v_div_scale` must read the same twice.
                    inst.operands[k] = match moved.iter().find(|(of, _)| *of == sgpr) {
                        Some(&(_, lanes)) => lanes,
                        None => {
                            let lanes = Operand::vreg(f.new_vreg(RegFile::Vgpr, 1), 1);
                            let mut copy = Inst::new(Opcode::V_MOV_B32, [lanes, Operand::vreg(sgpr, 1)]);
                            copy.loc = inst.loc;
                            out.push(copy);
                            moved.push((sgpr, lanes));
                            lanes
                        }
                    };
                    continue;
                }
                inst.operands[k] = Operand::vreg(sgpr, 1);
            }
            let loc = inst.loc;
            out.push(inst);
            while let Some((_, reg, sgpr)) = defs.next_if(|def| def.0 as usize == at) {
                let mut first =
                    Inst::new(Opcode::V_READFIRSTLANE_B32, [Operand::vreg(sgpr, 1), Operand::vreg(reg, 1)]);
                first.loc = loc;
                out.push(first);
            }
        }
        let data = &mut f.blocks[block];
        data.tail_start += (out.len() - before) as u32;
        data.insts = out;
    }
}
