// SPDX-License-Identifier: Apache-2.0
//! Entries as workers read them.

use super::{EntryFlags, Group, ItfFlags};
use crate::{AdjIndex, TableIndex};
use graph::{Shared, World};
use stats::Combined;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{GraceTicket, Qsbr, Slots, Turn};

/// Index of an entry: small and dense over the tables of both protocols; 0 is none. It is the index
/// into `/net/mroute`; the binary API calls it `stats_index`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct MrouteIndex(pub u32);

/// An interface that an entry names.
pub struct MrouteInterface {
    /// Its index.
    pub sw_if: u32,
    /// Its flags.
    pub flags: ItfFlags,
    /// True while a report is pending.
    pub(super) waiting: Arc<AtomicBool>,
}

impl MrouteInterface {
    /// Claims the interface for a report: returns true if none is pending, and marks one as
    /// pending.
    #[inline(always)]
    pub(super) fn claim(&self) -> bool {
        !self.waiting.swap(true, Ordering::AcqRel)
    }
}

/// An output of an entry: packets are replicated to each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MrouteOutput {
    /// The adjacency of the packets.
    pub adj: AdjIndex,
    /// The interface that they leave by; `u32::MAX` for local delivery.
    pub tx_if: u32,
}

impl MrouteOutput {
    /// Returns true for local delivery.
    #[inline(always)]
    pub const fn is_local(self) -> bool {
        self.tx_if == u32::MAX
    }
}

/// An entry.
pub struct Mroute {
    /// Its flags.
    pub flags: EntryFlags,
    /// Its table.
    pub table: TableIndex,
    /// Its group and sender.
    pub group: Group<IpAddr>,
    /// The interfaces that it names, by index.
    pub interfaces: Box<[MrouteInterface]>,
    /// Stands for all interfaces that it doesn't name.
    pub(super) others: MrouteInterface,
    /// One output for each link or neighbour, and one for local delivery.
    pub outputs: Box<[MrouteOutput]>,
}

impl Mroute {
    /// The entry's state of an interface, if it names it.
    #[inline(always)]
    pub fn interface(&self, sw_if: u32) -> Option<&MrouteInterface> {
        let at = self.interfaces.binary_search_by_key(&sw_if, |i| i.sw_if).ok()?;
        self.interfaces.get(at)
    }
}

/// The entries of all tables of both protocols, and their counters.
pub struct Mroutes {
    slots: Slots<Mroute>,
    /// `/net/mroute`: packets and bytes that were accepted.
    pub counters: Arc<Combined>,
    numbers: Mutex<Numbers>,
}

impl Shared for Mroutes {
    fn make(world: &World) -> Self {
        Self {
            slots: Slots::new(world.qsbr.clone()),
            counters: world.stats.combined("/net/mroute"),
            numbers: Mutex::default(),
        }
    }
}

impl Mroutes {
    /// The entry that a lookup found, unless it was removed meanwhile.
    #[inline(always)]
    pub fn get<'t>(&'t self, index: MrouteIndex, turn: &'t Turn<'_>) -> Option<&'t Mroute> {
        self.slots.get(index.0, turn)
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().expect("no panic inside")
    }

    /// Allocates an index for a new entry, with counters at zero.
    pub(super) fn allocate(&self) -> MrouteIndex {
        let index = MrouteIndex(self.numbers().take());
        self.counters.start(index.0 as usize);
        index
    }

    pub(super) fn set(&self, index: MrouteIndex, route: Mroute) {
        self.slots.set(index.0, route);
    }

    /// Removes an entry that lookups don't find any more.
    pub(super) fn free(&self, index: MrouteIndex) {
        self.slots.clear(index.0);
        self.numbers().give(index.0, self.slots.domain());
    }
}

/// Allocates numbers from 1 on. A released number is reused when no packet can name it any more.
#[derive(Default)]
pub(super) struct Numbers {
    end: u32,
    cooling: VecDeque<(GraceTicket, u32)>,
}

impl Numbers {
    pub fn take(&mut self) -> u32 {
        match self.cooling.pop_front_if(|(ticket, _)| ticket.is_over()) {
            Some((_, number)) => number,
            None => {
                self.end += 1;
                self.end
            }
        }
    }

    pub fn give(&mut self, number: u32, domain: &Arc<Qsbr>) {
        self.cooling.push_back((domain.grace(), number));
    }
}
