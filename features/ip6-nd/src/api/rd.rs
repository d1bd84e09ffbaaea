// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `rd_cp`.

use crate::rd::Receiver;
use graph::World;
use msg::Module;
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> = Module::core("rd_cp", |m| {
    m.call(|w, r: Ip6NdAddressAutoconfig| {
        let sw_if = r.sw_if_index.existing(w)?;
        w.get::<Receiver>().autoconfig(w, sw_if, r.enable, r.install_default_routes)
    });
});

msg::messages! {
    /// Starts or stops making addresses of the prefixes that routers advertise.
    Ip6NdAddressAutoconfig,
}
