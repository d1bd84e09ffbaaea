// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `cdp`.

use crate::port::Cdp;
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module};

/// The module.
pub static API: Module<World> =
    Module { name: "cdp", version: "1.0.0", crc: 0x8cfa_825e, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: CdpEnableDisable| -> Result<()> {
        w.get::<Cdp>().set(w, r.enable_disable);
        Ok(())
    });
}

/// Enables or disables CDP on all Ethernet devices.
#[derive(Message)]
pub struct CdpEnableDisable {
    /// Enables, not disables.
    pub enable_disable: bool,
}
