//! Code that runs with other lanes than those of its block: whole-wave mode, whole quads, and exact lanes of pixel shaders.
//!
//! # Problem
//!
//! A value for `strict.wwm` must be computed in all lanes of the wave, in the lanes of started quads for `strict.wqm`, whatever lanes the
//! program is in. In a pixel shader that takes derivatives the program itself runs with *helper* lanes, which fill up quads, and memory must not be
//! written from them.
//!
//! # Idea
//!
//! The instructions concerned are marked ([`ModFlags::OTHER_LANES`]) and bracketed in *regions*: `LANES_BEGIN saved, mask` keeps the block's EXEC in
//! `saved`, `LANES_END saved, mask` ends the region. Emission writes EXEC where marked and other instructions meet, so moves and reloads that
//! allocation puts inside a region run with the lanes of their block.
//!
//! * **strict.wwm, strict.wqm**: the marks spread from the result against the data flow, up to `set.inactive` (which is a `v_cndmask` by the
//!   saved EXEC), memory writes and results of other strict operations. Registers written there are `WHOLE_WAVE`, so
//!   no other value shares them in lanes that are elsewhere.
//! * **Pixel shaders**: where neighbours' values are needed (derivatives, `wqm`), the shader starts with `s_wqm_b64 exec, exec`; the lanes from before, less
//!   those that `wqm.demote` took, are the *live* ones, a variable in SSA form on the wave graph. Stores, atomics and exports are regions with mask
//!   EXEC ∧ live, computed at the start of a block and after each demotion.
//! * **kill**: the lanes have branched to the end, so no join restores them. If nobody is left, a pixel shader exports to the null target (and ends, where it has a result); a
//!   shader with a result ends with EXEC less the lanes that are gone.
//! * **Geometry shaders** must say that they are done whatever lanes are left, so there selection gets `kill` as a demotion: the lanes go on, and stores, atomics, exports and
//!   messages are regions of EXEC ∧ live.
//!
//! Behind each demotion of a pixel shader a block ends, so that a wave without live lanes can end there.
//!
//! Cost: linear.

use super::scalars::{self, Val, Wave};
use super::whole_params::WholeParams;
use cranelift_entity::SecondaryMap;
use mir::ir::CallConv;
use mir::isa::{ImageParts, MaskOp, OpFlags, Opcode, Unit};
use mir::machine::{
    Block, BlockData, Condition, Edge, Function, Inst, ModFlags, Operand, PReg, Reg, RegFile, Terminator,
    VReg, VRegData, VRegFlags,
};
use mir::target::WaveSize;
use mir::{Diagnostic, Result};

/// Last operand of `LANES_RESULT`.
pub(crate) const WHOLE_WAVE: i64 = 0;
/// The same for strict whole quads.
pub(crate) const WHOLE_QUADS: i64 = 1;
/// Whole quads in pixel shaders: the whole shader runs so.
pub(crate) const QUADS: i64 = 2;

/// A mask that stays in its register until it is used last.
fn pinned(size: WaveSize) -> VRegData {
    let mask = VRegData::mask(size);
    VRegData { flags: mask.flags | VRegFlags::PINNED, ..mask }
}

/// The instruction that does `op` to masks.
fn mask_inst<const N: usize>(size: WaveSize, op: MaskOp, operands: [Operand; N]) -> Inst {
    Inst::new(op.opcode(size), operands)
}

/// Whether `inst` works lane by lane.
fn is_vector(inst: &Inst, f: &Function) -> bool {
    inst.facts().unit.is_vector()
        || inst.facts().unit == Unit::Pseudo
            && inst.regs().any(|(is_def, reg)| {
                is_def && matches!(reg.reg, Reg::Virtual(v) if f.vregs[v].file == RegFile::Vgpr)
            })
}

/// What lanes a marked instruction runs in.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Lanes {
    #[default]
    Own,
    Wave,
    Quads,
}

/// Whether strict operations begin or end here.
fn is_strict(inst: &Inst) -> bool {
    inst.op == Opcode::SET_INACTIVE
        || inst.op == Opcode::LANES_RESULT && inst.operands.get(2) != Some(&Operand::Imm(QUADS))
}

