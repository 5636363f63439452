//! Islands: unconditional branches that other branches hop over where their target is out of reach.
//!
//! An island site may lie at any instruction boundary, skipped by a branch of its own, so even a block longer than the reach is
//! fine, and no register is needed and no flag changes. The only places that must stay whole are address computations from the
//! program counter, inline assembly with labels, and clauses. Sites lie at fixed distances; a branch goes to the farthest one it reaches, all branches to one target
//! share its entry at a site, and entries are only ever added, so the iteration ends. Then the blocks are split at the sites.
//!
//! Cost: linear in branches times rounds (2 or 3), each a binary search among the sites.

use crate::branches::{REACH, branch};
use cranelift_entity::SecondaryMap;
use mir::isa::Opcode;
use mir::machine::{Block, BlockData, Function, Inst, Operand, Terminator};
use mir::{Diagnostic, Result};
use rustc_hash::FxHashMap;

/// Dwords between island sites.
const SITE_DISTANCE: u32 = 8192;
/// Displacement up to which hops are planned; the rest of the reach is for islands to come.
const HOP: i64 = 28000;

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
    fn new(f: &Function, dwords: &[u8]) -> Result<Self> {
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
            let mut of_clause = 0;
            for (index, inst) in insts.iter().enumerate() {
                if let Some(&Operand::Block(to)) = inst.operands.first() {
                    let place = Place::Branch { block, index, position };
                    out.sources.push(Source { place, target: to, hop: None });
                }
                let Some(&length) = dwords.next() else {
                    let error = Diagnostic::defect("an instruction that was not encoded");
                    return Err(error.at(inst.op.info().name).in_function(&f.name));
                };
                position += u32::from(length);
                // Address computations count from s_getpc and must stay in one piece, and so must inline assembly.
                let since_getpc =
                    insts[..=index].iter().rev().take(2).any(|inst| inst.op == Opcode::S_GETPC_B64);
                of_clause = match clause_accesses(inst) {
                    Some(accesses) => accesses,
                    None => of_clause.saturating_sub(u32::from(length > 0)),
                };
                let whole = since_getpc || inst.op == Opcode::DATA_DWORD || of_clause > 0;
                if position - last_site >= SITE_DISTANCE && !whole {
                    out.sites.push(Site { block, index: index + 1, position, entries: Vec::new() });
                    last_site = position;
                }
            }
        }
        out.recount();
        Ok(out)
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

/// Accesses behind `inst` that are a clause with it.
fn clause_accesses(inst: &Inst) -> Option<u32> {
    let length = inst.operands.first().filter(|_| inst.op == Opcode::S_CLAUSE)?.as_imm()?;
    Some((length & 0x3f) as u32 + 1)
}

/// Splits blocks at island sites and redirects the branches that do not reach.
pub(crate) fn insert(f: &mut Function, dwords: &[u8]) -> Result<()> {
    let mut islands = Islands::new(f, dwords)?;
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
        let rest = f.blocks.push(BlockData {
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
