//! Damage to files: bytes, numbers, pieces, and in texts words and lines.

use fastrand::Rng;

/// Numbers that limits are about.
const NUMBERS: [u64; 12] = [
    0,
    1,
    7,
    0xff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 33,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 7,
    u64::MAX,
];

/// The same as texts have them, and larger.
const DIGITS: [&str; 12] = [
    "0",
    "-1",
    "255",
    "256",
    "65536",
    "0x7fffffff",
    "4294967296",
    "-9223372036854775808",
    "18446744073709551615",
    "99999999999999999999999",
    "1073741825",
    "1e309",
];

/// What has a meaning between words.
const SIGNS: &[u8] = b" ,:;()[]{}+-*/\\\"'#@.\n|&<>!~%=\t";

/// Longest input that is made.
pub const MAX_BYTES: usize = 1 << 17;

/// A damaged copy of `input`, with pieces of `other`.
pub fn damage(input: &[u8], other: &[u8], random: &mut Rng) -> Vec<u8> {
    let is_text = !input.is_empty() && !input.contains(&0);
    let mut out = input.to_vec();
    for _ in 0..random.usize(1..6) {
        if is_text && random.u8(..4) > 0 {
            damage_text(&mut out, other, random);
        } else {
            damage_bytes(&mut out, other, random);
        }
    }
    out.truncate(MAX_BYTES);
    out.shrink_to_fit();
    out
}

/// A range of at most `most` bytes.
fn piece(bytes: &[u8], most: usize, random: &mut Rng) -> std::ops::Range<usize> {
    let from = random.usize(..=bytes.len());
    from..from + random.usize(..=(bytes.len() - from).min(most))
}

fn damage_bytes(out: &mut Vec<u8>, other: &[u8], random: &mut Rng) {
    if out.is_empty() {
        out.extend(&other[piece(other, 256, random)]);
        return;
    }
    // Headers and tables are at both ends.
    let at = match random.u8(..4) {
        0 => random.usize(..out.len().min(128)),
        1 => out.len() - 1 - random.usize(..out.len().min(2048)),
        _ => random.usize(..out.len()),
    };
    match random.u8(..12) {
        0 => out.truncate(at),
        1 => drop(out.remove(at)),
        2 => out.insert(at, random.u8(..)),
        3 | 4 => out[at] = random.u8(..),
        5 => out[at] ^= 1 << random.u8(..8),
        6 => {
            let range = piece(out, 64, random);
            drop(out.drain(range));
        }
        7 => {
            let copy = out[piece(out, 256, random)].to_vec();
            drop(out.splice(at..at, copy));
        }
        8 => {
            // A piece of another file in the place of as much here.
            let from = &other[piece(other, 256, random)];
            let end = (at + from.len()).min(out.len());
            drop(out.splice(at..end, from.iter().copied()));
        }
        _ => {
            let width = [2, 4, 8][random.usize(..3)];
            let at = at & !(width - 1);
            let mut field = [0; 8];
            out.iter().skip(at).zip(&mut field).for_each(|(byte, field)| *field = *byte);
            // A number of its own, or a little more or less than there is.
            let number = match random.u8(..3) {
                0 => u64::from_le_bytes(field).wrapping_add_signed(random.i64(-9..=9)),
                _ => NUMBERS[random.usize(..NUMBERS.len())],
            };
            out.iter_mut().skip(at).zip(&number.to_le_bytes()[..width]).for_each(|(byte, new)| *byte = *new);
        }
    }
}

/// Ranges of lines with their ends.
fn lines(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut at = 0;
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(|line| {
        at += line.len();
        at - line.len()..at
    });
    lines.collect()
}

/// Ranges of words.
fn words(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut out: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        let is_part = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'@' | b'-');
        match out.last_mut() {
            Some(last) if is_part && last.end == at => last.end += 1,
            _ if is_part => out.push(at..at + 1),
            _ => {}
        }
    }
    out
}

fn damage_text(out: &mut Vec<u8>, other: &[u8], random: &mut Rng) {
    let kind = random.u8(..8);
    if kind < 4 {
        let own = lines(out);
        let Some(line) = random.choice(own.iter().cloned()) else { return };
        match kind {
            0 => drop(out.drain(line)),
            1 => {
                let Some(to) = random.choice(own.iter().cloned()) else { return };
                let copy = out[line].to_vec();
                drop(out.splice(to.start..to.start, copy));
            }
            2 => {
                let Some(to) = random.choice(own.iter().cloned()) else { return };
                let copy = out[line].to_vec();
                drop(out.splice(to, copy));
            }
            _ => {
                let foreign = random.choice(lines(other)).unwrap_or(0..0);
                drop(out.splice(line.start..line.start, other[foreign].iter().copied()));
            }
        }
        return;
    }
    let Some(word) = random.choice(words(out)) else { return };
    match kind {
        4 => {
            let foreign = random.choice(words(other)).unwrap_or(0..0);
            drop(out.splice(word, other[foreign].iter().copied()));
        }
        5 => drop(out.splice(word, DIGITS[random.usize(..DIGITS.len())].bytes())),
        6 => {
            // Again and again: names, nesting and numbers of any length.
            let times = 1 << random.u8(..8);
            let copy = out[word.clone()].repeat(MAX_BYTES.min(times * word.len()) / word.len());
            drop(out.splice(word, copy));
        }
        _ => {
            let count = if random.u8(..8) == 0 { 1 << random.u8(..12) } else { 1 };
            let sign = SIGNS[random.usize(..SIGNS.len())];
            drop(out.splice(word.start..word.start, std::iter::repeat_n(sign, count)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_damage_and_all_kinds_occur() {
        let text = b"first line, 12\nsecond .long 5\n".as_slice();
        let binary = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        for input in [text, &binary, b""] {
            let mut different = rustc_hash::FxHashSet::default();
            for seed in 0..200 {
                let one = damage(input, text, &mut Rng::with_seed(seed));
                assert_eq!(one, damage(input, text, &mut Rng::with_seed(seed)));
                assert!(one.len() <= MAX_BYTES);
                different.insert(one);
            }
            assert!(different.len() > 50, "{}", different.len());
        }
    }
}
