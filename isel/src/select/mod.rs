//! Instruction selection: legal IR to machine code in SSA form on the thread graph.
//!
//! # The walk
//!
//! Blocks are visited in reverse of their final order and instructions backwards, so that every use of a value is seen
//! before its definition. An operand is *asked for* ([`Selector::src`]), which gives its value a virtual register; when the
//! walk reaches the definition and nobody has asked, nothing is emitted. So a rule that folds a producer into its
//! user simply asks for the producer's operands instead, and what is then unused disappears without a pass of its own.
//!
//! ```text
//! prepare   uses, blocks of instructions, where values live (`Rep`), free values (`alias`), LDS and frame layout
//! for block in reverse order
//!     for inst, last to first: `lower` appends machine instructions in forward order to `cur`,
//!                              which then moves, reversed, to `rev`
//!     parameters, then `rev` reversed is the block's body
//! ```
//!
//! A producer is folded only inside its block: values of other blocks may belong to another iteration (temporal
//! divergence), and would live longer.
//!
//! # Where values live
//!
//! [`Rep`] is decided once, forwards: divergent values in VGPRs, uniform ones in SGPRs as long as the scalar unit can
//! compute them from scalar operands. Uniform values that only the vector unit can make (floating point, loads that may
//! not use the scalar cache) stay in VGPRs and are moved by `v_readfirstlane` where a scalar operand is demanded.
//!
//! # Cost
//!
//! Linear: each instruction is visited three times, rules look at a bounded neighbourhood, and all side tables are
//! dense arrays.

mod address;
mod atomic;
mod borrows;
mod buffer;
mod byte_tables;
mod carries;
mod choices;
mod compare;
mod constant;
mod control;
mod convert;
mod differences;
mod dpp;
mod emit;
mod extremes;
mod fields;
mod float;
mod function;
mod halves;
mod inline_asm;
mod int;
mod int64;
mod intrinsic;
mod known_bits;
mod lane_intrinsics;
mod lds;
mod lds_twins;
mod loop_constants;
mod memory;
mod mubuf;
mod numeric;
mod packed;
mod pair_bits;
mod places;
mod prepare;
mod reach;
mod registers;
mod residues;
mod scalar_buffer;
mod scratch;
mod shader;
mod sums;
#[cfg(test)]
mod tests;
mod three_operand;
mod uniform_sums;
mod value;
mod vector;
mod vector_params;
mod wide_products;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use mir::CodegenOptions as Options;
use mir::abi::FloatMode;
use mir::analysis::Uniformity;
use mir::diag::{Diagnostic, Result};
use mir::ir::{self, InstData, InstKind, Module, Value};
use mir::machine::{self, Block, EntryValue, Inst, Operand, VReg};
use mir::target::{ScratchAccess, Target};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

pub(crate) use dpp::has_source_everywhere;

/// In which form a value is held in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Rep {
    /// SGPR tuple: the same in all lanes.
    #[default]
    Sgpr,
    /// VGPR tuple: divergent, or uniform and made by the vector unit.
    Vgpr,
    /// `i1` with one bit a lane in an SGPR pair. Also uniform ones that a vector comparison makes.
    Mask,
    /// Uniform `i1`: 0 or 1 in an SGPR.
    Bool,
}

/// What is known about one value before the walk.
#[derive(Clone, Copy, Default)]
struct ValueInfo {
    /// Uses by instructions.
    uses: u32,
    /// Where it lives.
    rep: Rep,
    /// Whether it is used in a block other than that of its definition.
    crosses_blocks: bool,
    /// For a value that is part of another: dword offset into `alias`.
    alias_sub: u8,
    /// For a narrow load: every use is a sign extension, so the load extends the sign.
    sext_load: bool,
    /// Whether it is uniform and only joined, perhaps with another uniform value, to one that is not.
    only_joined: bool,
    /// The value that this one is a part of, where it costs no instruction.
    alias: PackedOption<Value>,
    /// Its virtual register, once asked for.
    reg: PackedOption<VReg>,
    /// Copy for uses outside the loop of its definition (temporal divergence).
    outside: PackedOption<VReg>,
}

