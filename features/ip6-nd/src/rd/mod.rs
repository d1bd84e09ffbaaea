// SPDX-License-Identifier: Apache-2.0
//! Router advertisements that we receive: addresses and a default route where an operator wants
//! that (RFC 4861 6.3, RFC 4862 5.5), and events for clients.

mod lease;

pub use lease::{Backoff, Lease};

use crate::compose::{Envelope, frame};
use crate::local::LocalAddresses;
use crate::protocol::{say, speaking};
use crate::rng::ControlRng;
use cli::{Error, Result};
use graph::{Deleted, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use lease::Solicit;
use msg::retval;
use net::fib::{Fib, Path, PathKind, Source, TableIndex};
use net::{Addresses, IfKind, Interfaces, IpBinding, NeighborEvent, Neighbors};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::Mailbox;
use wire::nd::{
    ALL_ROUTERS, LinkOption, NdOption, NdOptionKind, NdOptions, RouterAdvertisement,
    RouterSolicitation,
};
use wire::{Header, Ip6, Ip6Prefix, Prefix};
use zerocopy::IntoBytes;

/// Bytes of an advertisement at most: what a packet of 1500 bytes holds.
pub const LONGEST: usize = 1460;
/// Advertisements queued for control at most.
const HEARD: usize = 32;
/// Times of solicitations where addresses are made of advertisements.
const BACKOFF: Backoff = Backoff { initial: 1, longest: 120, count: 0, duration: 0 };
/// Routers of one link that are remembered at most, and addresses made of their prefixes (RFC 4861
/// leaves both open).
const MOST: usize = 16;

/// An advertisement as a worker received it; its form was checked.
#[derive(Clone, Copy)]
pub struct ReceivedAdvertisement {
    pub sw_if: u32,
    pub from: Ipv6Addr,
    len: u16,
    bytes: [u8; LONGEST],
}

impl ReceivedAdvertisement {
    /// Takes a copy; `None` if it is too long.
    #[inline(always)]
    pub fn new(sw_if: u32, from: Ipv6Addr, message: &[u8]) -> Option<Self> {
        let mut bytes = [0; LONGEST];
        bytes.get_mut(..message.len())?.copy_from_slice(message);
        Some(Self { sw_if, from, len: message.len() as u16, bytes })
    }

    /// The message, from its type on.
    pub fn message(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A router that may be a default router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Router {
    /// When it ceases to be a default router.
    pub until: u64,
    /// 1 high, 0 medium, −1 low.
    pub preference: i8,
}

/// State of one interface.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Addresses are made of prefixes.
    pub autoconfig: bool,
    /// Default routes too.
    pub default_route: bool,
    /// The addresses that were made.
    pub addresses: BTreeMap<Ip6Prefix, Lease>,
    /// The default routers.
    pub routers: BTreeMap<Ipv6Addr, Router>,
    solicit: Option<Solicit>,
}

#[derive(Default)]
struct Inner {
    links: BTreeMap<SwIfIndex, Link>,
    /// The tables that have a default route of ours.
    routed: BTreeSet<TableIndex>,
}

/// State of all interfaces from router advertisements.
pub struct Receiver {
    inner: Mutex<Inner>,
    heard: Mailbox<ReceivedAdvertisement>,
    signal: Signal,
}

impl Shared for Receiver {
    fn make(world: &World) -> Self {
        let heard = Mailbox::new(HEARD, world.processes.waker().clone());
        Self { inner: Mutex::default(), heard, signal: world.processes.signal() }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(sw_if) = deleted.of::<SwIfIndex>() else { return };
        let was = self.inner().links.remove(sw_if);
        if was.is_some() {
            self.route(world);
        }
    }
}

impl Receiver {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Passes an advertisement to control; returns false if there is no room.
    #[inline(always)]
    pub fn post(&self, heard: ReceivedAdvertisement) -> bool {
        let posted = self.heard.post(heard).is_ok();
        self.signal.raise();
        posted
    }

    /// Returns the state of one interface.
    pub fn link(&self, sw_if: SwIfIndex) -> Link {
        self.inner().links.get(&sw_if).cloned().unwrap_or_default()
    }

    /// All interfaces with their state, if they have any.
    pub fn list(&self) -> Vec<(SwIfIndex, Link)> {
        self.inner().links.iter().map(|(sw_if, link)| (*sw_if, link.clone())).collect()
    }

    /// Starts or stops making addresses of advertised prefixes, and default routes; stopping
    /// removes them.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−151).
    pub fn autoconfig(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        on: bool,
        default_route: bool,
    ) -> Result<()> {
        ethernet(world, sw_if)?;
        if on {
            let addresses = world.get::<Addresses<Ip6>>();
            if addresses.own(sw_if).is_empty() && !addresses.is_enabled(sw_if) {
                addresses.enable(world, sw_if, true)?;
            }
        }
        let gone: Vec<Ip6Prefix> = {
            let mut inner = self.inner();
            let link = inner.links.entry(sw_if).or_default();
            (link.autoconfig, link.default_route) = (on, on && default_route);
            if !link.default_route {
                link.routers.clear();
            }
            link.solicit = on.then(|| Solicit::new(BACKOFF, world.clock.now()));
            if on { Vec::new() } else { std::mem::take(&mut link.addresses).into_keys().collect() }
        };
        remove(world, sw_if, gone);
        self.route(world);
        self.signal.raise();
        Ok(())
    }

    /// Solicits routers for an advertisement, or stops soliciting.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−151).
    pub fn solicit(&self, world: &World, sw_if: SwIfIndex, how: Option<Backoff>) -> Result<()> {
        ethernet(world, sw_if)?;
        let solicit = how.map(|how| Solicit::new(how, world.clock.now()));
        self.inner().links.entry(sw_if).or_default().solicit = solicit;
        self.signal.raise();
        Ok(())
    }

    /// Handles a router's advertisement.
    fn take(&self, world: &World, heard: &ReceivedAdvertisement) {
        let Some((fixed, options)) = RouterAdvertisement::split(heard.message()) else { return };
        crate::api::nd::publish(world, heard, fixed, options);
        let (sw_if, now) = (SwIfIndex(heard.sw_if), world.clock.now());
        let Some(id) = world.get::<LocalAddresses>().here(sw_if).link_local() else { return };
        let mut new = Vec::new();
        {
            let mut inner = self.inner();
            let Some(link) = inner.links.get_mut(&sw_if) else { return };
            if fixed.lifetime.get() > 0 {
                link.solicit = None;
            }
            if !link.autoconfig {
                return;
            }
            for option in NdOptions::new(options).flatten() {
                let NdOption::Prefix(info) = NdOption::from(option) else { continue };
                let Some(address) = lease::address(info, id) else { continue };
                let old = link
                    .addresses
                    .iter()
                    .find(|(a, _)| a.addr() == address.addr())
                    .map(|(a, l)| (*a, *l));
                let Some(lease) = Lease::from_advertisement(old.map(|(_, lease)| lease), info, now)
                else {
                    continue;
                };
                match old {
                    Some((address, _)) => drop(link.addresses.insert(address, lease)),
                    None if link.addresses.len() < MOST => new.push((address, lease)),
                    None => {}
                }
            }
            let router = Router {
                until: now + u64::from(fixed.lifetime.get()) * lease::SECOND,
                preference: fixed.preference(),
            };
            if !link.default_route || fixed.lifetime.get() == 0 {
                link.routers.remove(&heard.from);
            } else if link.routers.len() < MOST || link.routers.contains_key(&heard.from) {
                link.routers.insert(heard.from, router);
            }
        }
        for (address, lease) in new {
            match world.get::<Addresses<Ip6>>().add_learned(world, sw_if, address) {
                Ok(()) => {
                    if let Some(link) = self.inner().links.get_mut(&sw_if) {
                        link.addresses.insert(address, lease);
                    }
                }
                Err(why) => log::warn!("{} told of a prefix, but: {why}", heard.from),
            }
        }
        self.route(world);
    }

    /// Points default routes at the routers of highest preference.
    fn route(&self, world: &World) {
        let (fib, interfaces) = (world.get::<Fib<Ip6>>(), world.get::<Interfaces>());
        let mut wanted: BTreeMap<TableIndex, Vec<(i8, Path)>> = BTreeMap::new();
        for (sw_if, link) in self.list() {
            if interfaces.check(sw_if).is_err() {
                continue;
            }
            for (nexthop, router) in link.routers {
                let path = Path::new(PathKind::Neighbor { sw_if, nexthop: nexthop.into() });
                wanted
                    .entry(IpBinding::of(world, sw_if).table::<Ip6>())
                    .or_default()
                    .push((router.preference, path));
            }
        }
        let before = std::mem::replace(&mut self.inner().routed, wanted.keys().copied().collect());
        for table in before.into_iter().filter(|table| !wanted.contains_key(table)) {
            // A table that is gone has no routes.
            let _ = fib.remove(world, table, Prefix::DEFAULT, Source::Advertised, &[]);
        }
        for (table, paths) in wanted {
            let best = paths.iter().map(|(preference, _)| *preference).max();
            let best = paths.into_iter().filter(|(preference, _)| Some(*preference) == best);
            let best: Vec<_> = best.map(|(_, path)| path).collect();
            if let Err(why) = fib.set(world, table, Prefix::DEFAULT, Source::Advertised, &best) {
                log::warn!("no default route by router advertisements: {why}");
            }
        }
    }

    /// Performs what is due, and returns the time of the next.
    fn run(&self, world: &World) -> Option<u64> {
        self.heard.drain(|heard| self.take(world, &heard));
        let (now, rng) = (world.clock.now(), world.get::<ControlRng>());
        let (mut gone, mut asking, mut lost) = (Vec::new(), Vec::new(), false);
        for (sw_if, link) in &mut self.inner().links {
            let ended = |lease: &Lease| lease.valid.is_some_and(|end| end <= now);
            let over: Vec<_> =
                link.addresses.iter().filter(|(_, lease)| ended(lease)).map(|(a, _)| *a).collect();
            link.addresses.retain(|_, lease| !ended(lease));
            gone.push((*sw_if, over));
            let routers = link.routers.len();
            link.routers.retain(|_, router| router.until > now);
            lost |= link.routers.len() != routers;
            if let Some(solicit) = link.solicit.filter(|s| s.due <= now) {
                asking.push(*sw_if);
                link.solicit = solicit.sent(now, rng.random());
            }
        }
        for (sw_if, over) in gone {
            remove(world, sw_if, over);
        }
        if lost {
            self.route(world);
        }
        for sw_if in asking {
            ask(world, sw_if);
        }
        let inner = self.inner();
        let times = inner.links.values().flat_map(|link| {
            let leases = link.addresses.values().filter_map(|lease| lease.valid);
            let routers = link.routers.values().map(|router| router.until);
            leases.chain(routers).chain(link.solicit.map(|s| s.due))
        });
        times.min()
    }
}

fn ethernet(world: &World, sw_if: SwIfIndex) -> Result<()> {
    let interface = world.get::<Interfaces>().get(sw_if)?;
    if interface.kind != IfKind::Ethernet {
        let why = format!("{} carries no Ethernet frames", interface.name);
        return Err(Error::unsupported(why).retval(retval::NON_ETHERNET));
    }
    Ok(())
}

fn remove(world: &World, sw_if: SwIfIndex, gone: Vec<Ip6Prefix>) {
    let addresses = world.get::<Addresses<Ip6>>();
    // An operator may have removed it already, or configured it.
    for address in gone.into_iter().filter(|a| addresses.is_learned(sw_if, *a)) {
        let _ = addresses.remove(world, sw_if, address);
    }
}

/// Sends a router solicitation.
fn ask(world: &World, sw_if: SwIfIndex) {
    let Some(interface) = speaking(world, sw_if) else { return };
    let src =
        world.get::<LocalAddresses>().here(sw_if).link_local().unwrap_or(Ipv6Addr::UNSPECIFIED);
    let mut body = RouterSolicitation::new().as_bytes().to_vec();
    if !src.is_unspecified() {
        body.extend(LinkOption::new(NdOptionKind::SOURCE_LINK, interface.mac).as_bytes());
    }
    let frame = frame(Envelope::multicast(interface.mac, src, ALL_ROUTERS), &body);
    say(world, &interface, "router-solicitations", vec![frame]);
}

/// Starts the process.
pub fn start(world: &World) {
    let receiver: Arc<Receiver> = world.get();
    world.processes.spawn(Box::new(Listening(receiver.clone())), &receiver.signal);
    world.get::<Neighbors>().subscribe(|world, event| {
        // A neighbour that clears its Router flag leaves the default router list (RFC 4861 7.2.5).
        let NeighborEvent::Set { new, old: Some(old) } = event else { return };
        let (IpAddr::V6(ip), true) = (new.ip, old.router && !new.router) else { return };
        let receiver = world.get::<Receiver>();
        let gone =
            receiver.inner().links.get_mut(&new.sw_if).and_then(|link| link.routers.remove(&ip));
        if gone.is_some() {
            receiver.route(world);
        }
    });
}

/// Solicits routers again: the interface may be up again, or in another table.
pub fn on_state(world: &World, sw_if: SwIfIndex) {
    let receiver = world.get::<Receiver>();
    let now = world.clock.now();
    let speaks = speaking(world, sw_if).is_some();
    {
        let mut inner = receiver.inner();
        let Some(link) = inner.links.get_mut(&sw_if).filter(|link| link.autoconfig) else { return };
        link.solicit = speaks.then(|| Solicit::new(BACKOFF, now));
    }
    receiver.route(world);
    receiver.signal.raise();
}

struct Listening(Arc<Receiver>);

impl Process for Listening {
    fn name(&self) -> &'static str {
        "rd-cp-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}
