// SPDX-License-Identifier: Apache-2.0
//! The commands of the client, and the lines that save what they set.

use super::client::Clients;
use super::machine::{Lease, State};
use super::status::{Config, Status};
use crate::lifetime::seconds_until;
use cli::{Cell, Error, Matches, Output, Result, Table, Writer, quote};
use graph::{Phase, RunningConfig, World};
use net::Interfaces;
use net::args::{given_interface, interface};
use serde_json::{Value, json};
use std::fmt::{self, Write};
use std::net::Ipv4Addr;

/// The usage of `set dhcp client`.
pub const CLIENT: &str = "[del] {intfc <interface:interface>} [hostname <hostname:string>] \
     [client-id <id:string> | client-id-hex <hex:string>] [tos <tos:u8>] [no-broadcast]";

/// Bytes of hexadecimal digits.
pub fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let is_hex = digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit);
    is_hex.then(|| digits.chunks(2).map(pair).collect()).flatten()
}

/// `set dhcp client`.
pub fn set(w: &World, m: &Matches) -> Result<()> {
    let (clients, sw_if) = (w.get::<Clients>(), interface(w, m, "interface")?);
    if m.flag("del") {
        return clients.remove(w, sw_if).map_err(m.at("interface"));
    }
    let text = |name: &str| if m.has(name) { m.str(name) } else { "" };
    let client_id = match m.has("hex") {
        true => bytes_of(m.str("hex")).ok_or_else(|| {
            Error::parse("expected pairs of hexadecimal digits").at(m.span("hex"))
        })?,
        false => text("id").as_bytes().to_vec(),
    };
    let config = Config {
        hostname: text("hostname").into(),
        client_id,
        broadcast: !m.flag("no-broadcast"),
        tos: m.opt("tos")?.unwrap_or(0),
    };
    clients.add(w, sw_if, config, None).map_err(m.at("interface"))
}

/// The state's name, as VPP's.
fn state(status: &Status) -> &'static str {
    match status.state {
        State::Discover => "DHCP_DISCOVER",
        State::Request { .. } => "DHCP_REQUEST",
        State::Bound(_) => "DHCP_BOUND",
    }
}

/// Seconds until a time.
fn until(now: u64, then: Option<u64>) -> Option<u64> {
    then.map(|then| seconds_until(now, then))
}

fn addresses(all: &[Ipv4Addr]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// `show dhcp client`.
pub fn show(w: &World, m: &Matches) -> Result<Output> {
    let only = given_interface(w, m, "interface")?;
    let all = w.get::<Clients>().list();
    let all: Vec<_> = all.into_iter().filter(|s| only.is_none_or(|only| s.sw_if == only)).collect();
    if m.flag("verbose") {
        return Ok(Output::list(all, |w: &World, status: Status, out: &mut Writer| {
            out.text(|text| write_verbose(w, &status, text));
            out.value(|| value(w, &status));
            Ok(())
        }));
    }
    let table = Table::new().left("Interface").left("State").left("Address").left("Router");
    let table = table.left("Server").left("Name servers");
    Ok(table.list(all, |w: &World, status: Status, out: &mut Writer| {
        let grant = status.lease().map(|lease| &lease.grant);
        let ip = |ip: Option<Ipv4Addr>| ip.map_or("-".to_string(), |ip| ip.to_string());
        out.text_row(|| {
            let row = [
                w.get::<Interfaces>().name(status.sw_if),
                state(&status).to_string(),
                grant.map_or("-".to_string(), |grant| grant.address.to_string()),
                ip(grant.and_then(|grant| grant.router)),
                ip(grant.and_then(|grant| grant.server)),
                grant.map_or_else(String::new, |grant| addresses(&grant.domain_servers)),
            ];
            row.into_iter().map(Cell::from).collect::<Vec<_>>()
        });
        out.value(|| value(w, &status));
        Ok(())
    }))
}

fn write_verbose(w: &World, status: &Status, text: &mut String) -> fmt::Result {
    let now = w.clock.now();
    let name = w.get::<Interfaces>().name(status.sw_if);
    writeln!(text, "{name}: state {}", state(status))?;
    let Config { hostname, client_id, broadcast, tos } = &status.config;
    writeln!(text, "  hostname {}, client-id {}", quote(hostname), id_words(client_id))?;
    writeln!(text, "  answers by {}, tos {tos}", if *broadcast { "broadcast" } else { "unicast" })?;
    let seconds = |s: Option<u64>| s.map_or("never".to_string(), |s| format!("in {s} s"));
    if let Some(Lease { grant, rebind, expires, .. }) = status.lease() {
        writeln!(text, "  address {}", grant.address)?;
        grant.server.map_or(Ok(()), |server| writeln!(text, "  server {server}"))?;
        for (prefix, router) in &grant.routes {
            writeln!(text, "  route {prefix} via {router}")?;
        }
        if !grant.domain_servers.is_empty() {
            writeln!(text, "  name servers {}", addresses(&grant.domain_servers))?;
        }
        let (rebinds, ends) = (until(now, *rebind), until(now, *expires));
        writeln!(text, "  rebinds {}, ends {}", seconds(rebinds), seconds(ends))?;
    }
    writeln!(text, "  next event {}", seconds(until(now, status.due)))
}

fn value(w: &World, status: &Status) -> Value {
    let now = w.clock.now();
    let Config { hostname, client_id, broadcast, tos } = &status.config;
    let lease = status.lease();
    let grant = lease.map(|lease| &lease.grant);
    let routes = grant.map(|grant| {
        let route = |(prefix, router): &(wire::Ip4Prefix, Ipv4Addr)| {
            json!({ "prefix": prefix.to_string(), "router": router.to_string() })
        };
        grant.routes.iter().map(route).collect::<Vec<_>>()
    });
    json!({
        "interface": w.get::<Interfaces>().name(status.sw_if),
        "sw_if_index": status.sw_if.0,
        "state": state(status),
        "hostname": hostname,
        "client_id": hex(client_id),
        "broadcast": broadcast,
        "tos": tos,
        "address": grant.map(|grant| grant.address.to_string()),
        "router": grant.and_then(|grant| grant.router),
        "server": grant.and_then(|grant| grant.server),
        "routes": routes,
        "name_servers": grant.map(|grant| &grant.domain_servers),
        "rebinds_in_seconds": lease.and_then(|lease| until(now, lease.rebind)),
        "ends_in_seconds": lease.and_then(|lease| until(now, lease.expires)),
        "next_event_in_seconds": until(now, status.due),
    })
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// An identifier as a word: quoted text, or hexadecimal digits.
fn id_words(id: &[u8]) -> String {
    match std::str::from_utf8(id) {
        Ok(text) if !text.contains(char::is_control) => quote(text),
        _ => format!("0x{}", hex(id)),
    }
}

/// Writes the clients' configuration; leases aren't saved.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Clients>().list(), |world, status, lines| {
        let name = world.get::<Interfaces>().word(status.sw_if);
        let Config { hostname, client_id, broadcast, tos } = &status.config;
        let mut line = format!("set dhcp client intfc {name}");
        if !hostname.is_empty() {
            line += &format!(" hostname {}", quote(hostname));
        }
        match std::str::from_utf8(client_id) {
            Ok("") => {}
            Ok(text) if !text.contains(char::is_control) => {
                line += &format!(" client-id {}", quote(text));
            }
            _ => line += &format!(" client-id-hex {}", hex(client_id)),
        }
        if *tos != 0 {
            line += &format!(" tos {tos}");
        }
        if !broadcast {
            line += " no-broadcast";
        }
        lines.push(line, format!("set dhcp client del intfc {name}"));
    });
}
