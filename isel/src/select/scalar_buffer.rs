//! Loads through buffer resources by the scalar unit.
//!
//! Those that a program asks for (`s.buffer.load`), and vector loads that might as well be scalar: the address is the same in all lanes, nobody
//! writes what they read while the program runs, and they read whole dwords at a multiple of four bytes. Scalar loads drop the low two bits of
//! the offset and know neither swizzling nor cache bits.
//!
//! Sources: Vega ISA manual, "Scalar Memory Operations"; AMDGPU usage guide, "Memory Model" (the scalar cache is invalidated before a dispatch).

use super::{Rep, Selector};
use cranelift_entity::SecondaryMap;
use mir::diag::Result;
use mir::ir::legal::{Control, position};
use mir::ir::{
    BinaryOp, BufferAction, BufferIntrinsic, CastOp, Function, InstData, InstFlags, InstKind, Type, Value,
};
use mir::isa::Opcode::*;
use mir::machine::{ModFlags, Operand};
use mir::target::Features;

/// Rounds over a function after which what blocks are given counts as odd.
const ROUNDS: u32 = 4;

/// The power of two, as its exponent, that divides each 32-bit value of a function; 32 for zero.
pub(super) struct Divisors(SecondaryMap<Value, u8>);

impl Divisors {
    /// Nothing is known of any value.
    pub(super) fn unknown() -> Self {
        Self(SecondaryMap::new())
    }

    /// Those of `func`, if it has loads that ask for them. What blocks are given starts with the most and loses what does not hold. Cost: linear.
    pub(super) fn of(func: &Function) -> Self {
        let mut known = Self::unknown();
        if !func.insts.values().any(|data| is_candidate(data).is_some()) {
            return known;
        }
        for &block in func.layout.iter().skip(1) {
            for &param in &func.blocks[block].params {
                known.0[param] = 32;
            }
        }
        for round in 0.. {
            let mut changed = false;
            for &block in &func.layout {
                for &inst in &func.blocks[block].insts {
                    let data = &func.insts[inst];
                    if let Some(result) = data.result {
                        known.0[result] = known.compute(func, data);
                    }
                    for call in data.kind.targets() {
                        for (&param, &arg) in func.blocks[call.block].params.iter().zip(&call.args) {
                            let less = known.at(func, arg);
                            if less < known.0[param] {
                                known.0[param] = less;
                                changed = true;
                            }
                        }
                    }
                }
            }
            if !changed {
                break;
            }
            if round == ROUNDS {
                func.blocks.values().flat_map(|data| &data.params).for_each(|&param| known.0[param] = 0);
            }
        }
        known
    }

    fn at(&self, func: &Function, value: Value) -> u8 {
        match func.as_int(value) {
            Some(number) => (number as u32).trailing_zeros() as u8,
            None => self.0[value],
        }
    }

    fn compute(&self, func: &Function, data: &InstData) -> u8 {
        let at = |value| self.at(func, value);
        if !data.ty.is_int(32) {
            return 0;
        }
        match &data.kind {
            InstKind::Binary { op, args: [a, b] } => match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor => at(*a).min(at(*b)),
                BinaryOp::And => at(*a).max(at(*b)),
                BinaryOp::Mul => (at(*a) + at(*b)).min(32),
                BinaryOp::Shl => {
                    let count = func.as_int(*b).map_or(0, |count| count.min(32) as u8);
                    (at(*a) + count).min(32)
                }
                _ => 0,
            },
            InstKind::Select { if_true, if_false, .. } => at(*if_true).min(at(*if_false)),
            InstKind::Unary { arg, .. } => at(*arg),
            InstKind::Cast { op: CastOp::BitCast, arg } if func.ty(*arg) == Type::I32 => at(*arg),
            _ => 0,
        }
    }
}

/// A load that may be scalar where its operands are: its offset, and how many dwords it reads.
fn is_candidate(data: &InstData) -> Option<(BufferIntrinsic, u8)> {
    let InstKind::Intrinsic { intrinsic: mir::ir::Intrinsic::Buffer(id), .. } = data.kind else {
        return None;
    };
    let desc = id.desc();
    let plain = desc.action == BufferAction::Load && !desc.structured && !desc.typed;
    let dwords = match data.ty.bits()? {
        bits @ (32 | 64 | 96 | 128) => (bits / 32) as u8,
        _ => return None,
    };
    (plain && data.flags.contains(InstFlags::INVARIANT)).then_some((id, dwords))
}

