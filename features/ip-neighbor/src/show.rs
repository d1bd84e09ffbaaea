// SPDX-License-Identifier: Apache-2.0
//! Commands that show neighbours.

use crate::set::interface;
use cli::{Cell, Matches, Output, Result, Table};
use graph::{SwIfIndex, World};
use net::{Interfaces, Neighbor, NeighborState, Neighbors, NextHops};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::net::IpAddr;

/// A neighbour, or a next hop that doesn't answer.
struct Line {
    sw_if: SwIfIndex,
    ip: IpAddr,
    /// Nanoseconds since it was confirmed, or since it is silent.
    age: u64,
    known: Option<Neighbor>,
    /// Who says that it is down as a next hop.
    down: Vec<&'static str>,
}

pub fn both(w: &World, m: &Matches) -> Result<Output> {
    let mut all = lines(w, m, false)?;
    all.extend(lines(w, m, true)?);
    Ok(table(w, &all))
}

pub fn ip4(w: &World, m: &Matches) -> Result<Output> {
    Ok(table(w, &lines(w, m, false)?))
}

pub fn ip6(w: &World, m: &Matches) -> Result<Output> {
    Ok(table(w, &lines(w, m, true)?))
}

pub fn ip4_by_age(w: &World, m: &Matches) -> Result<Output> {
    by_age(w, m, false)
}

pub fn ip6_by_age(w: &World, m: &Matches) -> Result<Output> {
    by_age(w, m, true)
}

fn by_age(w: &World, m: &Matches, ip6: bool) -> Result<Output> {
    let mut all = lines(w, m, ip6)?;
    all.sort_by_key(|line| Reverse(line.age));
    Ok(table(w, &all))
}

/// In order of interface and address.
fn lines(w: &World, m: &Matches, ip6: bool) -> Result<Vec<Line>> {
    let only = interface(w, m)?;
    let now = w.clock.now();
    let mut all: Vec<Line> = w
        .get::<Neighbors>()
        .list(ip6, only)
        .into_iter()
        .map(|n| {
            let age = now.saturating_sub(n.updated);
            Line { sw_if: n.sw_if, ip: n.ip, age, known: Some(n), down: Vec::new() }
        })
        .collect();
    for (hop, by) in w.get::<NextHops>().list() {
        if hop.ip.is_ipv6() != ip6 || only.is_some_and(|only| only != hop.sw_if) {
            continue;
        }
        let place = (hop.sw_if, hop.ip);
        let at = all.binary_search_by_key(&place, |line| (line.sw_if, line.ip)).unwrap_or_else(|at| {
            let age = now.saturating_sub(by.values().copied().min().unwrap_or(now));
            all.insert(at, Line { sw_if: hop.sw_if, ip: hop.ip, age, known: None, down: Vec::new() });
            at
        });
        all[at].down = by.into_keys().collect();
    }
    Ok(all)
}

fn table(w: &World, all: &[Line]) -> Output {
    let interfaces = w.get::<Interfaces>();
    let mut table =
        Table::new().right("Age").min_width(12).left("IP").left("Flags").left("Ethernet").left("Interface");
    let mut json = Vec::with_capacity(all.len());
    for line in all {
        let age = line.age as f64 / 1e9;
        let name = interfaces.name(line.sw_if);
        let (state, probes) = match line.known.map(|n| n.state) {
            Some(NeighborState::Reachable) => ("reachable", 0),
            Some(NeighborState::Stale) => ("stale", 0),
            Some(NeighborState::Probing(sent)) => ("probing", sent),
            None => ("silent", 0),
        };
        // F as in failed.
        let mut flags = line.known.map_or_else(String::new, |n| n.flags());
        flags.extend((!line.down.is_empty()).then_some('F'));
        let mac = line.known.map(|n| n.mac.to_string());
        json.push(json!({
            "age": age,
            "ip": line.ip.to_string(),
            "flags": flags,
            "ethernet": mac,
            "interface": name,
            "router": line.known.is_some_and(|n| n.router),
            "state": state,
            "unanswered_probes": probes,
            "next_hop_down": line.down,
        }));
        table.row([
            Cell::new(format!("{age:.4}"), age),
            Cell::show(line.ip),
            flags.into(),
            mac.unwrap_or_else(|| "-".into()).into(),
            name.into(),
        ]);
    }
    Output::both(table.render(), Value::Array(json))
}

pub fn config(w: &World, _: &Matches) -> Result<Output> {
    let neighbors = w.get::<Neighbors>();
    let (mut text, mut json) = (String::new(), serde_json::Map::new());
    for (ip6, name) in [(false, "ip4"), (true, "ip6")] {
        let c = neighbors.config(ip6);
        text += &format!(
            "{name}:\n  limit:{}, age:{}, recycle:{}, confirm:{}, retry:{}\n",
            c.limit,
            c.age,
            u8::from(c.recycle),
            c.confirm,
            c.retry
        );
        let config = json!({
            "limit": c.limit,
            "age": c.age,
            "recycle": c.recycle,
            "confirm": c.confirm,
            "retry": c.retry,
        });
        json.insert(name.into(), config);
    }
    Ok(Output::both(text, Value::Object(json)))
}

pub fn stats(w: &World, m: &Matches) -> Result<Output> {
    const WHAT: [&str; 3] = ["requests", "replies", "gratuitous"];
    const REFUSED: [&str; 7] = ["unsolicited", "unknown", "ignored", "static", "kept", "full", "down"];
    let only = interface(w, m)?;
    let mut table = Table::new().left("Interface");
    for direction in ["RX", "TX"] {
        table = WHAT.iter().fold(table, |t, what| t.right(format!("{direction} {what}")));
    }
    table = table.right("Refused");
    for i in w.get::<Interfaces>().list() {
        if only.is_some_and(|only| only != i.sw_if) {
            continue;
        }
        let mut row: Vec<Cell> = vec![i.name.into()];
        for direction in ["rx", "tx"] {
            row.extend(WHAT.iter().map(|what| {
                let of =
                    |proto| w.stats.simple(&format!("/net/{proto}/{direction}/{what}")).sum(i.sw_if.at());
                Cell::from(of("arp") + of("ip6-nd"))
            }));
        }
        let of =
            |proto: &str, why: &str| w.stats.simple(&format!("/net/{proto}/refused/{why}")).sum(i.sw_if.at());
        let refused = |why: &&str| of("arp", why) + of("ip6-nd", why);
        row.push(REFUSED.iter().map(refused).sum::<u64>().into());
        table.row(row);
    }
    Ok(table.into())
}
