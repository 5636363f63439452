//! From words to instructions and text, by the instruction table.

use mir::isa::{DecodeError, Format};
use mir::machine::Inst;
use mir::target::Target;

/// The number of EXEC as a destination, which assemblers write into `v_cmpx` in VOP3.
const EXEC: u32 = 0x7e;

/// Decodes the instruction that `words` start with; its size in bytes. The hardware does not look at the address of a buffer access without one, nor at the
/// destination of GFX10's `v_cmpx`, which LLVM left clear up to version 15.
pub fn decode(words: &[u32], target: &Target) -> Result<(Inst, u8), String> {
    let strict = mir::isa::decode(words, target);
    let (inst, len) = match strict {
        Err(DecodeError::BadOperand { name: "vaddr", .. }) => {
            let lenient = mir::isa::decode_lenient(words, target).ok();
            let lenient =
                lenient.filter(|(inst, _)| matches!(inst.op.info().format, Format::Mubuf | Format::Mtbuf));
            lenient.ok_or(()).or_else(|()| strict.map_err(|e| e.to_string()))?
        }
        Err(DecodeError::ReservedBits(bits)) if bits == u64::from(EXEC) && words[0] & 0xff == 0 => {
            let mut filled = words.to_vec();
            filled[0] |= EXEC;
            let compares = |(inst, _): &(Inst, usize)| inst.op.info().format == Format::Vopc;
            let lenient = mir::isa::decode(&filled, target).ok().filter(compares);
            lenient.ok_or(()).or_else(|()| strict.map_err(|e| e.to_string()))?
        }
        strict => strict.map_err(|e| e.to_string())?,
    };
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
    fn buffers_without_an_address_may_name_one() {
        for (cpu, words) in [("gfx600", [0xe030_0000, 0x0401_0155]), ("gfx900", [0xe050_0000, 0x0401_0155])] {
            let target = Target::new(Target::processor_by_name(cpu).unwrap());
            let (inst, size) = decode(&words, &target).unwrap();
            assert_eq!((text(&inst, &target).as_str(), size), ("buffer_load_dword v1, off, s[4:7], s4", 8));
        }
    }

    #[test]
    fn comparisons_that_write_exec_may_leave_it_out() {
        let target = Target::new(Target::processor_by_name("gfx1030").unwrap());
        for destination in [0, EXEC] {
            let (inst, size) = decode(&[0xd4f1_0000 | destination, 0x0002_1f0c], &target).unwrap();
            assert_eq!((text(&inst, &target).as_str(), size), ("v_cmpx_lt_u64_e64 v[12:13], v[15:16]", 8));
        }
        assert!(decode(&[0xd4f1_0002, 0x0002_1f0c], &target).is_err());
    }

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
