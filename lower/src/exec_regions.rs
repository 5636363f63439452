//! Regions of other lanes become writes of EXEC.
//!
//! `LANES_BEGIN saved, mask` and `LANES_END` bracket instructions marked [`ModFlags::OTHER_LANES`], which run with the lanes of `mask`. What stands
//! between them without a mark, moves and reloads that allocation inserted, runs with the lanes of the block. EXEC is written
//! where the two meet, with a copy, which leaves SCC alone. Cost: linear.

use mir::isa::{MaskOp, Opcode, Unit};
use mir::machine::{Function, Inst, ModFlags, Operand};

/// Expands all regions of an allocated function.
pub fn expand(f: &mut Function) {
    let (wave, exec) = (f.wave, Operand::exec(f.wave));
    let mov =
        |like: &Inst, dst, src| Inst { loc: like.loc, ..Inst::new(MaskOp::Mov.opcode(wave), [dst, src]) };
    for &block in &f.layout {
        let data = &mut f.blocks[block];
        if !data.insts.iter().any(|inst| inst.op == Opcode::LANES_BEGIN) {
            continue;
        }
        let old = std::mem::take(&mut data.insts);
        data.insts.reserve(old.len() + 4);
        let mut region: Option<[Operand; 2]> = None;
        let mut other = false;
        for mut inst in old {
            match (inst.op, &inst.operands[..]) {
                (Opcode::LANES_BEGIN, &[saved, mask]) => {
                    data.insts.push(mov(&inst, saved, exec));
                    region = Some([saved, mask]);
                    other = false;
                    continue;
                }
                (Opcode::LANES_END, _) => {
                    if let (true, Some([saved, _])) = (other, region) {
                        data.insts.push(mov(&inst, exec, saved));
                    }
                    region = None;
                    other = false;
                    continue;
                }
                _ => {}
            }
            let marked = inst.mods.flags.contains(ModFlags::OTHER_LANES);
            inst.mods.flags.remove(ModFlags::OTHER_LANES);
            if let Some([saved, mask]) = region
                && depends_on_lanes(&inst)
                && marked != other
            {
                data.insts.push(mov(&inst, exec, if marked { mask } else { saved }));
                other = marked;
            }
            data.insts.push(inst);
        }
        data.tail_start = data.insts.len() as u32;
    }
}

/// Whether EXEC decides what `inst` does.
fn depends_on_lanes(inst: &Inst) -> bool {
    // What a pseudo instruction stands for is not there yet.
    inst.facts().unit == Unit::Pseudo && !inst.op.is_mark() || inst.reads_exec()
}
