// SPDX-License-Identifier: Apache-2.0
//! The whole path of a packet.

use super::*;
use graph::drive::Outcome;

#[suite::test]
fn a_packet_is_forwarded() {
    let mut bench = router();
    let out = bench.node("ip4-input", &[udp("20.1.2.3").build()], |b| b.rx_if = T1.0);
    assert_eq!(out[0].node, "ip4-lookup");
    let tx = bench.index("t2-tx");
    bench.send("ip4-input", &udp("20.1.2.3").build(), |b| b.rx_if = T1.0);
    let calls = bench.world.stats.simple("/sys/node/vectors");
    assert_eq!(calls.sum(tx.at()), 1);
    assert_eq!(bench.drops(), 0);
}

/// Runs the three nodes over a packet that comes in by `t1`.
pub fn through(bench: &mut Bench, packet: &[u8]) -> Vec<Outcome> {
    let nodes = ["ip6-input", "ip6-lookup", "ip6-link-local", "ip6-lookup", "ip6-rewrite"]
        .map(|n| bench.index(n));
    bench.rt.receive();
    let mut b = bench.buffer(packet);
    b.rx_if = T1.0;
    bench.rt.inject(nodes[0], b);
    nodes.into_iter().for_each(|node| bench.rt.run_node(node));
    bench.collect()
}

#[suite::test]
fn an_ipv6_packet_is_forwarded() {
    let mut bench = router6();
    for to in ["3000::1", "3001::1", "2001:db8:2::2"] {
        let packet = udp6(to).build();
        let out = through(&mut bench, &packet);
        let mut want = [&NEIGHBOR_MAC[..], &[2, 0, 0, 0, 0, 2, 0x86, 0xdd], &packet].concat();
        want[14 + 7] -= 1;
        assert_eq!((out[0].node.as_str(), &out[0].bytes), ("t2-output", &want), "{to}");
        bench.send("ip6-input", &packet, |b| b.rx_if = T1.0);
    }
    let tx = bench.index("t2-tx");
    let calls = bench.world.stats.simple("/sys/node/vectors");
    assert_eq!(calls.sum(tx.at()), 3);
    assert_eq!(bench.drops(), 0);
}

#[suite::test]
fn both_versions_have_the_same_nodes() {
    let bench = router();
    let names: Vec<_> =
        bench.world.nodes().iter().filter(|n| !n.missing).map(|n| n.name.to_string()).collect();
    // Checksums and options are headers' own.
    for name in names.iter().filter(|n| {
        n.starts_with("ip4-") && !["ip4-input-no-checksum", "ip4-options"].contains(&&***n)
    }) {
        assert!(names.contains(&name.replace("ip4", "ip6")), "{name}");
    }
    assert!(names.iter().all(|name| !name.contains('{')));
    let reasons = bench.world.reasons();
    let of =
        |node| reasons.iter().filter(move |r| &*r.node == node).map(|r| r.text).collect::<Vec<_>>();
    assert!(of("ip4-rewrite").contains(&"ip4 ttl <= 1"));
    assert!(of("ip6-rewrite").contains(&"ip6 hop limit <= 1"));
    assert!(reasons.iter().all(|r| !r.text.contains('{')));
}
