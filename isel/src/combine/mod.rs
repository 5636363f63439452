//! Instructions that other instructions make superfluous: bytes taken apart and put together, moves between lanes, comparisons with zero.
//!
//! # The problem
//!
//! Selection works value by value. What a mask, a shift or a move between lanes costs depends on who reads the result: an instruction with
//! an SDWA encoding reads and writes bytes and halves itself, one with a DPP encoding reads other lanes, and many scalar instructions
//! have compared their result with zero already.
//!
//! # The idea
//!
//! 0. [`image_address`] names the registers of an image's address one by one where moves would put them side by side.
//! 1. [`indices`] computes the scaled indices of a block once. [`amounts`] drops masks of shift amounts. [`scc`] drops comparisons with zero of what has just set SCC that way.
//! 2. A walk forwards notes where each byte of a register comes from ([`bytes`]), and counts which users of a byte or half can read it in place.
//! 3. A walk backwards, users before what they use, replaces: a tree of instructions that only moves bytes becomes one instruction ([`tree`]); who
//!    reads a part of a register reads it there ([`sdwa`]); a move between lanes becomes a part of its user ([`dpp`]). What is then unused goes.
//! 4. [`mix`] takes conversions of halves into products and sums.
//! 5. [`literals`] gives a constant to the instruction that reads it.
//!
//! # Invariants
//!
//! Code is SSA on the thread graph. A replaced register's source is defined wherever it was, so that each lane has it; instructions only move
//! down inside of their block, and not past anything that changes MODE, lanes or memory.
//!
//! # Cost
//!
//! Linear: two walks, each looking at a bounded neighbourhood.

mod amounts;
mod bytes;
mod dpp;
mod image_address;
mod indices;
mod literals;
mod mix;
mod scc;
mod sdwa;
mod tree;

use bytes::Known;
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use mir::isa::{Implicit, OpFlags, Opcode, Unit};
use mir::machine::{
    Block, BlockData, Encoding, Function, Inst, Operand, PReg, Reg, RegFile, RegOperand, Terminator, VReg,
};
use mir::target::Target;
use rustc_hash::FxHashMap;

/// Replaces instructions of selected code by fewer.
pub fn combine(f: &mut Function, target: &Target) {
    debug_assert!(f.stage == mir::machine::Stage::Selected);
    let mut layout = std::mem::take(&mut f.layout);
    for &block in &layout {
        indices::share(f, block);
        scc::reuse(f, block);
    }
    image_address::scatter(f, target, &layout);
    amounts::unmask(f, &layout);
    let mut combiner = Combiner::look(f, target, &layout);
    if combiner.known.is_of_use() {
        for &block in layout.iter().rev() {
            combiner.block(f, block);
        }
    }
    mix::fuse(f, target, &layout);
    literals::fold(f, target, &layout);
    std::mem::swap(&mut f.layout, &mut layout);
}

/// Where a register is defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    block: Block,
    /// Index in the block.
    index: u32,
    /// Number of instructions before it that nothing moves past.
    epoch: u32,
}

impl Default for Place {
    /// Where no instruction is: parameters, and what a function starts with.
    fn default() -> Self {
        Self { block: Block::new(u32::MAX as usize - 1), index: 0, epoch: 0 }
    }
}

struct Combiner<'a> {
    target: &'a Target,
    known: Known,
    /// Number of operands and arguments of edges that are, or are part of, the register.
    uses: SecondaryMap<VReg, u32>,
    places: SecondaryMap<VReg, Place>,
    /// Users that can read a field of another register in place of this one; [`ALL`] where all users can.
    foldable: SecondaryMap<VReg, u32>,
    /// Registers whose last use went.
    unused: SecondaryMap<VReg, bool>,
    /// Scalar constants made in front of the block being walked over.
    constants: FxHashMap<u32, VReg>,
    /// Their definitions.
    prelude: Vec<Inst>,
    /// Instructions of the block that went.
    removed: Vec<u32>,
    block: Block,
    epoch: u32,
    /// Whether anything runs in all lanes of the wave.
    strict: bool,
    /// Registers that are computed in all lanes of the wave, as far as the walk backwards has come.
    whole: EntitySet<VReg>,
}

const ALL: u32 = u32::MAX;

/// The virtual VGPR of which `operand` is one dword.
fn vgpr(f: &Function, operand: &Operand) -> Option<(VReg, u8)> {
    match *operand {
        Operand::Reg(RegOperand { reg: Reg::Virtual(reg), sub, dwords: 1 })
            if f.vregs[reg].file == RegFile::Vgpr =>
        {
            Some((reg, sub))
        }
        _ => None,
    }
}

