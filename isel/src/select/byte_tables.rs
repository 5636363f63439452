//! Bytes that a number chooses of eight, as small tables of constants are: `lshr x, i << 3` of 64 bits of which nobody looks at more than the lowest
//! byte. `v_perm_b32` chooses bytes of two dwords at the full rate and takes the index itself; the shift takes a quarter of the rate.
//!
//! Sources: GCN3, Vega and RDNA ISA manuals, V_PERM_B32 (selectors 0 to 3 are bytes of the second source, 4 to 7 of the first).

use super::Selector;
use mir::ir::{BinaryOp, Block, CastOp, InstKind, Type, Value};
use mir::isa::Opcode::V_PERM_B32;
use mir::machine::Operand;
use rustc_hash::FxHashMap;

impl Selector<'_> {
    /// `i` of `i << 3`, extended to 64 bits.
    fn byte_number(&self, amount: Value) -> Option<Value> {
        let kind = |value: Value| Some(&self.f.insts[self.f.def_inst(value)?].kind);
        let InstKind::Cast { op: CastOp::ZExt, arg } = *kind(amount)? else { return None };
        match *kind(arg)? {
            InstKind::Binary { op: BinaryOp::Shl, args: [number, by] }
                if self.f.ty(arg) == Type::I32 && self.is_const_value(by, 3) =>
            {
                Some(number)
            }
            _ => None,
        }
    }

    /// Finds the shifts by whole bytes whose users look at the lowest byte alone.
    pub(super) fn find_byte_tables(&mut self, order: &[Block]) {
        let f = self.f;
        if !self.exists(V_PERM_B32) {
            return;
        }
        // The shifts, and the low dwords of each.
        let mut of: FxHashMap<Value, Value> = FxHashMap::default();
        for &inst in order.iter().flat_map(|&block| &f.blocks[block].insts) {
            let data = &f.insts[inst];
            let Some(result) = data.result else { continue };
            match data.kind {
                InstKind::Binary { op: BinaryOp::LShr, args: [_, amount] }
                    if data.ty.is_int(64) && self.byte_number(amount).is_some() =>
                {
                    of.insert(result, result);
                }
                InstKind::Cast { op: CastOp::Trunc, arg } if data.ty.bits().is_some_and(|bits| bits > 8) => {
                    if let Some(&shift) = of.get(&arg) {
                        of.insert(result, shift);
                    }
                }
                _ => {}
            }
        }
        if of.is_empty() {
            return;
        }
        self.byte_tables.extend(of.values());
        for &inst in order.iter().flat_map(|&block| &f.blocks[block].insts) {
            let data = &f.insts[inst];
            let is_table = |value: &Value| of.contains_key(value);
            let byte = match data.kind {
                // Who looks at a result of more than a byte is looked at in turn.
                InstKind::Cast { op: CastOp::Trunc, arg } => Some(arg),
                InstKind::Binary { op: BinaryOp::And, args: [x, mask] } => {
                    self.const_int(mask).is_some_and(|mask| (0..=0xff).contains(&mask)).then_some(x)
                }
                InstKind::Binary { op: BinaryOp::Shl, args: [x, by] } if data.ty == Type::I32 => {
                    self.shift_amount(by, 32).is_some_and(|by| by >= 24).then_some(x)
                }
                _ => None,
            };
            data.kind.for_each_value(|value| {
                if byte != Some(value) && is_table(&value) {
                    self.byte_tables.remove(&of[&value]);
                }
            });
        }
    }

    /// The result of the shift `value` of `x`, with nothing but its lowest byte, if that is enough.
    pub(super) fn chosen_byte(&mut self, value: Value, dst: Operand, [x, amount]: [Value; 2]) -> bool {
        let Some(number) = self.byte_number(amount).filter(|_| self.byte_tables.contains(&value)) else {
            return false;
        };
        let [low, high] = self.wide_halves(x, false);
        let number = self.src(number);
        let byte = self.new_vgpr(1);
        self.vop(V_PERM_B32, &[byte, high, low, number]);
        self.sequence(dst, &[byte, byte]);
        true
    }
}
