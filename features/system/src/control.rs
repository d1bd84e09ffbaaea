// SPDX-License-Identifier: Apache-2.0
//! The verbs.

use cli::{Error, retval};
use graph::{
    Deleted, NodeIndex, NodeInfo, Phase, Replies, RunningConfig, Shared, SwIfIndex, World, counters,
};
use net::Interfaces;
use simd::{Level, rdtsc};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time at which runtime statistics began.
pub struct RuntimeStart(Mutex<(Instant, u64)>);

impl Shared for RuntimeStart {
    fn make(_: &World) -> Self {
        Self(Mutex::new((Instant::now(), rdtsc())))
    }
}

impl RuntimeStart {
    /// When that was, on the instance's clock.
    pub fn at(&self, world: &World) -> Duration {
        let (at, _) = *self.0.lock().expect("no panic inside");
        Duration::from_nanos(world.clock.now()).saturating_sub(at.elapsed())
    }

    /// Seconds, and ticks of the time-stamp counter, from then to now.
    pub fn elapsed(&self) -> (f64, u64) {
        let (at, clocks) = *self.0.lock().expect("no panic inside");
        (at.elapsed().as_secs_f64(), rdtsc().wrapping_sub(clocks))
    }
}

/// Starts runtime statistics again at zero. Threads do it at their next turn.
pub fn clear_runtime(world: &World) -> Replies<()> {
    world.processes.clear();
    *world.get::<RuntimeStart>().0.lock().expect("no panic inside") = (Instant::now(), rdtsc());
    world.query(graph::Runtime::clear_longest_calls);
    let all = [counters::CALLS, counters::VECTORS, counters::CLOCKS];
    world.zero_counters(all.map(|name| world.stats.simple(name).vector()).into(), None)
}

/// Resets the counters of next nodes and drops to zero. Threads do it at their next turn.
pub fn clear_errors(world: &World) -> Replies<()> {
    world.zero_counters(vec![world.stats.simple(counters::ERRORS).vector()], None)
}

/// Finds a node by its name or its index.
///
/// # Errors
/// A node that isn't there, with the nearest name.
pub fn node(world: &World, word: &str) -> Result<NodeInfo, Error> {
    let all = world.nodes();
    let index = word.parse().ok();
    let found = all.iter().find(|n| *n.name == *word || Some(n.index.0) == index);
    found.cloned().ok_or_else(|| {
        Error::not_found(format!("no node is named `{word}'"))
            .near(word, all.iter().map(|n| &*n.name))
            .retval(retval::NO_SUCH_ENTRY)
    })
}

/// Chooses the instruction set of a node's loop; no name: of all nodes that have no choice of their
/// own. Levels are `v1`, `v3`, `v4`; `default` is the one before any was chosen.
///
/// # Errors
/// A node or a level that isn't there; a node without variants.
pub fn set_variant(world: &World, name: &str, level: &str) -> Result<(), Error> {
    let info = if name.is_empty() { None } else { Some(node(world, name)?) };
    let index = info.as_ref().map(|node| node.index);
    let variants = world.get::<Variants>();
    let mut all = variants.0.lock().expect("no panic inside");
    let before = all.get(&index).map(|(before, _)| *before);
    let set = |level| world.set_variant(index, level).map_err(Error::unsupported);
    if level != "default" {
        let chosen: Level =
            level.parse().map_err(|e: simd::ParseLevelError| Error::parse(e.to_string()))?;
        let last = set(Some(chosen))?;
        all.insert(index, (before.unwrap_or(last), chosen));
    } else if let Some(before) = before {
        set(before)?;
        all.remove(&index);
    } else if info.is_some_and(|node| node.level.is_none()) {
        // It has no variants; the instance says so.
        set(None)?;
    }
    Ok(())
}

/// The level before any was chosen, none for a node that followed the others, and the chosen one.
type LevelChange = (Option<Level>, Level);

/// The levels that were chosen, by node. The first, without a node, is for all other nodes.
pub struct Variants(Mutex<BTreeMap<Option<NodeIndex>, LevelChange>>);

impl Shared for Variants {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }

    /// The nodes of an interface go with it.
    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>()
            && let Ok(interface) = world.get::<Interfaces>().get(*sw_if)
        {
            let gone = interface.nodes(&interface.name);
            let is_gone = |node: &NodeIndex| gone.iter().any(|(gone, _)| gone == node);
            let mut all = self.0.lock().expect("no panic inside");
            all.retain(|node, _| !node.as_ref().is_some_and(is_gone));
        }
    }
}

/// Says which levels were chosen.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let all: BTreeMap<_, _> = {
        let all = world.get::<Variants>();
        let all = all.0.lock().expect("no panic inside");
        // The same choices make the same lines, whatever the indices of the nodes.
        all.iter()
            .map(|(node, (_, level))| (node.map(|node| world.node_name(node)), *level))
            .collect()
    };
    for (name, level) in all {
        let line =
            format!("set node variant {}", name.as_deref().map_or("default".into(), cli::quote));
        config.push(Phase::FEATURES, format!("{line} {level}"), format!("{line} default"));
    }
}
