// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! NAT44-EI: network address translation of IPv4 with endpoint-independent mapping and filtering
//! (RFC 3022, RFC 4787, RFC 5382, RFC 5508). A user's port has one port of the world for all remote
//! ends, and any host of the world reaches the user by it.
//!
//! Users are behind interfaces with the role "in", the world is behind those with the role "out".
//!
//! | node | arc | packets |
//! |---|---|---|
//! | `nat44-ei-in2out`, `nat44-ei-out2in` | `ip4-unicast` | of users, of the world |
//! | `nat44-ei-classify` | `ip4-unicast` | of interfaces with both roles |
//! | `nat44-ei-in2out-output` | `ip4-output` | that leave, where they are translated after the routing |
//! | `nat44-ei-in2out-worker-handoff` and its kind | the same | the same with several workers |
//! | the same with `-slowpath` | behind these | of users without a session |
//! | `nat44-ei-hairpinning` | `ip4-local` | of users to addresses of the pool |
//! | `nat44-ei-ha` | UDP port | copies of sessions of another router |
//!
//! **Sessions** have two keys, the user's end and the end that the world sees of it (`session`).
//! They are on the thread that VPP's formulas give (`entry`), and end by a timer (`flows`). Each
//! user has a list of sessions; one who has as many as a user may have loses the one that was used
//! least lately. Interfaces have equal parts of the users that a thread may have (`flows::users`).
//!
//! **Ports** are free if no session has the key of the world's packets to them, so no table of
//! ports can lose one (`nat::ports`). They come from a plan: a block of each thread, a port set
//! identifier or a range, divided among the threads (`nat::workers`).
//!
//! **Another router** may get copies of all sessions (`ha`).
//!
//! **Logs**: ports that users get and give back, and lacks of ports, by syslog and IPFIX
//! (`nat::log`); not those that the other router has given.
//!
//! Limits: packets of protocols other than TCP, UDP and
//! ICMP are translated by static mappings of addresses alone.

mod api;
mod cli;
mod config;
mod control;
mod engine;
mod entry;
mod examples;
mod flows;
mod ha;
mod hairpin;
mod icmp;
mod inward;
mod nodes;
mod outward;
mod session;
mod settings;
mod show;
mod state;
#[cfg(feature = "tests")]
mod tests;
mod trace;

use ::graph::{Feature, NodeDef, PerThread, Plugin, StateDef, rank};
use ::net::Objects;
use ::stats::Space;
use entry::{Classify, Enter, HandoffClassify, HandoffIn, HandoffOut, HandoffOutput};
use nodes::{Hairpin, In2Out, Out2In, Output, Translate};

const fn input(node: &'static str) -> Feature {
    Feature {
        arc: "ip4-unicast",
        node,
        before: &["ip4-inacl", "ip4-source-and-port-range-check-rx", rank::POLICY],
        after: &[rank::REASSEMBLY, "acl-plugin-in-ip4-fa", "nat64-out2in", "nat64-out2in-handoff"],
    }
}

const fn output(node: &'static str) -> Feature {
    Feature {
        arc: "ip4-output",
        node,
        before: &["tcp-mss-clamping-ip4-out", rank::POLICY],
        after: &[rank::REASSEMBLY, "acl-plugin-out-ip4-fa", "pnat-output"],
    }
}

