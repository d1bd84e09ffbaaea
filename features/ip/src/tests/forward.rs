// SPDX-License-Identifier: Apache-2.0
//! The whole way of a packet.

use super::*;

#[test]
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
