//! What loops do.

use super::*;

const OPS: [&str; 10] = ["add", "add", "add", "xor", "sub", "mul", "umin", "smax", "and", "set"];
const FLOAT_OPS: [&str; 5] = ["fadd", "fadd", "fsub", "decay", "set"];
const SCALES: [i64; 16] = [1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 7, 8, 16, -1, -2];
/// Scales of which a number that is 0, which nothing says, makes 0: shifts of addresses by 31 bits and more are none of 32-bit operations.
const FAR_SCALES: [i64; 6] = [1 << 30, 1 << 31, 1 << 32, 3 << 32, 1 << 45, -(1 << 33)];
const PLUS: [i64; 14] = [0, 0, 0, 0, 0, 1, 1, 2, -1, -1, -2, 3, 8, 100];

impl Maker {
    /// A statement; only such as a loop of one block has, and that leave its loads in any order, if `simple`.
    pub(super) fn part(&mut self, out: &mut Vec<Stmt>, simple: bool) {
        let inside = !self.around.is_empty();
        match self.rng.u32(0..if simple { 10 } else { 20 }) {
            0 if simple => self.store(out, true),
            0..=6 => self.load(out, simple),
            7 if inside => self.carry(out),
            7..=9 => self.compute(out),
            10..=12 => self.load(out, false),
            13..=15 => self.store(out, false),
            16 | 17 => self.branch(out),
            18 if inside => {
                let cond = self.cond();
                out.push(Stmt::Break(cond));
            }
            _ if self.around.len() < 2 => self.turns(out),
            _ => self.load(out, false),
        }
    }

    fn branch(&mut self, out: &mut Vec<Stmt>) {
        let cond = self.cond();
        let mut arms = [Vec::new(), Vec::new()];
        let both = self.chance(3);
        for arm in arms.iter_mut().take(if both { 2 } else { 1 }) {
            for _ in 0..self.rng.usize(1..3) {
                match self.rng.u32(0..10) {
                    0 if self.around.len() < 2 => self.turns(arm),
                    0..=3 => self.load(arm, false),
                    4..=6 => self.compute(arm),
                    _ => self.store(arm, false),
                }
            }
        }
        if !both && self.chance(4) {
            arms.swap(0, 1);
        }
        out.push(Stmt::If { cond, arms });
    }

    /// Variables that hold what others held one round before, the last of them what is loaded.
    fn carry(&mut self, out: &mut Vec<Stmt>) {
        let mut vars: Vec<usize> = (0..self.program.vars.len())
            .filter(|&var| matches!(self.program.vars[var].0, Ty::Int(32)))
            .collect();
        self.rng.shuffle(&mut vars);
        vars.truncate(self.rng.usize(2..4));
        for pair in vars.windows(2) {
            out.push(Stmt::Compute { dst: pair[0], op: "set", args: [pair[0], pair[1]].map(Operand::Var) });
        }
        if let Some(&dst) = vars.last() {
            let array = self.pick(&self.arrays(|space| matches!(space, Space::Shared { .. })));
            let (access, op) = (self.access(array), self.pick(&["set", "set", "xor", "add"]));
            out.push(Stmt::Load { dst, op, access, components: vec![0], extend: self.rng.bool() });
        }
    }

    fn cond(&mut self) -> Cond {
        let of = self.operand();
        let mask = self.pick(&[1, 3, 7, 15, 31]);
        let predicate = self.pick(&["eq", "eq", "ne", "ult", "ugt"]);
        Cond { of, mask, predicate, value: self.rng.u32(0..=mask) }
    }

    /// A number that is at hand.
    fn operand(&mut self) -> Operand {
        let depth = self.around.len();
        match self.rng.u32(0..10) {
            0 => Operand::Const(self.rng.i64(-3..40)),
            1 => Operand::Lane,
            2..=4 if depth > 0 => Operand::Counter(self.rng.usize(0..depth)),
            5 if depth > 0 => Operand::Past(depth - 1),
            6 => self.small_arg(),
            _ => Operand::Var(self.rng.usize(0..self.program.vars.len())),
        }
    }

    /// A small number that all lanes share.
    fn small_arg(&mut self) -> Operand {
        let small = (0..self.program.args.len()).filter(|&arg| (1..=20).contains(&self.program.args[arg].1));
        let small: Vec<usize> = small.collect();
        if !small.is_empty() && self.rng.bool() {
            return Operand::Arg(self.pick(&small));
        }
        let (ty, number) = (self.pick(&[I32, I32, I64]), self.rng.i64(1..21));
        self.arg(ty, number)
    }

