// SPDX-License-Identifier: Apache-2.0
//! The kernel's changes of links, addresses, neighbours and routes, applied here.

use crate::convert::Ignored;
use crate::metrics::Metrics;
use crate::routes::{RouteSources, Routes};
use cli::Result;
use graph::{SwIfIndex, World};
use net::mfib::{Change as MfibChange, Group, ItfFlags, Mpath, MpathKind};
use net::{
    Addresses, Interfaces, LinkLocals, Mfib, MtuKind, Neighbor, Neighbors, Net, Source, Sources,
    TableIndex,
};
use netlink::{Address, Change, Link, NeighborEntry};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Ip4, Ip6, Prefix};

/// Priorities of the sources of routes, as in VPP: behind segment routing, before messages of the
/// API.
const FIXED: u8 = 0x10;
const DYNAMIC: u8 = 0x11;

/// An address of an interface.
type Owned = (SwIfIndex, IpAddr, u8);

/// Settings that a change depends on.
#[derive(Clone, Copy, Default, Debug)]
pub struct Rules {
    /// Routes of operators over an interface whose kernel's interface loses its carrier go.
    pub del_static: bool,
    /// The same of daemons.
    pub del_dynamic: bool,
    /// A VLAN link that is deleted takes the sub-interface along.
    pub del_links: bool,
}

/// Routes over an interface that are to be removed, a few at a time.
#[derive(Clone, Debug)]
pub struct Removal {
    sw_if: SwIfIndex,
    sources: Vec<Source>,
    /// Tables that are left, with true for IPv6; the first one is being walked.
    tables: Vec<(TableIndex, bool)>,
    after4: Option<Prefix<Ipv4Addr>>,
    after6: Option<Prefix<Ipv6Addr>>,
}

/// State of a mirrored link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LinkState {
    up: bool,
    carrier: bool,
}

/// Numbers of changes by kind, and of those that weren't taken over.
#[derive(Clone, Default, Debug)]
pub struct Counts {
    pub links: u64,
    pub addresses: u64,
    pub neighbors: u64,
    pub routes: u64,
    pub ignored: BTreeMap<Ignored, u64>,
}

/// The state of what comes from the kernel.
pub struct Engine {
    pub rules: Rules,
    pub counts: Counts,
    /// Mirrored interfaces by the index of the kernel's.
    links: HashMap<u32, SwIfIndex>,
    states: HashMap<u32, LinkState>,
    metrics: Metrics,
    sources: RouteSources,
    ip4: Routes<Ip4>,
    ip6: Routes<Ip6>,
    /// Addresses and neighbours that the kernel has given.
    addresses: BTreeSet<Owned>,
    neighbors: BTreeSet<(SwIfIndex, IpAddr)>,
    /// While a dump replaces all: those that it hasn't had yet.
    stale_addresses: BTreeSet<Owned>,
    stale_neighbors: BTreeSet<(SwIfIndex, IpAddr)>,
    /// Removals that are pending: other changes have to wait.
    pub removals: Vec<Removal>,
    /// True if all routes have to be read again: with other preferences, or since the kernel has
    /// next hops again that it had lost with a link.
    pub must_resync: bool,
    /// True while a dump replaces all.
    is_comparing: bool,
}

/// A result that is noted in the log: the kernel can't be refused anything.
fn note(what: &str, done: Result<()>) {
    if let Err(error) = done {
        log::debug!(target: "linux-nl", "{what}: {error}");
    }
}

impl Engine {
    /// Without anything of the kernel.
    pub fn new(world: &World) -> Self {
        let add = |name, priority| {
            let added = world.get::<Sources>().add(name, priority);
            added.unwrap_or(Source::Plugin)
        };
        let (fixed, dynamic) = (add("lcp-rt", FIXED), add("lcp-rt-dynamic", DYNAMIC));
        let sources = RouteSources { fixed, dynamic };
        Self {
            rules: Rules::default(),
            counts: Counts::default(),
            links: HashMap::new(),
            states: HashMap::new(),
            metrics: Metrics::default(),
            sources,
            ip4: Routes::new(sources),
            ip6: Routes::new(sources),
            addresses: BTreeSet::new(),
            neighbors: BTreeSet::new(),
            stale_addresses: BTreeSet::new(),
            stale_neighbors: BTreeSet::new(),
            removals: Vec::new(),
            must_resync: false,
            is_comparing: false,
        }
    }

