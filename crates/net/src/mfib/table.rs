// SPDX-License-Identifier: Apache-2.0
//! A table's control state, and its publication to workers.

use super::mroutes::Numbers;
use super::{
    EntryFlags, Group, ItfFlags, Mfib, MpathKind, Mroute, MrouteIndex, MrouteInterface,
    MrouteOutput, NO_SENDERS, Senders, local,
};
use crate::{Net, Source, TableIndex};
use cli::{Error, retval};
use graph::World;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tables::{Leaf, Lpm};
use wire::{Address, Prefix};

/// The RPF id that means none.
pub const NO_RPF_ID: u32 = u32::MAX;

/// Stands for all interfaces that an entry doesn't name.
const OTHERS: u32 = u32::MAX;

/// One source's part of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceEntry {
    pub flags: EntryFlags,
    pub rpf_id: u32,
    pub paths: BTreeMap<MpathKind, ItfFlags>,
    /// True if the source replaces its entries (`replace_begin`), and hasn't set this one again
    /// yet.
    pub stale: bool,
}

impl Default for SourceEntry {
    fn default() -> Self {
        Self { flags: EntryFlags::empty(), rpf_id: NO_RPF_ID, paths: BTreeMap::new(), stale: false }
    }
}

/// An entry.
pub struct Entry {
    pub index: MrouteIndex,
    /// The parts of its sources, best first.
    pub sources: BTreeMap<Source, SourceEntry>,
    /// By interface, true while a report is pending.
    pub waiting: BTreeMap<u32, Arc<AtomicBool>>,
    /// The published outputs, with a reference on each one's adjacency.
    pub outputs: Vec<MrouteOutput>,
}

/// The entries for one prefix of groups.
pub struct Node<A> {
    /// The entry for all senders.
    pub own: Option<Entry>,
    pub senders: BTreeMap<A, Entry>,
    /// The number of the published sender list.
    pub list: Option<u32>,
}

impl<A> Default for Node<A> {
    fn default() -> Self {
        Self { own: None, senders: BTreeMap::new(), list: None }
    }
}

impl<A: Address> Node<A> {
    pub fn entry(&self, source: Option<A>) -> Option<&Entry> {
        source.map_or(self.own.as_ref(), |source| self.senders.get(&source))
    }

    pub fn entry_mut(&mut self, source: Option<A>) -> Option<&mut Entry> {
        match source {
            None => self.own.as_mut(),
            Some(source) => self.senders.get_mut(&source),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.own.is_none() && self.senders.is_empty()
    }

    /// All entries, each with its sender.
    pub fn entries(&self) -> impl Iterator<Item = (Option<A>, &Entry)> {
        let senders = self.senders.iter().map(|(source, entry)| (Some(*source), entry));
        self.own.iter().map(|entry| (None, entry)).chain(senders)
    }
}

/// The groups with entries, by address and prefix length.
pub type Nodes<A> = BTreeMap<(A, u8), Node<A>>;

/// A table with entries of its own.
pub struct Table<F: Net> {
    pub lpm: Arc<Lpm<F::Key>>,
    pub nodes: Nodes<F::Addr>,
}

pub fn full() -> Error {
    Error::limit("the multicast table is full").retval(retval::TABLE_TOO_BIG)
}

impl<F: Net> Table<F> {
    /// Publishes the entries of a prefix of groups to workers. `default` is the entry that every
    /// table has for it.
    pub fn point_to(&self, at: (F::Addr, u8), default: Option<MrouteIndex>) -> Result<(), Error> {
        let (key, node) = (F::key(at.0), self.nodes.get(&at));
        let own = node.and_then(|node| node.own.as_ref()).map(|entry| entry.index).or(default);
        let list = node.and_then(|node| node.list);
        let hop = match (own, list) {
            (Some(own), _) => own.0,
            // Other senders' packets take the entry of a shorter prefix.
            (None, Some(_)) => self.covering(at),
            (None, None) => {
                self.lpm.remove(key, at.1);
                return Ok(());
            }
        };
        let route = NO_SENDERS + list.unwrap_or(0);
        self.lpm.insert(key, at.1, Leaf { hop, route }).map(drop).map_err(|_| full())
    }

    /// The entry for all senders of a shorter prefix of groups; 0 for none.
    fn covering(&self, (addr, len): (F::Addr, u8)) -> u32 {
        let shorter = len.checked_sub(1).and_then(|len| self.lpm.covering(F::key(addr), len));
        shorter.map_or(0, |route| route.leaf.hop)
    }

