// SPDX-License-Identifier: Apache-2.0
//! A hierarchical timer wheel (Varghese and Lauck 1987): the slots in which deadlines are.
//!
//! A slot of level n is 64ⁿ ticks long. The level of a deadline is that of the highest group of six
//! bits in which it differs from the present, and the group is its slot. So all slots of a level
//! lie in the present slot of the next level, and a bit for each slot that isn't empty gives the
//! next one due without a walk. When a slot begins, its entries are put where their deadlines are
//! then.

/// Bits of a deadline that select a slot of a level.
const BITS: u32 = 6;
/// Levels for deadlines of 36 bits.
const LEVELS: u32 = 6;
/// Number of slots.
pub const SLOTS: u32 = LEVELS << BITS;

pub struct Wheel {
    /// The tick up to which all slots are empty.
    present: u64,
    /// Slots that may have entries, a bit each, by level.
    occupied: [u64; LEVELS as usize],
}

impl Wheel {
    pub const fn new() -> Self {
        Self { present: 0, occupied: [0; LEVELS as usize] }
    }

    /// Returns the slot of a deadline. The caller puts an entry there.
    pub fn slot(&mut self, deadline: u64) -> u32 {
        let deadline = deadline.max(self.present);
        // The lowest group selects a slot of level 0 even if nothing differs.
        let differs = (deadline ^ self.present) | 1;
        let level = (differs.ilog2() / BITS).min(LEVELS - 1);
        let slot = (deadline >> (level * BITS)) as u32 & ((1 << BITS) - 1);
        self.occupied[level as usize] |= 1 << slot;
        level << BITS | slot
    }

    /// Returns a slot that begins not later than `now`, if one may have entries. The caller empties
    /// it, or reports it as empty ([`Self::is_empty`]).
    #[inline(always)]
    pub fn due(&mut self, now: u64) -> Option<u32> {
        for (level, slots) in (0..).zip(self.occupied).filter(|(_, slots)| *slots != 0) {
            let slot = slots.trailing_zeros();
            let round = self.present >> (level * BITS) >> BITS;
            let begin = (round << BITS | u64::from(slot)) << (level * BITS);
            // A slot that a call had no budget to empty begins before those of lower levels.
            if begin <= now {
                self.present = self.present.max(begin);
                return Some(level << BITS | slot);
            }
        }
        self.present = self.present.max(now);
        None
    }

    /// Records that a slot has no entries.
    pub fn is_empty(&mut self, slot: u32) {
        self.occupied[(slot >> BITS) as usize] &= !(1 << (slot & ((1 << BITS) - 1)));
    }
}
