// SPDX-License-Identifier: Apache-2.0
//! The start of neighbour discovery, and changes of interfaces.

use crate::advertisement::Advertisement;
use crate::dad::Dad;
use crate::handler::MessageHandler;
use crate::local::{LocalAddresses, addresses};
use crate::mld::Listener;
use crate::protocol::{Nd, advertise_all, announce, speaking};
use crate::query::ListenerQuery;
use crate::router_advertisement::Advertised;
use crate::router_solicitation::Solicited;
use crate::solicitation::Solicitation;
use crate::{proxy, ra, rd};
use graph::{Node, SwIfIndex, World};
use icmp::register_icmp_type;
use ip_neighbor::resolve;
use net::{IfEvent, Interfaces, IpBinding, Neighbors};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use wire::{Icmp6Type, Ip6};

/// Called once, when all nodes are there.
pub fn start(world: &Arc<World>) -> Result<(), String> {
    for (kind, node) in [
        (Icmp6Type::NEIGHBOR_SOLICITATION, Solicitation::NAME),
        (Icmp6Type::NEIGHBOR_ADVERTISEMENT, Advertisement::NAME),
        (Icmp6Type::ROUTER_SOLICITATION, Solicited::NAME),
        (Icmp6Type::ROUTER_ADVERTISEMENT, Advertised::NAME),
        (Icmp6Type::MLD_QUERY, ListenerQuery::NAME),
    ] {
        register_icmp_type::<Ip6>(world, kind.0, node)?;
    }
    resolve::start::<Nd>(world);
    Dad::start(world);
    Listener::start(world);
    ra::start(world);
    rd::start(world);
    let interfaces = world.get::<Interfaces>();
    interfaces.subscribe(on_interface);
    for sw_if in interfaces.indices() {
        sync(world, sw_if);
    }
    Ok(())
}

fn on_interface(world: &World, event: IfEvent) {
    match event {
        IfEvent::Ip(sw_if, true, on) => {
            if !on {
                forget(world, sw_if);
            }
            sync(world, sw_if);
            ra::on_state(world, sw_if);
            rd::on_state(world, sw_if);
        }
        IfEvent::Address(sw_if, true) => {
            sync(world, sw_if);
            // A tentative link-local address can't be the source of advertisements; another one may
            // be usable at once.
            ra::on_state(world, sw_if);
        }
        IfEvent::Table(sw_if, true) => {
            proxy::moved(world, sw_if);
            rd::on_state(world, sw_if);
        }
        IfEvent::Admin(sw_if, up) | IfEvent::Link(sw_if, up) => {
            if up && speaking(world, sw_if).is_some() {
                let all: Vec<_> = addresses(world, sw_if).iter().map(|p| p.addr()).collect();
                world.get::<Dad>().begin(world, sw_if, &all);
                world.get::<LocalAddresses>().publish(world, sw_if);
                announce(world, sw_if, &all);
                world.get::<Listener>().report_all(world, sw_if);
            }
            ra::on_state(world, sw_if);
            rd::on_state(world, sw_if);
        }
        IfEvent::Moved(sw_if) => advertise_all(world, sw_if),
        IfEvent::Mac(sw_if) => {
            let all: Vec<_> = addresses(world, sw_if).iter().map(|p| p.addr()).collect();
            announce(world, sw_if, &all);
        }
        _ => {}
    }
}

fn forget(world: &World, sw_if: SwIfIndex) {
    world.get::<Nd>().known.lock().expect("no panic inside").remove(&sw_if);
    world.get::<Dad>().clear(sw_if);
    world.get::<Listener>().clear(sw_if);
}

/// Handles a change of the interface's addresses: new ones are probed, their groups joined, and
/// neighbours that are no longer on the link are removed.
fn sync(world: &World, sw_if: SwIfIndex) {
    let local = world.get::<LocalAddresses>();
    let enabled = IpBinding::of(world, sw_if).is_enabled::<Ip6>();
    let now: Vec<Ipv6Addr> = if enabled {
        addresses(world, sw_if).iter().map(|p| p.addr()).collect()
    } else {
        Vec::new()
    };
    let before = {
        let nd = world.get::<Nd>();
        let mut known = nd.known.lock().expect("no panic inside");
        // An interface that is being deleted loses its addresses last, and leaves nothing here.
        let before =
            if now.is_empty() { known.remove(&sw_if) } else { known.insert(sw_if, now.clone()) };
        before.unwrap_or_default()
    };
    let new: Vec<Ipv6Addr> = now.iter().copied().filter(|ip| !before.contains(ip)).collect();
    let dad = world.get::<Dad>();
    dad.retain(sw_if, &now);
    dad.begin(world, sw_if, &new);
    proxy::changed(world, sw_if);
    announce(world, sw_if, &new);
    let here = local.here(sw_if);
    world.get::<Neighbors>().remove_if(world, |n| {
        let IpAddr::V6(ip) = n.ip else { return false };
        n.sw_if == sw_if && !n.is_static && !(enabled && here.is_on_link(ip))
    });
}
