//! The rows.

use super::OpcodeInfo;

/// An instruction of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(non_camel_case_types, missing_docs, reason = "the ISA manuals' own mnemonics")]
pub enum Opcode {
    S_ENDPGM,
}

impl Opcode {
    /// The row.
    pub fn info(self) -> &'static OpcodeInfo {
        static S_ENDPGM: OpcodeInfo = OpcodeInfo {
            name: "s_endpgm",
            format: super::Format::Sopp,
            codes: [1, 1, 1, 1, 1],
            vop3_codes: [-1; 5],
            old_names: &[],
            operands: &[],
            flags: super::OpFlags::SIDE_EFFECTS,
            memory_bytes: 0,
        };
        &S_ENDPGM
    }
}
