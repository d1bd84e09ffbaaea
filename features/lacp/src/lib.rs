// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! LACP: the links of a bond agree with the other end which of them carry frames (IEEE 802.1AX-2014
//! clause 6).
//!
//! ```text
//! ethernet-input → lacp-input → control         (LACPDUs)
//!                             → NAME-output     (answers to markers, 6.5)
//! lacp-process → NAME-output
//! ```
//!
//! `lacp-input` reads data units and passes them to control by a mailbox for each member.
//! `lacp-process` runs the state machines: receive (6.4.12), periodic transmission (6.4.13),
//! selection (6.4.14), mux with independent control (6.4.15) and transmit (6.4.16). A member
//! collects frames once both ends are in sync, and distributes them once the partner is collecting
//! ([`bond::Stage`]), so no frame is lost when a link comes up. Control reads at most 10 data units
//! of a member in a second, and a member's mailbox holds 8.
//!
//! A bond is one aggregator, with its MAC address as system. The partner of the first selected
//! member is the bond's; members with another partner aren't selected.
//!
//! Limits: a member without a partner that runs LACP carries no frames; no churn detection
//! (6.4.17); no version 2 TLVs; the members of a bond all have the same key.
//!
//! Tests: Linux's bonding driver in mode 802.3ad, links that fail and links that only lose frames;
//! two bonds port to port; bytes of data units; state machines under random events; 100,000
//! truncated and mutated data units and markers; floods.

mod api;
mod cli;
mod control;
mod input;
mod machine;
mod pdu;
mod process;
mod select;
#[cfg(feature = "tests")]
mod tests;

use bond::{Lacp, register_lacp};
use control::Ports;
use graph::{NodeDef, Plugin, Script, StateDef};
use wire::EtherType;

/// LACP.
pub static PLUGIN: Plugin = Plugin {
    name: "lacp",
    about: "LACP: links of a bond agree with the other end",
    area: "link-protocols",
    does: &[
        "Negotiates with the other end which links of a bond carry frames, active or passive, \
         with short or long timeouts; answers markers (`create bond mode lacp`, `show lacp`)",
    ],
    spec: &["IEEE 802.1AX-2014 clause 6"],
    limits: &["A link whose other end doesn't run LACP carries no frames", "No churn detection"],
    state: &[StateDef::of::<Ports>()],
    nodes: &[NodeDef::of::<input::LacpInput>()],
    cli: self::cli::COMMANDS,
    examples: EXAMPLES,
    transient: &[("debug lacp", "is for a while, and for those who read the log")],
    api: &[api::API],
    start: |world| {
        ethernet::register_ethertype(world, EtherType::SLOW, "lacp-input")?;
        process::start(world);
        register_lacp(world, Lacp { joined: control::joined, left: control::left })
    },
    ..Plugin::EMPTY
};

/// LACP's settings belong to bonds and their members.
const EXAMPLES: &[Script] = &[Script::here(
    "bonds with LACP",
    "create packet-generator interface pg0
     create packet-generator interface pg1
     create packet-generator interface pg2
     create bond mode lacp load-balance l23
     create bond mode lacp load-balance l34 hw-addr 02:00:00:00:00:97 id 4
     bond add BondEthernet0 pg0 passive
     bond add BondEthernet0 pg1 long-timeout
     bond add BondEthernet4 pg2 passive long-timeout
     set interface state pg0 up
     set interface state pg1 up
     set interface state BondEthernet0 up",
)];
