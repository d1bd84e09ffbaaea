// SPDX-License-Identifier: Apache-2.0
//! Directed broadcasts: packets from elsewhere to all hosts of a connected network (RFC 1812
//! 5.3.5.2, RFC 2644).

use cli::Result;
use graph::{Deleted, Shared, SwIfIndex, World};
use net::{
    Addresses, AdjIndex, Adjacencies, Fib, IfEvent, IfKind, Interfaces, Path, PathKind, Source,
    ethernet_rewrite,
};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};
use wire::{EtherType, Ip4, MacAddr, Prefix};

/// The interfaces that forward directed broadcasts; off by default.
#[derive(Default)]
pub struct DirectedBroadcast(Mutex<BTreeSet<SwIfIndex>>);

impl Shared for DirectedBroadcast {
    fn make(world: &World) -> Self {
        // Created first: it is notified of changes first, and adds the routes that are changed
        // here.
        world.get::<Addresses<Ip4>>();
        world.get::<Interfaces>().subscribe(|world, event| match event {
            // Routes are added again with the addresses, adjacencies when the link comes up.
            IfEvent::Address(sw_if, false)
            | IfEvent::Admin(sw_if, true)
            | IfEvent::Link(sw_if, true) => {
                let this = world.get::<Self>();
                if this.is_on(sw_if) {
                    this.apply(world, sw_if);
                }
            }
            _ => {}
        });
        Self::default()
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.on().remove(sw_if);
        }
    }
}

impl DirectedBroadcast {
    fn on(&self) -> MutexGuard<'_, BTreeSet<SwIfIndex>> {
        self.0.lock().expect("no panic inside")
    }

    /// Returns true if the interface forwards directed broadcasts.
    pub fn is_on(&self, sw_if: SwIfIndex) -> bool {
        self.on().contains(&sw_if)
    }

    /// Switches it on or off for an interface.
    ///
    /// # Errors
    /// An interface that isn't there (−2).
    pub fn set(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        if on {
            self.on().insert(sw_if);
        } else {
            self.on().remove(&sw_if);
        }
        self.apply(world, sw_if);
        Ok(())
    }

    /// Points the routes to the broadcast addresses of an interface's networks at the link, or at
    /// drop.
    fn apply(&self, world: &World, sw_if: SwIfIndex) {
        let (addresses, fib) = (world.get::<Addresses<Ip4>>(), world.get::<Fib<Ip4>>());
        let (Ok(table), Ok(interface)) =
            (addresses.table_of(sw_if), world.get::<Interfaces>().get(sw_if))
        else {
            return;
        };
        // Without the interface these routes aren't there.
        let own = if interface.admin_up { addresses.own(sw_if) } else { Vec::new() };
        let is_own = |address| own.iter().any(|p| p.addr() == address);
        for all in own.iter().filter(|p| p.len() < 31).map(Prefix::last).filter(|all| !is_own(*all))
        {
            let kind = match self.is_on(sw_if) {
                true => PathKind::Neighbor { sw_if, nexthop: all.into() },
                false => PathKind::Fixed(AdjIndex::DROP),
            };
            // Only a full table refuses.
            let _ = fib.set(world, table, Prefix::host(all), Source::Interface, &[Path::new(kind)]);
            if self.is_on(sw_if) && interface.kind == IfKind::Ethernet {
                let rewrite = ethernet_rewrite(&interface, MacAddr::BROADCAST, EtherType::IP4);
                world.get::<Adjacencies>().complete(world, sw_if, all.into(), &rewrite);
            }
        }
    }
}
