//! Loops are widened in functions that stay small.

use mir::ir::*;
use mir::target::Target;
use opt::unroll::{choose, unroll};
use std::fmt::Write as _;

/// A kernel with `loops` sums of a buffer's elements, one behind the other.
fn sums(loops: u32) -> Function {
    let mut text = String::from(
        "define kernel void @k(v0: ptr addrspace(1), v1: i32, v2: i32) {\nblock0:\n  jump block1(v1, i32 0)\n",
    );
    for i in 0..loops {
        let (block, exit) = (1 + 2 * i, 2 + 2 * i);
        let [n, sum, address, loaded, added, next, again, out] =
            std::array::from_fn(|k| 3 + 10 * i + k as u32);
        let _ = write!(
            text,
            "block{block}(v{n}: i32, v{sum}: i32):\n  \
             v{address}: ptr addrspace(1) = ptradd inbounds v0, v{n} * 4 + 0\n  \
             v{loaded}: i32 = load v{address} addrspace(1) align 4\n  v{added}: i32 = add v{sum}, v{loaded}\n  \
             v{next}: i32 = add nsw v{n}, i32 1\n  v{again}: i1 = icmp slt v{next}, v2\n  \
             br v{again}, block{block}(v{next}, v{added}), block{exit}(v{added})\n\
             block{exit}(v{out}: i32):\n  store v0, v{out} addrspace(1) align 4\n  "
        );
        text += &if i + 1 < loops {
            format!("jump block{}(v1, i32 0)\n", exit + 1)
        } else {
            "ret\n}\n".to_owned()
        };
    }
    let module = mir::ir::parse_module(&text, "sums").unwrap_or_else(|error| panic!("{error}"));
    let func = module.functions.values().next().cloned();
    func.expect("the text has a function")
}

fn loads(func: &Function) -> usize {
    let insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    insts.filter(|&&inst| matches!(func.insts[inst].kind, InstKind::Load { .. })).count()
}

fn widen(func: &mut Function) {
    let processor = Target::processor_by_name("gfx900").expect("a known processor");
    let target = Target::new(processor);
    choose(func, &target);
    unroll(func, &target);
}

#[test]
fn many_loops_are_left_alone() {
    // Four copies and the loop as it was.
    let mut few = sums(10);
    widen(&mut few);
    assert_eq!(loads(&few), 50);
    let mut many = sums(100);
    widen(&mut many);
    assert_eq!(loads(&many), 100);
}
