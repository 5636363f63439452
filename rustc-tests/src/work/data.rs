// Data structures, text, polymorphism and control flow.

use super::{Text, fold, pick};
use core::fmt::{self, Write as _};
use core::ops::ControlFlow;

pub fn slice_patterns(i: usize, input: &[u32], out: &mut [u32]) {
    fn sum(words: &[u32]) -> u32 {
        match words {
            [] => 1,
            [one] => one ^ 7,
            [first, .., last] if first > last => sum(&words[1..]).wrapping_add(*first),
            [_, inner @ .., last] => sum(inner).rotate_left(3) ^ last,
        }
    }
    out[0] = sum(&input[i % 8..i % 8 + i % 12]);
    let mut a: [u32; 12] = core::array::from_fn(|k| pick(input, i, k));
    a.rotate_left(i % 12);
    a[3..9].reverse();
    a.copy_within(0..4, 7);
    if let Some((left, right)) = a.split_at_mut_checked(6) { left.swap_with_slice(right); }
    out[1] = a.iter().fold(0, |h, x| h.rotate_left(5) ^ x);
    out[2] = a.iter().rposition(|x| x % 3 == 0).map_or(99, |p| p as u32);
    out[3] = a.split(|x| x % 4 == 0).map(|part| part.len() as u32).fold(0, |h, n| h * 5 + n);
    out[4] = a.rchunks(5).map(|c| c[0] % 100 * c.len() as u32).sum();
    out[5] = a.chunk_by(|x, y| x <= y).count() as u32;
    out[6] = u32::from(a.is_sorted()) | u32::from(a.starts_with(&a[..2])) << 1 | u32::from(a[..3] < a[3..]) << 2;
    out[7] = a.concat_digest();
}

trait Digest { fn concat_digest(&self) -> u32; }
impl<const N: usize> Digest for [u32; N] {
    fn concat_digest(&self) -> u32 { self.as_chunks::<4>().0.iter().map(|c| c[0] ^ c[3]).fold(N as u32, |a, b| a.wrapping_mul(3) ^ b) }
}

pub fn iterator_chains(i: usize, input: &[u32], out: &mut [u32]) {
    let words = &input[i % 9..i % 9 + 24];
    let broken = words.iter().try_for_each(|x| if x % 13 == 5 { ControlFlow::Break(*x) } else { ControlFlow::Continue(()) });
    out[0] = match broken { ControlFlow::Break(x) => x, ControlFlow::Continue(()) => 1 };
    out[1] = words.iter().chain(&input[..5]).cycle().skip(17).take(40).fold(0, |a, b| a.rotate_left(1) ^ b);
    let (even, odd): (Sum, Sum) = words.iter().partition_sums();
    (out[2], out[3]) = (even.0, odd.0);
    out[4] = words.iter().zip(words.iter().skip(1)).map(|(a, b)| a.abs_diff(*b)).min().unwrap_or(0);
    out[5] = words.iter().map_while(|x| (x % 9 != 1).then_some(x % 9)).sum();
    out[6] = words.iter().rev().enumerate().filter(|(k, _)| k % 3 == 1).fold(0, |a, (k, x)| a ^ x.rotate_left(k as u32));
    out[7] = core::iter::successors(Some(pick(input, i, 0) % 1000 + 1), |n| (*n != 1).then(|| if n % 2 == 0 { n / 2 } else { 3 * n + 1 })).count() as u32
        ^ words.iter().copied().reduce(u32::max).unwrap_or(0);
}

struct Sum(u32);
trait Partition { fn partition_sums(self) -> (Sum, Sum); }
impl<'a, T: Iterator<Item = &'a u32>> Partition for T {
    fn partition_sums(self) -> (Sum, Sum) {
        self.fold((Sum(0), Sum(0)), |(e, o), x| if x % 2 == 0 { (Sum(e.0.wrapping_add(*x)), o) } else { (e, Sum(o.0 ^ x)) })
    }
}

