//! Relocations of code objects.
//!
//! Source: AMDGPU usage guide, "Relocation Records".

use object::RelocationFlags;

macro_rules! relocations {
    ($($name:ident = $number:literal),* $(,)?) => {
        $(pub const $name: u32 = $number;)*

        /// The name of relocation `kind`, `R_AMDGPU_` before it.
        pub fn name(kind: u32) -> String {
            known_name(kind).map_or_else(|| format!("relocation {kind}"), str::to_owned)
        }

        /// The whole name of relocation `kind`, if it is known.
        pub fn known_name(kind: u32) -> Option<&'static str> {
            match kind {
                $($number => Some(concat!("R_AMDGPU_", stringify!($name))),)*
                _ => None,
            }
        }

        /// The relocation called `name`, without `R_AMDGPU_` before it.
        pub fn by_name(name: &str) -> Option<u32> {
            [$((stringify!($name), $number)),*].into_iter().find(|(known, _)| *known == name).map(|(_, kind)| kind)
        }
    };
}

relocations! {
    NONE = 0,
    ABS32_LO = 1,
    ABS32_HI = 2,
    ABS64 = 3,
    REL32 = 4,
    REL64 = 5,
    ABS32 = 6,
    GOTPCREL = 7,
    GOTPCREL32_LO = 8,
    GOTPCREL32_HI = 9,
    REL32_LO = 10,
    REL32_HI = 11,
    RELATIVE64 = 13,
    REL16 = 14,
}

/// Bytes of the relocated field.
pub const fn width_bytes(kind: u32) -> usize {
    match kind {
        NONE => 0,
        ABS64 | REL64 | RELATIVE64 => 8,
        REL16 => 2,
        _ => 4,
    }
}

/// The addend that the field at `offset` of `data` holds; 0 where there is no such field.
pub fn implicit_addend(data: &[u8], offset: u64, kind: u32) -> i64 {
    let width = width_bytes(kind);
    let field = usize::try_from(offset).ok().and_then(|at| data.get(at..at.checked_add(width)?));
    let Some(field) = field.filter(|f| !f.is_empty()) else { return 0 };
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(field);
    let unused = 64 - 8 * width as u32;
    i64::from_le_bytes(bytes) << unused >> unused
}

/// A relocation's addend, which the field in `data` holds where the relocation does not.
pub fn addend(data: &[u8], offset: u64, relocation: &object::Relocation) -> i64 {
    match relocation.flags() {
        RelocationFlags::Elf { r_type } if relocation.has_implicit_addend() => {
            implicit_addend(data, offset, r_type.0)
        }
        _ => relocation.addend(),
    }
}
