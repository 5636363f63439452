//! libclc as input: Debian's library of OpenCL functions for `amdgcn-amd-amdhsa`, every function compiled as
//! a function, and its mathematics run on the simulator.
//!
//! The bitcode has some thousand functions that call each other. They are compiled as they stand, at each
//! level and for each processor; functions that nothing calls are kept. A sample of the mathematics is called
//! by the calling convention with a wave of arguments, special values among them, and compared with the
//! same function in `f64`. Bounds in units in the last place: OpenCL C 3.0, "Relative Error as ULPs", full
//! profile.

use crate::llvm_suite::refusals::reason;
use crate::toolchain::Machine;
use gcnc::{CompileOptions, FileType};
use sim::single::{Entry, Setting, run_single};
use sim::wave::{Lanes, MAX_LANES};
use sim::{CodeObject, Config, Dispatch, Memory, Unmapped};
use std::collections::BTreeMap;
use std::time::Instant;

/// Processors that the library is compiled for.
pub const PROCESSORS: [&str; 6] = ["gfx700", "gfx803", "gfx900", "gfx906", "gfx1010", "gfx1030"];

/// One compilation of the whole library.
#[derive(Debug)]
pub struct Whole {
    /// Processor and level.
    pub what: String,
    /// Functions with a body.
    pub functions: usize,
    /// Refusals and defects by reason.
    pub refused: BTreeMap<String, usize>,
    /// Seconds.
    pub seconds: f64,
    /// The object, where nothing was refused.
    pub object: Option<Vec<u8>>,
}

/// Compiles the whole library.
///
/// # Errors
/// Where the bitcode cannot be read.
pub fn compile<'a>(bitcode: &[u8], machine: impl Into<Machine<'a>>, level: u8) -> Result<Whole, String> {
    let machine = machine.into();
    let start = Instant::now();
    let reading = frontend::read(bitcode, "libclc.bc").map_err(|e| e.to_string())?;
    let functions = reading.module.functions.values().filter(|f| !f.is_declaration()).count();
    let options = CompileOptions {
        triple: "amdgcn-amd-amdhsa".to_owned(),
        file_type: FileType::Obj,
        // The library reads the implicit arguments of versions before 5.
        code_object_version: Some(4),
        ..machine.options(level)
    };
    let mut refused = BTreeMap::new();
    let object = match gcnc::compile_reading(reading, &options) {
        Ok(output) => Some(output.bytes),
        Err(errors) => {
            errors.iter().for_each(|e| *refused.entry(reason(&e.to_string())).or_default() += 1);
            None
        }
    };
    Ok(Whole {
        what: format!("{machine} -O{level}"),
        functions,
        refused,
        seconds: start.elapsed().as_secs_f64(),
        object,
    })
}

/// A function of one or two arguments and what it must give.
#[derive(Clone, Copy)]
pub struct Math {
    /// Name in OpenCL.
    pub name: &'static str,
    /// Exact, or as near as `f64` is.
    pub exact: Exact,
    /// Largest error in units in the last place of a float.
    pub ulp: f64,
    /// Arguments are between these.
    pub range: (f32, f32),
}

/// The function on the CPU.
#[derive(Clone, Copy)]
pub enum Exact {
    /// One argument.
    One(fn(f64) -> f64),
    /// Two arguments.
    Two(fn(f64, f64) -> f64),
}

use Exact::{One, Two};

/// The sample.
pub const SAMPLE: &[Math] = &[
    Math { name: "sin", exact: One(f64::sin), ulp: 4.0, range: (-1e4, 1e4) },
    Math { name: "cos", exact: One(f64::cos), ulp: 4.0, range: (-1e4, 1e4) },
    Math { name: "tan", exact: One(f64::tan), ulp: 5.0, range: (-1e3, 1e3) },
    Math { name: "asin", exact: One(f64::asin), ulp: 4.0, range: (-1.0, 1.0) },
    Math { name: "acos", exact: One(f64::acos), ulp: 4.0, range: (-1.0, 1.0) },
    Math { name: "atan", exact: One(f64::atan), ulp: 5.0, range: (-50.0, 50.0) },
    Math { name: "sinh", exact: One(f64::sinh), ulp: 4.0, range: (-20.0, 20.0) },
    Math { name: "cosh", exact: One(f64::cosh), ulp: 4.0, range: (-20.0, 20.0) },
    Math { name: "tanh", exact: One(f64::tanh), ulp: 5.0, range: (-5.0, 5.0) },
    Math { name: "asinh", exact: One(f64::asinh), ulp: 4.0, range: (-1e3, 1e3) },
    Math { name: "exp", exact: One(f64::exp), ulp: 3.0, range: (-80.0, 80.0) },
    Math { name: "exp2", exact: One(f64::exp2), ulp: 3.0, range: (-120.0, 120.0) },
    Math { name: "exp10", exact: One(|x| 10f64.powf(x)), ulp: 3.0, range: (-36.0, 36.0) },
    Math { name: "expm1", exact: One(f64::exp_m1), ulp: 3.0, range: (-20.0, 20.0) },
    Math { name: "log", exact: One(f64::ln), ulp: 3.0, range: (1e-30, 1e30) },
    Math { name: "log2", exact: One(f64::log2), ulp: 3.0, range: (1e-30, 1e30) },
    Math { name: "log10", exact: One(f64::log10), ulp: 3.0, range: (1e-30, 1e30) },
    Math { name: "log1p", exact: One(f64::ln_1p), ulp: 2.0, range: (-0.9, 1e6) },
    Math { name: "sqrt", exact: One(f64::sqrt), ulp: 3.0, range: (0.0, 1e30) },
    Math { name: "rsqrt", exact: One(|x| 1.0 / x.sqrt()), ulp: 2.0, range: (1e-30, 1e30) },
    Math { name: "cbrt", exact: One(f64::cbrt), ulp: 2.0, range: (-1e20, 1e20) },
    Math { name: "floor", exact: One(f64::floor), ulp: 0.0, range: (-1e6, 1e6) },
    Math { name: "ceil", exact: One(f64::ceil), ulp: 0.0, range: (-1e6, 1e6) },
    Math { name: "trunc", exact: One(f64::trunc), ulp: 0.0, range: (-1e6, 1e6) },
    Math { name: "rint", exact: One(f64::round_ties_even), ulp: 0.0, range: (-1e6, 1e6) },
    Math { name: "fabs", exact: One(f64::abs), ulp: 0.0, range: (-1e6, 1e6) },
    Math { name: "pow", exact: Two(f64::powf), ulp: 16.0, range: (0.01, 20.0) },
    Math { name: "atan2", exact: Two(f64::atan2), ulp: 6.0, range: (-100.0, 100.0) },
    Math { name: "fmod", exact: Two(|x, y| x % y), ulp: 0.0, range: (0.5, 1000.0) },
    Math { name: "hypot", exact: Two(f64::hypot), ulp: 4.0, range: (-1e10, 1e10) },
    Math { name: "fmax", exact: Two(f64::max), ulp: 0.0, range: (-100.0, 100.0) },
    Math { name: "copysign", exact: Two(f64::copysign), ulp: 0.0, range: (-100.0, 100.0) },
];

