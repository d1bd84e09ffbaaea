// SPDX-License-Identifier: Apache-2.0
//! The neighbours of one address family: who is there, since when, what is due. No side effects.

use super::{Evidence, Learned, Neighbor, NeighborConfig, NeighborState, Refusal};
use graph::SwIfIndex;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use wire::MacAddr;

const SECOND: u64 = 1_000_000_000;
/// A probe is answered within this, or counts as unanswered.
const PROBE_INTERVAL: u64 = SECOND;
/// After which a neighbour that was only heard of is asked, if packets were sent to it (RFC 4861 10).
pub(super) const DELAY: u64 = 5 * SECOND;
/// Unanswered probes after which a neighbour is gone.
pub(super) const PROBES: u8 = 3;
/// How long an answer to a question is welcome.
const ASKED_FOR: u64 = 5 * SECOND;
/// Open questions at most; the oldest one makes room.
const ASKED_MAX: usize = 16_384;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key {
    pub sw_if: SwIfIndex,
    pub ip: IpAddr,
}

impl Neighbor {
    pub(super) fn key(&self) -> Key {
        Key { sw_if: self.sw_if, ip: self.ip }
    }
}

/// One time for each key, and the keys in the order of their times.
#[derive(Default)]
struct Times {
    of: HashMap<Key, u64>,
    order: BTreeSet<(u64, Key)>,
}

impl Times {
    fn set(&mut self, key: Key, time: u64) {
        if let Some(old) = self.of.insert(key, time) {
            self.order.remove(&(old, key));
        }
        self.order.insert((time, key));
    }

    fn remove(&mut self, key: Key) -> Option<u64> {
        let time = self.of.remove(&key)?;
        self.order.remove(&(time, key));
        Some(time)
    }

    fn first(&self) -> Option<(u64, Key)> {
        self.order.first().copied()
    }

    fn len(&self) -> usize {
        self.of.len()
    }

    fn contains(&self, key: Key) -> bool {
        self.of.contains_key(&key)
    }
}

/// What ageing wants to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Ask it whether it is still there.
    Probe(Neighbor),
    /// It has not answered, and is no longer in the table.
    Lost(Neighbor),
}

#[derive(Default)]
pub(super) struct Table {
    config: NeighborConfig,
    entries: HashMap<Key, Neighbor>,
    /// Dynamic entries by their last confirmation.
    confirmed: Times,
    /// Dynamic entries by when they want to be looked at.
    due: Times,
    /// Open questions by when they end.
    asked: Times,
    /// Next hops that haven't answered, by when they are asked again.
    silent: Times,
}

impl Table {
    pub fn config(&self) -> NeighborConfig {
        self.config
    }

    pub fn configure(&mut self, config: NeighborConfig) {
        self.config = config;
        let all: Vec<Neighbor> = self.entries.values().copied().collect();
        for n in all {
            self.plan(&n, n.updated);
        }
    }

