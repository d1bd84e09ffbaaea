// SPDX-License-Identifier: Apache-2.0
//! The neighbour table of one address family: entries, their times, and due actions. No side
//! effects.

use super::model::Key;
use super::shares::{Rank, Shares, Times};
use super::{Evidence, LearnResult, Neighbor, NeighborConfig, NeighborState, Refusal};
use graph::SwIfIndex;
use std::collections::HashMap;
use wire::MacAddr;

const SECOND: u64 = 1_000_000_000;
/// Time within which a probe has to be answered, in nanoseconds.
const PROBE_INTERVAL: u64 = SECOND;
/// Time after which a stale neighbour is probed, if packets were sent to it (RFC 4861 10), in
/// nanoseconds.
pub(super) const DELAY: u64 = 5 * SECOND;
/// Number of unanswered probes after which a neighbour is removed.
pub(super) const PROBES: u8 = 3;
/// Time during which an answer to a solicitation is accepted, in nanoseconds.
const ASKED_FOR: u64 = 5 * SECOND;
/// Maximum number of pending solicitations; the oldest one of the interface with most is displaced.
pub(super) const ASKED_MAX: usize = 16_384;
/// Maximum number of entries examined to find one to displace.
pub(super) const LOOKS: usize = 256;

/// A due action of ageing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The neighbour has to be probed.
    Probe(Neighbor),
    /// The neighbour has not answered, and was removed from the table.
    Lost(Neighbor),
    /// No packet was ever sent to the neighbour, and it was removed from the table by age.
    Aged(Neighbor),
}

/// Usage of a neighbour, which the table checks before it displaces the entry.
#[derive(Clone, Copy)]
pub(super) struct Usage<'a> {
    /// Returns true if a packet was ever sent to the neighbour.
    pub sent: &'a dyn Fn(&Neighbor) -> bool,
    /// Returns true if routes lead over the neighbour.
    pub leads: &'a dyn Fn(&Neighbor) -> bool,
}

/// The reason for a new entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Claim {
    /// The neighbour sent an unsolicited message.
    Heard,
    /// The neighbour answers our own solicitation, or is configured.
    ResultKind,
}

#[derive(Default)]
pub(super) struct Table {
    config: NeighborConfig,
    entries: HashMap<Key, Neighbor>,
    /// Dynamic entries by their last confirmation.
    dynamic: Shares,
    /// Dynamic entries by the time of their next check.
    due: Times,
    /// Pending solicitations by the time when they expire.
    asked: Shares,
    /// Next hops that haven't answered, by the time of their next solicitation.
    silent: Times,
}

impl Table {
    pub fn new(config: NeighborConfig) -> Self {
        Self { config, ..Self::default() }
    }

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

