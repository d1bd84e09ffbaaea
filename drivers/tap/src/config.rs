// SPDX-License-Identifier: Apache-2.0
//! Taps, as commands that make them.

use crate::control::Taps;
use crate::device::kind_name;
use crate::{Config, Kind};
use cli::quote;
use graph::{RunningConfig, World};
use net::{Interfaces, Made};

/// Says which taps there are. Their addresses are always said: those that aren't given are drawn by chance.
pub fn say(world: &World, config: &mut RunningConfig) {
    let (taps, interfaces) = (world.get::<Taps>(), world.get::<Interfaces>());
    for kind in [Kind::Tap, Kind::Tun] {
        for (id, sw_if, tap) in taps.numbered(kind) {
            let Ok(interface) = interfaces.get(sw_if) else { continue };
            let Made { name, mac, .. } = interface.made;
            let usual = format!("{}{id}", kind_name(kind));
            let mut line = format!("create tap id {id} hw-addr {mac}");
            if name != usual {
                line += &format!(" if-name {}", quote(&name));
            }
            line += &host(&tap.config, &usual);
            config.interface(sw_if, line, format!("delete tap {}", quote(&name)));
        }
    }
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
