// SPDX-License-Identifier: Apache-2.0
//! The regions of a guest's memory, and what a guest's addresses stand for.

use super::{Log, Region, RegionInfo};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Regions of a guest at most, the protocol's limit without its extension for more.
pub const MAX_REGIONS: usize = 8;

/// Pieces of a chain at most, so many as the longest packet takes in buffers of 64 bytes. It bounds
/// the work for one chain.
pub const MAX_PIECES: usize = 1024;

/// Memory inside of one region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Index of the region.
    pub region: u32,
    /// Its length in bytes.
    pub len: u32,
    /// Where it begins in the region.
    pub offset: usize,
}

/// A guest's memory.
pub struct Memory {
    regions: Arc<[Region]>,
    /// Pages that are written are noted there.
    log: Option<Arc<Log>>,
}

impl Memory {
    /// Takes the regions.
    ///
    /// # Errors
    /// Regions that overlap.
    pub fn new(regions: Vec<Region>) -> Result<Arc<Self>, &'static str> {
        let overlap = |a: u64, b: u64, a_size: u64, b_size: u64| a < b + b_size && b < a + a_size;
        for (n, one) in regions.iter().enumerate() {
            let a = one.info();
            for other in &regions[..n] {
                let b = other.info();
                // Sums don't overflow: each region was checked when it was mapped.
                if overlap(a.guest, b.guest, a.size, b.size)
                    || overlap(a.user, b.user, a.size, b.size)
                {
                    return Err("memory regions overlap");
                }
            }
        }
        Ok(Arc::new(Self { regions: regions.into(), log: None }))
    }

    /// The same regions, with another log or none.
    ///
    /// # Errors
    /// A log that has no bits for some of the memory.
    pub fn with_log(&self, log: Option<Arc<Log>>) -> Result<Arc<Self>, &'static str> {
        if let Some(log) = &log {
            let mut last = self.regions.iter().map(|region| {
                let info = region.info();
                info.guest + info.size - 1
            });
            if !last.all(|address| log.has(address)) {
                return Err("the log of written pages is too short for the guest's memory");
            }
        }
        Ok(Arc::new(Self { regions: self.regions.clone(), log }))
    }

    /// The log of written pages, if there is one.
    pub fn log(&self) -> Option<&Log> {
        self.log.as_deref()
    }

    /// The regions.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Memory that the front-end has taken away, if it has.
    pub fn broken(&self) -> Option<String> {
        if self.log.as_ref().is_some_and(|log| log.is_broken()) {
            return Some("log of written pages".to_string());
        }
        let region = self.regions.iter().find(|region| region.is_broken())?;
        Some(format!("memory region at guest address {:#x}", region.info().guest))
    }

    /// The region with this index.
    #[inline(always)]
    pub fn region(&self, index: u32) -> Option<&Region> {
        self.regions.get(index as usize)
    }

    #[inline(always)]
    fn find(&self, address: u64, base: impl Fn(&RegionInfo) -> u64) -> Option<(u32, usize, u64)> {
        self.regions.iter().enumerate().find_map(|(n, region)| {
            let info = region.info();
            let offset = address.wrapping_sub(base(&info));
            (offset < info.size).then(|| (n as u32, offset as usize, info.size - offset))
        })
    }

    /// The longest piece that begins at this address of the guest, at most `len` bytes.
    #[inline(always)]
    pub fn at_guest(&self, address: u64, len: u32) -> Option<Piece> {
        let (region, offset, left) = self.find(address, |info| info.guest)?;
        Some(Piece { region, offset, len: u64::from(len).min(left) as u32 })
    }

    /// Where `len` bytes at this address of the front-end are, if one region has all of them.
    pub fn at_user(&self, address: u64, len: usize) -> Option<Piece> {
        let (region, offset, left) = self.find(address, |info| info.user)?;
        let len = u32::try_from(len).ok().filter(|len| u64::from(*len) <= left)?;
        Some(Piece { region, offset, len })
    }

    /// Copies the bytes of a piece out. False if the piece isn't inside of its region.
    #[inline(always)]
    #[must_use]
    pub fn copy_out(&self, piece: Piece, to: &mut [u8]) -> bool {
        self.region(piece.region).is_some_and(|region| region.copy_out(piece.offset, to))
    }

    /// Copies bytes to the start of a piece. False if they don't fit inside of its region.
    #[inline(always)]
    #[must_use]
    pub fn copy_in(&self, piece: Piece, from: &[u8]) -> bool {
        let Some(region) = self.region(piece.region) else { return false };
        let is_copied = region.copy_in(piece.offset, from);
        self.note(region, piece.offset, from.len());
        is_copied
    }

    /// Writes two bytes `at` bytes behind the start of a piece; nothing happens outside of its
    /// region, or off the alignment.
    #[inline(always)]
    pub fn store16(&self, piece: Piece, at: usize, value: u16, order: Ordering) {
        if let Some(region) = self.region(piece.region) {
            region.store16(piece.offset + at, value, order);
            self.note(region, piece.offset + at, 2);
        }
    }

    /// As [`Self::store16`], of four bytes.
    #[inline(always)]
    pub fn store32(&self, piece: Piece, at: usize, value: u32) {
        if let Some(region) = self.region(piece.region) {
            region.store32(piece.offset + at, value);
            self.note(region, piece.offset + at, 4);
        }
    }

    /// Notes in the log that bytes of a region were written.
    #[inline(always)]
    fn note(&self, region: &Region, offset: usize, bytes: usize) {
        if let Some(log) = &self.log
            && region.holds(offset, bytes)
        {
            log.written(region.info().guest + offset as u64, bytes);
        }
    }
}

