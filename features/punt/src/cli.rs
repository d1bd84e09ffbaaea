// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control;
use crate::redirect::{self, RedirectTable, Via};
use crate::state::{Destination, Key, Punt};
use cli::{Cell, Command, Error, Matches, Output, Result, Table, quote, retval};
use graph::{Phase, RunningConfig, World};
use net::args::{given_interface, interface};
use net::{Interfaces, TableIndex};
use std::net::IpAddr;
use std::path::PathBuf;

const REDIRECT: &str =
    "{add|del} rx {all|<interface:interface>} [via {drop | [<nexthop:ip>] <out:interface>}]";

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Punt packets for us to a port, or of a protocol
    "set punt", "([ipv4|ip4|ipv6|ip6] [udp|tcp|protocol] [del] {all|<number:u16>})" => set;
    /// Punt packets to a client's Unix datagram socket
    "punt socket register",
    "{{exception <reason:word>} {socket <socket:string>} | ([ipv4|ip4|ipv6|ip6] [udp|tcp|protocol] {all|<number:u16>} {socket <socket:string>})}"
        => register;
    /// Punt packets to a client's socket no longer
    "punt socket deregister",
    "{exception <reason:word> | ([ipv4|ip4|ipv6|ip6] [udp|tcp|protocol] {all|<number:u16>})}"
        => |w, m| control::delete(w, key(w, m)?, true);
    /// Sockets of clients, and what is punted to them
    "show punt socket registrations", "[l4|ip|exception]" => sockets;
    /// Sockets of clients that take reasons
    "show punt client" => |w, _| registrations(w, |key, _| matches!(key, Key::Reason(_)));
    /// Reasons that packets are punted for
    "show punt reasons" => reasons;
    /// All that is punted, and where to
    "show punt db" => |w, _| registrations(w, |_, _| true);
    /// Packets that were punted, by reason, and those to and from clients
    "show punt stats" => stats;
    /// Send what is punted to another router
    "ip punt redirect", REDIRECT => |w, m| set_redirect(w, m, false);
    /// Send what is punted to another router
    "ip6 punt redirect", REDIRECT => |w, m| set_redirect(w, m, true);
    /// Where punted IPv4 packets are sent
    "show ip punt redirect" => |w, _| redirects(w, false);
    /// Where punted IPv6 packets are sent
    "show ip6 punt redirect" => |w, _| redirects(w, true);
    /// Police punted packets: not built yet
    "ip punt policer", "[add|del] <index:u32>" => |_, _| no_policer();
    /// Police punted packets: not built yet
    "ip6 punt policer", "[add|del] <index:u32>" => |_, _| no_policer();
};

fn no_policer() -> Result<Output> {
    Err(Error::unsupported("policers aren't built yet"))
}

fn key(w: &World, m: &Matches) -> Result<Key> {
    if m.has("reason") {
        return control::find_reason(w, m.str("reason")).map(Key::Reason).map_err(m.at("reason"));
    }
    let (v6, number) = (m.flag("ip6") || m.flag("ipv6"), m.opt::<u16>("number")?);
    if m.flag("protocol") {
        let wrong = || Error::parse("expected a protocol, from 0 to 255");
        let protocol = number.and_then(|n| u8::try_from(n).ok()).ok_or_else(wrong)?;
        return Ok(Key::Protocol { v6, protocol });
    }
    Ok(if m.flag("tcp") { Key::Tcp { v6, port: number } } else { Key::Udp { v6, port: number } })
}

fn set(w: &World, m: &Matches) -> Result<()> {
    let key = key(w, m)?;
    if m.flag("del") {
        control::delete(w, key, false)
    } else {
        control::add(w, key, Destination::Punt)
    }
}

fn register(w: &World, m: &Matches) -> Result<()> {
    let path = PathBuf::from(m.str("socket"));
    control::register(w, key(w, m)?, &path)
        .map_err(|e| if e.is(retval::INVALID_VALUE) { e.at(m.span("socket")) } else { e })?;
    Ok(())
}

/// Lists the punted packets that `which` selects, and their destinations.
fn registrations(
    w: &World,
    which: impl Fn(&Key, &Destination) -> bool + 'static,
) -> Result<Output> {
    Ok(cli::columns!(w.get::<Punt>().list(), |w: &World, (key, destination)| {
        let wanted = which(&key, &destination).then_some(destination)?;
        "what" => describe(w, key),
        "to" => match wanted {
            Destination::Punt => "punt".to_string(),
            Destination::Socket(path) => path.display().to_string(),
        },
    }))
}

