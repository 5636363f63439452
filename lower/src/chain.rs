//! What a chain function leaves as it found it for the functions that follow.
//!
//! VGPRs from v8 on belong to all functions of a chain: lanes that are not active keep their values, and in functions of the convention
//! `amdgpu_cs_chain_preserve` active ones do, too. So those that the function writes are stored in its first instructions and
//! loaded in front of the jump to the next one, but for what that one is given. Where nothing follows, nothing needs to be kept.
//!
//! The frame starts at 0 in each function, so the places are behind the function's own objects. Cost: linear in the code.
//!
//! Source: AMDGPU usage guide, "Calling Conventions".

use mir::abi::shader::{CHAIN_FIRST_VGPR, CHAIN_RESOURCE};
use mir::ir::CallConv;
use mir::isa::{MaskOp, Opcode};
use mir::machine::{Function, Inst, Operand, PReg};
use mir::target::{ScratchAccess, Target};
use mir::{Diagnostic, Result};

/// A register with its place in the frame.
type Saved = (PReg, u32);

/// Registers by the lanes that are kept.
#[derive(Default)]
struct Kept {
    active: Vec<Saved>,
    inactive: Vec<Saved>,
    all: Vec<Saved>,
}

/// Stores and loads what a chain function that goes on with another one must keep; the stores go to the end of `prolog`.
///
/// # Errors
/// `Unsupported` where operations in all lanes take a register that the next function is given, and where the frame has no place within
/// reach.
pub(crate) fn keep(f: &mut Function, target: &Target, prolog: &mut Vec<Inst>) -> Result<()> {
    if !f.call_conv.is_chain() || !f.layout.iter().any(|&block| jump_of(f, block).is_some()) {
        return Ok(());
    }
    let kept = find(f)?;
    if kept.active.is_empty() && kept.inactive.is_empty() && kept.all.is_empty() {
        return Ok(());
    }
    let reach = f.scratch.max_offset(target.limits());
    if f.scratch != ScratchAccess::Buffer || f.resources.scratch_bytes > reach {
        return Err(Diagnostic::unsupported("registers of other chain functions out of the frame's reach"));
    }
    let wave = target.wave();
    let (vcc, exec) = (Operand::vcc(wave), Operand::exec(wave));
    let mask = |op: MaskOp, operands: &[Operand]| Inst::new(op.opcode(wave), operands.iter().copied());
    let accesses = |saved: &[Saved], store: bool| -> Vec<Inst> {
        let access = |&(reg, offset): &Saved| {
            let (data, resource) = (Operand::preg(reg, 1), Operand::preg(CHAIN_RESOURCE, 4));
            f.scratch.frame_dword(store, data, Operand::Imm(0), resource, offset)
        };
        saved.iter().map(access).collect()
    };
    prolog.extend(accesses(&kept.active, true));
    let mut epilog = accesses(&kept.active, false);
    if !kept.inactive.is_empty() {
        prolog.push(mask(MaskOp::XorSaveexec, &[vcc, Operand::Imm(-1)]));
        prolog.extend(accesses(&kept.inactive, true));
        prolog.push(mask(MaskOp::Mov, &[exec, vcc]));
        // The jump sets EXEC.
        epilog.push(mask(MaskOp::Not, &[exec, exec]));
        epilog.extend(accesses(&kept.inactive, false));
    }
    if !kept.all.is_empty() {
        prolog.push(mask(MaskOp::OrSaveexec, &[vcc, Operand::Imm(-1)]));
        prolog.extend(accesses(&kept.all, true));
        prolog.push(mask(MaskOp::Mov, &[exec, vcc]));
        epilog.push(mask(MaskOp::Mov, &[exec, Operand::Imm(-1)]));
        epilog.extend(accesses(&kept.all, false));
    }
    for block in f.layout.clone() {
        if let Some(at) = jump_of(f, block) {
            f.blocks[block].insts.splice(at..at, epilog.iter().cloned());
        }
    }
    Ok(())
}

/// Where `block` goes on with another function.
fn jump_of(f: &Function, block: mir::machine::Block) -> Option<usize> {
    f.blocks[block].insts.iter().rposition(|inst| inst.op == Opcode::CHAIN_JUMP)
}

