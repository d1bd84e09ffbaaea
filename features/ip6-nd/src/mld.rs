// SPDX-License-Identifier: Apache-2.0
//! Multicast listener reports (RFC 3810 as a listener; RFC 2710's where a router supports only
//! that): switches and routers learn which groups we listen to.

use crate::compose::{RECORDS, listener, report};
use crate::due::Due;
use crate::local::LocalAddresses;
use crate::protocol::{say, speaking};
use crate::rng::ControlRng;
use graph::{Deleted, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use net::{IfKind, Interfaces, IpBinding};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::Mailbox;
use wire::mld::{ALL_MLD2_ROUTERS, Mld2Record, MldMessage};
use wire::nd::{ALL_NODES, ALL_ROUTERS, solicited_node};
use wire::{Icmp6Type, Ip6, MacAddr};
use zerocopy::IntoBytes;

const SECOND: u64 = 1_000_000_000;
/// Number of reports of a change (RFC 3810 9.1, robustness).
const TIMES: u8 = 2;
/// Maximum interval between two reports of a change, in nanoseconds (9.11).
const INTERVAL: u64 = SECOND;
/// Nanoseconds that a router is remembered that supports version 1 only (9.12: 2 × 125 s + 10 s).
const VERSION1: u64 = 260 * SECOND;
/// Queries queued for control at most.
const QUERIES: usize = 64;

/// A router's query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Query {
    pub sw_if: u32,
    /// The group that is queried; all groups, if unspecified.
    pub group: Ipv6Addr,
    /// Milliseconds for the answer at most.
    pub within: u32,
    pub version1: bool,
}

/// A group that is listened to, or was until now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Group {
    /// True if it was left.
    left: bool,
    /// Number of reports of the change still to be sent.
    reports: u8,
    /// When the next one is due.
    due: u64,
    /// When the answer to a query is due.
    asked: Option<u64>,
}

/// The groups of one interface.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Link {
    groups: BTreeMap<Ipv6Addr, Group>,
    version1_until: u64,
}

impl Link {
    /// Sets the groups that are listened to: changes will be reported.
    fn sync(&mut self, now: u64, wanted: &BTreeSet<Ipv6Addr>) {
        for group in wanted {
            let fresh = Group { left: false, reports: TIMES, due: now, asked: None };
            let entry = self.groups.entry(*group).or_insert(fresh);
            if entry.left {
                *entry = fresh;
            }
        }
        for (group, state) in &mut self.groups {
            if !state.left && !wanted.contains(group) {
                *state = Group { left: true, reports: TIMES, due: now, asked: None };
            }
        }
    }

    /// Schedules the answer to a router's query.
    fn query(&mut self, now: u64, query: &Query, delay: u64) {
        if query.version1 {
            self.version1_until = now + VERSION1;
        }
        for (group, state) in &mut self.groups {
            if !state.left && (query.group.is_unspecified() || query.group == *group) {
                let due = now + delay;
                state.asked = Some(state.asked.map_or(due, |old| old.min(due)));
            }
        }
    }

    /// Returns the records to be reported now, of version 2; `pause` is the time to the next report
    /// of a change.
    fn take_due(&mut self, now: u64, pause: u64) -> Vec<(u8, Ipv6Addr)> {
        let mut records = Vec::new();
        for (group, state) in &mut self.groups {
            if records.len() == RECORDS {
                break;
            }
            if state.reports > 0 && state.due <= now {
                records.push((
                    if state.left { Mld2Record::TO_INCLUDE } else { Mld2Record::TO_EXCLUDE },
                    *group,
                ));
                (state.reports, state.due) = (state.reports - 1, now + pause);
                state.asked = None;
            } else if state.asked.is_some_and(|due| due <= now) {
                records.push((Mld2Record::IS_EXCLUDE, *group));
                state.asked = None;
            }
        }
        self.groups.retain(|_, state| !state.left || state.reports > 0);
        records
    }

    fn next_due(&self) -> Option<u64> {
        let due =
            |g: &Group| [(g.reports > 0).then_some(g.due), g.asked].into_iter().flatten().min();
        self.groups.values().filter_map(due).min()
    }
}

