//! What must hold for any bytes whatever: the entry of the fuzzer, and of a test with damaged objects.

use crate::dispatch::{Arg, Dispatch, run};
use crate::load::CodeObject;
use crate::memory::Memory;
use crate::report::Config;

/// Instructions that a kernel may execute.
const BUDGET: u64 = 2000;
/// Kernels of an object that are tried.
const KERNELS: usize = 4;

/// Loads `bytes` and runs the kernels; whether they load. Panics, hangs and unbounded memory are defects.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(object) = CodeObject::load(bytes) else { return false };
    for kernel in object.kernels().iter().take(KERNELS) {
        let mut memory = Memory::new();
        let buffer = memory.add_buffer("buffer", vec![0; 4096]);
        let explicit = kernel.metadata.iter().flat_map(|m| &m.args).filter(|a| !a.is_hidden());
        let args = explicit
            .map(|a| match a.value_kind.as_str() {
                "global_buffer" => Arg::Buffer(buffer),
                "dynamic_shared_pointer" => Arg::Local(256),
                _ => Arg::Value(vec![1; a.size.min(1 << 16) as usize]),
            })
            .collect();
        let dispatch = Dispatch {
            kernel: kernel.name.clone(),
            grid: [96, 1, 1],
            group: [64, 1, 1],
            args,
            ..Dispatch::default()
        };
        // Whatever it gives, it ends.
        let _ = run(&object, &mut memory, &dispatch, &Config { budget: BUDGET, ..Config::default() });
    }
    true
}