    /// The sources of routes.
    #[cfg(feature = "tests")]
    pub fn sources(&self) -> RouteSources {
        self.sources
    }

    /// The metric that a preference stands for.
    #[cfg(feature = "tests")]
    pub fn metric(&self, preference: u8) -> u32 {
        self.metrics.metric(preference)
    }

    /// Follows a link of the kernel, the mirror of this interface, or nothing any more.
    pub fn set_link(&mut self, index: u32, phy: Option<SwIfIndex>) {
        self.states.remove(&index);
        match phy {
            Some(phy) => drop(self.links.insert(index, phy)),
            None => {
                if let Some(phy) = self.links.remove(&index) {
                    self.addresses.retain(|(of, ..)| *of != phy);
                    self.neighbors.retain(|(of, _)| *of != phy);
                }
            }
        }
    }

    /// Takes over a change.
    pub fn apply(&mut self, world: &World, change: &Change) {
        match change {
            Change::Link(link) => self.link(world, link),
            Change::LinkGone(link) => self.link_gone(world, link),
            Change::Address(address) => self.address(world, address, true),
            Change::AddressGone(address) => self.address(world, address, false),
            Change::Neighbor(neighbor) => self.neighbor(world, neighbor, true),
            Change::NeighborGone(neighbor) => self.neighbor(world, neighbor, false),
            // Routes have the next hops beside the object.
            Change::NextHop(_) | Change::NextHopGone(_) => {}
            Change::Route(route) | Change::RouteGone(route) => {
                self.counts.routes += 1;
                let is_gone = matches!(change, Change::RouteGone(_));
                let (metrics, links) = (&mut self.metrics, &self.links);
                let done = match route.prefix.is_ipv6() {
                    false => self.ip4.apply(world, route, is_gone, metrics, links),
                    true => self.ip6.apply(world, route, is_gone, metrics, links),
                };
                match done {
                    Ok(()) => {}
                    Err(Some(why)) => *self.counts.ignored.entry(why).or_default() += 1,
                    Err(None) => {
                        self.metrics.spread(route.metric);
                        self.must_resync = true;
                    }
                }
            }
        }
    }

    /// Stores what was read so far. To be called before control does anything else.
    pub fn flush(&mut self, world: &World) {
        self.ip4.flush(world);
        self.ip6.flush(world);
    }

    fn link(&mut self, world: &World, link: &Link) {
        self.counts.links += 1;
        let Some(phy) = self.links.get(&link.index).copied() else { return };
        let interfaces = world.get::<Interfaces>();
        let Ok(interface) = interfaces.get(phy) else { return };
        let up = link.is_admin_up();
        // A new pair's kernel's interface is down: that is no order.
        if interface.admin_up != up && (up || self.states.contains_key(&link.index)) {
            note("admin state", interfaces.set_admin(world, phy, up));
        }
        let mtu = u16::try_from(link.mtu).unwrap_or(u16::MAX);
        if interface.mtu_of(MtuKind::L3) != mtu {
            note("MTU", interfaces.set_mtu(world, phy, MtuKind::L3, mtu));
        }
        if let Some(mac) = link.mac.filter(|mac| *mac != interface.mac && !mac.is_zero())
            && interface.sub.is_none()
        {
            note("MAC address", interfaces.set_mac(world, phy, mac));
        }
        let state = LinkState { up, carrier: link.is_link_up() };
        let before = self.states.insert(link.index, state);
        let was_up = before.is_some_and(|before| before.up);
        if self.is_comparing {
            // Its routes follow.
        } else if before.is_some() && up && !was_up {
            // The kernel has the next hops over it again, without a message.
            self.must_resync = true;
        } else if was_up && !up {
            // The kernel removes its IPv4 routes over the link without a message.
            self.remove_routes(world, phy, self.sources.both().to_vec(), false);
        } else if up && before.is_some_and(|before| before.carrier) && !state.carrier {
            let Rules { del_static, del_dynamic, .. } = self.rules;
            let sources = [(del_static, self.sources.fixed), (del_dynamic, self.sources.dynamic)];
            let sources = sources.into_iter().filter(|(on, _)| *on).map(|(_, source)| source);
            self.remove_routes(world, phy, sources.collect(), true);
        }
    }

