// SPDX-License-Identifier: Apache-2.0
//! The control state of interfaces with IGMP, and of proxies.

use crate::filter::Filter;
use crate::host::Host;
use crate::message::Message;
use crate::ranges::Ranges;
use crate::router::{Router, Times};
use graph::SwIfIndex;
use net::TableIndex;
use net::mfib::{Group, Mpath};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use sync::Mailbox;

/// Nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// The role of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It reports to routers which groups are listened to.
    Host,
    /// It asks hosts which groups they listen to.
    Router,
}

impl Mode {
    /// The word that commands take.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Router => "router",
        }
    }
}

/// Times of all interfaces, in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timers {
    /// Between two general queries.
    pub query: u32,
    /// Until a source that no host reports is forgotten.
    pub source: u32,
    /// Until a source is forgotten after hosts were asked for it.
    pub leave: u32,
}

impl Default for Timers {
    fn default() -> Self {
        Self { query: 60, source: 180, leave: 60 }
    }
}

impl Timers {
    pub fn times(self) -> Times {
        let nanoseconds = |seconds: u32| u64::from(seconds) * SECOND;
        Times { membership: nanoseconds(self.source), leave: nanoseconds(self.leave) }
    }
}

/// An interface with IGMP.
pub struct Link {
    pub mode: Mode,
    /// The groups that an operator or a client listens to.
    pub listens: BTreeMap<Ipv4Addr, Filter>,
    /// The groups that hosts behind a proxy listen to.
    pub proxied: BTreeMap<Ipv4Addr, Filter>,
    pub host: Host,
    pub router: Router,
    /// When the next general query is due.
    pub next_query: u64,
    /// Time until which another router of the link is the querier.
    pub other_querier: Option<u64>,
    /// Number of records without room that aren't counted yet.
    pub refused: u64,
    /// The queue of its received messages.
    pub received: Arc<Mailbox<Message>>,
}

impl Link {
    /// Brings the host's side up to date with what is listened to. The change is reported that many
    /// times.
    pub fn update(&mut self, now: u64, group: Ipv4Addr, reports: u8) {
        let all = [self.listens.get(&group), self.proxied.get(&group)];
        let merged = all
            .into_iter()
            .flatten()
            .fold(Filter::default(), |merged, filter| merged.merge(filter));
        self.host.set(now, group, &merged, reports);
    }

    /// The groups and sources by which clients know them: 0.0.0.0 stands for all sources.
    pub fn listed(&self) -> Vec<(Ipv4Addr, Ipv4Addr)> {
        let mut all = Vec::new();
        for (group, filter) in self.host.groups() {
            all.extend(filter.listed().into_iter().map(|source| (group, source)));
        }
        for (group, _) in self.router.groups() {
            all.extend(self.router.listed(group).into_iter().map(|source| (group, source)));
        }
        all
    }
}

/// The state of all interfaces.
#[derive(Default)]
pub struct Table {
    pub links: BTreeMap<SwIfIndex, Link>,
    /// The proxies, by the id of their table.
    pub proxies: BTreeMap<u32, Proxy>,
    pub timers: Timers,
    pub ranges: Ranges,
    /// The tables in which IGMP's own groups are delivered to it.
    pub delivering: BTreeSet<TableIndex>,
    /// The multicast routes that proxies have made, by table and group.
    pub installed: BTreeMap<(TableIndex, Ipv4Addr), Routes>,
}

/// The proxy of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proxy {
    /// The interface that listens for all.
    pub upstream: SwIfIndex,
    /// The interfaces of hosts.
    pub downstream: BTreeSet<SwIfIndex>,
}

/// The paths of the multicast routes of one group.
pub type Routes = BTreeMap<Group<Ipv4Addr>, Vec<Mpath>>;
