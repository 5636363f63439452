//! Parameters and results of functions that are called: values as the dwords of the calling convention.
//!
//! A value is split into its scalars and vectors, each into dwords: a scalar of at most 32 bits is one (bits
//! above its width are unspecified unless an attribute says how they extend it), a wider one several,
//! elements of 16 bits share a dword where the target computes with them; elsewhere `half` and `bfloat`
//! travel as `float`. In legal IR each dword of the arguments is a parameter of its own, named by its
//! register, arguments on the stack are loads from a stack object that is laid out first, and the result is
//! one vector of dwords.
//!
//! Cost: linear in dwords.

use super::tail::{Left, Tail, Way};
use super::{Legalizer, Parts};
use mir::abi::call::{CallLayout, MAX_RESULT_DWORDS, Place, Places};
use mir::ir::*;
use mir::{Diagnostic, Result};
use smallvec::{SmallVec, smallvec};

/// Dwords of a value, all `i32`.
pub(super) type Dwords = SmallVec<[Value; 8]>;

/// Stack objects of a function start at this alignment of the frame; larger ones need a frame that is aligned
/// anew.
pub(super) const FRAME_ALIGN_LOG2: u8 = 4;

/// Largest argument that is copied to the stack.
pub(super) const MAX_BYVAL_BYTES: u64 = 1 << 15;

/// Whether an argument in memory can be copied to the stack.
pub(crate) fn fits_on_stack(size_bytes: u64, align_bytes: u64) -> bool {
    size_bytes <= MAX_BYVAL_BYTES && align_bytes <= 1 << FRAME_ALIGN_LOG2
}

/// How one scalar of a type, or all elements of a vector, is passed.
#[derive(Clone, Copy)]
enum Form {
    /// Each scalar on its own, as many dwords as it has.
    Plain,
    /// Two to a dword.
    Packed,
    /// As `float`.
    Float,
}

