// SPDX-License-Identifier: Apache-2.0
//! memif: interfaces whose other end is another program on this host, over shared memory. The
//! client makes the memory and connects to a local socket, the server listens there; packets pass
//! through rings of descriptors without a system call, but for an event that wakes a receiver that
//! sleeps.
//!
//! `create memif socket id 1 filename /run/peer.sock` names a socket; `create interface memif id 0
//! socket-id 1 slave` makes `memif1/0`. The link is up while both ends are connected. A client that
//! is up connects at once and tries again every 3 seconds.
//!
//! Nodes, named as VPP's: `memif-input`, `memif-process`, and `INTERFACE-tx` for each interface.
//!
//! The peer may write anything into the shared memory at any time: descriptors are read once and
//! checked each time, and packets are copied before anything looks at them. A peer that shrinks the
//! file of its memory loses its connection (`io/shm.rs`).
//!
//! [`Listener`] and [`pair`] open queues without a graph, for programs such as testers.
//!
//! **Memory shared with other programs.** `drivers/memif` exchanges packets with another process by
//! rings in a file that both processes map. The peer may write any value at any time, so no
//! reference into this memory is handed out: `mem::PeerMemory` loads and stores words as atomics
//! and copies bytes, each access within the mapping, so the driver has no `unsafe` code. A peer
//! that shrinks the file raises SIGBUS at the next access: the handler of this signal
//! (`mem::PeerMapping`) looks for the address in a registry that it reads without a lock, puts
//! zeros in the place of the mapping and raises an event, at which control ends the connection. A
//! descriptor is read once and checked before its bytes are copied to a buffer. The handshake
//! (`proto/`) is independent of the graph and is fuzzed; `process.rs` runs it in the control thread
//! and never waits for a peer.
//!
//! Limits: packets are always copied, also where zero copy is asked for; sockets of other network
//! namespaces (`abstract:NAME,netns_name=N`) are refused; DMA engines aren't used.
//!
//! Tests: DPDK's net_memif in both roles, and as a client with zero copy; two routers that are
//! killed and reconnect; each field of the handshake with a wrong value; random descriptors, heads
//! and tails; clients that shrink their memory under traffic.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod control;
mod device;
mod examples;
mod input;
mod io;
mod open;
mod process;
mod proto;
mod show;
mod socket;
#[cfg(feature = "tests")]
mod tests;
mod tx;

pub use open::{Connection, Listener, Memif, RxQueue, TxQueue, TxReport, pair};
#[doc(hidden)]
pub use proto::check_messages;

use graph::{NodeDef, Plugin, StateDef};

/// Shared-memory interfaces.
pub static PLUGIN: Plugin = Plugin {
    name: "memif",
    about: "memif: interfaces to other programs on this host over shared memory",
    area: "interfaces-and-drivers",
    does: &[
        "Interfaces to other programs over shared memory, as client and as server, several rings, \
         Ethernet and IP mode, secrets; polling, interrupt and adaptive mode (`create interface \
         memif`)",
    ],
    spec: &["memif protocol 2.0"],
    limits: &[
        "Packets are always copied",
        "Only sockets of this network namespace",
        "A peer's memory has to be in memory (memfd, tmpfs, hugetlbfs)",
    ],
    state: &[driver::STATE, StateDef::of::<control::Memifs>()],
    nodes: &[NodeDef::input::<input::MemifInput>()],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    start: |world| {
        driver::start(world);
        process::start(world)
    },
    unmoved: &[("/err/memif-input/*", "packets of peers: drivers/memif/src/tests")],
    ..Plugin::EMPTY
};
