//! Loops are widened in functions that stay small.

use mir::ir::*;
use opt::unroll::unroll;
use std::fmt::Write as _;

/// A kernel with `loops` sums of a buffer's elements, one behind the other.
fn sums(loops: u32) -> Function {
    let mut text = String::from(
        "define kernel void @k(v0: ptr addrspace(1), v1: i32, v2: i32) {\nblock0:\n  jump block1(v1, i32 0)\n",
    );
    for i in 0..loops {
        let (block, v) = (1 + 2 * i, 3 + 10 * i);
        let _ = write!(
            text,
            "block{block}(v{v}: i32, v{}: i32):\n  v{}: ptr addrspace(1) = ptradd inbounds v0, v{v} * 4 + 0\n  \
             v{}: i32 = load v{} addrspace(1) align 4\n  v{}: i32 = add v{}, v{}\n  v{}: i32 = add nsw v{v}, i32 1\n  \
             v{}: i1 = icmp slt v{}, v2\n  br v{}, block{block}(v{}, v{}), block{}(v{})\n\
             block{}(v{}: i32):\n  store v0, v{} addrspace(1) align 4\n  ",
            v + 1,
            v + 2,
            v + 3,
            v + 2,
            v + 4,
            v + 1,
            v + 3,
            v + 5,
            v + 6,
            v + 5,
            v + 6,
            v + 5,
            v + 4,
            block + 1,
            v + 4,
            block + 1,
            v + 7,
            v + 7
        );
        text += &if i + 1 < loops {
            format!("jump block{}(v1, i32 0)\n", block + 2)
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

#[test]
fn many_loops_are_left_alone() {
    // Four copies and the loop as it was.
    let mut few = sums(10);
    unroll(&mut few);
    assert_eq!(loads(&few), 50);
    let mut many = sums(100);
    unroll(&mut many);
    assert_eq!(loads(&many), 100);
}
