// SPDX-License-Identifier: Apache-2.0
//! Random changes, some of them twice and some lost, against a plain model of the kernel.

use super::{FIRST, rig};
use crate::engine::Engine;
use graph::{SwIfIndex, World};
use net::drive::Rig;
use net::{Addresses, Fib, Neighbors, Net, Path, PathKind};
use netlink::{Address, Change, Hop, KernelRoute, Link, NeighborEntry, RouteKind};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Ip4, Ip6, MacAddr, Prefix};

const PORTS: u32 = 3;
const TABLES: [u32; 2] = [254, 7];
const METRICS: [u32; 5] = [0, 20, 256, 70_000, 0x1_0014];
/// An operator's and a daemon's.
const PROTOCOLS: [u8; 2] = [3, 186];

#[derive(Clone, Debug)]
enum Op {
    /// A route, which replaces that with the same metric.
    Route {
        v6: bool,
        at: Place,
        protocol: usize,
        kind: u8,
        hops: Vec<(u32, u8, u16)>,
    },
    /// A route is withdrawn.
    NoRoute {
        v6: bool,
        at: Place,
    },
    Link {
        port: u32,
        up: bool,
    },
    Address {
        port: u32,
        host: u8,
        there: bool,
    },
    Neighbor {
        port: u32,
        host: u8,
        mac: Option<u8>,
    },
    /// Notifications are lost from here on.
    Lose,
    /// All is compared.
    Resync,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    table: usize,
    prefix: u8,
    metric: usize,
}

fn place() -> impl Strategy<Value = Place> {
    (0..TABLES.len(), 0u8..3, 0..METRICS.len()).prop_map(|(table, prefix, metric)| Place {
        table,
        prefix,
        metric,
    })
}

fn op() -> impl Strategy<Value = Op> {
    let hop = (0..PORTS, 2u8..5, 1u16..4);
    let hops = proptest::collection::vec(hop, 1..4);
    prop_oneof![
        8 => (any::<bool>(), place(), 0..2usize, 0u8..8, hops)
            .prop_map(|(v6, at, protocol, kind, hops)| Op::Route { v6, at, protocol, kind, hops }),
        5 => (any::<bool>(), place()).prop_map(|(v6, at)| Op::NoRoute { v6, at }),
        2 => (0..PORTS, any::<bool>()).prop_map(|(port, up)| Op::Link { port, up }),
        2 => (0..PORTS, 0u8..3, any::<bool>())
            .prop_map(|(port, host, there)| Op::Address { port, host, there }),
        2 => (0..PORTS, 10u8..13, proptest::option::of(1u8..4))
            .prop_map(|(port, host, mac)| Op::Neighbor { port, host, mac }),
        1 => Just(Op::Lose),
        1 => Just(Op::Resync),
    ]
}

/// The kernel.
#[derive(Default)]
struct Kernel {
    down: BTreeSet<u32>,
    routes: BTreeMap<(bool, Place), KernelRoute>,
    addresses: BTreeSet<(u32, u8)>,
    neighbors: BTreeMap<(u32, u8), u8>,
}

fn prefix(v6: bool, n: u8) -> (IpAddr, u8) {
    match v6 {
        false => (Ipv4Addr::new(192, 0, n, 0).into(), 24),
        true => (Ipv6Addr::new(0x2001, 0xdb8, 0xff00 + u16::from(n), 0, 0, 0, 0, 0).into(), 48),
    }
}

fn hop_of(v6: bool, (port, host, weight): (u32, u8, u16)) -> Hop {
    let gateway: IpAddr = match v6 {
        false => Ipv4Addr::new(10, 0, port as u8, host).into(),
        true => Ipv6Addr::new(0x2001, 0xdb8, port as u16, 0, 0, 0, 0, host.into()).into(),
    };
    Hop { index: FIRST + port, gateway: Some(gateway), weight, is_encapsulated: false }
}

fn link(port: u32, up: bool) -> Change {
    let flags = if up { 0x41 } else { 0 };
    let mac = Some(net::drive::port_mac(port as usize));
    let name = format!("k{port}");
    Change::Link(Link { index: FIRST + port, name, flags, mtu: 1500, mac, ..Link::default() })
}

fn address(port: u32, host: u8) -> Address {
    let address = Ipv4Addr::new(172, 16 + port as u8, host, 1).into();
    Address { index: FIRST + port, address, prefix_len: 24, global: true }
}

fn neighbor(port: u32, host: u8, mac: Option<u8>) -> NeighborEntry {
    const STALE: u16 = 4;
    const FAILED: u16 = 0x20;
    let state = if mac.is_some() { STALE } else { FAILED };
    let mac = mac.map(|n| MacAddr([2, 1, 1, 1, 1, n]));
    let address = Ipv4Addr::new(10, 0, port as u8, host).into();
    NeighborEntry { index: FIRST + port, address, mac, state }
}

