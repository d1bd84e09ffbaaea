// SPDX-License-Identifier: Apache-2.0
//! The rules.

use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World, filled};
use net::{IfEvent, Interfaces};
use punt::{Destination, Key};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use sync::{Snapshot, Turn};

/// A rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Its number.
    pub index: u32,
    /// The destination of packets.
    pub address: IpAddr,
    /// The interface that they leave by.
    pub sw_if: SwIfIndex,
}

/// All rules.
pub struct Rules {
    all: Mutex<BTreeMap<IpAddr, Rule>>,
    /// The interfaces, for workers.
    published: Snapshot<BTreeMap<IpAddr, u32>>,
}

impl Shared for Rules {
    fn make(world: &World) -> Self {
        world.get::<Interfaces>().subscribe(|world, event| {
            if let IfEvent::Added(sw_if) = event {
                for v6 in [false, true] {
                    let on = world.get::<Rules>().has(v6);
                    if on && let Err(error) = enable(world, sw_if, v6, true) {
                        log::warn!(target: "stn", "rules don't follow {event:?}: {error}");
                    }
                }
            }
        });
        Self {
            all: Mutex::default(),
            published: Snapshot::new(world.qsbr.clone(), BTreeMap::new()),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        for rule in self.list().into_iter().filter(|rule| rule.sw_if == sw_if) {
            if let Err(error) = self.delete(world, rule.address) {
                log::warn!(target: "stn", "a rule of an interface that is deleted: {error}");
            }
        }
    }
}

impl Rules {
    fn all(&self) -> MutexGuard<'_, BTreeMap<IpAddr, Rule>> {
        self.all.lock().expect("no panic inside")
    }

    /// All rules, by number.
    pub fn list(&self) -> Vec<Rule> {
        let mut all: Vec<_> = self.all().values().copied().collect();
        all.sort_unstable_by_key(|rule| rule.index);
        all
    }

    /// The index of the interface that packets to an address leave by.
    #[inline(always)]
    pub fn find(&self, address: IpAddr, turn: &Turn<'_>) -> Option<u32> {
        self.published.get(turn).get(&address).copied()
    }

    fn has(&self, v6: bool) -> bool {
        self.all().keys().any(|address| address.is_ipv6() == v6)
    }

    fn publish(&self, world: &World) {
        let all: BTreeMap<_, _> =
            self.all().values().map(|rule| (rule.address, rule.sw_if.0)).collect();
        self.published.update(|_| all.clone());
        world.note_config_change();
    }

    /// Lets punted packets to an address leave by an interface, in place of the one that they left
    /// by.
    ///
    /// # Errors
    /// An interface that isn't there (−2); an address that isn't one host's (−7); a plugin that is
    /// switched off.
    pub fn add(&self, world: &World, address: IpAddr, sw_if: SwIfIndex) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        if address.is_multicast() || address.is_unspecified() {
            let why = wire::not_one_host(address);
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        if self.all().is_empty() {
            punt_ports(world)?;
        }
        let is_first = !self.has(address.is_ipv6());
        let index = {
            let all = self.all();
            let known = all.get(&address).map(|rule| rule.index);
            let is_free = |index: &u32| !all.values().any(|rule| rule.index == *index);
            known.or_else(|| (0..).find(is_free)).unwrap_or_default()
        };
        self.all().insert(address, Rule { index, address, sw_if });
        self.publish(world);
        if is_first { enable_all(world, address.is_ipv6(), true) } else { Ok(()) }
    }

    /// Lets punted packets to an address take their usual path again.
    ///
    /// # Errors
    /// An address without a rule (−6).
    pub fn delete(&self, world: &World, address: IpAddr) -> Result<()> {
        let gone = self.all().remove(&address);
        if gone.is_none() {
            let why = format!("there is no rule for {address}");
            return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
        }
        self.publish(world);
        let v6 = address.is_ipv6();
        if self.has(v6) { Ok(()) } else { enable_all(world, v6, false) }
    }
}

/// The ports without a listener that the first rule punts.
pub const PUNTED: [Key; 4] = [
    Key::Udp { v6: false, port: None },
    Key::Tcp { v6: false, port: None },
    Key::Udp { v6: true, port: None },
    Key::Tcp { v6: true, port: None },
];

/// Punts all UDP and TCP ports without a listener, where nothing else takes them.
fn punt_ports(world: &World) -> Result<()> {
    for key in PUNTED {
        match punt::control::add(world, key, Destination::Punt) {
            // A client takes them.
            Err(e) if e.is(retval::VALUE_EXIST) => {}
            done => done?,
        }
    }
    Ok(())
}

fn enable_all(world: &World, v6: bool, on: bool) -> Result<()> {
    let all = world.get::<Interfaces>().list();
    all.into_iter().try_for_each(|interface| enable(world, interface.sw_if, v6, on))
}

fn enable(world: &World, sw_if: SwIfIndex, v6: bool, on: bool) -> Result<()> {
    let (arc, node) = (filled("{ip}-punt", v6), filled("stn-{ip}-punt", v6));
    world.set_feature(&arc, &node, sw_if, on).map_err(Error::failed)
}
