//! Neighbouring memory accesses become one wide access.
//!
//! Within a block, simple accesses off one base with constant offsets form *groups*: first accesses of bytes and halves, which become accesses of
//! dwords ([`narrow`]), then accesses of dwords. Loads of a group may move up to its first member as long as no atomic, fence or barrier lies between, nor a store that may
//! be to the same memory ([`super::memory`]; invariant memory does not care), nor what may end the program; stores move down to the group's last
//! member as long as nothing that may read or write their memory lies between. A group is closed by whatever
//! would break that, then cut into runs of neighbours: up to four dwords, or 16 in kernarg and other uniform
//! constant memory. Accesses off the base of a group are to other memory where their offsets say so.
//!
//! Scalars of one and two dwords take part, and vectors of up to four dwords, whose elements are read from the wide access. Cost: linear, but for sorting inside groups; of those that a store
//! leaves alone at most [`MAX_OPEN`] stay open.

mod group;
mod narrow;

use super::append::append_value;
use super::memory::{ALL, Memory, is_constant};
use super::origin::Origin;
use cranelift_entity::SecondaryMap;
use group::{Group, Member};
use mir::ir::*;
use mir::target::{Features, Target};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Base of an address: what it starts from, and the variable part with its scale.
type Base = (Origin, Option<Value>, i64);

/// What members of a group have in common: base, space, set, whether they are stores, flags, and how many instructions were in front that may
/// stop the program, where that matters. So they are of one root.
type Key = (Base, AddrSpace, AliasSet, bool, MemFlags, u32);

/// Constants that are added one behind the other.
const MAX_CONSTANTS: usize = 4;
/// Most groups of one kind that are open at a time.
const MAX_OPEN: usize = 32;

/// Groups that something later in the block may close, by their keys, with the numbers of their roots.
type Open = Vec<(Key, u8)>;

/// What is merged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    /// Accesses of less than a dword.
    Narrow,
    /// Accesses of dwords.
    Dwords,
}

/// Merges accesses in all blocks of a function that is legal and of `module`.
pub fn merge_memory(func: &mut Function, module: &Module, machine: &Target) {
    let memory = Memory::new(func, module, machine);
    let mut parts = narrow::Parts::default();
    if merge_blocks(func, Width::Narrow, (module, &memory), machine, &mut Results::default(), &mut parts) {
        parts.read(func, machine);
    }
    let mut results = Results::default();
    if merge_blocks(func, Width::Dwords, (module, &memory), machine, &mut results, &mut parts) {
        results.read_parts(func);
        super::inline::substitute(func, &results.replaced);
    }
}

/// Whether there was anything to merge.
fn merge_blocks(
    func: &mut Function,
    width: Width,
    memory: (&Module, &Memory),
    machine: &Target,
    results: &mut Results,
    parts: &mut narrow::Parts,
) -> bool {
    let mut any = false;
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        // A single narrow access has no neighbour.
        let is_narrow = |&&inst: &&Inst| {
            let data = &func.insts[inst];
            match data.kind {
                InstKind::Load { .. } => takes_part(data.ty, Width::Narrow),
                InstKind::Store { value, .. } => takes_part(func.ty(value), Width::Narrow),
                _ => false,
            }
        };
        if width == Width::Dwords || func.blocks[block].insts.iter().filter(is_narrow).nth(1).is_some() {
            any |= merge_block(func, (block, width), memory, machine, results, parts);
        }
    }
    any
}

/// What became of the loads that were merged.
#[derive(Default)]
struct Results {
    /// Their values anew.
    replaced: SecondaryMap<Value, Option<Value>>,
    /// Vectors that are a part of a wide one, from the element given on.
    parts: SecondaryMap<Value, Option<(Value, u32)>>,
    has_parts: bool,
}

