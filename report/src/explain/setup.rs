//! What functions begin with, and addresses: M0, FLAT_SCRATCH, the scratch resource, the stack, symbols, calls.

use super::{At, Explainer, Kind, Reason};
use crate::analysis::origins::{self, Origin, register, symbol};
use crate::analysis::search::{self, touches};
use crate::program::{EntryValue, flat_scratch_is_address};
use mir::abi::call::{FRAME_POINTER, STACK_POINTER};
use mir::isa::{Opcode, Unit};
use mir::machine::{Inst, Operand, PReg};
use mir::target::Features;

impl Explainer<'_> {
    pub(super) fn setup(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        self.m0(at, out);
        self.flat_scratch(at, out);
        self.resource(at, out);
        self.stack(at, out);
        self.address(at, out);
    }

    fn m0(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        const M0: search::Range = (PReg::M0, 1);
        if !touches(at.inst, M0).1 {
            return;
        }
        let limited = |inst: &Inst| inst.needs_lds_limit() && !self.program.target.has(Features::LDS_NO_M0);
        // Some read it by a modifier, which no operand shows.
        let block = &self.function.blocks[self.function.block_of[at.line]];
        let hidden = (at.line + 1..block.end)
            .find(|&line| self.function.inst(line).is_some_and(|inst| inst.reads_m0() || limited(inst)));
        let mut readers = search::readers(self.function, at.line, M0).lines;
        readers.extend(hidden);
        readers.sort_unstable();
        readers.dedup();
        let whole = at.inst.operands.get(1).and_then(Operand::as_imm) == Some(-1);
        let by = match readers.is_empty() {
            true => "what follows".to_owned(),
            false => self.list(&readers),
        };
        let lds = readers.iter().any(|&line| self.function.inst(line).is_some_and(limited));
        let has_limit = !self.program.target.has(Features::LDS_NO_M0);
        let text = match whole && has_limit && (lds || readers.is_empty()) {
            true => format!("M0 is the limit of LDS addresses before GFX9; -1 lifts it for {by}."),
            false => format!("M0 has no operand of its own: it is written for {by}."),
        };
        out.push(Reason::new(Kind::Prolog, text, readers));
    }

    fn flat_scratch(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        if !touches(at.inst, (PReg::FLAT_SCRATCH_LO, 2)).1 {
            return;
        }
        let sources = self.entry_sources(at);
        let what = match flat_scratch_is_address(&self.program.target) {
            true => "the address of the wave's scratch",
            false => "the offset and size of the wave's scratch",
        };
        let text = format!(
            "Prolog: FLAT_SCRATCH must hold {what}, for generic and scratch accesses; it is made of {sources}."
        );
        out.push(Reason::new(Kind::Prolog, text, []));
    }

    /// The values from a kernel's start that an instruction reads.
    fn entry_sources(&self, at: &At<'_>) -> String {
        let mut words: Vec<&str> = Vec::new();
        for operand in at.inst.operands.iter().skip(usize::from(at.inst.facts().def_count)) {
            if let Some(Origin::Entry(value, _)) =
                register(Some(operand)).and_then(|reg| at.origins.get(&reg))
                && !words.contains(&value.words())
            {
                words.push(value.words());
            }
        }
        if words.is_empty() { "what the line reads".to_owned() } else { words.join(" and ") }
    }

    fn resource(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        let reads = at.inst.operands.iter().skip(usize::from(at.inst.facts().def_count));
        let reads: Vec<Origin> =
            reads.filter_map(|operand| at.origins.get(&register(Some(operand))?).copied()).collect();
        let has = |value| reads.iter().any(|origin| matches!(origin, Origin::Entry(v, _) if *v == value));
        let carry = at.inst.op == Opcode::S_ADDC_U32;
        if has(EntryValue::PrivateSegmentBuffer) && (has(EntryValue::WaveOffset) || carry) {
            let text = if carry {
                "Prolog: the carry of adding the wave's offset to the base of the scratch resource."
            } else {
                "Prolog: the resource of scratch begins where all waves' scratch does; the wave's own offset is added to its base."
            };
            out.push(Reason::new(Kind::Prolog, text, []));
        }
    }

    fn stack(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        let is_kernel = self.function.kernel.is_some();
        for (pointer, what) in [(STACK_POINTER, "stack pointer"), (FRAME_POINTER, "frame pointer")] {
            // Frames of kernels begin at 0, so that they have no frame pointer.
            let constant = at.inst.operands.get(1).and_then(Operand::as_imm).is_some();
            let is_pointer = !is_kernel || pointer == STACK_POINTER && constant && self.calls;
            let writes =
                register(at.inst.operands.first()) == Some(pointer) && touches(at.inst, (pointer, 1)).1;
            if !is_pointer || !writes || at.inst.facts().unit.is_vector() {
                continue;
            }
            let text = match (is_kernel, at.inst.op) {
                (true, _) => format!(
                    "Prolog: {pointer} is the {what}, which callees are given: behind the kernel's own frame."
                ),
                (false, Opcode::S_MOV_B32) if pointer == FRAME_POINTER => {
                    format!(
                        "{pointer} is the {what}: the frame of this function begins where the stack pointer was, or the caller's is put back."
                    )
                }
                (false, _) => format!(
                    "{pointer} is the {what}: room for this function's frame is taken, or given back."
                ),
            };
            out.push(Reason::new(Kind::Prolog, text, []));
        }
    }

    /// Addresses of symbols, and calls.
    fn address(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        let inst = at.inst;
        match inst.op {
            Opcode::S_SWAPPC_B64 => {
                let to = register(inst.operands.get(1)).and_then(|low| symbol(self.program, at.origins, low));
                let text = match to {
                    Some(name) => {
                        format!("Calls {name}; the return address goes to the register that it is given in.")
                    }
                    None => {
                        "Calls through a pointer: which function it is cannot be told from here.".to_owned()
                    }
                };
                out.push(Reason::new(Kind::Address, text, []));
            }
            Opcode::S_SETPC_B64 => {
                let to =
                    register(inst.operands.first()).and_then(|low| symbol(self.program, at.origins, low));
                let text = match to {
                    Some(name) => format!("Goes on in {name}: a tail call, which returns to this function's caller."),
                    None => "Returns to the caller, whose address the function was given, or goes on at a pointer.".to_owned(),
                };
                out.push(Reason::new(Kind::ControlFlow, text, []));
            }
            Opcode::S_GETPC_B64 | Opcode::S_ADD_U32 | Opcode::S_ADDC_U32 => self.part_of_address(at, out),
            _ if inst.facts().unit == Unit::Smem => {
                if let Some(Origin::TableLow(entry)) = self.result(at) {
                    let name = self.program.quad(entry).and_then(|to| self.program.symbol_at(to));
                    let text = match name {
                        Some(name) => format!("Loads the address of {name} from the global offset table."),
                        None => format!(
                            "Loads an address from the global offset table, at {entry:#x} of the image."
                        ),
                    };
                    out.push(Reason::new(Kind::Address, text, []));
                }
            }
            _ => {}
        }
    }

    /// What is known of the first result behind the line.
    fn result(&self, at: &At<'_>) -> Option<Origin> {
        let to = register(at.inst.operands.first())?;
        if at.inst.facts().unit.is_vector() {
            return None;
        }
        origins::after(self.function, at.line, at.origins).get(&to).copied()
    }

    fn part_of_address(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        let Some(result) = self.result(at) else { return };
        // The whole address is there a few lines on.
        if !matches!(result, Origin::AddressLow(..) | Origin::AddressHigh) {
            return;
        }
        let goal = self.next_address(at);
        let what = match goal.and_then(|to| self.named(to)) {
            Some(name) => format!("the address of {name}"),
            None => "an address relative to the code".to_owned(),
        };
        let part = match at.inst.op {
            Opcode::S_GETPC_B64 => "starts from the program counter to compute",
            Opcode::S_ADD_U32 => "adds the distance (low half) for",
            _ => "adds the distance (high half, with the carry) for",
        };
        let mut text = format!("Relocatable code {part} {what}");
        let mut lines = Vec::new();
        if let Some((user, is_call)) = self.user_of_address(at) {
            text.push_str(&format!(
                ", which {} {}",
                self.quoted(user),
                if is_call { "calls" } else { "uses" }
            ));
            lines.push(user);
        }
        text.push('.');
        out.push(Reason::new(Kind::Address, text, lines));
    }

    fn named(&self, address: u64) -> Option<String> {
        let table = self.program.quad(address).and_then(|to| self.program.symbol_at(to));
        match self.program.symbol_at(address) {
            Some(name) => Some(name),
            None => table.map(|name| format!("{name} in the global offset table")),
        }
    }

    /// The address that lines from `at` on compute: whole behind the addition of its high half.
    fn next_address(&self, at: &At<'_>) -> Option<u64> {
        const NEAR: usize = 6;
        let block = &self.function.blocks[self.function.block_of[at.line]];
        let mut origins = at.origins.clone();
        for line in at.line..(at.line + NEAR).min(block.end) {
            origins = origins::after(self.function, line, &origins);
            let inst = self.function.inst(line)?;
            if inst.op == Opcode::S_ADDC_U32 {
                let high = register(inst.operands.first())?;
                return origins::address(&origins, PReg(high.0.checked_sub(1)?));
            }
        }
        None
    }

    fn user_of_address(&self, at: &At<'_>) -> Option<(usize, bool)> {
        let first = search::written(at.inst).into_iter().next()?;
        let block = &self.function.blocks[self.function.block_of[at.line]];
        let user = (at.line + 1..block.end).find(|&line| {
            self.function.inst(line).is_some_and(|inst| {
                touches(inst, first).0 && !matches!(inst.op, Opcode::S_ADD_U32 | Opcode::S_ADDC_U32)
            })
        });
        // Addresses are computed once and used in other blocks.
        let user = user.or_else(|| {
            let found = search::readers(self.function, at.line, first).lines;
            found.into_iter().find(|&line| {
                let op = self.function.inst(line).map(|inst| inst.op);
                !matches!(op, Some(Opcode::S_ADD_U32 | Opcode::S_ADDC_U32))
            })
        })?;
        Some((user, self.function.inst(user).is_some_and(|inst| inst.op == Opcode::S_SWAPPC_B64)))
    }
}
