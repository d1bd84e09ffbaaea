// SPDX-License-Identifier: Apache-2.0
//! Checks of requests, and the addresses that a virtual router sends from.

use crate::machine::OWNER;
use crate::model::{VrConfig, VrKey};
use crate::packet::{FIXED, can_be_virtual};
use crate::table::{Table, Vr};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::retval;
use net::{Addresses, IfKind, Interfaces, LinkLocals, MtuKind, Net};
use std::net::IpAddr;
use wire::{Address, Ip4, Ip6};

/// Maximum interval: the field has 12 bits (RFC 9568 5.2.7).
const MAX_INTERVAL: u16 = 0xfff;
/// Maximum number of a virtual router's peers and of its tracked interfaces.
const MOST: usize = 255;

fn invalid(text: impl Into<String>) -> Error {
    Error::parse(text).retval(retval::INVALID_VALUE)
}

/// Checks a configuration; `index` is the virtual router that is changed by it.
///
/// # Errors
/// An interface that isn't there (−2) or has no MAC address (−7); number, priority or interval 0,
/// an interval above 4095, more addresses than an advertisement holds (−7); no address (−57), or
/// one of the other version or of no host (−73); priority 255 without having the addresses (−60);
/// an address of another virtual router of the interface (−105).
pub fn config(world: &World, table: &Table, config: &VrConfig, index: Option<u32>) -> Result<()> {
    let VrConfig { key, settings, addresses } = config;
    let interface = world.get::<Interfaces>().get(key.sw_if)?;
    if interface.kind != IfKind::Ethernet {
        return Err(invalid(format!("{} carries no Ethernet frames", interface.name)));
    }
    if key.id == 0 || settings.priority == 0 {
        return Err(invalid("number and priority of a virtual router are 1 to 255"));
    }
    if !(1..=MAX_INTERVAL).contains(&settings.interval) {
        let text = format!("the interval is 1 to {MAX_INTERVAL} centiseconds");
        return Err(invalid(text));
    }
    if addresses.is_empty() {
        return Err(Error::parse("a virtual router has at least one address")
            .retval(retval::INVALID_SRC_ADDRESS));
    }
    of_routers(*key, addresses)?;
    let (header, each, kind) = if key.v6 { (40, 16, MtuKind::Ip6) } else { (20, 4, MtuKind::Ip4) };
    let room = usize::from(interface.mtu_of(kind)).saturating_sub(header + FIXED) / each;
    if addresses.len() > room.min(MOST) {
        let most = room.min(MOST);
        return Err(invalid(format!(
            "an advertisement by {} holds {most} addresses",
            interface.name
        )));
    }
    let mut sorted = addresses.clone();
    sorted.sort_unstable();
    if let Some([twice, _]) = sorted.array_windows().find(|[a, b]| a == b) {
        return Err(invalid(format!("{twice} is named twice")));
    }
    if settings.priority == OWNER
        && let Some(other) = addresses.iter().find(|ip| !has(world, key.sw_if, **ip))
    {
        return Err(Error::failed(format!(
            "priority 255 is for the owner of the addresses: {} doesn't have {other}",
            interface.name
        ))
        .retval(retval::ADDRESS_NOT_FOUND_FOR_INTERFACE));
    }
    let others = table.routers.iter().filter(|(other, _)| Some(**other) != index);
    let mut others = others.filter(|(_, vr)| vr.config.key.sw_if == key.sw_if);
    let shared = others.find_map(|(_, vr)| {
        let shared = vr.config.addresses.iter().find(|ip| addresses.contains(ip))?;
        Some((*shared, vr.config.key.id))
    });
    if let Some((ip, id)) = shared {
        let text = format!("{ip} is an address of virtual router {id} of {}", interface.name);
        return Err(Error::failed(text).retval(retval::ADDRESS_IN_USE));
    }
    Ok(())
}

/// Checks addresses that are to be of a virtual router or its peers.
fn of_routers(key: VrKey, addresses: &[IpAddr]) -> Result<()> {
    let Some(wrong) = addresses.iter().find(|ip| !can_be_virtual(**ip, key.v6)) else {
        return Ok(());
    };
    let text = format!("{wrong} is no IPv{} address of a router", key.version());
    Err(Error::parse(text).retval(retval::INVALID_ARGUMENT))
}

/// Returns true if an interface has an address.
fn has(world: &World, sw_if: SwIfIndex, ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            world.get::<Addresses<Ip4>>().own(sw_if).iter().any(|prefix| prefix.addr() == ip)
        }
        IpAddr::V6(ip) => {
            world.get::<LinkLocals>().address(sw_if) == Some(ip)
                || world.get::<Addresses<Ip6>>().own(sw_if).iter().any(|p| p.addr() == ip)
        }
    }
}

