//! Layout and branches: from blocks with terminators to code.
//!
//! 1. Empty blocks are folded away and blocks that the wave cannot reach are dropped.
//! 2. Each terminator becomes branch instructions, none where the target follows anyway.
//! 3. Everything is encoded once; branch fields are patched when all offsets are known.
//! 4. Where a branch does not reach (±32,767 dwords), *islands* are placed: unconditional branches that it hops over. An
//!    island site may lie at any instruction boundary, skipped by a branch of its own, so even a block longer than the reach is
//!    fine, and no register is needed and no flag changes. The only places that must stay whole are address computations from the
//!    program counter and inline assembly with labels. Sites lie at fixed distances; a branch goes to the farthest one it reaches, all branches to one target
//!    share its entry at a site, and entries are only ever added, so the iteration ends. Then the blocks are split at the sites
//!    and encoded again.
//!
//! Cost: linear; with islands, linear in branches times rounds (2 or 3), each a binary search among the sites.

use crate::CodeReloc;
use cranelift_entity::SecondaryMap;
use mir::isa::{Opcode, Unit, encode};
use mir::machine::{Block, Condition, Edge, Function, Inst, Operand, Terminator};
use mir::target::Target;
use mir::{Diagnostic, Result};
use rustc_hash::FxHashMap;

/// Farthest displacement of a branch, in dwords from the next instruction.
const REACH: i64 = 32767;
/// Dwords between island sites.
const SITE_DISTANCE: u32 = 8192;
/// Displacement up to which hops are planned; the rest of the reach is for islands to come.
const HOP: i64 = 28000;

/// Encoded instructions of a function.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Dwords.
    pub words: Vec<u32>,
    /// Places to relocate.
    pub relocs: Vec<CodeReloc>,
    /// Byte offsets where the source position changes, with the new one (index into `locs`).
    pub positions: Vec<(u32, u32)>,
}

/// Settles the order of blocks and their branches, and encodes `f`. Afterwards blocks end in branch instructions.
///
/// Errors: those of the encoder; `Limit` where branches cannot be made to reach.
pub fn layout_and_encode(f: &mut Function, target: &Target) -> Result<Code> {
    fold_empty_blocks(f);
    expand_pseudos(f);
    return_at_end(f);
    lower_terminators(f);
    let mut encoded = encode_blocks(f, target)?;
    if encoded.patch() {
        return Ok(encoded.code);
    }
    insert_islands(f, &encoded.dwords)?;
    let mut encoded = encode_blocks(f, target)?;
    match encoded.patch() {
        true => Ok(encoded.code),
        false => Err(Diagnostic::defect("a branch does not reach its island")),
    }
}

/// Redirects edges around blocks that do nothing, and keeps in the layout what the entry reaches.
pub(crate) fn fold_empty_blocks(f: &mut Function) {
    let next = |f: &Function, block: Block| match (&f.blocks[block].term, f.blocks[block].insts.is_empty()) {
        (Terminator::Jump, true) => f.blocks[block].wave_succs.first().map(|edge| edge.block),
        _ => None,
    };
    // The end of each chain of empty blocks; a ring of them is an endless loop and keeps one block.
    let mut end: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    for &start in &f.layout {
        let mut chain = Vec::new();
        let mut block = start;
        let last = loop {
            if let Some(known) = end[block] {
                break known;
            }
            match next(f, block) {
                Some(following) => {
                    // Seen again before it is known to end: a ring.
                    end[block] = Some(block);
                    chain.push(block);
                    block = following;
                }
                None => break block,
            }
        };
        end[last] = Some(last);
        for block in chain {
            end[block] = Some(last);
        }
    }
    let Some(&entry) = f.layout.first() else { return };
    let mut reached: SecondaryMap<Block, bool> = SecondaryMap::new();
    reached[entry] = true;
    let mut work = vec![entry];
    while let Some(block) = work.pop() {
        let data = &mut f.blocks[block];
        for edge in &mut data.wave_succs {
            edge.block = end[edge.block].unwrap_or(edge.block);
            if !std::mem::replace(&mut reached[edge.block], true) {
                work.push(edge.block);
            }
        }
    }
    f.layout.retain(|&block| reached[block]);
}

