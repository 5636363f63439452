//! The memory model: cache bits, waits and invalidates that orderings and scopes ask for.
//!
//! Problem: vector memory goes through a cache per compute unit that is not coherent; LDS and vector memory complete
//! independently. An atomic that orders other accesses therefore needs waits before (release), waits and an invalidate
//! after (acquire), and loads that see other compute units bypass the cache (GLC). Idea: the table of the AMDGPU usage
//! guide is data, [`ROWS`], in the guide's own order (load, store, read-modify-write, fence; by ordering, scope, address
//! space); [`apply`] looks each marked instruction up. Waits that data dependences need are added later and merge with these.
//!
//! GFX10 has one cache more (L1 of a shader array in front of L2, L0 of a compute unit), stores are counted apart, and waves of a work-group may run
//! on both compute units of a pair. Which bits and invalidates that makes is [`Caches`], which counter an access is waited for in says the target's
//! [`mir::target::WaitModel`], and where work-groups are spread over a pair they are to L0 what agents are to all caches: their rows are those of agents,
//! but for LDS, [`LDS_10`]. With waves on one compute unit (`cumode`) what releases waits as there, so that another wave may release it further to the agent
//! (the guide leaves the waits out; LLVM's pull request 161638 says why they are needed), and what only acquires has the rows as they stand.
//!
//! A work-group that fits in one wave needs no more than a wave does: its scope is the wave's.
//!
//! A fence may order one kind of memory alone (`amdgpu-synchronize-as`): it is generic where it orders all.
//!
//! Not in the table: volatile accesses are completed before the next instruction, as LLVM does, which is stricter than the guide ([`Volatile`]).
//!
//! Cost: one pass; a scan of the table for each atomic, volatile or non-temporal access.
//!
//! Sources: User Guide for AMDGPU Back-end, LLVM 8, "Memory Model GFX6-GFX9"; AMDGPU usage guide, "Memory Model GFX10-GFX11".

use mir::ir::{AddrSpace, MemAccess, MemFlags, Ordering, SyncScope};
use mir::isa::{MemoryAction, Opcode, Unit};
use mir::machine::{Function, Inst, ModFlags};
use mir::target::{Counter, Features, Generation, MemoryModel, Os, Target, WaitCounts};

/// Kinds of instruction in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Load,
    Store,
    Rmw,
    Fence,
}

/// Scopes as the table groups them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scope {
    Any,
    /// Single thread or wavefront.
    Wave,
    Workgroup,
    /// Agent or system.
    Agent,
}

/// Address spaces as the table groups them; a row lists several by their letters.
const GLOBAL: u8 = 1;
const LOCAL: u8 = 2;
const GENERIC: u8 = 4;
const ALL: u8 = GLOBAL | LOCAL | GENERIC;

/// What a wait waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    Nothing,
    /// lgkmcnt(0).
    Lg,
    /// lgkmcnt(0) unless the model keeps address spaces apart.
    LgShared,
    /// vmcnt(0), and whatever else counts vector memory.
    Vm,
    /// The same unless the model keeps address spaces apart.
    VmShared,
    /// Both.
    Vl,
    /// vmcnt(0), and lgkmcnt(0) unless the model keeps address spaces apart.
    VlShared,
}

/// What an instruction of a row becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sequence {
    before: Wait,
    glc: bool,
    after: Wait,
    invalidate: Invalidate,
}

/// Whether caches are invalidated behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Invalidate {
    No,
    /// Unless the model keeps address spaces apart.
    Shared,
    Yes,
}

const PLAIN: Sequence =
    Sequence { before: Wait::Nothing, glc: false, after: Wait::Nothing, invalidate: Invalidate::No };
const GLC: Sequence = Sequence { glc: true, ..PLAIN };

const fn before(before: Wait) -> Sequence {
    Sequence { before, ..PLAIN }
}

const fn after(after: Wait) -> Sequence {
    Sequence { after, ..PLAIN }
}

const fn acquire(before: Wait, glc: bool, after: Wait) -> Sequence {
    Sequence { before, glc, after, invalidate: Invalidate::Yes }
}

const fn acquire_local(before: Wait) -> Sequence {
    Sequence { before, glc: false, after: Wait::LgShared, invalidate: Invalidate::Shared }
}

const fn both(before: Wait, after: Wait) -> Sequence {
    Sequence { before, after, ..PLAIN }
}

