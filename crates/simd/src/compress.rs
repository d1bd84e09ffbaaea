// SPDX-License-Identifier: Apache-2.0
//! Picking the packets of a set out of a frame.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use crate::{Isa, Level, scalar};

/// Appends to `dst`, at position `at`, those elements of `src` whose bit is set in `mask`, in order, and
/// returns the position behind the last one.
///
/// Elements of `dst` behind the returned position may be overwritten with anything. The caller makes sure that
/// `at` plus the number of bits is at most 256; what doesn't fit is dropped.
#[inline(always)]
pub fn compress_u32<I: Isa>(src: &[u32; 256], mask: &[u64; 4], dst: &mut [u32; 256], at: usize) -> usize {
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

/// Compresses 16 elements in a register and stores all of it: on Zen 4 compressing to memory is microcoded,
/// 43 clocks a store.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn compress_u32_v4(src: &[u32; 256], mask: &[u64; 4], dst: &mut [u32; 256], at: usize) -> usize {
    let mut end = at.min(256);
    for (quarter, &word) in src.as_chunks::<64>().0.iter().zip(mask) {
        if word == 0 {
            continue;
        }
        for (i, group) in quarter.as_chunks::<16>().0.iter().enumerate() {
            let lanes = (word >> (16 * i)) as u16;
            let count = lanes.count_ones() as usize;
            // SAFETY: the caller has AVX-512 F. The load reads one group. The store writes 16 elements where
            // `dst` has room for them, else at most as many as there is room for.
            unsafe {
                let picked = _mm512_maskz_compress_epi32(lanes, _mm512_loadu_si512(group.as_ptr().cast()));
                let to = dst.as_mut_ptr().add(end);
                if end <= 256 - 16 {
                    _mm512_storeu_si512(to.cast(), picked);
                    end += count;
                } else {
                    let stored = count.min(256 - end);
                    _mm512_mask_storeu_epi32(to.cast(), ((1u32 << stored) - 1) as u16, picked);
                    end += stored;
                }
            }
        }
    }
    end
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn compress_u32_v3(src: &[u32; 256], mask: &[u64; 4], dst: &mut [u32; 256], at: usize) -> usize {
    let mut end = at.min(256);
    for (quarter, &word) in src.as_chunks::<64>().0.iter().zip(mask) {
        if word == 0 {
            continue;
        }
        for (i, group) in quarter.as_chunks::<8>().0.iter().enumerate() {
            let lanes = (word >> (8 * i)) as u8;
            let count = lanes.count_ones() as usize;
            // SAFETY: the caller has AVX2. The load reads one group. The store writes 8 elements where `dst`
            // has room for them.
            unsafe {
                let order = _mm_cvtsi64_si128(PICK[lanes as usize].cast_signed());
                let group = _mm256_loadu_si256(group.as_ptr().cast());
                let picked = _mm256_permutevar8x32_epi32(group, _mm256_cvtepu8_epi32(order));
                if end <= 256 - 8 {
                    _mm256_storeu_si256(dst.as_mut_ptr().add(end).cast(), picked);
                    end += count;
                } else {
                    let mut spill = [0u32; 8];
                    _mm256_storeu_si256(spill.as_mut_ptr().cast(), picked);
                    let stored = count.min(256 - end);
                    dst[end..end + stored].copy_from_slice(&spill[..stored]);
                    end += stored;
                }
            }
        }
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