    pub fn get(&self, key: Key) -> Option<Neighbor> {
        self.entries.get(&key).copied()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Neighbor> {
        self.entries.values()
    }

    /// When [`Self::take_due`] has something to do.
    pub fn next_due(&self) -> Option<u64> {
        [&self.due, &self.silent].into_iter().filter_map(|times| times.first()).map(|(time, _)| time).min()
    }

    /// Notes that a next hop hasn't answered; false if that is known, or nobody wants to know.
    pub fn note_silent(&mut self, key: Key, now: u64) -> bool {
        let new = self.config.retry > 0 && !self.silent.contains(key);
        if new {
            self.silent.set(key, now + u64::from(self.config.retry) * SECOND);
        }
        new
    }

    /// It is silent no more, or nobody wants to know; false if it wasn't.
    pub fn note_answer(&mut self, key: Key) -> bool {
        self.silent.remove(key).is_some()
    }

    /// It has been heard, but not in answer to us: it is asked now.
    pub fn hurry(&mut self, key: Key, now: u64) {
        if self.silent.contains(key) {
            self.silent.set(key, now);
        }
    }

    /// The silent ones that `which` chooses.
    pub fn silent(&self, which: impl Fn(Key) -> bool) -> Vec<Key> {
        self.silent.of.keys().copied().filter(|key| which(*key)).collect()
    }

    /// Takes at most `max` silent next hops that are to be asked now. Their answers will be welcome.
    pub fn take_silent(&mut self, now: u64, max: usize) -> Vec<Key> {
        let mut all = Vec::new();
        while all.len() < max
            && let Some((time, key)) = self.silent.first()
            && time <= now
        {
            self.silent.set(key, now + u64::from(self.config.retry.max(1)) * SECOND);
            self.ask(key, now);
            all.push(key);
        }
        all
    }

    /// Notes that somebody was asked for.
    pub fn ask(&mut self, key: Key, now: u64) {
        while let Some((until, old)) = self.asked.first() {
            if until > now && self.asked.len() < ASKED_MAX {
                break;
            }
            self.asked.remove(old);
        }
        self.asked.set(key, now + ASKED_FOR);
    }

    /// Adds or replaces an entry. Gives what had to go for it.
    pub fn set(&mut self, new: Neighbor) -> Result<Option<Neighbor>, Refusal> {
        let key = new.key();
        let gone = if self.entries.contains_key(&key) { None } else { self.make_room()? };
        self.put(new, new.updated);
        Ok(gone)
    }

    /// What was seen on the wire.
    pub fn learn(&mut self, key: Key, mac: MacAddr, evidence: Evidence, now: u64) -> Learned {
        let asked = self.asked.remove(key).is_some_and(|until| until > now);
        let Some(old) = self.get(key) else {
            if let Some(refusal) = evidence.refusal().filter(|_| !asked) {
                return Learned::Refused(refusal);
            }
            let gone = match self.make_room() {
                Ok(gone) => gone,
                Err(refusal) => return Learned::Refused(refusal),
            };
            let new = Neighbor { updated: now, ..Neighbor::new(key.sw_if, key.ip, mac) };
            self.put(evidence.applied(new, false, mac, now), now);
            return Learned::Added { gone };
        };
        if old.is_static {
            return Learned::Refused(Refusal::Static);
        }
        let new = evidence.applied(old, true, mac, now);
        if (new.state, new.updated, new.mac) == (old.state, old.updated, old.mac) {
            // What is due for it stays due.
            self.entries.insert(key, new);
        } else {
            self.put(new, now);
        }
        match () {
            () if new.mac != mac => Learned::Refused(Refusal::Kept),
            () if new.mac != old.mac => Learned::Moved { from: old.mac },
            () => Learned::Confirmed { asked },
        }
    }

    pub fn remove(&mut self, key: Key) -> Option<Neighbor> {
        self.confirmed.remove(key);
        self.due.remove(key);
        self.entries.remove(&key)
    }

    /// Removes what `gone` chooses, in order of interface and address.
    pub fn remove_if(&mut self, gone: impl Fn(&Neighbor) -> bool) -> Vec<Neighbor> {
        let mut keys: Vec<Key> = self.entries.values().filter(|n| gone(n)).map(Neighbor::key).collect();
        keys.sort_unstable();
        keys.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    /// Takes at most `max` entries whose time has come. `used` says whether packets went to the neighbour since it was asked last.
    pub fn take_due(&mut self, now: u64, max: usize, mut used: impl FnMut(&Neighbor) -> bool) -> Vec<Due> {
        let (mut all, mut looked) = (Vec::new(), 0);
        while looked < max
            && let Some((time, key)) = self.due.first()
            && time <= now
        {
            looked += 1;
            let Some(n) = self.get(key) else {
                self.due.remove(key);
                continue;
            };
            let probes = match n.state {
                NeighborState::Probing(sent) => sent,
                NeighborState::Reachable | NeighborState::Stale if self.is_old(&n, now) || used(&n) => 0,
                NeighborState::Reachable | NeighborState::Stale => {
                    self.plan(&n, now);
                    continue;
                }
            };
            if probes >= PROBES {
                self.remove(key);
                all.push(Due::Lost(n));
                continue;
            }
            let n = Neighbor { state: NeighborState::Probing(probes + 1), ..n };
            self.entries.insert(key, n);
            self.due.set(key, now + PROBE_INTERVAL);
            all.push(Due::Probe(n));
        }
        all
    }

    fn is_old(&self, n: &Neighbor, now: u64) -> bool {
        self.config.age > 0 && now >= n.updated + u64::from(self.config.age) * SECOND
    }

    fn make_room(&mut self) -> Result<Option<Neighbor>, Refusal> {
        if self.entries.len() < self.config.limit as usize {
            return Ok(None);
        }
        let oldest = self.confirmed.first().filter(|_| self.config.recycle).ok_or(Refusal::Full)?;
        Ok(self.remove(oldest.1))
    }

    fn put(&mut self, n: Neighbor, now: u64) {
        let key = n.key();
        self.entries.insert(key, n);
        self.asked.remove(key);
        if n.is_static {
            self.confirmed.remove(key);
            self.due.remove(key);
        } else {
            self.confirmed.set(key, n.updated);
            match n.state {
                NeighborState::Stale => self.due.set(key, now + DELAY),
                _ => self.plan(&n, n.updated),
            }
        }
    }

    /// Says when the entry wants to be looked at; `checked` is when that was done last.
    fn plan(&mut self, n: &Neighbor, checked: u64) {
        if n.is_static || matches!(n.state, NeighborState::Probing(_)) {
            return;
        }
        let after = |from: u64, seconds: u32| (seconds > 0).then(|| from + u64::from(seconds) * SECOND);
        let times = [after(n.updated, self.config.age), after(checked, self.config.confirm)];
        match times.into_iter().flatten().min() {
            Some(time) => self.due.set(n.key(), time),
            None => drop(self.due.remove(n.key())),
        }
    }
}
