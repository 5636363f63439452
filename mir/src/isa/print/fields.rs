//! Immediates whose bits have names: counters, hardware registers, messages, targets of exports, formats.

use super::{DisplayInst, Names};
use crate::isa::formats::{UNIFIED_DEFAULT, unified_format_name};
use crate::target::messages::{
    MSG_GS, MSG_GS_DONE, MSG_SYSMSG, depctr_fields, depctr_neutral, hwreg_fields, hwreg_name, message_fields,
    message_name, operation_name,
};
use crate::target::{Generation, Target};
use std::fmt::{self, Formatter, Write};

impl<N: Names> DisplayInst<'_, N> {
    pub(super) fn waitcnt(&self, f: &mut Formatter<'_>, imm: u16) -> fmt::Result {
        let layout = self.target.waits();
        let counts = layout.decode(imm);
        if layout.encode(counts) != imm {
            return write!(f, "{imm:#x}");
        }
        let max = layout.max();
        let all = counts == max;
        let mut separator = "";
        for counter in layout.fields() {
            if counts[counter] != max[counter] || all {
                write!(f, "{separator}{}({})", counter.name(), counts[counter])?;
                separator = " ";
            }
        }
        Ok(())
    }

    pub(super) fn hwreg(&self, f: &mut Formatter<'_>, imm: u16) -> fmt::Result {
        let (id, offset, size) = hwreg_fields(imm);
        match hwreg_name(id, self.target) {
            Some(name) => write!(f, "hwreg({name}")?,
            None => write!(f, "hwreg({id}")?,
        }
        if (offset, size) != (0, 32) {
            write!(f, ", {offset}, {size}")?;
        }
        f.write_char(')')
    }

    pub(super) fn message(&self, f: &mut Formatter<'_>, imm: u16) -> fmt::Result {
        let Some((id, operation, stream)) = message_fields(imm) else {
            return write!(f, "{imm}");
        };
        let generation = self.generation;
        if let Some(name) = message_name(id, generation) {
            match operation_name(id, operation, generation) {
                // The first geometry message has no neutral operation; the others take no stream.
                Some(op) if id == MSG_GS && operation == 0 => {
                    let _ = op;
                }
                Some(op) if matches!(id, MSG_GS | MSG_GS_DONE) => {
                    if operation != 0 {
                        return write!(f, "sendmsg({name}, {op}, {stream})");
                    }
                    if stream == 0 {
                        return write!(f, "sendmsg({name}, {op})");
                    }
                }
                Some(op) if stream == 0 => return write!(f, "sendmsg({name}, {op})"),
                None if operation == 0 && stream == 0 && !matches!(id, MSG_GS | MSG_GS_DONE | MSG_SYSMSG) => {
                    return write!(f, "sendmsg({name})");
                }
                _ => {}
            }
        }
        write!(f, "sendmsg({id}, {operation}, {stream})")
    }
}

/// Counters of `s_waitcnt_depctr`: those that wait for nothing are left out, unless all do.
pub(super) fn depctr(f: &mut Formatter<'_>, imm: u16, target: &Target) -> fmt::Result {
    if imm & !depctr_neutral(target) != 0 {
        return write!(f, "{imm:#x}");
    }
    let fields = || depctr_fields(target);
    let all = fields().all(|field| field.get(imm) == field.max());
    let mut separator = "";
    for field in fields().filter(|field| all || field.get(imm) != field.max()) {
        write!(f, "{separator}{}({})", field.name, field.get(imm))?;
        separator = " ";
    }
    Ok(())
}

pub(super) fn gpr_index_mode(f: &mut Formatter<'_>, value: i64) -> fmt::Result {
    if !(0..16).contains(&value) {
        return write!(f, "{value:#x}");
    }
    f.write_str("gpr_idx(")?;
    let mut separator = "";
    for (bit, name) in ["SRC0", "SRC1", "SRC2", "DST"].iter().enumerate() {
        if value >> bit & 1 != 0 {
            write!(f, "{separator}{name}")?;
            separator = ",";
        }
    }
    f.write_char(')')
}

