// SPDX-License-Identifier: Apache-2.0
//! `show gre tunnel`.

use crate::model::{Gre, Payload};
use cli::{Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::fmt::Write;
use tunnel::{TunnelEndpoints, Tunnels};

pub fn tunnels(w: &World, m: &Matches) -> Result<Output> {
    let all = if m.has("interface") {
        vec![
            w.get::<Interfaces>()
                .find(m.str("interface"))
                .map_err(|e| e.at(m.span("interface")))?,
        ]
    } else {
        w.get::<Tunnels<Gre>>().interfaces()
    };
    Ok(tunnel::list(all, "No GRE tunnels configured...", line))
}

fn line(w: &World, sw_if: SwIfIndex, out: &mut Writer) {
    let tunnels = w.get::<Tunnels<Gre>>();
    // It may be deleted between two slices of the answer.
    let Some(tunnel) = tunnels.get(sw_if) else { return };
    let i = tunnel.instance;
    let Gre { ends, marks, payload, key, multipoint } = tunnel.spec;
    let TunnelEndpoints { local, remote, table } = ends;
    let outlook = tunnels.outlook(w, sw_if);
    let (kind, session) = match payload {
        Payload::Ip => ("L3", None),
        Payload::Ethernet => ("TEB", None),
        Payload::Erspan { session } => ("ERSPAN", Some(session)),
    };
    let mode = if multipoint { "multi-point" } else { "point-to-point" };
    out.value(|| {
        json!({
            "interface": w.get::<Interfaces>().name(sw_if),
            "sw_if_index": sw_if.0,
            "instance": i,
            "source": local.to_string(),
            "destination": (!multipoint).then(|| remote.to_string()),
            "table": table,
            "payload": kind,
            "session": session,
            "key": (key != 0).then_some(key),
            "mode": mode,
            "flags": tunnel::flags(&marks),
            "dscp": marks.dscp,
            "resolved": outlook.is_resolved,
            "obstacle": outlook.obstacle,
        })
    });
    let table = ends.table_index(w).map_or(u32::MAX, |index| index.0);
    let adj = tunnels.route(sw_if).map(|route| route.adj);
    out.text(|text| {
        write!(text, "[{i}] instance {i} src {local} dst {remote} fib-idx {table} sw-if-idx {sw_if} payload {kind} {mode}")?;
        if key != 0 {
            write!(text, " key {key}")?;
        }
        if let Some(session) = session {
            write!(text, " session {session}")?;
        }
        if let Some(adj) = adj.filter(|_| payload != Payload::Ip) {
            write!(text, " l2-adj-idx {adj}")?;
        }
        writeln!(text, "{}", outlook.suffix())
    });
}
