//! One compilation: what it is watched by, from inputs to the code object.

use super::code_object::{CodeObject, FunctionInfo, Kernel, Stats, kernels};
use super::{CancelToken, Compiler, Error};
use crate::options::{CompileOptions, FileType};
use crate::{Errors, Output};
use emit::link::LinkOptions;
use mir::Diagnostic;
use mir::interrupt::Watch;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// What is compiled.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// LLVM bitcode or text, told apart by the first bytes.
    Bytes(&'a [u8]),
    /// A module that inkwell has in memory. It is read, not changed, and never cached.
    Module(ModuleInput<'a>),
}

/// A module that inkwell has in memory, whatever its context.
#[derive(Clone, Copy, Debug)]
pub struct ModuleInput<'a>(&'a (dyn Read + 'a));

/// What can be read as a module.
trait Read: std::fmt::Debug {
    fn read(&self, name: &str) -> mir::Result<frontend::Reading>;
}

impl Read for frontend::LlvmModule<'_> {
    fn read(&self, name: &str) -> mir::Result<frontend::Reading> {
        frontend::read_llvm_module(self, name)
    }
}

impl<'a> From<&'a [u8]> for Input<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Input<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a str> for Input<'a> {
    fn from(text: &'a str) -> Self {
        Self::Bytes(text.as_bytes())
    }
}

impl<'a> From<&'a String> for Input<'a> {
    fn from(text: &'a String) -> Self {
        Self::Bytes(text.as_bytes())
    }
}

impl<'a> From<&'a frontend::LlvmModule<'_>> for Input<'a> {
    fn from(module: &'a frontend::LlvmModule<'_>) -> Self {
        Self::Module(ModuleInput(module))
    }
}

/// Bytes that LLVM takes for a byte of bitcode or of text while it reads. Measured with functions of 100,000 instructions.
const READING_FACTOR: [u64; 2] = [32, 10];

/// One compilation to be. See [`Compiler::job`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Job<'c> {
    compiler: &'c Compiler,
    name: String,
    token: Option<CancelToken>,
    deadline: Option<Instant>,
}

impl<'c> Job<'c> {
    pub(super) fn new(compiler: &'c Compiler) -> Self {
        Self { compiler, name: "module".to_owned(), token: None, deadline: None }
    }

    /// What the input is called in messages.
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Ends the compilation when `token` is pulled.
    pub fn cancelled_by(mut self, token: &CancelToken) -> Self {
        self.token = Some(token.clone());
        self
    }

    /// Ends the compilation at `deadline`, or at the compiler's time limit if that is earlier.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Ends the compilation when it has taken `time`, counted from this call.
    pub fn within(self, time: Duration) -> Self {
        match Instant::now().checked_add(time) {
            Some(deadline) => self.deadline(deadline),
            None => self,
        }
    }

