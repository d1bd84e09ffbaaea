// SPDX-License-Identifier: Apache-2.0
//! `show bridge-domain`, `show l2fib`, `show mode`.

use crate::bridge::Bridge;
use crate::domain::{DomainInfo, MemberInfo};
use crate::fib::FibEntry;
use crate::mode::{Mode, PortKind};
use crate::termination::control::HostInfo;
use crate::{pbb, vtr};
use cli::{Cell, Error, Matches, Output, Result, Table, Writer, centre, retval};
use graph::{SwIfIndex, World};
use net::{BackboneRewrite, Column, Interfaces, TagRewrite};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

fn name(w: &World, sw_if: SwIfIndex) -> String {
    w.get::<Interfaces>().name(sw_if)
}

/// Widths and titles of the columns of a domain.
const DOMAIN: [(&str, usize); 13] = [
    ("BD-ID", 8),
    ("Index", 7),
    ("BSN", 4),
    ("Age(min)", 9),
    ("Learning", 9),
    ("U-Forwrd", 9),
    ("UU-Flood", 11),
    ("Flooding", 9),
    ("ARP-Term", 9),
    ("arp-ufwd", 9),
    ("Learn-count", 11),
    ("Learn-limit", 11),
    ("BVI-Intf", 11),
];

/// Widths and titles of the columns of a member.
const MEMBER: [(&str, usize); 7] = [
    ("Interface", 30),
    ("If-idx", 8),
    ("ISN", 5),
    ("SHG", 5),
    ("BVI", 5),
    ("TxFlood", 9),
    ("VLAN-Tag-Rewrite", 30),
];

fn line<const N: usize>(out: &mut String, columns: [(&str, usize); N], cells: [String; N]) {
    let cells = columns.iter().zip(cells).map(|((_, width), cell)| centre(cell, *width));
    let line: Vec<_> = cells.collect();
    _ = writeln!(out, "{}", line.join(" ").trim_end());
}

/// Tag rewriting of a member.
fn tags(w: &World, sw_if: SwIfIndex) -> String {
    if w.get::<Interfaces>().check(sw_if).is_err() {
        return String::new();
    }
    let tags = w.get::<Column<TagRewrite>>().get(sw_if);
    match w.get::<Column<Option<BackboneRewrite>>>().get(sw_if) {
        Some(rewrite) if tags.op == TagRewrite::NONE => pbb::describe(&rewrite),
        _ => vtr::describe(tags),
    }
}

fn head<const N: usize>(out: &mut String, columns: [(&str, usize); N]) {
    line(out, columns, columns.map(|(title, _)| title.to_string()));
}

fn domain_line(w: &World, out: &mut String, d: &DomainInfo) {
    let on = |on: bool| if on { "on" } else { "off" }.to_string();
    let unknown = match d.uu_fwd {
        Some(port) => name(w, port),
        None if d.config.uu_flood => "flood".into(),
        None => "drop".into(),
    };
    let age = if d.config.mac_age == 0 { "off".to_string() } else { d.config.mac_age.to_string() };
    let cells = [
        d.id.to_string(),
        d.index.to_string(),
        d.generation.to_string(),
        age,
        on(d.config.learn),
        on(d.config.forward),
        unknown,
        on(d.config.flood),
        on(d.config.arp_term),
        on(d.config.arp_ufwd),
        d.learned.0.to_string(),
        d.learned.1.to_string(),
        d.bvi.map_or("N/A".into(), |bvi| name(w, bvi)),
    ];
    line(out, DOMAIN, cells);
}

fn member_line(w: &World, out: &mut String, m: &MemberInfo) {
    let star = |on: bool| if on { "*" } else { "-" }.to_string();
    let cells = [
        name(w, m.sw_if),
        m.sw_if.to_string(),
        m.generation.to_string(),
        m.shg.to_string(),
        star(m.is_bvi),
        star(m.floods),
        tags(w, m.sw_if),
    ];
    line(out, MEMBER, cells);
}

