// SPDX-License-Identifier: Apache-2.0
//! Routes as netlink has them, in the terms of the tables here. FPM has the same messages.

use graph::{SwIfIndex, World};
use net::{AdjIndex, Fib, Net, Path, PathKind, Source, TableIndex};
use netlink::{Hop, KernelRoute, RouteKind};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Address, Prefix};

/// The kernel's main table, and that of its own addresses.
const MAIN: u32 = 254;
const LOCAL: u32 = 255;
/// `RTPROT_KERNEL`
const KERNEL: u8 = 2;

/// Next hops of a route at most. The work of a change is a multiple of them.
pub const MOST_HOPS: usize = 512;

/// Reason why a route isn't taken over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ignored {
    /// It is the kernel's own: local addresses, connected networks, groups, caches.
    Own,
    /// None of its next hops is on a mirrored interface.
    Elsewhere,
    /// It has more than [`MOST_HOPS`] next hops.
    TooMany,
    /// Its packets are encapsulated.
    Encapsulated,
    /// It names a next-hop object only.
    NextHopObject,
    /// It is for packets from some sources only.
    OfSources,
    /// The table doesn't take it.
    Refused,
}

/// The prefix of a route of a table.
///
/// # Errors
/// [`Ignored::Own`], [`Ignored::OfSources`]
pub fn destination<F: Net>(route: &KernelRoute) -> Result<Prefix<F::Addr>, Ignored> {
    let own = route.is_cached || route.table == LOCAL || route.protocol == KERNEL;
    let prefix = F::of_ip(route.prefix).and_then(|addr| Prefix::new(addr, route.len));
    let prefix = prefix.filter(|prefix| !own && !is_special::<F>(prefix.addr(), route.len));
    if route.has_source {
        return Err(Ignored::OfSources);
    }
    Ok(prefix.ok_or(Ignored::Own)?.network())
}

/// IPv6 groups and link-local networks, which each interface has by itself, and IPv4 groups.
fn is_special<F: Net>(addr: F::Addr, len: u8) -> bool {
    addr.multicast() && len >= if F::IS_V6 { 8 } else { 4 }
        || F::IS_V6 && addr.link_local() && len >= 10
}

/// The paths of a route over these next hops, with this preference. `target` is that of a next hop;
/// a hop without one is left out.
///
/// # Errors
/// [`Ignored::Own`] for kinds of the kernel's own routes, [`Ignored::TooMany`],
/// [`Ignored::Encapsulated`], [`Ignored::Elsewhere`] if no next hop is left.
pub fn paths(
    kind: RouteKind,
    hops: &[Hop],
    preference: u8,
    mut target: impl FnMut(&Hop) -> Option<PathKind>,
) -> Result<Vec<Path>, Ignored> {
    let fixed = |adj| Ok(vec![Path { preference, ..Path::new(PathKind::Fixed(adj)) }]);
    match kind {
        RouteKind::Blackhole => return fixed(AdjIndex::DROP),
        RouteKind::Unreachable => return fixed(AdjIndex::UNREACH),
        RouteKind::Prohibit => return fixed(AdjIndex::PROHIBIT),
        RouteKind::Other(_) => return Err(Ignored::Own),
        RouteKind::Unicast => {}
    }
    if hops.len() > MOST_HOPS {
        return Err(Ignored::TooMany);
    }
    if hops.iter().any(|hop| hop.is_encapsulated) {
        return Err(Ignored::Encapsulated);
    }
    // The kernel's weights have 16 bits. Those of a route keep their proportion.
    let highest = hops.iter().map(|hop| hop.weight).max().unwrap_or(1);
    let path = |hop: &Hop| {
        let weight = scaled(hop.weight, highest);
        Some(Path { weight, preference, ..Path::new(target(hop)?) })
    };
    let paths: Vec<Path> = hops.iter().filter_map(path).collect();
    if paths.is_empty() { Err(Ignored::Elsewhere) } else { Ok(paths) }
}

