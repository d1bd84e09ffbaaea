// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::cli::{table_id, to_hex};
use crate::control::{CrossConnect, Rewrite, Rewrites};
use cli::quote;
use graph::{RunningConfig, Script, World};
use net::Interfaces;
use std::collections::BTreeMap;

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "cross-connects with rewrite",
    "create loopback interface
     create loopback interface
     create loopback interface
     create loopback interface
     ip table add 7
     ip6 table add 8
     set interface l2 xcrw loop1 next ip4-lookup tx-fib-id 7 rw 4500001400000000
     set interface l2 xcrw loop2 next ip6-lookup tx-fib-id 8 ipv6 rw 60
     set interface l2 xcrw loop3 next loop1-output rw 0102 instance 9
     set interface l2 xcrw loop0 next ip4-lookup rw 4500
     set interface l2 xcrw loop0 del
     set interface l2 xcrw loop1 next ip4-lookup tx-fib-id 7 rw 45000015
     set interface state xcrw9 down
     set interface name loop1 inside",
)];

/// Writes the cross-connects as lines that make their interfaces.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let all = world.get::<Rewrites>().list();
    let by_sink: BTreeMap<_, _> =
        all.into_iter().map(|(from, one)| (one.sink, (from, one))).collect();
    let sinks: Vec<_> = by_sink.keys().copied().collect();
    config.interfaces(sinks, move |world, sink, lines| {
        let Some((from, one)) = by_sink.get(&sink) else { return };
        let Ok(interface) = world.get::<Interfaces>().get(*from) else { return };
        let CrossConnect { instance, rewrite: Rewrite { bytes, next, table }, .. } = one;
        let of = format!("set interface l2 xcrw {}", quote(&interface.original.name));
        let mut line = format!("{of} next {}", quote(&next.made_name(world)));
        if let Some(table) = table {
            let Some(id) = table_id(world, *table) else { return };
            line += &format!(" tx-fib-id {id}{}", if table.is_ip6 { " ipv6" } else { "" });
        }
        line += &format!(" rw {} instance {instance}", to_hex(bytes));
        lines.push(line, format!("{of} del"));
    });
}