struct Row {
    op: Op,
    ordering: Ordering,
    scope: Scope,
    spaces: u8,
    sequence: Sequence,
}

macro_rules! rows {
    ($($op:ident $ordering:ident $scope:ident $spaces:expr => $sequence:expr;)*) => {
        &[$(Row {
            op: Op::$op,
            ordering: Ordering::$ordering,
            scope: Scope::$scope,
            spaces: $spaces,
            sequence: $sequence,
        }),*]
    };
}

/// The table from monotonic on; the first row that fits counts. Weaker accesses are plain.
#[rustfmt::skip]
static ROWS: &[Row] = rows! {
    Load  Monotonic Agent     GLOBAL | GENERIC => GLC;
    Load  Monotonic Any       ALL              => PLAIN;
    Store Monotonic Any       ALL              => PLAIN;
    Rmw   Monotonic Any       ALL              => PLAIN;

    Load  Acquire   Wave      ALL              => PLAIN;
    Load  Acquire   Workgroup GLOBAL           => PLAIN;
    Load  Acquire   Workgroup LOCAL | GENERIC  => after(Wait::LgShared);
    Load  Acquire   Agent     GLOBAL           => acquire(Wait::Nothing, true, Wait::Vm);
    Load  Acquire   Agent     GENERIC          => acquire(Wait::Nothing, true, Wait::VlShared);
    Rmw   Acquire   Wave      ALL              => PLAIN;
    Rmw   Acquire   Workgroup GLOBAL           => PLAIN;
    Rmw   Acquire   Workgroup LOCAL | GENERIC  => after(Wait::LgShared);
    Rmw   Acquire   Agent     GLOBAL           => acquire(Wait::Nothing, false, Wait::Vm);
    Rmw   Acquire   Agent     GENERIC          => acquire(Wait::Nothing, false, Wait::VlShared);
    Fence Acquire   Wave      ALL              => PLAIN;
    Fence Acquire   Workgroup GLOBAL           => PLAIN;
    Fence Acquire   Workgroup ALL              => before(Wait::Lg);
    Fence Acquire   Agent     GLOBAL           => acquire(Wait::Vm, false, Wait::Nothing);
    Fence Acquire   Agent     ALL              => acquire(Wait::Vl, false, Wait::Nothing);

    Store Release   Wave      ALL              => PLAIN;
    Store Release   Workgroup GLOBAL | GENERIC => before(Wait::LgShared);
    Store Release   Workgroup LOCAL            => PLAIN;
    Store Release   Agent     GLOBAL | GENERIC => before(Wait::VlShared);
    Rmw   Release   Wave      ALL              => PLAIN;
    Rmw   Release   Workgroup GLOBAL | GENERIC => before(Wait::LgShared);
    Rmw   Release   Workgroup LOCAL            => PLAIN;
    Rmw   Release   Agent     GLOBAL | GENERIC => before(Wait::VlShared);
    Fence Release   Wave      ALL              => PLAIN;
    Fence Release   Workgroup GLOBAL           => PLAIN;
    Fence Release   Workgroup ALL              => before(Wait::Lg);
    Fence Release   Agent     GLOBAL           => before(Wait::Vm);
    Fence Release   Agent     ALL              => before(Wait::Vl);

    Rmw   AcqRel    Wave      ALL              => PLAIN;
    Rmw   AcqRel    Workgroup GLOBAL           => before(Wait::LgShared);
    Rmw   AcqRel    Workgroup LOCAL            => after(Wait::LgShared);
    Rmw   AcqRel    Workgroup GENERIC          => both(Wait::LgShared, Wait::LgShared);
    Rmw   AcqRel    Agent     GLOBAL           => acquire(Wait::VlShared, false, Wait::Vm);
    Rmw   AcqRel    Agent     GENERIC          => acquire(Wait::VlShared, false, Wait::VlShared);
    Fence AcqRel    Wave      ALL              => PLAIN;
    Fence AcqRel    Workgroup GLOBAL           => PLAIN;
    Fence AcqRel    Workgroup ALL              => before(Wait::Lg);
    Fence AcqRel    Agent     GLOBAL           => acquire(Wait::Vm, false, Wait::Nothing);
    Fence AcqRel    Agent     ALL              => acquire(Wait::Vl, false, Wait::Nothing);

    // Sequentially consistent loads wait as acquire ones do and for everything before them, in every model; the other
    // operations are the release or acq_rel ones.
    Load  SeqCst    Wave      ALL              => PLAIN;
    Load  SeqCst    Workgroup GLOBAL           => before(Wait::Lg);
    Load  SeqCst    Workgroup LOCAL            => after(Wait::LgShared);
    Load  SeqCst    Workgroup GENERIC          => both(Wait::Lg, Wait::LgShared);
    Load  SeqCst    Agent     GLOBAL           => acquire(Wait::Vl, true, Wait::Vm);
    Load  SeqCst    Agent     GENERIC          => acquire(Wait::Vl, true, Wait::VlShared);
};

