// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `cdp`.

use crate::port::Cdp;
use cli::Result;
use graph::World;
use msg::{Caller, Messages, Module};

/// The module.
pub static API: Module<World> = Module::plugin("cdp", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: CdpEnableDisable| -> Result<()> {
        w.get::<Cdp>().set(w, r.enable_disable);
        Ok(())
    });
}

msg::messages! {
    /// Enables or disables CDP on all Ethernet devices.
    CdpEnableDisable,
}
