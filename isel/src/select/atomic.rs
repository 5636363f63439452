//! Atomic read-modify-write and compare-exchange; returning only where the old value is used.

use super::Selector;
use super::address::GlobalAddress;
use mir::diag::{Diagnostic, Result};
use mir::ir::{AddrSpace, AtomicOp, InstData, MemAccess, Scalar, Type, Value};
use mir::isa::Opcode::{self, *};
use mir::machine::{MemRef, ModFlags, Operand};

/// Without and with the old value returned.
type Pair = [Opcode; 2];

/// Opcodes of one operation: 32 and 64 bits.
struct Row {
    global: [Pair; 2],
    flat: [Pair; 2],
    buffer: [Pair; 2],
    ds: [Pair; 2],
}

macro_rules! row {
    ($g:ident $gr:ident $g2:ident $g2r:ident, $f:ident $fr:ident $f2:ident $f2r:ident,
     $b:ident $br:ident $b2:ident $b2r:ident, $d:ident $dr:ident $d2:ident $d2r:ident) => {
        Row {
            global: [[$g, $gr], [$g2, $g2r]],
            flat: [[$f, $fr], [$f2, $f2r]],
            buffer: [[$b, $br], [$b2, $b2r]],
            ds: [[$d, $dr], [$d2, $d2r]],
        }
    };
}

