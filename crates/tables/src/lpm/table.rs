// SPDX-License-Identifier: Apache-2.0
//! A table of routes.

use super::engine::{BATCH, Change, Engine, LookupArrays, Refused};
use super::intervals::{Brush, cell, leaf};
use super::structure::{Sizes, Structure};
use super::{Forest, Full, Key, Leaf, ResultKind, Route, check_leaf, check_len};
use simd::Isa;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sync::{Snapshot, Turn};

/// A table of routes. Keys are in host order ([`Key`]), leaves are indices of the owner's. Bits of
/// a key beyond the prefix length are ignored.
///
/// Lookups are for workers and never wait; everything else is for control and may wait for another
/// control thread. A change is seen by the lookups of other threads as it is being made: each
/// lookup answers by the old or the new route.
///
/// Methods that take a prefix length panic if it is greater than [`Key::BITS`].
pub struct Lpm<K: Key> {
    engine: Snapshot<K::Engine>,
    forest: Arc<Forest>,
    sizes: Sizes,
    control: Mutex<Control<K>>,
}

type Routes<K> = BTreeMap<(K, u8), Leaf>;

/// State of control, which lookups don't need.
struct Control<K: Key> {
    routes: Routes<K>,
    /// Number of routes that are longer than [`Key::FINEST`].
    fine: usize,
    /// The kind of the engine.
    kind: <K::Engine as Structure>::Kind,
    wanted: ResultKind,
}

/// Routes looked at one behind the other before the map is searched again.
const STEPS: usize = 16;

/// Routes that a new structure gets at once.
const TOGETHER: usize = 8192;

/// The longest of the routes of at most `len` bits that cover `key`.
fn covering<K: Key>(routes: &Routes<K>, key: K, mut len: u8) -> Option<Route<K>> {
    loop {
        // Whatever covers the key lies before it, and behind whatever shares fewer bits with it.
        let before = routes.range(..=(key.network(len), len)).rev();
        let mut seen = 0;
        for (&(network, of), &leaf) in before.take(STEPS) {
            let common = key.common(network);
            if of <= common.min(len) {
                return Some(Route { key: network, len: of, leaf });
            }
            len = len.min(common);
            seen += 1;
        }
        if seen < STEPS {
            return None;
        }
    }
}

/// Functions of control are not inlined: at opt-level 2 and 3, rustc shares no other generic
/// functions between crates, and each crate that sets a route would compile them again.
impl<K: Key> Lpm<K> {
    /// A table without routes.
    ///
    /// # Errors
    /// A full forest.
    pub fn new(forest: &Arc<Forest>) -> Result<Self, Full> {
        Self::with_sizes(forest, K::Engine::SIZES)
    }

    pub(super) fn with_sizes(forest: &Arc<Forest>, sizes: Sizes) -> Result<Self, Full> {
        let engine = K::Engine::of_kind(K::Engine::SMALL, forest).map_err(|_| Full)?;
        Ok(Self {
            engine: Snapshot::new(forest.domain().clone(), engine),
            forest: forest.clone(),
            sizes,
            control: Mutex::new(Control {
                routes: BTreeMap::new(),
                fine: 0,
                kind: K::Engine::SMALL,
                wanted: ResultKind::default(),
            }),
        })
    }

    /// Sets the kind of result that most lookups will ask for from now on; [`ResultKind::Routes`]
    /// at first.
    pub fn set_wanted(&self, wanted: ResultKind) {
        let mut control = self.control();
        control.wanted = wanted;
        self.fit(&mut control);
    }

    /// Leaf of the longest route that covers `key`, or [`Leaf::NONE`].
    ///
    /// # Panics
    /// If `turn` is of another domain than the forest's.
    #[inline(always)]
    pub fn lookup(&self, key: K, turn: &Turn<'_>) -> Leaf {
        self.engine.get(turn).lookup(key)
    }