/// Expands what stands for several instructions, and drops what stands for none.
fn expand_pseudos(f: &mut Function) {
    for &block in &f.layout {
        let insts = &mut f.blocks[block].insts;
        if insts.iter().all(|inst| inst.facts().unit != Unit::Pseudo) {
            continue;
        }
        for inst in std::mem::take(insts) {
            match (inst.op, &inst.operands[..]) {
                (Opcode::IMPLICIT_DEF | Opcode::FENCE | Opcode::INLINE_ASM, _) => {}
                (Opcode::CALL, &[link, target, _]) => {
                    let call = Inst::new(Opcode::S_SWAPPC_B64, [link, target]);
                    insts.push(Inst { loc: inst.loc, ..call });
                }
                (Opcode::PC_ADDRESS, &[Operand::Reg(dst), low, high]) if dst.dwords == 2 => {
                    let mir::machine::Reg::Physical(first) = dst.reg else {
                        insts.push(inst);
                        continue;
                    };
                    let half = |n| Operand::preg(first.plus(n), 1);
                    let make = |op, operands: &[Operand]| Inst {
                        loc: inst.loc,
                        ..Inst::new(op, operands.iter().copied())
                    };
                    insts.push(make(Opcode::S_GETPC_B64, &[Operand::Reg(dst)]));
                    insts.push(make(Opcode::S_ADD_U32, &[half(0), half(0), low]));
                    insts.push(make(Opcode::S_ADDC_U32, &[half(1), half(1), high]));
                }
                _ => insts.push(inst),
            }
        }
    }
}

fn branch(op: Opcode, target: Block) -> Inst {
    Inst::new(op, [Operand::Block(target)])
}

fn conditional(condition: Condition) -> Opcode {
    match condition {
        Condition::Scc0 => Opcode::S_CBRANCH_SCC0,
        Condition::Scc1 => Opcode::S_CBRANCH_SCC1,
        Condition::Vccz => Opcode::S_CBRANCH_VCCZ,
        Condition::Vccnz => Opcode::S_CBRANCH_VCCNZ,
        Condition::Execz => Opcode::S_CBRANCH_EXECZ,
        Condition::Execnz => Opcode::S_CBRANCH_EXECNZ,
    }
}

/// Lets a shader that returns a result leave it at its end, behind which the driver puts what goes on.
fn return_at_end(f: &mut Function) {
    if f.call_conv.is_callable() {
        return;
    }
    let Some((_, before)) = f.layout.split_last() else { return };
    let returns = |block: &Block| f.blocks[*block].term == Terminator::Return;
    let early: Vec<Block> = before.iter().copied().filter(returns).collect();
    if early.is_empty() {
        return;
    }
    let end = f.add_block();
    f.blocks[end].term = Terminator::Return;
    for block in early {
        let data = &mut f.blocks[block];
        data.term = Terminator::Jump;
        data.wave_succs = std::iter::once(Edge { block: end, args: Default::default() }).collect();
    }
}

/// Appends the branches of each block, given what follows it.
fn lower_terminators(f: &mut Function) {
    for i in 0..f.layout.len() {
        let next = f.layout.get(i + 1).copied();
        let data = &mut f.blocks[f.layout[i]];
        let successor = |n: usize| data.wave_succs.get(n).map(|edge| edge.block);
        match (data.term, successor(0), successor(1)) {
            (Terminator::Jump, Some(to), _) => {
                if next != Some(to) {
                    data.insts.push(branch(Opcode::S_BRANCH, to));
                }
            }
            (Terminator::Uniform(condition), Some(yes), Some(no)) => {
                if yes == no {
                    if next != Some(yes) {
                        data.insts.push(branch(Opcode::S_BRANCH, yes));
                    }
                } else if next == Some(yes) {
                    data.insts.push(branch(conditional(condition.inverse()), no));
                } else {
                    data.insts.push(branch(conditional(condition), yes));
                    if next != Some(no) {
                        data.insts.push(branch(Opcode::S_BRANCH, no));
                    }
                }
            }
            (Terminator::Return, ..) => {}
            // Control that cannot get here stops all the same rather than running into what follows.
            _ => data.insts.push(Inst::new(Opcode::S_ENDPGM, [Operand::Imm(0)])),
        }
        data.head_len = 0;
        data.tail_start = data.insts.len() as u32;
    }
}

/// A branch to be patched: its word, its target.
struct Fixup {
    word: u32,
    target: Block,
}

