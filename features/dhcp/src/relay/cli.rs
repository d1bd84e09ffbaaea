// SPDX-License-Identifier: Apache-2.0
//! The commands of the relays, and the lines that save what they set.

use super::config::{Proxy, Relay, Server};
use super::vss::Vss;
use cli::{Cell, Error, Matches, Output, Result, Table, Writer, quote};
use graph::{Phase, RunningConfig, World};
use net::args::interface;
use net::{Addresses, Net};
use serde_json::json;
use wire::{Ip4, Ip6};

/// The usage of `set dhcp proxy`.
pub const PROXY4: &str = "[del] {server <server:ip4>} [src-address <source:ip4>] \
     [server-fib-id <server-table:u32>] [rx-fib-id <table:u32>]";
/// The usage of `set dhcpv6 proxy`.
pub const PROXY6: &str = "[del] {server <server:ip6>} [src-address <source:ip6>] \
     [server-fib-id <server-table:u32>] [rx-fib-id <table:u32>]";
/// The usage of the commands that set VPNs.
pub const VSS: &str = "[del] {table <table:u32>} \
     [oui <oui:u32> vpn-id <index:u32> | vpn-ascii-id <name:string> | default]";

/// `set dhcp proxy`, `set dhcpv6 proxy`.
pub fn proxy<F: Net>(w: &World, m: &Matches) -> Result<()> {
    let address = |name: &str| -> Result<Option<F::Addr>> {
        let given = m.opt::<std::net::IpAddr>(name)?;
        given
            .map(|ip| F::of_ip(ip).ok_or_else(|| net::args::other_version::<F>(m, name)))
            .transpose()
    };
    let (server, source) = (address("server")?, address("source")?);
    let server = server.ok_or_else(|| Error::usage("expected server and an address"))?;
    let [rx, to] = [m.opt("table")?, m.opt("server-table")?].map(|id| id.unwrap_or(0));
    let relay = w.get::<Relay<F>>();
    if m.flag("del") {
        return relay.remove(w, rx, server, to).map_err(m.at("server"));
    }
    let source = source.ok_or_else(|| {
        Error::usage("expected src-address and the address that servers answer to")
    })?;
    relay.add(w, rx, source, server, to)
}

/// `set dhcp option-82 vss`, `set dhcpv6 vss`.
pub fn vss<F: Net>(w: &World, m: &Matches) -> Result<()> {
    let (relay, table) = (w.get::<Relay<F>>(), m.req("table")?);
    if m.flag("del") {
        return relay.set_vss(w, table, None).map_err(m.at("table"));
    }
    let vss = match (m.opt("oui")?, m.opt("index")?) {
        (Some(oui), Some(index)) => Vss::Id { oui, index },
        _ if m.has("name") => Vss::Name(m.str("name").into()),
        _ => Vss::Default,
    };
    relay.set_vss(w, table, Some(vss))
}

/// All servers, each with the id of its clients' table and the source of messages to it.
fn servers<F: Net>(w: &World) -> Vec<(u32, F::Addr, Server<F::Addr>)> {
    let proxies = w.get::<Relay<F>>().proxies().into_iter();
    let of = |(Proxy { rx_table_id, source, servers }, _)| {
        servers.into_iter().map(move |server| (rx_table_id, source, server))
    };
    proxies.flat_map(of).collect()
}

/// `show dhcp proxy`, `show dhcpv6 proxy`.
pub fn show<F: Net>(w: &World) -> Output {
    let table = Table::new().right("RX FIB").left("Source").right("Server FIB").left("Server");
    table.list(
        servers::<F>(w),
        |_: &World, (rx, source, server): (u32, F::Addr, Server<F::Addr>), out| {
            out.row([
                rx.into(),
                Cell::from(source.into().to_string()),
                server.table_id.into(),
                Cell::from(server.addr.into().to_string()),
            ]);
            Ok(())
        },
    )
}

/// `show dhcp vss`, `show dhcpv6 vss`.
pub fn show_vss<F: Net>(w: &World) -> Output {
    let table = Table::new().right("FIB").left("VPN");
    table.list(w.get::<Relay<F>>().vss(), |_: &World, (id, vss): (u32, Vss), out: &mut Writer| {
        out.row([id.into(), Cell::from(vss.to_string())]);
        Ok(())
    })
}

/// The address by which servers know the link of an interface.
pub fn link<F: Net>(w: &World, m: &Matches) -> Result<Output> {
    let sw_if = interface(w, m, "interface")?;
    let address = w.get::<Addresses<F>>().usable(sw_if).first().map(|prefix| prefix.addr());
    let address = address.map(|address| -> std::net::IpAddr { address.into() });
    let text = address.map_or("none".to_string(), |address| address.to_string());
    Ok(Output::both(text, json!({ "address": address })))
}

/// The first words of the commands of an IP version.
const fn words<F: Net>(v6: &'static str, v4: &'static str) -> &'static str {
    if F::IS_V6 { v6 } else { v4 }
}

/// Writes servers and VPNs.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    write::<Ip4>(world, config);
    write::<Ip6>(world, config);
}

fn write<F: Net>(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, servers::<F>(world), |_, (rx, source, server), lines| {
        let command = words::<F>("set dhcpv6 proxy", "set dhcp proxy");
        let line = |del: &str| {
            let tables = format!("server-fib-id {} rx-fib-id {rx}", server.table_id);
            let (source, server): (std::net::IpAddr, std::net::IpAddr) =
                (source.into(), server.addr.into());
            format!("{command}{del} server {server} src-address {source} {tables}")
        };
        lines.push(line(""), line(" del"));
    });
    config.list(Phase::FEATURES, world.get::<Relay<F>>().vss(), |_, (id, vss), lines| {
        let command = words::<F>("set dhcpv6 vss", "set dhcp option-82 vss");
        let vss = match vss {
            Vss::Default => "default".to_string(),
            Vss::Id { oui, index } => format!("oui {oui} vpn-id {index}"),
            Vss::Name(name) => format!("vpn-ascii-id {}", quote(&name)),
        };
        lines.push(format!("{command} table {id} {vss}"), format!("{command} del table {id}"));
    });
}
