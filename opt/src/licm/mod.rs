//! Loop-invariant code motion: what a loop computes anew in each iteration, and always the same, is computed in
//! front of it.
//!
//! An instruction is taken out of the outermost loop of those around it that define none of its operands; blocks
//! are visited in an order in which operands come first, so chains move together. What moves:
//!
//! * pure instructions; those that depend on which lanes are there stay;
//! * plain loads of memory that the loop does not write, where they would be made anyway (their block is passed
//!   before the loop can be left, and nothing in it may end the program) or may be made always.
//!
//! Values that live across a loop take registers, and a kernel with fewer registers has more waves, so what is
//! taken out of a loop adds at most [`MAX_DWORDS`] to what lives there: of a chain that moves together, its end.
//! What costs nothing where it is used is not counted, and moves only for others: constant offsets and changes
//! of width are parts of the instructions that use them. Comparisons stay beside the branches and choices that
//! take them from SCC or VCC. What is the same as something moved before it, say of another branch, is that.
//!
//! An invariant index that an address adds behind one that changes is added before it, in front of the loop ([`addends`]).
//!
//! A moved value has the lanes of the loop's header or more, and one instance for all iterations, so what was
//! uniform is uniform and what was temporally divergent no longer is.
//!
//! Cost: linear in instructions inside of loops times the nesting looked at, at most [`MAX_DEPTH`].

mod addends;

use super::bits::dwords;
use super::cfg::uses;
use super::gvn::is_pure;
use super::memory::{Flow, Memory, STOPS, is_of_wave, never_changes};
use cranelift_entity::SecondaryMap;
use hashbrown::HashTable;
use mir::analysis::{Graph, Loop, Uniformity};
use mir::ir::*;
use mir::target::Target;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Dwords of values that a loop gets from outside by this pass. Ten waves have 24 VGPRs each (GFX6 to GFX9), of
/// which a loop itself needs more than half.
const MAX_DWORDS: u32 = 12;

/// The same of values that are one for the wave, in SGPRs: ten waves have 80 each, of which arguments and conditions take some.
const MAX_SCALAR_DWORDS: u32 = 32;

/// Loops that one instruction is taken out of.
const MAX_DEPTH: usize = 8;

/// Where a value is defined, as far as loops see it.
#[derive(Clone, Copy, Default)]
enum Home {
    /// Outside of loops.
    #[default]
    Outside,
    /// In this loop and none inside of it.
    In(Loop),
}

/// Where a value that lives across a loop is kept.
#[derive(Clone, Copy, PartialEq)]
enum File {
    /// In VGPRs, as far as is known here.
    Vector,
    /// In SGPRs: it comes from the launch of the wave, and is the same for all lanes.
    Scalar,
}

/// What an instruction costs where it stands.
#[derive(Clone, Copy, PartialEq)]
enum Weight {
    /// It stays where it is.
    Fixed,
    /// Part of what uses it.
    Free,
    /// An instruction and a register for its result.
    Counted,
}

/// Takes invariant code out of the loops of `func`, which is legal IR of `module`.
pub fn hoist(func: &mut Function, module: &Module, target: &Target) {
    let mut flow = Flow::new(func);
    if flow.loops.is_empty() || !flow.loops.is_reducible() {
        return;
    }
    let memory = Memory::new(func, module, target);
    flow.note_writes(func, module, &memory);
    let loops = flow.loops.len();
    let mut pass = Hoisting {
        written: flow.loops.iter().map(|l| flow.written_in(l)).collect(),
        // Whether a pixel's lane still counts changes with kills.
        moves_intrinsics: func.is_kernel() || func.call_conv.is_callable(),
        homes: SecondaryMap::with_capacity(func.values.len()),
        moved: vec![Vec::new(); loops],
        dwords: vec![[0; 2]; loops],
        uses: uses(func),
        counted: SecondaryMap::new(),
        table: HashTable::new(),
        replaced: SecondaryMap::new(),
        uniformity: addends::has_sums(func, &flow).then(|| Uniformity::compute(func, target)),
        left_sums: false,
        module,
        memory: &memory,
        flow: &flow,
    };
    pass.find(func);
    let (moved, replaced, left_sums) = (pass.moved, pass.replaced, pass.left_sums);
    if !replaced.is_empty() {
        super::inline::substitute(func, &replaced);
    }
    let mut before: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    for (l, insts) in flow.loops.iter().zip(moved) {
        if !insts.is_empty() {
            before[Block::from_u32(flow.loops[l].header)] = place_before(func, &flow, l, &insts);
        }
    }
    let layout = std::mem::take(&mut func.layout);
    func.layout = layout.into_iter().flat_map(|block| before[block].into_iter().chain([block])).collect();
    if left_sums {
        super::dce::remove_dead(func);
    }
}

