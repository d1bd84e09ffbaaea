// SPDX-License-Identifier: Apache-2.0
//! All that is configured, and its way to the workers: a change makes another generation of the
//! rules, which they get at once and as a whole.

use crate::hits::Cells;
use crate::judge::Rules;
use crate::model::Rule;
use crate::rules::{Compiled, Generation, NO_ZONE, Policy, SELF};
use crate::sets::{Set, SetIndex};
use crate::zone::Zone;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use std::collections::BTreeMap;
use std::sync::Arc;
use tables::Forest;

/// The name of the zone of the router's own packets.
pub const SELF_NAME: &str = "self";
/// Nanoseconds after a change within which another one may belong to it: 100 ms.
const SETTLING: u64 = 100_000_000;

/// Zones of a policy, the one that packets come from first.
pub type Pair = [u16; 2];

/// All that is configured.
#[derive(Clone, Default)]
pub struct Config {
    /// Zones by name, without `self`.
    pub zones: BTreeMap<String, Zone>,
    /// Zones of interfaces, by number.
    pub interfaces: BTreeMap<SwIfIndex, u16>,
    /// Sets by name.
    pub sets: BTreeMap<String, Set>,
    /// Policies.
    pub policies: BTreeMap<Pair, Arc<Policy>>,
}

impl Config {
    /// The number of a zone.
    ///
    /// # Errors
    /// No zone has this name.
    pub fn zone(&self, name: &str) -> Result<u16> {
        if name == SELF_NAME {
            return Ok(SELF);
        }
        let zone = self.zones.get(name).map(|zone| zone.number);
        zone.ok_or_else(|| {
            Error::not_found(format!("there is no zone {name}"))
                .near(name, self.zones.keys())
                .retval(retval::NO_SUCH_ENTRY)
        })
    }

    /// The name of a zone.
    pub fn zone_name(&self, number: u16) -> &str {
        if number == SELF {
            return SELF_NAME;
        }
        let zone = self.zones.iter().find(|(_, zone)| zone.number == number);
        zone.map_or("none", |(name, _)| name)
    }

    /// The pairs of zones that have policies, in the order of their names: numbers of zones depend
    /// on the order of their making.
    pub fn pairs(&self) -> Vec<Pair> {
        let mut all: Vec<Pair> = self.policies.keys().copied().collect();
        all.sort_by_key(|pair| pair.map(|zone| self.zone_name(zone).to_string()));
        all
    }

    /// A policy.
    ///
    /// # Errors
    /// There is none for these zones.
    pub fn policy(&self, pair: Pair) -> Result<&Arc<Policy>> {
        self.policies.get(&pair).ok_or_else(|| {
            let [from, to] = pair.map(|zone| self.zone_name(zone));
            Error::not_found(format!("there is no policy from {from} to {to}"))
                .retval(retval::NO_SUCH_ENTRY)
        })
    }

    /// The policy and the rule whose counters have this cell.
    pub fn rule_of(&self, cell: u32) -> Option<(Pair, Option<(u32, &Rule)>)> {
        self.policies.iter().find_map(|(pair, policy)| {
            if policy.hits.cell == cell {
                return Some((*pair, None));
            }
            let mut rules = policy.rules.iter();
            let (number, counted) = rules.find(|(_, counted)| counted.hits.cell == cell)?;
            Some((*pair, Some((*number, &*counted.rule))))
        })
    }
}

/// State that workers don't need.
pub struct Control {
    /// The configuration in force.
    pub running: Config,
    /// Changes that aren't committed.
    pub draft: Option<Config>,
    /// Changes that workers don't know yet.
    changed: Option<Config>,
    /// Compiled policies of the running configuration.
    compiled: BTreeMap<Pair, (Arc<Policy>, Arc<Compiled>)>,
    sets: Arc<SetIndex>,
    /// Counters of rules.
    pub cells: Cells,
    /// Where the networks of rules and sets lie, once there are any.
    forest: Option<Arc<Forest>>,
    generation: u32,
}

impl Control {
    /// Without anything.
    pub fn new(world: &World) -> Self {
        Self {
            running: Config::default(),
            draft: None,
            changed: None,
            compiled: BTreeMap::new(),
            sets: Arc::default(),
            cells: Cells::new(world),
            forest: None,
            generation: 0,
        }
    }

    /// The latest configuration without a draft, in force or about to be.
    pub fn latest(&self) -> &Config {
        self.changed.as_ref().unwrap_or(&self.running)
    }