    fn remove_routes(&mut self, world: &World, sw_if: SwIfIndex, sources: Vec<Source>, ip6: bool) {
        if sources.is_empty() {
            return;
        }
        let tables = self.ip4.tables.tables::<Ip4>(world).into_iter();
        let mut tables: Vec<_> = tables.map(|table| (table, false)).collect();
        if ip6 {
            let of = self.ip6.tables.tables::<Ip6>(world).into_iter();
            tables.extend(of.map(|table| (table, true)));
        }
        self.removals.push(Removal { sw_if, sources, tables, after4: None, after6: None });
    }

    /// Goes on with the pending removals, with at most `n` prefixes. Returns false if none is left.
    pub fn go_on(&mut self, world: &World, n: usize) -> bool {
        let Some(removal) = self.removals.first_mut() else { return false };
        let Some((table, is_v6)) = removal.tables.first().copied() else {
            self.removals.remove(0);
            return !self.removals.is_empty();
        };
        let what = (removal.sw_if, &removal.sources[..]);
        let is_left = if is_v6 {
            removal.after6 = self.ip6.remove_paths_by(world, table, what, removal.after6, n);
            removal.after6.is_some()
        } else {
            removal.after4 = self.ip4.remove_paths_by(world, table, what, removal.after4, n);
            removal.after4.is_some()
        };
        if !is_left {
            removal.tables.remove(0);
        }
        true
    }

    fn link_gone(&mut self, world: &World, link: &Link) {
        self.counts.links += 1;
        let Some(phy) = self.links.get(&link.index).copied().filter(|_| self.rules.del_links)
        else {
            return;
        };
        let interfaces = world.get::<Interfaces>();
        if interfaces.get(phy).is_ok_and(|interface| interface.sub.is_some()) {
            note("sub-interface", interfaces.delete(world, phy));
        }
    }

    fn address(&mut self, world: &World, address: &Address, is_there: bool) {
        self.counts.addresses += 1;
        let Some(phy) = self.links.get(&address.index).copied() else { return };
        let key = (phy, address.address, address.prefix_len);
        self.stale_addresses.remove(&key);
        if is_there {
            self.addresses.insert(key);
        } else {
            self.addresses.remove(&key);
        }
        set_address(world, key, is_there);
    }

    fn neighbor(&mut self, world: &World, entry: &NeighborEntry, is_there: bool) {
        self.counts.neighbors += 1;
        let Some(sw_if) = self.links.get(&entry.index).copied() else { return };
        let ip = entry.address;
        if ip.is_multicast() || ip.is_unspecified() {
            return;
        }
        let neighbors = world.get::<Neighbors>();
        let mac = entry.mac.filter(|mac| entry.is_usable() && mac.is_unicast() && !mac.is_zero());
        match mac.filter(|_| is_there) {
            Some(mac) => {
                self.stale_neighbors.remove(&(sw_if, ip));
                let is_static = entry.is_static();
                let known = neighbors.get(sw_if, ip);
                if known.is_none_or(|known| (known.mac, known.is_static) != (mac, is_static)) {
                    if known.is_some_and(|known| known.is_static) {
                        note("neighbour", neighbors.remove(world, sw_if, ip).map(drop));
                    }
                    let new = Neighbor { is_static, ..Neighbor::new(sw_if, ip, mac) };
                    note("neighbour", neighbors.set(world, new));
                }
                self.neighbors.insert((sw_if, ip));
            }
            // One that is being asked for has no MAC address yet: that is no news.
            None if is_there && !entry.has_failed() => {}
            None => {
                self.stale_neighbors.remove(&(sw_if, ip));
                if self.neighbors.remove(&(sw_if, ip)) {
                    note("neighbour", neighbors.remove(world, sw_if, ip).map(drop));
                }
            }
        }
    }

