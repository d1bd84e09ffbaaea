// SPDX-License-Identifier: Apache-2.0
//! Changes of routes that came together: of each prefix the last one, given to a table at once.

use cli::Result;
use graph::World;
use net::fib::Changed;
use net::{Fib, Net, Path, Source, TableIndex};
use std::ops::Range;
use wire::Prefix;

/// Changes of one source's routes. Each has a value of `T` that goes with it.
pub struct Batch<F: Net, T> {
    changes: Vec<Entry<F, T>>,
    /// The paths of all changes, one behind the other.
    paths: Vec<Path>,
}

struct Entry<F: Net, T> {
    table: TableIndex,
    prefix: Prefix<F::Addr>,
    paths: Range<usize>,
    with: T,
}

impl<F: Net, T> Default for Batch<F, T> {
    fn default() -> Self {
        Self { changes: Vec::new(), paths: Vec::new() }
    }
}

impl<F: Net, T: Copy> Batch<F, T> {
    /// Number of changes.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Number of paths of all changes.
    pub fn paths(&self) -> usize {
        self.paths.len()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The source sets these paths to a prefix; none remove its route.
    pub fn push(&mut self, table: TableIndex, prefix: Prefix<F::Addr>, paths: &[Path], with: T) {
        let from = self.paths.len();
        self.paths.extend_from_slice(paths);
        self.changes.push(Entry { table, prefix, paths: from..self.paths.len(), with });
    }

    /// Gives the changes to the tables. `done` gets each prefix with its result.
    pub fn flush(
        &mut self,
        world: &World,
        source: Source,
        mut done: impl FnMut(TableIndex, Prefix<F::Addr>, T, Result<Changed>),
    ) {
        // The last change of a prefix comes first, and the others go.
        self.changes.reverse();
        self.changes.sort_by_key(|change| (change.table, change.prefix));
        self.changes.dedup_by_key(|change| (change.table, change.prefix));
        let fib = world.get::<Fib<F>>();
        for of in self.changes.chunk_by(|a, b| a.table == b.table) {
            let Some(first) = of.first() else { continue };
            let changes = of.iter().map(|c| (c.prefix, &self.paths[c.paths.clone()]));
            fib.change_all(world, first.table, source, changes, |prefix, changed| {
                if let Ok(at) = of.binary_search_by_key(&prefix, |change| change.prefix) {
                    done(first.table, prefix, of[at].with, changed);
                }
            });
        }
        self.changes.clear();
        self.paths.clear();
    }
}
