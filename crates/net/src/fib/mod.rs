// SPDX-License-Identifier: Apache-2.0
//! Route tables.
//!
//! A table (VRF) maps prefixes to entries. Several sources may give an entry paths: those of the
//! best source are in force. Entries with the same paths share one `PathList`, which owns an alias
//! of an adjacency: an index whose target can be changed.
//!
//! A worker's lookup finds the list's alias, and the entry's [`RouteIndex`] for counting. So when a
//! path goes down or leads elsewhere, one store moves all prefixes over it; and without counters a
//! packet touches nothing that grows with the number of routes but the table itself.
//!
//! A recursive path follows the entry that covers its next hop. When an entry changes, the lists
//! with next hops in its prefix are resolved again; when a list becomes usable or unusable, the
//! lists that follow it.
//!
//! A path whose next hop is down ([`NextHops`]) is left out while its list has another usable path.
//!
//! Large generic functions of control are `#[inline(never)]`, here and in the other modules of this
//! crate. At opt-level 2 and 3, rustc shares no other instances of generic functions between
//! crates: without it, each crate that sets a route compiles this module again, for both protocols.

mod bulk;
mod control;
mod cross;
mod entry;
mod extension;
mod flow;
mod list;
mod model;
mod neighbors;
mod obstacle;
mod query;
mod resolve;
mod routes;
mod source;
mod spread;
mod table;
#[cfg(feature = "tests")]
mod tests;
mod track;
mod usage;

pub use entry::{PathListInfo, RouteInfo, RouteSource};
pub use extension::{Extension, Extensions, Labels, MAX_LABELS};
pub use flow::{Flow, FlowHash, FlowRouterId};
pub use model::{Net, Path, PathKind, PathState, ResolveVia, TableIndex, TableInfo};
pub use obstacle::Outlook;
pub use routes::{RouteIndex, Routes};
pub use source::{Source, Sources};
pub use track::Tracked;

use crate::{AdjIndex, Adjacencies, Interfaces, Mfib, NextHops};
use control::Inner;
pub(crate) use cross::CrossFamily;
use graph::{Deleted, Shared, SwIfIndex, World};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use tables::{Forest, Lpm};

/// A table as workers read it.
struct Published<F: Net> {
    lpm: Arc<Lpm<F::Key>>,
    /// The bits of a [`FlowHash`].
    flow: AtomicU32,
    /// The entry of its default route, which is always there.
    default: RouteIndex,
}

/// A table that is being deleted, for [`Shared::forget`].
#[derive(Clone, Copy, Debug)]
pub struct DeletedTable<F> {
    /// Its index, which the next new table may get.
    pub index: TableIndex,
    /// Its id; the tables of link-local addresses have none.
    pub id: Option<u32>,
    family: PhantomData<F>,
}

/// The route tables of one protocol.
pub struct Fib<F: Net> {
    tables: Slots<Published<F>>,
    /// Memory that small tables share.
    forest: Arc<Forest>,
    router_id: Arc<FlowRouterId>,
    inner: Mutex<Inner<F>>,
    /// The multicast tables, one for each route table.
    mfib: Arc<Mfib<F>>,
    routes: Arc<Routes>,
    adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
    nexthops: Arc<NextHops>,
    extensions: Arc<Extensions>,
    cross_family: Arc<CrossFamily>,
}

impl<F: Net> Shared for Fib<F> {
    fn make(world: &World) -> Self {
        let this = Self {
            tables: Slots::new(world.qsbr.clone()),
            forest: Forest::new(world.qsbr.clone())
                .expect("address space for routes (is `ulimit -v' set?)"),
            router_id: world.get(),
            inner: Mutex::default(),
            mfib: world.get(),
            routes: world.get(),
            adjacencies: world.get(),
            interfaces: world.get(),
            nexthops: world.get(),
            extensions: world.get(),
            cross_family: world.get(),
        };
        this.add_table(world, 0, "default", Source::Default).expect("memory for the first table");
        this.interfaces
            .subscribe_mover(|world, event| world.get::<Self>().on_interface(world, event));
        this.nexthops
            .subscribe_mover(|world, hops, _| world.get::<Self>().on_nexthops(world, hops));
        this
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.with(world, |inner, cx| inner.forget(cx, *sw_if));
        }
    }
}

impl<F: Net> Fib<F> {
    /// The lookup table of a route table: a leaf's hop is an [`AdjIndex`], its route a
    /// [`RouteIndex`].
    #[inline(always)]
    pub fn table<'t>(&'t self, index: TableIndex, turn: &'t Turn<'_>) -> Option<&'t Lpm<F::Key>> {
        self.tables.get(index.0, turn).map(|table| &*table.lpm)
    }

    /// The adjacency of packets to this address; `None` if there is no such table.
    #[inline(always)]
    pub fn adj(&self, index: TableIndex, addr: F::Addr, turn: &Turn<'_>) -> Option<AdjIndex> {
        Some(AdjIndex(self.table(index, turn)?.lookup(F::key(addr), turn).hop))
    }

    /// Returns true if packets to this address take the default route.
    pub fn is_default(&self, index: TableIndex, addr: F::Addr, turn: &Turn<'_>) -> bool {
        self.tables
            .get(index.0, turn)
            .is_some_and(|table| table.lpm.lookup(F::key(addr), turn).route == table.default.0)
    }

    fn inner(&self) -> MutexGuard<'_, Inner<F>> {
        self.inner.lock().expect("no panic inside")
    }
}
