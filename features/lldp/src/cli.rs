// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::port::{Lldp, Neighbor, Port, Settings, Status};
use crate::tlv::{self, CHASSIS_MAC, CHASSIS_NETWORK, Id, PORT_MAC, PORT_NETWORK};
use cli::{Cell, Command, Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// The system's data that neighbours receive, its interval, and for how many intervals it holds
    "set lldp",
    "[system-name <name:string>] [tx-hold <hold:u32>] [tx-interval <interval:u32>]" => set;
    /// Enable LLDP on an interface: send this system's data, and list the neighbour; or disable it
    "set interface lldp",
    "{<interface:interface> | sw_if_index <index:u32>} [port-desc <description:string>] [mgmt-ip4 <ip4:ip4>] [mgmt-ip6 <ip6:ip6>] [mgmt-oid <object:string>] [disable]"
        => set_interface;
    /// LLDP neighbours; with `detail' also the data that this system sends
    "show lldp", "[detail]" => show;
};

fn set(w: &World, m: &Matches) -> Result<()> {
    let name = m.has("name").then(|| m.str("name"));
    w.get::<Lldp>().set(w, name, m.opt("hold")?, m.opt("interval")?)
}

fn set_interface(w: &World, m: &Matches) -> Result<()> {
    let interfaces = w.get::<Interfaces>();
    let sw_if = interfaces.named_or_numbered(m)?;
    interfaces.check(sw_if).map_err(m.at("index"))?;
    let lldp = w.get::<Lldp>();
    if m.flag("disable") {
        return lldp.disable(w, sw_if);
    }
    let text = |word: &str| if m.has(word) { m.str(word).to_string() } else { String::new() };
    let port = Port {
        description: text("description"),
        management: (m.opt("ip4")?, m.opt("ip6")?),
        object: text("object"),
    };
    lldp.enable(w, sw_if, port)
}

/// Kinds of names of a chassis, by subtype (IEEE 802.1AB-2016 table 8-2).
const CHASSIS_KINDS: [&str; 8] = [
    "Reserved",
    "Chassis component",
    "Interface alias",
    "Port component",
    "MAC address",
    "Network address",
    "Interface name",
    "Locally assigned",
];
/// Kinds of names of a port, by subtype (table 8-3).
const PORT_KINDS: [&str; 8] = [
    "Reserved",
    "Interface alias",
    "Port component",
    "MAC address",
    "Network address",
    "Interface name",
    "Agent circuit ID",
    "Locally assigned",
];

/// Seconds since a time of the instance's clock.
fn ago(now: u64, then: Option<u64>) -> Option<f64> {
    then.map(|then| (now.saturating_sub(then) / 100_000_000) as f64 / 10.0)
}

fn ago_text(seconds: Option<f64>) -> String {
    seconds.map_or("never".to_string(), |s| format!("{s:.1}s ago"))
}

fn chassis(neighbor: &Neighbor) -> String {
    tlv::display(&neighbor.chassis, CHASSIS_MAC, CHASSIS_NETWORK)
}

fn remote_port(neighbor: &Neighbor) -> String {
    tlv::display(&neighbor.port, PORT_MAC, PORT_NETWORK)
}

/// `show lldp`.
pub fn show(w: &World, m: &Matches) -> Result<Output> {
    if m.flag("detail") {
        return Ok(detail(w));
    }
    let now = w.clock.now();
    let table = Table::new().left("Local interface").left("Peer chassis ID").left("Remote port ID");
    let table = table.left("Last heard").left("Last sent").left("Status");
    let lldp = w.get::<Lldp>();
    let ports: BTreeMap<_, _> = lldp.ports().into_iter().collect();
    Ok(table.list(lldp.status(), move |w: &World, (sw_if, status), out: &mut Writer| {
        let name = w.get::<Interfaces>().name(sw_if);
        let neighbor = status.neighbor;
        let (heard, sent) = (ago(now, neighbor.map(|n| n.heard)), ago(now, status.sent));
        out.text_row(|| {
            let row = [
                name.clone(),
                neighbor.as_ref().map(chassis).unwrap_or_default(),
                neighbor.as_ref().map(remote_port).unwrap_or_default(),
                ago_text(heard),
                ago_text(sent),
                state(&status).into(),
            ];
            row.into_iter().map(Cell::from).collect::<Vec<_>>()
        });
        let port = ports.get(&sw_if).cloned().unwrap_or_default();
        out.value(|| value(now, sw_if, &name, &port, &status));
        Ok(())
    }))
}

