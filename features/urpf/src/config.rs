// SPDX-License-Identifier: Apache-2.0
//! The settings of a check that the nodes need.

use net::TableIndex;
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// The part of [`CheckSettings`](crate::control::CheckSettings) that the nodes need.
#[derive(Clone, Copy, Default, Debug, TryFromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Config {
    table: TableIndex,
    /// Sources are looked up in `table`, not in the interface's own.
    has_table: bool,
    /// The default route is no route of a source.
    pub deny_default: bool,
    _padding: [u8; 2],
}

impl Config {
    pub fn new(table: Option<TableIndex>, deny_default: bool) -> Self {
        let (has_table, table) = (table.is_some(), table.unwrap_or_default());
        Self { table, has_table, deny_default, _padding: [0; 2] }
    }

    /// The table that sources are looked up in, if not the interface's own.
    #[inline(always)]
    pub fn table(self) -> Option<TableIndex> {
        self.has_table.then_some(self.table)
    }
}
