// SPDX-License-Identifier: Apache-2.0
//! Neighbour discovery for [`ip_neighbor::resolve`], and its unsolicited advertisements.

use crate::compose::{self, FRAME};
use crate::dad::Dad;
use crate::local::{LocalAddresses, Role, addresses};
use graph::{Build, Deleted, Shared, SwIfIndex, ThreadIndex, World};
use ip_neighbor::resolve::{DetectedNeighbor, Protocol, RequestBuilder, Target, transmit};
use net::{Evidence, IfKind, IfView, Interface, Interfaces, IpBinding, Neighbor, Prober};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use sync::Turn;
use wire::{Ip6, MacAddr};

/// Neighbour discovery.
#[derive(Default)]
pub struct Nd {
    /// The addresses of each interface, as they were seen last.
    pub known: Mutex<HashMap<SwIfIndex, Vec<Ipv6Addr>>>,
    /// Our addresses are announced when they are new or move.
    announce: AtomicBool,
}

impl Nd {
    /// Returns true if our addresses are announced when they are new or move.
    pub fn announces(&self) -> bool {
        self.announce.load(Ordering::Relaxed)
    }

    /// Enables or disables the announcement of our addresses when they are new or move: a new
    /// address, an interface that goes up, a MAC address that has changed.
    pub fn set_announces(&self, on: bool) {
        self.announce.store(on, Ordering::Relaxed);
    }
}

impl Shared for Nd {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.known.lock().expect("no panic inside").remove(sw_if);
        }
    }
}

impl Protocol for Nd {
    type Net = Ip6;
    type Requests = NdSolicitations;
    const PROCESS: &'static str = "ip6-nd-process";
    const COUNTERS: &'static str = "/net/ip6-nd";
    const PROBE: Prober = probe;
    const SOURCE_OF_ROUTE: bool = false;

    fn weigh(_: &World, seen: &DetectedNeighbor<Ipv6Addr>) -> Option<Evidence> {
        Some(seen.evidence)
    }

    fn conflict(world: &World, who: Target<Ipv6Addr>, mac: MacAddr) {
        world.get::<Dad>().conflict(world, SwIfIndex(who.sw_if), who.ip, mac);
    }
}

/// Composes the solicitations of a thread.
pub struct NdSolicitations {
    local: Arc<LocalAddresses>,
}

impl Build for NdSolicitations {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { local: world.get() }
    }
}

impl RequestBuilder<Ip6> for NdSolicitations {
    type Frame = [u8; FRAME];

    #[inline(always)]
    fn request(
        &self,
        view: &IfView,
        target: Target<Ipv6Addr>,
        _: Option<Ipv6Addr>,
        turn: &Turn<'_>,
    ) -> Option<[u8; FRAME]> {
        let here = self.local.of(target.sw_if, turn)?;
        let source = here.source_for(target.ip)?;
        Some(compose::solicitation(view.mac, source, target.ip, None))
    }
}

/// Probes neighbours, each by unicast to its station if that is known.
fn probe(world: &World, due: &[Neighbor]) {
    let (interfaces, local) = (world.get::<Interfaces>(), world.get::<LocalAddresses>());
    for same in due.chunk_by(|a, b| a.sw_if == b.sw_if) {
        let Some(Ok(interface)) = same.first().map(|n| interfaces.get(n.sw_if)) else { continue };
        let here = local.here(interface.sw_if);
        let request = |n: &Neighbor| {
            let IpAddr::V6(target) = n.ip else { return None };
            let source = here.source_for(target)?;
            Some(
                compose::solicitation(
                    interface.mac,
                    source,
                    target,
                    (!n.mac.is_multicast()).then_some(n.mac),
                )
                .to_vec(),
            )
        };
        let frames: Vec<_> = same.iter().filter_map(request).collect();
        say(world, &interface, "requests", frames);
    }
}

/// Sends messages by an interface, from the main thread, counted under `what`: `requests`,
/// `replies` or `gratuitous`.
pub fn say(world: &World, interface: &Interface, what: &str, frames: Vec<Vec<u8>>) {
    let counter = world.stats.simple(&format!("{}/tx/{what}", Nd::COUNTERS));
    counter.control().add(interface.sw_if.at(), frames.len() as u64);
    transmit::<Nd>(world, interface, frames);
}

/// Returns the interface if neighbour discovery runs on it and packets can be sent now.
pub fn speaking(world: &World, sw_if: SwIfIndex) -> Option<Interface> {
    let interface = world.get::<Interfaces>().get(sw_if).ok()?;
    let speaks = interface.kind == IfKind::Ethernet
        && interface.admin_up
        && interface.link_up
        && IpBinding::of(world, sw_if).is_enabled::<Ip6>();
    speaks.then_some(interface)
}

/// Sends an unsolicited advertisement for each of these addresses that isn't tentative or duplicate
/// (RFC 4861 7.2.6: MAY), if that is enabled and the interface is up.
pub fn announce(world: &World, sw_if: SwIfIndex, addresses: &[Ipv6Addr]) {
    if world.get::<Nd>().announces() {
        advertise(world, sw_if, addresses);
    }
}

/// Sends an unsolicited advertisement for each address of an interface that is up, link-local
/// addresses too (RFC 4861 7.2.6): its packets leave by another link.
pub fn advertise_all(world: &World, sw_if: SwIfIndex) {
    let all: Vec<_> = addresses(world, sw_if).iter().map(|p| p.addr()).collect();
    advertise(world, sw_if, &all);
}

fn advertise(world: &World, sw_if: SwIfIndex, addresses: &[Ipv6Addr]) {
    let Some(interface) = speaking(world, sw_if) else { return };
    let here = world.get::<LocalAddresses>().here(sw_if);
    let sure = addresses.iter().filter(|ip| here.role(**ip) == Some(Role::Own));
    let frames: Vec<_> = sure.map(|ip| compose::announcement(interface.mac, *ip)).collect();
    say(world, &interface, "gratuitous", frames);
}
