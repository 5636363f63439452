//! Options of a compiler, checked once.

use super::{Compiler, Error};
use crate::options::CompileOptions;
use mir::Diagnostic;
use std::sync::Arc;
use std::time::Duration;

/// Most threads of a pool; more than any machine has use for.
const MAX_THREADS: usize = 256;

/// Options of a [`Compiler`].
///
/// ```
/// use std::time::Duration;
/// let compiler = gcnc::Compiler::builder("gfx803")
///     .opt_level(3)
///     .code_object_version(5)
///     .time_limit(Duration::from_secs(10))
///     .memory_limit(1 << 30)
///     .build()?;
/// assert!(gcnc::Compiler::builder("gfx1100").build().is_err());
/// # Ok::<(), gcnc::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct Builder {
    options: CompileOptions,
    time_limit: Option<Duration>,
    memory_bytes: Option<u64>,
    symbols: Vec<(String, u64)>,
    threads: usize,
    #[cfg(feature = "cache")]
    cache: Option<super::Cache>,
}

impl Builder {
    pub(super) fn new(processor: &str) -> Self {
        Self {
            options: CompileOptions { cpu: processor.to_owned(), threads: 1, ..CompileOptions::default() },
            time_limit: None,
            memory_bytes: None,
            symbols: Vec::new(),
            threads: 1,
            #[cfg(feature = "cache")]
            cache: None,
        }
    }

    /// Optimisation level, 0 to 3; 2 without this. Results are the same at all levels.
    pub fn opt_level(mut self, level: u8) -> Self {
        self.options.opt_level = level;
        self
    }

    /// Target triple in place of the modules'. Modules without one are for `amdgcn-amd-amdhsa`.
    pub fn triple(mut self, triple: &str) -> Self {
        triple.clone_into(&mut self.options.triple);
        self
    }

    /// Switches a target feature, by LLVM's name: `+xnack`, `-flat-for-global`.
    pub fn feature(mut self, feature: &str) -> Self {
        self.options.attributes.push(feature.to_owned());
        self
    }

    /// Code object version, 2 to 6; without this that of the module, or 6.
    pub fn code_object_version(mut self, version: u8) -> Self {
        self.options.code_object_version = Some(version);
        self
    }

    /// An attribute for every function that does not have one of that name.
    pub fn function_attribute(mut self, name: &str, value: &str) -> Self {
        self.options.function_attributes.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Fuses multiplications and additions wherever it pays (`-fp-contract=fast`).
    pub fn contract(mut self, all: bool) -> Self {
        self.options.contract_all = all;
        self
    }

    /// Verifies behind every pass.
    pub fn verify(mut self, verify: bool) -> Self {
        self.options.verify = verify;
        self
    }

    /// Threads that work for one compilation, in a pool of the compiler's own. 1, which is the default, is the caller's thread.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Most time that a compilation may take ([`Error::Deadline`]).
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Most memory that a compilation may take, in bytes ([`Error::Memory`]). It is estimated from the size of the input and the
    /// instructions that are made, so that the same input is refused everywhere.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_bytes = Some(bytes);
        self
    }

    /// The address of a function or variable that modules declare and the host provides.
    pub fn symbol(mut self, name: &str, address: u64) -> Self {
        self.symbols.push((name.to_owned(), address));
        self
    }

    /// Keeps code objects in `cache` and takes them from there.
    #[cfg(feature = "cache")]
    pub fn cache(mut self, cache: super::Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// The compiler.
    ///
    /// # Errors
    /// [`Error::Options`]: an unknown processor or feature, a triple of another architecture, a level or version that is none, symbols that
    /// are no names, threads that cannot be started.
    pub fn build(self) -> Result<Compiler, Error> {
        let wrong = |message: String| Error::Options(*Diagnostic::unsupported(message));
        let mut options = self.options;
        if options.opt_level > 3 {
            return Err(wrong(format!("optimisation level {}", options.opt_level)));
        }
        if options.cpu.is_empty() {
            return Err(wrong("no processor".to_owned()));
        }
        options.target("amdgcn-amd-amdhsa", None).map_err(|error| Error::Options(*error))?;
        for (name, _) in &self.symbols {
            if name.is_empty() || name.contains(['\0', '"', '\\', '\n', '\r']) {
                return Err(wrong(format!("{name:?} is not the name of a symbol")));
            }
        }
        if self.threads > 1 {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(self.threads.min(MAX_THREADS))
                .thread_name(|index| format!("gcnc-{index}"))
                .build()
                .map_err(|error| wrong(format!("cannot start {} threads: {error}", self.threads)))?;
            options.pool = Some(Arc::new(pool));
        }
        Ok(Compiler {
            options,
            time_limit: self.time_limit,
            memory_bytes: self.memory_bytes,
            symbols: self.symbols,
            #[cfg(feature = "cache")]
            cache: self.cache,
        })
    }
}
