//! A GPU as a host program sees it, backed by the simulator or the interpreter of IR: buffers, launches,
//! results.

use crate::interpret::Interpreter;
use sim::{BufferId, CodeObject, Config, Cycles, Dispatch, Memory, Model};
use std::marker::PhantomData;
use std::ops::Range;

/// A type that buffers may hold.
pub trait Element: Copy {
    /// Bytes in memory, little endian.
    fn write(self, out: &mut Vec<u8>);
    /// The value of `bytes`, which is as long as [`Self::SIZE`].
    fn read(bytes: &[u8]) -> Self;
    /// Size in bytes.
    const SIZE: usize;
}

macro_rules! elements {
    ($($ty:ty),*) => {$(
        impl Element for $ty {
            const SIZE: usize = size_of::<$ty>();
            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn read(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$ty>()];
                array.copy_from_slice(bytes);
                Self::from_le_bytes(array)
            }
        }
    )*};
}
elements!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// A buffer in global memory.
pub struct Buffer<T> {
    id: BufferId,
    marker: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Buffer<T> {}

/// A pointer argument to so many bytes of dynamic LDS.
#[derive(Clone, Copy)]
pub struct Local(pub u32);

/// A kernel argument; made by [`args!`].
pub struct Arg(sim::Arg);

impl<T> From<Buffer<T>> for Arg {
    fn from(buffer: Buffer<T>) -> Self {
        Self(sim::Arg::Buffer(buffer.id))
    }
}

impl From<Local> for Arg {
    fn from(local: Local) -> Self {
        Self(sim::Arg::Local(local.0))
    }
}

impl<const N: usize> From<[u8; N]> for Arg {
    fn from(bytes: [u8; N]) -> Self {
        Self(sim::Arg::Value(bytes.to_vec()))
    }
}

macro_rules! scalar_args {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Arg {
            fn from(value: $ty) -> Self {
                Self(sim::Arg::Value(value.to_le_bytes().to_vec()))
            }
        }
    )*};
}
scalar_args!(i32, u32, i64, u64, f32, f64);

/// A list of kernel arguments.
macro_rules! args {
    ($($arg:expr),* $(,)?) => { &[$($crate::gpu::Arg::from($arg)),*] };
}
pub(crate) use args;

/// Buffers as the arguments of a kernel.
pub fn args_of<T>(buffers: &[Buffer<T>]) -> Vec<Arg> {
    buffers.iter().map(|&buffer| buffer.into()).collect()
}

/// The first of three buffers after `kernel(out, a, b)` ran on `items` work-items in groups of 64. `out`
/// starts as zeros.
///
/// # Errors
/// The simulator's report.
pub fn run_on_two(
    object: &CodeObject,
    kernel: &str,
    items: u32,
    out_bytes: usize,
    inputs: [Vec<u8>; 2],
) -> Result<Vec<u8>, String> {
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; out_bytes]);
    let [a, b] = inputs;
    let args = [out, memory.add_buffer("a", a), memory.add_buffer("b", b)];
    let dispatch = Dispatch {
        kernel: kernel.to_owned(),
        grid: [items, 1, 1],
        group: [64, 1, 1],
        args: args.map(sim::Arg::Buffer).to_vec(),
        ..Dispatch::default()
    };
    sim::run(object, &mut memory, &dispatch, &Config { budget: 10_000_000, ..Config::default() })
        .map_err(|report| report.to_string())?;
    Ok(memory.bytes(out).to_vec())
}

/// Work-items of [`run_words`].
pub const ITEMS: u32 = 64;

/// Compiles `text` with every check of the compiler on and runs kernel `k(out, in)` on one wave, `in` holding
/// `input`: what each work-item leaves in its dword of `out`, which starts as zeros.
///
/// # Panics
/// Where the compiler refuses the text or the simulator reports something, as it serves tests alone.
pub fn run_words(text: &str, cpu: &str, level: u8, input: &[u32]) -> Vec<u32> {
    let options = gcnc::CompileOptions {
        cpu: cpu.to_owned(),
        file_type: gcnc::FileType::Obj,
        verify: true,
        opt_level: level,
        code_object_version: Some(4),
        ..gcnc::CompileOptions::default()
    };
    let output = gcnc::compile(text.as_bytes(), "test", &options)
        .unwrap_or_else(|errors| panic!("{cpu} -O{level}: {errors:?}"));
    let object = CodeObject::load(&output.bytes).unwrap_or_else(|report| panic!("{report}"));
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; 4 * ITEMS as usize]);
    let source = memory.add_buffer("in", input.iter().flat_map(|w| w.to_le_bytes()).collect());
    let dispatch = Dispatch {
        kernel: "k".to_owned(),
        grid: [ITEMS, 1, 1],
        group: [ITEMS, 1, 1],
        args: vec![sim::Arg::Buffer(out), sim::Arg::Buffer(source)],
        ..Dispatch::default()
    };
    let config = Config { budget: 50_000_000, ..Config::default() };
    if let Err(report) = sim::run(&object, &mut memory, &dispatch, &config) {
        panic!("{cpu} -O{level}: {report}");
    }
    memory.read_u32s(out)
}

