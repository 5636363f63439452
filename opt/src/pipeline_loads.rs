//! Loops ask for the next iteration's loads while they compute this one's.
//!
//! What a loop loads, it mostly waits for at once: the iteration before could have asked for it, but nothing moves between iterations. So a
//! load that all lanes share, whose address is known from the loop's variables, is made for the iteration to come:
//!
//! ```text
//! enter:  x = load p                         loop(p):      x = load p; work(x)
//!         → loop(p, x)                                     more? → loop(p + 16), else → behind
//! loop(p, x):  q = more ? p + 16 : p; y = load q         was
//!              work(x); more? → loop(q, y), else → behind
//! ```
//!
//! The last iteration loads once more what it has, so nothing is read that the loop would not read. What the loaded value is first used for goes
//! along where the rest of its operands comes from outside: its result takes the place of the loaded value, and no register is copied for both.
//!
//! Taken are plain loads of the header and the latch of innermost loops that are left at the latch alone, so that each iteration makes them: those
//! that no instruction of the loop may write, up to [`MAX_DWORDS`], where condition and addresses depend on no load ([`MAX_ADDRESS`] instructions).
//! Left alone are loops with less to do than a wait costs ([`MIN_WORK`]) and with so much that it hides latencies itself ([`MAX_SIZE`]), those that
//! lanes leave one by one (each lane would have to choose its address), those that do several iterations at a time already, and functions for size.
//!
//! Vector loads stay where they are: the choice of their address and the copy of what they load take the vector unit in each iteration, the last of them
//! is for nothing and still waited for, and other waves hide their latency. Of some 450 kernels none was faster for loading ahead, and 11 slower.
//!
//! Source of the idea: software pipelining, M. Lam, PLDI 1988, with two stages. Cost: linear.

use super::append::append_value;
use super::bits::{dwords, mask64, sext64};
use super::cfg::homes;
use super::fold::eval_binary;
use super::gvn::is_pure;
use super::inline::substitute;
use super::memory::{Flow, Memory, STOPS};
use cranelift_entity::SecondaryMap;
use mir::analysis::{Graph, Loop, Uniformity};
use mir::ir::*;
use mir::target::Target;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Dwords that are loaded ahead: so many more registers are alive.
const MAX_DWORDS: u32 = 4;
/// Instructions that compute an address from the loop's variables, and those that change these.
const MAX_ADDRESS: u32 = 6;
/// Instructions that compute what travels to the next iteration because loads that stay want it, too.
const MIN_KEPT: u32 = 2;
/// Instructions that depend on what is loaded. A choice and a copy or two are to be won back.
const MIN_WORK: usize = 8;
/// Instructions of a loop.
const MAX_SIZE: usize = 96;

/// A loop with one way in and one way back, which is left where it goes back and nowhere else.
struct Ring {
    number: Loop,
    header: Block,
    /// Where the loop goes back or ends; the header itself where the loop is one block.
    latch: Block,
    /// The only block that leads into it from outside.
    entering: Block,
    cond: Value,
    /// Whether the loop goes on where the condition holds.
    on_true: bool,
    /// Arguments of the way in and of the way back.
    first: SmallVec<[Value; 4]>,
    back: SmallVec<[Value; 4]>,
    /// What each iteration does: the instructions of the header and of the latch.
    body: Vec<Inst>,
}

/// What is done ahead in a loop.
struct Plan {
    /// Instructions that compute addresses, in order.
    addresses: Vec<Inst>,
    loads: Vec<Inst>,
    /// Elements of loaded values and the first uses, in order.
    uses: Vec<Inst>,
    /// The values that travel to the next iteration.
    carried: Vec<Value>,
}

/// How often each value is used, and by which instruction last.
type Uses = SecondaryMap<Value, (u32, Option<Inst>)>;

