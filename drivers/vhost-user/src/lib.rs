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
//! **Guests' memory.** `drivers/vhost-user` follows the same rules for the memory of virtual
//! machines, whose files may shrink too. A chain of descriptors becomes a list of pieces, each
//! inside of a region, before a byte is copied (`io/memory.rs`); `io/split.rs` and `io/packed.rs`
//! read the two formats of rings, `io/rx.rs` and `io/tx.rs` are written once for both. Front-ends
//! start and stop each ring at any time, and a stopped ring must not be touched once the reply is
//! sent. Therefore a ring is behind a lock (`io/vring.rs`) that a thread has for one vector;
//! control has it for a few stores. The event by which a thread is woken is an epoll descriptor of
//! the ring, so the guest's event can be replaced while a thread waits. While a guest is migrated,
//! every write to its memory sets the page's bit in the front-end's log, behind the write
//! (`io/log.rs`). Control switches the log on by starting the rings anew where they were, with a
//! `Memory` that has it: without a log, a write costs one comparison. Another log of the front-end
//! (`io/inflight/`) says where each ring was when this end died. It is written when chains are
//! given back, since none is held from one turn to the next.
//!
//! Limits: packets are copied; at most 8 memory regions.
//!
//! Tests: DPDK's net_virtio_user in both roles and formats; a virtual machine of QEMU with Debian's
//! kernel, in both roles and formats, TCP compared byte by byte; two guests in the test's process,
//! with rings that stop, start and move under traffic; each field of each message with a wrong
//! value, mutated messages; random descriptors and indices; front-ends that shrink the file of
//! their memory under traffic; an end that dies between any two stores to shared memory.
#![forbid(unsafe_code)]

mod api;
mod cli;
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
    area: "interfaces-and-drivers",
    does: &[
        "Interfaces to virtual machines and other virtio drivers, as server and as client, split \
         and packed rings, several queues, merged receive buffers, tables of descriptors, \
         checksum and segmentation offload (`gso`), events by index (`create vhost-user`)",
        "A log of written pages for live migration; the connection is made again by itself, and \
         the log of chains in flight (INFLIGHT_SHMFD) has what was under way; polling, interrupt \
         and adaptive mode",
    ],
    spec: &["vhost-user protocol", "virtio 1.3"],
    limits: &[
        "Packets are always copied",
        "A packed ring whose front-end keeps no inflight log has to start anew",
        "Migration of a virtual machine hasn't been tried",
    ],
    startup: &[StartupDef::of::<startup_conf::Startup>()],
    state: &[driver::STATE, StateDef::of::<control::Vhosts>()],
    nodes: &[NodeDef::input::<input::VhostInput>()],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    start: |world| {
        driver::start(world);
        process::start(world)
    },
    unmoved: &[("/err/vhost-user-input/*", "packets of guests: drivers/vhost-user/src/tests")],
    ..Plugin::EMPTY
};