    /// Takes the latest configuration to change it, and says whether it waited for a publication.
    /// Without a copy where it did: a script may have many lines.
    pub fn take_latest(&mut self) -> (Config, bool) {
        match self.changed.take() {
            Some(config) => (config, true),
            None => (self.running.clone(), false),
        }
    }

    /// Replaces the latest configuration. It comes into force with the next
    /// [`Self::publish_latest`]: many changes of a script are compiled once.
    pub fn set_latest(&mut self, config: Config) {
        self.changed = Some(config);
    }

    /// Puts changes into force that aren't yet.
    ///
    /// # Errors
    /// As [`Self::publish`]: then they are forgotten.
    pub fn publish_latest(&mut self, world: &World) -> Result<()> {
        match self.changed.take() {
            Some(config) => self.publish(world, config, false),
            None => Ok(()),
        }
    }

    fn forest(&mut self, world: &World) -> Result<Arc<Forest>> {
        if let Some(forest) = &self.forest {
            return Ok(forest.clone());
        }
        let no_space =
            |e| Error::limit(format!("no address space for rules: {e} (is `ulimit -v' set?)"));
        let forest = Forest::new(world.qsbr.clone()).map_err(no_space)?;
        Ok(self.forest.insert(forest).clone())
    }

    /// Rules that are as they were keep their counters.
    fn keep_counters(&self, config: &mut Config) {
        for (pair, policy) in &mut config.policies {
            let Some(old) = self.running.policies.get(pair) else { continue };
            if Arc::ptr_eq(old, policy) {
                continue;
            }
            let changes = policy.rules.iter().any(|(number, counted)| {
                old.rules.get(number).is_some_and(|old| {
                    old.rule == counted.rule && !Arc::ptr_eq(&old.hits, &counted.hits)
                })
            });
            if !changes && Arc::ptr_eq(&old.hits, &policy.hits) {
                continue;
            }
            let policy = Arc::make_mut(policy);
            policy.hits = old.hits.clone();
            for (number, counted) in &mut policy.rules {
                if let Some(old) = old.rules.get(number).filter(|old| old.rule == counted.rule) {
                    *counted = old.clone();
                }
            }
        }
    }

    /// Makes a configuration the running one: compiles what differs, and publishes all of it.
    /// Unless it is `whole`, other changes may belong to it, and sessions that it doesn't permit
    /// end a little later.
    ///
    /// # Errors
    /// Rules that would take too much memory; then nothing is changed.
    pub fn publish(&mut self, world: &World, mut config: Config, whole: bool) -> Result<()> {
        let forest = self.forest(world)?;
        self.keep_counters(&mut config);
        let numbers = |sets: &BTreeMap<String, Set>| -> Vec<(String, u16)> {
            sets.iter().map(|(name, set)| (name.clone(), set.number)).collect()
        };
        let same_sets = numbers(&config.sets) == numbers(&self.running.sets);
        let mut compiled = BTreeMap::new();
        for (pair, policy) in &config.policies {
            let known = self.compiled.get(pair).filter(|(old, _)| Arc::ptr_eq(old, policy));
            let of = match known.filter(|_| same_sets) {
                Some((_, compiled)) => compiled.clone(),
                None => Arc::new(Compiled::new(policy, &config.sets, &forest)?),
            };
            compiled.insert(*pair, (policy.clone(), of));
        }
        if config.sets != self.running.sets {
            self.sets = Arc::new(SetIndex::new(config.sets.values(), &forest)?);
        }
        let most = config.zones.values().map(|zone| zone.number).max().unwrap_or(SELF);
        let width = usize::from(most) + 1;
        let mut policies = vec![None; width * width];
        for ([from, to], (_, compiled)) in &compiled {
            policies[usize::from(*from) * width + usize::from(*to)] = Some(compiled.clone());
        }
        let last = config.interfaces.keys().next_back().map_or(0, |sw_if| sw_if.at() + 1);
        let mut zones = vec![NO_ZONE; last];
        for (sw_if, zone) in &config.interfaces {
            zones[sw_if.at()] = *zone;
        }
        let mut limits = vec![None; width];
        for zone in config.zones.values() {
            zone.used.set(zone.limits);
            limits[usize::from(zone.number)] = Some(zone.used.clone());
        }
        self.generation = self.generation.wrapping_add(1);
        let generation = Generation {
            number: self.generation,
            settles_at: if whole { 0 } else { world.clock.now() + SETTLING },
            zones,
            width,
            policies,
            sets: self.sets.clone(),
            limits,
        };
        world.get::<Rules>().0.set(generation);
        (self.compiled, self.running, self.changed) = (compiled, config, None);
        Ok(())
    }
}
