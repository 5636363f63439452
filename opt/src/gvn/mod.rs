//! Global value numbering: what has been computed, or loaded, already is not again.
//!
//! Legalisation shares pure instructions as it goes; what its expansions, narrowing and the merging of blocks
//! make equal later, and all loads, are shared here. Blocks are visited in preorder of the dominator tree, so
//! operands are final when an instruction is looked up. An entry of the table is good where its block dominates
//! the present one.
//!
//! Loads have a *version* of their memory in the key: each root of addresses ([`super::memory`]) has one, and a
//! write of what shares memory with the root makes a new one, as does a block where paths meet with a write on
//! one of them. On the way back up the tree versions are put back. A plain store enters its value as what a
//! load of the place gives.
//!
//! A value of a loop does not stand in for one behind the loop: it would have to travel in a VGPR where lanes
//! leave the loop at different times, and be kept alive through it elsewhere.
//!
//! Addresses that differ by a constant are made to ([`neighbours`]), sums of what was subtracted are found ([`differences`]), and variables that are
//! equal are joined ([`equal_params`]), and those of other types with the same bits ([`equal_bits`]).
//!
//! Cost: one look-up for each instruction, and for each write as many steps as there are roots that it may
//! change, at most 60.

mod differences;
mod equal_bits;
mod equal_params;
mod neighbours;

use super::memory::{Flow, Memory, is_constant};
use cranelift_entity::SecondaryMap;
use hashbrown::HashTable;
use mir::ir::*;
use mir::target::Target;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// The version of memory that never changes.
const CONSTANT: u32 = 0;

/// What a load is looked up by: address, space, type and version.
type LoadKey = (Value, AddrSpace, Type, u32);

/// A value and the block that makes it available.
#[derive(Clone, Copy)]
struct Entry {
    value: Value,
    block: u32,
}

/// An instruction in the table.
struct Numbered {
    hash: u64,
    entry: Entry,
}

struct Numbering<'a> {
    func: &'a mut Function,
    module: &'a Module,
    machine: &'a Target,
    memory: &'a Memory,
    flow: &'a Flow,
    table: HashTable<Numbered>,
    loads: FxHashMap<LoadKey, Entry>,
    /// Version of each root, and the last one given.
    versions: Vec<u32>,
    last_version: u32,
    /// Versions as they were, to be put back.
    undo: Vec<(u8, u32)>,
    replaced: SecondaryMap<Value, Option<Value>>,
    neighbours: neighbours::Neighbours,
    /// The block of each value that was there before, once somebody asks.
    homes: Option<SecondaryMap<Value, Option<Block>>>,
    /// Whether intrinsics without effects depend on nothing but their operands.
    shares_intrinsics: bool,
}

/// Shares equal computations and loads of `func`, which is legal IR of `module`.
pub fn number(func: &mut Function, module: &Module, target: &Target) {
    let memory = Memory::new(func, module, target);
    let mut flow = Flow::new(func);
    if !flow.loops.is_reducible() {
        return;
    }
    flow.note_writes(func, module, &memory);
    let mut blocks: Vec<(u32, u32, u32)> = Vec::with_capacity(flow.order.blocks().len());
    for &block in flow.order.blocks() {
        if let Some((enter, leave)) = flow.dominators.preorder_range(block) {
            blocks.push((enter, leave, block));
        }
    }
    blocks.sort_unstable();
    // Whether a pixel's lane still counts changes with kills.
    let shares_intrinsics = func.is_kernel() || func.call_conv.is_callable();
    let mut pass = Numbering {
        func,
        module,
        machine: target,
        memory: &memory,
        flow: &flow,
        table: HashTable::new(),
        loads: FxHashMap::default(),
        versions: vec![CONSTANT + 1; memory.len()],
        last_version: CONSTANT + 1,
        undo: Vec::new(),
        replaced: SecondaryMap::new(),
        neighbours: neighbours::Neighbours::default(),
        homes: None,
        shares_intrinsics,
    };
    // Blocks above the present one: the last preorder number below each, and how much had been undone there.
    let mut above: Vec<(u32, usize)> = Vec::new();
    for (enter, leave, block) in blocks {
        while let Some(&(last, _)) = above.last()
            && last < enter
        {
            let (_, length) = above.pop().unwrap_or_default();
            pass.restore(length);
        }
        above.push((leave, pass.undo.len()));
        pass.visit(block);
    }
    if !pass.replaced.is_empty() {
        let replaced = pass.replaced;
        super::inline::substitute(func, &replaced);
    }
    equal_params::join(func);
    equal_bits::join(func);
}

