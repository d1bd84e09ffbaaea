// SPDX-License-Identifier: Apache-2.0
//! `ip4-punt-redirect`, `ip6-punt-redirect`: punted packets go to another router instead.

use buffer::{Buffer, Flags};
use cli::{Error, Result};
use graph::{
    Build, Configured, Cx, Deleted, Next, Node, NodeIndex, Shared, SwIfIndex, ThreadIndex, World,
};
use ip::{Ip, IpTrace};
use msg::retval;
use net::{AdjIndex, AdjKind, Adjacencies, IfEvent, Interfaces, IpMeta, Link, ObjectType};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use wire::{Ip4, Ip6};

/// Sends the packets of an interface by the adjacency that is configured there.
pub struct PuntRedirect<F> {
    adjacencies: Arc<Adjacencies>,
    family: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(
    dead_code,
    reason = "packets go by the adjacency's own node; the picture of the graph shows this"
)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// punted packets redirected
    #[next("{ip}-rewrite", count)]
    Redirected,
    /// {ip} punted packet has a redirect without a path
    #[drop]
    #[counter("{ip} punt redirect drop")]
    NoPath,
}

impl<F> Build for PuntRedirect<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { adjacencies: world.get(), family: PhantomData }
    }
}

impl<F: Ip> Configured for PuntRedirect<F> {
    type Config = AdjIndex;
}

impl<F: Ip> Node for PuntRedirect<F> {
    const NAME: &'static str = "{ip}-punt-redirect";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        let index = cx.feature_config::<Self>(b);
        if index == AdjIndex::DROP {
            return To::NoPath;
        }
        let Some(adj) = self.adjacencies.get(index, cx.turn) else { return To::NoPath };
        let (next, is_sent) = (adj.next, adj.kind != AdjKind::Feature);
        b.set_scratch(IpMeta::of(index, 0));
        // The packet has reached its destination: another stack answers for us, and no hop counts
        // (RFC 1812 5.3.1). An object of a feature takes it as it was received.
        if is_sent {
            b.flags.insert(Flags::LOCAL);
        }
        cx.count(To::Redirected, 1);
        To::Node(next)
    }
}

/// A path of punted packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Via {
    /// Transmit interface.
    pub tx: SwIfIndex,
    /// The router; without one, packets go to their own destination.
    pub nexthop: Option<IpAddr>,
}

/// The path of punted packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Redirect {
    /// The path; `None` to drop.
    pub via: Option<Via>,
    /// True if a feature has set it, and its own lines of the configuration do.
    pub is_owned: bool,
    adj: AdjIndex,
}

/// Redirects by family and receive interface; `None` is for all interfaces without one of their
/// own.
type Redirects = BTreeMap<(bool, Option<SwIfIndex>), Redirect>;

/// The main thread's table of redirects.
#[derive(Default)]
pub struct RedirectTable(Mutex<Redirects>);

impl Shared for RedirectTable {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        for v6 in [false, true] {
            let by = |rx, redirect: Redirect| {
                rx == Some(sw_if) || redirect.via.is_some_and(|via| via.tx == sw_if)
            };
            for (rx, _) in self.list(v6).into_iter().filter(|(rx, redirect)| by(*rx, *redirect)) {
                if let Err(e) = delete(world, v6, rx) {
                    log::warn!(target: "punt", "a redirect doesn't go with its interface: {e}");
                }
            }
        }
    }
}

impl RedirectTable {
    fn redirects(&self) -> MutexGuard<'_, Redirects> {
        self.0.lock().expect("no panic inside")
    }

    /// Returns all redirects of a family.
    pub fn list(&self, v6: bool) -> Vec<(Option<SwIfIndex>, Redirect)> {
        let all = self.redirects();
        all.iter()
            .filter(|((six, _), _)| *six == v6)
            .map(|((_, rx), redirect)| (*rx, *redirect))
            .collect()
    }
}

