// SPDX-License-Identifier: Apache-2.0
//! The allocator's memory.

/// Gives the system back what was freed, as far as the allocator can (glibc's does): else it stays
/// with the process for what will be allocated next. Takes time in proportion to what was freed,
/// some milliseconds for a hundred megabytes, and other threads that allocate wait: for control,
/// when much has gone.
pub fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: may be called at any time; it takes the allocator's own locks and touches no memory
    // that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
