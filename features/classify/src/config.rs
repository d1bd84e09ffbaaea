// SPDX-License-Identifier: Apache-2.0
//! The saved configuration: tables, what is asked behind them, sessions, and where tables decide.

use crate::state::Classifier;
use crate::table::{Action, GO_ON, Session};
use crate::words::to_hex;
use graph::{NodeIndex, Phase, RunningConfig, Script, World};
use net::Interfaces;
use std::collections::BTreeSet;

/// Tables and sessions, which routes may lead to.
pub const PHASE: Phase = Phase { name: "classifier", after: &["neighbors"], before: &["routes"] };

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[
    Script::here(
        "classifier tables and sessions",
        "classify table mask l3 ip4 src dst proto buckets 30 acl-miss-next deny
         classify table mask l2 src dst tag1 l3 ip6 dst l4 src_port current-data-flag 1 current-data-offset -14
         classify table mask hex 00000000000000000000000000000000ff skip 1 match 2 next-table 0 miss-next 7
         classify table mask hex ff skip 0 match 5 memory-size 64M table 9
         classify table table 9 next-table 2
         classify table mask l3 ip4 src l4 dst_port miss-next node ip4-drop
         classify table mask l2 proto
         classify table table 4 del
         classify session table-index 0 match l3 ip4 src 10.0.0.1 dst 10.0.0.2 proto udp acl-hit-next permit
         classify session table-index 0 match l3 ip4 src 10.0.0.1 dst 10.0.0.2 proto 6 acl-hit-next deny opaque-index 7 advance 14
         classify session table-index 0 match l3 ip4 src 10.0.0.2 dst 10.0.0.2 proto tcp action set-ip4-fib-id 7
         classify session table-index 0 match l3 ip4 src 10.0.0.3 dst 10.0.0.2 proto tcp action set-ip6-fib-id 7 advance -14
         classify session table-index 0 match l3 ip4 src 10.0.0.4 dst 10.0.0.2 proto tcp action set-sr-policy-index 3
         classify session table-index 0 match l3 ip4 src 10.0.0.4 dst 10.0.0.2 proto tcp del
         classify session table-index 1 match l2 src 02:00:00:00:00:01 dst 02:00:00:00:00:02 tag1 5 l3 ip6 dst 2001:db8::1 l4 src_port 53 hit-next local
         classify session table-index 9 match hex 05 acl-hit-next node ip4-icmp-error",
    ),
    Script::here(
        "ACLs and classification of interfaces",
        "create loopback interface
         create loopback interface
         classify table mask l3 ip4 src
         classify table mask l3 ip6 src
         classify table mask l2 src
         set interface ip address loop0 10.0.0.1/24
         set interface input acl intfc loop0 ip4-table 0 ip6-table 1
         set interface input acl intfc loop1 l2-table 2
         set interface input acl intfc local0 ip4-punt-table 0
         set interface input acl intfc loop0 ip6-punt-table 1
         set interface output acl intfc loop0 ip4-table 0 ip6-table 1 l2-table 2
         set interface output acl intfc loop0 l2-table 2 del
         set interface l2 input classify intfc loop1 ip4-table 0 ip6-table 1 other-table 2
         set interface l2 output classify intfc loop1 other-table 2
         set interface l2 output classify intfc loop0 ip4-table 0
         set interface l2 output classify intfc loop0
         set ip classify intfc loop0 table-index 0
         set ip6 classify intfc loop0 table-index 1
         set ip6 classify intfc loop1 table-index 1
         set ip6 classify intfc loop1 table-index none",
    ),
    Script::here(
        "routes to classifier tables",
        "classify table mask l3 ip4 src
         classify table mask l3 ip6 src
         ip route add 10.9.0.0/16 via classify 0
         ip route add 2001:db8:9::/48 via classify 1 preference 3",
    ),
];

/// The number of a next node, as words of a command.
fn next(world: &World, number: u16, kind: &str) -> String {
    if number == GO_ON {
        return String::new();
    }
    match world.get::<Classifier>().links.hook(number) {
        // Nodes may have other indices the next time.
        Some(hook) => {
            format!(" {}{kind} node {}", hook.word(), world.node_name(NodeIndex(number.into())))
        }
        None => format!(" {kind} {number}"),
    }
}

/// The part of a line that tells a session from others.
fn session_words(table: u32, skipped: usize, key: &[u8]) -> String {
    format!(
        "classify session table-index {table} match hex {}{}",
        "00".repeat(skipped),
        to_hex(key)
    )
}

