//! The kernels: one for each function of `work.rs` and of `work/group.rs`, and those that panic.
#![no_std]
#![feature(abi_gpu_kernel, core_intrinsics, link_llvm_intrinsics)]
#![allow(internal_features, missing_docs, reason = "a kernel is an intrinsic of the compiler; its work says what it is for in its name")]

mod panics;
mod work;

use core::sync::atomic::{AtomicU32, Ordering, fence};
use work::group::{Group, Shared};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::intrinsics::abort()
}

unsafe extern "C" {
    #[link_name = "llvm.amdgcn.workitem.id.x"]
    safe fn workitem() -> u32;
    #[link_name = "llvm.amdgcn.workgroup.id.x"]
    safe fn workgroup() -> u32;
    #[link_name = "llvm.amdgcn.s.barrier"]
    safe fn barrier();
    /// The group's memory, of `lds.ll`.
    safe fn group_memory() -> *const Shared;
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

macro_rules! panicking {
    ($($name:ident)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("k_panic_", stringify!($name)))]
            unsafe extern "gpu-kernel" fn kernel(input: *const u32, len: usize, output: *mut u32) {
                unsafe { run(input, len, output, panics::$name) }
            }
        };
    )*};
}
for_each_panic!(panicking);

fn all_arrive() {
    fence(Ordering::Release);
    barrier();
    fence(Ordering::Acquire);
}

macro_rules! group_kernels {
    ($($name:ident)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("k_group_", stringify!($name)))]
            unsafe extern "gpu-kernel" fn kernel(input: *const u32, len: usize, output: *const AtomicU32) {
                let group = Group {
                    item: workitem() as usize,
                    group: workgroup() as usize,
                    shared: unsafe { &*group_memory() },
                    barrier: all_arrive,
                    input: unsafe { core::slice::from_raw_parts(input, len) },
                    output: unsafe { core::slice::from_raw_parts(output, len) },
                };
                work::group::$name(&group);
            }
        };
    )*};
}
for_each_group_kernel!(group_kernels);

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
