// SPDX-License-Identifier: Apache-2.0
//! The configuration of the relay of an IP version: the servers of clients in each table, and the
//! VPNs of tables.

use super::vss::Vss;
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, World};
use net::fib::{Fib, Source, TableIndex};
use net::mfib::{Change, EntryFlags, Group, ItfFlags, Mpath, MpathKind};
use net::{DeletedTable, Mfib, Net};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use wire::{Address, Prefix};

/// Servers of a table at most: a client's message is copied for each.
const MOST_SERVERS: usize = 16;
/// The group of all servers and relays of a link (RFC 8415 7.1).
pub const ALL_AGENTS: std::net::Ipv6Addr = std::net::Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

/// A server, and the table in which it is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Server<A> {
    /// Its address.
    pub addr: A,
    /// The index of its table.
    pub table: TableIndex,
    /// The id of its table.
    pub table_id: u32,
}

/// The servers of clients in a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proxy<A> {
    /// The id of the clients' table.
    pub rx_table_id: u32,
    /// The source address of messages to servers, and the relay's address in them.
    pub source: A,
    /// The servers, in the order of adding.
    pub servers: Vec<Server<A>>,
}

/// The part of a proxy that workers read.
#[derive(Clone, Debug)]
pub struct View<A> {
    /// As in [`Proxy`].
    pub source: A,
    /// As in [`Proxy`].
    pub servers: Box<[Server<A>]>,
    /// The VPN of the table, as options carry it.
    pub vss: Option<Box<[u8]>>,
}

impl<A: PartialEq> View<A> {
    /// True for a server in a table whose answers the clients get.
    #[inline(always)]
    pub fn has_server(&self, addr: A, table: TableIndex) -> bool {
        self.servers.iter().any(|server| server.addr == addr && server.table == table)
    }
}

struct State<A> {
    /// The proxies by the index of the clients' table, on which each has a reference, as each
    /// server has on its table.
    proxies: BTreeMap<TableIndex, Proxy<A>>,
    /// The VPNs by the id of the table, which needn't be there.
    vss: BTreeMap<u32, Vss>,
}

/// The relay of an IP version.
pub struct Relay<F: Net> {
    state: Mutex<State<F::Addr>>,
    views: Slots<Arc<View<F::Addr>>>,
}

impl<F: Net> Shared for Relay<F> {
    fn make(world: &World) -> Self {
        let state = State { proxies: BTreeMap::new(), vss: BTreeMap::new() };
        Self { state: Mutex::new(state), views: Slots::new(world.qsbr.clone()) }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        // A table that is used here stays.
        if let Some(table) = deleted.of::<DeletedTable<F>>() {
            debug_assert!(!self.state().proxies.contains_key(&table.index));
        }
    }
}

/// Takes a reference on the table of this id, which is made if it isn't there.
fn hold<F: Net>(world: &World, id: u32) -> Result<TableIndex> {
    let fib = world.get::<Fib<F>>();
    if fib.find_table(id).is_ok() {
        return fib.hold_table(id);
    }
    fib.add_table(world, id, "", Source::Dhcp)?;
    let index = fib.hold_table(id)?;
    // It has no owner from now on: it goes with its last user.
    fib.delete_table(world, id, Source::Dhcp)?;
    Ok(index)
}

