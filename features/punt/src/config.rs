// SPDX-License-Identifier: Apache-2.0
//! The punt registrations and redirects, as commands.

use crate::redirect;
use crate::state::{Destination, Key, Punt};
use cli::quote;
use graph::{Phase, RunningConfig, World};
use net::Interfaces;

/// Writes the punt registrations and redirects.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Punt>().list(), |world, (key, destination), lines| {
        let what = describe(world, key);
        let (text, undo) = match destination {
            Destination::Punt => {
                let (ip, rest) = what.split_once(' ').unwrap_or((&what, ""));
                let (kind, number) = rest.split_once(' ').unwrap_or((rest, ""));
                (
                    format!("set punt {ip} {kind} {number}"),
                    format!("set punt {ip} {kind} del {number}"),
                )
            }
            Destination::Socket(path) => (
                format!("punt socket register {what} socket {}", quote(&path.to_string_lossy())),
                format!("punt socket deregister {what}"),
            ),
        };
        lines.push(text, undo);
    });
    for (ip, v6) in [("ip", false), ("ip6", true)] {
        let redirects = world.get::<redirect::RedirectTable>().list(v6);
        config.list(Phase::FEATURES, redirects, move |world, (rx, redirect), lines| {
            let name = |sw_if| quote(&world.get::<Interfaces>().name(sw_if));
            let rx = rx.map_or("all".to_string(), name);
            let via = match redirect.via {
                Some(redirect::Via { tx, nexthop: Some(addr) }) => format!("{addr} {}", name(tx)),
                Some(redirect::Via { tx, nexthop: None }) => name(tx),
                None => "drop".into(),
            };
            let line = format!("{ip} punt redirect");
            let add = format!("{line} add rx {rx} via {via}");
            lines.push(add, format!("{line} del rx {rx}"));
        });
    }
}

/// Returns the packets of a registration as in commands.
pub fn describe(world: &World, key: Key) -> String {
    let ip = |v6| if v6 { "ipv6" } else { "ipv4" };
    let number = |port: Option<u16>| port.map_or("all".to_string(), |port| port.to_string());
    match key {
        Key::Udp { v6, port } => format!("{} udp {}", ip(v6), number(port)),
        Key::Tcp { v6, port } => format!("{} tcp {}", ip(v6), number(port)),
        Key::Protocol { v6, protocol } => format!("{} protocol {protocol}", ip(v6)),
        Key::Reason(id) => {
            let reason = crate::reasons(world).into_iter().find(|reason| reason.id == id);
            format!("exception {}", reason.map_or(id.to_string(), |reason| reason.name))
        }
    }
}
