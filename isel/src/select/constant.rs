//! Constants: immediates, wide vectors, addresses of LDS variables, stack objects and symbols.
//!
//! Places in LDS and on the stack are fixed during selection, so their addresses are plain integers. Undefined values are 0:
//! the cheapest constant, and the same at every use.

use super::{Rep, Selector};
use mir::abi::lds;
use mir::diag::{Diagnostic, Result};
use mir::ir::{
    BinaryOp, Const, InstData, InstKind, Linkage, Scalar, SymbolRef, Type, Value, ValueDef, Visibility,
};
use mir::isa::Opcode;
use mir::machine::{Operand, RelocKind};
use mir::target::Os;
use smallvec::SmallVec;

/// Most symbol addresses that are kept in registers throughout a function.
const MAX_HOISTED: usize = 8;

impl<'a> Selector<'a> {
    /// The integer that `value` is known to be, sign-extended from its width: constants, LDS and stack addresses.
    pub(super) fn const_int(&self, value: Value) -> Option<i64> {
        let (root, sub) = self.root(value);
        let ty = self.f.ty(root);
        // Most values are no constants, and most functions have no stack objects.
        let is_constant = matches!(self.f.values[root].def, ValueDef::Const(_));
        if !is_constant && (self.mf.frame_base.is_some() || self.allocas.is_empty()) {
            return None;
        }
        let bits = ty.bits().filter(|&b| b <= 64)?;
        let raw = match &self.f.values[root].def {
            ValueDef::Const(constant) => self.const_bits(constant, ty)?,
            _ => u64::from(*self.allocas.get(&root)?),
        };
        let part = raw >> (32 * u32::from(sub).min(1));
        let own_bits = self.f.ty(value).bits().unwrap_or(bits).min(64);
        Some(sign_extend(part, own_bits as u32))
    }

    /// Bits of a constant of at most 64 bits; `None` for symbols that are no plain numbers.
    fn const_bits(&self, constant: &Const, ty: Type) -> Option<u64> {
        match constant {
            Const::Int(bits) | Const::Float(bits) => Some(*bits),
            Const::Zero | Const::Undef | Const::Poison => Some(0),
            Const::Wide(_) => None,
            Const::Symbol(SymbolRef::Global(global), offset) => {
                let place = match self.mf.lds.globals.iter().find(|(g, _)| g == global) {
                    Some(&(_, place)) => place,
                    // Beside what the function has of its own there is no place: that is the linker's to say.
                    None if self.mf.lds.size_bytes == 0
                        && lds::is_at_start(&self.module.globals[*global], self.target.os) =>
                    {
                        0
                    }
                    None => return None,
                };
                Some(i64::from(place).wrapping_add(*offset) as u64 & 0xffff_ffff)
            }
            Const::Symbol(SymbolRef::Func(_), _) => None,
            Const::Elements(elements) => {
                let step = ty.scalar()?.bits();
                let mut bits = 0u64;
                for (i, &element) in elements.iter().enumerate() {
                    let part = self.const_bits(self.f.as_const(element)?, self.f.ty(element))?;
                    let mask = if step >= 64 { u64::MAX } else { (1 << step) - 1 };
                    bits |= (part & mask).checked_shl(step * i as u32)?;
                }
                Some(bits)
            }
        }
    }

    pub(super) fn is_undef(&self, value: Value) -> bool {
        matches!(self.f.as_const(value), Some(Const::Undef | Const::Poison))
    }

    /// Integer or address constant of the instruction's operand, as `i64`.
    pub(super) fn is_const_value(&self, value: Value, expected: i64) -> bool {
        self.const_int(value) == Some(expected)
    }

