//! Operations on masks of lanes, by meaning: the instruction follows from the width that the target's waves give a mask.
//!
//! A mask has a bit a lane: an SGPR where waves have 32 lanes, a pair where they have 64 ([`WaveSize::mask_dwords`]). Code that computes with
//! masks names a [`MaskOp`] and asks it for the opcode; a 64-bit *integer* is another thing and has `B64` always.

use super::Opcode::{self, *};
use crate::target::WaveSize;

macro_rules! mask_ops {
    ($($(#[$doc:meta])* $name:ident = $narrow:ident, $wide:ident;)*) => {
        /// What is done to masks.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum MaskOp {
            $($(#[$doc])* $name,)*
        }

        impl MaskOp {
            /// All operations; the discriminant is the index.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }

        /// The opcodes, by operation and [`WaveSize`].
        static OPCODES: [[Opcode; 2]; MaskOp::ALL.len()] = [$([$narrow, $wide]),*];
    };
}

mask_ops! {
    /// A copy. SCC stays as it is, here alone and with [`Self::Cmov`], [`Self::Select`] and [`Self::LowBits`].
    Mov = S_MOV_B32, S_MOV_B64;
    /// A copy where SCC is 1.
    Cmov = S_CMOV_B32, S_CMOV_B64;
    /// The first source where SCC is 1, else the second.
    Select = S_CSELECT_B32, S_CSELECT_B64;
    /// So many ones (first source), from a bit on (second source). The sources are single SGPRs and count modulo the lanes of a wave.
    LowBits = S_BFM_B32, S_BFM_B64;
    /// Lanes that are not in the mask.
    Not = S_NOT_B32, S_NOT_B64;
    /// Quads that have a lane in the mask, whole.
    Wqm = S_WQM_B32, S_WQM_B64;
    /// Lanes in both.
    And = S_AND_B32, S_AND_B64;
    /// Lanes in one of them.
    Or = S_OR_B32, S_OR_B64;
    /// Lanes in just one of them.
    Xor = S_XOR_B32, S_XOR_B64;
    /// Lanes in both or in none.
    Xnor = S_XNOR_B32, S_XNOR_B64;
    /// Lanes in the first that are not in the second.
    AndN2 = S_ANDN2_B32, S_ANDN2_B64;
    /// Lanes in the first or not in the second.
    OrN2 = S_ORN2_B32, S_ORN2_B64;
    /// How many lanes there are, a number of 32 bits.
    Count = S_BCNT1_I32_B32, S_BCNT1_I32_B64;
    /// The first lane, a number of 32 bits; −1 where there is none.
    First = S_FF1_I32_B32, S_FF1_I32_B64;
    /// EXEC is copied; those of its lanes go on that are in the source.
    AndSaveexec = S_AND_SAVEEXEC_B32, S_AND_SAVEEXEC_B64;
    /// EXEC is copied; those of its lanes go on that are not in the source.
    AndN1Saveexec = S_ANDN1_SAVEEXEC_B32, S_ANDN1_SAVEEXEC_B64;
    /// EXEC is copied; those of the source come in addition.
    OrSaveexec = S_OR_SAVEEXEC_B32, S_OR_SAVEEXEC_B64;
    /// EXEC is copied; lanes go on that are in one of EXEC and source.
    XorSaveexec = S_XOR_SAVEEXEC_B32, S_XOR_SAVEEXEC_B64;
}

impl MaskOp {
    /// The instruction where waves have the size `wave`.
    #[inline]
    pub fn opcode(self, wave: WaveSize) -> Opcode {
        OPCODES[self as usize][wave as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{OpcodeInfo, OperandDesc, ValueType, Width};

    /// The two instructions of an operation are the same but for the width of masks.
    #[test]
    fn pairs_differ_in_width_alone() {
        for &op in MaskOp::ALL {
            let [narrow, wide] = WaveSize::ALL.map(|wave| op.opcode(wave).info());
            let name = |info: &OpcodeInfo, width: &str| {
                let at = info.name.rfind(width).unwrap_or_else(|| panic!("{op:?}: {}", info.name));
                [&info.name[..at], &info.name[at + width.len()..]].concat()
            };
            assert_eq!(name(narrow, "b32"), name(wide, "b64"), "{op:?}");
            assert_eq!((narrow.format, narrow.flags), (wide.format, wide.flags), "{op:?}");
            assert_eq!(narrow.operands.len(), wide.operands.len(), "{op:?}");
            let mut masks = 0;
            for (a, b) in narrow.operands.iter().zip(wide.operands) {
                assert_eq!((a.role, a.kind, a.name, a.slot), (b.role, b.kind, b.name, b.slot), "{op:?}");
                let kind = |desc: &OperandDesc| (desc.width, desc.ty);
                let differs = kind(a) != kind(b);
                masks += usize::from(differs);
                let widths = ((Width::Dwords(1), ValueType::B32), (Width::Dwords(2), ValueType::B64));
                assert!(!differs || (kind(a), kind(b)) == widths, "{op:?} {}", a.name);
            }
            assert!(masks > 0, "{op:?} has no mask");
        }
    }
}
