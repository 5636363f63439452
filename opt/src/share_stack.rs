//! Places of the stack that objects share, as their lifetimes do not overlap.
//!
//! An object is *live* at a point where it may hold something that is used later. Two kinds are told apart:
//!
//! * What is only accessed, and whose address goes nowhere else, is live from an access to the last one that can follow. It ends early,
//!   and starts anew, where markers (`lifetime.start`, `lifetime.end`) say so: what it held before is undefined.
//! * An object whose address is kept, passed or compared is live from the first such use, or access, behind `lifetime.start` to `lifetime.end`, and from
//!   `lifetime.start` on where its address may have been kept before. Without markers it shares nothing.
//!
//! Markers of an object that is accessed where it cannot have started are not believed. Two objects share a place if neither is
//! accessed, or starts, where the other one is live: only that can change what the other holds. Objects are given places from the
//! largest to the smallest, each the first that nobody has whom it meets. Those with one place become one object, so that all passes
//! behind know without being told that they are in the same memory; the markers have no more to say and go.
//!
//! Scratch is a lane's own, so what counts is the graph that a lane follows: that others of the wave wait elsewhere does not matter.
//!
//! Cost: the sets have at most [`MAX_OBJECTS`] members, the largest objects; with that bound, linear.

use crate::cfg::Cfg;
use crate::inline::substitute;
use cranelift_entity::SecondaryMap;
use mir::analysis::Graph;
use mir::ir::*;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Most objects of a function that are looked at.
const MAX_OBJECTS: usize = 512;

/// Largest object that is looked at, in bytes: more than scratch can hold.
const MAX_BYTES: u64 = 1 << 24;

/// A stack object of the entry block, of known size.
struct Object {
    inst: Inst,
    address: Value,
    bytes: u64,
    align_log2: u8,
    /// Whether its address is more than an address of accesses.
    escapes: bool,
    /// Whether markers say where it lives.
    marked: bool,
}

/// What an instruction does to an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Start,
    /// A start where somebody may have the address.
    StartKnown,
    End,
    Access,
    /// The address is kept, passed or compared.
    Escape,
}

/// Gives the stack objects of `func`, which has a body, their places, and takes the markers of lifetimes out.
pub fn share(func: &mut Function) {
    let objects = find_objects(func);
    if objects.len() > 1 {
        let cfg = Cfg::new(func);
        let mut sharing = Sharing::new(func, &cfg, objects);
        sharing.distrust_wrong_markers();
        sharing.find_known_addresses();
        let meets = sharing.meetings();
        let places = sharing.places(&meets);
        let Sharing { objects, invariant_loads, .. } = sharing;
        join(func, &objects, &places, &invariant_loads);
    }
    for at in 0..func.layout.len() {
        let block = func.layout[at];
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        insts.retain(|&inst| marker(&func.insts[inst].kind).is_none());
        func.blocks[block].insts = insts;
    }
}

/// The marker that an instruction is, and the address that it names.
fn marker(kind: &InstKind) -> Option<(Act, Option<Value>)> {
    match kind {
        InstKind::Intrinsic { intrinsic: Intrinsic::LifetimeStart, args } => {
            Some((Act::Start, args.last().copied()))
        }
        InstKind::Intrinsic { intrinsic: Intrinsic::LifetimeEnd, args } => {
            Some((Act::End, args.last().copied()))
        }
        _ => None,
    }
}

/// The largest objects, in the order of the entry block.
fn find_objects(func: &Function) -> Vec<Object> {
    let mut objects = Vec::new();
    for &inst in &func.blocks[func.entry()].insts {
        let data = &func.insts[inst];
        if let InstKind::Alloca { size_bytes, count, align_log2 } = data.kind
            && let Some(address) = data.result.filter(|_| data.ty == Type::ptr(AddrSpace::PRIVATE))
            && let Some(bytes) =
                count.map_or(Some(1), |count| func.as_int(count)).and_then(|n| size_bytes.checked_mul(n))
            && (1..=MAX_BYTES).contains(&bytes)
        {
            objects.push(Object { inst, address, bytes, align_log2, escapes: false, marked: false });
        }
    }
    if objects.len() > MAX_OBJECTS {
        let mut sizes: Vec<u64> = objects.iter().map(|object| object.bytes).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        // Of those of the size where the limit falls, the first ones.
        let limit = sizes[MAX_OBJECTS];
        let mut room = MAX_OBJECTS - sizes.iter().filter(|&&bytes| bytes > limit).count();
        objects.retain(|object| {
            let last = object.bytes == limit && room > 0;
            room -= usize::from(last);
            object.bytes > limit || last
        });
    }
    objects
}