    /// A constant as an operand: an immediate up to 64 bits, registers beyond that or for a symbol's address.
    pub(super) fn constant_operand(&mut self, value: Value) -> Operand {
        if let Some(bits) = self.const_int(value) {
            return Operand::Imm(bits);
        }
        let f = self.f;
        match &f.values[value].def {
            ValueDef::Const(Const::Symbol(symbol, offset)) => self.symbol_address(*symbol, *offset),
            ValueDef::Const(constant) => {
                let dwords = self.constant_dwords(constant, f.ty(value));
                let mut parts: SmallVec<[Operand; 8]> =
                    dwords.into_iter().map(|d| self.pooled_vgpr(Operand::Imm(i64::from(d as i32)))).collect();
                // Addresses that are known to the linker alone, in vectors of pointers to LDS.
                if let Const::Elements(elements) = constant
                    && elements.len() == parts.len()
                {
                    for (part, &element) in parts.iter_mut().zip(elements) {
                        if let Some(&Const::Symbol(symbol, offset)) = f.as_const(element)
                            && self.const_int(element).is_none()
                        {
                            let address = self.symbol_address(symbol, offset);
                            *part = self.in_vgpr(address, 1);
                        }
                    }
                }
                let out = self.new_vgpr(parts.len() as u8);
                self.sequence(out, &parts);
                out
            }
            other => unreachable!("{value} is no constant but {other:?}"),
        }
    }

    /// A vector constant, dword by dword.
    fn constant_dwords(&self, constant: &Const, ty: Type) -> SmallVec<[u32; 8]> {
        let count = usize::from(self.dwords_of(ty));
        let mut out: SmallVec<[u32; 8]> = SmallVec::from_elem(0, count);
        match constant {
            Const::Wide(words) => {
                for (i, word) in words.iter().enumerate() {
                    for (k, half) in [*word as u32, (*word >> 32) as u32].into_iter().enumerate() {
                        if let Some(slot) = out.get_mut(2 * i + k) {
                            *slot = half;
                        }
                    }
                }
            }
            Const::Elements(elements) => {
                let step = ty.scalar().map_or(32, Scalar::bits) as usize;
                for (i, &element) in elements.iter().enumerate() {
                    let bits = self
                        .f
                        .as_const(element)
                        .and_then(|c| self.const_bits(c, self.f.ty(element)))
                        .unwrap_or(0);
                    let at = i * step;
                    let mask = if step >= 64 { u64::MAX } else { (1 << step) - 1 };
                    let shifted = u128::from(bits & mask) << (at % 32);
                    for k in 0..3 {
                        if let Some(slot) = out.get_mut(at / 32 + k) {
                            *slot |= (shifted >> (32 * k)) as u32;
                        }
                    }
                }
            }
            _ => {}
        }
        out
    }

    /// Gives an immediate the form of its type: sign-extended from its width.
    pub(super) fn fit_constant(&self, operand: Operand, ty: Type) -> Operand {
        match operand {
            Operand::Imm(value) => {
                let bits = ty.bits().unwrap_or(64).min(64) as u32;
                Operand::Imm(sign_extend(value as u64, bits))
            }
            other => other,
        }
    }

    /// The address of a symbol, for a call.
    pub(super) fn constant_address(&mut self, symbol: SymbolRef) -> Operand {
        if self.in_loop() {
            return self.symbol_address(symbol, 0);
        }
        let out = self.new_sgpr(2);
        self.symbol_address_into(out, symbol, 0);
        out
    }

    fn in_loop(&self) -> bool {
        !self.in_entry() && self.uniformity.loops().depth(self.block.as_u32()) > 0
    }

    /// Address of a function or variable: relative to the program counter where nothing outside can replace the symbol,
    /// else from the global offset table. Source: AMDGPU usage guide, "Relocation Records".
    ///
    /// Loops get it from the entry block, which [`Self::emit_hoisted`] completes; elsewhere the users in a block share it, up to a
    /// call ([`Self::emit_addresses`]).
    fn symbol_address(&mut self, symbol: SymbolRef, offset: i64) -> Operand {
        if let SymbolRef::Global(global) = symbol
            && lds::is_linked(&self.module.globals[global], self.target.os)
        {
            let symbols = &mut self.mf.symbols;
            let id = *self.symbols.entry(symbol).or_insert_with(|| symbols.push(symbol));
            // Addresses in LDS have 32 bits and wrap around.
            let operand = Operand::Symbol { symbol: id, addend: offset as i32, kind: RelocKind::Abs32Lo };
            let out = self.new_sgpr(1);
            self.sop(Opcode::S_MOV_B32, &[out, operand]);
            return out;
        }
        let in_loop = self.in_loop();
        let (of_symbol, rest) = match in_loop || self.near_offset(symbol, offset).is_some() {
            true => (offset, 0),
            false => (0, offset),
        };
        let shared = if in_loop { &self.hoisted } else { &self.addresses };
        let room = shared.len() < MAX_HOISTED;
        // The entry block has what loops use at its start.
        let of_loops = if self.in_entry() { &self.hoisted[..] } else { &[] };
        let mut all = shared.iter().chain(of_loops);
        let known = all.find(|(s, o, _)| *s == symbol && *o == of_symbol).map(|&(.., out)| out);
        let base = known.unwrap_or_else(|| {
            let out = self.new_sgpr(2);
            match (room, in_loop) {
                (true, true) => self.hoisted.push((symbol, of_symbol, out)),
                (true, false) => self.addresses.push((symbol, of_symbol, out)),
                (false, _) => self.symbol_address_into(out, symbol, of_symbol),
            }
            out
        });
        if rest == 0 { base } else { self.scalar_add64(base, Operand::Imm(rest)) }
    }

