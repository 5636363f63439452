//! Samplers of OpenCL C as processors read them.
//!
//! Sources: OpenCL C 3.0, "Samplers"; Vega ISA, "Sampler Descriptor".

/// The four dwords of a sampler with the flags of OpenCL C's constants: `CLK_NORMALIZED_COORDS_TRUE` 1, addresses in bits 1 to 3,
/// `CLK_FILTER_NEAREST` 0x10, `CLK_FILTER_LINEAR` 0x20.
pub fn words(flags: u32) -> [u32; 4] {
    // CLK_ADDRESS_NONE leaves outside open; CLAMP_TO_EDGE, CLAMP, REPEAT, MIRRORED_REPEAT.
    let wrap = match flags >> 1 & 7 {
        2 => 6,
        3 => 0,
        4 => 1,
        _ => 2,
    };
    let linear = u32::from(flags & 0x20 != 0);
    let unnormalised = u32::from(flags & 1 == 0);
    // All levels of detail; filters of magnification and minification, which depth follows; a border without colour.
    [wrap | wrap << 3 | wrap << 6 | unnormalised << 15, 0xfff << 12, linear << 20 | linear << 22, 0]
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn samplers_say_what_their_flags_say() {
        // Normalised, repeat, linear.
        assert_eq!(words(0x27), [0, 0xfff000, 0x0050_0000, 0]);
        // Texels, clamped to the edge, nearest.
        assert_eq!(words(0x12), [0x8092, 0xfff000, 0, 0]);
        assert_eq!(words(0x14)[0] & 0x1ff, 0o666);
        assert_eq!(words(0x19)[0], 0o111);
    }
}
