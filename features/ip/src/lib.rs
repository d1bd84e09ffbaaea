// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! IPv4 forwarding (RFC 791, RFC 1812).
//!
//! The way of a packet that is forwarded:
//!
//! 1. `ip4-input` (or `ip4-input-no-checksum`, where the device has verified it) checks the header, and starts the arc
//!    `ip4-unicast` or `ip4-multicast` of the interface that the packet came in by. Packets with options pass
//!    `ip4-options` first.
//! 2. `ip4-lookup` finds the adjacency of the destination, and leaves it in the packet's [`net::IpMeta`].
//! 3. `ip4-rewrite` takes one from the TTL, puts the layer-2 header in front, starts the arc `ip4-output` of the interface that
//!    the packet leaves by; the arc ends at that interface's output node.
//!
//! What is for us goes from the lookup to `ip4-local`, and from there to who registered the protocol
//! ([`register_protocol`]) or the UDP port ([`register_udp_port`]). What can't be forwarded goes to `ip4-icmp-error` with
//! the error in its `IpMeta`, or to `ip4-drop`.
//!
//! **Where the packet starts.** At its IP header, from `ip4-input` to `ip4-rewrite` and for the nodes of protocols. Nobody on
//! the way marks layer 3: who moves the start does. `ip4-rewrite` marks it before it puts the layer-2 header in front, if a
//! feature is enabled on `ip4-output`; `ip4-udp-lookup` before it takes off IP and UDP header.
//!
//! **Which table.** That of the interface that the packet came in by, `local0`'s (0) for packets of our own; with
//! [`buffer::Flags::TABLE`], the one whose index stands in `tx_if`.
//!
//! Limits: fragments for us are not reassembled yet; multicast is delivered within 224.0.0.0/24 and not
//! forwarded; both are dropped by name. Source routing is refused (RFC 7126 4.3).

pub mod api;
mod cli;
mod config;
mod control;
mod drop;
mod flow;
mod frag;
mod headers;
mod input;
mod local;
mod lookup;
mod multicast;
mod not_enabled;
mod options;
mod protocols;
mod rewrite;
#[cfg(test)]
mod tests;
mod udp;

pub use protocols::{register_protocol, register_udp_port, unregister_udp_port};

use ethernet::register_ethertype_verified;
use graph::{ArcDef, Feature, NodeDef, Plugin, SwIfIndex, World};
use net::{IfEvent, Interfaces};
use std::sync::Arc;
use wire::{EtherType, IpProtocol};

/// IPv4.
pub static PLUGIN: Plugin = Plugin {
    name: "ip",
    about: "IPv4: input, lookup, rewrite, local delivery, routes",
    nodes: &[
        NodeDef::of::<input::Input<true>>(),
        NodeDef::of::<input::Input<false>>(),
        NodeDef::of::<options::Options>(),
        NodeDef::of::<not_enabled::NotEnabled>(),
        NodeDef::of::<lookup::Lookup>(),
        NodeDef::of::<rewrite::Rewrite>(),
        NodeDef::of::<frag::Fragment>(),
        NodeDef::of::<local::Local>(),
        NodeDef::of::<local::EndOfArc>(),
        NodeDef::of::<udp::UdpLookup>(),
        NodeDef::of::<multicast::Forward>(),
        NodeDef::of::<drop::Drop>(),
        NodeDef::of::<drop::Punt>(),
    ],
    arcs: &[
        ArcDef {
            name: "ip4-unicast",
            starts: &["ip4-input", "ip4-input-no-checksum", "ip4-options"],
            end: "ip4-lookup",
        },
        ArcDef {
            name: "ip4-multicast",
            starts: &["ip4-input", "ip4-input-no-checksum", "ip4-options"],
            end: "ip4-mfib-forward-lookup",
        },
        ArcDef { name: "ip4-output", starts: &["ip4-rewrite"], end: "error-drop" },
        ArcDef { name: "ip4-local", starts: &["ip4-local"], end: "ip4-local-end-of-arc" },
        ArcDef { name: "ip4-drop", starts: &["ip4-drop"], end: "error-drop" },
        ArcDef { name: "ip4-punt", starts: &["ip4-punt"], end: "error-punt" },
    ],
    features: &[
        Feature { arc: "ip4-unicast", node: "ip4-not-enabled", before: &[], after: &[] },
        Feature { arc: "ip4-multicast", node: "ip4-not-enabled", before: &[], after: &[] },
    ],
    cli: cli::COMMANDS,
    config: config::say,
    api: api::MODULES,
    start,
};

fn start(world: &Arc<World>) -> Result<(), String> {
    register_ethertype_verified(world, EtherType::IP4, "ip4-input", "ip4-input-no-checksum")?;
    register_protocol(world, IpProtocol::UDP, "ip4-udp-lookup")?;
    let interfaces = world.get::<Interfaces>();
    for interface in interfaces.list() {
        follow(world, IfEvent::Added(interface.sw_if))?;
    }
    interfaces.subscribe(|world, event| {
        let followed = follow(world, event);
        debug_assert_eq!(followed, Ok(()), "the arcs are this plugin's own");
    });
    Ok(())
}

/// Interfaces start without IPv4, and `ip4-output` ends at their output node.
fn follow(world: &World, event: IfEvent) -> Result<(), String> {
    match event {
        IfEvent::Added(sw_if) => {
            if let Ok(interface) = world.get::<Interfaces>().get(sw_if) {
                world.set_arc_end("ip4-output", sw_if, interface.output)?;
            }
            set_enabled(world, sw_if, sw_if.0 == 0)
        }
        IfEvent::Ip(sw_if, false, on) => set_enabled(world, sw_if, on),
        _ => Ok(()),
    }
}

fn set_enabled(world: &World, sw_if: SwIfIndex, on: bool) -> Result<(), String> {
    for arc in ["ip4-unicast", "ip4-multicast"] {
        world.set_feature(arc, "ip4-not-enabled", sw_if, (!on).then_some(0))?;
    }
    Ok(())
}