/// The reports of these records, as frames.
fn frames(records: &[(u8, Ipv6Addr)], version1: bool, mac: MacAddr, src: Ipv6Addr) -> Vec<Vec<u8>> {
    if records.is_empty() {
        return Vec::new();
    }
    if !version1 {
        return vec![report(mac, src, records)];
    }
    let one = |(kind, group): &(u8, Ipv6Addr)| {
        let (kind, to) = match *kind {
            Mld2Record::TO_INCLUDE => (Icmp6Type::MLD_DONE, ALL_ROUTERS),
            _ => (Icmp6Type::MLD_REPORT, *group),
        };
        listener(mac, src, to, MldMessage::new(kind, *group).as_bytes())
    };
    records.iter().map(one).collect()
}

/// Listener state of all interfaces.
pub struct Listener {
    links: Mutex<BTreeMap<SwIfIndex, Link>>,
    /// When each interface's next report is due.
    due: Mutex<Due>,
    queries: Mailbox<Query>,
    signal: Signal,
}

impl Shared for Listener {
    fn make(world: &World) -> Self {
        let queries = Mailbox::new(QUERIES, world.processes.waker().clone());
        Self {
            links: Mutex::default(),
            due: Mutex::default(),
            queries,
            signal: world.processes.signal(),
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.clear(*sw_if);
        }
    }
}

impl Listener {
    fn links(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, Link>> {
        self.links.lock().expect("no panic inside")
    }

    fn due(&self) -> MutexGuard<'_, Due> {
        self.due.lock().expect("no panic inside")
    }

    /// Starts the process.
    pub fn start(world: &World) {
        let this: Arc<Self> = world.get();
        world.processes.spawn(Box::new(MldProcess(this.clone())), &this.signal);
    }

    /// Passes a router's query to control; returns false if there is no room.
    #[inline(always)]
    pub fn post(&self, query: Query) -> bool {
        let posted = self.queries.post(query).is_ok();
        self.signal.raise();
        posted
    }

    /// The groups that an interface listens to; that of all nodes, which is never reported (RFC
    /// 3810 6), is one of them.
    pub fn groups(&self, sw_if: SwIfIndex) -> Vec<Ipv6Addr> {
        let links = self.links();
        let Some(link) = links.get(&sw_if) else { return Vec::new() };
        let joined = link.groups.iter().filter(|(_, state)| !state.left).map(|(group, _)| *group);
        std::iter::once(ALL_NODES).chain(joined).collect()
    }

    /// Joins and leaves groups as the interface's addresses require.
    pub fn sync(&self, world: &World, sw_if: SwIfIndex) {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        if interface.kind != IfKind::Ethernet || !IpBinding::of(world, sw_if).is_enabled::<Ip6>() {
            return self.clear(sw_if);
        }
        let here = world.get::<LocalAddresses>().here(sw_if);
        let wanted =
            here.all().map(solicited_node).chain([ALL_ROUTERS, ALL_MLD2_ROUTERS]).collect();
        let next = {
            let mut links = self.links();
            let link = links.entry(sw_if).or_default();
            link.sync(world.clock.now(), &wanted);
            link.next_due()
        };
        self.due().set(sw_if, next);
        self.signal.raise();
    }

    /// Reports everything, since the link is up again.
    pub fn report_all(&self, world: &World, sw_if: SwIfIndex) {
        if let Some(link) = self.links().get_mut(&sw_if) {
            for group in link.groups.values_mut() {
                (group.reports, group.due) = (TIMES, world.clock.now());
            }
            self.due().set(sw_if, link.next_due());
        }
        self.signal.raise();
    }

    /// Forgets an interface.
    pub fn clear(&self, sw_if: SwIfIndex) {
        self.links().remove(&sw_if);
        self.due().set(sw_if, None);
    }

