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
    let own = port_of(2, 5000);
    let inner = match port {
        0 => pkt::ip4("10.0.1.2", "10.0.0.2").udp(53, 5000).payload_len(30).build(),
        _ => pkt::ip4(PUBLIC, "10.0.1.2").udp(own, 53).payload_len(30).build(),
    };
    let (a, b) = if port == 0 { (5000, 53) } else { (53, own) };
    let id = if port == 0 { 5000 } else { own };
    vec![
        of().udp(a, b).payload_len(40).build(),
        tcp(of(), (a, b), TcpFlags::SYN).build(),
        tcp(of(), (a, b), TcpFlags::ACK).payload_len(9).build(),
        of().icmp_echo(id, 1).payload_len(20).build(),
        of().icmp_echo_reply(id, 1).payload_len(20).build(),
        of().icmp(Icmp4Type::UNREACHABLE, 3, 0).payload(&inner).build(),
        of().icmp(Icmp4Type::TIME_EXCEEDED, 0, 0).payload(&inner[..28]).build(),
        of().gre().payload_len(20).build(),
        of().options([7, 3, 4, 1]).udp(a, b).build(),
        of().id(7).fragment(0, true).protocol(IpProtocol::UDP).payload(vec![1; 64]).build(),
        of().id(7).fragment(64, false).protocol(IpProtocol::UDP).payload(vec![1; 64]).build(),
    ]
}

#[suite::test]
fn broken_packets_are_accounted_for() {
    let mut rig = router();
    rig.cli("set det44 timeouts udp 2 icmp 1 tcp transitory 1 tcp established 3");
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
    rig.seconds(60);
    assert_eq!(total(&rig), 0, "all sessions end");
    assert!(rig.cli("show det44 mappings").contains("sessions number: 0"));
    for (node, good) in
        [(IN2OUT, "Good in2out packets processed"), (OUT2IN, "Good out2in packets processed")]
    {
        let translated = rig.count(node, good);
        assert!(translated > PACKETS as u64 / 10, "{node}: {translated}");
        for reason in ["No translation", "Unsupported protocol"] {
            assert!(rig.count(node, reason) > 0, "{node}: {reason}");
        }
    }
}
