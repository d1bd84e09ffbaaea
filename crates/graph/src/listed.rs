// SPDX-License-Identifier: Apache-2.0
//! The graph's part of the stats directory: what nodes and their ways out are named, and counters set to zero.

use crate::{Asked, World, counters};
use stats::{Space, Vector, escape};
use std::sync::Arc;

/// How much of the graph stands in the directory.
#[derive(Default)]
pub(crate) struct Listed {
    nodes: usize,
    reasons: usize,
}

impl World {
    /// Lists nodes and ways out that are new.
    pub(crate) fn list_counters(&self) {
        let registry = self.registry();
        let mut listed = self.listed.lock().expect("no panic inside");
        let now = Listed { nodes: registry.nodes.len(), reasons: registry.reasons.len() };
        if (now.nodes, now.reasons) == (listed.nodes, listed.reasons) {
            return;
        }
        self.stats.extend(Space::Node, now.nodes);
        self.stats.extend(Space::Error, now.reasons);
        let names = self.stats.names(counters::NAMES);
        self.stats.change(|change| {
            for (i, node) in registry.nodes.iter().enumerate().skip(listed.nodes) {
                names.set(change, i, &node.name);
                for counter in [counters::CLOCKS, counters::VECTORS, counters::CALLS, counters::SUSPENDS] {
                    let what = counter.trim_start_matches("/sys/node/");
                    change.symlink(&format!("/nodes/{}/{what}", escape(&node.name)), counter, i);
                }
            }
            // The first one is no reason.
            for (i, reason) in registry.reasons.iter().enumerate().skip(listed.reasons.max(1)) {
                let name = format!("/err/{}/{}", escape(&reason.node), escape(reason.reason));
                change.symlink(&name, counters::ERRORS, i);
            }
        });
        *listed = now;
    }

    /// Sets counters to zero, one cell of each or all: control its own now, every thread its own at its next turn, since
    /// nobody else may write them.
    pub fn zero_counters(&self, counters: Vec<Arc<dyn Vector>>, index: Option<usize>) -> Asked<()> {
        counters.iter().for_each(|counter| counter.zero_control(index));
        self.ask(move |rt| counters.iter().for_each(|counter| counter.zero(rt.thread().at(), index)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Plugin, World, WorldConfig};
    use stats::{Reader, Value};

    static PLUGINS: &[&Plugin] = &[&Plugin { name: "test", ..Plugin::EMPTY }];

    fn names(world: &World) -> Vec<String> {
        let list = Reader::new(&world.stats).expect("a segment").list().expect("readable");
        list.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn node_counters_are_listed_unless_they_are_turned_off() {
        let config = |node_counters| WorldConfig { buffers: 63, node_counters, ..WorldConfig::default() };
        let (on, _on) = World::new(&config(true), PLUGINS).expect("an instance");
        let (off, _off) = World::new(&config(false), PLUGINS).expect("an instance");
        let has = |world: &World, name: &str| names(world).iter().any(|n| n == name);
        for name in ["/sys/node/names", "/sys/node/calls", "/sys/node/suspends"] {
            assert_eq!((has(&on, name), has(&off, name)), (true, false), "{name}");
        }
        assert!(has(&off, "/node/errors") && has(&off, "/sys/heartbeat"));
        let value = Reader::new(&on.stats).expect("a segment").get("/sys/node/names").expect("readable");
        assert_eq!(value, Some(Value::Names(Vec::new())), "no node, no name");
    }
}
