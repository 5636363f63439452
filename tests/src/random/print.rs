//! Programs as LLVM IR.

use super::{Op, Program, Stmt, Ty, Val, typed};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A module of kernels; each declaration stands there once.
pub fn module(kernels: &[Kernel]) -> String {
    let mut declarations: BTreeSet<&str> =
        ["i32 @llvm.amdgcn.workitem.id.x()", "i32 @llvm.amdgcn.workgroup.id.x()"].into();
    let mut text = "target triple = \"amdgcn-amd-amdhsa\"\n".to_owned();
    for kernel in kernels {
        text.push_str(&kernel.text);
        declarations.extend(kernel.declarations.iter().map(String::as_str));
    }
    for declaration in declarations {
        let _ = writeln!(text, "declare {declaration}");
    }
    text
}

/// A kernel as LLVM IR, and the functions that it calls.
pub struct Kernel {
    text: String,
    declarations: BTreeSet<String>,
}

/// Values and outputs to print, where not all are.
#[derive(Debug)]
pub struct Needed {
    values: Vec<bool>,
    arrays: Vec<bool>,
    output: usize,
}

/// What output number `output` depends on.
pub fn needed(program: &Program, output: usize) -> Needed {
    let mut keep =
        Needed { values: vec![false; program.types.len()], arrays: vec![false; program.arrays], output };
    keep.values[program.outputs[output]] = true;
    // Loops carry needs backwards: repeat until nothing changes.
    while keep.mark(&program.body).1 {}
    keep
}

impl Needed {
    fn value(&mut self, value: Val, changed: &mut bool) {
        *changed |= !std::mem::replace(&mut self.values[value], true);
    }

    /// Whether something in `body` is needed, and whether something new was marked.
    fn mark(&mut self, body: &[Stmt]) -> (bool, bool) {
        let (mut any, mut changed) = (false, false);
        for stmt in body.iter().rev() {
            match stmt {
                Stmt::Op { dst, op, args } if self.values[*dst] => {
                    any = true;
                    args.iter().for_each(|&arg| self.value(arg, &mut changed));
                    if let Op::ArrayLoad(array) = op {
                        changed |= !std::mem::replace(&mut self.arrays[*array], true);
                    }
                }
                Stmt::Op { .. } => {}
                Stmt::ArrayStore { array, index, value } => {
                    if self.arrays[*array] {
                        any = true;
                        self.value(*index, &mut changed);
                        self.value(*value, &mut changed);
                    }
                }
                Stmt::Branch { on, arms, phis } => {
                    let mut inside = false;
                    for (dst, from) in phis {
                        if self.values[*dst] {
                            inside = true;
                            from.iter().for_each(|&value| self.value(value, &mut changed));
                        }
                    }
                    for arm in arms {
                        let (some, new) = self.mark(arm);
                        inside |= some;
                        changed |= new;
                    }
                    if inside {
                        any = true;
                        self.value(*on, &mut changed);
                    }
                }
                Stmt::Loop { count, body, carried } => {
                    let (mut inside, new) = self.mark(body);
                    changed |= new;
                    for &(dst, start, next) in carried {
                        if self.values[dst] {
                            inside = true;
                            self.value(start, &mut changed);
                            self.value(next, &mut changed);
                        }
                    }
                    if inside {
                        any = true;
                        self.value(*count, &mut changed);
                    }
                }
            }
        }
        (any, changed)
    }

    fn has_any(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| match stmt {
            Stmt::Op { dst, .. } => self.values[*dst],
            Stmt::ArrayStore { array, .. } => self.arrays[*array],
            Stmt::Branch { arms, phis, .. } => {
                phis.iter().any(|(dst, _)| self.values[*dst]) || arms.iter().any(|arm| self.has_any(arm))
            }
            Stmt::Loop { body, carried, .. } => {
                carried.iter().any(|item| self.values[item.0]) || self.has_any(body)
            }
        })
    }
}

pub(super) struct Printer<'a> {
    pub(super) program: &'a Program,
    keep: Option<&'a Needed>,
    text: String,
    pub(super) declarations: BTreeSet<String>,
    /// The block that is being printed.
    label: String,
    next: usize,
}

