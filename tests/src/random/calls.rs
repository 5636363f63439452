//! Random programs with calls: functions that call later ones, with arguments of every kind, on the stack, by
//! value and behind `sret`.
//!
//! A program is written twice, once with functions that are called and once with functions that are copied
//! into their callers; both, at all levels, must leave the same memory. Conditions and trip counts differ
//! between lanes, values live across calls, nothing is undefined.

use super::lines::Lines;
use crate::opt;
use crate::toolchain::Machine;
use sim::{Arg, BufferId, CodeObject, Config, Dispatch, Memory};
use std::fmt::Write;

/// Types of parameters; `byval`, `inreg` and `pointer` are ways to pass an object, a uniform number and an
/// address.
const PARAMS: [&str; 18] = [
    "i32",
    "i32",
    "i32",
    "i64",
    "i16",
    "i8",
    "i1",
    "i48",
    "<3 x i32>",
    "<4 x i32>",
    "<2 x i16>",
    "<20 x i8>",
    "<10 x i16>",
    "{ i32, i64 }",
    "[3 x i32]",
    "byval",
    "inreg",
    "pointer",
];
/// Types of results; `sret` is an object of the caller.
const RESULTS: [&str; 9] =
    ["i32", "i64", "i16", "<4 x i32>", "{ i32, i64 }", "[40 x i32]", "<2 x i16>", "<20 x i8>", "sret"];
/// Numbers of parameters: in registers, and behind them.
const COUNTS: [usize; 9] = [0, 1, 2, 3, 5, 8, 14, 20, 34];
/// Members of an object: offset and type.
const MEMBERS: [(u32, &str); 4] = [(0, "i32"), (4, "i16"), (8, "i32"), (24, "i32")];
const PRIVATE: &str = "ptr addrspace(5)";
/// Work-items that run.
const ITEMS: u32 = 128;

/// Type and number of the elements of a vector.
fn elements(ty: &str) -> Option<(&str, u32)> {
    let (lanes, element) = ty.strip_prefix('<')?.strip_suffix('>')?.split_once(" x ")?;
    Some((element, lanes.parse().ok()?))
}

struct Signature {
    params: Vec<&'static str>,
    result: &'static str,
}

/// The code of one function.
struct Body<'a> {
    rng: &'a mut fastrand::Rng,
    signatures: &'a [Signature],
    /// Functions from here on may be called.
    callees: usize,
    out: Lines,
    /// Numbers at hand, and those that are the same in all lanes.
    values: Vec<String>,
    uniform: Vec<String>,
    has_assembly: bool,
}

