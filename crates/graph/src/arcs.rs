// SPDX-License-Identifier: Apache-2.0
//! Feature arcs: per interface, an ordered list of nodes that packets pass.
//!
//! The order is a partial one, by names: each feature names the features it comes before and after.
//! Workers read a table of chains that control writes in place: one word says where an interface's
//! chain starts, so it changes as a whole, and memory follows the number of interfaces and of
//! different chains in use ([`crate::chains`]).

use crate::chains::{Chains, Step, StepTable};
use crate::config::ConfigWords;
use crate::order::sorted_features;
use crate::{ArcIndex, NodeIndex, SwIfIndex};
use mem::{Plain, Reserve};
use stats::Space;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use sync::Qsbr;

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
    /// Features and [ranks](crate::rank) of this arc that come later. A plugin of the build
    /// declares each feature ([`check_order`](crate::check_order)); it may be disabled.
    pub before: &'static [&'static str],
    /// Features and ranks of this arc that come earlier; as for `before`.
    pub after: &'static [&'static str],
}

/// Interfaces that there is room for.
const INTERFACES: usize = Space::Interface.capacity();
/// Maximum number of arcs, all plugins together.
const ARCS: usize = 64;

/// The part of the arcs that workers read.
#[derive(Debug)]
pub struct ArcTable {
    /// By arc and interface: the chain's first step plus one; 0 for none.
    starts: Reserve<AtomicU32>,
    steps: StepTable,
}

impl ArcTable {
    /// An empty one.
    ///
    /// # Errors
    /// Address space that can't be had.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { starts: Reserve::new(ARCS * INTERFACES)?, steps: StepTable::new()? })
    }

    #[inline(always)]
    fn cell(&self, arc: ArcIndex, sw_if: SwIfIndex) -> Option<&AtomicU32> {
        if sw_if.at() >= INTERFACES {
            return None;
        }
        self.starts.as_slice().get(arc.at() * INTERFACES + sw_if.at())
    }

    /// Where the interface's chain starts, if a feature is enabled there.
    #[inline(always)]
    pub(crate) fn start(&self, arc: ArcIndex, sw_if: SwIfIndex) -> Option<u32> {
        // Acquire: the steps are there.
        self.cell(arc, sw_if)?.load(Ordering::Acquire).checked_sub(1)
    }

    /// The node of a step.
    #[inline(always)]
    pub(crate) fn node(&self, at: u32) -> Option<NodeIndex> {
        self.steps.node(at)
    }

    /// The configuration of a step, the default one for a position in no chain. Loads no more words
    /// than the type has.
    #[inline(always)]
    pub(crate) fn config<C: Plain>(&self, at: u32) -> C {
        self.steps.config(at)
    }
}

pub(crate) struct Arc {
    pub def: ArcDef,
    pub end: NodeIndex,
    /// In order.
    pub features: Vec<(Feature, NodeIndex)>,
    /// Features that their owners have enabled on each interface, as (position in `features`,
    /// configuration), by position.
    enabled: HashMap<SwIfIndex, Vec<(usize, ConfigWords)>>,
    /// Features that an operator has switched on, with this configuration, or off on each
    /// interface against their owners.
    chosen: HashMap<SwIfIndex, Vec<(usize, Option<ConfigWords>)>>,
    /// Interfaces whose chains end elsewhere.
    ends: HashMap<SwIfIndex, NodeIndex>,
    returns: Option<Returns>,
}

/// See [`Arcs::set_returns`].
struct Returns {
    /// Position in `features`.
    feature: usize,
    /// True for features with a stage, by position.
    staged: Vec<bool>,
}

