// SPDX-License-Identifier: Apache-2.0
//! `show pppoe session`, `show pppoe fib`.

use crate::clients::{Client, Clients};
use crate::sessions::{Config, Session, Sessions};
use cli::{Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::fmt::Write;

pub fn sessions(w: &World, _: &Matches) -> Result<Output> {
    let all = w.get::<Sessions>().list().into_iter().map(|session| session.sw_if).collect();
    Ok(tunnel::list(all, "No pppoe sessions configured...", line))
}

fn line(w: &World, sw_if: SwIfIndex, out: &mut Writer) {
    // It may be deleted between two slices of the answer.
    let Some(found) = w.get::<Sessions>().get(sw_if) else { return };
    let Session { instance, encap, config, .. } = found;
    let Config { session, mac, address, table } = config;
    let interfaces = w.get::<Interfaces>();
    let local = interfaces.get(encap).map(|at| at.mac).unwrap_or_default();
    out.value(|| {
        json!({
            "interface": interfaces.name(sw_if),
            "sw_if_index": sw_if.0,
            "instance": instance,
            "client_ip": address.to_string(),
            "session_id": session,
            "encap_interface": interfaces.name(encap),
            "decap_table": table,
            "local_mac": local.to_string(),
            "client_mac": mac.to_string(),
        })
    });
    out.text(|text| {
        write!(text, "[{instance}] sw-if-index {sw_if} client-ip {address} session-id {session} ")?;
        writeln!(text, "encap-if-index {encap} decap-vrf-id {table}")?;
        writeln!(text, "    local-mac {local} client-mac {mac}")
    });
}

pub fn clients(w: &World, _: &Matches) -> Result<Output> {
    let table = Table::new().left("Client").left("Interface").right("sw_if_index");
    let all = w.get::<Clients>().list();
    Ok(table.list(all, |w: &World, Client { mac, sw_if }: Client, out: &mut Writer| {
        let name = w.get::<Interfaces>().name(SwIfIndex(sw_if));
        out.row([mac.to_string().into(), name.into(), sw_if.into()]);
        Ok(())
    }))
}
