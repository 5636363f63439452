//! Memory: arguments, spills, the stack, order.

use super::{At, Explainer, Kind, Reason};
use crate::analysis::origins::{Origin, argument_offset, register};
use crate::analysis::search;
use crate::program::EntryValue;
use mir::abi::call::{FRAME_POINTER, STACK_POINTER};
use mir::isa::{MemoryAction, MemoryKind, Opcode};
use mir::machine::{ModFlags, Operand, PReg};

/// Lines around an access to scratch among which its partner is looked for.
const NEAR: usize = 1000;

/// Whether an instruction drops what a cache holds.
pub(super) fn is_invalidate(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        BUFFER_WBINVL1
            | BUFFER_WBINVL1_VOL
            | BUFFER_WBINVL1_SC
            | BUFFER_GL0_INV
            | BUFFER_GL1_INV
            | S_DCACHE_INV
            | S_DCACHE_INV_VOL
    )
}

impl Explainer<'_> {
    pub(super) fn memory(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        self.argument(at, out);
        self.lanes(at, out);
        self.stack_access(at, out);
        self.order(at, out);
    }

    fn argument(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        if let Some(offset) = argument_offset(at.inst, at.origins) {
            let bytes =
                at.inst.operands.first().and_then(Operand::as_reg).map_or(0, |reg| 4 * u32::from(reg.dwords));
            let text = format!("Loads {}.", self.arguments(offset, bytes));
            out.push(Reason::new(Kind::Argument, text, []));
            return;
        }
        // Registers that the kernel starts with are explained where they are read; a packet or queue has fields.
        if at.inst.facts().memory.map(|memory| memory.kind) == Some(MemoryKind::Scalar)
            && let Some(Origin::Entry(value, 0)) =
                register(at.inst.operands.get(1)).and_then(|r| at.origins.get(&r))
            && *value != EntryValue::KernargPtr
        {
            let text = format!("Reads from {}, which the kernel starts with.", value.words());
            out.push(Reason::new(Kind::Argument, text, []));
        }
    }

    /// Arguments that lie in some bytes, in words.
    fn arguments(&self, offset: u32, bytes: u32) -> String {
        let range = offset..offset.saturating_add(bytes);
        let metadata = self.function.kernel.as_ref().and_then(|kernel| kernel.metadata.as_ref());
        let Some(metadata) = metadata else {
            return format!(
                "bytes {}..{} of the kernel's arguments, which the object does not name",
                range.start, range.end
            );
        };
        let mut names = Vec::new();
        for (index, arg) in metadata.args.iter().enumerate() {
            if arg.offset < range.end && range.start < arg.offset.saturating_add(arg.size) {
                let name = arg.name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default();
                let ty = arg.type_name.as_ref().map(|name| format!(" of type {name}")).unwrap_or_default();
                let kind = match arg.value_kind.as_str() {
                    hidden if hidden.starts_with("hidden_") => format!("the hidden argument {hidden}"),
                    kind => {
                        format!("argument {index}{name}{ty} ({kind}, {} bytes at {})", arg.size, arg.offset)
                    }
                };
                names.push(kind);
            }
        }
        match names.is_empty() {
            true => format!(
                "bytes {}..{} of the kernel's arguments, in which no argument is",
                range.start, range.end
            ),
            false => names.join(" and "),
        }
    }

    /// SGPRs in lanes of VGPRs.
    fn lanes(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        let writes = at.inst.op == Opcode::V_WRITELANE_B32;
        if !writes && at.inst.op != Opcode::V_READLANE_B32 {
            return;
        }
        let lane = at.inst.operands.get(2).and_then(Operand::as_imm);
        let vector = register(at.inst.operands.get(usize::from(!writes)));
        let (Some(lane), Some(vector)) = (lane, vector) else { return };
        let other = if writes { Opcode::V_READLANE_B32 } else { Opcode::V_WRITELANE_B32 };
        let mut partners: Vec<usize> = Vec::new();
        let near = at.line.saturating_sub(NEAR)..self.function.lines.len().min(at.line + NEAR);
        for line in near {
            let Some(inst) = self.function.inst(line) else { continue };
            let place = register(inst.operands.get(usize::from(writes)));
            if inst.op == other
                && place == Some(vector)
                && inst.operands.get(2).and_then(Operand::as_imm) == Some(lane)
            {
                partners.push(line);
            }
        }
        let behind = |line: &usize| if writes { *line > at.line } else { *line < at.line };
        let partner = if writes {
            partners.iter().copied().find(behind)
        } else {
            partners.iter().copied().rev().find(behind)
        };
        let Some(partner) = partner.or(partners.first().copied()) else { return };
        let register =
            register(at.inst.operands.get(usize::from(writes))).map_or_else(String::new, |r| format!(" {r}"));
        let text = match writes {
            true => format!(
                "Spill: SGPR{register} is kept in lane {lane} of {vector}; {} brings it back.",
                self.quoted(partner)
            ),
            false => format!(
                "Reload: SGPR{register} comes back from lane {lane} of {vector}, where {} put it.",
                self.quoted(partner)
            ),
        };
        out.push(Reason::new(Kind::Spill, text, [partner]));
    }

    /// Accesses to scratch at fixed places.
    fn stack_access(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        let Some(memory) = at.inst.facts().memory.filter(|memory| memory.is_access()) else { return };
        let Some(base) = self.frame_base(at, memory.kind) else { return };
        let store = memory.action.contains(MemoryAction::STORE);
        let offset = at.inst.mods.offset;
        let mut partners = Vec::new();
        let near = at.line.saturating_sub(NEAR)..self.function.lines.len().min(at.line + NEAR);
        for line in near {
            let Some(inst) =
                self.function.inst(line).filter(|inst| line != at.line && inst.mods.offset == offset)
            else {
                continue;
            };
            let same = inst
                .facts()
                .memory
                .is_some_and(|m| m.kind == memory.kind && m.action.contains(MemoryAction::STORE) != store);
            // The same place is meant by the same operands besides the data.
            if same && operands_besides_data(inst) == operands_besides_data(at.inst) {
                partners.push(line);
            }
        }
        let spills = self
            .function
            .kernel
            .as_ref()
            .and_then(|kernel| kernel.metadata.as_ref())
            .map(|m| m.vgpr_spill_count);
        let partner = if store {
            partners.iter().copied().find(|l| *l > at.line)
        } else {
            partners.iter().copied().rev().find(|l| *l < at.line)
        };
        let mut text = match (store, partner) {
            (true, Some(load)) => {
                format!("Writes to the frame at {base}{offset:+}, which {} reads back", self.quoted(load))
            }
            (false, Some(store)) => {
                format!("Reads from the frame at {base}{offset:+} what {} wrote", self.quoted(store))
            }
            (true, None) => format!("Writes to the frame at {base}{offset:+}"),
            (false, None) => format!("Reads from the frame at {base}{offset:+}"),
        };
        text.push_str(match spills {
            Some(0) => ": an object of the program's stack, as the kernel spills no VGPRs.",
            Some(_) => ": a spilled VGPR, or an object of the program's stack; the code alone does not tell them apart.",
            None => ": a saved or spilled register, an argument on the stack, or an object of the program's; the code alone does not tell them apart.",
        });
        out.push(Reason::new(Kind::Spill, text, partner));
    }

    /// What an access to scratch is relative to, where its place is the same in all lanes.
    fn frame_base(&self, at: &At<'_>, kind: MemoryKind) -> Option<String> {
        let facts = at.inst.facts();
        let fixed = !at.inst.mods.flags.intersects(ModFlags::OFFEN | ModFlags::IDXEN | ModFlags::ADDR64);
        match kind {
            MemoryKind::Buffer => {
                let soffset = facts.soffset().and_then(|index| at.inst.operands.get(index));
                let pointer = register(soffset).filter(|reg| [STACK_POINTER, FRAME_POINTER].contains(reg));
                let resource = at
                    .inst
                    .operands
                    .iter()
                    .find(|o| o.as_reg().is_some_and(|r| r.dwords == 4 && !is_vgpr(o)));
                let is_scratch =
                    resource.and_then(|resource| register(Some(resource))).is_some_and(|first| {
                        self.function.kernel.is_none() && first == PReg::sgpr(0)
                            || matches!(
                                at.origins.get(&first.plus(3)),
                                Some(Origin::Entry(EntryValue::PrivateSegmentBuffer, 3))
                            )
                            || matches!(
                                at.origins.get(&first.plus(2)),
                                Some(Origin::Entry(EntryValue::PrivateSegmentBuffer, 2))
                            )
                    });
                let base = pointer.map_or_else(|| "the start".to_owned(), |pointer| pointer.to_string());
                (fixed && is_scratch && (pointer.is_some() || register(soffset).is_none())).then_some(base)
            }
            MemoryKind::Scratch => {
                let pointer = at.inst.operands.iter().find_map(|operand| {
                    register(Some(operand)).filter(|reg| [STACK_POINTER, FRAME_POINTER].contains(reg))
                });
                Some(pointer?.to_string())
            }
            _ => None,
        }
    }

    /// What orders accesses.
    fn order(&self, at: &At<'_>, out: &mut Vec<Reason>) {
        use Opcode::*;
        let memory = at.inst.facts().memory;
        let acquires = self.wait_in_front(at.line);
        let text = match at.inst.op {
            BUFFER_WBINVL1 | BUFFER_WBINVL1_VOL | BUFFER_WBINVL1_SC => {
                "Acquire: lines of the vector L1 cache from before are dropped, so that loads behind see what others have written."
            }
            BUFFER_GL0_INV => {
                "Acquire: lines of the compute unit's cache (L0) from before are dropped, so that loads behind see what others have written."
            }
            BUFFER_GL1_INV => {
                "Acquire: lines of the cache between L0 and L2 from before are dropped, so that L0 is not filled with them again."
            }
            S_DCACHE_INV | S_DCACHE_INV_VOL => {
                "Acquire: the scalar cache is dropped, so that scalar loads behind see what others have written."
            }
            S_DCACHE_WB | S_DCACHE_WB_VOL => {
                "Release: scalar stores are written back, so that others see them."
            }
            S_BARRIER => {
                "Waves of the work-group meet here: none goes on before all have come (barrier of the program)."
            }
            _ if memory.is_some_and(|m| m.action.contains(MemoryAction::ATOMIC)) => {
                "An atomic access of the program; its order is kept by waits and invalidations around it."
            }
            _ if memory.is_some_and(|m| m.kind.has_cache_bits() && m.action.contains(MemoryAction::LOAD))
                && at.inst.mods.flags.contains(ModFlags::GLC) =>
            {
                "`glc`: it passes over the vector L1 cache, as an atomic or volatile load must."
            }
            _ if memory.is_some_and(|m| m.kind.has_cache_bits() && m.writes())
                && at.inst.mods.flags.contains(ModFlags::GLC) =>
            {
                "`glc`: written through at once, as a volatile or atomic store of the program must be."
            }
            _ => return,
        };
        out.push(Reason::new(Kind::MemoryModel, text, acquires.filter(|_| is_invalidate(at.inst.op))));
    }

    fn wait_in_front(&self, line: usize) -> Option<usize> {
        line.checked_sub(1).filter(|before| self.is_wait(*before))
    }
}

fn is_vgpr(operand: &Operand) -> bool {
    register(Some(operand)).is_some_and(PReg::is_vgpr)
}

/// Where an access goes: all operands that are no VGPRs, and those that are, but for the data.
fn operands_besides_data(inst: &mir::machine::Inst) -> Vec<search::Range> {
    let data = inst.facts().data();
    let defs = usize::from(inst.facts().def_count);
    inst.operands
        .iter()
        .enumerate()
        .filter(|(index, _)| *index >= defs && Some(*index) != data)
        .filter_map(|(_, operand)| Some((register(Some(operand))?, operand.as_reg()?.dwords.into())))
        .collect()
}