/// Redirects punted packets of an interface, or of all without a redirect of their own, to another
/// router; or drops them.
///
/// # Errors
/// Interfaces that aren't there (−2); a next hop of the other family (−7).
pub fn add(world: &World, v6: bool, rx: Option<SwIfIndex>, via: Option<Via>) -> Result<()> {
    let nexthop = |via: Via| via.nexthop.filter(|addr| !addr.is_unspecified());
    let via = via.map(|via| Via { nexthop: nexthop(via), ..via });
    if via.and_then(nexthop).is_some_and(|addr| addr.is_ipv6() != v6) {
        return Err(Error::parse("a next hop of the other family").retval(retval::INVALID_VALUE));
    }
    let adjacencies = world.get::<Adjacencies>();
    let any = if v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let adj = match via {
        Some(Via { tx, nexthop: Some(nexthop) }) => adjacencies.neighbor(world, tx, nexthop)?,
        Some(Via { tx, nexthop: None }) => adjacencies.glean(world, tx, any)?,
        None => AdjIndex::DROP,
    };
    put(world, (v6, rx), Redirect { via, is_owned: false, adj })
}

/// Redirects punted packets of an interface to an object of a feature, which sends them by an
/// interface. They have the layer-2 header that they were received with in front of them. The
/// feature's own lines of the configuration set this.
///
/// # Errors
/// An object that isn't there.
pub fn redirect_to_object(
    world: &World,
    v6: bool,
    rx: SwIfIndex,
    tx: SwIfIndex,
    (of, number): (&'static ObjectType, u32),
) -> Result<()> {
    let link = if v6 { Link::IP6 } else { Link::IP4 };
    let adj = world.get::<Adjacencies>().object(world, of, link, number)?;
    let via = Some(Via { tx, nexthop: None });
    put(world, (v6, Some(rx)), Redirect { via, is_owned: true, adj })
}

/// Removes what [`redirect_to_object`] has set, unless an operator has replaced it.
///
/// # Errors
/// The features of the interface can't be changed.
pub fn end_redirect_to_object(world: &World, v6: bool, rx: SwIfIndex) -> Result<()> {
    let all = world.get::<RedirectTable>().list(v6);
    match all.into_iter().any(|(from, redirect)| from == Some(rx) && redirect.is_owned) {
        true => delete(world, v6, Some(rx)),
        false => Ok(()),
    }
}

fn put(world: &World, (v6, rx): (bool, Option<SwIfIndex>), new: Redirect) -> Result<()> {
    let old = world.get::<RedirectTable>().redirects().insert((v6, rx), new);
    apply(world, v6)?;
    if let Some(old) = old {
        world.get::<Adjacencies>().release(old.adj);
    }
    Ok(())
}

/// Removes a redirect.
///
/// # Errors
/// One that isn't there (−6).
pub fn delete(world: &World, v6: bool, rx: Option<SwIfIndex>) -> Result<()> {
    let gone = || Error::not_found("there is no such redirect").retval(retval::NO_SUCH_ENTRY);
    let old = world.get::<RedirectTable>().redirects().remove(&(v6, rx)).ok_or_else(gone)?;
    apply(world, v6)?;
    world.get::<Adjacencies>().release(old.adj);
    Ok(())
}

/// Applies to each interface its redirect, or the one for all.
fn apply(world: &World, v6: bool) -> Result<()> {
    for interface in world.get::<Interfaces>().list() {
        apply_to(world, v6, interface.sw_if)?;
    }
    Ok(())
}

fn apply_to(world: &World, v6: bool, sw_if: SwIfIndex) -> Result<()> {
    let config = {
        let all = world.get::<RedirectTable>();
        let redirects = all.redirects();
        let own = redirects.get(&(v6, Some(sw_if))).or_else(|| redirects.get(&(v6, None)));
        own.map(|redirect| redirect.adj)
    };
    let set = match v6 {
        false => world.configure_feature::<PuntRedirect<Ip4>>("ip4-punt", sw_if, config),
        true => world.configure_feature::<PuntRedirect<Ip6>>("ip6-punt", sw_if, config),
    };
    set.map_err(Error::unsupported)
}

/// Applies the redirect for all to new interfaces.
pub fn on_interface(world: &World, event: IfEvent) {
    let IfEvent::Added(sw_if) = event else { return };
    for v6 in [false, true] {
        if let Err(e) = apply_to(world, v6, sw_if) {
            log::warn!(target: "punt", "redirects don't follow {event:?}: {e}");
        }
    }
}
