// SPDX-License-Identifier: Apache-2.0
mod addresses;
mod convergence;
mod cross_family;
mod follows;
mod memory;
mod neighbors;
mod nexthops;
mod sources;
mod tables;
mod verbs;

use super::list::distinct;
use super::*;
use crate::tests::{STATEFUL, add};
use crate::{
    Addresses, AdjIndex, AdjKind, Adjacencies, IfFlags, Interfaces, IpBinding, Neighbor, Neighbors,
};
use graph::SwIfIndex;
use graph::drive::Bench;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use wire::{Ip4, Ip4Prefix, Ip6, MacAddr, Prefix};

type Kind = PathKind;

/// The final result for packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum End {
    Neighbor(u32, IpAddr),
    Glean(u32),
    Receive,
    Table(u32),
    Drop,
    NoRoute,
    Unreach,
}

fn p(text: &str) -> Ip4Prefix {
    text.parse().expect("a prefix")
}

fn ip(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

/// Looks up the results that workers would find for packets to an address, all buckets together.
fn ends(bench: &Bench, table: TableIndex, addr: Ipv4Addr) -> BTreeSet<End> {
    let fib = bench.world.get::<Fib<Ip4>>();
    let adjs = bench.world.get::<Adjacencies>();
    let mut reader = bench.world.qsbr.register();
    let turn = reader.turn();
    let adj = fib.adj(table, addr, &turn).expect("the table");
    let (mut left, mut ends) = (vec![adj], BTreeSet::new());
    while let Some(index) = left.pop() {
        let adj = adjs.get(index, &turn).expect("an adjacency");
        ends.insert(match adj.kind {
            AdjKind::Rewrite | AdjKind::Incomplete => End::Neighbor(adj.tx_if, adj.nexthop()),
            AdjKind::Glean => End::Glean(adj.tx_if),
            AdjKind::Receive => End::Receive,
            AdjKind::Lookup => End::Table(adj.table),
            AdjKind::NoRoute => End::NoRoute,
            AdjKind::Unreach => End::Unreach,
            AdjKind::LoadBalance => {
                left.extend(adjs.buckets(adj, &turn));
                continue;
            }
            _ => End::Drop,
        });
    }
    ends
}

fn up(bench: &Bench, name: &str) -> SwIfIndex {
    let sw_if = add(bench, name).expect("added");
    bench.world.get::<Interfaces>().set_admin(&bench.world, sw_if, true).expect("up");
    sw_if
}

#[suite::test]
fn an_address_brings_its_routes_and_takes_them_along() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let (a, b) = (up(&bench, "a"), up(&bench, "b"));
    let addresses = world.get::<Addresses<Ip4>>();
    let at = |addr| ends(&bench, TableIndex::DEFAULT, ip(addr)).into_iter().collect::<Vec<_>>();
    let fib = world.get::<Fib<Ip4>>();
    let before = fib.list_tables()[0].routes;
    addresses.add(world, a, p("10.0.0.1/24")).expect("added");
    addresses.add(world, a, p("10.0.0.5/24")).expect("a second of the same network");
    assert_eq!(at("10.0.0.1"), [End::Receive]);
    assert_eq!(at("10.0.0.2"), [End::Glean(a.0)]);
    assert_eq!((at("10.0.0.255"), at("10.0.0.0")), (vec![End::Drop], vec![End::Drop]));
    assert_eq!((at("10.0.1.1"), at("255.255.255.255")), (vec![End::NoRoute], vec![End::Receive]));
    assert_eq!((at("127.0.0.1"), at("240.0.0.1")), (vec![End::Drop], vec![End::Drop]));
    // A client may add any address.
    for odd in ["12.0.0.0/24", "13.0.0.255/24", "224.0.0.1/4", "127.0.0.1/8", "0.0.0.1/8"] {
        addresses.add(world, b, p(odd)).expect(odd);
    }
    assert_eq!((at("12.0.0.0"), at("13.0.0.255")), (vec![End::Receive], vec![End::Receive]));
    assert_eq!((at("127.0.0.1"), at("127.0.0.2")), (vec![End::Receive], vec![End::Glean(b.0)]));
    addresses.clear(world, b).expect("cleared");
    assert_eq!((at("127.0.0.1"), at("12.0.0.0")), (vec![End::Drop], vec![End::NoRoute]));
    assert_eq!(addresses.add(world, b, p("1.2.3.4/0")).expect_err("no network").code(), -59);
    for bad in ["10.0.0.1/32", "10.0.0.9/32", "10.1.0.1/8"] {
        let error = addresses.add(world, b, p(bad)).expect_err(bad);
        assert!(error.to_string().contains('a'), "{error}");
    }
    assert!(addresses.add(world, SwIfIndex(0), p("1.1.1.1/32")).is_err());
    addresses.add(world, b, p("10.0.2.0/31")).expect("a network of two has no broadcast address");
    assert_eq!(
        at("10.0.2.1"),
        [End::Neighbor(b.0, ip("10.0.2.1").into())],
        "the other of two is a neighbour"
    );
    assert!(fib.route(TableIndex::DEFAULT, p("10.0.2.0/31")).is_none());
    // While the interface is down, nothing is reachable by it, and its addresses aren't ours.
    world.get::<Interfaces>().set_admin(world, b, false).expect("down");
    assert_eq!((at("10.0.2.0"), at("10.0.2.1")), (vec![End::NoRoute], vec![End::NoRoute]));
    world.get::<Interfaces>().set_admin(world, b, true).expect("up");
    assert_eq!(at("10.0.2.0"), [End::Receive]);
    assert_eq!(addresses.owner(TableIndex::DEFAULT, ip("10.0.0.5")), Some(a));
    let ip = IpBinding::of(world, a);
    assert_eq!((ip.is_enabled::<Ip4>(), ip.is_enabled::<Ip6>()), (true, false));
    addresses.remove(world, a, p("10.0.0.1/24")).expect("removed");
    assert_eq!((at("10.0.0.1"), at("10.0.0.255")), (vec![End::Glean(a.0)], vec![End::Drop]));
    assert_eq!(addresses.remove(world, a, p("10.0.0.1/24")).expect_err("gone").code(), -60);
    world.get::<Interfaces>().delete(world, a).expect("deleted");
    assert_eq!(at("10.0.0.5"), [End::NoRoute]);
    addresses.clear(world, b).expect("cleared");
    assert_eq!(fib.list_tables()[0].routes, before);
    assert!(!IpBinding::of(world, b).is_enabled::<Ip4>());
    let mut reader = world.qsbr.register();
    let turn = reader.turn();
    assert!(
        !world
            .get::<Interfaces>()
            .views(&turn)
            .get(b.at())
            .expect("there")
            .flags
            .contains(IfFlags::IP4)
    );
    assert!(addresses.of(b.0, &turn).is_empty());
}

