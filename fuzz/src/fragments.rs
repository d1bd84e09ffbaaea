// SPDX-License-Identifier: Apache-2.0
//! Any packets, one behind the other, to the nodes that put datagrams together: no panic, no packet
//! for ever, no buffer lost.

use std::cell::RefCell;

use daemon::plugins;
use graph::drive::Bench;

/// Where packets come in, IP header first.
const NODES: [&str; 4] = [
    "ip4-full-reassembly",
    "ip6-full-reassembly",
    "ip4-local-full-reassembly",
    "ip6-local-full-reassembly",
];

thread_local! {
    static BENCH: RefCell<Bench> = RefCell::new(Bench::new(plugins::ALL));
}

/// One input.
pub fn run(input: &[u8]) {
    BENCH.with_borrow_mut(|bench| {
        let nodes = NODES.map(|name| bench.index(name));
        // One byte says where to, two how long.
        let mut rest = input;
        while let Some(([to, a, b], behind)) = rest.split_first_chunk::<3>() {
            let len = usize::from(u16::from_be_bytes([*a, *b]) % 2048).min(behind.len());
            let (packet, next) = behind.split_at(len);
            rest = next;
            let mut buffer = bench.buffer(packet);
            buffer.rx_if = 0;
            bench.rt.inject(nodes[usize::from(*to) % NODES.len()], buffer);
        }
        bench.settle();
        // All timeouts pass.
        bench.world.clock.adjust(10_000_000_000);
        bench.settle();
        assert_eq!(bench.buffers_out(), 0, "buffers are held for ever");
    });
}