/// The register file of an operand.
fn file(f: &Function, reg: &RegOperand) -> RegFile {
    match reg.reg {
        Reg::Virtual(reg) => f.vregs[reg].file,
        Reg::Physical(reg) if reg.is_vgpr() => RegFile::Vgpr,
        Reg::Physical(_) => RegFile::Sgpr,
    }
}

/// The register that `inst` defines alone, a dword of its own.
fn single_result(f: &Function, inst: &Inst) -> Option<VReg> {
    let (reg, 0) = vgpr(f, inst.operands.first()?)? else { return None };
    (inst.facts().def_count == 1 && f.vregs[reg].dwords == 1).then_some(reg)
}

/// Whether nothing moves past `inst`.
fn is_wall(inst: &Inst) -> bool {
    const WALLS: OpFlags = OpFlags::SIDE_EFFECTS
        .union(OpFlags::BARRIER)
        .union(OpFlags::MODE_DEF)
        .union(OpFlags::EXEC_DEF)
        .union(OpFlags::BRANCH);
    inst.op.info().flags.intersects(WALLS)
}

impl<'a> Combiner<'a> {
    /// Counts uses, and notes places, what is known of registers, and which users can read a part of another one.
    fn look(f: &Function, target: &'a Target, layout: &[Block]) -> Self {
        let count = f.vregs.len();
        let mut combiner = Self {
            target,
            known: Known::default(),
            uses: SecondaryMap::with_capacity(count),
            places: SecondaryMap::with_capacity(count),
            foldable: SecondaryMap::new(),
            unused: SecondaryMap::new(),
            constants: FxHashMap::default(),
            prelude: Vec::new(),
            removed: Vec::new(),
            block: Block::new(0),
            epoch: 0,
            strict: false,
            whole: EntitySet::new(),
        };
        let sdwa = target.has(mir::target::Features::SDWA);
        let mut fields: Vec<VReg> = Vec::new();
        for &block in layout {
            let data = &f.blocks[block];
            let mut epoch = 0;
            for (index, inst) in data.insts.iter().enumerate() {
                let mut known = false;
                for (is_def, operand) in inst.regs() {
                    let Reg::Virtual(reg) = operand.reg else { continue };
                    if is_def {
                        combiner.places[reg] = Place { block, index: index as u32, epoch };
                    } else {
                        combiner.uses[reg] += 1;
                        known |= combiner.known.has(reg);
                    }
                }
                if sdwa && known {
                    sdwa::count(&mut combiner, f, block, inst, &mut fields);
                }
                combiner.known.note(f, inst, target);
                combiner.strict |= dpp::wants_whole_wave(inst).is_some();
                epoch += u32::from(is_wall(inst));
            }
            combiner.count_edges(data);
        }
        for reg in fields {
            if combiner.foldable[reg] == combiner.uses[reg] && combiner.uses[reg] <= sdwa::MOST_USERS {
                combiner.foldable[reg] = ALL;
            }
        }
        combiner
    }

    fn count_edges(&mut self, data: &BlockData) {
        let scalars = data.thread_sargs.iter().flatten();
        for &arg in data.thread_succs.iter().flat_map(|edge| &edge.args).chain(scalars) {
            self.uses[arg] += 1;
        }
        if let Terminator::Divergent(mask) = data.term {
            self.uses[mask] += 1;
        }
    }

    /// Replaces what can be replaced in a block, from its end to its start.
    fn block(&mut self, f: &mut Function, block: Block) {
        let mut insts = std::mem::take(&mut f.blocks[block].insts);
        self.block = block;
        self.constants.clear();
        self.arguments(f, block);
        self.epoch = insts.iter().map(|inst| u32::from(is_wall(inst))).sum();
        for i in (0..insts.len()).rev() {
            self.epoch -= u32::from(is_wall(&insts[i]));
            if self.is_unused(&insts[i]) {
                for (_, operand) in insts[i].regs().filter(|(is_def, _)| !is_def) {
                    self.release(operand);
                }
                self.removed.push(i as u32);
                continue;
            }
            if self.strict {
                dpp::note_whole_wave(self, &insts[i]);
            }
            tree::replace(self, f, &mut insts, i);
            sdwa::read_parts(self, f, &mut insts[i]);
            dpp::take_in(self, f, &mut insts, i);
        }
        // What went is still there, backwards.
        if !self.removed.is_empty() {
            let mut index = 0;
            insts.retain(|_| {
                let goes = self.removed.last() == Some(&index);
                if goes {
                    self.removed.pop();
                }
                index += 1;
                !goes
            });
        }
        if !self.prelude.is_empty() {
            insts.splice(0..0, self.prelude.drain(..));
        }
        f.blocks[block].tail_start = insts.len() as u32;
        f.blocks[block].insts = insts;
    }

