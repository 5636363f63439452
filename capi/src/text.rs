//! Strings and bytes of C.

use std::ffi::{CStr, CString, c_char};

/// The string at `text`; `None` where it is null or not UTF-8.
///
/// # Safety
/// `text` is null or a string that ends with a zero byte and lives for `'a`.
pub unsafe fn borrow<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// The `size` bytes at `data`; `None` where it is null and there are any.
///
/// # Safety
/// `data` is null or points to `size` bytes that live for `'a` and that nobody changes meanwhile.
pub unsafe fn bytes<'a>(data: *const u8, size: usize) -> Option<&'a [u8]> {
    match (data.is_null(), size) {
        (_, 0) => Some(&[]),
        (true, _) => None,
        // SAFETY: the caller's promise; no object is larger than `isize::MAX`.
        (false, _) => isize::try_from(size).ok().map(|_| unsafe { std::slice::from_raw_parts(data, size) }),
    }
}

/// A copy of `text` for C, which ends at a zero byte.
pub fn owned(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}
