//! From mnemonic, operands and modifiers to an instruction: candidates, their order, and the best error.

use super::expr::Expr;
use super::lexer::Lexer;
use super::modifier::{self, Collected, Seen};
use super::operand::{self, Value};
use super::special::{self, Context};
use super::{Failure, Fixup, FixupKind, Parsed, check, constant};
use crate::diag::ErrorKind;
use crate::isa::accept::{is_integer, is_signed_number, sources};
use crate::isa::format::Slot;
use crate::isa::{
    Format, OpFlags, Opcode, OpcodeInfo, OperandDesc, OperandKind, Role, ValueType, encode_into, format,
};
use crate::machine::{
    Dpp, Dpp8, Encoding, Extension, Inst, ModFlags, Modifiers, Operand, PReg, RelocKind, SymbolId,
};
use crate::target::operands::inline_constant;
use crate::target::{Generation, Target};
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::sync::OnceLock;

/// What a mnemonic may mean.
pub struct Entry {
    /// Rows of this name: an alias group or one row for each set of abilities.
    rows: SmallVec<[Opcode; 2]>,
    /// The encoding that the name itself demands.
    encoding: Encoding,
}

/// Second names, which mean the VOP3 encoding: first and last generation, the name, and the row's own name there.
#[rustfmt::skip]
static ALIASES: &[(Generation, Generation, &str, &str)] = &[
    (Generation::Gfx6, Generation::Gfx7, "v_add_co_u32", "v_add_i32"),
    (Generation::Gfx6, Generation::Gfx7, "v_sub_co_u32", "v_sub_i32"),
    (Generation::Gfx6, Generation::Gfx7, "v_subrev_co_u32", "v_subrev_i32"),
];

/// Mnemonics of one generation.
pub struct Table(FxHashMap<&'static str, Entry>);

/// Suffixes that demand an encoding.
const SUFFIXES: [(&str, Encoding); 4] =
    [("_e32", Encoding::E32), ("_e64", Encoding::E64), ("_sdwa", Encoding::Sdwa), ("_dpp", Encoding::Dpp)];

impl Table {
    /// The table of `generation`, built at first use.
    pub fn of(generation: Generation) -> &'static Self {
        static TABLES: [OnceLock<Table>; Generation::COUNT] = [const { OnceLock::new() }; Generation::COUNT];
        TABLES[generation as usize].get_or_init(|| {
            let mut map: FxHashMap<&'static str, Entry> = FxHashMap::default();
            for &op in Opcode::ALL {
                let info = op.info();
                let exists = info.code(generation).is_some() || info.vop3_code(generation).is_some();
                if exists && info.format != Format::Pseudo {
                    map.entry(info.name_on(generation))
                        .or_insert(Entry { rows: smallvec![], encoding: Encoding::Auto })
                        .rows
                        .push(op);
                }
            }
            for &(first, last, alias, name) in ALIASES {
                if (first..=last).contains(&generation)
                    && let Some(rows) = map.get(name).map(|entry| entry.rows.clone())
                {
                    map.entry(alias).or_insert(Entry { rows, encoding: Encoding::E64 });
                }
            }
            Self(map)
        })
    }

    /// The rows that `mnemonic` names, and the encoding that its suffix demands.
    pub fn find(&self, mnemonic: &str) -> Option<(&Entry, Encoding)> {
        if let Some(entry) = self.0.get(mnemonic) {
            return Some((entry, entry.encoding));
        }
        let (name, encoding) = SUFFIXES
            .iter()
            .find_map(|(suffix, encoding)| Some((mnemonic.strip_suffix(suffix)?, *encoding)))?;
        let entry = self.0.get(name)?;
        // The other formats have one encoding, which counts as the short one.
        let vector = entry.rows.first()?.info().format.is_vector_alu();
        match (vector, encoding) {
            (true, encoding) => Some((entry, encoding)),
            (false, Encoding::E32) => Some((entry, Encoding::Auto)),
            (false, _) => None,
        }
    }
}

/// Whether any generation has an instruction called `mnemonic`.
pub fn exists_elsewhere(mnemonic: &str) -> bool {
    Generation::ALL.iter().any(|generation| Table::of(*generation).find(mnemonic).is_some())
}