struct Selector<'a> {
    module: &'a Module,
    f: &'a ir::Function,
    uniformity: &'a Uniformity,
    target: &'a Target,
    float_mode: FloatMode,
    contract_all: bool,
    mf: machine::Function,
    /// Machine block of each IR block.
    blocks: SecondaryMap<ir::Block, PackedOption<Block>>,
    /// Blocks whose code is complete.
    done: SecondaryMap<ir::Block, bool>,
    values: SecondaryMap<Value, ValueInfo>,
    /// Block of each placed instruction.
    home: SecondaryMap<ir::Inst, PackedOption<ir::Block>>,
    /// Offsets of stack objects.
    allocas: FxHashMap<Value, u32>,
    symbols: FxHashMap<ir::SymbolRef, machine::SymbolId>,
    /// Shifted copies of indices, to be computed where the index is defined.
    scaled: FxHashMap<Value, SmallVec<[(mubuf::Scaled, Operand); 2]>>,
    /// Dwords, from the one given on, of uniform values in VGPRs that arguments want in SGPRs behind a loop, to be moved where the value is defined.
    outer_scalars: FxHashMap<Value, SmallVec<[(u8, VReg); 2]>>,
    /// How many addresses of a block have an index, made in this way, where that is worth to be known.
    index_users: FxHashMap<(ir::Block, Value, mubuf::Scaled), u32>,
    /// The same of indices of other blocks, to be computed at the start of this one.
    indices: Vec<(Value, mubuf::Scaled, Operand)>,
    /// Resources of uniform addresses, to be put together where the address is defined.
    resources: FxHashMap<Value, SmallVec<[(mubuf::ResourceBase, Operand); 2]>>,
    /// Addresses (shift, distance, register) of the form `(base << shift) + distance`, to be computed where the base is defined.
    biased: FxHashMap<Value, SmallVec<[(u32, i64, Operand); 2]>>,
    /// Addresses (dword of the base, distance, register) far behind uniform bases, to be computed where the base is defined.
    far_bases: FxHashMap<Value, SmallVec<[(u8, i64, Operand); 2]>>,
    /// Powers of two that divide offsets of buffers.
    divisors: scalar_buffer::Divisors,
    /// Addresses of LDS that are others with an offset.
    lds_twins: FxHashMap<Value, (Value, i64)>,
    /// Places of global memory, by their addresses.
    places: FxHashMap<Value, machine::MemPlace>,
    /// LDS loads of a dword that one instruction does: the earlier one of each pair, and the later one.
    pairs: FxHashMap<Value, Value>,
    /// The earlier load of each later one in `pairs`.
    paired_with: FxHashMap<Value, Value>,
    /// Loads into one half of a register.
    half_loads: FxHashMap<Value, halves::HalfLoad>,
    /// Dwords of values that the load given completes.
    half_results: FxHashMap<(Value, u8), Value>,
    /// Shifts of 64 bits that choose a byte.
    byte_tables: FxHashSet<Value>,
    /// Comparisons that differences make.
    borrows: borrows::Borrows,
    /// Lane masks that are the second member of struct results.
    seconds: FxHashMap<Value, VReg>,
    /// Members of the results of inline assembly that somebody asked for.
    asm_members: FxHashMap<(Value, u32), Operand>,
    /// Symbol addresses (symbol, byte offset, register) that the entry block computes for loops.
    hoisted: Vec<(ir::SymbolRef, i64, Operand)>,
    /// Copies in all lanes of arguments of chain functions, which the entry makes first of all.
    chain_arguments: Vec<(Value, Operand)>,
    /// Constants of loops.
    loop_constants: loop_constants::LoopConstants,
    /// Masks of uniform conditions for users in loops inside, to be made where the conditions are.
    outer_masks: FxHashMap<Value, Operand>,
    /// Addresses of symbols that code of this block shares, which are still to be computed.
    addresses: Vec<(ir::SymbolRef, i64, Operand)>,
    /// The buffer resource without a base that code of this block shares, which is still to be made.
    plain_resource: Option<Operand>,
    /// Blocks in which all lanes of the wave run for sure, once asked for.
    full_blocks: Option<EntitySet<ir::Block>>,
    /// Whether the function calls others.
    has_calls: bool,
    /// Block being filled.
    block: ir::Block,
    /// Code of the IR instruction being lowered, forwards.
    cur: Vec<Inst>,
    /// Code of the block, backwards.
    rev: Vec<Inst>,
    /// Source position of the instruction being lowered.
    loc: u32,
    /// Scalar and vector constants and copies shared inside a short stretch of code.
    pool: emit::Pool,
}

