// SPDX-License-Identifier: Apache-2.0
//! The state of layer-2 switching: what workers read, and what control knows.

use crate::domain::{DEFAULT_LEARN_LIMIT, DomainState};
use crate::features::Features;
use crate::mode::Mode;
use crate::state::{Domain, Learned, Port};
use crate::vtr::Rewrites;
use graph::{Deleted, Shared, Signal, SwIfIndex, World};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{GraceTicket, Slots, Turn};
use tables::MacTable;
use tables::mac::{MacEntry, MacKey, MacView};
use wire::MacAddr;

/// What only control reads and writes.
pub struct Control {
    /// Domains by id, without domain 0.
    pub domains: BTreeMap<u32, DomainState>,
    /// Ids by index; `None` for an index that is free. Index 0 is domain 0.
    pub ids: Vec<Option<u32>>,
    /// Indices of deleted domains. A worker may still learn addresses there until the grace period is over; then these are removed, and
    /// the index is free.
    pub retiring: Vec<(u16, GraceTicket)>,
    /// Interfaces in layer-2 mode.
    pub modes: BTreeMap<SwIfIndex, Mode>,
    /// Interfaces whose frames get other tags while they are in layer-2 mode.
    pub rewrites: BTreeMap<SwIfIndex, Rewrites>,
    /// Sub-interfaces that send only frames that they would receive, with their parents.
    pub filtering: BTreeMap<SwIfIndex, SwIfIndex>,
    /// Generation numbers of ports, by interface index. They outlive the mode.
    pub port_generations: HashMap<u32, u8>,
    /// Generation numbers of domains, by index. They outlive the domain.
    pub domain_generations: Vec<u8>,
    /// Learn limit of new domains.
    pub default_limit: u32,
    /// Entries that operators made, by domain id and address. An address may have moved since: then its entry is a learned one.
    pub provisioned: BTreeSet<(u32, MacAddr)>,
}

/// Layer-2 switching of an instance: modes of interfaces, bridge domains, MAC addresses.
pub struct Bridge {
    pub(crate) ports: Slots<Port>,
    pub(crate) domains: Slots<Domain>,
    pub(crate) macs: MacTable,
    /// Addresses learned in all domains.
    pub(crate) learned: Learned,
    /// Nanoseconds that the last scan for old entries took.
    pub(crate) last_scan: AtomicU64,
    /// Wakes the process that forgets old addresses.
    pub(crate) ager: Signal,
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
        };
        let domains = Slots::new(world.qsbr.clone());
        domains.set(0, nothing);
        Self {
            ports: Slots::new(world.qsbr.clone()),
            domains,
            macs: MacTable::new(world.qsbr.clone()),
            learned: Learned::new(DEFAULT_LEARN_LIMIT),
            last_scan: AtomicU64::new(0),
            ager: world.processes.signal(),
            control: Mutex::new(Control {
                domains: BTreeMap::new(),
                ids: vec![Some(0)],
                retiring: Vec::new(),
                modes: BTreeMap::new(),
                rewrites: BTreeMap::new(),
                filtering: BTreeMap::new(),
                port_generations: HashMap::new(),
                domain_generations: vec![0],
                default_limit: DEFAULT_LEARN_LIMIT,
                provisioned: BTreeSet::new(),
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

    /// The MAC addresses, for the lookups of a worker's turn.
    #[inline(always)]
    pub(crate) fn view<'t>(&'t self, turn: &'t Turn<'_>) -> MacView<'t> {
        self.macs.view(turn)
    }

    /// Counts an address that is about to be learned in a domain, unless a limit is reached.
    #[inline]
    pub(crate) fn take(&self, domain: &Domain) -> bool {
        if !domain.learned.take() {
            return false;
        }
        let taken = self.learned.take();
        if !taken {
            domain.learned.give();
        }
        taken
    }

    /// Counts an address that is learned no longer.
    #[inline]
    pub(crate) fn give(&self, domain: &Domain) {
        domain.learned.give();
        self.learned.give();
    }

    /// Control: counts an entry that was removed.
    pub(crate) fn uncount(&self, key: MacKey, entry: MacEntry) {
        if crate::state::is_learned(entry) {
            self.domains.read(key.domain().into(), |domain| {
                if let Some(domain) = domain {
                    self.give(domain);
                }
            });
        }
    }

    /// Seconds that the last scan for old entries took.
    pub fn last_scan(&self) -> f64 {
        self.last_scan.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Addresses learned in all domains, and how many may be.
    pub fn learned(&self) -> (u32, u32) {
        (self.learned.count(), self.learned.limit())
    }
}
