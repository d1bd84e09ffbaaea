// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `l2`.

mod domain;
mod fib;
mod port;
mod termination;

pub use fib::{L2MacsEvent, MacEntry, MacEventAction};
pub use termination::*;
#[cfg(feature = "tests")]
pub use {domain::*, fib::*, port::*};

use crate::features::Features;
use graph::World;
use msg::{Messages, Module};

/// The module.
pub static API: Module<World> = Module::core("l2", messages);

fn messages(m: &mut Messages<World>) {
    domain::messages(m);
    port::messages(m);
    fib::messages(m);
    termination::messages(m);
}

msg::messages! {
    /// The features that a bridge domain applies to frames.
    flags BdFlags,
}

/// The features that flags of messages name, by bit.
const FLAGS: [(u32, Features); 6] = [
    (1, Features::LEARN),
    (2, Features::FWD),
    (4, Features::FLOOD),
    (8, Features::UU_FLOOD),
    (16, Features::ARP_TERM),
    (32, Features::ARP_UFWD),
];