/// Selects machine code for `func` of `module`, which must be legal IR.
///
/// Fails with `Unsupported` for what the target or gcnc cannot do, `Limit` for LDS or scratch beyond the target's.
pub fn select(
    module: &Module,
    func: ir::Func,
    uniformity: &Uniformity,
    target: &Target,
    options: &Options,
) -> Result<machine::Function> {
    let f = module
        .functions
        .get(func)
        .ok_or_else(|| Diagnostic::defect(format!("selection of a function that does not exist: {func}")))?;
    let mut selector = Selector {
        module,
        f,
        uniformity,
        target,
        float_mode: FloatMode::of(f),
        contract_all: options.contract_all,
        mf: machine::Function {
            wave: target.wave(),
            scratch: target.scratch_access(),
            ..machine::Function::new(f.name.clone(), f.call_conv, func)
        },
        blocks: SecondaryMap::new(),
        done: SecondaryMap::new(),
        values: SecondaryMap::with_capacity(f.values.len()),
        home: SecondaryMap::with_capacity(f.insts.len()),
        allocas: FxHashMap::default(),
        symbols: FxHashMap::default(),
        scaled: FxHashMap::default(),
        outer_scalars: FxHashMap::default(),
        index_users: FxHashMap::default(),
        indices: Vec::new(),
        resources: FxHashMap::default(),
        biased: FxHashMap::default(),
        far_bases: FxHashMap::default(),
        divisors: scalar_buffer::Divisors::of(f),
        lds_twins: FxHashMap::default(),
        places: FxHashMap::default(),
        pairs: FxHashMap::default(),
        paired_with: FxHashMap::default(),
        half_loads: FxHashMap::default(),
        half_results: FxHashMap::default(),
        byte_tables: FxHashSet::default(),
        borrows: borrows::Borrows::default(),
        seconds: FxHashMap::default(),
        asm_members: FxHashMap::default(),
        hoisted: Vec::new(),
        chain_arguments: Vec::new(),
        loop_constants: loop_constants::LoopConstants::default(),
        outer_masks: FxHashMap::default(),
        addresses: Vec::new(),
        plain_resource: None,
        full_blocks: None,
        has_calls: false,
        block: ir::Block::new(0),
        cur: Vec::new(),
        rev: Vec::new(),
        loc: 0,
        pool: emit::Pool::default(),
    };
    // Tables that grow with each entry would do so one by one.
    selector.values.resize(f.values.len());
    selector.home.resize(f.insts.len());
    selector.mf.vregs.reserve(f.values.len());
    selector.run().map_err(|error| error.in_function(&f.name))?;
    Ok(selector.mf)
}

impl<'a> Selector<'a> {
    fn run(&mut self) -> Result<()> {
        self.has_calls = self.calls();
        self.mf.dynamic_stack = self.grows_stack();
        if !self.f.call_conv.is_callable()
            && !self.has_calls
            && !mir::abi::shader::has_flat_scratch(self.f.call_conv, self.target)
        {
            // Nobody hands over what FLAT_SCRATCH starts with.
            self.mf.scratch = ScratchAccess::Buffer;
        }
        if self.f.call_conv.is_callable() {
            use mir::abi::call::{FRAME_POINTER, STACK_POINTER};
            self.mf.frame_base =
                Some(if self.has_calls || self.mf.dynamic_stack { FRAME_POINTER } else { STACK_POINTER });
        } else if self.f.is_kernel() || mir::abi::shader::is_shader(self.f.call_conv) {
            self.set_entry_layout();
        } else {
            return Err(Diagnostic::unsupported(format!("calling convention {:?}", self.f.call_conv)));
        }
        if self.f.is_declaration() {
            return Err(Diagnostic::defect("selection of a declaration"));
        }
        self.mf.kernarg = mir::abi::kernarg::layout(self.module, self.f, self.target);
        let order: Vec<ir::Block> =
            self.uniformity.order().blocks().iter().map(|&b| ir::Block::from_u32(b)).collect();
        self.prepare(&order)?;
        if let Some(entry) = order.first() {
            let (loops, dominators) = (self.uniformity.loops(), self.uniformity.dominators());
            self.loop_constants = loop_constants::LoopConstants::new(loops, dominators, entry.as_u32());
        }
        for &block in &order {
            let machine_block = self.mf.add_block();
            let depth = self.uniformity.loops().depth(block.as_u32());
            self.mf.blocks[machine_block].loop_depth = depth.min(255) as u8;
            self.blocks[block] = machine_block.into();
        }
        for &block in order.iter().rev() {
            self.select_block(block)?;
        }
        if (self.has_calls || self.mf.dynamic_stack) && !self.mf.call_conv.is_callable() {
            self.request_stack();
        }
        self.move_scratch_resource();
        self.request_scratch()?;
        self.check_entry()
    }

