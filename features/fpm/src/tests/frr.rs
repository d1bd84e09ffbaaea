// SPDX-License-Identifier: Apache-2.0
//! Messages of FRR 8.4, one kind of route after the other.

use super::message::{To, blackhole_object, frame, group_object, hop_object, message, no_object};
use super::message::{no_route, route};
use super::{FIRST, rig};
use crate::frame::Frames;
use crate::refused::Refused;
use linux_nl::convert::MOST_HOPS;
use net::Fib;
use std::net::IpAddr;
use wire::Ip4;

/// Bytes of `zebra -M dplane_fpm_nl` with `staticd`: an interface of index 3 with 10.1.0.1/24 and
/// 2001:db8:1::1/64, and static routes: 192.0.2.0/24 via 10.1.0.2, 192.0.3.0/24 blackhole,
/// 198.51.100.0/24 via 10.1.0.2 and 10.1.0.3, 2001:db8:5::/48 via 2001:db8:1::2.
pub const CAPTURE: &[u8] = include_bytes!("frr-8.4.bin");

pub fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn prefix(text: &str) -> (IpAddr, u8) {
    let (addr, len) = text.split_once('/').expect("a prefix");
    (ip(addr), len.parse().expect("a length"))
}

fn hops(all: &[(u32, &str, u8)]) -> To {
    To::Hops(all.iter().map(|(port, via, weight)| (FIRST + port, Some(ip(via)), *weight)).collect())
}

#[suite::test]
fn a_capture_of_frr() {
    for pieces in [1, 7, 60, CAPTURE.len()] {
        let (mut rig, mut stream) = rig(1);
        rig.cli("set interface ip address p0 10.1.0.1/24");
        rig.cli("set interface ip address p0 2001:db8:1::1/64");
        let world = rig.world();
        for piece in CAPTURE.chunks(pieces) {
            assert_eq!(stream.take(&world, piece), Some(vec![]), "no answers unless asked for");
        }
        for (command, wanted) in [
            ("show ip fib 192.0.2.0/24", &["10.1.0.2", "p0", "fpm"][..]),
            ("show ip fib 192.0.3.0/24", &["drop", "fpm"]),
            ("show ip fib 198.51.100.0/24", &["10.1.0.2", "10.1.0.3", "fpm"]),
            ("show ip6 fib 2001:db8:5::/48", &["2001:db8:1::2", "fpm"]),
        ] {
            let shown = rig.cli(command);
            wanted.iter().for_each(|part| assert!(shown.contains(part), "{part}: {shown}"));
        }
        // Connected networks are known here by themselves.
        let shown = rig.cli("show ip fib 10.1.0.0/24");
        assert!(!shown.contains("fpm"), "{shown}");
        let counts = &stream.engine.counts;
        assert_eq!((counts.routes, counts.objects), (4, 8));
        assert_eq!(counts.refused, [(Refused::Own, 3)].into());
        assert_eq!(stream.engine.objects.len(), 8);
    }
}