/// Sets of objects, of `words` words each.
struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    fn new(count: usize, objects: usize) -> Self {
        let words = objects.div_ceil(64);
        Self { words, bits: vec![0; count * words] }
    }

    fn set(&self, index: usize) -> &[u64] {
        &self.bits[index * self.words..][..self.words]
    }

    fn set_mut(&mut self, index: usize) -> &mut [u64] {
        &mut self.bits[index * self.words..][..self.words]
    }
}

fn has(set: &[u64], object: u32) -> bool {
    set[object as usize / 64] >> (object % 64) & 1 != 0
}

fn put(set: &mut [u64], object: u32, member: bool) {
    let (word, bit) = (&mut set[object as usize / 64], 1 << (object % 64));
    *word = if member { *word | bit } else { *word & !bit };
}

struct Sharing<'a> {
    cfg: &'a Cfg,
    objects: Vec<Object>,
    /// What blocks, by position, do to objects, in order.
    acts: Vec<Vec<(u32, Act)>>,
    /// Objects that one instruction accesses.
    together: Vec<(u32, u32)>,
    /// Loads of what never changes, which is true of an object and not of its place.
    invariant_loads: Vec<(Inst, u32)>,
}

impl<'a> Sharing<'a> {
    /// Finds what `func` does with the objects.
    fn new(func: &Function, cfg: &'a Cfg, objects: Vec<Object>) -> Self {
        let mut this = Self {
            cfg,
            objects,
            acts: vec![Vec::new(); cfg.rpo.len()],
            together: Vec::new(),
            invariant_loads: Vec::new(),
        };
        // The object that an address is in. Definitions stand in front of uses in this order.
        let mut of: SecondaryMap<Value, Option<u32>> = SecondaryMap::new();
        for (index, object) in this.objects.iter().enumerate() {
            of[object.address] = Some(index as u32);
        }
        for (position, &block) in cfg.rpo.iter().enumerate() {
            for &inst in &func.blocks[block].insts {
                mir::interrupt::checkpoint();
                this.visit(func, inst, position, &mut of);
            }
        }
        this
    }

    fn visit(
        &mut self,
        func: &Function,
        inst: Inst,
        position: usize,
        of: &mut SecondaryMap<Value, Option<u32>>,
    ) {
        let data = &func.insts[inst];
        if let Some((act, address)) = marker(&data.kind) {
            let object = address.and_then(|address| of[address]);
            let whole = address.and_then(|address| func.stack_object(address));
            if let Some(object) = object {
                let object_data = &mut self.objects[object as usize];
                if whole == Some(object_data.inst) {
                    object_data.marked = true;
                    self.acts[position].push((object, act));
                } else {
                    object_data.escapes = true;
                }
            }
            return;
        }
        // Operands that are addresses of accesses, or of which an address comes.
        let mut addresses: SmallVec<[Value; 2]> = SmallVec::new();
        match &data.kind {
            InstKind::PtrAdd { base, .. } if matches!(data.ty, Type::Scalar(_)) => {
                addresses.push(*base);
                self.derive(data, *base, of);
            }
            InstKind::Cast { op: CastOp::AddrSpaceCast | CastOp::BitCast, arg }
                if matches!(data.ty, Type::Scalar(Scalar::Ptr(_))) =>
            {
                addresses.push(*arg);
                self.derive(data, *arg, of);
            }
            InstKind::Load { ptr, mem } => {
                addresses.push(*ptr);
                if let Some(object) = of[*ptr]
                    && mem.flags.intersects(MemFlags::INVARIANT | MemFlags::NO_CLOBBER)
                {
                    self.invariant_loads.push((inst, object));
                }
            }
            InstKind::Store { ptr, .. } | InstKind::AtomicRmw { ptr, .. } | InstKind::CmpXchg { ptr, .. } => {
                addresses.push(*ptr);
            }
            InstKind::Intrinsic {
                intrinsic:
                    Intrinsic::Memcpy
                    | Intrinsic::MemcpyInline
                    | Intrinsic::Memmove
                    | Intrinsic::Memset
                    | Intrinsic::MemsetInline,
                args,
            } => addresses.extend(args.iter().take(2).copied()),
            _ => {}
        }
        let accesses = match &data.kind {
            InstKind::Load { .. } => true,
            kind => kind.has_side_effects() && !kind.is_terminator(),
        };
        let mut unmatched = addresses;
        let mut accessed: SmallVec<[u32; 2]> = SmallVec::new();
        data.kind.for_each_value(|value| {
            let Some(object) = of[value] else { return };
            match unmatched.iter().position(|&address| address == value) {
                // The same value may be stored where it points to.
                Some(index) => {
                    unmatched.swap_remove(index);
                }
                None => {
                    self.objects[object as usize].escapes = true;
                    self.acts[position].push((object, Act::Escape));
                }
            }
            if accesses && !accessed.contains(&object) {
                accessed.push(object);
            }
        });
        self.acts[position].extend(accessed.iter().map(|&object| (object, Act::Access)));
        // Copies from object to object; what a call is given has been started before.
        if let [a, b] = accessed[..] {
            self.together.push((a, b));
        }
    }

