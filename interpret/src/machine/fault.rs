//! Why a run of machine code stopped.

use super::registers::Disagreement;
use crate::record::{Stop, StopKind};
use sim::report::{Kind, Report};
use std::fmt;

/// Why.
#[derive(Clone, Debug)]
pub enum Cause {
    /// The interpreter does not execute this.
    Unsupported(String),
    /// What the simulator refuses: an undefined address or branch, memory that is not mapped.
    Strict(Box<Report>),
    /// Selection promised a scalar, but lanes that read it together have different values.
    NotUniform {
        /// The register.
        register: mir::machine::VReg,
        /// Two lanes.
        lanes: [usize; 2],
        /// What each of them has.
        values: [u32; 2],
    },
    /// A lane reads a scalar that other lanes have overwritten since it was written for this one.
    Overwritten {
        /// The register.
        register: mir::machine::VReg,
        /// The lane.
        lane: usize,
    },
    /// A call of what is no function of the module, whose body would be known.
    NoFunction(u64),
    /// A function does not return to where it was called from.
    WrongReturn,
    /// More calls inside of each other than any stage runs.
    TooDeep(usize),
    /// EXEC has a lane in a block to which no edge of the thread graph leads from where it was.
    Astray {
        /// The lane.
        lane: usize,
        /// The block that it ran last; `None` before the first.
        from: Option<u32>,
        /// The block that it runs now; `None` where the function ends without it.
        to: Option<u32>,
    },
    /// Waves wait at different barriers, or some have ended.
    Barrier(String),
    /// Control reached an end that it must not reach.
    Unreachable,
    /// The instruction budget is used up.
    Fuel,
    /// The code is not what its stage promises.
    Malformed(String),
}

impl From<Box<Report>> for Cause {
    fn from(report: Box<Report>) -> Self {
        Self::Strict(report)
    }
}

impl From<Disagreement> for Cause {
    fn from(d: Disagreement) -> Self {
        match d {
            Disagreement::Differ { register, lanes, values } => Self::NotUniform { register, lanes, values },
            Disagreement::Overwritten { register, lane } => Self::Overwritten { register, lane },
        }
    }
}

/// Something undefined decides.
pub(super) fn undefined(kind: Kind, what: &str) -> Cause {
    Cause::Strict(Report::new(kind, what))
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(what) => write!(f, "the interpreter does not execute {what}"),
            Self::Strict(report) => report.fmt(f),
            Self::NotUniform { register, lanes, values } => write!(
                f,
                "{register} is read as a scalar, but is {:08x} in lane {} and {:08x} in lane {}",
                values[0], lanes[0], values[1], lanes[1]
            ),
            Self::Overwritten { register, lane } => {
                write!(f, "lane {lane} reads scalar {register}, which other lanes have overwritten since")
            }
            Self::NoFunction(address) => {
                write!(f, "a call of 0x{address:x}, where no function of the module is")
            }
            Self::WrongReturn => f.write_str("the function does not return to its caller"),
            Self::TooDeep(limit) => write!(f, "more than {limit} calls inside of each other"),
            Self::Astray { lane, from, to } => {
                match from {
                    Some(from) => write!(f, "lane {lane}, which ran mbb{from} last, ")?,
                    None => write!(f, "lane {lane}, which ran nothing yet, ")?,
                }
                match to {
                    Some(to) => write!(f, "is in mbb{to}, where the thread graph has no edge for it"),
                    None => f.write_str("never comes to an end"),
                }
            }
            Self::Barrier(what) | Self::Malformed(what) => f.write_str(what),
            Self::Unreachable => f.write_str("unreachable code is reached"),
            Self::Fuel => f.write_str("the instruction budget is used up: a wave may not end"),
        }
    }
}

/// A run that stopped, and where.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Why.
    pub cause: Cause,
    /// Work-group.
    pub group: [u32; 3],
    /// Wave of the work-group.
    pub wave: u32,
    /// Number of the instruction in its program.
    pub site: u32,
}

impl Fault {
    /// The same with the words for its place.
    pub(super) fn into_stop(self, place: super::Description) -> Stop {
        let kind = match &self.cause {
            Cause::Unsupported(_) => StopKind::Unsupported,
            Cause::Fuel => StopKind::Fuel,
            _ => StopKind::Fault,
        };
        Stop { kind, message: self.cause.to_string(), group: self.group, wave: self.wave, place }
    }
}
