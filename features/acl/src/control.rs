// SPDX-License-Identifier: Apache-2.0
//! Operations on ACLs and interfaces, for commands and messages.

use crate::context::{Contexts, Published};
use crate::list::{Direction, List};
use crate::policy::{Policies, Policy};
use crate::rule::Rule;
use crate::settings::Settings;
use crate::switched;
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World, filled};
use net::Interfaces;
use stats::CombinedLane;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use tables::Forest;

/// An access control list: its tag and its rules, the first that matches decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acl {
    /// Its owner's words for it.
    pub tag: String,
    /// Its rules, of which the first that matches decides.
    pub rules: Arc<[Rule]>,
}

/// The lists of an interface: numbers of ACLs, by [`Direction`].
pub type Lists = [Vec<u32>; 2];

/// Rules of an ACL at most.
pub const RULES: usize = 1 << 20;
/// ACLs of a list at most.
pub const ACLS: usize = u8::MAX as usize;

/// Every ACL, and the interfaces and lookup contexts that use them.
pub struct Acls {
    policies: Arc<Policies>,
    contexts: Arc<Contexts>,
    settings: Arc<Settings>,
    control: Mutex<Control>,
}

/// State that the packet path doesn't need.
#[derive(Default)]
struct Control {
    acls: BTreeMap<u32, Acl>,
    interfaces: BTreeMap<SwIfIndex, Lists>,
    /// Contexts of other features, by number.
    contexts: BTreeMap<u32, Context>,
    /// Lists that are in use, by their ACLs.
    compiled: HashMap<Vec<u32>, Weak<List>>,
    /// Where the networks of rules lie, once there is a list.
    forest: Option<Arc<Forest>>,
    generation: u32,
}

/// A list of ACLs of another feature.
#[derive(Clone, Debug)]
pub struct Context {
    /// The feature.
    pub user: &'static str,
    /// The object of the feature that it is for, as numbers that the feature chooses.
    pub purpose: [u32; 2],
    /// Its ACLs in order, each with a value of the feature's.
    pub acls: Vec<(u32, u32)>,
}

impl Context {
    fn numbers(&self) -> Vec<u32> {
        self.acls.iter().map(|(acl, _)| *acl).collect()
    }
}