impl<F: Net> Relay<F> {
    fn state(&self) -> MutexGuard<'_, State<F::Addr>> {
        self.state.lock().expect("no panic inside")
    }

    /// The servers of clients in a table, for workers.
    #[inline(always)]
    pub fn view<'t>(&'t self, table: TableIndex, turn: &'t Turn<'_>) -> Option<&'t View<F::Addr>> {
        Some(self.views.get(table.0, turn)?)
    }

    fn publish(&self, table: TableIndex) {
        let state = self.state();
        match state.proxies.get(&table) {
            Some(proxy) => {
                let vss = state.vss.get(&proxy.rx_table_id).map(|vss| vss.bytes().into());
                let servers = proxy.servers.clone().into();
                self.views.set(table.0, Arc::new(View { source: proxy.source, servers, vss }));
            }
            None => {
                self.views.clear(table.0);
            }
        }
    }

    /// All proxies, in the order of the tables' ids, each with the VPN of the table.
    pub fn proxies(&self) -> Vec<(Proxy<F::Addr>, Option<Vss>)> {
        let state = self.state();
        let with_vss =
            |proxy: &Proxy<F::Addr>| (proxy.clone(), state.vss.get(&proxy.rx_table_id).cloned());
        let mut all: Vec<_> = state.proxies.values().map(with_vss).collect();
        all.sort_by_key(|(proxy, _)| proxy.rx_table_id);
        all
    }

    /// The VPNs by the ids of their tables.
    pub fn vss(&self) -> BTreeMap<u32, Vss> {
        self.state().vss.clone()
    }

    /// Adds a server of the clients in a table. Tables that aren't there are made. The source is
    /// that of all servers of the table: the first one's counts, as in VPP.
    ///
    /// # Errors
    /// A server (−58) or source (−57) that is no address of a host; too many servers of one table
    /// (−162); no room for the group of all servers (−99).
    pub fn add(
        &self,
        world: &World,
        rx_table_id: u32,
        source: F::Addr,
        server: F::Addr,
        server_table_id: u32,
    ) -> Result<()> {
        for (what, addr, code) in [
            ("server", server, retval::INVALID_DST_ADDRESS),
            ("source", source, retval::INVALID_SRC_ADDRESS),
        ] {
            if addr == F::Addr::ZERO || addr.multicast() {
                let why = format!("{addr} is no address of a {what}");
                return Err(Error::parse(why).retval(code));
            }
        }
        let rx = hold::<F>(world, rx_table_id)?;
        let table = match hold::<F>(world, server_table_id) {
            Ok(table) => table,
            Err(why) => {
                world.get::<Fib<F>>().release_table(world, rx);
                return Err(why);
            }
        };
        let new = Server { addr: server, table, table_id: server_table_id };
        let done = self.insert(rx, rx_table_id, source, new);
        // The first server of a table takes over the reference on it.
        let is_first = matches!(done, Ok(Inserted::First));
        let fib = world.get::<Fib<F>>();
        if !is_first {
            fib.release_table(world, rx);
        }
        if !matches!(done, Ok(Inserted::First | Inserted::Another)) {
            fib.release_table(world, table);
        }
        done?;
        self.publish(rx);
        if is_first && let Err(why) = listen::<F>(world, rx, true) {
            self.remove(world, rx_table_id, server, server_table_id)?;
            return Err(why);
        }
        world.note_config_change();
        Ok(())
    }

    fn insert(
        &self,
        rx: TableIndex,
        rx_table_id: u32,
        source: F::Addr,
        new: Server<F::Addr>,
    ) -> Result<Inserted> {
        let mut state = self.state();
        let Some(proxy) = state.proxies.get_mut(&rx) else {
            state.proxies.insert(rx, Proxy { rx_table_id, source, servers: vec![new] });
            return Ok(Inserted::First);
        };
        if proxy.servers.contains(&new) {
            return Ok(Inserted::Nothing);
        }
        if proxy.servers.len() == MOST_SERVERS {
            let why = format!("table {rx_table_id} has {MOST_SERVERS} servers, more can't be");
            return Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED));
        }
        proxy.servers.push(new);
        Ok(Inserted::Another)
    }

    /// Removes a server of the clients in a table.
    ///
    /// # Errors
    /// One that isn't there (−6).
    pub fn remove(
        &self,
        world: &World,
        rx_table_id: u32,
        server: F::Addr,
        server_table_id: u32,
    ) -> Result<()> {
        let none = || {
            let why = format!("clients in table {rx_table_id} have no DHCP server {server}");
            Error::not_found(why).retval(retval::NO_SUCH_ENTRY)
        };
        let (rx, gone, was_last) = {
            let mut state = self.state();
            let mut all = state.proxies.iter_mut();
            let (rx, proxy) = all.find(|(_, p)| p.rx_table_id == rx_table_id).ok_or_else(none)?;
            let rx = *rx;
            let is_meant = |s: &Server<F::Addr>| s.addr == server && s.table_id == server_table_id;
            let at = proxy.servers.iter().position(is_meant).ok_or_else(none)?;
            let gone = proxy.servers.remove(at);
            let was_last = proxy.servers.is_empty();
            if was_last {
                state.proxies.remove(&rx);
            }
            (rx, gone, was_last)
        };
        self.publish(rx);
        let fib = world.get::<Fib<F>>();
        if was_last {
            listen::<F>(world, rx, false)?;
            fib.release_table(world, rx);
        }
        fib.release_table(world, gone.table);
        world.note_config_change();
        Ok(())
    }

    /// Sets the VPN of a table's clients, or sets none. The table needn't be there.
    ///
    /// # Errors
    /// A VPN that can't be sent (−7); no VPN to be removed (−6).
    pub fn set_vss(&self, world: &World, table_id: u32, vss: Option<Vss>) -> Result<()> {
        let rx = {
            let mut state = self.state();
            match vss {
                Some(vss) => {
                    vss.check()?;
                    state.vss.insert(table_id, vss);
                }
                None if state.vss.remove(&table_id).is_none() => {
                    let why = format!("table {table_id} has no VPN");
                    return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
                }
                None => {}
            }
            let mut all = state.proxies.iter();
            all.find(|(_, proxy)| proxy.rx_table_id == table_id).map(|(rx, _)| *rx)
        };
        rx.into_iter().for_each(|rx| self.publish(rx));
        world.note_config_change();
        Ok(())
    }
}

/// The effect of an added server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Inserted {
    /// It is the table's first one.
    First,
    /// The table had others.
    Another,
    /// It was there.
    Nothing,
}

/// Delivers packets to the group of all servers and relays here, from all interfaces of a table, or
/// ends that. IPv4 clients send to all stations.
fn listen<F: Net>(world: &World, table: TableIndex, on: bool) -> Result<()> {
    let Some(addr) = F::of_ip(IpAddr::V6(ALL_AGENTS)) else { return Ok(()) };
    let (mfib, group) = (world.get::<Mfib<F>>(), Group::any(Prefix::host(addr)));
    if on {
        let paths = [Mpath { kind: MpathKind::Local, flags: ItfFlags::FORWARD }];
        let change =
            Change { flags: Some(EntryFlags::ACCEPT_ALL), paths: &paths, ..Change::default() };
        mfib.update(world, table, group, Source::Dhcp, change)?;
    } else {
        // A table that is about to go has lost it already.
        let _ = mfib.remove(world, table, group, Source::Dhcp, &[]);
    }
    Ok(())
}
