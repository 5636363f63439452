//! The typed SSA intermediate representation.
//!
//! A faithful copy of an LLVM module in plain Rust data, so that no later step touches LLVM. It differs from LLVM's
//! own form in four ways, each of which removes a special case:
//!
//! * phi nodes are block parameters; a branch passes arguments;
//! * `getelementptr` is [`InstKind::PtrAdd`]: base + index × scale + offset in bytes, the data layout applied;
//! * constants are values of the function that uses them; a constant expression that is not `symbol + offset` is an
//!   instruction;
//! * intrinsics are a closed enum ([`Intrinsic`]), resolved by name once.
//!
//! ```text
//! Module ── types: TypeTable (structs and arrays)
//!        ├─ globals: Global ── initialiser: Initializer (bytes + symbol references)
//!        └─ functions: Function ── blocks: params, insts ── InstData { kind, ty, result, loc }
//!                               └─ values: ty + (Inst | BlockParam | FuncParam | Const)
//! ```
//!
//! Every instruction has at most one result. The last instruction of a block is its only terminator
//! ([`InstKind::is_terminator`]). Entities are dense `u32` indices and are never reused within a function.

mod alias_sets;
mod attributes;
mod function;
mod inline_asm;
mod inst;
mod intrinsic;
pub mod legal;
mod module;
mod parse;
mod text;
mod types;
mod verify;

pub use alias_sets::*;
pub use attributes::Attributes;
pub use function::*;
pub use inline_asm::*;
pub use inst::*;
pub use intrinsic::*;
pub use module::*;
pub use parse::parse_module;
pub(crate) use parse::parse_module_at;
pub(crate) use text::{CALL_CONVS, CallConvWord, FUNC_FLAGS, INPUTS, INST_FLAGS, MEM_FLAGS, PARAM_FLAGS};
pub use text::{DisplayFunction, DisplayInst, DisplayValue};
pub use types::*;
pub use verify::{verify, verify_lowered, verify_module};
