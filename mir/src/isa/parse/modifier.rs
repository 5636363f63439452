//! Modifiers: the words after (or, for a few, between) the operands.
//!
//! [`parse`] reads whatever modifier is here, whoever it belongs to, into a [`Collected`]; the matcher then asks
//! with [`allowed`] whether all of them belong to the encoding that it tries, and the encoder whether their values do.

use super::lexer::{Lexer, Token};
use super::special::{self, Context};
use super::{Failure, fail};
use crate::ir::ImageDim;
use crate::isa::accept::{accepted, sources};
use crate::isa::format::{Mod, layout};
use crate::isa::{Format, ImageParts, OpFlags, Opcode, dpp_control_exists};
use crate::machine::{Dpp, Encoding, ModFlags, Sdwa, SdwaSel, SdwaUnused};
use crate::target::Target;

bitflags::bitflags! {
    /// Which modifiers were written.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Seen: u64 {
        /// `mul:`, `div:`.
        const OMOD = 1 << 0;
        const OP_SEL = 1 << 1;
        const OP_SEL_HI = 1 << 2;
        const NEG_LO = 1 << 3;
        const NEG_HI = 1 << 4;
        const DST_SEL = 1 << 5;
        const DST_UNUSED = 1 << 6;
        const SRC0_SEL = 1 << 7;
        const SRC1_SEL = 1 << 8;
        /// `quad_perm:`, `row_shl:` and their kin.
        const DPP_CTRL = 1 << 9;
        const ROW_MASK = 1 << 10;
        const BANK_MASK = 1 << 11;
        const BOUND_CTRL = 1 << 12;
        const OFFSET = 1 << 13;
        const OFFSET0 = 1 << 14;
        const OFFSET1 = 1 << 15;
        const DMASK = 1 << 16;
        const FORMAT = 1 << 17;
        const DFMT = 1 << 18;
        const NFMT = 1 << 19;
        const CLAMP = 1 << 20;
        const GLC = 1 << 21;
        const SLC = 1 << 22;
        const TFE = 1 << 23;
        const LDS = 1 << 24;
        const OFFEN = 1 << 25;
        const IDXEN = 1 << 26;
        const ADDR64 = 1 << 27;
        const GDS = 1 << 28;
        const UNORM = 1 << 29;
        const DA = 1 << 30;
        const R128 = 1 << 31;
        const LWE = 1 << 32;
        const A16 = 1 << 33;
        const D16 = 1 << 34;
        const DONE = 1 << 35;
        const COMPR = 1 << 36;
        const VM = 1 << 37;
        const HIGH = 1 << 38;
        const NV = 1 << 39;
        const SWIZZLE = 1 << 40;
        const DLC = 1 << 41;
        const DIM = 1 << 42;
        /// `fi:`.
        const FETCH_INACTIVE = 1 << 43;
        const DPP8 = 1 << 44;
    }
}

/// The modifiers of an instruction as written.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Which ones.
    pub seen: Seen,
    /// Where the first one begins.
    pub at: usize,
    /// One-bit modifiers that are on.
    pub flags: ModFlags,
    /// `mul:`, `div:` as the field's value.
    pub omod: u8,
    /// Bit i: element i.
    pub op_sel: u8,
    /// The same.
    pub op_sel_hi: u8,
    /// The same.
    pub neg_lo: u8,
    /// The same.
    pub neg_hi: u8,
    /// `offset:` or `offset0:`.
    pub offset: i64,
    /// `offset1:`.
    pub offset1: u8,
    /// `dmask:`.
    pub dmask: u8,
    /// `format:`, or `dfmt:` and `nfmt:`.
    pub format: u8,
    /// SDWA parts.
    pub sdwa: Sdwa,
    /// DPP parts.
    pub dpp: DppParts,
    /// `dim:` as the field's value.
    pub dim: u8,
    /// `dpp8:`, three bits a lane.
    pub dpp8: u32,
    /// `fi:`.
    pub fetch_inactive: bool,
}

/// DPP control with the values of what is not written.
#[derive(Clone, Copy, Debug)]
pub struct DppParts(pub Dpp);

impl Default for DppParts {
    fn default() -> Self {
        // quad_perm:[0,1,2,3], every row and bank.
        Self(Dpp { ctrl: 0xe4, row_mask: 15, bank_mask: 15, bound_ctrl: false, fetch_inactive: false })
    }
}