#[suite::test]
fn a_neighbour_gets_a_host_route_only_in_a_connected_network() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let neighbors = world.get::<Neighbors>();
    let addresses = world.get::<Addresses<Ip4>>();
    let at = |addr| ends(&bench, TableIndex::DEFAULT, ip(addr)).into_iter().collect::<Vec<_>>();
    world.get::<Fib<Ip4>>();
    let mac = MacAddr([2, 0, 0, 0, 0, 9]);
    let fixed = |addr: &str| Neighbor { is_static: true, ..Neighbor::new(a, ip(addr).into(), mac) };
    neighbors.set(world, fixed("10.0.0.2")).expect("set");
    neighbors.set(world, fixed("20.0.0.2")).expect("set");
    assert_eq!(at("10.0.0.2"), [End::NoRoute]);
    addresses.add(world, a, p("10.0.0.1/24")).expect("added");
    assert_eq!(at("10.0.0.2"), [End::Neighbor(a.0, ip("10.0.0.2").into())]);
    assert_eq!(at("20.0.0.2"), [End::NoRoute]);
    neighbors.remove(world, a, ip("10.0.0.2").into()).expect("removed");
    assert_eq!(at("10.0.0.2"), [End::Glean(a.0)]);
    neighbors.set(world, fixed("10.0.0.3")).expect("set");
    addresses.clear(world, a).expect("cleared");
    assert_eq!(at("10.0.0.3"), [End::NoRoute]);
}