    /// Asks for what the prolog needs to set scratch up, if the function has any.
    fn request_scratch(&mut self) -> Result<()> {
        let end = self.mf.frame_end();
        self.mf.resources.scratch_bytes = end;
        if self.mf.call_conv.is_callable() {
            return Ok(());
        }
        let by_resource = self.mf.scratch == ScratchAccess::Buffer;
        self.mf.uses_flat_scratch |= end > 0 && !by_resource;
        self.request_flat_scratch()?;
        let entry = &mut self.mf.entry;
        if !by_resource {
            if self.mf.uses_flat_scratch {
                entry.request(EntryValue::ScratchWaveOffset, None);
            }
        } else if end > 0 || self.mf.uses_flat_scratch || entry.contains(EntryValue::PrivateSegmentBuffer) {
            entry.request(EntryValue::PrivateSegmentBuffer, None);
            entry.request(EntryValue::ScratchWaveOffset, None);
        }
        Ok(())
    }

    fn select_block(&mut self, block: ir::Block) -> Result<()> {
        self.block = block;
        let f = self.f;
        self.rev.reserve(f.blocks[block].insts.len() + 16);
        self.emit_loop_constants(block);
        for &inst in f.blocks[block].insts.iter().rev() {
            let data = &f.insts[inst];
            if let Some(result) = data.result
                && !self.is_wanted(result)
            {
                // The mask may want the value itself.
                self.emit_shared_mask(result)?;
                self.emit_shifted_sum(inst, result);
                self.flush();
            }
            // Results of inline assembly are asked for one by one.
            let computes = !data.has_side_effects() && !matches!(data.kind, InstKind::InlineAsm { .. });
            if computes && !data.result.is_some_and(|result| self.is_wanted(result)) {
                continue;
            }
            self.set_loc(inst);
            self.lower(inst, data).map_err(|error| {
                let error = error.at(self.describe(inst));
                match f.source_location(self.module, inst) {
                    Some(location) => error.located(location),
                    None => error,
                }
            })?;
            self.copy_outside(data.result);
            if let Some(result) = data.result {
                self.emit_shared_mask(result)?;
            }
            self.flush();
            self.pool_step()?;
        }
        self.emit_old_masks(true)?;
        self.flush();
        self.flush_pool();
        self.loc = 0;
        self.emit_addresses();
        self.flush();
        if self.in_entry() {
            self.emit_hoisted();
            for param in &f.params {
                self.copy_outside(Some(param.value));
            }
            self.flush();
        }
        self.finish_params(block)?;
        self.flush_pool();
        self.emit_addresses();
        self.flush();
        if self.in_entry() {
            self.copy_chain_arguments();
        }
        let machine_block = self.machine_block(block);
        let code = self.take_code();
        let body = &mut self.mf.blocks[machine_block];
        if body.insts.is_empty() {
            body.insts = code;
        } else {
            body.insts.extend(code);
        }
        body.tail_start = body.insts.len() as u32;
        self.done[block] = true;
        Ok(())
    }

    /// Whether somebody reads the register of `value`, as far as the walk has come.
    fn is_wanted(&self, value: ir::Value) -> bool {
        self.values[value].reg.is_some() || self.is_half_wanted(value)
    }

