// SPDX-License-Identifier: Apache-2.0
//! The log of chains in flight (VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD): memory that a front-end
//! keeps for this end, so that the next process knows where the last one was when it was killed.
//!
//! This end uses chains in order, and has none from one turn to the next: those that a turn takes
//! are given back together at its end. So the log is written in `give_back` only, and not when a
//! chain is taken, as the protocol suggests for devices that use chains out of order:
//!
//! - A split ring loses nothing without it: what lies behind the used index is available still. No
//!   chain is ever marked; the log has the used index.
//! - A packed ring has no such index, and used descriptors take the place of available ones. The
//!   log has the position, and copies of the descriptors while they are overwritten.
//!
//! Layout and meaning are the protocol's, so the log of another back-end, with chains that it had
//! taken out of order, is understood too: these come first, in the order in which they were taken.
//!
//! The front-end may write anything into the log. It is read when a ring starts, checked, and kept
//! in private memory; what is read can't do more than what a guest can write into its ring.

mod packed;
mod split;

pub use packed::PackedLog;
pub use split::SplitLog;

use super::Region;
use super::queue::Format;
use mem::Wake;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Each ring's part begins at a multiple of it.
const ALIGN: u64 = 64;

/// Offsets in a ring's part: its version, 0 if nothing was written yet.
const VERSION: usize = 8;
/// The number of entries behind its header.
const ENTRIES: usize = 10;
/// The version that this is.
const THIS: u16 = 1;

/// A log as the front-end describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InflightInfo {
    /// Its length in bytes.
    pub size: u64,
    /// Where it begins in its file.
    pub offset: u64,
    /// Rings.
    pub queues: u16,
    /// Descriptors of each.
    pub queue_size: u16,
}

/// Bytes of the header and of an entry.
fn parts(format: Format) -> (u64, u64) {
    match format {
        Format::Split => (16, 16),
        Format::Packed => (32, 32),
    }
}

/// Bytes of a ring's part.
fn stride(format: Format, queue_size: u16) -> u64 {
    let (header, entry) = parts(format);
    (header + entry * u64::from(queue_size)).next_multiple_of(ALIGN)
}

/// Bytes of a log for so many rings.
pub fn bytes(format: Format, queues: u16, queue_size: u16) -> u64 {
    stride(format, queue_size) * u64::from(queues)
}

/// A front-end's log.
pub struct Inflight {
    area: Region,
    info: InflightInfo,
}

impl Inflight {
    /// A file for a log, empty.
    ///
    /// # Errors
    /// No memory or no descriptor is left.
    pub fn make(size: u64) -> io::Result<OwnedFd> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create("vhost-user inflight", flags)?;
        ftruncate(&fd, size)?;
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(fd)
    }

    /// Maps a log. `wake` is raised when its file has become shorter.
    ///
    /// # Errors
    /// An empty one, a file that is shorter; what mmap says.
    pub fn open(fd: impl AsFd, info: InflightInfo, wake: Option<Wake>) -> io::Result<Arc<Self>> {
        let area = Region::named(fd, info.size, info.offset, wake, "the inflight log")?;
        Ok(Arc::new(Self { area, info }))
    }

    /// The description of the front-end.
    pub fn info(&self) -> InflightInfo {
        self.info
    }

    /// Returns true if the front-end has made the file shorter, and memory that is gone was
    /// accessed.
    pub fn is_broken(&self) -> bool {
        self.area.is_broken()
    }

    /// The part of a ring of so many descriptors.
    ///
    /// # Errors
    /// The log has no part for it.
    pub fn ring(self: &Arc<Self>, index: usize, format: Format, size: u16) -> Result<Part, String> {
        let InflightInfo { size: all, queues, queue_size, .. } = self.info;
        if index >= queues.into() {
            return Err(format!("the inflight log has {queues} rings, none for ring {index}"));
        }
        if size > queue_size {
            return Err(format!(
                "the inflight log is for rings of {queue_size} descriptors, ring {index} has {size}"
            ));
        }
        // The format may have changed since the log came.
        let need = bytes(format, queues, queue_size);
        if need > all {
            return Err(format!(
                "the inflight log has {all} bytes, {queues} rings of {queue_size} need {need}"
            ));
        }
        // It is at most the size of a mapping.
        let at = (stride(format, queue_size) * index as u64) as usize;
        Ok(Part { log: self.clone(), at, entries: queue_size })
    }
}

/// A ring's part of a log.
pub struct Part {
    log: Arc<Inflight>,
    at: usize,
    /// Entries behind its header.
    entries: u16,
}

impl Part {
    fn load16(&self, at: usize) -> u16 {
        self.log.area.load16(self.at + at, Ordering::Acquire).unwrap_or(0)
    }

    fn load64(&self, at: usize) -> [u8; 8] {
        self.log.area.load64(self.at + at).unwrap_or(0).to_ne_bytes()
    }

    /// Writes two bytes, behind everything that was written before.
    fn store16(&self, at: usize, value: u16) {
        self.log.area.store16(self.at + at, value, Ordering::Release);
    }

    /// As [`Self::store16`], of eight bytes at once.
    fn store64(&self, at: usize, value: [u8; 8]) {
        self.log.area.store64(self.at + at, u64::from_ne_bytes(value));
    }

    /// Returns true if it was written before: by an earlier process, or when the ring was started
    /// the last time.
    fn is_written(&self) -> Result<bool, String> {
        match (self.load16(VERSION), self.load16(ENTRIES)) {
            (0, _) => Ok(false),
            (THIS, entries) if entries == self.entries => Ok(true),
            (THIS, entries) => Err(format!(
                "the ring's part of the inflight log has {entries} descriptors, not {}",
                self.entries
            )),
            (version, _) => Err(format!("version {version} of the inflight log isn't {THIS}")),
        }
    }

    /// Takes it into use, once everything else is written.
    fn begin(&self) {
        self.store16(ENTRIES, self.entries);
        self.store16(VERSION, THIS);
    }

    /// Makes it an unused one: the front-end was told where the ring is, and no chain is in flight.
    fn end(&self) {
        self.store16(VERSION, 0);
    }
}

/// The first two bytes of an entry: one that tells if its chain is in flight, and padding.
fn mark(in_flight: bool) -> u16 {
    u16::from_ne_bytes([in_flight.into(), 0])
}
