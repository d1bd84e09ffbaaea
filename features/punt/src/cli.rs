// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::config::describe;
use crate::control;
use crate::redirect;
use crate::state::{Destination, Key, Punt};
use cli::{Cell, Command, Error, Matches, Output, Result, Table, Writer, retval};
use graph::World;
use net::Interfaces;
use std::net::IpAddr;
use std::path::PathBuf;

const REDIRECT: &str =
    "{add|del} rx {all|<interface:interface>} [via {drop | [<nexthop:ip>] <out:interface>}]";
const REDIRECTS: &str = "Send what is punted to another router";

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "set punt",
        usage: "([ipv4|ip4|ipv6|ip6] [udp|tcp|protocol] [del] {all|<number:u16>})",
        help: "Punt packets for us to a port, or of a protocol",
        run: set,
    },
    Command {
        path: "punt socket register",
        usage: "{{exception <reason:word>} {socket <socket:string>} | ([ipv4|ip4|ipv6|ip6] [udp|tcp|protocol] {all|<number:u16>} {socket <socket:string>})}",
        help: "Punt packets to a client's Unix datagram socket",
        run: register,
    },
    Command {
        path: "punt socket deregister",
        usage: "{exception <reason:word> | ([ipv4|ip4|ipv6|ip6] [udp|tcp|protocol] {all|<number:u16>})}",
        help: "Punt packets to a client's socket no longer",
        run: deregister,
    },
    Command {
        path: "show punt socket registrations",
        usage: "[l4|ip|exception]",
        help: "Sockets of clients, and what is punted to them",
        run: sockets,
    },
    Command {
        path: "show punt client",
        usage: "",
        help: "Sockets of clients that take reasons",
        run: clients,
    },
    Command {
        path: "show punt reasons",
        usage: "",
        help: "Reasons that packets are punted for",
        run: reasons,
    },
    Command { path: "show punt db", usage: "", help: "All that is punted, and where to", run: db },
    Command {
        path: "show punt stats",
        usage: "",
        help: "Packets that were punted, by reason, and those to and from clients",
        run: stats,
    },
    Command {
        path: "ip punt redirect",
        usage: REDIRECT,
        help: REDIRECTS,
        run: |w, m| set_redirect(w, m, false),
    },
    Command {
        path: "ip6 punt redirect",
        usage: REDIRECT,
        help: REDIRECTS,
        run: |w, m| set_redirect(w, m, true),
    },
    Command {
        path: "show ip punt redirect",
        usage: "",
        help: "Where punted IPv4 packets are sent",
        run: |w, _| redirects(w, false),
    },
    Command {
        path: "show ip6 punt redirect",
        usage: "",
        help: "Where punted IPv6 packets are sent",
        run: |w, _| redirects(w, true),
    },
    Command {
        path: "ip punt policer",
        usage: "[add|del] <index:u32>",
        help: "Police punted packets: not built yet",
        run: |_, _| no_policer(),
    },
    Command {
        path: "ip6 punt policer",
        usage: "[add|del] <index:u32>",
        help: "Police punted packets: not built yet",
        run: |_, _| no_policer(),
    },
];

fn no_policer() -> Result<Output> {
    Err(Error::unsupported("policers aren't built yet"))
}

fn key(w: &World, m: &Matches) -> Result<Key> {
    if m.has("reason") {
        return control::find_reason(w, m.str("reason"))
            .map(Key::Reason)
            .map_err(|e| e.at(m.span("reason")));
    }
    let (v6, number) = (m.flag("ip6") || m.flag("ipv6"), m.opt::<u16>("number")?);
    if m.flag("protocol") {
        let wrong = || Error::parse("expected a protocol, from 0 to 255");
        let protocol = number.and_then(|n| u8::try_from(n).ok()).ok_or_else(wrong)?;
        return Ok(Key::Protocol { v6, protocol });
    }
    Ok(if m.flag("tcp") { Key::Tcp { v6, port: number } } else { Key::Udp { v6, port: number } })
}

fn set(w: &World, m: &Matches) -> Result<Output> {
    let key = key(w, m)?;
    if m.flag("del") {
        control::delete(w, key, false)?
    } else {
        control::add(w, key, Destination::Punt)?
    }
    Ok(Output::empty())
}

fn register(w: &World, m: &Matches) -> Result<Output> {
    let path = PathBuf::from(m.str("socket"));
    control::register(w, key(w, m)?, &path)
        .map_err(|e| if e.is(retval::INVALID_VALUE) { e.at(m.span("socket")) } else { e })?;
    Ok(Output::empty())
}

fn deregister(w: &World, m: &Matches) -> Result<Output> {
    control::delete(w, key(w, m)?, true)?;
    Ok(Output::empty())
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

fn set_redirect(w: &World, m: &Matches, v6: bool) -> Result<Output> {
    let find = |name: &str| w.get::<Interfaces>().find(m.str(name)).map_err(|e| e.at(m.span(name)));
    let rx = m.has("interface").then(|| find("interface")).transpose()?;
    if m.flag("del") {
        redirect::delete(w, v6, rx)?;
        return Ok(Output::empty());
    }
    if m.flag("drop") {
        redirect::add(w, v6, rx, None)?;
        return Ok(Output::empty());
    }
    if !m.has("out") {
        return Err(Error::parse("expected `via' and where punted packets are sent"));
    }
    let nexthop: Option<IpAddr> = m.opt("nexthop")?;
    redirect::add(w, v6, rx, Some(redirect::Via { tx: find("out")?, nexthop }))?;
    Ok(Output::empty())
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