struct Hoisting<'a> {
    module: &'a Module,
    /// Of the function as it came, if somebody may ask.
    uniformity: Option<Uniformity>,
    /// Whether sums were left that nobody asks for.
    left_sums: bool,
    memory: &'a Memory,
    flow: &'a Flow,
    /// What each loop writes.
    written: Vec<u64>,
    moves_intrinsics: bool,
    homes: SecondaryMap<Value, Home>,
    /// What is taken out of each loop, in order.
    moved: Vec<Vec<Inst>>,
    /// What that adds to the values that live in it, by [`File`].
    dwords: Vec<[u32; 2]>,
    /// Uses of each value that are where they were.
    uses: SecondaryMap<Value, u32>,
    /// The innermost loop among those in which a value was counted, and as what.
    counted: SecondaryMap<Value, Option<(Loop, File)>>,
    /// What was moved, with the loop that it was taken out of, by hash.
    table: HashTable<(u64, Value, Loop)>,
    /// Values that something moved before stands for.
    replaced: SecondaryMap<Value, Option<Value>>,
}

impl Hoisting<'_> {
    fn find(&mut self, func: &mut Function) {
        for &number in self.flow.order.blocks() {
            let Some(inner) = self.flow.loops.innermost(number) else { continue };
            let block = Block::from_u32(number);
            for &param in &func.blocks[block].params {
                self.homes[param] = Home::In(inner);
            }
            let insts = std::mem::take(&mut func.blocks[block].insts);
            let mut kept = Vec::with_capacity(insts.len());
            for inst in insts {
                mir::interrupt::checkpoint();
                if let Some(first) = self.add_invariant_first(func, inst, inner) {
                    self.visit(func, first, (number, inner), &mut kept);
                }
                self.visit(func, inst, (number, inner), &mut kept);
            }
            func.blocks[block].insts = kept;
        }
    }

    /// Takes `inst`, of a block in the innermost loop there, out of loops, or appends it to what is kept.
    fn visit(&mut self, func: &mut Function, inst: Inst, (block, inner): (u32, Loop), kept: &mut Vec<Inst>) {
        let replaced = &self.replaced;
        func.insts[inst].kind.for_each_value_mut(|v| {
            if let Some(new) = replaced[*v] {
                *v = new;
            }
        });
        let out_of = self.outermost(func, inst, block, inner);
        if let Some(l) = out_of
            && self.is_known(func, inst, l)
        {
            if let Some((dwords, file)) = self.dwords_counted(func, inst) {
                self.count((inner, l), file, dwords, 0);
            }
            return;
        }
        let home = match out_of {
            Some(l) => self.flow.loops[l].parent.map_or(Home::Outside, Home::In),
            None => Home::In(inner),
        };
        match out_of {
            Some(l) => self.moved[l.index()].push(inst),
            None => kept.push(inst),
        }
        if let Some(result) = func.insts[inst].result {
            self.homes[result] = home;
        }
    }

    /// The outermost loop that `inst` of `block` is taken out of.
    fn outermost(&mut self, func: &Function, inst: Inst, block: u32, inner: Loop) -> Option<Loop> {
        let data = &func.insts[inst];
        let weight = self.weight(data);
        if weight == Weight::Fixed {
            return None;
        }
        let dwords = dwords(data.ty);
        let (file, most) = match is_of_wave(func, data) {
            true => (File::Scalar, MAX_SCALAR_DWORDS),
            false => (File::Vector, MAX_DWORDS),
        };
        let freed = self.freed(func, data, inner, file);
        let (mut found, mut at) = (None, Some(inner));
        for _ in 0..MAX_DEPTH {
            let Some(l) = at else { break };
            let mut varies = false;
            data.kind.for_each_value(|v| varies |= self.is_defined_in(v, l));
            let alive = self.dwords[l.index()][file as usize].saturating_sub(freed).saturating_add(dwords);
            let room = weight == Weight::Free || alive <= most;
            if varies || !room || !self.may_load_before(func, inst, block, l) {
                break;
            }
            found = Some(l);
            at = self.flow.loops[l].parent;
        }
        let l = found?;
        data.kind.for_each_value(|v| self.uses[v] -= 1);
        let counted = if weight == Weight::Counted { dwords } else { 0 };
        if counted > 0 {
            self.counted[data.result?] = Some((inner, file));
        }
        self.count((inner, l), file, freed, counted);
        found
    }

    /// Takes `less` dwords from what lives in the loops from `inner` to `outer`, and adds `more`.
    fn count(&mut self, (inner, outer): (Loop, Loop), file: File, less: u32, more: u32) {
        let mut at = Some(inner);
        while let Some(l) = at {
            let alive = &mut self.dwords[l.index()][file as usize];
            *alive = alive.saturating_sub(less).saturating_add(more);
            at = if l == outer { None } else { self.flow.loops[l].parent };
        }
    }

    /// Dwords of values that were moved out of `inner` for `data` alone: they end in front of the loop with it.
    fn freed(&self, func: &Function, data: &InstData, inner: Loop, file: File) -> u32 {
        let mut freed = 0;
        data.kind.for_each_value(|v| {
            if self.uses[v] == 1 && self.counted[v] == Some((inner, file)) {
                freed = u32::saturating_add(freed, dwords(func.ty(v)));
            }
        });
        freed
    }

    /// What the result of `inst` was counted as.
    fn dwords_counted(&self, func: &Function, inst: Inst) -> Option<(u32, File)> {
        let result = func.insts[inst].result?;
        let (_, file) = self.counted[result]?;
        Some((dwords(func.ty(result)), file))
    }

    /// Whether `inst`, to be taken out of `l`, is the same as something taken out of it, which stands for it then;
    /// enters what is new.
    fn is_known(&mut self, func: &mut Function, inst: Inst, l: Loop) -> bool {
        let data = &func.insts[inst];
        // What is in SGPRs, or in none, may live from one loop to the next.
        let shared = self.weight(data) == Weight::Free
            || matches!(&data.kind, InstKind::Load { mem, .. } if never_changes(mem))
                && is_of_wave(func, data);
        let Some(result) = data.result.filter(|_| shared || is_pure(data)) else { return false };
        let home = (!shared).then_some(l);
        let hash = FxBuildHasher.hash_one((&data.kind, data.ty, home.map(Loop::index)));
        let same = |&(other_hash, value, from): &(u64, Value, Loop)| {
            let other = func.def_inst(value).map(|inst| &func.insts[inst]);
            other_hash == hash
                && (shared || from == l)
                && other.is_some_and(|other| {
                    (other.ty, &other.kind, other.fpmath_ulp_256)
                        == (data.ty, &data.kind, data.fpmath_ulp_256)
                })
        };
        let first = match self.table.find_mut(hash, same) {
            None => {
                self.table.insert_unique(hash, (hash, result, l), |entry| entry.0);
                return false;
            }
            Some(entry) => {
                let header = |l: Loop| self.flow.loops[l].header;
                if entry.2 != l && !self.flow.dominators.dominates(header(entry.2), header(l)) {
                    // One is remembered: code comes in an order in which what follows is dominated by the later one, if by either.
                    *entry = (hash, result, l);
                    return false;
                }
                entry.1
            }
        };
        self.replaced[result] = Some(first);
        self.uses[first] += self.uses[result];
        let flags = data.flags;
        if let Some(first) = func.def_inst(first) {
            func.insts[first].flags &= flags;
        }
        true
    }

    fn is_defined_in(&self, value: Value, l: Loop) -> bool {
        match self.homes[value] {
            Home::Outside => false,
            Home::In(home) => self.flow.loops.contains(l, self.flow.loops[home].header),
        }
    }

    fn weight(&self, data: &InstData) -> Weight {
        match &data.kind {
            InstKind::Load { mem, .. } if mem.is_simple() => return Weight::Counted,
            _ if !is_pure(data) => return Weight::Fixed,
            _ => {}
        }
        match &data.kind {
            InstKind::Icmp { .. }
            | InstKind::Fcmp { .. }
            | InstKind::InsertElement { .. }
            | InstKind::Select { .. } => Weight::Fixed,
            InstKind::PtrAdd { index: None, .. } | InstKind::ExtractElement { .. } => Weight::Free,
            InstKind::Cast {
                op:
                    CastOp::Trunc
                    | CastOp::ZExt
                    | CastOp::SExt
                    | CastOp::PtrToInt
                    | CastOp::IntToPtr
                    | CastOp::BitCast,
                ..
            } => Weight::Free,
            InstKind::Intrinsic { .. } if !self.moves_intrinsics => Weight::Fixed,
            _ if data.ty.is_int(1) => Weight::Fixed,
            _ => Weight::Counted,
        }
    }

    /// Whether `inst`, if it is a load, gives the same in front of `l`.
    fn may_load_before(&self, func: &Function, inst: Inst, block: u32, l: Loop) -> bool {
        let exits = &self.flow.loops[l].exits;
        let goes_on = self.written[l.index()] & STOPS == 0;
        let runs = || {
            let passed = |&(from, _): &(u32, u32)| self.flow.dominators.dominates(block, from);
            goes_on && !exits.is_empty() && exits.iter().all(passed)
        };
        let InstKind::Load { ptr, mem } = func.insts[inst].kind else {
            return !func.insts[inst].flags.contains(InstFlags::INVARIANT) || runs();
        };
        let unwritten = never_changes(&mem) || {
            let root = self.memory.number(func, self.module, ptr, &mem);
            self.written[l.index()] >> root & 1 == 0
        };
        unwritten && (mem.flags.contains(MemFlags::DEREFERENCEABLE) || runs())
    }
}

