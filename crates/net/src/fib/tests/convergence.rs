// SPDX-License-Identifier: Apache-2.0
//! The cost of a change, and next hops of the other protocol.

use super::*;
use crate::Link;
use wire::EtherType;

/// Number of adjacency writes for a change that moves ten routes, and a million.
#[suite::test]
fn a_million_recursive_routes_move_by_as_few_stores_as_ten() {
    let stores = [10, 1_000_000].map(|n: u32| {
        let bench = Bench::new(STATEFUL);
        let world = &bench.world;
        let (a, b) = (up(&bench, "a"), up(&bench, "b"));
        let (fib, adjs) = (world.get::<Fib<Ip4>>(), world.get::<Adjacencies>());
        let t = TableIndex::DEFAULT;
        let via = |sw_if, text| Path::new(Kind::Neighbor { sw_if, nexthop: ip(text).into() });
        // Two paths to the common next hop, the second as a backup of the first.
        let near = [via(a, "10.0.0.1"), Path { preference: 1, ..via(b, "10.0.1.1") }];
        fib.set(world, t, p("9.9.9.9/32"), Source::Cli, &near).expect("set");
        let far = [Path::new(Kind::Recursive { table: t, nexthop: ip("9.9.9.9").into() })];
        let host = |i: u32| Ipv4Addr::from_bits(0x1400_0000 + i);
        for i in 0..n {
            fib.set(world, t, Prefix::host(host(i)), Source::Api, &far).expect("set");
        }
        let all_go_to =
            |end: End| (0..n).step_by(997).all(|i| ends(&bench, t, host(i)) == [end].into());
        assert!(all_go_to(End::Neighbor(a.0, ip("10.0.0.1").into())));
        let before = adjs.stores();
        world.get::<Interfaces>().set_link(world, a, false).expect("down");
        let down = adjs.stores() - before;
        assert!(all_go_to(End::Neighbor(b.0, ip("10.0.1.1").into())));
        fib.set(world, t, p("9.9.9.9/32"), Source::Cli, &near[1..]).expect("set");
        let other = adjs.stores() - before - down;
        assert_eq!(
            fib.route(t, Prefix::host(host(7))).expect("there").sources[0].shared,
            n as usize
        );
        (down, other)
    });
    assert_eq!(stores[0], stores[1]);
    assert!(stores[0].0 <= 4, "{stores:?}");
    println!(
        "stores for a link that goes down, for another way of the route that all follow: {:?}",
        stores[0]
    );
}

/// A link with 500 known neighbours fails: routes have moved before the first neighbour is removed,
/// and the list that most routes follow has moved first.
#[suite::test]
fn routes_turn_before_neighbours_are_forgotten() {
    const NEIGHBORS: u32 = 500;
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    // As the daemon's plugins do: neighbours before routes.
    let neighbors = world.get::<Neighbors>();
    let (a, b) = (up(&bench, "a"), up(&bench, "b"));
    let (fib, adjs, addresses) =
        (world.get::<Fib<Ip4>>(), world.get::<Adjacencies>(), world.get::<Addresses<Ip4>>());
    let t = TableIndex::DEFAULT;
    for (sw_if, net) in [(a, "10.0.0.1/16"), (b, "10.1.0.1/16")] {
        addresses.add(world, sw_if, p(net)).expect("added");
    }
    let hop = |net: u32, i: u32| Ipv4Addr::from_bits(0x0a00_0002 + (net << 16) + i);
    let via = |sw_if, hop: Ipv4Addr| Path::new(Kind::Neighbor { sw_if, nexthop: hop.into() });
    // Some routes have a pair of next hops of their own; the common next hop of all others is made
    // last.
    for i in 0..NEIGHBORS {
        for (net, sw_if) in [(0, a), (1, b)] {
            let n = Neighbor::new(sw_if, hop(net, i).into(), MacAddr([2, 0, 0, 0, 1, 1]));
            neighbors.set(world, n).expect("set");
        }
        let pair = [via(a, hop(0, i)), via(b, hop(1, i))];
        fib.set(world, t, Prefix::host(Ipv4Addr::from_bits(0x1e00_0000 + i)), Source::Api, &pair)
            .expect("set");
    }
    let near = [via(a, hop(0, 7)), Path { preference: 1, ..via(b, hop(1, 7)) }];
    fib.set(world, t, p("9.9.9.9/32"), Source::Cli, &near).expect("set");
    let far = [Path::new(Kind::Recursive { table: t, nexthop: ip("9.9.9.9").into() })];
    for i in 0..1000 {
        fib.set(world, t, Prefix::host(Ipv4Addr::from_bits(0x1400_0000 + i)), Source::Api, &far)
            .expect("set");
    }
    let leads = |prefix| fib.route(t, prefix).expect("there").sources[0].adj;
    let first = [leads(p("9.9.9.9/32")), leads(p("20.0.0.9/32"))];
    let far_ends = |bench: &Bench| ends(bench, t, ip("20.0.0.9"));
    assert_eq!(far_ends(&bench), [End::Neighbor(a.0, hop(0, 7).into())].into());
    adjs.journal();

    // The adjacencies written before the first neighbour is removed.
    let seen = Arc::new(Mutex::new(None));
    let note = seen.clone();
    neighbors.subscribe(move |world, event| {
        if let crate::NeighborEvent::Gone { .. } = event {
            let written = || world.get::<Adjacencies>().journal();
            note.lock().expect("no panic inside").get_or_insert_with(written);
        }
    });
    world.get::<Interfaces>().set_link(world, a, false).expect("down");
    let written = seen.lock().expect("no panic inside").take().expect("forgotten");
    // The list, the via adjacency of the route, and the list that follows it: before anything else.
    let place = |adj| written.iter().position(|w| *w == adj).expect("written");
    assert!(first.iter().all(|adj| place(*adj) < 3), "{:?}", first.map(place));
    let pairs: BTreeSet<AdjIndex> =
        (0..NEIGHBORS).map(|i| leads(Prefix::host(Ipv4Addr::from_bits(0x1e00_0000 + i)))).collect();
    let turned: BTreeSet<usize> = pairs.iter().map(|adj| place(*adj)).collect();
    assert_eq!(
        turned,
        (3..3 + NEIGHBORS as usize).collect(),
        "each once, and nothing between them"
    );
    assert_eq!(far_ends(&bench), [End::Neighbor(b.0, hop(1, 7).into())].into());
    assert_eq!(neighbors.list(false, Some(a)), []);
}

