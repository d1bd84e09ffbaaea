// SPDX-License-Identifier: Apache-2.0
//! The control side of adjacencies: who holds them, what the interfaces' events do to them.

use super::ordinary::Records;
use super::{Adj, AdjIndex, AdjInfo, AdjKind, Adjacencies, Link, MAX_REWRITE, NOWHERE, Rewrite};
use crate::{IfEvent, IfKind, Interface, Interfaces, MtuKind};
use cli::Error;
use graph::{NodeIndex, Shared, SwIfIndex, World};
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard};
use sync::{GraceTicket, Slots};
use wire::{EtherType, MacAddr};

/// What tells adjacencies apart; those of one key are one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Key {
    Neighbor(Link, SwIfIndex, IpAddr),
    Glean(Link, SwIfIndex, IpAddr),
    Receive(Link, SwIfIndex, IpAddr),
    Multicast(Link, SwIfIndex),
    Lookup(Link, u32),
    Feature(Link, NodeIndex, u32),
    LoadBalance(Vec<AdjIndex>),
    Alias(AdjIndex),
    /// What a route leads to, for recursive paths that follow it: the route's index, and what it leads to.
    Via(u32, AdjIndex),
    Fixed,
}

impl Key {
    /// What an adjacency of this key shows a copy of.
    fn target(&self) -> Option<AdjIndex> {
        match *self {
            Self::Alias(target) | Self::Via(_, target) => Some(target),
            _ => None,
        }
    }

    /// What it shows of its target.
    fn shown(&self, adj: Adj) -> Adj {
        match *self {
            Self::Via(via, _) => Adj { via, ..adj },
            _ => adj,
        }
    }
}

struct Entry {
    adj: Adj,
    key: Key,
    refs: u32,
    /// Those that show a copy of this.
    aliases: BTreeSet<AdjIndex>,
}

#[derive(Default)]
pub(super) struct Inner {
    all: Vec<Option<Entry>>,
    by_key: HashMap<Key, AdjIndex>,
    /// Given back; packets on their way may still name them until the grace period is over.
    cooling: Vec<(GraceTicket, AdjIndex)>,
    free: Vec<AdjIndex>,
    /// How often one that workers may know was written.
    stores: u64,
}

impl Entry {
    fn info(&self, index: AdjIndex) -> AdjInfo {
        AdjInfo { index, adj: self.adj, refs: self.refs, target: self.key.target() }
    }
}

impl Inner {
    /// An index that nobody uses.
    fn index(&mut self) -> AdjIndex {
        let cooled = self.cooling.iter().take_while(|(ticket, _)| ticket.is_over()).count();
        self.free.extend(self.cooling.drain(..cooled).map(|(_, index)| index));
        self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            AdjIndex(self.all.len() as u32 - 1)
        })
    }

    fn link(&mut self, target: AdjIndex, alias: AdjIndex) {
        if let Some(Some(entry)) = self.all.get_mut(target.at()) {
            entry.aliases.insert(alias);
        }
    }

    fn unlink(&mut self, target: AdjIndex, alias: AdjIndex) {
        if let Some(Some(entry)) = self.all.get_mut(target.at()) {
            entry.aliases.remove(&alias);
        }
    }
}

