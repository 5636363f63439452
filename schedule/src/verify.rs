//! Proves that a block is the same program in another order, from the instructions alone.
//!
//! The proof knows no graph and no units. Both orders are replayed from the block's start to its end, and what must be the same is compared:
//!
//! * the instructions: the new order is a permutation that the block really has, and leaves head and tail where they are;
//! * which instruction wrote what each instruction reads, in virtual and physical registers, and what follows the block may read;
//! * for each space of memory, the sequence of instructions that write it, and how many of them come before each one that reads it; where an access says which
//!   bytes behind which registers it touches, how many such writes behind other registers come before it, and which wrote its bytes last;
//! * how many walls come before each instruction.
//!
//! Counts stand for pairs, so the cost is linear.

use crate::effects::{Effects, SPACES, Spaces};
use crate::places::Base;
use mir::isa::{Implicit, Opcode, OperandAccess, Role};
use mir::machine::{Block, BlockData, Condition, Function, Inst, PReg, Reg, Stage, Terminator};
use mir::target::{Features, Target};
use mir::{Diagnostic, Result};
use std::collections::HashMap;

/// What holds a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    /// A physical register, by its number.
    Physical(u16),
    /// A virtual one.
    Virtual(u32),
}

/// The instruction that a value comes from, by its number in the old order; `None` where it comes from in front of the block.
type Origin = Option<u32>;

/// What an instruction met when it was executed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Met {
    reads: Vec<(Place, Origin)>,
    walls: u32,
    /// Writes of each space before it, of places that are not known.
    writes: [u32; SPACES],
    /// Those of places that are known in each space that it accesses, but for those behind the same registers if its place is known, too, and then the last ones
    /// of its bytes.
    places: [u32; SPACES],
    bytes: Vec<Option<u32>>,
}

/// One order being executed.
#[derive(Default)]
struct Replay {
    places: HashMap<Place, Origin>,
    /// The last instruction that may have changed any physical register.
    call: Origin,
    walls: u32,
    writes: [Vec<u32>; SPACES],
    /// Writes whose places are known in each space, how many of them are behind each address, and the last one of each byte.
    written: [u32; SPACES],
    behind: HashMap<(Base, usize), u32>,
    bytes: HashMap<(Base, i32, usize), u32>,
}

impl Replay {
    fn origin(&self, place: Place) -> Origin {
        match (self.places.get(&place), place) {
            (Some(&origin), _) => origin,
            (None, Place::Physical(_)) => self.call,
            (None, Place::Virtual(_)) => None,
        }
    }

    /// Writes of known places in each space that is accessed, but for those behind the same address.
    fn known_writes(&self, effects: &Effects) -> [u32; SPACES] {
        let mut counts = [0; SPACES];
        for space in effects.reads.each().chain(effects.writes.each()) {
            let behind = effects.place.and_then(|place| self.behind.get(&(place.base, space)).copied());
            counts[space] = self.written[space] - behind.unwrap_or_default();
        }
        counts
    }

    fn step(&mut self, f: &Function, inst: &Inst, number: u32, target: &Target) -> Met {
        let effects = Effects::of(inst, target);
        let (reads, writes) = accesses(f, inst, target);
        let met = Met {
            reads: reads.into_iter().map(|place| (place, self.origin(place))).collect(),
            walls: self.walls,
            writes: std::array::from_fn(|space| self.writes[space].len() as u32),
            places: self.known_writes(&effects),
            bytes: effects.place.map_or_else(Vec::new, |place| {
                let last = |space, byte| self.bytes.get(&(place.base, byte, space)).copied();
                let bytes = place.bytes.0..place.bytes.1;
                effects
                    .reads
                    .each()
                    .flat_map(|space| bytes.clone().map(move |byte| last(space, byte)))
                    .collect()
            }),
        };
        self.walls += u32::from(effects.wall);
        match effects.place {
            None => effects.writes.each().for_each(|space| self.writes[space].push(number)),
            Some(place) if effects.writes != Spaces::default() => {
                for space in effects.writes.each() {
                    self.written[space] += 1;
                    *self.behind.entry((place.base, space)).or_default() += 1;
                    let bytes = place.bytes.0..place.bytes.1;
                    self.bytes.extend(bytes.map(|byte| ((place.base, byte, space), number)));
                }
            }
            Some(_) => {}
        }
        if inst.op == Opcode::CALL {
            self.places.retain(|place, _| matches!(place, Place::Virtual(_)));
            self.call = Some(number);
        }
        for place in writes {
            self.places.insert(place, Some(number));
        }
        met
    }
}

