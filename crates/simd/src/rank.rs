// SPDX-License-Identifier: Apache-2.0
//! Rank of a key among the separators of a search-tree node.

use core::sync::atomic::AtomicU64;

#[cfg(target_arch = "x86_64")]
use crate::Level;
use crate::{Isa, scalar};

/// One cache line of separators, ascending.
pub type Separators = [AtomicU64; 8];

/// Number of separators, of eight, below `key`. Each is loaded as by itself, relaxed. (The key by
/// reference: it is broadcast to a vector as it is loaded.)
#[inline(always)]
pub fn rank<I: Isa>(line: &Separators, key: &u64) -> u32 {
    match I::LEVEL {
        // SAFETY: `Isa` promises the level's instructions.
        #[cfg(target_arch = "x86_64")]
        Level::V4 => unsafe { mask_v4(line, key).count_ones() },
        // With AVX2, flipping signs and moving the mask cost what eight compares with carry cost.
        _ => scalar::rank(line, *key),
    }
}

/// Number of separators, of three, that are at most `value`: the halves of the line's second word
/// and the lower half of its third. Each is loaded as by itself, relaxed.
#[inline(always)]
pub fn rank_of_three<I: Isa>(line: &Separators, value: u32) -> u32 {
    match I::LEVEL {
        // SAFETY: `Isa` promises the level's instructions.
        #[cfg(target_arch = "x86_64")]
        Level::V4 => unsafe { (mask_of_three_v4(line, value) & 0b111).count_ones() },
        _ => scalar::rank_of_three(line, value),
    }
}

/// Number of separators, of sixteen, below `value`: the halves of all words. Each is loaded as by
/// itself, relaxed. (The value by reference: it is broadcast to a vector as it is loaded.)
#[inline(always)]
pub fn rank_of_sixteen<I: Isa>(line: &Separators, value: &u32) -> u32 {
    match I::LEVEL {
        // SAFETY: `Isa` promises the level's instructions.
        #[cfg(target_arch = "x86_64")]
        Level::V4 => unsafe { mask_of_sixteen_v4(line, value).count_ones() },
        _ => scalar::rank_of_sixteen(line, *value),
    }
}

/// Number of separators, of four, below `value`: the halves of the first two words. Each is loaded
/// as by itself, relaxed.
#[inline(always)]
pub fn rank_of_four<I: Isa>(line: &Separators, value: u32) -> u32 {
    match I::LEVEL {
        // SAFETY: `Isa` promises the level's instructions.
        #[cfg(target_arch = "x86_64")]
        Level::V4 => unsafe { mask_of_four_v4(line, value).count_ones() },
        _ => scalar::rank_of_four(line, value),
    }
}

/// Number of separators, of eight, below `value`: the halves of the first four words. Each is
/// loaded as by itself, relaxed.
#[inline(always)]
pub fn rank_of_eight<I: Isa>(line: &Separators, value: u32) -> u32 {
    match I::LEVEL {
        // SAFETY: `Isa` promises the level's instructions.
        #[cfg(target_arch = "x86_64")]
        Level::V4 => unsafe { mask_of_eight_v4(line, value).count_ones() },
        _ => scalar::rank_of_eight(line, value),
    }
}

/// Compares separators with a value: the mask in `k1`. In assembly, because the line may be written
/// meanwhile: to the compiler these loads are opaque, and the processor loads each aligned word of
/// a vector as by itself.
#[cfg(target_arch = "x86_64")]
macro_rules! mask {
    ($line:ident, $value:ident, $($text:literal),+) => {{
        let mask: u32;
        core::arch::asm!(
            $($text,)+
            "kmovw {mask:e}, k1",
            value = in(reg) $value,
            line = in(reg) $line.as_ptr(),
            mask = lateout(reg) mask,
            out("zmm0") _,
            out("k1") _,
            options(nostack, preserves_flags, readonly),
        );
        mask
    }};
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn mask_v4(line: &Separators, key: &u64) -> u32 {
    // SAFETY: the caller has AVX-512 F; reads 64 and 8 bytes behind valid references.
    unsafe {
        mask!(line, key, "vpbroadcastq zmm0, qword ptr [{value}]", "vpcmpuq k1, zmm0, [{line}], 6")
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn mask_of_three_v4(line: &Separators, value: u32) -> u32 {
    // SAFETY: the caller has AVX-512 F and VL; reads 16 bytes of a valid reference.
    unsafe {
        mask!(line, value, "vpbroadcastd xmm0, {value:e}", "vpcmpud k1, xmm0, [{line} + 8], 5")
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn mask_of_sixteen_v4(line: &Separators, value: &u32) -> u32 {
    // SAFETY: the caller has AVX-512 F; reads 64 and 4 bytes behind valid references.
    unsafe {
        mask!(
            line,
            value,
            "vmovdqu32 zmm0, [{line}]",
            "vpcmpud k1, zmm0, dword ptr [{value}]{{1to16}}, 1"
        )
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn mask_of_four_v4(line: &Separators, value: u32) -> u32 {
    // SAFETY: the caller has AVX-512 F and VL; reads 16 bytes of a valid reference.
    unsafe { mask!(line, value, "vpbroadcastd xmm0, {value:e}", "vpcmpud k1, xmm0, [{line}], 6") }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn mask_of_eight_v4(line: &Separators, value: u32) -> u32 {
    // SAFETY: the caller has AVX-512 F and VL; reads 32 bytes of a valid reference.
    unsafe { mask!(line, value, "vpbroadcastd ymm0, {value:e}", "vpcmpud k1, ymm0, [{line}], 6") }
}
