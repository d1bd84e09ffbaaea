// SPDX-License-Identifier: Apache-2.0
//! Frames that take the super-path, beside the same frames through the graph.

use crate::PLUGIN;
use graph::Plugin;
use net::drive::{Rig, at, port_mac};
use std::collections::{BTreeMap, BTreeSet};
use testkit::mutate::Mutator;
use testkit::{Rng, pkt};
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &PLUGIN,
    &icmp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &l2::PLUGIN,
];

/// The address of a host.
fn host(n: u8) -> MacAddr {
    MacAddr([2, 0xaa, 0, 0, 0, n])
}

/// A frame whose payload differs with `n` in each byte.
fn frame_to(src: MacAddr, dst: MacAddr, n: u8) -> Vec<u8> {
    let payload: Vec<_> = (0..100u8).map(|i| i.wrapping_mul(7).wrapping_add(n)).collect();
    [&dst.octets()[..], &src.octets(), &[0x88, 0xb5], &payload].concat()
}

/// A frame from one host to another.
fn frame(src: u8, dst: u8, n: u8) -> Vec<u8> {
    frame_to(host(src), host(dst), n)
}

/// Ports that are members of domain 1.
fn bridged(ports: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, ports);
    rig.cli("create bridge-domain 1");
    (0..ports).for_each(|i| drop(rig.cli(&format!("set interface l2 bridge p{i} 1"))));
    rig
}

/// Counters that depend on the clock, and on whether flushed entries are removed already.
const TIMED: [&str; 3] = ["L2 learn hit updates", "L2 learn misses", "L2 mac moves"];

/// Counters of all nodes, without the zeros and without [`TIMED`] ones.
fn counters(rig: &Rig) -> BTreeMap<(String, &'static str), u64> {
    let reasons = rig.bench.world.reasons();
    let all = reasons.into_iter().map(|r| {
        let n = rig.count(&r.node, r.reason);
        ((r.node.to_string(), r.reason), n)
    });
    all.filter(|((_, reason), n)| *n != 0 && !TIMED.contains(reason)).collect()
}

/// Frames that a node got.
fn vectors(rig: &Rig, node: &str) -> u64 {
    let node = rig.bench.world.node(node).expect("a node");
    rig.bench.world.stats.simple(graph::counters::VECTORS).sum(node.at())
}

/// Returns true if the node is enabled on a port.
fn is_used(rig: &Rig, port: usize) -> bool {
    rig.bench.world.is_feature_set("device-input", "l2-super-path", rig.ports[port]) == Ok(true)
}

/// Domain 1 with five ports, and two ports that are cross-connected, one of which has a
/// sub-interface in the domain.
fn set_up(rig: &mut Rig) {
    rig.cli("create bridge-domain 1");
    rig.cli("create sub-interfaces p6 7");
    rig.cli("set interface state p6.7 up");
    for line in [
        "set interface l2 bridge p0 1",
        "set interface l2 bridge p1 1 2",
        "set interface l2 bridge p2 1 2",
        "set interface l2 bridge p3 1",
        "set interface l2 bridge p4 1",
        "set interface l2 xconnect p5 p6",
        "set interface l2 xconnect p6 p5",
        "set interface l2 bridge p6.7 1",
        "set interface l2 tag-rewrite p6.7 pop 1",
        "l2fib add 02:aa:00:00:00:28 1 p3 static",
        "l2fib add 02:aa:00:00:00:29 1 filter",
        "l2fib add 02:aa:00:00:00:2a 1 p4",
    ] {
        rig.cli(line);
    }
}

/// Changes of the configuration between vectors.
const CHANGES: [&str; 18] = [
    "set interface l2 learn p0 disable",
    "set interface l2 learn p0",
    "set interface l2 forward p1 disable",
    "set interface l2 forward p1",
    "set bridge-domain forward 1 disable",
    "set bridge-domain forward 1",
    "set bridge-domain learn 1 disable",
    "set bridge-domain learn 1",
    "set interface state p2 down",
    "set interface state p2 up",
    "l2fib flush-mac interface p3",
    "l2fib flush-mac bridge-domain 1",
    "set interface l2 tag-rewrite p4 push dot1q 9",
    "set interface l2 tag-rewrite p4 disable",
    "set interface l3 p3",
    "set interface l2 bridge p3 1",
    "set interface l2 xconnect p0 p1",
    "set interface l2 bridge p0 1",
];

