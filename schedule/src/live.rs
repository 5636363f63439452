//! Which virtual registers live behind each block, on the graph of their file.
//!
//! As in allocation one walks from the blocks of uses up to the definition, but block by block: of a register that lives through
//! a block its dwords are counted and nothing else is kept. Registers whose accesses are in one block are no trouble.
//! Cost: linear in accesses, and in the number of blocks that each register lives through.

use crate::code::{Code, Role};
use cranelift_entity::EntityRef;
use mir::analysis::{Csr, Graph};
use mir::machine::{Block, Function, RegFile, VReg};

/// Dwords of both files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Dwords {
    pub sgprs: u32,
    pub vgprs: u32,
}

impl Dwords {
    /// The count of `file`.
    #[inline]
    pub fn of(&mut self, file: RegFile) -> &mut u32 {
        match file {
            RegFile::Sgpr => &mut self.sgprs,
            RegFile::Vgpr => &mut self.vgprs,
        }
    }

    /// The larger ones.
    pub fn max(self, other: Self) -> Self {
        Self { sgprs: self.sgprs.max(other.sgprs), vgprs: self.vgprs.max(other.vgprs) }
    }
}

/// What lives behind blocks.
#[derive(Debug, Default)]
pub(crate) struct LiveOut {
    /// By block.
    dwords: Vec<Dwords>,
    /// Registers that the block accesses or passes on, by the block's first.
    start: Vec<u32>,
    near: Vec<VReg>,
}

const NOWHERE: u32 = u32::MAX;

impl LiveOut {
    /// Registers that live at the end of each block of `f`, whose instructions are `code`. Arguments of its edges do, too.
    pub fn compute(f: &Function, code: &Code) -> Self {
        let uses = Uses::of(f, code);
        let (thread, wave) = (Csr::thread(f), Csr::wave(f));
        let blocks = f.blocks.len();
        let mut dwords = vec![Dwords::default(); blocks];
        let mut pairs: Vec<(u32, VReg)> = Vec::new();
        // Stamped with the register that the walk is for.
        let mut marks = vec![[NOWHERE; 3]; blocks];
        const IN: usize = 0;
        const OUT: usize = 1;
        const ACCESSED: usize = 2;
        let mut work = Vec::new();
        for (n, list) in uses.grouped() {
            let reg = VReg::new(n as usize);
            let data = &f.vregs[reg];
            let graph = if data.wave_level() { &wave } else { &thread };
            let def = uses.defs[n as usize];
            let mut leaves = |block: u32, marks: &mut [[u32; 3]]| {
                let mark = &mut marks[block as usize];
                if std::mem::replace(&mut mark[OUT], n) != n {
                    *dwords[block as usize].of(data.file) += u32::from(data.dwords);
                    if mark[ACCESSED] == n || def == block {
                        pairs.push((block, reg));
                    }
                }
            };
            let enters = |block: u32, marks: &mut [[u32; 3]], work: &mut Vec<u32>| {
                if def != block && std::mem::replace(&mut marks[block as usize][IN], n) != n {
                    work.push(block);
                }
            };
            list.iter().for_each(|&(block, _)| marks[block as usize][ACCESSED] = n);
            for &(block, at_end) in list {
                if at_end {
                    leaves(block, &mut marks);
                }
                enters(block, &mut marks, &mut work);
            }
            while let Some(block) = work.pop() {
                for &pred in graph.preds(block) {
                    leaves(pred, &mut marks);
                    enters(pred, &mut marks, &mut work);
                }
            }
        }
        let mut start = vec![0u32; blocks + 1];
        pairs.iter().for_each(|&(block, _)| start[block as usize + 1] += 1);
        (0..blocks).for_each(|i| start[i + 1] += start[i]);
        let mut next = start.clone();
        let mut near = vec![VReg::new(0); pairs.len()];
        for (block, reg) in pairs {
            near[next[block as usize] as usize] = reg;
            next[block as usize] += 1;
        }
        Self { dwords, start, near }
    }

    /// What lives behind `block`.
    pub fn dwords(&self, block: Block) -> Dwords {
        self.dwords[block.index()]
    }

    /// Of that, the registers that `block` accesses.
    pub fn near(&self, block: Block) -> &[VReg] {
        &self.near[self.start[block.index()] as usize..self.start[block.index() + 1] as usize]
    }
}

/// Blocks that define registers, and blocks that use others.
struct Uses {
    defs: Vec<u32>,
    /// First use of each register, then the uses: the block, and whether it is an argument of its edges.
    start: Vec<u32>,
    uses: Vec<(u32, bool)>,
}

impl Uses {
    fn of(f: &Function, code: &Code) -> Self {
        let mut defs = vec![NOWHERE; f.vregs.len()];
        let entry = f.layout.first().map_or(NOWHERE, |block| block.as_u32());
        f.entry.registers().iter().filter_map(|entry| entry.2).for_each(|reg| defs[reg.index()] = entry);
        for (place, &block) in f.layout.iter().enumerate() {
            let data = &f.blocks[block];
            data.vparams.iter().chain(&data.sparams).for_each(|reg| defs[reg.index()] = block.as_u32());
            for n in code.block(place)..code.block(place) + data.insts.len() as u32 {
                let written = code.accesses(n).iter().filter(|access| access.role == Role::Def);
                written.for_each(|access| defs[access.reg.index()] = block.as_u32());
            }
        }
        let mut pairs: Vec<(VReg, u32, bool)> = Vec::new();
        let mut seen = vec![NOWHERE; f.vregs.len()];
        for (place, &block) in f.layout.iter().enumerate() {
            let data = &f.blocks[block];
            let number = block.as_u32();
            for n in code.block(place)..code.block(place) + data.insts.len() as u32 {
                for access in code.accesses(n) {
                    let k = access.reg.index();
                    if defs[k] != number && std::mem::replace(&mut seen[k], number) != number {
                        pairs.push((access.reg, number, false));
                    }
                }
            }
            for &arg in data.thread_succs.iter().chain(&data.wave_succs).flat_map(|edge| &edge.args) {
                pairs.push((arg, number, true));
            }
        }
        let mut start = vec![0u32; f.vregs.len() + 1];
        pairs.iter().for_each(|pair| start[pair.0.index() + 1] += 1);
        (0..f.vregs.len()).for_each(|i| start[i + 1] += start[i]);
        let mut next = start.clone();
        let mut uses = vec![(0, false); pairs.len()];
        for (reg, block, at_end) in pairs {
            uses[next[reg.index()] as usize] = (block, at_end);
            next[reg.index()] += 1;
        }
        Self { defs, start, uses }
    }

    /// Registers that are used outside of the block of their definition, with these uses.
    fn grouped(&self) -> impl Iterator<Item = (u32, &[(u32, bool)])> {
        self.start
            .windows(2)
            .enumerate()
            .filter(|(_, ends)| ends[0] < ends[1])
            .map(|(n, ends)| (n as u32, &self.uses[ends[0] as usize..ends[1] as usize]))
    }
}
