// SPDX-License-Identifier: Apache-2.0
//! Interfaces by due time, so that a process visits only those with work to do.

use graph::SwIfIndex;
use std::collections::{BTreeMap, BTreeSet};

/// Due time of each interface.
#[derive(Default)]
pub struct Due {
    by_time: BTreeSet<(u64, SwIfIndex)>,
    of: BTreeMap<SwIfIndex, u64>,
}

impl Due {
    /// Sets the due time of an interface; `None` for never.
    pub fn set(&mut self, sw_if: SwIfIndex, at: Option<u64>) {
        let old = match at {
            Some(at) => self.of.insert(sw_if, at),
            None => self.of.remove(&sw_if),
        };
        if let Some(old) = old {
            self.by_time.remove(&(old, sw_if));
        }
        if let Some(at) = at {
            self.by_time.insert((at, sw_if));
        }
    }

    /// Removes and returns the interfaces that are due at `now`.
    pub fn take(&mut self, now: u64) -> Vec<SwIfIndex> {
        let mut all = Vec::new();
        while let Some(&(at, sw_if)) = self.by_time.first().filter(|(at, _)| *at <= now) {
            self.by_time.remove(&(at, sw_if));
            self.of.remove(&sw_if);
            all.push(sw_if);
        }
        all
    }

    /// The earliest due time.
    pub fn next(&self) -> Option<u64> {
        self.by_time.first().map(|(at, _)| *at)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use testkit::Rng;

    #[suite::test]
    fn what_is_due_is_taken_once() {
        for seed in 0..100 {
            let mut rng = Rng::new(seed);
            let (mut due, mut all, mut now) = (Due::default(), BTreeMap::new(), 0);
            for _ in 0..500 {
                let sw_if = SwIfIndex(rng.below(8) as u32);
                match rng.below(4) {
                    0 => {
                        due.set(sw_if, None);
                        all.remove(&sw_if);
                    }
                    1 => {
                        now += rng.below(20) as u64;
                        let taken: BTreeSet<SwIfIndex> = due.take(now).into_iter().collect();
                        let expected =
                            all.iter().filter(|(_, at)| **at <= now).map(|(sw_if, _)| *sw_if);
                        assert_eq!(taken, expected.collect(), "seed {seed}");
                        all.retain(|_, at| *at > now);
                    }
                    _ => {
                        let at = now + rng.below(40) as u64;
                        due.set(sw_if, Some(at));
                        all.insert(sw_if, at);
                    }
                }
                assert_eq!(due.next(), all.values().min().copied(), "seed {seed}");
            }
        }
    }
}
