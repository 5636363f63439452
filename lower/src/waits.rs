//! Insertion of waits (`s_waitcnt`; `s_waitcnt_vscnt` where there is one): no register is touched while a memory operation still writes (or, for exports, reads) it.
//!
//! # What is known at a point
//!
//! Every memory operation is an *event* of one or two *kinds*; a kind belongs to one counter, which counters there are says the target's
//! [`mir::target::WaitModel`]. Events of an in-order kind
//! finish oldest first, so the event with `a` younger ones of its kind is done once the counter is at most `a`: at most `a`
//! operations are then outstanding at all, hence at most the `a` youngest of the kind. Kinds in any order (scalar memory,
//! FLAT, messages, exports) are proven done by 0 alone. So the state is
//!
//! * for each (kind, register): the *age* of the youngest event that uses it, in younger events of the kind; absent where done;
//! * for each kind and each counter: an upper bound of outstanding events.
//!
//! Joins take the smallest age (the strictest wait) and the largest bounds; ages only fall and sets only grow, so the
//! iteration over the wave graph in reverse post-order ends after about as many rounds as loops nest. A bound that grows around a loop jumps
//! to its cap at once.
//!
//! # What is waited for
//!
//! A read or write of a register with an unfinished event. Exceptions: a vector memory load may overwrite the result of an earlier one of
//! its kind, they arrive in order; scalar registers as sources are read at issue and vector memory data too, except that
//! exports, GDS and (GFX6) stores read their VGPRs late, which expcnt counts. Everything outstanding is awaited before
//! `s_barrier` where the processor requires it (GFX6 to GFX9), and around calls, except for what stands in a counter of its own and touches no register (stores on GFX10):
//! a function may begin with such operations under way, and leave them to its caller, as LLVM's do.
//!
//! What a loop finds under way when it is entered, but never again, is waited for in front of it if it accesses that ([`loops`]).
//!
//! Waits that are in the code already (memory model) are obligations: they are merged with ours, and a counter that
//! cannot be that high any more is dropped from them. One wait for each counter at most stands before an instruction.
//!
//! Cost: linear in instructions and operands for each round; a block's boundary state holds unfinished registers alone.
//!
//! Sources: ISA manuals, "Data dependency resolution" and S_WAITCNT; AMDGPU usage guide, "Memory Model" for the order of FLAT.

mod loops;

use crate::SPARE;
use cranelift_entity::SecondaryMap;
use mir::analysis::{Csr, Order};
use mir::isa::{Access, Events, Opcode, Unit};
use mir::machine::{AsmSite, Block, Condition, Function, Inst, PReg, Terminator};
use mir::target::{Counter, EventKind, Features, Target, WaitCounts, WaitModel};
use std::collections::BinaryHeap;

const KINDS: usize = EventKind::COUNT;

/// A number for each counter, by its discriminant.
type ByCounter<T> = [T; Counter::COUNT];

/// Registers by [`PReg`] number, then one slot for LDS written by buffer loads.
const LDS_DMA: usize = 768;
const SLOTS: usize = 769;

/// Counts of a wait for everything.
const NOTHING_LEFT: ByCounter<u32> = [0; Counter::COUNT];

/// The same between functions: stores that are counted apart hold no register, and who needs them done says so (memory model).
fn between_functions(max: ByCounter<u32>) -> ByCounter<u32> {
    let mut counts = NOTHING_LEFT;
    counts[Counter::Vs as usize] = max[Counter::Vs as usize];
    counts
}

/// Bounds and ages beyond this say nothing more.
const CAP: u32 = 64;
/// Sequence numbers of a block start here, so that ages can be subtracted.
const BASE: u32 = 1 << 16;

/// State at a block's start: what is unfinished.
#[derive(Clone, Debug, Default)]
struct State {
    reached: bool,
    /// (kind × SLOTS + slot, age), sorted.
    entries: Vec<(u16, u8)>,
    kind_bound: [u8; KINDS],
    counter_bound: ByCounter<u8>,
}

