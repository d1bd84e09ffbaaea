// SPDX-License-Identifier: Apache-2.0
//! The structures that features look things up in. They know keys and indices, and no protocol.
//!
//! * [`Lpm4`], [`Lpm6`] — longest prefix match, written in place while workers read; [`OracleLpm`] is what they are
//!   tested against.
//! * [`Pool`] — objects at stable indices.
//! * [`TimerWheel`] — timers started and stopped in constant time.

#![forbid(unsafe_code)]

mod lpm;
mod pool;
mod timer_wheel;

pub use lpm::{Full, Key, Lpm, Lpm4, Lpm6, NO_ROUTE, OracleLpm, Route, Trie};
pub use pool::Pool;
pub use timer_wheel::{TimerId, TimerWheel};