#[suite::test]
fn weights_tables_and_next_hops_of_the_other_protocol() {
    let (mut rig, mut stream) = rig(2);
    let world = rig.world();
    let both = hops(&[(0, "10.0.0.2", 3), (1, "10.0.1.2", 1)]);
    let sent = frame(&[
        route(prefix("192.0.2.0/24"), 254, &both),
        route(prefix("192.0.2.0/24"), 7000, &hops(&[(0, "10.0.0.2", 1)])),
        route(prefix("203.0.113.0/24"), 254, &hops(&[(1, "2001:db8:1::2", 1)])),
        route(prefix("2001:db8:f::/48"), 254, &To::Blackhole),
    ]);
    stream.take(&world, &sent).expect("taken");
    let shown = rig.cli("show ip fib 192.0.2.0/24");
    assert!(shown.contains("10.0.0.2") && shown.contains("weight=3"), "{shown}");
    assert!(rig.cli("show ip fib table 7000 192.0.2.0/24").contains("fpm"));
    assert!(rig.cli("show ip fib 203.0.113.0/24").contains("2001:db8:1::2"));
    assert!(rig.cli("show ip6 fib 2001:db8:f::/48").contains("drop"));
    // None of it is the operator's.
    assert!(!world.running_config().into_iter().any(|line| line.text.contains("192.0.2.0")));
    // A withdrawal in one frame with a new route is one change.
    let index = |rig: &mut net::drive::Rig| rig.cli("show ip fib 192.0.2.0/24 detail -j");
    let before = index(&mut rig);
    let again =
        frame(&[no_route(prefix("192.0.2.0/24"), 254), route(prefix("192.0.2.0/24"), 254, &both)]);
    stream.take(&world, &again).expect("taken");
    assert_eq!(index(&mut rig), before);
    // A table whose routes are gone goes with the peer's ownership.
    stream.lose(&world);
    let mut sweep = stream.engine.sweep(&world);
    while stream.engine.sweep_on(&world, &mut sweep, 1) {}
    stream.engine.release(&world);
    assert!(!rig.cli("show ip table").contains("7000"));
}

/// Gateways on interfaces without a mirror, and on none.
#[suite::test]
fn a_gateway_alone_is_reached_by_its_connected_network() {
    let (mut rig, mut stream) = rig(2);
    let world = rig.world();
    let by = |index: u32, via: &str| To::Hops(vec![(index, Some(ip(via)), 1)]);
    let sent = frame(&[
        route(prefix("192.0.2.0/24"), 254, &by(77, "10.0.1.2")),
        route(prefix("192.0.3.0/24"), 254, &by(0, "10.0.1.2")),
        route(prefix("192.0.4.0/24"), 254, &by(0, "2001:db8:1::2")),
        // Not connected here: the default route must not catch it.
        route(prefix("0.0.0.0/0"), 254, &by(77, "172.16.0.1")),
        // A link-local address means nothing without its link.
        route(prefix("2001:db8:f::/48"), 254, &by(77, "fe80::2")),
        // A connected network of another interface.
        route(prefix("192.0.5.0/24"), 254, &To::Hops(vec![(77, None, 1)])),
    ]);
    stream.take(&world, &sent).expect("taken");
    let packet = |to: [u8; 4]| {
        testkit::pkt::ip4("10.0.0.9", std::net::Ipv4Addr::from(to))
            .udp(1, 2)
            .payload_len(30)
            .build()
    };
    for n in 2..5 {
        let to = [192, 0, n, 1];
        let mut sent = rig.route(&packet(to));
        sent.retain(|(_, packet)| packet.get(16..20) == Some(&to[..]));
        assert_eq!(sent.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [1], "192.0.{n}.0/24");
    }
    let sent = rig.route(&packet([198, 18, 0, 1]));
    assert!(sent.iter().all(|(port, _)| *port == 0), "an ICMP error at most");
    let refused = &stream.engine.counts.refused;
    assert_eq!(refused, &[(Refused::Interface, 2)].into());
}