/// A kernel as LLVM IR: all of it, or what is needed.
pub fn print(program: &Program, name: &str, keep: Option<&Needed>) -> Kernel {
    let mut p = Printer {
        program,
        keep,
        text: String::new(),
        declarations: BTreeSet::new(),
        label: "entry".into(),
        next: 0,
    };
    let args: Vec<String> =
        program.uniform.iter().map(|&v| format!("{} %v{v}", program.types[v].name())).collect();
    p.line(&format!(
        "define amdgpu_kernel void @{name}(ptr addrspace(1) %out, ptr addrspace(1) %in, {}) {{",
        args.join(", ")
    ));
    p.line("entry:");
    p.line("  %id = call i32 @llvm.amdgcn.workitem.id.x()");
    p.line("  %group = call i32 @llvm.amdgcn.workgroup.id.x()");
    p.line("  %base = mul i32 %group, 64");
    p.line("  %lane = add i32 %base, %id");
    p.line(&format!("  %in.at = mul i32 %lane, {}", program.lane_input()));
    for array in 0..program.arrays {
        p.line(&format!("  %array{array} = alloca [8 x i32], addrspace(5)"));
        p.line(&format!("  store [8 x i32] zeroinitializer, ptr addrspace(5) %array{array}"));
    }
    for &(value, offset) in &program.loaded {
        if keep.is_some_and(|keep| !keep.values[value]) {
            continue;
        }
        let ty = program.types[value].name();
        p.line(&format!("  %o{value} = add i32 %in.at, {offset}"));
        p.line(&format!("  %p{value} = getelementptr i8, ptr addrspace(1) %in, i32 %o{value}"));
        p.line(&format!("  %v{value} = load {ty}, ptr addrspace(1) %p{value}, align 1"));
    }
    p.body(&program.body);
    let stride = program.outputs.len() * program.output();
    p.line(&format!("  %out.at = mul i32 %lane, {stride}"));
    for (number, &value) in program.outputs.iter().enumerate() {
        if keep.is_some_and(|keep| keep.output != number) {
            continue;
        }
        let ty = program.types[value].name();
        p.line(&format!("  %oo{number} = add i32 %out.at, {}", number * program.output()));
        p.line(&format!("  %op{number} = getelementptr i8, ptr addrspace(1) %out, i32 %oo{number}"));
        // Some aligned as the type is, some not at all.
        let align = if program.typed && number % 2 == 1 { ", align 1" } else { "" };
        p.line(&format!("  store {ty} %v{value}, ptr addrspace(1) %op{number}{align}"));
    }
    p.line("  ret void\n}");
    Kernel { text: p.text, declarations: p.declarations }
}

