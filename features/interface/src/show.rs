// SPDX-License-Identifier: Apache-2.0
//! `show interface …`.

use crate::address;
use crate::control;
use crate::layout::NAME;
use crate::names::{by_name, chosen};
use cli::{Error, Matches, Output, Writer, centre};
use graph::{SwIfIndex, World};
use net::{Column, Gso, IfCounters, Interface, Interfaces, MtuKind, Note};
use serde_json::{Map, Value, json};
use std::fmt::{Display, Write};

/// The counters, by the names that VPP prints; `all`: also those by kind of destination.
fn counters(of: &IfCounters, sw_if: usize, all: bool) -> Vec<(String, u64)> {
    let mut out = Vec::new();
    for (name, counter) in of.combined().into_iter().filter(|(name, _)| all || !name.contains('-'))
    {
        let (packets, bytes) = counter.sum(sw_if);
        out.push((format!("{name} packets"), packets));
        out.push((format!("{name} bytes"), bytes));
    }
    out.extend(of.simple().map(|(name, counter)| (name.to_string(), counter.sum(sw_if))));
    out
}

fn mtus(i: &Interface) -> String {
    control::mtus(i).map(|mtu| mtu.to_string()).join("/")
}

/// In VPP the words stand in any order, also behind the interfaces.
pub fn interface(w: &World, m: &Matches) -> Result<Output, Error> {
    let only = chosen(w, m)?;
    if m.flag("address") || m.flag("addr") {
        return address::show(w, only);
    }
    if m.flag("features") || m.flag("feat") {
        return features(w, only);
    }
    if m.flag("tag") {
        return tags(w, only);
    }
    let (interfaces, all_counters, verbose) =
        (w.get::<Interfaces>(), w.get::<IfCounters>(), m.flag("verbose"));
    let listed = if only.is_empty() { by_name(w) } else { only };
    let items = [None].into_iter().chain(listed.into_iter().map(Some));
    Ok(Output::list(items, move |w: &World, sw_if, out: &mut Writer| {
        let Some(sw_if) = sw_if else {
            let line = columns("Name", "Idx", "State", "MTU (L3/IP4/IP6/MPLS)");
            let (counter, count) = (centre("Counter", COUNTER), centre("Count", COUNTER));
            out.text(|text| writeln!(text, "{}", format!("{line}{counter}{count}").trim_end()));
            return Ok(());
        };
        if let Ok(i) = interfaces.get(sw_if) {
            let Note(note) = w.get::<Column<Note>>().get(sw_if);
            write(&i, &note, counters(&all_counters, sw_if.at(), verbose), out);
        }
        Ok(())
    }))
}

/// Of a counter's name, and of its value.
const COUNTER: usize = 16;

/// The columns in front of the counters.
fn columns(name: impl Display, idx: impl Display, state: &str, mtu: &str) -> String {
    let name = name.to_string();
    let name = if name == "Name" { centre(name, NAME) } else { format!("{name:<NAME$}") };
    format!("{name}{}{}{}", centre(idx, 5), centre(state, 10), centre(mtu, 21))
}

fn write(i: &Interface, note: &str, counters: Vec<(String, u64)>, out: &mut Writer) {
    let state = if i.admin_up { "up" } else { "down" };
    out.text(|text| {
        let mut line = columns(&i.name, i.sw_if.0, state, &mtus(i));
        let width = line.len();
        // As VPP, which leaves out what is zero.
        for (name, n) in counters.iter().filter(|(_, n)| *n != 0) {
            writeln!(text, "{line:<width$}{name:<COUNTER$}{n:>COUNTER$}")?;
            line.clear();
        }
        if line.is_empty() { Ok(()) } else { writeln!(text, "{}", line.trim_end()) }
    });
    out.value(|| {
        let counters: Map<String, Value> =
            counters.into_iter().map(|(name, n)| (name.replace([' ', '-'], "_"), n.into())).collect();
        json!({
            "name": i.name,
            "sw_if_index": i.sw_if.0,
            "state": state,
            "link": if i.link_up { "up" } else { "down" },
            "mac": i.mac.to_string(),
            "mtu": { "link": i.mtu_of(MtuKind::Link), "l3": i.mtu_of(MtuKind::L3), "ip4": i.mtu_of(MtuKind::Ip4), "ip6": i.mtu_of(MtuKind::Ip6), "mpls": i.mtu_of(MtuKind::Mpls) },
            "tag": note,
            "counters": counters,
        })
    });
}

pub fn features(w: &World, only: Vec<SwIfIndex>) -> Result<Output, Error> {
    let interfaces = w.get::<Interfaces>();
    let listed = if only.is_empty() { by_name(w) } else { only };
    Ok(Output::list(listed, move |w: &World, sw_if, out: &mut Writer| {
        if interfaces.check(sw_if).is_err() {
            return Ok(());
        }
        let name = interfaces.name(sw_if);
        out.text(|text| writeln!(text, "Feature paths configured on {name}..."));
        let mut json = Map::new();
        for (arc_name, _) in w.arc_list() {
            let Some(arc) = w.arc(arc_name) else { continue };
            let enabled = w.features_of(arc, sw_if);
            let list = if enabled.is_empty() {
                "none configured".to_string()
            } else {
                enabled.join("\n  ")
            };
            out.text(|text| writeln!(text, "\n{arc_name}:\n  {list}"));
            json.insert(arc_name.to_string(), enabled.into());
        }
        let gso = w.get::<Column<Gso>>().get(sw_if).0;
        if gso {
            out.text(|text| writeln!(text, "\ngso:\n  super-packets are segmented as by VPP"));
        }
        out.value(|| json!({ "name": name, "arcs": json, "gso": gso }));
        Ok(())
    }))
}

pub fn tags(w: &World, only: Vec<SwIfIndex>) -> Result<Output, Error> {
    let interfaces = w.get::<Interfaces>();
    let listed = if only.is_empty() { by_name(w) } else { only };
    Ok(Output::list(listed, move |w: &World, sw_if, out: &mut Writer| {
        if interfaces.check(sw_if).is_err() {
            return Ok(());
        }
        let (name, Note(note)) = (interfaces.name(sw_if), w.get::<Column<Note>>().get(sw_if));
        let tag = if note.is_empty() { "no tag" } else { &note };
        out.text(|text| writeln!(text, "{name}: {tag}"));
        out.value(|| json!({ "name": name, "tag": note }));
        Ok(())
    }))
}
