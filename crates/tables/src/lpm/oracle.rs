// SPDX-License-Identifier: Apache-2.0
//! Longest prefix match by the definition.

use super::{Key, Leaf, Route, check_leaf, check_len};

/// A list of routes, searched from end to end. For tests.
#[derive(Debug, Default, Clone)]
pub struct OracleLpm<K> {
    routes: Vec<Route<K>>,
}

impl<K: Key> OracleLpm<K> {
    /// An empty table.
    pub const fn new() -> Self {
        Self { routes: Vec::new() }
    }

    /// See [`super::Lpm::lookup`].
    pub fn lookup(&self, key: K) -> Leaf {
        self.covering(key, K::BITS).map_or(Leaf::NONE, |route| route.leaf)
    }

    /// See [`super::Lpm::insert`].
    pub fn insert(&mut self, key: K, len: u8, leaf: Leaf) -> Option<Leaf> {
        check_leaf(leaf);
        let old = self.remove(key, len);
        self.routes.push(Route { key: key.network(len), len, leaf });
        old
    }

    /// See [`super::Lpm::remove`].
    pub fn remove(&mut self, key: K, len: u8) -> Option<Leaf> {
        check_len::<K>(len);
        let i = self
            .routes
            .iter()
            .position(|route| (route.key, route.len) == (key.network(len), len))?;
        Some(self.routes.swap_remove(i).leaf)
    }

    /// See [`super::Lpm::get`].
    pub fn get(&self, key: K, len: u8) -> Option<Leaf> {
        check_len::<K>(len);
        let key = key.network(len);
        self.routes
            .iter()
            .find(|route| (route.key, route.len) == (key, len))
            .map(|route| route.leaf)
    }

    /// See [`super::Lpm::covering`].
    pub fn covering(&self, key: K, len: u8) -> Option<Route<K>> {
        check_len::<K>(len);
        let covers = |route: &&Route<K>| route.len <= len && key.network(route.len) == route.key;
        self.routes.iter().filter(covers).max_by_key(|route| route.len).copied()
    }

    /// All routes, in order of network and then of length.
    pub fn routes(&self) -> Vec<Route<K>> {
        let mut routes = self.routes.clone();
        routes.sort_unstable();
        routes
    }
}