fn member_json(w: &World, m: &MemberInfo) -> Value {
    json!({ "interface": name(w, m.sw_if), "sw_if_index": m.sw_if.0, "isn": m.generation, "shg": m.shg,
        "bvi": m.is_bvi, "flood": m.floods, "vlan_tag_rewrite": tags(w, m.sw_if) })
}

/// Seconds since a host was seen, and the port.
fn seen(w: &World, h: &HostInfo) -> Option<(String, u64)> {
    h.snooped.map(|(sw_if, age)| (name(w, sw_if), age / 1_000_000_000))
}

fn host_line(w: &World, out: &mut String, h: &HostInfo) {
    _ = write!(out, "{:>40} => {}", h.ip.to_string(), h.mac);
    if let Some((port, age)) = seen(w, h) {
        _ = write!(out, " snooped at {port} {age}s ago");
    }
    out.push('\n');
}

fn host_json(w: &World, h: &HostInfo) -> Value {
    let (interface, age) = seen(w, h).unzip();
    json!({ "ip": h.ip.to_string(), "mac": h.mac.to_string(), "snooped": age.is_some(), "interface": interface,
        "age": age })
}

/// Begins the object of a domain.
fn domain_json(w: &World, d: &DomainInfo, out: &mut Writer) {
    out.object();
    out.field("bd_id", d.id);
    out.field("index", d.index);
    out.field("bsn", d.generation);
    out.field("mac_age", d.config.mac_age);
    out.field("learn", d.config.learn);
    out.field("forward", d.config.forward);
    out.field("uu_flood", d.config.uu_flood);
    out.field("flood", d.config.flood);
    out.field("arp_term", d.config.arp_term);
    out.field("arp_snoop", d.config.arp_snoop);
    out.field("snooped", d.snooped.0 as u64);
    out.field("snoop_limit", d.snooped.1 as u64);
    out.field("snoop_refused", d.snooped.2);
    out.field("arp_ufwd", d.config.arp_ufwd);
    out.field("tag", d.config.tag.as_str());
    out.field("learned", d.learned.0);
    out.field("learn_limit", d.learned.1);
    out.field("bvi", d.bvi.map(|sw_if| name(w, sw_if)));
    out.field("uu_fwd", d.uu_fwd.map(|sw_if| name(w, sw_if)));
}

/// The parts of a domain, in their order.
enum Part {
    Domain(u32),
    /// A member by its place in the domain; behind the last one, the unknown-unicast port.
    Member(usize),
    Hosts,
    Host(HostInfo),
    End,
}

fn parts(bridge: &Arc<Bridge>, id: u32, now: u64) -> impl Iterator<Item = Part> + use<> {
    let members = (0..=bridge.member_count(id)).map(Part::Member);
    let hosts = bridge.clone().known_hosts(Some(id), now).map(Part::Host);
    [Part::Domain(id)]
        .into_iter()
        .chain(members)
        .chain([Part::Hosts])
        .chain(hosts)
        .chain([Part::End])
}