/// LDS in a work-group of GFX10: what orders it orders memory, too.
#[rustfmt::skip]
static LDS_10: &[Row] = rows! {
    Load  Acquire   Workgroup LOCAL            => acquire_local(Wait::Nothing);
    Rmw   Acquire   Workgroup LOCAL            => acquire_local(Wait::Nothing);
    Store Release   Workgroup LOCAL            => before(Wait::VmShared);
    Rmw   Release   Workgroup LOCAL            => before(Wait::VmShared);
    Rmw   AcqRel    Workgroup LOCAL            => acquire_local(Wait::VmShared);
    Load  SeqCst    Workgroup LOCAL            => acquire_local(Wait::VmShared);
};

/// How far caches are passed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    /// None: all share the innermost one.
    ComputeUnit,
    /// Other compute units of the pair.
    Pair,
    /// The agent and beyond.
    Agent,
}

/// What instructions say to the caches, and which empty them, by [`Reach`] where that matters.
struct Caches {
    load: [ModFlags; 3],
    volatile_load: ModFlags,
    streaming_load: ModFlags,
    streaming_store: ModFlags,
    invalidate: [&'static [Opcode]; 3],
}

/// `_vol` leaves lines of scratch alone; GFX6 lacks it (ERRATA E7).
const GFX7: Caches = Caches {
    load: [ModFlags::empty(), ModFlags::empty(), ModFlags::GLC],
    volatile_load: ModFlags::GLC,
    streaming_load: ModFlags::GLC.union(ModFlags::SLC),
    streaming_store: ModFlags::GLC.union(ModFlags::SLC),
    invalidate: [&[], &[], &[Opcode::BUFFER_WBINVL1_VOL]],
};
const GFX6: Caches = Caches { invalidate: [&[], &[], &[Opcode::BUFFER_WBINVL1]], ..GFX7 };
/// The outer cache goes first: L0 could be filled from it in between.
const GFX10: Caches = Caches {
    load: [ModFlags::empty(), ModFlags::GLC, ModFlags::GLC.union(ModFlags::DLC)],
    volatile_load: ModFlags::GLC.union(ModFlags::DLC),
    streaming_load: ModFlags::SLC,
    streaming_store: ModFlags::GLC.union(ModFlags::SLC),
    invalidate: [&[], &[Opcode::BUFFER_GL0_INV], &[Opcode::BUFFER_GL1_INV, Opcode::BUFFER_GL0_INV]],
};

static CACHES: [Caches; Generation::COUNT] = [GFX6, GFX7, GFX7, GFX7, GFX10];

/// When volatile accesses are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Volatile {
    /// Before the next instruction, as LLVM has it.
    #[default]
    Waited,
    /// As others are: the guide asks for no more. They stay in order and pass over the caches.
    AsOthers,
}

/// What a caller may want otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Wishes {
    /// When volatile accesses are done.
    pub volatile: Volatile,
    /// No caches are invalidated (`-amdgcn-skip-cache-invalidations` of LLVM): somebody else does it, or nothing stale can be in them.
    pub skip_invalidates: bool,
}

/// Adds to `f` what the memory model of `target` demands: GLC and SLC bits, `s_waitcnt`, cache invalidates. `FENCE` markers are
/// replaced; one that asks for nothing stays, so that nobody moves accesses over it.
pub fn apply(f: &mut Function, target: &Target, wishes: Wishes) {
    let rules = Rules { target, wishes, one_wave: f.max_flat_workgroup_size <= target.wave_size() };
    for block in f.layout.clone() {
        let data = &mut f.blocks[block];
        if data
            .insts
            .iter()
            .all(|inst| inst.mem.is_none_or(|mem| is_plain(&mem.access)) && inst.op != Opcode::FENCE)
        {
            continue;
        }
        // Memory is accessed in the body alone; head and tail move along.
        let mut out = Vec::with_capacity(data.insts.len() + 4);
        let mut insts = std::mem::take(&mut data.insts).into_iter();
        let body = data.tail_start.saturating_sub(data.head_len) as usize;
        out.extend(insts.by_ref().take(data.head_len as usize));
        insts.by_ref().take(body).for_each(|inst| legalize_inst(inst, &rules, &mut out));
        data.tail_start = out.len() as u32;
        out.extend(insts);
        data.insts = out;
    }
}

