//! What stands behind the code of processors that fetch instructions ahead: words that end it, so that neither the fetch nor a tool runs on
//! into what follows.
//!
//! Source: RDNA ISA, S_CODE_END and "Instruction prefetch": the fetch may be three cache lines ahead. LLVM writes the same, on the same systems;
//! on others the driver does.

use mir::target::{Features, Os, Target};

/// `s_code_end`.
pub(crate) const S_CODE_END: [u8; 4] = [0x00, 0x00, 0x9f, 0xbf];

/// Binary logarithm of the bytes of a line of the instruction cache, which the words start at.
pub(crate) const LINE_LOG2: u32 = 6;

/// How many words there are: three lines.
pub(crate) const WORDS: usize = 3 * (1 << LINE_LOG2) / S_CODE_END.len();

/// Whether code for `target` ends with such words.
pub(crate) fn applies(target: &Target) -> bool {
    target.has(Features::WORKGROUP_PROCESSORS) && matches!(target.os, Os::AmdHsa | Os::AmdPal)
}
