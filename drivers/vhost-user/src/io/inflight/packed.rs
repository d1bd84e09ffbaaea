// SPDX-License-Identifier: Apache-2.0
//! The log of a packed ring: features (8 bytes), version, entries, first free entry and the same
//! before the last batch, position of the next used descriptor and before the last batch (2 each),
//! the wrap counters of both (1 each), padding.
//!
//! An entry: in flight (1), padding (1), the next one of its list (2), the last one of its chain,
//! the number of descriptors of its chain (2 each), number by which the order is known (8), and a
//! descriptor: id, flags (2 each), length (4), address (8). Free entries make a list.
//!
//! A batch that is given back: copies of its descriptors are made, and marked; the new position is
//! written, then the ring, its first descriptor last; the marks are taken away, and the old
//! position is set to the new one. After a kill, the first descriptor tells if the guest has got
//! the batch; if it hasn't, all of its chains come again, from their copies.

use super::{Part, mark};
use crate::io::chain::{Desc, Used};
use std::sync::atomic::{Ordering, fence};

/// First free entries, with version and entries in front.
const FREE: usize = 12;
const OLD_FREE: usize = 14;
/// The positions and their wrap counters, which are written at once.
const USED: usize = 16;
const HEADER: usize = 32;
const ENTRY: usize = 32;
/// Offsets in an entry.
const LINK: usize = 2;
const NUMBER: usize = 8;
const DESC: usize = 16;
const ADDRESS: usize = 24;

/// Bit of a position: the wrap counter.
const WRAP: u16 = 1 << 15;

/// A chain that is in flight.
struct Chain {
    /// Its entries, that of the mark first.
    entries: Vec<u16>,
    descs: Vec<Desc>,
}

/// The log of a ring that is used.
pub struct PackedLog {
    part: Part,
    /// In the order in which they were taken.
    again: Vec<Chain>,
    /// As many of them were found again in this turn.
    taken: usize,
    /// Free entries, in the order of their list.
    free: Vec<u16>,
    /// Number of the next chain.
    number: u64,
    /// Entries of marks of the batch that is given back.
    marked: Vec<u16>,
}

fn entry(index: u16) -> usize {
    HEADER + ENTRY * usize::from(index)
}

