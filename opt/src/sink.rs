//! What only a branch needs is computed in the branch.
//!
//! A value whose users all stand where a branch may not lead is computed at the start of the deepest block that dominates them and that the
//! branch decides about. Programs have such values where several of their users are in the branch, which optimisers of IR leave, and behind
//! value numbering. A value whose users all stand behind a loop goes there, too, if many registers are free in the loop then. Nothing enters a
//! loop, where it would be computed again, nor leaves one. What moves:
//!
//! * pure instructions, but for those that ask which lanes are there, if what they read takes no more registers than what they give. Instructions
//!   that need each other are asked as one, so that a network of minima and maxima goes as a whole; many may take some registers more
//!   ([`WORTH_A_REGISTER`]). Structures go with the instructions that take them apart, in such groups alone: scaled operands of divisions;
//! * loads from tables, which nobody writes, among such a group ([`WORTH_A_LOAD`]): logarithms and powers look up their first bits;
//! * plain loads by addresses that differ between lanes, to the next block alone and if nothing in between may write what they read, with
//!   what computes their addresses. Scalar loads are wanted early.
//!
//! Source of the idea: LLVM's `MachineSinking`. Cost: linear; of the dominator tree at most [`MAX_STEPS`] blocks are walked for a value's user.

use super::bits::dwords;
use super::cfg::{homes, uses};
use super::gvn::is_pure;
use super::memory::{Flow, Memory, never_changes};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use mir::analysis::{Classes, Graph, Uniformity};
use mir::ir::*;
use mir::target::Target;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::cell::OnceCell;

/// Blocks of the dominator tree that are walked at a time.
const MAX_STEPS: usize = 64;

/// Headers of loops that are looked at between two blocks.
const MAX_HEADERS: usize = 4;

/// Instructions that a load passes in its block.
const MAX_BEHIND: usize = 128;

/// Instructions that are worth a register more up to the branch, where nobody may need them.
const WORTH_A_REGISTER: i64 = 12;
/// Instructions that go below a branch with a load from a table.
const WORTH_A_LOAD: i64 = 12;
/// Registers that a group may take more.
const MOST_REGISTERS: i64 = 4;
/// Registers that are worth a group behind a loop, where it is waited for: for one, kernels are slower by up to 7 % as often as they are faster by up to 3.
const BEHIND_A_LOOP: i64 = 8;

/// Sinks values of `func`, which is legal IR of `module`, into branches.
pub fn sink(func: &mut Function, module: &Module, target: &Target) {
    // A branch has two ways, and an end.
    if func.layout.len() < 3 {
        return;
    }
    let flow = Flow::new(func);
    if !flow.loops.is_reducible() {
        return;
    }
    let mut pass = Sinking {
        module,
        target,
        flow: &flow,
        memory: OnceCell::new(),
        uniformity: OnceCell::new(),
        homes: homes(func),
        uses: OnceCell::new(),
        members: FxHashMap::default(),
        users: SecondaryMap::with_capacity(func.values.len()),
        entry: func.entry(),
        groups: FxHashSet::default(),
        along: FxHashSet::default(),
        headers: headers(&flow),
        kept: SecondaryMap::new(),
        sunk: SecondaryMap::new(),
        moved: false,
    };
    for &number in flow.order.blocks().iter().rev() {
        pass.block(func, Block::from_u32(number));
    }
    let Sinking { mut kept, mut sunk, moved, .. } = pass;
    if moved {
        for &number in flow.order.blocks() {
            let block = Block::from_u32(number);
            let [sunk, kept] = [&mut sunk, &mut kept].map(|insts| std::mem::take(&mut insts[block]));
            func.blocks[block].insts = sunk.into_iter().rev().chain(kept.into_iter().rev()).collect();
        }
    }
}

/// What an instruction is that goes below its block if those that it belongs to go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One without effects.
    Pure,
    /// A load from a table, which nobody writes.
    Table,
    /// Another load that differs between lanes.
    Load,
}

