// SPDX-License-Identifier: Apache-2.0
//! Routes of one protocol that lead over routes or neighbours of the other.

use super::*;
use crate::NextHop;
use std::net::Ipv6Addr;

fn p6(text: &str) -> Prefix<Ipv6Addr> {
    text.parse().expect("a prefix")
}

fn ip6(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

#[suite::test]
fn next_hops_of_the_other_protocol_are_reached_by_its_routes() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let (a, b) = (up(&bench, "a"), up(&bench, "b"));
    let (four, six) = (world.get::<Fib<Ip4>>(), world.get::<Fib<Ip6>>());
    let t = TableIndex::DEFAULT;
    world.get::<Addresses<Ip4>>().add(world, a, p("10.0.0.1/24")).expect("added");
    let via4: IpAddr = ip("10.0.0.2").into();
    // IPv6 over a neighbour of IPv4, and IPv4 over that route.
    let neighbor = |sw_if| [Path::new(PathKind::Neighbor { sw_if, nexthop: via4 })];
    six.set(world, t, p6("2001:db8::1/128"), Source::Api, &neighbor(a)).expect("set");
    let nexthop: IpAddr = "2001:db8::1".parse().expect("an address");
    let over = [Path::new(PathKind::Recursive { table: t, nexthop })];
    four.set(world, t, p("20.0.0.0/8"), Source::Api, &over).expect("set");
    let at = |addr| ends(&bench, t, ip(addr)).into_iter().collect::<Vec<_>>();
    assert_eq!(at("20.0.0.1"), [End::Neighbor(a.0, via4)]);
    // The route follows the other one: to another interface, away, and back.
    six.set(world, t, p6("2001:db8::1/128"), Source::Api, &neighbor(b)).expect("set");
    assert_eq!(at("20.0.0.1"), [End::Neighbor(b.0, via4)]);
    world.get::<Interfaces>().set_admin(world, b, false).expect("down");
    assert_eq!(at("20.0.0.1"), [End::Unreach]);
    world.get::<Interfaces>().set_admin(world, b, true).expect("up");
    assert_eq!(at("20.0.0.1"), [End::Neighbor(b.0, via4)]);
    six.remove(world, t, p6("2001:db8::1/128"), Source::Api, &[]).expect("removed");
    assert_eq!(at("20.0.0.1"), [End::Unreach]);
    // In a connected network of the other protocol the next hop is a neighbour.
    let over = [Path::new(PathKind::Recursive { table: t, nexthop: via4 })];
    let route = six.set(world, t, p6("3001::/16"), Source::Api, &over).expect("set");
    let adj = world.get::<Adjacencies>();
    let leads = || {
        adj.info(six.route(t, p6("3001::/16")).expect("there").sources[0].adj).expect("there").adj
    };
    assert_eq!((leads().nexthop(), leads().link, leads().tx_if), (via4, crate::Link::IP6, a.0));
    assert_ne!(route, RouteIndex(0));
    // A route over that one crosses again, back to the neighbour.
    let back = [Path::new(PathKind::Recursive {
        table: t,
        nexthop: "3001::1".parse().expect("an address"),
    })];
    four.set(world, t, p("30.0.0.0/8"), Source::Api, &back).expect("set");
    assert_eq!(at("30.0.0.1"), [End::Neighbor(a.0, via4)]);
    four.remove(world, t, p("20.0.0.0/8"), Source::Api, &[]).expect("removed");
    four.remove(world, t, p("30.0.0.0/8"), Source::Api, &[]).expect("removed");
    six.remove(world, t, p6("3001::/16"), Source::Api, &[]).expect("removed");
}

/// Eighths of an address' packets that take each neighbour, load-balances behind load-balances
/// included.
fn shares(bench: &Bench, addr: Ipv4Addr) -> BTreeMap<IpAddr, usize> {
    let adjs = bench.world.get::<Adjacencies>();
    let mut reader = bench.world.qsbr.register();
    let turn = reader.turn();
    let adj =
        bench.world.get::<Fib<Ip4>>().adj(TableIndex::DEFAULT, addr, &turn).expect("the table");
    let (mut left, mut all) = (vec![(adj, 8)], BTreeMap::new());
    while let Some((index, share)) = left.pop() {
        let adj = adjs.get(index, &turn).expect("an adjacency");
        let buckets = adjs.buckets(adj, &turn);
        if adj.kind == AdjKind::LoadBalance {
            left.extend(buckets.iter().map(|bucket| (*bucket, share / buckets.len())));
        } else {
            *all.entry(adj.nexthop()).or_default() += share;
        }
    }
    all
}

