//! AMDIL's metadata: comment lines in which the compiler tells the runtime what a kernel needs.
//!
//! It is text. A kernel's lines stand between `;ARGSTART:name` and `;ARGEND:name`, each a `;`, a keyword and values with colons between
//! ([`Token`]); data segments come before all code ([`DataSegment`]). Everything else in such a file is IL, or debug information between
//! `;DEBUGSTART` and `;DEBUGEND`, and is passed over. Assemblers for AMD GPUs take the lines for comments, too.
//!
//! [`parse`] reads a file, [`Unit`] displays as one, [`of_metadata`] makes the unit of compiled kernels. [`layout`] is the binary side:
//! which bytes of constant buffers 0 and 1 hold what, and [`options`] the names of processors and settings of that compiler.
//!
//! Where the specification contradicts itself: a pointer has nine parts, as its pattern says, and not the eight of its text or the form
//! of its example; arguments are in constant buffer 1, since bytes 96 to 139 of buffer 0, where they are said to start, are taken; the
//! line that the runtime replaces by a call has ten `$`, as its text says, and eight or nine, as it is shown, are read; the size of a
//! data segment is not compared with its data, since that of one example does not match.
//!
//! Source: "AMD GPU Compiler and Runtime Metadata and ABI Specification", 2009.

pub mod kernels;
pub mod layout;
pub mod options;
mod read;
mod write;

pub use kernels::of_metadata;
pub use read::{parse, without_debug};

/// Version of the metadata that is written: major, minor, revision. The specification names none; this is what the AMDIL back end that
/// became LLVM's AMDGPU target had.
pub const VERSION: [u32; 3] = [2, 0, 74];

/// The line that the runtime replaces by `call #n`.
pub const PLACEHOLDER: &str = ";$$$$$$$$$$";

/// The size of work-groups where a kernel does not say.
pub const DEFAULT_GROUP: [u32; 3] = [64, 1, 1];

/// Most characters of an error or a warning, its code included.
pub const MESSAGE_CHARS: usize = 32;

/// Characters of the code in front of an error or a warning.
pub const CODE_CHARS: usize = 4;

/// All metadata of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unit {
    /// Data for constant buffers, before all code.
    pub data: Vec<DataSegment>,
    /// Kernels.
    pub kernels: Vec<Kernel>,
    /// Lines that the runtime replaces by calls ([`PLACEHOLDER`]).
    pub placeholders: usize,
}

/// Metadata of a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// What is said about it, in the order of the file.
    pub tokens: Vec<Token>,
}

impl Kernel {
    /// Bytes of a memory space: the sum of all that is said about it.
    pub fn memory_bytes(&self, space: MemorySpace) -> u64 {
        let of = |token: &Token| match token {
            Token::Memory { space: known, bytes } if *known == space => Some(u64::from(*bytes)),
            _ => None,
        };
        self.tokens.iter().filter_map(of).sum()
    }

    /// Size of its work-groups.
    pub fn group(&self) -> [u32; 3] {
        let of = |token: &Token| if let Token::GroupSize(size) = token { Some(*size) } else { None };
        self.tokens.iter().find_map(of).unwrap_or(DEFAULT_GROUP)
    }
}

/// Makes an enumeration of the words that a value may be.
macro_rules! words {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $item_doc:literal])* $item:ident = $word:literal,)* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $item_doc])* $item,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$item,)*];

            /// Its word.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$item => $word,)*
                }
            }

            /// What `word` means.
            pub fn of(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$item),)*
                    _ => None,
                }
            }
        }
    };
}

words! {
    /// Memory whose size a kernel states.
    MemorySpace {
        /// LDS, emulated in global memory.
        Local = "local",
        /// LDS.
        HwLocal = "hwlocal",
        /// Scratch, emulated in global memory.
        Private = "private",
        /// Scratch.
        HwPrivate = "hwprivate",
    }
}

words! {
    /// Type of an argument's elements.
    ValueType {
        /// A truth value, passed as 32 bits.
        I1 = "i1",
        /// 8 bits.
        I8 = "i8",
        /// 16 bits.
        I16 = "i16",
        /// 32 bits.
        I32 = "i32",
        /// 64 bits.
        I64 = "i64",
        /// binary32.
        Float = "float",
        /// binary64.
        Double = "double",
        /// A structure, whose bytes count as elements.
        Struct = "struct",
        /// A union, whose largest member's bytes count as elements.
        Union = "union",
        /// An event.
        Event = "event",
        /// Something else.
        Opaque = "opaque",
    }
}

words! {
    /// What a pointer points to.
    PointerSpace {
        /// Global memory.
        Global = "g",
        /// Scratch, emulated.
        Private = "p",
        /// LDS, emulated.
        Local = "l",
        /// An unordered access view.
        Uav = "uav",
        /// A constant buffer, emulated.
        Constant = "c",
        /// GDS, emulated.
        Region = "r",
        /// LDS.
        HwLocal = "hl",
        /// Scratch.
        HwPrivate = "hp",
        /// A constant buffer.
        HwConstant = "hc",
        /// GDS.
        HwRegion = "hr",
    }
}

