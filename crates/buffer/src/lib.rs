// SPDX-License-Identifier: Apache-2.0
//! Packet buffers.
//!
//! One contiguous region holds all buffers of an instance. A buffer is named by a 32-bit index; its
//! address is `base + (index << 6)`. A slot is, in this order:
//!
//! | bytes | what |
//! |---|---|
//! | 128 | driver area: room for a foreign descriptor such as an `rte_mbuf` |
//! | 192 | [`Buffer`] metadata: one hot cache line, one cold, one of [`Field`]s that features reserve |
//! | 128 | headroom for headers that are pushed in front |
//! | 2048 | packet data |
//!
//! which is an odd number of cache lines, so that the headers of consecutive buffers spread over
//! all sets of the first-level cache.
//!
//! **Ownership.** A buffer in use has exactly one owner: an [`Owned`] handle, or the one [`Frame`]
//! that holds its index. From that follows that `&mut Frame` soundly gives `&mut Buffer`. Buffers
//! are handed out and taken back by a [`Cache`], one per thread, last in first out: a buffer that
//! was just freed is still in the cache. Segments behind the first of a chain are reached through
//! it only. Packets may share such segments, and no others: an [`Original`], of which copies are
//! made, takes its packet from its owner. So a buffer that a handle or a frame names has one
//! reference, and freeing it needs no look at anything but whether another segment follows.
//! Buffers that a device reads or writes have an owner too: [`Lent`].
//!
//! The public fields can't change which segments a packet consists of; with debug assertions the
//! same code runs, and more is checked.
//!
//! Running out of buffers is an answer (`None`, a short count) and a counter, never an abort. A
//! node or queue that holds packets for longer than a turn takes its buffers from a [`Share`] of
//! the pool; a few are kept for the router's own packets ([`Cache::alloc_own`]).

mod asan;
mod cache;
mod chain;
mod debug_state;
mod field;
mod frame;
mod header;
mod lent;
mod meta;
mod original;
mod pool;
#[cfg(doctest)]
mod refused;
mod scratch;
mod share;
#[cfg(feature = "tests")]
mod tests;

pub use cache::Cache;
pub use chain::{MAX_PACKET, Segments};
pub use field::{FIELD_BYTES, Field, FieldInfo, FieldValue, RARE_FIELD_BYTES};
pub use frame::{FRAME_SIZE, Frame};
pub use header::{Buffer, DATA_SIZE, HEADROOM, PACKET_OFFSET};
pub use lent::{AREA_OFFSET, DATA_OFFSET, Lent};
pub use meta::{Flags, MAX_RETURNS, Offload};
pub use original::Original;
pub use pool::{Owned, Pool, PoolStats, SLOT_SIZE};
pub use scratch::{SCRATCH_WORDS, Scratch};
pub use share::{Quota, Reservation, Share, ShareStats};

/// FNV-1a of a name, never 0: tells [`Scratch`] types apart in debug builds.
#[doc(hidden)]
pub const fn tag(name: &str) -> u32 {
    let bytes = name.as_bytes();
    let (mut hash, mut i) = (0x811c_9dc5_u32, 0);
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash | 1
}
