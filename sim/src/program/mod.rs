//! Instructions made ready for execution, each decoded once.
//!
//! [`Op`] is an instruction of [`mir::isa`] with the function that executes it, its operands sorted by what that does with
//! them (sources, vector and scalar destination, lane mask, memory operation), and the lists that the strict checks walk. [`Program`] keeps them by
//! address; threads share it, and the first to reach an instruction decodes it.

mod classify;
mod op;

pub use classify::denormals;
pub use op::{Class, Denormals, Mem, MemKind, Op, Permutation, Source, Src};

use crate::report::{Kind, Report, Result};
use mir::target::Target;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Instruction words of a page of the table.
const PAGE: usize = 1024;

/// The places of the instructions of a page.
type Page = Box<[OnceLock<Box<Op>>]>;

/// The instructions of a code object that have been decoded. The table is made page by page, so that large images cost little.
#[derive(Debug)]
pub struct Program {
    code: Vec<u8>,
    pages: Vec<OnceLock<Page>>,
    target: Target,
}

impl Program {
    /// A program in the bytes of an image.
    pub fn new(code: Vec<u8>, target: Target) -> Self {
        let pages = (0..(code.len() / 4).div_ceil(PAGE)).map(|_| OnceLock::new()).collect();
        Self { code, pages, target }
    }

    /// The instruction at `pc`.
    #[inline]
    pub fn op(&self, pc: u64) -> Result<&Op> {
        let index =
            if pc.is_multiple_of(4) { usize::try_from(pc / 4).unwrap_or(usize::MAX) } else { usize::MAX };
        let Some(page) = self.pages.get(index / PAGE) else {
            return Err(Report::new(Kind::BadInstruction, format!("no code at 0x{pc:x}")));
        };
        let page = page.get_or_init(|| (0..PAGE).map(|_| OnceLock::new()).collect());
        let slot = &page[index % PAGE];
        match slot.get() {
            Some(op) => Ok(op),
            None => self.decode(pc, slot),
        }
    }

    #[cold]
    fn decode<'a>(&self, pc: u64, slot: &'a OnceLock<Box<Op>>) -> Result<&'a Op> {
        let bytes = usize::try_from(pc).ok().and_then(|at| self.code.get(at..)).unwrap_or_default();
        let words: SmallVec<[u32; 5]> =
            bytes.as_chunks::<4>().0.iter().take(5).map(|c| u32::from_le_bytes(*c)).collect();
        let Some(first) = words.first() else {
            return Err(Report::new(Kind::BadInstruction, format!("no code at 0x{pc:x}")));
        };
        let (inst, size) = crate::decode::decode(&words, &self.target)
            .map_err(|e| Report::new(Kind::BadInstruction, format!("0x{pc:x}: {first:08x}: {e}")))?;
        Ok(slot.get_or_init(|| Box::new(Op::new(inst, size, &self.target))))
    }

    /// What it runs on.
    pub fn target(&self) -> &Target {
        &self.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_found_once_and_bounds_hold() {
        let target = Target::new(Target::processor_by_name("gfx900").unwrap());
        // s_nop 0, s_endpgm, two bytes of nothing.
        let mut code = [0xbf80_0000u32, 0xbf81_0000].map(u32::to_le_bytes).concat();
        code.extend([1, 2]);
        let program = Program::new(code, target);
        assert!(std::ptr::eq(program.op(4).unwrap(), program.op(4).unwrap()));
        assert_eq!(program.op(0).unwrap().text(&target), "s_nop 0");
        for pc in [2, 8, 12, 4096, u64::MAX, u64::MAX - 3] {
            assert_eq!(program.op(pc).unwrap_err().kind, Kind::BadInstruction, "{pc}");
        }
    }
}
