// SPDX-License-Identifier: Apache-2.0
//! Frames between tun devices and memory: knows nothing of the graph.
//!
//! Frames carry virtio network headers, so that the host's TCP sends super-packets of 64 KiB with
//! the checksum still to be completed, and receives them. With several queues the host spreads its
//! flows over them.
//!
//! Each frame is one system call: the kernel has no other door to a tun device (vhost-net apart,
//! which is not everywhere).

mod host;
mod rx;
#[allow(unsafe_code)]
mod sys;
mod tx;

pub use host::{Config, Host, Kind, Tap};
pub use rx::{MAX_FRAME, RxDrops, RxFrame, RxQueue};
pub use tx::{TxBatch, TxQueue, TxReport};

/// Number of pieces that a frame can consist of.
pub const MAX_PARTS: usize = 64;
