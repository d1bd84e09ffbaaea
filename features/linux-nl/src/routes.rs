// SPDX-License-Identifier: Apache-2.0
//! Routes: messages about one prefix that follow each other are one change of the table.

use crate::batch::Batch;
use crate::convert::{self, Ignored, TableIds};
use crate::metrics::Metrics;
use graph::{SwIfIndex, World};
use net::{Fib, Net, Path, PathKind, Source, TableIndex};
use netlink::{Hop, KernelRoute};
use std::collections::{BTreeMap, HashMap, HashSet};
use wire::Prefix;

/// The last protocol of operators, `RTPROT_STATIC`; those above are daemons.
const STATIC: u8 = 4;

/// A prefix of a table.
type Place<F> = (TableIndex, Prefix<<F as wire::Family>::Addr>);

/// The paths of one source to the present prefix.
#[derive(Default)]
struct Part {
    paths: Vec<Path>,
    is_changed: bool,
}

/// The prefix whose messages are being read.
struct Current<F: Net> {
    place: Place<F>,
    /// The paths of each source, in the order of [`RouteSources::both`].
    parts: [Part; 2],
    /// The source of the present message.
    of: usize,
}

/// The sources of routes.
#[derive(Clone, Copy)]
pub struct RouteSources {
    /// Of operators (`lcp-rt`).
    pub fixed: Source,
    /// Of daemons (`lcp-rt-dynamic`).
    pub dynamic: Source,
}

impl RouteSources {
    pub fn both(self) -> [Source; 2] {
        [self.fixed, self.dynamic]
    }
}

/// Weights by metric, of next hops.
type Hidden = BTreeMap<PathKind, BTreeMap<u32, u8>>;

/// Routes of one protocol.
pub struct Routes<F: Net> {
    sources: RouteSources,
    current: Option<Current<F>>,
    /// Changes of the prefixes before the present one that the table doesn't have yet, by source.
    batches: [Batch<F, ()>; 2],
    /// The prefixes of these changes.
    pending: HashSet<Place<F>>,
    /// Next hops that a route with a lower metric to the same prefix has too: their other metrics,
    /// with the weights.
    hidden: HashMap<(Place<F>, usize), Hidden>,
    /// The tables that have routes.
    pub tables: TableIds,
    /// True while a dump replaces all: what the table has is stale.
    is_replacing: bool,
}

impl<F: Net> Routes<F> {
    pub fn new(sources: RouteSources) -> Self {
        Self {
            sources,
            current: None,
            batches: Default::default(),
            pending: HashSet::new(),
            hidden: HashMap::new(),
            tables: TableIds::default(),
            is_replacing: false,
        }
    }

    /// Takes over a route, or its removal. An error is the reason why not, or `None` if all metrics
    /// have to be spread first.
    pub fn apply(
        &mut self,
        world: &World,
        route: &KernelRoute,
        is_gone: bool,
        metrics: &mut Metrics,
        links: &HashMap<u32, SwIfIndex>,
    ) -> Result<(), Option<Ignored>> {
        let prefix = convert::destination::<F>(route).map_err(Some)?;
        let preference = metrics.preference(route.metric).ok_or(None)?;
        let paths = paths::<F>(route, preference, links).map_err(Some)?;
        let table = self.table(world, route.table, is_gone).ok_or(Some(Ignored::Refused))?;
        let of = usize::from(route.protocol > STATIC);
        self.enter(world, (table, prefix));
        // The replaced route may be of another program.
        for of in (0..2).filter(|_| route.replaces && !is_gone) {
            self.select(of);
            self.clear(preference, route.metric, metrics);
        }
        self.select(of);
        match is_gone {
            true => self.remove(&paths, route.metric, metrics),
            false => paths.iter().for_each(|path| self.add(*path, route.metric, metrics)),
        }
        Ok(())
    }

    /// The table of an id, which is made if it isn't there.
    fn table(&mut self, world: &World, id: u32, is_gone: bool) -> Option<TableIndex> {
        if is_gone {
            return world.get::<Fib<F>>().find_table(convert::table_id(id)).ok();
        }
        self.tables.get::<F>(world, id, self.sources.fixed, usize::MAX)
    }

