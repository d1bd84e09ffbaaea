// SPDX-License-Identifier: Apache-2.0
//! The verbs: pairs are made and removed.

use crate::adjacencies::HeaderTable;
use crate::kernel::Kernel;
use crate::make;
use crate::pairs::{HostKind, Made, Pair, Pairs, Request};
use crate::punt::MIRROR;
use crate::settings::{Settings, check_namespace};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::{AdjIndex, Adjacencies, Column, IfKind, Interfaces, Link, MirrorRole};

/// Makes a pair: an interface of the kernel, and the mirror by which we reach it.
///
/// # Errors
/// An interface that isn't there, or whose parent has no pair (−2); one that has a pair (−81); a
/// name that the kernel doesn't take, an interface that can't be mirrored so (−73); what the kernel
/// says (−11).
pub fn create(world: &World, request: &Request) -> Result<Pair> {
    let pairs = world.get::<Pairs>();
    let phy = world.get::<Interfaces>().get(request.phy)?;
    if phy.kind == IfKind::Local {
        let why = format!("{} carries no packets", phy.name);
        return Err(Error::unsupported(why).retval(retval::INVALID_SW_IF_INDEX));
    }
    let namespace = match &request.namespace {
        Some(name) => Some(name.clone()).filter(|name| !name.is_empty()),
        None => world.get::<Settings>().get().default_namespace,
    };
    namespace.as_deref().map_or(Ok(()), check_namespace)?;
    check_name(&request.name)?;
    if let Some((_, pair)) = pairs.of_phy(request.phy)
        && keep(world, request, &pair, namespace.as_deref())
    {
        return Ok(pair);
    }
    check_free(world, request.phy)?;
    if request.kind == HostKind::Tap && phy.kind != IfKind::Ethernet {
        let why = format!("{} carries no Ethernet frames: its mirror is a `tun'", phy.name);
        return Err(Error::unsupported(why).retval(retval::INVALID_ARGUMENT));
    }
    let pair = match phy.sub {
        Some(sub) => make::sub(world, request, &phy, sub, namespace)?,
        None => make::tap(world, request, &phy, namespace)?,
    };
    activate(world, &pair).inspect_err(|_| make::undo(world, &pair, None))?;
    follow_link(world, pair.phy, phy.link_up);
    world.note_config_change();
    Ok(pair)
}

/// Pairs two interfaces that are there: the second one is the mirror. `vif` stands for the index of
/// the kernel's interface, which there is none of.
///
/// # Errors
/// Interfaces that aren't there (−2); one that is in a pair (−81).
pub fn pair_existing(world: &World, phy: SwIfIndex, host: SwIfIndex, vif: u32) -> Result<()> {
    let interfaces = world.get::<Interfaces>();
    let (kind, _) = (interfaces.get(phy)?.kind, interfaces.check(host)?);
    [phy, host].into_iter().try_for_each(|sw_if| check_free(world, sw_if))?;
    if phy == host {
        return Err(
            Error::usage("an interface can't mirror itself").retval(retval::INVALID_ARGUMENT)
        );
    }
    let kind = if kind.is_ip() { HostKind::Tun } else { HostKind::Tap };
    let (name, made) = (String::new(), Made::Given);
    activate(world, &Pair { phy, host, name, vif, kind, namespace: None, made })
}

/// Takes the pair of an interface away, with the kernel's interface and the pairs of
/// sub-interfaces.
///
/// # Errors
/// An interface that isn't there, or that has no pair (−2).
pub fn delete(world: &World, phy: SwIfIndex) -> Result<()> {
    world.get::<Interfaces>().check(phy)?;
    let Some((_, pair)) = world.get::<Pairs>().of_phy(phy) else {
        let why = format!("{} has no pair", world.get::<Interfaces>().name(phy));
        return Err(Error::not_found(why).retval(retval::INVALID_SW_IF_INDEX));
    };
    for sub in world.get::<Interfaces>().subs(phy) {
        if let Some((_, pair)) = world.get::<Pairs>().of_phy(sub) {
            remove(world, &pair, None);
        }
    }
    remove(world, &pair, None);
    world.note_config_change();
    Ok(())
}