/// Loads ahead in the loops of `func`, which is legal IR of `module`.
pub fn pipeline(func: &mut Function, module: &Module, target: &Target) {
    if func.flags.intersects(FuncFlags::OPT_SIZE | FuncFlags::MIN_SIZE) {
        return;
    }
    let is_load = |inst: &Inst| matches!(func.insts[*inst].kind, InstKind::Load { .. });
    let mut flow = Flow::new(func);
    if flow.loops.is_empty() || !flow.loops.is_reducible() {
        return;
    }
    let mut innermost = vec![true; flow.loops.len()];
    for l in flow.loops.iter() {
        if let Some(parent) = flow.loops[l].parent {
            innermost[parent.index()] = false;
        }
    }
    let rings: Vec<Ring> = flow
        .loops
        .iter()
        .filter(|l| innermost[l.index()])
        .filter_map(|l| ring(func, &flow, l))
        .filter(|ring| ring.body.iter().any(is_load))
        .collect();
    if rings.is_empty() {
        return;
    }
    let homes = homes(func);
    let mut uses: Uses = SecondaryMap::with_capacity(func.values.len());
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            func.insts[inst].kind.for_each_value(|value| {
                let same = uses[value].1 == Some(inst);
                uses[value] = (uses[value].0 + u32::from(!same), Some(inst));
            });
        }
    }
    let memory = Memory::new(func, module, target);
    flow.note_writes(func, module, &memory);
    let uniformity = Uniformity::compute(func, target);
    let seen = Seen {
        func,
        module,
        flow: &flow,
        memory: &memory,
        uniformity: &uniformity,
        homes: &homes,
        uses: &uses,
    };
    let plans: Vec<(Ring, Plan)> = rings
        .into_iter()
        .filter_map(|ring| {
            let plan = seen.plan(&ring)?;
            Some((ring, plan))
        })
        .collect();
    let mut replaced: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut before: FxHashMap<Block, Block> = FxHashMap::default();
    for (ring, plan) in &plans {
        if let Some(new) = rotate(func, ring, plan, &mut replaced) {
            before.insert(ring.header, new);
        }
    }
    let layout = std::mem::take(&mut func.layout);
    func.layout = layout.into_iter().flat_map(|b| before.get(&b).copied().into_iter().chain([b])).collect();
    if !plans.is_empty() {
        substitute(func, &replaced);
    }
}

/// What the loop is, if it is one that can be changed.
fn ring(func: &Function, flow: &Flow, number: Loop) -> Option<Ring> {
    let data = &flow.loops[number];
    let [latch] = data.latches[..] else { return None };
    let (header_number, header, latch) = (data.header, Block::from_u32(data.header), Block::from_u32(latch));
    let mut outside =
        flow.graph.preds(header_number).iter().filter(|&&pred| !flow.loops.contains(number, pred));
    let (Some(&entering), None) = (outside.next(), outside.next()) else { return None };
    let entering = Block::from_u32(entering);
    if data.exits.iter().any(|&(from, _)| from != latch.as_u32())
        || func.blocks[header].unrolling == Unrolling::Never
    {
        return None;
    }
    let InstKind::Branch { cond, if_true, if_false } = &func.insts[func.terminator(latch)?].kind else {
        return None;
    };
    let on_true = if_true.block == header;
    if on_true == (if_false.block == header) {
        return None;
    }
    let mut size = 0;
    let start = flow.order.position(header_number)? as usize;
    for &block in &flow.order.blocks()[start..] {
        if !flow.loops.contains(number, block) {
            break;
        }
        size += func.blocks[Block::from_u32(block)].insts.len();
        if size > MAX_SIZE {
            return None;
        }
    }
    let entry = &func.insts[func.terminator(entering)?].kind;
    if !matches!(entry, InstKind::Jump { .. } | InstKind::Branch { .. }) {
        return None;
    }
    let mut ways = entry.targets().into_iter().filter(|call| call.block == header);
    let (Some(way), None) = (ways.next(), ways.next()) else { return None };
    let first = way.args.clone();
    let back = if on_true { if_true.args.clone() } else { if_false.args.clone() };
    let done_in = |block: Block| {
        let insts = &func.blocks[block].insts;
        insts[..insts.len().saturating_sub(1)].iter().copied()
    };
    let mut body: Vec<Inst> = done_in(header).collect();
    if latch != header {
        body.extend(done_in(latch));
    }
    Some(Ring { number, header, latch, entering, cond: *cond, on_true, first, back, body })
}

/// Whether a loaded value of type `ty`, and its elements, may be variables of a loop on every target.
fn is_carried(ty: Type) -> bool {
    let whole = |scalar: Scalar| matches!(scalar.bits(), 32 | 64);
    match ty {
        Type::Scalar(scalar) => whole(scalar) || ty.is_int(8) || ty.is_int(16),
        _ => ty.scalar().is_some_and(whole),
    }
}