#[suite::test]
fn sources_paths_and_preferences() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let (a, b) = (up(&bench, "a"), up(&bench, "b"));
    let fib = world.get::<Fib<Ip4>>();
    let ifs = world.get::<Interfaces>();
    let t = TableIndex::DEFAULT;
    let via = |sw_if, text| Path::new(Kind::Neighbor { sw_if, nexthop: ip(text).into() });
    let at = |addr| ends(&bench, t, ip(addr)).into_iter().collect::<Vec<_>>();
    let (x, y) = (via(a, "1.0.0.1"), via(b, "1.0.1.1"));
    let (ex, ey) =
        (End::Neighbor(a.0, ip("1.0.0.1").into()), End::Neighbor(b.0, ip("1.0.1.1").into()));
    let dst = p("9.9.9.9/8");
    fib.add(world, t, dst, Source::Cli, &[x]).expect("added");
    fib.add(world, t, dst, Source::Cli, &[y]).expect("added");
    assert_eq!(at("9.0.0.1"), [ex, ey]);
    fib.set(world, t, dst, Source::Api, &[y]).expect("set");
    assert_eq!(at("9.0.0.1"), [ey], "the API's word counts more than the operator's");
    let info = fib.route(t, dst).expect("there");
    assert_eq!(info.prefix, p("9.0.0.0/8"));
    assert_eq!(
        info.sources.iter().map(|s| s.source).collect::<Vec<_>>(),
        [Source::Api, Source::Cli]
    );
    assert_eq!(fib.remove(world, t, dst, Source::Api, &[x]).expect_err("no such path").code(), -6);
    fib.remove(world, t, dst, Source::Api, &[y]).expect("removed");
    // A path with a worse preference is unused until the better paths are down.
    fib.add(world, t, dst, Source::Cli, &[Path { preference: 1, ..y }]).expect("changed");
    assert_eq!(at("9.0.0.1"), [ex]);
    ifs.set_admin(world, a, false).expect("down");
    assert_eq!(at("9.0.0.1"), [ey]);
    ifs.set_link(world, b, false).expect("down");
    assert_eq!(at("9.0.0.1"), [End::Unreach]);
    ifs.set_admin(world, a, true).expect("up");
    assert_eq!(at("9.0.0.1"), [ex]);
    // Deleting an interface removes its paths.
    ifs.delete(world, a).expect("deleted");
    assert_eq!(at("9.0.0.1"), [End::Unreach]);
    ifs.delete(world, b).expect("deleted");
    assert_eq!(at("9.0.0.1"), [End::NoRoute]);
    assert_eq!(fib.set(world, t, dst, Source::Cli, &[x]).expect_err("gone").code(), -2);
    let bad = Path::new(Kind::Recursive { table: t, nexthop: ip("224.0.0.1").into() });
    assert_eq!(fib.set(world, t, dst, Source::Cli, &[bad]).expect_err("a group").code(), -7);
    assert!(fib.set(world, t, dst, Source::Cli, &[]).is_err());
    fib.set(world, t, p("240.0.0.0/4"), Source::Cli, &[Path::new(Kind::Fixed(AdjIndex::PUNT))])
        .expect("set");
    assert_eq!(at("250.0.0.1"), [End::Drop], "special entries can't be overridden");
}

#[suite::test]
fn routes_share_one_list_and_let_go_of_everything() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let fib = world.get::<Fib<Ip4>>();
    let adjs = world.get::<Adjacencies>();
    let t = TableIndex::DEFAULT;
    // The other protocol's first table has adjacencies of its own.
    world.get::<Fib<Ip6>>();
    let before = adjs.list().len();
    let via = [Path::new(Kind::Neighbor { sw_if: a, nexthop: ip("1.0.0.1").into() })];
    let far = [
        Path::new(Kind::Recursive { table: t, nexthop: ip("9.0.5.5").into() }),
        Path::new(Kind::Fixed(AdjIndex::DROP)),
    ];
    let nets: Vec<Ip4Prefix> = (0..100).map(|i| p(&format!("9.0.{i}.0/24"))).collect();
    for net in &nets {
        fib.set(world, t, *net, Source::Cli, &via).expect("set");
    }
    fib.set(world, t, p("8.0.0.0/8"), Source::Cli, &far).expect("set");
    assert_eq!(fib.route(t, nets[7]).expect("there").sources[0].shared, 100);
    // The neighbour, the alias of the list, the via adjacency that follows it, a load-balance, the
    // alias of its list.
    assert_eq!(adjs.list().len(), before + 5);
    nets.iter().for_each(|net| fib.remove(world, t, *net, Source::Cli, &[]).expect("removed"));
    assert_eq!(ends(&bench, t, ip("8.0.0.1")), [End::Drop].into());
    fib.remove(world, t, p("8.0.0.0/8"), Source::Cli, &[]).expect("removed");
    assert_eq!(adjs.list().len(), before);
}