impl State {
    /// Joins `other` into it; true when it changed.
    fn join(&mut self, other: &Self) -> bool {
        if !self.reached {
            *self = other.clone();
            return true;
        }
        let mut changed = false;
        let mut grow = |mine: &mut u8, theirs: u8| {
            if theirs > *mine {
                *mine = CAP as u8;
                changed = true;
            }
        };
        self.kind_bound.iter_mut().zip(other.kind_bound).for_each(|(mine, theirs)| grow(mine, theirs));
        self.counter_bound.iter_mut().zip(other.counter_bound).for_each(|(mine, theirs)| grow(mine, theirs));
        if other.entries.is_empty() {
            return changed;
        }
        let mut merged = Vec::with_capacity(self.entries.len() + other.entries.len());
        let (mut a, mut b) = (self.entries.iter().peekable(), other.entries.iter().peekable());
        loop {
            match (a.peek(), b.peek()) {
                (Some(&&x), Some(&&y)) if x.0 == y.0 => {
                    changed |= y.1 < x.1;
                    merged.push((x.0, x.1.min(y.1)));
                    a.next();
                    b.next();
                }
                (Some(&&x), Some(&&y)) if x.0 < y.0 => {
                    merged.push(x);
                    a.next();
                }
                (Some(&&x), None) => {
                    merged.push(x);
                    a.next();
                }
                (_, Some(&&y)) => {
                    changed = true;
                    merged.push(y);
                    b.next();
                }
                (None, None) => break,
            }
        }
        self.entries = merged;
        changed
    }
}

/// The state inside a block, in dense tables that are reused from block to block.
struct Tracker {
    /// Sequence number of the youngest event, by kind and slot; empty for kinds that have had none.
    last: [Vec<u32>; KINDS],
    /// Keys (kind × SLOTS + slot) that may be non-zero in `last`.
    touched: Vec<u16>,
    issued: [u32; KINDS],
    /// Events up to here are done.
    done: [u32; KINDS],
    counter_bound: ByCounter<u32>,
    model: &'static WaitModel,
    max: ByCounter<u32>,
    /// The kinds of which events may be unfinished, as bits: those of which more are issued than done.
    pending: u32,
    /// (counter, whether its events finish in order), by [`EventKind`]; kinds that the target lacks have no events.
    kinds: [(usize, bool); KINDS],
}

impl Tracker {
    fn new(target: &Target) -> Self {
        let model = target.waits();
        Self {
            last: std::array::from_fn(|_| Vec::new()),
            touched: Vec::new(),
            issued: [BASE; KINDS],
            done: [BASE; KINDS],
            counter_bound: [0; Counter::COUNT],
            model,
            max: model.max().by_counter().map(u32::from),
            pending: 0,
            kinds: EventKind::ALL.map(|kind| {
                model.kind(kind).map_or((0, true), |(counter, in_order)| (counter as usize, in_order))
            }),
        }
    }

    fn load(&mut self, state: &State) {
        for key in self.touched.drain(..) {
            self.last[usize::from(key) / SLOTS][usize::from(key) % SLOTS] = 0;
        }
        self.pending = 0;
        for kind in 0..KINDS {
            self.issued[kind] = BASE;
            self.done[kind] = BASE - u32::from(state.kind_bound[kind]);
            self.pending |= u32::from(state.kind_bound[kind] > 0) << kind;
        }
        self.counter_bound = state.counter_bound.map(u32::from);
        for &(key, age) in &state.entries {
            self.set_last(usize::from(key) / SLOTS, usize::from(key) % SLOTS, BASE - u32::from(age));
        }
    }

    fn save(&mut self) -> State {
        self.touched.sort_unstable();
        let mut entries = Vec::new();
        for &key in &self.touched {
            let kind = usize::from(key) / SLOTS;
            let last = self.last[kind][usize::from(key) % SLOTS];
            if last > self.done[kind] {
                entries.push((key, (self.issued[kind] - last).min(CAP - 1) as u8));
            }
        }
        let mut kind_bound = [0; KINDS];
        for (kind, bound) in kind_bound.iter_mut().enumerate() {
            *bound = (self.issued[kind] - self.done[kind]).min(CAP) as u8;
        }
        State {
            reached: true,
            entries,
            kind_bound,
            counter_bound: self.counter_bound.map(|b| b.min(CAP) as u8),
        }
    }