/// Puts instructions in front of a loop: at the end of the block that leads to it and nowhere else, or in a new
/// one, which is returned and not in the layout yet.
fn place_before(func: &mut Function, flow: &Flow, l: Loop, insts: &[Inst]) -> Option<Block> {
    let header = flow.loops[l].header;
    let mut outside: Vec<u32> =
        flow.graph.preds(header).iter().copied().filter(|&pred| !flow.loops.contains(l, pred)).collect();
    outside.dedup();
    let target = Block::from_u32(header);
    if let [pred] = outside[..]
        && let Some(last) = func.terminator(Block::from_u32(pred))
        && matches!(func.insts[last].kind, InstKind::Jump { .. })
    {
        let list = &mut func.blocks[Block::from_u32(pred)].insts;
        list.splice(list.len() - 1..list.len() - 1, insts.iter().copied());
        return None;
    }
    let block = func.blocks.push(BlockData::default());
    let types: Vec<Type> = func.blocks[target].params.iter().map(|&param| func.ty(param)).collect();
    let args = types.into_iter().map(|ty| func.add_block_param(block, ty)).collect();
    func.blocks[block].insts.extend_from_slice(insts);
    func.append(block, InstKind::Jump { target: BlockCall { block: target, args } }, Type::Void);
    for pred in outside {
        let Some(last) = func.terminator(Block::from_u32(pred)) else { continue };
        for call in func.insts[last].kind.targets_mut() {
            if call.block == target {
                call.block = block;
            }
        }
    }
    Some(block)
}
