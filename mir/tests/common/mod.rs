//! What the tests against LLVM share: random numbers from a seed, and the list of rows with their encodings.

use mir::isa::format::layout;
use mir::isa::{Format, Opcode, OpcodeInfo};
use mir::machine::Encoding;
use mir::target::{Generation, Target};

/// LLVM's assembler and disassembler.
pub const LLVM_MC: &str = "llvm-mc-22";

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    #[allow(dead_code, reason = "not every test needs it")]
    pub fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// The target of a known processor.
pub fn target(processor: &str) -> Target {
    Target::new(Target::processor_by_name(processor).expect("known processor"))
}

/// The encodings of `info` on `generation` that its format tells apart, or [`Encoding::Auto`] alone.
pub fn encodings(info: &OpcodeInfo, generation: Generation) -> Vec<Encoding> {
    use Encoding::{Auto, Dpp, E32, E64, Sdwa};
    let candidates: &[Encoding] = match info.format {
        Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vintrp => &[E32, E64, Sdwa, Dpp],
        Format::Vop3 | Format::Vop3p => &[E64],
        _ => &[Auto],
    };
    let exists = |encoding: Encoding| {
        let number = if encoding == E64 && info.format != Format::Vop3p {
            info.vop3_code(generation)
        } else {
            info.code(generation)
        };
        number.is_some() && layout(info, encoding, generation).is_some()
    };
    candidates.iter().copied().filter(|e| exists(*e)).collect()
}

/// Rows of `target` with each of their encodings; pseudo instructions have none.
pub fn rows(target: &Target) -> Vec<(Opcode, Encoding)> {
    Opcode::ALL
        .iter()
        .filter(|op| op.info().format != Format::Pseudo && op.info().exists_on(target))
        .flat_map(|op| encodings(op.info(), target.generation()).into_iter().map(move |e| (*op, e)))
        .collect()
}
