//! Schedules of small graphs, and the definition of dynamic instances checked on random ones.

use super::*;
use mir::analysis::Csr;
use std::collections::BTreeMap;

fn graph(nodes: usize, edges: &[(u32, u32)]) -> Csr {
    Csr::new(nodes, 0, |n, sink| sink.extend(edges.iter().filter(|e| e.0 == n).map(|e| e.1)))
}

/// Runs lanes, each along its list of blocks; what ran together, in order.
fn run(convergence: &Convergence, paths: &[Vec<u32>]) -> Vec<(u32, u64)> {
    let mut schedule = Schedule::new();
    schedule.arrive(convergence.start(), (1 << paths.len()) - 1);
    let mut at = vec![0; paths.len()];
    let mut ran = Vec::new();
    while let Some((position, mask)) = schedule.next() {
        ran.push((position.block(), mask));
        for lane in (0..paths.len()).filter(|l| mask >> l & 1 != 0) {
            assert_eq!(paths[lane][at[lane]], position.block());
            at[lane] += 1;
            if let Some(&next) = paths[lane].get(at[lane]) {
                schedule.arrive(convergence.advance(&position, next), 1 << lane);
            }
        }
    }
    assert!(paths.iter().zip(at).all(|(path, at)| path.len() == at));
    ran
}

#[test]
fn branches_meet_at_their_join() {
    let c = Convergence::new(&graph(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]));
    assert_eq!(run(&c, &[vec![0, 1, 3], vec![0, 2, 3]]), [(0, 3), (1, 1), (2, 2), (3, 3)]);
}

#[test]
fn lanes_that_leave_a_loop_early_wait_behind_it() {
    let c = Convergence::new(&graph(3, &[(0, 1), (1, 1), (1, 2)]));
    let ran = run(&c, &[vec![0, 1, 2], vec![0, 1, 1, 1, 2], vec![0, 1, 1, 2]]);
    assert_eq!(ran, [(0, 7), (1, 7), (1, 6), (1, 2), (2, 7)]);
}

#[test]
fn nest_with_a_shared_latch() {
    // 1 heads the outer loop, 2 the inner one; 3 is the latch of both.
    let c = Convergence::new(&graph(5, &[(0, 1), (1, 2), (2, 3), (3, 2), (3, 1), (3, 4)]));
    let ran = run(&c, &[vec![0, 1, 2, 3, 2, 3, 1, 2, 3, 4], vec![0, 1, 2, 3, 1, 2, 3, 2, 3, 4]]);
    // In round 0 of the outer loop lane 0 goes round the inner one; they meet in round 1.
    let want =
        [(0, 3), (1, 3), (2, 3), (3, 3), (2, 1), (3, 1), (1, 3), (2, 3), (3, 3), (2, 2), (3, 2), (4, 3)];
    assert_eq!(ran, want);
}

#[test]
fn exits_of_a_loop_run_once_all_have_left_it() {
    // Loop {1, 2}; 1 leaves to 3, 2 to 4, both go to 5.
    let c = Convergence::new(&graph(6, &[(0, 1), (1, 3), (1, 2), (2, 1), (2, 4), (3, 5), (4, 5)]));
    let ran = run(&c, &[vec![0, 1, 3, 5], vec![0, 1, 2, 4, 5], vec![0, 1, 2, 1, 3, 5]]);
    assert_eq!(ran[..5], [(0, 7), (1, 7), (2, 6), (1, 4), ran[4]]);
    assert!(ran.contains(&(3, 5)) && ran.contains(&(4, 2)));
    assert_eq!(ran.last(), Some(&(5, 7)));
}

#[test]
fn cycle_with_two_entries() {
    let c = Convergence::new(&graph(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)]));
    // 2 comes first in reverse post-order and is the header; whoever enters at 1 waits there for those who come through 2.
    let ran = run(&c, &[vec![0, 1, 2, 3], vec![0, 2, 1, 2, 3]]);
    assert_eq!(ran, [(0, 3), (2, 2), (1, 3), (2, 3), (3, 3)]);
}

