//! Scalar loads of neighbours become one load.
//!
//! Scalar loads read what nobody has written before in the dispatch ([`movable`]), so those of a block may stand where the first of them
//! does. Loads off one base (or one buffer resource) with constant offsets that touch each other become one of two to sixteen dwords; the
//! parts are copies, which allocation joins: each dword of a tuple lives until its own last use.
//!
//! Nothing is read that was not read before. Only loads at most [`REACH`] instructions behind the first one join it, since results
//! live from there, and none from behind a call; from behind what may end the program only those that read bounded memory
//! ([`may_end`]). Cost: linear, but for sorting the loads of one base.
//!
//! Sources: Southern Islands and Vega ISA manuals, "Scalar Memory Operations" (2, 4, 8 and 16 dwords, aligned to a dword).

use mir::ir::{AddrSpace, MemAccess, MemFlags};
use mir::isa::Opcode;
use mir::machine::{BlockData, Function, Inst, ModFlags, Operand, Reg, RegFile, RegOperand, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Most instructions between the first load of a group and the last.
const REACH: usize = 256;

/// Most dwords of one load.
const WIDEST: u8 = 16;

/// Loads of a base by width, and those by buffer resource.
const LOADS: [[Opcode; 5]; 2] = [
    [
        Opcode::S_LOAD_DWORD,
        Opcode::S_LOAD_DWORDX2,
        Opcode::S_LOAD_DWORDX4,
        Opcode::S_LOAD_DWORDX8,
        Opcode::S_LOAD_DWORDX16,
    ],
    [
        Opcode::S_BUFFER_LOAD_DWORD,
        Opcode::S_BUFFER_LOAD_DWORDX2,
        Opcode::S_BUFFER_LOAD_DWORDX4,
        Opcode::S_BUFFER_LOAD_DWORDX8,
        Opcode::S_BUFFER_LOAD_DWORDX16,
    ],
];

/// What says that memory holds what it held when the dispatch began.
const UNWRITTEN: MemFlags = MemFlags::INVARIANT.union(MemFlags::NO_CLOBBER);

/// The row of [`LOADS`] of loads by buffer resource.
const BUFFERS: usize = 1;

/// What the loads of a group have in common: their row in [`LOADS`], base, offset register, cache bits, access.
type Key = (usize, (VReg, u8), Option<(VReg, u8)>, ModFlags, Option<MemAccess>);

#[derive(Clone, Copy)]
struct Member {
    /// Index in the block.
    at: usize,
    /// Bytes from the base.
    offset: i64,
    dwords: u8,
}

type Group = SmallVec<[Member; 4]>;

/// Merges the scalar loads of all blocks of a selected function.
pub fn merge(f: &mut Function) {
    for block in f.layout.clone() {
        let groups = groups(&f.blocks[block]);
        let runs: Vec<&[Member]> = groups.iter().flat_map(|group| runs(group)).collect();
        if !runs.is_empty() {
            rewrite(f, block, &runs);
        }
    }
}

/// Whether the load reads the same wherever it stands in front of its place. Source: AMDGPU usage guide, "Address Spaces" (constant);
/// language reference, `!invariant.load`, and `!amdgpu.noclobber`.
fn movable(access: &MemAccess) -> bool {
    access.is_simple() && (is_constant(access) || access.flags.intersects(UNWRITTEN))
}

fn is_constant(access: &MemAccess) -> bool {
    matches!(access.space, AddrSpace::CONSTANT | AddrSpace::CONSTANT_32BIT)
}

/// The group and the place of a load that may take part.
fn member(at: usize, inst: &Inst) -> Option<(Key, Member)> {
    let row = LOADS.iter().position(|row| row.contains(&inst.op))?;
    // The intrinsic of buffers promises what it reads; others have their access.
    let access = inst.mem.map(|mem| {
        // Constant memory says by itself that nobody writes it.
        let flags = if is_constant(&mem.access) { UNWRITTEN } else { MemFlags::empty() };
        MemAccess { align_log2: 0, flags: mem.access.flags | flags, ..mem.access }
    });
    if access.as_ref().map_or(row == 0, |access| !movable(access)) {
        return None;
    }
    let virtual_register = |operand: &Operand| match operand.as_reg()? {
        &RegOperand { reg: Reg::Virtual(reg), sub, .. } => Some((reg, sub)),
        _ => None,
    };
    let [dst, base, place] = &inst.operands[..] else { return None };
    let dst = dst.as_reg()?.dwords;
    let (register, offset) = match place {
        Operand::Imm(offset) => (None, *offset),
        place => (Some(virtual_register(place)?), i64::from(inst.mods.offset)),
    };
    let key = (row, virtual_register(base)?, register, inst.mods.flags, access);
    (offset % 4 == 0).then_some((key, Member { at, offset, dwords: dst }))
}

/// Whether the wave may not come to what stands behind `inst`: what is read there is read only if it comes.
fn may_end(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Opcode::INLINE_ASM
            | Opcode::S_ENDPGM
            | Opcode::S_TRAP
            | Opcode::S_SETHALT
            | Opcode::S_SENDMSGHALT
            | Opcode::DEMOTE
            | Opcode::KILLED
    )
}