impl Legalizer<'_> {
    fn form(&self, ty: Type) -> Form {
        match ty.scalar() {
            Some(scalar) if scalar.bits() == 16 => match (self.has_16bit(), ty, scalar) {
                (true, Type::Vector(..), _) => Form::Packed,
                (false, _, Scalar::Float(_)) => Form::Float,
                _ => Form::Plain,
            },
            _ => Form::Plain,
        }
    }

    /// Dwords of a value of type `ty`.
    pub(super) fn abi_dwords(&self, ty: Type) -> Result<usize> {
        let mut count = 0;
        for (leaf, _) in self.members(ty)? {
            let Some(scalar) = leaf.scalar() else { continue };
            let lanes = leaf.lanes() as usize;
            count += match self.form(leaf) {
                Form::Packed => lanes.div_ceil(2),
                _ => lanes * scalar.bits().div_ceil(32) as usize,
            };
        }
        Ok(count)
    }

    /// The dwords in which a value with `parts` is passed.
    pub(super) fn dwords_of(&mut self, ty: Type, parts: &[Value], flags: ParamFlags) -> Result<Dwords> {
        let mut out = Dwords::new();
        let mut next = 0;
        for (leaf, _) in self.members(ty)? {
            let Some(scalar) = leaf.scalar() else { continue };
            let each = self.element_parts(scalar);
            let count = each * leaf.lanes() as usize;
            let Some(parts) = parts.get(next..next + count) else {
                return Err(Diagnostic::malformed("a value has fewer members than its type"));
            };
            next += count;
            match self.form(leaf) {
                Form::Packed => {
                    let words = self.split_dwords(parts, scalar);
                    out.extend(words);
                }
                Form::Float => {
                    for &part in parts {
                        let wide = self.half_to_float(part, scalar);
                        out.push(self.b.bitcast(wide, Type::I32));
                    }
                }
                Form::Plain if each > 1 && matches!(scalar, Scalar::Ptr(_)) => {
                    let words = self.fat_passed(parts, each);
                    out.extend(words);
                }
                Form::Plain => {
                    for parts in parts.chunks(each) {
                        self.push_scalar_dwords(scalar, parts, flags, &mut out);
                    }
                }
            }
        }
        Ok(out)
    }

    pub(super) fn push_scalar_dwords(
        &mut self,
        scalar: Scalar,
        parts: &[Value],
        flags: ParamFlags,
        out: &mut Dwords,
    ) {
        let bits = scalar.bits();
        if matches!(scalar, Scalar::Ptr(space) if super::fat::is_fat(space)) {
            let words = self.fat_words(parts, false);
            return out.extend(words);
        }
        let &[part] = parts else {
            let words = self.split_dwords(parts, scalar);
            return out.extend(words);
        };
        if matches!(scalar, Scalar::Int(_)) && bits <= 32 {
            let part = if flags.contains(ParamFlags::SIGNEXT) && bits > 1 {
                let part = self.sign_extended(part, bits);
                self.b.sext_or_trunc(part, Type::I32)
            } else if flags.contains(ParamFlags::SIGNEXT) {
                self.b.cast(CastOp::SExt, part, Type::I32)
            } else if flags.contains(ParamFlags::ZEROEXT) {
                let part = self.zero_extended(part, bits);
                self.b.zext_or_trunc(part, Type::I32)
            } else {
                self.b.zext_or_trunc(part, Type::I32)
            };
            return out.push(part);
        }
        match bits {
            64 => {
                let wide = self.b.as_integer(part);
                let (low, high) = self.b.split64(wide);
                out.extend([low, high]);
            }
            32 => out.push(self.b.as_integer(part)),
            33.. if !matches!(scalar, Scalar::Int(_)) => {
                let words = bits.div_ceil(32);
                let vector = self.b.bitcast(part, Type::Vector(Scalar::Int(32), words));
                out.extend((0..words).map(|i| self.b.extract(vector, i)));
            }
            _ => {
                let words = self.split_dwords(parts, scalar);
                out.extend(words);
            }
        }
    }

    /// The parts of a value that came in `dwords`.
    pub(super) fn parts_of_dwords(&mut self, ty: Type, dwords: &[Value]) -> Result<Parts> {
        let mut out = Parts::new();
        let mut next = 0;
        let mut take = |count: usize| -> Result<&[Value]> {
            next += count;
            dwords.get(next - count..next).ok_or_else(|| Diagnostic::defect("too few dwords for a value"))
        };
        for (leaf, _) in self.members(ty)? {
            let Some(scalar) = leaf.scalar() else { continue };
            let (bits, lanes) = (scalar.bits(), leaf.lanes());
            match self.form(leaf) {
                Form::Packed => {
                    let words = take(lanes.div_ceil(2) as usize)?;
                    for lane in 0..lanes {
                        self.join_dwords(words, 16 * lane, scalar, &mut out);
                    }
                }
                Form::Float => {
                    for &word in take(lanes as usize)? {
                        let wide = self.b.bitcast(word, Type::F32);
                        out.push(self.float_to_half(wide, scalar));
                    }
                }
                Form::Plain if matches!(scalar, Scalar::Ptr(space) if super::fat::is_fat(space)) => {
                    let words = take((lanes * bits.div_ceil(32)) as usize)?;
                    let each = self.element_parts(scalar);
                    self.fat_received(words, lanes as usize, each, &mut out);
                }
                Form::Plain => {
                    for _ in 0..lanes {
                        let words = take(bits.div_ceil(32) as usize)?;
                        self.push_scalar(scalar, words, &mut out);
                    }
                }
            }
        }
        Ok(out)
    }

    pub(super) fn push_scalar(&mut self, scalar: Scalar, words: &[Value], out: &mut Parts) {
        match (scalar, words) {
            (Scalar::Ptr(space), _) if super::fat::is_fat(space) => self.fat_parts(words, false, out),
            (Scalar::Int(1), &[word]) => {
                let bit = self.b.and_imm(word, 1);
                out.push(self.b.icmp_imm(IntPredicate::Ne, bit, 0));
            }
            // What is above the width stays: it is unspecified in parts too.
            (Scalar::Int(bits @ 2..=32), &[word]) => {
                let carrier = self.carrier(bits);
                out.push(self.b.zext_or_trunc(word, carrier));
            }
            (Scalar::Int(33..=64), &[low, high]) => out.push(self.b.join64(low, high)),
            (_, &[word]) if scalar.bits() == 32 => out.push(self.b.integer_as(word, Type::Scalar(scalar))),
            (_, &[low, high]) if scalar.bits() == 64 => {
                let wide = self.b.join64(low, high);
                out.push(self.b.integer_as(wide, Type::Scalar(scalar)));
            }
            (Scalar::Ptr(_) | Scalar::Float(_), words) if scalar.bits() > 64 => {
                let vector = self.b.vector(words);
                out.push(self.b.bitcast(vector, Type::Scalar(scalar)));
            }
            _ => self.join_dwords(words, 0, scalar, out),
        }
    }

    fn half_to_float(&mut self, part: Value, scalar: Scalar) -> Value {
        if scalar == Scalar::Float(Float::Half) {
            return self.b.cast(CastOp::FpExt, part, Type::F32);
        }
        // The other format of 16 bits is the upper half of a `float`.
        let bits = self.b.as_integer(part);
        let bits = self.b.zext_or_trunc(bits, Type::I32);
        let bits = self.b.shl_imm(bits, 16);
        self.b.bitcast(bits, Type::F32)
    }

    fn float_to_half(&mut self, wide: Value, scalar: Scalar) -> Value {
        if scalar == Scalar::Float(Float::Half) {
            return self.b.cast(CastOp::FpTrunc, wide, Type::F16);
        }
        let bits = self.b.bitcast(wide, Type::I32);
        let bits = self.b.lshr_imm(bits, 16);
        self.field_to_part(bits, scalar)
    }

    /// Whether results of type `ty` go to memory.
    pub(super) fn is_demoted(&self, ty: Type) -> Result<bool> {
        Ok(self.abi_dwords(ty)? > MAX_RESULT_DWORDS)
    }

    /// The parameters of a function that is called, at the top of its entry.
    pub(super) fn lower_call_params(&mut self) -> Result<()> {
        let old = self.old;
        let mut used: cranelift_entity::SecondaryMap<Value, bool> = cranelift_entity::SecondaryMap::new();
        for &block in &old.layout {
            for &inst in &old.blocks[block].insts {
                old.insts[inst].kind.for_each_value(|v| used[v] = true);
            }
        }
        let mut places = Places::new(old.call_conv == CallConv::AmdgpuGfx);
        let private = Type::ptr(AddrSpace::PRIVATE);
        let stack = self.entry_alloca(0, FRAME_ALIGN_LOG2);
        if self.is_demoted(old.ret)? {
            let word = self.incoming(places.dword(false), stack, false);
            self.result_pointer = Some(self.b.integer_as(word, private));
        }
        for param in &old.params {
            let ty = old.ty(param.value);
            if let Some(IndirectParam { ty: pointee, by_value: true }) = param.indirect {
                let types = &self.ctx.module.types;
                let align = types.abi_align(pointee).max(1 << param.align_log2.min(12));
                if align > 1 << FRAME_ALIGN_LOG2 {
                    return Err(Diagnostic::unsupported(format!(
                        "argument in memory aligned to {align} bytes"
                    )));
                }
                let at = places.memory(types.alloc_bytes(pointee) as u32, align as u32);
                let pointer = self.b.ptr_offset(stack, i64::from(at));
                let pointer =
                    if ty == private { pointer } else { self.b.cast(CastOp::AddrSpaceCast, pointer, ty) };
                self.define(param.value, &[pointer]);
                continue;
            }
            let inreg = param.flags.contains(ParamFlags::INREG);
            let mut words = Dwords::new();
            for _ in 0..self.abi_dwords(ty)? {
                let place = places.dword(inreg);
                words.push(if used[param.value] {
                    self.incoming(place, stack, inreg)
                } else {
                    self.b.i32(0)
                });
            }
            if !used[param.value] {
                continue;
            }
            let parts = self.parts_of_dwords(ty, &words)?;
            if let (Scalar::Int(bits), [part]) = (ty.scalar().unwrap_or(Scalar::Int(0)), &parts[..])
                && param.flags.contains(ParamFlags::ZEROEXT)
                && bits < 32
                && self.b.ty(*part) == Type::I32
            {
                self.b.assume_unsigned(*part, bits);
            }
            let parts = match self.spaces.of(param.value) {
                Some(space) if parts.len() == 1 => {
                    smallvec![self.b.cast(CastOp::AddrSpaceCast, parts[0], Type::ptr(space))]
                }
                _ => parts,
            };
            self.define(param.value, &parts);
        }
        self.set_incoming_bytes(stack, places.stack_bytes());
        Ok(())
    }

    /// A dword that the caller passed.
    fn incoming(&mut self, place: Place, stack: Value, inreg: bool) -> Value {
        match place {
            Place::Register(register) => {
                let value = self.b.func.add_param(Type::I32, "");
                if let Some(param) = self.b.func.params.last_mut() {
                    param.register = Some(register);
                    param.flags.set(ParamFlags::INREG, inreg && !register.is_vgpr());
                }
                value
            }
            Place::Stack(at) => {
                let address = self.b.ptr_offset(stack, i64::from(at));
                let mem = MemAccess::plain(AddrSpace::PRIVATE, 2);
                self.b
                    .push(InstKind::Load { ptr: address, mem }, Type::I32, InstFlags::empty())
                    .unwrap_or(address)
            }
        }
    }

    /// The size of the arguments on the stack, once it is known.
    fn set_incoming_bytes(&mut self, stack: Value, bytes: u32) {
        if let Some(inst) = self.b.func.def_inst(stack)
            && let InstKind::Alloca { size_bytes, .. } = &mut self.b.func.insts[inst].kind
        {
            *size_bytes = u64::from(bytes);
        }
    }

    /// A return: the result's dwords go to the one block that returns.
    pub(super) fn lower_return(&mut self, value: Option<Value>) -> Result<Parts> {
        if self.in_shader() {
            return self.lower_shader_return(value);
        }
        if let Some(left) = self.tails.left.take() {
            if let Left::InPlace(value) = left {
                self.terminate(InstKind::Ret { value });
            }
            return Ok(Parts::new());
        }
        if self.old.is_kernel() {
            if value.is_some() {
                return Err(Diagnostic::unsupported("a kernel that returns a value"));
            }
            return Ok(self.terminate(InstKind::Ret { value: None }));
        }
        let mut dwords = Dwords::new();
        if let Some(value) = value {
            let ty = self.old.ty(value);
            let parts = self.parts(value)?;
            match self.result_pointer {
                Some(pointer) => {
                    let mem = MemAccess::plain(AddrSpace::PRIVATE, 2);
                    self.store_parts(pointer, mem, ty, &parts)?;
                }
                None => dwords = self.dwords_of(ty, &parts, self.result_flags())?,
            }
        }
        match self.return_block {
            _ if self.tails.merged => self.leave(Way::Return, dwords),
            Some(block) => self.b.jump(block, &dwords),
            None => self.finish_return(&dwords),
        }
        Ok(Parts::new())
    }

    /// How a narrow integer result is extended.
    fn result_flags(&self) -> ParamFlags {
        self.old.ret_flags
    }

    fn finish_return(&mut self, dwords: &[Value]) {
        let value = self.result_of(dwords);
        self.terminate(InstKind::Ret { value });
    }

    /// A result in the form in which legal IR returns it.
    pub(super) fn result_of(&mut self, dwords: &[Value]) -> Option<Value> {
        match dwords {
            [] => None,
            [one] => Some(*one),
            more => Some(self.b.vector(more)),
        }
    }

    /// The type of [`Self::result_of`] for a result of type `ty`.
    pub(super) fn result_type(&self, ty: Type) -> Result<Type> {
        let in_memory = ty == Type::Void || self.is_demoted(ty)?;
        Ok(match if in_memory { 0 } else { self.abi_dwords(ty)? } {
            0 => Type::Void,
            1 => Type::I32,
            n => Type::Vector(Scalar::Int(32), n as u32),
        })
    }

    /// Where several blocks return, the one that all of them lead to; lanes that return early wait there.
    pub(super) fn add_return_block(&mut self) -> Result<()> {
        let old = self.old;
        let is_return = |&&b: &&Block| {
            let last = old.blocks[b].insts.last();
            last.is_some_and(|&i| matches!(old.insts[i].kind, InstKind::Ret { .. }))
        };
        if old.is_kernel() || self.tails.merged || old.layout.iter().filter(is_return).count() < 2 {
            return Ok(());
        }
        let block = self.b.new_block();
        let demoted = self.is_demoted(old.ret)?;
        let count = if old.ret == Type::Void || demoted { 0 } else { self.abi_dwords(old.ret)? };
        for _ in 0..count {
            self.b.func.add_block_param(block, Type::I32);
        }
        self.return_block = Some(block);
        Ok(())
    }

    /// Fills the block that returns.
    pub(super) fn fill_return_block(&mut self) -> Result<()> {
        if self.tails.merged {
            return self.fill_exit();
        }
        let Some(block) = self.return_block else { return Ok(()) };
        self.b.block = block;
        self.b.scope = None;
        let dwords = Dwords::from_slice(&self.b.func.blocks[block].params);
        self.finish_return(&dwords);
        Ok(())
    }

    /// A call: arguments as dwords with their places, the result put together again.
    pub(super) fn lower_call(
        &mut self,
        inst: Inst,
        callee: Callee,
        args: &[Value],
        ty: Type,
    ) -> Result<Parts> {
        let old = self.old;
        let site = old.call_sites.get(&inst);
        let call_conv = site.map_or(CallConv::Device, |site| site.call_conv);
        if !call_conv.is_callable() {
            return Err(Diagnostic::unsupported("call with this calling convention"));
        }
        let graphics = call_conv == CallConv::AmdgpuGfx;
        let mut places = Places::new(graphics);
        let mut words = Dwords::new();
        let mut layout = Vec::new();
        let demoted = self.is_demoted(ty)?;
        let tail = self.tails.of(inst);
        let result_slot = if let Some(pointer) = self.result_pointer.filter(|_| demoted && tail.is_some()) {
            words.push(self.b.as_integer(pointer));
            layout.push(places.dword(false));
            None
        } else if demoted {
            let types = &self.ctx.module.types;
            let (size, align) = (types.alloc_bytes(ty), types.abi_align(ty).max(4));
            let slot = self.entry_alloca(size, align.trailing_zeros() as u8);
            words.push(self.b.as_integer(slot));
            layout.push(places.dword(false));
            Some(slot)
        } else {
            None
        };
        for (index, &arg) in args.iter().enumerate() {
            let argument = site.and_then(|site| site.args.get(index)).copied().unwrap_or_default();
            if let Some(IndirectParam { ty: pointee, by_value: true }) = argument.indirect {
                self.copy_to_stack(arg, pointee, argument.align_log2, &mut places, &mut words, &mut layout)?;
                continue;
            }
            let parts = self.parts(arg)?;
            let inreg = argument.flags.contains(ParamFlags::INREG);
            for word in self.dwords_of(old.ty(arg), &parts, argument.flags)? {
                words.push(word);
                layout.push(places.dword(inreg));
            }
        }
        let result_ty = self.result_type(ty)?;
        let layout = CallLayout { places: layout, graphics, tail: tail == Some(Tail::InPlace) };
        if let Some(tail) = tail {
            let callee = match callee {
                Callee::Func(_) => callee,
                Callee::Indirect(pointer) => {
                    let target = self.part(pointer)?;
                    Callee::Indirect(self.call_target(target)?)
                }
            };
            self.tails.left = Some(match tail {
                Tail::InPlace => Left::InPlace(self.push_call(callee, &words, result_ty, layout)),
                Tail::Merged => {
                    self.leave(Way::Call { callee, layout }, words);
                    Left::Merged
                }
            });
            return Ok(Parts::new());
        }
        let result = match callee {
            Callee::Func(_) => self.push_call(callee, &words, result_ty, layout),
            Callee::Indirect(pointer) => {
                let divergent = self.differs_between_lanes(pointer, self.current_block);
                let target = self.part(pointer)?;
                let target = self.call_target(target)?;
                if divergent {
                    self.call_each(target, &words, result_ty, layout)
                } else {
                    self.push_call(Callee::Indirect(target), &words, result_ty, layout)
                }
            }
        };
        if let Some(slot) = result_slot {
            let types = &self.ctx.module.types;
            let mem = MemAccess::plain(AddrSpace::PRIVATE, types.abi_align(ty).max(4).trailing_zeros() as u8);
            return self.load_parts(slot, mem, ty);
        }
        match result {
            None => Ok(Parts::new()),
            Some(value) => {
                let count = self.abi_dwords(ty)? as u32;
                let dwords: Dwords = (0..count).map(|i| self.b.extract(value, i)).collect();
                self.parts_of_dwords(ty, &dwords)
            }
        }
    }

    /// The address in a pointer to a function, as an integer.
    fn call_target(&mut self, pointer: Value) -> Result<Value> {
        let target = self.b.as_integer(pointer);
        if self.b.bits(target) != 64 {
            return Err(Diagnostic::unsupported("call through a pointer of this address space"));
        }
        Ok(target)
    }

    /// A legal call; the result as [`Self::result_of`] has it.
    pub(super) fn push_call(
        &mut self,
        callee: Callee,
        words: &[Value],
        ty: Type,
        layout: CallLayout,
    ) -> Option<Value> {
        let kind = InstKind::Call { callee, args: SmallVec::from_slice(words) };
        let result = self.b.push(kind, ty, InstFlags::empty());
        let block = self.b.block;
        if let Some(&inst) = self.b.func.blocks[block].insts.last() {
            self.b.func.call_layouts.insert(inst, layout);
        }
        result
    }

    /// Calls every function that `target` is in some lane, in turn, for the lanes that want it:
    ///
    /// ```text
    /// loop:  first = the pointer of the first lane; lanes that have another one skip the call
    /// call:  the result
    /// latch: lanes that have called leave
    /// ```
    ///
    /// The condition is computed anew in the latch, so that the call stays inside of the loop, where `first`
    /// is the same in all lanes.
    fn call_each(&mut self, target: Value, words: &[Value], ty: Type, layout: CallLayout) -> Option<Value> {
        let (low, high) = self.b.split64(target);
        let [head, call, latch, done] = [(); 4].map(|()| self.b.new_block());
        self.b.jump(head, &[]);
        let scope = self.b.scope.take();
        self.b.block = head;
        let first_low = self.b.intrinsic(Intrinsic::Readfirstlane, &[low], Type::I32);
        let first_high = self.b.intrinsic(Intrinsic::Readfirstlane, &[high], Type::I32);
        let a = self.b.xor(low, first_low);
        let b = self.b.xor(high, first_high);
        let differs = self.b.or(a, b);
        let mine = self.b.icmp_imm(IntPredicate::Eq, differs, 0);
        let undefined = (ty != Type::Void).then(|| self.b.poison(ty));
        let without: SmallVec<[Value; 4]> = undefined.into_iter().collect();
        self.b.branch(mine, BlockCall::to(call), BlockCall { block: latch, args: without });
        self.b.block = call;
        let first = self.b.join64(first_low, first_high);
        let result = self.push_call(Callee::Indirect(first), words, ty, layout);
        let with: SmallVec<[Value; 4]> = result.into_iter().collect();
        self.b.jump(latch, &with);
        self.b.block = latch;
        let result = result.map(|_| self.b.func.add_block_param(latch, ty));
        let one = self.b.icmp_imm(IntPredicate::Eq, a, 0);
        let other = self.b.icmp_imm(IntPredicate::Eq, b, 0);
        let called = self.b.and(one, other);
        self.b.branch(called, BlockCall::to(done), BlockCall::to(head));
        self.b.block = done;
        self.b.scope = scope;
        result
    }

    /// A `byval` argument: its dwords go to the stack.
    fn copy_to_stack(
        &mut self,
        arg: Value,
        pointee: Type,
        align_log2: u8,
        places: &mut Places,
        words: &mut Dwords,
        layout: &mut Vec<Place>,
    ) -> Result<()> {
        let types = &self.ctx.module.types;
        let size = types.alloc_bytes(pointee);
        let align = types.abi_align(pointee).max(1 << align_log2.min(12));
        if !fits_on_stack(size, align) {
            let message = format!("argument of {size} bytes on the stack, aligned to {align}");
            return Err(Diagnostic::unsupported(message));
        }
        let at = places.memory(size as u32, align as u32);
        let pointer = self.raw_parts(arg)?;
        let &[pointer] = &pointer[..] else {
            return Err(Diagnostic::unsupported("a vector of pointers to arguments"));
        };
        let space = self.b.ty(pointer).addr_space().unwrap_or(AddrSpace::FLAT);
        let align_log2 = (align.trailing_zeros() as u8).min(2);
        for offset in (0..size).step_by(4) {
            let bytes = (size - offset).min(4);
            let from = self.b.ptr_offset(pointer, offset as i64);
            let mem = MemAccess::plain(space, align_log2);
            let word_ty = Type::int(8 * bytes as u32);
            let parts = self.load_parts(from, mem, word_ty)?;
            let word = match parts[..] {
                [part] => self.b.zext_or_trunc(part, Type::I32),
                _ => return Err(Diagnostic::defect("a dword of several parts")),
            };
            words.push(word);
            layout.push(Place::Stack(at + offset as u32));
        }
        Ok(())
    }
}
