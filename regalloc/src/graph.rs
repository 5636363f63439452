//! The linear numbering of a function's code and its two graphs as flat arrays.
//!
//! Every block of the layout takes a run of positions: two at its start, two between head and body, two for
//! each instruction (*early*: operands are read; *late*: results are written) and two at its end. Live ranges
//! are half-open ranges of positions. A range of positions is meaningful on either graph, because which
//! blocks a value is live in was decided by the graph of its file before it is flattened; so a VGPR range has
//! a hole where the wave runs blocks of other lanes.
//!
//! Moves along edges happen at fixed places:
//!
//! | file | edge's block with one successor | else: target with one predecessor |
//! |---|---|---|
//! | SGPR | end of the block, after the tail | top of the target, before its head |
//! | VGPR | end of the body, before the tail | start of the body, after the head |
//!
//! Cost: linear in instructions and edges.

use mir::machine::{Block, BlockData, Edge, Function, Inst, RegFile, VReg};

/// Positions of blocks and instructions.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    /// Blocks in layout order; everything else here is by index into this.
    pub order: Vec<Block>,
    /// First position of each block, and one past the last position of all.
    pub start: Vec<u32>,
    /// Length of each block's head, after which two positions are left out.
    head: Vec<u32>,
    /// Layout index by block number; `u32::MAX` where a block is not in the layout.
    index: Vec<u32>,
}

impl Numbering {
    pub fn new(f: &Function) -> Self {
        let mut index = vec![u32::MAX; f.blocks.len()];
        let mut start = Vec::with_capacity(f.layout.len() + 1);
        let mut head = Vec::with_capacity(f.layout.len());
        let mut next = 0u32;
        for (i, &block) in f.layout.iter().enumerate() {
            index[block.as_u32() as usize] = i as u32;
            start.push(next);
            head.push(f.blocks[block].head_len);
            next += 6 + 2 * f.blocks[block].insts.len() as u32;
        }
        start.push(next);
        Self { order: f.layout.clone(), start, head, index }
    }

    /// Number of positions.
    pub fn len(&self) -> u32 {
        *self.start.last().expect("there is one start more than blocks")
    }

    /// Layout index of `block`, if it is laid out.
    pub fn index(&self, block: Block) -> Option<usize> {
        match self.index.get(block.as_u32() as usize) {
            Some(&i) if i != u32::MAX => Some(i as usize),
            _ => None,
        }
    }

    /// One past the last position of block `i`.
    pub fn end(&self, i: usize) -> u32 {
        self.start[i + 1]
    }

    /// Early position of instruction `k` of block `i`; with `k` the number of instructions, the end of the
    /// code.
    pub fn inst(&self, i: usize, k: usize) -> u32 {
        let k = k as u32;
        self.start[i] + 2 + 2 * k + if k >= self.head[i] { 2 } else { 0 }
    }

    /// Instruction `k` of block `i`.
    pub fn inst_at<'a>(&self, f: &'a Function, (i, k): (u32, u32)) -> &'a Inst {
        &f.blocks[self.order[i as usize]].insts[k as usize]
    }

    /// Where moves at the end of block `i` are: arguments are read before this position, parameters are
    /// written from it on.
    pub fn moves_at_end(&self, i: usize, data: &BlockData, file: RegFile) -> u32 {
        match file {
            RegFile::Sgpr => self.end(i) - 1,
            RegFile::Vgpr => self.inst(i, data.tail_start as usize),
        }
    }

    /// Where moves at the start of block `i` are.
    pub fn moves_at_start(&self, i: usize, data: &BlockData, file: RegFile) -> u32 {
        match file {
            RegFile::Sgpr => self.start[i] + 1,
            RegFile::Vgpr => self.start[i] + 2 + 2 * data.head_len,
        }
    }
}

/// The successors of a block on the graph of `file`.
pub(crate) fn edges(data: &BlockData, file: RegFile) -> &[Edge] {
    match file {
        RegFile::Sgpr => &data.wave_succs,
        RegFile::Vgpr => &data.thread_succs,
    }
}

/// The parameters that are passed on the graph of `file`.
pub(crate) fn params(data: &BlockData, file: RegFile) -> &[VReg] {
    match file {
        RegFile::Sgpr => &data.sparams,
        RegFile::Vgpr => &data.vparams,
    }
}

/// One graph as predecessor lists, by layout index.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    offsets: Vec<u32>,
    preds: Vec<u32>,
    succ_count: Vec<u8>,
}

impl Graph {
    /// The graph of `file`. Edges to blocks outside the layout are a defect found by [`Numbering::index`]
    /// elsewhere; they are left out here.
    pub fn new(f: &Function, numbering: &Numbering, file: RegFile) -> Self {
        let n = numbering.order.len();
        let mut offsets = vec![0u32; n + 2];
        let mut succ_count = vec![0u8; n];
        for (i, &block) in numbering.order.iter().enumerate() {
            for edge in edges(&f.blocks[block], file) {
                if let Some(target) = numbering.index(edge.block) {
                    offsets[target + 2] += 1;
                    succ_count[i] = succ_count[i].saturating_add(1);
                }
            }
        }
        for i in 2..offsets.len() {
            offsets[i] += offsets[i - 1];
        }
        let mut preds = vec![0u32; *offsets.last().expect("there is one offset more than blocks") as usize];
        for (i, &block) in numbering.order.iter().enumerate() {
            for edge in edges(&f.blocks[block], file) {
                if let Some(target) = numbering.index(edge.block) {
                    let slot = &mut offsets[target + 1];
                    preds[*slot as usize] = i as u32;
                    *slot += 1;
                }
            }
        }
        offsets.pop();
        Self { offsets, preds, succ_count }
    }

    /// Predecessors of block `i`, one for each edge.
    pub fn preds(&self, i: usize) -> &[u32] {
        &self.preds[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// Number of edges out of block `i`.
    pub fn succ_count(&self, i: usize) -> usize {
        usize::from(self.succ_count[i])
    }

    /// Whether the moves of an edge out of `from` go to the end of `from` (else to the start of the target).
    pub fn moves_in_pred(&self, from: usize) -> bool {
        self.succ_count(from) == 1
    }
}
