// SPDX-License-Identifier: Apache-2.0
//! Operations on zones, sets and policies, for commands and messages. Changes of a draft come into
//! force together.

use crate::model::{PolicyOptions, Rule};
use crate::rules::{Counted, Policy, SELF};
use crate::sets::{MEMBERS, Members, SETS, Set};
use crate::state::{Config, Control, SELF_NAME};
use crate::zone::{Zone, ZoneLimits, ZoneUse};
use cli::{Error, Result, retval};
use graph::{Deleted, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World, filled};
use ip_reassembly::{Side, use_ports};
use net::Interfaces;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Zones at most.
const ZONES: usize = 256;
/// Rules of a policy at most.
const RULES: usize = 1 << 17;

/// The firewall.
pub struct Firewall {
    control: Mutex<Control>,
    /// Wakes the process that puts changes into force.
    pub signal: Signal,
}

/// The configuration that a change is made to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The one in force.
    Running,
    /// The draft.
    Draft,
    /// The draft if one is open, or else the one in force.
    Open,
}

/// The process that puts changes into force, once the commands that are at hand have run.
pub struct Publisher(pub Arc<Firewall>);

impl Process for Publisher {
    fn name(&self) -> &'static str {
        "firewall-rules"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        if let Err(e) = self.0.control().publish_latest(world) {
            log::error!("the firewall's last changes are forgotten: {e}");
        }
        Sleep::Event
    }
}

impl Shared for Firewall {
    fn make(world: &World) -> Self {
        let control = Mutex::new(Control::new(world));
        Self { control, signal: world.processes.signal() }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        let mut control = self.control();
        let forget = |config: &mut Config| {
            let mut changes = config.interfaces.remove(&sw_if).is_some();
            for set in config.sets.values_mut() {
                if let Members::Interfaces(all) = &mut set.members {
                    changes |= all.remove(&sw_if);
                }
            }
            changes
        };
        if let Some(draft) = &mut control.draft {
            forget(draft);
        }
        let mut config = control.latest().clone();
        if forget(&mut config)
            && let Err(e) = control.publish(world, config, false)
        {
            log::error!("the firewall still knows interface {sw_if}, which is deleted: {e}");
        }
    }
}