impl Shared for Acls {
    fn make(world: &World) -> Self {
        Self {
            policies: world.get(),
            contexts: world.get(),
            settings: world.get(),
            control: Mutex::default(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        if self.control().interfaces.remove(&sw_if).is_some() {
            self.policies.set(sw_if.0, None);
        }
        switched::forget(world, sw_if);
    }
}

/// The error for an ACL that isn't there.
pub fn no_acl(number: u32) -> Error {
    Error::not_found(format!("there is no ACL {number}")).retval(retval::NO_SUCH_ENTRY)
}

/// Name of the counter of an ACL's matches.
fn counter(number: u32) -> String {
    format!("/acl/{number}/matches")
}

impl Control {
    /// The rules of ACLs.
    fn rules(&self, acls: &[u32]) -> Result<Vec<(u32, Arc<[Rule]>)>> {
        let of = |number: &u32| {
            let acl = self.acls.get(number).ok_or_else(|| no_acl(*number))?;
            Ok((*number, acl.rules.clone()))
        };
        acls.iter().map(of).collect()
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

    /// The list of these ACLs; `None` for no ACLs.
    fn list(
        &mut self,
        world: &World,
        settings: &Settings,
        acls: &[u32],
    ) -> Result<Option<Arc<List>>> {
        if acls.is_empty() {
            return Ok(None);
        }
        if let Some(list) = self.compiled.get(acls).and_then(Weak::upgrade) {
            return Ok(Some(list));
        }
        let rules = self.rules(acls)?;
        let counters = lanes(world, acls);
        let forest = self.forest(world)?;
        let fragments = settings.match_fragments.load(Ordering::Relaxed);
        let list = Arc::new(List::new(&rules, fragments, &forest, counters)?);
        self.compiled.retain(|_, list| list.strong_count() > 0);
        self.compiled.insert(acls.to_vec(), Arc::downgrade(&list));
        Ok(Some(list))
    }

    /// The lists of an interface, as workers read them; `None` if it has none.
    fn policy(
        &mut self,
        world: &World,
        settings: &Settings,
        lists: &Lists,
    ) -> Result<Option<Policy>> {
        let [input, output] = lists;
        let lists = [self.list(world, settings, input)?, self.list(world, settings, output)?];
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        Ok(lists.iter().any(Option::is_some).then_some(Policy { lists, generation }))
    }
}

/// Each thread's side of the counters of ACLs.
fn lanes(world: &World, acls: &[u32]) -> Vec<Vec<CombinedLane>> {
    let all: Vec<_> = acls.iter().map(|number| world.stats.combined(&counter(*number))).collect();
    let of = |thread| all.iter().map(|counter| counter.lane(thread)).collect();
    (0..world.threads()).map(of).collect()
}

impl Acls {
    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no panic inside")
    }

    /// Makes an ACL, or replaces the rules and the tag of one that is there. Packets are judged by
    /// the old rules or by the new ones, never by a mixture.
    ///
    /// # Errors
    /// No ACL has the number (−6); too many rules, or rules that would take too much memory; then
    /// nothing is changed.
    pub fn set(&self, world: &World, number: Option<u32>, acl: Acl) -> Result<u32> {
        if acl.rules.len() > RULES {
            let why = format!("{} rules: an ACL has {RULES} at most", acl.rules.len());
            return Err(Error::limit(why).retval(retval::INVALID_VALUE));
        }
        let rules = acl.rules.len();
        let mut control = self.control();
        let number = match number {
            Some(number) => {
                let old = control.acls.insert(number, acl);
                let Some(old) = old else {
                    control.acls.remove(&number);
                    return Err(no_acl(number));
                };
                if let Err(e) = self.publish_all(world, &mut control, |acls| acls.contains(&number))
                {
                    control.acls.insert(number, old);
                    // The old lists are still those of the interfaces.
                    control.compiled.retain(|acls, _| !acls.contains(&number));
                    return Err(e);
                }
                number
            }
            None => {
                let free = (0..).find(|number| !control.acls.contains_key(number));
                let number = free.expect("fewer ACLs than numbers");
                control.acls.insert(number, acl);
                number
            }
        };
        drop(control);
        let counter = world.stats.combined(&counter(number));
        counter.restart(0..=rules);
        (0..=rules).for_each(|rule| counter.start(rule));
        Ok(number)
    }

    /// Makes an ACL with a number that is free, as a saved line has it.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn restore(&self, world: &World, number: u32, acl: Acl) -> Result<()> {
        self.control().acls.entry(number).or_insert(Acl { rules: Arc::new([]), ..acl.clone() });
        self.set(world, Some(number), acl).map(|_| ())
    }

    /// Compiles and publishes the lists of all interfaces of which a list has ACLs that `changed`
    /// finds. Nothing is published if one can't be compiled.
    fn publish_all(
        &self,
        world: &World,
        control: &mut Control,
        changed: impl Fn(&[u32]) -> bool,
    ) -> Result<()> {
        control.compiled.retain(|acls, _| !changed(acls));
        let interfaces: Vec<_> = control
            .interfaces
            .iter()
            .filter(|(_, lists)| lists.iter().any(|acls| changed(acls)))
            .map(|(sw_if, lists)| (*sw_if, lists.clone()))
            .collect();
        let mut policies = Vec::with_capacity(interfaces.len());
        for (sw_if, lists) in interfaces {
            policies.push((sw_if, control.policy(world, &self.settings, &lists)?));
        }
        let contexts: Vec<_> = control
            .contexts
            .iter()
            .filter(|(_, context)| changed(&context.numbers()))
            .map(|(number, context)| (*number, context.clone()))
            .collect();
        let mut published = Vec::with_capacity(contexts.len());
        for (number, context) in contexts {
            published.push((number, self.published(world, control, &context)?));
        }
        for (sw_if, policy) in policies {
            self.policies.set(sw_if.0, policy);
        }
        for (number, context) in published {
            self.contexts.set(number, context);
        }
        Ok(())
    }

    /// A context as workers read it; `None` without ACLs.
    fn published(
        &self,
        world: &World,
        control: &mut Control,
        context: &Context,
    ) -> Result<Option<Published>> {
        let list = control.list(world, &self.settings, &context.numbers())?;
        let values = context.acls.iter().map(|(_, value)| *value).collect();
        Ok(list.map(|list| Published { list, values }))
    }

    /// Makes a context without ACLs for a feature, and returns its number.
    pub fn make_context(&self, user: &'static str, purpose: [u32; 2]) -> u32 {
        let mut control = self.control();
        let free = (0..).find(|number| !control.contexts.contains_key(number));
        let number = free.expect("fewer contexts than numbers");
        control.contexts.insert(number, Context { user, purpose, acls: Vec::new() });
        number
    }

    /// Replaces the ACLs of a context, each with its value.
    ///
    /// # Errors
    /// A context or an ACL that isn't there (−6); a list that would take too much memory.
    pub fn set_context(&self, world: &World, number: u32, acls: Vec<(u32, u32)>) -> Result<()> {
        let mut control = self.control();
        let Some(old) = control.contexts.get(&number) else {
            let why = format!("there is no lookup context {number}");
            return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
        };
        let context = Context { acls, ..old.clone() };
        let published = self.published(world, &mut control, &context)?;
        self.contexts.set(number, published);
        control.contexts.insert(number, context);
        Ok(())
    }

    /// Deletes a context.
    pub fn delete_context(&self, number: u32) {
        self.control().contexts.remove(&number);
        self.contexts.set(number, None);
    }

    /// All contexts.
    pub fn contexts(&self) -> Vec<(u32, Context)> {
        self.control().contexts.iter().map(|(number, of)| (*number, of.clone())).collect()
    }

    /// Deletes an ACL.
    ///
    /// # Errors
    /// An ACL that isn't there (−6), or is in use (−142, −143, −149).
    pub fn delete(&self, world: &World, number: u32) -> Result<()> {
        let mut control = self.control();
        if !control.acls.contains_key(&number) {
            return Err(no_acl(number));
        }
        for (direction, code) in [
            (Direction::Input, retval::ACL_IN_USE_INBOUND),
            (Direction::Output, retval::ACL_IN_USE_OUTBOUND),
        ] {
            let user = control
                .interfaces
                .iter()
                .find(|(_, lists)| lists[direction as usize].contains(&number));
            if let Some((sw_if, _)) = user {
                let name = world.get::<Interfaces>().name(*sw_if);
                let why = format!("ACL {number} is in the {} list of {name}", direction.name());
                return Err(Error::failed(why).retval(code));
            }
        }
        if let Some((context, of)) =
            control.contexts.iter().find(|(_, of)| of.numbers().contains(&number))
        {
            let why = format!("{} uses ACL {number} (lookup context {context})", of.user);
            return Err(Error::failed(why).retval(retval::ACL_IN_USE_BY_LOOKUP_CONTEXT));
        }
        control.acls.remove(&number);
        Ok(())
    }

    /// The ACL of this number, None if there is none.
    pub fn get(&self, number: u32) -> Option<Acl> {
        self.control().acls.get(&number).cloned()
    }

    /// All ACLs.
    pub fn list(&self) -> Vec<(u32, Acl)> {
        self.control().acls.iter().map(|(number, acl)| (*number, acl.clone())).collect()
    }

    /// The lists of an interface.
    pub fn lists_of(&self, sw_if: SwIfIndex) -> Lists {
        self.control().interfaces.get(&sw_if).cloned().unwrap_or_default()
    }

    /// Interfaces that have lists.
    pub fn interfaces(&self) -> Vec<(SwIfIndex, Lists)> {
        self.control().interfaces.iter().map(|(sw_if, lists)| (*sw_if, lists.clone())).collect()
    }

    /// The compiled list of these ACLs, if it is in use.
    pub fn compiled(&self) -> Vec<(Vec<u32>, Arc<List>)> {
        let control = self.control();
        let all = control.compiled.iter();
        let mut all: Vec<_> =
            all.filter_map(|(acls, list)| Some((acls.clone(), list.upgrade()?))).collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all
    }

    /// Replaces the lists of an interface.
    ///
    /// # Errors
    /// An interface that isn't there (−2); an ACL that isn't there (−6), or is twice in a list
    /// (−116); a list that would take too much memory.
    pub fn set_lists(&self, world: &World, sw_if: SwIfIndex, lists: Lists) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        let mut control = self.control();
        for acls in &lists {
            let mut seen = BTreeSet::new();
            for acl in acls {
                if !control.acls.contains_key(acl) {
                    return Err(no_acl(*acl));
                }
                if !seen.insert(acl) {
                    let why = format!("ACL {acl} is twice in a list");
                    return Err(Error::parse(why).retval(retval::ENTRY_ALREADY_EXISTS));
                }
            }
        }
        let old = control.interfaces.get(&sw_if).cloned().unwrap_or_default();
        let policy = control.policy(world, &self.settings, &lists)?;
        for direction in Direction::BOTH {
            let at = direction as usize;
            if old[at].is_empty() != lists[at].is_empty() {
                enable(world, sw_if, direction, !lists[at].is_empty())?;
            }
        }
        self.policies.set(sw_if.0, policy);
        if lists == Lists::default() {
            control.interfaces.remove(&sw_if);
        } else {
            control.interfaces.insert(sw_if, lists);
        }
        Ok(())
    }

