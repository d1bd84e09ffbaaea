// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::pairs::{HostKind, Made, Pair, Pairs};
use crate::settings::{Settings, Values};
use cli::quote;
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use net::Interfaces;
use std::collections::BTreeMap;

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[
    Script::here(
        "Ethernet types that cross pairs",
        "lcp ethertype enable 0x88f7
         lcp ethertype enable CFM
         lcp ethertype enable 35061
         lcp ethertype disable 0x8902",
    ),
    Script::here(
        "settings of mirrors",
        "lcp lcp-sync on
         lcp lcp-sync-unnumbered off
         lcp lcp-auto-subint enable
         lcp param del-static-on-link-down on del-dynamic-on-link-down enable
         lcp param del-dynamic-on-link-down off
         lcp default netns somewhere",
    ),
    Script::hosts(
        "interfaces mirrored in the kernel",
        "create loopback interface
         create loopback interface
         create loopback interface
         set interface mac address loop0 02:00:00:00:00:77
         lcp create loop0 host-if lo-mirror netns HOST
         lcp default netns HOST
         lcp create loop1 host-if lo-other tun
         lcp create loop2 host-if gone
         lcp delete loop2
         set interface state loop0 up",
    ),
];

/// Writes the pairs in the order of their mirrors, and the settings.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let made = |(_, pair): (u32, Pair)| (pair.made != Made::Given).then_some((pair.host, pair));
    let pairs: BTreeMap<SwIfIndex, Pair> =
        world.get::<Pairs>().list().into_iter().filter_map(made).collect();
    let mirrors: Vec<_> = pairs.keys().copied().collect();
    config.interfaces(mirrors, move |world, host, lines| {
        let pair = &pairs[&host];
        let Ok(phy) = world.get::<Interfaces>().get(pair.phy) else { return };
        let phy = quote(&phy.original.name);
        let mut line = format!("lcp create {phy} host-if {}", quote(&pair.name));
        if let Some(namespace) = &pair.namespace {
            line += &format!(" netns {}", quote(namespace));
        }
        if pair.kind == HostKind::Tun {
            line += " tun";
        }
        lines.push(line, format!("lcp delete {phy}"));
    });
    let (values, initial) = (world.get::<Settings>().get(), Values::of_startup(world));
    if values.default_namespace != initial.default_namespace {
        let name = |name: Option<String>| match name {
            Some(name) => format!("lcp default netns {}", quote(&name)),
            None => "lcp default netns".to_string(),
        };
        let undo = name(initial.default_namespace);
        config.push(Phase::FEATURES, name(values.default_namespace), undo);
    }
    let switches = [
        ("lcp lcp-sync", values.sync, initial.sync),
        ("lcp lcp-sync-unnumbered", values.sync_unnumbered, initial.sync_unnumbered),
        ("lcp lcp-auto-subint", values.auto_subint, initial.auto_subint),
        ("lcp param del-static-on-link-down", values.del_static, initial.del_static),
        ("lcp param del-dynamic-on-link-down", values.del_dynamic, initial.del_dynamic),
    ];
    for (command, now, _) in switches.into_iter().filter(|(_, now, initial)| now != initial) {
        let line = |on: bool| format!("{command} {}", if on { "on" } else { "off" });
        config.push(Phase::FEATURES, line(now), line(!now));
    }
    for ethertype in values.ethertypes {
        let line = |what| format!("lcp ethertype {what} 0x{ethertype:04x}");
        config.push(Phase::FEATURES, line("enable"), line("disable"));
    }
}
