// SPDX-License-Identifier: Apache-2.0
//! The saved configuration.

use crate::answer::{Answers, Settings};
use crate::forward::{Forward, Forwards};
use crate::model::Gtpu;
use graph::{Phase, RunningConfig, Script, World};

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[
    Script::here(
        "GTP-U tunnels",
        "create packet-generator interface pg0
         set interface state pg0 up
         set interface ip address pg0 192.0.2.1/24
         ip table add 7
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.9 teid 13 decap-next ip4
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.9 teid 14 tteid 15 instance 5 encap-vrf-id 7 qfi 9 dscp 8
         create gtpu tunnel src 2001:db8::1 dst 2001:db8::2 teid 0 tteid 77 decap-next ip6
         create gtpu tunnel src 192.0.2.1 group 239.1.1.1 pg0 teid 13
         create gtpu tunnel src 192.0.2.1 group 239.1.1.1 pg0 teid 14 decap-next drop
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.10 teid 15 decap-next node ethernet-input
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.10 teid 15 upd-tteid 99
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.11 teid 16
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.11 teid 16 del
         set interface ip address gtpu_tunnel0 10.0.0.1/24
         set interface ip gtpu-bypass pg0
         set interface ip6 gtpu-bypass pg0",
    ),
    Script::here(
        "answers to GTP-U messages",
        "set gtpu answer echo enable error-indication enable
         set gtpu answer error-indication disable",
    ),
    Script::here(
        "forwarded GTP-U datagrams",
        "ip table add 7
         create gtpu forward dst 192.0.2.7 unknown-teid
         create gtpu forward dst 192.0.2.8 unknown-type decap-next ip4 encap-vrf-id 7
         create gtpu forward dst 2001:db8::7 bad-header decap-next drop instance 9
         create gtpu forward dst 192.0.2.8 bad-header
         create gtpu forward dst 192.0.2.8 bad-header del",
    ),
];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    let Settings { echo, error } = world.get::<Answers>().get();
    for (what, on) in [("echo", echo), ("error-indication", error)] {
        if on {
            let line = format!("set gtpu answer {what}");
            config.push(Phase::SETTINGS, format!("{line} enable"), format!("{line} disable"));
        }
    }
    tunnel::write_config::<Gtpu>(world, config);
    let forwards = world.get::<Forwards>().list();
    let all: Vec<_> = forwards.into_iter().map(|forward| forward.sw_if).collect();
    config.interfaces(all, |world, sw_if, lines| {
        let Some(forward) = world.get::<Forwards>().get(sw_if) else { return };
        let Forward { instance, cause, to, table, next, .. } = forward;
        let line = format!("create gtpu forward dst {to} {}", cause.word());
        let next = next.words();
        let table = if table == 0 { String::new() } else { format!(" encap-vrf-id {table}") };
        lines.push(format!("{line}{next}{table} instance {instance}"), format!("{line} del"));
    });
    tunnel::write_bypass::<Gtpu>(world, config);
}