/// Whether a load through an address that all lanes share is made once for all of them: by the scalar cache, dwords or parts of them that nobody
/// writes meanwhile, or from LDS, which sends one value to all lanes.
fn is_shared(mem: &MemAccess) -> bool {
    let unwritten = mem.space == AddrSpace::CONSTANT
        || mem.space == AddrSpace::GLOBAL && mem.flags.intersects(MemFlags::INVARIANT | MemFlags::NO_CLOBBER);
    mem.space == AddrSpace::LOCAL || unwritten && mem.align_log2 >= 2
}

/// What is known of the function before anything is changed.
struct Seen<'a> {
    func: &'a Function,
    module: &'a Module,
    flow: &'a Flow,
    memory: &'a Memory,
    uniformity: &'a Uniformity,
    homes: &'a SecondaryMap<Value, Option<Block>>,
    uses: &'a Uses,
}

impl Seen<'_> {
    fn plan(&self, ring: &Ring) -> Option<Plan> {
        let func = self.func;
        // Where lanes leave one by one, each would choose its own address.
        if self.uniformity.is_divergent_where_defined(ring.cond) {
            return None;
        }
        // What the loop computes without looking at memory, with the number of instructions.
        let mut early: FxHashMap<Value, u32> =
            func.blocks[ring.header].params.iter().map(|&param| (param, 0)).collect();
        let mut work = 0;
        for &inst in &ring.body {
            mir::interrupt::checkpoint();
            let data = &func.insts[inst];
            match (self.cost(ring, data, &early), data.result) {
                (Some(cost), Some(result)) => _ = early.insert(result, cost),
                _ => {
                    let none = matches!(data.kind, InstKind::ExtractElement { .. } | InstKind::Load { .. });
                    work += usize::from(!none);
                }
            }
        }
        if work < MIN_WORK || self.inside(ring, ring.cond) && !early.contains_key(&ring.cond) {
            return None;
        }
        let written = self.flow.written_in(ring.number);
        let (mut loads, mut room) = (Vec::new(), MAX_DWORDS);
        let mut needed: FxHashSet<Value> = FxHashSet::default();
        for &inst in &ring.body {
            let InstData { kind: InstKind::Load { ptr, mem }, ty, .. } = &func.insts[inst] else { continue };
            let unwritten = mem.space == AddrSpace::CONSTANT
                || mem.flags.contains(MemFlags::INVARIANT)
                || written >> self.memory.number(func, self.module, *ptr, mem) & 1 == 0;
            // What stops in an iteration does not load in the next one.
            let made = written & STOPS == 0 || mem.flags.contains(MemFlags::DEREFERENCEABLE);
            let near = early.get(ptr).is_some_and(|&cost| cost <= MAX_ADDRESS);
            let fits = is_carried(*ty) && dwords(*ty) <= room;
            let shared = is_shared(mem) && !self.uniformity.is_divergent_where_defined(*ptr);
            if mem.is_simple()
                && shared
                && unwritten
                && made
                && near
                && fits
                && self.moves(ring, *ptr, &early)
            {
                room -= dwords(*ty);
                loads.push(inst);
                needed.insert(*ptr);
            }
        }
        if loads.is_empty() {
            return None;
        }
        let mut addresses: Vec<Inst> = Vec::new();
        for &inst in ring.body.iter().rev() {
            if func.insts[inst].result.is_some_and(|result| needed.contains(&result)) {
                func.insts[inst].kind.for_each_value(|value| _ = needed.insert(value));
                addresses.push(inst);
            }
        }
        addresses.reverse();
        let (uses, mut carried) = self.first_uses(ring, &loads);
        let moved: Vec<Inst> = addresses.iter().chain(&loads).chain(&uses).copied().collect();
        carried.extend(self.still_wanted(&addresses, &moved, &early));
        Some(Plan { addresses, loads, uses, carried })
    }

    /// Values on the way to addresses that what is not `moved` wants, too, as addresses of later loads are: the iteration before has computed them.
    fn still_wanted(&self, addresses: &[Inst], moved: &[Inst], early: &FxHashMap<Value, u32>) -> Vec<Value> {
        let mut left: FxHashMap<Value, u32> = FxHashMap::default();
        for &inst in moved {
            let mut operands = SmallVec::<[Value; 4]>::new();
            self.func.insts[inst].kind.for_each_value(|value| operands.push(value));
            operands.sort_unstable();
            operands.dedup();
            for value in operands {
                let left = left.entry(value).or_insert(self.uses[value].0);
                *left = left.saturating_sub(1);
            }
        }
        // Products of 64 bits see which factors are extended; that takes an instruction at most.
        let is_extension = |inst: &&Inst| {
            matches!(self.func.insts[**inst].kind, InstKind::Cast { op: CastOp::SExt | CastOp::ZExt, .. })
        };
        let results = addresses.iter().filter(|inst| !is_extension(inst));
        results
            .filter_map(|&inst| self.func.insts[inst].result)
            .filter(|value| {
                let ty = self.func.ty(*value);
                left.get(value).is_some_and(|&left| left > 0)
                    && early.get(value).is_some_and(|&cost| cost >= MIN_KEPT)
                    && (ty.addr_space().is_some() || is_carried(ty))
            })
            .collect()
    }

    /// Whether `value` is computed in the loop.
    fn inside(&self, ring: &Ring, value: Value) -> bool {
        self.homes[value].is_some_and(|home| self.flow.loops.contains(ring.number, home.as_u32()))
    }

    /// The instructions that it takes to compute what depends on the loop's variables alone.
    fn cost(&self, ring: &Ring, data: &InstData, early: &FxHashMap<Value, u32>) -> Option<u32> {
        let takes = match data.kind {
            InstKind::Binary { .. } | InstKind::Icmp { .. } | InstKind::Select { .. } => 1,
            InstKind::PtrAdd { index, .. } => u32::from(index.is_some()),
            InstKind::Cast { .. } | InstKind::ExtractElement { .. } | InstKind::InsertElement { .. } => 0,
            _ => return None,
        };
        if !is_pure(data) {
            return None;
        }
        let mut sum = Some(takes);
        data.kind.for_each_value(|value| {
            let cost = if self.inside(ring, value) { early.get(&value).copied() } else { Some(0) };
            sum = sum.zip(cost).map(|(sum, cost)| sum.saturating_add(cost));
        });
        sum
    }

    /// Whether the address varies between iterations, by variables whose next values are near.
    fn moves(&self, ring: &Ring, ptr: Value, early: &FxHashMap<Value, u32>) -> bool {
        let params = &self.func.blocks[ring.header].params;
        let (mut stack, mut found) = (vec![ptr], false);
        let mut seen: FxHashSet<Value> = FxHashSet::default();
        while let Some(value) = stack.pop() {
            if !self.inside(ring, value) || !seen.insert(value) {
                continue;
            }
            match self.func.def_inst(value) {
                Some(inst) => self.func.insts[inst].kind.for_each_value(|value| stack.push(value)),
                None => {
                    let next = params.iter().position(|&param| param == value).map(|at| ring.back[at]);
                    let near = |next| match self.inside(ring, next) {
                        true => early.get(&next).is_some_and(|&cost| cost <= MAX_ADDRESS),
                        false => true,
                    };
                    let scalar = matches!(self.func.ty(value), Type::Scalar(_));
                    if !scalar || !next.is_some_and(near) {
                        return false;
                    }
                    found |= next != Some(value);
                }
            }
        }
        found
    }

    /// What is done with loaded values at once, and the values that travel.
    fn first_uses(&self, ring: &Ring, loads: &[Inst]) -> (Vec<Inst>, Vec<Value>) {
        let func = self.func;
        let insts = &ring.body;
        let mut loaded: FxHashSet<Value> = FxHashSet::default();
        // Values that some user wants as they are.
        let mut whole: FxHashSet<Value> = FxHashSet::default();
        loaded.extend(loads.iter().filter_map(|&inst| func.insts[inst].result));
        let mut elements: FxHashMap<Value, u32> = FxHashMap::default();
        for &inst in insts {
            if let InstKind::ExtractElement { vector, index } = func.insts[inst].kind
                && func.as_int(index).is_some()
            {
                *elements.entry(vector).or_default() += 1;
            }
        }
        for &value in &loaded {
            if elements.get(&value) != Some(&self.uses[value].0) {
                whole.insert(value);
            }
        }
        let (mut taken, mut carried) = (Vec::new(), Vec::new());
        let mut apart: FxHashSet<Value> = FxHashSet::default();
        for &inst in insts {
            let data = &func.insts[inst];
            let Some(result) = data.result else { continue };
            if loaded.contains(&result) {
                if whole.contains(&result) && !self.goes_along(ring, result) {
                    carried.push(result);
                } else if whole.contains(&result) {
                    apart.insert(result);
                }
                continue;
            }
            let mut element = false;
            if let InstKind::ExtractElement { vector, .. } = data.kind {
                element = loaded.contains(&vector) && !whole.contains(&vector);
            }
            let mut first = false;
            data.kind.for_each_value(|value| first |= apart.contains(&value));
            // What changes the type alone is looked through.
            let free = element || first && matches!(data.kind, InstKind::Cast { op: CastOp::BitCast, .. });
            if free && self.goes_along(ring, result) {
                apart.insert(result);
            } else if element || first {
                carried.push(result);
            }
            if element || first {
                taken.push(inst);
            }
        }
        (taken, carried)
    }

    /// Whether the one user of a loaded value takes the rest from outside of the loop, and gives no more registers.
    fn goes_along(&self, ring: &Ring, value: Value) -> bool {
        let func = self.func;
        let (1, Some(user)) = self.uses[value] else { return false };
        let data = &func.insts[user];
        let Some(result) = data.result else { return false };
        // A number in a scalar register stays there; a float in a loop's variable is in a vector register anyway.
        let [from, to] = [value, result].map(|value| self.uniformity.is_divergent_where_defined(value));
        let float = matches!(func.ty(value).scalar(), Some(Scalar::Float(_)));
        let plain =
            matches!(data.kind, InstKind::Binary { .. } | InstKind::Unary { .. } | InstKind::Cast { .. });
        let mut outside = true;
        data.kind.for_each_value(|other| outside &= other == value || !self.inside(ring, other));
        plain
            && outside
            && is_pure(data)
            && [Some(ring.header), Some(ring.latch)].contains(&self.homes[result])
            && !data.ty.is_int(1)
            && dwords(data.ty) <= dwords(func.ty(value))
            && (from == to || float)
    }
}