/// Takes a pair away. `deleted` is an interface of it that is being deleted.
pub fn remove(world: &World, pair: &Pair, deleted: Option<SwIfIndex>) {
    deactivate(world, pair, deleted);
    make::undo(world, pair, deleted);
    let namespace = &pair.namespace;
    if world.get::<Pairs>().list().iter().all(|(_, other)| other.namespace != *namespace) {
        world.get::<Kernel>().close(namespace.as_deref());
    }
}

/// Marks all pairs: those that aren't created again until [`replace_end`] are deleted then.
pub fn replace_begin(world: &World) {
    let pairs = world.get::<Pairs>();
    let all = pairs.list().into_iter().map(|(_, pair)| pair.phy).collect();
    pairs.inner().stale = Some(all);
}

/// Deletes the pairs that are still marked.
pub fn replace_end(world: &World) {
    let stale = world.get::<Pairs>().inner().stale.take();
    for phy in stale.into_iter().flatten() {
        // A sub-interface's pair may have gone with its parent's.
        if world.get::<Pairs>().of_phy(phy).is_some()
            && let Err(error) = delete(world, phy)
        {
            log::warn!(target: "linux-cp", "a pair stays: {error}");
        }
    }
}

/// Takes the mark of [`replace_begin`] off a pair that is wanted again as it is. Returns false if
/// it has none, or differs.
fn keep(world: &World, request: &Request, pair: &Pair, namespace: Option<&str>) -> bool {
    let is_same = pair.name == request.name
        && pair.kind == request.kind
        && pair.namespace.as_deref() == namespace;
    let pairs = world.get::<Pairs>();
    let mut inner = pairs.inner();
    let Some(stale) = inner.stale.as_mut().filter(|_| is_same) else { return false };
    let before = stale.len();
    stale.retain(|phy| *phy != request.phy);
    stale.len() < before
}

/// Gives the kernel's interface the carrier of the interface that it mirrors.
pub fn follow_link(world: &World, phy: SwIfIndex, up: bool) {
    let Some((_, pair)) = world.get::<Pairs>().of_phy(phy) else { return };
    if pair.made == Made::Tap
        && let Ok(host) = world.get::<Interfaces>().get(pair.host)
        && let Err(error) = host.device.set_carrier(up)
    {
        log::warn!(target: "linux-cp", "the carrier of {}: {error}", pair.name);
    }
}

/// Gives the kernel's interface the MAC address of the interface that it mirrors: frames have it as
/// their source.
pub fn follow_mac(world: &World, phy: SwIfIndex) {
    let Some((_, pair)) = world.get::<Pairs>().of_phy(phy) else { return };
    if let Ok(phy) = world.get::<Interfaces>().get(phy)
        && let Err(error) = make::align_mac(world, &pair, &phy)
    {
        log::warn!(target: "linux-cp", "the MAC address of {}: {error}", pair.name);
    }
}

/// Gives the kernel's interfaces the MAC addresses and MTUs that the configuration of the start set
/// after it had made the pairs.
pub fn align(world: &World) {
    let interfaces = world.get::<Interfaces>();
    for (_, pair) in world.get::<Pairs>().list() {
        if let Ok(phy) = interfaces.get(pair.phy)
            && let Err(error) = make::align(world, &pair, &phy)
        {
            log::warn!(target: "linux-cp", "the kernel's interface {}: {error}", pair.name);
        }
    }
}

fn check_free(world: &World, sw_if: SwIfIndex) -> Result<()> {
    let Some((_, pair)) = world.get::<Pairs>().of(sw_if) else { return Ok(()) };
    let interfaces = world.get::<Interfaces>();
    let (phy, host) = (interfaces.name(pair.phy), interfaces.name(pair.host));
    let error = Error::failed(format!("{phy} and {host} are a pair already"));
    Err(error.retval(retval::VALUE_EXIST))
}

fn check_name(name: &str) -> Result<()> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_%@:.".contains(c);
    if name.is_empty() || name.len() > 15 || !name.chars().all(is_fine) {
        let why = format!(
            "`{name}' is no name of an interface of the kernel: 1 to 15 letters, digits or -_%@:."
        );
        return Err(Error::parse(why).retval(retval::INVALID_ARGUMENT));
    }
    Ok(())
}