fn sockets(w: &World, m: &Matches) -> Result<Output> {
    let only = ["l4", "ip", "exception"].into_iter().find(|kind| m.flag(kind));
    registrations(w, move |key, destination| {
        let kind = match key {
            Key::Udp { .. } | Key::Tcp { .. } => "l4",
            Key::Protocol { .. } => "ip",
            Key::Reason(_) => "exception",
        };
        *destination != Destination::Punt && only.is_none_or(|only| only == kind)
    })
}

fn reasons(w: &World, _: &Matches) -> Result<Output> {
    Ok(cli::columns!(crate::reasons(w), |_: &World, reason| {
        "id" right => reason.id,
        "name" => reason.name,
        "text" => reason.text,
    }))
}

fn stats(w: &World, _: &Matches) -> Result<Output> {
    let punt = w.get::<Punt>();
    let mut table = Table::new().left("what").right("packets").right("bytes");
    for reason in crate::reasons(w) {
        let (packets, bytes) = punt.counters.sum(reason.id as usize);
        if packets > 0 {
            let name = if reason.id == 0 { "by port or protocol".into() } else { reason.name };
            table.row([name.into(), packets.into(), bytes.into()]);
        }
    }
    for (name, n) in punt.counts.list() {
        table.row([name.into(), n.into(), Cell::empty()]);
    }
    Ok(table.into())
}

fn set_redirect(w: &World, m: &Matches, v6: bool) -> Result<()> {
    let rx = given_interface(w, m, "interface")?;
    if m.flag("del") {
        return redirect::delete(w, v6, rx);
    }
    if m.flag("drop") {
        return redirect::add(w, v6, rx, None);
    }
    if !m.has("out") {
        return Err(Error::parse("expected `via' and where punted packets are sent"));
    }
    let nexthop: Option<IpAddr> = m.opt("nexthop")?;
    let tx = interface(w, m, "out")?;
    m.note(|| net::notes::own_next_hop(w, nexthop?, Some(tx), TableIndex::DEFAULT));
    redirect::add(w, v6, rx, Some(Via { tx, nexthop }))
}

fn redirects(w: &World, v6: bool) -> Result<Output> {
    Ok(cli::columns!(w.get::<RedirectTable>().list(v6), |w: &World, (rx, redirect)| {
        let name = |sw_if| w.get::<Interfaces>().name(sw_if);
        "rx" => rx.map_or("all".into(), name),
        "via" => redirect.via.and_then(|via| via.nexthop).map_or_else(Cell::empty, Cell::show),
        "interface" => redirect.via.map_or("drop".into(), |via| name(via.tx)),
    }))
}

/// Writes the punt registrations and redirects.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Punt>().list(), |world, (key, destination), lines| {
        let what = describe(world, key);
        let (text, undo) = match destination {
            Destination::Punt => {
                let (ip, rest) = what.split_once(' ').unwrap_or((&what, ""));
                let (kind, number) = rest.split_once(' ').unwrap_or((rest, ""));
                (
                    format!("set punt {ip} {kind} {number}"),
                    format!("set punt {ip} {kind} del {number}"),
                )
            }
            Destination::Socket(path) => (
                format!("punt socket register {what} socket {}", quote(&path.to_string_lossy())),
                format!("punt socket deregister {what}"),
            ),
        };
        lines.push(text, undo);
    });
    for (ip, v6) in [("ip", false), ("ip6", true)] {
        let redirects = world.get::<RedirectTable>().list(v6);
        let redirects: Vec<_> =
            redirects.into_iter().filter(|(_, redirect)| !redirect.is_owned).collect();
        config.list(Phase::FEATURES, redirects, move |world, (rx, redirect), lines| {
            let name = |sw_if| world.get::<Interfaces>().word(sw_if);
            let rx = rx.map_or("all".to_string(), name);
            let via = match redirect.via {
                Some(Via { tx, nexthop: Some(addr) }) => format!("{addr} {}", name(tx)),
                Some(Via { tx, nexthop: None }) => name(tx),
                None => "drop".into(),
            };
            let line = format!("{ip} punt redirect");
            let add = format!("{line} add rx {rx} via {via}");
            lines.push(add, format!("{line} del rx {rx}"));
        });
    }
}

/// Returns the packets of a registration as in commands.
pub fn describe(world: &World, key: Key) -> String {
    let ip = |v6| if v6 { "ipv6" } else { "ipv4" };
    let number = |port: Option<u16>| port.map_or("all".to_string(), |port| port.to_string());
    match key {
        Key::Udp { v6, port } => format!("{} udp {}", ip(v6), number(port)),
        Key::Tcp { v6, port } => format!("{} tcp {}", ip(v6), number(port)),
        Key::Protocol { v6, protocol } => format!("{} protocol {protocol}", ip(v6)),
        Key::Reason(id) => {
            let reason = crate::reasons(world).into_iter().find(|reason| reason.id == id);
            format!("exception {}", reason.map_or(id.to_string(), |reason| reason.name))
        }
    }
}