/// A reference model by the definition: no sharing, no state kept between lookups.
#[derive(Default)]
struct Oracle {
    routes: BTreeMap<Ip4Prefix, Vec<Path>>,
    up: BTreeMap<SwIfIndex, bool>,
}

impl Oracle {
    fn cover(&self, addr: Ipv4Addr) -> Option<&Vec<Path>> {
        self.routes
            .iter()
            .filter(|(p, _)| p.contains(addr))
            .max_by_key(|(p, _)| p.len())
            .map(|(_, l)| l)
    }

    /// Returns true if following `from` leads to `to`.
    fn leads_to(&self, from: &Vec<Path>, to: &Vec<Path>, depth: usize) -> bool {
        from == to
            || depth < 12
                && from.iter().any(|path| match path.kind {
                    Kind::Recursive { nexthop: IpAddr::V4(nexthop), .. } => {
                        self.cover(nexthop).is_some_and(|next| self.leads_to(next, to, depth + 1))
                    }
                    _ => false,
                })
    }

    /// The results of a list, and whether recursive paths may follow it (if it is attached, the
    /// result names the interface).
    fn list(&self, list: &Vec<Path>) -> (BTreeSet<End>, bool) {
        let mut all = Vec::new();
        for path in list {
            let found = match path.kind {
                Kind::Attached { sw_if, .. } if self.up[&sw_if] => {
                    Some(([End::Glean(sw_if.0)].into(), true))
                }
                Kind::Neighbor { sw_if, nexthop } if self.up[&sw_if] => {
                    Some(([End::Neighbor(sw_if.0, nexthop)].into(), true))
                }
                Kind::Fixed(_) => Some(([End::Drop].into(), false)),
                Kind::Recursive { nexthop: IpAddr::V4(nexthop), .. } => {
                    self.cover(nexthop).and_then(|next| {
                        if self.leads_to(next, list, 0) {
                            return None;
                        }
                        let (ends, usable) = self.list(next);
                        let near = ends.iter().map(|end| match end {
                            End::Glean(sw_if) if ends.len() == 1 => {
                                End::Neighbor(*sw_if, nexthop.into())
                            }
                            end => *end,
                        });
                        usable.then(|| (near.collect(), true))
                    })
                }
                _ => None,
            };
            all.extend(
                found.map(|(ends, usable): (BTreeSet<End>, bool)| (path.preference, ends, usable)),
            );
        }
        let Some(best) = all.iter().map(|(preference, ..)| *preference).min() else {
            return ([End::Unreach].into(), false);
        };
        all.retain(|(preference, ..)| *preference == best);
        let usable = all.iter().any(|(.., usable)| *usable);
        (all.into_iter().flat_map(|(_, ends, _)| ends).collect(), usable)
    }
}

#[derive(Clone, Debug)]
enum Op {
    Set(Ip4Prefix, Vec<Path>),
    AddAll(Vec<(Ip4Prefix, Vec<Path>)>),
    Remove(Ip4Prefix),
    Up(SwIfIndex, bool),
}

const NEXT_HOPS: [[u8; 4]; 6] =
    [[10, 0, 0, 1], [10, 0, 1, 1], [10, 1, 0, 1], [20, 0, 0, 1], [20, 0, 0, 2], [30, 0, 0, 1]];

fn prefixes() -> impl Strategy<Value = Ip4Prefix> {
    (prop::sample::select(&NEXT_HOPS[..]), prop::sample::select(&[8u8, 16, 24, 32][..]))
        .prop_map(|(addr, len)| Prefix::new(Ipv4Addr::from(addr), len).expect("a length").network())
}