/// One-bit modifiers.
#[rustfmt::skip]
static FLAGS: &[(&str, Seen, ModFlags)] = &[
    ("clamp", Seen::CLAMP, ModFlags::CLAMP),
    ("glc", Seen::GLC, ModFlags::GLC),
    ("slc", Seen::SLC, ModFlags::SLC),
    ("tfe", Seen::TFE, ModFlags::TFE),
    ("lds", Seen::LDS, ModFlags::LDS),
    ("offen", Seen::OFFEN, ModFlags::OFFEN),
    ("idxen", Seen::IDXEN, ModFlags::IDXEN),
    ("addr64", Seen::ADDR64, ModFlags::ADDR64),
    ("gds", Seen::GDS, ModFlags::GDS),
    ("unorm", Seen::UNORM, ModFlags::UNORM),
    ("da", Seen::DA, ModFlags::DA),
    ("r128", Seen::R128, ModFlags::R128),
    ("lwe", Seen::LWE, ModFlags::LWE),
    ("a16", Seen::A16, ModFlags::A16),
    ("d16", Seen::D16, ModFlags::D16),
    ("done", Seen::DONE, ModFlags::DONE),
    ("compr", Seen::COMPR, ModFlags::COMPR),
    ("vm", Seen::VM, ModFlags::VM),
    ("high", Seen::HIGH, ModFlags::HIGH),
    ("nv", Seen::NV, ModFlags::NV),
    ("dlc", Seen::DLC, ModFlags::DLC),
];

/// Modifiers with a value.
#[rustfmt::skip]
static VALUED: &[(&str, Seen)] = &[
    ("offset", Seen::OFFSET),
    ("inst_offset", Seen::OFFSET),
    ("offset0", Seen::OFFSET0),
    ("offset1", Seen::OFFSET1),
    ("dmask", Seen::DMASK),
    ("mul", Seen::OMOD),
    ("div", Seen::OMOD),
    ("op_sel", Seen::OP_SEL),
    ("op_sel_hi", Seen::OP_SEL_HI),
    ("neg_lo", Seen::NEG_LO),
    ("neg_hi", Seen::NEG_HI),
    ("dst_sel", Seen::DST_SEL),
    ("dst_unused", Seen::DST_UNUSED),
    ("src0_sel", Seen::SRC0_SEL),
    ("src1_sel", Seen::SRC1_SEL),
    ("quad_perm", Seen::DPP_CTRL),
    ("row_shl", Seen::DPP_CTRL),
    ("row_shr", Seen::DPP_CTRL),
    ("row_ror", Seen::DPP_CTRL),
    ("wave_shl", Seen::DPP_CTRL),
    ("wave_rol", Seen::DPP_CTRL),
    ("wave_shr", Seen::DPP_CTRL),
    ("wave_ror", Seen::DPP_CTRL),
    ("row_bcast", Seen::DPP_CTRL),
    ("row_share", Seen::DPP_CTRL),
    ("row_xmask", Seen::DPP_CTRL),
    ("fi", Seen::FETCH_INACTIVE),
    ("dpp8", Seen::DPP8),
    ("dim", Seen::DIM),
    ("row_mask", Seen::ROW_MASK),
    ("bank_mask", Seen::BANK_MASK),
    ("bound_ctrl", Seen::BOUND_CTRL),
    ("format", Seen::FORMAT),
    ("dfmt", Seen::DFMT),
    ("nfmt", Seen::NFMT),
];

fn flag(name: &str) -> Option<(Seen, ModFlags, bool)> {
    let find =
        |name: &str| FLAGS.iter().find(|(known, ..)| *known == name).map(|&(_, seen, flag)| (seen, flag));
    if let Some((seen, flag)) = find(name) {
        return Some((seen, flag, true));
    }
    let (seen, flag) = find(name.strip_prefix("no")?)?;
    Some((seen, flag, false))
}

/// Whether a modifier begins at `lexer`.
pub fn is_here(lexer: &Lexer<'_>) -> bool {
    let Token::Name(name) = lexer.token else { return false };
    flag(name).is_some()
        || matches!(name, "row_mirror" | "row_half_mirror")
        || VALUED.iter().any(|(known, _)| *known == name)
}

