// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::control::Policies;
use cli::quote;
use fib::paths;
use graph::{Phase, RunningConfig, Script, World};
use net::{Interfaces, Link, TableIndex};
use wire::{Ip4, Ip6};

/// Policies, which need tables, ACLs and interfaces.
pub const PHASE: Phase = Phase { name: "policies", after: &["acls"], before: &["features"] };

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "ACL-based forwarding",
    "create loopback interface
     create loopback interface
     set interface ip address loop1 10.0.1.1/24
     ip table add 7
     set acl-plugin acl permit src 10.0.0.0/8 dst 10.1.0.0/16 proto 17 dport 53
     set acl-plugin acl permit src 2001:db8::/32 dst ::/0
     abf policy add id 7 acl 0 via 10.0.1.2 loop1
     abf policy add id 7 acl 0 via 10.0.1.3 next-hop-table 7 weight 2
     abf policy id 8 acl 1 via 2001:db8::2 loop1
     abf policy add id 9 acl 0 via drop
     abf policy del id 7 acl 0 via 10.0.1.2 loop1
     abf attach ip4 policy 7 priority 20 loop0
     abf attach ip4 policy 9 priority 10 loop0
     abf attach ip6 policy 8 loop0
     abf attach ip4 del policy 9 loop0
     abf policy del id 9 acl 0",
)];

/// Writes a line for each policy and each attachment.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let (interfaces, ids) = (world.get::<Interfaces>(), paths::Ids::new(world));
    config.list(PHASE, world.get::<Policies>().list(), move |_, (number, policy), lines| {
        let table = TableIndex::DEFAULT;
        let words = |path| match policy.link == Link::IP6 {
            true => paths::words::<Ip6>(&interfaces, &ids, table, path),
            false => paths::words::<Ip4>(&interfaces, &ids, table, path),
        };
        let words = policy.paths.iter().map(words).collect::<Vec<_>>().join(" ");
        let version = if policy.link == Link::IP6 { "ip6" } else { "ip4" };
        let of = format!("id {number} acl {}", policy.acl);
        lines
            .push(format!("abf policy add {of} {version} {words}"), format!("abf policy del {of}"));
    });
    let attached = world.get::<Policies>().attachments();
    config.list(Phase::FEATURES, attached, |world, (sw_if, v6, at), lines| {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        let version = if v6 { "ip6" } else { "ip4" };
        let of = format!("policy {}", at.policy);
        lines.push(
            format!("abf attach {version} {of} priority {} {name}", at.priority),
            format!("abf attach {version} del {of} {name}"),
        );
    });
}