/// Does what the plan says; the new block in front of the loop, if there is one.
fn rotate(
    func: &mut Function,
    ring: &Ring,
    plan: &Plan,
    replaced: &mut SecondaryMap<Value, Option<Value>>,
) -> Option<Block> {
    let params = func.blocks[ring.header].params.clone();
    let last = func.terminator(ring.latch)?;
    let entry = func.terminator(ring.entering)?;
    // In front of the loop.
    let mut out = Vec::new();
    let mut values: FxHashMap<Value, Value> =
        params.iter().copied().zip(ring.first.iter().copied()).collect();
    for &inst in plan.addresses.iter().chain(&plan.loads).chain(&plan.uses) {
        copy(func, inst, &mut values, &mut out);
    }
    let ready: Vec<Value> = plan.carried.iter().map(|value| of(&values, *value)).collect();
    let new = if let InstKind::Jump { .. } = func.insts[entry].kind {
        let insts = &mut func.blocks[ring.entering].insts;
        insts.splice(insts.len() - 1..insts.len() - 1, out);
        add_args(func, entry, ring.header, &ready);
        None
    } else {
        let new = func.blocks.push(BlockData { insts: out, ..BlockData::default() });
        let mut args = ring.first.clone();
        args.extend(ready);
        let target = BlockCall { block: ring.header, args };
        let jump = func.make_inst(InstKind::Jump { target }, Type::Void, InstFlags::empty());
        func.locs[jump] = func.locs[entry];
        func.blocks[new].insts.push(jump);
        for call in func.insts[entry].kind.targets_mut() {
            if call.block == ring.header {
                *call = BlockCall::to(new);
            }
        }
        Some(new)
    };
    // At the end of it.
    let mut values: FxHashMap<Value, Value> = FxHashMap::default();
    let mut used: FxHashSet<Value> = FxHashSet::default();
    for &inst in plan.addresses.iter().chain(&plan.loads) {
        func.insts[inst].kind.for_each_value(|value| _ = used.insert(value));
    }
    let mut out = Vec::new();
    for (at, (&param, &next)) in params.iter().zip(&ring.back).enumerate() {
        if !used.contains(&param) || param == next {
            continue;
        }
        let [if_true, if_false] = if ring.on_true { [next, param] } else { [param, next] };
        let kind = InstKind::Select { cond: ring.cond, if_true, if_false };
        let ty = func.ty(param);
        let chosen = append_value(func, last, kind, ty, &mut out);
        values.insert(param, chosen);
        // Where the loop goes back, the choice is the next value, which need not be kept beside it.
        for call in func.insts[last].kind.targets_mut() {
            if call.block == ring.header {
                call.args[at] = chosen;
            }
        }
    }
    for &inst in plan.addresses.iter().chain(&plan.loads).chain(&plan.uses) {
        copy(func, inst, &mut values, &mut out);
    }
    let next: Vec<Value> = plan.carried.iter().map(|value| of(&values, *value)).collect();
    add_args(func, last, ring.header, &next);
    for &value in &plan.carried {
        let ty = func.ty(value);
        replaced[value] = Some(func.add_block_param(ring.header, ty));
    }
    let gone: FxHashSet<Inst> = plan.loads.iter().chain(&plan.uses).copied().collect();
    for block in [ring.header, ring.latch] {
        func.blocks[block].insts.retain(|inst| !gone.contains(inst));
    }
    let insts = &mut func.blocks[ring.latch].insts;
    insts.splice(insts.len() - 1..insts.len() - 1, out);
    new
}

