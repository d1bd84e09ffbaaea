// SPDX-License-Identifier: Apache-2.0
//! Commands that show neighbours.

use crate::set::interface;
use cli::{Cell, Matches, Output, Result, Table};
use graph::World;
use net::{Interfaces, Neighbor, NeighborState, Neighbors};
use serde_json::{Value, json};

pub fn both(w: &World, m: &Matches) -> Result<Output> {
    let mut all = list(w, m, false)?;
    all.extend(list(w, m, true)?);
    Ok(table(w, &all))
}

pub fn ip4(w: &World, m: &Matches) -> Result<Output> {
    Ok(table(w, &list(w, m, false)?))
}

pub fn ip6(w: &World, m: &Matches) -> Result<Output> {
    Ok(table(w, &list(w, m, true)?))
}

pub fn ip4_by_age(w: &World, m: &Matches) -> Result<Output> {
    by_age(w, m, false)
}

pub fn ip6_by_age(w: &World, m: &Matches) -> Result<Output> {
    by_age(w, m, true)
}

fn by_age(w: &World, m: &Matches, ip6: bool) -> Result<Output> {
    let mut all = list(w, m, ip6)?;
    all.sort_by_key(|n| n.updated);
    Ok(table(w, &all))
}

fn list(w: &World, m: &Matches, ip6: bool) -> Result<Vec<Neighbor>> {
    Ok(w.get::<Neighbors>().list(ip6, interface(w, m)?))
}

fn table(w: &World, all: &[Neighbor]) -> Output {
    let interfaces = w.get::<Interfaces>();
    let now = w.clock.now();
    let mut table =
        Table::new().right("Age").min_width(12).left("IP").left("Flags").left("Ethernet").left("Interface");
    let mut json = Vec::with_capacity(all.len());
    for n in all {
        let age = now.saturating_sub(n.updated) as f64 / 1e9;
        let name = interfaces.name(n.sw_if);
        let (state, probes) = match n.state {
            NeighborState::Reachable => ("reachable", 0),
            NeighborState::Stale => ("stale", 0),
            NeighborState::Probing(sent) => ("probing", sent),
        };
        json.push(json!({
            "age": age,
            "ip": n.ip.to_string(),
            "flags": n.flags(),
            "ethernet": n.mac.to_string(),
            "interface": name,
            "router": n.router,
            "state": state,
            "unanswered_probes": probes,
        }));
        table.row([
            Cell::new(format!("{age:.4}"), age),
            Cell::show(n.ip),
            n.flags().into(),
            Cell::show(n.mac),
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
            "{name}:\n  limit:{}, age:{}, recycle:{}, confirm:{}\n",
            c.limit,
            c.age,
            u8::from(c.recycle),
            c.confirm
        );
        let config = json!({ "limit": c.limit, "age": c.age, "recycle": c.recycle, "confirm": c.confirm });
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
