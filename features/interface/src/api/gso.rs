// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `gso`.

use super::Client;
use graph::World;
use msg::{Message, Messages, Module};
use net::Interfaces;
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> =
    Module { name: "gso", version: "1.0.0", crc: 0x81a7_3026, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Client<'_>, r: FeatureGsoEnableDisable| {
        w.get::<Interfaces>().set_gso(r.sw_if_index.existing(w)?, r.enable_disable)
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