/// A function encoded but for the distances of its branches.
struct Encoded {
    code: Code,
    fixups: Vec<Fixup>,
    /// First word of each block.
    starts: SecondaryMap<Block, u32>,
    /// Words of each instruction, in the order of the layout.
    dwords: Vec<u8>,
}

fn encode_blocks(f: &Function, target: &Target) -> Result<Encoded> {
    let mut code = Code::default();
    let mut fixups = Vec::new();
    let count = f.layout.iter().map(|&block| f.blocks[block].insts.len()).sum();
    let mut dwords = Vec::with_capacity(count);
    code.words.reserve(count * 2);
    let mut starts: SecondaryMap<Block, u32> = SecondaryMap::with_default(u32::MAX);
    let mut loc = 0;
    for &block in &f.layout {
        starts[block] = code.words.len() as u32;
        for inst in &f.blocks[block].insts {
            let word = code.words.len() as u32;
            if inst.loc != 0 && inst.loc != loc {
                loc = inst.loc;
                code.positions.push((word * 4, loc));
            }
            if let Some(&Operand::Block(to)) = inst.operands.first() {
                fixups.push(Fixup { word, target: to });
                encode(&Inst::new(inst.op, [Operand::Imm(0)]), target, &mut code.words)?;
                dwords.push(1);
                continue;
            }
            let relocated = if inst.op == Opcode::DATA_DWORD {
                let data = inst.operands.first();
                code.words.push(data.and_then(Operand::as_imm).unwrap_or(0) as u32);
                dwords.push(1);
                matches!(data, Some(Operand::Symbol { .. })).then_some(0)
            } else {
                let encoded = encode(inst, target, &mut code.words)?;
                dwords.push(encoded.dwords);
                encoded.relocated
            };
            if let Some(index) = relocated {
                let symbol = inst.operands.iter().find_map(|operand| match *operand {
                    Operand::Symbol { symbol, addend, kind } => Some((symbol, addend, kind)),
                    _ => None,
                });
                let Some((symbol, addend, kind)) = symbol else {
                    return Err(
                        Diagnostic::defect("relocated literal without a symbol").at(inst.op.info().name)
                    );
                };
                let Some(&symbol) = f.symbols.get(symbol) else {
                    return Err(Diagnostic::defect("unknown symbol").at(inst.op.info().name));
                };
                let offset_bytes = (word + u32::from(index)) * 4;
                code.relocs.push(CodeReloc { offset_bytes, symbol, addend, kind });
            }
        }
    }
    Ok(Encoded { code, fixups, starts, dwords })
}

impl Encoded {
    /// Fills in the branches; false where one does not reach.
    fn patch(&mut self) -> bool {
        let Self { code, fixups, starts, .. } = self;
        let displacement = |fixup: &Fixup| i64::from(starts[fixup.target]) - i64::from(fixup.word) - 1;
        if !fixups.iter().all(|fixup| displacement(fixup).abs() <= REACH) {
            return false;
        }
        for fixup in fixups.iter() {
            let word = &mut code.words[fixup.word as usize];
            *word = (*word & 0xffff_0000) | u32::from(displacement(fixup) as i16 as u16);
        }
        true
    }
}

/// Where islands may be placed.
struct Site {
    block: Block,
    /// Islands go before this instruction, or to the end of the block.
    index: usize,
    /// Word offset before islands.
    position: u32,
    entries: Vec<Block>,
}

/// A branch instruction, or an entry of a site.
struct Source {
    place: Place,
    target: Block,
    /// Site and entry that it goes to instead.
    hop: Option<(usize, usize)>,
}

#[derive(Clone, Copy)]
enum Place {
    Branch { block: Block, index: usize, position: u32 },
    Entry { site: usize, entry: usize },
}

struct Islands {
    sites: Vec<Site>,
    sources: Vec<Source>,
    entry_of: FxHashMap<(usize, Block), usize>,
    starts: SecondaryMap<Block, u32>,
    /// Words of islands before each site, and in all.
    before: Vec<u32>,
}

