// SPDX-License-Identifier: Apache-2.0
//! The last lines of the log, kept in memory.

use std::collections::VecDeque;
use std::fmt;
use std::time::SystemTime;

use cli::Date;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Time at which it was written.
    pub time: SystemTime,
    /// Severity.
    pub level: log::Level,
    /// Class: the part of the program it comes from.
    pub class: String,
    /// Text of the message.
    pub text: String,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let level = super::level_name(self.level.to_level_filter());
        write!(f, "{} {level:<7} {:<14} {}", Date::from(self.time).stamp(), self.class, self.text)
    }
}

/// A ring of the last entries; the oldest is dropped first.
pub struct Ring {
    entries: VecDeque<Entry>,
    capacity: usize,
}

impl Ring {
    /// Room for `capacity` entries, at least one.
    pub fn new(capacity: usize) -> Ring {
        Ring { entries: VecDeque::new(), capacity: capacity.max(1) }
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Changes the capacity; the oldest entries go if they no longer fit.
    pub fn resize(&mut self, capacity: usize) {
        self.capacity = capacity.max(1);
        self.entries.drain(..self.entries.len().saturating_sub(self.capacity));
    }

    pub fn push(&mut self, entry: Entry) {
        if self.entries.len() == self.capacity {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// The last `limit` entries, oldest first.
    pub fn last(&self, limit: usize) -> Vec<Entry> {
        self.entries.range(self.entries.len().saturating_sub(limit)..).cloned().collect()
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }
}
