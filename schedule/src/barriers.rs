//! Arithmetic goes in front of barriers.
//!
//! Nothing passes a barrier in the scheduler, and for memory that is right. But what is computed right behind one, the condition of the next
//! branch or the address of the next access, would start only when the last wave has come. In front of the barrier, and of the waits that
//! belong to it, it is done while the wave waits anyway.
//!
//! What goes is arithmetic between a barrier and the next access of memory, in its own order, as far as it needs nothing that arrives late:
//! results of loads of the block, and variables of the block that may be such. A barrier holds no register, so pressure is as it was. Whatever
//! speaks through physical registers ends the search; SCC may be written where nobody reads it.
//!
//! Cost: linear; blocks without barriers are passed over.

use crate::effects::Effects;
use cranelift_entity::SecondaryMap;
use mir::isa::{Implicit, Opcode, Unit};
use mir::machine::{Block, BlockData, Condition, Function, Inst, Reg, Terminator, VReg};
use mir::target::Target;

/// Hoists arithmetic of `f`, modelled code with virtual registers, over barriers.
pub fn hoist_over_barriers(f: &mut Function, target: &Target) {
    let is_barrier = |inst: &Inst| inst.op == Opcode::S_BARRIER;
    if !f.layout.iter().any(|&block| f.blocks[block].insts.iter().any(is_barrier)) {
        return;
    }
    // The block in which a register is late, by its place in the layout plus one.
    let mut late: SecondaryMap<VReg, u32> = SecondaryMap::new();
    let mut late_params: Vec<(Block, VReg)> = Vec::new();
    for (place, &block) in f.layout.iter().enumerate() {
        for inst in f.blocks[block].insts.iter().filter(|inst| Effects::of(inst, target).late) {
            mark(inst, place as u32 + 1, &mut late);
        }
    }
    for &block in &f.layout {
        let data = &f.blocks[block];
        let vgprs = data.thread_succs.iter().map(|edge| (edge, &f.blocks[edge.block].vparams));
        let sgprs = data.wave_succs.iter().map(|edge| (edge, &f.blocks[edge.block].sparams));
        for (edge, params) in vgprs.chain(sgprs) {
            let arguments = edge.args.iter().zip(params).filter(|&(&argument, _)| late[argument] != 0);
            late_params.extend(arguments.map(|(_, &param)| (edge.block, param)));
        }
    }
    let mut places: SecondaryMap<Block, u32> = SecondaryMap::new();
    for (place, &block) in f.layout.iter().enumerate() {
        places[block] = place as u32 + 1;
    }
    for (block, param) in late_params {
        late[param] = places[block];
    }
    for &block in &f.layout {
        let data = &mut f.blocks[block];
        let body = data.head_len as usize..data.tail_start as usize;
        if data.insts[body].iter().any(is_barrier) {
            hoist(data, places[block], &mut late, target);
        }
    }
}

/// What `inst` writes is late in the block of `stamp`.
fn mark(inst: &Inst, stamp: u32, late: &mut SecondaryMap<VReg, u32>) {
    for (write, reg) in inst.regs() {
        if let (true, Reg::Virtual(reg)) = (write, reg.reg) {
            late[reg] = stamp;
        }
    }
}

/// A barrier over which arithmetic goes.
struct Open {
    /// Where its waits begin, in the new code.
    from: usize,
    /// Whether SCC may be written there.
    scc: bool,
    /// What goes in front, and what stays behind.
    moved: Vec<Inst>,
    kept: Vec<Inst>,
}

impl Open {
    fn close(self, out: &mut Vec<Inst>) {
        out.splice(self.from..self.from, self.moved);
        out.extend(self.kept);
    }
}

fn hoist(data: &mut BlockData, stamp: u32, late: &mut SecondaryMap<VReg, u32>, target: &Target) {
    let scc_is_read = scc_read_behind(data);
    let (head, tail) = (data.head_len as usize, data.tail_start as usize);
    let mut out: Vec<Inst> = Vec::with_capacity(data.insts.len());
    let mut open: Option<Open> = None;
    for (at, inst) in std::mem::take(&mut data.insts).into_iter().enumerate() {
        mir::interrupt::checkpoint();
        let inside = (head..tail).contains(&at);
        if inside && inst.op == Opcode::S_BARRIER {
            if let Some(last) = open.take() {
                last.close(&mut out);
            }
            let waits = out[head..].iter().rev().take_while(|inst| is_silent(inst, target)).count();
            // Whoever reads SCC behind the barrier must find what was written in front of it.
            let (from, scc) = (out.len() - waits, !scc_is_read[at]);
            out.push(inst);
            open = Some(Open { from, scc, moved: Vec::new(), kept: Vec::new() });
            continue;
        }
        let waits_for = |reg: Reg| matches!(reg, Reg::Virtual(reg) if late[reg] == stamp);
        let stays = inst.regs().any(|(write, reg)| !write && waits_for(reg.reg));
        let Some(window) = &mut open else {
            out.push(inst);
            continue;
        };
        let writes_scc = inst.facts().implicit.contains(Implicit::SCC_DEF);
        let arithmetic = inside && is_arithmetic(&inst, target) && !(writes_scc && scc_is_read[at]);
        if arithmetic && !stays && (window.scc || !writes_scc) {
            window.moved.push(inst);
        } else if arithmetic || inside && is_silent(&inst, target) {
            mark(&inst, stamp, late);
            window.kept.push(inst);
        } else {
            if let Some(last) = open.take() {
                last.close(&mut out);
            }
            out.push(inst);
        }
    }
    if let Some(last) = open {
        last.close(&mut out);
    }
    data.insts = out;
}

/// For each instruction of a block, whether SCC as it is behind it is read.
pub(crate) fn scc_read_behind(data: &BlockData) -> Vec<bool> {
    let mut read = matches!(data.term, Terminator::Uniform(Condition::Scc0 | Condition::Scc1));
    let mut behind = vec![false; data.insts.len()];
    for (inst, behind) in data.insts.iter().zip(&mut behind).rev() {
        *behind = read;
        let implicit = inst.facts().implicit;
        read = implicit.contains(Implicit::SCC_USE) || read && !implicit.contains(Implicit::SCC_DEF);
        // What is not looked into might read it.
        read |= inst.asm_layout().is_some();
    }
    behind
}

/// Waits, and what is said to caches.
fn is_silent(inst: &Inst, target: &Target) -> bool {
    let effects = Effects::of(inst, target);
    !effects.wall && effects != Effects::default() && inst.regs().next().is_none()
}

/// Whether `inst` computes virtual registers from others and does nothing else, but for SCC.
pub(crate) fn is_arithmetic(inst: &Inst, target: &Target) -> bool {
    let listed = inst.facts().implicit & Implicit::LISTED;
    (matches!(inst.facts().unit, Unit::Valu | Unit::Salu) || inst.op.is_copy())
        && Effects::of(inst, target) == Effects::default()
        && (listed - Implicit::SCC_DEF).is_empty()
        && !inst.reads_m0()
        && inst.regs().all(|(_, reg)| matches!(reg.reg, Reg::Virtual(_)))
}
