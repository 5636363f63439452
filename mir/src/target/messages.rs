//! Names inside the immediates of `s_getreg`/`s_setreg` and `s_sendmsg`.
//!
//! Source: the ISA manuals, "Hardware registers" and "S_SENDMSG"; the spellings are LLVM's.

use super::{Features, Generation, Target};

/// A name with its number and the generations (first, last) that have it.
struct Name(&'static str, u8, Generation, Generation);

use Generation::{Gfx6, Gfx8, Gfx9, Gfx10};

static HWREGS: &[Name] = &[
    Name("HW_REG_MODE", 1, Gfx6, Gfx10),
    Name("HW_REG_STATUS", 2, Gfx6, Gfx10),
    Name("HW_REG_TRAPSTS", 3, Gfx6, Gfx10),
    Name("HW_REG_HW_ID", 4, Gfx6, Gfx9),
    Name("HW_REG_GPR_ALLOC", 5, Gfx6, Gfx10),
    Name("HW_REG_LDS_ALLOC", 6, Gfx6, Gfx10),
    Name("HW_REG_IB_STS", 7, Gfx6, Gfx10),
    Name("HW_REG_SH_MEM_BASES", 15, Gfx9, Gfx10),
    Name("HW_REG_TBA_LO", 16, Gfx9, Gfx10),
    Name("HW_REG_TBA_HI", 17, Gfx9, Gfx10),
    Name("HW_REG_TMA_LO", 18, Gfx9, Gfx10),
    Name("HW_REG_TMA_HI", 19, Gfx9, Gfx10),
    Name("HW_REG_FLAT_SCR_LO", 20, Gfx10, Gfx10),
    Name("HW_REG_FLAT_SCR_HI", 21, Gfx10, Gfx10),
    Name("HW_REG_HW_ID1", 23, Gfx10, Gfx10),
    // The older name.
    Name("HW_REG_HW_ID", 23, Gfx10, Gfx10),
    Name("HW_REG_HW_ID2", 24, Gfx10, Gfx10),
    Name("HW_REG_POPS_PACKER", 25, Gfx10, Gfx10),
];

/// Those that some processors of their generations lack.
static RARE_HWREGS: &[(Features, &[Name])] = &[
    (Features::XNACK_MASK, &[Name("HW_REG_XNACK_MASK", 22, Gfx10, Gfx10)]),
    (Features::SHADER_CYCLES, &[Name("HW_REG_SHADER_CYCLES", 29, Gfx10, Gfx10)]),
];

/// A field of the immediate of `s_waitcnt_depctr`. Its largest value waits for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DepctrField {
    /// Name in assembly.
    pub name: &'static str,
    shift: u8,
    width: u8,
    requires: Features,
}

impl DepctrField {
    /// The largest value.
    pub fn max(&self) -> u16 {
        (1 << self.width) - 1
    }

    /// The field's value in `imm`.
    pub fn get(&self, imm: u16) -> u16 {
        imm >> self.shift & self.max()
    }

    /// `imm` with `value` in the field.
    pub fn put(&self, imm: u16, value: u16) -> u16 {
        imm & !(self.max() << self.shift) | (value & self.max()) << self.shift
    }
}

const fn depctr(name: &'static str, shift: u8, width: u8) -> DepctrField {
    DepctrField { name, shift, width, requires: Features::empty() }
}

/// In the order of the text. Source: RDNA ISA manual, "S_WAITCNT_DEPCTR"; spellings of LLVM.
static DEPCTR: &[DepctrField] = &[
    DepctrField { requires: Features::SHADER_CYCLES, ..depctr("depctr_hold_cnt", 7, 1) },
    depctr("depctr_sa_sdst", 0, 1),
    depctr("depctr_va_vdst", 12, 4),
    depctr("depctr_va_sdst", 9, 3),
    depctr("depctr_va_ssrc", 8, 1),
    depctr("depctr_va_vcc", 1, 1),
    depctr("depctr_vm_vsrc", 2, 3),
];

/// The fields that `target` has, in the order of the text.
pub fn depctr_fields(target: &Target) -> impl Iterator<Item = &'static DepctrField> {
    let features = target.features;
    DEPCTR.iter().filter(move |field| features.contains(field.requires))
}

static MESSAGES: &[Name] = &[
    Name("MSG_INTERRUPT", 1, Gfx6, Gfx10),
    Name("MSG_GS", MSG_GS, Gfx6, Gfx10),
    Name("MSG_GS_DONE", MSG_GS_DONE, Gfx6, Gfx10),
    Name("MSG_SAVEWAVE", 4, Gfx8, Gfx10),
    Name("MSG_STALL_WAVE_GEN", 5, Gfx9, Gfx10),
    Name("MSG_HALT_WAVES", 6, Gfx9, Gfx10),
    Name("MSG_ORDERED_PS_DONE", 7, Gfx9, Gfx10),
    Name("MSG_EARLY_PRIM_DEALLOC", 8, Gfx9, Gfx10),
    Name("MSG_GS_ALLOC_REQ", 9, Gfx9, Gfx10),
    Name("MSG_GET_DOORBELL", 10, Gfx9, Gfx10),
    Name("MSG_GET_DDID", 11, Gfx10, Gfx10),
    Name("MSG_SYSMSG", MSG_SYSMSG, Gfx6, Gfx10),
];