    fn compute(&mut self, out: &mut Vec<Stmt>) {
        let dst = self.rng.usize(0..self.program.vars.len());
        if self.program.vars[dst].0 == Ty::F32 {
            let floats: Vec<usize> =
                (0..self.program.vars.len()).filter(|&var| self.program.vars[var].0 == Ty::F32).collect();
            let from = Operand::Var(self.pick(&floats));
            let from = if self.chance(4) { self.operand() } else { from };
            let op = self.pick(&["set", "set", "decay"]);
            out.push(Stmt::Compute { dst, op, args: [Operand::Var(dst), from] });
            return;
        }
        let (op, b) = (self.pick(&OPS), self.operand());
        let a = if self.chance(4) { self.operand() } else { Operand::Var(dst) };
        out.push(Stmt::Compute { dst, op, args: [a, b] });
    }

    pub(super) fn load(&mut self, out: &mut Vec<Stmt>, shared: bool) {
        let arrays = self.arrays(|space| matches!(space, Space::Shared { .. }));
        let own = self.arrays(|space| !matches!(space, Space::Shared { .. }));
        let array = if shared || self.rng.u32(0..4) > 0 { self.pick(&arrays) } else { self.pick(&own) };
        // One that a pointer runs over.
        let walk = self.around.last().and_then(|around| around.walks.first()).map(|walk| walk.array);
        let array = walk.filter(|_| self.chance(3)).unwrap_or(array);
        let Array { ty, lanes, .. } = self.program.arrays[array];
        let mut vars: Vec<usize> = (0..self.program.vars.len())
            .filter(|&var| (self.program.vars[var].0 == Ty::F32) == (ty == Ty::F32))
            .collect();
        // Bits of floats are integers, too.
        if self.chance(12) || vars.is_empty() {
            vars = (0..self.program.vars.len()).collect();
        }
        let (dst, access) = (self.pick(&vars), self.access(array));
        let op = if self.program.vars[dst].0 == Ty::F32 { self.pick(&FLOAT_OPS) } else { self.pick(&OPS) };
        let mut components: Vec<u32> = (0..lanes).filter(|_| self.rng.u32(0..3) > 0).collect();
        if components.is_empty() {
            components.push(self.rng.u32(0..lanes));
        }
        out.push(Stmt::Load { dst, op, access, components, extend: self.rng.bool() });
    }

    /// Of LDS and the stack, if `beside` loads from memory, and there are such.
    fn store(&mut self, out: &mut Vec<Stmt>, beside: bool) {
        let lanes = |space| matches!(space, Space::Lds { .. } | Space::Private);
        let own = self.arrays(|space| !matches!(space, Space::Shared { .. }) && (!beside || lanes(space)));
        if own.is_empty() {
            return self.load(out, true);
        }
        let array = self.pick(&own);
        let floats = self.program.arrays[array].ty == Ty::F32;
        let vars: Vec<usize> = (0..self.program.vars.len())
            .filter(|&var| (self.program.vars[var].0 == Ty::F32) == floats)
            .collect();
        let value = Operand::Var(self.pick(&vars));
        let value = if !floats && self.chance(3) { self.operand() } else { value };
        let access = self.access(array);
        out.push(Stmt::Store { value, access });
    }

    fn arrays(&self, which: impl Fn(Space) -> bool) -> Vec<usize> {
        (0..self.program.arrays.len()).filter(|&array| which(self.program.arrays[array].space)).collect()
    }

    /// What an access says of scopes, where the program has some.
    fn scopes(&mut self) -> [bool; 2] {
        [(); 2].map(|()| self.scoped && !self.chance(4))
    }

