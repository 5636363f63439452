// What the kernels do, one function each: `fn(i, input, out)` computes work-item `i`'s part from the input alone. The same file is compiled by rustc for the
// GPU and for the host, so everything here is `core` and deterministic.

use core::cmp::{Ordering, Reverse};
use core::fmt::{self, Write};

pub mod data;
pub mod group;
pub mod memory;
pub mod numbers;
pub use data::*;
pub use memory::*;
pub use numbers::*;

fn pick(input: &[u32], i: usize, k: usize) -> u32 {
    input[(i * 7 + k * 13) % input.len()]
}

fn fold(out: &mut [u32], value: u64) {
    for slot in out.iter_mut() {
        *slot = slot.rotate_left(5) ^ value as u32;
    }
    if let Some(last) = out.last_mut() {
        *last = last.wrapping_add((value >> 32) as u32);
    }
}

pub fn slices(i: usize, input: &[u32], out: &mut [u32]) {
    let (left, right) = input.split_at(i % input.len());
    out[0] = left.iter().fold(0, |a, b| a ^ b);
    out[1] = right.first().copied().unwrap_or(7);
    out[2] = input.windows(3).filter(|w| w[0] < w[1] && w[1] < w[2]).count() as u32;
    out[3] = input.chunks(5).map(|c| c.len() as u32 * c[0]).fold(1, u32::wrapping_add);
    out[4..8].copy_from_slice(&input[i % 8..i % 8 + 4]);
}

pub fn iterators(i: usize, input: &[u32], out: &mut [u32]) {
    let evens = input.iter().skip(i % 5).step_by(2).zip(input.iter().rev());
    out[0] = evens.map(|(a, b)| a.wrapping_mul(*b)).fold(0, u32::wrapping_add);
    out[1] = input.iter().take_while(|x| **x % 17 != 3).count() as u32;
    out[2] = input.iter().copied().max_by_key(|x| x.count_ones() * 100 + (x % 100)).unwrap_or(0);
    out[3] = input.iter().position(|x| *x as usize % 11 == i % 11).map_or(u32::MAX, |p| p as u32);
    out[4] = (0..i as u32).flat_map(|a| (0..a % 4).map(move |b| a * b)).sum();
    out[5] = input.iter().scan(1u32, |s, x| { *s = s.wrapping_mul(31).wrapping_add(*x); Some(*s) }).last().unwrap_or(0);
}

pub fn closures(i: usize, input: &[u32], out: &mut [u32]) {
    fn apply(f: impl Fn(u32) -> u32, n: usize, x: u32) -> u32 {
        (0..n).fold(x, |x, _| f(x))
    }
    let key = pick(input, i, 0);
    let mut calls = 0;
    let mut count = |x: u32| { calls += 1; x ^ key };
    out[0] = count(1) ^ count(2).rotate_left(3);
    out[1] = calls;
    out[2] = apply(|x| x.wrapping_mul(key | 1).wrapping_add(7), i % 9, key);
    out[3] = apply(|x| if x % 2 == 0 { x / 2 } else { x.wrapping_mul(3).wrapping_add(1) }, 20, key & 0xffff);
}

trait Shape {
    fn area(&self) -> u32;
    fn name(&self) -> &'static str { "shape" }
}
struct Square(u32);
struct Rectangle { width: u32, height: u32 }
struct Many<'a>(&'a [&'a dyn Shape]);
impl Shape for Square {
    fn area(&self) -> u32 { self.0.wrapping_mul(self.0) }
    fn name(&self) -> &'static str { "square" }
}
impl Shape for Rectangle {
    fn area(&self) -> u32 { self.width.wrapping_mul(self.height) }
}
impl Shape for Many<'_> {
    fn area(&self) -> u32 { self.0.iter().map(|s| s.area()).fold(0, u32::wrapping_add) }
    fn name(&self) -> &'static str { "many" }
}

pub fn trait_objects(i: usize, input: &[u32], out: &mut [u32]) {
    let (a, b) = (Square(pick(input, i, 1)), Rectangle { width: pick(input, i, 2), height: i as u32 });
    let inner: [&dyn Shape; 2] = [&b, &a];
    let many = Many(&inner);
    let all: [&dyn Shape; 3] = [&a, &b, &many];
    let chosen = all[i % 3];
    out[0] = chosen.area();
    out[1] = chosen.name().len() as u32;
    out[2] = all.iter().map(|s| s.area() ^ s.name().len() as u32).fold(0, u32::wrapping_add);
}

