// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::cli::{table_id, to_hex};
use crate::control::{CrossConnect, Rewrite, Rewrites};
use cli::quote;
use graph::{Phase, RunningConfig, Script, World};
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
     create loopback interface
     set interface l2 xcrw loop0 next loop4-output rw 01
     create loopback interface
     set interface l2 xcrw loop5 next ip4-lookup rw 4500
     set interface l2 xcrw loop5 del
     set interface l2 xcrw loop1 next ip4-lookup tx-fib-id 7 rw 45000015
     set interface state xcrw9 down
     set interface name loop1 inside",
)];

/// Next node of a cross-connect whose line names the output of an interface that isn't made yet.
const NO_NEXT: &str = "error-drop";

/// Returns true if it sends by an interface that is made after its own: another line of the
/// configuration has that.
fn sends_later(one: &CrossConnect) -> bool {
    one.rewrite.next.output().is_some_and(|output| output > one.sink)
}

/// The line of a cross-connect, by the name of the interface that receives.
fn line(world: &World, from: &str, one: &CrossConnect, next: &str) -> String {
    let CrossConnect { instance, rewrite: Rewrite { bytes, table, .. }, .. } = one;
    let mut line = format!("set interface l2 xcrw {} next {}", quote(from), quote(next));
    if let Some(table) = table {
        // Cross-connects go with their tables.
        let id = table_id(world, *table).unwrap_or_default();
        line += &format!(" tx-fib-id {id}{}", if table.is_ip6 { " ipv6" } else { "" });
    }
    line + &format!(" rw {} instance {instance}", to_hex(bytes))
}

/// Writes the cross-connects as lines that make their interfaces.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let all = world.get::<Rewrites>().list();
    let by_sink: BTreeMap<_, _> =
        all.iter().map(|(from, one)| (one.sink, (*from, one.clone()))).collect();
    let sinks: Vec<_> = by_sink.keys().copied().collect();
    config.interfaces(sinks, move |world, sink, lines| {
        let Some((from, one)) = by_sink.get(&sink) else { return };
        let Ok(interface) = world.get::<Interfaces>().get(*from) else { return };
        let next =
            if sends_later(one) { NO_NEXT.into() } else { one.rewrite.next.made_name(world) };
        let name = &interface.original.name;
        let line = line(world, name, one, &next);
        lines.push(line, format!("set interface l2 xcrw {} del", quote(name)));
    });
    config.list(Phase::BINDINGS, all, |world, (from, one), lines| {
        if sends_later(&one) {
            let name = world.get::<Interfaces>().name(from);
            let next = one.rewrite.next.name(world);
            let [line, undo] = [&next, NO_NEXT].map(|next| line(world, &name, &one, next));
            lines.push(line, undo);
        }
    });
}
