// SPDX-License-Identifier: Apache-2.0
//! The control side of the graph: names, edges, reasons, arcs.

mod rename;

use crate::arcs::{ArcDef, ArcTable, Arcs, Feature};
use crate::config::ConfigType;
use crate::node::{MAX_NODES, NodeType, Target};
use crate::slot::{EdgeTarget, NodeRuntime, NodeSlot, Removed, ResolvedEdge};
use crate::{ArcIndex, ErrorIndex, NodeIndex};
use cli::Error;
use msg::retval;
use simd::Level;
use stats::Space;
use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use sync::Slots;

/// The reason of packets that were sent to a node that isn't there.
pub(crate) const NO_NODE: u32 = 1;
/// Error indices below.
const MAX_ERRORS: u32 = Space::Error.capacity() as u32;

/// A counted edge, as it stands in `show errors` and in the stats segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// The name of the node that counts it.
    pub node: Arc<str>,
    /// The counter's name.
    pub reason: &'static str,
    /// The text that an operator reads.
    pub text: &'static str,
    /// True if packets on this edge are lost.
    pub drop: bool,
    /// True if packets on this edge are punted: they are lost unless a client takes them.
    pub punt: bool,
}

/// Description of a node.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// Its index.
    pub index: NodeIndex,
    /// Its name.
    pub name: Arc<str>,
    /// True if it brings packets in.
    pub input: bool,
    /// Nodes that it can send to, by name, in order.
    pub next: Vec<Arc<str>>,
    /// True if packets continue from it along an arc.
    pub feature: bool,
    /// Named by some edge, but no plugin brings it: packets to it are freed.
    pub missing: bool,
    /// The instruction-set level of the loop that runs; `None` for inputs, missing nodes, and
    /// nodes that have one loop only.
    pub level: Option<Level>,
}

impl NodeInfo {
    /// Returns true if it hands packets to a device.
    pub fn transmits(&self) -> bool {
        self.name.ends_with("-tx") && !self.feature
    }

    /// Returns true if it ends packets as dropped, or leads to the node that does.
    pub fn is_drop(&self) -> bool {
        has_last_word(&self.name, "drop")
    }

    /// Returns true if it hands packets to punt clients outside, or leads to the node that does.
    pub fn is_punt(&self) -> bool {
        has_last_word(&self.name, "punt")
    }

    /// Returns true if it hands packets to other threads.
    pub fn is_handoff(&self) -> bool {
        has_last_word(&self.name, "handoff")
    }
}

/// Returns true if the last part of a node's name, divided at `-`, is this word.
pub(crate) fn has_last_word(name: &str, word: &str) -> bool {
    name.rsplit('-').next() == Some(word)
}

/// The kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Its index is free.
    Free,
    /// Named by some edge; no plugin has brought it so far.
    Named,
    Node,
    Input,
}

pub(crate) struct NodeEntry {
    pub name: Arc<str>,
    pub kind: Kind,
    /// One for all nodes of a type.
    pub node_type: Arc<NodeType>,
    /// Its counted edges, as error indices.
    errors: Range<u32>,
    /// Set by hand; else the instance's.
    pub level: Option<Level>,
    /// Chosen at run time: nodes that registered with this one.
    dynamic: BTreeSet<NodeIndex>,
    /// The nodes that this one registered with.
    registered: BTreeSet<NodeIndex>,
}

impl NodeEntry {
    /// Returns true if there is a loop for each instruction set, of which one is chosen.
    pub fn has_variants(&self) -> bool {
        self.kind == Kind::Node && self.node_type.hot
    }
}

/// A node that threads are giving back.
struct Retiring {
    index: NodeIndex,
    removed: Arc<Removed>,
}

/// Names that the stats directory hasn't got yet.
#[derive(Default)]
pub(crate) struct Unlisted {
    pub nodes: Vec<NodeIndex>,
    pub errors: Vec<Range<u32>>,
}

