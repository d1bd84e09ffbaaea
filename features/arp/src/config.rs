// SPDX-License-Identifier: Apache-2.0
//! What was set for ARP, as commands.

use crate::control::{ARC, Arp, Gratuitous, table_id};
use crate::proxy::ArpProxy;
use crate::ranges::Ranges;
use cli::quote;
use graph::{Node, Phase, RunningConfig, World};
use net::Interfaces;

/// Says what was set.
pub fn say(world: &World, config: &mut RunningConfig) {
    let word = |what| match what {
        Gratuitous::Learn => "learn",
        Gratuitous::Update => "update",
        Gratuitous::Ignore => "ignore",
    };
    let (now, usual) = (world.get::<Arp>().gratuitous(), Gratuitous::default());
    if now != usual {
        let line = "set arp gratuitous";
        config.push(Phase::Settings, format!("{line} {}", word(now)), format!("{line} {}", word(usual)));
    }
    for range in world.get::<Ranges>().list() {
        let table = match table_id(world, range.table) {
            0 => String::new(),
            id => format!("table-id {id} "),
        };
        let rest = format!("{table}start {} end {}", range.start, range.end);
        config.push(Phase::Features, format!("set arp proxy {rest}"), format!("set arp proxy del {rest}"));
    }
    for name in proxies(world) {
        let line = format!("set interface proxy-arp {}", quote(&name));
        config.push(Phase::Features, format!("{line} enable"), format!("{line} disable"));
    }
}

/// The interfaces where others are answered for.
pub fn proxies(world: &World) -> Vec<String> {
    let arc = world.arc(ARC).expect("this plugin brings the arc");
    let enabled =
        |i: &net::Interface| world.features_of(arc, i.sw_if).iter().any(|(f, _)| *f == ArpProxy::NAME);
    world.get::<Interfaces>().list().into_iter().filter(enabled).map(|i| i.name).collect()
}
