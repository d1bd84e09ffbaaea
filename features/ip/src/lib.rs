// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Forwarding of IPv4 (RFC 791, RFC 1812) and IPv6 (RFC 8200, RFC 4291).
//!
//! Each node is written once for both: `ip4-lookup` and `ip6-lookup` are `{ip}-lookup` in the
//! source. All differences of the versions are in one trait, [`Ip`]. The path of a packet that is
//! forwarded:
//!
//! 1. `{ip}-input` (or `ip4-input-no-checksum`, where the device has verified it) checks the
//!    header, and starts the arc `{ip}-unicast` or `{ip}-multicast` of the interface that the
//!    packet came in by. Packets with options pass `ip4-options` or `ip6-hop-by-hop` first.
//! 2. `{ip}-lookup` finds the adjacency of the destination, and leaves it in the packet's
//!    [`net::IpMeta`]. A link-local destination passes `ip6-link-local` and is looked up once more,
//!    in its link's table.
//! 3. `{ip}-rewrite` takes one from the TTL or hop limit, puts the layer-2 header in front, starts
//!    the arc `{ip}-output` of the interface that the packet leaves by; the arc ends at that
//!    interface's output node.
//!
//! Packets for us go from the lookup to `{ip}-local`, and from there to the node registered for the
//! protocol ([`register_protocol`]) or the UDP port ([`register_udp_port`]). Packets that can't be
//! forwarded go to `{ip}-icmp-error` with the error in their `IpMeta`, or to `{ip}-drop`.
//!
//! **Where the packet starts.** At its IP header, from `{ip}-input` to `{ip}-rewrite` and for the
//! nodes of protocols. The start of layer 3 is marked only by a node that moves the packet's start:
//! `{ip}-rewrite` marks it before it puts the layer-2 header in front, if a feature is enabled on
//! `{ip}-output`; `{ip}-udp-lookup` before it takes off IP and UDP header.
//!
//! **Which table.** That of the interface that the packet came in by, `local0`'s (0) for packets of
//! our own; with [`buffer::Flags::TABLE`], the one whose index stands in `tx_if`. A packet of our
//! own to a link-local address names its link's table ([`net::LinkLocals::table`]) or has the
//! interface in its `rx_if`.
//!
//! **Hop limit 0.** A packet for us is taken whatever its hop limit; one that is to be forwarded
//! ends (RFC 8200 3).
//!
//! Packets to groups leave the arc `{ip}-multicast` for the feature `mfib`.
//!
//! Limits: source routing is refused (RFC 7126 4.3, RFC 5095).
//!
//! Tests: Linux hosts; a slow oracle that decides the same packets; mutated packets.

pub mod api;
mod broadcast;
mod cli;
mod config;
mod control;
mod departure;
mod drop;
mod error_limit;
mod examples;
pub mod exits;
mod extension;
mod family;
pub mod flow;
mod frag;
pub mod headers;
mod hop_by_hop;
mod input;
mod interface_rx;
mod link_local;
mod local;
mod lookup;
mod not_enabled;
mod options;
mod own;
mod protocols;
mod redirects;
mod rewrite;
mod route_counts;
mod template;
#[cfg(feature = "tests")]
mod tests;
mod udp;
mod version4;
mod version6;

pub use departure::{Departure, Way};
pub use error_limit::ErrorLimit;
pub use family::{ErrorCode, Ip, IpTrace, Words, arc, words};
pub use flow::hash as flow_hash;
pub use frag::finish_checksum;
pub use local::{Local, lacks_checksum};
pub use lookup::{Onward, table_of};
pub use own::replace;
pub use protocols::{
    Protocols, accept_no_checksum, register_otherwise, register_protocol, register_udp_port,
    set_fragments, set_returning_source, set_udp_rest, unregister_protocol, unregister_udp_port,
};
pub use redirects::Redirects;
pub use rewrite::{RewriteTrace, is_tcp_gso, segment_len};
pub use route_counts::RouteCounts;

use ethernet::{register_ethertype, register_ethertype_verified};
use graph::{ArcDef, Feature, NodeDef, Plugin, StateDef, SwIfIndex, World, filled, rank};
use net::{Column, IfEvent, Interfaces, Objects};
use std::sync::Arc;
use wire::{EtherType, Ip4, Ip6, IpProtocol};