pub fn nested_enums(i: usize, input: &[u32], out: &mut [u32]) {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    enum Shape { Point, Circle { r: u8 }, Box(u16, u16), Tagged(Option<Result<u32, bool>>) }
    fn of(x: u32) -> Shape {
        match x % 7 {
            0 => Shape::Point,
            1 => Shape::Circle { r: (x >> 8) as u8 },
            2 | 3 => Shape::Box((x >> 16) as u16, x as u16),
            4 => Shape::Tagged(None),
            5 => Shape::Tagged(Some(Err(x & 8 != 0))),
            _ => Shape::Tagged(Some(Ok(x >> 3))),
        }
    }
    fn weight(s: Shape) -> u64 {
        match s {
            Shape::Point => 0,
            Shape::Circle { r: 0..=9 } => 1,
            Shape::Circle { r } if r > 200 => u64::from(r) * 3,
            Shape::Circle { r } => u64::from(r),
            Shape::Box(w @ 0..1000, h) | Shape::Box(h, w) => u64::from(w) * u64::from(h),
            Shape::Tagged(Some(Ok(n))) => u64::from(n) << 20,
            Shape::Tagged(Some(Err(true))) => 11,
            Shape::Tagged(_) => 12,
        }
    }
    let mut shapes: [Shape; 10] = core::array::from_fn(|k| of(pick(input, i, k)));
    for s in shapes { fold(&mut out[..3], weight(s)); }
    shapes.sort_unstable();
    fold(&mut out[3..5], weight(shapes[4]));
    out[5] = shapes.iter().filter(|s| matches!(s, Shape::Box(..) | Shape::Tagged(Some(_)))).count() as u32;
    out[6] = shapes.windows(2).filter(|w| w[0] == w[1]).count() as u32;
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ParseError { Empty, Digit(char, usize), Large }
impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("nothing"),
            Self::Digit(c, at) => write!(f, "{c:?} at {at}"),
            Self::Large => f.pad("too large"),
        }
    }
}

pub fn results(i: usize, input: &[u32], out: &mut [u32]) {
    fn hex(text: &str) -> Result<u16, ParseError> {
        if text.is_empty() { return Err(ParseError::Empty); }
        text.chars().enumerate().try_fold(0u16, |value, (at, c)| {
            let digit = c.to_digit(16).ok_or(ParseError::Digit(c, at))?;
            value.checked_mul(16).map(|v| v | digit as u16).ok_or(ParseError::Large)
        })
    }
    const TEXTS: [&str; 7] = ["", "7", "beef", "12x4", "1ffff", "ß", "C0de"];
    let (a, b) = (hex(TEXTS[pick(input, i, 0) as usize % 7]), hex(TEXTS[pick(input, i, 1) as usize % 7]));
    let mut text = Text::new();
    out[0] = a.and_then(|x| b.map(|y| u32::from(x) + u32::from(y))).unwrap_or_else(|e| { let _ = write!(text, "<{e:>12}>"); 0xbad });
    out[1] = u32::from(a.or(b).unwrap_or_default());
    out[2] = a.ok().zip(b.ok()).map_or(5, |(x, y)| u32::from(x ^ y));
    out[3] = a.err().filter(|e| *e != ParseError::Empty).is_some().into();
    let all: Option<u32> = TEXTS[i % 7..].iter().map(|t| hex(t).ok().map(u32::from)).sum();
    out[4] = all.unwrap_or(1);
    fold(&mut out[5..8], text.digest());
}

pub fn dynamic_closures(i: usize, input: &[u32], out: &mut [u32]) {
    let (a, b) = (pick(input, i, 0), pick(input, i, 1));
    let mut log = [0u32; 8];
    let mut at = 0;
    let mut push = |x: u32| { log[at % 8] ^= x; at += 1; };
    let twice: &dyn Fn(u32) -> u32 = &|x| x.wrapping_mul(2) ^ a;
    let mix: &dyn Fn(u32) -> u32 = &move |x| x.rotate_left(b % 32);
    let both: &dyn Fn(u32) -> u32 = &|x| mix(twice(x));
    let table = [twice, mix, both];
    fn visit(f: &mut dyn FnMut(u32), table: &[&dyn Fn(u32) -> u32], n: usize, x: u32) {
        if n == 0 { return f(x); }
        visit(f, table, n - 1, table[(n + x as usize) % table.len()](x));
        f(x);
    }
    visit(&mut push, &table, 3 + i % 6, b);
    out.copy_from_slice(&log);
}