#[rustfmt::skip]
fn row(op: AtomicOp) -> Option<Row> {
    Some(match op {
        AtomicOp::Xchg => row!(
            GLOBAL_ATOMIC_SWAP GLOBAL_ATOMIC_SWAP_RTN GLOBAL_ATOMIC_SWAP_X2 GLOBAL_ATOMIC_SWAP_X2_RTN,
            FLAT_ATOMIC_SWAP FLAT_ATOMIC_SWAP_RTN FLAT_ATOMIC_SWAP_X2 FLAT_ATOMIC_SWAP_X2_RTN,
            BUFFER_ATOMIC_SWAP BUFFER_ATOMIC_SWAP_RTN BUFFER_ATOMIC_SWAP_X2 BUFFER_ATOMIC_SWAP_X2_RTN,
            DS_WRXCHG_RTN_B32 DS_WRXCHG_RTN_B32 DS_WRXCHG_RTN_B64 DS_WRXCHG_RTN_B64),
        AtomicOp::Add => row!(
            GLOBAL_ATOMIC_ADD GLOBAL_ATOMIC_ADD_RTN GLOBAL_ATOMIC_ADD_X2 GLOBAL_ATOMIC_ADD_X2_RTN,
            FLAT_ATOMIC_ADD FLAT_ATOMIC_ADD_RTN FLAT_ATOMIC_ADD_X2 FLAT_ATOMIC_ADD_X2_RTN,
            BUFFER_ATOMIC_ADD BUFFER_ATOMIC_ADD_RTN BUFFER_ATOMIC_ADD_X2 BUFFER_ATOMIC_ADD_X2_RTN,
            DS_ADD_U32 DS_ADD_RTN_U32 DS_ADD_U64 DS_ADD_RTN_U64),
        AtomicOp::Sub => row!(
            GLOBAL_ATOMIC_SUB GLOBAL_ATOMIC_SUB_RTN GLOBAL_ATOMIC_SUB_X2 GLOBAL_ATOMIC_SUB_X2_RTN,
            FLAT_ATOMIC_SUB FLAT_ATOMIC_SUB_RTN FLAT_ATOMIC_SUB_X2 FLAT_ATOMIC_SUB_X2_RTN,
            BUFFER_ATOMIC_SUB BUFFER_ATOMIC_SUB_RTN BUFFER_ATOMIC_SUB_X2 BUFFER_ATOMIC_SUB_X2_RTN,
            DS_SUB_U32 DS_SUB_RTN_U32 DS_SUB_U64 DS_SUB_RTN_U64),
        AtomicOp::And => row!(
            GLOBAL_ATOMIC_AND GLOBAL_ATOMIC_AND_RTN GLOBAL_ATOMIC_AND_X2 GLOBAL_ATOMIC_AND_X2_RTN,
            FLAT_ATOMIC_AND FLAT_ATOMIC_AND_RTN FLAT_ATOMIC_AND_X2 FLAT_ATOMIC_AND_X2_RTN,
            BUFFER_ATOMIC_AND BUFFER_ATOMIC_AND_RTN BUFFER_ATOMIC_AND_X2 BUFFER_ATOMIC_AND_X2_RTN,
            DS_AND_B32 DS_AND_RTN_B32 DS_AND_B64 DS_AND_RTN_B64),
        AtomicOp::Or => row!(
            GLOBAL_ATOMIC_OR GLOBAL_ATOMIC_OR_RTN GLOBAL_ATOMIC_OR_X2 GLOBAL_ATOMIC_OR_X2_RTN,
            FLAT_ATOMIC_OR FLAT_ATOMIC_OR_RTN FLAT_ATOMIC_OR_X2 FLAT_ATOMIC_OR_X2_RTN,
            BUFFER_ATOMIC_OR BUFFER_ATOMIC_OR_RTN BUFFER_ATOMIC_OR_X2 BUFFER_ATOMIC_OR_X2_RTN,
            DS_OR_B32 DS_OR_RTN_B32 DS_OR_B64 DS_OR_RTN_B64),
        AtomicOp::Xor => row!(
            GLOBAL_ATOMIC_XOR GLOBAL_ATOMIC_XOR_RTN GLOBAL_ATOMIC_XOR_X2 GLOBAL_ATOMIC_XOR_X2_RTN,
            FLAT_ATOMIC_XOR FLAT_ATOMIC_XOR_RTN FLAT_ATOMIC_XOR_X2 FLAT_ATOMIC_XOR_X2_RTN,
            BUFFER_ATOMIC_XOR BUFFER_ATOMIC_XOR_RTN BUFFER_ATOMIC_XOR_X2 BUFFER_ATOMIC_XOR_X2_RTN,
            DS_XOR_B32 DS_XOR_RTN_B32 DS_XOR_B64 DS_XOR_RTN_B64),
        AtomicOp::Max => row!(
            GLOBAL_ATOMIC_SMAX GLOBAL_ATOMIC_SMAX_RTN GLOBAL_ATOMIC_SMAX_X2 GLOBAL_ATOMIC_SMAX_X2_RTN,
            FLAT_ATOMIC_SMAX FLAT_ATOMIC_SMAX_RTN FLAT_ATOMIC_SMAX_X2 FLAT_ATOMIC_SMAX_X2_RTN,
            BUFFER_ATOMIC_SMAX BUFFER_ATOMIC_SMAX_RTN BUFFER_ATOMIC_SMAX_X2 BUFFER_ATOMIC_SMAX_X2_RTN,
            DS_MAX_I32 DS_MAX_RTN_I32 DS_MAX_I64 DS_MAX_RTN_I64),
        AtomicOp::Min => row!(
            GLOBAL_ATOMIC_SMIN GLOBAL_ATOMIC_SMIN_RTN GLOBAL_ATOMIC_SMIN_X2 GLOBAL_ATOMIC_SMIN_X2_RTN,
            FLAT_ATOMIC_SMIN FLAT_ATOMIC_SMIN_RTN FLAT_ATOMIC_SMIN_X2 FLAT_ATOMIC_SMIN_X2_RTN,
            BUFFER_ATOMIC_SMIN BUFFER_ATOMIC_SMIN_RTN BUFFER_ATOMIC_SMIN_X2 BUFFER_ATOMIC_SMIN_X2_RTN,
            DS_MIN_I32 DS_MIN_RTN_I32 DS_MIN_I64 DS_MIN_RTN_I64),
        AtomicOp::UMax => row!(
            GLOBAL_ATOMIC_UMAX GLOBAL_ATOMIC_UMAX_RTN GLOBAL_ATOMIC_UMAX_X2 GLOBAL_ATOMIC_UMAX_X2_RTN,
            FLAT_ATOMIC_UMAX FLAT_ATOMIC_UMAX_RTN FLAT_ATOMIC_UMAX_X2 FLAT_ATOMIC_UMAX_X2_RTN,
            BUFFER_ATOMIC_UMAX BUFFER_ATOMIC_UMAX_RTN BUFFER_ATOMIC_UMAX_X2 BUFFER_ATOMIC_UMAX_X2_RTN,
            DS_MAX_U32 DS_MAX_RTN_U32 DS_MAX_U64 DS_MAX_RTN_U64),
        AtomicOp::UMin => row!(
            GLOBAL_ATOMIC_UMIN GLOBAL_ATOMIC_UMIN_RTN GLOBAL_ATOMIC_UMIN_X2 GLOBAL_ATOMIC_UMIN_X2_RTN,
            FLAT_ATOMIC_UMIN FLAT_ATOMIC_UMIN_RTN FLAT_ATOMIC_UMIN_X2 FLAT_ATOMIC_UMIN_X2_RTN,
            BUFFER_ATOMIC_UMIN BUFFER_ATOMIC_UMIN_RTN BUFFER_ATOMIC_UMIN_X2 BUFFER_ATOMIC_UMIN_X2_RTN,
            DS_MIN_U32 DS_MIN_RTN_U32 DS_MIN_U64 DS_MIN_RTN_U64),
        AtomicOp::UIncWrap => row!(
            GLOBAL_ATOMIC_INC GLOBAL_ATOMIC_INC_RTN GLOBAL_ATOMIC_INC_X2 GLOBAL_ATOMIC_INC_X2_RTN,
            FLAT_ATOMIC_INC FLAT_ATOMIC_INC_RTN FLAT_ATOMIC_INC_X2 FLAT_ATOMIC_INC_X2_RTN,
            BUFFER_ATOMIC_INC BUFFER_ATOMIC_INC_RTN BUFFER_ATOMIC_INC_X2 BUFFER_ATOMIC_INC_X2_RTN,
            DS_INC_U32 DS_INC_RTN_U32 DS_INC_U64 DS_INC_RTN_U64),
        AtomicOp::UDecWrap => row!(
            GLOBAL_ATOMIC_DEC GLOBAL_ATOMIC_DEC_RTN GLOBAL_ATOMIC_DEC_X2 GLOBAL_ATOMIC_DEC_X2_RTN,
            FLAT_ATOMIC_DEC FLAT_ATOMIC_DEC_RTN FLAT_ATOMIC_DEC_X2 FLAT_ATOMIC_DEC_X2_RTN,
            BUFFER_ATOMIC_DEC BUFFER_ATOMIC_DEC_RTN BUFFER_ATOMIC_DEC_X2 BUFFER_ATOMIC_DEC_X2_RTN,
            DS_DEC_U32 DS_DEC_RTN_U32 DS_DEC_U64 DS_DEC_RTN_U64),
        _ => return None,
    })
}

