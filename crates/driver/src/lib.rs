// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Common part of drivers. A driver moves frames from and to its device ([`RxQueue`], [`TxQueue`]);
//! this crate connects it to the graph.
//!
//! - [`PollInput`], the driver's input node: on each thread it polls the queues that are placed
//!   there.
//! - [`RxQueues`], the control side of an interface's queues: which thread polls which, and how.
//! - [`Tx`] and [`TxQueues`], the interface's transmit node: a queue for each thread, one call of
//!   the device for a vector. A device that reads packets later takes their buffers over.
//! - [`TxOffloads`]: the work (checksums, segmentation) that a device takes over; the processor
//!   does the rest.
//! - [`Event`]: event descriptors that are shared with another process; [`Sockets`]: the sockets by
//!   which that is arranged, for the driver's control process.
//! - [`Links`]: the state of the host's links that interfaces depend on.
//! - [`Netdevs`]: the changes that drivers make to netdevs, and their end; [`refuse_used`] keeps
//!   drivers off the netdev by which the host itself is reached.
//!
//! A queue belongs to one thread, so there is no lock in the packet path. Control gives orders that
//! a thread carries out between two turns; the thread returns objects that it no longer uses, and a
//! helper thread drops them, because closing takes time. A driver has such threads open what takes
//! time ([`aside()`], and [`Opening`] for interfaces of the host).
//!
//! **Opening and closing.** The kernel takes milliseconds to open or close a queue, so the thread
//! `ferrovia_aside` does it, one job after the other. Threads hand queues that are given back to
//! control, which passes them on. `driver::aside` has that thread open a device, and control gets
//! the result: a host interface is there at once, as one whose link is missing, and the answer to
//! the command comes when it is open. Control waits for the thread, at most a second, where it
//! opens the same device again (`driver::collect`), and at the end of the instance.
//!
//! **Netdevs of the host.** `driver::Netdevs` records what drivers change on netdevs (admin state,
//! MTU, table of receive queues) in the file `netdevs` of the runtime directory, before they change
//! it. The settings are restored with the last interface on a netdev, at a clean end, and by a
//! start that finds the file of a killed process, once its configuration is loaded
//! (`Plugin::loaded`), unless the netdev is in use again.

mod aside;
mod burst;
mod event;
mod feed;
mod given;
mod guard;
mod input;
mod links;
mod mac;
mod netdevs;
mod offload;
mod opening;
mod queues;
pub mod rig;
mod segment_queue;
mod sockets;
mod software;
#[cfg(feature = "tests")]
mod tests;
mod tx;
mod world_ref;

pub use aside::{Closing, aside, close, closing};
pub use burst::Burst;
pub use event::Event;
pub use feed::Pieces;
pub use guard::refuse_used;
pub use input::{InputTo, Losses, PollInput, RxQueue};
pub use links::{LinkChange, LinkUser, Links, note_link};
pub use mac::own_mac;
pub use netdevs::Netdevs;
pub use offload::{TxOffloads, left, note};
pub use opening::{NewPort, Opening};
pub use queues::RxQueues;
pub use sockets::Sockets;
pub use software::{Range, Segmenter, finish_checksum};
pub use tx::{Handed, Loss, Tx, TxQueue, TxQueues, TxTo};
pub use world_ref::{STATE, end, loaded, start};