/// Frames of few stations, each mostly at its own port, some of them tagged, mutated or to groups.
/// In some vectors many frames in a row have the same addresses.
fn frames(rng: &mut Rng, mutator: &mut Mutator) -> (usize, Vec<Vec<u8>>) {
    let (port, n) = (rng.below(7), 1 + rng.below(200));
    let (has_rows, mut last) = (rng.one_in(2), None);
    let one = |_| {
        let station = |rng: &mut Rng| host((rng.below(7) * 6 + rng.below(6)) as u8);
        let source =
            if rng.one_in(8) { station(rng) } else { host((port * 6 + rng.below(6)) as u8) };
        let destination = if rng.one_in(20) { MacAddr::BROADCAST } else { station(rng) };
        let again = last.filter(|_| has_rows && !rng.one_in(16));
        let (source, destination) = again.unwrap_or((source, destination));
        last = Some((source, destination));
        let mut frame = frame_to(source, destination, rng.below(256) as u8);
        if rng.one_in(4) {
            frame.splice(12..12, [0x81, 0, 0, *rng.pick(&[0, 7, 9])]);
        }
        if rng.one_in(10) {
            mutator.mutate(&mut frame);
            frame.truncate(1500);
        }
        frame
    };
    let mut frames: Vec<Vec<u8>> = (0..n).map(one).collect();
    // Of frames to a station that moves in the same vector, the graph sends all to where it is at
    // the end. Each source may have been elsewhere before.
    let moved: BTreeSet<Vec<u8>> =
        frames.iter().filter_map(|frame| frame.get(6..12)).map(<[u8]>::to_vec).collect();
    frames.retain(|frame| frame.get(..6).is_none_or(|destination| !moved.contains(destination)));
    (port, frames)
}

/// The same frames at the same ports, the same counters of nodes and interfaces, whatever is
/// configured meanwhile.
#[suite::test]
fn it_switches_as_the_graph_does() {
    let mut rigs = [Rig::new(PLUGINS, 7), Rig::new(PLUGINS, 7)];
    for rig in &mut rigs {
        set_up(rig);
    }
    rigs[1].cli("set super-path off");
    assert!(
        (0..7).all(|port| is_used(&rigs[0], port)) && !(0..7).any(|port| is_used(&rigs[1], port))
    );
    let (mut rng, mut mutator) = (Rng::new(5), Mutator::new(6));
    for round in 0..3_000 {
        if rng.one_in(10) {
            let line = rng.pick(&CHANGES);
            // Refused if the port is in no domain at the time.
            let done = rigs.each_mut().map(|rig| rig.bench.cli(line).is_ok());
            assert_eq!(done[0], done[1], "{line}");
        }
        if rng.one_in(10) {
            rigs.iter_mut().for_each(|rig| rig.seconds(5));
        }
        let (port, frames) = frames(&mut rng, &mut mutator);
        let [fast, graph] = rigs.each_mut().map(|rig| rig.pass_all(port, &frames));
        let only = |a: &[(usize, Vec<u8>)], b: &[(usize, Vec<u8>)]| -> Vec<_> {
            a.iter().filter(|one| !b.contains(*one)).take(3).cloned().collect()
        };
        let differ = (only(&fast, &graph), only(&graph, &fast));
        assert!(fast == graph, "{round}: {} frames of port {port}: {differ:?}", frames.len());
    }
    let [fast, graph] = [&rigs[0], &rigs[1]].map(counters);
    let differ: Vec<_> =
        fast.keys().chain(graph.keys()).filter(|k| fast.get(*k) != graph.get(*k)).collect();
    assert!(
        differ.is_empty(),
        "{:?}",
        differ.iter().map(|k| (k, fast.get(*k), graph.get(*k))).collect::<Vec<_>>()
    );
    for port in rigs[0].ports.iter().copied() {
        assert_eq!(rigs[0].packets(port), rigs[1].packets(port));
    }
    let [few, all] = [&rigs[0], &rigs[1]].map(|rig| vectors(rig, "ethernet-input"));
    assert!(few * 4 < all * 3, "{few} of {all} took the graph");
}

