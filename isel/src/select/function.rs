//! Calls, and functions that are called: arguments, results, handed-on values, return, frame addresses.
//!
//! Arguments are copied one by one into the registers of the convention right before the call, which reads them; allocation knows
//! those copies as wishes. A call that returns in the function's place (a tail call) is a call, too, until the epilog stands in front of it;
//! its arguments on the stack replace the function's own. A kernel computes what it hands on (the packed work-item ids, the address of the hidden arguments) at each call.

use super::Selector;
use mir::abi::call::{
    FIRST_FREE_SGPR, Inputs, Place, RETURN_ADDRESS, SCRATCH_RESOURCE, STACK_POINTER, register_of,
};
use mir::diag::{Diagnostic, Result};
use mir::ir::{self, Callee, InstData, InstKind, Intrinsic, SymbolRef, Value};
use mir::isa::Opcode::*;
use mir::machine::{CallSite, EntryValue, Operand, PReg};
use mir::target::{Features, ScratchAccess};

/// Handed-on values that are copied as they are.
const HANDED_ON: [(Inputs, EntryValue); 6] = [
    (Inputs::DISPATCH_PTR, EntryValue::DispatchPtr),
    (Inputs::QUEUE_PTR, EntryValue::QueuePtr),
    (Inputs::DISPATCH_ID, EntryValue::DispatchId),
    (Inputs::WORKGROUP_ID_X, EntryValue::WorkgroupIdX),
    (Inputs::WORKGROUP_ID_Y, EntryValue::WorkgroupIdY),
    (Inputs::WORKGROUP_ID_Z, EntryValue::WorkgroupIdZ),
];

/// A pair of SGPRs for the address that a tail call jumps to: no argument, and not callee-saved.
fn tail_target(reads: &[PReg], graphics: bool) -> PReg {
    if graphics {
        return FIRST_FREE_SGPR;
    }
    let arguments = (16..RETURN_ADDRESS.0).rev().step_by(2).map(|n| PReg::sgpr(n - 1));
    let mut free = arguments.filter(|pair| !reads.contains(pair) && !reads.contains(&pair.plus(1)));
    free.next().unwrap_or(PReg::sgpr(40))
}

impl<'a> Selector<'a> {
    /// Whether the block being filled ends with a call that returns in this function's place.
    pub(super) fn ends_in_tail_call(&self) -> bool {
        let f = self.f;
        match f.blocks[self.block].insts[..] {
            [.., call, _] => f.call_layouts.get(&call).is_some_and(|layout| layout.tail),
            _ => false,
        }
    }

    /// Result and return address into their registers, then the return.
    pub(super) fn lower_return(&mut self, value: Option<Value>) -> Result<()> {
        if self.ends_in_tail_call() {
            return Ok(());
        }
        if let Some(value) = value.filter(|&v| !self.is_undef(v)) {
            let dwords = self.dwords(value);
            let result = self.src(value);
            let result = self.in_vgpr(result, dwords);
            self.emit(COPY, [Operand::preg(PReg::vgpr(0), dwords), result]);
            self.mf.result_dwords = dwords;
        }
        let address = self.entry_value(EntryValue::ReturnAddress);
        let register = Operand::preg(RETURN_ADDRESS, 2);
        self.emit(COPY, [register, address]);
        self.emit(S_SETPC_B64, [register]);
        Ok(())
    }

    /// `dst` = the address of the object at `place` in the frame.
    pub(super) fn frame_address(&mut self, dst: Operand, base: PReg, place: u32) {
        let start = if place == 0 { dst } else { self.new_sgpr(1) };
        self.lane_address(start, base);
        if place != 0 {
            self.sop(S_ADD_U32, &[dst, start, Operand::Imm(i64::from(place))]);
        }
    }

    /// `dst` = the address in a lane to which `base`, the stack or the frame pointer, points.
    fn lane_address(&mut self, dst: Operand, base: PReg) {
        let base = Operand::preg(base, 1);
        match self.mf.bytes_in_base().trailing_zeros() {
            0 => {
                self.emit(S_MOV_B32, [dst, base]);
            }
            shift => self.sop(S_LSHR_B32, &[dst, base, Operand::Imm(i64::from(shift))]),
        }
    }

