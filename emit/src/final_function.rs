//! Finished functions: nothing is left to decide, only to write.

use mir::abi::KernelDescriptor;
use mir::abi::call_graph::Node;
use mir::abi::metadata::KernelMeta;
use mir::ir::SymbolRef;
use mir::machine::{Function, RelocKind};

/// A place in the code that the linker fills in: a whole dword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeReloc {
    /// Byte offset from the function's start.
    pub offset_bytes: u32,
    /// What is referred to.
    pub symbol: SymbolRef,
    /// Added to the symbol's address.
    pub addend: i32,
    /// How the dword is computed.
    pub kind: RelocKind,
}

/// What a code object says about a kernel besides its code.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// For the command processor; the entry offset is left to relocation.
    pub descriptor: KernelDescriptor,
    /// For the runtime.
    pub metadata: KernelMeta,
}

/// A function with its code.
#[derive(Clone, Debug)]
pub struct FinalFunction {
    /// The machine function at stage *final*: blocks in layout order, ending in branch instructions.
    pub function: Function,
    /// Its encoded instructions.
    pub code: Vec<u8>,
    /// Places in `code` to be relocated, in order.
    pub relocs: Vec<CodeReloc>,
    /// Byte offsets where the source position changes, with the new one (index into the function's `locs`).
    pub positions: Vec<(u32, u32)>,
    /// Present for kernels.
    pub kernel: Option<Kernel>,
    /// What the linker must know of it, in modules that call what they do not define or define what others call.
    pub node: Option<Node>,
}