    /// Appends an ACL to a list of an interface, or takes it out.
    ///
    /// # Errors
    /// As [`Self::set_lists`]; an ACL that is in the list already (−142, −143), or isn't in it
    /// (−6).
    pub fn apply(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        direction: Direction,
        (acl, on): (u32, bool),
    ) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        if self.get(acl).is_none() {
            return Err(no_acl(acl));
        }
        let mut lists = self.lists_of(sw_if);
        let list = &mut lists[direction as usize];
        let name = || world.get::<Interfaces>().name(sw_if);
        if on && list.contains(&acl) {
            let code = match direction {
                Direction::Input => retval::ACL_IN_USE_INBOUND,
                Direction::Output => retval::ACL_IN_USE_OUTBOUND,
            };
            let why =
                format!("ACL {acl} is in the {} list of {} already", direction.name(), name());
            return Err(Error::failed(why).retval(code));
        }
        if on && list.len() == ACLS {
            return Err(Error::limit(format!("a list has {ACLS} ACLs at most")));
        }
        if on {
            list.push(acl);
        } else if let Some(at) = list.iter().position(|there| *there == acl) {
            list.remove(at);
        } else {
            let why = format!("ACL {acl} isn't in the {} list of {}", direction.name(), name());
            return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
        }
        self.set_lists(world, sw_if, lists)
    }

    /// Compiles all lists again, after a setting that they depend on was changed.
    ///
    /// # Errors
    /// A list that would take too much memory.
    pub fn compile_again(&self, world: &World) -> Result<()> {
        self.publish_all(world, &mut self.control(), |acls| !acls.is_empty())
    }
}

/// Lets the packets of an interface visit the nodes, or no longer.
fn enable(world: &World, sw_if: SwIfIndex, direction: Direction, on: bool) -> Result<()> {
    let (arc, node) = match direction {
        Direction::Input => ("{ip}-unicast", "acl-plugin-in-{ip}-fa"),
        Direction::Output => ("{ip}-output", "acl-plugin-out-{ip}-fa"),
    };
    for v6 in [false, true] {
        world
            .set_feature(&filled(arc, v6), &filled(node, v6), sw_if, on)
            .map_err(Error::unsupported)?;
    }
    switched::enable(world, sw_if, direction, on)
}