pub fn trait_hierarchy(i: usize, input: &[u32], out: &mut [u32]) {
    trait Node: fmt::Debug { fn value(&self) -> i64; fn depth(&self) -> u32 { 1 } }
    trait Scaled: Node { fn scaled(&self, by: i64) -> i64 { self.value().wrapping_mul(by) } }
    #[derive(Debug)]
    struct Leaf(i32);
    #[derive(Debug)]
    struct Add<'a>(&'a dyn Node, &'a dyn Node);
    #[derive(Debug)]
    struct If<'a> { test: &'a dyn Node, then: &'a dyn Scaled, other: &'a dyn Scaled }
    impl Node for Leaf { fn value(&self) -> i64 { self.0.into() } }
    impl Scaled for Leaf {}
    impl Node for Add<'_> {
        fn value(&self) -> i64 { self.0.value().wrapping_add(self.1.value()) }
        fn depth(&self) -> u32 { 1 + self.0.depth().max(self.1.depth()) }
    }
    impl Scaled for Add<'_> { fn scaled(&self, by: i64) -> i64 { self.value() - by } }
    impl Node for If<'_> {
        fn value(&self) -> i64 { if self.test.value() > 0 { self.then.scaled(3) } else { self.other.scaled(-5) } }
        fn depth(&self) -> u32 { 1 + self.test.depth() }
    }
    let leaf = |k| Leaf(pick(input, i, k) as i32 >> 12);
    let (a, b, c) = (leaf(0), leaf(1), leaf(2));
    let sum = Add(&a, &b);
    let tree = If { test: &sum, then: &c, other: &sum };
    let up: &dyn Scaled = if i % 2 == 0 { &sum } else { &c };
    let node: &dyn Node = up;
    fold(&mut out[..2], tree.value() as u64);
    fold(&mut out[2..4], node.value() as u64);
    out[4] = tree.depth() * 16 + node.depth();
    let mut text = Text::new();
    let _ = write!(text, "{node:?}");
    fold(&mut out[5..7], text.digest());
}

pub fn const_generics(i: usize, input: &[u32], out: &mut [u32]) {
    struct Ring<T, const N: usize> { items: [T; N], head: usize, len: usize }
    impl<T: Copy + Default, const N: usize> Ring<T, N> {
        fn new() -> Self { Self { items: [T::default(); N], head: 0, len: 0 } }
        fn push(&mut self, item: T) -> Option<T> {
            let old = if self.len == N { self.pop() } else { None };
            self.items[(self.head + self.len) % N] = item;
            self.len += 1;
            old
        }
        fn pop(&mut self) -> Option<T> {
            if self.len == 0 { return None; }
            let item = self.items[self.head];
            self.head = (self.head + 1) % N;
            self.len -= 1;
            Some(item)
        }
    }
    let (mut small, mut large) = (Ring::<u8, 3>::new(), Ring::<(u32, u64), 9>::new());
    for k in 0..20 {
        let x = pick(input, i, k);
        if let Some(old) = small.push(x as u8) { out[0] = out[0].rotate_left(4) ^ u32::from(old); }
        if x % 3 == 0 { if let Some((a, b)) = large.pop() { out[1] ^= a.wrapping_add(b as u32); } }
        let _ = large.push((x, u64::from(x) << 7));
    }
    (out[2], out[3]) = (small.len as u32, large.len as u32);
    while let Some((a, b)) = large.pop() { fold(&mut out[4..8], u64::from(a) ^ b); }
}

pub fn format_more(i: usize, input: &[u32], out: &mut [u32]) {
    let mut text = Text::new();
    let x = pick(input, i, 0);
    let (width, precision) = (i % 13, i % 4);
    let ok = write!(text, "[{:<+width$}|{:^9}|{:#010x}|{:.precision$}|{:?}|{:e}]", x as i16, x as u8, x >> 7, "ümläut", 'ø', x >> 20).is_ok();
    let again = write!(text, "{:?} {:#?} {}", Some((x as i8, "a\tb\u{7f}")), [i as u8; 2], u128::from(x) << 70).is_ok();
    out[0] = u32::from(ok) | u32::from(again) << 1;
    out[1] = text.len as u32;
    fold(&mut out[2..5], text.digest());
}

