//! Parallel primitives: reduction, prefix sum, histogram, sort.

use super::expect_equal;
use crate::gpu::{Gpu, Local, args};

pub fn reduction(gpu: &mut Gpu) -> Result<(), String> {
    let (n, groups, size) = (10_000usize, 4usize, 128usize);
    let input: Vec<u32> = (0..n).map(|_| gpu.rng.u32(..)).collect();
    let (bi, bo) = (gpu.buffer(&input), gpu.zeros::<u32>(groups));
    let scratch = Local(4 * size as u32);
    let grid = [(groups * size) as u32, 1, 1];
    gpu.launch("reduce", grid, [size as u32, 1, 1], args![bi, bo, n as u32, scratch])?;
    let mut want = vec![0u32; groups];
    for (i, value) in input.iter().enumerate() {
        let group = i % (groups * size) / size;
        want[group] = want[group].wrapping_add(*value);
    }
    expect_equal("partial", &gpu.read::<u32>(bo), &want)
}

pub fn prefix_sum(gpu: &mut Gpu) -> Result<(), String> {
    let (groups, block) = (5usize, 256usize);
    let input: Vec<i32> = (0..groups * block).map(|_| gpu.rng.i32(-1000..1000)).collect();
    let (bi, bo, bt) = (gpu.buffer(&input), gpu.zeros::<i32>(groups * block), gpu.zeros::<i32>(groups));
    let (grid, group) = ([(groups * block / 2) as u32, 1, 1], [(block / 2) as u32, 1, 1]);
    gpu.launch("scan", grid, group, args![bi, bo, bt])?;
    let sums: Vec<i32> = input.chunks(block).map(|chunk| chunk.iter().sum()).collect();
    expect_equal("totals", &gpu.read::<i32>(bt), &sums)?;
    let exclusive = |values: &[i32]| -> Vec<i32> {
        values.iter().scan(0i32, |sum, v| Some(std::mem::replace(sum, *sum + v))).collect()
    };
    let offsets = gpu.buffer(&exclusive(&sums));
    gpu.launch("add_offsets", grid, group, args![bo, offsets])?;
    expect_equal("out", &gpu.read::<i32>(bo), &exclusive(&input))
}

pub fn histogram(gpu: &mut Gpu) -> Result<(), String> {
    let n = 5000usize;
    // Skewed, so that lanes of a wave collide.
    let data: Vec<u8> = (0..n).map(|_| gpu.rng.u8(..) & gpu.rng.u8(..)).collect();
    let (bd, bb) = (gpu.buffer(&data), gpu.zeros::<u32>(256));
    gpu.launch("histogram", [512, 1, 1], [128, 1, 1], args![bd, bb, n as u32])?;
    let mut want = vec![0u32; 256];
    data.iter().for_each(|&byte| want[usize::from(byte)] += 1);
    expect_equal("bins", &gpu.read::<u32>(bb), &want)
}

pub fn bitonic_sort(gpu: &mut Gpu) -> Result<(), String> {
    let n = 1024u32;
    let data: Vec<u32> = (0..n).map(|_| gpu.rng.u32(..)).collect();
    let buffer = gpu.buffer(&data);
    let (grid, group) = ([n / 2, 1, 1], [128, 1, 1]);
    let mut size = 2;
    while size <= n {
        let mut stride = size / 2;
        while stride >= 256 {
            gpu.launch("global_step", grid, group, args![buffer, size, stride])?;
            stride /= 2;
        }
        gpu.launch("local_steps", grid, group, args![buffer, size, stride])?;
        size *= 2;
    }
    let mut want = data;
    want.sort_unstable();
    expect_equal("data", &gpu.read::<u32>(buffer), &want)
}
