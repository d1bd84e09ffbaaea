// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Bonds: interfaces `BondEthernetN` that send and receive frames by several members (IEEE 802.1AX
//! link aggregation, and modes without a protocol).
//!
//! ```text
//! device-input arc of a member: … → bond-input → device-input arc of the bond → ethernet-input
//!                                              → the member's next feature         (LACP, CDP, LLDP)
//! BondEthernetN-output → BondEthernetN-tx → NAME-output of a member
//! ```
//!
//! | mode | a frame leaves by | frames are received by |
//! |---|---|---|
//! | round-robin | the next member in turn | all members |
//! | active-backup | the current member | the current member |
//! | xor | the member that its hash chooses | all members |
//! | broadcast | all members | all members |
//! | lacp | the member that its hash chooses | members that are collecting |
//!
//! Members with admin and link state up are active. In mode `lacp` they have to be distributing,
//! too ([`register_lacp`]). The link of the bond is up while its admin state is up and a member is
//! active.
//!
//! All members have the bond's MAC address. When they leave, they have their own again. A bond that
//! wasn't given an address has the first member's.
//!
//! When the current member of an active-backup bond changes, gratuitous ARP and unsolicited
//! neighbour advertisements announce the addresses of the bond and its sub-interfaces.
//!
//! Limits: no knowledge of NUMA nodes: all members count as local, and `numa-only` is kept without
//! effect. IPv6 packets with extension headers are hashed by their addresses.
//!
//! Tests: frames compared byte for byte at every port, in all modes; the hash against a slow
//! oracle; broken frames.

mod announce;
mod api;
mod cli;
mod control;
mod create;
mod device;
mod hash;
mod input;
mod lacp;
mod members;
mod model;
mod owned;
mod settle;
mod state;
#[cfg(feature = "tests")]
mod tests;
mod tx;

pub use lacp::register_lacp;
pub use model::{Balance, BondInfo, Lacp, MemberInfo, Mode, NewBond, Stage};
pub use state::Bonds;

use graph::{Feature, NodeDef, Plugin, StateDef};

/// Bonds.
pub static PLUGIN: Plugin = Plugin {
    name: "bond",
    about: "Bonding: several links as one interface",
    area: "link-protocols",
    does: &[
        "Several links as one interface, in modes round-robin, active-backup, hash of MAC \
         addresses, IP addresses or ports, and broadcast (`create bond`, `bond add`); \
         sub-interfaces, bridging and IP over them",
        "Gratuitous ARP and neighbour advertisements when the link of an active-backup bond \
         changes",
    ],
    spec: &["VPP's bonding"],
    limits: &[
        "NUMA nodes are ignored",
        "IPv6 packets with extension headers are hashed by their addresses",
    ],
    state: &[StateDef::of::<Bonds>()],
    nodes: &[NodeDef::of::<input::BondInput>()],
    features: &[Feature {
        arc: "device-input",
        node: "bond-input",
        before: &["super-path"],
        after: &["pcap-capture", "span-input"],
    }],
    cli: self::cli::COMMANDS,
    phases: &[self::cli::MEMBERS],
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    api: &[api::API],
    start: control::start,
    ..Plugin::EMPTY
};
