// SPDX-License-Identifier: Apache-2.0
//! Packets to neighbours that are not resolved yet.

use super::*;
use net::{AdjIndex, Adjacencies, IfCounters};
use wire::Prefix;

/// An IPv4 packet to `dst`, told apart by its identification.
fn packet(dst: [u8; 4], id: u16) -> Vec<u8> {
    let mut bytes = testkit::pkt::ip4("192.0.2.1", &*Ipv4Addr::from(dst).to_string())
        .udp(1, 2)
        .payload_len(20)
        .build();
    bytes[4..6].copy_from_slice(&id.to_be_bytes());
    bytes
}

fn ids(packets: &[(u32, Vec<u8>)]) -> Vec<u16> {
    packets.iter().map(|(_, b)| u16::from_be_bytes([b[4], b[5]])).collect()
}

impl Rig {
    /// The adjacency of a route over this neighbour, for which a request goes out at once.
    fn route(&mut self, nexthop: [u8; 4]) -> AdjIndex {
        let adjacencies = self.bench.world.get::<Adjacencies>();
        let adj = adjacencies.neighbor(&self.bench.world, self.t0, nexthop.into()).expect("there");
        self.bench.settle();
        assert_eq!(self.sent(), [question(nexthop)]);
        adj
    }

    fn send_to(&mut self, node: &str, adj: AdjIndex, packet: &[u8]) {
        self.bench.send(node, packet, |b| b.set_scratch(IpMeta::of(adj, 0)));
    }

    fn glean(&self) -> AdjIndex {
        self.bench
            .world
            .get::<Adjacencies>()
            .glean(&self.bench.world, self.t0, [10, 0, 0, 1].into())
            .expect("there")
    }
}

fn question(ip: [u8; 4]) -> Vec<u8> {
    request((OWN, [10, 0, 0, 1]), ip)[..42].to_vec()
}

#[suite::test]
fn they_wait_for_the_answer_and_go_in_order() {
    let mut r = rig();
    let adj = r.route([10, 0, 0, 9]);
    for id in 0..5 {
        r.send_to("ip4-arp", adj, &packet([192, 0, 2, 77], id));
    }
    assert_eq!(r.sent(), [question([10, 0, 0, 9])], "asked once");
    assert!(r.rewritten().is_empty());
    assert_eq!((r.counted("tx/requests"), r.bench.count("ip4-arp", "request_sent")), (2, 1));
    r.receive(&reply((PEER, [10, 0, 0, 9])));
    let gone = r.rewritten();
    assert_eq!(ids(&gone), [0, 1, 2, 3, 4]);
    assert!(gone.iter().all(|(a, b)| *a == adj.0 && b.len() == 48));
    // From now on the lookup sends them to the rewrite; one that is late goes there too.
    r.send_to("ip4-arp", adj, &packet([192, 0, 2, 77], 6));
    assert_eq!((ids(&r.rewritten()), r.sent().len()), (vec![6], 0));
    r.bench.world.get::<Adjacencies>().release(adj);
}

#[suite::test]
fn a_frame_of_packets_asks_once_and_overflows_by_name() {
    let mut r = rig();
    let adj = r.route([10, 0, 0, 9]);
    let packets: Vec<_> = (0..50).map(|id| packet([192, 0, 2, 77], id)).collect();
    let out = r.bench.node("ip4-arp", &packets, |b| b.set_scratch(IpMeta::of(adj, 0)));
    let of = |node: &str| out.iter().filter(|o| o.node == node).count();
    assert_eq!((of("t0-output"), of("ip4-drop"), out.len()), (1, 18, 19));
    assert_eq!(r.bench.count("ip4-arp", "overflow"), 18);
    r.bench.settle();
    r.receive(&reply((PEER, [10, 0, 0, 9])));
    assert_eq!(ids(&r.rewritten()), (0..32).collect::<Vec<_>>());
}

#[suite::test]
fn the_silent_are_asked_three_times_and_the_sender_told() {
    let mut r = rig();
    let adj = r.route([10, 0, 0, 9]);
    r.send_to("ip4-arp", adj, &packet([192, 0, 2, 77], 1));
    r.send_to("ip4-arp", adj, &packet([192, 0, 2, 77], 2));
    r.pass(1);
    r.send_to("ip4-arp", adj, &packet([192, 0, 2, 77], 3));
    r.pass(10);
    assert_eq!(r.sent(), vec![question([10, 0, 0, 9]); 3]);
    assert_eq!(r.refused(), [(3, 1); 3], "host unreachable");
    assert_eq!(r.bench.count("ip4-arp", "no_answer"), 3);
    // An answer that comes too late is an answer to no question.
    r.receive(&reply((PEER, [10, 0, 0, 9])));
    assert_eq!(r.known([10, 0, 0, 9]), None);
    // The next packet starts again.
    r.send_to("ip4-arp", adj, &packet([192, 0, 2, 77], 4));
    assert_eq!(r.sent(), [question([10, 0, 0, 9])]);
}

