// SPDX-License-Identifier: Apache-2.0
//! A hundred thousand broken packets: none stops a node, and each is accounted for.

use super::*;
use testkit::mutate::Mutator;
use wire::TcpFlags;

const PACKETS: usize = 100_000;

fn bases() -> Vec<Vec<u8>> {
    let of = || pkt::ip4(A, B);
    vec![
        of().udp(5000, 53).payload_len(40).build(),
        of().udp(5000, 54).payload_len(3).build(),
        of().tcp(5000, 53).segment(TcpFlags::SYN, 1, 1).payload_len(9).build(),
        of().icmp_echo(5000, 1).payload_len(20).build(),
        of().gre().payload_len(20).build(),
        of().options([7, 3, 4, 1]).udp(5000, 53).build(),
        of().id(7).fragment(0, true).udp(5000, 53).payload(vec![1; 64]).build(),
    ]
}

/// The node sends each packet somewhere, with valid checksums where they were, and changes no more
/// than it was told to.
#[suite::test]
fn broken_packets_are_accounted_for() {
    let mut rig = router(&[
        "pnat binding 0 match proto udp dport 53 rewrite dst 192.0.2.1 dport 99",
        "pnat binding 1 match proto tcp dport 53 rewrite src 192.0.2.2 sport 98",
        "pnat binding 2 match proto udp dport 54 rewrite src 192.0.2.3 copy 20 to 30 clear 35",
        "set interface pnat p0 in binding 0",
        "set interface pnat p0 in binding 1",
        "set interface pnat p0 in binding 2",
    ]);
    // Broken fragments would wait for their datagram.
    let arc = "ip4-unicast";
    let world = rig.world();
    world.set_feature(arc, "ip4-sv-reassembly-feature", rig.ports[0], false).expect("off");
    let bases = bases();
    let mut mutator = Mutator::new(7);
    for _ in 0..PACKETS {
        let mut packet = mutator.rng().pick(&bases).clone();
        if !mutator.rng().one_in(4) {
            let _ = mutator.mutate(&mut packet);
        }
        let upper = UpperLayer::find4(&packet);
        let was_valid = l4::verify(&packet) == Ok(Verdict::Valid);
        let sent = std::slice::from_ref(&packet);
        let out = rig.bench.feature(arc, rig.ports[0], sent);
        assert_eq!(out.len(), 1, "{packet:02x?}");
        if out[0].node == "error-drop" {
            assert!(out[0].reason.is_some(), "{packet:02x?}");
            continue;
        }
        let changed = out[0].bytes.iter().zip(&packet).filter(|(a, b)| a != b).count();
        assert!(out[0].bytes.len() == packet.len() && changed <= 4 + 2 + 2 + 2 + 2);
        if was_valid && upper.is_ok_and(|upper| !upper.is_fragment()) {
            assert_eq!(l4::verify(&out[0].bytes), Ok(Verdict::Valid), "{packet:02x?}");
        }
    }
    let count = |reason| rig.count("pnat-input", reason);
    let all = count("none") + count("rewrite") + count("tooshort");
    assert_eq!(all, PACKETS as u64);
    assert!(count("rewrite") > PACKETS as u64 / 5 && count("tooshort") > 0);
}