impl Body<'_> {
    fn pick(&mut self, uniform: bool) -> String {
        let list = if uniform { &self.uniform } else { &self.values };
        let recent = &list[list.len().saturating_sub(40)..];
        if recent.is_empty() || self.rng.u32(0..8) == 0 {
            return self.rng.i32(-5..1000).to_string();
        }
        recent[self.rng.usize(0..recent.len())].clone()
    }

    fn value(&mut self) -> String {
        self.pick(false)
    }

    /// Takes a value apart into numbers.
    fn consume(&mut self, ty: &str, value: &str) {
        let number = match ty {
            "i32" => value.to_owned(),
            "inreg" => {
                self.uniform.push(value.to_owned());
                value.to_owned()
            }
            "i64" | "i48" => {
                let high = self.out.op(&format!("lshr {ty} {value}, 31"));
                let high = self.out.op(&format!("trunc {ty} {high} to i32"));
                self.values.push(high);
                self.out.op(&format!("trunc {ty} {value} to i32"))
            }
            "i1" | "i8" | "i16" => {
                let extension = if self.rng.bool() { "zext" } else { "sext" };
                self.out.op(&format!("{extension} {ty} {value} to i32"))
            }
            "<2 x i16>" => self.out.op(&format!("bitcast {ty} {value} to i32")),
            "<3 x i32>" | "<4 x i32>" | "<20 x i8>" | "<10 x i16>" => {
                self.consume_vector(ty, value);
                return;
            }
            "{ i32, i64 }" => {
                let wide = self.out.op(&format!("extractvalue {ty} {value}, 1"));
                self.consume("i64", &wide);
                self.out.op(&format!("extractvalue {ty} {value}, 0"))
            }
            "[3 x i32]" | "[40 x i32]" => {
                let last = if ty == "[3 x i32]" { 2 } else { 39 };
                let first = self.out.op(&format!("extractvalue {ty} {value}, 0"));
                self.values.push(first);
                self.out.op(&format!("extractvalue {ty} {value}, {last}"))
            }
            _ => {
                for (offset, member) in MEMBERS {
                    let place = self.out.op(&format!("getelementptr i8, {PRIVATE} {value}, i32 {offset}"));
                    let loaded = self.out.op(&format!("load {member}, {PRIVATE} {place}"));
                    self.consume(member, &loaded);
                }
                let stored = self.value();
                if ty == "byval" {
                    self.out.line(&format!("store i32 {stored}, {PRIVATE} {value}"));
                }
                return;
            }
        };
        self.values.push(number);
    }

    /// Takes an element of a vector, at a place that is the same in all lanes or not and that only the run tells, or behind another that changed.
    fn consume_vector(&mut self, ty: &str, value: &str) {
        let Some((element, lanes)) = elements(ty) else { return };
        let mut vector = value.to_owned();
        if self.rng.bool() {
            let (index, number) = (self.place(lanes), self.make(element));
            vector = self.out.op(&format!("insertelement {ty} {value}, {element} {number}, i32 {index}"));
        }
        for index in [self.place(lanes), "2".to_owned()] {
            let taken = self.out.op(&format!("extractelement {ty} {vector}, i32 {index}"));
            self.consume(element, &taken);
        }
    }

    /// The place of one of the elements of a vector.
    fn place(&mut self, lanes: u32) -> String {
        let uniform = self.rng.bool();
        let index = self.pick(uniform);
        self.out.op(&format!("and i32 {index}, {}", (1 << lanes.ilog2()) - 1))
    }

    /// A number by inline assembly that uses a register of its own, one that callees keep or one that they do not.
    fn assembly(&mut self) {
        let (vector, scalar) = (self.rng.u32(1..50), self.rng.u32(34..64));
        let (of, uniform) = (self.value(), self.rng.i32(1..60));
        let text = if self.rng.bool() {
            format!("v_mov_b32 v{vector}, $1\\0Av_mov_b32 $0, v{vector}\", \"=&v,v,~{{v{vector}}}\"")
        } else {
            format!(
                "s_mov_b32 s{scalar}, {uniform}\\0Av_xor_b32 $0, s{scalar}, $1\", \"=&v,v,~{{s{scalar}}}\""
            )
        };
        let made = self.out.op(&format!("call i32 asm \"{text}(i32 {of})"));
        self.values.push(made);
    }

    /// Fills an object.
    fn fill(&mut self, object: &str) {
        for (offset, member) in MEMBERS {
            let value = self.make(member);
            let place = self.out.op(&format!("getelementptr i8, {PRIVATE} {object}, i32 {offset}"));
            self.out.line(&format!("store {member} {value}, {PRIVATE} {place}"));
        }
    }

    /// A value of a type.
    fn make(&mut self, ty: &str) -> String {
        match ty {
            "i32" => self.value(),
            "inreg" => self.pick(true),
            "i64" => {
                let (low, high) = (self.value(), self.value());
                let low = self.out.op(&format!("zext i32 {low} to i64"));
                let high = self.out.op(&format!("zext i32 {high} to i64"));
                let high = self.out.op(&format!("shl i64 {high}, 32"));
                self.out.op(&format!("or i64 {low}, {high}"))
            }
            "i48" => {
                let wide = self.make("i64");
                self.out.op(&format!("trunc i64 {wide} to i48"))
            }
            "i1" | "i8" | "i16" => {
                let value = self.value();
                self.out.op(&format!("trunc i32 {value} to {ty}"))
            }
            "<2 x i16>" => {
                let value = self.value();
                self.out.op(&format!("bitcast i32 {value} to <2 x i16>"))
            }
            "<3 x i32>" | "<4 x i32>" | "<20 x i8>" | "<10 x i16>" => {
                let Some((element, lanes)) = elements(ty) else { return "zeroinitializer".to_owned() };
                let mut vector = "zeroinitializer".to_owned();
                for lane in 0..lanes {
                    let value = self.make(element);
                    vector =
                        self.out.op(&format!("insertelement {ty} {vector}, {element} {value}, i32 {lane}"));
                }
                vector
            }
            "{ i32, i64 }" => {
                let (small, wide) = (self.value(), self.make("i64"));
                let pair = self.out.op(&format!("insertvalue {ty} zeroinitializer, i32 {small}, 0"));
                self.out.op(&format!("insertvalue {ty} {pair}, i64 {wide}, 1"))
            }
            "[3 x i32]" | "[40 x i32]" => {
                let mut array = "zeroinitializer".to_owned();
                for member in if ty == "[3 x i32]" { [0, 1, 2] } else { [0, 17, 39] } {
                    let value = self.value();
                    array = self.out.op(&format!("insertvalue {ty} {array}, i32 {value}, {member}"));
                }
                array
            }
            _ => {
                let object = format!("%object{}", self.rng.u32(0..2));
                self.fill(&object);
                object
            }
        }
    }

    fn call(&mut self) {
        if self.callees >= self.signatures.len() {
            return;
        }
        let callee = self.rng.usize(self.callees..self.signatures.len());
        let signatures = self.signatures;
        let Signature { params, result } = &signatures[callee];
        let mut args = Vec::new();
        for (n, param) in params.iter().enumerate() {
            let value = self.make(param);
            args.push(format!("{} {value}", passed(param, n)));
        }
        if *result == "sret" {
            args.insert(0, format!("{PRIVATE} sret(%S) align 8 %result"));
            self.out.line(&format!("call void @f{callee}({})", args.join(", ")));
            self.consume("sret", "%result");
        } else {
            let value = self.out.op(&format!("call {result} @f{callee}({})", args.join(", ")));
            self.consume(result, &value);
        }
    }

    fn arithmetic(&mut self) {
        for _ in 0..self.rng.usize(1..8) {
            let (a, b) = (self.value(), self.value());
            let value = match self.rng.usize(0..8) {
                0 => self.out.op(&format!("shl i32 {a}, 3")),
                1 => self.out.op(&format!("lshr i32 {a}, 5")),
                n => {
                    let name = ["add", "sub", "mul", "xor", "and", "or"][n - 2];
                    self.out.op(&format!("{name} i32 {a}, {b}"))
                }
            };
            self.values.push(value);
        }
    }

    fn branch(&mut self, depth: u32) {
        let n = self.out.number();
        let (a, b) = (self.value(), self.value());
        let condition = self.out.op(&format!("icmp ult i32 {a}, {b}"));
        let at_hand = (self.values.clone(), self.uniform.clone());
        self.out.line(&format!("br i1 {condition}, label %then{n}, label %else{n}"));
        let mut ways = Vec::new();
        for side in ["then", "else"] {
            self.out.label(&format!("{side}{n}"));
            self.statements(depth + 1);
            ways.push(format!("[ {}, %{} ]", self.value(), self.out.block));
            self.out.line(&format!("br label %join{n}"));
            (self.values, self.uniform) = at_hand.clone();
        }
        self.out.label(&format!("join{n}"));
        let joined = self.out.op(&format!("phi i32 {}", ways.join(", ")));
        self.values.push(joined);
    }

    fn turns(&mut self, depth: u32) {
        let n = self.out.number();
        let (limit, start, before) = (self.value(), self.value(), self.out.block.clone());
        let limit = self.out.op(&format!("and i32 {limit}, 3"));
        let at_hand = (self.values.clone(), self.uniform.clone());
        self.out.line(&format!("br label %loop{n}"));
        self.out.label(&format!("loop{n}"));
        let turn = self.out.op(&format!("phi i32 [ 0, %{before} ], [ %turn{n}, %latch{n} ]"));
        let sum = self.out.op(&format!("phi i32 [ {start}, %{before} ], [ %sum{n}, %latch{n} ]"));
        self.values.extend([turn.clone(), sum.clone()]);
        self.statements(depth + 1);
        let more = self.value();
        self.out.line(&format!("br label %latch{n}"));
        self.out.label(&format!("latch{n}"));
        self.out.line(&format!("%turn{n} = add i32 {turn}, 1"));
        self.out.line(&format!("%sum{n} = add i32 {sum}, {more}"));
        let again = self.out.op(&format!("icmp ule i32 %turn{n}, {limit}"));
        self.out.line(&format!("br i1 {again}, label %loop{n}, label %done{n}"));
        self.out.label(&format!("done{n}"));
        (self.values, self.uniform) = at_hand;
        self.values.push(format!("%sum{n}"));
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..self.rng.usize(1..4) {
            self.arithmetic();
            match self.rng.u32(0..10) {
                0..4 => self.call(),
                4..6 if depth < 3 => self.branch(depth),
                6..8 if depth < 2 => self.turns(depth),
                8 if self.has_assembly => self.assembly(),
                _ => {
                    let (index, stored) = (self.value(), self.value());
                    let index = self.out.op(&format!("and i32 {index}, 3"));
                    let place = self.out.op(&format!("getelementptr i32, {PRIVATE} %array, i32 {index}"));
                    let loaded = self.out.op(&format!("load i32, {PRIVATE} {place}"));
                    self.values.push(loaded);
                    self.out.line(&format!("store i32 {stored}, {PRIVATE} {place}"));
                }
            }
        }
    }

    fn start(&mut self) {
        self.out.label("entry");
        for object in ["%object0", "%object1", "%result"] {
            self.out.line(&format!("{object} = alloca %S, align 8, addrspace(5)"));
            self.out.line(&format!("store %S zeroinitializer, {PRIVATE} {object}"));
        }
        self.out.line("%array = alloca [4 x i32], addrspace(5)");
        self.out.line(&format!("store [4 x i32] zeroinitializer, {PRIVATE} %array"));
    }
}