#[suite::test]
fn a_destination_on_the_link_is_asked_for_by_itself() {
    let mut r = rig();
    let glean = r.glean();
    r.send_to("ip4-glean", glean, &packet([10, 0, 0, 9], 1));
    r.send_to("ip4-glean", glean, &packet([10, 0, 0, 8], 2));
    r.send_to("ip4-glean", glean, &packet([10, 0, 0, 9], 3));
    assert_eq!(r.sent(), [question([10, 0, 0, 9]), question([10, 0, 0, 8])]);
    r.receive(&reply((PEER, [10, 0, 0, 9])));
    let adjacencies = r.bench.world.get::<Adjacencies>();
    let adj = adjacencies.find_neighbor(r.t0, [10, 0, 0, 9].into()).expect("made by the neighbour");
    let gone = r.rewritten();
    assert_eq!((ids(&gone), gone[0].0, gone[1].0), (vec![1, 3], adj.0, adj.0));
    // The neighbour has a route of its own, so that the next packet needs no asking.
    let fib = r.bench.world.get::<net::fib::Fib<Ip4>>();
    let route = fib.covering(net::fib::TableIndex(0), [10, 0, 0, 9].into()).expect("a route");
    assert_eq!(route.prefix.to_string(), "10.0.0.9/32");
    let short = packet([10, 0, 0, 9], 1)[..19].to_vec();
    r.send_to("ip4-glean", glean, &short);
    assert_eq!(r.bench.count("ip4-glean", "too_short"), 1);
}

#[suite::test]
fn questions_that_no_longer_hold_are_asked_anew_by_the_next_packet() {
    let mut r = rig();
    let adj = r.route([10, 0, 0, 9]);
    let world = r.bench.world.clone();
    let ask = |r: &mut Rig| {
        r.bench.settle();
        r.sent();
        r.send_to("ip4-arp", adj, &packet([192, 0, 2, 77], 1));
        r.sent()
    };
    assert_eq!(ask(&mut r), [question([10, 0, 0, 9])]);
    assert!(ask(&mut r).is_empty());
    let mac = MacAddr([2, 0, 0, 0, 0, 5]);
    world.get::<Interfaces>().set_mac(&world, r.t0, mac).expect("set");
    let from = |ip| request((mac, ip), [10, 0, 0, 9])[..42].to_vec();
    assert_eq!(ask(&mut r), [from([10, 0, 0, 1])], "answers went to the old station");
    assert!(ask(&mut r).is_empty());
    add_address(&world, r.t0, "10.0.0.2/24");
    assert_eq!(ask(&mut r), [from([10, 0, 0, 1])]);
    let addresses = world.get::<Addresses<Ip4>>();
    addresses.remove(&world, r.t0, "10.0.0.1/24".parse().expect("a prefix")).expect("there");
    assert_eq!(ask(&mut r), [from([10, 0, 0, 2])]);
}

/// On a link of two addresses (RFC 3021) there is one neighbour: he is asked for when the address
/// is added.
#[suite::test]
fn the_other_end_of_a_link_of_two_is_asked_for_at_once() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let addresses = world.get::<Addresses<Ip4>>();
    for (own, other) in [("10.7.0.11/31", [10, 7, 0, 10]), ("10.7.0.10/31", [10, 7, 0, 11])] {
        let own: Prefix<Ipv4Addr> = own.parse().expect("a prefix");
        addresses.add(&world, r.t0, own).expect("added");
        r.bench.settle();
        assert_eq!(r.sent(), [request((OWN, own.addr().octets()), other)[..42].to_vec()]);
        addresses.remove(&world, r.t0, own).expect("there");
        r.bench.settle();
        assert!(r.sent().is_empty());
    }
}

/// A host that was asked before the link went down may answer with an address that is no longer
/// valid.
#[suite::test]
fn questions_end_with_the_link() {
    let mut r = rig();
    let (world, interfaces) = (r.bench.world.clone(), r.bench.world.get::<Interfaces>());
    let adj = r.route([10, 0, 0, 9]);
    r.send_to("ip4-arp", adj, &packet([192, 0, 2, 77], 1));
    for up in [false, true] {
        interfaces.set_admin(&world, r.t0, up).expect("set");
        r.bench.settle();
    }
    r.receive(&reply((PEER, [10, 0, 0, 9])));
    assert_eq!((r.known([10, 0, 0, 9]), r.counted("refused/unsolicited")), (None, 1));
}