impl Results {
    /// Lets who reads an element of a vector read it from the wide one.
    fn read_parts(&self, func: &mut Function) {
        if !self.has_parts {
            return;
        }
        for i in 0..func.layout.len() {
            for k in 0..func.blocks[func.layout[i]].insts.len() {
                let inst = func.blocks[func.layout[i]].insts[k];
                let InstKind::ExtractElement { vector, index } = func.insts[inst].kind else { continue };
                let (Some((wide, first)), Some(at)) = (self.parts[vector], func.as_int(index)) else {
                    continue;
                };
                if at >= u64::from(func.ty(vector).lanes()) {
                    continue;
                }
                let index = func.int(Type::I32, at + u64::from(first));
                func.insts[inst].kind = InstKind::ExtractElement { vector: wide, index };
            }
        }
    }
}

/// Whether accesses of the type are merged.
fn takes_part(ty: Type, width: Width) -> bool {
    match (width, ty) {
        (Width::Narrow, Type::Scalar(s)) => matches!(s.bits(), 8 | 16),
        (Width::Dwords, Type::Scalar(s)) => matches!(s.bits(), 32 | 64),
        (Width::Dwords, Type::Vector(Scalar::Ptr(_), _)) => false,
        (Width::Dwords, Type::Vector(s, lanes)) => s.bits() == 32 && (2..=4).contains(&lanes),
        _ => false,
    }
}

/// The sum that makes a pointer: pointer, the variable part with its scale, and the constant.
fn sum(func: &Function, ptr: Value) -> Option<((Value, Option<Value>, i64), i64)> {
    match func.def_inst(ptr).map(|i| &func.insts[i].kind) {
        Some(&InstKind::PtrAdd { base, index, scale, offset }) => Some(((base, index, scale), offset)),
        _ => None,
    }
}

/// The address as a sum. Constants that stand alone, behind a pointer or an index that neighbours share, are one with that.
fn address(func: &Function, ptr: Value) -> (Base, i64) {
    let (mut outer, mut offset) = sum(func, ptr).unwrap_or(((ptr, None, 0), 0));
    for _ in 0..MAX_CONSTANTS {
        match sum(func, outer.0) {
            Some((inner, more)) if outer.1.is_none() => (outer, offset) = (inner, offset.wrapping_add(more)),
            _ => break,
        }
    }
    let (origin, behind) = Origin::of(func, outer.0);
    ((origin, outer.1, outer.2), offset.wrapping_add(behind))
}

/// The pointer with an index that `ptr`, which is at most a constant away from it, shares with its neighbours.
fn shared_pointer(func: &Function, ptr: Value) -> Option<Value> {
    match sum(func, ptr)? {
        ((base, None, _), _) => matches!(sum(func, base), Some(((_, Some(_), _), _))).then_some(base),
        (_, offset) => (offset == 0).then_some(ptr),
    }
}

/// Opens a group, at the cost of the oldest one if there are many.
fn add(list: &mut Open, open: &mut FxHashMap<Key, usize>, key: Key, root: u8) {
    if list.len() >= MAX_OPEN {
        let (oldest, _) = list.remove(0);
        open.remove(&oldest);
    }
    list.push((key, root));
}

