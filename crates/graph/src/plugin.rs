// SPDX-License-Identifier: Apache-2.0
//! A plugin: what a feature or a driver brings.

use crate::{ArcDef, Feature, FieldDef, NodeDef, Phase, RunningConfig, StageDef, StateDef, World};
use cli::Command;
use msg::Module;
use startup::StartupDef;
use stats::Space;
use stats::metric::Metric;
use std::sync::Arc;

/// A plugin: all that a feature or a driver brings; listed in the daemon's `plugins.rs`.
pub struct Plugin {
    /// Its name, as in `plugins { plugin NAME_plugin.so { disable } }`.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// The page of `docs/features` that describes it: `tunnels` for `docs/features/tunnels.md`.
    pub area: &'static str,
    /// Its abilities, a line each, in Markdown, with the commands that bring them about.
    pub does: &'static [&'static str],
    /// The specifications that it follows: `RFC 7348`.
    pub spec: &'static [&'static str],
    /// Its limits, a line each.
    pub limits: &'static [&'static str],
    /// Only a rule of its own in startup.conf enables it.
    pub default_disabled: bool,
    /// Its sections of startup.conf; [`World::startup`] has what they say.
    pub startup: &'static [StartupDef],
    /// State that its nodes and commands share, made before its nodes in this order; what a state
    /// is made from comes before it.
    pub state: &'static [StateDef],
    /// Fields of the packets' metadata in which its nodes keep values.
    pub fields: &'static [FieldDef],
    /// Its nodes.
    pub nodes: &'static [NodeDef],
    /// The arcs that its nodes start.
    pub arcs: &'static [ArcDef],
    /// Its features on arcs, its own or others'.
    pub features: &'static [Feature],
    /// The stages of its features, which a fast path runs in place of their nodes.
    pub stages: &'static [StageDef],
    /// Its commands.
    pub cli: &'static [Command<World>],
    /// Its messages of the binary API.
    pub api: &'static [Module<World>],
    /// Its own phases of the configuration.
    pub phases: &'static [Phase],
    /// Writes the configuration that its commands made, without defaults: for `show
    /// running-config`, `save`, `rollback`.
    pub config: fn(&World, &mut RunningConfig),
    /// Directories of its counters in the stats segment whose cells belong to interfaces or
    /// routes. All other counters are [`Space::Own`].
    pub counters: &'static [(&'static str, Space)],
    /// Metrics of its counters, for monitoring systems.
    pub metrics: &'static [Metric],
    /// Its commands that set something, with all that they can set. Tests save and restore the
    /// state that they make.
    pub examples: &'static [Script],
    /// Its commands that set nothing that lasts, by the beginnings of their paths, and why: no
    /// example needs them.
    pub transient: Exceptions,
    /// Its `show` commands, with `*` for any text, whose output differs between two instances of
    /// the same configuration. Tests compare that of all others.
    pub volatile: Exceptions,
    /// Its counters that don't move in the tests of all plugins (`tests/graph`), by their names in
    /// the stats segment, with `*` for any text. The reason is the test that moves them, or why
    /// nothing can.
    pub unmoved: Exceptions,
    /// Its nodes that no other node of a new instance leads to, with `*` for any text. The reason
    /// is where their packets come from.
    pub entered: Exceptions,
    /// Its interfaces that are deleted with another one, by the name of their driver. The reason is
    /// which one that is.
    pub dependent: Exceptions,
    /// Called once, when all nodes and arcs of all plugins are there and no packet moves yet:
    /// register with a parent, spawn a process. The plugins are called in the order of the
    /// list.
    pub start: fn(&Arc<World>) -> Result<(), String>,
    /// Called once, on the control thread, when the configuration of the start was loaded: the
    /// plugin knows then which objects of a killed process before this one are used no more.
    pub loaded: fn(&World),
    /// Called once at a clean end, on the control thread, while the threads still run: undo what
    /// was changed outside of the process. It isn't called if the process is killed.
    pub end: fn(&World),
}

impl Plugin {
    /// Nothing: for `..Plugin::EMPTY`.
    pub const EMPTY: Plugin = Plugin {
        name: "",
        about: "",
        area: "",
        does: &[],
        spec: &[],
        limits: &[],
        default_disabled: false,
        startup: &[],
        state: &[],
        fields: &[],
        nodes: &[],
        arcs: &[],
        features: &[],
        stages: &[],
        cli: &[],
        api: &[],
        phases: &[],
        config: |_, _| {},
        counters: &[],
        metrics: &[],
        examples: &[],
        transient: &[],
        volatile: &[],
        unmoved: &[],
        entered: &[],
        dependent: &[],
        start: |_| Ok(()),
        loaded: |_| {},
        end: |_| {},
    };
}

/// Exceptions from tests of all plugins, and the reason for each.
pub type Exceptions = &'static [(&'static str, &'static str)];

/// The environment that a script needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// An instance in the test's own process.
    Nothing,
    /// A daemon with two workers, in a namespace with the links `left` and `right`, beside a
    /// namespace whose name takes the place of `HOST`.
    Hosts,
}

/// Commands that make a state.
#[derive(Debug, Clone, Copy)]
pub struct Script {
    /// Its subject.
    pub name: &'static str,
    /// The environment that it needs.
    pub needs: Needs,
    /// One command a line.
    pub lines: &'static str,
}

impl Script {
    /// A script that needs nothing but an instance.
    pub const fn here(name: &'static str, lines: &'static str) -> Self {
        Self { name, needs: Needs::Nothing, lines }
    }

    /// A script that needs a daemon between hosts.
    pub const fn hosts(name: &'static str, lines: &'static str) -> Self {
        Self { name, needs: Needs::Hosts, lines }
    }
}
