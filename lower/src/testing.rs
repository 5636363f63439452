//! A processor for tests of what generations differ in.

use mir::target::{Features, Generation, Processor};

/// Has GFX10's column of the tables, and nobody can compile for it.
pub(crate) static GFX10: Processor = Processor {
    name: "gfx1010",
    aliases: &[],
    generation: Generation::Gfx10,
    elf_mach: 0,
    generic_version: 0,
    features: Features::empty(),
    apu: false,
};
