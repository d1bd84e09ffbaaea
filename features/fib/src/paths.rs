// SPDX-License-Identifier: Apache-2.0
//! Paths in commands: for `ip route`, and for features that have paths of their own.

pub use crate::cli::fib::path_text as describe;
pub use crate::cli::route::path as read;
pub use crate::config::{Ids, via as words};
use cli::{Matches, Result};
use graph::World;
use net::{Path, TableIndex};
use std::net::IpAddr;
use wire::{Ip4, Ip6};

/// Returns true if the paths of a command are of IPv6: by its word `ip4` or `ip6`, else by a path.
pub fn are_v6(m: &Matches) -> bool {
    let is_v6 = |path: Matches| {
        let nexthop = path.get::<IpAddr>("nexthop").is_some_and(|nexthop| nexthop.is_ipv6());
        nexthop || path.flag("rx-ip6") || path.has("lookup6") || path.has("source-lookup6")
    };
    m.flag("ip6") || !m.flag("ip4") && m.groups("via").any(is_v6)
}

/// Reads all paths of a command, in the default table.
///
/// # Errors
/// If a path names an interface or a table that doesn't exist.
pub fn read_all(w: &World, m: &Matches, v6: bool) -> Result<Vec<Path>> {
    let one = |path: Matches| match v6 {
        true => read::<Ip6>(w, &path, TableIndex::DEFAULT),
        false => read::<Ip4>(w, &path, TableIndex::DEFAULT),
    };
    m.groups("via").map(one).collect()
}

/// The usage of a path in a command; [`read`] takes what stands there.
#[macro_export]
macro_rules! path_usage {
    () => {
        "via ([{<nexthop:ip> [next-hop-table <nexthop-table:u32>] | local [<local-address:ip> <local-interface:interface>] \
         | drop | blackhole | null | punt | unreach | icmp-unreach | null-send-unreach | prohibit | icmp-prohibit | null-send-prohibit \
         | ip4-lookup-in-table <lookup4:u32> | ip6-lookup-in-table <lookup6:u32> | lookup in table <lookup-index:u32> \
         | ip4-source-lookup-in-table <source-lookup:u32> | ip6-source-lookup-in-table <source-lookup6:u32> \
         | {rx-ip4|rx-ip6} <rx-interface:interface> | udp-encap <encap:u32> | classify <classify:u32> \
         | dvr <dvr-interface:interface>}] [src-lookup] [dvr] [weight <weight:1-255>] [preference <preference:u8>] \
         [resolve-via-host|resolve-via-attached|resolve-via-connected] [<interface:interface>])"
    };
}
