// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! NAT44-ED: network address translation of IPv4 whose sessions depend on both ends (RFC 3022, RFC
//! 4787, RFC 5382, RFC 5508).
//!
//! Users are behind interfaces with the role "in", the world is behind those with the role "out".
//! The first packet of a user to the world makes a session; its packets and the answers are
//! translated by it. Static mappings let the world begin.
//!
//! | node | arc | packets |
//! |---|---|---|
//! | `nat-pre-in2out`, `nat-pre-out2in` | `ip4-unicast` | of users, of the world |
//! | `nat44-ed-classify` | `ip4-unicast` | of interfaces with both roles |
//! | `nat-pre-in2out-output` | `ip4-output` | that leave, where they are translated after the routing |
//! | `nat44-in2out-worker-handoff` and its kind | the same | the same with several workers |
//! | `nat44-ed-in2out`, `-out2in`, `-in2out-output` | behind these | of known sessions |
//! | the same with `-slowpath` | behind these | all others |
//!
//! **Sessions** have two keys, one for each direction; packets of a direction leave with the other
//! key the other way round (`session`). They are on the thread that VPP's formulas give (`entry`),
//! and end by a timer (`flows`).
//!
//! **Ports** are free if no session has the key that answers would have, so a port serves many
//! remote ends, and no table of ports can lose one (`ports`).
//!
//! **Fragments** have the ports of their datagram from shallow reassembly, which is on where an
//! interface has a role.
//!
//! **Logs**: sessions that begin and end, and lacks of ports and sessions, by syslog and IPFIX
//! (`nat::log`).
//!
//! Limits: ports of UDP-Lite, SCTP and DCCP aren't
//! translated: such packets, as those of all other protocols, get another address only.

mod api;
mod cli;
mod config;
mod control;
mod engine;
mod entry;
mod examples;
mod flows;
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
use ::nat::{key, packet};
use ::stats::Space;
use entry::{
    Classify, Enter, HandoffClassify, HandoffIn, HandoffOut, HandoffOutput, PreIn, PreOut,
    PreOutput,
};
use nodes::{In2Out, Out2In, Output, Translate};

const fn input(node: &'static str) -> Feature {
    Feature {
        arc: "ip4-unicast",
        node,
        before: &["ip4-inacl", "ip4-source-and-port-range-check-rx", rank::POLICY],
        after: &[rank::REASSEMBLY, "acl-plugin-in-ip4-fa"],
    }
}

const fn output(node: &'static str) -> Feature {
    Feature {
        arc: "ip4-output",
        node,
        before: &["acl-plugin-out-ip4-fa", rank::POLICY],
        after: &[rank::REASSEMBLY],
    }
}

/// NAT44-ED.
pub static PLUGIN: Plugin = Plugin {
    name: "nat",
    about: "NAT44-ED: address translation of IPv4 whose sessions depend on both ends",
    area: "nat",
    does: &[
        "Inside and outside interfaces, either or both, on input or behind routing, with pools of \
         addresses by table and from interfaces (`nat44 plugin enable`, `nat44 add address`, `set \
         interface nat44`)",
        "Static and identity mappings, twice-nat, load balancing with affinity, hairpinning, \
         sessions of TCP, UDP, ICMP and other protocols, errors and fragments (`nat44 add static \
         mapping`, `show nat44 sessions`)",
        "Limits by table, timeouts by protocol, MSS clamping, workers with ranges of ports (`set \
         nat timeout`, `set nat44 session limit`, `nat mss-clamping`)",
        "Sessions that begin and end, by syslog and IPFIX, for all kinds of NAT; lacks of ports \
         and sessions by IPFIX (`nat ipfix logging`, `show nat logging`, `set syslog sender`)",
    ],
    spec: &["VPP's NAT44-ED", "RFC 4787", "RFC 5382", "RFC 5508", "RFC 8158"],
    limits: &["Translated packets don't take the super-path"],
    state: &[
        ::nat::log::STATE,
        StateDef::of::<::nat::published::Published<settings::Settings>>(),
        StateDef::of::<state::Counters>(),
        StateDef::of::<PerThread<flows::Flows>>(),
        StateDef::of::<control::Control>(),
        // Made first, so that they are still there when interfaces are forgotten; their plugin may
        // be missing.
        StateDef::of::<ip_reassembly::Users>(),
    ],
    nodes: &[
        NodeDef::of::<Enter<PreIn>>(),
        NodeDef::of::<Enter<PreOut>>(),
        NodeDef::of::<Enter<PreOutput>>(),
        NodeDef::of::<Enter<Classify>>(),
        NodeDef::of::<Enter<HandoffIn>>(),
        NodeDef::of::<Enter<HandoffOut>>(),
        NodeDef::of::<Enter<HandoffOutput>>(),
        NodeDef::of::<Enter<HandoffClassify>>(),
        NodeDef::of::<Translate<In2Out, false>>(),
        NodeDef::of::<Translate<In2Out, true>>(),
        NodeDef::of::<Translate<Out2In, false>>(),
        NodeDef::of::<Translate<Out2In, true>>(),
        NodeDef::of::<Translate<Output, false>>(),
        NodeDef::of::<Translate<Output, true>>(),
    ],
    features: &[
        input("nat-pre-in2out"),
        input("nat-pre-out2in"),
        input("nat44-ed-classify"),
        input("nat44-in2out-worker-handoff"),
        input("nat44-out2in-worker-handoff"),
        input("nat44-handoff-classify"),
        output("nat-pre-in2out-output"),
        output("nat44-in2out-output-worker-handoff"),
    ],
    counters: &[
        ("/nat44-ed/in2out", Space::Interface),
        ("/nat44-ed/out2in", Space::Interface),
        ("/nat44-ed/hairpinning", Space::Interface),
    ],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    phases: &[config::SWITCH, config::POOLS],
    start: |world| {
        ::nat::log::start(world);
        Ok(())
    },
    unmoved: &[
        ("/err/nat44-*", "features/nat44-ed/src/tests"),
        ("/err/nat-pre-*", "features/nat44-ed/src/tests"),
        ("/nat44-ed/*", "features/nat44-ed/src/tests/sessions.rs"),
    ],
    transient: &[
        ("nat44 del session", "ends a session"),
        ("clear nat44 ed sessions", "ends sessions"),
        ("nat set logging level", "without effect"),
        ("set nat frame-queue-nelts", "without effect"),
        ("set nat workers", "needs two workers: features/nat44-ed/src/tests/workers.rs"),
    ],
    volatile: &[("show nat logging", "events of traffic")],
    ..Plugin::EMPTY
};
