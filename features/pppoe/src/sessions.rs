// SPDX-License-Identifier: Apache-2.0
//! Sessions and their interfaces.

use crate::clients::{Client, Clients};
use crate::encap::PppoeEncap;
use crate::header::NO_SESSIONS;
use crate::work::{Work, WorkTable};
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World};
use net::{
    Addresses, Device, Fib, IfEvent, IfKind, Implied, Interfaces, Net, NewInterface, Path,
    PathKind, Source, TableIndex,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use wire::{Address as _, Ip4, Ip6, MacAddr, Prefix};

/// The driver's name.
pub const DRIVER: &str = "PPPoE";
/// The prefix of interfaces' names.
const PREFIX: &str = "pppoe_session";
/// The MTU of a new interface: what PPP leaves of an Ethernet frame of the usual size (RFC 2516 7).
const MTU: u16 = 1492;

/// The configuration of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The session identifier.
    pub session: u16,
    /// The client's MAC address.
    pub mac: MacAddr,
    /// The client's IP address, which gets a host route.
    pub address: IpAddr,
    /// Id of the table that the client's packets are looked up in.
    pub table: u32,
}

/// A session as control knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Session {
    /// Its interface.
    pub sw_if: SwIfIndex,
    /// The number in the interface's name.
    pub instance: u32,
    /// The interface that the client is at.
    pub encap: SwIfIndex,
    /// Its configuration.
    pub config: Config,
    /// The table that has the client's host route.
    routed: Option<TableIndex>,
}

struct SessionDevice;

impl Device for SessionDevice {
    fn driver(&self) -> &'static str {
        DRIVER
    }

    fn is_tunnel(&self) -> bool {
        true
    }
}

#[derive(Default)]
struct All {
    sessions: BTreeMap<SwIfIndex, Session>,
    by_client: BTreeMap<(MacAddr, u16), SwIfIndex>,
    /// Sessions by the interface that the client is at.
    by_encap: BTreeSet<(SwIfIndex, SwIfIndex)>,
    instances: BTreeSet<u32>,
}

/// All sessions.
pub struct Sessions {
    work: Arc<WorkTable>,
    all: Mutex<All>,
}

impl Shared for Sessions {
    fn make(world: &World) -> Self {
        world.get::<Interfaces>().subscribe(|world, event| {
            if let IfEvent::Table(sw_if, is_v6) = event {
                world.get::<Self>().move_route(world, sw_if, is_v6);
            }
        });
        Self { work: world.get(), all: Mutex::default() }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        self.forget_session(world, sw_if);
        // Sessions go with the interface that their client is at.
        let range = (sw_if, SwIfIndex(0))..=(sw_if, SwIfIndex(u32::MAX));
        let there: Vec<_> = self.all().by_encap.range(range).map(|(_, s)| *s).collect();
        for session in there {
            if let Err(error) = world.get::<Interfaces>().delete(world, session) {
                log::warn!("a session stays: {error}");
            }
        }
    }
}