/// Marks what strict operations need and puts regions around it. Selected code in and out.
/// A block parameter that carries what such a region has computed is passed by the wave ([`super::whole_params`]).
pub(super) fn strict(f: &mut Function) {
    if !f.layout.iter().any(|&b| f.blocks[b].insts.iter().any(is_strict)) {
        return;
    }
    let mut defs = Defs::new();
    let mut lanes: SecondaryMap<Block, Vec<Lanes>> = SecondaryMap::new();
    let mut work: Vec<(VReg, Lanes)> = Vec::new();
    for &block in &f.layout {
        lanes[block] = vec![Lanes::Own; f.blocks[block].insts.len()];
        for (i, inst) in f.blocks[block].insts.iter().enumerate() {
            for (is_def, reg) in inst.regs() {
                if let (true, Reg::Virtual(v)) = (is_def, reg.reg) {
                    defs[v] = Some((block, i as u32));
                }
            }
            let source = |k: usize| match inst.operands.get(k).and_then(|o| o.as_reg()).map(|r| r.reg) {
                Some(Reg::Virtual(v)) => Some(v),
                _ => None,
            };
            match (inst.op, inst.operands.get(2)) {
                (Opcode::LANES_RESULT, Some(&Operand::Imm(WHOLE_WAVE))) => {
                    work.extend(source(1).map(|v| (v, Lanes::Wave)));
                }
                (Opcode::LANES_RESULT, Some(&Operand::Imm(WHOLE_QUADS))) => {
                    work.extend(source(1).map(|v| (v, Lanes::Quads)));
                }
                (Opcode::SET_INACTIVE, _) => {
                    lanes[block][i] = Lanes::Wave;
                    work.extend(source(2).map(|v| (v, Lanes::Wave)));
                }
                _ => {}
            }
        }
    }
    // First without parameters, then through those that turn out to carry what has been found.
    let roots: Vec<VReg> = work.iter().map(|&(reg, _)| reg).collect();
    let mut params: Vec<(VReg, Lanes)> = mark(f, &defs, work, &mut lanes);
    let other_lanes = |v: VReg| defs[v].is_some_and(|(block, i)| lanes[block][i as usize] != Lanes::Own);
    let whole = WholeParams::find(f, roots, |v| defs[v], other_lanes);
    let mut seen: SecondaryMap<VReg, bool> = SecondaryMap::new();
    while let Some((param, wanted)) = params.pop() {
        if whole.contains(param) && !std::mem::replace(&mut seen[param], true) {
            let work = whole.args(param).iter().map(|&arg| (arg, wanted)).collect();
            params.extend(mark(f, &defs, work, &mut lanes));
        }
    }
    for (block, at) in whole.pass_by_wave(f) {
        // Copies stand in front of what the block has.
        lanes[block].splice(0..0, at.map(|_| Lanes::Wave));
    }
    for block in f.layout.clone() {
        regions(f, block, &lanes[block]);
    }
}

/// Where each register of selected code that is not a parameter is defined.
type Defs = SecondaryMap<VReg, Option<(Block, u32)>>;

/// Marks in `lanes` the instructions that compute what `work` wants; the parameters that they start from.
fn mark(
    f: &Function,
    defs: &Defs,
    mut work: Vec<(VReg, Lanes)>,
    lanes: &mut SecondaryMap<Block, Vec<Lanes>>,
) -> Vec<(VReg, Lanes)> {
    let mut params = Vec::new();
    while let Some((reg, wanted)) = work.pop() {
        let Some((block, i)) = defs[reg] else {
            params.push((reg, wanted));
            continue;
        };
        let inst = &f.blocks[block].insts[i as usize];
        if stops_marks(inst) {
            continue;
        }
        let mark = &mut lanes[block][i as usize];
        if *mark == Lanes::Wave || *mark == wanted {
            continue;
        }
        *mark = wanted;
        work.extend(inst.regs().filter(|(is_def, _)| !is_def).filter_map(|(_, reg)| match reg.reg {
            Reg::Virtual(v) => Some((v, wanted)),
            Reg::Physical(_) => None,
        }));
    }
    params
}

/// Whether what `inst` reads is not wanted in other lanes though its result is.
pub(crate) fn stops_marks(inst: &Inst) -> bool {
    matches!(inst.op, Opcode::LANES_RESULT | Opcode::SET_INACTIVE) || inst.facts().writes_memory()
}

