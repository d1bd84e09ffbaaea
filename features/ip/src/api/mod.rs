// SPDX-License-Identifier: Apache-2.0
//! Messages of the modules `ip` and `interface` about interfaces that carry IP.

pub mod address;
pub mod interface;

use cli::{Error, Result};
use graph::World;
use msg::{Messages, Module, retval};

/// The modules.
pub static MODULES: &[Module<World>] =
    &[Module::core("ip", ip_messages), Module::core("interface", interface::messages)];

fn ip_messages(m: &mut Messages<World>) {
    address::messages(m);
    m.call(|_, _: IoamEnable| refuse("in-situ OAM"));
    m.call(|_, _: IoamDisable| refuse("in-situ OAM"));
}

fn refuse(what: &str) -> Result<()> {
    Err(Error::unsupported(format!("{what}: not built")).retval(retval::UNIMPLEMENTED))
}

msg::messages! {
    /// Writes in-situ OAM data into packets: refused, it isn't implemented.
    IoamEnable,
    /// Stops writing in-situ OAM data into packets: refused, it isn't implemented.
    IoamDisable,
}
