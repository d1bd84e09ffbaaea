// SPDX-License-Identifier: Apache-2.0
//! Feature arcs: per interface, an ordered list of nodes that packets pass.
//!
//! The order is a partial one, by names: each feature says what it comes before and after. Workers read a table of chains
//! through a snapshot. Chains are only ever added to it, never changed: a packet that is held, or on its way to another
//! thread, keeps a valid position. Equal chains are stored once.

use crate::{ArcIndex, NodeIndex, SwIfIndex};
use std::collections::HashMap;

/// An arc, for a plugin's list.
#[derive(Clone, Copy, Debug)]
pub struct ArcDef {
    /// As VPP's where it is the same.
    pub name: &'static str,
    /// The nodes that start it.
    pub starts: &'static [&'static str],
    /// Where packets go behind the last feature, unless the interface has an end of its own.
    pub end: &'static str,
}

/// A feature's place on an arc, for a plugin's list.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// The arc's name.
    pub arc: &'static str,
    /// The node's name; also the feature's.
    pub node: &'static str,
    /// Features that come later, if they are there.
    pub before: &'static [&'static str],
    /// Features that come earlier, if they are there.
    pub after: &'static [&'static str],
}

/// One step of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// The node that the packet goes to.
    pub node: NodeIndex,
    /// What was configured for it; what it means is the feature's.
    pub config: u32,
}

const NONE: u32 = u32::MAX;

/// What workers read.
#[derive(Clone, Default, Debug)]
pub struct ArcTable {
    starts: Vec<Vec<u32>>,
    steps: Vec<Step>,
}

impl ArcTable {
    /// Where the interface's chain starts, if a feature is enabled there.
    #[inline(always)]
    pub(crate) fn start(&self, arc: ArcIndex, sw_if: SwIfIndex) -> Option<u32> {
        match self.starts.get(arc.at())?.get(sw_if.at()) {
            Some(&at) if at != NONE => Some(at),
            _ => None,
        }
    }

    /// A step of a chain.
    #[inline(always)]
    pub(crate) fn step(&self, at: u32) -> Option<Step> {
        self.steps.get(at as usize).copied()
    }
}

pub(crate) struct Arc {
    pub def: ArcDef,
    pub end: NodeIndex,
    /// In order.
    pub features: Vec<(Feature, NodeIndex)>,
    /// What is enabled: interface → (feature's place, config), in no order.
    enabled: HashMap<SwIfIndex, Vec<(usize, u32)>>,
    /// Interfaces whose chains end elsewhere.
    ends: HashMap<SwIfIndex, NodeIndex>,
}

/// The control side of all arcs.
#[derive(Default)]
pub(crate) struct Arcs {
    pub all: Vec<Arc>,
    table: ArcTable,
    known: HashMap<Vec<Step>, u32>,
}

impl Arcs {
    /// Adds an arc with its features, which are put in order.
    ///
    /// # Errors
    /// The names of features whose constraints form a circle.
    pub fn add(
        &mut self,
        def: ArcDef,
        end: NodeIndex,
        features: Vec<(Feature, NodeIndex)>,
    ) -> Result<(), String> {
        let features = order(features)
            .map_err(|circle| format!("arc {}: the order of {circle} is a circle", def.name))?;
        self.all.push(Arc { def, end, features, enabled: HashMap::new(), ends: HashMap::new() });
        self.table.starts.push(Vec::new());
        Ok(())
    }

    pub fn find(&self, name: &str) -> Option<ArcIndex> {
        self.all.iter().position(|arc| arc.def.name == name).map(|i| ArcIndex(i as u16))
    }

    /// Enables or disables a feature on an interface, and gives the table that workers shall read.
    pub fn set(&mut self, arc: ArcIndex, feature: usize, sw_if: SwIfIndex, config: Option<u32>) -> ArcTable {
        let list = self.all[arc.at()].enabled.entry(sw_if).or_default();
        list.retain(|(place, _)| *place != feature);
        if let Some(config) = config {
            list.push((feature, config));
            list.sort_unstable();
        }
        self.rebuild(arc, sw_if)
    }

    /// Gives an interface's chains an end of its own.
    pub fn set_end(&mut self, arc: ArcIndex, sw_if: SwIfIndex, end: NodeIndex) -> ArcTable {
        self.all[arc.at()].ends.insert(sw_if, end);
        self.rebuild(arc, sw_if)
    }

    /// Features enabled on an interface, in order, with their configuration.
    pub fn enabled(&self, arc: ArcIndex, sw_if: SwIfIndex) -> Vec<(&'static str, u32)> {
        let arc = &self.all[arc.at()];
        let list = arc.enabled.get(&sw_if).map(Vec::as_slice).unwrap_or_default();
        list.iter().map(|(place, config)| (arc.features[*place].0.node, *config)).collect()
    }