pub fn function_pointers(i: usize, input: &[u32], out: &mut [u32]) {
    fn add(a: u32, b: u32) -> u32 { a.wrapping_add(b) }
    fn sub(a: u32, b: u32) -> u32 { a.wrapping_sub(b) }
    fn mix(a: u32, b: u32) -> u32 { (a ^ b).rotate_left(b & 31) }
    let table: [fn(u32, u32) -> u32; 3] = [add, sub, mix];
    let mut x = i as u32;
    for (k, value) in input.iter().take(12).enumerate() {
        x = table[(k + i) % 3](x, *value);
    }
    out[0] = x;
}

pub fn wide(i: usize, input: &[u32], out: &mut [u32]) {
    let word = |k| u128::from(pick(input, i, k));
    let a = word(0) << 96 | word(1) << 64 | word(2) << 32 | word(3);
    let b = word(4) << 40 | word(5) | 1;
    let product = a.wrapping_mul(b);
    fold(out, product as u64);
    fold(out, (product >> 64) as u64);
    fold(out, a.leading_zeros().into());
    let (sum, carry) = a.overflowing_add(b << 80);
    fold(out, (sum >> 37) as u64 ^ u64::from(carry));
    fold(out, ((a as i128) >> 70) as u64);
}

pub fn wide_division(i: usize, input: &[u32], out: &mut [u32]) {
    let word = |k| u128::from(pick(input, i, k));
    let a = word(0) << 96 | word(1) << 64 | word(2) << 32 | word(3);
    let b = (word(4) << 32 | word(5)) >> (i % 64) | 1;
    fold(out, (a / b) as u64);
    fold(out, ((a / b) >> 64) as u64);
    fold(out, (a % b) as u64);
    fold(out, ((a as i128) / -(b as i128 >> 3 | 1)) as u64);
}

pub fn division(i: usize, input: &[u32], out: &mut [u32]) {
    let (a, b) = (pick(input, i, 1), pick(input, i, 2) >> (i % 32) | 1);
    out[0] = a / b;
    out[1] = a % b;
    out[2] = (a as i32).wrapping_div(-(b as i32 & 0xffff) | 1) as u32;
    let (c, d) = (u64::from(a) << 32 | u64::from(pick(input, i, 3)), u64::from(b) << (i % 31) | 1);
    fold(&mut out[3..6], c / d);
    fold(&mut out[3..6], c % d);
    fold(&mut out[3..6], (c as i64).rem_euclid(d as i64 | 3) as u64);
    out[6] = u32::from((a as u16) / (b as u16 | 1)) << 8 | u32::from((a as u8) % (b as u8 | 1));
}

/// Text in a fixed buffer.
struct Text { bytes: [u8; 160], len: usize }
impl Text {
    fn new() -> Self { Self { bytes: [0; 160], len: 0 } }
    fn digest(&self) -> u64 {
        self.bytes[..self.len].iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
    }
}
impl Write for Text {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let end = self.len + s.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(s.as_bytes());
        self.len = end;
        Ok(())
    }
}

pub fn format_integers(i: usize, input: &[u32], out: &mut [u32]) {
    let mut text = Text::new();
    let x = pick(input, i, 3);
    let ok = write!(text, "{x} {:>12} {:08x} {:#b} {}", x as i32, x, i, u64::from(x) * 1_000_003).is_ok();
    out[0] = u32::from(ok);
    out[1] = text.len as u32;
    fold(&mut out[2..5], text.digest());
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token { Number(i64), Plus, Times, Open, Close, End }
#[derive(Debug)]
#[allow(dead_code, reason = "read by the derived Debug alone")]
struct Record<'a> { name: &'a str, values: [i32; 3], flag: Option<bool>, token: Token }

pub fn format_debug(i: usize, input: &[u32], out: &mut [u32]) {
    let mut text = Text::new();
    let values = [pick(input, i, 0) as i32 >> 20, i as i32, -7];
    let flag = if i.is_multiple_of(3) { None } else { Some(i.is_multiple_of(2)) };
    let record = Record { name: if i.is_multiple_of(2) { "even" } else { "o\"dd" }, values, flag, token: Token::Number(i as i64 - 9) };
    out[0] = u32::from(write!(text, "{record:?}").is_ok());
    out[1] = text.len as u32;
    fold(&mut out[2..5], text.digest());
}

