//! Which instructions of a body stay together.
//!
//! Before allocation few values are in physical registers, and not for long: SCC, VCC and M0 from their writer to the reader behind it,
//! arguments of a call and its results. What stands from such a write to its last read stays together as it is; so no value of
//! another unit can be in the register meanwhile, and order among units need not know physical registers.
//! A region of other lanes stays together, too, as its writes of EXEC stand around it in the end; and a part without a value with
//! the tuple that it is put into.
//!
//! A unit is a *wall*, which nothing passes, where one of its instructions is, and where a physical register comes from in front of
//! the body or is read behind it.

use crate::code::Code;
use mir::abi::call::is_callee_saved;
use mir::isa::{Implicit, Opcode, OperandAccess};
use mir::machine::{BlockData, Condition, Function, Inst, Operand, PReg, Reg, Terminator};

/// Instructions of a body that stay together, by number in the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub start: u32,
    pub end: u32,
    pub wall: bool,
}

/// Numbers of physical registers are below this.
const REGISTERS: usize = 768;
const NONE: u32 = u32::MAX;

/// What is known of a physical register on the way through a body.
#[derive(Clone, Copy, Debug)]
struct State {
    written: u32,
    /// Where it was last read without having been written.
    entered: u32,
}

const UNKNOWN: State = State { written: NONE, entered: NONE };

/// Finds units. Its memory is used again.
#[derive(Debug)]
pub(crate) struct Units {
    states: Vec<State>,
    touched: Vec<u16>,
    /// By instruction: the last one that must stay together with it.
    until: Vec<u32>,
    walls: Vec<bool>,
    runs: Vec<Run>,
    /// Where the body starts, and the last call in it.
    begin: u32,
    called: u32,
}

impl Default for Units {
    fn default() -> Self {
        Self {
            states: vec![UNKNOWN; REGISTERS],
            touched: Vec::new(),
            until: Vec::new(),
            walls: Vec::new(),
            runs: Vec::new(),
            begin: 0,
            called: NONE,
        }
    }
}

impl Units {
    /// The units of the body of `data`, whose first instruction is `first` of `code`, in order.
    pub fn find(&mut self, f: &Function, data: &BlockData, code: &Code, first: u32) -> &[Run] {
        let body = data.head_len..data.tail_start;
        self.until.clear();
        self.until.extend(0..data.tail_start);
        self.walls.clear();
        self.walls.resize(data.tail_start as usize, false);
        self.runs.clear();
        self.begin = data.head_len;
        self.called = NONE;
        let mut lanes = NONE;
        for k in body.clone() {
            let summary = code.inst(first + k);
            self.walls[k as usize] |= summary.effects.wall;
            let inst = &data.insts[k as usize];
            if summary.physical || summary.effects.wall {
                self.physical(f, inst, k);
                match inst.op {
                    Opcode::CALL => {
                        self.forget();
                        self.called = k;
                    }
                    Opcode::LANES_BEGIN => lanes = k,
                    Opcode::LANES_END if lanes != NONE => {
                        self.together(lanes, k);
                        lanes = NONE;
                    }
                    _ => {}
                }
            } else if inst.op == Opcode::IMPLICIT_DEF && k + 1 < body.end {
                // Further in front it would keep a register for nothing.
                let next = &data.insts[k as usize + 1];
                if next.op.is_copy() && next.operands.iter().skip(1).any(|part| *part == inst.operands[0]) {
                    self.together(k, k + 1);
                }
            }
        }
        self.leave(f, data);
        self.forget();
        let mut k = body.start;
        while k < body.end {
            let start = k;
            let mut last = k;
            let mut wall = false;
            while k <= last {
                last = last.max(self.until[k as usize]);
                wall |= self.walls[k as usize];
                k += 1;
            }
            self.runs.push(Run { start, end: k, wall });
        }
        &self.runs
    }

    /// The units found last.
    pub fn found(&self) -> &[Run] {
        &self.runs
    }

    fn together(&mut self, from: u32, to: u32) {
        let until = &mut self.until[from as usize];
        *until = (*until).max(to);
    }

    fn state(&mut self, reg: u16) -> Option<&mut State> {
        let state = self.states.get_mut(usize::from(reg))?;
        if state.written == NONE && state.entered == NONE {
            self.touched.push(reg);
        }
        Some(state)
    }

