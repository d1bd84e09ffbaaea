// SPDX-License-Identifier: Apache-2.0
//! AF_XDP sockets of one netdev, their rings, and the program that feeds them.
//!
//! The packets' memory is the daemon's buffer region, registered at its real addresses with
//! unaligned chunks: slots of 2,624 bytes are no power of two. A chunk begins 256 bytes in front of
//! a buffer's data, where the kernel wants room (`XDP_PACKET_HEADROOM`), so the kernel writes a
//! packet exactly where a driver that copies would have put it. Each netdev registers the region
//! once, and its queues share that registration (`XDP_SHARED_UMEM`): copy or zero copy, and
//! multi-buffer or not, are properties of a registration, and may differ between netdevs.

mod filter;
pub mod program;
mod ring;
mod rx;
mod shared;
mod socket;
#[allow(unsafe_code, reason = "calls the kernel and reads the rings that it shares")]
mod sys;
mod tx;

pub use filter::Filter;
pub use program::Attach;
pub use rx::RxQueue;
pub use shared::Shared;
pub use socket::{Opened, Step, StepError, Wanted, open};
pub use tx::{Sides, TxQueue};

#[cfg(feature = "tests")]
pub mod tests;

use buffer::{DATA_OFFSET, SLOT_SIZE};

/// `XDP_PACKET_HEADROOM`: the kernel writes a packet so far behind the start of a chunk.
const XDP_HEADROOM: usize = 256;
/// Byte of a slot at which the kernel's chunk begins.
const CHUNK_OFFSET: usize = DATA_OFFSET - XDP_HEADROOM;
/// Bytes of a chunk: up to the end of the slot.
const CHUNK: usize = SLOT_SIZE - CHUNK_OFFSET;
/// `XDP_UMEM_REG` takes chunks from 2,048 bytes to a page.
const _: () = assert!(CHUNK >= 2048 && CHUNK <= 4096);

/// Bits of an address in front of the offset that the kernel adds.
const OFFSET_SHIFT: u32 = 48;

/// Offset in the region that a descriptor of the kernel names; none that can't be.
#[inline(always)]
fn offset_of(addr: u64) -> usize {
    let (base, offset) = (addr & ((1 << OFFSET_SHIFT) - 1), addr >> OFFSET_SHIFT);
    (base + offset) as usize
}
