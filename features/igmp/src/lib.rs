// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! IGMP version 3 (RFC 3376): the groups that hosts listen to, and from which sources. An interface
//! is a host or a router; a proxy connects both (RFC 4605).
//!
//! ```text
//! ip4-local → igmp-input → igmp-parse-query  → control
//!                        → igmp-parse-report → control
//! igmp-timer-process → NAME-output
//! ```
//!
//! Workers check messages and pass them to control, by a queue of 16 for each interface. `host`
//! and `router` are the two sides of the protocol, without packets; `proxy` merges what hosts
//! behind downstream interfaces listen to, and `forward` makes multicast routes of it.
//!
//! A router keeps at most 4,096 groups and 32,768 sources of an interface, 1,024 of them for one
//! group. A record beyond that changes nothing and is counted (`/net/igmp/rx/no-room`).
//!
//! **As in VPP**, IS_INCLUDE without sources counts as a leave, and the time after a leave is
//! longer than the RFC's. Where VPP's tests are to pass (`FERROVIA_COMPAT`), answers are in its
//! order and sooner, and only the first report of a group that is listened to is repeated.
//!
//! Tests: Linux hosts that join and leave (`tests/lab/igmp.rs`); the tables of RFC 3376 6.4; both
//! sides against each other on a lossy link; bytes of packets; 100,000 mutated packets.

mod api;
mod cli;
mod control;
mod event;
mod filter;
mod forward;
mod host;
mod input;
mod message;
mod order;
mod packet;
mod process;
mod proxy;
mod ranges;
mod router;
mod table;
#[cfg(feature = "tests")]
mod tests;

use control::Igmp;
use graph::{NodeDef, Plugin, StateDef};
use input::{IgmpInput, Parse, Query, Report};
use stats::Space;
use wire::{Ip4, IpProtocol};

/// IGMP.
pub static PLUGIN: Plugin = Plugin {
    name: "igmp",
    about: "IGMP: which groups hosts listen to",
    area: "multicast",
    does: &[
        "IGMP version 3 as a host (`igmp enable host`, `igmp listen`) and as a router that queries \
         hosts and reports to clients which sources they listen to (`igmp enable router`)",
        "A proxy: hosts listen by an upstream interface, and multicast routes follow them \
         (`igmp proxy-dev`)",
        "Ranges of source-specific groups (`igmp group-prefix`)",
    ],
    spec: &["RFC 3376", "RFC 4604", "RFC 4605"],
    limits: &[
        "Hosts of versions 1 and 2 are served if their messages have the router alert option, but \
         a group that they listen to can be left by a host of version 3; queries are of version \
         3 only",
        "A router that isn't the querier keeps its own query interval (RFC 3376 4.1.7)",
        "Packets that hosts behind a proxy send aren't forwarded upstream",
        "The second query after the start follows after a whole interval",
        "Reports and queries are sent by Ethernet interfaces only; received messages of more than \
         1480 bytes are dropped",
    ],
    state: &[StateDef::of::<Igmp>()],
    counters: &[("/net/igmp/rx", Space::Interface), ("/net/igmp/tx", Space::Interface)],
    nodes: &[
        NodeDef::of::<IgmpInput>(),
        NodeDef::of::<Parse<Query>>(),
        NodeDef::of::<Parse<Report>>(),
    ],
    cli: self::cli::COMMANDS,
    phases: &[self::cli::LISTENING],
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    transient: &[
        ("test igmp timers", "for tests of clients, as in VPP"),
        ("clear igmp", "removes what hosts have reported"),
    ],
    api: &[api::API],
    start: |world| {
        ip::register_protocol::<Ip4>(world, IpProtocol::IGMP, "igmp-input")?;
        process::start(world);
        Ok(())
    },
    unmoved: &[("/err/igmp-*", "IGMP has messages of its own: features/igmp/src/tests")],
    ..Plugin::EMPTY
};
