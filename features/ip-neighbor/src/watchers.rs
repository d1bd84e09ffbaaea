// SPDX-License-Identifier: Apache-2.0
//! `show ip neighbor-watcher`: clients that subscribed to events of neighbours.

use crate::api::{IpNeighborEvent, IpNeighborEventV2};
use crate::watch::Watch;
use cli::{Matches, Output, Result, Writer};
use graph::World;
use net::Interfaces;
use serde_json::json;
use std::fmt::Write as _;

pub fn show(w: &World, _: &Matches) -> Result<Output> {
    let mut all = w.api.subscriptions::<IpNeighborEvent>();
    all.extend(w.api.subscriptions::<IpNeighborEventV2>());
    all.sort();
    let mut last = String::new();
    Ok(Output::list(
        all,
        move |w: &World, (key, pid, client): (String, u32, u32), out: &mut Writer| {
            let Some(Watch { sw_if, ip }) = Watch::of_key(&key) else { return Ok(()) };
            let name =
                sw_if.map_or_else(|| "all".into(), |sw_if| w.get::<Interfaces>().name(sw_if));
            let ip = ip.map_or_else(|| "any".into(), |ip| ip.to_string());
            out.value(|| json!({ "interface": name, "ip": ip, "pid": pid, "client": client }));
            out.text(|text| {
                if last != key {
                    writeln!(text, "Key: [{name}, {ip}]")?;
                }
                writeln!(text, "  [pid:{pid}, client:{client}]")
            });
            last = key;
            Ok(())
        },
    ))
}
