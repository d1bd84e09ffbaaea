// SPDX-License-Identifier: Apache-2.0
//! A router's side of an interface: which groups its hosts listen to (RFC 3376 6). It knows no
//! packets.

use crate::filter::{Filter, Sources};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use wire::igmp::Igmp3Record as Kind;

/// Maximum number of groups of an interface, and of sources of all of its groups.
const MAX_GROUPS: usize = 4096;
const MAX_SOURCES: usize = 32_768;
/// Maximum number of groups about which queries are still to be repeated.
const MAX_REPEATS: usize = 1024;

/// The times that a router goes by, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// For how long a source or a group is listened to without a report.
    pub membership: u64,
    /// For how long after hosts were asked who still listens.
    pub leave: u64,
}

/// A query that a router sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// The group.
    pub group: Ipv4Addr,
    /// The sources; none for all.
    pub sources: Sources,
}

/// A group that hosts listen to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Group {
    /// Some host listens to all sources but some, until then: mode EXCLUDE with the group's timer.
    exclude: Option<u64>,
    /// The sources that some host listens to, each until a time; in mode EXCLUDE also those that no
    /// host listens to, without one.
    sources: BTreeMap<Ipv4Addr, Option<u64>>,
    /// The time of its entry in [`Router::timers`].
    due: Option<u64>,
}

impl Group {
    fn filter(&self) -> Filter {
        let (wanted, blocked): (Vec<_>, Vec<_>) =
            self.sources.iter().partition(|(_, until)| until.is_some());
        let addresses = |all: Vec<(&Ipv4Addr, &Option<u64>)>| {
            all.into_iter().map(|(source, _)| *source).collect::<Vec<_>>()
        };
        match self.exclude {
            Some(_) => Filter::exclude(addresses(blocked)),
            None => Filter::include(addresses(wanted)),
        }
    }

    /// The sources with a timer: all of them in mode INCLUDE, those that are asked for in mode
    /// EXCLUDE.
    fn wanted(&self) -> Sources {
        self.sources.iter().filter(|(_, until)| until.is_some()).map(|(s, _)| *s).collect()
    }

    /// The sources without a timer.
    fn blocked(&self) -> Sources {
        self.sources.iter().filter(|(_, until)| until.is_none()).map(|(s, _)| *s).collect()
    }

    fn set(&mut self, sources: impl IntoIterator<Item = Ipv4Addr>, until: Option<u64>) {
        self.sources.extend(sources.into_iter().map(|source| (source, until)));
    }

    /// A record of a host (6.4.1, 6.4.2). Returns the sources that are to be asked for; none for
    /// the whole group. A record of no known kind is ignored.
    fn record(&mut self, now: u64, kind: u8, b: &Sources, times: Times) -> Vec<Sources> {
        let until = Some(now + times.membership);
        // A state that listens to nobody isn't reported: it is meant as a leave.
        let kind = if kind == Kind::IS_INCLUDE && b.is_empty() { Kind::TO_INCLUDE } else { kind };
        let (wanted, blocked) = (self.wanted(), self.blocked());
        let mut ask = Vec::new();
        match kind {
            Kind::IS_INCLUDE | Kind::ALLOW => self.set(b.iter().copied(), until),
            Kind::TO_INCLUDE => {
                self.set(b.iter().copied(), until);
                let rest = &wanted - b;
                if !rest.is_empty() {
                    ask.push(rest);
                }
                if self.exclude.is_some() {
                    ask.push(Sources::new());
                }
            }
            Kind::BLOCK => {
                let open = match self.exclude {
                    None => &wanted & b,
                    Some(group_timer) => {
                        let new: Sources = &(b - &wanted) - &blocked;
                        self.set(new, Some(group_timer));
                        b - &blocked
                    }
                };
                if !open.is_empty() {
                    ask.push(open);
                }
            }
            Kind::IS_EXCLUDE | Kind::TO_EXCLUDE => {
                let is_change = kind == Kind::TO_EXCLUDE;
                match self.exclude {
                    None => {
                        self.sources.retain(|source, _| b.contains(source));
                        self.set(b - &wanted, None);
                        ask.extend(is_change.then(|| &wanted & b));
                    }
                    Some(group_timer) => {
                        let new: Sources = &(b - &wanted) - &blocked;
                        self.sources.retain(|source, _| b.contains(source));
                        self.set(new, if is_change { Some(group_timer) } else { until });
                        ask.extend(is_change.then(|| b - &blocked));
                    }
                }
                self.exclude = until;
                ask.retain(|sources| !sources.is_empty());
            }
            _ => {}
        }
        ask
    }

    /// Hosts were asked: what nobody confirms ends (6.6.3.1, 6.6.3.2).
    fn lower(&mut self, now: u64, sources: &Sources, leave: u64) {
        let end = now + leave;
        let lower = |until: &mut u64| *until = (*until).min(end);
        if sources.is_empty() {
            self.exclude.iter_mut().for_each(lower);
        }
        for source in sources {
            if let Some(Some(until)) = self.sources.get_mut(source) {
                lower(until);
            }
        }
    }