/// Puts regions into `block` and lowers its pseudo instructions.
fn regions(f: &mut Function, block: Block, lanes: &[Lanes]) {
    if lanes.iter().all(|&l| l == Lanes::Own) && !f.blocks[block].insts.iter().any(is_strict) {
        return;
    }
    let (size, exec) = (f.wave, Operand::exec(f.wave));
    let old = std::mem::take(&mut f.blocks[block].insts);
    let mut out: Vec<Inst> = Vec::with_capacity(old.len() + 8);
    // Whole quads of the block's lanes; SCC is free where a block starts.
    let mut quads = None;
    if lanes.contains(&Lanes::Quads) {
        let mask = f.vregs.push(pinned(size));
        out.push(mask_inst(size, MaskOp::Wqm, [Operand::mask(mask, size), exec]));
        quads = Some(Operand::mask(mask, size));
    }
    let mut open: Option<(Lanes, Operand, Operand)> = None;
    // Length of `out` up to the last marked instruction of the open region.
    let mut end = 0;
    for (mut inst, &want) in old.into_iter().zip(lanes) {
        let vector = is_vector(&inst, f);
        let concerned = want != Lanes::Own && (vector || inst.reads_exec());
        let breaks = !concerned
            && (vector || inst.reads_exec() || inst.op.info().flags.contains(OpFlags::SIDE_EFFECTS))
            || concerned && open.is_some_and(|(l, ..)| l != want);
        if breaks && let Some((_, saved, mask)) = open.take() {
            out.insert(end, Inst::new(Opcode::LANES_END, [saved, mask]));
        }
        if concerned && open.is_none() {
            let saved = f.vregs.push(pinned(size));
            let saved = Operand::mask(saved, size);
            let mask = match want {
                Lanes::Quads => quads.unwrap_or(Operand::Imm(-1)),
                _ => Operand::Imm(-1),
            };
            let mut begin = Inst::new(Opcode::LANES_BEGIN, [saved, mask]);
            begin.loc = inst.loc;
            out.push(begin);
            open = Some((want, saved, mask));
        }
        if inst.op == Opcode::SET_INACTIVE
            && let (Some((_, saved, _)), [dst, active, inactive]) = (open, &inst.operands[..])
        {
            let loc = inst.loc;
            inst = match active == inactive {
                true => Inst::new(Opcode::V_MOV_B32, [*dst, *active]),
                false => Inst::new(Opcode::V_CNDMASK_B32, [*dst, *inactive, *active, saved]),
            };
            inst.loc = loc;
        }
        if inst.op == Opcode::LANES_RESULT && is_strict(&inst) {
            let loc = inst.loc;
            inst = Inst::new(Opcode::V_MOV_B32, [inst.operands[0], inst.operands[1]]);
            inst.loc = loc;
        }
        if concerned {
            inst.mods.flags |= ModFlags::OTHER_LANES;
            let regs: Vec<VReg> = inst
                .regs()
                .filter_map(|(is_def, reg)| match reg.reg {
                    Reg::Virtual(v) if is_def && f.vregs[v].file == RegFile::Vgpr => Some(v),
                    _ => None,
                })
                .collect();
            for v in regs {
                f.vregs[v].flags |= VRegFlags::WHOLE_WAVE;
            }
        }
        out.push(inst);
        if concerned {
            end = out.len();
        }
    }
    if let Some((_, saved, mask)) = open {
        out.insert(end, Inst::new(Opcode::LANES_END, [saved, mask]));
    }
    let data = &mut f.blocks[block];
    data.tail_start = out.len() as u32;
    data.insts = out;
}

/// Whether the result of `inst` depends on neighbouring lanes.
fn needs_quads(inst: &Inst) -> bool {
    match inst.op {
        Opcode::LANES_RESULT => inst.operands.get(2) == Some(&Operand::Imm(QUADS)),
        op => {
            let parts = op.info().image;
            parts.contains(ImageParts::SAMPLED) && !parts.intersects(ImageParts::EXPLICIT_LOD)
        }
    }
}

/// Whether `inst` must not act in lanes that are not live. Messages emit the vertices of the lanes that send them.
fn is_exact(inst: &Inst) -> bool {
    let facts = inst.facts();
    facts.unit == Unit::Export
        || facts.unit.is_vector() && facts.writes_memory()
        || matches!(inst.op, Opcode::S_SENDMSG | Opcode::S_SENDMSGHALT)
}

