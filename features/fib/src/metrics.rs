// SPDX-License-Identifier: Apache-2.0
//! Metrics of tables of routes.

use stats::metric::Metric;

const FAMILIES: [&str; 2] = ["ip4", "ip6"];

pub const METRICS: &[Metric] = &[
    Metric::gauge(
        "interface_vrf",
        &["interface", "family", "vrf"],
        "1 for the table that packets of an interface are looked up in",
        |s| {
            for family in FAMILIES {
                s.by_interface_name(&format!("/net/{family}/interface-tables"), &[family]);
            }
        },
    ),
    Metric::gauge("routes", &["vrf", "family"], "Routes in a table; of at most 1024 tables", |s| {
        for family in FAMILIES {
            s.by_part(&format!("/net/{family}/routes/"), &[family]);
        }
    }),
];