/// IPv4 and IPv6.
pub static PLUGIN: Plugin = Plugin {
    name: "ip",
    about: "IPv4 and IPv6: input, lookup, rewrite, local delivery",
    area: "ip",
    does: &[
        "IPv4: header checks, options, lookup, ECMP by flow, rewrite, fragmentation, local \
         delivery",
        "IPv6 by the same nodes: hop-by-hop and destination options, extension headers, \
         link-local addresses with a table for each link, ECMP with flow label, fragmentation of \
         our own packets",
    ],
    spec: &[
        "RFC 791", "RFC 1122", "RFC 1624", "RFC 1812", "RFC 7126", "RFC 4291", "RFC 6724",
        "RFC 8200",
    ],
    limits: &["Source-routed packets are refused"],
    state: &[
        StateDef::of::<protocols::Protocols<Ip4>>(),
        StateDef::of::<protocols::Protocols<Ip6>>(),
        StateDef::of::<control::Sweep<Ip4>>(),
        StateDef::of::<control::Sweep<Ip6>>(),
        StateDef::of::<broadcast::DirectedBroadcast>(),
        StateDef::of::<ErrorLimit<Ip4>>(),
        StateDef::of::<ErrorLimit<Ip6>>(),
        StateDef::of::<Column<Redirects<Ip4>>>(),
        StateDef::of::<Column<Redirects<Ip6>>>(),
    ],
    nodes: &[
        NodeDef::of::<input::Input<Ip4, true>>(),
        NodeDef::of::<input::Input<Ip4, false>>(),
        NodeDef::of::<input::Input<Ip6, true>>(),
        NodeDef::of::<options::Options>(),
        NodeDef::of::<hop_by_hop::HopByHop>(),
        NodeDef::of::<link_local::LinkLocal>(),
        NodeDef::of::<interface_rx::InterfaceRx<Ip4>>(),
        NodeDef::of::<interface_rx::InterfaceRx<Ip6>>(),
        NodeDef::of::<not_enabled::NotEnabled<Ip4>>(),
        NodeDef::of::<not_enabled::NotEnabled<Ip6>>(),
        NodeDef::of::<lookup::Lookup<Ip4>>(),
        NodeDef::of::<lookup::Lookup<Ip6>>(),
        NodeDef::of::<rewrite::Rewrite<Ip4>>(),
        NodeDef::of::<rewrite::Rewrite<Ip6>>(),
        NodeDef::of::<frag::Fragment<Ip4>>(),
        NodeDef::of::<frag::Fragment<Ip6>>(),
        NodeDef::of::<local::Local<Ip4>>(),
        NodeDef::of::<local::Local<Ip6>>(),
        NodeDef::of::<local::EndOfArc<Ip4>>(),
        NodeDef::of::<local::EndOfArc<Ip6>>(),
        NodeDef::of::<udp::UdpLookup<Ip4>>(),
        NodeDef::of::<udp::UdpLookup<Ip6>>(),
        NodeDef::of::<drop::Drop<Ip4>>(),
        NodeDef::of::<drop::Drop<Ip6>>(),
        NodeDef::of::<drop::Punt<Ip4>>(),
        NodeDef::of::<drop::Punt<Ip6>>(),
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
        ArcDef {
            name: "ip4-output",
            starts: &["ip4-rewrite", "ip4-rewrite-mcast", "ip4-dvr-dpo"],
            end: "error-drop",
        },
        ArcDef { name: "ip4-local", starts: &["ip4-local"], end: "ip4-local-end-of-arc" },
        ArcDef { name: "ip4-drop", starts: &["ip4-drop"], end: "error-drop" },
        ArcDef { name: "ip4-punt", starts: &["ip4-punt"], end: "error-punt" },
        ArcDef { name: "ip6-unicast", starts: &["ip6-input", "ip6-hop-by-hop"], end: "ip6-lookup" },
        ArcDef {
            name: "ip6-multicast",
            starts: &["ip6-input", "ip6-hop-by-hop"],
            end: "ip6-mfib-forward-lookup",
        },
        ArcDef {
            name: "ip6-output",
            starts: &["ip6-rewrite", "ip6-rewrite-mcast", "ip6-dvr-dpo"],
            end: "error-drop",
        },
        ArcDef { name: "ip6-local", starts: &["ip6-local"], end: "ip6-local-end-of-arc" },
        ArcDef { name: "ip6-drop", starts: &["ip6-drop"], end: "error-drop" },
        ArcDef { name: "ip6-punt", starts: &["ip6-punt"], end: "error-punt" },
    ],
    features: &[
        Feature {
            arc: "ip4-unicast",
            node: "ip4-not-enabled",
            before: &[rank::END],
            after: &[rank::STEER],
        },
        Feature { arc: "ip4-multicast", node: "ip4-not-enabled", before: &[], after: &[] },
        Feature {
            arc: "ip6-unicast",
            node: "ip6-not-enabled",
            before: &[rank::END],
            after: &[rank::STEER],
        },
        Feature { arc: "ip6-multicast", node: "ip6-not-enabled", before: &[], after: &[] },
    ],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    examples: examples::EXAMPLES,
    api: api::MODULES,
    start,
    volatile: &[
        ("show ip local", "what the first tunnel registered stays, as in VPP"),
        ("show ip6 local", "what the first tunnel registered stays, as in VPP"),
    ],
    unmoved: &[
        ("/err/*-frag/memory", "no buffer is left for a fragment"),
        (
            "/err/*-frag/cant_fragment_header",
            "no MTU is below the longest header and 8 bytes (RFC 791 3.2, RFC 8200 5)",
        ),
        (
            "/err/*-udp-lookup/mirrored",
            "an interface with a mirror in the kernel: features/linux-cp/src/tests",
        ),
        ("/err/ip4-input-no-checksum/bad_checksum", "the device has verified it"),
        ("/err/ip4-rewrite/source_scope", "of IPv6"),
        ("/err/ip4-local*/discard", "of IPv6"),
        ("/err/ip4-local*/header_problem", "of IPv6"),
        ("/err/ip4-local*/no_next_header", "of IPv6"),
        ("/err/ip4-local*/too_many_headers", "of IPv6"),
        ("/err/*-local-end-of-arc/*", "the node in front of the arc has checked it"),
        (
            "/err/*-local/punted",
            "protocols that nobody takes, where punted packets are redirected: features/punt/src/tests.rs",
        ),
        (
            "/err/interface-rx-dpo-*/expired",
            "routes from interface to interface in a circle: features/ip/src/tests/extension.rs",
        ),
    ],
    entered: &[("interface-rx-dpo-ip*", "routes that let packets come in anew")],
    ..Plugin::EMPTY
};

