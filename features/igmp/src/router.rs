// SPDX-License-Identifier: Apache-2.0
//! A router's side of an interface: which groups its hosts listen to (RFC 3376 6). It knows no
//! packets.

use crate::filter::{Filter, Sources};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use wire::igmp::Igmp3Record as Kind;

/// Maximum number of groups of an interface.
const MAX_GROUPS: usize = 4096;
/// Maximum number of sources of all groups of an interface.
const MAX_SOURCES: usize = 32_768;
/// Maximum number of sources of a group: it bounds the work for one record.
const MAX_GROUP_SOURCES: usize = 1024;
/// Maximum number of groups with a query to be repeated.
const MAX_REPEATS: usize = 1024;

/// The times that a router goes by, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// Time after which a source or group without a report expires.
    pub membership: u64,
    /// Time after which a source or group expires that a query is about.
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
    /// The group's timer in mode EXCLUDE: until then, some host listens to all sources but some.
    /// `None` in mode INCLUDE.
    exclude: Option<u64>,
    /// The sources that some host listens to, each until a time; in mode EXCLUDE also the sources
    /// that no host listens to, without a time.
    sources: BTreeMap<Ipv4Addr, Option<u64>>,
    /// The time of its entry in [`Router::timers`].
    due: Option<u64>,
}

impl Group {
    fn filter(&self) -> Filter {
        match self.exclude {
            Some(_) => {
                let blocked = self.sources.iter().filter(|(_, until)| until.is_none());
                Filter::exclude(blocked.map(|(source, _)| *source))
            }
            None => Filter::include(self.wanted()),
        }
    }

    /// The sources with a timer: all sources in mode INCLUDE; in mode EXCLUDE those that some host
    /// listens to by name.
    fn wanted(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.sources.iter().filter(|(_, until)| until.is_some()).map(|(source, _)| *source)
    }

    fn is_wanted(&self, source: Ipv4Addr) -> bool {
        self.sources.get(&source).is_some_and(Option::is_some)
    }

    fn is_blocked(&self, source: Ipv4Addr) -> bool {
        self.sources.get(&source).is_some_and(Option::is_none)
    }

    /// The sources of a record that the group doesn't have yet.
    fn new_sources(&self, b: &Sources) -> Sources {
        b.iter().filter(|source| !self.sources.contains_key(source)).copied().collect()
    }

    fn set(&mut self, sources: impl IntoIterator<Item = Ipv4Addr>, until: Option<u64>) {
        self.sources.extend(sources.into_iter().map(|source| (source, until)));
    }

    /// A record of a host (6.4.1, 6.4.2). Returns the sources to query, each set by a query of its
    /// own; an empty set for the whole group. A record of no known kind is ignored.
    fn record(&mut self, now: u64, kind: u8, b: &Sources, times: Times) -> Vec<Sources> {
        let until = Some(now + times.membership);
        // IS_INCLUDE without sources is no state that hosts report: it is read as a leave.
        let kind = if kind == Kind::IS_INCLUDE && b.is_empty() { Kind::TO_INCLUDE } else { kind };
        let mut ask: Vec<Sources> = Vec::new();
        match kind {
            Kind::IS_INCLUDE | Kind::ALLOW => self.set(b.iter().copied(), until),
            Kind::TO_INCLUDE => {
                ask.push(self.wanted().filter(|source| !b.contains(source)).collect());
                self.set(b.iter().copied(), until);
            }
            Kind::BLOCK => match self.exclude {
                None => ask.push(b.iter().copied().filter(|s| self.is_wanted(*s)).collect()),
                Some(group_timer) => {
                    ask.push(b.iter().copied().filter(|s| !self.is_blocked(*s)).collect());
                    self.set(self.new_sources(b), Some(group_timer));
                }
            },
            Kind::IS_EXCLUDE | Kind::TO_EXCLUDE => {
                let is_change = kind == Kind::TO_EXCLUDE;
                let new = self.new_sources(b);
                self.sources.retain(|source, _| b.contains(source));
                match self.exclude {
                    None => {
                        ask.extend(is_change.then(|| self.wanted().collect()));
                        self.set(new, None);
                    }
                    Some(group_timer) => {
                        self.set(new, if is_change { Some(group_timer) } else { until });
                        ask.extend(is_change.then(|| self.wanted().collect()));
                    }
                }
                self.exclude = until;
            }
            _ => {}
        }
        ask.retain(|sources| !sources.is_empty());
        if kind == Kind::TO_INCLUDE && self.exclude.is_some() {
            ask.push(Sources::new());
        }
        ask
    }