impl Islands {
    /// Chooses the sites and lists the branches; `dwords` has the words of each instruction.
    fn new(f: &Function, dwords: &[u8]) -> Self {
        let mut out = Self {
            sites: Vec::new(),
            sources: Vec::new(),
            entry_of: FxHashMap::default(),
            starts: SecondaryMap::with_default(u32::MAX),
            before: Vec::new(),
        };
        let mut position = 0;
        let mut last_site = 0;
        let mut dwords = dwords.iter();
        for &block in &f.layout {
            out.starts[block] = position;
            let insts = &f.blocks[block].insts;
            for (index, inst) in insts.iter().enumerate() {
                if let Some(&Operand::Block(to)) = inst.operands.first() {
                    let place = Place::Branch { block, index, position };
                    out.sources.push(Source { place, target: to, hop: None });
                }
                position += u32::from(dwords.next().copied().unwrap_or(1));
                // Address computations count from s_getpc and must stay in one piece, and so must inline assembly.
                let since_getpc =
                    insts[..=index].iter().rev().take(2).any(|inst| inst.op == Opcode::S_GETPC_B64);
                let whole = since_getpc || inst.op == Opcode::DATA_DWORD;
                if position - last_site >= SITE_DISTANCE && !whole {
                    out.sites.push(Site { block, index: index + 1, position, entries: Vec::new() });
                    last_site = position;
                }
            }
        }
        out.recount();
        out
    }

    fn recount(&mut self) {
        self.before.clear();
        let mut sum = 0;
        for site in &self.sites {
            self.before.push(sum);
            // One more to branch around them.
            sum += site.entries.len() as u32 + u32::from(!site.entries.is_empty());
        }
        self.before.push(sum);
    }

    /// Where the original word `position` is now. A site's islands come before what follows it.
    fn moved(&self, position: u32) -> i64 {
        let sites_before = self.sites.partition_point(|site| site.position <= position);
        i64::from(position) + i64::from(self.before[sites_before])
    }

    fn entry_position(&self, site: usize, entry: usize) -> i64 {
        i64::from(self.sites[site].position) + i64::from(self.before[site]) + 1 + entry as i64
    }

    fn source_position(&self, source: &Source) -> i64 {
        match source.place {
            Place::Branch { position, .. } => self.moved(position),
            Place::Entry { site, entry } => self.entry_position(site, entry),
        }
    }

    /// Lets every source that does not reach hop to a site; true when an entry was added.
    fn route(&mut self) -> Result<bool> {
        let mut grown = false;
        let mut i = 0;
        while i < self.sources.len() {
            let at = self.source_position(&self.sources[i]) + 1;
            let target = self.sources[i].target;
            let to = self.moved(self.starts[target]);
            let reaches = |position: i64| (position - at).abs() <= REACH;
            let fine = match self.sources[i].hop {
                Some((site, entry)) => reaches(self.entry_position(site, entry)),
                None => reaches(to),
            };
            if !fine {
                let Some(site) = self.farthest_site(at, to) else {
                    return Err(Diagnostic::limit("the function is too long for its branches"));
                };
                let entry = match self.entry_of.get(&(site, target)) {
                    Some(&entry) => entry,
                    None => {
                        let entry = self.sites[site].entries.len();
                        self.sites[site].entries.push(target);
                        self.entry_of.insert((site, target), entry);
                        self.sources.push(Source { place: Place::Entry { site, entry }, target, hop: None });
                        grown = true;
                        entry
                    }
                };
                self.sources[i].hop = Some((site, entry));
            }
            i += 1;
        }
        self.recount();
        Ok(grown)
    }

    /// The site farthest from `at` towards `to` that a hop reaches.
    fn farthest_site(&self, at: i64, to: i64) -> Option<usize> {
        let position = |site: usize| self.entry_position(site, self.sites[site].entries.len());
        if to > at {
            let end = self.sites.partition_point(|s| i64::from(s.position) <= at + HOP);
            (0..end).rev().find(|&site| position(site) > at && position(site) - at <= HOP)
        } else {
            let start = self.sites.partition_point(|s| i64::from(s.position) < at - HOP * 2);
            (start..self.sites.len()).find(|&site| position(site) < at && at - position(site) <= HOP)
        }
    }
}

