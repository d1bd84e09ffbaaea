// SPDX-License-Identifier: Apache-2.0
//! Tables of sources, their routes, and the interfaces that use them.

use crate::node::Select;
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World, filled};
use net::{DeletedTable, Fib, Interfaces, Net, Path, PathKind, Source, Sources, TableIndex};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use wire::Prefix;

/// Rank of the routes: better than those of clients and operators.
const PRIORITY: u8 = 10;

/// A table of sources.
struct Table<A> {
    index: TableIndex,
    /// The ids of the tables that sources lead to.
    routes: BTreeMap<Prefix<A>, u32>,
}

/// The configuration of a protocol.
pub struct State<F: Net> {
    /// Tables by id.
    tables: BTreeMap<u32, Table<F::Addr>>,
    /// The table of an interface, by id, and its index, on which it has a reference.
    interfaces: BTreeMap<SwIfIndex, (u32, TableIndex)>,
}

/// Source VRF select of a protocol.
pub struct Svs<F: Net>(Mutex<State<F>>);

impl<F: Net> Shared for Svs<F> {
    fn make(_: &World) -> Self {
        Self(Mutex::new(State { tables: BTreeMap::new(), interfaces: BTreeMap::new() }))
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(&sw_if) = deleted.of::<SwIfIndex>() {
            let used = self.state().interfaces.remove(&sw_if);
            if let Some((_, index)) = used {
                world.get::<Fib<F>>().release_table(world, index);
            }
        } else if let Some(table) = deleted.of::<DeletedTable<F>>() {
            self.state().tables.retain(|_, there| there.index != table.index);
        }
    }
}

fn source(world: &World) -> Result<Source> {
    world.get::<Sources>().add("svs", PRIORITY)
}

