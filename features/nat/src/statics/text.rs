// SPDX-License-Identifier: Apache-2.0
//! Mappings as commands read, show and save them.

use super::{External, LocalHost, MappingKind, StaticMapping};
use crate::key::{End, protocol_name, read_protocol};
use crate::mapping::Twice;
use cli::{Error, Matches, Result, quote};
use graph::{Phase, RunningConfig, World};
use net::Interfaces;
use net::args::given_interface;
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::Ipv4Addr;
use wire::IpProtocol;

/// Reads what hosts of the world get.
pub fn read_twice(m: &Matches) -> Twice {
    match (m.flag("twice-nat"), m.flag("self-twice-nat")) {
        (true, _) => Twice::Always,
        (_, true) => Twice::ToItself,
        _ => Twice::No,
    }
}

/// Reads a mapping of a host: `local`, `external` and their ports, `vrf`, `tag`, and what the kind
/// has of twice-nat.
///
/// # Errors
/// One port without the other, or without a protocol; a word that can't be read.
pub fn read_host(w: &World, m: &Matches) -> Result<StaticMapping> {
    let sw_if = given_interface(w, m, "interface")?;
    let external = match sw_if {
        Some(sw_if) => External::Interface(sw_if),
        None => External::Address(m.req("address")?),
    };
    let ports = (m.opt::<u16>("local-port")?, m.opt::<u16>("port")?);
    let protocol = read_protocol(m);
    let (local_port, port) = match (ports, protocol.0) {
        ((None, None), 0) => (0, 0),
        ((Some(local), Some(external)), 1..) => (local, external),
        _ => {
            let why = "expected a protocol and two ports, or none of them for all ports";
            return Err(Error::parse(why));
        }
    };
    let local = LocalHost {
        end: End::new(m.req("local")?, local_port),
        vrf: m.opt("vrf")?.unwrap_or(0),
        probability: 0,
    };
    Ok(StaticMapping {
        kind: MappingKind::Host,
        external,
        port,
        protocol,
        locals: vec![local],
        twice: read_twice(m),
        twice_address: m.opt("exact")?,
        inward_only: m.flag("out2in-only"),
        affinity: 0,
        tag: m.str("tag").into(),
        resolved: None,
    })
}

/// Reads an identity mapping: an address or the interface that has it, protocol and port.
///
/// # Errors
/// A word that can't be read.
pub fn read_identity(w: &World, m: &Matches) -> Result<StaticMapping> {
    let sw_if = given_interface(w, m, "interface")?;
    let (external, addr) = match sw_if {
        Some(sw_if) => (External::Interface(sw_if), Ipv4Addr::UNSPECIFIED),
        None => {
            let addr = m.req("address")?;
            (External::Address(addr), addr)
        }
    };
    let port = m.opt("port")?.unwrap_or(0);
    let vrf = m.opt("vrf")?.unwrap_or(0);
    Ok(StaticMapping {
        kind: MappingKind::Identity,
        external,
        port,
        protocol: read_protocol(m),
        locals: vec![LocalHost { end: End::new(addr, port), vrf, probability: 0 }],
        twice: Twice::No,
        twice_address: None,
        inward_only: false,
        affinity: 0,
        tag: m.str("tag").into(),
        resolved: None,
    })
}

fn protocol(of: IpProtocol) -> &'static str {
    match of {
        IpProtocol::TCP => "tcp",
        IpProtocol::UDP => "udp",
        _ => "icmp",
    }
}

/// Writes the lines of the mappings of these numbers, of the kind that begins its commands with
/// these words; `get` returns a mapping, unless it was removed.
pub fn write_mappings(
    config: &mut RunningConfig,
    words: &'static str,
    numbers: Vec<u32>,
    get: fn(&World, u32) -> Option<StaticMapping>,
) {
    config.list(Phase::FEATURES, numbers, move |world, number, lines| {
        if let Some(mapping) = get(world, number) {
            lines.until(mapping_line(world, words, &mapping), "del");
        }
    });
}