    /// The interface with most dynamic entries, and their number.
    pub fn fullest(&self) -> Option<(SwIfIndex, usize)> {
        self.dynamic.largest().map(|sw_if| (sw_if, self.dynamic.held(sw_if)))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Neighbor> {
        self.entries.values()
    }

    /// The time when [`Self::take_due`] or [`Self::take_silent`] has something to do.
    pub fn next_due(&self) -> Option<u64> {
        [&self.due, &self.silent]
            .into_iter()
            .filter_map(|times| times.first())
            .map(|(time, _)| time)
            .min()
    }

    /// Records that a next hop hasn't answered; returns false if that is known, or silent next hops
    /// aren't tracked (`retry` 0).
    pub fn note_silent(&mut self, key: Key, now: u64) -> bool {
        let new = self.config.retry > 0 && !self.silent.contains(key);
        if new {
            self.silent.set(key, now + u64::from(self.config.retry) * SECOND);
        }
        new
    }

    /// Forgets a silent next hop; returns false if it wasn't silent.
    pub fn note_answer(&mut self, key: Key) -> bool {
        self.silent.remove(key).is_some()
    }

    /// Makes a silent next hop due for solicitation now: it has sent a message, but no answer to
    /// us.
    pub fn hurry(&mut self, key: Key, now: u64) {
        if self.silent.contains(key) {
            self.silent.set(key, now);
        }
    }

    /// The silent next hops that `which` selects.
    pub fn silent(&self, which: impl Fn(Key) -> bool) -> Vec<Key> {
        self.silent.keys().filter(|key| which(*key)).collect()
    }

    /// Takes at most `max` silent next hops that are to be solicited now. Their answers will be
    /// accepted.
    pub fn take_silent(&mut self, now: u64, max: usize) -> Vec<Key> {
        let mut all = Vec::new();
        while all.len() < max
            && let Some((time, key)) = self.silent.first()
            && time <= now
        {
            self.silent.set(key, now + u64::from(self.config.retry.max(1)) * SECOND);
            self.note_solicitation(key, now);
            all.push(key);
        }
        all
    }

    /// Records a pending solicitation of a neighbour.
    pub fn note_solicitation(&mut self, key: Key, now: u64) {
        while let Some((until, old)) = self.asked.first(key.sw_if, Rank::Idle)
            && until <= now
        {
            self.asked.remove(old);
        }
        while self.asked.len() >= ASKED_MAX
            && let Some(sw_if) = self.asked.largest()
            && let Some((_, old)) = self.asked.first(sw_if, Rank::Idle)
        {
            self.asked.remove(old);
        }
        self.asked.set(key, Rank::Idle, now + ASKED_FOR);
    }

    /// Forgets the pending solicitations on an interface: answers aren't accepted any more.
    pub fn forget_asked(&mut self, sw_if: SwIfIndex) {
        self.asked.forget(sw_if);
    }

    /// Adds or replaces a configured entry. Returns the entry that it displaced.
    pub fn set(&mut self, new: Neighbor, usage: Usage<'_>) -> Result<Option<Neighbor>, Refusal> {
        let key = new.key();
        let known = self.entries.contains_key(&key);
        let gone = if known { None } else { self.make_room(key, Claim::ResultKind, usage)? };
        self.put(new, Rank::Used, new.updated);
        Ok(gone)
    }

    /// Learns from a received message.
    pub fn learn(
        &mut self,
        key: Key,
        mac: MacAddr,
        evidence: Evidence,
        now: u64,
        usage: Usage<'_>,
    ) -> LearnResult {
        let asked = self.asked.remove(key).is_some_and(|until| until > now);
        let Some(old) = self.get(key) else {
            if let Some(refusal) = evidence.refusal().filter(|_| !asked) {
                return LearnResult::Refused(refusal);
            }
            let (claim, rank) =
                if asked { (Claim::ResultKind, Rank::Used) } else { (Claim::Heard, Rank::Idle) };
            let gone = match self.make_room(key, claim, usage) {
                Ok(gone) => gone,
                Err(refusal) => return LearnResult::Refused(refusal),
            };
            let answers = asked && evidence.is_answer();
            let new = Neighbor { updated: now, answers, ..Neighbor::new(key.sw_if, key.ip, mac) };
            self.put(evidence.applied(new, false, mac, now), rank, now);
            return LearnResult::Added { gone };
        };
        if old.is_static {
            return LearnResult::Refused(Refusal::Static);
        }
        let mut new = evidence.applied(old, true, mac, now);
        let expected = asked || matches!(old.state, NeighborState::Probing(_));
        new.answers |= expected && evidence.is_answer() && new.mac == mac;
        if (new.state, new.updated, new.mac) == (old.state, old.updated, old.mac) {
            // Its due time stays.
            self.entries.insert(key, new);
        } else {
            let rank = if asked { Rank::Used } else { self.rank(key) };
            self.put(new, rank, now);
        }
        match () {
            () if new.mac != mac => LearnResult::Refused(Refusal::Kept),
            () if new.mac != old.mac => LearnResult::Moved { from: old.mac },
            () => LearnResult::Confirmed { asked },
        }
    }

    pub fn remove(&mut self, key: Key) -> Option<Neighbor> {
        self.dynamic.remove(key);
        self.due.remove(key);
        self.entries.remove(&key)
    }

    /// Removes the entries that `gone` selects, in order of interface and address.
    pub fn remove_if(&mut self, gone: impl Fn(&Neighbor) -> bool) -> Vec<Neighbor> {
        let mut keys: Vec<Key> =
            self.entries.values().filter(|n| gone(n)).map(Neighbor::key).collect();
        keys.sort_unstable();
        keys.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    /// Takes at most `max` due entries. `used` returns true if packets were sent to the neighbour
    /// since its last check, `leads` if routes lead over it.
    pub fn take_due(
        &mut self,
        now: u64,
        max: usize,
        mut used: impl FnMut(&Neighbor) -> bool,
        leads: impl Fn(&Neighbor) -> bool,
    ) -> Vec<Due> {
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
                NeighborState::Reachable | NeighborState::Stale | NeighborState::Quiet => {
                    let (used, old) = (used(&n), self.is_old(&n, now));
                    if used {
                        self.dynamic.set(key, Rank::Used, n.updated);
                    } else if old && self.rank(key) == Rank::Idle && !leads(&n) {
                        // No traffic needs it (RFC 4861 7.3.3).
                        self.remove(key);
                        all.push(Due::Aged(n));
                        continue;
                    } else if !old {
                        self.plan(&n, now);
                        continue;
                    }
                    0
                }
            };
            if probes >= PROBES && !n.answers && !self.is_old(&n, now) {
                let n = Neighbor { state: NeighborState::Quiet, ..n };
                self.entries.insert(key, n);
                self.plan(&n, now);
                continue;
            }
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

    fn rank(&self, key: Key) -> Rank {
        self.dynamic.rank(key).unwrap_or(Rank::Idle)
    }

    /// Makes room for a new entry; returns the entry that was displaced, if one was.
    fn make_room(
        &mut self,
        new: Key,
        claim: Claim,
        usage: Usage<'_>,
    ) -> Result<Option<Neighbor>, Refusal> {
        if self.entries.len() < self.config.limit as usize {
            return Ok(None);
        }
        let victim = self.victim(new, claim, usage).ok_or(Refusal::Full)?;
        Ok(self.remove(victim))
    }

    /// Selects the entry to displace: of the interface with most entries, the oldest to which no
    /// packet was ever sent, else the oldest. An unsolicited neighbour displaces others only if
    /// its interface has fewer entries, or if entries are recycled.
    fn victim(&mut self, new: Key, claim: Claim, usage: Usage<'_>) -> Option<Key> {
        let largest = self.dynamic.largest()?;
        let below = self.dynamic.held(largest) > self.dynamic.held(new.sw_if) + 1;
        let entitled = claim == Claim::ResultKind || self.config.recycle;
        if !entitled && !below {
            return None;
        }
        if let Some(idle) = self.idle(largest, usage) {
            return Some(idle);
        }
        if !entitled {
            return None;
        }
        if !below && let Some(idle) = self.idle(new.sw_if, usage) {
            return Some(idle);
        }
        let used = || self.dynamic.oldest(largest, Rank::Used);
        let spared = |key: &Key| self.get(*key).is_some_and(|n| (usage.leads)(&n));
        used().take(LOOKS).find(|key| !spared(key)).or_else(|| used().next())
    }

    /// An interface's oldest entry to which no packet was ever sent and over which no route leads.
    fn idle(&mut self, sw_if: SwIfIndex, usage: Usage<'_>) -> Option<Key> {
        for _ in 0..LOOKS {
            let (updated, key) = self.dynamic.first(sw_if, Rank::Idle)?;
            let n = self.get(key)?;
            if !(usage.sent)(&n) && !(usage.leads)(&n) {
                return Some(key);
            }
            self.dynamic.set(key, Rank::Used, updated);
        }
        None
    }

    fn put(&mut self, n: Neighbor, rank: Rank, now: u64) {
        let key = n.key();
        let known = self.entries.insert(key, n).is_some();
        self.asked.remove(key);
        if n.is_static {
            self.dynamic.remove(key);
            self.due.remove(key);
        } else {
            self.dynamic.set(key, rank, n.updated);
            match n.state {
                // Another station may have taken the IP address.
                NeighborState::Stale if known => self.due.set(key, now + DELAY),
                _ => self.plan(&n, n.updated),
            }
        }
    }

    /// Schedules the next check of an entry; `checked` is the time of the last one.
    fn plan(&mut self, n: &Neighbor, checked: u64) {
        if n.is_static || matches!(n.state, NeighborState::Probing(_)) {
            return;
        }
        let after =
            |from: u64, seconds: u32| (seconds > 0).then(|| from + u64::from(seconds) * SECOND);
        let confirm = if n.state == NeighborState::Quiet { 0 } else { self.config.confirm };
        let times = [after(n.updated, self.config.age), after(checked, confirm)];
        match times.into_iter().flatten().min() {
            Some(time) => self.due.set(n.key(), time),
            None => drop(self.due.remove(n.key())),
        }
    }
}