#[suite::test]
fn weights_of_the_other_protocol_count() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let (four, six) = (world.get::<Fib<Ip4>>(), world.get::<Fib<Ip6>>());
    let t = TableIndex::DEFAULT;
    let via = |addr| Path::new(PathKind::Neighbor { sw_if: a, nexthop: ip6(addr).into() });
    let weighed = [Path { weight: 3, ..via("fd00::1") }, via("fd00::2")];
    six.set(world, t, p6("2001:db8:1::/48"), Source::Api, &weighed).expect("set");
    // Half of the packets take the route above, to both of its next hops.
    let half = [
        Path::new(PathKind::Recursive { table: t, nexthop: ip6("2001:db8:1::1").into() }),
        via("fd00::3"),
    ];
    six.set(world, t, p6("2001:db8:2::/48"), Source::Api, &half).expect("set");
    for (net, nexthop, want) in [
        ("20.0.0.0/8", "2001:db8:1::9", &[("fd00::1", 6), ("fd00::2", 2)][..]),
        ("21.0.0.0/8", "2001:db8:2::9", &[("fd00::1", 3), ("fd00::2", 1), ("fd00::3", 4)]),
    ] {
        let over = [Path::new(PathKind::Recursive { table: t, nexthop: ip6(nexthop).into() })];
        four.set(world, t, p(net), Source::Api, &over).expect("set");
        let want = want.iter().map(|(addr, n)| (ip6(addr).into(), *n)).collect();
        assert_eq!(shares(&bench, p(net).addr()), want, "{net}");
    }
}

/// Four paths from each of fifteen lists to the next make 2³⁰ paths in all; and a longer prefix
/// takes over a next hop.
#[suite::test]
fn many_levels_are_walked_once_each() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let (a, b) = (up(&bench, "a"), up(&bench, "b"));
    let (four, six) = (world.get::<Fib<Ip4>>(), world.get::<Fib<Ip6>>());
    let t = TableIndex::DEFAULT;
    let via = |sw_if| [Path::new(PathKind::Neighbor { sw_if, nexthop: ip6("fd00::1").into() })];
    six.set(world, t, p6("2001:db8:f::/48"), Source::Api, &via(a)).expect("set");
    for level in (0..15).rev() {
        let next = |n| ip6(&format!("2001:db8:{:x}::{n}", level + 1));
        let ways: Vec<_> = (1..5)
            .map(|n| Path::new(PathKind::Recursive { table: t, nexthop: next(n).into() }))
            .collect();
        six.set(world, t, p6(&format!("2001:db8:{level:x}::/48")), Source::Api, &ways)
            .expect("set");
    }
    let over = [Path::new(PathKind::Recursive { table: t, nexthop: ip6("2001:db8::1").into() })];
    four.set(world, t, p("20.0.0.0/8"), Source::Api, &over).expect("set");
    let hop = |sw_if: SwIfIndex| End::Neighbor(sw_if.0, ip6("fd00::1").into());
    assert_eq!(ends(&bench, t, ip("20.0.0.1")), [hop(a)].into());
    six.set(world, t, p6("2001:db8:f::2/128"), Source::Api, &via(b)).expect("set");
    assert_eq!(ends(&bench, t, ip("20.0.0.1")), [hop(a), hop(b)].into());
    six.set(world, t, p6("2001:db8::1/128"), Source::Api, &via(b)).expect("set");
    assert_eq!(ends(&bench, t, ip("20.0.0.1")), [hop(b)].into());
    six.remove(world, t, p6("2001:db8::1/128"), Source::Api, &[]).expect("removed");
    assert_eq!(ends(&bench, t, ip("20.0.0.1")), [hop(a), hop(b)].into());
}

#[suite::test]
fn a_neighbour_of_the_other_protocol_is_a_next_hop() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let (four, six) = (world.get::<Fib<Ip4>>(), world.get::<Fib<Ip6>>());
    let t = TableIndex::DEFAULT;
    let (v4, v6) = (
        NextHop { sw_if: a, ip: ip("10.0.0.2").into() },
        NextHop { sw_if: a, ip: ip6("fd00::2").into() },
    );
    four.set(
        world,
        t,
        p("20.0.0.0/8"),
        Source::Api,
        &[Path::new(PathKind::Neighbor { sw_if: a, nexthop: v6.ip })],
    )
    .expect("set");
    six.set(
        world,
        t,
        p6("3001::/16"),
        Source::Api,
        &[Path::new(PathKind::Neighbor { sw_if: a, nexthop: v4.ip })],
    )
    .expect("set");
    assert!(four.leads_by(v6) && six.leads_by(v4));
    assert!(!four.leads_by(v4) && !six.leads_by(v6));
    four.remove(world, t, p("20.0.0.0/8"), Source::Api, &[]).expect("removed");
    assert!(!four.leads_by(v6));
}

