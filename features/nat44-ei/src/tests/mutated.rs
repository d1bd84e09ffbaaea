// SPDX-License-Identifier: Apache-2.0
//! A hundred thousand broken packets: none stops a node, and each is accounted for.

use super::*;
use testkit::mutate::Mutator;
use wire::Icmp4Type;

const PACKETS: usize = 100_000;

/// Packets of known sessions and others, in both directions.
fn bases(port: usize) -> Vec<Vec<u8>> {
    let (from, to) = if port == 0 { ("10.0.0.2", "10.0.1.2") } else { ("10.0.1.2", PUBLIC) };
    let of = || packet(port, from, to);
    let inner = match port {
        0 => pkt::ip4("10.0.1.2", "10.0.0.2").udp(53, 5000).payload_len(30).build(),
        _ => pkt::ip4(PUBLIC, "10.0.1.2").udp(5000, 53).payload_len(30).build(),
    };
    let (a, b) = if port == 0 { (5000, 53) } else { (53, 5000) };
    vec![
        of().udp(a, b).payload_len(40).build(),
        syn(of(), a, b).build(),
        of().tcp(a, b).segment(TcpFlags::ACK, 1, 1).payload_len(9).build(),
        of().icmp_echo(5000, 1).payload_len(20).build(),
        of().icmp_echo_reply(5000, 1).payload_len(20).build(),
        of().icmp(Icmp4Type::UNREACHABLE, 3, 0).payload(&inner).build(),
        of().icmp(Icmp4Type::TIME_EXCEEDED, 0, 0).payload(&inner[..28]).build(),
        of().gre().payload_len(20).build(),
        of().options([7, 3, 4, 1]).udp(a, b).build(),
        of().id(7).fragment(0, true).protocol(IpProtocol::UDP).payload(vec![1; 64]).build(),
        of().id(7).fragment(64, false).protocol(IpProtocol::UDP).payload(vec![1; 64]).build(),
        packet(port, from, PUBLIC).udp(a, 53).payload_len(20).build(),
    ]
}

#[suite::test]
fn broken_packets_are_accounted_for() {
    let mut rig = with_pool();
    rig.cli("nat44 ei addr-port-assignment-alg port-range 4990 - 5010");
    for protocol in ["tcp", "udp"] {
        rig.cli(&format!(
            "nat44 ei add static mapping {protocol} local 10.0.0.2 80 external 192.0.2.7 53"
        ));
    }
    rig.cli("set nat44 ei timeout udp 2 icmp 1 tcp-transitory 1 tcp-established 3");
    rig.cli("set ip4-sv-reassembly timeout 10");
    let bases = [bases(0), bases(1)];
    let mut mutator = Mutator::new(9);
    let mut came = 0;
    while came < PACKETS {
        let port = mutator.rng().below(2);
        let frames = mutator.vector(&bases[port], 128, ETHERNET);
        came += frames.len();
        rig.receive_all(port, &frames);
        rig.sent();
        rig.bench.world.clock.adjust(3_000_000);
    }
    check(&mut rig);
    rig.seconds(60);
    assert_eq!(stat(&rig, "total-sessions", 0), 0, "all sessions end");
    let (mut translated, mut drops) = (0, 0);
    for direction in ["in2out", "out2in"] {
        for path in ["fastpath", "slowpath"] {
            for kind in ["tcp", "udp", "icmp", "other", "drops"] {
                let name = format!("{direction}/{path}/{kind}");
                let n = rig.ports.iter().map(|port| stat(&rig, &name, port.at())).sum::<u64>();
                *if kind == "drops" { &mut drops } else { &mut translated } += n;
            }
        }
    }
    let all = [
        "out of ports",
        "maximum sessions exceeded",
        "cannot create NAT user",
        "unsupported ICMP type",
        "unsupported protocol",
        "no translation",
    ];
    let count = |node| -> u64 { all.iter().map(|reason| rig.count(node, reason)).sum() };
    let reasons = count("nat44-ei-in2out") + count(SLOW) + count(BACK);
    assert_eq!(drops, reasons, "each drop has its reason");
    assert!(translated > PACKETS as u64 / 10, "{translated}");
}
