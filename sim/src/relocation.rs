//! Relocation records: their numbers, and the addends that fields hold.
//!
//! Source: AMDGPU usage guide, "Relocation Records".

use object::{Relocation, RelocationFlags};

pub(crate) const NONE: u32 = 0;
pub(crate) const ABS32_LO: u32 = 1;
pub(crate) const ABS32_HI: u32 = 2;
pub(crate) const ABS64: u32 = 3;
pub(crate) const REL32: u32 = 4;
pub(crate) const REL64: u32 = 5;
pub(crate) const ABS32: u32 = 6;
pub(crate) const GOTPCREL: u32 = 7;
pub(crate) const GOTPCREL32_LO: u32 = 8;
pub(crate) const GOTPCREL32_HI: u32 = 9;
pub(crate) const REL32_LO: u32 = 10;
pub(crate) const REL32_HI: u32 = 11;
pub(crate) const RELATIVE64: u32 = 13;
pub(crate) const REL16: u32 = 14;

/// A relocation's addend, which the field in `data` holds where the relocation does not (`SHT_REL`).
pub(crate) fn addend(data: &[u8], at: u64, relocation: &Relocation) -> i64 {
    let RelocationFlags::Elf { r_type } = relocation.flags() else { return relocation.addend() };
    if !relocation.has_implicit_addend() {
        return relocation.addend();
    }
    let field = |width: usize| {
        let at = usize::try_from(at).ok()?;
        data.get(at..at.checked_add(width)?)
    };
    // A field outside of the data has no addend; whoever applies the relocation reports it.
    match r_type.0 {
        ABS64 | REL64 | RELATIVE64 => field(8).and_then(|f| f.try_into().ok()).map_or(0, i64::from_le_bytes),
        REL16 => field(2).and_then(|f| f.try_into().ok()).map_or(0, |f| i16::from_le_bytes(f).into()),
        _ => field(4).and_then(|f| f.try_into().ok()).map_or(0, |f| i32::from_le_bytes(f).into()),
    }
}
