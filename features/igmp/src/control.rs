// SPDX-License-Identifier: Apache-2.0
//! All interfaces with IGMP: their control state, and the operations on them.

use crate::filter::{Filter, Sources};
use crate::host::Host;
use crate::message::Message;
use crate::ranges::{RangeKind, Ranges};
use crate::router::Router;
use crate::table::{Link, Mode, Table, Timers};
use cli::{Error, Result};
use graph::{Deleted, Shared, Signal, SwIfIndex, World};
use msg::retval;
use net::{DeletedTable, Interfaces};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Mailbox, Slots, Turn};
use wire::{Ip4, Ip4Prefix};

/// Messages of one interface that wait for control at most.
pub const WAITING: usize = 16;
/// Maximum number of groups that an interface listens to as a host, and of sources of one.
const MAX_LISTENS: usize = 1024;

/// IGMP.
pub struct Igmp {
    table: Mutex<Table>,
    enabled: Slots<Arc<Mailbox<Message>>>,
    pub signal: Signal,
    /// True if VPP is followed where RFCs leave a choice.
    pub compat: bool,
    random: RandomState,
    drawn: AtomicU64,
}

impl Shared for Igmp {
    fn make(world: &World) -> Self {
        Self {
            table: Mutex::default(),
            enabled: Slots::new(world.qsbr.clone()),
            signal: world.processes.signal(),
            compat: world.compat_vpp(),
            random: RandomState::new(),
            drawn: AtomicU64::new(0),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.remove(world, *sw_if);
        }
        if let Some(table) = deleted.of::<DeletedTable<Ip4>>() {
            // The table has taken its routes along.
            let mut inner = self.table();
            inner.installed.retain(|(index, _), _| *index != table.index);
            inner.delivering.remove(&table.index);
            drop(inner);
            table.id.iter().for_each(|vrf| self.delete_proxy(world, *vrf));
        }
    }
}

/// An error with this return value.
pub fn error(retval: retval::Retval, text: impl Into<String>) -> Error {
    Error::failed(text).retval(retval)
}

