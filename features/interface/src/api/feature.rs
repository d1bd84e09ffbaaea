// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `feature`.

use super::Client;
use crate::chosen;
use cli::Result;
use graph::World;
use msg::{Message, Messages, Module, Str};
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> =
    Module { name: "feature", version: "1.0.2", crc: 0x30d6_f180, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Client<'_>, r: FeatureEnableDisable| {
        let sw_if = r.sw_if_index.existing(w)?;
        chosen::set(w, sw_if, r.arc_name.as_str(), r.feature_name.as_str(), r.enable)
    });
    m.call(is_enabled);
}

/// Enables or disables a feature on an interface.
#[derive(Message)]
pub struct FeatureEnableDisable {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Enable, not disable.
    pub enable: bool,
    /// The arc.
    pub arc_name: Str<64>,
    /// The feature's node.
    pub feature_name: Str<64>,
}

/// Asks whether a feature is enabled on an interface.
#[derive(Message)]
#[msg(reply)]
pub struct FeatureIsEnabled {
    /// The arc.
    pub arc_name: Str<64>,
    /// The feature's node.
    pub feature_name: Str<64>,
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}

/// State of the feature.
#[derive(Message)]
#[msg(head(client_index, context, retval))]
pub struct FeatureIsEnabledReply {
    /// It is.
    pub is_enabled: bool,
}

fn is_enabled(w: &World, _: &Client<'_>, r: FeatureIsEnabled) -> Result<FeatureIsEnabledReply> {
    let sw_if = r.sw_if_index.existing(w)?;
    let is_enabled = chosen::is_enabled(w, sw_if, r.arc_name.as_str(), r.feature_name.as_str())?;
    Ok(FeatureIsEnabledReply { is_enabled })
}