pub fn format_floats(i: usize, input: &[u32], out: &mut [u32]) {
    let mut text = Text::new();
    let x = f64::from(pick(input, i, 1)) / 1024.0 - 77.5;
    out[0] = u32::from(write!(text, "{x:.3} {x:e} {}", x as f32 * 0.5).is_ok());
    out[1] = text.len as u32;
    fold(&mut out[2..5], text.digest());
}

pub fn parse_numbers(i: usize, input: &[u32], out: &mut [u32]) {
    let mut text = Text::new();
    let _ = write!(text, "{},{},x{}", pick(input, i, 0), pick(input, i, 1) as i32, i);
    let Ok(text) = core::str::from_utf8(&text.bytes[..text.len]) else { return };
    for (k, part) in text.split(',').enumerate() {
        out[k] = match part.parse::<i64>() {
            Ok(n) => n as u32 ^ (n >> 32) as u32,
            Err(_) => part.len() as u32 | 0x8000_0000,
        };
    }
}

pub fn sort_stable_insertion(i: usize, input: &[u32], out: &mut [u32]) {
    let mut a = [0u32; 16];
    for (k, slot) in a.iter_mut().enumerate() {
        *slot = pick(input, i, k) & 0xff0f;
    }
    for k in 1..a.len() {
        let mut j = k;
        while j > 0 && a[j - 1] & 15 > a[j] & 15 {
            a.swap(j - 1, j);
            j -= 1;
        }
    }
    out.copy_from_slice(&a[4..12]);
}

pub fn sort_unstable(i: usize, input: &[u32], out: &mut [u32]) {
    let mut a = [0u32; 40];
    for (k, slot) in a.iter_mut().enumerate() {
        *slot = pick(input, i, k);
    }
    a.sort_unstable();
    out[..4].copy_from_slice(&a[..4]);
    a.sort_unstable_by_key(|x| Reverse(x.swap_bytes()));
    out[4..8].copy_from_slice(&a[30..34]);
}

pub fn heap(i: usize, input: &[u32], out: &mut [u32]) {
    let mut a = [0u32; 24];
    for (k, slot) in a.iter_mut().enumerate() {
        *slot = pick(input, i, k) % 1000;
    }
    fn sift(a: &mut [u32], mut root: usize) {
        loop {
            let mut child = 2 * root + 1;
            if child >= a.len() { return; }
            if child + 1 < a.len() && a[child] < a[child + 1] { child += 1; }
            if a[root] >= a[child] { return; }
            a.swap(root, child);
            root = child;
        }
    }
    for root in (0..a.len() / 2).rev() { sift(&mut a, root); }
    for end in (1..a.len()).rev() {
        a.swap(0, end);
        sift(&mut a[..end], 0);
    }
    out.copy_from_slice(&a[i % 16..i % 16 + 8]);
}

pub fn select_nth(i: usize, input: &[u32], out: &mut [u32]) {
    let mut a = [0u32; 21];
    for (k, slot) in a.iter_mut().enumerate() { *slot = pick(input, i, k * 3); }
    let (_, median, _) = a.select_nth_unstable(10);
    out[0] = *median;
    a.sort_unstable();
    out[1] = a.binary_search(&pick(input, i, 6)).map_or_else(|e| e as u32 | 256, |p| p as u32);
    out[2] = a.partition_point(|x| *x < 1 << 31) as u32;
}

/// A hash map with open addressing and a fixed number of places.
struct Map<V> { slots: [Option<(u32, V)>; 32], len: usize }
impl<V: Copy + Default> Map<V> {
    fn new() -> Self { Self { slots: [None; 32], len: 0 } }
    fn place(&self, key: u32) -> Option<usize> {
        let start = (key.wrapping_mul(0x9e37_79b1) >> 27) as usize;
        (0..32).map(|k| (start + k) % 32).find(|&p| self.slots[p].is_none_or(|(k, _)| k == key))
    }
    fn entry(&mut self, key: u32) -> Option<&mut V> {
        let place = self.place(key)?;
        if self.slots[place].is_none() { self.len += 1; }
        Some(&mut self.slots[place].get_or_insert((key, V::default())).1)
    }
}

