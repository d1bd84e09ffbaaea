// SPDX-License-Identifier: Apache-2.0
//! `igmp-timer-process`: reads received messages, and sends and forgets what is due.

use crate::control::{Igmp, sources};
use crate::filter::Sources;
use crate::host::Record;
use crate::message::Message;
use crate::order;
use crate::packet::{self, From, Numbers};
use crate::router::Query;
use crate::table::{Link, Mode, Table, Timers};
use graph::{Process, Sleep, SwIfIndex, Wake, World};
use net::{Addresses, IfEvent, IfKind, Interface, Interfaces, MtuKind, transmit};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::Header;
use wire::Ip4;
use wire::igmp::{Igmp3Record, Igmp3Report, IgmpMessage, IgmpQuery, IgmpType, of_code};

const SECOND: u64 = 1_000_000_000;
const TENTH: u64 = SECOND / 10;
/// Maximum time until a report is repeated (RFC 3376 8.11).
const REPORT: u64 = SECOND;
/// Tenths of a second within which hosts answer (8.3, 8.8).
const RESPONSE: u32 = 100;

/// Starts the process, and follows interfaces.
pub fn start(world: &World) {
    let igmp: Arc<Igmp> = world.get();
    world.processes.spawn(Box::new(IgmpProcess(igmp.clone())), &igmp.signal);
    world.get::<Interfaces>().subscribe(move |world, event| match event {
        IfEvent::Admin(sw_if, true) | IfEvent::Link(sw_if, true) => igmp.announce(world, sw_if),
        IfEvent::Table(sw_if, false) if igmp.table().links.contains_key(&sw_if) => {
            igmp.deliver(world);
        }
        _ => {}
    });
}

struct IgmpProcess(Arc<Igmp>);

impl Process for IgmpProcess {
    fn name(&self) -> &'static str {
        "igmp-timer-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}

/// Groups whose hosts' sources may have changed, with the sources before all of the changes.
type Changed = BTreeMap<Ipv4Addr, Sources>;

impl Link {
    /// When something is due.
    fn due(&self) -> Option<u64> {
        match self.mode {
            Mode::Host => self.host.due(),
            Mode::Router => self.router.due().into_iter().chain([self.next_query]).min(),
        }
    }

    /// Reads a record of a host's report. Returns queries to send.
    fn record(
        &mut self,
        now: u64,
        (kind, group): (u8, Ipv4Addr),
        sources: &Sources,
        table: (&Timers, bool),
        changed: &mut Changed,
    ) -> Vec<Query> {
        let (timers, is_ssm) = table;
        let excludes = matches!(kind, Igmp3Record::IS_EXCLUDE | Igmp3Record::TO_EXCLUDE);
        // A record for all sources of a source-specific group is ignored (RFC 4604 2.2.1).
        if !group.is_multicast() || is_ssm && excludes {
            return Vec::new();
        }
        changed.entry(group).or_insert_with(|| self.router.listed(group));
        let Some(ask) = self.router.record(now, (kind, group), sources, timers.times()) else {
            self.refused += 1;
            return Vec::new();
        };
        // Only the querier asks (6.6.2).
        match self.other_querier.is_some_and(|until| until > now) {
            true => Vec::new(),
            false => ask,
        }
    }
}

/// Adds changes to earlier ones.
fn note(more: Vec<(Ipv4Addr, Sources)>, changed: &mut Changed) {
    for (group, before) in more {
        changed.entry(group).or_insert(before);
    }
}

/// The interface and our end of it, if it can send Ethernet frames.
fn sender(world: &World, sw_if: SwIfIndex) -> Option<(Interface, From, u16)> {
    let interface = world.get::<Interfaces>().get(sw_if).ok()?;
    if interface.kind != IfKind::Ethernet || !interface.admin_up || !interface.link_up {
        return None;
    }
    let address = world.get::<Addresses<Ip4>>().usable(sw_if).first().map(|prefix| prefix.addr());
    let from = From { mac: interface.mac, ip: address.unwrap_or(Ipv4Addr::UNSPECIFIED) };
    let mtu = interface.mtu_of(MtuKind::Ip4);
    Some((interface, from, mtu))
}

impl Igmp {
    /// Starts anew on an interface that has come up: a host reports all groups, and a router
    /// queries at once.
    fn announce(&self, world: &World, sw_if: SwIfIndex) {
        let now = world.clock.now();
        if let Some(link) = self.table().links.get_mut(&sw_if) {
            link.host.report_all(now, self.reports(false));
            link.next_query = now;
            self.signal.raise();
        }
    }

