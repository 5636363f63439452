//! Every vector and scalar ALU instruction against formulas that share nothing with the simulator: wide integers for the integer
//! ones, `rustc_apfloat` for floating point, on edge cases and random operands, with modifiers, on processors of four generations. Instructions
//! take the way through the encoder and decoder, so those are tested too.
#![allow(clippy::needless_range_loop, reason = "a lane indexes several arrays at once")]

mod float;
mod harness;
mod images;
mod integer;
mod memory;
mod modifiers;
mod rest;
mod scalar;
mod vector;
