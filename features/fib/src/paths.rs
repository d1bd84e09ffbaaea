// SPDX-License-Identifier: Apache-2.0
//! Paths in commands: for `ip route`, and for features that have paths of their own.

pub use crate::cli::fib::path_text as describe;
pub use crate::cli::route::path as read;
pub use crate::config::{Ids, via as words};

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
