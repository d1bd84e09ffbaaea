// SPDX-License-Identifier: Apache-2.0
//! The tunnels.

use super::{Domain, SixRdEncap};
use cli::{Error, Result, retval};
use graph::{Deleted, NodeIndex, Shared, SwIfIndex, World};
use net::{
    Addresses, Device, Fib, IfEvent, IfKind, Implied, Interfaces, NewInterface, Path, PathKind,
    Source, TableIndex,
};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Snapshot, Turn};
use tunnel::End;
use wire::{Address, Ip4, Ip6, MacAddr};

/// The MTU inside: 1500 bytes of IPv4 without its header (RFC 5969 9.1).
pub const MTU: u16 = 1480;

/// [`SixRd::tos`] of tunnels whose outer packets have the inner traffic class.
pub const COPY_TOS: u8 = u8::MAX;

/// A tunnel's configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SixRd {
    /// The addresses of sites.
    pub domain: Domain,
    /// The address here.
    pub local: Ipv4Addr,
    /// Id of the table that outer packets are routed in.
    pub table4: u32,
    /// Id of the table of inner packets.
    pub table6: u32,
    /// Inner sources have to be of the site that the outer source belongs to (RFC 5969 12).
    pub security_check: bool,
    /// The type of service of outer packets, or `COPY_TOS`.
    pub tos: u8,
}

/// A tunnel as workers read it.
#[derive(Clone, Debug)]
pub struct Work {
    /// Its configuration.
    pub config: SixRd,
    /// Index of the table that outer packets are routed in.
    pub table: TableIndex,
    /// The end that received packets belong to.
    pub end: End,
}

/// A tunnel as control knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tunnel {
    /// The interface.
    pub sw_if: SwIfIndex,
    /// The number in its name.
    pub instance: u32,
    /// Its configuration.
    pub config: SixRd,
    /// The table that outer packets are routed in: held.
    table: TableIndex,
    /// The table with the route of the domain.
    routed: Option<TableIndex>,
}

/// The name of a tunnel's interface.
pub fn name(instance: u32) -> String {
    format!("ip6ip-6rd{instance:x}")
}

struct SixRdDevice(Domain);

impl Device for SixRdDevice {
    fn driver(&self) -> &'static str {
        "6RD"
    }

    fn is_tunnel(&self) -> bool {
        true
    }

    /// The IPv4 address of the site, or zero: the packet's destination names it.
    fn header_to(&self, neighbor: IpAddr) -> Option<Vec<u8>> {
        let IpAddr::V6(neighbor) = neighbor else { return None };
        if neighbor.link_local() || neighbor.is_multicast() {
            return None;
        }
        let site = if neighbor.is_unspecified() {
            Ipv4Addr::UNSPECIFIED
        } else {
            self.0.embedded(neighbor)
        };
        Some(site.octets().to_vec())
    }
}

/// All 6RD tunnels.
pub struct SixRds {
    /// By interface.
    work: Slots<Work>,
    /// The interface, by the address here and the table.
    by_local: Snapshot<HashMap<(Ipv4Addr, TableIndex), u32>>,
    all: Mutex<BTreeMap<SwIfIndex, Tunnel>>,
}

impl Shared for SixRds {
    fn make(world: &World) -> Self {
        world.get::<Interfaces>().subscribe(|world, event| {
            if let IfEvent::Table(sw_if, true) = event {
                world.get::<Self>().move_route(world, sw_if);
            }
        });
        Self {
            work: Slots::new(world.qsbr.clone()),
            by_local: Snapshot::new(world.qsbr.clone(), HashMap::new()),
            all: Mutex::default(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        let Some(tunnel) = self.all().remove(&sw_if) else { return };
        self.work.clear(sw_if.0);
        self.publish();
        remove_route(world, &tunnel);
        world.get::<Fib<Ip4>>().release_table(world, tunnel.table);
    }
}

impl SixRds {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, Tunnel>> {
        self.all.lock().expect("no panic inside")
    }

    /// All tunnels, by interface.
    pub fn list(&self) -> Vec<Tunnel> {
        self.all().values().copied().collect()
    }

    /// The tunnel of an interface.
    pub fn get(&self, sw_if: SwIfIndex) -> Option<Tunnel> {
        self.all().get(&sw_if).copied()
    }

    /// The tunnel that a packet is sent by.
    #[inline(always)]
    pub fn work<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Work> {
        self.work.get(sw_if, turn)
    }

    /// The tunnel that a packet for an address here belongs to.
    #[inline(always)]
    pub fn lookup<'t>(
        &'t self,
        local: Ipv4Addr,
        table: TableIndex,
        turn: &'t Turn<'_>,
    ) -> Option<&'t Work> {
        let sw_if = *self.by_local.get(turn).get(&(local, table))?;
        self.work.get(sw_if, turn)
    }

    fn publish(&self) {
        let all = self.list();
        let keys = all.iter().map(|t| ((t.config.local, t.table), t.sw_if.0));
        let new: HashMap<_, _> = keys.collect();
        self.by_local.update(|_| new.clone());
    }