pub(crate) struct Registry {
    nodes: Vec<NodeEntry>,
    names: HashMap<Arc<str>, NodeIndex>,
    node_type: HashMap<TypeId, Arc<NodeType>>,
    /// By error index. Indices of nodes that have gone are used again.
    pub reasons: Arc<Slots<Reason>>,
    /// Error indices that were ever used.
    errors: u32,
    /// Error indices that are free, by how many follow each other.
    free_errors: BTreeMap<u32, Vec<u32>>,
    free: Vec<NodeIndex>,
    retiring: VecDeque<Retiring>,
    /// Threads have no place for their packets yet.
    pub unplaced: Vec<NodeIndex>,
    pub unlisted: Unlisted,
    pub arcs: Arcs,
}

fn too_many(what: &str, most: usize) -> Error {
    Error::limit(format!("too many {what}, {most} at most")).retval(retval::LIMIT_EXCEEDED)
}

/// The reason for an error index that belongs to no node.
pub(crate) fn no_reason() -> Reason {
    Reason { node: "none".into(), reason: "none", text: "no reason", drop: false, punt: false }
}

impl Registry {
    pub fn new(arcs: Arc<ArcTable>, reasons: Arc<Slots<Reason>>) -> Self {
        let text = "the node that it was sent to isn't there";
        let no_node =
            Reason { node: "graph".into(), reason: "no_node", text, drop: true, punt: false };
        let no_nodes = NO_NODE..NO_NODE + 1;
        reasons.set(0, no_reason());
        reasons.set(NO_NODE, no_node);
        Self {
            nodes: Vec::new(),
            names: HashMap::new(),
            node_type: HashMap::new(),
            arcs: Arcs::new(arcs, reasons.domain().clone()),
            reasons,
            errors: NO_NODE + 1,
            free_errors: BTreeMap::new(),
            free: Vec::new(),
            retiring: VecDeque::new(),
            unplaced: Vec::new(),
            unlisted: Unlisted { nodes: Vec::new(), errors: Vec::from([no_nodes]) },
        }
    }

    pub fn find(&self, name: &str) -> Option<NodeIndex> {
        self.names.get(name).copied()
    }

    /// A node that is there, or named at least.
    pub fn get(&self, index: NodeIndex) -> Option<&NodeEntry> {
        self.nodes.get(index.at()).filter(|entry| entry.kind != Kind::Free)
    }

    pub fn get_mut(&mut self, index: NodeIndex) -> Option<&mut NodeEntry> {
        self.nodes.get_mut(index.at()).filter(|entry| entry.kind != Kind::Free)
    }

    /// All nodes, in the order of the indices.
    pub fn iter(&self) -> impl Iterator<Item = (NodeIndex, &NodeEntry)> {
        let all = self.nodes.iter().enumerate().map(|(i, entry)| (NodeIndex(i as u32), entry));
        all.filter(|(_, entry)| entry.kind != Kind::Free)
    }

