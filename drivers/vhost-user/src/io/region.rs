// SPDX-License-Identifier: Apache-2.0
//! A region of a guest's memory, which other processes write at any time ([`PeerMemory`]).

use std::io;
use std::ops::Deref;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use mem::{PeerMemory, Wake};
use rustix::fs::{SealFlags, fcntl_get_seals};

/// A region as the front-end describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RegionInfo {
    /// Its address in the guest.
    pub guest: u64,
    /// Its length in bytes.
    pub size: u64,
    /// Its address in the front-end.
    pub user: u64,
    /// Where it begins in its file.
    pub offset: u64,
}

/// A mapped region.
pub struct Region {
    info: RegionInfo,
    memory: PeerMemory,
    sealed: bool,
}

impl Region {
    /// Maps a region of a file. `wake` is raised when the file has become shorter.
    ///
    /// # Errors
    /// An empty region, one that wraps around, or a file that is shorter; too many regions of all
    /// guests; what mmap says.
    pub fn open(fd: impl AsFd, info: RegionInfo, wake: Option<Wake>) -> io::Result<Self> {
        let RegionInfo { guest, size, user, offset } = info;
        if guest.checked_add(size).is_none() || user.checked_add(size).is_none() {
            let text = "a memory region wraps around";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let region = Self::named(fd, size, offset, wake, "a memory region")?;
        Ok(Self { info, ..region })
    }

    /// As [`Self::open`], of memory that isn't the guest's. Errors have its name.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn named(
        fd: impl AsFd,
        size: u64,
        offset: u64,
        wake: Option<Wake>,
        name: &str,
    ) -> io::Result<Self> {
        // A file that can't shrink has its size for good; of another one it is the size now.
        let sealed = fcntl_get_seals(&fd).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        let memory = PeerMemory::open(fd, size, offset, wake, name)?;
        Ok(Self { info: RegionInfo { guest: 0, size, user: 0, offset }, memory, sealed })
    }

    /// The description of the front-end.
    pub fn info(&self) -> RegionInfo {
        self.info
    }

    /// Returns true if the file is sealed against shrinking (F_SEAL_SHRINK).
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// See [`PeerMemory::store16`].
    #[inline(always)]
    pub fn store16(&self, offset: usize, value: u16, order: Ordering) {
        if is_alive() {
            self.memory.store16(offset, value, order);
        }
    }

    /// See [`PeerMemory::store32`].
    #[inline(always)]
    pub fn store32(&self, offset: usize, value: u32) {
        if is_alive() {
            self.memory.store32(offset, value);
        }
    }

    /// See [`PeerMemory::store64`].
    #[inline(always)]
    pub fn store64(&self, offset: usize, value: u64) {
        if is_alive() {
            self.memory.store64(offset, value);
        }
    }

    /// See [`PeerMemory::copy_in`].
    #[inline(always)]
    #[must_use]
    pub fn copy_in(&self, offset: usize, from: &[u8]) -> bool {
        if is_alive() { self.memory.copy_in(offset, from) } else { self.holds(offset, from.len()) }
    }
}

/// For loads; stores go through the region itself.
impl Deref for Region {
    type Target = PeerMemory;

    #[inline(always)]
    fn deref(&self) -> &PeerMemory {
        &self.memory
    }
}

/// False in tests that have killed this thread (the module `killed`).
#[inline(always)]
fn is_alive() -> bool {
    #[cfg(feature = "tests")]
    return killed::is_alive();
    #[cfg(not(feature = "tests"))]
    true
}

/// Kills a thread, as far as shared memory knows: what it writes from some store on isn't there.
#[cfg(feature = "tests")]
pub mod killed {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// After so many stores, or never. Returns how many were left.
    pub fn after(stores: Option<u32>) -> Option<u32> {
        LEFT.replace(stores)
    }

    pub fn is_alive() -> bool {
        match LEFT.get() {
            Some(0) => false,
            left => {
                LEFT.set(left.map(|left| left - 1));
                true
            }
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::os::fd::OwnedFd;

    fn memfd(len: u64) -> OwnedFd {
        let fd = memfd_create("test", MemfdFlags::CLOEXEC).expect("a memfd");
        ftruncate(&fd, len).expect("grows");
        fd
    }

    const INFO: RegionInfo = RegionInfo { guest: 0, size: 4096, user: 0x1000, offset: 4096 };

    #[suite::test]
    fn what_a_file_does_not_hold_is_refused() {
        let error = |fd: &OwnedFd, info| Region::open(fd, info, None).err().map(|e| e.to_string());
        let fd = memfd(8192);
        assert_eq!(error(&fd, INFO), None);
        for (info, why) in [
            (RegionInfo { size: 4097, ..INFO }, "a memory region is longer than its file"),
            (RegionInfo { guest: u64::MAX - 10, ..INFO }, "wraps"),
            (RegionInfo { user: u64::MAX - 10, ..INFO }, "wraps"),
        ] {
            assert!(error(&fd, info).is_some_and(|e| e.contains(why)), "{info:?}");
        }
        assert!(!Region::open(&fd, INFO, None).expect("memory").is_sealed());
    }
}
