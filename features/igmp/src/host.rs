// SPDX-License-Identifier: Apache-2.0
//! A host's side of an interface: which groups are listened to, and when that is reported (RFC 3376
//! 5). It knows no packets.

use crate::filter::{Filter, Sources};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use wire::igmp::Igmp3Record as Kind;

/// Maximum number of sources that an answer is about: queries for more of a group are answered as
/// one for all of its sources (RFC 3376 5.2).
const MAX_ASKED: usize = 1024;

/// A record of a report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// [`Kind::IS_INCLUDE`] and the like.
    pub kind: u8,
    /// The group.
    pub group: Ipv4Addr,
    /// The sources.
    pub sources: Sources,
}

/// Changes that aren't reported often enough yet, each with the number of reports that it still
/// needs (RFC 3376 5.1).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Pending {
    mode: u8,
    sources: BTreeMap<Ipv4Addr, u8>,
    /// When the next report is due.
    due: u64,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.mode == 0 && self.sources.is_empty()
    }
}

#[derive(Clone, Debug, Default)]
struct Group {
    filter: Filter,
    pending: Pending,
}

/// An answer that is due to a query for a group.
#[derive(Clone, Debug)]
struct Answer {
    due: u64,
    /// The sources in question; none for all.
    sources: Sources,
}

/// The groups that an interface listens to.
#[derive(Clone, Debug, Default)]
pub struct Host {
    groups: BTreeMap<Ipv4Addr, Group>,
    /// When the answer to a general query is due.
    general: Option<u64>,
    answers: BTreeMap<Ipv4Addr, Answer>,
}

impl Host {
    /// The groups that are listened to, each with its filter.
    pub fn groups(&self) -> impl Iterator<Item = (Ipv4Addr, &Filter)> {
        self.groups.iter().filter(|(_, g)| !g.filter.is_empty()).map(|(ip, g)| (*ip, &g.filter))
    }

    /// Sets the filter of a group; the change is reported now, and `reports` times in all.
    pub fn set(&mut self, now: u64, group: Ipv4Addr, filter: &Filter, reports: u8) {
        let entry = self.groups.entry(group).or_default();
        if entry.filter == *filter {
            if entry.filter.is_empty() && entry.pending.is_empty() {
                self.groups.remove(&group);
            }
            return;
        }
        let old = std::mem::replace(&mut entry.filter, filter.clone());
        if old.exclude != filter.exclude {
            entry.pending.mode = reports;
            entry.pending.sources.clear();
        } else {
            let changed = &old.sources ^ &filter.sources;
            entry.pending.sources.extend(changed.into_iter().map(|source| (source, reports)));
        }
        entry.pending.due = now;
    }

    /// Reports all groups, since the link is up again.
    pub fn report_all(&mut self, now: u64, reports: u8) {
        for group in self.groups.values_mut() {
            group.pending = Pending { mode: reports, due: now, ..Pending::default() };
        }
    }

    /// Schedules the answer to a query, `delay` nanoseconds from now (RFC 3376 5.2). Without a
    /// group it is for all.
    pub fn query(&mut self, now: u64, group: Ipv4Addr, sources: Sources, delay: u64) {
        let due = now + delay;
        if self.general.is_some_and(|general| general <= due) {
            return;
        }
        if group.is_unspecified() {
            self.general = Some(due);
            return;
        }
        if !self.groups.contains_key(&group) {
            return;
        }
        match self.answers.get_mut(&group) {
            None => _ = self.answers.insert(group, Answer { due, sources }),
            Some(answer) => {
                // An answer for all sources covers one for named sources.
                if sources.is_empty() || answer.sources.is_empty() {
                    answer.sources.clear();
                } else {
                    answer.sources.extend(sources);
                }
                if answer.sources.len() > MAX_ASKED {
                    answer.sources.clear();
                }
                answer.due = answer.due.min(due);
            }
        }
    }

    /// The changes that are to be reported now; `pause` is the time until they are reported again.
    pub fn take_changes(&mut self, now: u64, pause: u64) -> Vec<Record> {
        let mut records = Vec::new();
        for (group, Group { filter, pending }) in &mut self.groups {
            if pending.is_empty() || pending.due > now {
                continue;
            }
            pending.due = now + pause;
            if pending.mode > 0 {
                pending.mode -= 1;
                let kind = if filter.exclude { Kind::TO_EXCLUDE } else { Kind::TO_INCLUDE };
                records.push(Record { kind, group: *group, sources: filter.sources.clone() });
                // Changes of sources after that of the mode are part of these records.
                if pending.mode == 0 {
                    pending.sources.clear();
                }
                continue;
            }
            let (allow, block): (Sources, Sources) =
                pending.sources.keys().partition(|source| filter.wants(**source));
            for (kind, sources) in [(Kind::ALLOW, allow), (Kind::BLOCK, block)] {
                if !sources.is_empty() {
                    records.push(Record { kind, group: *group, sources });
                }
            }
            pending.sources.retain(|_, left| {
                *left -= 1;
                *left > 0
            });
        }
        self.groups.retain(|_, g| !g.filter.is_empty() || !g.pending.is_empty());
        let groups = &self.groups;
        self.answers.retain(|group, _| groups.contains_key(group));
        records
    }

    /// The records that answer queries now.
    pub fn take_answers(&mut self, now: u64) -> Vec<Record> {
        if self.general.is_some_and(|due| due <= now) {
            self.general = None;
            self.answers.clear();
            return self.groups().map(|(group, filter)| current(group, filter)).collect();
        }
        let mut records = Vec::new();
        let due = self.answers.extract_if(.., |_, answer| answer.due <= now);
        for (group, answer) in due {
            let Some(filter) = self.groups.get(&group).map(|g| &g.filter) else { continue };
            if answer.sources.is_empty() {
                if !filter.is_empty() {
                    records.push(current(group, filter));
                }
                continue;
            }
            let sources: Sources =
                answer.sources.into_iter().filter(|source| filter.wants(*source)).collect();
            if !sources.is_empty() {
                records.push(Record { kind: Kind::IS_INCLUDE, group, sources });
            }
        }
        records
    }

    /// When something is to be sent next.
    pub fn due(&self) -> Option<u64> {
        let pending = self.groups.values().map(|g| &g.pending).filter(|p| !p.is_empty());
        let changes = pending.map(|pending| pending.due);
        changes.chain(self.answers.values().map(|answer| answer.due)).chain(self.general).min()
    }
}

/// The record of a group's present state.
fn current(group: Ipv4Addr, filter: &Filter) -> Record {
    let kind = if filter.exclude { Kind::IS_EXCLUDE } else { Kind::IS_INCLUDE };
    Record { kind, group, sources: filter.sources.clone() }
}
