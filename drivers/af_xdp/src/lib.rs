// SPDX-License-Identifier: Apache-2.0
//! AF_XDP: an interface of the Linux kernel (a NIC, a veth) as one of ours, through sockets of
//! AF_XDP (the kernel's `Documentation/networking/af_xdp.rst`). Frames lie in the daemon's buffers
//! from the kernel to the kernel: the driver copies none.
//!
//! `create interface af_xdp host-if eth0` makes `eth0/0`. A program of six instructions runs for
//! each frame that the netdev receives: frames of our queues come here, frames of others go on to
//! the kernel. It is attached by a link of the process, so the kernel takes it off when the process
//! ends, however that happens. A netdev that has a program already is refused, and keeps it.
//!
//! Nodes: `af_xdp-input`, and `INTERFACE-tx` for each interface. Receive queues are spread over the
//! workers. A thread sends by queue `t mod n`; threads that share a queue take a lock for each
//! vector. `no-syscall-lock` is accepted: system calls to receive are never made under a lock.
//!
//! The program runs in the netdev's driver (native) or, if that can't, behind it (generic). The
//! device reads and writes buffers itself (zero copy) where it can and they are on hugetlb pages;
//! elsewhere the kernel copies once. Frames above 2,048 bytes are chains of buffers, where the
//! kernel has multi-buffer (Linux 6.6).
//!
//! A netdev that carries a default route of the host, or the SSH session that started the daemon,
//! is refused unless `force` is given. Of its settings only the admin state and the MTU are
//! changed, never addresses and routes; both are restored when the interface is deleted, at the
//! end, and by the next start after a crash.
//!
//! **AF_XDP.** `drivers/af_xdp` registers the whole buffer region with the kernel, at its
//! addresses, with unaligned chunks: a slot is no power of two. A chunk of 2,304 bytes begins 256
//! bytes (`XDP_PACKET_HEADROOM`) in front of a buffer's data, so the kernel writes a packet to the
//! place where the graph expects it. Each netdev registers the region once and its queues share the
//! registration: copy or zero copy is a property of a registration. `io/sys.rs` has the `unsafe`
//! code: system calls, and the rings, of which only atomics and copies are made. The kernel's
//! addresses pass `buffer::Lent` before use. A socket outlives the buffers that it may write: its
//! owner (`io/socket.rs`) closes it first. The program is attached by a BPF link, so it ends with
//! the process.
//!
//! Limits: no offloads. A host at the other end of a veth has to compute its checksums and to put
//! in its VLAN tags itself (`ethtool -K IF tx off txvlan off`), because the kernel passes frames
//! with partial checksums and without their tags, and marks none; of a NIC, `rxvlan off`.
//! `prog` takes a program that is pinned in a BPF file system, not an object file. All packet
//! buffers are pinned, once for each netdev. Needs CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, and
//! CAP_IPC_LOCK or a high limit of locked memory.
//!
//! Tests: Linux hosts over veth, TCP compared byte for byte both ways; a simulated kernel that
//! completes in any order and writes wrong descriptors (DPDK's net_af_xdp at the other end hasn't
//! been tried).
#![deny(unsafe_code)]

mod api;
mod cli;
mod control;
mod device;
mod examples;
mod io;
#[cfg(feature = "tests")]
mod tests;

pub use control::{Create, create, delete};
pub use device::Config;
pub use io::Attach;

use graph::{NodeDef, Plugin, StateDef};

/// The input node.
pub type AfXdpInput = driver::PollInput<io::RxQueue>;

/// Interfaces of the kernel through AF_XDP.
pub static PLUGIN: Plugin = Plugin {
    name: "af_xdp",
    about: "AF_XDP: interfaces of the Linux kernel, without a copy here",
    area: "interfaces-and-drivers",
    does: &[
        "A kernel interface by AF_XDP sockets in the daemon's packet buffers, native and generic, \
         several queues, frames of several buffers; polling, interrupt and adaptive mode (`create \
         interface af_xdp`)",
    ],
    spec: &["the kernel's af_xdp.rst"],
    limits: &[
        "Zero copy wasn't tested on a NIC, and speed wasn't measured",
        "No offloads: a host at the other end of a veth has to compute its checksums (`ethtool -K \
         … tx off`)",
        "`prog` takes a pinned program, no object file",
    ],
    state: &[driver::STATE, StateDef::of::<control::Xdps>()],
    nodes: &[NodeDef::input::<AfXdpInput>()],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    start: |world| {
        driver::start(world);
        Ok(())
    },
    loaded: driver::loaded,
    end: driver::end,
    unmoved: &[(
        "/err/af_xdp-input/*",
        "descriptors that are wrong: drivers/af_xdp/src/io/tests.rs",
    )],
    ..Plugin::EMPTY
};