    /// Where the value of a register comes from: the last write, or a call that may have changed it since.
    fn origin(&self, reg: u16) -> u32 {
        match self.states.get(usize::from(reg)) {
            Some(state) if state.written != NONE => state.written,
            Some(_) if [false, true].iter().all(|&graphics| is_callee_saved(PReg(reg), graphics)) => NONE,
            _ => self.called,
        }
    }

    fn read(&mut self, reg: u16, k: u32) {
        let from = self.origin(reg);
        if from != NONE {
            self.together(from, k);
        } else if let Some(state) = self.state(reg) {
            state.entered = k;
        }
    }

    fn write(&mut self, reg: u16, k: u32) {
        let Some(state) = self.state(reg) else { return };
        state.written = k;
        let entered = std::mem::replace(&mut state.entered, NONE);
        if entered != NONE {
            // What comes from in front of the body is read before anything else.
            self.together(self.begin, entered);
            self.walls[entered as usize] = true;
        }
    }

    fn physical(&mut self, f: &Function, inst: &Inst, k: u32) {
        let implicit = inst
            .facts()
            .implicit
            .difference(Implicit::EXEC_DEF | Implicit::EXEC_USE | Implicit::FLAT_SCRATCH_USE);
        let fixed = |operand: &Operand| match operand.as_reg().map(|reg| (reg.reg, reg.dwords)) {
            Some((Reg::Physical(reg), dwords)) if reg != PReg::EXEC_LO && reg != PReg::EXEC_HI => {
                Some(reg.0..reg.0 + u16::from(dwords))
            }
            _ => None,
        };
        let is_def = |n: usize| inst.operand_access(n) == OperandAccess::Def;
        for (n, operand) in inst.operands.iter().enumerate() {
            let Some(regs) = fixed(operand) else { continue };
            if !is_def(n) {
                if regs.start == PReg::VCCZ.0 {
                    (PReg::VCC_LO.0..=PReg::VCC_HI.0).for_each(|reg| self.read(reg, k));
                }
                regs.for_each(|reg| self.read(reg, k));
            }
        }
        for (reg, dwords, _) in implicit.registers(f.wave).filter(|reg| !reg.2) {
            (reg.0..reg.0 + dwords).for_each(|reg| self.read(reg, k));
        }
        if inst.reads_m0() {
            self.read(PReg::M0.0, k);
        }
        if let Some(site) = f.call_site(inst) {
            site.reads.iter().for_each(|reg| self.read(reg.0, k));
        }
        for (n, operand) in inst.operands.iter().enumerate() {
            let Some(regs) = fixed(operand) else { continue };
            if is_def(n) {
                regs.for_each(|reg| self.write(reg, k));
            }
        }
        for (reg, dwords, _) in implicit.registers(f.wave).filter(|reg| reg.2) {
            (reg.0..reg.0 + dwords).for_each(|reg| self.write(reg, k));
        }
    }

    /// What is read behind the body stays at its end.
    fn leave(&mut self, f: &Function, data: &BlockData) {
        let end = data.tail_start;
        if end == data.head_len {
            return;
        }
        let last = end - 1;
        let mut pinned = NONE;
        let mut read = |units: &mut Self, reg: u16| {
            if reg != PReg::EXEC_LO.0 && reg != PReg::EXEC_HI.0 {
                pinned = pinned.min(units.origin(reg));
            }
        };
        for inst in &data.insts[end as usize..] {
            for (reg, _, write) in inst.facts().implicit.registers(f.wave) {
                if !write {
                    read(self, reg.0);
                }
            }
            for (is_def, operand) in inst.regs() {
                if let (false, Reg::Physical(reg)) = (is_def, operand.reg) {
                    (reg.0..reg.0 + u16::from(operand.dwords)).for_each(|reg| read(self, reg));
                }
            }
        }
        match data.term {
            Terminator::Uniform(Condition::Scc0 | Condition::Scc1) => read(self, PReg::SCC.0),
            Terminator::Uniform(Condition::Vccz | Condition::Vccnz) => {
                read(self, PReg::VCC_LO.0);
                read(self, PReg::VCC_HI.0);
            }
            Terminator::Return => {
                (0..u16::from(f.result_dwords)).for_each(|n| read(self, PReg::vgpr(n).0));
                f.shader_results.iter().for_each(|reg| read(self, reg.0));
            }
            _ => {}
        }
        if pinned != NONE {
            self.together(pinned, last);
            self.walls[last as usize] = true;
        }
    }

    fn forget(&mut self) {
        self.touched.drain(..).for_each(|reg| self.states[usize::from(reg)] = UNKNOWN);
    }
}
