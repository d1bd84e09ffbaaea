// SPDX-License-Identifier: Apache-2.0
//! The table of metrics. Names, labels and units are a contract with dashboards and alert rules.

use super::snapshot::Series;
use crate::build;

/// Whether a metric only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It does, but for `clear`. Its samples' names end in `_total`.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Its labels are all it says; its samples' names end in `_info`.
    Info,
}

/// A metric.
#[derive(Debug)]
pub struct Metric {
    /// Without the prefix `ferrovia_`, unit and suffix.
    pub name: &'static str,
    /// What it counts in, if that is more than a number of things: the end of the name.
    pub unit: Option<&'static str>,
    /// How it behaves.
    pub kind: Kind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// What it is, in one sentence.
    pub help: &'static str,
    /// Its values are thousandths of the unit.
    pub thousandths: bool,
    /// Where it comes from.
    pub fill: fn(&mut Series<'_>),
}

impl Metric {
    /// The name that its samples have.
    pub fn sample_name(&self) -> String {
        let unit = self.unit.map(|unit| format!("_{unit}")).unwrap_or_default();
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Gauge => "",
            Kind::Info => "_info",
        };
        format!("{PREFIX}_{}{unit}{suffix}", self.name)
    }
}

/// What all names begin with.
pub const PREFIX: &str = "ferrovia";

/// What the exporter itself adds last: series left out because a metric had too many.
pub static OMITTED: Metric =
    gauge("series_omitted", &[], "Series left out of this answer because a metric had too many", |_| {});

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    fill: fn(&mut Series<'_>),
) -> Metric {
    Metric { name, unit: None, kind: Kind::Counter, labels, help, thousandths: false, fill }
}

