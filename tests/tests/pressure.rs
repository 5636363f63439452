//! Kernels with more live values than registers: they must compile, spill, and compute the right answer.

use gcnc_tests::gpu::{Gpu, args_of};
use gcnc_tests::toolchain;
use std::fmt::Write;

/// Compiles OpenCL C text with clang and gcnc at `level` and returns the simulator with the linked object,
/// and the statistics of the only kernel.
fn build(source: &str, level: u8) -> (Gpu, gcnc::stats::FunctionStats) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.cl");
    std::fs::write(&path, source).unwrap();
    let bitcode = path.with_extension("bc");
    toolchain::clang(&path, &bitcode, "gfx900", level, &[]).unwrap();
    let options = gcnc::CompileOptions {
        cpu: "gfx900".into(),
        opt_level: level,
        file_type: gcnc::FileType::Obj,
        code_object_version: Some(3),
        verify: true,
        ..Default::default()
    };
    let output = gcnc::compile(&std::fs::read(&bitcode).unwrap(), "kernel", &options).unwrap();
    let object = path.with_extension("o");
    std::fs::write(&object, output.bytes).unwrap();
    let stats = output.functions.into_iter().next().unwrap();
    (Gpu::new(&toolchain::link(&object).unwrap()).unwrap(), stats)
}

/// All `count` values of a lane are loaded before the first is used; volatile keeps clang from moving the
/// loads.
fn vector_kernel(count: usize) -> String {
    let mut text = String::from(
        "kernel __attribute__((reqd_work_group_size(64, 1, 1)))\n\
         void k(global volatile const uint *in, global uint *out) {\n  size_t i = get_global_id(0), n = get_global_size(0);\n",
    );
    for k in 0..count {
        let _ = writeln!(text, "  uint v{k} = in[{k} * n + i];");
    }
    for k in 0..count {
        let _ = writeln!(text, "  out[{k} * n + i] = v{k} * 3 + v{};", (k * 7 + 1) % count);
    }
    text + "}\n"
}

#[test]
fn three_hundred_vector_values_spill_and_stay_right() {
    let (count, lanes) = (300usize, 128usize);
    let (mut gpu, stats) = build(&vector_kernel(count), 2);
    assert!(stats.vgpr_spills > 0 && stats.scratch_bytes > 0, "{stats:?}");
    let input: Vec<u32> = (0..count * lanes).map(|_| gpu.rng.u32(..)).collect();
    let (a, b) = (gpu.buffer(&input), gpu.zeros::<u32>(count * lanes));
    gpu.launch("k", [lanes as u32, 1, 1], [64, 1, 1], &args_of(&[a, b])).unwrap();
    let want: Vec<u32> = (0..count * lanes)
        .map(|at| {
            let (k, i) = (at / lanes, at % lanes);
            input[at].wrapping_mul(3).wrapping_add(input[(k * 7 + 1) % count * lanes + i])
        })
        .collect();
    assert_eq!(gpu.read(b), want);
}

/// Uniform values stay live over a divergent region, so that the scalar file overflows.
#[test]
fn more_scalar_values_than_registers_spill_and_stay_right() {
    let count = 160usize;
    let mut text =
        String::from("kernel void k(constant uint *in, global uint *out) {\n  uint i = get_global_id(0);\n");
    for k in 0..count {
        let _ = writeln!(text, "  uint v{k} = in[{}];", k * 3);
    }
    text.push_str("  uint x = i;\n  for (uint j = 0; j < (i & 3); j++) {\n");
    for k in 0..count {
        let _ = writeln!(text, "    x = (x ^ v{k}) * {};", 2 * k + 3);
    }
    text.push_str("  }\n");
    for k in (0..count).rev() {
        let _ = writeln!(text, "  x = x * 5 + v{k};");
    }
    text.push_str("  out[i] = x;\n}\n");
    let (mut gpu, _) = build(&text, 2);
    let input: Vec<u32> = (0..3 * count).map(|_| gpu.rng.u32(..)).collect();
    let (a, b) = (gpu.buffer(&input), gpu.zeros::<u32>(128));
    gpu.launch("k", [128, 1, 1], [64, 1, 1], &args_of(&[a, b])).unwrap();
    let want: Vec<u32> = (0..128u32)
        .map(|i| {
            let mut x = i;
            for _ in 0..i & 3 {
                for k in 0..count {
                    x = (x ^ input[3 * k]).wrapping_mul(2 * k as u32 + 3);
                }
            }
            (0..count).rev().fold(x, |x, k| x.wrapping_mul(5).wrapping_add(input[3 * k]))
        })
        .collect();
    assert_eq!(gpu.read(b), want);
}

