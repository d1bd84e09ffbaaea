// SPDX-License-Identifier: Apache-2.0
//! The settings in a server's answer: lease times, prefix, routes (RFC 2132, RFC 3442).

use super::message::{Message, code};
use crate::lifetime::INFINITE;
use std::net::Ipv4Addr;
use wire::{Ip4Prefix, Prefix};

/// Routes of one lease at most, and name servers: more are ignored.
const MOST: usize = 64;

/// An address that a server grants, and the settings that go with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The address, with the length of its network.
    pub address: Ip4Prefix,
    /// The server that extends the lease.
    pub server: Option<Ipv4Addr>,
    /// The default router of option 3; used if there are no classless routes.
    pub router: Option<Ipv4Addr>,
    /// Routes and their routers; an unspecified router for a network on the link.
    pub routes: Vec<(Ip4Prefix, Ipv4Addr)>,
    /// Name servers.
    pub domain_servers: Vec<Ipv4Addr>,
    /// Seconds of the lease; [`INFINITE`] for ever.
    pub lease: u32,
    /// Seconds until it is renewed.
    pub renew: u32,
    /// Seconds until any server may renew it.
    pub rebind: u32,
}

impl Grant {
    /// Reads an acknowledgement; `None` without a usable address or a lease time, which every
    /// acknowledgement of a request has (RFC 2131 table 3).
    pub fn read(message: Message<'_>) -> Option<Self> {
        let addr = message.yiaddr();
        if !is_host(addr) {
            return None;
        }
        let lease = message.option_number(code::LEASE_TIME)?;
        if lease == 0 {
            return None;
        }
        let mask = message.option_address(code::SUBNET_MASK).and_then(prefix_len);
        let address = Prefix::new(addr, mask.unwrap_or_else(|| class(addr)))?;
        let (renew, rebind) = times(message, lease);
        let router = message.option_address(code::ROUTER).filter(|router| is_host(*router));
        let routes = match classless(&message.joined(code::CLASSLESS_ROUTES)) {
            // Then the routers of option 3 must be ignored (RFC 3442).
            Some(routes) if !routes.is_empty() => routes,
            _ => router.map(|router| (Prefix::DEFAULT, router)).into_iter().collect(),
        };
        let servers = message.joined(code::DOMAIN_SERVERS);
        let servers = servers.chunks_exact(4).filter_map(|s| s.first_chunk::<4>());
        Some(Self {
            address,
            server: message.option_address(code::SERVER_ID).filter(|server| is_host(*server)),
            router,
            routes,
            domain_servers: servers.take(MOST).map(|octets| (*octets).into()).collect(),
            lease,
            renew,
            rebind,
        })
    }
}

/// True for an address that one host can have.
pub fn is_host(addr: Ipv4Addr) -> bool {
    let [first, ..] = addr.octets();
    !matches!(first, 0 | 127 | 224..)
}

/// T1 and T2 in seconds: those of the server, if they are in order, else half and seven eighths of
/// the lease (RFC 2131 4.4.5).
fn times(message: Message<'_>, lease: u32) -> (u32, u32) {
    if lease == INFINITE {
        return (INFINITE, INFINITE);
    }
    // A time of 0 isn't one: every acknowledgement would cause a request at once.
    let given = |code, most| message.option_number(code).filter(|time| (1..=most).contains(time));
    let rebind = given(code::REBINDING_TIME, lease).unwrap_or(lease - lease / 8);
    let renew = given(code::RENEWAL_TIME, rebind);
    // A lease isn't renewed in the second in which it begins.
    (renew.unwrap_or((lease / 2).clamp(1, rebind)), rebind)
}

/// Length of a prefix from its mask; `None` for a mask with gaps or of no bit.
fn prefix_len(mask: Ipv4Addr) -> Option<u8> {
    let bits = mask.to_bits();
    (bits != 0 && bits.leading_ones() + bits.trailing_zeros() == 32)
        .then_some(bits.leading_ones() as u8)
}

/// Length of a network without a mask: that of its class.
fn class(addr: Ipv4Addr) -> u8 {
    match addr.octets()[0] {
        ..128 => 8,
        128..192 => 16,
        _ => 24,
    }
}

/// Routes of option 121; `None` if it isn't well-formed. A route of no host's router is left out.
fn classless(mut bytes: &[u8]) -> Option<Vec<(Ip4Prefix, Ipv4Addr)>> {
    let mut routes = Vec::new();
    while let Some((&len, rest)) = bytes.split_first() {
        // Only significant octets of the network are there.
        let width = usize::from(len.div_ceil(8));
        if len > 32 {
            return None;
        }
        let (network, rest) = rest.split_at_checked(width)?;
        let (router, rest) = rest.split_first_chunk::<4>()?;
        let mut octets = [0; 4];
        octets[..width].copy_from_slice(network);
        let (prefix, router) = (Prefix::new(octets.into(), len)?.network(), (*router).into());
        let usable = Ipv4Addr::is_unspecified(&router) || is_host(router);
        if usable && routes.len() < MOST {
            routes.push((prefix, router));
        }
        bytes = rest;
    }
    Some(routes)
}
