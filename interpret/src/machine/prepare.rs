//! Instructions made ready: each once, before anything runs.
//!
//! What the hardware knows is executed by the simulator. Its operands are physical registers, so each virtual one is replaced by a *stand-in*, a tuple
//! that the function names nowhere; values are copied there before and from there after. The instruction is encoded and decoded again, which
//! gives it the form that the simulator knows and shows that the processor has it. Pseudo instructions are done by [`super::execute`].

use super::registers::{MaskPlaces, Numbering, Place, Whole};
use mir::isa::{Opcode, Role, Unit};
use mir::machine::{
    Block, Condition, Function, Inst, ModFlags, Operand, PReg, Reg, RegFile, RegOperand, RelocKind,
    Terminator, VReg,
};
use mir::target::{Features, Target, WaveSize};
use mir::{Diagnostic, Result, ir};
use rustc_hash::FxHashSet;
use sim::program::Op;
use smallvec::SmallVec;

/// Where a dword of a copy comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Register(Place),
    Constant(u32),
    Undefined,
}

/// A dword of an operand and its stand-in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub outside: Source,
    pub stand_in: PReg,
}

/// An instruction for the simulator.
#[derive(Debug)]
pub(super) struct Real {
    pub op: Op,
    /// Copied before.
    pub reads: SmallVec<[Transfer; 4]>,
    /// Copied afterwards.
    pub writes: SmallVec<[Transfer; 4]>,
    /// M0 must allow all of LDS, as the prolog will see to.
    pub lds_limit: bool,
    /// What it reads depends on time.
    pub clock: bool,
    /// Lanes are named, not chosen by EXEC.
    pub named_lane: bool,
}

/// What an instruction does.
#[derive(Debug)]
pub(super) enum Action {
    Real(Box<Real>),
    /// Dwords that change places at once.
    Copy(SmallVec<[(Place, Source); 4]>),
    /// Element `index` + `offset` of a tuple.
    IndexedRead {
        dst: Place,
        vector: SmallVec<[Place; 8]>,
        index: Source,
        offset: i32,
    },
    /// The tuple with one element replaced.
    IndexedWrite {
        dst: SmallVec<[Place; 8]>,
        old: SmallVec<[Source; 8]>,
        element: Source,
        index: Source,
        offset: i32,
    },
    /// A symbol's address.
    Address {
        dst: [Place; 2],
        value: u64,
    },
    /// From here on marked instructions run with the lanes of `mask`.
    LanesBegin {
        saved: MaskPlaces,
        mask: [Source; 2],
    },
    LanesEnd,
    Call {
        target: [Source; 2],
        link: [Place; 2],
        site: usize,
    },
    Nothing,
    Unsupported(String),
}

/// A prepared instruction.
#[derive(Debug)]
pub(super) struct Step {
    pub action: Action,
    /// Runs with the lanes of the region around it.
    pub other_lanes: bool,
}

/// How control leaves a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exit {
    Jump,
    Uniform(Condition),
    /// Lanes whose bit is set take the first edge.
    Divergent(MaskPlaces),
    End,
    /// To the address in these registers; `None` where the code of a driver follows.
    Return(Option<[Source; 2]>),
    Unreachable,
}

/// An edge with the arguments that are passed along it.
#[derive(Debug)]
pub(super) struct Way {
    pub block: u32,
    pub moves: Vec<(Whole, Whole)>,
    /// While lanes are by themselves: arguments of scalar parameters.
    pub scalars: Vec<(Whole, Whole)>,
}

