//! Runs machine code of every stage between selection and emission.
//!
//! Problem: the simulator judges bytes. When it finds them wrong, any of the steps before may be at fault. Here the code after each step is run by
//! itself, by the contract of its stage (`docs/design.md`), so that the first step that changed the meaning can be named.
//!
//! ```text
//! prepare    machine::Inst -> Action, once: stand-ins for virtual registers, the simulator's Op
//! registers  virtual registers: each lane's own before linearisation, then the wave's
//! execute    one Action
//! run        blocks, lanes, calls: a wave until it waits
//! follow     whether lanes keep to the thread graph
//! ```
//!
//! What an instruction does is the simulator's business. What a stage adds is here: who runs together, what travels along edges, which registers
//! live how long, what regions of other lanes are. Waits, hazards and the number of registers are no part of these stages.
//!
//! Invariants: a run depends on the program, the memory and the seed alone. Nothing panics on code that is not well-formed; the run stops with
//! a [`Fault`]. Cost: some microseconds an instruction, mostly for copying operands.

mod execute;
mod fault;
mod follow;
mod prepare;
mod registers;
mod run;
mod work_group;

#[cfg(test)]
mod tests;

pub use fault::{Cause, Fault};
pub use work_group::{KernelEntry, run};

use crate::convergence::Convergence;
use mir::abi::call::FRAME_POINTER;
use mir::analysis::Csr;
use mir::ir::{Func, SymbolRef};
use mir::machine::{Function, Operand, PReg};
use mir::target::Target;
use prepare::{BlockCode, Preparer, Way};
use registers::{Numbering, Place};
use rustc_hash::FxHashMap;

/// What a program refers to outside of itself.
#[derive(Clone, Copy)]
pub struct Symbols<'a> {
    /// The address of a symbol or, with `true`, of its entry in the table of addresses (GOT).
    pub address: &'a dyn Fn(SymbolRef, bool) -> Option<u64>,
    /// Bytes of a lane that a function's frame takes in the end.
    pub frame_bytes: &'a dyn Fn(Func) -> u32,
}

/// The functions of a module at one stage, ready to run.
pub struct Program<'a> {
    functions: Vec<Code<'a>>,
    by_address: FxHashMap<u64, usize>,
    /// Whether lanes are by themselves: the code is not structured yet.
    threads: bool,
}

/// A prepared function.
struct Code<'a> {
    function: &'a Function,
    numbering: Numbering,
    /// By number of the block.
    blocks: Vec<BlockCode>,
    entry: u32,
    /// Of the thread graph, while lanes are by themselves.
    convergence: Option<Convergence>,
    /// First register of each entry value, and where it goes; values that stay there are left out.
    entry_values: Vec<(PReg, Vec<Place>)>,
    moves_stack: bool,
    frame_bytes: u32,
    /// Number of its first instruction among all of the program.
    first_site: u32,
}

impl<'a> Program<'a> {
    /// Prepares `functions`, which are all at the same stage between *selected* and *allocated*.
    ///
    /// What cannot be prepared is an error when it is reached, not here.
    pub fn new(
        functions: &[&'a Function],
        target_of: &dyn Fn(&Function) -> Target,
        symbols: &Symbols<'_>,
    ) -> Self {
        let threads = functions.iter().any(|f| !f.is_linear());
        let mut next_site = 0;
        let mut prepared = Vec::with_capacity(functions.len());
        let mut by_address = FxHashMap::default();
        for &function in functions {
            let target = target_of(function);
            let numbering = Numbering::new(function, threads);
            let preparer = Preparer::new(function, &numbering, &target, symbols.address);
            let first_site = next_site;
            let sound = is_sound(function);
            let blocks = if sound { blocks(&preparer, threads, &mut next_site) } else { Vec::new() };
            let entry_values = entry_values(function, &numbering);
            if let Some(address) = (symbols.address)(SymbolRef::Func(function.source), false) {
                by_address.insert(address, prepared.len());
            }
            prepared.push(Code {
                blocks,
                entry: function.layout.first().map_or(u32::MAX, |b| b.as_u32()),
                convergence: (threads && sound).then(|| Convergence::new(&Csr::thread(function))),
                entry_values,
                moves_stack: function.call_conv.is_callable()
                    && (function.calls.iter().any(|site| !site.tail)
                        || function.dynamic_stack
                        || function.frame_base == Some(FRAME_POINTER)),
                frame_bytes: (symbols.frame_bytes)(function.source),
                first_site,
                numbering,
                function,
            });
        }
        Self { functions: prepared, by_address, threads }
    }

    /// Index of the function made from `func`.
    fn index_of(&self, func: Func) -> Option<usize> {
        self.functions.iter().position(|code| code.function.source == func)
    }

    /// The function, block and instruction with a number; the number behind a block's last instruction stands for its branch.
    pub fn describe(&self, site: u32) -> Description {
        let after = self.functions.partition_point(|code| code.first_site <= site);
        let Some(code) = after.checked_sub(1).and_then(|i| self.functions.get(i)) else {
            return Description::default();
        };
        let mut description = Description { function: code.function.name.clone(), ..Description::default() };
        let holds = |block: &&mir::machine::Block| {
            code.blocks
                .get(block.as_u32() as usize)
                .is_some_and(|b| (b.first_site..=b.first_site + b.steps.len() as u32).contains(&site))
        };
        if let Some(block) = code.function.layout.iter().find(holds) {
            let k = (site - code.blocks[block.as_u32() as usize].first_site) as usize;
            let data = &code.function.blocks[*block];
            description.block = block.to_string();
            description.instruction = match data.insts.get(k) {
                Some(inst) => code.function.display_inst(inst).to_string(),
                None => format!("the branch ({:?})", data.term),
            };
        }
        description
    }
}

/// Where something happened, in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Description {
    /// Name of the function.
    pub function: String,
    /// The block.
    pub block: String,
    /// The instruction's text.
    pub instruction: String,
}

