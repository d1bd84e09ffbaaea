// SPDX-License-Identifier: Apache-2.0
//! Routes of one protocol that lead over routes or neighbours of the other.

use super::*;
use crate::NextHop;
use std::net::Ipv6Addr;

type Kind6 = PathKind<Ipv6Addr>;

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
    let neighbor = |sw_if| [Path::new(Kind6::Neighbor { sw_if, nexthop: via4 })];
    six.set(world, t, p6("2001:db8::1/128"), Source::Api, &neighbor(a)).expect("set");
    let nexthop: IpAddr = "2001:db8::1".parse().expect("an address");
    let over = [Path::new(Kind::RecursiveOther { table: t, nexthop })];
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
    let over = [Path::new(Kind6::RecursiveOther { table: t, nexthop: via4 })];
    let route = six.set(world, t, p6("3001::/16"), Source::Api, &over).expect("set");
    let adj = world.get::<Adjacencies>();
    let leads = || {
        adj.info(six.route(t, p6("3001::/16")).expect("there").sources[0].adj).expect("there").adj
    };
    assert_eq!((leads().nexthop(), leads().link, leads().tx_if), (via4, crate::Link::Ip6, a.0));
    assert_ne!(route, RouteIndex(0));
    // A route that crosses can't be followed across again, so there are no circles.
    let circle = [Path::new(Kind::RecursiveOther {
        table: t,
        nexthop: "3001::1".parse().expect("an address"),
    })];
    four.set(world, t, p("30.0.0.0/8"), Source::Api, &circle).expect("set");
    assert_eq!(at("30.0.0.1"), [End::Unreach]);
    four.remove(world, t, p("20.0.0.0/8"), Source::Api, &[]).expect("removed");
    four.remove(world, t, p("30.0.0.0/8"), Source::Api, &[]).expect("removed");
    six.remove(world, t, p6("3001::/16"), Source::Api, &[]).expect("removed");
}

/// Number of a load-balance's buckets that lead to each neighbour.
fn buckets(bench: &Bench, addr: Ipv4Addr) -> BTreeMap<IpAddr, usize> {
    let adjs = bench.world.get::<Adjacencies>();
    let mut reader = bench.world.qsbr.register();
    let turn = reader.turn();
    let adj =
        bench.world.get::<Fib<Ip4>>().adj(TableIndex::DEFAULT, addr, &turn).expect("the table");
    let adj = adjs.get(adj, &turn).expect("an adjacency");
    let mut all = BTreeMap::new();
    for &bucket in adjs.buckets(adj, &turn) {
        *all.entry(adjs.get(bucket, &turn).expect("an adjacency").nexthop()).or_default() += 1;
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
    let via = |addr| Path::new(Kind6::Neighbor { sw_if: a, nexthop: ip6(addr).into() });
    let weighed = [Path { weight: 3, ..via("fd00::1") }, via("fd00::2")];
    six.set(world, t, p6("2001:db8:1::/48"), Source::Api, &weighed).expect("set");
    // Half of the packets take the route above, to both of its next hops.
    let half =
        [Path::new(Kind6::Recursive { table: t, nexthop: ip6("2001:db8:1::1") }), via("fd00::3")];
    six.set(world, t, p6("2001:db8:2::/48"), Source::Api, &half).expect("set");
    for (net, nexthop, want) in [
        ("20.0.0.0/8", "2001:db8:1::9", &[("fd00::1", 3), ("fd00::2", 1)][..]),
        ("21.0.0.0/8", "2001:db8:2::9", &[("fd00::1", 3), ("fd00::2", 1), ("fd00::3", 4)]),
    ] {
        let over = [Path::new(Kind::RecursiveOther { table: t, nexthop: ip6(nexthop).into() })];
        four.set(world, t, p(net), Source::Api, &over).expect("set");
        let want = want.iter().map(|(addr, n)| (ip6(addr).into(), *n)).collect();
        assert_eq!(buckets(&bench, p(net).addr()), want, "{net}");
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
    let via = |sw_if| [Path::new(Kind6::Neighbor { sw_if, nexthop: ip6("fd00::1").into() })];
    six.set(world, t, p6("2001:db8:f::/48"), Source::Api, &via(a)).expect("set");
    for level in (0..15).rev() {
        let next = |n| ip6(&format!("2001:db8:{:x}::{n}", level + 1));
        let ways: Vec<_> =
            (1..5).map(|n| Path::new(Kind6::Recursive { table: t, nexthop: next(n) })).collect();
        six.set(world, t, p6(&format!("2001:db8:{level:x}::/48")), Source::Api, &ways)
            .expect("set");
    }
    let over = [Path::new(Kind::RecursiveOther { table: t, nexthop: ip6("2001:db8::1").into() })];
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
        &[Path::new(Kind::Neighbor { sw_if: a, nexthop: v6.ip })],
    )
    .expect("set");
    six.set(
        world,
        t,
        p6("3001::/16"),
        Source::Api,
        &[Path::new(Kind6::Neighbor { sw_if: a, nexthop: v4.ip })],
    )
    .expect("set");
    assert!(four.leads_by(v6) && six.leads_by(v4));
    assert!(!four.leads_by(v4) && !six.leads_by(v6));
    four.remove(world, t, p("20.0.0.0/8"), Source::Api, &[]).expect("removed");
    assert!(!four.leads_by(v6));
}

#[suite::test]
fn a_choice_of_routes_of_the_other_protocol_is_refused() {
    let bench = Bench::new(STATEFUL);
    let t = TableIndex::DEFAULT;
    let path = Path::new(Kind::RecursiveOther { table: t, nexthop: ip6("2001:db8::1").into() });
    for resolve_via in [ResolveVia::Host, ResolveVia::Attached] {
        let fib = bench.world.get::<Fib<Ip4>>();
        let error =
            fib.set(&bench.world, t, p("20.0.0.0/8"), Source::Api, &[Path { resolve_via, ..path }]);
        assert_eq!(error.expect_err("refused").code(), -9);
    }
}
