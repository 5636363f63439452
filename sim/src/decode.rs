//! From words to instructions and text, by the instruction table.

use mir::machine::Inst;
use mir::target::Target;

/// Decodes the instruction that `words` start with; its size in bytes.
pub fn decode(words: &[u32], target: &Target) -> Result<(Inst, u8), String> {
    let (inst, len) = mir::isa::decode(words, target).map_err(|e| e.to_string())?;
    Ok((inst, (len * 4) as u8))
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