pub fn hash_map(i: usize, input: &[u32], out: &mut [u32]) {
    let mut map = Map::<u32>::new();
    for k in 0..40 {
        if let Some(count) = map.entry(pick(input, i, k) % 37) { *count += k as u32 + 1; }
    }
    out[0] = map.len as u32;
    for k in 0..6 {
        out[1 + k] = map.place(k as u32 * 5).and_then(|p| map.slots[p]).map_or(9999, |(k, v)| k << 16 | v);
    }
}

pub fn siphash(i: usize, input: &[u32], out: &mut [u32]) {
    #[allow(deprecated, reason = "the one hasher that core has")]
    use core::hash::{Hash, Hasher, SipHasher};
    #[allow(deprecated, reason = "the one hasher that core has")]
    let mut hasher = SipHasher::new_with_keys(i as u64, 77);
    input[..i % 9 + 1].hash(&mut hasher);
    ("text", Some(i as u8)).hash(&mut hasher);
    fold(out, hasher.finish());
}

fn expression(tokens: &[Token], at: &mut usize) -> i64 {
    let mut sum = product(tokens, at);
    while tokens.get(*at) == Some(&Token::Plus) {
        *at += 1;
        sum = sum.wrapping_add(product(tokens, at));
    }
    sum
}
fn product(tokens: &[Token], at: &mut usize) -> i64 {
    let mut value = atom(tokens, at);
    while tokens.get(*at) == Some(&Token::Times) {
        *at += 1;
        value = value.wrapping_mul(atom(tokens, at));
    }
    value
}
fn atom(tokens: &[Token], at: &mut usize) -> i64 {
    let token = tokens.get(*at).copied().unwrap_or(Token::End);
    *at += 1;
    match token {
        Token::Number(n) => n,
        Token::Open => {
            let value = expression(tokens, at);
            if tokens.get(*at) == Some(&Token::Close) { *at += 1; }
            value
        }
        _ => -1,
    }
}

pub fn recursion(i: usize, input: &[u32], out: &mut [u32]) {
    let n = |k| Token::Number(i64::from(pick(input, i, k) % 100));
    let tokens = [n(0), Token::Plus, Token::Open, n(1), Token::Times, Token::Open, n(2), Token::Plus, n(3), Token::Close,
        Token::Plus, n(4), Token::Close, Token::Times, n(5), Token::End];
    let mut at = i % 4;
    fold(out, expression(&tokens, &mut at) as u64);
    out[7] = at as u32;
    fn ackermann(m: u32, n: u32) -> u32 {
        match (m, n) { (0, n) => n + 1, (m, 0) => ackermann(m - 1, 1), (m, n) => ackermann(m - 1, ackermann(m, n - 1)) }
    }
    out[6] = ackermann(1 + i as u32 % 2, i as u32 % 4);
}

pub fn options(i: usize, input: &[u32], out: &mut [u32]) {
    fn half(x: u32) -> Option<u32> { if x.is_multiple_of(2) { Some(x / 2) } else { None } }
    fn steps(x: u32) -> Result<u32, u8> {
        let a = half(x).ok_or(1)?;
        let b = half(a).ok_or(2)?;
        half(b).ok_or(3)
    }
    out[0] = match steps(pick(input, i, 0)) { Ok(x) => x, Err(e) => 0xe000_0000 | u32::from(e) };
    out[1] = (0..8).filter_map(|k| half(pick(input, i, k))).fold(0, u32::wrapping_add);
    out[2] = (0..8).try_fold(0u32, |a, k| a.checked_add(pick(input, i, k) >> 2)).unwrap_or(0xdead);
}

pub fn enums(i: usize, input: &[u32], out: &mut [u32]) {
    #[derive(Clone, Copy)]
    enum Op { Push(u32), Add, Mul, Swap, Dup(u8), Nop }
    let mut stack = [0u32; 8];
    let mut depth = 2;
    for k in 0..20 {
        let r = pick(input, i, k);
        let op = match r % 6 { 0 => Op::Push(r >> 8), 1 => Op::Add, 2 => Op::Mul, 3 => Op::Swap, 4 => Op::Dup((r >> 9) as u8 % 2), _ => Op::Nop };
        match op {
            Op::Push(x) if depth < 8 => { stack[depth] = x; depth += 1; }
            Op::Add if depth > 2 => { depth -= 1; stack[depth - 1] = stack[depth - 1].wrapping_add(stack[depth]); }
            Op::Mul if depth > 2 => { depth -= 1; stack[depth - 1] = stack[depth - 1].wrapping_mul(stack[depth]); }
            Op::Swap => stack.swap(depth - 1, depth - 2),
            Op::Dup(n) if depth < 8 => { stack[depth] = stack[depth - 1 - n as usize]; depth += 1; }
            _ => {}
        }
    }
    out.copy_from_slice(&stack);
}

