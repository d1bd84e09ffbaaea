// SPDX-License-Identifier: Apache-2.0
//! Mirrors: taps, and sub-interfaces of taps with the kernel's VLAN links.

use crate::kernel::Kernel;
use crate::pairs::{HostKind, Made, Pair, Pairs, Request};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::{
    Implied, Interface, Interfaces, MtuKind, SubFrames, SubInterface, Tags, TapRequest, Taps, Vlan,
    imply,
};
use netlink::VlanLink;

/// The lowest number of mirrors: below are an operator's own taps.
const FIRST: u32 = 4096;
/// The least MTU that the kernel takes.
const LEAST_MTU: u16 = 68;

/// A mirror is up, so that the state of the kernel's interface alone counts.
const UP: Implied = Implied { up: true, tables: [0; 2], ip: [false; 2] };

/// Makes a tap for an interface that is no sub-interface.
pub fn tap(
    world: &World,
    request: &Request,
    phy: &Interface,
    namespace: Option<String>,
) -> Result<Pair> {
    let interfaces = world.get::<Interfaces>();
    let ip = request.kind == HostKind::Tun;
    let kind = if ip { "tun" } else { "tap" };
    let free = (FIRST..).map(|n| format!("{kind}{n}")).find(|name| interfaces.find(name).is_err());
    let mtu = phy.mtu_of(MtuKind::L3);
    let tap = TapRequest {
        host_name: request.name.clone(),
        host_namespace: namespace.clone(),
        host_mac: (!ip).then_some(phy.mac),
        host_mtu: (mtu >= LEAST_MTU).then_some(mtu.into()),
        name: free,
        ip,
        above: Some(phy.sw_if),
    };
    let host = world.get::<Taps>().create(world, &tap)?;
    let made = finish(world, request, host, namespace, Made::Tap);
    made.inspect_err(|_| delete_tap(world, host))
}

/// Looks up the kernel's interface, and lets the mirror pass packets.
fn finish(
    world: &World,
    request: &Request,
    host: SwIfIndex,
    namespace: Option<String>,
    made: Made,
) -> Result<Pair> {
    let Request { phy, name, kind, .. } = request.clone();
    let kernel = world.get::<Kernel>();
    let doing = format!("kernel's interface {name}");
    let vif = kernel.with(namespace.as_deref(), &doing, |rtnl| Ok(rtnl.link(&name)?.index))?;
    imply(world, host, UP)?;
    Ok(Pair { phy, host, name, vif, kind, namespace, made })
}

fn invalid(why: String) -> Error {
    Error::unsupported(why).retval(retval::INVALID_ARGUMENT)
}

fn vlan(tag: Vlan) -> Option<u16> {
    match tag {
        Vlan::Id(id) => Some(id),
        Vlan::Any => None,
    }
}

/// Makes a sub-interface of the parent's tap, and the kernel's VLAN link above the parent's
/// interface of the kernel, or above that of the outer VLAN.
pub fn sub(
    world: &World,
    request: &Request,
    phy: &Interface,
    sub: SubInterface,
    namespace: Option<String>,
) -> Result<Pair> {
    let (interfaces, pairs) = (world.get::<Interfaces>(), world.get::<Pairs>());
    let parent = pairs.of_phy(phy.parent).map(|(_, pair)| pair);
    let parent = parent.filter(|pair| pair.made == Made::Tap).ok_or_else(|| {
        let why = format!("the parent of {} has no pair", phy.name);
        Error::not_found(why).retval(retval::INVALID_SW_IF_INDEX)
    })?;
    if request.kind == HostKind::Tun {
        return Err(invalid(format!("the mirror of {}, a sub-interface, is no `tun'", phy.name)));
    }
    if namespace != parent.namespace {
        return Err(invalid(format!(
            "the mirror of {} is in the namespace of its parent's",
            phy.name
        )));
    }
    let inexact = || invalid(format!("{} doesn't match exactly one VLAN", phy.name));
    let SubFrames::Tagged(tags) = sub.frames else { return Err(inexact()) };
    if !tags.exact {
        return Err(inexact());
    }
    let outer = vlan(tags.outer).ok_or_else(inexact)?;
    let (lower, id, dot1ad) = match tags.inner {
        None => (parent.vif, outer, tags.dot1ad),
        Some(inner) => {
            let lower = outer_pair(world, phy.parent, tags).ok_or_else(|| {
                invalid(format!("the outer VLAN {outer} of {} has no pair", phy.name))
            })?;
            (lower.vif, vlan(inner).ok_or_else(inexact)?, false)
        }
    };
    let host = interfaces.create_sub_above(world, parent.host, sub, phy.sw_if)?;
    let delete = |_: &Error| note(interfaces.delete(world, host));
    let link = VlanLink { name: &request.name, lower, id, dot1ad };
    let doing = format!("kernel's VLAN link {}", request.name);
    let kernel = world.get::<Kernel>();
    kernel.with(namespace.as_deref(), &doing, |rtnl| rtnl.add_vlan(&link)).inspect_err(delete)?;
    let made = finish(world, request, host, namespace.clone(), Made::Sub);
    made.inspect_err(|error| {
        delete(error);
        delete_link(world, namespace.as_deref(), &request.name);
    })
}

