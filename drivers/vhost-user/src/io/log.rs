// SPDX-License-Identifier: Apache-2.0
//! The log of a guest's pages that this end has written, by which a guest is migrated while it
//! runs: a bit for each page of 4 KiB, from the guest's address 0 on. The front-end copies pages
//! and clears bits meanwhile.

use mem::{PeerMemory, Wake};
use std::io;
use std::os::fd::AsFd;

/// Bytes of a page of the log.
pub const LOG_PAGE: u64 = 4096;

/// A front-end's log.
pub struct Log(PeerMemory);

impl Log {
    /// Maps `size` bytes of a file, from `offset` on. `wake` is raised when the file has become
    /// shorter.
    ///
    /// # Errors
    /// An empty log, a file that is shorter; what mmap says.
    pub fn open(fd: impl AsFd, size: u64, offset: u64, wake: Option<Wake>) -> io::Result<Self> {
        Ok(Self(PeerMemory::open(fd, size, offset, wake, "the log of written pages")?))
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the front-end has made the file shorter, and memory that is gone was
    /// accessed.
    pub fn is_broken(&self) -> bool {
        self.0.is_broken()
    }

    /// Returns true if it has a bit for the page of this address of the guest.
    pub fn has(&self, address: u64) -> bool {
        address / LOG_PAGE / 8 < self.0.len() as u64
    }

    /// Clears the log, as a front-end does; the pages that it had.
    #[cfg(feature = "tests")]
    pub fn take(&self) -> Vec<u64> {
        let bytes = (0..self.len()).filter_map(|n| Some((n as u64, self.0.take_bits(n)?)));
        let pages = |(n, byte): (u64, u8)| {
            (0..8).filter(move |bit| byte >> bit & 1 != 0).map(move |bit| 8 * n + bit)
        };
        bytes.flat_map(pages).collect()
    }

    /// Notes that bytes at this address of the guest were written. To be called behind the write:
    /// the front-end clears a bit, then copies the page.
    #[cold]
    pub fn written(&self, address: u64, bytes: usize) {
        let last = address + (bytes as u64).saturating_sub(1);
        for page in address / LOG_PAGE..=last / LOG_PAGE {
            self.0.set_bits(usize::try_from(page / 8).unwrap_or(usize::MAX), 1 << (page % 8));
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::tests::peer::file;

    #[suite::test]
    fn each_page_has_its_bit() {
        let fd = file(8192);
        let log = Log::open(&fd, 100, 4000, None).expect("mapped");
        assert!(
            (log.len(), log.has(800 * LOG_PAGE - 1), log.has(800 * LOG_PAGE)) == (100, true, false)
        );
        log.written(0, 1);
        log.written(3 * LOG_PAGE - 1, 2);
        log.written(9 * LOG_PAGE, 2 * LOG_PAGE as usize);
        // Without a bit.
        log.written(800 * LOG_PAGE, 10);
        let mut bytes = [0; 102];
        assert_eq!(rustix::io::pread(&fd, &mut bytes, 3999), Ok(102));
        assert_eq!((bytes[1], bytes[2]), (0b1101, 0b110));
        assert!(bytes[0] == 0 && bytes[3..] == [0; 99], "{bytes:?}");
        let error = |size, offset| Log::open(&fd, size, offset, None).err().map(|e| e.to_string());
        for (size, offset, why) in
            [(0, 0, "empty"), (8193, 0, "longer"), (1, 8192, "longer"), (u64::MAX, 1, "too long")]
        {
            assert!(error(size, offset).is_some_and(|e| e.contains(why)), "{size} {offset}");
        }
    }
}
