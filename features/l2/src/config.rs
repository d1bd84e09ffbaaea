// SPDX-License-Identifier: Apache-2.0
//! The configuration of layer-2 switching, as commands.

use crate::bridge::Bridge;
use crate::domain::DEFAULT_LEARN_LIMIT;
use crate::features::Features;
use crate::mode::{Mode, PortKind};
use crate::storm::Class;
use crate::{pbb, vtr};
use cli::quote;
use graph::{Phase, RunningConfig, Section, SwIfIndex, World};
use net::{BackboneRewrite, Column, Interfaces, TagRewrite};
use object::Arguments;

/// The words of a feature that `set interface l2` switches, with the feature's bit.
pub const PORT_FEATURES: [(&str, Features); 6] = [
    ("learn", Features::LEARN),
    ("forward", Features::FWD),
    ("flood", Features::FLOOD),
    ("uu-flood", Features::UU_FLOOD),
    ("arp-term", Features::ARP_TERM),
    ("arp-ufwd", Features::ARP_UFWD),
];

/// Writes the mode of an interface.
fn write_mode(world: &World, sw_if: SwIfIndex, lines: &mut Section<'_>) {
    let name = world.get::<Interfaces>().word(sw_if);
    let undo = format!("set interface l3 {name}");
    match world.get::<Bridge>().mode(sw_if) {
        None => {}
        // The plugin of the sink writes it.
        Some(Mode::Xconnect(peer)) if world.get::<Bridge>().is_sink(peer) => {}
        Some(Mode::Xconnect(peer)) => {
            let peer = world.get::<Interfaces>().word(peer);
            lines.push(format!("set interface l2 xconnect {name} {peer}"), undo);
        }
        Some(Mode::Bridge { id, kind, shg, features }) => {
            let kind_word = match kind {
                PortKind::Normal => "",
                PortKind::Bvi => " bvi",
                PortKind::UuFwd => " uu-fwd",
            };
            let shg = if shg == 0 { String::new() } else { format!(" {shg}") };
            lines.push(format!("set interface l2 bridge {name} {id}{kind_word}{shg}"), undo);
            let Mode::Bridge { features: usual, .. } = Mode::bridge(id, kind, 0) else { return };
            for (word, feature) in PORT_FEATURES {
                let line = format!("set interface l2 {word} {name}");
                let disable = format!("{line} disable");
                match (usual.contains(feature), features.contains(feature)) {
                    (true, false) => lines.push(disable, line),
                    (false, true) => lines.push(line, disable),
                    _ => {}
                }
            }
        }
    }
}

/// Writes the configuration.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let bridge = world.get::<Bridge>();
    let limit = bridge.default_learn_limit();
    config.list(Phase::FEATURES, bridge.domain_ids(), |world, id, lines| {
        let Some(domain) = world.get::<Bridge>().domain_info(world, id) else { return };
        let line = format!("create bridge-domain {id}");
        lines.push(format!("{line}{}", domain.config.words(world)), format!("{line} del"));
        if domain.config.arp_snoop {
            lines.until(format!("set bridge-domain arp snoop {id}"), "disable");
        }
        let (_, limit) = domain.learned;
        if limit != DEFAULT_LEARN_LIMIT {
            let line = format!("set bridge-domain learn-limit {id}");
            lines.value(&line, limit, DEFAULT_LEARN_LIMIT);
        }
    });
    if limit != DEFAULT_LEARN_LIMIT {
        let line = "set bridge-domain default-learn-limit";
        config.value(Phase::FEATURES, line, limit, DEFAULT_LEARN_LIMIT);
    }
    config.list(Phase::FEATURES, bridge.clone().hosts(None), |_, (id, ip, mac), lines| {
        lines.until(format!("set bridge-domain arp entry {id} {ip} {mac}"), "del");
    });
    // Members in their domain's order, which is that of floods; then interfaces that are in no
    // domain.
    config.list(Phase::FEATURES, bridge.domain_ids(), |world, id, lines| {
        let Some(domain) = world.get::<Bridge>().domain_info(world, id) else { return };
        let members = domain.members.iter().map(|member| member.sw_if);
        members.chain(domain.uu_fwd).for_each(|sw_if| write_mode(world, sw_if, lines));
    });
    config.list(Phase::FEATURES, world.get::<Interfaces>().indices(), |world, sw_if, lines| {
        match world.get::<Bridge>().mode(sw_if) {
            Some(Mode::Bridge { id, .. }) if id != 0 => {}
            _ => write_mode(world, sw_if, lines),
        }
    });
    config.list(Phase::FEATURES, world.get::<Interfaces>().indices(), |world, sw_if, lines| {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let name = quote(&interface.name);
        let rewrite = world.get::<Column<TagRewrite>>().get(sw_if);
        if rewrite.op != TagRewrite::NONE {
            let line = format!("set interface l2 tag-rewrite {name}");
            lines.value(&line, vtr::words(rewrite), "disable");
        }
        if let Some(rewrite) = world.get::<Column<Option<BackboneRewrite>>>().get(sw_if) {
            let line = format!("set interface l2 pbb-tag-rewrite {name}");
            lines.value(&line, pbb::words(&rewrite), "disable");
        }
        for (class, rate) in Class::ALL.into_iter().zip(world.get::<Bridge>().storms.rates(sw_if)) {
            let line = format!("set interface l2 storm-control {name} {}", class.word());
            if let Some(rate) = rate {
                lines.push(format!("{line} packets-per-second {rate}"), format!("{line} off"));
            }
        }
        if world.get::<Bridge>().has_efp_filter(sw_if) {
            lines.until(format!("set interface l2 efp-filter {name}"), "disable");
        }
    });
    config.list(Phase::FEATURES, bridge.provisioned(), |world, (id, mac), lines| {
        let bridge = world.get::<Bridge>();
        let Some(entry) = bridge.entry(id, mac, 0).filter(|entry| entry.is_provisioned) else {
            return;
        };
        let to = match entry.sw_if {
            None => "filter".to_string(),
            Some(sw_if) => {
                // Frames to a port that is bridged no longer are dropped; it can't be said again.
                let Some(Mode::Bridge { .. }) = bridge.mode(sw_if) else { return };
                let name = world.get::<Interfaces>().word(sw_if);
                let word = if entry.is_bvi {
                    " bvi"
                } else if entry.is_static {
                    " static"
                } else {
                    ""
                };
                format!("{name}{word}")
            }
        };
        lines.push(format!("l2fib add {mac} {id} {to}"), format!("l2fib del {mac} {id}"));
    });
}