    /// As [`Compiler::compile`].
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn compile<'i>(&self, input: impl Into<Input<'i>>) -> Result<CodeObject, Error> {
        self.link([input.into()])
    }

    /// As [`Compiler::link`].
    ///
    /// # Errors
    /// As [`Compiler::link`].
    pub fn link<'i>(&self, inputs: impl IntoIterator<Item = Input<'i>>) -> Result<CodeObject, Error> {
        let inputs: Vec<Input<'_>> = inputs.into_iter().collect();
        let watch = self.watch();
        watch.check().map_err(stopped)?;
        #[cfg(feature = "cache")]
        let entry = self.compiler.cache.as_ref().and_then(|cache| cache.entry(self.compiler, &inputs));
        #[cfg(feature = "cache")]
        if let Some(known) = entry.as_ref().and_then(super::cache::Entry::get) {
            return Ok(known);
        }
        let object = self.link_watched(&inputs, &watch)?;
        #[cfg(feature = "cache")]
        if let Some(entry) = entry {
            entry.put(&object);
        }
        Ok(object)
    }

    fn link_watched(&self, inputs: &[Input<'_>], watch: &Watch) -> Result<CodeObject, Error> {
        let mut objects = Vec::with_capacity(inputs.len() + 1);
        let (mut warnings, mut functions, mut passes) =
            (Vec::new(), Vec::new(), crate::stats::PassTimes::default());
        let (mut processor, mut target, mut without_note) = (String::new(), None, Vec::new());
        let mut errors = Errors::new();
        for &input in inputs {
            match self.run(input, FileType::Obj, watch) {
                Ok(output) => {
                    passes.add_all(&output.pass_times());
                    functions.extend(output.functions.iter().map(FunctionInfo::from));
                    without_note.extend(output.metadata.into_iter().flat_map(|metadata| metadata.kernels));
                    warnings.extend(output.warnings);
                    output.processor.clone_into(&mut processor);
                    target = output.target;
                    objects.push(output.bytes);
                }
                Err(refused) => errors.extend(refused),
            }
            watch.check().map_err(stopped)?;
        }
        if !errors.is_empty() {
            return Err(Error::of(errors));
        }
        if let (Some(target), false) = (target, self.compiler.symbols.is_empty()) {
            objects.push(self.host_symbols(&target)?);
        }
        let start = Instant::now();
        let names: Vec<String> =
            (1..=objects.len()).map(|number| format!("{} {number}", self.name)).collect();
        let inputs: Vec<_> = objects
            .iter()
            .zip(&names)
            .map(|(bytes, name)| emit::link::Input { name, bytes, whole_archive: false })
            .collect();
        let bytes = crate::compile::guarded("link", || {
            let _entered = watch.enter();
            emit::link::link(&inputs, &LinkOptions::default())
        })
        .map_err(Error::of_one)?;
        passes.add("link", start.elapsed());
        let mut kernels = kernels(&bytes).map_err(Error::of_one)?;
        if kernels.is_empty() {
            kernels = without_note.into_iter().map(Kernel::from).collect();
        }
        let stats = Stats { functions, passes: passes.iter().collect(), from_cache: false };
        Ok(CodeObject { bytes, processor, kernels, warnings, stats })
    }

    /// As [`Compiler::relocatable`].
    ///
    /// # Errors
    /// As [`Compiler::relocatable`].
    pub fn relocatable<'i>(&self, input: impl Into<Input<'i>>) -> Result<Vec<u8>, Error> {
        let watch = self.watch();
        Ok(self.run(input.into(), FileType::Obj, &watch).map_err(Error::of)?.bytes)
    }

    /// As [`Compiler::assembly`].
    ///
    /// # Errors
    /// As [`Compiler::assembly`].
    pub fn assembly<'i>(&self, input: impl Into<Input<'i>>) -> Result<String, Error> {
        let watch = self.watch();
        let output = self.run(input.into(), FileType::Asm, &watch).map_err(Error::of)?;
        String::from_utf8(output.bytes)
            .map_err(|_| Error::of_one(Diagnostic::defect("the assembly text is not UTF-8")))
    }

    fn watch(&self) -> Watch {
        let limit = self.compiler.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        let deadline = [limit, self.deadline].into_iter().flatten().min();
        Watch::new(self.token.as_ref().map(|token| token.0.clone()), deadline, self.compiler.memory_bytes)
    }

    fn run(&self, input: Input<'_>, file_type: FileType, watch: &Watch) -> Result<Output, Errors> {
        let one = |error| vec![error];
        let charged = match input {
            Input::Bytes(bytes) => {
                let [bitcode, text] = READING_FACTOR;
                let factor = if bytes.first().is_some_and(|&byte| byte >= 0x80 || byte == b'B') {
                    bitcode
                } else {
                    text
                };
                watch.charge(factor.saturating_mul(bytes.len() as u64))
            }
            Input::Module(_) => watch.check(),
        };
        charged.map_err(|reason| one(Diagnostic::interrupted(reason)))?;
        let start = Instant::now();
        let mut reading = crate::compile::guarded("read", || {
            let _entered = watch.enter();
            match input {
                // LLVM cannot be stopped while it reads or verifies, but between.
                Input::Bytes(bytes) => {
                    let check = || watch.check().map_err(Diagnostic::interrupted);
                    let context = frontend::Context::create();
                    let module = frontend::parse_unverified(&context, bytes, &self.name)?;
                    check()?;
                    frontend::verify(&module, &self.name)?;
                    check()?;
                    frontend::read_llvm_module(&module, &self.name)
                }
                Input::Module(module) => module.0.read(&self.name),
            }
        })
        .map_err(one)?;
        if reading.module.triple.is_empty() {
            "amdgcn-amd-amdhsa".clone_into(&mut reading.module.triple);
        }
        let time = start.elapsed();
        let options = CompileOptions {
            file_type,
            metadata: file_type == FileType::Obj,
            watch: Some(watch.clone()),
            ..self.compiler.options.clone()
        };
        let mut output = crate::compile_reading(reading, &options)?;
        output.times.add_first("read", time);
        Ok(output)
    }

    /// An object that says where the host has its symbols.
    fn host_symbols(&self, target: &mir::target::Target) -> Result<Vec<u8>, Error> {
        let mut text = String::new();
        for (name, address) in &self.compiler.symbols {
            let _ = writeln!(text, ".globl \"{name}\"\n.set \"{name}\", {address:#x}");
        }
        emit::assemble(&text, target).map_err(Error::of)
    }
}

fn stopped(reason: mir::interrupt::Interruption) -> Error {
    Error::of_one(Diagnostic::interrupted(reason))
}