/// A weight among others of which this is the highest, in 8 bits.
fn scaled(weight: u16, highest: u16) -> u8 {
    let (weight, highest, most) = (u32::from(weight), u32::from(highest), u32::from(u8::MAX));
    let scaled = match highest > most {
        true => (weight * most + highest / 2) / highest,
        false => weight,
    };
    scaled.clamp(1, most) as u8
}

/// The target of a next hop on an interface, of a route of IPv6 or IPv4.
pub fn target_on(sw_if: SwIfIndex, hop: &Hop, is_v6: bool) -> PathKind {
    let address: IpAddr = match is_v6 {
        true => Ipv6Addr::UNSPECIFIED.into(),
        false => Ipv4Addr::UNSPECIFIED.into(),
    };
    match hop.gateway {
        Some(nexthop) => PathKind::Neighbor { sw_if, nexthop },
        None => PathKind::Attached { sw_if, address },
    }
}

/// The id here of a table of the kernel.
pub fn table_id(id: u32) -> u32 {
    if id == MAIN { 0 } else { id }
}

/// Ids of the tables that have routes, as they are here.
#[derive(Default)]
pub struct TableIds(BTreeSet<u32>);

impl TableIds {
    /// The table of an id of the kernel, which `owner` owns from the first time on, and which is
    /// made if it isn't there. `None` if it can't be made, or would be more than `most`.
    pub fn get<F: Net>(
        &mut self,
        world: &World,
        id: u32,
        owner: Source,
        most: usize,
    ) -> Option<TableIndex> {
        let (fib, id) = (world.get::<Fib<F>>(), table_id(id));
        let is_known = self.0.contains(&id);
        // An operator may have deleted one that was there before.
        if is_known && let Ok(table) = fib.find_table(id) {
            return Some(table);
        }
        if !is_known && self.0.len() >= most {
            return None;
        }
        if id != 0 {
            fib.add_table(world, id, "", owner).ok()?;
        }
        self.0.insert(id);
        fib.find_table(id).ok()
    }

    /// The tables that are still there.
    pub fn tables<F: Net>(&self, world: &World) -> Vec<TableIndex> {
        let fib = world.get::<Fib<F>>();
        self.0.iter().filter_map(|id| fib.find_table(*id).ok()).collect()
    }

    /// Ends the ownership of all, with the routes that `owner` has there.
    pub fn release<F: Net>(&mut self, world: &World, owner: Source) {
        let fib = world.get::<Fib<F>>();
        for id in std::mem::take(&mut self.0).into_iter().filter(|id| *id != 0) {
            // Of one that an operator has deleted nothing is left.
            if let Ok(table) = fib.find_table(id)
                && fib.owners(table).contains(&owner)
            {
                let _ = fib.delete_table(world, id, owner);
            }
        }
    }

    /// Number of tables.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn weights(of: &[u16]) -> Result<Vec<u8>, Ignored> {
        let hop =
            |weight: &u16| Hop { index: 1, gateway: None, weight: *weight, is_encapsulated: false };
        let hops: Vec<Hop> = of.iter().map(hop).collect();
        let paths = paths(RouteKind::Unicast, &hops, 0, |_| Some(PathKind::Fixed(AdjIndex::DROP)))?;
        Ok(paths.iter().map(|path| path.weight).collect())
    }

    #[suite::test]
    fn weights_keep_their_proportion() {
        assert_eq!(weights(&[1, 255, 7]), Ok(vec![1, 255, 7]));
        assert_eq!(weights(&[1000, 500, 250, 1]), Ok(vec![255, 128, 64, 1]));
        assert_eq!(weights(&[u16::MAX, u16::MAX]), Ok(vec![255, 255]));
    }

    #[suite::test]
    fn next_hops_are_bounded() {
        assert_eq!(weights(&[1; MOST_HOPS]).map(|all| all.len()), Ok(MOST_HOPS));
        assert_eq!(weights(&[1; MOST_HOPS + 1]), Err(Ignored::TooMany));
    }
}
