//! Reads machine instructions.

use super::MOD_FLAGS;
use super::parse::{Parser, block_of};
use crate::Result;
use crate::ir::{AddrSpace, AliasClass, MEM_FLAGS, MemAccess, Ordering, SyncScope};
use crate::isa::Opcode;
use crate::machine::*;
use crate::text::{Reader, Tok, flag_of, numbered};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Pairs of registers that have a name together.
const PAIRS: [(PReg, &str); 6] = [
    (PReg::VCC_LO, "vcc"),
    (PReg::EXEC_LO, "exec"),
    (PReg::FLAT_SCRATCH_LO, "flat_scratch"),
    (PReg::XNACK_MASK_LO, "xnack_mask"),
    (PReg::TBA_LO, "tba"),
    (PReg::TMA_LO, "tma"),
];

/// Suffixes of encodings.
const SUFFIXES: [(&str, Encoding); 5] = [
    ("_e32", Encoding::E32),
    ("_e64", Encoding::E64),
    ("_sdwa", Encoding::Sdwa),
    ("_dpp", Encoding::Dpp),
    ("_dpp8", Encoding::Dpp8),
];

/// Kinds of relocations by their suffix.
const RELOCS: [RelocKind; 6] = [
    RelocKind::Rel32Lo,
    RelocKind::Rel32Hi,
    RelocKind::GotPcRel32Lo,
    RelocKind::GotPcRel32Hi,
    RelocKind::Abs32Lo,
    RelocKind::Abs32Hi,
];

/// Opcode and encoding of a mnemonic.
fn opcode_of(word: &str) -> Option<(Opcode, Encoding)> {
    static NAMES: OnceLock<FxHashMap<String, Opcode>> = OnceLock::new();
    let names =
        NAMES.get_or_init(|| Opcode::ALL.iter().map(|&op| (format!("{op:?}").to_lowercase(), op)).collect());
    if let Some(&op) = names.get(word) {
        return Some((op, Encoding::Auto));
    }
    SUFFIXES
        .iter()
        .find_map(|&(suffix, encoding)| names.get(word.strip_suffix(suffix)?).map(|&op| (op, encoding)))
}

/// A physical register or pair by name.
fn physical_of(word: &str) -> Option<(PReg, u8)> {
    let pair = PAIRS.iter().find(|(_, name)| *name == word).map(|&(reg, _)| (reg, 2));
    pair.or_else(|| PReg::from_name(word).map(|reg| (reg, 1)))
}

/// The file of a range (`s[0:3]`): its first register and how many there are.
fn range_of(word: &str) -> Option<(PReg, u16)> {
    Some(match word {
        "s" => (PReg::sgpr(0), 106),
        "v" => (PReg::vgpr(0), 256),
        "ttmp" => (PReg::ttmp(0), 16),
        _ => return None,
    })
}

