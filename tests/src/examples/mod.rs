//! The example programs: each is an OpenCL C file under `examples/` and a host program here that makes data,
//! launches the kernels and compares every output with a plain CPU computation.

mod crypto;
mod images;
mod linear;
mod numeric;
mod parallel;
mod search;

use crate::gpu::Gpu;

/// One example.
#[derive(Clone, Copy)]
pub struct Example {
    /// Name, also of the source file under `examples/`.
    pub name: &'static str,
    /// Host program: fails with a message at the first wrong output.
    pub run: fn(&mut Gpu) -> Result<(), String>,
}

/// All examples, in the order of the report.
pub const EXAMPLES: &[Example] = &[
    Example { name: "saxpy", run: linear::saxpy },
    Example { name: "matmul", run: linear::matmul },
    Example { name: "transpose", run: linear::transpose },
    Example { name: "spmv", run: linear::spmv },
    Example { name: "reduction", run: parallel::reduction },
    Example { name: "prefix_sum", run: parallel::prefix_sum },
    Example { name: "histogram", run: parallel::histogram },
    Example { name: "bitonic_sort", run: parallel::bitonic_sort },
    Example { name: "nbody", run: numeric::nbody },
    Example { name: "stencil", run: numeric::stencil },
    Example { name: "fft", run: numeric::fft },
    Example { name: "kmeans", run: numeric::kmeans },
    Example { name: "mandelbrot", run: images::mandelbrot },
    Example { name: "convolution", run: images::convolution },
    Example { name: "sha256", run: crypto::sha256 },
    Example { name: "aes", run: crypto::aes },
    Example { name: "modexp", run: crypto::modexp },
    Example { name: "text_search", run: search::text_search },
];

/// Compares exactly.
fn expect_equal<T: PartialEq + std::fmt::Debug>(what: &str, got: &[T], want: &[T]) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{what}: {} values instead of {}", got.len(), want.len()));
    }
    match got.iter().zip(want).position(|(g, w)| g != w) {
        Some(i) => Err(format!("{what}[{i}] is {:?} instead of {:?}", got[i], want[i])),
        None => Ok(()),
    }
}

/// Compares with a tolerance relative to the larger of the expected value and `scale`; contraction and the
/// order of sums are the compiler's choice.
fn expect_close(what: &str, got: &[f64], want: &[f64], tolerance: f64, scale: f64) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{what}: {} values instead of {}", got.len(), want.len()));
    }
    // A NaN is near nothing.
    let near = |g: &f64, w: &f64| (g - w).abs() <= tolerance * w.abs().max(scale);
    let wrong = |(g, w): (&f64, &f64)| !near(g, w);
    match got.iter().zip(want).position(wrong) {
        Some(i) => Err(format!("{what}[{i}] is {} instead of {}", got[i], want[i])),
        None => Ok(()),
    }
}

fn to_f64(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| f64::from(v)).collect()
}
