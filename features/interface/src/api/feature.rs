// SPDX-License-Identifier: Apache-2.0
//! Messages of the modules `feature` and `gso`.

use crate::chosen;
use graph::World;
use msg::{Messages, Module};
use net::api::InterfaceIndex;
use net::{Column, Gso};

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

/// The module `gso`.
pub static GSO: Module<World> = Module::core("gso", |m| {
    m.call(|w, r: FeatureGsoEnableDisable| {
        let sw_if = r.sw_if_index.existing(w)?;
        w.get::<Column<Gso>>().set(w, sw_if, Gso(r.enable_disable))
    });
});

msg::messages! {
    /// Turns the feature `gso` of an interface on or off.
    FeatureGsoEnableDisable,
    /// Enables or disables a feature on an interface.
    FeatureEnableDisable,
    /// Asks whether a feature is enabled on an interface.
    FeatureIsEnabled,
    /// State of the feature.
    FeatureIsEnabledReply,
}