impl Firewall {
    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no panic inside")
    }

    /// The configuration in force.
    pub fn running(&self) -> Config {
        self.control().latest().clone()
    }

    /// The draft.
    ///
    /// # Errors
    /// No draft is open.
    pub fn draft(&self) -> Result<Config> {
        self.control().draft.clone().ok_or_else(no_draft)
    }

    /// Packets and bytes that a rule has decided.
    pub fn sum(&self, hits: &crate::hits::Hits) -> (u64, u64) {
        self.control().cells.sum(hits)
    }

    /// Changes what is configured. `change` alters nothing if it fails.
    fn change<R>(
        &self,
        of: Target,
        change: impl FnOnce(&mut Control, &mut Config) -> Result<R>,
    ) -> Result<R> {
        let mut control = self.control();
        let draft = if of == Target::Running { None } else { control.draft.take() };
        if let Some(mut draft) = draft {
            let done = change(&mut control, &mut draft);
            control.draft = Some(draft);
            return done;
        }
        if of == Target::Draft {
            return Err(no_draft());
        }
        let (mut config, waited) = control.take_latest();
        let done = change(&mut control, &mut config);
        if waited || done.is_ok() {
            control.set_latest(config);
            self.signal.raise();
        }
        done
    }

    /// Opens a draft, in which changes wait until they are committed together.
    ///
    /// # Errors
    /// One is open.
    pub fn begin(&self) -> Result<()> {
        let mut control = self.control();
        if control.draft.is_some() {
            let why = "a draft is open: expected firewall commit, or firewall abort, first";
            return Err(Error::failed(why));
        }
        control.draft = Some(control.latest().clone());
        Ok(())
    }

    /// Puts all changes of the draft into force at once.
    ///
    /// # Errors
    /// No draft is open; rules that would take too much memory: then the draft stays.
    pub fn commit(&self, world: &World) -> Result<()> {
        let mut control = self.control();
        let Some(mut config) = control.draft.clone() else { return Err(no_draft()) };
        // Zones of interfaces aren't part of a draft.
        config.interfaces = control.latest().interfaces.clone();
        let numbers: Vec<_> = config.zones.values().map(|zone| zone.number).collect();
        let gone = config.interfaces.iter().find(|(_, zone)| !numbers.contains(zone));
        if let Some((sw_if, _)) = gone {
            let name = world.get::<Interfaces>().name(*sw_if);
            return Err(Error::failed(format!("the zone of {name} is deleted in the draft")));
        }
        control.publish(world, config, true)?;
        control.draft = None;
        Ok(())
    }

    /// Forgets the changes of the draft.
    ///
    /// # Errors
    /// No draft is open.
    pub fn abort(&self) -> Result<()> {
        self.control().draft.take().map(|_| ()).ok_or_else(no_draft)
    }

    /// Makes a zone, or changes its limits.
    ///
    /// # Errors
    /// A name that can't be one, or too many zones.
    pub fn set_zone(&self, of: Target, name: &str, limits: ZoneLimits) -> Result<()> {
        if name == SELF_NAME {
            let why = "the zone self is there always, and its own packets have no limits";
            return Err(Error::unsupported(why));
        }
        let name = crate::values::name(name)?;
        self.change(of, |control, config| {
            if let Some(zone) = config.zones.get_mut(&name) {
                zone.limits = limits;
                return Ok(());
            }
            if config.zones.len() + 1 >= ZONES {
                return Err(Error::limit(format!("there are {ZONES} zones at most")));
            }
            let is_taken = |number: u16| {
                let of = |config: &Config| config.zones.values().any(|zone| zone.number == number);
                of(config) || of(&control.running) || of(control.latest())
            };
            let number = (SELF + 1..).find(|number| !is_taken(*number)).expect("fewer zones");
            config.zones.insert(name, Zone { number, limits, used: Arc::new(ZoneUse::default()) });
            Ok(())
        })
    }

    /// Deletes a zone.
    ///
    /// # Errors
    /// No zone has this name; an interface is in it, or a policy names it.
    pub fn delete_zone(&self, of: Target, world: &World, name: &str) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        self.change(of, |control, config| {
            let number = config.zone(name)?;
            if number == SELF {
                return Err(Error::unsupported("the zone self is there always"));
            }
            let mut all = config.interfaces.iter().chain(&control.latest().interfaces);
            if let Some((sw_if, _)) = all.find(|(_, zone)| **zone == number) {
                let why = format!("{} is in zone {name}", interfaces.name(*sw_if));
                return Err(Error::failed(why).retval(retval::INSTANCE_IN_USE));
            }
            if let Some(pair) = config.policies.keys().find(|pair| pair.contains(&number)) {
                let [from, to] = pair.map(|zone| config.zone_name(zone));
                let why = format!("there is a policy from {from} to {to}");
                return Err(Error::failed(why).retval(retval::INSTANCE_IN_USE));
            }
            config.zones.remove(name);
            Ok(())
        })
    }

    /// Puts an interface into a zone, or into none.
    ///
    /// # Errors
    /// An interface or a zone that isn't there.
    pub fn set_interface(&self, world: &World, sw_if: SwIfIndex, zone: Option<&str>) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        let mut control = self.control();
        let mut config = control.latest().clone();
        let old = config.interfaces.remove(&sw_if);
        let zone = zone.map(|name| config.zone(name)).transpose()?;
        if zone == Some(SELF) {
            return Err(Error::unsupported("the zone self has the router's own packets only"));
        }
        config.interfaces.extend(zone.map(|zone| (sw_if, zone)));
        if zone.is_some() != old.is_some() && zone.is_some() {
            enable(world, sw_if, true)?;
        }
        control.publish(world, config, false)?;
        if zone.is_some() != old.is_some() && zone.is_none() {
            enable(world, sw_if, false)?;
        }
        if let Some(draft) = &mut control.draft {
            draft.interfaces.remove(&sw_if);
            draft.interfaces.extend(zone.map(|zone| (sw_if, zone)));
        }
        Ok(())
    }

    /// Makes a policy, or changes its options.
    ///
    /// # Errors
    /// A zone that isn't there.
    pub fn set_policy(
        &self,
        of: Target,
        [from, to]: [&str; 2],
        options: PolicyOptions,
    ) -> Result<()> {
        self.change(of, |control, config| {
            let pair = [config.zone(from)?, config.zone(to)?];
            match config.policies.get_mut(&pair) {
                Some(policy) => Arc::make_mut(policy).options = options,
                None => {
                    let (rules, hits) = (BTreeMap::new(), control.cells.take());
                    let policy = Policy { options, rules, hits };
                    config.policies.insert(pair, Arc::new(policy));
                }
            }
            Ok(())
        })
    }

    /// Deletes a policy, with its rules.
    ///
    /// # Errors
    /// A zone or a policy that isn't there.
    pub fn delete_policy(&self, of: Target, [from, to]: [&str; 2]) -> Result<()> {
        self.change(of, |_, config| {
            let pair = [config.zone(from)?, config.zone(to)?];
            config.policy(pair)?;
            config.policies.remove(&pair);
            Ok(())
        })
    }

    /// Puts a rule into a policy by its number, in the place of one that has it already.
    ///
    /// # Errors
    /// A zone, policy or set that isn't there; conditions that don't go together; too many rules.
    pub fn set_rule(
        &self,
        of: Target,
        [from, to]: [&str; 2],
        number: u32,
        rule: Rule,
    ) -> Result<()> {
        rule.check()?;
        self.change(of, |control, config| {
            let pair = [config.zone(from)?, config.zone(to)?];
            config.policy(pair)?;
            check_sets(&rule, config)?;
            let Some(policy) = config.policies.get_mut(&pair) else { return Ok(()) };
            let there = policy.rules.get(&number);
            if there.is_some_and(|counted| *counted.rule == rule) {
                return Ok(());
            }
            if there.is_none() && policy.rules.len() >= RULES {
                return Err(Error::limit(format!("a policy has {RULES} rules at most")));
            }
            let counted = Counted { rule: Arc::new(rule), hits: control.cells.take() };
            Arc::make_mut(policy).rules.insert(number, counted);
            Ok(())
        })
    }

    /// Replaces all rules of a policy at once.
    ///
    /// # Errors
    /// As [`Self::set_rule`]; a number that stands twice.
    pub fn set_rules(
        &self,
        of: Target,
        [from, to]: [&str; 2],
        rules: Vec<(u32, Rule)>,
    ) -> Result<()> {
        if rules.len() > RULES {
            return Err(Error::limit(format!("a policy has {RULES} rules at most")));
        }
        self.change(of, |control, config| {
            let pair = [config.zone(from)?, config.zone(to)?];
            let mut all = BTreeMap::new();
            for (number, rule) in rules {
                rule.check()?;
                check_sets(&rule, config)?;
                let counted = Counted { rule: Arc::new(rule), hits: control.cells.take() };
                if all.insert(number, counted).is_some() {
                    let why = format!("rule {number} is there twice");
                    return Err(Error::parse(why).retval(retval::ENTRY_ALREADY_EXISTS));
                }
            }
            config.policy(pair)?;
            if let Some(policy) = config.policies.get_mut(&pair) {
                Arc::make_mut(policy).rules = all;
            }
            Ok(())
        })
    }

    /// Takes a rule out of a policy, or all of them.
    ///
    /// # Errors
    /// A zone, policy or rule that isn't there.
    pub fn delete_rule(
        &self,
        of: Target,
        [from, to]: [&str; 2],
        number: Option<u32>,
    ) -> Result<()> {
        self.change(of, |_, config| {
            let pair = [config.zone(from)?, config.zone(to)?];
            config.policy(pair)?;
            let Some(policy) = config.policies.get_mut(&pair) else { return Ok(()) };
            let rules = &mut Arc::make_mut(policy).rules;
            match number {
                None => rules.clear(),
                Some(number) if rules.remove(&number).is_none() => {
                    let why = format!("the policy from {from} to {to} has no rule {number}");
                    return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
                }
                Some(_) => {}
            }
            Ok(())
        })
    }

    /// Adds members to a set, which is made if it isn't there, or takes them out.
    ///
    /// # Errors
    /// A name that can't be one; members of another kind; too many.
    pub fn change_set(&self, of: Target, name: &str, members: Members, add: bool) -> Result<()> {
        let name = crate::values::name(name)?;
        self.change(of, |control, config| {
            let there = config.sets.get(&name).map_or(0, |set| set.members.count());
            if add && there + members.count() > MEMBERS {
                return Err(Error::limit(format!("a set has {MEMBERS} members at most")));
            }
            if !config.sets.contains_key(&name) {
                if !add {
                    return Err(no_set(&name, config));
                }
                if config.sets.len() >= SETS {
                    return Err(Error::limit(format!("there are {SETS} sets at most")));
                }
                let taken = |number: u16| {
                    let of = |config: &Config| config.sets.values().any(|s| s.number == number);
                    of(config) || of(&control.running) || of(control.latest())
                };
                let number = (0..).find(|number| !taken(*number)).expect("fewer sets");
                config.sets.insert(name.clone(), Set { number, members });
                return Ok(());
            }
            let Some(set) = config.sets.get_mut(&name) else { return Ok(()) };
            let (there, kind) = (&mut set.members, members.kind());
            match (&mut *there, members) {
                (Members::Networks(all), Members::Networks(some)) => merge(all, some, add),
                (Members::Ports(all), Members::Ports(some)) => merge(all, some, add),
                (Members::Interfaces(all), Members::Interfaces(some)) => merge(all, some, add),
                (there, _) => {
                    let has = there.kind();
                    return Err(Error::parse(format!("{name} is a set of {has}s, not of {kind}s")));
                }
            }
            Ok(())
        })
    }

    /// Deletes a set.
    ///
    /// # Errors
    /// No set has this name, or a rule names it.
    pub fn delete_set(&self, of: Target, name: &str) -> Result<()> {
        self.change(of, |_, config| {
            if !config.sets.contains_key(name) {
                return Err(no_set(name, config));
            }
            for (pair, policy) in &config.policies {
                let mut rules = policy.rules.iter();
                let uses = |rule: &Rule| rule.sets().any(|(set, _)| set == name);
                if let Some((number, _)) = rules.find(|(_, counted)| uses(&counted.rule)) {
                    let [from, to] = pair.map(|zone| config.zone_name(zone));
                    let why = format!("rule {number} from {from} to {to} names set {name}");
                    return Err(Error::failed(why).retval(retval::INSTANCE_IN_USE));
                }
            }
            config.sets.remove(name);
            Ok(())
        })
    }
}

