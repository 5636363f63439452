// What the items of a work-group do together, by memory that they share and by barriers. On the host each item is a thread.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::{AcqRel, Acquire, Relaxed, Release}};

/// Items of a group.
pub const ITEMS: usize = 64;

/// What a group shares: undefined at the start.
#[repr(C)]
pub struct Shared {
    pub longs: [AtomicU64; 32],
    pub words: [AtomicU32; 128],
    pub halves: [AtomicU16; 32],
    pub bytes: [AtomicU8; 64],
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            longs: [const { AtomicU64::new(0) }; 32],
            words: [const { AtomicU32::new(0) }; 128],
            halves: [const { AtomicU16::new(0) }; 32],
            bytes: [const { AtomicU8::new(0) }; 64],
        }
    }
}

/// An item's view of its group.
pub struct Group<'a, B: Fn()> {
    /// Number of the item in the group.
    pub item: usize,
    /// Number of the group.
    pub group: usize,
    pub shared: &'a Shared,
    /// All items come here before one goes on.
    pub barrier: B,
    pub input: &'a [u32],
    /// As many words as there are items, of all groups.
    pub output: &'a [AtomicU32],
}

impl<B: Fn()> Group<'_, B> {
    fn id(&self) -> usize { self.group * ITEMS + self.item }
    fn value(&self) -> u32 { self.input[self.id() % self.input.len()] }
    fn put(&self, value: u32) { self.output[self.id()].store(value, Relaxed); }
}

pub fn scan(g: &Group<'_, impl Fn()>) {
    let words = &g.shared.words;
    words[g.item].store(g.value(), Relaxed);
    (g.barrier)();
    for step in 0..6 {
        let from = g.item.checked_sub(1 << step).map_or(0, |k| words[k].load(Relaxed));
        (g.barrier)();
        words[g.item].store(words[g.item].load(Relaxed).wrapping_add(from), Relaxed);
        (g.barrier)();
    }
    g.put(words[g.item].load(Relaxed));
}

pub fn bitonic_sort(g: &Group<'_, impl Fn()>) {
    let words = &g.shared.words;
    words[g.item].store(g.value(), Relaxed);
    (g.barrier)();
    let mut size = 2;
    while size <= ITEMS {
        let mut by = size / 2;
        while by > 0 {
            let other = g.item ^ by;
            if other > g.item {
                let (a, b) = (words[g.item].load(Relaxed), words[other].load(Relaxed));
                if (a > b) == (g.item & size == 0) {
                    words[g.item].store(b, Relaxed);
                    words[other].store(a, Relaxed);
                }
            }
            (g.barrier)();
            by /= 2;
        }
        size *= 2;
    }
    g.put(words[g.item].load(Relaxed));
}

pub fn histogram(g: &Group<'_, impl Fn()>) {
    let s = g.shared;
    s.bytes[g.item].store(0, Relaxed);
    if g.item < 32 { s.halves[g.item].store(7, Relaxed); }
    (g.barrier)();
    for k in 0..5 {
        let value = g.input[(g.id() * 5 + k) % g.input.len()];
        s.bytes[value as usize % 64].fetch_add(1, Relaxed);
        s.halves[value as usize % 32].fetch_xor((value >> 8) as u16, Relaxed);
    }
    (g.barrier)();
    g.put(u32::from(s.bytes[g.item].load(Relaxed)) | u32::from(s.halves[g.item % 32].load(Relaxed)) << 16);
}

