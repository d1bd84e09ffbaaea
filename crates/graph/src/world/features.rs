// SPDX-License-Identifier: Apache-2.0
//! Feature arcs: the features that are enabled on interfaces.

use super::World;
use crate::{ArcIndex, NodeIndex, SwIfIndex};

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

    /// The features of an arc that are enabled on an interface, in order, with their configuration.
    pub fn features_of(&self, arc: ArcIndex, sw_if: SwIfIndex) -> Vec<(&'static str, u32)> {
        self.registry().arcs.enabled(arc, sw_if)
    }

    /// Enables a feature on an interface (`config` is what its node reads there), or disables it (`None`).
    ///
    /// # Errors
    /// An arc or feature that doesn't exist, with those that do.
    pub fn set_feature(
        &self,
        arc: &str,
        feature: &str,
        sw_if: SwIfIndex,
        config: Option<u32>,
    ) -> Result<(), String> {
        let mut registry = self.registry();
        let (index, at) = registry.arcs.place(arc, feature)?;
        registry.arcs.set(index, at, sw_if, config)
    }

    /// Enables or disables a feature on an interface for an operator, whatever its owner wants, until the owner's next
    /// [`Self::set_feature`].
    ///
    /// # Errors
    /// As [`Self::set_feature`].
    pub fn choose_feature(&self, arc: &str, feature: &str, sw_if: SwIfIndex, on: bool) -> Result<(), String> {
        let mut registry = self.registry();
        let (index, at) = registry.arcs.place(arc, feature)?;
        registry.arcs.choose(index, at, sw_if, on)
    }

    /// The choices of operators against the owners of features, sorted: interface, arc, feature, and whether it is on.
    pub fn chosen_features(&self) -> Vec<(SwIfIndex, &'static str, &'static str, bool)> {
        self.registry().arcs.chosen()
    }

    /// Gives an interface's chains of an arc an end of its own: its transmit node.
    ///
    /// # Errors
    /// An arc that doesn't exist; an interface that there is no room for.
    pub fn set_arc_end(&self, arc: &str, sw_if: SwIfIndex, end: NodeIndex) -> Result<(), String> {
        let mut registry = self.registry();
        let index = registry.arcs.find(arc).ok_or_else(|| format!("no feature arc is named {arc}"))?;
        registry.arcs.set_end(index, sw_if, end)
    }
}