/// Float operations that LDS knows.
fn ds_float(op: AtomicOp, bits: u64) -> Option<Pair> {
    Some(match (op, bits) {
        (AtomicOp::FAdd, 32) => [DS_ADD_F32, DS_ADD_RTN_F32],
        (AtomicOp::FMin, 32) => [DS_MIN_F32, DS_MIN_RTN_F32],
        (AtomicOp::FMax, 32) => [DS_MAX_F32, DS_MAX_RTN_F32],
        (AtomicOp::FMin, 64) => [DS_MIN_F64, DS_MIN_RTN_F64],
        (AtomicOp::FMax, 64) => [DS_MAX_F64, DS_MAX_RTN_F64],
        _ => return None,
    })
}

/// Bits of the data of an atomic operation: one or two dwords.
fn atomic_bits(ty: Type) -> Result<u64> {
    match ty.bits() {
        Some(bits @ (32 | 64)) => Ok(bits),
        _ => Err(Diagnostic::unsupported("atomic operation of this width")),
    }
}

impl<'a> Selector<'a> {
    pub(super) fn lower_atomic_rmw(
        &mut self,
        data: &InstData,
        op: AtomicOp,
        ptr: Value,
        operand: Value,
        mem: MemAccess,
    ) -> Result<()> {
        let bits = atomic_bits(self.f.ty(operand))?;
        let wide = usize::from(bits == 64);
        let unknown = || Diagnostic::unsupported("atomic operation that the target does not have");
        let returned = self.returned(data);
        let x = self.vgpr(operand);
        if matches!(mem.space, AddrSpace::LOCAL | AddrSpace::REGION) {
            let pair = match row(op) {
                Some(row) => row.ds[wide],
                None => ds_float(op, bits).ok_or_else(unknown)?,
            };
            return self.ds_atomic(data, pair, ptr, &[x], mem, bits);
        }
        let row = row(op).ok_or_else(unknown)?;
        self.global_atomic(returned, [row.global[wide], row.flat[wide], row.buffer[wide]], ptr, x, mem, bits)
    }