fn session(world: &World, words: &str, session: &Session) -> String {
    let Session { next: number, opaque, advance, action } = session;
    let mut line = words.to_string() + &next(world, *number, "hit-next");
    if *opaque != u32::MAX {
        line += &format!(" opaque-index {opaque}");
    }
    if *advance != 0 {
        line += &format!(" advance {advance}");
    }
    match action {
        Action::None => {}
        Action::Fib { v6, id, .. } => {
            line += &format!(" action set-ip{}-fib-id {id}", if *v6 { 6 } else { 4 })
        }
        Action::Metadata(n) => line += &format!(" action set-sr-policy-index {n}"),
        // Saved with its paths.
        Action::Redirect(_) => {}
    }
    line
}

/// The tables that are saved: those that weren't made for filters of traces and captures, those
/// that interfaces use, and all that is asked behind them.
fn saved(classifier: &Classifier) -> Vec<u32> {
    let own = classifier.list().into_iter().filter(|info| !info.of_filter).map(|info| info.index);
    let acls = classifier.acls().into_iter().map(|(_, table)| table);
    let switched = classifier.l2_tables().into_iter().flat_map(|(_, tables)| tables).flatten();
    let routed = classifier.routed().into_iter().map(|(_, table)| table);
    let used = own.chain(acls).chain(switched).chain(routed);
    let all: BTreeSet<u32> = used.flat_map(|first| classifier.chain(first)).collect();
    all.into_iter().collect()
}

/// Writes all but filters of traces and captures.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let classifier = world.get::<Classifier>();
    let own = saved(&classifier);
    config.list(PHASE, own.clone(), |world, index, lines| {
        let Ok(info) = world.get::<Classifier>().table(index) else { return };
        let table = &info.table;
        let mut line =
            format!("classify table table {index} mask hex {}", "00".repeat(table.skipped()));
        line += &format!("{} skip {} match {}", to_hex(&info.mask()), table.skip, table.vectors);
        line += &format!(" buckets {}{}", info.buckets, next(world, table.miss, "miss-next"));
        if let Some(offset) = table.offset {
            line += &format!(" current-data-flag 1 current-data-offset {offset}");
        }
        lines.push(line, format!("classify table table {index} del"));
    });
    // Behind all tables: a table may be asked behind one with a lower index.
    config.list(PHASE, own.clone(), |world, index, lines| {
        let Ok(info) = world.get::<Classifier>().table(index) else { return };
        if let Some(next) = info.table.next {
            let line = format!("classify table table {index}");
            lines.push(format!("{line} next-table {next}"), line);
        }
    });
    let sessions = own.into_iter().flat_map(move |index| {
        let bound = classifier.table(index).map_or(0, |info| info.table.sessions.bound());
        (0..bound).map(move |at| (index, at))
    });
    config.list(PHASE, sessions, |world, (index, at), lines| {
        let classifier = world.get::<Classifier>();
        let Some((entry, info)) = classifier.session(index, at).zip(classifier.table(index).ok())
        else {
            return;
        };
        if let Action::Redirect(_) = entry.value.action {
            return;
        }
        let words =
            session_words(index, info.table.skipped(), &entry.key.bytes(info.table.vectors));
        lines.push(session(world, &words, &entry.value), format!("{words} del"));
    });
    let classifier = world.get::<Classifier>();
    let acls = classifier.acls();
    config.list(Phase::FEATURES, acls, |world, ((direction, sw_if, layer), table), lines| {
        let name = world.get::<Interfaces>().word(sw_if);
        let line = format!("set interface {} acl intfc {name}", direction.word());
        lines.until(format!("{line} {} {table}", layer.word()), "del");
    });
    let switched = classifier.l2_tables();
    config.list(Phase::FEATURES, switched, |world, ((direction, sw_if), tables), lines| {
        let (direction, name) = (direction.word(), world.get::<Interfaces>().word(sw_if));
        let undo = format!("set interface l2 {direction} classify intfc {name}");
        let words = ["ip4-table", "ip6-table", "other-table"].into_iter().zip(tables);
        let words = words.filter_map(|(word, table)| table.map(|table| format!(" {word} {table}")));
        lines.push(undo.clone() + &words.collect::<String>(), undo);
    });
    config.list(Phase::FEATURES, classifier.routed(), |world, ((sw_if, v6), table), lines| {
        let (ip, name) = (if v6 { "ip6" } else { "ip" }, world.get::<Interfaces>().word(sw_if));
        lines.value(&format!("set {ip} classify intfc {name} table-index"), table, "none");
    });
}