impl Arc {
    /// The chain of an interface with these features in force, in order.
    fn chain(&self, list: &[(usize, ConfigWords)], sw_if: SwIfIndex) -> Vec<Step> {
        let step = |feature: usize, config| Step { node: self.features[feature].1, config };
        let in_force = |returns: &&Returns| list.iter().any(|(at, _)| *at == returns.feature);
        let returns = self.returns.as_ref().filter(in_force);
        let mut chain = Vec::new();
        for (i, (feature, config)) in list.iter().enumerate() {
            chain.push(step(*feature, *config));
            if let (Some(returns), Some((next, _))) = (returns, list.get(i + 1))
                && !returns.staged[*feature]
                && returns.staged[*next]
            {
                chain.push(step(returns.feature, ConfigWords::default()));
            }
        }
        let end = self.ends.get(&sw_if).copied().unwrap_or(self.end);
        chain.push(Step { node: end, config: ConfigWords::default() });
        chain
    }

    fn unchoose(&mut self, feature: usize, sw_if: SwIfIndex) {
        if let Some(list) = self.chosen.get_mut(&sw_if) {
            list.retain(|(at, _)| *at != feature);
            if list.is_empty() {
                self.chosen.remove(&sw_if);
            }
        }
    }

    /// The features in force on an interface with their configuration, by position.
    fn in_force(&self, sw_if: SwIfIndex) -> Vec<(usize, ConfigWords)> {
        let mut list = self.enabled.get(&sw_if).cloned().unwrap_or_default();
        for (feature, on) in self.chosen.get(&sw_if).into_iter().flatten() {
            match on {
                Some(config) => list.push((*feature, *config)),
                None => list.retain(|(at, _)| at != feature),
            }
        }
        list.sort_unstable();
        list
    }
}

/// The control side of all arcs.
pub(crate) struct Arcs {
    pub all: Vec<Arc>,
    pub table: std::sync::Arc<ArcTable>,
    chains: Chains,
}

impl Arcs {
    /// None.
    pub fn new(table: std::sync::Arc<ArcTable>, domain: std::sync::Arc<Qsbr>) -> Self {
        Self { all: Vec::new(), table, chains: Chains::new(domain) }
    }

    /// Adds an arc with its features, which are put in order.
    ///
    /// # Errors
    /// The features whose constraints form a cycle.
    pub fn add(
        &mut self,
        def: ArcDef,
        end: NodeIndex,
        features: Vec<(Feature, NodeIndex)>,
    ) -> Result<(), String> {
        let features = sorted_features(def.name, features)?;
        if self.all.len() == ARCS {
            return Err(format!("arc {}: too many arcs, {ARCS} at most", def.name));
        }
        let (enabled, chosen, ends, returns) = Default::default();
        self.all.push(Arc { def, end, features, enabled, chosen, ends, returns });
        Ok(())
    }

    pub fn find(&self, name: &str) -> Option<ArcIndex> {
        self.all.iter().position(|arc| arc.def.name == name).map(|i| ArcIndex(i as u16))
    }

    /// An arc and the place of a feature on it.
    ///
    /// # Errors
    /// An arc or feature that doesn't exist, with those that do.
    pub fn position(&self, arc: &str, feature: &str) -> Result<(ArcIndex, usize), String> {
        let index = self.find(arc).ok_or_else(|| {
            let names: Vec<_> = self.all.iter().map(|a| a.def.name).collect();
            format!("no feature arc is named {arc}; there are {}", names.join(", "))
        })?;
        let features = &self.all[index.at()].features;
        let at = features.iter().position(|(f, _)| f.node == feature).ok_or_else(|| {
            let names: Vec<_> = features.iter().map(|(f, _)| f.node).collect();
            format!("arc {arc} has no feature {feature}; it has {}", names.join(", "))
        })?;
        Ok((index, at))
    }