    /// Where the old value goes, if somebody wants it.
    fn returned(&mut self, data: &InstData) -> Option<Operand> {
        let result = data.result?;
        self.values[result].reg.is_some().then(|| self.def(result))
    }

    fn ds_atomic(
        &mut self,
        data: &InstData,
        pair: Pair,
        ptr: Value,
        sources: &[Operand],
        mem: MemAccess,
        bits: u64,
    ) -> Result<()> {
        if !self.exists(pair[0]) {
            return Err(Diagnostic::unsupported("atomic operation that the target does not have"));
        }
        let (base, offset) = self.ds_address(ptr, self.target.limits().offsets.ds.max.into());
        let mut operands = smallvec::SmallVec::<[Operand; 4]>::new();
        let mut returned = self.returned(data);
        // An exchange always returns.
        if returned.is_none() && pair[0] == pair[1] {
            returned = Some(self.new_vgpr((bits / 32) as u8));
        }
        operands.extend(returned);
        operands.push(base);
        operands.extend_from_slice(sources);
        self.emit(pair[usize::from(returned.is_some())], operands);
        self.finish_atomic(mem, bits, offset, false);
        self.set_region(mem);
        Ok(())
    }

    fn global_atomic(
        &mut self,
        returned: Option<Operand>,
        [global, flat, buffer]: [Pair; 3],
        ptr: Value,
        x: Operand,
        mem: MemAccess,
        bits: u64,
    ) -> Result<()> {
        let pick = usize::from(returned.is_some());
        match mem.space {
            AddrSpace::GLOBAL | AddrSpace::FLAT => {}
            other => {
                return Err(Diagnostic::unsupported(format!("atomic access to address space {}", other.0)));
            }
        }
        let GlobalAddress { vaddr, saddr, offset, flat: is_flat, mode, .. } =
            self.global_address(ptr, mem.space, 0);
        let mut operands = smallvec::SmallVec::<[Operand; 5]>::new();
        if self.takes_buffers(mem.space) {
            // The register of the data is also that of the old value.
            operands.push(returned.unwrap_or(x));
            operands.extend([vaddr, saddr, Operand::Imm(0)]);
            if returned.is_some() {
                operands.push(x);
            }
            self.emit(buffer[pick], operands);
            self.finish_atomic(mem, bits, i64::from(offset), returned.is_some());
            if let Some(inst) = self.cur.last_mut() {
                inst.mods.flags |= mode;
            }
            return Ok(());
        }
        operands.extend(returned);
        operands.extend([vaddr, x]);
        if !is_flat {
            operands.push(saddr);
        }
        self.emit(if is_flat { flat[pick] } else { global[pick] }, operands);
        self.finish_atomic(mem, bits, i64::from(offset), returned.is_some());
        Ok(())
    }

