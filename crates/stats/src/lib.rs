// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
#![warn(missing_docs)]
//! Counters, in a segment of shared memory that VPP's readers understand.
//!
//! A counter is a vector of cells for each thread. A thread writes its own cells only, by a plain
//! load and store; a reader sums over the rows. Where control counts too it has a row of its own,
//! the last one ([`Simple::control`]). Vectors never move: their address space is reserved, and
//! memory is committed as cells are touched, so an interface or a route gets its cells without
//! anything to resize or to publish. [`Registry`] is the writer's side, [`Reader`] another
//! process's.
//!
//! Readers are optimistic: they copy what they want and look whether the directory has changed
//! meanwhile. Nothing that they do holds a writer up.
//!
//! Cells are set to zero by the thread that owns them ([`Vector::zero`]), or by control when no
//! thread can count there ([`Simple::start`]).

mod counter;
pub mod layout;
pub mod metric;
mod reader;
mod registry;
mod ring;
mod segment;
#[cfg(feature = "tests")]
mod tests;

pub use counter::{Combined, CombinedLane, Gauge, Lane, Names, Simple, Vector};
pub use layout::{Kind, Space};
pub use reader::{Reader, RingRow, Stat, Value};
pub use registry::{Registry, escape};
pub use ring::{Histogram, Ring, RingShape};
pub use segment::Change;
