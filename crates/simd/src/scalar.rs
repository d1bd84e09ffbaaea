// SPDX-License-Identifier: Apache-2.0
//! The kernels in plain Rust: the meaning of the vector ones, and what runs where those can't.

use core::sync::atomic::Ordering::Relaxed;

/// See [`crate::all_equal`].
#[inline(always)]
pub fn all_equal(codes: &[u32; 256], n: usize) -> bool {
    codes[..n.min(256)].iter().all(|&code| code == codes[0])
}

/// See [`crate::equal_mask`].
#[inline(always)]
pub fn equal_mask(codes: &[u32; 256], n: usize, value: u32) -> [u64; 4] {
    let mut out = [0; 4];
    for (i, &code) in codes[..n.min(256)].iter().enumerate() {
        out[i / 64] |= u64::from(code == value) << (i % 64);
    }
    out
}

/// See [`crate::equal_words`].
#[inline(always)]
pub fn equal_words(words: &[u32; 64], value: u32) -> u64 {
    words.iter().enumerate().fold(0, |set, (i, word)| set | u64::from(*word == value) << i)
}

/// See [`crate::compress_u32`].
#[inline(always)]
pub fn compress_u32(src: &[u32; 256], mask: &[u64; 4], dst: &mut [u32; 256], at: usize) -> usize {
    let mut end = at.min(256);
    for (group, &word) in src.as_chunks::<64>().0.iter().zip(mask) {
        let mut rest = word;
        while rest != 0 {
            let Some(slot) = dst.get_mut(end) else { return end };
            *slot = group[rest.trailing_zeros() as usize];
            rest &= rest - 1;
            end += 1;
        }
    }
    end
}

/// See [`crate::ip4_header_sum`].
#[inline(always)]
pub fn ip4_header_sum(header: &[u8; 20]) -> u16 {
    let (words, _) = header.as_chunks::<2>();
    let mut sum: u32 = words.iter().map(|&word| u32::from(u16::from_ne_bytes(word))).sum();
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

/// See [`crate::rank()`].
#[inline(always)]
pub fn rank(line: &crate::Separators, key: u64) -> u32 {
    line.iter().map(|separator| u32::from(separator.load(Relaxed) < key)).sum()
}

/// See [`crate::rank_of_three`].
#[inline(always)]
pub fn rank_of_three(line: &crate::Separators, value: u32) -> u32 {
    (2..5).map(|i| u32::from(half(line, i) <= value)).sum()
}

/// See [`crate::rank_of_sixteen`].
#[inline(always)]
pub fn rank_of_sixteen(line: &crate::Separators, value: u32) -> u32 {
    (0..16).map(|i| u32::from(half(line, i) < value)).sum()
}

/// See [`crate::rank_of_four`].
#[inline(always)]
pub fn rank_of_four(line: &crate::Separators, value: u32) -> u32 {
    (0..4).map(|i| u32::from(half(line, i) < value)).sum()
}

/// See [`crate::rank_of_eight`].
#[inline(always)]
pub fn rank_of_eight(line: &crate::Separators, value: u32) -> u32 {
    (0..8).map(|i| u32::from(half(line, i) < value)).sum()
}

/// Half a word, the lower one first.
#[inline(always)]
fn half(line: &crate::Separators, i: usize) -> u32 {
    (line[i / 2].load(Relaxed) >> (i % 2 * 32)) as u32
}

/// See [`crate::copy_rewrite`].
///
/// # Panics
/// As there.
#[inline(always)]
pub fn copy_rewrite<const N: usize>(dst: &mut [u8; N], end: usize, rewrite: &[u8; 64], len: usize) {
    dst[..end][end - len..].copy_from_slice(&rewrite[..len]);
}
