// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The shared model of the network, which features and drivers work on. It knows no node.
//!
//! - [`Interfaces`]: hardware and software interfaces, their state, their events.
//! - [`IfCounters`]: what is counted for each interface.
//! - [`Adjacencies`]: what is done with a packet once its route is found.
//! - [`Neighbors`]: which station on a link has which address.
//!
//! Control verbs take the [`graph::World`] and are called on the control thread; workers read through snapshots.

pub mod adj;
mod counters;
mod device;
mod event;
mod interface;
mod neighbor;
#[cfg(test)]
mod tests;
mod view;

pub use adj::{Adj, AdjIndex, AdjInfo, AdjKind, Adjacencies, Link, ethernet_rewrite};
pub use counters::{IfCounters, IfLanes};
pub use device::{Device, RxQueue};
pub use event::IfEvent;
pub use interface::{IfKind, Interface, Interfaces, MtuKind, NewInterface, SubInterface};
pub use neighbor::{
    Evidence, Gone, Learned, Neighbor, NeighborConfig, NeighborEvent, NeighborState, Neighbors, Prober,
    Refusal,
};
pub use view::{IfFlags, IfView};