fn of(values: &FxHashMap<Value, Value>, value: Value) -> Value {
    values.get(&value).copied().unwrap_or(value)
}

/// Adds arguments to the edges of `inst` that lead to `block`.
fn add_args(func: &mut Function, inst: Inst, block: Block, more: &[Value]) {
    for call in func.insts[inst].kind.targets_mut() {
        if call.block == block {
            call.args.extend(more.iter().copied());
        }
    }
}

/// Appends a copy of `inst` with other operands, and notes its result.
fn copy(func: &mut Function, inst: Inst, values: &mut FxHashMap<Value, Value>, out: &mut Vec<Inst>) {
    mir::interrupt::checkpoint();
    let InstData { mut kind, ty, flags, fpmath_ulp_256, result } = func.insts[inst].clone();
    kind.for_each_value_mut(|value| *value = of(values, *value));
    let Some(result) = result else { return };
    if let Some(known) = constant(func, &mut kind, ty) {
        values.insert(result, known);
        return;
    }
    let new = func.make_inst(kind, ty, flags);
    func.insts[new].fpmath_ulp_256 = fpmath_ulp_256;
    func.locs[new] = func.locs[inst];
    if let Some(&aligns) = func.mem_aligns.get(&inst) {
        func.mem_aligns.insert(new, aligns);
    }
    out.push(new);
    if let Some(value) = func.insts[new].result {
        values.insert(result, value);
    }
}