    /// Begins with a prefix, unless it is the present one.
    fn enter(&mut self, world: &World, place: Place<F>) {
        if self.current.as_ref().is_some_and(|current| current.place == place) {
            return;
        }
        self.leave();
        // The table's paths aren't the latest.
        if !self.is_replacing && self.pending.contains(&place) {
            self.apply_pending(world);
        }
        let parts = match self.is_replacing {
            // The table's are stale. A dump has all routes to a prefix in a row.
            true => Default::default(),
            false => {
                let paths = |source| paths_of::<F>(world, place, source);
                self.sources.both().map(|source| Part { paths: paths(source), is_changed: false })
            }
        };
        self.current = Some(Current { place, parts, of: 0 });
    }

    /// Goes on with the paths of a source.
    fn select(&mut self, of: usize) {
        if let Some(current) = &mut self.current {
            current.of = of;
        }
    }

    /// The paths of the present source.
    fn part(&mut self) -> Option<&mut Part> {
        let current = self.current.as_mut()?;
        current.parts.get_mut(current.of)
    }

    fn key(&self) -> Option<(Place<F>, usize)> {
        self.current.as_ref().map(|current| (current.place, current.of))
    }

    /// Ends the changes of the present prefix.
    fn leave(&mut self) {
        let Some(current) = &mut self.current else { return };
        let (table, prefix) = current.place;
        for (part, batch) in current.parts.iter_mut().zip(&mut self.batches) {
            if std::mem::take(&mut part.is_changed) {
                batch.push(table, prefix, &part.paths, ());
                self.pending.insert(current.place);
            }
        }
        // A dump goes on with it.
        if !self.is_replacing {
            self.current = None;
        }
    }

    /// Stores the paths of all prefixes that have come.
    pub fn flush(&mut self, world: &World) {
        self.leave();
        self.apply_pending(world);
    }

    fn apply_pending(&mut self, world: &World) {
        self.pending.clear();
        for (batch, source) in self.batches.iter_mut().zip(self.sources.both()) {
            batch.flush(world, source, |_, prefix, (), changed| {
                if let Err(error) = changed {
                    log::debug!(target: "linux-nl", "route {prefix}: {error}");
                }
            });
        }
    }

    /// Remembers a next hop of a route with this metric and weight.
    fn hide(&mut self, kind: PathKind, metric: u32, weight: u8) {
        let Some(key) = self.key() else { return };
        let of = self.hidden.entry(key).or_default();
        of.entry(kind).or_default().insert(metric, weight);
    }

    /// Takes a hidden metric of a next hop, the given one or the lowest, with its weight.
    fn unhide(&mut self, kind: PathKind, metric: Option<u32>) -> Option<(u32, u8)> {
        let key = self.key()?;
        let hidden = self.hidden.get_mut(&key)?;
        let metrics = hidden.get_mut(&kind)?;
        let taken = match metric {
            Some(metric) => metrics.remove(&metric).map(|weight| (metric, weight)),
            None => metrics.pop_first(),
        };
        if metrics.is_empty() {
            hidden.remove(&kind);
        }
        if hidden.is_empty() {
            self.hidden.remove(&key);
        }
        taken
    }

    fn add(&mut self, path: Path, metric: u32, metrics: &Metrics) {
        let Some(current) = self.part() else { return };
        let Some(known) = current.paths.iter_mut().find(|known| known.kind == path.kind) else {
            current.paths.push(path);
            current.is_changed = true;
            return;
        };
        if known.preference == path.preference {
            current.is_changed |= *known != path;
            *known = path;
        } else if path.preference < known.preference {
            let (other, weight) = (metrics.metric(known.preference), known.weight);
            *known = path;
            current.is_changed = true;
            self.hide(path.kind, other, weight);
        } else {
            self.hide(path.kind, metric, path.weight);
        }
    }

    /// Removes these paths of a route with this metric.
    fn remove(&mut self, paths: &[Path], metric: u32, metrics: &mut Metrics) {
        for path in paths {
            let Some(current) = self.part() else { return };
            let at = current.paths.iter().position(|known| known.kind == path.kind);
            match at.filter(|at| current.paths[*at].preference == path.preference) {
                Some(at) => {
                    current.paths.swap_remove(at);
                    current.is_changed = true;
                    self.uncover(path.kind, metrics);
                }
                None => {
                    self.unhide(path.kind, Some(metric));
                }
            }
        }
    }