pub fn parse_floats(i: usize, input: &[u32], out: &mut [u32]) {
    let mut text = Text::new();
    let x = pick(input, i, 0);
    let _ = write!(text, "{}.{}e{} {}", x as i32 >> 8, x & 0xffff, i as i32 - 64, x % 2);
    let Ok(text) = core::str::from_utf8(&text.bytes[..text.len]) else { return };
    for (k, part) in text.split_whitespace().enumerate() {
        let (wide, single) = (part.parse::<f64>(), part.parse::<f32>());
        fold(&mut out[2 * k..2 * k + 2], wide.map_or(3, f64::to_bits));
        out[4 + k] = single.map_or(5, f32::to_bits);
        out[6] ^= part.parse::<bool>().map_or(8, u32::from);
    }
    out[7] = u32::from("1e".parse::<f32>().is_err()) | "-0".parse::<f32>().map_or(0, f32::to_bits);
}

pub fn text_search(i: usize, input: &[u32], out: &mut [u32]) {
    const TEXT: &str = "the quick brown fox; jumps over, the lazy dog. the end";
    const WANTED: [&str; 5] = ["the", "o", "zy d", "cat", "e"];
    let wanted = WANTED[pick(input, i, 0) as usize % 5];
    out[0] = TEXT.matches(wanted).count() as u32;
    out[1] = TEXT.rfind(wanted).map_or(999, |p| p as u32);
    out[2] = TEXT.split(wanted).map(str::len).fold(0, |a, n| a * 7 + n as u32);
    out[3] = TEXT.split_once(wanted).map_or(0, |(a, b)| a.len() as u32 * 100 + b.trim_start().len() as u32);
    out[4] = TEXT.split([' ', ',', ';']).filter(|w| !w.is_empty()).map(|w| w.bytes().map(u32::from).sum::<u32>()).fold(0, |a, b| a.rotate_left(3) ^ b);
    out[5] = u32::from(TEXT.starts_with(wanted)) | u32::from(TEXT.ends_with(char::is_alphabetic)) << 1;
    out[6] = TEXT.trim_matches(|c: char| wanted.contains(c)).len() as u32;
    out[7] = TEXT.as_bytes().iter().filter(|b| b.is_ascii_punctuation()).count() as u32;
}

pub fn characters(i: usize, input: &[u32], out: &mut [u32]) {
    const SAMPLES: [char; 12] = ['a', 'Z', '7', 'ß', 'Σ', 'ǆ', '\u{301}', '漢', '\u{1f980}', '\n', 'İ', '٣'];
    let c = SAMPLES[pick(input, i, 0) as usize % 12];
    out[0] = u32::from(c.is_alphabetic()) | u32::from(c.is_numeric()) << 1 | u32::from(c.is_uppercase()) << 2 | u32::from(c.is_lowercase()) << 3
        | u32::from(c.is_whitespace()) << 4 | u32::from(c.is_control()) << 5 | u32::from(c.is_alphanumeric()) << 6;
    out[1] = c.to_uppercase().fold(0, |a, c| a * 31 + c as u32);
    out[2] = c.to_lowercase().fold(0, |a, c| a * 31 + c as u32);
    out[3] = c.len_utf8() as u32 | (c.len_utf16() as u32) << 8;
    out[4] = c.escape_unicode().map(u32::from).sum();
    out[5] = c.escape_debug().map(u32::from).sum();
    out[6] = char::from_digit(pick(input, i, 1) % 40, 36).map_or(1, u32::from);
    out[7] = char::decode_utf16([0xd834, 0xdd1e, (pick(input, i, 2) >> 16) as u16, 0x6d]).map(|r| r.map_or(1, u32::from)).fold(0, |a, b| a.rotate_left(7) ^ b);
}

