// SPDX-License-Identifier: Apache-2.0
//! Commands that show neighbours.

use cli::{Cell, Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::args::given_interface;
use net::{Interfaces, NeighborState, Neighbors, NextHop, NextHops};
use serde_json::json;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Address of a neighbour, or of a next hop that doesn't answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ListedNeighbor {
    /// Time at which the neighbour was confirmed last, or since which the next hop has not
    /// answered.
    since: u64,
    sw_if: SwIfIndex,
    ip: IpAddr,
}

/// Neighbours read at once. The table is unordered, so each read scans all of it.
const READ: usize = 4096;

/// Neighbours of both versions.
pub fn both(w: &World, m: &Matches) -> Result<Output> {
    let only = given_interface(w, m, "interface")?;
    Ok(table(places(w, only, false).chain(places(w, only, true)).map(Some)))
}

/// Neighbours of a version.
pub fn one(w: &World, m: &Matches, ip6: bool) -> Result<Output> {
    Ok(table(places(w, given_interface(w, m, "interface")?, ip6).map(Some)))
}

/// Sorted once, at the start: ages change while the lines are written.
pub fn by_age(w: &World, m: &Matches, ip6: bool) -> Result<Output> {
    let (mut unsorted, mut sorted) =
        (places(w, given_interface(w, m, "interface")?, ip6), BTreeSet::new());
    let mut more = true;
    Ok(table(std::iter::from_fn(move || {
        if !more {
            return sorted.pop_first().map(Some);
        }
        // Others get their turn in between.
        let before = sorted.len();
        sorted.extend(unsorted.by_ref().take(READ));
        more = sorted.len() == before + READ;
        Some(None)
    })))
}

/// In order of interface and address.
fn places(
    w: &World,
    only: Option<SwIfIndex>,
    ip6: bool,
) -> impl Iterator<Item = ListedNeighbor> + use<> {
    let (neighbors, now) = (w.get::<Neighbors>(), w.clock.now());
    let read = move |after, _| neighbors.list_from(ip6, only, after, READ);
    let known = cli::pieces(read, |n| (n.sw_if, n.ip));
    let known = known.map(|n| ListedNeighbor { since: n.updated, sw_if: n.sw_if, ip: n.ip });
    let down = w.get::<NextHops>().list().into_iter();
    let down = down.filter(move |(hop, _)| {
        hop.ip.is_ipv6() == ip6 && only.is_none_or(|only| only == hop.sw_if)
    });
    let down = down.map(move |(hop, by)| ListedNeighbor {
        since: by.values().copied().min().unwrap_or(now),
        sw_if: hop.sw_if,
        ip: hop.ip,
    });
    // Both iterators are sorted by interface and address: merge them.
    let (mut known, mut down) = (known.peekable(), down.peekable());
    std::iter::from_fn(move || {
        let order = match (known.peek(), down.peek()) {
            (Some(known), Some(down)) => (known.sw_if, known.ip).cmp(&(down.sw_if, down.ip)),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        match order {
            Ordering::Less => known.next(),
            Ordering::Greater => down.next(),
            Ordering::Equal => down.next().and(known.next()),
        }
    })
}

/// Returns a table of neighbours, without those removed meanwhile.
fn table(places: impl Iterator<Item = Option<ListedNeighbor>> + 'static) -> Output {
    let table = Table::new().right("Age").min_width(12).left("IP").left("Flags").left("Ethernet");
    table.left("Interface").list(
        places,
        |w: &World, place: Option<ListedNeighbor>, out: &mut Writer| {
            let Some(ListedNeighbor { since, sw_if, ip }) = place else { return Ok(()) };
            let known = w.get::<Neighbors>().get(sw_if, ip);
            let down = w.get::<NextHops>().down(NextHop { sw_if, ip }).unwrap_or_default();
            if known.is_none() && down.is_empty() {
                return Ok(());
            }
            let age = w.clock.now().saturating_sub(since) as f64 / 1e9;
            let name = w.get::<Interfaces>().name(sw_if);
            let (state, probes) = match known.map(|n| n.state) {
                Some(NeighborState::Reachable) => ("reachable", 0),
                Some(NeighborState::Stale) => ("stale", 0),
                Some(NeighborState::Probing(sent)) => ("probing", sent),
                Some(NeighborState::Quiet) => ("quiet", 0),
                None => ("silent", 0),
            };
            // F as in failed.
            let mut flags = known.map_or_else(String::new, |n| n.flags());
            flags.extend((!down.is_empty()).then_some('F'));
            let mac = known.map(|n| n.mac.to_string());
            out.value(|| {
                json!({
                    "age": age,
                    "ip": ip.to_string(),
                    "flags": flags,
                    "ethernet": mac,
                    "interface": name,
                    "router": known.is_some_and(|n| n.router),
                    "state": state,
                    "unanswered_probes": probes,
                    "next_hop_down": down.keys().collect::<Vec<_>>(),
                })
            });
            out.text_row(|| {
                let mac = mac.unwrap_or_else(|| "-".into());
                [
                    Cell::show(format_args!("{age:.4}")),
                    Cell::show(ip),
                    flags.into(),
                    mac.into(),
                    name.into(),
                ]
            });
            Ok(())
        },
    )
}

pub fn config(w: &World, _: &Matches) -> Result<Output> {
    let neighbors = w.get::<Neighbors>();
    let (mut text, mut json) = (String::new(), json!({}));
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
        json[name] = json!({ "limit": c.limit, "age": c.age, "recycle": c.recycle,
            "confirm": c.confirm, "retry": c.retry });
    }
    Ok(Output::both(text, json))
}

pub fn stats(w: &World, m: &Matches) -> Result<Output> {
    const WHAT: [&str; 3] = ["requests", "replies", "gratuitous"];
    const REFUSED: [&str; 7] =
        ["unsolicited", "unknown", "ignored", "static", "kept", "full", "down"];
    let only = given_interface(w, m, "interface")?;
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
                let of = |proto| {
                    w.stats.simple(&format!("/net/{proto}/{direction}/{what}")).sum(sw_if.at())
                };
                Cell::from(of("arp") + of("ip6-nd"))
            }));
        }
        let of = |proto: &str, why: &str| {
            w.stats.simple(&format!("/net/{proto}/refused/{why}")).sum(sw_if.at())
        };
        let refused = |why: &&str| of("arp", why) + of("ip6-nd", why);
        row.push(REFUSED.iter().map(refused).sum::<u64>().into());
        let displaced =
            |proto: &str| w.stats.simple(&format!("/net/{proto}/displaced")).sum(sw_if.at());
        row.push((displaced("arp") + displaced("ip6-nd")).into());
        out.row(row);
        Ok(())
    }))
}
