// SPDX-License-Identifier: Apache-2.0
//! Advertisements of neighbours, and their reachability.

use super::*;
use net::{NeighborConfig, NeighborState};

const NODE: &str = "icmp6-neighbor-advertisement";
const SOLICITED: u32 = 1 << 30;
const OVERRIDE: u32 = 1 << 29;
const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 8]);

/// A rig that knows the neighbour by its solicitation.
fn knowing() -> Rig {
    let mut r = rig();
    r.receive(&solicitation(HIM, US, &link_option(NdOptionKind::SOURCE_LINK, PEER)));
    r.sent();
    r
}

#[suite::test]
fn an_answer_confirms_and_an_announcement_updates() {
    let mut r = knowing();
    let state = |r: &Rig| r.neighbor(HIM).map(|n| (n.mac, n.state, n.router)).expect("known");
    r.receive(&advertisement(HIM, SOLICITED | 1 << 31, PEER));
    assert_eq!(state(&r), (PEER, NeighborState::Reachable, true));
    r.receive(&advertisement(HIM, 0, OTHER));
    assert_eq!(
        state(&r),
        (PEER, NeighborState::Stale, true),
        "another station that doesn't insist"
    );
    assert_eq!(r.counted("refused/kept"), 1);
    r.receive(&advertisement(HIM, OVERRIDE, OTHER));
    assert_eq!(state(&r), (OTHER, NeighborState::Stale, false));
    r.receive(&advertisement("2001:db8::7", OVERRIDE, OTHER));
    assert_eq!(r.neighbor("2001:db8::7"), None, "nobody asked for him");
    assert_eq!(r.counted("refused/unsolicited"), 1);
    // An answer needn't say again where it comes from.
    let bare = (Icmp6Type::NEIGHBOR_ADVERTISEMENT, 0, SOLICITED);
    r.receive(&message((OTHER, OWN), (HIM, US), bare, &ip(HIM).octets(), 255));
    assert_eq!(state(&r), (OTHER, NeighborState::Reachable, false));
}

#[suite::test]
fn a_removed_neighbour_is_learned_again_at_once() {
    let mut r = knowing();
    let again = solicitation(HIM, US, &link_option(NdOptionKind::SOURCE_LINK, PEER));
    r.neighbors.remove(&r.bench.world, r.t0, ip(HIM).into()).expect("known");
    r.receive(&again);
    assert_eq!(r.neighbor(HIM).map(|n| n.mac), Some(PEER), "removed by an operator");
    r.bench.cli("set interface state t0 down").expect("set");
    assert_eq!(r.neighbor(HIM), None);
    r.bench.cli("set interface state t0 up").expect("set");
    r.receive(&again);
    assert_eq!(r.neighbor(HIM).map(|n| n.mac), Some(PEER), "gone with the interface");
}

#[suite::test]
fn who_only_asked_is_asked_once_packets_go_to_him() {
    let mut r = knowing();
    r.pass(20);
    assert!(r.sent().is_empty(), "nobody sends to him");
    let world = r.bench.world.clone();
    let adjacencies = world.get::<net::Adjacencies>();
    let adj = adjacencies.find_neighbor(r.t0, ip(HIM).into()).expect("made by the neighbour");
    adjacencies.counters.lane(0).add(adj.at(), 1, 100);
    for _ in 0..31 {
        if r.neighbor(HIM).is_some_and(|n| n.state == NeighborState::Stale) {
            r.pass(1);
        }
    }
    let probe = crate::compose::solicitation(OWN, ip(US_LOCAL), ip(HIM), Some(PEER)).to_vec();
    assert_eq!(r.sent().first(), Some(&probe));
    r.receive(&advertisement(HIM, SOLICITED, PEER));
    assert_eq!(r.neighbor(HIM).map(|n| n.state), Some(NeighborState::Reachable));
}

#[suite::test]
fn the_old_are_asked_at_their_station_and_the_silent_removed() {
    let mut r = knowing();
    r.neighbors
        .configure(true, NeighborConfig { age: 100, confirm: 0, ..NeighborConfig::default() });
    let other = "2001:db8::8";
    r.receive(&solicitation(other, US, &link_option(NdOptionKind::SOURCE_LINK, OTHER)));
    // It answers us, so somebody sends to it.
    r.neighbors.note_solicitation(&r.bench.world, r.t0, ip(HIM).into());
    r.receive(&advertisement(HIM, SOLICITED, PEER));
    r.sent();
    r.pass(99);
    assert!(r.sent().is_empty());
    r.pass(5);
    assert_eq!(r.neighbor(other), None, "nobody misses it, so it isn't asked");
    let probe = crate::compose::solicitation(OWN, ip(US_LOCAL), ip(HIM), Some(PEER)).to_vec();
    assert_eq!((r.sent(), r.neighbor(HIM)), (vec![probe; 3], None));
}

