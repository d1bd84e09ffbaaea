// SPDX-License-Identifier: Apache-2.0
//! Metrics of interfaces.

use stats::metric::Metric;

const INTERFACE: &[&str] = &["interface"];
const CAST: &[&str] = &["interface", "cast"];
const CASTS: [&str; 3] = ["unicast", "multicast", "broadcast"];

pub const METRICS: &[Metric] = &[
    Metric::gauge(
        "interface_admin_up",
        INTERFACE,
        "1 while an operator has the interface up",
        |s| {
            s.by_interface("/net/interface/admin-up", false, &[]);
        },
    ),
    Metric::gauge("interface_link_up", INTERFACE, "1 while the link is up", |s| {
        s.by_interface("/net/interface/link-up", false, &[]);
    }),
    Metric::gauge("interface_mtu", INTERFACE, "Bytes of a packet that the link carries", |s| {
        s.by_interface("/net/interface/mtu", false, &[]);
    })
    .unit("bytes"),
    Metric::gauge(
        "interface_speed",
        INTERFACE,
        "Bytes a second that the link carries each way; none where the device doesn't know",
        |s| {
            s.by_active_interface("/net/interface/link-speed", &[]);
            // Kilobits there, bytes here.
            s.samples.iter_mut().for_each(|sample| sample.value *= 1000 / 8);
        },
    )
    .unit("bytes"),
    Metric::gauge("interface_next_hops_down", INTERFACE, "Next hops that don't answer", |s| {
        s.by_interface("/net/nexthop/is-down", false, &[]);
    }),
    Metric::counter(
        "interface_next_hop_changes",
        &["interface", "to"],
        "Next hops that went down or came back",
        |s| {
            for to in ["down", "up"] {
                s.by_interface(&format!("/net/nexthop/{to}"), false, &[to]);
            }
        },
    ),
    Metric::counter("interface_receive_packets", INTERFACE, "Packets received", |s| {
        s.by_interface("/if/rx", false, &[]);
    }),
    Metric::counter("interface_receive", INTERFACE, "Bytes received", |s| {
        s.by_interface("/if/rx", true, &[])
    })
    .unit("bytes"),
    Metric::counter("interface_transmit_packets", INTERFACE, "Packets sent", |s| {
        s.by_interface("/if/tx", false, &[]);
    }),
    Metric::counter("interface_transmit", INTERFACE, "Bytes sent", |s| {
        s.by_interface("/if/tx", true, &[])
    })
    .unit("bytes"),
    Metric::counter(
        "interface_receive_cast_packets",
        CAST,
        "Packets received, by kind of destination",
        |s| {
            for cast in CASTS {
                s.by_interface(&format!("/if/rx-{cast}"), false, &[cast]);
            }
        },
    ),
    Metric::counter(
        "interface_transmit_cast_packets",
        CAST,
        "Packets sent, by kind of destination",
        |s| {
            for cast in CASTS {
                s.by_interface(&format!("/if/tx-{cast}"), false, &[cast]);
            }
        },
    ),
    Metric::counter(
        "interface_protocol_packets",
        &["interface", "protocol"],
        "Packets received, by protocol",
        |s| {
            for protocol in ["ip4", "ip6", "mpls"] {
                s.by_interface(&format!("/if/{protocol}"), false, &[protocol]);
            }
        },
    ),
    Metric::counter("interface_drops", INTERFACE, "Packets dropped that came in here", |s| {
        s.by_interface("/if/drops", false, &[]);
    }),
    Metric::counter("interface_punts", INTERFACE, "Packets punted that came in here", |s| {
        s.by_interface("/if/punt", false, &[]);
    }),
    Metric::counter(
        "interface_receive_no_buffers",
        INTERFACE,
        "Packets not received for want of buffers",
        |s| {
            s.by_interface("/if/rx-no-buf", false, &[]);
        },
    ),
    Metric::counter(
        "interface_receive_missed",
        INTERFACE,
        "Packets that the device lost before they were seen",
        |s| {
            s.by_interface("/if/rx-miss", false, &[]);
        },
    ),
    Metric::counter(
        "interface_receive_errors",
        INTERFACE,
        "Packets that the device marked as bad",
        |s| {
            s.by_interface("/if/rx-error", false, &[]);
        },
    ),
    Metric::counter(
        "interface_transmit_errors",
        INTERFACE,
        "Packets that the device refused to send",
        |s| {
            s.by_interface("/if/tx-error", false, &[]);
        },
    ),
];