fn state(status: &Status) -> &'static str {
    if status.neighbor.is_some() { "active" } else { "inactive" }
}

fn value(now: u64, sw_if: SwIfIndex, name: &str, port: &Port, status: &Status) -> Value {
    let neighbor = status.neighbor.as_ref();
    json!({
        "interface": name,
        "sw_if_index": sw_if.0,
        "chassis": neighbor.map(chassis),
        "port": neighbor.map(remote_port),
        "heard_seconds_ago": ago(now, neighbor.map(|n| n.heard)),
        "sent_seconds_ago": ago(now, status.sent),
        "ttl": neighbor.map(|n| n.ttl),
        "state": state(status),
        "port_description": port.description,
        "management_ip4": port.management.0,
        "management_ip6": port.management.1,
        "management_object": port.object,
    })
}

/// The settings, and each port with the elements that it sends and the neighbour that it received,
/// in the form of VPP.
fn detail(w: &World) -> Output {
    let now = w.clock.now();
    let lldp = w.get::<Lldp>();
    let settings = lldp.settings();
    let all: BTreeMap<_, _> = lldp.status().into_iter().collect();
    let items = [None].into_iter().chain(lldp.ports().into_iter().map(Some));
    Output::list(items, move |w: &World, item: Option<(SwIfIndex, Port)>, out: &mut Writer| {
        let Some((sw_if, port)) = item else {
            out.text(|text| head(text, &settings));
            return Ok(());
        };
        let interfaces = w.get::<Interfaces>();
        let status = all.get(&sw_if).copied().unwrap_or_default();
        let is_up = interfaces.get(sw_if).is_ok_and(|interface| interface.admin_up);
        let name = interfaces.name(sw_if);
        out.text(|text| {
            own(text, &name, &port)?;
            other(text, now, is_up, &status)
        });
        out.value(|| value(now, sw_if, &name, &port, &status));
        Ok(())
    })
}

fn head(text: &mut String, settings: &Settings) -> fmt::Result {
    writeln!(text, "LLDP configuration:")?;
    if !settings.system_name.is_empty() {
        writeln!(text, "Configured system name: {}", settings.system_name)?;
    }
    writeln!(text, "Configured tx-hold: {}", settings.hold)?;
    writeln!(text, "Configured tx-interval: {}", settings.interval)?;
    writeln!(text, "\nLLDP-enabled interface table:")
}

/// Writes the elements that a port sends to its neighbour.
fn own(text: &mut String, name: &str, port: &Port) -> fmt::Result {
    writeln!(text, "\nLocal Interface name: {name}")?;
    writeln!(text, "Local Port Description: {}", port.description)?;
    if let Some(ip) = port.management.0 {
        writeln!(text, "Local Management address: {ip}")?;
    }
    if let Some(ip) = port.management.1 {
        writeln!(text, "Local Management address IPV6: {ip}")?;
    }
    if !port.object.is_empty() {
        writeln!(text, "Local Management address OID: {}", port.object)?;
    }
    Ok(())
}

/// Writes the state of a port, and its neighbour or the last one that it had.
fn other(text: &mut String, now: u64, is_up: bool, status: &Status) -> fmt::Result {
    let sent = ago_text(ago(now, status.sent));
    if !is_up {
        writeln!(text, "Interface/peer state: interface down")?;
        return writeln!(text, "Last packet sent: {sent}");
    }
    let (state, of_chassis, of_port, neighbor) = match &status.neighbor {
        Some(neighbor) => ("active", "Peer chassis ID", "Remote port ID", Some(neighbor)),
        None => (
            "inactive(timeout)",
            "Last known peer chassis ID",
            "Last known peer port ID",
            status.last_known.as_ref(),
        ),
    };
    let with_kind = |id: &Id, text: String, kinds: &[&str]| {
        let kind = kinds.get(usize::from(id.kind)).copied().unwrap_or("unknown");
        format!("{text}({kind})")
    };
    let name = neighbor.map(|n| with_kind(&n.chassis, chassis(n), &CHASSIS_KINDS));
    writeln!(text, "Interface/peer state: {state}")?;
    writeln!(text, "{of_chassis}: {}", name.unwrap_or_default())?;
    let name = neighbor.map(|n| with_kind(&n.port, remote_port(n), &PORT_KINDS));
    writeln!(text, "{of_port}: {}", name.unwrap_or_default())?;
    writeln!(text, "Last packet sent: {sent}")?;
    writeln!(text, "Last packet received: {}", ago_text(ago(now, neighbor.map(|n| n.heard))))
}