pub fn state_machine(i: usize, input: &[u32], out: &mut [u32]) {
    /// Reads numbers, words and comments of a small language.
    #[derive(Clone, Copy, PartialEq)]
    enum State { Start, Word { len: u8 }, Number(u32), Escape, Comment(u8), Failed(u8) }
    const ALPHABET: [u8; 12] = *b"a1 /*\\b29*/ ";
    let mut state = State::Start;
    let (mut words, mut numbers, mut comments) = (0, 0u32, 0);
    for k in 0..40 {
        let byte = ALPHABET[pick(input, i, k) as usize % 12];
        state = match (state, byte) {
            (State::Failed(n), _) if n > 2 => break,
            (State::Failed(n), b' ') => State::Failed(n + 1),
            (State::Failed(_), _) | (State::Start, b' ') | (State::Comment(3), b'/') => State::Start,
            (State::Start | State::Escape, b'a'..=b'z') => State::Word { len: 1 },
            (State::Start, b'0'..=b'9') => State::Number(u32::from(byte - b'0')),
            (State::Start, b'/') => State::Comment(1),
            (State::Comment(1), b'*') => { comments += 1; State::Comment(2) }
            (State::Comment(2 | 3), b'*') => State::Comment(3),
            (State::Comment(2 | 3), _) => State::Comment(2),
            (State::Word { len }, b'a'..=b'z' | b'0'..=b'9') => State::Word { len: len + 1 },
            (State::Word { len }, _) => { words += u32::from(len); State::Start }
            (State::Number(n), b'0'..=b'9') => State::Number(n * 10 + u32::from(byte - b'0')),
            (State::Number(n), _) => { numbers = numbers.wrapping_add(n); State::Start }
            (State::Start, b'\\') => State::Escape,
            (State::Start | State::Comment(_) | State::Escape, _) => State::Failed(0),
        };
    }
    out[..3].copy_from_slice(&[words, numbers, comments]);
    out[3] = match state { State::Start => 1, State::Word { len } => 100 + u32::from(len), State::Number(n) => n, State::Escape => 2, State::Comment(n) => 50 + u32::from(n), State::Failed(n) => 60 + u32::from(n) };
}

pub fn search_tree(i: usize, input: &[u32], out: &mut [u32]) {
    /// A treap in an array: links are numbers.
    #[derive(Clone, Copy)]
    struct Node { key: u16, priority: u32, left: Option<u8>, right: Option<u8> }
    struct Tree { nodes: [Node; 24], len: u8 }
    impl Tree {
        fn split(&mut self, at: Option<u8>, key: u16) -> (Option<u8>, Option<u8>) {
            let Some(n) = at else { return (None, None) };
            let node = self.nodes[n as usize];
            if node.key < key {
                let (low, high) = self.split(node.right, key);
                self.nodes[n as usize].right = low;
                (at, high)
            } else {
                let (low, high) = self.split(node.left, key);
                self.nodes[n as usize].left = high;
                (low, at)
            }
        }
        fn merge(&mut self, a: Option<u8>, b: Option<u8>) -> Option<u8> {
            let (Some(x), Some(y)) = (a, b) else { return a.or(b) };
            if self.nodes[x as usize].priority > self.nodes[y as usize].priority {
                let right = self.nodes[x as usize].right;
                self.nodes[x as usize].right = self.merge(right, b);
                a
            } else {
                let left = self.nodes[y as usize].left;
                self.nodes[y as usize].left = self.merge(a, left);
                b
            }
        }
        fn walk(&self, at: Option<u8>, depth: u32, f: &mut impl FnMut(u16, u32)) {
            if let Some(n) = at {
                let node = &self.nodes[n as usize];
                self.walk(node.left, depth + 1, f);
                f(node.key, depth);
                self.walk(node.right, depth + 1, f);
            }
        }
    }
    let empty = Node { key: 0, priority: 0, left: None, right: None };
    let (mut tree, mut root) = (Tree { nodes: [empty; 24], len: 0 }, None);
    for k in 0..20 {
        let word = pick(input, i, k);
        tree.nodes[tree.len as usize] = Node { key: (word >> 16) as u16, priority: word.wrapping_mul(0x9e37_79b1), ..empty };
        let new = Some(tree.len);
        tree.len += 1;
        let (low, high) = tree.split(root, (word >> 16) as u16);
        let low = tree.merge(low, new);
        root = tree.merge(low, high);
    }
    let (mut last, mut in_order, mut deepest) = (0, true, 0);
    tree.walk(root, 1, &mut |key, depth| {
        in_order &= last <= key;
        last = key;
        deepest = deepest.max(depth);
        out[2] = out[2].rotate_left(3) ^ u32::from(key) * depth;
    });
    out[0] = u32::from(in_order);
    out[1] = deepest;
}

