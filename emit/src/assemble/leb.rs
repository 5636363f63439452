//! LEB128 numbers, whose sizes depend on their values.
//!
//! A number that is known where it stands has its size. One that is not, such as a distance to a label that follows, takes a byte, and everything
//! behind it has places, paddings and conditions of a file in which that is so. At the end its value is known: where the byte is too few, the whole text
//! is read again with the size that was missing, until all sizes are enough ([`Layout`]). Sizes never shrink: a number smaller than its size is
//! written with bytes that add nothing, as LLVM's assembler does. Numbers that still grow after [`CAREFUL_ROUNDS`] get the largest size, so that
//! no text needs more than [`MAX_ROUNDS`].

use super::{Assembler, Origin, Place, Result, Value};
use mir::isa::parse::lexer::Lexer;

/// Readings in which sizes grow by what is missing.
const CAREFUL_ROUNDS: u32 = 8;
/// Readings of a text.
const MAX_ROUNDS: u32 = 16;
/// Bytes of the largest number.
const MAX_BYTES: u8 = 10;

/// A number whose value is known at the end.
#[derive(Clone, Debug)]
pub(super) struct Leb<'a> {
    pub place: Place,
    pub value: Value<'a>,
    signed: bool,
    /// Bytes that it has.
    size: u8,
}

/// The sizes that numbers were found to need, in the order of the text.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    sizes: Vec<u8>,
    rounds: u32,
    /// Branches with an `s_nop` behind them, sorted, by their number in the order of the text.
    pub padded: Vec<u32>,
}

/// Whether sizes were enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Settled {
    Yes,
    /// The text has to be read again with the layout's new sizes.
    No,
}

/// The bytes of `value`, at least `size` of them.
fn encode(value: i64, signed: bool, size: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = value;
    loop {
        let low = rest as u8 & 0x7f;
        // Without a sign, a negative number is a large one.
        rest = if signed { rest >> 7 } else { (rest as u64 >> 7) as i64 };
        let is_last = match (signed, rest) {
            (_, 0) => !signed || low & 0x40 == 0,
            (true, -1) => low & 0x40 != 0,
            _ => false,
        };
        out.push(if is_last { low } else { low | 0x80 });
        if is_last {
            break;
        }
    }
    let missing = usize::from(size).saturating_sub(out.len());
    if missing > 0 {
        // The sign goes on.
        let fill = if signed && value < 0 { 0x7f } else { 0 };
        if let Some(last) = out.last_mut() {
            *last |= 0x80;
        }
        out.extend(std::iter::repeat_n(fill | 0x80, missing - 1));
        out.push(fill);
    }
    out
}

impl<'a> Assembler<'a, '_> {
    /// `.uleb128` and `.sleb128`.
    pub(super) fn leb_directive(&mut self, signed: bool, lexer: &mut Lexer<'a>, line: u32) -> Result {
        loop {
            let at = lexer.start;
            let value = self.value(lexer, line)?;
            self.room(u64::from(MAX_BYTES), at)?;
            let known = match value.expr.constant() {
                Some(constant) => Some(constant),
                None => {
                    let target = self.target;
                    let sum = self.symbols.evaluate(&value, &target).ok();
                    sum.filter(|sum| sum.plus.is_none() && sum.minus.is_none()).map(|sum| sum.constant)
                }
            };
            match known {
                Some(constant) => self.section().data.extend(encode(constant, signed, 0)),
                None => {
                    let size = self.layout.sizes.get(self.lebs.len()).copied().unwrap_or(1);
                    let place = self.here();
                    let end = self.section().data.len() + usize::from(size);
                    self.section().data.resize(end, 0);
                    self.lebs.push(Leb { place, value, signed, size });
                }
            }
            if !lexer.skip(b',') {
                return Ok(());
            }
        }
    }

    /// Fills in the numbers, where their sizes are enough; otherwise notes the sizes in the layout.
    ///
    /// # Errors
    /// A value that is none at the end either.
    pub(super) fn settle_lebs(&mut self) -> std::result::Result<Settled, (Origin, String)> {
        let target = self.target;
        let lebs = std::mem::take(&mut self.lebs);
        let mut sizes = Vec::with_capacity(lebs.len());
        let mut settled = Settled::Yes;
        for Leb { place, value, signed, size } in lebs {
            let sum = self.symbols.evaluate(&value, &target).map_err(|message| (value.origin, message))?;
            if sum.plus.is_some() || sum.minus.is_some() {
                return Err((value.origin, "expected an absolute expression".to_owned()));
            }
            let bytes = encode(sum.constant, signed, size);
            if bytes.len() > usize::from(size) {
                settled = Settled::No;
                let careful = self.layout.rounds < CAREFUL_ROUNDS;
                sizes.push(if careful { bytes.len() as u8 } else { MAX_BYTES });
            } else {
                sizes.push(size);
                self.store(place, &bytes);
            }
        }
        self.layout.sizes = sizes;
        self.layout.rounds += 1;
        Ok(settled)
    }
}

impl Layout {
    /// Refuses a text whose sizes do not settle: one that asks for other numbers each time it is read.
    pub(super) fn check(&self) -> std::result::Result<(), Box<mir::Diagnostic>> {
        match self.rounds {
            MAX_ROUNDS.. => Err(mir::Diagnostic::malformed(
                "the sizes of LEB128 numbers, or what stands behind branches, do not settle",
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_bytes() {
        assert_eq!(encode(0, false, 0), [0]);
        assert_eq!(encode(300, false, 0), [0xac, 2]);
        assert_eq!(encode(-1, false, 0).len(), 10);
        assert_eq!(encode(-129, true, 0), [0xff, 0x7e]);
        assert_eq!(encode(64, true, 0), [0xc0, 0]);
        // Longer than needed.
        assert_eq!(encode(5, false, 3), [0x85, 0x80, 0]);
        assert_eq!(encode(-2, true, 3), [0xfe, 0xff, 0x7f]);
    }
}