pub fn reduction(g: &Group<'_, impl Fn()>) {
    let s = g.shared;
    if g.item == 0 {
        s.longs[0].store(0, Relaxed);
        s.longs[1].store(u64::MAX, Relaxed);
        s.words[0].store(1f32.to_bits(), Relaxed);
    }
    (g.barrier)();
    let wide = u64::from(g.value()) << 20 | g.item as u64;
    s.longs[0].fetch_max(wide, AcqRel);
    s.longs[1].fetch_min(wide, Relaxed);
    // The largest float by compare and swap.
    let mine = (g.value() >> 8) as f32;
    let mut seen = s.words[0].load(Acquire);
    while f32::from_bits(seen) < mine {
        match s.words[0].compare_exchange_weak(seen, mine.to_bits(), AcqRel, Acquire) {
            Ok(_) => break,
            Err(now) => seen = now,
        }
    }
    (g.barrier)();
    let total = s.longs[0].load(Acquire) ^ s.longs[1].load(Acquire).rotate_left(g.item as u32);
    g.put(total as u32 ^ (total >> 32) as u32 ^ s.words[0].load(Relaxed));
}

pub fn counters(g: &Group<'_, impl Fn()>) {
    // All groups count in global memory: the result does not depend on their order.
    let value = g.value();
    g.output[value as usize % 16].fetch_add(value, Relaxed);
    g.output[16 + value as usize % 16].fetch_or(1 << (value >> 27), Release);
    g.output[32 + value as usize % 16].fetch_max(value >> 3, AcqRel);
    g.output[48 + value as usize % 16].fetch_xor(value.rotate_left(g.item as u32), Relaxed);
    let _ = g.output[64].fetch_update(AcqRel, Relaxed, |x| Some(x.wrapping_add(value % 1000)));
}

pub fn tickets(g: &Group<'_, impl Fn()>) {
    // Items take places in any order; what is in them together is the same.
    let s = g.shared;
    if g.item == 0 { s.words[100].store(0, Relaxed); }
    (g.barrier)();
    if g.value() % 3 != 0 {
        let place = s.words[100].fetch_add(1, Relaxed) as usize;
        s.words[place].store(g.value(), Relaxed);
    }
    (g.barrier)();
    let count = s.words[100].load(Relaxed) as usize;
    let sum = s.words[..count].iter().map(|w| w.load(Relaxed)).fold(0, u32::wrapping_add);
    let above = s.words[..count].iter().filter(|w| w.load(Relaxed) > g.value()).count() as u32;
    g.put(sum ^ above << 8 ^ count as u32);
}

pub fn transpose(g: &Group<'_, impl Fn()>) {
    // A tile of 8 by 8, with bytes and halves beside it, from pointers that are known at run time alone.
    let s = g.shared;
    let (row, column) = (g.item / 8, g.item % 8);
    s.words[row * 9 + column].store(g.value(), Relaxed);
    s.bytes[g.item].store(g.value() as u8, Relaxed);
    (g.barrier)();
    let tables: [&dyn Fn(usize) -> u32; 2] = [&|k| s.words[k % 8 * 9 + k / 8].load(Relaxed), &|k| u32::from(s.bytes[63 - k].load(Relaxed))];
    g.put(tables[g.item % 2](g.item) ^ tables[(g.item / 3) % 2](g.item));
}

pub fn neighbours(g: &Group<'_, impl Fn()>) {
    // A cellular automaton, one bit an item, by rows of the shared bytes.
    let s = g.shared;
    s.bytes[g.item].store((g.value() & 1) as u8, Relaxed);
    let mut history = 0;
    (g.barrier)();
    for _ in 0..20 {
        let at = |k: usize| usize::from(s.bytes[k % ITEMS].load(Relaxed));
        let rule = at(g.item + ITEMS - 1) << 2 | at(g.item) << 1 | at(g.item + 1);
        (g.barrier)();
        s.bytes[g.item].store(110 >> rule & 1, Relaxed);
        history = history << 1 | u32::from(s.bytes[g.item].load(Relaxed));
        (g.barrier)();
    }
    g.put(history);
}

/// Hands all functions above to a macro.
#[macro_export]
macro_rules! for_each_group_kernel {
    ($do:ident) => {
        $do! { scan bitonic_sort histogram reduction counters tickets transpose neighbours }
    };
}
