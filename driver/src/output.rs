//! What the command prints. That nobody reads on is the reader's wish: `gcnc inspect FILE | head` has seen what it wants, and the rest is
//! neither an error nor a reason to panic, as it would be of the standard library's macros. Those here have the same names and come in their place.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether something could not be printed, for another reason than that the reader has gone.
static LOST: AtomicBool = AtomicBool::new(false);

/// Writes to standard output.
///
/// # Errors
/// Of the system, such as a full disk; not that the reader has gone.
pub fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    quiet(out.write_all(bytes).and_then(|()| out.flush()))
}

fn quiet(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Whether something that [`print()`] was given is lost: on a full disk for instance.
pub fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Writes to standard output, and once to standard error why that cannot be.
pub fn print(text: Arguments<'_>) {
    let mut out = io::stdout().lock();
    if let Err(error) = quiet(out.write_fmt(text).and_then(|()| out.flush()))
        && !LOST.swap(true, Ordering::Relaxed)
    {
        complain(format_args!("gcnc: error: standard output: {error}\n"));
    }
}

/// Writes to standard error; where that cannot be, there is no place to say so.
pub fn complain(text: Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(text);
}

macro_rules! print {
    ($($text:tt)*) => { $crate::output::print(format_args!($($text)*)) };
}

macro_rules! println {
    ($($text:tt)*) => { $crate::output::print(format_args!("{}\n", format_args!($($text)*))) };
}

macro_rules! eprint {
    ($($text:tt)*) => { $crate::output::complain(format_args!($($text)*)) };
}

macro_rules! eprintln {
    ($($text:tt)*) => { $crate::output::complain(format_args!("{}\n", format_args!($($text)*))) };
}
