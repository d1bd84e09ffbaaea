// SPDX-License-Identifier: Apache-2.0
//! The log of a split ring: features (8 bytes), version, entries, head of the last batch, used
//! index (2 each). An entry for each descriptor, used if a chain begins with it: in flight (1),
//! padding (5), the next one of the last batch (2), number by which the order is known (8).

use super::{Part, mark};
use crate::io::chain::Used;

const BATCH: usize = 12;
const USED: usize = 14;
const HEADER: usize = 16;
const ENTRY: usize = 16;
/// Offset of the batch's next one in an entry.
const NEXT: usize = 6;
const NUMBER: usize = 8;

/// The log of a ring that is used.
pub struct SplitLog {
    part: Part,
    /// Chains that are in flight, in the order in which they were taken.
    again: Vec<u16>,
    /// As many of them were found again in this turn.
    taken: usize,
}

fn entry(head: u16) -> usize {
    HEADER + ENTRY * usize::from(head)
}

impl SplitLog {
    /// The log of a ring of so many descriptors, whose used index is known.
    ///
    /// # Errors
    /// Why it can't be its log.
    pub fn new(part: Part, size: u16, used: u16) -> Result<Self, String> {
        let mut log = Self { part, again: Vec::new(), taken: 0 };
        let part = &log.part;
        if !part.is_written()? {
            for head in 0..part.entries {
                part.store64(entry(head), [0; 8]);
                part.store64(entry(head) + NUMBER, [0; 8]);
            }
            part.store16(BATCH, 0);
            part.store16(USED, used);
            part.begin();
            return Ok(log);
        }
        // Chains that were given back, while nobody was left to note it.
        let batch = used.wrapping_sub(part.load16(USED));
        if batch > part.entries {
            let (was, entries) = (part.load16(USED), part.entries);
            return Err(format!(
                "the inflight log isn't that of its ring: used index {was} there, {used} in the \
                 ring of {entries}"
            ));
        }
        let mut head = part.load16(BATCH);
        for _ in 0..batch {
            if head >= part.entries {
                break;
            }
            part.store16(entry(head), mark(false));
            head = part.load16(entry(head) + NEXT);
        }
        part.store16(USED, used);
        let marked = (0..size).filter(|head| part.load64(entry(*head))[0] != 0);
        let mut marked: Vec<_> = marked
            .map(|head| (u64::from_ne_bytes(part.load64(entry(head) + NUMBER)), head))
            .collect();
        marked.sort_unstable();
        log.again = marked.into_iter().map(|(_, head)| head).collect();
        Ok(log)
    }

    /// Chains in flight that weren't found in this turn.
    #[inline(always)]
    pub fn left(&self) -> u16 {
        // At most so many as the ring has descriptors.
        (self.again.len() - self.taken) as u16
    }

    /// Takes the next chain that is in flight: its head.
    #[inline(always)]
    pub fn find(&mut self) -> Option<u16> {
        let head = self.again.get(self.taken).copied()?;
        self.taken += 1;
        Some(head)
    }

    /// Makes chains that were taken the next ones again: so many as are left then.
    #[inline(always)]
    pub fn rewind(&mut self, left: u16) {
        self.taken = self.again.len().saturating_sub(left.into());
    }

    /// To be called before the used index changes.
    #[inline(always)]
    pub fn before(&self, chains: &[Used]) {
        // Without a mark, there is none to be taken away.
        if self.taken > 0 {
            self.link(chains);
        }
    }

    #[cold]
    fn link(&self, chains: &[Used]) {
        let mut batch = self.part.load16(BATCH);
        for chain in chains.iter().filter(|chain| chain.id < self.part.entries) {
            self.part.store16(entry(chain.id) + NEXT, batch);
            self.part.store16(BATCH, chain.id);
            batch = chain.id;
        }
    }

    /// To be called behind it.
    #[inline(always)]
    pub fn behind(&mut self, used: u16) {
        for head in self.again.drain(..self.taken) {
            self.part.store16(entry(head), mark(false));
        }
        self.taken = 0;
        self.part.store16(USED, used);
    }

    /// The ring stops, and nothing is in flight.
    pub fn end(&self) {
        self.part.end();
    }
}