/// The pair of the sub-interface with only the outer tag.
fn outer_pair(world: &World, parent: SwIfIndex, tags: Tags) -> Option<Pair> {
    let interfaces = world.get::<Interfaces>();
    let wanted = SubFrames::Tagged(Tags { inner: None, ..tags });
    let has = |sub: &SwIfIndex| {
        interfaces.get(*sub).is_ok_and(|i| i.sub.is_some_and(|sub| sub.frames == wanted))
    };
    let sub = interfaces.subs(parent).into_iter().find(has)?;
    world.get::<Pairs>().of_phy(sub).map(|(_, pair)| pair)
}

/// Gives the kernel's interface the MAC address of the one that it mirrors.
pub fn align_mac(world: &World, pair: &Pair, phy: &Interface) -> Result<()> {
    if pair.made != Made::Tap || pair.kind != HostKind::Tap {
        return Ok(());
    }
    let (vif, mac) = (pair.vif, phy.mac);
    let doing = format!("kernel's interface {}", pair.name);
    world.get::<Kernel>().with(pair.namespace.as_deref(), &doing, |rtnl| {
        match rtnl.link_by_index(vif)?.mac {
            there if there == Some(mac) => Ok(()),
            _ => rtnl.set_mac(vif, mac),
        }
    })
}

/// Gives the kernel's interface the MAC address and the MTU of the one that it mirrors.
pub fn align(world: &World, pair: &Pair, phy: &Interface) -> Result<()> {
    if pair.made != Made::Tap {
        return Ok(());
    }
    align_mac(world, pair, phy)?;
    let (vif, mtu) = (pair.vif, phy.mtu_of(MtuKind::L3));
    let doing = format!("kernel's interface {}", pair.name);
    world.get::<Kernel>().with(pair.namespace.as_deref(), &doing, |rtnl| {
        let link = rtnl.link_by_index(vif)?;
        if mtu >= LEAST_MTU && link.mtu != u32::from(mtu) {
            rtnl.set_mtu(vif, mtu.into())?;
        }
        Ok(())
    })
}

fn note(done: Result<()>) {
    if let Err(error) = done {
        log::warn!(target: "linux-cp", "a mirror stays: {error}");
    }
}

fn delete_tap(world: &World, host: SwIfIndex) {
    note(world.get::<Taps>().delete(world, host));
}

fn delete_link(world: &World, namespace: Option<&str>, name: &str) {
    let kernel = world.get::<Kernel>();
    let deleted = kernel.with(namespace, "kernel's VLAN link", |rtnl| {
        match rtnl.link(name) {
            Ok(link) => rtnl.delete_link(link.index),
            // It goes with the link below it.
            Err(_) => Ok(()),
        }
    });
    note(deleted);
}

/// Deletes what was made for a pair, except an interface that is being deleted.
pub fn undo(world: &World, pair: &Pair, deleted: Option<SwIfIndex>) {
    let is_there = deleted != Some(pair.host);
    match pair.made {
        Made::Tap if is_there => delete_tap(world, pair.host),
        Made::Sub => {
            if is_there {
                note(world.get::<Interfaces>().delete(world, pair.host));
            }
            delete_link(world, pair.namespace.as_deref(), &pair.name);
        }
        Made::Tap | Made::Given => {}
    }
}
