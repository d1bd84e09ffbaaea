// SPDX-License-Identifier: Apache-2.0
//! Tools for tests: packets ([`pkt`]), broken packets ([`mutate`]), Linux network namespaces
//! with real peers ([`lab`]), texts to compare with ([`mod@golden`]), route tables and traffic as
//! the Internet's ([`internet`]), and a word for tests that can't run here ([`skip()`]).
//!
//! Everything here panics with a message instead of returning errors: a test has nothing better to
//! do with them.
#![forbid(unsafe_code)]

pub mod golden;
pub mod internet;
pub mod lab;
pub mod mutate;
pub mod pkt;
mod rng;
mod skip;

pub use rng::Rng;
pub use skip::{Lack, has_file, or_skip, skip, skip_lacking};
