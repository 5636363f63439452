//! The first compilations of a process, on many threads at once: what is made once is made by one of them while others look at it.
//! A test of its own, so that nothing was made before. `scripts/sanitize thread` runs it under ThreadSanitizer.

mod generated;

use gcnc::Compiler;
use generated::module;
use std::sync::Barrier;

#[test]
fn sixty_four_threads_compile_first() {
    let barrier = Barrier::new(64);
    let compile = |seed: u32| {
        let text = module(seed, 40 + seed * 3);
        barrier.wait();
        Compiler::new("gfx900").unwrap().compile(&text).unwrap().bytes
    };
    let made: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..64)
            .map(|seed| {
                scope.spawn({
                    let compile = &compile;
                    move || compile(seed)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let compiler = Compiler::new("gfx900").unwrap();
    for (seed, bytes) in (0..).zip(&made) {
        assert!(compiler.compile(&module(seed, 40 + seed * 3)).unwrap().bytes == *bytes, "module {seed}");
    }
}