pub fn overflow(i: usize, input: &[u32], out: &mut [u32]) {
    let (a, b) = (pick(input, i, 0), pick(input, i, 1));
    out[0] = a.saturating_add(b) ^ a.saturating_sub(b);
    out[1] = (a as i32).saturating_add(b as i32) as u32;
    out[2] = a.checked_mul(b & 0xff).unwrap_or(1);
    out[3] = u32::from((a as i8).wrapping_mul(b as i8) as u8) | u32::from((a as u16).saturating_mul(b as u16)) << 8;
    let (x, o) = (a as i64 * 0x7_0000_0001).overflowing_mul(b as i64 >> 3);
    fold(&mut out[4..6], x as u64 ^ u64::from(o));
    out[6] = (a as i16).checked_neg().map_or(5, |x| x as u32);
}

pub fn bits(i: usize, input: &[u32], out: &mut [u32]) {
    let (a, b) = (pick(input, i, 0), u64::from(pick(input, i, 1)) << 32 | u64::from(pick(input, i, 2)));
    out[0] = a.leading_zeros() | a.trailing_zeros() << 8 | a.count_ones() << 16;
    out[1] = a.reverse_bits() ^ a.swap_bytes();
    out[2] = a.rotate_right(i as u32) ^ (a as u16).rotate_left(3) as u32;
    out[3] = b.leading_zeros() | b.trailing_zeros() << 8 | b.count_ones() << 16;
    fold(&mut out[4..8], b.reverse_bits() ^ b.swap_bytes().rotate_left(i as u32 * 3));
}

pub fn floats(i: usize, input: &[u32], out: &mut [u32]) {
    let x = pick(input, i, 0) as i32 as f32 / 65536.0;
    let y = (pick(input, i, 1) % 1000) as f32 * 0.25 + 1.0;
    out[0] = (x * y + 3.0).to_bits();
    out[1] = (x / y).to_bits();
    out[2] = x.max(y).min(100.0).to_bits() ^ x.abs().to_bits();
    out[3] = (x as i32 as u32) ^ (y as u8 as u32) << 24;
    out[4] = x.total_cmp(&y) as i32 as u32;
    let d = f64::from(x) * 1e10 / f64::from(y);
    fold(&mut out[5..7], d.to_bits());
    out[7] = d as i64 as u32 ^ (d as u32);
}

pub fn matrices(i: usize, input: &[u32], out: &mut [u32]) {
    type M = [[i32; 3]; 3];
    fn mul(a: &M, b: &M) -> M {
        core::array::from_fn(|r| core::array::from_fn(|c| (0..3).map(|k| a[r][k].wrapping_mul(b[k][c])).fold(0, i32::wrapping_add)))
    }
    let mut m: M = core::array::from_fn(|r| core::array::from_fn(|c| pick(input, i, 3 * r + c) as i32 >> 16));
    let base = m;
    for _ in 0..i % 6 { m = mul(&m, &base); }
    for (slot, x) in out.iter_mut().zip(m.as_flattened()) { *slot = *x as u32; }
}

pub fn strings(i: usize, input: &[u32], out: &mut [u32]) {
    const WORDS: [&str; 6] = ["alpha", "Βeta", "gamma-ray", "", "δ", "epsilon"];
    let word = WORDS[pick(input, i, 0) as usize % 6];
    out[0] = word.chars().rev().fold(0, |h, c| h * 31 + c as u32);
    out[1] = word.char_indices().filter(|(_, c)| c.is_alphabetic()).map(|(k, _)| k as u32).sum();
    out[2] = word.find('a').map_or(99, |p| p as u32) | (word.len() as u32) << 8;
    out[3] = WORDS.iter().filter(|w| **w < word).count() as u32;
    out[4] = word.bytes().map(|b| u32::from(b.to_ascii_uppercase())).sum();
    out[5] = match word.cmp("beta") { Ordering::Less => 1, Ordering::Equal => 2, Ordering::Greater => 3 };
}