/// Reads the modifier at `lexer`; one must be there.
pub fn parse(context: &Context<'_>, lexer: &mut Lexer<'_>, into: &mut Collected) -> Result<(), Failure> {
    let at = lexer.start;
    let Token::Name(name) = lexer.token else { return fail(at, "expected a modifier") };
    if into.seen.is_empty() {
        into.at = at;
    }
    lexer.step();
    if let Some((seen, flag, on)) = flag(name) {
        once(into, seen, at, name)?;
        into.flags.set(flag, on);
        return Ok(());
    }
    let mirror = match name {
        "row_mirror" => Some(0x140),
        "row_half_mirror" => Some(0x141),
        _ => None,
    };
    if let Some(ctrl) = mirror {
        once(into, Seen::DPP_CTRL, at, name)?;
        into.dpp.0.ctrl = ctrl;
        return Ok(());
    }
    let Some(&(_, seen)) = VALUED.iter().find(|(known, _)| *known == name) else {
        return fail(at, format!("unknown modifier {name}"));
    };
    once(into, seen, at, name)?;
    if !lexer.skip(b':') {
        return fail(lexer.start, "expected a colon");
    }
    value(context, lexer, into, name, seen)
}

fn once(into: &mut Collected, seen: Seen, at: usize, name: &str) -> Result<(), Failure> {
    if into.seen.contains(seen) {
        return fail(at, format!("duplicate modifier {name}"));
    }
    into.seen |= seen;
    Ok(())
}

/// Reads what follows `name:`.
fn value(
    context: &Context<'_>,
    lexer: &mut Lexer<'_>,
    into: &mut Collected,
    name: &str,
    seen: Seen,
) -> Result<(), Failure> {
    let at = lexer.start;
    let invalid = || fail(at, format!("invalid {name} value"));
    match seen {
        Seen::OP_SEL => into.op_sel = bits(context, lexer, name)?,
        Seen::OP_SEL_HI => into.op_sel_hi = bits(context, lexer, name)?,
        Seen::NEG_LO => into.neg_lo = bits(context, lexer, name)?,
        Seen::NEG_HI => into.neg_hi = bits(context, lexer, name)?,
        Seen::DST_SEL => into.sdwa.dst_sel = part(lexer, name)?,
        Seen::SRC0_SEL => into.sdwa.src_sel[0] = part(lexer, name)?,
        Seen::SRC1_SEL => into.sdwa.src_sel[1] = part(lexer, name)?,
        Seen::DST_UNUSED => {
            into.sdwa.dst_unused = match lexer.token {
                Token::Name("UNUSED_PAD") => SdwaUnused::Pad,
                Token::Name("UNUSED_SEXT") => SdwaUnused::Sext,
                Token::Name("UNUSED_PRESERVE") => SdwaUnused::Preserve,
                _ => return invalid(),
            };
            lexer.step();
        }
        Seen::FORMAT if into.seen.intersects(Seen::DFMT | Seen::NFMT) => return fail(at, "duplicate format"),
        Seen::DFMT | Seen::NFMT if into.seen.contains(Seen::FORMAT) => return fail(at, "duplicate format"),
        Seen::FORMAT => into.format = special::buffer_format(context, lexer)?,
        Seen::OFFSET if lexer.token == Token::Name("swizzle") => {
            into.seen |= Seen::SWIZZLE;
            into.offset = special::swizzle(context, lexer)?;
        }
        Seen::DIM => into.dim = dimension(lexer)?,
        Seen::DPP8 => {
            let mut lanes = 0;
            list(context, lexer, 8, &mut |i, value| {
                let lane = u32::try_from(value).ok().filter(|lane| *lane < 8)?;
                lanes |= lane << (3 * i);
                Some(())
            })?;
            into.dpp8 = lanes;
        }
        Seen::DPP_CTRL if name == "quad_perm" => {
            let mut ctrl = 0;
            list(context, lexer, 4, &mut |i, value| {
                let lane = u16::try_from(value).ok().filter(|lane| *lane < 4)?;
                ctrl |= lane << (2 * i);
                Some(())
            })?;
            into.dpp.0.ctrl = ctrl;
        }
        _ => {
            let value = context.integer(lexer)?;
            let generation = context.target.generation();
            if !store(into, name, seen, value)
                || (seen == Seen::DPP_CTRL && !dpp_control_exists(into.dpp.0.ctrl, generation))
            {
                return invalid();
            }
        }
    }
    Ok(())
}

