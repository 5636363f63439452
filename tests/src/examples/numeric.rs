//! Numerical programs: n-body, heat equation, Fourier transform, k-means.

use super::{expect_close, expect_equal, to_f64};
use crate::gpu::{Gpu, Local, args};

pub fn nbody(gpu: &mut Gpu) -> Result<(), String> {
    let (n, group) = (256usize, 64usize);
    let position = gpu.random_f32(4 * n, 0.1..1.0);
    let velocity = gpu.random_f32(4 * n, -0.1..0.1);
    let (dt, softening) = (0.01f32, 0.05f32);
    let (bp, bv, bm) = (gpu.buffer(&position), gpu.buffer(&velocity), gpu.zeros::<f32>(4 * n));
    let tile = Local(16 * group as u32);
    let arguments = args![bp, bv, bm, dt, softening, n as i32, tile];
    gpu.launch("nbody", [n as u32, 1, 1], [group as u32, 1, 1], arguments)?;
    let (p, v) = (to_f64(&position), to_f64(&velocity));
    let (mut want_v, mut want_p) = (v.clone(), p.clone());
    for i in 0..n {
        let mut acceleration = [0.0; 3];
        for j in 0..n {
            let d: Vec<f64> = (0..3).map(|k| p[4 * j + k] - p[4 * i + k]).collect();
            let distance2 = d.iter().map(|d| d * d).sum::<f64>() + f64::from(softening);
            (0..3).for_each(|k| acceleration[k] += d[k] * p[4 * j + 3] / (distance2 * distance2.sqrt()));
        }
        for k in 0..3 {
            want_v[4 * i + k] += acceleration[k] * f64::from(dt);
            want_p[4 * i + k] += want_v[4 * i + k] * f64::from(dt);
        }
    }
    expect_close("velocity", &to_f64(&gpu.read::<f32>(bv)), &want_v, 1e-4, 1.0)?;
    expect_close("moved", &to_f64(&gpu.read::<f32>(bm)), &want_p, 1e-5, 1.0)
}

pub fn stencil(gpu: &mut Gpu) -> Result<(), String> {
    let (nx, ny, nz) = (16usize, 12usize, 8usize);
    let input: Vec<f64> = (0..nx * ny * nz).map(|_| gpu.rng.f64() * 2.0 - 1.0).collect();
    let alpha = 0.125f64;
    let (bi, bo) = (gpu.buffer(&input), gpu.zeros::<f64>(input.len()));
    let grid = [nx as u32, ny as u32, nz as u32];
    let arguments = args![bi, bo, nx as i32, ny as i32, nz as i32, alpha];
    gpu.launch("stencil", grid, [16, 4, 1], arguments)?;
    let mut want = input.clone();
    for z in 1..nz - 1 {
        for y in 1..ny - 1 {
            for x in 1..nx - 1 {
                let i = (z * ny + y) * nx + x;
                let sum = input[i - 1]
                    + input[i + 1]
                    + input[i - nx]
                    + input[i + nx]
                    + input[i - nx * ny]
                    + input[i + nx * ny];
                want[i] = input[i] + alpha * (sum - 6.0 * input[i]) / (1.0 + input[i].abs());
            }
        }
    }
    expect_close("out", &gpu.read::<f64>(bo), &want, 1e-14, 1.0)
}

pub fn fft(gpu: &mut Gpu) -> Result<(), String> {
    let (points, groups) = (256usize, 2usize);
    let input = gpu.random_f32(2 * points * groups, -1.0..1.0);
    let (bi, bo) = (gpu.buffer(&input), gpu.zeros::<f32>(input.len()));
    gpu.launch("fft", [(groups * points / 2) as u32, 1, 1], [(points / 2) as u32, 1, 1], args![bi, bo])?;
    let mut want = Vec::with_capacity(input.len());
    for signal in input.chunks(2 * points) {
        for frequency in 0..points {
            let (mut re, mut im) = (0.0, 0.0);
            for (t, sample) in signal.chunks(2).enumerate() {
                let angle = -2.0 * std::f64::consts::PI * ((frequency * t) % points) as f64 / points as f64;
                let (s, c) = angle.sin_cos();
                let (x, y) = (f64::from(sample[0]), f64::from(sample[1]));
                re += x * c - y * s;
                im += x * s + y * c;
            }
            want.extend([re, im]);
        }
    }
    expect_close("out", &to_f64(&gpu.read::<f32>(bo)), &want, 2e-5, 10.0)
}

pub fn kmeans(gpu: &mut Gpu) -> Result<(), String> {
    let (n, k, dimensions) = (900usize, 6usize, 4usize);
    // Multiples of 1/64 make every distance exact, so that ties and sums cannot depend on rounding.
    let points: Vec<f32> = (0..n * dimensions).map(|_| gpu.rng.i32(-256..256) as f32 / 64.0).collect();
    let centres: Vec<f32> = (0..k * dimensions).map(|_| gpu.rng.i32(-256..256) as f32 / 64.0).collect();
    let (bp, bc) = (gpu.buffer(&points), gpu.buffer(&centres));
    let (labels, sums, counts) = (gpu.zeros::<i32>(n), gpu.zeros::<i32>(k * dimensions), gpu.zeros::<i32>(k));
    let arguments = args![bp, bc, labels, sums, counts, n as i32, k as i32];
    gpu.launch("assign", [960, 1, 1], [64, 1, 1], arguments)?;
    let (mut want_labels, mut want_sums, mut want_counts) = (Vec::new(), vec![0; k * dimensions], vec![0; k]);
    for i in 0..n {
        let point: Vec<f32> = (0..dimensions).map(|d| points[d * n + i]).collect();
        let distance = |c: usize| -> f32 {
            (0..dimensions).map(|d| (point[d] - centres[c * dimensions + d]).powi(2)).sum()
        };
        let best = (0..k).reduce(|best, c| if distance(c) < distance(best) { c } else { best }).unwrap_or(0);
        want_labels.push(best as i32);
        want_counts[best] += 1;
        (0..dimensions).for_each(|d| want_sums[best * dimensions + d] += (point[d] * 1024.0) as i32);
    }
    expect_equal("labels", &gpu.read::<i32>(labels), &want_labels)?;
    expect_equal("counts", &gpu.read::<i32>(counts), &want_counts)?;
    expect_equal("sums", &gpu.read::<i32>(sums), &want_sums)
}
