// SPDX-License-Identifier: Apache-2.0
//! The pool of addresses.

use super::{Control, State, error, source, walks};
use crate::settings::Claims;
use cli::{Result, retval};
use graph::{SwIfIndex, World};
use nat::ranges::expand;
use net::{Addresses, Interfaces};
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::Ip4;

/// An address of the pool.
#[derive(Clone)]
pub struct Address {
    /// The address.
    pub addr: Ipv4Addr,
    /// Id of the table whose users get it; `None` for all.
    pub vrf: Option<u32>,
    /// The interface whose first address it is.
    pub of: Option<SwIfIndex>,
    /// See [`Claims`].
    pub claims: Arc<Claims>,
}

impl Control {
    /// Adds a range of addresses to the pool, or removes it with all that was translated to it.
    ///
    /// # Errors
    /// The feature is disabled (−126); a range that ends before it begins, or is too long (−7); an
    /// address that is there (−81), or not (−6).
    pub fn set_range(
        &self,
        world: &World,
        (first, last): (Ipv4Addr, Ipv4Addr),
        vrf: Option<u32>,
        add: bool,
    ) -> Result<()> {
        self.enabled(world, |state| {
            for addr in expand(first, last)? {
                match add {
                    true => state.add_address(world, addr, vrf, None)?,
                    false => state.remove_address(world, addr)?,
                }
            }
            Ok(())
        })
    }

    /// Keeps the first address of an interface in the pool, or no longer.
    ///
    /// # Errors
    /// The feature is disabled (−126); no such interface (−2); it is there (−81), or not (−6).
    pub fn set_followed(&self, world: &World, sw_if: SwIfIndex, add: bool) -> Result<()> {
        self.enabled(world, |state| {
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

/// Ends the bindings to these addresses, but those of an operator, in one walk.
pub(super) fn end_bindings_of(world: &World, mut addresses: Vec<Ipv4Addr>) {
    if addresses.is_empty() {
        return;
    }
    addresses.sort_unstable();
    walks::purge(world, move |keys, binding| {
        !binding.fixed && addresses.binary_search(&keys[1].end().addr).is_ok()
    });
}

impl State {
    /// The position of an address in the pool, or the one that it would have.
    fn position(&self, addr: Ipv4Addr) -> std::result::Result<usize, usize> {
        self.pool.binary_search_by_key(&addr, |there| there.addr)
    }

    fn add_address(
        &mut self,
        world: &World,
        addr: Ipv4Addr,
        vrf: Option<u32>,
        of: Option<SwIfIndex>,
    ) -> Result<()> {
        let Err(at) = self.position(addr) else {
            return Err(error(retval::VALUE_EXIST, format!("{addr} is in the pool already")));
        };
        if let Some(vrf) = vrf {
            self.hold_table(world, vrf)?;
        }
        self.pool.insert(at, Address { addr, vrf, of, claims: Arc::default() });
        self.exposed.expose((world, source(world)), addr);
        Ok(())
    }

    /// Removes an address. The bindings to it end; an operator's stay.
    fn remove_address(&mut self, world: &World, addr: Ipv4Addr) -> Result<()> {
        let Ok(at) = self.position(addr) else {
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

    /// Puts the present first address of an interface into the pool, if the pool follows it.
    pub(super) fn follow_addresses(&mut self, world: &World, sw_if: SwIfIndex) {
        let first = world.get::<Addresses<Ip4>>().own(sw_if).first().map(|own| own.addr());
        let wanted = first.filter(|_| self.followed.contains(&sw_if));
        let old = self.followed_address(sw_if);
        if old == wanted {
            return;
        }
        if let Some(old) = old {
            let _ = self.remove_address(world, old);
        }
        if let Some(addr) = wanted {
            // An address that was given by itself stays as it is.
            let _ = self.add_address(world, addr, None, Some(sw_if));
        }
    }

    fn followed_address(&self, sw_if: SwIfIndex) -> Option<Ipv4Addr> {
        self.pool.iter().find(|there| there.of == Some(sw_if)).map(|there| there.addr)
    }

    pub(super) fn unfollow(&mut self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let Some(at) = self.followed.iter().position(|there| *there == sw_if) else {
            let name = world.get::<Interfaces>().name(sw_if);
            let why = format!("the address of {name} isn't in the pool");
            return Err(error(retval::NO_SUCH_ENTRY, why));
        };
        self.followed.remove(at);
        let old = self.followed_address(sw_if);
        old.map_or(Ok(()), |old| self.remove_address(world, old))
    }
}
