// SPDX-License-Identifier: Apache-2.0
//! Neighbours: the mapping of IP addresses to stations on a link. One model for ARP and IPv6
//! neighbour discovery.
//!
//! Protocols report received messages ([`Neighbors::learn`]) and supply the probe function
//! ([`Neighbors::start`]); operators configure entries. The table enforces its limits, probes old
//! entries, removes entries that don't answer, and notifies subscribers.
//!
//! The limit is shared by the interfaces of an instance: when the table is full, the interface with
//! most entries loses its oldest entry to which no packet was ever sent. So one link's senders take
//! no room that others need, and a neighbour that answers our own solicitation is always added.

mod age;
mod model;
#[cfg(feature = "tests")]
mod oracle;
mod shares;
mod silent;
mod table;
#[cfg(feature = "tests")]
mod tests;

pub use model::*;

use crate::{
    AdjIndex, Adjacencies, IfEvent, IfKind, Interfaces, NextHops, RouteTables, ethernet_rewrite,
};
use cli::{Error, retval};
use graph::{Deleted, Shared, Signal, SwIfIndex, World};
use model::Key;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use table::{Due, Table, Usage};
use wire::{EtherType, MacAddr};

/// Called after each change of a neighbour.
pub(crate) type Subscriber = Arc<dyn Fn(&World, &NeighborEvent) + Send + Sync>;
/// Probes neighbours: each at its MAC address, or by broadcast, where that is the broadcast
/// address.
pub type Prober = fn(&World, &[Neighbor]);

/// Maximum number of entries processed at a time.
const AT_ONCE: usize = 256;
/// Minimum time between two passes, in nanoseconds.
const PAUSE: u64 = 10_000_000;

/// The neighbours of one family, and the process that ages them.
struct FamilyNeighbors {
    table: Mutex<Table>,
    signal: Signal,
    /// The time when the process wakes by itself.
    wakes: Mutex<Option<u64>>,
    /// New next hops that are to be solicited.
    fresh: Mutex<VecDeque<Key>>,
}

/// All neighbours of an instance.
pub struct Neighbors {
    families: [FamilyNeighbors; 2],
    subscribers: Mutex<Vec<Subscriber>>,
    /// Packet counts of the adjacencies at the last check.
    used: Mutex<HashMap<AdjIndex, u64>>,
    interfaces: Arc<Interfaces>,
    adjacencies: Arc<Adjacencies>,
    nexthops: Arc<NextHops>,
}