#[suite::test]
fn constraints_hold_for_routes_of_the_other_protocol() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let (four, six) = (world.get::<Fib<Ip4>>(), world.get::<Fib<Ip6>>());
    let t = TableIndex::DEFAULT;
    let nexthop: IpAddr = ip6("2001:db8::1").into();
    let path = Path::new(PathKind::Recursive { table: t, nexthop });
    let over = |resolve_via| {
        let paths = [Path { resolve_via, ..path }];
        four.set(world, t, p("20.0.0.0/8"), Source::Api, &paths).expect("set");
        ends(&bench, t, ip("20.0.0.1")).into_iter().collect::<Vec<_>>()
    };
    let hop: IpAddr = ip6("fd00::1").into();
    let via = [Path::new(PathKind::Neighbor { sw_if: a, nexthop: hop })];
    six.set(world, t, p6("2001:db8::/32"), Source::Api, &via).expect("set");
    assert_eq!(over(ResolveVia::Any), [End::Neighbor(a.0, hop)]);
    assert_eq!(over(ResolveVia::Host), [End::Unreach]);
    assert_eq!(over(ResolveVia::Attached), [End::Unreach]);
    six.set(world, t, p6("2001:db8::1/128"), Source::Api, &via).expect("set");
    assert_eq!(over(ResolveVia::Host), [End::Neighbor(a.0, hop)]);
    six.remove(world, t, p6("2001:db8::1/128"), Source::Api, &[]).expect("removed");
    world.get::<Addresses<Ip6>>().add(world, a, p6("2001:db8::9/64")).expect("added");
    assert_eq!(over(ResolveVia::Attached), [End::Neighbor(a.0, nexthop)]);
}

/// Routes of both protocols that lead to each other are found to do so, and leave nothing behind.
#[suite::test]
fn routes_of_two_protocols_in_a_circle_drop_packets() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let (four, six) = (world.get::<Fib<Ip4>>(), world.get::<Fib<Ip6>>());
    let t = TableIndex::DEFAULT;
    let usage = || world.get::<RouteTables>().usage().map(|usage| usage.used);
    let before = usage();
    let over = |nexthop: IpAddr| [Path::new(PathKind::Recursive { table: t, nexthop })];
    let (to4, to6) = (over(ip("10.0.0.1").into()), over(ip6("2001:db8::1").into()));
    four.set(world, t, p("10.0.0.0/8"), Source::Api, &to6).expect("set");
    six.set(world, t, p6("2001:db8::/32"), Source::Api, &to4).expect("set");
    let state = || {
        let route = four.route(t, p("10.0.0.0/8")).expect("there");
        (route.sources[0].states.clone(), ends(&bench, t, ip("10.0.0.1")))
    };
    assert_eq!(state(), (vec![PathState::Looped], [End::Unreach].into()));
    // A longer prefix of either opens the circle, and its removal closes it again.
    let hop: IpAddr = ip6("fd00::1").into();
    let via = [Path::new(PathKind::Neighbor { sw_if: a, nexthop: hop })];
    six.set(world, t, p6("2001:db8::1/128"), Source::Api, &via).expect("set");
    assert_eq!(state(), (vec![PathState::Resolved], [End::Neighbor(a.0, hop)].into()));
    six.remove(world, t, p6("2001:db8::1/128"), Source::Api, &[]).expect("removed");
    assert_eq!(state(), (vec![PathState::Looped], [End::Unreach].into()));
    // IPv6 over two routes of IPv4 that lead to each other.
    four.set(world, t, p("10.0.0.0/8"), Source::Api, &over(ip("11.0.0.1").into())).expect("set");
    four.set(world, t, p("11.0.0.0/8"), Source::Api, &to4).expect("set");
    six.set(world, t, p6("2001:db8::/32"), Source::Api, &over(ip("11.0.0.1").into())).expect("set");
    six.remove(world, t, p6("2001:db8::/32"), Source::Api, &[]).expect("removed");
    four.remove(world, t, p("10.0.0.0/8"), Source::Api, &[]).expect("removed");
    four.remove(world, t, p("11.0.0.0/8"), Source::Api, &[]).expect("removed");
    assert_eq!(usage(), before, "nothing is left");
}
