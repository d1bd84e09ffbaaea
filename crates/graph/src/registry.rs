// SPDX-License-Identifier: Apache-2.0
//! The control side of the graph: names, edges, reasons, arcs.

use crate::arcs::{ArcDef, Arcs, Feature};
use crate::node::{Make, Target, Ways};
use crate::runtime::{NodeRuntime, ResolvedEdge, Way};
use crate::{ErrorIndex, NodeIndex};
use simd::Level;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// What stands in `show errors` and in the stats segment for a way out that is counted.
#[derive(Clone, Debug)]
pub struct Reason {
    /// The node's name.
    pub node: Arc<str>,
    /// The counter's name.
    pub reason: &'static str,
    /// What an operator reads.
    pub text: &'static str,
    /// Whether packets on this way are lost.
    pub drop: bool,
    /// The way loses packets, unless somebody takes what is punted.
    pub punt: bool,
}

/// What is known of a node.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// Its index.
    pub index: NodeIndex,
    /// Its name.
    pub name: Arc<str>,
    /// Whether it brings packets in.
    pub input: bool,
    /// Nodes that it can send to, by name, in order.
    pub next: Vec<Arc<str>>,
    /// Whether packets go on behind it along an arc.
    pub feature: bool,
    /// Named by some way out, but no plugin brings it: packets to it are freed.
    pub missing: bool,
    /// The instruction-set level that its loop was compiled for; `None` for inputs and missing nodes.
    pub level: Option<Level>,
}

impl NodeInfo {
    /// Whether it hands packets to a device.
    pub fn transmits(&self) -> bool {
        self.name.ends_with("-tx") && !self.feature
    }
}

pub(crate) struct NodeEntry {
    pub name: Arc<str>,
    pub ways: Ways,
    pub make: Option<Make>,
    first_error: u32,
    /// Set by hand; else the instance's.
    pub level: Option<Level>,
    /// The threads have a place for its packets.
    pub placed: bool,
    /// Chosen at run time: who registered with this node.
    pub dynamic: BTreeSet<NodeIndex>,
}

pub(crate) struct Registry {
    pub nodes: Vec<NodeEntry>,
    names: HashMap<Arc<str>, NodeIndex>,
    /// Kept for good: their number is bounded by the declarations, and buffers name them.
    pub reasons: Vec<&'static Reason>,
    pub arcs: Arcs,
}

impl Default for Registry {
    fn default() -> Self {
        let none =
            Reason { node: "none".into(), reason: "none", text: "no reason", drop: false, punt: false };
        Self {
            nodes: Vec::new(),
            names: HashMap::new(),
            reasons: vec![Box::leak(Box::new(none))],
            arcs: Arcs::default(),
        }
    }
}

impl Registry {
    pub fn find(&self, name: &str) -> Option<NodeIndex> {
        self.names.get(name).copied()
    }

    fn entry(&mut self, name: &str) -> NodeIndex {
        if let Some(index) = self.find(name) {
            return index;
        }
        let index = NodeIndex(
            u16::try_from(self.nodes.len()).ok().filter(|n| *n < 0x7fff).expect("fewer than 32767 nodes"),
        );
        let name: Arc<str> = name.into();
        self.names.insert(name.clone(), index);
        self.nodes.push(NodeEntry {
            name,
            ways: Ways::none(),
            make: None,
            first_error: 0,
            level: None,
            placed: false,
            dynamic: BTreeSet::new(),
        });
        index
    }

    /// Adds a node, or gives one that was only named so far its body; a name that had a body gets a new one.
    pub fn add(&mut self, name: &str, ways: Ways, make: Make) -> NodeIndex {
        let index = self.entry(name);
        let edges = ways.edges.clone();
        let counted = edges.iter().any(|e| e.counted);
        let again = self.nodes[index.at()].ways.of == ways.of && self.nodes[index.at()].first_error != 0;
        let first_error = if again { self.nodes[index.at()].first_error } else { self.reasons.len() as u32 };
        if counted && !again {
            for edge in edges.iter().filter(|e| e.counted) {
                let node = self.nodes[index.at()].name.clone();
                let (drop, punt) = (edge.target == Target::Drop, edge.target == Target::Punt);
                let reason = Reason { node, reason: edge.reason, text: edge.text, drop, punt };
                self.reasons.push(Box::leak(Box::new(reason)));
            }
        }
        let (drop, punt) = (ways.drop, ways.punt);
        let entry = &mut self.nodes[index.at()];
        (entry.ways, entry.make, entry.first_error) = (ways, Some(make), first_error);
        for edge in &edges {
            if let Target::Node(next) = edge.target {
                self.entry(next);
            }
        }
        let uses = |target| edges.iter().any(|e| e.target == target);
        if uses(Target::Drop) {
            self.entry(drop);
        }
        if uses(Target::Punt) {
            self.entry(punt);
        }
        index
    }

