// SPDX-License-Identifier: Apache-2.0
//! Unresolved next hops. New ones are solicited at once, before packets need them. Silent ones,
//! which didn't answer, are down: routes avoid them while another path is usable, and they are
//! solicited again periodically.

use super::model::Key;
use super::{AT_ONCE, Neighbor, NeighborState, Neighbors};
use crate::{Fib, NextHop};
use graph::{SwIfIndex, World};
use std::net::IpAddr;
use wire::{Ip4, Ip6, MacAddr};

/// Maximum number of new next hops queued for solicitation; further ones are solicited when packets
/// need them.
const FRESH_MAX: usize = 1024;
/// New next hops solicited at a time: loading a table of routes sends at most 3,200 solicitations
/// per second.
const FRESH_AT_ONCE: usize = 32;

/// The name of this watcher in [`NextHops`](crate::NextHops).
const BY: &str = "neighbor";

impl From<Key> for NextHop {
    fn from(Key { sw_if, ip }: Key) -> Self {
        Self { sw_if, ip }
    }
}

pub(super) fn is_nexthop(world: &World, key: Key) -> bool {
    let hop = NextHop::from(key);
    // Routes of either protocol may lead over it (RFC 8950).
    world.get::<Fib<Ip4>>().leads_by(hop) || world.get::<Fib<Ip6>>().leads_by(hop)
}

impl Neighbors {
    /// Records that a neighbour didn't answer any of the solicitations sent to it.
    pub fn unanswered(&self, world: &World, sw_if: SwIfIndex, ip: IpAddr) {
        // It may have been learned meanwhile.
        if self.get(sw_if, ip).is_none() && self.interfaces.is_up(sw_if) {
            self.note_silent(world, &[Key { sw_if, ip }]);
            self.reschedule(ip.is_ipv6());
        }
    }

    /// Reports the next hops among these neighbours as down.
    pub(super) fn note_silent(&self, world: &World, keys: &[Key]) {
        let now = world.clock.now();
        let new = |key: &&Key| {
            is_nexthop(world, **key) && self.table(key.ip.is_ipv6()).note_silent(**key, now)
        };
        let hops: Vec<NextHop> = keys.iter().filter(new).map(|key| NextHop::from(*key)).collect();
        self.nexthops.set(world, &hops, BY, false);
    }

    /// Reports a changed neighbour as up if it was silent and is reachable now; if it is not
    /// confirmed, it is solicited now.
    pub(super) fn answered(&self, world: &World, n: Neighbor) {
        let (key, mut table) = (n.key(), self.table(n.ip.is_ipv6()));
        if n.state != NeighborState::Reachable {
            table.hurry(key, world.clock.now());
        } else if table.note_answer(key) {
            drop(table);
            self.nexthops.set(world, &[key.into()], BY, true);
        }
    }

    /// Forgets the silent next hops that `which` selects: they are up again.
    pub(super) fn forgive(&self, world: &World, which: impl Fn(Key) -> bool) {
        for ip6 in [false, true] {
            let all = self.table(ip6).silent(&which);
            self.forget_silent(world, &all);
        }
    }

    fn forget_silent(&self, world: &World, keys: &[Key]) {
        let was_silent = |key: &&Key| self.table(key.ip.is_ipv6()).note_answer(**key);
        let hops: Vec<NextHop> =
            keys.iter().filter(was_silent).map(|key| NextHop::from(*key)).collect();
        self.nexthops.set(world, &hops, BY, true);
    }

    /// Queues a new next hop to be solicited once, as in VPP, unless it is a known neighbour.
    pub(crate) fn note_fresh(&self, sw_if: SwIfIndex, ip: IpAddr) {
        if self.get(sw_if, ip).is_some() {
            return;
        }
        let side = self.side(ip.is_ipv6());
        let mut fresh = side.fresh.lock().expect("no panic inside");
        if fresh.len() < FRESH_MAX {
            fresh.push_back(Key { sw_if, ip });
            side.signal.raise();
        }
    }

    /// Forgets the queued new next hops on an interface that has come up. VPP solicits a next hop
    /// when its route is added; if the interface is down then, it never does.
    pub(super) fn forget_fresh(&self, sw_if: SwIfIndex) {
        for side in &self.families {
            side.fresh.lock().expect("no panic inside").retain(|key| key.sw_if != sw_if);
        }
    }

    /// Adds the queued new next hops that can be solicited now, if they are still in use and
    /// unknown; returns true if more are queued.
    pub(super) fn take_fresh(&self, world: &World, ip6: bool, probes: &mut Vec<Neighbor>) -> bool {
        let (keys, more): (Vec<Key>, bool) = {
            let mut fresh = self.side(ip6).fresh.lock().expect("no panic inside");
            let some = fresh.len().min(FRESH_AT_ONCE);
            (fresh.drain(..some).collect(), !fresh.is_empty())
        };
        for Key { sw_if, ip } in keys {
            let is_wanted = !self.adjacencies.find_neighbors(sw_if, ip).is_empty();
            if is_wanted && self.get(sw_if, ip).is_none() && self.interfaces.is_up(sw_if) {
                self.note_solicitation(world, sw_if, ip);
                probes.push(Neighbor::new(sw_if, ip, MacAddr::BROADCAST));
            }
        }
        more
    }

    /// Takes the silent next hops that are to be solicited now, by broadcast. A neighbour that is
    /// no longer a next hop is forgotten.
    pub(super) fn seek(&self, world: &World, ip6: bool) -> Vec<Neighbor> {
        if self.config(ip6).retry == 0 {
            self.forgive(world, |key| key.ip.is_ipv6() == ip6);
            return Vec::new();
        }
        let due = self.table(ip6).take_silent(world.clock.now(), AT_ONCE);
        let (mut due, gone): (Vec<Key>, Vec<Key>) =
            due.into_iter().partition(|key| is_nexthop(world, *key));
        self.forget_silent(world, &gone);
        due.sort_unstable();
        due.into_iter().map(|key| Neighbor::new(key.sw_if, key.ip, MacAddr::BROADCAST)).collect()
    }
}