    fn access(&mut self, array: usize) -> Access {
        let id = self.id();
        let recent = self
            .around
            .last()
            .and_then(|around| around.recent.iter().rev().find(|access| access.array == array).cloned());
        // A neighbour of the one before, by a constant or by a step that all lanes share.
        if let Some(mut near) = recent.filter(|_| self.rng.u32(0..3) > 0) {
            near.id = id;
            match &mut near.index {
                Index::Sum { add: Operand::Arg(_), times, .. } if self.rng.u32(0..3) > 0 => *times += 1,
                Index::Sum { scale: Operand::Arg(_), .. } if self.rng.bool() => {
                    (near.form, near.plus) = (Form::Factor, near.plus + 1);
                }
                _ => near.plus += self.pick(&[1, 1, 1, 2, -1, 4]),
            }
            near.scopes = self.scopes();
            self.remember(&near);
            return near;
        }
        let depth = self.around.len();
        let shared = matches!(self.program.arrays[array].space, Space::Shared { .. });
        let walks: Vec<(usize, usize)> = (0..depth)
            .flat_map(|k| (0..self.around[k].walks.len()).map(move |number| (k, number)))
            .filter(|&(k, number)| self.around[k].walks[number].array == array)
            .collect();
        let index = if !walks.is_empty() && self.rng.bool() {
            let (depth, number) = self.pick(&walks);
            Index::Walk(depth, number)
        } else if let Some(&Around { plain: true, far, .. }) = self.around.last() {
            let term = if far { Operand::Past(depth - 1) } else { Operand::Counter(depth - 1) };
            let add = match self.rng.u32(0..8) {
                0..=3 => Operand::Const(0),
                4 | 5 => self.small_arg(),
                _ => Operand::Lane,
            };
            let scale = Operand::Const(self.pick(&[1, 1, 1, 2, 3]));
            Index::Sum { term, scale, add, times: 1 }
        } else {
            let far = self.around.last().is_some_and(|around| around.far);
            let term = match self.rng.u32(0..20) {
                0..=10 if far => Operand::Past(depth - 1),
                0..=13 if depth > 0 => Operand::Counter(depth - 1),
                14 if depth > 0 => Operand::Counter(0),
                15 | 16 if depth > 0 => Operand::Past(depth - 1),
                17 => Operand::Var(self.rng.usize(0..self.program.vars.len())),
                _ => self.operand(),
            };
            let scale = if shared && self.chance(4) {
                self.small_arg()
            } else {
                Operand::Const(if shared { self.pick(&SCALES) } else { 1 })
            };
            let add = match self.rng.u32(0..12) {
                0 | 1 => Operand::Lane,
                2..=4 => self.small_arg(),
                5 | 7 if depth > 1 => Operand::Counter(0),
                6 => Operand::LaneAnd(self.pick(&[3, 7, 31])),
                _ => Operand::Const(0),
            };
            let times = self.pick(&[1, 1, 1, 1, 2, 3, -1]);
            Index::Sum { term, scale, add, times }
        };
        let space = self.program.arrays[array].space;
        let apart = !matches!(space, Space::Own { interleaved: true } | Space::Lds { interleaved: true });
        let form = self.pick(&[Form::Sum, Form::Sum, Form::Factor, Form::Apart]);
        let narrow = matches!(space, Space::Lds { .. } | Space::Private);
        let access = Access {
            id,
            array,
            index,
            plus: if shared { self.pick(&PLUS) } else { self.rng.i64(0..3) },
            form: if form == Form::Apart && !apart { Form::Sum } else { form },
            // What is loaded, or computed, is anywhere.
            mask: matches!(index, Index::Sum { term: Operand::Var(_), .. }),
            wide: !narrow && self.chance(3),
            extend: self.pick(&[None, Some("sext"), Some("sext"), Some("zext")]),
            promises: [false; 2],
            inbounds: false,
            scopes: self.scopes(),
        };
        let mut access = if access.mask && access.form == Form::Apart {
            Access { form: Form::Sum, ..access }
        } else {
            access
        };
        if let (Index::Sum { term, scale, .. }, true) = (access.index, access.wide && self.chance(8)) {
            let ty = self.pick(&[I32, I64]);
            let add = if self.rng.bool() { self.arg(ty, 0) } else { self.slot(ty, vec![0; ITEMS]) };
            access.index = Index::Sum { term, scale, add, times: self.pick(&FAR_SCALES) };
        } else if access.wide
            && self.rng.bool()
            && let Index::Sum { add, times, .. } = &mut access.index
        {
            // What lanes have in common, and a little for each.
            (*add, *times) = (Operand::LaneAnd(31), 1);
        }
        self.remember(&access);
        access
    }

    fn remember(&mut self, access: &Access) {
        if let Some(around) = self.around.last_mut() {
            around.recent.push(access.clone());
        }
    }
}
