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
//! Only the lookup tables differ between link types ([`Lookup`]). Entries, path lists and their
//! resolution are one for all: [`RouteTables`]. [`Fib`] gives one protocol's tables their types.
//!
//! A recursive path follows the list of the entry that covers its next hop; a path to an object,
//! the list that the object sends its packets by. When an entry changes, the lists with next hops
//! in its prefix are resolved again; when a list becomes usable or unusable, the lists that follow
//! it. A path whose next hop is of another protocol follows a twin of that list: the same paths,
//! resolved for packets of its own link type.
//!
//! A path whose next hop is down ([`NextHops`]) is left out while its list has another usable path.

mod bulk;
mod control;
mod entry;
mod flow;
mod inner;
mod key;
mod list;
mod lists;
mod lookup;
mod model;
mod neighbors;
mod obstacle;
mod path;
mod query;
mod resolve;
mod routes;
mod source;
mod spread;
mod table;
mod tables;
#[cfg(feature = "tests")]
mod tests;
mod track;
mod usage;

pub use entry::{PathListInfo, RouteInfo, RouteSource};
pub use flow::{Flow, FlowHash, FlowRouterId};
pub use key::{RouteKey, TableRef};
pub use lookup::Lookup;
pub use model::{Net, TableIndex, TableInfo};
pub use obstacle::Outlook;
pub use path::{Path, PathKind, PathState, ResolveVia};
pub use routes::{RouteIndex, Routes};
pub use source::{Source, Sources};
pub use table::NewTable;
pub use tables::DeletedTable;
pub use track::Tracked;

use crate::{AdjIndex, Adjacencies, Interfaces, Mfib, NextHop, NextHops};
use ::tables::{Forest, Lpm};
use cli::Error;
use graph::{Deleted, Shared, SwIfIndex, World};
use inner::Inner;
use lookup::{IpTable, key};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use wire::Prefix;

/// The route tables of all link types, as control keeps them.
pub struct RouteTables {
    inner: Mutex<Inner>,
    /// A table may have lost its last user.
    reap_due: AtomicBool,
    routes: Arc<Routes>,
    adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
    nexthops: Arc<NextHops>,
}

impl Shared for RouteTables {
    fn make(world: &World) -> Self {
        let this = Self {
            inner: Mutex::default(),
            reap_due: AtomicBool::new(false),
            routes: world.get(),
            adjacencies: world.get(),
            interfaces: world.get(),
            nexthops: world.get(),
        };
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

impl RouteTables {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// The id of a table.
    pub fn table_id(&self, table: TableRef) -> Option<u32> {
        self.inner().table(table).ok().filter(|t| !t.of_link).map(|t| t.id)
    }
}

/// The route tables of one protocol.
pub struct Fib<F: Net> {
    tables: Slots<Arc<IpTable<F>>>,
    /// Memory that small tables share.
    forest: Arc<Forest>,
    router_id: Arc<FlowRouterId>,
    /// The multicast tables, one for each route table.
    mfib: Arc<Mfib<F>>,
    all: Arc<RouteTables>,
}

impl<F: Net> Shared for Fib<F> {
    fn make(world: &World) -> Self {
        let this = Self {
            tables: Slots::new(world.qsbr.clone()),
            forest: Forest::new(world.qsbr.clone())
                .expect("address space for routes (is `ulimit -v' set?)"),
            router_id: world.get(),
            mfib: world.get(),
            all: world.get(),
        };
        this.add_table(world, 0, "default", Source::Default).expect("memory for the first table");
        this
    }
}

impl<F: Net> Fib<F> {
    /// The lookup table of a route table: a leaf's hop is an [`AdjIndex`], its route a
    /// [`RouteIndex`].
    #[inline(always)]
    pub fn table<'t>(&'t self, index: TableIndex, turn: &'t Turn<'_>) -> Option<&'t Lpm<F::Key>> {
        self.tables.get(index.0, turn).map(|table| &table.lpm)
    }

    /// The adjacency of packets to this address; `None` if there is no such table.
    #[inline(always)]
    pub fn adj(&self, index: TableIndex, addr: F::Addr, turn: &Turn<'_>) -> Option<AdjIndex> {
        Some(AdjIndex(self.table(index, turn)?.lookup(F::key(addr), turn).hop))
    }

    /// Returns true if packets to this address take the default route.
    pub fn is_default(&self, index: TableIndex, addr: F::Addr, turn: &Turn<'_>) -> bool {
        self.tables.get(index.0, turn).is_some_and(|table| {
            let route = RouteIndex(table.lpm.lookup(F::key(addr), turn).route);
            table.default.get() == Some(&route)
        })
    }

    /// The table of this index as paths name it.
    pub const fn table_ref(index: TableIndex) -> TableRef {
        TableRef { link: F::LINK, index }
    }

    /// Checks whether a route may have these paths.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn check_paths(&self, paths: &[Path]) -> Result<(), Error> {
        self.all.check(&self.all.inner(), paths)
    }

    /// Sets a source's paths to a prefix, in place of those that it had. Host bits of the prefix
    /// are ignored.
    ///
    /// # Errors
    /// A table (−3) or an interface (−2) that isn't there; no path (−52); a next hop that can't be
    /// (−7); a full table (−99).
    pub fn set(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path],
    ) -> Result<RouteIndex, Error> {
        self.all.set(world, (Self::table_ref(table), key::<F>(prefix)), source, paths)
    }

    /// Adds paths to those that a source has to a prefix; one that is there takes the new weight
    /// and preference.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn add(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path],
    ) -> Result<RouteIndex, Error> {
        self.all.add(world, (Self::table_ref(table), key::<F>(prefix)), source, paths)
    }

    /// As [`Self::add`] for each of these routes; fastest if they are sorted by prefix. Packets may
    /// find the first ones before the last are added. Returns how many were added, and the
    /// error that ended it, if one did.
    pub fn add_all<'p>(
        &self,
        world: &World,
        table: TableIndex,
        source: Source,
        routes: impl IntoIterator<Item = (Prefix<F::Addr>, &'p [Path])>,
    ) -> (usize, Result<(), Error>) {
        let mut routes = routes.into_iter().map(|(prefix, paths)| (key::<F>(prefix), paths));
        self.all.add_all(world, Self::table_ref(table), source, &mut routes)
    }

    /// Removes some of a source's paths to a prefix, or all of them (`paths` empty).
    ///
    /// # Errors
    /// What isn't there (−6); a table that isn't there (−3).
    pub fn remove(
        &self,
        world: &World,
        table: TableIndex,
        prefix: Prefix<F::Addr>,
        source: Source,
        paths: &[Path],
    ) -> Result<(), Error> {
        self.all.remove(world, (Self::table_ref(table), key::<F>(prefix)), source, paths)
    }

    /// Returns true if a route of this protocol, other than the neighbour's own host route, leads
    /// to this neighbour.
    pub fn leads_by(&self, hop: NextHop) -> bool {
        self.all.leads_by(F::LINK, hop)
    }

    /// Updates host routes after the networks of an interface have changed: neighbours in a network
    /// get one, others lose theirs.
    pub(crate) fn sync_neighbors(&self, world: &World, sw_if: SwIfIndex) {
        self.all.sync_neighbors(world, F::LINK, sw_if);
    }
}
