// SPDX-License-Identifier: Apache-2.0
//! Tables by lines of a configuration, of which there may be millions.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

/// Parts of a table.
const PARTS: usize = 256;

/// A value for each line. Only hashes of the lines are kept.
///
/// A hash table that grows moves all its entries in one go, which would keep control busy for 20 ms
/// at a million lines. So it is in parts, which grow one by one.
pub struct ByLine<V> {
    hasher: RandomState,
    parts: Box<[HashMap<u64, V>; PARTS]>,
}

impl<V> Default for ByLine<V> {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            parts: Box::new(std::array::from_fn(|_| HashMap::new())),
        }
    }
}

impl<V> ByLine<V> {
    /// Sets the value of a line.
    pub fn insert(&mut self, line: &str, value: V) {
        let hash = self.hasher.hash_one(line);
        self.parts[hash as usize % PARTS].insert(hash, value);
    }

    /// The value of a line.
    pub fn get(&self, line: &str) -> Option<&V> {
        let hash = self.hasher.hash_one(line);
        self.parts[hash as usize % PARTS].get(&hash)
    }

    /// Removes a line; returns true if it had a value.
    pub fn remove(&mut self, line: &str) -> bool {
        let hash = self.hasher.hash_one(line);
        self.parts[hash as usize % PARTS].remove(&hash).is_some()
    }

    /// Returns true if a line has a value.
    pub fn contains(&self, line: &str) -> bool {
        self.get(line).is_some()
    }

    /// Number of different lines.
    pub fn len(&self) -> usize {
        self.parts.iter().map(HashMap::len).sum()
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn lines_keep_their_values() {
        let mut table = ByLine::default();
        for n in 0..10_000 {
            table.insert(&format!("line {n}"), n);
            table.insert(&format!("line {}", n / 2), n);
        }
        assert_eq!(table.len(), 10_000);
        for n in 0..10_000 {
            let last = if n < 5000 { 2 * n + 1 } else { n };
            assert_eq!(table.get(&format!("line {n}")), Some(&last));
        }
        assert!(!table.contains("line 10000") && !table.remove("line 10000"));
        assert!(table.remove("line 1") && !table.contains("line 1"));
    }
}