/// The error of `found` in units in the last place of a float at `exact`.
fn ulps(found: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if found.is_nan() && exact.is_nan() || found == rounded {
        return 0.0;
    }
    if !found.is_finite() || !rounded.is_finite() {
        return f64::INFINITY;
    }
    let unit = f64::from(rounded.abs().max(f32::MIN_POSITIVE));
    let unit = (unit.log2().floor() - 23.0).exp2();
    (f64::from(found) - exact).abs() / unit
}

/// Calls `math` in `object` with the lanes of a wave; the largest error, and where.
///
/// # Errors
/// What stopped the run.
pub fn largest_error<'a>(
    object: &CodeObject,
    math: &Math,
    machine: impl Into<Machine<'a>>,
    seed: u64,
) -> Result<(f64, String), String> {
    let target = machine.into().target()?;
    let lanes = target.wave_size() as usize;
    let mut rng = fastrand::Rng::with_seed(seed);
    let (low, high) = math.range;
    let mut draw = || -> Lanes {
        std::array::from_fn(|_| {
            match low > 0.0 && high / low > 1e6 {
                // Wide ranges by their exponents.
                true => (low.log2() + rng.f32() * (high.log2() - low.log2())).exp2(),
                false => low + rng.f32() * (high - low),
            }
            .to_bits()
        })
    };
    let (a, b) = (draw(), draw());
    let (symbol, vgprs) = match math.exact {
        One(_) => (format!("_Z{}{}f", math.name.len(), math.name), vec![(0, a)]),
        Two(_) => (format!("_Z{}{}ff", math.name.len(), math.name), vec![(0, a), (1, b)]),
    };
    let dispatch = Dispatch {
        kernel: symbol,
        grid: [lanes as u32, 1, 1],
        group: [lanes as u32, 1, 1],
        ..Dispatch::default()
    };
    let mut setting = Setting {
        own_lds: false,
        entry: Entry::Function,
        dispatch: &dispatch,
        sgprs: &[],
        vgprs: &vgprs,
        exec: u64::MAX >> (MAX_LANES - lanes),
        mode: 0x3f0,
        lds: &|_| 0,
        scratch: &|_, _| None,
        external: &mut |_, _, _| Ok(()),
    };
    let config = Config { unmapped: Unmapped::Fault, budget: 1_000_000, threads: 1, ..Config::default() };
    let mut memory = Memory::new();
    let finished =
        run_single(object, &mut memory, &mut setting, &config, &target).map_err(|r| r.to_string())?;
    let mut worst = (0.0, String::new());
    for lane in 0..lanes {
        let (x, y) = (f32::from_bits(a[lane]), f32::from_bits(b[lane]));
        let exact = match math.exact {
            One(f) => f(x.into()),
            Two(f) => f(x.into(), y.into()),
        };
        let found = f32::from_bits(finished.wave.v[0][lane]);
        let error = ulps(found, exact);
        if error > worst.0 {
            worst = (error, format!("{}({x:e}, {y:e}) = {found:e}, not {exact:e}", math.name));
        }
    }
    Ok(worst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_measured_in_units_of_the_last_place() {
        assert_eq!(ulps(1.0, 1.0), 0.0);
        assert_eq!(ulps(1.0 + f32::EPSILON, 1.0), 1.0);
        assert_eq!(ulps(f32::NAN, f64::NAN), 0.0);
        assert!(ulps(1.0, f64::INFINITY).is_infinite());
        assert!(ulps(2.0, 1.0) > 8e6);
    }
}
