// SPDX-License-Identifier: Apache-2.0
//! A hundred thousand broken packets: none stops a node, and each is accounted for.

use super::*;
use ::nat::drive::{BROKEN, receive_broken};
use wire::{Icmp4Type, Icmp6Type};

/// The end that the world sees of the user's ports 5000.
const STATIC: u16 = 6000;

/// Packets of users, and of the world, to what is known and what isn't.
fn bases(port: usize) -> Vec<Vec<u8>> {
    if port == 0 {
        let of = || of_user(USER, HOST6);
        let inner = pkt::ip6(HOST6, USER).udp(53, 5000).payload_len(30).build();
        return vec![
            of().udp(5000, 53).payload_len(40).build(),
            syn(of(), 5000, 53).build(),
            of().tcp(5000, 53).segment(TcpFlags::ACK, 1, 1).payload_len(9).build(),
            of().icmp6_echo(5000, 1).payload_len(20).build(),
            reply6(of(), 5000).payload_len(20).build(),
            of().icmp6(Icmp6Type::UNREACHABLE, 4, 0).payload(&inner).build(),
            of().icmp6(Icmp6Type::PACKET_TOO_BIG, 0, 1300).payload(&inner[..48]).build(),
            of().gre().payload_len(20).build(),
            of().ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0]).udp(5000, 53).build(),
            of().fragment6(7, 0, true).protocol(IpProtocol::UDP).payload(vec![1; 64]).build(),
            of().fragment6(7, 64, false).protocol(IpProtocol::UDP).payload(vec![1; 64]).build(),
            of_user(USER, "64:ff9b::192.0.2.7").udp(5000, STATIC).payload_len(40).build(),
        ];
    }
    let of = || of_world(HOST, PUBLIC);
    let inner = pkt::ip4(PUBLIC, HOST).udp(STATIC, 53).payload_len(30).build();
    vec![
        of().udp(53, STATIC).payload_len(40).build(),
        of().udp(53, STATIC).payload_len(1400).build(),
        syn(of(), 53, STATIC).build(),
        of().tcp(53, STATIC).segment(TcpFlags::ACK, 1, 1).payload_len(9).build(),
        of().icmp_echo(STATIC, 1).payload_len(20).build(),
        of().icmp_echo_reply(STATIC, 1).payload_len(20).build(),
        of().icmp(Icmp4Type::UNREACHABLE, 3, 0).payload(&inner).build(),
        of().icmp(Icmp4Type::TIME_EXCEEDED, 0, 0).payload(&inner[..28]).build(),
        of().gre().payload_len(20).build(),
        of().options([7, 3, 4, 1]).udp(53, STATIC).build(),
        of().id(7).fragment(0, true).protocol(IpProtocol::UDP).payload(vec![1; 64]).build(),
        of().id(7).fragment(64, false).protocol(IpProtocol::UDP).payload(vec![1; 64]).build(),
    ]
}

#[suite::test]
fn broken_packets_are_accounted_for() {
    let mut rig = with_pool();
    for protocol in ["udp", "tcp", "icmp"] {
        rig.cli(&format!("nat64 add static bib {USER} 5000 {PUBLIC} {STATIC} {protocol}"));
    }
    rig.cli("set nat64 timeout udp 2 icmp 1 tcp-transitory 1 tcp-established 3");
    for version in ["ip4", "ip6"] {
        rig.cli(&format!("set {version}-sv-reassembly timeout 10"));
    }
    let bases = [bases(0), bases(1)];
    receive_broken(&mut rig, &bases);
    rig.seconds(60);
    assert_eq!((total(&rig, "bibs"), total(&rig, "sessions")), (3, 0), "all sessions end");
    let (mut translated, mut drops) = (0, 0);
    for direction in ["in2out", "out2in"] {
        for kind in ["tcp", "udp", "icmp", "other", "drops"] {
            let simple = rig.bench.world.stats.simple(&format!("/nat64/{direction}/{kind}"));
            let n = rig.ports.iter().map(|port| simple.sum(port.at())).sum::<u64>();
            *if kind == "drops" { &mut drops } else { &mut translated } += n;
        }
    }
    let reasons = [
        "unsupported protocol",
        "no translation",
        "out of ports",
        "maximum BIB entries exceeded",
        "maximum sessions exceeded",
        "unknown",
    ];
    let nodes = ["nat64-in2out", "nat64-in2out-slowpath", "nat64-out2in", "nat64-hairpin"];
    let of = |node: &str| reasons.iter().map(|reason| rig.count(node, reason)).sum::<u64>();
    let counted: u64 = nodes.iter().map(|node| of(node)).sum();
    assert_eq!(drops, counted, "each drop has its reason");
    assert!(translated > BROKEN as u64 / 5, "{translated}");
}
