//! Scalar constants that loops use, in front of them.
//!
//! Literals that a loop needs in SGPRs, and the buffer resource without a base, are made once, where the wave comes from on its way to the outermost loop around their users. Allocation
//! makes a constant again where its register is wanted for something else, so what is kept here is never spilled; the number is
//! limited all the same, since a wave with many SGPRs may have fewer beside it. In functions that call nothing is kept.

use super::Selector;
use mir::analysis::{Dominators, Loops};
use mir::ir::Block;
use mir::isa::Opcode;
use mir::machine::{Operand, RegFile};
use rustc_hash::FxHashMap;

/// Most registers of an outermost loop.
const MAX_REGISTERS: usize = 24;

/// Most dominators that are looked at for a block outside of all loops. Where loops follow each other without a block between them, constants
/// would otherwise live through all loops before their own.
const MAX_STEPS: usize = 64;

/// A loop that no other is around.
#[derive(Clone, Copy, Debug, Default)]
struct Outermost {
    /// Where its constants are made, if there is a place for them.
    block: Option<u32>,
    registers: usize,
    /// The buffer resource without a base.
    resource: Option<Operand>,
}

/// What is made in front of a loop.
#[derive(Clone, Copy, Debug)]
enum Made {
    Constant(Operand),
    Resource,
}

/// The constants of a function's loops.
#[derive(Debug, Default)]
pub(super) struct LoopConstants {
    /// By loop: the number of the outermost one around it.
    outermost: Vec<usize>,
    loops: Vec<Outermost>,
    known: FxHashMap<(usize, Operand), Operand>,
    /// By block: what is made at its end.
    made: FxHashMap<u32, Vec<(Operand, Made)>>,
}

impl LoopConstants {
    pub(super) fn new(loops: &Loops, dominators: &Dominators, entry: u32) -> Self {
        let mut this = Self::default();
        for l in loops.iter() {
            let own = match loops[l].parent {
                Some(parent) => this.outermost[parent.index()],
                None => {
                    let up = |&block: &u32| dominators.idom(block).filter(|_| block != entry);
                    let mut ways = std::iter::successors(Some(loops[l].header), up).take(MAX_STEPS);
                    let block = ways.find(|&block| loops.depth(block) == 0);
                    this.loops.push(Outermost { block, ..Outermost::default() });
                    this.loops.len() - 1
                }
            };
            this.outermost.push(own);
        }
        this
    }
}

impl Selector<'_> {
    /// The register that has `source` throughout the loops around the present block; `None` outside of loops and where there is no room.
    pub(super) fn loop_constant(&mut self, source: Operand) -> Option<Operand> {
        let innermost = self.uniformity.loops().innermost(self.block.as_u32())?;
        if self.has_calls {
            return None;
        }
        let number = *self.loop_constants.outermost.get(innermost.index())?;
        if let Some(&known) = self.loop_constants.known.get(&(number, source)) {
            return Some(known);
        }
        let outermost = &mut self.loop_constants.loops[number];
        let block = outermost.block.filter(|_| outermost.registers < MAX_REGISTERS)?;
        outermost.registers += 1;
        let reg = Operand::vreg(self.mf.new_vreg(RegFile::Sgpr, 1), 1);
        self.loop_constants.known.insert((number, source), reg);
        self.loop_constants.made.entry(block).or_default().push((reg, Made::Constant(source)));
        Some(reg)
    }

    /// The buffer resource without a base that the loops around the present block share; `None` where a constant would not be kept.
    pub(super) fn loop_resource(&mut self) -> Option<Operand> {
        let innermost = self.uniformity.loops().innermost(self.block.as_u32())?;
        if self.has_calls {
            return None;
        }
        let number = *self.loop_constants.outermost.get(innermost.index())?;
        let outermost = &mut self.loop_constants.loops[number];
        if outermost.resource.is_some() {
            return outermost.resource;
        }
        let block = outermost.block.filter(|_| outermost.registers + 4 <= MAX_REGISTERS)?;
        let reg = Operand::vreg(self.mf.new_vreg(RegFile::Sgpr, 4), 4);
        outermost.registers += 4;
        outermost.resource = Some(reg);
        self.loop_constants.made.entry(block).or_default().push((reg, Made::Resource));
        Some(reg)
    }

    /// Makes the constants of loops that are reached through `block`, at its end.
    pub(super) fn emit_loop_constants(&mut self, block: Block) {
        for (reg, made) in self.loop_constants.made.remove(&block.as_u32()).unwrap_or_default() {
            match made {
                Made::Constant(source) => {
                    self.emit(Opcode::S_MOV_B32, [reg, source]);
                }
                Made::Resource => self.make_plain_resource(reg),
            }
        }
    }
}
