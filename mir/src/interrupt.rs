//! Stopping a compilation from outside: a flag that any thread may set, a deadline, a bound of memory.
//!
//! A pass that runs long must notice between its instructions that nobody waits for its result any more, and that without a parameter in
//! each of its functions. So what a compilation is watched by is entered on the thread that works for it ([`Watch::enter`]), and the places
//! that every long loop comes by, above all those where instructions are made, call [`checkpoint`]. It counts down in a thread-local cell;
//! once in [`STRIDE`] calls it looks at flag and clock, and where the compilation is to stop it *unwinds* to whoever runs the pass, without
//! a panic message: the payload is a [`Stop`]. What the pass worked on is dropped there, so nothing half-made is seen by anybody. Between
//! passes [`Watch::check`] answers the same question with a value. Without a watch a checkpoint costs one decrement.
//!
//! Memory is estimated, not measured: no allocator is asked for, and the same input is refused on every machine and with any number
//! of threads. What is made is charged by the number of its instructions ([`IR_INST_BYTES`], [`MACHINE_INST_BYTES`]) and never given back.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Why a compilation was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interruption {
    /// Somebody asked for it.
    Cancelled,
    /// The time was up.
    Deadline,
    /// It would have taken more memory than allowed.
    Memory,
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "the compilation was cancelled",
            Self::Deadline => "the compilation did not end before its deadline",
            Self::Memory => "the compilation takes more memory than allowed",
        })
    }
}

/// The payload of the unwinding that ends a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop(pub Interruption);

/// Calls of [`checkpoint`] between two looks at flag and clock; work between two calls is a microsecond or less.
pub const STRIDE: u32 = 128;

/// Bytes charged for an instruction of IR, with what passes know of it. Measured: peak of a function of 100,000 instructions.
pub const IR_INST_BYTES: u64 = 320;

/// Bytes charged for a machine instruction, with graph, live ranges and state of allocation.
pub const MACHINE_INST_BYTES: u64 = 320;

#[derive(Debug, Default)]
struct State {
    cancelled: Option<Arc<AtomicBool>>,
    deadline: Option<Instant>,
    memory_bytes: Option<u64>,
    charged_bytes: AtomicU64,
}

/// What one compilation is watched by. Clones are the same watch.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<State>);

thread_local! {
    static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
    static CHARGED: Cell<u64> = const { Cell::new(0) };
    static CURRENT: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

impl Watch {
    /// A watch that stops the compilation when `cancelled` becomes true, at `deadline`, or when more than `memory_bytes` were charged.
    pub fn new(
        cancelled: Option<Arc<AtomicBool>>,
        deadline: Option<Instant>,
        memory_bytes: Option<u64>,
    ) -> Self {
        Self(Arc::new(State { cancelled, deadline, memory_bytes, charged_bytes: AtomicU64::new(0) }))
    }

    /// Why the compilation is to stop, if it is.
    ///
    /// # Errors
    /// The reason.
    pub fn check(&self) -> Result<(), Interruption> {
        let state = &*self.0;
        if state.cancelled.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Interruption::Cancelled);
        }
        if state.memory_bytes.is_some_and(|most| state.charged_bytes.load(Ordering::Relaxed) > most) {
            return Err(Interruption::Memory);
        }
        if state.deadline.is_some_and(|end| Instant::now() >= end) {
            return Err(Interruption::Deadline);
        }
        Ok(())
    }

    /// Charges `bytes`, and checks.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn charge(&self, bytes: u64) -> Result<(), Interruption> {
        self.0.charged_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.check()
    }

    /// Bytes charged so far.
    pub fn charged_bytes(&self) -> u64 {
        self.0.charged_bytes.load(Ordering::Relaxed)
    }

    /// Makes this the watch of the calling thread until the guard is dropped, which puts back the one before: a thread that waits for
    /// others may work for another compilation meanwhile.
    pub fn enter(&self) -> Entered {
        let before = CURRENT.with(|current| current.replace(Some(self.clone())));
        let left = LEFT.replace(STRIDE);
        let charged = CHARGED.replace(0);
        Entered { before, left, charged }
    }
}

/// A watch is entered as long as this lives.
#[derive(Debug)]
pub struct Entered {
    before: Option<Watch>,
    left: u32,
    charged: u64,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let own = CURRENT.with(|current| current.replace(self.before.take()));
        if let Some(watch) = own {
            watch.0.charged_bytes.fetch_add(CHARGED.get(), Ordering::Relaxed);
        }
        LEFT.set(self.left);
        CHARGED.set(self.charged);
    }
}

/// Comes by often in every loop that runs long. Unwinds with a [`Stop`] where the thread's watch says so.
#[inline]
pub fn checkpoint() {
    let left = LEFT.get();
    if left == 0 {
        look();
    } else {
        LEFT.set(left - 1);
    }
}

/// A [`checkpoint`] where `bytes` of memory are about to be taken.
#[inline]
pub fn charge(bytes: u64) {
    CHARGED.set(CHARGED.get().wrapping_add(bytes));
    checkpoint();
}

#[cold]
fn look() {
    let watch = CURRENT.with(|current| current.borrow().clone());
    let Some(watch) = watch else {
        LEFT.set(u32::MAX);
        return;
    };
    LEFT.set(STRIDE);
    // What is unwound through is dropped, and that may come by here.
    if std::thread::panicking() {
        return;
    }
    if let Err(reason) = watch.charge(CHARGED.replace(0)) {
        std::panic::resume_unwind(Box::new(Stop(reason)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    fn stopped(body: impl FnOnce() + std::panic::UnwindSafe) -> Option<Interruption> {
        catch_unwind(body).err().and_then(|payload| payload.downcast_ref::<Stop>().map(|stop| stop.0))
    }

    #[test]
    fn a_loop_ends_when_the_flag_is_set() {
        let flag = Arc::new(AtomicBool::new(false));
        let watch = Watch::new(Some(flag.clone()), None, None);
        let _entered = watch.enter();
        (0..3 * STRIDE).for_each(|_| checkpoint());
        flag.store(true, Ordering::Relaxed);
        assert_eq!(watch.check(), Err(Interruption::Cancelled));
        assert_eq!(stopped(|| (0..3 * STRIDE).for_each(|_| checkpoint())), Some(Interruption::Cancelled));
    }

    #[test]
    fn watches_nest_and_end() {
        let outer = Watch::new(None, None, Some(1 << 20));
        let inner = Watch::new(None, None, Some(10));
        let entered = outer.enter();
        {
            let _entered = inner.enter();
            assert_eq!(stopped(|| (0..3 * STRIDE).for_each(|_| charge(1))), Some(Interruption::Memory));
        }
        assert_eq!(stopped(|| (0..3 * STRIDE).for_each(|_| charge(1))), None);
        drop(entered);
        assert_eq!(outer.charged_bytes(), u64::from(3 * STRIDE));
        assert_eq!(stopped(|| (0..3 * STRIDE).for_each(|_| charge(1 << 40))), None);
    }

    #[test]
    fn time_passes() {
        let watch = Watch::new(None, Some(Instant::now()), None);
        let _entered = watch.enter();
        assert_eq!(stopped(|| (0..3 * STRIDE).for_each(|_| checkpoint())), Some(Interruption::Deadline));
    }
}
