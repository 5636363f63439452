//! Constraints of inline assembly.
//!
//! A constraint string is a list, separated by commas: outputs (`=`), inputs, clobbers (`~{...}`). Each has modifiers (`&` early clobber, `*`
//! indirect) and one or more codes, in alternatives separated by `|`. What a code can mean on this target is an [`AsmPlace`]; which of several is taken
//! depends on the operand and is the business of who lowers it.
//!
//! Sources: LLVM LangRef, "Inline Asm Constraint String" and the section on AMDGPU's codes; AMDGPU usage guide.

use super::InlineAsm;
use crate::isa::parse::special_register;
use crate::machine::{PReg, RegFile};
use crate::{Diagnostic, Result};
use smallvec::SmallVec;

/// What an operand of inline assembly is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AsmRole {
    /// Written.
    Output,
    /// Read.
    Input,
    /// Changed; no operand of the call stands for it.
    Clobber,
}

/// A register named in braces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AsmRegister {
    /// The first register.
    pub first: PReg,
    /// Width in dwords as the name says it; where it names a single numbered register, the operand's type decides.
    pub dwords: Option<u8>,
}

/// Constants that an operand may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AsmImmediate {
    /// `i`, `s`(symbol): an integer or a symbol's address.
    Any,
    /// `n`: an integer.
    Number,
    /// `I`: an integer inline constant (-16 to 64).
    Inline,
    /// `J`: signed 16 bits.
    Signed16,
    /// `A`: an inline constant of the operand's type, integer or floating point.
    InlineValue,
    /// `B`: signed 32 bits.
    Signed32,
    /// `C`: unsigned 32 bits, or an integer inline constant.
    Unsigned32,
    /// `DA`: 64 bits of which each half is an inline constant.
    InlineHalves,
    /// `DB`: 64 bits.
    Any64,
}

/// Where an operand may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AsmPlace {
    /// Registers of a file.
    Class(RegFile),
    /// These registers.
    Register(AsmRegister),
    /// A constant.
    Immediate(AsmImmediate),
    /// An integer constant if it is one, else registers.
    Anything,
    /// The registers of the output with this number.
    SameAs(u32),
}

/// An entry of a constraint string.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AsmOperand {
    /// What it is for.
    pub role: AsmRole,
    /// The operand is in memory, the call passes its address.
    pub indirect: bool,
    /// Written before all inputs are read.
    pub early: bool,
    /// Where it may be; empty where nothing that is written there exists on AMD GPUs.
    pub places: SmallVec<[AsmPlace; 1]>,
    /// The codes, for messages.
    pub code: String,
}

impl AsmOperand {
    /// Whether what is written goes to a register that all lanes share.
    pub fn is_scalar(&self) -> bool {
        match self.places.first() {
            Some(AsmPlace::Class(file)) => *file == RegFile::Sgpr,
            Some(AsmPlace::Register(register)) => !register.first.is_vgpr(),
            _ => true,
        }
    }

    /// Whether it stands in the result of the call.
    pub fn is_result(&self) -> bool {
        self.role == AsmRole::Output && !self.indirect
    }
}

impl InlineAsm {
    /// The entries of the constraint string.
    ///
    /// # Errors
    /// `Malformed` where it is none.
    pub fn operands(&self) -> Result<Vec<AsmOperand>> {
        if self.constraints.is_empty() {
            return Ok(Vec::new());
        }
        split(&self.constraints).map(operand).collect()
    }

    /// Whether member `index` of the result, all of it where it has no members, is in registers that all lanes share.
    pub fn result_is_scalar(&self, index: u32) -> bool {
        let results = split(&self.constraints).filter_map(|text| operand(text).ok());
        results.filter(AsmOperand::is_result).nth(index as usize).is_some_and(|operand| operand.is_scalar())
    }
}

/// The entries of a string: commas in braces do not separate.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut open = false;
    text.split(move |c| {
        open = (open || c == '{') && c != '}';
        c == ',' && !open
    })
}

fn operand(text: &str) -> Result<AsmOperand> {
    let malformed = || Diagnostic::malformed(format!("inline assembly constraint \"{text}\""));
    let mut rest = text.trim();
    let mut out = AsmOperand {
        role: AsmRole::Input,
        indirect: false,
        early: false,
        places: SmallVec::new(),
        code: String::new(),
    };
    loop {
        let Some(first) = rest.chars().next() else { return Err(malformed()) };
        match first {
            '=' => out.role = AsmRole::Output,
            '~' => out.role = AsmRole::Clobber,
            '!' => {
                return Err(Diagnostic::unsupported(
                    "inline assembly that branches to labels of the function",
                ));
            }
            '&' => out.early = true,
            '*' => out.indirect = true,
            // Commutes with the next; nothing depends on it.
            '%' => {}
            _ => break,
        }
        rest = &rest[first.len_utf8()..];
    }
    out.code = rest.to_owned();
    let scalar_output = |out: &AsmOperand| out.role == AsmRole::Output;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '{' => rest.find('}').ok_or_else(malformed)? + 1,
            '^' => rest.char_indices().nth(3).map_or(rest.len(), |(at, _)| at),
            '0'..='9' => rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (code, behind) = rest.split_at(length);
        rest = behind;
        if code == "|" {
            continue;
        }
        let place = place(code);
        // An output cannot be a constant.
        let fits = |place: &AsmPlace| !(scalar_output(&out) && matches!(place, AsmPlace::Immediate(_)));
        out.places.extend(place.filter(fits));
    }
    Ok(out)
}

