// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `cdp`.

use crate::port::Cdp;
use graph::World;
use msg::{Messages, Module};

/// The module.
pub static API: Module<World> = Module::plugin("cdp", messages);

fn messages(m: &mut Messages<World>) {
    m.order(|w, r: CdpEnableDisable| w.get::<Cdp>().set(w, r.enable_disable));
}

msg::messages! {
    /// Enables or disables CDP on all Ethernet devices.
    CdpEnableDisable,
}