    /// The names by index; a free index has the name of the node that was there last.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.nodes.iter().map(|entry| entry.name.clone()).collect()
    }

    /// Node and error indices that were ever used.
    pub fn used(&self) -> (usize, usize) {
        (self.nodes.len(), self.errors as usize)
    }

    /// Names that the directory hasn't got yet.
    pub fn take_unlisted(&mut self) -> Unlisted {
        std::mem::take(&mut self.unlisted)
    }

    fn entry(&mut self, name: &str) -> Result<NodeIndex, Error> {
        if let Some(index) = self.find(name) {
            return Ok(index);
        }
        let name: Arc<str> = name.into();
        let none = TypeId::of::<()>();
        let entry = NodeEntry {
            name: name.clone(),
            kind: Kind::Named,
            node_type: self
                .node_type
                .entry(none)
                .or_insert_with(|| Arc::new(NodeType::none()))
                .clone(),
            errors: 0..0,
            level: None,
            dynamic: BTreeSet::new(),
            registered: BTreeSet::new(),
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.nodes[index.at()] = entry;
                index
            }
            None if self.nodes.len() < MAX_NODES => {
                self.nodes.push(entry);
                NodeIndex((self.nodes.len() - 1) as u32)
            }
            None => return Err(too_many("nodes", MAX_NODES)),
        };
        self.names.insert(name, index);
        self.unplaced.push(index);
        self.unlisted.nodes.push(index);
        Ok(index)
    }

    /// Error indices for so many reasons.
    fn errors(&mut self, n: u32) -> Result<Range<u32>, Error> {
        if n == 0 {
            return Ok(0..0);
        }
        let freed = self.free_errors.get_mut(&n).and_then(Vec::pop);
        let first = match freed {
            Some(first) => first,
            None => {
                let first = self.errors;
                if first + n > MAX_ERRORS {
                    return Err(too_many("drop reasons", MAX_ERRORS as usize));
                }
                self.errors = first + n;
                first
            }
        };
        Ok(first..first + n)
    }

    /// Adds a node, or gives one that was only named so far its body; a name that had a body gets a
    /// new one.
    ///
    /// # Errors
    /// Too many nodes, or too many reasons; nothing has changed then.
    pub fn add(&mut self, name: &str, kind: Kind, node_type: NodeType) -> Result<NodeIndex, Error> {
        let node_type =
            self.node_type.entry(node_type.node).or_insert_with(|| Arc::new(node_type)).clone();
        let mut named: Vec<&str> = vec![name];
        for edge in &node_type.edges {
            named.push(match edge.target {
                Target::Node(next) | Target::Reason(next) => next,
                Target::Drop => node_type.drop,
                Target::Punt => node_type.punt,
                _ => continue,
            });
        }
        named.sort_unstable();
        named.dedup();
        named.retain(|name| self.find(name).is_none());
        if named.len() > self.free.len() + MAX_NODES - self.nodes.len() {
            return Err(too_many("nodes", MAX_NODES));
        }
        let counted = node_type.edges.iter().filter(|e| e.counted);
        let known = self.find(name).and_then(|index| self.get(index));
        let again = known
            .filter(|entry| entry.node_type.of == node_type.of)
            .map(|entry| entry.errors.clone());
        let errors = match again {
            Some(errors) => errors,
            None => {
                let errors = self.errors(counted.clone().count() as u32)?;
                if !errors.is_empty() {
                    self.unlisted.errors.push(errors.clone());
                }
                errors
            }
        };
        let index = self.entry(name)?;
        named.into_iter().try_for_each(|name| self.entry(name).map(drop))?;
        let entry = &mut self.nodes[index.at()];
        (entry.kind, entry.node_type, entry.errors) = (kind, node_type.clone(), errors.clone());
        let node = entry.name.clone();
        for (index, edge) in errors.zip(counted) {
            let (drop, punt) = (edge.target == Target::Drop, edge.target == Target::Punt);
            // Names are unique: nodes that share edges count under another node's name once.
            let of = edge.of.filter(|of| !self.is_counted(of, edge.reason, index));
            let node = of.map_or_else(|| node.clone(), Arc::from);
            let reason = Reason { node, reason: edge.reason, text: edge.text, drop, punt };
            self.reasons.set(index, reason);
        }
        Ok(index)
    }

    /// Returns true if a node has a reason of this name under an index other than `but`.
    fn is_counted(&self, node: &str, reason: &str, but: u32) -> bool {
        let mut found = false;
        self.reasons
            .for_each(|index, r| found |= index != but && *r.node == *node && r.reason == reason);
        found
    }

    /// Removes a node: its name is free at once, its index and the indices of its reasons when
    /// every thread has dropped its reference to the returned [`Removed`].
    pub fn remove(&mut self, index: NodeIndex) -> Option<(Arc<str>, Arc<Removed>)> {
        let entry = self.get_mut(index).filter(|entry| entry.kind == Kind::Node)?;
        entry.kind = Kind::Free;
        let (name, errors) = (entry.name.clone(), std::mem::take(&mut entry.errors));
        let (to, from) =
            (std::mem::take(&mut entry.dynamic), std::mem::take(&mut entry.registered));
        for node in to {
            self.nodes[node.at()].registered.remove(&index);
        }
        for node in from {
            self.nodes[node.at()].dynamic.remove(&index);
        }
        self.names.remove(&name);
        let removed = Arc::new(Removed { errors, slots: Mutex::default() });
        self.retiring.push_back(Retiring { index, removed: removed.clone() });
        Some((name, removed))
    }

    /// Frees the indices of nodes that every thread has given back. The bodies are for the caller
    /// to drop.
    #[must_use]
    pub fn reap(&mut self) -> Vec<NodeSlot> {
        let mut bodies = Vec::new();
        while let Some(Retiring { index, removed }) = self.retiring.pop_front() {
            match Arc::try_unwrap(removed) {
                Ok(Removed { errors, slots }) => {
                    bodies.extend(slots.into_inner().into_iter().flatten());
                    self.free.push(index);
                    if !errors.is_empty() {
                        for error in errors.clone() {
                            self.reasons.clear(error);
                        }
                        self.free_errors.entry(errors.len() as u32).or_default().push(errors.start);
                    }
                }
                // Nodes are freed in the order in which they were removed.
                Err(removed) => {
                    self.retiring.push_front(Retiring { index, removed });
                    break;
                }
            }
        }
        bodies
    }

    /// Notes that `from` chooses `to` at run time.
    pub fn link(&mut self, from: NodeIndex, to: NodeIndex) {
        self.nodes[from.at()].dynamic.insert(to);
        self.nodes[to.at()].registered.insert(from);
    }

    /// The node's edges, resolved to node and error indices.
    pub fn resolve(&self, index: NodeIndex) -> NodeRuntime {
        let entry = &self.nodes[index.at()];
        let find = |name: &str| self.find(name).unwrap_or(NodeIndex(0));
        let mut error = entry.errors.start;
        let edges = entry
            .node_type
            .edges
            .iter()
            .map(|edge| {
                let this = if edge.counted { error } else { 0 };
                error += u32::from(edge.counted);
                let target = match edge.target {
                    Target::Node(name) => EdgeTarget::Node { node: find(name), error: this },
                    Target::Reason(name) => EdgeTarget::Reason { node: find(name), error: this },
                    Target::Drop => {
                        EdgeTarget::Reason { node: find(entry.node_type.drop), error: this }
                    }
                    Target::Punt => {
                        EdgeTarget::Reason { node: find(entry.node_type.punt), error: this }
                    }
                    Target::Free => EdgeTarget::Free,
                    Target::Keep => EdgeTarget::Keep,
                    Target::NextFeature => EdgeTarget::Unset,
                };
                ResolvedEdge { target, error: ErrorIndex(this) }
            })
            .collect();
        NodeRuntime {
            index,
            name: entry.name.clone(),
            edges,
            drop: find(entry.node_type.drop),
            declared: entry.node_type.of,
            config: entry.node_type.config,
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
            let end = self.entry(def.end).map_err(|e| e.to_string())?;
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

    /// Configuration type of the feature at a position of an arc.
    pub fn feature_config_type(&self, arc: ArcIndex, place: usize) -> ConfigType {
        let (_, node) = self.arcs.all[arc.at()].features[place];
        self.nodes[node.at()].node_type.config
    }

    /// Every node, with the nodes that it can send to: by its declaration, by registration, by
    /// arcs.
    pub fn list(&self, level: Level) -> Vec<NodeInfo> {
        self.iter().map(|(index, entry)| self.with_arcs(self.info(index, entry, level))).collect()
    }

    /// The input nodes, or all others.
    pub fn by_input(&self, input: bool) -> Vec<NodeIndex> {
        self.iter()
            .filter(|(_, entry)| (entry.kind == Kind::Input) == input)
            .map(|(index, _)| index)
            .collect()
    }

    /// One node.
    pub fn one(&self, index: NodeIndex, level: Level) -> Option<NodeInfo> {
        Some(self.with_arcs(self.info(index, self.get(index)?, level)))
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

    fn info(&self, index: NodeIndex, entry: &NodeEntry, level: Level) -> NodeInfo {
        let mut next: Vec<Arc<str>> =
            entry.dynamic.iter().map(|n| self.nodes[n.at()].name.clone()).collect();
        for edge in &entry.node_type.edges {
            match edge.target {
                Target::Node(name) | Target::Reason(name) => next.push(name.into()),
                Target::Drop => next.push(entry.node_type.drop.into()),
                Target::Punt => next.push(entry.node_type.punt.into()),
                _ => {}
            }
        }
        NodeInfo {
            index,
            name: entry.name.clone(),
            feature: entry.node_type.edges.iter().any(|edge| edge.target == Target::NextFeature),
            input: entry.kind == Kind::Input,
            next,
            missing: entry.kind == Kind::Named,
            level: entry.has_variants().then(|| entry.level.unwrap_or(level)),
        }
    }
}