/// The number that an instruction on numbers gives; a known index becomes part of the offset.
fn constant(func: &mut Function, kind: &mut InstKind, ty: Type) -> Option<Value> {
    match kind {
        // Whatever the other factor is.
        InstKind::Binary { op: BinaryOp::Mul, args }
            if args.iter().any(|&arg| func.as_int(arg) == Some(0)) =>
        {
            Some(func.int(ty, 0))
        }
        InstKind::Binary { op, args: [a, b] } => {
            let bits = ty.bits().filter(|&bits| bits <= 64 && ty.is_int(bits as u32))? as u32;
            let value = eval_binary(*op, func.as_int(*a)?, func.as_int(*b)?, bits)?;
            Some(func.int(ty, value))
        }
        InstKind::Cast { op, arg } => {
            let (from, to) = (func.ty(*arg).bits()? as u32, ty.bits()? as u32);
            let value = func.as_int(*arg)?;
            let value = match op {
                CastOp::ZExt => value,
                CastOp::SExt => mask64(sext64(value, from) as u64, to),
                CastOp::Trunc => mask64(value, to),
                _ => return None,
            };
            (to <= 64).then(|| func.int(ty, value))
        }
        InstKind::PtrAdd { index: place @ Some(_), scale, offset, .. } => {
            let index = (*place)?;
            let bits = func.ty(index).bits().filter(|&bits| bits <= 64)? as u32;
            let index = sext64(func.as_int(index)?, bits);
            let sum = index.checked_mul(*scale).and_then(|more| offset.checked_add(more))?;
            (*place, *scale, *offset) = (None, 0, sum);
            None
        }
        _ => None,
    }
}