impl Shared for Neighbors {
    fn make(world: &World) -> Self {
        let initial = NeighborConfig::initial(world);
        let side = || FamilyNeighbors {
            table: Mutex::new(Table::new(initial)),
            signal: world.processes.signal(),
            wakes: Mutex::default(),
            fresh: Mutex::default(),
        };
        // Made before, so that adjacencies are notified of a change before neighbours are.
        let adjacencies: Arc<Adjacencies> = world.get();
        let interfaces: Arc<Interfaces> = world.get();
        interfaces.subscribe(|world, event| {
            let neighbors = || world.get::<Neighbors>();
            match event {
                IfEvent::Admin(sw_if, false) | IfEvent::Link(sw_if, false) => {
                    neighbors().remove_if(world, |n| n.sw_if == sw_if && !n.is_static);
                    neighbors().forget_open(world, sw_if);
                }
                IfEvent::Admin(sw_if, true) | IfEvent::Link(sw_if, true) if world.compat_vpp() => {
                    neighbors().forget_fresh(sw_if);
                }
                _ => {}
            }
        });
        let routes = RouteTables::follower(world);
        Self {
            families: [side(), side()],
            subscribers: Mutex::new(vec![routes]),
            used: Mutex::default(),
            interfaces,
            adjacencies,
            nexthops: world.get(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(&sw_if) = deleted.of::<SwIfIndex>() {
            self.remove_if(world, |n| n.sw_if == sw_if);
            self.forget_open(world, sw_if);
        }
    }
}

impl Neighbors {
    fn side(&self, ip6: bool) -> &FamilyNeighbors {
        &self.families[usize::from(ip6)]
    }

    fn table(&self, ip6: bool) -> MutexGuard<'_, Table> {
        self.side(ip6).table.lock().expect("no panic inside")
    }

    /// Starts the process that ages a family's neighbours; `prober` sends the probes.
    pub fn start(&self, world: &World, ip6: bool, prober: Prober) {
        let process = age::Ageing::new(ip6, prober);
        world.processes.spawn(Box::new(process), &self.side(ip6).signal);
    }

    /// Calls `f` after every change, on the control thread.
    pub fn subscribe(&self, f: impl Fn(&World, &NeighborEvent) + Send + Sync + 'static) {
        self.subscribers.lock().expect("no panic inside").push(Arc::new(f));
    }

    fn notify(&self, world: &World, event: NeighborEvent) {
        let all = self.subscribers.lock().expect("no panic inside").clone();
        for subscriber in all {
            subscriber(world, &event);
        }
    }

    /// Wakes the ageing process if an entry is due before it wakes by itself.
    fn reschedule(&self, ip6: bool) {
        let next = self.table(ip6).next_due();
        let side = self.side(ip6);
        let wakes = *side.wakes.lock().expect("no panic inside");
        if next.is_some_and(|next| wakes.is_none_or(|wakes| next < wakes)) {
            side.signal.raise();
        }
    }

    /// Adds or replaces an entry. A static entry stays static until it is removed.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or has no neighbours, an address that can't be a
    /// neighbour's (−7), a static entry with another MAC address (−2, as in VPP), a full table.
    pub fn set(&self, world: &World, new: Neighbor) -> Result<(), Error> {
        let interface = self.interfaces.get(new.sw_if)?;
        if interface.kind != IfKind::Ethernet {
            return Err(Error::unsupported(format!(
                "{} carries no Ethernet frames",
                interface.name
            )));
        }
        // An operator may configure a group MAC address that the stations of a cluster listen to. A
        // learned MAC address can't be a group (RFC 1812 3.3.2).
        let is_group = new.mac.is_broadcast() || new.mac.is_multicast() && !new.is_static;
        if is_group || new.mac.is_zero() {
            return Err(Error::parse(wire::not_one_station(new.mac)).retval(retval::INVALID_VALUE));
        }
        if new.ip.is_multicast() || new.ip.is_unspecified() {
            return Err(Error::parse(wire::not_one_host(new.ip)).retval(retval::INVALID_VALUE));
        }
        let ip6 = new.ip.is_ipv6();
        let old = self.table(ip6).get(new.key());
        let kept = old.is_some_and(|old| old.is_static && !new.is_static);
        if let Some(old) = old.filter(|old| kept && old.mac != new.mac) {
            let why = format!("{} is set for good at {}: remove that first", old.ip, old.mac);
            return Err(Error::failed(why).retval(retval::INVALID_SW_IF_INDEX));
        }
        let new = Neighbor {
            updated: world.clock.now(),
            state: NeighborState::Reachable,
            is_static: new.is_static || kept,
            ..new
        };
        let set = self.with_usage(world, |usage| self.table(ip6).set(new, usage));
        let gone = set.map_err(|_| {
            let limit = self.config(ip6).limit;
            Error::limit(format!(
                "the table is full: its limit is {limit} (set ip neighbor-config)"
            ))
            .retval(retval::LIMIT_EXCEEDED)
        })?;
        if let Some(gone) = gone {
            self.forget(world, gone, RemovalReason::Recycled);
        }
        self.install(world, new, old);
        self.answered(world, new);
        self.reschedule(ip6);
        Ok(())
    }

    /// Records that a protocol has solicited an address: an answer will be accepted.
    pub fn note_solicitation(&self, world: &World, sw_if: SwIfIndex, ip: IpAddr) {
        self.table(ip.is_ipv6()).note_solicitation(Key { sw_if, ip }, world.clock.now());
    }

    /// Forgets the pending solicitations on an interface, and the next hops there that didn't
    /// answer.
    fn forget_open(&self, world: &World, sw_if: SwIfIndex) {
        [false, true].into_iter().for_each(|ip6| self.table(ip6).forget_asked(sw_if));
        self.forgive(world, |key| key.sw_if == sw_if);
    }

    /// Learns from a message that a protocol has received: `ip` is at `mac`. The protocol has
    /// validated both.
    pub fn learn(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        ip: IpAddr,
        mac: MacAddr,
        evidence: Evidence,
    ) -> LearnResult {
        if !self.interfaces.get(sw_if).is_ok_and(|i| i.admin_up && i.kind == IfKind::Ethernet) {
            return LearnResult::Refused(Refusal::Down);
        }
        let key = Key { sw_if, ip };
        let old = self.get(sw_if, ip);
        let now = world.clock.now();
        let learned = self.with_usage(world, |usage| {
            self.table(ip.is_ipv6()).learn(key, mac, evidence, now, usage)
        });
        let new = self.table(ip.is_ipv6()).get(key);
        match (learned, new) {
            (LearnResult::Added { gone }, Some(new)) => {
                if let Some(gone) = gone {
                    self.forget(world, gone, RemovalReason::Recycled);
                }
                self.install(world, new, None);
            }
            (LearnResult::Moved { from }, Some(new)) => {
                self.install(world, new, old.or(Some(Neighbor { mac: from, ..new })));
            }
            // VPP sends an event for each message that an entry is learned from.
            (LearnResult::Confirmed { .. }, Some(new))
                if world.compat_vpp() || old.is_some_and(|old| old.router != new.router) =>
            {
                self.notify(world, NeighborEvent::Set { new, old });
            }
            _ => {}
        }
        if let Some(new) = new {
            self.answered(world, new);
        }
        self.reschedule(ip.is_ipv6());
        learned
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// One that isn't there (−6).
    pub fn remove(&self, world: &World, sw_if: SwIfIndex, ip: IpAddr) -> Result<Neighbor, Error> {
        let gone = self.table(ip.is_ipv6()).remove(Key { sw_if, ip });
        let gone = gone.ok_or_else(|| {
            let name = self.interfaces.name(sw_if);
            Error::not_found(format!("{name} has no neighbour {ip}")).retval(retval::NO_SUCH_ENTRY)
        })?;
        self.forget(world, gone, RemovalReason::Removed);
        Ok(gone)
    }

    /// Removes all entries that `gone` selects, and returns their number.
    pub fn remove_if(&self, world: &World, gone: impl Fn(&Neighbor) -> bool) -> usize {
        let mut n = 0;
        for ip6 in [false, true] {
            let all = self.table(ip6).remove_if(&gone);
            n += all.len();
            all.into_iter().for_each(|gone| self.forget(world, gone, RemovalReason::Removed));
        }
        n
    }

    /// Removes a family's dynamic entries, on one interface or on all, and forgets silent next
    /// hops. Returns the number of entries.
    pub fn flush(&self, world: &World, ip6: bool, sw_if: Option<SwIfIndex>) -> usize {
        let chosen =
            |key: Key| key.ip.is_ipv6() == ip6 && sw_if.is_none_or(|sw_if| key.sw_if == sw_if);
        let n = self.remove_if(world, |n| !n.is_static && chosen(n.key()));
        self.forgive(world, chosen);
        n
    }

    /// An entry.
    pub fn get(&self, sw_if: SwIfIndex, ip: IpAddr) -> Option<Neighbor> {
        self.table(ip.is_ipv6()).get(Key { sw_if, ip })
    }

    /// A family's entries, on one interface or on all, in order of interface and address.
    pub fn list(&self, ip6: bool, sw_if: Option<SwIfIndex>) -> Vec<Neighbor> {
        let table = self.table(ip6);
        let mut all: Vec<Neighbor> =
            table.iter().filter(|n| sw_if.is_none_or(|sw_if| n.sw_if == sw_if)).copied().collect();
        all.sort_unstable_by_key(Neighbor::key);
        all
    }

    /// At most `n` of a family's entries after `after` (or from the first), on one interface or on
    /// all, in order of interface and address: for walks in slices. The table may change
    /// between two calls: an entry that exists all the time is returned once.
    pub fn list_from(
        &self,
        ip6: bool,
        sw_if: Option<SwIfIndex>,
        after: Option<(SwIfIndex, IpAddr)>,
        n: usize,
    ) -> Vec<Neighbor> {
        let after = after.map(|(sw_if, ip)| Key { sw_if, ip });
        let table = self.table(ip6);
        let behind = table.iter().filter(|n| after.is_none_or(|after| n.key() > after));
        let mut all: Vec<&Neighbor> = Vec::new();
        for one in behind.filter(|n| sw_if.is_none_or(|sw_if| n.sw_if == sw_if)) {
            all.push(one);
            // Keeps the `n` lowest in linear time: half of 2n candidates are dropped at once.
            if all.len() == 2 * n {
                all.select_nth_unstable_by_key(n, |n| n.key());
                all.truncate(n);
            }
        }
        all.sort_unstable_by_key(|n| n.key());
        all.truncate(n);
        all.into_iter().copied().collect()
    }

    /// Number of entries of a family.
    pub fn len(&self, ip6: bool) -> usize {
        self.table(ip6).len()
    }

    /// Returns true if a family has no entry.
    pub fn is_empty(&self, ip6: bool) -> bool {
        self.len(ip6) == 0
    }

    /// The interface with most of a family's dynamic entries, and their number.
    pub fn fullest(&self, ip6: bool) -> Option<(SwIfIndex, usize)> {
        self.table(ip6).fullest()
    }

    /// The configuration of a family: limits and times.
    pub fn config(&self, ip6: bool) -> NeighborConfig {
        self.table(ip6).config()
    }

    /// Changes a family's limits and times. Entries beyond a smaller limit stay until they are
    /// removed otherwise.
    pub fn configure(&self, ip6: bool, config: NeighborConfig) {
        self.table(ip6).configure(config);
        self.side(ip6).signal.raise();
    }

    /// Ages the entries that are due now; returns the time when the next is due.
    fn age(&self, world: &World, ip6: bool, prober: Prober) -> Option<u64> {
        let now = world.clock.now();
        let leads = |n: &Neighbor| silent::is_nexthop(world, n.key());
        let due = self.table(ip6).take_due(now, AT_ONCE, |n| self.is_used(n), leads);
        let (mut probes, mut lost, mut aged) = (Vec::new(), Vec::new(), Vec::new());
        for due in due {
            match due {
                Due::Probe(n) => probes.push(n),
                Due::Lost(n) => lost.push(n),
                Due::Aged(n) => aged.push(n),
            }
        }
        // First moves traffic away from silent next hops.
        let hops: Vec<Key> = lost.iter().map(Neighbor::key).collect();
        self.note_silent(world, &hops);
        lost.into_iter().for_each(|n| self.forget(world, n, RemovalReason::Unanswered));
        aged.into_iter().for_each(|n| self.forget(world, n, RemovalReason::Aged));
        probes.extend(self.seek(world, ip6));
        let more = self.take_fresh(world, ip6, &mut probes);
        if !probes.is_empty() {
            prober(world, &probes);
        }
        // The rest a little later: a table that grew in a burst is not probed in a burst.
        let next = if more { Some(now) } else { self.table(ip6).next_due() };
        let next = next.map(|next| next.max(now + PAUSE));
        *self.side(ip6).wakes.lock().expect("no panic inside") = next;
        next
    }

    /// The first adjacency of a neighbour, and the number of packets sent to the neighbour.
    fn sent(&self, n: &Neighbor) -> Option<(AdjIndex, u64)> {
        let all = self.adjacencies.find_neighbors(n.sw_if, n.ip);
        Some((*all.first()?, all.iter().map(|adj| self.adjacencies.counters.sum(adj.at()).0).sum()))
    }

    /// Returns true if packets were sent to a neighbour since the last check.
    fn is_used(&self, n: &Neighbor) -> bool {
        let Some((adj, packets)) = self.sent(n) else { return false };
        self.used.lock().expect("no panic inside").insert(adj, packets).unwrap_or(0) != packets
    }

    fn with_usage<R>(&self, world: &World, f: impl FnOnce(Usage<'_>) -> R) -> R {
        f(Usage {
            sent: &|n| self.sent(n).is_some_and(|(_, packets)| packets > 0),
            leads: &|n| silent::is_nexthop(world, n.key()),
        })
    }

    /// Completes the adjacencies of a neighbour, and notifies the subscribers.
    fn install(&self, world: &World, new: Neighbor, old: Option<Neighbor>) {
        let Ok(interface) = self.interfaces.get(new.sw_if) else { return };
        if old.is_none() {
            // The entry keeps a reference on the adjacency until it is removed.
            let Ok(_) = self.adjacencies.neighbor(world, new.sw_if, new.ip) else { return };
        }
        if old.is_none_or(|old| old.mac != new.mac) {
            let ethertype = if new.ip.is_ipv6() { EtherType::IP6 } else { EtherType::IP4 };
            let rewrite = ethernet_rewrite(&interface, new.mac, ethertype);
            self.adjacencies.complete(world, new.sw_if, new.ip, &rewrite);
        }
        self.notify(world, NeighborEvent::Set { new, old });
    }

    fn forget(&self, world: &World, gone: Neighbor, why: RemovalReason) {
        if let Some(adj) = self.adjacencies.incomplete(world, gone.sw_if, gone.ip) {
            self.used.lock().expect("no panic inside").remove(&adj);
            self.adjacencies.release(adj);
        }
        self.notify(world, NeighborEvent::Gone { gone, why });
    }
}