impl Parser<'_> {
    /// The instruction on this line.
    pub(super) fn inst(&mut self) -> Result<Inst> {
        let line = self.line();
        let mut operands: SmallVec<[Operand; 5]> = SmallVec::new();
        let rest = &self.cursor().tokens()[self.cursor().at..];
        if rest.iter().take_while(|t| t.line == line).any(|t| t.tok == Tok::Punct('=')) {
            loop {
                operands.push(self.operand()?);
                if self.eat('=') {
                    break;
                }
                self.expect(',')?;
            }
        }
        let defs = operands.len();
        let at = self.cursor().at;
        let (op, encoding) = self.required("an instruction", opcode_of)?;
        let mut inst = Inst { encoding, ..Inst::with_operands(op, operands, Modifiers::default()) };
        let mut tied = None;
        if self.is_on(line) && self.is_at_operand() {
            loop {
                if *self.peek() == Tok::Word("tied".to_owned()) {
                    tied.get_or_insert((inst.operands.len(), self.cursor().at));
                }
                self.source(&mut inst, defs)?;
                if !(self.is_on(line) && self.eat(',')) {
                    break;
                }
            }
        }
        // Which operands are written is the row's affair; modifiers are counted from there.
        let expected = inst.defs_end().min(inst.operands.len());
        if expected != defs {
            let s = if expected == 1 { "" } else { "s" };
            return Err(self.fail_at(at, format!("expected {expected} definition{s} before '='")));
        }
        while self.is_on(line) {
            self.fact(&mut inst)?;
        }
        if let Some((_, at)) = tied.filter(|&(n, _)| n < inst.kept_operands()) {
            return Err(self.fail_at(at, "this operand is tied to no definition"));
        }
        Ok(inst)
    }

    /// Whether an operand comes next, rather than a modifier.
    fn is_at_operand(&self) -> bool {
        match self.peek() {
            Tok::Local(_) | Tok::Number(_) | Tok::Punct('-' | '|') => true,
            Tok::Word(word) => {
                matches!(word.as_str(), "off" | "tied")
                    || block_of(word).is_some()
                    || numbered(word, "sym").is_some()
                    || physical_of(word).is_some()
                    || range_of(word).is_some()
            }
            _ => false,
        }
    }

    /// An operand that is read, with its modifiers.
    fn source(&mut self, inst: &mut Inst, defs: usize) -> Result<()> {
        let at = self.cursor().at;
        let n = inst.operands.len() - defs;
        self.eat_word("tied");
        let neg = self.eat('-');
        let abs = self.eat('|');
        let bracket = !abs && self.eat('(');
        let operand = self.operand()?;
        if abs {
            self.expect('|')?;
        }
        if bracket {
            self.expect(')')?;
        }
        inst.operands.push(operand);
        if (neg || abs) && n >= 8 {
            return Err(self.fail_at(at, "an operand without modifiers"));
        }
        inst.mods.neg |= if neg { 1 << n } else { 0 };
        inst.mods.abs |= if abs { 1 << n } else { 0 };
        Ok(())
    }

    fn operand(&mut self) -> Result<Operand> {
        match self.peek().clone() {
            Tok::Local(_) => self.virtual_operand(),
            Tok::Number(number) => {
                let value = i64::try_from(number).or_else(|_| u64::try_from(number).map(|bits| bits as i64));
                match value {
                    Ok(value) => {
                        self.skip();
                        Ok(Operand::Imm(value))
                    }
                    Err(_) => Err(self.fail("number out of range")),
                }
            }
            Tok::Word(word) => {
                if self.eat_word("off") {
                    return Ok(Operand::Off);
                }
                if let Some(block) = block_of(&word) {
                    self.skip();
                    return Ok(Operand::Block(block));
                }
                if let Some(symbol) = numbered(&word, "sym") {
                    return self.symbol_operand(SymbolId::from_u32(symbol));
                }
                self.physical().map(Operand::Reg)
            }
            _ => self.expected("an operand"),
        }
    }

    fn symbol_operand(&mut self, symbol: SymbolId) -> Result<Operand> {
        if self.f.symbols.get(symbol).is_none() {
            return self.expected("a symbol of the header");
        }
        self.skip();
        self.eat('+');
        let addend = if matches!(self.peek(), Tok::Number(_)) { self.number()? } else { 0 };
        let at = self.cursor().at;
        let mut suffix = String::new();
        while let Tok::Symbol(part) = self.peek() {
            suffix += "@";
            suffix += part;
            self.skip();
        }
        match RELOCS.into_iter().find(|kind| kind.suffix() == suffix) {
            Some(kind) => Ok(Operand::Symbol { symbol, addend, kind }),
            None => Err(self.fail_at(at, "expected a kind of relocation, as @rel32@lo")),
        }
    }

    /// A physical register or tuple.
    pub(super) fn physical(&mut self) -> Result<RegOperand> {
        let tuple = |reg: PReg, dwords| RegOperand { reg: reg.into(), sub: 0, dwords };
        if let Some((first, count)) = self.one_of(range_of) {
            self.expect('[')?;
            let at = self.cursor().at;
            let from: u16 = self.number()?;
            self.expect(':')?;
            let to: u16 = self.number()?;
            self.expect(']')?;
            return match u8::try_from(i32::from(to) - i32::from(from) + 1) {
                Ok(dwords) if dwords > 0 && from < count => Ok(tuple(first.plus(from), dwords)),
                _ => Err(self.fail_at(at, "expected a range of registers")),
            };
        }
        let (reg, mut dwords) = self.required("an operand", physical_of)?;
        if self.eat(':') {
            dwords = self.number()?;
        }
        Ok(tuple(reg, dwords))
    }

    /// What stands behind the operands: a modifier, the memory accessed or the source position.
    fn fact(&mut self, inst: &mut Inst) -> Result<()> {
        if self.eat('[') {
            inst.mem = Some(self.memory()?);
            return Ok(());
        }
        if self.eat('!') {
            self.keyword("loc")?;
            let at = self.cursor().at;
            inst.loc = self.number()?;
            if inst.loc as usize >= self.f.locs.len() {
                return Err(self.fail_at(at, "expected a number among the header's locs"));
            }
            return Ok(());
        }
        let mods = &mut inst.mods;
        if let Some(flag) = self.one_of(|word| flag_of(&MOD_FLAGS, word)) {
            mods.flags |= flag;
            return Ok(());
        }
        let at = self.cursor().at;
        let Tok::Word(word) = self.next() else {
            return Err(self.fail_at(at, "expected an operand or a modifier"));
        };
        if word == "fi" {
            return match &mut mods.ext {
                Extension::Dpp(dpp) => {
                    dpp.fetch_inactive = true;
                    Ok(())
                }
                Extension::Dpp8(dpp) => {
                    dpp.fetch_inactive = true;
                    Ok(())
                }
                _ => Err(self.fail_at(at, "modifier of another encoding")),
            };
        }
        if word == "bound_ctrl" {
            return match dpp(&mut mods.ext) {
                Some(dpp) => {
                    dpp.bound_ctrl = true;
                    Ok(())
                }
                None => Err(self.fail_at(at, "modifier of another encoding")),
            };
        }
        match word.as_str() {
            "dst_sel" | "dst_unused" | "src0_sel" | "src1_sel" | "sext" => {
                self.expect(':')?;
                let Some(sdwa) = sdwa(&mut mods.ext) else {
                    return Err(self.fail_at(at, "modifier of another encoding"));
                };
                match word.as_str() {
                    "dst_sel" => sdwa.dst_sel = self.required("a part", SdwaSel::from_word)?,
                    "dst_unused" => {
                        sdwa.dst_unused = self.required("pad, sext or preserve", SdwaUnused::from_word)?
                    }
                    "src0_sel" => sdwa.src_sel[0] = self.required("a part", SdwaSel::from_word)?,
                    "src1_sel" => sdwa.src_sel[1] = self.required("a part", SdwaSel::from_word)?,
                    _ => sdwa.sext = self.number()?,
                }
            }
            "dpp" | "row_mask" | "bank_mask" => {
                self.expect(':')?;
                let Some(dpp) = dpp(&mut mods.ext) else {
                    return Err(self.fail_at(at, "modifier of another encoding"));
                };
                match word.as_str() {
                    "dpp" => dpp.ctrl = self.number()?,
                    "row_mask" => dpp.row_mask = self.number()?,
                    _ => dpp.bank_mask = self.number()?,
                }
            }
            "dpp8" => {
                self.expect(':')?;
                let lanes = self.number()?;
                if mods.ext != Extension::None {
                    return Err(self.fail_at(at, "modifier of another encoding"));
                }
                mods.ext = Extension::Dpp8(Dpp8 { lanes, fetch_inactive: false });
            }
            "neg" | "abs" | "neg_hi" | "op_sel" | "op_sel_hi" | "omod" | "offset1" | "dmask" | "dim"
            | "address_parts" => {
                self.expect(':')?;
                let value: u8 = self.number()?;
                match word.as_str() {
                    "neg" => mods.neg |= value,
                    "abs" => mods.abs |= value,
                    "neg_hi" => mods.neg_hi = value,
                    "op_sel" => mods.op_sel = value,
                    "op_sel_hi" => mods.op_sel_hi = value,
                    "omod" => mods.omod = value,
                    "offset1" => mods.offset1 = value,
                    "dmask" => mods.dmask = value,
                    "dim" => mods.dim = value,
                    _ => mods.address_parts = value,
                }
            }
            "offset" => {
                self.expect(':')?;
                mods.offset = self.number()?;
            }
            _ => return Err(self.fail_at(at, "expected an operand or a modifier")),
        }
        Ok(())
    }

    /// Memory accessed: bytes, address space, alignment, ordering and scope, flags. What is left out is as
    /// for a plain access at its natural alignment.
    fn memory(&mut self) -> Result<MemRef> {
        let bytes: u32 = self.number()?;
        self.keyword("bytes")?;
        let mut access = MemAccess::plain(AddrSpace::GLOBAL, bytes.trailing_zeros().min(4) as u8);
        let mut place = None;
        while self.eat(',') {
            if self.eat_word("space") {
                access.space = AddrSpace(self.number()?);
            } else if self.eat_word("align") {
                access.align_log2 = self.align_log2()?;
            } else if self.eat_word("alias") {
                access.alias = AliasClass(self.number()?);
            } else if self.eat_word("place") {
                let base = self.number()?;
                self.expect(':')?;
                place = Some(MemPlace { base, offset: self.number()? });
            } else if let Some(flag) = self.one_of(|word| flag_of(&MEM_FLAGS, word)) {
                access.flags |= flag;
            } else {
                access.ordering =
                    self.required("an ordering or a property of the access", Ordering::from_word)?;
                access.scope = self.required("a scope", SyncScope::from_word)?;
            }
        }
        self.expect(']')?;
        Ok(MemRef { access, bytes, place })
    }
}

/// The SDWA control of `ext`, made where there is none; `None` where there is DPP.
fn sdwa(ext: &mut Extension) -> Option<&mut Sdwa> {
    if *ext == Extension::None {
        *ext = Extension::Sdwa(Sdwa::default());
    }
    if let Extension::Sdwa(sdwa) = ext { Some(sdwa) } else { None }
}

/// The DPP control of `ext`, made with all lanes enabled where there is none; `None` where there is SDWA.
fn dpp(ext: &mut Extension) -> Option<&mut Dpp> {
    if *ext == Extension::None {
        *ext = Extension::Dpp(Dpp {
            ctrl: 0,
            row_mask: 15,
            bank_mask: 15,
            bound_ctrl: false,
            fetch_inactive: false,
        });
    }
    if let Extension::Dpp(dpp) = ext { Some(dpp) } else { None }
}
