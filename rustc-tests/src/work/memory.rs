// Raw memory: pointers, unions, volatile accesses, small elements, and vectors as arrays.
#![allow(unsafe_code, reason = "raw memory is what these kernels are for")]

use super::{fold, pick};
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr;

pub fn pointers(i: usize, input: &[u32], out: &mut [u32]) {
    let start = input.as_ptr();
    // SAFETY: the input has at least 32 words, and all accesses stay in them.
    unsafe {
        let at = start.add(i % 16);
        out[0] = at.add(3).read() ^ *at.offset(2);
        out[1] = at.offset_from(start) as u32;
        out[2] = at.cast::<u8>().add(5).cast::<u16>().read_unaligned().into();
        fold(&mut out[3..5], at.cast::<u8>().add(3).cast::<u64>().read_unaligned());
        let mut copy = [0u32; 8];
        ptr::copy_nonoverlapping(at, copy.as_mut_ptr().add(1), 6);
        ptr::copy(copy.as_ptr(), copy.as_mut_ptr().add(2), 5);
        ptr::swap(&raw mut copy[0], &raw mut copy[7]);
        out[5] = copy.iter().fold(0, |a, b| a.rotate_left(3) ^ b);
        ptr::write_bytes(copy.as_mut_ptr().cast::<u8>().add(i % 7), 0x5a, 9 + i % 8);
        out[6] = copy.iter().fold(0, |a, b| a.rotate_left(3) ^ b);
        let slice = ptr::slice_from_raw_parts(start, 5 + i % 3);
        out[7] = slice.len() as u32 ^ (*slice)[4] ^ u32::from(at.cast::<u8>().align_offset(16) as u8);
    }
}

pub fn uninitialised(i: usize, input: &[u32], out: &mut [u32]) {
    struct Stack<T, const N: usize> { items: [MaybeUninit<T>; N], len: usize }
    impl<T, const N: usize> Stack<T, N> {
        const fn new() -> Self { Self { items: [const { MaybeUninit::uninit() }; N], len: 0 } }
        fn push(&mut self, item: T) -> Result<(), T> {
            if self.len == N { return Err(item); }
            self.items[self.len].write(item);
            self.len += 1;
            Ok(())
        }
        fn pop(&mut self) -> Option<T> {
            self.len = self.len.checked_sub(1)?;
            // SAFETY: places below the length have been written.
            Some(unsafe { self.items[self.len].assume_init_read() })
        }
    }
    impl<T, const N: usize> Drop for Stack<T, N> { fn drop(&mut self) { while self.pop().is_some() {} } }
    use core::cell::Cell;
    struct Noisy<'a>(u32, &'a Cell<u32>);
    impl Drop for Noisy<'_> { fn drop(&mut self) { self.1.set(self.1.get().rotate_left(3) ^ self.0); } }
    let dropped = Cell::new(0);
    {
        let mut stack = Stack::<Noisy<'_>, 6>::new();
        for k in 0..i % 9 + 1 {
            if let Err(back) = stack.push(Noisy(pick(input, i, k), &dropped)) { out[0] ^= back.0; }
            if k % 4 == 3 { let _ = stack.pop().map(ManuallyDrop::new); }
        }
        out[1] = stack.len as u32;
        out[2] = dropped.get();
    }
    out[3] = dropped.get();
}

pub fn unions(i: usize, input: &[u32], out: &mut [u32]) {
    #[repr(C)]
    #[derive(Clone, Copy)]
    union Word { word: u32, bytes: [u8; 4], halves: (u16, i16), real: f32 }
    #[repr(C, packed)]
    #[derive(Clone, Copy)]
    struct Packed { tag: u8, long: u64, half: u16 }
    let mut words: [Word; 4] = core::array::from_fn(|k| Word { word: pick(input, i, k) });
    let mut bytes = pick(input, i, 1).to_ne_bytes();
    bytes[i % 4] = 0x7e;
    words[1] = Word { bytes };
    words[2].halves.1 = -2;
    words[3].real = (i as f32) * 0.5;
    // SAFETY: every pattern of bits is a value of all members.
    for (slot, w) in out.iter_mut().zip(&words) { *slot = unsafe { w.word ^ u32::from(w.bytes[2]) << 3 ^ u32::from(w.halves.0) }; }
    let packed: [Packed; 3] = core::array::from_fn(|k| Packed { tag: k as u8, long: u64::from(pick(input, i, k)) << 13, half: i as u16 });
    let chosen = packed[i % 3];
    fold(&mut out[4..6], { chosen.long } ^ u64::from(chosen.half) << 40 ^ u64::from(chosen.tag));
    // SAFETY: the structure has no padding.
    let bytes: [u8; 33] = unsafe { core::mem::transmute(packed) };
    out[6] = bytes.iter().fold(0, |a, b| a.rotate_left(5) ^ u32::from(*b));
    out[7] = u32::from_ne_bytes([bytes[1 + i % 8], bytes[9], bytes[12], bytes[32]]);
}

pub fn volatile(i: usize, input: &[u32], out: &mut [u32]) {
    let mut mailbox = [0u8; 12];
    for k in 0..20usize {
        let place = &raw mut mailbox[(k * 5 + i) % 12];
        // SAFETY: the place is an element.
        unsafe { place.write_volatile(place.read_volatile().wrapping_mul(3) ^ pick(input, i, k) as u8) };
    }
    // SAFETY: all are elements of slices.
    unsafe {
        (&raw mut out[0]).write_volatile(ptr::from_ref(&mailbox).cast::<u32>().read_unaligned());
        (&raw mut out[1]).write_volatile((&raw const input[i]).read_volatile());
        let long = ptr::from_mut(&mut mailbox).cast::<u64>();
        long.write_unaligned(long.read_unaligned().rotate_left(i as u32));
    }
    out[2] = mailbox.iter().map(|b| u32::from(*b)).sum();
}

