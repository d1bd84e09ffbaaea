// SPDX-License-Identifier: Apache-2.0
//! Fragments that are never completed, in many buffers each and in many nodes at once: others don't
//! run short.

use super::*;
use net::drive::{Recorded, Recorder};
use net::{Neighbor, Neighbors};
use std::net::IpAddr;
use testkit::pkt;
use wire::IpProtocol;

const PEERS: [&str; 2] = ["10.0.0.9", "2001:db8::9"];

/// An instance whose interface takes packets of 9000 bytes and has two neighbours.
fn jumbo() -> (Bench, SwIfIndex) {
    let mut bench = Bench::new(PLUGINS);
    let new = net::NewInterface { mtu: 9000, ..ethernet("t0", MacAddr([2, 0, 0, 0, 0, 1])) };
    let interfaces = bench.world.get::<Interfaces>();
    let sw_if = interfaces
        .create(&bench.world, new, |world, _, sw_if| Recorder::new(world, sw_if))
        .expect("created");
    run(&mut bench, "set interface state t0 up");
    let world = &bench.world;
    world
        .get::<Addresses<Ip4>>()
        .add(world, sw_if, "10.0.0.1/24".parse().expect("a prefix"))
        .expect("added");
    let prefix = "2001:db8::1/64".parse().expect("a prefix");
    world.get::<Addresses<Ip6>>().add(world, sw_if, prefix).expect("added");
    for peer in PEERS {
        let ip: IpAddr = peer.parse().expect("an address");
        world
            .get::<Neighbors>()
            .set(world, Neighbor::new(sw_if, ip, MacAddr([2, 0, 0, 0, 0, 9])))
            .expect("set");
    }
    (bench, sw_if)
}

/// A piece of a datagram with more to come, in five buffers.
fn fragment(v6: bool, dst: &str, id: u16, at: u16) -> Vec<u8> {
    let payload = vec![id as u8; 8968];
    if v6 {
        let packet = pkt::ip6("2001:db8:9::9", dst).fragment6(id.into(), at, true);
        packet.protocol(IpProtocol::UDP).payload(payload).build()
    } else {
        pkt::ip4("192.0.2.9", dst)
            .id(id)
            .fragment(at, true)
            .protocol(IpProtocol::UDP)
            .payload(payload)
            .build()
    }
}

/// Pings the router with 8000 bytes, and compares all of the answer.
fn ping(bench: &mut Bench, sw_if: SwIfIndex, seq: u16) {
    let payload: Vec<u8> = (0..8000).map(|i| (i * 7 + usize::from(seq)) as u8).collect();
    let four = pkt::ip4(PEERS[0], "10.0.0.1").icmp_echo(1, seq).payload(&payload).build();
    let six = pkt::ip6(PEERS[1], "2001:db8::1").icmp6_echo(1, seq).payload(&payload).build();
    for (node, packet, header) in [("ip4-input", four, 28), ("ip6-input", six, 48)] {
        bench.send(node, &packet, |b| b.rx_if = sw_if.0);
        let sent = bench.world.get::<Recorded>().take();
        let answers: Vec<_> = sent.iter().filter(|(_, bytes)| bytes.len() > 8000).collect();
        assert_eq!(answers.len(), 1, "{node} {seq}");
        assert_eq!(answers[0].1.get(14 + header..), Some(&payload[..]), "{node} {seq}");
    }
}

#[suite::test]
fn fragments_of_jumbo_frames_leave_buffers_for_others() {
    let (mut bench, sw_if) = jumbo();
    let limit = bench.world.pool.limit();
    let phases: [(&[&str], [&str; 2]); 3] = [
        (&[], ["10.0.0.1", "2001:db8::1"]),
        (&["set interface reassembly t0 on"], ["10.1.0.1", "2001:db8:1::1"]),
        (
            &["set interface reassembly t0 off", "set interface virtual-reassembly t0 on"],
            ["10.1.0.1", "2001:db8:1::1"],
        ),
    ];
    let mut id = 0;
    for (commands, targets) in phases {
        for command in commands {
            run(&mut bench, command);
        }
        for round in 0..40 {
            // Of each datagram seven fragments behind the first: none completes it, and none has
            // its upper-layer header.
            for (node, v6) in [("ip4-input", false), ("ip6-input", true)] {
                for at in 1..8 {
                    let packet =
                        fragment(v6, targets[usize::from(v6)], id, at * 8968 % 65_000 / 8 * 8);
                    bench.send(node, &packet, |b| b.rx_if = sw_if.0);
                }
            }
            id += 1;
            if round % 10 == 9 {
                ping(&mut bench, sw_if, id);
            }
        }
    }
    let shares = bench.world.pool.shares();
    let share = shares.iter().find(|s| s.name == "reassembly").expect("it holds some");
    assert_eq!(share.limit as usize, limit * 3 / 16);
    assert!(share.held > share.limit / 2 && share.held <= share.limit, "{share:?}");
    assert!(share.most <= share.limit && share.refused > 100, "{share:?}");
    let free: Vec<_> = std::iter::from_fn(|| bench.rt.cache().alloc()).collect();
    assert!(free.len() > limit * 5 / 8, "{} of {limit}", free.len());
    drop(free);
    assert_eq!(bench.world.pool.stats().failures, 1, "all that were wanted until now were there");
    let nodes = [
        "ip4-local-full-reassembly",
        "ip6-local-full-reassembly",
        "ip4-full-reassembly-feature",
        "ip6-full-reassembly-feature",
        "ip4-sv-reassembly-feature",
        "ip6-sv-reassembly-feature",
    ];
    for node in nodes {
        assert!(bench.count(node, "reass_limit_reached") > 0, "{node}");
    }
    // Held buffers come back after the timeout.
    pass(&mut bench, 6000);
    bench.settle();
    assert_eq!(bench.world.pool.shares().iter().map(|s| s.held).sum::<u32>(), 0);
}