#[suite::test]
fn one_that_is_known_but_has_no_route_is_asked_for_all_the_same() {
    let mut r = rig();
    let n = net::Neighbor {
        no_fib_entry: true,
        ..net::Neighbor::new(r.t0, [10, 0, 0, 9].into(), PEER)
    };
    r.neighbors.set(&r.bench.world, n).expect("set");
    r.bench.settle();
    let glean = r.glean();
    r.send_to("ip4-glean", glean, &packet([10, 0, 0, 9], 1));
    assert!(r.rewritten().is_empty());
    r.receive(&reply((PEER, [10, 0, 0, 9])));
    assert_eq!(ids(&r.rewritten()), [1]);
}

#[suite::test]
fn a_neighbour_set_by_hand_lets_them_go() {
    let mut r = rig();
    let adj = r.route([10, 0, 0, 9]);
    r.send_to("ip4-arp", adj, &packet([192, 0, 2, 77], 1));
    r.neighbors
        .set(&r.bench.world, net::Neighbor::new(r.t0, [10, 0, 0, 9].into(), PEER))
        .expect("set");
    r.bench.settle();
    assert_eq!(ids(&r.rewritten()), [1]);
}

#[suite::test]
fn nothing_waits_where_nothing_can_be_asked() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let t1 = create(&world, "t1", MacAddr([2, 0, 0, 0, 0, 2]));
    let adjacencies = world.get::<Adjacencies>();
    let adj = adjacencies.neighbor(&world, t1, [10, 9, 0, 9].into()).expect("there");
    r.send_to("ip4-arp", adj, &packet([10, 9, 0, 9], 1));
    assert_eq!(r.bench.count("ip4-arp", "interface_down"), 1);
    world.get::<Interfaces>().set_admin(&world, t1, true).expect("up");
    r.send_to("ip4-arp", adj, &packet([10, 9, 0, 9], 1));
    assert_eq!(r.bench.count("ip4-arp", "no_source_address"), 1);
    r.send_to("ip4-arp", AdjIndex(4000), &packet([10, 9, 0, 9], 1));
    r.send_to("ip4-arp", AdjIndex::DROP, &packet([10, 9, 0, 9], 1));
    assert_eq!(r.bench.count("ip4-arp", "non_arp_adj"), 2);
    assert_eq!(world.stats.simple("/net/arp/tx/requests").sum(t1.at()), 0);
}

#[suite::test]
fn an_interface_that_goes_down_keeps_nobody_waiting() {
    let mut r = rig();
    let adj = r.route([10, 0, 0, 9]);
    r.send_to("ip4-arp", adj, &packet([192, 0, 2, 77], 1));
    r.bench.world.get::<Interfaces>().set_admin(&r.bench.world, r.t0, false).expect("down");
    r.pass(2);
    assert_eq!(r.bench.count("ip4-arp", "no_answer"), 1);
    let counters = r.bench.world.get::<IfCounters>();
    assert_eq!(counters.tx.sum(r.t0.at()).0, 2, "two questions, nothing else");
}

/// A rig with an interface more, `t1`, that has 10.1.0.1/16, and that network's adjacency.
fn wide() -> (Rig, SwIfIndex, AdjIndex) {
    let mut r = rig();
    let world = r.bench.world.clone();
    let t1 = create(&world, "t1", MacAddr([2, 0, 0, 0, 0, 2]));
    world.get::<Interfaces>().set_admin(&world, t1, true).expect("up");
    add_address(&world, t1, "10.1.0.1/16");
    let glean = world.get::<Adjacencies>().glean(&world, t1, [10, 1, 0, 1].into()).expect("there");
    r.bench.settle();
    r.sent();
    (r, t1, glean)
}

#[suite::test]
fn a_scan_of_the_network_is_bounded() {
    let (mut r, _, glean) = wide();
    for i in 2..6000u16 {
        let [a, b] = i.to_be_bytes();
        r.send_to("ip4-glean", glean, &packet([10, 1, a, b], i));
    }
    let (asked, throttled) = (r.sent().len() as u64, r.bench.count("ip4-glean", "throttled"));
    // Half of a burst, and what the rate allows while this runs.
    assert!(asked >= 512 && throttled > 0, "{asked} {throttled}");
    assert_eq!(asked + throttled, 5998);
    assert_eq!(r.counted_on(1, "tx/requests") + r.counted_on(2, "tx/requests"), asked);
    r.pass(6);
    let silent = r.bench.count("ip4-glean", "no_answer");
    assert_eq!(r.refused().len() as u64, silent);
    assert_eq!(silent + r.bench.count("ip4-glean", "displaced"), asked);
    assert!(r.neighbors.is_empty(false), "no state for those who don't answer");
}

