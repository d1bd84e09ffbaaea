// SPDX-License-Identifier: Apache-2.0
//! What objects take of memory, for `show`.

use std::iter::Sum;
use std::ops::Add;
use tables::{Key, Lpm};

/// Objects of one kind, and the memory that they take. What the allocator needs beside isn't counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// What they are.
    pub name: &'static str,
    /// Bytes of one, without what it owns.
    pub size: usize,
    /// How many there are.
    pub used: usize,
    /// How many there is room for.
    pub allocated: usize,
    /// Bytes of the room and of what they own.
    pub bytes: usize,
}

impl Usage {
    /// None of them.
    pub fn new(name: &'static str, size: usize) -> Self {
        Self { name, size, used: 0, allocated: 0, bytes: 0 }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            name: self.name,
            size: self.size.max(other.size),
            used: self.used + other.used,
            allocated: self.allocated + other.allocated,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Tables, and the memory that they take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableUsage {
    /// How many there are.
    pub tables: usize,
    /// The prefixes in them.
    pub routes: usize,
    /// Bytes of what packets are looked up in.
    pub lookup: usize,
    /// Bytes at least of what control keeps of each prefix beside its entry.
    pub prefixes: usize,
}

impl TableUsage {
    /// Of one.
    pub fn of<K: Key>(table: &Lpm<K>) -> Self {
        let (routes, prefixes) = (table.len(), table.control_memory());
        Self { tables: 1, routes, lookup: table.memory(), prefixes }
    }
}

impl Sum for TableUsage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            tables: sum.tables + one.tables,
            routes: sum.routes + one.routes,
            lookup: sum.lookup + one.lookup,
            prefixes: sum.prefixes + one.prefixes,
        })
    }
}
