//! Legal IR: the dialect that selection accepts.
//!
//! `docs/design.md` defines it, [`At`] says which intrinsics are left and at which types, [`position`] in which
//! order buffer and image accesses have their arguments. [`verify_legal`] checks all of it.

mod intrinsics;
mod resource_access;
mod verify;

pub use intrinsics::*;
pub use resource_access::*;
pub use verify::{is_indexable, is_wide_product, verify_expanded, verify_legal};