pub fn utf8(i: usize, input: &[u32], out: &mut [u32]) {
    let mut bytes = [0u8; 24];
    let mut len = 0;
    for k in 0..6 {
        let c = char::from_u32(pick(input, i, k) % 0x12000).unwrap_or('\u{fffd}');
        len += c.encode_utf8(&mut bytes[len..]).len();
    }
    if i % 4 == 3 { bytes[len / 2] ^= 0x80; }
    out[0] = len as u32;
    match core::str::from_utf8(&bytes[..len]) {
        Ok(s) => out[1] = s.chars().map(|c| c as u32).fold(0, |a, b| a.wrapping_mul(3) ^ b),
        Err(e) => out[1] = e.valid_up_to() as u32 | 0x8000_0000,
    }
}

pub fn generics(i: usize, input: &[u32], out: &mut [u32]) {
    trait Monoid: Copy { const ZERO: Self; fn join(self, other: Self) -> Self; fn word(self) -> u32; }
    impl Monoid for u32 { const ZERO: Self = 0; fn join(self, o: Self) -> Self { self.wrapping_add(o) } fn word(self) -> u32 { self } }
    impl Monoid for bool { const ZERO: Self = false; fn join(self, o: Self) -> Self { self ^ o } fn word(self) -> u32 { self.into() } }
    impl<A: Monoid, B: Monoid> Monoid for (A, B) {
        const ZERO: Self = (A::ZERO, B::ZERO);
        fn join(self, o: Self) -> Self { (self.0.join(o.0), self.1.join(o.1)) }
        fn word(self) -> u32 { self.0.word().rotate_left(7) ^ self.1.word() }
    }
    #[inline(never)]
    fn all<M: Monoid>(it: impl Iterator<Item = M>) -> M { it.fold(M::ZERO, M::join) }
    out[0] = all((0..9).map(|k| pick(input, i, k))).word();
    out[1] = all((0..9).map(|k| (pick(input, i, k), (pick(input, i, k) & 1 == 1, k as u32)))).word();
}

pub fn big_struct(i: usize, input: &[u32], out: &mut [u32]) {
    #[derive(Clone)]
    struct Big { words: [u32; 40], at: usize }
    impl Big {
        #[inline(never)]
        fn stepped(self, seed: u32) -> Self {
            let mut next = self.clone();
            next.words[self.at] = next.words[self.at].wrapping_add(seed);
            next.at = (self.at + seed as usize) % 40;
            next
        }
    }
    let mut big = Big { words: core::array::from_fn(|k| pick(input, i, k)), at: i % 40 };
    for k in 0..10 { big = big.stepped(pick(input, i, k) % 97); }
    out[0] = big.words.iter().fold(0, |a, b| a.rotate_left(1) ^ b);
    out[1] = big.at as u32;
}

pub fn many_arguments(i: usize, input: &[u32], out: &mut [u32]) {
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "more than registers pass is the point")]
    fn f(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64, j: u64, k: u64, l: u64, m: u64, n: u64, o: u64, p: u64, q: u64, r: u64, s: u8) -> u64 {
        [a, b, c, d, e, f, g, h, j, k, l, m, n, o, p, q, r].iter().fold(s.into(), |x, y| x.wrapping_mul(0x1_0000_01b3) ^ y)
    }
    let w = |k| u64::from(pick(input, i, k)) << (k % 32);
    fold(out, f(w(0), w(1), w(2), w(3), w(4), w(5), w(6), w(7), w(8), w(9), w(10), w(11), w(12), w(13), w(14), w(15), w(16), i as u8));
}

pub fn crc(i: usize, input: &[u32], out: &mut [u32]) {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut n = 0;
        while n < 256 {
            let (mut c, mut k) = (n as u32, 0);
            while k < 8 { c = if c & 1 != 0 { 0xedb8_8320 ^ c >> 1 } else { c >> 1 }; k += 1; }
            table[n] = c;
            n += 1;
        }
        table
    };
    let bytes = input[i % 16..].iter().take(9).flat_map(|w| w.to_be_bytes());
    out[0] = !bytes.fold(!0u32, |c, b| TABLE[((c ^ u32::from(b)) & 255) as usize] ^ c >> 8);
}

