//! Neighbouring accesses of bytes and halves become accesses of halves and dwords.
//!
//! What is stored is put together by shifts, which selection finds as byte permutations and as the parts that SDWA writes. What was loaded is a field of the dword: a shift and a mask, which selection finds as a bit field or as the part of an operand (SDWA), or which go where
//! the fields are put together again. So what extends and combines the fields is folded anew.

use super::super::append::append_value;
use super::super::builder::Builder;
use super::{Member, lowest_address, store_at};
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use mir::target::Target;
use rustc_hash::FxHashMap;

/// How many members from the first on make one access of two or four bytes. Bytes that are loaded more than once, as windows of rows are, are read from it, too.
pub(super) fn run_length(group: &[Member], machine: &Target) -> usize {
    let first = group[0];
    let align = 1i64 << first.mem.align_log2.min(6);
    let any = machine.takes_any_dword(first.mem.space);
    let (mut end, mut best) = (first.offset, 1);
    for (i, member) in group.iter().enumerate() {
        if i > 0 && member.offset + member.bytes <= end {
            best += usize::from(best == i && best > 1);
            continue;
        }
        let total = end + member.bytes - first.offset;
        if member.offset != end || total > 4 {
            break;
        }
        end += member.bytes;
        if matches!(total, 2 | 4) && (any || align >= total) {
            best = i + 1;
        }
    }
    best
}

/// Replaces the stores of `run` by one where the last of them stands.
pub(super) fn merge_stores(
    func: &mut Function,
    run: &[Member],
    before: &mut FxHashMap<usize, Vec<Inst>>,
    dropped: &mut [bool],
) {
    let Some(&latest) = run.iter().max_by_key(|m| m.at) else { return };
    let like = latest.inst;
    let mut out = Vec::new();
    let (mut word, mut constant) = (None, 0);
    for member in run {
        dropped[member.at] = true;
        let InstKind::Store { value, .. } = func.insts[member.inst].kind else { continue };
        let shift = 8 * (member.offset - run[0].offset) as u64;
        if let Some(known) = known_bits(func, value) {
            constant |= known << shift;
            continue;
        }
        let mut field = field(func, like, value, 8 * member.bytes as u32, &mut out);
        if shift > 0 {
            let amount = func.int(Type::I32, shift);
            let kind = InstKind::Binary { op: BinaryOp::Shl, args: [field, amount] };
            field = append_value(func, like, kind, Type::I32, &mut out);
        }
        word = Some(match word {
            Some(word) => join(func, like, word, field, &mut out),
            None => field,
        });
    }
    let word = match (word, constant) {
        (None, constant) => func.int(Type::I32, constant),
        (Some(word), 0) => word,
        (Some(word), constant) => {
            let constant = func.int(Type::I32, constant);
            join(func, like, word, constant, &mut out)
        }
    };
    let value = match run.iter().map(|m| m.bytes).sum::<i64>() {
        4 => word,
        _ => {
            let half = InstKind::Cast { op: CastOp::Trunc, arg: word };
            append_value(func, like, half, Type::Scalar(Scalar::Int(16)), &mut out)
        }
    };
    store_at(func, latest, run[0], value, &mut out);
    before.entry(latest.at).or_default().extend(out);
}

/// The bits of a constant of a byte or half.
fn known_bits(func: &Function, value: Value) -> Option<u64> {
    match func.as_const(value)? {
        Const::Float(bits) => Some(*bits),
        Const::Poison | Const::Undef => Some(0),
        _ => func.as_int(value),
    }
}

/// The byte or half `value` as the lowest `bits` of a dword that is 0 above them.
fn field(func: &mut Function, like: Inst, value: Value, bits: u32, out: &mut Vec<Inst>) -> Value {
    if let Some(inst) = func.def_inst(value)
        && let InstKind::Cast { op: CastOp::Trunc, arg } = func.insts[inst].kind
        && func.ty(arg) == Type::I32
    {
        let mask = func.int(Type::I32, (1 << bits) - 1);
        let kind = InstKind::Binary { op: BinaryOp::And, args: [arg, mask] };
        return append_value(func, like, kind, Type::I32, out);
    }
    let ty = Type::Scalar(Scalar::Int(bits));
    let mut value = value;
    if func.ty(value) != ty {
        value = append_value(func, like, InstKind::Cast { op: CastOp::BitCast, arg: value }, ty, out);
    }
    append_value(func, like, InstKind::Cast { op: CastOp::ZExt, arg: value }, Type::I32, out)
}

/// Both of two dwords that have no bits in common.
fn join(func: &mut Function, like: Inst, a: Value, b: Value, out: &mut Vec<Inst>) -> Value {
    let kind = InstKind::Binary { op: BinaryOp::Or, args: [a, b] };
    append_value(func, like, kind, Type::I32, out)
}

/// A field of a dword.
#[derive(Clone, Copy)]
struct Part {
    word: Value,
    /// How far its lowest bit is from that of the dword.
    shift: u32,
    /// The dword moved so far.
    moved: Value,
    /// Whether everything above it in the dword is 0.
    is_last: bool,
}

