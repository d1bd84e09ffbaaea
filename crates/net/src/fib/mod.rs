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
mod intern;
mod key;
mod list;
mod lookup;
mod model;
mod neighbors;
mod obstacle;
mod path;
mod protocol;
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
pub use flow::{Flow, FlowHash, FlowRouterId};
pub use key::{RouteKey, TableRef};
pub use lookup::Lookup;
pub use model::{Net, TableIndex, TableInfo};
pub use obstacle::Outlook;
pub use path::{Path, PathKind, PathState, ResolveVia};
pub use protocol::{DeletedTable, Fib};
pub use routes::{RouteIndex, Routes};
pub use source::{Source, Sources};
pub use table::NewTable;
pub use track::Tracked;

use crate::{Adjacencies, Column, Interfaces, IpBinding, NextHops};
use graph::{Deleted, Shared, SwIfIndex, World};
use inner::Inner;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

/// The route tables of all link types, as control keeps them.
pub struct RouteTables {
    inner: Mutex<Inner>,
    /// A table may have lost its last user.
    reap_due: AtomicBool,
    routes: Arc<Routes>,
    adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
    bindings: Arc<Column<IpBinding>>,
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
            bindings: world.get(),
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