    /// The groups within a prefix that only have single senders: they are published again when the
    /// entry for other senders changes.
    pub fn followers(&self, (addr, len): (F::Addr, u8)) -> Vec<(F::Addr, u8)> {
        let Some(prefix) = Prefix::new(addr, len) else { return Vec::new() };
        let behind = self.nodes.range((Bound::Excluded((addr, len)), Bound::Unbounded));
        let within = behind.take_while(|((addr, _), _)| prefix.contains(*addr));
        within
            .filter(|(_, node)| node.own.is_none() && node.list.is_some())
            .map(|(at, _)| *at)
            .collect()
    }
}

impl<F: Net> Mfib<F> {
    /// Publishes the present state of an entry to workers.
    #[inline(never)]
    pub(super) fn publish(
        &self,
        world: &World,
        table: TableIndex,
        group: Group<F::Addr>,
        entry: &mut Entry,
    ) {
        let Some(best) = entry.sources.values().next() else { return };
        let mut interfaces: BTreeMap<u32, ItfFlags> = BTreeMap::new();
        let mut forward = BTreeSet::new();
        let mut outputs = Vec::new();
        for (path, flags) in &best.paths {
            match path {
                MpathKind::Local if flags.contains(ItfFlags::FORWARD) => outputs.push(local::<F>()),
                MpathKind::Local => {}
                MpathKind::Interface { sw_if, nexthop } => {
                    let all = interfaces.entry(sw_if.0).or_default();
                    *all |= *flags;
                    if flags.contains(ItfFlags::FORWARD) {
                        forward.insert((*sw_if, *nexthop));
                    }
                }
            }
        }
        for (sw_if, nexthop) in &forward {
            let (sw_if, nexthop) = (*sw_if, *nexthop);
            // A neighbour receives packets to the group too.
            if nexthop.is_some() && forward.contains(&(sw_if, None)) {
                continue;
            }
            if !self.interfaces.get(sw_if).is_ok_and(|i| i.admin_up && i.link_up) {
                continue;
            }
            let adj = match nexthop {
                Some(nexthop) => self.adjacencies.neighbor_for(world, F::LINK, sw_if, nexthop),
                None => self.adjacencies.multicast(world, sw_if, F::LINK),
            };
            outputs.extend(adj.ok().map(|adj| MrouteOutput { adj, tx_if: sw_if.0 }));
        }
        entry.waiting.retain(|sw_if, _| *sw_if == OTHERS || interfaces.contains_key(sw_if));
        let mut interface = |(sw_if, flags)| MrouteInterface {
            sw_if,
            flags,
            waiting: entry.waiting.entry(sw_if).or_default().clone(),
        };
        let others = interface((OTHERS, ItfFlags::empty()));
        let interfaces = interfaces.into_iter().map(interface).collect();
        let route = Mroute {
            flags: best.flags,
            table,
            group: group.erased(),
            interfaces,
            others,
            outputs: outputs.clone().into(),
        };
        self.mroutes.set(entry.index, route);
        self.release(std::mem::replace(&mut entry.outputs, outputs));
    }

    /// Releases the adjacencies of outputs that are no longer published.
    pub(super) fn release(&self, outputs: Vec<MrouteOutput>) {
        let held = outputs.into_iter().filter(|output| !output.is_local());
        held.for_each(|MrouteOutput { adj, .. }| self.adjacencies.release(adj));
    }

    /// Publishes the single senders of a group to workers; returns the number of a list that is no
    /// longer named, if there is one.
    pub(super) fn list_senders(
        &self,
        node: &mut Node<F::Addr>,
        numbers: &mut Numbers,
    ) -> Option<u32> {
        if node.senders.is_empty() {
            return node.list.take();
        }
        let list = *node.list.get_or_insert_with(|| numbers.take());
        let senders: Senders<F> =
            node.senders.iter().map(|(source, e)| (*source, e.index)).collect();
        self.senders.set(list, senders);
        None
    }

    /// Makes the entries that every table has: the groups that every router listens to, and a drop
    /// entry for all others.
    pub(super) fn make_defaults(&self) {
        let mut inner = self.inner();
        let heard =
            F::heard().into_iter().map(|(prefix, of)| (prefix, of, EntryFlags::ACCEPT_ALL, true));
        for (prefix, of, flags, here) in
            heard.chain([(F::groups(), Source::Default, EntryFlags::DROP, false)])
        {
            let (at, index) = ((prefix.addr(), prefix.len()), self.mroutes.allocate());
            let paths = if here {
                BTreeMap::from([(MpathKind::Local, ItfFlags::FORWARD)])
            } else {
                BTreeMap::new()
            };
            let outputs = if here { vec![local::<F>()] } else { Vec::new() };
            let leaf = Leaf { hop: index.0, route: NO_SENDERS };
            self.defaults.insert(F::key(at.0), at.1, leaf).expect("room in a fresh table");
            let route = Mroute {
                flags,
                table: TableIndex::DEFAULT,
                group: Group::any(prefix).erased(),
                interfaces: Box::default(),
                others: MrouteInterface {
                    sw_if: OTHERS,
                    flags: ItfFlags::empty(),
                    waiting: Arc::default(),
                },
                outputs: outputs.clone().into(),
            };
            self.mroutes.set(index, route);
            let sources =
                BTreeMap::from([(of, SourceEntry { flags, paths, ..SourceEntry::default() })]);
            let entry = Entry { index, sources, waiting: BTreeMap::new(), outputs };
            inner.defaults.insert(at, Node { own: Some(entry), ..Node::default() });
        }
    }
}
