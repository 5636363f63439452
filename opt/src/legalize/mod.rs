//! Legalisation: one walk that rebuilds a function from operations that selection knows.
//!
//! Every value of the old function becomes a list of *parts*, each a legal scalar of the new one:
//!
//! | old | parts |
//! |---|---|
//! | i1 | i1 |
//! | i2 to i32 | one i32 (i16: one i16 where the target has 16-bit instructions) |
//! | i33 to i64 | one i64 |
//! | wider integers | i64 words, the lowest first |
//! | float, pointer | itself |
//! | vector, struct, array | the parts of its members in order |
//!
//! Bits of a part above the old type's width are **unspecified**; operations that would see them (comparison,
//! right shift, division, extension) clear them first, and the [`Builder`]'s ranges drop what is clear
//! anyway.
//!
//! A vector that meets a variable index is kept whole along parameters and insertions ([`vector`]).
//!
//! Blocks are visited in reverse post-order, so a value's parts exist before its uses; parameters of blocks
//! are split before any body is visited. Old blocks map one to one to new ones; expansions that need control
//! flow continue in a fresh block.
//!
//! Cost: linear in the instructions emitted.

mod alloca;
mod asm_operands;
mod atomic;
mod block_copy;
mod buffer;
mod control;
mod convert;
mod divide;
mod environment;
mod fat;
mod float;
mod functions;
mod header;
mod int;
mod int_intrinsics;
mod intrinsics;
mod lane_crossing;
mod magnitude;
mod masked;
mod math;
mod memory;
mod narrow_float;
mod reciprocal_root;
mod remainder;
mod shader;
mod signalling;
mod stack;
mod store;
mod tail;
mod target_intrinsics;
mod vector;
mod vector_intrinsics;
mod wide;
mod wide_float;

pub(crate) use functions::fits_on_stack;

use super::address_space::Spaces;
use super::builder::Builder;
use super::cfg::Cfg;
use crate::bits::mask64;
use cranelift_entity::SecondaryMap;
use mir::CodegenOptions as Options;
use mir::abi::FloatMode;
use mir::analysis::Uniformity;
use mir::ir::*;
use mir::machine::KernargLayout;
use mir::target::{Features, Target};
use mir::{Diagnostic, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

/// Legal values that stand for one old value.
pub type Parts = SmallVec<[Value; 4]>;

/// What all functions of a module share during legalisation.
struct Context<'a> {
    /// The module, for types and symbols.
    pub module: &'a Module,
    /// What is compiled for.
    pub machine: &'a Target,
    /// User's settings.
    pub options: &'a Options,
    /// The structs `{ T, i1 }` that `cmpxchg` and `div.scale` return, by T.
    pub pairs: SmallVec<[(Type, Type); 4]>,
}

/// The state of the walk over one function.
struct Legalizer<'a> {
    ctx: &'a Context<'a>,
    old: &'a Function,
    b: Builder<'a>,
    mode: FloatMode,
    /// Binary32 is but a wider place for halves, which it holds without denormals.
    ignores_denormals: bool,
    /// Range of each old value's parts in `arena`; length 0 where not yet known (constants).
    parts: SecondaryMap<Value, (u32, u32)>,
    arena: Vec<Value>,
    blocks: SecondaryMap<Block, Option<Block>>,
    kernarg: KernargLayout,
    spaces: Spaces,
    /// Vectors kept whole for a variable index: one part instead of one an element.
    whole: SecondaryMap<Value, bool>,
    /// Stack objects, to be placed at the start of the entry.
    allocas: Vec<Inst>,
    /// Where a result goes that is too large for registers.
    result_pointer: Option<Value>,
    /// Stack objects of which each execution makes a new one.
    renewed: FxHashSet<Inst>,
    /// Whether the stack pointer moves inside of the function.
    grows_stack: bool,
    /// The lanes that were there when the stack pointer was saved, by the value that was given.
    stack_saves: FxHashMap<Value, Value>,
    /// The one block that returns, where several of the old function do.
    return_block: Option<Block>,
    /// The dwords of each argument of a chain function.
    chain_arguments: FxHashMap<Value, functions::Dwords>,
    /// What the jumps to chain functions pass on, where the function has any.
    chain: Option<shader::ChainShape>,
    /// Calls that return in the function's place.
    tails: tail::Tails,
    /// The last division that made blocks, whose other result may be asked for.
    divided: Option<wide::Divided>,
    /// Which values differ between lanes, once somebody asks.
    uniformity: Option<Uniformity>,
    /// What was canonicalised although it is a signalling NaN only if a block is given one.
    quieted: Vec<Value>,
    /// The instruction being lowered, its block, flags and accuracy.
    current: Inst,
    current_block: Block,
    flags: InstFlags,
    fpmath_ulp_256: u16,
    /// log2 of the alignments that it promises, where it copies or fills a block.
    block_aligns: [u8; 2],
}