pub fn bytes_and_halves(i: usize, input: &[u32], out: &mut [u32]) {
    let mut bytes = [0u8; 24];
    for (k, b) in bytes.iter_mut().enumerate() { *b = (pick(input, i, k / 4) >> (8 * (k % 4))) as u8; }
    let mut halves: [u16; 12] = core::array::from_fn(|k| u16::from_be_bytes([bytes[2 * k], bytes[2 * k + 1]]));
    for k in 1..halves.len() { halves[k] = halves[k].wrapping_mul(halves[k - 1] | 1).wrapping_add(k as u16); }
    for (b, h) in bytes.iter_mut().zip(halves) { *b = b.saturating_add((h >> 8) as u8).min(h as u8 | 0x80); }
    bytes[i % 9..].iter_mut().step_by(2).for_each(|b| *b = b.swap_nibbles());
    let signed: [i8; 24] = bytes.map(|b| b as i8);
    for (slot, part) in out.iter_mut().zip(bytes.chunks_exact(4)) { *slot = u32::from_le_bytes([part[0], part[1], part[2], part[3]]); }
    out[6] = signed.iter().map(|x| i32::from(*x)).sum::<i32>() as u32;
    out[7] = halves.iter().map(|h| u32::from(*h)).max().unwrap_or(0) | u32::from(halves[i % 12]) << 16;
}

trait Nibbles { fn swap_nibbles(self) -> Self; }
impl Nibbles for u8 { fn swap_nibbles(self) -> u8 { self.rotate_left(4) } }

/// Vectors of as many elements as a register has room for, and more.
#[derive(Clone, Copy, PartialEq)]
#[repr(align(16))]
struct Lanes<T, const N: usize>([T; N]);
impl<T: Copy, const N: usize> Lanes<T, N> {
    fn zip(self, other: Self, f: impl Fn(T, T) -> T) -> Self { Self(core::array::from_fn(|k| f(self.0[k], other.0[k]))) }
    fn shuffle(self, by: [u8; N]) -> Self { Self(by.map(|k| self.0[k as usize % N])) }
}

pub fn lanes(i: usize, input: &[u32], out: &mut [u32]) {
    let a = Lanes::<u16, 8>(core::array::from_fn(|k| pick(input, i, k) as u16));
    let b = Lanes::<u16, 8>(core::array::from_fn(|k| (pick(input, i, k) >> 16) as u16));
    let sum = a.zip(b, u16::wrapping_add).shuffle([7, 0, 3, 2, 5, 5, 1, i as u8]);
    let clamped = sum.zip(a, |x, y| x.saturating_sub(y).max(x >> 3));
    let reals = Lanes::<f32, 4>(core::array::from_fn(|k| f32::from(clamped.0[k]) * 0.125));
    let dots = reals.zip(reals.shuffle([3, 2, 1, 0]), |x, y| x * y + 1.0);
    for k in 0..4 {
        out[k] = u32::from(clamped.0[2 * k]) | u32::from(clamped.0[2 * k + 1]) << 16;
        out[4 + k] = dots.0[k].to_bits();
    }
    let bytes = Lanes::<i8, 16>(core::array::from_fn(|k| (input[k] >> (i % 24)) as i8));
    out[0] ^= bytes.zip(bytes.shuffle(core::array::from_fn(|k| k as u8 ^ 5)), |x, y| x.wrapping_mul(y)).0.iter().fold(0, |s, x| s + i32::from(*x)) as u32;
    out[1] ^= u32::from(bytes == bytes.shuffle(core::array::from_fn(|k| k as u8)));
}

pub fn arena(i: usize, input: &[u32], out: &mut [u32]) {
    // Places of any type and alignment out of an array of bytes, and a list that goes through them.
    #[repr(C, align(8))]
    struct Arena { bytes: [MaybeUninit<u8>; 256], used: usize }
    impl Arena {
        fn place<T>(&mut self, value: T) -> Option<*mut T> {
            let start = self.used.next_multiple_of(align_of::<T>());
            let end = start + size_of::<T>();
            if end > self.bytes.len() { return None; }
            self.used = end;
            // SAFETY: the place is inside, aligned, and nobody else's.
            unsafe {
                let place = self.bytes.as_mut_ptr().add(start).cast::<T>();
                place.write(value);
                Some(place)
            }
        }
    }
    struct Node { value: u32, small: u8, next: *mut Node }
    let mut arena = Arena { bytes: [MaybeUninit::uninit(); 256], used: 0 };
    let mut head: *mut Node = ptr::null_mut();
    let mut count = 0;
    for k in 0..40 {
        if k % 3 == 0 { let _ = arena.place(k as u8); }
        match arena.place(Node { value: pick(input, i, k), small: k as u8, next: head }) {
            Some(node) => { head = node; count += 1; }
            None => break,
        }
    }
    // SAFETY: links lead to nodes of the arena or are null.
    unsafe {
        let mut previous = ptr::null_mut();
        while !head.is_null() { let next = (*head).next; (*head).next = previous; (previous, head) = (head, next); }
        let mut at = previous;
        while let Some(node) = at.as_ref() {
            out[1] = out[1].rotate_left(3) ^ node.value ^ u32::from(node.small);
            at = node.next;
        }
    }
    out[0] = count | (arena.used as u32) << 8;
}
