// SPDX-License-Identifier: Apache-2.0
//! `show hardware-interfaces`.

use cli::{Error, Matches, Output};
use graph::World;
use net::{IfKind, Interfaces, MtuKind};
use std::fmt::Write;

pub fn show(w: &World, m: &Matches) -> Result<Output, Error> {
    let interfaces = w.get::<Interfaces>();
    let only: Vec<String> = m.all("interface")?;
    for name in &only {
        interfaces.find(name)?;
    }
    let mut text = format!("{:>20}{:>6}{:>6}  {}\n", "Name", "Idx", "Link", "Hardware");
    let mut json = Vec::new();
    for i in interfaces.list() {
        if i.parent != i.sw_if || !(only.is_empty() || only.contains(&i.name)) {
            continue;
        }
        let link = if i.link_up { "up" } else { "down" };
        // Writing to a String can't fail.
        let _ = writeln!(text, "{:<20}{:>6}{:>6}  {}", i.name, i.sw_if.0, link, i.name);
        let details = i.device.details();
        if !m.flag("brief") {
            if i.kind == IfKind::Ethernet {
                let _ = writeln!(text, "  Ethernet address {}", i.mac);
            }
            let _ = writeln!(text, "  driver {}, link MTU {}", i.device.driver(), i.mtu_of(MtuKind::Link));
            for line in &details {
                let _ = writeln!(text, "  {line}");
            }
        }
        json.push(serde_json::json!({
            "name": i.name,
            "idx": i.sw_if.0,
            "link": link,
            "hardware": i.name,
            "driver": i.device.driver(),
            "mac": i.mac.to_string(),
            "mtu": i.mtu_of(MtuKind::Link),
            "details": details,
        }));
    }
    Ok(Output::both(text, serde_json::Value::Array(json)))
}
