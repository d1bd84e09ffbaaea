// SPDX-License-Identifier: Apache-2.0
//! Mutated messages: each is read, or dropped by name.

use super::*;
use crate::packet::Numbers;
use crate::router::Query;
use testkit::mutate::Mutator;

#[suite::test]
fn mutated_messages_do_no_harm() {
    let mut rig = rig(2);
    rig.cli("igmp enable router p0");
    rig.cli("igmp enable host p1");
    rig.cli("igmp listen int p1 saddr 10.9.0.1 gaddr 239.1.1.1");
    rig.cli("igmp proxy-dev add vrf-id 0 p1");
    rig.cli("igmp proxy-dev itf add vrf-id 0 p0");
    rig.cli("test igmp timers query 5 src 20 leave 2");
    let numbers = Numbers { response: 10, interval: 60 };
    let query = Query { group: ip("239.1.1.1"), sources: set(&["10.9.0.1", "10.9.0.2"]) };
    let bases = |i: usize| {
        let kinds = 1..=6u8;
        let mut all: Vec<_> = kinds
            .map(|kind| report(i, &[record(kind, "239.1.1.1", &["10.9.0.1", "10.9.0.3"])]))
            .collect();
        all.push(report(i, &[record(Kind::ALLOW, "239.1.1.3", &[]), record(4, "239.1.1.4", &[])]));
        all.extend(packet::queries(peer(i), 1500, numbers, None));
        all.extend(packet::queries(peer(i), 1500, numbers, Some(&query)));
        all
    };
    let bases = [bases(0), bases(1)];
    let mut mutator = Mutator::new(0x19);
    for round in 0..5000 {
        let port = round % 2;
        for mut frame in mutator.vector(&bases[port], 20, 0) {
            // Faults behind good checksums.
            if mutator.rng().one_in(2) && frame.len() > 46 {
                wire::igmp::set_checksum(&mut frame[38..]);
            }
            rig.bench.arrive(rig.ports[port], &frame);
        }
        rig.bench.settle();
        if round % 8 == 0 {
            rig.bench.world.clock.adjust(SECOND / 2);
            rig.bench.settle();
            sent(&rig);
        }
    }
    let valid = |node| rig.count(node, "valid igmp packets");
    assert!(valid("igmp-parse-report") > 5000 && valid("igmp-parse-query") > 2000);
    assert!(rig.count("igmp-input", "bad checksum") > 1000);
    assert!(rig.count("igmp-parse-report", "bad length") > 100);
    // All hosts fall silent.
    rig.seconds(60);
    assert!(listed(&rig, 0).is_empty());
    assert_eq!(listed(&rig, 1), [(ip("239.1.1.1"), ip("10.9.0.1"))]);
    assert!(!rig.cli("show ip mfib").contains("239.1.1."));
}
