// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Interfaces: the nodes that packets leave by, the nodes where they end, and the commands.
//!
//! - `NAME-output`, one for each interface: counts, refuses what can't be sent, runs the
//!   `interface-output` arc, ends at the driver's `NAME-tx`. That of a sub-interface puts its VLAN
//!   tags into the frame and hands it to its parent's device.
//! - `error-drop` counts a drop for the interface that the packet came in by, runs the `error-drop`
//!   arc, ends at `drop`, which frees. `error-punt` and `punt` do the same for packets that no
//!   feature takes.
//!
//! Arcs: `device-input` (started by the drivers' inputs, before anything looks at the frame),
//! `tunnel-input-ip4`, `tunnel-input-ip6`, `tunnel-input-ethernet` (started by the nodes that take
//! packets out of tunnels, by the node that the inner packet goes to), `interface-output`,
//! `error-drop`.
//!
//! Tests: queues moved 1,000 times under load: nothing is lost, and nothing is reordered within a
//! flow of a receive queue; a Linux kernel with VLAN devices, single- and double-tagged; random
//! sub-interfaces and frames against an oracle that applies the rules one by one; segments equal
//! those of a host without offload.

mod address;
mod api;
mod brief;
mod chosen;
mod clear;
mod cli;
mod config;
mod control;
mod drop;
mod events;
mod examples;
mod hardware;
mod layout;
mod metrics;
mod names;
mod output;
mod queues;
mod rx;
mod set;
mod show;
mod startup_conf;
mod sub;
mod sub_output;
#[cfg(feature = "tests")]
mod tests;
mod trace;
mod tunnels;
mod tx;

use graph::{ArcDef, NodeDef, Plugin, StateDef};
use net::{Column, Interfaces};
use queues::{RssQueues, RxConfig, TxConfig};
use startup::StartupDef;

/// Interfaces.
pub static PLUGIN: Plugin = Plugin {
    name: "interface",
    about: "Interfaces: output, drop and punt nodes, commands",
    area: "interfaces-and-drivers",
    does: &[
        "State, MTUs, MAC address, name, tag and events of every interface",
        "Sub-interfaces: frames with one or two VLAN tags, 802.1Q or 802.1ad, any inner or outer \
         tag, and the default sub-interface (`create sub-interfaces`)",
        "Receive queues of devices, and transmit queues of memif and AF_XDP, placed on threads \
         (`set interface rx-placement`, `set interface tx-queue`)",
        "Segmentation of super-packets (GSO) in software where a device can't do it, and before a \
         tunnel's header (`set interface feature gso`)",
    ],
    spec: &["IEEE 802.1Q", "RFC 9293 3.4", "RFC 3168 6.1.2"],
    limits: &[
        "Packets of a flow can pass each other when its thread moves to another transmit queue",
        "`set interface rss queues` needs a netdev with a table of receive queues (AF_XDP, Linux \
         6.17); it wasn't tested on a NIC",
        "VLANs: no super-path for switched frames with tags, for priority-tagged frames, and for \
         frames that alternate between VLANs; untagged frames belong to the parent interface",
        "GSO: `gso` has no effect on bridged frames; 6RD and multipoint tunnels cut super-packets \
         in any case",
    ],
    state: &[
        net::STATE,
        StateDef::of::<Column<RxConfig>>(),
        StateDef::of::<Column<TxConfig>>(),
        StateDef::of::<Column<RssQueues>>(),
    ],
    nodes: &[
        NodeDef::of::<output::TunnelOutput>(),
        NodeDef::of::<drop::ErrorDrop>(),
        NodeDef::of::<drop::Drop>(),
        NodeDef::of::<drop::ErrorPunt>(),
        NodeDef::of::<drop::Punt>(),
    ],
    arcs: &[
        ArcDef { name: "device-input", starts: &[], end: "ethernet-input" },
        ArcDef { name: "tunnel-input-ip4", starts: tunnels::PACKETS, end: "ip4-input" },
        ArcDef { name: "tunnel-input-ip6", starts: tunnels::PACKETS, end: "ip6-input" },
        ArcDef { name: "tunnel-input-ethernet", starts: tunnels::FRAMES, end: "ethernet-input" },
        ArcDef { name: "interface-output", starts: &["interface-output"], end: "error-drop" },
        ArcDef { name: "error-drop", starts: &["error-drop"], end: "drop" },
    ],
    cli: cli::COMMANDS,
    startup: &[StartupDef::of::<startup_conf::Startup>()],
    config: config::write_config,
    counters: net::COUNTERS,
    metrics: metrics::METRICS,
    examples: examples::EXAMPLES,
    api: &[api::API, api::feature::API, api::feature::GSO, api::sub::API],
    start: |world| {
        let interfaces = world.get::<Interfaces>();
        interfaces.set_make_output(output::make);
        interfaces
            .set_default_rx_mode(Some(world.startup::<startup_conf::Startup>().default_rx_mode()));
        interfaces.subscribe(api::publish);
        events::start(world);
        Ok(())
    },
    volatile: &[("show interface brief*", "counts packets")],
    unmoved: &[
        ("/err/*-output/interface is down", "features/interface/src/tests.rs"),
        ("/err/*.*-output/not_exact", "features/interface/src/tests/sub.rs"),
        (
            "/net/interface/link-speed",
            "a link of the host with a speed: drivers/af_packet/src/tests/netns.rs",
        ),
    ],
    ..Plugin::EMPTY
};
