// SPDX-License-Identifier: Apache-2.0
//! `show vxlan-gpe`.

use crate::model::Gpe;
use crate::spec::decap_table;
use cli::{Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::fmt::Write;
use tunnel::{TunnelEndpoints, Tunnels};

pub fn tunnels(w: &World, _: &Matches) -> Result<Output> {
    let all = w.get::<Tunnels<Gpe>>().interfaces();
    Ok(tunnel::list(all, "No vxlan-gpe tunnels configured.", line))
}

fn line(w: &World, sw_if: SwIfIndex, out: &mut Writer) {
    let tunnels = w.get::<Tunnels<Gpe>>();
    // It may be deleted between two slices of the answer.
    let Some(tunnel) = tunnels.get(sw_if) else { return };
    let i = tunnel.instance;
    let Gpe { ends, marks, vni, protocol, local_port, remote_port, group_interface, .. } =
        tunnel.spec;
    let TunnelEndpoints { local, remote, table } = ends;
    let name = |sw_if| w.get::<Interfaces>().name(sw_if);
    let outlook = tunnels.outlook(w, sw_if);
    let route = tunnels.route(sw_if);
    let decap = decap_table(w, sw_if, protocol);
    out.value(|| {
        json!({
            "interface": name(sw_if),
            "sw_if_index": sw_if.0,
            "instance": i,
            "local": local.to_string(),
            "remote": remote.to_string(),
            "local_port": local_port,
            "remote_port": remote_port,
            "vni": vni,
            "protocol": protocol.name(),
            "table": table,
            "decap_table": decap,
            "group_interface": group_interface.map(name),
            "flags": tunnel::flags(&marks),
            "dscp": marks.dscp,
            "resolved": outlook.is_resolved,
            "obstacle": outlook.obstacle,
        })
    });
    out.text(|text| {
        write!(text, "[{i}] lcl {local} rmt {remote} lport {local_port} rport {remote_port} ")?;
        write!(text, "vni {vni} ")?;
        if let Some(route) = route {
            write!(text, "fib-idx {} sw-if-idx {sw_if} encap-dpo-idx {} ", route.table, route.adj)?;
        }
        write!(text, "next-{} decap-vrf-id {decap} ", protocol.name())?;
        if let Some(by) = group_interface {
            write!(text, "mcast-sw-if-idx {by} ")?;
        }
        writeln!(text, "{}", outlook.suffix().trim_start())
    });
}
