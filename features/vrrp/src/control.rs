// SPDX-License-Identifier: Apache-2.0
//! All virtual routers: their control state, and the operations on them.

use crate::check;
use crate::counters::Counters;
use crate::machine::State;
use crate::model::{VrConfig, VrInfo, VrKey};
use crate::table::{Table, Vr};
use crate::view::{AddressView, LinkView, RouterView};
use cli::{Error, Result};
use graph::{Deleted, Shared, Signal, SwIfIndex, World};
use msg::retval;
use net::Interfaces;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use sync::{Slots, Turn};

/// All virtual routers.
pub struct Vrrp {
    table: Mutex<Table>,
    links: Slots<LinkView>,
    pub counters: Counters,
    pub signal: Signal,
}

impl Shared for Vrrp {
    fn make(world: &World) -> Self {
        Self {
            table: Mutex::default(),
            links: Slots::new(world.qsbr.clone()),
            counters: Counters::new(world),
            signal: world.processes.signal(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(sw_if) = deleted.of::<SwIfIndex>() else { return };
        let gone: Vec<_> = self.table().of(*sw_if).map(|vr| vr.config.key).collect();
        for key in gone {
            // The interface is down by now, so nothing is sent.
            if let Some(index) = self.find(key) {
                self.end(world, index);
                self.take(world, index);
            }
        }
        self.links.clear(sw_if.0);
        let tracking: Vec<_> = {
            let mut table = self.table();
            let all = table.routers.iter_mut();
            let tracking = all.filter_map(|(index, vr)| vr.tracked.remove(sw_if).map(|_| *index));
            tracking.collect()
        };
        self.refresh(world, tracking);
    }
}

/// Error for a virtual router that isn't there.
pub fn unknown(world: &World, key: VrKey) -> Error {
    let name = world.get::<Interfaces>().name(key.sw_if);
    let version = key.version();
    Error::not_found(format!("{name} has no IPv{version} virtual router {}", key.id))
        .retval(retval::NO_SUCH_ENTRY)
}

impl Vrrp {
    pub fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no panic inside")
    }

    /// The virtual routers of an interface, for workers.
    #[inline(always)]
    pub fn link<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t LinkView> {
        self.links.get(sw_if, turn)
    }

    /// Wakes control, which reads the queues of advertisements.
    pub fn notify(&self) {
        self.signal.raise();
    }

    /// The index of a virtual router.
    pub fn find(&self, key: VrKey) -> Option<u32> {
        self.table().names.get(&key).copied()
    }

    /// A virtual router, by index.
    pub fn get(&self, world: &World, index: u32) -> Option<VrInfo> {
        self.table().routers.get(&index).map(|vr| vr.info(world, index))
    }

    /// The indices of all virtual routers.
    pub fn indices(&self) -> Vec<u32> {
        self.table().routers.keys().copied().collect()
    }

    fn existing(&self, world: &World, key: VrKey) -> Result<u32> {
        self.find(key).ok_or_else(|| unknown(world, key))
    }

    /// Adds a virtual router, which isn't started yet. Returns its index.
    ///
    /// # Errors
    /// One that is there (−116); those of [`check::config`].
    pub fn add(&self, world: &World, config: VrConfig) -> Result<u32> {
        if self.find(config.key).is_some() {
            let text = format!("virtual router {} exists already", config.key.id);
            return Err(Error::failed(text).retval(retval::ENTRY_ALREADY_EXISTS));
        }
        check::config(world, &self.table(), &config, None)?;
        let index = {
            let mut table = self.table();
            let index = (0..).find(|index| !table.routers.contains_key(index)).unwrap_or(u32::MAX);
            table.names.insert(config.key, index);
            table.routers.insert(index, Vr::new(world, config.clone()));
            index
        };
        self.counters.start(index);
        self.publish(world, config.key.sw_if);
        world.note_config_change();
        Ok(index)
    }

    /// Changes the settings and addresses of a virtual router. A running one goes on with them in
    /// the state that it is in.
    ///
    /// # Errors
    /// No such index (−6); another interface, version or number (−73); one that runs without peers
    /// and becomes unicast (−144); those of [`check::config`].
    pub fn update(&self, world: &World, index: u32, config: VrConfig) -> Result<()> {
        let Some(old) = self.get(world, index) else {
            let text = format!("there is no virtual router of index {index}");
            return Err(Error::not_found(text).retval(retval::NO_SUCH_ENTRY));
        };
        if old.config.key != config.key {
            let text = "a virtual router keeps its interface, IP version and number";
            return Err(Error::parse(text).retval(retval::INVALID_ARGUMENT));
        }
        check::config(world, &self.table(), &config, Some(index))?;
        if old.started {
            check::peers_to_run(&config, &old.peers)?;
        }
        // A master gives its old addresses back, and assumes and announces the new ones.
        self.withdraw(world, index);
        if let Some(vr) = self.table().routers.get_mut(&index) {
            if !config.is_unicast() {
                vr.peers.clear();
            }
            vr.config = config;
            let settings = vr.settings(world);
            vr.machine.set_settings(world.clock.now(), settings);
        }
        self.publish(world, old.config.key.sw_if);
        self.advance(world, index);
        self.signal.raise();
        world.note_config_change();
        Ok(())
    }

    /// Removes a virtual router by name. One that runs is stopped first.
    ///
    /// # Errors
    /// One that isn't there (−6).
    pub fn remove(&self, world: &World, key: VrKey) -> Result<()> {
        let index = self.existing(world, key)?;
        self.remove_index(world, index)
    }

    /// Removes a virtual router by index. One that runs is stopped first.
    ///
    /// # Errors
    /// One that isn't there (−6).
    pub fn remove_index(&self, world: &World, index: u32) -> Result<()> {
        self.end(world, index);
        if !self.take(world, index) {
            let text = format!("there is no virtual router of index {index}");
            return Err(Error::not_found(text).retval(retval::NO_SUCH_ENTRY));
        }
        world.note_config_change();
        Ok(())
    }

    /// Takes a stopped virtual router out of the table; false if there is none.
    fn take(&self, world: &World, index: u32) -> bool {
        let removed = {
            let mut table = self.table();
            let removed = table.routers.remove(&index);
            removed.iter().for_each(|vr| _ = table.names.remove(&vr.config.key));
            removed
        };
        let Some(vr) = removed else { return false };
        self.publish(world, vr.config.key.sw_if);
        true
    }

    /// Starts or stops a virtual router; no change if it is so already.
    ///
    /// # Errors
    /// One that isn't there (−6); one that is unicast and has no peers (−144).
    pub fn set_started(&self, world: &World, key: VrKey, on: bool) -> Result<()> {
        let index = self.existing(world, key)?;
        if !on {
            self.end(world, index);
            world.note_config_change();
            return Ok(());
        }
        let effects = {
            let mut table = self.table();
            let Some(vr) = table.routers.get_mut(&index) else { return Err(unknown(world, key)) };
            check::peers_to_run(&vr.config, &vr.peers)?;
            vr.started = true;
            let settings = vr.settings(world);
            vr.machine.set_settings(world.clock.now(), settings);
            vr.machine.start(world.clock.now(), check::is_ready(world, key))
        };
        self.apply(world, index, effects);
        self.signal.raise();
        world.note_config_change();
        Ok(())
    }

    /// Stops a virtual router.
    fn end(&self, world: &World, index: u32) {
        let effects = self.table().routers.get_mut(&index).map(|vr| {
            vr.started = false;
            vr.machine.stop()
        });
        self.apply(world, index, effects.unwrap_or_default());
    }

    /// Sets the other routers to which a unicast one sends. None takes them back, which only
    /// commands do.
    ///
    /// # Errors
    /// One that isn't there (−6), isn't unicast (−73) or runs (−155); addresses of the other
    /// version, or of no station (−73).
    pub fn set_peers(&self, world: &World, key: VrKey, peers: &[IpAddr]) -> Result<()> {
        let index = self.existing(world, key)?;
        let mut table = self.table();
        let Some(vr) = table.routers.get_mut(&index) else { return Err(unknown(world, key)) };
        check::peers(vr, peers)?;
        vr.peers = peers.to_vec();
        world.note_config_change();
        Ok(())
    }

    /// Adds interfaces that a virtual router tracks, each with the amount by which the priority
    /// falls while the interface is down; or removes them.
    ///
    /// # Errors
    /// One that isn't there (−6); a tracked interface that isn't there, or is its own (−10); an
    /// amount of 0 (−7); one to be removed that isn't tracked (−6).
    pub fn track(
        &self,
        world: &World,
        key: VrKey,
        add: bool,
        interfaces: &[(SwIfIndex, u8)],
    ) -> Result<()> {
        let index = self.existing(world, key)?;
        {
            let mut table = self.table();
            let Some(vr) = table.routers.get_mut(&index) else { return Err(unknown(world, key)) };
            check::tracked(world, vr, add, interfaces)?;
            for (sw_if, by) in interfaces {
                match add {
                    true => _ = vr.tracked.insert(*sw_if, *by),
                    false => _ = vr.tracked.remove(sw_if),
                }
            }
        }
        self.refresh(world, vec![index]);
        world.note_config_change();
        Ok(())
    }

    /// Publishes the virtual routers of an interface to workers, and enables the features that
    /// they need there.
    pub fn publish(&self, world: &World, sw_if: SwIfIndex) {
        let (view, needs) = {
            let table = self.table();
            let routers: Box<[_]> = table.of(sw_if).map(router_view).collect();
            let mut addresses: Vec<_> =
                table.of(sw_if).flat_map(|vr| address_views(world, vr)).collect();
            addresses.sort_by_key(|address| address.ip);
            let needs = [false, true].map(|v6| {
                let all = || table.of(sw_if).filter(|vr| vr.started && vr.config.key.v6 == v6);
                (all().next().is_some(), all().any(|vr| vr.config.settings.accept_mode))
            });
            (LinkView { routers, addresses: addresses.into() }, needs)
        };
        match view.routers.is_empty() {
            true => _ = self.links.clear(sw_if.0),
            false => self.links.set(sw_if.0, view),
        }
        for ((answers, accepts), [answer, accept]) in needs.into_iter().zip(FEATURES) {
            for ((arc, node), on) in [(answer, answers), (accept, accepts)] {
                // Fails only for an interface that is going.
                _ = world.set_feature(arc, node, sw_if, on);
            }
        }
    }
}

/// Features that answer requests for addresses, and that let an owner's advertisements in, of both
/// versions.
const FEATURES: [[(&str, &str); 2]; 2] = [
    [("arp", "vrrp4-arp-input"), ("ip4-multicast", "vrrp4-accept-owner-input")],
    [("ip6-local", "vrrp6-nd-input"), ("ip6-multicast", "vrrp6-accept-owner-input")],
];

fn router_view(vr: &Vr) -> RouterView {
    let VrKey { v6, id, .. } = vr.config.key;
    RouterView {
        name: (v6, id),
        count: vr.config.addresses.len() as u8,
        received: vr.received.clone(),
    }
}

fn address_views(world: &World, vr: &Vr) -> Vec<AddressView> {
    let mac = match vr.machine.state() {
        State::Init | State::InterfaceDown => return Vec::new(),
        State::Backup => None,
        State::Master => Some(vr.mac(world)),
    };
    vr.config.addresses.iter().map(|ip| AddressView { ip: *ip, mac }).collect()
}