const fn gauge(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    fill: fn(&mut Series<'_>),
) -> Metric {
    Metric { name, unit: None, kind: Kind::Gauge, labels, help, thousandths: false, fill }
}

impl Metric {
    const fn unit(mut self, unit: &'static str) -> Metric {
        self.unit = Some(unit);
        self
    }
}

const INTERFACE: &[&str] = &["interface"];
const CAST: &[&str] = &["interface", "cast"];
const WORKER: &[&str] = &["worker"];
const NODE: &[&str] = &["node", "worker"];

/// All metrics, in the order in which they are told.
pub static METRICS: &[Metric] = &[
    Metric {
        name: "build",
        unit: None,
        kind: Kind::Info,
        labels: &["version", "commit", "date"],
        help: "The program",
        thousandths: false,
        fill: |s| s.build([build::VERSION, build::COMMIT, build::DATE]),
    },
    counter("heartbeats", &[], "Updates of the values that control writes", |s| {
        s.scalar("/sys/heartbeat", &[]);
    }),
    gauge("boot_time", &[], "When the daemon started, since 1970", |s| s.scalar("/sys/boottime", &[]))
        .unit("seconds"),
    gauge("uptime", &[], "How long the daemon had run at the last heartbeat", |s| {
        s.scalar("/sys/last_update", &[]);
    })
    .unit("seconds"),
    gauge("last_clear", &[], "How long the daemon had run when counters were last cleared", |s| {
        s.scalar("/sys/last_stats_clear", &[]);
    })
    .unit("seconds"),
    gauge("workers", &[], "Worker threads", |s| s.scalar("/sys/num_worker_threads", &[])),
    gauge("input_rate", &[], "Packets per second that inputs brought, of late", |s| {
        s.scalar("/sys/input_rate", &[]);
    }),
    gauge("vector_rate", WORKER, "Packets in a vector, of late", |s| {
        s.by_thread("/sys/vector_rate_per_worker");
    }),
    gauge("loop_rate", WORKER, "Turns of the graph per second, of late", |s| {
        s.by_thread("/sys/loops_per_worker");
    }),
    gauge(
        "process_resident_memory",
        &[],
        "Memory of the process, shared memory and buffers in use among it",
        |s| {
            s.scalar("/sys/process/resident-bytes", &[]);
        },
    )
    .unit("bytes"),
    Metric {
        thousandths: true,
        ..counter("process_cpu", &[], "Processor time of all threads", |s| {
            s.scalar("/sys/process/cpu-milliseconds", &[]);
        })
        .unit("seconds")
    },
    gauge("interface_admin_up", INTERFACE, "1 while an operator has the interface up", |s| {
        s.by_interface("/net/interface/admin-up", false, &[]);
    }),
    gauge("interface_link_up", INTERFACE, "1 while the link is up", |s| {
        s.by_interface("/net/interface/link-up", false, &[]);
    }),
    gauge("interface_mtu", INTERFACE, "Bytes of a packet that the link carries", |s| {
        s.by_interface("/net/interface/mtu", false, &[]);
    })
    .unit("bytes"),
    gauge(
        "interface_speed",
        INTERFACE,
        "Bytes a second that the link carries each way; none where the device doesn't know",
        |s| s.by_speed("/net/interface/link-speed"),
    )
    .unit("bytes"),
    gauge("interface_next_hops_down", INTERFACE, "Next hops that don't answer", |s| {
        s.by_interface("/net/nexthop/is-down", false, &[]);
    }),
    counter(
        "interface_next_hop_changes",
        &["interface", "to"],
        "Next hops that went down or came back",
        |s| {
            for to in ["down", "up"] {
                s.by_interface(&format!("/net/nexthop/{to}"), false, &[to]);
            }
        },
    ),
    counter("interface_receive_packets", INTERFACE, "Packets received", |s| {
        s.by_interface("/if/rx", false, &[]);
    }),
    counter("interface_receive", INTERFACE, "Bytes received", |s| s.by_interface("/if/rx", true, &[]))
        .unit("bytes"),
    counter("interface_transmit_packets", INTERFACE, "Packets sent", |s| {
        s.by_interface("/if/tx", false, &[]);
    }),
    counter("interface_transmit", INTERFACE, "Bytes sent", |s| s.by_interface("/if/tx", true, &[]))
        .unit("bytes"),
    counter("interface_receive_cast_packets", CAST, "Packets received, by kind of destination", |s| {
        for cast in CASTS {
            s.by_interface(&format!("/if/rx-{cast}"), false, &[cast]);
        }
    }),
    counter("interface_transmit_cast_packets", CAST, "Packets sent, by kind of destination", |s| {
        for cast in CASTS {
            s.by_interface(&format!("/if/tx-{cast}"), false, &[cast]);
        }
    }),
    counter("interface_protocol_packets", &["interface", "protocol"], "Packets received, by protocol", |s| {
        for protocol in ["ip4", "ip6", "mpls"] {
            s.by_interface(&format!("/if/{protocol}"), false, &[protocol]);
        }
    }),
    counter("interface_drops", INTERFACE, "Packets dropped that came in here", |s| {
        s.by_interface("/if/drops", false, &[]);
    }),
    counter("interface_punts", INTERFACE, "Packets punted that came in here", |s| {
        s.by_interface("/if/punt", false, &[]);
    }),
    counter("interface_receive_no_buffers", INTERFACE, "Packets not received for want of buffers", |s| {
        s.by_interface("/if/rx-no-buf", false, &[]);
    }),
    counter(
        "interface_receive_missed",
        INTERFACE,
        "Packets that the device lost before they were seen",
        |s| {
            s.by_interface("/if/rx-miss", false, &[]);
        },
    ),
    counter("interface_receive_errors", INTERFACE, "Packets that the device marked as bad", |s| {
        s.by_interface("/if/rx-error", false, &[]);
    }),
    counter("interface_transmit_errors", INTERFACE, "Packets that the device refused to send", |s| {
        s.by_interface("/if/tx-error", false, &[]);
    }),
    gauge(
        "interface_vrf",
        &["interface", "family", "vrf"],
        "1 for the table that packets of an interface are looked up in",
        |s| FAMILIES.into_iter().for_each(|family| s.by_table(family)),
    ),
    counter("node_calls", NODE, "How often a node ran", |s| s.by_node("/sys/node/calls")),
    counter("node_vectors", NODE, "Packets that a node got", |s| s.by_node("/sys/node/vectors")),
    counter("node_clocks", NODE, "Ticks of the time-stamp counter that a node took", |s| {
        s.by_node("/sys/node/clocks");
    }),
    counter("node_suspends", NODE, "How often a node waited", |s| s.by_node("/sys/node/suspends")),
    counter(
        "errors",
        &["node", "reason"],
        "Packets that left a node by a counted way, drops most of all",
        |s| {
            s.by_reason();
        },
    ),
    counter("handoff_packets", WORKER, "Packets handed to a thread by others", |s| {
        s.by_receiver("/sys/handoff/packets");
    }),
    counter("handoff_congestion_drops", WORKER, "Packets lost because a thread's ring was full", |s| {
        s.by_receiver("/sys/handoff/congestion");
    }),
    gauge("buffers", &["pool", "state"], "Buffers by state", |s| {
        s.by_state("/buffer-pools/", &["cached", "used", "available"]);
    }),
    gauge("memory", &["heap", "state"], "Memory by state", |s| s.by_state("/mem/", &["used", "free"]))
        .unit("bytes"),
    gauge("routes", &["vrf", "family"], "Routes in a table; those of 1024 tables are told", |s| {
        for family in FAMILIES {
            s.by_part(&format!("/net/{family}/routes/"), &[family]);
        }
    }),
    gauge("neighbors", &["family"], "Neighbours known", |s| {
        for family in FAMILIES {
            s.scalar(&format!("/net/{family}/neighbors"), &[family]);
        }
    }),
    counter(
        "neighbor_messages",
        &["interface", "protocol", "direction", "kind"],
        "Messages of ARP and neighbour discovery",
        |s| {
            s.by_message("arp");
            s.by_message("ip6-nd");
        },
    ),
    counter("neighbor_refusals", &["interface", "reason"], "ARP messages that were refused", |s| {
        s.by_refusal()
    }),
];

const FAMILIES: [&str; 2] = ["ip4", "ip6"];
const CASTS: [&str; 3] = ["unicast", "multicast", "broadcast"];