    /// Arguments of edges that are other registers byte by byte.
    fn arguments(&mut self, f: &mut Function, block: Block) {
        let mut edges = std::mem::take(&mut f.blocks[block].thread_succs);
        for arg in edges.iter_mut().flat_map(|edge| &mut edge.args) {
            if f.vregs[*arg].file == RegFile::Vgpr
                && f.vregs[*arg].dwords == 1
                && let Some((reg, 0)) = sdwa::same_dword(self, f, *arg, 0)
                && f.vregs[reg].dwords == 1
            {
                self.change_use(*arg, reg);
                *arg = reg;
            }
        }
        f.blocks[block].thread_succs = edges;
    }

    /// Whether `inst` computes something that lost its last user.
    fn is_unused(&self, inst: &Inst) -> bool {
        let plain = match inst.op {
            Opcode::REG_SEQUENCE | Opcode::S_MOV_B32 | Opcode::IMPLICIT_DEF => true,
            _ => {
                inst.facts().unit == Unit::Valu
                    && !is_wall(inst)
                    && !inst.facts().implicit.intersects(Implicit::DEFS)
            }
        };
        let mut lost = false;
        plain
            && inst.regs().filter(|(is_def, _)| *is_def).all(|(_, operand)| match operand.reg {
                Reg::Virtual(reg) if self.uses[reg] == 0 => {
                    lost |= self.unused.get(reg).copied().unwrap_or(false);
                    true
                }
                _ => false,
            })
            && lost
    }

    /// One use of `operand` less.
    fn release(&mut self, operand: &RegOperand) {
        if let Reg::Virtual(reg) = operand.reg {
            self.uses[reg] = self.uses[reg].saturating_sub(1);
            if self.uses[reg] == 0 {
                self.unused[reg] = true;
            }
        }
    }

    /// One use of `operand` more.
    fn retain(&mut self, operand: &RegOperand) {
        if let Reg::Virtual(reg) = operand.reg {
            self.uses[reg] += 1;
        }
    }

    /// A use of `old` is one of `new`.
    fn change_use(&mut self, old: VReg, new: VReg) {
        for (reg, more) in [(new, true), (old, false)] {
            let operand = RegOperand { reg: Reg::Virtual(reg), sub: 0, dwords: 1 };
            if more { self.retain(&operand) } else { self.release(&operand) }
        }
    }

    /// Puts `new` in the place of `old`; uses follow.
    fn put(&mut self, old: &mut Inst, mut new: Inst) {
        new.loc = if new.loc == 0 { old.loc } else { new.loc };
        for (_, operand) in new.regs().filter(|(is_def, _)| !is_def) {
            self.retain(operand);
        }
        let old = std::mem::replace(old, new);
        for (_, operand) in old.regs().filter(|(is_def, _)| !is_def) {
            self.release(operand);
        }
    }

    /// An SGPR that holds `bits`.
    fn scalar(&mut self, f: &mut Function, bits: u32) -> Operand {
        let prelude = &mut self.prelude;
        let reg = *self.constants.entry(bits).or_insert_with(|| {
            let reg = f.new_vreg(RegFile::Sgpr, 1);
            let constant = Operand::Imm(i64::from(bits as i32));
            prelude.push(Inst::new(Opcode::S_MOV_B32, [Operand::vreg(reg, 1), constant]));
            reg
        });
        Operand::vreg(reg, 1)
    }

    /// The operands of `inst` as an SDWA or DPP encoding wants them: a carry that nobody reads goes to VCC, as there is no other place.
    fn settle_carry(&self, inst: &mut Inst) {
        let info = inst.op.info();
        if info.format == mir::isa::Format::Vop2
            && let (Some(desc), Some(Operand::Reg(mask))) = (info.operands.get(1), inst.operands.get(1))
            && desc.role == mir::isa::Role::Def
            && let Reg::Virtual(reg) = mask.reg
            && self.uses[reg] == 0
        {
            inst.operands[1] = Operand::Reg(RegOperand { reg: PReg::VCC_LO.into(), ..*mask });
        }
    }

    /// Whether `inst` can have `encoding`.
    fn has_form(&self, f: &Function, inst: &Inst, encoding: Encoding) -> bool {
        mir::isa::has_extended_form(inst, encoding, self.target, |reg| file(f, reg))
    }
}