impl Selector<'_> {
    /// Whether a buffer load with scalar operands is a scalar load.
    pub(super) fn buffer_load_is_scalar(&self, data: &InstData, args: &[Value]) -> bool {
        is_candidate(data).is_some()
            && self.control(args[position::BUFFER_CONTROL]).difference(Control::NUMBERS).is_empty()
            && self.const_int(args[position::SOFFSET]) == Some(0)
            && self.divisors.at(self.f, args[position::OFFSET]) >= 2
    }

    /// A load of which [`Self::buffer_load_is_scalar`] holds and whose result is to be scalar.
    pub(super) fn lower_uniform_buffer_load(&mut self, data: &InstData, args: &[Value]) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let dwords = data.ty.bits().unwrap_or(32).div_ceil(32) as u8;
        let resource = self.sgpr(args[position::RESOURCE]);
        let (offset, immediate) = self.scalar_buffer_offset(args[position::OFFSET]);
        // No scalar load has three dwords; what is behind the resource's end reads as zero.
        let op = [S_BUFFER_LOAD_DWORD, S_BUFFER_LOAD_DWORDX2, S_BUFFER_LOAD_DWORDX4]
            [dwords.next_power_of_two().trailing_zeros() as usize];
        let whole = if dwords == 3 { self.new_sgpr(4) } else { dst };
        self.emit(op, [whole, resource, offset]).mods.offset = immediate;
        if let Operand::Reg(tuple) = whole
            && dwords == 3
        {
            let part = Operand::Reg(mir::machine::RegOperand { dwords: 3, ..tuple });
            self.emit(COPY, [dst, part]);
        }
        Ok(())
    }

    /// A byte offset as register or constant, and an immediate beside a register. The sum of both must not wrap, which the hardware
    /// does not do: below a divisor of the rest there is room.
    fn scalar_buffer_offset(&mut self, value: Value) -> (Operand, i32) {
        let field = self.target.limits().offsets.smem;
        let (root, distance) = self.split_offset(value);
        let room = 1i64 << self.divisors.at(self.f, root);
        if self.target.has(Features::SMEM_SGPR_AND_IMMEDIATE)
            && self.const_int(value).is_none()
            && (1..room).contains(&distance)
            && distance % 4 == 0
            && field.contains(distance, 0)
        {
            let root = self.sgpr(root);
            return (root, distance as i32);
        }
        let offset = match self.scalar_src(value) {
            Operand::Imm(o) if field.contains(o, 0) && o % 4 == 0 => Operand::Imm(o),
            other => self.in_sgpr(other, 1),
        };
        (offset, 0)
    }

    /// What `s.buffer.load` is where its operands are scalar; `None` for a width that has no scalar load.
    pub(super) fn scalar_buffer_load(
        &mut self,
        dst: Operand,
        bits: u32,
        args: &[Value],
        control: Control,
    ) -> Option<()> {
        let op = match bits {
            32 => S_BUFFER_LOAD_DWORD,
            64 => S_BUFFER_LOAD_DWORDX2,
            128 => S_BUFFER_LOAD_DWORDX4,
            256 => S_BUFFER_LOAD_DWORDX8,
            512 => S_BUFFER_LOAD_DWORDX16,
            _ => return None,
        };
        let resource = self.sgpr(args[0]);
        let (offset, immediate) = self.scalar_buffer_offset(args[1]);
        let glc = control.contains(Control::GLC) && self.target.has(Features::SMEM_GLC);
        let inst = self.emit(op, [dst, resource, offset]);
        inst.mods.offset = immediate;
        inst.mods.flags.set(ModFlags::GLC, glc);
        Some(())
    }

    /// Whether the result of a buffer load lives in SGPRs.
    pub(super) fn is_scalar_result(&self, data: &InstData) -> bool {
        data.result.is_some_and(|result| self.values[result].rep == Rep::Sgpr)
    }
}
