//! Where scalar values come from, as far as it can be told: registers of a kernel's start, addresses, constants, arguments.
//!
//! Forward over blocks: what all ways into a block agree on holds at its start. Values only get lost, so each block is looked at a few times. What
//! holds in front of a line is replayed from its block's start.

use crate::program::{EntryValue, Function, Program};
use mir::abi::call::is_callee_saved;
use mir::isa::{MemoryKind, Opcode};
use mir::machine::{Inst, Operand, PReg, Reg};
use std::collections::BTreeMap;

/// A dword in a scalar register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Dword of a value that a kernel starts with.
    Entry(EntryValue, u8),
    /// Low half of the arguments' address plus so many bytes.
    Kernarg(i64),
    /// Loaded from the arguments at this byte.
    Argument(u32),
    /// A number.
    Constant(u32),
    /// Low half of an address in the image. Whether the last distance that was added has its upper bit set, so that the high half is to take one less.
    AddressLow(u64, bool),
    /// High half of an address in the image; the low half is not told here.
    AddressHigh,
    /// Low half of an address that was read from the table at this place.
    TableLow(u64),
    /// Its high half.
    TableHigh(u64),
}

/// Origins of registers at a point.
pub type Origins = BTreeMap<PReg, Origin>;

/// What holds at the starts of blocks.
#[derive(Debug)]
pub struct Flow {
    at_start: Vec<Option<Origins>>,
}

impl Flow {
    /// Computes them.
    pub fn new(function: &Function) -> Self {
        let order = function.order();
        let mut rank = vec![usize::MAX; function.blocks.len()];
        order.iter().enumerate().for_each(|(i, &block)| rank[block] = i);
        let mut at_start: Vec<Option<Origins>> = vec![None; function.blocks.len()];
        let mut work = std::collections::BTreeSet::new();
        if let Some(&first) = order.first() {
            let entry = function.kernel.as_ref().map(crate::program::registers).unwrap_or_default();
            let entry =
                entry.into_iter().map(|(register, value, dword)| (register, Origin::Entry(value, dword)));
            at_start[first] = Some(entry.collect());
            work.insert(0);
        }
        while let Some(i) = work.pop_first() {
            let block = order[i];
            let mut state = at_start[block].clone().unwrap_or_default();
            let data = &function.blocks[block];
            (data.first..data.end).for_each(|line| step(function, line, &mut state));
            for &succ in &data.succs {
                let changed = match &mut at_start[succ] {
                    Some(old) => {
                        let before = old.len();
                        old.retain(|register, origin| state.get(register) == Some(origin));
                        old.len() != before
                    }
                    unknown => {
                        *unknown = Some(state.clone());
                        true
                    }
                };
                if changed {
                    work.insert(rank[succ]);
                }
            }
        }
        Self { at_start }
    }

    /// Calls `f` with what holds in front of each line, block by block.
    pub fn for_each(&self, function: &Function, mut f: impl FnMut(usize, &Origins)) {
        for (block, data) in function.blocks.iter().enumerate() {
            let mut state = self.at_start[block].clone().unwrap_or_default();
            for line in data.first..data.end {
                f(line, &state);
                step(function, line, &mut state);
            }
        }
    }

    /// What holds in front of `line`.
    pub fn at(&self, function: &Function, line: usize) -> Origins {
        let Some(&block) = function.block_of.get(line) else { return Origins::new() };
        let mut state = self.at_start[block].clone().unwrap_or_default();
        (function.blocks[block].first..line).for_each(|line| step(function, line, &mut state));
        state
    }
}

/// The register of an operand.
pub fn register(operand: Option<&Operand>) -> Option<PReg> {
    match operand?.as_reg()?.reg {
        Reg::Physical(register) => Some(register),
        Reg::Virtual(_) => None,
    }
}

/// The address that a pair of registers holds.
pub fn address(origins: &Origins, low: PReg) -> Option<u64> {
    match (origins.get(&low)?, origins.get(&low.plus(1))?) {
        (Origin::AddressLow(address, _), Origin::AddressHigh) => Some(*address),
        _ => None,
    }
}

/// The byte of the arguments that a scalar load of `inst` begins at.
pub fn argument_offset(inst: &Inst, origins: &Origins) -> Option<u32> {
    let offset = constant_offset(inst, origins)?;
    let base = register(inst.operands.get(1))?;
    let start = match origins.get(&base)? {
        Origin::Entry(EntryValue::KernargPtr, 0) => 0,
        Origin::Kernarg(start) => *start,
        _ => return None,
    };
    u32::try_from(start.checked_add(offset)?).ok()
}

/// The offset of a scalar load, where it is a constant.
fn constant_offset(inst: &Inst, origins: &Origins) -> Option<i64> {
    if inst.facts().memory.map(|memory| memory.kind) != Some(MemoryKind::Scalar)
        || inst.facts().def_count != 1
    {
        return None;
    }
    match inst.operands.get(2) {
        None | Some(Operand::Off) => Some(inst.mods.offset.into()),
        Some(Operand::Imm(offset)) => Some(offset + i64::from(inst.mods.offset)),
        Some(operand) => match origins.get(&register(Some(operand))?)? {
            Origin::Constant(offset) => Some(i64::from(*offset) + i64::from(inst.mods.offset)),
            _ => None,
        },
    }
}

