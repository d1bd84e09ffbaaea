// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::config::describe;
use crate::control;
use crate::redirect;
use crate::state::{Destination, Key, Punt};
use cli::{Cell, Command, Error, Matches, Output, Result, Table, Writer, retval};
use graph::World;
use net::Interfaces;
use net::args::{given_interface, interface};
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
        => deregister;
    /// Sockets of clients, and what is punted to them
    "show punt socket registrations", "[l4|ip|exception]" => sockets;
    /// Sockets of clients that take reasons
    "show punt client" => clients;
    /// Reasons that packets are punted for
    "show punt reasons" => reasons;
    /// All that is punted, and where to
    "show punt db" => db;
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
        control::delete(w, key, false)?
    } else {
        control::add(w, key, Destination::Punt)?
    }
    Ok(())
}

fn register(w: &World, m: &Matches) -> Result<()> {
    let path = PathBuf::from(m.str("socket"));
    control::register(w, key(w, m)?, &path)
        .map_err(|e| if e.is(retval::INVALID_VALUE) { e.at(m.span("socket")) } else { e })?;
    Ok(())
}

fn deregister(w: &World, m: &Matches) -> Result<()> {
    control::delete(w, key(w, m)?, true)
}

/// Lists the punted packets that `which` selects, and their destinations.
fn registrations(
    w: &World,
    which: impl Fn(&Key, &Destination) -> bool + 'static,
) -> Result<Output> {
    let table = Table::new().left("what").left("to");
    Ok(table.list(
        w.get::<Punt>().list(),
        move |w: &World, (key, destination), out: &mut Writer| {
            if which(&key, &destination) {
                let to = match destination {
                    Destination::Punt => "punt".to_string(),
                    Destination::Socket(path) => path.display().to_string(),
                };
                out.row([describe(w, key).into(), to.into()]);
            }
            Ok(())
        },
    ))
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

fn clients(w: &World, _: &Matches) -> Result<Output> {
    registrations(w, |key, _| matches!(key, Key::Reason(_)))
}

fn db(w: &World, _: &Matches) -> Result<Output> {
    registrations(w, |_, _| true)
}

fn reasons(w: &World, _: &Matches) -> Result<Output> {
    let mut table = Table::new().right("id").left("name").left("text");
    for reason in crate::reasons(w) {
        table.row([reason.id.into(), reason.name.into(), reason.text.into()]);
    }
    Ok(table.into())
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
    redirect::add(w, v6, rx, Some(redirect::Via { tx: interface(w, m, "out")?, nexthop }))
}

fn redirects(w: &World, v6: bool) -> Result<Output> {
    let table = Table::new().left("rx").left("via").left("interface");
    Ok(table.list(
        w.get::<redirect::RedirectTable>().list(v6),
        |w: &World, (rx, redirect), out: &mut Writer| {
            let name = |sw_if| w.get::<Interfaces>().name(sw_if);
            out.row([
                rx.map_or("all".into(), |sw_if| name(sw_if).into()),
                redirect.via.and_then(|via| via.nexthop).map_or_else(Cell::empty, Cell::show),
                redirect.via.map_or("drop".into(), |via| name(via.tx).into()),
            ]);
            Ok(())
        },
    ))
}