fn is_plain(access: &MemAccess) -> bool {
    access.is_simple() && !access.flags.contains(MemFlags::NONTEMPORAL)
}

/// What holds for a whole function.
struct Rules<'a> {
    target: &'a Target,
    wishes: Wishes,
    /// A work-group has one wave.
    one_wave: bool,
}

/// Pushes `inst` with what has to stand around it.
fn legalize_inst(mut inst: Inst, rules: &Rules, out: &mut Vec<Inst>) {
    let Rules { target, wishes, one_wave } = *rules;
    let Some(access) = inst.mem.map(|mem| mem.access) else {
        out.extend((inst.op != Opcode::FENCE).then_some(inst));
        return;
    };
    let Some(op) = kind_of(inst.op) else {
        out.push(inst);
        return;
    };
    let (sequence, reach) = lookup(op, &access, one_wave, target);
    let caches = &CACHES[target.generation() as usize];
    let seq_cst = access.ordering == Ordering::SeqCst;
    // A scope of one address space says so itself; what OpenCL leaves out, a sequentially consistent access does not.
    let one_space = access.flags.contains(MemFlags::ONE_ADDRESS_SPACE)
        && op != Op::Fence
        && access.space != AddrSpace::FLAT;
    let apart = one_space || !seq_cst && target.memory_model == MemoryModel::OpenCl;
    let loc = inst.loc;
    let before = out.len();
    push_wait(out, target, sequence.before, apart, everything(target), loc);
    let through_cache = inst.facts().memory.is_some_and(|memory| memory.kind.has_cache_bits());
    let volatile = access.flags.contains(MemFlags::VOLATILE);
    if through_cache && op != Op::Rmw {
        let bits = |wanted: bool, bits| if wanted { bits } else { ModFlags::empty() };
        let streaming = if op == Op::Load { caches.streaming_load } else { caches.streaming_store };
        inst.mods.flags |= bits(access.flags.contains(MemFlags::NONTEMPORAL), streaming)
            | bits(volatile && op == Op::Load, caches.volatile_load)
            | bits(sequence.glc, caches.load[reach as usize]);
    }
    let own = counted(&inst, target);
    if op != Op::Fence {
        out.push(inst);
    }
    let waited = volatile && wishes.volatile == Volatile::Waited;
    let done = match (waited && through_cache, sequence.after) {
        (false, after) => after,
        (true, Wait::Nothing | Wait::Vm) if access.space != AddrSpace::FLAT => Wait::Vm,
        (true, _) => Wait::Vl,
    };
    push_wait(out, target, done, apart && !waited, own, loc);
    let invalidate = match sequence.invalidate {
        Invalidate::No => false,
        Invalidate::Shared => !apart,
        Invalidate::Yes => true,
    };
    if invalidate && !wishes.skip_invalidates {
        for &op in caches.invalidate[reach as usize] {
            // Only HSA marks memory other than scratch volatile.
            let all = op == Opcode::BUFFER_WBINVL1_VOL && matches!(target.os, Os::AmdPal | Os::Mesa3d);
            let op = if all { Opcode::BUFFER_WBINVL1 } else { op };
            out.push(Inst { loc, ..Inst::new(op, []) });
        }
    }
    if op == Op::Fence && out.len() == before {
        // Where the wave alone is concerned, its accesses come in order by themselves, but the code must not change that: another
        // lane may be meant.
        out.push(Inst { loc, ..Inst::new(Opcode::FENCE, []) });
    }
}

/// A wait for all vector memory: stores are counted apart on some generations.
fn everything(target: &Target) -> WaitCounts {
    target.waits().max().with(Counter::Vm, 0).with(Counter::Vs, 0)
}

