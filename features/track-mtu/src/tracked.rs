// SPDX-License-Identifier: Apache-2.0
//! The tunnels whose MTU is tracked, and the process that tracks it.

use graph::{Deleted, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use net::{AdjIndex, AdjKind, Adjacencies, Interfaces, PathMtus, TooBig};
use path_mtu::Learner;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::Mailbox;
use tunnel::{Identifier, OuterPath, OuterPaths, PathFollower, Quoted};
use wire::{Ip4, Ip6, IpProtocol};

/// Interval at which changes of routes, links and path MTUs are looked for, in nanoseconds.
const INTERVAL: u64 = 1_000_000_000;
/// Tunnels that are looked at in one go: other work of control comes in between.
const PART: usize = 1024;
/// Errors that wait for control at most.
const WAITING: usize = 64;
/// Hashes of ends that workers tell apart.
const HASHES: usize = 4096;
/// The least path MTU that is believed, as in Linux: a forged error can't make tunnels useless. A
/// tunnel whose path carries less gets fragments of outer packets through.
const LEAST: u32 = 552;

/// An MTU that is tracked, as `show tunnel mtu` prints it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mtu {
    /// MTU of the egress, if there is a route to the other end.
    pub egress: Option<u16>,
    /// MTU of the path to the other end, if one is known.
    pub path: Option<u16>,
    /// The resulting limit of inner packets.
    pub limit: Option<u16>,
}

/// An ICMP error about an outer packet that was too big.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reported {
    /// Source of the quoted packet.
    pub local: IpAddr,
    /// Destination of the quoted packet.
    pub remote: IpAddr,
    /// Its protocol.
    pub protocol: IpProtocol,
    /// Its destination port, if it is a UDP datagram; otherwise 0.
    pub port: u16,
    /// The bytes behind its IP header.
    pub header: Quoted,
    /// Its length.
    pub len: usize,
    /// The MTU that the router reports; 0 for none.
    pub mtu: u32,
}

impl Reported {
    /// Returns true if the quoted packet may be one of these tunnels'. Its ends are theirs.
    fn is_of(&self, (_, port, protocol, _): &PathKey) -> bool {
        let is_same = match IpProtocol(*protocol) {
            IpProtocol::IP4 => [IpProtocol::IP4, IpProtocol::IP6].contains(&self.protocol),
            protocol => self.protocol == protocol,
        };
        is_same && self.port == *port
    }
}

/// The ends of an outer packet: the source, and the destination.
type Ends = (IpAddr, IpAddr);

/// The part of the outer packets that tunnels have in common whose packets a router can't tell
/// apart: ends, port, number of the protocol, index of the table.
type PathKey = (Ends, u16, u8, u32);

fn ends(outer: &OuterPath) -> Ends {
    (outer.local, outer.remote)
}

fn key(outer: &OuterPath) -> PathKey {
    (ends(outer), outer.port, outer.protocol.0, outer.table.0)
}

#[derive(Default)]
struct Inner {
    /// The tunnels, each with its limit in force.
    all: BTreeMap<SwIfIndex, (OuterPath, Option<u16>)>,
    /// Number of tunnels of each path by their identifiers, and those by their masks, of which
    /// there are few: a million tunnels may have the same path.
    paths: BTreeMap<PathKey, BTreeMap<u128, HashMap<Identifier, usize>>>,
    /// Where the walk over all goes on, if one is under way.
    next: Option<SwIfIndex>,
    /// The counts of changes that the limits take into account.
    seen: Option<[u64; 3]>,
}

impl Inner {
    /// One more tunnel of this path is there.
    fn enter(&mut self, outer: &OuterPath) {
        let by_mask = self.paths.entry(key(outer)).or_default();
        let tunnels = by_mask.entry(outer.identifier.mask).or_default();
        *tunnels.entry(outer.identifier).or_default() += 1;
    }