impl Sessions {
    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().expect("no panic inside")
    }

    /// All sessions, by interface.
    pub fn list(&self) -> Vec<Session> {
        self.all().sessions.values().copied().collect()
    }

    /// The session of an interface, for control.
    pub fn get(&self, sw_if: SwIfIndex) -> Option<Session> {
        self.all().sessions.get(&sw_if).copied()
    }

    /// Makes a session at the interface where its client was seen, or at `encap`. Its interface is
    /// up.
    ///
    /// # Errors
    /// An identifier that no session has, or an address that isn't one host's (−7); a session that
    /// is there (−75); a client that wasn't seen, or an interface that carries no Ethernet frames
    /// (−2); a table that isn't there (−4); a number that is taken (−147).
    pub fn create(
        &self,
        world: &World,
        config: Config,
        encap: Option<SwIfIndex>,
        instance: Option<u32>,
    ) -> Result<SwIfIndex> {
        let Config { session, mac, address, .. } = config;
        let invalid = |why| Error::parse(why).retval(retval::INVALID_VALUE);
        // RFC 2516 4 and 5.1.
        if NO_SESSIONS.contains(&session) {
            return Err(invalid(format!("no session has the identifier {session}")));
        }
        if mac.is_multicast() || mac.is_zero() {
            return Err(invalid(wire::not_one_station(mac)));
        }
        if address.is_multicast() || address.is_unspecified() {
            return Err(invalid(wire::not_one_host(address)));
        }
        let same = self.all().by_client.get(&(mac, session)).copied();
        let interfaces = world.get::<Interfaces>();
        if let Some(same) = same {
            let why = format!("{} is this session", interfaces.name(same));
            return Err(Error::failed(why).retval(retval::TUNNEL_EXIST));
        }
        let clients = world.get::<Clients>();
        let at = encap.or_else(|| clients.interface_of(mac)).ok_or_else(|| {
            let why = format!("no client {mac} was seen, so its interface isn't known");
            Error::not_found(why).retval(retval::INVALID_SW_IF_INDEX)
        })?;
        let over = interfaces.get(at)?;
        if over.kind != IfKind::Ethernet {
            let why = format!("{} carries no Ethernet frames", over.name);
            return Err(Error::unsupported(why).retval(retval::INVALID_SW_IF_INDEX));
        }
        let known = match address {
            IpAddr::V4(_) => world.get::<Fib<Ip4>>().find_table(config.table),
            IpAddr::V6(_) => world.get::<Fib<Ip6>>().find_table(config.table),
        };
        known.map_err(|e| e.retval(retval::NO_SUCH_INNER_FIB))?;
        let tx = world.node(graph::name_of::<PppoeEncap>());
        let tx = tx.ok_or_else(|| Error::unsupported("there is no node pppoe-encap"))?;
        let instance = self.free_instance(instance)?;
        let new = NewInterface {
            name: format!("{PREFIX}{instance}"),
            kind: IfKind::Ip,
            device: Arc::new(SessionDevice),
            mac: MacAddr::ZERO,
            mtu: MTU,
            link_up: true,
        };
        let sw_if = interfaces.create_sharing(world, new, Some(at), tx)?;
        {
            let mut all = self.all();
            let new = Session { sw_if, instance, encap: at, config, routed: None };
            all.sessions.insert(sw_if, new);
            all.by_client.insert((mac, session), sw_if);
            all.by_encap.insert((at, sw_if));
            all.instances.insert(instance);
        }
        if encap.is_some() {
            clients.learn(Client { mac, sw_if: at.0 });
        }
        clients.add_session(mac);
        self.work.add(Work { session, mac, encap: at.0, sw_if: sw_if.0, instance });
        let done = self.set_up(world, sw_if, &config);
        done.inspect_err(|_| _ = interfaces.delete(world, sw_if))?;
        world.note_config_change();
        Ok(sw_if)
    }

    /// Moves a new interface into its tables, adds the client's route, and takes it up.
    fn set_up(&self, world: &World, sw_if: SwIfIndex, config: &Config) -> Result<()> {
        // The table may be there for the client's own protocol only.
        let implied = Implied { up: true, tables: [config.table; 2], ip: [false; 2] };
        net::imply(world, sw_if, implied)?;
        self.move_route(world, sw_if, config.address.is_ipv6());
        Ok(())
    }

    fn free_instance(&self, wanted: Option<u32>) -> Result<u32> {
        let all = self.all();
        if let Some(taken) = wanted.filter(|instance| all.instances.contains(instance)) {
            let why = format!("there is a {PREFIX}{taken} already");
            return Err(Error::failed(why).retval(retval::INSTANCE_IN_USE));
        }
        let free = || (0..).zip(&all.instances).find(|(n, used)| n != *used).map(|(n, _)| n);
        Ok(wanted.or_else(free).unwrap_or(all.instances.len() as u32))
    }

    /// Deletes the session of a client.
    ///
    /// # Errors
    /// There is none (−6).
    pub fn delete(&self, world: &World, mac: MacAddr, session: u16) -> Result<SwIfIndex> {
        let known = self.all().by_client.get(&(mac, session)).copied();
        let sw_if = known.ok_or_else(|| {
            let why = format!("the client {mac} has no session {session}");
            Error::not_found(why).retval(retval::NO_SUCH_ENTRY)
        })?;
        world.get::<Interfaces>().delete(world, sw_if)?;
        Ok(sw_if)
    }

    fn forget_session(&self, world: &World, sw_if: SwIfIndex) {
        let session = {
            let mut all = self.all();
            let Some(session) = all.sessions.remove(&sw_if) else { return };
            all.by_client.remove(&(session.config.mac, session.config.session));
            all.by_encap.remove(&(session.encap, sw_if));
            all.instances.remove(&session.instance);
            session
        };
        let Config { mac, session: id, .. } = session.config;
        world.get::<Clients>().remove_session(mac);
        self.work.remove(mac, id, sw_if.0);
        remove_route(world, &session);
    }

    /// Puts the route of the client into the table of the interface.
    fn move_route(&self, world: &World, sw_if: SwIfIndex, is_v6: bool) {
        let Some(session) = self.get(sw_if) else { return };
        let added = match session.config.address {
            IpAddr::V4(address) if !is_v6 => move_to_table::<Ip4>(world, &session, address),
            IpAddr::V6(address) if is_v6 => move_to_table::<Ip6>(world, &session, address),
            _ => return,
        };
        let routed = added.unwrap_or_else(|error| {
            log::warn!("{} has no route: {error}", world.get::<Interfaces>().name(sw_if));
            None
        });
        if let Some(there) = self.all().sessions.get_mut(&sw_if) {
            there.routed = routed;
        }
    }
}

/// Moves the client's route; returns the table that has it.
fn move_to_table<F: Net>(
    world: &World,
    session: &Session,
    address: F::Addr,
) -> Result<Option<TableIndex>> {
    let table = world.get::<Addresses<F>>().table_of(session.sw_if)?;
    if session.routed != Some(table) {
        remove_route(world, session);
        let (fib, route) = (world.get::<Fib<F>>(), Prefix::host(address));
        fib.add(world, table, route, Source::Plugin, &[path::<F>(session.sw_if)])?;
    }
    Ok(Some(table))
}

fn path<F: Net>(sw_if: SwIfIndex) -> Path {
    Path::new(PathKind::Attached { sw_if, address: F::Addr::ZERO.into() })
}

fn remove_route(world: &World, session: &Session) {
    let Some(table) = session.routed else { return };
    // The table may be gone, and the route with it.
    _ = match session.config.address {
        IpAddr::V4(address) => forget_route::<Ip4>(world, table, address, session.sw_if),
        IpAddr::V6(address) => forget_route::<Ip6>(world, table, address, session.sw_if),
    };
}

fn forget_route<F: Net>(
    world: &World,
    table: TableIndex,
    address: F::Addr,
    sw_if: SwIfIndex,
) -> Result<()> {
    let path = path::<F>(sw_if);
    world.get::<Fib<F>>().remove(world, table, Prefix::host(address), Source::Plugin, &[path])?;
    Ok(())
}