pub fn chacha(i: usize, input: &[u32], out: &mut [u32]) {
    let mut s: [u32; 16] = core::array::from_fn(|k| pick(input, i, k));
    fn quarter(s: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
        for (x, y, z, r) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
            s[x] = s[x].wrapping_add(s[y]);
            s[z] = (s[z] ^ s[x]).rotate_left(r);
        }
    }
    for _ in 0..4 {
        for k in 0..4 { quarter(&mut s, [k, k + 4, k + 8, k + 12]); }
        for k in 0..4 { quarter(&mut s, [k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4]); }
    }
    out.copy_from_slice(&s[..8]);
}

pub fn cells(i: usize, input: &[u32], out: &mut [u32]) {
    use core::cell::{Cell, RefCell};
    let total = Cell::new(i as u32);
    let log = RefCell::new([0u32; 4]);
    let note = |x: u32| {
        total.set(total.get().wrapping_mul(5) ^ x);
        log.borrow_mut()[x as usize % 4] += 1;
    };
    for k in 0..12 { note(pick(input, i, k)); }
    out[0] = total.get();
    out[1..5].copy_from_slice(&*log.borrow());
    out[5] = u32::from(log.try_borrow_mut().is_ok());
}

pub fn linked_list(i: usize, input: &[u32], out: &mut [u32]) {
    struct Node<'a> { value: u32, next: Option<&'a Node<'a>> }
    fn build(input: &[u32], i: usize, k: usize, next: Option<&Node<'_>>) -> (u32, u32) {
        let node = Node { value: pick(input, i, k), next };
        if k == 0 {
            let mut at = Some(&node);
            let (mut sum, mut len) = (0u32, 0);
            while let Some(n) = at {
                sum = sum.rotate_left(3) ^ n.value;
                len += 1;
                at = n.next;
            }
            return (sum, len);
        }
        build(input, i, k - 1, Some(&node))
    }
    let (sum, len) = build(input, i, 3 + i % 6, None);
    (out[0], out[1]) = (sum, len);
}

pub fn generators(i: usize, input: &[u32], out: &mut [u32]) {
    struct Primes { at: u32 }
    impl Iterator for Primes {
        type Item = u32;
        fn next(&mut self) -> Option<u32> {
            loop {
                self.at += 1;
                let n = self.at;
                if (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d)) { return Some(n); }
            }
        }
    }
    let start = 2 + pick(input, i, 0) % 50;
    let mut peek = Primes { at: start }.peekable();
    out[0] = peek.next_if(|p| p % 4 == 1).unwrap_or(0);
    for slot in &mut out[1..6] { *slot = peek.next().unwrap_or(0); }
}

pub fn atomics(i: usize, input: &[u32], out: &mut [u32]) {
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
    let counter = AtomicU32::new(i as u32);
    let old = counter.fetch_add(pick(input, i, 0), Relaxed);
    let swapped = counter.compare_exchange(old.wrapping_add(pick(input, i, 0)), 77, Relaxed, Relaxed);
    out[0] = old;
    out[1] = swapped.unwrap_or(1);
    out[2] = counter.fetch_max(pick(input, i, 1), Relaxed);
    out[3] = counter.load(Relaxed);
}

/// Hands all functions above to a macro.
#[macro_export]
macro_rules! for_each_kernel {
    ($do:ident) => {
        $do! {
            slices iterators closures trait_objects function_pointers wide wide_division division format_integers format_debug
            parse_numbers sort_stable_insertion heap select_nth hash_map siphash recursion options enums overflow bits floats
            matrices strings utf8 generics big_struct many_arguments crc chacha cells linked_list generators atomics sort_unstable
            format_floats
            checked saturating narrow wide_shifts wide_checked wide_to_float fixed_point bit_tricks float_core float_functions
            float_bits mandelbrot matrix_of_floats complex_fft big_numbers modular random_numbers nonzero_and_ranges
            slice_patterns iterator_chains nested_enums results dynamic_closures trait_hierarchy const_generics format_more
            parse_floats text_search characters state_machine search_tree graph_walk compression sorts hashers sha256
            pointers uninitialised unions volatile bytes_and_halves lanes arena
        }
    };
}
