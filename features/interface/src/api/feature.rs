// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `feature`.

use crate::chosen;
use graph::World;
use msg::{Messages, Module};
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> = Module::core("feature", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: FeatureEnableDisable| {
        let sw_if = r.sw_if_index.existing(w)?;
        chosen::set(w, sw_if, r.arc_name.as_str(), r.feature_name.as_str(), r.enable)
    });
    m.call(|w, r: FeatureIsEnabled| {
        let sw_if = r.sw_if_index.existing(w)?;
        chosen::is_enabled(w, sw_if, r.arc_name.as_str(), r.feature_name.as_str())
    });
}

msg::messages! {
    /// Enables or disables a feature on an interface.
    FeatureEnableDisable,
    /// Asks whether a feature is enabled on an interface.
    FeatureIsEnabled,
    /// State of the feature.
    FeatureIsEnabledReply,
}
