// SPDX-License-Identifier: Apache-2.0
//! Memory usage of objects, for `show`.

use std::iter::Sum;
use std::ops::Add;
use tables::{Key, Lpm};

/// Objects of one kind, and the memory that they take. The allocator's overhead isn't counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// The kind of the objects.
    pub name: &'static str,
    /// Size of one object in bytes, without memory that it owns.
    pub size: usize,
    /// Number of objects.
    pub used: usize,
    /// Number of objects that there is room for.
    pub allocated: usize,
    /// Bytes of the room and of memory that the objects own.
    pub bytes: usize,
}

impl Usage {
    /// Usage with no objects.
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
    /// Number of tables.
    pub tables: usize,
    /// Number of prefixes in them.
    pub routes: usize,
    /// Bytes of the structures that packets are looked up in.
    pub lookup: usize,
    /// Minimum bytes that control keeps for the prefixes beside their entries.
    pub prefixes: usize,
}

impl TableUsage {
    /// The usage of one table.
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
