// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use super::cli::path_words;
use super::control::Redirects;
use crate::words::to_hex;
use graph::{Phase, RunningConfig, Script, World};

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "session redirects",
    "create loopback interface
     set interface ip address loop0 10.0.0.1/24
     classify table mask l3 ip4 dst
     classify table mask l3 ip6 dst
     ip session redirect add table 0 match l3 ip4 dst 10.9.9.1 via 10.0.0.2 loop0
     ip session redirect table 0 match l3 ip4 dst 10.9.9.2 opaque-index 7 via 10.0.0.2 weight 2 via 10.0.0.3
     ip session redirect punt table 0 match l3 ip4 dst 10.9.9.3 via drop
     ip session redirect ip6 table 1 match l3 ip6 dst 2001:db8::1 via 2001:db8:1::2 loop0
     ip session redirect add table 0 match l3 ip4 dst 10.9.9.4 via 2001:db8:1::2 loop0
     ip session redirect del table 0 match l3 ip4 dst 10.9.9.1",
)];

/// Writes a line for each redirect.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Redirects>().list(), |world, item, lines| {
        let (table, redirect) = item;
        let kind = if redirect.is_punt { " punt" } else { "" };
        let version = if redirect.v6 { "ip6" } else { "ip4" };
        let of = format!("table {table} match hex {}", to_hex(&redirect.matched));
        let opaque = match redirect.opaque {
            u32::MAX => String::new(),
            opaque => format!(" opaque-index {opaque}"),
        };
        let paths = path_words(world, &redirect).join(" ");
        lines.push(
            format!("ip session redirect add{kind} {version} {of}{opaque} {paths}"),
            format!("ip session redirect del {of}"),
        );
    });
}
