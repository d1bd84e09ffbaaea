// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! NAT64: users of IPv6 reach the world of IPv4 (RFC 6146), whose hosts have addresses under a
//! prefix for them (RFC 6052); headers and errors are translated by RFC 7915.
//!
//! Users are behind interfaces with the role "in", the world is behind those with the role "out".
//!
//! | node | arc | packets |
//! |---|---|---|
//! | `nat64-in2out` | `ip6-unicast` | of known sessions to the world |
//! | `nat64-in2out-slowpath` | behind it | all others to the world |
//! | `nat64-out2in` | `ip4-unicast` | of the world |
//! | `nat64-hairpin` | behind `nat64-in2out` | of users to users, translated once: they are of the world now |
//! | `nat64-in2out-handoff`, `nat64-out2in-handoff` | the same arcs, with several workers | all |
//!
//! **Bindings and sessions** (`flows`): a binding names a user's end and the end that the world
//! sees of it, whichever host the user speaks to; a session is a binding with such a host. Both are
//! on the thread that VPP's hash of the user's address gives, so packets of the world go to the
//! thread of their port, or of the static binding, or of the address for protocols without ports
//! (`settings`).
//!
//! **Packets between users** are translated to IPv4 and back (RFC 6146 3.8), on the threads of both
//! users, one after the other.
//!
//! **Limits have owners**: users of one /64 have a share together. A full table of bindings or
//! sessions, or a pool without ports, takes from the largest share what a smaller one is owed.
//!
//! **Fragments** have the ports of their datagram from shallow reassembly, which is on where an
//! interface has a role.
//!
//! **Logs**: bindings and sessions that begin and end, and lacks, by syslog and IPFIX (`nat::log`).
//!
//! Limits: fragments of ICMP aren't translated, nor are fragments of UDP without a checksum (RFC
//! 7915 1.2, 4.5). What comes from the world without a binding is dropped, except for DHCP
//! clients: such an interface routes no other IPv4.

mod api;
mod cli;
mod config;
mod control;
mod engine;
mod examples;
mod flows;
mod icmp;
mod inward;
mod key;
mod nodes;
mod outward;
mod packet;
mod prefix;
mod session;
mod settings;
mod show;
mod state;
#[cfg(feature = "tests")]
mod tests;
mod trace;
mod translate;

use ::graph::{Feature, NodeDef, PerThread, Plugin, StateDef, rank};
use ::stats::Space;
use nodes::{Hairpin, Handoff, In2Out, OfUsers, OfWorld, Out2In};

/// NAT64.
pub static PLUGIN: Plugin = Plugin {
    name: "nat64",
    about: "NAT64: users of IPv6 reach the world of IPv4",
    area: "nat",
    does: &[
        "Bindings and sessions of TCP, UDP, ICMP and other protocols, fragments and errors, static \
         bindings, packets between users (`nat64 plugin enable`, `set interface nat64`, `nat64 add \
         static bib`, `show nat64 session table`)",
        "Prefixes of 32 to 96 bits by table, pools of addresses by table and from interfaces, \
         timeouts (`nat64 add prefix`, `nat64 add pool address`, `set nat64 timeout`)",
        "Bindings and sessions that begin and end, by syslog and IPFIX (`nat ipfix logging`, `set \
         syslog sender`)",
        "Shares: one user can't take all bindings, sessions or ports",
    ],
    spec: &["VPP's NAT64", "RFC 6052", "RFC 6146", "RFC 7915"],
    limits: &[
        "Fragments of ICMP, and of UDP without a checksum, are dropped",
        "Translated packets don't take the super-path",
    ],
    state: &[
        ::nat::log::STATE,
        StateDef::of::<state::Nat>(),
        StateDef::of::<state::Counters>(),
        StateDef::of::<PerThread<flows::Flows>>(),
        StateDef::of::<control::Control>(),
        // Made first, so that they are still there when interfaces are forgotten; their plugin may
        // be missing.
        StateDef::of::<ip_reassembly::Users>(),
    ],
    nodes: &[
        NodeDef::of::<In2Out<false>>(),
        NodeDef::of::<In2Out<true>>(),
        NodeDef::of::<Out2In>(),
        NodeDef::of::<Hairpin>(),
        NodeDef::of::<Handoff<OfUsers>>(),
        NodeDef::of::<Handoff<OfWorld>>(),
    ],
    features: &[
        of_users("nat64-in2out"),
        of_users("nat64-in2out-handoff"),
        of_world("nat64-out2in"),
        of_world("nat64-out2in-handoff"),
    ],
    counters: &[("/nat64/in2out", Space::Interface), ("/nat64/out2in", Space::Interface)],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    phases: &[config::SWITCH, config::POOLS],
    start: |world| {
        ::nat::log::start(world);
        world.get::<::nat::log::Log>().set_compose(|world, fib, addr| {
            world.get::<state::Nat>().read(|settings| settings.prefix_of(fib).compose(addr))
        });
        Ok(())
    },
    unmoved: &[
        ("/err/nat64-*", "features/nat64/src/tests"),
        ("/nat64/*", "features/nat64/src/tests"),
    ],
    ..Plugin::EMPTY
};

const fn of_users(node: &'static str) -> Feature {
    Feature {
        arc: "ip6-unicast",
        node,
        before: &["ip6-inacl", rank::POLICY],
        after: &[rank::REASSEMBLY, "acl-plugin-in-ip6-fa"],
    }
}

const fn of_world(node: &'static str) -> Feature {
    Feature {
        arc: "ip4-unicast",
        node,
        before: &["ip4-inacl", "ip4-source-and-port-range-check-rx", rank::POLICY],
        after: &[rank::REASSEMBLY, "acl-plugin-in-ip4-fa"],
    }
}
