// SPDX-License-Identifier: Apache-2.0
//! Routes of both protocols over each other, through tables, in random order, against a model that
//! resolves everything from scratch.

use daemon::plugins;
use graph::SwIfIndex;
use graph::drive::Bench;
use net::drive::Rig;
use net::{
    AdjIndex, AdjKind, Adjacencies, Fib, Interfaces, Link, Net, Path, PathKind, RouteTables,
    Source, TableIndex, TableRef,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testkit::Rng;
use wire::{Ip4, Ip6, Prefix};

const PORTS: usize = 3;
/// Networks whose routes change, each with a host.
const NETWORKS: u8 = 6;

/// The result for packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum End {
    Neighbor(u32, IpAddr),
    Table(u32),
    Drop,
    Unreach,
    /// A route that nobody set.
    None,
}

fn network(link: Link, i: u8) -> IpAddr {
    match link {
        Link::IP6 => Ipv6Addr::new(0x3000, i.into(), 0, 0, 0, 0, 0, 0).into(),
        _ => Ipv4Addr::new(50, i, 0, 0).into(),
    }
}

fn host(link: Link, i: u8) -> IpAddr {
    match link {
        Link::IP6 => Ipv6Addr::new(0x3000, i.into(), 0, 0, 0, 0, 0, 1).into(),
        _ => Ipv4Addr::new(50, i, 0, 1).into(),
    }
}

/// The neighbour on a port.
fn neighbor(link: Link, port: usize) -> IpAddr {
    match link {
        Link::IP6 => Ipv6Addr::new(0x2001, 0xdb8, port as u16, 0, 0, 0, 0, 2).into(),
        _ => Ipv4Addr::new(10, 0, port as u8, 2).into(),
    }
}

/// A route's place: its table, its network, and whether it is the one to the network's host.
type At = (TableRef, u8, bool);

#[derive(Default)]
struct Model {
    routes: BTreeMap<At, Vec<Path>>,
    down: BTreeSet<SwIfIndex>,
}

/// A path list: the link type of its packets, and its paths.
type List<'a> = (Link, &'a [Path]);

impl Model {
    /// The paths of packets to a network's host.
    fn cover(&self, table: TableRef, i: u8) -> Option<&[Path]> {
        let at = |is_host| self.routes.get(&(table, i, is_host)).map(|paths| &paths[..]);
        at(true).or_else(|| at(false))
    }

    /// The list that a recursive path of a list follows.
    fn followed<'a>(&'a self, (link, _): List<'a>, path: &Path) -> Option<List<'a>> {
        let PathKind::Recursive { table, nexthop } = path.kind else { return None };
        let i = (0..NETWORKS).find(|i| host(Link::of(nexthop), *i) == nexthop)?;
        self.cover(TableRef::of_address(table, nexthop), i).map(|paths| (link, paths))
    }

    /// Returns true if following a list leads to another one.
    fn leads_to(&self, from: List<'_>, to: List<'_>) -> bool {
        let (mut left, mut seen) = (vec![from], Vec::new());
        while let Some(list) = left.pop() {
            if list == to {
                return true;
            }
            if !seen.contains(&list) {
                seen.push(list);
                left.extend(list.1.iter().filter_map(|path| self.followed(list, path)));
            }
        }
        false
    }

    /// The results for packets that take a list, and whether recursive paths may follow it.
    fn ends(&self, list: List<'_>) -> (BTreeSet<End>, bool) {
        let (mut ends, mut usable) = (BTreeSet::new(), false);
        for path in list.1 {
            let (found, follows) = match path.kind {
                PathKind::Neighbor { sw_if, nexthop } if !self.down.contains(&sw_if) => {
                    ([End::Neighbor(sw_if.0, nexthop)].into(), true)
                }
                PathKind::Lookup(table) if table.link == list.0 => {
                    ([End::Table(table.index.0)].into(), true)
                }
                PathKind::Fixed(_) => ([End::Drop].into(), false),
                PathKind::Recursive { .. } => match self.followed(list, path) {
                    Some(next) if !self.leads_to(next, list) => match self.ends(next) {
                        (ends, true) => (ends, true),
                        _ => continue,
                    },
                    _ => continue,
                },
                _ => continue,
            };
            ends.extend(found);
            usable |= follows;
        }
        if ends.is_empty() { ([End::Unreach].into(), false) } else { (ends, usable) }
    }
}

struct Instance {
    rig: Rig,
    model: Model,
    seven: [TableIndex; 2],
}

fn found<F: Net>(bench: &Bench, table: TableIndex, address: IpAddr) -> BTreeSet<End> {
    let (fib, adjacencies) = (bench.world.get::<Fib<F>>(), bench.world.get::<Adjacencies>());
    let mut reader = bench.world.qsbr.register();
    let turn = reader.turn();
    let address = F::of_ip(address).expect("of the protocol");
    let mut ends = BTreeSet::new();
    adjacencies.find_member(
        fib.adj(table, address, &turn).expect("the table"),
        &turn,
        &mut |adj| {
            ends.insert(match adj.kind {
                AdjKind::Rewrite | AdjKind::Incomplete => {
                    assert_eq!(adj.link, F::LINK, "{adj:?}");
                    End::Neighbor(adj.tx_if, adj.nexthop())
                }
                AdjKind::Lookup => End::Table(adj.table),
                AdjKind::Drop => End::Drop,
                AdjKind::Unreach => End::Unreach,
                AdjKind::NoRoute => End::None,
                kind => panic!("{kind:?}"),
            });
            false
        },
    );
    ends
}