impl Kernel {
    /// Does it, and returns the notifications.
    fn run(&mut self, op: &Op) -> Vec<Change> {
        match op {
            Op::Route { v6, at, protocol, kind, hops } => {
                self.add(*v6, *at, *protocol, *kind, hops)
            }
            Op::NoRoute { v6, at } => {
                self.routes.remove(&(*v6, *at)).map(Change::RouteGone).into_iter().collect()
            }
            Op::Link { port, up: false } => self.take_down(*port),
            Op::Link { port, up: true } => match self.down.remove(port) {
                true => vec![link(*port, true)],
                false => vec![],
            },
            Op::Address { port, host, there: true } if !self.down.contains(port) => {
                self.addresses.insert((*port, *host));
                vec![Change::Address(address(*port, *host))]
            }
            Op::Address { port, host, there: false } => {
                match self.addresses.remove(&(*port, *host)) {
                    true => vec![Change::AddressGone(address(*port, *host))],
                    false => vec![],
                }
            }
            Op::Neighbor { port, host, mac } if !self.down.contains(port) => {
                match mac {
                    Some(mac) => drop(self.neighbors.insert((*port, *host), *mac)),
                    None => drop(self.neighbors.remove(&(*port, *host))),
                }
                vec![Change::Neighbor(neighbor(*port, *host, *mac))]
            }
            _ => vec![],
        }
    }

    fn add(
        &mut self,
        v6: bool,
        at: Place,
        protocol: usize,
        kind: u8,
        hops: &[(u32, u8, u16)],
    ) -> Vec<Change> {
        let kind = match kind {
            0 => RouteKind::Blackhole,
            1 => RouteKind::Prohibit,
            _ => RouteKind::Unicast,
        };
        let mut seen = BTreeSet::new();
        let usable = |hop: &&(u32, u8, u16)| !self.down.contains(&hop.0);
        let hops = hops.iter().filter(usable).filter(|hop| seen.insert((hop.0, hop.1)));
        let mut hops: Vec<Hop> = hops.map(|hop| hop_of(v6, *hop)).collect();
        if kind != RouteKind::Unicast {
            hops.clear();
        } else if hops.is_empty() {
            return vec![];
        }
        let (prefix, len) = prefix(v6, at.prefix);
        let replaces = self.routes.contains_key(&(v6, at));
        let (table, metric) = (TABLES[at.table], METRICS[at.metric]);
        let protocol = PROTOCOLS[protocol];
        let (nexthop_object, is_cached, has_source) = (None, false, false);
        let route = KernelRoute {
            prefix,
            len,
            table,
            protocol,
            kind,
            metric,
            hops,
            nexthop_object,
            replaces,
            is_cached,
            has_source,
        };
        self.routes.insert((v6, at), route.clone());
        vec![Change::Route(route)]
    }

    /// IPv4 routes lose their next hops without a message, IPv6 ones with one. Neighbours go.
    fn take_down(&mut self, port: u32) -> Vec<Change> {
        if !self.down.insert(port) {
            return vec![];
        }
        let mut news = vec![link(port, false)];
        let mut kept = BTreeMap::new();
        for (key, mut route) in std::mem::take(&mut self.routes) {
            let (gone, hops): (Vec<Hop>, Vec<Hop>) =
                route.hops.iter().partition(|hop| hop.index == FIRST + port);
            if key.0 && !gone.is_empty() {
                news.push(Change::RouteGone(KernelRoute { hops: gone.clone(), ..route.clone() }));
            }
            route.hops = hops;
            if gone.is_empty() || !route.hops.is_empty() {
                kept.insert(key, route);
            }
        }
        self.routes = kept;
        for ((of, host), _) in self.neighbors.extract_if(.., |(of, _), _| *of == port) {
            news.push(Change::NeighborGone(neighbor(of, host, Some(1))));
        }
        news
    }

    fn dump(&self) -> Vec<Change> {
        let links = (0..PORTS).map(|port| link(port, !self.down.contains(&port)));
        let addresses = self.addresses.iter().map(|(p, h)| Change::Address(address(*p, *h)));
        let of = |((p, h), mac): (&(u32, u8), &u8)| Change::Neighbor(neighbor(*p, *h, Some(*mac)));
        let neighbors = self.neighbors.iter().map(of);
        let routes = self.routes.values().cloned();
        let routes = routes.map(|r| Change::Route(KernelRoute { replaces: false, ..r }));
        links.chain(addresses).chain(neighbors).chain(routes).collect()
    }

