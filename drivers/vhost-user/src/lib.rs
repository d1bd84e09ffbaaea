// SPDX-License-Identifier: Apache-2.0
//! vhost-user: interfaces whose other end is the virtio-net driver of a virtual machine or of a
//! process. The front-end (QEMU, DPDK's virtio_user) passes the guest's memory and its rings over a
//! local socket; packets pass through the rings without a system call, but for an event that wakes
//! an end that sleeps.
//!
//! `create vhost-user socket /run/vm1.sock server` makes `VirtualEthernet0/0/0`, which listens;
//! without `server` it connects at once and tries again every 3 seconds. The link is up while the
//! guest uses a ring in each direction.
//!
//! Nodes, named as VPP's: `vhost-user-input`, `vhost-user-process`, and `INTERFACE-tx` for each
//! interface.
//!
//! The guest may write anything into its memory at any time: indices and descriptors are read once
//! and checked each time against the mapped regions, and packets are copied before anything looks
//! at them (`io/shm.rs`).
//!
//! A front-end that shrinks the file of its memory while it is mapped loses its connection
//! (`mem::PeerMapping`). One that gives a log finds there which pages this end has written, by
//! which a guest is migrated while it runs (`io/log.rs`).
//!
//! After a kill or a lost connection rings go on where they were: a split ring by its used index, a
//! packed one by the log of chains in flight, if the front-end keeps one (`io/inflight`).
//!
//! Limits: packets are copied; at most 8 memory regions.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod config;
mod control;
mod device;
mod examples;
mod input;
mod io;
mod process;
mod proto;
mod show;
mod socket;
mod startup_conf;
#[cfg(feature = "tests")]
mod tests;
mod tx;

#[doc(hidden)]
pub use proto::check_messages;

use graph::{NodeDef, Plugin, StateDef};
use startup::StartupDef;

/// Interfaces to virtual machines.
pub static PLUGIN: Plugin = Plugin {
    name: "vhost",
    about: "vhost-user: interfaces to virtual machines and virtio drivers over shared memory",
    startup: &[StartupDef::of::<startup_conf::Startup>()],
    state: &[driver::STATE, StateDef::of::<control::Vhosts>()],
    nodes: &[NodeDef::input::<input::VhostInput>()],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    start: |world| {
        driver::start(world);
        process::start(world)
    },
    unmoved: &[("/err/vhost-user-input/*", "packets of guests: drivers/vhost-user/src/tests")],
    ..Plugin::EMPTY
};
