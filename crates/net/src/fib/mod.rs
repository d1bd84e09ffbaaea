// SPDX-License-Identifier: Apache-2.0
//! Route tables.
//!
//! A table (VRF) maps prefixes to entries. Several sources may give an entry paths: the best source's count. Equal lists of
//! paths are one `PathList`, whatever the number of entries; it owns one alias of an adjacency.
//!
//! The table for workers gives the list's alias, and for those who count packets by route the entry's number, its
//! [`RouteIndex`]. So a path that goes down, or comes to lead elsewhere, is one store for all prefixes over it; and without
//! counters a packet touches nothing that grows with the number of routes but the table itself.
//!
//! A recursive path follows the entry that covers its next hop. When entries change, the lists whose next hops lie in the
//! changed prefix are resolved again; when a list changes between usable and not, those that follow it.
//!
//! A path whose next hop is down ([`NextHops`]) is left out as long as its list has another one that isn't.

mod bulk;
mod control;
mod cross;
mod entry;
mod extension;
mod flow;
mod list;
mod model;
mod neighbors;
mod query;
mod resolve;
mod routes;
mod source;
mod spread;
mod table;
#[cfg(test)]
mod tests;
mod usage;

pub use entry::{PathListInfo, RouteInfo, RouteSource};
pub use extension::{Extension, Extensions, Labels, MAX_LABELS, Taker};
pub use flow::{Flow, FlowHash, FlowRouterId};
pub use model::{Follows, Net, Path, PathKind, PathState, TableIndex, TableInfo};
pub use routes::{RouteIndex, Routes};
pub use source::{Source, Sources};

use crate::{AdjIndex, Adjacencies, Interfaces, Mfib, Neighbors, NextHops};
use control::Inner;
use cross::Crossing;
use graph::{Shared, World};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use tables::{Forest, Lpm};

/// A table, for workers.
struct Published<F: Net> {
    lpm: Arc<Lpm<F::Key>>,
    /// The bits of a [`FlowHash`].
    flow: AtomicU32,
    /// The entry of its default route, which is always there.
    default: RouteIndex,
}

/// Hears of a table that is gone, by its index and its number; those of one link's own addresses have none.
pub type TableGone = fn(&World, TableIndex, Option<u32>);

/// The route tables of one protocol.
pub struct Fib<F: Net> {
    tables: Slots<Published<F>>,
    /// What small tables lie in.
    forest: Arc<Forest>,
    router_id: Arc<FlowRouterId>,
    inner: Mutex<Inner<F>>,
    /// The tables of groups: each goes with one of these.
    mfib: Arc<Mfib<F>>,
    routes: Arc<Routes>,
    adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
    nexthops: Arc<NextHops>,
    extensions: Arc<Extensions>,
    crossing: Arc<Crossing>,
    /// Called with the index and the number of each table that is gone.
    gone: Mutex<Vec<TableGone>>,
}

impl<F: Net> Shared for Fib<F> {
    fn make(world: &World) -> Self {
        let this = Self {
            tables: Slots::new(world.qsbr.clone()),
            forest: Forest::new(world.qsbr.clone()).expect("address space for routes (is `ulimit -v' set?)"),
            router_id: world.get(),
            inner: Mutex::default(),
            mfib: world.get(),
            routes: world.get(),
            adjacencies: world.get(),
            interfaces: world.get(),
            nexthops: world.get(),
            extensions: world.get(),
            crossing: world.get(),
            gone: Mutex::default(),
        };
        this.add_table(world, 0, "default", Source::Default).expect("memory for the first table");
        this.interfaces.subscribe_mover(|world, event| world.get::<Self>().on_interface(world, event));
        this.nexthops.subscribe_mover(|world, hops, _| world.get::<Self>().on_nexthops(world, hops));
        world.get::<Neighbors>().subscribe(|world, event| world.get::<Self>().on_neighbor(world, event));
        this
    }
}

impl<F: Net> Fib<F> {
    /// What workers look up in: a leaf's hop is an [`AdjIndex`], its route a [`RouteIndex`].
    #[inline(always)]
    pub fn table<'t>(&'t self, index: TableIndex, turn: &'t Turn<'_>) -> Option<&'t Lpm<F::Key>> {
        self.tables.get(index.0, turn).map(|table| &*table.lpm)
    }

    /// Where a packet to this address goes; `None` if there is no such table.
    #[inline(always)]
    pub fn adj(&self, index: TableIndex, addr: F::Addr, turn: &Turn<'_>) -> Option<AdjIndex> {
        Some(AdjIndex(self.table(index, turn)?.lookup(F::key(addr), turn).hop))
    }

    /// Whether packets to this address have no route but the default one.
    pub fn is_default(&self, index: TableIndex, addr: F::Addr, turn: &Turn<'_>) -> bool {
        self.tables
            .get(index.0, turn)
            .is_some_and(|table| table.lpm.lookup(F::key(addr), turn).route == table.default.0)
    }

    fn inner(&self) -> MutexGuard<'_, Inner<F>> {
        self.inner.lock().expect("no panic inside")
    }
}