    /// Whether a register has an unfinished event of `kind`, and the counter value that proves it done.
    fn need(&self, kind: usize, slot: usize) -> Option<u32> {
        let last = *self.last[kind].get(slot)?;
        if last <= self.done[kind] {
            return None;
        }
        let (counter, in_order) = self.kinds[kind];
        // The counter's maximum in the immediate means "no wait".
        Some(if in_order { (self.issued[kind] - last).min(self.max[counter] - 1) } else { 0 })
    }

    fn event(&mut self, kind: EventKind) {
        let kind = kind as usize;
        self.issued[kind] += 1;
        self.pending |= 1 << kind;
        self.counter_bound[self.kinds[kind].0] += 1;
    }

    fn mark(&mut self, kind: EventKind, slot: usize) {
        self.set_last(kind as usize, slot, self.issued[kind as usize]);
    }

    fn set_last(&mut self, kind: usize, slot: usize, number: u32) {
        let last = &mut self.last[kind];
        if last.is_empty() {
            last.resize(SLOTS, 0);
        }
        if std::mem::replace(&mut last[slot], number) == 0 {
            self.touched.push((kind * SLOTS + slot) as u16);
        }
    }

    /// What a wait for `counters` proves.
    fn apply(&mut self, counters: ByCounter<u32>) {
        for (kind, &(counter, in_order)) in self.kinds.iter().enumerate() {
            let allowed = counters[counter];
            if allowed == 0 {
                self.done[kind] = self.issued[kind];
            } else if in_order && allowed < self.max[counter] {
                self.done[kind] = self.done[kind].max(self.issued[kind] - allowed);
            }
            if self.done[kind] >= self.issued[kind] {
                self.pending &= !(1 << kind);
            }
        }
        for (bound, allowed) in self.counter_bound.iter_mut().zip(counters) {
            *bound = (*bound).min(allowed);
        }
    }

    /// Notes that any number of operations may be counted in `counter`, where there is one.
    fn leave_unknown(&mut self, counter: Counter) {
        if self.max[counter as usize] > 0 {
            self.counter_bound[counter as usize] = CAP;
        }
    }

    /// Whether `access` of an instruction with `events` must wait for events of `kind` on the same register.
    fn conflicts(&self, kind: usize, access: &Access, events: &Events) -> bool {
        let (counter, in_order) = self.kinds[kind];
        if counter == Counter::Exp as usize {
            return access.write;
        }
        // Results of vector memory loads of a kind arrive in order. Of FLAT LLVM does not rely on it (`updateVMCntOnly`).
        let same_queue = counter == Counter::Vm as usize
            && in_order
            && events.counted.is_none()
            && events.kinds[0].is_some_and(|started| started as usize == kind);
        access.read || !same_queue
    }
}

/// Waits to insert in a block: (index of the instruction that they precede, or the block's length; what they wait for).
type Plan = Vec<(u32, WaitCounts)>;

/// Inserts waits so that no instruction touches a register in flight. Existing ones are merged.
///
/// Needs physical registers and the wave graph.
pub fn insert_waits(f: &mut Function, target: &Target) {
    let order = wave_rpo(f);
    let mut rank: SecondaryMap<Block, u32> = SecondaryMap::with_default(u32::MAX);
    for (i, &block) in order.iter().enumerate() {
        rank[block] = i as u32;
    }
    let mut tracker = Tracker::new(target);
    let mut early = SecondaryMap::new();
    let (mut plans, states) = solve(f, &order, &rank, &mut tracker, target, &early);
    for (block, counts) in loops::waits_before(f, &order, &rank, &states, &mut tracker, target) {
        early[block] = Some(counts);
    }
    if !early.is_empty() {
        plans = solve(f, &order, &rank, &mut tracker, target, &early).0;
    }
    for &block in &order {
        rewrite(&mut f.blocks[block].insts, &plans[block], target.waits());
    }
}

/// Waits for the end of blocks, besides what is needed there.
type Early = SecondaryMap<Block, Option<ByCounter<u32>>>;

