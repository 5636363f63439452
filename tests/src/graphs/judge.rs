//! Compiles programs, runs them on the simulator, and compares with what they must compute.

use super::evaluate::evaluate;
use super::program::*;
use super::{llvm, lower};
use sim::{Arg, CodeObject, Config, Dispatch, Memory};

/// Wave instructions after which a run counts as endless; those of real runs are a hundredth.
const BUDGET: u64 = 5_000_000;

/// How programs are compiled.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Processor.
    pub cpu: String,
    /// Optimisation level.
    pub level: u8,
    /// Verify every step, and check the allocation.
    pub verify: bool,
}

/// A program that went wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is wrong.
    pub problem: String,
    /// Index of the program.
    pub index: usize,
}

/// Compiles `programs` as one module, runs each on its inputs, and compares.
pub fn check(programs: &[(Program, Inputs)], setting: &Setting) -> Vec<Finding> {
    let compiled = match compile(programs.iter().map(|(program, _)| program), setting) {
        Ok(object) => object,
        Err(message) if programs.len() == 1 => return vec![Finding { problem: message, index: 0 }],
        // One of them is refused: which?
        Err(_) => {
            let each = programs.chunks(1).map(|one| check(one, setting)).enumerate();
            return each
                .flat_map(|(index, found)| found.into_iter().map(move |f| Finding { index, ..f }))
                .collect();
        }
    };
    let mut findings = Vec::new();
    for (index, (program, inputs)) in programs.iter().enumerate() {
        if let Err(problem) = judge(&compiled, &format!("k{index}"), program, *inputs) {
            findings.push(Finding { problem, index });
        }
    }
    findings
}

/// The code object of `programs`.
fn compile<'a>(programs: impl Iterator<Item = &'a Program>, setting: &Setting) -> Result<CodeObject, String> {
    let module = lower::lower(&programs.collect::<Vec<_>>());
    let output = gcnc::compile_module(module, &setting.options()).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        format!("refused: {}", lines.join("; "))
    })?;
    CodeObject::load(&output.bytes).map_err(|report| report.to_string())
}

impl Setting {
    /// The compiler's options.
    pub fn options(&self) -> gcnc::CompileOptions {
        gcnc::CompileOptions {
            cpu: self.cpu.clone(),
            opt_level: self.level,
            file_type: gcnc::FileType::Obj,
            code_object_version: Some(3),
            verify: self.verify,
            threads: 1,
            ..Default::default()
        }
    }
}

/// Runs one kernel and compares.
fn judge(object: &CodeObject, kernel: &str, program: &Program, inputs: Inputs) -> Result<(), String> {
    let want = evaluate(program, inputs)?;
    let got = run(object, kernel, inputs)?;
    match want.iter().zip(&got).position(|(want, got)| want != got) {
        None => Ok(()),
        Some(at) => {
            let lanes = want.chunks(STRIDE).zip(got.chunks(STRIDE)).filter(|(want, got)| want != got).count();
            Err(format!(
                "{}: {:#x} instead of {:#x} ({lanes} lanes differ)",
                place(at),
                got[at],
                want[at]
            ))
        }
    }
}

/// What dword `at` of the results is.
fn place(at: usize) -> String {
    let (lane, slot) = (at / STRIDE, at % STRIDE);
    match (lane, slot) {
        (LANES.., counter) => format!("counter {counter}"),
        (_, ..ENDED) => format!("lane {lane}, {:?}", Var::ALL[slot]),
        (_, ENDED) => format!("lane {lane}, block that ended it"),
        (_, TRACE..LDS_TRACE) => format!("lane {lane}, trace {}", slot - TRACE),
        (_, LDS_TRACE) => format!("lane {lane}, trace in LDS"),
        (_, home) => format!("lane {lane}, {:?} in memory", Var::ALL[home - HOMES]),
    }
}

/// The results of one kernel.
fn run(object: &CodeObject, kernel: &str, inputs: Inputs) -> Result<Vec<u32>, String> {
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; 4 * RESULTS]);
    let dispatch = Dispatch {
        kernel: kernel.to_owned(),
        grid: [LANES as u32, 1, 1],
        group: [LANES as u32, 1, 1],
        args: vec![Arg::Buffer(out), Arg::Value(inputs.argument.to_le_bytes().to_vec())],
        ..Dispatch::default()
    };
    let config = Config { budget: BUDGET, threads: 1, ..Config::default() };
    sim::run(object, &mut memory, &dispatch, &config).map_err(|report| report.to_string())?;
    Ok(memory.read_u32s(out))
}

/// The program in LLVM's language, and the dispatch that runs it.
///
/// # Errors
/// What cannot be written.
pub fn report(program: &Program, inputs: Inputs) -> Result<(String, String), String> {
    let module = lower::lower(&[program]);
    let text = llvm::text(&module)?;
    let dispatch = format!(
        "{{\"kernel\": \"k0\", \"grid\": [{LANES}, 1, 1], \"group\": [{LANES}, 1, 1], \"args\": [\
         {{\"buffer\": {}, \"fill\": \"zero\", \"out\": \"out.bin\"}}, {{\"u32\": {}}}]}}\n",
        4 * RESULTS,
        inputs.argument
    );
    Ok((text, dispatch))
}