impl<F: Net> Svs<F> {
    fn state(&self) -> MutexGuard<'_, State<F>> {
        self.0.lock().expect("no panic inside")
    }

    /// The ids of all tables of sources.
    pub fn tables(&self) -> Vec<u32> {
        self.state().tables.keys().copied().collect()
    }

    /// All routes: the id of the table, the prefix of sources, and the id of the table that it
    /// leads to.
    pub fn routes(&self) -> Vec<(u32, Prefix<F::Addr>, u32)> {
        let state = self.state();
        let of = |(id, table): (&u32, &Table<F::Addr>)| {
            let routes = table.routes.iter();
            routes.map(|(prefix, to)| (*id, *prefix, *to)).collect::<Vec<_>>()
        };
        state.tables.iter().flat_map(of).collect()
    }

    /// The interfaces whose packets are selected, and the ids of their tables.
    pub fn interfaces(&self) -> Vec<(SwIfIndex, u32)> {
        self.state().interfaces.iter().map(|(sw_if, (id, _))| (*sw_if, *id)).collect()
    }

    /// The index of a table of sources.
    fn find(&self, id: u32) -> Result<TableIndex> {
        self.state().tables.get(&id).map(|table| table.index).ok_or_else(|| {
            let why = format!("there is no table {id} of {} sources", F::NAME);
            let hint = format!("`svs table add {} table-id {id}' makes it", F::NAME);
            Error::not_found(why).hint(hint).retval(retval::NO_SUCH_FIB)
        })
    }

    /// Makes a table of sources. One that is there stays as it is.
    ///
    /// # Errors
    /// The default table (−7); no address space.
    pub fn add_table(&self, world: &World, id: u32) -> Result<()> {
        if id == 0 {
            let why = "table 0 is that of all interfaces: expected another one for sources";
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        let index = world.get::<Fib<F>>().add_table(world, id, "", source(world)?)?;
        let new = Table { index, routes: BTreeMap::new() };
        self.state().tables.entry(id).or_insert(new);
        world.note_config_change();
        Ok(())
    }

    /// Deletes a table of sources with its routes.
    ///
    /// # Errors
    /// One that isn't there (−3), or that an interface uses (−147).
    pub fn delete_table(&self, world: &World, id: u32) -> Result<()> {
        self.find(id)?;
        let user = self.interfaces().into_iter().find(|(_, used)| *used == id);
        if let Some((sw_if, _)) = user {
            let name = world.get::<Interfaces>().name(sw_if);
            let why = format!("packets of {name} are selected by table {id}: disable that first");
            return Err(Error::failed(why).retval(retval::INSTANCE_IN_USE));
        }
        self.state().tables.remove(&id);
        let fib = world.get::<Fib<F>>();
        fib.delete_table(world, id, source(world)?)?;
        world.note_config_change();
        Ok(())
    }

    /// Lets sources lead to a table, in place of the one that they led to.
    ///
    /// # Errors
    /// One of the tables isn't there (−3).
    pub fn add_route(
        &self,
        world: &World,
        id: u32,
        prefix: Prefix<F::Addr>,
        to: u32,
    ) -> Result<()> {
        let (fib, prefix, index) = (world.get::<Fib<F>>(), prefix.network(), self.find(id)?);
        let path = Path::new(PathKind::Lookup(Fib::<F>::table_ref(fib.find_table(to)?)));
        fib.set(world, index, prefix, source(world)?, &[path])?;
        if let Some(table) = self.state().tables.get_mut(&id) {
            table.routes.insert(prefix, to);
        }
        world.note_config_change();
        Ok(())
    }

    /// Removes a route of sources.
    ///
    /// # Errors
    /// A table that isn't there (−3), a route that isn't (−6).
    pub fn delete_route(&self, world: &World, id: u32, prefix: Prefix<F::Addr>) -> Result<()> {
        let (prefix, index) = (prefix.network(), self.find(id)?);
        let gone = self.state().tables.get_mut(&id).and_then(|table| table.routes.remove(&prefix));
        if gone.is_none() {
            let why = format!("table {id} has no route of the sources {prefix}");
            return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
        }
        world.note_config_change();
        world.get::<Fib<F>>().remove(world, index, prefix, source(world)?, &[])
    }

    /// Selects the tables of an interface's packets by a table of sources, in place of the one that
    /// it used.
    ///
    /// # Errors
    /// An interface (−2) or a table (−3) that isn't there.
    pub fn enable(&self, world: &World, sw_if: SwIfIndex, id: u32) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        self.find(id)?;
        let fib = world.get::<Fib<F>>();
        let index = fib.hold_table(id)?;
        configure::<F>(world, sw_if, Some(index))
            .inspect_err(|_| fib.release_table(world, index))?;
        let old = self.state().interfaces.insert(sw_if, (id, index));
        old.iter().for_each(|(_, old)| fib.release_table(world, *old));
        world.note_config_change();
        Ok(())
    }

    /// Lets the destinations of an interface's packets be looked up in its own table again.
    ///
    /// # Errors
    /// An interface (−2) or a table (−3) that isn't there; one that isn't used there (−6).
    pub fn disable(&self, world: &World, sw_if: SwIfIndex, id: u32) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        self.find(id)?;
        let used = self.state().interfaces.get(&sw_if).copied().filter(|(used, _)| *used == id);
        let Some((_, index)) = used else {
            let name = world.get::<Interfaces>().name(sw_if);
            let why = format!("packets of {name} aren't selected by table {id}");
            return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
        };
        configure::<F>(world, sw_if, None)?;
        self.state().interfaces.remove(&sw_if);
        world.get::<Fib<F>>().release_table(world, index);
        world.note_config_change();
        Ok(())
    }
}

fn configure<F: Net>(world: &World, sw_if: SwIfIndex, table: Option<TableIndex>) -> Result<()> {
    let arc = filled("{ip}-unicast", F::IS_V6);
    world.configure_feature::<Select<F>>(&arc, sw_if, table).map_err(Error::failed)
}