/// Stores a number; false where it is out of the modifier's range. Ranges that depend on the instruction are the encoder's business.
fn store(into: &mut Collected, name: &str, seen: Seen, value: i64) -> bool {
    let narrow = |limit: i64| (0..limit).contains(&value).then_some(value as u8);
    let byte = |slot: &mut u8, limit: i64| narrow(limit).map(|value| *slot = value).is_some();
    match (seen, name, value) {
        (Seen::OFFSET, ..) => {
            into.offset = value;
            i32::try_from(value).is_ok()
        }
        (Seen::OFFSET0, ..) => {
            into.offset = value;
            (0..256).contains(&value)
        }
        (Seen::OFFSET1, ..) => byte(&mut into.offset1, 256),
        (Seen::DMASK, ..) => byte(&mut into.dmask, 16),
        (Seen::OMOD, "mul", 1 | 2 | 4) => {
            into.omod = value as u8 / 2;
            true
        }
        (Seen::OMOD, "div", 1 | 2) => {
            into.omod = if value == 2 { 3 } else { 0 };
            true
        }
        (Seen::ROW_MASK, ..) => byte(&mut into.dpp.0.row_mask, 16),
        (Seen::BANK_MASK, ..) => byte(&mut into.dpp.0.bank_mask, 16),
        // Both numbers have meant "on" since the first assemblers.
        (Seen::BOUND_CTRL, ..) => {
            into.dpp.0.bound_ctrl = true;
            (0..2).contains(&value)
        }
        (Seen::FETCH_INACTIVE, ..) => {
            into.fetch_inactive = value == 1;
            (0..2).contains(&value)
        }
        (Seen::DFMT, ..) => {
            into.format |= narrow(16).unwrap_or(0);
            (0..16).contains(&value)
        }
        (Seen::NFMT, ..) => {
            into.format |= narrow(8).unwrap_or(0) << 4;
            (0..8).contains(&value)
        }
        (Seen::DPP_CTRL, ..) => {
            let ctrl = match (name, value) {
                ("row_shl", 1..=15) => 0x100 + value,
                ("row_shr", 1..=15) => 0x110 + value,
                ("row_ror", 1..=15) => 0x120 + value,
                ("wave_shl", 1) => 0x130,
                ("wave_rol", 1) => 0x134,
                ("wave_shr", 1) => 0x138,
                ("wave_ror", 1) => 0x13c,
                ("row_bcast", 15) => 0x142,
                ("row_bcast", 31) => 0x143,
                ("row_share", 0..=15) => 0x150 + value,
                ("row_xmask", 0..=15) => 0x160 + value,
                _ => return false,
            };
            into.dpp.0.ctrl = ctrl as u16;
            true
        }
        _ => false,
    }
}

/// `[1,0,..]`, up to four bits.
fn bits(context: &Context<'_>, lexer: &mut Lexer<'_>, name: &str) -> Result<u8, Failure> {
    let at = lexer.start;
    let mut bits = 0;
    let result = list(context, lexer, 0, &mut |i, value| {
        bits |= u8::from(value == 1) << i;
        matches!(value, 0 | 1).then_some(())
    });
    match result {
        Err(failure) if failure.message == INVALID_ELEMENT => fail(at, format!("invalid {name} value")),
        result => result.map(|()| bits),
    }
}

const INVALID_ELEMENT: &str = "invalid list element";

/// `[a,b,..]` of `count` elements, or of one to four where `count` is 0.
fn list(
    context: &Context<'_>,
    lexer: &mut Lexer<'_>,
    count: usize,
    element: &mut dyn FnMut(usize, i64) -> Option<()>,
) -> Result<(), Failure> {
    if !lexer.skip(b'[') {
        return fail(lexer.start, "expected a left square bracket");
    }
    let most = count.max(4);
    for i in 0..most {
        let at = lexer.start;
        let value = context.integer(lexer)?;
        if element(i, value).is_none() {
            return fail(at, INVALID_ELEMENT);
        }
        if lexer.token == Token::Op(b']') && (count == 0 || i + 1 == count) {
            lexer.step();
            return Ok(());
        }
        if i + 1 < most && !lexer.skip(b',') {
            return fail(lexer.start, "expected a comma");
        }
    }
    fail(lexer.start, "expected a closing square bracket")
}

/// The dimension of an image, which may begin with a digit.
fn dimension(lexer: &mut Lexer<'_>) -> Result<u8, Failure> {
    let at = lexer.start;
    // What is no number is the lexer's first part of the word; the rest follows without a space.
    let tail = match lexer.token {
        Token::Bad(_) => lexer.rest(),
        _ => "",
    };
    let tail = tail.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    let word = [lexer.text(), tail].concat();
    let Some(dim) = ImageDim::by_name(&word) else { return fail(at, "invalid dim value") };
    lexer.step();
    if !tail.is_empty() {
        lexer.step();
    }
    Ok(dim as u8)
}