fn merge_block(
    func: &mut Function,
    (block, width): (Block, Width),
    (module, memory): (&Module, &Memory),
    machine: &Target,
    results: &mut Results,
    parts: &mut narrow::Parts,
) -> bool {
    let mut open: FxHashMap<Key, usize> = FxHashMap::default();
    let mut groups: Vec<Group> = Vec::new();
    // Groups that the next write closes: of loads, which another load leaves alone, and of stores.
    let (mut loads, mut stores): (Open, Open) = Default::default();
    let mut stops = 0;
    for (at, &inst) in func.blocks[block].insts.iter().enumerate() {
        mir::interrupt::checkpoint();
        let data = &func.insts[inst];
        let (ptr, ty, mem, store) = match &data.kind {
            InstKind::Load { ptr, mem } => (*ptr, data.ty, *mem, false),
            InstKind::Store { ptr, value, mem } => (*ptr, func.ty(*value), *mem, true),
            kind => {
                stops += u32::from(kind.may_stop());
                let reads = matches!(kind, InstKind::Intrinsic { intrinsic, .. }
                    if intrinsic.props().contains(IntrinsicProps::READS));
                if kind.has_side_effects() || reads {
                    for (key, _) in loads.drain(..).chain(stores.drain(..)) {
                        open.remove(&key);
                    }
                }
                continue;
            }
        };
        let constant = !store && mem.is_simple() && is_constant(&mem);
        // Dwords of a lane's scratch are not neighbours.
        let near = width == Width::Narrow || mem.space != AddrSpace::PRIVATE;
        let plain = mem.is_simple() && takes_part(ty, width) && near;
        let (base, offset) = address(func, ptr);
        let stops = if mem.flags.contains(MemFlags::DEREFERENCEABLE) { 0 } else { stops };
        let set = func.alias_sets.telling(mem.set);
        let key = (base, mem.space, set, store, mem.flags, stops);
        let root = memory.number(func, module, ptr, &mem);
        // A store ends what was read or written before in its memory, except its own group if it becomes a member;
        // a load ends groups of stores there. Atomic and volatile accesses end all. Other bytes off a group's own base are not its memory.
        let shared = if mem.is_simple() { memory.shares(root) } else { ALL };
        let bytes = ty.bits().map_or(i64::MAX, |bits| i64::from(bits.div_ceil(8) as u32));
        let range = (offset, offset.saturating_add(bytes));
        let mut close = |list: &mut Open, are_loads: bool| {
            list.retain(|&(other, number)| {
                let near = mem.is_simple() && other.0 == base && other.1 == mem.space;
                let stays = plain && other == key
                    || shared >> number & 1 == 0
                    || near && open.get(&other).is_some_and(|&group| groups[group].crosses(range, are_loads));
                if !stays {
                    open.remove(&other);
                }
                stays
            });
        };
        if store || !mem.is_simple() {
            close(&mut loads, true);
            close(&mut stores, false);
        } else if !constant {
            close(&mut stores, false);
        }
        if !plain {
            continue;
        }
        let member = Member { at, inst, offset, bytes, mem };
        match open.get(&key) {
            Some(&group) if groups[group].takes(&member, store) => groups[group].members.push(member),
            Some(_) => {
                open.insert(key, groups.len());
                groups.push(Group::of(member));
            }
            None => {
                open.insert(key, groups.len());
                groups.push(Group::of(member));
                if store {
                    add(&mut stores, &mut open, key, root);
                } else if !constant {
                    add(&mut loads, &mut open, key, root);
                }
            }
        }
    }
    if groups.iter().all(|group| group.members.len() < 2) {
        return false;
    }
    let insts = std::mem::take(&mut func.blocks[block].insts);
    // New instructions before (loads) or instead of (stores) the old ones at a position.
    let mut before: FxHashMap<usize, Vec<Inst>> = FxHashMap::default();
    let mut dropped = vec![false; insts.len()];
    let mut any = false;
    for Group { members: mut group, .. } in groups {
        if group.len() < 2 {
            continue;
        }
        group.sort_by_key(|m| (m.offset, m.at));
        let store = matches!(func.insts[group[0].inst].kind, InstKind::Store { .. });
        let mut start = 0;
        while start < group.len() {
            let len = match width {
                Width::Narrow => narrow::run_length(&group[start..], machine),
                Width::Dwords => run_length(func, &group[start..], store, machine),
            };
            if len >= 2 {
                any = true;
                let run = &group[start..start + len];
                match width {
                    Width::Narrow if store => narrow::merge_stores(func, run, &mut before, &mut dropped),
                    Width::Narrow => parts.merge_loads(func, run, &mut before, &mut dropped),
                    Width::Dwords if store => merge_stores(func, run, &mut before, &mut dropped),
                    Width::Dwords => merge_loads(func, run, &mut before, &mut dropped, results),
                }
            }
            start += len.max(1);
        }
    }
    if any {
        let mut out = Vec::with_capacity(insts.len());
        for (at, &inst) in insts.iter().enumerate() {
            mir::interrupt::checkpoint();
            if let Some(new) = before.remove(&at) {
                out.extend(new);
            }
            if !dropped[at] {
                out.push(inst);
            }
        }
        func.blocks[block].insts = out;
    } else {
        func.blocks[block].insts = insts;
    }
    any
}

