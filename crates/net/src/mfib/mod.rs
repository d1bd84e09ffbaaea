// SPDX-License-Identifier: Apache-2.0
//! Multicast route tables.
//!
//! Each route table has a multicast table of the same index and id: [`Fib`](crate::Fib) makes and
//! deletes both. An entry is for `(S, G)`, `(*, G)` or `(*, G/len)`, found in this order. Several
//! sources may set an entry; the best one's part is in force.
//!
//! **For workers**, a table maps groups to the entry for all senders ([`tables::Leaf::hop`]) and to
//! a list of single senders ([`tables::Leaf::route`]), if there is one. So a lookup is that of a
//! route, and for groups with senders a search in their sorted list. Tables without entries of
//! their own share one lookup table: that of the groups which every router listens to.
//!
//! An entry that workers see is replaced as a whole ([`Mroutes`]); its index is used again after a
//! grace period.

mod control;
mod flags;
mod group;
mod model;
mod mroutes;
mod signal;
mod table;
#[cfg(feature = "tests")]
mod tests;

pub use flags::{EntryFlags, ItfFlags};
pub use group::{Group, from};
pub use model::{Change, Mpath, MpathKind, MrouteInfo, MrouteSource};
pub use mroutes::{Mroute, MrouteIndex, MrouteInterface, MrouteOutput, Mroutes};
pub use signal::{SIGNAL_BYTES, Signal, Signals};
pub use table::NO_RPF_ID;

use crate::{AdjIndex, Adjacencies, IfEvent, Interfaces, Net, TableIndex};
use control::Inner;
use graph::{Deleted, Shared, SwIfIndex, World};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use tables::{Forest, Leaf, Lpm};

/// [`Leaf::route`] of a group without single senders; that of other groups is this much above the
/// number of their sender list.
const NO_SENDERS: u32 = 1;

/// The single senders of a group, sorted, each with its entry.
type Senders<F> = Box<[(<F as wire::Family>::Addr, MrouteIndex)]>;

/// The multicast route tables of one protocol.
pub struct Mfib<F: Net> {
    /// The tables with entries of their own.
    tables: Slots<Arc<Lpm<F::Key>>>,
    /// The table that all others share.
    defaults: Arc<Lpm<F::Key>>,
    senders: Slots<Senders<F>>,
    forest: Arc<Forest>,
    inner: Mutex<Inner<F>>,
    mroutes: Arc<Mroutes>,
    adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
}

impl<F: Net> Shared for Mfib<F> {
    fn make(world: &World) -> Self {
        let space = "address space for routes (is `ulimit -v' set?)";
        let forest = Forest::new(world.qsbr.clone()).expect(space);
        let this = Self {
            tables: Slots::new(world.qsbr.clone()),
            defaults: Arc::new(Lpm::new(&forest).expect(space)),
            senders: Slots::new(world.qsbr.clone()),
            forest,
            inner: Mutex::default(),
            mroutes: world.get(),
            adjacencies: world.get(),
            interfaces: world.get(),
        };
        this.make_defaults();
        this.interfaces.subscribe(|world, event| {
            if let IfEvent::Admin(sw_if, _) | IfEvent::Link(sw_if, _) = event {
                world.get::<Self>().update_interface(world, sw_if, false);
            }
        });
        this
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.update_interface(world, *sw_if, true);
        }
    }
}

impl<F: Net> Mfib<F> {
    /// The lookup table for groups, for workers and [`Self::choose`]. A table that isn't there has
    /// no entries of its own.
    #[inline(always)]
    pub fn table<'t>(&'t self, index: TableIndex, turn: &'t Turn<'_>) -> &'t Lpm<F::Key> {
        self.tables.get(index.0, turn).unwrap_or(&self.defaults)
    }

    /// Selects the entry for packets from a sender, given the leaf that the lookup of the group
    /// found.
    #[inline(always)]
    pub fn choose(&self, leaf: Leaf, source: F::Addr, turn: &Turn<'_>) -> Option<MrouteIndex> {
        if leaf.route > NO_SENDERS
            && let Some(senders) = self.senders.get(leaf.route - NO_SENDERS, turn)
            && let Ok(at) = senders.binary_search_by_key(&source, |(sender, _)| *sender)
        {
            return senders.get(at).map(|(_, entry)| *entry);
        }
        (leaf.hop != 0).then_some(MrouteIndex(leaf.hop))
    }

    /// The best entry for packets from a sender to a group.
    #[inline(always)]
    pub fn find(
        &self,
        table: TableIndex,
        group: F::Addr,
        source: F::Addr,
        turn: &Turn<'_>,
    ) -> Option<MrouteIndex> {
        self.choose(self.table(table, turn).lookup(F::key(group), turn), source, turn)
    }

    fn inner(&self) -> MutexGuard<'_, Inner<F>> {
        self.inner.lock().expect("no panic inside")
    }
}

/// The output for local delivery, for entries of this protocol.
fn local<F: Net>() -> MrouteOutput {
    MrouteOutput { adj: AdjIndex::RECEIVE.for_link(F::LINK), tx_if: u32::MAX }
}
