// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Reassembly of IPv4 and IPv6 (RFC 791, RFC 815, RFC 8200 4.5), full and shallow.
//!
//! | node | where | output |
//! |---|---|---|
//! | `ip4-local-full-reassembly` | behind `ip4-local` | datagrams for us, back to `ip4-local` |
//! | `ip4-full-reassembly-feature` | arc `ip4-unicast` | datagrams, along the arc |
//! | `ip4-full-reassembly` | nodes that send fragments there | datagrams, to `ip4-input` |
//! | `ip4-full-reassembly-custom` | nodes that send fragments there | datagrams, to the node that [`CustomNext`] names |
//! | `ip4-sv-reassembly-feature`, `-mcast-feature`, `-output-feature` | arcs `ip4-unicast`, `ip4-multicast`, `ip4-output` | fragments as they came, with [`net::L4`] |
//!
//! IPv6 has the same under `ip6-`, from the same source.
//!
//! **Threads.** All fragments between two hosts are collected by one worker, whichever worker
//! receives them: they are handed off to it. So no table is shared, and datagrams of a flow stay in
//! order.
//!
//! **Attacks.** Overlapping fragments of IPv6 end their datagram, and its further fragments are
//! dropped (RFC 5722); an exact duplicate is dropped alone. Those of IPv4 are reassembled (RFC 791
//! 3.2): all nodes behind see the same bytes. First fragments of IPv6 must have all headers (RFC
//! 7112), atomic ones are whole (RFC 6946). With too many datagrams under way the oldest goes, so a
//! flood of fragments can't block others for the length of a timeout. Kept fragments hold at most a
//! quarter of the buffers, those of one node half of that, counted by segments; beyond it the
//! oldest of the node go ([`buffer::Reservation::REASSEMBLY`]).
//!
//! **Fast path.** Whole packets that leave don't visit the node of shallow reassembly.
//!
//! **Limits.** IPv6 headers in front of the fragment header have to be in the first 2 KiB. A router
//! that reassembles what it forwards is against RFC 1812 5.2.6: the feature is for where middle
//! boxes need it, and whole packets leave as the output's MTU lets them.
//!
//! Tests: Linux hosts; mutated fragments; a slow oracle that reassembles the same cuts, orders,
//! duplicates and overlaps.

mod api;
mod cli;
pub mod control;
mod examples;
mod fragment;
mod full;
mod placement;
mod shallow;
mod state;
mod store;
#[cfg(feature = "tests")]
mod tests;
mod users;

pub use full::CustomNext;
pub use state::{Kind, Limits, Reassembly, Settings};
pub use store::PendingDatagram;
pub use users::{Side, Users, use_ports};

use ::graph::{Feature, FieldDef, NodeDef, Plugin, StateDef, rank};
use wire::{Ip4, Ip6};