    /// The paths of a source to a prefix: of each the lowest metric and its weight.
    fn wanted(&self, v6: bool, table: usize, n: u8, protocol: u8) -> BTreeMap<String, (u32, u8)> {
        let mut all: BTreeMap<String, (u32, u8)> = BTreeMap::new();
        for ((six, at), route) in &self.routes {
            if (*six, at.table, at.prefix, route.protocol) != (v6, table, n, protocol) {
                continue;
            }
            let mut note = |name: String, weight: u16| {
                let new = (route.metric, weight as u8);
                let known = all.entry(name).or_insert(new);
                *known = (*known).min(new);
            };
            match route.kind {
                RouteKind::Unicast => {
                    for hop in &route.hops {
                        let gateway = hop.gateway.expect("each has one");
                        note(gateway.to_string(), hop.weight);
                    }
                }
                kind => note(format!("{kind:?}"), 1),
            }
        }
        all
    }
}

fn name(path: &Path) -> String {
    match path.kind {
        PathKind::Neighbor { nexthop, .. } => nexthop.to_string(),
        PathKind::Fixed(net::AdjIndex::DROP) => "Blackhole".into(),
        PathKind::Fixed(_) => "Prohibit".into(),
        other => format!("{other:?}"),
    }
}

fn check_routes<F: Net>(world: &World, kernel: &Kernel, engine: &mut Engine) {
    let fib = world.get::<Fib<F>>();
    for (at, table) in TABLES.iter().enumerate() {
        let id = if *table == 254 { 0 } else { *table };
        for n in 0..3 {
            let (addr, len) = prefix(F::IS_V6, n);
            let prefix = F::of_ip(addr).and_then(|addr| Prefix::new(addr, len)).expect("one");
            let route = fib.find_table(id).ok().and_then(|table| fib.route(table, prefix));
            for (source, protocol) in engine.sources().both().into_iter().zip(PROTOCOLS) {
                let sources = route.iter().flat_map(|route| &route.sources);
                let of = sources.filter(|of| of.source == source);
                let paths = of.flat_map(|of| of.path_list.paths.iter().map(|(path, _)| *path));
                let got: BTreeMap<_, _> = paths
                    .map(|path| (name(&path), (engine.metric(path.preference), path.weight)))
                    .collect();
                let wanted = kernel.wanted(F::IS_V6, at, n, protocol);
                assert_eq!(got, wanted, "{prefix} of table {id}, protocol {protocol}");
            }
        }
    }
}

fn check(rig: &Rig, kernel: &Kernel, engine: &mut Engine) {
    let world = rig.world();
    check_routes::<Ip4>(&world, kernel, engine);
    check_routes::<Ip6>(&world, kernel, engine);
    for port in 0..PORTS {
        let sw_if: SwIfIndex = rig.ports[port as usize];
        let own = world.get::<Addresses<Ip4>>().own(sw_if);
        for host in 0..3 {
            let is_there =
                own.iter().any(|p| IpAddr::from(p.addr()) == address(port, host).address);
            assert_eq!(is_there, kernel.addresses.contains(&(port, host)), "{port} {host}");
        }
        for host in 10..13 {
            let known = world.get::<Neighbors>().get(sw_if, neighbor(port, host, None).address);
            let mac = kernel.neighbors.get(&(port, host)).map(|n| MacAddr([2, 1, 1, 1, 1, *n]));
            assert_eq!(known.map(|n| n.mac), mac, "neighbour {host} of {port}");
        }
    }
}

fn take(world: &World, engine: &mut Engine, changes: &[Change]) {
    for change in changes {
        engine.apply(world, change);
        // A link that goes down comes before what follows.
        if !engine.removals.is_empty() {
            engine.flush(world);
            while engine.go_on(world, 2) {}
        }
    }
    engine.flush(world);
}

fn resync(world: &World, engine: &mut Engine, kernel: &Kernel) {
    engine.resync_begin(world);
    // Nothing is missing meanwhile that was there.
    for pieces in kernel.dump().chunks(5) {
        take(world, engine, pieces);
    }
    engine.resync_end(world);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[suite::test]
    fn what_the_kernel_has_is_here(ops in proptest::collection::vec((op(), any::<bool>()), 1..60)) {
        let (rig, mut engine) = rig(PORTS as usize);
        let world = rig.world();
        let (mut kernel, mut is_losing) = (Kernel::default(), false);
        let mut news: Vec<Change> = (0..PORTS).map(|port| link(port, true)).collect();
        take(&world, &mut engine, &news);
        for (op, is_twice) in &ops {
            match op {
                Op::Lose => is_losing = true,
                Op::Resync => {
                    resync(&world, &mut engine, &kernel);
                    is_losing = false;
                }
                op => {
                    news = kernel.run(op);
                    if !is_losing {
                        take(&world, &mut engine, &news);
                        if *is_twice {
                            take(&world, &mut engine, &news);
                        }
                    }
                }
            }
            if engine.must_resync && !is_losing {
                resync(&world, &mut engine, &kernel);
            }
            if !is_losing {
                check(&rig, &kernel, &mut engine);
            }
        }
        resync(&world, &mut engine, &kernel);
        check(&rig, &kernel, &mut engine);
    }
}