    fn rebuild(&mut self, index: ArcIndex, sw_if: SwIfIndex) -> ArcTable {
        let arc = &self.all[index.at()];
        let list = arc.enabled.get(&sw_if).map(Vec::as_slice).unwrap_or_default();
        let start = if list.is_empty() {
            NONE
        } else {
            let mut chain: Vec<Step> = list
                .iter()
                .map(|(place, config)| Step { node: arc.features[*place].1, config: *config })
                .collect();
            chain.push(Step { node: arc.ends.get(&sw_if).copied().unwrap_or(arc.end), config: 0 });
            *self.known.entry(chain).or_insert_with_key(|chain| {
                let at = self.table.steps.len() as u32;
                self.table.steps.extend_from_slice(chain);
                at
            })
        };
        let starts = &mut self.table.starts[index.at()];
        if starts.len() <= sw_if.at() {
            starts.resize(sw_if.at() + 1, NONE);
        }
        starts[sw_if.at()] = start;
        self.table.clone()
    }
}

/// Puts features in an order that keeps all constraints between those that are there; among the free ones, by name, so that
/// the order doesn't depend on that of the plugins.
fn order(mut features: Vec<(Feature, NodeIndex)>) -> Result<Vec<(Feature, NodeIndex)>, String> {
    features.sort_by_key(|(f, _)| f.node);
    let mut done: Vec<(Feature, NodeIndex)> = Vec::new();
    while !features.is_empty() {
        let ready = features.iter().position(|(f, _)| {
            features.iter().all(|(other, _)| {
                other.node == f.node || !(f.after.contains(&other.node) || other.before.contains(&f.node))
            })
        });
        match ready {
            Some(i) => done.push(features.remove(i)),
            None => return Err(features.iter().map(|(f, _)| f.node).collect::<Vec<_>>().join(", ")),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feature(
        node: &'static str,
        after: &'static [&'static str],
        before: &'static [&'static str],
    ) -> (Feature, NodeIndex) {
        (Feature { arc: "a", node, before, after }, NodeIndex(node.len() as u16))
    }

    #[test]
    fn constraints_hold_and_names_decide_the_rest() {
        let list = vec![
            feature("nat", &["acl"], &[]),
            feature("zz", &[], &["acl"]),
            feature("acl", &[], &[]),
            feature("aa", &["absent"], &[]),
        ];
        let names: Vec<_> = order(list).expect("no circle").iter().map(|(f, _)| f.node).collect();
        assert_eq!(names, ["aa", "zz", "acl", "nat"]);
    }

    #[test]
    fn a_circle_is_named() {
        let list = vec![feature("a", &["b"], &[]), feature("b", &["a"], &[]), feature("c", &[], &[])];
        assert_eq!(order(list).err().as_deref(), Some("a, b"));
    }

    #[test]
    fn chains_start_end_and_are_shared() {
        let mut arcs = Arcs::default();
        let def = ArcDef { name: "a", starts: &[], end: "end" };
        arcs.add(def, NodeIndex(100), vec![feature("x", &[], &["yy"]), feature("yy", &[], &[])])
            .expect("no circle");
        let arc = arcs.find("a").expect("added");
        arcs.set(arc, 1, SwIfIndex(3), Some(7));
        let table = arcs.set(arc, 0, SwIfIndex(3), Some(0));
        let at = table.start(arc, SwIfIndex(3)).expect("enabled");
        let nodes: Vec<_> = (at..at + 3).map(|i| table.step(i).expect("a step").node.0).collect();
        assert_eq!(nodes, [1, 2, 100]);
        assert_eq!(table.start(arc, SwIfIndex(2)), None);
        arcs.set(arc, 0, SwIfIndex(5), Some(0));
        let table = arcs.set(arc, 1, SwIfIndex(5), Some(7));
        assert_eq!(table.start(arc, SwIfIndex(5)), Some(at), "equal chains are stored once");
        let table = arcs.set_end(arc, SwIfIndex(5), NodeIndex(101));
        let own = table.start(arc, SwIfIndex(5)).expect("enabled");
        assert_eq!(table.step(own + 2).expect("a step").node, NodeIndex(101));
        assert_eq!(arcs.enabled(arc, SwIfIndex(5)), [("x", 0), ("yy", 7)]);
        arcs.set(arc, 0, SwIfIndex(5), None);
        let table = arcs.set(arc, 1, SwIfIndex(5), None);
        assert_eq!(table.start(arc, SwIfIndex(5)), None);
    }
}