impl Shared for Adjacencies {
    fn make(world: &World) -> Self {
        let this = Self {
            slots: Slots::new(world.qsbr.clone()),
            buckets: Slots::new(world.qsbr.clone()),
            ordinary: Records::new(),
            inner: Mutex::default(),
            counters: world.stats.combined("/net/adjacency"),
        };
        let fixed = [
            (AdjIndex::NO_ROUTE, AdjKind::NoRoute, Link::Ip4),
            (AdjIndex::DROP, AdjKind::Drop, Link::Ip4),
            (AdjIndex::MARTIAN, AdjKind::Martian, Link::Ip4),
            (AdjIndex::PUNT, AdjKind::Punt, Link::Ip4),
            (AdjIndex::UNREACH, AdjKind::Unreach, Link::Ip4),
            (AdjIndex::PROHIBIT, AdjKind::Prohibit, Link::Ip4),
            (AdjIndex::RECEIVE, AdjKind::Receive, Link::Ip4),
            (AdjIndex::LINK_LOCAL, AdjKind::LinkLocal, Link::Ip6),
            (AdjIndex::PUNT6, AdjKind::Punt, Link::Ip6),
            (AdjIndex::RECEIVE6, AdjKind::Receive, Link::Ip6),
        ];
        (0..AdjIndex::FIRST as usize).for_each(|index| this.counters.start(index));
        {
            let mut inner = this.inner();
            inner.all.resize_with(AdjIndex::FIRST as usize, || None);
            for (index, kind, link) in fixed {
                let next = next_node(world, kind, link);
                let adj = Adj { kind, next, link, counter: index.0, ..Adj::default() };
                this.store(index, adj);
                inner.all[index.at()] =
                    Some(Entry { adj, key: Key::Fixed, refs: 1, aliases: BTreeSet::new() });
            }
        }
        world.get::<Interfaces>().subscribe(|world, event| world.get::<Adjacencies>().on_event(world, event));
        this
    }
}

/// Where packets go that the lookup sends to an adjacency of this kind.
fn next_node(world: &World, kind: AdjKind, link: Link) -> NodeIndex {
    let name = match (kind, link) {
        (AdjKind::Rewrite, Link::Ip4) => "ip4-rewrite",
        (AdjKind::Rewrite, Link::Ip6) => "ip6-rewrite",
        (AdjKind::Incomplete, Link::Ip4) => "ip4-arp",
        (AdjKind::Incomplete, Link::Ip6) => "ip6-discover-neighbor",
        (AdjKind::Glean, Link::Ip4) => "ip4-glean",
        (AdjKind::Glean, Link::Ip6) => "ip6-glean",
        (AdjKind::Receive, Link::Ip4) => "ip4-local",
        (AdjKind::Receive, Link::Ip6) => "ip6-local",
        (AdjKind::Punt, Link::Ip4) => "ip4-punt",
        (AdjKind::Punt, Link::Ip6) => "ip6-punt",
        (AdjKind::LinkLocal, _) => "ip6-link-local",
        (AdjKind::Multicast, Link::Ip4) => "ip4-rewrite-mcast",
        (AdjKind::Multicast, Link::Ip6) => "ip6-rewrite-mcast",
        _ => return NOWHERE,
    };
    world.node(name).unwrap_or(NOWHERE)
}

fn mtu_of(interface: &Interface, link: Link) -> u16 {
    interface.mtu_of(if link == Link::Ip4 { MtuKind::Ip4 } else { MtuKind::Ip6 })
}

/// The Ethernet header from an interface to `dst`, with the tags of a sub-interface.
pub fn ethernet_rewrite(interface: &Interface, dst: MacAddr, ethertype: EtherType) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(22);
    bytes.extend(dst.0);
    bytes.extend(interface.mac.0);
    if let Some(sub) = interface.sub {
        let outer = if sub.dot1ad { EtherType::QINQ } else { EtherType::VLAN };
        for (tpid, vlan) in [(outer, sub.outer), (EtherType::VLAN, sub.inner)] {
            if let Some(vlan) = vlan {
                bytes.extend(tpid.0.to_be_bytes());
                bytes.extend(vlan.to_be_bytes());
            }
        }
    }
    bytes.extend(ethertype.0.to_be_bytes());
    bytes
}

impl Adjacencies {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// What workers find at the index from now on.
    fn store(&self, index: AdjIndex, adj: Adj) {
        self.slots.set(index.0, adj);
        self.ordinary.set(index, &adj);
    }