/// A scan at 10,000 packets a second: new hosts in the same network and in another one are reached
/// within two seconds, by those that try once a second.
#[suite::test]
fn new_hosts_are_reached_while_their_network_is_scanned() {
    const MILLISECOND: u64 = 1_000_000;
    let (mut r, t1, glean) = wide();
    let elsewhere = r.glean();
    let world = r.bench.world.clone();
    let node = r.bench.index("ip4-glean");
    let hosts: Vec<[u8; 4]> = (0..8).map(|i| [10, 1, 250, 10 + i]).collect();
    let (mut state, mut asked) = (7u64, 0);
    let (mut tries, mut reached) = ([0usize; 8], [None::<usize>; 8]);
    let (start, mut ms, mut others) = (world.clock.now(), 0, 0);
    while ms < 3_500 {
        world.clock.adjust(MILLISECOND);
        ms = ((world.clock.now() - start) / MILLISECOND) as usize;
        let mut frames = Vec::new();
        for _ in 0..10 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let [.., a, b] = ((state >> 33) as u16).to_be_bytes();
            // Other addresses than the hosts': packets to them keep the hosts' entries.
            let mut p = r.bench.buffer(&packet([10, 1, a.min(249), b], 0));
            p.set_scratch(IpMeta::of(glean, 0));
            r.bench.rt.inject(node, p);
        }
        for (i, host) in hosts.iter().enumerate() {
            if ms >= 1_000 + 50 * i + 1_000 * tries[i] && reached[i].is_none() {
                tries[i] += 1;
                r.send_to("ip4-glean", glean, &packet(*host, 1 + i as u16));
            }
        }
        if ms >= 500 * others {
            others += 1;
            let host = [10, 0, 0, 20 + others as u8];
            r.send_to("ip4-glean", elsewhere, &packet(host, 100));
            frames.extend(r.sent());
            assert!(frames.contains(&question(host)), "the other link is asked at once");
            r.receive(&reply((PEER, host)));
            assert_eq!(ids(&r.rewritten()), [100]);
        }
        r.bench.settle();
        frames.extend(r.sent());
        for frame in frames {
            asked += 1;
            let target = <[u8; 4]>::try_from(&frame[38..42]).expect("four bytes");
            if hosts.contains(&target) {
                let own = (MacAddr([2, 0, 0, 0, 0, 2]), [10, 1, 0, 1]);
                r.bench.send("ethernet-input", &arp(2, (PEER, target), own, own.0), |b| {
                    b.rx_if = t1.0
                });
            }
        }
        for id in ids(&r.rewritten()) {
            let i = usize::from(id) - 1;
            reached[i] = reached[i].or(Some(tries[i]));
        }
    }
    assert!(reached.iter().all(|tries| tries.is_some_and(|tries| tries <= 3)), "{reached:?}");
    assert!(asked > 4096 && asked < 4096 * (ms / 1000 + 1) + 1024, "{asked} in {ms} ms");
}

#[suite::test]
fn every_thread_lets_go() {
    let config = graph::WorldConfig { threads: 3, buffers: 4096, ..graph::WorldConfig::default() };
    let (world, mut threads) = World::new(&config, PLUGINS).expect("an instance");
    let t0 = create(&world, "t0", OWN);
    world.get::<Interfaces>().set_admin(&world, t0, true).expect("up");
    add_address(&world, t0, "10.0.0.1/24");
    let adj = world.get::<Adjacencies>().neighbor(&world, t0, [10, 0, 0, 9].into()).expect("there");
    let mut turns = |inject: Option<(usize, &str, Vec<u8>)>| {
        if let Some((thread, node, bytes)) = inject {
            let rt = &mut threads[thread];
            let mut b = rt.cache().alloc().expect("a buffer");
            assert!(b.set_data(&bytes));
            b.rx_if = t0.0;
            b.set_scratch(IpMeta::of(adj, 0));
            rt.inject(world.node(node).expect("there"), b);
        }
        for _ in 0..3 {
            threads.iter_mut().for_each(|rt| _ = rt.turn(true));
            world.processes.run(&world);
        }
    };
    let gone = world.get::<Gone>();
    turns(None);
    for thread in 0..3 {
        turns(Some((thread, "ip4-arp", packet([192, 0, 2, 77], thread as u16))));
    }
    turns(Some((1, "ethernet-input", reply((PEER, [10, 0, 0, 9])))));
    let mut went = ids(&gone.rewritten.lock().expect("no panic inside"));
    went.sort_unstable();
    assert_eq!(went, [0, 1, 2]);
    drop(threads);
    assert_eq!(world.pool.release(), Ok(()), "no buffer leaks");
}