#[suite::test]
fn routes_follow_their_objects() {
    let (mut rig, mut stream) = rig(2);
    let world = rig.world();
    let at = |n: u8| prefix(&format!("192.0.{n}.0/24"));
    let mut messages = vec![
        hop_object(10, (FIRST, Some(ip("10.0.0.2")), 1)),
        hop_object(11, (FIRST + 1, Some(ip("10.0.1.2")), 1)),
        group_object(12, &[(10, 1), (11, 4)]),
        blackhole_object(13),
    ];
    messages.extend((0..100).map(|n| route(at(n), 254, &To::Object(12))));
    messages.push(route(at(100), 254, &To::Object(13)));
    messages.push(route(at(101), 254, &To::Object(99)));
    stream.take(&world, &frame(&messages)).expect("taken");
    let shown = rig.cli("show ip fib 192.0.50.0/24");
    assert!(shown.contains("10.0.0.2") && shown.contains("weight=4"), "{shown}");
    assert!(rig.cli("show ip fib 192.0.100.0/24").contains("drop"));
    assert_eq!(stream.engine.counts.refused, [(Refused::Object, 1)].into());
    // One message moves all routes of the group.
    stream.take(&world, &frame(&[group_object(12, &[(11, 1)])])).expect("taken");
    for n in [0, 50, 99] {
        let shown = rig.cli(&format!("show ip fib 192.0.{n}.0/24"));
        assert!(!shown.contains("10.0.0.2") && shown.contains("10.0.1.2"), "{shown}");
    }
    // A member moves them too.
    let moved = hop_object(11, (FIRST, Some(ip("10.0.0.7")), 1));
    stream.take(&world, &frame(&[moved])).expect("taken");
    assert!(rig.cli("show ip fib 192.0.99.0/24").contains("10.0.0.7"));
    // As in the kernel, routes go with their object.
    stream.take(&world, &frame(&[no_object(12)])).expect("taken");
    assert_eq!(stream.engine.routes(&world)[0].routes, 1, "the blackhole");
    // A route of another source with the number of a former one isn't touched.
    rig.cli("ip route add 192.0.2.0/24 via 10.0.0.2 p0");
    stream.take(&world, &frame(&[group_object(12, &[(10, 1)])])).expect("taken");
    assert!(rig.cli("show ip fib 192.0.2.0/24").contains("CLI"));
}

#[suite::test]
fn memory_beside_the_table_is_small() {
    let (rig, mut stream) = rig(1);
    let world = rig.world();
    stream
        .take(&world, &frame(&[hop_object(10, (FIRST, Some(ip("10.0.0.2")), 1))]))
        .expect("taken");
    const N: u32 = 20_000;
    for n in 0..N {
        let addr = std::net::Ipv4Addr::from_bits(0x1400_0000 + 256 * n);
        let sent = frame(&[route((addr.into(), 24), 254, &To::Object(10))]);
        stream.take(&world, &sent).expect("taken");
    }
    assert_eq!(stream.engine.routes(&world)[0].routes, N as usize);
    let bytes = stream.engine.bytes_beside();
    assert!(bytes <= 24 * N as usize, "{bytes} bytes for {N} routes");
}

#[suite::test]
fn routes_in_force_are_answered() {
    let (mut rig, mut stream) = rig(1);
    rig.cli("ip route add 203.0.113.0/24 via drop");
    let world = rig.world();
    stream.engine.answers = true;
    let good = route(prefix("192.0.2.0/24"), 254, &hops(&[(0, "10.0.0.2", 1)]));
    let last = route(prefix("192.0.2.0/24"), 254, &To::Blackhole);
    let bad = route(prefix("192.0.3.0/24"), 254, &To::Object(9));
    let sent = frame(&[good, bad, no_route(prefix("192.0.4.0/24"), 254), last.clone()]);
    let answer = stream.take(&world, &sent).expect("taken");
    // The last message about the prefix, with the flag.
    let mut wanted = last;
    wanted[16 + 8..16 + 12].copy_from_slice(&0x4000u32.to_ne_bytes());
    assert_eq!(answer, frame(&[wanted]));
    let mut frames = Frames::default();
    frames
        .fill(|room| {
            room[..answer.len()].copy_from_slice(&answer);
            Ok(answer.len())
        })
        .expect("n");
    assert!(matches!(frames.take(), Ok(Some(_))) && !frames.is_cut());
    // A better source has the prefix; the gateway is in no network here.
    let fib = world.get::<Fib<Ip4>>();
    let better = wire::Prefix::new(std::net::Ipv4Addr::new(192, 0, 7, 0), 24).expect("a prefix");
    let drop = net::Path::new(net::PathKind::Fixed(net::AdjIndex::DROP));
    let paths = [drop];
    let routes = [(better, &paths[..])].into_iter();
    fib.change_all(&world, net::TableIndex::DEFAULT, net::Source::Plugin, routes, |_, _| {});
    let hidden = route(prefix("192.0.7.0/24"), 254, &To::Blackhole);
    let away = To::Hops(vec![(77, Some(ip("172.16.0.1")), 1)]);
    let unresolved = route(prefix("192.0.8.0/24"), 254, &away);
    assert_eq!(stream.take(&world, &frame(&[hidden, unresolved])), Some(vec![]));
}

