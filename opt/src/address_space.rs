//! Which space a flat pointer points into.
//!
//! Flat accesses are slow, occupy both memory counters and stop the compiler from telling LDS from global
//! memory. A flat pointer's space is known where it was cast from a specific one, or is a flat argument of a
//! kernel (the host can pass global memory only), and stays known through arithmetic, `select`, `freeze` and
//! block parameters whose inputs agree.
//!
//! The analysis is optimistic: everything starts unknown, inputs are joined along a work list, and two
//! different spaces join to flat. Each value changes at most twice. Cost: linear in uses of flat pointers.

use super::flow::Flows;
use cranelift_entity::SecondaryMap;
use mir::ir::*;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Origin {
    #[default]
    Unknown,
    Space(AddrSpace),
    Flat,
}

impl Origin {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, x) | (x, Self::Unknown) => x,
            (a, b) if a == b => a,
            _ => Self::Flat,
        }
    }
}

/// Result of the analysis.
pub struct Spaces {
    origin: SecondaryMap<Value, Origin>,
    any: bool,
}

impl Spaces {
    /// Analyses the flat pointers of `func`.
    pub fn infer(func: &Function) -> Self {
        let mut this = Self { origin: SecondaryMap::new(), any: false };
        let flat = Type::ptr(AddrSpace::FLAT);
        if !func.values.values().any(|v| v.ty == flat && !matches!(v.def, ValueDef::Const(_))) {
            return this;
        }
        this.any = true;
        // Where each flat value flows to, and what it starts with.
        let mut flows: Vec<(Value, Value)> = Vec::new();
        let mut work = Vec::new();
        let start = |this: &mut Self, work: &mut Vec<Value>, value: Value, origin: Origin| {
            let joined = this.origin[value].join(origin);
            if joined != this.origin[value] {
                this.origin[value] = joined;
                work.push(value);
            }
        };
        for param in &func.params {
            if func.ty(param.value) == flat {
                // A kernel's byval copy lies in the kernarg segment.
                let origin = match (func.is_kernel(), param.indirect) {
                    (true, None) => Origin::Space(AddrSpace::GLOBAL),
                    (true, Some(_)) => Origin::Space(AddrSpace::CONSTANT),
                    _ => Origin::Flat,
                };
                start(&mut this, &mut work, param.value, origin);
            }
        }
        let mut flow = |this: &mut Self, work: &mut Vec<Value>, from: Value, to: Value| {
            match func.as_const(from) {
                // Null and undefined pointers fit every space that global addresses fit; LDS has another
                // null.
                Some(Const::Undef | Const::Poison) => {}
                Some(_) => start(this, work, to, Origin::Flat),
                None => flows.push((from, to)),
            }
        };
        for &block in &func.layout {
            for &inst in &func.blocks[block].insts {
                let data = &func.insts[inst];
                for target in data.kind.targets() {
                    let params = &func.blocks[target.block].params;
                    for (&param, &arg) in params.iter().zip(&target.args) {
                        if func.ty(param) == flat {
                            flow(&mut this, &mut work, arg, param);
                        }
                    }
                }
                let Some(result) = data.result else { continue };
                if data.ty != flat {
                    continue;
                }
                let cast = match &data.kind {
                    InstKind::Cast { op: CastOp::AddrSpaceCast, arg } => Some(arg),
                    InstKind::Intrinsic { intrinsic: Intrinsic::AddrspacecastNonnull, args } => args.first(),
                    _ => None,
                };
                match (&data.kind, cast) {
                    (_, Some(arg)) => {
                        let origin = match func.ty(*arg).addr_space() {
                            Some(
                                space @ (AddrSpace::GLOBAL
                                | AddrSpace::CONSTANT
                                | AddrSpace::LOCAL
                                | AddrSpace::PRIVATE),
                            ) => Origin::Space(space),
                            _ => Origin::Flat,
                        };
                        start(&mut this, &mut work, result, origin);
                    }
                    (InstKind::PtrAdd { base, .. }, _) if func.ty(*base) == flat => {
                        flow(&mut this, &mut work, *base, result);
                    }
                    (InstKind::Unary { op: UnaryOp::Freeze, arg }, _) => {
                        flow(&mut this, &mut work, *arg, result)
                    }
                    (InstKind::Select { if_true, if_false, .. }, _) => {
                        flow(&mut this, &mut work, *if_true, result);
                        flow(&mut this, &mut work, *if_false, result);
                    }
                    _ => start(&mut this, &mut work, result, Origin::Flat),
                }
            }
        }
        let flows = Flows::new(&flows);
        while let Some(value) = work.pop() {
            let origin = this.origin[value];
            for &to in flows.of(value) {
                start(&mut this, &mut work, to, origin);
            }
        }
        this
    }

    /// The space that the flat pointer `value` is known to point into.
    pub fn of(&self, value: Value) -> Option<AddrSpace> {
        if !self.any {
            return None;
        }
        match self.origin[value] {
            Origin::Space(space) => Some(space),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreeing_inputs_keep_the_space_and_others_lose_it() {
        let flat = Type::ptr(AddrSpace::FLAT);
        let mut f = Function::new("f", CallConv::Kernel, Type::Void);
        let local = f.add_param(Type::ptr(AddrSpace::LOCAL), "l");
        let cond = f.add_param(Type::I1, "c");
        let argument = f.add_param(flat, "p");
        let entry = f.add_block();
        let cast = |f: &mut Function, arg| {
            f.append(entry, InstKind::Cast { op: CastOp::AddrSpaceCast, arg }, flat).unwrap()
        };
        let a = cast(&mut f, local);
        let moved =
            f.append(entry, InstKind::PtrAdd { base: a, index: None, scale: 0, offset: 4 }, flat).unwrap();
        let select = |f: &mut Function, x, y| {
            f.append(entry, InstKind::Select { cond, if_true: x, if_false: y }, flat).unwrap()
        };
        let same = select(&mut f, a, moved);
        let mixed = select(&mut f, a, argument);
        f.append(entry, InstKind::Ret { value: None }, Type::Void);
        let spaces = Spaces::infer(&f);
        assert_eq!(spaces.of(same), Some(AddrSpace::LOCAL));
        assert_eq!(spaces.of(argument), Some(AddrSpace::GLOBAL));
        assert_eq!(spaces.of(mixed), None);
    }
}