    fn finish_atomic(&mut self, mem: MemAccess, bits: u64, offset: i64, glc: bool) {
        if let Some(inst) = self.cur.last_mut() {
            inst.mem = Some(MemRef::new(mem, (bits / 8) as u32));
            inst.mods.offset = offset as i32;
            if glc {
                inst.mods.flags |= ModFlags::GLC;
            }
        }
    }

    /// `cmpxchg`: member 0 of the result is the old value; the success bit has become a comparison.
    pub(super) fn lower_cmpxchg(
        &mut self,
        data: &InstData,
        ptr: Value,
        expected: Value,
        replacement: Value,
        mem: MemAccess,
    ) -> Result<()> {
        let bits = atomic_bits(self.f.ty(expected))?;
        let [old, new] = [self.vgpr(expected), self.vgpr(replacement)];
        if matches!(mem.space, AddrSpace::LOCAL | AddrSpace::REGION) {
            let pair =
                if bits == 64 { [DS_CMPST_B64, DS_CMPST_RTN_B64] } else { [DS_CMPST_B32, DS_CMPST_RTN_B32] };
            return self.ds_atomic(data, pair, ptr, &[old, new], mem, bits);
        }
        // The data register holds the replacement, then the value compared with.
        let both = self.new_vgpr((bits / 16) as u8);
        self.sequence(both, &[new, old]);
        let returned = self.returned(data);
        let wide = bits == 64;
        let tables: [Pair; 3] = if wide {
            [
                [GLOBAL_ATOMIC_CMPSWAP_X2, GLOBAL_ATOMIC_CMPSWAP_X2_RTN],
                [FLAT_ATOMIC_CMPSWAP_X2, FLAT_ATOMIC_CMPSWAP_X2_RTN],
                [BUFFER_ATOMIC_CMPSWAP_X2, BUFFER_ATOMIC_CMPSWAP_X2_RTN],
            ]
        } else {
            [
                [GLOBAL_ATOMIC_CMPSWAP, GLOBAL_ATOMIC_CMPSWAP_RTN],
                [FLAT_ATOMIC_CMPSWAP, FLAT_ATOMIC_CMPSWAP_RTN],
                [BUFFER_ATOMIC_CMPSWAP, BUFFER_ATOMIC_CMPSWAP_RTN],
            ]
        };
        if self.takes_buffers(mem.space)
            && let Some(old_value) = returned
        {
            // The register is as wide as the data; the old value is its first half.
            let all = self.new_vgpr((bits / 16) as u8);
            self.global_atomic(Some(all), tables, ptr, both, mem, bits)?;
            let part = self.sub(&all, 0, (bits / 32) as u8);
            self.emit(COPY, [old_value, part]);
            return Ok(());
        }
        self.global_atomic(returned, tables, ptr, both, mem, bits)
    }

    /// `amdgcn.ds.fadd`, `fmin`, `fmax`: pointer, value; the other arguments say ordering and scope.
    pub(super) fn lower_ds_float(&mut self, data: &InstData, op: AtomicOp, args: &[Value]) -> Result<()> {
        let [ptr, value, ..] = args else { return Err(Diagnostic::malformed("too few arguments")) };
        let space = self.f.ty(*ptr).addr_space().unwrap_or(AddrSpace::LOCAL);
        let bits = match self.f.ty(*value) {
            Type::Scalar(Scalar::Float(float)) => Some(u64::from(float.bits())),
            _ => None,
        };
        let operation = bits.and_then(|bits| Some((bits, ds_float(op, bits)?)));
        let (bits, pair) = operation.ok_or_else(|| Diagnostic::unsupported("LDS operation on this type"))?;
        let x = self.vgpr(*value);
        let mem = MemAccess {
            ordering: mir::ir::Ordering::Monotonic,
            scope: mir::ir::SyncScope::Workgroup,
            ..MemAccess::plain(space, if bits == 64 { 3 } else { 2 })
        };
        self.ds_atomic(data, pair, *ptr, &[x], mem, bits)
    }
}
