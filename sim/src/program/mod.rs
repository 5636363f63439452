//! Instructions made ready for execution, each decoded once.
//!
//! [`Op`] is an instruction of [`mir::isa`] with the function that executes it, its operands sorted by what that does with
//! them (sources, vector and scalar destination, lane mask, memory operation), and the lists that the strict checks walk. [`Program`] keeps them by
//! address; threads share it, and the first to reach an instruction decodes it.

mod classify;
mod op;

pub use op::{Class, Denormals, Mem, MemKind, Op, Permutation, Source, Src};

use crate::report::{Kind, Report, Result};
use mir::target::Target;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// The instructions of a code object that have been decoded.
#[derive(Debug)]
pub struct Program {
    code: Vec<u8>,
    ops: Vec<OnceLock<Box<Op>>>,
    target: Target,
}

impl Program {
    /// A program in the bytes of an image.
    pub fn new(code: Vec<u8>, target: Target) -> Self {
        let ops = (0..code.len() / 4).map(|_| OnceLock::new()).collect();
        Self { code, ops, target }
    }

    /// The instruction at `pc`.
    #[inline]
    pub fn op(&self, pc: u64) -> Result<&Op> {
        let slot = if pc.is_multiple_of(4) { usize::try_from(pc / 4).ok() } else { None };
        let Some(slot) = slot.and_then(|i| self.ops.get(i)) else {
            return Err(Report::new(Kind::BadInstruction, format!("no code at 0x{pc:x}")));
        };
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
        let (inst, size) = crate::decode::decode(&words, &self.target).map_err(|e| {
            let first = words.first().copied().unwrap_or(0);
            Report::new(Kind::BadInstruction, format!("0x{pc:x}: {first:08x}: {e}"))
        })?;
        Ok(slot.get_or_init(|| Box::new(Op::new(inst, size, &self.target))))
    }

    /// What it runs on.
    pub fn target(&self) -> &Target {
        &self.target
    }
}
