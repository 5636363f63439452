//! The rows, a file for each format, and what is made from them: [`Opcode`] and the array behind [`Opcode::info`].
//!
//! ```text
//! row!(NAME, Format, [gfx6, gfx7, gfx8, gfx9, gfx10], OPERANDS, FLAGS [, vop3 [..]] [, old [..]] [, requires ..] [, bytes N] [, least N] [, atomic ..] [, image ..]);
//! ```
//!
//! * `NAME`: the mnemonic of the newest generation that code is made for, in upper case; `old` lists the names of other generations.
//! * The five numbers are opcodes in `Format`, −1 where the format has no such instruction. VOP1, VOP2, VOPC and VINTRP rows have
//!   a VOP3 encoding at the usual distance from them unless `vop3` gives other numbers or the flag `NO_VOP3` denies it.
//! * Operands in the order of the assembly text, `()` for none: `d` written, `s` read, `x` both; then
//!   (kind, dwords, type[, name]), with `MASK` for the dwords of a mask of lanes. Kinds: `V` VGPR, `VS` vector source, `S` SGPR, `SS` scalar source, `M` lane mask, `SIMM` 16-bit
//!   immediate, `OPT` the same, omitted where 0, `LABEL`, `WAIT`, `DEPCTR`, `HWREG`, `MSG`, `SOFF` scalar memory offset, `SO` buffer
//!   soffset, `VOFF`/`SOFFS` optional VGPR/SGPR address, `LIT` mandatory literal, `ATTR`, `SLOT`, `TGT`, `XS` export source,
//!   `IMM` other immediate, `ANY` register of any file. A `V` in the place of `src1` of VOP2 and VOPC is what the short
//!   encoding takes; VOP3 takes any vector source there ([`OpcodeInfo::operand_kind`]).
//! * `requires`: abilities that a processor of the generation may lack. `bytes`: memory accessed by a lane.
//!   `least`: address registers of an image instruction with the fewest coordinates. `atomic`: [`Rmw`]. `image`: [`ImageParts`].
//!
//! Numbers: AMD's ISA manuals of Southern Islands, Sea Islands, GCN3, Vega and RDNA; LLVM's assembler is the witness.

use super::format::{Slot, place_operands};
use super::row::{
    Format, ImageParts, OpFlags, OpcodeInfo, OperandDesc, OperandKind as K, Rmw, Role, ValueType, Width,
    assembly_name, lower_case, vop3_codes,
};
use crate::target::{Features, Generation};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

mod ds;
mod exp;
mod flat;
mod mimg;
mod mtbuf;
mod mubuf;
mod pseudo;
mod smem;
mod sop1;
mod sop2;
mod sopc;
mod sopk;
mod sopp;
mod vintrp;
mod vop1;
mod vop2;
mod vop3;
mod vop3p;
mod vopc;

use {
    ds::ds, exp::exp, flat::flat, mimg::mimg, mtbuf::mtbuf, mubuf::mubuf, pseudo::pseudo, smem::smem,
    sop1::sop1, sop2::sop2, sopc::sopc, sopk::sopk, sopp::sopp, vintrp::vintrp, vop1::vop1, vop2::vop2,
    vop3::vop3, vop3p::vop3p, vopc::vopc,
};

macro_rules! role {
    (d) => {
        Role::Def
    };
    (s) => {
        Role::Use
    };
    (x) => {
        Role::DefUse
    };
}

#[rustfmt::skip]
macro_rules! kind {
    (V) => { K::Vgpr };
    (VS) => { K::VectorSrc };
    (S) => { K::Sgpr };
    (SS) => { K::ScalarSrc };
    (M) => { K::LaneMask };
    (SIMM) => { K::Simm16 };
    (OPT) => { K::OptionalImm };
    (LABEL) => { K::Label };
    (WAIT) => { K::Waitcnt };
    (DEPCTR) => { K::Depctr };
    (HWREG) => { K::Hwreg };
    (MSG) => { K::Sendmsg };
    (SOFF) => { K::SmemOffset };
    (SO) => { K::Soffset };
    (VOFF) => { K::VgprOrOff };
    (SOFFS) => { K::SgprOrOff };
    (LIT) => { K::Literal };
    (ATTR) => { K::Attribute };
    (SLOT) => { K::InterpSlot };
    (TGT) => { K::ExportTarget };
    (XS) => { K::ExportSrc };
    (IMM) => { K::Imm };
    (ANY) => { K::AnyReg };
}

macro_rules! width {
    (MASK) => {
        Width::Mask
    };
    ($dwords:literal) => {
        Width::Dwords($dwords)
    };
}

macro_rules! operand_name {
    () => {
        ""
    };
    ($name:ident) => {
        stringify!($name)
    };
}