/// The features of a pair, with their arcs; true for those of the mirror.
fn features(pair: &Pair) -> Vec<(bool, &'static str, &'static str)> {
    match pair.kind {
        HostKind::Tap => vec![
            (false, "arp", "linux-cp-arp-phy"),
            (true, "arp", "linux-cp-arp-host"),
            (true, "ip4-unicast", "linux-cp-xc-ip4"),
            (true, "ip4-multicast", "linux-cp-xc-ip4"),
            (true, "ip6-unicast", "linux-cp-xc-ip6"),
            (true, "ip6-multicast", "linux-cp-xc-ip6"),
        ],
        HostKind::Tun => vec![
            (false, "ip4-punt", "linux-cp-punt-l3"),
            (false, "ip6-punt", "linux-cp-punt-l3"),
            (true, "ip4-unicast", "linux-cp-xc-l3-ip4"),
            (true, "ip4-multicast", "linux-cp-xc-l3-ip4"),
            (true, "ip6-unicast", "linux-cp-xc-l3-ip6"),
            (true, "ip6-multicast", "linux-cp-xc-l3-ip6"),
        ],
    }
}

/// The adjacencies that packets of the host take if no neighbour has their header.
fn adjacencies(world: &World, pair: &Pair) -> Result<[AdjIndex; 2]> {
    let all = world.get::<Adjacencies>();
    let kind = world.get::<Interfaces>().get(pair.phy)?.kind;
    let of = |link| match (pair.kind, kind) {
        (HostKind::Tap, _) => all.multicast(world, pair.phy, link),
        (HostKind::Tun, IfKind::Ip) if link == Link::IP6 => {
            all.neighbor(world, pair.phy, std::net::Ipv6Addr::UNSPECIFIED.into())
        }
        (HostKind::Tun, IfKind::Ip) => {
            all.neighbor(world, pair.phy, std::net::Ipv4Addr::UNSPECIFIED.into())
        }
        (HostKind::Tun, _) => Ok(AdjIndex::NO_ROUTE),
    };
    let ip4 = of(Link::IP4)?;
    Ok([ip4, of(Link::IP6).inspect_err(|_| release(&all, ip4))?])
}

fn release(all: &Adjacencies, adj: AdjIndex) {
    if adj != AdjIndex::NO_ROUTE {
        all.release(adj);
    }
}

/// Lets packets cross.
fn activate(world: &World, pair: &Pair) -> Result<()> {
    world.get::<Pairs>().put(pair.clone(), adjacencies(world, pair)?);
    switch_on(world, pair).inspect_err(|_| deactivate(world, pair, None))
}

fn switch_on(world: &World, pair: &Pair) -> Result<()> {
    let column = world.get::<Column<MirrorRole>>();
    column.set(world, pair.phy, MirrorRole::Mirrored)?;
    column.set(world, pair.host, MirrorRole::Host { is_owned: pair.made != Made::Given })?;
    world.get::<HeaderTable>().follow(world, pair.phy);
    for (is_host, arc, feature) in features(pair) {
        let sw_if = if is_host { pair.host } else { pair.phy };
        world.set_feature(arc, feature, sw_if, true).map_err(Error::failed)?;
    }
    for v6 in [false, true] {
        punt::redirect_to_object(world, v6, pair.phy, pair.host, (&MIRROR, pair.host.0))?;
    }
    Ok(())
}

/// Takes back what [`activate`] did, except on an interface that is being deleted.
fn deactivate(world: &World, pair: &Pair, deleted: Option<SwIfIndex>) {
    let note = |done: Result<()>| {
        if let Err(error) = done {
            log::warn!(target: "linux-cp", "a pair isn't removed as a whole: {error}");
        }
    };
    world.get::<HeaderTable>().unfollow(pair.phy);
    for v6 in [false, true] {
        note(punt::end_redirect_to_object(world, v6, pair.phy));
    }
    for (is_host, arc, feature) in features(pair) {
        let sw_if = if is_host { pair.host } else { pair.phy };
        note(world.set_feature(arc, feature, sw_if, false).map_err(Error::failed));
    }
    let column = world.get::<Column<MirrorRole>>();
    for sw_if in [pair.phy, pair.host].into_iter().filter(|sw_if| Some(*sw_if) != deleted) {
        note(column.set(world, sw_if, MirrorRole::None));
    }
    let all = world.get::<Adjacencies>();
    let taken = world.get::<Pairs>().take(pair);
    taken.into_iter().flatten().for_each(|adj| release(&all, adj));
}
