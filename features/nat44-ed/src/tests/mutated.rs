// SPDX-License-Identifier: Apache-2.0
//! A hundred thousand broken packets: none stops a node, and each is accounted for.

use super::*;
use ::nat::drive::{BROKEN, bases, receive_broken, translated_and_drops};

#[suite::test]
fn broken_packets_are_accounted_for() {
    let mut rig = with_pool();
    rig.cli("nat44 add static mapping tcp local 10.0.0.2 80 external 192.0.2.7 53 ");
    rig.cli("set nat timeout udp 2 icmp 1 tcp-transitory 1 tcp-established 3");
    rig.cli("set ip4-sv-reassembly timeout 10");
    receive_broken(&mut rig, &[0, 1].map(|port| bases(port, 5000)));
    rig.seconds(60);
    let total = rig.bench.world.stats.simple("/nat44-ed/total-sessions").sum(0);
    assert_eq!(total, 0, "all sessions end");
    let (translated, drops) = translated_and_drops(&rig, "nat44-ed");
    let all = [
        "out of ports",
        "maximum sessions exceeded",
        "non-SYN packet try to create session",
        "unsupported ICMP type",
        "unsupported protocol",
        "couldn't translate packet",
    ];
    let back =
        ["no translation", "drops due to TCP in transitory timeout", "hash table add failed"];
    let count = |node, reasons: &[&str]| -> u64 {
        reasons.iter().map(|reason| rig.count(node, reason)).sum()
    };
    let reasons = count("nat44-ed-in2out-slowpath", &all)
        + count("nat44-ed-out2in-slowpath", &all)
        + count("nat44-ed-out2in-slowpath", &back);
    assert_eq!(drops, reasons, "each drop has its reason");
    assert!(translated > BROKEN as u64 / 5, "{translated}");
}
