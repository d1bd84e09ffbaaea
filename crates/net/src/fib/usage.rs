// SPDX-License-Identifier: Apache-2.0
//! Memory of routes, for `show`.

use super::entry::{Entry, SourcePaths};
use super::list::PathList;
use super::{Fib, Net, Path, RouteTables, TableIndex};
use crate::{TableUsage, Usage};

impl<F: Net> Fib<F> {
    /// Memory of all tables, those of link-local addresses included.
    pub fn table_usage(&self) -> TableUsage {
        self.all.inner().tables(F::LINK).map(|(_, table)| table.lookup.usage()).sum()
    }

    /// Memory of one table.
    pub fn usage_of(&self, index: TableIndex) -> Option<TableUsage> {
        let inner = self.all.inner();
        inner.table(Self::table_ref(index)).ok().map(|table| table.lookup.usage())
    }
}

impl RouteTables {
    /// Memory of entries, path lists, and paths.
    pub fn usage(&self) -> [Usage; 3] {
        let inner = self.inner();
        let mut entries = Usage::new("entry", size_of::<Option<Entry>>());
        (entries.used, entries.allocated) = inner.entries.count();
        entries.bytes = entries.allocated * entries.size;
        entries.bytes += inner
            .entries
            .all()
            .map(|entry| entry.others.len() * size_of::<SourcePaths>())
            .sum::<usize>();
        let mut lists = Usage::new("path-list", size_of::<PathList>());
        (lists.used, lists.allocated) = (inner.lists.len(), inner.lists.end() as usize);
        lists.bytes = lists.allocated * lists.size;
        let mut paths = Usage::new("path", size_of::<Path>());
        paths.used = inner.lists.values().map(|list| list.paths.len()).sum();
        paths.allocated = paths.used;
        paths.bytes = paths.used * paths.size;
        [entries, lists, paths]
    }
}
