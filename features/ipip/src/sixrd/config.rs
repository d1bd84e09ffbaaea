// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use super::state::{self, COPY_TOS};
use super::{SixRd, SixRds};
use graph::{RunningConfig, Script, World};
use net::Interfaces;

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLE: Script = Script::here(
    "6RD tunnels",
    "ip table add 7
     ip6 table add 7
     create 6rd tunnel ip6-pfx 2001:db8::/32 ip4-pfx 10.0.0.0/8 ip4-src 10.0.0.1 security-check
     create 6rd tunnel ip6-pfx 2002::/16 ip4-pfx 0.0.0.0/0 ip4-src 192.0.2.1 ip4-table-id 7 ip6-table-id 7 tos 8
     create 6rd tunnel ip6-pfx 2001:db9::/32 ip4-pfx 10.0.0.0/8 ip4-src 10.0.0.2 copy-tos instance 11
     create 6rd tunnel ip6-pfx 2001:dba::/32 ip4-pfx 10.0.0.0/8 ip4-src 10.0.0.3 instance 5
     delete 6rd tunnel ip6ip-6rd5
     ip route add 2001:dbb::/32 via 2001:db9:1::1",
);

/// Writes a line for each tunnel. The table of an interface has a line of its own.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Interfaces>().indices(), |world, sw_if, lines| {
        let Some(tunnel) = world.get::<SixRds>().get(sw_if) else { return };
        let SixRd { domain, local, table4, table6, security_check, tos } = tunnel.config;
        let mut line = format!(
            "create 6rd tunnel ip6-pfx {} ip4-pfx {} ip4-src {local}",
            domain.ip6, domain.ip4
        );
        if table4 != 0 {
            line += &format!(" ip4-table-id {table4}");
        }
        if table6 != 0 {
            line += &format!(" ip6-table-id {table6}");
        }
        if security_check {
            line += " security-check";
        }
        match tos {
            0 => {}
            COPY_TOS => line += " copy-tos",
            tos => line += &format!(" tos {tos}"),
        }
        let name = state::name(tunnel.instance);
        lines.push(
            format!("{line} instance {}", tunnel.instance),
            format!("delete 6rd tunnel {name}"),
        );
    });
}
