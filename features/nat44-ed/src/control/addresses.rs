// SPDX-License-Identifier: Apache-2.0
//! Pools of addresses.

use super::{Control, State, sessions, source};
use crate::session::SessionFlags;
use cli::{Result, retval};
use graph::{SwIfIndex, World};
use nat::error;
use nat::ranges::expand;
use net::{Addresses, Interfaces};
use std::net::Ipv4Addr;
use wire::Ip4;

/// An address of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The address.
    pub addr: Ipv4Addr,
    /// Id of the table whose users get it; `None` for all.
    pub vrf: Option<u32>,
    /// The interface whose first address it is.
    pub of: Option<SwIfIndex>,
}

impl Control {
    /// Adds a range of addresses to a pool, or removes it; `twice` for that of hosts of the world.
    ///
    /// # Errors
    /// The feature is disabled (−126); a range that ends before it begins, or is too long (−7); an
    /// address that is there (−81), or not (−6).
    pub fn set_range(
        &self,
        world: &World,
        (first, last): (Ipv4Addr, Ipv4Addr),
        vrf: Option<u32>,
        (twice, add): (bool, bool),
    ) -> Result<()> {
        self.enabled(world, |state| {
            for addr in expand(first, last)? {
                match add {
                    true => state.add_address(world, Address { addr, vrf, of: None }, twice)?,
                    false => state.remove_address(world, addr, twice)?,
                }
            }
            Ok(())
        })
    }

    /// Keeps the first address of an interface in a pool, or no longer.
    ///
    /// # Errors
    /// The feature is disabled (−126); no such interface (−2); it is there (−81), or not (−6).
    pub fn set_followed(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        (twice, add): (bool, bool),
    ) -> Result<()> {
        self.enabled(world, |state| {
            world.get::<Interfaces>().check(sw_if)?;
            if !add {
                return state.unfollow(world, sw_if, twice);
            }
            if state.followed.contains(&(sw_if, twice)) {
                let name = world.get::<Interfaces>().name(sw_if);
                let why = format!("the address of {name} is in this pool already");
                return Err(error(retval::VALUE_EXIST, why));
            }
            state.followed.push((sw_if, twice));
            state.follow_addresses(world, sw_if);
            Ok(())
        })
    }
}

/// Ends the sessions that have these addresses of the pools, in one walk.
pub(super) fn end_sessions_of(world: &World, mut pools: [Vec<Ipv4Addr>; 2]) {
    if pools.iter().all(Vec::is_empty) {
        return;
    }
    pools.iter_mut().for_each(|addresses| addresses.sort_unstable());
    let [of_users, of_world] = pools;
    sessions::purge(world, move |keys, session| {
        let is_twice = session.flags.contains(SessionFlags::TWICE);
        let other = SessionFlags::STATIC | SessionFlags::BYPASS;
        is_twice && of_world.binary_search(&keys[0].to().addr).is_ok()
            || !session.flags.intersects(other)
                && of_users.binary_search(&keys[1].to().addr).is_ok()
    });
}

impl State {
    fn add_address(&mut self, world: &World, address: Address, twice: bool) -> Result<()> {
        let addr = address.addr;
        if self.pools[usize::from(twice)].iter().any(|there| there.addr == addr) {
            return Err(error(retval::VALUE_EXIST, format!("{addr} is in this pool already")));
        }
        if let Some(vrf) = address.vrf {
            self.hold_table(world, vrf)?;
        }
        self.pools[usize::from(twice)].push(address);
        if !twice {
            self.exposed.expose((world, source(world)), addr);
        }
        Ok(())
    }

    /// Removes an address from a pool. The sessions that have it end.
    fn remove_address(&mut self, world: &World, addr: Ipv4Addr, twice: bool) -> Result<()> {
        let pool = &mut self.pools[usize::from(twice)];
        let Some(at) = pool.iter().position(|there| there.addr == addr) else {
            return Err(error(retval::NO_SUCH_ENTRY, format!("{addr} isn't in this pool")));
        };
        let address = pool.remove(at);
        if let Some(vrf) = address.vrf {
            self.held.release(vrf);
        }
        if !twice {
            self.exposed.conceal((world, source(world)), addr);
        }
        self.gone[usize::from(twice)].push(addr);
        Ok(())
    }

    /// Puts the present first address of an interface into the pools and mappings that follow it.
    pub(super) fn follow_addresses(&mut self, world: &World, sw_if: SwIfIndex) {
        let first = world.get::<Addresses<Ip4>>().own(sw_if).first().map(|own| own.addr());
        for twice in [false, true] {
            let wanted = first.filter(|_| self.followed.contains(&(sw_if, twice)));
            let pool = &self.pools[usize::from(twice)];
            let old = pool.iter().find(|there| there.of == Some(sw_if)).map(|there| there.addr);
            if old == wanted {
                continue;
            }
            if let Some(old) = old {
                let _ = self.remove_address(world, old, twice);
            }
            if let Some(addr) = wanted {
                // An address that was given by itself stays as it is.
                let _ =
                    self.add_address(world, Address { addr, vrf: None, of: Some(sw_if) }, twice);
            }
        }
        self.resolve(world, sw_if, first);
    }

    pub(super) fn unfollow(&mut self, world: &World, sw_if: SwIfIndex, twice: bool) -> Result<()> {
        let Some(at) = self.followed.iter().position(|there| *there == (sw_if, twice)) else {
            let name = world.get::<Interfaces>().name(sw_if);
            let why = format!("the address of {name} isn't in this pool");
            return Err(error(retval::NO_SUCH_ENTRY, why));
        };
        self.followed.remove(at);
        let pool = &self.pools[usize::from(twice)];
        let old = pool.iter().find(|there| there.of == Some(sw_if)).map(|there| there.addr);
        old.map_or(Ok(()), |old| self.remove_address(world, old, twice))
    }
}