    /// As [`Self::lookup`] for each of `keys`, in passes over all of them, so that their memory
    /// accesses overlap. The hops only: nothing is read that grows with the number of routes
    /// but the structure itself.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline(always)]
    pub fn hops<I: Isa>(&self, keys: &[K], hops: &mut [u32], turn: &Turn<'_>) {
        assert_eq!(keys.len(), hops.len());
        let engine = self.engine.get(turn);
        for (keys, hops) in keys.chunks(BATCH).zip(hops.chunks_mut(BATCH)) {
            engine.leaves::<I, false>(keys, hops, &mut []);
        }
    }

    /// As [`Self::hops`], and the routes.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline(always)]
    pub fn leaves<I: Isa>(
        &self,
        keys: &[K],
        hops: &mut [u32],
        routes: &mut [u32],
        turn: &Turn<'_>,
    ) {
        assert!(keys.len() == hops.len() && keys.len() == routes.len());
        let engine = self.engine.get(turn);
        let leaves = hops.chunks_mut(BATCH).zip(routes.chunks_mut(BATCH));
        for (keys, (hops, routes)) in keys.chunks(BATCH).zip(leaves) {
            engine.leaves::<I, true>(keys, hops, routes);
        }
    }

    /// For lookups in steps.
    ///
    /// # Panics
    /// If `turn` is of another domain than the forest's.
    #[inline(always)]
    pub fn steps<'t>(&'t self, turn: &'t Turn<'_>) -> SplitLookup<'t, K> {
        let engine = self.engine.get(turn);
        SplitLookup { engine, arrays: engine.arrays() }
    }

    /// Adds or replaces a route and returns what it gave before.
    ///
    /// # Errors
    /// No room; nothing was changed then.
    ///
    /// # Panics
    /// If the leaf isn't within its bounds.
    #[inline(never)]
    pub fn insert(&self, key: K, len: u8, leaf: Leaf) -> Result<Option<Leaf>, Full> {
        check_len::<K>(len);
        check_leaf(leaf);
        let key = key.network(len);
        let mut control = self.control();
        let change = Change { key, len, brush: Brush::UpTo(len, cell(leaf, len)), shrinks: false };
        match self.paint(&change) {
            Ok(()) => {}
            Err(Refused::Full) => return Err(Full),
            Err(Refused::Narrow) => {
                let wider = K::Engine::wider(control.kind).ok_or(Full)?;
                self.remake(&mut control, wider).map_err(|_| Full)?;
                self.paint(&change).map_err(|_| Full)?;
            }
        }
        let old = match control.routes.entry((key, len)) {
            btree_map::Entry::Occupied(mut entry) => return Ok(Some(entry.insert(leaf))),
            btree_map::Entry::Vacant(entry) => {
                entry.insert(leaf);
                None
            }
        };
        control.fine += usize::from(len > K::FINEST);
        self.fit(&mut control);
        Ok(old)
    }

    /// Adds or replaces routes; fastest in order of their networks. Lookups may see them before all
    /// are there, or together. Says how many were added: fewer than all, the first ones, if
    /// there is no more room.
    ///
    /// # Panics
    /// As [`Self::insert`].
    #[inline(never)]
    pub fn insert_all(&self, routes: &[Route<K>]) -> usize {
        let mut control = self.control();
        let change = |&Route { key, len, leaf }: &Route<K>| {
            check_len::<K>(len);
            check_leaf(leaf);
            Change {
                key: key.network(len),
                len,
                brush: Brush::UpTo(len, cell(leaf, len)),
                shrinks: false,
            }
        };
        let changes: Vec<Change<K>> = routes.iter().map(change).collect();
        let mut done = 0;
        while done < changes.len() {
            let painted = self.engine.read(|engine| engine.paint_all(&changes[done..]));
            let (n, refused) = match painted {
                Ok(()) => (changes.len() - done, None),
                Err((n, refused)) => (n, Some(refused)),
            };
            let added = changes.iter().zip(routes).skip(done).take(n);
            for (change, route) in added {
                let new = control.routes.insert((change.key, change.len), route.leaf).is_none();
                control.fine += usize::from(new && change.len > K::FINEST);
            }
            done += n;
            let wider =
                || K::Engine::wider(control.kind).filter(|_| refused == Some(Refused::Narrow));
            if refused.is_some()
                && wider().is_none_or(|kind| self.remake(&mut control, kind).is_err())
            {
                break;
            }
        }
        self.fit(&mut control);
        done
    }

    /// Removes a route and returns what it gave.
    #[inline(never)]
    pub fn remove(&self, key: K, len: u8) -> Option<Leaf> {
        check_len::<K>(len);
        let key = key.network(len);
        let mut control = self.control();
        let old = control.routes.remove(&(key, len))?;
        control.fine -= usize::from(len > K::FINEST);
        let under =
            covering(&control.routes, key, len).map_or(0, |route| cell(route.leaf, route.len));
        let change = Change { key, len, brush: Brush::UpTo(len, under), shrinks: true };
        self.paint(&change).expect("what shrinks finds room, and a hop that was there fits");
        self.fit(&mut control);
        Some(old)
    }

    fn paint(&self, change: &Change<K>) -> Result<(), Refused> {
        self.engine.read(|engine| engine.paint(change))
    }

    /// Takes the structure that is best for so many routes, and what is wanted of them. Without
    /// memory for it, the old one goes on.
    fn fit(&self, control: &mut Control<K>) {
        // Each route that doesn't profit outweighs one that does.
        let routes = control.routes.len().saturating_sub(2 * control.fine);
        if let Some(kind) = K::Engine::better(control.kind, routes, control.wanted, self.sizes) {
            let _ = self.remake(control, kind);
        }
    }

    fn remake(
        &self,
        control: &mut Control<K>,
        kind: <K::Engine as Structure>::Kind,
    ) -> Result<(), Refused> {
        if let Some(turned) = self.engine.read(|engine| engine.turned(kind, &self.forest)) {
            self.engine.set(turned?);
            control.kind = kind;
            return Ok(());
        }
        let engine = K::Engine::of_kind(kind, &self.forest)?;
        let mut left = control.routes.iter().map(|(&(key, len), &leaf)| Change {
            key,
            len,
            brush: Brush::UpTo(len, cell(leaf, len)),
            shrinks: false,
        });
        loop {
            let some: Vec<Change<K>> = left.by_ref().take(TOGETHER).collect();
            if some.is_empty() {
                break;
            }
            match (engine.paint_all(&some), K::Engine::wider(kind)) {
                (Err((_, Refused::Narrow)), Some(wider)) => return self.remake(control, wider),
                (result, _) => result.map_err(|(_, refused)| refused)?,
            }
        }
        self.engine.set(engine);
        control.kind = kind;
        Ok(())
    }

    /// Leaf of exactly this route, if there is one.
    #[inline(never)]
    pub fn get(&self, key: K, len: u8) -> Option<Leaf> {
        check_len::<K>(len);
        let (key, control) = (key.network(len), self.control());
        // The structure knows it, unless a longer prefix begins there too. It will be changed next,
        // most often: the map of a million routes is the slowest to search.
        let cell = self.engine.read(|engine| engine.cell(key));
        match (cell >> 56).cmp(&(u64::from(len) + 1)) {
            Ordering::Less => None,
            Ordering::Equal => Some(leaf(cell)),
            Ordering::Greater => control.routes.get(&(key, len)).copied(),
        }
    }

    /// The longest route that covers the prefix; the prefix itself counts.
    #[inline(never)]
    pub fn covering(&self, key: K, len: u8) -> Option<Route<K>> {
        check_len::<K>(len);
        covering(&self.control().routes, key, len)
    }

    /// Calls `f` on the routes behind `after` (or all), in order of network and then of length,
    /// until it returns false. `after` itself needn't be there. `f` must not use the control
    /// side of this table.
    #[inline(never)]
    pub fn walk(&self, after: Option<(K, u8)>, f: &mut dyn FnMut(Route<K>) -> bool) {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        for (&(key, len), &leaf) in self.control().routes.range((after, Bound::Unbounded)) {
            if !f(Route { key, len, leaf }) {
                return;
            }
        }
    }

    /// Calls `f` on every route, in order of network and then of length. `f` must not use the
    /// control side of this table.
    pub fn for_each(&self, f: &mut dyn FnMut(Route<K>)) {
        self.walk(None, &mut |route| {
            f(route);
            true
        });
    }

    /// Number of routes.
    pub fn len(&self) -> usize {
        self.control().routes.len()
    }

    /// Returns true if there are no routes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes at least that control needs beside: a map of the prefixes, whose nodes may be half
    /// full.
    pub fn control_memory(&self) -> usize {
        self.len() * size_of::<((K, u8), Leaf)>()
    }

    /// Bytes of memory in use for lookups.
    pub fn memory(&self) -> usize {
        self.engine.read(Engine::memory)
    }

    #[cfg(feature = "tests")]
    pub(super) fn kind(&self) -> <K::Engine as Structure>::Kind {
        self.control().kind
    }

    fn control(&self) -> MutexGuard<'_, Control<K>> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Split-phase lookups, so that callers can interleave other work with the prefetches:
