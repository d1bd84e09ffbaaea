// SPDX-License-Identifier: Apache-2.0
//! Host interfaces: an interface of the Linux kernel (veth, a NIC, a bridge) as one of ours,
//! through AF_PACKET sockets (packet(7)).
//!
//! `create host-interface name eth0` makes `host-eth0`. It has an address of its own beside the
//! kernel's; the link's state and MTU follow the kernel's. Super-packets and partial checksums pass
//! as they are, unless that is switched off; then the processor cuts and completes them.
//!
//! Nodes: `af-packet-input`, and `host-NAME-tx` for each interface. Receive queues are spread over
//! the workers; every thread has a transmit queue of its own, so `num-tx-queues` is accepted and
//! has no effect.
//!
//! Ring version 2 is the default: a single packet is handed over at once, where version 3 waits at
//! least 1 ms for more of them; version 3 takes less processor time at high rates.
//!
//! An interface that carries a default route of the host, or the SSH session that started the
//! daemon, is refused unless `force` is given. Of the kernel's interface only the admin state and
//! the MTU are changed, never addresses and routes; both are restored when the host interface is
//! deleted, at the end, and by the next start after a crash.
//!
//! Limits: the kernel sees what comes in too. Give the interface no address in the host, or it
//! answers as well. Frames over 65,535 bytes of IP (BIG TCP) are dropped. Interfaces without link
//! layer (`mode ip`) start no `device-input` arc. Needs CAP_NET_RAW, and CAP_NET_ADMIN to take the
//! kernel's interface up or to change its MTU.
//!
//! Tests: Linux hosts in namespaces, iperf3, tcpdump; `ip addr` and `ip route` of the host before
//! and after, also after kill -9.
#![deny(unsafe_code)]

mod api;
mod cli;
mod control;
mod device;
mod examples;
mod input;
mod io;
#[cfg(feature = "tests")]
mod tests;
mod tx;

pub use control::{Create, create, delete, set_l4_checksum_offload, set_qdisc_bypass};
pub use io::{
    Config, Control, HostInterface, MAX_FRAME, MAX_PARTS, Membership, Mode, RxCount, RxDrops,
    RxFrame, RxQueue, RxStats, TxBatch, TxQueue, TxReport, Version, Vlan,
};

use graph::{NodeDef, Plugin, StateDef};

/// Host interfaces.
pub static PLUGIN: Plugin = Plugin {
    name: "af_packet",
    about: "Host interfaces: interfaces of the Linux kernel through AF_PACKET sockets",
    area: "interfaces-and-drivers",
    does: &[
        "A kernel interface by AF_PACKET: rings v2 and v3, fanout, offloads (`create \
         host-interface`)",
        "A netdev with a default route or the operator's SSH session is refused without `force`",
    ],
    spec: &["packet(7)"],
    limits: &["Not tested on a physical NIC"],
    state: &[driver::STATE, StateDef::of::<control::Hosts>()],
    nodes: &[NodeDef::input::<input::AfPacketInput>()],
    cli: cli::COMMANDS,
    config: control::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    start: |world| {
        driver::start(world);
        cli::register(world);
        Ok(())
    },
    loaded: driver::loaded,
    end: driver::end,
    unmoved: &[(
        "/err/af-packet-input/*",
        "offloads that a device announces wrongly: crates/driver/src/tests/rx.rs",
    )],
    ..Plugin::EMPTY
};