/// An instruction that goes to the start of `to`, if registers allow.
struct Movable {
    inst: Inst,
    to: Place,
    kind: Kind,
}

/// A block that a value may go to.
#[derive(Clone, Copy)]
struct Place {
    block: Block,
    /// Whether a branch decides about it. Otherwise it is behind a loop, and always reached: only registers are won.
    decided: bool,
}

/// The places of loops' headers in the order of `flow`, from the first.
fn headers(flow: &Flow) -> Vec<u32> {
    let header = |l| flow.order.position(flow.loops[l].header).unwrap_or(u32::MAX);
    let mut headers: Vec<u32> = flow.loops.iter().map(header).collect();
    headers.sort_unstable();
    headers
}

/// Whether `data` gives the same wherever it stands.
fn is_movable(func: &Function, data: &InstData) -> bool {
    // Whether a pixel's lane still counts changes with kills.
    let asks_lanes =
        matches!(data.kind, InstKind::Intrinsic { .. }) && !func.is_kernel() && !func.call_conv.is_callable();
    !asks_lanes && is_pure(data) && !data.flags.contains(InstFlags::INVARIANT)
}

/// Whether `value` comes from constant memory, as a kernel's arguments do: most such values are in SGPRs.
fn is_argument(func: &Function, mut value: Value) -> bool {
    for _ in 0..4 {
        let Some(inst) = func.def_inst(value) else { return false };
        value = match func.insts[inst].kind {
            InstKind::Load { mem, .. } => return mem.space == AddrSpace::CONSTANT,
            InstKind::ExtractElement { vector, .. } => vector,
            InstKind::InsertElement { element, .. } => element,
            InstKind::Cast { arg, .. } => arg,
            _ => return false,
        };
    }
    false
}

struct Sinking<'a> {
    module: &'a Module,
    target: &'a Target,
    flow: &'a Flow,
    /// Once somebody asks.
    memory: OnceCell<Memory>,
    /// The same. The function is changed at the end.
    uniformity: OnceCell<Uniformity>,
    homes: SecondaryMap<Value, Option<Block>>,
    /// How often each value is used, once somebody asks.
    uses: OnceCell<SecondaryMap<Value, u32>>,
    /// The block that dominates all users of a value that were seen.
    users: SecondaryMap<Value, PackedOption<Block>>,
    /// Where no value goes.
    entry: Block,
    /// Instructions of the block that is visited which take fewer registers below it as a whole.
    groups: FxHashSet<Inst>,
    /// Addresses of the block that is visited which nothing keeps there if all that may go below goes, and loads that would go.
    along: FxHashSet<Value>,
    /// Places of loops' headers, from the first.
    headers: Vec<u32>,
    /// Results of the members of structures that pure instructions make: nothing but these reads them, right behind. A structure stays in one block.
    members: FxHashMap<Value, SmallVec<[Value; 2]>>,
    /// What stays in each block, and what goes to its start, from the end.
    kept: SecondaryMap<Block, Vec<Inst>>,
    sunk: SecondaryMap<Block, Vec<Inst>>,
    moved: bool,
}

