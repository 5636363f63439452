//! The kernels: one for each function of `work.rs`, and one that panics.
#![no_std]
#![feature(abi_gpu_kernel, core_intrinsics, link_llvm_intrinsics)]
#![allow(internal_features, missing_docs, reason = "a kernel is an intrinsic of the compiler; its work says what it is for in its name")]

mod work;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::intrinsics::abort()
}

unsafe extern "C" {
    #[link_name = "llvm.amdgcn.workitem.id.x"]
    safe fn workitem() -> u32;
    #[link_name = "llvm.amdgcn.workgroup.id.x"]
    safe fn workgroup() -> u32;
}

/// Dwords of a work-item's output.
const WIDTH: usize = 8;

unsafe fn run(input: *const u32, len: usize, output: *mut u32, work: impl Fn(usize, &[u32], &mut [u32])) {
    let i = (workgroup() * 64 + workitem()) as usize;
    let input = unsafe { core::slice::from_raw_parts(input, len) };
    let output = unsafe { core::slice::from_raw_parts_mut(output.add(i * WIDTH), WIDTH) };
    work(i, input, output);
}

macro_rules! kernels {
    ($($name:ident)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("k_", stringify!($name)))]
            unsafe extern "gpu-kernel" fn kernel(input: *const u32, len: usize, output: *mut u32) {
                unsafe { run(input, len, output, work::$name) }
            }
        };
    )*};
}
for_each_kernel!(kernels);

#[unsafe(export_name = "k_panics")]
unsafe extern "gpu-kernel" fn panics(input: *const u32, len: usize, output: *mut u32) {
    unsafe { run(input, len, output, |i, input, out| out[0] = input[i * 64 + 13]) }
}

/// What comparing slices of bytes calls.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
    for k in 0..len {
        let (x, y) = unsafe { (a.add(k).read_volatile(), b.add(k).read_volatile()) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
    }
    0
}