/// `show bridge-domain`.
pub fn domains(w: &World, m: &Matches) -> Result<Output> {
    let (bridge, now) = (w.get::<Bridge>(), w.clock.now());
    let one = m.opt::<u32>("id")?;
    let ids = match one {
        None => bridge.domain_ids(),
        Some(id) => match bridge.domain_info(w, id) {
            Some(_) => vec![id],
            None => {
                return Err(Error::not_found(format!("No such bridge domain {id}"))
                    .retval(retval::NO_SUCH_ENTRY)
                    .at(m.span("id")));
            }
        },
    };
    if ids.is_empty() {
        return Ok(Output::both("no bridge-domains in use", json!([])));
    }
    let with = |part: &str| m.flag("detail") || m.flag(part);
    let (with_members, with_hosts, with_tag) = (with("int"), with("arp"), with("bd-tag"));
    let all = ids.into_iter().flat_map(move |id| parts(&bridge, id, now));
    // The domain at hand, and whether the table of its members, or hosts, has begun.
    let (mut first, mut domain, mut has_head) = (true, None, false);
    Ok(Output::list(all, move |w: &World, part, out: &mut Writer| {
        if let Part::Domain(id) = part {
            (domain, has_head) = (w.get::<Bridge>().domain_info(w, id), false);
        }
        // One that was deleted meanwhile isn't shown.
        let Some(d) = &domain else { return Ok(()) };
        match part {
            Part::Domain(_) => {
                let is_first = std::mem::take(&mut first);
                out.text(|text| {
                    if is_first {
                        head(text, DOMAIN);
                    }
                    domain_line(w, text, d);
                });
                domain_json(w, d, out);
                out.array("members");
            }
            Part::Member(at) => {
                let uu_fwd = d.uu_fwd.filter(|_| at == d.members.len());
                let uu_fwd = uu_fwd.map(|sw_if| MemberInfo {
                    sw_if,
                    shg: 0,
                    generation: 0,
                    is_bvi: false,
                    floods: false,
                });
                let member = d.members.get(at).copied();
                let Some(shown) = member.or(uu_fwd) else { return Ok(()) };
                if with_members {
                    let begins = !std::mem::replace(&mut has_head, true);
                    out.text(|text| {
                        if begins {
                            text.push('\n');
                            head(text, MEMBER);
                        }
                        member_line(w, text, &shown);
                    });
                }
                member.iter().for_each(|member| out.value(|| member_json(w, member)));
            }
            Part::Hosts => {
                has_head = false;
                if with_hosts && d.config.arp_snoop {
                    let (count, limit, refused) = d.snooped;
                    out.text(|text| {
                        _ = writeln!(
                            text,
                            "\n  ARP-Snoop: {count} hosts, {limit} at most, {refused} refused"
                        );
                    });
                }
                out.end();
                out.array("hosts");
            }
            Part::Host(host) => {
                if with_hosts {
                    let begins = !std::mem::replace(&mut has_head, true);
                    out.text(|text| {
                        if begins {
                            text.push_str("\n  IP4/IP6 to MAC table for ARP Termination\n");
                        }
                        host_line(w, text, &host);
                    });
                }
                out.value(|| host_json(w, &host));
            }
            Part::End => {
                out.end();
                out.end();
                if with_tag && !d.config.tag.is_empty() {
                    out.text(|text| _ = writeln!(text, "  BD-Tag: {}", d.config.tag));
                }
            }
        }
        Ok(())
    }))
}

fn fib_row(w: &World, e: &FibEntry) -> [Cell; 9] {
    let star = |on: bool| Cell::from(if on { "*" } else { "-" });
    let age = match (e.age, e.is_provisioned) {
        (_, true) => "no".to_string(),
        (Some(age), _) => (age / 60).to_string(),
        (None, _) => "-".to_string(),
    };
    let interface = e.sw_if.map_or_else(|| "N/A".to_string(), |sw_if| name(w, sw_if));
    [
        e.mac.to_string().into(),
        u32::from(e.index).into(),
        e.sw_if.map_or_else(|| "N/A".into(), |sw_if| Cell::from(sw_if.0)),
        format!("{}/{}", e.generation >> 8, e.generation & 0xff).into(),
        age.into(),
        star(e.is_static),
        star(e.is_filter),
        star(e.is_bvi),
        interface.into(),
    ]
}

fn fib_json(w: &World, e: &FibEntry) -> Value {
    json!({
        "mac": e.mac.to_string(),
        "bd_id": e.id,
        "interface": e.sw_if.map(|sw_if| name(w, sw_if)),
        "sw_if_index": e.sw_if.map(|sw_if| sw_if.0),
        "age": e.age,
        "static": e.is_static,
        "filter": e.is_filter,
        "bvi": e.is_bvi,
    })
}

