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
//!
//! **Changes.** When a link goes down, or when a watcher reports a next hop down (`net::NextHops`;
//! neighbour resolution is such a watcher, and there may be others), control first redirects the
//! path lists; other subscribers run after that. When an entry changes, the lists with next hops in
//! its prefix are resolved again; when a list becomes usable or unusable, the lists that follow it.
//! A path that leads back to its own list, through routes of any link type and objects, is `looped`
//! and not used.
//!
//! **Link types and kinds are guests.** A feature registers a link type (`net::Links::add`: name,
//! EtherType, MTU, and the node that packets take from a lookup to each kind of adjacency), and
//! types of objects (`net::ObjectType`: a name, a node for each link type, the header that the node
//! puts in front, the route that packets take behind it, words and text for commands). A path names
//! an object by its type and number. tests/graph/guests.rs brings labels, their table and their
//! imposition over a tunnel without a change elsewhere.
//!
//! - An object that sends packets to another destination follows the route to it (`net::Tracked`):
//!   the index of its adjacency stays the same, and one store replaces the content of the
//!   adjacency. `ip::Onward` sends packets by it. A feature with paths of its own, such as
//!   `features/l3xc`, follows the paths in the same way (`Tracked::over`).
//! - A path to an object is usable while the route that the object follows is usable.
//! - The type is notified of the first and of the last path to an object: `features/dvr` enables
//!   its output feature only where routes need it.
//!
//! **Owners of tables.** A route table has owners (CLI, API, features). A table without an owner is
//! removed as soon as no interface is bound to it and no route of another table resolves in it.

mod bulk;
mod control;
mod count;
mod dependents;
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

pub use bulk::Changed;
pub use count::SourceCount;
pub use dependents::Dependents;
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