    /// Begins to compare all with the kernel's: a dump follows.
    pub fn resync_begin(&mut self, world: &World) {
        self.must_resync = false;
        self.is_comparing = true;
        self.stale_addresses = self.addresses.clone();
        self.stale_neighbors = self.neighbors.clone();
        self.ip4.replace_begin(world);
        self.ip6.replace_begin(world);
    }

    /// Removes what the dump hasn't had.
    pub fn resync_end(&mut self, world: &World) {
        for key in std::mem::take(&mut self.stale_addresses) {
            self.addresses.remove(&key);
            set_address(world, key, false);
        }
        for (sw_if, ip) in std::mem::take(&mut self.stale_neighbors) {
            self.neighbors.remove(&(sw_if, ip));
            note("neighbour", world.get::<Neighbors>().remove(world, sw_if, ip).map(drop));
        }
        self.ip4.replace_end(world);
        self.ip6.replace_end(world);
        self.is_comparing = false;
    }
}

fn set_address(world: &World, (sw_if, address, len): Owned, is_there: bool) {
    match address {
        IpAddr::V4(addr) => set_address_of::<Ip4>(world, sw_if, Prefix::new(addr, len), is_there),
        IpAddr::V6(addr) if addr.is_unicast_link_local() => {
            let (locals, ip6) = (world.get::<LinkLocals>(), world.get::<Addresses<Ip6>>());
            if locals.address(sw_if) != Some(addr) || !is_there {
                note("link-local", locals.learn(world, sw_if, is_there.then_some(addr)));
            }
            if ip6.is_enabled(sw_if) != is_there {
                note("IPv6", ip6.enable(world, sw_if, is_there));
            }
        }
        IpAddr::V6(addr) => set_address_of::<Ip6>(world, sw_if, Prefix::new(addr, len), is_there),
    }
}

fn set_address_of<F: Net>(
    world: &World,
    sw_if: SwIfIndex,
    prefix: Option<Prefix<F::Addr>>,
    is_there: bool,
) {
    let addresses = world.get::<Addresses<F>>();
    let Some(prefix) = prefix else { return };
    if addresses.own(sw_if).contains(&prefix) != is_there {
        note(
            "address",
            match is_there {
                true => addresses.add_learned(world, sw_if, prefix),
                false => addresses.remove(world, sw_if, prefix),
            },
        );
    }
    note("groups", accept_groups::<F>(world, sw_if, !addresses.own(sw_if).is_empty()));
}

/// Accepts packets to the groups of routing protocols from an interface, for delivery here, or ends
/// that.
fn accept_groups<F: Net>(world: &World, sw_if: SwIfIndex, on: bool) -> Result<()> {
    let table: TableIndex = world.get::<Addresses<F>>().table_of(sw_if)?;
    let groups: (IpAddr, u8) = match F::IS_V6 {
        true => (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0).into(), 8),
        false => (Ipv4Addr::new(224, 0, 0, 0).into(), 24),
    };
    let prefix = F::of_ip(groups.0).and_then(|addr| Prefix::new(addr, groups.1));
    let Some(group) = prefix.map(Group::any) else { return Ok(()) };
    let mfib = world.get::<Mfib<F>>();
    let from = MpathKind::Interface { sw_if, nexthop: None };
    if on {
        let paths = [
            Mpath { kind: from, flags: ItfFlags::ACCEPT },
            Mpath { kind: MpathKind::Local, flags: ItfFlags::FORWARD },
        ];
        let change = MfibChange { paths: &paths, ..MfibChange::default() };
        return mfib.update(world, table, group, Source::Plugin, change).map(drop);
    }
    // One that it doesn't have needs no removal.
    let _ = mfib.remove(world, table, group, Source::Plugin, &[from]);
    Ok(())
}
