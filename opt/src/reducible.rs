//! Irreducible control flow made reducible.
//!
//! # Problem
//!
//! Linearisation, uniformity and allocation think in natural loops: a cycle is entered through its header
//! alone. `goto` into a loop, or jump threading before this compiler, leaves cycles with several entries.
//!
//! # Idea
//!
//! Each strongly connected component with several entries gets a *guard*: every edge to an entry, from
//! outside and from inside, leads to the guard instead, with a selector that says which entry was meant and
//! with that entry's arguments; the guard branches on. It is the only entry of a loop then. What is left of
//! the component without the guard, or without the header of a component that had one entry, is searched
//! again, until nothing cyclic is left.
//!
//! Values need no repair. A block reaches a use along a new path only through a guard and one of the entries,
//! and that entry could be entered from outside before; so what dominated the use then lies behind the entry
//! and dominates it still, or lies outside the component and dominates all of it.
//!
//! # Cost
//!
//! A reducible function costs one search for loops. Otherwise blocks and edges times the depth of nested
//! cycles; a guard has as many parameters as its entries together.
//!
//! Source: the loop nesting of P. Havlak, "Nesting of Reducible and Irreducible Loops", TOPLAS 1997, and the
//! guard blocks of LLVM's `FixIrreducible` (facts only).

use super::cfg::Cfg;
use cranelift_entity::SecondaryMap;
use mir::analysis::{Csr, Dominators, Loops, Order};
use mir::ir::*;
use smallvec::SmallVec;

/// Makes the control flow of `func` reducible. Whether anything changed.
pub fn make_reducible(func: &mut Function) -> bool {
    if func.layout.len() < 3 || is_reducible(func) {
        return false;
    }
    let mut preds: Preds = SecondaryMap::new();
    func.layout = Cfg::new(func).rpo;
    for &block in &func.layout {
        for succ in func.successors(block) {
            preds[succ].push(block);
        }
    }
    let mut search = Search::default();
    let mut regions = vec![func.layout.clone()];
    while let Some(region) = regions.pop() {
        for mut component in search.components(func, &region) {
            let inside = search.mark(&component);
            let entries: Vec<Block> = component
                .iter()
                .copied()
                .filter(|&b| preds[b].iter().any(|&p| search.mark[p] != inside))
                .collect();
            match entries[..] {
                [] => {}
                [header] => component.retain(|&b| b != header),
                _ => add_guard(func, &mut preds, &entries),
            }
            regions.push(component);
        }
    }
    func.layout = Cfg::new(func).rpo;
    true
}

/// Sources of the edges into a block, one for each edge.
type Preds = SecondaryMap<Block, SmallVec<[Block; 4]>>;

/// Whether every cycle of `func` has one entry.
pub fn is_reducible(func: &Function) -> bool {
    let graph = Csr::of_ir(func);
    let order = Order::reverse_post_order(&graph);
    let dominators = Dominators::new(&graph, &order);
    Loops::new(&graph, &order, &dominators).is_reducible()
}

