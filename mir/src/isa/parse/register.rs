//! Registers: `v5`, `s[2:3]`, `[s2,s3]`, `vcc`, `ttmp[4:7]`, `src_shared_base`.
//!
//! Bounds of ranges are expressions. What a range is good for (alignment, width) is the operand's business; here only the
//! register numbers must exist in any generation.

use super::expr::{self, Known};
use super::lexer::{Lexer, Token};
use super::{Failure, fail};
use crate::machine::PReg;
use crate::target::operands::register_code;
use crate::target::{Features, Target};

/// A register tuple as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuple {
    /// First register.
    pub first: PReg,
    /// Width; a register that reads in any width has 0 here.
    pub dwords: u8,
}

/// Registers with a name of their own: name, first register, width, whether `src_` may stand before it.
#[rustfmt::skip]
static SPECIAL: &[(&str, PReg, u8)] = &[
    ("vcc", PReg::VCC_LO, 2),
    ("vcc_lo", PReg::VCC_LO, 1),
    ("vcc_hi", PReg::VCC_HI, 1),
    ("exec", PReg::EXEC_LO, 2),
    ("exec_lo", PReg::EXEC_LO, 1),
    ("exec_hi", PReg::EXEC_HI, 1),
    ("m0", PReg::M0, 1),
    ("flat_scratch", PReg::FLAT_SCRATCH_LO, 2),
    ("flat_scratch_lo", PReg::FLAT_SCRATCH_LO, 1),
    ("flat_scratch_hi", PReg::FLAT_SCRATCH_HI, 1),
    ("xnack_mask", PReg::XNACK_MASK_LO, 2),
    ("xnack_mask_lo", PReg::XNACK_MASK_LO, 1),
    ("xnack_mask_hi", PReg::XNACK_MASK_HI, 1),
    ("tba", PReg::TBA_LO, 2),
    ("tba_lo", PReg::TBA_LO, 1),
    ("tba_hi", PReg::TBA_HI, 1),
    ("tma", PReg::TMA_LO, 2),
    ("tma_lo", PReg::TMA_LO, 1),
    ("tma_hi", PReg::TMA_HI, 1),
    ("null", PReg::NULL, 0),
    ("vccz", PReg::VCCZ, 0),
    ("execz", PReg::EXECZ, 0),
    ("scc", PReg::SCC, 0),
    ("lds_direct", PReg::LDS_DIRECT, 1),
    ("shared_base", PReg::SHARED_BASE, 0),
    ("shared_limit", PReg::SHARED_LIMIT, 0),
    ("private_base", PReg::PRIVATE_BASE, 0),
    ("private_limit", PReg::PRIVATE_LIMIT, 0),
    ("pops_exiting_wave_id", PReg::POPS_EXITING_WAVE_ID, 0),
];

/// Longest tuple of any instruction.
const MAX_DWORDS: u64 = 32;

/// The register that has `name` (lower case) for itself, with its width; 0 where it reads in any width.
pub fn special(name: &str) -> Option<(PReg, u8)> {
    let (plain, source) = name.strip_prefix("src_").map_or((name, false), |plain| (plain, true));
    let &(_, first, dwords) = SPECIAL.iter().find(|(known, ..)| *known == plain)?;
    // Only what cannot be written is also called a source.
    let readonly = first.0 >= PReg::VCCZ.0;
    (readonly || !source).then_some((first, dwords))
}

/// A file of numbered registers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum File {
    Vgpr,
    Sgpr,
    Trap,
}

impl File {
    fn register(self, n: u64) -> Option<PReg> {
        let n = u16::try_from(n).ok()?;
        match self {
            File::Vgpr if n < 256 => Some(PReg::vgpr(n)),
            File::Sgpr if n < 106 => Some(PReg::sgpr(n)),
            File::Trap if n < 16 => Some(PReg::ttmp(n)),
            _ => None,
        }
    }
}

/// The file that `name` begins with, and what follows.
fn file(name: &str) -> Option<(File, &str)> {
    if let Some(rest) = name.strip_prefix("ttmp") {
        return Some((File::Trap, rest));
    }
    match name.as_bytes().first() {
        Some(b'v') => Some((File::Vgpr, &name[1..])),
        Some(b's') => Some((File::Sgpr, &name[1..])),
        _ => None,
    }
}

/// Whether a register begins at `lexer`.
pub fn is_here(lexer: &Lexer<'_>) -> bool {
    match lexer.token {
        Token::Name(name) => match file(name) {
            Some((_, "")) => lexer.peek() == Token::Op(b'['),
            Some((_, digits)) if digits.bytes().all(|b| b.is_ascii_digit()) => true,
            _ => special(name).is_some(),
        },
        Token::Op(b'[') => is_here_single(&lexer.after()),
        _ => false,
    }
}

fn is_here_single(lexer: &Lexer<'_>) -> bool {
    matches!(lexer.token, Token::Name(_)) && is_here(lexer)
}

/// Reads a register; one must begin here ([`is_here`]).
pub fn parse(lexer: &mut Lexer<'_>, target: &Target, known: Known<'_>) -> Result<Tuple, Failure> {
    let at = lexer.start;
    let tuple = if lexer.token == Token::Op(b'[') { list(lexer, known)? } else { single(lexer, known)? };
    for n in 0..u16::from(tuple.dwords.max(1)) {
        let reg = tuple.first.plus(n);
        let switchable = matches!(reg, PReg::XNACK_MASK_LO | PReg::XNACK_MASK_HI);
        let missing = switchable && !target.has(Features::XNACK_SUPPORTED);
        if missing || register_code(reg, target.generation()).is_none() {
            let message = match reg.sgpr_index() {
                Some(_) => "register index is out of range".to_owned(),
                None => format!("{reg} is not available on {target}"),
            };
            return fail(at, message);
        }
    }
    Ok(tuple)
}

