// SPDX-License-Identifier: Apache-2.0
//! `show hardware-interfaces`.

use cli::{Error, Matches, Output, Writer};
use graph::World;
use net::{IfKind, Interface, Interfaces, MtuKind};
use std::fmt::Write;

pub fn show(w: &World, m: &Matches) -> Result<Output, Error> {
    let interfaces = w.get::<Interfaces>();
    let only: Vec<String> = m.all("interface")?;
    for name in &only {
        interfaces.find(name)?;
    }
    let brief = m.flag("brief");
    let items = [None].into_iter().chain(interfaces.indices().map(Some));
    Ok(Output::list(items, move |_: &World, sw_if, out: &mut Writer| {
        let Some(sw_if) = sw_if else {
            out.text(|text| writeln!(text, "{:>20}{:>6}{:>6}  Hardware", "Name", "Idx", "Link"));
            return Ok(());
        };
        let Ok(i) = interfaces.get(sw_if) else { return Ok(()) };
        if i.parent == sw_if && (only.is_empty() || only.contains(&i.name)) {
            write(&i, brief, out);
        }
        Ok(())
    }))
}

fn write(i: &Interface, brief: bool, out: &mut Writer) {
    let link = if i.link_up { "up" } else { "down" };
    let details = i.device.details();
    out.text(|text| {
        writeln!(text, "{:<20}{:>6}{:>6}  {}", i.name, i.sw_if.0, link, i.name)?;
        if brief {
            return Ok(());
        }
        if i.kind == IfKind::Ethernet {
            writeln!(text, "  Ethernet address {}", i.mac)?;
        }
        writeln!(text, "  driver {}, link MTU {}", i.device.driver(), i.mtu_of(MtuKind::Link))?;
        details.iter().try_for_each(|line| writeln!(text, "  {line}"))
    });
    out.value(|| {
        serde_json::json!({
            "name": i.name,
            "idx": i.sw_if.0,
            "link": link,
            "hardware": i.name,
            "driver": i.device.driver(),
            "mac": i.mac.to_string(),
            "mtu": i.mtu_of(MtuKind::Link),
            "details": details,
        })
    });
}