/// `show l2fib`.
pub fn fib(w: &World, m: &Matches) -> Result<Output> {
    let bridge = w.get::<Bridge>();
    let only = m.opt::<u32>("id")?;
    let (learned_only, added_only) = (m.flag("learn"), m.flag("add"));
    // Older scripts use `verbose' for `all'.
    let lists = m.flag("all") || m.flag("verbose") || only.is_some() || learned_only || added_only;
    let summary = |w: &World| {
        let bridge = w.get::<Bridge>();
        let (learned, limit) = bridge.learned();
        (bridge.entry_count(), learned, bridge.last_scan(), limit)
    };
    if bridge.entry_count() == 0 {
        let (_, learned, _, limit) = summary(w);
        let none = json!({ "entries": [], "total": 0, "learned": learned, "learn_limit": limit });
        return Ok(Output::both("no l2fib entries", none));
    }
    let table = || {
        let table =
            Table::new().left("Mac-Address").right("BD-Idx").right("If-Idx").right("BSN-ISN");
        let table = table.right("Age(min)").left("static").left("filter").left("bvi");
        table.left("Interface-Name")
    };
    let mut walk = None;
    Ok(Output::record_while(move |w: &World, out: &mut Writer| {
        let (bridge, now) = (w.get::<Bridge>(), w.clock.now());
        if walk.is_none() {
            if lists {
                out.table(&table());
            }
            out.array("entries");
        }
        let walk = walk.get_or_insert_with(|| bridge.walk());
        let Some(entries) = bridge.entries(walk, now).filter(|_| lists) else {
            out.end();
            let (total, learned, last_scan, limit) = summary(w);
            out.text(|text| {
                    _ = writeln!(
                        text,
                        "L2FIB total/learned entries: {total}/{learned}  Last scan time: {last_scan:.4e}sec  Learn limit: {limit}"
                    );
                });
            out.field("total", total as u64);
            out.field("learned", learned);
            out.field("learn_limit", limit);
            return Ok(false);
        };
        for entry in entries {
            let is_wanted = only.is_none_or(|id| id == entry.id)
                && (!learned_only || !entry.is_provisioned)
                && (!added_only || entry.is_provisioned);
            if is_wanted {
                out.text_row(|| fib_row(w, &entry));
                out.value(|| fib_json(w, &entry));
            }
        }
        Ok(true)
    }))
}

/// `show mode`.
pub fn modes(w: &World, m: &Matches) -> Result<Output> {
    let named: Vec<SwIfIndex> = m
        .args("interface")
        .map(|(arg, span)| w.get::<Interfaces>().find(arg.text).map_err(|e| e.at(span)))
        .collect::<Result<_>>()?;
    let all = w.get::<Interfaces>().indices();
    let items: Box<dyn Iterator<Item = SwIfIndex>> =
        if named.is_empty() { Box::new(all) } else { Box::new(named.into_iter()) };
    Ok(Output::list(items, |w: &World, sw_if, out: &mut Writer| {
        let Ok(interface) = w.get::<Interfaces>().get(sw_if) else { return Ok(()) };
        let mode = w.get::<Bridge>().mode(sw_if);
        out.text(|text| match mode {
            None => writeln!(text, "l3 {}", interface.name),
            Some(Mode::Xconnect(peer)) => {
                writeln!(text, "l2 xconnect {} {}", interface.name, name(w, peer))
            }
            Some(Mode::Bridge { id, kind, shg, .. }) => {
                let bvi = if kind == PortKind::Bvi { " bvi" } else { "" };
                writeln!(text, "l2 bridge {} bd_id {id}{bvi} shg {shg}", interface.name)
            }
        });
        out.value(|| match mode {
            None => json!({ "interface": interface.name, "mode": "l3" }),
            Some(Mode::Xconnect(peer)) => {
                json!({ "interface": interface.name, "mode": "l2 xconnect", "peer": name(w, peer) })
            }
            Some(Mode::Bridge { id, kind, shg, .. }) => json!({
                "interface": interface.name,
                "mode": "l2 bridge",
                "bd_id": id,
                "bvi": kind == PortKind::Bvi,
                "uu_fwd": kind == PortKind::UuFwd,
                "shg": shg,
            }),
        });
        Ok(())
    }))
}
