// SPDX-License-Identifier: Apache-2.0
//! Next hops reported down. Paths over them are skipped while another path is usable.
//!
//! A next hop is up until a watcher reports it down. It may have several watchers
//! ([`NextHops::set`] takes the watcher's name): it is up again when no watcher reports it down.

use graph::{Deleted, Shared, SwIfIndex, World};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

/// A neighbour that routes lead over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NextHop {
    /// The interface of its link.
    pub sw_if: SwIfIndex,
    /// Its address.
    pub ip: IpAddr,
}

/// The watchers that report a next hop down, each with the time of its report, on the instance's
/// clock, in nanoseconds.
pub type Down = BTreeMap<&'static str, u64>;

type Subscriber = Arc<dyn Fn(&World, &[NextHop], bool) + Send + Sync>;

#[derive(Default)]
struct Inner {
    down: HashMap<NextHop, Down>,
    /// Failover subscribers (movers) run before all others.
    subscribers: Vec<Subscriber>,
}

/// The next hops of an instance that are down.
pub struct NextHops {
    inner: Mutex<Inner>,
    /// `/net/nexthop/up` and `/net/nexthop/down`: by interface, how often a next hop came up
    /// again, and went down.
    changes: [Arc<stats::Simple>; 2],
}

impl Shared for NextHops {
    fn make(world: &World) -> Self {
        let changes = ["/net/nexthop/up", "/net/nexthop/down"].map(|name| world.stats.simple(name));
        Self { inner: Mutex::default(), changes }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.inner().down.retain(|hop, _| hop.sw_if != *sw_if);
        }
    }
}

impl NextHops {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Records watcher `by`'s report on next hops. The traffic of those next hops that change state
    /// moves at once, all together.
    pub fn set(&self, world: &World, hops: &[NextHop], by: &'static str, up: bool) {
        let (mut changed, now) = (BTreeSet::new(), world.clock.now());
        let subscribers = {
            let mut inner = self.inner();
            for hop in hops {
                if !up {
                    let said = inner.down.entry(*hop).or_default();
                    if said.is_empty() {
                        changed.insert(*hop);
                    }
                    said.entry(by).or_insert(now);
                } else if let Some(said) = inner.down.get_mut(hop)
                    && said.remove(by).is_some()
                    && said.is_empty()
                {
                    inner.down.remove(hop);
                    changed.insert(*hop);
                }
            }
            inner.subscribers.clone()
        };
        if changed.is_empty() {
            return;
        }
        let changed: Vec<NextHop> = changed.into_iter().collect();
        for subscriber in subscribers {
            subscriber(world, &changed, up);
        }
        for hop in changed {
            self.changes[usize::from(!up)].control().add(hop.sw_if.at(), 1);
        }
    }

    /// Calls `f` with next hops that have gone down or come up (true), on the control thread.
    pub fn subscribe(&self, f: impl Fn(&World, &[NextHop], bool) + Send + Sync + 'static) {
        self.inner().subscribers.push(Arc::new(f));
    }

    /// As [`Self::subscribe`], for failover: these subscribers are called before all others.
    pub(crate) fn subscribe_mover(
        &self,
        f: impl Fn(&World, &[NextHop], bool) + Send + Sync + 'static,
    ) {
        self.inner().subscribers.insert(0, Arc::new(f));
    }

    /// Returns true if a watcher reports the next hop down.
    pub fn is_down(&self, hop: NextHop) -> bool {
        self.inner().down.contains_key(&hop)
    }

    /// The watchers that report a next hop down, or none if it is up.
    pub fn down(&self, hop: NextHop) -> Option<Down> {
        self.inner().down.get(&hop).cloned()
    }

    /// The next hops that are down, in order of interface and address, each with its watchers.
    pub fn list(&self) -> Vec<(NextHop, Down)> {
        let mut all: Vec<_> =
            self.inner().down.iter().map(|(hop, by)| (*hop, by.clone())).collect();
        all.sort_unstable_by_key(|(hop, _)| *hop);
        all
    }
}
