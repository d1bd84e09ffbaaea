// SPDX-License-Identifier: Apache-2.0
//! Next hops reported down. Paths over them are skipped while another path is usable.
//!
//! A next hop is up until a watcher reports it down. It may have several watchers
//! ([`NextHops::set`] takes the watcher's name): it is up again when no watcher reports it down.
//!
//! A watcher that knows that packets are lost there, such as BFD, reports the next hop unusable
//! ([`NextHops::set_unusable`]): then no path leads over it, even if there is no other.

use graph::{Deleted, Shared, SwIfIndex, World};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};

/// A neighbour that routes lead over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NextHop {
    /// The interface of its link.
    pub sw_if: SwIfIndex,
    /// Its address.
    pub ip: IpAddr,
}

impl NextHop {
    /// A host that recursive paths in the default tables name, by whatever route it is reached.
    /// Multihop BFD watches such next hops.
    pub const fn host(ip: IpAddr) -> Self {
        Self { sw_if: ANYWHERE, ip }
    }

    /// The peer of an interface that has only one, for all paths of a version over the interface.
    pub const fn only_peer(sw_if: SwIfIndex, v6: bool) -> Self {
        let ip = match v6 {
            false => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            true => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        Self { sw_if, ip }
    }

    /// Returns true for a neighbour on an interface; false for [`Self::host`] and
    /// [`Self::only_peer`], which only paths know.
    fn is_neighbor(&self) -> bool {
        self.sw_if != ANYWHERE && !self.ip.is_unspecified()
    }
}

/// In place of the interface of [`NextHop::host`].
const ANYWHERE: SwIfIndex = SwIfIndex(u32::MAX);

/// The watchers that report a next hop down, each with the time of its report, on the instance's
/// clock, in nanoseconds.
pub type Down = BTreeMap<&'static str, u64>;

type Subscriber = Arc<dyn Fn(&World, &[NextHop], bool) + Send + Sync>;

/// Use of a next hop by paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HopState {
    /// It is used.
    Up,
    /// It is used if there is no other.
    Down,
    /// It isn't used.
    Unusable,
}

/// The reports on a next hop.
#[derive(Default)]
struct Reports {
    down: Down,
    /// The watchers among them that report it unusable.
    unusable: BTreeSet<&'static str>,
}

impl Reports {
    fn state(&self) -> HopState {
        match (self.unusable.is_empty(), self.down.is_empty()) {
            (false, _) => HopState::Unusable,
            (true, false) => HopState::Down,
            (true, true) => HopState::Up,
        }
    }

    /// Replaces a watcher's report; returns the use of the next hop before and after that.
    fn replace(&mut self, by: &'static str, report: HopState, now: u64) -> [HopState; 2] {
        let before = self.state();
        if report == HopState::Up {
            self.down.remove(by);
        } else {
            self.down.entry(by).or_insert(now);
        }
        if report == HopState::Unusable {
            self.unusable.insert(by);
        } else {
            self.unusable.remove(by);
        }
        [before, self.state()]
    }
}

#[derive(Default)]
struct Inner {
    down: HashMap<NextHop, Reports>,
    /// Failover subscribers, which run before all others.
    movers: Vec<Subscriber>,
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
        self.report(world, hops, by, if up { HopState::Up } else { HopState::Down });
    }

    /// As [`Self::set`], from a watcher that knows that packets to the next hops are lost: while it
    /// reports them so, they aren't used even where there is no other path.
    pub fn set_unusable(&self, world: &World, hops: &[NextHop], by: &'static str, unusable: bool) {
        self.report(world, hops, by, if unusable { HopState::Unusable } else { HopState::Up });
    }

    fn report(&self, world: &World, hops: &[NextHop], by: &'static str, report: HopState) {
        let (up, now) = (report == HopState::Up, world.clock.now());
        // Traffic also moves when a next hop that is down becomes unusable; subscribers know
        // only up and down.
        let (mut moved, mut changed) = (BTreeSet::new(), BTreeSet::new());
        let (movers, subscribers) = {
            let mut inner = self.inner();
            for hop in hops {
                if up && !inner.down.contains_key(hop) {
                    continue;
                }
                let [before, after] = inner.down.entry(*hop).or_default().replace(by, report, now);
                let [was_up, is_up] = [before, after].map(|state| state == HopState::Up);
                if is_up {
                    inner.down.remove(hop);
                }
                if before != after {
                    moved.insert(*hop);
                }
                if was_up != is_up && hop.is_neighbor() {
                    changed.insert(*hop);
                }
            }
            (inner.movers.clone(), inner.subscribers.clone())
        };
        if !moved.is_empty() {
            let moved = Vec::from_iter(moved);
            movers.iter().for_each(|mover| mover(world, &moved, up));
        }
        if !changed.is_empty() {
            let changed = Vec::from_iter(changed);
            subscribers.iter().for_each(|subscriber| subscriber(world, &changed, up));
            for hop in changed {
                self.changes[usize::from(!up)].control().add(hop.sw_if.at(), 1);
            }
        }
    }

    /// Calls `f` with next hops that have gone down or come up (true), on the control thread.
    pub fn subscribe(&self, f: impl Fn(&World, &[NextHop], bool) + Send + Sync + 'static) {
        self.inner().subscribers.push(Arc::new(f));
    }

    /// As [`Self::subscribe`], for failover: these subscribers are called before all others, also
    /// for next hops that become unusable while they are down, and for hosts and only peers.
    pub(crate) fn subscribe_mover(
        &self,
        f: impl Fn(&World, &[NextHop], bool) + Send + Sync + 'static,
    ) {
        self.inner().movers.push(Arc::new(f));
    }

    /// Returns true if a watcher reports the next hop down.
    pub fn is_down(&self, hop: NextHop) -> bool {
        self.inner().down.contains_key(&hop)
    }

    /// The use of a next hop by paths.
    pub(crate) fn state(&self, hop: NextHop) -> HopState {
        self.inner().down.get(&hop).map_or(HopState::Up, Reports::state)
    }

    /// The watchers that report a next hop down, or none if it is up.
    pub fn down(&self, hop: NextHop) -> Option<Down> {
        self.inner().down.get(&hop).map(|reports| reports.down.clone())
    }

    /// The next hops that are down, in order of interface and address, each with its watchers.
    pub fn list(&self) -> Vec<(NextHop, Down)> {
        let inner = self.inner();
        let neighbors = inner.down.iter().filter(|(hop, _)| hop.is_neighbor());
        let mut all: Vec<_> = neighbors.map(|(hop, by)| (*hop, by.down.clone())).collect();
        all.sort_unstable_by_key(|(hop, _)| *hop);
        all
    }
}