pub(super) fn export_target(f: &mut Formatter<'_>, target: i64, generation: Generation) -> fmt::Result {
    match target {
        0..=7 => write!(f, "mrt{target}"),
        8 => f.write_str("mrtz"),
        9 => f.write_str("null"),
        12..=15 => write!(f, "pos{}", target - 12),
        16 if generation.encoding_rules().exports_primitives => f.write_str("pos4"),
        20 if generation.encoding_rules().exports_primitives => f.write_str("prim"),
        32..=63 => write!(f, "param{}", target - 32),
        _ => write!(f, "invalid_target_{target}"),
    }
}

/// The lane pattern of `ds_swizzle_b32`. Source: Vega ISA, "DS_SWIZZLE_B32"; spelling of LLVM.
pub(super) fn swizzle(f: &mut Formatter<'_>, offset: u16, generation: Generation) -> fmt::Result {
    if offset == 0 {
        return Ok(());
    }
    if offset & 0xff00 == 0x8000 {
        let lane = |i: u16| offset >> (2 * i) & 3;
        return write!(f, " offset:swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
    }
    if generation.encoding_rules().swizzles_fft && offset & !0x1f == 0xe000 {
        return write!(f, " offset:swizzle(FFT,{})", offset & 31);
    }
    if generation.encoding_rules().swizzles_fft && offset & !0x7e0 == 0xc000 {
        return write!(f, " offset:swizzle(ROTATE,{},{})", offset >> 10 & 1, offset >> 5 & 31);
    }
    if offset & 0x8000 != 0 {
        return write!(f, " offset:{offset}");
    }
    let (and, or, xor) = (offset & 31, offset >> 5 & 31, offset >> 10 & 31);
    if and == 31 && or == 0 && xor.is_power_of_two() {
        return write!(f, " offset:swizzle(SWAP,{xor})");
    }
    if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
        return write!(f, " offset:swizzle(REVERSE,{})", xor + 1);
    }
    let group = 32 - and;
    if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        return write!(f, " offset:swizzle(BROADCAST,{group},{or})");
    }
    // A bit forced to 0 or 1 has one spelling, but several encodings.
    if or & and != 0 || xor & !(and & !or) != 0 {
        return write!(f, " offset:{offset}");
    }
    f.write_str(" offset:swizzle(BITMASK_PERM,\"")?;
    // What becomes of each bit of the lane number, from the highest.
    for bit in (0..5).rev() {
        let of = |mask: u16| mask >> bit & 1 != 0;
        let with = |input: bool| ((input && of(and)) || of(or)) != of(xor);
        f.write_char(match (with(false), with(true)) {
            (false, false) => '0',
            (true, true) => '1',
            (false, true) => 'p',
            (true, false) => 'i',
        })?;
    }
    f.write_str("\")")
}

/// Names of data formats of typed buffers, by number. Source: the ISA manuals' buffer resource tables.
pub(in crate::isa) static DATA_FORMATS: [&str; 16] = [
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
];

/// A unified format by its name, or by its number where it has none.
pub(super) fn unified_format(f: &mut Formatter<'_>, format: u8) -> fmt::Result {
    match unified_format_name(format) {
        // The default, which LLVM leaves out.
        _ if format == UNIFIED_DEFAULT => Ok(()),
        Some((data, number)) => write!(f, " format:[BUF_FMT_{data}{number}]"),
        None => write!(f, " format:{format}"),
    }
}

/// Typed buffer formats: data format in bits 3:0, number format in 6:4. Source: the ISA manuals' buffer resource tables.
pub(super) fn buffer_format(f: &mut Formatter<'_>, format: u8, generation: Generation) -> fmt::Result {
    const NUMBER: [&str; 8] = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "", "FLOAT"];
    let (data, number) = (format & 15, format >> 4 & 7);
    // The default, which LLVM leaves out.
    if (data, number) == (1, 0) {
        return Ok(());
    }
    f.write_str(" format:[")?;
    if data != 1 {
        write!(f, "BUF_DATA_FORMAT_{}", DATA_FORMATS[usize::from(data)])?;
    }
    if number != 0 {
        let name = match NUMBER[usize::from(number)] {
            "" => generation.encoding_rules().number_format_6,
            name => name,
        };
        write!(f, "{}BUF_NUM_FORMAT_{name}", if data != 1 { "," } else { "" })?;
    }
    f.write_char(']')
}