    fn run(&self, world: &World) -> Option<u64> {
        let (now, rng, local) =
            (world.clock.now(), world.get::<ControlRng>(), world.get::<LocalAddresses>());
        self.queries.drain(|query| {
            let delay = rng.between(0, u64::from(query.within)) * 1_000_000;
            let sw_if = SwIfIndex(query.sw_if);
            if let Some(link) = self.links().get_mut(&sw_if) {
                link.query(now, &query, delay);
                self.due().set(sw_if, link.next_due());
            }
        });
        let all = self.due().take(now);
        for sw_if in all {
            // Nothing is sent by an interface that is down: when it comes up, everything is
            // reported.
            let pause = rng.between(INTERVAL / 10, INTERVAL);
            let Some(interface) = speaking(world, sw_if) else { continue };
            let (records, version1, next) = {
                let mut links = self.links();
                let Some(link) = links.get_mut(&sw_if) else { continue };
                let records = link.take_due(now, pause);
                (records, link.version1_until > now, link.next_due())
            };
            // A tentative address can't be a source (RFC 3590).
            let src = local.here(sw_if).link_local().unwrap_or(Ipv6Addr::UNSPECIFIED);
            let frames = frames(&records, version1, interface.mac, src);
            say(world, &interface, "listener-reports", frames);
            self.due().set(sw_if, next);
        }
        self.due().next()
    }
}

struct MldProcess(Arc<Listener>);

impl Process for MldProcess {
    fn name(&self) -> &'static str {
        "ip6-mld-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use wire::mld::Mld2Report;

    fn group(n: u16) -> Ipv6Addr {
        Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, n)
    }

    #[suite::test]
    fn changes_are_reported_twice_and_questions_once() {
        let mut link = Link::default();
        let two = BTreeSet::from([group(1), group(2)]);
        link.sync(0, &two);
        let joined = vec![(Mld2Record::TO_EXCLUDE, group(1)), (Mld2Record::TO_EXCLUDE, group(2))];
        assert_eq!(link.take_due(0, 5), joined);
        assert_eq!((link.take_due(4, 5), link.next_due()), (vec![], Some(5)));
        link.sync(4, &two);
        assert_eq!(link.take_due(5, 5), joined, "nothing new");
        assert_eq!((link.take_due(100, 5), link.next_due()), (vec![], None));
        link.sync(100, &BTreeSet::from([group(2)]));
        let query = Query { sw_if: 1, group: Ipv6Addr::UNSPECIFIED, within: 10, version1: false };
        link.query(100, &query, 7);
        link.query(100, &query, 9);
        assert_eq!(link.take_due(100, 5), [(Mld2Record::TO_INCLUDE, group(1))]);
        assert_eq!(
            link.take_due(107, 5),
            [(Mld2Record::TO_INCLUDE, group(1)), (Mld2Record::IS_EXCLUDE, group(2))]
        );
        assert_eq!((link.take_due(200, 5), link.groups.len()), (vec![], 1));
        link.query(200, &Query { group: group(9), ..query }, 1);
        assert_eq!(link.next_due(), None, "not our group");
        link.query(200, &Query { group: group(2), version1: true, ..query }, 1);
        assert_eq!((link.next_due(), link.version1_until), (Some(201), 200 + VERSION1));
    }

    #[suite::test]
    fn reports_of_both_versions() {
        use wire::{Header, Ipv6Header};
        let records = [(Mld2Record::TO_EXCLUDE, group(1)), (Mld2Record::TO_INCLUDE, group(2))];
        let (mac, src) = (MacAddr([2, 0, 0, 0, 0, 1]), "fe80::1".parse().unwrap());
        let to = |frame: &Vec<u8>| Ipv6Addr::from(Ipv6Header::view(&frame[14..]).unwrap().dst);
        let two = frames(&records, false, mac, src);
        assert_eq!(
            two.iter().map(to).collect::<Vec<_>>(),
            ["ff02::16".parse::<Ipv6Addr>().unwrap()]
        );
        assert_eq!(Mld2Report::records(&two[0][62..]).count(), 2);
        let one = frames(&records, true, mac, src);
        assert_eq!(one.iter().map(to).collect::<Vec<_>>(), [group(1), ALL_ROUTERS]);
        assert_eq!((one[0][62], one[1][62]), (131, 132));
    }
}