/// What is to be inserted in each block, and what is unfinished at its start.
fn solve(
    f: &Function,
    order: &[Block],
    rank: &SecondaryMap<Block, u32>,
    tracker: &mut Tracker,
    target: &Target,
    early: &Early,
) -> (SecondaryMap<Block, Plan>, SecondaryMap<Block, State>) {
    let mut states: SecondaryMap<Block, State> = SecondaryMap::new();
    let mut plans: SecondaryMap<Block, Plan> = SecondaryMap::new();
    let mut queued: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut work = BinaryHeap::new();
    if let Some(&entry) = order.first() {
        // A caller may leave anything in flight; nothing is when a kernel starts.
        let bound = if f.call_conv.follows_others() { CAP as u8 } else { 0 };
        states[entry] = State { reached: true, counter_bound: [bound; Counter::COUNT], ..State::default() };
        queued[entry] = true;
        work.push(std::cmp::Reverse(0));
    }
    while let Some(std::cmp::Reverse(i)) = work.pop() {
        let block = order[i as usize];
        queued[block] = false;
        tracker.load(&states[block]);
        let is_callee_entry = i == 0 && f.call_conv.follows_others();
        let at_end = early.get(block).copied().flatten();
        plans[block] = visit(tracker, &f.blocks[block], &f.asm_sites, target, is_callee_entry, at_end);
        let out = tracker.save();
        for edge in &f.blocks[block].wave_succs {
            if states[edge.block].join(&out) && !std::mem::replace(&mut queued[edge.block], true) {
                work.push(std::cmp::Reverse(rank[edge.block]));
            }
        }
    }
    (plans, states)
}

/// Reverse post-order of the blocks that the wave can reach.
pub(crate) fn wave_rpo(f: &Function) -> Vec<Block> {
    let order = Order::reverse_post_order(&Csr::wave(f));
    order.blocks().iter().copied().map(Block::from_u32).collect()
}

/// Runs over a block from the tracker's state, and returns the waits it needs.
fn visit(
    tracker: &mut Tracker,
    data: &mir::machine::BlockData,
    sites: &[AsmSite],
    target: &Target,
    wait_all_first: bool,
    at_end: Option<ByCounter<u32>>,
) -> Plan {
    let model = tracker.model;
    let max = tracker.max;
    let mut plan = Plan::new();
    let mut required = if wait_all_first { between_functions(max) } else { max };
    let mut flush =
        |tracker: &mut Tracker, index: usize, required: &mut ByCounter<u32>, needed: ByCounter<u32>| {
            if needed == max && *required == max {
                return;
            }
            let mut counters = NOTHING_LEFT;
            for c in 0..Counter::COUNT {
                // An obligation that the bound already meets costs nothing.
                let obligation = if tracker.counter_bound[c] > required[c] { required[c] } else { max[c] };
                counters[c] = obligation.min(needed[c]);
            }
            *required = max;
            if counters != max {
                plan.push((index as u32, counters.map(|n| n as u8).into()));
                tracker.apply(counters);
            }
        };
    for (index, inst) in data.insts.iter().enumerate() {
        mir::interrupt::checkpoint();
        // Most of the time nothing is in flight, or events of one kind.
        let pending = if tracker.touched.is_empty() { 0 } else { tracker.pending };
        if pending == 0 && required == max && only_computes(inst) {
            continue;
        }
        if let Some(counts) = model.waited_for(inst) {
            for (required, count) in required.iter_mut().zip(counts.by_counter()) {
                *required = (*required).min(count.into());
            }
            continue;
        }
        let events = inst.counter_events(target);
        let mut needed = max;
        // A caller relies on nothing being in flight when it goes on.
        // Inside of opaque inline assembly anything may be accessed.
        let opaque = is_opaque(inst, sites);
        let barrier = inst.op == Opcode::S_BARRIER && !target.has(Features::BACK_OFF_BARRIER);
        if barrier || opaque {
            required = NOTHING_LEFT;
        } else if inst.op == Opcode::S_SETPC_B64 {
            required = stricter(required, between_functions(max));
        }
        if pending != 0 {
            inst.for_each_access(|access| {
                let mut kinds = pending;
                while kinds != 0 {
                    let kind = kinds.trailing_zeros() as usize;
                    kinds &= kinds - 1;
                    if tracker.conflicts(kind, &access, &events) {
                        access.range().for_each(|slot| require(tracker, kind, slot, &mut needed));
                    }
                }
            });
            if inst.reads_lds() {
                require(tracker, EventKind::Vmem as usize, LDS_DMA, &mut needed);
            }
            if let Some(kind) = events.counted
                && inst.facts().def_count == 0
            {
                await_before(tracker, kind, &mut needed);
            }
        }
        flush(tracker, index, &mut required, needed);
        record(tracker, inst, &events);
        if inst.op == Opcode::CALL {
            // The callee waits for all else when it starts, and before it returns; how many stores it leaves nobody knows.
            tracker.apply(between_functions(max));
            tracker.leave_unknown(Counter::Vs);
        }
        if opaque {
            // What it leaves in flight is its own business, but it counts.
            tracker.counter_bound = [CAP; Counter::COUNT];
        }
    }
    let mut needed = max;
    match data.term {
        Terminator::Uniform(Condition::Vccz | Condition::Vccnz) => {
            for slot in [PReg::VCC_LO, PReg::VCC_HI] {
                (0..KINDS).for_each(|kind| require(tracker, kind, usize::from(slot.0), &mut needed));
            }
        }
        Terminator::Uniform(Condition::Execz | Condition::Execnz) => {
            for slot in [PReg::EXEC_LO, PReg::EXEC_HI] {
                (0..KINDS).for_each(|kind| require(tracker, kind, usize::from(slot.0), &mut needed));
            }
        }
        // What follows relies on nothing being in flight.
        Terminator::Return => required = stricter(required, between_functions(max)),
        _ => {}
    }
    required = stricter(required, at_end.unwrap_or(max));
    flush(tracker, data.insts.len(), &mut required, needed);
    plan
}

