// SPDX-License-Identifier: Apache-2.0
//! Commands that show.

use crate::cli::interface as interface_of;
use crate::dad::{Dad, State};
use crate::mld::Listener;
use crate::ours::addresses;
use crate::proxy::Proxies;
use crate::ra::{Advertiser, Link};
use crate::rd::Receiver;
use cli::{Cell, Matches, Output, Result, Table};
use graph::{SwIfIndex, World};
use net::fib::{Fib, TableIndex};
use net::{Interface, Interfaces, LinkLocals, MtuKind};
use serde_json::{Value, json};
use std::net::Ipv6Addr;
use wire::Ip6;
use wire::nd::PrefixInfo;

/// The interfaces with IPv6, or the one that is asked for.
fn chosen(w: &World, m: &Matches) -> Result<Vec<Interface>> {
    let interfaces = w.get::<Interfaces>();
    if m.has("interface") {
        return Ok(vec![interfaces.get(interface_of(w, m)?)?]);
    }
    Ok(interfaces.list().into_iter().filter(|i| i.ip_enabled[1]).collect())
}

fn state(w: &World, sw_if: SwIfIndex, ip: Ipv6Addr) -> &'static str {
    match w.get::<Dad>().state(sw_if, ip) {
        None => "preferred",
        Some(State::Tentative { .. }) => "tentative",
        Some(State::Duplicate) => "duplicate",
    }
}

/// A lifetime in seconds, for the eye.
fn lifetime(seconds: u32) -> String {
    if seconds == PrefixInfo::INFINITE { "infinite".into() } else { seconds.to_string() }
}

fn prefixes(w: &World, link: &Link) -> Value {
    let now = w.clock.now();
    let all = link.config.prefixes.iter().map(|(prefix, p)| {
        json!({
            "prefix": prefix.to_string(),
            "valid": p.left(p.valid, now),
            "preferred": p.left(p.preferred, now),
            "absolute": p.since.is_some(),
            "advertised": !p.no_advertise,
            "on_link": p.on_link(),
            "autonomous": !p.no_autoconfig,
        })
    });
    Value::Array(all.collect())
}

fn ra_json(w: &World, interface: &Interface, link: &Link) -> Value {
    let (c, s) = (&link.config, &link.schedule);
    json!({
        "interface": interface.name,
        "suppressed": c.suppress,
        "active": s.is_active(),
        "cease": c.cease,
        "managed": c.managed,
        "other": c.other,
        "link_layer_address": !c.no_link,
        "unicast": c.unicast,
        "max_interval": c.max_interval,
        "min_interval": c.min_interval,
        "lifetime": c.lifetime,
        "hop_limit": c.hop_limit,
        "mtu": interface.mtu_of(MtuKind::Ip6),
        "initial_count": c.initial_count,
        "initial_interval": c.initial_interval,
        "sent": s.counts.sent,
        "solicitations": s.counts.solicited,
        "solicitations_dropped": s.counts.dropped,
        "prefixes": prefixes(w, link),
        "servers": c.servers.iter().map(|(ip, l)| json!({"address": ip.to_string(), "lifetime": l})).collect::<Vec<_>>(),
        "domains": c.domains.iter().map(|(name, l)| json!({"name": name, "lifetime": l})).collect::<Vec<_>>(),
    })
}

