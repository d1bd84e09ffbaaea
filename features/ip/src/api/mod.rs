// SPDX-License-Identifier: Apache-2.0
//! Messages of the modules `ip` and `interface` about interfaces that carry IP.

pub mod address;
pub mod interface;
pub mod refused;

use graph::World;
use msg::{Messages, Module};

/// The modules.
pub static MODULES: &[Module<World>] =
    &[Module::core("ip", ip_messages), Module::core("interface", interface::messages)];

fn ip_messages(m: &mut Messages<World>) {
    address::messages(m);
    refused::messages(m);
}
