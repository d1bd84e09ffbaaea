// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `feature`.

use super::Client;
use crate::chosen;
use cli::Result;
use graph::World;
use msg::{Messages, Module};
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> = Module::core("feature", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Client<'_>, r: FeatureEnableDisable| {
        let sw_if = r.sw_if_index.existing(w)?;
        chosen::set(w, sw_if, r.arc_name.as_str(), r.feature_name.as_str(), r.enable)
    });
    m.call(is_enabled);
}

msg::messages! {
    /// Enables or disables a feature on an interface.
    FeatureEnableDisable,
    /// Asks whether a feature is enabled on an interface.
    FeatureIsEnabled,
    /// State of the feature.
    FeatureIsEnabledReply,
}

fn is_enabled(w: &World, _: &Client<'_>, r: FeatureIsEnabled) -> Result<FeatureIsEnabledReply> {
    let sw_if = r.sw_if_index.existing(w)?;
    let is_enabled = chosen::is_enabled(w, sw_if, r.arc_name.as_str(), r.feature_name.as_str())?;
    Ok(FeatureIsEnabledReply { is_enabled })
}
