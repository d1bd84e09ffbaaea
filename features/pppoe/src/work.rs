// SPDX-License-Identifier: Apache-2.0
//! Sessions as workers read them.

use crate::clients::hash;
use graph::{Shared, World};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use sync::{Slots, Turn};
use tables::HashIndex;
use wire::MacAddr;

/// A session as workers read it.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The session identifier.
    pub session: u16,
    /// The client's MAC address.
    pub mac: MacAddr,
    /// The interface that the client is at.
    pub encap: u32,
    /// Its interface.
    pub sw_if: u32,
    /// The number in the interface's name.
    pub instance: u32,
}

/// All sessions.
pub struct WorkTable {
    /// By client and session identifier.
    index: HashIndex,
    /// By interface.
    slots: Slots<Work>,
    /// Secret: clients can't choose addresses that collide.
    seed: u64,
}

impl Shared for WorkTable {
    fn make(world: &World) -> Self {
        Self {
            index: HashIndex::new(&world.qsbr),
            slots: Slots::new(world.qsbr.clone()),
            seed: RandomState::new().hash_one("pppoe sessions"),
        }
    }
}

impl WorkTable {
    /// The session of a packet from a client.
    #[inline(always)]
    pub fn find<'t>(&'t self, mac: MacAddr, session: u16, turn: &'t Turn<'_>) -> Option<&'t Work> {
        self.index.find(hash(mac, session, self.seed), turn, |number| {
            self.slots
                .get(number, turn)
                .filter(|there| there.mac == mac && there.session == session)
        })
    }

    /// The session of an interface.
    #[inline(always)]
    pub fn of(&self, sw_if: u32, turn: &Turn<'_>) -> Option<Work> {
        self.slots.get(sw_if, turn).copied()
    }

    /// Adds a session.
    pub fn add(&self, work: Work) {
        self.slots.set(work.sw_if, work);
        self.index.insert(hash(work.mac, work.session, self.seed), work.sw_if);
    }

    /// Removes the session of a client and an interface.
    pub fn remove(&self, mac: MacAddr, session: u16, sw_if: u32) {
        self.index.remove(hash(mac, session, self.seed), sw_if);
        self.slots.clear(sw_if);
    }
}
