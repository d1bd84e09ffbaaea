// SPDX-License-Identifier: Apache-2.0
//! State that threads share without locks on the packet path.
//!
//! Control publishes, workers read:
//!
//! * [`Qsbr`] — a reclamation domain. A worker registers a [`Reader`] and holds a [`Turn`] for each
//!   turn of its loop; what control has unlinked is freed once every turn that could still see it
//!   has ended.
//! * [`Snapshot`] — one value, replaced as a whole. [`Slots`] — an array of such values by index.
//! * [`spsc`] — a bounded ring between two threads. [`Mailbox`] — a bounded many-to-one queue with
//!   a [`Waker`]. [`Queue`] — the same without a bound: from control to a thread that it must not
//!   wait for.
//! * [`PerThread`] — a value for each thread, which that thread alone uses.
//!
//! Rate limits are [`TokenBucket`] of a thread, and [`SharedTokenBucket`] and
//! [`TokenBucketWithStocks`] of all of them.
//!
//! The orderings are checked by the loom models in `src/models.rs`: `xtask/x models`.

mod mailbox;
#[cfg(all(feature = "tests", loom))]
mod models;
mod per_thread;
mod platform;
mod qsbr;
mod queue;
mod slots;
mod snapshot;
pub mod spsc;
#[cfg(all(feature = "tests", not(loom)))]
mod tests;
mod token_bucket;
mod waker;

pub use mailbox::Mailbox;
pub use per_thread::{PerThread, PerThreadGuard};
pub use qsbr::{GraceTicket, Qsbr, Reader, Turn};
pub use queue::Queue;
pub use slots::Slots;
pub use snapshot::Snapshot;
pub use token_bucket::{Limit, SharedTokenBucket, TokenBucket, TokenBucketWithStocks};
pub use waker::Waker;