    /// The adjacency of this key, with one more holder; `make` makes it if there is none.
    fn hold(&self, key: Key, make: impl FnOnce() -> Adj) -> AdjIndex {
        let mut inner = self.inner();
        if let Some(&index) = inner.by_key.get(&key) {
            if let Some(entry) = &mut inner.all[index.at()] {
                entry.refs += 1;
            }
            return index;
        }
        let index = inner.index();
        let adj = Adj { counter: index.0, ..make() };
        if let Key::LoadBalance(buckets) = &key {
            self.buckets.set(index.0, buckets.clone().into());
        }
        self.counters.start(index.at());
        self.store(index, adj);
        inner.all[index.at()] = Some(Entry { adj, key: key.clone(), refs: 1, aliases: BTreeSet::new() });
        inner.by_key.insert(key, index);
        index
    }

    /// A new index for what `target` stands for now; [`Self::retarget`] changes that. The caller holds the target, and
    /// passes that on.
    pub fn alias(&self, target: AdjIndex) -> AdjIndex {
        let mut inner = self.inner();
        self.copy(&mut inner, Key::Alias(target), target)
    }

    /// What a route leads to, as those see it who follow the route: [`Adj::via`] names it. The caller holds the target,
    /// and passes that on.
    pub(crate) fn via(&self, route: u32, target: AdjIndex) -> AdjIndex {
        let mut inner = self.inner();
        let key = Key::Via(route, target);
        let Some(&index) = inner.by_key.get(&key) else {
            let index = self.copy(&mut inner, key.clone(), target);
            inner.by_key.insert(key, index);
            return index;
        };
        if let Some(entry) = &mut inner.all[index.at()] {
            entry.refs += 1;
        }
        drop(inner);
        // The one that was there holds it already.
        self.release(target);
        index
    }

    /// A new index that shows what `target` does.
    fn copy(&self, inner: &mut Inner, key: Key, target: AdjIndex) -> AdjIndex {
        let index = inner.index();
        let adj = key.shown(inner.all[target.at()].as_ref().map(|e| e.adj).unwrap_or_default());
        self.store(index, adj);
        inner.all[index.at()] = Some(Entry { adj, key, refs: 1, aliases: BTreeSet::new() });
        inner.link(target, index);
        index
    }

    /// Lets an alias stand for something else. The caller holds the new target, and passes that on.
    ///
    /// # Panics
    /// If `alias` is none, or the target is an alias of it.
    pub fn retarget(&self, alias: AdjIndex, target: AdjIndex) {
        let old = {
            let mut inner = self.inner();
            let mut at = target;
            while let Some(next) = inner.all.get(at.at()).and_then(|e| e.as_ref()?.key.target()) {
                assert!(at != alias, "an alias of itself");
                at = next;
            }
            let Some(Some(Entry { key: Key::Alias(kept), .. })) = inner.all.get_mut(alias.at()) else {
                panic!("adjacency {alias} is no alias")
            };
            let old = std::mem::replace(kept, target);
            inner.unlink(old, alias);
            inner.link(target, alias);
            let adj = inner.all[target.at()].as_ref().map(|e| e.adj).unwrap_or_default();
            self.show(&mut inner, alias, adj);
            old
        };
        self.release(old);
    }

    /// Lets workers see a new value of an adjacency, and of its aliases.
    fn show(&self, inner: &mut Inner, index: AdjIndex, adj: Adj) {
        inner.stores += 1;
        let Some(Some(entry)) = inner.all.get_mut(index.at()) else { return };
        let adj = entry.key.shown(adj);
        entry.adj = adj;
        self.store(index, adj);
        for alias in entry.aliases.clone() {
            self.show(inner, alias, adj);
        }
    }

    /// How often an adjacency that workers may know was written: what changes cost.
    pub fn stores(&self) -> u64 {
        self.inner().stores
    }

    /// Holds an adjacency that is there once more.
    pub fn hold_again(&self, index: AdjIndex) {
        if let Some(Some(entry)) = self.inner().all.get_mut(index.at()) {
            entry.refs += 1;
        }
    }

