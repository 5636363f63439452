//! What the walk needs to know beforehand: uses, homes, representations, free values, LDS and frame.

use super::{Rep, Selector, ValueInfo};
use cranelift_entity::{EntityRef, SecondaryMap};
use mir::diag::{Diagnostic, Result};
use mir::ir::{
    AddrSpace, BinaryOp, Block, CastOp, Float, InstData, InstKind, Intrinsic, MemAccess, MemFlags, Ordering,
    Scalar, Type, UnaryOp, Value,
};
use mir::isa::Opcode;
use mir::machine::{EntryValue, FrameSlotData};
use rustc_hash::FxHashSet;

/// Scratch bytes a lane that MUBUF can address: the stride of the swizzled resource is 14 bits of dwords a wave in
/// `COMPUTE_TMPRING_SIZE`; 256 KiB less one kilobyte a lane is what the field of 13 bits in units of 256 dwords a wave allows.
const MAX_SCRATCH_BYTES: u64 = 131_008;

impl<'a> Selector<'a> {
    /// Fills the side tables; `order` covers all blocks.
    pub(super) fn prepare(&mut self, order: &[Block]) -> Result<()> {
        self.count_uses(order);
        self.layout_lds()?;
        let f = self.f;
        for param in &f.params {
            let scalar = param.register.is_some_and(|r| !r.is_vgpr());
            self.values[param.value].rep = if scalar { Rep::Sgpr } else { Rep::Vgpr };
        }
        for &block in order {
            for &inst in &f.blocks[block].insts {
                let data = &f.insts[inst];
                if let InstKind::Alloca { size_bytes, count, align_log2 } = data.kind
                    && count.is_none_or(|c| block == f.entry() && self.const_int(c).is_some())
                {
                    self.place_alloca(data, size_bytes, count, align_log2)
                        .map_err(|e| e.at(self.describe(inst)))?;
                }
            }
        }
        self.decide_where_values_live(order, &FxHashSet::default());
        let vector_params = self.find_vector_params(order);
        if !vector_params.is_empty() {
            self.decide_where_values_live(order, &vector_params);
        }
        self.find_lds_twins(order);
        self.find_places(order);
        self.find_byte_tables(order);
        let (mut places, mut chained) = (SecondaryMap::new(), SecondaryMap::new());
        for &block in order {
            self.pair_lds_loads(block);
            self.plan_borrows(block);
            self.plan_half_loads(block, &mut places, &mut chained);
        }
        self.kernel_attributes();
        Ok(())
    }

    /// Decides, forwards, where each value lives and of which it is a part. `vector_params` are uniform parameters in VGPRs.
    fn decide_where_values_live(&mut self, order: &[Block], vector_params: &FxHashSet<Value>) {
        let f = self.f;
        for &block in order {
            for &param in &f.blocks[block].params {
                let vector = vector_params.contains(&param);
                self.values[param].rep = if vector { Rep::Vgpr } else { self.param_rep(param) };
            }
            for &inst in &f.blocks[block].insts {
                let data = &f.insts[inst];
                let Some(result) = data.result else { continue };
                self.values[result].rep = self.classify(data, result);
                // Aliases of aliases are followed here, once.
                let part =
                    self.free_part(inst, data).map(|(base, sub)| match self.values[base].alias.expand() {
                        Some(root) => (root, sub + self.values[base].alias_sub),
                        None => (base, sub),
                    });
                let info = &mut self.values[result];
                (info.alias, info.alias_sub) = match part {
                    Some((base, sub)) => (base.into(), sub),
                    None => (None.into(), 0),
                };
            }
        }
    }

