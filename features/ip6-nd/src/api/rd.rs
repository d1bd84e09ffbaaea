// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `rd_cp`.

use crate::rd::Receiver;
use cli::Result;
use graph::World;
use msg::{Caller, Message, Module};
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> = Module {
    name: "rd_cp",
    version: "1.0.1",
    crc: 0x871c_3bee,
    core: true,
    messages: |m| m.call(address_autoconfig),
};

/// Starts or stops making addresses of the prefixes that routers advertise.
#[derive(Message)]
pub struct Ip6NdAddressAutoconfig {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Make, not take back.
    pub enable: bool,
    /// Default routes too.
    pub install_default_routes: bool,
}

fn address_autoconfig(w: &World, _: &Caller<'_, World>, r: Ip6NdAddressAutoconfig) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    w.get::<Receiver>().autoconfig(w, sw_if, r.enable, r.install_default_routes)
}
