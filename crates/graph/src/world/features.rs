// SPDX-License-Identifier: Apache-2.0
//! Feature arcs: the features that are enabled on interfaces.

use super::World;
use crate::config::to_words;
use crate::registry::Registry;
use crate::{ArcIndex, Configured, NodeIndex, StageDef, SwIfIndex, name_of};
use mem::Plain;
use std::sync::MutexGuard;
use zerocopy::IntoBytes;

/// Callback with the arc and the interface whose features have changed.
pub type FeatureWatcher = fn(&World, ArcIndex, SwIfIndex);

impl World {
    /// The arc of this name.
    pub fn arc(&self, name: &str) -> Option<ArcIndex> {
        self.registry().arcs.find(name)
    }

    /// Where an arc leads behind its last feature, unless an interface has an end of its own.
    pub fn arc_end(&self, arc: ArcIndex) -> NodeIndex {
        self.registry().arcs.all[arc.at()].end
    }

    /// All arcs with their features in order.
    pub fn arc_list(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        let registry = self.registry();
        registry
            .arcs
            .all
            .iter()
            .map(|a| (a.def.name, a.features.iter().map(|(f, _)| f.node).collect()))
            .collect()
    }

    /// The features of an arc that are enabled on an interface, in order.
    pub fn features_of(&self, arc: ArcIndex, sw_if: SwIfIndex) -> Vec<&'static str> {
        self.registry().arcs.enabled(arc, sw_if).into_iter().map(|(feature, _)| feature).collect()
    }

    /// Configuration of a feature, whose node is `N`, on an interface; `None` if the feature isn't
    /// enabled there.
    pub fn feature_config<N: Configured>(
        &self,
        arc: ArcIndex,
        sw_if: SwIfIndex,
    ) -> Option<N::Config> {
        let enabled = self.registry().arcs.enabled(arc, sw_if);
        let found = enabled.into_iter().find(|(feature, _)| *feature == name_of::<N>());
        found.map(|(_, words)| N::Config::load(words.as_bytes()))
    }

    /// Enables a feature on an interface for its owner, or disables it. One that has a
    /// configuration gets the default one.
    ///
    /// # Errors
    /// An arc or feature that doesn't exist, with those that do; too many different chains.
    pub fn set_feature(
        &self,
        arc: &str,
        feature: &str,
        sw_if: SwIfIndex,
        on: bool,
    ) -> Result<(), String> {
        self.change_features(sw_if, |registry| {
            let (index, at) = registry.arcs.position(arc, feature)?;
            let default = registry.feature_config_type(index, at).default;
            registry.arcs.set(index, at, sw_if, on.then_some(default))?;
            Ok(index)
        })
    }

    /// Returns true if a feature's owner has enabled it on an interface, whatever the operator's
    /// setting.
    ///
    /// # Errors
    /// An arc or feature that doesn't exist, with those that do.
    pub fn is_feature_set(
        &self,
        arc: &str,
        feature: &str,
        sw_if: SwIfIndex,
    ) -> Result<bool, String> {
        let registry = self.registry();
        let (index, at) = registry.arcs.position(arc, feature)?;
        Ok(registry.arcs.is_set(index, at, sw_if))
    }

    /// Enables a feature, whose node is `N`, on an interface with this configuration, or disables
    /// it (`None`). Packets that are already on the arc keep the configuration that they
    /// started with.
    ///
    /// # Errors
    /// As [`Self::set_feature`]; a node that its plugin doesn't list with
    /// [`NodeDef::configured`](crate::NodeDef::configured).
    pub fn configure_feature<N: Configured>(
        &self,
        arc: &str,
        sw_if: SwIfIndex,
        config: Option<N::Config>,
    ) -> Result<(), String> {
        self.change_features(sw_if, |registry| {
            let (index, at) = registry.arcs.position(arc, name_of::<N>())?;
            registry.feature_config_type(index, at).check::<N::Config>(name_of::<N>())?;
            registry.arcs.set(index, at, sw_if, config.map(to_words))?;
            Ok(index)
        })
    }

    /// Enables or disables a feature on an interface for an operator, whatever its owner wants,
    /// until the owner's next [`Self::set_feature`] or [`Self::configure_feature`].
    ///
    /// # Errors
    /// As [`Self::set_feature`].
    pub fn choose_feature(
        &self,
        arc: &str,
        feature: &str,
        sw_if: SwIfIndex,
        on: bool,
    ) -> Result<(), String> {
        self.change_features(sw_if, |registry| {
            let (index, at) = registry.arcs.position(arc, feature)?;
            let default = registry.feature_config_type(index, at).default;
            registry.arcs.choose(index, at, sw_if, on.then_some(default))?;
            Ok(index)
        })
    }

    /// The operators' settings against the owners of features, sorted: interface, arc, feature, and
    /// whether it is on.
    pub fn chosen_features(&self) -> Vec<(SwIfIndex, &'static str, &'static str, bool)> {
        self.registry().arcs.chosen()
    }

    /// Gives an interface's chains of an arc an end of its own: its transmit node.
    ///
    /// # Errors
    /// An arc that doesn't exist; an interface that there is no room for.
    pub fn set_arc_end(&self, arc: &str, sw_if: SwIfIndex, end: NodeIndex) -> Result<(), String> {
        self.change_features(sw_if, |registry| {
            let index =
                registry.arcs.find(arc).ok_or_else(|| format!("no feature arc is named {arc}"))?;
            registry.arcs.set_end(index, sw_if, end)?;
            Ok(index)
        })
    }

    /// Lets packets come back to a fast path that runs stages: where `feature`, the last one of an
    /// arc, is enabled, they pass its node also between a feature without a stage and one with a
    /// stage. The features that follow there are those of [`Cx::chain`](crate::Cx::chain) from the
    /// packet's position on.
    ///
    /// # Errors
    /// An arc or feature that doesn't exist; too many different chains.
    pub fn return_by(&self, arc: &str, feature: &str) -> Result<(), String> {
        let staged: Vec<_> = self.stages().map(StageDef::node).collect();
        let mut registry = self.registry();
        let (index, at) = registry.arcs.position(arc, feature)?;
        registry.arcs.set_returns(index, at, |name| staged.contains(&name))
    }

    /// Calls `watcher` after each change of an interface's features on an arc.
    pub fn watch_features(&self, watcher: FeatureWatcher) {
        self.feature_watchers().push(watcher);
    }

    fn feature_watchers(&self) -> MutexGuard<'_, Vec<FeatureWatcher>> {
        self.feature_watchers.lock().expect("no panic inside")
    }

    /// Changes features of an interface on the arc that `change` returns, and calls the watchers.
    fn change_features(
        &self,
        sw_if: SwIfIndex,
        change: impl FnOnce(&mut Registry) -> Result<ArcIndex, String>,
    ) -> Result<(), String> {
        let arc = change(&mut self.registry())?;
        let watchers = self.feature_watchers().clone();
        watchers.into_iter().for_each(|watcher| watcher(self, arc, sw_if));
        Ok(())
    }
}