    /// A tunnel of this path is there no more.
    fn leave(&mut self, outer: &OuterPath) {
        let (key, mask) = (key(outer), outer.identifier.mask);
        let Some(by_mask) = self.paths.get_mut(&key) else { return };
        let Some(tunnels) = by_mask.get_mut(&mask) else { return };
        if let Some(count) = tunnels.get_mut(&outer.identifier) {
            *count -= 1;
            if *count == 0 {
                tunnels.remove(&outer.identifier);
            }
        }
        if tunnels.is_empty() {
            by_mask.remove(&mask);
        }
        if by_mask.is_empty() {
            self.paths.remove(&key);
        }
    }
}

/// The tunnels whose MTU is tracked.
pub struct TrackedMtus {
    inner: Mutex<Inner>,
    /// Number of tunnels by the hash of their ends, for workers: most errors about other packets
    /// are told apart without the control thread.
    by_hash: Box<[AtomicU32]>,
    hash: RandomState,
    reports: Mailbox<Reported>,
    signal: Signal,
}

impl Shared for TrackedMtus {
    fn make(world: &World) -> Self {
        Self {
            inner: Mutex::default(),
            by_hash: std::iter::repeat_with(AtomicU32::default).take(HASHES).collect(),
            hash: RandomState::new(),
            reports: Mailbox::new(WAITING, world.processes.waker().clone()),
            signal: world.processes.signal(),
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        let Some(sw_if) = deleted.of::<SwIfIndex>() else { return };
        let mut inner = self.inner();
        let Some((outer, _)) = inner.all.remove(sw_if) else { return };
        inner.leave(&outer);
        self.counter(ends(&outer)).fetch_sub(1, Ordering::Relaxed);
    }
}

impl TrackedMtus {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    fn counter(&self, ends: Ends) -> &AtomicU32 {
        &self.by_hash[self.hash.hash_one(ends) as usize % HASHES]
    }

    /// Starts the process, and has tunnels name their paths.
    pub(crate) fn start(world: &World) {
        let this: Arc<Self> = world.get();
        world.processes.spawn(Box::new(TrackProcess(this.clone())), &this.signal);
        world.get::<OuterPaths>().register(this);
    }

    /// Takes an error from a worker. `None` if no tunnel has these ends, false if too many wait.
    pub(crate) fn report(&self, reported: Reported) -> Option<bool> {
        if self.counter((reported.local, reported.remote)).load(Ordering::Relaxed) == 0 {
            return None;
        }
        let posted = self.reports.post(reported).is_ok();
        if posted {
            self.signal.raise();
        }
        Some(posted)
    }

    /// The tracked tunnels.
    pub(crate) fn interfaces(&self) -> Vec<SwIfIndex> {
        self.inner().all.keys().copied().collect()
    }

    /// The MTU of one of them, and its outer path.
    pub(crate) fn get(&self, world: &World, sw_if: SwIfIndex) -> Option<(OuterPath, Mtu)> {
        let (outer, _) = *self.inner().all.get(&sw_if)?;
        Some((outer, mtu(world, &outer)))
    }

    fn update(&self, world: &World, sw_if: SwIfIndex, outer: OuterPath, old: Option<u16>) {
        let Mtu { limit, .. } = mtu(world, &outer);
        // It may be on its way out.
        if limit == old || world.get::<Interfaces>().limit_mtu(world, sw_if, limit).is_err() {
            return;
        }
        if let Some((_, now)) = self.inner().all.get_mut(&sw_if) {
            *now = limit;
        }
    }

    /// Learns what routers reported about outer packets of these tunnels.
    fn learn(&self, world: &World) {
        let (mut four, mut six) = (Vec::new(), Vec::new());
        self.reports.drain(|reported| {
            let ends = (reported.local, reported.remote);
            let inner = self.inner();
            let paths = inner.paths.range((ends, 0, 0, 0)..=(ends, u16::MAX, u8::MAX, u32::MAX));
            // Tunnels with the same ends may be in several tables.
            for ((_, _, _, table), by_mask) in paths.filter(|(key, _)| reported.is_of(key)) {
                let is_of = |(mask, tunnels): (&u128, &HashMap<Identifier, usize>)| {
                    let identifier = reported.header.identifier(*mask);
                    identifier.is_some_and(|identifier| tunnels.contains_key(&identifier))
                };
                let (table, Reported { len, mtu, .. }) = (*table, reported);
                // A shorter packet is too big for no path that is used, and every link carries 68
                // bytes (RFC 791 3.2).
                let is_false = len <= LEAST as usize || (1..68).contains(&mtu);
                if is_false || !by_mask.iter().any(is_of) {
                    continue;
                }
                let mtu = if mtu == 0 { 0 } else { mtu.max(LEAST) };
                match reported.remote {
                    IpAddr::V4(to) => four.push(TooBig { table, to, len, mtu }),
                    IpAddr::V6(to) => six.push(TooBig { table, to, len, mtu }),
                }
            }
        });
        world.get::<Learner<Ip4>>().learn(world, &four);
        world.get::<Learner<Ip6>>().learn(world, &six);
    }

