//! Cryptography: SHA-256 nonce search, AES-128 counter mode, modular exponentiation.

use super::expect_equal;
use crate::gpu::{Gpu, args};

/// Fractional bits of the cube roots of the first 64 primes, computed rather than copied: an independent
/// witness of the kernel's table.
fn sha256_constants() -> [u32; 64] {
    let mut constants = [0; 64];
    let primes = (2u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0));
    for (constant, prime) in constants.iter_mut().zip(primes) {
        // floor(cbrt(prime) * 2^32), by bisection on integers: cube < prime * 2^96.
        let (mut low, mut high) = (0u128, 8u128 << 32);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if middle * middle * middle <= u128::from(prime) << 96 { low = middle } else { high = middle }
        }
        *constant = low as u32;
    }
    constants
}

fn sha256_first_word(block: &[u32; 16], constants: &[u32; 64]) -> u32 {
    let initial: [u32; 8] =
        [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
    let mut w = block.to_vec();
    for i in 16..64 {
        let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
        let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
        w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
    }
    let mut s = initial;
    for i in 0..64 {
        let [a, b, c, d, e, f, g, h] = s;
        let t1 = h
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add((e & f) ^ (!e & g))
            .wrapping_add(constants[i])
            .wrapping_add(w[i]);
        let t2 = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22))
            .wrapping_add((a & b) ^ (a & c) ^ (b & c));
        s = [t1.wrapping_add(t2), a, b, c, d.wrapping_add(t1), e, f, g];
    }
    initial[0].wrapping_add(s[0])
}

pub fn sha256(gpu: &mut Gpu) -> Result<(), String> {
    let (lanes, zero_bits, first_nonce) = (256u32, 5u32, 1_000_000u32);
    let prefix: Vec<u32> = (0..12).map(|_| gpu.rng.u32(..)).collect();
    let (bp, found, words) =
        (gpu.buffer(&prefix), gpu.zeros::<u32>(1 + lanes as usize), gpu.zeros::<u32>(lanes as usize));
    let arguments = args![bp, first_nonce, zero_bits, found, words];
    gpu.launch("search", [lanes, 1, 1], [64, 1, 1], arguments)?;
    let constants = sha256_constants();
    let want_words: Vec<u32> = (0..lanes)
        .map(|lane| {
            let mut block = [0; 16];
            block[..12].copy_from_slice(&prefix);
            block[12] = first_nonce + lane;
            block[13] = 0x8000_0000;
            block[15] = 52 * 8;
            sha256_first_word(&block, &constants)
        })
        .collect();
    expect_equal("first_words", &gpu.read::<u32>(words), &want_words)?;
    let want: Vec<u32> = (0..lanes)
        .filter(|&lane| want_words[lane as usize].leading_zeros() >= zero_bits)
        .map(|lane| first_nonce + lane)
        .collect();
    let got = gpu.read::<u32>(found);
    expect_equal("found", &got[..1], &[want.len() as u32])?;
    let mut nonces = got[1..=want.len()].to_vec();
    nonces.sort_unstable();
    expect_equal("nonces", &nonces, &want)
}

/// Multiplication in GF(2^8) with AES's polynomial.
fn gf_multiply(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = (a << 1) ^ if a & 0x80 != 0 { 0x1b } else { 0 };
        b >>= 1;
    }
    product
}

/// The S-box from its definition: inverse in GF(2^8), then the affine map.
fn aes_sbox() -> [u8; 256] {
    std::array::from_fn(|x| {
        let inverse = (0..=255u8).find(|&y| gf_multiply(x as u8, y) == 1).unwrap_or(0);
        let rotated = (0..5).fold(0, |sum, n| sum ^ inverse.rotate_left(n));
        rotated ^ 0x63
    })
}