    /// Reads received messages, and does everything that is due. Returns the time of the next run.
    pub fn run(&self, world: &World) -> Option<u64> {
        let now = world.clock.now();
        let has_work =
            |link: &Link| !link.received.is_empty() || link.due().is_some_and(|due| due <= now);
        let busy: Vec<_> = {
            let table = self.table();
            let links = table.links.iter().filter(|(_, link)| has_work(link));
            links.map(|(sw_if, _)| *sw_if).collect()
        };
        for sw_if in busy {
            let (changed, frames) = self.step(world, sw_if);
            if let Some((interface, ..)) = sender(world, sw_if).filter(|_| !frames.is_empty()) {
                transmit(world, &interface, frames, &world.stats.simple("/net/igmp/tx/no-buffers"));
            }
            for (group, before) in changed {
                self.group_changed(world, sw_if, group, &before);
            }
        }
        self.table().links.values().filter_map(Link::due).min()
    }

    /// Does everything that is due on an interface. Returns the groups that may have changed, and
    /// the frames to send.
    fn step(&self, world: &World, sw_if: SwIfIndex) -> (Changed, Vec<Vec<u8>>) {
        let now = world.clock.now();
        let sender = sender(world, sw_if);
        let (mut changed, mut ask, mut frames) = (Changed::new(), Vec::new(), Vec::new());
        let mut table = self.table();
        let Table { links, timers, ranges, .. } = &mut *table;
        let Some(link) = links.get_mut(&sw_if) else { return (changed, frames) };
        let own = sender.as_ref().map_or(Ipv4Addr::UNSPECIFIED, |(_, from, _)| from.ip);
        for _ in 0..crate::control::WAITING {
            let Some(message) = link.received.take() else { break };
            let is_ssm = |group: Ipv4Addr| ranges.is_ssm(group);
            let more = self.read(link, now, &message, own, timers, &is_ssm, &mut changed);
            ask.extend(more);
        }
        let refused = std::mem::take(&mut link.refused);
        if refused > 0 {
            let counter = world.stats.simple("/net/igmp/rx/no-room");
            counter.control().add(sw_if.0 as usize, refused);
        }
        let Some((_, from, mtu)) = sender else {
            // Nothing can be sent, but timers go on.
            note(link.router.expire(now), &mut changed);
            link.next_query = link.next_query.max(now + u64::from(timers.query) * SECOND);
            _ = link.host.take_changes(now, REPORT);
            _ = link.host.take_answers(now);
            _ = link.router.take_repeats(now, 0);
            return (changed, frames);
        };
        match link.mode {
            Mode::Host => {
                let changes = link.host.take_changes(now, 1 + self.random(REPORT));
                frames.extend(packet::reports(from, mtu, &changes));
                let answers = self.in_order(link.host.take_answers(now));
                frames.extend(packet::reports(from, mtu, &answers));
            }
            Mode::Router => {
                note(link.router.expire(now), &mut changed);
                let is_querier = link.other_querier.is_none_or(|until| until <= now);
                let repeats = link.router.take_repeats(now, timers.times().leave);
                ask.extend(repeats.into_iter().filter(|_| is_querier));
                let response = RESPONSE.min(timers.leave.saturating_mul(10));
                let numbers = Numbers { response, interval: timers.query };
                for query in &ask {
                    frames.extend(packet::queries(from, mtu, numbers, Some(query)));
                }
                if link.next_query <= now {
                    link.next_query = now + u64::from(timers.query) * SECOND;
                    // Routers elect the querier by the source address of queries.
                    if is_querier && !from.ip.is_unspecified() {
                        let response = RESPONSE.min(timers.query.saturating_mul(10));
                        let numbers = Numbers { response, ..numbers };
                        frames.extend(packet::queries(from, mtu, numbers, None));
                    }
                }
            }
        }
        (changed, frames)
    }