static GS_OPERATIONS: &[Name] = &[
    Name("GS_OP_NOP", 0, Gfx6, Gfx10),
    Name("GS_OP_CUT", 1, Gfx6, Gfx10),
    Name("GS_OP_EMIT", 2, Gfx6, Gfx10),
    Name("GS_OP_EMIT_CUT", 3, Gfx6, Gfx10),
];

static SYSTEM_OPERATIONS: &[Name] = &[
    Name("SYSMSG_OP_ECC_ERR_INTERRUPT", 1, Gfx6, Gfx10),
    Name("SYSMSG_OP_REG_RD", 2, Gfx6, Gfx10),
    Name("SYSMSG_OP_HOST_TRAP_ACK", 3, Gfx6, Gfx8),
    Name("SYSMSG_OP_TTRACE_PC", 4, Gfx6, Gfx10),
];

/// Geometry shader message.
pub const MSG_GS: u8 = 2;
/// Last geometry shader message.
pub const MSG_GS_DONE: u8 = 3;
/// System message.
pub const MSG_SYSMSG: u8 = 15;

fn name_of(table: &'static [Name], number: u8, generation: Generation) -> Option<&'static str> {
    table
        .iter()
        .find(|Name(_, n, first, last)| *n == number && (*first..=*last).contains(&generation))
        .map(|name| name.0)
}

fn number_of(table: &'static [Name], text: &str, generation: Generation) -> Option<u8> {
    table
        .iter()
        .find(|Name(name, _, first, last)| *name == text && (*first..=*last).contains(&generation))
        .map(|name| name.1)
}

/// The name of hardware register `number`.
pub fn hwreg_name(number: u8, target: &Target) -> Option<&'static str> {
    hwregs(target).find_map(|table| name_of(table, number, target.generation()))
}

/// The number of the hardware register `name`.
pub fn hwreg_number(name: &str, target: &Target) -> Option<u8> {
    hwregs(target).find_map(|table| number_of(table, name, target.generation()))
}

/// The immediate of `s_waitcnt_depctr` that waits for nothing: all of the bits that have a meaning.
pub fn depctr_neutral(target: &Target) -> u16 {
    depctr_fields(target).fold(0, |imm, field| field.put(imm, field.max()))
}

/// The tables of hardware registers that `target` has.
fn hwregs(target: &Target) -> impl Iterator<Item = &'static [Name]> {
    let rare = RARE_HWREGS.iter().filter(|(feature, _)| target.has(*feature)).map(|(_, names)| *names);
    std::iter::once(HWREGS).chain(rare)
}

/// The name of message `number`.
pub fn message_name(number: u8, generation: Generation) -> Option<&'static str> {
    name_of(MESSAGES, number, generation)
}

/// The number of the message `name`.
pub fn message_number(name: &str, generation: Generation) -> Option<u8> {
    number_of(MESSAGES, name, generation)
}

fn operations(message: u8) -> &'static [Name] {
    match message {
        MSG_GS | MSG_GS_DONE => GS_OPERATIONS,
        MSG_SYSMSG => SYSTEM_OPERATIONS,
        _ => &[],
    }
}

/// The name of `operation` of `message`.
pub fn operation_name(message: u8, operation: u8, generation: Generation) -> Option<&'static str> {
    name_of(operations(message), operation, generation)
}

/// The number of the operation `name` of `message`.
pub fn operation_number(message: u8, name: &str, generation: Generation) -> Option<u8> {
    number_of(operations(message), name, generation)
}

/// The immediate of `hwreg(id, offset, size)`: id in bits 5:0, offset in 10:6, size − 1 in 15:11.
pub fn hwreg_immediate(id: u8, offset: u8, size: u8) -> Option<u16> {
    (id < 64 && offset < 32 && (1..=32).contains(&size))
        .then(|| u16::from(id) | u16::from(offset) << 6 | u16::from(size - 1) << 11)
}

/// (id, offset, size) of such an immediate.
pub fn hwreg_fields(immediate: u16) -> (u8, u8, u8) {
    ((immediate & 0x3f) as u8, (immediate >> 6 & 0x1f) as u8, (immediate >> 11) as u8 + 1)
}

/// (message, operation, stream) of the immediate of `s_sendmsg`: bits 3:0, 6:4 and 9:8; `None` where others are set.
pub fn message_fields(immediate: u16) -> Option<(u8, u8, u8)> {
    (immediate & !0x37f == 0).then_some((
        (immediate & 15) as u8,
        (immediate >> 4 & 7) as u8,
        (immediate >> 8 & 3) as u8,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_survive() {
        assert_eq!(hwreg_immediate(1, 0, 32), Some(0xf801));
        for imm in [0u16, 0xf801, 0x1801, 0xffff, 0x2b47] {
            let (id, offset, size) = hwreg_fields(imm);
            assert_eq!(hwreg_immediate(id, offset, size), Some(imm));
        }
        assert_eq!(message_fields(0x122), Some((2, 2, 1)));
        assert_eq!(message_name(9, Generation::Gfx8), None);
        let number = |name: &str, processor: &str| {
            hwreg_number(name, &Target::new(Target::processor_by_name(processor)?))
        };
        assert_eq!(number("HW_REG_MODE", "gfx600"), Some(1));
        assert_eq!(
            [number("HW_REG_HW_ID", "gfx900"), number("HW_REG_HW_ID", "gfx1030")],
            [Some(4), Some(23)]
        );
        assert_eq!(["gfx1010", "gfx1030"].map(|cpu| number("HW_REG_SHADER_CYCLES", cpu)), [None, Some(29)]);
    }
}
