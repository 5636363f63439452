//! Ranges of the physical registers that a block's code names.

use super::{Range, Scan};
use crate::access::{self, file_index};
use mir::isa::OperandAccess;
use mir::machine::{Inst, Reg, RegFile};
use mir::target::Target;

/// Physical registers inside the current block.
pub(super) struct Physical {
    /// Start and end of the value's range, by register, of registers written in this block; others' are empty.
    live: Vec<Range>,
    /// Those that were written.
    written: Vec<u16>,
}

/// Registers of a file in [`Physical`]: [`file_index`] gives no more.
const FILE: u16 = 256;

impl Physical {
    pub(super) fn new() -> Self {
        Self { live: vec![Range::default(); 2 * usize::from(FILE)], written: Vec::new() }
    }

    /// Place of a register in `live`.
    fn slot(file: RegFile, index: u16) -> u16 {
        index + if file == RegFile::Sgpr { 0 } else { FILE }
    }

    /// Reads a register up to `end`; one that was not written in this block is taken throughout.
    pub(super) fn read(&mut self, scan: &mut Scan, file: RegFile, index: u16, end: u32) {
        match self.live.get_mut(usize::from(Self::slot(file, index))) {
            Some(range) if range.end > 0 => range.end = range.end.max(end),
            _ => {
                if !scan.reserved.contains(&(file, index)) {
                    scan.reserved.push((file, index));
                }
            }
        }
    }

    /// What `inst` at `position` writes by its operands.
    pub(super) fn define(&mut self, scan: &mut Scan, inst: &Inst, position: u32, target: &Target) {
        for (k, operand) in access::registers(inst) {
            if let (Reg::Physical(reg), OperandAccess::Def) = (operand.reg, inst.operand_access(k))
                && let Some((file, first)) = file_index(reg)
            {
                let early = inst.defined_early(k, target);
                for d in 0..u16::from(operand.dwords) {
                    self.write(scan, file, first + d, position + u32::from(!early), position + 2);
                }
            }
        }
    }

    /// Writes a register: what it held before ends at `start`.
    pub(super) fn write(&mut self, scan: &mut Scan, file: RegFile, index: u16, start: u32, end: u32) {
        let slot = Self::slot(file, index);
        let Some(range) = self.live.get_mut(usize::from(slot)) else { return };
        let mut old = std::mem::replace(range, Range { start, end });
        if old.end == 0 {
            self.written.push(slot);
            return;
        }
        old.end = old.end.min(start);
        if old.start < old.end {
            scan.fixed.push((file, index, old));
        }
    }

    /// Leaves the block: all that was written in it is a range.
    pub(super) fn next_block(&mut self, scan: &mut Scan) {
        let from = scan.fixed.len();
        for slot in self.written.drain(..) {
            let range = std::mem::take(&mut self.live[usize::from(slot)]);
            let file = if slot < FILE { RegFile::Sgpr } else { RegFile::Vgpr };
            scan.fixed.push((file, slot % FILE, range));
        }
        // Runs: what a call writes is in order.
        scan.fixed[from..].sort_by_key(|&(_, index, range)| u64::from(range.start) << 16 | u64::from(index));
    }
}
