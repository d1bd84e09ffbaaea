// SPDX-License-Identifier: Apache-2.0
//! Commands that show.

use crate::dad::{Dad, State};
use crate::local::listed;
use crate::mld::Listener;
use crate::proxy::Proxies;
use crate::ra::{Advertiser, Link};
use crate::rd::Receiver;
use cli::{Cell, Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::args::given_interface;
use net::fib::Fib;
use net::{FurtherMacs, Interface, Interfaces, IpBinding, LinkLocals, MtuKind};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use wire::nd::PrefixInfo;
use wire::{Ip6, MacAddr};

/// A row for each of the interfaces with IPv6, or for the one that is asked for.
fn of_interfaces(
    w: &World,
    m: &Matches,
    row: impl Fn(&World, &Interface, &mut Writer) + 'static,
) -> Result<Output> {
    let interfaces = w.get::<Interfaces>();
    let only = given_interface(w, m, "interface")?;
    let chosen = only.is_none().then(|| interfaces.indices()).into_iter().flatten().chain(only);
    Ok(Output::list(chosen, move |w: &World, sw_if, out: &mut Writer| {
        if let Ok(interface) = interfaces.get(sw_if)
            && (IpBinding::of(w, sw_if).is_enabled::<Ip6>() || only.is_some())
        {
            row(w, &interface, out);
        }
        Ok(())
    }))
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

/// The router advertisements of an interface, line by line.
fn ra_text(w: &World, link: &Link) -> String {
    let (c, s, now) = (&link.config, &link.schedule, w.clock.now());
    let mut text = String::from("  Advertised Prefixes:\n");
    for (prefix, p) in &c.prefixes {
        let (valid, preferred) =
            (lifetime(p.left(p.valid, now)), lifetime(p.left(p.preferred, now)));
        text +=
            &format!("    prefix {prefix}, valid lifetime {valid}, preferred lifetime {preferred}");
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
            false if way == "addresses" => {
                "  Hosts use stateless autoconfig for addresses\n".to_string()
            }
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
    of_interfaces(w, m, write_interface)
}

fn write_interface(w: &World, interface: &Interface, out: &mut Writer) {
    let (advertiser, listener, dad) = (w.get::<Advertiser>(), w.get::<Listener>(), w.get::<Dad>());
    let (sw_if, ip) = (interface.sw_if, IpBinding::of(w, interface.sw_if));
    if !ip.is_enabled::<Ip6>() {
        out.text(|text| *text += &format!("{} has no IPv6\n", interface.name));
        return out.value(|| json!({ "interface": interface.name, "enabled": false }));
    }
    let link_local = w.get::<LinkLocals>().address(sw_if);
    let addresses: Vec<_> = listed(w, sw_if)
        .into_iter()
        .map(|prefix| (prefix, state(w, sw_if, prefix.addr())))
        .collect();
    let groups = listener.groups(sw_if);
    let table = w.get::<Fib<Ip6>>().table_id(ip.table::<Ip6>()).unwrap_or(0);
    let link = advertiser.link(sw_if);
    out.text(|text| {
        let up = |up| if up { "up" } else { "down" };
        let (admin, line) = (up(interface.admin_up), up(interface.link_up));
        *text += &format!("{} is admin {admin}, link {line}\n", interface.name);
        let (mut local, mut global) = (String::new(), String::new());
        for (prefix, state) in &addresses {
            let ip = prefix.addr();
            let mark = if *state == "preferred" { String::new() } else { format!(" [{state}]") };
            if Some(ip) == link_local {
                local += &format!("    {ip}{mark}\n");
            } else {
                global += &format!("    {ip}, subnet is {}{mark}\n", prefix.network());
            }
        }
        let joined: String = groups.iter().map(|g| format!("    {g}\n")).collect();
        *text += &format!("  Link-local address(es):\n{local}");
        if !global.is_empty() {
            *text += &format!("  Global unicast address(es):\n{global}");
        }
        *text += &format!("  Joined group address(es):\n{joined}");
        *text += &format!("  table is {table}\n  MTU is {}\n", interface.mtu_of(MtuKind::Ip6));
        *text +=
            if dad.settings().enabled { "  ND DAD is enabled\n" } else { "  ND DAD is disabled\n" };
        *text += &ra_text(w, &link);
    });
    out.value(|| {
        let listed =
            addresses.iter().map(|(p, state)| json!({ "address": p.to_string(), "state": state }));
        json!({
            "interface": interface.name,
            "sw_if_index": sw_if.0,
            "enabled": true,
            "table": table,
            "link_local": link_local.map(|ip| ip.to_string()),
            "admin_up": interface.admin_up,
            "link_up": interface.link_up,
            "addresses": listed.collect::<Vec<_>>(),
            "groups": groups.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "mtu": interface.mtu_of(MtuKind::Ip6),
            "dad": dad.settings().enabled,
            "ra": ra_json(w, interface, &link),
        })
    });
}

pub fn stations(w: &World, m: &Matches) -> Result<Output> {
    of_interfaces(w, m, |w, interface, out| {
        let groups = w.get::<Listener>().groups(interface.sw_if).into_iter();
        let further = w.get::<FurtherMacs>().list(interface.sw_if);
        let stations = groups.map(MacAddr::ip6_multicast).chain(further);
        let stations: BTreeSet<_> = stations.map(|mac| mac.to_string()).collect();
        out.text(|text| {
            *text += &format!("{}:\n", interface.name);
            *text += &stations.iter().map(|mac| format!("  {mac}\n")).collect::<String>();
        });
        out.value(|| json!({ "interface": interface.name, "addresses": stations }));
    })
}

pub fn ra(w: &World, m: &Matches) -> Result<Output> {
    of_interfaces(w, m, |w, interface, out| {
        let link = w.get::<Advertiser>().link(interface.sw_if);
        out.text(|text| *text += &format!("{}:\n{}", interface.name, ra_text(w, &link)));
        out.value(|| ra_json(w, interface, &link));
    })
}

pub fn dad(w: &World, _: &Matches) -> Result<Output> {
    let settings = w.get::<Dad>().settings();
    let items = [None].into_iter().chain(w.get::<Dad>().list().into_iter().map(Some));
    Ok(Output::record(items, move |w: &World, item, out: &mut Writer| {
        let Some((sw_if, ip, state)) = item else {
            let on = if settings.enabled { "enabled" } else { "disabled" };
            let (transmits, delay) = (settings.transmits, settings.delay);
            let local = if settings.link_local { ", link-local addresses too" } else { "" };
            out.text(|text| {
                *text += &format!("DAD: {on}, transmits {transmits}, delay {delay} s{local}\n")
            });
            out.field("enabled", settings.enabled);
            out.field("link_local", settings.link_local);
            out.field("transmits", transmits);
            out.field("delay", delay);
            out.array("addresses");
            return Ok(());
        };
        let (word, sent) = match state {
            State::Tentative { sent, .. } => ("tentative", sent),
            State::Duplicate => ("duplicate", 0),
        };
        let name = w.get::<Interfaces>().name(sw_if);
        out.text(|text| {
            *text += &format!("  {name} {ip} {word}");
            *text += &if word == "tentative" { format!(", {sent} sent\n") } else { "\n".into() };
        });
        out.value(
            || json!({ "interface": name, "address": ip.to_string(), "state": word, "sent": sent }),
        );
        Ok(())
    }))
}

pub fn autoconfig(w: &World, m: &Matches) -> Result<Output> {
    let only = given_interface(w, m, "interface")?;
    let table = Table::new()
        .left("Interface")
        .left("What")
        .left("Address")
        .right("Valid")
        .right("Preferred");
    Ok(table.list(w.get::<Receiver>().list(), move |w: &World, (sw_if, link), out: &mut Writer| {
        if only.is_some_and(|only| only != sw_if) {
            return Ok(());
        }
        let (name, now) = (w.get::<Interfaces>().name(sw_if), w.clock.now());
        let left = |end: Option<u64>| match end {
            Some(end) => {
                let seconds = end.saturating_sub(now) / 1_000_000_000;
                Cell::new(format!("{seconds} s"), seconds)
            }
            None => Cell::new("infinite".to_string(), Value::Null),
        };
        for (address, lease) in link.addresses {
            let [valid, preferred] = [left(lease.valid), left(lease.preferred)];
            out.row([name.clone().into(), "address".into(), Cell::show(address), valid, preferred]);
        }
        for (ip, router) in link.routers {
            let preference = match router.preference {
                1 => "high",
                -1 => "low",
                _ => "medium",
            };
            let until = left(Some(router.until));
            out.row([
                name.clone().into(),
                "router".into(),
                Cell::show(ip),
                until,
                preference.into(),
            ]);
        }
        Ok(())
    }))
}

pub fn proxy(w: &World, _: &Matches) -> Result<Output> {
    enum Part {
        Head,
        Host(SwIfIndex, Ipv6Addr),
        Interfaces,
        Interface(SwIfIndex),
        Tail,
    }
    let proxies = w.get::<Proxies>();
    let hosts = proxies.hosts().into_iter().map(|(sw_if, ip)| Part::Host(sw_if, ip));
    let interfaces = proxies.enabled().into_iter().map(Part::Interface);
    let parts = [Part::Head].into_iter().chain(hosts);
    let parts = parts.chain([Part::Interfaces]).chain(interfaces).chain([Part::Tail]);
    let mut names = String::new();
    Ok(Output::record(parts, move |w: &World, part, out: &mut Writer| {
        let name = |sw_if| w.get::<Interfaces>().name(sw_if);
        match part {
            Part::Head => out.array("hosts"),
            Part::Host(sw_if, ip) => {
                out.text(|text| *text += &format!("{ip} behind {}\n", name(sw_if)));
                out.value(|| json!({ "address": ip.to_string(), "interface": name(sw_if) }));
            }
            Part::Interfaces => {
                out.end();
                out.array("interfaces");
            }
            Part::Interface(sw_if) => {
                names.push(' ');
                names += &name(sw_if);
                out.value(|| name(sw_if));
            }
            Part::Tail => out.text(|text| {
                let names = if names.is_empty() { " nowhere" } else { &names };
                *text += &format!("All that are routed elsewhere:{names}\n");
            }),
        }
        Ok(())
    }))
}
