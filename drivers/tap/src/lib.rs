// SPDX-License-Identifier: Apache-2.0
//! Taps: interfaces of the Linux host whose other end is Ferrovia
//! (Documentation/networking/tuntap.rst). The host addresses, routes and filters on its end as on
//! any interface.
//!
//! `create tap id 0 host-if-name h0` makes `tap0`; with `tun`, `tun0` whose packets have no link
//! layer. The host's end has a carrier while ours is up; ours has a link while the host's end is
//! up. Super-packets and partial checksums pass as they are in both directions, unless `no-gso` or
//! `csum-offload` say otherwise.
//!
//! Nodes, named as VPP's: `virtio-input`, and `INTERFACE-tx` for each interface. Receive queues are
//! spread over the workers; threads share the same queues to transmit, so `num-tx-queues` is
//! accepted and has no effect. `rx-ring-size` is the length of the host's queue; `tx-ring-size`,
//! `packed` and `in-order` speak of rings that aren't there, and are accepted.
//!
//! Limits: `gro-coalesce` isn't built. What the host drops because its queue is full is in the
//! host's counters (`tx_dropped`) only. A host's end that was deleted doesn't come back. Creating
//! needs CAP_NET_ADMIN in the namespace of the host's end.
//!
//! Tests: the host's own stack, iperf3.
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

pub use control::{Closing, Create, create, delete};
pub use io::{
    Config, Host, Kind, MAX_FRAME, MAX_PARTS, RxDrops, RxFrame, RxQueue, Tap, TxBatch, TxQueue,
    TxReport,
};

use graph::{NodeDef, Plugin, StateDef};

/// Taps.
pub static PLUGIN: Plugin = Plugin {
    name: "tap",
    about: "Taps: interfaces of the host whose other end is here",
    area: "interfaces-and-drivers",
    does: &["`tap` and `tun` interfaces, with the host side configured in any namespace (`create \
         tap`)"],
    limits: &["One system call per frame"],
    state: &[driver::STATE, StateDef::of::<control::Taps>()],
    nodes: &[NodeDef::input::<input::VirtioInput>()],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    start: |world| {
        driver::start(world);
        world.get::<net::Taps>().register(control::FOR_FEATURES)
    },
    unmoved: &[(
        "/err/virtio-input/*",
        "offloads that a device announces wrongly: crates/driver/src/tests/rx.rs",
    )],
    ..Plugin::EMPTY
};
