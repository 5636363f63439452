//! Simplification: from the faithful IR that `frontend` reads to the *legal* IR that selection accepts.

pub mod legal_intrinsics;
