// SPDX-License-Identifier: Apache-2.0
//! The configuration as types. A field is `None` (or empty, or false) when the text didn't give it:
//! defaults belong to the code that uses the value.

use std::path::PathBuf;

use super::logging::Logging;
use super::slot::{NodeVariants, NumaBuffers, PluginDefault, PluginRules};
use crate::plugins;
use crate::reference::{self, stem};
use graph::Plugin;
use startup::value::{
    Account, CoreList, CoreMask, Limit, Listen, PageSize, Policy, Size, SocketPath,
};

/// The whole startup configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// `unix`: the process and its CLI.
    pub unix: Unix,
    /// `cpu`: threads and cores.
    pub cpu: Cpu,
    /// `buffers`
    pub buffers: Buffers,
    /// `memory`
    pub memory: Memory,
    /// `physmem`
    pub physmem: Physmem,
    /// `statseg`: the shared-memory statistics.
    pub statseg: Statseg,
    /// `prometheus`: metrics over HTTP.
    pub prometheus: Prometheus,
    /// `socksvr`: the binary API's socket.
    pub socksvr: Socksvr,
    /// `api-segment`
    pub api_segment: ApiSegment,
    /// `api-trace`
    pub api_trace: ApiTrace,
    /// `plugins`
    pub plugins: Plugins,
    /// `logging`
    pub logging: Logging,
    /// `node`: ISA variants.
    pub node: NodeVariants,
    /// `compat`: whose behaviour counts where it differs from VPP's.
    pub compat: Compat,
    /// `config`: the saved configuration.
    pub saved: Saved,
    /// The sections of plugins.
    pub of_plugins: OfPlugins,
    /// Notes on accepted words that have no effect here, one line each for the log.
    pub notes: Vec<String>,
}

/// The values of the sections that the plugins of this build declare.
#[derive(Clone, Debug, PartialEq)]
pub struct OfPlugins(
    /// The values.
    pub startup::Values,
);

impl Default for OfPlugins {
    fn default() -> Self {
        Self(startup::Values::new(plugins::ALL.iter().flat_map(|p| p.startup)))
    }
}

/// The `unix` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unix {
    /// Stay in the foreground.
    pub nodaemon: bool,
    /// Don't log to syslog.
    pub nosyslog: bool,
    /// A CLI session on standard input and output; implies the foreground.
    pub interactive: bool,
    /// No colours in CLI output.
    pub nocolor: bool,
    /// No banner (`nobanner` and `cli-no-banner`).
    pub no_banner: bool,
    /// The log file.
    pub log: Option<PathBuf>,
    /// Core dumps hold shared mappings too.
    pub full_coredump: bool,
    /// The core file's limit.
    pub coredump_size: Option<Limit>,
    /// The directory of sockets and other runtime files.
    pub runtime_dir: Option<PathBuf>,
    /// Addresses on which the CLI listens.
    pub cli_listen: Vec<Listen>,
    /// Serve the sockets under VPP's default paths as well.
    pub vpp_paths: bool,
    /// CLI scripts to run at the start.
    pub exec: Vec<PathBuf>,
    /// The saved configuration to load at the start, before `exec`.
    pub startup_config: Option<PathBuf>,
    /// A file for the process id.
    pub pidfile: Option<PathBuf>,
    /// The group that may use the sockets.
    pub gid: Option<Account>,
    /// Microseconds to sleep in every turn of the main loop.
    pub poll_sleep_usec: Option<u32>,
    /// The CLI's prompt.
    pub cli_prompt: Option<String>,
    /// Whole lines instead of single characters on the terminal.
    pub cli_line_mode: bool,
    /// Lines of history a session keeps; 0 for none.
    pub cli_history_limit: Option<u32>,
    /// Seconds after which an idle session ends; 0 for never.
    pub cli_idle_timeout: Option<u32>,
    /// No pager.
    pub cli_no_pager: bool,
    /// Lines the pager keeps.
    pub cli_pager_buffer_limit: Option<u32>,
}

/// The `compat` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compat {
    /// VPP's behaviour, also where an RFC demands another.
    pub vpp: bool,
}

/// The `config` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// The file in which configurations are saved.
    pub file: Option<PathBuf>,
    /// Load the last saved one at the start.
    pub load: bool,
    /// A line that can't be run at the start ends it.
    pub strict: bool,
    /// Interfaces come up although a line that filters or protects can't be run.
    pub lax: bool,
    /// Versions kept besides the last one.
    pub history: Option<u32>,
}