    /// Gives back what [`Self::neighbor`] and the others gave. The last holder's call deletes it: nothing that workers look
    /// packets up in may name it any more. Packets on their way still find it: its place is used again only after a grace
    /// period.
    pub fn release(&self, index: AdjIndex) {
        let mut held = vec![index];
        while let Some(index) = held.pop() {
            let mut inner = self.inner();
            let Some(slot) = inner.all.get_mut(index.at()) else { continue };
            let Some(entry) = slot.as_mut().filter(|e| e.key != Key::Fixed) else { continue };
            entry.refs -= 1;
            if entry.refs > 0 {
                continue;
            }
            let Some(entry) = slot.take() else { continue };
            inner.by_key.remove(&entry.key);
            match entry.key {
                Key::LoadBalance(mut buckets) => {
                    buckets.sort_unstable();
                    buckets.dedup();
                    held.extend(buckets);
                }
                Key::Alias(target) | Key::Via(_, target) => {
                    inner.unlink(target, index);
                    held.push(target);
                }
                _ => {}
            }
            inner.cooling.push((self.slots.domain().grace(), index));
        }
    }

    /// The adjacency of a neighbour; the caller becomes one more holder of it. A new one is incomplete, except on an
    /// interface without layer-2 addresses, which has nothing to ask for.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn neighbor(&self, world: &World, sw_if: SwIfIndex, nexthop: IpAddr) -> Result<AdjIndex, Error> {
        self.neighbor_for(world, Link::of(nexthop), sw_if, nexthop)
    }

    /// As [`Self::neighbor`], for packets of `link`, which may be others than the next hop's (RFC 8950).
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn neighbor_for(
        &self,
        world: &World,
        link: Link,
        sw_if: SwIfIndex,
        nexthop: IpAddr,
    ) -> Result<AdjIndex, Error> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let kind = if interface.kind == IfKind::Ip { AdjKind::Rewrite } else { AdjKind::Incomplete };
        // Without layer-2 addresses all neighbours are one.
        let nexthop = match (interface.kind, nexthop) {
            (IfKind::Ip, IpAddr::V4(_)) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            (IfKind::Ip, IpAddr::V6(_)) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            (_, nexthop) => nexthop,
        };
        let key = Key::Neighbor(link, sw_if, nexthop);
        let known = if link == Link::of(nexthop) { None } else { self.rewrite_to(sw_if, nexthop) };
        Ok(self.hold(key, || {
            let mut adj = on_interface(world, &interface, kind, link, nexthop);
            if let Some(rewrite) = known {
                fill(world, &mut adj, &rewrite);
            }
            adj
        }))
    }

    /// What is put in front of a neighbour's own packets, if that is known.
    fn rewrite_to(&self, sw_if: SwIfIndex, nexthop: IpAddr) -> Option<Rewrite> {
        let adj = self.info(self.find_neighbor(sw_if, nexthop)?)?.adj;
        (adj.kind == AdjKind::Rewrite).then(|| adj.rewrite())
    }

    /// The adjacency of a neighbour, if somebody holds it; doesn't make the caller a holder.
    pub fn find_neighbor(&self, sw_if: SwIfIndex, nexthop: IpAddr) -> Option<AdjIndex> {
        self.find_neighbor_for(Link::of(nexthop), sw_if, nexthop)
    }

    /// As [`Self::find_neighbor`], for packets of `link`.
    pub fn find_neighbor_for(&self, link: Link, sw_if: SwIfIndex, nexthop: IpAddr) -> Option<AdjIndex> {
        self.inner().by_key.get(&Key::Neighbor(link, sw_if, nexthop)).copied()
    }

    /// Those of a neighbour that somebody holds, for whatever packets: his own protocol's first.
    pub fn find_neighbors(&self, sw_if: SwIfIndex, nexthop: IpAddr) -> Vec<AdjIndex> {
        let links = if nexthop.is_ipv6() { &[Link::Ip6, Link::Ip4][..] } else { &[Link::Ip4] };
        links.iter().filter_map(|link| self.find_neighbor_for(*link, sw_if, nexthop)).collect()
    }

    /// The neighbour's layer-2 address is known: from now on `rewrite` (see [`ethernet_rewrite`]) is put in front of packets.
    /// Gives the adjacency; `None` if nobody holds it.
    ///
    /// # Panics
    /// If the rewrite is longer than [`MAX_REWRITE`].
    pub fn complete(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        nexthop: IpAddr,
        rewrite: &[u8],
    ) -> Option<AdjIndex> {
        assert!(rewrite.len() <= MAX_REWRITE);
        let all = self.find_neighbors(sw_if, nexthop);
        for index in &all {
            self.change(*index, |adj| fill(world, adj, rewrite));
        }
        all.first().copied()
    }

    /// The neighbour's layer-2 address is no longer known.
    pub fn incomplete(&self, world: &World, sw_if: SwIfIndex, nexthop: IpAddr) -> Option<AdjIndex> {
        let all = self.find_neighbors(sw_if, nexthop);
        for index in &all {
            self.change(*index, |adj| {
                adj.kind = AdjKind::Incomplete;
                adj.next = next_node(world, adj.kind, adj.nexthop_link);
                adj.rewrite_len = 0;
            });
        }
        all.first().copied()
    }

    /// The adjacency of a connected network: its destinations are neighbours that have to be asked for. `address` is the
    /// interface's own in that network (or unspecified). The caller becomes one more holder.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn glean(&self, world: &World, sw_if: SwIfIndex, address: IpAddr) -> Result<AdjIndex, Error> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if interface.kind == IfKind::Ip {
            return self.neighbor(world, sw_if, address);
        }
        let key = Key::Glean(Link::of(address), sw_if, address);
        Ok(self.hold(key, || on_interface(world, &interface, AdjKind::Glean, Link::of(address), address)))
    }

    /// The adjacency of packets for an address of ours on an interface. The caller becomes one more holder.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn receive(&self, world: &World, sw_if: SwIfIndex, address: IpAddr) -> Result<AdjIndex, Error> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let key = Key::Receive(Link::of(address), sw_if, address);
        Ok(self.hold(key, || on_interface(world, &interface, AdjKind::Receive, Link::of(address), address)))
    }

    /// The adjacency of packets to groups on an interface; whoever sends fills in the group's bits of the layer-2 address. The
    /// caller becomes one more holder.
    ///
    /// # Errors
    /// An interface that isn't there.
    pub fn multicast(&self, world: &World, sw_if: SwIfIndex, link: Link) -> Result<AdjIndex, Error> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let (all, dst) = match link {
            Link::Ip4 => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), MacAddr::ip4_multicast(Ipv4Addr::UNSPECIFIED)),
            Link::Ip6 => (IpAddr::V6(Ipv6Addr::UNSPECIFIED), MacAddr::ip6_multicast(Ipv6Addr::UNSPECIFIED)),
        };
        Ok(self.hold(Key::Multicast(link, sw_if), || {
            let mut adj = on_interface(world, &interface, AdjKind::Multicast, link, all);
            if interface.kind == IfKind::Ethernet {
                adj.set_rewrite(&ethernet_rewrite(&interface, dst, link.ethertype()));
            }
            adj
        }))
    }

    /// The adjacency of packets to look up once more, in the table of this index. The caller becomes one more holder.
    pub fn lookup(&self, link: Link, table: u32) -> AdjIndex {
        self.hold(Key::Lookup(link, table), || Adj { kind: AdjKind::Lookup, table, link, ..Adj::default() })
    }

    /// The adjacency of packets that a feature's node takes, for its object of this number: packets find that in
    /// [`Adj::table`]. The caller becomes one more holder.
    pub fn feature(&self, link: Link, node: NodeIndex, object: u32) -> AdjIndex {
        self.hold(Key::Feature(link, node, object), || Adj {
            kind: AdjKind::Feature,
            next: node,
            table: object,
            link,
            ..Adj::default()
        })
    }

    /// A choice among adjacencies: as many buckets as their number says, a power of two. The caller holds each of
    /// them once (not once for each bucket) and passes that on.
    ///
    /// # Panics
    /// If the number of buckets is no power of two.
    pub fn load_balance(&self, link: Link, buckets: &[AdjIndex]) -> AdjIndex {
        assert!(buckets.len().is_power_of_two());
        let key = Key::LoadBalance(buckets.to_vec());
        let table = buckets.len() as u32 - 1;
        let mut fresh = false;
        let index = self.hold(key, || {
            fresh = true;
            Adj { kind: AdjKind::LoadBalance, table, link, ..Adj::default() }
        });
        if !fresh {
            // The one that was there holds them already.
            let mut members = buckets.to_vec();
            members.sort_unstable();
            members.dedup();
            members.into_iter().for_each(|member| self.release(member));
        }
        index
    }

    fn change(&self, index: AdjIndex, f: impl FnOnce(&mut Adj)) {
        let mut inner = self.inner();
        if let Some(Some(entry)) = inner.all.get_mut(index.at()) {
            let mut adj = entry.adj;
            f(&mut adj);
            self.show(&mut inner, index, adj);
        }
    }

    /// What is known of one.
    pub fn info(&self, index: AdjIndex) -> Option<AdjInfo> {
        let inner = self.inner();
        Some(inner.all.get(index.at())?.as_ref()?.info(index))
    }

    /// All of them, by index.
    pub fn list(&self) -> Vec<AdjInfo> {
        let inner = self.inner();
        let all = inner.all.iter().enumerate();
        all.filter_map(|(i, e)| Some(e.as_ref()?.info(AdjIndex(i as u32)))).collect()
    }

    /// The members of a load-balance, one for each bucket.
    pub fn buckets_of(&self, index: AdjIndex) -> Vec<AdjIndex> {
        self.buckets.read(index.0, |b| b.map(|b| b.to_vec()).unwrap_or_default())
    }

    fn on_event(&self, world: &World, event: IfEvent) {
        let (IfEvent::Mac(sw_if) | IfEvent::Mtu(sw_if) | IfEvent::Deleting(sw_if)) = event else { return };
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let affected: Vec<AdjIndex> = self
            .list()
            .iter()
            .filter(|i| i.sw_if() == Some(sw_if) && i.target.is_none())
            .map(|i| i.index)
            .collect();
        for index in affected {
            self.change(index, |adj| match event {
                IfEvent::Deleting(_) => {
                    // Whoever still holds it lets go; until then it leads nowhere.
                    *adj =
                        Adj { kind: AdjKind::Drop, link: adj.link, counter: adj.counter, ..Adj::default() };
                }
                IfEvent::Mac(_) if adj.rewrite_len >= 14 && interface.kind == IfKind::Ethernet => {
                    let mut rewrite = adj.rewrite();
                    rewrite[6..12].copy_from_slice(&interface.mac.0);
                    adj.set_rewrite(&rewrite);
                }
                _ => adj.mtu = mtu_of(&interface, adj.link),
            });
        }
    }
}

/// Completes an adjacency. The type at the end of an Ethernet header is that of its packets, whatever the next hop's.
fn fill(world: &World, adj: &mut Adj, rewrite: &[u8]) {
    adj.kind = AdjKind::Rewrite;
    adj.next = next_node(world, adj.kind, adj.link);
    let mut rewrite = rewrite.to_vec();
    if adj.link != adj.nexthop_link
        && let Some((_, ethertype)) = rewrite.split_last_chunk_mut()
    {
        *ethertype = adj.link.ethertype().0.to_be_bytes();
    }
    adj.set_rewrite(&rewrite);
}

fn on_interface(world: &World, interface: &Interface, kind: AdjKind, link: Link, nexthop: IpAddr) -> Adj {
    // Who is asked for speaks the next hop's protocol.
    let asks = if kind == AdjKind::Incomplete { Link::of(nexthop) } else { link };
    let mut adj = Adj {
        next: next_node(world, kind, asks),
        output: interface.output,
        tx_if: interface.sw_if.0,
        mtu: mtu_of(interface, link),
        kind,
        link,
        ..Adj::default()
    };
    adj.set_nexthop(nexthop);
    adj
}