fn paths() -> impl Strategy<Value = Vec<Path>> {
    let sw_if = || prop::sample::select(&[SwIfIndex(1), SwIfIndex(2)][..]);
    let nexthop = || prop::sample::select(&NEXT_HOPS[..]).prop_map(Ipv4Addr::from);
    let kind = prop_oneof![
        4 => nexthop().prop_map(|nexthop| Kind::Recursive { table: TableIndex::DEFAULT, nexthop: nexthop.into() }),
        2 => (sw_if(), nexthop()).prop_map(|(sw_if, nexthop)| Kind::Neighbor { sw_if, nexthop: nexthop.into() }),
        1 => sw_if().prop_map(|sw_if| Kind::Attached { sw_if, address: Ipv4Addr::UNSPECIFIED.into() }),
        1 => Just(Kind::Fixed(AdjIndex::DROP)),
    ];
    let path = (kind, 0u8..2, 1u8..4).prop_map(|(kind, preference, weight)| Path {
        weight,
        preference,
        ..Path::new(kind)
    });
    prop::collection::vec(path, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// Random changes, with interfaces going down and circular routes: lookups agree with the
    /// reference model.
    #[suite::test]
    fn as_the_definition_says(ops in prop::collection::vec(prop_oneof![
        6 => (prefixes(), paths()).prop_map(|(p, l)| Op::Set(p, l)),
        2 => (prop::collection::vec((prefixes(), paths()), 0..6), any::<bool>()).prop_map(|(mut all, sorted)| {
            if sorted {
                all.sort_by_key(|(prefix, _)| *prefix);
            }
            Op::AddAll(all)
        }),
        2 => prefixes().prop_map(Op::Remove),
        1 => (prop::sample::select(&[SwIfIndex(1), SwIfIndex(2)][..]), any::<bool>()).prop_map(|(i, up)| Op::Up(i, up)),
    ], 1..30)) {
        let bench = Bench::new(STATEFUL);
        let world = &bench.world;
        let mut oracle = Oracle::default();
        for name in ["a", "b"] {
            oracle.up.insert(up(&bench, name), true);
        }
        let fib = world.get::<Fib<Ip4>>();
        let adjs = world.get::<Adjacencies>();
        world.get::<Fib<Ip6>>();
        let before = adjs.list().len();
        let t = TableIndex::DEFAULT;
        for op in ops {
            match op {
                Op::Set(prefix, list) => {
                    fib.set(world, t, prefix, Source::Cli, &list).expect("set");
                    oracle.routes.insert(prefix, distinct(&list).into_owned());
                }
                Op::AddAll(mut all) => {
                    // The reference model is slow with many paths.
                    let mut paths = BTreeMap::new();
                    all.retain(|(prefix, list)| {
                        let there = || oracle.routes.get(prefix).map_or(0, Vec::len);
                        let n = paths.entry(*prefix).or_insert_with(there);
                        let few = *n + list.len() <= 4;
                        *n += if few { list.len() } else { 0 };
                        few
                    });
                    let (n, result) = fib.add_all(world, t, Source::Cli, all.iter().map(|(p, l)| (*p, &l[..])));
                    prop_assert!(n == all.len() && result.is_ok(), "{} {:?}", n, result);
                    for (prefix, list) in all {
                        let Some(there) = oracle.routes.get_mut(&prefix) else {
                            oracle.routes.insert(prefix, distinct(&list).into_owned());
                            continue;
                        };
                        for path in list {
                            match there.iter_mut().find(|old| old.kind == path.kind) {
                                Some(old) => *old = path,
                                None => there.push(path),
                            }
                        }
                    }
                }
                Op::Remove(prefix) => {
                    let had = oracle.routes.remove(&prefix).is_some();
                    prop_assert_eq!(fib.remove(world, t, prefix, Source::Cli, &[]).is_ok(), had);
                }
                Op::Up(sw_if, up) => {
                    world.get::<Interfaces>().set_admin(world, sw_if, up).expect("there");
                    oracle.up.insert(sw_if, up);
                }
            }
            for addr in NEXT_HOPS.map(Ipv4Addr::from) {
                let want = oracle.cover(addr).map_or([End::NoRoute].into(), |list| oracle.list(list).0);
                prop_assert_eq!(ends(&bench, t, addr), want, "{}", addr);
            }
        }
        for prefix in oracle.routes.keys() {
            fib.remove(world, t, *prefix, Source::Cli, &[]).expect("there");
        }
        prop_assert_eq!(adjs.list().len(), before, "adjacencies are left over");
    }
}
