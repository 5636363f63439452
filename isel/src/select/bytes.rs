//! Bytes of one or two words in any order: `v_perm_b32`.
//!
//! Shuffles of bytes arrive as trees of `or`, masks of whole bytes and shifts by whole bytes. Source: Vega ISA manual, `V_PERM_B32`.

use super::Selector;
use mir::ir::{BinaryOp, InstKind, Type, Value};
use mir::isa::Opcode::V_PERM_B32;
use mir::machine::Operand;
use smallvec::SmallVec;

/// Most operations of a tree.
const MAX_OPERATIONS: usize = 16;

/// Operations that must go for the permutation to pay, with the one that it replaces: it needs its selector in a register.
const MIN_REMOVED: usize = 4;

/// The selector of a byte that is 0.
const ZERO: u8 = 0x0c;

/// Where each byte of a value comes from: a word and its byte; `None` is 0.
type Bytes = [Option<(Value, u8)>; 4];

/// What a walk over a tree has seen.
#[derive(Default)]
struct Walk {
    visited: usize,
    removed: usize,
}

impl Selector<'_> {
    /// `dst = args[0] | args[1]` as a permutation of bytes, where that is fewer instructions.
    pub(super) fn permute_bytes(&mut self, dst: Operand, args: [Value; 2]) -> bool {
        if self.f.ty(args[0]) != Type::I32 || !self.exists(V_PERM_B32) {
            return false;
        }
        let mut walk = Walk { visited: 1, removed: 1 };
        let Some(bytes) = self.or_of_bytes(args, &mut walk) else { return false };
        let mut words: SmallVec<[Value; 4]> = bytes.iter().flatten().map(|&(word, _)| word).collect();
        words.sort();
        words.dedup();
        if walk.removed < MIN_REMOVED || words.is_empty() || words.len() > 2 {
            return false;
        }
        // Selectors 0 to 3 are bytes of the second source, 4 to 7 of the first.
        let selector = bytes.map(|byte| match byte {
            Some((word, at)) if word == words[0] => at,
            Some((_, at)) => at + 4,
            None => ZERO,
        });
        let low = self.src(words[0]);
        let high = words.get(1).map_or(low, |&word| self.src(word));
        let selector = Operand::Imm(i64::from(i32::from_le_bytes(selector)));
        self.vop(V_PERM_B32, &[dst, high, low, selector]);
        true
    }

    fn or_of_bytes(&self, args: [Value; 2], walk: &mut Walk) -> Option<Bytes> {
        let [a, b] = args.map(|arg| self.bytes_of(arg, walk));
        let (a, b) = (a?, b?);
        let mut out = Bytes::default();
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = match (a[i], b[i]) {
                (byte, None) | (None, byte) => byte,
                (Some(one), Some(other)) if one == other => Some(one),
                _ => return None,
            };
        }
        Some(out)
    }

    /// Where the bytes of `value` come from; `None` where bytes meet or the tree is too large.
    fn bytes_of(&self, value: Value, walk: &mut Walk) -> Option<Bytes> {
        if self.const_int(value) == Some(0) {
            return Some(Bytes::default());
        }
        let whole = [0, 1, 2, 3].map(|at| Some((value, at)));
        let Some(data) = self.nearby(value).filter(|data| data.ty == Type::I32) else { return Some(whole) };
        let &InstKind::Binary { op, args } = &data.kind else { return Some(whole) };
        let constant = self.const_int(args[1]).map(|c| c as u32);
        let by = constant.filter(|c| c % 8 == 0 && *c < 32).map(|c| c as usize / 8);
        let single = self.foldable(value).is_some();
        // Somebody else's sum of bytes is a word here.
        let known = match op {
            BinaryOp::Or => single,
            BinaryOp::And => {
                constant.is_some_and(|mask| mask.to_le_bytes().iter().all(|&m| m == 0 || m == 255))
            }
            BinaryOp::Shl | BinaryOp::LShr => by.is_some(),
            _ => false,
        };
        if !known {
            return Some(whole);
        }
        walk.visited += 1;
        if walk.visited > MAX_OPERATIONS {
            return None;
        }
        walk.removed += usize::from(single);
        let source = match op {
            BinaryOp::Or => return self.or_of_bytes(args, walk),
            _ => self.bytes_of(args[0], walk)?,
        };
        let by = by.unwrap_or(0);
        let mut out = Bytes::default();
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = match op {
                BinaryOp::Shl => i.checked_sub(by).and_then(|from| source[from]),
                BinaryOp::LShr => source.get(i + by).copied().flatten(),
                _ => source[i].filter(|_| constant.is_some_and(|mask| mask >> (8 * i) & 255 != 0)),
            };
        }
        Some(out)
    }
}