    /// The records of an answer to a general query, in VPP's order if VPP is followed.
    fn in_order(&self, mut records: Vec<Record>) -> Vec<Record> {
        if self.compat {
            records.sort_by_key(|record| order::bucket(record.group));
        }
        records
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a locked table")]
    fn read(
        &self,
        link: &mut Link,
        now: u64,
        message: &Message,
        own: Ipv4Addr,
        timers: &Timers,
        is_ssm: &dyn Fn(Ipv4Addr) -> bool,
        changed: &mut Changed,
    ) -> Vec<Query> {
        let bytes = message.bytes();
        let Some(head) = IgmpMessage::view(bytes) else { return Vec::new() };
        let mut record = |link: &mut Link, kind, group, sources: &Sources| {
            link.record(now, (kind, group), sources, (timers, is_ssm(group)), changed)
        };
        let none = Sources::new();
        match (link.mode, head.kind()) {
            (Mode::Host, IgmpType::QUERY) => {
                if let Some(query) = IgmpQuery::read(bytes) {
                    self.asked(link, now, &query);
                }
                Vec::new()
            }
            (Mode::Router, IgmpType::QUERY) => {
                if let Some(query) = IgmpQuery::read(bytes) {
                    other_querier(link, now, (message.from, own), &query, timers);
                }
                Vec::new()
            }
            (Mode::Router, IgmpType::REPORT3) => {
                let Some(records) = Igmp3Report::records(bytes) else { return Vec::new() };
                let records = records.map(|(r, all)| (r.kind, r.group(), sources(all)));
                records.flat_map(|(kind, ip, all)| record(link, kind, ip, &all)).collect()
            }
            // Hosts of older versions listen to all sources (RFC 3376 7.3.2).
            (Mode::Router, IgmpType::REPORT1 | IgmpType::REPORT2) => {
                record(link, Igmp3Record::IS_EXCLUDE, head.group(), &none)
            }
            (Mode::Router, IgmpType::LEAVE) => {
                record(link, Igmp3Record::TO_INCLUDE, head.group(), &none)
            }
            _ => Vec::new(),
        }
    }

    /// Schedules the answer to a router's query, after a random time, so that hosts don't answer
    /// all at once. VPP uses a tenth of the time.
    fn asked(&self, link: &mut Link, now: u64, query: &IgmpQuery<'_>) {
        let code = query.message.max_response;
        // Version 1 knows no time: 10 s; version 2 no codes (RFC 3376 4.1.1, 7.2.1).
        let tenths = match (code, query.tail) {
            (0, None) => RESPONSE,
            (code, None) => code.into(),
            (code, Some(_)) => of_code(code),
        };
        let within = u64::from(tenths) * TENTH / if self.compat { 10 } else { 1 };
        link.host.query(now, query.message.group(), sources(query.sources), self.random(within));
    }
}

/// A query of another router: of two, the one with the lower address is the querier (RFC 3376
/// 6.6.2).
fn other_querier(
    link: &mut Link,
    now: u64,
    (from, own): (Ipv4Addr, Ipv4Addr),
    query: &IgmpQuery<'_>,
    timers: &Timers,
) {
    /// The flag "suppress router-side processing": other routers don't lower their timers (4.1.5).
    const SUPPRESS: u8 = 8;
    if from.is_unspecified() || from == own {
        return;
    }
    if from < own {
        let present = 2 * u64::from(timers.query) * SECOND + u64::from(RESPONSE) * TENTH / 2;
        link.other_querier = Some(now + present);
    }
    let group = query.message.group();
    if group.is_multicast() && query.tail.is_none_or(|tail| tail.flags & SUPPRESS == 0) {
        link.router.asked(now, group, &sources(query.sources), timers.times().leave);
    }
}
