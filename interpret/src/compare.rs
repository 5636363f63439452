//! The first difference between what two runs left.
//!
//! A bit that the earlier run leaves undefined may be anything in the later one. A bit that the earlier run defines must be the same, and
//! defined, in the later one. LDS comes first, in the order of barriers, because what goes wrong there shows in memory only later; it is compared at
//! barriers where both runs have as many of them, and at the end. A group of one wave needs no barriers; one of several must keep them.

use crate::machine::Description;
use crate::record::{Contents, LdsHistory, Outcome, Writer};
use std::fmt;

/// Who wrote a byte, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Author {
    /// Number of the work-group in the order of the dispatch.
    pub group: u32,
    /// Wave of the work-group.
    pub wave: u32,
    /// Lane of the wave, where it was one.
    pub lane: Option<u32>,
    /// Function, block and instruction.
    pub place: Description,
}

/// One side of a difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    /// The dword around the byte, or what of it there is: bytes from the lowest address on, with their undefined bits.
    pub bytes: Vec<(u8, u8)>,
    /// Who wrote the byte that differs; `None` where nobody did.
    pub author: Option<Author>,
}

/// How two runs differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// A byte of memory.
    Bytes(Box<ByteDifference>),
    /// Waves of a work-group met at another number of barriers.
    Barriers {
        /// Number of the work-group in the order of the dispatch.
        group: u32,
        /// Barriers in the earlier and in the later run.
        counts: [usize; 2],
    },
}

/// Where memory differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ByteDifference {
    /// What memory: a buffer's name, or LDS of a work-group.
    pub memory: String,
    /// Offset of the first byte that differs.
    pub offset: u64,
    /// The earlier run.
    pub before: Side,
    /// The later run.
    pub after: Side,
}

/// Words for a number of an instruction.
pub type Describe<'a> = dyn Fn(u32) -> Description + 'a;

/// Bytes with their undefined bits and writers.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    bytes: &'a [u8],
    undef: &'a [u8],
    writers: &'a [Writer],
}

impl<'a> From<&'a Contents> for Bytes<'a> {
    fn from(c: &'a Contents) -> Self {
        Self { bytes: &c.bytes, undef: &c.undef, writers: &c.writers }
    }
}

impl Bytes<'_> {
    fn at(&self, k: usize) -> (u8, u8) {
        (self.bytes.get(k).copied().unwrap_or(0), self.undef.get(k).copied().unwrap_or(0xff))
    }

    fn side(&self, offset: usize, describe: &Describe<'_>) -> Side {
        let start = offset & !3;
        let author = self.writers.get(offset).copied().filter(|w| w.is_some()).map(|w| Author {
            group: w.group(),
            wave: w.wave(),
            lane: w.lane(),
            place: describe(w.site()),
        });
        Side { bytes: (start..(start + 4).min(self.bytes.len())).map(|k| self.at(k)).collect(), author }
    }
}

/// What is allowed between two stages.
pub trait Tolerance {
    /// Whether the dword (or less, at the end) at `offset` may be as it is on the later side.
    fn allows(&self, before: &[u8], after: &[u8], offset: usize) -> bool;
}

/// Nothing.
#[derive(Clone, Copy, Debug)]
pub struct Exact;

impl Tolerance for Exact {
    fn allows(&self, _: &[u8], _: &[u8], _: usize) -> bool {
        false
    }
}

/// Floating-point numbers that are the same to this relative distance; NaNs are one, as LLVM leaves their sign and payload open. Of a dword, or of the
/// pair of dwords that it is in, it is not known what it holds, so any reading of it as a number may do.
#[derive(Clone, Copy, Debug)]
pub struct Nearly {
    /// For single precision; double precision must be closer, half precision need not be so close.
    pub distance: f64,
}

impl Nearly {
    /// Nothing but NaNs may differ.
    pub const NANS: Self = Self { distance: 0.0 };
    /// What follows operations whose results may differ in the last places.
    pub const APPROXIMATE: Self = Self { distance: 1e-4 };
}

impl Tolerance for Nearly {
    fn allows(&self, before: &[u8], after: &[u8], offset: usize) -> bool {
        fn at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
            let start = offset / N * N;
            bytes.get(start..start + N)?.try_into().ok()
        }
        let single = |bytes| at::<4>(bytes, offset).map(|b| f64::from(f32::from_le_bytes(b)));
        let double = |bytes| at::<8>(bytes, offset).map(f64::from_le_bytes);
        let half = |bytes| {
            let bits = u16::from_le_bytes(at::<2>(bytes, offset)?);
            Some(f64::from(sim::fp::f16_to_f32(bits.into())))
        };
        let near = |pair: (Option<f64>, Option<f64>), distance: f64| match pair {
            (Some(a), Some(b)) => {
                a.is_nan() && b.is_nan() || distance > 0.0 && (a - b).abs() <= distance * a.abs().max(b.abs())
            }
            _ => false,
        };
        near((single(before), single(after)), self.distance)
            || near((double(before), double(after)), self.distance * 1e-5)
            || near((half(before), half(after)), self.distance * 100.0)
    }
}