    fn count_uses(&mut self, order: &[Block]) {
        let f = self.f;
        let mut defs = SecondaryMap::<Value, u32>::with_default(u32::MAX);
        defs.resize(f.values.len());
        for &block in order {
            for &param in &f.blocks[block].params {
                defs[param] = block.index() as u32;
            }
            for &inst in &f.blocks[block].insts {
                self.home[inst] = block.into();
                if let Some(result) = f.insts[inst].result {
                    defs[result] = block.index() as u32;
                    self.values[result].sext_load = matches!(f.insts[inst].kind, InstKind::Load { .. });
                }
            }
        }
        let multiplies = self.exists(Opcode::V_MAD_U64_U32);
        for &block in order {
            for &inst in &f.blocks[block].insts {
                let kind = &f.insts[inst].kind;
                if multiplies {
                    self.count_index_users(block, kind, f.insts[inst].ty);
                }
                let is_sext = matches!(kind, InstKind::Cast { op: CastOp::SExt, .. });
                let values = &mut self.values;
                kind.for_each_value(|value| {
                    let info: &mut ValueInfo = &mut values[value];
                    info.uses += 1;
                    info.crosses_blocks |= defs[value] != block.index() as u32;
                    info.sext_load &= is_sext;
                });
            }
        }
        if multiplies && !self.exists(Opcode::S_MUL_HI_U32) {
            self.note_summands(order);
        }
    }

    /// Notes the uniform summands of 64 bits that are used for one sum that is not uniform, alone or with one that is: a product among them is made by the
    /// instruction that adds.
    fn note_summands(&mut self, order: &[Block]) {
        let f = self.f;
        for &inst in order.iter().rev().flat_map(|&block| f.blocks[block].insts.iter().rev()) {
            let data = &f.insts[inst];
            let (InstKind::Binary { op: BinaryOp::Add, args }, Some(sum)) = (&data.kind, data.result) else {
                continue;
            };
            if data.ty.bits() != Some(64)
                || !self.uniformity.is_divergent_where_defined(sum) && !self.values[sum].only_joined
            {
                continue;
            }
            for &arg in args {
                self.values[arg].only_joined =
                    self.values[arg].uses == 1 && !self.uniformity.is_divergent_where_defined(arg);
            }
        }
    }

    fn param_rep(&self, param: Value) -> Rep {
        let ty = self.f.ty(param);
        match (self.uniformity.is_divergent_where_defined(param), ty) {
            (true, Type::Scalar(Scalar::Int(1))) => Rep::Mask,
            (true, _) => Rep::Vgpr,
            (false, Type::Scalar(Scalar::Int(1))) => Rep::Bool,
            // The vector unit makes them and uses them.
            (false, _) if matches!(ty.scalar(), Some(Scalar::Float(_))) || self.dwords_of(ty) > 4 => {
                Rep::Vgpr
            }
            (false, _) => Rep::Sgpr,
        }
    }

    /// Where the result of `data` lives.
    fn classify(&self, data: &InstData, result: Value) -> Rep {
        if let Some(rep) = self.asm_rep(data, result) {
            return rep;
        }
        let divergent = self.uniformity.is_divergent_where_defined(result);
        if data.ty == Type::I1 {
            return if divergent { Rep::Mask } else { self.classify_uniform_bool(data) };
        }
        if divergent || !self.has_scalar_form(data) {
            return Rep::Vgpr;
        }
        // A number that comes from the vector unit is read from its first lane: what follows is mostly arithmetic on integers.
        let exempt = matches!(
            data.kind,
            InstKind::Cast { op: CastOp::FpToUi | CastOp::FpToSi, .. }
                | InstKind::Intrinsic {
                    intrinsic: Intrinsic::Readfirstlane
                        | Intrinsic::Readlane
                        | Intrinsic::Ballot
                        | Intrinsic::AmdgcnIcmp
                        | Intrinsic::AmdgcnFcmp
                        | Intrinsic::SBitreplicate
                        | Intrinsic::SQuadmask
                        | Intrinsic::SWqm
                        | Intrinsic::ReadRegister
                        | Intrinsic::ReadVolatileRegister,
                    ..
                }
        );
        if exempt || self.all_scalar(&data.kind) || self.chooses_scalar(&data.kind) {
            Rep::Sgpr
        } else {
            Rep::Vgpr
        }
    }

