//! The reachable part of a function's control-flow graph, by position in reverse post-order.

use super::builder::Scope;
use cranelift_entity::{EntityRef, SecondaryMap};
use mir::analysis::{Csr, Dominators, Graph, Order};
use mir::ir::{Block, Function, Value};

/// How many operands each value is.
pub fn uses(func: &Function) -> SecondaryMap<Value, u32> {
    let mut uses = SecondaryMap::new();
    uses.resize(func.values.len());
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            func.insts[inst].kind.for_each_value(|value| uses[value] += 1);
        }
    }
    uses
}

/// The block in whose code each value is made, its parameters included; none for constants and parameters of the function.
pub fn homes(func: &Function) -> SecondaryMap<Value, Option<Block>> {
    let mut homes = SecondaryMap::new();
    homes.resize(func.values.len());
    for &block in &func.layout {
        let data = &func.blocks[block];
        let results = data.insts.iter().filter_map(|&inst| func.insts[inst].result);
        for value in data.params.iter().copied().chain(results) {
            homes[value] = Some(block);
        }
    }
    homes
}

/// Reachable blocks of a function, in order.
pub struct Cfg {
    /// Reachable blocks in reverse post-order, the entry first.
    pub rpo: Vec<Block>,
    /// The graph; its nodes are positions in `rpo`.
    pub graph: Csr,
}

impl Cfg {
    /// The graph of `func`, which has a body. Blocks count that the layout does not have yet.
    pub fn new(func: &Function) -> Self {
        let entry = func.entry().index() as u32;
        let blocks = Csr::new(func.blocks.len(), entry, |block, sink| {
            sink.extend(func.successors(Block::from_u32(block)).map(|succ| succ.index() as u32));
        });
        let order = Order::reverse_post_order(&blocks);
        let graph = Csr::new(order.blocks().len(), 0, |position, sink| {
            let succs = blocks.succs(order.blocks()[position as usize]);
            sink.extend(succs.iter().filter_map(|&succ| order.position(succ)));
        });
        Self { rpo: order.blocks().iter().copied().map(Block::from_u32).collect(), graph }
    }

    /// Positions of the predecessors of the block at `position`, one for each edge.
    pub fn preds(&self, position: usize) -> &[u32] {
        self.graph.preds(position as u32)
    }

    /// Intervals of the dominator tree by position: a block dominates another iff its interval contains the
    /// other's.
    pub fn scopes(&self) -> Vec<Scope> {
        let positions = self.rpo.len();
        let order = Order::from_blocks((0..positions as u32).collect(), positions);
        let dominators = Dominators::new(&self.graph, &order);
        (0..positions as u32).filter_map(|position| dominators.preorder_range(position)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::ir::{BlockCall, CallConv, InstKind, Type};

    #[test]
    fn diamond_in_a_loop() {
        let mut f = Function::new("f", CallConv::Kernel, Type::Void);
        let blocks: Vec<_> = (0..6).map(|_| f.add_block()).collect();
        let c = f.int(Type::I1, 1);
        let branch = |f: &mut Function, from: usize, to: &[usize]| {
            let kind = match *to {
                [] => InstKind::Ret { value: None },
                [t] => InstKind::Jump { target: BlockCall::to(blocks[t]) },
                [t, e, ..] => InstKind::Branch {
                    cond: c,
                    if_true: BlockCall::to(blocks[t]),
                    if_false: BlockCall::to(blocks[e]),
                },
            };
            f.append(blocks[from], kind, Type::Void);
        };
        for (from, to) in [(0, &[1][..]), (1, &[2, 3]), (2, &[4]), (3, &[4]), (4, &[1, 5]), (5, &[])] {
            branch(&mut f, from, to);
        }
        let cfg = Cfg::new(&f);
        let position = |b: usize| cfg.rpo.iter().position(|&x| x == blocks[b]).unwrap();
        let scopes = cfg.scopes();
        let scope = |b: usize| scopes[position(b)];
        let dominates = |a: usize, b: usize| scope(a).0 <= scope(b).0 && scope(b).1 <= scope(a).1;
        assert!(dominates(1, 5) && dominates(4, 5) && !dominates(2, 4) && !dominates(2, 3));
    }
}
