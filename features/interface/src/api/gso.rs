// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `gso`.

use graph::World;
use msg::{Messages, Module};
use net::api::InterfaceIndex;
use net::{Column, Gso};

/// The module.
pub static API: Module<World> = Module::core("gso", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: FeatureGsoEnableDisable| {
        let sw_if = r.sw_if_index.existing(w)?;
        w.get::<Column<Gso>>().set(w, sw_if, Gso(r.enable_disable))
    });
}

msg::messages! {
    /// Turns the feature `gso` of an interface on or off.
    FeatureGsoEnableDisable,
}