/// Whether `inst` has a result of the scalar or the vector unit and is nothing besides: neither counted nor a wait, and nothing is to be over before it.
#[inline]
fn only_computes(inst: &Inst) -> bool {
    let facts = inst.facts();
    matches!(facts.unit, Unit::Valu | Unit::Salu) && facts.def_count > 0
}

/// What both waits together wait for.
fn stricter(a: ByCounter<u32>, b: ByCounter<u32>) -> ByCounter<u32> {
    std::array::from_fn(|i| a[i].min(b[i]))
}

/// Whether `inst` stands for inline assembly of which nobody knows what happens inside.
pub(crate) fn is_opaque(inst: &Inst, sites: &[AsmSite]) -> bool {
    let site = inst.asm_layout().and_then(|layout| sites.get(layout.site as usize));
    site.is_some_and(|site| site.opaque)
}

fn require(tracker: &Tracker, kind: usize, slot: usize, needed: &mut ByCounter<u32>) {
    if slot < SLOTS
        && let Some(count) = tracker.need(kind, slot)
    {
        let counter = tracker.kinds[kind].0;
        needed[counter] = needed[counter].min(count);
    }
}

/// Waits for what the counter of `kind` has of registers, before a store is counted there that finishes in any order: their users would wait for the store, too.
/// Where such a store is under way already, nothing is won.
fn await_before(tracker: &Tracker, kind: EventKind, needed: &mut ByCounter<u32>) {
    let counter = tracker.kinds[kind as usize].0;
    if tracker.pending >> (kind as usize) & 1 != 0 {
        return;
    }
    for &key in &tracker.touched {
        let (kind, slot) = (usize::from(key) / SLOTS, usize::from(key) % SLOTS);
        if tracker.kinds[kind].0 == counter {
            require(tracker, kind, slot, needed);
        }
    }
}

