// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Layer-2 switching: bridge domains (IEEE 802.1D 7: learning, filtering, flooding) and
//! cross-connects.
//!
//! ```text
//! l2-super-path → NAME-tx                                                       (ordinary frames, in the plugin of super-paths; see `ordinary`)
//! ethernet-input → l2-input → l2-learn → l2-fwd → l2-output → NAME-output        (known unicast)
//!                                        l2-fwd → l2-flood → l2-output           (unknown unicast)
//!                             l2-learn → l2-flood → l2-output, ethernet-input    (group; copies to ports and to the BVI)
//!                                        l2-fwd → ethernet-input                 (to the BVI, received there)
//!                             l2-learn → arp-term-l2bd → l2-output               (question that the domain answers, else l2-flood)
//!                  l2-input → l2-output                                          (cross-connect)
//!                  l2-input → l2-input-vtr → …                                   (ports that rewrite VLAN tags, or backbone headers)
//!                                                 l2-output → l2-efp-filter → …  (ports that send only own frames)
//!                  l2-input → l2-input-feat-arc → … → l2-input-feat-arc-end → …  (features of what frames carry; see `feature_arc`)
//!                  l2-input → span-l2-input → …, l2-output → span-l2-output → …  (mirrored ports; see `register_mirror`)
//! NAME-tx of the BVI → l2-input                                                  (routed into the domain)
//! ```
//!
//! A frame carries a bitmap of the features that it still has to pass ([`Features`], VPP's bit
//! positions): those of the interface that the domain has too. The highest bit is the next node.
//!
//! MAC addresses of all domains are in one table ([`tables::MacTable`]). Workers look addresses up
//! and learn them without a lock. An entry holds the generation numbers of its domain and its port;
//! a flush increments one of these numbers, so it is effective at once, and then removes the
//! entries.
//!
//! Features of other plugins attach themselves by `register_input` and `register_output`: input
//! ACL, classification. A feature of what frames carry, such as IPv4, is on an arc. A port can be
//! cross-connected with an interface behind which such a feature takes the frames
//! (`Bridge::set_sink`).
//!
//! Storm control (`storm`) limits the frames that a port floods. ARP and ND termination
//! (`termination`) answers for known hosts.
//!
//! - **MAC addresses**: The addresses of all bridge domains are in one hash table
//!   (`tables::MacTable`), with one cache line per bucket. Workers look up, learn and move
//!   addresses without a lock, by one compare-exchange. Only control removes entries, and a slot is
//!   reused after a grace period.
//! - **Growth of the table**: It grows while it is used: entries move from the smaller array to the
//!   larger one in slices.
//! - **BVI**: It is a loopback interface: frames to it start the arc of frames that it has
//!   received, and its transmit node sends into the domain.
//! - **Floods**: Copies are made as for multicast. `l2-input` marks frames of ports with storm
//!   control, and `l2-flood` takes a token for each marked frame.
//! - **ARP and ND termination**: `arp-term-l2bd` reports the hosts that it detects to control,
//!   through the mailboxes that also carry its events.
//! - **Tags**: One function (`net::tags`) takes tags off and puts tags in, for the output of
//!   sub-interfaces and for tag rewriting.
//!
//! Limits: no policer. Frames to reserved group addresses
//! (01:80:c2:00:00:00 to 0f) are flooded as other groups are, so LLDP receives nothing on bridged
//! ports.
//!
//! Tests: frames compared byte for byte at every port; random tags rewritten and restored; broken
//! frames; interfaces and domains deleted in use; two threads that learn, move and remove; Linux
//! hosts in a domain, one of them on a VLAN, and one host for which the domain answers; storm
//! control: never more frames than burst and rate allow, with two threads.

mod ager;
mod api;
mod attach;
mod bitmap_drop;
mod bitmaps;
mod bridge;
mod bvi;
mod cli;
mod config;
mod domain;
mod examples;
mod feature_arc;
mod features;
mod fib;
mod flood;
mod fwd;
mod input;
mod learn;
mod mac_events;
mod meta;
mod mirror;
mod mode;
mod ordinary;
mod output;
mod pbb;
mod sink;
mod startup_conf;
mod state;
mod storm;
mod termination;
#[cfg(feature = "tests")]
mod tests;
mod trace;
mod uu_fwd;
mod vtr;

pub use attach::{InputSteps, OutputFeatures, OutputSteps, register_input, register_output};
pub use bridge::Bridge;
pub use domain::{DomainConfig, DomainInfo, MAX_DOMAIN_ID};
pub use features::Features;
pub use fib::FibEntry;
pub use meta::address_frame;
pub use mirror::{Mirrored, address_mirror_copy, register_mirror};
pub use mode::{Mode, PortKind};
pub use ordinary::{Origin, Switched, Target, UnicastPath};
pub use sink::SinkEnded;
pub use storm::Class;