impl Entry {
    /// Reads operand `index` if its kind has a syntax of its own. The rows of one name agree on such operands.
    pub fn special<'a>(
        &self,
        context: &Context<'_>,
        lexer: &mut Lexer<'a>,
        index: usize,
    ) -> Result<Option<operand::Operand<'a>>, Failure> {
        let Some(info) = self.rows.first().map(|op| op.info()) else { return Ok(None) };
        let Some(desc) = info.operands.get(index) else { return Ok(None) };
        let at = lexer.start;
        if desc.kind == OperandKind::Label && !modifier_syntax(lexer) {
            return operand::parse(lexer, context.target, context.known).map(Some);
        }
        let is_index_mode = info.flags.contains(OpFlags::MODE_DEF | OpFlags::M0_DEF);
        let value = special::immediate(context, lexer, desc.kind, is_index_mode)?;
        Ok(value.map(|value| operand::Operand::plain(Value::Special(value), at)))
    }
}

impl Entry {
    /// Whether operand `index` may be a list of address registers that do not follow each other.
    pub fn takes_address_list(&self, target: &Target, index: usize) -> bool {
        let Some(info) = self.rows.first().map(|op| op.info()) else { return false };
        info.format == Format::Mimg
            && target.image_address_registers() > 0
            && info.operands.get(index).is_some_and(|desc| desc.slot == Slot::Addr)
    }
}

/// Whether a modifier with a value is here; a label may be called like a modifier.
fn modifier_syntax(lexer: &Lexer<'_>) -> bool {
    modifier::is_here(lexer) && lexer.peek() == super::Token::Op(b':')
}

/// An instruction as written.
#[derive(Default)]
pub struct Statement<'a> {
    /// Operands in order.
    pub operands: SmallVec<[operand::Operand<'a>; 6]>,
    /// Address registers of an image behind the first, each with its place.
    pub addresses: SmallVec<[operand::Operand<'a>; 4]>,
    /// Modifiers.
    pub mods: Collected,
    /// Where the line ends.
    pub end: usize,
}

/// Why a candidate is none, and how far it came: the number of operands that fit.
struct Misfit {
    progress: usize,
    failure: Failure,
}

fn misfit<T>(
    progress: usize,
    at: usize,
    message: impl Into<std::borrow::Cow<'static, str>>,
) -> Result<T, Misfit> {
    Err(Misfit { progress, failure: Failure { at, message: message.into(), kind: ErrorKind::Malformed } })
}

/// Progress of a candidate whose operands all fit.
const MODIFIERS: usize = 100;
const ENCODER: usize = 200;

/// The first candidate that `statement` fits, encoded.
pub fn choose<'a>(
    entry: &Entry,
    demanded: Encoding,
    statement: &Statement<'a>,
    target: &Target,
    at: usize,
) -> Result<Parsed<'a>, Failure> {
    let mut best: Option<Misfit> = None;
    let generation = target.generation();
    for &op in &entry.rows {
        let info = op.info();
        if !target.has(info.requires) {
            continue;
        }
        for &encoding in info.format.encodings() {
            // Both kinds of DPP have one suffix.
            let named = if encoding == Encoding::Dpp8 { Encoding::Dpp } else { encoding };
            if demanded != Encoding::Auto && demanded != named {
                continue;
            }
            let exists = match encoding {
                Encoding::E64 if info.format != Format::Vop3p => info.vop3_code(generation).is_some(),
                _ => info.code(generation).is_some(),
            };
            if !exists || format::layout(info, encoding, generation).is_none() {
                continue;
            }
            let attempt = Candidate { op, info, encoding, statement, target, fixup: None };
            match attempt.build(at) {
                Ok(parsed) => return Ok(parsed),
                Err(misfit) => {
                    if best.as_ref().is_none_or(|old| misfit.progress > old.progress) {
                        best = Some(misfit);
                    }
                }
            }
        }
    }
    Err(best.map_or_else(
        || {
            let what = match demanded {
                Encoding::E32 => "e32 variant of this instruction",
                Encoding::E64 => "e64 variant of this instruction",
                Encoding::Sdwa => "sdwa variant of this instruction",
                Encoding::Dpp | Encoding::Dpp8 => "dpp variant of this instruction",
                Encoding::Auto => "instruction",
            };
            let message = format!("{what} is not supported on {target}");
            Failure { at, message: message.into(), kind: ErrorKind::Unsupported }
        },
        |misfit| misfit.failure,
    ))
}