    /// Lowers the timers of what a query is about: it ends unless a host confirms it (6.6.3.1,
    /// 6.6.3.2).
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

/// The subject of a query that is sent once more.
#[derive(Clone, Debug, Default)]
struct Repeat {
    /// True for the whole group.
    is_whole: bool,
    sources: Sources,
}

/// The groups that hosts of an interface listen to.
#[derive(Clone, Debug, Default)]
pub struct Router {
    groups: BTreeMap<Ipv4Addr, Group>,
    /// The next time of each group.
    timers: BTreeSet<(u64, Ipv4Addr)>,
    /// Number of sources of all groups.
    sources: usize,
    /// The groups of [`Self::asked`], each with the time of the repeated query.
    repeats: BTreeSet<(u64, Ipv4Addr)>,
    asked: BTreeMap<Ipv4Addr, Repeat>,
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
        group.wanted().chain(all).collect()
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

    /// Returns true if there is room for a record. One that adds no sources needs none.
    fn has_room(&self, (kind, ip): (u8, Ipv4Addr), sources: &Sources) -> bool {
        let (before, after) = match self.groups.get(&ip) {
            None if self.groups.len() >= MAX_GROUPS => return false,
            None => (0, sources.len()),
            Some(group) => {
                let before = group.sources.len();
                let replaces = matches!(kind, Kind::IS_EXCLUDE | Kind::TO_EXCLUDE);
                let kept = if replaces { 0 } else { before };
                let added = if replaces { sources.len() } else { group.new_sources(sources).len() };
                (before, kept + added)
            }
        };
        after <= before
            || after <= MAX_GROUP_SOURCES && self.sources - before + after <= MAX_SOURCES
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
        if !self.has_room((kind, ip), sources) {
            return None;
        }
        let ask = self.change(ip, |group| {
            let ask = group.record(now, kind, sources, times);
            ask.iter().for_each(|sources| group.lower(now, sources, times.leave));
            ask
        });
        let ask: Vec<_> = ask.into_iter().map(|sources| Query { group: ip, sources }).collect();
        ask.iter().for_each(|query| self.repeat(now + times.leave / 2, query));
        Some(ask)
    }

    /// Has a query sent once more. All queries about a group are repeated at the time of the first.
    fn repeat(&mut self, at: u64, query: &Query) {
        let ip = query.group;
        if !self.asked.contains_key(&ip) {
            if self.asked.len() >= MAX_REPEATS {
                return;
            }
            self.repeats.insert((at, ip));
        }
        let repeat = self.asked.entry(ip).or_default();
        if query.sources.is_empty() {
            repeat.is_whole = true;
        } else if let Some(group) = self.groups.get(&ip) {
            repeat.sources.extend(&query.sources);
            // No more than the group has, however many records come until then.
            repeat.sources.retain(|source| group.sources.contains_key(source));
        }
    }

    /// A query of another router has the effect of an own one.
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

    /// The queries that are sent for the second time now, about what no host has confirmed.
    pub fn take_repeats(&mut self, now: u64, leave: u64) -> Vec<Query> {
        let mut queries = Vec::new();
        while let Some((at, ip)) = self.repeats.first().copied()
            && at <= now
        {
            self.repeats.pop_first();
            let (Some(repeat), Some(group)) = (self.asked.remove(&ip), self.groups.get(&ip)) else {
                continue;
            };
            // A report in the meantime has set the timer to more than the time after a leave.
            let is_open = |until: Option<u64>| until.is_some_and(|until| until <= now + leave);
            let is_left =
                |source: &Ipv4Addr| group.sources.get(source).is_some_and(|u| is_open(*u));
            let left: Sources = repeat.sources.into_iter().filter(is_left).collect();
            if !left.is_empty() {
                queries.push(Query { group: ip, sources: left });
            }
            if repeat.is_whole && is_open(group.exclude) {
                queries.push(Query { group: ip, sources: Sources::new() });
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
