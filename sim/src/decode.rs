//! From words to instructions and text, by the instruction table.

use mir::isa::DecodeError;
use mir::machine::Inst;
use mir::target::Target;

/// Decodes the instruction that `words` start with; its size in bytes.
pub fn decode(words: &[u32], target: &Target) -> Result<(Inst, u8), String> {
    let (inst, len) = match mir::isa::decode(words, target) {
        Err(DecodeError::Contradictory(op)) => {
            wide_literal(words, target).ok_or_else(|| DecodeError::Contradictory(op).to_string())?
        }
        other => other.map_err(|e| e.to_string())?,
    };
    Ok((inst, (len * 4) as u8))
}

/// An instruction on 16 bits whose literal has bits above them, which LLVM writes and hardware does not read.
fn wide_literal(words: &[u32], target: &Target) -> Option<(Inst, usize)> {
    let (inst, len) = mir::isa::decode_lenient(words, target).ok()?;
    let mut again = Vec::new();
    mir::isa::encode(&inst, target, &mut again).ok()?;
    let (literal, rest) = words.get(..len)?.split_last()?;
    let (same, before) = again.split_last()?;
    (rest == before && *same as u16 == *literal as u16).then_some((inst, len))
}

/// The text of an instruction.
pub fn text(inst: &Inst, target: &Target) -> String {
    inst.display(target).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_16_bit_instructions_may_be_sign_extended() {
        let target = Target::new(Target::processor_by_name("gfx803").unwrap());
        // v_max_i16_e32 v4, 0xff80, v0
        for literal in [0xffff_ff80, 0x0000_ff80] {
            let (inst, size) = decode(&[0x6008_00ff, literal], &target).unwrap();
            assert_eq!((text(&inst, &target).as_str(), size), ("v_max_i16_e32 v4, 0xff80, v0", 8));
        }
    }
}