/// Ends a block of a pixel shader behind each demotion: [`live`] looks at block ends whether anybody is left. Selected code in and out, in
/// which no physical register has a value across a demotion.
pub(super) fn split_behind_demotions(f: &mut Function) {
    if f.call_conv != CallConv::AmdgpuPs {
        return;
    }
    let old = std::mem::take(&mut f.layout);
    for block in old {
        f.layout.push(block);
        let mut current = block;
        while let Some(at) = f.blocks[current].insts.iter().position(|i| i.op == Opcode::DEMOTE) {
            let data = &mut f.blocks[current];
            if at + 1 == data.insts.len() && data.term == Terminator::Jump {
                break;
            }
            let rest = BlockData {
                insts: data.insts.split_off(at + 1),
                term: std::mem::replace(&mut data.term, Terminator::Jump),
                thread_succs: std::mem::take(&mut data.thread_succs),
                thread_sargs: std::mem::take(&mut data.thread_sargs),
                loop_depth: data.loop_depth,
                ..BlockData::default()
            };
            let next = f.blocks.push(rest);
            for block in [current, next] {
                f.blocks[block].tail_start = f.blocks[block].insts.len() as u32;
            }
            let data = &mut f.blocks[current];
            data.thread_succs.push(Edge { block: next, args: Default::default() });
            data.thread_sargs.push(Default::default());
            f.layout.push(next);
            current = next;
        }
    }
}

/// What a shader asks about its lanes.
pub(super) struct Quads {
    /// The shader runs in whole quads.
    whole: bool,
}

/// Looks for what needs live lanes, before control flow is structured; lowers the rest.
pub(super) fn survey(f: &Function) -> Option<Quads> {
    let mut found = false;
    let mut whole = false;
    for &block in &f.layout {
        for inst in &f.blocks[block].insts {
            found |= matches!(
                inst.op,
                Opcode::LIVE_LANES | Opcode::DEMOTE | Opcode::QUAD_VOTE | Opcode::LANES_RESULT
            ) || needs_quads(inst)
                || inst.op == Opcode::KILLED;
            whole |= needs_quads(inst);
        }
    }
    found.then_some(Quads { whole: whole && f.call_conv == CallConv::AmdgpuPs })
}

/// Live lanes of a shader, on the wave graph.
pub(super) fn live(f: &mut Function, quads: &Quads) {
    let (size, exec) = (f.wave, Operand::exec(f.wave));
    let entry = f.layout[0];
    let pixel = f.call_conv == CallConv::AmdgpuPs;
    let has = |f: &Function, block: Block, op: Opcode| f.blocks[block].insts.iter().any(|i| i.op == op);
    let demotes = f.layout.iter().any(|&b| has(f, b, Opcode::DEMOTE));
    let kills: Vec<Block> = f.layout.iter().copied().filter(|&b| has(f, b, Opcode::KILLED)).collect();
    let only_demotes = |&b: &Block| has(f, b, Opcode::DEMOTE) && !has(f, b, Opcode::KILLED);
    let demoting: Vec<Block> = f.layout.iter().copied().filter(only_demotes).collect();
    let exact = demotes || pixel && quads.whole;
    let tracked = exact || pixel && !kills.is_empty();
    let mut defs: Vec<(u32, Val)> = Vec::new();
    let mut uses: Vec<u32> = Vec::new();
    let mut last: SecondaryMap<Block, Option<VReg>> = SecondaryMap::new();
    if tracked {
        for &block in &f.layout.clone() {
            if block == entry || f.blocks[block].insts.iter().any(changes_live) {
                let reg = f.new_lane_mask();
                last[block] = Some(reg);
                defs.push((block.as_u32(), Val::Reg(reg)));
            }
            uses.push(block.as_u32());
        }
    }
    let wave = Wave::new(f);
    let mut solver = wave.solver();
    let variable = tracked.then(|| {
        let uses = uses.iter().copied().filter(|&b| b != entry.as_u32());
        scalars::construct(f, &wave, &mut solver, defs, uses, Val::Zero, VRegData::mask(size))
    });
    for block in f.layout.clone() {
        let start = match &variable {
            Some(_) if block == entry => None,
            Some(variable) if wave.contains(block.as_u32()) => match variable.at_start(block.as_u32()) {
                Val::Reg(reg) => Some(reg),
                _ => None,
            },
            _ => None,
        };
        let plan = Plan { tracked, exact, opens: quads.whole && block == entry };
        exact_block(f, block, start, last[block], plan);
        // What goes on behind the shader's end must not see lanes that are gone.
        let ends = matches!(f.blocks[block].term, Terminator::EndProgram | Terminator::Return);
        if tracked && ends && !f.shader_results.is_empty() {
            let at_end = last[block].or(start);
            if let Some(live) = at_end {
                let and = mask_inst(size, MaskOp::And, [exec, exec, Operand::mask(live, size)]);
                f.blocks[block].insts.push(and);
            }
        }
    }
    if pixel {
        let ends_here = !f.shader_results.is_empty();
        for &block in &kills {
            if let Some(live) = last[block] {
                null_export(f, block, live, ends_here);
            }
        }
        // Lanes that a demotion leaves go on to help others; where nobody is left to be helped, the shader ends.
        for block in demoting {
            if let (Some(live), Terminator::Jump) = (last[block], f.blocks[block].term) {
                null_export(f, block, live, true);
            }
        }
    }
}

