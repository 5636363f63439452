//! Scalar loads of neighbours become one load.
//!
//! Scalar loads read what nobody has written before in the dispatch ([`movable`]), so those of a block may stand where the first of them
//! does. Loads off one base (or one buffer resource) with constant offsets that are close to each other become one of two to sixteen dwords; the
//! parts are copies, which allocation joins: each dword of a tuple lives until its own last use.
//!
//! What lies between the parts of a load is read with them where nobody writes it, and nobody looks at it: it belongs to the object that they belong to. Nothing is
//! read in front of the first part of all, or behind the last. Which loads become one is what costs least ([`cost`]).
//!
//! Only loads at most [`REACH`] instructions behind the first one join it, since results live from there, and none from behind a call; from behind what may end the
//! program only those that read bounded memory ([`may_end`]). Cost: linear, but for sorting the loads of one base.
//!
//! Sources: Southern Islands and Vega ISA manuals, "Scalar Memory Operations" (2, 4, 8 and 16 dwords, aligned to a dword).

use mir::ir::{AddrSpace, MemAccess, MemFlags};
use mir::isa::Opcode;
use mir::machine::{BlockData, Function, Inst, ModFlags, Operand, Reg, RegFile, RegOperand, VReg};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

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

/// Loads off one base, in order of their offsets.
struct Group {
    members: SmallVec<[Member; 4]>,
    /// What lies between them may be read.
    has_readable_gaps: bool,
}

/// Merges the scalar loads of all blocks of a selected function.
pub fn merge(f: &mut Function) {
    for block in f.layout.clone() {
        let groups = groups(&f.blocks[block]);
        let runs: Vec<Run<'_>> = groups.iter().flat_map(runs).collect();
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

/// Whether what lies between loads of the group is never written, either: of memory that no store clobbers only the parts are known to be such.
fn has_readable_gaps(&(row, _, _, _, access): &Key) -> bool {
    row == BUFFERS
        || access.is_some_and(|access| is_constant(&access) || access.flags.contains(MemFlags::INVARIANT))
}

/// The block's loads by group; groups of one are left out.
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
            Some(&group) if at - groups[group].members[0].at <= REACH => groups[group].members.push(member),
            _ => {
                open.insert(key, groups.len());
                let has_readable_gaps = has_readable_gaps(&key);
                groups.push(Group { members: smallvec![member], has_readable_gaps });
            }
        }
    }
    groups.retain(|group| group.members.len() > 1);
    for group in &mut groups {
        group.members.sort_by_key(|member| (member.offset, member.at));
    }
    groups
}

/// Loads that become one.
#[derive(Clone, Copy)]
struct Run<'a> {
    members: &'a [Member],
    /// Bytes from the base to the first dword that is read.
    offset: i64,
    /// A power of two.
    dwords: u8,
}

/// What a load costs of which `unused` dwords are not looked at, in dwords of the scalar cache's path: the path, which gives 16 bytes a cycle and no less, as much
/// again for an instruction, and the registers.
fn cost(dwords: u8, unused: u32) -> u32 {
    4 + u32::from(dwords).max(4) + unused
}

/// What moving a part costs that begins `sub` dwords behind a multiple of four, where tuples must not.
fn misalignment(dwords: u8, sub: usize) -> u32 {
    match (dwords, sub % 4) {
        (1, _) | (2, 2) | (_, 0) => 0,
        (_, 2) => 2 * u32::from(dwords),
        _ => 4 * u32::from(dwords),
    }
}

/// The loads that a group becomes, but for those that stay alone.
fn runs(group: &Group) -> SmallVec<[Run<'_>; 2]> {
    let members = &group.members[..];
    let end = |member: &Member| member.offset + 4 * i64::from(member.dwords);
    let lowest = members.first().map_or(0, |member| member.offset);
    let highest = members.iter().map(end).max().unwrap_or(lowest);
    // For each member the least cost of it and those behind it, and the load that it begins.
    let mut best: SmallVec<[(u32, Run<'_>); 8]> = SmallVec::with_capacity(members.len());
    for (i, first) in members.iter().enumerate().rev() {
        let behind = |count: usize| best.len().checked_sub(count).map_or(0, |k| best[k].0);
        let alone = Run { members: &members[i..=i], offset: first.offset, dwords: first.dwords };
        let mut least = (cost(first.dwords, 0) + behind(1), alone);
        let mut wanted = 0u32;
        // What is moved if the load begins so many dwords in front of its first part.
        let mut moved = [0; 4];
        for (count, member) in (1..).zip(&members[i..]) {
            let from = (member.offset - first.offset) / 4;
            if from + i64::from(member.dwords) > i64::from(WIDEST) {
                break;
            }
            wanted |= ((1 << member.dwords) - 1) << from;
            (0..4).for_each(|k| moved[k] += misalignment(member.dwords, from as usize + k));
            let span = u32::BITS - wanted.leading_zeros();
            let dwords = span.next_power_of_two();
            let unused = dwords - wanted.count_ones();
            if unused > 0 && !group.has_readable_gaps {
                continue;
            }
            for (k, moved) in (0i64..).zip(moved).take((dwords - span) as usize + 1) {
                // The program reads from `lowest` to `highest`.
                let offset = first.offset - 4 * k;
                if offset < lowest || offset + 4 * i64::from(dwords) > highest {
                    continue;
                }
                let total = cost(dwords as u8, unused) + moved + behind(count);
                if total < least.0 || total == least.0 && unused == 0 {
                    least = (total, Run { members: &members[i..i + count], offset, dwords: dwords as u8 });
                }
            }
        }
        best.push(least);
    }
    best.reverse();
    let mut out = SmallVec::new();
    let mut i = 0;
    while i < members.len() {
        let run = best[i].1;
        i += run.members.len();
        if run.members.len() > 1 {
            out.push(run);
        }
    }
    out
}

fn rewrite(f: &mut Function, block: mir::machine::Block, runs: &[Run<'_>]) {
    // By index: the new load and the parts behind it, at the first member's place.
    let mut wide: FxHashMap<usize, &Run<'_>> = FxHashMap::default();
    let mut merged = vec![false; f.blocks[block].insts.len()];
    for run in runs {
        let first = run.members.iter().map(|member| member.at).min().unwrap_or_default();
        wide.insert(first, run);
        for member in run.members {
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
        let row = LOADS.iter().find(|row| row.contains(&inst.op)).unwrap_or(&LOADS[0]);
        let all = f.new_vreg(RegFile::Sgpr, run.dwords);
        let mut load = inst.clone();
        load.op = row[run.dwords.trailing_zeros() as usize];
        load.operands[0] = Operand::vreg(all, run.dwords);
        match &mut load.operands[2] {
            Operand::Imm(offset) => *offset = run.offset,
            _ => load.mods.offset = run.offset as i32,
        }
        if let Some(mem) = &mut load.mem {
            mem.bytes = 4 * u32::from(run.dwords);
            let first = run.members[0];
            mem.access.align_log2 = match run.offset == first.offset {
                true => old[first.at].mem.map_or(2, |mem| mem.access.align_log2),
                false => 2,
            };
        }
        new.push(load);
        for member in run.members {
            let sub = ((member.offset - run.offset) / 4) as u8;
            let part = Operand::sub(all, sub, member.dwords);
            let mut copy = Inst::new(Opcode::COPY, [old[member.at].operands[0], part]);
            copy.loc = old[member.at].loc;
            new.push(copy);
        }
    }
    let body = &mut f.blocks[block];
    body.tail_start = new.len() as u32;
    body.insts = new;
}