/// Tiles of a product of matrices: 32 sums of doubles, which would take all of the 64 VGPRs. Doubles and words of 128 bits leave holes, so that packing fails with few dwords alive; what is
/// spilled for that is little, and the sums that are in memory stay in their places around the loop.
#[test]
fn sums_of_a_loop_spill_little_and_stay_right() {
    let source = "kernel __attribute__((reqd_work_group_size(64, 1, 1), amdgpu_num_vgpr(64)))
        void k(global double *out, global const double4 *in, global const int *n) {
          local double4 a[64], b[64];
          uint i = get_local_id(0);
          double4 s[8];
          for (int m = 0; m < 8; m++) s[m] = (double4)(m);
          for (int t = 0; t < *n; t++) {
            a[i] = in[t * 128 + i];
            b[i] = in[t * 128 + 64 + i];
            barrier(CLK_LOCAL_MEM_FENCE);
            #pragma unroll
            for (int k = 0; k < 8; k++) {
              double4 x = a[(i + k) & 63], y = b[(i + 3 * k) & 63], z = a[(i + 5 * k) & 63];
              s[0] += x * y.x; s[1] += x * y.y; s[2] += x * y.z; s[3] += x * y.w;
              s[4] += z * y.x; s[5] += z * y.y; s[6] += z * y.z; s[7] += z * y.w;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
          }
          for (int m = 0; m < 8; m++) vstore4(s[m], m * 64 + i, out);
        }";
    let (mut gpu, stats) = build(source, 2);
    // One budget for all spills 449 dwords, into 548 bytes.
    assert!((1..400).contains(&stats.vgpr_spills) && stats.scratch_bytes < 500, "{stats:?}");
    let rounds = 3usize;
    // Small integers, whose sums are exact.
    let input: Vec<f64> = (0..rounds * 128 * 4).map(|_| f64::from(gpu.rng.u32(..16))).collect();
    let (out, data) = (gpu.zeros::<f64>(64 * 8 * 4), gpu.buffer(&input));
    let n = gpu.buffer(&[rounds as i32]);
    gpu.launch("k", [64, 1, 1], [64, 1, 1], &[out.into(), data.into(), n.into()]).unwrap();
    let mut want = vec![0f64; 64 * 8 * 4];
    for i in 0..64 {
        for m in 0..8 {
            for c in 0..4 {
                let mut sum = m as f64;
                for t in 0..rounds {
                    for k in 0..8 {
                        let turns = if m < 4 { k } else { 5 * k };
                        let left = input[(t * 128 + (i + turns) % 64) * 4 + c];
                        let right = input[(t * 128 + 64 + (i + 3 * k) % 64) * 4 + m % 4];
                        sum += left * right;
                    }
                }
                want[(m * 64 + i) * 4 + c] = sum;
            }
        }
    }
    assert_eq!(gpu.read(out), want);
}

/// What cannot be is refused with the instruction and the numbers.
#[test]
fn an_instruction_that_needs_too_many_is_named() {
    let text = |limit: u32| {
        format!(
            "target triple = \"amdgcn-amd-amdhsa\"\n\
             define amdgpu_kernel void @k(ptr addrspace(1) %o, ptr addrspace(1) %p) #0 {{\n\
             %v = load volatile <4 x i32>, ptr addrspace(1) %p\nstore volatile <4 x i32> %v, ptr addrspace(1) %o\nret void\n}}\n\
             attributes #0 = {{ \"amdgpu-num-vgpr\"=\"{limit}\" }}\n"
        )
    };
    let options = gcnc::CompileOptions { cpu: "gfx900".into(), verify: true, ..Default::default() };
    let errors = gcnc::compile(text(4).as_bytes(), "few", &options).unwrap_err();
    let message = errors[0].to_string();
    assert!(message.contains("more vector registers than the 4 that there are"), "{message}");
    assert!(message.contains("accessed here, 5") && message.contains("global_store_dwordx4"), "{message}");
    gcnc::compile(text(5).as_bytes(), "enough", &options).expect("five registers are enough");
}
