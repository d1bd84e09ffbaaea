// SPDX-License-Identifier: Apache-2.0
//! Phases of the configuration: which lines stand before which.

use crate::order::sorted;
use crate::{Plugin, World};

/// Lines of a configuration that stand together, before and after those of other phases. A plugin whose lines belong to none of the
/// phases here declares one of its own in [`Plugin::phases`].
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// Its name, which is the heading of its lines.
    pub name: &'static str,
    /// Names of phases whose lines stand before these, since these need what they make.
    pub after: &'static [&'static str],
    /// Names of phases whose lines stand behind these.
    pub before: &'static [&'static str],
}

impl PartialEq for Phase {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Phase {}

impl Phase {
    /// What needs nothing else: limits, the log.
    pub const SETTINGS: Self = Self::behind("settings", &[]);
    /// Tables of routes.
    pub const TABLES: Self = Self::behind("tables", &["settings"]);
    /// Interfaces, in the order of their indices.
    pub const INTERFACES: Self = Self::behind("interfaces", &["tables"]);
    /// Names of interfaces, by which all that follows calls them.
    pub const NAMES: Self = Self::behind("names", &["interfaces"]);
    /// What belongs to the device: addresses of layer 2, MTUs, modes, placement.
    pub const DEVICES: Self = Self::behind("devices", &["names"]);
    /// Which interface is in which table.
    pub const BINDINGS: Self = Self::behind("bindings", &["devices"]);
    /// Addresses of layer 3.
    pub const ADDRESSES: Self = Self::behind("addresses", &["bindings"]);
    /// Neighbours.
    pub const NEIGHBORS: Self = Self::behind("neighbors", &["addresses"]);
    /// Routes.
    pub const ROUTES: Self = Self::behind("routes", &["neighbors"]);
    /// Features of interfaces, and what needs any of the above.
    pub const FEATURES: Self = Self::behind("features", &["routes"]);
    /// Features that an operator enabled or disabled by themselves, whatever else needs them.
    pub const CHOSEN: Self = Self::behind("chosen features", &["features"]);
    /// Interfaces that are up: nothing passes before all else is there.
    pub const UP: Self = Self::behind("up", &["chosen features"]);

    /// The phases that need no plugin.
    const COMMON: [Self; 12] = [
        Self::SETTINGS,
        Self::TABLES,
        Self::INTERFACES,
        Self::NAMES,
        Self::DEVICES,
        Self::BINDINGS,
        Self::ADDRESSES,
        Self::NEIGHBORS,
        Self::ROUTES,
        Self::FEATURES,
        Self::CHOSEN,
        Self::UP,
    ];

    const fn behind(name: &'static str, after: &'static [&'static str]) -> Self {
        Self { name, after, before: &[] }
    }

    /// The common phases and those of these plugins.
    pub(crate) fn all(plugins: &[&Plugin]) -> Vec<Self> {
        let of_plugins = plugins.iter().flat_map(|plugin| plugin.phases);
        Self::COMMON.iter().chain(of_plugins).copied().collect()
    }

    /// [`Self::all`] in the order of their lines.
    ///
    /// # Errors
    /// A cycle.
    pub(crate) fn in_order(plugins: &[&Plugin]) -> Result<Vec<Self>, String> {
        let phases = Self::all(plugins).into_iter().map(|phase| (phase, ())).collect();
        let phases = sorted("the order of the configuration's phases", phases)?;
        Ok(phases.into_iter().map(|(phase, ())| phase).collect())
    }
}

impl World {
    /// The place of a phase in the order of all.
    pub(crate) fn phase_rank(&self, phase: Phase) -> usize {
        let rank = self.phases.iter().position(|other| *other == phase);
        debug_assert!(rank.is_some(), "the plugin that uses phase {} must declare it", phase.name);
        rank.unwrap_or(self.phases.len())
    }
}
