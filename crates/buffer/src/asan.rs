// SPDX-License-Identifier: Apache-2.0
//! Free slots under AddressSanitizer.
//!
//! A pool is one mapping that lives as long as the process, so the sanitizer by itself sees no
//! fault in the use of a buffer that was freed. With `--cfg ferrovia_asan` a slot is poisoned from
//! when it is carved, except for its [`Buffer`] while that has an owner: any touch of a free
//! buffer, or of the driver area between two, is then reported with both stacks.
//!
//! ```text
//! RUSTFLAGS='-Zsanitizer=address --cfg ferrovia_asan' \
//!     cargo +nightly test --target x86_64-unknown-linux-gnu -p ferrovia-buffer
//! ```
//!
//! Free lists hold indices beside the slots, and a prefetch isn't an access, so nothing in this
//! project touches a free slot. A driver that shares slots with a device has to unpoison what the
//! device's descriptor takes in the driver area.

use crate::header::Buffer;
use std::ptr::NonNull;

#[cfg(ferrovia_asan)]
mod runtime {
    use std::ffi::c_void;

    unsafe extern "C" {
        pub fn __asan_poison_memory_region(at: *const c_void, bytes: usize);
        pub fn __asan_unpoison_memory_region(at: *const c_void, bytes: usize);
        #[cfg(feature = "tests")]
        pub fn __asan_address_is_poisoned(at: *const c_void) -> i32;
    }
}

/// Forbids all access to these bytes, which nothing uses. No code without `cfg(ferrovia_asan)`.
#[inline(always)]
pub(crate) fn poison(at: *const u8, bytes: usize) {
    #[cfg(ferrovia_asan)]
    // SAFETY: marks memory for the sanitizer, and touches none.
    unsafe {
        runtime::__asan_poison_memory_region(at.cast(), bytes);
    }
    let _ = (at, bytes);
}

/// Allows access to a buffer that gets an owner. No code without `cfg(ferrovia_asan)`.
#[inline(always)]
pub(crate) fn unpoison(buffer: NonNull<Buffer>) {
    #[cfg(ferrovia_asan)]
    // SAFETY: marks memory for the sanitizer, and touches none.
    unsafe {
        runtime::__asan_unpoison_memory_region(buffer.as_ptr().cast(), Buffer::SIZE);
    }
    let _ = buffer;
}

#[cfg(all(feature = "tests", ferrovia_asan))]
mod tests {
    use crate::{Cache, PACKET_OFFSET, Pool};

    /// Checks that a slot's bytes may be touched only while the buffer has an owner, and the bytes
    /// between buffers never.
    #[suite::test]
    fn free_slots_are_poisoned() {
        let pool = Pool::new(63).expect("a small pool");
        let mut cache = Cache::new(pool);
        let first = cache.alloc().expect("one");
        let data = first.data().as_ptr();
        let is_poisoned = |offset: isize| {
            // SAFETY: asks the sanitizer, and touches no memory.
            unsafe {
                super::runtime::__asan_address_is_poisoned(data.wrapping_offset(offset).cast()) != 0
            }
        };
        let (start, end) = (-(PACKET_OFFSET as isize), 2048);
        let own = |wanted: bool| (start..end).all(|at| is_poisoned(at) == wanted);
        let around = || (start - 128..start).chain(end..end + 64).all(is_poisoned);
        assert!(own(false) && around());
        cache.free(first);
        assert!(own(true) && around(), "freed by a cache");
        let mut frame = crate::Frame::new(pool);
        cache.alloc_frame(&mut frame, 1);
        assert!(own(false) && around());
        cache.free_frame(&mut frame);
        assert!(own(true) && around(), "freed with a frame");
        let again = cache.alloc().expect("one");
        assert!(own(false));
        drop(again);
        assert!(own(true) && around(), "freed without a cache");
    }
}
