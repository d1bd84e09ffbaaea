// SPDX-License-Identifier: Apache-2.0
//! Hints to the cache. They never fault and change nothing but time.

/// Asks for the first cache line of `value`, to read it soon.
#[inline(always)]
pub fn prefetch_read<T: ?Sized>(value: &T) {
    prefetch_ptr((&raw const *value).cast::<u8>());
}

/// Asks for the first cache line of `value` with the right to write it.
#[inline(always)]
pub fn prefetch_write<T: ?Sized>(value: &T) {
    let ptr = (&raw const *value).cast::<u8>();
    // As text, because the compiler emits a prefetch for reading unless the whole function requires
    // the feature; processors without it take the instruction for a no-op.
    // SAFETY: a prefetch of any address is allowed and has no effect that a program could see.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) ptr, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = ptr;
}

/// Asks for the cache line at `ptr`, to read it soon and not again: as far as the processor can,
/// nothing else makes room for it. The address may be anything.
#[inline(always)]
pub fn prefetch_once<T>(ptr: *const T) {
    // SAFETY: a prefetch of any address is allowed.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_NTA }>(ptr.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = ptr;
}

/// Asks for the cache line at `ptr`, to read it soon. The address may be anything.
#[inline(always)]
pub fn prefetch_ptr<T>(ptr: *const T) {
    // SAFETY: a prefetch of any address is allowed.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(ptr.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = ptr;
}
