// SPDX-License-Identifier: Apache-2.0
//! The commands of the DHCPv6 clients, and the lines that save what they set.

use super::association::Kind;
use super::client::Clients6;
use super::machine::{Held, Machine, Phase as State};
use super::ports::{Consumer, Port};
use crate::lifetime::seconds_until;
use cli::{Cell, Error, Matches, Output, Result, Table, Writer, quote};
use graph::{Phase, RunningConfig, SwIfIndex, World};
use net::Interfaces;
use net::args::interface;
use serde_json::json;
use wire::{Ip6, Ip6Prefix};

/// The usage of `set ip6 address`.
pub const ADDRESS: &str =
    "<interface:interface> [prefix group <group:string>] <address:ifaddr6> [del]";

/// `dhcp6 client`.
pub fn client(w: &World, m: &Matches) -> Result<()> {
    let (clients, sw_if) = (w.get::<Clients6>(), interface(w, m, "interface")?);
    match m.flag("disable") {
        true => clients.disable(w, sw_if, Kind::Addresses),
        false => clients.enable(w, sw_if, Kind::Addresses, ""),
    }
    .map_err(m.at("interface"))
}

/// `dhcp6 pd client`.
pub fn pd_client(w: &World, m: &Matches) -> Result<()> {
    let (clients, sw_if) = (w.get::<Clients6>(), interface(w, m, "interface")?);
    match m.has("group") {
        true => clients.enable(w, sw_if, Kind::Prefixes, m.str("group")).map_err(m.at("group")),
        false => clients.disable(w, sw_if, Kind::Prefixes).map_err(m.at("interface")),
    }
}

/// `set ip6 address`.
pub fn address(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    let address = net::args::prefix::<Ip6>(m, "address")?;
    let group = m.has("group").then(|| m.str("group"));
    let done = w.get::<Clients6>().set_consumer(w, sw_if, group, address, !m.flag("del"));
    done.map_err(m.at("address"))
}

/// `set dhcp6 duid`.
pub fn duid(w: &World, m: &Matches) -> Result<()> {
    let duid = match m.has("duid") {
        true => {
            let bytes = crate::v4::cli::bytes_of(m.str("duid"));
            let duid: Option<[u8; 10]> = bytes.and_then(|bytes| bytes.try_into().ok());
            let wrong = || Error::parse("expected 20 hexadecimal digits").at(m.span("duid"));
            Some(duid.ok_or_else(wrong)?)
        }
        false => None,
    };
    w.get::<Clients6>().set_duid(w, duid);
    Ok(())
}

fn ports(w: &World, kind: Kind) -> Vec<(SwIfIndex, Port)> {
    let clients = w.get::<Clients6>();
    let state = clients.state();
    let of = state.ports.iter().filter(|((_, k), port)| *k == kind && port.machine.is_some());
    of.map(|((sw_if, _), port)| (*sw_if, port.clone())).collect()
}

/// Seconds until a time.
fn until(w: &World, then: Option<u64>) -> Cell {
    let left = |then: u64| seconds_until(w.clock.now(), then);
    then.map_or_else(|| Cell::new("-", serde_json::Value::Null), |then| left(then).into())
}

fn state(machine: &Machine) -> &'static str {
    match machine.phase() {
        State::Solicit => "SOLICIT",
        State::Request => "REQUEST",
        State::Bound => "BOUND",
        State::Renew => "RENEW",
        State::Rebind => "REBIND",
    }
}

/// `show dhcp6 clients`, `show ip6 pd clients`.
pub fn show_clients(w: &World, kind: Kind) -> Output {
    let table = Table::new().left("Interface").left("State").left("Group").right("Leases");
    let table = table.left("Server");
    table.list(ports(w, kind), |w: &World, (sw_if, port): (SwIfIndex, Port), out: &mut Writer| {
        let Some(machine) = &port.machine else { return Ok(()) };
        let server = machine.server().unwrap_or_default();
        out.row([
            Cell::from(w.get::<Interfaces>().name(sw_if)),
            Cell::from(state(machine).to_string()),
            Cell::from(port.group),
            machine.leases().len().into(),
            Cell::from(crate::v4::cli::hex(server)),
        ]);
        Ok(())
    })
}

/// `show dhcp6 addresses`, `show ip6 prefixes`.
pub fn show_leases(w: &World, kind: Kind) -> Output {
    let leases = ports(w, kind).into_iter().flat_map(|(sw_if, port)| {
        let leases = port.machine.map(|machine| machine.leases().clone()).unwrap_or_default();
        let group = port.group;
        leases.into_iter().map(move |(prefix, held)| (sw_if, group.clone(), prefix, held))
    });
    let leases: Vec<(SwIfIndex, String, Ip6Prefix, Held)> = leases.collect();
    let table = Table::new().left("Interface").left("Group").left("Lease");
    let table = table.right("Preferred").right("Valid");
    table.list(leases, |w: &World, (sw_if, group, prefix, held), out: &mut Writer| {
        out.row([
            Cell::from(w.get::<Interfaces>().name(sw_if)),
            Cell::from(group),
            Cell::from(prefix.to_string()),
            until(w, held.preferred),
            until(w, held.valid),
        ]);
        Ok(())
    })
}

/// `show ip6 addresses`.
pub fn show_addresses(w: &World) -> Output {
    let consumers = w.get::<Clients6>().state().consumers.clone();
    let table = Table::new().left("Interface").left("Group").left("Configured").left("Address");
    table.list(consumers, |w: &World, consumer: Consumer, out: &mut Writer| {
        let Consumer { sw_if, group, address, applied } = consumer;
        out.row([
            Cell::from(w.get::<Interfaces>().name(sw_if)),
            Cell::from(group.unwrap_or_default()),
            Cell::from(address.to_string()),
            applied.map_or_else(
                || Cell::new("-", json!(null)),
                |address| Cell::from(address.to_string()),
            ),
        ]);
        Ok(())
    })
}

/// Writes the clients' configuration; leases aren't saved.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let (duid, consumers) = {
        let clients = world.get::<Clients6>();
        let state = clients.state();
        (state.duid, state.consumers.clone())
    };
    if let Some(duid) = duid {
        let line = format!("set dhcp6 duid {}", crate::v4::cli::hex(&duid));
        config.push(Phase::SETTINGS, line, "set dhcp6 duid default".to_string());
    }
    config.list(Phase::FEATURES, ports(world, Kind::Addresses), |world, (sw_if, _), lines| {
        let line = format!("dhcp6 client {}", world.get::<Interfaces>().word(sw_if));
        lines.push(line.clone(), format!("{line} disable"));
    });
    config.list(Phase::FEATURES, ports(world, Kind::Prefixes), |world, (sw_if, port), lines| {
        let line = format!("dhcp6 pd client {}", world.get::<Interfaces>().word(sw_if));
        let group = quote(&port.group);
        lines.push(format!("{line} prefix group {group}"), format!("{line} disable"));
    });
    config.list(Phase::FEATURES, consumers, |world, consumer: Consumer, lines| {
        let name = world.get::<Interfaces>().word(consumer.sw_if);
        let group = consumer.group.map(|group| format!(" prefix group {}", quote(&group)));
        let (group, address) = (group.unwrap_or_default(), consumer.address);
        let line = format!("set ip6 address {name}{group} {address}");
        lines.push(line.clone(), format!("{line} del"));
    });
}