    /// Removes all paths of the route with this metric, which is replaced.
    fn clear(&mut self, preference: u8, metric: u32, metrics: &mut Metrics) {
        let Some(current) = self.part() else { return };
        let (gone, kept): (Vec<Path>, _) =
            current.paths.iter().partition(|path| path.preference == preference);
        current.paths = kept;
        current.is_changed |= !gone.is_empty();
        let hidden = self.key().and_then(|key| self.hidden.get(&key));
        let kinds: Vec<_> = hidden.into_iter().flat_map(|of| of.keys().copied()).collect();
        for kind in kinds {
            self.unhide(kind, Some(metric));
        }
        gone.iter().for_each(|path| self.uncover(path.kind, metrics));
    }

    /// After a path has gone: the same next hop with the next metric.
    fn uncover(&mut self, kind: PathKind, metrics: &mut Metrics) {
        if let Some((metric, weight)) = self.unhide(kind, None)
            && let Some(preference) = metrics.preference(metric)
            && let Some(part) = self.part()
        {
            part.paths.push(Path { weight, preference, ..Path::new(kind) });
        }
    }

    /// Begins to replace all routes: they stay in force until [`Self::replace_end`].
    pub fn replace_begin(&mut self, world: &World) {
        self.flush(world);
        (self.current, self.is_replacing) = (None, true);
        self.hidden.clear();
        let fib = world.get::<Fib<F>>();
        for (table, source) in self.parts(world) {
            // A table that an operator has deleted has nothing to replace.
            let _ = fib.replace_begin(table, source);
        }
    }

    /// Removes the routes that weren't set again.
    pub fn replace_end(&mut self, world: &World) {
        self.flush(world);
        (self.current, self.is_replacing) = (None, false);
        let fib = world.get::<Fib<F>>();
        for (table, source) in self.parts(world) {
            let _ = fib.replace_end(world, table, source);
        }
    }

    /// The tables that have routes, each with both sources.
    fn parts(&self, world: &World) -> Vec<(TableIndex, Source)> {
        let tables = self.tables.tables::<F>(world).into_iter();
        tables.flat_map(|table| self.sources.both().map(|source| (table, source))).collect()
    }

    /// Removes paths over an interface from at most `n` prefixes of a table behind `after`. Returns
    /// the last prefix looked at, if there may be more.
    pub fn remove_paths_by(
        &mut self,
        world: &World,
        table: TableIndex,
        (sw_if, sources): (SwIfIndex, &[Source]),
        after: Option<Prefix<F::Addr>>,
        n: usize,
    ) -> Option<Prefix<F::Addr>> {
        self.flush(world);
        let fib = world.get::<Fib<F>>();
        let routes = fib.routes_from(table, after, n);
        let last = (routes.len() == n).then(|| routes.last().map(|route| route.prefix)).flatten();
        let by = |path: &Path| path.sw_if() == Some(sw_if);
        for route in routes {
            for (at, source) in self.sources.both().into_iter().enumerate() {
                let of = route.sources.iter().find(|of| of.source == source);
                let paths = of.filter(|_| sources.contains(&source)).map(|of| &of.path_list.paths);
                if !paths.is_some_and(|paths| paths.iter().any(|(path, _)| by(path))) {
                    continue;
                }
                self.enter(world, (table, route.prefix));
                self.select(at);
                if let Some(part) = self.part() {
                    part.paths.retain(|path| !by(path));
                    part.is_changed = true;
                }
                if let Some(hidden) = self.key().and_then(|key| self.hidden.get_mut(&key)) {
                    hidden.retain(|kind, _| !by(&Path::new(*kind)));
                }
            }
        }
        self.flush(world);
        last
    }
}

/// The paths that a source has to a prefix.
fn paths_of<F: Net>(world: &World, (table, prefix): Place<F>, source: Source) -> Vec<Path> {
    let route = world.get::<Fib<F>>().route(table, prefix);
    let sources = route.map(|route| route.sources).unwrap_or_default();
    let of = sources.into_iter().find(|of| of.source == source);
    of.map(|of| of.path_list.paths.iter().map(|(path, _)| *path).collect()).unwrap_or_default()
}

/// The paths of a route, with this preference.
fn paths<F: Net>(
    route: &KernelRoute,
    preference: u8,
    links: &HashMap<u32, SwIfIndex>,
) -> Result<Vec<Path>, Ignored> {
    if route.hops.is_empty() && route.nexthop_object.is_some() {
        return Err(Ignored::NextHopObject);
    }
    let target = |hop: &Hop| Some(convert::target_on(*links.get(&hop.index)?, hop, F::IS_V6));
    convert::paths(route.kind, &route.hops, preference, target)
}
