// SPDX-License-Identifier: Apache-2.0
//! The entries.

use cli::{Error, Result};
use graph::{Deleted, Shared, SwIfIndex, World};
use msg::retval;
use net::{Fib, Interfaces};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use wire::{Ip4, Ip6};

/// Where a peer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Its address in the underlay.
    pub nexthop: IpAddr,
    /// The table, by its id, that packets to it are routed in.
    pub table: u32,
}

type Entries = BTreeMap<(SwIfIndex, IpAddr), Endpoint>;

/// The peers of all interfaces.
#[derive(Default)]
pub struct Teib(Mutex<Entries>);

impl Shared for Teib {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.entries().retain(|(i, _), _| i != sw_if);
        }
    }
}

impl Teib {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().expect("no panic inside")
    }

    /// Says where a peer is.
    ///
    /// # Errors
    /// What isn't there (interface −2, table −3); addresses that are none of one host (−7); a peer that is known (−81).
    pub fn add(&self, world: &World, sw_if: SwIfIndex, peer: IpAddr, to: Endpoint) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        for address in [peer, to.nexthop] {
            if address.is_multicast() || address.is_unspecified() {
                let why = format!("{address} is no address of one host");
                return Err(Error::parse(why).retval(retval::INVALID_VALUE));
            }
        }
        if to.nexthop.is_ipv6() {
            world.get::<Fib<Ip6>>().find_table(to.table)?;
        } else {
            world.get::<Fib<Ip4>>().find_table(to.table)?;
        }
        let mut entries = self.entries();
        if entries.contains_key(&(sw_if, peer)) {
            let name = world.get::<Interfaces>().name(sw_if);
            return Err(Error::failed(format!("{peer} on {name} is known already: delete it first"))
                .retval(retval::VALUE_EXIST));
        }
        entries.insert((sw_if, peer), to);
        Ok(())
    }

    /// Forgets where a peer is.
    ///
    /// # Errors
    /// An interface that isn't there (−2); a peer that isn't known (−6).
    pub fn remove(&self, world: &World, sw_if: SwIfIndex, peer: IpAddr) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        match self.entries().remove(&(sw_if, peer)) {
            Some(_) => Ok(()),
            None => {
                let name = world.get::<Interfaces>().name(sw_if);
                Err(Error::not_found(format!("{peer} on {name} isn't known")).retval(retval::NO_SUCH_ENTRY))
            }
        }
    }

    /// Where a peer is.
    pub fn find(&self, sw_if: SwIfIndex, peer: IpAddr) -> Option<Endpoint> {
        self.entries().get(&(sw_if, peer)).copied()
    }

    /// All peers.
    pub fn list(&self) -> Vec<(SwIfIndex, IpAddr, Endpoint)> {
        self.entries().iter().map(|((sw_if, peer), to)| (*sw_if, *peer, *to)).collect()
    }
}
