// SPDX-License-Identifier: Apache-2.0
//! The graph's part of the stats directory: names of nodes and of their edges, and counters set to
//! zero.

use crate::{NodeIndex, Reason, Replies, World, counters};
use cli::Error;
use stats::{Change, Names, Registry, Space, Vector, escape};
use std::ops::Range;
use std::sync::Arc;

/// Counters of each node.
const OF_NODES: [&str; 4] =
    [counters::CLOCKS, counters::VECTORS, counters::CALLS, counters::SUSPENDS];

/// A node's counter in the directory.
fn node_link(node: &str, counter: &str) -> String {
    format!("/nodes/{}/{}", escape(node), counter.trim_start_matches("/sys/node/"))
}

/// A reason in the directory, below `/err/`.
fn reason_name(node: &str, reason: &str) -> String {
    format!("{}/{}", escape(node), escape(reason))
}

/// The reasons in the directory.
struct Reasons([Arc<Names>; 3]);

impl Reasons {
    fn new(stats: &Registry) -> Self {
        Self([counters::REASONS, counters::SEVERITIES, counters::TEXTS].map(|n| stats.names(n)))
    }

    /// Lists a reason of this node.
    fn list(&self, change: &mut Change<'_>, node: &str, reason: &Reason, error: u32) {
        let name = reason_name(node, reason.reason);
        change.symlink(&format!("/err/{name}"), counters::ERRORS, error as usize);
        let severity = if reason.drop { "error" } else { "info" };
        for (names, text) in self.0.iter().zip([name.as_str(), severity, reason.text]) {
            names.set(change, error as usize, text);
        }
    }

    /// Takes a reason of this node from the list.
    fn unlist(&self, change: &mut Change<'_>, node: &str, reason: &Reason, error: u32) {
        change.remove(&format!("/err/{}", reason_name(node, reason.reason)));
        self.0.iter().for_each(|names| names.set(change, error as usize, ""));
    }
}

impl World {
    /// Lists new nodes and edges.
    pub(crate) fn list_counters(&self) {
        let mut registry = self.registry();
        let new = registry.take_unlisted();
        if new.nodes.is_empty() && new.errors.is_empty() {
            return;
        }
        let (nodes, errors) = registry.used();
        self.stats.extend(Space::Node, nodes);
        self.stats.extend(Space::Error, errors);
        let (names, reasons) = (self.stats.names(counters::NAMES), Reasons::new(&self.stats));
        self.stats.change(|change| {
            for index in new.nodes {
                let Some(node) = registry.get(index) else { continue };
                names.set(change, index.at(), &node.name);
                for counter in OF_NODES {
                    change.symlink(&node_link(&node.name, counter), counter, index.at());
                }
            }
            for error in new.errors.into_iter().flatten() {
                registry.reasons.read(error, |reason| {
                    if let Some(reason) = reason {
                        reasons.list(change, &reason.node, reason, error);
                    }
                });
            }
        });
    }

    /// Takes a node and its edges from the directory.
    pub(crate) fn unlist_counters(&self, index: NodeIndex, name: &str, errors: &Range<u32>) {
        let registry = self.registry();
        let (names, reasons) = (self.stats.names(counters::NAMES), Reasons::new(&self.stats));
        self.stats.change(|change| {
            names.set(change, index.at(), "");
            OF_NODES.iter().for_each(|counter| change.remove(&node_link(name, counter)));
            for error in errors.clone() {
                registry.reasons.read(error, |reason| {
                    if let Some(reason) = reason {
                        reasons.unlist(change, &reason.node, reason, error);
                    }
                });
            }
        });
    }

    /// Gives a node that was added at run time another name. Its counters go on under that name.
    ///
    /// # Errors
    /// A node that isn't there (−6); a name that another node has, or that an edge names (−116).
    pub fn rename_node(&self, index: NodeIndex, name: &str) -> Result<(), Error> {
        // The directory has the old names.
        self.list_counters();
        let renamed = self.registry().rename(index, name)?;
        let registry = self.registry();
        let (names, reasons) = (self.stats.names(counters::NAMES), Reasons::new(&self.stats));
        self.stats.change(|change| {
            names.set(change, index.at(), name);
            for counter in OF_NODES {
                change.remove(&node_link(&renamed.old, counter));
                change.symlink(&node_link(name, counter), counter, index.at());
            }
            for error in renamed.errors.clone() {
                registry.reasons.read(error, |reason| {
                    let Some(reason) = reason.filter(|reason| reason.node == renamed.new) else {
                        return;
                    };
                    reasons.unlist(change, &renamed.old, reason, error);
                    reasons.list(change, name, reason, error);
                });
            }
        });
        drop(registry);
        self.on_threads(move |rt| rt.rename_node(index, &renamed.new));
        Ok(())
    }

    /// Sets counters to zero, one cell of each or all: control its own now, every thread its own at
    /// its next turn, since no other thread may write them.
    pub fn zero_counters(
        &self,
        counters: Vec<Arc<dyn Vector>>,
        index: Option<usize>,
    ) -> Replies<()> {
        counters.iter().for_each(|counter| counter.zero_control(index));
        self.query(move |rt| {
            counters.iter().for_each(|counter| counter.zero(rt.thread().at(), index))
        })
    }
}

#[cfg(feature = "tests")]
mod tests {
    use crate::{Plugin, World, WorldConfig};
    use stats::{Reader, Value};

    static PLUGINS: &[&Plugin] = &[&Plugin { name: "test", ..Plugin::EMPTY }];

    fn names(world: &World) -> Vec<String> {
        let list = Reader::new(&world.stats).expect("a segment").list().expect("readable");
        list.into_iter().map(|(name, _)| name).collect()
    }

    #[suite::test]
    fn node_counters_are_listed_unless_they_are_turned_off() {
        let config =
            |node_counters| WorldConfig { buffers: 63, node_counters, ..WorldConfig::default() };
        let (on, _on) = World::new(&config(true), PLUGINS).expect("an instance");
        let (off, _off) = World::new(&config(false), PLUGINS).expect("an instance");
        let has = |world: &World, name: &str| names(world).iter().any(|n| n == name);
        for name in ["/sys/node/names", "/sys/node/calls", "/sys/node/suspends"] {
            assert_eq!((has(&on, name), has(&off, name)), (true, false), "{name}");
        }
        assert!(has(&off, "/node/errors") && has(&off, "/sys/heartbeat"));
        let value =
            Reader::new(&on.stats).expect("a segment").get("/sys/node/names").expect("readable");
        assert_eq!(value, Some(Value::Names(Vec::new())), "no node, no name");
    }
}