    /// Makes a tunnel, up, with IPv6 enabled and a route of the domain's prefix.
    ///
    /// # Errors
    /// An address here that isn't one host's (−57); a table that isn't there (−3); a tunnel with
    /// the same address here (−79); a number that is taken (−147).
    pub fn create(&self, world: &World, config: SixRd, instance: Option<u32>) -> Result<SwIfIndex> {
        let local = config.local;
        if local.is_multicast() || local.is_unspecified() || local.is_broadcast() {
            let why = wire::not_one_host(local);
            return Err(Error::parse(why).retval(retval::INVALID_SRC_ADDRESS));
        }
        world.get::<Fib<Ip6>>().find_table(config.table6)?;
        let fib4 = world.get::<Fib<Ip4>>();
        let table = fib4.hold_table(config.table4)?;
        let made = self.create_in(world, table, config, instance);
        made.inspect_err(|_| fib4.release_table(world, table))
    }

    fn create_in(
        &self,
        world: &World,
        table: TableIndex,
        config: SixRd,
        instance: Option<u32>,
    ) -> Result<SwIfIndex> {
        let interfaces = world.get::<Interfaces>();
        let all = self.list();
        let is_same = |t: &&Tunnel| t.config.local == config.local && t.table == table;
        if let Some(same) = all.iter().find(is_same) {
            let name = interfaces.name(same.sw_if);
            let why = format!("{name} has the address {} in this table", config.local);
            return Err(Error::failed(why).retval(retval::IF_ALREADY_EXISTS));
        }
        let is_taken = |n: &u32| all.iter().any(|t| t.instance == *n);
        if let Some(taken) = instance.filter(is_taken) {
            let why = format!("there is a {} already", name(taken));
            return Err(Error::failed(why).retval(retval::INSTANCE_IN_USE));
        }
        let free = || (0..).find(|n| !is_taken(n)).unwrap_or_default();
        let instance = instance.unwrap_or_else(free);
        let encap = graph::name_of::<SixRdEncap>();
        let tx = world.node(encap);
        let tx = tx.ok_or_else(|| Error::unsupported(format!("there is no node {encap}")))?;
        let sw_if = self.make_interface(world, &config, instance, tx)?;
        let end = End::receiving(sw_if, instance);
        self.work.set(sw_if.0, Work { config, table, end });
        self.all().insert(sw_if, Tunnel { sw_if, instance, config, table, routed: None });
        self.publish();
        net::imply(
            world,
            sw_if,
            Implied { up: true, tables: [0, config.table6], ip: [false, true] },
        )?;
        self.move_route(world, sw_if);
        world.note_config_change();
        Ok(sw_if)
    }

    fn make_interface(
        &self,
        world: &World,
        config: &SixRd,
        instance: u32,
        tx: NodeIndex,
    ) -> Result<SwIfIndex> {
        let new = NewInterface {
            name: name(instance),
            kind: IfKind::Multipoint,
            device: Arc::new(SixRdDevice(config.domain)),
            mac: MacAddr::ZERO,
            mtu: MTU,
            link_up: true,
        };
        world.get::<Interfaces>().create_sharing(world, new, None, tx)
    }

    /// Deletes a tunnel and its interface.
    ///
    /// # Errors
    /// An interface that is no 6RD tunnel, or isn't there (−1, as in VPP).
    pub fn delete(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        if self.get(sw_if).is_none() {
            let why = format!("{} is no 6RD tunnel", interfaces.name(sw_if));
            return Err(Error::not_found(why).retval(retval::UNSPECIFIED));
        }
        interfaces.delete(world, sw_if)
    }

    /// Puts the route of the domain into the table of the interface.
    fn move_route(&self, world: &World, sw_if: SwIfIndex) {
        let Some(tunnel) = self.get(sw_if) else { return };
        let table = world.get::<Addresses<Ip6>>().table_of(sw_if);
        let Ok(table) = table else { return };
        if tunnel.routed == Some(table) {
            return;
        }
        remove_route(world, &tunnel);
        let (fib, path) = (world.get::<Fib<Ip6>>(), path(sw_if));
        let added = fib.add(world, table, tunnel.config.domain.ip6, Source::Plugin, &[path]);
        if let Err(error) = &added {
            log::warn!("{} has no route: {error}", world.get::<Interfaces>().name(sw_if));
        }
        if let Some(there) = self.all().get_mut(&sw_if) {
            there.routed = added.is_ok().then_some(table);
        }
    }
}

fn path(sw_if: SwIfIndex) -> Path {
    Path::new(PathKind::Attached { sw_if, address: Ipv6Addr::UNSPECIFIED.into() })
}

fn remove_route(world: &World, tunnel: &Tunnel) {
    let Some(table) = tunnel.routed else { return };
    let (fib, path) = (world.get::<Fib<Ip6>>(), path(tunnel.sw_if));
    // The table may be gone, and the route with it.
    _ = fib.remove(world, table, tunnel.config.domain.ip6, Source::Plugin, &[path]);
}