/// A pixel shader exports something even where all of its lanes are gone: behind `block`, where they go, if nobody is left. With `ends_here`
/// it ends there, as a shader with a result must, since what follows it has nothing to go on with. EXEC, which says what pixels are valid, is zero.
fn null_export(f: &mut Function, block: Block, live: VReg, ends_here: bool) {
    let (size, exec) = (f.wave, Operand::exec(f.wave));
    let export = || {
        let mut inst =
            Inst::new(Opcode::EXP, [Operand::Imm(9), Operand::Off, Operand::Off, Operand::Off, Operand::Off]);
        inst.mods.flags |= ModFlags::DONE | ModFlags::VM;
        inst
    };
    let edges = f.blocks[block].wave_succs.clone();
    let depth = f.blocks[block].loop_depth;
    match (f.blocks[block].term, &edges[..]) {
        (Terminator::Jump, [edge]) => {
            let to = |block| Edge { block, args: Default::default() };
            let [check, last] =
                [(); 2].map(|()| f.blocks.push(BlockData { loop_depth: depth, ..BlockData::default() }));
            let any = f.new_lane_mask();
            let mask = Operand::mask(live, size);
            let data = &mut f.blocks[check];
            data.push(mask_inst(size, MaskOp::Or, [Operand::mask(any, size), mask, mask]));
            data.term = Terminator::Uniform(Condition::Scc0);
            data.wave_succs = [to(last), edge.clone()].into_iter().collect();
            let saved = (!ends_here).then(|| Operand::mask(f.new_lane_mask(), size));
            let data = &mut f.blocks[last];
            // EXEC changes in the head and in the tail.
            data.insts.extend(saved.map(|saved| mask_inst(size, MaskOp::Mov, [saved, exec])));
            data.insts.push(mask_inst(size, MaskOp::Mov, [exec, Operand::Imm(0)]));
            data.head_len = data.insts.len() as u32;
            data.insts.push(export());
            data.tail_start = data.insts.len() as u32;
            data.insts.extend(saved.map(|saved| mask_inst(size, MaskOp::Mov, [exec, saved])));
            if ends_here {
                data.term = Terminator::Unreachable;
            } else {
                data.term = Terminator::Jump;
                data.wave_succs = [edge.clone()].into_iter().collect();
            }
            f.blocks[block].wave_succs = [to(check)].into_iter().collect();
            if let Some(at) = f.layout.iter().position(|&b| b == block) {
                f.layout.splice(at + 1..at + 1, [check, last]);
            }
        }
        // All lanes of the wave come here together. What sets EXEC for the export is the head of a block of its own.
        (term @ (Terminator::EndProgram | Terminator::Return), _)
            if ends_here || term == Terminator::EndProgram =>
        {
            let end = f.blocks.push(BlockData { loop_depth: depth, ..BlockData::default() });
            let data = &mut f.blocks[block];
            data.term = Terminator::Jump;
            data.wave_succs = [Edge { block: end, args: Default::default() }].into_iter().collect();
            // What ends the program, where selection wrote it, moves along; what sets EXEC for a result does not matter any more.
            let ends = |inst: &Inst| inst.op == Opcode::S_ENDPGM;
            let endpgm = data.insts.iter().rposition(ends).map(|at| data.insts.remove(at));
            data.tail_start = data.tail_start.min(data.insts.len() as u32);
            if ends_here {
                data.insts.truncate(data.tail_start as usize);
            }
            let end_data = &mut f.blocks[end];
            end_data.insts.push(match ends_here {
                true => mask_inst(size, MaskOp::Mov, [exec, Operand::Imm(0)]),
                false => mask_inst(size, MaskOp::And, [exec, exec, Operand::mask(live, size)]),
            });
            end_data.head_len = 1;
            end_data.insts.push(export());
            end_data.term = if ends_here { Terminator::Unreachable } else { term };
            end_data.insts.extend(endpgm.filter(|_| !ends_here));
            end_data.tail_start = end_data.insts.len() as u32;
            if let Some(at) = f.layout.iter().position(|&b| b == block) {
                f.layout.insert(at + 1, end);
            }
        }
        _ => {}
    }
}

