// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Distributed virtual router (DVR): routes whose packets leave by an interface with the layer-2
//! header that they were received with. MAC addresses, TTL and hop limit stay, so the hosts on both
//! sides don't see a router.
//!
//! ```text
//! ip4-lookup → ip4-dvr-dpo → ip4-output arc → ip4-dvr-reinject → l2-output            (layer-2 port)
//!                                                                 output of the interface (routed)
//! ```
//!
//! The layer-2 header still lies in front of a packet that was routed as it came in: from a routed
//! interface, or from a bridge domain by its BVI. Output features see the packet, as they see those
//! that other routes send. `ip4-dvr-reinject`, the last of them, is enabled on an interface as long
//! as a route of the protocol leads there. A layer-2 port rewrites the VLAN tags of these frames as
//! those of all others; a routed sub-interface puts its tags in front of those that the header has.
//!
//! Limits: a packet takes one such route, since nothing counts its hops. The MTU of the interface
//! isn't checked, as in a bridge domain. Padding behind the IP packet is taken off, as of all
//! routed packets.
//!
//! Tests: frames compared byte for byte, of both families, tagged and untagged, to switched ports
//! and routed interfaces; broken frames.

mod dpo;
mod path;
mod reinject;
#[cfg(feature = "tests")]
mod tests;

use graph::{Feature, FieldDef, NodeDef, Plugin, Script, rank};
use net::Objects;
use wire::{Ip4, Ip6};

/// Distributed virtual router.
pub static PLUGIN: Plugin = Plugin {
    name: "dvr",
    about: "Distributed virtual router: routes that keep the layer-2 header of packets",
    area: "ethernet-and-l2",
    does: &[
        "Routes whose packets keep the layer-2 header with which they were received (`ip route \
         add … via dvr IF`)",
    ],
    spec: &["VPP's DVR paths"],
    limits: &[
        "A packet takes at most one DVR route",
        "The MTU isn't checked, as in a bridge domain",
    ],
    fields: &[FieldDef::of::<dpo::Steered>()],
    nodes: &[
        NodeDef::of::<dpo::Dpo<Ip4>>(),
        NodeDef::of::<dpo::Dpo<Ip6>>(),
        NodeDef::of::<reinject::Reinject<Ip4>>(),
        NodeDef::of::<reinject::Reinject<Ip6>>(),
    ],
    features: &[
        Feature {
            arc: "ip4-output",
            node: "ip4-dvr-reinject",
            before: &[],
            after: &[rank::POLICY],
        },
        Feature {
            arc: "ip6-output",
            node: "ip6-dvr-reinject",
            before: &[],
            after: &[rank::POLICY],
        },
    ],
    examples: &[Script::here(
        "routes that keep the layer-2 header",
        "create loopback interface
         create loopback interface
         create bridge-domain 7
         set interface l2 bridge loop1 7
         set interface state loop0 up
         set interface state loop1 up
         ip route add 192.0.2.0/24 via dvr loop1
         ip route add 192.0.2.0/24 via loop0 dvr weight 3
         ip route add 2001:db8::/32 via dvr loop1 preference 1",
    )],
    start: |world| {
        world.get::<Objects>().register(&path::DVR);
        world.link("ip4-lookup", "ip4-dvr-dpo")?;
        world.link("ip6-lookup", "ip6-dvr-dpo").map(drop)
    },
    unmoved: &[("/err/ip*-dvr-dpo/*", "features/dvr/src/tests")],
    ..Plugin::EMPTY
};