fn aes_expand_key(key: &[u8; 16], sbox: &[u8; 256]) -> Vec<[u8; 16]> {
    let mut words: Vec<[u8; 4]> = key.chunks(4).map(|c| [c[0], c[1], c[2], c[3]]).collect();
    let mut round_constant = 1u8;
    for i in 4..44 {
        let mut word = words[i - 1];
        if i % 4 == 0 {
            word.rotate_left(1);
            word = word.map(|byte| sbox[usize::from(byte)]);
            word[0] ^= round_constant;
            round_constant = gf_multiply(round_constant, 2);
        }
        words.push(std::array::from_fn(|k| words[i - 4][k] ^ word[k]));
    }
    words.chunks(4).map(|c| std::array::from_fn(|k| c[k / 4][k % 4])).collect()
}

fn aes_encrypt(block: [u8; 16], keys: &[[u8; 16]], sbox: &[u8; 256]) -> [u8; 16] {
    let add = |s: [u8; 16], key: &[u8; 16]| -> [u8; 16] { std::array::from_fn(|i| s[i] ^ key[i]) };
    let mut state = add(block, &keys[0]);
    for (round, key) in keys.iter().enumerate().skip(1) {
        // Row r of column c comes from column c + r.
        let shifted: [u8; 16] = std::array::from_fn(|i| sbox[usize::from(state[(i + 4 * (i % 4)) % 16])]);
        state = if round == 10 {
            shifted
        } else {
            std::array::from_fn(|i| {
                let column = &shifted[i / 4 * 4..i / 4 * 4 + 4];
                let at = |k: usize| column[(i + k) % 4];
                gf_multiply(at(0), 2) ^ gf_multiply(at(1), 3) ^ at(2) ^ at(3)
            })
        };
        state = add(state, key);
    }
    state
}

pub fn aes(gpu: &mut Gpu) -> Result<(), String> {
    let blocks = 256usize;
    let key: [u8; 16] = std::array::from_fn(|_| gpu.rng.u8(..));
    let counter: [u8; 16] = std::array::from_fn(|i| if i < 12 { gpu.rng.u8(..) } else { 0 });
    let plain: Vec<u8> = (0..16 * blocks).map(|_| gpu.rng.u8(..)).collect();
    let sbox = aes_sbox();
    let keys = aes_expand_key(&key, &sbox);
    let (bi, bo, bk) = (gpu.buffer(&plain), gpu.zeros::<u8>(plain.len()), gpu.buffer(&keys.concat()));
    let arguments = args![bi, bo, bk, counter];
    gpu.launch("aes_ctr", [blocks as u32, 1, 1], [64, 1, 1], arguments)?;
    let mut want = Vec::with_capacity(plain.len());
    for (i, block) in plain.chunks(16).enumerate() {
        let mut input = counter;
        input[12..].copy_from_slice(&(i as u32).to_le_bytes());
        let stream = aes_encrypt(input, &keys, &sbox);
        want.extend(block.iter().zip(stream).map(|(p, s)| p ^ s));
    }
    expect_equal("out", &gpu.read::<u8>(bo), &want)
}

pub fn modexp(gpu: &mut Gpu) -> Result<(), String> {
    let n = 64usize;
    let numbers = |gpu: &mut Gpu, low: u64| -> Vec<u64> { (0..n).map(|_| gpu.rng.u64(low..)).collect() };
    let base = numbers(gpu, 0);
    // Exponents of every length keep lanes apart.
    let exponent: Vec<u64> = (0..n).map(|i| gpu.rng.u64(..) >> (40 + i % 24)).collect();
    let modulus = numbers(gpu, 1);
    let (bb, be, bm) = (gpu.buffer(&base), gpu.buffer(&exponent), gpu.buffer(&modulus));
    let result = gpu.zeros::<u64>(n);
    gpu.launch("modexp", [n as u32, 1, 1], [64, 1, 1], args![bb, be, bm, result])?;
    let want: Vec<u64> = (0..n)
        .map(|i| {
            let m = u128::from(modulus[i]);
            let (mut b, mut r) = (u128::from(base[i]) % m, 1 % m);
            for bit in 0..64 {
                if exponent[i] >> bit & 1 != 0 {
                    r = r * b % m;
                }
                b = b * b % m;
            }
            r as u64
        })
        .collect();
    expect_equal("result", &gpu.read::<u64>(result), &want)
}