/// Whether `inst` takes lanes away.
fn changes_live(inst: &Inst) -> bool {
    matches!(inst.op, Opcode::DEMOTE | Opcode::KILLED)
}

/// What a block is to do about live lanes.
#[derive(Clone, Copy)]
struct Plan {
    /// Live lanes are known.
    tracked: bool,
    /// Stores and exports act in them alone.
    exact: bool,
    /// The shader starts here, in whole quads.
    opens: bool,
}

/// Lowers a block: regions of exact lanes, questions, demotions.
fn exact_block(
    f: &mut Function,
    block: Block,
    start: Option<VReg>,
    last: Option<VReg>,
    Plan { tracked, exact: wants_exact, opens }: Plan,
) {
    let entry = block == f.layout[0];
    let data = &f.blocks[block];
    let (head, tail) = (data.head_len as usize, data.tail_start as usize);
    let concerned = |inst: &Inst| {
        matches!(inst.op, Opcode::LIVE_LANES | Opcode::QUAD_VOTE | Opcode::LANES_RESULT)
            || changes_live(inst)
            || wants_exact && is_exact(inst)
    };
    let starts_tracking = entry && tracked;
    if !starts_tracking && !data.insts[head..tail].iter().any(concerned) {
        return;
    }
    let (size, exec) = (f.wave, Operand::exec(f.wave));
    let old = std::mem::take(&mut f.blocks[block].insts);
    let mut out: Vec<Inst> = Vec::with_capacity(old.len() + 8);
    let mut live = start.map(|reg| Operand::mask(reg, size));
    let mut demotions = old[head..tail].iter().filter(|i| changes_live(i)).count();
    let mut exact: Option<Operand> = None;
    let new = |f: &mut Function| Operand::mask(f.vregs.push(pinned(size)), size);
    let mut insts = old.into_iter();
    out.extend(insts.by_ref().take(head));
    if entry && tracked {
        let first = match last {
            Some(reg) if demotions == 0 => Operand::mask(reg, size),
            _ => new(f),
        };
        // EXEC is written in the head: what the entry brings in VGPRs is moved behind it, helper lanes included.
        out.push(mask_inst(size, MaskOp::Mov, [first, exec]));
        live = Some(first);
        if opens {
            out.push(mask_inst(size, MaskOp::Wqm, [exec, exec]));
        }
        f.blocks[block].head_len = out.len() as u32;
    }
    for inst in insts.by_ref().take(tail - head) {
        let loc = inst.loc;
        let push = |out: &mut Vec<Inst>, mut inst: Inst| {
            inst.loc = loc;
            out.push(inst);
        };
        match inst.op {
            Opcode::LIVE_LANES => {
                let source = live.unwrap_or(exec);
                push(&mut out, mask_inst(size, MaskOp::Mov, [inst.operands[0], source]));
            }
            Opcode::QUAD_VOTE => {
                push(&mut out, mask_inst(size, MaskOp::Wqm, [inst.operands[0], inst.operands[1]]));
            }
            Opcode::LANES_RESULT => {
                push(&mut out, Inst::new(Opcode::V_MOV_B32, [inst.operands[0], inst.operands[1]]));
            }
            Opcode::DEMOTE => {
                demotions -= 1;
                let after = match last {
                    Some(reg) if demotions == 0 => Operand::mask(reg, size),
                    _ => new(f),
                };
                // Lanes here whose condition does not hold.
                let gone = new(f);
                push(&mut out, mask_inst(size, MaskOp::AndN2, [gone, exec, inst.operands[0]]));
                let before = live.unwrap_or(exec);
                push(&mut out, mask_inst(size, MaskOp::AndN2, [after, before, gone]));
                live = Some(after);
                exact = None;
            }
            Opcode::KILLED => {
                demotions -= 1;
                // Other shaders have no live lanes to keep.
                if let (true, Some(before)) = (tracked, live) {
                    let after = match last {
                        Some(reg) if demotions == 0 => Operand::mask(reg, size),
                        _ => new(f),
                    };
                    push(&mut out, mask_inst(size, MaskOp::AndN2, [after, before, exec]));
                    live = Some(after);
                    exact = None;
                }
            }
            _ if wants_exact && is_exact(&inst) => {
                let mask = match exact {
                    Some(mask) => mask,
                    None => {
                        let mask = new(f);
                        let live = live.unwrap_or(exec);
                        push(&mut out, mask_inst(size, MaskOp::And, [mask, exec, live]));
                        exact = Some(mask);
                        mask
                    }
                };
                let saved = new(f);
                push(&mut out, Inst::new(Opcode::LANES_BEGIN, [saved, mask]));
                let mut inst = inst;
                inst.mods.flags |= ModFlags::OTHER_LANES;
                out.push(inst);
                push(&mut out, Inst::new(Opcode::LANES_END, [saved, mask]));
            }
            _ => out.push(inst),
        }
    }
    let data = &mut f.blocks[block];
    data.tail_start = out.len() as u32;
    out.extend(insts);
    data.insts = out;
}

