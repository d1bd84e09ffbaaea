// SPDX-License-Identifier: Apache-2.0
//! The plugins of an instance, from their start to their end.

use super::World;
use crate::Plugin;
use crate::registry::Kind;
use crate::runtime::Runtime;
use std::sync::Arc;

impl World {
    /// The plugins of this instance.
    pub fn plugins(&self) -> &'static [&'static Plugin] {
        self.plugins
    }

    /// Makes the nodes and states of the plugins, and starts them in their order.
    pub(super) fn start(
        self: &Arc<Self>,
        runtimes: &mut [Runtime],
        off: &[&Plugin],
    ) -> Result<(), String> {
        let mut indices = Vec::new();
        for plugin in self.plugins {
            for def in plugin.nodes {
                let mut registry = self.registry();
                let name = def.name();
                let known = registry.find(name).and_then(|index| registry.get(index));
                if known.is_some_and(|entry| entry.kind != Kind::Named) {
                    return Err(format!(
                        "plugin {}: another plugin has a node {name} already",
                        plugin.name
                    ));
                }
                let make = (def.make)();
                let index = registry
                    .add(name, make.kind(), (def.node_type)())
                    .map_err(|e| e.to_string())?;
                indices.push((index, make));
            }
        }
        let arcs: Vec<_> = self.plugins.iter().flat_map(|p| p.arcs).copied().collect();
        let features: Vec<_> = self.plugins.iter().flat_map(|p| p.features).copied().collect();
        self.registry().add_arcs(&arcs, &features)?;
        self.place_missing();
        self.reserve_fields()?;
        self.make_states(off);
        for (index, make) in indices {
            self.install(index, &make);
            runtimes.iter_mut().for_each(Runtime::receive);
        }
        for plugin in self.plugins {
            (plugin.start)(self).map_err(|e| format!("plugin {}: {e}", plugin.name))?;
            runtimes.iter_mut().for_each(Runtime::receive);
        }
        Ok(())
    }

    /// Informs the plugins that the configuration of the start was loaded.
    pub fn loaded(&self) {
        self.plugins.iter().for_each(|plugin| (plugin.loaded)(self));
    }

    /// Lets the plugins undo what they have changed outside of the process, the last one first. For
    /// a clean end: nothing acts on the instance afterwards.
    pub fn end(&self) {
        self.plugins.iter().rev().for_each(|plugin| (plugin.end)(self));
    }
}