fn part(lexer: &mut Lexer<'_>, name: &str) -> Result<SdwaSel, Failure> {
    let part = match lexer.token {
        Token::Name("BYTE_0") => SdwaSel::Byte0,
        Token::Name("BYTE_1") => SdwaSel::Byte1,
        Token::Name("BYTE_2") => SdwaSel::Byte2,
        Token::Name("BYTE_3") => SdwaSel::Byte3,
        Token::Name("WORD_0") => SdwaSel::Word0,
        Token::Name("WORD_1") => SdwaSel::Word1,
        Token::Name("DWORD") => SdwaSel::Dword,
        _ => return fail(lexer.start, format!("invalid {name} value")),
    };
    lexer.step();
    Ok(part)
}

/// The modifiers that `op` in `encoding` may be written with on `target`: what the layout has fields for and the instruction takes
/// ([`crate::isa::accept`]), but for what the assembler has no words for. Values are checked elsewhere.
pub fn allowed(op: Opcode, encoding: Encoding, target: &Target) -> Seen {
    let info = op.info();
    let Some(layout) = layout(info, encoding, target.generation()) else { return Seen::empty() };
    let moves_lanes = matches!(encoding, Encoding::Dpp | Encoding::Dpp8);
    if info.operands.is_empty() && info.format != Format::Ds && !moves_lanes {
        return Seen::empty();
    }
    if info.image.contains(ImageParts::RAY) {
        return Seen::A16;
    }
    let flags = info.flags;
    let accepted = accepted(info, encoding, layout, target.generation());
    let when = |condition: bool, seen: Seen| if condition { seen } else { Seen::empty() };
    let named = |flag: ModFlags| {
        FLAGS.iter().filter(|(.., f)| flag.contains(*f)).fold(Seen::empty(), |all, (_, seen, _)| all | *seen)
    };
    let field = |what: Mod| match what {
        // That a result can be clamped or scaled is a question of the operation, not of the syntax.
        Mod::Flag(ModFlags::CLAMP) => Seen::CLAMP,
        Mod::Omod => Seen::OMOD,
        Mod::Flag(flag) => named(flag & accepted.flags),
        Mod::OpSel => when(accepted.op_sel != 0, Seen::OP_SEL),
        Mod::OpSelHi01 | Mod::OpSelHi2 => when(accepted.op_sel != 0, Seen::OP_SEL_HI),
        // Elsewhere a sign stands before its source.
        Mod::Neg | Mod::NegHi => when(accepted.neg_hi != 0, Seen::NEG_LO | Seen::NEG_HI),
        Mod::Offset | Mod::SignedOffset | Mod::SmemSgprEnable => Seen::OFFSET,
        Mod::DsOffset if flags.contains(OpFlags::DS_TWO) => Seen::OFFSET0 | Seen::OFFSET1,
        Mod::DsOffset => Seen::OFFSET,
        Mod::Dmask => match info.format {
            Format::Mtbuf if target.encoding_rules().unified_formats => Seen::FORMAT,
            Format::Mtbuf => Seen::FORMAT | Seen::DFMT | Seen::NFMT,
            Format::Mimg => Seen::DMASK,
            // Exports have `off` in the place of what is not enabled.
            _ => Seen::empty(),
        },
        Mod::DstSel => Seen::DST_SEL,
        Mod::DstUnused => Seen::DST_UNUSED,
        Mod::SrcSel0 => Seen::SRC0_SEL,
        Mod::SrcSel1 => when(sources(info).nth(1).is_some(), Seen::SRC1_SEL),
        Mod::DppCtrl => Seen::DPP_CTRL,
        Mod::RowMask => Seen::ROW_MASK,
        Mod::BankMask => Seen::BANK_MASK,
        Mod::BoundCtrl => Seen::BOUND_CTRL,
        Mod::FetchInactive | Mod::Dpp8Marker => Seen::FETCH_INACTIVE,
        Mod::Dpp8Lanes => Seen::DPP8,
        Mod::Dim => Seen::DIM,
        Mod::SmemSgpr if target.encoding_rules().smem_null_offset => Seen::OFFSET,
        _ => Seen::empty(),
    };
    let mut all = layout.mods.iter().fold(Seen::empty(), |all, (what, _)| all | field(*what));
    match info.format {
        // Where there is no offset, 0 is one.
        Format::Flat => all |= Seen::OFFSET,
        Format::Ds if op == Opcode::DS_SWIZZLE_B32 => all |= Seen::SWIZZLE,
        _ => {}
    }
    // A failed texture fetch shows in what is loaded.
    let loads = flags.contains(OpFlags::LOAD) && !flags.contains(OpFlags::ATOMIC);
    let fails = info.format == Format::Mimg || info.format == Format::Mubuf && loads;
    all - Seen::NV - when(!fails, Seen::TFE)
}