#[suite::test]
fn other_messages_are_refused_by_name() {
    let (rig, mut stream) = rig(1);
    let world = rig.world();
    let mpls = message(libc::RTM_NEWROUTE, &[28, 20, 0, 0, 254, 186, 0, 1, 0, 0, 0, 0]);
    let mac = message(libc::RTM_NEWNEIGH, &[7, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0]);
    let link = message(libc::RTM_NEWLINK, &[0; 16]);
    let mut cut = route(prefix("192.0.2.0/24"), 254, &To::Blackhole);
    cut[28] = 3;
    let mut of_source = route(prefix("192.0.2.0/24"), 254, &To::Blackhole);
    of_source[18] = 24;
    let local = route(prefix("192.0.2.0/24"), 255, &To::Blackhole);
    let group = route(prefix("224.1.0.0/16"), 254, &To::Blackhole);
    for (message, why) in [
        (mpls, Refused::Labels),
        (mac, Refused::Macs),
        (link, Refused::Other),
        (cut, Refused::Malformed),
        (of_source, Refused::Sources),
        (local, Refused::Own),
        (group, Refused::Own),
    ] {
        stream.engine.counts.refused.clear();
        assert!(stream.take(&world, &frame(std::slice::from_ref(&message))).is_some());
        assert_eq!(stream.engine.counts.refused, [(why, 1)].into(), "{message:?}");
    }
    assert_eq!(stream.engine.routes(&world)[0].routes, 0);
    // More routes than are allowed: those that are there may change.
    stream.engine.most = 1;
    let one = |n: u8, to: &To| frame(&[route(prefix(&format!("192.0.{n}.0/24")), 254, to)]);
    stream.engine.counts.refused.clear();
    stream.take(&world, &one(1, &To::Blackhole)).expect("taken");
    stream.take(&world, &one(2, &To::Blackhole)).expect("taken");
    stream.take(&world, &one(1, &hops(&[(0, "10.0.0.2", 1)]))).expect("taken");
    assert_eq!(stream.engine.counts.refused, [(Refused::Routes, 1)].into());
    assert_eq!(stream.engine.routes(&world)[0].routes, 1);
    // Messages of one frame count as they are in force: one that replaces takes no room, and one
    // that withdraws makes some.
    stream.engine.most = 2;
    stream.engine.counts.refused.clear();
    let to = |n: u8| route(prefix(&format!("192.0.{n}.0/24")), 254, &To::Blackhole);
    let no = |n: u8| no_route(prefix(&format!("192.0.{n}.0/24")), 254);
    stream.take(&world, &frame(&[to(1), to(1), to(1), to(2), no(1), to(3)])).expect("taken");
    assert!(stream.engine.counts.refused.is_empty());
    assert_eq!(stream.engine.routes(&world)[0].routes, 2);
    stream.take(&world, &frame(&[to(4), to(2), to(3)])).expect("taken");
    assert_eq!(stream.engine.counts.refused, [(Refused::Routes, 1)].into());
}