impl Sinking<'_> {
    /// Goes over `block`, behind all users of its values, from its end.
    fn block(&mut self, func: &Function, block: Block) {
        let mut kept = Vec::with_capacity(func.blocks[block].insts.len());
        self.find_members(func, block);
        self.find_groups(func, block);
        for at in (0..func.blocks[block].insts.len()).rev() {
            mir::interrupt::checkpoint();
            let inst = func.blocks[block].insts[at];
            let to = self.place(func, inst, block, &kept);
            func.insts[inst].kind.for_each_value(|value| self.note(value, to.unwrap_or(block)));
            match to {
                Some(to) => {
                    self.sunk[to].push(inst);
                    self.moved = true;
                }
                None => kept.push(inst),
            }
        }
        self.kept[block] = kept;
    }

    /// Where `inst` of `home` goes, if it does. What stays behind it there is `behind`, from the end.
    fn place(&self, func: &Function, inst: Inst, home: Block, behind: &[Inst]) -> Option<Block> {
        let data = &func.insts[inst];
        if let InstKind::Load { .. } = data.kind {
            if self.groups.contains(&inst) {
                return self.deepest(func, data, home).map(|to| to.block);
            }
            return self.place_of_load(func, data, home, behind);
        }
        let to = self.place_of_pure(func, data, home)?;
        // A structure and its members are of one group.
        let alone =
            !matches!(data.ty, Type::Aggregate(_)) && !matches!(data.kind, InstKind::ExtractValue { .. });
        (self.groups.contains(&inst) || alone && self.saves_registers(func, data, to)).then_some(to.block)
    }

    /// Where the load `data` of `home` goes, if it does: to the next block. What stays behind it is `behind`, from the end.
    fn place_of_load(&self, func: &Function, data: &InstData, home: Block, behind: &[Inst]) -> Option<Block> {
        let InstKind::Load { mem, .. } = data.kind else { return None };
        let way = self.way(func, data, home)?;
        let &(next, decided) = way.last()?;
        (mem.is_simple()
            && decided
            && self.shares_loop(home, next)
            && self.may_load_behind(func, data, behind))
        .then_some(next)
    }

    /// Where `data` of `home` would go if no registers were counted; `None` for what is not pure.
    fn place_of_pure(&self, func: &Function, data: &InstData, home: Block) -> Option<Place> {
        let goes = match data.kind {
            InstKind::ExtractValue { aggregate, .. } => self.members.contains_key(&aggregate),
            _ if matches!(data.ty, Type::Aggregate(_)) => {
                data.result.is_some_and(|result| self.members.contains_key(&result))
            }
            _ => is_movable(func, data),
        };
        goes.then(|| self.deepest(func, data, home)).flatten()
    }

    /// Finds the structures of `block` that may go with their members.
    fn find_members(&mut self, func: &Function, block: Block) {
        self.members.clear();
        let insts = &func.blocks[block].insts;
        for (at, &inst) in insts.iter().enumerate() {
            let data = &func.insts[inst];
            let Some(result) =
                data.result.filter(|_| matches!(data.ty, Type::Aggregate(_)) && is_movable(func, data))
            else {
                continue;
            };
            let member = |&inst: &Inst| match func.insts[inst].kind {
                InstKind::ExtractValue { aggregate, .. } if aggregate == result => func.insts[inst].result,
                _ => None,
            };
            let members: SmallVec<[Value; 2]> = insts[at + 1..].iter().map_while(member).collect();
            if self.uses.get_or_init(|| uses(func))[result] as usize == members.len() {
                self.members.insert(result, members);
            }
        }
    }

    /// The block that dominates the users of what `data` gives that were seen; of a member of a structure, those of all of its members.
    fn users_of(&self, data: &InstData) -> Option<Block> {
        let InstKind::ExtractValue { aggregate, .. } = data.kind else {
            return self.users[data.result?].expand();
        };
        let users = self.members.get(&aggregate)?.iter().filter_map(|&member| self.users[member].expand());
        users.reduce(|a, b| self.common(a, b))
    }

    /// The deepest block below `home` for what `data` gives that is of no loop inside `home`'s, if a branch decides about it or it is behind a loop.
    fn deepest(&self, func: &Function, data: &InstData, home: Block) -> Option<Place> {
        let way = self.way(func, data, home)?;
        let deepest = way.iter().position(|&(block, _)| self.shares_loop(home, block))?;
        let (block, decided) = (way[deepest].0, way[deepest..].iter().any(|&(_, decided)| decided));
        (decided || self.is_behind_loop(home, block)).then_some(Place { block, decided })
    }

    /// Whether a loop stands between `home` and `to`, which are of the same loop.
    fn is_behind_loop(&self, home: Block, to: Block) -> bool {
        let place = |block: Block| self.flow.order.position(block.as_u32());
        let (Some(start), Some(end)) = (place(home), place(to)) else { return false };
        let first = self.headers.partition_point(|&header| header <= start);
        let between = self.headers[first..].iter().take_while(|&&header| header < end);
        let header = |&place: &u32| self.flow.order.blocks()[place as usize];
        between
            .take(MAX_HEADERS)
            .map(header)
            .any(|header| self.flow.dominators.dominates(home.as_u32(), header))
    }

    /// Whether `data` looks up a table, which nobody writes, at a place that `home` computes: it may go with that.
    fn looks_up(&self, func: &Function, data: &InstData, home: Block) -> bool {
        let InstKind::Load { ptr, mem } = data.kind else { return false };
        let kind = |value| func.def_inst(value).map(|inst| &func.insts[inst].kind);
        let Some(&InstKind::PtrAdd { index: Some(index), .. }) = kind(ptr) else { return false };
        let computed = !matches!(kind(index), Some(InstKind::Load { .. } | InstKind::ExtractElement { .. }));
        never_changes(&mem) && mem.is_simple() && computed && self.homes[index] == Some(home)
    }

    fn shares_loop(&self, a: Block, b: Block) -> bool {
        let innermost = |block: Block| self.flow.loops.innermost(block.as_u32());
        innermost(a) == innermost(b)
    }

    /// The blocks from the users of what `data` gives up to the one below `home`, and whether a branch decides about each.
    fn way(&self, func: &Function, data: &InstData, home: Block) -> Option<SmallVec<[(Block, bool); 8]>> {
        let users = self.users_of(data).filter(|&users| users != home)?;
        let mut way: SmallVec<[(Block, bool); 8]> = SmallVec::new();
        let mut at = users;
        while at != home {
            let up =
                Block::from_u32(self.flow.dominators.idom(at.as_u32()).filter(|_| way.len() < MAX_STEPS)?);
            way.push((at, self.is_decided(func, up, at)));
            at = up;
        }
        Some(way)
    }

    /// Finds what of `block` goes below it together: instructions of which the results that are wanted there take no fewer registers than what they read.
    fn find_groups(&mut self, func: &Function, block: Block) {
        self.groups.clear();
        self.along.clear();
        let below = |&next: &Block| self.flow.dominators.idom(next.as_u32()) == Some(block.as_u32());
        if !func.successors(block).any(|next| below(&next)) {
            return;
        }
        // As if nothing took registers. What was known before is put back.
        let mut changed: Vec<(Value, PackedOption<Block>)> = Vec::new();
        let mut movable: Vec<Movable> = Vec::new();
        let mut behind: Vec<Inst> = Vec::new();
        for &inst in func.blocks[block].insts.iter().rev() {
            mir::interrupt::checkpoint();
            let data = &func.insts[inst];
            let (kind, to) = if self.looks_up(func, data, block) {
                (Kind::Table, self.deepest(func, data, block).filter(|to| to.decided))
            } else if matches!(data.kind, InstKind::Load { .. }) {
                let to = self.place_of_load(func, data, block, &behind);
                (Kind::Load, to.map(|block| Place { block, decided: true }))
            } else {
                (Kind::Pure, self.place_of_pure(func, data, block))
            };
            match to {
                Some(to) => movable.push(Movable { inst, to, kind }),
                None => behind.push(inst),
            }
            data.kind.for_each_value(|value| {
                let was = self.users[value];
                self.note(value, to.map_or(block, |to| to.block));
                if self.users[value] != was {
                    changed.push((value, was));
                }
            });
        }
        let tables = |movable: &Movable| movable.kind == Kind::Table;
        if movable.iter().any(tables) {
            self.choose_groups(func, block, &movable, &changed, true);
            movable.retain(|movable| !tables(movable));
        }
        if !movable.is_empty() {
            self.choose_groups(func, block, &movable, &changed, false);
        }
        for (value, was) in changed.into_iter().rev() {
            self.users[value] = was;
        }
    }

    /// Chooses the groups among what is `movable`, with the place where each would go. What `changed` is in `users` as if all went, from the end of the block,
    /// with what was there. Either those with loads from tables or those without: such loads go with much else alone, as the branch would have to wait for
    /// them.
    fn choose_groups(
        &mut self,
        func: &Function,
        block: Block,
        movable: &[Movable],
        changed: &[(Value, PackedOption<Block>)],
        with_tables: bool,
    ) {
        let before: FxHashMap<Value, PackedOption<Block>> = changed.iter().rev().copied().collect();
        self.along.clear();
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            if matches!(data.kind, InstKind::PtrAdd { .. })
                && let Some(result) = data.result
                && self.users[result].expand() != Some(block)
            {
                self.along.insert(result);
            }
        }
        let loads = movable.iter().filter(|movable| movable.kind != Kind::Pure).map(|movable| &movable.inst);
        self.along.extend(loads.chain(&self.groups).filter_map(|&inst| func.insts[inst].result));
        let numbers: FxHashMap<Inst, u32> = movable.iter().map(|movable| movable.inst).zip(0..).collect();
        let mut classes = Classes::new(movable.len());
        for (&Movable { inst, .. }, number) in movable.iter().zip(0..) {
            func.insts[inst].kind.for_each_value(|value| {
                if let Some(other) = func.def_inst(value).and_then(|def| numbers.get(&def)) {
                    classes.join(number, *other);
                }
            });
        }
        // Registers that each group needs more at the block's end.
        let mut more = vec![0i64; movable.len()];
        let mut read: FxHashSet<(u32, Value)> = FxHashSet::default();
        for (&Movable { inst, to, .. }, number) in movable.iter().zip(0..) {
            let group = classes.leader(number);
            let data = &func.insts[inst];
            let was = |value: Value| before.get(&value).map_or(self.users[value], |&was| was).expand();
            if data.result.is_some_and(|result| was(result).is_some()) {
                more[group as usize] -= i64::from(dwords(data.ty));
            }
            data.kind.for_each_value(|value| {
                let def = func.def_inst(value);
                let inside = def.is_some_and(|def| numbers.contains_key(&def));
                if !inside
                    && !self.along.contains(&value)
                    && read.insert((group, value))
                    && !self.is_alive(func, value, was(value), to.block)
                {
                    more[group as usize] += i64::from(dwords(func.ty(value)));
                }
            });
        }
        let mut sizes = vec![0i64; movable.len()];
        let mut tables = vec![0i64; movable.len()];
        let mut decided = vec![true; movable.len()];
        for (movable, number) in movable.iter().zip(0..) {
            let group = classes.leader(number) as usize;
            sizes[group] += 1;
            decided[group] &= movable.to.decided;
            tables[group] += i64::from(movable.kind == Kind::Table);
        }
        for (&Movable { inst, kind, .. }, number) in movable.iter().zip(0..) {
            let group = classes.leader(number) as usize;
            let asked = with_tables == (tables[group] > 0) && sizes[group] >= tables[group] * WORTH_A_LOAD;
            let most = if decided[group] {
                (sizes[group] / WORTH_A_REGISTER).min(MOST_REGISTERS)
            } else {
                -BEHIND_A_LOOP
            };
            // Other loads are asked again when all behind them is known.
            if kind != Kind::Load && asked && more[group] <= most {
                self.groups.insert(inst);
            }
        }
    }

    /// Whether `data` is a vector load that gives the same behind all of `behind`.
    fn may_load_behind(&self, func: &Function, data: &InstData, behind: &[Inst]) -> bool {
        let InstKind::Load { ptr, mem } = data.kind else { return false };
        let uniformity = || self.uniformity.get_or_init(|| Uniformity::compute(func, self.target));
        if behind.len() > MAX_BEHIND || !uniformity().is_divergent_where_defined(ptr) {
            return false;
        }
        let effects = |&&inst: &&Inst| func.insts[inst].kind.has_side_effects();
        if never_changes(&mem) || !behind.iter().any(|inst| effects(&inst)) {
            return true;
        }
        let memory = self.memory.get_or_init(|| Memory::new(func, self.module, self.target));
        let root = memory.number(func, self.module, ptr, &mem);
        behind.iter().filter(effects).all(|&inst| memory.writes(func, self.module, inst) >> root & 1 == 0)
    }

    /// Whether what `data` reads takes no more registers up to `to` than its result does, and a branch decides about that. Which values differ between lanes
    /// is guessed: asking would take longer than all the rest.
    fn saves_registers(&self, func: &Function, data: &InstData, to: Place) -> bool {
        let mut more = -i64::from(dwords(data.ty));
        data.kind.for_each_value(|value| {
            let alive = self.is_alive(func, value, self.users[value].expand(), to.block);
            if !alive && !self.along.contains(&value) {
                more += i64::from(dwords(func.ty(value)));
            }
        });
        to.decided && more <= 0
    }

    /// Whether `value`, whose users stand where `users` dominates, is in a register at `to` anyway.
    fn is_alive(&self, func: &Function, value: Value, users: Option<Block>, to: Block) -> bool {
        func.as_const(value).is_some()
            || users.is_some_and(|users| self.leads_to(to, users))
            // Throughout a loop.
            || self.homes[value].is_none_or(|home| !self.shares_loop(home, to))
            || is_argument(func, value)
    }

    /// Whether `to` dominates `users`, or paths join behind it on the way there.
    fn leads_to(&self, to: Block, users: Block) -> bool {
        let dominators = &self.flow.dominators;
        let place = |block: u32| self.flow.order.position(block);
        let (to, mut at) = (to.as_u32(), users.as_u32());
        for _ in 0..MAX_STEPS {
            if dominators.dominates(to, at) {
                return true;
            }
            match dominators.idom(at) {
                Some(up) if dominators.dominates(up, to) => {
                    return self.flow.graph.preds(at).len() > 1 && place(at) > place(to);
                }
                Some(up) => at = up,
                None => return false,
            }
        }
        false
    }

    /// Whether the end of `up`, which dominates `block`, decides whether that is reached.
    fn is_decided(&self, func: &Function, up: Block, block: Block) -> bool {
        let alone = self.flow.graph.preds(block.as_u32()) == [up.as_u32()];
        alone && func.successors(up).any(|other| other != block) && !self.is_only_exit(up, block)
    }

    /// Whether a loop has no other way out than that from `up` to `block`: it is gone sooner or later.
    fn is_only_exit(&self, up: Block, block: Block) -> bool {
        let loops = &self.flow.loops;
        let left = loops.innermost(up.as_u32()).filter(|&left| !loops.contains(left, block.as_u32()));
        left.is_some_and(|left| loops[left].exits.len() == 1)
    }

    /// Notes a user of `value` in `block`.
    fn note(&mut self, value: Value, block: Block) {
        let Some(known) = self.users[value].expand() else {
            self.users[value] = block.into();
            return;
        };
        self.users[value] = self.common(known, block).into();
    }

    /// The block next above `a` and `b` in the dominator tree.
    fn common(&self, mut a: Block, mut b: Block) -> Block {
        let place = |block: Block| self.flow.order.position(block.as_u32());
        let mut steps = 0;
        while a != b {
            let lower = if place(a) > place(b) { &mut a } else { &mut b };
            match self.flow.dominators.idom(lower.as_u32()).filter(|_| steps < MAX_STEPS) {
                Some(up) => *lower = Block::from_u32(up),
                // Too far: what is computed stays.
                None => {
                    (a, b) = (self.entry, self.entry);
                }
            }
            steps += 1;
        }
        a
    }
}
