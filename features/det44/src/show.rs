// SPDX-License-Identifier: Apache-2.0
//! The `show` commands.

use crate::control::{Control, Row};
use crate::map::Map;
use crate::settings::{Det, role};
use cli::{Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use nat::key::End;
use net::Interfaces;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;
use wire::IpProtocol;

fn control(w: &World) -> Arc<Control> {
    w.get()
}

/// `show det44 mappings`.
pub fn mappings(w: &World, _: &Matches) -> Result<Output> {
    let maps = control(w).read(|state| state.maps.clone());
    let rows: Vec<_> = [None].into_iter().chain(maps.into_iter().map(Some)).collect();
    Ok(Output::list(rows, |w: &World, row: Option<Map>, out: &mut Writer| {
        let Some(map) = row else {
            out.text(|text| *text += "NAT44 deterministic mappings:\n");
            return Ok(());
        };
        let Map { inside, outside, number } = map;
        let sessions = w.get::<Det>().sessions(number);
        out.text(|text| {
            let _ = writeln!(text, " in {inside} out {outside}");
            let _ = writeln!(text, "  outside address sharing ratio: {}", map.ratio());
            let _ = writeln!(text, "  number of ports per inside host: {}", map.ports());
            let _ = writeln!(text, "  sessions number: {sessions}");
        });
        out.value(|| {
            json!({
                "inside": inside.to_string(),
                "outside": outside.to_string(),
                "sharing_ratio": map.ratio(),
                "ports_per_host": map.ports(),
                "sessions": sessions,
            })
        });
        Ok(())
    }))
}

/// `show det44 interfaces`.
pub fn interfaces(w: &World, _: &Matches) -> Result<Output> {
    let roles = control(w).read(|state| state.roles.clone());
    let rows: Vec<_> = [None].into_iter().chain(roles.into_iter().map(Some)).collect();
    Ok(Output::list(rows, |w: &World, row: Option<(SwIfIndex, u8)>, out: &mut Writer| {
        let Some((sw_if, bits)) = row else {
            out.text(|text| *text += "DET44 interfaces:\n");
            return Ok(());
        };
        let name = w.get::<Interfaces>().name(sw_if);
        let words = match bits {
            role::INSIDE => "in",
            role::OUTSIDE => "out",
            _ => "in out",
        };
        out.text(|text| *text += &format!(" {name} {words}\n"));
        out.value(|| json!({ "interface": name, "role": words }));
        Ok(())
    }))
}

/// `show det44 timeouts`.
pub fn timeouts(w: &World, _: &Matches) -> Result<Output> {
    Ok(control(w).read(|state| state.timeouts).show(' '))
}

fn protocol_name(row: &Row) -> String {
    match IpProtocol(row.protocol) {
        IpProtocol::TCP => "TCP".into(),
        IpProtocol::UDP => "UDP".into(),
        IpProtocol::ICMP => "ICMP".into(),
        IpProtocol(number) => number.to_string(),
    }
}

fn end_value(end: End) -> Value {
    json!({ "address": end.addr.to_string(), "port": end.port })
}

/// `show det44 sessions`.
pub fn sessions(w: &World, _: &Matches) -> Result<Output> {
    Ok(Control::sessions(w).then(|threads| {
        let mut text = "NAT44 deterministic sessions:\n".to_string();
        let mut values = Vec::new();
        for (thread, row) in
            threads.iter().enumerate().flat_map(|(n, rows)| rows.iter().map(move |row| (n, row)))
        {
            let (state, protocol) = (row.state.name(), protocol_name(row));
            let _ = writeln!(
                text,
                " in {} out {} external host {} state: {state} expire: {} proto {protocol}",
                row.inside, row.outside, row.external, row.expires
            );
            values.push(json!({
                "thread": thread,
                "protocol": row.protocol,
                "inside": end_value(row.inside),
                "outside": end_value(row.outside),
                "external": end_value(row.external),
                "state": state,
                "expires": row.expires,
            }));
        }
        Ok(Output::both(text, values))
    }))
}
