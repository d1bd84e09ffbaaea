// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! LACP: the links of a bond agree with the other end which of them carry frames (IEEE 802.1AX-2014 clause 6).
//!
//! ```text
//! ethernet-input → lacp-input → control         (LACPDUs)
//!                             → NAME-output     (answers to markers, 6.5)
//! lacp-process → NAME-output
//! ```
//!
//! `lacp-input` reads data units and passes them to control by a mailbox for each member. `lacp-process` runs the state machines: receive
//! (6.4.12), periodic transmission (6.4.13), selection (6.4.14), mux with independent control (6.4.15) and transmit (6.4.16). A member takes
//! frames once both ends are in sync, and sends them once the partner takes them ([`bond::Stage`]), so no frame is lost when a link comes up.
//!
//! A bond is one aggregator, with its MAC address as system. The partner of the first selected member is the bond's; members with another
//! partner aren't selected.
//!
//! Limits: a member without a partner that speaks LACP carries no frames; no churn detection (6.4.17); no version 2 TLVs; the members
//! of a bond all have the same key.

mod api;
mod cli;
mod control;
mod input;
mod machine;
mod pdu;
mod process;
mod select;
#[cfg(test)]
mod tests;

use bond::{Lacp, register_lacp};
use control::Ports;
use graph::{NodeDef, Plugin, StateDef};
use wire::EtherType;

/// LACP.
pub static PLUGIN: Plugin = Plugin {
    name: "lacp",
    about: "LACP: links of a bond agree with the other end",
    state: &[StateDef::of::<Ports>()],
    nodes: &[NodeDef::of::<input::LacpInput>()],
    cli: self::cli::COMMANDS,
    transient: &[("debug lacp", "is for a while, and for those who read the log")],
    api: &[api::API],
    start: |world| {
        ethernet::register_ethertype(world, EtherType::SLOW, "lacp-input")?;
        process::start(world);
        register_lacp(world, Lacp { joined: control::joined, left: control::left })
    },
    ..Plugin::EMPTY
};
