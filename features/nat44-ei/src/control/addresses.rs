// SPDX-License-Identifier: Apache-2.0
//! The pool of addresses.

use super::{Control, State, sessions, source};
use cli::{Result, retval};
use graph::{SwIfIndex, World};
use nat::error;
use nat::ranges::expand;
use net::{Addresses, Interfaces};
use std::net::Ipv4Addr;
use wire::Ip4;

/// An address of the pool.
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
    /// Adds a range of addresses to the pool, or removes it.
    ///
    /// # Errors
    /// The feature is disabled (−169), or translates by static mappings alone (−30); a range that
    /// ends before it begins, or is too long (−7); an address that is there (−81), or not (−6).
    pub fn set_range(
        &self,
        world: &World,
        (first, last): (Ipv4Addr, Ipv4Addr),
        vrf: Option<u32>,
        add: bool,
    ) -> Result<()> {
        self.enabled(world, |state| {
            state.check_dynamic()?;
            for addr in expand(first, last)? {
                match add {
                    true => state.add_address(world, Address { addr, vrf, of: None })?,
                    false => state.remove_address(world, addr)?,
                }
            }
            Ok(())
        })
    }

    /// Keeps the first address of an interface in the pool, or no longer.
    ///
    /// # Errors
    /// The feature is disabled (−169), or translates by static mappings alone (−30); no such
    /// interface (−2); it is there (−81), or not (−6).
    pub fn set_followed(&self, world: &World, sw_if: SwIfIndex, add: bool) -> Result<()> {
        self.enabled(world, |state| {
            state.check_dynamic()?;
            world.get::<Interfaces>().check(sw_if)?;
            if !add {
                return state.unfollow(world, sw_if);
            }
            if state.followed.contains(&sw_if) {
                let name = world.get::<Interfaces>().name(sw_if);
                let why = format!("the address of {name} is in the pool already");
                return Err(error(retval::VALUE_EXIST, why));
            }
            state.followed.push(sw_if);
            state.follow_addresses(world, sw_if);
            Ok(())
        })
    }
}

/// Ends the sessions that have these addresses of the pool, in one walk.
pub(super) fn end_sessions_of(world: &World, mut addresses: Vec<Ipv4Addr>) {
    if addresses.is_empty() {
        return;
    }
    addresses.sort_unstable();
    sessions::purge(world, move |keys, session| {
        !session.is_static() && addresses.binary_search(&keys[1].to().addr).is_ok()
    });
}

impl State {
    /// Refuses a pool where static mappings alone translate.
    fn check_dynamic(&self) -> Result<()> {
        if self.options()?.static_only {
            let why = "static mappings alone translate: there are no addresses for other users";
            return Err(error(retval::FEATURE_DISABLED, why));
        }
        Ok(())
    }

    fn add_address(&mut self, world: &World, address: Address) -> Result<()> {
        let addr = address.addr;
        if self.pool.iter().any(|there| there.addr == addr) {
            return Err(error(retval::VALUE_EXIST, format!("{addr} is in the pool already")));
        }
        if let Some(vrf) = address.vrf {
            self.hold_table(world, vrf)?;
        }
        self.pool.push(address);
        self.exposed.expose((world, source(world)), addr);
        Ok(())
    }

    /// Removes an address from the pool. The sessions that have it end.
    fn remove_address(&mut self, world: &World, addr: Ipv4Addr) -> Result<()> {
        let Some(at) = self.pool.iter().position(|there| there.addr == addr) else {
            return Err(error(retval::NO_SUCH_ENTRY, format!("{addr} isn't in the pool")));
        };
        let address = self.pool.remove(at);
        if let Some(vrf) = address.vrf {
            self.held.release(vrf);
        }
        self.exposed.conceal((world, source(world)), addr);
        self.gone.push(addr);
        Ok(())
    }

    /// Puts the present first address of an interface into the pool and the mappings that follow
    /// it.
    pub(super) fn follow_addresses(&mut self, world: &World, sw_if: SwIfIndex) {
        let first = world.get::<Addresses<Ip4>>().own(sw_if).first().map(|own| own.addr());
        let wanted = first.filter(|_| self.followed.contains(&sw_if));
        let old = self.pool.iter().find(|there| there.of == Some(sw_if)).map(|there| there.addr);
        if old != wanted {
            if let Some(old) = old {
                let _ = self.remove_address(world, old);
            }
            if let Some(addr) = wanted {
                // An address that was given by itself stays as it is.
                let _ = self.add_address(world, Address { addr, vrf: None, of: Some(sw_if) });
            }
        }
        self.resolve(world, sw_if, first);
    }

    pub(super) fn unfollow(&mut self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let Some(at) = self.followed.iter().position(|there| *there == sw_if) else {
            let name = world.get::<Interfaces>().name(sw_if);
            let why = format!("the address of {name} isn't in the pool");
            return Err(error(retval::NO_SUCH_ENTRY, why));
        };
        self.followed.remove(at);
        let old = self.pool.iter().find(|there| there.of == Some(sw_if)).map(|there| there.addr);
        old.map_or(Ok(()), |old| self.remove_address(world, old))
    }
}
