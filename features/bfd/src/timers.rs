// SPDX-License-Identifier: Apache-2.0
//! The times at which sessions have something to do: a heap of session numbers by time, with the
//! position of each, so that a session's time can be changed.

/// Next times of sessions, in nanoseconds of the instance's clock. Setting a time takes no memory
/// once the session's number was used.
#[derive(Default, Debug)]
pub struct Timers {
    /// Times with session numbers; an entry is no earlier than the one at half its position.
    heap: Vec<(u64, u32)>,
    /// By session, its position in the heap.
    positions: Vec<Option<u32>>,
}

impl Timers {
    /// The earliest time and its session.
    pub fn first(&self) -> Option<(u64, u32)> {
        self.heap.first().copied()
    }

    /// Sets the time of a session, or takes the session out.
    pub fn set(&mut self, session: u32, at: Option<u64>) {
        let i = session as usize;
        if self.positions.len() <= i {
            self.positions.resize(i + 1, None);
            self.heap.reserve(i + 1 - self.heap.len().min(i + 1));
        }
        match (self.positions[i], at) {
            (None, None) => {}
            (None, Some(at)) => {
                self.heap.push((at, session));
                self.up(self.heap.len() - 1);
            }
            (Some(position), Some(at)) => {
                let position = position as usize;
                self.heap[position].0 = at;
                self.settle(position);
            }
            (Some(position), None) => {
                let position = position as usize;
                self.heap.swap_remove(position);
                self.positions[i] = None;
                if position < self.heap.len() {
                    self.settle(position);
                }
            }
        }
    }

    /// Restores the order around a position.
    fn settle(&mut self, position: usize) {
        let at = self.up(position);
        self.down(at);
    }

    fn up(&mut self, mut at: usize) -> usize {
        while at > 0 && self.heap[at] < self.heap[(at - 1) / 2] {
            self.heap.swap(at, (at - 1) / 2);
            self.note(at);
            at = (at - 1) / 2;
        }
        self.note(at);
        at
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let children = 2 * at + 1..(2 * at + 3).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.heap[*child]) else { break };
            if self.heap[at] <= self.heap[least] {
                break;
            }
            self.heap.swap(at, least);
            self.note(at);
            at = least;
        }
        if at < self.heap.len() {
            self.note(at);
        }
    }

    fn note(&mut self, at: usize) {
        let (_, session) = self.heap[at];
        self.positions[session as usize] = Some(at as u32);
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::Timers;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// As a sorted map that is searched.
        #[suite::test]
        fn same_as_a_sorted_map(sets in prop::collection::vec((0u32..40, prop::option::of(0u64..50)), 1..300)) {
            let (mut timers, mut slow) = (Timers::default(), BTreeMap::new());
            for (session, at) in sets {
                timers.set(session, at);
                match at {
                    Some(at) => _ = slow.insert(session, at),
                    None => _ = slow.remove(&session),
                }
                let first = slow.iter().map(|(session, at)| (*at, *session)).min();
                prop_assert_eq!(timers.first(), first);
            }
        }
    }
}