impl Printer<'_> {
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(super) fn fresh(&mut self, what: &str) -> String {
        self.next += 1;
        format!("{what}{}", self.next)
    }

    fn begin(&mut self, label: &str) {
        self.line(&format!("{label}:"));
        self.label = label.to_owned();
    }

    fn wanted(&self, value: Val) -> bool {
        self.keep.is_none_or(|keep| keep.values[value])
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            if self.keep.is_some_and(|keep| !keep.has_any(std::slice::from_ref(stmt))) {
                continue;
            }
            match stmt {
                Stmt::Op { dst, op, args } => self.operation(*dst, *op, args),
                Stmt::ArrayStore { array, index, value } => {
                    let at = self.element(*array, *index);
                    self.line(&format!("  store i32 %v{value}, ptr addrspace(5) {at}"));
                }
                Stmt::Branch { on, arms, phis } => self.branch(*on, arms, phis),
                Stmt::Loop { count, body, carried } => self.repeat(*count, body, carried),
            }
        }
    }

    /// The address of an element of a private array.
    fn element(&mut self, array: usize, index: Val) -> String {
        let (masked, at) = (self.fresh("%m"), self.fresh("%e"));
        self.line(&format!("  {masked} = and i32 %v{index}, 7"));
        self.line(&format!(
            "  {at} = getelementptr [8 x i32], ptr addrspace(5) %array{array}, i32 0, i32 {masked}"
        ));
        at
    }

    fn branch(&mut self, on: Val, arms: &[Vec<Stmt>], phis: &[(Val, Vec<Val>)]) {
        let labels: Vec<String> = arms.iter().map(|_| self.fresh("arm")).collect();
        let join = self.fresh("join");
        if self.program.types[on] == Ty::Int(1) {
            self.line(&format!("  br i1 %v{on}, label %{}, label %{}", labels[0], labels[1]));
        } else {
            let masked = self.fresh("%m");
            self.line(&format!("  {masked} = and i32 %v{on}, 3"));
            self.line(&format!(
                "  switch i32 {masked}, label %{} [ i32 0, label %{} i32 1, label %{} i32 2, label %{} ]",
                labels[3], labels[0], labels[1], labels[2]
            ));
        }
        let mut ends = Vec::new();
        for (arm, label) in arms.iter().zip(&labels) {
            self.begin(label);
            self.body(arm);
            self.line(&format!("  br label %{join}"));
            ends.push(self.label.clone());
        }
        self.begin(&join);
        for (dst, from) in phis {
            if self.wanted(*dst) {
                let ways: Vec<String> =
                    from.iter().zip(&ends).map(|(value, end)| format!("[ %v{value}, %{end} ]")).collect();
                let ty = self.program.types[*dst].name();
                self.line(&format!("  %v{dst} = phi {ty} {}", ways.join(", ")));
            }
        }
    }

    fn repeat(&mut self, count: Val, body: &[Stmt], carried: &[(Val, Val, Val)]) {
        let (head, inside, after) = (self.fresh("head"), self.fresh("body"), self.fresh("after"));
        let (limit, i, next, more) =
            (self.fresh("%limit"), self.fresh("%i"), self.fresh("%next"), self.fresh("%more"));
        self.line(&format!("  {limit} = and i32 %v{count}, 7"));
        self.line(&format!("  br label %{head}"));
        let before = self.label.clone();
        // The latch's label is known after the body: print the body apart.
        let text = std::mem::take(&mut self.text);
        self.begin(&inside);
        self.body(body);
        self.line(&format!("  {next} = add i32 {i}, 1"));
        self.line(&format!("  br label %{head}"));
        let latch = self.label.clone();
        let printed = std::mem::replace(&mut self.text, text);
        self.begin(&head);
        self.line(&format!("  {i} = phi i32 [ 0, %{before} ], [ {next}, %{latch} ]"));
        for &(dst, start, end) in carried {
            if self.wanted(dst) {
                let ty = self.program.types[dst].name();
                self.line(&format!("  %v{dst} = phi {ty} [ %v{start}, %{before} ], [ %v{end}, %{latch} ]"));
            }
        }
        self.line(&format!("  {more} = icmp ult i32 {i}, {limit}"));
        self.line(&format!("  br i1 {more}, label %{inside}, label %{after}"));
        self.text.push_str(&printed);
        self.begin(&after);
    }

    fn operation(&mut self, dst: Val, op: Op, args: &[Val]) {
        let plain = self.program.types[dst].is_plain()
            && args.iter().all(|&arg| self.program.types[arg].is_plain())
            && !typed::is_own(op);
        if !plain {
            typed::print(self, dst, op, args);
            return;
        }
        let ty = self.program.types[dst].name();
        let from = args.first().map(|&a| self.program.types[a]);
        let from_name = from.map(Ty::name).unwrap_or_default();
        let names: Vec<String> = args.iter().map(|a| format!("%v{a}")).collect();
        let text = match op {
            Op::Const(bits) => {
                // An addition of nothing names a constant; folding it is the compiler's business.
                match self.program.types[dst] {
                    Ty::F32 => {
                        let wide = f64::from(f32::from_bits(bits as u32)).to_bits();
                        format!("select i1 true, float 0x{wide:016X}, float 0x{wide:016X}")
                    }
                    Ty::F64 => format!("select i1 true, double 0x{bits:016X}, double 0x{bits:016X}"),
                    Ty::Int(_) | Ty::Vec(..) => format!("or {ty} {bits}, 0"),
                }
            }
            Op::Binary(name) | Op::Float(name) => format!("{name} {ty} {}", names.join(", ")),
            Op::Shift(name) => {
                let width = 8 * self.program.types[dst].bytes();
                let masked = self.fresh("%m");
                self.line(&format!("  {masked} = and {ty} {}, {}", names[1], width - 1));
                format!("{name} {ty} {}, {masked}", names[0])
            }
            Op::Divide(name) => {
                let (masked, odd) = (self.fresh("%m"), self.fresh("%m"));
                self.line(&format!("  {masked} = and {ty} {}, 127", names[1]));
                self.line(&format!("  {odd} = or {ty} {masked}, 1"));
                format!("{name} {ty} {}, {odd}", names[0])
            }
            Op::Call1(name) => {
                let flag = matches!(name, "abs" | "ctlz" | "cttz");
                let more = if flag { ", i1 false" } else { "" };
                let kinds = if flag { format!("{ty}, i1") } else { ty.clone() };
                self.declarations.insert(format!("{ty} @llvm.{name}.{ty}({kinds})"));
                format!("call {ty} @llvm.{name}.{ty}({ty} {}{more})", names[0])
            }
            Op::Call2(_) | Op::Funnel(_) | Op::FloatCall(_) => {
                let (Op::Call2(name) | Op::Funnel(name) | Op::FloatCall(name)) = op else { return };
                let suffix = self.program.types[dst].suffix();
                let kinds = vec![ty.clone(); names.len()].join(", ");
                self.declarations.insert(format!("{ty} @llvm.{name}.{suffix}({kinds})"));
                let values: Vec<String> = names.iter().map(|name| format!("{ty} {name}")).collect();
                format!("call {ty} @llvm.{name}.{suffix}({})", values.join(", "))
            }
            Op::Icmp(predicate) => format!("icmp {predicate} {from_name} {}", names.join(", ")),
            Op::Fcmp(predicate) => format!("fcmp {predicate} {from_name} {}", names.join(", ")),
            Op::Select => format!("select i1 {}, {ty} {}, {ty} {}", names[0], names[1], names[2]),
            Op::Cast(name) => format!("{name} {from_name} {} to {ty}", names[0]),
            Op::Fneg => format!("fneg {ty} {}", names[0]),
            Op::ArrayLoad(array) => {
                let at = self.element(array, args[0]);
                format!("load i32, ptr addrspace(5) {at}")
            }
            _ => return,
        };
        let _ = writeln!(self.text, "  %v{dst} = {text}");
    }
}