/// RFC 8950.
#[suite::test]
fn ip4_packets_may_go_to_a_next_hop_of_ip6() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let (fib, neighbors, adjs) =
        (world.get::<Fib<Ip4>>(), world.get::<Neighbors>(), world.get::<Adjacencies>());
    let router: IpAddr = "fe80::1".parse().expect("an address");
    let mac = MacAddr([2, 0, 0, 0, 0, 9]);
    let t = TableIndex::DEFAULT;
    let via = [Path::new(Kind::Neighbor { sw_if: a, nexthop: router })];
    let seen = || {
        let index = adjs.find_neighbor_for(Link::IP4, a, router).expect("held by the route");
        adjs.info(index).expect("there").adj
    };
    let header =
        |dst: MacAddr| [&dst.0[..], &[2, 0, 0, 0, 0, 1], &EtherType::IP4.0.to_be_bytes()].concat();
    // First the route and then the neighbour, and in reverse order.
    fib.set(world, t, p("20.0.0.0/8"), Source::Cli, &via).expect("set");
    assert_eq!(ends(&bench, t, ip("20.1.1.1")), [End::Neighbor(a.0, router)].into());
    assert_eq!((seen().kind, seen().link), (AdjKind::Incomplete, Link::IP4));
    neighbors
        .set(world, Neighbor { is_static: true, ..Neighbor::new(a, router, mac) })
        .expect("set");
    assert_eq!((seen().kind, seen().rewrite().to_vec()), (AdjKind::Rewrite, header(mac)));
    fib.remove(world, t, p("20.0.0.0/8"), Source::Cli, &[]).expect("removed");
    assert_eq!(adjs.find_neighbor_for(Link::IP4, a, router), None);
    fib.set(world, t, p("20.0.0.0/8"), Source::Cli, &via).expect("set");
    assert_eq!((seen().kind, seen().rewrite().to_vec()), (AdjKind::Rewrite, header(mac)));
    let moved = MacAddr([2, 0, 0, 0, 0, 7]);
    neighbors
        .set(world, Neighbor { is_static: true, ..Neighbor::new(a, router, moved) })
        .expect("set");
    assert_eq!(seen().rewrite().to_vec(), header(moved));
    neighbors.remove(world, a, router).expect("removed");
    assert_eq!((seen().kind, seen().rewrite_len), (AdjKind::Incomplete, 0));
    // IPv6 packets to an IPv4 next hop.
    let hop: IpAddr = ip("10.0.0.1").into();
    let via = [Path::new(PathKind::Neighbor { sw_if: a, nexthop: hop })];
    let net = "3000::/16".parse().expect("a prefix");
    world.get::<Fib<wire::Ip6>>().set(world, t, net, Source::Cli, &via).expect("set");
    let six = || {
        let adjs = world.get::<Adjacencies>();
        adjs.info(adjs.find_neighbor_for(Link::IP6, a, hop).expect("held by the route"))
            .expect("there")
            .adj
    };
    assert_eq!(six().kind, AdjKind::Incomplete);
    neighbors
        .set(world, Neighbor { is_static: true, ..Neighbor::new(a, hop, moved) })
        .expect("set");
    assert_eq!(six().rewrite().len(), 14);
    assert_eq!((&six().rewrite()[..6], &six().rewrite()[12..]), (&moved.0[..], &[0x86, 0xdd][..]));
}
