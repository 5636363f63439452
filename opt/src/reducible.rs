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
//! An edge gives arguments to one entry only, so entries share the guard's parameters. A variable of the
//! source has a parameter at each entry, and these are arguments of each other: parameters of the same *web*
//! share one, so that the variable stays in one register around the loop. With a parameter for each one of
//! each entry, a state machine of twenty states would carry every variable twenty times.
//!
//! # Cost
//!
//! A reducible function costs one search for loops. Otherwise blocks and edges times the depth of nested
//! cycles, and the number of arguments for the webs.
//!
//! Source: the loop nesting of P. Havlak, "Nesting of Reducible and Irreducible Loops", TOPLAS 1997, and the
//! guard blocks of LLVM's `FixIrreducible` (facts only).

use super::cfg::Cfg;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use mir::analysis::{Csr, Dominators, Loops, Order};
use mir::ir::*;
use rustc_hash::FxHashMap;
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
    let mut webs = Webs::new(func);
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
                _ => add_guard(func, &mut preds, &mut webs, &entries),
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

/// Values that are one variable: a parameter and what is given to it, again and again.
#[derive(Default)]
struct Webs {
    /// Another value of the same web, nearer to the one that stands for it.
    nearer: SecondaryMap<Value, PackedOption<Value>>,
}

impl Webs {
    /// The webs of what `func` has now.
    fn new(func: &Function) -> Self {
        let mut webs = Self::default();
        for &block in &func.layout {
            let Some(terminator) = func.terminator(block) else { continue };
            for target in func.insts[terminator].kind.targets() {
                for (&param, &arg) in func.blocks[target.block].params.iter().zip(&target.args) {
                    if !matches!(func.values[arg].def, ValueDef::Const(_)) {
                        webs.join(param, arg);
                    }
                }
            }
        }
        webs
    }

    /// The value that stands for the web of `value`.
    fn find(&mut self, mut value: Value) -> Value {
        while let Some(next) = self.nearer[value].expand() {
            self.nearer[value] = self.nearer[next].expand().unwrap_or(next).into();
            value = next;
        }
        value
    }

    fn join(&mut self, a: Value, b: Value) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.nearer[a] = b.into();
        }
    }
}

/// The parameters of a guard, and which of them each entry takes.
struct Slots {
    /// A parameter of the guard, with what is given where it is meant for another entry.
    params: Vec<(Value, Value)>,
    /// For each entry, the place among the guard's parameters of each of its own.
    places: Vec<SmallVec<[u32; 4]>>,
}

impl Slots {
    /// Adds to `guard` what `entries` need: one parameter for all of the same web and type, as many as one
    /// entry has at most.
    fn new(func: &mut Function, webs: &mut Webs, guard: Block, entries: &[Block]) -> Self {
        let mut slots = Self { params: Vec::new(), places: Vec::with_capacity(entries.len()) };
        let mut of_web: FxHashMap<(Value, Type), SmallVec<[u32; 1]>> = FxHashMap::default();
        let mut taken: FxHashMap<(Value, Type), usize> = FxHashMap::default();
        for &entry in entries {
            taken.clear();
            let mut places = SmallVec::new();
            for index in 0..func.blocks[entry].params.len() {
                let param = func.blocks[entry].params[index];
                let key = (webs.find(param), func.ty(param));
                let used = taken.entry(key).or_default();
                let of_web = of_web.entry(key).or_default();
                if *used == of_web.len() {
                    of_web.push(slots.params.len() as u32);
                    let poison = func.constant(key.1, Const::Poison);
                    let new = func.add_block_param(guard, key.1);
                    webs.join(new, param);
                    slots.params.push((new, poison));
                }
                places.push(of_web[*used]);
                *used += 1;
            }
            slots.places.push(places);
        }
        slots
    }

    /// What an entry is given by the guard.
    fn given(&self, entry: usize) -> SmallVec<[Value; 4]> {
        self.places[entry].iter().map(|&place| self.params[place as usize].0).collect()
    }
}

/// Leads all edges to `entries`, at least two blocks, through a new block that passes them on.
fn add_guard(func: &mut Function, preds: &mut Preds, webs: &mut Webs, entries: &[Block]) {
    let guard = func.add_block();
    let two = entries.len() == 2;
    let selector_type = if two { Type::I1 } else { Type::I32 };
    let selector = func.add_block_param(guard, selector_type);
    let slots = Slots::new(func, webs, guard, entries);
    let mut sources = SmallVec::new();
    for (number, (&entry, places)) in entries.iter().zip(&slots.places).enumerate() {
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
                target.args.extend(slots.params.iter().map(|&(_, poison)| poison));
                for (&place, value) in places.iter().zip(given) {
                    target.args[1 + place as usize] = value;
                }
            }
        }
    }
    preds[guard] = sources;
    let mut here = guard;
    for (number, &entry) in entries.iter().enumerate() {
        preds[entry].push(here);
        let target = BlockCall { block: entry, args: slots.given(number) };
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
        let args = if last_two { slots.given(number + 1) } else { SmallVec::new() };
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
