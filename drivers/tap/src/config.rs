// SPDX-License-Identifier: Apache-2.0
//! Taps, as commands that make them.

use crate::control::Taps;
use crate::device::kind_name;
use crate::{Config, Kind};
use cli::quote;
use graph::{RunningConfig, World};
use net::{Interfaces, OriginalSettings};
use std::collections::BTreeMap;

/// Writes the taps, except those of features. Their addresses are always written: addresses that
/// aren't given are drawn by chance.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let mut all = BTreeMap::new();
    for kind in [Kind::Tap, Kind::Tun] {
        let taps = world.get::<Taps>().numbered(kind).into_iter().filter(|(.., tap)| !tap.is_owned);
        all.extend(taps.map(|(id, sw_if, _)| (sw_if, (kind, id))));
    }
    let indices: Vec<_> = all.keys().copied().collect();
    config.interfaces(indices, move |world, sw_if, lines| {
        let (kind, id) = all[&sw_if];
        let tap = world.get::<Taps>().get(kind, id).filter(|(index, _)| *index == sw_if);
        let (Some((_, tap)), Ok(interface)) = (tap, world.get::<Interfaces>().get(sw_if)) else {
            return;
        };
        let OriginalSettings { name, mac, .. } = interface.original;
        let usual = format!("{}{id}", kind_name(kind));
        let mut line = format!("create tap id {id} hw-addr {mac}");
        if name != usual {
            line += &format!(" if-name {}", quote(&name));
        }
        line += &host(&tap.config, &usual);
        lines.push(line, format!("delete tap {}", quote(&name)));
    });
}

fn host(c: &Config, usual: &str) -> String {
    let mut text = String::new();
    let mut word = |word: &str, value: Option<String>| {
        if let Some(value) = value {
            text += &format!(" {word} {}", quote(&value));
        }
    };
    let host_name = (c.host_name != usual || c.attach).then(|| c.host_name.clone());
    word("num-rx-queues", (c.queues != 1).then(|| c.queues.to_string()));
    word("rx-ring-size", c.host_queue_len.map(|n| n.to_string()));
    word("host-ns", c.host_namespace.clone());
    word("host-bridge", c.host_bridge.clone());
    word("host-ip4-addr", c.host_ip4.map(|(ip, len)| format!("{ip}/{len}")));
    word("host-ip6-addr", c.host_ip6.map(|(ip, len)| format!("{ip}/{len}")));
    word("host-ip4-gw", c.host_ip4_gateway.map(|ip| ip.to_string()));
    word("host-ip6-gw", c.host_ip6_gateway.map(|ip| ip.to_string()));
    word("host-mac-addr", c.host_mac.map(|mac| mac.to_string()));
    word("host-if-name", host_name);
    word("host-mtu-size", c.host_mtu.map(|n| n.to_string()));
    let flags = [
        (!c.gso && !c.csum_offload, " no-gso"),
        (!c.gso && c.csum_offload, " csum-offload"),
        (c.persist, " persist"),
        (c.attach, " attach"),
        (c.kind == Kind::Tun, " tun"),
    ];
    text.extend(flags.into_iter().filter(|(on, _)| *on).map(|(_, word)| word));
    text
}