impl Igmp {
    pub fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no panic inside")
    }

    /// Queue to control for messages received on an interface; `None` if IGMP isn't enabled there.
    #[inline(always)]
    pub fn mailbox<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Mailbox<Message>> {
        Some(self.enabled.get(sw_if, turn)?)
    }

    /// A random number below `n`.
    pub fn random(&self, n: u64) -> u64 {
        self.random.hash_one(self.drawn.fetch_add(1, Ordering::Relaxed)) % n.max(1)
    }

    /// The number of reports of a change. VPP repeats only the first report of a group that is
    /// listened to.
    pub fn reports(&self, is_first: bool) -> u8 {
        if self.compat && !is_first { 1 } else { crate::packet::ROBUSTNESS }
    }

    /// Enables IGMP on an interface.
    ///
    /// # Errors
    /// An interface that isn't there (−2), or has it already (−1).
    pub fn enable(&self, world: &World, sw_if: SwIfIndex, mode: Mode) -> Result<()> {
        let name = world.get::<Interfaces>().get(sw_if)?.name;
        {
            let mut table = self.table();
            if let Some(link) = table.links.get(&sw_if) {
                let mode = link.mode.word();
                let text = format!("{name} has IGMP already, as a {mode}");
                return Err(error(retval::UNSPECIFIED, text));
            }
            let received = Arc::new(Mailbox::new(WAITING, world.processes.waker().clone()));
            self.enabled.set(sw_if.0, received.clone());
            let link = Link {
                mode,
                listens: BTreeMap::new(),
                proxied: BTreeMap::new(),
                host: Host::default(),
                router: Router::default(),
                next_query: world.clock.now(),
                other_querier: None,
                refused: 0,
                received,
            };
            table.links.insert(sw_if, link);
        }
        self.deliver(world);
        self.signal.raise();
        world.note_config_change();
        Ok(())
    }

    /// Disables IGMP on an interface: a host leaves its groups, and a router forgets those of its
    /// hosts.
    ///
    /// # Errors
    /// An interface that isn't there (−2), has no IGMP (−1) or another mode (−71).
    pub fn disable(&self, world: &World, sw_if: SwIfIndex, mode: Mode) -> Result<()> {
        let name = world.get::<Interfaces>().get(sw_if)?.name;
        match self.table().links.get(&sw_if).map(|link| link.mode) {
            Some(is) if is == mode => {}
            Some(is) => {
                let text = format!("{name} has IGMP as a {}", is.word());
                return Err(error(retval::INVALID_INTERFACE, text));
            }
            None => return Err(error(retval::UNSPECIFIED, format!("{name} has no IGMP"))),
        }
        self.clear(world, sw_if);
        self.remove(world, sw_if);
        world.note_config_change();
        Ok(())
    }

    /// Removes an interface from everything.
    fn remove(&self, world: &World, sw_if: SwIfIndex) {
        if !self.table().links.contains_key(&sw_if) {
            return;
        }
        self.leave_proxies(world, sw_if);
        // The last reports of a host.
        self.run(world);
        self.table().links.remove(&sw_if);
        self.enabled.clear(sw_if.0);
        self.deliver(world);
        self.signal.raise();
    }

    /// Removes all groups of an interface; no change without IGMP.
    pub fn clear(&self, world: &World, sw_if: SwIfIndex) {
        let (now, reports) = (world.clock.now(), self.reports(false));
        let lost = {
            let mut table = self.table();
            let Some(link) = table.links.get_mut(&sw_if) else { return };
            for group in std::mem::take(&mut link.listens).into_keys() {
                link.update(now, group, reports);
            }
            let router = std::mem::take(&mut link.router);
            router.groups().map(|(group, _)| (group, router.listed(group))).collect::<Vec<_>>()
        };
        for (group, before) in lost {
            self.group_changed(world, sw_if, group, &before);
        }
        self.signal.raise();
        world.note_config_change();
    }

    /// Sets the sources of a group that an interface listens to; a filter without any leaves the
    /// group.
    ///
    /// # Errors
    /// An interface without IGMP, or that is a router (−71), or is down (−74); no group or no
    /// sources (−7); all sources of a source-specific group (−7); too many (−162).
    pub fn listen(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        group: Ipv4Addr,
        filter: Filter,
    ) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let name = &interface.name;
        let mut table = self.table();
        let Table { links, ranges, .. } = &mut *table;
        let Some(link) = links.get_mut(&sw_if).filter(|link| link.mode == Mode::Host) else {
            let text = format!("{name} has no IGMP as a host");
            return Err(error(retval::INVALID_INTERFACE, text).hint("`igmp enable host'"));
        };
        if !interface.admin_up {
            return Err(error(retval::UNEXPECTED_INTF_STATE, format!("{name} is down")));
        }
        if !group.is_multicast() || group == wire::igmp::ALL_HOSTS {
            let text = format!("{group} is no group to listen to");
            return Err(error(retval::INVALID_VALUE, text));
        }
        if let Some(wrong) = filter.sources.iter().find(|source| !can_send(**source)) {
            let text = format!("{wrong} is not the address of a source");
            return Err(error(retval::INVALID_VALUE, text));
        }
        if filter.exclude && ranges.is_ssm(group) {
            let text = format!("{group} is listened to only from named sources");
            return Err(error(retval::INVALID_VALUE, text).hint("`show igmp ssm-ranges'"));
        }
        let is_first = !link.listens.contains_key(&group);
        if is_first && link.listens.len() >= MAX_LISTENS || filter.sources.len() > MAX_LISTENS {
            let text = format!("{name} listens to {MAX_LISTENS} groups and sources of one at most");
            return Err(error(retval::LIMIT_EXCEEDED, text));
        }
        match filter.is_empty() {
            true => _ = link.listens.remove(&group),
            false => _ = link.listens.insert(group, filter),
        }
        link.update(world.clock.now(), group, self.reports(is_first));
        self.signal.raise();
        world.note_config_change();
        Ok(())
    }

    /// Sets the semantics of a range of groups.
    ///
    /// # Errors
    /// A range that isn't one of groups (−7); too many (−162).
    pub fn set_range(&self, world: &World, range: Ip4Prefix, kind: RangeKind) -> Result<()> {
        if !range.addr().is_multicast() || range.len() < 4 {
            return Err(error(retval::INVALID_VALUE, format!("{range} is no range of groups")));
        }
        if !self.table().ranges.set(range, kind) {
            let text = format!("there are {} ranges already", Ranges::MOST);
            return Err(error(retval::LIMIT_EXCEEDED, text));
        }
        world.note_config_change();
        Ok(())
    }

    /// Changes the times of all interfaces, in seconds; `None` leaves one as it is.
    ///
    /// # Errors
    /// A time of 0 (−7).
    pub fn set_timers(
        &self,
        query: Option<u32>,
        source: Option<u32>,
        leave: Option<u32>,
    ) -> Result<()> {
        if [query, source, leave].contains(&Some(0)) {
            return Err(error(retval::INVALID_VALUE, "a timer is at least 1 s"));
        }
        let mut table = self.table();
        let old = table.timers;
        table.timers = Timers {
            query: query.unwrap_or(old.query),
            source: source.unwrap_or(old.source),
            leave: leave.unwrap_or(old.leave),
        };
        self.signal.raise();
        Ok(())
    }

    /// The interfaces with IGMP.
    pub fn interfaces(&self) -> Vec<SwIfIndex> {
        self.table().links.keys().copied().collect()
    }

    /// The groups and sources of an interface.
    pub fn list(&self, sw_if: SwIfIndex) -> Vec<(Ipv4Addr, Ipv4Addr)> {
        self.table().links.get(&sw_if).map_or_else(Vec::new, Link::listed)
    }
}

/// Returns true for an address that packets to groups can come from.
pub fn can_send(source: Ipv4Addr) -> bool {
    !source.is_unspecified() && !source.is_multicast() && !source.is_broadcast()
}

/// The sources of a message that packets can come from.
pub fn sources(all: &[[u8; 4]]) -> Sources {
    all.iter().map(|source| Ipv4Addr::from(*source)).filter(|source| can_send(*source)).collect()
}
