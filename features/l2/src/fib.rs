// SPDX-License-Identifier: Apache-2.0
//! MAC addresses: entries of operators, flushing, aging.

use crate::bridge::Bridge;
use crate::mode::{Mode, not_bridged};
use crate::state::{BVI, FILTER, PROVISIONED, STATIC, age, generation, is_learned};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::Interfaces;
use std::collections::HashMap;
use tables::mac::{MacEntry, MacKey};
use wire::MacAddr;

/// Nanoseconds of a second, and of a minute.
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

/// An entry that an operator makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewEntry {
    /// The address is at this port.
    Port {
        /// The port, a member of the domain or of another one.
        sw_if: SwIfIndex,
        /// Frames from the address on other ports are dropped.
        is_static: bool,
        /// The port is the BVI, and receives the address's frames.
        is_bvi: bool,
    },
    /// Frames from and to the address are dropped.
    Filter,
}

/// An entry, as it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FibEntry {
    /// The domain's id.
    pub id: u32,
    /// The domain's index.
    pub index: u16,
    /// The address.
    pub mac: MacAddr,
    /// The port; nothing for a filter entry.
    pub sw_if: Option<SwIfIndex>,
    /// Generation numbers of domain and port.
    pub generation: u16,
    /// Seconds since it was used last. Nothing for an entry that doesn't age.
    pub age: Option<u64>,
    /// It never moves.
    pub is_static: bool,
    /// It drops.
    pub is_filter: bool,
    /// It is the BVI's.
    pub is_bvi: bool,
    /// An operator made it.
    pub is_provisioned: bool,
}

impl Bridge {
    /// Removes entries, and counts learned ones as gone.
    pub(crate) fn remove_entries(&self, mut which: impl FnMut(MacKey, MacEntry) -> bool) {
        if !self.macs.is_empty() {
            self.macs.retain(|key, entry| !which(key, entry), |key, entry| self.uncount(key, entry));
        }
    }

    /// Sets an entry of control's; says whether there was room.
    pub(crate) fn set_entry(&self, key: MacKey, entry: MacEntry) -> bool {
        let set = self.macs.set(key, entry);
        if let Ok(Some(old)) = set {
            self.uncount(key, old);
        }
        set.is_ok()
    }

    /// Adds an entry, or overwrites the one that is there.
    ///
    /// # Errors
    /// Domain 0 (−121); a domain that isn't there (−6); an interface that isn't there, or isn't bridged (−2); the zero address, or a BVI's
    /// entry for an interface that isn't one (−7); no room (−162).
    pub fn add_entry(&self, world: &World, mac: MacAddr, id: u32, new: NewEntry) -> Result<()> {
        let index = self.control().domain(id)?.index;
        if mac.is_zero() {
            return Err(Error::parse("the zero address is no station's").retval(retval::INVALID_VALUE));
        }
        let entry = match new {
            NewEntry::Filter => MacEntry { flags: FILTER | STATIC | PROVISIONED, ..MacEntry::default() },
            NewEntry::Port { sw_if, is_static, is_bvi } => {
                world.get::<Interfaces>().check(sw_if)?;
                let Some(Mode::Bridge { .. }) = self.mode(sw_if) else {
                    return Err(not_bridged(world, sw_if));
                };
                if is_bvi && self.control().domain(id)?.bvi != Some(sw_if) {
                    let name = world.get::<Interfaces>().name(sw_if);
                    let why = format!("{name} isn't the BVI of bridge domain {id}");
                    return Err(Error::failed(why).retval(retval::INVALID_VALUE));
                }
                let is_static = if is_static || is_bvi { STATIC } else { 0 };
                let flags = PROVISIONED | is_static | if is_bvi { BVI } else { 0 };
                MacEntry { port: sw_if.0, flags, ..MacEntry::default() }
            }
        };
        if !self.set_entry(MacKey::new(mac.octets(), index), entry) {
            return Err(Error::limit("no room for more MAC addresses").retval(retval::LIMIT_EXCEEDED));
        }
        self.control().provisioned.insert((id, mac));
        world.note_config_change();
        Ok(())
    }