fn random(rng: &mut fastrand::Rng, reducible: bool) -> Csr {
    loop {
        let nodes = rng.u32(2..12);
        let edges: Vec<Vec<u32>> =
            (0..nodes).map(|_| (0..rng.u32(0..3)).map(|_| rng.u32(0..nodes)).collect()).collect();
        let g = Csr::new(nodes as usize, 0, |n, sink| sink.extend_from_slice(&edges[n as usize]));
        let rpo = Order::reverse_post_order(&g);
        if !reducible || Loops::new(&g, &rpo, &Dominators::new(&g, &rpo)).is_reducible() {
            return g;
        }
    }
}

fn walk(g: &Csr, rng: &mut fastrand::Rng) -> Vec<u32> {
    let mut path = vec![0];
    for _ in 0..30 {
        let succs = g.succs(path[path.len() - 1]);
        if succs.is_empty() {
            break;
        }
        path.push(succs[rng.usize(0..succs.len())]);
    }
    path
}

#[test]
fn components_are_the_loops_of_reducible_graphs() {
    let mut rng = fastrand::Rng::with_seed(11);
    for _ in 0..3000 {
        let g = random(&mut rng, true);
        let a = Convergence::new(&g);
        let b = Convergence::of_components(&g, &Order::reverse_post_order(&g));
        let headers = |c: &Convergence, mut cycle: u32| {
            let mut list = Vec::new();
            while cycle != NONE {
                list.push(c.cycles[cycle as usize].header);
                cycle = c.cycles[cycle as usize].parent;
            }
            list
        };
        for n in (0..g.num_nodes()).filter(|&n| a.rank[n] != NONE) {
            assert_eq!(headers(&a, a.innermost[n]), headers(&b, b.innermost[n]), "{g:?}");
        }
        let paths: Vec<Vec<u32>> = (0..4).map(|_| walk(&g, &mut rng)).collect();
        let sorted = |mut ran: Vec<(u32, u64)>| {
            ran.sort_unstable();
            ran
        };
        assert_eq!(sorted(run(&a, &paths)), sorted(run(&b, &paths)));
    }
}

/// Every step goes forward, and every pair of lanes with equal positions ran together.
#[test]
fn each_dynamic_instance_runs_once() {
    let mut rng = fastrand::Rng::with_seed(12);
    for _ in 0..5000 {
        let g = random(&mut rng, false);
        let c = Convergence::new(&g);
        let paths: Vec<Vec<u32>> = (0..6).map(|_| walk(&g, &mut rng)).collect();
        let mut instances: BTreeMap<Position, u64> = BTreeMap::new();
        for (lane, path) in paths.iter().enumerate() {
            let mut position = c.start();
            for &next in &path[1..] {
                *instances.entry(position.clone()).or_default() |= 1 << lane;
                let after = c.advance(&position, next);
                assert!(after > position, "{g:?}: {path:?}");
                position = after;
            }
            *instances.entry(position).or_default() |= 1 << lane;
        }
        let want: Vec<(u32, u64)> = instances.into_iter().map(|(p, mask)| (p.block(), mask)).collect();
        assert_eq!(run(&c, &paths), want, "{g:?}");
    }
}

#[test]
fn deep_nests_do_not_recurse() {
    // Headers 0..n, each entering the next, and latches back out.
    let n = 3_000u32;
    let g = Csr::new(2 * n as usize, 0, |node, sink| {
        if node < n {
            sink.push(node + 1);
        } else {
            sink.push(2 * n - 1 - node);
            if node + 1 < 2 * n {
                sink.push(node + 1);
            }
        }
    });
    let c = Convergence::new(&g);
    assert_eq!(c.cycles.len(), n as usize);
    assert_eq!(c.start().rounds().count(), 1);
}
