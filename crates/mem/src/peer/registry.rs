// SPDX-License-Identifier: Apache-2.0
//! The mappings of peers' memory, as a signal handler can read them.

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use Ordering::{Acquire, Relaxed, Release};

/// A mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its first address.
    pub start: usize,
    /// Bytes; never 0.
    pub len: usize,
    /// Bytes of the pages of its file.
    pub page: usize,
    /// The event that is raised when it breaks; −1 if there is none.
    pub wake: i32,
}

/// Memory for an entry. It is read without a lock: the version is odd while the entry changes.
pub struct Slot {
    version: AtomicU32,
    start: AtomicUsize,
    /// 0: no mapping.
    len: AtomicUsize,
    page: AtomicUsize,
    wake: AtomicI32,
    broken: AtomicBool,
}

impl Slot {
    pub const fn new() -> Self {
        Self {
            version: AtomicU32::new(0),
            start: AtomicUsize::new(0),
            len: AtomicUsize::new(0),
            page: AtomicUsize::new(0),
            wake: AtomicI32::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Writers have the lock of the registry.
    fn write(&self, entry: Entry) {
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        self.start.store(entry.start, Relaxed);
        self.len.store(entry.len, Relaxed);
        self.page.store(entry.page, Relaxed);
        self.wake.store(entry.wake, Relaxed);
        self.broken.store(false, Relaxed);
        self.version.store(version.wrapping_add(2), Release);
    }

    /// The entry, if it has the address. `None` for an entry that changes meanwhile.
    fn read(&self, address: usize) -> Option<Entry> {
        let version = self.version.load(Acquire);
        let entry = Entry {
            start: self.start.load(Relaxed),
            len: self.len.load(Relaxed),
            page: self.page.load(Relaxed),
            wake: self.wake.load(Relaxed),
        };
        fence(Acquire);
        let is_whole = version.is_multiple_of(2) && self.version.load(Relaxed) == version;
        (is_whole && address.wrapping_sub(entry.start) < entry.len).then_some(entry)
    }
}

/// The mappings.
pub struct Registry {
    slots: &'static [Slot],
    /// Slots from this one on were never used.
    used: AtomicUsize,
    /// Slots below it that have no mapping. Readers don't look at it.
    free: Mutex<Vec<usize>>,
}

impl Registry {
    pub const fn new(slots: &'static [Slot]) -> Self {
        Self { slots, used: AtomicUsize::new(0), free: Mutex::new(Vec::new()) }
    }

    /// Mappings at most.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Adds a mapping; returns the index of its slot. `None` if all are in use.
    pub fn add(&self, entry: Entry) -> Option<usize> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let used = self.used.load(Relaxed);
        let index = free.pop().unwrap_or(used);
        self.slots.get(index)?.write(entry);
        if index == used {
            self.used.store(used + 1, Release);
        }
        Some(index)
    }

    /// Takes a mapping out, which may then be unmapped.
    pub fn remove(&self, index: usize) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        self.slots[index].write(Entry { start: 0, len: 0, page: 0, wake: -1 });
        free.push(index);
    }

    /// The mapping that has this address, if there is one that doesn't come or go now. It takes no
    /// lock and may run in a signal handler.
    pub fn find(&self, address: usize) -> Option<(usize, Entry)> {
        let slots = &self.slots[..self.used.load(Acquire)];
        slots.iter().enumerate().find_map(|(n, slot)| Some((n, slot.read(address)?)))
    }

    /// Returns true if the mapping in this slot is broken.
    #[inline(always)]
    pub fn is_broken(&self, index: usize) -> bool {
        self.slots[index].broken.load(Acquire)
    }

    /// Marks the mapping in this slot as broken. It may run in a signal handler.
    pub fn mark_broken(&self, index: usize) {
        self.slots[index].broken.store(true, Release);
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn entry(start: usize) -> Entry {
        Entry { start, len: 4096, page: 4096, wake: -1 }
    }

    #[suite::test]
    fn an_address_is_found_in_its_mapping_only() {
        static SLOTS: [Slot; 2] = [const { Slot::new() }; 2];
        static FEW: Registry = Registry::new(&SLOTS);
        assert_eq!(FEW.add(entry(4096)), Some(0));
        assert_eq!(FEW.add(entry(12_288)), Some(1));
        assert_eq!(FEW.add(entry(20_480)), None);
        for (address, slot) in
            [(0, None), (4096, Some(0)), (8191, Some(0)), (8192, None), (16_383, Some(1))]
        {
            assert_eq!(FEW.find(address).map(|(n, _)| n), slot, "{address}");
        }
        FEW.mark_broken(0);
        FEW.remove(0);
        assert_eq!(FEW.find(4096), None);
        assert_eq!(FEW.add(entry(1 << 20)), Some(0));
        assert!(!FEW.is_broken(0) && FEW.find((1 << 20) + 7) == Some((0, entry(1 << 20))));
    }

    /// Entries of two kinds take turns in a slot: no reader gets one that is half of each.
    #[suite::test]
    fn an_entry_that_changes_is_not_read() {
        static SLOTS: [Slot; 1] = [const { Slot::new() }; 1];
        static ONE: Registry = Registry::new(&SLOTS);
        let (low, high) =
            (entry(1 << 20), Entry { start: 0, len: 1 << 40, page: 1 << 21, wake: 3 });
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..200_000 {
                    let index = ONE.add(if n % 2 == 0 { low } else { high }).expect("room");
                    ONE.remove(index);
                }
                end.store(true, Relaxed);
            });
            while !end.load(Relaxed) {
                if let Some((_, found)) = ONE.find((1 << 20) + 1) {
                    assert!(found == low || found == high, "{found:?}");
                }
            }
        });
    }
}