/// Whether blocks, edges and parts of blocks exist. Code that is not sound stops when it is reached.
fn is_sound(f: &Function) -> bool {
    let exists = |block: &mir::machine::Block| f.blocks.get(*block).is_some();
    !f.layout.is_empty()
        && f.layout.iter().all(exists)
        && f.layout.iter().all(|&block| {
            let data = &f.blocks[block];
            let edges = data.thread_succs.iter().chain(&data.wave_succs);
            edges.map(|edge| &edge.block).all(exists)
                && data.head_len <= data.tail_start
                && data.tail_start as usize <= data.insts.len()
        })
}

/// The blocks of a function, by number.
fn blocks(preparer: &Preparer<'_>, threads: bool, next_site: &mut u32) -> Vec<BlockCode> {
    let f = preparer.f;
    let mut blocks: Vec<BlockCode> = (0..f.blocks.len()).map(|_| BlockCode::default()).collect();
    for &block in &f.layout {
        let data = &f.blocks[block];
        let edges = if threads { &data.thread_succs } else { &data.wave_succs };
        let ways = edges.iter().enumerate().map(|(i, edge)| {
            let to = &f.blocks[edge.block];
            let (moves, scalars) = if threads {
                let sargs = data.thread_sargs.get(i).map_or(&[][..], |args| args);
                (preparer.moves(&to.vparams, &edge.args), preparer.moves(&to.sparams, sargs))
            } else {
                (preparer.moves(&to.sparams, &edge.args), Vec::new())
            };
            Way { block: edge.block.as_u32(), moves, scalars }
        });
        let code = BlockCode {
            steps: preparer.steps(block),
            head_len: data.head_len as usize,
            tail_start: if threads { data.insts.len() } else { data.tail_start as usize },
            exit: preparer.exit(block),
            ways: ways.collect(),
            scalars: if threads { preparer.wholes(&data.sparams) } else { Vec::new() },
            starts: Vec::new(),
            ends: Vec::new(),
            lane_succs: data.thread_succs.iter().map(|edge| edge.block.as_u32()).collect(),
            has_lanes: Some(&block) == f.layout.first(),
            first_site: *next_site,
        };
        *next_site += code.steps.len() as u32 + 1;
        blocks[block.as_u32() as usize] = code;
    }
    for edge in f.layout.iter().flat_map(|&block| &f.blocks[block].thread_succs) {
        if let Some(to) = blocks.get_mut(edge.block.as_u32() as usize) {
            to.has_lanes = true;
        }
    }
    if !threads {
        vector_moves(preparer, &mut blocks);
    }
    blocks
}

/// Where VGPR arguments move: at the end of the body of a block with one successor, else at the start of the target's.
fn vector_moves(preparer: &Preparer<'_>, blocks: &mut [BlockCode]) {
    let f = preparer.f;
    for &block in &f.layout {
        let succs = &f.blocks[block].thread_succs;
        for edge in succs {
            let moves = preparer.moves(&f.blocks[edge.block].vparams, &edge.args);
            if let [_] = succs.as_slice() {
                blocks[block.as_u32() as usize].ends = moves;
            } else {
                blocks[edge.block.as_u32() as usize].starts = moves;
            }
        }
    }
}

/// The entry values that virtual registers hold.
fn entry_values(f: &Function, numbering: &Numbering) -> Vec<(PReg, Vec<Place>)> {
    let values = f.entry.registers().into_iter().filter_map(|(value, first, reg)| {
        let whole = Operand::vreg(reg?, value.dwords());
        let operand = *whole.as_reg()?;
        Some((first, (0..value.dwords()).map_while(|d| numbering.place(&operand, d)).collect()))
    });
    values.collect()
}