    /// What `bytes` of a lane count in the stack pointer.
    fn stack_distance(&mut self, bytes: Operand) -> Operand {
        let shift = self.mf.bytes_in_base().trailing_zeros();
        if shift == 0 {
            return bytes;
        }
        let out = self.new_sgpr(1);
        self.sop(S_LSHL_B32, &[out, bytes, Operand::Imm(i64::from(shift))]);
        out
    }

    /// One of the three ids that share a register.
    pub(super) fn packed_id(&mut self, data: &InstData, intrinsic: Intrinsic) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let shift = match intrinsic {
            Intrinsic::WorkitemIdX => 0,
            Intrinsic::WorkitemIdY => 10,
            _ => 20,
        };
        let ids = self.entry_value(EntryValue::PackedWorkitemIds);
        if shift == 0 {
            self.vop(V_AND_B32, &[dst, Operand::Imm(0x3ff), ids]);
        } else {
            self.vop(V_BFE_U32, &[dst, ids, Operand::Imm(shift), Operand::Imm(10)]);
        }
        Ok(())
    }

    /// Whether the function calls others and comes back, so that it has a stack pointer.
    pub(super) fn calls(&self) -> bool {
        let f = self.f;
        let is_tail = |inst: &ir::Inst| f.call_layouts.get(inst).is_some_and(|layout| layout.tail);
        let is_call =
            |inst: &ir::Inst| matches!(f.insts[*inst].kind, InstKind::Call { .. }) && !is_tail(inst);
        f.layout.iter().any(|&block| f.blocks[block].insts.iter().any(is_call))
    }

    /// What a kernel that calls asks for: scratch, in all its forms, since callees may use it.
    pub(super) fn request_stack(&mut self) {
        let entry = &mut self.mf.entry;
        if self.mf.scratch == ScratchAccess::Buffer {
            entry.request(EntryValue::PrivateSegmentBuffer, None);
        }
        entry.request(EntryValue::ScratchWaveOffset, None);
        self.set_flat_scratch_up();
    }

    /// Asks for FLAT_SCRATCH where an entry point can set it up.
    pub(super) fn set_flat_scratch_up(&mut self) {
        if !self.mf.call_conv.is_callable()
            && mir::abi::shader::has_flat_scratch(self.mf.call_conv, self.target)
            && self.target.has_flat_scratch()
        {
            self.mf.uses_flat_scratch = true;
        }
    }

    /// A call: copies into registers and to the stack, the call itself, the result out of its registers.
    pub(super) fn lower_call(
        &mut self,
        inst: ir::Inst,
        data: &InstData,
        callee: Callee,
        args: &[Value],
    ) -> Result<()> {
        // Constants that code behind the call shares must not live across it.
        self.flush_pool();
        self.emit_addresses();
        self.rev.extend(self.cur.drain(..).rev());
        let f = self.f;
        let Some(layout) = f.call_layouts.get(&inst).filter(|layout| layout.places.len() == args.len())
        else {
            return Err(Diagnostic::defect("a call without places for its arguments"));
        };
        let target = match callee {
            Callee::Func(func) => self.constant_address(SymbolRef::Func(func)),
            Callee::Indirect(pointer) => {
                let pointer = self.sgpr(pointer);
                self.in_sgpr(pointer, 2)
            }
        };
        let mut copies: Vec<(PReg, u8, Operand)> = Vec::new();
        for (&place, &arg) in layout.places.iter().zip(args) {
            match place {
                Place::Register(_) if self.is_undef(arg) => {}
                Place::Register(register) if register.is_vgpr() => {
                    let value = self.src(arg);
                    copies.push((register, 1, value));
                }
                Place::Register(register) => {
                    let value = self.sgpr(arg);
                    copies.push((register, 1, value));
                }
                Place::Stack(_) if self.is_undef(arg) => {}
                Place::Stack(at) => {
                    let value = self.vgpr(arg);
                    let base = if layout.tail { self.mf.frame_base } else { None };
                    self.store_argument(value, base.unwrap_or(STACK_POINTER), at)?;
                }
            }
        }
        let named = match callee {
            Callee::Func(func) => Some(func),
            Callee::Indirect(_) => None,
        };
        let known = named.filter(|&func| self.module.functions[func].is_exact());
        if self.mf.entry.layout.builds_scratch && !self.mf.call_conv.is_callable() {
            // The prolog builds it elsewhere.
            let resource = self.entry_value(EntryValue::PrivateSegmentBuffer);
            copies.push((SCRATCH_RESOURCE, 4, resource));
        }
        if !layout.graphics {
            let inputs = known.map_or(Inputs::all(), |func| self.module.functions[func].inputs);
            self.hand_on(inputs, &mut copies);
        }
        let mut reads = vec![STACK_POINTER];
        if self.mf.scratch == ScratchAccess::Buffer {
            reads.extend((0..4).map(|n| SCRATCH_RESOURCE.plus(n)));
        }
        for (register, dwords, value) in copies {
            let dst = Operand::preg(register, dwords);
            match value {
                Operand::Imm(_) if register.is_vgpr() => {
                    self.emit(V_MOV_B32, [dst, value]);
                }
                Operand::Imm(_) => {
                    self.emit(S_MOV_B32, [dst, value]);
                }
                _ if register.is_vgpr() && self.is_sgpr(&value) => {
                    self.emit(V_MOV_B32, [dst, value]);
                }
                _ => {
                    self.emit(COPY, [dst, value]);
                }
            }
            reads.extend((0..u16::from(dwords)).map(|n| register.plus(n)));
        }
        let tail = layout.tail;
        let result_dwords = match data.result {
            Some(result) if tail || self.values[result].reg.is_some() => self.dwords(result),
            _ => 0,
        };
        let target = if tail {
            let address = self.entry_value(EntryValue::ReturnAddress);
            self.emit(COPY, [Operand::preg(RETURN_ADDRESS, 2), address]);
            reads.extend([RETURN_ADDRESS, RETURN_ADDRESS.plus(1)]);
            // The epilog, which comes in between, restores other registers.
            let register = Operand::preg(tail_target(&reads, layout.graphics), 2);
            self.emit(COPY, [register, target]);
            if result_dwords > 0 {
                self.mf.result_dwords = result_dwords;
            }
            register
        } else {
            target
        };
        let number = self.mf.calls.len() as i64;
        let ends = layout.places.iter().map(|&place| match place {
            Place::Stack(at) => at + 4,
            Place::Register(_) => 0,
        });
        let stack_bytes = ends.max().unwrap_or(0);
        let graphics = layout.graphics;
        let site =
            CallSite { reads, result_dwords, stack_bytes, graphics, tail, callee: named, changes: None };
        self.mf.calls.push(site);
        self.emit(CALL, [Operand::preg(RETURN_ADDRESS, 2), target, Operand::Imm(number)]);
        if result_dwords > 0 && !tail {
            let (_, dst) = self.result(data)?;
            self.emit(COPY, [dst, Operand::preg(PReg::vgpr(0), result_dwords)]);
        }
        Ok(())
    }

    /// Stores an argument `at` bytes of a lane behind `base`.
    fn store_argument(&mut self, value: Operand, base: PReg, at: u32) -> Result<()> {
        let resource = match self.mf.scratch {
            ScratchAccess::Buffer => self.entry_value(EntryValue::PrivateSegmentBuffer),
            ScratchAccess::Scratch => Operand::Off,
        };
        let mut stack = Operand::preg(base, 1);
        let field = self.mf.scratch.max_offset(self.target.limits());
        let high = at & !field;
        if high > 0 {
            let base = self.new_sgpr(1);
            let distance = i64::from(high) * i64::from(self.mf.bytes_in_base());
            self.sop(S_ADD_U32, &[base, stack, Operand::Imm(distance)]);
            stack = base;
        }
        let mut inst = self.mf.scratch.frame_dword(true, value, stack, resource, at & field);
        inst.loc = self.loc;
        self.cur.push(inst);
        Ok(())
    }

    /// What the callee asks for, in its registers.
    fn hand_on(&mut self, inputs: Inputs, copies: &mut Vec<(PReg, u8, Operand)>) {
        // Where no packet starts kernels, no callee can ask for it.
        let packets = Inputs::DISPATCH_PTR | Inputs::QUEUE_PTR | Inputs::DISPATCH_ID;
        let inputs = if self.is_dispatched() { inputs } else { inputs - packets };
        // Shaders start with nothing of the kind.
        let shader = mir::abi::shader::is_shader(self.mf.call_conv);
        let inputs = if shader { Inputs::empty() } else { inputs };
        // What everybody finds in trap temporaries is not handed on.
        let ids = Inputs::WORKGROUP_ID_X | Inputs::WORKGROUP_ID_Y | Inputs::WORKGROUP_ID_Z;
        let architected = self.target.has(Features::ARCHITECTED_SGPRS);
        let inputs = if architected { inputs - ids } else { inputs };
        let mut put = |value: EntryValue, operand| {
            if let Some(register) = register_of(value) {
                copies.push((register, value.dwords(), operand));
            }
        };
        for (input, value) in HANDED_ON {
            if inputs.contains(input) {
                let operand = self.entry_value(value);
                put(value, operand);
            }
        }
        let called = self.mf.call_conv.is_callable();
        if inputs.contains(Inputs::IMPLICITARG_PTR) {
            let operand = if called {
                self.entry_value(EntryValue::ImplicitargPtr)
            } else {
                let base = self.entry_value(EntryValue::KernargSegmentPtr);
                let offset = i64::from(self.mf.kernarg.implicit_offset);
                if offset == 0 { base } else { self.scalar_add64(base, Operand::Imm(offset)) }
            };
            put(EntryValue::ImplicitargPtr, operand);
        }
        if inputs.contains(Inputs::LDS_KERNEL_ID) {
            let number = self.f.kernel.lds_kernel_id.map(|id| Operand::Imm(i64::from(id)));
            if let Some(operand) =
                if called { Some(self.entry_value(EntryValue::LdsKernelId)) } else { number }
            {
                put(EntryValue::LdsKernelId, operand);
            }
        }
        if !inputs.intersects(Inputs::WORKITEM_IDS) {
            return;
        }
        let ids =
            if called { self.entry_value(EntryValue::PackedWorkitemIds) } else { self.packed_ids(inputs) };
        put(EntryValue::PackedWorkitemIds, ids);
    }

    /// A kernel's work-item ids as its callees expect them.
    fn packed_ids(&mut self, inputs: Inputs) -> Operand {
        let mut packed = None;
        for (input, value, shift) in [
            (Inputs::WORKITEM_ID_X, EntryValue::WorkitemIdX, 0),
            (Inputs::WORKITEM_ID_Y, EntryValue::WorkitemIdY, 10),
            (Inputs::WORKITEM_ID_Z, EntryValue::WorkitemIdZ, 20),
        ] {
            if !inputs.contains(input) {
                continue;
            }
            let mut id = self.entry_value(value);
            if shift > 0 {
                let moved = self.new_vgpr(1);
                self.vop(V_LSHLREV_B32, &[moved, Operand::Imm(shift), id]);
                id = moved;
            }
            packed = Some(match packed {
                None => id,
                Some(others) => {
                    let both = self.new_vgpr(1);
                    self.vop(V_OR_B32, &[both, others, id]);
                    both
                }
            });
        }
        packed.unwrap_or(Operand::Imm(0))
    }

    /// Whether the function has stack objects that are put behind the stack pointer.
    pub(super) fn grows_stack(&self) -> bool {
        let f = self.f;
        let entry = f.entry();
        f.layout.iter().any(|&block| {
            f.blocks[block].insts.iter().any(|&inst| match f.insts[inst].kind {
                InstKind::Alloca { count: Some(count), .. } => block != entry || f.as_int(count).is_none(),
                _ => false,
            })
        })
    }

    /// `dst` = the stack pointer as an address.
    pub(super) fn save_stack(&mut self, data: &InstData) -> Result<()> {
        let (_, dst) = self.result(data)?;
        self.lane_address(dst, STACK_POINTER);
        Ok(())
    }

    /// The stack pointer goes back to an address.
    pub(super) fn restore_stack(&mut self, place: Value) {
        let place = self.sgpr(place);
        let stack = Operand::preg(STACK_POINTER, 1);
        match self.mf.bytes_in_base().trailing_zeros() {
            0 => {
                self.emit(S_MOV_B32, [stack, place]);
            }
            shift => self.sop(S_LSHL_B32, &[stack, place, Operand::Imm(i64::from(shift))]),
        }
    }

    /// A stack object of variable size: it begins where the stack pointer is, which moves behind it.
    pub(super) fn grow_stack(&mut self, data: &InstData, bytes: Value) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let stack = Operand::preg(STACK_POINTER, 1);
        let start = if self.is_vgpr(&dst) { self.new_sgpr(1) } else { dst };
        let bytes = self.sgpr(bytes);
        self.lane_address(start, STACK_POINTER);
        let distance = self.stack_distance(bytes);
        self.sop(S_ADD_U32, &[stack, stack, distance]);
        if self.is_vgpr(&dst) {
            self.emit(V_MOV_B32, [dst, start]);
        }
        Ok(())
    }
}
