//! Cases for each way in which divergence spreads, and a check of joins against their definition.

use super::*;
use crate::ir::{BinaryOp, BlockCall, CallConv, InstFlags, IntPredicate, Type};
use smallvec::SmallVec;

fn target() -> Target {
    Target::new(Target::processor_by_name("gfx900").unwrap())
}

struct Build {
    f: Function,
}

impl Build {
    fn new(blocks: usize) -> (Self, Vec<Block>) {
        let mut f = Function::new("f", CallConv::Kernel, Type::Void);
        let blocks = (0..blocks).map(|_| f.add_block()).collect();
        (Self { f }, blocks)
    }

    fn id(&mut self, block: Block) -> Value {
        let kind = InstKind::Intrinsic { intrinsic: Intrinsic::WorkitemIdX, args: SmallVec::new() };
        self.f.append(block, kind, Type::I32).unwrap()
    }

    fn less(&mut self, block: Block, a: Value, b: Value) -> Value {
        self.f.append(block, InstKind::Icmp { predicate: IntPredicate::Ult, args: [a, b] }, Type::I1).unwrap()
    }

    fn add(&mut self, block: Block, a: Value, b: Value) -> Value {
        self.f.append(block, InstKind::Binary { op: BinaryOp::Add, args: [a, b] }, Type::I32).unwrap()
    }

    fn int(&mut self, n: u64) -> Value {
        self.f.int(Type::I32, n)
    }

    fn jump(&mut self, from: Block, to: Block, args: &[Value]) {
        let target = BlockCall { block: to, args: args.iter().copied().collect() };
        self.f.append(from, InstKind::Jump { target }, Type::Void);
    }

    fn branch(&mut self, from: Block, cond: Value, yes: (Block, &[Value]), no: (Block, &[Value])) {
        let edge =
            |(block, args): (Block, &[Value])| BlockCall { block, args: args.iter().copied().collect() };
        let kind = InstKind::Branch { cond, if_true: edge(yes), if_false: edge(no) };
        let inst = self.f.make_inst(kind, Type::Void, InstFlags::empty());
        self.f.blocks[from].insts.push(inst);
    }

    fn ret(&mut self, block: Block) {
        self.f.append(block, InstKind::Ret { value: None }, Type::Void);
    }

    fn compute(&self) -> Uniformity {
        Uniformity::compute(&self.f, &target())
    }
}

#[test]
fn join_of_a_divergent_branch() {
    let (mut b, k) = Build::new(4);
    let (one, two) = (b.int(1), b.int(2));
    let id = b.id(k[0]);
    let cond = b.less(k[0], id, two);
    b.branch(k[0], cond, (k[1], &[]), (k[2], &[]));
    b.jump(k[1], k[3], &[one]);
    b.jump(k[2], k[3], &[two]);
    let p = b.f.add_block_param(k[3], Type::I32);
    b.ret(k[3]);
    let u = b.compute();
    assert!(
        u.is_divergent_where_defined(id)
            && u.is_divergent_branch(k[0])
            && u.is_divergent_join(k[3])
            && u.is_divergent_where_defined(p)
    );
    assert!(!u.is_divergent_join(k[1]));
}

#[test]
fn required_sizes_make_ids_uniform() {
    for (size, uniform) in [([1, 1, 1], true), ([64, 1, 1], false)] {
        let (mut b, k) = Build::new(1);
        let id = b.id(k[0]);
        b.ret(k[0]);
        b.f.kernel.reqd_work_group_size = Some(size);
        assert_eq!(!b.compute().is_divergent_where_defined(id), uniform, "{size:?}");
    }
    let (mut b, k) = Build::new(1);
    let kind = InstKind::Intrinsic { intrinsic: Intrinsic::WorkitemIdY, args: SmallVec::new() };
    let y = b.f.append(k[0], kind, Type::I32).unwrap();
    b.ret(k[0]);
    for (size, uniform) in [([64, 4, 1], true), ([32, 4, 1], false), ([128, 2, 1], true)] {
        b.f.kernel.reqd_work_group_size = Some(size);
        assert_eq!(!b.compute().is_divergent_where_defined(y), uniform, "{size:?}");
    }
}

