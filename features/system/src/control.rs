// SPDX-License-Identifier: Apache-2.0
//! The verbs.

use cli::Error;
use graph::{NodeInfo, Shared, World, counters};
use simd::rdtsc;
use std::sync::Mutex;
use std::time::Instant;

/// When runtime statistics began.
pub struct Since(Mutex<(Instant, u64)>);

impl Shared for Since {
    fn make(_: &World) -> Self {
        Self(Mutex::new((Instant::now(), rdtsc())))
    }
}

impl Since {
    /// Seconds, and ticks of the time-stamp counter, from then to now.
    pub fn elapsed(&self) -> (f64, u64) {
        let (at, clocks) = *self.0.lock().expect("no panic inside");
        (at.elapsed().as_secs_f64(), rdtsc().wrapping_sub(clocks))
    }
}

/// Starts runtime statistics again at zero.
///
/// # Errors
/// None today.
pub fn clear_runtime(world: &World) -> Result<(), Error> {
    let nodes = world.nodes().len();
    for name in [counters::CALLS, counters::VECTORS, counters::CLOCKS] {
        world.stats.simple(name).clear(nodes);
    }
    world.processes.clear();
    *world.get::<Since>().0.lock().expect("no panic inside") = (Instant::now(), rdtsc());
    Ok(())
}

/// Starts the counters of ways out again at zero.
///
/// # Errors
/// None today.
pub fn clear_errors(world: &World) -> Result<(), Error> {
    world.stats.simple(counters::ERRORS).clear(world.reasons().len());
    Ok(())
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
            .retval(-6)
    })
}

/// Chooses the instruction set of a node's loop; no name: of all nodes that have no choice of their own. Levels are `v1`,
/// `v3`, `v4`.
///
/// # Errors
/// A node or a level that isn't there; a node without variants.
pub fn set_variant(world: &World, name: &str, level: &str) -> Result<(), Error> {
    let node = if name.is_empty() { None } else { Some(node(world, name)?.index) };
    let level = level.parse().map_err(|e: simd::ParseLevelError| Error::parse(e.to_string()))?;
    world.set_variant(node, level).map_err(Error::unsupported)
}
