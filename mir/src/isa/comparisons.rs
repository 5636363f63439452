//! Relations of vector comparisons.
//!
//! Source: ISA manuals, VOPC: the low bits of an opcode are the relation, whose complement is the opposite one.

use super::Opcode::{self, *};

/// Comparisons that hold where the other one of the pair does not, numbers that are not comparable included.
static OPPOSITES: &[[Opcode; 2]] = &[
    [V_CMP_LT_F16, V_CMP_NLT_F16],
    [V_CMP_EQ_F16, V_CMP_NEQ_F16],
    [V_CMP_LE_F16, V_CMP_NLE_F16],
    [V_CMP_GT_F16, V_CMP_NGT_F16],
    [V_CMP_LG_F16, V_CMP_NLG_F16],
    [V_CMP_GE_F16, V_CMP_NGE_F16],
    [V_CMP_O_F16, V_CMP_U_F16],
    [V_CMP_LT_F32, V_CMP_NLT_F32],
    [V_CMP_EQ_F32, V_CMP_NEQ_F32],
    [V_CMP_LE_F32, V_CMP_NLE_F32],
    [V_CMP_GT_F32, V_CMP_NGT_F32],
    [V_CMP_LG_F32, V_CMP_NLG_F32],
    [V_CMP_GE_F32, V_CMP_NGE_F32],
    [V_CMP_O_F32, V_CMP_U_F32],
    [V_CMP_LT_F64, V_CMP_NLT_F64],
    [V_CMP_EQ_F64, V_CMP_NEQ_F64],
    [V_CMP_LE_F64, V_CMP_NLE_F64],
    [V_CMP_GT_F64, V_CMP_NGT_F64],
    [V_CMP_LG_F64, V_CMP_NLG_F64],
    [V_CMP_GE_F64, V_CMP_NGE_F64],
    [V_CMP_O_F64, V_CMP_U_F64],
    [V_CMP_LT_I16, V_CMP_GE_I16],
    [V_CMP_EQ_I16, V_CMP_NE_I16],
    [V_CMP_LE_I16, V_CMP_GT_I16],
    [V_CMP_LT_U16, V_CMP_GE_U16],
    [V_CMP_EQ_U16, V_CMP_NE_U16],
    [V_CMP_LE_U16, V_CMP_GT_U16],
    [V_CMP_LT_I32, V_CMP_GE_I32],
    [V_CMP_EQ_I32, V_CMP_NE_I32],
    [V_CMP_LE_I32, V_CMP_GT_I32],
    [V_CMP_LT_U32, V_CMP_GE_U32],
    [V_CMP_EQ_U32, V_CMP_NE_U32],
    [V_CMP_LE_U32, V_CMP_GT_U32],
    [V_CMP_LT_I64, V_CMP_GE_I64],
    [V_CMP_EQ_I64, V_CMP_NE_I64],
    [V_CMP_LE_I64, V_CMP_GT_I64],
    [V_CMP_LT_U64, V_CMP_GE_U64],
    [V_CMP_EQ_U64, V_CMP_NE_U64],
    [V_CMP_LE_U64, V_CMP_GT_U64],
];

impl Opcode {
    /// The vector comparison of the same type that holds where this one does not; `None` for what is no comparison of two values.
    pub fn opposite_comparison(self) -> Option<Self> {
        OPPOSITES.iter().find_map(|&[a, b]| match self {
            _ if self == a => Some(b),
            _ if self == b => Some(a),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Generation;

    /// Opcode numbers are the witness: 16 relations of floating-point numbers, 8 of integers, opposite where all bits differ.
    #[test]
    fn opposite_relations_have_complementary_numbers() {
        let mut count = 0;
        for &op in Opcode::ALL {
            let Some(opposite) = op.opposite_comparison() else { continue };
            count += 1;
            let name = op.info().name;
            for generation in Generation::ALL {
                // GFX10 has the second eight relations of halves apart from the first eight.
                let relations = match name.contains("_f") {
                    true if name.ends_with("_f16") && generation == Generation::Gfx10 => 0x27,
                    true => 15,
                    false => 7,
                };
                let numbers = [op, opposite].map(|op| op.info().code(generation));
                if let [Some(a), Some(b)] = numbers {
                    assert_eq!(a ^ b, relations, "{name} {generation:?}");
                } else {
                    assert_eq!(numbers, [None, None], "{name} {generation:?}");
                }
            }
        }
        assert_eq!(count, 78);
    }
}