/// What is advertised, line by line.
fn ra_text(w: &World, link: &Link) -> String {
    let (c, s, now) = (&link.config, &link.schedule, w.clock.now());
    let mut text = String::from("  Advertised Prefixes:\n");
    for (prefix, p) in &c.prefixes {
        let (valid, preferred) = (lifetime(p.left(p.valid, now)), lifetime(p.left(p.preferred, now)));
        text += &format!("    prefix {prefix}, valid lifetime {valid}, preferred lifetime {preferred}");
        for (word, on) in [
            ("absolute", p.since.is_some()),
            ("not advertised", p.no_advertise),
            ("off-link", !p.on_link()),
            ("no autoconfiguration", p.no_autoconfig),
        ] {
            if on {
                text += &format!(", {word}");
            }
        }
        text.push('\n');
    }
    for (server, seconds) in &c.servers {
        text += &format!("    name server {server}, lifetime {}\n", lifetime(*seconds));
    }
    for (domain, seconds) in &c.domains {
        text += &format!("    search domain {domain}, lifetime {}\n", lifetime(*seconds));
    }
    match (c.suppress, s.is_active()) {
        (true, _) => text += "  ND router advertisements are suppressed\n",
        (false, false) => text += "  ND router advertisements are not sent now\n",
        (false, true) => {
            text += &format!(
                "  ND router advertisements are sent every {} seconds (min interval is {})\n",
                c.max_interval, c.min_interval
            );
        }
    }
    let life = if c.cease { 0 } else { c.lifetime };
    text += &format!("  ND router advertisements live for {life} seconds\n");
    for (on, way) in [(c.managed, "addresses"), (c.other, "other configuration")] {
        text += &match on {
            true => format!("  Hosts use DHCPv6 for {way}\n"),
            false if way == "addresses" => "  Hosts use stateless autoconfig for addresses\n".to_string(),
            false => String::new(),
        };
    }
    let counts = s.counts;
    text += &format!("  ND router advertisements sent {}\n", counts.sent);
    text += &format!("  ND router solicitations received {}\n", counts.solicited);
    text += &format!("  ND router solicitations dropped {}\n", counts.dropped);
    text
}

pub fn interface(w: &World, m: &Matches) -> Result<Output> {
    let (mut text, mut json) = (String::new(), Vec::new());
    let (advertiser, listener, dad) = (w.get::<Advertiser>(), w.get::<Listener>(), w.get::<Dad>());
    let fib = w.get::<Fib<Ip6>>();
    for interface in chosen(w, m)? {
        let sw_if = interface.sw_if;
        if !interface.ip_enabled[1] {
            text += &format!("{} has no IPv6\n", interface.name);
            json.push(json!({ "interface": interface.name, "enabled": false }));
            continue;
        }
        let up = |up| if up { "up" } else { "down" };
        let (admin, line) = (up(interface.admin_up), up(interface.link_up));
        text += &format!("{} is admin {admin}, link {line}\n", interface.name);
        let link_local = w.get::<LinkLocals>().address(sw_if);
        let mut listed = Vec::new();
        let (mut local, mut global) = (String::new(), String::new());
        for prefix in addresses(w, sw_if) {
            let (ip, state) = (prefix.addr(), state(w, sw_if, prefix.addr()));
            let mark = if state == "preferred" { String::new() } else { format!(" [{state}]") };
            if Some(ip) == link_local {
                local += &format!("    {ip}{mark}\n");
            } else {
                global += &format!("    {ip}, subnet is {}{mark}\n", prefix.network());
            }
            listed.push(json!({ "address": prefix.to_string(), "state": state }));
        }
        let groups = listener.groups(sw_if);
        let joined: String = groups.iter().map(|g| format!("    {g}\n")).collect();
        text += &format!("  Link-local address(es):\n{local}");
        if !global.is_empty() {
            text += &format!("  Global unicast address(es):\n{global}");
        }
        text += &format!("  Joined group address(es):\n{joined}");
        let table = fib.table_id(TableIndex(interface.fib6)).unwrap_or(0);
        text += &format!("  table is {table}\n  MTU is {}\n", interface.mtu_of(MtuKind::Ip6));
        text += if dad.settings().enabled { "  ND DAD is enabled\n" } else { "  ND DAD is disabled\n" };
        let link = advertiser.link(sw_if);
        text += &ra_text(w, &link);
        json.push(json!({
            "interface": interface.name,
            "sw_if_index": sw_if.0,
            "enabled": true,
            "table": table,
            "link_local": link_local.map(|ip| ip.to_string()),
            "admin_up": interface.admin_up,
            "link_up": interface.link_up,
            "addresses": listed,
            "groups": groups.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "mtu": interface.mtu_of(MtuKind::Ip6),
            "dad": dad.settings().enabled,
            "ra": ra_json(w, &interface, &link),
        }));
    }
    Ok(Output::both(text, Value::Array(json)))
}

