// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! DS-Lite (RFC 6333): users with IPv4 behind routers with IPv6 alone share addresses of IPv4.
//!
//! Each user's router, the B4, puts packets of IPv4 into IPv6 to the AFTR, which translates them.
//! A router is an AFTR, or with `dslite { ce }` in startup.conf a B4. Routes lead packets to the
//! nodes.
//!
//! | node | packets |
//! |---|---|
//! | `dslite-in2out`, `dslite-in2out-slowpath` | to the AFTR's address: users' |
//! | `dslite-out2in` | to addresses of the pool: the world's |
//! | `dslite-ce-encap` | of IPv4 without a better route, on a B4 |
//! | `dslite-ce-decap` | to the B4's address |
//!
//! **Sessions** are by B4, inside address, port and protocol, so users of different B4s may have
//! the same address; a session serves all remote hosts. They end by time ([`nat::timeouts`]). A
//! B4 has a thousand; one more takes the place of its oldest. Where a thread's table is full, the
//! networks of B4s have equal shares. A B4 keeps its address of the pool while a port of it is
//! left.
//!
//! **Threads.** The address of a B4 chooses the thread of its sessions, and ports of each thread
//! are a block of their own, by which answers find it.
//!
//! **Errors** of ICMP are translated with their quotations. Errors of the router itself to a user
//! (hops, MTU) go to the user's address outside, and from there into the tunnel like any packet.
//!
//! **Fragments.** Packets of IPv6 and of the world are reassembled; of a user's packet in fragments
//! the first one has to come first. Packets of IPv6 that are too long for their link leave in
//! fragments (RFC 6333 5.3).
//!
//! **Logs.** Syslog gets the sessions (`nat::log`), with the B4 as SV6ENC.
//!
//! Limits: no VRFs, the default tables alone; super-packets are dropped, with a reason of their
//! own.

mod api;
mod ce;
mod cli;
mod control;
mod engine;
mod flows;
mod key;
mod nodes;
mod outer;
mod session;
mod settings;
mod startup_conf;
#[cfg(feature = "tests")]
mod tests;

use ::graph::{FieldDef, NodeDef, PerThread, Plugin, StateDef};
use ::net::Objects;
use ::startup::StartupDef;

/// DS-Lite.
pub static PLUGIN: Plugin = Plugin {
    name: "dslite",
    about: "DS-Lite: IPv4 of users behind IPv6, with shared addresses",
    area: "nat",
    does: &[
        "AFTR: users behind B4s share a pool of addresses; TCP, UDP and ICMP echo, errors and \
         fragments, 1,000 sessions a B4 (`dslite set aftr-tunnel-endpoint-address`, `dslite add \
         pool address`, `show dslite sessions`)",
        "B4, if section dslite of startup.conf has the word ce (`dslite set \
         b4-tunnel-endpoint-address`)",
        "Sessions that begin and end, by syslog (`set syslog sender`)",
    ],
    spec: &["VPP's DS-Lite", "RFC 6333", "RFC 2473", "RFC 6040", "RFC 5508"],
    limits: &[
        "No VRFs: the default tables alone",
        "IPFIX gets no sessions: the templates have no field for the B4",
        "Super-packets are dropped, with a drop reason: switch offloads of the links off",
        "Timeouts are those of NAT44-ED's defaults",
    ],
    state: &[
        ::nat::log::STATE,
        StateDef::of::<settings::DsLite>(),
        StateDef::of::<settings::Counters>(),
        StateDef::of::<PerThread<flows::Flows>>(),
        StateDef::of::<control::Control>(),
    ],
    startup: &[StartupDef::of::<startup_conf::Startup>()],
    fields: &[FieldDef::of::<net::L4>(), FieldDef::of::<nodes::Behind>()],
    nodes: &[
        NodeDef::of::<nodes::In2Out<false>>(),
        NodeDef::of::<nodes::In2Out<true>>(),
        NodeDef::of::<nodes::Out2In>(),
        NodeDef::of::<ce::Encap>(),
        NodeDef::of::<ce::Decap>(),
    ],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    start: |world| {
        ::nat::log::start(world);
        world.get::<Objects>().register(&control::AFTR);
        world.get::<Objects>().register(&control::B4);
        Ok(())
    },
    unmoved: &[
        ("/err/dslite-*", "features/dslite/src/tests"),
        ("/dslite/*", "features/dslite/src/tests"),
    ],
    entered: &[("dslite-*", "routes to the AFTR, its pool and the B4")],
    transient: &[(
        "dslite set b4-tunnel-endpoint-address",
        "needs `dslite { ce }`: features/dslite/src/tests",
    )],
    volatile: &[("show dslite sessions*", "sessions of traffic")],
    ..Plugin::EMPTY
};
