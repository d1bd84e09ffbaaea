// SPDX-License-Identifier: Apache-2.0
//! Metrics of neighbours, and of the messages of the protocols that find them.

use stats::metric::Metric;

const FAMILIES: [&str; 2] = ["ip4", "ip6"];

pub const METRICS: &[Metric] = &[
    Metric::gauge("neighbors", &["family"], "Neighbours known", |s| {
        for family in FAMILIES {
            s.scalar(&format!("/net/{family}/neighbors"), &[family]);
        }
    }),
    Metric::counter(
        "neighbor_messages",
        &["interface", "protocol", "direction", "kind"],
        "Messages of ARP and neighbour discovery",
        |s| {
            for (protocol, direction) in
                [("arp", "rx"), ("arp", "tx"), ("ip6-nd", "rx"), ("ip6-nd", "tx")]
            {
                s.by_interface_and_part(
                    &format!("/net/{protocol}/{direction}/"),
                    &[protocol, direction],
                );
            }
        },
    ),
    Metric::counter(
        "neighbor_refusals",
        &["interface", "reason"],
        "ARP messages that were refused",
        |s| {
            s.by_interface_and_part("/net/arp/refused/", &[]);
        },
    ),
];