fn start(world: &Arc<World>) -> Result<(), String> {
    register_ethertype_verified(world, EtherType::IP4, "ip4-input", "ip4-input-no-checksum")?;
    register_ethertype(world, EtherType::IP6, "ip6-input")?;
    register_protocol::<Ip4>(world, IpProtocol::UDP, "{ip}-udp-lookup")?;
    register_protocol::<Ip6>(world, IpProtocol::UDP, "{ip}-udp-lookup")?;
    world.get::<Objects>().register(&interface_rx::INTERFACE_RX);
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

/// Interfaces start without IP, and `ip4-output` and `ip6-output` end at their output node.
fn follow(world: &World, event: IfEvent) -> Result<(), String> {
    match event {
        IfEvent::Added(sw_if) => {
            if let Ok(interface) = world.get::<Interfaces>().get(sw_if) {
                for arc in ["ip4-output", "ip6-output"] {
                    world.set_arc_end(arc, sw_if, interface.output)?;
                }
            }
            set_enabled(world, sw_if, false, sw_if.0 == 0)?;
            set_enabled(world, sw_if, true, sw_if.0 == 0)
        }
        IfEvent::Ip(sw_if, v6, on) => set_enabled(world, sw_if, v6, on),
        _ => Ok(()),
    }
}

fn set_enabled(world: &World, sw_if: SwIfIndex, v6: bool, on: bool) -> Result<(), String> {
    for arc in ["{ip}-unicast", "{ip}-multicast"] {
        let feature = filled("{ip}-not-enabled", v6);
        world.set_feature(&filled(arc, v6), &feature, sw_if, !on)?;
    }
    Ok(())
}
