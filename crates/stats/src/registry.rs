// SPDX-License-Identifier: Apache-2.0
//! All counters of an instance.

use crate::counter::{Cells, Combined, Gauge, Names, Simple, Vector};
use crate::layout::{Kind, Space};
use crate::ring::{Histogram, Ring, RingShape};
use crate::segment::{Change, Segment};
use mem::Words;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard};

/// All counters of an instance, by name.
pub struct Registry {
    threads: usize,
    segment: Arc<Segment>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    simple: HashMap<String, Arc<Simple>>,
    combined: HashMap<String, Arc<Combined>>,
    gauges: HashMap<String, Gauge>,
    names: HashMap<String, Arc<Names>>,
    rings: HashMap<String, Arc<Ring>>,
    histograms: HashMap<String, Arc<Histogram>>,
    /// All counters, in the order of their making.
    vectors: Vec<Arc<dyn Vector>>,
    /// Number of cells that counters of a space have.
    lens: HashMap<Space, usize>,
    /// Spaces of counters, by directories of their names.
    spaces: Vec<(&'static str, Space)>,
}

impl Inner {
    /// The space of a counter. The longest of several declared directories decides.
    fn space(&self, name: &str) -> Space {
        let declared = self.spaces.iter().filter(|(dir, _)| is_in(name, dir));
        declared.max_by_key(|(dir, _)| dir.len()).map_or(Space::Own, |(_, space)| *space)
    }
}

/// Returns true if a name is `dir` itself or below it.
fn is_in(name: &str, dir: &str) -> bool {
    name.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Registry {
    /// A registry for this many threads, the main one included.
    pub fn new(threads: usize) -> Self {
        let this = Self { threads, segment: Segment::new(threads), inner: Mutex::default() };
        // The first entry must not be a symlink's target: to some readers a symlink to column 0 of
        // entry 0 is none.
        this.scalar("/sys/heartbeat");
        this
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Number of threads that count.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Hides names with this prefix from the directory: they are only counted. To be called before
    /// anything else.
    pub fn hide(&self, prefix: &str) {
        self.segment.hide(prefix);
    }

    /// Declares the space of the counter `dir` and of all counters below it. To be called before
    /// the first of them is made, and once for a directory.
    pub fn declare(&self, dir: &'static str, space: Space) {
        let mut inner = self.inner();
        debug_assert!(
            !inner.vectors.iter().any(|counter| is_in(counter.name(), dir)),
            "{dir}: declared after one of its counters was made"
        );
        debug_assert!(
            !inner.spaces.iter().any(|(known, _)| *known == dir),
            "{dir}: declared twice"
        );
        inner.spaces.push((dir, space));
    }

    /// The simple counter of this name; made at the first call.
    pub fn simple(&self, name: &str) -> Arc<Simple> {
        let mut inner = self.inner();
        if let Some(counter) = inner.simple.get(name) {
            return counter.clone();
        }
        let cells = self.cells(&mut inner, name, Kind::Simple);
        inner.simple.entry(name.into()).or_insert(Arc::new(Simple(cells))).clone()
    }

    /// The combined counter of this name; made at the first call.
    pub fn combined(&self, name: &str) -> Arc<Combined> {
        let mut inner = self.inner();
        if let Some(counter) = inner.combined.get(name) {
            return counter.clone();
        }
        let cells = self.cells(&mut inner, name, Kind::Combined);
        inner.combined.entry(name.into()).or_insert(Arc::new(Combined(cells))).clone()
    }

    fn cells<const N: usize>(&self, inner: &mut Inner, name: &str, kind: Kind) -> Arc<Cells<N>> {
        let space = inner.space(name);
        let cells = Arc::new(Cells::<N>::new(&self.segment, name, self.threads, space));
        let rows = self.segment.alloc(self.threads + 1);
        self.segment.change(|change| {
            cells.extend(change, inner.lens.get(&space).copied().unwrap_or(0));
            if let Some(rows) = rows.filter(|_| cells.is_listed()) {
                cells.list(change, rows);
                change.add_vector(name, kind, rows);
            }
        });
        inner.vectors.push(cells.clone());
        cells
    }

    /// The count or time of this name; made at the first call.
    pub fn scalar(&self, name: &str) -> Gauge {
        self.value(name, Kind::Scalar)
    }

    /// The value of this name, which goes up and down; made at the first call.
    pub fn gauge(&self, name: &str) -> Gauge {
        self.value(name, Kind::Gauge)
    }

    fn value(&self, name: &str, kind: Kind) -> Gauge {
        let make = || {
            let at =
                self.segment.change(|change| change.add(name, kind, 0).map(|i| change.value_of(i)));
            let words = self.segment.words();
            Gauge(match at {
                Some(at) => words.window(at, 1),
                // Hidden.
                None => Words::new("stats-unlisted", 8).expect("a page").window(0, 1),
            })
        };
        self.inner().gauges.entry(name.into()).or_insert_with(make).clone()
    }

    /// Replaces the gauges whose names begin with `prefix` by these: for objects that come and go,
    /// as tables do. A caller that publishes gauges so must not ask for one of them by
    /// [`Registry::gauge`].
    pub fn set_gauges(&self, prefix: &str, values: &[(String, u64)]) {
        let values: HashMap<String, u64> =
            values.iter().map(|(name, value)| (format!("{prefix}{name}"), *value)).collect();
        values.iter().for_each(|(name, value)| self.gauge(name).set(*value));
        let mut inner = self.inner();
        let gone = |name: &String| name.starts_with(prefix) && !values.contains_key(name);
        let gone: Vec<String> = inner.gauges.keys().filter(|name| gone(name)).cloned().collect();
        if gone.is_empty() {
            return;
        }
        gone.iter().for_each(|name| drop(inner.gauges.remove(name)));
        self.segment.change(|change| gone.iter().for_each(|name| change.remove(name)));
    }

    /// Takes a gauge out of the directory; another one may have its entry then, so the [`Gauge`]
    /// must not be set any more. False if there is none.
    pub fn remove_gauge(&self, name: &str) -> bool {
        let known = self.inner().gauges.remove(name).is_some();
        if known {
            self.segment.change(|change| change.remove(name));
        }
        known
    }

    /// `n` values that control sets, in a simple counter with one row; made at each call.
    pub fn row(&self, name: &str, n: usize) -> Vec<Gauge> {
        let (Some(rows), Some(data)) = (self.segment.alloc(1), self.segment.alloc(n)) else {
            return Vec::new();
        };
        self.segment.change(|change| {
            change.point(rows, 0, data);
            change.set_len(rows, 1);
            change.set_len(data, n);
            change.add_vector(name, Kind::Simple, rows);
        });
        (0..n).map(|i| Gauge(self.segment.words().window(data + i, 1))).collect()
    }

    /// The names of this name; made at the first call.
    pub fn names(&self, name: &str) -> Arc<Names> {
        let mut inner = self.inner();
        if let Some(names) = inner.names.get(name) {
            return names.clone();
        }
        let space = inner.space(name);
        let data = self.segment.alloc(space.capacity());
        let names = Names { name: name.into(), space, data, len: AtomicUsize::new(0) };
        self.segment.change(|change| {
            if let Some(data) = data {
                names.extend(change, inner.lens.get(&space).copied().unwrap_or(0));
                change.add_vector(name, Kind::Names, data);
            }
        });
        inner.names.entry(names.name.clone()).or_insert(Arc::new(names)).clone()
    }

    /// The ring of this name; made at the first call, and of the shape that was asked for then.
    /// `None` if something else has the name, it can't stand in the directory, or there is no
    /// room.
    pub fn ring(&self, name: &str, shape: &RingShape<'_>) -> Option<Arc<Ring>> {
        let mut inner = self.inner();
        if let Some(ring) = inner.rings.get(name) {
            return Some(ring.clone());
        }
        let ring = self.segment.change(|change| {
            let (ring, at) = change.takes(name).then(|| Ring::new(change, shape))??;
            change.add_vector(name, Kind::Ring, at).and(Some(ring))
        })?;
        Some(inner.rings.entry(name.into()).or_insert(Arc::new(ring)).clone())
    }

    /// The histogram of this name, with `bins` cells from 2 to the power of `lowest` on; made at
    /// the first call, and of the shape that was asked for then. `None` as for
    /// [`Registry::ring`].
    pub fn histogram(&self, name: &str, lowest: u32, bins: usize) -> Option<Arc<Histogram>> {
        let mut inner = self.inner();
        if let Some(histogram) = inner.histograms.get(name) {
            return Some(histogram.clone());
        }
        let histogram = self.segment.change(|change| {
            let (histogram, rows) = change
                .takes(name)
                .then(|| Histogram::new(change, self.threads, lowest, bins))??;
            change.add_vector(name, Kind::Histogram, rows).and(Some(histogram))
        })?;
        Some(inner.histograms.entry(name.into()).or_insert(Arc::new(histogram)).clone())
    }

    /// Takes a histogram out of the directory; another one may have its name then. False if there
    /// is none.
    pub fn remove_histogram(&self, name: &str) -> bool {
        let known = self.inner().histograms.remove(name).is_some();
        if known {
            self.segment.change(|change| change.remove(name));
        }
        known
    }

    /// Says that there are `len` interfaces, nodes or errors: their counters are at least as long
    /// from now on.
    pub fn extend(&self, space: Space, len: usize) {
        let mut inner = self.inner();
        let known = inner.lens.entry(space).or_default();
        if len <= *known {
            return;
        }
        *known = len;
        self.segment.change(|change| {
            inner.vectors.iter().filter(|v| v.space() == space).for_each(|v| v.extend(change, len));
            inner.names.values().filter(|n| n.space == space).for_each(|n| n.extend(change, len));
        });
    }

    /// Changes names and symlinks; readers see all of it or nothing. `change` must not ask for new
    /// counters.
    pub fn change<R>(&self, change: impl FnOnce(&mut Change<'_>) -> R) -> R {
        self.segment.change(change)
    }

    /// The counters of a space, in the order of their making.
    pub fn vectors(&self, space: Space) -> Vec<Arc<dyn Vector>> {
        self.inner().vectors.iter().filter(|v| v.space() == space).cloned().collect()
    }

    /// Bytes of address space that the segment has, and bytes of it that memory was taken for.
    pub fn memory(&self) -> (u64, u64) {
        self.segment.words().memory()
    }

    #[cfg(feature = "tests")]
    pub(crate) fn given_out(&self) -> usize {
        self.segment.given_out()
    }
}

/// The descriptor that readers map.
impl AsFd for Registry {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.segment.words().as_fd()
    }
}

/// A name as a part of a symlink's name: `/` divides the parts.
pub fn escape(name: &str) -> String {
    name.replace('/', "_")
}
