// SPDX-License-Identifier: Apache-2.0
//! Settings of all pairs.

use crate::pairs::Pairs;
use cli::{Error, Result, retval};
use graph::{Shared, World};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};
use wire::EtherType;

/// Bytes of the longest name of a namespace.
const NAMESPACE: usize = 31;

/// The values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Values {
    /// The namespace of pairs that name none; `None`: that of the process.
    pub default_namespace: Option<String>,
    /// Enabled Ethernet types.
    pub ethertypes: BTreeSet<u16>,
    /// State, MTU and addresses of interfaces go to the kernel's.
    pub sync: bool,
    /// Of an unnumbered interface, the addresses that it borrows go there too.
    pub sync_unnumbered: bool,
    /// A new sub-interface of an interface with a pair gets one.
    pub auto_subint: bool,
    /// Routes of operators over a link that loses its carrier go.
    pub del_static: bool,
    /// Routes of daemons over a link that loses its carrier go.
    pub del_dynamic: bool,
}

impl Values {
    /// As startup.conf sets them.
    pub fn of_startup(world: &World) -> Self {
        let startup = world.startup::<crate::startup_conf::Startup>();
        Self {
            default_namespace: startup.default_namespace.filter(|name| !name.is_empty()),
            ethertypes: BTreeSet::new(),
            sync: startup.sync,
            sync_unnumbered: true,
            auto_subint: startup.auto_subint,
            del_static: startup.del_static,
            del_dynamic: startup.del_dynamic,
        }
    }
}

/// The settings of an instance.
pub struct Settings(Mutex<Values>);

impl Shared for Settings {
    fn make(world: &World) -> Self {
        Self(Mutex::new(Values::of_startup(world)))
    }
}

/// Checks the name of a namespace.
///
/// # Errors
/// A name of more than 31 characters (−73).
pub fn check_namespace(name: &str) -> Result<()> {
    if name.len() > NAMESPACE {
        let why = format!("`{name}' is no namespace: {NAMESPACE} characters are the most");
        return Err(Error::parse(why).retval(retval::INVALID_ARGUMENT));
    }
    Ok(())
}

impl Values {
    /// The lines of `show lcp`.
    pub fn lines(&self) -> String {
        let name = self.default_namespace.as_deref().unwrap_or("<unset>");
        let on = |on: bool| if on { "on" } else { "off" };
        let Self { sync, sync_unnumbered, auto_subint, del_static, del_dynamic, .. } = self;
        format!(
            "lcp default netns '{name}'\nlcp lcp-auto-subint {}\nlcp lcp-sync {}\n\
             lcp lcp-sync-unnumbered {}\nlcp del-static-on-link-down {}\n\
             lcp del-dynamic-on-link-down {}\n",
            on(*auto_subint),
            on(*sync),
            on(*sync_unnumbered),
            on(*del_static),
            on(*del_dynamic)
        )
    }
}

impl Settings {
    fn values(&self) -> MutexGuard<'_, Values> {
        self.0.lock().expect("no panic inside")
    }

    /// The present values.
    pub fn get(&self) -> Values {
        self.values().clone()
    }

    /// Changes values that need no check.
    pub fn change(&self, world: &World, change: impl FnOnce(&mut Values)) {
        change(&mut self.values());
        world.note_config_change();
        world.get::<Pairs>().raise();
    }

    /// Sets the namespace of pairs that name none; an empty name is that of the process.
    ///
    /// # Errors
    /// A name of more than 31 characters (−73).
    pub fn set_default_namespace(&self, world: &World, name: &str) -> Result<()> {
        check_namespace(name)?;
        let name = Some(name.to_string()).filter(|name| !name.is_empty());
        self.change(world, |values| values.default_namespace = name);
        Ok(())
    }

    /// Lets frames of a type cross between interfaces and their mirrors, both ways.
    ///
    /// # Errors
    /// A type that isn't known (−7); one that another node takes (−31).
    pub fn enable_ethertype(&self, world: &World, ethertype: EtherType) -> Result<()> {
        if crate::ethertypes::name(ethertype).is_none() {
            let why = format!("{ethertype} is no known Ethernet type");
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        ethernet::register_ethertype(world, ethertype, "linux-cp-punt-xc")
            .map_err(|why| Error::failed(why).retval(retval::INVALID_REGISTRATION))?;
        self.values().ethertypes.insert(ethertype.0);
        world.note_config_change();
        Ok(())
    }

    /// Drops frames of an enabled type again.
    ///
    /// # Errors
    /// A type that isn't enabled (−6).
    pub fn disable_ethertype(&self, world: &World, ethertype: EtherType) -> Result<()> {
        if !self.values().ethertypes.remove(&ethertype.0) {
            let why = format!("{ethertype} isn't enabled");
            return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
        }
        ethernet::unregister_ethertype(world, ethertype, "linux-cp-punt-xc");
        world.note_config_change();
        Ok(())
    }
}
