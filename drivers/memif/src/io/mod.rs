// SPDX-License-Identifier: Apache-2.0
//! Rings and packet memory that two processes share: knows nothing of the graph or of the control
//! protocol.

mod layout;
mod region;
mod ring;
pub mod rx;
mod tx;

pub use driver::Event;
pub use layout::{Buffers, Layout};
pub use region::Region;
pub use ring::{Desc, NO_INTERRUPT, Ring};
pub use rx::RxRing;
pub use tx::{SharedTx, TxRing};

use std::sync::Arc;

/// Role of this end of a connection. It decides which index of a ring this end writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Allocates the memory and connects; VPP's "slave". Writes the head of each ring.
    Client,
    /// Listens; VPP's "master". Writes the tail of each ring.
    Server,
}

/// The mapped regions of a connection, by their index.
pub type Regions = Arc<[Arc<Region>]>;
