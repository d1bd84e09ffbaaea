// SPDX-License-Identifier: Apache-2.0
//! Sessions and routes (RFC 5882 3, 4): the next hops over which paths aren't used.
//!
//! A session of one hop watches the adjacency of its peer, which is unusable until the session is
//! up. One of several hops watches the peer as next hop of recursive paths, usable until the
//! session goes down.

use crate::home::SessionKey;
use crate::packet::State;
use graph::World;
use net::{Interfaces, NextHop, NextHops};
use std::collections::{BTreeMap, BTreeSet};

/// The watcher's name.
const BY: &str = "bfd";

/// Next hops, and whether they have become unusable.
pub type Changes = Vec<(NextHop, bool)>;

#[derive(Default)]
pub struct Paths {
    /// The next hops that a session watches.
    watched: BTreeMap<u32, Vec<NextHop>>,
    /// The sessions by which a next hop is unusable: there may be several with one peer.
    unusable: BTreeMap<NextHop, BTreeSet<u32>>,
}

impl Paths {
    /// A session begins to watch.
    pub fn begin(&mut self, world: &World, session: u32, key: &SessionKey) -> Changes {
        let hops = match key.sw_if {
            None => vec![NextHop::host(key.peer)],
            Some(sw_if) => {
                let mut hops = vec![NextHop { sw_if, ip: key.peer }];
                // Routes over such an interface need name no next hop.
                if world.get::<Interfaces>().is_point_to_point(sw_if) {
                    hops.push(NextHop::only_peer(sw_if, key.peer.is_ipv6()));
                }
                hops
            }
        };
        self.watched.insert(session, hops);
        if key.is_multihop() { Changes::new() } else { self.set(session, true) }
    }

    /// The state of a session has changed.
    pub fn note(&mut self, session: u32, state: State) -> Changes {
        let Some(hops) = self.watched.get(&session) else { return Changes::new() };
        let multihop = hops.iter().any(|hop| *hop == NextHop::host(hop.ip));
        match state {
            State::Up => self.set(session, false),
            // No change: the next hop is usable if the session is new, unusable if it went down.
            State::Init if multihop => Changes::new(),
            _ => self.set(session, true),
        }
    }

    /// A session has ended.
    pub fn end(&mut self, session: u32) -> Changes {
        let changes = self.set(session, false);
        self.watched.remove(&session);
        changes
    }

    fn set(&mut self, session: u32, unusable: bool) -> Changes {
        let mut changes = Changes::new();
        for hop in self.watched.get(&session).into_iter().flatten() {
            let by = self.unusable.entry(*hop).or_default();
            let before = by.is_empty();
            if unusable {
                by.insert(session);
            } else {
                by.remove(&session);
            }
            if before != by.is_empty() {
                changes.push((*hop, unusable));
            }
            if by.is_empty() {
                self.unusable.remove(hop);
            }
        }
        changes
    }

    /// Moves the traffic of routes.
    pub fn report(world: &World, changes: &Changes) {
        // The last change of a next hop counts.
        let last: BTreeMap<_, _> = changes.iter().copied().collect();
        for unusable in [true, false] {
            let of = |(hop, is): (&NextHop, &bool)| (*is == unusable).then_some(*hop);
            let hops: Vec<NextHop> = last.iter().filter_map(of).collect();
            if !hops.is_empty() {
                world.get::<NextHops>().set_unusable(world, &hops, BY, unusable);
            }
        }
    }
}
