// SPDX-License-Identifier: Apache-2.0
//! The packet world of a daemon: made from the configuration, run by threads, driven by the control
//! thread.

use crate::api;
use crate::config::Config;
use crate::plugins;
use crate::process::{self, paths::Paths};
use crate::socket::UnixSocket;
use crate::world::{self, Instance};
use cli::{Command, Output, Tree};
use graph::{ConfigLine, ConfigLines, Plugin, Runtime, ThreadPlan, Threads, World, WorldConfig};
use rustix::net::SocketType;
use simd::Level;
use std::hash::{BuildHasher as _, RandomState};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

impl world::World for World {
    fn commands(&self) -> Vec<&'static Command<Self>> {
        self.plugins().iter().flat_map(|p| p.cli).collect()
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.clock.now())
    }

    fn advance(&self, by: Duration) -> Output {
        self.clock.adjust(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX));
        let _ = self.processes.run(self);
        self.query(Runtime::tick_now).then(|_| Ok(Output::empty()))
    }

    fn running_config(&self) -> Vec<ConfigLine> {
        self.running_config()
    }

    fn config_lines(&self) -> ConfigLines {
        self.config_lines()
    }

    fn config_step(&self, from: &mut ConfigLines, lines: &mut Vec<ConfigLine>) -> bool {
        from.step(self, lines)
    }

    fn loaded(&self) {
        self.loaded();
    }

    fn config_changes(&self) -> u64 {
        self.config_changes()
    }

    fn restore<T>(&self, line: impl FnOnce() -> T) -> T {
        self.restore(line)
    }

    fn waker(&self) -> Arc<sync::Waker> {
        self.processes.waker().clone()
    }

    fn api(&self) -> &msg::Hub<World> {
        &self.api
    }

    fn adopt(&self, tree: &Arc<Tree<World>>) {
        self.get::<api::Commands>().set(Arc::clone(tree));
    }

    fn stats(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stats.as_fd())
    }

    fn poll(&self) -> Option<Duration> {
        let due = self.processes.run(self);
        self.qsbr.collect();
        let until = due.map(|due| Duration::from_nanos(due.saturating_sub(self.clock.now())));
        // Memory that workers may still read is freed a little later.
        if self.qsbr.pending() > 0 {
            Some(until.map_or(RECLAIM, |u| u.min(RECLAIM)))
        } else {
            until
        }
    }
}

/// Longest time between attempts to reclaim freed memory.
const RECLAIM: Duration = Duration::from_millis(50);
/// Number of buffers by default.
const BUFFERS: usize = 65_536;

/// Number of buffers whose memory is committed at the start: the threads' caches, and some more.
const COMMITTED: usize = 4096;

/// The graph of this build as a Graphviz picture.
///
/// # Errors
/// The reason why the graph can't be made.
pub fn dot() -> Result<String, String> {
    graph::check_order(plugins::ALL)?;
    let (world, _runtimes) =
        World::new(&WorldConfig { buffers: 1024, ..WorldConfig::default() }, plugins::ALL)?;
    Ok(world.dot())
}

/// Makes and starts the instance that the configuration describes.
///
/// # Errors
/// One sentence for the operator.
pub fn open(config: &Config, paths: &Paths) -> Result<Instance<World>, String> {
    process::crash::set_crash_context(graph::crash_context);
    graph::check_order(plugins::ALL)?;
    let plan = plan(config)?;
    let threads = 1 + plan.worker_cores.len();
    let buffers = config.buffers.buffers_per_numa.map_or(BUFFERS, |n| n as usize);
    process::limits::address_space(threads, buffers)?;
    // A group that doesn't exist was warned of already.
    let gid = config.unix.gid.as_ref().and_then(|group| process::account::gid(group).ok());
    let socket =
        UnixSocket::listen(&paths.punt, SocketType::DGRAM, gid).map_err(|e| e.to_string())?;
    if let Some(size) = config.buffers.default_data_size
        && size as usize != buffer::DATA_SIZE
    {
        log::warn!(target: "buffers", "default data-size {size}: buffers hold {} bytes here, longer packets are chained", buffer::DATA_SIZE);
    }
    let level = level(config);
    let (startup, runtime_dir) = (config.of_plugins.0.clone(), paths.runtime_dir.clone());
    let compat_vpp = config.compat.vpp;
    if compat_vpp {
        log::info!(target: "compat", "VPP's behaviour where it differs (docs/differences.md)");
    }
    let node_counters = config.statseg.per_node_counters.unwrap_or(true);
    let (on, off) = on_and_off(config);
    let (world, runtimes) = World::new(
        &WorldConfig {
            threads,
            buffers,
            level,
            node_counters,
            startup,
            compat_vpp,
            runtime_dir,
            off,
            // Identifications of fragments differ from those after another start (RFC 7739 5).
            seed: RandomState::new().hash_one(std::process::id()),
        },
        on,
    )
    .map_err(|e| {
        let names: Vec<_> = off.iter().map(|p| p.name).collect();
        if off.is_empty() {
            e
        } else {
            format!("{e} (switched off in `plugins': {})", names.join(", "))
        }
    })?;
    if let Some(seconds) = config.statseg.update_interval {
        world.get::<system::Gauges>().set_interval(Duration::from_secs_f64(seconds));
    }
    if let Some(missing) = world.nodes().iter().find(|n| n.missing) {
        log::warn!(target: "graph", "no plugin brings the node {}: packets to it are dropped", missing.name);
    }
    let pages = world.pool.commit(COMMITTED).unwrap_or(world.pool.region().page_kind());
    log::info!(target: "buffers", "up to {buffers} buffers, {pages}");
    log::info!(target: "graph", "{threads} threads, instruction set {}", world.level());
    for (name, variant) in &config.node.nodes {
        let node = world.node(name).ok_or_else(|| format!("node {name}: no node has this name"))?;
        let level = variant
            .name
            .parse()
            .map_err(|_| format!("node {name} variant {}: expected v1, v3 or v4", variant.name))?;
        if world.node_info(node).is_some_and(|info| info.level.is_none()) {
            log::warn!(target: "graph", "node {name} has one loop for all processors: its variant {level} isn't used");
            continue;
        }
        world.set_variant(Some(node), Some(level)).map_err(|e| format!("node {name}: {e}"))?;
    }
    let threads = Threads::start(runtimes, &plan)?;
    let served = socket.fd.try_clone().and_then(|fd| punt::serve(&world, fd.into(), &paths.punt));
    served.map_err(|e| format!("{}: {e}", paths.punt.display()))?;
    let stopped = world.clone();
    let stop = Box::new(move || {
        stopped.end();
        let runtimes = threads.stop(&stopped);
        drop(runtimes);
        // Its path goes with it.
        drop(socket);
    });
    Ok(Instance { world, stop })
}