/// Types at which `cmpxchg` and `div.scale` occur in legal IR; their results are structs that the module must
/// know.
const PAIRED: [Type; 4] = [Type::I32, Type::I64, Type::F32, Type::F64];

/// Adds to the module the types that results of expansions have.
pub fn declare_types(module: &mut Module) {
    for ty in PAIRED {
        module.types.struct_of(&[ty, Type::I1], false);
    }
    asm_operands::add_result_types(module);
}

/// Rebuilds `function`, which is of a module with [`declare_types`] done, from legal types and operations.
///
/// # Errors
/// `Unsupported`, `Malformed` or `Limit`, naming the instruction.
pub fn run(function: &mut Function, module: &Module, target: &Target, options: &Options) -> Result<()> {
    let pair = |ty| Some((ty, module.types.find_struct(&[ty, Type::I1])?));
    let pairs = PAIRED.into_iter().filter_map(pair).collect();
    let mut new = legalize(&Context { module, machine: target, options, pairs }, function)?;
    new.name = std::mem::take(&mut function.name);
    new.attributes = std::mem::take(&mut function.attributes);
    new.kernel = std::mem::take(&mut function.kernel);
    *function = new;
    Ok(())
}

/// Rebuilds `old` as legal IR, without its name, attributes and metadata.
fn legalize(ctx: &Context<'_>, old: &Function) -> Result<Function> {
    let mut new = Function::new(String::new(), old.call_conv, old.ret);
    // Most functions have some more instructions afterwards.
    new.insts.reserve(old.insts.len() * 2);
    new.values.reserve(old.values.len() * 2);
    new.linkage = old.linkage;
    new.visibility = old.visibility;
    new.flags = old.flags;
    new.section = old.section.clone();
    new.variadic = old.variadic;
    new.alias_sets = old.alias_sets.clone();
    new.ret_flags = old.ret_flags;
    new.loc = old.loc;
    let in_registers = old.call_conv.is_callable() || mir::abi::shader::is_shader(old.call_conv);
    let kept = if in_registers { &[][..] } else { &old.params };
    for param in kept {
        let value = new.add_param(old.ty(param.value), param.name.clone());
        if let Some(last) = new.params.last_mut() {
            *last = Param { value, ..param.clone() };
        }
    }
    let kernarg = mir::abi::kernarg::explicit_layout(ctx.module, old, ctx.machine);
    let mut b = Builder::new(new, ctx.machine);
    b.optimize = ctx.options.opt_level > 0;
    // The attributes come last.
    b.id_limits = [0, 1, 2].map(|dimension| old.work_item_id_limit(dimension));
    let mut l = Legalizer {
        ctx,
        old,
        b,
        mode: FloatMode::of(old),
        ignores_denormals: false,
        parts: SecondaryMap::with_capacity(old.values.len()),
        arena: Vec::new(),
        blocks: SecondaryMap::new(),
        kernarg,
        spaces: Spaces::infer(old),
        whole: vector::whole_vectors(old),
        allocas: Vec::new(),
        result_pointer: None,
        renewed: FxHashSet::default(),
        grows_stack: false,
        stack_saves: FxHashMap::default(),
        return_block: None,
        chain_arguments: FxHashMap::default(),
        chain: None,
        tails: tail::Tails::default(),
        divided: None,
        current: Inst::from_u32(0),
        current_block: old.entry(),
        uniformity: None,
        quieted: Vec::new(),
        flags: InstFlags::empty(),
        fpmath_ulp_256: 0,
        block_aligns: [0; 2],
    };
    l.parts.resize(old.values.len());
    l.arena.reserve(old.values.len());
    l.run().map_err(|d| d.in_function(&old.name))?;
    l.drop_needless_quieting();
    let mut new = l.b.func;
    if !l.allocas.is_empty() {
        let entry = new.entry();
        new.blocks[entry].insts.splice(0..0, l.allocas);
    }
    Ok(new)
}