/// Places that `inst` reads, and those that it writes.
fn accesses(f: &Function, inst: &Inst, target: &Target) -> (Vec<Place>, Vec<Place>) {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let physical = f.stage > Stage::Modelled;
    let row = inst.op.info().operands;
    for (k, operand) in inst.operands.iter().enumerate() {
        let Some(operand) = operand.as_reg() else { continue };
        let def = inst.operand_access(k) == OperandAccess::Def;
        // A write of a physical register leaves it as it was in lanes that are not active.
        let reads_too = physical || row.get(k).is_some_and(|desc| desc.role == Role::DefUse);
        let places = match operand.reg {
            Reg::Virtual(reg) => vec![Place::Virtual(reg.as_u32())],
            // It says whether VCC is 0.
            Reg::Physical(PReg::VCCZ) => {
                vec![Place::Physical(PReg::VCC_LO.0), Place::Physical(PReg::VCC_HI.0)]
            }
            Reg::Physical(reg) => (reg.0..reg.0 + u16::from(operand.dwords)).map(Place::Physical).collect(),
        };
        if !def || reads_too {
            reads.extend(&places);
        }
        if def {
            writes.extend(&places);
        }
    }
    let facts = inst.facts();
    for (first, dwords, write) in facts.implicit.registers(f.wave) {
        let places = (first.0..first.0 + dwords).map(Place::Physical);
        if write { writes.extend(places) } else { reads.extend(places) }
    }
    let limited = f.stage > Stage::Allocated && inst.needs_lds_limit() && !target.has(Features::LDS_NO_M0);
    if limited || inst.reads_m0() && !facts.implicit.contains(Implicit::M0_USE) {
        reads.push(Place::Physical(PReg::M0.0));
    }
    if let Some(site) = f.call_site(inst) {
        reads.extend(site.reads.iter().map(|reg| Place::Physical(reg.0)));
    }
    (reads, writes)
}

/// Places that are read where the block is left.
fn read_behind(f: &Function, data: &BlockData) -> Vec<Place> {
    let mut registers: Vec<PReg> = match data.term {
        Terminator::Uniform(Condition::Scc0 | Condition::Scc1) => vec![PReg::SCC],
        Terminator::Uniform(Condition::Vccz | Condition::Vccnz) => vec![PReg::VCC_LO, PReg::VCC_HI],
        Terminator::Return => (0..u16::from(f.result_dwords)).map(PReg::vgpr).collect(),
        _ => Vec::new(),
    };
    if data.term == Terminator::Return {
        registers.extend(&f.shader_results);
    }
    registers.into_iter().map(|reg| Place::Physical(reg.0)).collect()
}

/// Checks that a block of `f` has the instructions `old` in `order`, which has their numbers, and does the same.
///
/// # Errors
/// A defect that names the first instruction that is wrong, and why.
pub(crate) fn same(f: &Function, block: Block, old: &[Inst], order: &[u32], target: &Target) -> Result<()> {
    let new = &f.blocks[block];
    let wrong = |inst: Option<&Inst>, why: &str| {
        let error = Diagnostic::defect(format!("{why} once scheduled"));
        Err(match inst {
            Some(inst) => error.at(format!("{block}: {}", f.display_inst(inst))),
            None => error.at(block),
        })
    };
    let count = old.len();
    let mut places = vec![false; count];
    for &n in order {
        match places.get_mut(n as usize) {
            Some(place @ false) => *place = true,
            _ => return wrong(None, "an instruction is missing or stands twice"),
        }
    }
    if order.len() != count
        || new.insts.len() != count
        || order.iter().zip(&new.insts).any(|(&n, inst)| old[n as usize] != *inst)
    {
        return wrong(None, "there are other instructions");
    }
    if f.stage <= Stage::Allocated {
        let stays = |k: usize| k < new.head_len as usize || k >= new.tail_start as usize;
        if let Some(k) = (0..count).find(|&k| stays(k) && order[k] as usize != k) {
            return wrong(new.insts.get(k), "head or tail moved");
        }
    }
    let (mut before, mut after) = (Replay::default(), Replay::default());
    let met: Vec<Met> =
        old.iter().enumerate().map(|(n, inst)| before.step(f, inst, n as u32, target)).collect();
    for (&n, inst) in order.iter().zip(&new.insts) {
        let (was, is) = (&met[n as usize], after.step(f, inst, n, target));
        if was.reads != is.reads {
            return wrong(Some(inst), "reads another value");
        }
        let effects = Effects::of(inst, target);
        // What was written before the program started may be read before a write that it was behind.
        let same = match effects.unwritten {
            true => {
                was.places.iter().zip(&is.places).all(|(was, is)| is <= was)
                    && is.bytes.iter().all(|writer| writer.is_none_or(|writer| writer < n))
            }
            false => was.places == is.places && was.bytes == is.bytes,
        };
        if !same {
            return wrong(Some(inst), "accesses memory before or behind another write");
        }
        if was.walls != is.walls {
            return wrong(Some(inst), "is on the other side of a wall");
        }
        for space in effects.reads.each() {
            let (was, is) = (was.writes[space], is.writes[space]);
            if is > was || is < was && !effects.unwritten {
                return wrong(Some(inst), "reads memory before or behind another write");
            }
        }
    }
    if before.writes != after.writes {
        return wrong(None, "memory is written in another order");
    }
    let behind = match f.stage {
        Stage::Selected | Stage::Linear | Stage::Modelled => read_behind(f, new),
        _ => before.places.keys().chain(after.places.keys()).copied().collect(),
    };
    if behind.into_iter().any(|place| before.origin(place) != after.origin(place)) {
        return wrong(None, "leaves another value");
    }
    Ok(())
}
