//! Random programs: LLVM IR whose results are computed beside it, compiled by gcnc and run on the simulator.
//!
//! A program is a tree of statements over typed values: integer and floating-point operations, branches and
//! loops whose conditions differ between lanes, arrays with variable indices, uniform arguments. [`generate`]
//! makes one from a seed, [`print`] writes it as LLVM IR, [`evaluate`] says what each lane must store.
//! Nothing in it is undefined: shift amounts, divisors, indices and trip counts are bounded where they are
//! used, and NaNs compare as one.
//!
//! A program that goes wrong is reported with only what the first wrong output depends on.

mod calls;
mod evaluate;
mod exchange;
mod generate;
mod judged;
mod lines;
mod loops;
pub mod numbers;
mod print;
mod typed;

pub use calls::{CallsForm, calls, calls_launch, check_calls};
pub use evaluate::evaluate;
pub use exchange::{Exchange, ExchangeForm, check_exchange, exchange};
pub use generate::generate;
pub use loops::{check_loops, loops};
pub use print::{needed, print};

use crate::measure::Compiler;
use crate::toolchain::Machine;
use crate::{opt, toolchain};
use num_bigint::BigUint;
use sim::{Arg, BufferId, CodeObject, Config, Dispatch, Memory};
use std::path::Path;

/// Types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// Integer of any width.
    Int(u32),
    /// Vector of integers: width, lanes.
    Vec(u32, u32),
    /// `float`.
    F32,
    /// `double`.
    F64,
}

impl Ty {
    /// Name in LLVM IR.
    pub fn name(self) -> String {
        match self {
            Self::Int(bits) => format!("i{bits}"),
            Self::Vec(bits, lanes) => format!("<{lanes} x i{bits}>"),
            Self::F32 => "float".into(),
            Self::F64 => "double".into(),
        }
    }

