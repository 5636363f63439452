//! Memory of a host that compiles for days.

mod generated;

use gcnc::{CancelToken, Compiler};
use generated::module;

/// Resident bytes of this process.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// What a host does for days: good, refused, cancelled and limited compilations. `GCNC_COMPILATIONS=10000` is the whole test.
#[test]
fn memory_stays_flat() {
    let count: u32 = std::env::var("GCNC_COMPILATIONS").map_or(400, |count| count.parse().unwrap());
    let token = CancelToken::new();
    token.cancel();
    let limited = Compiler::builder("gfx900").memory_limit(1 << 10).build().unwrap();
    let compiler = Compiler::new("gfx900").unwrap();
    let run = |round: u32| {
        let text = module(round, 50);
        assert!(compiler.compile(&text).is_ok());
        assert!(compiler.job().cancelled_by(&token).compile(&text).is_err());
        assert!(limited.compile(&text).is_err());
        assert!(compiler.compile("define void @f() { %x = add i32 %x, 1 ret void }").is_err());
    };
    (0..50).for_each(run);
    let before = resident_bytes();
    (0..count).for_each(run);
    let grown = resident_bytes().saturating_sub(before);
    println!("{count} rounds: {grown} bytes more");
    // A test of its own process: a leak of one instruction a round would show.
    assert!(grown < (2 << 20), "{grown} bytes more after {count} rounds");
}
