// SPDX-License-Identifier: Apache-2.0
//! Phases of the configuration, which order its lines.

use crate::order::sorted;
use crate::{Plugin, World};

/// A group of configuration lines, with its position among other groups. A plugin whose lines
/// belong to none of the phases here declares one of its own in [`Plugin::phases`].
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// The name. It is the heading of the phase's lines.
    pub name: &'static str,
    /// Names of earlier phases: lines of this phase need objects that their lines make.
    pub after: &'static [&'static str],
    /// Names of later phases.
    pub before: &'static [&'static str],
}

impl PartialEq for Phase {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Phase {}

impl Phase {
    /// Settings that need no other object: limits, the log.
    pub const SETTINGS: Self = Self::behind("settings", &[]);
    /// Tables of routes.
    pub const TABLES: Self = Self::behind("tables", &["settings"]);
    /// Interfaces, in the order of their indices.
    pub const INTERFACES: Self = Self::behind("interfaces", &["tables"]);
    /// Names of interfaces. All later lines use these names.
    pub const NAMES: Self = Self::behind("names", &["interfaces"]);
    /// Settings of devices: layer-2 addresses, MTUs, modes, placement of queues.
    pub const DEVICES: Self = Self::behind("devices", &["names"]);
    /// The tables of interfaces.
    pub const BINDINGS: Self = Self::behind("bindings", &["devices"]);
    /// Layer-3 addresses.
    pub const ADDRESSES: Self = Self::behind("addresses", &["bindings"]);
    /// Neighbours.
    pub const NEIGHBORS: Self = Self::behind("neighbors", &["addresses"]);
    /// Routes.
    pub const ROUTES: Self = Self::behind("routes", &["neighbors"]);
    /// Features of interfaces, and settings that need any earlier phase.
    pub const FEATURES: Self = Self::behind("features", &["routes"]);
    /// Features that an operator has enabled or disabled directly.
    pub const CHOSEN: Self = Self::behind("chosen features", &["features"]);
    /// Admin states of interfaces. No packet is forwarded before all other lines have run.
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
    /// The position of a phase in the order of all phases.
    pub(crate) fn phase_rank(&self, phase: Phase) -> usize {
        let rank = self.phases.iter().position(|other| *other == phase);
        debug_assert!(rank.is_some(), "the plugin that uses phase {} must declare it", phase.name);
        rank.unwrap_or(self.phases.len())
    }
}
