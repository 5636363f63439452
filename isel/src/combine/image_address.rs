//! Addresses of images in registers that need not follow each other (GFX10).
//!
//! A tuple that is put together for an address alone costs no moves where allocation can compute its parts in place. A part that is also used elsewhere, say in
//! the address of the next sample, or that lies in another tuple, needs one. There the instruction names the registers one by one, for a dword of
//! code for each four of them. `shrink` goes back to the tuple where they follow each other after all.
//!
//! Cost: linear. Sources: RDNA ISA, "MIMG: non-sequential addresses"; LLVM's threshold of three registers.

use super::vgpr;
use crate::uses::count_uses;
use mir::isa::format::Slot;
use mir::isa::{Format, Opcode, image_address_dwords};
use mir::machine::{Block, Function, Inst, Operand, Reg, RegOperand, VReg};
use mir::target::Target;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Fewest registers that are named one by one: two are moved at the same price.
const FEWEST: usize = 3;

/// Registers of an address, each a dword.
type Parts = SmallVec<[Operand; 8]>;

/// Names the address registers of images one by one where that saves moves.
pub(super) fn scatter(f: &mut Function, target: &Target, layout: &[Block]) {
    let most = usize::from(target.limits().images.address_registers);
    let is_image = |inst: &Inst| inst.op.info().format == Format::Mimg;
    if most < FEWEST || !layout.iter().any(|&block| f.blocks[block].insts.iter().any(is_image)) {
        return;
    }
    let mut uses = count_uses(f, layout);
    for &block in layout {
        let insts = &f.blocks[block].insts;
        // Tuples that the block puts together, by where.
        let mut tuples: FxHashMap<VReg, usize> = FxHashMap::default();
        let mut found: Vec<(usize, usize, usize, Parts)> = Vec::new();
        for (place, inst) in insts.iter().enumerate() {
            if inst.op == Opcode::REG_SEQUENCE
                && let Some(tuple) = whole(f, inst.operands.first())
            {
                tuples.insert(tuple, place);
            }
            if !is_image(inst) || inst.mods.address_parts > 0 {
                continue;
            }
            let row = inst.op.info();
            let Some(slot) = row.operands.iter().position(|desc| desc.slot == Slot::Addr) else { continue };
            let Some(tuple) = whole(f, inst.operands.get(slot)) else { continue };
            let Some(&made) = tuples.get(&tuple) else { continue };
            let parts: Parts = insts[made].operands[1..].iter().copied().collect();
            let wanted = usize::from(image_address_dwords(row, &inst.mods));
            let moved = |part: &Operand| {
                vgpr(f, part).is_some_and(|(reg, _)| uses[reg] > 1 || f.vregs[reg].dwords > 1)
            };
            if parts.len() == wanted
                && (FEWEST..=most).contains(&wanted)
                && parts.iter().all(|part| vgpr(f, part).is_some())
                && parts.iter().any(moved)
            {
                found.push((place, slot, made, parts));
            }
        }
        if found.is_empty() {
            continue;
        }
        let data = &mut f.blocks[block];
        let mut gone: Vec<usize> = Vec::new();
        for (place, slot, made, parts) in found {
            let inst = &mut data.insts[place];
            let rows = inst.op.info().operands.len();
            if let Operand::Reg(RegOperand { reg: Reg::Virtual(tuple), .. }) = inst.operands[slot] {
                uses[tuple] -= 1;
                if uses[tuple] == 0 {
                    gone.push(made);
                }
            }
            inst.operands[slot] = parts[0];
            inst.operands.insert_many(rows, parts[1..].iter().copied());
            inst.mods.address_parts = (parts.len() - 1) as u8;
        }
        gone.sort_unstable();
        let mut place = 0;
        data.insts.retain(|_| {
            place += 1;
            gone.binary_search(&(place - 1)).is_err()
        });
        data.tail_start = data.insts.len() as u32;
    }
}

/// The virtual register that an operand is as a whole.
fn whole(f: &Function, operand: Option<&Operand>) -> Option<VReg> {
    match *operand?.as_reg()? {
        RegOperand { reg: Reg::Virtual(reg), sub: 0, dwords } if f.vregs[reg].dwords == dwords => Some(reg),
        _ => None,
    }
}