    /// Addresses that loops use, at the start of the entry block.
    pub(super) fn emit_hoisted(&mut self) {
        for (symbol, offset, out) in std::mem::take(&mut self.hoisted) {
            self.symbol_address_into(out, symbol, offset);
        }
    }

    /// Addresses, indices, and the resource without a base, that the code of the block so far shares.
    pub(super) fn emit_addresses(&mut self) {
        for (value, how, out) in std::mem::take(&mut self.indices) {
            let index = self.def(value);
            self.scale_index(out, index, how);
        }
        if let Some(resource) = self.plain_resource.take() {
            self.make_plain_resource(resource);
        }
        for (symbol, offset, out) in std::mem::take(&mut self.addresses) {
            self.symbol_address_into(out, symbol, offset);
        }
    }

    /// The offset as an addend of the relocations, for symbols of the program's own.
    fn near_offset(&self, symbol: SymbolRef, offset: i64) -> Option<i32> {
        let (linkage, visibility) = match symbol {
            SymbolRef::Func(func) => {
                let function = &self.module.functions[func];
                (function.linkage, function.visibility)
            }
            SymbolRef::Global(global) => {
                let variable = &self.module.globals[global];
                (variable.linkage, variable.visibility)
            }
        };
        let local =
            matches!(linkage, Linkage::Internal | Linkage::Private) || visibility != Visibility::Default;
        i32::try_from(offset).ok().filter(|o| local && o.checked_add(12).is_some())
    }

    fn symbol_address_into(&mut self, out: Operand, symbol: SymbolRef, offset: i64) {
        let near = self.near_offset(symbol, offset);
        let symbols = &mut self.mf.symbols;
        let id = *self.symbols.entry(symbol).or_insert_with(|| symbols.push(symbol));
        let operand = |kind, addend| Operand::Symbol { symbol: id, addend, kind };
        if matches!(self.target.os, Os::AmdPal | Os::Mesa3d) {
            // Their loaders know no offset table: the address itself is in the code.
            let addend = near.unwrap_or(0);
            let base = if near.is_some() || offset == 0 { out } else { self.new_sgpr(2) };
            let halves = [RelocKind::Abs32Lo, RelocKind::Abs32Hi].map(|kind| {
                let half = self.new_sgpr(1);
                self.sop(Opcode::S_MOV_B32, &[half, operand(kind, addend)]);
                half
            });
            self.sequence(base, &halves);
            if base != out {
                let sum = self.scalar_add64(base, Operand::Imm(offset));
                self.emit(Opcode::COPY, [out, sum]);
            }
            return;
        }
        if let Some(near) = near {
            self.emit(
                Opcode::PC_ADDRESS,
                [out, operand(RelocKind::Rel32Lo, near + 4), operand(RelocKind::Rel32Hi, near + 12)],
            );
            return;
        }
        let entry = self.new_sgpr(2);
        self.emit(
            Opcode::PC_ADDRESS,
            [entry, operand(RelocKind::GotPcRel32Lo, 4), operand(RelocKind::GotPcRel32Hi, 12)],
        );
        if offset == 0 {
            self.emit(Opcode::S_LOAD_DWORDX2, [out, entry, Operand::Imm(0)]);
            return;
        }
        let base = self.new_sgpr(2);
        self.emit(Opcode::S_LOAD_DWORDX2, [base, entry, Operand::Imm(0)]);
        let sum = self.scalar_add64(base, Operand::Imm(offset));
        self.emit(Opcode::COPY, [out, sum]);
    }

