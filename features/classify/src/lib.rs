// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The classifier: tables of sessions that match bytes of packets under a mask, and what these
//! decide.
//!
//! ```text
//! ip4-unicast arc:  ip4-inacl → …       input ACL        l2-input  → l2-input-acl → …
//! ip4-output arc:   ip4-outacl → …      output ACL       l2-output → l2-output-acl → …
//! ip4-punt arc:     ip4-punt-acl → …    punted packets
//! ip4-lookup → ip4-classify → …         routes to a table, and packets to the first address of an interface
//! l2-input → l2-input-classify → …, l2-output → l2-output-classify → …
//! trace add … filter, pcap trace … filter: packets that are traced and captured
//! ```
//!
//! IPv6 has the same under `ip6-`, from the same source.
//!
//! A **table** leaves out some vectors of 16 bytes and compares 1 to 5 behind them, under its mask.
//! Where the first vector begins depends on the node: at the Ethernet header, or at an offset from
//! the current header (`current-data-flag`). Bytes behind the packet are zero. A packet without
//! session goes on to the next table of the chain; behind the last one, `miss-next` says what
//! becomes of it. A **session** says it by `hit-next`: 0 drops, a number of the node's next nodes
//! sends the packet there, anything else lets it go on. Its opaque number stays with the packet
//! ([`Classified`]), it may move the start of the packet (`advance`), and input ACLs may choose
//! another table of routes.
//!
//! Tables grow; a session is found by one hash of the masked bytes ([`exact`](self)). Workers read
//! without a lock, each counts hits in cells of its own.
//!
//! Limits: 65,536 tables, 2²⁴ sessions of all of them together, 256 tables of a chain, 4,095
//! vectors that are left out. Policers, flow classification and IPFIX of tables aren't built;
//! `ethernet-input-not-l2` isn't, so sessions that lead there drop. Segment routing isn't, so
//! nothing reads metadata.
//!
//! Tests: chains against a list of masked matches, tables against a map, with threads that read
//! during changes; bytes of every packet that leaves, for each use; random commands.

mod acl;
mod api;
mod attach;
mod cli;
mod config;
mod control;
mod exact;
mod filters;
mod hook;
mod key;
mod object;
mod redirect;
mod route;
mod show;
mod state;
mod sweep;
mod switched;
mod table;
#[cfg(feature = "tests")]
mod tests;
mod trace;
mod words;

pub use acl::Classified;
pub use redirect::REDIRECT;

use acl::{Acl, InputAcl, OutputAcl, PassingAcl, PuntAcl};
use graph::{Feature, FieldDef, NodeDef, Plugin, StateDef, rank};
use net::{Interfaces, Objects};
use state::Classifier;
use std::sync::Arc;
use wire::{Ip4, Ip6};