/// What one launch executed.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Kernel.
    pub kernel: String,
    /// Wave instructions.
    pub instructions: u64,
    /// Modelled cycles, where [`Gpu::model`] asks for them.
    pub cycles: Option<Box<Cycles>>,
}

/// What executes kernels.
enum Engine {
    /// The simulator, with all strict checks on.
    Object(Box<CodeObject>),
    /// The interpreter of IR.
    Module(Box<Interpreter>),
}

/// A GPU with one program loaded.
pub struct Gpu {
    engine: Engine,
    memory: Memory,
    config: Config,
    /// Random numbers for inputs, the same in every run.
    pub rng: fastrand::Rng,
    /// Launches so far.
    pub launches: Vec<Launch>,
    /// Whether a launch executed operations whose results may differ in the last places; known of the
    /// interpreter alone.
    pub approximate: bool,
    /// Is shown every launch before it runs, with memory as it is then; an error ends the program.
    pub watch: Option<Box<Watch>>,
    buffers: Vec<BufferId>,
}

/// What looks at launches.
pub type Watch = dyn FnMut(&Dispatch, &Memory) -> Result<(), String>;

impl Gpu {
    /// A GPU that holds the linked code object `bytes`.
    pub fn new(bytes: &[u8]) -> Result<Self, String> {
        let object = CodeObject::load(bytes).map_err(|report| report.to_string())?;
        Ok(Self::with_engine(Engine::Object(Box::new(object))))
    }

    /// Models the cycles of launches from now on.
    pub fn model(&mut self, model: Model) {
        self.config.model = Some(model);
    }

    /// A GPU that interprets a module.
    pub fn interpreting(module: Interpreter) -> Self {
        Self::with_engine(Engine::Module(Box::new(module)))
    }

    fn with_engine(engine: Engine) -> Self {
        Self {
            engine,
            memory: Memory::new(),
            config: Config::default(),
            rng: fastrand::Rng::with_seed(0x6763_6e63),
            launches: Vec::new(),
            approximate: false,
            watch: None,
            buffers: Vec::new(),
        }
    }

    /// The bytes of all buffers, in the order in which they were made.
    pub fn contents(&self) -> Vec<&[u8]> {
        self.buffers.iter().map(|&id| self.memory.bytes(id)).collect()
    }

    fn add(&mut self, bytes: Vec<u8>) -> BufferId {
        let id = self.memory.add_buffer("buffer", bytes);
        self.buffers.push(id);
        id
    }

    /// A buffer that holds `data`.
    pub fn buffer<T: Element>(&mut self, data: &[T]) -> Buffer<T> {
        let mut bytes = Vec::with_capacity(data.len() * T::SIZE);
        data.iter().for_each(|value| value.write(&mut bytes));
        Buffer { id: self.add(bytes), marker: PhantomData }
    }

    /// A buffer of `len` zeros.
    pub fn zeros<T: Element>(&mut self, len: usize) -> Buffer<T> {
        Buffer { id: self.add(vec![0; len * T::SIZE]), marker: PhantomData }
    }

    /// Random numbers in `range`.
    pub fn random_f32(&mut self, len: usize, range: Range<f32>) -> Vec<f32> {
        (0..len).map(|_| range.start + self.rng.f32() * (range.end - range.start)).collect()
    }

    /// Runs a kernel over `grid` work-items in groups of `group`; the grid is rounded up to whole groups.
    pub fn launch(
        &mut self,
        kernel: &str,
        grid: [u32; 3],
        group: [u32; 3],
        args: &[Arg],
    ) -> Result<(), String> {
        let dispatch = Dispatch {
            kernel: kernel.to_owned(),
            grid: std::array::from_fn(|i| grid[i].next_multiple_of(group[i])),
            group,
            args: args.iter().map(|arg| arg.0.clone()).collect(),
            ..Dispatch::default()
        };
        if let Some(watch) = &mut self.watch {
            watch(&dispatch, &self.memory)?;
        }
        let (instructions, cycles) = match &self.engine {
            Engine::Object(object) => {
                let stats = sim::run(object, &mut self.memory, &dispatch, &self.config)
                    .map_err(|report| report.to_string())?;
                (stats.instructions, stats.model)
            }
            Engine::Module(module) => {
                let outcome = module.run(&mut self.memory, &dispatch)?;
                self.approximate |= outcome.approximate;
                (outcome.instructions, None)
            }
        };
        self.launches.push(Launch { kernel: kernel.to_owned(), instructions, cycles });
        Ok(())
    }

    /// The contents of a buffer.
    pub fn read<T: Element>(&self, buffer: Buffer<T>) -> Vec<T> {
        self.memory.bytes(buffer.id).chunks_exact(T::SIZE).map(T::read).collect()
    }
}
