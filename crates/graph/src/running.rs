// SPDX-License-Identifier: Apache-2.0
//! The configuration in force, as commands that make it again.
//!
//! Each plugin says its part: of what was set, and isn't as it would be anyway, a line that sets it and a line that takes it
//! back. What is learned, and what follows from other lines (routes of addresses), isn't said. The phases order the lines of
//! all plugins, so that a line finds there what it needs; taken back they are in the opposite order.

use crate::{SwIfIndex, World};

/// When a line's turn is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// What needs nothing else: limits, the log.
    Settings,
    /// Interfaces, in the order of their indices.
    Interfaces,
    /// Their names, by which all that follows calls them.
    Names,
    /// What belongs to the device: addresses of layer 2, MTUs, modes, placement.
    Devices,
    /// Tables.
    Tables,
    /// Which interface is in which table.
    Bindings,
    /// Addresses of layer 3.
    Addresses,
    /// Neighbours.
    Neighbors,
    /// Routes.
    Routes,
    /// Features of interfaces, and what needs any of the above.
    Features,
    /// Streams of the packet generator.
    Streams,
    /// Interfaces that are up: nothing passes before all else is there.
    Up,
}

impl Phase {
    /// Its name, for the sections of a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Interfaces => "interfaces",
            Self::Names => "names",
            Self::Devices => "devices",
            Self::Tables => "tables",
            Self::Bindings => "bindings",
            Self::Addresses => "addresses",
            Self::Neighbors => "neighbors",
            Self::Routes => "routes",
            Self::Features => "features",
            Self::Streams => "streams",
            Self::Up => "up",
        }
    }
}

/// A line of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigLine {
    /// When its turn is.
    pub phase: Phase,
    /// The command that sets it, one line.
    pub text: String,
    /// The command that takes it back.
    pub undo: String,
    /// Within the phase; equal ones stay as they were said.
    order: u32,
}

/// The configuration in force.
///
/// ```
/// use graph::{Phase, RunningConfig};
/// let mut config = RunningConfig::default();
/// config.push(Phase::Addresses, "set interface ip address t0 10.0.0.1/24", "set interface ip address del t0 10.0.0.1/24");
/// config.push(Phase::Tables, "ip table add 7", "ip table del 7");
/// let lines: Vec<_> = config.lines().into_iter().map(|l| l.text).collect();
/// assert_eq!(lines, ["ip table add 7", "set interface ip address t0 10.0.0.1/24"]);
/// ```
#[derive(Default, Debug)]
pub struct RunningConfig(Vec<ConfigLine>);

impl RunningConfig {
    /// Adds a line and the one that takes it back. Values that may hold blanks are put through [`cli::quote`].
    pub fn push(&mut self, phase: Phase, text: impl Into<String>, undo: impl Into<String>) {
        self.0.push(ConfigLine { phase, text: text.into(), undo: undo.into(), order: 0 });
    }

    /// Adds the line that makes an interface: they are made in the order of their indices, whoever makes them.
    pub fn interface(&mut self, sw_if: SwIfIndex, text: impl Into<String>, undo: impl Into<String>) {
        let (phase, order) = (Phase::Interfaces, sw_if.0);
        self.0.push(ConfigLine { phase, text: text.into(), undo: undo.into(), order });
    }

    /// All lines in their order.
    pub fn lines(mut self) -> Vec<ConfigLine> {
        self.0.sort_by_key(|line| (line.phase, line.order));
        self.0
    }
}

impl World {
    /// The configuration in force: what all plugins say of theirs.
    pub fn running_config(&self) -> Vec<ConfigLine> {
        let mut config = RunningConfig::default();
        self.plugins().iter().for_each(|plugin| (plugin.config)(self, &mut config));
        config.lines()
    }
}