pub fn ra(w: &World, m: &Matches) -> Result<Output> {
    let (mut text, mut json) = (String::new(), Vec::new());
    for interface in chosen(w, m)? {
        let link = w.get::<Advertiser>().link(interface.sw_if);
        text += &format!("{}:\n{}", interface.name, ra_text(w, &link));
        json.push(ra_json(w, &interface, &link));
    }
    Ok(Output::both(text, Value::Array(json)))
}

pub fn dad(w: &World, _: &Matches) -> Result<Output> {
    let (dad, interfaces) = (w.get::<Dad>(), w.get::<Interfaces>());
    let settings = dad.settings();
    let mut text = format!(
        "DAD: {}, transmits {}, delay {} s\n",
        if settings.enabled { "enabled" } else { "disabled" },
        settings.transmits,
        settings.delay
    );
    let mut json = Vec::new();
    for (sw_if, ip, state) in dad.list() {
        let (word, sent) = match state {
            State::Tentative { sent, .. } => ("tentative", sent),
            State::Duplicate => ("duplicate", 0),
        };
        let name = interfaces.name(sw_if);
        text += &format!("  {name} {ip} {word}");
        text += &if word == "tentative" { format!(", {sent} sent\n") } else { "\n".into() };
        json.push(json!({ "interface": name, "address": ip.to_string(), "state": word, "sent": sent }));
    }
    let json = json!({
        "enabled": settings.enabled,
        "transmits": settings.transmits,
        "delay": settings.delay,
        "addresses": json,
    });
    Ok(Output::both(text, json))
}

pub fn autoconfig(w: &World, m: &Matches) -> Result<Output> {
    let only = if m.has("interface") { Some(interface_of(w, m)?) } else { None };
    let (interfaces, now) = (w.get::<Interfaces>(), w.clock.now());
    let left = |end: Option<u64>| match end {
        Some(end) => Cell::new(
            format!("{} s", end.saturating_sub(now) / 1_000_000_000),
            end.saturating_sub(now) / 1_000_000_000,
        ),
        None => Cell::new("infinite".to_string(), Value::Null),
    };
    let mut table =
        Table::new().left("Interface").left("What").left("Address").right("Valid").right("Preferred");
    for (sw_if, link) in w.get::<Receiver>().list() {
        if only.is_some_and(|only| only != sw_if) {
            continue;
        }
        let name = interfaces.name(sw_if);
        for (address, lease) in link.addresses {
            let row = [left(lease.valid), left(lease.preferred)];
            let [valid, preferred] = row;
            table.row([name.clone().into(), "address".into(), Cell::show(address), valid, preferred]);
        }
        for (ip, router) in link.routers {
            let preference = match router.preference {
                1 => "high",
                -1 => "low",
                _ => "medium",
            };
            table.row([
                name.clone().into(),
                "router".into(),
                Cell::show(ip),
                left(Some(router.until)),
                preference.into(),
            ]);
        }
    }
    Ok(table.into())
}

pub fn proxy(w: &World, _: &Matches) -> Result<Output> {
    let (proxies, interfaces) = (w.get::<Proxies>(), w.get::<Interfaces>());
    let hosts = proxies.hosts();
    let all: Vec<String> = proxies.enabled().into_iter().map(|i| interfaces.name(i)).collect();
    let mut text = String::new();
    for (sw_if, ip) in &hosts {
        text += &format!("{ip} behind {}\n", interfaces.name(*sw_if));
    }
    text += &format!(
        "All that are routed elsewhere: {}\n",
        if all.is_empty() { "nowhere".into() } else { all.join(" ") }
    );
    let json = json!({
        "hosts": hosts.iter().map(|(i, ip)| json!({"address": ip.to_string(), "interface": interfaces.name(*i)})).collect::<Vec<_>>(),
        "interfaces": all,
    });
    Ok(Output::both(text, json))
}
