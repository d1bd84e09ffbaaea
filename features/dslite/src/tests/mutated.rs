// SPDX-License-Identifier: Apache-2.0
//! A hundred thousand broken packets: none stops a node, and all sessions end.

use super::*;
use testkit::mutate::Mutator;
use wire::Icmp4Type;

const PACKETS: usize = 100_000;

/// Packets of known sessions and others, in both directions.
fn bases(port: usize, own: u16) -> Vec<Vec<u8>> {
    let of = || match port {
        0 => of_user(B4, USER, HOST),
        _ => of_world(HOST, PUBLIC),
    };
    let (a, b) = if port == 0 { (5000, 53) } else { (53, own) };
    let id = if port == 0 { 5000 } else { own };
    let inner = match port {
        0 => pkt::ip4(HOST, USER).udp(53, 5000).payload_len(30).build(),
        _ => pkt::ip4(PUBLIC, HOST).udp(own, 53).payload_len(30).build(),
    };
    vec![
        of().udp(a, b).payload_len(40).build(),
        syn(of(), a, b).build(),
        of().tcp(a, b).segment(TcpFlags::FIN, 1, 1).payload_len(9).build(),
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
fn broken_packets_stop_nothing() {
    let mut rig = with_pool();
    let own = one(&mut rig, 0, &of_user(B4, USER, HOST).udp(5000, 53)).seen.from.1;
    for version in ["ip4", "ip6"] {
        rig.cli(&format!("set {version}-full-reassembly timeout 10"));
    }
    let bases = [bases(0, own), bases(1, own)];
    let mut mutator = Mutator::new(9);
    let mut came = 0;
    while came < PACKETS {
        let port = mutator.rng().below(2);
        let frames = mutator.vector(&bases[port], 128, ETHERNET);
        came += frames.len();
        rig.receive_all(port, &frames);
        rig.sent();
        rig.bench.world.clock.adjust(1_000_000);
    }
    for (node, good) in [
        ("dslite-in2out", "valid in2out DS-Lite packets"),
        ("dslite-out2in", "valid out2in DS-Lite packets"),
    ] {
        let translated = rig.count(node, good);
        assert!(translated > PACKETS as u64 / 20, "{node}: {translated}");
        for reason in ["no translation", "unsupported protocol"] {
            assert!(rig.count(node, reason) > 0, "{node}: {reason}");
        }
    }
    rig.seconds(7500);
    assert_eq!((total(&rig, "b4s"), total(&rig, "sessions")), (0, 0), "all sessions end");
}
