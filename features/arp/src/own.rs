// SPDX-License-Identifier: Apache-2.0
//! Predicates on an interface's own addresses.

use std::net::Ipv4Addr;
use wire::Ip4Prefix;

/// Returns true for a host address in these networks: neither network nor broadcast address (RFC
/// 3021: a /31 has none).
#[inline(always)]
pub fn is_on_link(own: &[Ip4Prefix], ip: Ipv4Addr) -> bool {
    own.iter().any(|p| {
        let host = !p.mask().to_bits();
        p.contains(ip)
            && (p.len() >= 31 || !matches!(ip.to_bits() & host, h if h == 0 || h == host))
    })
}
