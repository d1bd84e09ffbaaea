// SPDX-License-Identifier: Apache-2.0
//! Groups that tunnels send to and receive from: a multicast route for all tunnels of a group.

use crate::model::TunnelEndpoints;
use cli::Result;
use graph::{Shared, SwIfIndex, World};
use net::mfib::{Change, Group, ItfFlags, Mpath, MpathKind};
use net::{Mfib, Net, Source, TableIndex};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use wire::{Ip4, Ip6, Prefix};

/// A group on an interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Joined {
    table: TableIndex,
    group: IpAddr,
    /// The interface that its packets come from and leave by.
    pub sw_if: SwIfIndex,
}

/// The groups, with the number of tunnels in each.
#[derive(Default)]
pub struct Groups(Mutex<BTreeMap<Joined, usize>>);

impl Shared for Groups {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Groups {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Joined, usize>> {
        self.0.lock().expect("no panic inside")
    }

    /// One more tunnel is in a group: packets to it that come by the interface are for us.
    ///
    /// # Errors
    /// A table (−3) or an interface (−2) that isn't there; no room (−99).
    pub fn join(&self, world: &World, sw_if: SwIfIndex, ends: &TunnelEndpoints) -> Result<Joined> {
        let joined = Joined { table: ends.table_index(world)?, group: ends.remote, sw_if };
        if *self.all().entry(joined).and_modify(|tunnels| *tunnels += 1).or_insert(1) == 1 {
            let done = match joined.group {
                IpAddr::V4(group) => listen::<Ip4>(world, joined, group),
                IpAddr::V6(group) => listen::<Ip6>(world, joined, group),
            };
            done.inspect_err(|_| _ = self.all().remove(&joined))?;
        }
        Ok(joined)
    }

    /// One tunnel less is.
    pub fn leave(&self, world: &World, joined: Joined) {
        {
            let mut all = self.all();
            let Some(tunnels) = all.get_mut(&joined) else { return };
            *tunnels -= 1;
            if *tunnels > 0 {
                return;
            }
            all.remove(&joined);
        }
        // Another interface may have the same group.
        let of = |sw_if| Joined { sw_if: SwIfIndex(sw_if), ..joined };
        let others = self.all().range(of(0)..=of(u32::MAX)).next().is_some();
        let mut paths = vec![MpathKind::Interface { sw_if: joined.sw_if, nexthop: None }];
        if !others {
            paths.push(MpathKind::Local);
        }
        // The route may have gone with the interface.
        _ = match joined.group {
            IpAddr::V4(group) => forget::<Ip4>(world, joined, group, &paths),
            IpAddr::V6(group) => forget::<Ip6>(world, joined, group, &paths),
        };
    }
}

fn any<F: Net>(group: F::Addr) -> Group<F::Addr> {
    Group::any(Prefix::host(group))
}

fn listen<F: Net>(world: &World, joined: Joined, group: F::Addr) -> Result<()> {
    let from = MpathKind::Interface { sw_if: joined.sw_if, nexthop: None };
    let paths = [
        Mpath { kind: from, flags: ItfFlags::ACCEPT },
        Mpath { kind: MpathKind::Local, flags: ItfFlags::FORWARD },
    ];
    let change = Change { paths: &paths, ..Change::default() };
    world
        .get::<Mfib<F>>()
        .update(world, joined.table, any::<F>(group), Source::Plugin, change)
        .map(drop)
}

fn forget<F: Net>(
    world: &World,
    joined: Joined,
    group: F::Addr,
    paths: &[MpathKind],
) -> Result<()> {
    world.get::<Mfib<F>>().remove(world, joined.table, any::<F>(group), Source::Plugin, paths)
}
