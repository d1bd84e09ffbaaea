// SPDX-License-Identifier: Apache-2.0
//! MAC addresses: entries of operators, flushing, aging.

use crate::bitmaps::not_bridged;
use crate::bridge::{Bridge, Control};
use crate::mode::Mode;
use crate::state::{BVI, FILTER, PROVISIONED, STATIC, age, generation, is_learned};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::Interfaces;
use tables::mac::{MacEntry, MacKey, MacWalk};
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
    /// True if it never moves.
    pub is_static: bool,
    /// True if frames from and to it are dropped.
    pub is_filter: bool,
    /// True for the BVI's address.
    pub is_bvi: bool,
    /// True if an operator made it.
    pub is_provisioned: bool,
}

impl Bridge {
    /// Sets an entry. Returns whether there was room.
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
    /// Domain 0 (−121); a domain that isn't there (−6); an interface that isn't there, or isn't
    /// bridged (−2); the zero address, or a BVI's entry for an interface that isn't one (−7);
    /// no room (−162).
    pub fn add_entry(&self, world: &World, mac: MacAddr, id: u32, new: NewEntry) -> Result<()> {
        let index = self.control().domain(id)?.index;
        if mac.is_zero() {
            return Err(
                Error::parse("the zero address is no station's").retval(retval::INVALID_VALUE)
            );
        }
        let entry = match new {
            NewEntry::Filter => {
                MacEntry { flags: FILTER | STATIC | PROVISIONED, ..MacEntry::default() }
            }
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
            return Err(
                Error::limit("no room for more MAC addresses").retval(retval::LIMIT_EXCEEDED)
            );
        }
        self.control().provisioned.insert((id, mac));
        world.note_config_change();
        Ok(())
    }

    /// Deletes an entry, learned or not: of any port, if none is given.
    ///
    /// # Errors
    /// Domain 0 (−121); a domain or an entry that isn't there (−6).
    pub fn delete_entry(
        &self,
        world: &World,
        mac: MacAddr,
        id: u32,
        of: Option<SwIfIndex>,
    ) -> Result<()> {
        let index = self.control().domain(id)?.index;
        let key = MacKey::new(mac.octets(), index);
        let is_it =
            |entry: &MacEntry| of.is_none_or(|of| of.0 == entry.port && entry.flags & FILTER == 0);
        if self.macs.get(key).filter(is_it).is_none() {
            return Err(Error::not_found(format!("bridge domain {id} has no entry of {mac}"))
                .retval(retval::NO_SUCH_ENTRY));
        }
        self.remove_entry(key);
        self.control().provisioned.remove(&(id, mac));
        world.note_config_change();
        Ok(())
    }

    /// Removes an entry, if it is there.
    pub(crate) fn remove_entry(&self, key: MacKey) {
        if let Some(entry) = self.macs.remove(key) {
            self.uncount(key, entry);
        }
    }

    /// Removes the operators' entries for which `which` is true.
    pub(crate) fn remove_provisioned(&self, which: impl Fn(u32, MacEntry) -> bool) {
        for (id, mac) in self.provisioned() {
            let Some(index) = self.control().index(id) else { continue };
            let key = MacKey::new(mac.octets(), index);
            // The entry is a learned one if its station has moved since.
            let is_it = |entry: &MacEntry| !is_learned(*entry) && which(id, *entry);
            if self.macs.get(key).filter(is_it).is_some() {
                self.remove_entry(key);
                self.control().provisioned.remove(&(id, mac));
            }
        }
    }

    /// Removes all entries, including those of operators and of BVIs.
    pub fn clear_entries(&self, world: &World) {
        self.flush_all(world);
        self.remove_provisioned(|_, _| true);
        let bvis: Vec<MacKey> = {
            let control = self.control();
            let domains = control.domains.values();
            domains.filter_map(|d| Some(MacKey::new(d.bvi_mac?.octets(), d.index))).collect()
        };
        bvis.into_iter().for_each(|key| self.remove_entry(key));
        self.control().provisioned.clear();
        world.note_config_change();
    }