/// What became of the loads that were merged.
#[derive(Default)]
pub(super) struct Parts {
    /// Values of less than 32 bits that are fields.
    of: SecondaryMap<Value, Option<Part>>,
    /// Values that are others now.
    replaced: SecondaryMap<Value, Option<Value>>,
    /// Values made from fields, of which more may be known than before.
    touched: SecondaryMap<Value, bool>,
}

impl Parts {
    /// Replaces the loads of `run` by one in front of the first of them.
    pub(super) fn merge_loads(
        &mut self,
        func: &mut Function,
        run: &[Member],
        before: &mut FxHashMap<usize, Vec<Inst>>,
        dropped: &mut [bool],
    ) {
        let Some(&earliest) = run.iter().min_by_key(|m| m.at) else { return };
        let like = earliest.inst;
        let mut out = Vec::new();
        let ptr = lowest_address(func, run[0], earliest, &mut out);
        let load = InstKind::Load { ptr, mem: run[0].mem };
        let total = run.iter().map(|m| m.range().1).max().unwrap_or(0) - run[0].offset;
        let word = if total == 4 {
            append_value(func, like, load, Type::I32, &mut out)
        } else {
            let half = append_value(func, like, load, Type::Scalar(Scalar::Int(16)), &mut out);
            append_value(func, like, InstKind::Cast { op: CastOp::ZExt, arg: half }, Type::I32, &mut out)
        };
        let mut last: Option<(&Member, Value)> = None;
        for member in run {
            dropped[member.at] = true;
            let Some(old) = func.insts[member.inst].result else { continue };
            let ty = func.insts[member.inst].ty;
            if let Some((same, value)) = last
                && same.range() == member.range()
                && func.insts[same.inst].ty == ty
            {
                self.replaced[old] = Some(value);
                continue;
            }
            let shift = 8 * (member.offset - run[0].offset) as u32;
            let mut moved = word;
            if shift > 0 {
                let amount = func.int(Type::I32, u64::from(shift));
                let kind = InstKind::Binary { op: BinaryOp::LShr, args: [word, amount] };
                moved = append_value(func, like, kind, Type::I32, &mut out);
            }
            let bits = Type::Scalar(Scalar::Int(8 * member.bytes as u32));
            let kind = InstKind::Cast { op: CastOp::Trunc, arg: moved };
            let mut value = append_value(func, like, kind, bits, &mut out);
            let is_last = member.offset + member.bytes == run[0].offset + total;
            self.of[value] = Some(Part { word, shift, moved, is_last });
            if ty != bits {
                let kind = InstKind::Cast { op: CastOp::BitCast, arg: value };
                value = append_value(func, like, kind, ty, &mut out);
            }
            self.replaced[old] = Some(value);
            last = Some((member, value));
        }
        before.entry(earliest.at).or_default().extend(out);
    }

    /// Lets everything read the fields, and folds what is made of them.
    pub(super) fn read(&mut self, func: &mut Function, machine: &Target) {
        super::super::inline::substitute(func, &self.replaced);
        self.replaced.clear();
        let empty = Function::new(String::new(), func.call_conv, Type::Void);
        let mut b = Builder::new(std::mem::replace(func, empty), machine);
        for i in 0..b.func.layout.len() {
            b.block = b.func.layout[i];
            for inst in std::mem::take(&mut b.func.blocks[b.block].insts) {
                mir::interrupt::checkpoint();
                match self.anew(&mut b, inst) {
                    Some((old, new)) => {
                        self.touched[new] = true;
                        self.replaced[old] = Some(new);
                    }
                    None => b.func.blocks[b.block].insts.push(inst),
                }
            }
        }
        *func = b.func;
        super::super::inline::substitute(func, &self.replaced);
    }

    /// The result of an instruction that extends a field or computes with constants from what is touched, and what it is now.
    fn anew(&self, b: &mut Builder<'_>, inst: Inst) -> Option<(Value, Value)> {
        let data = &b.func.insts[inst];
        let (result, ty, flags) = (data.result?, data.ty, data.flags);
        let now = |value: Value| self.replaced[value].unwrap_or(value);
        let kind = match data.kind {
            InstKind::Cast { op: op @ (CastOp::ZExt | CastOp::SExt), arg } if ty == Type::I32 => {
                let part = self.of[arg]?;
                let bits = b.bits(arg);
                b.loc = b.func.locs[inst];
                if op == CastOp::ZExt && part.is_last {
                    return Some((result, part.moved));
                }
                if op == CastOp::ZExt {
                    return Some((result, b.and_imm(part.moved, (1 << bits) - 1)));
                }
                let top = b.shl_imm(part.word, 32 - bits - part.shift);
                return Some((result, b.ashr_imm(top, 32 - bits)));
            }
            InstKind::Binary { op, args } if ty == Type::I32 => {
                use BinaryOp::{AShr, And, LShr, Or, Shl};
                let args = args.map(now);
                if !matches!(op, And | Or | Shl | LShr | AShr) || !args.iter().any(|&v| self.touched[v]) {
                    return None;
                }
                InstKind::Binary { op, args }
            }
            _ => return None,
        };
        b.loc = b.func.locs[inst];
        Some((result, b.pure(kind, ty, flags)))
    }
}