    /// Whether the block being filled is the first.
    fn in_entry(&self) -> bool {
        self.uniformity.order().blocks().first() == Some(&self.block.as_u32())
    }

    /// Text of an instruction for messages.
    fn describe(&self, inst: ir::Inst) -> String {
        let data = &self.f.insts[inst];
        if let InstKind::InlineAsm { asm, .. } = &data.kind
            && let Some(asm) = self.f.inline_asm.get(*asm)
        {
            return format!("asm {:?}, {:?}", asm.text, asm.constraints);
        }
        match data.result {
            Some(result) => format!("{result} = {:?}", data.kind),
            None => format!("{:?}", data.kind),
        }
    }

    fn set_loc(&mut self, inst: ir::Inst) {
        let loc = self.f.locs[inst];
        if loc.line == 0 {
            self.loc = 0;
        } else if self.mf.locs.last() == Some(&loc) {
            self.loc = (self.mf.locs.len() - 1) as u32;
        } else {
            self.loc = self.mf.locs.len() as u32;
            self.mf.locs.push(loc);
        }
    }

    fn machine_block(&self, block: ir::Block) -> Block {
        self.blocks[block].expect("every block of the layout got a machine block")
    }

    /// One instruction; its code goes to `cur`.
    fn lower(&mut self, inst: ir::Inst, data: &'a InstData) -> Result<()> {
        match &data.kind {
            InstKind::Unary { op, arg } => self.lower_unary(data, *op, *arg),
            InstKind::Binary { op, args } => self.lower_binary(data, *op, *args),
            InstKind::Cast { op, arg } => self.lower_cast(data, *op, *arg),
            InstKind::Icmp { .. } | InstKind::Fcmp { .. } => self.lower_compare(data),
            InstKind::Select { cond, if_true, if_false } => {
                self.lower_select(data, *cond, *if_true, *if_false)
            }
            InstKind::PtrAdd { base, index, scale, offset } => {
                self.lower_ptradd(data, *base, *index, *scale, *offset)
            }
            InstKind::Alloca { count: Some(bytes), .. }
                if !data.result.is_some_and(|r| self.allocas.contains_key(&r)) =>
            {
                self.grow_stack(data, *bytes)
            }
            InstKind::Alloca { .. } => self.lower_stack_address(data),
            InstKind::Load { ptr, mem } => self.lower_load(data, *ptr, *mem),
            InstKind::Store { ptr, value, mem } => self.lower_store(*ptr, *value, *mem),
            InstKind::AtomicRmw { op, ptr, value, mem } => {
                self.lower_atomic_rmw(data, *op, *ptr, *value, *mem)
            }
            InstKind::CmpXchg { ptr, expected, replacement, mem, .. } => {
                self.lower_cmpxchg(data, *ptr, *expected, *replacement, *mem)
            }
            InstKind::Fence { ordering, scope, flags, space } => {
                self.lower_fence(*ordering, *scope, *flags, *space)
            }
            InstKind::ExtractElement { vector, index } => self.lower_extract(data, *vector, *index),
            InstKind::InsertElement { .. } => self.lower_insert(inst, data),
            InstKind::ExtractValue { aggregate, path } => self.lower_extract_value(data, *aggregate, path),
            InstKind::Intrinsic { intrinsic, args } => self.lower_intrinsic(data, *intrinsic, args),
            InstKind::Jump { .. }
            | InstKind::Branch { .. }
            | InstKind::Ret { .. }
            | InstKind::Unreachable => self.lower_terminator(data),
            InstKind::Call { callee, args } => self.lower_call(inst, data, *callee, args),
            InstKind::InlineAsm { asm, args, side_effects } => {
                self.lower_asm(data, *asm, args, !side_effects)
            }
            InstKind::Shuffle { .. } | InstKind::InsertValue { .. } | InstKind::Switch { .. } => {
                Err(Diagnostic::defect("legalisation left an illegal operation"))
            }
        }
    }

    /// The register that holds the result of `data`, as a whole.
    fn result(&mut self, data: &InstData) -> Result<(Value, Operand)> {
        let value = data.result.ok_or_else(|| Diagnostic::defect("instruction without result"))?;
        Ok((value, self.def(value)))
    }
}