    /// Forgets the addresses learned on an interface.
    pub fn flush_interface(&self, world: &World, sw_if: SwIfIndex) {
        let mut control = self.control();
        control.flush_port(sw_if);
        if control.modes.contains_key(&sw_if) {
            self.publish_port(world, &control, sw_if);
        }
        drop(control);
        self.sweep_soon();
    }

    /// Forgets the addresses learned in a domain.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6).
    pub fn flush_domain(&self, world: &World, id: u32) -> Result<()> {
        let mut control = self.control();
        let index = control.domain(id)?.index;
        control.flush_index(index);
        self.publish_domain(world, &control, id);
        drop(control);
        self.sweep_soon();
        Ok(())
    }

    /// Forgets all learned addresses.
    pub fn flush_all(&self, world: &World) {
        for id in self.domain_ids() {
            // A domain can't go between: this is the control thread.
            let _ = self.flush_domain(world, id);
        }
    }

    /// Has stale entries removed by the ager. A generation number has 8 bits: before it can come
    /// round to the value of a stale entry, the whole table is swept at once.
    pub(crate) fn sweep_soon(&self) {
        const MOST: u64 = 200;
        let control = self.control();
        let (flushes, pending) = (control.flushes, control.flushes - control.swept);
        drop(control);
        if pending < MOST {
            return self.ager.raise();
        }
        (0..).take_while(|piece| self.sweep_piece(*piece, 0)).for_each(drop);
        self.control().swept = flushes;
    }

    /// Removes stale and old entries of a piece of the table. Returns `false` if there is no piece
    /// with this number or a higher one.
    pub(crate) fn sweep_piece(&self, piece: usize, now: u64) -> bool {
        let control = self.control();
        let keep = |key, entry| !control.is_stale(key, entry, now);
        self.macs.retain_piece(piece, keep, |key, entry| self.uncount(key, entry))
    }

    /// A walk over all entries, for [`Self::entries`].
    pub fn walk(&self) -> MacWalk {
        MacWalk::new(&self.macs)
    }

    /// The entries of the next part of a walk. `None` at its end.
    pub fn entries(&self, walk: &mut MacWalk, now: u64) -> Option<Vec<FibEntry>> {
        let control = self.control();
        let mut all = Vec::new();
        let goes_on = walk.step(&self.macs, |key, entry| {
            if let Some(Some(id)) = control.ids.get(usize::from(key.domain()))
                && !control.is_stale(key, entry, now)
            {
                all.push(fib_entry(*id, key, entry, now));
            }
        });
        goes_on.then_some(all)
    }

    /// The entry of an address.
    pub fn entry(&self, id: u32, mac: MacAddr, now: u64) -> Option<FibEntry> {
        let control = self.control();
        let key = MacKey::new(mac.octets(), control.index(id)?);
        let entry = self.macs.get(key).filter(|entry| !control.is_stale(key, *entry, now))?;
        Some(fib_entry(id, key, entry, now))
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

impl Control {
    /// Returns true if a learned entry was flushed, or is too old at the time `now` (ns); at 0 the
    /// age isn't checked.
    pub fn is_stale(&self, key: MacKey, entry: MacEntry, now: u64) -> bool {
        let index = key.domain();
        let id = self.ids.get(usize::from(index)).copied().flatten();
        let domain = id.and_then(|id| self.domains.get(&id)).filter(|domain| domain.index == index);
        let Some(domain) = domain else { return is_learned(entry) };
        let current =
            generation(self.domain_generation(index), self.port_generation(SwIfIndex(entry.port)));
        let limit = u64::from(domain.config.mac_age) * MINUTE;
        let is_old = limit != 0 && now != 0 && age(entry, now) >= limit;
        is_learned(entry) && (entry.generation != current || is_old)
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
