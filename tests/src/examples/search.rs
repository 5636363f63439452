//! Text search.

use super::expect_equal;
use crate::gpu::{Gpu, args};

pub fn text_search(gpu: &mut Gpu) -> Result<(), String> {
    let word = b"gpu";
    let mut text: Vec<u8> = (0..3000).map(|_| b"gpuGPU xyz"[gpu.rng.usize(0..10)]).collect();
    text.extend_from_slice(b"GpU");
    let (bt, bw) = (gpu.buffer(&text), gpu.buffer(word));
    let (positions, count) = (gpu.zeros::<i32>(text.len()), gpu.zeros::<i32>(1));
    let arguments = args![bt, text.len() as i32, bw, word.len() as i32, positions, count];
    gpu.launch("find", [3072, 1, 1], [128, 1, 1], arguments)?;
    let want: Vec<i32> = text
        .windows(word.len())
        .enumerate()
        .filter(|(_, window)| window.eq_ignore_ascii_case(word))
        .map(|(i, _)| i as i32)
        .collect();
    expect_equal("count", &gpu.read::<i32>(count), &[want.len() as i32])?;
    let mut got = gpu.read::<i32>(positions);
    got.truncate(want.len());
    // The order in which lanes claim slots is open.
    got.sort_unstable();
    expect_equal("positions", &got, &want)
}
