// SPDX-License-Identifier: Apache-2.0
//! A hundred thousand broken packets: none stops a node, and each is accounted for.

use super::*;
use testkit::mutate::Mutator;
use wire::{Icmp6Type, IpProtocol, TcpFlags};

const PACKETS: usize = 100_000;

fn bases(port: usize) -> Vec<Vec<u8>> {
    let (from, to) = if port == 0 { (HOST, WORLD) } else { (WORLD, PUBLIC) };
    let inner = match port {
        0 => pkt::ip6(WORLD, HOST).udp(53, 5000).payload_len(30).build(),
        _ => pkt::ip6(PUBLIC, WORLD).udp(5000, 53).payload_len(30).build(),
    };
    let of = || pkt::ip6(from, to);
    vec![
        of().udp(5000, 53).payload_len(40).build(),
        of().tcp(1, 2).segment(TcpFlags::SYN, 1, 1).payload_len(9).build(),
        of().icmp6_echo(5000, 1).payload_len(20).build(),
        of().icmp6(Icmp6Type::UNREACHABLE, 3, 0).payload(&inner).build(),
        of().icmp6(Icmp6Type::PACKET_TOO_BIG, 0, 0).payload(&inner[..41]).build(),
        of().ext(IpProtocol::DEST_OPTIONS, [0, 1, 4, 0, 0, 0, 0]).udp(1, 2).build(),
        of().fragment6(7, 0, true).udp(1, 2).payload(vec![1; 64]).build(),
        of().fragment6(7, 64, false).protocol(IpProtocol::UDP).payload(vec![1; 64]).build(),
    ]
}

/// The node sends each packet somewhere, with valid checksums where they were, and changes no more
/// than addresses and checksums.
#[suite::test]
fn broken_packets_are_accounted_for() {
    let mut rig = router();
    let mut mutator = Mutator::new(66);
    let bases = [bases(0), bases(1)];
    let mut translated = 0;
    for n in 0..PACKETS {
        let port = n % 2;
        let mut packet = mutator.rng().pick(&bases[port]).clone();
        if !mutator.rng().one_in(4) {
            let _ = mutator.mutate(&mut packet);
        }
        let was_valid = l4::verify(&packet) == Ok(Verdict::Valid);
        let sent = std::slice::from_ref(&packet);
        let out = rig.bench.feature("ip6-unicast", rig.ports[port], sent);
        assert_eq!(out.len(), 1, "{packet:02x?}");
        let out = &out[0];
        if out.node == "error-drop" {
            assert!(out.reason.is_some(), "{packet:02x?}");
            continue;
        }
        assert_eq!(out.bytes.len(), packet.len());
        let changed = out.bytes.iter().zip(&packet).filter(|(a, b)| a != b).count();
        assert!(changed <= 16 + 2 + 16 + 2, "{changed}: {packet:02x?}");
        translated += usize::from(changed > 0);
        let upper = UpperLayer::find6(&packet);
        if was_valid && upper.is_ok_and(|upper| !upper.is_fragment()) {
            assert_eq!(l4::verify(&out.bytes), Ok(Verdict::Valid), "{packet:02x?}");
        }
    }
    assert!(translated > PACKETS / 5, "{translated}");
}
