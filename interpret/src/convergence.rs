//! Which lanes run together.
