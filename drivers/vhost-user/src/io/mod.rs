// SPDX-License-Identifier: Apache-2.0
//! A guest's memory and virtqueues (Virtual I/O Device 1.3, 2.7 and 2.8): knows nothing of the
//! graph or of the control protocol.

mod chain;
mod inflight;
mod log;
mod memory;
mod packed;
mod queue;
mod region;
mod rx;
mod split;
mod tx;
mod vring;

pub use driver::Event;
pub use inflight::{Inflight, InflightInfo, bytes as inflight_bytes};
pub use log::Log;
pub use memory::{MAX_REGIONS, Memory, Piece, Pieces};
pub use queue::{Format, Position, Queue, QueueConfig, RingAddresses, RingView, Start};
#[cfg(feature = "tests")]
pub use region::killed;
pub use region::{Region, RegionInfo};
pub use rx::NextPacket;
pub use vring::{Vring, VringInfo};