/// The `cpu` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cpu {
    /// The core of the main thread.
    pub main_core: Option<u16>,
    /// The cores of the workers.
    pub corelist_workers: Option<CoreList>,
    /// The cores of the workers as a mask.
    pub coremask_workers: Option<CoreMask>,
    /// The number of workers.
    pub workers: Option<u32>,
    /// Cores left free at the beginning.
    pub skip_cores: Option<u32>,
    /// Core numbers count among the cores this process may use.
    pub relative: bool,
    /// Scheduling policy of the threads in the kernel.
    pub scheduler_policy: Option<Policy>,
    /// Priority under a real-time policy.
    pub scheduler_priority: Option<u32>,
    /// Prefix of thread names.
    pub thread_prefix: Option<String>,
}

impl Cpu {
    /// The cores the text names for workers, as a list or as a mask.
    pub fn worker_cores(&self) -> Option<&CoreList> {
        self.corelist_workers.as_ref().or(self.coremask_workers.as_ref().map(|m| &m.0))
    }
}

/// The `buffers` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buffers {
    /// Buffers on each NUMA node.
    pub buffers_per_numa: Option<u32>,
    /// Buffers on particular NUMA nodes.
    pub numa: NumaBuffers,
    /// Bytes of packet data in a buffer.
    pub default_data_size: Option<u32>,
    /// The page size of the buffers' memory.
    pub page_size: Option<PageSize>,
}

/// The `memory` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The page size meant by `default-hugepage`.
    pub default_hugepage_size: Option<Size>,
}

/// The `physmem` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Physmem {
    /// The most memory that buffers may take.
    pub max_size: Option<Size>,
}

/// The `statseg` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statseg {
    /// The socket at which readers get the segment.
    pub socket_name: Option<SocketPath>,
    /// The default path, given explicitly.
    pub default: bool,
    /// Node counters in the segment.
    pub per_node_counters: Option<bool>,
    /// Seconds between updates of the gauges.
    pub update_interval: Option<f64>,
}

/// The `prometheus` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prometheus {
    /// The socket at which `/metrics` is served.
    pub socket_name: Option<SocketPath>,
    /// The default path, given explicitly.
    pub default: bool,
    /// Further addresses at which it is served.
    pub listen: Vec<Listen>,
}

impl Prometheus {
    /// Returns true if metrics are served at all.
    pub fn on(&self) -> bool {
        *self != Self::default()
    }
}

/// The `socksvr` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Socksvr {
    /// The socket on which the binary API listens.
    pub socket_name: Option<SocketPath>,
    /// The default path, given explicitly.
    pub default: bool,
    /// Seconds after which an idle client's connection ends; 0 for never.
    pub idle_timeout: Option<u32>,
}

/// The `api-segment` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApiSegment {
    /// The group that may use the API.
    pub gid: Option<Account>,
    /// The user that may use the API.
    pub uid: Option<Account>,
}

/// The `api-trace` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApiTrace {
    /// Record API messages from the start.
    pub on: bool,
    /// Messages kept.
    pub nitems: Option<u32>,
    /// Name of the file, in /tmp, to which the table of messages is written.
    pub save_api_table: Option<String>,
}

/// The `plugins` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plugins {
    /// The directories that are searched, `:` between them, instead of the default.
    pub path: Option<String>,
    /// Further directories.
    pub add_path: Vec<PathBuf>,
    /// Load only plugins of this file name.
    pub name_filter: Option<String>,
    /// Rules by plugin name; the name `default` stands for all others.
    pub rules: PluginRules,
    /// `default { … }` without the word `plugin`.
    pub default: PluginDefault,
}

impl Plugins {
    /// Returns true if the plugin is to run: a rule of its own (as `acl` or `acl_plugin.so`) counts
    /// for any plugin. The `default` rule is for plugins that VPP has too: VPP's core stays.
    pub fn enabled(&self, plugin: &Plugin) -> bool {
        let own = self.rules.0.iter().find(|(rule, _)| stem(rule) == stem(plugin.name));
        let others = || self.rules.0.get("default").copied().or(self.default.0);
        let default = || {
            !plugin.default_disabled
                && others().filter(|_| reference::is_plugin(plugin.name)).unwrap_or(true)
        };
        own.map_or_else(default, |(_, on)| *on)
    }

    /// Names of plugins that a rule of their own enables but that `built` lacks.
    pub fn missing<'c>(&'c self, built: &'c [&str]) -> impl Iterator<Item = &'c str> {
        let on = self
            .rules
            .0
            .iter()
            .filter(|(name, on)| **on && *name != "default")
            .map(|(name, _)| name.as_str());
        on.filter(|name| !built.iter().any(|b| stem(b) == stem(name)))
    }
}