/// [`Self::prefetch_nodes`] and [`Self::locate`] for all keys, [`Self::prefetch_leaf`] for each
/// place, [`Self::read_leaves`] and [`Self::resolve`] for all. The steps see one structure, even if
/// the table takes another one meanwhile.
pub struct SplitLookup<'t, K: Key> {
    engine: &'t K::Engine,
    arrays: LookupArrays<'t>,
}

impl<K: Key> Clone for SplitLookup<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Key> Copy for SplitLookup<'_, K> {}

impl<K: Key> SplitLookup<'_, K> {
    /// Keys at most for the steps that take all.
    pub const BATCH: usize = BATCH;

    /// All steps for one key.
    #[inline(always)]
    pub fn lookup(self, key: K) -> Leaf {
        self.engine.lookup(key)
    }

    /// Prefetches what [`Self::locate`] reads.
    #[inline(always)]
    pub fn prefetch_nodes(self, keys: &[K]) {
        self.arrays.prefetch_nodes(keys);
    }

    /// Finds the places where the leaves of keys are.
    ///
    /// # Panics
    /// If the lengths differ, or there are too many.
    #[inline(always)]
    pub fn locate<I: Isa>(self, keys: &[K], places: &mut [u32]) {
        assert!(keys.len() == places.len() && keys.len() <= BATCH);
        self.engine.locate::<I>(keys, places);
    }

    /// Prefetches what [`Self::read_leaves`] reads at a place.
    #[inline(always)]
    pub fn prefetch_leaf(self, place: u32) {
        self.arrays.prefetch_leaf(place);
    }

    /// Reads the leaves of the same keys at their places: `hops` holds the places, and gets the
    /// hops. With `ROUTES`, `routes` gets what [`Self::resolve`] takes; else it isn't looked
    /// at.
    ///
    /// # Panics
    /// As [`Self::locate`]; and places that didn't come from there may panic or give anything.
    #[inline(always)]
    pub fn read_leaves<I: Isa, const ROUTES: bool>(
        self,
        keys: &[K],
        hops: &mut [u32],
        routes: &mut [u32],
    ) {
        assert!(
            keys.len() == hops.len()
                && keys.len() <= BATCH
                && (!ROUTES || keys.len() == routes.len())
        );
        self.engine.read_leaves::<I, ROUTES>(keys, hops, routes);
    }

    /// Turns the results of [`Self::read_leaves`] into routes.
    #[inline(always)]
    pub fn resolve(self, routes: &mut [u32]) {
        self.engine.resolve(routes);
    }
}

impl<K: Key> fmt::Debug for Lpm<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lpm")
            .field("len", &self.len())
            .field("memory", &self.memory())
            .finish_non_exhaustive()
    }
}