fn merge<T: Ord>(
    all: &mut std::collections::BTreeSet<T>,
    some: std::collections::BTreeSet<T>,
    add: bool,
) {
    if add {
        all.extend(some);
    } else {
        all.retain(|member| !some.contains(member));
    }
}

/// Checks that the sets which a rule names are there, and are of the right kind.
fn check_sets(rule: &Rule, config: &Config) -> Result<()> {
    for (name, kind) in rule.sets() {
        let set = config.sets.get(name).ok_or_else(|| no_set(name, config))?;
        if set.members.kind() != kind {
            let has = set.members.kind();
            let why = format!("{name} is a set of {has}s: expected one of {kind}s");
            return Err(Error::parse(why));
        }
    }
    Ok(())
}

fn no_draft() -> Error {
    Error::failed("no draft is open: expected firewall begin first").retval(retval::NO_SUCH_ENTRY)
}

fn no_set(name: &str, config: &Config) -> Error {
    Error::not_found(format!("there is no set {name}"))
        .near(name, config.sets.keys())
        .retval(retval::NO_SUCH_ENTRY)
}

/// Lets the packets of an interface visit the nodes, or no longer. Fragments get the ports of their
/// first one.
fn enable(world: &World, sw_if: SwIfIndex, on: bool) -> Result<()> {
    for v6 in [false, true] {
        use_ports(world, sw_if, v6, Side::Output, on)?;
        for (arc, node) in
            [("{ip}-output", "{ip}-firewall-output"), ("{ip}-local", "{ip}-firewall-local")]
        {
            world
                .set_feature(&filled(arc, v6), &filled(node, v6), sw_if, on)
                .map_err(Error::unsupported)?;
        }
    }
    Ok(())
}
