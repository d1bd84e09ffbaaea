// SPDX-License-Identifier: Apache-2.0
//! Selection of our source address for errors and replies.

use crate::rules;
use crate::version::Icmp;
use graph::World;
use net::{Addresses, Interfaces, LinkLocals};
use std::sync::Arc;
use sync::Turn;
use wire::Prefix;

/// The addresses of all interfaces, as a node reads them.
pub struct Sources<F: Icmp> {
    addresses: Arc<Addresses<F>>,
    links: Arc<LinkLocals>,
    interfaces: Arc<Interfaces>,
}

impl<F: Icmp> Sources<F> {
    pub fn new(world: &World) -> Self {
        Self { addresses: world.get(), links: world.get(), interfaces: world.get() }
    }

    /// Returns the addresses of an interface.
    #[inline(always)]
    pub fn own<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> &'t [Prefix<F::Addr>] {
        self.addresses.of(sw_if, turn)
    }

    /// Selects our source address towards `peer` on an interface. IPv6 links need only link-local
    /// addresses: then an address of another interface in the same FIB table, which is
    /// reachable from farther away (RFC 6724 5).
    #[inline(always)]
    pub fn to(&self, sw_if: u32, peer: F::Addr, turn: &Turn<'_>) -> Option<F::Addr> {
        let own = self.own(sw_if, turn);
        if !F::IS_V6 {
            return rules::source(own, None, peer);
        }
        let link = self.links.of(sw_if, turn).and_then(|link| F::of_ip(link.into()));
        if own.is_empty() && !wire::Address::link_local(peer) {
            return self.elsewhere(sw_if, turn).or(link);
        }
        rules::source(own, link, peer)
    }

    #[cold]
    fn elsewhere(&self, sw_if: u32, turn: &Turn<'_>) -> Option<F::Addr> {
        let views = self.interfaces.views(turn);
        let table = F::table_of(&views.get(sw_if as usize)?);
        let others = (0..).zip(views.iter()).filter(|(_, view)| F::table_of(view) == table);
        others.filter_map(|(i, _)| self.own(i, turn).first()).map(|p| p.addr()).next()
    }
}
