//! Compiles programs, runs them on the simulator, and compares with what they must compute.

use super::evaluate::evaluate;
use super::program::*;
use super::{llvm, lower};
use crate::measure::Compiler;
use crate::{opt, toolchain};
use mir::abi::shader;
use mir::ir::CallConv;
use mir::target::{Features, Os, Target};
use sim::{Arg, CodeObject, Config, Dispatch, Memory, single};
use std::process::Command;

/// Wave instructions after which a run counts as endless; those of real runs are a hundredth.
const BUDGET: u64 = 5_000_000;

/// Bytes of scratch of a pixel shader.
const SHADER_SCRATCH: usize = LANES * 4096;

/// What a finding's problem starts with where opt failed: nothing is wrong with the compiler.
pub const SKIPPED: &str = "skipped: ";

/// How programs are compiled.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Processor.
    pub cpu: String,
    /// Target features, as `+feature` or `-feature`.
    pub attributes: Vec<String>,
    /// Optimisation level.
    pub level: u8,
    /// Verify every step, and check the allocation.
    pub verify: bool,
    /// Passes of opt that the module goes through first.
    pub passes: Option<String>,
    /// Whose code runs.
    pub compiler: Compiler,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let features = self.attributes.concat();
        write!(f, "{} {}{features} -O{}", self.compiler.name(), self.cpu, self.level)?;
        match &self.passes {
            Some(passes) => write!(f, " after {passes}"),
            None => Ok(()),
        }
    }
}

/// Says what a program must compute: [`Program::results`] dwords.
pub type Reference<'a> = dyn Fn(&Program, Inputs) -> Result<Vec<u32>, String> + Sync + 'a;

/// A program that went wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is wrong.
    pub problem: String,
    /// Index of the program.
    pub index: usize,
}

/// Compiles `programs` as one module (pixel shaders as another), runs each on its inputs, and compares with
/// [`evaluate`].
pub fn check(programs: &[(Program, Inputs)], setting: &Setting) -> Vec<Finding> {
    check_against(&evaluate, programs, setting)
}

/// The same with another judge.
pub fn check_against(
    reference: &Reference<'_>,
    programs: &[(Program, Inputs)],
    setting: &Setting,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for shaders in [false, true] {
        let here: Vec<usize> =
            (0..programs.len()).filter(|&at| programs[at].0.is_shader() == shaders).collect();
        let object = match compile(here.iter().map(|&at| &programs[at].0), setting) {
            _ if here.is_empty() => continue,
            Ok(object) => Some(object),
            // One of them is refused: which?
            Err(_) => None,
        };
        for (number, &index) in here.iter().enumerate() {
            let (program, inputs) = &programs[index];
            let result = match &object {
                Some(object) => judge(reference, object, &format!("k{number}"), program, *inputs),
                None => compile(std::iter::once(program), setting)
                    .and_then(|object| judge(reference, &object, "k0", program, *inputs)),
            };
            findings.extend(result.err().map(|problem| Finding { problem, index }));
        }
    }
    findings
}

/// The code object of `programs`.
fn compile<'a>(programs: impl Iterator<Item = &'a Program>, setting: &Setting) -> Result<CodeObject, String> {
    let module = lower::lower(&programs.collect::<Vec<_>>());
    let load = |bytes: &[u8]| CodeObject::load(bytes).map_err(|report| report.to_string());
    if setting.passes.is_none() && setting.compiler == Compiler::Gcnc {
        return load(&written(gcnc::compile_module(module, &setting.options()))?);
    }
    let mut text = llvm::text(&module)?;
    if let Some(passes) = &setting.passes {
        text = opt::run(&text, passes).map_err(|error| format!("{SKIPPED}{error}"))?;
    }
    match setting.compiler {
        Compiler::Gcnc => load(&written(gcnc::compile(text.as_bytes(), "graphs", &setting.options()))?),
        Compiler::Llc => load(&llc(&text, setting)?),
    }
}

/// What the compiler wrote.
fn written(output: Result<gcnc::Output, gcnc::Errors>) -> Result<Vec<u8>, String> {
    output.map(|output| output.bytes).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        format!("refused: {}", lines.join("; "))
    })
}

/// The object that llc makes of `text`.
fn llc(text: &str, setting: &Setting) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("llc-22: {error}");
    let folder = tempfile::tempdir().map_err(failed)?;
    let (input, output) = (folder.path().join("in.ll"), folder.path().join("out.o"));
    std::fs::write(&input, text).map_err(failed)?;
    let mut command = Command::new("llc-22");
    command.args(["-filetype=obj", "--amdhsa-code-object-version=4", &format!("-mcpu={}", setting.cpu)]);
    command.arg(format!("-mattr={}", setting.attributes.join(",")));
    toolchain::run(command.arg(format!("-O{}", setting.level)).arg(&input).arg("-o").arg(&output))?;
    std::fs::read(&output).map_err(failed)
}