/// The classifier.
pub static PLUGIN: Plugin = Plugin {
    name: "classify",
    about: "Classifier tables, and ACLs and filters made of them",
    area: "policy",
    does: &[
        "Tables of sessions that match packet bytes under masks, in chains (`classify table`, \
         `classify session`)",
        "Input and output ACLs of IPv4, IPv6 and switched frames (`set interface input acl`), \
         ACLs of punted packets, policy routing into other tables, classification of switched \
         frames, of routes and of packets to an interface, filters of traces and captures \
         (`classify filter`)",
    ],
    spec: &["VPP's classifier"],
    limits: &["No policers or flow classification; nothing reads metadata and opaque numbers yet"],
    state: &[StateDef::of::<Classifier>()],
    fields: &[FieldDef::of::<Classified>()],
    nodes: &[
        NodeDef::configured::<Acl<Ip4, InputAcl>>(),
        NodeDef::configured::<Acl<Ip6, InputAcl>>(),
        NodeDef::configured::<Acl<Ip4, OutputAcl>>(),
        NodeDef::configured::<Acl<Ip6, OutputAcl>>(),
        NodeDef::configured::<Acl<Ip4, PuntAcl>>(),
        NodeDef::configured::<Acl<Ip6, PuntAcl>>(),
        NodeDef::of::<route::Classify<Ip4>>(),
        NodeDef::of::<route::Classify<Ip6>>(),
        NodeDef::of::<switched::L2Acl<switched::Received>>(),
        NodeDef::of::<switched::L2Acl<switched::Sent>>(),
        NodeDef::of::<switched::L2Classify<false>>(),
        NodeDef::of::<switched::L2Classify<true>>(),
    ],
    stages: &[
        net::stage::<Ip4, Acl<Ip4, InputAcl>, PassingAcl<Ip4, InputAcl>>(),
        net::stage::<Ip6, Acl<Ip6, InputAcl>, PassingAcl<Ip6, InputAcl>>(),
        net::stage::<Ip4, Acl<Ip4, OutputAcl>, PassingAcl<Ip4, OutputAcl>>(),
        net::stage::<Ip6, Acl<Ip6, OutputAcl>, PassingAcl<Ip6, OutputAcl>>(),
    ],
    features: &[
        Feature {
            arc: "ip4-unicast",
            node: "ip4-inacl",
            before: &[rank::POLICY],
            after: &[rank::REASSEMBLY, "ip4-source-and-port-range-check-rx"],
        },
        Feature {
            arc: "ip6-unicast",
            node: "ip6-inacl",
            before: &[rank::POLICY],
            after: &[rank::REASSEMBLY],
        },
        Feature {
            arc: "ip4-output",
            node: "ip4-outacl",
            before: &[rank::POLICY],
            after: &[rank::REASSEMBLY, "ip4-source-and-port-range-check-tx"],
        },
        Feature {
            arc: "ip6-output",
            node: "ip6-outacl",
            before: &[rank::POLICY],
            after: &[rank::REASSEMBLY],
        },
        Feature {
            arc: "ip4-punt",
            node: "ip4-punt-acl",
            before: &["ip4-punt-redirect"],
            after: &[],
        },
        Feature {
            arc: "ip6-punt",
            node: "ip6-punt-acl",
            before: &["ip6-punt-redirect"],
            after: &[],
        },
    ],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    phases: &[config::PHASE],
    examples: config::EXAMPLES,
    transient: &[("classify filter", "is for whoever looks at packets now")],
    api: &[api::API],
    start: |world| {
        world.get::<Objects>().register(&object::CLASSIFIED);
        world.link("ip4-lookup", "ip4-classify")?;
        world.link("ip6-lookup", "ip6-classify")?;
        for (feature, node) in
            [(l2::Features::CLASSIFY, "l2-input-classify"), (l2::Features::ACL, "l2-input-acl")]
        {
            l2::register_input(world, feature, node)?;
        }
        for (feature, node) in [
            (l2::OutputFeatures::CLASSIFY, "l2-output-classify"),
            (l2::OutputFeatures::ACL, "l2-output-acl"),
        ] {
            l2::register_output(world, feature, node)?;
        }
        let classifier: Arc<Classifier> = world.get();
        ::trace::register_classifier(world, classifier.clone())?;
        let sweeper = Box::new(sweep::Sweeper(classifier.clone()));
        world.processes.spawn(sweeper, &classifier.signal);
        world.get::<Interfaces>().subscribe(move |world, event| {
            if let Err(e) = classifier.follow(world, event) {
                log::warn!("the classifier doesn't follow {event:?}: {e}");
            }
        });
        Ok(())
    },
    volatile: &[(
        "show classify tables verbose",
        "sessions by their number: a restart makes those of redirects last",
    )],
    unmoved: &[
        ("/err/*-classify/*", "features/classify/src/tests"),
        ("/err/ip*acl/*", "features/classify/src/tests/acl.rs"),
        ("/err/ip*-input/*acl_*", "features/classify/src/tests/acl.rs"),
        ("/err/l2-*-acl/*", "features/classify/src/tests/switched.rs"),
    ],
    ..Plugin::EMPTY
};
