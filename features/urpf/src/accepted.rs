// SPDX-License-Identifier: Apache-2.0
//! Prefixes that pass whatever their routes.

use graph::{Deleted, Shared, World};
use net::{DeletedTable, Fib, Net, TableIndex};
use sync::{Snapshot, Turn};
use wire::Prefix;

/// Prefixes that pass whatever their routes, with the tables that they are sources in.
pub struct Accepted<F: Net>(Snapshot<Vec<(TableIndex, Prefix<F::Addr>)>>);

impl<F: Net> Shared for Accepted<F> {
    fn make(world: &World) -> Self {
        Self(Snapshot::new(world.qsbr.clone(), Vec::new()))
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(table) = deleted.of::<DeletedTable<F>>() {
            self.forget_table(table.index);
        }
    }
}

impl<F: Net> Accepted<F> {
    /// Returns true if a source is accepted in a table.
    pub fn has(&self, table: TableIndex, src: F::Addr, turn: &Turn<'_>) -> bool {
        self.0.get(turn).iter().any(|(t, prefix)| *t == table && prefix.contains(src))
    }

    /// All, with the ids of their tables.
    pub fn list(&self, world: &World) -> Vec<(u32, Prefix<F::Addr>)> {
        let fib = world.get::<Fib<F>>();
        self.0.read(|all| all.iter().filter_map(|(t, p)| Some((fib.table_id(*t)?, *p))).collect())
    }

    fn forget_table(&self, table: TableIndex) {
        if self.0.read(|all| all.iter().any(|(t, _)| *t == table)) {
            self.0.update(|old| old.iter().copied().filter(|(t, _)| *t != table).collect());
        }
    }

    pub fn set(&self, table: TableIndex, prefix: Prefix<F::Addr>, on: bool) -> bool {
        let there = self.0.read(|all| all.contains(&(table, prefix)));
        if there != on {
            self.0.update(|old| {
                let mut new: Vec<_> =
                    old.iter().copied().filter(|one| *one != (table, prefix)).collect();
                if on {
                    new.push((table, prefix));
                }
                new
            });
        }
        there
    }
}