/// What must be kept, with places behind the frame, which grows.
fn find(f: &mut Function) -> Result<Kept> {
    let mut written = [false; PReg::VGPRS as usize];
    for &block in &f.layout {
        for inst in &f.blocks[block].insts {
            inst.for_each_access(|access| {
                let registers = (0..access.dwords).map(|n| access.first.plus(n));
                for n in registers.filter(|_| access.write).filter_map(PReg::vgpr_index) {
                    written[usize::from(n)] = true;
                }
            });
        }
    }
    let preserves = f.call_conv == CallConv::AmdgpuCsChainPreserve;
    let mut kept = Kept::default();
    for n in (CHAIN_FIRST_VGPR..PReg::VGPRS).filter(|&n| written[usize::from(n)]) {
        let reg = PReg::vgpr(n);
        let is_whole = f.whole_wave_vgprs.contains(&reg);
        let list = match (is_whole, f.shader_results.contains(&reg)) {
            (true, true) => {
                let what = "operations in all lanes in a register that the next chain function is given";
                return Err(Diagnostic::unsupported(what).in_function(&f.name));
            }
            (false, true) => continue,
            (true, false) if preserves => &mut kept.all,
            (true, false) => &mut kept.inactive,
            (false, false) if preserves => &mut kept.active,
            (false, false) => continue,
        };
        let place = f.resources.scratch_bytes.next_multiple_of(4);
        list.push((reg, place));
        f.resources.scratch_bytes = place + 4;
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::abi::call::STACK_POINTER;
    use mir::machine::{CallSite, EntryValue, parse_function};

    fn function(convention: &str, body: &str) -> Function {
        let text = format!(
            "function f, {convention}, allocated, wave32\n  \
             resources sgprs 6 vgprs 11 sgpr_spills 0 vgpr_spills 0 scratch_bytes 4\n  shader_results v8\n  whole_wave_vgprs v9\n\
             mbb0:\n{body}  chain_jump s[4:5], -1\n  wave return\n"
        );
        parse_function(&text, "test").expect("the text is right")
    }

    fn target() -> Target {
        Target::new(Target::processor_by_name("gfx1030").expect("a processor of the table"))
    }

    fn kept(convention: &str, body: &str) -> String {
        let mut f = function(convention, body);
        let mut prolog = Vec::new();
        keep(&mut f, &target(), &mut prolog).expect("within reach");
        let ops = |insts: &[Inst]| insts.iter().map(|inst| inst.op.info().name).collect::<Vec<_>>().join(" ");
        format!("{} | {} | {}", ops(&prolog), ops(&f.blocks[f.layout[0]].insts), f.resources.scratch_bytes)
    }

    #[test]
    fn the_stack_of_callees_begins_behind_what_is_kept() {
        let mut f = function("amdgpu_cs_chain", "  v9 = v_mov_b32 1\n");
        f.entry.request(EntryValue::PrivateSegmentBuffer, None);
        f.entry.request(EntryValue::ScratchWaveOffset, None);
        // The function's own objects fill what is aligned already.
        f.resources.scratch_bytes = 16;
        f.calls.push(CallSite::default());
        crate::frame::insert_prolog(&mut f, &target()).expect("all values are there");
        let starts = |inst: &&Inst| inst.operands.first() == Some(&Operand::preg(STACK_POINTER, 1));
        let start =
            f.blocks[f.layout[0]].insts.iter().find(starts).and_then(|inst| inst.operands[1].as_imm());
        assert_eq!((f.resources.scratch_bytes, start), (32, Some(32 * 32)));
    }

    #[test]
    fn lanes_of_other_functions_are_kept() {
        let body = "  v3 = v_mov_b32 1\n  v8 = v_mov_b32 1\n  v9 = v_mov_b32 1\n  v10 = v_mov_b32 1\n";
        let moves = "v_mov_b32 v_mov_b32 v_mov_b32 v_mov_b32";
        assert_eq!(
            kept("amdgpu_cs_chain", body),
            format!(
                "s_xor_saveexec_b32 buffer_store_dword s_mov_b32 | {moves} s_not_b32 buffer_load_dword chain_jump | 8"
            )
        );
        assert_eq!(
            kept("amdgpu_cs_chain_preserve", body),
            format!(
                "buffer_store_dword s_or_saveexec_b32 buffer_store_dword s_mov_b32 | {moves} buffer_load_dword s_mov_b32 buffer_load_dword chain_jump | 12"
            )
        );
    }
}
