// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Zone firewall: who may talk to whom, with the state of connections.
//!
//! Interfaces are in zones; the router's own packets are in the zone `self`. A packet goes from one
//! zone to another, and the policy of this pair decides: its rules in order, or else its default.
//! Between zones without a policy packets are dropped; within a zone they pass, unless it has a
//! policy of its own; interfaces in no zone aren't checked.
//!
//! | node | arc | packets |
//! |---|---|---|
//! | `{ip}-firewall-output` | `{ip}-output` | routed packets that leave by an interface in a zone, and the router's own |
//! | `{ip}-firewall-local` | `{ip}-local` | packets to the router, received by an interface in a zone |
//!
//! Both zones are known only behind the lookup. So translations of destinations come before the
//! check, and translations of sources behind it.
//!
//! **Rules** compare addresses of both IP versions, protocol, ports, ICMP type and code, TCP flags,
//! DSCP, length, and named sets of networks, ports and interfaces. Most of it is compiled as for
//! ACLs (`acl::lookup`); sets are looked up beside that, so that they change without a rule being
//! compiled again. A change is one generation: a packet is judged by one of them as a whole.
//! `firewall begin` opens a draft, whose changes come into force together.
//!
//! **Sessions.** A packet that a rule accepts makes a session, by which its flow passes in both
//! directions (`session`). It is on the thread that owns the flow, to which others hand packets
//! off. Each TCP segment is held against the windows of both ends (`tcp`). ICMP errors pass if
//! they quote a packet of a session. After a change a session is judged again, at its next packet
//! or by a sweep in the background, and ends if the rules would not accept it now: at once after a
//! commit, and 100 ms after the last of other changes, since a script or a rollback may take a rule
//! away to put another into its place.
//!
//! **A full table** is used up by nobody (`flows`): flows that don't last make room, those of the
//! host that has most of them first; sessions that last make room only for hosts that have less
//! than an equal share.
//!
//! **Fast path.** Packets that fit their session don't visit the node of packets that leave
//! (`stage`). All others do: those that begin a session, that are dropped or rejected, fragments,
//! errors of ICMP, and the first one of a session after a change.
//!
//! **Fragments** get the ports of their first one by shallow reassembly, which is enabled with the
//! zone of an interface.
//!
//! Policies can't stop the router's own ICMP errors and resets, neighbour discovery, MLD and
//! IGMP to and from the router.
//!
//! Limits: switched frames aren't checked, only what is routed. The outer packets of tunnels count
//! as coming from the interface of the inner ones. Checksums aren't verified.

mod api;
mod cli;
mod config;
mod control;
mod decide;
mod explain;
mod filter;
mod flows;
mod hits;
mod judge;
mod life;
mod limits;
mod log;
mod model;
mod node;
mod packet;
mod record;
mod rules;
mod session;
mod sets;
mod settings;
mod show;
mod stage;
mod state;
mod tcp;
#[cfg(feature = "tests")]
mod tests;
mod values;
mod verdict;
mod zone;

use ::graph::{Feature, FieldDef, NodeDef, PerThread, Plugin, StateDef, rank};
use node::Firewall;
use wire::{Ip4, Ip6};

/// Zone firewall.
pub static PLUGIN: Plugin = Plugin {
    name: "firewall",
    about: "Zone firewall: who may talk to whom, with the state of connections",
    area: "policy",
    does: &[
        "Zones of interfaces, the router among them, and a policy for each ordered pair; traffic \
         between zones is denied by default (`firewall zone`, `firewall rule`, `set interface \
         firewall zone`)",
        "Connections of TCP by handshake, windows and sequence numbers, UDP and ICMP by direction; \
         limits for hosts and zones; changes that never cut what stays allowed (`show firewall \
         sessions`, `firewall begin`)",
        "Records of decisions for syslog, and questions which rule would decide (`firewall explain`)",
    ],
    spec: &["RFC 9293", "RFC 5961", "RFC 7323", "RFC 5927", "RFC 5424"],
    limits: &["No match on MAC addresses or the time of day"],
    state: &[
        StateDef::of::<settings::Settings>(),
        StateDef::of::<judge::Rules>(),
        StateDef::of::<limits::Sources>(),
        StateDef::of::<PerThread<flows::ThreadSessions>>(),
        StateDef::of::<record::Records>(),
        StateDef::of::<PerThread<record::Ring>>(),
        StateDef::of::<log::Logs>(),
        StateDef::of::<control::Firewall>(),
        // The plugin of reassembly may be missing.
        StateDef::of::<ip_reassembly::Users>(),
    ],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[
        NodeDef::of::<Firewall<Ip4, false>>(),
        NodeDef::of::<Firewall<Ip6, false>>(),
        NodeDef::of::<Firewall<Ip4, true>>(),
        NodeDef::of::<Firewall<Ip6, true>>(),
    ],
    features: &[
        Feature {
            arc: "ip4-output",
            node: "ip4-firewall-output",
            before: &["acl-plugin-out-ip4-fa"],
            after: &[rank::REASSEMBLY],
        },
        Feature {
            arc: "ip6-output",
            node: "ip6-firewall-output",
            before: &["acl-plugin-out-ip6-fa"],
            after: &[rank::REASSEMBLY],
        },
        Feature { arc: "ip4-local", node: "ip4-firewall-local", before: &[], after: &[] },
        Feature { arc: "ip6-local", node: "ip6-firewall-local", before: &[], after: &[] },
    ],
    stages: &[
        net::stage::<Ip4, Firewall<Ip4, false>, stage::Established<Ip4>>(),
        net::stage::<Ip6, Firewall<Ip6, false>, stage::Established<Ip6>>(),
    ],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    examples: config::EXAMPLES,
    api: &[api::API],
    phases: &[config::PHASE],
    start: |world| {
        let firewall = world.get::<control::Firewall>();
        let signal = firewall.signal.clone();
        world.processes.spawn(Box::new(control::Publisher(firewall)), &signal);
        let logs = world.get::<log::Logs>();
        let records = logs.records.clone();
        world.processes.spawn(Box::new(log::LogProcess(logs)), records.rings.signal());
        Ok(())
    },
    unmoved: &[
        ("/err/*-firewall-*", "features/firewall/src/tests"),
        ("/firewall/rules", "features/firewall/src/tests/policies.rs"),
    ],
    transient: &[
        ("clear firewall sessions", "ends sessions"),
        ("firewall explain", "answers a question"),
    ],
    volatile: &[
        ("show firewall sessions*", "sessions of traffic"),
        ("show firewall log*", "records of traffic, with their times"),
    ],
    ..Plugin::EMPTY
};
