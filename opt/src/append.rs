//! Making instructions beside those of a function that is walked over.

use mir::ir::{Const, Function, Inst, InstFlags, InstKind, Type, Value};

/// Makes an instruction without flags, at the source position of `like`, and appends it to `out`. Its result, if it has one.
pub(crate) fn append(
    func: &mut Function,
    like: Inst,
    kind: InstKind,
    ty: Type,
    out: &mut Vec<Inst>,
) -> Option<Value> {
    let inst = func.make_inst(kind, ty, InstFlags::empty());
    func.locs[inst] = func.locs[like];
    out.push(inst);
    func.insts[inst].result
}

/// The same of an instruction with a result; poison stands for one that is none.
pub(crate) fn append_value(
    func: &mut Function,
    like: Inst,
    kind: InstKind,
    ty: Type,
    out: &mut Vec<Inst>,
) -> Value {
    append(func, like, kind, ty, out).unwrap_or_else(|| func.constant(ty, Const::Poison))
}