    /// Whether SCC chooses between a value in SGPRs and one that the vector unit has made: reading that from its first lane takes less than the
    /// mask and the copy that a choice of lanes needs.
    fn chooses_scalar(&self, kind: &InstKind) -> bool {
        let &InstKind::Select { cond, if_true, if_false } = kind else { return false };
        let rep = |value: Value| self.values[value].rep;
        rep(cond) == Rep::Bool
            && [if_true, if_false].iter().any(|&v| rep(v) == Rep::Sgpr && self.f.as_const(v).is_none())
    }

    fn classify_uniform_bool(&self, data: &InstData) -> Rep {
        let scalar_bool = match &data.kind {
            InstKind::Icmp { predicate, args } => {
                self.all_scalar(&data.kind) && self.scalar_compare_exists(*predicate, self.f.ty(args[0]))
            }
            InstKind::Binary { .. } | InstKind::Select { .. } => self.none_is_mask(&data.kind),
            InstKind::Cast { arg, .. } | InstKind::Unary { arg, .. } => {
                matches!(self.values[*arg].rep, Rep::Sgpr | Rep::Bool)
            }
            _ => false,
        };
        if scalar_bool { Rep::Bool } else { Rep::Mask }
    }

    fn all_scalar(&self, kind: &InstKind) -> bool {
        let mut all = true;
        kind.for_each_value(|v| all &= self.values[v].rep != Rep::Vgpr);
        all
    }

    fn none_is_mask(&self, kind: &InstKind) -> bool {
        let mut none = true;
        kind.for_each_value(|v| none &= !matches!(self.values[v].rep, Rep::Mask | Rep::Vgpr));
        none
    }

