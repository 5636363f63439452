//! Images: Mandelbrot set, convolution.

use super::expect_equal;
use crate::gpu::{Gpu, args};

pub fn mandelbrot(gpu: &mut Gpu) -> Result<(), String> {
    let (width, height, limit) = (64usize, 32usize, 100u32);
    let (x0, y0, scale) = (-2.0f32, -1.0f32, 1.0f32 / 16.0);
    let out = gpu.zeros::<u32>(width * height);
    let arguments = args![out, width as i32, x0, y0, scale, limit];
    gpu.launch("mandelbrot", [width as u32, height as u32, 1], [16, 4, 1], arguments)?;
    // Contraction is the compiler's choice and moves escape times at the border: either rounding is right.
    let escape = |cx: f32, cy: f32, fused: bool| -> u32 {
        let (mut x, mut y, mut n) = (0.0f32, 0.0f32, 0);
        while n < limit {
            let (x2, y2) = (x * x, y * y);
            let radius = if fused { x.mul_add(x, y2) } else { x2 + y2 };
            if radius > 4.0 {
                break;
            }
            (y, x) = if fused {
                ((2.0 * x).mul_add(y, cy), x.mul_add(x, -y2) + cx)
            } else {
                (2.0 * x * y + cy, x2 - y2 + cx)
            };
            n += 1;
        }
        n
    };
    let got = gpu.read::<u32>(out);
    let mut unclear = 0;
    for py in 0..height {
        for px in 0..width {
            let (cx, cy) = (x0 + px as f32 * scale, y0 + py as f32 * scale);
            let (plain, fused) = (escape(cx, cy, false), escape(cx, cy, true));
            let value = got[py * width + px];
            unclear += usize::from(plain != fused);
            if plain == fused && value != plain {
                return Err(format!("pixel ({px}, {py}) is {value} instead of {plain}"));
            }
        }
    }
    if unclear > width * height / 20 {
        return Err(format!("{unclear} pixels depend on rounding: the comparison says nothing"));
    }
    Ok(())
}

pub fn convolution(gpu: &mut Gpu) -> Result<(), String> {
    let (width, height) = (50usize, 30usize);
    let image: Vec<u8> = (0..width * height).map(|_| gpu.rng.u8(..)).collect();
    // Multiples of 1/256 keep every sum exact.
    let weights: Vec<f32> = (0..25).map(|_| gpu.rng.i32(-8..20) as f32 / 256.0).collect();
    let (bi, bo, bw) = (gpu.buffer(&image), gpu.zeros::<u8>(image.len()), gpu.buffer(&weights));
    let arguments = args![bi, bo, bw, width as i32, height as i32];
    gpu.launch("convolve", [64, 32, 1], [16, 8, 1], arguments)?;
    let mut want = Vec::with_capacity(image.len());
    for y in 0..height as i32 {
        for x in 0..width as i32 {
            let mut sum = 0.0f32;
            for dy in -2..=2 {
                for dx in -2..=2 {
                    let sx = (x + dx).clamp(0, width as i32 - 1) as usize;
                    let sy = (y + dy).clamp(0, height as i32 - 1) as usize;
                    sum += weights[((dy + 2) * 5 + dx + 2) as usize] * f32::from(image[sy * width + sx]);
                }
            }
            want.push((sum + 0.5).clamp(0.0, 255.0) as u8);
        }
    }
    expect_equal("out", &gpu.read::<u8>(bo), &want)
}
