// SPDX-License-Identifier: Apache-2.0
//! Puts a lease to use, and out of use: the interface's address, and routes by the routers.

use super::routes::Grant;
use cli::Result;
use graph::{SwIfIndex, World};
use net::fib::{Fib, Path, PathKind, Source, TableIndex};
use net::{Addresses, IpBinding};
use std::net::Ipv4Addr;
use wire::{Ip4, Ip4Prefix};

/// The parts of a lease that are in use.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    address: Option<Ip4Prefix>,
    routes: Vec<(TableIndex, Ip4Prefix, Path)>,
}

/// The path of a route by a router of a link, or to the link itself.
fn path(sw_if: SwIfIndex, router: Ipv4Addr) -> Path {
    Path::new(match router.is_unspecified() {
        true => PathKind::Attached { sw_if, address: Ipv4Addr::UNSPECIFIED.into() },
        false => PathKind::Neighbor { sw_if, nexthop: router.into() },
    })
}

impl Applied {
    /// Uses a grant in place of what is in use; only differences change.
    ///
    /// # Errors
    /// An address that is in use, or whose network overlaps with another one's (−105). Nothing of
    /// the lease is used then.
    pub fn apply(&mut self, world: &World, sw_if: SwIfIndex, grant: &Grant) -> Result<()> {
        if self.address != Some(grant.address) {
            self.clear(world, sw_if);
            world.get::<Addresses<Ip4>>().add_learned(world, sw_if, grant.address)?;
            self.address = Some(grant.address);
        }
        let table = IpBinding::of(world, sw_if).table::<Ip4>();
        let wanted: Vec<_> = grant
            .routes
            .iter()
            .map(|(prefix, router)| (table, *prefix, path(sw_if, *router)))
            .collect();
        let fib = world.get::<Fib<Ip4>>();
        let (kept, gone) = self.routes.drain(..).partition(|route| wanted.contains(route));
        self.routes = kept;
        withdraw(world, gone);
        let mut refused = Vec::new();
        for (table, prefix, path) in wanted {
            if self.routes.contains(&(table, prefix, path)) {
                continue;
            }
            match fib.add(world, table, prefix, Source::Dhcp, &[path]) {
                Ok(_) => self.routes.push((table, prefix, path)),
                Err(why) => refused.push((prefix, why)),
            }
        }
        // One line, whatever number of routes a server gives.
        if let Some((prefix, why)) = refused.first() {
            let n = refused.len();
            log::warn!("DHCP gave {n} routes that can't be used, the first to {prefix}: {why}");
        }
        Ok(())
    }

    /// Ends the use of the lease.
    pub fn clear(&mut self, world: &World, sw_if: SwIfIndex) {
        withdraw(world, std::mem::take(&mut self.routes));
        let addresses = world.get::<Addresses<Ip4>>();
        // An operator may have removed it already, or configured it.
        if let Some(address) = self.address.take()
            && addresses.is_learned(sw_if, address)
        {
            let _ = addresses.remove(world, sw_if, address);
        }
    }
}

/// Removes routes. A table or an interface that is gone has none.
fn withdraw(world: &World, gone: Vec<(TableIndex, Ip4Prefix, Path)>) {
    let fib = world.get::<Fib<Ip4>>();
    for (table, prefix, path) in gone {
        let _ = fib.remove(world, table, prefix, Source::Dhcp, &[path]);
    }
}