    /// Whether the scalar unit can compute `data`, given scalar operands.
    fn has_scalar_form(&self, data: &InstData) -> bool {
        // The scalar unit knows no aggregates.
        let at_most = |bits| data.ty.bits().is_some_and(|own| own <= bits);
        let vector = matches!(data.ty, Type::Vector(..));
        match &data.kind {
            InstKind::Binary { op, .. } => match op {
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => at_most(64),
                BinaryOp::Mul if !at_most(32) && !self.exists(Opcode::S_MUL_HI_U32) => {
                    !vector && data.result.is_some_and(|product| !self.values[product].only_joined)
                }
                BinaryOp::Mul
                | BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Shl
                | BinaryOp::LShr
                | BinaryOp::AShr => !vector,
                _ => false,
            },
            InstKind::Unary { op: UnaryOp::FNeg, .. } => at_most(64),
            InstKind::Unary { op: UnaryOp::Freeze, .. } => true,
            InstKind::Cast { op: CastOp::FpToUi | CastOp::FpToSi, .. } => data.ty == Type::I32,
            InstKind::Cast { op, .. } => matches!(
                op,
                CastOp::Trunc
                    | CastOp::ZExt
                    | CastOp::SExt
                    | CastOp::PtrToInt
                    | CastOp::IntToPtr
                    | CastOp::BitCast
                    | CastOp::AddrSpaceCast
            ),
            InstKind::Select { .. } => at_most(64),
            InstKind::PtrAdd { scale, index, .. } => {
                // An index is scaled by the vector unit where that adds the base at once.
                index.is_none()
                    || at_most(32)
                    || scale.unsigned_abs().is_power_of_two()
                    || self.exists(Opcode::S_MUL_HI_U32)
            }
            InstKind::Alloca { .. } => true,
            InstKind::Load { ptr, mem } => self.load_is_scalar(data.ty, *ptr, mem),
            InstKind::ExtractElement { index, .. } => self.const_int(*index).is_some(),
            // While a tuple is put together, its elements need registers, too; longer ones would take more scalar registers than there are.
            InstKind::InsertElement { index, .. } => self.const_int(*index).is_some() && at_most(512),
            InstKind::Intrinsic { intrinsic, args } => match intrinsic {
                Intrinsic::Smin | Intrinsic::Smax | Intrinsic::Umin | Intrinsic::Umax => !vector,
                Intrinsic::Fabs => at_most(64),
                Intrinsic::Ctpop
                | Intrinsic::Ctlz
                | Intrinsic::Cttz
                | Intrinsic::Sffbh
                | Intrinsic::Bitreverse
                | Intrinsic::Fshr
                | Intrinsic::WorkgroupIdX
                | Intrinsic::WorkgroupIdY
                | Intrinsic::WorkgroupIdZ
                | Intrinsic::DispatchPtr
                | Intrinsic::DispatchId
                | Intrinsic::QueuePtr
                | Intrinsic::KernargSegmentPtr
                | Intrinsic::ImplicitargPtr
                | Intrinsic::Returnaddress
                | Intrinsic::LdsKernelId
                | Intrinsic::WaveId
                | Intrinsic::ImplicitBufferPtr
                | Intrinsic::RelocConstant
                | Intrinsic::Stacksave
                | Intrinsic::Groupstaticsize
                | Intrinsic::Readfirstlane
                | Intrinsic::Readlane
                | Intrinsic::Ballot
                | Intrinsic::AmdgcnIcmp
                | Intrinsic::AmdgcnFcmp
                | Intrinsic::SMemtime
                | Intrinsic::SGetWaveidInWorkgroup
                | Intrinsic::SMemrealtime
                | Intrinsic::Readcyclecounter
                | Intrinsic::Readsteadycounter
                | Intrinsic::SGetreg
                | Intrinsic::SGetpc
                | Intrinsic::PopsExitingWaveId
                | Intrinsic::SBitreplicate
                | Intrinsic::SQuadmask
                | Intrinsic::ReadRegister
                | Intrinsic::ReadVolatileRegister
                | Intrinsic::SWqm => true,
                Intrinsic::Buffer(_) => self.buffer_load_is_scalar(data, args),
                Intrinsic::SBufferLoad => matches!(data.ty.bits(), Some(32 | 64 | 128 | 256 | 512)),
                Intrinsic::Ubfe | Intrinsic::Sbfe => {
                    self.const_int(args[1]).is_some() && self.const_int(args[2]).is_some()
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a uniform load may go through the scalar cache: memory that nobody writes meanwhile, whole dwords.
    pub(super) fn load_is_scalar(&self, ty: Type, ptr: Value, mem: &MemAccess) -> bool {
        if mem.ordering != Ordering::NotAtomic || mem.flags.contains(MemFlags::VOLATILE) {
            return false;
        }
        let unwritten = mem.space == AddrSpace::CONSTANT
            || mem.space == AddrSpace::GLOBAL
                && mem.flags.intersects(MemFlags::INVARIANT | MemFlags::NO_CLOBBER);
        if !unwritten || self.uniformity.is_divergent_where_defined(ptr) || self.values[ptr].rep == Rep::Vgpr
        {
            return false;
        }
        let bytes = self.module.types.store_bytes(ty);
        if bytes.is_multiple_of(4) {
            return mem.align_log2 >= 2 && bytes <= 64;
        }
        // A narrow load of which the place within its dword is known.
        matches!(bytes, 1 | 2) && self.narrow_scalar_offset(ptr, mem).is_some()
    }

    /// For a 1- or 2-byte load: the pointer's root that is dword-aligned and the constant offset from it.
    pub(super) fn narrow_scalar_offset(&self, ptr: Value, mem: &MemAccess) -> Option<(Value, i64)> {
        let (root, offset) = self.split_offset(ptr);
        if mem.align_log2 >= 2 {
            return Some(if offset & 3 == 0 { (root, offset) } else { (ptr, 0) });
        }
        let inst = self.f.def_inst(root)?;
        let aligned = matches!(
            self.f.insts[inst].kind,
            InstKind::Intrinsic {
                intrinsic: Intrinsic::KernargSegmentPtr | Intrinsic::ImplicitargPtr | Intrinsic::DispatchPtr,
                ..
            }
        );
        aligned.then_some((root, offset))
    }

    /// A value that is a dword-aligned part of another one, or all of it: `(whole, first dword)`.
    fn free_part(&self, inst: mir::ir::Inst, data: &InstData) -> Option<(Value, u8)> {
        let result = data.result?;
        let same_rep = |whole: Value| {
            self.values[whole].rep == self.values[result].rep
                && self.uniformity.is_divergent_where_defined(whole)
                    == self.uniformity.is_divergent_where_defined(result)
        };
        match &data.kind {
            InstKind::Unary { op: UnaryOp::Freeze, arg } => same_rep(*arg).then_some((*arg, 0)),
            InstKind::Cast { op, arg } => {
                let from = self.f.ty(*arg);
                match op {
                    CastOp::BitCast | CastOp::PtrToInt | CastOp::IntToPtr => (same_rep(*arg)
                        && self.dwords_of(from) == self.dwords_of(data.ty))
                    .then_some((*arg, 0)),
                    CastOp::AddrSpaceCast => {
                        let global = |ty: Type| {
                            ty.addr_space().is_some_and(|s| {
                                matches!(s, AddrSpace::FLAT | AddrSpace::GLOBAL | AddrSpace::CONSTANT)
                            })
                        };
                        (same_rep(*arg) && global(from) && global(data.ty)).then_some((*arg, 0))
                    }
                    CastOp::Trunc if data.ty != Type::I1 && same_rep(*arg) => {
                        if let Some((whole, 32)) = self.shifted_right(*arg)
                            && same_rep(whole)
                        {
                            if self.wide_product(whole).is_none() {
                                return Some((whole, 1));
                            }
                            // The high half of a product is an instruction of its own.
                            if self.values[*arg].uses == 1 {
                                return None;
                            }
                        }
                        Some((*arg, 0))
                    }
                    // A byte or word load clears the upper bits.
                    CastOp::ZExt
                        if data.ty == Type::I32 && self.clears_upper_bits(*arg) && same_rep(*arg) =>
                    {
                        Some((*arg, 0))
                    }
                    // 0 or 1 in an SGPR is the number.
                    CastOp::ZExt
                        if from == Type::I1
                            && self.dwords_of(data.ty) == 1
                            && self.values[*arg].rep == Rep::Bool
                            && self.values[result].rep == Rep::Sgpr =>
                    {
                        Some((*arg, 0))
                    }
                    _ => None,
                }
            }
            InstKind::ExtractElement { vector, index } => {
                let bits = data.ty.bits()?;
                let at_bit = self.const_int(*index)?.checked_mul(bits as i64)?;
                let inside = at_bit >= 0 && (at_bit as u64) < self.f.ty(*vector).bits()?;
                // Across blocks a part is copied, so that it does not keep the whole tuple alive.
                let near = !self.values[result].crosses_blocks
                    && self.f.def_inst(*vector).is_none_or(|def| self.home[def] == self.home[inst]);
                (inside && at_bit % 32 == 0 && same_rep(*vector) && near)
                    .then_some((*vector, (at_bit / 32) as u8))
            }
            InstKind::ExtractValue { aggregate, path } => {
                let from_asm = self.asm_result_is_scalar(*aggregate, 0).is_some();
                (path.first() == Some(&0) && data.ty != Type::I1 && !from_asm).then_some((*aggregate, 0))
            }
            InstKind::Intrinsic { intrinsic: Intrinsic::Readfirstlane, args } => {
                // Outside of a loop, the value that it left each lane with differs.
                let home = self.home[inst].expand();
                let here = home.is_some_and(|home| !self.uniformity.is_divergent_at(args[0], home));
                (here && self.values[args[0]].rep == Rep::Sgpr && self.values[result].rep == Rep::Sgpr)
                    .then_some((args[0], 0))
            }
            _ => None,
        }
    }

    /// `value` as `whole >> constant`, logically or arithmetically, of 64 bits.
    fn shifted_right(&self, value: Value) -> Option<(Value, i64)> {
        let inst = self.f.def_inst(value)?;
        match &self.f.insts[inst].kind {
            InstKind::Binary { op: BinaryOp::LShr | BinaryOp::AShr, args } if self.f.ty(value).is_int(64) => {
                Some((args[0], self.const_int(args[1])?))
            }
            _ => None,
        }
    }

    /// Whether the bits above a narrow value are known to be zero in its register.
    pub(super) fn clears_upper_bits(&self, value: Value) -> bool {
        let Some(inst) = self.f.def_inst(value) else { return false };
        let data = &self.f.insts[inst];
        matches!(data.ty, Type::Scalar(Scalar::Int(8 | 16)))
            && matches!(data.kind, InstKind::Load { .. })
            && !self.loads_signed(value)
    }

    /// Whether a narrow load extends the sign into its register.
    pub(super) fn loads_signed(&self, value: Value) -> bool {
        let info = &self.values[value];
        info.sext_load && info.uses > 0
    }

    fn place_alloca(
        &mut self,
        data: &InstData,
        size: u64,
        count: Option<Value>,
        align_log2: u8,
    ) -> Result<()> {
        let count = match count {
            None => 1,
            Some(value) => match self.const_int(value) {
                Some(count) if count >= 0 => count as u64,
                _ => return Err(Diagnostic::unsupported("stack object of variable size")),
            },
        };
        let Some(result) = data.result.filter(|&r| self.values[r].uses > 0) else { return Ok(()) };
        let used = u64::from(self.mf.frame_end());
        let align_log2 = align_log2.max(2);
        let offset = used.next_multiple_of(1u64.checked_shl(align_log2.into()).unwrap_or(u64::MAX));
        let size = size.saturating_mul(count);
        if align_log2 > 16 || offset.saturating_add(size) > MAX_SCRATCH_BYTES {
            return Err(Diagnostic::limit(format!(
                "stack objects take {} bytes a lane, more than the {MAX_SCRATCH_BYTES} that scratch can hold",
                offset.saturating_add(size)
            )));
        }
        let size_bytes = (size as u32).next_multiple_of(4);
        self.mf.frame.push(FrameSlotData { size_bytes, align_log2, offset_bytes: Some(offset as u32) });
        self.mf.resources.scratch_bytes = offset as u32 + size_bytes;
        // The prolog needs the wave's offset for the resource and for FLAT_SCRATCH alike.
        if !self.mf.call_conv.is_callable() {
            self.mf.entry.request(EntryValue::ScratchWaveOffset, None);
        }
        self.allocas.insert(result, offset as u32);
        Ok(())
    }

    /// Takes over the places of LDS variables.
    fn layout_lds(&mut self) -> Result<()> {
        self.mf.lds = match self.module.lds.get(&self.mf.source) {
            Some(layout) => layout.clone(),
            None => mir::abi::lds::layout_alone(self.module, self.f, self.target.os),
        };
        let size = self.mf.lds.size_bytes;
        let limit = self.target.limits().lds_bytes;
        if size > limit {
            return Err(Diagnostic::limit(format!(
                "local memory of {size} bytes exceeds the {limit} bytes of a work-group on {}",
                self.target
            )));
        }
        Ok(())
    }

    /// Facts from attributes and metadata that the kernel descriptor needs.
    fn kernel_attributes(&mut self) {
        self.mf.max_flat_workgroup_size = self.f.max_work_group_size();
    }

    /// Whether binary16 arithmetic of `ty` is packed.
    pub(super) fn is_packed(ty: Type) -> bool {
        matches!(ty, Type::Vector(Scalar::Int(16) | Scalar::Float(Float::Half), 2))
    }
}