/// 0 → 1; loop {1, 2}: i counts; 1 leaves to 3 on a divergent or uniform condition.
fn counting_loop(divergent: bool) -> (Build, Vec<Block>, [Value; 4]) {
    let (mut b, k) = Build::new(4);
    let (zero, one) = (b.int(0), b.int(1));
    let id = b.id(k[0]);
    b.jump(k[0], k[1], &[zero]);
    let i = b.f.add_block_param(k[1], Type::I32);
    let bound = if divergent { id } else { one };
    let cond = b.less(k[1], i, bound);
    let exit_param = b.f.add_block_param(k[3], Type::I32);
    b.branch(k[1], cond, (k[2], &[]), (k[3], &[i]));
    let next = b.add(k[2], i, one);
    b.jump(k[2], k[1], &[next]);
    let after = b.add(k[3], i, one);
    b.ret(k[3]);
    (b, k, [i, next, after, exit_param])
}

#[test]
fn divergent_exit_makes_uses_outside_divergent() {
    let (b, k, [i, next, after, param]) = counting_loop(true);
    let u = b.compute();
    let l = u.loops().innermost(k[1].as_u32()).unwrap();
    assert!(u.has_divergent_exit(l) && u.is_divergent_branch(k[1]));
    assert!(
        !u.is_divergent_where_defined(i) && !u.is_divergent_where_defined(next),
        "the counter is uniform inside"
    );
    assert!(u.is_divergent_where_defined(after) && u.is_divergent_where_defined(param));
    assert!(u.is_temporally_divergent(i, k[3]) && !u.is_temporally_divergent(i, k[2]));
    let (b, _, values) = counting_loop(false);
    let u = b.compute();
    assert!(values.iter().all(|&v| !u.is_divergent_where_defined(v)));
}

/// Some lanes leave the inner loop {2, 3} to go round the outer {1, 2, 3}, the others go round the inner one or out of both.
#[test]
fn leaving_towards_the_outer_header_counts() {
    let (mut b, k) = Build::new(5);
    let (zero, one) = (b.int(0), b.int(1));
    let id = b.id(k[0]);
    b.jump(k[0], k[1], &[zero]);
    let i = b.f.add_block_param(k[1], Type::I32);
    b.jump(k[1], k[2], &[]);
    let next = b.add(k[2], i, one);
    let cond = b.less(k[2], id, one);
    b.branch(k[2], cond, (k[3], &[]), (k[1], &[next]));
    let uniform = b.less(k[3], i, one);
    b.branch(k[3], uniform, (k[4], &[]), (k[2], &[]));
    let after = b.add(k[4], i, one);
    b.ret(k[4]);
    let u = b.compute();
    let outer = u.loops().innermost(k[1].as_u32()).unwrap();
    let inner = u.loops().innermost(k[3].as_u32()).unwrap();
    assert!(u.has_divergent_exit(inner) && u.has_divergent_exit(outer));
    assert!(u.is_divergent_where_defined(after));
}

/// On random acyclic graphs, the joins of each branch are the blocks that two disjoint paths from it reach.
#[test]
fn joins_agree_with_brute_force() {
    use crate::analysis::Graph;
    let mut rng = fastrand::Rng::with_seed(99);
    let mut below = |n: u32| rng.u32(..n);
    for _ in 0..1500 {
        let n = 4 + below(9);
        let succs: Vec<Vec<u32>> = (0..n)
            .map(|b| {
                if b + 1 == n { vec![] } else { (0..2).map(|_| b + 1 + below((n - b - 1).min(4))).collect() }
            })
            .collect();
        let graph = Csr::new(n as usize, 0, |b, sink| sink.extend_from_slice(&succs[b as usize]));
        let rpo = Order::reverse_post_order(&graph);
        let loops = Loops::new(&graph, &rpo, &Dominators::new(&graph, &rpo));
        for branch in (0..n).filter(|&b| rpo.contains(b)) {
            let mut joins: Vec<u32> = Joins::new(&graph, &loops, &rpo)
                .of_branch(branch)
                .into_iter()
                .filter_map(|o| if let Outcome::Join(b) = o { Some(b) } else { None })
                .collect();
            joins.sort_unstable();
            joins.dedup();
            let expected: Vec<u32> = (0..n).filter(|&j| disjoint_paths(&graph, branch, j)).collect();
            assert_eq!(joins, expected, "from {branch} in {graph:?}");
        }
        fn disjoint_paths(g: &Csr, from: u32, to: u32) -> bool {
            let [a, b] = g.succs(from) else { return false };
            // By Menger: no single block other than `to` cuts all paths, counting edges out of `from` as apart.
            let reach = |start: u32, cut: Option<u32>| {
                let mut seen = vec![false; g.num_nodes()];
                let mut stack = vec![start];
                while let Some(n) = stack.pop() {
                    if Some(n) == cut || std::mem::replace(&mut seen[n as usize], true) || n == to {
                        continue;
                    }
                    stack.extend_from_slice(g.succs(n));
                }
                seen[to as usize] && Some(to) != cut
            };
            reach(*a, None)
                && reach(*b, None)
                && (0..g.num_nodes() as u32)
                    .filter(|&c| c != to)
                    .all(|c| reach(*a, Some(c)) || reach(*b, Some(c)))
        }
    }
}

