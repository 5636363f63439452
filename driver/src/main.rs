//! The `gcnc` command. See `gcnc --help`.
#![forbid(unsafe_code)]

#[macro_use]
mod output;
mod commands;

use std::process::ExitCode;

/// A compilation of a small kernel makes a thousand small and middling allocations that live through one
/// step; glibc's allocator took a third of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A panic is a defect that the pipeline catches and reports with the function and the step; the hook's
    // own text would only come in between.
    gcnc::settle_process();
    std::panic::set_hook(Box::new(|_| {}));
    let status = match commands::main(std::env::args_os().collect()) {
        commands::status::OK if output::is_lost() => commands::status::REFUSED,
        status => status,
    };
    // Freeing a large module takes time and serves nobody.
    std::process::exit(status)
}
