// SPDX-License-Identifier: Apache-2.0
//! Path MTUs to hosts or over next hops, where they are less than the link's MTU (RFC 1191, RFC
//! 8201). The control thread sets them; rewrite nodes apply them.
//!
//! Only packets larger than the least of them are looked up. Path MTUs that routers report for our
//! own packets are kept separately: [`TooBig`].

mod learned;

pub use learned::{LearnedMtu, TooBig};

use crate::{DeletedTable, Fib, Net, TableIndex};
use cli::{Error, Result};
use graph::{Deleted, Shared, World};
use msg::retval;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use sync::{Snapshot, Turn};
use wire::{Address, Family};

/// A table's index, and a host or next hop.
type HostKey<F> = (u32, <F as Family>::Addr);

/// Path MTUs as workers read them.
pub struct KnownMtus<F: Net> {
    mtus: BTreeMap<HostKey<F>, u16>,
    least: usize,
    learned: learned::All<F>,
}

impl<F: Net> KnownMtus<F> {
    fn of(mtus: BTreeMap<HostKey<F>, u16>, learned: learned::All<F>) -> Self {
        let least = mtus.values().min().map_or(usize::MAX, |mtu| usize::from(*mtu));
        Self { mtus, least, learned }
    }

    /// The least path MTU set: a packet of no more bytes fits on every such path.
    #[inline(always)]
    pub fn least(&self) -> usize {
        self.least
    }

    /// The MTU of the path to a host, or over a next hop, in a table.
    pub fn find(&self, table: u32, to: F::Addr) -> Option<u16> {
        self.mtus.get(&(table, to)).copied()
    }

    /// The MTU of the path to a host that a router reported, for packets of our own.
    pub fn learned(&self, table: u32, to: F::Addr) -> Option<u16> {
        self.learned.get(&(table, to)).map(|learned| learned.mtu)
    }
}

/// The path MTUs of one version.
pub struct PathMtus<F: Net> {
    known: Snapshot<KnownMtus<F>>,
    /// Not set again since [`Self::replace_begin`].
    stale: Mutex<BTreeSet<HostKey<F>>>,
    changes: AtomicU64,
}

