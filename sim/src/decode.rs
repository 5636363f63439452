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
