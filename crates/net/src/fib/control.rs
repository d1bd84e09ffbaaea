// SPDX-License-Identifier: Apache-2.0
//! Verbs of routes: set, add, remove.

use super::inner::{Cx, Inner, check_nexthop};
use super::{Path, PathKind, RouteIndex, RouteKey, RouteTables, Source, TableRef};
use crate::{IfEvent, NextHop};
use cli::{Error, retval};
use graph::World;
use std::sync::atomic::Ordering;

impl RouteTables {
    /// Refuses paths that name missing objects, or that can't exist.
    pub(super) fn check(&self, inner: &Inner, paths: &[Path]) -> Result<(), Error> {
        if paths.is_empty() {
            return Err(Error::usage("a route needs a path").retval(retval::NO_PATHS_IN_ROUTE));
        }
        for path in paths {
            if let Some(sw_if) = path.sw_if() {
                self.interfaces.check(sw_if)?;
            }
            if let PathKind::Neighbor { nexthop, .. } | PathKind::Recursive { nexthop, .. } =
                path.kind
            {
                check_nexthop(nexthop)?;
            }
            if let Some(table) = path.table() {
                inner.table(table)?;
            }
        }
        Ok(())
    }

    /// Sets a source's paths to a prefix, as [`Fib::set`](super::Fib::set) does.
    ///
    /// # Errors
    /// A table (−3) or an interface (−2) that doesn't exist; no path (−52); an address that can't
    /// be a next hop (−7); a full table (−99).
    pub fn set(
        &self,
        world: &World,
        (table, key): (TableRef, RouteKey),
        source: Source,
        paths: &[Path],
    ) -> Result<RouteIndex, Error> {
        let (route, old) = self.with(world, |inner, cx| {
            self.check(inner, paths)?;
            let place = inner.prefix_entry(table, key)?;
            let old = inner.all_paths_of(&place, source).map(|old| old.paths.clone());
            inner.put(cx, &place, source, paths).map(|route| (route, old))
        })?;
        let all = old.iter().flat_map(|old| &old[..]).chain(paths);
        self.import(world, (table, key), source, all);
        Ok(route)
    }

    /// Adds paths to those of a source, as [`Fib::add`](super::Fib::add) does.
    ///
    /// # Errors
    /// The same as of [`Self::set`].
    pub fn add(
        &self,
        world: &World,
        (table, key): (TableRef, RouteKey),
        source: Source,
        paths: &[Path],
    ) -> Result<RouteIndex, Error> {
        self.with(world, |inner, cx| {
            self.check(inner, paths)?;
            let place = inner.prefix_entry(table, key)?;
            inner.join(cx, &place, source, paths)
        })
        .inspect(|_| self.import(world, (table, key), source, paths))
    }

    /// Removes some of a source's paths to a prefix, or all of them (`paths` empty).
    ///
    /// # Errors
    /// No such table (−3), route or path (−6).
    pub fn remove(
        &self,
        world: &World,
        (table, key): (TableRef, RouteKey),
        source: Source,
        paths: &[Path],
    ) -> Result<(), Error> {
        let gone = self.with(world, |inner, cx| {
            let place = inner.prefix_entry(table, key)?;
            let prefix = || place.lookup.text(key);
            let none = || {
                Error::not_found(format!("there is no route {} from the {source}", prefix()))
                    .retval(retval::NO_SUCH_ENTRY)
            };
            let all = paths.is_empty();
            let old = if all {
                inner.all_paths_of(&place, source)
            } else {
                inner.paths_of(&place, source)
            };
            let old = old.ok_or_else(none)?.paths.clone();
            if !all {
                let mut left = old.to_vec();
                left.retain(|old| !paths.iter().any(|p| p.kind == old.kind));
                if left.len() == old.len() {
                    let why = format!("the route {} has no such path", prefix());
                    return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
                }
                if !left.is_empty() {
                    return inner.put(cx, &place, source, &left).map(|_| old);
                }
            }
            inner.take(cx, &place, source);
            Ok(old)
        })?;
        self.import(world, (table, key), source, &gone[..]);
        Ok(())
    }

    pub(super) fn on_interface(&self, world: &World, event: IfEvent) {
        if let IfEvent::Admin(sw_if, _) | IfEvent::Link(sw_if, _) = event {
            self.with(world, |inner, cx| {
                let lists = inner.lists_of(sw_if);
                inner.refresh(cx, lists);
            });
        }
    }

    pub(super) fn on_nexthops(&self, world: &World, hops: &[NextHop]) {
        self.with(world, |inner, cx| {
            let lists = inner.lists_to(hops);
            inner.refresh(cx, lists);
        });
    }

    /// Changes routes, then removes tables that have become unused.
    pub(super) fn with<R>(&self, world: &World, f: impl FnOnce(&mut Inner, &Cx<'_>) -> R) -> R {
        let done = f(&mut self.inner(), &Cx::new(self, world));
        self.settle(world);
        done
    }

    /// Removes tables that have become unused.
    pub(super) fn settle(&self, world: &World) {
        // A removed table may have been the last user of another one.
        while self.reap_due.swap(false, Ordering::Relaxed) {
            self.reap(world);
        }
    }
}
