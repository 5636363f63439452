//! The compiler as a host uses it that makes kernels at run time: [`Compiler`] in, [`CodeObject`] out.
//!
//! What stands behind is [`crate::compile`] with options, passes and dumps for the command; here is what a host needs: bytes that a
//! runtime loads, what it must know to launch them, limits, cancellation, and errors to match on.

mod builder;
#[cfg(feature = "cache")]
mod cache;
mod code_object;
mod error;
mod job;
mod limits;

pub use builder::Builder;
#[cfg(feature = "cache")]
pub use cache::Cache;
pub use code_object::{Argument, CodeObject, FunctionInfo, Kernel, Stats};
pub use error::Error;
pub use job::{Input, Job, ModuleInput};
pub use limits::CancelToken;

use crate::options::CompileOptions;

/// A target with options: compiles any number of modules, on any number of threads at once.
///
/// It holds no state that a compilation changes, so the next one knows nothing of one that failed or was cancelled.
///
/// ```
/// let compiler = gcnc::Compiler::new("gfx900")?;
/// let object = compiler.compile("define amdgpu_kernel void @nothing() { ret void }")?;
/// assert!(object.bytes.starts_with(b"\x7fELF"));
/// assert_eq!(object.kernels[0].name, "nothing");
/// # Ok::<(), gcnc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Compiler {
    pub(crate) options: CompileOptions,
    pub(crate) time_limit: Option<std::time::Duration>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) symbols: Vec<(String, u64)>,
    #[cfg(feature = "cache")]
    pub(crate) cache: Option<Cache>,
}

impl Compiler {
    /// A compiler for `processor` with the options that [`Builder`] starts with.
    ///
    /// # Errors
    /// [`Error::Options`] where no processor is called so.
    pub fn new(processor: &str) -> Result<Self, Error> {
        Self::builder(processor).build()
    }

    /// Options to choose for `processor`, by LLVM's name for it: `gfx600` to `gfx90c`.
    pub fn builder(processor: &str) -> Builder {
        Builder::new(processor)
    }

    /// A compilation with a deadline, a token or a name of its own.
    pub fn job(&self) -> Job<'_> {
        Job::new(self)
    }

    /// Compiles a module to bytes that a runtime loads.
    ///
    /// # Errors
    /// Each function that was refused, or why the compilation was stopped.
    pub fn compile<'i>(&self, input: impl Into<Input<'i>>) -> Result<CodeObject, Error> {
        self.job().compile(input)
    }

    /// Compiles several modules to one code object; they may call each other's functions.
    ///
    /// # Errors
    /// As [`Self::compile`]; names that are defined twice, or not at all.
    pub fn link<'i>(&self, inputs: impl IntoIterator<Item = Input<'i>>) -> Result<CodeObject, Error> {
        self.job().link(inputs)
    }

    /// A relocatable object, for linking later.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn relocatable<'i>(&self, input: impl Into<Input<'i>>) -> Result<Vec<u8>, Error> {
        self.job().relocatable(input)
    }

    /// Assembly text with directives, as LLVM's assembler reads it.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn assembly<'i>(&self, input: impl Into<Input<'i>>) -> Result<String, Error> {
        self.job().assembly(input)
    }
}
