// SPDX-License-Identifier: Apache-2.0
//! Broken packets: each passes or is dropped for a reason that is counted, and none ends the
//! router.

use super::*;
use testkit::mutate::Mutator;
use wire::{Icmp4Type, Icmp6Type, TcpFlags};

const PACKETS: usize = 100_000;
const ETHERNET: usize = 14;

/// Counters of packets that are dropped.
const DROPS: [&str; 13] = [
    "policy",
    "no_policy",
    "malformed",
    "fragment",
    "tcp_flags",
    "tcp_window",
    "tcp_acknowledgment",
    "tcp_reset",
    "tcp_handshake",
    "no_session",
    "icmp_error",
    "full",
    "rejected",
];
/// Counters of packets that pass.
const PASSED: [&str; 3] = ["session", "new", "permit"];

fn bases(v6: bool) -> Vec<Vec<u8>> {
    let us = if v6 { "2001:db8:0::1" } else { "10.0.0.1" };
    let to_us = || from_to_address(v6, 0, us);
    let tcp = |flags, seq, ack| to_us().tcp(1000, 80).segment(flags, seq, ack).payload_len(20);
    let mut all = vec![
        tcp(TcpFlags::SYN, 1, 0),
        tcp(TcpFlags::ACK, 22, 1),
        tcp(TcpFlags::FIN | TcpFlags::ACK, 42, 1),
        tcp(TcpFlags::RST, 42, 0),
        to_us().udp(5, 53).payload_len(30),
        to_us().udp(5, 54).payload_len(30),
        to_us().gre().payload_len(30),
    ];
    let quoted = all[4].build()[ETHERNET..].to_vec();
    if v6 {
        all.push(to_us().icmp6_echo(1, 1));
        all.push(to_us().icmp6(Icmp6Type::UNREACHABLE, 1, 0).payload(quoted));
        all.push(to_us().fragment6(7, 0, true).udp(5, 53).payload_len(40));
        all.push(to_us().fragment6(7, 48, false).protocol(wire::IpProtocol::UDP).payload_len(40));
    } else {
        all.push(to_us().icmp_echo(1, 1));
        all.push(to_us().icmp(Icmp4Type::UNREACHABLE, 1, 0).payload(quoted));
        all.push(to_us().fragment(0, true).udp(5, 53).payload_len(40));
        all.push(to_us().fragment(48, false).protocol(wire::IpProtocol::UDP).payload_len(40));
    }
    all.iter().map(Packet::build).collect()
}

#[suite::test]
fn every_broken_packet_is_counted_once() {
    for v6 in [false, true] {
        let mut rig = zones(false);
        for line in [
            "firewall limit sessions 500",
            "firewall limit half-open 100",
            "firewall policy from lan to self",
            "firewall rule from lan to self 1 accept proto tcp dport 0-1000",
            "firewall rule from lan to self 2 accept proto udp dport 53",
            "firewall rule from lan to self 3 accept proto icmp length 0-200",
            "firewall rule from lan to self 4 accept proto icmp6",
            "firewall rule from lan to self 5 reject proto gre",
        ] {
            rig.cli(line);
        }
        let (bases, mut mutator) = (bases(v6), Mutator::new(39));
        let (arc, node) = match v6 {
            true => ("ip6-local", "ip6-firewall-local"),
            false => ("ip4-local", LOCAL),
        };
        let (mut came, mut unchecked) = (0, 0);
        let counted = |rig: &Rig, names: &[&str]| -> u64 {
            names.iter().map(|name| rig.count(node, name)).sum()
        };
        while came < PACKETS {
            let n = 1 + mutator.rng().below(256);
            let frames = mutator.vector(&bases, n, ETHERNET);
            let packets: Vec<Vec<u8>> = frames.iter().map(|f| f[ETHERNET..].to_vec()).collect();
            came += n;
            let before = counted(&rig, &DROPS) + counted(&rig, &PASSED);
            rig.bench.feature(arc, rig.ports[0], &packets);
            let after = counted(&rig, &DROPS) + counted(&rig, &PASSED);
            unchecked += n as u64 - (after - before);
            rig.bench.world.clock.adjust(5_000_000);
        }
        // Neighbour discovery and IGMP aren't counted.
        assert!(unchecked * 100 < came as u64, "{unchecked} of {came} weren't counted");
        assert!(counted(&rig, &PASSED) * 5 > came as u64);
        for name in DROPS.iter().filter(|name| !["no_policy", "full"].contains(name)) {
            assert!(rig.count(node, name) > 0, "{name}");
        }
        rig.cli("clear firewall sessions");
        assert_eq!(rig.cli("show firewall sessions"), "0 sessions, 0 half-open TCP\n");
    }
}
