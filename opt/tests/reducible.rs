//! Any graph becomes reducible and means the same.

#[path = "common/interp.rs"]
mod interp;

use interp::Run;
use mir::ir::*;
use opt::reducible::{is_reducible, make_reducible};
use proptest::prelude::*;
use smallvec::SmallVec;

/// A kernel of `edges.len()` blocks after the entry. Each gets a number and the steps left, mixes its own
/// number in and goes on by the number's bits; at the end, or without steps left, the number is stored.
fn program(edges: &[(usize, usize)]) -> Function {
    let mut f = Function::new("f", CallConv::Kernel, Type::Void);
    let entry = f.add_block();
    let blocks: Vec<Block> = edges.iter().map(|_| f.add_block()).collect();
    let end = f.add_block();
    let params: Vec<[Value; 2]> =
        blocks.iter().map(|&b| [f.add_block_param(b, Type::I32), f.add_block_param(b, Type::I32)]).collect();
    let result = f.add_block_param(end, Type::I32);
    let (seed, steps) = (f.int(Type::I32, 0x1357_9bdf), f.int(Type::I32, 200));
    let first = BlockCall { block: blocks[0], args: SmallVec::from_slice(&[seed, steps]) };
    f.append(entry, InstKind::Jump { target: first }, Type::Void);
    for (i, &(a, b)) in edges.iter().enumerate() {
        let [number, left] = params[i];
        let binary = |f: &mut Function, op, a, b| {
            f.append(blocks[i], InstKind::Binary { op, args: [a, b] }, Type::I32).unwrap()
        };
        let (factor, own, one) =
            (f.int(Type::I32, 0x01_00_01_93), f.int(Type::I32, i as u64), f.int(Type::I32, 1));
        let mixed = binary(&mut f, BinaryOp::Mul, number, factor);
        let mixed = binary(&mut f, BinaryOp::Xor, mixed, own);
        let left = binary(&mut f, BinaryOp::Sub, left, one);
        let zero = f.int(Type::I32, 0);
        let done = InstKind::Icmp { predicate: IntPredicate::Eq, args: [left, zero] };
        let done = f.append(blocks[i], done, Type::I1).unwrap();
        let choose = f.add_block();
        let if_true = BlockCall { block: end, args: SmallVec::from_slice(&[mixed]) };
        let kind = InstKind::Branch { cond: done, if_true, if_false: BlockCall::to(choose) };
        f.append(blocks[i], kind, Type::Void);
        let sign = InstKind::Icmp { predicate: IntPredicate::Slt, args: [mixed, zero] };
        let sign = f.append(choose, sign, Type::I1).unwrap();
        let to = |target: usize| match blocks.get(target) {
            Some(&block) => BlockCall { block, args: SmallVec::from_slice(&[mixed, left]) },
            None => BlockCall { block: end, args: SmallVec::from_slice(&[mixed]) },
        };
        f.append(choose, InstKind::Branch { cond: sign, if_true: to(a), if_false: to(b) }, Type::Void);
    }
    let address = f.constant(Type::ptr(AddrSpace::GLOBAL), Const::Zero);
    let store = InstKind::Store { ptr: address, value: result, mem: MemAccess::plain(AddrSpace::GLOBAL, 2) };
    f.append(end, store, Type::Void);
    f.append(end, InstKind::Ret { value: None }, Type::Void);
    f
}

fn result(f: &Function) -> Vec<(u64, u8)> {
    let mut run = Run::new(f, &[]);
    run.execute();
    let mut stored: Vec<_> = run.stored.into_iter().collect();
    stored.sort_unstable();
    stored
}

#[test]
fn two_entries_get_one_guard() {
    // 0 -> {1, 2}, 1 <-> 2.
    let mut f = program(&[(1, 2), (2, 2), (1, 3)]);
    let before = (result(&f), f.layout.len());
    assert!(make_reducible(&mut f));
    assert!(is_reducible(&f));
    assert_eq!((result(&f), f.layout.len()), (before.0, before.1 + 1));
    assert!(!make_reducible(&mut f));
}

proptest! {
    #[test]
    fn any_graph_becomes_reducible_and_means_the_same(
        edges in prop::collection::vec((0usize..14, 0usize..14), 2..12)
    ) {
        let mut f = program(&edges);
        let before = result(&f);
        make_reducible(&mut f);
        prop_assert!(is_reducible(&f));
        let module = parse_module("", "test").unwrap();
        verify(&module, &f).unwrap();
        prop_assert_eq!(result(&f), before);
    }
}
