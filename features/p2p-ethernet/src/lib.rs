// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Point-to-point Ethernet: a sub-interface for each client of a port, found by the client's MAC
//! address. Clients of a shared link have settings, features, tables and bridge domains of their
//! own.
//!
//! ```text
//! device-input arc of the port: … → p2p-ethernet-input → device-input arc of the sub-interface → ethernet-input
//!                                                      → the port's next feature     (other sources)
//! ```
//!
//! A sub-interface `PORT.ID` receives the frames from its client, with and without VLAN tags, and
//! has the port's MAC address, link state and MTU. It sends to the client alone: neither ARP nor
//! neighbour discovery asks for addresses there ([`net::SubFrames::Peer`]). Clients' requests are
//! answered as on other interfaces. The port receives frames for all MAC addresses, since a
//! sub-interface may switch them.
//!
//! Packets to groups are sent to the group's MAC address, so other clients may receive them too.
//!
//! Tests: frames compared byte for byte at every port; 3,000 clients of a port; two Linux hosts
//! behind one port; broken frames.

mod api;
mod cli;
pub mod control;
mod node;
#[cfg(feature = "tests")]
mod tests;

use ::graph::{Feature, NodeDef, Plugin, StateDef};

/// Point-to-point Ethernet.
pub static PLUGIN: Plugin = Plugin {
    name: "p2p-ethernet",
    about: "Point-to-point Ethernet: sub-interfaces by the client's MAC address",
    area: "ethernet-and-l2",
    does: &["A sub-interface for each client's MAC address, routed or switched (`p2p_ethernet`)"],
    spec: &["VPP's `p2p_ethernet`"],
    limits: &["Packets to groups have the group's MAC address, so other clients may receive them"],
    state: &[StateDef::of::<control::Clients>()],
    nodes: &[NodeDef::of::<node::P2pInput>()],
    features: &[Feature {
        arc: "device-input",
        node: "p2p-ethernet-input",
        before: &["l2-super-path", "super-path", "l2-patch"],
        after: &["bond-input", "pcap-capture", "span-input"],
    }],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    unmoved: &[("/err/p2p-ethernet-input/*", "features/p2p-ethernet/src/tests.rs")],
    ..Plugin::EMPTY
};