/// The memory of one chain of descriptors, in order.
#[derive(Default)]
pub struct Pieces {
    list: Vec<Piece>,
    len: usize,
    steps: u32,
}

impl Pieces {
    /// Room for the longest chain, so that none is made later.
    pub fn new() -> Self {
        Self { list: Vec::with_capacity(MAX_PIECES), ..Self::default() }
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        self.list.clear();
        self.len = 0;
    }

    /// Buffers that were added since [`Self::restart`], whether they were valid or not.
    #[inline(always)]
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Counts [`Self::steps`] from 0 again.
    #[inline(always)]
    pub fn restart(&mut self) {
        self.steps = 0;
    }

    /// Bytes of all.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The pieces.
    #[inline(always)]
    pub fn list(&self) -> &[Piece] {
        &self.list
    }

    /// Adds the memory at an address of the guest, which may continue in another region. False if
    /// some of it is in no region, or if there are too many pieces.
    #[inline(always)]
    #[must_use]
    pub fn add(&mut self, memory: &Memory, mut address: u64, mut len: u32) -> bool {
        self.steps += 1;
        while len > 0 {
            if self.list.len() >= MAX_PIECES {
                return false;
            }
            let Some(piece) = memory.at_guest(address, len) else { return false };
            self.list.push(piece);
            self.len += piece.len as usize;
            len -= piece.len;
            // Behind the last address there is no region.
            address = address.wrapping_add(u64::from(piece.len));
        }
        true
    }

    /// Skips `skip` bytes and copies what follows to `to`, as far as there is some.
    #[inline(always)]
    pub fn copy_out<'d>(
        &self,
        memory: &Memory,
        mut skip: usize,
        to: impl Iterator<Item = &'d mut [u8]>,
    ) -> bool {
        let mut pieces = self.list.iter();
        let mut now = Piece { region: 0, len: 0, offset: 0 };
        for mut part in to {
            while !part.is_empty() {
                if now.len == 0 {
                    let Some(piece) = pieces.next() else { return true };
                    now = *piece;
                    let less = skip.min(now.len as usize);
                    (skip, now.offset, now.len) =
                        (skip - less, now.offset + less, now.len - less as u32);
                    continue;
                }
                let len = (now.len as usize).min(part.len());
                let (first, rest) = part.split_at_mut(len);
                if !memory.copy_out(now, first) {
                    return false;
                }
                (now.offset, now.len, part) = (now.offset + len, now.len - len as u32, rest);
            }
        }
        true
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    fn region(guest: u64, user: u64) -> Region {
        let fd = memfd_create("test", MemfdFlags::CLOEXEC).expect("a memfd");
        ftruncate(&fd, 4096).expect("grows");
        Region::open(&fd, RegionInfo { guest, size: 4096, user, offset: 0 }, None).expect("memory")
    }

    #[suite::test]
    fn addresses_are_found_in_their_region_only() {
        let memory = Memory::new(vec![region(0, 0x10_000), region(4096, 0x40_000)]).expect("two");
        let piece = |region, offset, len| Some(Piece { region, len, offset });
        assert_eq!(memory.at_guest(0, 10), piece(0, 0, 10));
        assert_eq!(memory.at_guest(4095, 10), piece(0, 4095, 1));
        assert_eq!(memory.at_guest(4096, u32::MAX), piece(1, 0, 4096));
        assert_eq!((memory.at_guest(8192, 1), memory.at_guest(u64::MAX, 1)), (None, None));
        assert_eq!(memory.at_user(0x40_010, 4080), piece(1, 16, 4080));
        assert_eq!((memory.at_user(0x40_010, 4081), memory.at_user(0, 1)), (None, None));
        // A buffer over both.
        let mut pieces = Pieces::new();
        assert!(pieces.add(&memory, 4000, 200) && pieces.len() == 200);
        assert!(
            memory.copy_in(pieces.list()[0], &[1; 96])
                && memory.copy_in(pieces.list()[1], &[2; 104])
        );
        let (mut a, mut b) = ([0; 40], [0; 150]);
        assert!(pieces.copy_out(&memory, 90, [&mut a[..], &mut b[..]].into_iter()));
        assert_eq!(
            (&a[..6], &a[6..], &b[..70], b[70]),
            (&[1; 6][..], &[2; 34][..], &[2; 70][..], 0)
        );
        assert!(!pieces.add(&memory, 8191, 2) && !pieces.add(&memory, u64::MAX, 1));
    }

    #[suite::test]
    fn overlapping_regions_are_refused() {
        assert!(Memory::new(vec![region(0, 0), region(4096, 4096)]).is_ok());
        for other in [region(4095, 8192), region(8192, 100), region(0, 8192)] {
            assert!(Memory::new(vec![region(0, 0), other]).is_err());
        }
    }
}
