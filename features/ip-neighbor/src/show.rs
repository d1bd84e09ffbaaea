// SPDX-License-Identifier: Apache-2.0
//! Commands that show neighbours.

use crate::set::interface;
use cli::{Cell, Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::{Interfaces, Neighbor, NeighborState, Neighbors, NextHops};
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::net::IpAddr;

/// A neighbour, or a next hop that doesn't answer.
struct Line {
    sw_if: SwIfIndex,
    ip: IpAddr,
    /// When the neighbour was confirmed last, or since when the next hop has not answered.
    since: u64,
    known: Option<Neighbor>,
    /// The watchers that report the next hop down.
    down: Vec<&'static str>,
}

/// Neighbours read at once. The table is unordered, so each read scans all of it.
const READ: usize = 4096;

impl Line {
    fn place(&self) -> (SwIfIndex, IpAddr) {
        (self.sw_if, self.ip)
    }
}

pub fn both(w: &World, m: &Matches) -> Result<Output> {
    let only = interface(w, m)?;
    Ok(table(lines(w, only, false).chain(lines(w, only, true))))
}

pub fn ip4(w: &World, m: &Matches) -> Result<Output> {
    Ok(table(lines(w, interface(w, m)?, false)))
}

pub fn ip6(w: &World, m: &Matches) -> Result<Output> {
    Ok(table(lines(w, interface(w, m)?, true)))
}

pub fn ip4_by_age(w: &World, m: &Matches) -> Result<Output> {
    by_age(w, m, false)
}

pub fn ip6_by_age(w: &World, m: &Matches) -> Result<Output> {
    by_age(w, m, true)
}

/// Sorted once, at the start: ages change while the lines are written.
fn by_age(w: &World, m: &Matches, ip6: bool) -> Result<Output> {
    let mut all: Vec<Line> = lines(w, interface(w, m)?, ip6).collect();
    all.sort_by_key(|line| line.since);
    Ok(table(all.into_iter()))
}

/// Lines in order of interface and address, each read when it is written.
fn lines(w: &World, only: Option<SwIfIndex>, ip6: bool) -> impl Iterator<Item = Line> + use<> {
    let (neighbors, now) = (w.get::<Neighbors>(), w.clock.now());
    let read = move |after, _| neighbors.list_from(ip6, only, after, READ);
    let known = cli::pieces(read, |n| (n.sw_if, n.ip)).map(|n| Line {
        sw_if: n.sw_if,
        ip: n.ip,
        since: n.updated,
        known: Some(n),
        down: Vec::new(),
    });
    let down = w.get::<NextHops>().list().into_iter();
    let down =
        down.filter(move |(hop, _)| hop.ip.is_ipv6() == ip6 && only.is_none_or(|only| only == hop.sw_if));
    let down = down.map(move |(hop, by)| Line {
        sw_if: hop.sw_if,
        ip: hop.ip,
        since: by.values().copied().min().unwrap_or(now),
        known: None,
        down: by.into_keys().collect(),
    });
    // Both iterators are sorted by interface and address: merge them.
    let (mut known, mut down) = (known.peekable(), down.peekable());
    std::iter::from_fn(move || {
        let order = match (known.peek(), down.peek()) {
            (Some(known), Some(down)) => known.place().cmp(&down.place()),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        match order {
            Ordering::Less => known.next(),
            Ordering::Greater => down.next(),
            Ordering::Equal => {
                let down = down.next().map(|line| line.down).unwrap_or_default();
                known.next().map(|line| Line { down, ..line })
            }
        }
    })
}

fn table(lines: impl Iterator<Item = Line> + 'static) -> Output {
    let table = Table::new().right("Age").min_width(12).left("IP").left("Flags").left("Ethernet");
    table.left("Interface").list(lines, |w: &World, line: Line, out: &mut Writer| {
        let age = w.clock.now().saturating_sub(line.since) as f64 / 1e9;
        let name = w.get::<Interfaces>().name(line.sw_if);
        let (state, probes) = match line.known.map(|n| n.state) {
            Some(NeighborState::Reachable) => ("reachable", 0),
            Some(NeighborState::Stale) => ("stale", 0),
            Some(NeighborState::Probing(sent)) => ("probing", sent),
            Some(NeighborState::Quiet) => ("quiet", 0),
            None => ("silent", 0),
        };
        // F as in failed.
        let mut flags = line.known.map_or_else(String::new, |n| n.flags());
        flags.extend((!line.down.is_empty()).then_some('F'));
        let mac = line.known.map(|n| n.mac.to_string());
        out.value(|| {
            json!({
                "age": age,
                "ip": line.ip.to_string(),
                "flags": flags,
                "ethernet": mac,
                "interface": name,
                "router": line.known.is_some_and(|n| n.router),
                "state": state,
                "unanswered_probes": probes,
                "next_hop_down": line.down,
            })
        });
        out.text_row(|| {
            let mac = mac.unwrap_or_else(|| "-".into());
            [Cell::show(format_args!("{age:.4}")), Cell::show(line.ip), flags.into(), mac.into(), name.into()]
        });
        Ok(())
    })
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
    table = table.right("Refused").right("Displaced");
    let interfaces = w.get::<Interfaces>();
    Ok(table.list(interfaces.indices(), move |w: &World, sw_if, out: &mut Writer| {
        if interfaces.check(sw_if).is_err() || only.is_some_and(|only| only != sw_if) {
            return Ok(());
        }
        let mut row: Vec<Cell> = vec![interfaces.name(sw_if).into()];
        for direction in ["rx", "tx"] {
            row.extend(WHAT.iter().map(|what| {
                let of = |proto| w.stats.simple(&format!("/net/{proto}/{direction}/{what}")).sum(sw_if.at());
                Cell::from(of("arp") + of("ip6-nd"))
            }));
        }
        let of =
            |proto: &str, why: &str| w.stats.simple(&format!("/net/{proto}/refused/{why}")).sum(sw_if.at());
        let refused = |why: &&str| of("arp", why) + of("ip6-nd", why);
        row.push(REFUSED.iter().map(refused).sum::<u64>().into());
        let displaced = |proto: &str| w.stats.simple(&format!("/net/{proto}/displaced")).sum(sw_if.at());
        row.push((displaced("arp") + displaced("ip6-nd")).into());
        out.row(row);
        Ok(())
    }))
}
