// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::port::{Lldp, Port};
use crate::tlv::{self, CHASSIS_MAC, CHASSIS_NETWORK, PORT_MAC, PORT_NETWORK};
use cli::{Cell, Command, Error, Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::collections::BTreeMap;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "set lldp",
        usage: "[system-name <name:string>] [tx-hold <hold:u32>] [tx-interval <interval:u32>]",
        help: "The system's data that neighbours receive, its interval, and for how many intervals it holds",
        run: set,
    },
    Command {
        path: "set interface lldp",
        usage: "{<interface:interface> | sw_if_index <index:u32>} [port-desc <description:string>] [mgmt-ip4 <ip4:ip4>] [mgmt-ip6 <ip6:ip6>] [mgmt-oid <object:string>] [disable]",
        help: "Tell the other end of a link who is here, and note who is there; or end that",
        run: set_interface,
    },
    Command {
        path: "show lldp",
        usage: "[detail]",
        help: "Neighbours at the other ends of links",
        run: show,
    },
];

fn set(w: &World, m: &Matches) -> Result<Output> {
    let name = m.has("name").then(|| m.str("name"));
    w.get::<Lldp>().set(w, name, m.opt("hold")?, m.opt("interval")?)?;
    Ok(Output::empty())
}

fn set_interface(w: &World, m: &Matches) -> Result<Output> {
    let interfaces = w.get::<Interfaces>();
    let sw_if = match m.opt::<u32>("index")? {
        Some(index) => {
            let sw_if = SwIfIndex(index);
            interfaces.check(sw_if).map_err(|e| e.at(m.span("index")))?;
            sw_if
        }
        None => interfaces.find(m.str("interface")).map_err(|e| e.at(m.span("interface")))?,
    };
    let lldp = w.get::<Lldp>();
    if m.flag("disable") {
        lldp.disable(w, sw_if)?;
        return Ok(Output::empty());
    }
    let text = |word: &str| if m.has(word) { m.str(word).to_string() } else { String::new() };
    let port = Port {
        description: text("description"),
        management: (m.opt("ip4")?, m.opt("ip6")?),
        object: text("object"),
    };
    lldp.enable(w, sw_if, port)?;
    Ok(Output::empty())
}

/// Seconds since a time of the instance's clock.
fn ago(now: u64, then: Option<u64>) -> Option<f64> {
    then.map(|then| (now.saturating_sub(then) / 100_000_000) as f64 / 10.0)
}

fn show(w: &World, m: &Matches) -> Result<Output, Error> {
    let detail = m.flag("detail");
    let now = w.clock.now();
    let table = Table::new().left("Local interface").left("Peer chassis ID").left("Remote port ID");
    let mut table = table.left("Last heard").left("Last sent").left("Status");
    if detail {
        table = table.left("Holds").left("Port description");
    }
    let ports: BTreeMap<_, _> = w.get::<Lldp>().ports().into_iter().collect();
    Ok(table.list(w.get::<Lldp>().status(), move |w: &World, (sw_if, status), out: &mut Writer| {
        let name = w.get::<Interfaces>().name(sw_if);
        let neighbor = status.neighbor;
        let chassis = neighbor.map(|n| tlv::display(&n.chassis, CHASSIS_MAC, CHASSIS_NETWORK));
        let port = neighbor.map(|n| tlv::display(&n.port, PORT_MAC, PORT_NETWORK));
        let (heard, sent) = (ago(now, neighbor.map(|n| n.heard)), ago(now, status.sent));
        let state = if neighbor.is_some() { "active" } else { "inactive" };
        let description =
            ports.get(&sw_if).map(|port| port.description.clone()).unwrap_or_default();
        out.text_row(|| {
            let time = |seconds: Option<f64>| {
                seconds.map_or("never".to_string(), |s| format!("{s:.1}s ago"))
            };
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let mut row = vec![
                name.clone(),
                text(&chassis),
                text(&port),
                time(heard),
                time(sent),
                state.into(),
            ];
            if detail {
                row.push(neighbor.map_or(String::new(), |n| format!("{}s", n.ttl)));
                row.push(description.clone());
            }
            row.into_iter().map(Cell::from).collect::<Vec<_>>()
        });
        out.value(|| {
            json!({
                "interface": name,
                "sw_if_index": sw_if.0,
                "chassis": chassis,
                "port": port,
                "heard_seconds_ago": heard,
                "sent_seconds_ago": sent,
                "ttl": neighbor.map(|n| n.ttl),
                "state": state,
                "port_description": description,
            })
        });
        Ok(())
    }))
}
