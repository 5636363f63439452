//! The code of a function: lines, blocks, edges.

use mir::isa::{Opcode, OperandKind, decode_lenient};
use mir::machine::{Inst, Operand};
use mir::target::Target;
use sim::Kernel;

/// An instruction, or a dword that is none.
#[derive(Clone, Debug)]
pub struct Line {
    /// Byte offset from the function's start.
    pub offset: u64,
    /// Bytes.
    pub bytes: u8,
    /// The instruction.
    pub inst: Option<Inst>,
    /// Assembly text.
    pub text: String,
    /// Index of the line that a branch goes to.
    pub target: Option<usize>,
}

/// Lines that are executed one after the other.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// First line.
    pub first: usize,
    /// The line behind the last one.
    pub end: usize,
    /// Where the wave goes on: the block behind it first.
    pub succs: Vec<usize>,
    /// Where it comes from.
    pub preds: Vec<usize>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Symbol.
    pub name: String,
    /// Address in the image.
    pub start: u64,
    /// In the order of their addresses.
    pub lines: Vec<Line>,
    /// In the order of their addresses.
    pub blocks: Vec<Block>,
    /// The block of each line.
    pub block_of: Vec<usize>,
    /// What the object says of a kernel.
    pub kernel: Option<Kernel>,
}

/// How control goes on behind an instruction.
enum Flow {
    /// With the next one.
    Next,
    /// There, or with the next one.
    Branch,
    /// There.
    Jump,
    /// Not in this function.
    Ends,
}

fn flow(inst: &Inst) -> Flow {
    use Opcode::*;
    match inst.op {
        S_BRANCH => Flow::Jump,
        S_CBRANCH_SCC0 | S_CBRANCH_SCC1 | S_CBRANCH_VCCZ | S_CBRANCH_VCCNZ | S_CBRANCH_EXECZ
        | S_CBRANCH_EXECNZ => Flow::Branch,
        S_ENDPGM | S_ENDPGM_SAVED | S_ENDPGM_ORDERED_PS_DONE | S_SETPC_B64 | S_RFE_B64 => Flow::Ends,
        _ => Flow::Next,
    }
}

/// Where the branch `inst` at byte `offset` goes, from the function's start.
fn destination(inst: &Inst, offset: u64) -> Option<u64> {
    let label = inst.op.info().operands.iter().position(|desc| desc.kind == OperandKind::Label)?;
    let distance = inst.operands.get(label).and_then(Operand::as_imm)?;
    offset.checked_add_signed(4 + 4 * i64::from(distance as i16))
}

impl Function {
    /// Decodes `code`, which stands at address `start`.
    pub(super) fn decode(name: &str, start: u64, code: &[u8], target: &Target) -> Self {
        let words: Vec<u32> =
            code.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
        let mut lines = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let offset = 4 * at as u64;
            let line = match decode_lenient(&words[at..], target) {
                Ok((inst, length)) => {
                    let text = inst.display(target).to_string();
                    Line { offset, bytes: 4 * length.max(1) as u8, inst: Some(inst), text, target: None }
                }
                Err(_) => {
                    let text = format!(".long {:#010x}", words[at]);
                    Line { offset, bytes: 4, inst: None, text, target: None }
                }
            };
            at += usize::from(line.bytes) / 4;
            lines.push(line);
        }
        let mut function = Self {
            name: name.to_owned(),
            start,
            lines,
            blocks: Vec::new(),
            block_of: Vec::new(),
            kernel: None,
        };
        function.find_blocks();
        function
    }

    /// The line at a byte offset.
    pub fn line_at(&self, offset: u64) -> Option<usize> {
        self.lines.binary_search_by_key(&offset, |line| line.offset).ok()
    }

    /// The instruction of a line.
    pub fn inst(&self, line: usize) -> Option<&Inst> {
        self.lines.get(line)?.inst.as_ref()
    }

    fn find_blocks(&mut self) {
        let count = self.lines.len();
        let mut begins = vec![false; count + 1];
        begins[0] = true;
        for at in 0..count {
            let line = &self.lines[at];
            let Some(inst) = &line.inst else { continue };
            let (kind, name) = (flow(inst), inst.op.info().name);
            if matches!(kind, Flow::Branch | Flow::Jump)
                && let Some(to) = destination(inst, line.offset).and_then(|offset| self.line_at(offset))
            {
                begins[to] = true;
                // A distance in dwords says less than the place.
                let text = format!("{name} +{:#x}", self.lines[to].offset);
                (self.lines[at].target, self.lines[at].text) = (Some(to), text);
            }
            begins[at + 1] |= !matches!(kind, Flow::Next);
        }
        let starts: Vec<usize> = (0..count).filter(|&line| begins[line]).collect();
        let block_at = |line: usize| starts.partition_point(|&start| start <= line).saturating_sub(1);
        let mut blocks: Vec<Block> = Vec::with_capacity(starts.len());
        for (index, &first) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(count);
            let last = &self.lines[end - 1];
            let kind = last.inst.as_ref().map_or(Flow::Next, flow);
            let next = (end < count).then_some(index + 1);
            let there = last.target.map(block_at);
            let succs = match kind {
                Flow::Next => next.into_iter().collect(),
                Flow::Branch if next == there => next.into_iter().collect(),
                Flow::Branch => next.into_iter().chain(there).collect(),
                Flow::Jump => there.into_iter().collect(),
                Flow::Ends => Vec::new(),
            };
            blocks.push(Block { first, end, succs, preds: Vec::new() });
        }
        for index in 0..blocks.len() {
            for succ in blocks[index].succs.clone() {
                blocks[succ].preds.push(index);
            }
        }
        self.block_of = (0..count).map(block_at).collect();
        self.blocks = blocks;
    }

    /// Reverse post-order of the blocks that control reaches from the start, without recursion.
    pub fn order(&self) -> Vec<usize> {
        let mut seen = vec![false; self.blocks.len()];
        let mut order = Vec::with_capacity(self.blocks.len());
        let mut stack: Vec<(usize, usize)> = Vec::new();
        if let Some(first) = seen.first_mut() {
            *first = true;
            stack.push((0, 0));
        }
        while let Some((block, next)) = stack.last_mut() {
            match self.blocks[*block].succs.get(*next) {
                Some(&succ) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[succ], true) {
                        stack.push((succ, 0));
                    }
                }
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }
}
