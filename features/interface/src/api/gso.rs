// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `gso`.

use super::Client;
use graph::World;
use msg::{Message, Messages, Module};
use net::api::InterfaceIndex;
use net::{Column, Gso};

/// The module.
pub static API: Module<World> =
    Module { name: "gso", version: "1.0.0", crc: 0x81a7_3026, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Client<'_>, r: FeatureGsoEnableDisable| {
        let sw_if = r.sw_if_index.existing(w)?;
        w.get::<Column<Gso>>().set(w, sw_if, Gso(r.enable_disable))
    });
}

/// Turns the feature `gso` of an interface on or off.
#[derive(Message)]
pub struct FeatureGsoEnableDisable {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// On, not off.
    pub enable_disable: bool,
}