/// How parameter `n` is declared.
fn passed(param: &str, n: usize) -> String {
    match param {
        "byval" => format!("{PRIVATE} byval(%S) align 8"),
        "inreg" => "i32 inreg".to_owned(),
        "pointer" => PRIVATE.to_owned(),
        "i8" => format!("i8 {}", ["zeroext", "signext"][n % 2]),
        other => other.to_owned(),
    }
}

/// What modules with calls are like.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallsForm {
    /// Functions are inlined instead of called.
    pub inlined: bool,
    /// There is inline assembly, which the interpreters do not execute.
    pub assembly: bool,
}

/// A module with kernel `k`, whose functions call each other.
pub fn calls(seed: u64, form: CallsForm) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    let signatures: Vec<Signature> = (0..rng.usize(2..6))
        .map(|_| {
            let count = COUNTS[rng.usize(0..COUNTS.len())];
            let params = (0..count).map(|_| PARAMS[rng.usize(0..PARAMS.len())]).collect();
            Signature { params, result: RESULTS[rng.usize(0..RESULTS.len())] }
        })
        .collect();
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"\n%S = type { i32, i16, [5 x i32], i64 }\n\
         declare i32 @llvm.amdgcn.workitem.id.x()\ndeclare i32 @llvm.amdgcn.workgroup.id.x()\n",
    );
    let attribute = if form.inlined { "alwaysinline" } else { "noinline" };
    for index in 0..=signatures.len() {
        let kernel = index == signatures.len();
        let mut body = Body {
            rng: &mut rng,
            signatures: &signatures,
            callees: if kernel { 0 } else { index + 1 },
            out: Lines::default(),
            values: Vec::new(),
            uniform: Vec::new(),
            has_assembly: form.assembly,
        };
        body.start();
        let group = body.out.op("call i32 @llvm.amdgcn.workgroup.id.x()");
        let item = body.out.op("call i32 @llvm.amdgcn.workitem.id.x()");
        body.uniform.push(group.clone());
        body.values.push(item.clone());
        if kernel {
            let first = body.out.op(&format!("mul i32 {group}, 64"));
            let id = body.out.op(&format!("add i32 {first}, {item}"));
            for n in 0..6 {
                let at = body.out.op(&format!("mul i32 {id}, {}", n + 1));
                let place = body.out.op(&format!("getelementptr i32, ptr addrspace(1) %in, i32 {at}"));
                let loaded = body.out.op(&format!("load i32, ptr addrspace(1) {place}"));
                body.values.push(loaded);
            }
            body.call();
            body.statements(1);
            let mut sum = "0".to_owned();
            for value in body.values.clone() {
                sum = body.out.op(&format!("add i32 {sum}, {value}"));
                sum = body.out.op(&format!("mul i32 {sum}, 31"));
            }
            let place = body.out.op(&format!("getelementptr i32, ptr addrspace(1) %out, i32 {id}"));
            body.out.line(&format!("store i32 {sum}, ptr addrspace(1) {place}"));
            body.out.line("ret void");
            let head = "define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in)";
            let _ = writeln!(text, "{head} {{\n{}}}", body.out.text);
            continue;
        }
        let Signature { params, result } = &signatures[index];
        let mut declared = Vec::new();
        for (n, param) in params.iter().enumerate() {
            declared.push(format!("{} %a{n}", passed(param, n)));
            if body.rng.u32(0..7) > 0 {
                body.consume(param, &format!("%a{n}"));
            }
        }
        body.statements(0);
        if *result == "sret" {
            declared.insert(0, format!("{PRIVATE} sret(%S) align 8 %sret"));
            body.fill("%sret");
            body.out.line("ret void");
        } else {
            let value = body.make(result);
            body.out.line(&format!("ret {result} {value}"));
        }
        let linkage = if body.rng.bool() { "internal " } else { "" };
        let ty = if *result == "sret" { "void" } else { result };
        let declared = declared.join(", ");
        let _ =
            writeln!(text, "define {linkage}{ty} @f{index}({declared}) {attribute} {{\n{}}}", body.out.text);
    }
    text
}