pub fn graph_walk(i: usize, input: &[u32], out: &mut [u32]) {
    // Shortest ways by Dijkstra and by Floyd agree.
    const N: usize = 7;
    let weight: [[u16; N]; N] = core::array::from_fn(|r| core::array::from_fn(|c| match pick(input, i, r * N + c) % 3 { 0 => u16::MAX, _ => (pick(input, i, r + c) % 50) as u16 + 1 }));
    let mut far = [u16::MAX; N];
    let mut done = [false; N];
    far[i % N] = 0;
    while let Some(at) = (0..N).filter(|&n| !done[n] && far[n] != u16::MAX).min_by_key(|&n| far[n]) {
        done[at] = true;
        for (n, w) in weight[at].iter().enumerate() {
            far[n] = far[n].min(far[at].saturating_add(*w));
        }
    }
    let mut all = weight;
    for (n, row) in all.iter_mut().enumerate() { row[n] = 0; }
    for k in 0..N { for r in 0..N { for c in 0..N { all[r][c] = all[r][c].min(all[r][k].saturating_add(all[k][c])); } } }
    for (slot, n) in out.iter_mut().zip(far) { *slot = n.into(); }
    out[7] = u32::from(far == all[i % N]);
}

pub fn compression(i: usize, input: &[u32], out: &mut [u32]) {
    // Run lengths and a move-to-front code, there and back.
    let data: [u8; 40] = core::array::from_fn(|k| (pick(input, i, k / 3) % 5) as u8);
    let mut packed = [0u8; 80];
    let mut len = 0;
    let mut rest = &data[..];
    while let Some(&first) = rest.first() {
        let run = rest.iter().take_while(|b| **b == first).count();
        packed[len..len + 2].copy_from_slice(&[run as u8, first]);
        len += 2;
        rest = &rest[run..];
    }
    let mut order = [0u8, 1, 2, 3, 4];
    for pair in packed[..len].chunks_exact_mut(2) {
        let at = order.iter().position(|o| *o == pair[1]).unwrap_or(0);
        pair[1] = at as u8;
        order[..=at].rotate_right(1);
    }
    let mut order = [0u8, 1, 2, 3, 4];
    let mut back = [9u8; 40];
    let mut end = 0;
    for pair in packed[..len].chunks_exact(2) {
        let at = pair[1] as usize;
        order[..=at].rotate_right(1);
        back[end..end + pair[0] as usize].fill(order[0]);
        end += pair[0] as usize;
    }
    out[0] = len as u32;
    out[1] = u32::from(back == data);
    fold(&mut out[2..5], packed[..len].iter().fold(7, |h, b| h * 257 + u64::from(*b) & 0xffff_ffff_ffff));
}

pub fn sorts(i: usize, input: &[u32], out: &mut [u32]) {
    fn merge_sort<T: Copy + Ord>(a: &mut [T], spare: &mut [T]) {
        if a.len() < 2 { return; }
        let middle = a.len() / 2;
        merge_sort(&mut a[..middle], spare);
        merge_sort(&mut a[middle..], spare);
        let (mut l, mut r) = (0, middle);
        for slot in &mut spare[..a.len()] {
            let left = r >= a.len() || l < middle && a[l] <= a[r];
            *slot = if left { a[l] } else { a[r] };
            if left { l += 1 } else { r += 1 }
        }
        a.copy_from_slice(&spare[..a.len()]);
    }
    fn quick_sort(a: &mut [(u8, i16)]) {
        if a.len() < 2 { return; }
        let pivot = a[a.len() / 2];
        let (mut l, mut r) = (0, a.len() - 1);
        loop {
            while a[l] < pivot { l += 1; }
            while pivot < a[r] { r -= 1; }
            if l >= r { break; }
            a.swap(l, r);
            l += 1;
            r -= 1;
        }
        let (low, high) = a.split_at_mut(l);
        quick_sort(low);
        quick_sort(high);
    }
    let mut a: [u32; 22] = core::array::from_fn(|k| pick(input, i, k));
    merge_sort(&mut a[..8 + i % 14], &mut [0; 22]);
    out[..3].copy_from_slice(&a[i % 8..i % 8 + 3]);
    let mut pairs: [(u8, i16); 18] = core::array::from_fn(|k| (pick(input, i, k) as u8 % 6, (pick(input, i, k) >> 12) as i16));
    quick_sort(&mut pairs);
    out[3] = u32::from(pairs.is_sorted());
    for (slot, (a, b)) in out[4..].iter_mut().zip(&pairs[7..]) { *slot = u32::from(*a) << 16 | u32::from(*b as u16); }
}

