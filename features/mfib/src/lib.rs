// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Forwarding of packets to groups (RFC 1112, RFC 1812 5.2.1, RFC 4291 2.7).
//!
//! Each node is written once and is there for IPv4 and IPv6. They follow on the arc
//! `{ip}-multicast`:
//!
//! 1. `{ip}-mfib-forward-lookup` finds the entry for sender and group in the table of the interface
//!    that the packet came in by.
//! 2. `{ip}-mfib-forward-rpf` asks whether packets to the group may come in there (`Accept`), and
//!    reports the packet, if the entry says so (`Signal`), to the routing protocol that makes
//!    routes of it (`mfib_signal_dump`).
//! 3. `{ip}-replicate` makes one packet for each output. They share what lies behind the headers.
//! 4. `{ip}-rewrite-mcast` takes one from the TTL or hop limit, puts the layer-2 header with the
//!    group's own address in front, and starts the arc `{ip}-output`. The output to ourselves leads
//!    to `{ip}-local`.
//!
//! **What is never forwarded.** Packets to groups of a link (224.0.0.0/24, RFC 5771 4; scope 2 of
//! IPv6), and those from an address of a link; nor anything to the interface that it came in by.
//! Whatever the entry says, these only get to ourselves. Packets to groups of scope 1 of IPv6 are
//! dropped, unless an entry is for that scope (`ff01::/16` or longer).
//!
//! **No ICMP errors** about packets to groups (RFC 1812 4.3.2.7, RFC 4443 2.4), except that an IPv6
//! packet is too big for a link (2.4 (e.3)). IPv4 packets are fragmented, or dropped if that is
//! forbidden.
//!
//! **Which entries there are** from the start: the groups that every router listens to
//! ([`net::Net::heard`]) lead to ourselves, from whatever interface that has the protocol; the rest
//! is dropped by name. IGMP is delivered to `ip4-local` as any protocol is: it is for the feature
//! that registers it.
//!
//! **Running short.** A copy for which there is no buffer is counted. A node that has made many
//! copies lets these leave before it goes on.
//!
//! Limits: paths are interfaces and ourselves (no BIER, no labels).
//!
//! An RPF id accepts, beside the interfaces that do, packets that bring the same id: those that a
//! label or a BIER header led to a table, which is where VPP sets it. A packet that comes in by an
//! interface brings none and can't match, whatever the entry says; so until labels are there, an id
//! is kept for clients and decides nothing, as in VPP.
//!
//! Tests: Linux hosts that join and send; a slow oracle over random entries and packets.

mod api;
mod cli;
mod config;
mod examples;
mod lookup;
mod replicate;
mod rewrite;
mod rpf;
#[cfg(feature = "tests")]
mod tests;

use ::graph::{NodeDef, Plugin};
use lookup::Lookup;
use net::mfib::MrouteIndex;
use replicate::Replicate;
use rewrite::Rewrite;
use rpf::Rpf;
use wire::{Ip4, Ip6};

/// Multicast forwarding.
pub static PLUGIN: Plugin = Plugin {
    name: "mfib",
    about: "Multicast forwarding: lookup, RPF check, replication",
    area: "multicast",
    does: &[
        "Tables separate from those of unicast, with entries (S,G), (\\*,G) and (\\*,G/len)",
        "RPF check, flags of interfaces, signals of packets to clients, replication without \
         copying payloads, local delivery",
    ],
    spec: &["RFC 1112", "RFC 1812 5.2", "RFC 4291 2.7", "RFC 5771", "RFC 4443 2.4"],
    limits: &[
        "Static routes, routes of clients and of IGMP proxies: no PIM",
        "No BIER, no labels: RPF ids are stored only, and a packet that arrives on an interface \
         has none",
    ],
    nodes: &[
        NodeDef::of::<Lookup<Ip4>>(),
        NodeDef::of::<Lookup<Ip6>>(),
        NodeDef::of::<Rpf<Ip4>>(),
        NodeDef::of::<Rpf<Ip6>>(),
        NodeDef::of::<Replicate<Ip4>>(),
        NodeDef::of::<Replicate<Ip6>>(),
        NodeDef::of::<Rewrite<Ip4>>(),
        NodeDef::of::<Rewrite<Ip6>>(),
    ],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    unmoved: &[
        (
            "/err/*-replicate/Buffer Allocation Failure",
            "no buffer is left for a copy: features/mfib/src/tests/many.rs",
        ),
        (
            "/err/*-replicate/again",
            "more copies than a vector takes: features/mfib/src/tests/many.rs",
        ),
        ("/err/*-mfib-forward-lookup/no_entry", "each table has entries for all groups"),
        ("/err/*-rewrite-mcast/too_short", "copies are of packets whose header was read"),
        ("/err/ip4-rewrite-mcast/mtu_exceeded", "of IPv6 (RFC 1112 7.2)"),
        ("/err/ip6-rewrite-mcast/too_big", "of IPv4, with DF"),
    ],
    ..Plugin::EMPTY
};

buffer::scratch! {
    /// From the lookup to the replication.
    struct MfibMeta {
        /// The entry, a [`MrouteIndex`].
        route: u32,
        /// Index of the table that it was found in.
        fib: u32,
    }
}

impl MfibMeta {
    #[inline(always)]
    const fn route(self) -> MrouteIndex {
        MrouteIndex(self.route)
    }
}
