//! Which IR blocks a program has, and where each has the variables from that live in SSA values.
//!
//! A variable gets a parameter where different values of it meet, and none where one value dominates: what is
//! defined in a loop and used behind it without a phi is a case of its own for code generation. Where
//! parameters go follows from a fixed point: the value of a variable at the start of a block is that at the
//! end of its predecessors as long as they agree, else the block's parameter. Cost: blocks times parameters.

use super::program::*;
use mir::ir::{Block as IrBlock, Value};

/// Where the value of a variable comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// The value at the end of a node that assigns it.
    Node(usize),
    /// The parameter of a node.
    Param(usize),
}

/// An IR block to be.
#[derive(Default)]
pub(super) struct Node {
    /// Successors, in the order of the terminator.
    pub(super) next: Vec<usize>,
    /// The variables that it assigns.
    pub(super) assigns: [bool; 6],
    /// Where the values at its start come from; `None` where nothing is known.
    pub(super) from: [Option<From>; 6],
    /// The block itself; absent where it cannot be reached.
    pub(super) ir: Option<IrBlock>,
    /// Its parameters.
    pub(super) params: [Option<Value>; 6],
    /// The values at its end.
    pub(super) out: [Option<Value>; 6],
}

/// The entry.
pub(super) const ENTRY: usize = 0;

/// The first IR block of `block`; the second, if there is one, is the next.
pub(super) fn head(block: u8) -> usize {
    1 + 2 * usize::from(block)
}

/// The IR blocks of a program: the entry, two for each block (the second without predecessors where it is not
/// needed), the exit.
pub(super) fn nodes(program: &Program) -> Vec<Node> {
    let exit = program.graph.exit();
    let mut nodes: Vec<Node> = (0..=head(exit)).map(|_| Node::default()).collect();
    nodes[ENTRY].next = vec![head(0)];
    nodes[ENTRY].assigns = [true; 6];
    for (block, code) in program.blocks.iter().enumerate() {
        let first = head(block as u8);
        let targets = program.graph.ends[block].targets().iter().map(|&to| head(to)).collect();
        let assign = |node: &mut Node, ops: &[Op]| {
            ops.iter().filter_map(Op::dst).for_each(|var| node.assigns[var as usize] = true);
        };
        if let Fuel::Exit { at } = code.fuel {
            let (before, behind) = code.ops.split_at(usize::from(at));
            nodes[first].next = vec![head(exit), first + 1];
            nodes[first + 1].next = targets;
            assign(&mut nodes[first], before);
            assign(&mut nodes[first + 1], behind);
        } else {
            nodes[first].next = targets;
            assign(&mut nodes[first], &code.ops);
        }
        if code.fuel != Fuel::Free {
            nodes[first].assigns[Var::Fuel as usize] = true;
        }
    }
    sources(program, &mut nodes);
    nodes
}

/// Finds where each node has the variables from that live in SSA values.
///
/// Values are handed on along edges until predecessors disagree somewhere. The first such node in the order
/// has a parameter, and all begins anew: what looked like two values further on may have been this one.
pub(super) fn sources(program: &Program, nodes: &mut [Node]) {
    let order = order(nodes);
    let mut preds = vec![Vec::new(); nodes.len()];
    for &node in &order {
        nodes[node].next.iter().for_each(|&next| preds[next].push(node));
    }
    for var in Var::ALL.map(|var| var as usize) {
        let home = program.homes[var];
        if home.is_memory() {
            continue;
        }
        // Heads of blocks and the exit have odd numbers.
        let mut params: Vec<bool> =
            (0..nodes.len()).map(|node| home == Home::Phis && node % 2 == 1).collect();
        'anew: loop {
            let mut from: Vec<Option<From>> =
                params.iter().enumerate().map(|(node, &param)| param.then_some(From::Param(node))).collect();
            let mut changed = true;
            while changed {
                changed = false;
                for &node in order.iter().filter(|&&node| !params[node]) {
                    let out =
                        |of: usize| if nodes[of].assigns[var] { Some(From::Node(of)) } else { from[of] };
                    let mut known = preds[node].iter().filter_map(|&pred| out(pred));
                    let first = known.next();
                    if known.any(|other| Some(other) != first) {
                        params[node] = true;
                        continue 'anew;
                    }
                    changed |= from[node] != first;
                    from[node] = first;
                }
            }
            from.into_iter().enumerate().for_each(|(node, from)| nodes[node].from[var] = from);
            break;
        }
    }
}

/// The nodes that can be reached, in reverse post-order.
pub(super) fn order(nodes: &[Node]) -> Vec<usize> {
    let mut seen = vec![false; nodes.len()];
    let mut order = Vec::new();
    let mut stack = vec![(ENTRY, 0)];
    seen[ENTRY] = true;
    while let Some((node, at)) = stack.pop() {
        match nodes[node].next.get(at) {
            Some(&next) => {
                stack.push((node, at + 1));
                if !std::mem::replace(&mut seen[next], true) {
                    stack.push((next, 0));
                }
            }
            None => order.push(node),
        }
    }
    order.reverse();
    order
}
