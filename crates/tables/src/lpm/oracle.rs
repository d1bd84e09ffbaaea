// SPDX-License-Identifier: Apache-2.0
//! Longest prefix match by the definition.

use super::{Full, Key, Lpm, NO_ROUTE, Route, check_len, check_value};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A list of routes, searched from end to end. For tests.
#[derive(Debug, Default)]
pub struct OracleLpm<K> {
    routes: Mutex<Vec<Route<K>>>,
}

impl<K: Key> OracleLpm<K> {
    /// An empty table.
    pub fn new() -> Self {
        Self { routes: Mutex::new(Vec::new()) }
    }

    fn routes(&self) -> MutexGuard<'_, Vec<Route<K>>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Key> Lpm for OracleLpm<K> {
    type Key = K;

    fn lookup(&self, key: K) -> u32 {
        self.covering(key, K::BITS).map_or(NO_ROUTE, |route| route.value)
    }

    fn lookup_batch(&self, keys: &[K], values: &mut [u32]) {
        assert_eq!(keys.len(), values.len());
        for (value, key) in values.iter_mut().zip(keys) {
            *value = self.lookup(*key);
        }
    }

    fn insert(&self, key: K, len: u8, value: u32) -> Result<Option<u32>, Full> {
        check_len::<K>(len);
        check_value(value);
        let old = self.remove(key, len);
        self.routes().push(Route { key: key.network(len), len, value });
        Ok(old)
    }

    fn remove(&self, key: K, len: u8) -> Option<u32> {
        check_len::<K>(len);
        let mut routes = self.routes();
        let i = routes.iter().position(|route| (route.key, route.len) == (key.network(len), len))?;
        Some(routes.swap_remove(i).value)
    }

    fn get(&self, key: K, len: u8) -> Option<u32> {
        check_len::<K>(len);
        let key = key.network(len);
        self.routes().iter().find(|route| (route.key, route.len) == (key, len)).map(|route| route.value)
    }

    fn covering(&self, key: K, len: u8) -> Option<Route<K>> {
        check_len::<K>(len);
        let covers = |route: &&Route<K>| route.len <= len && key.network(route.len) == route.key;
        self.routes().iter().filter(covers).max_by_key(|route| route.len).copied()
    }

    fn walk(&self, after: Option<(K, u8)>, f: &mut dyn FnMut(Route<K>) -> bool) {
        let mut routes = self.routes().clone();
        routes.sort_unstable();
        routes.retain(|route| after.is_none_or(|after| (route.key, route.len) > after));
        routes.into_iter().all(f);
    }

    fn len(&self) -> usize {
        self.routes().len()
    }
}
