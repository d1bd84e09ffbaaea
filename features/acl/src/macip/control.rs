// SPDX-License-Identifier: Apache-2.0
//! Operations on MACIP ACLs and interfaces, for commands and messages.

use super::{Compiled, Rule};
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World, filled};
use net::Interfaces;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};

/// A MACIP ACL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MacipAcl {
    /// Its owner's words for it.
    pub tag: String,
    /// Its rules, of which the first that matches decides.
    pub rules: Vec<Rule>,
}

/// Every MACIP ACL, and the interfaces that use them.
pub struct MacipAcls {
    published: Slots<Arc<Compiled>>,
    control: Mutex<Control>,
}

#[derive(Default)]
struct Control {
    acls: BTreeMap<u32, (MacipAcl, Arc<Compiled>)>,
    interfaces: BTreeMap<SwIfIndex, u32>,
    /// One more than the highest index of an interface that has had an ACL.
    interfaces_end: u32,
}

impl Shared for MacipAcls {
    fn make(world: &World) -> Self {
        Self { published: Slots::new(world.qsbr.clone()), control: Mutex::default() }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        let Some(sw_if) = deleted.of::<SwIfIndex>() else { return };
        if self.control().interfaces.remove(sw_if).is_some() {
            self.published.clear(sw_if.0);
        }
    }
}

fn no_acl(number: u32) -> Error {
    Error::not_found(format!("there is no MACIP ACL {number}")).retval(retval::NO_SUCH_ENTRY)
}

impl MacipAcls {
    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no panic inside")
    }

    /// The rules of an interface.
    #[inline(always)]
    pub fn of<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Compiled> {
        self.published.get(sw_if, turn).map(|rules| &**rules)
    }

    /// Makes an ACL, or replaces one that is there, also where it is applied.
    ///
    /// # Errors
    /// No ACL has the number (−6).
    pub fn set(&self, world: &World, number: Option<u32>, acl: MacipAcl) -> Result<u32> {
        let compiled = Arc::new(Compiled::new(&acl.rules));
        let mut control = self.control();
        let number = match number {
            Some(number) if !control.acls.contains_key(&number) => return Err(no_acl(number)),
            Some(number) => number,
            None => (0..)
                .find(|number| !control.acls.contains_key(number))
                .expect("fewer ACLs than numbers"),
        };
        control.acls.insert(number, (acl, compiled.clone()));
        let users = control.interfaces.iter().filter(|(_, of)| **of == number);
        for (sw_if, _) in users {
            self.published.set(sw_if.0, compiled.clone());
            enable(world, *sw_if, Some(&compiled))?;
        }
        Ok(number)
    }

    /// Makes an ACL with this number, as a saved line has it, or replaces it.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn restore(&self, world: &World, number: u32, acl: MacipAcl) -> Result<()> {
        self.control().acls.entry(number).or_insert_with(|| (acl.clone(), Arc::default()));
        self.set(world, Some(number), acl).map(|_| ())
    }

    /// Deletes an ACL; interfaces that have it have none then.
    ///
    /// # Errors
    /// An ACL that isn't there (−6).
    pub fn delete(&self, world: &World, number: u32) -> Result<()> {
        let users: Vec<_> = {
            let control = self.control();
            if !control.acls.contains_key(&number) {
                return Err(no_acl(number));
            }
            let users = control.interfaces.iter().filter(|(_, of)| **of == number);
            users.map(|(sw_if, _)| *sw_if).collect()
        };
        for sw_if in users {
            self.withdraw(world, sw_if)?;
        }
        self.control().acls.remove(&number);
        Ok(())
    }

    /// Applies an ACL to an interface, in place of the one that it has.
    ///
    /// # Errors
    /// An interface that isn't there (−2), an ACL that isn't there (−6).
    pub fn apply(&self, world: &World, sw_if: SwIfIndex, number: u32) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        let mut control = self.control();
        let (_, compiled) = control.acls.get(&number).ok_or_else(|| no_acl(number))?;
        let compiled = compiled.clone();
        enable(world, sw_if, Some(&compiled))?;
        self.published.set(sw_if.0, compiled);
        control.interfaces.insert(sw_if, number);
        control.interfaces_end = control.interfaces_end.max(sw_if.0 + 1);
        Ok(())
    }

    /// Takes the ACL of an interface away.
    ///
    /// # Errors
    /// An interface that isn't there (−2), or has none (−6).
    pub fn withdraw(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        if self.control().interfaces.remove(&sw_if).is_none() {
            let name = world.get::<Interfaces>().name(sw_if);
            let why = format!("{name} has no MACIP ACL");
            return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
        }
        enable(world, sw_if, None)?;
        self.published.clear(sw_if.0);
        Ok(())
    }

    /// One ACL, or all.
    pub fn list(&self, only: Option<u32>) -> Vec<(u32, MacipAcl)> {
        let control = self.control();
        let chosen = control.acls.iter().filter(|(number, _)| only.is_none_or(|n| n == **number));
        chosen.map(|(number, (acl, _))| (*number, acl.clone())).collect()
    }

    /// Interfaces with their ACLs.
    pub fn interfaces(&self) -> Vec<(SwIfIndex, u32)> {
        self.control().interfaces.iter().map(|(sw_if, number)| (*sw_if, *number)).collect()
    }

    /// The ACL of each interface by its index, up to the highest that has ever had one; `u32::MAX`
    /// where there is none.
    pub fn by_index(&self) -> Vec<u32> {
        let control = self.control();
        let of = |sw_if| control.interfaces.get(&SwIfIndex(sw_if)).copied().unwrap_or(u32::MAX);
        (0..control.interfaces_end).map(of).collect()
    }
}

/// Lets packets of an interface visit the nodes that these rules need.
fn enable(world: &World, sw_if: SwIfIndex, rules: Option<&Compiled>) -> Result<()> {
    let sent = rules.is_some_and(Compiled::checks_sent);
    for v6 in [false, true] {
        for (arc, node, on) in [
            ("{ip}-unicast", "acl-plugin-macip-in-{ip}-fa", rules.is_some()),
            ("{ip}-multicast", "acl-plugin-macip-in-{ip}-fa", rules.is_some()),
            ("{ip}-output", "acl-plugin-macip-out-{ip}-fa", sent),
            ("l2-input-{ip}", "acl-plugin-macip-in-l2", rules.is_some()),
            ("l2-output-{ip}", "acl-plugin-macip-out-l2", sent),
        ] {
            let (arc, node) = (filled(arc, v6), filled(node, v6));
            world.set_feature(&arc, &node, sw_if, on).map_err(Error::unsupported)?;
        }
    }
    for (arc, node, on) in [
        ("l2-input-nonip", "acl-plugin-macip-in-l2", rules.is_some()),
        ("l2-output-nonip", "acl-plugin-macip-out-l2", sent),
    ] {
        world.set_feature(arc, node, sw_if, on).map_err(Error::unsupported)?;
    }
    Ok(())
}