    /// Ends what is due (6.2.2, 6.3, 6.5).
    fn expire(&mut self, now: u64) {
        if self.exclude.is_some_and(|until| until <= now) {
            self.exclude = None;
            self.sources.retain(|_, until| until.is_some());
        }
        let is_due = |until: &Option<u64>| until.is_some_and(|until| until <= now);
        match self.exclude {
            None => self.sources.retain(|_, until| !is_due(until)),
            Some(_) => {
                self.sources.values_mut().filter(|until| is_due(until)).for_each(|u| *u = None);
            }
        }
    }

    fn next(&self) -> Option<u64> {
        self.sources.values().copied().flatten().chain(self.exclude).min()
    }
}

/// The groups that hosts of an interface listen to.
#[derive(Clone, Debug, Default)]
pub struct Router {
    groups: BTreeMap<Ipv4Addr, Group>,
    /// The next time of each group.
    timers: BTreeSet<(u64, Ipv4Addr)>,
    sources: usize,
    /// Queries that are sent once more, with their times.
    repeats: BTreeSet<(u64, Ipv4Addr)>,
    asked: BTreeMap<Ipv4Addr, Sources>,
}

impl Router {
    /// The groups, each with the sources that its hosts listen to.
    pub fn groups(&self) -> impl Iterator<Item = (Ipv4Addr, Filter)> {
        self.groups.iter().map(|(ip, group)| (*ip, group.filter()))
    }

    /// The sources that hosts listen to, as one filter.
    pub fn filter(&self, group: Ipv4Addr) -> Filter {
        self.groups.get(&group).map_or_else(Filter::default, Group::filter)
    }

    /// The sources of a group by which clients know it: 0.0.0.0 stands for all.
    pub fn listed(&self, group: Ipv4Addr) -> Sources {
        let Some(group) = self.groups.get(&group) else { return Sources::new() };
        let all = group.exclude.map(|_| Ipv4Addr::UNSPECIFIED);
        group.wanted().into_iter().chain(all).collect()
    }

    /// Changes a group, and keeps its timer and the number of sources.
    fn change<R>(&mut self, ip: Ipv4Addr, change: impl FnOnce(&mut Group) -> R) -> R {
        let mut group = self.groups.remove(&ip).unwrap_or_default();
        self.sources -= group.sources.len();
        if let Some(due) = group.due.take() {
            self.timers.remove(&(due, ip));
        }
        let result = change(&mut group);
        group.due = group.next();
        if let Some(due) = group.due {
            self.timers.insert((due, ip));
            self.sources += group.sources.len();
            self.groups.insert(ip, group);
        }
        result
    }

    /// A record of a host's report. Returns the queries to send, or `None` for a record that there
    /// is no room for.
    pub fn record(
        &mut self,
        now: u64,
        (kind, ip): (u8, Ipv4Addr),
        sources: &Sources,
        times: Times,
    ) -> Option<Vec<Query>> {
        let is_new = !self.groups.contains_key(&ip);
        if is_new && self.groups.len() >= MAX_GROUPS || self.sources + sources.len() > MAX_SOURCES {
            return None;
        }
        let ask = self.change(ip, |group| {
            let ask = group.record(now, kind, sources, times);
            ask.iter().for_each(|sources| group.lower(now, sources, times.leave));
            ask
        });
        let ask: Vec<_> = ask.into_iter().map(|sources| Query { group: ip, sources }).collect();
        for query in &ask {
            if self.repeats.len() < MAX_REPEATS {
                self.repeats.insert((now + times.leave / 2, ip));
                self.asked.insert(ip, query.sources.clone());
            }
        }
        Some(ask)
    }

    /// Another router has asked: its question counts as ours.
    pub fn asked(&mut self, now: u64, ip: Ipv4Addr, sources: &Sources, leave: u64) {
        if self.groups.contains_key(&ip) {
            self.change(ip, |group| group.lower(now, sources, leave));
        }
    }

    /// Ends what is due; returns the groups that may have changed, with the sources of before.
    pub fn expire(&mut self, now: u64) -> Vec<(Ipv4Addr, Sources)> {
        let mut changed = Vec::new();
        while let Some((at, ip)) = self.timers.first().copied()
            && at <= now
        {
            changed.push((ip, self.listed(ip)));
            self.change(ip, |group| group.expire(now));
        }
        changed
    }

    /// The queries that are sent for the second time now, about what nobody has confirmed.
    pub fn take_repeats(&mut self, now: u64, leave: u64) -> Vec<Query> {
        let mut queries = Vec::new();
        while let Some((at, ip)) = self.repeats.first().copied()
            && at <= now
        {
            self.repeats.pop_first();
            let (Some(sources), Some(group)) = (self.asked.remove(&ip), self.groups.get(&ip))
            else {
                continue;
            };
            // Of what was confirmed the timer is longer.
            let is_open = |until: Option<u64>| until.is_some_and(|until| until <= now + leave);
            if sources.is_empty() && is_open(group.exclude) {
                queries.push(Query { group: ip, sources });
                continue;
            }
            let is_left =
                |source: &Ipv4Addr| group.sources.get(source).is_some_and(|u| is_open(*u));
            let left: Sources = sources.into_iter().filter(is_left).collect();
            if !left.is_empty() {
                queries.push(Query { group: ip, sources: left });
            }
        }
        queries
    }

    /// When something is due next.
    pub fn due(&self) -> Option<u64> {
        let first = |all: &BTreeSet<(u64, Ipv4Addr)>| all.first().map(|(at, _)| *at);
        [first(&self.timers), first(&self.repeats)].into_iter().flatten().min()
    }
}
