// SPDX-License-Identifier: Apache-2.0
//! Allocation of the words of an array.

use std::collections::VecDeque;
use std::sync::Arc;
use sync::{GraceTicket, Qsbr};

/// Words of a cache line. Small slots lie within one, others begin with one.
pub(super) const LINE: u32 = 8;
/// Grace periods waited for at once, each for all that was given back meanwhile.
const PERIODS: usize = 4;

/// The number of a size, and the size: 2, 4 and 8 words, then whole lines, at most an eighth more
/// than asked for.
fn class(words: u32) -> (usize, u32) {
    match words {
        0..=2 => return (0, 2),
        3..=4 => return (1, 4),
        _ => {}
    }
    let lines = words.div_ceil(LINE);
    if lines <= 16 {
        return (1 + lines as usize, lines * LINE);
    }
    let log = (lines - 1).ilog2();
    let step = 1 << (log - 3);
    let up = (lines - (1 << log)).div_ceil(step);
    (17 + (log as usize - 4) * 8 + up as usize, ((1 << log) + up * step) * LINE)
}

/// Allocator of slots of an array; freed slots are reused after a grace period.
pub(super) struct SlotAllocator {
    domain: Arc<Qsbr>,
    /// Below it, all lines have been handed out once.
    end: u32,
    limit: u32,
    /// By class.
    free: Vec<Vec<u32>>,
    /// Given back since the last grace period began: class and slot.
    hot: Vec<(usize, u32)>,
    cooling: VecDeque<(GraceTicket, Vec<(usize, u32)>)>,
    used: usize,
}

impl SlotAllocator {
    /// Allocates in an array of `limit` words.
    pub fn new(domain: Arc<Qsbr>, limit: u32) -> Self {
        let (free, hot, cooling) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { domain, end: 0, limit, free, hot, cooling, used: 0 }
    }

    /// Returns true if `words` more, in whatever pieces of a line or more, are sure to be
    /// available.
    pub fn room(&self, words: u32) -> bool {
        self.limit - self.end >= words
    }

    /// Words in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Where `words` words may be written. The caller has asked for [`Self::room`].
    pub fn take(&mut self, words: u32) -> u32 {
        let (class, size) = class(words);
        self.used += size as usize;
        if self.free.len() <= class {
            self.free.resize_with(class + 1, Vec::new);
        }
        if let Some(at) = self.free[class].pop() {
            return at;
        }
        self.cool();
        if let Some(at) = self.free[class].pop() {
            return at;
        }
        let at = self.end;
        self.end += size.max(LINE);
        assert!(self.end <= self.limit, "asked for room");
        self.free[class].extend((1..LINE / size.min(LINE)).rev().map(|i| at + i * size));
        at
    }

    /// Takes back a place that no reader can find any more.
    pub fn give(&mut self, at: u32, words: u32) {
        let (class, size) = class(words);
        self.used -= size as usize;
        self.hot.push((class, at));
    }

    fn cool(&mut self) {
        if !self.hot.is_empty() && self.cooling.len() < PERIODS {
            self.cooling.push_back((self.domain.grace(), std::mem::take(&mut self.hot)));
        }
        while let Some((_, cooled)) = self.cooling.pop_front_if(|(ticket, _)| ticket.is_over()) {
            for (class, at) in cooled {
                self.free[class].push(at);
            }
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn sizes_grow_and_waste_little() {
        let mut last = (0, 2);
        for words in 1..100_000 {
            let (number, size) = class(words);
            assert!(
                size >= words && (words <= 8 || size - words < words / 8 + 8),
                "{words}: {size}"
            );
            assert!(
                number == last.0 && size == last.1 || number == last.0 + 1 && size > last.1,
                "{words}"
            );
            last = (number, size);
        }
    }

    #[suite::test]
    fn places_are_apart_and_used_again() {
        let domain = Qsbr::new();
        let mut reader = domain.register();
        let mut places = SlotAllocator::new(domain, 1 << 16);
        let turn = reader.turn();
        let mut taken: Vec<(u32, u32)> =
            (0..300).map(|i| i % 70 + 1).map(|words| (places.take(words), words)).collect();
        for (at, words) in taken.clone() {
            assert!(at % LINE + words <= LINE || at % LINE == 0, "{words} at {at}");
        }
        taken.sort_unstable();
        assert!(taken.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        let end = places.end;
        taken.iter().for_each(|(at, words)| places.give(*at, *words));
        assert_eq!(places.used(), 0);
        let at = places.take(9);
        assert_eq!(at, end, "nothing is used again under a turn");
        drop(turn);
        let end = places.end;
        taken.iter().for_each(|(_, words)| _ = places.take(*words));
        assert_eq!(places.end, end);
        assert!(!places.room(1 << 16));
    }
}
