// SPDX-License-Identifier: Apache-2.0
//! A hundred thousand broken packets: none stops a node, and each is accounted for.

use super::*;
use ::nat::drive::{BROKEN, bases, receive_broken, translated_and_drops};

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
    let mut bases = [0, 1].map(|port| bases(port, 5000));
    for (port, from) in ["10.0.0.2", "10.0.1.2"].into_iter().enumerate() {
        let (own, of) = ([5000, 53][port], packet(port, from, PUBLIC));
        bases[port].push(of.udp(own, 53).payload_len(20).build());
    }
    receive_broken(&mut rig, &bases);
    check(&mut rig);
    rig.seconds(60);
    assert_eq!(stat(&rig, "total-sessions", 0), 0, "all sessions end");
    let (translated, drops) = translated_and_drops(&rig, "nat44-ei");
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
    assert!(translated > BROKEN as u64 / 10, "{translated}");
}
