// Work that panics in one item of 128, each in its own way; the others end.

use core::fmt::Write as _;

/// Whether this is the item; the compiler does not know.
fn is_last(i: usize, input: &[u32]) -> bool {
    i == 127 && input.len() > 5
}

pub fn index(i: usize, input: &[u32], out: &mut [u32]) {
    out[0] = input[if is_last(i, input) { input.len() } else { i }];
}

pub fn range(i: usize, input: &[u32], out: &mut [u32]) {
    let start = if is_last(i, input) { 9 } else { i % 8 };
    out.copy_from_slice(&input[start..][..8]);
    out[0] = input[start..8.max(start) - start / 9 * 5].len() as u32;
}

pub fn unwrap(i: usize, input: &[u32], out: &mut [u32]) {
    out[0] = input.iter().position(|_| !is_last(i, input)).unwrap() as u32;
}

pub fn expect(i: usize, input: &[u32], out: &mut [u32]) {
    let text = if is_last(i, input) { "12x" } else { "12" };
    out[0] = text.parse::<u32>().expect("a number");
}

pub fn division(i: usize, input: &[u32], out: &mut [u32]) {
    out[0] = input[0] / u32::from(!is_last(i, input));
}

pub fn overflowing_division(i: usize, input: &[u32], out: &mut [u32]) {
    let by = if is_last(i, input) { -1 } else { 3 };
    out[0] = (i32::MIN / by) as u32;
}

pub fn strict_addition(i: usize, input: &[u32], out: &mut [u32]) {
    let more = if is_last(i, input) { u32::MAX } else { 1 };
    out[0] = more.checked_add(7).unwrap_or_else(|| panic!("{more} and {i} are too much"));
}

pub fn borrow(i: usize, input: &[u32], out: &mut [u32]) {
    let cell = core::cell::RefCell::new(1u32);
    let first = (is_last(i, input)).then(|| cell.borrow_mut());
    out[0] = *cell.borrow();
    drop(first);
}

pub fn text_border(i: usize, input: &[u32], out: &mut [u32]) {
    let at = if is_last(i, input) { 2 } else { 3 };
    out[0] = "aß漢"[at..].len() as u32;
}

pub fn assertion(i: usize, input: &[u32], out: &mut [u32]) {
    assert_eq!(is_last(i, input), i > 500, "item {i}");
    out[0] = 1;
}

pub fn unreachable(i: usize, input: &[u32], out: &mut [u32]) {
    out[0] = match (i % 2, is_last(i, input)) { (0 | 1, false) => 5, (k, _) => unreachable!("{k}") };
}

pub fn unfinished(i: usize, input: &[u32], out: &mut [u32]) {
    struct Small([u8; 2], usize);
    impl core::fmt::Write for Small {
        fn write_str(&mut self, s: &str) -> core::fmt::Result {
            for b in s.bytes() { *self.0.get_mut(self.1).ok_or(core::fmt::Error)? = b; self.1 += 1; }
            Ok(())
        }
    }
    let mut small = Small([0; 2], 0);
    write!(small, "{}", if is_last(i, input) { 100 } else { 99 }).unwrap();
    out[0] = small.0[1].into();
}

/// Hands all functions above to a macro.
#[macro_export]
macro_rules! for_each_panic {
    ($do:ident) => {
        $do! {
            index range unwrap expect division overflowing_division strict_addition borrow text_border assertion unreachable
            unfinished
        }
    };
}
