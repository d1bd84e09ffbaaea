// SPDX-License-Identifier: Apache-2.0
//! Paths in commands: for `ip route`, and for features that have paths of their own.

pub use crate::cli::fib::path_text as describe;
pub use crate::cli::route::path as read;
pub use crate::config::{Ids, via as words};

/// The usage of a path in a command; [`read`] takes what stands there.
#[macro_export]
macro_rules! path_usage {
    () => {
        "via {<nexthop:ip> [<interface:interface>] [next-hop-table <nexthop-table:u32>] \
         | ip4-lookup-in-table <lookup:u32> | ip6-lookup-in-table <lookup6:u32> \
         | ip4-source-lookup-in-table <source-lookup:u32> | ip6-source-lookup-in-table <source-lookup6:u32> \
         | drop | blackhole | punt | local | unreach | icmp-unreach | prohibit | icmp-prohibit \
         | {rx-ip4|rx-ip6} <rx-interface:interface> | udp-encap <encap:u32> \
         | dvr <dvr-interface:interface> | <interface:interface> [dvr]} \
         [weight <weight:1-255>] [preference <preference:u8>] [resolve-via-host|resolve-via-attached]"
    };
}