/// The value of a scalar source.
fn source(operand: Option<&Operand>, origins: &Origins) -> Option<Origin> {
    match operand? {
        Operand::Imm(value) => Some(Origin::Constant(*value as u32)),
        operand => origins.get(&register(Some(operand))?).copied(),
    }
}

/// `low` plus a number.
fn sum(a: Option<Origin>, b: Option<Origin>) -> Option<Origin> {
    let (base, Origin::Constant(number)) = (match (a?, b?) {
        (number @ Origin::Constant(_), base) => (base, number),
        other => other,
    }) else {
        return None;
    };
    let distance = i64::from(number as i32);
    match base {
        Origin::Entry(EntryValue::KernargPtr, 0) => Some(Origin::Kernarg(distance)),
        Origin::Kernarg(start) => Some(Origin::Kernarg(start.checked_add(distance)?)),
        Origin::AddressLow(address, _) => {
            Some(Origin::AddressLow(address.wrapping_add_signed(distance), distance < 0))
        }
        Origin::Constant(other) => Some(Origin::Constant(other.wrapping_add(number))),
        _ => None,
    }
}

/// What `line` does to `state`.
fn step(function: &Function, line: usize, state: &mut Origins) {
    let Some(inst) = function.inst(line) else { return };
    let operands = &inst.operands;
    let to = register(operands.first());
    let mut new: Vec<(PReg, Origin)> = Vec::new();
    let mut set = |register: Option<PReg>, dword: u16, origin: Option<Origin>| {
        new.extend(register.zip(origin).map(|(register, origin)| (register.plus(dword), origin)));
    };
    match inst.op {
        Opcode::S_MOV_B32 | Opcode::S_MOVK_I32 => set(to, 0, source(operands.get(1), state)),
        Opcode::S_MOV_B64 => {
            if let Some(from) = register(operands.get(1)) {
                set(to, 0, state.get(&from).copied());
                set(to, 1, state.get(&from.plus(1)).copied());
            }
        }
        Opcode::S_GETPC_B64 => {
            let line = &function.lines[line];
            set(to, 0, Some(Origin::AddressLow(function.start + line.offset + u64::from(line.bytes), false)));
            set(to, 1, Some(Origin::AddressHigh));
        }
        Opcode::S_ADD_U32 | Opcode::S_ADD_I32 => {
            set(to, 0, sum(source(operands.get(1), state), source(operands.get(2), state)));
        }
        Opcode::S_ADDC_U32 => {
            // The high half of a sum whose low half is known; a carry does not change what it is.
            let sources = [source(operands.get(1), state), source(operands.get(2), state)];
            let high = sources.into_iter().flatten().find(|origin| {
                matches!(origin, Origin::AddressHigh | Origin::Entry(EntryValue::KernargPtr, 1))
            });
            set(to, 0, high);
            // Distances of more than 32 bits: what the low half left out.
            let low = to.and_then(|to| Some(PReg(to.0.checked_sub(1)?)));
            let number = sources.into_iter().flatten().find_map(|origin| match origin {
                Origin::Constant(number) => Some(number),
                _ => None,
            });
            if let (Some(Origin::AddressHigh), Some(number), Some(low)) = (high, number, low)
                && let Some(Origin::AddressLow(address, is_negative)) = state.get(&low)
            {
                let upper = u64::from(number.wrapping_add(u32::from(*is_negative))) << 32;
                set(Some(low), 0, Some(Origin::AddressLow(address.wrapping_add(upper), false)));
            }
        }
        _ => {
            if let Some(offset) = argument_offset(inst, state) {
                let dwords = operands.first().and_then(Operand::as_reg).map_or(0, |reg| reg.dwords);
                for dword in 0..u16::from(dwords) {
                    set(to, dword, Some(Origin::Argument(offset + 4 * u32::from(dword))));
                }
            } else if let Some(offset) = constant_offset(inst, state)
                && let Some(table) = register(operands.get(1)).and_then(|base| address(state, base))
            {
                let entry = table.wrapping_add_signed(offset);
                set(to, 0, Some(Origin::TableLow(entry)));
                set(to, 1, Some(Origin::TableHigh(entry)));
            }
        }
    }
    inst.for_each_access(|access| {
        if access.write && !access.first.is_vgpr() {
            access.range().for_each(|slot| {
                state.remove(&PReg(slot as u16));
            });
        }
    });
    if inst.op == Opcode::S_SWAPPC_B64 {
        state.retain(|register, _| is_callee_saved(*register, false));
    }
    state.extend(new);
}

/// What the address in a pair of registers is of.
pub fn symbol(program: &Program, origins: &Origins, low: PReg) -> Option<String> {
    match origins.get(&low)? {
        Origin::AddressLow(address, _) => program.symbol_at(*address),
        Origin::TableLow(entry) => program.symbol_at(program.quad(*entry)?),
        _ => None,
    }
}

/// What holds behind `line`, given what holds in front of it.
pub fn after(function: &Function, line: usize, before: &Origins) -> Origins {
    let mut state = before.clone();
    step(function, line, &mut state);
    state
}