/// Moves what sets the lanes to the head of its block: at the start of the entry, behind what else is in the heads of others.
pub(super) fn entry(f: &mut Function) -> Result<()> {
    let (size, exec) = (f.wave, Operand::exec(f.wave));
    let entry = f.layout[0];
    for block in f.layout.clone() {
        let Some(at) = f.blocks[block].insts.iter().position(|i| i.op == Opcode::ENTRY_LANES) else {
            continue;
        };
        let inst = f.blocks[block].insts.remove(at);
        f.blocks[block].tail_start -= 1;
        if f.blocks[block].insts.iter().any(|i| i.op == Opcode::ENTRY_LANES) {
            return Err(Diagnostic::unsupported("init.exec twice in a block"));
        }
        let mut head: Vec<Inst> = Vec::new();
        let &[lanes, Operand::Imm(shift)] = &inst.operands[..] else {
            return Err(Diagnostic::defect("ENTRY_LANES without operands"));
        };
        match lanes {
            Operand::Imm(mask) if (-16..=64).contains(&mask) => {
                head.push(mask_inst(size, MaskOp::Mov, [exec, lanes]));
            }
            Operand::Imm(mask) if size == WaveSize::W32 => {
                let low = Operand::Imm(i64::from(mask as i32));
                head.push(mask_inst(size, MaskOp::Mov, [exec, low]));
            }
            Operand::Imm(mask) => {
                for (reg, half) in [(PReg::EXEC_LO, mask as i32), (PReg::EXEC_HI, (mask >> 32) as i32)] {
                    let half = Operand::Imm(i64::from(half));
                    head.push(Inst::new(Opcode::S_MOV_B32, [Operand::preg(reg, 1), half]));
                }
            }
            input => {
                // The lowest `count` lanes, none to all; a field of as many bits as there are lanes is none.
                let count = f.new_vreg(RegFile::Sgpr, 1);
                let count = Operand::vreg(count, 1);
                let field = Operand::Imm(shift & 31 | 7 << 16);
                head.push(Inst::new(Opcode::S_BFE_U32, [count, input, field]));
                head.push(mask_inst(size, MaskOp::LowBits, [exec, count, Operand::Imm(0)]));
                head.push(Inst::new(Opcode::S_CMP_EQ_U32, [count, Operand::Imm(size.lanes().into())]));
                head.push(mask_inst(size, MaskOp::Cmov, [exec, Operand::Imm(-1), exec]));
            }
        }
        let data = &mut f.blocks[block];
        let at = if block == entry { 0 } else { data.head_len as usize };
        data.head_len += head.len() as u32;
        data.tail_start += head.len() as u32;
        data.insts.splice(at..at, head);
    }
    Ok(())
}