use graph::{NodeDef, Plugin, StateDef};
use net::Interfaces;
use startup::StartupDef;
use stats::Space;

/// Layer-2 switching.
pub static PLUGIN: Plugin = Plugin {
    name: "l2",
    about: "Layer-2 switching: bridge domains, cross-connects, BVI",
    area: "ethernet-and-l2",
    does: &[
        "Bridge domains: learning, aging, flushing, learn limits, split-horizon groups, static \
         and filter entries, unknown-unicast port, MAC address events",
        "ARP and ND termination for configured hosts and for hosts snooped in the domain (`set \
         bridge-domain arp snoop`), with host events",
        "A loopback interface as routed member (BVI); cross-connects; VLAN tag rewriting of \
         sub-interfaces (push, pop, translate); ports that send only frames with their own tags \
         (EFP filter); headers of backbone bridges (`set interface l2 pbb-tag-rewrite`)",
        "Storm control: limits the broadcast, multicast and unknown-unicast frames that a port \
         floods each second (`set interface l2 storm-control`); VPP has none",
    ],
    spec: &["IEEE 802.1Q 8.6 to 8.8, 25"],
    limits: &[
        "Backbone headers: a frame counts as group or unicast by its addresses on arrival, and \
         service tags aren't translated",
        "Storm control counts frames, not bytes",
    ],
    state: &[StateDef::of::<Bridge>()],
    startup: &[StartupDef::of::<startup_conf::Startup>()],
    nodes: &[
        NodeDef::of::<input::L2Input>(),
        NodeDef::of::<vtr::L2InputVtr>(),
        NodeDef::of::<learn::L2Learn>(),
        NodeDef::of::<fwd::L2Fwd>(),
        NodeDef::of::<flood::L2Flood>(),
        NodeDef::of::<uu_fwd::L2UuFwd>(),
        NodeDef::of::<termination::ArpTerm>(),
        NodeDef::of::<output::L2Output>(),
        NodeDef::of::<output::L2OutputBadIntf>(),
        NodeDef::of::<output::L2EfpFilter>(),
        NodeDef::of::<bitmap_drop::FeatureBitmapDrop>(),
        NodeDef::of::<feature_arc::FeatureArc<false>>(),
        NodeDef::of::<feature_arc::FeatureArc<true>>(),
        NodeDef::of::<feature_arc::FeatureArcEnd<false>>(),
        NodeDef::of::<feature_arc::FeatureArcEnd<true>>(),
    ],
    arcs: feature_arc::ARCS,
    cli: cli::COMMANDS,
    config: config::write_config,
    examples: examples::EXAMPLES,
    transient: &[
        ("clear l2fib", "removes entries"),
        ("l2fib flush-mac", "removes what was learned"),
    ],
    api: &[api::API],
    counters: &[(storm::COUNTERS, Space::Interface)],
    start: |world| {
        world.get::<Interfaces>().subscribe(mode::follow);
        ager::start(world);
        termination::start(world);
        termination::start_ager(world);
        mac_events::start(world);
        feature_arc::start(world)?;
        for node in ["l2-fwd", "l2-flood", "arp-term-l2bd"] {
            world.link(node, "ethernet-input")?;
        }
        ethernet::register_l2(world, "l2-input")
    },
    volatile: &[("show l2fib*", "learned addresses")],
    unmoved: &[
        (
            "/err/arp-term-l2bd/untold",
            "more hosts than control reads: features/l2/src/tests/termination.rs",
        ),
        (
            "/err/arp-term-l2bd/unlearned",
            "more hosts than control reads: features/l2/src/tests/snoop.rs",
        ),
        ("/err/l2-flood/again", "more copies than a vector takes: features/l2/src/tests/flood.rs"),
        (
            "/err/l2-flood/L2 replication failures",
            "no buffer is left for a copy: features/l2/src/tests/flood.rs",
        ),
        ("/err/l2-efp-filter/*", "sub-interfaces in bridge domains: features/l2/src/tests/tags.rs"),
        ("/err/l2-input-vtr/*", "sub-interfaces in bridge domains: features/l2/src/tests/tags.rs"),
        (
            "/err/l2-output/*EFP filter*",
            "sub-interfaces in bridge domains: features/l2/src/tests/tags.rs",
        ),
        (
            "/err/l2-output/*tag rewrite*",
            "sub-interfaces in bridge domains: features/l2/src/tests/tags.rs",
        ),
        (
            "/net/l2-storm-control/*",
            "a port that floods more than it may: features/l2/src/tests/storm.rs",
        ),
    ],
    ..Plugin::EMPTY
};
