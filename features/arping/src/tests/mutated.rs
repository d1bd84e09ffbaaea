// SPDX-License-Identifier: Apache-2.0
//! Mutated replies: each is counted or passes.

use super::*;
use crate::request::Request;
use crate::run::Run;
use std::time::Duration;
use testkit::mutate::Mutator;

#[suite::test]
fn mutated_replies_do_no_harm() {
    let mut rig = rig(1);
    let mut mutator = Mutator::new(0xa9);
    for (address, node) in [("10.0.0.9", "arping-input"), ("2001:db8::9", "arping6-input")] {
        let request = Request {
            address: address.parse().expect("an address"),
            sw_if: rig.ports[0],
            gratuitous: false,
            detects_conflicts: true,
            repeat: 1,
            interval: Duration::MAX,
        };
        let run = Run::new(&rig.world(), request).expect("it runs");
        let bases = match request.address.is_ipv6() {
            true => [true, false].map(|option| advertisement(OTHER, address, option)),
            false => [reply(OTHER, [10, 0, 0, 9]), reply(peer_mac(0), [10, 0, 0, 9])],
        };
        for _ in 0..2500 {
            for frame in mutator.vector(&bases, 20, 0) {
                rig.bench.arrive(rig.ports[0], &frame);
            }
            rig.bench.settle();
            rig.sent();
        }
        let (counted, stations) = (rig.count(node, "no error"), run.answers().stations);
        assert!((5_000..50_000).contains(&counted), "{node}: {counted}");
        assert!(stations.iter().all(|(mac, n)| mac.is_unicast() && *n > 0), "{stations:?}");
    }
}