/// How many members from the first on make one access.
fn run_length(func: &Function, group: &[Member], store: bool, machine: &Target) -> usize {
    let first = group[0];
    let align = 1i64 << first.mem.align_log2.min(6);
    let uniform = first.mem.space == AddrSpace::CONSTANT
        && !store
        && matches!(origin(func, first), Some(Origin::Value(base)) if func.def_inst(base).is_some_and(|i| {
            matches!(
                func.insts[i].kind,
                InstKind::Intrinsic { intrinsic: Intrinsic::KernargSegmentPtr | Intrinsic::DispatchPtr, .. }
            )
        }));
    let widest: i64 = match first.mem.space {
        AddrSpace::LOCAL | AddrSpace::REGION => match align {
            8.. => 16,
            4 => 8,
            _ if machine.takes_any_lds() && first.mem.space == AddrSpace::LOCAL => 16,
            _ => 0,
        },
        AddrSpace::FLAT if !machine.has(Features::WIDE_FLAT_SCRATCH) => 0,
        AddrSpace::FLAT if machine.aligns_lds() => align.min(16),
        space if align < 4 && !machine.takes_any_dword(space) => 0,
        _ if uniform => 64,
        _ => 16,
    };
    let three = match first.mem.space {
        AddrSpace::LOCAL if align < 4 => machine.takes_any_lds(),
        AddrSpace::LOCAL => machine.has(Features::DS_B128) && align >= 16,
        AddrSpace::REGION | AddrSpace::CONSTANT => false,
        _ => machine.has(Features::DWORDX3),
    };
    let (mut end, mut best) = (first.offset, 1);
    for (i, member) in group.iter().enumerate() {
        if member.offset != end || i >= 16 {
            break;
        }
        end += member.bytes;
        let total = end - first.offset;
        if total > widest {
            break;
        }
        if matches!(total, 8 | 16 | 32 | 64) || total == 12 && three {
            best = i + 1;
        }
    }
    best
}

/// What the address of `member` starts from.
fn origin(func: &Function, member: Member) -> Option<Origin> {
    match func.insts[member.inst].kind {
        InstKind::Load { ptr, .. } | InstKind::Store { ptr, .. } => Some(address(func, ptr).0.0),
        _ => None,
    }
}

fn total_dwords(run: &[Member]) -> u32 {
    (run.iter().map(|m| m.bytes).sum::<i64>() / 4) as u32
}

/// The element type of a merged access: the members' own where they agree.
fn element(func: &Function, run: &[Member], ty_of: impl Fn(&Function, Inst) -> Type) -> Scalar {
    let scalar = |m: &Member| ty_of(func, m.inst).scalar();
    match scalar(&run[0]) {
        Some(first) if run.iter().all(|m| scalar(m) == Some(first)) => first,
        _ => Scalar::Int(32),
    }
}

/// `count` elements of `vector` from `first` on, as a vector of their own.
fn slice(
    func: &mut Function,
    like: Inst,
    (vector, scalar): (Value, Scalar),
    first: u32,
    count: u32,
    out: &mut Vec<Inst>,
) -> Value {
    let mut whole = func.constant(Type::Vector(scalar, count), Const::Poison);
    for i in 0..count {
        let element = extract(func, like, vector, scalar, first + i, out);
        whole = insert(func, like, whole, element, i, out);
    }
    whole
}