    fn derive(&self, data: &InstData, base: Value, of: &mut SecondaryMap<Value, Option<u32>>) {
        if let Some(result) = data.result {
            of[result] = of[base];
        }
    }

    /// Forgets the markers of objects that are accessed where they cannot have started.
    fn distrust_wrong_markers(&mut self) {
        let started = self.flow(true, |object, act| match act {
            Act::Start | Act::StartKnown => Some(true),
            Act::End => Some(false),
            // What has no markers lives everywhere.
            Act::Access => (!object.marked).then_some(true),
            Act::Escape => None,
        });
        let mut state = vec![0; started.words];
        for (position, acts) in self.acts.iter().enumerate() {
            state.copy_from_slice(started.set(position));
            for &(object, act) in acts {
                match act {
                    Act::Start | Act::StartKnown => put(&mut state, object, true),
                    Act::End => put(&mut state, object, false),
                    Act::Escape => {}
                    Act::Access if has(&state, object) => {}
                    Act::Access => self.objects[object as usize].marked = false,
                }
            }
        }
    }

    /// Finds the starts of objects whose address somebody may have already, from an iteration before, say.
    fn find_known_addresses(&mut self) {
        if !self.objects.iter().any(|object| object.escapes && object.marked) {
            return;
        }
        let known = self.flow(true, |_, act| (act == Act::Escape).then_some(true));
        let mut state = vec![0; known.words];
        for (position, acts) in self.acts.iter_mut().enumerate() {
            state.copy_from_slice(known.set(position));
            for (object, act) in acts {
                match act {
                    Act::Start if has(&state, *object) => *act = Act::StartKnown,
                    Act::Escape => put(&mut state, *object, true),
                    _ => {}
                }
            }
        }
    }

    /// Solves a problem of unions along the flow, forwards or backwards: what holds at the start of each block, or at its end where
    /// the flow goes backwards. `effect` says of an act whether its object becomes a member.
    fn flow(&self, forwards: bool, effect: impl Fn(&Object, Act) -> Option<bool>) -> Sets {
        let blocks = self.acts.len();
        let mut made = Sets::new(blocks, self.objects.len());
        let mut kept = Sets::new(blocks, self.objects.len());
        kept.bits.fill(u64::MAX);
        for (position, acts) in self.acts.iter().enumerate() {
            let mut note = |&(object, act): &(u32, Act)| {
                if let Some(member) = effect(&self.objects[object as usize], act) {
                    put(made.set_mut(position), object, member);
                    put(kept.set_mut(position), object, false);
                }
            };
            if forwards {
                acts.iter().for_each(&mut note);
            } else {
                acts.iter().rev().for_each(&mut note);
            }
        }
        let mut sets = Sets::new(blocks, self.objects.len());
        let mut queue: VecDeque<u32> = (0..blocks as u32).collect();
        if !forwards {
            queue.make_contiguous().reverse();
        }
        let mut queued = vec![true; blocks];
        let mut out = vec![0; sets.words];
        while let Some(block) = queue.pop_front() {
            mir::interrupt::checkpoint();
            let at = block as usize;
            queued[at] = false;
            for (word, out) in out.iter_mut().enumerate() {
                *out = sets.set(at)[word] & kept.set(at)[word] | made.set(at)[word];
            }
            let graph = &self.cfg.graph;
            for &next in if forwards { graph.succs(block) } else { graph.preds(block) } {
                let mut grows = false;
                for (set, &out) in sets.set_mut(next as usize).iter_mut().zip(&out) {
                    grows |= out & !*set != 0;
                    *set |= out;
                }
                if grows && !std::mem::replace(&mut queued[next as usize], true) {
                    queue.push_back(next);
                }
            }
        }
        sets
    }

