// SPDX-License-Identifier: Apache-2.0
//! Picking the packets of a set out of a frame.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use crate::Level;
use crate::{Isa, scalar};

/// Appends to `dst`, at position `at`, those elements of `src` whose bit is set in `mask`, in
/// order, and returns the position behind the last one.
///
/// Elements of `dst` behind the returned position may be overwritten with anything. The caller
/// makes sure that `at` plus the number of bits is at most 256; what doesn't fit is dropped.
#[inline(always)]
pub fn compress_u32<I: Isa>(
    src: &[u32; 256],
    mask: &[u64; 4],
    dst: &mut [u32; 256],
    at: usize,
) -> usize {
    match I::LEVEL {
        // SAFETY: `Isa` promises the level's instructions.
        #[cfg(target_arch = "x86_64")]
        Level::V4 => unsafe { compress_u32_v4(src, mask, dst, at) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::V3 => unsafe { compress_u32_v3(src, mask, dst, at) },
        _ => scalar::compress_u32(src, mask, dst, at),
    }
}

/// Compresses 16 elements in a register and stores all of it: on Zen 4 compressing to memory is
/// microcoded, 43 clocks a store.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn compress_u32_v4(
    src: &[u32; 256],
    mask: &[u64; 4],
    dst: &mut [u32; 256],
    at: usize,
) -> usize {
    let mut end = at.min(256);
    // SAFETY: the caller has AVX-512 F.
    unsafe {
        // Written out: in a loop the mask goes through memory.
        end = compress_word_v4::<0>(src, mask, dst, end);
        end = compress_word_v4::<1>(src, mask, dst, end);
        end = compress_word_v4::<2>(src, mask, dst, end);
        end = compress_word_v4::<3>(src, mask, dst, end);
    }
    end
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn compress_word_v4<const W: usize>(
    src: &[u32; 256],
    mask: &[u64; 4],
    dst: &mut [u32; 256],
    mut end: usize,
) -> usize {
    let word = mask[W];
    let (groups, _) = src.as_chunks::<16>();
    let lanes = |i: usize| (word >> (16 * i)) as u16;
    // SAFETY: the caller has AVX-512 F; the load reads one group.
    let picked = |i: usize| unsafe {
        _mm512_maskz_compress_epi32(lanes(i), _mm512_loadu_si512(groups[4 * W + i].as_ptr().cast()))
    };
    if word == 0 {
        return end;
    }
    if end <= 256 - 64 {
        // Each position is counted from the start of the word, so that the four don't wait for each
        // other.
        let before = |i: usize| (word & ((1u64 << (16 * i)) - 1)).count_ones() as usize;
        for i in 0..4 {
            // SAFETY: the caller has AVX-512 F. At most 16 i elements lie before group i, and `dst`
            // has room for 64 behind `end`.
            unsafe { _mm512_storeu_si512(dst.as_mut_ptr().add(end + before(i)).cast(), picked(i)) };
        }
        return end + word.count_ones() as usize;
    }
    for i in 0..4 {
        let count = (lanes(i).count_ones() as usize).min(256 - end);
        let stored = ((1u32 << count) - 1) as u16;
        // SAFETY: the caller has AVX-512 F. No more elements are stored than `dst` has room for.
        unsafe { _mm512_mask_storeu_epi32(dst.as_mut_ptr().add(end).cast(), stored, picked(i)) };
        end += count;
    }
    end
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn compress_u32_v3(
    src: &[u32; 256],
    mask: &[u64; 4],
    dst: &mut [u32; 256],
    at: usize,
) -> usize {
    let mut end = at.min(256);
    // SAFETY: the caller has AVX2.
    unsafe {
        end = compress_word_v3::<0>(src, mask, dst, end);
        end = compress_word_v3::<1>(src, mask, dst, end);
        end = compress_word_v3::<2>(src, mask, dst, end);
        end = compress_word_v3::<3>(src, mask, dst, end);
    }
    end
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn compress_word_v3<const W: usize>(
    src: &[u32; 256],
    mask: &[u64; 4],
    dst: &mut [u32; 256],
    mut end: usize,
) -> usize {
    let word = mask[W];
    let (groups, _) = src.as_chunks::<8>();
    let lanes = |i: usize| (word >> (8 * i)) as u8;
    // SAFETY: the caller has AVX2; the load reads one group.
    let picked = |i: usize| unsafe {
        let order = _mm_cvtsi64_si128(PICK[usize::from(lanes(i))].cast_signed());
        let group = _mm256_loadu_si256(groups[8 * W + i].as_ptr().cast());
        _mm256_permutevar8x32_epi32(group, _mm256_cvtepu8_epi32(order))
    };
    if word == 0 {
        return end;
    }
    if end <= 256 - 64 {
        let before = |i: usize| (word & ((1u64 << (8 * i)) - 1)).count_ones() as usize;
        for i in 0..8 {
            // SAFETY: the caller has AVX2. At most 8 i elements lie before group i, and `dst` has
            // room for 64 behind `end`.
            unsafe { _mm256_storeu_si256(dst.as_mut_ptr().add(end + before(i)).cast(), picked(i)) };
        }
        return end + word.count_ones() as usize;
    }
    for i in 0..8 {
        let mut spill = [0u32; 8];
        // SAFETY: the caller has AVX2, and `spill` is 8 elements long.
        unsafe { _mm256_storeu_si256(spill.as_mut_ptr().cast(), picked(i)) };
        let count = (lanes(i).count_ones() as usize).min(256 - end);
        dst[end..end + count].copy_from_slice(&spill[..count]);
        end += count;
    }
    end
}

/// For each set of 8 lanes their numbers, ascending, one a byte from the lowest.
#[cfg(target_arch = "x86_64")]
static PICK: [u64; 256] = {
    let mut table = [0; 256];
    let mut lanes = 0;
    while lanes < 256 {
        let (mut lane, mut at) = (0, 0);
        while lane < 8 {
            if lanes >> lane & 1 == 1 {
                table[lanes] |= lane << (8 * at);
                at += 1;
            }
            lane += 1;
        }
        lanes += 1;
    }
    table
};