    /// Size in memory.
    pub fn bytes(self) -> usize {
        match self {
            Self::Int(bits) => bits.div_ceil(8) as usize,
            Self::Vec(bits, lanes) => (bits * lanes).div_ceil(8) as usize,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Name in the suffix of an intrinsic.
    pub fn suffix(self) -> String {
        match self {
            Self::F32 => "f32".into(),
            Self::F64 => "f64".into(),
            Self::Int(bits) => format!("i{bits}"),
            Self::Vec(bits, lanes) => format!("v{lanes}i{bits}"),
        }
    }

    /// Width and lanes.
    pub fn shape(self) -> (u32, u32) {
        match self {
            Self::Int(bits) => (bits, 1),
            Self::Vec(bits, lanes) => (bits, lanes),
            Self::F32 => (32, 1),
            Self::F64 => (64, 1),
        }
    }

    /// Whether the value is computed on the host's own numbers.
    pub fn is_plain(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::Int(1 | 8 | 16 | 32 | 64))
    }

    /// `bits` cut to the width of the type.
    pub fn cut(self, bits: u64) -> u64 {
        match self {
            Self::Vec(..) => bits,
            Self::Int(64..) | Self::F64 => bits,
            Self::Int(width) => bits & ((1 << width) - 1),
            Self::F32 => bits & 0xffff_ffff,
        }
    }
}

/// Number of a value.
pub type Val = usize;

/// Operations. Names of intrinsics and instructions are LLVM's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Bits of a constant.
    Const(u64),
    /// `add`, `sub`, `mul`, `and`, `or`, `xor`.
    Binary(&'static str),
    /// `shl`, `lshr`, `ashr` by an amount that is taken modulo the width.
    Shift(&'static str),
    /// `udiv`, `urem`, `sdiv`, `srem` by a divisor made positive and odd.
    Divide(&'static str),
    /// `umin`, `umax`, `smin`, `smax`, `uadd.sat`, `usub.sat`, `sadd.sat`, `ssub.sat`.
    Call2(&'static str),
    /// `ctpop`, `bswap`, `bitreverse`, `abs`, `ctlz`, `cttz`.
    Call1(&'static str),
    /// `fshl`, `fshr`.
    Funnel(&'static str),
    /// `icmp`.
    Icmp(&'static str),
    /// `fcmp`.
    Fcmp(&'static str),
    /// `select`.
    Select,
    /// `trunc`, `zext`, `sext`, `sitofp`, `uitofp`, `fpext`, `fptrunc`.
    Cast(&'static str),
    /// `fadd`, `fsub`, `fmul`, `fdiv`.
    Float(&'static str),
    /// `fneg`.
    Fneg,
    /// `llvm.fma`, `llvm.fabs`, `llvm.sqrt`, `llvm.floor`, `llvm.trunc`, `llvm.rint`.
    FloatCall(&'static str),
    /// Element of private array `n` of eight `i32` at an index taken modulo eight.
    ArrayLoad(usize),
    /// A constant of [`Program::constants`].
    Big(usize),
    /// Result of `{name}.with.overflow`.
    Wrapped(&'static str),
    /// Flag of `{name}.with.overflow`.
    Overflow(&'static str),
    /// `smul.fix.sat` and its kin with their scale.
    Fixed(&'static str, u32),
    /// `ucmp`, `scmp`.
    ThreeWay(&'static str),
    /// `extractelement` at an index taken modulo the lanes.
    Extract,
    /// `insertelement` at an index taken modulo the lanes.
    Insert,
    /// `shufflevector` of two vectors with a mask of [`Program::masks`].
    Shuffle(usize),
    /// `vector.reduce.{name}`.
    Reduce(&'static str),
    /// `bitcast`.
    Bitcast,
    /// `freeze`.
    Freeze,
    /// Member `n` of one of two aggregates `{ a, [2 x b], { c, a } }`: condition, six members.
    Aggregate(usize),
    /// Stored to private memory and loaded again.
    Memory,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `dst = op args`.
    Op {
        /// Result.
        dst: Val,
        /// Operation.
        op: Op,
        /// Operands.
        args: Vec<Val>,
    },
    /// Stores `value` to private array `array` at `index` modulo eight.
    ArrayStore {
        /// Array.
        array: usize,
        /// An `i32`.
        index: Val,
        /// An `i32`.
        value: Val,
    },
    /// Two or more ways to a join: a branch over an `i1` (arm 0 where true) or a switch over an `i32` (arm
    /// `value % 4`, the last for the rest).
    Branch {
        /// Condition.
        on: Val,
        /// Arms.
        arms: Vec<Vec<Stmt>>,
        /// Results at the join with their value from each arm.
        phis: Vec<(Val, Vec<Val>)>,
    },
    /// A loop that runs `count % 8` times.
    Loop {
        /// An `i32`.
        count: Val,
        /// Body.
        body: Vec<Stmt>,
        /// Loop-carried values: in the loop and after it, at the start, at the end of each round.
        carried: Vec<(Val, Val, Val)>,
    },
}

/// A kernel.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Type of each value.
    pub types: Vec<Ty>,
    /// The values that are uniform arguments.
    pub uniform: Vec<Val>,
    /// The values that are loaded from the lane's input, with their byte offset.
    pub loaded: Vec<(Val, usize)>,
    /// Number of private arrays.
    pub arrays: usize,
    /// Whether there are types that are not plain.
    pub typed: bool,
    /// The types that are not plain.
    pub palette: Vec<Ty>,
    /// Constants of types that are not plain.
    pub constants: Vec<BigUint>,
    /// Masks of shuffles.
    pub masks: Vec<Vec<u32>>,
    /// Code.
    pub body: Vec<Stmt>,
    /// Values that are stored at the end.
    pub outputs: Vec<Val>,
}

/// Bytes of input that each lane has.
pub const LANE_INPUT: usize = 64;
/// Bytes of further input for values of types that are not plain.
pub const TYPED_INPUT: usize = 512;
/// Bytes of each output.
pub const OUTPUT: usize = 8;
/// Bytes of each output where there are types that are not plain.
pub const TYPED_OUTPUT: usize = 256;
/// Work-items that run.
pub const LANES: usize = 128;

/// Inputs of a run.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Bits of the uniform arguments.
    pub uniform: Vec<u64>,
    /// Bytes of the lanes' inputs.
    pub lanes: Vec<u8>,
}

impl Program {
    /// Bytes of input that each lane has.
    pub fn lane_input(&self) -> usize {
        if self.typed { LANE_INPUT + TYPED_INPUT } else { LANE_INPUT }
    }

    /// Bytes of each output.
    pub fn output(&self) -> usize {
        if self.typed { TYPED_OUTPUT } else { OUTPUT }
    }

    /// Random inputs of the kind that makes differences: small numbers, edges, repeated values, moderate
    /// floats.
    pub fn inputs(&self, rng: &mut fastrand::Rng) -> Inputs {
        let uniform = self.uniform.iter().map(|&v| random_bits(self.types[v], rng)).collect();
        let mut lanes = vec![0; LANES * self.lane_input()];
        for lane in 0..LANES {
            for &(value, offset) in &self.loaded {
                let ty = self.types[value];
                let at = lane * self.lane_input() + offset;
                if !ty.is_plain() {
                    let bytes = typed::random(ty, rng).to_bytes_le();
                    lanes[at..at + bytes.len()].copy_from_slice(&bytes);
                    continue;
                }
                lanes[at..at + ty.bytes()].copy_from_slice(&random_bits(ty, rng).to_le_bytes()[..ty.bytes()]);
            }
        }
        Inputs { uniform, lanes }
    }
}

/// Bits of a random value of `ty`.
fn random_bits(ty: Ty, rng: &mut fastrand::Rng) -> u64 {
    let float = |rng: &mut fastrand::Rng| match rng.u32(0..8) {
        0 => f64::from(rng.i32(-3..4)),
        1 => (rng.f64() - 0.5) * 1e-3,
        2 => (rng.f64() - 0.5) * 1e9,
        3 => f64::from(rng.i32(-1000..1000)) / 8.0,
        _ => (rng.f64() - 0.5) * 100.0,
    };
    match ty {
        Ty::F32 => u64::from((float(rng) as f32).to_bits()),
        Ty::F64 => float(rng).to_bits(),
        Ty::Vec(..) => 0,
        Ty::Int(bits) => ty.cut(match rng.u32(0..8) {
            0 => rng.u64(0..4),
            1 => u64::MAX - rng.u64(0..3),
            2 => (1 << (bits - 1)) - rng.u64(0..2),
            3 => 1u64.wrapping_shl(rng.u32(0..bits)),
            4 => rng.u64(0..256),
            _ => rng.u64(..) >> rng.u32(0..64),
        }),
    }
}

/// Programs of a module.
pub const PROGRAMS: usize = 16;

/// The programs of a module with their inputs, from a seed.
pub fn module(seed: u64, size: usize) -> Vec<(Program, Inputs)> {
    some_module(seed, size, false)
}

/// The same with integers of odd widths, vectors and aggregates.
pub fn typed_module(seed: u64, size: usize) -> Vec<(Program, Inputs)> {
    some_module(seed, size, true)
}

fn some_module(seed: u64, size: usize, typed: bool) -> Vec<(Program, Inputs)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..PROGRAMS)
        .map(|_| {
            let size = rng.usize(4..size.max(5));
            let program = generate(&mut rng, size, typed);
            let inputs = program.inputs(&mut rng);
            (program, inputs)
        })
        .collect()
}

/// A wrong result.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is wrong.
    pub problem: String,
    /// The part of the program that the wrong output depends on, as LLVM IR.
    pub text: String,
}

/// Compiles `programs` as one module for `machine` at `-O{level}`, runs each and compares. `scratch` is a folder
/// of its own. The module goes through `passes` of opt first where they are given; where opt fails, there are
/// no findings.
///
/// # Errors
/// A refusal or a crash of the compiler, as text.
pub fn check<'a>(
    programs: &[(Program, Inputs)],
    scratch: &Path,
    compiler: Compiler,
    machine: impl Into<Machine<'a>>,
    level: u8,
    passes: Option<&str>,
) -> Result<Vec<Finding>, String> {
    let mut text = text(programs);
    if let Some(passes) = passes {
        text = match opt::run(&text, passes) {
            Ok(text) => text,
            Err(_) => return Ok(Vec::new()),
        };
    }
    let mut findings = judge(&build(&text, scratch, compiler, machine, level)?, programs);
    for finding in &mut findings {
        finding.problem.push_str(&passes.map_or_else(String::new, |passes| format!(" after {passes}")));
    }
    Ok(findings)
}

/// How random programs are compiled: with every check of the compiler, as a code object of this version.
fn options(machine: Machine<'_>, level: u8, version: u8) -> gcnc::CompileOptions {
    gcnc::CompileOptions {
        file_type: gcnc::FileType::Obj,
        code_object_version: Some(version),
        verify: true,
        threads: 1,
        ..machine.options(level)
    }
}

/// The code object of the module `text`.
///
/// # Errors
/// As [`check`].
pub fn build<'a>(
    text: &str,
    scratch: &Path,
    compiler: Compiler,
    machine: impl Into<Machine<'a>>,
    level: u8,
) -> Result<CodeObject, String> {
    let (object, machine) = (scratch.join("random.o"), machine.into());
    match compiler {
        Compiler::Gcnc => {
            let output =
                gcnc::compile(text.as_bytes(), "random", &options(machine, level, 3)).map_err(|errors| {
                    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                    format!("{}\n{text}", lines.join("\n"))
                })?;
            std::fs::write(&object, output.bytes).map_err(|error| error.to_string())?;
        }
        // A judge of the simulator rather than of gcnc.
        Compiler::Llc => {
            let source = scratch.join("random.ll");
            std::fs::write(&source, text).map_err(|error| error.to_string())?;
            toolchain::llc(&source, &object, machine, level)?;
        }
    }
    CodeObject::load(&toolchain::link(&object)?).map_err(|report| report.to_string())
}

/// `programs` as one module of LLVM IR, whose kernels are `k0`, `k1` and so on.
pub fn text(programs: &[(Program, Inputs)]) -> String {
    let kernels: Vec<_> = programs
        .iter()
        .enumerate()
        .map(|(index, (program, _))| print(program, &format!("k{index}"), None))
        .collect();
    print::module(&kernels)
}

/// Runs each kernel of `object` and compares with what its program computes.
pub fn judge(object: &CodeObject, programs: &[(Program, Inputs)]) -> Vec<Finding> {
    judge_by(programs, &|memory, dispatch| {
        let ran = sim::run(object, memory, dispatch, &Config::default());
        ran.map(drop).map_err(|report| report.to_string())
    })
}

/// Lets `execute` run each kernel and compares with what its program computes.
pub fn judge_by(
    programs: &[(Program, Inputs)],
    execute: &dyn Fn(&mut Memory, &Dispatch) -> Result<(), String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, (program, inputs)) in programs.iter().enumerate() {
        let name = format!("k{index}");
        if let Some((problem, output)) = run(execute, &name, program, inputs) {
            let keep = output.map(|output| needed(program, output));
            let text = print::module(&[print(program, &name, keep.as_ref())]);
            findings.push(Finding { problem, text });
        }
    }
    findings
}

/// Memory for a program, the buffer of its outputs, and the dispatch that runs it as `kernel`.
pub fn launch(kernel: &str, program: &Program, inputs: &Inputs) -> (Memory, BufferId, Dispatch) {
    let mut memory = Memory::new();
    let stride = program.outputs.len() * program.output();
    let out = memory.add_buffer("out", vec![0; LANES * stride]);
    let lanes = memory.add_buffer("in", inputs.lanes.clone());
    let mut args = vec![Arg::Buffer(out), Arg::Buffer(lanes)];
    for (&value, bits) in program.uniform.iter().zip(&inputs.uniform) {
        args.push(Arg::Value(bits.to_le_bytes()[..program.types[value].bytes()].to_vec()));
    }
    let dispatch = Dispatch {
        kernel: kernel.to_owned(),
        grid: [LANES as u32, 1, 1],
        group: [64, 1, 1],
        args,
        ..Dispatch::default()
    };
    (memory, out, dispatch)
}

/// A program alone in a module, as kernel `name`.
pub fn text_of(program: &Program, name: &str) -> String {
    print::module(&[print(program, name, None)])
}

/// The first problem, with the wrong output if the run came to its end.
fn run(
    execute: &dyn Fn(&mut Memory, &Dispatch) -> Result<(), String>,
    kernel: &str,
    program: &Program,
    inputs: &Inputs,
) -> Option<(String, Option<usize>)> {
    let (mut memory, out, dispatch) = launch(kernel, program, inputs);
    let stride = program.outputs.len() * program.output();
    if let Err(problem) = execute(&mut memory, &dispatch) {
        return Some((problem, None));
    }
    let actual = memory.bytes(out);
    for lane in 0..LANES {
        let expected = evaluate(program, inputs, lane);
        for (output, (&value, want)) in program.outputs.iter().zip(&expected).enumerate() {
            let ty = program.types[value];
            let at = lane * stride + output * program.output();
            let got = BigUint::from_bytes_le(&actual[at..at + ty.bytes()]);
            if !same(ty, want, &got) {
                let problem = format!("{kernel}, lane {lane}, %v{value}: {got:#x} instead of {want:#x}");
                return Some((problem, Some(output)));
            }
        }
    }
    None
}

fn same(ty: Ty, a: &BigUint, b: &BigUint) -> bool {
    let (low_a, low_b) = (evaluate::low(a), evaluate::low(b));
    a == b
        || match ty {
            Ty::F32 => f32::from_bits(low_a as u32).is_nan() && f32::from_bits(low_b as u32).is_nan(),
            Ty::F64 => f64::from_bits(low_a).is_nan() && f64::from_bits(low_b).is_nan(),
            Ty::Int(_) | Ty::Vec(..) => false,
        }
}
