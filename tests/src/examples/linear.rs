//! Linear algebra: saxpy, matrix product, transpose, sparse matrix times vector.

use super::{expect_close, expect_equal, to_f64};
use crate::gpu::{Gpu, args};

pub fn saxpy(gpu: &mut Gpu) -> Result<(), String> {
    let n = 1000;
    let (x, y) = (gpu.random_f32(n, -1.0..1.0), gpu.random_f32(n, -1.0..1.0));
    let a = 2.5f32;
    let (bx, by) = (gpu.buffer(&x), gpu.buffer(&y));
    gpu.launch("saxpy", [1024, 1, 1], [64, 1, 1], args![by, bx, a, n as i32])?;
    let want: Vec<f64> =
        x.iter().zip(&y).map(|(&x, &y)| f64::from(a) * f64::from(x) + f64::from(y)).collect();
    expect_close("y", &to_f64(&gpu.read::<f32>(by)), &want, 1e-6, 1.0)
}

pub fn matmul(gpu: &mut Gpu) -> Result<(), String> {
    let n = 64usize;
    let (a, b) = (gpu.random_f32(n * n, -1.0..1.0), gpu.random_f32(n * n, -1.0..1.0));
    let (ba, bb, bc) = (gpu.buffer(&a), gpu.buffer(&b), gpu.zeros::<f32>(n * n));
    gpu.launch("matmul", [n as u32, n as u32, 1], [16, 16, 1], args![ba, bb, bc, n as i32])?;
    let mut want = vec![0.0; n * n];
    for row in 0..n {
        for column in 0..n {
            want[row * n + column] =
                (0..n).map(|k| f64::from(a[row * n + k]) * f64::from(b[k * n + column])).sum();
        }
    }
    expect_close("c", &to_f64(&gpu.read::<f32>(bc)), &want, 1e-5, 1.0)
}

pub fn transpose(gpu: &mut Gpu) -> Result<(), String> {
    let (width, height) = (70usize, 45usize);
    let input = gpu.random_f32(width * height, -1.0..1.0);
    let (bi, bo) = (gpu.buffer(&input), gpu.zeros::<f32>(width * height));
    gpu.launch("transpose", [80, 48, 1], [16, 16, 1], args![bi, bo, width as i32, height as i32])?;
    let want: Vec<f32> =
        (0..width).flat_map(|x| (0..height).map(move |y| y * width + x)).map(|i| input[i]).collect();
    expect_equal("out", &gpu.read::<f32>(bo), &want)
}

pub fn spmv(gpu: &mut Gpu) -> Result<(), String> {
    let (rows, cols) = (500usize, 400usize);
    let mut row_start = vec![0i32];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        for _ in 0..gpu.rng.usize(0..12) {
            columns.push(gpu.rng.i32(0..cols as i32));
            values.push(gpu.rng.f32() * 2.0 - 1.0);
        }
        row_start.push(columns.len() as i32);
    }
    let x = gpu.random_f32(cols, -1.0..1.0);
    let buffers = (gpu.buffer(&row_start), gpu.buffer(&columns), gpu.buffer(&values), gpu.buffer(&x));
    let by = gpu.zeros::<f32>(rows);
    let arguments = args![buffers.0, buffers.1, buffers.2, buffers.3, by, rows as i32];
    gpu.launch("spmv", [512, 1, 1], [64, 1, 1], arguments)?;
    let want: Vec<f64> = (0..rows)
        .map(|row| {
            let entries = row_start[row] as usize..row_start[row + 1] as usize;
            entries.map(|i| f64::from(values[i]) * f64::from(x[columns[i] as usize])).sum()
        })
        .collect();
    expect_close("y", &to_f64(&gpu.read::<f32>(by)), &want, 1e-5, 1.0)
}
