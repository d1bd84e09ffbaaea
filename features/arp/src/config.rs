// SPDX-License-Identifier: Apache-2.0
//! ARP settings as commands, for the running configuration.

use crate::control::{Arp, Gratuitous};
use crate::ranges::Ranges;
use cli::quote;
use graph::{Phase, RunningConfig, World};
use net::{Fib, Interfaces, TableIndex};
use wire::Ip4;

/// Writes the commands that restore the settings.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let word = |what| match what {
        Gratuitous::Learn => "learn",
        Gratuitous::Update => "update",
        Gratuitous::Ignore => "ignore",
    };
    let (now, usual) = (world.get::<Arp>().gratuitous(), Gratuitous::default());
    if now != usual {
        let line = "set arp gratuitous";
        config.push(
            Phase::SETTINGS,
            format!("{line} {}", word(now)),
            format!("{line} {}", word(usual)),
        );
    }
    if world.get::<Arp>().announces() {
        config.push(Phase::SETTINGS, "set arp announce on", "set arp announce off");
    }
    config.list(Phase::FEATURES, world.get::<Ranges>().list(), |world, range, lines| {
        let table = match world.get::<Fib<Ip4>>().table_id(TableIndex(range.table)) {
            // The table was deleted: nothing is left to configure there.
            None => return,
            Some(0) => String::new(),
            Some(id) => format!("table-id {id} "),
        };
        let rest = format!("{table}start {} end {}", range.start, range.end);
        lines.push(format!("set arp proxy {rest}"), format!("set arp proxy del {rest}"));
    });
    config.list(Phase::FEATURES, world.get::<Arp>().proxies(), |world, sw_if, lines| {
        let line =
            format!("set interface proxy-arp {}", quote(&world.get::<Interfaces>().name(sw_if)));
        lines.push(format!("{line} enable"), format!("{line} disable"));
    });
}