/// A wait for `inst` as vector memory, in the counters that it is counted in.
fn counted(inst: &Inst, target: &Target) -> WaitCounts {
    let model = target.waits();
    let counters =
        inst.counter_events(target).kinds.into_iter().flatten().filter_map(|kind| model.kind(kind));
    counters
        .filter(|&(counter, _)| matches!(counter, Counter::Vm | Counter::Vs))
        .fold(model.max(), |counts, (counter, _)| counts.with(counter, 0))
}

/// The table's kind of `op`; scalar loads and everything that is no memory access have none.
fn kind_of(op: Opcode) -> Option<Op> {
    if op == Opcode::FENCE {
        return Some(Op::Fence);
    }
    let facts = op.facts();
    let action = facts.memory.filter(|_| facts.unit != Unit::Smem)?.action;
    if action.contains(MemoryAction::ATOMIC) {
        Some(Op::Rmw)
    } else if action.contains(MemoryAction::STORE) {
        Some(Op::Store)
    } else if action.contains(MemoryAction::LOAD) {
        Some(Op::Load)
    } else {
        None
    }
}

/// What `access` becomes, and for whom.
fn lookup(op: Op, access: &MemAccess, one_wave: bool, target: &Target) -> (Sequence, Reach) {
    let plain = (PLAIN, Reach::Agent);
    let space = match access.space {
        AddrSpace::FLAT => GENERIC,
        AddrSpace::LOCAL => LOCAL,
        // Nobody else can see these, or nobody writes them.
        AddrSpace::PRIVATE | AddrSpace::CONSTANT | AddrSpace::CONSTANT_32BIT | AddrSpace::REGION => {
            return plain;
        }
        _ => GLOBAL,
    };
    let ordering = match (op, access.ordering) {
        (_, Ordering::NotAtomic) => return plain,
        // An unordered read-modify-write does not exist; it would be a monotonic one.
        (Op::Rmw, Ordering::Unordered) => Ordering::Monotonic,
        (_, Ordering::Unordered) | (Op::Fence, Ordering::Monotonic) => return plain,
        (Op::Store, Ordering::Acquire) | (Op::Load, Ordering::Release) => return plain,
        (Op::Load, Ordering::AcqRel) => Ordering::Acquire,
        (Op::Store, Ordering::AcqRel | Ordering::SeqCst) => Ordering::Release,
        (Op::Rmw | Op::Fence, Ordering::SeqCst) => Ordering::AcqRel,
        (_, ordering) => ordering,
    };
    let scope = match access.scope {
        SyncScope::SingleThread | SyncScope::Wavefront => Scope::Wave,
        // One work-group alone sees its LDS.
        SyncScope::Agent | SyncScope::System if space != LOCAL => Scope::Agent,
        _ if one_wave => Scope::Wave,
        _ => Scope::Workgroup,
    };
    let find = |rows: &[Row], scope: Scope| {
        let fits = |row: &&Row| {
            row.op == op
                && row.ordering == ordering
                && (row.scope == scope || row.scope == Scope::Any)
                && row.spaces & space != 0
        };
        rows.iter().find(fits).map(|row| row.sequence)
    };
    let releases = matches!(ordering, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst);
    let spread = target.splits_work_groups();
    let as_agents = spread || target.has(Features::WORKGROUP_PROCESSORS) && releases;
    if as_agents && scope == Scope::Workgroup {
        let found = match space {
            LOCAL => find(LDS_10, scope).or_else(|| find(ROWS, scope)),
            _ => find(ROWS, Scope::Agent),
        };
        return (found.unwrap_or(PLAIN), if spread { Reach::Pair } else { Reach::ComputeUnit });
    }
    (find(ROWS, scope).unwrap_or(PLAIN), Reach::Agent)
}

/// Pushes what waits for LDS, and as vector memory for what `memory` counts.
fn push_wait(out: &mut Vec<Inst>, target: &Target, wait: Wait, apart: bool, memory: WaitCounts, loc: u32) {
    let (vm, lgkm) = match wait {
        Wait::Nothing => (false, false),
        Wait::Lg => (false, true),
        Wait::LgShared => (false, !apart),
        Wait::Vm => (true, false),
        Wait::VmShared => (!apart, false),
        Wait::Vl => (true, true),
        Wait::VlShared => (true, !apart),
    };
    let mut counts = if vm { memory } else { target.waits().max() };
    if lgkm {
        counts = counts.with(Counter::Lgkm, 0);
    }
    out.extend(target.waits().instructions(counts).map(|inst| Inst { loc, ..inst }));
}

#[cfg(test)]
mod tests;
