// SPDX-License-Identifier: Apache-2.0
//! `show vxlan tunnel`.

use crate::model::Vxlan;
use cli::{Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::fmt::Write;
use tunnel::{TunnelEndpoints, Tunnels};

pub fn tunnels(w: &World, _: &Matches) -> Result<Output> {
    let all = w.get::<Tunnels<Vxlan>>().interfaces();
    Ok(tunnel::list(all, "No vxlan tunnels configured...", line))
}

fn line(w: &World, sw_if: SwIfIndex, out: &mut Writer) {
    let tunnels = w.get::<Tunnels<Vxlan>>();
    // It may be deleted between two slices of the answer.
    let Some(tunnel) = tunnels.get(sw_if) else { return };
    let i = tunnel.instance;
    let Vxlan { ends, marks, vni, source_port, destination_port, layer3, group_interface, next } =
        tunnel.spec;
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
            "source": local.to_string(),
            "destination": remote.to_string(),
            "source_port": source_port,
            "destination_port": destination_port,
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
        write!(text, "[{i}] instance {i} src {local} dst {remote} ")?;
        write!(text, "src_port {source_port} dst_port {destination_port} vni {vni} ")?;
        if let Some(route) = route {
            write!(text, "fib-idx {} sw-if-idx {sw_if} encap-dpo-idx {} ", route.table, route.adj)?;
        }
        if next != "l2" {
            write!(text, "decap-next-{next} ")?;
        }
        if layer3 {
            text.push_str("l3 ");
        }
        if let Some(by) = group_interface {
            write!(text, "mcast-sw-if-idx {by} ")?;
        }
        writeln!(text, "{}", outlook.suffix().trim_start())
    });
}