    /// Enables or disables a feature on an interface for the feature's owner. This ends an
    /// operator's setting.
    ///
    /// # Errors
    /// An interface that there is no room for; too many different chains.
    pub fn set(
        &mut self,
        arc: ArcIndex,
        feature: usize,
        sw_if: SwIfIndex,
        config: Option<ConfigWords>,
    ) -> Result<(), String> {
        self.all[arc.at()].unchoose(feature, sw_if);
        let enabled = &mut self.all[arc.at()].enabled;
        let mut list = enabled.remove(&sw_if).unwrap_or_default();
        list.retain(|(place, _)| *place != feature);
        if let Some(config) = config {
            list.push((feature, config));
            list.sort_unstable();
        }
        if !list.is_empty() {
            enabled.insert(sw_if, list);
        }
        self.rebuild(arc, sw_if)
    }

    /// Enables a feature on an interface with this configuration for an operator, or disables it.
    /// The owner's setting is kept, and is in force again when the operator takes its setting
    /// back.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn choose(
        &mut self,
        arc: ArcIndex,
        feature: usize,
        sw_if: SwIfIndex,
        on: Option<ConfigWords>,
    ) -> Result<(), String> {
        self.all[arc.at()].unchoose(feature, sw_if);
        if on.is_some() != self.is_set(arc, feature, sw_if) {
            self.all[arc.at()].chosen.entry(sw_if).or_default().push((feature, on));
        }
        self.rebuild(arc, sw_if)
    }

    /// Returns true if the owner of a feature has enabled it on an interface, whatever the
    /// operator's setting.
    pub fn is_set(&self, arc: ArcIndex, feature: usize, sw_if: SwIfIndex) -> bool {
        let enabled = self.all[arc.at()].enabled.get(&sw_if);
        enabled.is_some_and(|list| list.iter().any(|(at, _)| *at == feature))
    }

    /// The operators' settings, sorted: interface, arc, feature, and whether it is on.
    pub fn chosen(&self) -> Vec<(SwIfIndex, &'static str, &'static str, bool)> {
        let of_arc = |arc: &Arc| {
            let (name, features) = (arc.def.name, &arc.features);
            let all = arc
                .chosen
                .iter()
                .flat_map(|(sw_if, list)| list.iter().map(|(at, on)| (*sw_if, *at, on.is_some())));
            all.map(|(sw_if, at, on)| (sw_if, name, features[at].0.node, on)).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.all.iter().flat_map(of_arc).collect();
        all.sort_unstable();
        all
    }

    /// Gives an interface's chains an end of its own.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn set_end(
        &mut self,
        arc: ArcIndex,
        sw_if: SwIfIndex,
        end: NodeIndex,
    ) -> Result<(), String> {
        self.all[arc.at()].ends.insert(sw_if, end);
        self.rebuild(arc, sw_if)
    }

    /// Where a feature is in force, packets pass its node also between a feature without a stage
    /// and one with a stage. `staged` says which features have one, by name.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn set_returns(
        &mut self,
        index: ArcIndex,
        feature: usize,
        staged: impl Fn(&str) -> bool,
    ) -> Result<(), String> {
        let arc = &mut self.all[index.at()];
        let staged = arc.features.iter().map(|(feature, _)| staged(feature.node)).collect();
        arc.returns = Some(Returns { feature, staged });
        let mut used: Vec<_> = arc.enabled.keys().chain(arc.chosen.keys()).copied().collect();
        used.sort_unstable();
        used.dedup();
        used.into_iter().try_for_each(|sw_if| self.rebuild(index, sw_if))
    }

    /// Forgets an interface that has gone: the next interface with its index has no feature
    /// enabled.
    pub fn forget(&mut self, sw_if: SwIfIndex) {
        for (i, arc) in self.all.iter_mut().enumerate() {
            arc.ends.remove(&sw_if);
            let (enabled, chosen) = (arc.enabled.remove(&sw_if), arc.chosen.remove(&sw_if));
            if (enabled.is_some() || chosen.is_some())
                && let Some(start) = self.table.cell(ArcIndex(i as u16), sw_if)
                && let Some(chain) = start.swap(0, Ordering::Release).checked_sub(1)
            {
                self.chains.release(chain);
            }
        }
    }

    /// Features enabled on an interface, in order, with their configuration.
    pub fn enabled(&self, arc: ArcIndex, sw_if: SwIfIndex) -> Vec<(&'static str, ConfigWords)> {
        let arc = &self.all[arc.at()];
        arc.in_force(sw_if)
            .into_iter()
            .map(|(place, config)| (arc.features[place].0.node, config))
            .collect()
    }

    fn rebuild(&mut self, index: ArcIndex, sw_if: SwIfIndex) -> Result<(), String> {
        let table = &*self.table;
        let cell = table.cell(index, sw_if).ok_or_else(|| {
            format!(
                "sw_if_index {sw_if}: too many interfaces for feature arcs, {INTERFACES} at most"
            )
        })?;
        let arc = &self.all[index.at()];
        let list = arc.in_force(sw_if);
        let start = if list.is_empty() {
            0
        } else {
            self.chains.hold(&table.steps, arc.chain(&list, sw_if))? + 1
        };
        // Release: the steps are there.
        if let Some(before) = cell.swap(start, Ordering::Release).checked_sub(1) {
            self.chains.release(before);
        }
        Ok(())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    const NONE: ConfigWords = [0; 3];
    const SEVEN: ConfigWords = [7, 1, u32::MAX];

    #[suite::test]
    fn chains_start_end_and_are_shared() {
        let table = std::sync::Arc::new(ArcTable::new().expect("address space"));
        let mut arcs = Arcs::new(table.clone(), Qsbr::new());
        let def = ArcDef { name: "a", starts: &[], end: "end" };
        let feature = |node, before| Feature { arc: "a", node, before, after: &[] };
        let features =
            vec![(feature("x", &["yy"]), NodeIndex(1)), (feature("yy", &[]), NodeIndex(2))];
        arcs.add(def, NodeIndex(100), features).expect("no cycle");
        let arc = arcs.find("a").expect("added");
        arcs.set(arc, 1, SwIfIndex(3), Some(SEVEN)).expect("room");
        arcs.set(arc, 0, SwIfIndex(3), Some(NONE)).expect("room");
        let at = table.start(arc, SwIfIndex(3)).expect("enabled");
        let nodes: Vec<_> = (at..at + 3).map(|i| table.node(i).expect("a step").0).collect();
        assert_eq!(nodes, [1, 2, 100]);
        assert_eq!((table.config::<[u32; 3]>(at + 1), table.config::<u8>(at + 1)), (SEVEN, 7));
        assert_eq!((table.config::<u32>(at + 2), table.config::<u32>(u32::MAX)), (0, 0));
        assert_eq!(table.start(arc, SwIfIndex(2)), None);
        arcs.set(arc, 0, SwIfIndex(5), Some(NONE)).expect("room");
        arcs.set(arc, 1, SwIfIndex(5), Some(SEVEN)).expect("room");
        assert_eq!(table.start(arc, SwIfIndex(5)), Some(at), "equal chains are stored once");
        arcs.set_end(arc, SwIfIndex(5), NodeIndex(101)).expect("room");
        let own = table.start(arc, SwIfIndex(5)).expect("enabled");
        assert_eq!(table.node(own + 2).expect("a step"), NodeIndex(101));
        assert_eq!(arcs.enabled(arc, SwIfIndex(5)), [("x", NONE), ("yy", SEVEN)]);
        arcs.set(arc, 0, SwIfIndex(5), None).expect("room");
        arcs.set(arc, 1, SwIfIndex(5), None).expect("room");
        assert_eq!(table.start(arc, SwIfIndex(5)), None);
        // An operator's setting goes before the owner's, until the owner's changes or the
        // operator's is taken back.
        arcs.set(arc, 1, SwIfIndex(6), Some(SEVEN)).expect("room");
        for (feature, on, now, chosen) in [
            (1, false, [].as_slice(), Some(("yy", false))),
            (1, true, &[("yy", SEVEN)], None),
            (0, true, &[("x", NONE), ("yy", SEVEN)], Some(("x", true))),
            (0, false, &[("yy", SEVEN)], None),
            (0, false, &[("yy", SEVEN)], None),
            (1, true, &[("yy", SEVEN)], None),
            (1, false, &[], Some(("yy", false))),
        ] {
            arcs.choose(arc, feature, SwIfIndex(6), on.then_some(NONE)).expect("room");
            assert_eq!(arcs.enabled(arc, SwIfIndex(6)), now, "{feature} {on}");
            let all: Vec<_> =
                chosen.into_iter().map(|(node, on)| (SwIfIndex(6), "a", node, on)).collect();
            assert_eq!(arcs.chosen(), all, "{feature} {on}");
        }
        arcs.set(arc, 1, SwIfIndex(6), Some([8, 0, 9])).expect("room");
        assert_eq!(
            (arcs.enabled(arc, SwIfIndex(6)), arcs.chosen()),
            (vec![("yy", [8, 0, 9])], Vec::new())
        );
        arcs.choose(arc, 1, SwIfIndex(6), None).expect("room");
        arcs.forget(SwIfIndex(6));
        assert_eq!((table.start(arc, SwIfIndex(6)), arcs.chosen()), (None, Vec::new()));
        arcs.forget(SwIfIndex(3));
        assert_eq!(
            (table.start(arc, SwIfIndex(3)), arcs.enabled(arc, SwIfIndex(3))),
            (None, Vec::new())
        );
        // A chain that comes again takes no more memory.
        let steps = arcs.chains.steps();
        for _ in 0..10 {
            arcs.set(arc, 1, SwIfIndex(3), Some(SEVEN)).expect("room");
            arcs.set(arc, 0, SwIfIndex(3), Some(NONE)).expect("room");
            arcs.forget(SwIfIndex(3));
        }
        assert_eq!(arcs.chains.steps(), steps);
        let beyond = SwIfIndex(INTERFACES as u32);
        assert!(arcs.set(arc, 0, beyond, Some(NONE)).expect_err("no room").contains("at most"));
        assert_eq!(table.start(arc, beyond), None);
    }

    #[suite::test]
    fn packets_return_in_front_of_a_stage() {
        let table = std::sync::Arc::new(ArcTable::new().expect("address space"));
        let mut arcs = Arcs::new(table.clone(), Qsbr::new());
        let def = ArcDef { name: "a", starts: &[], end: "end" };
        let names = ["a0", "b1", "c0", "d0", "e1", "f1", "g0", "last"];
        let after: [&[&str]; 8] =
            [&[], &["a0"], &["b1"], &["c0"], &["d0"], &["e1"], &["f1"], &["g0"]];
        let features = names.iter().zip(after).zip(0..).map(|((node, after), i)| {
            (Feature { arc: "a", node, before: &[], after }, NodeIndex(i))
        });
        arcs.add(def, NodeIndex(100), features.collect()).expect("no cycle");
        let arc = arcs.find("a").expect("added");
        let nodes = || {
            let at = table.start(arc, SwIfIndex(1)).expect("enabled");
            (at..).map(|i| table.node(i).expect("a step").0).take_while(|n| *n != 100)
        };
        for at in 0..7 {
            arcs.set(arc, at, SwIfIndex(1), Some(NONE)).expect("room");
        }
        arcs.set_returns(arc, 7, |name| name.ends_with('1')).expect("room");
        assert_eq!(nodes().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
        arcs.set(arc, 7, SwIfIndex(1), Some(NONE)).expect("room");
        assert_eq!(nodes().collect::<Vec<_>>(), [0, 7, 1, 2, 3, 7, 4, 5, 6, 7]);
        assert_eq!(arcs.enabled(arc, SwIfIndex(1)).len(), 8, "each is enabled once");
        arcs.set(arc, 0, SwIfIndex(1), None).expect("room");
        assert_eq!(nodes().collect::<Vec<_>>(), [1, 2, 3, 7, 4, 5, 6, 7]);
    }
}
