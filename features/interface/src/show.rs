// SPDX-License-Identifier: Apache-2.0
//! `show interface …`.

use crate::control;
use crate::set::named;
use cli::{Error, Matches, Output, Writer};
use graph::World;
use net::{IfCounters, Interface, Interfaces, MtuKind};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The counters that aren't zero, by the names that VPP prints.
fn counters(all: &IfCounters, sw_if: usize) -> Vec<(String, u64)> {
    let mut out = Vec::new();
    for (name, counter) in all.combined() {
        // The per-cast counters go to the stats segment and to JSON readers of it; the table keeps VPP's lines.
        if name.contains('-') {
            continue;
        }
        let (packets, bytes) = counter.sum(sw_if);
        out.push((format!("{name} packets"), packets));
        out.push((format!("{name} bytes"), bytes));
    }
    out.extend(all.simple().map(|(name, counter)| (name.to_string(), counter.sum(sw_if))));
    out.retain(|(_, n)| *n != 0);
    out
}

fn mtus(i: &Interface) -> String {
    control::mtus(i).map(|mtu| mtu.to_string()).join("/")
}

pub fn interface(w: &World, m: &Matches) -> Result<Output, Error> {
    let interfaces = w.get::<Interfaces>();
    let all_counters = w.get::<IfCounters>();
    let only: Vec<String> = m.all("interface")?;
    for name in &only {
        interfaces.find(name)?;
    }
    let items = [None].into_iter().chain(interfaces.indices().map(Some));
    Ok(Output::list(items, move |_: &World, sw_if, out: &mut Writer| {
        let Some(sw_if) = sw_if else {
            let head = ("Name", "Idx", "State", "MTU (L3/IP4/IP6/MPLS)", "Counter", "Count");
            let (name, idx, state, mtu, counter, count) = head;
            out.text(|text| writeln!(text, "{name:>18}{idx:>14}{state:>6}{mtu:>22}{counter:>20}{count:>16}"));
            return Ok(());
        };
        match interfaces.get(sw_if) {
            Ok(i) if only.is_empty() || only.contains(&i.name) => {
                write(&i, counters(&all_counters, sw_if.at()), out)
            }
            _ => {}
        }
        Ok(())
    }))
}

fn write(i: &Interface, counters: Vec<(String, u64)>, out: &mut Writer) {
    let state = if i.admin_up { "up" } else { "down" };
    out.text(|text| {
        let mut line = format!("{:<25}{:>7}{:>6}{:>22}", i.name, i.sw_if.0, state, mtus(i));
        for (name, n) in &counters {
            writeln!(text, "{line:<60}{name:<24}{n:>12}")?;
            line.clear();
        }
        if line.is_empty() { Ok(()) } else { writeln!(text, "{}", line.trim_end()) }
    });
    out.value(|| {
        let counters: Map<String, Value> =
            counters.into_iter().map(|(name, n)| (name.replace(' ', "_"), n.into())).collect();
        json!({
            "name": i.name,
            "idx": i.sw_if.0,
            "state": state,
            "link": if i.link_up { "up" } else { "down" },
            "mac": i.mac.to_string(),
            "mtu": { "link": i.mtu[0], "l3": i.mtu_of(MtuKind::L3), "ip4": i.mtu_of(MtuKind::Ip4), "ip6": i.mtu_of(MtuKind::Ip6), "mpls": i.mtu_of(MtuKind::Mpls) },
            "tag": i.tag,
            "counters": counters,
        })
    });
}

pub fn features(w: &World, m: &Matches) -> Result<Output, Error> {
    let (interfaces, sw_if) = named(w, m)?;
    let mut text = format!("Feature paths configured on {}...\n", interfaces.name(sw_if));
    let mut json = Map::new();
    for (name, _) in w.arc_list() {
        let Some(arc) = w.arc(name) else { continue };
        let enabled: Vec<_> = w.features_of(arc, sw_if).into_iter().map(|(feature, _)| feature).collect();
        let list = if enabled.is_empty() {
            "  none configured".to_string()
        } else {
            format!("  {}", enabled.join("\n  "))
        };
        // Writing to a String can't fail.
        let _ = writeln!(text, "\n{name}:\n{list}");
        json.insert(name.to_string(), enabled.into());
    }
    Ok(Output::both(text, Value::Object(json)))
}

pub fn tag(w: &World, m: &Matches) -> Result<Output, Error> {
    let (interfaces, sw_if) = named(w, m)?;
    let i = interfaces.get(sw_if)?;
    let text =
        if i.tag.is_empty() { format!("{}: no tag\n", i.name) } else { format!("{}: {}\n", i.name, i.tag) };
    Ok(Output::both(text, json!({ "name": i.name, "tag": i.tag })))
}