/// Element `index` of `vector`; what was inserted there, if that is near.
fn element_of(
    func: &mut Function,
    like: Inst,
    vector: Value,
    scalar: Scalar,
    index: u32,
    out: &mut Vec<Inst>,
) -> Value {
    if let Some(Const::Elements(elements)) = func.as_const(vector)
        && let Some(&element) = elements.get(index as usize)
    {
        return element;
    }
    let mut from = vector;
    for _ in 0..4 {
        let Some(inst) = func.def_inst(from) else { break };
        let InstKind::InsertElement { vector, element, index: at } = func.insts[inst].kind else { break };
        match func.as_int(at) {
            Some(at) if at == u64::from(index) => return element,
            Some(_) => from = vector,
            None => break,
        }
    }
    extract(func, like, vector, scalar, index, out)
}

fn extract(
    func: &mut Function,
    like: Inst,
    vector: Value,
    scalar: Scalar,
    index: u32,
    out: &mut Vec<Inst>,
) -> Value {
    let index = func.int(Type::I32, u64::from(index));
    append_value(func, like, InstKind::ExtractElement { vector, index }, Type::Scalar(scalar), out)
}

fn insert(
    func: &mut Function,
    like: Inst,
    vector: Value,
    element: Value,
    index: u32,
    out: &mut Vec<Inst>,
) -> Value {
    let ty = func.ty(vector);
    let index = func.int(Type::I32, u64::from(index));
    append_value(func, like, InstKind::InsertElement { vector, element, index }, ty, out)
}

fn merge_loads(
    func: &mut Function,
    run: &[Member],
    before: &mut FxHashMap<usize, Vec<Inst>>,
    dropped: &mut [bool],
    results: &mut Results,
) {
    // All addresses are sums with the base, which exists where the first access stands; the lowest address
    // may not.
    let Some(&earliest) = run.iter().min_by_key(|m| m.at) else { return };
    let like = earliest.inst;
    let mut out = Vec::new();
    let ptr = lowest_address(func, run[0], earliest, &mut out);
    let scalar = element(func, run, |f, i| f.insts[i].ty);
    let lanes = total_dwords(run) * 32 / scalar.bits();
    let ty = Type::Vector(scalar, lanes);
    let vector = append_value(func, like, InstKind::Load { ptr, mem: run[0].mem }, ty, &mut out);
    let same = run.iter().all(|m| func.insts[m.inst].ty.scalar() == Some(scalar));
    let mut dword = 0;
    for member in run {
        let wanted = func.insts[member.inst].ty;
        let value = if let (true, Type::Vector(_, count), Some(old)) =
            (same, wanted, func.insts[member.inst].result)
        {
            results.parts[old] = Some((vector, dword));
            results.has_parts = true;
            slice(func, like, (vector, scalar), dword, count, &mut out)
        } else if same {
            extract(func, like, vector, scalar, dword * 32 / scalar.bits(), &mut out)
        } else {
            let whole = match member.bytes {
                4 => extract(func, like, vector, scalar, dword, &mut out),
                bytes => slice(func, like, (vector, scalar), dword, (bytes / 4) as u32, &mut out),
            };
            if func.ty(whole) == wanted {
                whole
            } else {
                let op = match (func.ty(whole), wanted) {
                    (Type::Scalar(_), Type::Scalar(Scalar::Ptr(_))) => CastOp::IntToPtr,
                    _ => CastOp::BitCast,
                };
                append_value(func, like, InstKind::Cast { op, arg: whole }, wanted, &mut out)
            }
        };
        dword += (member.bytes / 4) as u32;
        dropped[member.at] = true;
        if let Some(old) = func.insts[member.inst].result {
            results.replaced[old] = Some(value);
        }
    }
    before.entry(earliest.at).or_default().extend(out);
}