/// A prepared block.
#[derive(Debug, Default)]
pub(super) struct BlockCode {
    pub steps: Vec<Step>,
    pub head_len: usize,
    pub tail_start: usize,
    pub exit: Option<Exit>,
    pub ways: Vec<Way>,
    /// While lanes are by themselves: scalar parameters.
    pub scalars: Vec<Whole>,
    /// VGPR arguments of this block that move at the start of its body.
    pub starts: Vec<(Whole, Whole)>,
    /// VGPR arguments of successors that move at the end of the body.
    pub ends: Vec<(Whole, Whole)>,
    /// Where its lanes may go, by the thread graph.
    pub lane_succs: SmallVec<[u32; 2]>,
    /// Whether lanes come here by the thread graph; gates and split edges are places of the wave alone.
    pub has_lanes: bool,
    /// Number of its first instruction among all of the program.
    pub first_site: u32,
}

impl BlockCode {
    /// Whether nothing happens in it: no instructions between head and tail, no arguments that move.
    pub fn has_empty_body(&self) -> bool {
        self.head_len == self.tail_start && self.starts.is_empty() && self.ends.is_empty()
    }
}

/// What preparing needs to know of the world.
pub(super) struct Preparer<'a> {
    pub f: &'a Function,
    pub numbering: &'a Numbering,
    pub target: &'a Target,
    /// Address of a symbol or, with `true`, of its entry in the table of addresses.
    pub symbols: &'a dyn Fn(ir::SymbolRef, bool) -> Option<u64>,
    /// Physical registers that the function names, which no stand-in may be.
    named: FxHashSet<PReg>,
}

/// First dword of an operand's stand-in.
struct StandIns {
    next_sgpr: u16,
    next_vgpr: u16,
    of_sources: SmallVec<[(VReg, PReg); 4]>,
}

impl<'a> Preparer<'a> {
    pub fn new(
        f: &'a Function,
        numbering: &'a Numbering,
        target: &'a Target,
        symbols: &'a dyn Fn(ir::SymbolRef, bool) -> Option<u64>,
    ) -> Self {
        let mut named = FxHashSet::default();
        let operands = f.layout.iter().flat_map(|&b| &f.blocks[b].insts).flat_map(|inst| inst.regs());
        for (_, operand) in operands {
            if let Reg::Physical(first) = operand.reg {
                named.extend((0..u16::from(operand.dwords)).map(|d| first.plus(d)));
            }
        }
        for call in &f.calls {
            named.extend(call.reads.iter().copied());
            named.extend((0..u16::from(call.result_dwords)).map(PReg::vgpr));
        }
        named.extend((0..u16::from(f.result_dwords)).map(PReg::vgpr));
        Self { f, numbering, target, symbols, named }
    }

    /// Prepares the instructions of `block`.
    pub fn steps(&self, block: Block) -> Vec<Step> {
        self.f.blocks[block].insts.iter().map(|inst| self.step(inst)).collect()
    }

    /// How control leaves `block`; `None` where its mask does not exist.
    pub fn exit(&self, block: Block) -> Option<Exit> {
        Some(match self.f.blocks[block].term {
            Terminator::Jump => Exit::Jump,
            Terminator::Uniform(condition) => Exit::Uniform(condition),
            Terminator::Divergent(mask) => {
                Exit::Divergent(self.mask(&Operand::mask(mask, self.f.wave)).ok()?)
            }
            Terminator::EndProgram => Exit::End,
            Terminator::Return => {
                let last = self.f.blocks[block].insts.last();
                let jump = last.filter(|inst| inst.op == Opcode::S_SETPC_B64);
                let address = jump.and_then(|inst| inst.operands.first());
                Exit::Return(address.map(|o| [self.source(o, 0), self.source(o, 1)]))
            }
            Terminator::Unreachable => Exit::Unreachable,
        })
    }

    /// Parameters with their arguments.
    pub fn moves(&self, params: &[VReg], args: &[VReg]) -> Vec<(Whole, Whole)> {
        let whole = |reg: &VReg| self.numbering.whole(*reg);
        params.iter().zip(args).filter_map(|(param, arg)| Some((whole(param)?, whole(arg)?))).collect()
    }