/// Notes the events that `inst` starts.
fn record(tracker: &mut Tracker, inst: &Inst, events: &Events) {
    if *events == Events::default() {
        return;
    }
    events.kinds.iter().flatten().for_each(|&kind| tracker.event(kind));
    events.sources.into_iter().chain(events.counted).for_each(|kind| tracker.event(kind));
    inst.for_each_access(|access| {
        if access.operand.is_none() {
            return;
        }
        if access.write {
            for &kind in events.kinds.iter().flatten() {
                access.range().for_each(|slot| tracker.mark(kind, slot));
            }
        }
        if access.read
            && access.first.is_vgpr()
            && let Some(kind) = events.sources
        {
            access.range().for_each(|slot| tracker.mark(kind, slot));
        }
    });
    if inst.loads_to_lds() {
        tracker.mark(EventKind::Vmem, LDS_DMA);
    }
}

/// Replaces all waits of a block by those of `plan`.
fn rewrite(insts: &mut Vec<Inst>, plan: &Plan, model: &WaitModel) {
    if plan.is_empty() && insts.iter().all(|inst| model.waited_for(inst).is_none()) {
        return;
    }
    let old = std::mem::take(insts);
    insts.reserve(old.len() + plan.len() + SPARE);
    let mut waits = plan.iter().peekable();
    let wait = |counts, loc| model.instructions(counts).map(move |inst| Inst { loc, ..inst });
    for (index, inst) in old.into_iter().enumerate() {
        mir::interrupt::checkpoint();
        if let Some(&(_, counts)) = waits.next_if(|&&(at, _)| at as usize == index) {
            insts.extend(wait(counts, inst.loc));
        }
        if model.waited_for(&inst).is_none() {
            insts.push(inst);
        }
    }
    insts.extend(waits.flat_map(|&(_, counts)| wait(counts, 0)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::machine::parse_function;
    use std::fmt::Write as _;

    /// Cost grows with the code, not with the square: twice the blocks, at most about twice the time.
    #[test]
    fn large_functions_are_quick() {
        const BLOCKS: usize = 5_000;
        let mut text = String::from("function f, framed\n");
        for i in 0..BLOCKS {
            let _ = writeln!(text, "mbb{i}:");
            for n in 0..8 {
                let _ = writeln!(text, "  v{n} = global_load_dword v[100:101], off");
                let _ = writeln!(text, "  global_store_dword v[100:101], v{}, off", 20 + n);
                let _ = writeln!(text, "  v40 = v_mov_b32 v{n}");
            }
            let _ = match i + 1 {
                BLOCKS => writeln!(text, "  wave end"),
                next => writeln!(text, "  wave scc1 -> mbb{next}, mbb{}", (i + 7).min(BLOCKS - 1)),
            };
        }
        let mut f = parse_function(&text, "test").expect("the text is right");
        let target = Target::new(Target::processor_by_name("gfx900").expect("a processor of the table"));
        let start = std::time::Instant::now();
        insert_waits(&mut f, &target);
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
        assert!(f.blocks.values().all(|data| data.insts.len() > 24));
    }

    /// On GFX10 stores are waited for apart from loads; elsewhere with them.
    #[test]
    fn stores_have_a_counter() {
        let text = "function f, framed\nmbb0:\n  \
                    v0 = global_load_dword v[100:101], off\n  \
                    global_store_dword v[100:101], v20, off\n  \
                    global_store_dword v[100:101], v21, off\n  \
                    v1 = v_mov_b32 v0\n  \
                    s_barrier\n  \
                    wave end\n";
        let waits = |name| {
            let target = Target::new(Target::processor_by_name(name).expect("a processor of the table"));
            let mut f = parse_function(text, "test").expect("the text is right");
            insert_waits(&mut f, &target);
            let block = f.layout[0];
            let waits = f.blocks[block].insts.iter().enumerate();
            let waits = waits.filter_map(|(at, inst)| Some((at, target.waits().waited_for(inst)?)));
            let of = |counts: WaitCounts, counter| {
                (counts[counter] < target.waits().max()[counter]).then(|| counts[counter])
            };
            waits
                .map(|(at, counts)| (at, of(counts, Counter::Vm), of(counts, Counter::Vs)))
                .collect::<Vec<_>>()
        };
        assert_eq!(waits("gfx900"), [(3, Some(2), None), (5, Some(0), None)]);
        // The load is the youngest of its counter; a barrier may be come to with stores under way.
        assert_eq!(waits("gfx1010"), [(3, Some(0), None)]);
    }
}