    fn run(&self, world: &World) -> Sleep {
        self.learn(world);
        let seen = Some([
            world.get::<Adjacencies>().stores(),
            world.get::<PathMtus<Ip4>>().changes(),
            world.get::<PathMtus<Ip6>>().changes(),
        ]);
        let part: Vec<_> = {
            let mut inner = self.inner();
            if inner.all.is_empty() {
                return Sleep::Event;
            }
            // Changes during a walk cause the next one.
            if inner.next.is_none() && inner.seen != seen {
                (inner.seen, inner.next) = (seen, Some(SwIfIndex(0)));
            }
            let part = inner.next.into_iter().flat_map(|next| inner.all.range(next..).take(PART));
            let part: Vec<_> =
                part.map(|(sw_if, (outer, limit))| (*sw_if, *outer, *limit)).collect();
            let last = part.last().filter(|_| part.len() == PART);
            inner.next = last.map(|(sw_if, ..)| SwIfIndex(sw_if.0 + 1));
            part
        };
        part.into_iter().for_each(|(sw_if, outer, limit)| self.update(world, sw_if, outer, limit));
        let pause = if self.inner().next.is_some() { 0 } else { INTERVAL };
        Sleep::Until(world.clock.now() + pause)
    }
}

impl PathFollower for TrackedMtus {
    fn add(&self, world: &World, sw_if: SwIfIndex, outer: OuterPath) {
        {
            let mut inner = self.inner();
            inner.all.insert(sw_if, (outer, None));
            inner.enter(&outer);
        }
        self.counter(ends(&outer)).fetch_add(1, Ordering::Relaxed);
        self.update(world, sw_if, outer, None);
        self.signal.raise();
    }

    fn set_identifier(&self, sw_if: SwIfIndex, identifier: Identifier) {
        let mut inner = self.inner();
        let Some((old, limit)) = inner.all.get(&sw_if).copied() else { return };
        let new = OuterPath { identifier, ..old };
        inner.leave(&old);
        inner.enter(&new);
        inner.all.insert(sw_if, (new, limit));
    }
}

struct TrackProcess(Arc<TrackedMtus>);

impl Process for TrackProcess {
    fn name(&self) -> &'static str {
        "track-mtu-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world)
    }
}

/// The MTU that a tunnel's path gives now.
fn mtu(world: &World, outer: &OuterPath) -> Mtu {
    let egress = egress(&world.get::<Adjacencies>(), outer.adj);
    let path = match outer.remote {
        IpAddr::V4(remote) => world.get::<PathMtus<Ip4>>().to(outer.table, remote),
        IpAddr::V6(remote) => world.get::<PathMtus<Ip6>>().to(outer.table, remote),
    };
    let least = [egress, path].into_iter().flatten().min();
    Mtu { egress, path, limit: least.map(|mtu| mtu.saturating_sub(outer.overhead)) }
}

/// The least MTU of the links that an adjacency leads to; `None` if packets don't leave there.
fn egress(adjacencies: &Adjacencies, index: AdjIndex) -> Option<u16> {
    let leaves = |kind| {
        matches!(kind, AdjKind::Rewrite | AdjKind::Incomplete | AdjKind::Glean | AdjKind::Multicast)
    };
    let members = adjacencies.members(index).into_iter();
    members.filter(|info| leaves(info.adj.kind)).map(|info| info.adj.mtu).min()
}