/// The address of `lowest`, computed where `here` stands.
fn lowest_address(func: &mut Function, lowest: Member, here: Member, out: &mut Vec<Inst>) -> Value {
    let pointer = |func: &Function, m: Member| match func.insts[m.inst].kind {
        InstKind::Load { ptr, .. } | InstKind::Store { ptr, .. } => ptr,
        _ => Value::from_u32(0),
    };
    let own = pointer(func, lowest);
    if lowest.inst == here.inst || func.as_const(own).is_some() {
        return own;
    }
    let ((origin, index, scale), offset) = address(func, own);
    let ty = func.ty(own);
    let near = pointer(func, here);
    if let Some(shared) = shared_pointer(func, near) {
        // The same sum, of which the access there has a part already.
        let (_, place) = address(func, shared);
        let offset = offset.wrapping_sub(place);
        let kind = InstKind::PtrAdd { base: shared, index: None, scale: 0, offset };
        return if offset == 0 { shared } else { append_value(func, here.inst, kind, ty, out) };
    }
    let (base, offset) = origin.pointer(func, offset);
    if index.is_none() && offset == 0 {
        return base;
    }
    append_value(func, here.inst, InstKind::PtrAdd { base, index, scale, offset }, ty, out)
}

fn merge_stores(
    func: &mut Function,
    run: &[Member],
    before: &mut FxHashMap<usize, Vec<Inst>>,
    dropped: &mut [bool],
) {
    let Some(&latest) = run.iter().max_by_key(|m| m.at) else { return };
    let like = latest.inst;
    let mut out = Vec::new();
    let value_ty = |f: &Function, i: Inst| match f.insts[i].kind {
        InstKind::Store { value, .. } => f.ty(value),
        _ => Type::Void,
    };
    let scalar = element(func, run, value_ty);
    let same = run.iter().all(|m| value_ty(func, m.inst).scalar() == Some(scalar));
    let mut words: SmallVec<[Value; 4]> = SmallVec::new();
    for member in run {
        dropped[member.at] = true;
        let InstKind::Store { value, .. } = func.insts[member.inst].kind else { continue };
        let count = (member.bytes / 4) as u32;
        if same {
            match func.ty(value) {
                Type::Vector(..) => {
                    for i in 0..count {
                        words.push(element_of(func, like, value, scalar, i, &mut out));
                    }
                }
                _ => words.push(value),
            }
            continue;
        }
        if count > 1 {
            let ty = Type::Vector(Scalar::Int(32), count);
            let cast = InstKind::Cast { op: CastOp::BitCast, arg: value };
            let vector = match func.ty(value) == ty {
                true => value,
                false => append_value(func, like, cast, ty, &mut out),
            };
            for i in 0..count {
                words.push(element_of(func, like, vector, Scalar::Int(32), i, &mut out));
            }
        } else if func.ty(value) == Type::I32 {
            words.push(value);
        } else {
            let op = match func.ty(value) {
                Type::Scalar(Scalar::Ptr(_)) => CastOp::PtrToInt,
                _ => CastOp::BitCast,
            };
            let word = append_value(func, like, InstKind::Cast { op, arg: value }, Type::I32, &mut out);
            words.push(word);
        }
    }
    let vector = crate::builder::constant_vector(func, &words).unwrap_or_else(|| {
        let mut vector = func.constant(Type::Vector(scalar, words.len() as u32), Const::Poison);
        for (i, &word) in words.iter().enumerate() {
            vector = insert(func, like, vector, word, i as u32, &mut out);
        }
        vector
    });
    store_at(func, latest, run[0], vector, &mut out);
    before.entry(latest.at).or_default().extend(out);
}

/// Stores `value`, which stands for a run of stores of which `lowest` has the lowest address, where the last of them stands.
fn store_at(func: &mut Function, latest: Member, lowest: Member, value: Value, out: &mut Vec<Inst>) {
    let ptr = lowest_address(func, lowest, latest, out);
    let kind = InstKind::Store { ptr, value, mem: lowest.mem };
    let store = func.make_inst(kind, Type::Void, InstFlags::empty());
    func.locs[store] = func.locs[latest.inst];
    out.push(store);
}
