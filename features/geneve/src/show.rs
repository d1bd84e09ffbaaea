// SPDX-License-Identifier: Apache-2.0
//! `show geneve tunnel`.

use crate::model::Geneve;
use cli::{Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::fmt::Write;
use tunnel::{TunnelEndpoints, Tunnels};

pub fn tunnels(w: &World, _: &Matches) -> Result<Output> {
    let all = w.get::<Tunnels<Geneve>>().interfaces();
    Ok(tunnel::list(all, "No geneve tunnels configured...", line))
}

fn line(w: &World, sw_if: SwIfIndex, out: &mut Writer) {
    let tunnels = w.get::<Tunnels<Geneve>>();
    // It may be deleted between two slices of the answer.
    let Some(tunnel) = tunnels.get(sw_if) else { return };
    let i = tunnel.instance;
    let Geneve { ends, marks, vni, layer3, group_interface, next } = tunnel.spec;
    let TunnelEndpoints { local, remote, table } = ends;
    let next = next.name();
    let name = |sw_if| w.get::<Interfaces>().name(sw_if);
    let outlook = tunnels.outlook(w, sw_if);
    let route = tunnels.route(sw_if);
    out.value(|| {
        json!({
            "interface": name(sw_if),
            "sw_if_index": sw_if.0,
            "instance": i,
            "local": local.to_string(),
            "remote": remote.to_string(),
            "vni": vni,
            "table": table,
            "layer3": layer3,
            "group_interface": group_interface.map(name),
            "decap_next": next,
            "flags": tunnel::flags(&marks),
            "dscp": marks.dscp,
            "resolved": outlook.is_resolved,
            "obstacle": outlook.obstacle,
        })
    });
    out.text(|text| {
        write!(text, "[{i}] lcl {local} rmt {remote} vni {vni} ")?;
        if let Some(route) = route {
            write!(text, "fib-idx {} sw-if-idx {sw_if} encap-dpo-idx {} ", route.table, route.adj)?;
        }
        if next != "l2" {
            write!(text, "decap-next-{next} ")?;
        }
        write!(text, "l3-mode {} ", u8::from(layer3))?;
        if let Some(by) = group_interface {
            write!(text, "mcast-sw-if-idx {by} ")?;
        }
        writeln!(text, "{}", outlook.suffix().trim_start())
    });
}