words! {
    /// Dimensions of an image.
    Dimension {
        /// Two.
        D2 = "2D",
        /// Three.
        D3 = "3D",
    }
}

words! {
    /// What a kernel does with an image.
    ImageAccess {
        /// Reads.
        Read = "RO",
        /// Writes.
        Write = "WO",
        /// Both.
        Both = "RW",
    }
}

/// A place in a constant buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantPlace {
    /// Number of the buffer.
    pub buffer: u32,
    /// Byte offset.
    pub offset: u32,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// `;version:major:minor:revision`
    Version([u32; 3]),
    /// `;device:name`
    Device(String),
    /// `;uniqueid:id`, once for each kernel.
    UniqueId(u32),
    /// `;error:message`: compilation has failed; at most [`MESSAGE_CHARS`] with a code of [`CODE_CHARS`] in front.
    Error(String),
    /// `;warning:message`, of the same form.
    Warning(String),
    /// `;memory:space:bytes`; what is said about a space adds up, over callees as well.
    Memory {
        /// The space.
        space: MemorySpace,
        /// Bytes.
        bytes: u32,
    },
    /// `;memory:compilerwrite`: the compiler has inserted a write of memory, as there was none.
    CompilerWrite,
    /// `;memory:datareqd`: the kernel needs the data segment.
    DataRequired,
    /// `;sampler:name:id:location:value`
    Sampler {
        /// Name.
        name: String,
        /// Number.
        id: u32,
        /// Its bits where the kernel defines it (location 1); an argument (location 0) has none.
        value: Option<u32>,
    },
    /// `;image:name:dimension:access:id:buffer:offset`
    Image {
        /// Name.
        name: String,
        /// Dimensions.
        dimension: Dimension,
        /// What is done with it.
        access: ImageAccess,
        /// Number.
        id: u32,
        /// Where its description is.
        place: ConstantPlace,
    },
    /// `;counter:name:bits:id:buffer:offset`: an atomic counter in GDS.
    Counter {
        /// Name.
        name: String,
        /// 32 or 64.
        bits: u32,
        /// Number.
        id: u32,
        /// Where it is described.
        place: ConstantPlace,
    },
    /// `;value:name:type:count:buffer:offset`: an argument passed by value.
    Value {
        /// Name.
        name: String,
        /// Type of the elements.
        ty: ValueType,
        /// Elements: 1, 2, 3, 4, 8 or 16; of structures and unions, bytes.
        count: u32,
        /// Where it is.
        place: ConstantPlace,
    },
    /// `;pointer:name:type:1:buffer:offset:space:number:alignment`
    Pointer {
        /// Name.
        name: String,
        /// Type of what it points to.
        ty: ValueType,
        /// Where it is.
        place: ConstantPlace,
        /// Where it points to.
        space: PointerSpace,
        /// Which buffer of the space.
        number: u32,
        /// Alignment in bytes of what it points to.
        align: u32,
    },
    /// `;uavid:id`: number of the raw view; 8 where there is only the arena.
    UavId(u32),
    /// `;printf_fmt:id:count:sizes:length:format;`
    Printf {
        /// Number of the format.
        id: u32,
        /// Bytes of each argument.
        sizes: Vec<u32>,
        /// The format with its escapes; an escape counts as one character.
        format: String,
    },
    /// `;function:count:ids`: functions of this file that are called.
    Functions(Vec<u32>),
    /// `;intrinsic:count:ids`: functions of the library that are called.
    Intrinsics(Vec<u32>),
    /// `;cws:x:y:z`: the size of work-groups that the source asks for.
    GroupSize([u32; 3]),
    /// `;lws:size`: most work-items of a work-group.
    MaxGroup(u32),
    /// `;limitgroupsize`: the runtime is to choose what suits the chip.
    LimitGroup,
}

/// `;#DATASTART[:buffer]:bytes` to `;#DATAEND[:buffer]`: constants for a buffer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSegment {
    /// Constant buffer; without one, global memory that emulates one.
    pub buffer: Option<u32>,
    /// Bytes, as the first line says.
    pub bytes: u32,
    /// Its lines.
    pub vectors: Vec<DataVector>,
}

/// `;#type:offset:count:values`
#[derive(Clone, Debug, PartialEq)]
pub struct DataVector {
    /// Type of the elements.
    pub ty: ValueType,
    /// Elements of a vector; 1 for scalars. Those of three are padded to four.
    pub lanes: u32,
    /// Byte offset in the segment.
    pub offset: u32,
    /// Elements, padding included: integers, and the bits of floating-point numbers.
    pub values: Vec<i64>,
}

/// Characters of `format` where an escape counts as one.
pub fn printf_length(format: &str) -> usize {
    let mut count = 0;
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        count += 1;
        if c == '\\' {
            chars.next();
        }
    }
    count
}