    /// Whole registers.
    pub fn wholes(&self, regs: &[VReg]) -> Vec<Whole> {
        regs.iter().filter_map(|&reg| self.numbering.whole(reg)).collect()
    }

    fn step(&self, inst: &Inst) -> Step {
        let action = self.action(inst).unwrap_or_else(|error| Action::Unsupported(error.to_string()));
        Step { action, other_lanes: inst.mods.flags.contains(ModFlags::OTHER_LANES) }
    }

    fn action(&self, inst: &Inst) -> Result<Action> {
        let operand =
            |k: usize| inst.operands.get(k).ok_or_else(|| Diagnostic::malformed("an operand is missing"));
        let index = |k: usize| -> Result<Source> { Ok(self.source(operand(k)?, 0)) };
        Ok(match inst.op {
            Opcode::COPY | Opcode::REG_SEQUENCE => self.copy(inst)?,
            Opcode::IMPLICIT_DEF => {
                Action::Copy(self.places(operand(0)?)?.into_iter().map(|p| (p, Source::Undefined)).collect())
            }
            Opcode::FENCE => Action::Nothing,
            Opcode::PC_ADDRESS => {
                Action::Address { dst: self.pair(operand(0)?)?, value: self.address(operand(1)?)? }
            }
            Opcode::INDEXED_READ => Action::IndexedRead {
                dst: self.place(operand(0)?)?,
                vector: self.places(operand(1)?)?.into_iter().collect(),
                index: index(2)?,
                offset: inst.mods.offset,
            },
            Opcode::INDEXED_WRITE => {
                let old = inst.operands.get(3).unwrap_or(operand(0)?);
                let dst: SmallVec<[Place; 8]> = self.places(operand(0)?)?.into_iter().collect();
                Action::IndexedWrite {
                    old: (0..dst.len()).map(|d| self.source(old, d as u8)).collect(),
                    dst,
                    element: index(1)?,
                    index: index(2)?,
                    offset: inst.mods.offset,
                }
            }
            Opcode::LANES_BEGIN => {
                Action::LanesBegin { saved: self.mask(operand(0)?)?, mask: self.mask_source(operand(1)?) }
            }
            Opcode::LANES_END => Action::LanesEnd,
            Opcode::CALL => Action::Call {
                link: self.pair(operand(0)?)?,
                target: [self.source(operand(1)?, 0), self.source(operand(1)?, 1)],
                site: operand(2)?.as_imm().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX),
            },
            op if op.facts().unit == Unit::Pseudo => {
                return Err(Diagnostic::unsupported(format!("{op:?}")));
            }
            _ => Action::Real(Box::new(self.real(inst)?)),
        })
    }

    fn copy(&self, inst: &Inst) -> Result<Action> {
        let dst = inst.operands.first().map(|o| self.places(o)).transpose()?.unwrap_or_default();
        let mut sources: SmallVec<[Source; 4]> = SmallVec::new();
        for operand in inst.operands.iter().skip(1) {
            let dwords = match operand {
                Operand::Reg(reg) => reg.dwords,
                Operand::Imm(_) if inst.op == Opcode::COPY => dst.len() as u8,
                _ => 1,
            };
            sources.extend((0..dwords).map(|d| self.source(operand, d)));
        }
        // What a sequence leaves out is undefined.
        sources.resize(dst.len().max(sources.len()), Source::Undefined);
        Ok(Action::Copy(dst.into_iter().zip(sources).collect()))
    }

    fn source(&self, operand: &Operand, d: u8) -> Source {
        match operand {
            Operand::Reg(reg) => self.numbering.place(reg, d).map_or(Source::Undefined, Source::Register),
            Operand::Imm(value) => {
                Source::Constant((if d < 2 { value >> (32 * d) } else { value >> 63 }) as u32)
            }
            _ => Source::Undefined,
        }
    }

    fn place(&self, operand: &Operand) -> Result<Place> {
        let place = operand.as_reg().and_then(|reg| self.numbering.place(reg, 0));
        place.ok_or_else(|| Diagnostic::malformed("an operand is no register"))
    }

    fn places(&self, operand: &Operand) -> Result<SmallVec<[Place; 4]>> {
        let Operand::Reg(reg) = operand else {
            return Err(Diagnostic::malformed("an operand is no register"));
        };
        let places = (0..reg.dwords).map(|d| self.numbering.place(reg, d));
        places.collect::<Option<_>>().ok_or_else(|| Diagnostic::malformed("a register does not exist"))
    }

    fn mask(&self, operand: &Operand) -> Result<MaskPlaces> {
        match *self.places(operand)?.as_slice() {
            [low] if self.f.wave == WaveSize::W32 => Ok(MaskPlaces { low, high: None }),
            [low, high] if self.f.wave == WaveSize::W64 => Ok(MaskPlaces { low, high: Some(high) }),
            _ => Err(Diagnostic::malformed("an operand is no mask of lanes")),
        }
    }

    fn mask_source(&self, operand: &Operand) -> [Source; 2] {
        let high = match self.f.wave {
            WaveSize::W32 => Source::Constant(0),
            WaveSize::W64 => self.source(operand, 1),
        };
        [self.source(operand, 0), high]
    }

    fn pair(&self, operand: &Operand) -> Result<[Place; 2]> {
        match self.places(operand)?.as_slice() {
            &[lo, hi] => Ok([lo, hi]),
            _ => Err(Diagnostic::malformed("an operand is no pair of registers")),
        }
    }

    /// What `PC_ADDRESS` computes from its low literal, which counts from 4 bytes behind `s_getpc_b64`.
    fn address(&self, low: &Operand) -> Result<u64> {
        let &Operand::Symbol { symbol, addend, kind } = low else {
            return Err(Diagnostic::unsupported("an address that is no symbol's"));
        };
        let got = kind == RelocKind::GotPcRel32Lo;
        Ok(self.symbol(symbol, got)?.wrapping_add(i64::from(addend) as u64).wrapping_sub(4))
    }

    fn symbol(&self, symbol: mir::machine::SymbolId, got: bool) -> Result<u64> {
        let reference = *self.f.symbols.get(symbol).ok_or_else(|| Diagnostic::malformed("no such symbol"))?;
        let what = if got { "table entry" } else { "address" };
        (self.symbols)(reference, got)
            .ok_or_else(|| Diagnostic::unsupported(format!("the {what} of {reference:?} is not known")))
    }

    fn real(&self, inst: &Inst) -> Result<Real> {
        let info = inst.op.info();
        let row = info.operands;
        let mut new = inst.clone();
        new.mods.flags.remove(ModFlags::OTHER_LANES);
        let mut stand_ins = StandIns { next_sgpr: 0, next_vgpr: 0, of_sources: SmallVec::new() };
        let (mut reads, mut writes) = (SmallVec::new(), SmallVec::new());
        let kept = inst.kept_operands().min(inst.operands.len());
        for k in 0..kept {
            match inst.operands[k] {
                Operand::Reg(RegOperand { reg: Reg::Virtual(reg), sub, dwords }) => {
                    let is_def = row.get(k).is_some_and(|desc| desc.role != Role::Use);
                    let first = self.stand_in(&mut stand_ins, reg, !is_def)?.plus(sub.into());
                    new.operands[k] = Operand::preg(first, dwords);
                    self.transfers(&inst.operands[k], first, if is_def { &mut writes } else { &mut reads });
                }
                Operand::Symbol { symbol, addend, kind } => {
                    let value = self.symbol(symbol, false)?.wrapping_add(i64::from(addend) as u64);
                    new.operands[k] = Operand::Imm(match kind {
                        RelocKind::Abs32Lo => i64::from(value as i32),
                        RelocKind::Abs32Hi => i64::from((value >> 32) as i32),
                        _ => return Err(Diagnostic::unsupported("an address relative to the code")),
                    });
                }
                _ => {}
            }
        }
        for (extra, operand) in inst.operands.iter().enumerate().skip(kept) {
            let def = tied_definition(row, extra - kept);
            match new.operands.get(def).copied() {
                Some(Operand::Reg(RegOperand { reg: Reg::Physical(first), .. })) => {
                    self.transfers(operand, first, &mut reads);
                }
                // Nothing is defined: the position only reads.
                Some(_) => {
                    let Operand::Reg(RegOperand { reg: Reg::Virtual(reg), sub, dwords }) = *operand else {
                        return Err(Diagnostic::malformed("a tied operand is no virtual register"));
                    };
                    let first = self.stand_in(&mut stand_ins, reg, true)?.plus(sub.into());
                    new.operands[def] = Operand::preg(first, dwords);
                    self.transfers(operand, first, &mut reads);
                }
                None => return Err(Diagnostic::malformed("a tied operand without a definition")),
            }
        }
        new.operands.truncate(kept);
        let mut words = Vec::new();
        mir::isa::encode(&new, self.target, &mut words)?;
        let (decoded, size) = sim::decode::decode(&words, self.target).map_err(Diagnostic::defect)?;
        let lds = inst.needs_lds_limit();
        Ok(Real {
            op: Op::new(decoded, size, self.target),
            reads,
            writes,
            lds_limit: lds && !self.target.has(Features::LDS_NO_M0),
            clock: matches!(inst.op, Opcode::S_MEMTIME | Opcode::S_MEMREALTIME),
            named_lane: inst.op == Opcode::V_WRITELANE_B32,
        })
    }

    fn transfers(&self, operand: &Operand, first: PReg, out: &mut SmallVec<[Transfer; 4]>) {
        let dwords = operand.as_reg().map_or(1, |reg| reg.dwords);
        out.extend(
            (0..dwords)
                .map(|d| Transfer { outside: self.source(operand, d), stand_in: first.plus(d.into()) }),
        );
    }

    /// The stand-in for all of `reg`. A register that is read twice has one, as scalar operands may be few.
    fn stand_in(&self, stand_ins: &mut StandIns, reg: VReg, read: bool) -> Result<PReg> {
        if let (true, Some(known)) = (read, stand_ins.of_sources.iter().find(|(v, _)| *v == reg)) {
            return Ok(known.1);
        }
        let data = self.f.vregs.get(reg).ok_or_else(|| Diagnostic::malformed("a register does not exist"))?;
        let dwords = u16::from(data.dwords);
        let (next, limit, align) = match data.file {
            RegFile::Vgpr => (&mut stand_ins.next_vgpr, 256, 1),
            RegFile::Sgpr if dwords > 2 => (&mut stand_ins.next_sgpr, 100, 4),
            RegFile::Sgpr => (&mut stand_ins.next_sgpr, 100, dwords),
        };
        let at = |n: u16| if data.file == RegFile::Vgpr { PReg::vgpr(n) } else { PReg::sgpr(n) };
        let mut first = next.next_multiple_of(align);
        while let Some(taken) = (first..first + dwords).rev().find(|&n| self.named.contains(&at(n))) {
            first = (taken + 1).next_multiple_of(align);
        }
        if first + dwords > limit {
            return Err(Diagnostic::unsupported("more registers in an instruction than are free"));
        }
        *next = first + dwords;
        if read {
            stand_ins.of_sources.push((reg, at(first)));
        }
        Ok(at(first))
    }
}

/// The definition that extra operand `extra` is tied to: the positions that are read and written in order, else the first operand.
fn tied_definition(row: &[mir::isa::OperandDesc], extra: usize) -> usize {
    let both = row.iter().enumerate().filter(|(_, desc)| desc.role == Role::DefUse);
    both.map(|(k, _)| k).nth(extra).unwrap_or(0)
}
