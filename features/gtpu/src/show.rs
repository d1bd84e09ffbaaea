// SPDX-License-Identifier: Apache-2.0
//! `show gtpu tunnel`, `show gtpu answer`.

use crate::answer::{Answers, Settings};
use crate::forward::{Forward, Forwards};
use crate::model::Gtpu;
use cli::{Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::{Column, Interfaces, L2Role};
use serde_json::json;
use std::fmt::Write;
use tunnel::{Next, TunnelEndpoints, Tunnels, unspecified};

pub fn tunnels(w: &World, _: &Matches) -> Result<Output> {
    let mut all = w.get::<Tunnels<Gtpu>>().interfaces();
    all.extend(w.get::<Forwards>().list().into_iter().map(|forward| forward.sw_if));
    all.sort_unstable();
    Ok(tunnel::list(all, "No gtpu tunnels configured...", line))
}

pub fn answer(w: &World, _: &Matches) -> Result<Output> {
    let Settings { echo, error } = w.get::<Answers>().get();
    let word = |on| if on { "enabled" } else { "disabled" };
    let text = format!("echo {}\nerror-indication {}\n", word(echo), word(error));
    Ok(Output::both(text, json!({ "echo": echo, "error_indication": error })))
}

/// The name of a next node, as `decap-next` has it.
pub fn next_name(next: Next) -> &'static str {
    match next {
        Next::Node("ip4-input") => "ip4",
        Next::Node("ip6-input") => "ip6",
        next => next.name(),
    }
}

fn line(w: &World, sw_if: SwIfIndex, out: &mut Writer) {
    if let Some(forward) = w.get::<Forwards>().get(sw_if) {
        return forward_line(w, forward, out);
    }
    let tunnels = w.get::<Tunnels<Gtpu>>();
    // It may be deleted between two slices of the answer.
    let Some(tunnel) = tunnels.get(sw_if) else { return };
    let (i, spec) = (tunnel.instance, tunnel.spec);
    let (teid, tteid) = (spec.teid, spec.sent_teid());
    let Gtpu { ends, marks, qfi, group_interface, next, .. } = spec;
    let TunnelEndpoints { local, remote, table } = ends;
    let name = |sw_if| w.get::<Interfaces>().name(sw_if);
    let role = w.get::<Column<L2Role>>().get(sw_if);
    let frames = w.get::<Interfaces>().get(sw_if).is_ok_and(|i| role.carries_frames(&i));
    let outlook = tunnels.outlook(w, sw_if);
    let route = tunnels.route(sw_if);
    out.value(|| {
        json!({
            "interface": name(sw_if),
            "sw_if_index": sw_if.0,
            "instance": i,
            "source": local.to_string(),
            "destination": remote.to_string(),
            "teid": teid,
            "tteid": tteid,
            "qfi": qfi,
            "table": table,
            "payload": if frames { "ethernet" } else { "ip" },
            "group_interface": group_interface.map(name),
            "decap_next": next_name(next),
            "forwarding": serde_json::Value::Null,
            "flags": tunnel::flags(&marks),
            "dscp": marks.dscp,
            "resolved": outlook.is_resolved,
            "obstacle": outlook.obstacle,
        })
    });
    out.text(|text| {
        write!(text, "[{i}] src {local} dst {remote} teid {teid} tteid {tteid} ")?;
        write!(text, "encap-vrf-id {table} sw-if-idx {sw_if} ")?;
        if let Some(route) = route {
            write!(text, "encap-dpo-idx {} ", route.adj)?;
        }
        write!(text, "decap-next-{} ", next_name(next))?;
        if let Some(qfi) = qfi {
            write!(text, "qfi {qfi} ")?;
        }
        if let Some(by) = group_interface {
            write!(text, "mcast-sw-if-idx {by} ")?;
        }
        writeln!(text, "{}", outlook.suffix().trim_start())
    });
}

fn forward_line(w: &World, forward: Forward, out: &mut Writer) {
    let Forward { sw_if, instance, cause, to, table, next } = forward;
    let (from, cause, next) = (unspecified(to), cause.word(), next_name(next));
    out.value(|| {
        json!({
            "interface": w.get::<Interfaces>().name(sw_if),
            "sw_if_index": sw_if.0,
            "instance": instance,
            "source": from.to_string(),
            "destination": to.to_string(),
            "table": table,
            "decap_next": next,
            "forwarding": cause,
        })
    });
    out.text(|text| {
        write!(text, "[{instance}] src {from} dst {to} teid 0 tteid 0 encap-vrf-id {table} ")?;
        writeln!(text, "sw-if-idx {sw_if} decap-next-{next} forwarding {cause}")
    });
}
