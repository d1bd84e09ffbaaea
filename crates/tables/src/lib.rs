// SPDX-License-Identifier: Apache-2.0
//! The structures that features look things up in. They know keys and indices, and no protocol.
//!
//! * [`Lpm4`], [`Lpm6`] — longest prefix match at a cost that hardly depends on the number of
//!   routes, changed in place while workers read, in a [`Forest`]; [`OracleLpm`] is what they are
//!   tested against.
//! * [`MacTable`] — MAC addresses of bridge domains, learned and looked up by workers without a
//!   lock.
//! * [`Sessions`] — sessions of one thread, by keys that senders choose, with timeouts and lists by
//!   age.
//! * [`Shares`] — the owners of a full table's entries: each may have as many as the others.
//! * [`Mixer`] — hashes of such keys.
//! * [`HashIndex`] — entries by hash, for tables of whole keys that control changes.
//! * [`Pool`] — objects at stable indices.

#![forbid(unsafe_code)]

mod chunks;
mod hash_index;
mod lpm;
pub mod mac;
mod mixer;
mod pool;
mod sessions;
mod shares;

pub use hash_index::{HashIndex, fold};
pub use lpm::{
    Forest, Full, Key, Leaf, Lpm, Lpm4, Lpm6, OracleLpm, ResultKind, Route, SplitLookup,
};
pub use mac::MacTable;
pub use mixer::Mixer;
pub use pool::Pool;
pub use sessions::{AgeList, SessionHandle, SessionKey, Sessions};
pub use shares::{SHARES, Share, Shares};