/// One row in one encoding, tried on a statement.
struct Candidate<'s, 'a> {
    op: Opcode,
    info: &'static OpcodeInfo,
    encoding: Encoding,
    statement: &'s Statement<'a>,
    target: &'s Target,
    fixup: Option<Expr<'a>>,
}

impl<'a> Candidate<'_, 'a> {
    fn build(mut self, at: usize) -> Result<Parsed<'a>, Misfit> {
        let collected = &self.statement.mods;
        let info = self.info;
        let stray = collected.seen - modifier::allowed(self.op, self.encoding, self.target);
        if !stray.is_empty() {
            let names: Vec<_> = stray.iter_names().map(|(name, _)| name.to_ascii_lowercase()).collect();
            let message = format!("modifier {} is not supported by this instruction", names.join(", "));
            // Wrong operands are the better explanation, if they are wrong too.
            let mut mods = self.modifiers();
            self.operands(&mut mods)?;
            return misfit(MODIFIERS, collected.at, message);
        }
        let mut mods = self.modifiers();
        let mut operands = self.operands(&mut mods)?;
        for address in &self.statement.addresses {
            match &address.value {
                Value::Register(tuple) if tuple.first.is_vgpr() => {
                    operands.push(Operand::preg(tuple.first, tuple.dwords));
                }
                _ => return misfit(1, address.at, "wrong kind of register"),
            }
        }
        mods.address_parts = self.statement.addresses.len() as u8;
        let mut inst = Inst::new(self.op, operands).with_mods(mods);
        inst.encoding = if info.format == Format::Vop3p { Encoding::Auto } else { self.encoding };
        if inst.encoding == Encoding::E64 && info.format == Format::Vop3 {
            inst.encoding = Encoding::Auto;
        }
        self.exports(&mut inst);
        if let Err(message) = check::statement(&inst, collected, self.target) {
            return misfit(ENCODER, collected.at.max(at), message);
        }
        let mut words = SmallVec::new();
        match encode_into(&inst, self.target, &mut words) {
            Ok(encoded) => {
                let fixup = self.fixup.map(|expr| {
                    let kind = encoded.relocated.map_or(FixupKind::Branch, FixupKind::Literal);
                    Fixup { kind, expr }
                });
                Ok(Parsed { inst, words, fixup })
            }
            Err((operand, error)) => {
                let modifier = operand.is_none() && error.message.contains("modifier");
                let at = match operand.and_then(|index| self.statement.operands.get(index)) {
                    Some(operand) => operand.at,
                    None if modifier && !collected.seen.is_empty() => collected.at,
                    None => at,
                };
                let failure = Failure { at, message: error.message.into(), kind: error.kind };
                // What the encoder calls a defect is the user's here.
                let kind =
                    if failure.kind == ErrorKind::Defect { ErrorKind::Malformed } else { failure.kind };
                Err(Misfit { progress: ENCODER + operand.unwrap_or(0), failure: Failure { kind, ..failure } })
            }
        }
    }

    /// The instruction's modifiers, input modifiers apart.
    fn modifiers(&self) -> Modifiers {
        let collected = &self.statement.mods;
        let info = self.info;
        let mut mods = Modifiers {
            flags: collected.flags,
            omod: collected.omod,
            offset: collected.offset as i32,
            offset1: collected.offset1,
            dmask: collected.dmask,
            dim: collected.dim,
            ..Modifiers::default()
        };
        let flags = info.flags;
        let beside_register = self.statement.operands.last().is_some_and(|o| matches!(o.value, Value::Register(_)))
                // There is no way to tell an offset of 0 from none.
                && !self.target.encoding_rules().smem_null_offset;
        if info.format == Format::Smem && collected.seen.contains(Seen::OFFSET) && beside_register {
            mods.flags.set(ModFlags::ZERO_OFFSET, collected.offset == 0);
        }
        // Bits that the row sets by itself.
        if flags.contains(OpFlags::RTN) {
            mods.flags -= ModFlags::GLC;
        }
        if flags.contains(OpFlags::LDS_DMA) {
            mods.flags -= ModFlags::LDS;
        }
        if flags.contains(OpFlags::GDS_ONLY) {
            mods.flags -= ModFlags::GDS;
        }
        match info.format {
            Format::Vop3p => {
                let neutral = if flags.contains(OpFlags::MIX) { 0 } else { 7 };
                mods.op_sel = collected.op_sel;
                mods.op_sel_hi = neutral;
                if collected.seen.contains(Seen::OP_SEL_HI) {
                    // What is not listed keeps its neutral value.
                    let listed = (1 << sources(info).count()) - 1;
                    mods.op_sel_hi = collected.op_sel_hi & listed | 7 & !listed;
                }
                mods.neg = collected.neg_lo;
                mods.neg_hi = collected.neg_hi;
            }
            Format::Mtbuf => {
                let default = if collected.seen.contains(Seen::NFMT) && !collected.seen.contains(Seen::DFMT) {
                    1 | collected.format
                } else {
                    1
                };
                let given = collected.seen.intersects(Seen::FORMAT | Seen::DFMT);
                mods.dmask = if given { collected.format } else { default };
            }
            _ if flags.contains(OpFlags::PERMLANE) => mods.op_sel = collected.op_sel,
            _ if collected.op_sel != 0 => {
                // The bit after those of the sources is the destination's.
                let sources = sources(info).count();
                let low = collected.op_sel & ((1 << sources) - 1);
                mods.op_sel = low | (collected.op_sel >> sources & 1) << 3;
            }
            _ => {}
        }
        match self.encoding {
            Encoding::Sdwa => {
                let mut sdwa = collected.sdwa;
                if !collected.seen.contains(Seen::DST_UNUSED) && info.format != Format::Vopc {
                    sdwa.dst_unused = crate::machine::SdwaUnused::Preserve;
                }
                mods.ext = Extension::Sdwa(sdwa);
            }
            Encoding::Dpp => {
                let fetch_inactive = collected.fetch_inactive;
                mods.ext = Extension::Dpp(Dpp { fetch_inactive, ..collected.dpp.0 });
            }
            Encoding::Dpp8 => {
                let fetch_inactive = collected.fetch_inactive;
                mods.ext = Extension::Dpp8(Dpp8 { lanes: collected.dpp8, fetch_inactive });
            }
            _ => {}
        }
        mods
    }

    /// Whether the text with `given` operands has left out all masks, which the encoding implies to be VCC.
    fn masks_left_out(&self, given: usize) -> bool {
        let masks = self.info.operands.iter().filter(|desc| desc.kind == OperandKind::LaneMask).count();
        // A comparison with SDWA has a field for its destination.
        let has_field = self.encoding == Encoding::E64
            || (self.encoding == Encoding::Sdwa && self.info.format == Format::Vopc);
        let implied = self.target.encoding_rules().implied_vcc_optional && !has_field;
        implied && masks > 0 && given + masks == self.info.operands.len()
    }

    fn operands(&mut self, mods: &mut Modifiers) -> Result<SmallVec<[Operand; 5]>, Misfit> {
        let descs = self.info.operands;
        let given = &self.statement.operands;
        let mut out = SmallVec::new();
        let mut source = 0;
        let left_out = self.masks_left_out(given.len());
        let mut next = 0;
        for (index, desc) in descs.iter().enumerate() {
            if left_out && desc.kind == OperandKind::LaneMask {
                out.push(Operand::vcc(self.target.wave()));
                source += u32::from(desc.role == Role::Use);
                continue;
            }
            next += 1;
            let Some(operand) = given.get(next - 1) else {
                if desc.kind == OperandKind::OptionalImm && index + 1 == descs.len() {
                    break;
                }
                if desc.kind == OperandKind::SmemOffset {
                    out.push(Operand::Imm(0));
                    break;
                }
                return misfit(index, self.statement.end, "too few operands for instruction");
            };
            let is_source =
                desc.role == Role::Use && !matches!(desc.kind, OperandKind::Literal | OperandKind::Attribute);
            out.push(self.operand(index, desc, operand, is_source.then_some(source), mods)?);
            source += u32::from(is_source);
        }
        if let Some(extra) = given.get(next) {
            return misfit(descs.len(), extra.at, "invalid operand for instruction");
        }
        Ok(out)
    }

    fn operand(
        &mut self,
        index: usize,
        desc: &OperandDesc,
        operand: &operand::Operand<'a>,
        source: Option<u32>,
        mods: &mut Modifiers,
    ) -> Result<Operand, Misfit> {
        use OperandKind as K;
        let long = matches!(self.encoding, Encoding::E64 | Encoding::Sdwa);
        let kind = self.info.operand_kind(index, long).unwrap_or(desc.kind);
        let wrong = |message: &'static str| misfit(index, operand.at, message);
        match &operand.value {
            Value::Register(tuple) => {
                if operand.is_modified() {
                    self.input_modifiers(index, desc, operand, source, mods)?;
                }
                let fits = match kind {
                    K::Vgpr | K::VgprOrOff | K::ExportSrc => {
                        tuple.first.is_vgpr() || tuple.first == PReg::LDS_DIRECT
                    }
                    K::Sgpr | K::SgprOrOff | K::ScalarSrc | K::LaneMask | K::Soffset | K::SmemOffset => {
                        !tuple.first.is_vgpr()
                    }
                    K::VectorSrc => true,
                    _ => return wrong("expected a number, not a register"),
                };
                if !fits {
                    return wrong("wrong kind of register");
                }
                if kind == K::ExportSrc && tuple.dwords != 1 {
                    return wrong("an export source is a single register");
                }
                let dwords = if tuple.dwords == 0 { desc.dwords(self.target.wave()) } else { tuple.dwords };
                Ok(Operand::preg(tuple.first, dwords))
            }
            Value::Off => match kind {
                K::VgprOrOff | K::SgprOrOff | K::ExportSrc => Ok(Operand::Off),
                _ => wrong("off is no operand here"),
            },
            Value::Special(value) => Ok(Operand::Imm(*value)),
            Value::Symbolic(expr) => match kind {
                K::Label => {
                    self.fixup = Some(expr.clone());
                    Ok(Operand::Imm(0))
                }
                K::Literal | K::ScalarSrc | K::VectorSrc if self.fixup.is_none() => {
                    self.fixup = Some(expr.clone());
                    Ok(Operand::Symbol { symbol: SymbolId::new(0), addend: 0, kind: RelocKind::Abs32Lo })
                }
                _ => wrong("expected an absolute expression"),
            },
            Value::Int(value) if !takes_constant(kind) => {
                self.plain_number(index, kind, desc, operand, *value, mods)
            }
            Value::Float(_) if !takes_constant(kind) => wrong("floating-point number as operand"),
            Value::Int(_) | Value::Float(_) => self.constant(index, kind, desc, operand, source, mods),
        }
    }

    /// A number that is no source: offsets, distances, immediates.
    fn plain_number(
        &self,
        index: usize,
        kind: OperandKind,
        desc: &OperandDesc,
        operand: &operand::Operand<'_>,
        value: i64,
        mods: &mut Modifiers,
    ) -> Result<Operand, Misfit> {
        use OperandKind as K;
        if operand.is_modified() {
            return misfit(index, operand.at, "input modifier on an immediate");
        }
        let rules = self.target.encoding_rules();
        match kind {
            // Where the field counts dwords, the text does.
            K::SmemOffset if rules.smem_unit > 1 => match value.checked_mul(rules.smem_unit) {
                Some(bytes) if (0..1 << 34).contains(&bytes) => {
                    // Asked for as a literal, though the short field would hold it.
                    if operand.literal && value <= 0xff && rules.smem_literal {
                        mods.flags |= ModFlags::LIT0;
                    }
                    Ok(Operand::Imm(bytes))
                }
                _ => misfit(index, operand.at, "offset is out of range"),
            },
            K::Simm16 if self.info.format == Format::Sopk && desc.ty == ValueType::U16 && value < 0 => {
                misfit(index, operand.at, "expected an unsigned number")
            }
            K::Simm16 | K::OptionalImm | K::Label | K::SmemOffset | K::Imm => Ok(Operand::Imm(value)),
            _ => misfit(index, operand.at, "a number is no operand here"),
        }
    }

    /// A number as a source.
    fn constant(
        &mut self,
        index: usize,
        kind: OperandKind,
        desc: &OperandDesc,
        operand: &operand::Operand<'_>,
        source: Option<u32>,
        mods: &mut Modifiers,
    ) -> Result<Operand, Misfit> {
        let generation = self.target.generation();
        let value = match operand.value {
            Value::Float(value) => constant::float(value, desc.ty, generation),
            Value::Int(value) => constant::integer(value, desc.ty, generation),
            _ => Err("not a number"),
        };
        let value = match value {
            Ok(value) => value,
            Err(message) => return misfit(index, operand.at, message),
        };
        let inline = inline_constant(value, desc.ty, generation).is_some();
        if operand.literal && inline && kind != OperandKind::Literal {
            let literal = ModFlags::literal_of(desc.slot);
            if literal.is_empty() {
                return misfit(index, operand.at, "this operand has no literal form");
            }
            mods.flags |= literal;
        }
        if !operand.is_modified() {
            return Ok(Operand::Imm(value));
        }
        // A number in the short encoding takes its modifiers in.
        if self.encoding == Encoding::E32 && !operand.sext && accepts_sign(desc, self.info) {
            if desc.ty == ValueType::F64 && matches!(operand.value, Value::Int(_)) {
                return misfit(index, operand.at, "sign modifier on an integer literal of 64 bits");
            }
            return Ok(Operand::Imm(constant::modified(value, desc.ty, operand.abs, operand.neg)));
        }
        self.input_modifiers(index, desc, operand, source, mods)?;
        Ok(Operand::Imm(value))
    }

    /// Notes negation, absolute value and sign extension of source number `source`.
    fn input_modifiers(
        &self,
        index: usize,
        desc: &OperandDesc,
        operand: &operand::Operand<'_>,
        source: Option<u32>,
        mods: &mut Modifiers,
    ) -> Result<(), Misfit> {
        let info = self.info;
        let mix = info.flags.contains(OpFlags::MIX);
        let long = matches!(self.encoding, Encoding::E64 | Encoding::Sdwa | Encoding::Dpp | Encoding::Dpp8);
        let signs = long && (mix || (info.format != Format::Vop3p && accepts_sign(desc, info)));
        let extends = self.encoding == Encoding::Sdwa && is_integer(desc, info);
        let (Some(source), false, false) =
            (source, (operand.neg || operand.abs) && !signs, operand.sext && !extends)
        else {
            return misfit(index, operand.at, "input modifier is not supported here");
        };
        mods.neg |= u8::from(operand.neg) << source;
        mods.abs |= u8::from(operand.abs) << source;
        if let Extension::Sdwa(sdwa) = &mut mods.ext {
            sdwa.sext |= u8::from(operand.sext) << source;
        }
        Ok(())
    }

    /// The enable mask of an export; compressed ones name their two registers twice.
    fn exports(&self, inst: &mut Inst) {
        if self.info.format != Format::Exp {
            return;
        }
        if inst.mods.flags.contains(ModFlags::COMPR)
            && let [_, first, second, third, fourth] = &mut inst.operands[..]
        {
            (*second, *fourth) = (*first, *third);
        }
        for (i, operand) in inst.operands.iter().skip(1).enumerate() {
            inst.mods.dmask |= u8::from(*operand != Operand::Off) << i;
        }
    }
}

/// Whether an operand of `kind` is a value that the instruction computes with.
fn takes_constant(kind: OperandKind) -> bool {
    use OperandKind as K;
    matches!(kind, K::ScalarSrc | K::VectorSrc | K::Literal | K::Soffset)
}

/// Whether source `desc` can be negated.
fn accepts_sign(desc: &OperandDesc, info: &OpcodeInfo) -> bool {
    is_signed_number(desc) && info.flags.contains(OpFlags::FLOAT_MODS)
}
