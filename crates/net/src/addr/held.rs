// SPDX-License-Identifier: Apache-2.0
//! Configured or learned addresses that an interface must not use: tentative ones and duplicates
//! (RFC 4862 5.4).

use super::{Addresses, InterfaceAddresses, is_nominal};
use crate::AdjIndex;
use crate::fib::{Fib, Net, Path, PathKind, Source, TableIndex};
use graph::{SwIfIndex, World};
use std::net::IpAddr;
use wire::{Address, Prefix};

/// The reason why an address is held back: no packet is sent from it, and none is delivered to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HoldReason {
    /// Another node may have it: packets to it are dropped.
    Tentative,
    /// Another node has it: packets to it are sent to that node.
    Duplicate,
}

/// Updates the host route of an interface's address.
pub(crate) fn route<F: Net>(
    (fib, world): (&Fib<F>, &World),
    (table, sw_if, address): (TableIndex, SwIfIndex, F::Addr),
    hold: Option<HoldReason>,
) {
    let host = Prefix::host(address);
    // The route being gone already is the wanted result; only a full table refuses.
    let _ = match kind(sw_if, address, hold) {
        Some(kind) => fib.set(world, table, host, Source::Interface, &[Path::new(kind)]).map(drop),
        None => fib.remove(world, table, host, Source::Interface, &[]),
    };
}

/// The path of the host route for an interface's own address; `None` for an address that gets no
/// route.
pub(super) fn kind(
    sw_if: SwIfIndex,
    address: impl Into<IpAddr>,
    hold: Option<HoldReason>,
) -> Option<PathKind> {
    match hold {
        None => Some(PathKind::Receive { sw_if, address: address.into() }),
        Some(HoldReason::Tentative) => Some(PathKind::Fixed(AdjIndex::DROP)),
        Some(HoldReason::Duplicate) => None,
    }
}

impl<A: Address> InterfaceAddresses<A> {
    /// The addresses that may be used.
    pub(super) fn usable(&self) -> Vec<Prefix<A>> {
        let held = |p: &Prefix<A>| self.held.iter().any(|(address, _)| *address == p.addr());
        self.addresses.iter().copied().filter(|p| !held(p) && !is_nominal(p.addr())).collect()
    }
}

impl<F: Net> Addresses<F> {
    /// The addresses that an interface may use, its own and then borrowed ones.
    pub fn usable(&self, sw_if: SwIfIndex) -> Vec<Prefix<F::Addr>> {
        let (lender, all) = (self.unnumbered(sw_if), self.all());
        let given = [Some(sw_if), lender].into_iter().flatten().filter_map(|sw_if| all.get(&sw_if));
        given.flat_map(InterfaceAddresses::usable).collect()
    }

    /// Sets which of an interface's addresses are held back; it may use all others.
    pub fn hold_back(&self, world: &World, sw_if: SwIfIndex, held: &[(F::Addr, HoldReason)]) {
        {
            let mut all = self.all();
            let Some(here) = all.get_mut(&sw_if) else { return };
            let given =
                |address| here.addresses.iter().any(|p: &Prefix<F::Addr>| p.addr() == address);
            let new: Vec<_> = held.iter().copied().filter(|(address, _)| given(*address)).collect();
            if here.held == new {
                return;
            }
            here.held = new;
        }
        self.publish(sw_if);
        // Only a full table refuses.
        let _ = self.sync_routes(world, sw_if);
    }
}
