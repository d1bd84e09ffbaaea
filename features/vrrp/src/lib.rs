// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! VRRP version 3: routers of a link share addresses. One of them, the master, answers for the
//! addresses and forwards (RFC 9568; RFC 5798).
//!
//! ```text
//! ip4-local → vrrp4-input → control         (advertisements; IPv6: ip6-local → vrrp6-input)
//! ip4-multicast: vrrp4-accept-owner-input → vrrp4-input
//! arp: vrrp4-arp-input → NAME-output        (answers to ARP requests)
//! ip6-local: vrrp6-nd-input → NAME-output   (answers to neighbour solicitations)
//! vrrp-periodic-process → NAME-output, ip4-lookup, ip6-lookup
//! ```
//!
//! Workers check advertisements and pass them to control, by a queue of 8 for each virtual router.
//! `machine` is the state machine, without packets and interfaces; `effects` carries out its
//! effects. A master's virtual MAC address is a further one of its interface
//! ([`net::FurtherMacs`]): a device with a filter of addresses gets it there, any other device
//! becomes promiscuous.
//!
//! **Words.** The RFC says "active router" for what VPP's interfaces and its own former version
//! call master.
//!
//! **Checksums of IPv4.** RFC 9568 sums the message alone; implementations of RFC 5798, VPP too,
//! add a pseudo-header. Both forms are accepted. A router sends the form that the last master has
//! sent; until it has heard one, the form with the pseudo-header.
//!
//! **A master that hears a lower priority** answers at once (RFC 9568 6.4.3), at most ten times a
//! second.
//!
//! Tests: keepalived takes over and gives back; machines on a lossy link: two that hear each other
//! are never both master; bytes of each packet; 100,000 mutated packets.

mod accept;
mod answer4;
mod answer6;
mod api;
mod check;
mod cli;
mod control;
mod counters;
mod effects;
mod input;
mod machine;
mod model;
mod packet;
mod process;
mod table;
#[cfg(feature = "tests")]
mod tests;
mod unicast;
mod view;

use accept::AcceptOwner;
use control::Vrrp;
use graph::{Feature, NodeDef, Plugin, StateDef, World, name_of, rank};
use input::VrrpInput;
use ip::Ip;
use stats::Space;
use wire::{Ip4, Ip6, IpProtocol};

/// VRRP.
pub static PLUGIN: Plugin = Plugin {
    name: "vrrp",
    about: "VRRP: several routers share addresses",
    area: "redundancy",
    does: &[
        "Virtual routers of version 3 for IPv4 and IPv6, with preemption, accept mode and the \
         virtual MAC address (`vrrp vr add`, `vrrp proto start`, `show vrrp vr`)",
        "The priority falls with interfaces that are down (`vrrp vr track-if`)",
        "Advertisements to named routers instead of the group (`vrrp peers`)",
        "The master answers ARP requests and neighbour solicitations, and announces itself by \
         gratuitous ARP or neighbour advertisements; IGMPv3 and MLDv2 reports",
        "Checksums with and without a pseudo-header (RFC 5798, RFC 9568)",
    ],
    spec: &["RFC 9568", "RFC 5798"],
    limits: &[
        "No VRRP version 2",
        "No virtual MAC address on the routed interface of a bridge domain",
        "Frames for virtual MAC addresses pass each node, not the super-path",
        "Accept mode doesn't add link-local addresses",
        "IGMP and MLD reports are sent when the state changes; queries for these groups aren't \
         answered",
    ],
    state: &[StateDef::of::<Vrrp>()],
    counters: &[("/net/vrrp/tx", Space::Interface)],
    nodes: &[
        NodeDef::of::<VrrpInput<Ip4>>(),
        NodeDef::of::<VrrpInput<Ip6>>(),
        NodeDef::of::<AcceptOwner<Ip4>>(),
        NodeDef::of::<AcceptOwner<Ip6>>(),
        NodeDef::of::<answer4::ArpAnswer>(),
        NodeDef::of::<answer6::NdAnswer>(),
    ],
    features: &[
        Feature { arc: "arp", node: "vrrp4-arp-input", before: &["arp-reply"], after: &[] },
        Feature { arc: "ip6-local", node: "vrrp6-nd-input", before: &[], after: &[] },
        Feature {
            arc: "ip4-multicast",
            node: "vrrp4-accept-owner-input",
            before: &[rank::SECURITY],
            after: &[],
        },
        Feature {
            arc: "ip6-multicast",
            node: "vrrp6-accept-owner-input",
            before: &[rank::SECURITY],
            after: &[],
        },
    ],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    start: |world| {
        for name in counters::FAULTS {
            counters::fault(world, name).start(counters::CELL);
        }
        register::<Ip4>(world)?;
        register::<Ip6>(world)?;
        process::start(world);
        Ok(())
    },
    unmoved: &[
        ("/err/vrrp*", "virtual routers have packets of their own: features/vrrp/src/tests"),
        ("/net/vrrp/*", "the same"),
    ],
    ..Plugin::EMPTY
};

fn register<F: Ip>(world: &World) -> Result<(), String> {
    ip::register_protocol::<F>(world, IpProtocol::VRRP, name_of::<VrrpInput<F>>())
}