/// Frames alone take it, too.
#[suite::test]
fn a_single_frame_takes_it() {
    let mut rig = bridged(3);
    rig.pass(1, &frame(2, 1, 0));
    rig.pass(0, &frame(1, 2, 0));
    let before = vectors(&rig, "ethernet-input");
    let one = frame(1, 2, 3);
    assert_eq!(rig.pass(0, &one), at(&[1], &one));
    rig.cli("set interface l2 xconnect p2 p0");
    assert_eq!(rig.pass(2, &one), at(&[0], &one));
    assert_eq!(vectors(&rig, "ethernet-input"), before);
    assert_eq!(
        (rig.count("l2-fwd", "L2 forward hits"), rig.count("l2-output", "L2 output packets")),
        (2, 5)
    );
}

/// Frames behind one by which a station moves are forwarded to the new port, in vectors of few and
/// of many frames.
#[suite::test]
fn frames_behind_a_move_follow_it() {
    for others in [0, 40] {
        let mut rig = bridged(3);
        rig.pass(1, &frame(2, 9, 0));
        rig.pass(0, &frame(1, 9, 0));
        rig.pass(2, &frame(3, 9, 0));
        let mut all: Vec<_> = (0..others).map(|n| frame(1, 3, n)).collect();
        let (before, moves, behind) = (frame(1, 2, 100), frame(2, 3, 101), frame(1, 2, 102));
        all.extend([before.clone(), moves, behind]);
        let sent = rig.pass_all(0, &all);
        let to_old: Vec<_> = sent.into_iter().filter(|(port, _)| *port == 1).collect();
        assert_eq!(to_old, at(&[1], &before), "{others} in front");
        assert_eq!(rig.count("l2-fwd", "Reflection Drop"), 1, "{others} in front");
    }
}

/// Packets of an interface that is switched are never routed, although it has an address and a
/// route.
#[suite::test]
fn nothing_is_routed_from_a_switched_interface() {
    let mut rig = Rig::new(PLUGINS, 3);
    for line in [
        "set interface ip address p0 10.0.0.1/24",
        "set interface ip address p1 10.0.1.1/24",
        "set ip neighbor p1 10.0.1.2 02:00:00:00:01:02",
    ] {
        rig.cli(line);
    }
    let packet = || {
        let to = pkt::ether(host(1), port_mac(0)).ip4("10.0.0.2", "10.0.1.2").ttl(9);
        to.udp(1, 2).payload_len(40).build()
    };
    let arc = rig.world().arc("device-input").expect("an arc");
    let super_path = |rig: &Rig| rig.world().features_of(arc, rig.ports[0]).contains(&"super-path");
    assert!(super_path(&rig));
    for n in [1, 20] {
        rig.receive_all(0, &vec![packet(); n]);
        let routed = rig.sent();
        assert_eq!(routed.len(), n);
        assert!(
            routed.iter().all(|(port, bytes)| *port == 1 && bytes[22] == 8),
            "TTL is less by one"
        );
    }
    rig.cli("set interface l2 bridge p0 1");
    rig.cli("set interface l2 bridge p2 1");
    assert!(!super_path(&rig));
    for n in [1, 20] {
        rig.receive_all(0, &vec![packet(); n]);
        assert_eq!(rig.sent(), vec![(2, packet()); n], "switched as it is");
    }
    let arp = pkt::arp_request("02:aa:00:00:00:01", "10.0.0.2", "10.0.0.1").pad_to(60).build();
    assert_eq!(rig.pass(0, &arp), at(&[2], &arp), "the router doesn't answer");
    rig.cli("set interface l3 p0");
    assert!(super_path(&rig));
    rig.receive_all(0, &[packet()]);
    assert!(matches!(&rig.sent()[..], [(1, bytes)] if bytes[22] == 8));
}