fn pair(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

impl PackedLog {
    /// The log of a ring of so many descriptors, and the position of the next used one.
    /// `position` is where the ring is if the log is new. `is_available` tells if the descriptor of
    /// a position is available.
    ///
    /// # Errors
    /// Why it can't be its log.
    pub fn new(
        part: Part,
        size: u16,
        position: u16,
        is_available: impl Fn(u16) -> bool,
    ) -> Result<(Self, u16), String> {
        let marked = Vec::with_capacity(size.into());
        let mut log =
            Self { part, again: Vec::new(), taken: 0, free: Vec::new(), number: 0, marked };
        let is_written = log.part.is_written()?;
        let position = if is_written { log.read(size, is_available)? } else { position };
        if !is_written {
            for index in 0..log.part.entries {
                (0..ENTRY).step_by(8).for_each(|at| log.part.store64(entry(index) + at, [0; 8]));
            }
        }
        log.set_position(position, position);
        // The list is an empty one while it is made.
        let end = log.part.entries;
        log.set_free(end, end);
        let mut is_free = vec![true; end.into()];
        for index in log.again.iter().flat_map(|chain| &chain.entries) {
            is_free[usize::from(*index)] = false;
        }
        log.free = (0..end).filter(|index| is_free[usize::from(*index)]).collect();
        for (n, index) in log.free.iter().enumerate() {
            log.part.store16(entry(*index) + LINK, log.free_at(n + 1));
        }
        log.set_free(log.free_at(0), log.free_at(0));
        if !is_written {
            log.part.begin();
        }
        Ok((log, position))
    }

    /// Reads a log; returns the position of the next used descriptor.
    fn read(&mut self, size: u16, is_available: impl Fn(u16) -> bool) -> Result<u16, String> {
        let part = &self.part;
        let bytes = part.load64(USED);
        let wrap = |at: usize| if bytes[at] != 0 { WRAP } else { 0 };
        let (new, old) = (pair(&bytes, 0) | wrap(4), pair(&bytes, 2) | wrap(5));
        let positions = [pair(&bytes, 0), pair(&bytes, 2)];
        if positions.iter().any(|index| *index >= size) {
            return Err(format!(
                "a position of the inflight log, {positions:?}, isn't in the ring"
            ));
        }
        // The guest has got the last batch, or it hasn't.
        let is_done = new != old && !is_available(old);
        let (position, free) = if is_done { (new, FREE) } else { (old, OLD_FREE) };
        let mut index = part.load16(free);
        for _ in 0..part.entries {
            if index >= part.entries {
                break;
            }
            part.store16(entry(index), mark(false));
            index = part.load16(entry(index) + LINK);
        }
        let mut chains = Vec::new();
        let mut seen = vec![false; part.entries.into()];
        for head in (0..part.entries).filter(|index| part.load64(entry(*index))[0] != 0) {
            let bad = || format!("chain {head} of the inflight log isn't one of its ring");
            let count = pair(&part.load64(entry(head)), 6);
            if count == 0 || count > size {
                return Err(bad());
            }
            let mut chain = Chain { entries: Vec::new(), descs: Vec::new() };
            let mut index = head;
            for _ in 0..count {
                let is_new = seen.get_mut(usize::from(index)).ok_or_else(bad)?;
                if std::mem::replace(is_new, true) {
                    return Err(bad());
                }
                let bytes = part.load64(entry(index) + DESC);
                chain.entries.push(index);
                chain.descs.push(Desc {
                    address: u64::from_ne_bytes(part.load64(entry(index) + ADDRESS)),
                    len: u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
                    low: pair(&bytes, 0),
                    high: pair(&bytes, 2),
                });
                index = part.load16(entry(index) + LINK);
            }
            chains.push((u64::from_ne_bytes(part.load64(entry(head) + NUMBER)), chain));
        }
        if chains.iter().map(|(_, chain)| chain.descs.len()).sum::<usize>() > size.into() {
            return Err("the inflight log has more descriptors than its ring".to_string());
        }
        chains.sort_by_key(|(number, _)| *number);
        self.number = chains.last().map_or(0, |(number, _)| number.wrapping_add(1));
        self.again = chains.into_iter().map(|(_, chain)| chain).collect();
        Ok(position)
    }

    /// The free entry of this number in the list, or its end.
    fn free_at(&self, n: usize) -> u16 {
        self.free.get(n).copied().unwrap_or(self.part.entries)
    }

    fn set_free(&self, free: u16, old: u16) {
        self.part.store16(FREE, free);
        self.part.store16(OLD_FREE, old);
    }

    fn set_position(&self, new: u16, old: u16) {
        let [a, b] = (new & !WRAP).to_ne_bytes();
        let [c, d] = (old & !WRAP).to_ne_bytes();
        let wrap = |position: u16| u8::from(position & WRAP != 0);
        self.part.store64(USED, [a, b, c, d, wrap(new), wrap(old), 0, 0]);
    }

    /// Descriptors of chains in flight that weren't found in this turn.
    pub fn slots_left(&self) -> u16 {
        // At most so many as the ring has.
        self.again[self.taken..].iter().map(|chain| chain.descs.len()).sum::<usize>() as u16
    }

    /// Chains in flight that weren't found in this turn.
    #[inline(always)]
    pub fn left(&self) -> u16 {
        (self.again.len() - self.taken) as u16
    }

    /// Takes the next chain that is in flight: its descriptors.
    #[inline(always)]
    pub fn find(&mut self) -> Option<&[Desc]> {
        let chain = self.again.get(self.taken)?;
        self.taken += 1;
        Some(&chain.descs)
    }

    /// Makes chains that were taken the next ones again: so many as are left then.
    #[inline(always)]
    pub fn rewind(&mut self, left: u16) {
        self.taken = self.again.len().saturating_sub(left.into());
    }

    /// To be called before the chains are given back: the positions before and behind them.
    /// `desc` has the descriptors of those that the log doesn't have, by their number.
    pub fn before(&mut self, chains: &[Used], [old, new]: [u16; 2], desc: impl Fn(u32) -> Desc) {
        // Descriptors of the ring are taken behind those that came from the log.
        let mut number: u32 = chains.iter().take(self.taken).map(|c| u32::from(c.slots)).sum();
        let mut at = 0;
        self.marked.clear();
        for chain in chains.iter().skip(self.taken) {
            let slots = usize::from(chain.slots);
            // A guest that has more available than its ring holds.
            let Some(entries) = self.free.get(at..at + slots) else { break };
            for index in entries {
                let Desc { address, len, low, high } = desc(number);
                let ([a, b], [c, d], [e, f, g, h]) =
                    (low.to_ne_bytes(), high.to_ne_bytes(), len.to_ne_bytes());
                self.part.store64(entry(*index) + DESC, [a, b, c, d, e, f, g, h]);
                self.part.store64(entry(*index) + ADDRESS, address.to_ne_bytes());
                number += 1;
            }
            let last = entries[slots - 1].to_ne_bytes();
            let next = self.free_at(at + 1).to_ne_bytes();
            let count = chain.slots.to_ne_bytes();
            let words = [0, 0, next[0], next[1], last[0], last[1], count[0], count[1]];
            self.part.store64(entry(entries[0]), words);
            self.part.store64(entry(entries[0]) + NUMBER, self.number.to_ne_bytes());
            self.number = self.number.wrapping_add(1);
            self.marked.push(entries[0]);
            at += slots;
        }
        self.set_free(self.free_at(at), self.free_at(at));
        self.marked.iter().for_each(|head| self.part.store16(entry(*head), mark(true)));
        if self.taken > 0 {
            self.link();
        }
        // From here on, a batch is under way. The ring is written behind that.
        self.part.store16(FREE, self.free_at(0));
        self.set_position(new, old);
        fence(Ordering::Release);
    }

    /// Puts the entries of chains that came from the log in front of the free ones.
    #[cold]
    fn link(&mut self) {
        let done = &self.again[..self.taken];
        self.marked.extend(done.iter().map(|chain| chain.entries[0]));
        let mut free: Vec<_> = done.iter().flat_map(|chain| &chain.entries).copied().collect();
        let count = free.len();
        free.append(&mut self.free);
        self.free = free;
        for n in 0..count {
            self.part.store16(entry(self.free[n]) + LINK, self.free_at(n + 1));
        }
    }

    /// To be called behind [`Self::before`], once the guest has got the chains.
    pub fn behind(&mut self, new: u16) {
        self.marked.iter().for_each(|head| self.part.store16(entry(*head), mark(false)));
        self.again.drain(..self.taken);
        self.taken = 0;
        self.part.store16(OLD_FREE, self.free_at(0));
        self.set_position(new, new);
    }

    /// The ring stops, and nothing is in flight.
    pub fn end(&self) {
        self.part.end();
    }
}