/// The first difference of `after` from `before`, and `None` where there is none. Runs that stopped are compared up to where they stopped by nothing.
pub fn compare(
    (before, describe_before): (&Outcome, &Describe<'_>),
    (after, describe_after): (&Outcome, &Describe<'_>),
    tolerance: &dyn Tolerance,
) -> Option<Difference> {
    let difference = |memory: String, offset: usize, a: Bytes<'_>, b: Bytes<'_>| {
        Difference::Bytes(Box::new(ByteDifference {
            memory,
            offset: offset as u64,
            before: a.side(offset, describe_before),
            after: b.side(offset, describe_after),
        }))
    };
    for (a, b) in before.lds.iter().zip(&after.lds) {
        if let Some((memory, offset, states)) = lds(a, b, tolerance) {
            return Some(difference(memory, offset, states.0.bytes(), states.1.bytes()));
        }
        // The last step is the end.
        let counts = [a, b].map(|history| history.steps.len().saturating_sub(1));
        if a.waves() > 1 && counts[0] != counts[1] {
            return Some(Difference::Barriers { group: a.group(), counts });
        }
    }
    for (a, b) in before.contents.iter().zip(&after.contents) {
        let (x, y) = (Bytes::from(a), Bytes::from(b));
        if let Some(offset) = first(x, y, tolerance) {
            return Some(difference(a.name.clone(), offset, x, y));
        }
    }
    None
}

fn first(a: Bytes<'_>, b: Bytes<'_>, tolerance: &dyn Tolerance) -> Option<usize> {
    let differs = |k: &usize| {
        let ((value, undef), (other, other_undef)) = (a.at(*k), b.at(*k));
        ((value ^ other) | other_undef) & !undef != 0
    };
    (0..a.bytes.len().max(b.bytes.len())).filter(differs).find(|&k| !tolerance.allows(a.bytes, b.bytes, k))
}

/// LDS at one moment.
struct LdsState {
    bytes: Vec<u8>,
    undef: Vec<u8>,
    writers: Vec<Writer>,
}

impl LdsState {
    fn new(history: &LdsHistory) -> Self {
        let (bytes, undef) = history.initial.clone();
        Self { writers: vec![Writer::default(); bytes.len()], bytes, undef }
    }

    fn apply(&mut self, history: &LdsHistory, step: usize) {
        for change in history.steps.get(step).into_iter().flatten() {
            let k = change.offset as usize;
            if k < self.bytes.len() {
                (self.bytes[k], self.undef[k], self.writers[k]) = (change.value, change.undef, change.writer);
            }
        }
    }

    fn bytes(&self) -> Bytes<'_> {
        Bytes { bytes: &self.bytes, undef: &self.undef, writers: &self.writers }
    }
}

fn lds(
    a: &LdsHistory,
    b: &LdsHistory,
    tolerance: &dyn Tolerance,
) -> Option<(String, usize, (LdsState, LdsState))> {
    let (mut x, mut y) = (LdsState::new(a), LdsState::new(b));
    let same = a.steps.len() == b.steps.len();
    for step in 0..a.steps.len().max(b.steps.len()) {
        x.apply(a, step);
        y.apply(b, step);
        let last = step + 1 == a.steps.len().max(b.steps.len());
        if !(same || last) {
            continue;
        }
        if let Some(offset) = first(x.bytes(), y.bytes(), tolerance) {
            let when = if last { "the end".to_owned() } else { format!("barrier {step}") };
            return Some((format!("LDS of work-group {} at {when}", a.group()), offset, (x, y)));
        }
    }
    None
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(lane) = self.lane {
            write!(f, "lane {lane} of ")?;
        }
        let Description { function, block, instruction } = &self.place;
        write!(f, "wave {} of work-group {} in {function} {block}: {instruction}", self.wave, self.group)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As a little-endian number, a digit of which that is not defined is a question mark.
        for &(value, undef) in self.bytes.iter().rev() {
            for (digit, unknown) in [(value >> 4, undef >> 4), (value & 15, undef & 15)] {
                if unknown != 0 { f.write_str("?")? } else { write!(f, "{digit:x}")? }
            }
        }
        match &self.author {
            Some(author) => write!(f, ", written by {author}"),
            None => f.write_str(", as it was from the start"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => {
                let ByteDifference { memory, offset, before, after } = &**bytes;
                write!(f, "{memory} + {offset}: {after}; before: {before}")
            }
            Self::Barriers { group, counts: [before, after] } => {
                write!(f, "waves of work-group {group} meet at {after} barriers; before: {before}")
            }
        }
    }
}