/// What a code stands for on AMD GPUs.
fn place(code: &str) -> Option<AsmPlace> {
    use AsmImmediate::*;
    use AsmPlace::*;
    if let Some(name) = code.strip_prefix('{') {
        return register(name.strip_suffix('}')?).map(Register);
    }
    Some(match code {
        "v" => Class(RegFile::Vgpr),
        "s" | "r" => Class(RegFile::Sgpr),
        "X" => Anything,
        "i" => Immediate(Any),
        "n" => Immediate(Number),
        "I" => Immediate(Inline),
        "J" => Immediate(Signed16),
        "A" => Immediate(InlineValue),
        "B" => Immediate(Signed32),
        "C" => Immediate(Unsigned32),
        "^DA" => Immediate(InlineHalves),
        "^DB" => Immediate(Any64),
        _ => SameAs(code.parse().ok()?),
    })
}

/// The register called `name`: `v5`, `s[4:7]`, `vcc`.
fn register(name: &str) -> Option<AsmRegister> {
    if let Some((first, dwords)) = special_register(&name.to_ascii_lowercase()) {
        return Some(AsmRegister { first, dwords: Some(dwords.max(1)) });
    }
    type Make = fn(u16) -> PReg;
    let files: [(&str, u16, Make); 3] =
        [("ttmp", 16, PReg::ttmp), ("v", 256, PReg::vgpr), ("s", 106, PReg::sgpr)];
    let (rest, count, make) =
        files.iter().find_map(|&(prefix, count, make)| Some((name.strip_prefix(prefix)?, count, make)))?;
    let number = |text: &str| text.parse::<u16>().ok().filter(|&n| n < count);
    let Some(range) = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return Some(AsmRegister { first: make(number(rest)?), dwords: None });
    };
    let (first, last) = range.split_once(':')?;
    let (first, last) = (number(first)?, number(last)?);
    Some(AsmRegister { first: make(first), dwords: Some(u8::try_from(last.checked_sub(first)? + 1).ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands(constraints: &str) -> Vec<AsmOperand> {
        let asm = InlineAsm { text: String::new(), constraints: constraints.into() };
        asm.operands().unwrap()
    }

    #[test]
    fn codes_and_modifiers() {
        let read = operands("=&v,=*s,={s[4:5]},0,^DA,vI,{v7},~{v[8:9]},~{memory},~{VCC}");
        let places: Vec<_> = read.iter().map(|o| o.places.to_vec()).collect();
        let range = |first, dwords| AsmPlace::Register(AsmRegister { first, dwords });
        assert_eq!(
            places,
            [
                vec![AsmPlace::Class(RegFile::Vgpr)],
                vec![AsmPlace::Class(RegFile::Sgpr)],
                vec![range(PReg::sgpr(4), Some(2))],
                vec![AsmPlace::SameAs(0)],
                vec![AsmPlace::Immediate(AsmImmediate::InlineHalves)],
                vec![AsmPlace::Class(RegFile::Vgpr), AsmPlace::Immediate(AsmImmediate::Inline)],
                vec![range(PReg::vgpr(7), None)],
                vec![range(PReg::vgpr(8), Some(2))],
                vec![],
                vec![range(PReg::VCC_LO, Some(2))],
            ]
        );
        assert!(read[0].early && !read[0].indirect && read[1].indirect && !read[1].early);
        let roles: Vec<_> = read.iter().map(|o| o.role).collect();
        use AsmRole::{Clobber, Input, Output};
        assert_eq!(roles, [Output, Output, Output, Input, Input, Input, Input, Clobber, Clobber, Clobber]);
    }

    #[test]
    fn what_is_no_register_has_no_place() {
        for text in ["{v256}", "{s[5:4]}", "{a0}", "a", "q", "m", "{xyz}", "{}"] {
            assert!(operands(text)[0].places.is_empty(), "{text}");
        }
        let asm = |constraints: &str| InlineAsm { text: String::new(), constraints: constraints.into() };
        assert!(asm("=v,,s").operands().is_err());
        assert!(asm("={v0").operands().is_err());
        assert!(asm("!i").operands().is_err());
        assert!(asm("=v,=s").result_is_scalar(1) && !asm("=v,=s").result_is_scalar(0));
    }
}
