// SPDX-License-Identifier: Apache-2.0
//! What is measured.

/// A configuration, a stream, and what the peer and we aim at.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub name: String,
    /// Packets of a vector.
    pub vector: usize,
    /// Commands behind the two interfaces and before the stream.
    pub setup: Vec<String>,
    /// The stream's `data`; `MAC` stands for the first interface's address.
    pub data: String,
    /// FD.io VPP 26.06 on the reference machine, clocks per packet: as built, tuned for the processor.
    pub peer: Option<(f64, f64)>,
    /// What we aim at, clocks per packet.
    pub target: f64,
}

/// Every scenario.
pub fn all() -> Vec<Scenario> {
    // VPP's figures: quiet machine, 64-byte packets, one route; see docs/performance.md.
    let peers = [
        (256, 55.0, 51.6, 52.0),
        (64, 59.0, 59.0, 58.0),
        (16, 163.0, 163.0, 100.0),
        (4, 500.0, 500.0, 230.0),
        (1, 1893.0, 744.0, 700.0),
    ];
    let one = peers.into_iter().map(|(vector, vpp, tuned, target)| Scenario {
        name: format!("ip4-1-route-vector-{vector}"),
        vector,
        setup: router("ip route add 10.0.0.0/8 via 192.168.2.2 pg1"),
        data: stream("10.1.2.3"),
        peer: Some((vpp, tuned)),
        target,
    });
    // Destinations evenly over all routes: every packet is another route's.
    let many = [("", "on"), ("-uncounted", "off")].map(|(suffix, counters)| Scenario {
        name: format!("ip4-100k-routes{suffix}-vector-256"),
        vector: 256,
        setup: [
            router("ip route add count 100000 10.0.0.0/24 via 192.168.2.2 pg1"),
            vec![format!("set ip route-counters {counters}")],
        ]
        .concat(),
        data: stream("10.0.0.0+11.134.159.255"),
        peer: None,
        target: 100.0,
    });
    one.chain(many).collect()
}

fn router(routes: &str) -> Vec<String> {
    [
        "set interface ip address pg0 192.168.1.1/24",
        "set interface ip address pg1 192.168.2.1/24",
        "set ip neighbor pg1 192.168.2.2 02:00:00:00:00:22",
        routes,
    ]
    .map(String::from)
    .to_vec()
}

fn stream(to: &str) -> String {
    format!("IP4: 1.2.3 -> MAC UDP: 192.168.1.2 -> {to} UDP: 1000 -> 2000")
}
