// SPDX-License-Identifier: Apache-2.0
//! Next hops that nothing is known of: those that are new are asked at once, before packets come for them. Those that don't answer:
//! routes do without them while they can, and they are asked again from time to time.

use super::table::Key;
use super::{AT_ONCE, Neighbor, NeighborState, Neighbors};
use crate::{Fib, NextHop};
use graph::{SwIfIndex, World};
use std::net::IpAddr;
use wire::{Ip4, Ip6, MacAddr};

/// New next hops that are remembered until they are asked for; packets ask for further ones.
const FRESH_MAX: usize = 1024;
/// New next hops that are asked for in one go: a table of routes that is loaded sends 3,200 questions a second at most.
const FRESH_AT_ONCE: usize = 32;

/// As [`NextHops`](crate::NextHops) names who says it.
const BY: &str = "neighbor";

impl From<Key> for NextHop {
    fn from(Key { sw_if, ip }: Key) -> Self {
        Self { sw_if, ip }
    }
}

pub(super) fn is_nexthop(world: &World, key: Key) -> bool {
    let hop = NextHop::from(key);
    // Routes of either protocol may go by it (RFC 8950).
    world.get::<Fib<Ip4>>().leads_by(hop) || world.get::<Fib<Ip6>>().leads_by(hop)
}

impl Neighbors {
    /// Notes that a neighbour was asked for, as often as is usual, and didn't answer.
    pub fn unanswered(&self, world: &World, sw_if: SwIfIndex, ip: IpAddr) {
        // He may have been heard meanwhile.
        if self.get(sw_if, ip).is_none() && self.interfaces.is_up(sw_if) {
            self.note_silent(world, &[Key { sw_if, ip }]);
            self.reschedule(ip.is_ipv6());
        }
    }

    /// Those of them that are next hops are down from now on.
    pub(super) fn note_silent(&self, world: &World, keys: &[Key]) {
        let now = world.clock.now();
        let new =
            |key: &&Key| is_nexthop(world, **key) && self.table(key.ip.is_ipv6()).note_silent(**key, now);
        let hops: Vec<NextHop> = keys.iter().filter(new).map(|key| NextHop::from(*key)).collect();
        self.nexthops.set(world, &hops, BY, false);
    }

    /// What is known of a neighbour has changed: he may be one who is silent no more.
    pub(super) fn answered(&self, world: &World, n: Neighbor) {
        let (key, mut table) = (n.key(), self.table(n.ip.is_ipv6()));
        if n.state != NeighborState::Reachable {
            table.hurry(key, world.clock.now());
        } else if table.note_answer(key) {
            drop(table);
            self.nexthops.set(world, &[key.into()], BY, true);
        }
    }

    /// Nothing bad is known any more of those that `which` chooses.
    pub(super) fn forgive(&self, world: &World, which: impl Fn(Key) -> bool) {
        for ip6 in [false, true] {
            let all = self.table(ip6).silent(&which);
            self.forget_silent(world, &all);
        }
    }

    fn forget_silent(&self, world: &World, keys: &[Key]) {
        let was_silent = |key: &&Key| self.table(key.ip.is_ipv6()).note_answer(**key);
        let hops: Vec<NextHop> = keys.iter().filter(was_silent).map(|key| NextHop::from(*key)).collect();
        self.nexthops.set(world, &hops, BY, true);
    }

    /// A next hop is there of which nothing may be known yet: it is asked for once, as in VPP.
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

    /// Adds those of them that can be asked now, if they are still there and unknown; true if more are left.
    pub(super) fn take_fresh(&self, world: &World, ip6: bool, probes: &mut Vec<Neighbor>) -> bool {
        let (keys, more): (Vec<Key>, bool) = {
            let mut fresh = self.side(ip6).fresh.lock().expect("no panic inside");
            let some = fresh.len().min(FRESH_AT_ONCE);
            (fresh.drain(..some).collect(), !fresh.is_empty())
        };
        for Key { sw_if, ip } in keys {
            let is_wanted = !self.adjacencies.find_neighbors(sw_if, ip).is_empty();
            if is_wanted && self.get(sw_if, ip).is_none() && self.interfaces.is_up(sw_if) {
                self.ask(world, sw_if, ip);
                probes.push(Neighbor::new(sw_if, ip, MacAddr::BROADCAST));
            }
        }
        more
    }

    /// The silent ones that are to be asked now, wherever they may be. Who is no next hop any more isn't asked.
    pub(super) fn seek(&self, world: &World, ip6: bool) -> Vec<Neighbor> {
        if self.config(ip6).retry == 0 {
            self.forgive(world, |key| key.ip.is_ipv6() == ip6);
            return Vec::new();
        }
        let due = self.table(ip6).take_silent(world.clock.now(), AT_ONCE);
        let (mut due, gone): (Vec<Key>, Vec<Key>) = due.into_iter().partition(|key| is_nexthop(world, *key));
        self.forget_silent(world, &gone);
        due.sort_unstable();
        due.into_iter().map(|key| Neighbor::new(key.sw_if, key.ip, MacAddr::BROADCAST)).collect()
    }
}
