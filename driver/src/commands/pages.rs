//! The pages that the kernel gives this process.
//!
//! The allocator asks for pages of 2 MiB. Each is cleared when it is first touched, which takes longer than all else that a small kernel needs;
//! a large module is compiled faster with them.

/// Bytes of input from which large pages pay.
const LARGE_INPUT: usize = 256 << 10;

/// Takes small pages until [`fit`] knows better.
pub fn start_small() {
    set_large(false);
}

/// Takes pages that suit an input of `bytes`.
pub fn fit(bytes: usize) {
    if bytes >= LARGE_INPUT {
        set_large(true);
    }
}

#[cfg(target_os = "linux")]
fn set_large(large: bool) {
    // Only speed depends on it: where the kernel has no such setting, pages stay as they are.
    let _ = rustix::thread::disable_transparent_huge_pages(!large);
}

#[cfg(not(target_os = "linux"))]
fn set_large(_large: bool) {}