/// A message that is refused replaces the one before at the peer: that doesn't count any more.
#[suite::test]
fn refused_messages_end_what_was_before() {
    let (rig, mut stream) = rig(1);
    let world = rig.world();
    let at = |n: u8| prefix(&format!("192.0.{n}.0/24"));
    let by_object =
        [hop_object(10, (FIRST, Some(ip("10.0.0.2")), 1)), route(at(1), 254, &To::Object(10))];
    stream.take(&world, &frame(&by_object)).expect("taken");
    stream.take(&world, &frame(&[route(at(2), 254, &To::Blackhole)])).expect("taken");
    assert_eq!(stream.engine.routes(&world)[0].routes, 2);
    // The kernel's own instead; RTPROT_KERNEL is 2.
    let mut own = route(at(2), 254, &To::Blackhole);
    own[16 + 5] = 2;
    stream.take(&world, &frame(&[own])).expect("taken");
    assert_eq!(stream.engine.routes(&world)[0].routes, 1);
    // One for some sources only is another route.
    let mut of_source = route(at(1), 254, &To::Blackhole);
    of_source[16 + 2] = 24;
    stream.take(&world, &frame(&[of_source])).expect("taken");
    assert_eq!(stream.engine.routes(&world)[0].routes, 1);
    // An object that can't be used any more takes its routes along.
    stream.take(&world, &frame(&[group_object(10, &[(11, 1); MOST_HOPS + 1])])).expect("taken");
    assert_eq!(stream.engine.routes(&world)[0].routes, 0);
    let refused = [(Refused::Own, 1), (Refused::Sources, 1), (Refused::Hops, 1)];
    assert_eq!(stream.engine.counts.refused, refused.into());
}

/// Groups and routes of as many next hops as are allowed, and of more.
#[suite::test]
fn next_hops_are_bounded() {
    let (rig, mut stream) = rig(1);
    let world = rig.world();
    let addr = |n: usize| ip(&format!("10.0.0.{}", n % 250 + 2));
    let all = |n: usize| To::Hops((0..n).map(|n| (FIRST, Some(addr(n)), 1)).collect());
    let at = |n: usize| prefix(&format!("192.{}.{}.0/24", n / 256, n % 256));
    stream.take(&world, &frame(&[route(at(0), 254, &all(MOST_HOPS))])).expect("taken");
    assert_eq!(stream.engine.routes(&world)[0].routes, 1);
    stream.take(&world, &frame(&[route(at(0), 254, &all(MOST_HOPS + 1))])).expect("taken");
    assert_eq!(stream.engine.routes(&world)[0].routes, 0, "the former one goes");
    for n in 0..MOST_HOPS as u32 {
        let hop = hop_object(1 + n, (FIRST, Some(addr(n as usize)), 1));
        stream.take(&world, &frame(&[hop])).expect("taken");
    }
    let group = |n: u32| group_object(9000, &(1..=n).map(|id| (id, 1)).collect::<Vec<_>>());
    stream.take(&world, &frame(&[group(MOST_HOPS as u32)])).expect("taken");
    // Many routes by a large group: not all of their paths are kept at once.
    for n in 0..400 {
        let (sent, mut out) = (route(at(n), 254, &To::Object(9000)), Vec::new());
        for message in netlink::split(&sent) {
            let work = stream.engine.apply(&world, &message.expect("whole"), &mut out);
            assert_eq!(work, 1 + MOST_HOPS);
            assert!(stream.engine.ip4.pending() < 8192, "given to the table");
        }
    }
    stream
        .take(&world, &frame(&[hop_object(1, (FIRST, Some(ip("10.0.0.253")), 1))]))
        .expect("taken");
    assert_eq!(stream.engine.routes(&world)[0].routes, 400);
    stream.take(&world, &frame(&[group(8000)])).expect("taken");
    assert_eq!(stream.engine.routes(&world)[0].routes, 0);
    assert_eq!(stream.engine.counts.refused, [(Refused::Hops, 2)].into());
}

/// A table that an operator has deleted is made again for the next route.
#[suite::test]
fn a_deleted_table_is_made_again() {
    let (rig, mut stream) = rig(1);
    let world = rig.world();
    let sent = frame(&[route(prefix("192.0.2.0/24"), 7000, &To::Blackhole)]);
    stream.take(&world, &sent).expect("taken");
    let fib = world.get::<Fib<Ip4>>();
    fib.delete_table(&world, 7000, stream.engine.source).expect("deleted");
    assert!(fib.find_table(7000).is_err());
    stream.take(&world, &sent).expect("taken");
    assert!(fib.find_table(7000).is_ok());
    assert_eq!((stream.engine.routes(&world)[0].routes, stream.engine.counts.routes), (1, 2));
}
