//! Loops and accesses as LLVM IR.

use super::*;

impl Printer<'_> {
    /// `a predicate b`, in either order.
    fn compare(&mut self, predicate: &str, swapped: bool, ty: Ty, a: &str, b: &str) -> String {
        let other = match predicate {
            "slt" => "sgt",
            "sgt" => "slt",
            "sle" => "sge",
            "sge" => "sle",
            "ult" => "ugt",
            "ugt" => "ult",
            "ule" => "uge",
            "uge" => "ule",
            same => same,
        };
        let (predicate, a, b) = if swapped { (other, b, a) } else { (predicate, a, b) };
        self.out.op(&format!("icmp {predicate} {} {a}, {b}", ty.name()))
    }

    /// Branches to `on` while a loop goes on, else to its exit.
    fn go_on(&mut self, turn: &Turn, n: usize, counter: &str, bound: &str, on: &str, note: &str) {
        let opposite = match turn.predicate {
            "slt" => "sge",
            "sge" => "slt",
            "sgt" => "sle",
            "sle" => "sgt",
            "ult" => "uge",
            "uge" => "ult",
            "ugt" => "ule",
            "ule" => "ugt",
            "eq" => "ne",
            _ => "eq",
        };
        let predicate = if turn.inverse { opposite } else { turn.predicate };
        let cond = self.compare(predicate, turn.swapped, turn.ty, counter, bound);
        let ways = [format!("label %{on}"), format!("label %exit{n}")];
        let [a, b] = if turn.inverse { [&ways[1], &ways[0]] } else { [&ways[0], &ways[1]] };
        self.out.line(&format!("br i1 {cond}, {a}, {b}{note}"));
    }

    /// What is said to unrolling, behind the branch back.
    fn note(&mut self, hint: Hint) -> String {
        let wish = match hint {
            Hint::None => return String::new(),
            Hint::Flag(flag) => format!("!{{!\"llvm.loop.unroll.{flag}\"}}"),
            Hint::Count(count) => format!("!{{!\"llvm.loop.unroll.count\", i32 {count}}}"),
        };
        let n = self.metadata.lines().count() + 1;
        let _ = writeln!(self.metadata, "!{n} = distinct !{{!{n}, !{}}}\n!{} = {wish}", n + 1, n + 1);
        format!(", !llvm.loop !{n}")
    }

    pub(super) fn turns(&mut self, turn: &Turn) {
        let (n, ty, program) = (self.out.number(), turn.ty, self.program);
        let [start, step, bound] = [turn.start, turn.step, turn.bound].map(|it| self.operand(it, ty));
        let mut guarded = Vec::new();
        for (k, guard) in turn.guards.iter().enumerate() {
            let bound = match guard.plus {
                0 => bound.clone(),
                plus => self.out.op(&format!("add {} {bound}, {plus}", ty.name())),
            };
            let cond = self.compare(guard.predicate, guard.swapped, ty, &start, &bound);
            self.out.line(&format!("br i1 {cond}, label %go{n}.{k}, label %exit{n}"));
            guarded.push(Exit {
                block: self.out.block.clone(),
                names: self.names.clone(),
                last: start.clone(),
            });
            self.out.label(&format!("go{n}.{k}"));
        }
        let mut walks = Vec::new();
        for walk in &turn.walks {
            let [from, by] = [walk.from, walk.by].map(|operand| self.operand(operand, I64));
            let name = program.arrays[walk.array].name();
            let first = format!("getelementptr {name}, ptr addrspace(1) %base{}, i64 {from}", walk.array);
            walks.push((self.out.op(&first), by, name));
        }
        self.out.line(&format!("br label %loop{n}"));
        let (entering, before) = (self.out.block.clone(), self.names.clone());
        let mut changed = vec![false; self.names.len()];
        visit(&turn.body, &mut |stmt| stmt.changed().into_iter().for_each(|var| changed[var] = true));
        let changed: Vec<usize> = (0..changed.len()).filter(|&var| changed[var]).collect();
        for &var in &changed {
            self.names[var] = format!("%v{var}.{n}");
        }
        let outer = std::mem::take(&mut self.out.text);
        self.out.block = format!("loop{n}");
        self.frames.push(Frame {
            ty,
            counter: format!("%i{n}"),
            start: start.clone(),
            walks: (0..walks.len()).map(|k| format!("%w{n}.{k}")).collect(),
            exits: guarded,
        });
        let now = |p: &mut Self| if turn.moving { p.operand(turn.bound, ty) } else { bound.clone() };
        if turn.top {
            let bound = now(self);
            self.go_on(turn, n, &format!("%i{n}"), &bound, &format!("body{n}"), "");
            self.leave(format!("%i{n}"));
            self.out.label(&format!("body{n}"));
        }
        self.body(&turn.body);
        let bound = if turn.top { String::new() } else { now(self) };
        let mut flags = String::new();
        for (flag, promised) in [" nsw", " nuw"].iter().zip(turn.promises) {
            flags.push_str(if promised { flag } else { "" });
        }
        self.out.line(&format!("%next{n} = add{flags} {} %i{n}, {step}", ty.name()));
        for (k, (_, by, name)) in walks.iter().enumerate() {
            self.out
                .line(&format!("%more{n}.{k} = getelementptr {name}, ptr addrspace(1) %w{n}.{k}, i64 {by}"));
        }
        let note = self.note(turn.hint);
        if turn.top {
            self.out.line(&format!("br label %loop{n}{note}"));
        } else {
            let last = if turn.early { format!("%i{n}") } else { format!("%next{n}") };
            self.go_on(turn, n, &last, &bound, &format!("loop{n}"), &note);
            self.leave(last);
        }
        // The header's phis, now that it is known what comes back.
        let inner = std::mem::replace(&mut self.out.text, outer);
        let latch = self.out.block.clone();
        let _ = writeln!(self.out.text, "loop{n}:");
        let mut phi = |ty: &str, name: &str, from: &str, to: &str| {
            self.out.line(&format!("{name} = phi {ty} [ {from}, %{entering} ], [ {to}, %{latch} ]"));
        };
        phi(&ty.name(), &format!("%i{n}"), &start, &format!("%next{n}"));
        for (k, (first, ..)) in walks.iter().enumerate() {
            phi("ptr addrspace(1)", &format!("%w{n}.{k}"), first, &format!("%more{n}.{k}"));
        }
        for &var in &changed {
            let name = program.vars[var].0.name();
            phi(&name, &format!("%v{var}.{n}"), &before[var], &self.names[var]);
        }
        self.out.text.push_str(&inner);
        self.out.label(&format!("exit{n}"));
        let exits = self.frames.pop().map_or_else(Vec::new, |frame| frame.exits);
        let lasts: Vec<_> = exits.iter().map(|exit| (&exit.block, &exit.last)).collect();
        let last = turn.last.map(|var| (var, self.phi(ty, &lasts)));
        let ways: Vec<_> = exits.into_iter().map(|exit| (exit.block, exit.names)).collect();
        self.meet(&ways);
        if let Some((var, last)) = last {
            self.names[var] = self.cast(last, ty, program.vars[var].0);
        }
    }

    /// Space and address of an access.
    pub(super) fn place(&mut self, access: &Access) -> String {
        let array = &self.program.arrays[access.array];
        let (name, (space, width)) = (array.name(), array.space());
        let inbounds = if access.inbounds { " inbounds" } else { "" };
        let at = |p: &mut Self, base: &str, index: &str, ty: &str| {
            let index = p.scaled(array, index, ty);
            p.out.op(&format!("getelementptr{inbounds} {name}, ptr addrspace({space}) {base}, {ty} {index}"))
        };
        let base = format!("%base{}", access.array);
        let place = match access.index {
            Index::Walk(depth, number) => {
                let walk = self.frames[depth].walks[number].clone();
                if access.plus == 0 { walk } else { at(self, &walk, &access.plus.to_string(), "i64") }
            }
            Index::Sum { term, scale, add, times } => {
                let ty = if access.wide { I64 } else { I32 };
                let mut flags = String::new();
                for (flag, promised) in [" nsw", " nuw"].iter().zip(access.promises) {
                    flags.push_str(if promised { flag } else { "" });
                }
                let op = |p: &mut Self, op: &str, a: String, b: String| match (op, a.as_str(), b.as_str()) {
                    (_, _, "0") if op == "add" => a,
                    ("add", "0", _) => b,
                    ("mul", _, "1") => a,
                    _ => p.out.op(&format!("{op}{flags} {} {a}, {b}", ty.name())),
                };
                let [mut index, scale, mut sum] = [term, scale, add].map(|operand| self.operand(operand, ty));
                if access.form == Form::Factor {
                    index = op(self, "add", index, access.plus.to_string());
                }
                index = op(self, "mul", index, scale);
                if sum != "0" {
                    sum = op(self, "mul", sum, times.to_string());
                }
                if access.form != Form::Apart {
                    index = op(self, "add", index, sum.clone());
                }
                if access.form == Form::Sum {
                    index = op(self, "add", index, access.plus.to_string());
                }
                if access.mask {
                    index = self.out.op(&format!("and {} {index}, {}", ty.name(), array.bounds().1));
                }
                let wide = |p: &mut Self, index: String| match access.extend {
                    Some(extend) if ty == I32 && width == 64 => {
                        (p.out.op(&format!("{extend} i32 {index} to i64")), I64.name())
                    }
                    _ => (index, ty.name()),
                };
                let (index, index_ty) = wide(self, index);
                if access.form == Form::Apart {
                    let (sum, sum_ty) = wide(self, sum);
                    let lane = at(self, &base, &sum, &sum_ty);
                    let place = at(self, &lane, &index, &index_ty);
                    at(self, &place, &access.plus.to_string(), "i64")
                } else {
                    at(self, &base, &index, &index_ty)
                }
            }
        };
        format!("ptr addrspace({space}) {place}")
    }

    /// An index, where a lane's elements stand apart.
    fn scaled(&mut self, array: &Array, index: &str, ty: &str) -> String {
        let stride = match array.space {
            Space::Own { interleaved: true } => ITEMS,
            Space::Lds { interleaved: true } => GROUP,
            _ => return index.to_owned(),
        };
        match index.parse::<i64>() {
            Ok(constant) => (constant * stride as i64).to_string(),
            Err(_) => self.out.op(&format!("mul {ty} {index}, {stride}")),
        }
    }
}