pub fn hashers(i: usize, input: &[u32], out: &mut [u32]) {
    use core::hash::{BuildHasher, Hash, Hasher};
    #[derive(Default, Clone, Copy)]
    struct Fnv(u64);
    impl Hasher for Fnv {
        fn finish(&self) -> u64 { self.0 }
        fn write(&mut self, bytes: &[u8]) { for b in bytes { self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3); } }
    }
    struct Build(u64);
    impl BuildHasher for Build { type Hasher = Fnv; fn build_hasher(&self) -> Fnv { Fnv(self.0) } }
    #[derive(Hash)]
    struct Key<'a> { name: &'a str, at: (u16, Option<i64>), words: [u32; 3], kind: Kind }
    #[derive(Hash)]
    enum Kind { A, B(bool), C { x: char } }
    let kind = match i % 3 { 0 => Kind::A, 1 => Kind::B(i % 2 == 1), _ => Kind::C { x: 'é' } };
    let key = Key { name: &"hashing"[..i % 8], at: (i as u16, (i % 5 != 0).then_some(-3)), words: [pick(input, i, 0), 1, 2], kind };
    fold(out, Build(0xcbf2_9ce4_8422_2325).hash_one(&key));
    let first = pick(input, i, 1).to_be_bytes();
    // Murmur's end, and Adler's sums.
    let mut h = u32::from_le_bytes(first);
    for (shift, factor) in [(16, 0x85eb_ca6b), (13, 0xc2b2_ae35), (16, 1)] { h = (h ^ h >> shift).wrapping_mul(factor); }
    let (a, b) = input[..20].iter().flat_map(|w| w.to_ne_bytes()).fold((1u32, 0u32), |(a, b), x| { let a = (a + u32::from(x)) % 65521; (a, (b + a) % 65521) });
    out[6] ^= h;
    out[7] ^= b << 16 | a;
}

pub fn sha256(i: usize, input: &[u32], out: &mut [u32]) {
    const K: [u32; 64] = {
        // The first bits behind the point of cube roots of primes, by search.
        let (mut k, mut n, mut p) = ([0; 64], 0, 2u128);
        while n < 64 {
            let (mut prime, mut d) = (true, 2);
            while d * d <= p { if p.is_multiple_of(d) { prime = false; } d += 1; }
            if prime {
                let (mut low, mut high) = (0u128, 8 << 32);
                while low + 1 < high {
                    let middle = (low + high) / 2;
                    if middle * middle * middle <= p << 96 { low = middle } else { high = middle }
                }
                k[n] = low as u32;
                n += 1;
            }
            p += 1;
        }
        k
    };
    let mut w = [0u32; 64];
    for (k, slot) in w[..16].iter_mut().enumerate() { *slot = pick(input, i, k).to_be(); }
    for k in 16..64 {
        let (a, b) = (w[k - 15], w[k - 2]);
        let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ a >> 3;
        let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ b >> 10;
        w[k] = w[k - 16].wrapping_add(s0).wrapping_add(w[k - 7]).wrapping_add(s1);
    }
    let start = [0x6a09_e667u32, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
    let mut s = start;
    for k in 0..64 {
        let [a, b, c, d, e, f, g, h] = s;
        let t1 = h.wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25)).wrapping_add(e & f ^ !e & g).wrapping_add(K[k]).wrapping_add(w[k]);
        let t2 = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22)).wrapping_add(a & b ^ a & c ^ b & c);
        s = [t1.wrapping_add(t2), a, b, c, d.wrapping_add(t1), e, f, g];
    }
    for (slot, (a, b)) in out.iter_mut().zip(s.iter().zip(start)) { *slot = a.wrapping_add(b); }
}
