//! Programs as LLVM IR.

use super::*;
use crate::random::lines::Lines;
use std::fmt::Write;

mod turns;

/// A loop that is being written.
struct Frame {
    ty: Ty,
    counter: String,
    start: String,
    walks: Vec<String>,
    exits: Vec<Exit>,
}

/// A way out of a loop: the block, the variables there, the counter's last value.
struct Exit {
    block: String,
    names: Vec<String>,
    last: String,
}

/// Metadata of an array: its scope, the list of that alone, and that of all others'.
fn scope_numbers(array: usize) -> [usize; 3] {
    [0, 1, 2].map(|n| 2 + 3 * array + n)
}

struct Printer<'a> {
    program: &'a Loops,
    out: Lines,
    /// Value of each variable.
    names: Vec<String>,
    frames: Vec<Frame>,
    /// Names of uniform arguments and of what is loaded at the start.
    used: Vec<Operand>,
    metadata: String,
}

impl Loops {
    /// The numbers that the program takes, and which arrays it accesses. Variables that are not among them are not stored.
    pub(super) fn used(&self) -> (Vec<Operand>, Vec<bool>) {
        let (mut used, mut arrays) = (Vec::new(), vec![false; self.arrays.len()]);
        visit(&self.body, &mut |stmt| {
            used.extend(stmt.operands());
            used.extend(stmt.changed().map(Operand::Var));
            stmt.access().iter().for_each(|access| arrays[access.array] = true);
            if let Stmt::Loop(turn) = stmt {
                turn.walks.iter().for_each(|walk| arrays[walk.array] = true);
            }
        });
        for (var, &(_, from)) in self.vars.iter().enumerate() {
            if used.contains(&Operand::Var(var)) {
                used.push(from);
            }
        }
        (used, arrays)
    }

    /// The program as a module with kernel `k`.
    pub(super) fn text(&self) -> String {
        let (used, arrays) = self.used();
        let names = self.vars.iter().map(|_| "poison".to_owned()).collect();
        let mut p = Printer {
            program: self,
            out: Lines::default(),
            names,
            frames: Vec::new(),
            used,
            metadata: String::new(),
        };
        p.start(&arrays);
        p.body(&self.body);
        p.end();
        let mut text = "target triple = \"amdgcn-amd-amdhsa\"\n".to_owned();
        let mut params = vec![
            "ptr addrspace(1) noalias %out".to_owned(),
            "ptr addrspace(1) noalias readonly %in".to_owned(),
        ];
        for (number, array) in self.arrays.iter().enumerate() {
            match array.space {
                Space::Shared { .. } | Space::Own { .. } => {
                    let noalias = if array.noalias { "noalias " } else { "" };
                    let readonly = if array.readonly { "readonly " } else { "" };
                    params.push(format!("ptr addrspace(1) {noalias}{readonly}%a{number}"));
                }
                Space::Lds { .. } if arrays[number] => {
                    let elements = GROUP as i64 * OWN;
                    let name = array.name();
                    let _ = writeln!(
                        text,
                        "@lds{number} = internal addrspace(3) global [{elements} x {name}] poison, align 16"
                    );
                }
                Space::Lds { .. } | Space::Private => {}
            }
        }
        params.extend(self.args.iter().enumerate().map(|(n, (ty, _))| format!("{} %n{n}", ty.name())));
        let _ = write!(
            text,
            "define amdgpu_kernel void @k({}) #0 !reqd_work_group_size !0 {{\n{}}}\n\
             attributes #0 = {{ \"amdgpu-flat-work-group-size\"=\"{GROUP},{GROUP}\" }}\n\
             !0 = !{{i32 {GROUP}, i32 1, i32 1}}\n{}",
            params.join(", "),
            p.out.text,
            p.metadata
        );
        for declaration in [
            "i32 @llvm.amdgcn.workitem.id.x()",
            "i32 @llvm.amdgcn.workgroup.id.x()",
            "i32 @llvm.umin.i32(i32, i32)",
            "i64 @llvm.umin.i64(i64, i64)",
            "i32 @llvm.smin.i32(i32, i32)",
            "i64 @llvm.smin.i64(i64, i64)",
            "i32 @llvm.smax.i32(i32, i32)",
            "i64 @llvm.smax.i64(i64, i64)",
            "void @llvm.experimental.noalias.scope.decl(metadata)",
        ] {
            let name = declaration.split_once('(').map_or(declaration, |(name, _)| name);
            if text.contains(name) {
                let _ = writeln!(text, "declare {declaration}");
            }
        }
        text
    }
}