type PluginList = &'static [&'static Plugin];

/// Returns the plugins that the configuration leaves on, and the ones that it switches off.
fn on_and_off(config: &Config) -> (PluginList, PluginList) {
    let built: Vec<&str> = plugins::ALL.iter().map(|p| p.name).collect();
    for name in config.plugins.missing(&built) {
        log::warn!(target: "plugins", "{name} is enabled, but not part of this build: nothing that it would do is in force");
    }
    let (on, off): (Vec<_>, Vec<_>) = plugins::ALL.iter().partition(|p| config.plugins.enabled(p));
    // The lists live as long as the process: there is one instance in it.
    (on.leak(), off.leak())
}

/// The level that nodes start with: the best, unless the configuration names one of ours that the
/// processor has. VPP's names of processors (`skx`, `icl`, …) have no meaning here.
fn level(config: &Config) -> Level {
    let best = Level::detect();
    let Some(variant) = &config.node.default else { return best };
    match variant.name.parse::<Level>() {
        Ok(level) if level.is_supported() => level,
        Ok(level) => {
            log::warn!(target: "graph", "node default variant {level}: this processor has {best} at most, which is used");
            best
        }
        Err(_) => {
            log::warn!(target: "graph", "node default variant {}: expected v1, v3 or v4; {best} is used", variant.name);
            best
        }
    }
}

/// Plans the threads and the cores they run on.
fn plan(config: &Config) -> Result<ThreadPlan, String> {
    let cores = graph::usable_cores();
    let relative = |core: u16| -> Result<usize, String> {
        if !config.cpu.relative {
            return Ok(core as usize);
        }
        cores
            .get(core as usize)
            .copied()
            .ok_or_else(|| format!("cpu: core {core} of {} that this process may use", cores.len()))
    };
    let main_core = config.cpu.main_core.map(relative).transpose()?;
    let workers: Vec<Option<usize>> = match (config.cpu.worker_cores(), config.cpu.workers) {
        (Some(list), _) => {
            list.0.iter().map(|core| relative(*core).map(Some)).collect::<Result<_, _>>()?
        }
        (None, Some(n)) => {
            let free: Vec<usize> = cores
                .iter()
                .copied()
                .filter(|c| Some(*c) != main_core)
                .skip(config.cpu.skip_cores.unwrap_or(0) as usize)
                .collect();
            // The main thread keeps a core for itself if there are enough.
            let spare = usize::from(main_core.is_none() && free.len() > n as usize);
            (0..n as usize)
                .map(|i| {
                    if free.len() >= n as usize + spare {
                        free.get(i + spare).copied()
                    } else {
                        None
                    }
                })
                .collect()
        }
        (None, None) => Vec::new(),
    };
    if workers.len() > cores.len() {
        return Err(format!(
            "cpu: {} workers, but this process may use {} cores ({cores:?}): a worker needs a core of its own",
            workers.len(),
            cores.len()
        ));
    }
    Ok(ThreadPlan {
        main_core,
        worker_cores: workers,
        poll_sleep_usec: u64::from(config.unix.poll_sleep_usec.unwrap_or(0)),
    })
}