    /// The node's ways out as numbers.
    pub fn resolve(&self, index: NodeIndex) -> NodeRuntime {
        let entry = &self.nodes[index.at()];
        let find = |name: &str| self.find(name).unwrap_or(NodeIndex(0));
        let mut error = entry.first_error;
        let edges = entry
            .ways
            .edges
            .iter()
            .map(|edge| {
                let this = if edge.counted { error } else { 0 };
                error += u32::from(edge.counted);
                let way = match edge.target {
                    Target::Node(name) => Way::Node { node: find(name), error: this },
                    Target::Drop => Way::Reason { node: find(entry.ways.drop), error: this },
                    Target::Punt => Way::Reason { node: find(entry.ways.punt), error: this },
                    Target::Free => Way::Free,
                    Target::Keep => Way::Keep,
                    Target::NextFeature => Way::Unset,
                };
                ResolvedEdge { way, error: ErrorIndex(this) }
            })
            .collect();
        NodeRuntime {
            index,
            name: entry.name.clone(),
            edges,
            drop: find(entry.ways.drop),
            declared: entry.ways.of,
        }
    }

    /// Adds the arcs of all plugins with their features.
    pub fn add_arcs(&mut self, arcs: &[ArcDef], features: &[Feature]) -> Result<(), String> {
        for def in arcs {
            let mut list = Vec::new();
            for feature in features.iter().filter(|f| f.arc == def.name) {
                let node = self.find(feature.node).ok_or_else(|| {
                    format!(
                        "feature {} of arc {}: no plugin brings a node of this name",
                        feature.node, def.name
                    )
                })?;
                list.push((*feature, node));
            }
            let end = self.entry(def.end);
            self.arcs.add(*def, end, list)?;
        }
        for feature in features {
            if self.arcs.find(feature.arc).is_none() {
                return Err(format!(
                    "feature {}: no plugin brings an arc named {}",
                    feature.node, feature.arc
                ));
            }
        }
        Ok(())
    }

    /// Every node, with what it can send to: by its declaration, by registration, by arcs.
    pub fn list(&self, level: Level) -> Vec<NodeInfo> {
        let info = |i| self.info(NodeIndex(i as u16), level);
        (0..self.nodes.len()).map(info).map(|info| self.with_arcs(info)).collect()
    }

    /// One node.
    pub fn one(&self, index: NodeIndex, level: Level) -> Option<NodeInfo> {
        (index.at() < self.nodes.len()).then(|| self.with_arcs(self.info(index, level)))
    }

    /// Adds where its arcs lead to.
    fn with_arcs(&self, mut info: NodeInfo) -> NodeInfo {
        for arc in &self.arcs.all {
            let features = arc.features.iter().map(|(f, _)| f.node);
            if arc.def.starts.contains(&&*info.name) {
                info.next.extend(features.clone().map(Arc::from));
            }
            if let Some(at) = features.clone().position(|f| *f == *info.name) {
                info.next.extend(features.skip(at + 1).map(Arc::from));
                info.next.push(self.nodes[arc.end.at()].name.clone());
            }
        }
        info.next.sort();
        info.next.dedup();
        info
    }

    fn info(&self, index: NodeIndex, level: Level) -> NodeInfo {
        let entry = &self.nodes[index.at()];
        let mut next: Vec<Arc<str>> = entry.dynamic.iter().map(|n| self.nodes[n.at()].name.clone()).collect();
        for edge in &entry.ways.edges {
            match edge.target {
                Target::Node(name) => next.push(name.into()),
                Target::Drop => next.push(entry.ways.drop.into()),
                Target::Punt => next.push(entry.ways.punt.into()),
                _ => {}
            }
        }
        NodeInfo {
            index,
            name: entry.name.clone(),
            feature: entry.ways.edges.iter().any(|edge| edge.target == Target::NextFeature),
            input: matches!(entry.make, Some(Make::Input(_))),
            next,
            missing: entry.make.is_none(),
            level: matches!(entry.make, Some(Make::Node(_))).then(|| entry.level.unwrap_or(level)),
        }
    }
}