#[suite::test]
fn what_is_wrong_is_dropped_by_name() {
    let mut r = rig();
    let na = (Icmp6Type::NEIGHBOR_ADVERTISEMENT, 0, OVERRIDE);
    let with = |target: &str, mac| {
        [&ip(target).octets()[..], &link_option(NdOptionKind::TARGET_LINK, mac)].concat()
    };
    let to =
        |dst: &str, kind, behind: &[u8], hops| message((PEER, OWN), (HIM, dst), kind, behind, hops);
    let group = |kind, behind: &[u8]| {
        message((PEER, MacAddr([0x33, 0x33, 0, 0, 0, 1])), (HIM, "ff02::1"), kind, behind, 255)
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("invalid_hop_limit_for_type", to(US, na, &with(HIM, PEER), 64)),
        ("invalid_code_for_type", to(US, (na.0, 9, 0), &with(HIM, PEER), 255)),
        ("options", to(US, na, &[&ip(HIM).octets()[..], &[2, 0, 0, 0, 0, 0, 0, 0]].concat(), 255)),
        ("target_multicast", to(US, na, &with("ff02::9", PEER), 255)),
        ("solicited_multicast", group((na.0, 0, SOLICITED), &with(HIM, PEER))),
        ("link_address", to(US, na, &with(HIM, MacAddr::BROADCAST), 255)),
        ("own_frame", to(US, na, &with(HIM, OWN), 255)),
        ("duplicate_address", group(na, &with(US, PEER))),
        ("anycast", group(na, &with("2001:db8::", PEER))),
        ("target_not_local", to(US, na, &with("2001:db8:9::9", PEER), 255)),
    ];
    for (reason, frame) in cases {
        let n = r.drops(NODE, reason, |r| r.receive(&frame));
        assert_eq!(n, 1, "{reason}: {frame:02x?}");
    }
    assert!(r.neighbors.is_empty(true) && r.sent().is_empty());
}

#[suite::test]
fn our_addresses_are_announced_only_where_that_is_set() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let interfaces = world.get::<Interfaces>();
    let local = |r: &Rig| {
        let all = r.sent_of(Icmp6Type::NEIGHBOR_ADVERTISEMENT);
        all.iter()
            .map(|p| Ipv6Addr::from(*p[48..].first_chunk::<16>().expect("a target")))
            .collect::<Vec<_>>()
    };
    r.add_address("2001:db8:1::1/64");
    for up in [false, true] {
        interfaces.set_admin(&world, r.t0, up).expect("set");
        r.bench.settle();
    }
    interfaces.set_mac(&world, r.t0, MacAddr([2, 0, 0, 0, 0, 5])).expect("set");
    r.bench.settle();
    assert!(local(&r).is_empty(), "not set: VPP's default (RFC 4861 7.2.6: MAY)");

    r.run("set ip6 nd announce on");
    r.run("set ip6 dad enable transmits 1 delay 1");
    r.add_address("2001:db8:2::1/64");
    assert!(local(&r).is_empty(), "not before it is ours");
    r.pass(1);
    assert_eq!(local(&r), [ip("2001:db8:2::1")], "once it is ours");
    r.run("set ip6 dad disable");
    r.add_address("2001:db8:3::1/64");
    assert_eq!(local(&r), [ip("2001:db8:3::1")], "at once");
    interfaces.set_mac(&world, r.t0, MacAddr([2, 0, 0, 0, 0, 7])).expect("set");
    r.bench.settle();
    let moved = local(&r);
    assert!(moved.contains(&ip("fe80::ff:fe00:7")) && moved.contains(&ip(US)), "{moved:?}");
    interfaces.set_admin(&world, r.t0, false).expect("down");
    r.bench.settle();
    assert!(local(&r).is_empty(), "nobody hears it");
    interfaces.set_admin(&world, r.t0, true).expect("up");
    r.bench.settle();
    let all = ["fe80::ff:fe00:7", US, "2001:db8:1::1", "2001:db8:2::1", "2001:db8:3::1"];
    assert_eq!(local(&r), all.map(ip));
}

#[suite::test]
fn who_is_no_longer_on_the_link_is_forgotten() {
    let mut r = rig();
    let world = r.bench.world.clone();
    r.add_address("2001:db8:1::1/64");
    for him in [HIM, "2001:db8:1::9", HIM_LOCAL] {
        r.receive(&solicitation(him, US, &link_option(NdOptionKind::SOURCE_LINK, PEER)));
    }
    assert_eq!(r.neighbors.len(true), 3);
    let addresses = world.get::<Addresses<Ip6>>();
    addresses.remove(&world, r.t0, "2001:db8:1::1/64".parse().expect("a prefix")).expect("there");
    r.bench.settle();
    assert_eq!((r.neighbors.len(true), r.neighbor("2001:db8:1::9")), (2, None));
    addresses.clear(&world, r.t0).expect("cleared");
    r.bench.settle();
    assert!(r.neighbors.is_empty(true), "IPv6 is off");
    world.get::<Interfaces>().delete(&world, r.t0).expect("deleted");
}
