// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, CheckKind, Checks, Range};
use cli::{Command, Error, Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::net::Ipv4Addr;
use wire::Ip4Prefix;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Let the hosts of a network send to these ports
    "set ip source-and-port-range-check",
    "({vrf <vrf:u32>} <network:prefix> {port <port:u16> | range <first:u16> - <last:u16>} [del])"
        => allow;
    /// Check the ports that hosts send to, in what comes in (out-vrf) and what leaves (in-vrf)
    "set interface ip source-and-port-range-check",
    "(<interface:interface> [tcp-out-vrf <tcp-out-vrf:u32>] [udp-out-vrf <udp-out-vrf:u32>] \
     [tcp-in-vrf <tcp-in-vrf:u32>] [udp-in-vrf <udp-in-vrf:u32>] [del])" => set;
    /// The ports that hosts may send to; or those of one host; or whether it may send to one
    "show ip source-and-port-range-check", "[vrf <vrf:u32> <source:ip4> [port <port:u16>]]" => show;
};

fn allow(w: &World, m: &Matches) -> Result<()> {
    let network: Ip4Prefix = m.str("network").parse().map_err(|_| {
        Error::parse("expected a network of IPv4: there is no such check for IPv6")
            .at(m.span("network"))
    })?;
    let range = match m.opt("port")? {
        Some(port) => Range::new(port, port).map_err(m.at("port"))?,
        None => Range::new(m.req("first")?, m.req("last")?).map_err(m.at("first"))?,
    };
    control::allow(w, m.req("vrf")?, network, &[range], !m.flag("del"))
}

fn set(w: &World, m: &Matches) -> Result<Output> {
    let sw_if = net::args::interface(w, m, "interface")?;
    let mut vrfs = control::Vrfs::default();
    for (vrf, kind) in vrfs.iter_mut().zip(CheckKind::ALL) {
        *vrf = m.opt(kind.name())?;
    }
    if vrfs == control::Vrfs::default() {
        let words = CheckKind::ALL.map(CheckKind::name).join(", ");
        return Err(Error::parse(format!("expected one of {words} at least")));
    }
    control::set(w, sw_if, vrfs, !m.flag("del"))?;
    if m.flag("del") {
        return Ok(Output::empty());
    }
    let known = w.get::<Checks>().list();
    let empty = |vrf: &u32| known.iter().all(|(of, ..)| of != vrf);
    let notes = vrfs.into_iter().flatten().filter(empty);
    Ok(notes
        .map(|vrf| format!("table {vrf} has no networks yet: nothing passes\n"))
        .collect::<String>()
        .into())
}

/// As people read it.
fn text(ranges: &[Range]) -> String {
    let one = |range: &Range| match range {
        Range { first, last } if first == last => first.to_string(),
        Range { first, last } => format!("{first} - {last}"),
    };
    ranges.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn show(w: &World, m: &Matches) -> Result<Output> {
    let checks = w.get::<Checks>();
    if m.has("source") {
        let (vrf, source): (u32, Ipv4Addr) = (m.req("vrf")?, m.req("source")?);
        let (network, ranges) = checks.find(vrf, source).unzip();
        let ranges = ranges.unwrap_or_default();
        if let Some(port) = m.opt::<u16>("port")? {
            let pass = ranges.iter().any(|range| range.has(port));
            let text = format!("{source} port {port} {}\n", if pass { "PASS" } else { "FAIL" });
            return Ok(Output::both(text, json!({ "source": source, "port": port, "pass": pass })));
        }
        let text = match network {
            Some(network) => format!("{source}: {} ({network})\n", text(&ranges)),
            None => format!("{source}: src address drop\n"),
        };
        let ports: Vec<_> =
            ranges.iter().map(|r| json!({ "first": r.first, "last": r.last })).collect();
        let network = network.map(|network| network.to_string());
        return Ok(Output::both(
            text,
            json!({ "source": source, "network": network, "ports": ports }),
        ));
    }
    enum Part {
        Networks,
        Network(u32, String, Vec<Range>),
        Interfaces,
        Interface(SwIfIndex, [Option<u32>; 4]),
    }
    let networks = checks.list().into_iter();
    let networks =
        networks.map(|(vrf, network, ranges)| Part::Network(vrf, network.to_string(), ranges));
    let interfaces =
        checks.interfaces().into_iter().map(|(sw_if, vrfs)| Part::Interface(sw_if, vrfs));
    let parts =
        [Part::Networks].into_iter().chain(networks).chain([Part::Interfaces]).chain(interfaces);
    Ok(Output::record(parts, |w: &World, part, out: &mut Writer| {
        match part {
            Part::Networks => {
                out.array("networks");
                out.table(&Table::new().right("vrf").left("network").left("ports"));
            }
            Part::Network(vrf, network, ranges) => {
                out.row([vrf.into(), network.into(), text(&ranges).into()])
            }
            Part::Interfaces => {
                out.text(|text| text.push('\n'));
                out.end();
                out.array("interfaces");
                let table = Table::new().left("interface");
                out.table(
                    &CheckKind::ALL.into_iter().fold(table, |table, kind| table.right(kind.name())),
                );
            }
            Part::Interface(sw_if, vrfs) => {
                let none = || cli::Cell::new("-", serde_json::Value::Null);
                let vrfs = vrfs.map(|vrf| vrf.map_or_else(none, Into::into));
                let name = w.get::<Interfaces>().name(sw_if);
                out.row(std::iter::once(name.into()).chain(vrfs));
            }
        }
        Ok(())
    }))
}