#[test]
fn a_long_chain_of_early_exits_is_quick() {
    let n = 10_000;
    let (mut b, k) = Build::new(n);
    let id = b.id(k[0]);
    for i in 0..n - 1 {
        let bound = b.int(i as u64);
        let cond = b.less(k[i], id, bound);
        b.branch(k[i], cond, (k[n - 1], &[]), (k[i + 1], &[]));
    }
    b.ret(k[n - 1]);
    let u = b.compute();
    assert!(u.is_divergent_branch(k[n - 2]) && u.is_divergent_join(k[n - 1]));
}

/// On random programs with loops, the sweep and lists of users find the same.
#[test]
fn the_sweep_agrees_with_lists_of_users() {
    let target = target();
    let mut rng = fastrand::Rng::with_seed(7);
    let mut exits = 0;
    for round in 0..3000 {
        let n = 4 + rng.usize(..8);
        let (mut b, k) = Build::new(n);
        let params: Vec<Value> = k[1..].iter().map(|&block| b.f.add_block_param(block, Type::I32)).collect();
        let id = b.id(k[0]);
        let one = b.int(1);
        // What each block has of its own.
        let mut own: Vec<Vec<Value>> = vec![vec![id, one]];
        own.extend(params.iter().map(|&param| vec![param]));
        for i in 0..n {
            let other = if rng.u8(..3) == 0 { one } else { own[i][0] };
            let mine = if i == 0 && rng.bool() { one } else { own[i][0] };
            let sum = b.add(k[i], mine, other);
            own[i].push(sum);
            if i + 1 == n {
                b.ret(k[i]);
                continue;
            }
            let forward = i + 1 + rng.usize(..(n - i - 1).min(3));
            let second = if i > 0 && rng.u8(..3) == 0 { 1 + rng.usize(..i) } else { i + 1 };
            let pick = |rng: &mut fastrand::Rng| own[i][rng.usize(..own[i].len())];
            let (first_arg, second_arg, left) = (pick(&mut rng), pick(&mut rng), pick(&mut rng));
            let cond = b.less(k[i], left, one);
            b.branch(k[i], cond, (k[second], &[second_arg]), (k[forward], &[first_arg]));
        }
        // Uses of what a dominating block has, in loops and behind them.
        let graph = Csr::of_ir(&b.f);
        let rpo = Order::reverse_post_order(&graph);
        let dominators = Dominators::new(&graph, &rpo);
        for i in (1..n).filter(|&i| rpo.contains(i as u32)) {
            let Some(idom) = dominators.idom(i as u32) else { continue };
            let value = own[idom as usize][0];
            let kind = InstKind::Binary { op: BinaryOp::Add, args: [value, own[i][0]] };
            let inst = b.f.make_inst(kind, Type::I32, InstFlags::empty());
            b.f.blocks[k[i]].insts.insert(0, inst);
        }
        b.f.layout.retain(|block| rpo.contains(block.as_u32()));
        let whole = b.compute();
        let graph = Csr::of_ir(&b.f);
        let loops = Loops::new(&graph, &rpo, &dominators);
        let order = rpo.loops_contiguous(&loops);
        let mut pass = Pass::new(&b.f, &target, &graph, &loops, &order);
        pass.find_blocks();
        pass.by_users();
        let users = pass.out;
        assert_eq!(whole.divergent, users.divergent, "{round}: {:?}", b.f);
        assert_eq!(whole.divergent_branch, users.divergent_branch, "{round}");
        assert_eq!(whole.divergent_join, users.divergent_join, "{round}");
        assert_eq!(whole.divergent_exit, users.divergent_exit, "{round}");
        exits += users.divergent_exit.iter().filter(|&&exit| exit).count();
    }
    assert!(exits > 100, "{exits} loops with divergent exits");
}