    /// Deletes an entry, learned or not: of any port, if none is given.
    ///
    /// # Errors
    /// Domain 0 (−121); a domain or an entry that isn't there (−6).
    pub fn delete_entry(&self, world: &World, mac: MacAddr, id: u32, of: Option<SwIfIndex>) -> Result<()> {
        let index = self.control().domain(id)?.index;
        let key = MacKey::new(mac.octets(), index);
        let is_it = |entry: &MacEntry| of.is_none_or(|of| of.0 == entry.port && entry.flags & FILTER == 0);
        if self.macs.get(key).filter(is_it).is_none() {
            return Err(Error::not_found(format!("bridge domain {id} has no entry of {mac}"))
                .retval(retval::NO_SUCH_ENTRY));
        }
        if let Some(entry) = self.macs.remove(key) {
            self.uncount(key, entry);
        }
        self.control().provisioned.remove(&(id, mac));
        world.note_config_change();
        Ok(())
    }

    /// Forgets all entries, also those of operators and of BVIs.
    pub fn clear_entries(&self, world: &World) {
        self.remove_entries(|_, _| true);
        self.control().provisioned.clear();
        world.note_config_change();
    }

    /// Forgets what was learned on an interface.
    pub fn flush_interface(&self, sw_if: SwIfIndex) {
        let mut control = self.control();
        control.flush_port(sw_if);
        if control.modes.contains_key(&sw_if) {
            self.publish_port(&control, sw_if);
        }
        drop(control);
        self.remove_entries(|_, entry| is_learned(entry) && entry.port == sw_if.0);
    }

    /// Forgets what was learned in a domain.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6).
    pub fn flush_domain(&self, world: &World, id: u32) -> Result<()> {
        let mut control = self.control();
        let index = control.domain(id)?.index;
        if let Some(generation) = control.domain_generations.get_mut(usize::from(index)) {
            *generation = generation.wrapping_add(1);
        }
        self.publish_domain(world, &control, id);
        drop(control);
        self.remove_entries(|key, entry| is_learned(entry) && key.domain() == index);
        Ok(())
    }

    /// Forgets all that was learned.
    pub fn flush_all(&self, world: &World) {
        for id in self.domain_ids() {
            // A domain can't go between: this is the control thread.
            let _ = self.flush_domain(world, id);
        }
    }

    /// Removes learned entries that are too old, and those that a flush missed because a worker was learning them.
    pub(crate) fn scan(&self, now: u64) {
        let control = self.control();
        let domains: HashMap<u16, (u64, u8)> = control
            .domains
            .values()
            .map(|domain| {
                let limit = u64::from(domain.config.mac_age) * MINUTE;
                (domain.index, (limit, control.domain_generation(domain.index)))
            })
            .collect();
        let ports = control.port_generations.clone();
        drop(control);
        self.remove_entries(|key, entry| {
            let Some((limit, of_domain)) = domains.get(&key.domain()) else { return is_learned(entry) };
            let of_port = ports.get(&entry.port).copied().unwrap_or_default();
            let is_old = *limit != 0 && age(entry, now) >= *limit;
            is_learned(entry) && (is_old || entry.generation != generation(*of_domain, of_port))
        });
    }

    /// The entries of a piece of the table, numbered from 0. Nothing behind the last piece.
    pub fn entries(&self, piece: usize, now: u64) -> Option<Vec<FibEntry>> {
        let control = self.control();
        let mut all = Vec::new();
        let is_there = self.macs.piece(piece, |key, entry| {
            if let Some(Some(id)) = control.ids.get(usize::from(key.domain())) {
                all.push(fib_entry(*id, key, entry, now));
            }
        });
        is_there.then_some(all)
    }

    /// The entry of an address.
    pub fn entry(&self, id: u32, mac: MacAddr, now: u64) -> Option<FibEntry> {
        let index = self.control().index(id)?;
        let key = MacKey::new(mac.octets(), index);
        self.macs.get(key).map(|entry| fib_entry(id, key, entry, now))
    }

    /// Entries that operators made, by domain and address.
    pub fn provisioned(&self) -> Vec<(u32, MacAddr)> {
        self.control().provisioned.iter().copied().collect()
    }

    /// Number of entries.
    pub fn entry_count(&self) -> usize {
        self.macs.len()
    }
}

fn fib_entry(id: u32, key: MacKey, entry: MacEntry, now: u64) -> FibEntry {
    let has = |flag| entry.flags & flag != 0;
    FibEntry {
        id,
        index: key.domain(),
        mac: MacAddr(key.mac()),
        sw_if: (!has(FILTER)).then_some(SwIfIndex(entry.port)),
        generation: entry.generation,
        age: is_learned(entry).then(|| age(entry, now) / SECOND),
        is_static: has(STATIC),
        is_filter: has(FILTER),
        is_bvi: has(BVI),
        is_provisioned: has(PROVISIONED),
    }
}
