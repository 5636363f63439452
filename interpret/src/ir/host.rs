//! What surrounds a work-group: the border between the interpreter of IR and whoever starts it.
//!
//! A [`Launch`] holds plain facts about one work-group. A [`Host`] answers what takes a look at the outside (addresses of symbols) and hears
//! what happens (stores, barriers). Global memory is a [`sim::memory::Bus`]; LDS and scratch belong to the interpreter.

use mir::ir::{Block, Func, Inst, SymbolRef};
use mir::target::Target;
use sim::report::Report;
use std::fmt;

/// Where something happens: an instruction and the lane that executes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// Function.
    pub func: Func,
    /// Block.
    pub block: Block,
    /// Instruction.
    pub inst: Inst,
    /// Wave of the work-group.
    pub wave: u32,
    /// Lane of the wave: the first concerned, where it is several.
    pub lane: u32,
}

/// What memory an access goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Memory behind the bus.
    Global,
    /// LDS of the work-group; addresses are offsets.
    Local,
    /// Scratch of the lane; addresses are offsets in its own.
    Private,
}

/// A store that is being made, told before memory changes.
#[derive(Clone, Copy, Debug)]
pub struct Store<'a> {
    /// Who stores.
    pub site: Site,
    /// To what memory.
    pub space: Space,
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: &'a [u8],
    /// For each bit, whether it is undefined.
    pub undef: &'a [u8],
}

/// A barrier at which all waves of the work-group have arrived.
#[derive(Clone, Copy, Debug)]
pub struct Barrier<'a> {
    /// Barriers of this work-group before this one.
    pub index: u64,
    /// Where the first wave waits.
    pub site: Site,
    /// LDS.
    pub lds: &'a [u8],
    /// For each bit of it, whether it is undefined.
    pub lds_undef: &'a [u8],
}

/// Facts about the work-group to run.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Processor and system.
    pub target: Target,
    /// Id of the work-group.
    pub group: [u32; 3],
    /// Work-items of this work-group in each direction; fewer at the end of a grid that is no multiple.
    pub size: [u32; 3],
    /// Address of the kernarg segment. Parameters of a kernel as read are loaded from it by `mir::abi::kernarg::layout`.
    pub kernarg: u64,
    /// What `amdgcn.implicitarg.ptr` gives.
    pub implicitarg: u64,
    /// Address of the dispatch packet.
    pub dispatch: u64,
    /// Address of the queue.
    pub queue: u64,
    /// Number of the dispatch.
    pub dispatch_id: u64,
    /// High dword of generic addresses that point into LDS.
    pub shared_aperture: u32,
    /// High dword of generic addresses that point into scratch.
    pub private_aperture: u32,
    /// Bytes of LDS: static and dynamic.
    pub lds_bytes: u32,
    /// What `amdgcn.groupstaticsize` gives.
    pub static_lds_bytes: u32,
    /// Most instructions that waves of this work-group may execute, counted once for all lanes.
    pub fuel: u64,
}

/// The outside.
pub trait Host {
    /// The address of a symbol as the code of `user` sees it: in the address space of the variable, so an offset for LDS. `None` where there is
    /// none; using it is a fault then.
    fn symbol(&mut self, user: Func, symbol: SymbolRef) -> Option<u64>;

    /// The function at an address, for calls through pointers.
    fn function_at(&mut self, address: u64) -> Option<Func>;

    /// A store is made.
    fn store(&mut self, _store: &Store<'_>) {}

    /// All waves have arrived at a barrier.
    fn barrier(&mut self, _barrier: &Barrier<'_>) {}
}

/// What a run that came to its end did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Instructions executed, each once for all the lanes that executed it together.
    pub instructions: u64,
    /// Whether an operation was executed whose result is allowed to differ in the last places: library functions, and the hardware's
    /// approximations (`rcp`, `exp2` ...).
    pub approximate: bool,
}

/// Why a run stopped.
#[derive(Debug)]
pub enum Cause {
    /// The interpreter does not know this instruction or intrinsic.
    Unsupported(String),
    /// Something undefined decides: a branch, an address, a lane number.
    Undefined(&'static str),
    /// An access that memory refuses.
    Memory(Box<Report>),
    /// An access outside LDS or scratch.
    Bounds(String),
    /// Waves wait at different barriers, or some have ended.
    Barrier(String),
    /// The program asked to stop: `trap`.
    Trap,
    /// `unreachable` was reached, or another immediate undefined behaviour.
    Unreachable,
    /// The fuel is used up.
    Fuel,
    /// The module is not well-formed.
    Malformed(String),
}

/// A run that stopped, and where.
#[derive(Debug)]
pub struct Fault {
    /// Why.
    pub cause: Cause,
    /// Where, if it is at an instruction.
    pub site: Option<Site>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(what) => write!(f, "the interpreter does not execute {what}"),
            Self::Undefined(what) => write!(f, "an undefined value decides {what}"),
            Self::Memory(report) => report.fmt(f),
            Self::Bounds(what) => f.write_str(what),
            Self::Barrier(what) => f.write_str(what),
            Self::Trap => f.write_str("trap"),
            Self::Unreachable => f.write_str("unreachable code is reached"),
            Self::Fuel => f.write_str("the instruction budget is used up: a wave may not end"),
            Self::Malformed(what) => f.write_str(what),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)?;
        match self.site {
            Some(Site { func, block, inst, wave, lane }) => {
                write!(f, " (at {func} {block} {inst}, wave {wave}, lane {lane})")
            }
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}