/// Reassembly.
pub static PLUGIN: Plugin = Plugin {
    name: "ip-reassembly",
    about: "Reassembly of IPv4 and IPv6, full and shallow",
    area: "ip",
    does: &[
        "Full and shallow virtual reassembly, for local delivery and on the arcs; fragments are \
         handed off between workers",
    ],
    spec: &[
        "RFC 791", "RFC 815", "RFC 1858", "RFC 3128", "RFC 3168", "RFC 5722", "RFC 6946",
        "RFC 7112", "RFC 8200",
    ],
    state: &[
        StateDef::of::<state::Reassembly<Ip4>>(),
        StateDef::of::<state::Reassembly<Ip6>>(),
        StateDef::of::<control::Walk>(),
        StateDef::of::<users::Users>(),
    ],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[
        NodeDef::of::<full::Full<Ip4, { full::FEATURE }>>(),
        NodeDef::of::<full::Full<Ip4, { full::LOCAL }>>(),
        NodeDef::of::<full::Full<Ip4, { full::INPUT }>>(),
        NodeDef::of::<full::Full<Ip4, { full::CUSTOM }>>(),
        NodeDef::of::<full::Full<Ip6, { full::FEATURE }>>(),
        NodeDef::of::<full::Full<Ip6, { full::LOCAL }>>(),
        NodeDef::of::<full::Full<Ip6, { full::INPUT }>>(),
        NodeDef::of::<full::Full<Ip6, { full::CUSTOM }>>(),
        NodeDef::of::<shallow::Shallow<Ip4, { shallow::UNICAST }>>(),
        NodeDef::of::<shallow::Shallow<Ip4, { shallow::MULTICAST }>>(),
        NodeDef::of::<shallow::Shallow<Ip4, { shallow::OUTPUT }>>(),
        NodeDef::of::<shallow::Shallow<Ip6, { shallow::UNICAST }>>(),
        NodeDef::of::<shallow::Shallow<Ip6, { shallow::MULTICAST }>>(),
        NodeDef::of::<shallow::Shallow<Ip6, { shallow::OUTPUT }>>(),
    ],
    features: &[
        Feature {
            arc: "ip4-unicast",
            node: "ip4-full-reassembly-feature",
            before: &["ip4-sv-reassembly-feature", rank::REASSEMBLY],
            after: &[rank::SECURITY],
        },
        Feature {
            arc: "ip4-unicast",
            node: "ip4-sv-reassembly-feature",
            before: &[rank::REASSEMBLY],
            after: &[rank::SECURITY],
        },
        Feature {
            arc: "ip4-multicast",
            node: "ip4-sv-reassembly-mcast-feature",
            before: &["ip4-not-enabled"],
            after: &[],
        },
        Feature {
            arc: "ip4-output",
            node: "ip4-sv-reassembly-output-feature",
            before: &["ip4-tx-urpf-strict", "ip4-tx-urpf-loose", rank::REASSEMBLY],
            after: &[],
        },
        Feature {
            arc: "ip6-unicast",
            node: "ip6-sv-reassembly-feature",
            before: &["ip6-full-reassembly-feature", rank::REASSEMBLY],
            after: &[rank::SECURITY],
        },
        Feature {
            arc: "ip6-unicast",
            node: "ip6-full-reassembly-feature",
            before: &[rank::REASSEMBLY],
            after: &[rank::SECURITY],
        },
        Feature {
            arc: "ip6-multicast",
            node: "ip6-sv-reassembly-mcast-feature",
            before: &["ip6-not-enabled"],
            after: &[],
        },
        Feature {
            arc: "ip6-output",
            node: "ip6-sv-reassembly-output-feature",
            before: &[rank::REASSEMBLY],
            after: &[rank::SECURITY],
        },
    ],
    stages: &[
        net::stage::<Ip4, shallow::Shallow<Ip4, { shallow::OUTPUT }>, shallow::Whole>(),
        net::stage::<Ip6, shallow::Shallow<Ip6, { shallow::OUTPUT }>, shallow::Whole>(),
    ],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: examples::EXAMPLES,
    api: &[api::API],
    start: control::start,
    unmoved: &[
        ("/err/*/reass_unsupp_ip_prot*", "with VPP's behaviour only: tests/graph/compat.rs"),
        ("/err/*/reass_no_buf", "no buffer is left for a copy of a shared fragment"),
        ("/err/*/reass_internal_error", "a fault in the router"),
        (
            "/err/*/reass_too_long",
            "fragments that the checks of each let through: features/ip-reassembly/src/tests/mutated.rs",
        ),
        (
            "/err/*-full-reassembly*/reass_no_frag_hdr",
            "only packets for the router are sent there as fragments",
        ),
        ("/err/ip4-*/reass_invalid_frag_len", "of IPv6; IPv4 counts it as reass_malformed_packet"),
        ("/err/ip4-*/reass_invalid_frag_size", "of IPv6 (RFC 8200 4.5)"),
        ("/err/ip4-*/reass_missing_upper", "of IPv6 (RFC 7112)"),
        (
            "/err/ip4-*/reass_time_exceeded",
            "only the host that a datagram of IPv4 is for says so (RFC 792)",
        ),
        ("/err/ip6-*/reass_malformed_packet", "of IPv4; IPv6 counts it as reass_invalid_frag_len"),
    ],
    entered: &[("ip*-full-reassembly", "who has fragments that are to come in anew")],
    ..Plugin::EMPTY
};