/// Memory for a program with calls, the buffer of its outputs, and the dispatch that runs it.
pub fn calls_launch() -> (Memory, BufferId, Dispatch) {
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; 4 * ITEMS as usize]);
    let mut rng = fastrand::Rng::with_seed(3);
    let input = (0..ITEMS * 8).flat_map(|_| (rng.u32(..) >> rng.u32(0..32)).to_le_bytes()).collect();
    let args = vec![Arg::Buffer(out), Arg::Buffer(memory.add_buffer("in", input))];
    let dispatch = Dispatch {
        kernel: "k".to_owned(),
        grid: [ITEMS, 1, 1],
        group: [64, 1, 1],
        args,
        ..Dispatch::default()
    };
    (memory, out, dispatch)
}

/// What became of a program.
enum Run {
    /// What it leaves.
    Left(Vec<u8>),
    /// It runs for too long, as loops that call loops may.
    TooLong,
    /// Its objects are more than scratch can hold: without optimisation, those of all functions that were copied together. llc refuses such programs, too.
    TooLarge,
}

/// Compiles kernel `k` of `text` and runs it.
fn run(text: &str, machine: Machine<'_>, level: u8) -> Result<Run, String> {
    let output = match gcnc::compile(text.as_bytes(), "random", &super::options(machine, level, 4)) {
        Ok(output) => output,
        Err(errors) if level == 0 && errors.iter().all(|e| e.message.contains("that scratch can hold")) => {
            return Ok(Run::TooLarge);
        }
        Err(errors) => return Err(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    };
    let object = CodeObject::load(&output.bytes).map_err(|report| report.to_string())?;
    let (mut memory, out, dispatch) = calls_launch();
    let config = Config { budget: 1_000_000, ..Config::default() };
    match sim::run(&object, &mut memory, &dispatch, &config) {
        Ok(_) => Ok(Run::Left(memory.bytes(out).to_vec())),
        Err(report) if report.kind == sim::Kind::Budget => Ok(Run::TooLong),
        Err(report) => Err(report.to_string()),
    }
}

/// Compiles and runs a program in all ways, after `passes` of opt where they are given (and not where opt
/// fails); the first that fails, or differs from the first of all.
///
/// # Errors
/// What is wrong, with the way.
pub fn check_calls<'a>(
    seed: u64,
    machine: impl Into<Machine<'a>>,
    levels: &[u8],
    passes: Option<&str>,
) -> Result<(), String> {
    let machine = machine.into();
    let mut first = None;
    for inlined in [true, false] {
        let mut text = calls(seed, CallsForm { inlined, assembly: true });
        if let Some(passes) = passes {
            text = match opt::run(&text, passes) {
                Ok(text) => text,
                Err(_) => continue,
            };
        }
        for &level in levels {
            let way = if inlined { "inlined" } else { "called" };
            let place = format!("seed {seed} {machine} -O{level} {way} {}", passes.unwrap_or_default());
            let found = run(&text, machine, level).map_err(|error| format!("{place}: {error}"))?;
            let found = match found {
                Run::Left(found) => found,
                Run::TooLong => return Ok(()),
                Run::TooLarge => continue,
            };
            if *first.get_or_insert_with(|| found.clone()) != found {
                return Err(format!("{place}: another result than the first"));
            }
        }
    }
    Ok(())
}