/// Splits blocks at island sites and redirects the branches that do not reach.
fn insert_islands(f: &mut Function, dwords: &[u8]) -> Result<()> {
    let mut islands = Islands::new(f, dwords);
    let mut rounds = 0;
    while islands.route()? {
        rounds += 1;
        if rounds > 1000 {
            return Err(Diagnostic::limit("the function is too long for its branches"));
        }
    }
    let Islands { sites, sources, .. } = islands;
    // A block for each entry.
    let blocks: Vec<Vec<Block>> = sites
        .iter()
        .map(|site| site.entries.iter().map(|_| f.blocks.push(Default::default())).collect())
        .collect();
    for source in &sources {
        let to = source.hop.map_or(source.target, |(site, entry)| blocks[site][entry]);
        match source.place {
            Place::Branch { block, index, .. } => {
                if let Some(operand) = f.blocks[block].insts[index].operands.first_mut() {
                    *operand = Operand::Block(to);
                }
            }
            Place::Entry { site, entry } => {
                f.blocks[blocks[site][entry]].insts = vec![branch(Opcode::S_BRANCH, to)];
            }
        }
    }
    // Split from the last site of a block to the first.
    let mut pieces: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    for (site, entries) in sites.iter().zip(blocks).rev() {
        if entries.is_empty() {
            continue;
        }
        let data = &mut f.blocks[site.block];
        let rest = data.insts.split_off(site.index);
        let (term, succs) = (data.term, std::mem::take(&mut data.wave_succs));
        data.term = Terminator::Jump;
        data.tail_start = site.index as u32;
        let tail_start = rest.len() as u32;
        let rest = f.blocks.push(mir::machine::BlockData {
            insts: rest,
            term,
            wave_succs: succs,
            tail_start,
            ..Default::default()
        });
        f.blocks[site.block].insts.push(branch(Opcode::S_BRANCH, rest));
        let pieces = &mut pieces[site.block];
        pieces.insert(0, rest);
        pieces.splice(0..0, entries);
    }
    let old = std::mem::take(&mut f.layout);
    for block in old {
        f.layout.push(block);
        f.layout.append(&mut pieces[block]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;
    use mir::ir::{CallConv, Func};
    use mir::machine::{Edge, PReg};

    fn target() -> Target {
        Target::new(Target::processor_by_name("gfx900").expect("gfx900 is in the table"))
    }

    fn function() -> Function {
        Function::new("f", CallConv::Kernel, Func::new(0))
    }

    fn nop() -> Inst {
        Inst::new(Opcode::S_NOP, [Operand::Imm(0)])
    }

    fn block(f: &mut Function, insts: usize) -> Block {
        let block = f.add_block();
        f.blocks[block].insts = vec![nop(); insts];
        block
    }

    fn connect(f: &mut Function, from: Block, term: Terminator, to: &[Block]) {
        f.blocks[from].term = term;
        f.blocks[from].wave_succs =
            to.iter().map(|&block| Edge { block, args: Default::default() }).collect();
    }

    /// Follows `code` from its start, taking conditional branches as `taken` says, for at most `steps` jumps; returns the
    /// distinct words between jumps: what a path executes besides branches.
    fn walk(code: &Code, taken: &[bool], steps: usize) -> Vec<usize> {
        let mut at = 0usize;
        let mut counts = vec![0];
        let mut decisions = taken.iter().copied();
        while counts.len() <= steps {
            let word = code.words[at];
            at += 1;
            let displacement = (word & 0xffff) as i16 as isize;
            match word >> 16 {
                0xbf81 => break,
                0xbf82 => at = at.checked_add_signed(displacement).expect("inside the code"),
                0xbf84..=0xbf89 => {
                    counts.push(0);
                    if decisions.next() == Some(true) {
                        at = at.checked_add_signed(displacement).expect("inside the code");
                    }
                }
                _ => *counts.last_mut().expect("never empty") += 1,
            }
        }
        counts
    }

    #[test]
    fn falls_through_and_inverts() {
        let mut f = function();
        let (a, b, c) = (block(&mut f, 1), block(&mut f, 2), block(&mut f, 3));
        connect(&mut f, a, Terminator::Uniform(Condition::Scc1), &[b, c]);
        connect(&mut f, b, Terminator::Jump, &[c]);
        connect(&mut f, c, Terminator::EndProgram, &[]);
        let code = layout_and_encode(&mut f, &target()).expect("fits");
        // nop; s_cbranch_scc0 +2; nop; nop; nop; nop; nop; s_endpgm
        assert_eq!(code.words[1], 0xbf84_0002);
        assert_eq!((code.words.len(), code.words[7]), (8, 0xbf81_0000));
    }

    #[test]
    fn empty_blocks_fold_and_unreachable_ones_go() {
        let mut f = function();
        let a = block(&mut f, 1);
        let empty: Vec<_> = (0..3).map(|_| block(&mut f, 0)).collect();
        let dead = block(&mut f, 5);
        let b = block(&mut f, 1);
        connect(&mut f, a, Terminator::Uniform(Condition::Vccz), &[empty[0], b]);
        connect(&mut f, empty[0], Terminator::Jump, &[empty[2]]);
        connect(&mut f, empty[2], Terminator::Jump, &[empty[1]]);
        connect(&mut f, empty[1], Terminator::Jump, &[b]);
        connect(&mut f, dead, Terminator::Jump, &[b]);
        connect(&mut f, b, Terminator::EndProgram, &[]);
        let code = layout_and_encode(&mut f, &target()).expect("fits");
        assert_eq!((f.layout.clone(), code.words.len()), (vec![a, b], 3));
    }

    #[test]
    fn endless_loop_of_empty_blocks_stays() {
        let mut f = function();
        let (a, b) = (block(&mut f, 0), block(&mut f, 0));
        connect(&mut f, a, Terminator::Jump, &[b]);
        connect(&mut f, b, Terminator::Jump, &[a]);
        let code = layout_and_encode(&mut f, &target()).expect("fits");
        assert_eq!(code.words.last(), Some(&0xbf82_ffff));
    }

    #[test]
    fn long_loop_hops_over_islands() {
        for size in [32766, 32768, 40_000, 200_000] {
            let mut f = function();
            let (head, body, exit) = (block(&mut f, 7), block(&mut f, size), block(&mut f, 3));
            connect(&mut f, head, Terminator::Uniform(Condition::Scc0), &[exit, body]);
            connect(&mut f, body, Terminator::Jump, &[head]);
            connect(&mut f, exit, Terminator::EndProgram, &[]);
            let code = layout_and_encode(&mut f, &target()).expect("islands reach");
            assert_eq!(walk(&code, &[false, false, true], 9), [7, size + 7, size + 7, 3], "{size}");
            assert!(code.words.len() < size + 200);
        }
    }

    #[test]
    fn many_far_targets_share_sites() {
        let mut f = function();
        let heads: Vec<_> = (0..400).map(|_| block(&mut f, 1)).collect();
        let middle = block(&mut f, 70_000);
        let tails: Vec<_> = (0..400).map(|i| block(&mut f, i + 1)).collect();
        for i in 0..400 {
            let next = heads.get(i + 1).copied().unwrap_or(middle);
            connect(&mut f, heads[i], Terminator::Uniform(Condition::Scc1), &[tails[i], next]);
            connect(&mut f, tails[i], Terminator::EndProgram, &[]);
        }
        connect(&mut f, middle, Terminator::EndProgram, &[]);
        let code = layout_and_encode(&mut f, &target()).expect("islands reach");
        for i in [0, 1, 57, 399] {
            let mut taken = vec![false; i];
            taken.push(true);
            let mut want = vec![1; i + 1];
            want.push(i + 1);
            assert_eq!(walk(&code, &taken, 500), want, "{i}");
        }
    }

    #[test]
    fn address_computations_stay_whole() {
        let mut f = function();
        let symbol = f.symbols.push(mir::ir::SymbolRef::Func(Func::new(0)));
        let (head, exit) = (f.add_block(), block(&mut f, 1));
        let half = |addend, kind| Operand::Symbol { symbol, addend, kind };
        let address = Inst::new(
            Opcode::PC_ADDRESS,
            [
                Operand::preg(PReg::sgpr(2), 2),
                half(4, mir::machine::RelocKind::Rel32Lo),
                half(12, mir::machine::RelocKind::Rel32Hi),
            ],
        );
        f.blocks[head].insts = vec![address; 9_000];
        connect(&mut f, head, Terminator::Uniform(Condition::Scc0), &[head, exit]);
        connect(&mut f, exit, Terminator::EndProgram, &[]);
        let code = layout_and_encode(&mut f, &target()).expect("islands reach");
        assert_eq!(code.relocs.len(), 18_000);
        let getpc = code.words.iter().enumerate().filter(|(_, word)| **word == 0xbe82_1c00);
        let places: Vec<u32> = getpc.map(|(i, _)| i as u32 * 4).collect();
        assert_eq!(places.len(), 9_000);
        for (place, pair) in places.iter().zip(code.relocs.chunks(2)) {
            assert_eq!((pair[0].offset_bytes, pair[1].offset_bytes), (place + 8, place + 16));
        }
    }
}