/// Leads all edges to `entries`, at least two blocks, through a new block that passes them on.
fn add_guard(func: &mut Function, preds: &mut Preds, entries: &[Block]) {
    let guard = func.add_block();
    let two = entries.len() == 2;
    let selector_type = if two { Type::I1 } else { Type::I32 };
    let selector = func.add_block_param(guard, selector_type);
    let mut poison: Vec<Value> = Vec::new();
    let mut params: Vec<SmallVec<[Value; 4]>> = Vec::with_capacity(entries.len());
    for &entry in entries {
        let mut copies = SmallVec::new();
        for index in 0..func.blocks[entry].params.len() {
            let ty = func.ty(func.blocks[entry].params[index]);
            poison.push(func.constant(ty, Const::Poison));
            copies.push(func.add_block_param(guard, ty));
        }
        params.push(copies);
    }
    let mut sources = SmallVec::new();
    let mut first = 1;
    for (number, (&entry, params)) in entries.iter().zip(&params).enumerate() {
        // Two entries are told apart by whether the first one is meant.
        let select = func.int(selector_type, if two { 1 - number as u64 } else { number as u64 });
        let mut from = std::mem::take(&mut preds[entry]);
        sources.extend_from_slice(&from);
        from.sort_unstable();
        from.dedup();
        for source in from {
            let Some(terminator) = func.terminator(source) else { continue };
            for target in func.insts[terminator].kind.targets_mut() {
                if target.block != entry {
                    continue;
                }
                target.block = guard;
                let given = std::mem::take(&mut target.args);
                target.args.push(select);
                target.args.extend_from_slice(&poison);
                target.args[first..first + params.len()].copy_from_slice(&given);
            }
        }
        first += params.len();
    }
    preds[guard] = sources;
    let mut here = guard;
    for (number, (&entry, args)) in entries.iter().zip(&params).enumerate() {
        preds[entry].push(here);
        let target = BlockCall { block: entry, args: args.clone() };
        if number + 1 == entries.len() {
            func.append(here, InstKind::Jump { target }, Type::Void);
            break;
        }
        let last_two = number + 2 == entries.len();
        let cond = if two {
            selector
        } else {
            let wanted = func.int(selector_type, number as u64);
            let kind = InstKind::Icmp { predicate: IntPredicate::Eq, args: [selector, wanted] };
            match func.append(here, kind, Type::I1) {
                Some(equal) => equal,
                None => return,
            }
        };
        let next = if last_two { entries[number + 1] } else { func.add_block() };
        let args = if last_two { params[number + 1].clone() } else { SmallVec::new() };
        preds[next].push(here);
        let kind = InstKind::Branch { cond, if_true: target, if_false: BlockCall { block: next, args } };
        func.append(here, kind, Type::Void);
        if last_two {
            break;
        }
        here = next;
    }
}

/// Strongly connected components of parts of a function (Tarjan, without recursion).
#[derive(Default)]
struct Search {
    /// The number of the last set that a block was put into.
    mark: SecondaryMap<Block, u32>,
    marks: u32,
    /// Number in the order of visits, from 1; 0 for blocks not visited yet. Reset by each search for its
    /// region.
    visited: SecondaryMap<Block, u32>,
    /// Lowest number reached.
    low: SecondaryMap<Block, u32>,
    /// Whether the block is on the stack of open components.
    open: SecondaryMap<Block, bool>,
}

impl Search {
    /// Marks `blocks` with a number of their own, and returns it.
    fn mark(&mut self, blocks: &[Block]) -> u32 {
        self.marks += 1;
        for &block in blocks {
            self.mark[block] = self.marks;
        }
        self.marks
    }

    /// The components of the graph of `region` alone that contain a cycle, each in the order of `region`.
    fn components(&mut self, func: &Function, region: &[Block]) -> Vec<Vec<Block>> {
        let inside = self.mark(region);
        for &block in region {
            self.visited[block] = 0;
        }
        let mut components = Vec::new();
        let mut count = 0;
        let mut stack: Vec<Block> = Vec::new();
        let mut path: Vec<(Block, SmallVec<[Block; 2]>)> = Vec::new();
        for &root in region {
            if self.visited[root] != 0 {
                continue;
            }
            self.visit(func, root, inside, &mut count, &mut stack, &mut path);
            while let Some((block, todo)) = path.last_mut() {
                let block = *block;
                if let Some(succ) = todo.pop() {
                    if self.visited[succ] == 0 {
                        self.visit(func, succ, inside, &mut count, &mut stack, &mut path);
                    } else if self.open[succ] {
                        self.low[block] = self.low[block].min(self.visited[succ]);
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    self.low[*parent] = self.low[*parent].min(self.low[block]);
                }
                if self.low[block] == self.visited[block] {
                    let start = stack
                        .iter()
                        .rposition(|&b| b == block)
                        .expect("a block is on the stack until its component is known");
                    let component = stack.split_off(start);
                    component.iter().for_each(|&b| self.open[b] = false);
                    if component.len() > 1 || func.successors(block).any(|succ| succ == block) {
                        components.push(component);
                    }
                }
            }
        }
        for component in &mut components {
            component.sort_unstable_by_key(|&b| self.visited[b]);
        }
        components
    }

    fn visit(
        &mut self,
        func: &Function,
        block: Block,
        inside: u32,
        count: &mut u32,
        stack: &mut Vec<Block>,
        path: &mut Vec<(Block, SmallVec<[Block; 2]>)>,
    ) {
        *count += 1;
        self.visited[block] = *count;
        self.low[block] = *count;
        self.open[block] = true;
        stack.push(block);
        path.push((block, func.successors(block).filter(|&succ| self.mark[succ] == inside).collect()));
    }
}
