//! Clauses: `s_clause` in front of neighbouring accesses of memory, which the wave then issues one behind the other, so that what they share of lines
//! and pages is found again before other waves take its place (GFX10).
//!
//! A clause is a run of accesses of one kind, all loads or all stores, by one base (resource, scalar address or address registers); between those of different bases
//! nothing is shared that would be lost. It must hold nothing else, so this follows all that inserts instructions, waits and NOPs among them. Cost: linear.
//!
//! Sources: RDNA ISA, "S_CLAUSE"; LLVM, SIInsertHardClauses (kinds, bases, length). The simulator checks the rules of clauses.

use mir::isa::format::Slot;
use mir::isa::{MemoryAction, MemoryKind, Opcode};
use mir::machine::{Function, Inst, Operand, Reg};
use mir::target::Target;

/// Accesses of a clause at most.
const MOST: usize = 63;

/// What the accesses of a clause have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Kind {
    memory: MemoryKind,
    stores: bool,
    base: Option<Reg>,
}

/// Puts `s_clause` in front of neighbouring accesses, where the target has it.
pub fn insert(f: &mut Function, target: &Target) {
    if !Opcode::S_CLAUSE.info().exists_on(target) {
        return;
    }
    // Where clauses begin, and of how many accesses.
    let mut found: Vec<(usize, usize)> = Vec::new();
    for &block in &f.layout {
        let insts = &mut f.blocks[block].insts;
        find(insts, &mut found);
        if found.is_empty() {
            continue;
        }
        let mut clauses = found.drain(..).peekable();
        let old = std::mem::replace(insts, Vec::with_capacity(insts.len() + clauses.len()));
        for (place, inst) in old.into_iter().enumerate() {
            if let Some((_, accesses)) = clauses.next_if(|&(first, _)| first == place) {
                let clause = Inst::new(Opcode::S_CLAUSE, [Operand::Imm(accesses as i64 - 1)]);
                insts.push(Inst { loc: inst.loc, ..clause });
            }
            insts.push(inst);
        }
    }
}

fn find(insts: &[Inst], found: &mut Vec<(usize, usize)>) {
    let mut open: Option<(Kind, usize, usize)> = None;
    let mut close = |open: Option<(Kind, usize, usize)>| {
        found.extend(open.filter(|&(.., count)| count > 1).map(|(_, first, count)| (first, count)));
    };
    for (place, inst) in insts.iter().enumerate() {
        if inst.op.is_mark() {
            // Nothing is left of them.
            continue;
        }
        let kind = kind(inst);
        open = match open {
            Some((of, first, count)) if kind == Some(of) && count < MOST => Some((of, first, count + 1)),
            other => {
                close(other);
                kind.map(|kind| (kind, place, 1))
            }
        };
    }
    close(open);
}

/// The kind of an access that may be in a clause.
fn kind(inst: &Inst) -> Option<Kind> {
    let facts = inst.facts();
    let memory = facts.memory?;
    let stores = match memory.action {
        action if action == MemoryAction::LOAD | MemoryAction::RETURNS => false,
        MemoryAction::STORE => true,
        _ => return None,
    };
    // GFX10.1 must not have addresses in further dwords there; elsewhere they are as rare.
    let kind = match memory.kind {
        MemoryKind::Lds | MemoryKind::Gds => return None,
        MemoryKind::Image if inst.mods.address_parts > 0 => return None,
        kind => kind,
    };
    let operand = |slot: Slot| {
        let of = inst.op.info().operands.iter().position(|desc| desc.slot == slot)?;
        Some(inst.operands.get(of)?.as_reg()?.reg)
    };
    let base = [Slot::Srsrc, Slot::Sbase, Slot::Saddr, Slot::Addr].into_iter().find_map(operand);
    Some(Kind { memory: kind, stores, base })
}