/// The command that makes a mapping, and with `del` removes it, of the kind that begins its
/// commands with these words.
fn mapping_line(world: &World, words: &str, mapping: &StaticMapping) -> String {
    let mut external = match mapping.external {
        External::Address(addr) => addr.to_string(),
        External::Interface(sw_if) => quote(&world.get::<Interfaces>().name(sw_if)),
    };
    let all = mapping.is_address_only();
    let vrf = mapping.locals.first().map_or(0, |local| local.vrf);
    let of_vrf = |vrf: u32| if vrf == 0 { String::new() } else { format!(" vrf {vrf}") };
    let protocol = protocol(mapping.protocol);
    let mut line = match mapping.kind {
        MappingKind::Identity => {
            if matches!(mapping.external, External::Interface(_)) {
                external = format!("external {external}");
            }
            let port = if all { String::new() } else { format!(" {protocol} {}", mapping.port) };
            format!("{words} add identity mapping {external}{port}{}", of_vrf(vrf))
        }
        MappingKind::Host => {
            let local = mapping.locals.first().map(|local| local.end).unwrap_or_default();
            let ends = match all {
                true => format!("local {} external {external}", local.addr),
                false => format!(
                    "{protocol} local {} {} external {external} {}",
                    local.addr, local.port, mapping.port
                ),
            };
            format!("{words} add static mapping {ends}{}", of_vrf(vrf))
        }
        MappingKind::Balanced => {
            let local = |local: &LocalHost| {
                let part = local.probability;
                format!(" local {}{} probability {part}", local.end, of_vrf(local.vrf))
            };
            let locals: String = mapping.locals.iter().map(local).collect();
            format!(
                "{words} add load-balancing static mapping protocol {protocol} external {external}:{}{locals}",
                mapping.port
            )
        }
    };
    line += match mapping.twice {
        Twice::No => "",
        Twice::Always => " twice-nat",
        Twice::ToItself => " self-twice-nat",
    };
    line += if mapping.inward_only { " out2in-only" } else { "" };
    if let Some(exact) = mapping.twice_address {
        let _ = write!(line, " exact {exact}");
    }
    if mapping.affinity != 0 {
        let _ = write!(line, " affinity {}", mapping.affinity);
    }
    if !mapping.tag.is_empty() {
        let _ = write!(line, " tag {}", quote(&mapping.tag));
    }
    line
}

fn end_text(addr: &str, port: u16) -> String {
    if port == 0 { addr.to_string() } else { format!("{addr}:{port}") }
}

/// A mapping in one line, and its back ends in more.
pub fn mapping_text(w: &World, mapping: &StaticMapping) -> String {
    let external = match mapping.external {
        External::Address(addr) => addr.to_string(),
        External::Interface(sw_if) => w.get::<Interfaces>().name(sw_if),
    };
    let protocol = match mapping.protocol.0 {
        0 => String::new(),
        _ => format!("{} ", protocol_name(mapping.protocol)),
    };
    let external = end_text(&external, mapping.port);
    let local = mapping.locals.first();
    let vrf = local.map_or(0, |local| local.vrf);
    let mut text = match mapping.kind {
        MappingKind::Identity => format!(" identity mapping {protocol}{external} vrf {vrf}"),
        MappingKind::Host => {
            let local = local.map_or_else(String::new, |local| {
                end_text(&local.end.addr.to_string(), local.end.port)
            });
            format!(" {protocol}local {local} external {external} vrf {vrf}")
        }
        MappingKind::Balanced => format!(" {protocol}external {external}"),
    };
    text += match mapping.twice {
        Twice::No => "",
        Twice::Always => " twice-nat",
        Twice::ToItself => " self-twice-nat",
    };
    if let Some(exact) = mapping.twice_address {
        let _ = write!(text, " exact {exact}");
    }
    text += if mapping.inward_only { " out2in-only" } else { "" };
    if mapping.affinity != 0 {
        let _ = write!(text, " affinity {}", mapping.affinity);
    }
    if let (External::Interface(_), Some(addr)) = (mapping.external, mapping.resolved) {
        let _ = write!(text, " (now {addr})");
    }
    text.push('\n');
    if mapping.kind == MappingKind::Balanced {
        for local in &mapping.locals {
            let (end, vrf, part) = (local.end, local.vrf, local.probability);
            let _ = writeln!(text, "  local {end} vrf {vrf} probability {part}");
        }
    }
    text
}

/// A mapping in JSON.
pub fn mapping_value(w: &World, mapping: &StaticMapping) -> Value {
    let (address, interface) = match mapping.external {
        External::Address(addr) => (Some(addr), None),
        External::Interface(sw_if) => (mapping.resolved, Some(w.get::<Interfaces>().name(sw_if))),
    };
    let locals: Vec<_> = mapping
        .hosts()
        .iter()
        .map(|local| {
            json!({
                "address": local.end.addr.to_string(),
                "port": local.end.port,
                "vrf": local.vrf,
                "probability": local.probability,
            })
        })
        .collect();
    json!({
        "kind": match mapping.kind {
            MappingKind::Host => "static",
            MappingKind::Identity => "identity",
            MappingKind::Balanced => "load-balancing",
        },
        "protocol": mapping.protocol.0,
        "external": address.map(|addr| addr.to_string()),
        "external_port": mapping.port,
        "interface": interface,
        "locals": locals,
        "twice_nat": mapping.twice == Twice::Always,
        "self_twice_nat": mapping.twice == Twice::ToItself,
        "exact": mapping.twice_address.map(|addr| addr.to_string()),
        "out2in_only": mapping.inward_only,
        "affinity": mapping.affinity,
        "tag": mapping.tag,
    })
}
