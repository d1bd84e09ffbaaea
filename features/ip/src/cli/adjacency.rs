// SPDX-License-Identifier: Apache-2.0
//! `show adj`, and how adjacencies are printed wherever they are.

use super::interface;
use cli::{Error, Matches, Output};
use graph::World;
use net::{AdjIndex, AdjInfo, AdjKind, Adjacencies, Interfaces, Link, NextHop, NextHops};
use serde_json::{Value, json};
use std::fmt::Write;

/// The name that operators know a kind by.
pub fn kind_name(kind: AdjKind) -> &'static str {
    match kind {
        AdjKind::Rewrite => "neighbor",
        AdjKind::Incomplete => "arp-incomplete",
        AdjKind::Glean => "glean",
        AdjKind::Receive => "receive",
        AdjKind::Punt => "punt",
        AdjKind::LoadBalance => "load-balance",
        AdjKind::Lookup => "lookup",
        AdjKind::NoRoute => "no-route",
        AdjKind::Drop => "drop",
        AdjKind::Martian => "martian",
        AdjKind::Unreach => "unreach",
        AdjKind::Prohibit => "prohibit",
        AdjKind::LinkLocal => "link-local",
        AdjKind::Multicast => "multicast",
        AdjKind::Feature => "feature",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether somebody says that the next hop is down.
fn is_down(w: &World, info: &AdjInfo) -> bool {
    let neighbor = matches!(info.adj.kind, AdjKind::Rewrite | AdjKind::Incomplete);
    let hop = info.sw_if().filter(|_| neighbor).map(|sw_if| NextHop { sw_if, ip: info.adj.nexthop() });
    hop.is_some_and(|hop| w.get::<NextHops>().is_down(hop))
}

/// One line, as packets of `link` see it: some adjacencies are everybody's.
pub fn describe(w: &World, info: &AdjInfo, link: Link) -> String {
    let adj = &info.adj;
    let proto = if link == Link::Ip4 { "ipv4" } else { "ipv6" };
    let name = || info.sw_if().map_or_else(String::new, |sw_if| w.get::<Interfaces>().name(sw_if));
    let (packets, bytes) = w.get::<Adjacencies>().counters.sum(adj.counter as usize);
    let to = format!("to:[{packets}:{bytes}]");
    let down = || if is_down(w, info) { " next-hop down" } else { "" };
    match adj.kind {
        AdjKind::Rewrite => format!(
            "{proto} via {} {}: mtu:{} next:{} {} {to}{}",
            adj.nexthop(),
            name(),
            adj.mtu,
            w.node_name(adj.output),
            hex(&adj.rewrite()),
            down()
        ),
        AdjKind::Multicast => {
            format!("{proto}-mcast: {}: mtu:{} {} {to}", name(), adj.mtu, hex(&adj.rewrite()))
        }
        AdjKind::Incomplete => {
            format!("arp-{proto}: via {} {} {to}{}", adj.nexthop(), name(), down())
        }
        AdjKind::Glean => format!("{proto}-glean: [src:{}] {}: mtu:{} {to}", adj.nexthop(), name(), adj.mtu),
        AdjKind::Receive if adj.tx_if == u32::MAX => format!("dpo-receive {to}"),
        AdjKind::Receive => format!("dpo-receive: {} on {} {to}", adj.nexthop(), name()),
        AdjKind::Lookup => format!("lookup in fib_index {}", adj.table),
        AdjKind::LoadBalance => format!("dpo-load-balance: [buckets:{}]", adj.table + 1),
        kind => format!("dpo-{} {} {to}", kind_name(kind), &proto.replace("ipv", "ip")),
    }
}

/// The same for programs.
pub fn to_json(w: &World, info: &AdjInfo) -> Value {
    let adj = &info.adj;
    let (packets, bytes) = w.get::<Adjacencies>().counters.sum(adj.counter as usize);
    let sw_if = info.sw_if();
    json!({
        "index": info.index.0,
        "kind": kind_name(adj.kind),
        "interface": sw_if.map(|sw_if| w.get::<Interfaces>().name(sw_if)),
        "sw_if_index": sw_if.map(|sw_if| sw_if.0),
        "nexthop": sw_if.map(|_| adj.nexthop().to_string()),
        "next_hop_down": is_down(w, info),
        "mtu": sw_if.map(|_| adj.mtu),
        "rewrite": hex(&adj.rewrite()),
        "next": w.node_name(adj.next).to_string(),
        "alias_of": info.target.map(|target| target.0),
        "locks": info.refs,
        "packets": packets,
        "bytes": bytes,
    })
}

/// They are always counted.
pub fn counters(_: &World, m: &Matches) -> Result<Output, Error> {
    if m.flag("disable") {
        let why = "packets are always counted by adjacency: it costs nothing that could be saved";
        return Err(Error::unsupported(why));
    }
    Ok(Output::empty())
}

pub fn show(w: &World, m: &Matches) -> Result<Output, Error> {
    show_some(w, m, |_| true)
}

pub fn neighbors(w: &World, m: &Matches) -> Result<Output, Error> {
    show_some(w, m, |kind| matches!(kind, AdjKind::Rewrite | AdjKind::Incomplete))
}

fn show_some(w: &World, m: &Matches, which: fn(AdjKind) -> bool) -> Result<Output, Error> {
    let adjacencies = w.get::<Adjacencies>();
    let only_if = if m.has("interface") { Some(interface(w, m)?) } else { None };
    let only = m.opt::<u32>("index")?.map(AdjIndex);
    let mut all = adjacencies.list();
    all.retain(|info| which(info.adj.kind));
    if let Some(only) = only {
        all.retain(|info| info.index == only);
        if all.is_empty() {
            let error = Error::not_found(format!("there is no adjacency {only}"));
            return Err(error.at(m.span("index")).retval(-6));
        }
    } else {
        // An alias is seen at the routes that it belongs to.
        all.retain(|info| info.target.is_none());
    }
    all.retain(|info| only_if.is_none_or(|sw_if| info.sw_if() == Some(sw_if)));
    if m.flag("summary") {
        let text = format!("Number of adjacencies: {}\n", all.len());
        return Ok(Output::both(text, json!({ "adjacencies": all.len() })));
    }
    let mut text = String::new();
    for info in &all {
        // Writing to a String can't fail.
        let _ = writeln!(text, "[@{}] locks:{} {}", info.index, info.refs, describe(w, info, info.adj.link));
    }
    Ok(Output::both(text, Value::Array(all.iter().map(|info| to_json(w, info)).collect())))
}