macro_rules! operand {
    ($role:ident ($kind:ident, $width:tt, $ty:ident $(, $name:ident)?)) => {
        OperandDesc {
            role: role!($role),
            kind: kind!($kind),
            width: width!($width),
            ty: ValueType::$ty,
            name: operand_name!($($name)?),
            slot: Slot::Implied,
        }
    };
}

macro_rules! operands {
    ($format:ident) => { &[] };
    ($format:ident $($role:ident $args:tt)+) => {
        &const { place_operands(Format::$format, [$(operand!($role $args)),+]) }
    };
}

/// Applies one optional part to a row under construction.
macro_rules! option {
    ($row:ident vop3 $codes:tt) => { $row.vop3_codes = $codes; };
    ($row:ident old [$(($generation:ident, $name:literal)),+]) => {
        $row.old_names = &[$((Generation::$generation, $name)),+];
    };
    ($row:ident requires $($feature:ident)+) => { $row.requires = Features::empty()$(.union(Features::$feature))+; };
    ($row:ident bytes $bytes:literal) => { $row.memory_bytes = $bytes; };
    ($row:ident least $dwords:literal) => { $row.least_address = $dwords; };
    ($row:ident atomic $kind:ident) => { $row.rmw = Some(Rmw::$kind); };
    ($row:ident image $($part:ident)+) => { $row.image = ImageParts::empty()$(.union(ImageParts::$part))+; };
}

