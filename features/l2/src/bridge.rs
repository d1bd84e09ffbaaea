// SPDX-License-Identifier: Apache-2.0
//! The state of layer-2 switching: the parts that workers read, and the main thread's.

use crate::attach::{Attached, AttachedNodes};
use crate::domain::{DEFAULT_LEARN_LIMIT, DomainState};
use crate::features::Features;
use crate::mac_events::MacEvents;
use crate::mode::Mode;
use crate::ordinary::BypassedCounters;
use crate::pbb::Backbone;
use crate::sink::SinkEnded;
use crate::startup_conf::Startup;
use crate::state::{Domain, Learned, Port, is_learned};
use crate::storm::Storms;
use crate::termination::Sightings;
use crate::termination::snoop::Limits;
use graph::{Deleted, Shared, Signal, SwIfIndex, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{GraceTicket, Slots, Turn};
use tables::MacTable;
use tables::mac::{MacEntry, MacKey};
use wire::MacAddr;

/// The state that only the main thread reads and writes.
pub struct Control {
    /// Domains by id, without domain 0.
    pub domains: BTreeMap<u32, DomainState>,
    /// Ids by index; `None` for an index that is free. Index 0 is domain 0.
    pub ids: Vec<Option<u32>>,
    /// Deleted domains whose indices aren't free yet.
    pub retiring: Vec<Retiring>,
    /// Interfaces in layer-2 mode.
    pub modes: BTreeMap<SwIfIndex, Mode>,
    /// Sub-interfaces with an EFP filter.
    pub filtering: BTreeSet<SwIfIndex>,
    /// Interfaces of other plugins that take the frames of a cross-connect.
    pub sinks: BTreeMap<SwIfIndex, SinkEnded>,
    /// Features of other plugins, by interface.
    pub attached: BTreeMap<SwIfIndex, Attached>,
    /// Generation numbers of ports, by interface index. They outlive the mode.
    pub port_generations: Vec<u8>,
    /// Generation numbers of domains, by index. They outlive the domain.
    pub domain_generations: Vec<u8>,
    /// Learn limit of new domains.
    pub default_limit: u32,
    /// Entries that operators made, by domain id and address. An address may have moved since:
    /// then its entry is a learned one.
    pub provisioned: BTreeSet<(u32, MacAddr)>,
    /// Number of hosts that all domains have snooped.
    pub snooped: usize,
    /// Limits of the number of snooped hosts.
    pub snoop_limits: Limits,
    /// Number of flushes so far. A flush increments a generation number, which makes entries
    /// stale; a sweep removes these.
    pub flushes: u64,
    /// The value of `flushes` when the last complete sweep began.
    pub swept: u64,
}

/// The index of a deleted domain. A worker may learn addresses there until the grace period is
/// over. A sweep after that removes them, and the index is free.
pub struct Retiring {
    pub index: u16,
    pub grace: GraceTicket,
    /// Set when the grace period is over: the value that `swept` has to reach.
    pub sweep: Option<u64>,
}

/// Layer-2 switching of an instance: modes of interfaces, bridge domains, MAC addresses.
pub struct Bridge {
    pub(crate) ports: Slots<Port>,
    /// Backbone rewrites of the ports that have one.
    pub(crate) backbones: Slots<Backbone>,
    pub(crate) domains: Slots<Domain>,
    /// Limits of flooded frames.
    pub(crate) storms: Storms,
    pub(crate) macs: MacTable,
    /// Number and limit of addresses learned in all domains.
    pub(crate) learned: Learned,
    /// Number of addresses learned at each port.
    pub(crate) learned_at: Slots<AtomicU32>,
    /// Nanoseconds that the last scan for old entries took.
    pub(crate) last_scan: AtomicU64,
    /// Events of MAC addresses for a client that asked for them.
    pub(crate) mac_events: MacEvents,
    /// Queue of hosts that workers have seen, to clients and to domains that snoop.
    pub(crate) sightings: Sightings,
    /// Wakes the process that forgets old addresses.
    pub(crate) ager: Signal,
    /// True if a worker has requested a larger table, and the growth is pending.
    pub(crate) is_full: AtomicBool,
    /// Wakes the process that forgets old snooped hosts.
    pub(crate) snoop_ager: Signal,
    /// The nodes of features of other plugins.
    pub(crate) attached: AttachedNodes,
    /// Counters of nodes that ordinary frames don't visit, if these nodes are there.
    pub(crate) bypassed: Option<BypassedCounters>,
    control: Mutex<Control>,
}

impl Shared for Bridge {
    fn make(world: &World) -> Self {
        let nothing = Domain {
            features: Features::DROP,
            generation: 0,
            learned: Arc::new(Learned::new(0)),
            members: Vec::new(),
            uu_fwd: None,
            hosts: None,
            snoops: false,
        };
        let domains = Slots::new(world.qsbr.clone());
        domains.set(0, nothing);
        Self {
            ports: Slots::new(world.qsbr.clone()),
            backbones: Slots::new(world.qsbr.clone()),
            domains,
            storms: Storms::new(world),
            macs: MacTable::new(world.qsbr.clone()),
            learned: Learned::new(world.startup::<Startup>().limit()),
            learned_at: Slots::new(world.qsbr.clone()),
            last_scan: AtomicU64::new(0),
            mac_events: MacEvents::new(world),
            sightings: Sightings::new(world),
            ager: world.processes.signal(),
            is_full: AtomicBool::new(false),
            snoop_ager: world.processes.signal(),
            attached: AttachedNodes::default(),
            bypassed: BypassedCounters::of(world),
            control: Mutex::new(Control {
                domains: BTreeMap::new(),
                ids: vec![Some(0)],
                retiring: Vec::new(),
                modes: BTreeMap::new(),
                filtering: BTreeSet::new(),
                sinks: BTreeMap::new(),
                attached: BTreeMap::new(),
                port_generations: Vec::new(),
                domain_generations: vec![0],
                default_limit: DEFAULT_LEARN_LIMIT,
                provisioned: BTreeSet::new(),
                snooped: 0,
                snoop_limits: Limits::default(),
                flushes: 0,
                swept: 0,
            }),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.forget_interface(world, *sw_if);
        }
    }
}

impl Bridge {
    pub(crate) fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no panic inside")
    }

    /// Counts an address that is about to be learned at a port, unless a limit is reached: that of
    /// the domain, that of all domains, or the port's share. A port may have as many addresses
    /// as there is room left for: one that sends ever new ones gets half of the table,
    /// and others always find room.
    #[inline]
    pub(crate) fn take(&self, domain: &Domain, port: u32, turn: &Turn<'_>) -> bool {
        let Some(at_port) = self.learned_at.get(port, turn) else { return false };
        let (count, limit) = self.learned();
        if at_port.load(Ordering::Relaxed) >= limit.saturating_sub(count) || !domain.learned.take()
        {
            return false;
        }
        if !self.learned.take() {
            domain.learned.give();
            return false;
        }
        at_port.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Requests a larger table from the main thread, once until it has checked.
    #[cold]
    pub(crate) fn ask_for_room(&self) {
        if !self.is_full.swap(true, Ordering::Relaxed) {
            self.ager.raise();
        }
    }

    /// Takes back [`Self::take`].
    #[inline]
    pub(crate) fn give(&self, domain: &Domain, port: u32, turn: &Turn<'_>) {
        domain.learned.give();
        self.learned.give();
        if let Some(at_port) = self.learned_at.get(port, turn) {
            at_port.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Counts a learned address that has moved to another port.
    #[inline]
    pub(crate) fn note_move(&self, from: u32, to: u32, turn: &Turn<'_>) {
        if let (Some(from), Some(to)) =
            (self.learned_at.get(from, turn), self.learned_at.get(to, turn))
        {
            from.fetch_sub(1, Ordering::Relaxed);
            to.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Control: counts an entry that was removed.
    pub(crate) fn uncount(&self, key: MacKey, entry: MacEntry) {
        if !is_learned(entry) {
            return;
        }
        self.mac_events.note_removed(key, entry);
        self.domains.read(key.domain().into(), |domain| {
            domain.iter().for_each(|domain| domain.learned.give())
        });
        self.learned.give();
        self.learned_at.read(entry.port, |at_port| {
            at_port.iter().for_each(|at_port| _ = at_port.fetch_sub(1, Ordering::Relaxed));
        });
    }

    /// Seconds that the last scan for old entries took.
    pub fn last_scan(&self) -> f64 {
        self.last_scan.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Returns the number of addresses learned in all domains, and its limit.
    pub fn learned(&self) -> (u32, u32) {
        (self.learned.count(), self.learned.limit())
    }
}
