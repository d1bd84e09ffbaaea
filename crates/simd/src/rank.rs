// SPDX-License-Identifier: Apache-2.0
//! Where a key belongs among the separators of a search-tree node.

use core::sync::atomic::AtomicU64;

#[cfg(target_arch = "x86_64")]
use crate::Level;
use crate::{Isa, scalar};

/// One cache line of separators, ascending.
pub type Separators = [AtomicU64; 8];

/// How many of eight separators are below `key`. Each is loaded as by itself, relaxed. (The key by reference: it is spread over
/// a vector as it is loaded.)
#[inline(always)]
pub fn rank<I: Isa>(line: &Separators, key: &u64) -> u32 {
    match I::LEVEL {
        // SAFETY: `Isa` promises the level's instructions.
        #[cfg(target_arch = "x86_64")]
        Level::V4 => unsafe { rank_v4(line, key) },
        // With AVX2, flipping signs and moving the mask cost what eight compares with carry cost.
        _ => scalar::rank(line, *key),
    }
}

/// As text, because the line may be written meanwhile: to the compiler these are eight loads by somebody else, and a vector
/// load of aligned words is that to the processor.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn rank_v4(line: &Separators, key: &u64) -> u32 {
    let mask: u32;
    // SAFETY: the caller has AVX-512 F and DQ; reads 64 and 8 bytes behind valid references.
    unsafe {
        core::arch::asm!(
            "vpbroadcastq zmm0, qword ptr [{key}]",
            "vpcmpuq k1, zmm0, [{line}], 6",
            "kmovb {mask:e}, k1",
            key = in(reg) key,
            line = in(reg) line.as_ptr(),
            mask = lateout(reg) mask,
            out("zmm0") _,
            out("k1") _,
            options(nostack, preserves_flags, readonly),
        );
    }
    mask.count_ones()
}