impl<F: Net> Shared for PathMtus<F> {
    fn make(world: &World) -> Self {
        Self {
            known: Snapshot::new(
                world.qsbr.clone(),
                KnownMtus::of(BTreeMap::new(), BTreeMap::new()),
            ),
            stale: Mutex::default(),
            changes: AtomicU64::new(0),
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(table) = deleted.of::<DeletedTable<F>>() {
            self.forget_table(table.index);
        }
    }
}

impl<F: Net> PathMtus<F> {
    /// Returns the path MTUs, for workers.
    #[inline(always)]
    pub fn known<'t>(&'t self, turn: &'t Turn<'_>) -> &'t KnownMtus<F> {
        self.known.get(turn)
    }

    /// The MTU of the path to a host, set or learned, if one is known.
    pub fn to(&self, TableIndex(table): TableIndex, to: F::Addr) -> Option<u16> {
        self.known.read(|known| known.find(table, to).or_else(|| known.learned(table, to)))
    }

    /// Number of changes so far.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    fn stale(&self) -> MutexGuard<'_, BTreeSet<HostKey<F>>> {
        self.stale.lock().expect("no panic inside")
    }

    /// Sets the MTU of a path, or removes it (0).
    ///
    /// # Errors
    /// A table that isn't there (−3); less than every link carries, or no address of one host (−7);
    /// none to remove (−6).
    #[inline(never)]
    pub fn set(&self, world: &World, table: u32, to: F::Addr, mtu: u16) -> Result<()> {
        let TableIndex(table) = world.get::<Fib<F>>().find_table(table)?;
        let wrong = |why: String| Err(Error::parse(why).retval(retval::INVALID_VALUE));
        if mtu != 0 && mtu < F::MIN_MTU {
            return wrong(format!("a path MTU of {mtu} is too small: at least {}", F::MIN_MTU));
        }
        if to.multicast() || to == F::Addr::ZERO {
            return wrong(wire::not_one_host(to));
        }
        let at = (table, to);
        let is_known =
            |known: &KnownMtus<F>| known.mtus.contains_key(&at) || known.learned.contains_key(&at);
        if mtu == 0 && !self.known.read(is_known) {
            return Err(Error::not_found(format!("no path MTU to {to} was set"))
                .retval(retval::NO_SUCH_ENTRY));
        }
        self.stale().remove(&at);
        self.change(|mtus, learned| {
            learned.remove(&at);
            match mtu {
                0 => mtus.remove(&at),
                mtu => mtus.insert(at, mtu),
            };
        });
        Ok(())
    }

    /// Removes the path MTUs of a table that is gone.
    fn forget_table(&self, TableIndex(table): TableIndex) {
        self.stale().retain(|(of, _)| *of != table);
        let names = |known: &KnownMtus<F>| {
            known.mtus.keys().chain(known.learned.keys()).any(|(of, _)| *of == table)
        };
        if self.known.read(names) {
            self.change(|mtus, learned| {
                mtus.retain(|(of, _), _| *of != table);
                learned.retain(|(of, _), _| *of != table);
            });
        }
    }

    fn change(&self, f: impl FnOnce(&mut BTreeMap<HostKey<F>, u16>, &mut learned::All<F>)) {
        self.known.update(|known| {
            let (mut mtus, mut learned) = (known.mtus.clone(), known.learned.clone());
            f(&mut mtus, &mut learned);
            KnownMtus::of(mtus, learned)
        });
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Learns the path MTUs that routers reported, and removes expired ones; returns when the next
    /// one expires.
    #[inline(never)]
    pub fn learn(&self, told: &[TooBig<F::Addr>], now: u64) -> Option<u64> {
        let next = |known: &KnownMtus<F>| known.learned.values().map(|l| l.until).min();
        if told.is_empty() && self.known.read(next).is_none_or(|next| now < next) {
            return self.known.read(next);
        }
        self.change(|mtus, learned| {
            for one in told.iter().filter(|one| !mtus.contains_key(&(one.table, one.to))) {
                learned::learn::<F>(learned, *one, now);
            }
            learned.retain(|_, l| now < l.until);
        });
        self.known.read(next)
    }

    /// Marks all: [`Self::replace_end`] removes the ones that aren't set again until then.
    pub fn replace_begin(&self) {
        *self.stale() = self.known.read(|known| known.mtus.keys().copied().collect());
    }

    /// Removes the path MTUs that are still marked.
    #[inline(never)]
    pub fn replace_end(&self) {
        let stale = std::mem::take(&mut *self.stale());
        self.change(|mtus, _| mtus.retain(|at, _| !stale.contains(at)));
    }

    /// Learned path MTUs: the table's id, the host, the MTU and when it expires.
    pub fn learned(&self, world: &World) -> Vec<(u32, F::Addr, LearnedMtu)> {
        let fib = world.get::<Fib<F>>();
        let all: Vec<_> =
            self.known.read(|known| known.learned.iter().map(|(at, l)| (*at, *l)).collect());
        let of = |((table, to), l): (HostKey<F>, LearnedMtu)| {
            Some((fib.table_id(TableIndex(table))?, to, l))
        };
        all.into_iter().filter_map(of).collect()
    }

    /// Configured path MTUs: the table's id, the host or next hop, the MTU.
    pub fn list(&self, world: &World) -> Vec<(u32, F::Addr, u16)> {
        let fib = world.get::<Fib<F>>();
        let all: Vec<_> =
            self.known.read(|known| known.mtus.iter().map(|(at, mtu)| (*at, *mtu)).collect());
        let of = |((table, to), mtu)| Some((fib.table_id(TableIndex(table))?, to, mtu));
        all.into_iter().filter_map(of).collect()
    }
}