impl Printer<'_> {
    /// A scope for the memory of each array, if an access says something of them, as if pointers to all were parameters of a function that was inlined.
    fn declare_scopes(&mut self) {
        let mut scoped = false;
        visit(&self.program.body, &mut |stmt| {
            scoped |= stmt.access().is_some_and(|access| access.scopes != [false; 2]);
        });
        if !scoped {
            return;
        }
        let _ = writeln!(self.metadata, "!1 = distinct !{{!1}}");
        let arrays = self.program.arrays.len();
        for array in 0..arrays {
            let [scope, list, others] = scope_numbers(array);
            let named = |n: usize| format!("!{}", scope_numbers(n)[0]);
            let rest: Vec<String> = (0..arrays).filter(|&n| n != array).map(named).collect();
            let rest = rest.join(", ");
            let _ = writeln!(
                self.metadata,
                "!{scope} = distinct !{{!{scope}, !1}}\n!{list} = !{{!{scope}}}\n!{others} = !{{{rest}}}"
            );
            self.out.line(&format!("call void @llvm.experimental.noalias.scope.decl(metadata !{list})"));
        }
    }

    /// What an access says of scopes.
    fn scopes(&self, access: &Access) -> String {
        let [_, list, others] = scope_numbers(access.array);
        let [own, not] = access.scopes;
        let mut text = String::new();
        if own {
            let _ = write!(text, ", !alias.scope !{list}");
        }
        if not {
            let _ = write!(text, ", !noalias !{others}");
        }
        text
    }

    fn start(&mut self, arrays: &[bool]) {
        let program = self.program;
        self.out.label("entry");
        self.declare_scopes();
        self.out.line("%id = call i32 @llvm.amdgcn.workitem.id.x()");
        self.out.line("%group = call i32 @llvm.amdgcn.workgroup.id.x()");
        let first = self.out.op(&format!("mul i32 %group, {GROUP}"));
        self.out.line(&format!("%item = add i32 {first}, %id"));
        self.out.line(&format!("%part = mul nuw nsw i32 %item, {}", 8 * program.slots.len()));
        for (slot, (ty, _)) in program.slots.iter().enumerate() {
            if self.used.contains(&Operand::Slot(slot)) {
                let place = self.out.op("getelementptr i8, ptr addrspace(1) %in, i32 %part");
                let place =
                    self.out.op(&format!("getelementptr i8, ptr addrspace(1) {place}, i32 {}", 8 * slot));
                self.out.line(&format!("%s{slot} = load {}, ptr addrspace(1) {place}, align 8", ty.name()));
            }
        }
        for (number, array) in program.arrays.iter().enumerate().filter(|&(number, _)| arrays[number]) {
            self.base(number, array);
        }
        for (var, &(ty, from)) in program.vars.iter().enumerate() {
            if self.used.contains(&Operand::Var(var)) {
                self.names[var] = self.operand(from, ty);
            }
        }
    }

    /// Where an array begins, for this lane; fills one that is not in memory.
    fn base(&mut self, number: usize, array: &Array) {
        let name = array.name();
        let (space, from, index) = match array.space {
            Space::Shared { middle } => {
                (1, format!("%a{number}"), if middle { SHARED / 2 } else { 0 }.to_string())
            }
            Space::Own { interleaved: true } => (1, format!("%a{number}"), "%item".to_owned()),
            Space::Own { .. } => {
                (1, format!("%a{number}"), self.out.op(&format!("mul nuw nsw i32 %item, {OWN}")))
            }
            Space::Lds { interleaved: true } => (3, format!("@lds{number}"), "%id".to_owned()),
            Space::Lds { .. } => {
                (3, format!("@lds{number}"), self.out.op(&format!("mul nuw nsw i32 %id, {OWN}")))
            }
            Space::Private => {
                self.out.line(&format!("%a{number} = alloca [{OWN} x {name}], align 16, addrspace(5)"));
                (5, format!("%a{number}"), "0".to_owned())
            }
        };
        self.out.line(&format!(
            "%base{number} = getelementptr inbounds {name}, ptr addrspace({space}) {from}, i32 {index}"
        ));
        if space == 1 {
            return;
        }
        let stride = if (array.space == Space::Lds { interleaved: true }) { GROUP } else { 1 };
        for (k, element) in array.data.chunks(array.bytes()).enumerate() {
            let bits = element.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
            let place = self.out.op(&format!(
                "getelementptr {name}, ptr addrspace({space}) %base{number}, i32 {}",
                k * stride
            ));
            self.out.line(&format!("store {name} {bits}, ptr addrspace({space}) {place}"));
        }
    }

    fn end(&mut self) {
        let program = self.program;
        for (var, (ty, _)) in program.vars.iter().enumerate() {
            if !self.used.contains(&Operand::Var(var)) {
                continue;
            }
            let index = self.out.op(&format!("mul nuw nsw i32 %item, {}", program.vars.len()));
            let place = self.out.op(&format!("getelementptr i64, ptr addrspace(1) %out, i32 {index}"));
            let place = self.out.op(&format!("getelementptr i64, ptr addrspace(1) {place}, i32 {var}"));
            let (name, value) = (ty.name(), self.names[var].clone());
            self.out.line(&format!("store {name} {value}, ptr addrspace(1) {place}, align 8"));
        }
        self.out.line("ret void");
    }

    fn operand(&mut self, operand: Operand, to: Ty) -> String {
        let (name, from) = match operand {
            Operand::Const(value) => {
                let bits = convert(value as u64, I64, to);
                return match to {
                    Ty::Int(width) => signed(width, bits).to_string(),
                    _ => format!("{:#018x}", f64::from(f32::from_bits(bits as u32)).to_bits()),
                };
            }
            Operand::Arg(arg) => (format!("%n{arg}"), self.program.args[arg].0),
            Operand::Lane => ("%item".to_owned(), I32),
            Operand::LaneAnd(mask) => (self.out.op(&format!("and i32 %item, {mask}")), I32),
            Operand::ArgLessLane(arg) => {
                let ty = self.program.args[arg].0;
                let lane = self.cast("%item".to_owned(), I32, ty);
                (self.out.op(&format!("sub {} %n{arg}, {lane}", ty.name())), ty)
            }
            Operand::Slot(slot) => (format!("%s{slot}"), self.program.slots[slot].0),
            Operand::Var(var) => (self.names[var].clone(), self.program.vars[var].0),
            Operand::Counter(depth) => (self.frames[depth].counter.clone(), self.frames[depth].ty),
            Operand::Past(depth) => {
                let Frame { ty, counter, start, .. } = &self.frames[depth];
                let (text, ty) = (format!("sub {} {counter}, {start}", ty.name()), *ty);
                (self.out.op(&text), ty)
            }
        };
        self.cast(name, from, to)
    }

    /// What [`convert`] does.
    fn cast(&mut self, name: String, from: Ty, to: Ty) -> String {
        match (from, to) {
            _ if from == to => name,
            (Ty::Int(a), Ty::Int(b)) => {
                let op = if a < b { "sext" } else { "trunc" };
                self.out.op(&format!("{op} {} {name} to {}", from.name(), to.name()))
            }
            (Ty::Int(8), _) => self.out.op(&format!("uitofp i8 {name} to float")),
            (Ty::Int(_), _) => {
                let low = self.cast(name, from, Ty::Int(8));
                self.cast(low, Ty::Int(8), to)
            }
            _ => {
                let bits = self.out.op(&format!("bitcast float {name} to i32"));
                self.cast(bits, I32, to)
            }
        }
    }

    fn operation(&mut self, op: &str, ty: Ty, a: &str, b: &str) -> String {
        let name = ty.name();
        match op {
            "set" => b.to_owned(),
            "umin" | "smin" | "smax" => {
                self.out.op(&format!("call {name} @llvm.{op}.{name}({name} {a}, {name} {b})"))
            }
            "decay" => {
                let less = self.out.op(&format!("fmul float {a}, 7.5e-1"));
                self.out.op(&format!("fadd float {less}, {b}"))
            }
            _ => self.out.op(&format!("{op} {name} {a}, {b}")),
        }
    }

    fn holds(&mut self, cond: &Cond) -> String {
        let of = self.operand(cond.of, I32);
        let bits = self.out.op(&format!("and i32 {of}, {}", cond.mask));
        self.out.op(&format!("icmp {} i32 {bits}, {}", cond.predicate, cond.value))
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let program = self.program;
        match stmt {
            Stmt::Load { dst, op, access, components, extend } => {
                let (array, ty) = (&program.arrays[access.array], program.vars[*dst].0);
                let place = self.place(access);
                let scopes = self.scopes(access);
                let whole =
                    self.out.op(&format!("load {}, {place}, align {}{scopes}", array.name(), array.bytes()));
                for component in components {
                    let mut part = match array.lanes {
                        1 => whole.clone(),
                        _ => {
                            self.out.op(&format!("extractelement {} {whole}, i32 {component}", array.name()))
                        }
                    };
                    let mut from = array.ty;
                    if *extend && ty != Ty::F32 && from.bytes() < ty.bytes() {
                        if from == Ty::F32 {
                            part = self.cast(part, from, I32);
                            from = I32;
                        }
                        if from != ty {
                            part = self.out.op(&format!("zext {} {part} to {}", from.name(), ty.name()));
                        }
                    } else {
                        part = self.cast(part, from, ty);
                    }
                    let old = self.names[*dst].clone();
                    self.names[*dst] = self.operation(op, ty, &old, &part);
                }
            }
            Stmt::Store { value, access } => {
                let array = &program.arrays[access.array];
                let value = self.operand(*value, array.ty);
                let place = self.place(access);
                let (scopes, name) = (self.scopes(access), array.name());
                self.out.line(&format!("store {name} {value}, {place}, align {}{scopes}", array.bytes()));
            }
            Stmt::Compute { dst, op, args } => {
                let ty = program.vars[*dst].0;
                let [a, b] = args.map(|arg| self.operand(arg, ty));
                self.names[*dst] = self.operation(op, ty, &a, &b);
            }
            Stmt::If { cond, arms } => self.branch(cond, arms),
            Stmt::Break(cond) => {
                let cond = self.holds(cond);
                let Some(counter) = self.frames.last().map(|frame| frame.counter.clone()) else { return };
                let (n, exit) = (self.out.number(), self.frames.len() - 1);
                let exit_label = self.exit_label(exit);
                self.out.line(&format!("br i1 {cond}, label %{exit_label}, label %stay{n}"));
                self.leave(counter);
                self.out.label(&format!("stay{n}"));
            }
            Stmt::Loop(turn) => self.turns(turn),
        }
    }

    /// Label behind the loop at `depth`, which its counter is named after.
    fn exit_label(&self, depth: usize) -> String {
        self.frames[depth].counter.replace("%i", "exit")
    }

    /// Notes a way out of the innermost loop, where its counter is `last`.
    fn leave(&mut self, last: String) {
        let exit = Exit { block: self.out.block.clone(), names: self.names.clone(), last };
        if let Some(frame) = self.frames.last_mut() {
            frame.exits.push(exit);
        }
    }

    fn branch(&mut self, cond: &Cond, arms: &[Vec<Stmt>; 2]) {
        let (n, cond) = (self.out.number(), self.holds(cond));
        let label = |k: usize| if arms[k].is_empty() { format!("join{n}") } else { format!("arm{n}.{k}") };
        self.out.line(&format!("br i1 {cond}, label %{}, label %{}", label(0), label(1)));
        let before = (self.out.block.clone(), self.names.clone());
        let mut ways = Vec::new();
        for (k, arm) in arms.iter().enumerate() {
            (self.out.block, self.names) = before.clone();
            if !arm.is_empty() {
                self.out.label(&label(k));
                self.body(arm);
                self.out.line(&format!("br label %join{n}"));
            }
            ways.push((self.out.block.clone(), self.names.clone()));
        }
        self.out.label(&format!("join{n}"));
        self.meet(&ways);
    }

    /// Variables where several ways meet.
    fn meet(&mut self, ways: &[(String, Vec<String>)]) {
        for (var, (ty, _)) in self.program.vars.iter().enumerate() {
            let values: Vec<_> = ways.iter().map(|(block, names)| (block, &names[var])).collect();
            self.names[var] = self.phi(*ty, &values);
        }
    }

    /// A value where several ways meet, if it is not the same on all of them.
    fn phi(&mut self, ty: Ty, ways: &[(&String, &String)]) -> String {
        if ways.iter().all(|(_, value)| *value == ways[0].1) {
            return ways[0].1.clone();
        }
        let ways: Vec<_> = ways.iter().map(|(block, value)| format!("[ {value}, %{block} ]")).collect();
        self.out.op(&format!("phi {} {}", ty.name(), ways.join(", ")))
    }
}