/// NAT44-EI.
pub static PLUGIN: Plugin = Plugin {
    name: "nat44_ei",
    about: "NAT44-EI: address translation of IPv4 with endpoint-independent mapping and filtering",
    area: "nat",
    does: &[
        "One port of the world for each port of a user, for all remote ends: inside and outside \
         interfaces, on input or behind routing, or routes to the pool for 464XLAT (`nat44 ei \
         plugin enable`, `nat44 ei add address`, `set interface nat44 ei`)",
        "Users with limits: who has as many sessions as a user may have loses the one used least \
         lately (`show nat44 ei sessions`, `nat44 ei del user`)",
        "Equal parts of the users for interfaces; in a full part, a user without an answer of the \
         world gives way after 5 s",
        "Static and identity mappings, alone if wanted, with or without sessions; hairpinning, \
         ICMP errors, fragments, MSS clamping, timeouts (`nat44 ei add static mapping`)",
        "Ports at random, of a MAP-E port set or of a range, divided among workers (`nat44 ei \
         addr-port-assignment-alg`)",
        "Copies of sessions for a router that takes over, acknowledged and repeated (`nat44 ei ha \
         listener`, `nat44 ei ha failover`, `nat44 ei ha resync`)",
    ],
    spec: &["VPP's NAT44-EI", "RFC 4787", "RFC 5382", "RFC 5508"],
    limits: &[
        "Translated packets don't take the super-path",
        "Protocols other than TCP, UDP and ICMP need a static mapping of the address",
        "Copies of sessions aren't encrypted: they belong on a network of their own",
        "Spoofed hosts behind an interface use up its part of the users; reverse-path checks keep \
         them out",
    ],
    state: &[
        ::nat::log::STATE,
        StateDef::of::<::nat::published::Published<settings::Settings>>(),
        StateDef::of::<state::Counters>(),
        StateDef::of::<ha::Ha>(),
        StateDef::of::<ha::resync::Resync>(),
        StateDef::of::<PerThread<flows::Flows>>(),
        StateDef::of::<control::Control>(),
        // Made first, so that they are still there when interfaces are forgotten; their plugin may
        // be missing.
        StateDef::of::<ip_reassembly::Users>(),
    ],
    nodes: &[
        NodeDef::of::<Enter<Classify>>(),
        NodeDef::of::<Enter<HandoffIn>>(),
        NodeDef::of::<Enter<HandoffOut>>(),
        NodeDef::of::<Enter<HandoffOutput>>(),
        NodeDef::of::<Enter<HandoffClassify>>(),
        NodeDef::of::<Translate<In2Out, false>>(),
        NodeDef::of::<Translate<In2Out, true>>(),
        NodeDef::of::<Translate<Out2In, false>>(),
        NodeDef::of::<Translate<Output, false>>(),
        NodeDef::of::<Translate<Output, true>>(),
        NodeDef::of::<Hairpin<false>>(),
        NodeDef::of::<Hairpin<true>>(),
        NodeDef::of::<ha::receive::Receive>(),
    ],
    features: &[
        input("nat44-ei-classify"),
        input("nat44-ei-handoff-classify"),
        input("nat44-ei-in2out"),
        input("nat44-ei-out2in"),
        input("nat44-ei-in2out-worker-handoff"),
        input("nat44-ei-out2in-worker-handoff"),
        output("nat44-ei-in2out-output"),
        output("nat44-ei-in2out-output-worker-handoff"),
        Feature {
            arc: "ip4-local",
            node: "nat44-ei-hairpinning",
            before: &["ip4-firewall-local"],
            after: &[],
        },
    ],
    counters: &[
        ("/nat44-ei/in2out", Space::Interface),
        ("/nat44-ei/out2in", Space::Interface),
        ("/nat44-ei/hairpinning", Space::Interface),
    ],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    phases: &[config::SWITCH, config::POOL],
    start: |world| {
        ::nat::log::start(world);
        world.get::<Objects>().register(&control::TRANSLATION);
        ha::resync::Resync::start(world);
        Ok(())
    },
    unmoved: &[
        ("/err/nat44-ei-*", "features/nat44-ei/src/tests"),
        ("/nat44-ei/*", "features/nat44-ei/src/tests"),
    ],
    entered: &[
        ("nat44-ei-ha", "a UDP port: features/nat44-ei/src/tests/ha.rs"),
        (
            "nat44-ei-in2out-hairpinning-finish-ip4-lookup",
            "packets of other threads: features/nat44-ei/src/tests/workers.rs",
        ),
    ],
    transient: &[
        ("nat44 ei del session", "ends a session"),
        ("nat44 ei del user", "ends sessions"),
        ("clear nat44 ei sessions", "ends sessions"),
        ("nat44 ei ipfix logging", "is saved as `nat ipfix logging' where NAT44-ED is enabled"),
        ("nat44 ei set logging level", "without effect"),
        ("set nat44 ei workers", "needs two workers: features/nat44-ei/src/tests/workers.rs"),
        ("nat44 ei ha flush", "sends what waits"),
        ("nat44 ei ha resync", "sends sessions"),
    ],
    ..Plugin::EMPTY
};
