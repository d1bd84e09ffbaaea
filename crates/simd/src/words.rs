// SPDX-License-Identifier: Apache-2.0
//! Sets of the words of a block that have a given value.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use crate::Level;
use crate::{Isa, scalar};

/// The set of the words, of 64, that are `value`; bit `i` stands for word `i`.
#[inline(always)]
pub fn equal_words<I: Isa>(words: &[u32; 64], value: u32) -> u64 {
    match I::LEVEL {
        // SAFETY: `Isa` promises the level's instructions.
        #[cfg(target_arch = "x86_64")]
        Level::V4 => unsafe { equal_words_v4(words, value) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::V3 => unsafe { equal_words_v3(words, value) },
        #[allow(unreachable_patterns, reason = "reached where there is no x86-64")]
        _ => scalar::equal_words(words, value),
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn equal_words_v4(words: &[u32; 64], value: u32) -> u64 {
    let (chunks, _) = words.as_chunks::<16>();
    let mut set = 0;
    // SAFETY: the caller has AVX-512 F; each load reads one chunk.
    unsafe {
        let value = _mm512_set1_epi32(value.cast_signed());
        for (i, chunk) in chunks.iter().enumerate() {
            let equal = _mm512_cmpeq_epi32_mask(value, _mm512_loadu_si512(chunk.as_ptr().cast()));
            set |= u64::from(equal) << (i * 16);
        }
    }
    set
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn equal_words_v3(words: &[u32; 64], value: u32) -> u64 {
    let (chunks, _) = words.as_chunks::<8>();
    let mut set = 0;
    // SAFETY: the caller has AVX2; each load reads one chunk.
    unsafe {
        let value = _mm256_set1_epi32(value.cast_signed());
        for (i, chunk) in chunks.iter().enumerate() {
            let equal = _mm256_cmpeq_epi32(value, _mm256_loadu_si256(chunk.as_ptr().cast()));
            let lanes = _mm256_movemask_ps(_mm256_castsi256_ps(equal)).cast_unsigned();
            set |= u64::from(lanes) << (i * 8);
        }
    }
    set
}