/// Whether the load may be made where the program would not: the memory is there, or a resource bounds it.
fn may_be_early(&(row, _, _, _, access): &Key) -> bool {
    row == BUFFERS || access.is_some_and(|access| access.flags.contains(MemFlags::DEREFERENCEABLE))
}

/// The block's loads by group, each sorted by offset; groups of one are left out.
fn groups(block: &BlockData) -> Vec<Group> {
    let mut open: FxHashMap<Key, usize> = FxHashMap::default();
    let mut groups: Vec<Group> = Vec::new();
    for (at, inst) in block.insts.iter().enumerate() {
        if inst.op == Opcode::CALL {
            open.clear();
        } else if may_end(inst) {
            open.retain(|key, _| may_be_early(key));
        }
        let Some((key, member)) = member(at, inst) else { continue };
        match open.get(&key) {
            Some(&group) if at - groups[group][0].at <= REACH => groups[group].push(member),
            _ => {
                open.insert(key, groups.len());
                groups.push(Group::from_elem(member, 1));
            }
        }
    }
    groups.retain(|group| group.len() > 1);
    for group in &mut groups {
        group.sort_by_key(|member| (member.offset, member.at));
    }
    groups
}

/// Neighbours of a sorted group that are one load: a power of two of dwords, as many as there are.
fn runs(group: &[Member]) -> SmallVec<[&[Member]; 2]> {
    let mut out = SmallVec::new();
    let mut rest = group;
    while let Some(first) = rest.first() {
        let (mut dwords, mut best) = (0, 1);
        for (i, member) in rest.iter().enumerate() {
            if member.offset != first.offset + 4 * i64::from(dwords) || dwords + member.dwords > WIDEST {
                break;
            }
            dwords += member.dwords;
            if dwords.is_power_of_two() {
                best = i + 1;
            }
        }
        let (run, behind) = rest.split_at(best);
        if best > 1 {
            out.push(run);
        }
        rest = behind;
    }
    out
}

fn rewrite(f: &mut Function, block: mir::machine::Block, runs: &[&[Member]]) {
    // By index: the new load and the parts behind it, at the first member's place.
    let mut wide: FxHashMap<usize, &[Member]> = FxHashMap::default();
    let mut merged = vec![false; f.blocks[block].insts.len()];
    for run in runs {
        let first = run.iter().map(|member| member.at).min().unwrap_or_default();
        wide.insert(first, run);
        for member in *run {
            merged[member.at] = true;
        }
    }
    let old = std::mem::take(&mut f.blocks[block].insts);
    let mut new = Vec::with_capacity(old.len() + runs.len());
    for (at, inst) in old.iter().enumerate() {
        let Some(run) = wide.get(&at) else {
            if !merged[at] {
                new.push(inst.clone());
            }
            continue;
        };
        let dwords: u8 = run.iter().map(|member| member.dwords).sum();
        let row = LOADS.iter().find(|row| row.contains(&inst.op)).unwrap_or(&LOADS[0]);
        let all = f.new_vreg(RegFile::Sgpr, dwords);
        let mut load = inst.clone();
        load.op = row[dwords.trailing_zeros() as usize];
        load.operands[0] = Operand::vreg(all, dwords);
        match &mut load.operands[2] {
            Operand::Imm(offset) => *offset = run[0].offset,
            _ => load.mods.offset = run[0].offset as i32,
        }
        if let Some(mem) = &mut load.mem {
            mem.bytes = 4 * u32::from(dwords);
            mem.access.align_log2 = old[run[0].at].mem.map_or(2, |mem| mem.access.align_log2);
        }
        new.push(load);
        let mut sub = 0;
        for member in *run {
            let part = Operand::sub(all, sub, member.dwords);
            let mut copy = Inst::new(Opcode::COPY, [old[member.at].operands[0], part]);
            copy.loc = old[member.at].loc;
            new.push(copy);
            sub += member.dwords;
        }
    }
    let body = &mut f.blocks[block];
    body.tail_start = new.len() as u32;
    body.insts = new;
}
