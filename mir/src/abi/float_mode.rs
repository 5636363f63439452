//! The floating-point mode in which a function runs: what its attributes ask for and the MODE register holds.
//!
//! The descriptor sets the mode, selection relies on it; both read it here.
//!
//! Source: AMDGPU usage guide, "compute_pgm_rsrc1" (FLOAT_DENORM_MODE, ENABLE_DX10_CLAMP, ENABLE_IEEE_MODE); LangRef, `"denormal-fp-math"`.

use crate::ir::Function;

/// What becomes of denormal numbers of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denormals {
    /// Denormal operands keep their value; otherwise they count as zero.
    pub input: bool,
    /// Denormal results keep their value; otherwise they become zero.
    pub output: bool,
}

impl Denormals {
    /// As IEEE 754 says.
    pub const KEPT: Self = Self { input: true, output: true };

    /// An attribute's text: `output,input`, or one word for both; anything but a flushing word keeps denormals.
    fn parse(text: &str) -> Self {
        let mut words = text.split(',').map(str::trim);
        let output = words.next().unwrap_or("");
        let input = words.next().unwrap_or(output);
        let keeps = |word: &str| !matches!(word, "preserve-sign" | "positive-zero");
        Self { input: keeps(input), output: keeps(output) }
    }

    /// The two bits of MODE: bit 0 keeps operands, bit 1 results.
    pub fn field(self) -> u32 {
        u32::from(self.input) | u32::from(self.output) << 1
    }

    /// Whether neither operands nor results are flushed.
    pub fn all_kept(self) -> bool {
        self.input && self.output
    }

    /// Whether operands and results are flushed, so that an instruction that always flushes will do.
    pub fn all_flushed(self) -> bool {
        !self.input && !self.output
    }
}

/// The mode of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatMode {
    /// Denormals of binary32.
    pub single: Denormals,
    /// Denormals of binary16 and binary64.
    pub half_double: Denormals,
    /// What becomes of binary32 denormals is known only when the function runs; `single` is IEEE then, and code must be right in any mode.
    pub single_dynamic: bool,
    /// Signalling NaNs are quieted, also by minimum and maximum. On in kernels and functions, off in shaders, unless `"amdgpu-ieee"` says
    /// otherwise.
    pub ieee: bool,
    /// Clamping turns NaN into zero; on unless `"amdgpu-dx10-clamp"` is `false`.
    pub dx10_clamp: bool,
}

impl FloatMode {
    /// The mode that the attributes of `function` ask for.
    pub fn of(function: &Function) -> Self {
        let all = function.attribute("denormal-fp-math").unwrap_or("ieee");
        let single = function.attribute("denormal-fp-math-f32").unwrap_or(all);
        let shader = super::shader::is_shader(function.call_conv);
        Self {
            single: Denormals::parse(single),
            half_double: Denormals::parse(all),
            single_dynamic: single.contains("dynamic"),
            ieee: function.attribute("amdgpu-ieee").map_or(!shader, |text| text != "false"),
            dx10_clamp: function.attribute("amdgpu-dx10-clamp") != Some("false"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{CallConv, Type};

    #[test]
    fn attributes_set_the_mode() {
        let mut f = Function::new("f", CallConv::Kernel, Type::Void);
        let fields = |f: &Function| {
            let mode = FloatMode::of(f);
            (mode.single.field(), mode.half_double.field())
        };
        assert_eq!(fields(&f), (3, 3));
        f.attributes.insert("denormal-fp-math-f32".into(), "preserve-sign,preserve-sign".into());
        assert_eq!(fields(&f), (0, 3));
        f.attributes.insert("denormal-fp-math".into(), "preserve-sign,ieee".into());
        assert_eq!(fields(&f), (0, 1));
        f.attributes.remove("denormal-fp-math-f32");
        assert_eq!(fields(&f), (1, 1));
        f.attributes.insert("denormal-fp-math".into(), "ieee,positive-zero".into());
        assert_eq!(fields(&f), (2, 2));
        let half = FloatMode::of(&f).single;
        assert!(!half.all_kept() && !half.all_flushed());
        f.attributes.insert("denormal-fp-math".into(), "dynamic".into());
        assert!(FloatMode::of(&f).single_dynamic && FloatMode::of(&f).single.all_kept());
    }

    #[test]
    fn shaders_are_not_ieee_unless_they_say_so() {
        let mut f = Function::new("f", CallConv::AmdgpuPs, Type::Void);
        assert!(!FloatMode::of(&f).ieee && FloatMode::of(&f).dx10_clamp);
        f.attributes.insert("amdgpu-ieee".into(), "true".into());
        f.attributes.insert("amdgpu-dx10-clamp".into(), "false".into());
        assert!(FloatMode::of(&f).ieee && !FloatMode::of(&f).dx10_clamp);
    }
}