impl Numbering<'_> {
    fn restore(&mut self, length: usize) {
        for (root, version) in self.undo.drain(length..).rev() {
            self.versions[usize::from(root)] = version;
        }
    }

    /// Gives the memory of these roots a new version, one for all of them: where two roots have the same, both were last written at once, so that
    /// one place, which accesses of two sets belong to two roots by, still has what it had then for both.
    fn clobber(&mut self, roots: u64) {
        self.last_version += 1;
        for root in 0..self.versions.len() {
            if roots >> root & 1 == 1 {
                self.undo.push((root as u8, self.versions[root]));
                self.versions[root] = self.last_version;
            }
        }
    }

    fn visit(&mut self, block: u32) {
        self.clobber(self.flow.written_above(block));
        let insts = std::mem::take(&mut self.func.blocks[Block::from_u32(block)].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            mir::interrupt::checkpoint();
            let replaced = &self.replaced;
            self.func.insts[inst].kind.for_each_value_mut(|v| {
                if let Some(new) = replaced[*v] {
                    *v = new;
                }
            });
            self.relate(inst, block);
            match self.taken_back(inst, block).or_else(|| self.known(inst, block)) {
                Some((old, new)) => self.replaced[old] = Some(new),
                None => kept.push(inst),
            }
        }
        // If they were asked for meanwhile, these instructions were not in their block.
        if let Some(homes) = &mut self.homes {
            for result in kept.iter().filter_map(|&inst| self.func.insts[inst].result) {
                homes[result] = Some(Block::from_u32(block));
            }
        }
        self.func.blocks[Block::from_u32(block)].insts = kept;
    }

    /// Writes an address that is a constant away from an earlier one as that.
    fn relate(&mut self, inst: Inst, block: u32) {
        let flow = self.flow;
        let reaches = |from, to| value_reaches(flow, from, to);
        match self.func.insts[inst].kind {
            InstKind::Binary {
                op: BinaryOp::Add | BinaryOp::Or | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl,
                ..
            } => {
                self.neighbours.visit_sum(self.func, inst, block, reaches);
            }
            InstKind::PtrAdd { index: Some(_), .. } => {
                if let Some(kind) =
                    self.neighbours.visit_address(self.func, self.machine, inst, block, reaches)
                {
                    self.func.insts[inst].kind = kind;
                }
            }
            // What may be read everywhere may have moved here.
            InstKind::Load { ptr, mem } | InstKind::Store { ptr, mem, .. }
                if !mem.flags.contains(MemFlags::DEREFERENCEABLE) =>
            {
                self.neighbours.visit_access(self.func, ptr, block);
            }
            _ => {}
        }
    }

    /// The result of `inst` and the value that is the same; enters what is new.
    fn known(&mut self, inst: Inst, block: u32) -> Option<(Value, Value)> {
        let data = &self.func.insts[inst];
        match data.kind {
            InstKind::Load { ptr, mem } if mem.is_simple() => {
                let (result, ty) = (data.result?, data.ty);
                // What was never written may have been read by who does not know that, and may be again.
                let constant = is_constant(&mem).then_some(CONSTANT);
                let version = self.version(ptr, &mem);
                let keys = constant.into_iter().chain([version]).map(|version| (ptr, mem.space, ty, version));
                for key in keys.clone() {
                    if let Some(&entry) = self.loads.get(&key)
                        && self.reaches(entry.block, block)
                    {
                        return Some((result, entry.value));
                    }
                }
                self.loads.extend(keys.map(|key| (key, Entry { value: result, block })));
                None
            }
            InstKind::Store { ptr, value, mem } if mem.is_simple() => {
                self.clobber(self.memory.writes(self.func, self.module, inst));
                let key = (ptr, mem.space, self.func.ty(value), self.version(ptr, &mem));
                self.loads.insert(key, Entry { value, block });
                None
            }
            _ if data.has_side_effects() => {
                self.clobber(self.memory.writes(self.func, self.module, inst));
                None
            }
            _ => self.shared(inst, block),
        }
    }

    fn version(&self, ptr: Value, mem: &MemAccess) -> u32 {
        let root = self.memory.number(self.func, self.module, ptr, mem);
        self.versions[usize::from(root)]
    }

    /// Whether what `from` computes may stand in for what `to` does.
    fn reaches(&self, from: u32, to: u32) -> bool {
        value_reaches(self.flow, from, to)
    }

    fn shared(&mut self, inst: Inst, block: u32) -> Option<(Value, Value)> {
        let data = &self.func.insts[inst];
        let result = data.result?;
        if !is_pure(data) || !self.shares_intrinsics && matches!(data.kind, InstKind::Intrinsic { .. }) {
            return None;
        }
        let hash = FxBuildHasher.hash_one((&data.kind, data.ty));
        let func = &*self.func;
        let same = |numbered: &Numbered| {
            let other = func.def_inst(numbered.entry.value).map(|inst| &func.insts[inst]);
            numbered.hash == hash
                && other.is_some_and(|other| {
                    other.ty == data.ty
                        && other.kind == data.kind
                        && other.fpmath_ulp_256 == data.fpmath_ulp_256
                })
        };
        let entry = Entry { value: result, block };
        let Some(found) = self.table.find(hash, same).map(|numbered| numbered.entry) else {
            self.table.insert_unique(hash, Numbered { hash, entry }, |numbered| numbered.hash);
            return None;
        };
        if !self.reaches(found.block, block) {
            // Code to come is more likely below this block than below the old one.
            let old = |numbered: &Numbered| numbered.entry.value == found.value;
            if let Some(numbered) = self.table.find_mut(hash, old) {
                numbered.entry = entry;
            }
            return None;
        }
        let flags = data.flags;
        if let Some(first) = self.func.def_inst(found.value) {
            self.func.insts[first].flags &= flags;
        }
        Some((result, found.value))
    }
}

/// Whether what block `from` computes may stand in for what `to` does.
fn value_reaches(flow: &Flow, from: u32, to: u32) -> bool {
    flow.dominators.dominates(from, to)
        && flow.loops.innermost(from).is_none_or(|l| flow.loops.contains(l, to))
}

/// Whether equal instructions of this kind give equal results wherever they stand, loads apart. Members of results stay
/// with the instruction that makes them, a frozen value is one for all its users already.
pub(super) fn is_pure(data: &InstData) -> bool {
    let stays = matches!(
        data.kind,
        InstKind::Load { .. } | InstKind::ExtractValue { .. } | InstKind::Unary { op: UnaryOp::Freeze, .. }
    );
    let unwritten = data.flags.contains(InstFlags::INVARIANT);
    !stays
        && !data.flags.contains(InstFlags::STRICT)
        && (unwritten || super::builder::is_shareable(&data.kind))
}
