// SPDX-License-Identifier: Apache-2.0
//! What routes take of memory.

use super::entry::{Entry, Sourced};
use super::list::PathList;
use super::{Fib, Net, Path, TableIndex};
use crate::{TableUsage, Usage};

impl<F: Net> Fib<F> {
    /// The tables, those of links' own addresses among them.
    pub fn table_usage(&self) -> TableUsage {
        self.inner().tables.iter().flatten().map(|table| TableUsage::of(&*table.lpm)).sum()
    }

    /// One table.
    pub fn usage_of(&self, index: TableIndex) -> Option<TableUsage> {
        self.inner().table(index).ok().map(|table| TableUsage::of(&*table.lpm))
    }

    /// Entries, lists of paths, and paths.
    pub fn usage(&self) -> [Usage; 3] {
        let inner = self.inner();
        let mut entries = Usage::new("entry", size_of::<Option<Entry>>());
        (entries.used, entries.allocated) = inner.entries.count();
        entries.bytes = entries.allocated * entries.size;
        entries.bytes +=
            inner.entries.all().map(|entry| entry.others.len() * size_of::<Sourced>()).sum::<usize>();
        let mut lists = Usage::new("path-list", size_of::<PathList<F>>());
        (lists.used, lists.allocated) = (inner.lists.len(), inner.lists.end() as usize);
        lists.bytes = lists.allocated * lists.size;
        let mut paths = Usage::new("path", size_of::<Path<F::Addr>>());
        paths.used = inner.lists.values().map(|list| list.paths.len()).sum();
        paths.allocated = paths.used;
        paths.bytes = paths.used * paths.size;
        [entries, lists, paths]
    }
}