impl Setting {
    /// The waves of the processor.
    ///
    /// # Errors
    /// A processor or feature that is unknown.
    pub fn waves(&self) -> Result<Waves, String> {
        let target = self.options().target("amdgcn-amd-amdhsa", None);
        Ok(Waves::of(&target.map_err(|error| error.to_string())?))
    }

    /// The compiler's options.
    pub fn options(&self) -> gcnc::CompileOptions {
        gcnc::CompileOptions {
            cpu: self.cpu.clone(),
            attributes: self.attributes.clone(),
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
fn judge(
    reference: &Reference<'_>,
    object: &CodeObject,
    kernel: &str,
    program: &Program,
    inputs: Inputs,
) -> Result<(), String> {
    let want = reference(program, inputs)?;
    let got = run(object, kernel, program, inputs)?;
    match want.iter().zip(&got).position(|(want, got)| want != got) {
        None => Ok(()),
        Some(at) => {
            let lanes = want.chunks(STRIDE).zip(got.chunks(STRIDE)).filter(|(want, got)| want != got).count();
            Err(format!(
                "{}: {:#x} instead of {:#x} ({lanes} lanes differ)",
                place(program, at),
                got[at],
                want[at]
            ))
        }
    }
}

/// What dword `at` of the results is.
fn place(program: &Program, at: usize) -> String {
    let (lane, slot) = (at / STRIDE, at % STRIDE);
    match (lane, slot) {
        (lane, counter) if lane >= program.lanes => format!("counter {counter}"),
        (_, ..ENDED) => format!("lane {lane}, {:?}", Var::ALL[slot]),
        (_, ENDED) => format!("lane {lane}, block that ended it"),
        (_, TRACE..LDS_TRACE) => format!("lane {lane}, trace {}", slot - TRACE),
        (_, LDS_TRACE) => format!("lane {lane}, trace in LDS"),
        (_, home) => format!("lane {lane}, {:?} in memory", Var::ALL[home - HOMES]),
    }
}

/// The results of one kernel or shader.
fn run(object: &CodeObject, kernel: &str, program: &Program, inputs: Inputs) -> Result<Vec<u32>, String> {
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; 4 * program.results()]);
    let mut dispatch = Dispatch {
        kernel: kernel.to_owned(),
        grid: [program.lanes as u32, 1, 1],
        group: [program.lanes as u32, 1, 1],
        ..Dispatch::default()
    };
    let config = Config { budget: BUDGET, threads: 1, ..Config::default() };
    let stopped = |report: Box<sim::Report>| report.to_string();
    if program.is_shader() {
        let processor = object.processor().ok_or("an object of no processor")?;
        let mut target = Target { os: Os::Mesa3d, ..Target::new(processor) };
        target.features.set(Features::WAVEFRONTSIZE32, program.waves.lanes == 32);
        let first = shader::first_argument_sgpr(CallConv::AmdgpuPs, &target);
        let scratch = memory.add_buffer("scratch", vec![0; SHADER_SCRATCH]);
        memory.set_undefined(scratch);
        // Bit 63 says that lanes are interleaved.
        let base = memory.add_buffer("scratch base", (scratch.address() | 1 << 63).to_le_bytes().to_vec());
        let [low, high] = [|at: u64| at as u32, |at: u64| (at >> 32) as u32];
        let (base, out) = (base.address(), out.address());
        // The pointer to the base of scratch, the arguments, the wave's offset in scratch.
        let arguments = (first..).zip([low(out), high(out), inputs.argument, 0]);
        let sgprs: Vec<(u16, u32)> = [(0, low(base)), (1, high(base))].into_iter().chain(arguments).collect();
        let mut setting = single::Setting {
            entry: single::Entry::Shader,
            dispatch: &dispatch,
            sgprs: &sgprs,
            vgprs: &[],
            exec: u64::MAX >> (LANES - program.lanes),
            mode: 0,
            own_lds: false,
            lds: &|_| 0,
            scratch: &|_, _| None,
            external: &mut |_, _, _| Ok(()),
        };
        single::run_single(object, &mut memory, &mut setting, &config, &target).map_err(stopped)?;
    } else {
        dispatch.args = vec![Arg::Buffer(out), Arg::Value(inputs.argument.to_le_bytes().to_vec())];
        sim::run(object, &mut memory, &dispatch, &config).map_err(stopped)?;
    }
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
        "{{\"kernel\": \"k0\", \"grid\": [{lanes}, 1, 1], \"group\": [{lanes}, 1, 1], \"args\": [\
         {{\"buffer\": {}, \"fill\": \"zero\", \"out\": \"out.bin\"}}, {{\"u32\": {}}}]}}\n",
        4 * program.results(),
        inputs.argument,
        lanes = program.lanes,
    );
    Ok((text, dispatch))
}
