// SPDX-License-Identifier: Apache-2.0
//! Memory that the packet path lives in.
//!
//! - [`Region`]: shared memory behind a file descriptor, on the largest pages that the machine
//!   gives. Buffer pools, AF_XDP UMEM, memif and vhost memory are carved from it.
//! - [`Reserve`]: a zeroed array at a fixed address that costs memory only where it is touched, for
//!   tables that grow while workers read them.
//! - [`Words`]: sparse shared memory that this process writes and others read, as [`WordsView`].
//! - [`PeerMapping`]: memory of another process, which may take it away without harm to this one;
//!   [`PeerMemory`] accesses it by copies and atomics within bounds.
//! - [`Plain`]: values that are kept as bytes.
//! - [`trim_heap`]: what was freed, back to the system.
//! - [`CacheLine`] and the alignment helpers.
#![warn(missing_docs)]

mod align;
mod heap;
mod map;
mod peer;
mod plain;
mod region;
mod reserve;
mod words;

pub use align::{CACHE_LINE, CacheLine, HUGE_PAGE, PAGE, align_down, align_up, is_aligned};
pub use heap::trim_heap;
pub use peer::{PeerMapping, PeerMemory, Wake};
pub use plain::Plain;
pub use region::{PageKind, Region};
pub use reserve::{Reserve, Zeroable};
pub use words::{Loads, Window, Words, WordsView};
