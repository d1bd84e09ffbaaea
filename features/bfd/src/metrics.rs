// SPDX-License-Identifier: Apache-2.0
//! Metrics of sessions.

use stats::metric::Metric;

pub const METRICS: &[Metric] = &[Metric::gauge(
    "bfd_sessions",
    &["family", "hops"],
    "BFD sessions, with neighbours and with routers several hops away",
    |s| {
        for family in ["ip4", "ip6"] {
            let udp = if family == "ip4" { "udp4" } else { "udp6" };
            s.scalar(&format!("/bfd/{udp}/sessions"), &[family, "one"]);
            s.scalar(&format!("/bfd/{udp}/sessions_mh"), &[family, "several"]);
        }
    },
)];