    /// A stack object's address that is asked for as a register never gets here, since it is a constant; kept for
    /// completeness of the walk.
    pub(super) fn lower_stack_address(&mut self, data: &InstData) -> Result<()> {
        let (value, dst) = self.result(data)?;
        if let Some(base) = self.mf.frame_base {
            let place = self.allocas.get(&value).copied();
            let place = place.ok_or_else(|| Diagnostic::defect("stack object without place"))?;
            self.frame_address(dst, base, place);
            return Ok(());
        }
        let offset = self.const_int(value).ok_or_else(|| Diagnostic::defect("stack object without place"))?;
        self.emit(Opcode::S_MOV_B32, [dst, Operand::Imm(offset)]);
        Ok(())
    }

    /// Splits constant byte offsets off an address: `(root, bytes)`, looking through additions of constants in pointer
    /// arithmetic of the current function, at most eight deep.
    pub(super) fn split_offset(&self, ptr: Value) -> (Value, i64) {
        let (mut at, mut bytes) = (self.whole_root(ptr), 0i64);
        for _ in 0..8 {
            let Some(inst) = self.f.def_inst(at) else { break };
            if let Some(&(twin, distance)) = self.lds_twins.get(&at) {
                return (twin, bytes.wrapping_add(distance));
            }
            match self.f.insts[inst].kind {
                InstKind::PtrAdd { base, index, scale, offset } => {
                    let constant = match index {
                        None => 0,
                        Some(index) => match self.const_int(index) {
                            Some(index) => index.wrapping_mul(scale),
                            None => break,
                        },
                    };
                    bytes = bytes.wrapping_add(offset).wrapping_add(constant);
                    at = self.whole_root(base);
                }
                InstKind::Binary { op: BinaryOp::Add, args } if self.f.ty(at).addr_space().is_none() => {
                    let Some(constant) = self.const_int(args[1]) else { break };
                    bytes = bytes.wrapping_add(constant);
                    at = self.whole_root(args[0]);
                }
                InstKind::Binary { op: BinaryOp::Or, args } if self.f.ty(at) == Type::I32 => {
                    // No bit is set twice: the same as a sum.
                    let Some(constant) = self.const_int(args[1]) else { break };
                    if (constant as u32) >> self.trailing_zeros(args[0], 4).min(31) != 0 {
                        break;
                    }
                    bytes = bytes.wrapping_add(constant);
                    at = self.whole_root(args[0]);
                }
                _ => break,
            }
        }
        (at, bytes)
    }

    /// `index << shift` of 32 bits as another value, shift and constant: `((x + 2) << 3) - 1` shifted by 2 is `x`, 5 and 60.
    ///
    /// What is added may be out of sight of the field of an instruction; the caller asks.
    pub(super) fn split_index(&self, index: Value, shift: u32) -> (Value, u32, i64) {
        let (mut at, mut by, mut bytes) = (index, shift, 0u32);
        for _ in 0..8 {
            let Some(inst) = self.f.def_inst(at) else { break };
            let InstKind::Binary { op, args: [next, constant] } = self.f.insts[inst].kind else { break };
            let Some(constant) = self.const_int(constant).map(|constant| constant as u32) else { break };
            // A VGPR keeps what a lane last wrote to it; others may have moved on.
            if self.root(next) != (next, 0)
                || self.values[next].rep != Rep::Vgpr
                || self.f.ty(next) != Type::I32
            {
                break;
            }
            match op {
                BinaryOp::Add => bytes = bytes.wrapping_add(constant << by),
                // No bit is set twice: the same as a sum.
                BinaryOp::Or if constant >> self.trailing_zeros(next, 4).min(31) == 0 => {
                    bytes = bytes.wrapping_add(constant << by);
                }
                BinaryOp::Shl if constant < 32 - by => by += constant,
                _ => break,
            }
            at = next;
        }
        (at, by, i64::from(bytes as i32))
    }

    /// The value that `value` is all of: its root, unless it is only a part of that.
    pub(super) fn whole_root(&self, value: Value) -> Value {
        let (root, sub) = self.root(value);
        if sub == 0 && self.dwords(root) == self.dwords(value) { root } else { value }
    }
}

/// The low `bits` bits of `value`, sign-extended.
pub(super) fn sign_extend(value: u64, bits: u32) -> i64 {
    let shift = 64u32.saturating_sub(bits.max(1));
    ((value << shift) as i64) >> shift
}