    /// Of each object, those that it cannot share a place with.
    fn meetings(&self) -> Sets {
        let count = self.objects.len();
        // Whether an object may hold something, and whether that may be used.
        let holds = |object: &Object, act| match act {
            Act::Access | Act::Escape | Act::StartKnown => Some(true),
            Act::Start | Act::End => object.marked.then_some(false),
        };
        let wanted = |object: &Object, act| match act {
            Act::Access | Act::Escape => Some(true),
            Act::Start | Act::StartKnown | Act::End => object.marked.then_some(false),
        };
        let (held, used) = (self.flow(true, holds), self.flow(false, wanted));
        let mut meets = Sets::new(count, count);
        let mut escaped = vec![0; meets.words];
        for (index, object) in self.objects.iter().enumerate() {
            if object.escapes {
                put(&mut escaped, index as u32, true);
            }
        }
        let (mut holding, mut wants) = (vec![0; meets.words], vec![0; meets.words]);
        let mut behind = Vec::new();
        for (position, acts) in self.acts.iter().enumerate() {
            mir::interrupt::checkpoint();
            holding.copy_from_slice(held.set(position));
            wants.copy_from_slice(used.set(position));
            // Whether the object of each act is wanted behind it, last act first.
            behind.clear();
            for &(object, act) in acts.iter().rev() {
                behind.push(has(&wants, object));
                if let Some(member) = wanted(&self.objects[object as usize], act) {
                    put(&mut wants, object, member);
                }
            }
            for &(object, act) in acts {
                let data = &self.objects[object as usize];
                if matches!(act, Act::Access | Act::Escape | Act::StartKnown) {
                    let row = meets.set_mut(object as usize);
                    for (word, row) in row.iter_mut().enumerate() {
                        *row |= holding[word] & (wants[word] | escaped[word]);
                    }
                }
                if let Some(member) = holds(data, act) {
                    put(&mut holding, object, member);
                }
                put(&mut wants, object, behind.pop().unwrap_or(true));
            }
        }
        for &(a, b) in &self.together {
            put(meets.set_mut(a as usize), b, true);
        }
        for a in 0..count as u32 {
            for b in 0..count as u32 {
                if has(meets.set(a as usize), b) {
                    put(meets.set_mut(b as usize), a, true);
                }
            }
        }
        meets
    }

    /// The place of each object, as the number of the largest object there.
    fn places(&self, meets: &Sets) -> Vec<u32> {
        let count = self.objects.len();
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by_key(|&object| std::cmp::Reverse(self.objects[object as usize].bytes));
        let mut places: Vec<u32> = (0..count as u32).collect();
        let mut owners: Vec<u32> = Vec::new();
        let mut members = Sets::new(count, count);
        for object in order {
            let data = &self.objects[object as usize];
            if data.escapes && !data.marked {
                continue;
            }
            let row = meets.set(object as usize);
            let free = |&&owner: &&u32| members.set(owner as usize).iter().zip(row).all(|(a, b)| a & b == 0);
            let owner = match owners.iter().find(free) {
                Some(&owner) => owner,
                None => {
                    owners.push(object);
                    object
                }
            };
            places[object as usize] = owner;
            put(members.set_mut(owner as usize), object, true);
        }
        places
    }
}

/// Makes one object of those with the same place.
fn join(func: &mut Function, objects: &[Object], places: &[u32], invariant_loads: &[(Inst, u32)]) {
    let mut members = vec![0u32; objects.len()];
    let mut aligns = vec![0u8; objects.len()];
    for (object, &place) in objects.iter().zip(places) {
        members[place as usize] += 1;
        aligns[place as usize] = aligns[place as usize].max(object.align_log2);
    }
    if members.iter().all(|&count| count <= 1) {
        return;
    }
    let mut replaced: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut gone: SecondaryMap<Inst, bool> = SecondaryMap::new();
    let mut first: Vec<Inst> = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let place = places[index] as usize;
        gone[object.inst] = true;
        if place == index {
            first.push(object.inst);
            func.insts[object.inst].kind =
                InstKind::Alloca { size_bytes: object.bytes, count: None, align_log2: aligns[index] };
        } else {
            replaced[object.address] = Some(objects[place].address);
        }
    }
    let entry = func.entry();
    let insts = &mut func.blocks[entry].insts;
    insts.retain(|&inst| !gone[inst]);
    // In front of everything that uses one of the objects that share them.
    insts.splice(0..0, first);
    for &(inst, object) in invariant_loads {
        if let InstKind::Load { mem, .. } = &mut func.insts[inst].kind
            && members[places[object as usize] as usize] > 1
        {
            mem.flags -= MemFlags::INVARIANT | MemFlags::NO_CLOBBER;
        }
    }
    substitute(func, &replaced);
}