macro_rules! define_opcodes {
    ([] $(row!(
        $name:ident, $format:ident, $codes:expr, $(())? $($role:ident $args:tt)*, $($flag:ident)|+
        $(, $key:ident $($value:tt)|+)*
    );)*) => {
        /// An instruction of the table.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[allow(non_camel_case_types, missing_docs, reason = "the ISA manuals' own mnemonics")]
        #[repr(u16)]
        pub enum Opcode {
            $($name,)*
        }

        impl Opcode {
            /// All opcodes, in the order of their discriminants.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }

        /// The rows, by opcode.
        pub(super) static ROWS: [OpcodeInfo; Opcode::ALL.len()] = [$({
            const FLAGS: OpFlags = OpFlags::empty()$(.union(OpFlags::$flag))+;
            const NAME: [u8; stringify!($name).len()] = lower_case(stringify!($name));
            const CODES: [i16; Generation::COUNT] = $codes;
            #[allow(unused_mut, reason = "most rows have no optional parts")]
            let mut row = OpcodeInfo {
                name: assembly_name(&NAME, FLAGS),
                format: Format::$format,
                codes: CODES,
                vop3_codes: vop3_codes(Format::$format, CODES, FLAGS),
                old_names: &[],
                operands: operands!($format $($role $args)*),
                flags: FLAGS,
                requires: Features::empty(),
                memory_bytes: 0,
                least_address: 1,
                rmw: None,
                image: ImageParts::empty(),
            };
            $(option!(row $key $($value)+);)*
            row
        }),*];
    };
}

sop1! { [sop2 sopc sopk sopp smem vop1 vop2 vopc vop3 vop3p vintrp ds mubuf mtbuf mimg flat exp pseudo define_opcodes] }

impl Opcode {
    /// The row.
    #[inline]
    pub fn info(self) -> &'static OpcodeInfo {
        &ROWS[self as usize]
    }

    /// The opcode that is called `name` (without encoding suffix) on `generation`. Of an alias group this is the plain row:
    /// the one that returns nothing.
    pub fn by_name(name: &str, generation: Generation) -> Option<Self> {
        static MAPS: OnceLock<[FxHashMap<&'static str, Opcode>; Generation::COUNT]> = OnceLock::new();
        let maps = MAPS.get_or_init(|| {
            Generation::ALL.map(|generation| {
                let mut map = FxHashMap::default();
                for &op in Opcode::ALL {
                    let info = op.info();
                    if info.code(generation).is_some()
                        || info.vop3_code(generation).is_some()
                        || info.format == Format::Pseudo
                    {
                        map.entry(info.name_on(generation)).or_insert(op);
                    }
                }
                map
            })
        });
        maps[generation as usize].get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Declared aliases and rows for different abilities apart, a code point means one thing.
    #[test]
    fn code_points_are_unique() {
        for generation in Generation::ALL {
            let mut seen: FxHashMap<(Format, u16), Opcode> = FxHashMap::default();
            let mut claim = |format, code, op: Opcode| {
                let old = *seen.entry((format, code)).or_insert(op);
                let (a, b) = (old.info(), op.info());
                let alias = OpFlags::RTN | OpFlags::LDS_DMA;
                let told_apart =
                    (a.flags ^ b.flags).intersects(alias) && a.name == b.name || a.requires != b.requires;
                assert!(old == op || told_apart, "{generation:?} {format:?} {code:#x}: {old:?} and {op:?}");
            };
            for &op in Opcode::ALL {
                let info = op.info();
                if let Some(code) = info.code(generation) {
                    claim(info.format, code, op);
                }
                if let Some(code) = info.vop3_code(generation) {
                    claim(Format::Vop3, code, op);
                }
            }
        }
    }

    #[test]
    fn names_are_found() {
        for &op in Opcode::ALL {
            for generation in Generation::ALL {
                let info = op.info();
                if info.code(generation).is_some() || info.vop3_code(generation).is_some() {
                    let found = Opcode::by_name(info.name_on(generation), generation).map(|o| o.info().name);
                    assert_eq!(found, Some(info.name), "{op:?} {generation:?}");
                }
            }
        }
        assert_eq!(Opcode::by_name("v_add_u32", Generation::Gfx8), Some(Opcode::V_ADD_CO_U32));
        assert_eq!(Opcode::by_name("v_add_u32", Generation::Gfx9), Some(Opcode::V_ADD_U32));
    }

    /// The operand order that readers rely on: written operands first, names filled in.
    #[test]
    fn operands_are_well_formed() {
        for &op in Opcode::ALL {
            let operands = op.info().operands;
            let defs = op.info().def_count();
            assert!(operands[..defs].iter().all(|o| o.role != Role::Use), "{op:?}");
            assert!(operands.iter().all(|o| !o.name.is_empty()), "{op:?}");
        }
    }

    /// What waits, scheduler and simulator rely on: access and counters follow from format and operands.
    #[test]
    fn memory_properties_are_consistent() {
        for &op in Opcode::ALL {
            let info = op.info();
            let has = |flag: OpFlags| info.flags.contains(flag);
            let (load, store, atomic) = (has(OpFlags::LOAD), has(OpFlags::STORE), has(OpFlags::ATOMIC));
            let counters = (has(OpFlags::VM), has(OpFlags::LGKM));
            let wanted = match info.format {
                Format::Mubuf | Format::Mtbuf | Format::Mimg | Format::Global | Format::Scratch => {
                    (true, false)
                }
                Format::Flat => (true, true),
                Format::Ds => (false, true),
                Format::Smem => (false, counters.1),
                Format::Sopp => (false, matches!(op, Opcode::S_SENDMSG | Opcode::S_SENDMSGHALT)),
                _ => (false, false),
            };
            assert_eq!(counters, wanted, "counters of {op:?}");
            assert!(!atomic || (load && store), "{op:?}");
            assert!(!has(OpFlags::RTN) || (atomic && info.def_count() > 0), "{op:?}");
            let memory = info.format.is_memory();
            assert!(memory || info.format == Format::Pseudo || !(load || store), "{op:?}");
            if !memory {
                continue;
            }
            let dma = has(OpFlags::LDS_DMA);
            assert!(!dma || has(OpFlags::M0_USE), "{op:?}");
            if load && !store {
                assert!(info.def_count() > 0, "{op:?} loads into nothing");
            }
            if store && !load && !dma {
                assert_eq!(info.def_count(), 0, "{op:?}");
            }
            // Element sizes of formats are in resources, those of images in dmask.
            let sized = (load || store) && !has(OpFlags::FORMATTED) && info.format != Format::Mimg;
            assert!(!sized || info.memory_bytes > 0, "{op:?}: no size");
        }
    }

    /// The vector ALU alone has rates; the scalar ALU alone has SCC.
    #[test]
    fn alu_properties_are_consistent() {
        use Format::*;
        for &op in Opcode::ALL {
            let info = op.info();
            let vector = info.format.is_vector_alu();
            let scalar = info.format.is_scalar_alu() || info.format == Pseudo;
            let rate = OpFlags::TRANS.union(OpFlags::F64_RATE);
            assert!(vector || !info.flags.intersects(rate), "{op:?}");
            let scc = OpFlags::SCC_DEF.union(OpFlags::SCC_USE);
            assert!(scalar || !info.flags.intersects(scc), "{op:?}");
            assert!(
                info.format != Sopc
                    || info.flags.contains(OpFlags::SCC_DEF)
                    || info.flags.intersects(OpFlags::MODE_DEF.union(OpFlags::SIDE_EFFECTS)),
                "{op:?}"
            );
            assert_eq!(
                info.name.starts_with("v_cmpx") || info.name.starts_with("v_cmpsx"),
                info.format == Vopc && info.flags.contains(OpFlags::EXEC_DEF),
                "{op:?}"
            );
            assert!(!(info.name.contains("_f64") && vector) || info.flags.intersects(rate), "{op:?}");
        }
    }
}