/// `v5`, `v[4:7]` or a special register.
fn single(lexer: &mut Lexer<'_>, known: Known<'_>) -> Result<Tuple, Failure> {
    let at = lexer.start;
    let Token::Name(name) = lexer.token else { return fail(at, "expected a register") };
    lexer.step();
    if let Some((first, dwords)) = special(name) {
        return Ok(Tuple { first, dwords });
    }
    let Some((file, digits)) = file(name) else { return fail(at, format!("no register {name}")) };
    let (first, last) = if digits.is_empty() {
        range(lexer, known)?
    } else {
        let n = digits.parse().unwrap_or(u64::MAX);
        (n, n)
    };
    let (Some(register), Some(_)) = (file.register(first), file.register(last)) else {
        return fail(at, "register index is out of range");
    };
    let dwords = last - first + 1;
    if dwords > MAX_DWORDS {
        return fail(at, "invalid or unsupported register size");
    }
    Ok(Tuple { first: register, dwords: dwords as u8 })
}

/// `[first:last]` or `[n]`.
fn range(lexer: &mut Lexer<'_>, known: Known<'_>) -> Result<(u64, u64), Failure> {
    if !lexer.skip(b'[') {
        return fail(lexer.start, "expected a register index");
    }
    let first = index(lexer, known)?;
    let last = if lexer.skip(b':') { index(lexer, known)? } else { first };
    if !lexer.skip(b']') {
        return fail(lexer.start, "expected a closing square bracket");
    }
    if last < first {
        return fail(lexer.start, "first register index should not exceed second index");
    }
    Ok((first, last))
}

fn index(lexer: &mut Lexer<'_>, known: Known<'_>) -> Result<u64, Failure> {
    let at = lexer.start;
    let value = expr::parse(lexer, known, false)?.constant();
    match value.map(u64::try_from) {
        Some(Ok(value)) => Ok(value),
        Some(Err(_)) => fail(at, "invalid register index"),
        None => fail(at, "expected an absolute expression"),
    }
}

/// `[s4,s5,s6]`, consecutive registers.
fn list(lexer: &mut Lexer<'_>, known: Known<'_>) -> Result<Tuple, Failure> {
    lexer.step();
    let mut tuple: Option<Tuple> = None;
    loop {
        let at = lexer.start;
        if !is_here_single(lexer) {
            return fail(at, "expected a register");
        }
        let next = single(lexer, known)?;
        if next.dwords > 1 {
            return fail(at, "expected a single 32-bit register");
        }
        tuple = Some(match tuple {
            None => next,
            Some(old) if old.dwords == 0 => return fail(at, "register does not fit in the list"),
            Some(old)
                if next.first == old.first.plus(u16::from(old.dwords))
                    && same_group(old.first, next.first) =>
            {
                Tuple { dwords: old.dwords + 1, ..old }
            }
            Some(_) => return fail(at, "registers in a list must be consecutive and of one kind"),
        });
        if tuple.is_some_and(|t| u64::from(t.dwords) > MAX_DWORDS) {
            return fail(at, "invalid or unsupported register size");
        }
        if lexer.skip(b']') {
            break;
        }
        if !lexer.skip(b',') {
            return fail(lexer.start, "expected a comma or a closing square bracket");
        }
    }
    tuple.map_or_else(|| fail(lexer.start, "expected a register"), Ok)
}

/// Whether a tuple may hold both registers: numbered ones of one file, or the two halves of a special pair.
fn same_group(first: PReg, next: PReg) -> bool {
    let both = |index: fn(PReg) -> Option<u16>| index(first).is_some() && index(next).is_some();
    both(PReg::vgpr_index)
        || both(PReg::sgpr_index)
        || both(PReg::ttmp_index)
        || SPECIAL.iter().any(|&(_, reg, dwords)| reg == first && dwords == 2 && next == reg.plus(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, processor: &str) -> Option<(String, u8)> {
        let target = Target::new(Target::processor_by_name(processor)?);
        let mut lexer = Lexer::new(text);
        if !is_here(&lexer) {
            return None;
        }
        let tuple = parse(&mut lexer, &target, &|_| None).ok()?;
        lexer.at_end().then(|| (tuple.first.to_string(), tuple.dwords))
    }

    #[test]
    fn spellings() {
        let is = |text, first: &str, dwords| {
            assert_eq!(read(text, "gfx900"), Some((first.to_owned(), dwords)), "{text}");
        };
        is("v255", "v255", 1);
        is("s[2*2-2:(3+7)/2]", "s2", 4);
        is("v[7]", "v7", 1);
        is("[v[8/2],v5,v[6]]", "v4", 3);
        is("[vcc_lo,vcc_hi]", "vcc_lo", 2);
        is("ttmp[4:7]", "ttmp4", 4);
        is("src_shared_base", "src_shared_base", 0);
        is("shared_base", "src_shared_base", 0);
        is("exec", "exec_lo", 2);
    }

    #[test]
    fn what_does_not_exist() {
        for text in [
            "v256", "s102", "tba", "v[1:0]", "s[0:-1]", "[s0,s2]", "[s0,v1]", "[s0", "s[0 1", "vx",
            "src_vcc", "v[0:40]",
        ] {
            assert_eq!(read(text, "gfx900"), None, "{text}");
        }
        assert!(read("tba", "gfx803").is_some() && read("s103", "gfx700").is_some());
        assert_eq!(read("src_shared_base", "gfx803"), None);
        assert_eq!(read("flat_scratch", "gfx600"), None);
    }
}