impl Legalizer<'_> {
    fn run(&mut self) -> Result<()> {
        let cfg = Cfg::new(self.old);
        let scopes = cfg.scopes();
        self.find_stack_growth(&cfg);
        for &block in &cfg.rpo {
            let new = self.b.new_block();
            self.blocks[block] = Some(new);
            for &param in &self.old.blocks[block].params {
                let mut parts = Parts::new();
                for ty in self.retyped(param)? {
                    parts.push(self.b.func.add_block_param(new, ty));
                }
                self.define(param, &parts);
            }
        }
        if self.old.call_conv.is_callable() {
            self.find_tail_calls()?;
            self.add_return_block()?;
        } else if self.in_shader() {
            self.add_shader_return()?;
        }
        for (&block, &scope) in cfg.rpo.iter().zip(&scopes) {
            let Some(new) = self.blocks[block] else { continue };
            self.current_block = block;
            self.b.block = new;
            self.b.scope = self.b.optimize.then_some(scope);
            self.b.func.blocks[new].unrolling = self.old.blocks[block].unrolling;
            if block == self.old.entry() {
                self.lower_params()?;
            }
            for &inst in &self.old.blocks[block].insts {
                self.b.loc = self.old.locs[inst];
                self.lower(inst).map_err(|d| self.explain(d, inst))?;
            }
        }
        if self.in_shader() {
            return self.fill_shader_return();
        }
        self.fill_return_block()
    }

    /// Adds position and text of the instruction to a diagnostic.
    fn explain(&self, diagnostic: Box<Diagnostic>, inst: Inst) -> Box<Diagnostic> {
        let text = self.old.describe(&self.ctx.module.types, inst);
        let diagnostic = diagnostic.at(text);
        match self.old.source_location(self.ctx.module, inst) {
            Some(location) => diagnostic.located(location),
            None => diagnostic,
        }
    }

    /// Whether lanes that come to `block` have different values of `value`, of which a loop may have left each with its own.
    fn differs_between_lanes(&mut self, value: Value, block: Block) -> bool {
        let (old, machine) = (self.old, self.ctx.machine);
        let uniformity = self.uniformity.get_or_insert_with(|| Uniformity::compute(old, machine));
        uniformity.is_divergent_at(value, block)
    }

    /// Lowers one instruction of the old function.
    fn lower(&mut self, inst: Inst) -> Result<()> {
        let old = self.old;
        let data = &old.insts[inst];
        self.current = inst;
        self.flags = data.flags;
        self.fpmath_ulp_256 = data.fpmath_ulp_256;
        self.b.strict = data.flags.contains(InstFlags::STRICT);
        self.block_aligns = old.mem_aligns.get(&inst).copied().unwrap_or_default();
        let ty = data.ty;
        let parts: Parts = match &data.kind {
            InstKind::Unary { op, arg } => self.lower_unary(*op, *arg, ty)?,
            InstKind::Binary { op, args } => self.lower_binary(*op, *args, ty)?,
            InstKind::Cast { op, arg } => self.lower_cast(*op, *arg, ty)?,
            InstKind::Icmp { predicate, args } => self.lower_icmp(*predicate, *args)?,
            InstKind::Fcmp { predicate, args } => self.lower_fcmp(*predicate, *args)?,
            InstKind::Select { cond, if_true, if_false } => self.lower_select(*cond, *if_true, *if_false)?,
            InstKind::PtrAdd { base, index, scale, offset } => {
                self.lower_ptr_add(data.result, *base, *index, *scale, *offset, ty)?
            }
            InstKind::Alloca { size_bytes, count, align_log2 } => {
                self.lower_alloca(*size_bytes, *count, *align_log2, ty)?
            }
            InstKind::Load { ptr, mem } => self.lower_load(*ptr, *mem, ty)?,
            InstKind::Store { ptr, value, mem } => {
                self.lower_store(*ptr, *value, *mem)?;
                Parts::new()
            }
            InstKind::AtomicRmw { op, ptr, value, mem } => self.lower_rmw(*op, *ptr, *value, *mem, ty)?,
            InstKind::CmpXchg { ptr, expected, replacement, mem, weak } => {
                self.lower_cmpxchg(*ptr, *expected, *replacement, *mem, *weak, ty)?
            }
            InstKind::Fence { .. } => {
                self.b.push(data.kind.clone(), Type::Void, InstFlags::empty());
                Parts::new()
            }
            InstKind::ExtractElement { vector, index } => self.lower_extract(*vector, *index)?,
            InstKind::InsertElement { vector, element, index } => {
                self.lower_insert(data.result, *vector, *element, *index)?
            }
            InstKind::Shuffle { args, mask } => self.lower_shuffle(*args, mask, ty)?,
            InstKind::ExtractValue { aggregate, path } => self.lower_extract_value(*aggregate, path)?,
            InstKind::InsertValue { aggregate, value, path } => {
                self.lower_insert_value(*aggregate, *value, path)?
            }
            InstKind::Call { callee, args } => self.lower_call(inst, *callee, args, ty)?,
            InstKind::Intrinsic { intrinsic, args } => self.lower_intrinsic(*intrinsic, args, ty)?,
            InstKind::InlineAsm { asm, args, side_effects } => self.lower_asm(*asm, args, *side_effects)?,
            InstKind::Jump { target } => {
                let target = self.target(target)?;
                self.terminate(InstKind::Jump { target })
            }
            InstKind::Branch { cond, if_true, if_false } => self.lower_branch(*cond, if_true, if_false)?,
            InstKind::Switch { value, cases, default } => self.lower_switch(*value, cases, default)?,
            InstKind::Ret { value } => self.lower_return(*value)?,
            // The wave is on its way to another function.
            InstKind::Unreachable if self.tails.left.take().is_some() => Parts::new(),
            InstKind::Unreachable => {
                if self.old.attribute(TRAP_UNREACHABLE).is_some() {
                    self.push_effect(Intrinsic::Trap, &[]);
                }
                self.terminate(InstKind::Unreachable)
            }
        };
        if let Some(result) = data.result {
            self.define(result, &parts);
        }
        Ok(())
    }

    fn terminate(&mut self, kind: InstKind) -> Parts {
        self.b.push(kind, Type::Void, InstFlags::empty());
        Parts::new()
    }

    // ---- types

    /// Types of the parts of a value of type `ty`.
    fn part_types(&self, ty: Type) -> Result<SmallVec<[Type; 4]>> {
        let mut out = SmallVec::new();
        self.push_part_types(ty, &mut out)?;
        Ok(out)
    }

    fn push_part_types(&self, ty: Type, out: &mut SmallVec<[Type; 4]>) -> Result<()> {
        // Aggregates nest; the work list keeps the order of members.
        let mut work: SmallVec<[Type; 8]> = smallvec![ty];
        while let Some(ty) = work.pop() {
            if out.len() > MAX_PARTS {
                return Err(Diagnostic::unsupported("a value of more than 4096 scalars"));
            }
            match ty {
                Type::Void => {}
                Type::Scalar(scalar) => self.push_scalar_types(scalar, out)?,
                Type::Vector(scalar, lanes) => {
                    if lanes as usize > MAX_PARTS {
                        return Err(Diagnostic::unsupported("a vector of more than 4096 elements"));
                    }
                    for _ in 0..lanes {
                        self.push_scalar_types(scalar, out)?;
                    }
                }
                Type::Aggregate(agg) => match &self.ctx.module.types.aggregates[agg] {
                    Aggregate::Struct { fields, .. } => work.extend(fields.iter().rev().map(|f| f.0)),
                    Aggregate::Array { element, len, .. } => {
                        if *len as usize > MAX_PARTS {
                            return Err(Diagnostic::unsupported("an array value of more than 4096 elements"));
                        }
                        work.extend(std::iter::repeat_n(*element, *len as usize));
                    }
                },
            }
        }
        Ok(())
    }

    fn push_scalar_types(&self, scalar: Scalar, out: &mut SmallVec<[Type; 4]>) -> Result<()> {
        match scalar {
            Scalar::Int(bits) if bits > 64 => {
                let words = bits.div_ceil(64) as usize;
                if words > 32 {
                    return Err(Diagnostic::unsupported(format!("integer of {bits} bits")));
                }
                out.extend(std::iter::repeat_n(Type::I64, words));
            }
            Scalar::Int(bits) => out.push(self.carrier(bits)),
            Scalar::Ptr(space) if fat::is_fat(space) => out.extend_from_slice(fat::part_types(space)),
            Scalar::Ptr(space) if space.pointer_bits() > 128 => {
                return Err(Diagnostic::unsupported(format!("pointer into address space {}", space.0)));
            }
            other => out.push(Type::Scalar(other)),
        }
        Ok(())
    }

    /// The legal type that carries an integer of up to 64 bits.
    fn carrier(&self, bits: u32) -> Type {
        match bits {
            1 => Type::I1,
            16 if self.has_16bit() => Type::I16,
            0..=32 => Type::I32,
            _ => Type::I64,
        }
    }

    fn has_16bit(&self) -> bool {
        self.ctx.machine.has(Features::INST_16BIT)
    }

    /// Number of parts of one element of a vector (or of a scalar).
    fn element_parts(&self, scalar: Scalar) -> usize {
        match scalar {
            Scalar::Int(bits) if bits > 64 => bits.div_ceil(64) as usize,
            Scalar::Ptr(space) if fat::is_fat(space) => fat::part_types(space).len(),
            _ => 1,
        }
    }

    /// Types of the parts of an old value: a flat pointer into a known space is carried as a pointer of that
    /// space.
    fn retyped(&self, value: Value) -> Result<SmallVec<[Type; 4]>> {
        match self.spaces.of(value) {
            Some(space) => Ok(smallvec![Type::ptr(space)]),
            None if self.whole[value] => Ok(smallvec![self.old.ty(value)]),
            None => self.part_types(self.old.ty(value)),
        }
    }

    // ---- values

    /// Records the parts of an old value.
    fn define(&mut self, value: Value, parts: &[Value]) {
        let joined;
        let parts = if self.whole[value] && parts.len() > 1 {
            joined = [self.b.vector(parts)];
            &joined[..]
        } else {
            parts
        };
        let start = self.arena.len() as u32;
        self.arena.extend_from_slice(parts);
        self.parts[value] = (start, parts.len() as u32);
    }

    /// Parts of an old value, as they are: a flat pointer may be one of a known space.
    pub(super) fn raw_parts(&mut self, value: Value) -> Result<Parts> {
        if let ValueDef::Const(_) = self.old.values[value].def {
            return self.const_parts(value);
        }
        let (start, len) = self.parts[value];
        if len == 0 && !self.part_types(self.old.ty(value))?.is_empty() {
            return Err(Diagnostic::malformed("a value is used where its definition does not reach"));
        }
        let range = start as usize..(start + len) as usize;
        if self.whole[value]
            && let Some(&vector) = self.arena.get(range.start)
        {
            return Ok((0..self.old.ty(value).lanes()).map(|i| self.b.extract(vector, i)).collect());
        }
        let parts =
            self.arena.get(range).ok_or_else(|| Diagnostic::defect(format!("parts of {value} are lost")))?;
        // Most are scalars.
        Ok(if let [part] = parts { smallvec![*part] } else { SmallVec::from_slice(parts) })
    }

    /// Parts of an old value with the types of [`Self::part_types`].
    fn parts(&mut self, value: Value) -> Result<Parts> {
        if let Some(part) = self.plain_part(value) {
            return Ok(smallvec![part]);
        }
        let mut parts = self.raw_parts(value)?;
        if self.spaces.of(value).is_some()
            && let [part] = parts[..]
        {
            let ty = self.old.ty(value);
            parts[0] = self.b.cast(CastOp::AddrSpaceCast, part, ty);
        }
        Ok(parts)
    }

    /// The one part of a scalar.
    fn part(&mut self, value: Value) -> Result<Value> {
        if let Some(part) = self.plain_part(value) {
            return Ok(part);
        }
        match self.parts(value)?[..] {
            [part] => Ok(part),
            _ => Err(Diagnostic::unsupported(format!(
                "value of type {} here",
                self.ctx.module.types.display(self.old.ty(value))
            ))),
        }
    }

    /// The part of a scalar with nothing special about it, as most values are.
    fn plain_part(&mut self, value: Value) -> Option<Value> {
        if self.whole[value] || self.spaces.of(value).is_some() {
            return None;
        }
        let old = &self.old.values[value];
        match old.def {
            ValueDef::Const(Const::Int(bits)) => {
                let width = old.ty.bits().filter(|&width| width <= 64)?;
                let carrier = self.carrier(width as u32);
                Some(self.b.int(carrier, bits))
            }
            ValueDef::Const(Const::Float(bits)) => Some(self.b.float_bits(old.ty, bits)),
            ValueDef::Const(_) => None,
            _ => match self.parts[value] {
                (start, 1) => self.arena.get(start as usize).copied(),
                _ => None,
            },
        }
    }

    fn const_parts(&mut self, value: Value) -> Result<Parts> {
        let old = self.old;
        let mut out = Parts::new();
        // Depth of nested constants is the depth of types; the list keeps the order.
        let mut work: SmallVec<[Value; 8]> = smallvec![value];
        while let Some(value) = work.pop() {
            let ty = old.ty(value);
            let ValueDef::Const(constant) = &old.values[value].def else {
                return Err(Diagnostic::malformed("a constant has a member that is not constant"));
            };
            match constant {
                Const::Elements(members) => work.extend(members.iter().rev().copied()),
                Const::Int(bits) => match ty.bits() {
                    Some(width) if width > 64 => {
                        for i in 0..width.div_ceil(64) {
                            out.push(self.b.int(Type::I64, if i == 0 { *bits } else { 0 }));
                        }
                    }
                    Some(width) => {
                        let carrier = self.carrier(width as u32);
                        out.push(self.b.int(carrier, *bits));
                    }
                    None => return Err(Diagnostic::malformed("a number as an aggregate")),
                },
                Const::Wide(words) => {
                    let width = ty.bits().ok_or_else(|| Diagnostic::malformed("a number as an aggregate"))?;
                    for i in 0..width.div_ceil(64) {
                        // High words that are zero may be left out.
                        let word = words.get(i as usize).copied().unwrap_or(0);
                        out.push(self.b.int(Type::I64, word));
                    }
                }
                Const::Float(bits) => out.push(self.b.float_bits(ty, *bits)),
                Const::Symbol(symbol, offset) => {
                    if let Some(space) = ty.addr_space().filter(|space| space.pointer_bits() > 64) {
                        // No relocation makes a resource.
                        let message = format!("address of a variable in address space {}", space.0);
                        return Err(Diagnostic::unsupported(message));
                    }
                    out.push(self.b.func.constant(ty, Const::Symbol(*symbol, *offset)));
                }
                Const::Zero => {
                    for ty in self.part_types(ty)? {
                        out.push(self.b.zero(ty));
                    }
                }
                Const::Undef => {
                    for ty in self.part_types(ty)? {
                        out.push(self.b.undef(ty));
                    }
                }
                Const::Poison => {
                    for ty in self.part_types(ty)? {
                        out.push(self.b.poison(ty));
                    }
                }
            }
        }
        Ok(out)
    }

    /// The part with bits above `bits` cleared.
    fn zero_extended(&mut self, part: Value, bits: u32) -> Value {
        if bits >= self.b.bits(part) {
            return part;
        }
        self.b.and_imm(part, mask64(u64::MAX, bits))
    }

    /// The part with bits above `bits` equal to bit `bits - 1`.
    fn sign_extended(&mut self, part: Value, bits: u32) -> Value {
        let width = self.b.bits(part);
        if bits >= width || self.b.signed_bits(part) <= bits {
            return part;
        }
        // A zero-extended narrow load becomes a sign-extending one.
        if let Some(inst) = self.b.func.def_inst(part)
            && let InstKind::Cast { op: CastOp::ZExt, arg } = self.b.func.insts[inst].kind
            && self.b.bits(arg) == bits
        {
            let ty = self.b.ty(part);
            return self.b.cast(CastOp::SExt, arg, ty);
        }
        let up = self.b.shl_imm(part, width - bits);
        self.b.ashr_imm(up, width - bits)
    }

    /// The struct `{ ty, i1 }`, which `prepare` has put into the module's table.
    fn pair_type(&self, ty: Type) -> Option<Type> {
        self.ctx.pairs.iter().find(|(scalar, _)| *scalar == ty).map(|&(_, pair)| pair)
    }

    /// Loads of kernel arguments at the top of the entry.
    fn lower_params(&mut self) -> Result<()> {
        if self.old.call_conv.is_callable() {
            return self.lower_call_params();
        }
        if self.in_shader() {
            return self.lower_shader_params();
        }
        if self.old.params.is_empty() {
            return Ok(());
        }
        if !self.old.is_kernel() {
            return Err(Diagnostic::unsupported("parameters of a function that is not a kernel"));
        }
        let mut used: SecondaryMap<Value, bool> = SecondaryMap::new();
        for &block in &self.old.layout {
            for &inst in &self.old.blocks[block].insts {
                self.old.insts[inst].kind.for_each_value(|v| used[v] = true);
            }
        }
        let base_ty = Type::ptr(AddrSpace::CONSTANT);
        for arg in self.kernarg.args.clone() {
            let Some(param) = arg.param.and_then(|i| self.old.params.get(i as usize)) else { continue };
            if !used[param.value] {
                continue;
            }
            let base = self.b.intrinsic(Intrinsic::KernargSegmentPtr, &[], base_ty);
            let address = self.b.ptr_offset(base, i64::from(arg.offset_bytes));
            let ty = self.old.ty(param.value);
            let parts: Parts = if param.indirect.is_some() {
                smallvec![self.b.cast(CastOp::AddrSpaceCast, address, ty)]
            } else {
                let align = 1u64 << (u64::from(arg.offset_bytes) | 16).trailing_zeros();
                let mem = MemAccess {
                    flags: MemFlags::INVARIANT | MemFlags::NO_CLOBBER | MemFlags::DEREFERENCEABLE,
                    ..MemAccess::plain(AddrSpace::CONSTANT, align.trailing_zeros() as u8)
                };
                self.load_parts(address, mem, ty)?
            };
            let parts = match self.spaces.of(param.value) {
                Some(space) if parts.len() == 1 => {
                    smallvec![self.b.cast(CastOp::AddrSpaceCast, parts[0], Type::ptr(space))]
                }
                _ => parts,
            };
            self.define(param.value, &parts);
        }
        Ok(())
    }
}

/// Attribute of functions that trap where control cannot get.
const TRAP_UNREACHABLE: &str = "gcnc-trap-unreachable";

/// Most scalars that one value may be split into.
const MAX_PARTS: usize = 4096;
