// SPDX-License-Identifier: Apache-2.0
//! Routes one after the other, for long operations: each is read when its turn comes, and tables
//! may change meanwhile.

use net::fib::{RouteInfo, TableInfo};
use net::{Fib, Net, TableIndex};
use std::rc::Rc;
use std::sync::Arc;
use wire::Prefix;

/// The routes of a table.
pub fn routes<F: Net>(
    fib: &Arc<Fib<F>>,
    table: TableIndex,
) -> impl Iterator<Item = RouteInfo<F>> + use<F> {
    let (fib, id) = (fib.clone(), fib.table_id(table));
    let read = move |after, n| {
        // The index may be another table's meanwhile.
        if fib.table_id(table) == id { fib.routes_from(table, after, n) } else { Vec::new() }
    };
    cli::pieces(read, |route| route.prefix)
}

/// The routes of some tables, each with its table.
pub fn of_tables<F: Net>(
    fib: &Arc<Fib<F>>,
    tables: Vec<TableInfo>,
) -> impl Iterator<Item = (Rc<TableInfo>, RouteInfo<F>)> + use<F> {
    let fib = fib.clone();
    tables.into_iter().flat_map(move |table| {
        let table = Rc::new(table);
        routes(&fib, table.index).map(move |route| (table.clone(), route))
    })
}

/// Prefixes that are read at once.
const PREFIXES: usize = 4096;

/// The prefixes of a table, many at a time.
pub fn prefixes<F: Net>(
    fib: &Arc<Fib<F>>,
    table: TableIndex,
) -> impl Iterator<Item = Vec<Prefix<F::Addr>>> + use<F> {
    let (fib, mut after) = (fib.clone(), None);
    std::iter::from_fn(move || {
        let some = fib.prefixes_from(table, after, PREFIXES);
        after = Some(*some.last()?);
        Some(some)
    })
}
