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
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> =
    Module { name: "l2", version: "3.3.0", crc: 0x1a53_d6cc, core: true, messages };

fn messages(m: &mut Messages<World>) {
    domain::messages(m);
    port::messages(m);
    fib::messages(m);
    termination::messages(m);
}

msg::flags! {
    /// The features that a bridge domain applies to frames.
    pub struct BdFlags: u32 = enum "bd_flags" {
        NONE = 0 => "BRIDGE_API_FLAG_NONE",
        LEARN = 1 => "BRIDGE_API_FLAG_LEARN",
        FWD = 2 => "BRIDGE_API_FLAG_FWD",
        FLOOD = 4 => "BRIDGE_API_FLAG_FLOOD",
        UU_FLOOD = 8 => "BRIDGE_API_FLAG_UU_FLOOD",
        ARP_TERM = 16 => "BRIDGE_API_FLAG_ARP_TERM",
        ARP_UFWD = 32 => "BRIDGE_API_FLAG_ARP_UFWD",
    }
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

fn index(sw_if: Option<SwIfIndex>) -> InterfaceIndex {
    sw_if.map_or(InterfaceIndex::NONE, InterfaceIndex::from)
}