/// A unicast virtual router needs peers to run.
///
/// # Errors
/// It has none (−144).
pub fn peers_to_run(config: &VrConfig, peers: &[IpAddr]) -> Result<()> {
    if config.is_unicast() && peers.is_empty() {
        let text = format!("unicast virtual router {} has no peers", config.key.id);
        return Err(Error::failed(text).hint("`vrrp peers' sets them").retval(retval::INIT_FAILED));
    }
    Ok(())
}

/// Checks new peers of a virtual router.
///
/// # Errors
/// It isn't unicast (−73) or runs (−155); addresses of the other version or of no station (−73),
/// or more than 255 (−7).
pub fn peers(vr: &Vr, peers: &[IpAddr]) -> Result<()> {
    let key = vr.config.key;
    if !vr.config.is_unicast() {
        let text = format!("virtual router {} sends to all routers of its link", key.id);
        return Err(Error::failed(text)
            .hint("only one that was added as `unicast' has peers")
            .retval(retval::INVALID_ARGUMENT));
    }
    if vr.started {
        let text = format!("virtual router {} runs", key.id);
        return Err(Error::failed(text)
            .hint("`vrrp proto stop' stops it")
            .retval(retval::RSRC_IN_USE));
    }
    of_routers(key, peers)?;
    if peers.len() > MOST {
        return Err(invalid(format!("a virtual router has {MOST} peers at most")));
    }
    Ok(())
}

/// Checks interfaces that a virtual router shall track, or no longer track.
///
/// # Errors
/// An interface that isn't there, or is its own (−10); an amount of 0, or more than 255
/// interfaces (−7); one to be removed that isn't tracked (−6).
pub fn tracked(world: &World, vr: &Vr, add: bool, interfaces: &[(SwIfIndex, u8)]) -> Result<()> {
    for (sw_if, by) in interfaces {
        let name = world.get::<Interfaces>().name(*sw_if);
        if *sw_if == vr.config.key.sw_if {
            let text = format!("a virtual router stops with its own interface {name} anyway");
            return Err(Error::parse(text).retval(retval::INVALID_SW_IF_INDEX_2));
        }
        if !add {
            if !vr.tracked.contains_key(sw_if) {
                let text = format!("the virtual router doesn't track {name}");
                return Err(Error::not_found(text).retval(retval::NO_SUCH_ENTRY));
            }
            continue;
        }
        if world.get::<Interfaces>().get(*sw_if).is_err() {
            let text = format!("there is no interface {name}");
            return Err(Error::not_found(text).retval(retval::INVALID_SW_IF_INDEX_2));
        }
        if *by == 0 {
            return Err(invalid("the priority falls by 1 to 255"));
        }
        let is_new = !vr.tracked.contains_key(sw_if);
        if is_new && vr.tracked.len() + interfaces.len() > MOST {
            return Err(invalid(format!("a virtual router tracks {MOST} interfaces at most")));
        }
    }
    Ok(())
}

/// The first address of an interface that is its own: accept mode adds addresses as learned ones.
/// An interface with learned ones only (DHCP, SLAAC) has its first.
fn first<F: Net>(world: &World, sw_if: SwIfIndex) -> Option<IpAddr> {
    let addresses = world.get::<Addresses<F>>();
    let all = addresses.usable(sw_if);
    let own = all.iter().find(|prefix| !addresses.is_learned(sw_if, **prefix));
    own.or(all.first()).map(|prefix| prefix.addr().into())
}

/// The address that a virtual router sends from: the interface's first one of IPv4, its link-local
/// one of IPv6. `None` if it has none.
pub fn source(world: &World, key: VrKey) -> Option<IpAddr> {
    match key.v6 {
        false => first::<Ip4>(world, key.sw_if),
        true => world.get::<LinkLocals>().usable(key.sw_if).map(IpAddr::V6),
    }
}

/// The address that a unicast virtual router sends to a peer from.
pub fn source_for(world: &World, key: VrKey, peer: IpAddr) -> Option<IpAddr> {
    match peer {
        IpAddr::V6(ip) if !ip.link_local() => first::<Ip6>(world, key.sw_if),
        _ => source(world, key),
    }
}

/// Returns true if a virtual router can run: its interface is up and has an address.
pub fn is_ready(world: &World, key: VrKey) -> bool {
    let interface = world.get::<Interfaces>().get(key.sw_if);
    interface.is_ok_and(|interface| interface.admin_up && interface.link_up)
        && source(world, key).is_some()
}
