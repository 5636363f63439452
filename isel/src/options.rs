//! What the user may decide about code generation.

use mir::ir::{CallConv, Function};

/// Settings of simplification and selection; the same for all functions of a module.
#[derive(Clone, Debug)]
pub struct Options {
    /// 0 to 3. Simplification does what legality needs at 0; from 1 on it also promotes stack objects, folds, shares
    /// common subexpressions, cleans up branches and merges memory accesses.
    pub opt_level: u8,
    /// Fuse `fmul` and `fadd` wherever it pays (`-fp-contract=fast`), even without `contract` flags.
    pub contract_all: bool,
    /// Overrides the functions' `denormal-fp-math-f32` attribute: whether binary32 denormals are kept.
    pub f32_denormals: Option<bool>,
    /// Overrides the functions' `denormal-fp-math` attribute: whether binary16 and binary64 denormals are kept.
    pub f64_f16_denormals: Option<bool>,
}

impl Default for Options {
    fn default() -> Self {
        Self { opt_level: 2, contract_all: false, f32_denormals: None, f64_f16_denormals: None }
    }
}

/// The floating-point mode in which a function runs: what the MODE register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatMode {
    /// binary32 denormals are kept rather than flushed to zero.
    pub f32_denormals: bool,
    /// binary16 and binary64 denormals are kept.
    pub f64_f16_denormals: bool,
    /// Whether binary32 denormals are kept is known only when it runs.
    pub f32_dynamic: bool,
    /// IEEE mode: signalling NaNs are quieted, also by minimum and maximum. On in compute functions, off in shaders, unless
    /// `amdgpu-ieee` says otherwise.
    pub ieee: bool,
}

impl Options {
    /// The mode in which `function` runs. Without attributes IEEE semantics hold, as LangRef says. A dynamic mode
    /// counts as IEEE: the expansions chosen for it work in either.
    pub fn float_mode(&self, function: &Function) -> FloatMode {
        let keeps = |key: &str| {
            function
                .attribute(key)
                .map(|v| !v.starts_with("preserve-sign") && !v.starts_with("positive-zero"))
        };
        let general = keeps("denormal-fp-math");
        let dynamic = |key: &str| function.attribute(key).map(|v| v.contains("dynamic"));
        let shader = !matches!(
            function.call_conv,
            CallConv::Kernel | CallConv::Device | CallConv::AmdgpuGfx | CallConv::Other(_)
        );
        FloatMode {
            f32_dynamic: self.f32_denormals.is_none()
                && dynamic("denormal-fp-math-f32").or(dynamic("denormal-fp-math")).unwrap_or(false),
            ieee: function.attribute("amdgpu-ieee").map_or(!shader, |v| v != "false"),
            f32_denormals: self
                .f32_denormals
                .or_else(|| keeps("denormal-fp-math-f32"))
                .or(general)
                .unwrap_or(true),
            f64_f16_denormals: self.f64_f16_denormals.or(general).unwrap_or(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::ir::{CallConv, Type};

    #[test]
    fn specific_attribute_wins_over_general_and_option_over_both() {
        let mut f = Function::new("f", CallConv::Kernel, Type::Void);
        assert!(Options::default().float_mode(&f).f32_denormals);
        f.attributes.insert("denormal-fp-math-f32".into(), "preserve-sign,preserve-sign".into());
        let mode = Options::default().float_mode(&f);
        assert_eq!((mode.f32_denormals, mode.f64_f16_denormals), (false, true));
        let forced = Options { f32_denormals: Some(true), ..Options::default() };
        assert!(forced.float_mode(&f).f32_denormals);
    }
}
