// SPDX-License-Identifier: Apache-2.0
//! Metrics of the process, its threads, nodes and memory.

use stats::metric::Metric;

const WORKER: &[&str] = &["worker"];
const NODE: &[&str] = &["node", "worker"];

pub const METRICS: &[Metric] = &[
    Metric::counter("heartbeats", &[], "Updates of the values that control writes", |s| {
        s.scalar("/sys/heartbeat", &[]);
    }),
    Metric::gauge("boot_time", &[], "When the daemon started, since 1970", |s| {
        s.scalar("/sys/boottime", &[])
    })
    .unit("seconds"),
    Metric::gauge("uptime", &[], "How long the daemon had run at the last heartbeat", |s| {
        s.scalar("/sys/last_update", &[]);
    })
    .unit("seconds"),
    Metric::gauge(
        "last_clear",
        &[],
        "How long the daemon had run when counters were last cleared",
        |s| {
            s.scalar("/sys/last_stats_clear", &[]);
        },
    )
    .unit("seconds"),
    Metric::gauge("workers", &[], "Worker threads", |s| s.scalar("/sys/num_worker_threads", &[])),
    Metric::gauge(
        "input_rate",
        &[],
        "Packets received per second, averaged over the last interval",
        |s| {
            s.scalar("/sys/input_rate", &[]);
        },
    ),
    Metric::gauge(
        "vector_rate",
        WORKER,
        "Packets in a vector, averaged over the last interval",
        |s| {
            s.by_thread("/sys/vector_rate_per_worker");
        },
    ),
    Metric::gauge(
        "loop_rate",
        WORKER,
        "Turns of the graph per second, averaged over the last interval",
        |s| {
            s.by_thread("/sys/loops_per_worker");
        },
    ),
    Metric::gauge(
        "process_resident_memory",
        &[],
        "Memory of the process, shared memory and buffers in use among it",
        |s| {
            s.scalar("/sys/process/resident-bytes", &[]);
        },
    )
    .unit("bytes"),
    Metric::counter("process_cpu", &[], "Processor time of all threads", |s| {
        s.scalar("/sys/process/cpu-milliseconds", &[]);
    })
    .unit("seconds")
    .thousandths(),
    Metric::counter("node_calls", NODE, "How often a node ran", |s| s.by_node("/sys/node/calls")),
    Metric::counter("node_vectors", NODE, "Packets that a node got", |s| {
        s.by_node("/sys/node/vectors")
    }),
    Metric::counter("node_clocks", NODE, "Ticks of the time-stamp counter that a node took", |s| {
        s.by_node("/sys/node/clocks");
    }),
    Metric::counter("node_suspends", NODE, "Number of times that a node waited", |s| {
        s.by_node("/sys/node/suspends")
    }),
    Metric::counter(
        "errors",
        &["node", "reason", "severity", "text"],
        "Packets that left a node by a counted edge: lost where the severity is error",
        |s| {
            s.by_reason();
        },
    ),
    Metric::counter("handoff_packets", WORKER, "Packets handed to a thread by others", |s| {
        s.by_receiver("/sys/handoff/packets");
    }),
    Metric::counter(
        "handoff_congestion_drops",
        WORKER,
        "Packets lost because a thread's ring was full",
        |s| {
            s.by_receiver("/sys/handoff/congestion");
        },
    ),
    Metric::gauge("buffers", &["pool", "state"], "Buffers by state", |s| {
        s.by_state("/buffer-pools/", &["cached", "used", "available"]);
    }),
    Metric::gauge("memory", &["heap", "state"], "Memory by state", |s| {
        s.by_state("/mem/", &["used", "free"])
    })
    .unit("bytes"),
];