impl Instance {
    fn new() -> Self {
        let mut rig = Rig::new(plugins::ALL, PORTS);
        rig.networks();
        let world = rig.world();
        let four = world.get::<Fib<Ip4>>().add_table(&world, 7, "", Source::Cli).expect("made");
        let six = world.get::<Fib<Ip6>>().add_table(&world, 7, "", Source::Cli).expect("made");
        Self { rig, model: Model::default(), seven: [four, six] }
    }

    fn table(&self, link: Link, rng: &mut Rng) -> TableRef {
        let index = if rng.one_in(3) { self.seven[link.at()] } else { TableIndex::DEFAULT };
        TableRef { link, index }
    }

    fn path(&self, link: Link, rng: &mut Rng) -> Path {
        let of = *rng.pick(&[link, link, Link::IP4, Link::IP6]);
        let kind = match rng.below(10) {
            0..=2 => {
                let port = rng.below(PORTS);
                PathKind::Neighbor { sw_if: self.rig.ports[port], nexthop: neighbor(of, port) }
            }
            3 => PathKind::Fixed(AdjIndex::DROP),
            4 => PathKind::Lookup(TableRef { link, index: self.seven[link.at()] }),
            _ => PathKind::Recursive {
                table: self.table(of, rng).index,
                nexthop: host(of, rng.below(NETWORKS.into()) as u8),
            },
        };
        Path { weight: 1 + rng.below(3) as u8, ..Path::new(kind) }
    }

    fn change(&mut self, rng: &mut Rng) {
        let link = *rng.pick(&[Link::IP4, Link::IP6]);
        let at = (self.table(link, rng), rng.below(NETWORKS.into()) as u8, rng.one_in(2));
        let world = self.rig.world();
        if rng.one_in(12) {
            let port = self.rig.ports[rng.below(PORTS)];
            let up = self.model.down.remove(&port);
            if !up {
                self.model.down.insert(port);
            }
            return world.get::<Interfaces>().set_admin(&world, port, up).expect("set");
        }
        if rng.one_in(3) {
            return self.remove(at);
        }
        let mut paths: Vec<Path> = Vec::new();
        for _ in 0..1 + rng.below(3) {
            let path = self.path(link, rng);
            if paths.iter().all(|old| old.kind != path.kind) {
                paths.push(path);
            }
        }
        match link {
            Link::IP6 => set::<Ip6>(&self.rig.bench, at, &paths),
            _ => set::<Ip4>(&self.rig.bench, at, &paths),
        }
        self.model.routes.insert(at, paths);
    }

    fn remove(&mut self, at: At) {
        if self.model.routes.remove(&at).is_some() {
            match at.0.link {
                Link::IP6 => set::<Ip6>(&self.rig.bench, at, &[]),
                _ => set::<Ip4>(&self.rig.bench, at, &[]),
            }
        }
    }

    fn check(&self, seed: u64) {
        for link in [Link::IP4, Link::IP6] {
            for index in [TableIndex::DEFAULT, self.seven[link.at()]] {
                let table = TableRef { link, index };
                for i in 0..NETWORKS {
                    let paths = self.model.cover(table, i);
                    let want =
                        paths.map_or([End::None].into(), |paths| self.model.ends((link, paths)).0);
                    let got = match link {
                        Link::IP6 => found::<Ip6>(&self.rig.bench, index, host(link, i)),
                        _ => found::<Ip4>(&self.rig.bench, index, host(link, i)),
                    };
                    let routes = &self.model.routes;
                    assert_eq!(got, want, "seed {seed}: {} {table:?}\n{routes:#?}", host(link, i));
                }
            }
        }
    }

    /// Objects of the control side, and adjacencies.
    fn objects(&self) -> ([usize; 3], usize) {
        let world = self.rig.world();
        let usage = world.get::<RouteTables>().usage().map(|usage| usage.used);
        (usage, world.get::<Adjacencies>().list().len())
    }
}

/// Sets a route, or removes it without paths.
fn set<F: Net>(bench: &Bench, (table, i, is_host): At, paths: &[Path]) {
    let (world, fib) = (&bench.world, bench.world.get::<Fib<F>>());
    let address = if is_host { host(F::LINK, i) } else { network(F::LINK, i) };
    let address = F::of_ip(address).expect("of the protocol");
    let len = if is_host {
        F::BITS
    } else if F::IS_V6 {
        32
    } else {
        16
    };
    let prefix = Prefix::new(address, len).expect("a length").network();
    if paths.is_empty() {
        fib.remove(world, table.index, prefix, Source::Api, &[]).expect("removed");
    } else {
        fib.set(world, table.index, prefix, Source::Api, paths).expect("set");
    }
}

fn changes(seed: u64, n: usize) {
    let (mut instance, mut rng) = (Instance::new(), Rng::new(seed));
    let before = instance.objects();
    for i in 0..n {
        instance.change(&mut rng);
        if i % 4 == 0 {
            instance.check(seed);
        }
    }
    // All of it goes in another order than it came.
    while let Some(at) = {
        let all: Vec<At> = instance.model.routes.keys().copied().collect();
        (!all.is_empty()).then(|| *rng.pick(&all))
    } {
        instance.remove(at);
        instance.check(seed);
    }
    let world = instance.rig.world();
    for port in std::mem::take(&mut instance.model.down) {
        world.get::<Interfaces>().set_admin(&world, port, true).expect("set");
    }
    assert_eq!(instance.objects(), before, "seed {seed}: nothing is left");
}

#[test]
fn routes_of_both_protocols_lead_where_a_model_says() {
    (0..24).for_each(|seed| changes(seed, 120));
}

#[test]
#[ignore = "long: thousands of random changes, five minutes"]
fn long_routes_of_both_protocols_lead_where_a_model_says() {
    (1000..2000).for_each(|seed| changes(seed, 400));
}
