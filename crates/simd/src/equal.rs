// SPDX-License-Identifier: Apache-2.0
//! Sets of the packets of a frame that have a given next.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use crate::{Isa, scalar};
#[cfg(target_arch = "x86_64")]
use crate::{Level, mask};

/// Returns true if the first `n` codes (at most 256) are all the same, also for `n` = 0.
#[inline(always)]
pub fn all_equal<I: Isa>(codes: &[u32; 256], n: usize) -> bool {
    match I::LEVEL {
        // SAFETY: `Isa` promises the level's instructions.
        #[cfg(target_arch = "x86_64")]
        Level::V4 => unsafe { all_equal_v4(codes, n.min(256)) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::V3 => unsafe { all_equal_v3(codes, n.min(256)) },
        #[cfg(target_arch = "x86_64")]
        Level::V1 => all_equal_v1(codes, n.min(256)),
        #[allow(unreachable_patterns, reason = "reached where there is no x86-64")]
        _ => scalar::all_equal(codes, n),
    }
}

/// The set of packets, of the first `n` (at most 256), whose code is `value`; bit `i % 64` of word
/// `i / 64` stands for packet `i`.
#[inline(always)]
pub fn equal_mask<I: Isa>(codes: &[u32; 256], n: usize, value: u32) -> [u64; 4] {
    match I::LEVEL {
        // SAFETY: `Isa` promises the level's instructions.
        #[cfg(target_arch = "x86_64")]
        Level::V4 => unsafe { equal_mask_v4(codes, n.min(256), value) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::V3 => unsafe { equal_mask_v3(codes, n.min(256), value) },
        #[cfg(target_arch = "x86_64")]
        Level::V1 => equal_mask_v1(codes, n.min(256), value),
        #[allow(unreachable_patterns, reason = "reached where there is no x86-64")]
        _ => scalar::equal_mask(codes, n, value),
    }
}

// The whole array is readable whatever `n` is, so tails are read in full and their excess lanes
// masked off.

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn all_equal_v4(codes: &[u32; 256], n: usize) -> bool {
    let (chunks, _) = codes.as_chunks::<16>();
    // SAFETY: the caller has AVX-512 F; each load reads one chunk.
    unsafe {
        let first = _mm512_set1_epi32(codes[0].cast_signed());
        let mut differ = _mm512_setzero_si512();
        for chunk in &chunks[..n / 16] {
            // differ | (first ^ chunk)
            differ = _mm512_ternarylogic_epi32::<0xf6>(
                differ,
                first,
                _mm512_loadu_si512(chunk.as_ptr().cast()),
            );
        }
        let mut lanes = _mm512_test_epi32_mask(differ, differ);
        if let Some(chunk) = chunks.get(n / 16) {
            let tail = (1u16 << (n % 16)) - 1;
            lanes |= _mm512_mask_cmpneq_epu32_mask(
                tail,
                first,
                _mm512_loadu_si512(chunk.as_ptr().cast()),
            );
        }
        lanes == 0
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn equal_mask_v4(codes: &[u32; 256], n: usize, value: u32) -> [u64; 4] {
    let (chunks, _) = codes.as_chunks::<16>();
    let mut out = [0; 4];
    // SAFETY: the caller has AVX-512 F; each load reads one chunk.
    unsafe {
        let value = _mm512_set1_epi32(value.cast_signed());
        for (i, chunk) in chunks[..n.div_ceil(16)].iter().enumerate() {
            let lanes = _mm512_cmpeq_epi32_mask(value, _mm512_loadu_si512(chunk.as_ptr().cast()));
            out[i / 4] |= u64::from(lanes) << (i % 4 * 16);
        }
    }
    mask::and(&out, &mask::first_n(n))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn all_equal_v3(codes: &[u32; 256], n: usize) -> bool {
    let (chunks, _) = codes.as_chunks::<8>();
    // SAFETY: the caller has AVX2; each load reads one chunk.
    unsafe {
        let first = _mm256_set1_epi32(codes[0].cast_signed());
        let mut differ = _mm256_setzero_si256();
        for chunk in &chunks[..n / 8] {
            let chunk = _mm256_loadu_si256(chunk.as_ptr().cast());
            differ = _mm256_or_si256(differ, _mm256_xor_si256(first, chunk));
        }
        let mut same = _mm256_testz_si256(differ, differ) == 1;
        if let Some(chunk) = chunks.get(n / 8) {
            let equal = _mm256_cmpeq_epi32(first, _mm256_loadu_si256(chunk.as_ptr().cast()));
            let tail = (1 << (n % 8)) - 1;
            same &= !_mm256_movemask_ps(_mm256_castsi256_ps(equal)) & tail == 0;
        }
        same
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn equal_mask_v3(codes: &[u32; 256], n: usize, value: u32) -> [u64; 4] {
    let (chunks, _) = codes.as_chunks::<8>();
    let mut out = [0; 4];
    // SAFETY: the caller has AVX2; each load reads one chunk.
    unsafe {
        let value = _mm256_set1_epi32(value.cast_signed());
        for (i, chunk) in chunks[..n.div_ceil(8)].iter().enumerate() {
            let equal = _mm256_cmpeq_epi32(value, _mm256_loadu_si256(chunk.as_ptr().cast()));
            let lanes = _mm256_movemask_ps(_mm256_castsi256_ps(equal)).cast_unsigned();
            out[i / 8] |= u64::from(lanes) << (i % 8 * 8);
        }
    }
    mask::and(&out, &mask::first_n(n))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn all_equal_v1(codes: &[u32; 256], n: usize) -> bool {
    let (chunks, _) = codes.as_chunks::<4>();
    // SAFETY: every x86-64 has SSE2; each load reads one chunk.
    unsafe {
        let first = _mm_set1_epi32(codes[0].cast_signed());
        let mut equal = _mm_set1_epi32(-1);
        for chunk in &chunks[..n / 4] {
            equal = _mm_and_si128(
                equal,
                _mm_cmpeq_epi32(first, _mm_loadu_si128(chunk.as_ptr().cast())),
            );
        }
        let mut same = _mm_movemask_ps(_mm_castsi128_ps(equal)) == 0xf;
        if let Some(chunk) = chunks.get(n / 4) {
            let equal = _mm_cmpeq_epi32(first, _mm_loadu_si128(chunk.as_ptr().cast()));
            let tail = (1 << (n % 4)) - 1;
            same &= !_mm_movemask_ps(_mm_castsi128_ps(equal)) & tail == 0;
        }
        same
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn equal_mask_v1(codes: &[u32; 256], n: usize, value: u32) -> [u64; 4] {
    let (chunks, _) = codes.as_chunks::<4>();
    let mut out = [0; 4];
    // SAFETY: every x86-64 has SSE2; each load reads one chunk.
    unsafe {
        let value = _mm_set1_epi32(value.cast_signed());
        for (i, chunk) in chunks[..n.div_ceil(4)].iter().enumerate() {
            let equal = _mm_cmpeq_epi32(value, _mm_loadu_si128(chunk.as_ptr().cast()));
            let lanes = _mm_movemask_ps(_mm_castsi128_ps(equal)).cast_unsigned();
            out[i / 16] |= u64::from(lanes) << (i % 16 * 4);
        }
    }
    mask::and(&out, &mask::first_n(n))
}
